/*
 * domain_judge.c - in what a question is not like those in training.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kinds/frameworks.h"
#include "predictor/domain.h"
#include "predictor/domain_parts.h"

/* ---- constants that docs/trust.md gives reasons for ---- */

#define UNSEEN_SHARE		0.02	/* of the roofline time in types of operators that were not seen */
#define UNLIKE_SHARE		0.10	/* in operators that none of their type in training is like */
#define GPU_NETWORKS		5	/* structures of the question's kind that a device was measured with, at the least */
#define BATCH_SLACK			2.0 /* times below the smallest and above the largest batch */
#define LONG_KERNEL_US		40.0	/* ten launches: with kernels as long as that, a GPU is busy, however small the batch */
#define STEP_SLACK			2.0 /* log2: a factor of 4 on the roofline time of the step */

const char *const pm_cause_name[PM_N_CAUSES] = {
	[PM_CAUSE_GPU_NOT_SEEN] = "gpu_not_seen",
	[PM_CAUSE_GPU_SELDOM_SEEN] = "gpu_seldom_seen",
	[PM_CAUSE_LAYOUT_NOT_SEEN] = "layout_not_seen",
	[PM_CAUSE_DTYPE_NOT_SEEN] = "dtype_not_seen",
	[PM_CAUSE_DTYPE_SELDOM_SEEN] = "dtype_seldom_seen",
	[PM_CAUSE_OPTIMIZER_NOT_SEEN] = "optimizer_not_seen",
	[PM_CAUSE_BATCH_ABOVE] = "batch_above", [PM_CAUSE_BATCH_BELOW] = "batch_below",
	[PM_CAUSE_OPERATORS_NOT_SEEN] = "operators_not_seen",
	[PM_CAUSE_OPERATOR_SIZES_NOT_SEEN] = "operator_sizes_not_seen",
	[PM_CAUSE_STEP_ABOVE] = "step_above",
	[PM_CAUSE_STEP_BELOW] = "step_below",
	[PM_CAUSE_NETWORK_UNLIKE] = "network_unlike",
	[PM_CAUSE_NOT_MEASURED_ELSEWHERE] = "not_measured_elsewhere",
	[PM_CAUSE_MODE_NOT_SEEN] = "mode_not_seen",
	[PM_CAUSE_FRAMEWORK_NOT_MEASURED] = "framework_not_measured",
	[PM_CAUSE_MEASUREMENTS_DISAGREE] = "measurements_disagree",
	[PM_CAUSE_FRAMEWORK_NOT_SEEN] = "framework_not_seen",
	[PM_CAUSE_RELEASES_DIFFER] = "releases_differ",
};

/* Causes, as they are found, and as text, which may run out of room. */
typedef struct causes
{
	char	   *text;
	size_t		len;
	uint32_t	found;			/* a bit for each */
} causes;

static void PM_PRINTF(3, 4)
add_cause(causes *c, pm_cause cause, const char *fmt,...)
{
	char		one[200];
	int			n;
	va_list		ap;

	c->found |= 1u << cause;
	va_start(ap, fmt);
	vsnprintf(one, sizeof(one), fmt, ap);
	va_end(ap);
	n = (int) strlen(one);
	if (c->len + 2 + n >= PM_REASON_SIZE)
		return;
	c->len += (size_t) snprintf(c->text + c->len, PM_REASON_SIZE - c->len, "%s%s", c->len > 0 ? "; " : "", one);
}

static bool
layout_used(const device *g, int layout)
{
	int			rows = 0;

	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		rows += g->used[dtype][layout];
	return rows > 0;
}

/*
 * A small batch is unlike larger ones because its kernels are short, so that launches, and multiprocessors without work, take most of the
 * time.  A sample of a language model has as much work as many images.
 */
static bool
has_long_kernels(const pm_question *q, const pm_tokens *work)
{
	return !q->gpu->is_cpu && work->total_roofline_us >= LONG_KERNEL_US * work->n_kernels;
}

