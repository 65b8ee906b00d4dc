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
	double	   *floor_us;		/* [n] the least time of forward and backward pass of one copy on a GPU; 0: not known */
	double	   *table_us;		/* [n] the update of one copy of a table of embeddings on a GPU, at peak bandwidth; 0: of any other operator */
	double	   *kernels;		/* [n] estimated launches of one copy in a step, the update's not counted */
	double	   *backward_kernels;	/* [n] those of them in the backward pass */
	double	   *flops;			/* [n] of a step, one copy */
	double	   *bytes;			/* [n] the same */
	char	   *bound;			/* [n] 'c': arithmetic takes at least as long as traffic; 'm': traffic takes longer */
	pm_real		job[PM_N_JOB];	/* raw; NaN where the data sheet has a gap */
	double		total_flops;	/* of a step */
	double		total_bytes;
	double		total_roofline_us;
	double		params;
	double		n_kernels;
	pm_dtype	dtype;
	pm_layout	layout;
} pm_tokens;

/* Let all operators have `by` times (above 0) their work on the device; what the processor launches stays. Features and totals stay, too. */
void		pm_tokens_scale_device(pm_tokens *t, double by);

/* Leave out the traffic of the optimizer's update. Features and totals stay. */
void		pm_tokens_drop_update(pm_tokens *t);

/* Number of a type of tokens, 0 to pm_type_count() - 1: the operator, or for a convolution its kind. */
int			pm_type_id(int op, pm_conv_kind conv);
int			pm_type_count(void);
/* Name of a type: "Relu", or "Conv/depthwise", which is written to buf (at least 64 bytes). */
const char *pm_type_name(int type, char *buf);
/* The type with this name; -1: there is none. */
int			pm_type_find(const char *name);

/* Groups of tokens: the classes, and after them the kinds of convolutions. */
#define PM_N_GROUPS	(PM_N_CLASSES + PM_N_CONV_KINDS)
/* The group of token i, 0 to PM_N_GROUPS - 1. */
int			pm_token_group(const pm_tokens *t, int i);
/* Share of token i, all copies, in the roofline time, 0..1; if that is 0, its share in the number of operators. */
double		pm_roofline_share(const pm_tokens *t, int i);
/* Share of the optimizer's updates in the roofline time, 0..1. */
double		pm_update_share(const pm_tokens *t);

/*
 * *t, in arena a: the tokens of the skeleton s for the question q.  Features of networks with frozen weights are those of the
 * same networks with all weights trained.  PM_ERR_INPUT:
 * the batch is not between 1 and PM_MAX_BATCH, or the data sheet lacks a needed
 * figure or has one out of its bounds; PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_tokens_build(const pm_skeleton *s, const pm_question *q, pm_arena *a, pm_tokens *t, pm_status *st);
/* The same without features: slots, slot_mask and loads are NULL, job is all 0. */
pm_code		pm_tokens_build_work(const pm_skeleton *s, const pm_question *q, pm_arena *a, pm_tokens *t, pm_status *st);
/*
 * Give t the work at the batch of q: times, FLOPs, bytes, launches and their
 * totals.  q must be the question of t except for the batch.  Features, if t has
 * any, do not change.  No memory is allocated.  PM_ERR_INPUT as above.
 */
pm_code		pm_tokens_rework(pm_tokens *t, const pm_question *q, pm_status *st);
/*
 * For questions that share the arrays of one t.  pm_tokens_make_room() gives t
 * arrays for the work of n tokens, in arena a (PM_ERR_MEMORY).
 * pm_tokens_begin() lets t be the tokens of s for q; type and op_class, [s->n],
 * are those that pm_tokens_build() found for this skeleton.  pm_tokens_rework()
 * then computes the work.
 */
pm_code		pm_tokens_make_room(pm_tokens *t, int n, pm_arena *a, pm_status *st);
void		pm_tokens_begin(pm_tokens *t, const pm_skeleton *s, const pm_question *q, int32_t *type, int32_t *op_class);

#endif
