/*
 * fold.c - what exporters have taken apart is put together again.
 *
 * A pattern is a handful of nodes whose results no other node reads.  Its last
 * node becomes the operator that the framework had; the others are removed.  What a
 * framework runs in pieces stays in pieces: RMS normalisation written out in
 * Python, or the Gelu of GPT-2 with its Pow, are several kernels there too.
 */
#include "import/onnx/run.h"

#include <math.h>
#include <string.h>

#define MAX_CHAIN	16			/* nodes in a row that only pass on a number or a mask; exporters write one or two */
#define MAX_PACKING	9			/* nodes in a row between a parameter and its recurrent layer */

typedef struct folder
{
	ox_model   *m;
	int		   *reader_at;		/* [n_values + 1] offsets into reader */
	int		   *reader;			/* nodes that read a value, in order */
	uint8_t    *packing;		/* [n_nodes] steps that mark_packing() had left here, 0: not been */
} folder;

/* ---------- looking around ---------- */

static ox_node *
producer(const folder *f, int value)
{
	int			p = value < 0 ? -1 : f->m->values[value].producer;

	return p < 0 || f->m->nodes[p].dead ? NULL : &f->m->nodes[p];
}

static bool
is(const ox_node *n, const char *op)
{
	return n != NULL && n->rule != NULL && strcmp(n->op, op) == 0;
}

/* The node of this operator that makes input k of n. */
static ox_node *
made_by(const folder *f, const ox_node *n, int k, const char *op)
{
	ox_node    *p = k < n->n_in ? producer(f, n->in[k]) : NULL;

	return is(p, op) && p->n_out > 0 && p->out[0] == n->in[k] ? p : NULL;
}

/* Input 0 or 1 of n is made by this operator: the node, and *other is the other input. */
static ox_node *
either(const folder *f, const ox_node *n, const char *op, int *other)
{
	for (int k = 0; k < 2 && n->n_in == 2; k++)
	{
		ox_node    *p = made_by(f, n, k, op);

		if (p != NULL)
		{
			*other = n->in[1 - k];
			return p;
		}
	}
	return NULL;
}

static bool
single(const folder *f, const ox_node *n)
{
	return n->n_out > 0 && n->out[0] >= 0 && f->m->values[n->out[0]].uses == 1 && !f->m->values[n->out[0]].is_output;
}

/* The only reader of n's first output, when it is this operator (NULL: any). */
static ox_node *
reader(const folder *f, const ox_node *n, const char *op)
{
	if (!single(f, n))
		return NULL;
	for (int i = f->reader_at[n->out[0]]; i < f->reader_at[n->out[0] + 1]; i++)
	{
		ox_node    *r = &f->m->nodes[f->reader[i]];

		if (!r->dead)
			return op == NULL || is(r, op) ? r : NULL;
	}
	return NULL;
}

/* The number in a tensor, NaN when there are none or several: those are not decoded for every node that asks. */
static double
tensor_number(const folder *f, const PmOnnx__Tensor *t)
{
	int			dtype;
	pm_shape	shape;
	double	   *data;

	for (size_t i = 0; i < t->n_dims; i++)
		if (t->dims[i] != 1)
			return NAN;
	return ox_tensor(f->m, t, &dtype, &shape, &data) && data != NULL ? data[0] : NAN;
}

/* The number that a value is, NaN when it is none or not known. */
static double
number(const folder *f, int value)
{
	const ox_node *n = producer(f, value);
	const PmOnnx__Attribute *a;

	for (int i = 0; i < MAX_CHAIN && (is(n, "Identity") || is(n, "Cast")) && n->n_in == 1; i++)
	{
		value = n->in[0];
		n = producer(f, value);
	}
	if (value >= 0 && f->m->values[value].is_init)
	{
		const ox_value *v = &f->m->values[value];

		return v->data != NULL && pm_shape_count(&v->shape) == 1 ? v->data[0] : NAN;
	}
	if (!is(n, "Constant") || (a = ox_attr(n, "value")) == NULL || a->t == NULL)
		return NAN;
	return tensor_number(f, a->t);
}

static bool
near(double a, double b)
{
	return fabs(a - b) <= 1e-4 * fabs(b);
}

/* One of the two inputs is this number; *other is the other one. */
static bool
with_number(const folder *f, const ox_node *n, double want, int *other)
{
	for (int k = 0; k < 2 && n->n_in == 2; k++)
		if (near(number(f, n->in[k]), want))
		{
			*other = n->in[1 - k];
			return true;
		}
	return false;
}

