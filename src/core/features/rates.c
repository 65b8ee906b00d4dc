/*
 * rates.c - peaks by format, and what power leaves of them.
 *
 * A card that may draw P watts spends a part of them whatever it computes, and
 * the rest on arithmetic.  An operation takes the more energy the higher the
 * clock, since a higher clock needs a higher voltage: about in proportion in the
 * range in which cards are held by their power.  With K operations a cycle at
 * clock f, and e pJ an operation at 1 GHz:
 *
 *     P = fixed + K f * e f        so        K f = sqrt(K (P - fixed) / e)
 *
 * The square root and the fixed part are from training steps under power limits
 * of 100 to 260 W (github ml-energy/zeus, folder nsdi23/trace: ResNet-50, BERT
 * and DeepSpeech2 on V100 and RTX 6000; half of the power leaves 0.68 to 0.9 of
 * the speed).
 */
#include "features/rates.h"

#include <math.h>

#define FIXED_W			20.0	/* fixed = FIXED_W + FIXED_SHARE P: memory, fans, leakage */
#define FIXED_SHARE		0.1
#define LEAST_SHARE		0.4		/* of P that is left for arithmetic */
#define MOST_BOOST		1.15	/* clock of a cool card over that of its sheet: GeForce cards run at 1.9 GHz where the sheet has 1.7 */
#define FIRST_WITH_BF16	8.0		/* compute capability */
#define FIRST_FED		5.0		/* compute capability from which on a multiprocessor can keep all of its lanes busy */
#define FED_SHARE		0.74	/* of older ones: 128 lanes of Maxwell do 0.9 of what 192 of Kepler do (white paper of the GTX 750 Ti) */
#define FIRST_WITH_FLASH3	9.0	/* and the first with neither it nor cuDNN's kernel: GeForce and RTX PRO of Blackwell */
#define FIRST_WITHOUT_FLASH3	12.0
#define CONV_SPEEDUP	1.2		/* convolutions wait for memory more, and do fewer multiplications than they are counted as */

/*
 * Energy of an operation on the FP32 lanes at 1 GHz, and how many times as fast as these the matrix units are on 16 bits
 * in the same power, by the first compute capability of an architecture.  Fitted so that large matrix products come out as measured:
 *   Pascal    Tesla P4 4.2 TFLOPS, P100 and TITAN X at their peaks (github sitar-lab/NeuSight; baidu-research/DeepBench)
 *   Volta     V100 13 TFLOPS, 16 bits 99 to 107 (DeepBench)
 *   Turing    T4 4.2 to 4.5 TFLOPS, 16 bits 39 to 42 (DeepBench)
 *   Ampere    A100 PCIe of 250 W 14.5 to 16 TFLOPS, of 300 W 17 (NeuSight)
 *   GA10x     RTX 3090 about 27 TFLOPS; Ada, Hopper: RTX 4090 about 58 TFLOPS, H100 PCIe 16 bits about 500 (what people report of
 *             cuBLAS; no measurements were at hand)
 *   Blackwell B200 16 bits about 1,600 TFLOPS (the same); its lanes are taken for Hopper's, and those of GeForce and RTX PRO for Ada's
 */
static const struct
{
	double		capability;
	double		pj;
	double		matrix;
}			energy[] = {
	{6.0, 12, 1}, {7.0, 10, 9}, {7.5, 10, 9}, {8.0, 10, 14}, {8.6, 8, 5}, {8.9, 3.4, 5}, {9.0, 3.4, 11}, {10.0, 3.4, 16.5}, {12.0, 3.4, 5}
};

/* Whether a matrix product of this dtype runs on the units for it. */
static bool
on_matrix_units(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core)
{
	/* NVIDIA's older cards have no bf16: libraries compute in FP32 */
	return tensor_core && dtype != PM_FP32 && !isnan(gpu->fp16_tensor_tflops) &&
		!(dtype == PM_BF16 && gpu->compute_capability < FIRST_WITH_BF16);
}

bool
pm_gpu_emulates(const pm_gpu *gpu, pm_dtype dtype)
{
	return dtype != PM_FP32 && dtype != PM_TF32 && !gpu->is_cpu && !isnan(gpu->compute_capability) && !on_matrix_units(gpu, dtype, true);
}

bool
pm_gpu_computes_in(const pm_gpu *gpu, pm_dtype dtype)
{
	return pm_dtype_run(gpu, dtype) == dtype && !pm_gpu_emulates(gpu, dtype);
}

