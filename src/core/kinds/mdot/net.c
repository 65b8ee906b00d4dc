/*
 * mdot_net.c - forward and backward pass of MDOT over the samples of a shard.
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
#include "kinds/mdot/acts.h"

#include <math.h>
#include <string.h>

#define HUBER_DELTA		0.2

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
	t->config = REALS(u * 2 * PM_N_SLOTS);
	t->load = REALS(u * PM_N_LOADS);
	t->c_pre = REALS(u * k);
	t->c_act = REALS(u * k);
	t->l_pre = REALS(u * k);
	t->l_act = REALS(u * k);
	t->x3 = REALS(3 * u * k);
	t->op = pm_take(c, net->c.op_layers, sizeof(pm_encoder_acts));
	for (int l = 0; l < net->c.op_layers; l++)
		pm_encoder_take(c, &net->op_shape, 1, 3 * u, 9 * u * net->c.op_heads, false, t->op ? &t->op[l] : NULL);
	t->f = REALS(3 * u * k);
	t->f_xhat = REALS(3 * u * k);
	t->f_rstd = REALS(3 * u);
	t->o = REALS(u * net->c.d);
}

static void
lay_out_heads(pm_cursor *c, const pm_mdot_net *net, pm_mdot_acts *t)
{
	size_t		d = net->c.d;
	size_t		h = net->c.hidden;

	t->h_pre = REALS(t->rows * PM_MDOT_OUTPUTS * h);
	t->h_act = REALS(t->rows * PM_MDOT_OUTPUTS * h);
	t->h_mask = REALS(t->rows * PM_MDOT_OUTPUTS * h);
	t->z0 = REALS(t->n * d);
	t->q_pre = REALS(t->n * h);
	t->q_act = REALS(t->n * h);
	t->pool = REALS(t->n * 3 * d);
	t->top = pm_take(c, t->n * d, sizeof(int32_t));
	t->p_pre = REALS(t->n * h);
	t->p_act = REALS(t->n * h);
	t->token = pm_take(c, t->ops, sizeof(pm_mdot_token));
	t->k_us = DOUBLES(t->ops);
	t->l_us = DOUBLES(t->ops);
	t->t_us = DOUBLES(t->ops);
	t->da = DOUBLES(t->ops);
	t->dm = DOUBLES(t->ops);
	t->dl = DOUBLES(t->ops);
	t->dg = DOUBLES(t->ops);
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
lay_out_backward(pm_cursor *c, const pm_mdot_net *net, pm_mdot_acts *t)
{
	size_t		d = net->c.d;
	size_t		k = net->c.d_op;
	size_t		h = net->c.hidden;
	size_t		wide = max_size(t->rows * max_size(3 * d, PM_MDOT_OUTPUTS * h), 3 * t->ops * 3 * k);
	size_t		narrow = max_size(t->rows * d, 3 * t->ops * k);

	t->dms = DOUBLES(t->n);
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
	t->job = REALS(n * PM_N_JOB);
	t->j_pre = REALS(n * d);
	t->j_act = REALS(n * d);
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
		memcpy(t->job + i * PM_N_JOB, in->job, sizeof(in->job));
		memcpy(t->config + (size_t) op * 2 * PM_N_SLOTS, in->config, sizeof(pm_real) * in->n * 2 * PM_N_SLOTS);
		memcpy(t->load + (size_t) op * PM_N_LOADS, in->load, sizeof(pm_real) * in->n * PM_N_LOADS);
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
		const pm_real *layout = w + net->layout + (size_t) in->layout * k;
		const pm_real *framework = w + net->framework + (size_t) t->framework[i] * k;

		for (int m = 0; m < in->n; m++, op++)
		{
			const pm_real *type = w + net->type + (size_t) t->type[op] * k;
			pm_real    *x = t->x3 + (size_t) op * k;

			for (int j = 0; j < k; j++)
				x[j] = type[j] + dtype[j] + layout[j] + framework[j] + w[net->tag + j];
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
		pm_add(grad + net->layout + (size_t) in->layout * k, sum, k);
		pm_add(grad + net->framework + (size_t) t->framework[i] * k, sum, k);
		pm_add(grad + net->tag, sum, k);
	}
}

/* Block `dim` of x3 = gelu(in W1 + b1) W2 + b2 + tag */
static void
dimension(const pm_mdot_net *net, const pm_real *w, pm_mdot_acts *t, int dim, const pm_real *in, int width,
		  const size_t at[4], pm_real *pre, pm_real *act)
{
	int			k = net->c.d_op;

	pm_real    *bias = t->small;

	for (int j = 0; j < k; j++)
		bias[j] = w[at[3] + j] + w[net->tag + dim * k + j];
	pm_linear_gelu(act, pre, in, w + at[0], w + at[1], t->ops, width, k);
	pm_linear(t->x3 + (size_t) dim * t->ops * k, act, w + at[2], bias, t->ops, k, k);
}

