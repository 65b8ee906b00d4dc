/*
 * domain.c - the domain of a predictor (docs/trust.md).
 *
 * The domain is what the training rows span: devices with the formats and
 * batches they were used with, optimizers, and for each type of operator the
 * sizes it had.  Sizes are remembered as a cover: enough of the operators that
 * every other one is close to one of them.
 */
#include "predictor/domain.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "predictor/domain_parts.h"
#include "predictor/stages.h"

/* ---- constants that docs/trust.md gives reasons for ---- */

#define COVER				0.25	/* log2: distance of the operators that are remembered */
#define MIX_BATCH			32	/* at which shares of the time are taken, whatever the question's batch */
#define SIZE_WEIGHT			0.5 /* of the operators' distances in that of a network */

/*
 * Sizes of an operator for one sample of the batch: these slots of its token,
 * then rows of its matrix product, then elements of its output.
 */
static const int dims[] = {
	PM_HAS_IN_CH, PM_HAS_OUT_CH, PM_HAS_IN_H, PM_HAS_IN_W, PM_HAS_K_H, PM_HAS_K_W, PM_HAS_S_H, PM_HAS_GROUPS,
	PM_HAS_CH_PER_GROUP, PM_HAS_GEMM_N, PM_HAS_GEMM_K, PM_HAS_HEADS, PM_HAS_SEQ_LEN
};

#define N_DIMS		((int) (sizeof(dims) / sizeof(dims[0])))
#define ABSENT		(-100)		/* a size that the operator does not have: far from all that do */

static_assert(sizeof(dims) / sizeof(dims[0]) + 2 == N_SIZES, "each size has a name");

/* ---- sizes of operators ---- */

/* All sizes: v[N_SIZES], from tokens of batch 1. */
static void
all_sizes(const pm_tokens *t, int token, pm_real *v)
{
	const pm_real *slots = t->slots + (size_t) token * PM_N_SLOTS;
	const pm_real *mask = t->slot_mask + (size_t) token * PM_N_SLOTS;

	for (int k = 0; k < N_DIMS; k++)
		v[k] = mask[dims[k]] != 0 ? slots[dims[k]] : ABSENT;
	/* whether the batch makes more rows or more products is a matter of how the operator is written */
	v[N_DIMS] = ABSENT;
	if (mask[PM_HAS_GEMM_M] != 0 && mask[PM_HAS_GEMM_BATCH] != 0)
		v[N_DIMS] = (pm_real) log2(1 + (exp2(slots[PM_HAS_GEMM_M]) - 1) * (exp2(slots[PM_HAS_GEMM_BATCH]) - 1));
	v[N_DIMS + 1] = t->loads[(size_t) token * PM_N_LOADS + PM_LOAD_OUT_ELEMS];
}

/* Those that the domain remembers: v[t->sizes.n]. */
static void
sizes_of(const pm_domain *t, const pm_tokens *tokens, int token, pm_real *v)
{
	pm_real		all[N_SIZES];

	all_sizes(tokens, token, all);
	for (int k = 0; k < t->sizes.n; k++)
		v[k] = all[t->sizes.here != NULL ? t->sizes.here[k] : k];
}

#define FARTHEST	254			/* steps, and beyond */

/* Tokens of one sample of the batch. */
static pm_code
tokens_of_one(const pm_sample *s, pm_arena *a, pm_tokens *t, pm_status *st)
{
	pm_question	q = s->query;

	q.batch = 1;
	return pm_tokens_build(s->skeleton, &q, a, t, st);
}

/* Whether an operator that is remembered has all its sizes within `slack` of v. */
static bool
has_like(const op_type *type, const pm_real *v, int n_sizes, double slack)
{
	for (int i = 0; i < type->n; i++)
	{
		const pm_real *have = type->sizes + (size_t) i * n_sizes;
		int			k = 0;

		while (k < n_sizes && fabs(have[k] - v[k]) <= slack)
			k++;
		if (k == n_sizes)
			return true;
	}
	return false;
}

/*
 * The largest difference of sizes to the operator where it is smallest, if that
 * is less than `best`, else `best`; within COVER any will do.  The last sizes
 * differ most often, so they are looked at first.
 */
