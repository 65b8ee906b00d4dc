/*
 * passes_update.c - what new forward passes say of their devices, without
 * training again.
 */
#include "predictor/passes.h"

#include <math.h>
#include <string.h>

#include "features/split.h"
#include "predictor/stages.h"

#define WEIGHT_NEW		1.0		/* networks that what was known of a device counts for, if no passes on it were in training */
#define WEIGHT_KNOWN	3.0		/* the same if there were some, on another machine */
#define WEIGHT_ERROR	3.0		/* networks that an error which was known before counts for */

typedef struct update
{
	const pm_dataset *d;
	const pm_passes *old;		/* NULL: none */
	pm_passes  *t;
	double	   *wrong;			/* [n_passes] logarithm of measured time over what training alone predicts */
	double	   *weight;			/* [n_passes] those of a network on a device add up to 1 */
	uint64_t   *room;			/* [n_passes] */
	pm_pass_answers *answers;
} update;

static const char *
gpu_of(const update *u, int i)
{
	return u->d->passes[i].query.gpu->name;
}

static uint64_t
structure_of(const update *u, int i)
{
	return u->d->passes[i].query.graph->structure;
}

/* Room for the old devices and new ones; of a predictor that knows no passes, factors are 1. */
static pm_code
begin(update *u, pm_arena *a, pm_status *st)
{
	int			before = u->old != NULL ? u->old->n : 0;

	if ((u->t = PM_NEW(a, pm_passes, 1)) == NULL ||
		(u->t->device = PM_LONGER(a, pm_pass_device, before > 0 ? u->old->device : NULL, before, before + u->d->n_passes)) == NULL)
		return pm_no_memory(st, a);
	u->t->n = before;
	for (int is_cpu = 0; is_cpu < 2; is_cpu++)
	{
		pm_pass_machine *m = &u->t->machine[is_cpu];

		if (u->old != NULL)
			*m = u->old->machine[is_cpu];
		else
			m->error = m->error_abroad = PM_PASS_USUAL_ERROR(is_cpu);
		for (int k = 0; k < PM_N_PASS_FACTORS && u->old == NULL; k++)
			m->factor[k] = 1;
	}
	return PM_OK;
}

/* By how much an earlier recalibration has moved the device of pass i: this one begins anew. */
static double
moved_before(const update *u, int i)
{
	const pm_pass_device *d = pm_passes_find(u->old, gpu_of(u, i));

	return d == NULL ? 0 : d->moved;
}

static pm_code
ask_all(update *u, const pm_predictor *p, pm_pass_ask ask, const pm_hooks *hooks, const pm_arena *a, pm_status *st)
{
	pm_code		rc = PM_OK;

	for (int i = 0; i < u->d->n_passes && rc == PM_OK; i++)
	{
		const pm_sample *s = &u->d->passes[i];
		pm_arena	scratch;

		pm_arena_init_within(&scratch, a);
		if ((rc = pm_stop_if_asked(hooks, st)) == PM_OK)
			rc = ask(p, s, &scratch, &u->answers->before[i], NULL, NULL, st);
		pm_arena_release(&scratch);
		if (rc == PM_OK)
			u->wrong[i] = log(s->step_ms / u->answers->before[i]) + moved_before(u, i);
	}
	return rc;
}

static pm_code
weigh(update *u, pm_arena *a, pm_status *st)
{
	int			n = u->d->n_passes;
	uint64_t   *unit = PM_NEW(a, uint64_t, n);
	int		   *same = PM_NEW(a, int, n);

	if (!unit || !same)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		unit[i] = pm_transfer_key(&u->d->passes[i]);
	pm_count_same(unit, n, u->room, same);
	for (int i = 0; i < n; i++)
		u->weight[i] = 1.0 / same[i];
	return PM_OK;
}

/* By how much the times on a device move, of which as much was known as `before` networks say; without those of a network. */
static double
shift_of(const update *u, const char *gpu, double before, const uint64_t *without)
{
	double		sum = 0;
	double		n = 0;

	for (int i = 0; i < u->d->n_passes; i++)
		if (strcmp(gpu_of(u, i), gpu) == 0 && (without == NULL || structure_of(u, i) != *without))
		{
			sum += u->weight[i] * u->wrong[i];
			n += u->weight[i];
		}
	return n == 0 ? 0 : sum / (n + before);
}

