/*
 * rules_elementwise.c - operators that work element by element, reductions,
 * softmax, and operators that make numbers.
 */
#include "import/onnx/rules.h"

#include <math.h>
#include <string.h>

#include "import/onnx/attributes.h"
#include "import/onnx/emit.h"
#include "import/onnx/operands.h"
#include "import/onnx/shapes.h"
#include "import/onnx/views.h"

#define MANY 64					/* operands of Sum, Max ... taken together */

/* ---------- element by element ---------- */

static bool
is_bool_result(const char *op)
{
	static const char *const names[] = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor",
	"Not", "IsNaN", "IsInf", NULL};

	for (int i = 0; names[i] != NULL; i++)
		if (strcmp(op, names[i]) == 0)
			return true;
	return false;
}

static const char *
written_name(const ox_node *n)
{
	return n->rule->as != NULL ? n->rule->as : n->op;
}

/* The number in "tensor + number". */
static void
put_scalar(ox_run *r, const ox_node *n, const ox_t *const *in, ox_t *out)
{
	ox_op	   *op = ox_last(r, out);

	double		exponent = strcmp(n->op, "Pow") == 0 ? ox_scalar(in[1]) : NAN;

	if (op == NULL || n->n_in > 2)
		return;
	if (!isnan(exponent))
		ox_key_reals(r, op, "values", 1, &exponent);
	for (int k = 0; isnan(exponent) && k < n->n_in; k++)
		if (in[k] != NULL && !isnan(ox_scalar(in[k])))
			ox_key_real(r, op, "scalar", ox_scalar(in[k]));
}

/* A number where a mask is set: what exporters make of masked_fill. */
static bool
is_masked_fill(const ox_node *n, const ox_t *const *in)
{
	return strcmp(n->op, "Where") == 0 && in[0] != NULL && in[1] != NULL && in[2] != NULL && !isnan(ox_scalar(in[1])) &&
		in[1]->shape.rank == 0 && pm_shape_count(&in[2]->shape) > 1;
}

/* All inputs broadcast against each other. */
static bool
elementwise(ox_run *r, const ox_node *n)
{
	const ox_t *in[MANY];
	const ox_t *present[MANY];
	int			count = 0;
	ox_t	   *out = ox_out(r, n, 0);

	if (n->n_in > MANY)
		return ox_error(r, "it has %d inputs, but %d are the limit", n->n_in, MANY);
	for (int k = 0; k < n->n_in; k++)
		if ((in[k] = ox_in(r, n, k)) != NULL)
			present[count++] = in[k];
	if (count == 0)
		return ox_error(r, "it has no inputs");
	if (!ox_broadcast(r, count, present, &out->shape))
		return false;
	out->dtype = is_bool_result(n->op) ? OX_BOOL : present[strcmp(n->op, "Where") == 0 && count == 3 ? 1 : 0]->dtype;
	if (is_masked_fill(n, in))
	{
		const ox_t *operands[2] = {in[2], in[0]};

		if (!ox_emit(r, "aten::masked_fill", 2, operands, out, false))
			return false;
	}
	else if (!ox_emit(r, written_name(n), n->n_in, in, out, false))
		return false;
	ox_elementwise_strides(count, present, out);
	put_scalar(r, n, in, out);
	return !r->failed;
}

/* The first input alone decides; others are small parameters. */
static bool
unary(ox_run *r, const ox_node *n)
{
	const ox_t *in[1] = {ox_in(r, n, 0)};
	ox_t	   *out = ox_out(r, n, 0);

	out->shape = in[0]->shape;
	out->dtype = is_bool_result(n->op) ? OX_BOOL : in[0]->dtype;
	if (!ox_emit(r, written_name(n), 1, in, out, false))
		return false;
	ox_elementwise_strides(1, in, out);
	return true;
}

static bool
leaky(ox_run *r, const ox_node *n)
{
	double		slope = ox_attr_float(n, "alpha", 0.01);
	ox_t	   *out = ox_out(r, n, 0);

	if (!unary(r, n))
		return false;
	if (fabs(slope - 0.01) > 1e-7)
		ox_key_reals(r, ox_last(r, out), "values", 1, &slope);
	return !r->failed;
}

