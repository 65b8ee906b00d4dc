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

/* Catalogue look-ups. op is pm_node.op; PM_OP_UNKNOWN has a row of its own (class move). */
int			pm_op_find(const char *name);	/* PM_OP_UNKNOWN when not known */
/*
 * The operator that op runs as: a MatMul with a weight of its own (a Linear of
 * tensors of rank 4) is a plain product as a Gemm is, not a batched one.
 */
int			pm_op_runs_as(int op, bool own_weight);
int			pm_op_count(void);
const char *pm_op_name(int op);
const char *pm_op_alias(int i);			/* i-th other spelling, NULL behind the last */
pm_class	pm_op_class(int op);
/* Whether it draws a random number for each element of its output, in training. */
bool		pm_op_draws(int op);
/* Whether a gradient passes: not through comparisons, ArgMax, random numbers, ... */
bool		pm_op_differentiable(int op);

/* Forward FLOPs: the row's factor times ... */
typedef enum pm_flop_rule
{
	PM_FLOPS_NONE,				/* nothing */
	PM_FLOPS_OUT,				/* elements of the output */
	PM_FLOPS_IN,				/* elements of the first input */
	PM_FLOPS_WINDOW,			/* elements of the output times the kernel's */
	PM_FLOPS_CONV,				/* 2 output elements times kernel elements of one output channel */
	PM_FLOPS_CONV_TRANSPOSE,	/* 2 input elements times kernel elements of one input channel */
	PM_FLOPS_GEMM,				/* 2 M N K */
	PM_FLOPS_RNN,				/* 2 steps times elements of the matrices; the factor is the number of gates */
	PM_FLOPS_ATTENTION			/* 4 b h S S dh: scores and their product with the values; S (S + 1) / 2 pairs if it is causal */
} pm_flop_rule;

/* Forward elements moved. */
typedef enum pm_byte_rule
{
	PM_BYTES_NONE,						/* nothing runs */
	PM_BYTES_IO,						/* inputs, weights and constants once, outputs once */
	PM_BYTES_WRITE,					/* outputs only */
	PM_BYTES_NORM,						/* input twice (statistics, then scaling), output once */
	PM_BYTES_INDEX,					/* as PM_BYTES_IO, and 8 bytes of index for each element of the output */
	PM_BYTES_MASK,						/* as PM_BYTES_IO, and 1 byte of mask for each element of the output */
	PM_BYTES_GATHER,					/* rows in and out, 8 bytes of index a row */
	PM_BYTES_RNN						/* as PM_BYTES_IO, and the gates kept for the backward pass */
} pm_byte_rule;

/*
 * What autograd runs for it (tools/autograd/derivatives.yaml), in passes over
 * tensors.  Where an operand was broadcast its gradient is summed up, one
 * launch more; sums of gradients where a tensor has several readers, and what
 * reverses a view, are in pm_node.flow.
 */
typedef enum pm_back_rule
{
	PM_BACK_NONE,						/* no gradient passes */
	PM_BACK_PRODUCTS,						/* a product for each operand that needs a gradient; a sum for the bias */
	PM_BACK_PASS,						/* the gradient itself or a view of it: add, clone, cat (narrow), sum (expand) */
	PM_BACK_GRAD,						/* each launch reads the gradient and writes one: neg, masked_fill, cumsum */
	PM_BACK_SAVED,					/* each launch reads also what was kept: threshold_backward, gelu_backward, _softmax_backward_data ... */
	PM_BACK_MUL,						/* for each operand grad * other */
	PM_BACK_DIV,						/* grad / other, and for a divisor -grad * ((self / other) / other) */
	PM_BACK_STAT,						/* gradient and input twice, one written: native_batch_norm_backward, native_layer_norm_backward */
	PM_BACK_ABN,						/* output and gradient read and both written, read again, one written: inplace_abn's backward_reduce and backward */
	PM_BACK_SPREAD,					/* reads the gradient of the output, writes that of the input: mean, avg_pool2d */
	PM_BACK_INDEX,					/* the same, with 8 bytes of index: max_pool2d_with_indices_backward */
	PM_BACK_MASK,						/* as PM_BACK_SAVED with a mask of 1 byte: native_dropout_backward */
	PM_BACK_MOVE,						/* moves what was moved back: constant_pad_nd, roll, upsample, split (cat) */
	PM_BACK_ZEROS,					/* zeros of the size of the input, then PM_BACK_MOVE: slice_backward, select_backward */
	PM_BACK_TABLE						/* zeros of the size of the table, then rows added: embedding_dense_backward, index_put */
} pm_back_rule;

/* How an operator lays its output, and what it asks of its input. */
typedef enum pm_lay
{
	PM_LAY_PLAIN,				/* contiguous, whatever it reads */
	PM_LAY_PLAIN_COPY,			/* contiguous, and an input that is not is copied first */
	PM_LAY_LIKE,				/* in the order of its first input of full size (TensorIterator) */
	PM_LAY_FORMAT,				/* channels-last when its first input is, else contiguous; other inputs are copied */
	PM_LAY_CONCAT,				/* channels-last when all inputs are, else contiguous */
	PM_LAY_CONV,				/* channels-last when its input or its kernel is; an input that is not is copied */
	/* as views; as copies they are PLAIN */
	PM_LAY_RESHAPE,
	PM_LAY_TRANSPOSE,
	PM_LAY_EXPAND,
	PM_LAY_SLICE,
	PM_LAY_SPLIT
} pm_lay;

/* What autocast makes of an operator (torch/csrc: at::autocast's lists). */
typedef enum pm_cast
{
	PM_CAST_FIRST,				/* not on a list: as wide as its first input */
	PM_CAST_WIDEST,				/* not on a list: as wide as its widest operand, converted while reading */
	PM_CAST_HALF,				/* lower_precision_fp: operands are cast to 2 bytes first */
	PM_CAST_FLOAT,				/* fp32: operands are cast to 4 bytes first */
	PM_CAST_FLOAT_FUSED,		/* fp32_set_opt_dtype: reads what there is, writes 4 bytes */
	PM_CAST_PROMOTE				/* promote: narrower operands are cast to the widest first */
} pm_cast;

/* What else sets an operator apart. */
typedef enum pm_op_trait
{
	PM_OP_SLOPE = 1,			/* the attribute alpha is the slope of its negative side, 0.01 when absent */
	PM_OP_OWN_AS_ABOVE = 2		/* with a weight of its own it runs the kernels of the operator in the row above */
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
	uint8_t		kernels;		/* launches forward */
	uint8_t		kernels_back;
} pm_op_row;

/* The row of pm_node.op; that of what is not known for any other number. */
const pm_op_row *pm_op_row_of(int op);

#endif
