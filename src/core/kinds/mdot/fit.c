/*
 * fit.c - training of the kind "mdot": one network or several that differ
 * in their random numbers, and the base beside them.
 */
#include <math.h>
#include <string.h>

#include "base/metrics.h"
#include "kinds/mdot/mdot.h"

#define LEAST_START		(-1.0)	/* logarithms of the factor that an estimate starts with ... */
#define MOST_START		4.0		/* ... within the range of the heads (heads.c): a few odd rows must not decide it */
#define LAUNCH_START	(-1.0)	/* output for launches at the start: softplus(-1) = 0.3 of 5 us, a usual launch */

/* ---- sizes ---- */

/* Single operators have a time of their own in the additive head only. */
bool
pm_mdot_learns_operators(const pm_options *o)
{
	return o->value[OPT_HEAD] == PM_HEAD_ADDITIVE && o->value[OPT_OPERATORS] > 0;
}

bool
pm_mdot_learns_passes(const pm_options *o)
{
	return o->value[OPT_HEAD] == PM_HEAD_ADDITIVE && o->value[OPT_PASSES] > 0;
}

static int
passes_used(const pm_options *o, const pm_dataset *d)
{
	return pm_mdot_learns_passes(o) ? d->n_passes : 0;
}

static int
operators_used(const pm_options *o, const pm_dataset *d)
{
	return pm_mdot_learns_operators(o) ? d->n_operators : 0;
}

double
pm_mdot_memory(const pm_options *o, const pm_dataset *d, int threads)
{
	/* Vocabularies are not known yet: these sizes are generous. */
	pm_mdot_config c = pm_mdot_configure(o, 128, 16, 16);
	pm_largest_shard shard;
	pm_pass_size size;
	int			passes = passes_used(o, d);
	int			rows = d->n + operators_used(o, d) + passes;
	double		members = o->value[OPT_MEMBERS];
	pm_mdot_net net;
	pm_predictor base;

	pm_mdot_base_init(o, &base, NULL);
	pm_largest_shard_init(&shard, (int) o->value[OPT_TRAINING + PM_TRAIN_BATCH_SIZE]);
	for (int i = 0; i < d->n; i++)
		pm_largest_shard_add(&shard, d->samples[i].skeleton->n, 0);
	for (int i = 0; i < passes; i++)
		pm_largest_shard_add(&shard, d->passes[i].skeleton->n, 0);
	size = pm_largest_shard_size(&shard);
	pm_mdot_net_init(&net, &c, NULL, NULL);
	return base.kind->memory(&base.options, d, threads) +
		pm_arena_memory(2 * pm_inputs_memory(d) + 3 * pm_inputs_memory(&(pm_dataset) {.n = passes, .samples = d->passes}) +
						(64.0 + 2 * sizeof(pm_sample)) * rows + 65536 +	/* lists of parameters */
						(double) net.tensors.n_params * (members * sizeof(pm_real) + 1) +	/* weights, and which of them decay */
						pm_train_memory(net.tensors.n_params, pm_mdot_workspace(&net, &size), rows, threads));
}

/* ---- what all networks share ---- */

typedef struct fit
{
	pm_mdot    *m;
	const pm_dataset *d;		/* what fit was given */
	pm_dataset	all;			/* its rows, and behind them the passes and the single operators that train along */
	const pm_options *options;
	const pm_schema *schema;	/* lists to train with */
	int			threads;
	pm_input   *inputs;			/* [all.n] */
	double	   *anchor;			/* [tokens] of the row that is being encoded */
	double	   *ratio;			/* [tokens] the same */
	pm_training_rows rows;		/* of all */
	pm_largest_shard shard;
	double		start[PM_MDOT_ESTIMATES];	/* where the networks' factors start, logs */
	uint8_t    *decay;
	int			epochs_before;	/* of networks that are done, for progress */
	const pm_hooks *hooks;
	const pm_mdot *from;		/* to start from; NULL: from random numbers */
} fit;

/* Whether a step of d is of the device. */
static bool
has_steps(const pm_dataset *d, const char *gpu)
{
	for (int i = 0; i < d->n; i++)
		if (d->samples[i].query.gpu->name == gpu || strcmp(d->samples[i].query.gpu->name, gpu) == 0)
			return true;
	return false;
}

static void
join(fit *f, const pm_sample *s, double weight)
{
	f->all.samples[f->all.n] = *s;
	f->all.samples[f->all.n++].weight *= weight;
}

/*
 * All passes train along.  Of the operators those do that have what a step has: a device that steps are of, from which those of
 * others could not be told, and a backward pass.  The others teach the base levels of cards.
 */
