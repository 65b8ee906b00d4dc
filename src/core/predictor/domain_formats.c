/*
 * domain_formats.c - the training rows of each device in each number format,
 * and the format in which a question is answered.
 */
#include <string.h>

#include "features/rates.h"
#include "features/split.h"
#include "predictor/domain.h"
#include "predictor/domain_parts.h"

#define ANY	(-1)

/*
 * Share of the roofline time from which on convolutions, or recurrent layers, of a network must be known.  Libraries run some of them
 * at a tenth of the roofline (depthwise convolutions have 11 % of that of ConvNeXt, and two thirds of its step on an A100).  The
 * convolution that cuts an image into patches has up to 2 %.
 */
#define LEAST_SHARE	0.05

/* Which rows of a device are counted. */
typedef struct rows
{
	const counted *all;
	const bool *seen;			/* [all->n] may be NULL */
	uint64_t   *found;			/* [all->n] scratch */
	int			of_dtype;		/* or ANY */
	int			of_kind;		/* or ANY */
} rows;

/* Of a device, among the rows that are not left out (may be NULL). */
static int
different_structures(const rows *r, const char *gpu, const bool *left_out)
{
	int			n = 0;

	for (int i = 0; i < r->all->n; i++)
	{
		const pm_question *q = &r->all->samples[i].query;

		if (strcmp(q->gpu->name, gpu) == 0 && (r->of_dtype == ANY || (int) q->dtype == r->of_dtype) &&
			(r->of_kind == ANY || (r->all->kinds[i] >> r->of_kind) & 1) && !(left_out != NULL && left_out[i]))
			r->found[n++] = q->graph->structure;
	}
	return pm_count_different(r->found, n);
}

/* Structures that there are now of a device, where there were `before`. */
static int
structures_now(int before, const rows *r, const char *gpu)
{
	int			all = different_structures(r, gpu, NULL);
	int			fresh = different_structures(r, gpu, r->seen);

	return before + fresh > all ? before + fresh : all;
}

pm_code
pm_domain_count_structures(device *gpus, int n, const counted *all, const bool *seen, pm_arena *a, pm_status *st)
{
	rows		r = {.all = all, .seen = seen, .found = PM_NEW(a, uint64_t, all->n), .of_dtype = ANY, .of_kind = ANY};

	if (!r.found)
		return pm_no_memory(st, a);
	for (int gpu = 0; gpu < n; gpu++)
	{
		device	   *g = &gpus[gpu];

		g->structures = structures_now(g->structures, &r, g->name);
		for (r.of_dtype = 0; r.of_dtype < PM_N_DTYPES; r.of_dtype++)
			g->formats[r.of_dtype].structures = structures_now(g->formats[r.of_dtype].structures, &r, g->name);
		r.of_dtype = ANY;
		for (r.of_kind = 0; r.of_kind < PM_N_NETWORK_KINDS; r.of_kind++)
			g->of_kind[r.of_kind] = structures_now(g->of_kind[r.of_kind], &r, g->name);
		r.of_kind = ANY;
	}
	return PM_OK;
}

unsigned
pm_domain_kinds_of(pm_network_kind most, const pm_tokens *t)
{
	double		conv = 0;
	double		recurrent = 0;

	for (int i = 0; i < t->n; i++)
		if (t->op_class[i] == PM_CLASS_CONV)
			conv += pm_roofline_share(t, i);
		else if (t->op_class[i] == PM_CLASS_RECURRENT)
			recurrent += pm_roofline_share(t, i);
	return 1u << most | (conv > LEAST_SHARE) << PM_NETWORK_CONV | (recurrent > LEAST_SHARE) << PM_NETWORK_RECURRENT;
}

/* Whether any device, or that of this name, had rows in a format. */
static bool
had_format(const pm_domain *t, const char *gpu, pm_dtype dtype)
{
	for (int i = 0; i < t->n_gpus; i++)
		if (t->gpus[i].formats[dtype].max_batch > 0 && (gpu == NULL || strcmp(t->gpus[i].name, gpu) == 0))
			return true;
	return false;
}

pm_dtype
pm_domain_format(const pm_domain *t, const pm_gpu *gpu, pm_dtype asked)
{
	pm_dtype	other = asked == PM_FP32 ? PM_TF32 : PM_FP32;

	if (gpu->is_cpu || had_format(t, gpu->name, asked))
		return asked;
	if (asked == PM_FP32 || asked == PM_TF32)
		return pm_gpu_peak(gpu, PM_FP32, true) == pm_gpu_peak(gpu, PM_TF32, true) &&
			(had_format(t, gpu->name, other) || asked == PM_TF32) ? other : asked;
	if (asked == PM_BF16 && pm_gpu_emulates(gpu, asked))
		return PM_FP32;
	return asked != PM_AMP && !had_format(t, NULL, asked) ? PM_AMP : asked;
}
