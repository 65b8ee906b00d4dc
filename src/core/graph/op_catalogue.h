/*
 * op_catalogue.h - the known operators: their classes, and the rules for their
 * work.
 *
 * For a new type of operator, add one row in op_catalogue.c. FLOPs count 2 per
 * multiply-accumulate. Bytes are the least that must move through memory.
 * Formulas: docs/mdot.md.
 */
#ifndef PM_OP_CATALOGUE_H
#define PM_OP_CATALOGUE_H

#include "base/core.h"

#define PM_OP_UNKNOWN	0

typedef enum pm_class
{
	PM_CLASS_CONV,
	PM_CLASS_GEMM,
	PM_CLASS_NORM,
	PM_CLASS_ELEMENTWISE,
	PM_CLASS_POOL,				/* pooling and reductions */
	PM_CLASS_ATTENTION,			/* softmax */
	PM_CLASS_EMBEDDING,
	PM_CLASS_MOVE,				/* copies, and every operator that is not known */
	PM_CLASS_RECURRENT,
	PM_CLASS_OTHER,				/* inputs, constants: no work */
	PM_N_CLASSES
} pm_class;

/* Convolutions behave so differently that every method needs them told apart. */
typedef enum pm_conv_kind
{
	PM_CONV_NONE,				/* not a convolution */
	PM_CONV_1X1,
	PM_CONV_KXK,
	PM_CONV_GROUPED,
	PM_CONV_DEPTHWISE,
	PM_CONV_TRANSPOSE,
	PM_N_CONV_KINDS
} pm_conv_kind;

extern const char *const pm_class_name[PM_N_CLASSES];
extern const char *const pm_conv_kind_name[PM_N_CONV_KINDS];

/* Look-ups. op is pm_node.op, an index into the catalogue; any number outside of it counts as PM_OP_UNKNOWN (class move). */

/* Index of the operator with this name, or with this other spelling; PM_OP_UNKNOWN: there is none. */
int			pm_op_find(const char *name);
/*
 * The operator whose kernels op runs.  own_weight: the node has a weight: then a
 * MatMul (a Linear of tensors of rank 4) is one product like a Gemm, not a
 * batch of products.
 */
int			pm_op_runs_as(int op, bool own_weight);
/* Number of operators in the catalogue, PM_OP_UNKNOWN among them. */
int			pm_op_count(void);
/* Name in the catalogue; "(unknown)" for PM_OP_UNKNOWN. */
const char *pm_op_name(int op);
/* The i-th other spelling, from 0; NULL after the last. For tests. */
const char *pm_op_alias(int i);
pm_class	pm_op_class(int op);
/* Whether it draws a random number for each element of its output, in training. */
bool		pm_op_draws(int op);
/* Whether a gradient passes: not through comparisons, ArgMax, random numbers, ... */
bool		pm_op_differentiable(int op);
/* Whether it only hands its input on, without its gradient: detach(). */
bool		pm_op_detaches(int op);

/* FLOPs of the forward pass: the row's factor times ... */
typedef enum pm_flop_rule
{
	PM_FLOPS_NONE,				/* nothing */
	PM_FLOPS_OUT,				/* elements of the output */
	PM_FLOPS_IN,				/* elements of the first input */
	PM_FLOPS_WINDOW,			/* elements of the output times the kernel's */
	PM_FLOPS_CONV,				/* output elements times kernel elements of one output channel; the factor is 2 */
	PM_FLOPS_CONV_TRANSPOSE,	/* input elements times kernel elements of one input channel; the factor is 2 */
	PM_FLOPS_GEMM,				/* M N K; the factor is 2 */
	PM_FLOPS_RNN,				/* not the factor, which is the number of gates: 2 positions times elements of the matrices */
	PM_FLOPS_BILINEAR,			/* output elements times elements of the matrix of one of them; the factor is 2 */
	PM_FLOPS_BAG,				/* elements of the rows that are added up */
	PM_FLOPS_ATTENTION,			/* output elements times the keys that a query sees: their product with the values, and as much for scores if queries are as wide; the factor is 4 */
	/* of op_linalg.c */
	PM_FLOPS_LARGEST,			/* elements of the largest operand; the factor is 2 */
	PM_FLOPS_ROWS,				/* elements of the output times those of a row of the first operand; the factor is 2 */
	PM_FLOPS_SPARSE,			/* numbers that a sparse matrix stores times columns of the output; the factor is 2 */
	PM_FLOPS_CUBES,				/* a third of the cubes of its matrices' sides */
	PM_FLOPS_SOLVE				/* the same, and for each number of the solution a row of both triangles; the factor 0: of one triangle, which is there */
} pm_flop_rule;