static bool
elu(ox_run *r, const ox_node *n)
{
	double		alpha = ox_attr_float(n, "alpha", 1);

	if (!unary(r, n))
		return false;
	ox_key_reals(r, ox_last(r, ox_out(r, n, 0)), "values", 1, &alpha);
	return !r->failed;
}

static bool
clip(ox_run *r, const ox_node *n)
{
	double		bound[2] = {ox_attr_float(n, "min", NAN), ox_attr_float(n, "max", NAN)};
	ox_op	   *op;

	for (int k = 1; k <= 2; k++)
		if (ox_in(r, n, k) != NULL)
			bound[k - 1] = ox_scalar(ox_in(r, n, k));
	if (!unary(r, n))
		return false;
	op = ox_last(r, ox_out(r, n, 0));
	for (int k = 0; k < 2; k++)
		bound[k] = fabs(bound[k]) > 1e30 ? NAN : bound[k];
	ox_key_reals(r, op, "values", isnan(bound[0]) ? 1 : 2, isnan(bound[0]) ? bound + 1 : bound);
	return !r->failed;
}

static bool
prelu(ox_run *r, const ox_node *n)
{
	const ox_t *in[2] = {ox_in(r, n, 0), ox_in(r, n, 1)};
	ox_t	   *out = ox_out(r, n, 0);

	if (!ox_broadcast(r, 2, in, &out->shape))
		return false;
	out->dtype = in[0]->dtype;
	if (!ox_emit(r, "PRelu", 2, in, out, false))
		return false;
	ox_elementwise_strides(1, in, out);
	return true;
}

/* Between integers a cast is bookkeeping; a cast of data is a copy. */
static bool
cast(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	const ox_t *like = ox_in(r, n, 1);
	ox_t	   *out = ox_out(r, n, 0);
	int			to = like != NULL ? like->dtype : (int) ox_attr_int(n, "to", 0) & 0xff;

	if (to == in->dtype || in->origin == OX_WEIGHT)
	{
		ox_alias(in, out);
		out->dtype = to;
		return true;
	}
	out->shape = in->shape;
	out->dtype = to;
	if (!ox_emit(r, "Cast", 1, &in, out, false))
		return false;
	ox_elementwise_strides(1, &in, out);
	return true;
}

static bool
alias(ox_run *r, const ox_node *n)
{
	ox_alias(ox_in(r, n, 0), ox_out(r, n, 0));
	return true;
}

/*
 * Dropout runs in training only.  Up to opset 11 nothing says whether it does,
 * and a model whose exporter left it in is taken at its word.
 */
static bool
dropout(ox_run *r, const ox_node *n)
{
	const ox_t *in[1] = {ox_in(r, n, 0)};
	double		ratio = r->m->opset >= 12 ? ox_scalar(ox_in(r, n, 1)) : ox_attr_float(n, "ratio", 0.5);
	bool		active = r->m->opset < 12 || ox_scalar(ox_in(r, n, 2)) != 0;
	ox_t	   *out = ox_out(r, n, 0);

	if (r->m->opset >= 12 && ox_in(r, n, 2) == NULL)
		active = false;
	if (r->m->opset >= 12 && ox_in(r, n, 1) == NULL)
		ratio = 0.5;
	if (!active || ratio == 0)
		ox_alias(in[0], out);
	else
	{
		out->shape = in[0]->shape;
		out->dtype = in[0]->dtype;
		if (!ox_emit(r, "Dropout", 1, in, out, false))
			return false;
		ox_elementwise_strides(1, in, out);
		ox_key_real(r, ox_last(r, out), "ratio", ratio);
	}
	if (n->n_out > 1 && n->out[1] >= 0)
	{
		ox_t		data = *out;

		ox_alias(&data, ox_out(r, n, 1));
		ox_out(r, n, 1)->dtype = OX_BOOL;
	}
	return true;
}