static pm_code
join_others(fit *f, pm_arena *a, pm_status *st)
{
	const pm_dataset *d = f->d;
	int			passes = passes_used(f->options, d);
	int			operators = operators_used(f->options, d);
	const pm_gpu *last = NULL;
	bool		known = false;

	f->all = (pm_dataset) {.n = d->n, .samples = PM_NEW(a, pm_sample, d->n + passes + operators)};
	if (!f->all.samples)
		return pm_no_memory(st, a);
	memcpy(f->all.samples, d->samples, d->n * sizeof(pm_sample));
	for (int i = 0; i < passes; i++)
		join(f, &d->passes[i], f->options->value[OPT_PASSES]);
	for (int i = 0; i < operators; i++)
	{
		const pm_sample *s = &d->operators[i];

		/* rows of a device stand together */
		if (s->query.gpu != last)
			known = has_steps(d, (last = s->query.gpu)->name);
		if (!s->query.forward_only && known)
			join(f, s, f->options->value[OPT_OPERATORS]);
	}
	return PM_OK;
}

/*
 * An operator alone gets the position of some operator in a step, or the
 * network would tell the two apart by it and learn nothing of one from the other.
 */
static pm_code
borrow_position(const fit *f, pm_input *in, pm_rng *rng, pm_arena *a, pm_status *st)
{
	const pm_skeleton *donor = f->d->samples[(int) (pm_rng_uniform(rng) * f->d->n)].skeleton;
	pm_skeleton *borrowed = PM_NEW(a, pm_skeleton, 1);

	if (!borrowed)
		return pm_no_memory(st, a);
	*borrowed = *in->skeleton;
	borrowed->position = donor->position + (size_t) (pm_rng_uniform(rng) * donor->n) * PM_POSITION_DIM;
	in->skeleton = borrowed;
	return PM_OK;
}

static pm_code
encode_row(fit *f, int i, const pm_tokens *features, pm_arena *a, pm_status *st)
{
	const pm_sample *s = &f->all.samples[i];
	pm_question	shown = pm_mdot_feature_question(f->m, f->options, &s->query);
	pm_tokens	work;
	pm_card_factors factors;
	pm_code		rc;

	if ((rc = pm_codec_encode(&f->m->codec, features, &shown, a, &f->inputs[i], st)) != PM_OK ||
		(rc = pm_tokens_build(s->skeleton, &s->query, a, &work, st)) != PM_OK)
		return rc;
	if (s->query.mode == PM_INFERENCE && (rc = pm_mdot_make_pass(s, &shown, a, &f->inputs[i], st)) != PM_OK)
		return rc;
	factors = pm_mdot_card_factors(f->m, &s->query);
	f->inputs[i].in_turn = f->m->in_turn && s->query.gpu->is_cpu;
	pm_input_rework(&f->inputs[i], &work);
	pm_mdot_set_floor(f->options, &f->inputs[i]);
	pm_mdot_anchor_factors(f->m, &shown, features, f->anchor, f->inputs[i].to_peak);
	pm_mdot_format_ratios(f->m, &s->query, &work, f->ratio);
	pm_mdot_scale(&f->inputs[i], &factors, &factors, f->anchor, f->ratio, work.op_class);
	return PM_OK;
}

/* Tokens at the feature batch, vocabularies and normalisation over all rows, inputs. */
static pm_code
prepare_inputs(fit *f, uint64_t seed, pm_arena *a, pm_status *st)
{
	int			n = f->all.n;
	pm_dataset	at_features = {.n = n, .samples = PM_NEW(a, pm_sample, n)};
	int			longest = 0;
	pm_tokens  *tokens;
	pm_rng		rng;
	pm_code		rc;

	if (!at_features.samples)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
	{
		at_features.samples[i] = f->all.samples[i];
		at_features.samples[i].query = pm_mdot_feature_question(f->m, f->options, &f->all.samples[i].query);
	}
	if ((rc = pm_tokens_of(&at_features, a, &tokens, st)) != PM_OK ||
		(rc = f->from != NULL ? pm_codec_extend(&f->m->codec, &f->from->codec, &at_features, tokens, a, st) :
		 pm_codec_fit(&f->m->codec, f->schema, &at_features, tokens, a, st)) != PM_OK)
		return rc;
	for (int i = 0; i < n; i++)
		longest = tokens[i].n > longest ? tokens[i].n : longest;
	f->inputs = PM_NEW(a, pm_input, n);
	f->anchor = PM_NEW(a, double, longest);
	f->ratio = PM_NEW(a, double, longest);
	if (!f->inputs || !f->anchor || !f->ratio)
		return pm_no_memory(st, a);
	pm_rng_seed(&rng, seed);
	for (int i = 0; i < n && rc == PM_OK; i++)
		if (pm_stopped(a, st))
			rc = PM_CANCELLED;
		else if ((rc = encode_row(f, i, &tokens[i], a, st)) == PM_OK && f->all.samples[i].query.alone)
			rc = borrow_position(f, &f->inputs[i], &rng, a, st);
	return rc;
}

