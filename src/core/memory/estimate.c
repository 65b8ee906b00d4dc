/*
 * estimate.c - from a plan to the memory that a device shows.
 */
#include "memory/estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The standard deviation of a logistic distribution is this many times its scale. */
#define LOGISTIC_DEVIATION	(M_PI / sqrt(3))

/* ---------- frameworks ---------- */

/* Version of PyTorch as 100 * major + minor, from "pytorch 1.12 cu113"; 0: not said; -1: not PyTorch. */
static int
torch_version(const char *framework)
{
	const char *p;
	char	   *end;
	long		major;
	long		minor;

	if (framework == NULL)
		return 0;
	for (p = framework; *p != '\0' && (*p < '0' || *p > '9'); p++)
		;
	if (strstr(framework, "orch") == NULL)
		return -1;
	if (*p == '\0')
		return 0;
	major = strtol(p, &end, 10);
	minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
	return major > 99 || minor > 99 ? 0 : (int) (major * 100 + minor);
}

/* Also if no version is said; not if the framework is another. */
static bool
is_torch_2(int version)
{
	return version == 0 || version >= 200;
}

void
pm_memory_step_options(const pm_question *q, bool checkpointing, pm_step_options *o)
{
	int			version = torch_version(q->framework);

	bool		inference = q->mode != PM_TRAIN;

	*o = (pm_step_options) {
		.dtype = q->dtype, .layout = q->layout, .optimizer = inference ? PM_OPT_NONE : q->optimizer, .inference = inference,
		.checkpointing = checkpointing && !inference, .gradients_stay = version > 0 && version < 200 && !inference, .fused_attention = version <= 0 || version >= 200,
		.softmax_keeps_input = version > 0 && version < 111, .on_cpu = q->gpu->is_cpu,
		.compile = q->compile && !q->gpu->is_cpu, .recomputes_less = version > 0 && version < 204
	};
}

/* ---------- shipped factors ---------- */

/*
 * Context and libraries by device and PyTorch: medians of measured minus simulated peaks.  PyTorch 1: 12 torchvision networks in fp32
 * (SchedTune, MIT licence).  PyTorch 2: own steps and passes of networks on an H200 (data/profiles_h200.csv; CUDA 13, which loads a kernel
 * when it is first run).  The H100 and the GH200 are the same chip, but were not measured.
 */
static const struct
{
	const char *gpu;
	bool		torch_2;
	double		context_mb;
	bool		measured;
}			contexts[] =
{
	{"V100", false, 1240, true}, {"RTX 3090", false, 1310, true}, {"RTX 3070", false, 1170, true}, {"H200", true, 925, true}, {"H100", true, 925, false},
	{"GH200", true, 925, false}
};

/* Of other cards: the first three on a line over their multiprocessors, 46 to 82; the usual one where these are not known. */
#define CONTEXT_MB	1000
#define CONTEXT_MB_PER_SM	3.5
#define USUAL_CONTEXT_MB 1240

/* Cards whose error correction takes a sixteenth of their memory. */
static const char *const ecc_cards[] = {"T4", "A10", "A10G", "L4", "L40", "L40S", "A40"};

static void
cpu_factors(pm_memory_factors *f)
{
	*f = (pm_memory_factors) {
		.context_mb = 0, .factor = 1, .workspace = 3.75, .need_factor = 1.03, .spread = 0.13, .context_spread_mb = 10,
		.fit_spread = 0.1, .measured = true
	};
}

static bool
is_wide(int dtype)
{
	return dtype == PM_FP32 || dtype == PM_TF32;
}

/* Whether a device is a card of this name, or a form of it: V100-SXM2-16GB is a V100, and an RTX 3090 Ti is no RTX 3090. */
static bool
is_card(const char *name, const char *card)
{
	size_t		len = strlen(card);

	return strncmp(name, card, len) == 0 && (name[len] == '\0' || name[len] == '-');
}