/* A parameter, possibly with dimensions of 1 put around it: the parameter's value number, else -1. */
static int
parameter(const folder *f, int value)
{
	const ox_node *n = producer(f, value);

	if (value >= 0 && f->m->values[value].is_init)
		return value;
	if ((is(n, "Unsqueeze") || is(n, "Identity")) && n->n_in > 0 && n->in[0] >= 0 && f->m->values[n->in[0]].is_init)
		return n->in[0];
	return -1;
}

/* ---------- replacing ---------- */

static void
read_less(folder *f, const ox_node *n)
{
	for (int k = 0; k < n->n_in; k++)
		if (n->in[k] >= 0)
			f->m->values[n->in[k]].uses--;
}

static void
kill(folder *f, ox_node *n)
{
	if (n == NULL || n->dead)
		return;
	n->dead = true;
	read_less(f, n);
}

static const ox_rule *
fused_rule(const char *name)
{
	for (const ox_rule *r = ox_rules_fused; r->name != NULL; r++)
		if (strcmp(r->name, name) == 0)
			return r;
	return NULL;
}

/* n becomes `name` of in[count]; its outputs stay. */
static pm_code
become(folder *f, ox_node *n, const char *name, int count, const int *in)
{
	int		   *list = PM_NEW(f->m->arena, int, (size_t) count + 1);

	if (list == NULL)
		return pm_no_memory(f->m->st, f->m->arena);
	read_less(f, n);
	memcpy(list, in, sizeof(int) * (size_t) count);
	n->in = list;
	n->n_in = count;
	n->op = name;
	n->domain = "";
	n->rule = fused_rule(name);
	for (int k = 0; k < count; k++)
		if (list[k] >= 0)
			f->m->values[list[k]].uses++;
	return PM_OK;
}

/* n reads another value as its data, and stays what it is. */
static void
become_same(folder *f, ox_node *n, int value)
{
	f->m->values[n->in[0]].uses--;
	f->m->values[value].uses++;
	n->in[0] = value;
}

/* ---------- normalisation ---------- */

/*
 * What follows a normalised value: a Mul by a parameter, an Add of one.
 * Returns the last node; gamma and beta are -1 when absent.
 */
static ox_node *
affine(const folder *f, ox_node *n, int *gamma, int *beta, ox_node **mul)
{
	ox_node    *next = reader(f, n, "Mul");
	int			k;

	*gamma = *beta = -1;
	*mul = NULL;
	if (next == NULL || next->n_in != 2)
		return n;
	k = next->in[0] == n->out[0] ? 1 : 0;
	*gamma = parameter(f, next->in[k]);
	if (*gamma < 0)
		return n;
	*mul = next;
	next = reader(f, *mul, "Add");
	if (next == NULL || next->n_in != 2)
		return *mul;
	k = next->in[0] == (*mul)->out[0] ? 1 : 0;
	*beta = parameter(f, next->in[k]);
	return *beta < 0 ? *mul : next;
}

/* ReduceMean over the last dimensions: how many, 0 when it is another one. */
static int
mean_axes(const folder *f, const ox_node *n)
{
	int			count;
	const int64_t *axes = ox_attr_ints(n, "axes", &count);
	double		axis = n->n_in > 1 ? number(f, n->in[1]) : NAN;
	int64_t		least = 0;

	if (ox_attr_int(n, "keepdims", 1) == 0)
		return 0;
	if (count == 0)
		return axis == -1 ? 1 : 0;
	for (int i = 0; i < count; i++)
		least = axes[i] < least ? axes[i] : least;
	return least == -count ? count : 0;
}

