/*
 * rates.h - the rates of a card: at its peak, and those that its power allows
 * for a long time.
 */
#ifndef PM_RATES_H
#define PM_RATES_H

#include <math.h>

#include "features/question.h"

/*
 * Whether an NVIDIA card computes matrix products of this 16-bit format in FP32,
 * at the rate of FP32: bf16 before Ampere (compute capability 8.0), and all 16-bit
 * formats without matrix units.  False for FP32, for TF32 (see pm_dtype_run()),
 * and without a compute capability.
 */
bool		pm_gpu_emulates(const pm_gpu *gpu, pm_dtype dtype);

/* Whether a card computes in this format, not at the rate of FP32 in its place. */
bool		pm_gpu_computes_in(const pm_gpu *gpu, pm_dtype dtype);

/* The same, but TF32 of cards that are not NVIDIA's only where it is faster than FP32. */
bool		pm_gpu_offers(const pm_gpu *gpu, pm_dtype dtype);

/*
 * Peak rate of the data sheet in FLOP/s for this dtype.  tensor_core: of a matrix product that matrix units can take; else of all
 * other arithmetic.
 */
double		pm_gpu_peak(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core);

/*
 * Rate in FLOP/s that the card can sustain: the peak, or less if its power does not
 * allow the boost clock under such work.  convolution: the work is a convolution.
 * Without tdp_w, sm_count, cores_per_sm or a compute capability of Pascal or later,
 * it is the peak; on NVIDIA cards before Maxwell, a fixed share of it.  It does not
 * fall if a figure of the sheet becomes better.  Derivation: rates.c.
 */
double		pm_gpu_rate(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core, bool convolution);

/*
 * Times as long as FlashAttention-2 that the kernel of a release of FlashAttention takes for the same arithmetic on this card: 1, 3, or
 * 0 for the usual one, which is 2.  The third is faster on Hopper and on Blackwell of data centres only, and stands for cuDNN's attention
 * there, too.  1 on a CPU and in FP32, where none of them runs.
 */
double		pm_gpu_attention_cost(const pm_gpu *gpu, pm_dtype dtype, int64_t flash);

/*
 * Rate in FLOP/s that no kernel exceeds, with `tensor_core` and `convolution` as above: the peak at the higher clock that cool cards
 * reach, and twice that for FP32 of other makers than NVIDIA, whose sheets leave out dual issue and matrix units.  Matrix products on
 * matrix units draw too much power for a higher clock, and stay below the peak of the sheet.
 */
double		pm_gpu_most(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core, bool convolution);

/*
 * A smooth maximum of x >= 0 and least >= 0: (x^8 + least^8)^(1/8).  It is x if least is 0, and 1.09 x if both are equal; it rises
 * with both.  *slope: its derivative by x; NULL: not wanted.
 */
double		pm_held_above(double x, double least, double *slope);

/* The same number without the derivative; the compiler can vectorise a loop of it. */
static inline double
pm_held(double x, double least)
{
	double		larger = x > least ? x : least;
	double		smaller = x > least ? least : x;
	double		ratio = larger > 0 ? smaller / larger : 0;
	double		fourth = ratio * ratio * ratio * ratio;

	return larger * sqrt(sqrt(sqrt(1 + fourth * fourth)));
}

/*
 * Watts that arithmetic would take at the peak and the boost clock, on the FP32
 * lanes or the matrix units, whichever takes more.  If this is above tdp_w, power
 * limits the card.  NaN without sm_count, cores_per_sm or a compute capability of
 * Pascal or later.
 */
double		pm_gpu_arithmetic_w(const pm_gpu *gpu);

#endif
