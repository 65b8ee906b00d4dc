/*
 * answer.h - a question as a key of a hash table, and its answer.
 */
#ifndef PM_PG_CACHE_ANSWER_H
#define PM_PG_CACHE_ANSWER_H

#include <math.h>

#include "scaling/step.h"

/* A question in the words of the caller; pm_question of the core is what they mean. */
typedef struct pm_asked_words
{
	int64		graph_id;
	int32		batch;
	text	   *gpu;
	text	   *dtype;			/* NULL, here and below: the usual one */
	text	   *layout;
	text	   *optimizer;
	text	   *mode;
	text	   *framework;		/* may be NULL */
	text	   *predictor;		/* may be NULL */
	pm_parallel parallel;		/* how many GPUs, and how they share the work */
	text	   *cluster;		/* NULL: the usual one of the device */
	int32		expert_part;	/* of a step on one GPU: it has the experts of one of so many, as with ep of parallel; 0: all */
} pm_asked_words;

/* Among how many GPUs the experts are divided. */
static inline int32
pm_expert_part(const pm_asked_words *q)
{
	int32		part = q->parallel.ep > 1 ? pm_expert_parts(&q->parallel) : q->expert_part;

	return part > 1 ? part : 0;
}

/* Bits of pm_answer.reasons above those of pm_cause. */
#define PM_REASON_COMPILED 29	/* torch.compile: no predictor has learned it */
#define PM_REASON_UNFITTED_CLUSTER 30	/* communication is not measured but taken from constants of the links */
#define PM_REASON_NO_INTERVAL 31	/* the predictor is not calibrated */

/* What is known about a question. */
typedef struct pm_answer
{
	double		step_ms;
	double		comm_ms;		/* of it collectives, and of these while no GPU computes; 0 on one GPU */
	double		exposed_ms;
	double		forward_ms;		/* of one batch on one GPU, as its work says; as the next, only of what is judged */
	double		roofline_ms;	/* of what a GPU does in the step, at the peaks of the data sheet: pm_gpu_roofline_ms() */
	double		alone_share;	/* that of one batch on one GPU over the step on it */
	int64		predictor_id;
	double		level;			/* of what follows; NaN: not judged yet */
	double		low_ms;			/* NaN: no interval */
	double		high_ms;
	bool		in_domain;
	bool		memory_known;	/* whether what follows has been asked for, by pm_ask_memory() */
	double		peak_mb;		/* NaN: no estimate */
	double		p_fits;			/* NaN: the memory of the device is not known */
	uint32		reasons;		/* bits: pm_cause, and PM_REASON_... */
	char	   *note;			/* or NULL */
} pm_answer;

/* A question as a block of bytes: every word after its length, 0xff for NULL. */
#define PM_WORDS_SIZE 112
typedef struct pm_answer_key
{
	int64		graph_id;
	int32		batch;
	int32		parallel[10];	/* world_size, nodes, accumulation, tp, pp, interleave, cp, shard, ep, and the others together */
	float		bucket_mb;
	uint8		words[PM_WORDS_SIZE];
} pm_answer_key;

/* Whether an answer judged at `known` (NaN: not) will do for a question at `wanted`. */
static inline bool
pm_level_will_do(double known, double wanted)
{
	return isnan(wanted) || known == wanted;
}

#endif