/* (x - mean) / sqrt(mean((x - mean)^2) + eps), then scale and shift. n: the Div. */
static pm_code
layer_norm(folder *f, ox_node *n)
{
	ox_node    *sub = made_by(f, n, 0, "Sub");
	ox_node    *root = made_by(f, n, 1, "Sqrt");
	ox_node    *add = root == NULL ? NULL : made_by(f, root, 0, "Add");
	ox_node    *mean,
			   *var = NULL,
			   *square = NULL,
			   *again = NULL,
			   *mul,
			   *last;
	int			eps,
				axes;
	int			in[3];

	if (sub == NULL || add == NULL || (mean = made_by(f, sub, 1, "ReduceMean")) == NULL || mean->in[0] != sub->in[0])
		return PM_OK;
	var = either(f, add, "ReduceMean", &eps);
	axes = mean_axes(f, mean);
	if (var == NULL || isnan(number(f, eps)) || axes == 0 || mean_axes(f, var) != axes)
		return PM_OK;
	if ((square = made_by(f, var, 0, "Pow")) != NULL ? number(f, square->in[1]) != 2 :
		(square = made_by(f, var, 0, "Mul")) == NULL || square->in[0] != square->in[1])
		return PM_OK;
	again = made_by(f, square, 0, "Cast");
	again = made_by(f, again != NULL ? again : square, 0, "Sub");
	if (again == NULL || again->in[0] != sub->in[0] || !single(f, root) || !single(f, add) || !single(f, var) ||
		!single(f, square))
		return PM_OK;
	last = affine(f, n, &in[1], &in[2], &mul);
	in[0] = sub->in[0];
	last->folded.axis = -axes;
	kill(f, root);
	kill(f, add);
	kill(f, var);
	kill(f, square);
	if (last != n)
		kill(f, n);
	if (mul != last)
		kill(f, mul);
	if (become(f, last, "LayerNormalization", in[2] >= 0 ? 3 : in[1] >= 0 ? 2 : 1, in) != PM_OK)
		return PM_ERR_MEMORY;
	if (f->m->values[again->out[0]].uses == 0)
		kill(f, again);
	if (f->m->values[sub->out[0]].uses == 0)
		kill(f, sub);
	if (f->m->values[mean->out[0]].uses == 0)
		kill(f, mean);
	return PM_OK;
}

/* Groups as instances: Reshape, InstanceNormalization, Reshape, scale, shift. */
static pm_code
group_norm(folder *f, ox_node *n)
{
	ox_node    *before = made_by(f, n, 0, "Reshape");
	ox_node    *after = reader(f, n, "Reshape");
	ox_node    *mul,
			   *last;
	const ox_node *ones = n->n_in > 1 ? producer(f, n->in[1]) : NULL;
	const PmOnnx__Attribute *a = is(ones, "Constant") ? ox_attr(ones, "value") : NULL;
	int			in[3];
	int64_t		groups = 0;

	if (n->n_in > 1 && n->in[1] >= 0 && f->m->values[n->in[1]].is_init && f->m->values[n->in[1]].shape.rank == 1)
		groups = f->m->values[n->in[1]].shape.dim[0];
	if (a != NULL && a->t != NULL && a->t->n_dims == 1)
		groups = a->t->dims[0];
	if (before == NULL || after == NULL || !single(f, before) || groups < 1 || groups > 1000000)
		return PM_OK;
	last = affine(f, after, &in[1], &in[2], &mul);
	if (in[2] < 0)
		return PM_OK;
	in[0] = before->in[0];
	last->folded.axis = (int) groups;
	kill(f, before);
	kill(f, n);
	kill(f, after);
	kill(f, mul);
	return become(f, last, "GroupNormalization", 3, in);
}

/* ---------- activations ---------- */

/* x/2 (1 + erf(x / sqrt 2)) in the orders that exporters write it. n: the Erf. */
static pm_code
gelu_erf(folder *f, ox_node *n)
{
	ox_node    *scale = producer(f, n->in[0]);
	ox_node    *add = reader(f, n, "Add");
	ox_node    *mul = add == NULL ? NULL : reader(f, add, "Mul");
	ox_node    *half = NULL,
			   *last = NULL;
	int			x,
				other,
				same;

	if (mul == NULL || scale == NULL || !single(f, scale) || !with_number(f, add, 1, &other))
		return PM_OK;
	if (!(is(scale, "Div") && near(number(f, scale->in[1]), sqrt(2)) && (x = scale->in[0], true)) &&
		!(is(scale, "Mul") && with_number(f, scale, sqrt(0.5), &x)))
		return PM_OK;
	other = mul->in[0] == add->out[0] ? mul->in[1] : mul->in[0];
	if (other == x && (half = reader(f, mul, "Mul")) != NULL && with_number(f, half, 0.5, &same))
		last = half;
	else if (is(half = producer(f, other), "Mul") && single(f, half) && with_number(f, half, 0.5, &same) && same == x)
	{
		kill(f, half);
		last = mul;
	}
	else
		return PM_OK;
	kill(f, scale);
	kill(f, n);
	kill(f, add);
	if (last != mul)
		kill(f, mul);
	return become(f, last, "Gelu", 1, &x);
}

