/*
 * perfnet.c - the predictor kind "perfnet": a time for each operator by itself.
 *
 * After PerfNet and PerfNetV2: two convolutions over the operator's vector of
 * features, then a perceptron that says its time; the step is the sum.  What
 * stands around an operator does not matter, and nothing is anchored at the
 * roofline, which is one feature among others.  docs/rivals.md.
 */
#include <math.h>
#include <string.h>

#include "nn/conv1d.h"
#include "kinds/net.h"

enum
{
	OPT_CHANNELS1 = PM_N_NETWORK_OPTIONS, OPT_CHANNELS2, OPT_HIDDEN, OPT_DROPOUT, N_OPTIONS
};

static const pm_option options[N_OPTIONS] = {
	PM_NETWORK_OPTIONS(40, 2e-3),
	[OPT_CHANNELS1] = {"channels1", PM_OPT_INT, 16, 1, 256, NULL, "channels of the first convolution"},
	[OPT_CHANNELS2] = {"channels2", PM_OPT_INT, 32, 1, 256, NULL, "channels of the second convolution"},
	[OPT_HIDDEN] = {"hidden", PM_OPT_INT, 64, 4, 512, NULL, "width of the two fully connected layers"},
	[OPT_DROPOUT] = {"dropout", PM_OPT_REAL, 0.1, 0, 0.9, NULL, "probability of dropping a unit of the first fully connected layer, in training"},
};

/* A convolution and its GELU. */
typedef struct conv
{
	pm_conv1d	shape;
	int			windows;
	int			out;			/* channels */
	size_t		w, b;
} conv;

typedef struct perfnet
{
	pm_network net;
	conv		c1, c2;
	int			flat;			/* width of what the convolutions make of an operator */
	int			hidden;
	size_t		w1, b1;			/* [flat, hidden] */
	pm_mlp		head;			/* hidden -> hidden -> 1 */
	size_t		rest;			/* [1] what a step costs beside its operators */
} perfnet;

typedef struct conv_acts
{
	pm_real    *cols;			/* [r * windows, kernel * channels] */
	pm_real    *pre, *act;		/* [r * windows, out] */
	pm_real    *dcols, *dact;	/* as cols and act */
} conv_acts;

typedef struct acts
{
	pm_features f;
	conv_acts	c1, c2;
	pm_real    *pre, *act, *dact, *mask;	/* [r, hidden] */
	pm_mlp_acts head;
	pm_real    *raw, *draw;		/* [r] */
	double	   *time_us, *slope;	/* [r] */
	double	   *sum_us;			/* [samples] */
} acts;

static conv
add_conv(pm_tensors *t, const char *name, int length, int channels, int kernel, int stride, int out)
{
	conv		c = {.shape = {length, channels, kernel, stride}, .out = out};

	c.windows = pm_conv1d_windows(&c.shape);
	pm_tensors_enter(t, name, -1);
	c.w = pm_tensors_add(t, "w", kernel * channels, out, PM_START_XAVIER);
	c.b = pm_tensors_add(t, "b", 1, out, PM_START_ZERO);
	pm_tensors_enter(t, NULL, -1);
	return c;
}

static void
build(pm_network *net)
{
	perfnet    *p = (perfnet *) net;
	const double *v = net->options.value;
	pm_tensors *t = &net->tensors;

	p->hidden = (int) v[OPT_HIDDEN];
	p->c1 = add_conv(t, "conv1", net->n_features, 1, 5, 2, (int) v[OPT_CHANNELS1]);
	p->c2 = add_conv(t, "conv2", p->c1.windows, p->c1.out, 3, 2, (int) v[OPT_CHANNELS2]);
	p->flat = p->c2.windows * p->c2.out;
	p->w1 = pm_tensors_add(t, "flat_w", p->flat, p->hidden, PM_START_XAVIER);
	p->b1 = pm_tensors_add(t, "flat_b", 1, p->hidden, PM_START_ZERO);
	p->head = pm_mlp_add(t, "head", -1, p->hidden, p->hidden, 1, PM_START_ZERO);
	p->rest = pm_tensors_add(t, "rest", 1, 1, PM_START_ZERO);
}

static void
take_conv(const conv *v, size_t rows, pm_cursor *c, conv_acts *t)
{
	size_t		windows = rows * v->windows;

	t->cols = PM_REALS(c, windows * v->shape.kernel * v->shape.channels);
	t->dcols = PM_REALS(c, windows * v->shape.kernel * v->shape.channels);
	t->pre = PM_REALS(c, windows * v->out);
	t->act = PM_REALS(c, windows * v->out);
	t->dact = PM_REALS(c, windows * v->out);
}

static void
lay_out(const perfnet *p, const pm_pass_size *size, pm_cursor *c, acts *t)
{
	size_t		r = size->tokens;

	pm_features_take(&p->net, size, c, &t->f);
	take_conv(&p->c1, r, c, &t->c1);
	take_conv(&p->c2, r, c, &t->c2);
	t->pre = PM_REALS(c, r * p->hidden);
	t->act = PM_REALS(c, r * p->hidden);
	t->dact = PM_REALS(c, r * p->hidden);
	t->mask = PM_REALS(c, r * p->hidden);
	pm_mlp_take(p->head.hidden, r, c, &t->head);
	t->raw = PM_REALS(c, r);
	t->draw = PM_REALS(c, r);
	t->time_us = PM_DOUBLES(c, r);
	t->slope = PM_DOUBLES(c, r);
	t->sum_us = PM_DOUBLES(c, size->samples);
}

