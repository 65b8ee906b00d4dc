/*
 * gnn.c - the predictor kind "gnn": message passing over the operator graph.
 *
 * After DNNPerf (nodes and edges with features) and Driple (a graph network
 * for training steps): operators send messages along the edges, with and
 * against the flow of the tensors, for a few rounds; the graph is read out as
 * a sum, a mean and a maximum, and a perceptron says the time of the step.
 * docs/rivals.md.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kinds/net.h"
#include "graph/dag.h"

#define N_EDGE			2		/* features of an edge */

enum
{
	OPT_WIDTH = PM_N_NETWORK_OPTIONS, OPT_ROUNDS, OPT_HIDDEN, OPT_DROPOUT, OPT_DROP_PATH, N_OPTIONS
};

static const pm_option options[N_OPTIONS] = {
	PM_NETWORK_OPTIONS(60, 2e-3),
	[OPT_WIDTH] = {"width", PM_OPT_INT, 64, 4, 512, NULL, "width of a node's state and of a message"},
	[OPT_ROUNDS] = {"rounds", PM_OPT_INT, 2, 0, 6, NULL, "rounds of message passing"},
	[OPT_HIDDEN] = {"hidden", PM_OPT_INT, 64, 4, 512, NULL, "width inside the perceptrons"},
	[OPT_DROPOUT] = {"dropout", PM_OPT_REAL, 0.1, 0, 0.9, NULL, "probability of dropping a unit of what a round adds, in training"},
	[OPT_DROP_PATH] = {"drop_path", PM_OPT_REAL, 0.1, 0, 0.9, NULL,
	"probability that a round is left out for a graph in training"},
};

/* One round: message = gelu(u_self W_self + u_other W_other + edge W_edge + b), each way with weights of its own. */
typedef struct gnn_round
{
	size_t		ln_g, ln_b;		/* [d] */
	size_t		ends;			/* [d, 4d]: producer and consumer of messages down, then of messages up */
	size_t		edge;			/* [N_EDGE + 1, 2d] features of the edge and a bias, down and up */
	pm_mlp		update;			/* state, messages from producers, from consumers -> d */
} gnn_round;

typedef struct gnn
{
	pm_network net;
	int			d;
	int			rounds;
	pm_mlp		embed;			/* features -> d */
	gnn_round  *round;			/* [rounds] */
	size_t		ln_g, ln_b;		/* [d] */
	size_t		wsum, bsum;		/* [d, d]: exponents of the sum */
	pm_mlp		head;			/* sum, mean, max, job -> 1 */
	size_t		direct;			/* [3d + job features, 1] past the perceptron */
} gnn;

/* Edges between tokens; equal ones of copies are one edge. */
typedef struct edge
{
	int32_t		from;			/* producer */
	int32_t		to;				/* consumer */
	pm_real		down;			/* such edges a copy of the consumer: weight of the message down */
	pm_real		up;				/* such edges a copy of the producer: weight of the message up */
	pm_real		feature[N_EDGE + 1];	/* size of the tensor, levels that it skips, and 1 */
} edge;

typedef struct plan
{
	pm_sample_plan base;			/* items: edges */
	edge	   *edges;
} plan;

typedef struct round_acts
{
	pm_real    *u, *xhat, *rstd;	/* [r, d], [r, d], [r] */
	pm_real    *ends;			/* [r, 4d] */
	pm_real    *pre, *message;	/* [edges, 2d] */
	pm_real    *in;				/* [r, 3d] state, from producers, from consumers */
	pm_mlp_acts update;
	pm_real    *mask;			/* [r, d] dropout */
} round_acts;

typedef struct acts
{
	pm_features f;
	pm_mlp_acts embed, head;
	pm_real    *x;				/* [r, d] states, and later their gradient */
	edge	   *edges;			/* [edges] of all samples */
	pm_real    *feature;		/* [edges, N_EDGE + 1] */
	round_acts *round;			/* [rounds] */
	pm_real    *z, *xhat, *rstd;	/* [r, d], [r, d], [r] */
	pm_real    *share;			/* [r, d] exponents, and then each operator's share of the sum */
	int32_t    *top;			/* [samples, d] row of the maximum */
	pm_real    *read, *dread;	/* [samples, 3d + job features] */
	pm_real    *out;			/* [samples] */
	pm_real    *step, *dz, *dends, *din, *dmessage; /* scratch: [r, d], [r, d], [r, 4d], [r, 3d], [edges, 2d] */
} acts;

