/*
 * dataset.h - measurements in the form that trainings read: a question, the
 * skeleton of its graph, and the measured times.
 */
#ifndef PM_DATASET_H
#define PM_DATASET_H

#include "features/tokens.h"

/* Factors on the parts of a prediction, which fit a predictor to a card. Only kinds with pm_kind.scales take them. */
typedef struct pm_factors
{
	const double *device;		/* [tokens of the skeleton] on their time on the device */
	double		launch;			/* on the time of launches */
	double		rest;			/* on the time of a step apart from its operators */
} pm_factors;

typedef struct pm_sample
{
	pm_question	query;
	const pm_skeleton *skeleton;
	double		step_ms;		/* measured, > 0; 0 in a row to predict only */
	double		forward_ms;		/* NaN: not measured */
	double		backward_ms;
	double		weight;			/* 1, or less for a noisy row */
	int64_t		id;				/* profile_id, for messages */
	const pm_factors *fitted;	/* factors on the prediction, for kinds that take them; NULL: all are 1 */
} pm_sample;

typedef struct pm_dataset
{
	int			n;
	pm_sample  *samples;

	/*
	 * Single operators, for kinds that can learn from them: graphs of one node with query.alone; step_ms is that of forward and
	 * backward pass.  They are never predicted or tested.
	 */
	int			n_operators;
	pm_sample  *operators;

	/* Forward passes of inference (query.mode), with their step_ms, for kinds that can learn from them and for predictor/passes.h. */
	int			n_passes;
	pm_sample  *passes;
} pm_dataset;

#endif