/* The times that an estimate starts from, us. */
static double
start_us(const pm_input *in, int estimate)
{
	double		us = 0;

	for (int i = 0; i < in->n; i++)
		us += in->copies[i] * (in->compute_us[i] + in->memory_us[i]) * (estimate > 0 ? in->to_peak[i] : 1);
	return us;
}

/* What an estimate's factors should start with: the median of rows of CPUs, or of the others; NaN: there are none. */
static double
median_start(const fit *f, int estimate, bool cpu, double *scratch)
{
	int			n = 0;

	for (int i = 0; i < f->d->n; i++)
		if (f->d->samples[i].query.gpu->is_cpu == cpu)
			scratch[n++] = log(f->rows.step_ms[i] * 1000 / fmax(start_us(&f->inputs[i], estimate), 1e-3));
	if (n == 0)
		return NAN;
	pm_sort(scratch, n);
	return fmax(LEAST_START, fmin(MOST_START, scratch[n / 2]));
}

/* CPUs start from their peaks times a factor, the same for all operators, with which the networks' start is right for them too. */
static void
start_cpus(fit *f, double factor)
{
	f->m->cpu_anchor = factor;
	for (int i = 0; i < f->all.n; i++)
	{
		pm_input   *in = &f->inputs[i];

		if (!f->all.samples[i].query.gpu->is_cpu)
			continue;
		for (int k = 0; k < in->n; k++)
		{
			in->compute_us[k] *= factor;
			in->memory_us[k] *= factor;
			in->compute_ref_us[k] *= factor;
			in->memory_ref_us[k] *= factor;
		}
		in->total_device_us *= factor;
	}
}

/* Where the estimates start: right on average. */
static void
choose_starts(fit *f, double *scratch)
{
	double		cpus = median_start(f, 0, true, scratch);
	double		others = median_start(f, 0, false, scratch);

	for (int k = 0; k < PM_MDOT_ESTIMATES; k++)
		f->start[k] = median_start(f, k, isnan(others), scratch);
	if (f->from == NULL && f->m->cpu_anchor > 0 && !isnan(cpus) && !isnan(others))
		start_cpus(f, exp(cpus - others));
}

/* Constants of the output, and the starts. */
static pm_code
calibrate(fit *f, pm_arena *a, pm_status *st)
{
	int			n = f->d->n;
	pm_mdot_net *net = &f->m->net;
	double	   *scratch = PM_NEW(a, double, n);
	double		sum = 0;

	if (!scratch)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		sum += f->rows.step_ms[i];
	net->raw_scale = sum / n;
	pm_log_moments(f->d->samples, n, &net->log_mean, &net->log_sigma);
	choose_starts(f, scratch);
	if (f->from != NULL)
	{
		/* what the weights to start from were trained with */
		net->raw_scale = f->from->net.raw_scale;
		net->log_mean = f->from->net.log_mean;
		net->log_sigma = f->from->net.log_sigma;
	}
	return PM_OK;
}

static pm_code
prepare_rows(fit *f, uint64_t seed, pm_arena *a, pm_status *st)
{
	const double *training = f->options->value + OPT_TRAINING;

	pm_largest_shard_init(&f->shard, (int) training[PM_TRAIN_BATCH_SIZE]);
	for (int i = 0; i < f->all.n; i++)
		pm_largest_shard_add(&f->shard, f->all.samples[i].skeleton->n, 0);
	return pm_training_rows_take(&f->rows, &f->all, f->d->n, training, seed, a, st);
}

/* ---- one network ---- */

static bool
member_stop(void *ctx)
{
	const pm_hooks *hooks = ((fit *) ctx)->hooks;

	return hooks != NULL && hooks->stop != NULL && hooks->stop(hooks->ctx);
}

/* Progress of one member as progress of the whole. */
static void
member_progress(void *ctx, const pm_progress *p)
{
	const fit  *f = ctx;
	pm_progress whole = *p;

	if (f->hooks == NULL || f->hooks->progress == NULL)
		return;
	whole.epoch = f->epochs_before + p->epoch;
	whole.epochs = f->m->members * p->epochs;
	whole.elapsed_s = p->elapsed_s * whole.epoch / p->epoch;
	whole.left_s = p->elapsed_s / p->epoch * (whole.epochs - whole.epoch);
	f->hooks->progress(f->hooks->ctx, &whole);
}

