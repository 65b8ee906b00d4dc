/*
 * net.c - forward and backward pass of MDOT over the samples of a shard.
 *
 * Rows of the sequence are the samples one after the other, each its job token
 * first and then its operators; "ops" counts the operators alone.  The three
 * dimensions of the operators stand in three blocks of ops rows.  Products run
 * over all rows at once, attention sample by sample.
 *
 * Every function of the forward pass has its backward twin below it.  All
 * activations live in one workspace, laid out by lay_out(); the same function,
 * given no memory, tells how much is needed.
 */
#include "kinds/mdot/net.h"

#include <math.h>
#include <string.h>

#include "kinds/mdot/messages.h"
#include "nn/loss.h"

/* Cauchy's loss: errors far beyond its scale pull less and less, since some times nothing in the graph explains. */
#define CAUCHY_SCALE	0.3
#define CAUCHY_START	1.0		/* the scale when training begins, ... */
#define CAUCHY_FALL		0.7		/* ... and the share of the epochs in which it falls to CAUCHY_SCALE */

/* ---- workspace ---- */

#define REALS(count) PM_REALS(c, (count))
#define DOUBLES(count) PM_DOUBLES(c, (count))

static void
lay_out_operators(pm_cursor *c, const pm_mdot_net *net, pm_mdot_acts *t)
{
	size_t		u = t->ops;
	size_t		k = net->c.d_op;

	t->type = pm_take(c, u, sizeof(int32_t));
	t->config = REALS(u * 2 * net->width.slots);
	t->load = REALS(u * net->width.loads);
	pm_mlp_take(k, u, c, &t->config_mlp);
	pm_mlp_take(k, u, c, &t->load_mlp);
	t->x3 = REALS(3 * u * k);
	t->op = pm_take(c, net->c.op_layers, sizeof(pm_encoder_acts));
	for (int l = 0; l < net->c.op_layers; l++)
		pm_encoder_take(c, &net->op_shape, 1, 3 * u, 9 * u * net->c.op_heads, false, t->op ? &t->op[l] : NULL);
	t->f = REALS(3 * u * k);
	t->f_xhat = REALS(3 * u * k);
	t->f_rstd = REALS(3 * u);
	t->o = REALS(u * net->c.d);
	if (net->c.edges)
		pm_mdot_messages_take(c, net, t);
}

static void
lay_out_estimate(pm_cursor *c, const pm_mdot_net *net, const pm_mdot_acts *t, pm_mdot_estimate_acts *e)
{
	size_t		wide = (size_t) t->rows * PM_MDOT_OUTPUTS * net->c.hidden;

	e->h_pre = REALS(wide);
	e->h_act = REALS(wide);
	e->h_mask = REALS(wide);
	pm_mlp_take(net->c.hidden, t->n, c, &e->rest);
	if (net->c.passes)
	{
		pm_mlp_take(net->c.hidden, t->rows, c, &e->pass);
		e->dpass = DOUBLES(t->rows);
	}
	e->token = pm_take(c, t->ops, sizeof(pm_mdot_token));
	e->k_us = DOUBLES(t->ops);
	e->l_us = DOUBLES(t->ops);
	e->t_us = DOUBLES(t->ops);
	e->da = DOUBLES(t->ops);
	e->dm = DOUBLES(t->ops);
	e->dl = DOUBLES(t->ops);
	e->dg = DOUBLES(t->ops);
	e->dp = DOUBLES(t->ops);
	e->sum_us = DOUBLES(t->n);
	e->rest_us = DOUBLES(t->n);
	e->rest_slope = DOUBLES(t->n);
	e->ms = DOUBLES(t->n);
	e->dms = DOUBLES(t->n);
	e->dsum = DOUBLES(t->n);
}

static void
lay_out_heads(pm_cursor *c, const pm_mdot_net *net, pm_mdot_acts *t)
{
	size_t		d = net->c.d;
	size_t		h = net->c.hidden;

	t->z0 = REALS(t->n * d);
	for (int k = 0; k < net->c.estimates; k++)
		lay_out_estimate(c, net, t, &t->estimate[k]);
	t->pool = REALS(t->n * 3 * d);
	t->top = pm_take(c, t->n * d, sizeof(int32_t));
	pm_mlp_take(h, t->n, c, &t->pooled);
	t->c = DOUBLES(t->n);
	t->c_slope = DOUBLES(t->n);
}

static size_t
max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

