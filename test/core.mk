# Unit tests of src/core: every test/core/test_*.c is a program of its own.
#
#   make -f test/core.mk run        builds and runs all of them
#
# Each is built with the address and undefined-behaviour sanitizers, and once
# more as the library is built (optimised, dispatched hot loops).  A test with
# the line  /* build: double */  is built in double precision only, with
# /* build: both */  in double besides.  Tests run in the root of the tree.

CC ?= cc
B ?= build/core
PROTO_OUT = $(B)/gen
include src/sources.mk
WARN = -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare -Wmissing-prototypes
STD = -std=gnu11 -fopenmp-simd $(CORE_CPPFLAGS) -Itest/core -I$(PROTO_OUT) $(WARN)

# clones are chosen by code that runs before the sanitizers are ready
CFLAGS_checked = -g -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -DPM_NO_CLONES
CFLAGS_release = -g $(CORE_CFLAGS)
CFLAGS_double = -g -O2 -DPM_DOUBLE

LIBS = $(CORE_LIBS)

CORE := $(CORE_PLAIN_SOURCES:src/core/%.c=%)
# the ONNX importer, for the tests that are about it; what protoc-c makes goes with the objects
ONNX := $(patsubst src/core/%.c,%,$(filter src/core/import/onnx/%,$(CORE_SOURCES))) import/onnx/onnx.pb-c
HEADERS := $(CORE_HEADERS) $(wildcard test/core/*.h)
ALL := $(patsubst test/core/%.c,%,$(wildcard test/core/test_*.c))
ONLY_DOUBLE := $(patsubst test/core/%.c,%,$(shell grep -l '/\* build: double \*/' test/core/test_*.c))
BOTH := $(patsubst test/core/%.c,%,$(shell grep -l '/\* build: both \*/' test/core/test_*.c))
FLOAT := $(filter-out $(ONLY_DOUBLE),$(ALL))
PROGRAMS := $(FLOAT:%=$(B)/checked/%) $(FLOAT:%=$(B)/release/%) $(patsubst %,$(B)/double/%,$(ONLY_DOUBLE) $(BOTH))

# FLOPs of every operator of the graphs that ship, against what the exporter counted
$(B)/release/check_flops: test/core/check_flops.c $(CORE:%=$(B)/release/obj/%.o)
	$(CC) $(STD) $(CFLAGS_release) -o $@ $< $(CORE:%=$(B)/release/obj/%.o) $(LIBS)
.PHONY: flops
flops: $(B)/release/check_flops
	@if gzip -dc data/graphs.ndjson.gz | $< >$<.log 2>&1; then echo "ok - FLOPs of data/graphs.ndjson.gz"; \
	else echo "not ok - FLOPs of data/graphs.ndjson.gz"; sed 's/^/    /' $<.log | tail -60; fi

# bytes, launches and layouts of networks, against what PyTorch was seen to do
$(B)/release/check_work: test/core/check_work.c $(CORE:%=$(B)/release/obj/%.o)
	$(CC) $(STD) $(CFLAGS_release) -o $@ $< $(CORE:%=$(B)/release/obj/%.o) $(LIBS)
.PHONY: work
work: $(B)/release/check_work
	@if gzip -dc data/graphs.ndjson.gz | $< test/work/truth.csv >$<.log 2>&1; then echo "ok - work of data/graphs.ndjson.gz"; \
	else echo "not ok - work of data/graphs.ndjson.gz"; sed 's/^/    /' $<.log | tail -60; fi
# what the backward pass keeps of the networks that ship, against what PyTorch says
$(B)/release/check_saved: test/core/check_saved.c $(CORE:%=$(B)/release/obj/%.o)
	$(CC) $(STD) $(CFLAGS_release) -o $@ $< $(CORE:%=$(B)/release/obj/%.o) $(LIBS)
.PHONY: saved
saved: $(B)/release/check_saved
	@if gzip -dc data/graphs.ndjson.gz | $< test/core/saved_bytes.txt >$<.log 2>&1; then echo "ok - kept bytes of data/graphs.ndjson.gz"; \
	else echo "not ok - kept bytes of data/graphs.ndjson.gz"; sed 's/^/    /' $<.log | tail -60; fi

# networks exported as ONNX against the same ones by perfmodel's exporter
.PHONY: onnx
onnx: $(B)/release/check_onnx
	@if gzip -dc test/onnx/models.gz | $< >$<.log 2>&1; then echo "ok - networks of test/onnx/models.gz"; \
	else echo "not ok - networks of test/onnx/models.gz"; sed 's/^/    /' $<.log | tail -60; fi

.PHONY: all run
.SECONDARY:
all: $(PROGRAMS)
run: $(PROGRAMS:%=%.log) flops saved work onnx

define mode
$(B)/$(1)/obj/%.o: src/core/%.c $(HEADERS) $(ONNX_PB)
	@mkdir -p $$(@D)
	$(CC) $(STD) $$(CFLAGS_$(1)) -c -o $$@ $$<
$(B)/$(1)/obj/import/onnx/onnx.pb-c.o: $(ONNX_PB)
	@mkdir -p $$(@D)
	$(CC) $(STD) $$(CFLAGS_$(1)) -c -o $$@ $$<
$(B)/$(1)/test_onnx $(B)/$(1)/test_onnx_hostile $(B)/$(1)/check_onnx: $(B)/$(1)/%: test/core/%.c $(HEADERS) $(CORE:%=$(B)/$(1)/obj/%.o) $(ONNX:%=$(B)/$(1)/obj/%.o)
	$(CC) $(STD) $$(CFLAGS_$(1)) -o $$@ $$< $(ONNX:%=$(B)/$(1)/obj/%.o) $(CORE:%=$(B)/$(1)/obj/%.o) -lprotobuf-c $(LIBS)
$(B)/$(1)/test_%: test/core/test_%.c $(HEADERS) $(CORE:%=$(B)/$(1)/obj/%.o)
	$(CC) $(STD) $$(CFLAGS_$(1)) -o $$@ $$< $(CORE:%=$(B)/$(1)/obj/%.o) $(LIBS)
endef
$(ONNX_PB): $(ONNX_PROTO)
	@mkdir -p $(PROTO_OUT)
	$(PROTOC)
# requests for memory go through this test, which lets them fail
$(B)/checked/test_memory: private CFLAGS_checked += -Wl,--wrap=pm_alloc -Wl,--wrap=pm_alloc_packed
$(B)/release/test_memory: private CFLAGS_release += -Wl,--wrap=pm_alloc -Wl,--wrap=pm_alloc_packed
$(foreach m,checked release double,$(eval $(call mode,$(m))))

# what a program may take; a busy machine needs more
UNIT_SECONDS ?= 1800

# one line of outcome a program; what it printed only when it failed
%.log: %
	@if timeout $(UNIT_SECONDS) $< >$@ 2>&1; then echo "ok - $(patsubst $(B)/%,%,$<)"; \
	elif [ $$? = 124 ]; then echo "not ok - $(patsubst $(B)/%,%,$<) (not done after $(UNIT_SECONDS) s; UNIT_SECONDS in the environment gives more)"; \
	else echo "not ok - $(patsubst $(B)/%,%,$<)"; sed 's/^/    /' $@ | tail -40; fi
