/*
 * ets.c - the predictor kind "ets": a recurrent network over windows of the sequence.
 *
 * After ETS (HPDC 2024): the operators in the order in which they run are cut
 * into overlapping windows; a bidirectional LSTM reads a window and says for
 * each operator how long it runs and how long the gap behind it is; what the
 * windows that cover an operator say is averaged, and the step is the sum.
 * Windows that read the same are run once.  docs/rivals.md.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/lstm.h"
#include "kinds/net.h"
#include "graph/sequence.h"

enum
{
	OPT_WINDOW = PM_N_NETWORK_OPTIONS, OPT_STRIDE, OPT_WIDTH, OPT_HIDDEN, N_OPTIONS
};

static const pm_option options[N_OPTIONS] = {
	PM_NETWORK_OPTIONS(40, 5e-3),
	[OPT_WINDOW] = {"window", PM_OPT_INT, 16, 1, 512, NULL, "operators of a window"},
	[OPT_STRIDE] = {"stride", PM_OPT_INT, 8, 1, 512, NULL,
	"operators from the start of a window to that of the next; at most window"},
	[OPT_WIDTH] = {"width", PM_OPT_INT, 48, 4, 512, NULL, "width of the LSTM's state, each way"},
	[OPT_HIDDEN] = {"hidden", PM_OPT_INT, 64, 4, 512, NULL, "width inside the perceptrons"},
};

typedef struct ets
{
	pm_network net;
	int			steps;			/* of a window */
	int			h;
	pm_mlp		embed;			/* features -> 8h: the gates of both directions without what recurs */
	size_t		wh[2];			/* [h, 4h] forward, backward */
	pm_mlp		head;			/* 2h -> duration and gap */
} ets;

/* Different windows of one graph. */
typedef struct plan
{
	pm_sample_plan base;			/* items: windows */
	int32_t    *token;			/* [windows, steps]; -1 past the end of a short graph */
	double	   *weight;			/* [windows, steps] operators that this place stands for, over the windows that cover each */
} plan;

typedef struct acts
{
	pm_features f;
	pm_mlp_acts embed, head;
	int			windows;		/* of all samples */
	int			rows;			/* windows * steps, time-major */
	int32_t    *token;			/* [rows] row of the operator in the batch, or -1 */
	int32_t    *sample;			/* [windows] */
	double	   *weight;			/* [rows] */
	pm_real    *mask;			/* [rows] */
	pm_real    *proj;			/* [tokens, 8h], and later its gradient */
	pm_lstm_acts way[2];
	pm_real    *both;			/* [rows, 2h] states of both directions */
	pm_real    *dboth;			/* [rows, 2h] */
	pm_real    *dout;			/* [rows, h] */
	pm_real    *raw, *draw;		/* [rows, 2] */
	double	   *time_us, *slope;	/* [rows, 2] duration, gap */
	double	   *sum_us;			/* [samples] */
} acts;

static void
build(pm_network *net)
{
	ets		   *p = (ets *) net;
	const double *v = net->options.value;
	pm_tensors *t = &net->tensors;

	p->steps = (int) v[OPT_WINDOW];
	p->h = (int) v[OPT_WIDTH];
	p->embed = pm_mlp_add(t, "embed", -1, net->n_features, (int) v[OPT_HIDDEN], 8 * p->h, PM_START_XAVIER);
	p->wh[0] = pm_tensors_add(t, "forward", p->h, 4 * p->h, PM_START_XAVIER);
	p->wh[1] = pm_tensors_add(t, "backward", p->h, 4 * p->h, PM_START_XAVIER);
	p->head = pm_mlp_add(t, "head", -1, 2 * p->h, (int) v[OPT_HIDDEN], 2, PM_START_ZERO);
}

static pm_code
check(const pm_options *o, pm_status *st)
{
	if (o->value[OPT_STRIDE] > o->value[OPT_WINDOW])
		return pm_fail(st, PM_ERR_OPTION, "option \"stride\" must not exceed \"window\": %g is more than %g",
					   o->value[OPT_STRIDE], o->value[OPT_WINDOW]);
	return PM_OK;
}

