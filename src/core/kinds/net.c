/*
 * rival_net.c - what the networks that compete with MDOT share: features,
 * perceptrons, loss, fit, predict, stored form.
 */
#include "kinds/net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/trainer.h"

#define TYPE_DIM		16		/* width of a type's embedding */
#define SETTING_DIM		8		/* of dtype, layout and framework together */
#define HUBER_DELTA		0.2
#define LOG_US_MIN		(-12.0) /* a time within [6e-6 us, 66 s] ... */
#define LOG_US_MAX		18.0
#define LEAK			0.01	/* ... but for a leak, so that nothing gets stuck */

/* ---- parameters ---- */

size_t
pm_rival_add(pm_rival_net *net, const char *name, int rows, int cols, pm_tensor_start start)
{
	pm_rival_tensor *t = &net->tensor[net->n_tensors++];

	if (net->n_tensors > PM_RIVAL_MAX_TENSORS)
		abort();				/* the bounds of some option and the array above have parted */
	*t = (pm_rival_tensor) {.name = name, .at = net->n_params, .rows = rows, .cols = cols, .start = start};
	net->n_params += (size_t) rows * cols;
	return t->at;
}

pm_mlp
pm_mlp_add(pm_rival_net *net, const char *name, int in, int hidden, int out, pm_tensor_start last)
{
	pm_mlp		m = {.in = in, .hidden = hidden, .out = out};

	m.w1 = pm_rival_add(net, name, in, hidden, PM_START_XAVIER);
	m.b1 = pm_rival_add(net, name, 1, hidden, PM_START_ZERO);
	m.w2 = pm_rival_add(net, name, hidden, out, last);
	m.b2 = pm_rival_add(net, name, 1, out, PM_START_ZERO);
	return m;
}

void
pm_rival_init(pm_rival_net *net, const pm_rival *rival, const pm_options *o, int n_types, int n_frameworks)
{
	memset(net, 0, rival->net_bytes);
	net->rival = rival;
	net->options = *o;
	net->n_types = n_types;
	net->n_frameworks = n_frameworks;
	net->log_sigma = 1;
	net->type = pm_rival_add(net, "type", n_types, TYPE_DIM, PM_START_TABLE);
	net->dtype = pm_rival_add(net, "dtype", PM_N_DTYPES, SETTING_DIM, PM_START_TABLE);
	net->layout = pm_rival_add(net, "layout", PM_N_LAYOUTS, SETTING_DIM, PM_START_TABLE);
	net->framework = pm_rival_add(net, "framework", n_frameworks, SETTING_DIM, PM_START_TABLE);
	net->n_features = TYPE_DIM + SETTING_DIM + 2 * PM_N_SLOTS + PM_N_LOADS;
	rival->build(net);
}

void
pm_rival_weights(const pm_rival_net *net, pm_real *w, pm_rng *rng)
{
	memset(w, 0, net->n_params * sizeof(pm_real));
	for (int i = 0; i < net->n_tensors; i++)
	{
		const pm_rival_tensor *t = &net->tensor[i];

		if (t->start == PM_START_XAVIER)
			pm_init_xavier(w + t->at, t->rows, t->cols, 1, rng);
		for (size_t k = 0; k < (size_t) t->rows * t->cols; k++)
		{
			if (t->start == PM_START_ONE)
				w[t->at + k] = 1;
			else if (t->start == PM_START_TABLE)
				w[t->at + k] = (pm_real) (0.5 * (2 * pm_rng_uniform(rng) - 1));
		}
	}
}

static void
mark_decay(const pm_rival_net *net, uint8_t *decay)
{
	for (int i = 0; i < net->n_tensors; i++)
	{
		const pm_rival_tensor *t = &net->tensor[i];

		if (t->rows > 1 && t->start != PM_START_TABLE)
			memset(decay + t->at, 1, (size_t) t->rows * t->cols);
	}
}

/* ---- features ---- */

void
pm_features_take(const pm_rival_net *net, const pm_rival_size *size, pm_cursor *c, pm_features *f)
{
	f->x = PM_REALS(c, (size_t) size->tokens * net->n_features);
	f->dx = PM_REALS(c, (size_t) size->tokens * net->n_features);
	f->type = pm_take(c, size->tokens, sizeof(int32_t));
	f->framework = pm_take(c, size->samples, sizeof(int32_t));
}

