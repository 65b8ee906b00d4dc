/*
 * domain_formats.c - the training rows of each device in each number format,
 * and the format in which a question is answered.
 */
#include <string.h>

#include "features/rates.h"
#include "features/split.h"
#include "predictor/domain.h"
#include "predictor/domain_parts.h"

#define ANY_DTYPE	(-1)

/* Of a device in a format, among the rows that are not left out (may be NULL); found: [d->n] scratch. */
static int
different_structures(const pm_dataset *d, const char *gpu, int dtype, const bool *left_out, uint64_t *found)
{
	int			n = 0;

	for (int i = 0; i < d->n; i++)
		if (strcmp(d->samples[i].query.gpu->name, gpu) == 0 && (dtype == ANY_DTYPE || (int) d->samples[i].query.dtype == dtype) &&
			!(left_out != NULL && left_out[i]))
			found[n++] = d->samples[i].query.graph->structure;
	return pm_count_different(found, n);
}

/* Structures that there are now of a device in a format, where there were `before`. */
static int
structures_now(int before, const pm_dataset *d, const char *gpu, int dtype, const bool *seen, uint64_t *found)
{
	int			all = different_structures(d, gpu, dtype, NULL, found);
	int			fresh = different_structures(d, gpu, dtype, seen, found);

	return before + fresh > all ? before + fresh : all;
}

pm_code
pm_domain_count_structures(pm_domain *t, const pm_dataset *d, const bool *seen, pm_arena *a, pm_status *st)
{
	uint64_t   *found = PM_NEW(a, uint64_t, d->n);

	if (!found)
		return pm_no_memory(st, a);
	for (int gpu = 0; gpu < t->n_gpus; gpu++)
	{
		device	   *g = &t->gpus[gpu];

		g->structures = structures_now(g->structures, d, g->name, ANY_DTYPE, seen, found);
		for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
			g->formats[dtype].structures = structures_now(g->formats[dtype].structures, d, g->name, dtype, seen, found);
	}
	return PM_OK;
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
