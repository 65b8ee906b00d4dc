/*
 * fit_cluster_sql.c - fit_cluster(): a cluster fitted to measurements on several GPUs; recalibrate() fits clusters, too.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "cache/freshness.h"
#include "catalog.h"
#include "cluster_rows.h"
#include "clusters.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "fit_cluster.h"
#include "locks.h"
#include "measurements.h"
#include "plans.h"
#include "results.h"
#include "scaling.h"
#include "scaling/divided_correction.h"
#include "scaling/fit.h"
#include "tables.h"

PG_FUNCTION_INFO_V1(pm_fit_cluster);

#define N_COLUMNS 6
#define MADE_BY_FIT "fit_cluster() of "	/* beginning of perfmodel.cluster.source in a row that a fit has made */
#define MAX_NAME 512			/* bytes that perfmodel.cluster takes (sql/install/text_limits.sql) */

/* Networks, and the contention that each has of its own. */
typedef struct own_list
{
	int			n;
	int64	   *graphs;
	double	   *contention;
} own_list;

/* Where the list has a network; its length where it does not. */
static int
own_at(const own_list *own, int64 graph)
{
	int			i = 0;

	while (i < own->n && own->graphs[i] != graph)
		i++;
	return i;
}

/* A copy of what f, which was just looked up, says of networks. */
static own_list
own_of(const pm_fabric *f)
{
	const int64 *graphs;
	const double *contention;
	int			n = pm_cluster_own(f, &graphs, &contention);
	own_list	own = {n, palloc(sizeof(int64) * Max(n, 1)), palloc(sizeof(double) * Max(n, 1))};

	for (int i = 0; i < n; i++)
	{
		own.graphs[i] = graphs[i];
		own.contention[i] = contention[i];
	}
	return own;
}

/* What it says of each of n networks; 0 for one that it does not know. */
static double *
own_of_each(const own_list *own, const int64 *graphs, int n)
{
	double	   *of = palloc0(sizeof(double) * Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		int			at = own_at(own, graphs[i]);

		if (at < own->n)
			of[i] = own->contention[at];
	}
	return of;
}

/* Put what was fitted to n networks into the list; others keep what they had. */
static void
own_take(own_list *own, const int64 *graphs, const double *fitted, int n)
{
	own->graphs = repalloc(own->graphs, sizeof(int64) * (own->n + n + 1));
	own->contention = repalloc(own->contention, sizeof(double) * (own->n + n + 1));
	for (int i = 0; i < n; i++)
	{
		int			at = own_at(own, graphs[i]);

		own->n = Max(own->n, at + 1);
		own->graphs[at] = graphs[i];
		own->contention[at] = fitted[i];
	}
}

/* A copy whose links outlive the cache. */
static pm_fabric
copy_of(const pm_fabric *f)
{
	pm_fabric	copy = *f;

	copy.name = pstrdup(f->name);
	if (f->correction != NULL)
		copy.correction = memcpy(palloc(sizeof(pm_divided_correction)), f->correction, sizeof(pm_divided_correction));
	for (int i = 0; i < 2; i++)
	{
		pm_link    *link = i == 0 ? &copy.intra : &copy.inter;

		if (link->n_rows == 0)
			continue;
		link->name = pstrdup(link->name);
		link->rows = memcpy(palloc(sizeof(pm_link_row) * link->n_rows), link->rows, sizeof(pm_link_row) * link->n_rows);
	}
	return copy;
}

/* The stored form of a correction; NULL for none. */
static void
add_correction(pm_args *a, const pm_divided_correction *c)
{
	double		numbers[PM_DIVIDED_NUMBERS(PM_DIVIDED_POINTS)];

	if (c == NULL)
	{
		pm_arg_null(a);
		return;
	}
	pm_divided_correction_write(c, numbers);
	pm_arg(a, pm_float8_array(numbers, PM_DIVIDED_NUMBERS(c->n)));
}