/* ---- windows ---- */

/* Windows that cover n operators: the last one ends with the last operator. */
static int
count_windows(int n, int steps, int stride)
{
	return n <= steps ? 1 : (n - steps + stride - 1) / stride + 1;
}

static int
window_start(int i, int n, int steps, int stride)
{
	int			last = n > steps ? n - steps : 0;

	return i * stride < last ? i * stride : last;
}

/* One window while duplicates are looked for. */
typedef struct window
{
	const int32_t *token;		/* [steps] */
	int			steps;
	int			start;
} window;

static int
by_content(const void *a, const void *b)
{
	const window *x = a;
	const window *y = b;
	int			order = memcmp(x->token, y->token, x->steps * sizeof(int32_t));

	return order != 0 ? order : x->start - y->start;
}

typedef struct builder
{
	int			n;				/* operators */
	int			steps, stride;
	int			windows;
	int32_t    *sequence;		/* [max(n, steps)] tokens in order, -1 past the end */
	int		   *covered;		/* [n] windows that cover the operator */
	window	   *window;			/* [windows] */
} builder;

static pm_code
cut_windows(const pm_skeleton *s, const pm_options *o, pm_arena *a, builder *x, pm_status *st)
{
	int			n = x->n = s->dag.n;
	int			steps = x->steps = (int) o->value[OPT_WINDOW];
	int32_t    *order;
	pm_code		rc;

	x->stride = (int) o->value[OPT_STRIDE];
	x->windows = count_windows(n, steps, x->stride);
	x->sequence = PM_NEW(a, int32_t, n > steps ? n : steps);
	x->covered = PM_NEW(a, int, n);
	x->window = PM_NEW(a, window, x->windows);
	if (!x->sequence || !x->covered || !x->window)
		return pm_no_memory(st, a);
	if ((rc = pm_sequence(s->graph, &s->dag, a, &order, st)) != PM_OK)
		return rc;
	for (int i = 0; i < n || i < steps; i++)
		x->sequence[i] = i < n ? s->token_of[order[i]] : -1;
	for (int i = 0; i < x->windows; i++)
	{
		int			start = window_start(i, n, steps, x->stride);

		x->window[i] = (window) {x->sequence + start, steps, start};
		for (int k = start; k < start + steps && k < n; k++)
			x->covered[k]++;
	}
	qsort(x->window, x->windows, sizeof(window), by_content);
	return PM_OK;
}

static pm_code
make_plan(const pm_options *o, const pm_tokens *t, const pm_question *q, pm_arena *a, pm_sample_plan **result, pm_status *st)
{
	plan	   *p = PM_NEW(a, plan, 1);
	builder		x = {0};
	pm_code		rc = p ? cut_windows(t->skeleton, o, a, &x, st) : pm_no_memory(st, a);

	(void) q;
	if (rc != PM_OK)
		return rc;
	p->token = PM_NEW(a, int32_t, (size_t) x.windows * x.steps);
	p->weight = PM_NEW(a, double, (size_t) x.windows * x.steps);
	if (!p->token || !p->weight)
		return pm_no_memory(st, a);
	for (int i = 0; i < x.windows; i++)
	{
		const window *w = &x.window[i];
		size_t		at;

		if (i == 0 || memcmp(w->token, w[-1].token, x.steps * sizeof(int32_t)) != 0)
			p->base.items++;
		at = (size_t) (p->base.items - 1) * x.steps;
		memcpy(p->token + at, w->token, x.steps * sizeof(int32_t));
		for (int k = 0; k < x.steps && w->start + k < x.n; k++)
			p->weight[at + k] += 1.0 / x.covered[w->start + k];
	}
	*result = &p->base;
	return PM_OK;
}

static void
plan_bound(const pm_options *o, const pm_skeleton *s, int *items, double *bytes)
{
	double		steps = o->value[OPT_WINDOW];

	*items = count_windows(s->dag.n, (int) steps, (int) o->value[OPT_STRIDE]);
	*bytes = 1024 + pm_sequence_memory(&s->dag) + 4 * (s->dag.n + steps) + 4.0 * s->dag.n +
		*items * (sizeof(window) + steps * (sizeof(int32_t) + sizeof(double)));
}

