/*
 * heads.c - from the sequence's output to milliseconds, and back.
 *
 * The additive head predicts the time of every operator, as a correction of its
 * roofline time, and the rest of the step.  The pooled head predicts one time for
 * the step, or a factor on the sum.  Formulas: docs/mdot.md.
 */
#include "kinds/mdot/heads.h"

#include <math.h>
#include <string.h>

#include "features/phases.h"
#include "features/rates.h"

#define EXPONENT_MIN	(-3.0)	/* a: an operator may run 20 times faster than its roofline ... */
#define EXPONENT_MAX	6.0		/* ... (data in cache), or 400 times slower */
#define PASS_MAX		1.5		/* |ln| of the factor on an operator in a forward pass of inference */
#define GROWTH_MAX		0.5		/* g: from half as steep to half as steep again as the work */
#define RESIDUAL_MAX	0.7		/* c: the pooled factor stays within [1/2, 2] */
#define LEAK			0.01	/* gradient outside these ranges, so that nothing gets stuck */
#define LAUNCH_US		5.0		/* unit of the launch time of one kernel, which stored networks have learned in */
#define REST_US			100.0	/* scale of what a step costs beside its operators */

/* Multiplicity-weighted mean and plain maximum over the operators of each sample, beside its job token. */
static void
pool(const pm_mdot_data *data, const int *index, pm_mdot_acts *t)
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
pool_back(const pm_mdot_data *data, const int *index, const pm_real *dpool, pm_mdot_acts *t)
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

/* Outputs of an operator, each a dot product of its own part of the hidden layer. */
static double
output(const pm_mdot_net *net, const pm_mdot_estimate *e, const pm_real *w, const pm_real *h, int which)
{
	int			hidden = net->c.hidden;

	return (double) pm_dot(h + which * hidden, w + e->output[which].w, hidden) + w[e->output[which].b];
}

/*
 * Device time k = s (s / s_ref)^g, s = compute * exp(a) + memory * exp(b), and
 * s_ref the same at the batch that the features are of.
 *
 * One factor on max(compute, memory) would keep an operator whose bytes set its
 * roofline from growing with its FLOPs; depthwise convolutions of large
 * kernels, which run without matrix units, do grow with them.  The features,
 * and so a, b and g, do not depend on the batch; s grows with it and g > -1:
 * a larger batch never takes less time.
 *
 * g is 0 on a CPU: it has no units that only a larger batch fills, and few small
 * batches do not tell g from a and b.
 *
 * In a forward pass of inference the work is that of the pass, and k has one more
 * factor: of an operator's time, the forward pass may take more or less than its
 * share of the work.
 */
double
pm_mdot_device_us(const pm_mdot_token *o, double compute_us, double memory_us, double *growth)
{
	double		s = compute_us * o->a + memory_us * o->b;

	*growth = s > 0 && o->ref_us > 0 ? log(s / o->ref_us) : 0;
	return s * exp(o->g * *growth) * o->pass;
}

double
pm_mdot_passes_us(const pm_mdot_token *o, double compute_us, double memory_us, double update_us, double *growth)
{
	pm_mdot_token passes = *o;

	passes.ref_us = fmax(o->ref_us - update_us * o->b, 0);
	return pm_mdot_device_us(&passes, compute_us, memory_us - update_us, growth);
}

double
pm_mdot_launch_us(const pm_mdot_token *o, double kernels)
{
	return LAUNCH_US * kernels * o->launch;
}

/*
 * A GPU works while the host launches what comes next.  A CPU does one after the other.  The larger of both would have to
 * make the work of small batches, which launches hide, much larger than it is, to rise from one small batch to the next.
 */
static inline double
both_us(double k, double l, bool in_turn)
{
	return in_turn ? k + l : sqrt(sqrt(k * k * k * k + l * l * l * l));
}

double
pm_mdot_token_us(double device_us, double launch_us, bool in_turn)
{
	return both_us(device_us, launch_us, in_turn);
}