/* x * x * x, as products. */
static bool
is_cube(const folder *f, int value, int x, ox_node **cube, ox_node **square)
{
	int			other;

	*cube = producer(f, value);
	if (!is(*cube, "Mul") || !single(f, *cube))
		return false;
	*square = either(f, *cube, "Mul", &other);
	return *square != NULL && single(f, *square) && other == x && (*square)->in[0] == x && (*square)->in[1] == x;
}

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the cube as products: nn.GELU('tanh'). n: the Tanh. */
static pm_code
gelu_tanh(folder *f, ox_node *n)
{
	ox_node    *outer = made_by(f, n, 0, "Mul");
	ox_node    *plus = NULL,
			   *kappa,
			   *cube,
			   *square,
			   *one = reader(f, n, "Add"),
			   *mul = one == NULL ? NULL : reader(f, one, "Mul"),
			   *half,
			   *last;
	int			sum,
				x,
				third,
				other;

	if (outer == NULL || mul == NULL || !with_number(f, outer, sqrt(2 / M_PI), &sum) || !with_number(f, one, 1, &other) ||
		!is(plus = producer(f, sum), "Add") || (kappa = either(f, plus, "Mul", &x)) == NULL ||
		!with_number(f, kappa, 0.044715, &third) || !is_cube(f, third, x, &cube, &square))
		return PM_OK;
	other = mul->in[0] == one->out[0] ? mul->in[1] : mul->in[0];
	half = other == x ? reader(f, mul, "Mul") : producer(f, other);
	if (!is(half, "Mul") || !with_number(f, half, 0.5, &third))
		return PM_OK;
	if (other != x && (third != x || !single(f, half)))
		return PM_OK;
	last = other == x ? half : mul;
	kill(f, square);
	kill(f, cube);
	kill(f, kappa);
	kill(f, plus);
	kill(f, outer);
	kill(f, n);
	kill(f, one);
	kill(f, last == half ? mul : half);
	return become(f, last, "Gelu", 1, &x);
}

/* clip(x + 3, 0, 6) / 6: the node of the Div or of the Clip; *x is its x. */
static bool
clip_of_three(const folder *f, ox_node *clip, int *x, ox_node **add)
{
	double		low,
				high;

	if (!is(clip, "Clip") || !single(f, clip))
		return false;
	low = clip->n_in > 1 ? number(f, clip->in[1]) : ox_attr_float(clip, "min", NAN);
	high = clip->n_in > 2 ? number(f, clip->in[2]) : ox_attr_float(clip, "max", NAN);
	*add = made_by(f, clip, 0, "Add");
	return low == 0 && high == 6 && *add != NULL && single(f, *add) && with_number(f, *add, 3, x);
}

/* One half of x times the sigmoid of the other. n: the Mul. */
static pm_code
glu(folder *f, ox_node *n)
{
	int			a = -1;
	ox_node    *gate = either(f, n, "Sigmoid", &a);
	ox_node    *split = producer(f, a);
	int			x;

	if (gate == NULL || !single(f, gate) || !is(split, "Split") || split->n_out != 2 || split->out[0] != a ||
		split->out[1] != gate->in[0] || split->n_in > 1 || split->out[1] < 0 || f->m->values[a].uses != 1 ||
		f->m->values[gate->in[0]].uses != 1 || f->m->values[a].is_output || f->m->values[gate->in[0]].is_output)
		return PM_OK;
	x = split->in[0];
	n->folded.axis = (int) ox_attr_int(split, "axis", 0);
	kill(f, gate);
	kill(f, split);
	return become(f, n, "Glu", 1, &x);
}

/* A Mul of x with a function of x alone. */
static pm_code
gated(folder *f, ox_node *n)
{
	ox_node    *p,
			   *q,
			   *add;
	int			x,
				inner;

	if ((p = either(f, n, "Sigmoid", &x)) != NULL && p->in[0] == x && single(f, p))
	{
		kill(f, p);
		return become(f, n, "Silu", 1, &x);
	}
	if ((p = either(f, n, "HardSigmoid", &x)) != NULL && p->in[0] == x && single(f, p))
	{
		kill(f, p);
		return become(f, n, "HardSwish", 1, &x);
	}
	if ((p = either(f, n, "Tanh", &x)) != NULL && single(f, p) && (q = made_by(f, p, 0, "Softplus")) != NULL &&
		single(f, q) && q->in[0] == x)
	{
		kill(f, p);
		kill(f, q);
		return become(f, n, "Mish", 1, &x);
	}
	if ((p = either(f, n, "Div", &x)) != NULL && single(f, p) && near(number(f, p->in[1]), 6) &&
		clip_of_three(f, q = producer(f, p->in[0]), &inner, &add) && inner == x)
	{
		kill(f, p);
		kill(f, q);
		kill(f, add);
		return become(f, n, "HardSwish", 1, &x);
	}
	return PM_OK;
}