/* Batches are compared with those of the format; of a format that the device did not have, with all of the device. */
static void
judge_batch(const device *g, const char *mode, const pm_question *q, const pm_tokens *work, causes *c)
{
	bool		in_format = g->formats[q->dtype].max_batch > 0;
	double		least = in_format ? g->formats[q->dtype].min_batch : g->min_batch;
	double		most = in_format ? g->formats[q->dtype].max_batch : g->max_batch;
	char		with[32] = "";

	if (least > g->min_batch || most < g->max_batch)
		snprintf(with, sizeof(with), " with dtype %s", pm_dtype_name[q->dtype]);
	if (q->batch > BATCH_SLACK * most)
		add_cause(c, PM_CAUSE_BATCH_ABOVE, "batch %lld is above %.0f, the largest in training%s%s", (long long) q->batch, most, with, mode);
	if (q->batch * BATCH_SLACK < least && !has_long_kernels(q, work))
		add_cause(c, PM_CAUSE_BATCH_BELOW, "batch %lld is below %.0f, the smallest in training%s%s", (long long) q->batch, least, with, mode);
}

/* The kind that most of the arithmetic is of, or another of which too few networks were measured. */
static pm_network_kind
least_known(const device *g, const pm_novelty *novelty)
{
	for (int kind = 0; kind < PM_N_NETWORK_KINDS; kind++)
		if ((novelty->kinds >> kind) & 1 && g->of_kind[kind] < GPU_NETWORKS && g->of_kind[novelty->kind] >= GPU_NETWORKS)
			return (pm_network_kind) kind;
	return novelty->kind;
}

static void
judge_networks(const device *g, const char *mode, const pm_question *q, const pm_novelty *novelty, causes *c)
{
	static const char *const kinds[PM_N_NETWORK_KINDS] = {"convolutional", "recurrent", "neither convolutional nor recurrent"};
	pm_network_kind kind = least_known(g, novelty);
	int			measured = g->of_kind[kind];

	if (g->structures < GPU_NETWORKS)
		add_cause(c, PM_CAUSE_GPU_SELDOM_SEEN, "gpu \"%.*s\" was in training%s with no more than %d network%s", pm_shown(q->gpu->name), q->gpu->name,
				  mode, g->structures, g->structures == 1 ? "" : "s");
	else if (measured < GPU_NETWORKS)
		add_cause(c, PM_CAUSE_GPU_SELDOM_SEEN, "of %d networks in training%s on gpu \"%.*s\", %d %s %s", g->structures, mode,
				  pm_shown(q->gpu->name), q->gpu->name, measured, measured == 1 ? "is" : "are", kinds[kind]);
	else if (g->used[q->dtype][q->layout] > 0 && g->formats[q->dtype].structures < GPU_NETWORKS)
		add_cause(c, PM_CAUSE_DTYPE_SELDOM_SEEN, "dtype %s was in training%s on gpu \"%.*s\" with no more than %d network%s", pm_dtype_name[q->dtype],
				  mode, pm_shown(q->gpu->name), q->gpu->name, g->formats[q->dtype].structures, g->formats[q->dtype].structures == 1 ? "" : "s");
}

static void
judge_format(const device *g, const char *mode, const pm_question *q, causes *c)
{
	if (!layout_used(g, q->layout))
	{
		add_cause(c, PM_CAUSE_LAYOUT_NOT_SEEN, "layout %s was not in training%s on gpu \"%.*s\"", pm_layout_name[q->layout], mode,
				  pm_shown(q->gpu->name), q->gpu->name);
		if (g->formats[q->dtype].max_batch == 0)
			add_cause(c, PM_CAUSE_DTYPE_NOT_SEEN, "nor was dtype %s", pm_dtype_name[q->dtype]);
	}
	else if (g->used[q->dtype][q->layout] == 0)
		add_cause(c, PM_CAUSE_DTYPE_NOT_SEEN, "dtype %s with layout %s was not in training%s on gpu \"%.*s\"", pm_dtype_name[q->dtype],
				  pm_layout_name[q->layout], mode, pm_shown(q->gpu->name), q->gpu->name);
}

