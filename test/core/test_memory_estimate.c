/*
 * test_memory_estimate.c - from a plan to what a device shows, by hand: factors that ship, intervals, and whether it fits.
 */
#include "check.h"
#include "memory/estimate.h"

#define MB	1048576.0

static const pm_gpu rtx3090 = {.name = "RTX 3090",.memory_gb = 24,.sm_count = 82};

static pm_memory_factors
factors(const char *gpu, double sm_count, const char *framework, pm_dtype dtype)
{
	const pm_gpu card = {.name = gpu,.memory_gb = 24,.sm_count = sm_count,.is_cpu = strcmp(gpu, "CPU") == 0};
	const pm_question q = {.gpu = &card,.batch = 1,.dtype = dtype,.framework = framework};
	pm_memory_factors f;

	pm_memory_shipped_factors(&q, &f);
	return f;
}

/* Context: medians of what was measured with PyTorch 1 (SchedTune) and 2 (an H200); else a line through the three cards over 46 to 82 multiprocessors. */
static void
test_context(void)
{
	static const struct
	{
		const char *gpu;
		double		sm_count;
		const char *framework;
		double		context_mb;
		bool		measured;
	}			cases[] = {
		{"V100-SXM2-32GB", 80, "pytorch 1.10", 1240, true}, {"RTX 3090", 82, "pytorch 1.12", 1310, true}, {"RTX 3070", 46, "pytorch 1.13 cu117", 1170, true},
		{"H200", 132, "pytorch 2.11", 925, true}, {"H200", 132, NULL, 925, true}, {"H200", 132, "pytorch", 925, true},
		/* the same chip, that was not measured; another PyTorch on a measured card */
		{"H100-SXM5-80GB", 132, "pytorch 2.3", 925, false}, {"GH200", 132, NULL, 925, false}, {"RTX 3090", 82, "pytorch 2.1", 1310, false}, {"RTX 3090 Ti", 84, "pytorch 1.12", 1000 + 3.5 * 84, false},
		{"H200", 132, "pytorch 1.13", 1000 + 3.5 * 132, false}, {"RTX 3090", 82, "tensorflow 2", 1310, false},
		/* others: at most of 256 multiprocessors; and where they are not known */
		{"T4", 40, "pytorch 1.12", 1140, false}, {"MI", 1000, NULL, 1896, false}, {"odd", NAN, NULL, 1240, false}
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		pm_memory_factors f = factors(cases[i].gpu, cases[i].sm_count, cases[i].framework, PM_FP32);

		CHECK_EQ(f.context_mb, cases[i].context_mb);
		CHECK_EQ(f.measured, cases[i].measured);
		CHECK(f.factor == 1 && f.workspace == 1);
	}
}

/* Spreads of the devices that were measured, and of others; the centre of p_fits is that of timm's brackets, 1 % higher before PyTorch 1.11. */
static void
test_spreads(void)
{
	pm_memory_factors f = factors("RTX 3090", 82, "pytorch 1.12", PM_FP32);

	CHECK(f.spread == 0.04 && f.context_spread_mb == 120 && f.fit_spread == 0.02 && f.need_factor == 1.005);
	CHECK_EQ(factors("RTX 3090", 82, "pytorch 1.12", PM_TF32).spread, 0.04);
	CHECK_EQ(factors("RTX 3090", 82, "pytorch 1.12", PM_AMP).spread, 0.05);
	CHECK_EQ(factors("H200", 132, "pytorch 2.11", PM_AMP).spread, 0.075);
	CHECK_EQ(factors("RTX 3090", 82, "pytorch 1.10", PM_AMP).need_factor, 1.015);
	CHECK_EQ(factors("RTX 3090", 82, "pytorch 1.11", PM_AMP).need_factor, 1.005);
	f = factors("T4", 40, "pytorch 2.1", PM_FP32);
	CHECK(f.spread == 0.07 && f.context_spread_mb == 500 && f.fit_spread == 0.04 && f.need_factor == 1.005);
	/* oneDNN copies data, kernel and result */
	f = factors("CPU", 1, "pytorch 2.1", PM_FP32);
	CHECK(f.context_mb == 0 && f.factor == 1 && f.workspace == 3.75 && f.measured);
	CHECK(f.spread == 0.13 && f.context_spread_mb == 10 && f.fit_spread == 0.1 && f.need_factor == 1.03);
}

