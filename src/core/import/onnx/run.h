/*
 * run.h - one walk over a model at one batch size.  Private to the importer.
 *
 * A walk does what PyTorch would do with the model, without data: it keeps for
 * every value its shape, its strides, and where it comes from, and writes down
 * the operators that would be launched.  Strides decide where data has to be
 * copied (a Reshape of transposed data), which is work.
 *
 * A rule (rules_*.c) does this for one operator.  It reads inputs by ox_in(),
 * fills outputs by the ox_give_*() functions, and returns false after
 * ox_error().
 */
#ifndef PM_ONNX_RUN_H
#define PM_ONNX_RUN_H

#include "import/onnx/model.h"

/* Where a value comes from. */
typedef enum ox_origin
{
	OX_NOTHING,					/* not made yet, or an optional output nobody makes */
	OX_NODE,					/* a node of the document */
	OX_WEIGHT,					/* a parameter, possibly seen in another shape */
	OX_STATIC					/* known without looking at inputs or parameters: constants, shapes, what follows from them */
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

/* A node of the document at one batch size. */
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

typedef bool (*ox_rule_fn) (ox_run *r, const ox_node *n);

typedef struct ox_rule
{
	const char *name;			/* "Conv", or "com.microsoft.FusedMatMul" */
	ox_rule_fn	apply;
	int			min_in;
	int			max_in;			/* -1: any number */
	const char *as;				/* name in the document, NULL: the same */
} ox_rule;

const ox_rule *ox_rule_find(const char *domain, const char *op);
pm_code		ox_run_model(ox_run *r, ox_model *m, int64_t batch, const ox_t *base);

/* ---- tools for rules, tensors.c ---- */

bool		ox_error(ox_run *r, const char *fmt,...) PM_PRINTF(2, 3);	/* always false */
bool		ox_no_memory(ox_run *r);	/* always false */
/* Input k, NULL when it is absent. */
const ox_t *ox_in(const ox_run *r, const ox_node *n, int k);
ox_t	   *ox_out(ox_run *r, const ox_node *n, int k);
/* Constant whole numbers of input k; an error when it is not constant. Absent: *count = -1. */
bool		ox_ints(ox_run *r, const ox_node *n, int k, int *count, int64_t *v, int max);
/* Attribute of older opsets, else input k. */
bool		ox_ints_or_attr(ox_run *r, const ox_node *n, const char *name, int k, int *count, int64_t *v, int max);
/* One number out of a constant tensor; NaN when it is not known. */
double		ox_scalar(const ox_t *t);
bool		ox_axis(ox_run *r, int64_t axis, int rank, int *result);

void		ox_contiguous(ox_t *t);	/* set strides for its shape */
bool		ox_is_contiguous(const ox_t *t);
bool		ox_broadcast(ox_run *r, int n, const ox_t *const *in, pm_shape *shape);
/* Strides PyTorch gives to the result of an elementwise operator. */
void		ox_elementwise_strides(int n, const ox_t *const *in, ox_t *out);
pm_shape	ox_shape(int rank, const int64_t *dim);
bool		ox_same_shape(const pm_shape *a, const pm_shape *b);
bool		ox_check_shape(ox_run *r, const pm_shape *s);

/*
 * Write a node that reads in[n] (absent ones may be NULL) and makes out, whose
 * shape and dtype are set; strides become contiguous unless already set by the
 * caller after the call.  All operands static and the result small: nothing is
 * written and out is static with unknown values.  The new node is ox_last(r) or NULL.
 */
bool		ox_emit(ox_run *r, const char *op, int n, const ox_t *const *in, ox_t *out, bool view);
/* An input of the model, whose shape is set. */
bool		ox_emit_input(ox_run *r, ox_t *out);
ox_op	   *ox_last(ox_run *r, const ox_t *out);
void		ox_key_ints(ox_run *r, ox_op *op, const char *key, int n, const int64_t *v);
void		ox_key_int(ox_run *r, ox_op *op, const char *key, int64_t v);
void		ox_key_real(ox_run *r, ox_op *op, const char *key, double v);
/* As many of the numbers as are finite. */
void		ox_key_reals(ox_run *r, ox_op *op, const char *key, int n, const double *v);
void		ox_key_text(ox_run *r, ox_op *op, const char *key, const char *v);

/* out is in from an offset under another shape and strides: a view node, or the same parameter, or a smaller constant. */
bool		ox_view(ox_run *r, const char *op, const ox_t *in, int64_t offset, const pm_shape *shape, const int64_t *stride, ox_t *out);
/* in as contiguous data: itself or a copy. */
bool		ox_make_contiguous(ox_run *r, const ox_t *in, ox_t *out);
/* in with another shape of as many elements, copied first when strides demand it. */
bool		ox_reshape(ox_run *r, const ox_t *in, const pm_shape *shape, ox_t *out);
bool		ox_permute(ox_run *r, const ox_t *in, const int *perm, ox_t *out);
bool		ox_expand(ox_run *r, const ox_t *in, const pm_shape *shape, ox_t *out);
/* The parts of x along an axis: a view. */
bool		ox_narrow(ox_run *r, const ox_t *in, int axis, int64_t start, int64_t step, int64_t count, ox_t *out);
/* Only another shape, no node: for constants and shapes. */
void		ox_alias(const ox_t *in, ox_t *out);
/* Static output with room for its values when it is small. */
bool		ox_static(ox_run *r, ox_t *out, int dtype, const pm_shape *shape);

/* ---- constants.c ---- */

/* Compute the outputs of n where all inputs are constants with known values. */
void		ox_fold_constants(ox_run *r, const ox_node *n);

/* ---- rule tables ---- */

extern const ox_rule ox_rules_elementwise[];
extern const ox_rule ox_rules_products[];
extern const ox_rule ox_rules_norms[];
extern const ox_rule ox_rules_moves[];
extern const ox_rule ox_rules_fused[];
extern const ox_rule ox_rules_refused[];

/* Shared between rule files. */
bool		ox_linear(ox_run *r, const ox_t *x, const ox_t *w, const ox_t *bias, ox_t *out);
bool		ox_scaled_dot_product(ox_run *r, const ox_node *n);
bool		ox_recurrent(ox_run *r, const ox_node *n);
bool		ox_matmul(ox_run *r, const ox_t *a, const ox_t *b, ox_t *out);

#endif