/* ---- workspace ---- */

static void
take_way(size_t rows, size_t windows, size_t h, pm_cursor *c, pm_lstm_acts *t)
{
	t->gates = PM_REALS(c, rows * 4 * h);
	t->c = PM_REALS(c, rows * h);
	t->tanh_c = PM_REALS(c, rows * h);
	t->out = PM_REALS(c, rows * h);
	t->dc = PM_REALS(c, windows * h);
}

static void
lay_out(const ets *p, const pm_pass_size *size, pm_cursor *c, acts *t)
{
	size_t		rows = (size_t) size->items * p->steps;

	pm_features_take(&p->net, size, c, &t->f);
	pm_mlp_take(p->embed.hidden, size->tokens, c, &t->embed);
	pm_mlp_take(p->head.hidden, rows, c, &t->head);
	t->windows = size->items;
	t->rows = (int) rows;
	t->token = pm_take(c, rows, sizeof(int32_t));
	t->sample = pm_take(c, size->items, sizeof(int32_t));
	t->weight = PM_DOUBLES(c, rows);
	t->mask = PM_REALS(c, rows);
	t->proj = PM_REALS(c, (size_t) size->tokens * 8 * p->h);
	for (int way = 0; way < 2; way++)
		take_way(rows, size->items, p->h, c, &t->way[way]);
	t->both = PM_REALS(c, rows * 2 * p->h);
	t->dboth = PM_REALS(c, rows * 2 * p->h);
	t->dout = PM_REALS(c, rows * p->h);
	t->raw = PM_REALS(c, rows * 2);
	t->draw = PM_REALS(c, rows * 2);
	t->time_us = PM_DOUBLES(c, rows * 2);
	t->slope = PM_DOUBLES(c, rows * 2);
	t->sum_us = PM_DOUBLES(c, size->samples);
}

static void
measure(const pm_network *net, const pm_pass_size *size, pm_cursor *c)
{
	acts		t;

	lay_out((const ets *) net, size, c, &t);
}

/* ---- forward and backward ---- */

/* The windows of all samples side by side, step by step. */
static void
gather_windows(const ets *p, const pm_minibatch *b, acts *t)
{
	int			window = 0;

	for (int i = 0; i < b->size.samples; i++)
	{
		const plan *q = (const plan *) b->plan[i];

		for (int k = 0; k < q->base.items; k++, window++)
		{
			t->sample[window] = i;
			for (int s = 0; s < p->steps; s++)
			{
				int32_t		token = q->token[(size_t) k * p->steps + s];
				size_t		row = (size_t) s * t->windows + window;

				t->token[row] = token < 0 ? -1 : token + b->start[i];
				t->mask[row] = token < 0 ? 0 : 1;
				t->weight[row] = q->weight[(size_t) k * p->steps + s];
			}
		}
	}
}

static pm_lstm
direction(const ets *p, const acts *t, int way)
{
	return (pm_lstm) {.h = p->h, .steps = p->steps, .r = t->windows, .reverse = way == 1};
}

static void
read_windows(const ets *p, const pm_real *w, acts *t)
{
	size_t		h = p->h;

	for (int way = 0; way < 2; way++)
	{
		pm_lstm		l = direction(p, t, way);

		for (int row = 0; row < t->rows; row++)
		{
			pm_real    *z = t->way[way].gates + row * 4 * h;

			if (t->token[row] < 0)
				memset(z, 0, 4 * h * sizeof(pm_real));
			else
				memcpy(z, t->proj + t->token[row] * 8 * h + way * 4 * h, 4 * h * sizeof(pm_real));
		}
		pm_lstm_forward(&l, w + p->wh[way], t->mask, &t->way[way]);
		for (int row = 0; row < t->rows; row++)
			memcpy(t->both + (2 * row + way) * h, t->way[way].out + row * h, h * sizeof(pm_real));
	}
}