/* x clip(x + 3, 0, 6) / 6, or the clip alone. n: the Div. */
static pm_code
hard(folder *f, ox_node *n)
{
	ox_node    *mul = made_by(f, n, 0, "Mul");
	ox_node    *clip,
			   *add;
	int			x,
				inner;

	if (n->n_in != 2 || !near(number(f, n->in[1]), 6))
		return PM_OK;
	if (mul != NULL && single(f, mul) && (clip = either(f, mul, "Clip", &x)) != NULL &&
		clip_of_three(f, clip, &inner, &add) && inner == x)
	{
		kill(f, mul);
		kill(f, clip);
		kill(f, add);
		return become(f, n, "HardSwish", 1, &x);
	}
	if (clip_of_three(f, clip = producer(f, n->in[0]), &x, &add))
	{
		ox_node    *gate = reader(f, n, "Mul");

		if (gate != NULL && (gate->in[0] == x || gate->in[1] == x))
			return PM_OK;		/* gated() takes it whole */
		kill(f, clip);
		kill(f, add);
		return become(f, n, "HardSigmoid", 1, &x);
	}
	return PM_OK;
}

static pm_code
log_sigmoid(folder *f, ox_node *n)
{
	ox_node    *p = made_by(f, n, 0, "Sigmoid");
	int			x;

	if (p == NULL || !single(f, p))
		return PM_OK;
	x = p->in[0];
	kill(f, p);
	return become(f, n, "LogSigmoid", 1, &x);
}

/* 1 / sqrt(x). Newer C libraries have an rsqrt of their own. */
static pm_code
reciprocal_root(folder *f, ox_node *n)
{
	bool		div = is(n, "Div");
	ox_node    *p = made_by(f, n, div ? 1 : 0, "Sqrt");
	int			x;

	if (p == NULL || !single(f, p) || (div && number(f, n->in[0]) != 1))
		return PM_OK;
	x = p->in[0];
	kill(f, p);
	return become(f, n, "Rsqrt", 1, &x);
}

/* ---------- products ---------- */

/* A matrix that is a parameter, or one transposed. */
static bool
is_matrix(const folder *f, int value)
{
	const ox_node *n = producer(f, value);

	if (is(n, "Transpose") && n->n_in == 1)
		value = n->in[0];
	return value >= 0 && f->m->values[value].is_init && f->m->values[value].shape.rank == 2;
}

/* MatMul with a parameter, then a bias: a linear layer. n: the Add. */
static pm_code
linear(folder *f, ox_node *n)
{
	int			bias;
	ox_node    *p = either(f, n, "MatMul", &bias);
	int			in[3];

	if (p == NULL || !single(f, p) || p->n_in != 2 || !is_matrix(f, p->in[1]) || bias < 0 ||
		!f->m->values[bias].is_init || f->m->values[bias].shape.rank != 1 || p->in[0] < 0)
		return PM_OK;
	in[0] = p->in[0];
	in[1] = p->in[1];
	in[2] = bias;
	kill(f, p);
	return become(f, n, "Linear", 3, in);
}

/*
 * What PyTorch 2 makes of scaled_dot_product_attention: queries and transposed
 * keys both scaled by a square root, which nobody writes by hand.
 */
static ox_node *
scaled(const folder *f, const ox_node *product, int k)
{
	ox_node    *mul = made_by(f, product, k, "Mul");

	if (mul == NULL || !single(f, mul) || mul->n_in != 2)
		return NULL;
	return is(producer(f, mul->in[1]), "Sqrt") || !isnan(number(f, mul->in[1])) ? mul : NULL;
}

