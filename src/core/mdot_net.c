/*
 * mdot_net.c - forward and backward pass of MDOT over the samples of a shard.
 *
 * Rows of the sequence are the samples one after the other, each its job token
 * first and then its operators; "ops" counts the operators alone.  Products
 * run over all rows at once, attention sample by sample.
 *
 * Every function of the forward pass has its backward twin below it.  All
 * activations live in one workspace, laid out by lay_out(); the same function,
 * given no memory, tells how much is needed.
 */
#include "mdot_net.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXPONENT_MIN	(-3.0)	/* a: an operator may run 20 times faster than its roofline ... */
#define EXPONENT_MAX	6.0		/* ... (data in cache), or 400 times slower */
#define RESIDUAL_MAX	0.7		/* c: the pooled factor stays within [1/2, 2] */
#define LEAK			0.01	/* gradient outside these ranges, so that nothing gets stuck */
#define LAUNCH_US		5.0		/* scale of the launch time of one kernel */
#define REST_US			100.0	/* scale of what a step costs beside its operators */
#define HUBER_DELTA		0.2

/* ---- parameters ---- */

static size_t
add_tensor(pm_mdot_net *net, const char *name, int layer, int rows, int cols, pm_mdot_init init)
{
	pm_mdot_tensor *t = &net->tensor[net->n_tensors++];

	if (layer >= 0)
		snprintf(t->name, sizeof(t->name), "%.16s.%d", name, layer);
	else
		snprintf(t->name, sizeof(t->name), "%s", name);
	t->at = net->n_params;
	t->rows = rows;
	t->cols = cols;
	t->init = init;
	net->n_params += (size_t) rows * cols;
	return t->at;
}

/*
 * branch: how the outputs of the two branches start.  Those of the sequence
 * start at zero: the network begins as a model of each operator alone, and
 * context has to earn its place.
 */
