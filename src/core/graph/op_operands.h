/*
 * op_operands.h - the shapes that take part in an operator, for op_work.c and
 * op_geometry.c. Graphs must be finished.
 */
#ifndef PM_OP_OPERANDS_H
#define PM_OP_OPERANDS_H

#include "graph/graph.h"
#include "graph/op_catalogue.h"

/* A tensor that takes part: a producer's output, a weight or a constant. */
typedef struct pm_operand
{
	const pm_shape *shape;		/* NULL: there is none */
	int			batch_dim;		/* -1: does not follow the batch */
	int			input;			/* position in inputs, -1: weight or constant */
	bool		grad;			/* needs a gradient */
} pm_operand;

/* The two factors of a product. kernel: what stands for the weight. */
typedef struct pm_operands
{
	pm_operand		data;
	pm_operand		kernel;
} pm_operands;

/* The output of the producer that is input k of n, 0 <= k < n->n_inputs; the first output of n. */
pm_operand	pm_input_operand(const pm_graph *g, const pm_node *n, int k);
pm_operand	pm_output_operand(const pm_node *n);

/* Dimension d of t at the given batch; d < 0 counts from the end; 1 when there is none. */
double		pm_dim_at(const pm_operand *t, int d, int64_t batch);
/* Elements of t at the given batch; 0 when there is none. */
double		pm_count_at(const pm_operand *t, int64_t batch);

/* Data and kernel of a convolution, of a matrix product, of either by its row. */
pm_operands pm_conv_operands(const pm_graph *g, const pm_node *n);
pm_operands pm_gemm_operands(const pm_graph *g, const pm_node *n);
pm_operands pm_product_operands(const pm_graph *g, const pm_node *n, const pm_op_row *row);

/* Whether the row's work is that of a convolution or a matrix product. */
bool		pm_is_product(const pm_op_row *row);
pm_conv_kind pm_conv_kind_of(const pm_node *n, const pm_op_row *row, const pm_operands *o);
/* Elements of a window over the plane: the product of the kernel's dimensions, 1 without. */
double		pm_window(const pm_node *n);

/* Kernel elements behind one channel of its first dimension: (Ci/group) kh kw. */
double		pm_kernel_depth(const pm_node *n, const pm_operands *o);
/* K of a matrix product at the given batch. */
double		pm_inner_dim(const pm_node *n, const pm_operands *o, int64_t batch);
/* Length of the key sequence of a fused attention at the given batch. */
double		pm_attention_keys(const pm_graph *g, const pm_node *n, int64_t batch);
/*
 * Keys that a query of a fused attention sees, in the mean over its queries: all, or, if the attention is causal, those up
 * to the query's own place, which leaves out about half.
 */
double		pm_attention_seen(const pm_graph *g, const pm_node *n, int64_t batch);

#endif