static void
dimension_back(const pm_mdot_net *net, const pm_real *w, pm_real *grad, pm_mdot_acts *t, int dim, const pm_real *in,
			   int width, const size_t at[4], const pm_real *pre, const pm_real *act)
{
	int			k = net->c.d_op;
	const pm_real *dy = t->dx3 + (size_t) dim * t->ops * k;
	pm_real    *da = t->wide;
	pm_real    *dbias = t->small;

	memset(dbias, 0, k * sizeof(pm_real));
	pm_linear_back(da, grad + at[2], dbias, dy, act, w + at[2], t->ops, k, k, false);
	pm_add(grad + at[3], dbias, k);
	pm_add(grad + net->tag + dim * k, dbias, k);
	pm_mul(da, pre, t->ops * k);
	pm_linear_back(NULL, grad + at[0], grad + at[1], da, in, w + at[0], t->ops, width, k, false);
}

static void
operator_encoder(const pm_mdot_data *data, const int *index, const pm_real *w, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	const size_t config[4] = {net->wc1, net->bc1, net->wc2, net->bc2};
	const size_t load[4] = {net->wl1, net->bl1, net->wl2, net->bl2};
	int			k = net->c.d_op;
	int			d = net->c.d;

	embed(data, index, w, t);
	dimension(net, w, t, 1, t->config, 2 * PM_N_SLOTS, config, t->c_pre, t->c_act);
	dimension(net, w, t, 2, t->load, PM_N_LOADS, load, t->l_pre, t->l_act);
	for (int l = 0; l < net->c.op_layers; l++)
		pm_encoder_forward(t->x3, w, &net->op[l], &net->op_shape, &t->triples, 3 * t->ops, NULL,
						   &t->op[l], &t->scratch);
	pm_layer_norm(t->f, t->f_xhat, t->f_rstd, t->x3, w + net->lnf_g, w + net->lnf_b, 3 * t->ops, k);
	/* the three dimensions side by side, times wf */
	pm_linear(t->o, t->f, w + net->wf, w + net->bf, t->ops, k, d);
	for (int i = 1; i < 3; i++)
		pm_gemm(false, false, t->ops, d, k, 1, t->f + (size_t) i * t->ops * k, k, w + net->wf + (size_t) i * k * d, d, 1, t->o, d);
}

/* t->d_ops[ops, d] is the gradient of its output. */
static void
operator_encoder_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	const size_t config[4] = {net->wc1, net->bc1, net->wc2, net->bc2};
	const size_t load[4] = {net->wl1, net->bl1, net->wl2, net->bl2};
	int			k = net->c.d_op;
	int			d = net->c.d;

	for (int i = 0; i < 3; i++)
		pm_linear_back(t->wide + (size_t) i * t->ops * k, grad + net->wf + (size_t) i * k * d, i == 0 ? grad + net->bf : NULL,
					   t->d_ops, t->f + (size_t) i * t->ops * k, w + net->wf + (size_t) i * k * d, t->ops, k, d, false);
	pm_layer_norm_back(t->dx3, grad + net->lnf_g, grad + net->lnf_b, t->wide, t->f_xhat, t->f_rstd,
					   w + net->lnf_g, 3 * t->ops, k, false);
	for (int l = net->c.op_layers - 1; l >= 0; l--)
		pm_encoder_backward(t->dx3, grad, w, &net->op[l], &net->op_shape, &t->triples, false,
							&t->op[l], &t->scratch);
	dimension_back(net, w, grad, t, 2, t->load, PM_N_LOADS, load, t->l_pre, t->l_act);
	dimension_back(net, w, grad, t, 1, t->config, 2 * PM_N_SLOTS, config, t->c_pre, t->c_act);
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

	pm_linear_gelu(t->j_act, t->j_pre, t->job, w + net->wj1, w + net->bj1, t->n, PM_N_JOB, d);
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
assemble_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t)
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

