/*
 * passes.c - factors, levels and errors of forward passes.
 */
#include "predictor/passes.h"

#include <math.h>
#include <string.h>

#include "base/metrics.h"
#include "features/split.h"
#include "nn/nnls.h"
#include "predictor/stages.h"

#define MAX_PASSES		5000	/* that are learned from, evenly out of all */
#define MAX_STEPS		1000	/* the same of steps with a forward time */
#define PULL			0.03	/* price of a factor's distance from where it is pulled, in squared relative errors of a network */
#define ROUNDS			4		/* of weights that make squares absolute values */
#define SMALL_ERROR		0.05	/* relative; below, the absolute error is smoothed */
#define LEVEL_KNOWN		1.0		/* networks at which half of what a device's mean error says is believed */
#define USUAL_WEIGHT	3.0		/* networks that the usual error counts for */
#define FOLDS			10		/* of networks, for the errors */

/*
 * On a CPU a pass takes this part of the forward part of a step, where no passes say more: outputs go at once, and their
 * memory is used again.  From 32 passes of 16 networks of torchvision, PyTorch 1.13, one thread (docs/predicting.md).
 */
#define CPU_PART		0.87
#define CPU_PART_NORM	0.56

/* ---- evidence ---- */

/* A measured pass, divided by its time. */
typedef struct pass
{
	const pm_sample *s;
	bool		is_pass;		/* else the forward part of a training step */
	double		weight;			/* of a network on a device 1, shared by its rows */
	double		x[PM_N_PASS_FACTORS];	/* predicted parts over the measured time */
} pass;

typedef struct evidence
{
	const pm_predictor *p;
	pm_pass_ask ask;
	int			n;
	pass	   *row;			/* [n] */
} evidence;

const pm_pass_device *
pm_passes_find(const pm_passes *t, const char *gpu)
{
	for (int i = 0; t != NULL && i < t->n; i++)
		if (strcmp(t->device[i].gpu, gpu) == 0)
			return &t->device[i];
	return NULL;
}

int
pm_pass_factor_of(const pm_tokens *t, const pm_part *part)
{
	return part->token < 0 ? PM_PASS_REST : part->bound == 'l' ? PM_PASS_LAUNCH : pm_token_group(t, part->token);
}

/* What p says of s in a mode: all of it, and, unless x is NULL, by factor. */
static pm_code
predict_parts(const evidence *e, const pm_predictor *p, const pm_sample *s, pm_mode mode, pm_arena *scratch, double *ms, double *x, pm_status *st)
{
	pm_sample	q = *s;
	pm_part    *parts = PM_NEW(scratch, pm_part, s->skeleton->n + 1);
	pm_tokens	work;
	int			n = 0;
	pm_code		rc;

	if (parts == NULL)
		return pm_no_memory(st, scratch);
	q.query.mode = mode;
	if ((rc = pm_tokens_build_work(s->skeleton, &q.query, scratch, &work, st)) != PM_OK ||
		(rc = e->ask(p, &q, scratch, ms, parts, &n, st)) != PM_OK)
		return rc;
	for (int i = 0; i < n && x != NULL; i++)
		x[pm_pass_factor_of(&work, &parts[i])] += parts[i].step_ms;
	return PM_OK;
}

/*
 * Row of a measured time.  That of a part of a training step is compared as a share of the step: then an error on the
 * step as a whole is no error on its forward part.
 */
static pm_code
add_row(const evidence *e, const pm_sample *s, bool is_pass, pm_arena *scratch, pass *row, pm_status *st)
{
	double		measured = s->step_ms;
	double		ms;
	double		step_ms;
	pm_code		rc;

	*row = (pass) {.s = s,.is_pass = is_pass,.weight = 1};
	if ((rc = predict_parts(e, e->p, s, is_pass ? PM_INFERENCE : PM_FORWARD, scratch, &ms, row->x, st)) != PM_OK)
		return rc;
	if (!is_pass)
	{
		if ((rc = predict_parts(e, e->p, s, PM_TRAIN, scratch, &step_ms, NULL, st)) != PM_OK)
			return rc;
		measured = step_ms * s->forward_ms / s->step_ms;
	}
	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
		row->x[k] /= measured;
	return PM_OK;
}

