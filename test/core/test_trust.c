/*
 * test_trust.c - intervals hold what they promise, repeated measurements do
 * not count as evidence, and questions unlike the training rows are noticed.
 */
#include "check.h"
#include "make_graph.h"
#include "features/split.h"
#include "predictor/cross.h"

static pm_arena arena;

static double
some_time(const pm_tokens *t)
{
	return 2 * t->total_roofline_us / 1000 + 1;
}

/* Cross predictions that make the residual of row i u[i]. */
static double *
crossed_of(const pm_dataset *d, const double *u)
{
	double	   *ms = PM_NEW(&arena, double, d->n);

	for (int i = 0; i < d->n; i++)
		ms[i] = d->samples[i].step_ms / exp(u[i]);
	return ms;
}

static const pm_trust *
fit(const pm_dataset *d, const double *cross)
{
	pm_crossed	crossed = {.ms = cross};
	const pm_trust *t;
	pm_status	st;

	if (pm_trust_fit(d, &crossed, cross != NULL, NULL, &arena, &t, &st) != PM_OK)
		make_failed("trust", &st);
	return t;
}

static pm_verdict
judge(const pm_trust *t, const pm_sample *s, double level)
{
	pm_arena	scratch;
	pm_verdict	v;
	pm_status	st;

	pm_arena_init_malloc(&scratch);
	if (pm_trust_judge(t, s, 1, level, &scratch, &v, &st) != PM_OK)
		make_failed("verdict", &st);
	pm_arena_release(&scratch);
	return v;
}