static pm_code
train_member(fit *f, int member, uint64_t seed, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	pm_mdot    *m = f->m;
	const pm_training_rows *r = &f->rows;
	pm_train_options o = pm_training_schedule(f->options->value + OPT_TRAINING, seed, f->threads);
	pm_mdot_data data = {.net = &m->net, .inputs = f->inputs, .step_ms = r->step_ms, .weight = r->weight};
	pm_objective		net = {.n_params = m->net.tensors.n_params, .max_samples = pm_shard_samples(o.batch), .pass = pm_mdot_pass,
		.decay = f->decay, .tokens = r->tokens, .begin_epoch = pm_mdot_begin_epoch, .ctx = &data};
	pm_hooks	hooks = {.ctx = f, .stop = member_stop, .progress = member_progress};
	pm_pass_size size = pm_largest_shard_size(&f->shard);
	pm_rng		rng;
	pm_code		rc;

	net.workspace_bytes = pm_mdot_workspace(&m->net, &size);
	pm_rng_seed(&rng, seed);
	pm_tensors_start(&m->net.tensors, m->w[member], &rng);
	for (int k = 0; k < m->net.c.estimates; k++)
	{
		const pm_mdot_estimate *e = &m->net.estimate[k];

		m->w[member][e->output[PM_MDOT_COMPUTE].b] = m->w[member][e->output[PM_MDOT_MEMORY].b] = (pm_real) f->start[k];
		m->w[member][e->output[PM_MDOT_LAUNCH].b] = LAUNCH_START;
	}
	if (f->from != NULL)
		pm_tensors_copy(&m->net.tensors, m->w[member], &f->from->net.tensors, f->from->w[member % f->from->members]);
	rc = pm_train(&net, m->w[member], r->step_ms, r->train, r->n_train, r->valid, r->n_valid, &o, &hooks, a, report, st);
	f->epochs_before += report->epochs;
	return rc;
}

/* Errors are means over the networks: each is of the same rows. */
static void
add_report(pm_fit_report *sum, const pm_fit_report *one, int members)
{
	sum->train_mape += one->train_mape / members;
	sum->valid_mape += one->valid_mape / members;
	sum->valid_mae += one->valid_mae / members;
	sum->valid_rmse += one->valid_rmse / members;
	sum->valid_n = one->valid_n;
	sum->best_epoch = sum->epochs + one->best_epoch;
	sum->epochs += one->epochs;
	sum->n_params += one->n_params;
}

/* ---- all networks, and the base ---- */

static pm_code
train_members(fit *f, uint64_t seed, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	pm_code		rc = PM_OK;

	report->train_mape = report->valid_mape = report->valid_mae = report->valid_rmse = 0;
	for (int i = 0; i < f->m->members && rc == PM_OK; i++)
	{
		pm_fit_report one = {.valid_mape = NAN, .train_mape = NAN};
		pm_arena	scratch;

		f->m->w[i] = PM_NEW(a, pm_real, f->m->net.tensors.n_params);
		if (!f->m->w[i])
			return pm_no_memory(st, a);
		pm_arena_init_within(&scratch, a);
		rc = train_member(f, i, seed + (uint64_t) i, &scratch, &one, st);
		pm_arena_release(&scratch);
		add_report(report, &one, f->m->members);
	}
	return rc;
}

/* With too few rows for it, it is the one of the start, or there is none. */
static pm_code
fit_base(fit *f, uint64_t seed, pm_arena *a, pm_status *st)
{
	pm_predictor *base = &f->m->base;
	pm_start	start = {.predictor = f->from != NULL && f->from->base.kind != NULL ? &f->from->base : NULL};
	pm_fit_report unused = {0};
	pm_code		rc;

	if (f->options->value[OPT_BASE_SHARE] == 0)
		return PM_OK;
	if ((rc = pm_mdot_base_init(f->options, base, st)) != PM_OK)
		return rc;
	base->schema = f->schema;
	if (f->d->n < base->kind->min_samples)
	{
		*base = start.predictor != NULL ? *start.predictor : (pm_predictor) {0};
		return PM_OK;
	}
	base->start = start.predictor != NULL ? &start : NULL;
	rc = base->kind->fit(base, f->d, seed, f->threads, f->hooks, a, &unused, st);
	base->start = NULL;
	return rc;
}

static bool
has_gpus(const pm_dataset *d)
{
	for (int i = 0; i < d->n; i++)
		if (!d->samples[i].query.gpu->is_cpu)
			return true;
	return false;
}

