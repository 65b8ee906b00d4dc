/*
 * transformer.c - the predictor kind "transformer": operators as a plain sequence.
 *
 * MDOT without what is MDOT's: an operator's features stand side by side and
 * go through one perceptron, its position is a sinusoid of its index in the
 * sequence, attention knows no relations, and a pooled head says the time of
 * the step.  docs/rivals.md.
 */
#include <math.h>
#include <string.h>

#include "nn/encoder.h"
#include "kinds/net.h"
#include "graph/sequence.h"

enum
{
	OPT_D_MODEL = PM_N_NETWORK_OPTIONS, OPT_HEADS, OPT_LAYERS, OPT_HIDDEN, OPT_DROPOUT, OPT_DROP_PATH, N_OPTIONS
};

static const pm_option options[N_OPTIONS] = {
	PM_NETWORK_OPTIONS(40, 2e-3),
	[OPT_D_MODEL] = {"d_model", PM_OPT_INT, 64, 8, 512, NULL, "width of the Transformer"},
	[OPT_HEADS] = {"heads", PM_OPT_INT, 4, 1, 16, NULL, "attention heads; must divide d_model"},
	[OPT_LAYERS] = {"layers", PM_OPT_INT, 1, 0, 6, NULL, "layers of the Transformer"},
	[OPT_HIDDEN] = {"hidden", PM_OPT_INT, 64, 4, 512, NULL, "width inside the perceptrons"},
	[OPT_DROPOUT] = {"dropout", PM_OPT_REAL, 0.1, 0, 0.9, NULL, "probability of dropping a unit of the Transformer, in training"},
	[OPT_DROP_PATH] = {"drop_path", PM_OPT_REAL, 0.1, 0, 0.9, NULL,
	"probability that a branch of the Transformer is left out for a graph in training"},
};

typedef struct transformer
{
	pm_network net;
	int			d;
	int			layers;
	pm_mlp		embed;			/* features -> d */
	pm_mlp		job;			/* job features -> d */
	pm_encoder_shape shape;
	pm_encoder_params *layer;	/* [layers] */
	size_t		ln_g, ln_b;		/* [d] */
	pm_mlp		head;			/* job token and mean -> 1 */
} transformer;

/* Where the operators of a graph stand. */
typedef struct plan
{
	pm_sample_plan base;
	pm_real    *position;		/* [tokens, d] averaged over the copies */
} plan;

typedef struct acts
{
	pm_features f;
	int			rows;			/* tokens and a job token for each sample */
	pm_mlp_acts embed, job, head;
	pm_real    *o;				/* [tokens, d] operators, and later their gradient */
	pm_real    *q;				/* [samples, job features] */
	pm_real    *j;				/* [samples, d] job tokens, and later their gradient */
	pm_real    *x;				/* [rows, d] residual stream, and later its gradient */
	pm_segment *seg;			/* [samples] */
	pm_segments segs;
	pm_encoder_acts *layer;		/* [layers] */
	pm_encoder_scratch scratch;
	pm_real    *z, *xhat, *rstd;	/* [rows, d], [rows, d], [rows] */
	pm_real    *pool, *dpool;	/* [samples, 2d] */
	pm_real    *out;			/* [samples] */
} acts;

static void
build(pm_network *net)
{
	transformer *p = (transformer *) net;
	const double *v = net->options.value;
	pm_tensors *t = &net->tensors;
	int			hidden = (int) v[OPT_HIDDEN];

	p->d = (int) v[OPT_D_MODEL];
	p->layers = (int) v[OPT_LAYERS];
	p->embed = pm_mlp_add(t, "embed", -1, net->n_features, hidden, p->d, PM_START_XAVIER);
	p->job = pm_mlp_add(t, "job", -1, p->net.width.job, hidden, p->d, PM_START_XAVIER);
	p->shape = (pm_encoder_shape) {.d = p->d, .heads = (int) v[OPT_HEADS], .ff = 2 * p->d};
	p->layer = pm_tensors_layers(t, p->layers, sizeof(pm_encoder_params));
	for (int l = 0; l < p->layers; l++)
		pm_encoder_add(t, "encoder", l, &p->shape, PM_START_ZERO, p->layer ? &p->layer[l] : NULL);
	p->ln_g = pm_tensors_add(t, "ln_g", 1, p->d, PM_START_ONE);
	p->ln_b = pm_tensors_add(t, "ln_b", 1, p->d, PM_START_ZERO);
	p->head = pm_mlp_add(t, "head", -1, 2 * p->d, hidden, 1, PM_START_ZERO);
}

