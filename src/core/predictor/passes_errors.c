/*
 * passes_errors.c - errors of forward passes that the kind of the predictor has
 * learned from itself.
 *
 * Its errors on the passes that it learned from say little of those on others, so
 * they are taken from the trainings that calibrate intervals, which leave out
 * networks.  These know no factors on its answers (passes.c), which makes the
 * errors somewhat too large.
 */
#include "predictor/passes_parts.h"

#include <math.h>
#include <string.h>

#include "features/split.h"

/* A pass of the kind of device in question. */
typedef struct judged
{
	const pm_sample *s;
	uint64_t	unit;			/* network and device */
	double		error;			/* logarithm of predicted over measured time; NaN: not predicted */
	double		weight;			/* of a network on a device 1, shared by its passes that were predicted; 0: not predicted */
} judged;

typedef struct judgement
{
	int			n;
	judged	   *row;			/* [n] */
} judgement;

static pm_code
judge(const pm_dataset *d, const double *ms, bool is_cpu, judgement *j, pm_arena *a, pm_status *st)
{
	if ((j->row = PM_NEW(a, judged, d->n_passes + 1)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n_passes; i++)
	{
		const pm_sample *s = &d->passes[i];

		if (s->query.gpu->is_cpu == is_cpu)
			j->row[j->n++] = (judged) {s, pm_transfer_key(s), log(ms[i] / s->step_ms), 0};
	}
	for (int i = 0; i < j->n; i++)
	{
		int			same = 0;

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		if (!isfinite(j->row[i].error))
			continue;
		for (int k = 0; k < j->n; k++)
			same += j->row[k].unit == j->row[i].unit && isfinite(j->row[k].error);
		j->row[i].weight = j->row[i].s->weight / same;
	}
	return PM_OK;
}

/* The level of a device by its passes, but for those of a network on it. */
static double
level_of(const judgement *j, const char *gpu, uint64_t without)
{
	double		sum = 0;
	double		networks = 0;

	for (int i = 0; i < j->n; i++)
	{
		const judged *row = &j->row[i];

		if (row->weight == 0 || row->unit == without || strcmp(row->s->query.gpu->name, gpu) != 0)
			continue;
		sum -= row->weight * row->error;
		networks += row->weight;
	}
	return fmin(fmax(sum / (networks + PM_PASS_LEVEL_KNOWN), -PM_PASS_LEVEL_MAX), PM_PASS_LEVEL_MAX);
}

/* Mean errors: on networks left out, and on devices whose level is not known, which are never assumed to be smaller than usual. */
static pm_code
measure_errors(const judgement *j, bool is_cpu, pm_pass_machine *m, const pm_arena *a, pm_status *st)
{
	double		sum = 0;
	double		abroad = 0;
	double		weight = 0;

	for (int i = 0; i < j->n; i++)
	{
		const judged *row = &j->row[i];

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		if (row->weight == 0)
			continue;
		sum += row->weight * fabs(row->error + level_of(j, row->s->query.gpu->name, row->unit));
		abroad += row->weight * fabs(row->error);
		weight += row->weight;
	}
	m->error = pm_pass_error(sum, weight, is_cpu);
	m->error_abroad = fmax(pm_pass_error(abroad, weight, is_cpu), PM_PASS_USUAL_ERROR(is_cpu));
	return PM_OK;
}

pm_code
pm_passes_left_out(const pm_dataset *d, const double *ms, bool is_cpu, pm_pass_machine *m, const pm_arena *a, pm_status *st)
{
	judgement	j = {0};
	pm_arena	scratch;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	if ((rc = judge(d, ms, is_cpu, &j, &scratch, st)) == PM_OK)
		rc = measure_errors(&j, is_cpu, m, &scratch, st);
	pm_arena_release(&scratch);
	return rc;
}