/* From t->dboth to t->proj. */
static void
read_windows_back(const ets *p, const pm_real *w, pm_real *grad, int tokens, acts *t)
{
	size_t		h = p->h;

	memset(t->proj, 0, (size_t) tokens * 8 * h * sizeof(pm_real));
	for (int way = 0; way < 2; way++)
	{
		pm_lstm		l = direction(p, t, way);

		for (int row = 0; row < t->rows; row++)
			memcpy(t->dout + row * h, t->dboth + (2 * row + way) * h, h * sizeof(pm_real));
		pm_lstm_back(&l, grad + p->wh[way], t->dout, w + p->wh[way], t->mask, &t->way[way]);
		for (int row = 0; row < t->rows; row++)
			if (t->token[row] >= 0)
				pm_add(t->proj + t->token[row] * 8 * h + way * 4 * h, t->way[way].gates + row * 4 * h, (int) (4 * h));
	}
}

/* What an operator lasts by all places that stand for it, one copy. */
static void
explain(const pm_minibatch *b, const acts *t)
{
	const pm_input *in = b->in[0];

	memset(b->token_us, 0, in->n * sizeof(double));
	memset(b->launch_bound, 0, in->n * sizeof(bool));
	for (int row = 0; row < t->rows; row++)
		if (t->token[row] >= 0)
			b->token_us[t->token[row]] += t->weight[row] * (t->time_us[2 * row] + t->time_us[2 * row + 1]) /
				in->copies[t->token[row]];
}

static void
sum_forward(const ets *p, pm_minibatch *b, acts *t)
{
	memset(t->sum_us, 0, b->size.samples * sizeof(double));
	for (int row = 0; row < t->rows; row++)
	{
		double	   *us = t->time_us + 2 * (size_t) row;

		for (int k = 0; k < 2; k++)
			us[k] = pm_network_time_us(&p->net, t->raw[2 * row + k], &t->slope[2 * row + k]);
		t->sum_us[t->sample[row % t->windows]] += t->weight[row] * (us[0] + us[1]);
	}
	for (int i = 0; i < b->size.samples; i++)
		b->log_ms[i] = log(t->sum_us[i] / 1000);
	b->rest_us = 0;
	if (b->token_us != NULL)
		explain(b, t);
}

static void
sum_back(const pm_minibatch *b, acts *t)
{
	for (int row = 0; row < t->rows; row++)
	{
		int			i = t->sample[row % t->windows];

		for (int k = 0; k < 2; k++)
			t->draw[2 * row + k] = (pm_real) (b->dlog[i] / t->sum_us[i] * t->weight[row] * t->slope[2 * row + k]);
	}
}

static double
pass(const pm_network *net, const pm_real *w, pm_real *grad, pm_minibatch *b, pm_cursor *c)
{
	const ets  *p = (const ets *) net;
	int			tokens = b->size.tokens;
	double		loss;
	acts		t;

	lay_out(p, &b->size, c, &t);
	gather_windows(p, b, &t);
	pm_features_forward(net, w, b, &t.f);
	pm_mlp_forward(t.proj, t.f.x, &p->embed, w, tokens, &t.embed);
	read_windows(p, w, &t);
	pm_mlp_forward(t.raw, t.both, &p->head, w, t.rows, &t.head);
	sum_forward(p, b, &t);
	loss = pm_network_loss(b);
	if (grad == NULL)
		return loss;
	sum_back(b, &t);
	pm_mlp_back(t.dboth, grad, t.draw, t.both, &p->head, w, t.rows, &t.head);
	read_windows_back(p, w, grad, tokens, &t);
	pm_mlp_back(t.f.dx, grad, t.proj, t.f.x, &p->embed, w, tokens, &t.embed);
	pm_features_back(net, grad, b, &t.f);
	return loss;
}

const pm_architecture pm_architecture_ets = {
	.knows_operators = true, .net_bytes = sizeof(ets), .build = build, .measure = measure, .pass = pass,
	.plan = make_plan, .plan_bound = plan_bound
};

PM_NETWORK_KIND(ets, "bidirectional LSTM over windows of the sequence of operators, summed (after ETS)", options, check);