/* Step by step as for one token, so that the answers are the same; without a call, so that the compiler makes vectors of it. */
void
pm_mdot_tokens_us(int n, double *time, const double *launch_us, const double *floor_us, const double *factor, bool in_turn)
{
	if (floor_us != NULL)
		for (int i = 0; i < n; i++)
			time[i] = pm_held(time[i], floor_us[i]);
	if (factor != NULL)
		for (int i = 0; i < n; i++)
			time[i] *= factor[i];
	for (int i = 0; i < n; i++)
		time[i] = both_us(time[i], launch_us[i], in_turn);
}

/*
 * Both the rest of the step and the pooled factor are a perceptron with one
 * output for each sample, which is summed in double; so is the factor of passes,
 * with one for each row.
 */
static double
perceptron_output(const pm_mlp *m, const pm_real *w, int i, const pm_mlp_acts *t)
{
	return (double) pm_dot(t->act + (size_t) i * m->hidden, w + m->w2, m->hidden) + w[m->b2];
}

/* Factor on the device time of the operator in a row of the sequence, and the derivative of its logarithm by the output. */
static double
pass_factor(const pm_mdot_net *net, const pm_mlp *m, const pm_real *w, const pm_input *in, int row, const pm_mlp_acts *t, double *slope)
{
	*slope = 0;
	return in->is_pass && net->c.passes ? exp(leaky_clamp(perceptron_output(m, w, row, t), -PASS_MAX, PASS_MAX, slope)) : 1;
}

/* Device time k of an operator in a row of the sequence, and the derivatives of k by the outputs that make it. */
static double
device_time(const pm_mdot_net *net, int estimate, const pm_real *w, const pm_input *in, int m, int row, const pm_real *h,
			pm_mdot_estimate_acts *t, int op)
{
	const pm_mdot_estimate *e = &net->estimate[estimate];
	double		scale = estimate == 0 ? 1 : in->to_peak[m];
	double		compute_us = in->compute_us[m] * scale,
				memory_us = in->memory_us[m] * scale,
				compute_ref_us = in->compute_ref_us[m] * scale,
				memory_ref_us = in->memory_ref_us[m] * scale;
	pm_mdot_token *o = &t->token[op];
	double		adapter = w[e->adapter + (size_t) in->gpu * net->width.classes + in->op_class[m]];
	double		a_slope,
				m_slope,
				p_slope;
	double		bend = tanh(output(net, e, w, h, PM_MDOT_GROWTH));
	double		update_us = memory_us * in->table_share[m];
	double		most_us = in->table_us[m] * PM_UPDATE_MOST;
	double		ref_us,
				passes_us,
				passes_growth,
				s,
				k,
				growth;

	o->a = exp(leaky_clamp(output(net, e, w, h, PM_MDOT_COMPUTE) + adapter, EXPONENT_MIN, EXPONENT_MAX, &a_slope));
	o->b = exp(leaky_clamp(output(net, e, w, h, PM_MDOT_MEMORY) + adapter, EXPONENT_MIN, EXPONENT_MAX, &m_slope));
	o->g = in->in_turn ? 0 : GROWTH_MAX * bend;
	o->pass = pass_factor(net, &e->pass, w, in, row, &t->pass, &p_slope);
	o->ref_us = ref_us = compute_ref_us * o->a + memory_ref_us * o->b;
	k = pm_mdot_device_us(o, compute_us, memory_us, &growth);
	if (in->table_us[m] > 0 && (passes_us = pm_mdot_passes_us(o, compute_us, memory_us, update_us, &passes_growth)) + most_us < k)
	{
		k = passes_us;
		growth = passes_growth;
		memory_us -= update_us;
		memory_ref_us = fmax(memory_ref_us - update_us, 0);
		ref_us = compute_ref_us * o->a + memory_ref_us * o->b;
	}
	else
		most_us = 0;
	s = compute_us * o->a + memory_us * o->b;
	t->da[op] = s > 0 ? k * o->a * a_slope *
		((1 + o->g) * compute_us / s - (ref_us > 0 ? o->g * compute_ref_us / ref_us : 0)) : 0;
	t->dm[op] = s > 0 ? k * o->b * m_slope *
		((1 + o->g) * memory_us / s - (ref_us > 0 ? o->g * memory_ref_us / ref_us : 0)) : 0;
	t->dp[op] = k * p_slope;
	t->dg[op] = in->in_turn ? 0 : k * growth * GROWTH_MAX * (1 - bend * bend);
	return k + most_us;
}