static int32_t
hide(int32_t row, double probability, pm_rng *rng)
{
	return rng != NULL && pm_rng_uniform(rng) < probability ? 0 : row;
}

void
pm_features_forward(const pm_rival_net *net, const pm_real *w, const pm_rival_batch *b, pm_features *f)
{
	double		unknown = net->options.value[PM_RIVAL_UNKNOWN];
	pm_real    *x = f->x;
	int			row = 0;

	for (int i = 0; i < b->size.samples; i++)
	{
		const pm_input *in = b->in[i];
		const pm_real *dtype = w + net->dtype + (size_t) in->dtype * SETTING_DIM;
		const pm_real *layout = w + net->layout + (size_t) in->layout * SETTING_DIM;
		const pm_real *framework;

		f->framework[i] = hide(in->framework, unknown, b->rng);
		framework = w + net->framework + (size_t) f->framework[i] * SETTING_DIM;
		for (int m = 0; m < in->n; m++, row++, x += net->n_features)
		{
			pm_real    *setting = x + TYPE_DIM;
			pm_real    *config = setting + SETTING_DIM;

			f->type[row] = hide(in->type[m], unknown, b->rng);
			memcpy(x, w + net->type + (size_t) f->type[row] * TYPE_DIM, TYPE_DIM * sizeof(pm_real));
			for (int j = 0; j < SETTING_DIM; j++)
				setting[j] = dtype[j] + layout[j] + framework[j];
			memcpy(config, in->config + (size_t) m * 2 * PM_N_SLOTS, 2 * PM_N_SLOTS * sizeof(pm_real));
			memcpy(config + 2 * PM_N_SLOTS, in->load + (size_t) m * PM_N_LOADS, PM_N_LOADS * sizeof(pm_real));
		}
	}
}

void
pm_features_back(const pm_rival_net *net, pm_real *grad, const pm_rival_batch *b, const pm_features *f)
{
	const pm_real *dx = f->dx;
	int			row = 0;

	for (int i = 0; i < b->size.samples; i++)
	{
		const pm_input *in = b->in[i];
		pm_real		sum[SETTING_DIM] = {0};

		for (int m = 0; m < in->n; m++, row++, dx += net->n_features)
		{
			pm_add(grad + net->type + (size_t) f->type[row] * TYPE_DIM, dx, TYPE_DIM);
			for (int j = 0; j < SETTING_DIM; j++)
				sum[j] += dx[TYPE_DIM + j];
		}
		pm_add(grad + net->dtype + (size_t) in->dtype * SETTING_DIM, sum, SETTING_DIM);
		pm_add(grad + net->layout + (size_t) in->layout * SETTING_DIM, sum, SETTING_DIM);
		pm_add(grad + net->framework + (size_t) f->framework[i] * SETTING_DIM, sum, SETTING_DIM);
	}
}

/* ---- perceptrons ---- */

void
pm_mlp_take(const pm_mlp *m, size_t rows, pm_cursor *c, pm_mlp_acts *t)
{
	t->pre = PM_REALS(c, rows * m->hidden);
	t->act = PM_REALS(c, rows * m->hidden);
	t->dact = PM_REALS(c, rows * m->hidden);
}

void
pm_mlp_forward(pm_real *y, const pm_real *x, const pm_mlp *m, const pm_real *w, int r, pm_mlp_acts *t)
{
	pm_linear_gelu(t->act, t->pre, x, w + m->w1, w + m->b1, r, m->in, m->hidden);
	pm_linear(y, t->act, w + m->w2, w + m->b2, r, m->hidden, m->out);
}

void
pm_mlp_back(pm_real *dx, pm_real *grad, const pm_real *dy, const pm_real *x, const pm_mlp *m,
			const pm_real *w, int r, pm_mlp_acts *t)
{
	pm_linear_back(t->dact, grad + m->w2, grad + m->b2, dy, t->act, w + m->w2, r, m->hidden, m->out, false);
	pm_mul(t->dact, t->pre, r * m->hidden);
	pm_linear_back(dx, grad + m->w1, grad + m->b1, t->dact, x, w + m->w1, r, m->in, m->hidden, false);
}