/* That of most rows of GPUs, or where there are none, of most rows. */
static int
usual_format(const pm_dataset *d)
{
	bool		gpus = has_gpus(d);
	int			rows[PM_N_DTYPES] = {0};
	int			most = 0;

	for (int i = 0; i < d->n; i++)
		rows[d->samples[i].query.dtype] += !(gpus && d->samples[i].query.gpu->is_cpu);
	for (int f = 1; f < PM_N_DTYPES; f++)
		if (rows[f] > rows[most])
			most = f;
	return most;
}

/*
 * What the networks' factors are on, and by which rule a CPU's times add up.
 * Networks that went through a training are factors on the times of the
 * anchor that they had then, whatever the base has learned since.  On the CPU
 * of data/, networks that start from opclass err more than those that start from
 * the peaks (docs/accuracy.md).
 */
static void
choose_start(fit *f)
{
	int			anchor = (int) f->options->value[OPT_ANCHOR];

	if (f->from != NULL)
	{
		f->m->anchor = f->from->anchor;
		f->m->cpu_anchor = f->from->cpu_anchor;
		f->m->in_turn = f->from->in_turn;
		f->m->format = f->from->format;
		return;
	}
	f->m->format = usual_format(f->d);
	f->m->cpu_anchor = anchor == PM_ANCHOR_BASE ? 0 : 1;
	f->m->in_turn = true;
	if (anchor == PM_ANCHOR_BASE || (anchor == PM_ANCHOR_AUTO && has_gpus(f->d)))
		f->m->anchor = f->m->base;
}

static pm_code
prepare(fit *f, uint64_t seed, pm_arena *a, pm_status *st)
{
	pm_mdot    *m = f->m;
	pm_mdot_config c;
	pm_code		rc;

	m->members = (int) f->options->value[OPT_MEMBERS];
	if ((m->w = PM_NEW(a, pm_real *, m->members)) == NULL)
		return pm_no_memory(st, a);
	if ((rc = join_others(f, a, st)) != PM_OK || (rc = prepare_inputs(f, seed, a, st)) != PM_OK ||
		(rc = prepare_rows(f, seed, a, st)) != PM_OK)
		return rc;
	c = pm_mdot_configure(f->options, m->codec.n_types, m->codec.n_frameworks, m->codec.n_gpus);
	c.schema = m->codec.schema;
	if ((rc = pm_mdot_net_init(&m->net, &c, a, st)) != PM_OK)
		return rc;
	if ((f->decay = PM_NEW(a, uint8_t, m->net.tensors.n_params)) == NULL)
		return pm_no_memory(st, a);
	pm_tensors_decay(&m->net.tensors, f->decay);
	return calibrate(f, a, st);
}

/* The card with most rows. */
static void
choose_reference(fit *f)
{
	int			most = 0;

	for (int i = 0; i < f->d->n; i++)
	{
		const pm_gpu *gpu = f->d->samples[i].query.gpu;
		int			rows = 0;

		/* each card is counted from its first row */
		for (int k = 0; k < f->d->n && !gpu->is_cpu; k++)
			if (strcmp(f->d->samples[k].query.gpu->name, gpu->name) == 0)
			{
				if (k < i)
					break;
				rows++;
			}
		if (rows > most)
		{
			most = rows;
			f->m->reference = *gpu;
		}
	}
}

pm_code
pm_mdot_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
			const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st)
{
	double		started = pm_now();
	fit			f = {.m = PM_NEW(a, pm_mdot, 1), .d = d, .options = &p->options, .schema = pm_predictor_schema(p), .threads = threads,
		.hooks = hooks, .from = p->start != NULL ? p->start->predictor->impl : NULL};
	pm_code		rc;

	if (!f.m)
		return pm_no_memory(st, a);
	if ((rc = fit_base(&f, seed, a, st)) != PM_OK)
		return rc;
	choose_start(&f);
	if ((rc = prepare(&f, seed, a, st)) != PM_OK ||
		(rc = train_members(&f, seed, a, report, st)) != PM_OK)
		return rc;
	if (f.from != NULL && f.from->reference.name != NULL)
		f.m->reference = f.from->reference;
	else
		choose_reference(&f);
	if (f.m->reference.name != NULL && !(f.m->reference.name = pm_strdup(a, f.m->reference.name, strlen(f.m->reference.name))))
		return pm_no_memory(st, a);
	if (f.all.n > d->n)
		report->train_mape = NAN;	/* it is of operators and passes, too */
	p->impl = f.m;
	report->seconds = pm_now() - started;
	return PM_OK;
}