/* A question that is not answered tells nothing. */
static pm_code
try_row(evidence *e, const pm_sample *s, bool is_pass, const pm_arena *a, pm_status *st)
{
	pm_arena	scratch;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	rc = add_row(e, s, is_pass, &scratch, &e->row[e->n], st);
	pm_arena_release(&scratch);
	e->n += rc == PM_OK;
	return rc == PM_ERR_MEMORY || rc == PM_CANCELLED ? rc : PM_OK;
}

/* Rows of a network on a device together have the weight 1. */
static pm_code
weigh(evidence *e, pm_arena *scratch, pm_status *st)
{
	uint64_t   *unit = PM_NEW(scratch, uint64_t, e->n);
	uint64_t   *sorted = PM_NEW(scratch, uint64_t, e->n);
	int		   *same = PM_NEW(scratch, int, e->n);

	if (!unit || !sorted || !same)
		return pm_no_memory(st, scratch);
	for (int i = 0; i < e->n; i++)
		unit[i] = pm_transfer_key(e->row[i].s) ^ (e->row[i].is_pass ? 1 : 0);
	pm_count_same(unit, e->n, sorted, same);
	for (int i = 0; i < e->n; i++)
		e->row[i].weight = e->row[i].s->weight / same[i];
	return PM_OK;
}

static bool
is_wanted(const pm_sample *s, bool is_pass)
{
	return is_pass || (s->forward_ms > 0 && s->forward_ms < s->step_ms);
}

/* The rows that are wanted of samples[n], at most `most`. */
static pm_code
take(evidence *e, const pm_sample *samples, int n, int most, bool is_pass, const pm_hooks *hooks, pm_arena *a, pm_status *st)
{
	int			wanted = 0;
	int			taken = 0;
	pm_code		rc = PM_OK;

	for (int i = 0; i < n; i++)
		wanted += is_wanted(&samples[i], is_pass);
	for (int i = 0, seen = 0; i < n && rc == PM_OK; i++)
	{
		if (!is_wanted(&samples[i], is_pass))
			continue;
		if (wanted > most && (int64_t) seen++ * most < (int64_t) taken * wanted)
			continue;
		taken++;
		if ((rc = pm_stop_if_asked(hooks, st)) == PM_OK)
			rc = try_row(e, &samples[i], is_pass, a, st);
	}
	return rc;
}

static pm_code
gather(evidence *e, const pm_dataset *d, const pm_hooks *hooks, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	if ((e->row = PM_NEW(a, pass, (d->n < MAX_STEPS ? d->n : MAX_STEPS) + (d->n_passes < MAX_PASSES ? d->n_passes : MAX_PASSES))) == NULL)
		return pm_no_memory(st, a);
	if ((rc = take(e, d->passes, d->n_passes, MAX_PASSES, true, hooks, a, st)) != PM_OK ||
		(rc = take(e, d->samples, d->n, MAX_STEPS, false, hooks, a, st)) != PM_OK)
		return rc;
	return weigh(e, a, st);
}

/* ---- factors ---- */

/* Rows that a fit is about. */
typedef struct choice
{
	bool		is_cpu;
	bool		is_pass;
	int			fold;			/* of networks, left out; -1: none */
	const char *gpu;			/* left out; NULL: none */
} choice;

static int
fold_of(const pm_sample *s)
{
	return (int) (pm_mix(s->query.graph->structure) % FOLDS);
}

static bool
is_left_out(const choice *c, const pm_sample *s)
{
	return (c->fold >= 0 && fold_of(s) == c->fold) || (c->gpu != NULL && strcmp(c->gpu, s->query.gpu->name) == 0);
}

static bool
is_chosen(const choice *c, const pass *row)
{
	return row->s->query.gpu->is_cpu == c->is_cpu && row->is_pass == c->is_pass && !is_left_out(c, row->s);
}

static double
sum_of(const pass *row, const double *factor)
{
	double		sum = 0;

	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
		sum += row->x[k] * factor[k];
	return sum;
}

