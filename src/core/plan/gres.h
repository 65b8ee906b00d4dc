/*
 * gres.h - devices as Slurm writes them: "gpu:a100:4" (--gres), "a100:4"
 * (--gpus), "gres/gpu:a100=4" (sacct), "gpu:a100:4(S:0-1)" (squeue), and a list
 * with one such part, "cpu=8,mem=64G,gres/gpu=4,gres/gpu:a100=4".
 */
#ifndef PM_CORE_PLAN_GRES_H
#define PM_CORE_PLAN_GRES_H

#include "base/core.h"

/* More devices than that are a mistake. */
#define PM_GRES_MOST 1000000

/* "gpu:4" are four, "gpu:3090" is one of a type. */
#define PM_GRES_MOST_UNTYPED 1024

typedef struct pm_gres
{
	const char *name;			/* in the text: of a type of device, "gpu" where it says none; ends after length bytes */
	size_t		length;
	int			count;			/* 0: the text does not say how many */
} pm_gres;

/* False: the text is not written so, names several types, or a part of a card (slice.h) beside the type. */
bool		pm_gres_read(const char *text, pm_gres *g);

#endif
