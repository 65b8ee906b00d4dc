/*
 * fold_elementwise.c - patterns of normalisations and activations.
 */
#include "import/onnx/fold_patterns.h"

#include <math.h>

#include "import/onnx/attributes.h"

/* ---------- normalisation ---------- */

/*
 * What follows a normalised value: a Mul by a parameter, an Add of one.
 * Returns the last node; gamma and beta are -1 when absent.
 */
static ox_node *
affine(const ox_folder *f, ox_node *n, int *gamma, int *beta, ox_node **mul)
{
	ox_node    *next = ox_only_reader(f, n, "Mul");
	int			k;

	*gamma = *beta = -1;
	*mul = NULL;
	if (next == NULL || next->n_in != 2)
		return n;
	k = next->in[0] == n->out[0] ? 1 : 0;
	*gamma = ox_parameter(f, next->in[k]);
	if (*gamma < 0)
		return n;
	*mul = next;
	next = ox_only_reader(f, *mul, "Add");
	if (next == NULL || next->n_in != 2)
		return *mul;
	k = next->in[0] == (*mul)->out[0] ? 1 : 0;
	*beta = ox_parameter(f, next->in[k]);
	return *beta < 0 ? *mul : next;
}

/* ReduceMean over the last dimensions: how many, 0 when it is another one. */
static int
mean_axes(const ox_folder *f, const ox_node *n)
{
	int			count;
	const int64_t *axes = ox_attr_ints(n, "axes", &count);
	double		axis = n->n_in > 1 ? ox_number(f, n->in[1]) : NAN;
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
pm_code
ox_fold_layer_norm(ox_folder *f, ox_node *n)
{
	ox_node    *sub = ox_made_by(f, n, 0, "Sub");
	ox_node    *root = ox_made_by(f, n, 1, "Sqrt");
	ox_node    *add = root == NULL ? NULL : ox_made_by(f, root, 0, "Add");
	ox_node    *mean,
			   *var = NULL,
			   *square = NULL,
			   *again = NULL,
			   *mul,
			   *last;
	int			eps,
				axes;
	int			in[3];

	if (sub == NULL || add == NULL || (mean = ox_made_by(f, sub, 1, "ReduceMean")) == NULL || mean->in[0] != sub->in[0])
		return PM_OK;
	var = ox_either_input(f, add, "ReduceMean", &eps);
	axes = mean_axes(f, mean);
	if (var == NULL || isnan(ox_number(f, eps)) || axes == 0 || mean_axes(f, var) != axes)
		return PM_OK;
	if ((square = ox_made_by(f, var, 0, "Pow")) != NULL ? ox_number(f, square->in[1]) != 2 :
		(square = ox_made_by(f, var, 0, "Mul")) == NULL || square->in[0] != square->in[1])
		return PM_OK;
	again = ox_made_by(f, square, 0, "Cast");
	again = ox_made_by(f, again != NULL ? again : square, 0, "Sub");
	if (again == NULL || again->in[0] != sub->in[0] || !ox_single(f, root) || !ox_single(f, add) || !ox_single(f, var) ||
		!ox_single(f, square))
		return PM_OK;
	last = affine(f, n, &in[1], &in[2], &mul);
	in[0] = sub->in[0];
	last->folded.axis = -axes;
	ox_kill(f, root);
	ox_kill(f, add);
	ox_kill(f, var);
	ox_kill(f, square);
	if (last != n)
		ox_kill(f, n);
	if (mul != last)
		ox_kill(f, mul);
	if (ox_become(f, last, "LayerNormalization", in[2] >= 0 ? 3 : in[1] >= 0 ? 2 : 1, in) != PM_OK)
		return PM_ERR_MEMORY;
	if (f->m->values[again->out[0]].uses == 0)
		ox_kill(f, again);
	if (f->m->values[sub->out[0]].uses == 0)
		ox_kill(f, sub);
	if (f->m->values[mean->out[0]].uses == 0)
		ox_kill(f, mean);
	return PM_OK;
}

/* Groups as instances: Reshape, InstanceNormalization, Reshape, scale, shift. */
pm_code
ox_fold_group_norm(ox_folder *f, ox_node *n)
{
	ox_node    *before = ox_made_by(f, n, 0, "Reshape");
	ox_node    *after = ox_only_reader(f, n, "Reshape");
	ox_node    *mul,
			   *last;
	const ox_node *ones = n->n_in > 1 ? ox_producer(f, n->in[1]) : NULL;
	const PmOnnx__Attribute *a = ox_is_op(ones, "Constant") ? ox_attr(ones, "value") : NULL;
	int			in[3];
	int64_t		groups = 0;

	if (n->n_in > 1 && n->in[1] >= 0 && f->m->values[n->in[1]].is_init && f->m->values[n->in[1]].shape.rank == 1)
		groups = f->m->values[n->in[1]].shape.dim[0];
	if (a != NULL && a->t != NULL && a->t->n_dims == 1)
		groups = a->t->dims[0];
	if (before == NULL || after == NULL || !ox_single(f, before) || groups < 1 || groups > 1000000)
		return PM_OK;
	last = affine(f, after, &in[1], &in[2], &mul);
	if (in[2] < 0)
		return PM_OK;
	in[0] = before->in[0];
	last->folded.axis = (int) groups;
	ox_kill(f, before);
	ox_kill(f, n);
	ox_kill(f, after);
	ox_kill(f, mul);
	return ox_become(f, last, "GroupNormalization", 3, in);
}

/* ---------- activations ---------- */

/* x/2 (1 + erf(x / sqrt 2)) in the orders that exporters write it. n: the Erf. */
pm_code
ox_fold_gelu_erf(ox_folder *f, ox_node *n)
{
	ox_node    *scale = ox_producer(f, n->in[0]);
	ox_node    *add = ox_only_reader(f, n, "Add");
	ox_node    *mul = add == NULL ? NULL : ox_only_reader(f, add, "Mul");
	ox_node    *half = NULL,
			   *last = NULL;
	int			x,
				other,
				same;

	if (mul == NULL || scale == NULL || !ox_single(f, scale) || !ox_with_number(f, add, 1, &other))
		return PM_OK;
	if (!(ox_is_op(scale, "Div") && ox_near(ox_number(f, scale->in[1]), sqrt(2)) && (x = scale->in[0], true)) &&
		!(ox_is_op(scale, "Mul") && ox_with_number(f, scale, sqrt(0.5), &x)))
		return PM_OK;
	other = mul->in[0] == add->out[0] ? mul->in[1] : mul->in[0];
	if (other == x && (half = ox_only_reader(f, mul, "Mul")) != NULL && ox_with_number(f, half, 0.5, &same))
		last = half;
	else if (ox_is_op(half = ox_producer(f, other), "Mul") && ox_single(f, half) && ox_with_number(f, half, 0.5, &same) && same == x)
	{
		ox_kill(f, half);
		last = mul;
	}
	else
		return PM_OK;
	ox_kill(f, scale);
	ox_kill(f, n);
	ox_kill(f, add);
	if (last != mul)
		ox_kill(f, mul);
	return ox_become(f, last, "Gelu", 1, &x);
}

/* x * x * x, as products. */
static bool
is_cube(const ox_folder *f, int value, int x, ox_node **cube, ox_node **square)
{
	int			other;

	*cube = ox_producer(f, value);
	if (!ox_is_op(*cube, "Mul") || !ox_single(f, *cube))
		return false;
	*square = ox_either_input(f, *cube, "Mul", &other);
	return *square != NULL && ox_single(f, *square) && other == x && (*square)->in[0] == x && (*square)->in[1] == x;
}

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the cube as products: nn.GELU('tanh'). n: the Tanh. */
pm_code
ox_fold_gelu_tanh(ox_folder *f, ox_node *n)
{
	ox_node    *outer = ox_made_by(f, n, 0, "Mul");
	ox_node    *plus = NULL,
			   *kappa,
			   *cube,
			   *square,
			   *one = ox_only_reader(f, n, "Add"),
			   *mul = one == NULL ? NULL : ox_only_reader(f, one, "Mul"),
			   *half,
			   *last;
	int			sum,
				x,
				third,
				other;

	if (outer == NULL || mul == NULL || !ox_with_number(f, outer, sqrt(2 / M_PI), &sum) || !ox_with_number(f, one, 1, &other) ||
		!ox_is_op(plus = ox_producer(f, sum), "Add") || (kappa = ox_either_input(f, plus, "Mul", &x)) == NULL ||
		!ox_with_number(f, kappa, 0.044715, &third) || !is_cube(f, third, x, &cube, &square))
		return PM_OK;
	other = mul->in[0] == one->out[0] ? mul->in[1] : mul->in[0];
	half = other == x ? ox_only_reader(f, mul, "Mul") : ox_producer(f, other);
	if (!ox_is_op(half, "Mul") || !ox_with_number(f, half, 0.5, &third))
		return PM_OK;
	if (other != x && (third != x || !ox_single(f, half)))
		return PM_OK;
	last = other == x ? half : mul;
	ox_kill(f, square);
	ox_kill(f, cube);
	ox_kill(f, kappa);
	ox_kill(f, plus);
	ox_kill(f, outer);
	ox_kill(f, n);
	ox_kill(f, one);
	ox_kill(f, last == half ? mul : half);
	return ox_become(f, last, "Gelu", 1, &x);
}

/* clip(x + 3, 0, 6) / 6: the node of the Div or of the Clip; *x is its x. */
static bool
clip_of_three(const ox_folder *f, ox_node *clip, int *x, ox_node **add)
{
	double		low,
				high;

	if (!ox_is_op(clip, "Clip") || !ox_single(f, clip))
		return false;
	low = clip->n_in > 1 ? ox_number(f, clip->in[1]) : ox_attr_float(clip, "min", NAN);
	high = clip->n_in > 2 ? ox_number(f, clip->in[2]) : ox_attr_float(clip, "max", NAN);
	*add = ox_made_by(f, clip, 0, "Add");
	return low == 0 && high == 6 && *add != NULL && ox_single(f, *add) && ox_with_number(f, *add, 3, x);
}

/* One half of x times the sigmoid of the other. n: the Mul. */
pm_code
ox_fold_glu(ox_folder *f, ox_node *n)
{
	int			a = -1;
	ox_node    *gate = ox_either_input(f, n, "Sigmoid", &a);
	ox_node    *split = ox_producer(f, a);
	int			x;

	if (gate == NULL || !ox_single(f, gate) || !ox_is_op(split, "Split") || split->n_out != 2 || split->out[0] != a ||
		split->out[1] != gate->in[0] || split->n_in > 1 || split->out[1] < 0 || f->m->values[a].uses != 1 ||
		f->m->values[gate->in[0]].uses != 1 || f->m->values[a].is_output || f->m->values[gate->in[0]].is_output)
		return PM_OK;
	x = split->in[0];
	n->folded.axis = (int) ox_attr_int(split, "axis", 0);
	ox_kill(f, gate);
	ox_kill(f, split);
	return ox_become(f, n, "Glu", 1, &x);
}

/* n becomes HardSwish(x): x + 3, its clip and one more node, the division or the product, go. */
static pm_code
become_hard_swish(ox_folder *f, ox_node *n, ox_node *third, ox_node *clip, ox_node *add, int x)
{
	ox_kill(f, third);
	ox_kill(f, clip);
	ox_kill(f, add);
	return ox_become(f, n, "HardSwish", 1, &x);
}

/* A Mul of x with a function of x alone. */
pm_code
ox_fold_gated(ox_folder *f, ox_node *n)
{
	ox_node    *p,
			   *q,
			   *add;
	int			x,
				inner;

	if ((p = ox_either_input(f, n, "Sigmoid", &x)) != NULL && p->in[0] == x && ox_single(f, p))
	{
		ox_kill(f, p);
		return ox_become(f, n, "Silu", 1, &x);
	}
	if ((p = ox_either_input(f, n, "HardSigmoid", &x)) != NULL && p->in[0] == x && ox_single(f, p))
	{
		ox_kill(f, p);
		return ox_become(f, n, "HardSwish", 1, &x);
	}
	if ((p = ox_either_input(f, n, "Tanh", &x)) != NULL && ox_single(f, p) && (q = ox_made_by(f, p, 0, "Softplus")) != NULL &&
		ox_single(f, q) && q->in[0] == x)
	{
		ox_kill(f, p);
		ox_kill(f, q);
		return ox_become(f, n, "Mish", 1, &x);
	}
	if ((p = ox_either_input(f, n, "Div", &x)) != NULL && ox_single(f, p) && ox_near(ox_number(f, p->in[1]), 6) &&
		clip_of_three(f, q = ox_producer(f, p->in[0]), &inner, &add) && inner == x)
		return become_hard_swish(f, n, p, q, add, x);
	return PM_OK;
}

/* x clip(x + 3, 0, 6) / 6, or the clip alone. n: the Div. */
pm_code
ox_fold_hard(ox_folder *f, ox_node *n)
{
	ox_node    *mul = ox_made_by(f, n, 0, "Mul");
	ox_node    *clip,
			   *add;
	int			x,
				inner;

	if (n->n_in != 2 || !ox_near(ox_number(f, n->in[1]), 6))
		return PM_OK;
	if (mul != NULL && ox_single(f, mul) && (clip = ox_either_input(f, mul, "Clip", &x)) != NULL &&
		clip_of_three(f, clip, &inner, &add) && inner == x)
		return become_hard_swish(f, n, mul, clip, add, x);
	if (clip_of_three(f, clip = ox_producer(f, n->in[0]), &x, &add))
	{
		ox_node    *gate = ox_only_reader(f, n, "Mul");

		if (gate != NULL && (gate->in[0] == x || gate->in[1] == x))
			return PM_OK;		/* ox_fold_gated() takes it whole */
		ox_kill(f, clip);
		ox_kill(f, add);
		return ox_become(f, n, "HardSigmoid", 1, &x);
	}
	return PM_OK;
}

pm_code
ox_fold_log_sigmoid(ox_folder *f, ox_node *n)
{
	ox_node    *p = ox_made_by(f, n, 0, "Sigmoid");
	int			x;

	if (p == NULL || !ox_single(f, p))
		return PM_OK;
	x = p->in[0];
	ox_kill(f, p);
	return ox_become(f, n, "LogSigmoid", 1, &x);
}

/* 1 / sqrt(x). Newer C libraries have an rsqrt of their own. */
pm_code
ox_fold_reciprocal_root(ox_folder *f, ox_node *n)
{
	bool		div = ox_is_op(n, "Div");
	ox_node    *p = ox_made_by(f, n, div ? 1 : 0, "Sqrt");
	int			x;

	if (p == NULL || !ox_single(f, p) || (div && ox_number(f, n->in[0]) != 1))
		return PM_OK;
	x = p->in[0];
	ox_kill(f, p);
	return ox_become(f, n, "Rsqrt", 1, &x);
}