static void
add_encoder(pm_mdot_net *net, const char *prefix, int layer, const pm_encoder_shape *s, pm_mdot_init branch,
			pm_encoder_params *p)
{
	char		name[16];

#define ADD(field, rows, cols, init) \
	(snprintf(name, sizeof(name), "%s_%s", prefix, #field), \
	 p->field = add_tensor(net, name, layer, rows, cols, init))
	ADD(ln1_g, 1, s->d, PM_INIT_ONE);
	ADD(ln1_b, 1, s->d, PM_INIT_ZERO);
	ADD(wqkv, s->d, 3 * s->d, PM_INIT_XAVIER);
	ADD(bqkv, 1, 3 * s->d, PM_INIT_ZERO);
	ADD(wo, s->d, s->d, branch);
	ADD(bo, 1, s->d, PM_INIT_ZERO);
	ADD(ln2_g, 1, s->d, PM_INIT_ONE);
	ADD(ln2_b, 1, s->d, PM_INIT_ZERO);
	ADD(w1, s->d, s->ff, PM_INIT_XAVIER);
	ADD(b1, 1, s->ff, PM_INIT_ZERO);
	ADD(w2, s->ff, s->d, branch);
	ADD(b2, 1, s->d, PM_INIT_ZERO);
	if (s->relations > 0)
		ADD(bias, s->heads, s->relations, PM_INIT_ZERO);
#undef ADD
}

static void
add_operator_encoder(pm_mdot_net *net)
{
	int			k = net->c.d_op;

	net->type = add_tensor(net, "type", -1, net->c.n_types, k, PM_INIT_TABLE);
	net->dtype = add_tensor(net, "dtype", -1, PM_N_DTYPES, k, PM_INIT_TABLE);
	net->layout = add_tensor(net, "layout", -1, PM_N_LAYOUTS, k, PM_INIT_TABLE);
	net->framework = add_tensor(net, "framework", -1, net->c.n_frameworks, k, PM_INIT_TABLE);
	net->tag = add_tensor(net, "tag", -1, 3, k, PM_INIT_ZERO);
	net->wc1 = add_tensor(net, "wc1", -1, 2 * PM_N_SLOTS, k, PM_INIT_XAVIER);
	net->bc1 = add_tensor(net, "bc1", -1, 1, k, PM_INIT_ZERO);
	net->wc2 = add_tensor(net, "wc2", -1, k, k, PM_INIT_XAVIER);
	net->bc2 = add_tensor(net, "bc2", -1, 1, k, PM_INIT_ZERO);
	net->wl1 = add_tensor(net, "wl1", -1, PM_N_LOADS, k, PM_INIT_XAVIER);
	net->bl1 = add_tensor(net, "bl1", -1, 1, k, PM_INIT_ZERO);
	net->wl2 = add_tensor(net, "wl2", -1, k, k, PM_INIT_XAVIER);
	net->bl2 = add_tensor(net, "bl2", -1, 1, k, PM_INIT_ZERO);
	net->op_shape = (pm_encoder_shape) {.d = k, .heads = net->c.op_heads, .ff = 2 * k};
	for (int l = 0; l < net->c.op_layers; l++)
		add_encoder(net, "op", l, &net->op_shape, PM_INIT_XAVIER, &net->op[l]);
	net->lnf_g = add_tensor(net, "lnf_g", -1, 1, k, PM_INIT_ONE);
	net->lnf_b = add_tensor(net, "lnf_b", -1, 1, k, PM_INIT_ZERO);
	net->wf = add_tensor(net, "wf", -1, 3 * k, net->c.d, PM_INIT_XAVIER);
	net->bf = add_tensor(net, "bf", -1, 1, net->c.d, PM_INIT_ZERO);
}

static void
add_heads(pm_mdot_net *net)
{
	int			d = net->c.d;
	int			h = net->c.hidden;

	net->wh = add_tensor(net, "wh", -1, d, 3 * h, PM_INIT_XAVIER);
	net->bh = add_tensor(net, "bh", -1, 1, 3 * h, PM_INIT_ZERO);
	net->wa = add_tensor(net, "wa", -1, h, 1, PM_INIT_ZERO);
	net->ba = add_tensor(net, "ba", -1, 1, 1, PM_INIT_ZERO);
	net->wm = add_tensor(net, "wm", -1, h, 1, PM_INIT_ZERO);
	net->bm = add_tensor(net, "bm", -1, 1, 1, PM_INIT_ZERO);
	net->wl = add_tensor(net, "wl", -1, h, 1, PM_INIT_ZERO);
	net->bl = add_tensor(net, "bl", -1, 1, 1, PM_INIT_ZERO);
	net->wq1 = add_tensor(net, "wq1", -1, d, h, PM_INIT_XAVIER);
	net->bq1 = add_tensor(net, "bq1", -1, 1, h, PM_INIT_ZERO);
	net->wq2 = add_tensor(net, "wq2", -1, h, 1, PM_INIT_ZERO);
	net->bq2 = add_tensor(net, "bq2", -1, 1, 1, PM_INIT_ZERO);
	net->wz1 = add_tensor(net, "wz1", -1, 3 * d, h, PM_INIT_XAVIER);
	net->bz1 = add_tensor(net, "bz1", -1, 1, h, PM_INIT_ZERO);
	net->wz2 = add_tensor(net, "wz2", -1, h, 1, PM_INIT_ZERO);
	net->bz2 = add_tensor(net, "bz2", -1, 1, 1, PM_INIT_ZERO);
	net->adapter = add_tensor(net, "adapter", -1, net->c.n_gpus, PM_N_CLASSES, PM_INIT_ZERO);
}

void
pm_mdot_net_init(pm_mdot_net *net, const pm_mdot_config *c)
{
	int			d = c->d;

	memset(net, 0, sizeof(*net));
	net->c = *c;
	net->raw_scale = net->log_sigma = 1;
	add_operator_encoder(net);
	net->wpos = add_tensor(net, "wpos", -1, PM_POSITION_DIM, d, PM_INIT_ZERO);
	net->wj1 = add_tensor(net, "wj1", -1, PM_N_JOB, d, PM_INIT_XAVIER);
	net->bj1 = add_tensor(net, "bj1", -1, 1, d, PM_INIT_ZERO);
	net->wj2 = add_tensor(net, "wj2", -1, d, d, PM_INIT_XAVIER);
	net->bj2 = add_tensor(net, "bj2", -1, 1, d, PM_INIT_ZERO);
	net->seq_shape = (pm_encoder_shape) {.d = d, .heads = c->heads, .ff = 2 * d, .relations = PM_N_RELATIONS};
	for (int l = 0; l < c->layers; l++)
		add_encoder(net, "seq", l, &net->seq_shape, PM_INIT_ZERO, &net->seq[l]);
	net->lnz_g = add_tensor(net, "lnz_g", -1, 1, d, PM_INIT_ONE);
	net->lnz_b = add_tensor(net, "lnz_b", -1, 1, d, PM_INIT_ZERO);
	add_heads(net);
}

void
pm_mdot_net_weights(const pm_mdot_net *net, pm_real *w, pm_rng *rng)
{
	memset(w, 0, net->n_params * sizeof(pm_real));
	for (int i = 0; i < net->n_tensors; i++)
	{
		const pm_mdot_tensor *t = &net->tensor[i];
		size_t		n = (size_t) t->rows * t->cols;

		if (t->init == PM_INIT_XAVIER)
			pm_init_xavier(w + t->at, t->rows, t->cols, 1, rng);
		for (size_t k = 0; k < n; k++)
		{
			if (t->init == PM_INIT_ONE)
				w[t->at + k] = 1;
			else if (t->init == PM_INIT_TABLE)
				w[t->at + k] = (pm_real) (0.5 * (2 * pm_rng_uniform(rng) - 1));
		}
	}
}

void
pm_mdot_net_decay(const pm_mdot_net *net, uint8_t *decay)
{
	memset(decay, 0, net->n_params);
	for (int i = 0; i < net->n_tensors; i++)
	{
		const pm_mdot_tensor *t = &net->tensor[i];

		/* matrices; not tables, biases, layer norms */
		if (t->rows > 3 && t->init != PM_INIT_TABLE && t->at != net->adapter)
			memset(decay + t->at, 1, (size_t) t->rows * t->cols);
	}
}

/* ---- workspace ---- */

typedef struct acts
{
	int			n;				/* samples */
	int			ops;			/* operators of all samples */
	int			rows;			/* ops + n */
	pm_segment *seg;			/* [n] */
	pm_segments segs;
	pm_segments triples;
	int32_t    *type;			/* [ops] embedding row in use, after hiding */
	int32_t    *framework;		/* [n] */

	/* operator encoder */
	pm_real    *config;			/* [ops, 2 * PM_N_SLOTS] */
	pm_real    *load;			/* [ops, PM_N_LOADS] */
	pm_real    *c_pre, *c_act;	/* [ops, d_op] */
	pm_real    *l_pre, *l_act;	/* [ops, d_op] */
	pm_real    *x3;				/* [ops, 3, d_op] residual stream */
	pm_encoder_acts op[PM_MDOT_MAX_LAYERS];
	pm_real    *f, *f_xhat, *f_rstd;	/* [ops * 3, d_op], [ops * 3] */
	pm_real    *o;				/* [ops, d] */

	/* job token and sequence */
	pm_real    *job;			/* [n, PM_N_JOB] */
	pm_real    *j_pre, *j_act, *j;	/* [n, d] */
	pm_real    *x;				/* [rows, d] residual stream */
	pm_encoder_acts seq[PM_MDOT_MAX_LAYERS];
	pm_real    *z, *z_xhat, *z_rstd;	/* [rows, d], [rows] */

	/* heads */
	pm_real    *h_pre, *h_act, *h_mask;	/* [rows, 3 * hidden] */
	pm_real    *z0;				/* [n, d] job tokens */
	pm_real    *q_pre, *q_act;	/* [n, hidden] */
	pm_real    *pool;			/* [n, 3 * d] job token, mean, max */
	int32_t    *top;			/* [n, d] row of the maximum */
	pm_real    *p_pre, *p_act;	/* [n, hidden] */
	double	   *k_us, *l_us, *t_us;	/* [ops] device, launch, both; one copy */
	double	   *da, *dm, *dl;	/* [ops] derivatives of t_us by the three outputs */
	double	   *sum_us, *rest_us, *rest_slope, *c, *c_slope;	/* [n] */

	/* backward */
	pm_real    *dz;				/* [rows, d] */
	pm_real    *dx;				/* [rows, d] */
	pm_real    *d_ops;			/* [ops, d] */
	pm_real    *dx3;			/* [ops, 3, d_op] */
	pm_real    *wide;			/* [max(rows * 3 * max(d, hidden), 9 * ops * d_op)] */
	pm_real    *small;			/* [n * (4d + 2 hidden + d_op)] */
	pm_encoder_scratch scratch;
} acts;

typedef struct cursor
{
	char	   *base;			/* NULL: only measure */
	size_t		at;
} cursor;

static void *
take(cursor *c, size_t count, size_t size)
{
	void	   *p = c->base ? c->base + c->at : NULL;

	c->at += (count * size + 63) & ~(size_t) 63;
	return p;
}

#define REALS(count) take(c, (count), sizeof(pm_real))
#define DOUBLES(count) take(c, (count), sizeof(double))

static void
lay_out_encoder(cursor *c, const pm_encoder_shape *s, size_t rows, size_t n_probs, bool dropout, pm_encoder_acts *e)
{
	size_t		d = s->d;

	e->xhat1 = REALS(rows * d);
	e->u1 = REALS(rows * d);
	e->rstd1 = REALS(rows);
	e->rstd2 = REALS(rows);
	e->qkv = REALS(rows * 3 * d);
	e->probs = REALS(n_probs);
	e->mixed = REALS(rows * d);
	e->mask1 = dropout ? REALS(rows * d) : NULL;
	e->mask2 = dropout ? REALS(rows * d) : NULL;
	e->xhat2 = REALS(rows * d);
	e->u2 = REALS(rows * d);
	e->pre = REALS(rows * s->ff);
	e->act = REALS(rows * s->ff);
}

static void
lay_out_operators(cursor *c, const pm_mdot_net *net, acts *t)
{
	size_t		u = t->ops;
	size_t		k = net->c.d_op;

	t->type = take(c, u, sizeof(int32_t));
	t->config = REALS(u * 2 * PM_N_SLOTS);
	t->load = REALS(u * PM_N_LOADS);
	t->c_pre = REALS(u * k);
	t->c_act = REALS(u * k);
	t->l_pre = REALS(u * k);
	t->l_act = REALS(u * k);
	t->x3 = REALS(3 * u * k);
	for (int l = 0; l < net->c.op_layers; l++)
		lay_out_encoder(c, &net->op_shape, 3 * u, 9 * u * net->c.op_heads, false, &t->op[l]);
	t->f = REALS(3 * u * k);
	t->f_xhat = REALS(3 * u * k);
	t->f_rstd = REALS(3 * u);
	t->o = REALS(u * net->c.d);
}

static void
lay_out_heads(cursor *c, const pm_mdot_net *net, acts *t)
{
	size_t		d = net->c.d;
	size_t		h = net->c.hidden;

	t->h_pre = REALS(t->rows * 3 * h);
	t->h_act = REALS(t->rows * 3 * h);
	t->h_mask = REALS(t->rows * 3 * h);
	t->z0 = REALS(t->n * d);
	t->q_pre = REALS(t->n * h);
	t->q_act = REALS(t->n * h);
	t->pool = REALS(t->n * 3 * d);
	t->top = take(c, t->n * d, sizeof(int32_t));
	t->p_pre = REALS(t->n * h);
	t->p_act = REALS(t->n * h);
	t->k_us = DOUBLES(t->ops);
	t->l_us = DOUBLES(t->ops);
	t->t_us = DOUBLES(t->ops);
	t->da = DOUBLES(t->ops);
	t->dm = DOUBLES(t->ops);
	t->dl = DOUBLES(t->ops);
	t->sum_us = DOUBLES(t->n);
	t->rest_us = DOUBLES(t->n);
	t->rest_slope = DOUBLES(t->n);
	t->c = DOUBLES(t->n);
	t->c_slope = DOUBLES(t->n);
}

static size_t
max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

static void
lay_out_backward(cursor *c, const pm_mdot_net *net, acts *t)
{
	size_t		d = net->c.d;
	size_t		k = net->c.d_op;
	size_t		h = net->c.hidden;
	size_t		wide = max_size(t->rows * 3 * max_size(d, h), 3 * t->ops * 3 * k);
	size_t		narrow = max_size(t->rows * d, 3 * t->ops * k);

	t->dz = REALS(t->rows * d);
	t->dx = REALS(t->rows * d);
	t->d_ops = REALS(t->ops * d);
	t->dx3 = REALS(3 * t->ops * k);
	t->wide = t->scratch.wide = REALS(wide);
	t->scratch.narrow = REALS(narrow);
	t->scratch.mixed = REALS(narrow);
	t->scratch.scores = REALS((size_t) t->segs.longest * t->segs.longest);
	t->small = REALS(t->n * (4 * d + 2 * h + k));
}

/* tokens[i]: operators of sample i */
static size_t
lay_out(const pm_mdot_net *net, const int *tokens, int n, char *base, acts *t)
{
	cursor		cur = {base, 0};
	cursor	   *c = &cur;

	memset(t, 0, sizeof(*t));
	t->n = n;
	t->seg = take(c, n, sizeof(pm_segment));
	t->framework = take(c, n, sizeof(int32_t));
	for (int i = 0; i < n; i++)
	{
		int			len = tokens[i] + 1;

		if (base)
			t->seg[i] = (pm_segment) {.start = t->rows, .n = len, .probs_at = t->segs.n_probs};
		t->rows += len;
		t->ops += tokens[i];
		t->segs.n_probs += (size_t) net->c.heads * len * len;
		t->segs.longest = t->segs.longest > len ? t->segs.longest : len;
	}
	t->segs.n = n;
	t->segs.list = t->seg;
	lay_out_operators(c, net, t);
	t->job = REALS(n * PM_N_JOB);
	t->j_pre = REALS(n * net->c.d);
	t->j_act = REALS(n * net->c.d);
	t->j = REALS(n * net->c.d);
	t->x = REALS((size_t) t->rows * net->c.d);
	for (int l = 0; l < net->c.layers; l++)
		lay_out_encoder(c, &net->seq_shape, t->rows, t->segs.n_probs, true, &t->seq[l]);
	t->z = REALS((size_t) t->rows * net->c.d);
	t->z_xhat = REALS((size_t) t->rows * net->c.d);
	t->z_rstd = REALS(t->rows);
	lay_out_heads(c, net, t);
	lay_out_backward(c, net, t);
	return cur.at;
}

size_t
pm_mdot_workspace(const pm_mdot_net *net, const int *tokens, int n)
{
	acts		t;

	return lay_out(net, tokens, n, NULL, &t);
}

/* ---- gathering the samples ---- */

static int32_t
hide(int32_t row, double probability, pm_rng *rng)
{
	return rng != NULL && pm_rng_uniform(rng) < probability ? 0 : row;
}

static void
gather(const pm_mdot_data *data, const int *index, acts *t, pm_rng *rng)
{
	double		p = data->net->c.unknown;
	int			op = 0;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];

		t->seg[i].relation = in->skeleton->relation;
		t->seg[i].log_copies = in->log_copies;
		t->framework[i] = hide(in->framework, p, rng);
		memcpy(t->job + i * PM_N_JOB, in->job, sizeof(in->job));
		memcpy(t->config + (size_t) op * 2 * PM_N_SLOTS, in->config, sizeof(pm_real) * in->n * 2 * PM_N_SLOTS);
		memcpy(t->load + (size_t) op * PM_N_LOADS, in->load, sizeof(pm_real) * in->n * PM_N_LOADS);
		for (int k = 0; k < in->n; k++)
			t->type[op + k] = hide(in->type[k], p, rng);
		op += in->n;
	}
}

