/*
 * dataset.h - measurements in the form from which the core learns: a question,
 * the skeleton of its graph, and the measured times.
 */
#ifndef PM_DATASET_H
#define PM_DATASET_H

#include "features/tokens.h"

/* Factors on the parts of an answer, by which a predictor is fitted to a card; of kinds that take them (pm_kind.scales). */
typedef struct pm_factors
{
	const double *device;		/* [tokens of the skeleton] on their time on the device */
	double		launch;			/* on the time of launches */
	double		rest;			/* on what a step costs beside its operators */
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
	const pm_factors *fitted;	/* of a question, for a kind that takes it; NULL: all factors are 1 */
} pm_sample;

typedef struct pm_dataset
{
	int			n;
	pm_sample  *samples;
	int			n_operators;	/* single operators, for kinds that can learn from them: graphs of one node, */
	pm_sample  *operators;		/* query.alone, step_ms of forward and backward pass; never predicted or tested */
	int			n_passes;		/* forward passes of inference: query.mode, step_ms; predictor/passes.h learns from */
	pm_sample  *passes;			/* them beside the kinds, which do not */
} pm_dataset;

#endif
