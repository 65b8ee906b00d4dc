/*
 * predictor_name.h - rules for names of predictors.
 */
#ifndef PM_PG_PREDICTOR_NAME_H
#define PM_PG_PREDICTOR_NAME_H

#define PM_MAX_PREDICTOR_NAME 255	/* bytes */

/* Raise for a name that is empty or too long. */
extern void pm_predictor_name_check(const char *name);

#endif