/* ---- operator encoder ---- */

/* First row of x3: what the operator is, and under which settings it runs. */
static void
embed(const pm_mdot_data *data, const int *index, const pm_real *w, acts *t)
{
	const pm_mdot_net *net = data->net;
	int			k = net->c.d_op;
	int			op = 0;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		const pm_real *dtype = w + net->dtype + (size_t) in->dtype * k;
		const pm_real *layout = w + net->layout + (size_t) in->layout * k;
		const pm_real *framework = w + net->framework + (size_t) t->framework[i] * k;

		for (int m = 0; m < in->n; m++, op++)
		{
			const pm_real *type = w + net->type + (size_t) t->type[op] * k;
			pm_real    *x = t->x3 + (size_t) op * 3 * k;

			for (int j = 0; j < k; j++)
				x[j] = type[j] + dtype[j] + layout[j] + framework[j] + w[net->tag + j];
		}
	}
}

static void
embed_back(const pm_mdot_data *data, const int *index, pm_real *grad, const acts *t)
{
	const pm_mdot_net *net = data->net;
	int			k = net->c.d_op;
	int			op = 0;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		pm_real    *sum = t->small;

		memset(sum, 0, k * sizeof(pm_real));
		for (int m = 0; m < in->n; m++, op++)
		{
			const pm_real *dx = t->dx3 + (size_t) op * 3 * k;

			pm_add(sum, dx, k);
			pm_add(grad + net->type + (size_t) t->type[op] * k, dx, k);
		}
		pm_add(grad + net->dtype + (size_t) in->dtype * k, sum, k);
		pm_add(grad + net->layout + (size_t) in->layout * k, sum, k);
		pm_add(grad + net->framework + (size_t) t->framework[i] * k, sum, k);
		pm_add(grad + net->tag, sum, k);
	}
}

