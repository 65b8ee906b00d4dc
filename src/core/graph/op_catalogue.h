/*
 * op_catalogue.h - the operators that are known: class, and rules of their work.
 *
 * A new operator type is one row in op_catalogue.c.  FLOPs count 2 per
 * multiply-accumulate.  Bytes are what has to move through memory at least
 * once.  Formulas: docs/mdot.md.
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
	PM_CLASS_ATTENTION,			/* softmax, fused attention */
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
int			pm_op_count(void);
const char *pm_op_name(int op);
const char *pm_op_alias(int i);			/* i-th other spelling, NULL behind the last */
pm_class	pm_op_class(int op);
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
	PM_FLOPS_ATTENTION			/* 4 b h S S dh: scores and their product with the values */
} pm_flop_rule;

/* Forward elements moved. */
typedef enum pm_byte_rule
{
	PM_BYTES_NONE,				/* nothing runs */
	PM_BYTES_IO,				/* inputs, weights and constants once, outputs once */
	PM_BYTES_WRITE,				/* outputs only */
	PM_BYTES_NORM,				/* input twice, output once */
	PM_BYTES_GATHER,			/* rows in and out, 8 bytes of index a row */
	PM_BYTES_RNN				/* as PM_BYTES_IO, and the gates kept for the backward pass */
} pm_byte_rule;

typedef enum pm_back_rule
{
	PM_BACK_NONE,				/* no gradient passes */
	PM_BACK_HALF,				/* 1.5 times the forward pass */
	PM_BACK_PRODUCTS			/* once the forward pass for each operand that needs a gradient */
} pm_back_rule;

/* What else sets an operator apart. */
typedef enum pm_op_trait
{
	PM_OP_WIDE = 1,				/* in mixed precision it runs in 4 bytes, as autocast says */
	PM_OP_SLOPE = 2				/* the attribute alpha is the slope of its negative side, 0.01 when absent */
} pm_op_trait;

typedef struct pm_op_row
{
	const char *name;
	uint8_t		class;
	uint8_t		flops;			/* pm_flop_rule */
	uint8_t		factor;
	uint8_t		bytes;			/* pm_byte_rule */
	uint8_t		back;			/* pm_back_rule */
	uint8_t		traits;			/* bits of pm_op_trait */
	uint8_t		kernels;		/* launches forward */
	uint8_t		kernels_back;
} pm_op_row;

/* The row of pm_node.op; that of what is not known for any other number. */
const pm_op_row *pm_op_row_of(int op);

#endif