static int
read_width(const gnn *p)
{
	return 3 * p->d + p->net.width.job;
}

static void
build(pm_network *net)
{
	gnn		   *p = (gnn *) net;
	const double *v = net->options.value;
	pm_tensors *t = &net->tensors;
	int			d = p->d = (int) v[OPT_WIDTH];
	int			hidden = (int) v[OPT_HIDDEN];

	p->rounds = (int) v[OPT_ROUNDS];
	p->embed = pm_mlp_add(t, "embed", -1, net->n_features, hidden, d, PM_START_XAVIER);
	p->round = pm_tensors_layers(t, p->rounds, sizeof(gnn_round));
	for (int i = 0; i < p->rounds; i++)
	{
		gnn_round	counted;
		gnn_round  *g = p->round ? &p->round[i] : &counted;

		pm_tensors_enter(t, "round", i);
		g->ln_g = pm_tensors_add(t, "ln_g", 1, d, PM_START_ONE);
		g->ln_b = pm_tensors_add(t, "ln_b", 1, d, PM_START_ZERO);
		g->ends = pm_tensors_add(t, "ends", d, 4 * d, PM_START_XAVIER);
		g->edge = pm_tensors_add(t, "edge", N_EDGE + 1, 2 * d, PM_START_TABLE);
		g->update = pm_mlp_add(t, "update", i, 3 * d, d, d, PM_START_ZERO);
	}
	p->ln_g = pm_tensors_add(t, "ln_g", 1, d, PM_START_ONE);
	p->ln_b = pm_tensors_add(t, "ln_b", 1, d, PM_START_ZERO);
	p->wsum = pm_tensors_add(t, "sum_w", d, d, PM_START_XAVIER);
	p->bsum = pm_tensors_add(t, "sum_b", 1, d, PM_START_ZERO);
	p->head = pm_mlp_add(t, "head", -1, read_width(p), hidden, 1, PM_START_ZERO);
	p->direct = pm_tensors_add(t, "direct", read_width(p), 1, PM_START_ZERO);
}

/* ---- edges ---- */

static int
by_ends(const void *a, const void *b)
{
	const edge *x = a;
	const edge *y = b;

	return x->from != y->from ? x->from - y->from : x->to - y->to;
}

/* All edges of the dag, as edges between tokens. */
static void
list_edges(const pm_skeleton *s, const pm_question *q, edge *e)
{
	const pm_dag *d = &s->dag;

	for (int i = 0; i < d->n; i++)
		for (int k = d->parent_at[i]; k < d->parent_at[i + 1]; k++, e++)
		{
			int			p = d->parent[k];
			double		elements = pm_node_count_all(&s->graph->nodes[d->node[p]], q->batch);

			*e = (edge) {.from = s->token_of[p], .to = s->token_of[i], .down = 1, .up = 1};
			/* about the range of a normalised feature: a million elements is the middle */
			e->feature[0] = (pm_real) ((log2(1 + elements) - 20) / 4);
			e->feature[1] = (pm_real) log2(d->depth[i] - d->depth[p]);
			e->feature[2] = 1;
		}
}

/* Sorted edges: fold those between the same tokens into one; returns how many are left. */
static int
merge_edges(const pm_skeleton *s, edge *e, int n)
{
	int			last = -1;

	for (int i = 0; i < n; i++)
		if (last >= 0 && by_ends(&e[last], &e[i]) == 0)
		{
			e[last].down++;
			for (int k = 0; k < N_EDGE; k++)	/* the mean, step by step */
				e[last].feature[k] += (e[i].feature[k] - e[last].feature[k]) / e[last].down;
		}
		else
			e[++last] = e[i];
	for (int i = 0; i <= last; i++)
	{
		e[i].up = e[i].down / (pm_real) s->copies[e[i].from];
		e[i].down /= (pm_real) s->copies[e[i].to];
	}
	return last + 1;
}