/* Both columns of a list; NULL where it is empty. */
static void
add_own(pm_args *a, const own_list *own)
{
	if (own->n == 0)
	{
		pm_arg_null(a);
		pm_arg_null(a);
		return;
	}
	pm_arg(a, pm_int8_array(own->graphs, own->n));
	pm_arg(a, pm_float8_array(own->contention, own->n));
}

/*
 * Rows of the extension never change: what is fitted to one of them is a new
 * cluster.  gpu: its device where the fitted one is of any.  Returns its name;
 * *made: the row is there because of a fit, this one or one before.
 */
static char *
store(const char *cluster, const char *name, const char *gpu, const pm_fabric *f, const own_list *own, bool *made)
{
	static pm_plan insert = {
		"INSERT INTO perfmodel.cluster AS c (name, gpu, gpus_per_node, intra, inter, adapters, nodes, intra_factor, inter_factor, pair_factor, latency_factor,"
		" compute_factor, steal, straggler, contention, contention_power, overlap, host_s_per_gb, comm_error, fitted_rows, source, correction, own_graphs, own_contention,"
		" step_error, unseen_above, unseen_below)"
		" SELECT coalesce($2, CASE WHEN o.builtin THEN o.name OPERATOR(pg_catalog.||) ' fitted' ELSE o.name END), coalesce(o.gpu, $16), o.gpus_per_node, o.intra, o.inter, o.adapters, o.nodes,"
		" $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, '" MADE_BY_FIT "' OPERATOR(pg_catalog.||) o.name, $17, $18, $19, $20, $21, $22"
		" FROM perfmodel.cluster AS o WHERE o.name OPERATOR(pg_catalog.=) $1"
		" ON CONFLICT (name) DO UPDATE SET intra_factor = excluded.intra_factor, inter_factor = excluded.inter_factor, pair_factor = excluded.pair_factor,"
		" latency_factor = excluded.latency_factor, compute_factor = excluded.compute_factor, steal = excluded.steal, straggler = excluded.straggler,"
		" contention = excluded.contention, contention_power = excluded.contention_power, overlap = excluded.overlap,"
		" host_s_per_gb = excluded.host_s_per_gb, comm_error = excluded.comm_error,"
		" fitted_rows = excluded.fitted_rows, correction = excluded.correction, own_graphs = excluded.own_graphs, own_contention = excluded.own_contention,"
		" step_error = excluded.step_error, unseen_above = excluded.unseen_above, unseen_below = excluded.unseen_below WHERE NOT c.builtin"
		" RETURNING name, COALESCE(pg_catalog.starts_with(source, '" MADE_BY_FIT "'), false)",
		22, {TEXTOID, TEXTOID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID,
		FLOAT8OID, FLOAT8OID, INT4OID, TEXTOID, FLOAT8ARRAYOID, INT8ARRAYOID, FLOAT8ARRAYOID, FLOAT8OID, FLOAT8OID, FLOAT8OID}
	};
	const double numbers[] = {
		f->intra_factor, f->inter_factor, f->pair_factor, f->latency_factor, f->compute_factor, f->steal, f->straggler, f->contention,
		f->contention_power, f->overlap, f->host_s_per_gb, f->comm_error
	};
	MemoryContext cxt = CurrentMemoryContext;
	pm_args		a = {0};
	char	   *stored;

	pm_arg_text(&a, cluster);
	pm_arg_text(&a, name);
	for (int i = 0; i < lengthof(numbers); i++)
		pm_arg_float8(&a, numbers[i]);
	pm_arg(&a, Int32GetDatum(f->fitted_rows));
	pm_arg_text(&a, gpu);
	add_correction(&a, f->correction);
	add_own(&a, own);
	pm_arg_float8(&a, f->step_error);
	pm_arg_float8(&a, f->unseen_above);
	pm_arg_float8(&a, f->unseen_below);
	SPI_connect();
	if (pm_run(&insert, a.v, a.nulls, false) != 1)
	{
		pm_cluster_refuse_builtin(name != NULL ? name : cluster);
		pm_not_stored(&insert, "cluster", "stored");
	}
	stored = pm_value_text(0, 1, cxt);
	*made = DatumGetBool(pm_value(0, 2, BOOLOID, NULL));
	SPI_finish();
	return stored;
}