/* One round: least squares with the weights that the factors so far give. */
static pm_code
solve_round(const evidence *e, const choice *c, const double *prior, double *factor, pm_arena *scratch, pm_status *st)
{
	enum {N = PM_N_PASS_FACTORS};
	double		g[N * N] = {0};
	double		h[N];
	pm_code		rc;

	for (int k = 0; k < N; k++)
	{
		g[k * N + k] = PULL;
		h[k] = PULL * prior[k];
	}
	for (int i = 0; i < e->n; i++)
	{
		const pass *row = &e->row[i];
		double		w;

		if (!is_chosen(c, row))
			continue;
		w = row->weight * SMALL_ERROR / fmax(fabs(sum_of(row, factor) - 1), SMALL_ERROR);
		for (int k = 0; k < N; k++)
		{
			h[k] += w * row->x[k];
			for (int l = 0; l < N; l++)
				g[k * N + l] += w * row->x[k] * row->x[l];
		}
	}
	if ((rc = pm_nnls(g, h, N, factor, scratch, st)) != PM_OK)
		return rc;
	for (int k = 0; k < N; k++)
		factor[k] = fmin(fmax(factor[k], PM_PASS_FACTOR_MIN), PM_PASS_FACTOR_MAX);
	return PM_OK;
}

/* The median ratio of measured to predicted time moves all factors, the more the more networks there are. */
static pm_code
start_of(const evidence *e, const choice *c, const double *prior, double *factor, double *networks, pm_arena *scratch, pm_status *st)
{
	double	   *ratio = PM_NEW(scratch, double, e->n + 1);
	double		common;
	int			n = 0;

	if (ratio == NULL)
		return pm_no_memory(st, scratch);
	*networks = 0;
	for (int i = 0; i < e->n; i++)
		if (is_chosen(c, &e->row[i]))
		{
			ratio[n++] = -log(fmax(sum_of(&e->row[i], prior), 1e-9));
			*networks += e->row[i].weight;
		}
	pm_sort(ratio, n);
	common = n == 0 ? 1 : exp(ratio[n / 2] * *networks / (*networks + LEVEL_KNOWN));
	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
		factor[k] = fmin(fmax(prior[k] * common, PM_PASS_FACTOR_MIN), PM_PASS_FACTOR_MAX);
	return PM_OK;
}

/* *networks: how many are chosen, those on several devices counted on each; 0: the factors are the prior. */
static pm_code
fit_factors(const evidence *e, const choice *c, const double *prior, double *factor, double *networks, const pm_arena *a, pm_status *st)
{
	double		start[PM_N_PASS_FACTORS];
	pm_arena	scratch;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	rc = start_of(e, c, prior, start, networks, &scratch, st);
	memcpy(factor, start, sizeof(start));
	for (int round = 0; round < ROUNDS && rc == PM_OK && *networks > 0; round++)
		rc = pm_stopped(a, st) ? PM_CANCELLED : solve_round(e, c, start, factor, &scratch, st);
	pm_arena_release(&scratch);
	return rc;
}

/* Factors of forward parts of training steps, and from these on of passes. *networks: of passes. */
static pm_code
fit_machine(const evidence *e, choice c, double *factor, double *networks, const pm_arena *a, pm_status *st)
{
	double		ones[PM_N_PASS_FACTORS];
	double		forward[PM_N_PASS_FACTORS];
	double		steps;
	pm_code		rc;

	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
		ones[k] = 1;
	c.is_pass = false;
	if ((rc = fit_factors(e, &c, ones, forward, &steps, a, st)) != PM_OK)
		return rc;
	for (int k = 0; k < PM_N_PASS_FACTORS && c.is_cpu; k++)
		forward[k] *= k == PM_CLASS_NORM ? CPU_PART_NORM : CPU_PART;
	c.is_pass = true;
	return fit_factors(e, &c, forward, factor, networks, a, st);
}

/* ---- levels ---- */

static double
log_error(const pass *row, const double *factor)
{
	return log(fmax(sum_of(row, factor), 1e-9));
}

/* Level of a device by the rows that are chosen, and how many networks say so. */
static double
level_of(const evidence *e, const choice *c, const char *gpu, const double *factor, double *networks)
{
	double		sum = 0;
	double		n = 0;

	for (int i = 0; i < e->n; i++)
	{
		const pass *row = &e->row[i];

		if (!is_chosen(c, row) || strcmp(row->s->query.gpu->name, gpu) != 0)
			continue;
		sum -= row->weight * log_error(row, factor);
		n += row->weight;
	}
	*networks = n;
	return fmin(fmax(sum / (n + LEVEL_KNOWN), -PM_PASS_LEVEL_MAX), PM_PASS_LEVEL_MAX);
}

