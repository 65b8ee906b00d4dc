/*
 * memory_kinds.c - the simulation and its rivals, fitted to groups of rows: of
 * one device, framework and number format each.
 */
#include "memory/memory_kinds.h"

#include <math.h>
#include <string.h>

#include "memory/forest.h"

/* Rows of one device, framework and format, and what was learned of them. */
typedef struct group
{
	const pm_question *question;	/* of the first of them; NULL: rows of every sort */
	int			n_rows;
	int			networks;
	pm_memory_factors factors;
	double		sums[PM_N_MEMORY_SUMS];
	const pm_forest *forest;
} group;

struct pm_memory_kind
{
	const char *name;
	const char *summary;
	int			min_rows;		/* fewer: PM_ERR_DATA */
	/* Learn from the rows of a group; NULL: nothing is fitted. */
	pm_code		(*fit) (group *g, const pm_memory_rival_row *rows, pm_arena *a, pm_status *st);
	/* The same from all rows, which make one group. */
	pm_code		(*fit_all) (group *g, const pm_memory_row *rows, pm_arena *a, pm_status *st);
	bool		pools;			/* a group of fewer rows, and a device without any, is answered from all rows */
	/* g: the nearest group; NULL: none. */
	void		(*answer) (const group *g, const pm_memory_row *row, double level, pm_memory_answer *answer);
};

struct pm_memory_model
{
	const pm_memory_kind *kind;
	int			n_groups;
	group	   *groups;
	group	   *pool;			/* of all rows; NULL: the kind needs none */
};

/* ---------- what kinds know of a row ---------- */

static void
figures_of(const pm_memory_row *row, pm_memory_rival_row *figures)
{
	pm_memory_rival_row_at(row->plan, row->question.batch, figures);
	pm_memory_sample_at(row->plan, &row->question, &figures->sample);
	figures->sample.network = row->plan->structure;
	figures->sample.measured = row->measured_mb;
}

static void
answer_without_interval(double peak_mb, pm_memory_answer *answer)
{
	*answer = (pm_memory_answer) {.peak_mb = peak_mb, .low_mb = NAN, .high_mb = NAN, .in_domain = -1};
}

/* ---------- the simulation ---------- */

static pm_code
fit_factors(group *g, const pm_memory_rival_row *rows, pm_arena *a, pm_status *st)
{
	pm_memory_sample *samples = PM_NEW(a, pm_memory_sample, g->n_rows);
	pm_memory_fit fit;
	pm_code		rc;

	if (samples == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < g->n_rows; i++)
		samples[i] = rows[i].sample;
	pm_memory_shipped_factors(g->question, &g->factors);
	/* the rows have no brackets, so what the device has does not matter */
	if ((rc = pm_memory_calibrate(samples, g->n_rows, NAN, g->question->gpu->is_cpu, a, &g->factors, &fit, st)) != PM_OK)
		return rc;
	g->networks = fit.networks;
	return PM_OK;
}

static void
answer_by_simulation(const group *g, const pm_memory_row *row, double level, pm_memory_answer *answer)
{
	pm_memory_factors factors;
	pm_memory_estimate e;
	char		note[256];

	if (g != NULL)
		factors = g->factors;
	else
		pm_memory_shipped_factors(&row->question, &factors);
	pm_memory_estimate_at(row->plan, &row->question, &factors, level, &e);
	pm_memory_note(&row->question, &factors, note, sizeof(note));
	*answer = (pm_memory_answer) {.peak_mb = e.peak_mb, .low_mb = e.low_mb, .high_mb = e.high_mb, .in_domain = note[0] == '\0'};
}

/* ---------- the rivals ---------- */

static pm_code
fit_sums(group *g, const pm_memory_rival_row *rows, pm_arena *a, pm_status *st)
{
	(void) a;
	(void) st;
	pm_memory_sums_fit(rows, g->n_rows, -1, g->sums);
	return PM_OK;
}

static void
answer_by_sums(const group *g, const pm_memory_row *row, double level, pm_memory_answer *answer)
{
	pm_memory_rival_row figures;

	(void) level;
	figures_of(row, &figures);
	answer_without_interval(pm_memory_sums_at(&figures, g->sums), answer);
}

/* What SchedTune's forest knows: activations, parameters and input; bandwidth, cores and multiprocessors of the device. */
#define N_FOREST	6
#define FOREST_SEED	42

