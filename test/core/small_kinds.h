/*
 * small_kinds.h - every kind on a handful of small graphs, with options that
 * make training and the stored form small: for tests that train very often.
 */
#ifndef SMALL_KINDS_H
#define SMALL_KINDS_H

#include "make_graph.h"

#define SMALL_ROWS 12			/* of as many networks: enough for every kind, and to hold some out */

typedef struct small_option
{
	const char *name;
	double		value;
} small_option;

/* Set in every kind that has an option of this name. */
static const small_option small_options[] = {
	{"epochs", 2}, {"calibration_folds", 2}, {"batch_size", 8}, {"d_model", 8}, {"heads", 2}, {"d_operator", 8},
	{"hidden", 4}, {"width", 4}, {"channels1", 2}, {"channels2", 2}, {"window", 4}, {"stride", 2}, {"max_rows", 20}
};

static inline pm_options
small_options_of(const pm_kind *kind)
{
	pm_options	o;

	if (pm_options_set(kind, NULL, 0, &o, NULL) != PM_OK)
		make_failed("options", NULL);
	for (size_t i = 0; i < sizeof(small_options) / sizeof(small_options[0]); i++)
	{
		int			at = pm_option_find(kind, small_options[i].name);

		if (at >= 0)
			o.value[at] = small_options[i].value;
	}
	return o;
}

static inline double
small_rule(const pm_tokens *t)
{
	return 0.3 + 1e-9 * t->total_flops + 2e-9 * t->total_bytes;
}

#define SMALL_PASSES 6			/* forward passes, of the first networks */

/* Two layouts, dtypes and frameworks, so that there is more than one of everything. */
static inline pm_dataset
small_dataset(pm_arena *a)
{
	pm_dataset	d = make_dataset(SMALL_ROWS, 1, true, small_rule, a);

	for (int i = 0; i < d.n; i++)
	{
		d.samples[i].query.layout = i % 2 ? PM_NHWC : PM_NCHW;
		d.samples[i].query.dtype = i % 3 ? PM_FP32 : PM_AMP;
		d.samples[i].query.framework = i % 4 ? "pytorch 2" : "pytorch 1";
	}
	d.n_passes = SMALL_PASSES;
	d.passes = PM_NEW(a, pm_sample, SMALL_PASSES);
	if (d.passes == NULL)
		make_failed("passes", NULL);
	for (int i = 0; i < SMALL_PASSES; i++)
	{
		d.passes[i] = d.samples[i];
		d.passes[i].query.mode = PM_INFERENCE;
		d.passes[i].step_ms *= 0.2;
	}
	return d;
}

#endif
