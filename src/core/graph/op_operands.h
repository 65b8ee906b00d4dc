/*
 * op_operands.h - the shapes that take part in an operator, for op_work.c and
 * op_geometry.c. Graphs must be finished.
 */
#ifndef PM_OP_OPERANDS_H
#define PM_OP_OPERANDS_H

#include "graph/graph.h"
#include "graph/op_catalogue.h"

/* A tensor that an operator reads or writes: the output of a node, a weight or a constant. */
typedef struct pm_operand
{
	const pm_shape *shape;		/* NULL: there is none */
	int			batch_dim;		/* the dimension that is multiplied by the batch; -1: none */
	int			input;			/* position among the node's inputs; -1: a weight, a constant or the output */
	bool		grad;			/* needs a gradient */
	bool		weight;			/* is a weight of the node */
} pm_operand;

/* The two factors of a product. kernel: the weight, or the operand in its place (docs/graph_format.md). */
typedef struct pm_operands
{
	pm_operand		data;
	pm_operand		kernel;
} pm_operands;

/* Input k of n, 0 <= k < n->n_inputs: the first output of the node that makes it. */
pm_operand	pm_input_operand(const pm_graph *g, const pm_node *n, int k);
/* The first output of n. */
pm_operand	pm_output_operand(const pm_node *n);

/* Size of dimension d of t at this batch; d < 0 counts from the end; 1 if there is no such dimension, or no tensor. */
double		pm_dim_at(const pm_operand *t, int d, int64_t batch);
/* Number of elements of t at this batch; 0 if there is no tensor. */
double		pm_count_at(const pm_operand *t, int64_t batch);

/* Data and kernel of a convolution, of a matrix product, or of either of them by the row of its operator. */
pm_operands pm_conv_operands(const pm_graph *g, const pm_node *n);
pm_operands pm_gemm_operands(const pm_graph *g, const pm_node *n);
pm_operands pm_product_operands(const pm_graph *g, const pm_node *n, const pm_op_row *row);

/* Whether the row's work is that of a convolution or a matrix product. */
bool		pm_is_product(const pm_op_row *row);
/* The kind of a convolution with these operands; PM_CONV_NONE for other operators. */
pm_conv_kind pm_conv_kind_of(const pm_node *n, const pm_op_row *row, const pm_operands *o);
/* Number of elements of a window: the product of the kernel's dimensions; 1 without a kernel. */
double		pm_window(const pm_node *n);

/* Number of elements of a convolution's kernel for one index of its first dimension: (Ci / groups) kh kw. */
double		pm_kernel_depth(const pm_node *n, const pm_operands *o);
/*
 * Matrices in a product's stored kernel that is a stack of them, one for each matrix of the output, such as the experts of a layer
 * (tokens of each expert times its own weights), in any order of their dimensions; 1: one matrix for all, or a kernel that is not stored.
 */
double		pm_stacked(const pm_node *n, const pm_operands *o);
/* Inner dimension K of a matrix product at this batch. Transposed operands are told by their shapes. */
double		pm_inner_dim(const pm_node *n, const pm_operands *o, int64_t batch);
/* Rows of its table that an EmbeddingBag adds up at this batch: as many as it has indices. */
double		pm_bag_rows(const pm_graph *g, const pm_node *n, int64_t batch);
/* Elements of the rows that a table's reader looks up in it at this batch. */
double		pm_looked_up(const pm_graph *g, const pm_node *n, int64_t batch);
/* Width of an nn.Bilinear's operand: the first (second: the other one). */
double		pm_bilinear_width(const pm_graph *g, const pm_node *n, bool second);
/* Number of keys of a fused attention at this batch: positions of its second input, or else of its output. */
double		pm_attention_keys(const pm_graph *g, const pm_node *n, int64_t batch);
/*
 * Keys that a query of a fused attention sees, in the mean over its queries: all, or, if the attention is causal, those up
 * to the query's own place, which leaves out about half.  With a window, no more than that of them.
 */
double		pm_attention_seen(const pm_graph *g, const pm_node *n, int64_t batch);
/* Width of the queries and keys of a fused attention over that of its values: 1, but for latent attention. */
double		pm_attention_widths(const pm_graph *g, const pm_node *n);

#endif