/* ---- errors ---- */

static bool
is_of(const evidence *e, const char *gpu, bool is_cpu)
{
	for (int i = 0; i < e->n; i++)
		if (strcmp(e->row[i].s->query.gpu->name, gpu) == 0)
			return e->row[i].s->query.gpu->is_cpu == is_cpu;
	return false;
}

/* Absolute errors of passes that were left out, and their weights. */
typedef struct errors
{
	double		sum;
	double		weight;
} errors;

/* Add those of what c leaves out to sums[t->n * PM_N_LAYOUTS]. */
static void
add_errors(const evidence *e, const choice *c, const pm_passes *t, const double *factor, errors *sums)
{
	for (int i = 0; i < e->n; i++)
	{
		const pass *row = &e->row[i];
		const pm_question *q = &row->s->query;
		const pm_pass_device *d = pm_passes_find(t, q->gpu->name);
		double		networks;
		errors	   *of;

		if (q->gpu->is_cpu != c->is_cpu || !row->is_pass || d == NULL || !is_left_out(c, row->s))
			continue;
		of = &sums[(d - t->device) * PM_N_LAYOUTS + q->layout];
		of->sum += row->weight * fabs(log_error(row, factor) + level_of(e, c, q->gpu->name, factor, &networks));
		of->weight += row->weight;
	}
}

/* Mean error; with few passes it is near the usual one. */
static double
settle(errors of, double usual)
{
	return (of.sum + USUAL_WEIGHT * usual) / (of.weight + USUAL_WEIGHT);
}

static errors
all_errors(const pm_passes *t, const errors *sums)
{
	errors		all = {0};

	for (int i = 0; i < t->n * PM_N_LAYOUTS; i++)
	{
		all.sum += sums[i].sum;
		all.weight += sums[i].weight;
	}
	return all;
}

/* The error of a machine, and of each of its devices in each layout. */
static void
set_errors(const evidence *e, pm_passes *t, bool is_cpu, const errors *sums)
{
	pm_pass_machine *m = &t->machine[is_cpu];

	m->error = settle(all_errors(t, sums), PM_PASS_USUAL_ERROR(is_cpu));
	for (int i = 0; i < t->n; i++)
		for (int layout = 0; layout < PM_N_LAYOUTS && is_of(e, t->device[i].gpu, is_cpu); layout++)
			t->device[i].error[layout] = settle(sums[i * PM_N_LAYOUTS + layout], m->error);
}

/* By factors that have not seen the networks. */
static pm_code
error_of_networks(const evidence *e, pm_passes *t, bool is_cpu, errors *sums, const pm_arena *a, pm_status *st)
{
	pm_code		rc = PM_OK;

	memset(sums, 0, (size_t) t->n * PM_N_LAYOUTS * sizeof(errors));
	for (int fold = 0; fold < FOLDS && rc == PM_OK; fold++)
	{
		choice		c = {is_cpu, true, fold, NULL};
		double		factor[PM_N_PASS_FACTORS];
		double		networks;

		if ((rc = fit_machine(e, c, factor, &networks, a, st)) == PM_OK)
			add_errors(e, &c, t, factor, sums);
	}
	set_errors(e, t, is_cpu, sums);
	return rc;
}

static pm_code
error_abroad(const evidence *e, pm_passes *t, bool is_cpu, errors *sums, const pm_arena *a, pm_status *st)
{
	pm_code		rc = PM_OK;

	memset(sums, 0, (size_t) t->n * PM_N_LAYOUTS * sizeof(errors));
	for (int i = 0; i < t->n && rc == PM_OK; i++)
	{
		choice		c = {is_cpu, true, -1, t->device[i].gpu};
		double		factor[PM_N_PASS_FACTORS];
		double		networks;

		if ((rc = fit_machine(e, c, factor, &networks, a, st)) == PM_OK && networks > 0)
			add_errors(e, &c, t, factor, sums);
	}
	t->machine[is_cpu].error_abroad = settle(all_errors(t, sums), PM_PASS_USUAL_ERROR(is_cpu));
	return rc;
}