/* Derivative of an operator's time by one of the two times that make it. */
static double
slope_of(double part, double time, bool in_turn)
{
	double		share = time > 0 ? part / time : 0;

	return in_turn ? 1 : share * share * share;
}

/*
 * t = (k^4 + l^4)^(1/4): the larger of device time k and launch time
 * l = launches * softplus(l_raw), smoothly; on a CPU t = k + l.  k is held above what
 * no kernel is faster than: what training has not seen must not come out faster than
 * the device is.
 */
static void
token_time(const pm_mdot_net *net, int estimate, const pm_real *w, const pm_input *in, int m, int row, const pm_real *h,
		   pm_mdot_estimate_acts *t, int op)
{
	double		l_slope;
	double		k = device_time(net, estimate, w, in, m, row, h, t, op);
	double		launch = softplus(output(net, &net->estimate[estimate], w, h, PM_MDOT_LAUNCH), &l_slope);
	double		k_slope;
	double		l,
				time,
				dk;

	k = pm_held_above(k, in->floor_us[m], &k_slope);
	t->token[op].launch = launch;
	l = pm_mdot_launch_us(&t->token[op], in->kernels[m]);
	time = pm_mdot_token_us(k, l, in->in_turn);
	dk = slope_of(k, time, in->in_turn) * k_slope;
	t->k_us[op] = k;
	t->l_us[op] = l;
	t->t_us[op] = time;
	t->da[op] *= dk;
	t->dm[op] *= dk;
	t->dg[op] *= dk;
	t->dp[op] *= dk;
	t->dl[op] = slope_of(l, time, in->in_turn) * LAUNCH_US * in->kernels[m] * l_slope;
}

/* g[n] are the gradients of the outputs; din[n, m->in] from in[n, m->in], added to what is there if `add` */
static void
perceptron_back(pm_real *din, pm_real *grad, const pm_mlp *m, const pm_real *w, const double *g, const pm_real *in,
				int n, const pm_mlp_acts *t, bool add)
{
	int			hidden = m->hidden;

	for (int i = 0; i < n; i++)
	{
		pm_real		gi = (pm_real) g[i];

		for (int j = 0; j < hidden; j++)
		{
			grad[m->w2 + j] += gi * t->act[(size_t) i * hidden + j];
			t->dact[(size_t) i * hidden + j] = gi * w[m->w2 + j];
		}
		grad[m->b2] += gi;
	}
	pm_mul(t->dact, t->pre, (size_t) n * hidden);
	pm_linear_back(din, grad + m->w1, grad + m->b1, t->dact, in, w + m->w1, n, m->in, hidden, add);
}

