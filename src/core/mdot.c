/*
 * mdot.c - the predictor kind "mdot": the network of mdot_net.c with its
 * options, its training and its stored form.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mdot_net.h"
#include "trainer.h"

enum
{
	OPT_D_MODEL, OPT_HEADS, OPT_LAYERS, OPT_D_OPERATOR, OPT_OPERATOR_LAYERS, OPT_HIDDEN, OPT_HEAD, OPT_LOSS,
	OPT_RESIDUAL, OPT_MERGE, OPT_DROPOUT, OPT_DROP_PATH, OPT_HEAD_DROPOUT, OPT_UNKNOWN, OPT_EPOCHS, OPT_PATIENCE, OPT_BATCH_SIZE,
	OPT_LEARNING_RATE, OPT_FINAL_RATE, OPT_WARMUP, OPT_WEIGHT_DECAY, OPT_CLIP, OPT_EMA, OPT_VALID, OPT_SEED,
	N_OPTIONS
};

static const pm_option options[N_OPTIONS] = {
	[OPT_D_MODEL] = {"d_model", PM_OPT_INT, 64, 8, 512, NULL, "width of the sequence Transformer"},
	[OPT_HEADS] = {"heads", PM_OPT_INT, 4, 1, 16, NULL, "attention heads; must divide d_model"},
	[OPT_LAYERS] = {"layers", PM_OPT_INT, 1, 0, PM_MDOT_MAX_LAYERS, NULL, "layers of the sequence Transformer"},
	[OPT_D_OPERATOR] = {"d_operator", PM_OPT_INT, 32, 8, 256, NULL, "width of the operator encoder; a multiple of 4"},
	[OPT_OPERATOR_LAYERS] = {"operator_layers", PM_OPT_INT, 1, 0, PM_MDOT_MAX_LAYERS, NULL,
	"layers of the operator encoder; 0: dimensions are concatenated only"},
	[OPT_HIDDEN] = {"hidden", PM_OPT_INT, 64, 4, 512, NULL, "width inside the heads"},
	[OPT_HEAD] = {"head", PM_OPT_CHOICE, PM_HEAD_ADDITIVE, 0, 1, "additive|pooled",
	"additive: a time for each operator, anchored at its roofline; pooled: one time for the step"},
	[OPT_LOSS] = {"loss", PM_OPT_CHOICE, PM_LOSS_LOG_HUBER, 0, 3, "log_huber|mape|mse_raw|mae_raw", "training loss"},
	[OPT_RESIDUAL] = {"residual", PM_OPT_BOOL, 0, 0, 1, NULL, "additive head: let a pooled factor correct the sum"},
	[OPT_MERGE] = {"merge", PM_OPT_BOOL, 1, 0, 1, NULL, "merge operators that are alike into one token"},
	[OPT_DROPOUT] = {"dropout", PM_OPT_REAL, 0.1, 0, 0.9, NULL, "of units in the sequence Transformer"},
	[OPT_DROP_PATH] = {"drop_path", PM_OPT_REAL, 0.5, 0, 0.9, NULL,
	"probability that a branch of the sequence Transformer is left out for a graph in training"},
	[OPT_HEAD_DROPOUT] = {"head_dropout", PM_OPT_REAL, 0, 0, 0.9, NULL, "of units inside the operator head"},
	[OPT_UNKNOWN] = {"unknown", PM_OPT_REAL, 0.01, 0, 0.5, NULL,
	"probability of hiding an operator's type or the framework in training"},
	[OPT_EPOCHS] = {"epochs", PM_OPT_INT, 60, 1, 100000, NULL, "passes over the training rows, at the most"},
	[OPT_PATIENCE] = {"patience", PM_OPT_INT, 0, 0, 100000, NULL,
	"stop after this many epochs without a better validation error; 0: never"},
	[OPT_BATCH_SIZE] = {"batch_size", PM_OPT_INT, 16, 1, 1024, NULL, "training rows a step"},
	[OPT_LEARNING_RATE] = {"learning_rate", PM_OPT_REAL, 2e-3, 1e-8, 1e7, NULL, "at the top of the schedule"},
	[OPT_FINAL_RATE] = {"final_rate", PM_OPT_REAL, 1e-5, 0, 1, NULL, "at the end of the cosine"},
	[OPT_WARMUP] = {"warmup", PM_OPT_REAL, 0.05, 0, 0.9, NULL, "fraction of all steps"},
	[OPT_WEIGHT_DECAY] = {"weight_decay", PM_OPT_REAL, 0.01, 0, 10, NULL, "AdamW, on matrices only"},
	[OPT_CLIP] = {"clip", PM_OPT_REAL, 1.0, 0, 1e6, NULL, "largest global norm of the gradient; 0: none"},
	[OPT_EMA] = {"ema", PM_OPT_REAL, 0.99, 0, 0.99999, NULL, "moving average of the weights; 0: none"},
	[OPT_VALID] = {"valid_fraction", PM_OPT_REAL, 0.1, 0, 0.5, NULL, "rows held out to choose the epoch, split by structure"},
	[OPT_SEED] = {"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "of weights, shuffles and dropout"},
};

typedef struct mdot
{
	pm_mdot_net net;
	pm_codec	codec;
	pm_real    *w;
} mdot;

static pm_code
mdot_check(const pm_options *o, pm_status *st)
{
	if (fmod(o->value[OPT_D_MODEL], o->value[OPT_HEADS]) != 0)
		return pm_fail(st, PM_ERR_OPTION, "option \"heads\" must divide \"d_model\": %g does not divide %g",
					   o->value[OPT_HEADS], o->value[OPT_D_MODEL]);
	if (fmod(o->value[OPT_D_OPERATOR], 4) != 0)
		return pm_fail(st, PM_ERR_OPTION, "option \"d_operator\" must be a multiple of 4, not %g",
					   o->value[OPT_D_OPERATOR]);
	return PM_OK;
}

static pm_mdot_config
configure(const pm_options *o, int n_types, int n_frameworks, int n_gpus)
{
	const double *v = o->value;

	return (pm_mdot_config) {
		.d = (int) v[OPT_D_MODEL], .heads = (int) v[OPT_HEADS], .layers = (int) v[OPT_LAYERS],
		.d_op = (int) v[OPT_D_OPERATOR], .op_heads = 4, .op_layers = (int) v[OPT_OPERATOR_LAYERS],
		.hidden = (int) v[OPT_HIDDEN], .head = (pm_mdot_head) v[OPT_HEAD], .loss = (pm_mdot_loss) v[OPT_LOSS],
		.residual = v[OPT_RESIDUAL] != 0, .dropout = v[OPT_DROPOUT], .drop_path = v[OPT_DROP_PATH],
		.head_dropout = v[OPT_HEAD_DROPOUT], .unknown = v[OPT_UNKNOWN],
		.n_types = n_types, .n_frameworks = n_frameworks, .n_gpus = n_gpus
	};
}

static pm_train_options
schedule(const pm_options *o, uint64_t seed, int threads)
{
	const double *v = o->value;

	return (pm_train_options) {
		.epochs = (int) v[OPT_EPOCHS], .patience = (int) v[OPT_PATIENCE], .batch = (int) v[OPT_BATCH_SIZE],
		.rate = v[OPT_LEARNING_RATE], .rate_end = fmin(v[OPT_FINAL_RATE], v[OPT_LEARNING_RATE]),
		.warmup = v[OPT_WARMUP], .weight_decay = v[OPT_WEIGHT_DECAY], .clip = v[OPT_CLIP], .ema = v[OPT_EMA],
		.threads = threads, .seed = seed
	};
}

/* Workspace of the largest shard that a shuffle can produce: its longest graphs together. */
static int
by_size(const void *a, const void *b)
{
	return *(const int *) b - *(const int *) a;
}