/* Row `dim` of x3 = gelu(in W1 + b1) W2 + b2 + tag */
static void
dimension(const pm_mdot_net *net, const pm_real *w, acts *t, int dim, const pm_real *in, int width,
		  const size_t at[4], pm_real *pre, pm_real *act)
{
	int			k = net->c.d_op;

	pm_linear(pre, in, w + at[0], w + at[1], t->ops, width, k);
	pm_gelu(act, pre, t->ops * k);
	for (int op = 0; op < t->ops; op++)
		for (int j = 0; j < k; j++)
			t->x3[((size_t) op * 3 + dim) * k + j] = w[at[3] + j] + w[net->tag + dim * k + j];
	pm_gemm(false, false, t->ops, k, k, 1, act, k, w + at[2], k, 1, t->x3 + dim * k, 3 * k);
}

static void
dimension_back(const pm_mdot_net *net, const pm_real *w, pm_real *grad, acts *t, int dim, const pm_real *in,
			   int width, const size_t at[4], const pm_real *pre, const pm_real *act)
{
	int			k = net->c.d_op;
	const pm_real *dy = t->dx3 + dim * k;
	pm_real    *da = t->wide;

	for (int op = 0; op < t->ops; op++)
	{
		pm_add(grad + at[3], dy + (size_t) op * 3 * k, k);
		pm_add(grad + net->tag + dim * k, dy + (size_t) op * 3 * k, k);
	}
	pm_gemm(true, false, k, k, t->ops, 1, act, k, dy, 3 * k, 1, grad + at[2], k);
	pm_gemm(false, true, t->ops, k, k, 1, dy, 3 * k, w + at[2], k, 0, da, k);
	pm_mul(da, pre, t->ops * k);
	pm_linear_back(NULL, grad + at[0], grad + at[1], da, in, w + at[0], t->ops, width, k, false);
}