/* Of errors while a row is stored: the user may not, or a constraint or trigger that the user made says no. */
static bool
is_refusal(int sqlstate)
{
	return sqlstate == ERRCODE_INSUFFICIENT_PRIVILEGE || sqlstate == ERRCODE_RAISE_EXCEPTION || sqlstate == ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION ||
		ERRCODE_TO_CATEGORY(sqlstate) == ERRCODE_INTEGRITY_CONSTRAINT_VIOLATION;
}

/* The same; NULL, with *why, and nothing stored, where storing it is refused. */
static char *
store_if_allowed(const char *cluster, const char *name, const char *gpu, const pm_fabric *f, const own_list *own, bool *made, const char **why)
{
	MemoryContext cxt = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	char	   *volatile stored = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(cxt);
	PG_TRY();
	{
		stored = store(cluster, name, gpu, f, own, made);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *e = pm_error_copy(cxt);

		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(cxt);
		CurrentResourceOwner = owner;
		if (!is_refusal(e->sqlerrcode))
			ReThrowError(e);
		*why = e->message;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(cxt);
	CurrentResourceOwner = owner;
	return stored;
}

/* What is fitted, to what, and what came of it. */
typedef struct fitting
{
	const char *cluster;
	const char *name;			/* NULL: the usual one */
	const char *gpu;			/* NULL: the cluster's */
	Datum		profiles;		/* NULL when all */
	bool		all;
	text	   *predictor;		/* NULL: the active one */
	bool		go_on;			/* where the row may not be stored, too */
	int			fewest;			/* measurements that a fit takes */

	char	   *stored;
	bool		made;			/* the row stored was made by a fit, not by a user */
	int			used;
	int			left_out;
	double		before;
	double		after;
	double		comm_error;
} fitting;

/* What a user may want to know of a fit before it is stored. */
static void
notice_fit(const fitting *t, const pm_fabric *f)
{
	if (pm_fabric_slowest(f) < PM_FABRIC_SLOW)
		ereport(NOTICE,
				(errmsg("the links of cluster \"%s\" are %.0f times slower than their rows in perfmodel.interconnect say", t->cluster,
						1 / pm_fabric_slowest(f)),
				 errhint("Describe the cluster by the links that its jobs use: a job may not use NVLink, for instance.")));
	if (f->correction != NULL)
		ereport(NOTICE,
				(errmsg("cluster \"%s\" gets a correction of steps with tp or pp, learned from %d measurements", t->cluster, f->correction->rows),
				 errdetail("At these it changes a step by %.1f %% (root mean square), and far from them by nothing.", 100 * f->correction->spread)));
}

/* Store what was fitted; PM_ERR_DATA: with go_on, the row is refused. gpu: of a measurement. */
static pm_code
store_fit(fitting *t, const pm_fabric *f, const own_list *own, bool of_any, text *gpu, pm_status *st)
{
	const char *why = NULL;

	t->comm_error = f->comm_error;
	t->stored = t->go_on ? store_if_allowed(t->cluster, t->name, t->gpu, f, own, &t->made, &why) :
		store(t->cluster, t->name, t->gpu, f, own, &t->made);
	if (t->stored == NULL)
	{
		pm_fail(st, PM_ERR_DATA, "%s", pm_to_core_lossy(why));
		pm_hint(st, "The row of the cluster is refused; recalibrate() goes on without it.");
		return PM_ERR_DATA;
	}
	if (of_any)
		ereport(NOTICE,
				(errmsg("cluster \"%s\" has no device: only questions that name it use it", t->stored),
				 errhint("To use it for a device: UPDATE perfmodel.cluster SET gpu = %s WHERE name = %s.",
						 quote_literal_cstr(text_to_cstring(gpu)), quote_literal_cstr(t->stored))));
	return PM_OK;
}

/*
 * What a fit to n rows starts from. Where those of the fit before are no more, they are likely among them and would count twice:
 * it starts from the description again. Fewer rows move what is known.
 */
static void
start_afresh(pm_fabric *f, int n, double *own, int networks)
{
	if (f->fitted_rows == 0 || n < f->fitted_rows)
		return;
	pm_fabric_forget(f);
	memset(own, 0, networks * sizeof(double));
}

/* PM_ERR_DATA: what is to be fitted is given fewer measurements than the caller asks for, though not none. */
static pm_code
check_enough(const fitting *t, pm_status *st)
{
	if (t->used == 0 || t->used >= t->fewest)
		return PM_OK;
	pm_fail(st, PM_ERR_DATA, "it has only %d measurement%s on several GPUs, and recalibrate() fits it to %d or more", t->used, t->used == 1 ? "" : "s", t->fewest);
	pm_hint(st, "Measure another number of GPUs or another network; fit_cluster() fits to fewer.");
	return PM_ERR_DATA;
}

/* Fit and store. PM_ERR_DATA, and nothing stored: there are no measurements, they cannot be true, or, with go_on, the row is refused. Raises for all else. */
static pm_code
fit(fitting *t, const pm_fabric *known, pm_status *st)
{
	pm_fabric	f = copy_of(known);
	own_list	own = own_of(known);
	bool		of_any = t->gpu == NULL && !pm_cluster_has_gpu(known);
	int			before = f.fitted_rows;
	int64	   *graphs;			/* by number of network */
	double	   *fitted;
	int			networks;
	pm_scaled_row *rows;
	pm_arena	scratch;
	pm_cluster_row *m;
	pm_code		rc;
	int			n;

	m = pm_cluster_rows_read(t->cluster, t->profiles, t->all, t->predictor, &n);
	graphs = palloc(sizeof(int64) * Max(n, 1));
	rows = pm_cluster_rows_scaled(m, n, &f, graphs, &t->used);
	networks = t->used > 0 ? rows[t->used - 1].network + 1 : 0;
	fitted = own_of_each(&own, graphs, networks);
	t->left_out = n - t->used;
	if (check_enough(t, st) != PM_OK)
		return PM_ERR_DATA;
	start_afresh(&f, t->used, fitted, networks);
	pm_context_arena(&scratch, CurrentMemoryContext, 0);
	rc = pm_fabric_fit(&f, rows, t->used, fitted, &scratch, &t->before, &t->after, st);
	if (rc == PM_ERR_DATA && t->used == 0 && n > 0)
		pm_detail(st, "None of the %d measurements fits on the cluster as it is described.", n);
	else if (rc == PM_ERR_DATA && t->used > 0)
		pm_detail(st, "Nothing is stored.");
	if (rc == PM_ERR_DATA)
		return rc;
	if (rc != PM_OK)
		pm_raise(st);
	f.fitted_rows = Max(f.fitted_rows, before);
	notice_fit(t, &f);
	own_take(&own, graphs, fitted, networks);
	return store_fit(t, &f, &own, of_any, m[0].words.gpu, st);
}

/*
 * The cluster as it is when nobody else fits it; NULL: *p is filled. What a
 * fit stores of networks adds to what is known of others, so that two at once
 * would lose what one of them has learned. Ends in PopActiveSnapshot().
 */
static const pm_fabric *
take_turn(const char *cluster, pm_problem *p)
{
	pm_lock_name("cluster", cluster);
	/* what was stored while this one waited is newer than the snapshot of the statement */
	PushActiveSnapshot(GetTransactionSnapshot());
	pm_freshen();
	return pm_cluster_look_up(cluster, NULL, p);
}

/* A name that the table would refuse, by an error that says what is wrong. */
static void
check_new_name(const char *name)
{
	static pm_plan query = {
		"SELECT 1 WHERE $1 OPERATOR(pg_catalog.~) '[[:alnum:]]'", 1, {TEXTOID}
	};
	Datum		arg;
	bool		has_letters;

	if (strlen(name) > MAX_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("cluster name is too long"),
				 errdetail("It has %zu bytes and may have %d.", strlen(name), MAX_NAME)));
	arg = CStringGetTextDatum(name);
	SPI_connect();
	has_letters = pm_run(&query, &arg, NULL, true) > 0;
	SPI_finish();
	if (!has_letters)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cluster name \"%s\" has no letter and no digit", pm_shown_name(name)),
				 errdetail("The argument \"name\" is what the fitted cluster will be called in perfmodel.cluster."),
				 errhint("Give it letters or digits, such as 'our machines', or leave it out: then the cluster keeps its name.")));
}