/* ---------- reductions ---------- */

static bool
mark_axes(ox_run *r, int count, const int64_t *axes, int rank, bool *reduced)
{
	memset(reduced, 0, sizeof(bool) * PM_MAX_RANK);
	for (int i = 0; i < count; i++)
	{
		int			axis;

		if (!ox_axis(r, axes[i], rank, &axis))
			return false;
		reduced[axis] = true;
	}
	return true;
}

static void
drop_axes(const pm_shape *in, const bool *reduced, bool keep, pm_shape *out)
{
	out->rank = 0;
	for (int i = 0; i < in->rank; i++)
		if (!reduced[i])
			out->dim[out->rank++] = in->dim[i];
		else if (keep)
			out->dim[out->rank++] = 1;
}

static bool
reduce(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		axes[PM_MAX_RANK];
	int			count;
	bool		reduced[PM_MAX_RANK];
	bool		keep = ox_attr_int(n, "keepdims", 1) != 0;
	const char *name = written_name(n);

	if (!ox_ints_or_attr(r, n, "axes", 1, &count, axes, PM_MAX_RANK))
		return false;
	if (count <= 0)
	{
		if (ox_attr_int(n, "noop_with_empty_axes", 0) != 0)
			return alias(r, n);
		for (count = 0; count < in->shape.rank; count++)
			axes[count] = count;
	}
	if (!mark_axes(r, count, axes, in->shape.rank, reduced))
		return false;
	drop_axes(&in->shape, reduced, keep, &out->shape);
	out->dtype = in->dtype;
	if (strcmp(name, "ReduceMean") == 0 && in->shape.rank == 4 && count == 2 && reduced[2] && reduced[3])
		name = "GlobalAveragePool";
	if (!ox_emit(r, name, 1, &in, out, false))
		return false;
	ox_key_ints(r, ox_last(r, out), "axes", count, axes);
	ox_key_int(r, ox_last(r, out), "keepdims", keep);
	return !r->failed;
}

static bool
global_pool(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		axes[PM_MAX_RANK];

	if (in->shape.rank < 2)
		return ox_error(r, "its input has %d dimensions, but needs 2", in->shape.rank);
	out->shape = in->shape;
	out->dtype = in->dtype;
	for (int i = 2; i < in->shape.rank; i++)
	{
		out->shape.dim[i] = 1;
		axes[i - 2] = i - in->shape.rank;
	}
	if (!ox_emit(r, written_name(n), 1, &in, out, false))
		return false;
	ox_key_ints(r, ox_last(r, out), "axes", in->shape.rank - 2, axes);
	ox_key_int(r, ox_last(r, out), "keepdims", 1);
	return !r->failed;
}

static bool
arg_reduce(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	int			axis;
	bool		reduced[PM_MAX_RANK] = {false};

	if (!ox_axis(r, ox_attr_int(n, "axis", 0), in->shape.rank, &axis))
		return false;
	reduced[axis] = true;
	drop_axes(&in->shape, reduced, ox_attr_int(n, "keepdims", 1) != 0, &out->shape);
	out->dtype = OX_INT64;
	if (!ox_emit(r, written_name(n), 1, &in, out, false))
		return false;
	ox_key_int(r, ox_last(r, out), "axis", axis);
	return true;
}

static bool
top_k(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	ox_t	   *index;
	int64_t		k = ox_attr_int(n, "k", 0);
	int			count;
	int			axis;
	ox_op	   *op;

	if (!ox_axis(r, ox_attr_int(n, "axis", -1), in->shape.rank, &axis) || !ox_ints(r, n, 1, &count, &k, 1))
		return false;
	if (count == 0)
		return ox_error(r, "its k must be one number");
	out->shape = in->shape;
	out->shape.dim[axis] = k;
	out->dtype = in->dtype;
	if (!ox_emit(r, "TopK", 1, &in, out, false))
		return false;
	op = ox_last(r, out);
	if (op != NULL)
	{
		op->shapes = PM_NEW(r->m->arena, pm_shape, 2);
		if (op->shapes == NULL)
			return ox_no_memory(r);
		op->n_shapes = 2;
		op->shapes[0] = op->shapes[1] = out->shape;
	}
	ox_key_int(r, op, "k", k);
	ox_key_int(r, op, "axis", axis);
	index = ox_out(r, n, 1);
	ox_alias(&r->values[n->out[0] >= 0 ? n->out[0] : r->m->n_values], index);
	index->dtype = OX_INT64;
	return !r->failed;
}

