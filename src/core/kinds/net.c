/*
 * net.c - code that the other networks share: features, loss, fit, predict,
 * stored form.
 */
#include "kinds/net.h"

#include <math.h>
#include <string.h>

#include "nn/loss.h"

#define TYPE_DIM		16		/* width of a type's embedding */
#define SETTING_DIM		8		/* of dtype and framework together */
#define LOG_US_MIN		(-12.0) /* a time within [6e-6 us, 66 s] ... */
#define LOG_US_MAX		18.0
#define LEAK			0.01	/* ... but for a leak, so that nothing gets stuck */

/* ---- parameters ---- */

pm_code
pm_network_init(pm_network *net, const pm_architecture *architecture, const pm_options *o, const pm_schema *schema, int n_types,
				int n_frameworks, pm_arena *a, pm_status *st)
{
	pm_tensors *t = &net->tensors;

	memset(net, 0, architecture->net_bytes);
	net->architecture = architecture;
	net->options = *o;
	net->width = pm_widths_of(schema);
	net->n_types = n_types;
	net->n_frameworks = n_frameworks;
	net->log_sigma = 1;
	pm_tensors_init(t, a);
	net->type = pm_tensors_add(t, "type", n_types, TYPE_DIM, PM_START_TABLE);
	net->dtype = pm_tensors_add(t, "dtype", net->width.dtypes, SETTING_DIM, PM_START_TABLE);
	net->framework = pm_tensors_add(t, "framework", n_frameworks, SETTING_DIM, PM_START_TABLE);
	net->n_features = TYPE_DIM + SETTING_DIM + 2 * net->width.slots + net->width.loads;
	architecture->build(net);
	return t->failed ? pm_no_memory(st, a) : PM_OK;
}

/* ---- features ---- */

void
pm_features_take(const pm_network *net, const pm_pass_size *size, pm_cursor *c, pm_features *f)
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
pm_features_forward(const pm_network *net, const pm_real *w, const pm_minibatch *b, pm_features *f)
{
	double		unknown = net->options.value[PM_NETWORK_UNKNOWN];
	pm_real    *x = f->x;
	int			row = 0;

	for (int i = 0; i < b->size.samples; i++)
	{
		const pm_input *in = b->in[i];
		const pm_real *dtype = w + net->dtype + (size_t) in->dtype * SETTING_DIM;
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
				setting[j] = dtype[j] + framework[j];
			memcpy(config, in->config + (size_t) m * 2 * net->width.slots, 2 * net->width.slots * sizeof(pm_real));
			memcpy(config + 2 * net->width.slots, in->load + (size_t) m * net->width.loads, net->width.loads * sizeof(pm_real));
		}
	}
}

void
pm_features_back(const pm_network *net, pm_real *grad, const pm_minibatch *b, const pm_features *f)
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
		pm_add(grad + net->framework + (size_t) f->framework[i] * SETTING_DIM, sum, SETTING_DIM);
	}
}

/* ---- parts of networks ---- */

void
pm_network_drop(pm_real *y, pm_real *mask, const pm_minibatch *b, int width, double unit, double path)
{
	const pm_real keep = (pm_real) (1 / (1 - path));

	pm_dropout_mask(mask, (size_t) b->size.tokens * width, unit, b->rng);
	for (int i = 0; i < b->size.samples && path > 0; i++)
	{
		pm_real		factor = pm_rng_uniform(b->rng) < path ? 0 : keep;
		pm_real    *m = mask + (size_t) b->start[i] * width;

		for (int k = 0; k < b->in[i]->n * width; k++)
			m[k] *= factor;
	}
	pm_mul(y, mask, (size_t) b->size.tokens * width);
}

double
pm_network_time_us(const pm_network *net, double raw, double *slope)
{
	double		x = net->log_op_us + raw;
	double		held = x < LOG_US_MIN ? LOG_US_MIN : (x > LOG_US_MAX ? LOG_US_MAX : x);
	double		time = exp(held + LEAK * (x - held));

	*slope = held == x ? time : LEAK * time;
	return time;
}

/* ---- the pass ---- */