static void
operator_encoder(const pm_mdot_data *data, const int *index, const pm_real *w, acts *t)
{
	const pm_mdot_net *net = data->net;
	const size_t config[4] = {net->wc1, net->bc1, net->wc2, net->bc2};
	const size_t load[4] = {net->wl1, net->bl1, net->wl2, net->bl2};
	int			k = net->c.d_op;

	embed(data, index, w, t);
	dimension(net, w, t, 1, t->config, 2 * PM_N_SLOTS, config, t->c_pre, t->c_act);
	dimension(net, w, t, 2, t->load, PM_N_LOADS, load, t->l_pre, t->l_act);
	for (int l = 0; l < net->c.op_layers; l++)
		pm_encoder_forward(t->x3, w, &net->op[l], &net->op_shape, &t->triples, 3 * t->ops, NULL,
						   &t->op[l], &t->scratch);
	pm_layer_norm(t->f, t->f_xhat, t->f_rstd, t->x3, w + net->lnf_g, w + net->lnf_b, 3 * t->ops, k);
	pm_linear(t->o, t->f, w + net->wf, w + net->bf, t->ops, 3 * k, net->c.d);
}

/* t->d_ops[ops, d] is the gradient of its output. */
static void
operator_encoder_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, acts *t)
{
	const pm_mdot_net *net = data->net;
	const size_t config[4] = {net->wc1, net->bc1, net->wc2, net->bc2};
	const size_t load[4] = {net->wl1, net->bl1, net->wl2, net->bl2};
	int			k = net->c.d_op;

	pm_linear_back(t->wide, grad + net->wf, grad + net->bf, t->d_ops, t->f, w + net->wf, t->ops, 3 * k,
				   net->c.d, false);
	memset(t->dx3, 0, (size_t) t->ops * 3 * k * sizeof(pm_real));
	pm_layer_norm_back(t->dx3, grad + net->lnf_g, grad + net->lnf_b, t->wide, t->f_xhat, t->f_rstd,
					   w + net->lnf_g, 3 * t->ops, k);
	for (int l = net->c.op_layers - 1; l >= 0; l--)
		pm_encoder_backward(t->dx3, grad, w, &net->op[l], &net->op_shape, &t->triples, 3 * t->ops, false,
							&t->op[l], &t->scratch);
	dimension_back(net, w, grad, t, 2, t->load, PM_N_LOADS, load, t->l_pre, t->l_act);
	dimension_back(net, w, grad, t, 1, t->config, 2 * PM_N_SLOTS, config, t->c_pre, t->c_act);
	embed_back(data, index, grad, t);
}

/* ---- sequence ---- */

/* Job token first, then operators plus their positions. */
static void
assemble(const pm_mdot_data *data, const int *index, const pm_real *w, acts *t)
{
	const pm_mdot_net *net = data->net;
	int			d = net->c.d;
	int			op = 0;

	pm_linear(t->j_pre, t->job, w + net->wj1, w + net->bj1, t->n, PM_N_JOB, d);
	pm_gelu(t->j_act, t->j_pre, t->n * d);
	pm_linear(t->j, t->j_act, w + net->wj2, w + net->bj2, t->n, d, d);
	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		pm_real    *x = t->x + (size_t) t->seg[i].start * d;

		memcpy(x, t->j + (size_t) i * d, d * sizeof(pm_real));
		memcpy(x + d, t->o + (size_t) op * d, (size_t) in->n * d * sizeof(pm_real));
		pm_gemm(false, false, in->n, d, PM_POSITION_DIM, 1, in->skeleton->position, PM_POSITION_DIM,
				w + net->wpos, d, 1, x + d, d);
		op += in->n;
	}
}

/* From t->dx to t->d_ops and the job token's weights. */
static void
assemble_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, acts *t)
{
	const pm_mdot_net *net = data->net;
	int			d = net->c.d;
	int			op = 0;
	pm_real    *dj = t->small;
	pm_real    *da = t->small + (size_t) t->n * d;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		const pm_real *dx = t->dx + (size_t) t->seg[i].start * d;

		memcpy(dj + (size_t) i * d, dx, d * sizeof(pm_real));
		memcpy(t->d_ops + (size_t) op * d, dx + d, (size_t) in->n * d * sizeof(pm_real));
		pm_gemm(true, false, PM_POSITION_DIM, d, in->n, 1, in->skeleton->position, PM_POSITION_DIM,
				dx + d, d, 1, grad + net->wpos, d);
		op += in->n;
	}
	pm_linear_back(da, grad + net->wj2, grad + net->bj2, dj, t->j_act, w + net->wj2, t->n, d, d, false);
	pm_mul(da, t->j_pre, t->n * d);
	pm_linear_back(NULL, grad + net->wj1, grad + net->bj1, da, t->job, w + net->wj1, t->n, PM_N_JOB, d, false);
}

/* ---- heads ---- */

