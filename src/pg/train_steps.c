/*
 * train_steps.c - the steps of a training, in the order in which they are taken.
 *
 * What is cheap to refuse comes first (name, kind, options, rights, rows,
 * memory), then the computation, then the rows.
 *
 * Memory: rows and graphs in "perfmodel rows"; the core's arena in "perfmodel
 * train", bounded by perfmodel.train_mem.  Both are below the context that the
 * step ran in and go with it when it fails.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "pm_train.h"

double
pm_memory_needed(const pm_kind *kind, const pm_options *o, const pm_dataset *d, int threads)
{
	return kind->memory != NULL ? kind->memory(o, d, threads) : 0;
}

double
pm_memory_limit(void)
{
	return (double) pm_train_mem_kb * 1024;
}

double
pm_check_memory(const pm_kind *kind, const pm_options *o, const pm_dataset *d, int threads)
{
	double		needed = pm_memory_needed(kind, o, d, threads);

	if (needed > pm_memory_limit())
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("training needs about %.0f MB, more than perfmodel.train_mem allows",
						ceil(needed / (1024 * 1024))),
				 errdetail("perfmodel.train_mem is %.0f MB; there are %d measurements and %d threads.",
						   pm_memory_limit() / (1024 * 1024), d->n, threads),
				 errhint("Raise perfmodel.train_mem, lower perfmodel.train_threads, or train on fewer measurements.")));
	return needed;
}

/* ---------- before anything is read ---------- */

void
pm_training_choose(pm_training *t, const char *kind, Jsonb *settings)
{
	t->predictor.kind = pm_kind_or_error(kind);
	t->settings = settings;
	pm_options_from_jsonb(t->predictor.kind, settings, &t->predictor.options);
}

static void
check_rights(void)
{
	pm_require_privilege("predictor", ACL_INSERT);
	pm_require_privilege("predictor_weights", ACL_INSERT);
	pm_require_privilege("training_run", ACL_INSERT);
}

static void
check_name(const char *name)
{
	static pm_plan query = {
		"SELECT 1 FROM perfmodel.predictor WHERE name OPERATOR(pg_catalog.=) $1", 1, {TEXTOID}
	};
	Datum		arg = CStringGetTextDatum(name);

	if (name[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("predictor name must not be empty")));
	pm_lock_name("perfmodel.predictor", name);
	if (pm_run(&query, &arg, NULL, false) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("predictor \"%s\" already exists", name),
				 errhint("Give the new one a name of its own, or drop the old one first: SELECT perfmodel.drop_predictor(%s).",
						 quote_literal_cstr(name))));
}

void
pm_training_check(const pm_training *t)
{
	check_rights();
	check_name(t->name);
	if (t->run_id == 0)
		pm_run_refuse_twin(t->name);
}

/* ---------- measurements ---------- */

pm_rows *
pm_rows_load_apart(ArrayType *ids, bool merged, MemoryContext *cxt)
{
	MemoryContext old;
	pm_rows    *rows;

	*cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel rows", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(*cxt);
	rows = pm_rows_load(ids, merged);
	MemoryContextSwitchTo(old);
	return rows;
}

void
pm_training_read(pm_training *t)
{
	const pm_predictor *p = &t->predictor;
	MemoryContext cxt;

	pm_freshen();
	t->threads = pm_threads_allowed();
	t->seed = pm_option_seed(p->kind, &p->options);
	t->rows = pm_rows_load_apart(t->profiles, pm_predictor_merges(p->kind, &p->options), &cxt);
	t->memory_bytes = pm_check_memory(p->kind, &p->options, &t->rows->set, t->threads);
}

/* ---------- computation, result ---------- */

void
pm_training_fit(pm_training *t, pm_run_hooks *hooks)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel train", ALLOCSET_DEFAULT_SIZES);
	pm_arena	arena;
	pm_status	st = {PM_OK};
	pm_code		code;

	pm_context_arena(&arena, cxt, (size_t) pm_memory_limit());
	code = pm_predictor_fit(&t->predictor, &t->rows->set, t->seed, t->threads, &hooks->hooks, &arena, &t->report, &st);
	pm_hooks_finish(hooks, code, &st);
	t->last = hooks->last;
}

int64
pm_training_store(const pm_training *t)
{
	int64		id = pm_predictor_store(t);

	if (t->run_id != 0)
		pm_run_finish(t, id);
	else
		pm_run_insert(t, id);
	return id;
}