void
pm_memory_shipped_factors(const pm_question *q, pm_memory_factors *f)
{
	int			version = torch_version(q->framework);
	bool		wide = is_wide((int) q->dtype);

	if (q->gpu->is_cpu)
	{
		cpu_factors(f);
		return;
	}
	*f = (pm_memory_factors) {
		.context_mb = isnan(q->gpu->sm_count) ? USUAL_CONTEXT_MB : CONTEXT_MB + CONTEXT_MB_PER_SM * fmin(q->gpu->sm_count, 256),
		.factor = 1,
		.workspace = 1, .need_factor = 1.005, .spread = 0.07, .context_spread_mb = 500, .fit_spread = 0.04
	};
	for (size_t i = 0; i < sizeof(contexts) / sizeof(contexts[0]); i++)
		if (is_card(q->gpu->name, contexts[i].gpu))
		{
			bool		same = contexts[i].torch_2 ? is_torch_2(version) : version > 0 && version < 200;

			if (same || !contexts[i].torch_2)
				f->context_mb = contexts[i].context_mb;
			f->measured = same && contexts[i].measured;
		}
	if (f->measured)
	{
		f->spread = is_torch_2(version) ? 0.075 : wide ? 0.04 : 0.05;
		f->context_spread_mb = 120;
		f->fit_spread = 0.02;
	}
	/* brackets of PyTorch 1.10 on an RTX 3090 lie 1 % higher than those of 1.11 and 1.12 */
	if (version > 0 && version <= 110)
		f->need_factor = 1.015;
}

/*
 * The published ratios of compiled to eager memory over the computed ones, where a step takes more than 2 GB (docs/memory.md): nothing
 * else is fitted.  In smaller steps, scratch memory counts in which kernels are tried: some releases try none.
 */
#define COMPILE_SPREAD	0.08
#define COMPILE_SPREAD_MB	122

void
pm_memory_factors_compiled(pm_memory_factors *f)
{
	f->spread = hypot(f->spread, COMPILE_SPREAD);
	f->context_spread_mb = hypot(f->context_spread_mb, COMPILE_SPREAD_MB);
	f->fit_spread = hypot(f->fit_spread, COMPILE_SPREAD / LOGISTIC_DEVIATION);
}

int
pm_memory_nearness(const pm_question *q, const char *framework, int dtype, int networks)
{
	bool		same = q->framework != NULL && strcmp(framework, q->framework) == 0;
	int			type = dtype == (int) q->dtype ? 2 : is_wide(dtype) == is_wide((int) q->dtype);

	return (same ? 4000000 : 0) + 1000000 * type + (networks < 999999 ? networks : 999999);
}

double
pm_memory_capacity_mb(const pm_gpu *gpu)
{
	double		usable = 0.9875;	/* the driver keeps the rest: 24,268 of 24,576 MB of an RTX 3090 */

	for (size_t i = 0; i < sizeof(ecc_cards) / sizeof(ecc_cards[0]); i++)
		if (strcmp(gpu->name, ecc_cards[i]) == 0)
			usable = 0.93;
	return gpu->memory_gb * 1024 * usable;
}

/* ---------- the estimate ---------- */

/* One question in a hundred is wrong for reasons that no margin covers. */
#define SURELY	0.99

static double
p_fits(double need_mb, double capacity_mb, const pm_memory_factors *f)
{
	if (isnan(capacity_mb))
		return NAN;
	if (capacity_mb <= f->context_mb)
		return 0;
	return SURELY * pm_logistic(-log(need_mb / (capacity_mb - f->context_mb)) / f->fit_spread);
}

/* That one step runs, with the least that it needs, while the other holds its peak. */
static double
p_fits_beside(const pm_memory_share *one, const pm_memory_share *other, double room_mb)
{
	double		need = one->e.need_mb - one->f.context_mb;
	double		held = other->e.peak_mb - other->f.context_mb;
	double		both = fmax(need + held, 1e-6);

	/* errors of steps on one device tend to the same side, so they add up */
	double		spread = (one->f.fit_spread * need + other->f.spread / LOGISTIC_DEVIATION * held) / both;

	return SURELY * SURELY * pm_logistic(-log(both / room_mb) / spread);
}

