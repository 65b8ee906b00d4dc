/*
 * rates.h - the rates of a card: at its peak, and those that its power allows
 * for a long time.
 */
#ifndef PM_RATES_H
#define PM_RATES_H

#include <math.h>

#include "features/question.h"

/*
 * Whether the card computes matrix products of this format in FP32, at its rate:
 * bf16 on NVIDIA's cards before Ampere (compute capability 8.0), 16 bits on those
 * without matrix units.  False for FP32 and for TF32, which pm_dtype_run() knows.
 */
bool		pm_gpu_emulates(const pm_gpu *gpu, pm_dtype dtype);

/* Peak rate in FLOP/s that a matrix product (or anything else) of this dtype can reach. */
double		pm_gpu_peak(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core);

/*
 * Rate in FLOP/s that the card keeps up: the peak, or less where its power does
 * not allow the boost clock under such work.  convolution: the work is one.
 * The peak where the sheet lacks tdp_w, sm_count, cores_per_sm or a compute
 * capability of Pascal or later.  Never lower for a card that is better in any figure of its sheet.
 */
double		pm_gpu_rate(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core, bool convolution);

/*
 * Rate in FLOP/s that no kernel exceeds, with `tensor_core` as above: the peak, the higher clock that cards boost to where they
 * are cool, and what other makers' sheets leave out.
 */
double		pm_gpu_most(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core);

/*
 * x held above least >= 0, smoothly: (x^8 + least^8)^(1/8), which is x where least is 0 and 1.09 x where both are the same.
 * It rises with both. slope, which may be NULL, gets its derivative by x.  x >= 0.
 */
double		pm_held_above(double x, double least, double *slope);

/* The same number, without the derivative; a loop of it becomes one of vectors. */
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
 * Watts that arithmetic would take at the peak and the boost clock, whatever the
 * board may draw: above tdp_w for a card that its power holds.  On the FP32
 * lanes or the matrix units, whichever takes more.  NaN where the sheet lacks sm_count or cores_per_sm, or a compute capability of Pascal or later.
 */
double		pm_gpu_arithmetic_w(const pm_gpu *gpu);

#endif
