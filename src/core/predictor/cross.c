/*
 * cross.c - predictions of training rows by predictors that have not seen
 * their networks (docs/trust.md).
 *
 * A training that leaves out whole families tells how large errors are far from
 * what was learned, one that leaves out networks how large they are near to it.
 * Both in one training halve what that costs.
 */
#include "predictor/cross.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "features/split.h"
#include "predictor/domain.h"
#include "predictor/stages.h"

/* ---- folds ---- */

/* In which training each row is left out. */
typedef struct plan
{
	int			folds;
	int			sets;			/* 1: networks alone */
	int		   *fold_of[PM_N_CROSS];	/* [rows] */
	int			passes;			/* that the kind learns from */
	int		   *pass_fold[PM_N_CROSS];	/* [passes] */
} plan;

typedef struct row_key
{
	uint64_t	structure;
	int			row;
} row_key;

static int
by_structure(const void *a, const void *b)
{
	const row_key *x = a;
	const row_key *y = b;

	if (x->structure != y->structure)
		return x->structure < y->structure ? -1 : 1;
	return x->row - y->row;
}

/*
 * Identical networks under names of several families go with the first of
 * these folds; as networks they are left out in another one, which the seed decides.
 */
static pm_code
deal_networks(plan *x, const pm_dataset *d, uint64_t seed, pm_arena *a, pm_status *st)
{
	row_key    *keys = PM_NEW(a, row_key, d->n);
	int		   *family = x->fold_of[PM_CROSS_FAMILY];

	if (!keys)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
		keys[i] = (row_key) {.structure = d->samples[i].query.graph->structure, .row = i};
	qsort(keys, d->n, sizeof(row_key), by_structure);
	for (int i = 0, end; i < d->n; i = end)
	{
		int			fold = x->folds;
		uint64_t	step = 1 + pm_mix(keys[i].structure ^ pm_mix(seed)) % (uint64_t) (x->folds - 1);

		for (end = i; end < d->n && keys[end].structure == keys[i].structure; end++)
			if (family[keys[end].row] < fold)
				fold = family[keys[end].row];
		for (int k = i; k < end; k++)
		{
			family[keys[k].row] = fold;
			x->fold_of[PM_CROSS_NETWORK][keys[k].row] = (fold + (int) step) % x->folds;
		}
	}
	return PM_OK;
}

/* Whether row or pass i is left out in a fold. */
static bool
is_out(const plan *x, int *const *fold_of, int i, int fold)
{
	return fold_of[PM_CROSS_NETWORK][i] == fold || (x->sets > 1 && fold_of[PM_CROSS_FAMILY][i] == fold);
}

static bool
is_left_out(const plan *x, int i, int fold)
{
	return is_out(x, x->fold_of, i, fold);
}

/* Rows of the smallest training. */
static int
least_rows(const plan *x, int rows)
{
	int			least = rows;

	for (int fold = 0; fold < x->folds; fold++)
	{
		int			n = 0;

		for (int i = 0; i < rows; i++)
			n += !is_left_out(x, i, fold);
		if (n < least)
			least = n;
	}
	return least;
}

/*
 * Folds of networks and families where each still trains on half of the rows;
 * else of networks alone.  Of a kind that answers from other cards, folds of
 * networks on one card: some rows are in none.
 */
static pm_code
make_plan(plan *x, const pm_kind *kind, const pm_dataset *d, int folds, uint64_t seed, pm_arena *a, pm_status *st)
{
	int			enough = d->n / 2 > kind->min_samples ? d->n / 2 : kind->min_samples;
	pm_code		rc;

	x->folds = folds;
	for (int k = 0; k < PM_N_CROSS; k++)
		if ((x->fold_of[k] = PM_NEW(a, int, d->n)) == NULL)
			return pm_no_memory(st, a);
	rc = kind->transfers ? PM_ERR_DATA :
		pm_split_assign(PM_SPLIT_FAMILY, folds, seed, d, a, x->fold_of[PM_CROSS_FAMILY], &folds, st);
	if (rc == PM_OK)
	{
		x->sets = PM_N_CROSS;
		if ((rc = deal_networks(x, d, seed, a, st)) != PM_OK || least_rows(x, d->n) >= enough)
			return rc;
	}
	else if (rc != PM_ERR_DATA)
		return rc;
	x->sets = 1;
	if (kind->transfers)
		return pm_split_assign(PM_SPLIT_TRANSFER, x->folds, seed, d, a, x->fold_of[PM_CROSS_NETWORK], &folds, st);
	return pm_split_assign(PM_SPLIT_STRUCTURE, x->folds, seed, d, a, x->fold_of[PM_CROSS_NETWORK], &folds, st);
}

