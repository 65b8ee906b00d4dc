/*
 * sheets.c - keeping data sheets, and comparing them.
 */
#include "features/sheets.h"

#include <math.h>

static double
figure_of(const pm_gpu *gpu, int i)
{
	return *(const double *) ((const char *) gpu + pm_gpu_figures[i].offset);
}

void
pm_gpu_save(const pm_gpu *gpu, pm_buffer *b)
{
	pm_put_text(b, gpu->name);
	pm_put_u32(b, gpu->is_cpu);
	for (int i = 0; i < PM_N_GPU_FIGURES; i++)
	{
		double		v = figure_of(gpu, i);

		/* a figure that is not known is stored as 0, which no sheet says */
		pm_put_f64(b, isnan(v) ? 0 : v);
	}
}

pm_code
pm_gpu_load(pm_gpu *gpu, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_status	why;

	gpu->name = pm_get_text(r, a);
	if (gpu->name == NULL && !r->failed)
		return pm_no_memory(st, a);
	gpu->is_cpu = pm_get_u32(r, 1) != 0;
	for (int i = 0; i < PM_N_GPU_FIGURES; i++)
	{
		double		v = pm_get_above(r, 0);

		*(double *) ((char *) gpu + pm_gpu_figures[i].offset) = v == 0 ? NAN : v;
	}
	if (!r->failed && pm_gpu_check(gpu, &why) != PM_OK)
		r->failed = true;
	return PM_OK;
}

/* Equal, or both not known. */
static bool
is_same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

bool
pm_gpu_at_least(const pm_gpu *a, const pm_gpu *b)
{
	const double figures[][2] = {
		{a->sm_count, b->sm_count}, {a->cores_per_sm, b->cores_per_sm}, {a->clock_ghz, b->clock_ghz}, {a->fp32_tflops, b->fp32_tflops},
		{a->fp16_tensor_tflops, b->fp16_tensor_tflops}, {a->fp16_tflops, b->fp16_tflops}, {a->mem_bw_gbs, b->mem_bw_gbs},
		{a->l2_mb, b->l2_mb}, {a->tdp_w, b->tdp_w}
	};

	if (a->is_cpu || b->is_cpu || !is_same(a->compute_capability, b->compute_capability))
		return false;
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (!(figures[i][0] >= figures[i][1] || is_same(figures[i][0], figures[i][1])))
			return false;
	return true;
}