/* ---- answers ---- */

/*
 * Let row x add up to what the predictor says of it, given *t without levels: a kind may take the larger of the times
 * on the device and of launches, where the sum of parts takes the one that was larger before there were factors.
 */
static pm_code
ask_again(const evidence *e, const pm_passes *t, const double *factor, const pm_arena *a, pass *row, pm_status *st)
{
	pm_predictor q = *e->p;
	pm_arena	scratch;
	double		ms;
	pm_code		rc;

	q.passes = t;
	pm_arena_init_within(&scratch, a);
	if ((rc = predict_parts(e, &q, row->s, PM_INFERENCE, &scratch, &ms, NULL, st)) == PM_OK)
	{
		double		scale = ms / row->s->step_ms / fmax(sum_of(row, factor), 1e-9);

		for (int k = 0; k < PM_N_PASS_FACTORS; k++)
			row->x[k] *= scale;
	}
	pm_arena_release(&scratch);
	return rc;
}

/* Factors on all parts alike, so that the answers to the passes are right in the middle. */
static pm_code
fit_answers(evidence *e, const choice *c, pm_passes *t, pm_arena *a, pm_status *st)
{
	double	   *factor = t->machine[c->is_cpu].factor;
	double	   *error = PM_NEW(a, double, e->n);
	double		common;
	int			n = 0;
	pm_code		rc = PM_OK;

	if (error == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < e->n && rc == PM_OK; i++)
		if (is_chosen(c, &e->row[i]) && (rc = pm_stopped(a, st) ? PM_CANCELLED : ask_again(e, t, factor, a, &e->row[i], st)) == PM_OK)
			error[n++] = log_error(&e->row[i], factor);
	if (rc != PM_OK || n == 0)
		return rc;
	pm_sort(error, n);
	common = exp(-error[n / 2]);
	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
		factor[k] = fmin(fmax(factor[k] * common, PM_PASS_FACTOR_MIN), PM_PASS_FACTOR_MAX);
	return PM_OK;
}

/* ---- all of it ---- */

static int
count_structures(const evidence *e, const choice *c, const char *gpu, uint64_t *room)
{
	int			n = 0;

	for (int i = 0; i < e->n; i++)
		if (is_chosen(c, &e->row[i]) && (gpu == NULL || strcmp(e->row[i].s->query.gpu->name, gpu) == 0))
			room[n++] = e->row[i].s->query.graph->structure;
	return pm_count_different(room, n);
}