/* The row whose folds a pass shares: one of its network, else one of its family; -1: there is none. */
static int
row_of_pass(const pm_dataset *d, const pm_graph *g)
{
	int			kin = -1;

	for (int i = 0; i < d->n; i++)
	{
		const pm_graph *other = d->samples[i].query.graph;

		if (other->structure == g->structure)
			return i;
		if (kin < 0 && strcmp(other->family, g->family) == 0)
			kin = i;
	}
	return kin;
}

/* Passes of a family without steps are left out together. */
static pm_code
deal_passes(plan *x, const pm_predictor *p, const pm_dataset *d, pm_arena *a, pm_status *st)
{
	x->passes = pm_kind_learns_passes(p->kind, &p->options) ? d->n_passes : 0;
	for (int k = 0; k < x->sets; k++)
		if ((x->pass_fold[k] = PM_NEW(a, int, x->passes + 1)) == NULL)
			return pm_no_memory(st, a);
	for (int i = 0; i < x->passes; i++)
	{
		const pm_graph *g = d->passes[i].query.graph;
		int			row = row_of_pass(d, g);
		int			alone = (int) (pm_mix(pm_hash(PM_HASH_INIT, g->family, strlen(g->family))) % (uint64_t) x->folds);

		for (int k = 0; k < x->sets; k++)
			x->pass_fold[k][i] = row < 0 ? alone : x->fold_of[k][row];
	}
	return PM_OK;
}

/* ---- one training ---- */

typedef struct cross_fit
{
	const pm_predictor *p;
	const pm_dataset *d;
	const plan *plan;
	uint64_t	seed;
	int			threads;
	double	   *ms[PM_N_CROSS];	/* [rows] */
	double	   *distance[PM_N_CROSS];
	double	   *pass_ms[PM_N_CROSS];	/* [passes] */
	uint64_t   *unit;			/* [rows] of a kind that transfers */
} cross_fit;

static pm_code
without_fold(const cross_fit *f, int fold, pm_arena *a, pm_dataset *part, pm_status *st)
{
	const pm_dataset *d = f->d;

	*part = (pm_dataset) {.samples = PM_NEW(a, pm_sample, d->n), .n_operators = d->n_operators, .operators = d->operators};
	part->passes = PM_NEW(a, pm_sample, f->plan->passes + 1);
	if (!part->samples || !part->passes)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
		if (!is_left_out(f->plan, i, fold))
			part->samples[part->n++] = d->samples[i];
	for (int i = 0; i < f->plan->passes; i++)
		if (!is_out(f->plan, f->plan->pass_fold, i, fold))
			part->passes[part->n_passes++] = d->passes[i];
	return part->n < f->p->kind->min_samples ? pm_fail(st, PM_ERR_DATA, "too few measurements to calibrate on") : PM_OK;
}

/*
 * A question that a predictor does not answer has NaN in place of a time; only want of memory and a cancel end the training.
 * domain: NULL if no distance is wanted.
 */
static pm_code
predict_row(const pm_predictor *p, const pm_domain *domain, const pm_sample *s, const pm_arena *a, double *ms, double *distance,
			pm_status *st)
{
	pm_arena	scratch;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	rc = p->kind->predict(p, s, &scratch, ms, NULL, NULL, st);
	if (rc == PM_OK && domain != NULL)
		rc = pm_domain_distance(domain, s, &scratch, distance, st);
	pm_arena_release(&scratch);
	if (rc == PM_ERR_MEMORY || rc == PM_CANCELLED)
		return rc;
	if (rc != PM_OK || !(isfinite(*ms) && *ms > 0))
		*ms = *distance = NAN;
	return PM_OK;
}

/* The passes of a fold. */
static pm_code
predict_passes(cross_fit *f, int fold, const pm_predictor *q, const pm_hooks *hooks, const pm_arena *a, pm_status *st)
{
	pm_code		rc;

	for (int k = 0; k < f->plan->sets; k++)
		for (int i = 0; i < f->plan->passes; i++)
		{
			double		unused;

			if (f->plan->pass_fold[k][i] == fold &&
				((rc = pm_stop_if_asked(hooks, st)) != PM_OK ||
				 (rc = predict_row(q, NULL, &f->d->passes[i], a, &f->pass_ms[k][i], &unused, st)) != PM_OK))
				return rc;
		}
	return PM_OK;
}