static pm_real
nearest_within(const op_type *type, const pm_real *v, int n_sizes, pm_real best)
{
	for (int i = 0; i < type->n && best > (pm_real) COVER; i++)
	{
		const pm_real *have = type->sizes + (size_t) i * n_sizes;
		pm_real		worst = 0;

		for (int k = n_sizes - 1; k >= 0 && worst < best; k--)
		{
			pm_real		difference = have[k] > v[k] ? have[k] - v[k] : v[k] - have[k];

			worst = difference > worst ? difference : worst;
		}
		best = worst < best ? worst : best;
	}
	return best;
}

/* The same as a byte, rounded up.  Most operators have one that is near, so that is what is looked for first. */
static uint8_t
nearest(const op_type *type, const pm_real *v, int n_sizes)
{
	const pm_real reach[] = {(pm_real) (COVER * 1.001), (pm_real) ALIKE, FARTHEST / (pm_real) STEPS};
	pm_real		best = 0;

	for (int i = 0; i < 3; i++)
		if ((best = nearest_within(type, v, n_sizes, reach[i])) < reach[i])
			break;
	return (uint8_t) ceil(fmin(best, reach[2]) * STEPS);
}

/*
 * Whether v is larger than some operator that is remembered: no size is smaller by more than operators that are alike differ, and both
 * have the same sizes.
 */
static bool
is_larger(const op_type *type, const pm_real *v, int n_sizes)
{
	for (int i = 0; i < type->n; i++)
	{
		const pm_real *have = type->sizes + (size_t) i * n_sizes;
		int			k = 0;

		while (k < n_sizes && v[k] - have[k] >= -ALIKE && v[k] - have[k] < -ABSENT / 2)
			k++;
		if (k == n_sizes)
			return true;
	}
	return false;
}

/* Windows have algorithms of their own for some sizes. */
static bool
has_window(const pm_tokens *t, int token)
{
	return t->slot_mask[(size_t) token * PM_N_SLOTS + PM_HAS_K_H] != 0;
}

const char *
pm_domain_type_name(const pm_tokens *t, int token, char *buf)
{
	const pm_node *node = &t->skeleton->graph->nodes[t->skeleton->node[token]];

	return node->op == PM_OP_UNKNOWN ? node->op_name : pm_type_name(t->type[token], buf);
}

static op_type *
find_type(const pm_domain *t, const pm_tokens *tokens, int token)
{
	const pm_node *node = &tokens->skeleton->graph->nodes[tokens->skeleton->node[token]];
	int			at = tokens->type[token];

	if (node->op != PM_OP_UNKNOWN)
		return t->type_at[at] < 0 ? NULL : &t->types[t->type_at[at]];
	for (int i = 0; i < t->n_types; i++)
		if (t->types[i].id < 0 && strcmp(t->types[i].name, node->op_name) == 0)
			return &t->types[i];
	return NULL;
}

/* ---- learning the domain ---- */

pm_code
pm_domain_list_gpus(pm_domain *t, pm_arena *a, pm_status *st)
{
	const char **names = PM_NEW(a, const char *, t->n_gpus + 1);

	if (!names)
		return pm_no_memory(st, a);
	for (int i = 0; i < t->n_gpus; i++)
		names[i] = t->gpus[i].name;
	t->gpu_names = names;
	return PM_OK;
}

static pm_code
add_type(pm_domain *t, const pm_tokens *tokens, int token, pm_arena *a, op_type **type, pm_status *st)
{
	const pm_node *node = &tokens->skeleton->graph->nodes[tokens->skeleton->node[token]];
	char		buf[64];
	const char *name = pm_domain_type_name(tokens, token, buf);

	/* room is made in powers of two; a list that outgrows it moves on */
	if (t->n_types == 0 || (t->n_types >= 64 && (t->n_types & (t->n_types - 1)) == 0))
	{
		op_type    *longer = PM_LONGER(a, op_type, t->types, t->n_types, t->n_types == 0 ? 64 : 2 * (size_t) t->n_types);

		if (!longer)
			return pm_no_memory(st, a);
		t->types = longer;
	}
	*type = &t->types[t->n_types];
	(*type)->name = pm_strdup(a, name, strlen(name));
	if ((*type)->name == NULL)
		return pm_no_memory(st, a);
	(*type)->id = node->op == PM_OP_UNKNOWN ? -1 : tokens->type[token];
	if ((*type)->id >= 0)
		t->type_at[(*type)->id] = t->n_types;
	t->n_types++;
	return PM_OK;
}