static void
lay_out_backward(pm_cursor *c, const pm_mdot_net *net, pm_mdot_acts *t)
{
	size_t		d = net->c.d;
	size_t		k = net->c.d_op;
	size_t		h = net->c.hidden;
	size_t		ops = t->ops;
	size_t		wide = max_size(t->rows * max_size(3 * d, PM_MDOT_OUTPUTS * h), 3 * ops * 3 * k);
	size_t		narrow = max_size(t->rows * d, 3 * ops * k);

	t->dc = DOUBLES(t->n);
	t->dz = REALS(t->rows * d);
	t->dx = REALS(t->rows * d);
	t->d_ops = REALS(ops * d);
	t->dx3 = REALS(3 * ops * k);
	t->wide = t->scratch.wide = REALS(wide);
	t->scratch.narrow = REALS(narrow);
	t->scratch.mixed = REALS(narrow);
	t->scratch.scores = REALS((size_t) t->segs.longest * t->segs.longest);
	t->small = REALS(t->n * 4 * d + k);
}

static void
lay_out(const pm_mdot_net *net, const pm_pass_size *size, pm_cursor *c, pm_mdot_acts *t)
{
	size_t		n = size->samples;
	size_t		d = net->c.d;

	memset(t, 0, sizeof(*t));
	t->n = size->samples;
	t->ops = size->tokens;
	t->rows = size->tokens + size->samples;
	t->seg = pm_take(c, n, sizeof(pm_segment));
	t->segs = (pm_segments) {.n = t->n, .list = t->seg, .n_probs = net->c.heads * size->squares,
		.longest = size->longest + 1};
	t->framework = pm_take(c, n, sizeof(int32_t));
	lay_out_operators(c, net, t);
	t->job = REALS(n * net->width.job);
	pm_mlp_take(d, n, c, &t->job_mlp);
	t->j = REALS(n * d);
	t->x = REALS(t->rows * d);
	t->seq = pm_take(c, net->c.layers, sizeof(pm_encoder_acts));
	for (int l = 0; l < net->c.layers; l++)
		pm_encoder_take(c, &net->seq_shape, n, t->rows, t->segs.n_probs, true, t->seq ? &t->seq[l] : NULL);
	t->z = REALS(t->rows * d);
	t->z_xhat = REALS(t->rows * d);
	t->z_rstd = REALS(t->rows);
	lay_out_heads(c, net, t);
	lay_out_backward(c, net, t);
}

size_t
pm_mdot_workspace(const pm_mdot_net *net, const pm_pass_size *size)
{
	pm_cursor	c = {0};
	pm_mdot_acts t;

	lay_out(net, size, &c, &t);
	return c.at;
}

/* ---- gathering the samples ---- */

static int32_t
hide(int32_t row, double probability, pm_rng *rng)
{
	return rng != NULL && pm_rng_uniform(rng) < probability ? 0 : row;
}

static void
gather(const pm_mdot_data *data, const int *index, pm_mdot_acts *t, pm_rng *rng)
{
	const pm_widths *width = &data->net->width;
	double		p = data->net->c.unknown;
	size_t		probs_at = 0;
	int			op = 0;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		size_t		len = in->n + 1;

		t->seg[i] = (pm_segment) {.start = op + i, .n = (int) len, .relation = in->skeleton->relation,
			.log_copies = in->log_copies, .probs_at = probs_at};
		probs_at += data->net->c.heads * len * len;
		t->framework[i] = hide(in->framework, p, rng);
		memcpy(t->job + i * width->job, in->job, width->job * sizeof(pm_real));
		memcpy(t->config + (size_t) op * 2 * width->slots, in->config, sizeof(pm_real) * in->n * 2 * width->slots);
		memcpy(t->load + (size_t) op * width->loads, in->load, sizeof(pm_real) * in->n * width->loads);
		for (int k = 0; k < in->n; k++)
			t->type[op + k] = hide(in->type[k], p, rng);
		op += in->n;
	}
}

/* ---- operator encoder ---- */

/* First block of x3: what the operator is, and under which settings it runs. */
static void
embed(const pm_mdot_data *data, const int *index, const pm_real *w, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	int			k = net->c.d_op;
	int			op = 0;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		const pm_real *dtype = w + net->dtype + (size_t) in->dtype * k;
		const pm_real *framework = w + net->framework + (size_t) t->framework[i] * k;

		for (int m = 0; m < in->n; m++, op++)
		{
			const pm_real *type = w + net->type + (size_t) t->type[op] * k;
			pm_real    *x = t->x3 + (size_t) op * k;

			for (int j = 0; j < k; j++)
				x[j] = type[j] + dtype[j] + framework[j] + w[net->tag + j];
		}
	}
}