static int
by_value(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static double
normal(pm_rng *r)
{
	return sqrt(-2 * log(1 - pm_rng_uniform(r))) * cos(2 * M_PI * pm_rng_uniform(r));
}

/* Probability that a standard normal residual of this scale falls into the interval about 1. */
static double
normal_inside(const pm_verdict *v, double sigma)
{
	return 0.5 * (erf(log(v->high_ms) / sigma / M_SQRT2) - erf(log(v->low_ms) / sigma / M_SQRT2));
}

/* ---------- intervals ---------- */

/* 99 structures with residuals -0.49 ... 0.49: the ranks that (m + 1) asks for. */
static void
test_ranks(void)
{
	pm_dataset	d = make_dataset(99, 1, true, some_time, &arena);
	double		u[99];
	const pm_trust *t;
	pm_verdict	v;

	for (int i = 0; i < 99; i++)
		u[i] = ((i * 37) % 99 - 49) / 100.0;
	t = fit(&d, crossed_of(&d, u));
	CHECK(pm_trust_calibrated(t));
	v = judge(t, &d.samples[5], 0.9);
	CHECK(v.in_domain && v.reason[0] == '\0');
	CHECK_NEAR(log(v.high_ms), 0.45, 1e-12);	/* the 95th of 99 */
	CHECK_NEAR(log(v.low_ms), -0.45, 1e-12);
	v = judge(t, &d.samples[5], 0.8);
	CHECK_NEAR(log(v.high_ms), 0.40, 1e-12);
	v = judge(t, &d.samples[5], 0.5);
	CHECK_NEAR(log(v.high_ms), 0.25, 1e-12);
	v = judge(t, &d.samples[5], 0.98);			/* the last that there is */
	CHECK_NEAR(log(v.high_ms), 0.49, 1e-12);
	CHECK_NEAR(log(v.low_ms), -0.49, 1e-12);
	v = judge(t, &d.samples[5], 0.99);			/* and beyond, stretched */
	CHECK_NEAR(log(v.high_ms), 0.49 * log(200) / log(100), 1e-12);
	CHECK_NEAR(log(v.low_ms), -0.49 * log(200) / log(100), 1e-12);
}

/* A structure that was measured a hundred times counts as one. */
static void
test_repeated_structure(void)
{
	pm_dataset	d = make_dataset(99, 1, true, some_time, &arena);
	pm_dataset	more = {.n = 198, .samples = PM_NEW(&arena, pm_sample, 198)};
	double		u[198];
	pm_verdict	v;

	for (int i = 0; i < 99; i++)
	{
		u[i] = (i - 49) / 100.0;
		more.samples[i] = d.samples[i];
		more.samples[99 + i] = d.samples[98];	/* whose residual is the largest */
		u[99 + i] = 0.49;
	}
	v = judge(fit(&more, crossed_of(&more, u)), &d.samples[5], 0.9);
	CHECK_NEAR(log(v.high_ms), 0.45, 1e-12);
	CHECK_NEAR(log(v.low_ms), -0.45, 1e-12);
}

/* Over many calibrations the mean coverage is the level, as the theory of exchangeable residuals has it. */
static void
test_coverage(void)
{
	pm_dataset	d = make_dataset(59, 1, true, some_time, &arena);
	double		u[59];
	double		sum90 = 0;
	double		sum80 = 0;
	pm_rng		rng;

	pm_rng_seed(&rng, 7);
	for (int trial = 0; trial < 300; trial++)
	{
		const pm_trust *t;
		pm_verdict	v;

		for (int i = 0; i < 59; i++)
			u[i] = 0.1 * normal(&rng);
		t = fit(&d, crossed_of(&d, u));
		v = judge(t, &d.samples[0], 0.9);
		sum90 += normal_inside(&v, 0.1);
		v = judge(t, &d.samples[0], 0.8);
		sum80 += normal_inside(&v, 0.1);
	}
	CHECK_NEAR(sum90 / 300, 0.9, 0.008);
	CHECK_NEAR(sum80 / 300, 0.8, 0.010);
}

/* Rows of a structure that share their residual: rows counted one by one would promise too much. */
static void
test_clustered_coverage(void)
{
	pm_dataset	d = make_dataset(29, 6, true, some_time, &arena);
	double		u[29 * 6];
	double		sum = 0;
	pm_rng		rng;

	pm_rng_seed(&rng, 8);
	for (int trial = 0; trial < 200; trial++)
	{
		pm_verdict	v;

		for (int i = 0; i < d.n; i++)
			u[i] = i % 6 == 0 ? 0.1 * normal(&rng) : u[i - 1];
		v = judge(fit(&d, crossed_of(&d, u)), &d.samples[0], 0.8);
		sum += normal_inside(&v, 0.1);
	}
	CHECK_NEAR(sum / 200, 0.8, 0.015);
}

static void
test_few(void)
{
	pm_dataset	d = make_dataset(12, 5, true, some_time, &arena);
	pm_dataset	fewer = {.n = 45, .samples = d.samples};
	double		u[60];
	double		last = 0;
	const pm_trust *t;

	for (int i = 0; i < 60; i++)
		u[i] = 0.01 * (i / 5 - 3);
	t = fit(&d, crossed_of(&d, u));
	for (double level = 0.5; level <= 0.999; level += 0.0499)
	{
		pm_verdict	v = judge(t, &d.samples[0], level);

		CHECK(v.low_ms > 0 && v.low_ms <= 1 && v.high_ms >= 1 && isfinite(v.high_ms));
		CHECK(v.high_ms - v.low_ms >= last);
		last = v.high_ms - v.low_ms;
	}
	CHECK(log(judge(t, &d.samples[0], 0.999).high_ms) > 0.08 * 2);
	/* nine structures are too few for any */
	t = fit(&fewer, crossed_of(&fewer, u));
	CHECK(!pm_trust_calibrated(t));
	CHECK(isnan(judge(t, &d.samples[0], 0.9).low_ms) && isnan(judge(t, &d.samples[0], 0.9).high_ms));
	CHECK(judge(t, &d.samples[0], 0.9).in_domain);
	t = fit(&d, NULL);
	CHECK(!pm_trust_calibrated(t) && isnan(judge(t, &d.samples[0], 0.9).high_ms));
	/* rows that no model could predict are left out */
	for (int i = 0; i < 60; i++)
		u[i] = i < 15 ? NAN : u[i];
	CHECK(!pm_trust_calibrated(fit(&d, crossed_of(&d, u))));
}

/* Predictions all too low or too high: the prediction itself stays inside. */
static void
test_one_sided(void)
{
	pm_dataset	d = make_dataset(40, 1, true, some_time, &arena);
	double		u[40];

	for (int sign = -1; sign <= 1; sign += 2)
	{
		pm_verdict	v;

		for (int i = 0; i < 40; i++)
			u[i] = sign * (0.5 + 0.01 * i);
		v = judge(fit(&d, crossed_of(&d, u)), &d.samples[3], 0.9);
		CHECK_EQ(sign > 0 ? v.low_ms : v.high_ms, 1);
		CHECK(sign > 0 ? v.high_ms > 2 : v.low_ms < 0.5);
	}
	/* and ends that no number can hold are held */
	for (int i = 0; i < 40; i++)
		u[i] = i % 2 ? 400 : -400;
	for (int i = 0; i < 2; i++)
	{
		pm_sample	s = d.samples[0];
		pm_verdict	v;

		s.query.batch = i == 0 ? 2 : 1000;		/* out of the domain twice as far */
		v = judge(fit(&d, crossed_of(&d, u)), &s, 0.999);
		CHECK(v.low_ms > 0 && isfinite(v.high_ms) && v.low_ms <= 1 && v.high_ms >= 1);
	}
}

/* Each device and layout has residuals of its own where there are enough of them. */
static void
test_groups(void)
{
	pm_dataset	d = make_dataset(60, 4, true, some_time, &arena);
	pm_gpu		other = test_gpu;
	pm_gpu		third = test_gpu;
	double		u[240];
	pm_sample	s;
	const pm_trust *t;

	other.name = "Other";
	third.name = "Third";
	for (int i = 0; i < d.n; i++)
	{
		pm_question   *q = &d.samples[i].query;

		/* nchw on one, both layouts on the other but little nhwc, nearly nothing on a third */
		q->gpu = i % 4 < 2 ? &test_gpu : i % 4 == 2 ? &other : i < 40 ? &third : &other;
		q->layout = i % 4 == 3 && i >= 200 ? PM_NHWC : PM_NCHW;
		u[i] = (q->gpu == &test_gpu ? 0.01 : q->layout == PM_NHWC ? 1.0 : 0.1) * ((i / 4) % 2 ? 1 : -1);
	}
	t = fit(&d, crossed_of(&d, u));
	s = d.samples[0];
	CHECK_NEAR(log(judge(t, &s, 0.9).high_ms), 0.01, 1e-9);
	s.query.gpu = &other;
	s.query.batch = 8;
	CHECK_NEAR(log(judge(t, &s, 0.9).high_ms), 0.1, 1e-9);
	s.query.layout = PM_NHWC;	/* ten rows of it: those of the device serve */
	CHECK(log(judge(t, &s, 0.5).high_ms) < 0.11);
	CHECK_NEAR(log(judge(t, &s, 0.99).high_ms) > 0.9, 1, 0);
	s.query.gpu = &third;		/* those of all devices serve */
	s.query.layout = PM_NCHW;
	CHECK_NEAR(log(judge(t, &s, 0.5).high_ms), 0.1, 0.091);
	CHECK(judge(t, &s, 0.9).in_domain);
}

/* Thousands of residuals are kept as a few hundred points: never narrower, and hardly wider. */
/* Devices of few rows share a group of their own, whatever there is of others; fewer than five networks are no domain. */
static void
test_small_devices(void)
{
	pm_dataset	d = make_dataset(60, 4, true, some_time, &arena);
	pm_gpu		small[3] = {test_gpu, test_gpu, test_gpu};
	const char *names[] = {"Small A", "Small B", "Small C"};
	double		u[240];
	pm_sample	s = d.samples[0];
	const pm_trust *t;
	pm_verdict	v;

	for (int k = 0; k < 3; k++)
		small[k].name = names[k];
	for (int i = 0; i < d.n; i++)
	{
		int			k = i / 4 < 18 ? i / 4 % 3 : -1;	/* six networks each, but for the last: four */

		if (k == 2 && i / 4 > 12)
			k = -1;
		d.samples[i].query.gpu = k < 0 ? &test_gpu : &small[k];
		u[i] = (k < 0 ? 0.01 : 0.5) * ((i / 4) % 2 ? 1 : -1);
	}
	t = fit(&d, crossed_of(&d, u));
	for (int k = 0; k < 3; k++)
	{
		s.query.gpu = &small[k];
		v = judge(t, &s, 0.8);
		CHECK_NEAR(log(v.high_ms), k == 2 ? 1.0 : 0.5, 1e-9);
		CHECK_EQ(v.in_domain, k != 2);
	}
	CHECK_HAS(v.reason, "gpu \"Small C\" was in training with no more than 4 networks");
	s.query.gpu = &test_gpu;
	CHECK_NEAR(log(judge(t, &s, 0.8).high_ms), 0.01, 1e-9);
}

static void
test_compression(void)
{
	enum { N = 140, EACH = 20 };	/* networks that all differ */
	pm_dataset	d = make_dataset(N, EACH, true, some_time, &arena);
	double	   *u = PM_NEW(&arena, double, N * EACH);
	double	   *sorted = PM_NEW(&arena, double, N * EACH);
	const pm_trust *t;
	pm_rng		rng;

	pm_rng_seed(&rng, 9);
	for (int i = 0; i < N * EACH; i++)
		sorted[i] = u[i] = 0.1 * normal(&rng) * (1 + i % EACH / 2);
	t = fit(&d, crossed_of(&d, u));
	qsort(sorted, N * EACH, sizeof(double), by_value);
	for (double level = 0.5; level < 0.99; level += 0.0731)
	{
		pm_verdict	v = judge(t, &d.samples[0], level);
		double		allowed = ((1 - level) / 2 * (N + 1) - 1) * EACH;	/* rows of equal weight beyond */
		double		high = sorted[N * EACH - 1 - (int) floor(allowed + 1e-9)];
		double		low = sorted[(int) floor(allowed + 1e-9)];

		CHECK(log(v.high_ms) >= high - 1e-12 && log(v.high_ms) < high + 0.03 * fabs(high) + 0.01);
		CHECK(log(v.low_ms) <= low + 1e-12 && log(v.low_ms) > low - 0.03 * fabs(low) - 0.01);
	}
}

static void
test_levels(void)
{
	static const double bad[] = {0.4999, 0.9991, 0, 1, -1, 90, NAN, INFINITY};
	pm_dataset	d = make_dataset(12, 1, true, some_time, &arena);
	const pm_trust *t = fit(&d, NULL);
	pm_verdict	v;
	pm_status	st;

	for (int i = 0; i < 8; i++)
	{
		CHECK_EQ(pm_trust_judge(t, &d.samples[0], 1, bad[i], &arena, &v, &st), PM_ERR_OPTION);
		CHECK_HAS(st.message, "level must be between 0.5 and 0.999");
	}
	CHECK_EQ(pm_trust_judge(t, &d.samples[0], 1, 0.5, &arena, &v, &st), PM_OK);
	CHECK_EQ(pm_trust_judge(t, &d.samples[0], 1, 0.999, &arena, &v, &st), PM_OK);
	d.samples[0].query.batch = 0;
	CHECK_EQ(pm_trust_judge(t, &d.samples[0], 1, 0.9, &arena, &v, &st), PM_ERR_INPUT);
}

/* ---------- domain ---------- */

static void
check_outside(const pm_trust *t, const pm_sample *s, pm_cause cause, const char *reason)
{
	pm_verdict	v = judge(t, s, 0.9);

	CHECK(!v.in_domain);
	CHECK(v.causes & 1u << cause);
	CHECK_HAS(v.reason, reason);
}

/* A device known in fp32 at large batches and in tf32 at small ones and of few networks: each format has its own domain. */
static void
test_formats(void)
{
	pm_dataset	d = make_dataset(20, 4, true, some_time, &arena);	/* batches 2 4 8 16 */
	pm_sample	s = d.samples[9];
	pm_gpu		other = test_gpu;
	const pm_trust *t;

	for (int i = 0; i < d.n; i++)
		d.samples[i].query.dtype = i < 3 * 4 && d.samples[i].query.batch <= 4 ? PM_TF32 : PM_FP32;
	t = fit(&d, NULL);
	s.query.batch = 16;
	s.query.dtype = PM_FP32;
	CHECK(judge(t, &s, 0.9).in_domain);
	s.query.dtype = PM_TF32;
	check_outside(t, &s, PM_CAUSE_DTYPE_SELDOM_SEEN, "dtype tf32 was in training on gpu \"Test 1000\" with no more than");
	check_outside(t, &s, PM_CAUSE_BATCH_ABOVE, "batch 16 is above 4, the largest in training with dtype tf32");
	/* formats that no row had are answered in one that runs on the same units */
	CHECK_EQ(pm_trust_format(t, s.query.gpu, PM_TF32), PM_TF32);
	CHECK_EQ(pm_trust_format(t, s.query.gpu, PM_FP32), PM_FP32);
	CHECK_EQ(pm_trust_format(t, s.query.gpu, PM_BF16), PM_AMP);
	CHECK_EQ(pm_trust_format(t, s.query.gpu, PM_AMP), PM_AMP);
	other.name = "Other";
	other.compute_capability = 7.5;
	CHECK_EQ(pm_trust_format(t, &other, PM_BF16), PM_FP32);
	CHECK_EQ(pm_trust_format(t, &other, PM_FP16), PM_AMP);
	CHECK_EQ(pm_trust_format(t, &other, PM_TF32), PM_TF32);
	other.compute_capability = 8.6;
	other.fp16_tensor_tflops = 2 * other.fp32_tflops;
	CHECK_EQ(pm_trust_format(t, &other, PM_TF32), PM_FP32);
	CHECK_EQ(pm_trust_format(t, &other, PM_FP32), PM_FP32);
	CHECK_EQ(pm_trust_format(NULL, &other, PM_BF16), PM_BF16);
}

static void
test_words(void)
{
	pm_dataset	d = make_dataset(20, 4, true, some_time, &arena);	/* batches 2 4 8 16 */
	const pm_trust *t = fit(&d, NULL);
	pm_gpu		other = test_gpu;
	pm_sample	s = d.samples[9];

	CHECK(judge(t, &s, 0.9).in_domain);
	other.name = "Other";
	s.query.gpu = &other;
	check_outside(t, &s, PM_CAUSE_GPU_NOT_SEEN, "gpu \"Other\" was not in training");
	s = d.samples[9];
	s.query.layout = PM_NHWC;
	check_outside(t, &s, PM_CAUSE_LAYOUT_NOT_SEEN, "layout nhwc was not in training on gpu \"Test 1000\"");
	s = d.samples[9];
	s.query.dtype = PM_AMP;
	check_outside(t, &s, PM_CAUSE_DTYPE_NOT_SEEN, "dtype amp with layout nchw was not in training on gpu \"Test 1000\"");
	/* of the optimizers, the one that all rows have */
	for (int optimizer = 0; optimizer < PM_N_OPTIMIZERS; optimizer++)
	{
		char		reason[64];

		s = d.samples[9];
		s.query.optimizer = (pm_optimizer) optimizer;
		snprintf(reason, sizeof(reason), "optimizer \"%s\" was not in training", pm_optimizer_name[optimizer]);
		if (optimizer == PM_SGD)
			CHECK(judge(t, &s, 0.9).in_domain);
		else
			check_outside(t, &s, PM_CAUSE_OPTIMIZER_NOT_SEEN, reason);
	}
	s = d.samples[9];
	s.query.batch = 32;
	CHECK(judge(t, &s, 0.9).in_domain);
	s.query.batch = 33;
	check_outside(t, &s, PM_CAUSE_BATCH_ABOVE, "batch 33 is above 16, the largest in training");
	s.query.batch = 1;
	CHECK(judge(t, &s, 0.9).in_domain);
	/* a framework is a remark and no more; none is not one */
	s = d.samples[9];
	s.query.framework = "other 1";
	CHECK(judge(t, &s, 0.9).in_domain);
	CHECK_HAS(judge(t, &s, 0.9).reason, "framework \"other 1\" was not in training");
	CHECK_EQ(judge(t, &s, 0.9).causes, 1u << PM_CAUSE_FRAMEWORK_NOT_SEEN);
	s.query.framework = NULL;
	CHECK(judge(t, &s, 0.9).in_domain && judge(t, &s, 0.9).reason[0] == '\0' && judge(t, &s, 0.9).causes == 0);
	for (int cause = 0; cause < PM_N_CAUSES; cause++)
		CHECK(pm_cause_name[cause] != NULL);
	for (int i = 0; i < d.n; i++)
		d.samples[i].query.batch = 64;
	t = fit(&d, NULL);
	s = d.samples[9];
	s.query.batch = 32;
	CHECK(judge(t, &s, 0.9).in_domain);
	s.query.batch = 31;
	check_outside(t, &s, PM_CAUSE_BATCH_BELOW, "batch 31 is below 64, the smallest in training");
}

/* A chain of convolutions with an operator in between. */
static pm_sample
odd_sample(const char *op, int width, int kernel, int side)
{
	graph_text	t;
	int			x;
	const pm_graph *g;

	text_start(&t, "odd", "odd");
	x = net_input(&t, 3, side);
	x = net_conv(&t, x, 3, width, side, kernel, 1);
	x = net_norm(&t, x, width, side);
	if (op != NULL)
		x = net_unary(&t, op, x, width, side);
	net_classifier(&t, x, width, 10 * width);
	g = text_finish(&t, &arena);
	return make_sample(g, make_skeleton(g, true, &arena), 4, 0);
}

static void
test_operators(void)
{
	pm_dataset	d = make_dataset(35, 4, true, some_time, &arena);	/* widths 8 to 32, sides 16 to 48, kernels 1 and 3 */
	pm_dataset	more = {.n = d.n + 1, .samples = PM_NEW(&arena, pm_sample, d.n + 1)};
	const pm_trust *t = fit(&d, NULL);
	pm_sample	s = odd_sample(NULL, 16, 3, 32);

	CHECK(judge(t, &s, 0.9).in_domain);
	s = odd_sample("Relu", 18, 3, 32);
	CHECK(judge(t, &s, 0.9).in_domain);
	s = odd_sample("aten::roll", 16, 3, 32);
	check_outside(t, &s, PM_CAUSE_OPERATORS_NOT_SEEN, "operators not in training, such as aten::roll (");
	CHECK_HAS(judge(t, &s, 0.9).reason, "% of roofline time)");
	s = odd_sample("Softmax", 16, 3, 32);
	check_outside(t, &s, PM_CAUSE_OPERATORS_NOT_SEEN, "such as Softmax (");
	s = odd_sample("Relu", 16, 11, 32);
	check_outside(t, &s, PM_CAUSE_OPERATOR_SIZES_NOT_SEEN, "operators of sizes not in training, such as Conv/kxk (");
	s = odd_sample("Relu", 128, 3, 32);
	check_outside(t, &s, PM_CAUSE_OPERATOR_SIZES_NOT_SEEN, "operators of sizes not in training");
	s = odd_sample("Relu", 16, 3, 1000);
	check_outside(t, &s, PM_CAUSE_STEP_ABOVE, "times as much work as the largest in training");
	/* an unknown operator that was in training is no stranger, another one is */
	memcpy(more.samples, d.samples, d.n * sizeof(pm_sample));
	more.samples[d.n] = odd_sample("aten::roll", 16, 3, 32);
	t = fit(&more, NULL);
	s = odd_sample("aten::roll", 16, 3, 32);
	CHECK(judge(t, &s, 0.9).in_domain);
	s = odd_sample("aten::rot90", 16, 3, 32);
	check_outside(t, &s, PM_CAUSE_OPERATORS_NOT_SEEN, "such as aten::rot90 (");
}

/* Batches are no sizes of operators: a network known in one is known in others. */
static void
test_batches_are_no_sizes(void)
{
	pm_dataset	d = make_dataset(30, 6, true, some_time, &arena);	/* batches 2 to 64 */
	pm_dataset	half = {.samples = PM_NEW(&arena, pm_sample, d.n)};
	int			outside = 0;
	const pm_trust *t;

	for (int i = 0; i < d.n; i++)
		if ((i / 6 % 2 == 0) == (d.samples[i].query.batch < 16))
			half.samples[half.n++] = d.samples[i];
	t = fit(&half, NULL);
	for (int i = 0; i < d.n; i++)
		outside += !judge(t, &d.samples[i], 0.9).in_domain;
	CHECK_EQ(outside, 0);
}

static void
test_doubled(void)
{
	pm_dataset	d = make_dataset(40, 1, true, some_time, &arena);
	double		u[40];
	const pm_trust *t;
	pm_sample	s = d.samples[3];
	pm_verdict	in;
	pm_verdict	out;

	for (int i = 0; i < 40; i++)
		u[i] = 0.01 * (i - 15);
	t = fit(&d, crossed_of(&d, u));
	in = judge(t, &s, 0.9);
	s.query.dtype = PM_FP16;
	out = judge(t, &s, 0.9);
	CHECK(in.in_domain && !out.in_domain);
	CHECK_NEAR(log(out.high_ms), 2 * log(in.high_ms), 1e-12);
	CHECK_NEAR(log(out.low_ms), 2 * log(in.low_ms), 1e-12);
}

/* ---------- distance ---------- */

static double
distance_of(const pm_domain *t, const pm_sample *s)
{
	double		distance;
	pm_status	st;

	if (pm_domain_distance(t, s, &arena, &distance, &st) != PM_OK)
		make_failed("distance", &st);
	return distance;
}

/* What was in training is at no distance; other sizes are, and other operators, and both more so. */
static void
test_distances(void)
{
	pm_dataset	d = make_dataset(35, 2, true, some_time, &arena);
	pm_sample	known = odd_sample("Relu", 16, 3, 32);
	pm_sample	wider = odd_sample("Relu", 128, 3, 32);
	pm_sample	other = odd_sample("aten::roll", 16, 3, 32);
	pm_sample	both = odd_sample("aten::roll", 128, 3, 32);
	const pm_domain *t;
	double		far;

	CHECK(pm_domain_fit(&d, NULL, NULL, &arena, &t, NULL) == PM_OK);
	for (int i = 0; i < d.n; i++)
		CHECK(distance_of(t, &d.samples[i]) < 0.02);
	far = distance_of(t, &known);
	CHECK(far < 0.4);
	CHECK(distance_of(t, &wider) > far + 0.3);
	CHECK(distance_of(t, &other) > far + 0.1);
	CHECK(distance_of(t, &both) > distance_of(t, &wider) && distance_of(t, &both) > distance_of(t, &other));
	CHECK(distance_of(t, &both) <= 3);
	far = distance_of(t, &wider);
	wider.query.batch = 100;
	CHECK_EQ(distance_of(t, &wider), far);
}

static double
growth(double slope, double distance)
{
	return 1 + slope * distance / (distance + 0.3);
}

/*
 * Residuals that grow with the distance, on two kinds of folds: intervals hold
 * near and far alike, and are as wide as it takes.
 */
static void
test_slope(void)
{
	enum { N = 60, TRIALS = 60 };
	const double slope = 5;
	pm_dataset	d = make_dataset(N, 1, true, some_time, &arena);
	const char *gpus[] = {"Test 1000"};
	double		inside[2] = {0};
	double		width[2] = {0};
	pm_rng		rng;

	pm_rng_seed(&rng, 11);
	for (int trial = 0; trial < TRIALS; trial++)
	{
		double		ms[2][N];
		double		distance[2][N];
		pm_crossed	crossed[2] = {{.ms = ms[0], .distance = distance[0]}, {.ms = ms[1], .distance = distance[1]}};
		const pm_intervals *t;

		for (int k = 0; k < 2; k++)
			for (int i = 0; i < N; i++)
			{
				distance[k][i] = k == 0 ? 0.1 * pm_rng_uniform(&rng) : 0.2 + 0.6 * pm_rng_uniform(&rng);
				ms[k][i] = d.samples[i].step_ms * exp(0.05 * growth(slope, distance[k][i]) * normal(&rng));
			}
		CHECK(pm_intervals_fit(&d, crossed, 2, gpus, 1, &arena, &t, NULL) == PM_OK);
		for (int k = 0; k < 2; k++)
		{
			double		at = k == 0 ? 0.05 : 0.5;
			pm_verdict	v;

			CHECK(pm_intervals_of(t, &d.samples[0].query, 1, at, 0.9, 1, &v.low_ms, &v.high_ms));
			inside[k] += normal_inside(&v, 0.05 * growth(slope, at)) / TRIALS;
			width[k] += log(v.high_ms / v.low_ms) / TRIALS;
		}
		CHECK(pm_intervals_reach(t, 0.5) && !pm_intervals_reach(t, 0.9));
	}
	CHECK_NEAR(inside[0], 0.9, 0.03);
	CHECK_NEAR(inside[1], 0.9, 0.03);
	CHECK_NEAR(width[1] / width[0], growth(slope, 0.5) / growth(slope, 0.05), 0.4);
}

/* A network farther than nearly all rows were is out of the domain; its interval is not doubled for that, but for other causes. */
static void
test_unlike(void)
{
	pm_dataset	d = make_dataset(60, 1, true, some_time, &arena);
	pm_sample	s = odd_sample("Relu", 30, 3, 32);
	double		u[60];
	double		distance[60];
	pm_crossed	crossed = {.distance = distance};
	const pm_trust *t;
	pm_verdict	v;
	double		high;

	for (int i = 0; i < 60; i++)
	{
		u[i] = 0.01 * (i - 30);
		distance[i] = i < 58 ? 1e-6 * i : 2;
	}
	crossed.ms = crossed_of(&d, u);
	CHECK(pm_trust_fit(&d, &crossed, 1, NULL, &arena, &t, NULL) == PM_OK);
	check_outside(t, &s, PM_CAUSE_NETWORK_UNLIKE, "the network is unlike all in training");
	CHECK_EQ(judge(t, &s, 0.9).causes, 1u << PM_CAUSE_NETWORK_UNLIKE);
	high = log(judge(t, &s, 0.9).high_ms);
	CHECK(high > log(judge(t, &d.samples[0], 0.9).high_ms));
	s.query.dtype = PM_FP16;
	v = judge(t, &s, 0.9);
	CHECK_NEAR(log(v.high_ms), 2 * high, 0.05);	/* the distance depends on the format a little */
	/* beyond what was calibrated on, doubled as well */
	distance[58] = distance[59] = 2e-5;
	CHECK(pm_trust_fit(&d, &crossed, 1, NULL, &arena, &t, NULL) == PM_OK);
	s.query.dtype = PM_FP32;
	high = log(judge(t, &d.samples[0], 0.9).high_ms);
	CHECK_NEAR(log(judge(t, &s, 0.9).high_ms), 2 * high, 0.1 * high);
}

/* ---------- with a predictor ---------- */

static pm_predictor
fitted(const char *kind, double folds, const pm_dataset *d, pm_fit_report *report)
{
	pm_predictor p = {.kind = pm_kind_find(kind)};
	pm_setting	setting = {.name = "calibration_folds", .number = folds};
	pm_status	st;

	if (pm_options_set(p.kind, &setting, folds < 0 ? 0 : 1, &p.options, &st) != PM_OK ||
		pm_predictor_fit(&p, d, 1, 1, NULL, &arena, report, &st) != PM_OK)
		make_failed("predictor", &st);
	return p;
}

/* Each row is predicted by what the rows of the other folds make. */
static void
test_cross_fit(const char *kind)
{
	pm_dataset	d = make_dataset(24, 3, true, some_time, &arena);
	pm_dataset	part = {.samples = PM_NEW(&arena, pm_sample, d.n)};
	int			fold[72];
	int			n_folds;
	pm_fit_report report;
	pm_fit_report unused;
	pm_predictor p;
	pm_predictor without;
	double		sum = 0;

	for (int i = 0; i < d.n; i++)	/* what the kind cannot explain */
		d.samples[i].step_ms *= 1 + 0.02 * (i / 3 % 7);
	p = fitted(kind, 3, &d, &report);	/* too few to leave out families, too, and train on half of the rows */
	CHECK(report.cross != NULL && pm_trust_calibrated(p.trust));
	CHECK_EQ(report.valid_n, d.n);
	CHECK_EQ(pm_split_assign(PM_SPLIT_STRUCTURE, 3, 1, &d, &arena, fold, &n_folds, NULL), PM_OK);
	for (int i = 0; i < d.n; i++)
		if (fold[i] != 2)
			part.samples[part.n++] = d.samples[i];
	without = fitted(kind, 0, &part, &unused);
	CHECK(unused.cross == NULL && unused.valid_n == 0 && !pm_trust_calibrated(without.trust));
	for (int i = 0; i < d.n; i++)
	{
		sum += fabs(report.cross[i] - d.samples[i].step_ms) / d.samples[i].step_ms;
		if (fold[i] == 2)
			CHECK_EQ(report.cross[i], predict_row(&without, &d.samples[i]));
	}
	CHECK_NEAR(report.valid_mape, sum / d.n, 1e-12);
	/* the same rows make the same predictor, whether or not it is calibrated */
	CHECK_EQ(predict_row(&p, &d.samples[1]), ({ pm_predictor q = fitted(kind, 0, &d, &unused);
												predict_row(&q, &d.samples[1]); }));
}

/*
 * Where one family of each is left out with whole others, intervals know how
 * little is learned about it from the rest: families take times of their own.
 */
static void
test_family_folds(void)
{
	pm_dataset	d = make_dataset(78, 2, true, some_time, &arena);	/* 26 families */
	pm_fit_report report;
	pm_predictor p;
	pm_verdict	v;
	pm_status	st;
	int			held = 0;

	for (int i = 0; i < d.n; i++)
		d.samples[i].step_ms *= 1 + 0.1 * (i / 2 % 26 % 5);
	p = fitted("opclass", 6, &d, &report);
	CHECK(report.cross != NULL && pm_trust_calibrated(p.trust));
	CHECK_EQ(report.valid_n, d.n);
	for (int i = 0; i < d.n; i++)
	{
		CHECK_EQ(pm_predictor_judge(&p, &d.samples[i], report.cross[i], 0.9, &arena, &v, &st), PM_OK);
		held += v.low_ms <= d.samples[i].step_ms && d.samples[i].step_ms <= v.high_ms;
	}
	CHECK(held > 0.8 * d.n);
}

/* A kind that answers what it was trained on: 1 the network itself, 2 its family, 3 neither. */
static pm_code
spy_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads, const pm_hooks *hooks, pm_arena *a,
		pm_fit_report *report, pm_status *st)
{
	pm_dataset *seen = PM_NEW(a, pm_dataset, 1);

	(void) seed, (void) threads, (void) hooks, (void) report, (void) st;
	*seen = *d;
	p->impl = seen;
	return PM_OK;
}