static size_t
largest_workspace(const pm_mdot_net *net, const int *sorted_tokens, int n, int per_shard)
{
	return pm_mdot_workspace(net, sorted_tokens, n < per_shard ? n : per_shard);
}

static double
mdot_memory(const pm_options *o, const pm_dataset *d, int threads)
{
	/* Vocabularies are not known yet: these sizes are generous. */
	pm_mdot_config c = configure(o, 128, 16, 16);
	int			per_shard = pm_shard_samples((int) o->value[OPT_BATCH_SIZE]);
	int			top[256] = {0};
	pm_mdot_net net;

	/* the longest graphs, longest first, by insertion */
	for (int i = 0; i < d->n; i++)
	{
		int			n = d->samples[i].skeleton->n;

		for (int k = 0; k < per_shard; k++)
			if (n > top[k])
			{
				int			t = top[k];

				top[k] = n;
				n = t;
			}
	}
	pm_mdot_net_init(&net, &c);
	return pm_arena_memory(pm_inputs_memory(d) + 64.0 * d->n +
						   (double) net.n_params * (sizeof(pm_real) + 1) +	/* weights, and which of them decay */
						   pm_train_memory(net.n_params, largest_workspace(&net, top, per_shard, per_shard), d->n, threads));
}

/* ---- fit ---- */