/* What the forward pass reads and writes. */
typedef enum pm_byte_rule
{
	PM_BYTES_NONE,						/* nothing runs */
	PM_BYTES_IO,						/* inputs, weights and constants once, outputs once */
	PM_BYTES_WRITE,					/* outputs only */
	PM_BYTES_NORM,						/* input twice (statistics, then scaling), output once */
	PM_BYTES_INDEX,					/* as PM_BYTES_IO, and 8 bytes of index for each element of the output */
	PM_BYTES_MASK,						/* as PM_BYTES_IO, and 1 byte of mask for each element of the output */
	PM_BYTES_GATHER,					/* rows in and out, 8 bytes of index for each row */
	PM_BYTES_BAG,						/* the same, of more rows in than out */
	PM_BYTES_SPARSE,					/* for each number of a sparse matrix itself, 16 bytes for its place, and a row of the other matrix; the output */
	PM_BYTES_DISTANCE,				/* as PM_BYTES_IO, and 6 passes over the inputs (squares, sums, copies), 4 over the output (clamp, square root) */
	PM_BYTES_BILINEAR,				/* as PM_BYTES_IO, and for each unit of the output the product with its matrix, written and read */
	PM_BYTES_RNN,						/* as PM_BYTES_IO, and the gates kept for the backward pass */
	PM_BYTES_FACTORS,				/* as PM_BYTES_IO, and the matrix once more, factored, kept for the backward pass */
	PM_BYTES_AFFINE					/* as PM_BYTES_IO, and the positions of the grid, with a one behind each, written and read */
} pm_byte_rule;

/*
 * What autograd runs for an operator (tools/autograd/derivatives.yaml), in passes
 * over tensors.  If an operand was broadcast, its gradient is also summed: one
 * launch more.  Sums of gradients of a tensor with several readers, and the
 * backward pass of views, are in pm_node.flow.
 */
typedef enum pm_back_rule
{
	PM_BACK_NONE,						/* no gradient passes */
	PM_BACK_PRODUCTS,						/* a product for each operand that needs a gradient; a sum for the bias */
	PM_BACK_PASS,						/* the gradient itself or a view of it: add, clone, cat (narrow), sum (expand) */
	PM_BACK_GRAD,						/* each launch reads a gradient and writes a gradient: neg, masked_fill, cumsum */
	PM_BACK_SAVED,					/* each launch also reads a tensor that the forward pass kept: threshold_backward, gelu_backward, _softmax_backward_data ... */
	PM_BACK_MUL,						/* for each operand grad * other */
	PM_BACK_DIV,						/* grad / other, and for a divisor -grad * ((self / other) / other) */
	PM_BACK_STAT,						/* gradient and input twice, one written: native_batch_norm_backward, native_layer_norm_backward */
	PM_BACK_ABN,						/* output and gradient read and both written, read again, one written: inplace_abn's backward_reduce and backward */
	PM_BACK_SPREAD,					/* reads the gradient of the output, writes that of the input: mean, avg_pool2d */
	PM_BACK_INDEX,					/* the same, with 8 bytes of index: max_pool2d_with_indices_backward */
	PM_BACK_MASK,						/* as PM_BACK_SAVED with a mask of 1 byte: native_dropout_backward */
	PM_BACK_MOVE,						/* moves what was moved back: constant_pad_nd, roll, upsample, split (cat) */
	PM_BACK_ZEROS,					/* zeros of the size of the input, then PM_BACK_MOVE: slice_backward, select_backward */
	PM_BACK_DISTANCE,					/* _euclidean_dist_backward: the quotient, cleared where the distance is 0, then for both operands a sum and a product */
	PM_BACK_PAIRS,						/* _cdist_backward: for each operand, a gradient for each pair of its rows with the other's, and their sum */
	PM_BACK_AGAIN,						/* for each operand that needs a gradient what the forward pass takes: _trilinear_backward, affine_grid_generator_backward */
	/* of op_linalg.c */
	PM_BACK_VECTORS,					/* for each operand that needs a gradient, the other one times that of the output: dot, mv */
	PM_BACK_INVERSE,					/* linalg_inv_backward: two products */
	PM_BACK_CHOLESKY,					/* cholesky_backward: a product and two triangular systems */
	PM_BACK_SOLVE,						/* linalg_solve_backward: the transposed system, and a product for the matrix */
	PM_BACK_DET,						/* linalg_det_backward: a system with a diagonal right side */
	PM_BACK_TABLE						/* zeros of the size of the table, then rows added: embedding_dense_backward, index_put; of a sparse gradient, its rows alone */
} pm_back_rule;