/* Remember an operator of these sizes unless one like it is. */
static pm_code
cover(op_type *type, const pm_real *v, pm_arena *a, pm_status *st)
{
	if (has_like(type, v, N_SIZES, COVER) || type->n == MAX_COVER)
		return PM_OK;
	if (type->n == type->room)
	{
		int			room = type->room == 0 ? 16 : 2 * type->room;
		pm_real    *longer = PM_LONGER(a, pm_real, type->sizes, (size_t) type->n * N_SIZES, (size_t) room * N_SIZES);

		if (!longer)
			return pm_no_memory(st, a);
		type->sizes = longer;
		type->room = room;
	}
	memcpy(type->sizes + (size_t) type->n++ * N_SIZES, v, N_SIZES * sizeof(pm_real));
	return PM_OK;
}

static pm_code
learn_operators(pm_domain *t, const pm_tokens *tokens, pm_arena *a, pm_status *st)
{
	for (int i = 0; i < tokens->n; i++)
	{
		op_type    *type = find_type(t, tokens, i);
		pm_real		v[N_SIZES];
		pm_code		rc;

		/* a graph of thousands of unknown names is none to learn from */
		if (type == NULL && t->n_types >= MAX_NAMES)
			continue;
		if (type == NULL && (rc = add_type(t, tokens, i, a, &type, st)) != PM_OK)
			return rc;
		all_sizes(tokens, i, v);
		if ((rc = cover(type, v, a, st)) != PM_OK)
			return rc;
	}
	return PM_OK;
}

static int
find_device(const device *gpus, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(gpus[i].name, name) == 0)
			return i;
	return -1;
}

int
pm_domain_find_gpu(const pm_domain *t, const char *name)
{
	return find_device(t->gpus, t->n_gpus, name);
}

const device *
pm_domain_find_passes(const pm_domain *t, const char *gpu)
{
	int			at = find_device(t->pass_gpus, t->n_pass_gpus, gpu);

	return at < 0 ? NULL : &t->pass_gpus[at];
}

int
pm_domain_find_framework(const pm_domain *t, const char *name)
{
	for (int i = 0; i < t->n_frameworks; i++)
		if (strcmp(t->frameworks[i].name, name) == 0)
			return i;
	return -1;
}

/* What a row says of its device, one of gpus[n], which have room for one more. Names are copied, as they outlive the rows; those too long to be stored are not. */
static pm_code
learn_device(device *gpus, int *n, const pm_question *q, pm_arena *a, pm_status *st)
{
	int			gpu = find_device(gpus, *n, q->gpu->name);
	device	   *g;
	format	   *f;

	if (gpu < 0 && *n < MAX_NAMES && strlen(q->gpu->name) <= PM_MAX_NAME_LEN)
	{
		gpu = (*n)++;
		gpus[gpu].min_batch = gpus[gpu].max_batch = (double) q->batch;
		gpus[gpu].framework = -1;
		if ((gpus[gpu].name = pm_strdup(a, q->gpu->name, strlen(q->gpu->name))) == NULL)
			return pm_no_memory(st, a);
	}
	if (gpu < 0)
		return PM_OK;
	g = &gpus[gpu];
	g->rows++;
	g->used[q->dtype][q->layout]++;
	g->min_batch = fmin(g->min_batch, (double) q->batch);
	g->max_batch = fmax(g->max_batch, (double) q->batch);
	f = &g->formats[q->dtype];
	f->min_batch = f->min_batch > 0 ? fmin(f->min_batch, (double) q->batch) : (double) q->batch;
	f->max_batch = fmax(f->max_batch, (double) q->batch);
	return PM_OK;
}

/* The lists have room for every row. */
static pm_code
learn_words(pm_domain *t, const pm_question *q, pm_arena *a, pm_status *st)
{
	int			framework = q->framework ? pm_domain_find_framework(t, q->framework) : -1;

	if (framework < 0 && q->framework && t->n_frameworks < MAX_NAMES && strlen(q->framework) <= PM_MAX_NAME_LEN)
	{
		framework = t->n_frameworks++;
		if ((t->frameworks[framework].name = pm_strdup(a, q->framework, strlen(q->framework))) == NULL)
			return pm_no_memory(st, a);
	}
	if (framework >= 0)
		t->frameworks[framework].rows++;
	t->optimizers[q->optimizer]++;
	return learn_device(t->gpus, &t->n_gpus, q, a, st);
}