static pm_code
check(const pm_options *o, pm_status *st)
{
	if (fmod(o->value[OPT_D_MODEL], o->value[OPT_HEADS]) != 0)
		return pm_fail(st, PM_ERR_OPTION, "option \"heads\" must divide \"d_model\": %g does not divide %g",
					   o->value[OPT_HEADS], o->value[OPT_D_MODEL]);
	return PM_OK;
}

/* ---- positions ---- */

/* out[d] += scale * S(p): sine and cosine of p at wavelengths from 2 pi to 20000 pi (Vaswani et al. 2017) */
static void
add_sinusoid(pm_real *out, int d, double p, double scale)
{
	for (int k = 0; k < d; k++)
	{
		double		angle = p / pow(10000.0, (double) (k & ~1) / d);

		out[k] += (pm_real) (scale * (k & 1 ? cos(angle) : sin(angle)));
	}
}

static pm_code
make_plan(const pm_options *o, const pm_tokens *t, const pm_question *q, pm_arena *a, pm_sample_plan **result, pm_status *st)
{
	const pm_skeleton *s = t->skeleton;
	int			d = (int) o->value[OPT_D_MODEL];
	plan	   *p = PM_NEW(a, plan, 1);
	int32_t    *order;
	pm_code		rc;

	(void) q;
	if (!p || (p->position = PM_NEW(a, pm_real, (size_t) t->n * d)) == NULL)
		return pm_no_memory(st, a);
	if ((rc = pm_sequence(s->graph, &s->dag, a, &order, st)) != PM_OK)
		return rc;
	for (int i = 0; i < s->dag.n; i++)
	{
		int			token = s->token_of[order[i]];

		add_sinusoid(p->position + (size_t) token * d, d, i, 1 / s->copies[token]);
	}
	*result = &p->base;
	return PM_OK;
}

static void
plan_bound(const pm_options *o, const pm_skeleton *s, int *items, double *bytes)
{
	*items = 0;
	*bytes = 512 + pm_sequence_memory(&s->dag) + (double) s->n * o->value[OPT_D_MODEL] * sizeof(pm_real);
}

/* ---- workspace ---- */

static void
take_scratch(const pm_encoder_shape *s, size_t rows, int longest, pm_cursor *c, pm_encoder_scratch *t)
{
	t->wide = PM_REALS(c, rows * 3 * s->d);	/* ff is 2d */
	t->narrow = PM_REALS(c, rows * s->d);
	t->mixed = PM_REALS(c, rows * s->d);
	t->scores = PM_REALS(c, (size_t) longest * longest);
}