/* ---------- along an axis ---------- */

static bool
softmax(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		axis = ox_attr_int(n, "axis", r->m->opset >= 13 ? -1 : 1);
	int			at;

	if (in->shape.rank > 0 && !ox_axis(r, axis, in->shape.rank, &at))
		return false;
	out->shape = in->shape;
	out->dtype = in->dtype;
	if (!ox_emit(r, written_name(n), 1, &in, out, false))
		return false;
	/* exporters write the last axis either way */
	ox_key_int(r, ox_last(r, out), "axis", in->shape.rank > 0 && at == in->shape.rank - 1 ? -1 : axis);
	return true;
}

/* ---------- numbers out of nothing ---------- */

static bool
random_like(ox_run *r, const ox_node *n)
{
	return unary(r, n);
}

/* Random numbers of a fixed shape follow from no input: nothing is written, they are a constant of unknown values. */
static bool
random_shape(ox_run *r, const ox_node *n)
{
	int			count;
	const int64_t *dims = ox_attr_ints(n, "shape", &count);
	ox_t	   *out = ox_out(r, n, 0);
	pm_shape	shape;

	if (count > PM_MAX_RANK)
		return ox_error(r, "its result has %d dimensions, but %d are the limit", count, PM_MAX_RANK);
	shape = ox_shape(count, dims);
	if (!ox_static(r, out, (int) ox_attr_int(n, "dtype", OX_FLOAT) & 0xff, &shape))
		return false;
	out->data = NULL;
	return true;
}

static bool
one_hot(ox_run *r, const ox_node *n)
{
	const ox_t *in[1] = {ox_in(r, n, 0)};
	ox_t	   *out = ox_out(r, n, 0);
	int64_t		depth = 0;
	int			count;
	int			axis;

	if (!ox_ints(r, n, 1, &count, &depth, 1))
		return false;
	if (count != 1)
		return ox_error(r, "its depth must be one number");
	if (!ox_axis(r, ox_attr_int(n, "axis", -1), in[0]->shape.rank + 1, &axis))
		return false;
	out->shape.rank = in[0]->shape.rank + 1;
	if (out->shape.rank > PM_MAX_RANK)
		return ox_error(r, "its result has %d dimensions, but %d are the limit", out->shape.rank, PM_MAX_RANK);
	for (int i = 0; i < out->shape.rank; i++)
		out->shape.dim[i] = i == axis ? depth : in[0]->shape.dim[i - (i > axis)];
	out->dtype = ox_in(r, n, 2) != NULL ? ox_in(r, n, 2)->dtype : OX_FLOAT;
	return ox_emit(r, "OneHot", 1, in, out, false);
}

/* ---------- quantisation ---------- */

static bool
quantize(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	const ox_t *zero = ox_in(r, n, 2);
	ox_t	   *out = ox_out(r, n, 0);
	bool		back = strcmp(n->op, "DequantizeLinear") == 0;

	if (back && in->origin == OX_WEIGHT)
		return alias(r, n);
	out->shape = in->shape;
	out->dtype = back ? OX_FLOAT : zero != NULL ? zero->dtype : OX_UINT8;
	if (!ox_emit(r, "Cast", 1, &in, out, false))
		return false;
	ox_elementwise_strides(1, &in, out);
	return true;
}

static bool
dynamic_quantize(ox_run *r, const ox_node *n)
{
	const ox_t *in = ox_in(r, n, 0);
	pm_shape	scalar = {0};

	if (!quantize(r, n))
		return false;
	for (int k = 1; k < 3; k++)
	{
		ox_t	   *out = ox_out(r, n, k);

		out->shape = scalar;
		out->dtype = k == 1 ? OX_FLOAT : OX_UINT8;
		if (!ox_emit(r, k == 1 ? "ReduceMax" : "Cast", 1, &in, out, false))
			return false;
	}
	return true;
}