static void
embed_back(const pm_mdot_data *data, const int *index, pm_real *grad, const pm_mdot_acts *t)
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
			const pm_real *dx = t->dx3 + (size_t) op * k;

			pm_add(sum, dx, k);
			pm_add(grad + net->type + (size_t) t->type[op] * k, dx, k);
		}
		pm_add(grad + net->dtype + (size_t) in->dtype * k, sum, k);
		pm_add(grad + net->framework + (size_t) t->framework[i] * k, sum, k);
		pm_add(grad + net->tag, sum, k);
	}
}

/* Block `dim` of x3 = gelu(in W1 + b1) W2 + b2 + tag */
static void
dimension(const pm_mdot_net *net, const pm_real *w, pm_mdot_acts *t, int dim, const pm_mlp *m, const pm_real *in,
		  const pm_mlp_acts *acts)
{
	int			k = net->c.d_op;

	pm_real    *bias = t->small;

	for (int j = 0; j < k; j++)
		bias[j] = w[m->b2 + j] + w[net->tag + dim * k + j];
	pm_linear_gelu(acts->act, acts->pre, in, w + m->w1, w + m->b1, t->ops, m->in, k);
	pm_linear(t->x3 + (size_t) dim * t->ops * k, acts->act, w + m->w2, bias, t->ops, k, k);
}

static void
dimension_back(const pm_mdot_net *net, const pm_real *w, pm_real *grad, pm_mdot_acts *t, int dim, const pm_mlp *m,
			   const pm_real *in, const pm_mlp_acts *acts)
{
	int			k = net->c.d_op;
	const pm_real *dy = t->dx3 + (size_t) dim * t->ops * k;
	pm_real    *da = acts->dact;
	pm_real    *dbias = t->small;

	memset(dbias, 0, k * sizeof(pm_real));
	pm_linear_back(da, grad + m->w2, dbias, dy, acts->act, w + m->w2, t->ops, k, k, false);
	pm_add(grad + m->b2, dbias, k);
	pm_add(grad + net->tag + dim * k, dbias, k);
	pm_mul(da, acts->pre, (size_t) t->ops * k);
	pm_linear_back(NULL, grad + m->w1, grad + m->b1, da, in, w + m->w1, t->ops, m->in, k, false);
}

static void
operator_encoder(const pm_mdot_data *data, const int *index, const pm_real *w, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	int			k = net->c.d_op;
	int			d = net->c.d;

	embed(data, index, w, t);
	dimension(net, w, t, 1, &net->config, t->config, &t->config_mlp);
	dimension(net, w, t, 2, &net->load, t->load, &t->load_mlp);
	for (int l = 0; l < net->c.op_layers; l++)
		pm_encoder_forward(t->x3, w, &net->op[l], &net->op_shape, &t->triples, 3 * t->ops, NULL,
						   &t->op[l], &t->scratch);
	pm_layer_norm(t->f, t->f_xhat, t->f_rstd, t->x3, w + net->fuse_ln_g, w + net->fuse_ln_b, 3 * t->ops, k);
	/* the three dimensions side by side, times fuse_w */
	pm_linear(t->o, t->f, w + net->fuse_w, w + net->fuse_b, t->ops, k, d);
	for (int i = 1; i < 3; i++)
		pm_gemm(false, false, t->ops, d, k, 1, t->f + (size_t) i * t->ops * k, k, w + net->fuse_w + (size_t) i * k * d, d, 1, t->o, d);
}

/* t->d_ops[ops, d] is the gradient of its output. */
static void
operator_encoder_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	int			k = net->c.d_op;
	int			d = net->c.d;

	for (int i = 0; i < 3; i++)
		pm_linear_back(t->wide + (size_t) i * t->ops * k, grad + net->fuse_w + (size_t) i * k * d, i == 0 ? grad + net->fuse_b : NULL,
					   t->d_ops, t->f + (size_t) i * t->ops * k, w + net->fuse_w + (size_t) i * k * d, t->ops, k, d, false);
	pm_layer_norm_back(t->dx3, grad + net->fuse_ln_g, grad + net->fuse_ln_b, t->wide, t->f_xhat, t->f_rstd,
					   w + net->fuse_ln_g, 3 * t->ops, k, false);
	for (int l = net->c.op_layers - 1; l >= 0; l--)
		pm_encoder_backward(t->dx3, grad, w, &net->op[l], &net->op_shape, &t->triples, false,
							&t->op[l], &t->scratch);
	dimension_back(net, w, grad, t, 2, &net->load, t->load, &t->load_mlp);
	dimension_back(net, w, grad, t, 1, &net->config, t->config, &t->config_mlp);
	embed_back(data, index, grad, t);
}