static void
pooled_forward(const pm_mdot_data *data, const int *index, const pm_real *w, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	const pm_mlp *m = &net->pooled;

	pool(data, index, t);
	pm_linear_gelu(t->pooled.act, t->pooled.pre, t->pool, w + m->w1, w + m->b1, t->n, m->in, m->hidden);
	for (int i = 0; i < t->n; i++)
	{
		double		raw = perceptron_output(m, w, i, &t->pooled);

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
pooled_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, const double *dc, pm_mdot_acts *t)
{
	pm_real    *dpool = t->small;	/* [n, 3d] */

	for (int i = 0; i < t->n; i++)
		t->c_slope[i] *= dc[i];
	perceptron_back(dpool, grad, &data->net->pooled, w, t->c_slope, t->pool, t->n, &t->pooled, false);
	pool_back(data, index, dpool, t);
}

/* What a step costs beside its operators, from the job token. */
static void
rest_forward(const pm_mdot_net *net, int estimate, const pm_real *w, pm_mdot_acts *t)
{
	const pm_mlp *m = &net->estimate[estimate].rest;
	pm_mdot_estimate_acts *e = &t->estimate[estimate];

	pm_linear_gelu(e->rest.act, e->rest.pre, t->z0, w + m->w1, w + m->b1, t->n, m->in, m->hidden);
	for (int i = 0; i < t->n; i++)
	{
		e->rest_us[i] = REST_US * softplus(perceptron_output(m, w, i, &e->rest), &e->rest_slope[i]);
		e->rest_slope[i] *= REST_US;
	}
}

static void
rest_back(const pm_mdot_data *data, int estimate, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	pm_mdot_estimate_acts *e = &t->estimate[estimate];
	int			d = net->c.d;
	pm_real    *dz0 = t->small;	/* [n, d] */

	for (int i = 0; i < t->n; i++)
		e->rest_slope[i] *= data->inputs[index[i]].rest_share * e->dsum[i];
	perceptron_back(dz0, grad, &net->estimate[estimate].rest, w, e->rest_slope, t->z0, t->n, &e->rest, false);
	for (int i = 0; i < t->n; i++)
		pm_add(t->dz + (size_t) t->seg[i].start * d, dz0 + (size_t) i * d, d);
}

/* Whether the net has a factor of passes, and a sample needs it. */
static bool
has_passes(const pm_mdot_data *data, const int *index, const pm_mdot_acts *t)
{
	for (int i = 0; i < t->n && data->net->c.passes; i++)
		if (data->inputs[index[i]].is_pass)
			return true;
	return false;
}

static void
tokens_forward(const pm_mdot_data *data, int estimate, const int *index, const pm_real *w, pm_rng *rng, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	const pm_mdot_estimate *p = &net->estimate[estimate];
	pm_mdot_estimate_acts *e = &t->estimate[estimate];
	int			width = PM_MDOT_OUTPUTS * net->c.hidden;
	int			op = 0;

	pm_linear_gelu(e->h_act, e->h_pre, t->z, w + p->hidden_w, w + p->hidden_b, t->rows, net->c.d, width);
	if (rng != NULL && net->c.head_dropout > 0)
	{
		/* the mask goes into the derivative too, and so into the backward pass */
		pm_dropout_mask(e->h_mask, (size_t) t->rows * width, net->c.head_dropout, rng);
		pm_mul(e->h_act, e->h_mask, (size_t) t->rows * width);
		pm_mul(e->h_pre, e->h_mask, (size_t) t->rows * width);
	}
	if (has_passes(data, index, t))
		pm_linear_gelu(e->pass.act, e->pass.pre, t->z, w + p->pass.w1, w + p->pass.b1, t->rows, p->pass.in, p->pass.hidden);
	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];

		e->sum_us[i] = in->rest_share * e->rest_us[i];
		for (int m = 0; m < in->n; m++, op++)
		{
			int			row = t->seg[i].start + 1 + m;

			token_time(net, estimate, w, in, m, row, e->h_act + (size_t) row * width, e, op);
			e->sum_us[i] += in->copies[m] * e->t_us[op];
		}
	}
}

/* One output's part of an operator: gradients of its weights and of its hidden units before GELU. */
PM_CLONES static void
output_back(pm_real *restrict dw, pm_real *restrict dh, pm_real g, const pm_real *restrict w, const pm_real *restrict act,
			const pm_real *restrict slope, int hidden)
{
	for (int j = 0; j < hidden; j++)
	{
		dw[j] += g * act[j];
		dh[j] = g * w[j] * slope[j];
	}
}

/* From the estimate's dsum to t->dz, which the first estimate overwrites and the second adds to. */
static void
tokens_back(const pm_mdot_data *data, int estimate, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	const pm_mdot_estimate *p = &net->estimate[estimate];
	const pm_mdot_estimate_acts *e = &t->estimate[estimate];
	int			hidden = net->c.hidden;
	int			width = PM_MDOT_OUTPUTS * hidden;
	pm_real    *dh = t->wide;	/* [rows, PM_MDOT_OUTPUTS * hidden] */
	int			op = 0;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];

		memset(dh + (size_t) t->seg[i].start * width, 0, width * sizeof(pm_real));
		for (int m = 0; m < in->n; m++, op++)
		{
			size_t		row = (size_t) (t->seg[i].start + 1 + m) * width;
			const double slope[PM_MDOT_OUTPUTS] = {
				[PM_MDOT_COMPUTE] = e->da[op], [PM_MDOT_MEMORY] = e->dm[op],
				[PM_MDOT_LAUNCH] = e->dl[op], [PM_MDOT_GROWTH] = e->dg[op]
			};

			for (int k = 0; k < PM_MDOT_OUTPUTS; k++)
			{
				pm_real		gk = (pm_real) (e->dsum[i] * in->copies[m] * slope[k]);

				output_back(grad + p->output[k].w, dh + row + k * hidden, gk, w + p->output[k].w,
							e->h_act + row + k * hidden, e->h_pre + row + k * hidden, hidden);
				grad[p->output[k].b] += gk;
			}
			grad[p->adapter + (size_t) in->gpu * net->width.classes + in->op_class[m]] +=
				(pm_real) (e->dsum[i] * in->copies[m] * (e->da[op] + e->dm[op]));
		}
	}
	pm_linear_back(t->dz, grad + p->hidden_w, grad + p->hidden_b, dh, t->z, w + p->hidden_w, t->rows, net->c.d, width, estimate > 0);
}