/* Multiplicity-weighted mean and plain maximum over the operators of each sample, beside its job token. */
static void
pool(const pm_mdot_data *data, const int *index, acts *t)
{
	int			d = data->net->c.d;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		const pm_real *z = t->z + (size_t) t->seg[i].start * d;
		pm_real    *out = t->pool + (size_t) i * 3 * d;
		int32_t    *top = t->top + (size_t) i * d;

		memcpy(out, z, d * sizeof(pm_real));
		memset(out + d, 0, d * sizeof(pm_real));
		for (int j = 0; j < d; j++)
			top[j] = 1;
		for (int m = 0; m < in->n; m++)
		{
			const pm_real *zm = z + (size_t) (m + 1) * d;
			pm_real		share = (pm_real) (in->copies[m] / in->skeleton->dag.n);

			for (int j = 0; j < d; j++)
			{
				out[d + j] += share * zm[j];
				if (zm[j] > z[(size_t) top[j] * d + j])
					top[j] = m + 1;
			}
		}
		for (int j = 0; j < d; j++)
			out[2 * d + j] = z[(size_t) top[j] * d + j];
	}
}

/* dpool[n, 3d] is spread over t->dz. */
static void
pool_back(const pm_mdot_data *data, const int *index, const pm_real *dpool, acts *t)
{
	int			d = data->net->c.d;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		const pm_real *dp = dpool + (size_t) i * 3 * d;
		pm_real    *dz = t->dz + (size_t) t->seg[i].start * d;

		pm_add(dz, dp, d);
		for (int m = 0; m < in->n; m++)
		{
			pm_real		share = (pm_real) (in->copies[m] / in->skeleton->dag.n);

			for (int j = 0; j < d; j++)
				dz[(size_t) (m + 1) * d + j] += share * dp[d + j];
		}
		for (int j = 0; j < d; j++)
			dz[(size_t) t->top[(size_t) i * d + j] * d + j] += dp[2 * d + j];
	}
}

/* x held to [low, high] but for a leak; *slope is the derivative. */
static double
leaky_clamp(double x, double low, double high, double *slope)
{
	double		held = x < low ? low : (x > high ? high : x);

	*slope = held == x ? 1 : LEAK;
	return held + LEAK * (x - held);
}

/* ln(1 + e^x), and its derivative */
static double
softplus(double x, double *slope)
{
	*slope = 1 / (1 + exp(-x));
	return x > 30 ? x : log1p(exp(x));
}

static double
dot(const pm_real *a, const pm_real *b, int n)
{
	double		s = 0;

	for (int i = 0; i < n; i++)
		s += (double) a[i] * b[i];
	return s;
}

/*
 * t = (k^4 + l^4)^(1/4): the larger of device and launch time, smoothly.
 * k = compute * exp(a) + memory * exp(m), l = launches * softplus(l_raw).
 *
 * The design's k = max(compute, memory) * exp(a) has one factor for both, so
 * that an operator whose bytes set its roofline cannot grow with its FLOPs:
 * depthwise convolutions of large kernels, run without matrix units, were
 * predicted at half their time.
 */
static void
token_time(const pm_mdot_net *net, const pm_real *w, const pm_input *in, int m, const pm_real *h, acts *t, int op)
{
	int			hidden = net->c.hidden;
	double		adapter = w[net->adapter + (size_t) in->gpu * PM_N_CLASSES + in->op_class[m]];
	double		a_slope,
				m_slope,
				l_slope;
	double		a = leaky_clamp(dot(h, w + net->wa, hidden) + w[net->ba] + adapter, EXPONENT_MIN, EXPONENT_MAX, &a_slope);
	double		b = leaky_clamp(dot(h + hidden, w + net->wm, hidden) + w[net->bm] + adapter, EXPONENT_MIN, EXPONENT_MAX, &m_slope);
	double		launch = softplus(dot(h + 2 * hidden, w + net->wl, hidden) + w[net->bl], &l_slope);
	double		compute = in->compute_us[m] * exp(a);
	double		memory = in->memory_us[m] * exp(b);
	double		k = compute + memory;
	double		l = LAUNCH_US * in->kernels[m] * launch;
	double		time = pow(k * k * k * k + l * l * l * l, 0.25);
	double		dk = time > 0 ? pow(k / time, 3) : 0;

	t->k_us[op] = k;
	t->l_us[op] = l;
	t->t_us[op] = time;
	t->da[op] = dk * compute * a_slope;
	t->dm[op] = dk * memory * m_slope;
	t->dl[op] = time > 0 ? pow(l / time, 3) * LAUNCH_US * in->kernels[m] * l_slope : 0;
}

static void
pooled_forward(const pm_mdot_data *data, const int *index, const pm_real *w, acts *t)
{
	const pm_mdot_net *net = data->net;
	int			hidden = net->c.hidden;

	pool(data, index, t);
	pm_linear(t->p_pre, t->pool, w + net->wz1, w + net->bz1, t->n, 3 * net->c.d, hidden);
	pm_gelu(t->p_act, t->p_pre, t->n * hidden);
	for (int i = 0; i < t->n; i++)
	{
		double		raw = dot(t->p_act + (size_t) i * hidden, w + net->wz2, hidden) + w[net->bz2];

		if (net->c.head == PM_HEAD_POOLED)
		{
			t->c[i] = net->log_mean + net->log_sigma * raw;
			t->c_slope[i] = net->log_sigma;
		}
		else
			t->c[i] = leaky_clamp(raw, -RESIDUAL_MAX, RESIDUAL_MAX, &t->c_slope[i]);
	}
}

/* dc[n] are the gradients of t->c */
static void
pooled_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, const double *dc, acts *t)
{
	const pm_mdot_net *net = data->net;
	int			hidden = net->c.hidden;
	pm_real    *dact = t->small;
	pm_real    *dpool = t->small + (size_t) t->n * hidden;

	for (int i = 0; i < t->n; i++)
	{
		pm_real		g = (pm_real) (dc[i] * t->c_slope[i]);

		for (int j = 0; j < hidden; j++)
		{
			grad[net->wz2 + j] += g * t->p_act[(size_t) i * hidden + j];
			dact[(size_t) i * hidden + j] = g * w[net->wz2 + j];
		}
		grad[net->bz2] += g;
	}
	pm_mul(dact, t->p_pre, t->n * hidden);
	pm_linear_back(dpool, grad + net->wz1, grad + net->bz1, dact, t->pool, w + net->wz1, t->n, 3 * net->c.d,
				   hidden, false);
	pool_back(data, index, dpool, t);
}

