# Builds the program of the accuracy benchmark, as the extension is built:
#
#   make -f bench/accuracy/cell.mk          in the root of the tree: build/accuracy/cell

CC ?= cc
OUT ?= build/accuracy
CFLAGS_ALL = -std=gnu11 -O3 -g -fno-trapping-math -fno-math-errno -fopenmp-simd -Wall -Wextra -Wno-sign-compare

OPENBLAS_A := $(shell $(CC) -print-file-name=libopenblas.a)
ifneq ($(filter /%,$(OPENBLAS_A)),)
LIBS = -l:libopenblas.a -lm -lpthread
else
LIBS = -lopenblas -lm -lpthread
CFLAGS_ALL += -DPM_BLAS_SHARED
endif

OBJS := $(patsubst src/core/%.c,$(OUT)/obj/%.o,$(wildcard src/core/*.c)) \
	$(patsubst bench/accuracy/%.c,$(OUT)/obj/bench_%.o,$(wildcard bench/accuracy/*.c))
HEADERS := $(wildcard src/core/*.h bench/accuracy/*.h) bench/accuracy/cell.mk

$(OUT)/cell: $(OBJS)
	$(CC) -o $@.new $(OBJS) $(LIBS) && mv $@.new $@
$(OUT)/obj/%.o: src/core/%.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<
$(OUT)/obj/bench_%.o: bench/accuracy/%.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<