double
pm_memory_fit_together(const pm_memory_share *a, const pm_memory_share *b, double capacity_mb)
{
	double		room = capacity_mb - a->f.context_mb - b->f.context_mb;

	if (isnan(room))
		return NAN;
	if (room <= 0)
		return 0;
	return fmin(p_fits_beside(a, b, room), p_fits_beside(b, a, room));
}

void
pm_memory_estimate_at(const pm_memory_plan *plan, const pm_question *q, const pm_memory_factors *f, double level,
					  pm_memory_estimate *e)
{
	double		live = pm_memory_live(plan, q->batch) / PM_MB;
	double		reserved = pm_memory_reserved(plan, q->batch) / PM_MB;
	double		simulated;
	double		deviation;
	double		quantile = log((1 + level) / (1 - level)) / LOGISTIC_DEVIATION;

	e->workspace_mb = f->workspace * pm_memory_largest_conv(plan, q->batch) / PM_MB;
	simulated = f->factor * reserved + e->workspace_mb;
	e->context_mb = f->context_mb;
	e->peak_mb = f->context_mb + simulated;
	e->weights_mb = plan->weights / PM_MB;
	e->gradients_mb = plan->gradients / PM_MB;
	e->optimizer_mb = plan->optimizer / PM_MB;
	e->activations_mb = fmax(0, simulated - e->workspace_mb - e->weights_mb - e->gradients_mb - e->optimizer_mb);
	deviation = hypot(f->spread * simulated, f->context_spread_mb);
	/* a factor far below 1 says that even what a network surely holds takes less: never more than the peak */
	e->low_mb = fmin(e->peak_mb, fmax(e->weights_mb + e->optimizer_mb, e->peak_mb - quantile * deviation));
	e->high_mb = e->peak_mb + quantile * deviation;
	e->need_mb = f->need_factor * (live + reserved) / 2;
	e->p_fits = p_fits(e->need_mb, pm_memory_capacity_mb(q->gpu), f);
	e->need_mb += f->context_mb;
}

int64_t
pm_memory_max_batch(const pm_memory_plan *plan, const pm_question *q, const pm_memory_factors *f, double p, int64_t most)
{
	int64_t		low = 0;
	int64_t		high = most + 1;

	while (high - low > 1)
	{
		pm_question	at = *q;
		pm_memory_estimate e;

		at.batch = low + (high - low) / 2;
		pm_memory_estimate_at(plan, &at, f, 0.9, &e);
		if (e.p_fits >= p)
			low = at.batch;
		else
			high = at.batch;
	}
	return low;
}

void
pm_memory_note(const pm_question *q, const pm_memory_factors *f, char *note, size_t size)
{
	int			version = torch_version(q->framework);

	bool		both = f->measured && is_torch_2(version);	/* training and inference, also in 2 bytes */

	note[0] = '\0';
	if (q->mode != PM_TRAIN && !both)
		snprintf(note, size, "memory of inference has not been measured");
	else if (version < 0)
		snprintf(note, size, "memory of framework \"%.*s\" has not been measured: simulated as PyTorch 2", pm_shown(q->framework),
				 q->framework);
	else if (!f->measured && is_torch_2(version))
		snprintf(note, size, "memory with PyTorch 2%s on gpu \"%.*s\" has not been measured: %.0f MB of context are assumed",
				 version == 0 ? " (framework does not say otherwise)" : "", pm_shown(q->gpu->name), q->gpu->name, f->context_mb);
	else if (!f->measured)
		snprintf(note, size, "memory on gpu \"%.*s\" has not been measured: %.0f MB of context are assumed",
				 pm_shown(q->gpu->name), q->gpu->name, f->context_mb);
	else if ((q->dtype == PM_BF16 || q->dtype == PM_FP16) && !both)
		snprintf(note, size, "memory of models held in 2 bytes has not been measured");
}