/* n: the MatMul of the weights with the values. */
static pm_code
attention(folder *f, ox_node *n)
{
	ox_node    *soft = made_by(f, n, 0, "Softmax");
	ox_node    *add,
			   *scores,
			   *q,
			   *k;
	int			in[4] = {-1, -1, -1, -1};

	if (soft == NULL || !single(f, soft) || n->n_in != 2)
		return PM_OK;
	add = made_by(f, soft, 0, "Add");
	scores = add != NULL ? either(f, add, "MatMul", &in[3]) : made_by(f, soft, 0, "MatMul");
	if (scores == NULL || !single(f, scores) || (add != NULL && !single(f, add)) ||
		(q = scaled(f, scores, 0)) == NULL || (k = scaled(f, scores, 1)) == NULL)
		return PM_OK;
	in[0] = q->in[0];
	in[1] = k->in[0];
	in[2] = n->in[1];
	kill(f, q);
	kill(f, k);
	kill(f, scores);
	kill(f, add);
	kill(f, soft);
	return become(f, n, "ScaledDotProduct", add != NULL ? 4 : 3, in);
}

/* ---------- rolls ---------- */

/* The one axis that a Slice cuts, -100 when it is not a plain one. */
static int
slice_axis(const folder *f, const ox_node *n)
{
	int			count;
	const int64_t *axes = ox_attr_ints(n, "axes", &count);
	double		axis = n->n_in > 3 ? number(f, n->in[3]) : NAN;

	if (count == 1)
		return axes[0] > -9 && axes[0] < 9 ? (int) axes[0] : -100;
	return axis > -9 && axis < 9 ? (int) axis : -100;
}

/* Two parts of one value in the other order. n: the Concat. */
static pm_code
roll(folder *f, ox_node *n)
{
	ox_node    *a = n->n_in == 2 ? made_by(f, n, 0, "Slice") : NULL;
	ox_node    *b = n->n_in == 2 ? made_by(f, n, 1, "Slice") : NULL;
	ox_node    *inner;
	int64_t		axis = ox_attr_int(n, "axis", 1);
	int			x;

	if (a == NULL || b == NULL || a == b || a->in[0] != b->in[0] || a->in[0] < 0 || !single(f, a) || !single(f, b) ||
		axis < -8 || axis > 8 || slice_axis(f, a) != axis || slice_axis(f, b) != axis)
		return PM_OK;
	/* the first part of the result is the end of the source */
	if (number(f, b->n_in > 1 ? b->in[1] : -1) != 0 || number(f, a->n_in > 1 ? a->in[1] : -1) == 0)
		return PM_OK;
	x = a->in[0];
	inner = producer(f, x);
	n->folded.n = 1;
	n->folded.v[0] = axis;
	kill(f, a);
	kill(f, b);
	if (is(inner, "Roll") && f->m->values[x].uses == 0 && !f->m->values[x].is_output && inner->folded.n < PM_MAX_RANK)
	{
		n->folded = inner->folded;
		n->folded.v[n->folded.n++] = axis;
		x = inner->in[0];
		kill(f, inner);
	}
	return become(f, n, "Roll", 1, &x);
}

/* ---------- pools ---------- */

/* Pads of a Pad node: *count of them, from the file's constants. */
static const double *
pads_of(const folder *f, const ox_node *n, int *count)
{
	const ox_node *c = n->n_in > 1 ? producer(f, n->in[1]) : NULL;
	const PmOnnx__Attribute *a = is(c, "Constant") ? ox_attr(c, "value") : NULL;
	const ox_value *v = n->n_in > 1 && n->in[1] >= 0 ? &f->m->values[n->in[1]] : NULL;
	double	   *data = v != NULL && v->is_init ? v->data : NULL;
	pm_shape	shape = data != NULL ? v->shape : (pm_shape) {0};
	int			dtype;

	if (a != NULL && a->t != NULL && !ox_tensor(f->m, a->t, &dtype, &shape, &data))
		data = NULL;
	*count = data == NULL || shape.rank != 1 ? 0 : (int) shape.dim[0];
	return data;
}