static pm_code
make_plan(const pm_options *o, const pm_tokens *t, const pm_question *q, pm_arena *a, pm_sample_plan **result, pm_status *st)
{
	const pm_skeleton *s = t->skeleton;
	int			n = s->dag.parent_at[s->dag.n];
	plan	   *p = PM_NEW(a, plan, 1);

	(void) o;
	if (!p || (p->edges = PM_NEW(a, edge, n + 1)) == NULL)
		return pm_no_memory(st, a);
	list_edges(s, q, p->edges);
	qsort(p->edges, n, sizeof(edge), by_ends);
	p->base.items = merge_edges(s, p->edges, n);
	*result = &p->base;
	return PM_OK;
}

static void
plan_bound(const pm_options *o, const pm_skeleton *s, int *items, double *bytes)
{
	(void) o;
	*items = s->dag.parent_at[s->dag.n];
	*bytes = 256 + (*items + 1.0) * sizeof(edge);
}

/* ---- workspace ---- */

static void
take_round(const gnn *p, size_t r, size_t edges, pm_cursor *c, round_acts *t)
{
	t->u = PM_REALS(c, r * p->d);
	t->xhat = PM_REALS(c, r * p->d);
	t->rstd = PM_REALS(c, r);
	t->ends = PM_REALS(c, r * 4 * p->d);
	t->pre = PM_REALS(c, edges * 2 * p->d);
	t->message = PM_REALS(c, edges * 2 * p->d);
	t->in = PM_REALS(c, r * 3 * p->d);
	pm_mlp_take(p->d, r, c, &t->update);
	t->mask = PM_REALS(c, r * p->d);
}

static void
lay_out(const gnn *p, const pm_pass_size *size, pm_cursor *c, acts *t)
{
	size_t		r = size->tokens;
	size_t		n = size->samples;
	size_t		d = p->d;

	pm_features_take(&p->net, size, c, &t->f);
	pm_mlp_take(p->embed.hidden, r, c, &t->embed);
	pm_mlp_take(p->head.hidden, n, c, &t->head);
	t->x = PM_REALS(c, r * d);
	t->edges = pm_take(c, size->items, sizeof(edge));
	t->feature = PM_REALS(c, (size_t) size->items * (N_EDGE + 1));
	t->round = pm_take(c, p->rounds, sizeof(round_acts));
	for (int i = 0; i < p->rounds; i++)
	{
		round_acts	measured;

		take_round(p, r, size->items, c, t->round ? &t->round[i] : &measured);
	}
	t->z = PM_REALS(c, r * d);
	t->xhat = PM_REALS(c, r * d);
	t->rstd = PM_REALS(c, r);
	t->share = PM_REALS(c, r * d);
	t->top = pm_take(c, n * d, sizeof(int32_t));
	t->read = PM_REALS(c, n * read_width(p));
	t->dread = PM_REALS(c, n * read_width(p));
	t->out = PM_REALS(c, n);
	t->step = PM_REALS(c, r * d);
	t->dz = PM_REALS(c, r * d);
	t->dends = PM_REALS(c, r * 4 * d);
	t->din = PM_REALS(c, r * 3 * d);
	t->dmessage = PM_REALS(c, (size_t) size->items * 2 * d);
}

static void
measure(const pm_network *net, const pm_pass_size *size, pm_cursor *c)
{
	acts		t;

	lay_out((const gnn *) net, size, c, &t);
}

/* ---- message passing ---- */

/* y[n] += f * x[n] */
static inline void
axpy(pm_real *y, pm_real f, const pm_real *x, int n)
{
	for (int i = 0; i < n; i++)
		y[i] += f * x[i];
}