/* share[t->n_types + 1]: shares of the roofline time by type; the last are those that are not known. */
static void
shares_of(const pm_domain *t, const pm_tokens *work, double *share)
{
	memset(share, 0, (t->n_types + 1) * sizeof(double));
	for (int i = 0; i < work->n; i++)
	{
		const op_type *type = find_type(t, work, i);

		share[type != NULL ? type - t->types : t->n_types] += pm_roofline_share(work, i);
	}
}

pm_code
pm_domain_shares(const pm_domain *t, const pm_sample *s, pm_arena *a, double **share, double *step, pm_status *st)
{
	pm_question	q = s->query;
	pm_tokens	work;
	pm_code		rc;

	q.batch = MIX_BATCH;
	if ((*share = PM_NEW(a, double, t->n_types + 1)) == NULL)
		return pm_no_memory(st, a);
	if ((rc = pm_tokens_build_work(s->skeleton, &q, a, &work, st)) != PM_OK)
		return rc;
	shares_of(t, &work, *share);
	*step = pm_domain_log_step(&work);
	return PM_OK;
}

/* The same from tokens that are there; the work of its tokens becomes that at MIX_BATCH. */
static pm_code
mix_of(const pm_domain *t, const pm_sample *s, pm_tokens *tokens, pm_arena *a, double **share, pm_status *st)
{
	pm_question	q = s->query;
	pm_code		rc;

	if ((*share = PM_NEW(a, double, t->n_types + 1)) == NULL)
		return pm_no_memory(st, a);
	q.batch = MIX_BATCH;
	if ((rc = pm_tokens_rework(tokens, &q, st)) == PM_OK)
		shares_of(t, tokens, *share);
	return rc;
}

static pm_code
learn_row(pm_domain *t, const pm_sample *s, pm_arena *a, pm_arena *scratch, uint8_t *kinds, row_network *network, pm_status *st)
{
	pm_tokens	work;
	pm_tokens	one;
	pm_network_kind most;
	double	   *share;
	pm_code		rc;

	if ((rc = pm_tokens_build_work(s->skeleton, &s->query, scratch, &work, st)) != PM_OK ||
		(rc = tokens_of_one(s, scratch, &one, st)) != PM_OK ||
		(rc = learn_words(t, &s->query, a, st)) != PM_OK)
		return rc;
	most = pm_domain_kind_of(&one);
	t->min_step = fmin(t->min_step, pm_domain_log_step(&work));
	t->max_step = fmax(t->max_step, pm_domain_log_step(&work));
	if ((rc = learn_operators(t, &one, a, st)) != PM_OK ||
		(rc = mix_of(t, s, &one, scratch, &share, st)) != PM_OK)
		return rc;
	*kinds = (uint8_t) pm_domain_kinds_of(most, &one);
	network->step = pm_domain_log_step(&one);
	return pm_networks_learn(t, share, a, &network->at, st);
}

static pm_code
make_domain(pm_domain **t, int rows, pm_arena *a, pm_status *st)
{
	*t = PM_NEW(a, pm_domain, 1);
	if (*t == NULL)
		return pm_no_memory(st, a);
	(*t)->gpus = PM_NEW(a, device, rows);
	(*t)->frameworks = PM_NEW(a, framework, rows);
	(*t)->type_at = PM_NEW(a, int32_t, pm_type_count());
	if (!(*t)->gpus || !(*t)->frameworks || !(*t)->type_at)
		return pm_no_memory(st, a);
	for (int i = 0; i < pm_type_count(); i++)
		(*t)->type_at[i] = -1;
	(*t)->knows_optimizers = true;
	(*t)->sizes.n = N_SIZES;
	(*t)->min_step = DBL_MAX;
	(*t)->max_step = -DBL_MAX;
	(*t)->limit[0] = (*t)->limit[1] = INFINITY;
	return PM_OK;
}

/* kinds[n]: of the networks of the rows. */
static pm_code
find_kinds(const pm_sample *samples, int n, pm_arena *a, uint8_t *kinds, pm_status *st)
{
	pm_code		rc = PM_OK;

	for (int i = 0; i < n && rc == PM_OK; i++)
	{
		pm_question q = samples[i].query;
		pm_network_kind most;
		pm_tokens	tokens;
		pm_arena	scratch;

		pm_arena_init_within(&scratch, a);
		if ((rc = tokens_of_one(&samples[i], &scratch, &tokens, st)) == PM_OK)
		{
			most = pm_domain_kind_of(&tokens);
			q.batch = MIX_BATCH;
			rc = pm_tokens_rework(&tokens, &q, st);
			kinds[i] = (uint8_t) pm_domain_kinds_of(most, &tokens);
		}
		pm_arena_release(&scratch);
	}
	return rc;
}

