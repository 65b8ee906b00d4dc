/*
 * gpus.h - data sheets of devices by name.
 */
#ifndef PM_PG_GPUS_H
#define PM_PG_GPUS_H

#include "features/question.h"
#include "problem.h"

/* The sheets have their names in UTF-8, as the core has all of its texts; names that are asked for are the database's. */

/* The data sheet for a name or alias; an error with candidates when there is none. Valid until the next pm_freshen(). */
extern const pm_gpu *pm_gpu_find(const char *name);
/* The same; NULL, with *p filled, in place of an error. */
extern const pm_gpu *pm_gpu_look_up(const char *name, pm_problem *p);
/* Whether it would find one. */
extern bool pm_gpu_exists(const char *name);

#endif
