/*
 * keeps.h - the tensors that the backward pass needs from an operator, and the
 * flow of its gradient: PyTorch's rules, operator by operator.
 *
 * Source: derivatives.yaml of PyTorch 1.10 to 2.x; of InPlaceABN, github mapillary/inplace_abn, inplace_abn/functions.py. test/core/check_saved.c
 * compares the sums with those that PyTorch 1.13 reports.
 */
#ifndef PM_KEEPS_H
#define PM_KEEPS_H

#include "graph/op_catalogue.h"

/* Tensors that autograd saves of an operator: bits. */
typedef enum pm_keep
{
	PM_KEEP_INPUT = 1,			/* the first input */
	PM_KEEP_OUTPUT = 2,
	PM_KEEP_FACTORS = 4,		/* each operand of a product whose partner needs a gradient */
	PM_KEEP_INDEX = 8,			/* 8 bytes an element of the output */
	PM_KEEP_MASK = 16,			/* 1 byte an element of the output; of dropout on a CPU, an element of its type */
	PM_KEEP_STATISTICS = 32,	/* mean and inverse deviation, 4 bytes each: a channel's or a row's */
	PM_KEEP_ALL = 64,			/* every input */
	PM_KEEP_DIVISOR = 128,		/* of a quotient: the divisor, and the dividend when the divisor needs a gradient */
	PM_KEEP_SHAPE = 256,		/* the first input for its shape alone: PyTorch 1 kept all of it */
	PM_KEEP_TYPE = 512,			/* the first input for its type alone: PyTorch before 1.11 kept all of it */
	PM_KEEP_NORMED = 1024		/* the first input in 4 bytes, and, where weights are trained, what they are multiplied with */
} pm_keep;

/* How the gradient of the output becomes those of the inputs. */
typedef enum pm_pass
{
	PM_PASS_NEW,				/* a new tensor for each input that needs one */
	PM_PASS_SAME,				/* the same tensor, or a part of it: no memory */
	PM_PASS_ADD,				/* the same tensor for inputs of the shape of the output, a new one for others */
	PM_PASS_IN_PLACE			/* a new tensor, from what the output has overwritten: its first input */
} pm_pass;

typedef struct pm_keeps
{
	uint16_t	keep;			/* bits of pm_keep */
	uint8_t		pass;			/* pm_pass */
} pm_keeps;

/*
 * The rules of all operators, by pm_node.op; rows[pm_op_count()].  An operator
 * that the table does not have keeps its inputs; one that lets no gradient pass, nothing.
 */
void		pm_keeps_of_all(pm_keeps *rows);

#endif