/* What a step costs beside its operators, from the job token. */
static void
rest_forward(const pm_mdot_net *net, const pm_real *w, acts *t)
{
	int			d = net->c.d;
	int			hidden = net->c.hidden;

	for (int i = 0; i < t->n; i++)
		memcpy(t->z0 + (size_t) i * d, t->z + (size_t) t->seg[i].start * d, d * sizeof(pm_real));
	pm_linear(t->q_pre, t->z0, w + net->wq1, w + net->bq1, t->n, d, hidden);
	pm_gelu(t->q_act, t->q_pre, t->n * hidden);
	for (int i = 0; i < t->n; i++)
	{
		double		raw = dot(t->q_act + (size_t) i * hidden, w + net->wq2, hidden) + w[net->bq2];

		t->rest_us[i] = REST_US * softplus(raw, &t->rest_slope[i]);
		t->rest_slope[i] *= REST_US;
	}
}

static void
rest_back(const pm_mdot_net *net, const pm_real *w, pm_real *grad, const double *dsum, acts *t)
{
	int			d = net->c.d;
	int			hidden = net->c.hidden;
	pm_real    *dact = t->small;
	pm_real    *dz0 = t->small + (size_t) t->n * hidden;

	for (int i = 0; i < t->n; i++)
	{
		pm_real		g = (pm_real) (dsum[i] * t->rest_slope[i]);

		for (int j = 0; j < hidden; j++)
		{
			grad[net->wq2 + j] += g * t->q_act[(size_t) i * hidden + j];
			dact[(size_t) i * hidden + j] = g * w[net->wq2 + j];
		}
		grad[net->bq2] += g;
	}
	pm_mul(dact, t->q_pre, t->n * hidden);
	pm_linear_back(dz0, grad + net->wq1, grad + net->bq1, dact, t->z0, w + net->wq1, t->n, d, hidden, false);
	for (int i = 0; i < t->n; i++)
		pm_add(t->dz + (size_t) t->seg[i].start * d, dz0 + (size_t) i * d, d);
}

static void
tokens_forward(const pm_mdot_data *data, const int *index, const pm_real *w, pm_rng *rng, acts *t)
{
	const pm_mdot_net *net = data->net;
	int			h3 = 3 * net->c.hidden;
	int			op = 0;

	pm_linear(t->h_pre, t->z, w + net->wh, w + net->bh, t->rows, net->c.d, h3);
	pm_gelu(t->h_act, t->h_pre, t->rows * h3);
	if (rng != NULL)
	{
		/* the mask goes into the derivative too, and so into the backward pass */
		pm_dropout_mask(t->h_mask, t->rows * h3, net->c.head_dropout, rng);
		pm_mul(t->h_act, t->h_mask, t->rows * h3);
		pm_mul(t->h_pre, t->h_mask, t->rows * h3);
	}
	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];

		t->sum_us[i] = t->rest_us[i];
		for (int m = 0; m < in->n; m++, op++)
		{
			token_time(net, w, in, m, t->h_act + (size_t) (t->seg[i].start + 1 + m) * h3, t, op);
			t->sum_us[i] += in->copies[m] * t->t_us[op];
		}
	}
}

/* dsum[n] are the gradients of t->sum_us */
static void
tokens_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, const double *dsum, acts *t)
{
	const pm_mdot_net *net = data->net;
	int			hidden = net->c.hidden;
	int			h3 = 3 * hidden;
	pm_real    *dh = t->wide;	/* [rows, 3 * hidden] */
	int			op = 0;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];

		memset(dh + (size_t) t->seg[i].start * h3, 0, h3 * sizeof(pm_real));
		for (int m = 0; m < in->n; m++, op++)
		{
			size_t		row = (size_t) (t->seg[i].start + 1 + m) * h3;
			pm_real		ga = (pm_real) (dsum[i] * in->copies[m] * t->da[op]);
			pm_real		gm = (pm_real) (dsum[i] * in->copies[m] * t->dm[op]);
			pm_real		gl = (pm_real) (dsum[i] * in->copies[m] * t->dl[op]);

			for (int j = 0; j < hidden; j++)
			{
				grad[net->wa + j] += ga * t->h_act[row + j];
				grad[net->wm + j] += gm * t->h_act[row + hidden + j];
				grad[net->wl + j] += gl * t->h_act[row + 2 * hidden + j];
				dh[row + j] = ga * w[net->wa + j];
				dh[row + hidden + j] = gm * w[net->wm + j];
				dh[row + 2 * hidden + j] = gl * w[net->wl + j];
			}
			grad[net->ba] += ga;
			grad[net->bm] += gm;
			grad[net->bl] += gl;
			grad[net->adapter + (size_t) in->gpu * PM_N_CLASSES + in->op_class[m]] += ga + gm;
		}
	}
	pm_mul(dh, t->h_pre, t->rows * h3);
	pm_linear_back(t->dz, grad + net->wh, grad + net->bh, dh, t->z, w + net->wh, t->rows, net->c.d, h3, true);
}

/* predicted[n] in ms */
static void
heads_forward(const pm_mdot_data *data, const int *index, const pm_real *w, pm_rng *rng, acts *t, double *predicted)
{
	const pm_mdot_net *net = data->net;
	bool		additive = net->c.head == PM_HEAD_ADDITIVE;

	if (!additive || net->c.residual)
		pooled_forward(data, index, w, t);
	else
		for (int i = 0; i < t->n; i++)
			t->c[i] = 0;
	if (additive)
	{
		rest_forward(net, w, t);
		tokens_forward(data, index, w, rng, t);
	}
	for (int i = 0; i < t->n; i++)
		predicted[i] = additive ? t->sum_us[i] * exp(t->c[i]) / 1000 : exp(t->c[i]);
}

