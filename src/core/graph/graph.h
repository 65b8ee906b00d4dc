/*
 * graph.h - the operator graph: nodes, edges, shapes with a batch dimension.
 *
 * A pm_graph is what an importer produces (graph_json.c reads
 * perfmodel-graph/1) and what everything else reads.  It is immutable once
 * pm_graph_finish() has accepted it.
 */
#ifndef PM_GRAPH_H
#define PM_GRAPH_H

#include "base/core.h"

#define PM_MAX_NODES	200000
#define PM_MAX_RANK		8
#define PM_MAX_DIM		(INT64_C(1) << 40)
#define PM_MAX_SPATIAL	3
#define PM_MAX_NAME_LEN	512
#define PM_MAX_EDGES	(20 * PM_MAX_NODES)	/* inputs over all nodes, and edges of a dag */

/* rank 0 is a scalar. */
typedef struct pm_shape
{
	int			rank;
	int64_t		dim[PM_MAX_RANK];
} pm_shape;

/*
 * Attributes that the operator catalogue uses; absent ones have the defaults
 * of ONNX.  Others stay in the stored document.
 */
typedef struct pm_attrs
{
	int			spatial;		/* number of kernel dimensions, 0: no kernel */
	int64_t		kernel[PM_MAX_SPATIAL];
	int64_t		stride[PM_MAX_SPATIAL];
	int64_t		pad[PM_MAX_SPATIAL];	/* one value a dimension, both sides alike */
	int64_t		dilation[PM_MAX_SPATIAL];
	int64_t		group;
	int64_t		axis;			/* INT64_MIN: absent */
	int64_t		hidden_size;	/* LSTM, GRU, RNN */
	int64_t		num_layers;
	bool		bidirectional;
	int64_t		num_heads;		/* Attention; 0: absent */
	int64_t		flash;			/* Attention: release of FlashAttention whose kernel runs, 1 or 3; 0: the usual one */
	int64_t		window;			/* Attention: a query sees at most so many keys, those next to its own place; 0: all */
	bool		is_causal;		/* Attention: a query sees the keys up to its own place only */
	bool		requires_grad;	/* Input: a gradient is wanted, as of an operator measured by itself */
	bool		plain;			/* Softmax: attention around it runs as the operators that are written, not as one kernel */
	bool		frozen;			/* the weights are not trained: they have no gradient, no update and no optimizer state */
	bool		sparse;			/* a table: its gradient has the rows that the batch looks up, and only these are updated */
	bool		complex;		/* the output is one of complex numbers, of two real ones each; weights and constants are listed as real ones */
	double		alpha;			/* LeakyRelu: slope of the negative side; NaN: absent */
	int64_t		tied;			/* id of the node that owns weights[0], -1: this one does;
								 * further weights are always its own */
	int			n_perm;			/* Transpose: dimension d of the output is perm[d] of the input; 0: absent */
	uint8_t		perm[PM_MAX_RANK];
} pm_attrs;

#define PM_USUAL_FLASH	2			/* release of FlashAttention that scaled_dot_product_attention() runs since PyTorch 2.2 */
#define PM_LAST_FLASH	3			/* newest that is known */

typedef enum pm_layout
{
	PM_NCHW, PM_NHWC, PM_N_LAYOUTS
} pm_layout;

/*
 * Work that a node has because of its place in the graph: elements read and written, those that do not depend on the batch
 * and those for each sample.
 */
typedef struct pm_extra
{
	double		fixed;
	double		each;
	int			launches;
} pm_extra;

/* What a node's place in the graph makes of it (flow.h); arrays by the layout that is asked for. */
typedef struct pm_flow
{
	bool		wide;			/* autocast: its output has 4 bytes an element, not 2 */
	uint8_t		runs[PM_N_LAYOUTS]; /* pm_layout of the tensors that it works on */
	pm_extra	copied[PM_N_LAYOUTS];	/* forward: copies of tensors whose memory order is not the one that is needed */
	pm_extra	across[PM_N_LAYOUTS];	/* forward: elements that could be moved in the time that is lost on operands in another
									 * memory order than the output; no launches */
	pm_extra	merged[PM_N_LAYOUTS];	/* backward: gradients of several readers added, views reversed, copies */
} pm_flow;

