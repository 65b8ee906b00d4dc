/*
 * mdot.c - the predictor kind "mdot": its options, its answers.  The
 * network is in net.c, its training in fit.c, its stored form in stored.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "features/phases.h"
#include "kinds/settings.h"

#include "kinds/mdot/mdot.h"
#include "kinds/opclass/opclass.h"

#define LEAST_TO_PEAK	(1.0 / 3)	/* operators that take 20 times their peak cannot be learned from a start at the peak */

static const pm_option options[N_MDOT_OPTIONS] = {
	[OPT_D_MODEL] = {"d_model", PM_OPT_INT, 64, 8, 512, NULL, "width of the sequence Transformer"},
	[OPT_HEADS] = {"heads", PM_OPT_INT, 4, 1, 16, NULL, "attention heads; must divide d_model"},
	[OPT_LAYERS] = {"layers", PM_OPT_INT, 1, 0, 6, NULL, "layers of the sequence Transformer"},
	[OPT_D_OPERATOR] = {"d_operator", PM_OPT_INT, 32, 8, 256, NULL, "width of the operator encoder; a multiple of 4"},
	[OPT_OPERATOR_LAYERS] = {"operator_layers", PM_OPT_INT, 1, 0, 6, NULL,
	"layers of the operator encoder; 0: dimensions are concatenated only"},
	[OPT_HIDDEN] = {"hidden", PM_OPT_INT, 64, 4, 512, NULL, "width inside the heads"},
	[OPT_HEAD] = {"head", PM_OPT_CHOICE, PM_HEAD_ADDITIVE, 0, 1, "additive|pooled",
	"additive: a time for each operator, which corrects its roofline time; pooled: one time for the step"},
	[OPT_LOSS] = {"loss", PM_OPT_CHOICE, PM_LOSS_LOG_CAUCHY, 0, 4, "log_huber|mape|mse_raw|mae_raw|log_cauchy", "training loss"},
	[OPT_RESIDUAL] = {"residual", PM_OPT_BOOL, 0, 0, 1, NULL, "additive head: let a pooled factor correct the sum"},
	[OPT_PEAK_ESTIMATE] = {"peak_estimate", PM_OPT_BOOL, 1, 0, 1, NULL,
	"additive head: on GPUs, the step is averaged with a second estimate, which corrects the times at the peaks of the device", .later = true},
	[OPT_EDGES] = {"edges", PM_OPT_BOOL, 1, 0, 1, NULL,
	"on GPUs, operators hear of those that they read from and of those that read them", .later = true},
	[OPT_MERGE] = {"merge", PM_OPT_BOOL, 1, 0, 1, NULL, "merge operators that are alike into one token"},
	[OPT_MONOTONE] = {"monotone", PM_OPT_BOOL, 1, 0, 1, NULL,
	"additive head: the network does not see the batch, so that a larger batch never takes less time"},
	[OPT_DROPOUT] = {"dropout", PM_OPT_REAL, 0.1, 0, 0.9, NULL, "probability of dropping a unit of the sequence Transformer in training"},
	[OPT_DROP_PATH] = {"drop_path", PM_OPT_REAL, 0.5, 0, 0.9, NULL,
	"probability that a branch of the sequence Transformer is left out for a graph in training"},
	[OPT_HEAD_DROPOUT] = {"head_dropout", PM_OPT_REAL, 0, 0, 0.9, NULL, "probability of dropping a unit inside the operator head in training"},
	[OPT_UNKNOWN] = {"unknown", PM_OPT_REAL, 0.01, 0, 0.5, NULL,
	"probability of hiding an operator's type or the framework in training"},
	[OPT_MEMBERS] = {"members", PM_OPT_INT, 1, 1, 16, NULL,
	"networks that are averaged; they differ in their random numbers"},
	[OPT_BASE_SHARE] = {"base_share", PM_OPT_REAL, 0.2, 0, 1, NULL,
	"weight, in logarithms, of a predictor of kind opclass on the same rows, which errs less on unseen families; 0: none is trained"},
	[OPT_ANCHOR] = {"anchor", PM_OPT_CHOICE, PM_ANCHOR_AUTO, 0, 2, "auto|base|peak",
	"times of operators that the network corrects: of opclass (base), or at the peaks of the device (peak); auto: base on GPUs, peak on CPUs"},
	[OPT_OPERATORS] = {"operator_weight", PM_OPT_REAL, 0.2, 0, 100, NULL,
	"additive head: weight of a single operator's measured time, where a step has 1; 0: not used"},
	[OPT_PASSES] = {"pass_weight", PM_OPT_REAL, 0.3, 0, 100, NULL,
	"additive head: weight of a measured forward pass of inference, where a step has 1; 0: not used", .later = true},
	[OPT_FLOOR] = {"floor", PM_OPT_BOOL, 1, 0, 1, NULL,
	"additive head: on GPUs no operator takes less time than at the peaks of the device", .later = true},
	PM_TRAINING_OPTIONS(OPT_TRAINING, 60, 2e-3),
	[OPT_CALIBRATION] = PM_OPTION_CALIBRATION,
	[OPT_SEED] = {"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "of the random numbers: first weights, order of the rows, dropout"},
};

pm_code
pm_mdot_check(const pm_options *o, pm_status *st)
{
	if (fmod(o->value[OPT_D_MODEL], o->value[OPT_HEADS]) != 0)
		return pm_fail(st, PM_ERR_OPTION, "option \"heads\" must divide \"d_model\": %g does not divide %g",
					   o->value[OPT_HEADS], o->value[OPT_D_MODEL]);
	if (fmod(o->value[OPT_D_OPERATOR], 4) != 0)
		return pm_fail(st, PM_ERR_OPTION, "option \"d_operator\" must be a multiple of 4, not %g",
					   o->value[OPT_D_OPERATOR]);
	return PM_OK;
}

pm_mdot_config
pm_mdot_configure(const pm_options *o, int n_types, int n_frameworks, int n_gpus)
{
	const double *v = o->value;

	return (pm_mdot_config) {
		.d = (int) v[OPT_D_MODEL], .heads = (int) v[OPT_HEADS], .layers = (int) v[OPT_LAYERS],
		.d_op = (int) v[OPT_D_OPERATOR], .op_heads = 4, .op_layers = (int) v[OPT_OPERATOR_LAYERS],
		.hidden = (int) v[OPT_HIDDEN], .head = (pm_mdot_head) v[OPT_HEAD], .loss = (pm_mdot_loss) v[OPT_LOSS],
		.residual = v[OPT_RESIDUAL] != 0, .estimates = v[OPT_HEAD] == PM_HEAD_ADDITIVE && v[OPT_PEAK_ESTIMATE] != 0 ? 2 : 1,
		.edges = v[OPT_EDGES] != 0, .passes = pm_mdot_learns_passes(o), .dropout = v[OPT_DROPOUT], .drop_path = v[OPT_DROP_PATH],
		.head_dropout = v[OPT_HEAD_DROPOUT], .unknown = v[OPT_UNKNOWN],
		.n_types = n_types, .n_frameworks = n_frameworks, .n_gpus = n_gpus
	};
}

/* What makes the shape of the network, and what it is fed with. */
static pm_code
mdot_check_start(const pm_options *o, const pm_predictor *from, pm_status *st)
{
	static const int same[] = {OPT_D_MODEL, OPT_HEADS, OPT_LAYERS, OPT_D_OPERATOR, OPT_OPERATOR_LAYERS, OPT_HIDDEN,
		OPT_HEAD, OPT_RESIDUAL, OPT_PEAK_ESTIMATE, OPT_EDGES, OPT_MERGE, OPT_MONOTONE, OPT_ANCHOR};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (o->value[same[i]] != from->options.value[same[i]])
		{
			pm_fail(st, PM_ERR_OPTION, "option \"%s\" must be the same as in the predictor of the warm start",
					options[same[i]].name);
			pm_hint(st, "Leave the option out, or train without warm_start.");
			return PM_ERR_OPTION;
		}
	return PM_OK;
}

bool
pm_mdot_is_monotone(const pm_options *o)
{
	return o->value[OPT_MONOTONE] != 0 && o->value[OPT_HEAD] == PM_HEAD_ADDITIVE;
}

/* A pooled head has no times of operators. */
static bool
mdot_infers(const pm_options *o)
{
	return o->value[OPT_HEAD] == PM_HEAD_ADDITIVE;
}

/*
 * q in the format and with the optimizer that the networks see.  Most formats, and all optimizers but one, are in few training rows
 * or in none.  The networks would attribute to them what is special about these rows.  What differs between them is the work, which
 * is computed for q itself.  So it is with a forward pass of inference, which is shown as the training step.
 */
static pm_question
as_shown(const pm_mdot *m, const pm_question *q)
{
	pm_question	f = *q;

	if (!q->gpu->is_cpu)
		f.dtype = (pm_dtype) m->format;
	f.optimizer = PM_SGD_MOMENTUM;
	f.mode = PM_TRAIN;
	return f;
}

pm_question
pm_mdot_feature_question(const pm_mdot *m, const pm_options *o, const pm_question *q)
{
	pm_question	f = as_shown(m, q);

	if (pm_mdot_is_monotone(o))
		f.batch = PM_MDOT_REFERENCE_BATCH;
	return f;
}

pm_code
pm_mdot_base_init(const pm_options *o, pm_predictor *base, pm_status *st)
{
	pm_code		rc;

	base->kind = pm_kind_find("opclass");
	rc = pm_options_set(base->kind, NULL, 0, &base->options, st);
	base->options.value[PM_OPCLASS_FLOOR] = o->value[OPT_FLOOR];
	return rc;
}

void
pm_mdot_set_floor(const pm_options *o, pm_input *in)
{
	for (int i = 0; i < in->n && o->value[OPT_FLOOR] == 0; i++)
		in->floor_us[i] = 0;
}

static const pm_predictor *
mdot_base(const pm_predictor *p)
{
	const pm_mdot *m = p->impl;

	return m->base.kind != NULL ? &m->base : NULL;
}

static const pm_cards *
mdot_cards(const pm_predictor *p)
{
	return pm_mdot_cards_of(p->impl);
}

pm_card_factors
pm_mdot_card_factors(const pm_mdot *m, const pm_question *q)
{
	pm_question	shown = as_shown(m, q);
	pm_card_factors f = pm_cards_factors(pm_mdot_cards_of(m), &shown);

	f.launch = pm_cards_factors(pm_mdot_cards_of(m), q).launch;
	return f;
}

void
pm_mdot_format_ratios(const pm_mdot *m, const pm_question *q, const pm_tokens *t, double *ratio)
{
	pm_question	shown = as_shown(m, q);
	bool		same = m->base.kind == NULL || shown.dtype == q->dtype;
	pm_opclass_rates own = {0};
	pm_opclass_rates usual = {0};

	if (!same)
	{
		own = pm_opclass_rates_of(&m->base, q);
		usual = pm_opclass_rates_of(&m->base, &shown);
	}
	for (int i = 0; i < t->n; i++)
		ratio[i] = same ? 1 : pm_opclass_format_factor(&own, &usual, t, i);
}

void
pm_mdot_anchor_factors(const pm_mdot *m, const pm_question *q, const pm_tokens *t, double *anchor, double *to_peak)
{
	pm_opclass_rates rates = {0};

	bool		cpu = q->gpu->is_cpu && m->cpu_anchor > 0;

	if (m->anchor.kind != NULL && !cpu)
		rates = pm_opclass_rates_of(&m->anchor, q);
	for (int i = 0; i < t->n; i++)
	{
		anchor[i] = cpu ? m->cpu_anchor : m->anchor.kind != NULL ? pm_opclass_device_factor(&rates, t, i) : 1;
		to_peak[i] = fmax(1 / anchor[i], LEAST_TO_PEAK);
	}
}

void
pm_mdot_scale(pm_input *in, const pm_card_factors *f, const pm_card_factors *ref, const double *anchor, const double *ratio,
			  const int32_t *op_class)
{
	in->total_device_us = 0;
	for (int i = 0; i < in->n; i++)
	{
		pm_card_work kind = pm_card_work_of(op_class[i]);

		in->compute_us[i] *= f->compute[kind] * anchor[i] * ratio[i];
		in->memory_us[i] *= f->memory[kind] * anchor[i];
		in->compute_ref_us[i] *= ref->compute[kind] * anchor[i];
		in->memory_ref_us[i] *= ref->memory[kind] * anchor[i];
		in->kernels[i] *= f->launch;
		in->total_device_us += in->copies[i] * (in->compute_us[i] + in->memory_us[i]);
	}
}

/* ---- predict ---- */

typedef struct answer
{
	pm_input	in;
	double	   *anchor;			/* [n] factors on times at the peaks */
	double	   *ratio;			/* [n] factors on arithmetic, of the format */
	pm_mdot_detail detail;		/* means over the networks; arrays NULL when not asked for */
	double		ms;				/* mean of the networks */
	pm_tokens	work;			/* to share out a token's time by */
	double		conv_share;		/* 0..1: of convolutions in the roofline time of the features */
} answer;

/*
 * pm_mdot_feature_question(), on a card that the networks have seen.  What a network says
 * of cards that it has not seen is wild, and a better card may get a longer
 * time.  So it takes every such card for the reference: what it says of the
 * operators is the same for all of them, and times are in proportion to the
 * work on the card that is asked about, by its sheet and level.
 */
static pm_question
question_on_known_card(const pm_predictor *p, const pm_question *q)
{
	const pm_mdot *m = p->impl;
	pm_question	f = pm_mdot_feature_question(m, &p->options, q);

	if (m->reference.name != NULL && !q->gpu->is_cpu && pm_mdot_is_monotone(&p->options) && pm_mdot_is_abroad(m, q))
		f.gpu = &m->reference;
	return f;
}

pm_code
pm_mdot_make_pass(const pm_sample *s, const pm_question *features, pm_arena *scratch, pm_input *in, pm_status *st)
{
	pm_question q = *features;
	pm_tokens	work;
	pm_code		rc;

	q.mode = s->query.mode;
	if ((rc = pm_tokens_build_work(s->skeleton, &q, scratch, &work, st)) != PM_OK)
		return rc;
	for (int i = 0; i < in->n; i++)
	{
		in->compute_ref_us[i] = work.compute_us[i];
		in->memory_ref_us[i] = work.memory_us[i];
	}
	in->rest_share = PM_INFER_REST_SHARE;
	in->is_pass = true;
	return PM_OK;
}

static pm_code
encode(const pm_predictor *p, const pm_sample *s, pm_arena *scratch, answer *x, pm_status *st)
{
	const pm_mdot *m = p->impl;
	pm_question	shown = question_on_known_card(p, &s->query);
	pm_tokens	features,
				work;
	pm_card_factors factors,
				reference;
	pm_code		rc;

	if ((rc = pm_tokens_build(s->skeleton, &s->query, scratch, &work, st)) != PM_OK ||
		(rc = pm_tokens_build(s->skeleton, &shown, scratch, &features, st)) != PM_OK ||
		(rc = pm_codec_encode(&m->codec, &features, &shown, scratch, &x->in, st)) != PM_OK ||
		(s->query.mode != PM_TRAIN && (rc = pm_mdot_make_pass(s, &shown, scratch, &x->in, st)) != PM_OK))
		return rc;
	x->anchor = PM_NEW(scratch, double, features.n);
	x->ratio = PM_NEW(scratch, double, features.n);
	if (!x->anchor || !x->ratio)
		return pm_no_memory(st, scratch);
	factors = pm_mdot_card_factors(m, &s->query);
	reference = pm_mdot_card_factors(m, &shown);
	pm_mdot_anchor_factors(m, &shown, &features, x->anchor, x->in.to_peak);
	pm_mdot_format_ratios(m, &s->query, &work, x->ratio);
	x->in.in_turn = m->in_turn && s->query.gpu->is_cpu;
	pm_input_rework(&x->in, &work);
	pm_mdot_set_floor(&p->options, &x->in);
	pm_mdot_scale(&x->in, &factors, &reference, x->anchor, x->ratio, work.op_class);
	x->work = work;
	x->conv_share = pm_mdot_conv_share(&features);
	return PM_OK;
}

/* One network's answer, added to x. */
static pm_code
ask_member(const pm_mdot *m, int member, void *workspace, pm_arena *scratch, answer *x, pm_status *st)
{
	const double one = 1;
	const int	first = 0;
	pm_mdot_data data = {.net = &m->net, .inputs = &x->in, .step_ms = &one, .weight = &one};
	pm_mdot_detail detail = {0};
	double		ms;

	if (x->detail.token_ms == NULL)
		pm_mdot_pass(&data, m->w[member], NULL, &first, 1, &ms, NULL, workspace);
	else
	{
		detail.token_ms = PM_NEW(scratch, double, x->in.n);
		detail.launch_share = PM_NEW(scratch, double, x->in.n);
		if (!detail.token_ms || !detail.launch_share)
			return pm_no_memory(st, scratch);
		ms = pm_mdot_explain(&data, m->w[member], 0, workspace, &detail);
		for (int i = 0; i < x->in.n; i++)
		{
			x->detail.token_ms[i] += detail.token_ms[i] / m->members;
			x->detail.launch_share[i] += detail.launch_share[i] / m->members;
		}
		x->detail.rest_ms += detail.rest_ms / m->members;
	}
	x->ms += ms / m->members;
	return PM_OK;
}

/* A token's time by phase, in proportion to the work; the head gives one time for all three. */
static void
fill_part(const answer *x, int i, double factor, pm_part *part)
{
	double		passes_us = pm_passes_us(&x->work, i);
	double		update_us = x->work.phase_us[3 * i + 2];
	double		copies = x->work.skeleton->copies[i];
	double		ms = factor * x->detail.token_ms[i];
	double		update_ms = pm_update_part(copies * passes_us, copies * update_us, ms);

	*part = (pm_part) {.token = i, .step_ms = ms, .bound = x->detail.launch_share[i] > 0.5 ? 'l' : x->in.bound[i],
		.forward_ms = NAN, .backward_ms = NAN, .update_ms = NAN};
	if (!(passes_us + update_us > 0))
		return;
	part->forward_ms = passes_us > 0 ? (ms - update_ms) * pm_forward_us(&x->work, i) / passes_us : 0;
	part->backward_ms = passes_us > 0 ? (ms - update_ms) * pm_backward_us(&x->work, i) / passes_us : 0;
	part->update_ms = update_ms;
}

static void
fill_parts(const answer *x, double factor, pm_part *parts, int *n_parts)
{
	for (int i = 0; i < x->in.n; i++)
		fill_part(x, i, factor, &parts[i]);
	parts[x->in.n] = (pm_part) {.token = -1, .step_ms = factor * x->detail.rest_ms, .forward_ms = NAN, .backward_ms = NAN,
		.update_ms = NAN, .bound = '-'};
	*n_parts = x->in.n + 1;
}

/* The networks' answer and the base's, mixed in logarithms: *factor is what turns x->ms into that. */
static pm_code
mix_base(const pm_predictor *p, const pm_sample *s, const answer *x, pm_arena *scratch, double *factor, pm_status *st)
{
	const pm_mdot *m = p->impl;
	double		base_ms;
	pm_code		rc;

	*factor = 1;
	if (m->base.kind == NULL)
		return PM_OK;
	if ((rc = m->base.kind->predict(&m->base, s, scratch, &base_ms, NULL, NULL, st)) != PM_OK)
		return rc;
	if (!(isfinite(base_ms) && base_ms > 0))
		return pm_fail(st, PM_ERR_INTERNAL, "prediction of the base is not a positive finite number");
	*factor = pow(base_ms / x->ms, pm_mdot_base_share(p, &s->query, x->conv_share));
	return PM_OK;
}

static pm_code
predict_plain(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
			  double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	const pm_mdot *m = p->impl;
	answer		x = {0};
	pm_pass_size size = {0};
	void	   *workspace;
	double		factor;
	pm_code		rc = encode(p, s, scratch, &x, st);

	if (rc != PM_OK)
		return rc;
	pm_pass_add(&size, x.in.n, 0);
	workspace = pm_alloc_unset(scratch, pm_mdot_workspace(&m->net, &size), 1);
	if (parts != NULL)
	{
		x.detail.token_ms = PM_NEW(scratch, double, x.in.n);
		x.detail.launch_share = PM_NEW(scratch, double, x.in.n);
	}
	if (!workspace || (parts != NULL && (!x.detail.token_ms || !x.detail.launch_share)))
		return pm_no_memory(st, scratch);
	for (int i = 0; i < m->members && rc == PM_OK; i++)
		rc = ask_member(m, i, workspace, scratch, &x, st);
	if (rc != PM_OK || (rc = mix_base(p, s, &x, scratch, &factor, st)) != PM_OK)
		return rc;
	*step_ms = factor * x.ms;
	if (parts != NULL)
		fill_parts(&x, factor, parts, n_parts);
	return PM_OK;
}

/* ---- a question asked at many batches ---- */

/* What one network says of a question, whatever the batch. */
typedef struct member_outputs
{
	pm_mdot_said said[PM_MDOT_ESTIMATES];
	double		factor;
} member_outputs;

typedef struct prepared
{
	member_outputs *member;		/* [members] */
	pm_card_factors factors;
	double	   *anchor;			/* [n] factors on times at the peaks */
	double	   *to_peak;		/* [n] and on those, for the second estimate */
	double	   *ratio;			/* [n] factors on arithmetic, of the format */
	double		base_share;
	int			estimates;
	bool		in_turn;
	bool		floor;			/* times are held above the floor */
	void	   *base;
	const pm_factors *fitted;
} prepared;

static pm_code
prepare_members(const pm_mdot *m, const pm_input *in, pm_arena *a, pm_arena *scratch, prepared *x, pm_status *st)
{
	const double one = 1;
	pm_mdot_data data = {.net = &m->net, .inputs = in, .step_ms = &one, .weight = &one};
	pm_pass_size size = {0};
	void	   *workspace;

	pm_pass_add(&size, in->n, 0);
	workspace = pm_alloc_unset(scratch, pm_mdot_workspace(&m->net, &size), 1);
	x->member = PM_NEW(a, member_outputs, m->members);
	if (!workspace || !x->member)
		return pm_no_memory(st, a);
	for (int i = 0; i < m->members; i++)
	{
		member_outputs *o = &x->member[i];

		for (int k = 0; k < m->net.c.estimates; k++)
			if ((o->said[k].token = PM_NEW(a, pm_mdot_token, in->n)) == NULL)
				return pm_no_memory(st, a);
		pm_mdot_outputs(&data, m->w[i], 0, workspace, o->said, &o->factor);
	}
	return PM_OK;
}

/* Only where features are of the reference batch is the network's part the same for every batch. */
static pm_code
mdot_prepare(const pm_predictor *p, const pm_sample *s, const pm_tokens *t, pm_arena *a, pm_arena *scratch,
			 void **state, pm_status *st)
{
	const pm_mdot *m = p->impl;
	prepared   *x;
	answer		encoded = {0};
	pm_code		rc;

	if (!pm_mdot_is_monotone(&p->options))
		return PM_OK;
	if ((x = PM_NEW(a, prepared, 1)) == NULL)
		return pm_no_memory(st, a);
	if ((rc = encode(p, s, scratch, &encoded, st)) != PM_OK ||
		(rc = prepare_members(m, &encoded.in, a, scratch, x, st)) != PM_OK ||
		(m->base.kind != NULL && (rc = m->base.kind->prepare(&m->base, s, t, a, scratch, &x->base, st)) != PM_OK))
		return rc;
	x->anchor = PM_NEW(a, double, encoded.in.n);
	x->to_peak = PM_NEW(a, double, encoded.in.n);
	x->ratio = PM_NEW(a, double, encoded.in.n);
	if (!x->anchor || !x->to_peak || !x->ratio)
		return pm_no_memory(st, a);
	memcpy(x->anchor, encoded.anchor, encoded.in.n * sizeof(double));
	memcpy(x->to_peak, encoded.in.to_peak, encoded.in.n * sizeof(double));
	memcpy(x->ratio, encoded.ratio, encoded.in.n * sizeof(double));
	x->factors = pm_mdot_card_factors(m, &s->query);
	x->base_share = pm_mdot_base_share(p, &s->query, encoded.conv_share);
	x->estimates = pm_mdot_estimates(&m->net, &encoded.in);
	x->in_turn = encoded.in.in_turn;
	x->floor = p->options.value[OPT_FLOOR] != 0;
	x->fitted = s->fitted;
	*state = x;
	return PM_OK;
}

#define BLOCK	8				/* tokens between two passes over them */

/* Device and launch times of n tokens from `first` on, us, with factors but without the floor. */
static void
block_parts_us(const pm_mdot_said *o, bool at_peak, const prepared *x, const pm_tokens *work, int first, int n,
			   double *device_us, double *launch_us)
{
	for (int j = 0; j < n; j++)
	{
		int			i = first + j;
		pm_card_work kind = pm_card_work_of(work->op_class[i]);
		double		scale = at_peak ? x->to_peak[i] : 1;
		double		compute_us = work->compute_us[i] * (x->factors.compute[kind] * x->anchor[i] * x->ratio[i]) * scale;
		double		memory_us = work->memory_us[i] * (x->factors.memory[kind] * x->anchor[i]) * scale;
		double		growth;

		device_us[j] = pm_mdot_device_us(&o->token[i], compute_us, memory_us, &growth);
		if (work->table_us[i] > 0)
			device_us[j] = fmin(device_us[j], work->table_us[i] * PM_UPDATE_MOST +
								pm_mdot_passes_us(&o->token[i], compute_us, memory_us,
												  memory_us * fmin(work->table_us[i] / work->memory_us[i], 1), &growth));
		launch_us[j] = pm_mdot_launch_us(&o->token[i], work->kernels[i] * x->factors.launch) *
			(x->fitted != NULL ? x->fitted->launch : 1);
	}
}

/* As the network's heads add it up. */
static double
estimate_us(const pm_mdot_said *o, bool at_peak, const prepared *x, const pm_tokens *work)
{
	double		time[BLOCK];
	double		launch_us[BLOCK];
	double		sum_us = o->rest_us * (x->fitted != NULL ? x->fitted->rest : 1);

	for (int first = 0; first < work->n; first += BLOCK)
	{
		int			n = work->n - first < BLOCK ? work->n - first : BLOCK;

		block_parts_us(o, at_peak, x, work, first, n, time, launch_us);
		pm_mdot_tokens_us(n, time, launch_us, x->floor ? work->floor_us + first : NULL,
						  x->fitted != NULL ? x->fitted->device + first : NULL, x->in_turn);
		for (int j = 0; j < n; j++)
			sum_us += work->skeleton->copies[first + j] * time[j];
	}
	return sum_us;
}

static double
member_ms(const member_outputs *o, const prepared *x, const pm_tokens *work)
{
	double		ms = 0;

	for (int k = 0; k < x->estimates; k++)
		ms += estimate_us(&o->said[k], k > 0, x, work) * o->factor / 1000 / x->estimates;
	return ms;
}

static double
mdot_predict_prepared(const pm_predictor *p, const void *state, const pm_tokens *work)
{
	const pm_mdot *m = p->impl;
	const prepared *x = state;
	double		ms = 0;

	for (int i = 0; i < m->members; i++)
		ms += member_ms(&x->member[i], x, work) / m->members;
	if (m->base.kind == NULL)
		return ms;
	return pow(m->base.kind->predict_prepared(&m->base, x->base, work) / ms, x->base_share) * ms;
}

/* ---- an answer with factors on its parts ---- */

/* Parts of the answer without factors become parts of step_ms: each by its factor, and then all by the same. */
static void
scale_parts(const pm_factors *factors, double step_ms, pm_part *parts, int n_parts)
{
	double		sum = 0;

	for (int i = 0; i < n_parts; i++)
	{
		parts[i].step_ms *= parts[i].token < 0 ? factors->rest : parts[i].bound == 'l' ? factors->launch : factors->device[parts[i].token];
		sum += parts[i].step_ms;
	}
	for (int i = 0; i < n_parts; i++)
	{
		pm_part    *part = &parts[i];
		double		total = part->forward_ms + part->backward_ms + part->update_ms;
		double		factor;

		part->step_ms *= sum > 0 ? step_ms / sum : 0;
		factor = total > 0 ? part->step_ms / total : 1;
		part->forward_ms *= factor;
		part->backward_ms *= factor;
		part->update_ms *= factor;
	}
}

/* The same arithmetic as of a prepared question, so that the answers are the same. */
static pm_code
predict_scaled(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
			   double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	pm_tokens	t;
	void	   *state;
	pm_code		rc;

	if (parts != NULL && (rc = predict_plain(p, s, scratch, step_ms, parts, n_parts, st)) != PM_OK)
		return rc;
	if ((rc = pm_tokens_build(s->skeleton, &s->query, scratch, &t, st)) != PM_OK ||
		(rc = mdot_prepare(p, s, &t, scratch, scratch, &state, st)) != PM_OK)
		return rc;
	*step_ms = mdot_predict_prepared(p, state, &t);
	if (parts != NULL)
		scale_parts(s->fitted, *step_ms, parts, *n_parts);
	return PM_OK;
}

static pm_code
mdot_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
			 double *step_ms, pm_part *parts, int *n_parts, pm_status *st)
{
	return s->fitted != NULL && pm_mdot_is_monotone(&p->options) ? predict_scaled(p, s, scratch, step_ms, parts, n_parts, st) :
		predict_plain(p, s, scratch, step_ms, parts, n_parts, st);
}

const pm_kind pm_kind_mdot = {
	.name = "mdot",
	.summary = "Transformer over the operators of the graph, which corrects the roofline time of each operator",
	.options = options,
	.n_options = PM_N_OPTIONS(options),
	.min_samples = 8,
	.quantities = PM_LEARNS(PM_STEP_MS),
	.check = pm_mdot_check,
	.check_start = mdot_check_start,
	.learns_operators = pm_mdot_learns_operators,
	.learns_passes = pm_mdot_learns_passes,
	.memory = pm_mdot_memory,
	.fit = pm_mdot_fit,
	.predict = mdot_predict,
	.prepare = mdot_prepare,
	.predict_prepared = mdot_predict_prepared,
	.scales = pm_mdot_is_monotone,
	.infers = mdot_infers,
	.base = mdot_base,
	.cards = mdot_cards,
	.save = pm_mdot_save,
	.load = pm_mdot_load
};