/* The edges of all samples, their ends as rows of the batch. */
static void
gather_edges(const pm_minibatch *b, acts *t)
{
	edge	   *to = t->edges;

	for (int i = 0; i < b->size.samples; i++)
	{
		const plan *p = (const plan *) b->plan[i];

		for (int k = 0; k < p->base.items; k++, to++)
		{
			*to = p->edges[k];
			to->from += b->start[i];
			to->to += b->start[i];
		}
	}
	for (int k = 0; k < b->size.items; k++)
		memcpy(t->feature + (size_t) k * (N_EDGE + 1), t->edges[k].feature, sizeof(t->edges[k].feature));
}

/* Both messages of every edge: [d] down to the consumer, [d] up to the producer. */
static void
messages_forward(const gnn *p, const gnn_round *g, const pm_real *w, const pm_minibatch *b, const acts *a, round_acts *t)
{
	int			d = p->d;
	size_t		edges = b->size.items;

	pm_gemm(false, false, b->size.tokens, 4 * d, d, 1, t->u, d, w + g->ends, 4 * d, 0, t->ends, 4 * d);
	pm_linear(t->pre, a->feature, w + g->edge, NULL, edges, N_EDGE + 1, 2 * d);
	for (size_t k = 0; k < edges; k++)
	{
		const pm_real *from = t->ends + (size_t) a->edges[k].from * 4 * d;
		const pm_real *to = t->ends + (size_t) a->edges[k].to * 4 * d;
		pm_real    *m = t->pre + (size_t) k * 2 * d;

		for (int j = 0; j < d; j++)
		{
			m[j] += from[j] + to[d + j];
			m[d + j] += from[2 * d + j] + to[3 * d + j];
		}
	}
	pm_gelu(t->message, t->pre, edges * 2 * d);
}

/* From a->dmessage to the weights and a->dz, the gradient of t->u. */
static void
messages_back(const gnn *p, const gnn_round *g, const pm_real *w, pm_real *grad, const pm_minibatch *b, acts *a,
			  round_acts *t)
{
	int			d = p->d;
	size_t		edges = b->size.items;

	pm_mul(a->dmessage, t->pre, edges * 2 * d);
	pm_linear_back(NULL, grad + g->edge, NULL, a->dmessage, a->feature, w + g->edge, edges, N_EDGE + 1, 2 * d, false);
	memset(a->dends, 0, (size_t) b->size.tokens * 4 * d * sizeof(pm_real));
	for (size_t k = 0; k < edges; k++)
	{
		pm_real    *from = a->dends + (size_t) a->edges[k].from * 4 * d;
		pm_real    *to = a->dends + (size_t) a->edges[k].to * 4 * d;
		const pm_real *dm = a->dmessage + (size_t) k * 2 * d;

		axpy(from, 1, dm, d);
		axpy(to + d, 1, dm, d);
		axpy(from + 2 * d, 1, dm + d, d);
		axpy(to + 3 * d, 1, dm + d, d);
	}
	pm_linear_back(a->dz, grad + g->ends, NULL, a->dends, t->u, w + g->ends, b->size.tokens, d, 4 * d, true);
}

static void
round_forward(const gnn *p, const gnn_round *g, const pm_real *w, const pm_minibatch *b, acts *a, round_acts *t)
{
	int			r = b->size.tokens;
	int			d = p->d;

	pm_layer_norm(t->u, t->xhat, t->rstd, a->x, w + g->ln_g, w + g->ln_b, r, d);
	messages_forward(p, g, w, b, a, t);
	for (int i = 0; i < r; i++)
	{
		memcpy(t->in + (size_t) i * 3 * d, t->u + (size_t) i * d, d * sizeof(pm_real));
		memset(t->in + (size_t) i * 3 * d + d, 0, 2 * d * sizeof(pm_real));
	}
	for (int k = 0; k < b->size.items; k++)
	{
		const edge *e = &a->edges[k];
		const pm_real *m = t->message + (size_t) k * 2 * d;

		axpy(t->in + (size_t) e->to * 3 * d + d, e->down, m, d);
		axpy(t->in + (size_t) e->from * 3 * d + 2 * d, e->up, m + d, d);
	}
	pm_mlp_forward(a->step, t->in, &g->update, w, r, &t->update);
	if (b->rng != NULL)
		pm_network_drop(a->step, t->mask, b, d, p->net.options.value[OPT_DROPOUT], p->net.options.value[OPT_DROP_PATH]);
	pm_add(a->x, a->step, (size_t) r * d);
}