/* The driver keeps 308 of 24,576 MB of an RTX 3090; error correction takes a sixteenth of some cards besides. */
static void
test_capacity(void)
{
	pm_gpu		card = rtx3090;

	CHECK_NEAR(pm_memory_capacity_mb(&card), 24268, 1);
	for (int i = 0; i < 7; i++)
	{
		card.name = (const char *const[]) {"T4", "A10", "A10G", "L4", "L40", "L40S", "A40"}[i];
		CHECK_NEAR(pm_memory_capacity_mb(&card), 24576 * 0.93, 1e-9);
	}
	card.name = "A100";
	CHECK_NEAR(pm_memory_capacity_mb(&card), 24268, 1);
}

/* A step that takes 600 MB besides 10 MB a sample, live; a tenth more is reserved, and a third of it is weights, gradients and states. */
static pm_memory_plan
plan_of(void)
{
	pm_memory_plan p = {.weights = 200 * MB,.gradients = 200 * MB,.optimizer = 200 * MB,.asked.n_lines = 1};

	p.asked.lines[0].fixed = 600 * MB;
	p.asked.lines[0].per = 10 * MB;
	for (int i = 0; i < PM_N_MEMORY_ANCHORS; i++)
		p.asked.reserved[i] = 1.1 * (600 + 10.0 * pm_memory_anchors[i]) * MB;
	return p;
}

static double
logistic(double x)
{
	return 1 / (1 + exp(-x));
}

static const pm_memory_factors known = {
	.context_mb = 1000,.factor = 1.2,.workspace = 1,.need_factor = 1.05,.spread = 0.08,.context_spread_mb = 90,.fit_spread = 0.03
};

static void
test_estimate(void)
{
	const pm_memory_plan plan = plan_of();
	pm_question q = {.gpu = &rtx3090,.batch = 64};
	pm_memory_estimate e;
	const double live = 600 + 640;
	const double reserved = 1.1 * live;
	/* nine of ten of a logistic distribution lie within ln 19 scales; its deviation is pi / sqrt(3) scales */
	const double reach = log(19) * sqrt(3) / M_PI * sqrt(pow(0.08 * 1.2 * reserved, 2) + 90 * 90);
	const double need = 1.05 * (live + reserved) / 2;

	pm_memory_estimate_at(&plan, &q, &known, 0.9, &e);
	CHECK_NEAR(e.peak_mb, 1000 + 1.2 * reserved, 1e-6);
	CHECK_NEAR(e.low_mb, e.peak_mb - reach, 1e-6);
	CHECK_NEAR(e.high_mb, e.peak_mb + reach, 1e-6);
	CHECK_NEAR(e.activations_mb, 1.2 * reserved - 600, 1e-6);
	CHECK_NEAR(e.need_mb, 1000 + need, 1e-6);
	CHECK_NEAR(e.p_fits, 0.99 * logistic(log((pm_memory_capacity_mb(&rtx3090) - 1000) / need) / 0.03), 1e-12);
	/* about as much as there is: of a hundred answers one is wrong whatever the margin */
	q.batch = 2100;
	pm_memory_estimate_at(&plan, &q, &known, 0.9, &e);
	CHECK(e.p_fits > 0.1 && e.p_fits < 0.9);
	CHECK_NEAR(e.p_fits, 0.99 * logistic(log((pm_memory_capacity_mb(&rtx3090) - 1000) / (1.05 * 1.05 * (600 + 21000.0))) / 0.03), 1e-9);
}

/* The context alone is more than the device has. */
static void
test_no_room(void)
{
	const pm_memory_plan plan = plan_of();
	const pm_gpu tiny = {.name = "tiny",.memory_gb = 1,.sm_count = 10};
	const pm_question q = {.gpu = &tiny,.batch = 1};
	pm_memory_factors f = known;
	pm_memory_estimate e;

	f.context_mb = 1024;
	pm_memory_estimate_at(&plan, &q, &f, 0.9, &e);
	CHECK_EQ(e.p_fits, 0);
}