void
pm_rival_drop(pm_real *y, pm_real *mask, const pm_rival_batch *b, int width, double unit, double path)
{
	const pm_real keep = (pm_real) (1 / (1 - path));

	pm_dropout_mask(mask, b->size.tokens * width, unit, b->rng);
	for (int i = 0; i < b->size.samples && path > 0; i++)
	{
		pm_real		factor = pm_rng_uniform(b->rng) < path ? 0 : keep;
		pm_real    *m = mask + (size_t) b->start[i] * width;

		for (int k = 0; k < b->in[i]->n * width; k++)
			m[k] *= factor;
	}
	pm_mul(y, mask, b->size.tokens * width);
}

double
pm_rival_time(const pm_rival_net *net, double raw, double *slope)
{
	double		x = net->log_op_us + raw;
	double		held = x < LOG_US_MIN ? LOG_US_MIN : (x > LOG_US_MAX ? LOG_US_MAX : x);
	double		time = exp(held + LEAK * (x - held));

	*slope = held == x ? time : LEAK * time;
	return time;
}

/* ---- the pass ---- */

double
pm_rival_loss(pm_rival_batch *b)
{
	double		loss = 0;

	for (int i = 0; i < b->size.samples; i++)
	{
		double		eps = b->log_ms[i] - log(b->truth[i]);

		b->dlog[i] = b->weight[i] * fmax(-HUBER_DELTA, fmin(HUBER_DELTA, eps));
		loss += b->weight[i] *
			(fabs(eps) <= HUBER_DELTA ? 0.5 * eps * eps : HUBER_DELTA * (fabs(eps) - 0.5 * HUBER_DELTA));
	}
	return loss;
}

static void
open_batch(const pm_rival_data *data, const int *index, int n, pm_rng *rng, pm_rival_batch *b)
{
	pm_rival_size *size = &b->size;

	*size = (pm_rival_size) {.samples = n};
	b->rng = rng;
	b->token_us = NULL;
	for (int i = 0; i < n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];

		b->in[i] = in;
		b->plan[i] = data->plans[index[i]];
		b->start[i] = size->tokens;
		b->truth[i] = data->step_ms[index[i]];
		b->weight[i] = data->weight[index[i]];
		size->tokens += in->n;
		size->squares += (size_t) (in->n + 1) * (in->n + 1);
		size->longest = in->n > size->longest ? in->n : size->longest;
		size->items += b->plan[i] ? b->plan[i]->items : 0;
	}
}

size_t
pm_rival_workspace(const pm_rival_data *data, const int *index, int n)
{
	pm_rival_batch b;
	pm_cursor	c = {0};

	open_batch(data, index, n, NULL, &b);
	data->net->rival->measure(data->net, &b.size, &c);
	return c.at;
}

double
pm_rival_pass(const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
			  double *predicted, pm_rng *rng, void *workspace)
{
	const pm_rival_data *data = ctx;
	pm_cursor	c = {.base = workspace};
	pm_rival_batch b;
	double		loss;

	open_batch(data, index, n, rng, &b);
	loss = data->net->rival->pass(data->net, w, grad, &b, &c);
	for (int i = 0; i < n; i++)
		predicted[i] = exp(b.log_ms[i]);
	return loss;
}

/* ---- the largest shard ---- */

/* Insert into top[n], largest first. */
static void
keep_most(int64_t *top, int n, int64_t value)
{
	for (int i = 0; i < n && value > 0; i++)
		if (value > top[i])
		{
			int64_t		t = top[i];

			top[i] = value;
			value = t;
		}
}

/* What no shard that a shuffle can produce exceeds: each total from the rows where it is largest. */
typedef struct largest
{
	int			per_shard;
	int64_t		tokens[PM_RIVAL_MAX_SHARD];
	int64_t		items[PM_RIVAL_MAX_SHARD];
} largest;