/* a->x: gradient of the states after this round, then before it */
static void
round_back(const gnn *p, const gnn_round *g, const pm_real *w, pm_real *grad, const pm_minibatch *b, acts *a,
		   round_acts *t)
{
	int			r = b->size.tokens;
	int			d = p->d;

	memcpy(a->step, a->x, (size_t) r * d * sizeof(pm_real));
	if (b->rng != NULL)
		pm_mul(a->step, t->mask, (size_t) r * d);
	pm_mlp_back(a->din, grad, a->step, t->in, &g->update, w, r, &t->update);
	for (int i = 0; i < r; i++)
		memcpy(a->dz + (size_t) i * d, a->din + (size_t) i * 3 * d, d * sizeof(pm_real));
	for (int k = 0; k < b->size.items; k++)
	{
		const edge *e = &a->edges[k];
		const pm_real *to = a->din + (size_t) e->to * 3 * d + d;
		const pm_real *from = a->din + (size_t) e->from * 3 * d + 2 * d;
		pm_real    *dm = a->dmessage + (size_t) k * 2 * d;

		for (int j = 0; j < d; j++)
		{
			dm[j] = e->down * to[j];
			dm[d + j] = e->up * from[j];
		}
	}
	messages_back(p, g, w, grad, b, a, t);
	pm_layer_norm_back(a->x, grad + g->ln_g, grad + g->ln_b, a->dz, t->xhat, t->rstd, w + g->ln_g, r, d, true);
}

/* ---- read-out ---- */

/*
 * The sum is one of positive numbers, exp(z W + b) a copy, and its logarithm
 * is handed on: step times go over five orders of magnitude.  share[n, d] gets
 * each operator's part of the sum, which is all that the gradient needs.
 */
static void
read_sum(const pm_input *in, pm_real *share, int d, pm_real *out)
{
	for (int j = 0; j < d; j++)
	{
		double		top = share[j];
		double		sum = 0;

		for (int m = 1; m < in->n; m++)
			top = fmax(top, share[(size_t) m * d + j]);
		for (int m = 0; m < in->n; m++)
		{
			double		part = in->copies[m] * exp(share[(size_t) m * d + j] - top);

			share[(size_t) m * d + j] = (pm_real) part;
			sum += part;
		}
		for (int m = 0; m < in->n; m++)
			share[(size_t) m * d + j] /= (pm_real) sum;
		out[j] = (pm_real) (top + log(sum));
	}
}

/* Mean over the operators, and maximum. */
static void
read_mean_max(const pm_input *in, const pm_real *z, int d, pm_real *out, int32_t *top)
{
	memset(out, 0, d * sizeof(pm_real));
	memset(top, 0, d * sizeof(int32_t));
	for (int m = 0; m < in->n; m++)
	{
		pm_real		weight = (pm_real) (in->copies[m] / in->skeleton->dag.n);

		for (int j = 0; j < d; j++)
		{
			out[j] += weight * z[(size_t) m * d + j];
			if (z[(size_t) m * d + j] > z[(size_t) top[j] * d + j])
				top[j] = m;
		}
	}
	for (int j = 0; j < d; j++)
		out[d + j] = z[(size_t) top[j] * d + j];
}

static void
read_out(const gnn *p, const pm_real *w, pm_minibatch *b, acts *t)
{
	int			d = p->d;
	int			width = read_width(p);

	pm_layer_norm(t->z, t->xhat, t->rstd, t->x, w + p->ln_g, w + p->ln_b, b->size.tokens, d);
	pm_linear(t->share, t->z, w + p->wsum, w + p->bsum, b->size.tokens, d, d);
	for (int i = 0; i < b->size.samples; i++)
	{
		size_t		at = (size_t) b->start[i] * d;
		pm_real    *read = t->read + (size_t) i * width;

		read_sum(b->in[i], t->share + at, d, read);
		read_mean_max(b->in[i], t->z + at, d, read + d, t->top + (size_t) i * d);
		memcpy(read + 3 * d, b->in[i]->job, p->net.width.job * sizeof(pm_real));
	}
	pm_mlp_forward(t->out, t->read, &p->head, w, b->size.samples, &t->head);
	pm_gemm(false, false, b->size.samples, 1, width, 1, t->read, width, w + p->direct, 1, 1, t->out, 1);
	for (int i = 0; i < b->size.samples; i++)
		b->log_ms[i] = p->net.log_mean + p->net.log_sigma * t->out[i];
}