typedef struct pm_node
{
	const char *op_name;		/* as written */
	const char *module;			/* path of the module that runs it ("layer1.0.conv1"), NULL: not known */
	int			op;				/* index into the operator catalogue; PM_OP_UNKNOWN */
	int			n_inputs;
	int32_t    *inputs;			/* [n_inputs] producers, in argument order */
	pm_shape	shape;			/* first output at batch 1 */
	int			n_shapes;		/* all outputs when there are several, else 0 */
	pm_shape   *shapes;
	int			batch_dim;		/* the dimension that is multiplied by the batch; -1: none */
	bool		view;			/* moves no data: another shape or order of the same memory */
	pm_attrs	attrs;
	int			n_weights;
	pm_shape   *weights;
	int			n_consts;
	pm_shape   *consts;
	double		flops;			/* advisory, NaN when absent */
	double		flops0;
	/* byte range of this node's "attrs" object in pm_graph.text, for storing */
	size_t		attrs_at,
				attrs_len;

	/* filled by pm_graph_finish() */
	bool		expert;			/* a product of tokens with experts, each with its own (experts.h) */
	bool		routes;			/* a softmax that says which expert a token goes to */
	bool	   *shared;			/* [n_weights] belongs to another node; NULL: none does */
	bool		grad;			/* a gradient flows into its output: it or a producer has weights that are trained, and what
								 * reads it leads to the loss */
	int32_t		memory;			/* node whose elements a reader touches: itself, or what a
								 * broadcasting view (Expand) broadcasts */
	pm_flow		flow;
} pm_node;

/* Experts of a graph (experts.h). */
typedef struct pm_experts
{
	int			layers;			/* that have experts; 0: none does */
	int64_t		common;			/* the largest number that divides the experts of each layer; 0: there are none */
	int64_t		least;			/* of a layer */
	int64_t		most;
	double		sent;			/* elements of a sample that come to the experts of all layers */
	double		returned;		/* and that go back from them */
} pm_experts;

typedef struct pm_graph
{
	const char *name;			/* may be NULL when the document has none */
	const char *model;			/* "" when absent */
	const char *family;			/* NULL before pm_graph_finish() unless the document gives it */
	const char *source;
	const char *text;			/* the document that attrs_at refers to; the caller's, valid as long as the caller keeps it */
	int			n_nodes;
	pm_node    *nodes;
	int			output;			/* node from which the loss is computed, -1: not said */
	pm_shape	input;			/* rank 0 when absent */
	double		declared_params;	/* NaN when absent */

	/* filled by pm_graph_finish() */
	bool		family_derived;	/* from the model, or from the name when there is none */
	int			n_unknown;		/* nodes whose operator is not in the catalogue */
	bool		has_layout;		/* some operator works on channels-last tensors in a question in nhwc */
	pm_experts	experts;
	double		params;			/* trainable parameters, shared weights once */
	double		sparse;			/* of these, in tables with sparse gradients */
	double		frozen;			/* and those that are frozen */
	uint64_t	structure;		/* hash of operators, shapes, attributes and edges;
								 * the same whatever the names and the order of ids */
} pm_graph;

/* Whether weights[k] is its own, and not that of another node. */
static inline bool
pm_node_owns(const pm_node *n, int k)
{
	return n->shared == NULL || !n->shared[k];
}

/* Parameters that it owns, trained or not. */
double		pm_node_params(const pm_node *n);

/* Whether some of its weights are trained. */
static inline bool
pm_node_trains(const pm_node *n)
{
	return n->n_weights > 0 && !n->attrs.frozen;
}

/* Whether the gradient of its table has only the rows that the batch looks up. */
static inline bool
pm_node_sparse(const pm_node *n)
{
	return n->attrs.sparse && pm_node_trains(n);
}

/* Set every field of a zeroed node to its default: ONNX attributes, no batch, no flops. */
void		pm_node_init(pm_node *n);

/* Number of elements; 1 for a scalar. A double, so that it does not overflow. */
double		pm_shape_count(const pm_shape *s);

/* Real numbers of an element of the output. */
static inline double
pm_node_parts(const pm_node *n)
{
	return n->attrs.complex ? 2 : 1;
}

/* Number of elements of the first output of a node at this batch; of complex numbers, both parts count. */
double		pm_node_count(const pm_node *n, int64_t batch);
/* Number of elements of all outputs (Split, TopK ...) at this batch. */
double		pm_node_count_all(const pm_node *n, int64_t batch);

#endif