static double
known(double figure)
{
	return isfinite(figure) ? figure : 0;
}

static void
forest_features(const pm_memory_row *row, double *x)
{
	const pm_gpu *gpu = row->question.gpu;
	pm_memory_rival_row figures;

	pm_memory_rival_row_at(row->plan, row->question.batch, &figures);
	x[0] = figures.outputs;
	x[1] = figures.weights;
	x[2] = figures.inputs;
	x[3] = known(gpu->mem_bw_gbs);
	x[4] = known(gpu->sm_count * gpu->cores_per_sm);
	x[5] = known(gpu->sm_count);
}

static pm_code
fit_forest(group *g, const pm_memory_row *rows, pm_arena *a, pm_status *st)
{
	double	   *x = PM_NEW(a, double, (size_t) g->n_rows * N_FOREST);
	double	   *y = PM_NEW(a, double, g->n_rows);

	if (x == NULL || y == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < g->n_rows; i++)
	{
		forest_features(&rows[i], x + (size_t) i * N_FOREST);
		y[i] = rows[i].measured_mb;
	}
	return pm_forest_fit(x, y, g->n_rows, N_FOREST, FOREST_SEED, a, &g->forest, st);
}

static void
answer_by_forest(const group *g, const pm_memory_row *row, double level, pm_memory_answer *answer)
{
	double		x[N_FOREST];

	(void) level;
	forest_features(row, x);
	answer_without_interval(pm_forest_at(g->forest, x), answer);
}

/* What estimates that learn nothing need: figures of the step, and the shipped factors of its device. */
static void
unfitted(const pm_memory_row *row, pm_memory_rival_row *figures, pm_memory_factors *shipped)
{
	figures_of(row, figures);
	pm_memory_shipped_factors(&row->question, shipped);
}

static void
answer_by_walk(const group *g, const pm_memory_row *row, double level, pm_memory_answer *answer)
{
	pm_memory_rival_row figures;
	pm_memory_factors shipped;

	(void) g;
	(void) level;
	unfitted(row, &figures, &shipped);
	answer_without_interval(shipped.context_mb + figures.walk, answer);
}

static void
answer_statically(const group *g, const pm_memory_row *row, double level, pm_memory_answer *answer)
{
	pm_memory_rival_row figures;
	pm_memory_factors shipped;

	(void) g;
	(void) level;
	unfitted(row, &figures, &shipped);
	answer_without_interval(pm_memory_static_at(&figures, &shipped), answer);
}

/* ---------- the kinds ---------- */

static const pm_memory_kind kinds[] = {
	{
		.name = "memory", .min_rows = 1, .fit = fit_factors, .answer = answer_by_simulation,
		.summary = "simulation of the step, its factors fitted as calibrate_memory() does"
	},
	{
		.name = "memory_shipped", .answer = answer_by_simulation,
		.summary = "simulation of the step with the factors that ship with the library, nothing fitted"
	},
	{
		.name = "memory_sums", .min_rows = PM_N_MEMORY_SUMS, .fit = fit_sums, .pools = true, .answer = answer_by_sums,
		.summary = "linear regression on a constant and bytes of weights, of all outputs and of the largest output"
	},
	{
		.name = "memory_static", .answer = answer_statically,
		.summary = "sum of context, weights, gradients, optimizer's states and all outputs, nothing fitted"
	},
	{
		.name = "memory_dnnmem", .answer = answer_by_walk,
		.summary = "walk over the graph in which each output lives until its gradient is done, nothing fitted, after DNNMem"
	},
	{
		.name = "memory_schedtune", .min_rows = 10, .fit_all = fit_forest, .answer = answer_by_forest,
		.summary = "random forest on bytes of outputs, weights and input, and on three figures of the device, after SchedTune"
	}
};

#define N_KINDS ((int) (sizeof(kinds) / sizeof(kinds[0])))

const pm_memory_kind *
pm_memory_kind_at(int i)
{
	return i >= 0 && i < N_KINDS ? &kinds[i] : NULL;
}