double
pm_network_loss(pm_minibatch *b)
{
	double		loss = 0;

	for (int i = 0; i < b->size.samples; i++)
	{
		loss += b->weight[i] * pm_huber(b->log_ms[i] - log(b->truth[i]), &b->dlog[i]);
		b->dlog[i] *= b->weight[i];
	}
	return loss;
}

/* The arrays of a minibatch of n samples. */
static void
take_minibatch(pm_cursor *c, size_t n, pm_minibatch *b)
{
	memset(b, 0, sizeof(*b));
	b->in = pm_take(c, n, sizeof(pm_input *));
	b->plan = pm_take(c, n, sizeof(pm_sample_plan *));
	b->start = pm_take(c, n, sizeof(int));
	b->truth = PM_DOUBLES(c, n);
	b->weight = PM_DOUBLES(c, n);
	b->log_ms = PM_DOUBLES(c, n);
	b->dlog = PM_DOUBLES(c, n);
}

static void
open_minibatch(const pm_network_rows *data, const int *index, int n, pm_rng *rng, pm_cursor *c, pm_minibatch *b)
{
	take_minibatch(c, n, b);
	b->rng = rng;
	for (int i = 0; i < n; i++)
	{
		b->in[i] = &data->inputs[index[i]];
		b->plan[i] = data->plans[index[i]];
		b->start[i] = b->size.tokens;
		b->truth[i] = data->step_ms[index[i]];
		b->weight[i] = data->weight[index[i]];
		pm_pass_add(&b->size, b->in[i]->n, b->plan[i] ? b->plan[i]->items : 0);
	}
}

static size_t
workspace_of(const pm_network *net, const pm_pass_size *size)
{
	pm_cursor	c = {0};
	pm_minibatch b;

	take_minibatch(&c, size->samples, &b);
	net->architecture->measure(net, size, &c);
	return c.at;
}

size_t
pm_network_workspace(const pm_network_rows *data, const int *index, int n)
{
	pm_pass_size size = {0};

	for (int i = 0; i < n; i++)
	{
		const pm_sample_plan *plan = data->plans[index[i]];

		pm_pass_add(&size, data->inputs[index[i]].n, plan ? plan->items : 0);
	}
	return workspace_of(data->net, &size);
}

double
pm_network_pass(const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
				double *predicted, pm_rng *rng, void *workspace)
{
	const pm_network_rows *data = ctx;
	pm_cursor	c = {.base = workspace};
	pm_minibatch b;
	double		loss;

	open_minibatch(data, index, n, rng, &c, &b);
	loss = data->net->architecture->pass(data->net, w, grad, &b, &c);
	for (int i = 0; i < n; i++)
		predicted[i] = exp(b.log_ms[i]);
	return loss;
}

double
pm_network_memory(pm_network *net, const pm_architecture *architecture, const pm_options *o, const pm_dataset *d, int threads)
{
	double		plans = 0;
	pm_largest_shard shard;
	pm_pass_size size;

	pm_largest_shard_init(&shard, (int) o->value[PM_TRAIN_BATCH_SIZE]);
	for (int i = 0; i < d->n; i++)
	{
		int			items = 0;
		double		bytes = 0;

		if (architecture->plan_bound != NULL)
			architecture->plan_bound(o, d->samples[i].skeleton, &items, &bytes);
		plans += bytes;
		pm_largest_shard_add(&shard, d->samples[i].skeleton->n, items);
	}
	size = pm_largest_shard_size(&shard);
	/* Vocabularies are not known yet: these sizes are generous. */
	pm_network_init(net, architecture, o, NULL, 128, 16, NULL, NULL);
	return pm_arena_memory(pm_inputs_memory(d) + plans + 128.0 * d->n + 65536 +	/* lists of parameters */
						   (double) net->tensors.n_params * (sizeof(pm_real) + 1) +	/* weights, and which of them decay */
						   pm_train_memory(net->tensors.n_params, workspace_of(net, &size), d->n, threads));
}

/* ---- fit ---- */

typedef struct model
{
	pm_codec	codec;
	pm_network *net;
	pm_real    *w;				/* [net->tensors.n_params] */
} model;

static pm_code
new_network(model *m, const pm_architecture *architecture, const pm_options *o, pm_arena *a, pm_status *st)
{
	m->net = pm_alloc(a, 1, architecture->net_bytes);
	if (!m->net)
		return pm_no_memory(st, a);
	return pm_network_init(m->net, architecture, o, m->codec.schema, m->codec.n_types, m->codec.n_frameworks, a, st);
}