static void
measure(const pm_network *net, const pm_pass_size *size, pm_cursor *c)
{
	acts		t;

	lay_out((const perfnet *) net, size, c, &t);
}

/* ---- operators ---- */

static void
conv_forward(const conv *v, const pm_real *x, const pm_real *w, int r, conv_acts *t)
{
	int			rows = r * v->windows;

	pm_unfold(t->cols, x, &v->shape, r);
	pm_linear_gelu(t->act, t->pre, t->cols, w + v->w, w + v->b, rows, v->shape.kernel * v->shape.channels, v->out);
}

/* From t->dact to dx. */
static void
conv_back(pm_real *dx, pm_real *grad, const conv *v, const pm_real *w, int r, conv_acts *t)
{
	int			rows = r * v->windows;

	pm_mul(t->dact, t->pre, (size_t) rows * v->out);
	pm_linear_back(t->dcols, grad + v->w, grad + v->b, t->dact, t->cols, w + v->w, rows,
				   v->shape.kernel * v->shape.channels, v->out, false);
	pm_unfold_back(dx, t->dcols, &v->shape, r);
}

static void
operators_forward(const perfnet *p, const pm_real *w, const pm_minibatch *b, acts *t)
{
	int			r = b->size.tokens;

	pm_features_forward(&p->net, w, b, &t->f);
	conv_forward(&p->c1, t->f.x, w, r, &t->c1);
	conv_forward(&p->c2, t->c1.act, w, r, &t->c2);
	pm_linear_gelu(t->act, t->pre, t->c2.act, w + p->w1, w + p->b1, r, p->flat, p->hidden);
	if (b->rng != NULL)
	{
		/* into the derivative too, and so into the backward pass */
		pm_dropout_mask(t->mask, (size_t) r * p->hidden, p->net.options.value[OPT_DROPOUT], b->rng);
		pm_mul(t->act, t->mask, (size_t) r * p->hidden);
		pm_mul(t->pre, t->mask, (size_t) r * p->hidden);
	}
	pm_mlp_forward(t->raw, t->act, &p->head, w, r, &t->head);
}

/* From t->draw. */
static void
operators_back(const perfnet *p, const pm_real *w, pm_real *grad, const pm_minibatch *b, acts *t)
{
	int			r = b->size.tokens;

	pm_mlp_back(t->dact, grad, t->draw, t->act, &p->head, w, r, &t->head);
	pm_mul(t->dact, t->pre, (size_t) r * p->hidden);
	pm_linear_back(t->c2.dact, grad + p->w1, grad + p->b1, t->dact, t->c2.act, w + p->w1, r, p->flat, p->hidden, false);
	conv_back(t->c1.dact, grad, &p->c2, w, r, &t->c2);
	conv_back(t->f.dx, grad, &p->c1, w, r, &t->c1);
	pm_features_back(&p->net, grad, b, &t->f);
}

/* ---- step ---- */

static void
sum_forward(const perfnet *p, const pm_real *w, pm_minibatch *b, acts *t)
{
	double		ignored;
	double		rest_us = pm_network_time_us(&p->net, w[p->rest], &ignored);
	int			row = 0;

	for (int i = 0; i < b->size.samples; i++)
	{
		t->sum_us[i] = rest_us;
		for (int m = 0; m < b->in[i]->n; m++, row++)
		{
			t->time_us[row] = pm_network_time_us(&p->net, t->raw[row], &t->slope[row]);
			t->sum_us[i] += b->in[i]->copies[m] * t->time_us[row];
		}
		b->log_ms[i] = log(t->sum_us[i] / 1000);
	}
	if (b->token_us == NULL)
		return;
	memcpy(b->token_us, t->time_us, row * sizeof(double));
	memset(b->launch_bound, 0, row * sizeof(bool));
	b->rest_us = rest_us;
}

static void
sum_back(const perfnet *p, const pm_real *w, pm_real *grad, const pm_minibatch *b, acts *t)
{
	double		slope;
	int			row = 0;

	pm_network_time_us(&p->net, w[p->rest], &slope);
	for (int i = 0; i < b->size.samples; i++)
	{
		double		dsum = b->dlog[i] / t->sum_us[i];

		for (int m = 0; m < b->in[i]->n; m++, row++)
			t->draw[row] = (pm_real) (dsum * b->in[i]->copies[m] * t->slope[row]);
		grad[p->rest] += (pm_real) (dsum * slope);
	}
}

static double
pass(const pm_network *net, const pm_real *w, pm_real *grad, pm_minibatch *b, pm_cursor *c)
{
	const perfnet *p = (const perfnet *) net;
	double		loss;
	acts		t;

	lay_out(p, &b->size, c, &t);
	operators_forward(p, w, b, &t);
	sum_forward(p, w, b, &t);
	loss = pm_network_loss(b);
	if (grad != NULL)
	{
		sum_back(p, w, grad, b, &t);
		operators_back(p, w, grad, b, &t);
	}
	return loss;
}

const pm_architecture pm_architecture_perfnet = {
	.knows_operators = true, .net_bytes = sizeof(perfnet),
	.build = build, .measure = measure, .pass = pass
};

PM_NETWORK_KIND(perfnet, "convolutions over the features of each operator by itself, summed (after PerfNet)", options, NULL);
