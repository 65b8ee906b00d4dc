/*
 * walk.h - one walk over a model at one batch size.  Private to the importer.
 *
 * A walk does what PyTorch would do with the model, but without data.  For every
 * value it keeps shape, strides and origin, and it writes down the operators that
 * PyTorch would launch.  Strides decide where data must be copied (a Reshape of
 * transposed data), which is work.
 *
 * A rule (rules_*.c) does this for one operator.  It reads inputs with ox_in(),
 * fills outputs with the functions of emit.h and views.h, and returns false after
 * ox_error().
 */
#ifndef PM_ONNX_WALK_H
#define PM_ONNX_WALK_H

#include "import/onnx/model.h"

/* Where a value comes from. */
typedef enum ox_origin
{
	OX_NOTHING,					/* not made yet, or an optional output that no node makes */
	OX_NODE,					/* a node of the new graph */
	OX_WEIGHT,					/* a parameter, possibly seen in another shape */
	OX_STATIC					/* independent of inputs and parameters: constants, shapes, and what is computed from them */
} ox_origin;

typedef struct ox_tensor_state
{
	ox_origin	origin;
	int			dtype;
	pm_shape	shape;
	int64_t		stride[PM_MAX_RANK];	/* in elements; a broadcast dimension has 0 */
	int			node;			/* OX_NODE */
	int			weight;			/* OX_WEIGHT: value number of the initializer */
	pm_shape	stored;			/* of a parameter or a constant of the file: its shape there; rank 0: none */
	double	   *data;			/* OX_STATIC: values when they are known, else NULL */
} ox_t;

/* Attributes of a written node: lists of numbers and texts, in order. */
#define OX_MAX_KEYS 8
typedef struct ox_key
{
	const char *key;
	const char *text;			/* NULL: numbers */
	double		real;			/* when n < 0 */
	int			n;				/* -1: `real`; -2: one number v[0] */
	int64_t	   *v;
	double	   *reals;			/* instead of v */
} ox_key;

/* A node of the new graph, at one batch size. */
typedef struct ox_op
{
	const char *name;
	int			n_inputs;
	int32_t    *inputs;
	pm_shape	shape;
	int			n_shapes;
	pm_shape   *shapes;
	int			n_weights;
	pm_shape   *weights;
	int			n_consts;
	pm_shape   *consts;
	bool		view;
	const ox_node *from;		/* NULL: an input */
	int			n_keys;
	ox_key		keys[OX_MAX_KEYS];
} ox_op;

typedef struct ox_run
{
	ox_model   *m;
	int64_t		batch;
	const ox_t *base;			/* values at the batch of a fixed model, NULL: dynamic, or this is that walk */
	ox_t	   *values;
	ox_op	   *ops;
	int			n_ops,
				max_ops;
	const ox_node *node;		/* the current one */
	bool		failed;			/* ox_error() or out of memory */
	uint8_t    *counted;		/* weights already in params */
	double		params;
} ox_run;

#endif