static int
by_ratio(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Constants of the output, and a start that is right on average. */
static pm_code
calibrate(mdot *m, const pm_dataset *d, const pm_input *inputs, pm_arena *a, pm_status *st)
{
	double	   *ratio = PM_NEW(a, double, d->n);
	double		sum = 0,
				logs = 0,
				squares = 0;

	if (!ratio)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
	{
		double		l = log(d->samples[i].step_ms);

		sum += d->samples[i].step_ms;
		logs += l;
		squares += l * l;
		ratio[i] = log(d->samples[i].step_ms * 1000 / fmax(inputs[i].total_device_us, 1e-3));
	}
	qsort(ratio, d->n, sizeof(double), by_ratio);
	m->net.raw_scale = sum / d->n;
	m->net.log_mean = logs / d->n;
	m->net.log_sigma = fmax(sqrt(fmax(squares / d->n - m->net.log_mean * m->net.log_mean, 0)), 0.01);
	m->w[m->net.ba] = m->w[m->net.bm] = (pm_real) fmax(-1, fmin(4, ratio[d->n / 2]));
	m->w[m->net.bl] = -1;
	return PM_OK;
}

static pm_code
prepare_inputs(mdot *m, const pm_dataset *d, pm_arena *a, pm_input **inputs, pm_status *st)
{
	pm_tokens  *tokens;
	pm_code		rc;

	if ((rc = pm_tokens_of(d, a, &tokens, st)) != PM_OK ||
		(rc = pm_codec_fit(&m->codec, d, tokens, a, st)) != PM_OK)
		return rc;
	*inputs = PM_NEW(a, pm_input, d->n);
	if (!*inputs)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n && rc == PM_OK; i++)
		rc = pm_codec_encode(&m->codec, &tokens[i], &d->samples[i].query, a, &(*inputs)[i], st);
	return rc;
}

typedef struct rows
{
	double	   *step_ms;
	double	   *weight;
	int		   *train, *valid, *tokens;
	int			n_train, n_valid;
} rows;

static pm_code
prepare_rows(const pm_dataset *d, double valid_fraction, uint64_t seed, pm_arena *a, rows *r, pm_status *st)
{
	r->step_ms = PM_NEW(a, double, d->n);
	r->weight = PM_NEW(a, double, d->n);
	r->train = PM_NEW(a, int, d->n);
	r->valid = PM_NEW(a, int, d->n);
	r->tokens = PM_NEW(a, int, d->n);
	if (!r->step_ms || !r->weight || !r->train || !r->valid || !r->tokens)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n; i++)
	{
		r->step_ms[i] = d->samples[i].step_ms;
		r->weight[i] = d->samples[i].weight;
		r->tokens[i] = d->samples[i].skeleton->n;
	}
	qsort(r->tokens, d->n, sizeof(int), by_size);
	return pm_hold_out(d, valid_fraction, seed, a, r->train, &r->n_train, r->valid, &r->n_valid, st);
}

static void
init_net(mdot *m, const pm_options *o)
{
	pm_mdot_config c = configure(o, m->codec.n_types, m->codec.n_frameworks, m->codec.n_gpus);

	pm_mdot_net_init(&m->net, &c);
}

static pm_code
mdot_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
		 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	mdot	   *m = PM_NEW(a, mdot, 1);
	pm_train_options o = schedule(&p->options, seed, threads);
	pm_mdot_data data = {0};
	pm_input   *inputs;
	uint8_t    *decay;
	pm_net		net;
	pm_rng		rng;
	rows		r;
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	if ((rc = prepare_inputs(m, d, a, &inputs, st)) != PM_OK ||
		(rc = prepare_rows(d, p->options.value[OPT_VALID], seed, a, &r, st)) != PM_OK)
		return rc;
	init_net(m, &p->options);
	m->w = PM_NEW(a, pm_real, m->net.n_params);
	decay = PM_NEW(a, uint8_t, m->net.n_params);
	if (!m->w || !decay)
		return pm_no_memory(st, a);
	pm_mdot_net_decay(&m->net, decay);
	pm_rng_seed(&rng, seed);
	pm_mdot_net_weights(&m->net, m->w, &rng);
	if ((rc = calibrate(m, d, inputs, a, st)) != PM_OK)
		return rc;
	data = (pm_mdot_data) {.net = &m->net, .inputs = inputs, .step_ms = r.step_ms, .weight = r.weight};
	net = (pm_net) {.n_params = m->net.n_params, .max_samples = pm_shard_samples(o.batch), .pass = pm_mdot_pass,
		.decay = decay, .ctx = &data};
	net.workspace_bytes = largest_workspace(&m->net, r.tokens, d->n, net.max_samples);
	p->impl = m;
	return pm_train(&net, m->w, r.step_ms, r.train, r.n_train, r.valid, r.n_valid, &o, hooks, a, report, st);
}