/* Zeros around an image ahead of an average over them: the pool's own pads. n: the AveragePool. */
static pm_code
padded_pool(folder *f, ox_node *n)
{
	ox_node    *p = made_by(f, n, 0, "Pad");
	const double *pads;
	int			count;
	int			rank;
	char		mode[16];

	if (p == NULL || p->in[0] < 0 || !single(f, p) || p->n_in > 3 || (p->n_in > 2 && p->in[2] >= 0 && !(number(f, p->in[2]) == 0)))
		return PM_OK;
	pads = pads_of(f, p, &count);
	ox_attr_text(p, "mode", mode, sizeof(mode));
	rank = count / 2;
	if (pads == NULL || rank < 3 || rank > PM_MAX_RANK || count != 2 * rank || (mode[0] != '\0' && strcmp(mode, "constant") != 0))
		return PM_OK;
	for (int i = 0; i < count; i++)
		if (pads[i] < 0 || pads[i] > 1000000 || (i % rank < 2 && pads[i] != 0))
			return PM_OK;
	become_same(f, n, p->in[0]);
	for (int i = 0; i < rank - 2; i++)
	{
		n->folded.v[i] = (int64_t) pads[i + 2];
		n->folded.v[rank - 2 + i] = (int64_t) pads[rank + i + 2];
	}
	n->folded.n = 2 * (rank - 2);
	kill(f, p);
	return PM_OK;
}

/* ---------- recurrent layers ---------- */

/*
 * Exporters put the weights of a recurrent layer into ONNX's order by cutting
 * and joining them in the graph.  No framework does that at run time: marked,
 * such a Concat of parameters is a parameter.
 */
static void
mark_packing(folder *f, int value, int left)
{
	ox_node    *n = producer(f, value);

	if (left == 0 || n == NULL || f->m->values[value].is_output)
		return;
	/* a second visit finds something new only when it can go further */
	if (f->packing[n - f->m->nodes] >= left)
		return;
	f->packing[n - f->m->nodes] = (uint8_t) left;
	if (!is(n, "Concat") && !is(n, "Slice") && !is(n, "Unsqueeze") && !is(n, "Squeeze") && !is(n, "Transpose"))
		return;
	if (is(n, "Concat"))
		n->folded.n = OX_PACKED;
	for (int k = 0; k < (is(n, "Concat") ? n->n_in : 1) && k < 16; k++)
		mark_packing(f, n->in[k], left - 1);
}

static pm_code
packing(folder *f, ox_node *n)
{
	for (int k = 1; k < 4 && k < n->n_in; k++)
		mark_packing(f, n->in[k], MAX_PACKING);
	return PM_OK;
}

/* From the data input of layer n back to the layer below: Squeeze of one direction, or Transpose and Reshape of two. */
static ox_node *
layer_below(const folder *f, const ox_node *n, ox_node **a, ox_node **b)
{
	ox_node    *p = NULL;

	*b = NULL;
	if ((*a = made_by(f, n, 0, "Squeeze")) != NULL && single(f, *a))
		p = made_by(f, *a, 0, n->op);
	else if ((*a = made_by(f, n, 0, "Reshape")) != NULL && single(f, *a) &&
			 (*b = made_by(f, *a, 0, "Transpose")) != NULL && single(f, *b))
		p = made_by(f, *b, 0, n->op);
	return p != NULL && single(f, p) ? p : NULL;
}

/* Layers of one recurrent network become one operator: inputs x, then W, R, B of each. n: a layer. */
static pm_code
stack_layers(folder *f, ox_node *n)
{
	ox_node    *a,
			   *b,
			   *p = layer_below(f, n, &a, &b);
	int			layers;
	int		   *in;
	const char *name = n->op;
	pm_code		code;

	if (p == NULL || n->n_in < 4 || p->n_in < 4)
		return PM_OK;
	for (int k = 1; k < p->n_out; k++)
		if (p->out[k] >= 0 && f->m->values[p->out[k]].uses > 0)
			return PM_OK;
	layers = p->folded.n > 0 ? p->folded.n : 1;
	in = PM_NEW(f->m->arena, int, (size_t) layers * 3 + 5);
	if (in == NULL)
		return pm_no_memory(f->m->st, f->m->arena);
	memcpy(in, p->in, sizeof(int) * (size_t) (layers * 3 + 1));
	memcpy(in + layers * 3 + 1, n->in + 1, sizeof(int) * 3);
	for (int k = 0; k < (layers + 1) * 3 + 1; k++)
		if (in[k] < 0)
			return PM_OK;
	kill(f, a);
	kill(f, b);
	kill(f, p);
	code = become(f, n, name, (layers + 1) * 3 + 1, in);
	n->folded.n = layers + 1;
	return code;
}

/* ---------- constants among the parameters ---------- */

