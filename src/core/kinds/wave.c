/*
 * wave.c - wave scaling.
 */
#include "kinds/wave.h"

#include <math.h>

#define BLOCK_ELEMS		1024	/* that a block of threads writes */
#define BLOCKS_A_SM		8		/* that run on a multiprocessor at a time */

/* How far bandwidth decides, 0..1. */
static double
memory_share(double flops, double bytes, double ridge)
{
	double		x;

	if (flops <= 0)
		return 1;
	if (bytes <= 0)
		return 0;
	x = flops / bytes / ridge;
	return x <= 1 ? 1 - 0.5 * x : 0.5 / x;
}

/* Rates of a card whose sheet does not name its multiprocessors come from its arithmetic alone. */
static bool
knows_waves(const pm_gpu *gpu)
{
	return gpu->sm_count > 0 && gpu->clock_ghz > 0;
}

double
pm_wave_ratio(const pm_tokens *t, int i, const pm_gpu *from, const pm_gpu *to)
{
	double		rate_from = pm_gpu_rate(from, t->dtype, false, false);
	double		rate_to = pm_gpu_rate(to, t->dtype, false, false);
	double		g = memory_share(t->flops[i], t->bytes[i], rate_from / (from->mem_bw_gbs * 1e9));
	double		elems = exp2(t->loads[(size_t) i * PM_N_LOADS + PM_LOAD_OUT_ELEMS]) - 1;
	double		blocks = fmax(ceil(elems / BLOCK_ELEMS), 1);

	if (knows_waves(from) && knows_waves(to) && blocks < BLOCKS_A_SM * fmin(from->sm_count, to->sm_count))
		return pow(from->clock_ghz / to->clock_ghz * ceil(blocks / to->sm_count) / ceil(blocks / from->sm_count), 1 - g);
	return pow(from->mem_bw_gbs / to->mem_bw_gbs, g) * pow(rate_from / rate_to, 1 - g);
}