static void
lay_out(const transformer *p, const pm_pass_size *size, pm_cursor *c, acts *t)
{
	size_t		rows = (size_t) size->tokens + size->samples;
	size_t		n = size->samples;

	pm_features_take(&p->net, size, c, &t->f);
	t->rows = (int) rows;
	pm_mlp_take(p->embed.hidden, size->tokens, c, &t->embed);
	pm_mlp_take(p->job.hidden, n, c, &t->job);
	pm_mlp_take(p->head.hidden, n, c, &t->head);
	t->o = PM_REALS(c, (size_t) size->tokens * p->d);
	t->q = PM_REALS(c, n * p->net.width.job);
	t->j = PM_REALS(c, n * p->d);
	t->x = PM_REALS(c, rows * p->d);
	t->seg = pm_take(c, n, sizeof(pm_segment));
	t->layer = pm_take(c, p->layers, sizeof(pm_encoder_acts));
	for (int l = 0; l < p->layers; l++)
		pm_encoder_take(c, &p->shape, n, rows, p->shape.heads * size->squares, true, t->layer ? &t->layer[l] : NULL);
	take_scratch(&p->shape, rows, size->longest + 1, c, &t->scratch);
	t->z = PM_REALS(c, rows * p->d);
	t->xhat = PM_REALS(c, rows * p->d);
	t->rstd = PM_REALS(c, rows);
	t->pool = PM_REALS(c, n * 2 * p->d);
	t->dpool = PM_REALS(c, n * 2 * p->d);
	t->out = PM_REALS(c, n);
}

static void
measure(const pm_network *net, const pm_pass_size *size, pm_cursor *c)
{
	acts		t;

	lay_out((const transformer *) net, size, c, &t);
}

/* ---- sequence ---- */

/* One stretch of rows for each sample: its job token, then its operators. */
static void
cut_segments(const transformer *p, const pm_minibatch *b, acts *t)
{
	size_t		probs_at = 0;

	for (int i = 0; i < b->size.samples; i++)
	{
		size_t		len = b->in[i]->n + 1;

		t->seg[i] = (pm_segment) {.start = b->start[i] + i, .n = (int) len, .log_copies = b->in[i]->log_copies,
			.probs_at = probs_at};
		probs_at += p->shape.heads * len * len;
	}
	t->segs = (pm_segments) {.n = b->size.samples, .list = t->seg, .n_probs = probs_at, .longest = b->size.longest + 1};
}

static void
assemble(const transformer *p, const pm_real *w, const pm_minibatch *b, acts *t)
{
	size_t		d = p->d;

	pm_features_forward(&p->net, w, b, &t->f);
	pm_mlp_forward(t->o, t->f.x, &p->embed, w, b->size.tokens, &t->embed);
	for (int i = 0; i < b->size.samples; i++)
		memcpy(t->q + (size_t) i * p->net.width.job, b->in[i]->job, p->net.width.job * sizeof(pm_real));
	pm_mlp_forward(t->j, t->q, &p->job, w, b->size.samples, &t->job);
	for (int i = 0; i < b->size.samples; i++)
	{
		pm_real    *x = t->x + t->seg[i].start * d;
		size_t		n = b->in[i]->n * d;

		memcpy(x, t->j + i * d, d * sizeof(pm_real));
		memcpy(x + d, t->o + b->start[i] * d, n * sizeof(pm_real));
		pm_add(x + d, ((const plan *) b->plan[i])->position, n);
	}
}

/* t->x holds the gradient of the sequence. */
static void
assemble_back(const transformer *p, const pm_real *w, pm_real *grad, const pm_minibatch *b, acts *t)
{
	size_t		d = p->d;

	for (int i = 0; i < b->size.samples; i++)
	{
		const pm_real *dx = t->x + t->seg[i].start * d;

		memcpy(t->j + i * d, dx, d * sizeof(pm_real));
		memcpy(t->o + b->start[i] * d, dx + d, b->in[i]->n * d * sizeof(pm_real));
	}
	pm_mlp_back(NULL, grad, t->j, t->q, &p->job, w, b->size.samples, &t->job);
	pm_mlp_back(t->f.dx, grad, t->o, t->f.x, &p->embed, w, b->size.tokens, &t->embed);
	pm_features_back(&p->net, grad, b, &t->f);
}

/* ---- head ---- */

/* Share of a token among the operators of its graph */
static pm_real
share_of(const pm_input *in, int m)
{
	return (pm_real) (in->copies[m] / in->skeleton->dag.n);
}