/* A gradient flows from n's result to the value it reads. */
static bool
has_gradient(const ox_node *n, int value)
{
	static const char *const settings[] = {"Resize", "Upsample", "Pad", "Clip", "QuantizeLinear", "DequantizeLinear", "OneHot", NULL};
	static const char *const none[] = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or", "Sign",
	"Shape", "Size", "Floor", "Ceil", "Round", NULL};
	int64_t		to = is(n, "Cast") ? ox_attr_int(n, "to", 0) : OX_FLOAT;

	for (int i = 0; none[i] != NULL; i++)
		if (is(n, none[i]))
			return false;
	for (int i = 0; settings[i] != NULL; i++)
		if (is(n, settings[i]) && n->in[0] != value)
			return false;
	return to == OX_FLOAT || to == OX_FLOAT16 || to == OX_DOUBLE || to == OX_BFLOAT16;
}

/* What is only compared or rounded cannot be learned: masks that are stored as real numbers. */
static pm_code
find_constants(folder *f)
{
	ox_model   *m = f->m;

	for (int v = 0; v < m->n_values; v++)
	{
		bool		learned = m->values[v].uses == 0;

		if (ox_stopped(m))
			return PM_CANCELLED;
		for (int i = f->reader_at[v]; m->values[v].is_init && i < f->reader_at[v + 1] && !learned; i++)
		{
			const ox_node *n = &m->nodes[f->reader[i]];

			if (ox_stopped(m))
				return PM_CANCELLED;
			/* a part of a mask is a mask */
			for (int k = 0; k < MAX_CHAIN && is(n, "Slice") && single(f, n) && reader(f, n, NULL) != NULL; k++)
				n = reader(f, n, NULL);
			learned = has_gradient(n, n == &m->nodes[f->reader[i]] ? v : n->in[0]);
		}
		m->values[v].is_constant = !learned;
	}
	return PM_OK;
}

/* ---------- all patterns ---------- */

typedef pm_code (*pattern) (folder *f, ox_node *n);

static const struct
{
	const char *op;
	pattern		fold;
}			patterns[] =
{
	{"Div", layer_norm}, {"InstanceNormalization", group_norm}, {"Erf", gelu_erf}, {"Tanh", gelu_tanh},
	{"Div", hard}, {"Mul", gated}, {"Mul", glu}, {"Log", log_sigmoid}, {"Div", reciprocal_root}, {"Reciprocal", reciprocal_root}, {"Add", linear},
	{"MatMul", attention}, {"Concat", roll}, {"AveragePool", padded_pool}, {"LSTM", packing}, {"GRU", packing}, {"RNN", packing},
	{"LSTM", stack_layers}, {"GRU", stack_layers}, {"RNN", stack_layers}
};

/* Who reads what, as it is before anything is folded. */
static bool
index_readers(folder *f)
{
	ox_model   *m = f->m;
	int			total = 0;

	f->reader_at = PM_NEW(m->arena, int, (size_t) m->n_values + 2);
	if (f->reader_at == NULL)
		return false;
	for (int i = 0; i < m->n_nodes; i++)
		for (int k = 0; k < m->nodes[i].n_in; k++)
			if (m->nodes[i].in[k] >= 0)
			{
				f->reader_at[m->nodes[i].in[k] + 2]++;
				total++;
			}
	f->reader = PM_NEW(m->arena, int, (size_t) total + 1);
	f->packing = PM_NEW(m->arena, uint8_t, (size_t) m->n_nodes + 1);
	if (f->reader == NULL || f->packing == NULL)
		return false;
	for (int v = 0; v < m->n_values; v++)
		f->reader_at[v + 2] += f->reader_at[v + 1];
	for (int i = 0; i < m->n_nodes; i++)
		for (int k = 0; k < m->nodes[i].n_in; k++)
			if (m->nodes[i].in[k] >= 0)
				f->reader[f->reader_at[m->nodes[i].in[k] + 1]++] = i;
	return true;
}

pm_code
ox_fold(ox_model *m)
{
	folder		f = {.m = m};

	if (!index_readers(&f))
		return pm_no_memory(m->st, m->arena);
	if (find_constants(&f) != PM_OK)
		return PM_CANCELLED;
	for (int i = 0; i < m->n_nodes; i++)
	{
		if (ox_stopped(m))
			return PM_CANCELLED;
		for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++)
			if (!m->nodes[i].dead && is(&m->nodes[i], patterns[p].op))
			{
				pm_code		code = m->nodes[i].n_in > 0 && m->nodes[i].in[0] >= 0 ? patterns[p].fold(&f, &m->nodes[i]) : PM_OK;

				if (code != PM_OK)
					return code;
			}
	}
	return PM_OK;
}
