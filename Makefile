# perfmodel
#
# make help lists what can be made.
#
# OPTFLAGS is empty so that the binary runs on every CPU of its architecture;
# the hot loops are compiled for several instruction sets and chosen at load.

OWN_SERVER = help demo check bench bench-accuracy pretrained

ifneq ($(filter $(OWN_SERVER),$(MAKECMDGOALS)),)

# These bring what they need, server headers included, so they must not read
# PGXS, which also has a "check" of its own that refuses to work.
.PHONY: $(OWN_SERVER)
help:
	@sed -n 's/^#: \{0,1\}//p' Makefile
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

#: perfmodel, an extension of PostgreSQL.
#:
#: With a server of its own, which is gone afterwards. Nothing of the system is
#: changed, except that root installs the Debian packages that are missing:
#:   make demo            from a checkout to predictions
#:   make check           all tests
#:   make bench           how long loading, training and predicting take
#:   make bench-accuracy  how far predictions are off (DATA=folder: more measurements)
#:   make pretrained      train the predictor that ships (DATA=folder of measurements)
#:   test/private.sh      psql with perfmodel installed; or another command
#:
#: For a server that you have:
#:   make                 build
#:   make install         copy the extension to the server's folders (as root);
#:                        then, in a database: CREATE EXTENSION perfmodel
#:   make installcheck    tests on the running server, as a superuser of it
#:   make uninstall       remove what install has copied; first, in every database
#:                        that has it: DROP EXTENSION perfmodel; DROP SCHEMA perfmodel
#:   make clean           remove what was built
#:
#: PG_CONFIG=/usr/lib/postgresql/15/bin/pg_config chooses among several versions
#: of PostgreSQL, for all of these; without it the first pg_config of the path.

EXTENSION = perfmodel perfmodel_pretrained
MODULE_big = perfmodel
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'.*/\1/p" perfmodel.control)
PG_CONFIG ?= pg_config
ifneq ($(filter command environment,$(origin PG_CONFIG)),)
ifeq ($(shell command -v '$(PG_CONFIG)'),)
$(error PG_CONFIG is $(PG_CONFIG), which is not there)
endif
endif
OPTFLAGS ?=

include src/sources.mk
CORE_OBJS := $(patsubst %.c,%.o,$(CORE_SOURCES) $(ONNX_PB))
PG_OBJS := $(patsubst %.c,%.o,$(PG_SOURCES))
OBJS = $(CORE_OBJS) $(PG_OBJS)

# The install script, in the order in which its objects need each other.
SQL_PARTS = $(patsubst %,sql/install/%.sql, \
	own_schema functions_operator tables_gpu tables_graph tables_profile tables_op_profile tables_predictor triggers \
	cluster price memory name_alias convergence \
	functions_graph functions_onnx functions_train functions_predict functions_evaluate functions_info functions_decoder functions_leaderboard functions_queue \
	functions_trained functions_cards functions_memory functions_probes functions_drift \
	functions_scaling functions_parallel functions_job functions_convergence functions_change \
	functions_plot functions_job_table functions_zoom functions_report nightly \
	views text_limits \
	dump privileges)

# The update from the version before, of the same parts: its tables by hand in
# before.sql, functions, views, triggers and comments as a fresh install has them.
# Limits on texts come last: rows that are longer stay, but cannot be changed any more.
OLDVERSION = 0.1.0
UPDATE = sql/update/$(OLDVERSION)--$(EXTVERSION)

# Made by make: the scripts of this version and nothing else.  Those of released
# versions are files of the tree; when this one is released, so are its own.
#
# perfmodel_pretrained has a version "empty", tables without a predictor.  To
# install is empty, then empty--$(EXTVERSION), which has the 25,000 lines of the
# predictor; to update is $(OLDVERSION)--empty, a few lines, and then the same.
DATA_built = sql/perfmodel--$(EXTVERSION).sql sql/perfmodel--$(OLDVERSION)--$(EXTVERSION).sql sql/perfmodel_pretrained--empty.sql \
	sql/perfmodel_pretrained--empty--$(EXTVERSION).sql sql/perfmodel_pretrained--$(OLDVERSION)--empty.sql
DATA = $(filter-out $(DATA_built),$(wildcard sql/perfmodel--*.sql))

REGRESS = setup install gpu graph graph_errors onnx profile op_profile options train predict infer ask predict_many explain \
	scaling parallel job convergence change fp8 compile \
	memory memory_kinds \
	evaluate leaderboard predictor pretrained train_async recalibrate cards probes transfer trained warm_start drift \
	plot report nightly grafana \
	dashboards job_names queue slurm cancel privileges row_security limits hostile_path numerics correction drop_extension
REGRESS_OPTS = --encoding=UTF8 --no-locale
ISOLATION = iso_load_graph iso_train_same_name iso_train_and_predict iso_train_async iso_drop_and_predict iso_activate_and_predict iso_fit_cluster iso_nightly iso_collect_jobs
ISOLATION_OPTS = --encoding=UTF8 --no-locale
TAP_TESTS = 1
EXTRA_CLEAN = output_iso tmp_check tmp_check_iso src/core/import/onnx/onnx.pb-c.*

