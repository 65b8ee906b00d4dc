/*
 * test_trust.c - intervals hold what they promise, and repeated measurements do
 * not count as evidence.
 */
#include "trust_rows.h"

static int
by_value(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
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
	CHECK_NEAR(log(v.high_ms), 0.45, 1e-6);	/* the 95th of 99 */
	CHECK_NEAR(log(v.low_ms), -0.45, 1e-6);
	v = judge(t, &d.samples[5], 0.8);
	CHECK_NEAR(log(v.high_ms), 0.40, 1e-6);
	v = judge(t, &d.samples[5], 0.5);
	CHECK_NEAR(log(v.high_ms), 0.25, 1e-6);
	v = judge(t, &d.samples[5], 0.98);			/* the last that there is */
	CHECK_NEAR(log(v.high_ms), 0.49, 1e-6);
	CHECK_NEAR(log(v.low_ms), -0.49, 1e-6);
	v = judge(t, &d.samples[5], 0.99);			/* and beyond, stretched */
	CHECK_NEAR(log(v.high_ms), 0.49 * log(200) / log(100), 1e-6);
	CHECK_NEAR(log(v.low_ms), -0.49 * log(200) / log(100), 1e-6);
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
	CHECK_NEAR(log(v.high_ms), 0.45, 1e-6);
	CHECK_NEAR(log(v.low_ms), -0.45, 1e-6);
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
	CHECK_NEAR(log(judge(t, &s, 0.9).high_ms), 0.01, 1e-6);
	s.query.gpu = &other;
	s.query.batch = 8;
	CHECK_NEAR(log(judge(t, &s, 0.9).high_ms), 0.1, 1e-6);
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
		CHECK_NEAR(log(v.high_ms), k == 2 ? 1.0 : 0.5, 1e-6);
		CHECK_EQ(v.in_domain, k != 2);
	}
	CHECK_HAS(v.reason, "gpu \"Small C\" was in training with no more than 4 networks");
	s.query.gpu = &test_gpu;
	CHECK_NEAR(log(judge(t, &s, 0.8).high_ms), 0.01, 1e-6);
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
		CHECK_EQ(pm_trust_judge(t, &d.samples[0], 1, bad[i], false, &arena, &v, &st), PM_ERR_OPTION);
		CHECK_HAS(st.message, "level must be between 0.5 and 0.999");
	}
	CHECK_EQ(pm_trust_judge(t, &d.samples[0], 1, 0.5, false, &arena, &v, &st), PM_OK);
	CHECK_EQ(pm_trust_judge(t, &d.samples[0], 1, 0.999, false, &arena, &v, &st), PM_OK);
	d.samples[0].query.batch = 0;
	CHECK_EQ(pm_trust_judge(t, &d.samples[0], 1, 0.9, false, &arena, &v, &st), PM_ERR_INPUT);
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

/* The answer to s and its verdict; a prepared question has the same ones. */
static double
ask_release(const pm_predictor *p, const pm_sample *s, const char *release, double level, pm_verdict *v)
{
	pm_sample	q = *s;
	pm_verdict	again;
	pm_prepared x;
	double		ms;

	q.query.framework = release;
	ms = predict_row(p, &q);
	CHECK_EQ(pm_predictor_judge(p, &q, ms, level, &arena, v, NULL), PM_OK);
	CHECK_EQ(pm_predictor_prepare(p, &q, &arena, &arena, NULL, &x, NULL), PM_OK);
	q.query.batch *= 2;
	CHECK_EQ(pm_predictor_predict_prepared(p, &x, &q, &arena, &ms, NULL), PM_OK);
	q.query.batch /= 2;
	CHECK_EQ(pm_predictor_predict_prepared(p, &x, &q, &arena, &ms, NULL), PM_OK);
	CHECK_EQ(ms, predict_row(p, &q));
	CHECK_EQ(pm_predictor_judge_prepared(p, &x, &q, ms, level, &again, NULL), PM_OK);
	CHECK(again.low_ms == v->low_ms && again.high_ms == v->high_ms && again.causes == v->causes && strcmp(again.reason, v->reason) == 0);
	return ms;
}

/*
 * Of two releases on a device, the one of more rows answers questions that name none, or one that was not measured there.  The interval of the latter
 * holds the answer for the other, too.
 */
static void
test_releases_differ(void)
{
	enum { MORE = 60, N = MORE + 40 };
	pm_dataset	d = make_dataset(N / 2, 2, true, some_time, &arena);
	pm_fit_report report;
	pm_predictor p;
	pm_verdict	v;
	pm_verdict	half;
	double		slow;
	double		ms;

	for (int i = 0; i < d.n; i++)
	{
		if (i >= MORE)
			d.samples[i] = d.samples[i - MORE];
		d.samples[i].query.framework = i < MORE ? "torch 1" : "torch 2";
		d.samples[i].step_ms *= (i < MORE ? 1 : 1.6) * (1 + 0.01 * (i / 2 % 7));
	}
	p = fitted("opclass", 6, &d, &report);
	slow = ask_release(&p, &d.samples[9], "torch 2", 0.9, &v);
	CHECK(v.in_domain && v.causes == 0);
	ms = ask_release(&p, &d.samples[9], "torch 1", 0.9, &v);
	CHECK(v.in_domain && v.causes == 0 && slow > 1.4 * ms && v.high_ms < slow);
	CHECK_EQ(ask_release(&p, &d.samples[9], NULL, 0.9, &v), ms);
	CHECK(v.in_domain && v.causes == 0 && v.high_ms < slow);
	CHECK_EQ(ask_release(&p, &d.samples[9], "Torch 9", 0.9, &v), ms);
	CHECK(v.in_domain && v.causes == (1u << PM_CAUSE_RELEASES_DIFFER | 1u << PM_CAUSE_FRAMEWORK_NOT_SEEN) && v.low_ms < ms && v.high_ms > slow && v.high_ms < 1.3 * slow);
	CHECK_HAS(v.reason, "framework \"Torch 9\" was not in training: answered for \"torch 1\"; by releases of the framework that were measured on this device, the step differs from 1.00 to 1.");
	ask_release(&p, &d.samples[9], "Torch 9", 0.5, &half);
	CHECK(half.high_ms > ms && half.high_ms < 0.95 * v.high_ms);
	/* another program is not one of its releases */
	CHECK(ask_release(&p, &d.samples[9], "torchlight 9", 0.9, &v) != ms);
	CHECK_EQ(v.causes, 1u << PM_CAUSE_FRAMEWORK_NOT_SEEN);
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
	test_cross_fit("linear");
	test_cross_fit("roofline");
	test_cross_fit("opclass");
	test_family_folds();
	test_releases_differ();
	test_left_out();
	test_no_calibration();
	pm_arena_release(&arena);
	return check_done("trust");
}