/* ---------- losses ---------- */

static bool
loss(ox_run *r, const ox_node *n)
{
	const ox_t *in[2] = {ox_in(r, n, 0), ox_in(r, n, 1)};
	ox_t	   *out = ox_out(r, n, 0);
	char		reduction[16];

	ox_attr_text(n, "reduction", reduction, sizeof(reduction));
	out->shape = strcmp(reduction, "none") == 0 ? in[1]->shape : (pm_shape) {0};
	out->dtype = in[0]->dtype;
	if (!ox_emit(r, written_name(n), 2, in, out, false))
		return false;
	if (n->n_out > 1 && n->out[1] >= 0)
	{
		ox_t	   *log = ox_out(r, n, 1);

		log->shape = in[0]->shape;
		log->dtype = in[0]->dtype;
		return ox_emit(r, "LogSoftmax", 1, in, log, false);
	}
	return true;
}

const ox_rule ox_rules_elementwise[] =
{
	{"Relu", unary, 1, 1, NULL}, {"Gelu", unary, 1, 1, NULL}, {"Silu", unary, 1, 1, NULL},
	{"Swish", unary, 1, 1, "Silu"}, {"Sigmoid", unary, 1, 1, NULL}, {"Tanh", unary, 1, 1, NULL},
	{"Mish", unary, 1, 1, NULL}, {"Softplus", unary, 1, 1, NULL}, {"Softsign", unary, 1, 1, NULL},
	{"Selu", unary, 1, 1, NULL}, {"Celu", unary, 1, 1, NULL}, {"Shrink", unary, 1, 1, NULL},
	{"ThresholdedRelu", unary, 1, 1, NULL}, {"HardSigmoid", unary, 1, 1, NULL}, {"HardSwish", unary, 1, 1, NULL},
	{"LeakyRelu", leaky, 1, 1, NULL}, {"Elu", elu, 1, 1, NULL}, {"Clip", clip, 1, 3, NULL}, {"PRelu", prelu, 2, 2, NULL},
	{"Neg", unary, 1, 1, NULL}, {"Abs", unary, 1, 1, NULL}, {"Sqrt", unary, 1, 1, NULL},
	{"Reciprocal", unary, 1, 1, NULL}, {"Exp", unary, 1, 1, NULL}, {"Log", unary, 1, 1, NULL}, {"Erf", unary, 1, 1, NULL},
	{"Sin", unary, 1, 1, NULL}, {"Cos", unary, 1, 1, NULL}, {"Tan", unary, 1, 1, NULL}, {"Asin", unary, 1, 1, NULL},
	{"Acos", unary, 1, 1, NULL}, {"Atan", unary, 1, 1, NULL}, {"Sinh", unary, 1, 1, NULL}, {"Cosh", unary, 1, 1, NULL},
	{"Asinh", unary, 1, 1, NULL}, {"Acosh", unary, 1, 1, NULL}, {"Atanh", unary, 1, 1, NULL},
	{"Sign", unary, 1, 1, NULL}, {"Round", unary, 1, 1, NULL}, {"Floor", unary, 1, 1, NULL}, {"Ceil", unary, 1, 1, NULL},
	{"Not", unary, 1, 1, NULL}, {"BitwiseNot", unary, 1, 1, "Not"}, {"IsNaN", unary, 1, 1, NULL},
	{"IsInf", unary, 1, 1, NULL}, {"CumSum", unary, 2, 2, NULL}, {"Bernoulli", unary, 1, 1, NULL},
	{"Hardmax", unary, 1, 1, "OneHot"}, {"Trilu", unary, 1, 2, NULL}, {"ReverseSequence", unary, 2, 2, NULL},
	{"EyeLike", unary, 1, 1, NULL}, {"Identity", alias, 1, 1, NULL}, {"Cast", cast, 1, 1, NULL},
	{"CastLike", cast, 2, 2, "Cast"}, {"Dropout", dropout, 1, 3, NULL},
	{"Add", elementwise, 2, 2, NULL}, {"Sub", elementwise, 2, 2, NULL}, {"Mul", elementwise, 2, 2, NULL},
	{"Div", elementwise, 2, 2, NULL}, {"Mod", elementwise, 2, 2, NULL}, {"Pow", elementwise, 2, 2, NULL},
	{"Max", elementwise, 1, -1, NULL}, {"Min", elementwise, 1, -1, NULL}, {"Sum", elementwise, 1, -1, "Add"},
	{"Mean", elementwise, 1, -1, NULL}, {"Where", elementwise, 3, 3, NULL}, {"Equal", elementwise, 2, 2, NULL},
	{"Less", elementwise, 2, 2, NULL}, {"LessOrEqual", elementwise, 2, 2, NULL}, {"Greater", elementwise, 2, 2, NULL},
	{"GreaterOrEqual", elementwise, 2, 2, NULL}, {"And", elementwise, 2, 2, NULL}, {"Or", elementwise, 2, 2, NULL},
	{"Xor", elementwise, 2, 2, NULL}, {"BitShift", elementwise, 2, 2, NULL}, {"BitwiseAnd", elementwise, 2, 2, "And"},
	{"BitwiseOr", elementwise, 2, 2, "Or"}, {"BitwiseXor", elementwise, 2, 2, "Xor"},
	{"ReduceMean", reduce, 1, 2, NULL}, {"ReduceSum", reduce, 1, 2, NULL}, {"ReduceMax", reduce, 1, 2, NULL},
	{"ReduceMin", reduce, 1, 2, NULL}, {"ReduceProd", reduce, 1, 2, NULL}, {"ReduceL1", reduce, 1, 2, NULL},
	{"ReduceL2", reduce, 1, 2, NULL}, {"ReduceLogSum", reduce, 1, 2, NULL}, {"ReduceLogSumExp", reduce, 1, 2, NULL},
	{"ReduceSumSquare", reduce, 1, 2, NULL}, {"ArgMax", arg_reduce, 1, 1, NULL}, {"ArgMin", arg_reduce, 1, 1, NULL},
	{"TopK", top_k, 1, 2, NULL}, {"GlobalAveragePool", global_pool, 1, 1, NULL}, {"GlobalMaxPool", global_pool, 1, 1, NULL},
	{"GlobalLpPool", global_pool, 1, 1, "ReduceL2"},
	{"Softmax", softmax, 1, 1, NULL}, {"LogSoftmax", softmax, 1, 1, NULL},
	{"RandomNormalLike", random_like, 1, 1, "RandomNormal"}, {"RandomUniformLike", random_like, 1, 1, "RandomUniform"},
	{"RandomNormal", random_shape, 0, 0, NULL}, {"RandomUniform", random_shape, 0, 0, NULL},
	{"OneHot", one_hot, 3, 3, NULL}, {"QuantizeLinear", quantize, 2, 3, "Cast"},
	{"DequantizeLinear", quantize, 2, 3, "Cast"}, {"DynamicQuantizeLinear", dynamic_quantize, 1, 1, "Cast"},
	{"SoftmaxCrossEntropyLoss", loss, 2, 3, "CrossEntropyLoss"}, {"NegativeLogLikelihoodLoss", loss, 2, 3, "NllLoss"},
	{"com.microsoft.QuickGelu", unary, 1, 1, "Gelu"}, {"com.microsoft.Gelu", unary, 1, 1, "Gelu"},
	{"com.microsoft.FastGelu", elementwise, 1, 2, "Gelu"}, {"com.microsoft.BiasGelu", elementwise, 2, 2, "Gelu"},
	{"com.microsoft.BiasAdd", elementwise, 3, 3, "Add"}, {"com.microsoft.BiasDropout", elementwise, 1, 5, "Dropout"},
	{NULL, NULL, 0, 0, NULL}
};