static int
count_networks(const update *u, const char *gpu)
{
	int			n = 0;

	for (int i = 0; i < u->d->n_passes; i++)
		if (strcmp(gpu_of(u, i), gpu) == 0)
			u->room[n++] = structure_of(u, i);
	return pm_count_different(u->room, n);
}

/* Errors by layout on networks that the level has not seen; of a device with one network, they stay as they are. */
static void
set_errors(update *u, pm_pass_device *d, double before, double usual)
{
	double		sum[PM_N_LAYOUTS] = {0};
	double		n[PM_N_LAYOUTS] = {0};

	for (int i = 0; i < u->d->n_passes; i++)
	{
		const pm_question *q = &u->d->passes[i].query;
		double		shift;

		if (strcmp(q->gpu->name, d->gpu) != 0)
			continue;
		shift = shift_of(u, d->gpu, before, &q->graph->structure);
		u->answers->after[i] = u->answers->before[i] * exp(shift - moved_before(u, i));
		sum[q->layout] += u->weight[i] * fabs(u->wrong[i] - shift);
		n[q->layout] += u->weight[i];
	}
	for (int layout = 0; layout < PM_N_LAYOUTS; layout++)
	{
		double		known = d->error[layout] > 0 ? d->error[layout] : usual;

		d->error[layout] = (sum[layout] + WEIGHT_ERROR * known) / (n[layout] + WEIGHT_ERROR);
	}
}

/* The device of pass i, with all passes on it. */
static pm_code
update_device(update *u, int i, pm_arena *a, pm_status *st)
{
	const pm_gpu *gpu = u->d->passes[i].query.gpu;
	const pm_pass_device *known = pm_passes_find(u->old, gpu->name);
	pm_pass_device *d = known != NULL ? &u->t->device[known - u->old->device] : &u->t->device[u->t->n];
	double		before = known != NULL ? WEIGHT_KNOWN : WEIGHT_NEW;
	int			networks = count_networks(u, gpu->name);

	if (known == NULL && u->t->n == PM_PASS_MAX_GPUS)
		return PM_OK;
	if (known == NULL && (d->gpu = pm_strdup(a, gpu->name, strlen(gpu->name))) == NULL)
		return pm_no_memory(st, a);
	u->t->n += known == NULL;
	d->structures = networks > d->structures ? networks : d->structures;
	if (networks > 1)
		set_errors(u, d, before, known != NULL ? u->t->machine[gpu->is_cpu].error : u->t->machine[gpu->is_cpu].error_abroad);
	d->moved = fmin(fmax(shift_of(u, gpu->name, before, NULL), -PM_PASS_MOVED_MAX), PM_PASS_MOVED_MAX);
	return PM_OK;
}

static bool
is_first_of_device(const update *u, int i)
{
	for (int k = 0; k < i; k++)
		if (strcmp(gpu_of(u, k), gpu_of(u, i)) == 0)
			return false;
	return true;
}

pm_code
pm_passes_update(const pm_predictor *p, pm_pass_ask ask, const pm_dataset *d, const pm_hooks *hooks, pm_arena *a,
				 const pm_passes **passes, pm_pass_answers *answers, pm_status *st)
{
	int			n = d->n_passes;
	update		u = {.d = d,.old = p->passes,.answers = answers};
	pm_code		rc = begin(&u, a, st);

	*answers = (pm_pass_answers) {PM_NEW(a, double, n), PM_NEW(a, double, n)};
	u.wrong = PM_NEW(a, double, n);
	u.weight = PM_NEW(a, double, n);
	u.room = PM_NEW(a, uint64_t, n);
	if (rc == PM_OK && (!answers->before || !answers->after || !u.wrong || !u.weight || !u.room))
		return pm_no_memory(st, a);
	if (rc != PM_OK || (rc = ask_all(&u, p, ask, hooks, a, st)) != PM_OK || (rc = weigh(&u, a, st)) != PM_OK)
		return rc;
	for (int i = 0; i < n; i++)
		answers->after[i] = NAN;
	for (int i = 0; i < n && rc == PM_OK; i++)
		if (is_first_of_device(&u, i))
			rc = update_device(&u, i, a, st);
	*passes = u.t;
	return rc;
}