static pm_rival_size
largest_size(const largest *l)
{
	pm_rival_size s = {.samples = l->per_shard, .longest = (int) l->tokens[0]};

	for (int i = 0; i < l->per_shard; i++)
	{
		s.tokens += (int) l->tokens[i];
		s.squares += (size_t) (l->tokens[i] + 1) * (l->tokens[i] + 1);
		s.items += (int) l->items[i];
	}
	return s;
}

static size_t
largest_workspace(const pm_rival_net *net, const largest *l)
{
	pm_rival_size s = largest_size(l);
	pm_cursor	c = {0};

	net->rival->measure(net, &s, &c);
	return c.at;
}

double
pm_rival_memory(const pm_rival *rival, const pm_options *o, const pm_dataset *d, int threads)
{
	largest		l = {.per_shard = pm_shard_samples((int) o->value[PM_RIVAL_BATCH_SIZE])};
	double		plans = 0;
	pm_rival_any any;
	pm_rival_net *net = &any.net;

	for (int i = 0; i < d->n; i++)
	{
		int			items = 0;
		double		bytes = 0;

		if (rival->plan_bound != NULL)
			rival->plan_bound(o, d->samples[i].skeleton, &items, &bytes);
		plans += bytes;
		keep_most(l.tokens, l.per_shard, d->samples[i].skeleton->n);
		keep_most(l.items, l.per_shard, items);
	}
	/* Vocabularies are not known yet: these sizes are generous. */
	pm_rival_init(net, rival, o, 128, 16);
	return pm_arena_memory(pm_inputs_memory(d) + plans + 128.0 * d->n + sizeof(any) +
						   (double) net->n_params * (sizeof(pm_real) + 1) +	/* weights, and which of them decay */
						   pm_train_memory(net->n_params, largest_workspace(net, &l), d->n, threads));
}

/* ---- fit ---- */

typedef struct rival_model
{
	pm_codec	codec;
	pm_rival_net *net;
	pm_real    *w;
} rival_model;

/* Network and room for its weights, from options and vocabularies. */
static pm_code
new_net(rival_model *m, const pm_rival *rival, const pm_options *o, pm_arena *a, pm_status *st)
{
	m->net = pm_alloc(a, 1, rival->net_bytes);
	if (!m->net)
		return pm_no_memory(st, a);
	pm_rival_init(m->net, rival, o, m->codec.n_types, m->codec.n_frameworks);
	return PM_OK;
}

/* Input and plan of one sample. */
static pm_code
prepare_sample(const rival_model *m, const pm_rival *rival, const pm_options *o, const pm_tokens *t, const pm_question *q,
			   pm_arena *a, pm_input *in, pm_rival_plan **plan, pm_status *st)
{
	pm_code		rc = pm_codec_encode(&m->codec, t, q, a, in, st);

	*plan = NULL;
	if (rc == PM_OK && rival->plan != NULL)
		rc = rival->plan(o, t, q, a, plan, st);
	return rc;
}

/* Constants of the output: a start that is right on average. */
static void
calibrate(pm_rival_net *net, const pm_dataset *d)
{
	double		sum = 0,
				squares = 0,
				per_op = 0;

	for (int i = 0; i < d->n; i++)
	{
		double		l = log(d->samples[i].step_ms);

		sum += l;
		squares += l * l;
		per_op += l + log(1000.0 / d->samples[i].skeleton->dag.n);
	}
	net->log_mean = sum / d->n;
	net->log_sigma = fmax(sqrt(fmax(squares / d->n - net->log_mean * net->log_mean, 0)), 0.01);
	net->log_op_us = per_op / d->n;
}

typedef struct rows
{
	pm_input   *inputs;
	pm_rival_plan **plans;
	double	   *step_ms;
	double	   *weight;
	int		   *train, *valid;
	int			n_train, n_valid;
	largest		largest;
} rows;

static pm_code
take_rows(const pm_dataset *d, pm_arena *a, rows *r, pm_status *st)
{
	r->inputs = PM_NEW(a, pm_input, d->n);
	r->plans = PM_NEW(a, pm_rival_plan *, d->n);
	r->step_ms = PM_NEW(a, double, d->n);
	r->weight = PM_NEW(a, double, d->n);
	r->train = PM_NEW(a, int, d->n);
	r->valid = PM_NEW(a, int, d->n);
	return !r->inputs || !r->plans || !r->step_ms || !r->weight || !r->train || !r->valid ? pm_no_memory(st, a) : PM_OK;
}