/* dms[n]: gradients of predicted; overwritten. Fills t->dz. */
static void
heads_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, const double *predicted,
		   double *dms, acts *t)
{
	const pm_mdot_net *net = data->net;
	bool		additive = net->c.head == PM_HEAD_ADDITIVE;
	double	   *dc = t->rest_us;	/* both are done with */
	double	   *dsum = dms;

	memset(t->dz, 0, (size_t) t->rows * net->c.d * sizeof(pm_real));
	for (int i = 0; i < t->n; i++)
	{
		dc[i] = dms[i] * predicted[i];
		dsum[i] = dms[i] * exp(t->c[i]) / 1000;
	}
	if (!additive || net->c.residual)
		pooled_back(data, index, w, grad, dc, t);
	if (additive)
	{
		rest_back(net, w, grad, dsum, t);
		tokens_back(data, index, w, grad, dsum, t);
	}
}

/* ---- loss ---- */

/* Loss of one sample; *slope is its derivative by the prediction. */
static double
sample_loss(const pm_mdot_net *net, double predicted, double truth, double *slope)
{
	double		eps;

	switch (net->c.loss)
	{
		case PM_LOSS_MSE_RAW:
			eps = (predicted - truth) / net->raw_scale;
			*slope = 2 * eps / net->raw_scale;
			return eps * eps;
		case PM_LOSS_MAE_RAW:
			eps = (predicted - truth) / net->raw_scale;
			*slope = (eps > 0 ? 1 : -1) / net->raw_scale;
			return fabs(eps);
		case PM_LOSS_MAPE:
			eps = (predicted - truth) / truth;
			*slope = (eps > 0 ? 1 : -1) / truth;
			return fabs(eps);
		default:
			eps = log(predicted / truth);
			*slope = fmax(-HUBER_DELTA, fmin(HUBER_DELTA, eps)) / predicted;
			return fabs(eps) <= HUBER_DELTA ? 0.5 * eps * eps : HUBER_DELTA * (fabs(eps) - 0.5 * HUBER_DELTA);
	}
}

/* ---- the pass ---- */

static void
forward(const pm_mdot_data *data, const pm_real *w, const int *index, int n, double *predicted, pm_rng *rng,
		char *workspace, acts *t)
{
	const pm_mdot_net *net = data->net;
	int			tokens[256];
	pm_encoder_drop drop = {net->c.dropout, net->c.drop_path, rng};

	for (int i = 0; i < n; i++)
		tokens[i] = data->inputs[index[i]].n;
	lay_out(net, tokens, n, workspace, t);
	gather(data, index, t, rng);
	operator_encoder(data, index, w, t);
	assemble(data, index, w, t);
	for (int l = 0; l < net->c.layers; l++)
		pm_encoder_forward(t->x, w, &net->seq[l], &net->seq_shape, &t->segs, t->rows, rng ? &drop : NULL,
						   &t->seq[l], &t->scratch);
	pm_layer_norm(t->z, t->z_xhat, t->z_rstd, t->x, w + net->lnz_g, w + net->lnz_b, t->rows, net->c.d);
	heads_forward(data, index, w, rng, t, predicted);
}

static void
backward(const pm_mdot_data *data, const pm_real *w, pm_real *grad, const int *index, const double *predicted,
		 double *dms, bool dropped, acts *t)
{
	const pm_mdot_net *net = data->net;

	heads_back(data, index, w, grad, predicted, dms, t);
	memset(t->dx, 0, (size_t) t->rows * net->c.d * sizeof(pm_real));
	pm_layer_norm_back(t->dx, grad + net->lnz_g, grad + net->lnz_b, t->dz, t->z_xhat, t->z_rstd,
					   w + net->lnz_g, t->rows, net->c.d);
	for (int l = net->c.layers - 1; l >= 0; l--)
		pm_encoder_backward(t->dx, grad, w, &net->seq[l], &net->seq_shape, &t->segs, t->rows, dropped,
							&t->seq[l], &t->scratch);
	assemble_back(data, index, w, grad, t);
	operator_encoder_back(data, index, w, grad, t);
}

double
pm_mdot_pass(const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
			 double *predicted, pm_rng *rng, void *workspace)
{
	const pm_mdot_data *data = ctx;
	double		dms[256];
	double		loss = 0;
	acts		t;

	forward(data, w, index, n, predicted, rng, workspace, &t);
	for (int i = 0; i < n; i++)
	{
		double		weight = data->weight[index[i]];

		loss += weight * sample_loss(data->net, predicted[i], data->step_ms[index[i]], &dms[i]);
		dms[i] *= weight;
	}
	if (grad != NULL)
		backward(data, w, grad, index, predicted, dms, rng != NULL, &t);
	return loss;
}

double
pm_mdot_explain(const pm_mdot_data *data, const pm_real *w, int row, void *workspace, pm_mdot_detail *detail)
{
	const pm_input *in = &data->inputs[row];
	bool		additive = data->net->c.head == PM_HEAD_ADDITIVE;
	double		ms;
	double		factor;
	acts		t;

	forward(data, w, &row, 1, &ms, NULL, workspace, &t);
	/* A pooled head knows the step alone: share it out by roofline time, if there is any. */
	factor = additive ? exp(t.c[0]) / 1000 : in->total_roofline_us > 0 ? ms / in->total_roofline_us : 0;
	for (int m = 0; m < in->n; m++)
	{
		detail->token_ms[m] = in->copies[m] * factor * (additive ? t.t_us[m] : in->roofline_us[m]);
		detail->launch_bound[m] = additive && t.l_us[m] > t.k_us[m];
	}
	detail->rest_ms = additive ? factor * t.rest_us[0] : factor > 0 ? 0 : ms;
	return ms;
}
