# perfmodel
#
# For people who have a server:      make && make install && make installcheck
# With a throw-away server of its own, as root or not:
#                                    make demo, make check, make bench, make bench-accuracy, make pretrained
#
# OPTFLAGS is empty so that the binary runs on every CPU of its architecture;
# the hot loops are compiled for several instruction sets and chosen at load.

OWN_SERVER = demo check bench bench-accuracy pretrained

ifneq ($(filter $(OWN_SERVER),$(MAKECMDGOALS)),)

# These bring what they need, server headers included, so they must not read
# PGXS, which also has a "check" of its own that refuses to work.
.PHONY: $(OWN_SERVER)
demo:
	@demo/demo.sh
check:
	@test/check.sh
bench:
	@bench/run.sh $(DATA)
	@bench/jobs.sh
	@bench/train.sh
# DATA: a folder with the measurements of timm and NeuSight; without, those in data/
bench-accuracy:
	@bench/accuracy/run.sh $(DATA)
# DATA: the folder of measurements that data/README.md names
pretrained:
	@tools/pretrain.sh $(DATA)

else

EXTENSION = perfmodel perfmodel_pretrained
MODULE_big = perfmodel
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" perfmodel.control)
PG_CONFIG ?= pg_config
OPTFLAGS ?=

include src/sources.mk
CORE_OBJS := $(patsubst %.c,%.o,$(CORE_SOURCES) $(ONNX_PB))
PG_OBJS := $(patsubst %.c,%.o,$(PG_SOURCES))
OBJS = $(CORE_OBJS) $(PG_OBJS)

# The install script, in the order in which its objects need each other.
SQL_PARTS = $(patsubst %,sql/install/%.sql, \
	tables_gpu tables_graph tables_profile tables_op_profile tables_predictor triggers \
	functions_graph functions_onnx functions_train functions_predict functions_evaluate functions_info functions_leaderboard \
	dump privileges)
# Made by make: the install scripts of this version and nothing else.  Those of
# released versions and the updates between them are files of the tree.
DATA_built = sql/perfmodel--$(EXTVERSION).sql sql/perfmodel_pretrained--$(EXTVERSION).sql
DATA = $(filter-out $(DATA_built),$(wildcard sql/perfmodel--*.sql sql/perfmodel_pretrained--*.sql))

REGRESS = setup install gpu graph graph_errors onnx profile op_profile options train predict predict_many explain \
	evaluate leaderboard predictor pretrained train_async recalibrate warm_start dashboards cancel privileges hostile_path numerics drop_extension
REGRESS_OPTS = --encoding=UTF8 --no-locale
ISOLATION = iso_load_graph iso_train_same_name iso_train_and_predict iso_train_async iso_drop_and_predict iso_activate_and_predict
ISOLATION_OPTS = --encoding=UTF8 --no-locale
TAP_TESTS = 1
EXTRA_CLEAN = output_iso tmp_check tmp_check_iso src/core/import/onnx/onnx.pb-c.*

# ---- what the build needs: one sentence when it is missing ----

ifeq ($(shell command -v $(PG_CONFIG)),)
$(error pg_config is not found: install the package postgresql-server-dev-all, or set PG_CONFIG)
endif
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifeq ($(wildcard $(PGXS) $(shell $(PG_CONFIG) --includedir-server)/postgres.h),)
$(error The headers of the PostgreSQL server are missing: install the package postgresql-server-dev-$(shell $(PG_CONFIG) --version | sed 's/[^0-9]*\([0-9]*\).*/\1/'))
endif

ifeq ($(filter clean distclean,$(MAKECMDGOALS)),)
ifneq ($(shell echo '\#include <cblas.h>' | cc -E - >/dev/null 2>&1 && echo yes),yes)
$(error cblas.h is missing: install the package libopenblas-dev)
endif
ifneq ($(shell echo '\#include <protobuf-c/protobuf-c.h>' | cc -E - >/dev/null 2>&1 && echo yes),yes)
$(error protobuf-c.h is missing: install the package libprotobuf-c-dev)
endif
ifeq ($(shell command -v protoc-c),)
$(error protoc-c is not found: install the package protobuf-c-compiler)
endif

# OpenBLAS goes in statically with its symbols hidden: it cannot be switched by
# the system's alternatives, does not clash with another copy in the backend,
# and its choice of kernels can be prepared before its constructor runs.
OPENBLAS_A := $(shell cc -print-file-name=libopenblas.a)
ifneq ($(filter /%,$(OPENBLAS_A)),)
SHLIB_LINK = -l:libopenblas.a -Wl,--exclude-libs,ALL -lprotobuf-c -lm -lpthread
else
$(warning libopenblas.a is not found, linking the shared OpenBLAS instead; the package libopenblas-dev has the static one)
SHLIB_LINK = -lopenblas -lprotobuf-c -lm -lpthread
PG_CPPFLAGS += -DPM_BLAS_SHARED
endif
endif

# the library does not say where it was built
PG_CPPFLAGS += $(CORE_CPPFLAGS) -Isrc/pg -DPM_VERSION=\"$(EXTVERSION)\" -ffile-prefix-map=$(CURDIR)=.

# No bitcode: the functions are too long to gain from being inlined by the JIT
# compiler, and it would make clang a requirement of the build.
override with_llvm = no

include $(PGXS)

src/core/%.o: CFLAGS += $(CORE_CFLAGS) -Wno-declaration-after-statement $(OPTFLAGS)

$(CORE_OBJS): $(CORE_HEADERS) src/sources.mk Makefile
$(filter src/core/import/onnx/%,$(CORE_OBJS)): $(ONNX_PB)
$(ONNX_PB): $(ONNX_PROTO)
	$(PROTOC)
$(PG_OBJS): $(CORE_HEADERS) $(PG_HEADERS) src/sources.mk Makefile perfmodel.control

sql/perfmodel--$(EXTVERSION).sql: $(SQL_PARTS) data/gpu.csv sql/install/gpu_rows.awk Makefile perfmodel.control
	@{ printf '%s\n' '-- Assembled from sql/install and data/gpu.csv by make.' \
	   '\echo Use "CREATE EXTENSION perfmodel" to load this file. \quit'; \
	   for part in $(SQL_PARTS); do \
	       printf '\n'; cat $$part; \
	       case $$part in */tables_gpu.sql) awk -f sql/install/gpu_rows.awk data/gpu.csv || exit 1;; esac; \
	   done; } > $@.new && mv $@.new $@

sql/perfmodel_pretrained--$(EXTVERSION).sql: sql/pretrained/tables.sql data/pretrained.sql Makefile perfmodel.control
	@{ printf '%s\n' '-- Assembled from sql/pretrained and data by make.' \
	   '\echo Use "CREATE EXTENSION perfmodel_pretrained" to load this file. \quit'; \
	   cat sql/pretrained/tables.sql data/pretrained.sql; } > $@.new && mv $@.new $@

endif
