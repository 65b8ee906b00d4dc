/*
 * wave.h - Habitat's wave scaling: the time of an operator on one card, from
 * its time on another card, if it runs the same kernel on both.
 */
#ifndef PM_WAVE_H
#define PM_WAVE_H

#include "features/tokens.h"

/*
 * Time of token i on card `to` over its time on card `from`, both with all
 * figures that pm_gpu_check() asks for; > 0.  t: its work on `from`, features
 * included.
 *
 * With D the bandwidth, C the arithmetic rate (multiprocessors times lanes
 * times clock), x the FLOPs a byte, and R = C / D of `from`:
 *
 *     ratio = (D_from / D_to)^g * (C_from / C_to)^(1 - g)
 *     g = 1 - x / 2R for x <= R, and R / 2x above
 *
 * A kernel of less than one wave of blocks on both cards does not wait for the
 * memory of others; it takes as many rounds as its blocks need:
 *
 *     ratio = (clock_from / clock_to * rounds_to / rounds_from)^(1 - g)
 *
 * Source: Yu et al., Habitat, USENIX ATC 2021, and wave_scaling/roofline.py of
 * its code.  A block is taken to write 1,024 elements, and a multiprocessor to
 * hold 8 blocks, as kernels are not known here.
 */
double		pm_wave_ratio(const pm_tokens *t, int i, const pm_gpu *from, const pm_gpu *to);

#endif