/* The largest batch with this probability; the most that is asked for, if that fits. */
static void
test_max_batch(void)
{
	const pm_memory_plan plan = plan_of();
	pm_question q = {.gpu = &rtx3090};
	pm_memory_estimate e;
	int64_t		most = pm_memory_max_batch(&plan, &q, &known, 0.5, 1000000);

	/* logistic(x) = 0.5 / 0.99 at x = ln(0.5 / 0.49); need * exp(0.03 x) is then what there is */
	CHECK_EQ(most, (int64_t) floor(((pm_memory_capacity_mb(&rtx3090) - 1000) / exp(0.03 * log(0.5 / 0.49)) / (1.05 * 1.05) - 600) / 10));
	CHECK_EQ(pm_memory_max_batch(&plan, &q, &known, 0.5, 100), 100);
	/* exactly as likely as asked for */
	q.batch = most;
	pm_memory_estimate_at(&plan, &q, &known, 0.9, &e);
	CHECK_EQ(pm_memory_max_batch(&plan, &q, &known, e.p_fits, 1000000), most);
}

/* Two steps: either needs the least that it runs with while the other holds its peak, and both are sure by 0.99. */
static void
test_together(void)
{
	pm_memory_share a = {.f = known};
	pm_memory_share b = {.f = known};
	const pm_memory_plan plan = plan_of();
	const pm_question q = {.gpu = &rtx3090,.batch = 900};
	const pm_question r = {.gpu = &rtx3090,.batch = 800};
	const double room = 24000 - 2000;
	const double scale = 0.08 * sqrt(3) / M_PI;
	double		need[2];
	double		peak[2];
	double		p[2];

	pm_memory_estimate_at(&plan, &q, &known, 0.9, &a.e);
	pm_memory_estimate_at(&plan, &r, &known, 0.9, &b.e);
	need[0] = a.e.need_mb - 1000;
	need[1] = b.e.need_mb - 1000;
	peak[0] = a.e.peak_mb - 1000;
	peak[1] = b.e.peak_mb - 1000;
	for (int i = 0; i < 2; i++)
	{
		double		both = need[i] + peak[1 - i];

		p[i] = 0.99 * 0.99 * logistic(log(room / both) / ((0.03 * need[i] + scale * peak[1 - i]) / both));
	}
	CHECK(p[0] != p[1] && p[0] > 0.05 && p[0] < 0.95);
	CHECK_NEAR(pm_memory_fit_together(&a, &b, 24000), fmin(p[0], p[1]), 1e-12);
	CHECK_NEAR(pm_memory_fit_together(&b, &a, 24000), fmin(p[0], p[1]), 1e-12);
	CHECK_EQ(pm_memory_fit_together(&a, &b, 2000), 0);
	CHECK(isnan(pm_memory_fit_together(&a, &b, NAN)));
}

/* The same framework says most, then the format, then one of the same width, then how many networks there are. */
static void
test_nearness(void)
{
	const pm_question q = {.gpu = &rtx3090,.dtype = PM_FP32,.framework = "pytorch 2.1"};
	const int	order[] = {
		pm_memory_nearness(&q, "pytorch 2.1", PM_FP32, 1), pm_memory_nearness(&q, "pytorch 2.1", PM_TF32, 2000000), pm_memory_nearness(&q, "pytorch 2.1", PM_AMP, 9),
		pm_memory_nearness(&q, "pytorch 2.1", PM_AMP, 1), pm_memory_nearness(&q, "pytorch 2.0", PM_FP32, 2000000), pm_memory_nearness(&q, "pytorch 2.0", PM_TF32, 9)
	};

	for (size_t i = 1; i < sizeof(order) / sizeof(order[0]); i++)
		CHECK(order[i - 1] > order[i]);
}

/* What PyTorch before 1.11 and before 2.0 did otherwise; where no version is said it is 2. */
static void
test_versions(void)
{
	static const struct
	{
		const char *framework;
		bool		fused,
					keeps_input,
					gradients_stay;
	}			cases[] = {
		{"pytorch 1.10", false, true, true}, {"pytorch 1.11", false, false, true}, {"pytorch 1.13", false, false, true}, {"torch 2.0", true, false, false},
		{"pytorch", true, false, false}, {NULL, true, false, false}, {"tensorflow 1.0", true, false, false}
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const pm_question q = {.gpu = &rtx3090,.framework = cases[i].framework};
		pm_step_options o;

		pm_memory_step_options(&q, false, &o);
		CHECK(o.fused_attention == cases[i].fused && o.softmax_keeps_input == cases[i].keeps_input && o.gradients_stay == cases[i].gradients_stay);
	}
}

int
main(void)
{
	test_context();
	test_spreads();
	test_capacity();
	test_estimate();
	test_no_room();
	test_max_batch();
	test_together();
	test_nearness();
	test_versions();
	return check_done("memory_estimate");
}