/* ---- sequence ---- */

/* Job token first, then operators plus their positions. */
static void
assemble(const pm_mdot_data *data, const int *index, const pm_real *w, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	int			d = net->c.d;
	int			op = 0;

	pm_mlp_forward(t->j, t->job, &net->job, w, t->n, &t->job_mlp);
	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		pm_real    *x = t->x + (size_t) t->seg[i].start * d;

		memcpy(x, t->j + (size_t) i * d, d * sizeof(pm_real));
		memcpy(x + d, t->o + (size_t) op * d, (size_t) in->n * d * sizeof(pm_real));
		pm_gemm(false, false, in->n, d, PM_POSITION_DIM, 1, in->skeleton->position, PM_POSITION_DIM,
				w + net->position, d, 1, x + d, d);
		op += in->n;
	}
}

/* From t->dx to t->d_ops and the job token's weights. */
static void
assemble_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	int			d = net->c.d;
	int			op = 0;
	pm_real    *dj = t->small;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		const pm_real *dx = t->dx + (size_t) t->seg[i].start * d;

		memcpy(dj + (size_t) i * d, dx, d * sizeof(pm_real));
		memcpy(t->d_ops + (size_t) op * d, dx + d, (size_t) in->n * d * sizeof(pm_real));
		pm_gemm(true, false, PM_POSITION_DIM, d, in->n, 1, in->skeleton->position, PM_POSITION_DIM,
				dx + d, d, 1, grad + net->position, d);
		op += in->n;
	}
	pm_mlp_back(NULL, grad, dj, t->job, &net->job, w, t->n, &t->job_mlp);
}

/* ---- loss ---- */

/*
 * Graduated non-convexity (Blake and Zisserman, "Visual Reconstruction", 1987):
 * with the small scale from the start, a kind of network that is rare and slow
 * is taken for an error of measurement before the weights could learn what
 * sets it apart.
 */
void
pm_mdot_begin_epoch(void *ctx, double progress)
{
	pm_mdot_data *data = ctx;

	data->loss_scale = CAUCHY_START * pow(CAUCHY_SCALE / CAUCHY_START, fmin(1, progress / CAUCHY_FALL));
}

/* Loss of one sample; *slope is its derivative by the prediction. */
static double
sample_loss(const pm_mdot_data *data, double predicted, double truth, double *slope)
{
	const pm_mdot_net *net = data->net;
	double		eps;
	double		loss;

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
		case PM_LOSS_LOG_CAUCHY:
			loss = pm_cauchy(log(predicted / truth), data->loss_scale > 0 ? data->loss_scale : CAUCHY_SCALE, slope);
			*slope /= predicted;
			return loss;
		default:
			loss = pm_huber(log(predicted / truth), slope);
			*slope /= predicted;
			return loss;
	}
}

/* ---- the pass ---- */

static void
forward(const pm_mdot_data *data, const pm_real *w, const int *index, int n, double *predicted, pm_rng *rng,
		char *workspace, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	pm_cursor	c = {.base = workspace};
	pm_pass_size size = {0};
	pm_encoder_drop drop = {net->c.dropout, net->c.drop_path, rng};

	for (int i = 0; i < n; i++)
		pm_pass_add(&size, data->inputs[index[i]].n, 0);
	lay_out(net, &size, &c, t);
	gather(data, index, t, rng);
	operator_encoder(data, index, w, t);
	assemble(data, index, w, t);
	if (net->c.edges)
		pm_mdot_messages(data, index, w, rng, t);
	for (int l = 0; l < net->c.layers; l++)
		pm_encoder_forward(t->x, w, &net->seq[l], &net->seq_shape, &t->segs, t->rows, rng ? &drop : NULL,
						   &t->seq[l], &t->scratch);
	pm_layer_norm(t->z, t->z_xhat, t->z_rstd, t->x, w + net->seq_ln_g, w + net->seq_ln_b, t->rows, net->c.d);
	pm_mdot_heads(data, index, w, rng, t);
	for (int i = 0; i < n; i++)
	{
		int			estimates = pm_mdot_estimates(net, &data->inputs[index[i]]);

		predicted[i] = 0;
		for (int k = 0; k < estimates; k++)
			predicted[i] += t->estimate[k].ms[i] / estimates;
	}
}