static pm_code
prepare_rows(rival_model *m, const pm_rival *rival, const pm_options *o, const pm_dataset *d, uint64_t seed,
			 pm_arena *a, rows *r, pm_status *st)
{
	pm_tokens  *tokens;
	pm_code		rc;

	if ((rc = take_rows(d, a, r, st)) != PM_OK ||
		(rc = pm_tokens_of(d, a, &tokens, st)) != PM_OK ||
		(rc = pm_codec_fit(&m->codec, d, tokens, a, st)) != PM_OK)
		return rc;
	r->largest.per_shard = pm_shard_samples((int) o->value[PM_RIVAL_BATCH_SIZE]);
	for (int i = 0; i < d->n && rc == PM_OK; i++)
	{
		const pm_sample *s = &d->samples[i];

		rc = prepare_sample(m, rival, o, &tokens[i], &s->query, a, &r->inputs[i], &r->plans[i], st);
		r->step_ms[i] = s->step_ms;
		r->weight[i] = s->weight;
		keep_most(r->largest.tokens, r->largest.per_shard, r->inputs[i].n);
		keep_most(r->largest.items, r->largest.per_shard, rc == PM_OK && r->plans[i] ? r->plans[i]->items : 0);
	}
	return rc != PM_OK ? rc :
		pm_hold_out(d, o->value[PM_RIVAL_VALID], seed, a, r->train, &r->n_train, r->valid, &r->n_valid, st);
}

static pm_train_options
schedule(const pm_options *o, uint64_t seed, int threads)
{
	const double *v = o->value;

	return (pm_train_options) {
		.epochs = (int) v[PM_RIVAL_EPOCHS], .patience = (int) v[PM_RIVAL_PATIENCE], .batch = (int) v[PM_RIVAL_BATCH_SIZE],
		.rate = v[PM_RIVAL_LEARNING_RATE], .rate_end = fmin(v[PM_RIVAL_FINAL_RATE], v[PM_RIVAL_LEARNING_RATE]),
		.warmup = v[PM_RIVAL_WARMUP], .weight_decay = v[PM_RIVAL_WEIGHT_DECAY], .clip = v[PM_RIVAL_CLIP],
		.ema = v[PM_RIVAL_EMA], .keep_last = v[PM_RIVAL_PATIENCE] == 0, .threads = threads, .seed = seed
	};
}

pm_code
pm_rival_fit(const pm_rival *rival, pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
			 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	rival_model *m = PM_NEW(a, rival_model, 1);
	pm_train_options o = schedule(&p->options, seed, threads);
	rows		r = {0};
	pm_rival_data data;
	uint8_t    *decay;
	pm_net		net;
	pm_rng		rng;
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	if ((rc = prepare_rows(m, rival, &p->options, d, seed, a, &r, st)) != PM_OK ||
		(rc = new_net(m, rival, &p->options, a, st)) != PM_OK)
		return rc;
	m->w = PM_NEW(a, pm_real, m->net->n_params);
	decay = PM_NEW(a, uint8_t, m->net->n_params);
	if (!m->w || !decay)
		return pm_no_memory(st, a);
	calibrate(m->net, d);
	mark_decay(m->net, decay);
	pm_rng_seed(&rng, seed);
	pm_rival_weights(m->net, m->w, &rng);
	data = (pm_rival_data) {.net = m->net, .inputs = r.inputs, .plans = r.plans, .step_ms = r.step_ms, .weight = r.weight};
	net = (pm_net) {.n_params = m->net->n_params, .max_samples = pm_shard_samples(o.batch), .pass = pm_rival_pass,
		.decay = decay, .ctx = &data};
	net.workspace_bytes = largest_workspace(m->net, &r.largest);
	p->impl = m;
	return pm_train(&net, m->w, r.step_ms, r.train, r.n_train, r.valid, r.n_valid, &o, hooks, a, report, st);
}

/* ---- predict ---- */