static pm_code
spy_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch, double *step_ms, pm_part *parts, int *n_parts,
			pm_status *st)
{
	const pm_dataset *seen = p->impl;

	(void) scratch, (void) parts, (void) n_parts, (void) st;
	*step_ms = 3;
	for (int i = 0; i < seen->n; i++)
	{
		const pm_graph *g = seen->samples[i].query.graph;

		if (g->structure == s->query.graph->structure)
			*step_ms = 1;
		else if (*step_ms == 3 && strcmp(g->family, s->query.graph->family) == 0)
			*step_ms = 2;
	}
	return PM_OK;
}

/* What folds leave out: never the network itself is trained on, and of families that are left out nothing. */
static void
test_left_out(void)
{
	const pm_kind spy = {.name = "spy", .min_samples = 4, .fit = spy_fit, .predict = spy_predict};
	pm_predictor p = {.kind = &spy};
	pm_dataset	d = make_dataset(104, 2, true, some_time, &arena);	/* 26 families of 4 */
	pm_graph	cousin = *d.samples[0].query.graph;
	int			answers[PM_N_CROSS][4] = {{0}};
	pm_cross	c;

	cousin.family = d.samples[10].query.graph->family;	/* the same network under two names */
	d.samples[0].query.graph = &cousin;
	CHECK_EQ(pm_cross_predict(&p, &d, 6, 1, 1, NULL, &arena, &c, NULL), PM_OK);
	CHECK_EQ(c.n, PM_N_CROSS);
	for (int k = 0; k < c.n; k++)
		for (int i = 2; i < d.n; i++)
		{
			answers[k][(int) c.set[k].ms[i]]++;
			CHECK(c.set[k].distance[i] >= 0);
		}
	CHECK_EQ(answers[PM_CROSS_NETWORK][1], 0);
	CHECK(answers[PM_CROSS_NETWORK][2] > 0.9 * d.n);
	CHECK_EQ(answers[PM_CROSS_FAMILY][1], 0);
	CHECK(answers[PM_CROSS_FAMILY][2] <= 8);	/* of the two families that share a network, which goes with one of them */
	CHECK(c.set[PM_CROSS_NETWORK].ms[0] != 1 && c.set[PM_CROSS_FAMILY].ms[0] != 1 && c.set[PM_CROSS_FAMILY].ms[1] != 1);
	/* too few families, or less than half of the rows left: networks alone */
	for (int folds = 3; folds <= 30; folds += 27)
	{
		CHECK_EQ(pm_cross_predict(&p, &d, folds, 1, 1, NULL, &arena, &c, NULL), PM_OK);
		CHECK_EQ(c.n, 1);
		for (int i = 0; i < d.n; i++)
			CHECK(c.set[PM_CROSS_NETWORK].ms[i] > 1);
	}
	CHECK_EQ(pm_cross_predict(&p, &d, 1, 1, 1, NULL, &arena, &c, NULL), PM_OK);
	CHECK_EQ(c.n, 0);
}