/* fit_cluster(cluster, name, profiles, predictor) */
Datum
pm_fit_cluster(PG_FUNCTION_ARGS)
{
	fitting		t = {0};
	pm_problem	p;
	pm_status	st = {PM_OK};
	const pm_fabric *known;
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PreventCommandIfReadOnly("perfmodel.fit_cluster()");
	pm_require_catalog();
	t.cluster = text_to_cstring(PG_GETARG_TEXT_PP(0));
	t.name = PG_ARGISNULL(1) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(1));
	if (t.name != NULL)
		check_new_name(t.name);
	t.all = PG_ARGISNULL(2);
	t.profiles = t.all ? (Datum) 0 : PointerGetDatum(pm_stored_profiles(PG_GETARG_ARRAYTYPE_P(2)));
	t.predictor = PG_ARGISNULL(3) ? NULL : PG_GETARG_TEXT_PP(3);
	if ((known = take_turn(t.cluster, &p)) == NULL)
		pm_problem_raise(&p);
	if (fit(&t, known, &st) != PM_OK)
		pm_raise(&st);
	PopActiveSnapshot();
	values[0] = CStringGetTextDatum(t.stored);
	values[1] = Int32GetDatum(t.used);
	values[2] = pm_rounded_or_null(100 * t.before, &nulls[2]);
	values[3] = pm_rounded_or_null(100 * t.after, &nulls[3]);
	values[4] = pm_figure_or_null(t.comm_error, &nulls[4]);
	values[5] = Int32GetDatum(t.left_out);
	return pm_record(fcinfo, values, nulls);
}