/*
 * The devices of the passes of d, beside those of old (may be NULL).  Which networks old knew passes of is not remembered: a device has as
 * many as either of the two.
 */
static pm_code
learn_passes(pm_domain *t, const pm_domain *old, const pm_dataset *d, pm_arena *a, pm_status *st)
{
	uint8_t    *kinds = PM_NEW(a, uint8_t, d->n_passes + 1);
	bool	   *seen = PM_NEW(a, bool, d->n_passes + 1);
	int			before = old != NULL ? old->n_pass_gpus : 0;
	pm_code		rc;

	t->n_pass_gpus = before;
	t->pass_gpus = PM_LONGER(a, device, before > 0 ? old->pass_gpus : NULL, before, before + d->n_passes + 1);
	if (!kinds || !seen || !t->pass_gpus)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n_passes; i++)
	{
		seen[i] = true;
		if ((rc = learn_device(t->pass_gpus, &t->n_pass_gpus, &d->passes[i].query, a, st)) != PM_OK)
			return rc;
	}
	if ((rc = find_kinds(d->passes, d->n_passes, a, kinds, st)) != PM_OK)
		return rc;
	return pm_domain_count_structures(t->pass_gpus, t->n_pass_gpus, &(counted) {d->passes, d->n_passes, kinds}, seen, a, st);
}

pm_code
pm_domain_fit(const pm_dataset *d, const pm_domain *start, const double *distance, const pm_hooks *hooks, pm_arena *a, const pm_domain **domain,
			  pm_status *st)
{
	pm_domain  *t;
	uint8_t    *kinds = PM_NEW(a, uint8_t, d->n);
	row_network *networks = PM_NEW(a, row_network, d->n);
	pm_code		rc = make_domain(&t, d->n, a, st);

	if (rc == PM_OK && (kinds == NULL || networks == NULL))
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n && rc == PM_OK; i++)
	{
		pm_arena	scratch;

		if ((rc = pm_stop_if_asked(hooks, st)) != PM_OK)
			return rc;
		pm_arena_init_within(&scratch, a);
		rc = learn_row(t, &d->samples[i], a, &scratch, &kinds[i], &networks[i], st);
		pm_arena_release(&scratch);
	}
	if (rc == PM_OK)
		rc = pm_domain_count_structures(t->gpus, t->n_gpus, &(counted) {d->samples, d->n, kinds}, NULL, a, st);
	if (rc == PM_OK)
		rc = learn_passes(t, d->n_passes == 0 ? start : NULL, d, a, st);
	if (rc == PM_OK)
		rc = pm_domain_choose_frameworks(t, 0, d, networks, a, st);
	if (rc == PM_OK && distance != NULL)
		rc = pm_networks_limit(t, d, distance, a, st);
	*domain = t;
	return rc == PM_OK ? pm_domain_list_gpus(t, a, st) : rc;
}

/* The old domain with room for the words of n more rows. */
static pm_code
extend(const pm_domain *old, int n, pm_arena *a, pm_domain **t, pm_status *st)
{
	*t = PM_NEW(a, pm_domain, 1);
	if (*t == NULL)
		return pm_no_memory(st, a);
	**t = *old;
	(*t)->gpus = PM_LONGER(a, device, old->gpus, old->n_gpus, old->n_gpus + n);
	(*t)->frameworks = PM_LONGER(a, framework, old->frameworks, old->n_frameworks, old->n_frameworks + n);
	return (*t)->gpus && (*t)->frameworks ? PM_OK : pm_no_memory(st, a);
}

