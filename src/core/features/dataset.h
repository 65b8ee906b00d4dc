/*
 * dataset.h - measurements as the core learns from them: a question, the
 * skeleton of its graph, and the times that were measured.
 */
#ifndef PM_DATASET_H
#define PM_DATASET_H

#include "features/tokens.h"

typedef struct pm_sample
{
	pm_question	query;
	const pm_skeleton *skeleton;
	double		step_ms;		/* measured, > 0; 0 in a row to predict only */
	double		forward_ms;		/* NaN: not measured */
	double		backward_ms;
	double		weight;			/* 1, or less for a noisy row */
	int64_t		id;				/* profile_id, for messages */
} pm_sample;

typedef struct pm_dataset
{
	int			n;
	pm_sample  *samples;
	int			n_operators;	/* single operators, for kinds that can learn from them: graphs of one node, */
	pm_sample  *operators;		/* query.alone, step_ms of forward and backward pass; never predicted or tested */
} pm_dataset;

#endif
