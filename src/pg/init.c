/*
 * init.c - loading of the library, its settings, version() and blas_info().
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* sched_getaffinity */
#endif
#include "postgres.h"

#include <sched.h>
#include <unistd.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "base/pool.h"
#include "cache/freshness.h"
#include "catalog.h"
#include "plans.h"
#include "results.h"
#include "settings.h"
#include "nn/blas.h"

#ifdef PG_MODULE_MAGIC_EXT
PG_MODULE_MAGIC_EXT(.name = "perfmodel",.version = PM_VERSION);
#else
PG_MODULE_MAGIC;
#endif

PG_FUNCTION_INFO_V1(pm_version);
PG_FUNCTION_INFO_V1(pm_blas_info_sql);

int			pm_train_mem_kb;
int			pm_cache_mem_kb;
int			pm_train_threads;

void		_PG_init(void);

static void
define_settings(void)
{
	DefineCustomIntVariable("perfmodel.train_threads",
							"Threads that a training may use.",
							"From 0 to 64; 0 means one for each core that the server process may run on. "
							"The result of a training does not depend on it.",
							&pm_train_threads, 0, 0, PM_MAX_THREADS, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("perfmodel.train_mem",
							"Memory that a training may take.",
							"A training that would need more is refused before it starts.",
							&pm_train_mem_kb, 2 * 1024 * 1024, 1024, MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("perfmodel.cache_mem",
							"Memory in which a session keeps loaded predictors, graphs and what it has computed of them.",
							"What is in use at the moment is kept even when it is larger.",
							&pm_cache_mem_kb, 256 * 1024, 1024, MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB,
							NULL, NULL, NULL);
#if PG_VERSION_NUM >= 150000
	MarkGUCPrefixReserved("perfmodel");
#else
	EmitWarningsOnPlaceholders("perfmodel");
#endif
}

void
_PG_init(void)
{
	pm_blas_init();
	define_settings();
	pm_freshness_init();
}

int
pm_threads_allowed(void)
{
	cpu_set_t	set;
	int			n;

	if (pm_train_threads > 0)
		return pm_train_threads;
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	else
		n = (int) sysconf(_SC_NPROCESSORS_ONLN);
	return Min(Max(n, 1), PM_MAX_THREADS);
}

/* Version of the SQL objects, in the current context; NULL: the extension is not there. */
static char *
catalog_version(void)
{
	static pm_plan query = {
		"SELECT extversion FROM pg_catalog.pg_extension WHERE extname OPERATOR(pg_catalog.=) 'perfmodel'"
	};
	MemoryContext cxt = CurrentMemoryContext;
	char	   *version = NULL;

	SPI_connect();
	if (pm_run(&query, NULL, NULL, true) == 1)
		version = pm_value_text(0, 1, cxt);
	SPI_finish();
	return version;
}

/* Length of "1.2" in "1.2.3": versions that differ only after that have the same SQL objects. */
static size_t
release_length(const char *version)
{
	const char *dot = strchr(version, '.');

	dot = dot ? strchr(dot + 1, '.') : NULL;
	return dot ? dot - version : strlen(version);
}

void
pm_require_catalog(void)
{
	static bool fits = false;
	char	   *catalog;
	size_t		len;

	if (fits)
		return;
	catalog = catalog_version();
	if (catalog == NULL)
		return;
	len = release_length(catalog);
	if (len != release_length(PM_VERSION) || strncmp(catalog, PM_VERSION, len) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the loaded library is perfmodel %s, the SQL objects are of version %s", PM_VERSION, catalog),
				 errhint("Run ALTER EXTENSION perfmodel UPDATE; if the library is the older one, install the new one and reconnect.")));
	fits = true;
}

Datum
pm_version(PG_FUNCTION_ARGS)
{
	Datum		values[2];
	bool		nulls[2] = {false, false};
	char	   *catalog = catalog_version();

	if (catalog != NULL && strcmp(catalog, PM_VERSION) != 0)
		ereport(WARNING,
				(errmsg("the loaded library is perfmodel %s, the SQL objects are of version %s", PM_VERSION, catalog),
				 errhint("Run ALTER EXTENSION perfmodel UPDATE; if the library is the older one, install the new one and reconnect.")));
	values[0] = CStringGetTextDatum(PM_VERSION);
	values[1] = pm_text_or_null(catalog, &nulls[1]);
	return pm_record(fcinfo, values, nulls);
}

Datum
pm_blas_info_sql(PG_FUNCTION_ARGS)
{
	pm_blas_info info;
	Datum		values[5];
	bool		nulls[5] = {false};

	pm_blas_describe(&info);
	values[0] = CStringGetTextDatum(info.library);
	values[1] = CStringGetTextDatum(info.kernel);
	values[2] = Int32GetDatum(info.threads);
	values[3] = CStringGetTextDatum(info.linked_static ? "static" : "shared");
	values[4] = CStringGetTextDatum(info.cpu_avx512 ? "avx512" : info.cpu_avx2 ? "avx2" : "older");
	return pm_record(fcinfo, values, nulls);
}
