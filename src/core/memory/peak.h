/*
 * peak.h - the peak of a simulated step as a function of the batch. It is small
 * enough to be kept for every graph.
 */
#ifndef PM_PEAK_H
#define PM_PEAK_H

#include "memory/step.h"

#define PM_N_MEMORY_ANCHORS	7
#define PM_MAX_MEMORY_LINES	19

extern const double pm_memory_anchors[PM_N_MEMORY_ANCHORS]; /* batches at which the allocator is replayed */

/* Bytes that tensors hold at an event, over the batch. */
typedef struct pm_memory_line
{
	double		fixed;
	double		per;			/* a sample */
	double		gradients;		/* of the weights, in fixed */
	double		copies;			/* of weights in 2 bytes, in fixed */
	double		scores;			/* between the products of attentions, in per */
} pm_memory_line;

/* The passes of a step that is run in one way: with checkpoints, or without. All figures are bytes. */
typedef struct pm_memory_run
{
	int			n_lines;		/* what tensors hold at most: the highest of lines over the batch */
	int			n_light;		/* behind them, lines that are highest where gradients or scores weigh nothing, or in a part of a sample: never above, until a model is divided */
	pm_memory_line lines[PM_MAX_MEMORY_LINES];	/* [n_lines + n_light] */
	double		kept_per;		/* activations that wait for the backward pass when it begins, but for the network's output, a sample */
	double		kept_scores;	/* of them, between the products of attentions */
	double		reserved[PM_N_MEMORY_ANCHORS];	/* by the caching allocator; 0 on a CPU */
} pm_memory_run;

/* What a question about a graph at any batch needs. All figures are bytes. */
typedef struct pm_memory_plan
{
	uint64_t	structure;		/* of the graph */
	double		weights;
	double		gradients;		/* of all weights; 0 in inference */
	double		optimizer;
	double		largest_weights;	/* of one operator */
	double		expert_weights, /* of weights, those of experts (graph/experts.h), */
				expert_gradients,	/* of gradients, */
				expert_optimizer;	/* and of optimizer */
	double		root_weights,	/* of units.h */
				unit_weights,
				pair_weights;
	pm_memory_run asked;		/* the passes as they were asked for */
	pm_memory_run plain;		/* without checkpoints, which may take less at small batches; n_lines 0: there are no checkpoints */
	double		again_share;	/* of the layers, those that are run as asked; the others are plain */
	pm_memory_line update;		/* what tensors hold while weights are updated */
	double		scratch;		/* of it, memory of the update's own */
	double		standing;		/* gradients that are there before the step */
	double		outputs_fixed,	/* all outputs of operators, one after the other */
				outputs_per;
	double		inputs_per;		/* of the network, a sample */
	double		handed_per;		/* what a layer of a transformer hands to the next, a sample; 0: there is none */
	double		walk_fixed,		/* of pm_walk(): outputs, their gradients and those of the weights */
				walk_per;
	double		largest_per;	/* the largest output that grows with the batch, a sample */
	bool		on_cpu;
	bool		checkpoints;	/* segments, or attention alone, are run again: that was asked for, and takes less memory at a batch of 256 */
	bool		segments;		/* of them, segments of which nothing stays: whose checkpoints tp does not divide */
	double		pointwise_per;	/* data and results of all convolutions of single elements, a sample */
	double		conv_fixed,		/* data and result of the largest convolution that needs copies of them */
				conv_per;
} pm_memory_plan;

/* Simulate the step of finished graph g, and fill *plan, which has no pointers. PM_ERR_MEMORY, PM_CANCELLED. */
pm_code		pm_memory_plan_make(const pm_graph *g, const pm_step_options *o, pm_arena *a, pm_memory_plan *plan, pm_status *st);

/* Bytes at a batch >= 1; each grows with the batch. */
double		pm_memory_live(const pm_memory_plan *plan, int64_t batch);	/* that tensors hold at the peak */
double		pm_memory_live_in_passes(const pm_memory_plan *plan, int64_t batch);	/* at the peak before the update */
double		pm_memory_highest(const pm_memory_run *run, int64_t batch, int *which);	/* of its n_lines, and which it is (NULL: not asked) */
bool		pm_memory_checkpoints_at(const pm_memory_plan *plan, int64_t batch);	/* whether they take less at this batch */
double		pm_memory_reserved(const pm_memory_plan *plan, int64_t batch);	/* that the allocator, on a CPU malloc, holds; >= live */
double		pm_memory_largest_conv(const pm_memory_plan *plan, int64_t batch);	/* data and result of the largest convolution */

#endif