static void
backward(const pm_mdot_data *data, const pm_real *w, pm_real *grad, const int *index, bool dropped, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;

	pm_mdot_heads_back(data, index, w, grad, t);
	pm_layer_norm_back(t->dx, grad + net->seq_ln_g, grad + net->seq_ln_b, t->dz, t->z_xhat, t->z_rstd,
					   w + net->seq_ln_g, t->rows, net->c.d, false);
	for (int l = net->c.layers - 1; l >= 0; l--)
		pm_encoder_backward(t->dx, grad, w, &net->seq[l], &net->seq_shape, &t->segs, dropped,
							&t->seq[l], &t->scratch);
	assemble_back(data, index, w, grad, t);
	if (net->c.edges)
		pm_mdot_messages_back(data, index, w, grad, t);
	operator_encoder_back(data, index, w, grad, t);
}

/* Each estimate has the loss of its own error, so that they err in different ways; its dms are filled. */
static double
estimate_loss(const pm_mdot_data *data, const int *index, int n, int estimate, pm_mdot_acts *t)
{
	pm_mdot_estimate_acts *e = &t->estimate[estimate];
	double		loss = 0;

	for (int i = 0; i < n; i++)
	{
		int			estimates = pm_mdot_estimates(data->net, &data->inputs[index[i]]);
		double		weight = estimate < estimates ? data->weight[index[i]] / estimates : 0;

		loss += weight * sample_loss(data, e->ms[i], data->step_ms[index[i]], &e->dms[i]);
		e->dms[i] *= weight;
	}
	return loss;
}

double
pm_mdot_pass(const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
			 double *predicted, pm_rng *rng, void *workspace)
{
	const pm_mdot_data *data = ctx;
	double		loss = 0;
	pm_mdot_acts t;

	forward(data, w, index, n, predicted, rng, workspace, &t);
	for (int k = 0; k < t.estimates; k++)
		loss += estimate_loss(data, index, n, k, &t);
	if (grad != NULL)
		backward(data, w, grad, index, rng != NULL, &t);
	return loss;
}

void
pm_mdot_outputs(const pm_mdot_data *data, const pm_real *w, int row, void *workspace, pm_mdot_said *said, double *factor)
{
	double		ms;
	pm_mdot_acts t;

	forward(data, w, &row, 1, &ms, NULL, workspace, &t);
	for (int k = 0; k < t.estimates; k++)
	{
		memcpy(said[k].token, t.estimate[k].token, t.ops * sizeof(pm_mdot_token));
		said[k].rest_us = data->inputs[row].rest_share * t.estimate[k].rest_us[0];
	}
	*factor = exp(t.c[0]);
}

/* Adds one estimate of several; factor: from its us to ms of the step. */
static void
explain_estimate(const pm_input *in, const pm_mdot_estimate_acts *e, double factor, int estimates, pm_mdot_detail *detail)
{
	for (int m = 0; m < in->n; m++)
	{
		double		both_us = e->l_us[m] + e->k_us[m];

		detail->token_ms[m] += in->copies[m] * factor * e->t_us[m] / estimates;
		detail->launch_share[m] += e->l_us[m] > 0 ? e->l_us[m] / both_us / estimates : 0;
	}
	detail->rest_ms += factor * in->rest_share * e->rest_us[0] / estimates;
}

/* A pooled head knows the step alone: share it out by roofline time, if there is any. */
static void
explain_pooled(const pm_input *in, double ms, pm_mdot_detail *detail)
{
	double		factor = in->total_roofline_us > 0 ? ms / in->total_roofline_us : 0;

	for (int m = 0; m < in->n; m++)
		detail->token_ms[m] = in->copies[m] * factor * in->roofline_us[m];
	detail->rest_ms = factor > 0 ? 0 : ms;
}

double
pm_mdot_explain(const pm_mdot_data *data, const pm_real *w, int row, void *workspace, pm_mdot_detail *detail)
{
	const pm_input *in = &data->inputs[row];
	double		ms;
	pm_mdot_acts t;

	forward(data, w, &row, 1, &ms, NULL, workspace, &t);
	memset(detail->token_ms, 0, in->n * sizeof(double));
	memset(detail->launch_share, 0, in->n * sizeof(double));
	detail->rest_ms = 0;
	if (data->net->c.head == PM_HEAD_POOLED)
		explain_pooled(in, ms, detail);
	else
		for (int k = 0; k < t.estimates; k++)
			explain_estimate(in, &t.estimate[k], exp(t.c[0]) / 1000, t.estimates, detail);
	return ms;
}
