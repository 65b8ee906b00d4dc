/*
 * infer.c - the forward pass alone, from what was learned of training steps.
 */
#include "predictor/infer.h"

#include <math.h>
#include <stdio.h>

#include "features/phases.h"
#include "predictor/passes.h"
#include "predictor/trust.h"

#define ENOUGH_NETWORKS	20		/* of passes on a device, from which on their errors say more than those of training steps */

bool
pm_infers(const pm_predictor *p)
{
	return p->kind->infers != NULL && p->kind->infers(&p->options);
}

pm_sample
pm_infer_step_of(const pm_sample *s)
{
	pm_sample	step = *s;

	step.query.mode = PM_TRAIN;
	return step;
}

static double
token_us(const pm_tokens *t, int i)
{
	return t->roofline_us[i] + PM_USUAL_LAUNCH_US * t->kernels[i];
}

/* Of the parts of a training step, those of inference; returns their sum, ms. */
static double
take_shares(const pm_tokens *step, const pm_tokens *infer, pm_part *parts, int *n_parts)
{
	double		sum = 0;

	for (int i = 0; i < *n_parts; i++)
	{
		pm_part    *part = &parts[i];
		bool		rest = part->token < 0;
		double		whole = rest ? 1 : token_us(step, part->token);
		double		left = rest ? PM_INFER_REST_SHARE : token_us(infer, part->token);

		part->step_ms *= whole > 0 ? left / whole : 0;
		part->forward_ms = rest ? NAN : part->step_ms;
		part->backward_ms = part->update_ms = rest ? NAN : 0;
		sum += part->step_ms;
	}
	if (sum >= PM_LEAST_STEP_MS)
		return sum;
	if (*n_parts == 0 || parts[*n_parts - 1].token >= 0)
		parts[(*n_parts)++] = (pm_part) {.token = -1, .forward_ms = NAN, .backward_ms = NAN, .update_ms = NAN, .bound = '-'};
	parts[*n_parts - 1].step_ms += PM_LEAST_STEP_MS - sum;
	return PM_LEAST_STEP_MS;
}

/* The parts of the training step, cut down to the pass; at least s->skeleton->n + 1 of them have room. */
static pm_code
share_parts(const pm_predictor *p, const pm_sample *s, const pm_tokens *left, pm_arena *scratch, double *step_ms, pm_part *parts, int *n,
			pm_status *st)
{
	pm_sample	step = pm_infer_step_of(s);
	pm_tokens	whole;
	pm_code		rc;

	if ((rc = pm_tokens_build_work(s->skeleton, &step.query, scratch, &whole, st)) != PM_OK ||
		(rc = p->kind->predict(p, &step, scratch, step_ms, parts, n, st)) != PM_OK)
		return rc;
	*step_ms = take_shares(&whole, left, parts, n);
	return PM_OK;
}

/* ---- what passes say ---- */

static const pm_pass_machine *
machine_of(const pm_passes *passes, const pm_gpu *gpu)
{
	return passes == NULL ? NULL : &passes->machine[gpu->is_cpu];
}

/* Returns the sum. */
static double
multiply_parts(const pm_pass_machine *m, const pm_tokens *t, pm_part *parts, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
	{
		pm_part    *part = &parts[i];
		double		factor = m->factor[pm_pass_factor_of(t, part)];

		part->step_ms *= factor;
		part->forward_ms *= factor;
		sum += part->step_ms;
	}
	return sum;
}

pm_code
pm_infer_by_parts(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
				  double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	const pm_pass_machine *m = s->query.mode == PM_INFERENCE ? machine_of(p->passes, s->query.gpu) : NULL;
	pm_tokens	work;
	int			n = 0;
	pm_code		rc;

	if (parts == NULL && (parts = PM_NEW(scratch, pm_part, s->skeleton->n + 1)) == NULL)
		return pm_no_memory(st, scratch);
	if ((rc = pm_tokens_build_work(s->skeleton, &s->query, scratch, &work, st)) != PM_OK ||
		(rc = pm_infers(p) ? p->kind->predict(p, s, scratch, step_ms, parts, &n, st) :
		 share_parts(p, s, &work, scratch, step_ms, parts, &n, st)) != PM_OK)
		return rc;
	if (m != NULL)
		*step_ms = multiply_parts(m, &work, parts, n);
	if (n_parts != NULL)
		*n_parts = n;
	return PM_OK;
}

void
pm_infer_factors(const pm_passes *passes, const pm_gpu *gpu, const pm_tokens *t, double *device, pm_factors *factors)
{
	const pm_pass_machine *m = machine_of(passes, gpu);

	if (m == NULL)
		return;
	for (int i = 0; i < t->n; i++)
		device[i] *= m->factor[pm_token_group(t, i)];
	factors->launch *= m->factor[PM_PASS_LAUNCH];
	factors->rest *= m->factor[PM_PASS_REST];
}

double
pm_infer_level(const pm_passes *passes, const pm_gpu *gpu)
{
	const pm_pass_device *d = pm_passes_find(passes, gpu->name);

	return d == NULL ? 1 : exp(d->level);
}

double
pm_infer_moved(const pm_passes *passes, const pm_question *q)
{
	const pm_pass_device *d = q->mode == PM_INFERENCE ? pm_passes_find(passes, q->gpu->name) : NULL;

	return d == NULL ? 1 : exp(d->moved);
}

/* ---- doubt ---- */

static double
error_of(const pm_passes *passes, const pm_question *q)
{
	const pm_pass_machine *m = machine_of(passes, q->gpu);
	const pm_pass_device *d = pm_passes_find(passes, q->gpu->name);

	if (m == NULL)
		return PM_PASS_USUAL_ERROR(q->gpu->is_cpu);
	if (d == NULL)
		return m->error_abroad;
	return d->error[q->layout] > 0 ? d->error[q->layout] : m->error;
}

static void
say_not_seen(const pm_pass_device *d, const pm_gpu *gpu, pm_verdict *v)
{
	char		why[200];

	if (d == NULL)
		snprintf(why, sizeof(why), "mode inference was not in training on gpu \"%.*s\": this is the forward part of a training step",
				 pm_shown(gpu->name), gpu->name);
	else
		snprintf(why, sizeof(why), "mode inference was in training on gpu \"%.*s\" with no more than %d network%s", pm_shown(gpu->name),
				 gpu->name, d->structures, d->structures == 1 ? "" : "s");
	pm_verdict_leave(v, PM_CAUSE_MODE_NOT_SEEN, why);
}

void
pm_infer_doubt(const pm_passes *passes, const pm_question *q, double step_ms, double level, pm_verdict *v)
{
	const pm_pass_device *d = pm_passes_find(passes, q->gpu->name);
	/* half of the logarithm that holds a share `level` of errors with Laplace's distribution, whose tails are heavy */
	double		doubt = -error_of(passes, q) * log(1 - level);

	if (d == NULL || d->structures < PM_INFER_NETWORKS)
		say_not_seen(d, q->gpu, v);
	if (isnan(v->low_ms))
		return;
	pm_interval_widen(step_ms, doubt, &v->low_ms, &v->high_ms);
	if (d == NULL || d->structures < ENOUGH_NETWORKS || (v->causes & PM_MEASURED_CAUSES))
		return;
	doubt *= v->in_domain ? 1 : PM_OUTSIDE_FACTOR;
	if (v->high_ms / v->low_ms > exp(2 * doubt))
	{
		v->low_ms = step_ms * exp(-doubt);
		v->high_ms = step_ms * exp(doubt);
	}
}