/* Parts of a kind that knows operators: theirs, then the rest. */
static void
fill_parts(const pm_rival_batch *b, pm_part *parts, int *n_parts)
{
	const pm_input *in = b->in[0];

	for (int i = 0; i < in->n; i++)
		parts[i] = (pm_part) {.token = i, .step_ms = in->copies[i] * b->token_us[i] / 1000, .forward_ms = NAN,
			.backward_ms = NAN, .update_ms = NAN, .bound = b->launch_bound[i] ? 'l' : in->bound[i]};
	parts[in->n] = (pm_part) {.token = -1, .step_ms = b->rest_us / 1000, .forward_ms = NAN, .backward_ms = NAN,
		.update_ms = NAN, .bound = '-'};
	*n_parts = in->n + 1;
}

/* Forward pass over one sample, and what it says of the operators. */
static pm_code
run_one(const rival_model *m, const pm_rival_data *data, pm_arena *scratch, pm_rival_batch *b, pm_status *st)
{
	const int	first = 0;
	pm_cursor	c = {.base = pm_alloc(scratch, pm_rival_workspace(data, &first, 1), 1)};

	open_batch(data, &first, 1, NULL, b);
	b->token_us = PM_NEW(scratch, double, b->size.tokens);
	b->launch_bound = PM_NEW(scratch, bool, b->size.tokens);
	if (!c.base || !b->token_us || !b->launch_bound)
		return pm_no_memory(st, scratch);
	m->net->rival->pass(m->net, m->w, NULL, b, &c);
	return PM_OK;
}

pm_code
pm_rival_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
				 double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	const rival_model *m = p->impl;
	const double one = 1;
	pm_tokens	tokens;
	pm_input	in;
	pm_rival_plan *plan;
	pm_rival_data data = {.net = m->net, .inputs = &in, .plans = &plan, .step_ms = &one, .weight = &one};
	pm_rival_batch b;
	pm_code		rc;

	if ((rc = pm_tokens_build(s->skeleton, &s->query, scratch, &tokens, st)) != PM_OK ||
		(rc = prepare_sample(m, m->net->rival, &p->options, &tokens, &s->query, scratch, &in, &plan, st)) != PM_OK ||
		(rc = run_one(m, &data, scratch, &b, st)) != PM_OK)
		return rc;
	*step_ms = exp(b.log_ms[0]);
	if (parts == NULL)
		return PM_OK;
	if (m->net->rival->knows_operators)
		fill_parts(&b, parts, n_parts);
	else
		pm_share_by_roofline(&tokens, *step_ms, parts, n_parts);
	return PM_OK;
}

/* ---- storing ---- */

pm_code
pm_rival_save(const pm_predictor *p, pm_buffer *b, pm_status *st)
{
	const rival_model *m = p->impl;

	(void) st;
	pm_codec_save(&m->codec, b);
	pm_put_f64(b, m->net->log_mean);
	pm_put_f64(b, m->net->log_sigma);
	pm_put_f64(b, m->net->log_op_us);
	pm_put_u32(b, (uint32_t) m->net->n_params);
	pm_put_reals(b, m->w, m->net->n_params);
	return PM_OK;
}

pm_code
pm_rival_load(const pm_rival *rival, pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	rival_model *m = PM_NEW(a, rival_model, 1);
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	if ((p->kind->check != NULL && (rc = p->kind->check(&p->options, st)) != PM_OK) ||
		(rc = pm_codec_load(&m->codec, r, a, st)) != PM_OK ||
		(rc = new_net(m, rival, &p->options, a, st)) != PM_OK)
		return rc;
	m->net->log_mean = pm_get_f64(r);
	m->net->log_sigma = pm_get_f64(r);
	m->net->log_op_us = pm_get_f64(r);
	if (pm_get_u32(r, UINT32_MAX) != m->net->n_params)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has another number of weights than its options say");
	/* damaged options must not make it ask for memory that the weights do not fill */
	if (r->failed || (r->len - r->at) / sizeof(float) < m->net->n_params)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights");
	if ((m->w = PM_NEW(a, pm_real, m->net->n_params)) == NULL)
		return pm_no_memory(st, a);
	pm_get_reals(r, m->w, m->net->n_params);
	p->impl = m;
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights") : PM_OK;
}