/* Spread the gradient of one sample's read-out over dz (mean, max) and share (sum: gradient of the exponents). */
static void
read_back(const pm_input *in, const pm_real *dread, int d, const int32_t *top, pm_real *dz, pm_real *share)
{
	for (int m = 0; m < in->n; m++)
	{
		pm_real		weight = (pm_real) (in->copies[m] / in->skeleton->dag.n);

		for (int j = 0; j < d; j++)
		{
			dz[(size_t) m * d + j] = weight * dread[d + j];
			share[(size_t) m * d + j] *= dread[j];
		}
	}
	for (int j = 0; j < d; j++)
		dz[(size_t) top[j] * d + j] += dread[2 * d + j];
}

/* Leaves the gradient of the states in t->x. */
static void
read_out_back(const gnn *p, const pm_real *w, pm_real *grad, const pm_minibatch *b, acts *t)
{
	int			d = p->d;
	int			r = b->size.tokens;
	int			width = read_width(p);

	for (int i = 0; i < b->size.samples; i++)
		t->out[i] = (pm_real) (b->dlog[i] * p->net.log_sigma);
	pm_mlp_back(t->dread, grad, t->out, t->read, &p->head, w, b->size.samples, &t->head);
	pm_linear_back(t->dread, grad + p->direct, NULL, t->out, t->read, w + p->direct, b->size.samples, width, 1, true);
	for (int i = 0; i < b->size.samples; i++)
		read_back(b->in[i], t->dread + (size_t) i * width, d, t->top + (size_t) i * d,
				  t->dz + (size_t) b->start[i] * d, t->share + (size_t) b->start[i] * d);
	pm_linear_back(t->dz, grad + p->wsum, grad + p->bsum, t->share, t->z, w + p->wsum, r, d, d, true);
	memset(t->x, 0, (size_t) r * d * sizeof(pm_real));
	pm_layer_norm_back(t->x, grad + p->ln_g, grad + p->ln_b, t->dz, t->xhat, t->rstd, w + p->ln_g, r, d, true);
}

/* ---- the pass ---- */

static double
pass(const pm_network *net, const pm_real *w, pm_real *grad, pm_minibatch *b, pm_cursor *c)
{
	const gnn  *p = (const gnn *) net;
	int			r = b->size.tokens;
	double		loss;
	acts		t;

	lay_out(p, &b->size, c, &t);
	pm_features_forward(net, w, b, &t.f);
	pm_mlp_forward(t.x, t.f.x, &p->embed, w, r, &t.embed);
	gather_edges(b, &t);
	for (int i = 0; i < p->rounds; i++)
		round_forward(p, &p->round[i], w, b, &t, &t.round[i]);
	read_out(p, w, b, &t);
	loss = pm_network_loss(b);
	if (grad == NULL)
		return loss;
	read_out_back(p, w, grad, b, &t);
	for (int i = p->rounds - 1; i >= 0; i--)
		round_back(p, &p->round[i], w, grad, b, &t, &t.round[i]);
	pm_mlp_back(t.f.dx, grad, t.x, t.f.x, &p->embed, w, r, &t.embed);
	pm_features_back(net, grad, b, &t.f);
	return loss;
}

const pm_architecture pm_architecture_gnn = {
	.net_bytes = sizeof(gnn), .build = build, .measure = measure, .pass = pass,
	.plan = make_plan, .plan_bound = plan_bound
};

PM_NETWORK_KIND(gnn, "message passing over the operator graph with a pooled read-out (after DNNPerf and Driple)",
			  options, NULL);