double
pm_gpu_peak(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core)
{
	double		fp32 = gpu->fp32_tflops * 1e12;
	double		matrix = gpu->fp16_tensor_tflops * 1e12;
	bool		half = dtype != PM_FP32 && dtype != PM_TF32;

	/* TF32 runs at half the rate of the 16-bit types on every part that has it. */
	if (on_matrix_units(gpu, dtype, tensor_core))
		return half ? matrix : fmax(matrix / 2, fp32);
	/*
	 * Lanes for 16 bits where they are faster, but for NVIDIA's libraries, which add up in FP32 at its rate (P100:
	 * DeepBench has 8.9 TFLOPS in FP32 and 8.8 in its "pseudo FP16").
	 */
	return tensor_core && half && isnan(gpu->compute_capability) && gpu->fp16_tflops > gpu->fp32_tflops ? gpu->fp16_tflops * 1e12 : fp32;
}

bool
pm_gpu_offers(const pm_gpu *gpu, pm_dtype dtype)
{
	return pm_gpu_computes_in(gpu, dtype) &&
		(dtype != PM_TF32 || !isnan(gpu->compute_capability) || pm_gpu_peak(gpu, dtype, true) > pm_gpu_peak(gpu, PM_FP32, true));
}

double
pm_gpu_most(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core, bool convolution)
{
	bool		matrix = on_matrix_units(gpu, dtype, tensor_core);
	bool		lanes = dtype == PM_FP32 || dtype == PM_TF32 || !matrix;
	double		twice = isnan(gpu->compute_capability) ? 2 : 1;
	double		peak = pm_gpu_peak(gpu, dtype, tensor_core);
	double		most = peak * MOST_BOOST * (lanes ? twice : 1);

	if (!matrix || convolution)
		return most;
	/* not below what the lanes do in FP32: TF32 is never slower */
	return fmax(peak, fmin(most, gpu->fp32_tflops * 1e12 * MOST_BOOST * twice));
}

/*
 * The first: published steps of 524,288 and 716,800 tokens on A100, which are nearly all attention and ran the second, took 1 / 1.77 and 1 / 1.79
 * of what was predicted from steps with the first (jzhang38/EasyContext); its authors say that the second is about twice as fast (Dao 2023).
 * The third: 1.5 to 2.0 times as fast as the second on an H100 (Shah et al. 2024); cuDNN's kernels are taken to be as fast.
 */
#define FLASH1_COST		1.8
#define FLASH3_COST		(1 / 1.65)

double
pm_gpu_attention_cost(const pm_gpu *gpu, pm_dtype dtype, int64_t flash)
{
	if (gpu->is_cpu || dtype == PM_FP32 || dtype == PM_TF32)
		return 1;
	if (flash == 1)
		return FLASH1_COST;
	return flash == 3 && gpu->compute_capability >= FIRST_WITH_FLASH3 && gpu->compute_capability < FIRST_WITHOUT_FLASH3 ? FLASH3_COST : 1;
}

double
pm_held_above(double x, double least, double *slope)
{
	double		held = pm_held(x, least);
	double		share = held > 0 ? x / held : 1;

	if (slope != NULL)
		*slope = share * share * share * share * share * share * share;
	return held;
}

/* The row of energy[] of a card; -1: none. */
static int
energy_row(const pm_gpu *gpu)
{
	int			at = (int) (sizeof(energy) / sizeof(energy[0])) - 1;

	while (at >= 0 && !(gpu->compute_capability >= energy[at].capability))
		at--;
	return gpu->is_cpu ? -1 : at;
}

double
pm_gpu_arithmetic_w(const pm_gpu *gpu)
{
	int			at = energy_row(gpu);
	/* a lane makes two operations in a cycle */
	double		clock_ghz = 1000 * gpu->fp32_tflops / (2 * gpu->sm_count * gpu->cores_per_sm);

	/* fmax passes over a figure that the sheet lacks */
	return at < 0 ? NAN : fmax(gpu->fp32_tflops, gpu->fp16_tensor_tflops / energy[at].matrix) * energy[at].pj * clock_ghz;
}

double
pm_gpu_rate(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core, bool convolution)
{
	double		peak = pm_gpu_peak(gpu, dtype, tensor_core);
	double		power = fmax(gpu->tdp_w * (1 - FIXED_SHARE) - FIXED_W, gpu->tdp_w * LEAST_SHARE);
	double		held;			/* by power */
	int			at = energy_row(gpu);

	if (at < 0)
		return !gpu->is_cpu && gpu->compute_capability < FIRST_FED ? peak * FED_SHARE : peak;
	held = 1e12 * sqrt(2 * gpu->sm_count * gpu->cores_per_sm / 1000 * power / energy[at].pj) * (convolution ? CONV_SPEEDUP : 1);
	if (on_matrix_units(gpu, dtype, tensor_core))
		held *= dtype == PM_TF32 ? energy[at].matrix / 2 : energy[at].matrix;
	/* a figure that the sheet lacks makes held NaN, which is not below the peak */
	return held < peak ? held : peak;
}
