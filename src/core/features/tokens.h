/*
 * tokens.h - from skeleton and question to the numbers of each token: its work,
 * its roofline time, its features.
 */
#ifndef PM_TOKENS_H
#define PM_TOKENS_H

#include "features/features.h"
#include "features/question.h"
#include "features/rates.h"
#include "features/skeleton.h"

#define PM_MAX_BATCH 16777216

typedef struct pm_tokens
{
	const pm_skeleton *skeleton;
	int			n;
	int32_t    *type;			/* [n] pm_type_id */
	int32_t    *op_class;		/* [n] pm_class */
	pm_real    *slots;			/* [n, PM_N_SLOTS] raw: log2(1+x), flags as they are; order of features.h */
	pm_real    *slot_mask;		/* [n, PM_N_SLOTS] 0 or 1 */
	pm_real    *loads;			/* [n, PM_N_LOADS] raw, logs; NaN where something does not apply */
	double	   *phase_us;		/* [n, 3] roofline time of forward, backward, update; one copy */
	double	   *roofline_us;	/* [n] their sum */
	double	   *compute_us;		/* [n] arithmetic of all phases at peak rate, one copy */
	double	   *memory_us;		/* [n] traffic of all phases at peak bandwidth, one copy */
	double	   *floor_us;		/* [n] that forward and backward pass of one copy take at least on a GPU; 0 where nothing is known */
	double	   *kernels;		/* [n] estimated launches of one copy in a step, the update's not counted */
	double	   *backward_kernels;	/* [n] of them, those of the backward pass */
	double	   *flops;			/* [n] of a step, one copy */
	double	   *bytes;
	char	   *bound;			/* [n] 'c' or 'm': what the roofline says */
	pm_real		job[PM_N_JOB];	/* raw; NaN where the data sheet has a gap */
	double		total_flops;	/* of a step */
	double		total_bytes;
	double		total_roofline_us;
	double		params;
	double		n_kernels;
	pm_dtype	dtype;
	pm_layout	layout;
} pm_tokens;

/* Token type: the operator, and for a convolution also its kind. */
int			pm_type_id(int op, pm_conv_kind conv);
int			pm_type_count(void);
/* "Conv/depthwise", "Relu"; static storage or in buf (at least 64 bytes). */
const char *pm_type_name(int type, char *buf);
int			pm_type_find(const char *name); /* -1 when not known */

/* Groups that times and work are summed by: the classes, and the convolutions' kinds apart. */
#define PM_N_GROUPS	(PM_N_CLASSES + PM_N_CONV_KINDS)
int			pm_token_group(const pm_tokens *t, int i);
/* Share of token i, all copies, in the roofline time; of the operators when none of them does anything. */
double		pm_roofline_share(const pm_tokens *t, int i);
/* Share of the optimizer's updates in the roofline time, 0..1. */
double		pm_update_share(const pm_tokens *t);

/*
 * PM_ERR_INPUT when the data sheet lacks what a roofline needs or is out of its
 * bounds, or batch < 1; PM_CANCELLED when the hooks of a say so.
 */
pm_code		pm_tokens_build(const pm_skeleton *s, const pm_question *q, pm_arena *a, pm_tokens *t, pm_status *st);
/* The same without features: slots, slot_mask and loads are NULL, job is all 0. */
pm_code		pm_tokens_build_work(const pm_skeleton *s, const pm_question *q, pm_arena *a, pm_tokens *t, pm_status *st);
/*
 * Give t the work at the batch of q, which must be the query of t in all but
 * the batch: times, FLOPs, bytes, launches and their totals.  Features, if t
 * has any, stay those of before.  Nothing is allocated.
 */
pm_code		pm_tokens_rework(pm_tokens *t, const pm_question *q, pm_status *st);
/*
 * For questions that share the arrays of one t: room for the work of n tokens,
 * and the beginning of a question, with the types that pm_tokens_build() found
 * for its skeleton.  pm_tokens_rework() does the rest.
 */
pm_code		pm_tokens_make_room(pm_tokens *t, int n, pm_arena *a, pm_status *st);
void		pm_tokens_begin(pm_tokens *t, const pm_skeleton *s, const pm_question *q, int32_t *type, int32_t *op_class);

#endif