static void
head_forward(const transformer *p, const pm_real *w, pm_minibatch *b, acts *t)
{
	int			d = p->d;

	for (int i = 0; i < b->size.samples; i++)
	{
		const pm_real *z = t->z + (size_t) t->seg[i].start * d;
		pm_real    *mean = t->pool + (size_t) (2 * i + 1) * d;

		memcpy(mean - d, z, d * sizeof(pm_real));
		memset(mean, 0, d * sizeof(pm_real));
		for (int m = 0; m < b->in[i]->n; m++)
			for (int j = 0; j < d; j++)
				mean[j] += share_of(b->in[i], m) * z[(size_t) (m + 1) * d + j];
	}
	pm_mlp_forward(t->out, t->pool, &p->head, w, b->size.samples, &t->head);
	for (int i = 0; i < b->size.samples; i++)
		b->log_ms[i] = p->net.log_mean + p->net.log_sigma * t->out[i];
}

/* Leaves the gradient of t->z in t->z. */
static void
head_back(const transformer *p, const pm_real *w, pm_real *grad, const pm_minibatch *b, acts *t)
{
	int			d = p->d;

	for (int i = 0; i < b->size.samples; i++)
		t->out[i] = (pm_real) (b->dlog[i] * p->net.log_sigma);
	pm_mlp_back(t->dpool, grad, t->out, t->pool, &p->head, w, b->size.samples, &t->head);
	for (int i = 0; i < b->size.samples; i++)
	{
		pm_real    *dz = t->z + (size_t) t->seg[i].start * d;
		const pm_real *dmean = t->dpool + (size_t) (2 * i + 1) * d;

		memcpy(dz, dmean - d, d * sizeof(pm_real));
		for (int m = 0; m < b->in[i]->n; m++)
			for (int j = 0; j < d; j++)
				dz[(size_t) (m + 1) * d + j] = share_of(b->in[i], m) * dmean[j];
	}
}

/* ---- the pass ---- */

static void
forward(const transformer *p, const pm_real *w, pm_minibatch *b, acts *t)
{
	const pm_encoder_drop drop = {p->net.options.value[OPT_DROPOUT], p->net.options.value[OPT_DROP_PATH], b->rng};

	cut_segments(p, b, t);
	assemble(p, w, b, t);
	for (int l = 0; l < p->layers; l++)
		pm_encoder_forward(t->x, w, &p->layer[l], &p->shape, &t->segs, t->rows, b->rng ? &drop : NULL,
						   &t->layer[l], &t->scratch);
	pm_layer_norm(t->z, t->xhat, t->rstd, t->x, w + p->ln_g, w + p->ln_b, t->rows, p->d);
	head_forward(p, w, b, t);
}

static void
backward(const transformer *p, const pm_real *w, pm_real *grad, const pm_minibatch *b, acts *t)
{
	head_back(p, w, grad, b, t);
	pm_layer_norm_back(t->x, grad + p->ln_g, grad + p->ln_b, t->z, t->xhat, t->rstd, w + p->ln_g, t->rows, p->d,
					   false);
	for (int l = p->layers - 1; l >= 0; l--)
		pm_encoder_backward(t->x, grad, w, &p->layer[l], &p->shape, &t->segs, b->rng != NULL,
							&t->layer[l], &t->scratch);
	assemble_back(p, w, grad, b, t);
}

static double
pass(const pm_network *net, const pm_real *w, pm_real *grad, pm_minibatch *b, pm_cursor *c)
{
	const transformer *p = (const transformer *) net;
	double		loss;
	acts		t;

	lay_out(p, &b->size, c, &t);
	forward(p, w, b, &t);
	loss = pm_network_loss(b);
	if (grad != NULL)
		backward(p, w, grad, b, &t);
	return loss;
}

const pm_architecture pm_architecture_transformer = {
	.net_bytes = sizeof(transformer), .build = build, .measure = measure, .pass = pass,
	.plan = make_plan, .plan_bound = plan_bound
};

PM_NETWORK_KIND(transformer, "plain Transformer over the sequence of operators with a pooled head", options, check);
