# Builds the program of the accuracy benchmark, as the extension is built:
#
#   make -f bench/accuracy/cell.mk          in the root of the tree: build/accuracy/cell

CC ?= cc
OUT ?= build/accuracy
include src/sources.mk
CFLAGS_ALL = $(CORE_CPPFLAGS) $(CORE_CFLAGS) -g -Wall -Wextra -Wno-sign-compare

LIBS = $(CORE_LIBS)

OBJS := $(CORE_PLAIN_SOURCES:src/core/%.c=$(OUT)/obj/%.o) \
	$(patsubst bench/accuracy/%.c,$(OUT)/obj/bench_%.o,$(wildcard bench/accuracy/*.c))
HEADERS := $(CORE_HEADERS) $(wildcard bench/accuracy/*.h) src/sources.mk bench/accuracy/cell.mk

$(OUT)/cell: $(OBJS)
	$(CC) -o $@.new $(OBJS) $(LIBS) && mv $@.new $@
$(OUT)/obj/%.o: src/core/%.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<
$(OUT)/obj/bench_%.o: bench/accuracy/%.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<