/* What passes say of their factor: to its weights, and added to t->dz. */
static void
passes_back(const pm_mdot_data *data, int estimate, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t)
{
	pm_mdot_estimate_acts *e = &t->estimate[estimate];
	int			op = 0;

	memset(e->dpass, 0, t->rows * sizeof(double));
	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];

		for (int m = 0; m < in->n; m++, op++)
			e->dpass[t->seg[i].start + 1 + m] = e->dsum[i] * in->copies[m] * e->dp[op];
	}
	perceptron_back(t->dz, grad, &data->net->estimate[estimate].pass, w, e->dpass, t->z, t->rows, &e->pass, true);
}

/* From the estimates' sums and the pooled factor to their ms. */
static void
steps_forward(bool additive, pm_mdot_acts *t, pm_mdot_estimate_acts *e)
{
	for (int i = 0; i < t->n; i++)
		e->ms[i] = additive ? e->sum_us[i] * exp(t->c[i]) / 1000 : exp(t->c[i]);
}

/* From dms to dsum, and t->dc. */
static void
steps_back(pm_mdot_acts *t, pm_mdot_estimate_acts *e)
{
	for (int i = 0; i < t->n; i++)
	{
		e->dsum[i] = e->dms[i] * exp(t->c[i]) / 1000;
		t->dc[i] += e->dms[i] * e->ms[i];
	}
}

int
pm_mdot_estimates(const pm_mdot_net *net, const pm_input *in)
{
	return in->on_cpu ? 1 : net->c.estimates;
}

void
pm_mdot_heads(const pm_mdot_data *data, const int *index, const pm_real *w, pm_rng *rng, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	bool		additive = net->c.head == PM_HEAD_ADDITIVE;
	int			d = net->c.d;

	if (!additive || net->c.residual)
		pooled_forward(data, index, w, t);
	else
		memset(t->c, 0, t->n * sizeof(double));
	t->estimates = 1;
	for (int i = 0; i < t->n; i++)
	{
		int			estimates = pm_mdot_estimates(net, &data->inputs[index[i]]);

		t->estimates = estimates > t->estimates ? estimates : t->estimates;
		memcpy(t->z0 + (size_t) i * d, t->z + (size_t) t->seg[i].start * d, d * sizeof(pm_real));
	}
	for (int k = 0; k < t->estimates; k++)
	{
		if (additive)
		{
			rest_forward(net, k, w, t);
			tokens_forward(data, k, index, w, rng, t);
		}
		steps_forward(additive, t, &t->estimate[k]);
	}
}

void
pm_mdot_heads_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	bool		additive = net->c.head == PM_HEAD_ADDITIVE;

	memset(t->dc, 0, t->n * sizeof(double));
	if (!additive)
		memset(t->dz, 0, (size_t) t->rows * net->c.d * sizeof(pm_real));
	for (int k = 0; k < t->estimates; k++)
	{
		steps_back(t, &t->estimate[k]);
		if (!additive)
			continue;
		tokens_back(data, k, index, w, grad, t);
		if (has_passes(data, index, t))
			passes_back(data, k, index, w, grad, t);
		rest_back(data, k, index, w, grad, t);
	}
	if (!additive || net->c.residual)
		pooled_back(data, index, w, grad, t->dc, t);
}