/* ---------- the clusters of some measurements ---------- */

/* One step tells no bandwidth from a fixed time, nor either from a mistake. */
#define FEWEST 2

/* A device, and its measurements. */
typedef struct measured_device
{
	char	   *gpu;
	Datum		profiles;
} measured_device;

static measured_device *
devices_of(ArrayType *profiles, int *n)
{
	static pm_plan query = {
		"SELECT gpu, pg_catalog.array_agg(profile_id) FROM perfmodel.profile"
		" WHERE profile_id OPERATOR(pg_catalog.=) ANY ($1) AND mode OPERATOR(pg_catalog.=) 'train' AND world_size OPERATOR(pg_catalog.>) 1"
		" GROUP BY gpu ORDER BY gpu", 1, {INT8ARRAYOID}
	};
	MemoryContext cxt = CurrentMemoryContext;
	MemoryContext old;
	measured_device *d;
	Datum		arg = PointerGetDatum(profiles);

	SPI_connect();
	pm_run(&query, &arg, NULL, true);
	old = MemoryContextSwitchTo(cxt);
	*n = (int) SPI_processed;
	d = palloc(sizeof(measured_device) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		d[i].gpu = pm_value_text(i, 1, cxt);
		d[i].profiles = PointerGetDatum(DatumGetArrayTypePCopy(pm_value(i, 2, INT8ARRAYOID, NULL)));
	}
	MemoryContextSwitchTo(old);
	SPI_finish();
	return d;
}

