/*
 * tokens.h - graph + gpu + batch + dtype -> token matrix.
 *
 * Two steps, because the first depends on the graph alone and is worth
 * keeping:
 *   skeleton   the tokens of a graph: operators that are alike merged into one
 *              token with a multiplicity, their positions and relations;
 *   tokens     the numbers of each token for one query (gpu, batch, dtype ...).
 */
#ifndef PM_TOKENS_H
#define PM_TOKENS_H

#include "features/question.h"

/* Peak rate in FLOP/s that a matrix product (or anything else) of this dtype can reach. */
double		pm_gpu_peak(const pm_gpu *gpu, pm_dtype dtype, bool tensor_core);

/* ---- skeleton ---- */

#define PM_MAX_OPS		20000	/* operators of one graph that a skeleton can hold, before merging */
#define PM_MAX_TOKENS	4096	/* and after: attention is quadratic */

#define PM_N_RELATIONS 8
typedef enum pm_relation
{
	PM_REL_SELF, PM_REL_PARENT, PM_REL_CHILD, PM_REL_ANCESTOR, PM_REL_DESCENDANT,
	PM_REL_SIBLING, PM_REL_UNRELATED, PM_REL_JOB
} pm_relation;

#define PM_SINUSOID		32		/* width of one sinusoid */
#define PM_N_DEGREES	9		/* 0..7, 8 and more */
/* depth | relative depth | height | parents | children | indegree | outdegree */
#define PM_POSITION_DIM	(5 * PM_SINUSOID + 2 * PM_N_DEGREES)

typedef struct pm_skeleton
{
	const pm_graph *graph;
	pm_dag		dag;			/* before merging */
	int			n;				/* tokens, without the job token */
	int32_t    *token_of;		/* [dag.n] token of each operator */
	int32_t    *node;			/* [n] a representative node of the graph */
	double	   *copies;			/* [n] multiplicity */
	pm_real    *position;		/* [n, PM_POSITION_DIM] averaged over the copies */
	uint8_t    *relation;		/* [n+1, n+1] what column is to row: pm_relation of the closest
								 * pair of copies; row and column 0 are the job token */
} pm_skeleton;

/*
 * Merged, operators with the same type, configuration and load become one
 * token.  Positions are averaged over the copies; the relation of two tokens
 * is the closest between any two of their copies (self, parent, child,
 * sibling, then ancestor or descendant).  Unmerged, both are exact.
 * Nothing depends on how nodes are numbered.
 * PM_ERR_LIMIT beyond PM_MAX_OPS or PM_MAX_TOKENS; PM_ERR_INPUT for a graph
 * without any operator.
 */
pm_code		pm_skeleton_build(const pm_graph *g, bool merge, pm_arena *a, pm_skeleton *s, pm_status *st);

/*
 * What is left of s when its tokens have been built: the work at another batch
 * (pm_tokens_rework) and the names of operators.  *g has the nodes of the
 * tokens and those that they read; *slim has n, node, copies, dag.n, and nothing
 * else.  Independent of s and its graph.
 */
pm_code		pm_skeleton_slim(const pm_skeleton *s, pm_arena *a, pm_graph *g, pm_skeleton *slim, pm_status *st);

/* ---- tokens ---- */

#define PM_MAX_BATCH 16777216

#define PM_N_SLOTS	29			/* configuration */
#define PM_N_LOADS	25			/* computational load, and how well it fits the device */
#define PM_N_JOB	32			/* job token */
#define PM_JOB_OPTIMIZER 11		/* where in it one number for each optimizer begins; a step without an update has none of them set */

typedef struct pm_tokens
{
	const pm_skeleton *skeleton;
	int			n;
	int32_t    *type;			/* [n] pm_type_id */
	int32_t    *op_class;		/* [n] pm_class */
	pm_real    *slots;			/* [n, PM_N_SLOTS] raw: log2(1+x), flags as they are; order of PM_HAS_..., batch, bytes */
	pm_real    *slot_mask;		/* [n, PM_N_SLOTS] 0 or 1 */
	pm_real    *loads;			/* [n, PM_N_LOADS] raw, logs; NaN where something does not apply */
	double	   *phase_us;		/* [n, 3] roofline time of forward, backward, update; one copy */
	double	   *roofline_us;	/* [n] their sum */
	double	   *compute_us;		/* [n] arithmetic of all phases at peak rate, one copy */
	double	   *memory_us;		/* [n] traffic of all phases at peak bandwidth, one copy */
	double	   *kernels;		/* [n] estimated launches of one copy in a step, the update's not counted */
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

/*
 * PM_ERR_INPUT when the data sheet lacks what a roofline needs, or batch < 1.
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

#endif
