/*
 * memory_factors.c - the rows of perfmodel.memory_factor.
 *
 * State: all rows of the table, because there are a few dozen, in a context of
 * their own that is thrown away with their generation.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "cache/freshness.h"
#include "encoding.h"
#include "memory_factors.h"
#include "plans.h"

typedef struct factor_row
{
	const char *gpu;
	const char *framework;
	int			dtype;
	pm_memory_factors factors;
	int			networks;
} factor_row;

static MemoryContext cxt = NULL;
static factor_row *rows = NULL;
static int	n_rows = 0;
static uint64 generation = 0;

/* The table is new in 0.2.0: the library may have to do without it. */
static bool
table_is_there(void)
{
	Oid			schema = get_namespace_oid("perfmodel", true);

	return OidIsValid(schema) && OidIsValid(get_relname_relid("memory_factor", schema));
}

static void
read_row(factor_row *r, uint64 i)
{
	r->gpu = pm_to_core(pm_value_text(i, 1, cxt));
	r->framework = pm_to_core(pm_value_text(i, 2, cxt));
	r->dtype = pm_value_word(i, 3, &pm_dtype_words);
	r->factors = (pm_memory_factors) {
		.context_mb = pm_value_float8(i, 4), .factor = pm_value_float8(i, 5), .workspace = pm_value_float8(i, 6),
		.need_factor = pm_value_float8(i, 7), .spread = pm_value_float8(i, 8), .context_spread_mb = pm_value_float8(i, 9),
		.fit_spread = pm_value_float8(i, 10), .measured = true
	};
	r->networks = DatumGetInt32(pm_value(i, 11, INT4OID, NULL));
}

static void
read_rows(void)
{
	static pm_plan query = {
		"SELECT gpu, framework, dtype, context_mb, factor, workspace, need_factor, spread, context_spread_mb, fit_spread, networks"
		" FROM perfmodel.memory_factor ORDER BY gpu, framework, dtype"
	};
	MemoryContext old;

	if (cxt == NULL)
		cxt = AllocSetContextCreate(TopMemoryContext, "perfmodel memory factors", ALLOCSET_SMALL_SIZES);
	n_rows = 0;
	generation = 0;
	MemoryContextReset(cxt);
	if (table_is_there())
	{
		SPI_connect();
		pm_run(&query, NULL, NULL, true);
		old = MemoryContextSwitchTo(cxt);
		rows = palloc0(sizeof(factor_row) * Max(SPI_processed, 1));
		for (uint64 i = 0; i < SPI_processed; i++)
			read_row(&rows[i], i);
		n_rows = (int) SPI_processed;
		MemoryContextSwitchTo(old);
		SPI_finish();
	}
	generation = pm_generation;
}

static int
nearness(const factor_row *r, const pm_question *q)
{
	return pm_memory_nearness(q, r->framework, r->dtype, r->networks);
}

void
pm_memory_factors_find(const pm_question *q, pm_memory_factors *f)
{
	const factor_row *best = NULL;

	pm_memory_shipped_factors(q, f);
	if (generation != pm_generation || cxt == NULL)
		read_rows();
	for (int i = 0; i < n_rows; i++)
		if (strcmp(rows[i].gpu, q->gpu->name) == 0 && (best == NULL || nearness(&rows[i], q) > nearness(best, q)))
			best = &rows[i];
	if (best != NULL)
		*f = best->factors;
}