/* The memory order of an operator's output, and the order that it needs of its inputs. */
typedef enum pm_lay
{
	PM_LAY_PLAIN,				/* contiguous, whatever the order of its inputs */
	PM_LAY_PLAIN_COPY,			/* contiguous, and an input that is not is copied first */
	PM_LAY_LIKE,				/* in the order of its first input of full size (TensorIterator) */
	PM_LAY_FORMAT,				/* channels-last when its first input is, else contiguous; other inputs are copied */
	PM_LAY_CONCAT,				/* channels-last when all inputs are, else contiguous */
	PM_LAY_CONV,				/* channels-last when its input or its kernel is; an input that is not is copied */
	/* of views; the same operators as copies are PM_LAY_PLAIN */
	PM_LAY_RESHAPE,
	PM_LAY_TRANSPOSE,
	PM_LAY_EXPAND,
	PM_LAY_SLICE,
	PM_LAY_SPLIT
} pm_lay;

/* What autocast does with an operator: which of the lists of at::autocast it is on. */
typedef enum pm_cast
{
	PM_CAST_FIRST,				/* not on a list: as wide as its first input */
	PM_CAST_WIDEST,				/* not on a list: as wide as its widest operand; narrower ones are converted while they are read */
	PM_CAST_HALF,				/* lower_precision_fp: operands are cast to 2 bytes first */
	PM_CAST_FLOAT,				/* fp32: operands are cast to 4 bytes first */
	PM_CAST_FLOAT_FUSED,		/* fp32_set_opt_dtype: reads operands as they are, writes 4 bytes */
	PM_CAST_PROMOTE				/* promote: narrower operands are cast to the widest first */
} pm_cast;

/* Other properties of an operator. */
typedef enum pm_op_trait
{
	PM_OP_SLOPE = 1,			/* the attribute alpha is the slope of its negative side, 0.01 when absent */
	PM_OP_OWN_AS_ABOVE = 2,		/* a node with a weight of its own runs the kernels of the operator in the row above */
	PM_OP_DETACHES = 4			/* a view, whether the node says so or not, through which no gradient passes */
} pm_op_trait;

typedef struct pm_op_row
{
	const char *name;
	uint8_t		class;
	uint8_t		flops;			/* pm_flop_rule */
	uint8_t		factor;
	uint8_t		bytes;			/* pm_byte_rule */
	uint8_t		back;			/* pm_back_rule */
	uint8_t		cast;			/* pm_cast */
	uint8_t		lay;			/* pm_lay */
	uint8_t		traits;			/* bits of pm_op_trait */
	uint8_t		kernels;		/* launches forward; of PM_FLOPS_BILINEAR, for each unit of the output */
	uint8_t		kernels_back;
} pm_op_row;

/* The row of the operator op (pm_node.op); the row of PM_OP_UNKNOWN if op is outside of the catalogue. */
const pm_op_row *pm_op_row_of(int op);

#endif