/* Input and plan of one sample. */
static pm_code
prepare_sample(const model *m, const pm_architecture *architecture, const pm_options *o, const pm_tokens *t,
			   const pm_question *q, pm_arena *a, pm_input *in, pm_sample_plan **plan, pm_status *st)
{
	pm_code		rc = pm_codec_encode(&m->codec, t, q, a, in, st);

	*plan = NULL;
	if (rc == PM_OK && architecture->plan != NULL)
		rc = architecture->plan(o, t, q, a, plan, st);
	return rc;
}

/* Constants of the output: a start that is right on average. */
static void
calibrate(pm_network *net, const pm_dataset *d)
{
	double		per_op = 0;

	pm_log_moments(d->samples, d->n, &net->log_mean, &net->log_sigma);
	for (int i = 0; i < d->n; i++)
		per_op += log(d->samples[i].step_ms) + log(1000.0 / d->samples[i].skeleton->dag.n);
	net->log_op_us = per_op / d->n;
}

/* What training reads of its rows besides what all networks do. */
typedef struct rows
{
	pm_training_rows common;
	pm_input   *inputs;			/* [n] */
	pm_sample_plan **plans;		/* [n] */
	pm_largest_shard shard;
} rows;

static pm_code
prepare_rows(model *m, const pm_architecture *architecture, const pm_predictor *p, const pm_dataset *d, uint64_t seed,
			 pm_arena *a, rows *r, pm_status *st)
{
	const pm_options *o = &p->options;
	pm_tokens  *tokens;
	pm_code		rc;

	r->inputs = PM_NEW(a, pm_input, d->n);
	r->plans = PM_NEW(a, pm_sample_plan *, d->n);
	if (!r->inputs || !r->plans)
		return pm_no_memory(st, a);
	if ((rc = pm_tokens_of(d, a, &tokens, st)) != PM_OK ||
		(rc = pm_codec_fit(&m->codec, pm_predictor_schema(p), d, tokens, a, st)) != PM_OK)
		return rc;
	pm_largest_shard_init(&r->shard, (int) o->value[PM_TRAIN_BATCH_SIZE]);
	for (int i = 0; i < d->n; i++)
	{
		if (pm_stopped(a, st))
			return PM_CANCELLED;
		if ((rc = prepare_sample(m, architecture, o, &tokens[i], &d->samples[i].query, a,
								 &r->inputs[i], &r->plans[i], st)) != PM_OK)
			return rc;
		pm_largest_shard_add(&r->shard, r->inputs[i].n, r->plans[i] ? r->plans[i]->items : 0);
	}
	return pm_training_rows_take(&r->common, d, d->n, o->value, seed, a, st);
}

/* The network itself: r has been prepared, m->codec fitted. */
static pm_code
train(model *m, const rows *r, const pm_options *options, uint64_t seed, int threads, const pm_hooks *hooks,
	  pm_arena *a, pm_fit_report *report, pm_status *st)
{
	const pm_training_rows *c = &r->common;
	pm_train_options o = pm_training_schedule(options->value, seed, threads);
	size_t		n = m->net->tensors.n_params;
	pm_pass_size size = pm_largest_shard_size(&r->shard);
	uint8_t    *decay = PM_NEW(a, uint8_t, n);
	pm_network_rows data = {.net = m->net, .inputs = r->inputs, .plans = r->plans, .step_ms = c->step_ms,
		.weight = c->weight};
	pm_objective objective = {.n_params = n, .workspace_bytes = workspace_of(m->net, &size),
		.max_samples = pm_shard_samples(o.batch), .pass = pm_network_pass, .decay = decay, .tokens = c->tokens,
		.ctx = &data};
	pm_rng		rng;

	m->w = PM_NEW(a, pm_real, n);
	if (!m->w || !decay)
		return pm_no_memory(st, a);
	pm_tensors_decay(&m->net->tensors, decay);
	pm_rng_seed(&rng, seed);
	pm_tensors_start(&m->net->tensors, m->w, &rng);
	return pm_train(&objective, m->w, c->step_ms, c->train, c->n_train, c->valid, c->n_valid, &o, hooks, a, report, st);
}