static bool
stop_at_once(void *ctx)
{
	(void) ctx;
	return true;
}

static void
test_no_calibration(void)
{
	pm_dataset	d = make_dataset(4, 3, true, some_time, &arena);
	pm_dataset	many = make_dataset(12, 3, true, some_time, &arena);
	pm_hooks	hooks = {.stop = stop_at_once};
	pm_fit_report report;
	pm_predictor p = fitted("linear", 5, &d, &report);
	pm_status	st;

	/* fewer structures than folds: a predictor without intervals, not an error */
	CHECK(p.trust != NULL && !pm_trust_calibrated(p.trust) && report.cross == NULL);
	CHECK(isnan(report.valid_mape) && report.valid_n == 0);
	/* too few rows for a fold to learn from */
	many.n = 6;
	p = fitted("linear", 2, &many, &report);
	CHECK(!pm_trust_calibrated(p.trust));
	/* a kind without the option */
	p = (pm_predictor) {.kind = pm_kind_find("perfnet")};
	CHECK_EQ(pm_option_find(p.kind, "calibration_folds"), -1);
	many.n = 36;
	CHECK_EQ(pm_trust_fit(&many, NULL, 0, &hooks, &arena, &p.trust, &st), PM_CANCELLED);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_ranks();
	test_repeated_structure();
	test_coverage();
	test_clustered_coverage();
	test_few();
	test_one_sided();
	test_groups();
	test_small_devices();
	test_compression();
	test_levels();
	test_words();
	test_formats();
	test_operators();
	test_batches_are_no_sizes();
	test_doubled();
	test_cross_fit("linear");
	test_cross_fit("roofline");
	test_cross_fit("opclass");
	test_distances();
	test_slope();
	test_unlike();
	test_family_folds();
	test_left_out();
	test_no_calibration();
	pm_arena_release(&arena);
	return check_done("trust");
}