/* Loss of an error; *slope is its derivative by the error. */
static double
cauchy(double eps, double scale, double *slope)
{
	double		x = eps / scale;

	*slope = eps / (1 + x * x);
	return 0.5 * scale * scale * log1p(x * x);
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
			loss = cauchy(log(predicted / truth), data->loss_scale > 0 ? data->loss_scale : CAUCHY_SCALE, slope);
			*slope /= predicted;
			return loss;
		default:
			eps = log(predicted / truth);
			*slope = fmax(-HUBER_DELTA, fmin(HUBER_DELTA, eps)) / predicted;
			return fabs(eps) <= HUBER_DELTA ? 0.5 * eps * eps : HUBER_DELTA * (fabs(eps) - 0.5 * HUBER_DELTA);
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
	for (int l = 0; l < net->c.layers; l++)
		pm_encoder_forward(t->x, w, &net->seq[l], &net->seq_shape, &t->segs, t->rows, rng ? &drop : NULL,
						   &t->seq[l], &t->scratch);
	pm_layer_norm(t->z, t->z_xhat, t->z_rstd, t->x, w + net->lnz_g, w + net->lnz_b, t->rows, net->c.d);
	pm_mdot_heads(data, index, w, rng, t, predicted);
}

static void
backward(const pm_mdot_data *data, const pm_real *w, pm_real *grad, const int *index, const double *predicted,
		 bool dropped, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;

	pm_mdot_heads_back(data, index, w, grad, predicted, t->dms, t);
	pm_layer_norm_back(t->dx, grad + net->lnz_g, grad + net->lnz_b, t->dz, t->z_xhat, t->z_rstd,
					   w + net->lnz_g, t->rows, net->c.d, false);
	for (int l = net->c.layers - 1; l >= 0; l--)
		pm_encoder_backward(t->dx, grad, w, &net->seq[l], &net->seq_shape, &t->segs, dropped,
							&t->seq[l], &t->scratch);
	assemble_back(data, index, w, grad, t);
	operator_encoder_back(data, index, w, grad, t);
}

double
pm_mdot_pass(const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
			 double *predicted, pm_rng *rng, void *workspace)
{
	const pm_mdot_data *data = ctx;
	double		loss = 0;
	pm_mdot_acts t;

	forward(data, w, index, n, predicted, rng, workspace, &t);
	for (int i = 0; i < n; i++)
	{
		double		weight = data->weight[index[i]];

		loss += weight * sample_loss(data, predicted[i], data->step_ms[index[i]], &t.dms[i]);
		t.dms[i] *= weight;
	}
	if (grad != NULL)
		backward(data, w, grad, index, predicted, rng != NULL, &t);
	return loss;
}

void
pm_mdot_outputs(const pm_mdot_data *data, const pm_real *w, int row, void *workspace,
				pm_mdot_token *token, double *rest_us, double *factor)
{
	double		ms;
	pm_mdot_acts t;

	forward(data, w, &row, 1, &ms, NULL, workspace, &t);
	memcpy(token, t.token, t.ops * sizeof(pm_mdot_token));
	*rest_us = data->inputs[row].alone ? 0 : t.rest_us[0];
	*factor = exp(t.c[0]);
}

double
pm_mdot_explain(const pm_mdot_data *data, const pm_real *w, int row, void *workspace, pm_mdot_detail *detail)
{
	const pm_input *in = &data->inputs[row];
	bool		additive = data->net->c.head == PM_HEAD_ADDITIVE;
	double		ms;
	double		factor;
	pm_mdot_acts t;

	forward(data, w, &row, 1, &ms, NULL, workspace, &t);
	/* A pooled head knows the step alone: share it out by roofline time, if there is any. */
	factor = additive ? exp(t.c[0]) / 1000 : in->total_roofline_us > 0 ? ms / in->total_roofline_us : 0;
	for (int m = 0; m < in->n; m++)
	{
		detail->token_ms[m] = in->copies[m] * factor * (additive ? t.t_us[m] : in->roofline_us[m]);
		detail->launch_share[m] = additive && t.l_us[m] > 0 ? t.l_us[m] / (t.l_us[m] + t.k_us[m]) : 0;
	}
	detail->rest_ms = additive ? factor * t.rest_us[0] : factor > 0 ? 0 : ms;
	return ms;
}
