# What the library is made of: the one list that every build reads, the
# extension's (Makefile), the unit tests' (test/core.mk), and those of the
# benchmarks and of the reference.  A shell script asks for a variable:
#
#   make -s -f src/sources.mk print-CORE_SOURCES
#
# Run in the root of the tree.

# The rooms of src/core, the lowest floor first.  No file includes a header of
# a room that comes later in this list (test/rules.sh floors).
CORE_ROOMS = base drift plot graph import/onnx features memory nn kinds kinds/opclass kinds/mdot predictor plan scaling jobs change

# What protoc-c makes of the part of ONNX's format that is read; it goes below
# $(PROTO_OUT), and is included by its name from there.
ONNX_PROTO = src/core/import/onnx/onnx.proto
PROTO_OUT ?= src/core
ONNX_PB = $(PROTO_OUT)/import/onnx/onnx.pb-c.c
# what it says matters only when it fails: protoc-c 1.5 warns of its own name, and the package that has it lacks protoc
PROTOC = said=$$(protoc-c --proto_path=src/core --c_out=$(PROTO_OUT) $(ONNX_PROTO) 2>&1) || { echo "$$said" >&2; exit 1; }

CORE_SOURCES := $(foreach room,$(CORE_ROOMS),$(sort $(filter-out %.pb-c.c,$(wildcard src/core/$(room)/*.c))))
CORE_HEADERS := $(foreach room,$(CORE_ROOMS),$(sort $(filter-out %.pb-c.h,$(wildcard src/core/$(room)/*.h))))
# without the importer of ONNX, which alone needs protobuf-c
CORE_PLAIN_SOURCES := $(filter-out src/core/import/onnx/%,$(CORE_SOURCES))
PG_SOURCES := $(sort $(wildcard src/pg/*.c src/pg/*/*.c))
PG_HEADERS := $(sort $(wildcard src/pg/*.h src/pg/*/*.h))

# The core is numerical code.  Its sums say themselves that they may be
# vectorised (omp simd); no flag reassociates anything for the whole file.  NaN
# and infinity keep their meaning (its checks need them), and nothing here may
# set a floating point mode for the whole backend, as -Ofast would.
CORE_CPPFLAGS = -Isrc/core $(filter -I% -D%,$(OPENBLAS))
CORE_CFLAGS = -std=gnu11 -O3 -fno-trapping-math -fno-math-errno -fopenmp-simd

# OpenBLAS, LAPACK included: headers and library are found together, by a program
# that compiles and links with both (src/needs.sh). The static library is taken
# where there is one: it cannot be switched by the system's alternatives. Asked
# once, and only by who needs it.
OPENBLAS = $(eval OPENBLAS := $(shell sh src/needs.sh openblas))$(OPENBLAS)
CORE_LIBS = $(filter-out -I% -D%,$(OPENBLAS)) $(CORE_WRAP)

# src/core/nn/blas.c helps out where OpenBLAS does not check what malloc gave it.
CORE_WRAP = -Wl,--wrap=malloc -Wl,--wrap=free

print-%:
	@echo $($*)