static pm_code
list_devices(const evidence *e, pm_passes *t, pm_arena *a, pm_status *st)
{
	if ((t->device = PM_NEW(a, pm_pass_device, e->n)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < e->n; i++)
	{
		const char *name = e->row[i].s->query.gpu->name;

		if (!e->row[i].is_pass || t->n == PM_PASS_MAX_GPUS || pm_passes_find(t, name) != NULL)
			continue;
		if ((t->device[t->n].gpu = pm_strdup(a, name, strlen(name))) == NULL)
			return pm_no_memory(st, a);
		t->n++;
	}
	return PM_OK;
}

static pm_code
learn_machine(evidence *e, bool is_cpu, pm_passes *t, uint64_t *room, pm_arena *a, pm_status *st)
{
	errors	   *sums = PM_NEW(a, errors, (size_t) t->n * PM_N_LAYOUTS);
	pm_pass_machine *m = &t->machine[is_cpu];
	choice		c = {is_cpu, true, -1, NULL};
	double		networks;
	pm_code		rc = fit_machine(e, c, m->factor, &networks, a, st);

	if (sums == NULL)
		return pm_no_memory(st, a);
	if (rc != PM_OK || (rc = fit_answers(e, &c, t, a, st)) != PM_OK)
		return rc;
	m->structures = count_structures(e, &c, NULL, room);
	m->error = m->error_abroad = PM_PASS_USUAL_ERROR(is_cpu);
	for (int i = 0; i < t->n; i++)
		if (is_of(e, t->device[i].gpu, is_cpu))
		{
			t->device[i].structures = count_structures(e, &c, t->device[i].gpu, room);
			t->device[i].level = level_of(e, &c, t->device[i].gpu, m->factor, &networks);
		}
	if (m->structures == 0 || (rc = error_of_networks(e, t, is_cpu, sums, a, st)) != PM_OK)
		return rc;
	return error_abroad(e, t, is_cpu, sums, a, st);
}

/* e, where what the predictor says of each pass is cross_ms: one part, whose factor is the first. */
static pm_code
left_out(const evidence *e, const pm_dataset *d, const double *cross_ms, evidence *left, pm_arena *a, pm_status *st)
{
	*left = (evidence) {.p = e->p,.ask = e->ask,.row = PM_NEW(a, pass, e->n)};
	if (left->row == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < e->n; i++)
	{
		const pass *row = &e->row[i];
		double		ms = row->is_pass ? cross_ms[row->s - d->passes] : NAN;

		if (isfinite(ms))
			left->row[left->n++] = (pass) {row->s, true, row->weight, {ms / row->s->step_ms}};
	}
	return PM_OK;
}

/*
 * Errors of a machine whose passes the kind has learned from: it errs less on them than on others, so predictions by trainings that have
 * not seen their networks count.  These know no factors, which makes the errors somewhat too large.  On a device whose level is not known,
 * they are never assumed to be smaller than usual.
 */
static void
measure_left_out(const evidence *e, const evidence *left, pm_passes *t, bool is_cpu, errors *sums)
{
	const size_t bytes = (size_t) t->n * PM_N_LAYOUTS * sizeof(errors);
	const double factor[PM_N_PASS_FACTORS] = {1};

	memset(sums, 0, bytes);
	for (int fold = 0; fold < FOLDS; fold++)
		add_errors(left, &(choice) {is_cpu, true, fold, NULL}, t, factor, sums);
	set_errors(e, t, is_cpu, sums);
	memset(sums, 0, bytes);
	for (int i = 0; i < t->n; i++)
		add_errors(left, &(choice) {is_cpu, true, -1, t->device[i].gpu}, t, factor, sums);
	t->machine[is_cpu].error_abroad = fmax(settle(all_errors(t, sums), PM_PASS_USUAL_ERROR(is_cpu)), PM_PASS_USUAL_ERROR(is_cpu));
}

/* Where nothing was left out, the errors are the usual ones. */
static pm_code
correct_errors(const evidence *e, const pm_dataset *d, const double *cross_ms, pm_passes *t, pm_arena *a, pm_status *st)
{
	evidence	left = {0};
	errors	   *sums = PM_NEW(a, errors, (size_t) t->n * PM_N_LAYOUTS);
	pm_code		rc = cross_ms != NULL ? left_out(e, d, cross_ms, &left, a, st) : PM_OK;

	if (sums == NULL)
		return pm_no_memory(st, a);
	for (int is_cpu = 0; is_cpu < 2 && rc == PM_OK; is_cpu++)
		if (t->machine[is_cpu].structures > 0)
			measure_left_out(e, &left, t, is_cpu, sums);
	return rc;
}

pm_code
pm_passes_fit(const pm_predictor *p, pm_pass_ask ask, const pm_dataset *d, const double *cross_ms, const pm_hooks *hooks,
			  pm_arena *a, const pm_passes **passes, pm_status *st)
{
	pm_passes  *t = PM_NEW(a, pm_passes, 1);
	evidence	e = {.p = p,.ask = ask};
	uint64_t   *room;
	pm_arena	scratch;
	pm_code		rc;

	*passes = NULL;
	if (t == NULL)
		return pm_no_memory(st, a);
	pm_arena_init_within(&scratch, a);
	rc = gather(&e, d, hooks, &scratch, st);
	if (rc == PM_OK && e.n > 0)
	{
		room = PM_NEW(&scratch, uint64_t, e.n);
		rc = room == NULL ? pm_no_memory(st, &scratch) : list_devices(&e, t, a, st);
		for (int is_cpu = 0; is_cpu < 2 && rc == PM_OK; is_cpu++)
			rc = learn_machine(&e, is_cpu, t, room, &scratch, st);
		if (rc == PM_OK && pm_kind_learns_passes(p->kind, &p->options))
			rc = correct_errors(&e, d, cross_ms, t, &scratch, st);
		if (rc == PM_OK)
			*passes = t;
	}
	pm_arena_release(&scratch);
	return rc;
}