const pm_memory_kind *
pm_memory_kind_find(const char *name)
{
	for (int i = 0; i < N_KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			return &kinds[i];
	return NULL;
}

const char *
pm_memory_kind_name(const pm_memory_kind *kind)
{
	return kind->name;
}

const char *
pm_memory_kind_summary(const pm_memory_kind *kind)
{
	return kind->summary;
}

/* ---------- groups ---------- */

/* A framework that is not known is "". */
static const char *
framework_of(const pm_question *q)
{
	return q->framework != NULL ? q->framework : "";
}

static bool
same_group(const pm_question *a, const pm_question *b)
{
	return a->dtype == b->dtype && strcmp(a->gpu->name, b->gpu->name) == 0 && strcmp(framework_of(a), framework_of(b)) == 0;
}

/* Groups of the rows, in the order in which they first appear; group_of[i] is that of row i. */
static int
find_groups(const pm_memory_row *rows, int n, group *groups, int *group_of)
{
	int			n_groups = 0;

	for (int i = 0; i < n; i++)
	{
		int			k = 0;

		while (k < n_groups && !same_group(groups[k].question, &rows[i].question))
			k++;
		if (k == n_groups)
			groups[n_groups++] = (group) {.question = &rows[i].question};
		groups[k].n_rows++;
		group_of[i] = k;
	}
	return n_groups;
}

static pm_code
fit_groups(pm_memory_model *m, const pm_memory_row *rows, int n, const int *group_of, pm_arena *a, pm_status *st)
{
	pm_memory_rival_row *all = PM_NEW(a, pm_memory_rival_row, n);
	pm_memory_rival_row *own = PM_NEW(a, pm_memory_rival_row, n);
	pm_code		rc;

	if (all == NULL || own == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		figures_of(&rows[i], &all[i]);
	if (m->pool != NULL && (rc = m->kind->fit(m->pool, all, a, st)) != PM_OK)
		return rc;
	for (int k = 0; k < m->n_groups; k++)
	{
		int			n_own = 0;

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		for (int i = 0; i < n; i++)
			if (group_of[i] == k)
				own[n_own++] = all[i];
		if (n_own < m->kind->min_rows)
			memcpy(m->groups[k].sums, m->pool->sums, sizeof(m->pool->sums));
		else if ((rc = m->kind->fit(&m->groups[k], own, a, st)) != PM_OK)
			return rc;
	}
	return PM_OK;
}

pm_code
pm_memory_model_fit(const pm_memory_kind *kind, const pm_memory_row *rows, int n, pm_arena *a,
					const pm_memory_model **model, pm_status *st)
{
	pm_memory_model *m = PM_NEW(a, pm_memory_model, 1);
	int		   *group_of;

	if (m == NULL)
		return pm_no_memory(st, a);
	*m = (pm_memory_model) {.kind = kind};
	*model = m;
	if (n < kind->min_rows)
		return pm_fail(st, PM_ERR_DATA, "kind \"%s\" needs measurements of peak_memory_mb: at least %d, and there are %d",
					   kind->name, kind->min_rows, n);
	if (kind->fit_all != NULL)
	{
		if ((m->pool = PM_NEW(a, group, 1)) == NULL)
			return pm_no_memory(st, a);
		*m->pool = (group) {.n_rows = n};
		return kind->fit_all(m->pool, rows, a, st);
	}
	if (kind->fit == NULL)
		return PM_OK;
	if ((m->groups = PM_NEW(a, group, n)) == NULL || (group_of = PM_NEW(a, int, n)) == NULL)
		return pm_no_memory(st, a);
	if (kind->pools)
	{
		if ((m->pool = PM_NEW(a, group, 1)) == NULL)
			return pm_no_memory(st, a);
		*m->pool = (group) {.n_rows = n};
	}
	m->n_groups = find_groups(rows, n, m->groups, group_of);
	return fit_groups(m, rows, n, group_of, a, st);
}

void
pm_memory_model_answer(const pm_memory_model *model, const pm_memory_row *row, double level, pm_memory_answer *answer)
{
	const group *best = NULL;
	int			nearest = -1;

	for (int k = 0; k < model->n_groups; k++)
	{
		const group *g = &model->groups[k];
		int			nearness = pm_memory_nearness(&row->question, framework_of(g->question), (int) g->question->dtype, g->networks);

		if (strcmp(g->question->gpu->name, row->question.gpu->name) == 0 && nearness > nearest)
		{
			best = g;
			nearest = nearness;
		}
	}
	model->kind->answer(best != NULL ? best : model->pool, row, level, answer);
}