static pm_code
predict_left_out(cross_fit *f, int fold, const pm_predictor *q, const pm_domain *domain, const pm_hooks *hooks,
				 const pm_arena *a, pm_status *st)
{
	pm_code		rc;

	for (int k = 0; k < f->plan->sets; k++)
		for (int i = 0; i < f->d->n; i++)
			if (f->plan->fold_of[k][i] == fold &&
				((rc = pm_stop_if_asked(hooks, st)) != PM_OK ||
				 (rc = predict_row(q, domain, &f->d->samples[i], a, &f->ms[k][i], &f->distance[k][i], st)) != PM_OK))
				return rc;
	return predict_passes(f, fold, q, hooks, a, st);
}

/* Train without the rows of a fold and predict them; NaN where that fails. */
static pm_code
train_fold(cross_fit *f, int fold, const pm_hooks *hooks, pm_arena *a, pm_status *st)
{
	const pm_predictor *p = f->p;
	pm_predictor q = {.kind = p->kind, .options = p->options, .quantity = p->quantity, .schema = p->schema};
	pm_fit_report report = {0};
	const pm_domain *domain;
	pm_dataset	part;
	pm_code		rc;

	if ((rc = without_fold(f, fold, a, &part, st)) != PM_OK ||
		(rc = p->kind->fit(&q, &part, f->seed, f->threads, hooks, a, &report, st)) != PM_OK ||
		(rc = pm_domain_fit(&part, NULL, NULL, hooks, a, &domain, st)) != PM_OK)
		return rc;
	return predict_left_out(f, fold, &q, domain, hooks, a, st);
}

/* ---- all of them ---- */

static pm_code
train_folds(cross_fit *f, const pm_hooks *hooks, const pm_arena *a, pm_status *st)
{
	pm_code		rc = PM_OK;

	for (int fold = 0; fold < f->plan->folds && rc == PM_OK; fold++)
	{
		pm_arena	work;
		pm_stage	s;

		pm_arena_init_within(&work, a);
		rc = train_fold(f, fold, pm_stage_begin(&s, hooks, fold + 1, f->plan->folds), &work, st);
		pm_arena_release(&work);
	}
	return rc;
}

static pm_code
take_numbers(cross_fit *f, pm_arena *a, pm_status *st)
{
	if (f->p->kind->transfers && (f->unit = PM_NEW(a, uint64_t, f->d->n)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < f->d->n && f->unit != NULL; i++)
		f->unit[i] = pm_transfer_key(&f->d->samples[i]);
	for (int k = 0; k < PM_N_CROSS; k++)
	{
		f->ms[k] = PM_NEW(a, double, f->d->n);
		f->distance[k] = PM_NEW(a, double, f->d->n);
		f->pass_ms[k] = PM_NEW(a, double, f->d->n_passes + 1);
		if (!f->ms[k] || !f->distance[k] || !f->pass_ms[k])
			return pm_no_memory(st, a);
		for (int i = 0; i < f->d->n_passes; i++)
			f->pass_ms[k][i] = NAN;
		for (int i = 0; i < f->d->n; i++)
			f->ms[k][i] = f->distance[k][i] = NAN;
	}
	return PM_OK;
}

pm_code
pm_cross_predict(const pm_predictor *p, const pm_dataset *d, int folds, uint64_t seed, int threads, const pm_hooks *hooks,
				 pm_arena *a, pm_cross *c, pm_status *st)
{
	plan		x = {0};
	cross_fit	f = {.p = p, .d = d, .plan = &x, .seed = seed, .threads = threads};
	pm_code		rc;

	*c = (pm_cross) {.n = 0};
	if (folds < 2)
		return PM_OK;
	if ((rc = take_numbers(&f, a, st)) == PM_OK && (rc = make_plan(&x, p->kind, d, folds, seed, a, st)) == PM_OK &&
		(rc = deal_passes(&x, p, d, a, st)) == PM_OK)
		rc = train_folds(&f, hooks, a, st);
	if (rc != PM_OK)
		return rc == PM_ERR_DATA || rc == PM_ERR_DIVERGED ? PM_OK : rc;
	c->n = x.sets;
	for (int k = 0; k < x.sets && x.passes > 0; k++)
		c->pass_ms[k] = f.pass_ms[k];
	for (int k = 0; k < x.sets; k++)
		c->set[k] = (pm_crossed) {.ms = f.ms[k], .distance = f.distance[k], .unit = f.unit};
	return PM_OK;
}
