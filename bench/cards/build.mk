# Builds the programs about cards, as the extension is built:
#
#   make -f bench/cards/build.mk          in the root of the tree: build/cards/probes, passes and left_out

CC ?= cc
OUT ?= build/cards
include src/sources.mk
CFLAGS_ALL = $(CORE_CPPFLAGS) -Ibench/accuracy $(CORE_CFLAGS) -g -Wall -Wextra -Wno-sign-compare

OBJS := $(CORE_PLAIN_SOURCES:src/core/%.c=$(OUT)/obj/%.o) $(OUT)/obj/bench_rows.o
HEADERS := $(CORE_HEADERS) bench/accuracy/rows.h src/sources.mk bench/cards/build.mk

all: $(OUT)/probes $(OUT)/passes $(OUT)/left_out
$(OUT)/probes: $(OBJS) $(OUT)/obj/bench_probes.o
	$(CC) -o $@.new $^ $(CORE_LIBS) && mv $@.new $@
$(OUT)/passes: $(OBJS) $(OUT)/obj/bench_passes.o
	$(CC) -o $@.new $^ $(CORE_LIBS) && mv $@.new $@
$(OUT)/left_out: $(OBJS) $(OUT)/obj/bench_left_out.o
	$(CC) -o $@.new $^ $(CORE_LIBS) && mv $@.new $@
$(OUT)/obj/%.o: src/core/%.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<
$(OUT)/obj/bench_rows.o: bench/accuracy/rows.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<
$(OUT)/obj/bench_%.o: bench/cards/%.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<
