/*
 * parts.c - divides the parts of a step as the step is divided.
 */
#include "scaling/parts.h"

#include <math.h>

typedef struct phase_times
{
	double		forward_ms,
				backward_ms,
				update_ms;
} phase_times;

/* As the part says; of one that does not, by its work; of what belongs to no operator or has no work, as those of the step. */
static phase_times
phases_of_part(const pm_tokens *work, const pm_step_shape *s, const pm_part *part)
{
	int			i = part->token;
	double		copies = i < 0 ? 0 : work->skeleton->copies[i];
	double		forward_us = i < 0 ? 0 : copies * pm_forward_us(work, i);
	double		backward_us = i < 0 ? 0 : copies * pm_backward_us(work, i);
	double		update_us = i < 0 ? 0 : copies * work->phase_us[3 * i + 2];
	double		passes_us = forward_us + backward_us;
	double		update_ms = pm_update_part(passes_us, update_us, part->step_ms);

	if (!isnan(part->update_ms))
		return (phase_times) {part->forward_ms, part->backward_ms, part->update_ms};
	if (passes_us > 0)
		return (phase_times) {(part->step_ms - update_ms) * forward_us / passes_us, (part->step_ms - update_ms) * backward_us / passes_us, update_ms};
	if (update_us > 0 || s->step_ms <= 0)
		return (phase_times) {0, 0, part->step_ms};
	return (phase_times) {
		part->step_ms * s->forward_ms / s->step_ms, part->step_ms * s->backward_ms / s->step_ms, part->step_ms * s->update_ms / s->step_ms
	};
}

static double
over(double ms, double before_ms)
{
	return before_ms > 0 ? ms / before_ms : 0;
}

static void
scale_part(pm_part *part, const phase_times *of, const phase_times *factor)
{
	part->step_ms = of->forward_ms * factor->forward_ms + of->backward_ms * factor->backward_ms + of->update_ms * factor->update_ms;
	part->forward_ms *= factor->forward_ms;
	part->backward_ms *= factor->backward_ms;
	part->update_ms *= factor->update_ms;
}

/*
 * Factors by phase.  A kind may find the phases of its parts otherwise than the
 * shape has them: what a phase of the step takes more or less is then on the
 * passes, so that the sum is right.
 */
static phase_times
factors(const pm_step_shape *s, const pm_scaled *to, const phase_times *sum)
{
	double		computed_ms = to->forward_ms + to->backward_ms + to->update_ms;
	phase_times f = {over(to->forward_ms, s->forward_ms), over(to->backward_ms, s->backward_ms), over(to->update_ms, s->update_ms)};
	double		passes_ms = f.forward_ms * sum->forward_ms + f.backward_ms * sum->backward_ms;
	double		left_ms = computed_ms - f.update_ms * sum->update_ms;
	double		all_ms = sum->forward_ms + sum->backward_ms + sum->update_ms;

	/* more update than there is, or nothing but it: the phases do not say how to divide */
	if (left_ms < 0 || passes_ms <= 0)
		f.forward_ms = f.backward_ms = f.update_ms = over(computed_ms, all_ms);
	else
	{
		f.forward_ms *= left_ms / passes_ms;
		f.backward_ms *= left_ms / passes_ms;
	}
	return f;
}

/* How much more of the update of a part a GPU has, if it has expert_update times as much of that of experts. */
static double
more_update(const pm_tokens *work, const pm_part *part, double expert_update)
{
	const pm_skeleton *k = work->skeleton;

	return expert_update != 1 && part->token >= 0 && k->graph->nodes[k->node[part->token]].expert ? expert_update : 1;
}

void
pm_scale_parts(const pm_tokens *work, double expert_update, const pm_step_shape *s, const pm_scaled *to, pm_part *parts, int n)
{
	phase_times sum = {0};
	phase_times f;
	double		weighted_ms = 0;	/* of sum.update_ms, where that of experts counts for more */

	for (int i = 0; i < n; i++)
	{
		phase_times of = phases_of_part(work, s, &parts[i]);

		sum.forward_ms += of.forward_ms;
		sum.backward_ms += of.backward_ms;
		sum.update_ms += of.update_ms;
		weighted_ms += of.update_ms * more_update(work, &parts[i], expert_update);
	}
	f = factors(s, to, &sum);
	for (int i = 0; i < n; i++)
	{
		phase_times of = phases_of_part(work, s, &parts[i]);
		phase_times its = f;

		if (weighted_ms > 0)
			its.update_ms *= more_update(work, &parts[i], expert_update) * sum.update_ms / weighted_ms;
		scale_part(&parts[i], &of, &its);
	}
}