/* What a row that a user has described had before it was fitted, but for figures set by hand. */
#define NOT_FITTED \
	"intra_factor = DEFAULT, inter_factor = DEFAULT, pair_factor = DEFAULT, latency_factor = DEFAULT, compute_factor = DEFAULT," \
	" steal = DEFAULT, straggler = DEFAULT, contention = DEFAULT, contention_power = DEFAULT, overlap = DEFAULT, host_s_per_gb = DEFAULT," \
	" comm_error = DEFAULT, step_error = DEFAULT, unseen_above = DEFAULT, unseen_below = DEFAULT, fitted_rows = DEFAULT," \
	" correction = DEFAULT, own_graphs = DEFAULT, own_contention = DEFAULT"

/* Who recalibrates makes a predictor that nobody need use; the cluster is everybody's at once. */
static void
notice_fitted(const fitting *t, const char *gpu)
{
	const char *name = quote_literal_cstr(t->stored);

	ereport(NOTICE,
			(errmsg("cluster \"%s\" is fitted to %d measurements on several GPUs: error %.1f %% before, %.1f %% after", t->stored, t->used,
					100 * t->before, 100 * t->after),
			 errdetail("Answers about several GPUs \"%s\" change for all users and all predictors, even if the new predictor is never activated.", gpu),
			 errhint("To undo it: %s.", t->made ? psprintf("DELETE FROM perfmodel.cluster WHERE name = %s", name) :
					 psprintf("UPDATE perfmodel.cluster SET " NOT_FITTED " WHERE name = %s", name))));
}

/* The usual cluster of a device, fitted; says what came of it. */
static void
fit_device(const measured_device *d, text *predictor)
{
	fitting		t = {.gpu = d->gpu,.profiles = d->profiles,.predictor = predictor,.go_on = true,.fewest = FEWEST};
	pm_problem	p;
	pm_status	st = {PM_OK};
	const pm_fabric *known;

	pm_freshen();
	if ((known = pm_cluster_look_up(NULL, pm_to_core(d->gpu), &p)) == NULL)
	{
		ereport(NOTICE,
				(errmsg("measurements of gpu \"%s\" on several GPUs are not used: %s", d->gpu, p.message),
				 errhint("fit_cluster() fits a cluster by its name.")));
		return;
	}
	t.cluster = pstrdup(pm_message_from_core(known->name));
	if (!pm_cluster_has_gpu(known))
		t.name = psprintf("%s fitted", d->gpu);
	if ((known = take_turn(t.cluster, &p)) == NULL)
		pm_problem_raise(&p);
	if (fit(&t, known, &st) == PM_OK)
		notice_fitted(&t, d->gpu);
	else
		ereport(NOTICE,
				(errmsg("cluster \"%s\" is not fitted: %s", t.cluster, pm_message_from_core(st.message)),
				 st.detail[0] ? errdetail("%s", pm_message_from_core(st.detail)) : 0,
				 st.hint[0] ? errhint("%s", pm_message_from_core(st.hint)) : 0));
	PopActiveSnapshot();
}

/* Whether the user may store a cluster. */
static bool
may_store(void)
{
	return pg_class_aclcheck(pm_table("cluster"), GetUserId(), ACL_INSERT) == ACLCHECK_OK &&
		pg_class_aclcheck(pm_table("cluster"), GetUserId(), ACL_UPDATE) == ACLCHECK_OK;
}

void
pm_fit_clusters_of(ArrayType *profiles, text *predictor)
{
	int			n;
	measured_device *d;

	if (!may_store())
	{
		ereport(NOTICE,
				(errmsg("measurements on several GPUs are not used: you may not change perfmodel.cluster"),
				 errhint("Ask its owner for INSERT and UPDATE on perfmodel.cluster.")));
		return;
	}
	d = devices_of(profiles, &n);
	/* the predictor may have been stored by this very statement */
	CommandCounterIncrement();
	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();
	for (int i = 0; i < n; i++)
		fit_device(&d[i], predictor);
	PopActiveSnapshot();
}