pm_code
pm_domain_extend(const pm_domain *old, const pm_dataset *d, const bool *seen, pm_arena *a, const pm_domain **domain, pm_status *st)
{
	pm_domain  *t;
	uint8_t    *kinds = PM_NEW(a, uint8_t, d->n);
	pm_code		rc = extend(old, d->n, a, &t, st);

	if (rc == PM_OK && kinds == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n && rc == PM_OK; i++)
		rc = learn_words(t, &d->samples[i].query, a, st);
	if (rc == PM_OK)
		rc = find_kinds(d->samples, d->n, a, kinds, st);
	if (rc == PM_OK)
		rc = pm_domain_count_structures(t->gpus, t->n_gpus, &(counted) {d->samples, d->n, kinds}, seen, a, st);
	if (rc == PM_OK)
		rc = learn_passes(t, old, d, a, st);
	if (rc == PM_OK)
		rc = pm_domain_choose_frameworks(t, old->n_gpus, d, NULL, a, st);
	*domain = t;
	return rc == PM_OK ? pm_domain_list_gpus(t, a, st) : rc;
}

/* ---- how far a question is ---- */

/* How far a network is, given that of its operators, and of which kinds; the work of its tokens becomes that at MIX_BATCH. */
static pm_code
measure(const pm_domain *t, const pm_sample *s, pm_tokens *tokens, const bool *larger, pm_arena *scratch, pm_novelty *novelty, pm_status *st)
{
	double	   *share;
	double		sizes = 0;
	double		bounded = 0;	/* the same, where what is larger is no farther than what is alike */
	pm_code		rc;

	novelty->distance = novelty->interval_distance = 0;
	novelty->kind = pm_domain_kind_of(tokens);
	novelty->kinds = 1u << novelty->kind;
	if (!t->knows_networks)
		return PM_OK;
	if ((rc = mix_of(t, s, tokens, scratch, &share, st)) != PM_OK)
		return rc;
	novelty->kinds = pm_domain_kinds_of(novelty->kind, tokens);
	for (int i = 0; i < tokens->n; i++)
	{
		double		size = fmax(novelty->of[i] / (double) STEPS - COVER, 0);

		sizes += pm_roofline_share(tokens, i) * size;
		bounded += pm_roofline_share(tokens, i) * (larger[i] ? ALIKE - COVER : size);
	}
	novelty->distance = novelty->interval_distance = pm_networks_distance(t, NULL, share);
	novelty->distance += SIZE_WEIGHT * sizes;
	novelty->interval_distance += SIZE_WEIGHT * bounded;
	return PM_OK;
}

pm_code
pm_domain_prepare(const pm_domain *t, const pm_sample *s, pm_arena *a, pm_arena *scratch,
				  pm_novelty *novelty, pm_status *st)
{
	uint8_t    *of = PM_NEW(a, uint8_t, s->skeleton->n);
	bool	   *larger = PM_NEW(scratch, bool, s->skeleton->n);
	pm_tokens	one;
	pm_code		rc;

	if (!of || !larger)
		return pm_no_memory(st, of ? scratch : a);
	if ((rc = tokens_of_one(s, scratch, &one, st)) != PM_OK)
		return rc;
	for (int i = 0; i < one.n; i++)
	{
		const op_type *type = find_type(t, &one, i);
		pm_real		v[N_SIZES];

		sizes_of(t, &one, i, v);
		of[i] = type == NULL ? UNSEEN : nearest(type, v, t->sizes.n);
		larger[i] = type != NULL && of[i] > ALIKE * STEPS && !has_window(&one, i) && is_larger(type, v, t->sizes.n);
	}
	novelty->of = of;
	return measure(t, s, &one, larger, scratch, novelty, st);
}

pm_code
pm_domain_distance(const pm_domain *t, const pm_sample *s, pm_arena *scratch, double *distance, pm_status *st)
{
	pm_novelty	novelty = {0};
	pm_code		rc = pm_domain_prepare(t, s, scratch, scratch, &novelty, st);

	*distance = novelty.distance;
	return rc;
}

/* ---- the devices that were seen ---- */

int
pm_domain_gpu_count(const pm_domain *t)
{
	return t->n_gpus;
}

const char *const *
pm_domain_gpus(const pm_domain *t)
{
	return t->gpu_names;
}

int
pm_domain_gpu_structures(const pm_domain *t, int i)
{
	return t->gpus[i].structures;
}

int
pm_domain_pass_gpu_count(const pm_domain *t)
{
	return t->n_pass_gpus;
}

const char *
pm_domain_pass_gpu(const pm_domain *t, int i)
{
	return t->pass_gpus[i].name;
}

int
pm_domain_pass_gpu_structures(const pm_domain *t, int i)
{
	return t->pass_gpus[i].structures;
}