/* ---- predict ---- */

static void
fill_parts(const pm_input *in, const pm_mdot_detail *detail, pm_part *parts, int *n_parts)
{
	for (int i = 0; i < in->n; i++)
		parts[i] = (pm_part) {.token = i, .step_ms = detail->token_ms[i], .forward_ms = NAN, .backward_ms = NAN,
			.update_ms = NAN, .bound = detail->launch_bound[i] ? 'l' : in->bound[i]};
	parts[in->n] = (pm_part) {.token = -1, .step_ms = detail->rest_ms, .forward_ms = NAN, .backward_ms = NAN,
		.update_ms = NAN, .bound = '-'};
	*n_parts = in->n + 1;
}

static pm_code
mdot_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
			 double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	const mdot *m = p->impl;
	const double one = 1;
	const int	first = 0;
	pm_tokens	tokens;
	pm_input	in;
	pm_mdot_data data = {.net = &m->net, .inputs = &in, .step_ms = &one, .weight = &one};
	pm_mdot_detail detail;
	void	   *workspace;
	pm_code		rc;

	if ((rc = pm_tokens_build(s->skeleton, &s->query, scratch, &tokens, st)) != PM_OK ||
		(rc = pm_codec_encode(&m->codec, &tokens, &s->query, scratch, &in, st)) != PM_OK)
		return rc;
	if ((workspace = pm_alloc(scratch, pm_mdot_workspace(&m->net, &in.n, 1), 1)) == NULL)
		return pm_no_memory(st, scratch);
	if (parts == NULL)
	{
		pm_mdot_pass(&data, m->w, NULL, &first, 1, step_ms, NULL, workspace);
		return PM_OK;
	}
	detail.token_ms = PM_NEW(scratch, double, in.n);
	detail.launch_bound = PM_NEW(scratch, bool, in.n);
	if (!detail.token_ms || !detail.launch_bound)
		return pm_no_memory(st, scratch);
	*step_ms = pm_mdot_explain(&data, m->w, 0, workspace, &detail);
	fill_parts(&in, &detail, parts, n_parts);
	return PM_OK;
}

/* ---- storing ---- */

static pm_code
mdot_save(const pm_predictor *p, pm_buffer *b, pm_status *st)
{
	const mdot *m = p->impl;

	(void) st;
	pm_codec_save(&m->codec, b);
	pm_put_f64(b, m->net.log_mean);
	pm_put_f64(b, m->net.log_sigma);
	pm_put_f64(b, m->net.raw_scale);
	pm_put_u32(b, (uint32_t) m->net.n_params);
	pm_put_reals(b, m->w, m->net.n_params);
	return PM_OK;
}

static pm_code
mdot_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	mdot	   *m = PM_NEW(a, mdot, 1);
	double		log_mean,
				log_sigma,
				raw_scale;
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	if ((rc = mdot_check(&p->options, st)) != PM_OK ||
		(rc = pm_codec_load(&m->codec, r, a, st)) != PM_OK)
		return rc;
	log_mean = pm_get_f64(r);
	log_sigma = pm_get_f64(r);
	raw_scale = pm_get_f64(r);
	init_net(m, &p->options);
	m->net.log_mean = log_mean;
	m->net.log_sigma = log_sigma;
	m->net.raw_scale = raw_scale;
	if (pm_get_u32(r, UINT32_MAX) != m->net.n_params)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has another number of weights than its options say");
	/* damaged options must not make it ask for memory that the weights do not fill */
	if (r->failed || (r->len - r->at) / sizeof(float) < m->net.n_params)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights");
	if ((m->w = PM_NEW(a, pm_real, m->net.n_params)) == NULL)
		return pm_no_memory(st, a);
	pm_get_reals(r, m->w, m->net.n_params);
	p->impl = m;
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights") : PM_OK;
}

const pm_kind pm_kind_mdot = {
	.name = "mdot",
	.summary = "Transformer over operators with graph position encoding and a roofline-anchored head",
	.options = options,
	.n_options = N_OPTIONS,
	.min_samples = 8,
	.check = mdot_check,
	.memory = mdot_memory,
	.fit = mdot_fit,
	.predict = mdot_predict,
	.save = mdot_save,
	.load = mdot_load
};
