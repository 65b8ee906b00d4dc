/*
 * parts.c - the parts of an answer: rescaled, and held above what the device can do.
 */
#include "predictor/parts.h"

#include <math.h>

static void
multiply(pm_part *part, double factor)
{
	part->step_ms *= factor;
	part->forward_ms *= factor;
	part->backward_ms *= factor;
	part->update_ms *= factor;
}

void
pm_parts_become(double ms, double *step_ms, pm_part *parts, int n_parts)
{
	double		factor = ms / *step_ms;

	for (int i = 0; i < n_parts; i++)
		multiply(&parts[i], factor);
	*step_ms = ms;
}

/* ms of all copies; 0 for what is not an operator. */
static double
least_of(const pm_tokens *work, const pm_part *part)
{
	return part->token < 0 ? 0 : work->skeleton->copies[part->token] * work->floor_us[part->token] / 1000;
}

/* What a step is off the sum of its operators' times is a factor on all of them, which may leave one below its floor. */
void
pm_parts_hold(const pm_tokens *work, pm_part *parts, int n_parts)
{
	double		above = 0;
	double		missing = 0;

	for (int i = 0; i < n_parts; i++)
	{
		double		more = parts[i].step_ms - least_of(work, &parts[i]);

		above += fmax(more, 0);
		missing += fmax(-more, 0);
	}
	if (missing == 0 || missing >= above)
		return;
	for (int i = 0; i < n_parts; i++)
	{
		double		least = least_of(work, &parts[i]);
		double		ms = least + (1 - missing / above) * fmax(parts[i].step_ms - least, 0);

		if (parts[i].step_ms > 0)
			multiply(&parts[i], ms / parts[i].step_ms);
		else
			parts[i].step_ms = ms;
	}
}