bool
pm_domain_knows_passes(const pm_domain *t, const char *gpu)
{
	const device *passes = pm_domain_find_passes(t, gpu);

	return passes != NULL && passes->structures >= GPU_NETWORKS;
}

/* Whether a question names the framework that devices have their usual release of, and this one, which was measured, has none. */
static bool
lacks_framework(const pm_domain *t, const pm_question *q)
{
	int			at = pm_domain_find_gpu(t, q->gpu->name);

	if (at < 0 || t->gpus[at].framework >= 0 || q->framework == NULL || q->framework[0] == '\0')
		return false;
	for (int i = 0; i < t->n_gpus; i++)
		if (t->gpus[i].framework >= 0 && pm_same_framework(t->frameworks[t->gpus[i].framework].name, q->framework))
			return true;
	return false;
}

/* Where few networks were measured at all, the interval is that of such devices already. */
static void
judge_framework(const pm_domain *t, const pm_question *q, causes *c)
{
	if (!(c->found & 1u << PM_CAUSE_GPU_SELDOM_SEEN) && lacks_framework(t, q))
		add_cause(c, PM_CAUSE_FRAMEWORK_NOT_MEASURED, "gpu \"%.*s\" has fewer than %d training rows of any release of framework \"%.*s\"",
				  pm_shown(q->gpu->name), q->gpu->name, LEAST_ROWS, pm_shown(q->framework), q->framework);
}

/* Adam and AdamW count as one: the decay of the weights made updates 5 to 10 % longer (bench/optimizers.csv), and is in their work. */
static bool
optimizer_seen(const pm_domain *t, pm_optimizer optimizer)
{
	if (optimizer == PM_ADAM || optimizer == PM_ADAMW)
		return t->optimizers[PM_ADAM] + t->optimizers[PM_ADAMW] > 0;
	return t->optimizers[optimizer] > 0;
}

/*
 * What was measured on the device of q, NULL: nothing.  About inference, passes count if there are enough of them, else training steps.
 */
static const device *
measured_on(const pm_domain *t, const pm_question *q, const char **mode)
{
	int			at = pm_domain_find_gpu(t, q->gpu->name);

	*mode = "";
	if (q->mode != PM_INFERENCE || !pm_domain_knows_passes(t, q->gpu->name))
		return at < 0 ? NULL : &t->gpus[at];
	*mode = " in mode inference";
	return pm_domain_find_passes(t, q->gpu->name);
}

static void
judge_words(const pm_domain *t, const pm_question *q, const pm_novelty *novelty, const pm_tokens *work, causes *c)
{
	const char *mode;
	const device *g = measured_on(t, q, &mode);

	if (g == NULL)
		add_cause(c, PM_CAUSE_GPU_NOT_SEEN, "gpu \"%.*s\" was not in training", pm_shown(q->gpu->name), q->gpu->name);
	else
	{
		judge_networks(g, mode, q, novelty, c);
		judge_format(g, mode, q, c);
		judge_framework(t, q, c);
	}
	if (q->mode == PM_TRAIN && t->knows_optimizers && !optimizer_seen(t, q->optimizer))
		add_cause(c, PM_CAUSE_OPTIMIZER_NOT_SEEN, "optimizer \"%s\" was not in training", pm_optimizer_name[q->optimizer]);
	if (g != NULL)
		judge_batch(g, mode, q, work, c);
}

/* The part of the step that is not as in training, and the worst operator of it. */
typedef struct part
{
	double		share;
	double		worst;			/* share of the worst token */
	int			token;
} part;