# ---- what the build needs: one sentence when something is missing ----

ifeq ($(filter clean distclean uninstall,$(MAKECMDGOALS)),)
MISSING := $(shell PG_CONFIG='$(PG_CONFIG)' PM_OPENBLAS='$(OPENBLAS)' sh src/needs.sh sentence)
ifneq ($(MISSING),)
$(error The build needs $(MISSING))
endif
endif
ifeq ($(shell command -v '$(PG_CONFIG)'),)
$(error $(PG_CONFIG) is not found: install the package postgresql-server-dev-all, or set PG_CONFIG)
endif
PGXS := $(shell '$(PG_CONFIG)' --pgxs)

# OpenBLAS goes in statically with its symbols hidden: it cannot be switched by
# the system's alternatives, does not clash with another copy in the backend,
# and its choice of kernels can be prepared before its constructor runs.
SHLIB_LINK = $(CORE_LIBS) -Wl,--exclude-libs,ALL -lprotobuf-c

# the library does not say where it was built
PG_CPPFLAGS += $(CORE_CPPFLAGS) -Isrc/pg -DPM_VERSION=\"$(EXTVERSION)\" '-ffile-prefix-map=$(CURDIR)=.'

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

# What report_script() is made of.
ZOOM = data/uplot/LICENSE data/uplot/uPlot.min.js data/uplot/uPlot.min.css sql/install/zoom.js sql/install/include.awk

# a first line that keeps psql from reading the script, then the parts
SCRIPT = printf '%s\n' '-- Assembled from sql and data by make.' '\echo Use "$(1)" to load this file. \quit';

sql/perfmodel--$(EXTVERSION).sql: $(SQL_PARTS) $(ZOOM) data/gpu.csv sql/install/gpu_rows.awk Makefile perfmodel.control
	@{ $(call SCRIPT,CREATE EXTENSION perfmodel) \
	   for part in $(SQL_PARTS); do \
	       printf '\n'; awk -f sql/install/include.awk $$part || exit 1; \
	       case $$part in */tables_gpu.sql) awk -f sql/install/gpu_rows.awk data/gpu.csv || exit 1;; esac; \
	   done; } > $@.new && mv $@.new $@

sql/perfmodel--$(OLDVERSION)--$(EXTVERSION).sql: $(SQL_PARTS) $(ZOOM) $(UPDATE)/before.sql $(UPDATE)/after.sql sql/update/replace.awk data/gpu.csv \
		sql/install/gpu_rows.awk Makefile perfmodel.control
	@{ $(call SCRIPT,ALTER EXTENSION perfmodel UPDATE) \
	   cat sql/install/own_schema.sql $(UPDATE)/before.sql; \
	   for part in $(filter-out %/own_schema.sql %/privileges.sql %/text_limits.sql,$(SQL_PARTS)); do \
	       printf '\n'; \
	       case $$part in \
	           */tables_gpu.sql) awk -v comments=1 -f sql/update/replace.awk $$part && printf '\n' && \
	               awk -v update=1 -f sql/install/gpu_rows.awk data/gpu.csv;; \
	           */tables_*.sql) awk -v comments=1 -f sql/update/replace.awk $$part;; \
	           */functions_zoom.sql) awk -f sql/update/replace.awk $$part | awk -f sql/install/include.awk;; \
	           *) awk -f sql/update/replace.awk $$part;; \
	       esac || exit 1; \
	   done; \
	   printf '\n'; cat $(UPDATE)/after.sql sql/install/text_limits.sql; } > $@.new && mv $@.new $@

PRETRAINED = sql/perfmodel_pretrained--
$(PRETRAINED)empty.sql: sql/pretrained/tables.sql sql/pretrained/triggers.sql Makefile
	@{ $(call SCRIPT,CREATE EXTENSION perfmodel_pretrained) cat $(filter %.sql,$^); } > $@.new && mv $@.new $@
$(PRETRAINED)empty--$(EXTVERSION).sql: sql/pretrained/check_name.sql data/pretrained.sql Makefile perfmodel.control
	@{ $(call SCRIPT,ALTER EXTENSION perfmodel_pretrained UPDATE) cat $(filter %.sql,$^); } > $@.new && mv $@.new $@
$(PRETRAINED)$(OLDVERSION)--empty.sql: sql/pretrained/take_out.sql sql/pretrained/tables.sql sql/pretrained/triggers.sql sql/update/replace.awk Makefile
	@{ $(call SCRIPT,ALTER EXTENSION perfmodel_pretrained UPDATE) cat sql/pretrained/take_out.sql; \
	   awk -v comments=1 -f sql/update/replace.awk sql/pretrained/tables.sql; cat sql/pretrained/triggers.sql; } > $@.new && mv $@.new $@

endif