pm_code
pm_network_fit(const pm_architecture *architecture, pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
			   const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	model	   *m = PM_NEW(a, model, 1);
	rows		r = {0};
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	if ((rc = prepare_rows(m, architecture, p, d, seed, a, &r, st)) != PM_OK ||
		(rc = new_network(m, architecture, &p->options, a, st)) != PM_OK)
		return rc;
	calibrate(m->net, d);
	p->impl = m;
	return train(m, &r, &p->options, seed, threads, hooks, a, report, st);
}

/* ---- predict ---- */

/* Parts of a kind that knows operators: theirs, then the rest. */
static void
fill_parts(const pm_minibatch *b, pm_part *parts, int *n_parts)
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
run_one(const model *m, const pm_network_rows *data, pm_arena *scratch, pm_minibatch *b, pm_status *st)
{
	const int	first = 0;
	pm_cursor	c = {.base = pm_alloc(scratch, pm_network_workspace(data, &first, 1), 1)};

	if (!c.base)
		return pm_no_memory(st, scratch);
	open_minibatch(data, &first, 1, NULL, &c, b);
	b->token_us = PM_NEW(scratch, double, b->size.tokens);
	b->launch_bound = PM_NEW(scratch, bool, b->size.tokens);
	if (!b->token_us || !b->launch_bound)
		return pm_no_memory(st, scratch);
	m->net->architecture->pass(m->net, m->w, NULL, b, &c);
	return PM_OK;
}

pm_code
pm_network_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
				 double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	const model *m = p->impl;
	const double one = 1;
	pm_tokens	tokens;
	pm_input	in;
	pm_sample_plan *plan;
	pm_network_rows data = {.net = m->net, .inputs = &in, .plans = &plan, .step_ms = &one, .weight = &one};
	pm_minibatch b;
	pm_code		rc;

	if ((rc = pm_tokens_build(s->skeleton, &s->query, scratch, &tokens, st)) != PM_OK ||
		(rc = prepare_sample(m, m->net->architecture, &p->options, &tokens, &s->query, scratch, &in, &plan, st)) != PM_OK ||
		(rc = run_one(m, &data, scratch, &b, st)) != PM_OK)
		return rc;
	*step_ms = exp(b.log_ms[0]);
	if (parts == NULL)
		return PM_OK;
	if (m->net->architecture->knows_operators)
		fill_parts(&b, parts, n_parts);
	else
		pm_share_by_roofline(&tokens, *step_ms, parts, n_parts);
	return PM_OK;
}

/* ---- storing ---- */

pm_code
pm_network_save(const pm_predictor *p, pm_buffer *b, pm_status *st)
{
	const model *m = p->impl;
	size_t		n = m->net->tensors.n_params;

	(void) st;
	pm_codec_save(&m->codec, b);
	pm_put_f64(b, m->net->log_mean);
	pm_put_f64(b, m->net->log_sigma);
	pm_put_f64(b, m->net->log_op_us);
	pm_put_u32(b, (uint32_t) n);
	pm_put_reals(b, m->w, n);
	return PM_OK;
}

pm_code
pm_network_load(const pm_architecture *architecture, pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	model	   *m = PM_NEW(a, model, 1);
	size_t		n;
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	if ((p->kind->check != NULL && (rc = p->kind->check(&p->options, st)) != PM_OK) ||
		(rc = pm_codec_load(&m->codec, pm_predictor_schema(p), r, a, st)) != PM_OK ||
		(rc = new_network(m, architecture, &p->options, a, st)) != PM_OK)
		return rc;
	m->net->log_mean = pm_get_f64(r);
	m->net->log_sigma = pm_get_f64(r);
	m->net->log_op_us = pm_get_f64(r);
	n = m->net->tensors.n_params;
	if (pm_get_u32(r, UINT32_MAX) != n)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has another number of weights than its options say");
	/* damaged options must not make it ask for memory that the weights do not fill */
	if (r->failed || (r->len - r->at) / sizeof(float) < n)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights");
	if ((m->w = PM_NEW(a, pm_real, n)) == NULL)
		return pm_no_memory(st, a);
	pm_get_reals(r, m->w, n);
	p->impl = m;
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights") : PM_OK;
}