static void
add_share(part *p, double share, int token)
{
	if (p->share == 0 || share > p->worst)
	{
		p->worst = share;
		p->token = token;
	}
	p->share += share;
}

static void
add_operator(causes *c, pm_cause cause, const char *what, const char *type, double share)
{
	add_cause(c, cause, "operators %s, such as %.*s (%.0f %% of roofline time)", what, pm_shown(type), type, 100 * share);
}

static void
judge_operators(const uint8_t *novelty, const pm_tokens *work, causes *c)
{
	part		unseen = {0};
	part		unlike = {0};
	char		buf[64];

	for (int i = 0; i < work->n; i++)
		if (novelty[i] > ALIKE * STEPS)
			add_share(novelty[i] == UNSEEN ? &unseen : &unlike, pm_roofline_share(work, i), i);
	if (unseen.share > UNSEEN_SHARE)
		add_operator(c, PM_CAUSE_OPERATORS_NOT_SEEN, "not in training", pm_domain_type_name(work, unseen.token, buf), unseen.share);
	if (unlike.share > UNLIKE_SHARE)
		add_operator(c, PM_CAUSE_OPERATOR_SIZES_NOT_SEEN, "of sizes not in training", pm_domain_type_name(work, unlike.token, buf), unlike.share);
}

static void
judge_step(const pm_domain *t, const pm_tokens *tokens, causes *c)
{
	double		step = pm_domain_log_step(tokens);

	if (step > t->max_step + STEP_SLACK)
		add_cause(c, PM_CAUSE_STEP_ABOVE, "the step is %.0f times as much work as the largest in training", exp2(step - t->max_step));
	if (step < t->min_step - STEP_SLACK)
		add_cause(c, PM_CAUSE_STEP_BELOW, "the smallest step in training is %.0f times as much work", exp2(t->min_step - step));
}

double
pm_domain_limit(const pm_domain *t, const pm_gpu *gpu)
{
	return t->limit[gpu->is_cpu];
}

static void
judge_network(double limit, const pm_novelty *novelty, causes *c)
{
	if (novelty->distance > limit)
		add_cause(c, PM_CAUSE_NETWORK_UNLIKE, "the network is unlike all in training (distance %.2f, usual up to %.2f)", novelty->distance, limit);
}

/* A framework that is not known, or not of this device. It is said for which release the answer is. */
static void
remark_framework(const pm_domain *t, const pm_question *q, causes *c)
{
	const char *stands_for;
	char		answered[100] = "";

	if (q->framework == NULL || q->framework[0] == '\0')
		return;
	stands_for = pm_domain_stands_for(t, q);
	if (stands_for != q->framework)
		snprintf(answered, sizeof(answered), ": answered for \"%.*s\"", pm_shown(stands_for), stands_for);
	if (pm_domain_find_framework(t, q->framework) < 0)
		add_cause(c, PM_CAUSE_FRAMEWORK_NOT_SEEN, "%sframework \"%.*s\" was %s training%s", q->mode == PM_TRAIN ? "" : "no step of ", pm_shown(q->framework), q->framework,
				  q->mode == PM_TRAIN ? "not in" : "in", answered);
	else if (stands_for != q->framework)
		add_cause(c, PM_CAUSE_FRAMEWORK_NOT_SEEN, "framework \"%.*s\" was not in training on this device%s", pm_shown(q->framework), q->framework,
				  answered);
}

void
pm_domain_judge(const pm_domain *t, const pm_question *q, const pm_novelty *novelty, const pm_tokens *work, pm_verdict *v)
{
	causes		c = {.text = v->reason};

	judge_words(t, q, novelty, work, &c);
	judge_operators(novelty->of, work, &c);
	judge_step(t, work, &c);
	judge_network(pm_domain_limit(t, q->gpu), novelty, &c);
	v->update_share = pm_update_share(work);
	v->in_domain = c.len == 0;
	remark_framework(t, q, &c);
	v->causes = c.found;
}
