/*
 * test_warm_start.c - a training that goes on from another predictor begins
 * with what that one knew, takes in new names, and says what it is worth.
 */
#include "check.h"
#include "make_graph.h"

static pm_arena arena;
static const pm_gpu other_gpu = {.name = "Other 2000", .memory_gb = 32, .mem_bw_gbs = 900, .sm_count = 60,
	.cores_per_sm = 64, .clock_ghz = 1.6, .fp32_tflops = 20, .fp16_tensor_tflops = 150, .l2_mb = 6, PM_GPU_REST_UNKNOWN};

static double
some_time(const pm_tokens *t)
{
	return 3 * t->total_roofline_us / 1000 + 0.5;
}

#define SIZES {.name = "d_model", .number = 16}, {.name = "heads", .number = 2}, {.name = "d_operator", .number = 8}, \
	{.name = "hidden", .number = 8}, {.name = "base_share", .number = 0}

static pm_predictor
make_start(const pm_dataset *d)
{
	pm_setting	s[] = {SIZES, {.name = "epochs", .number = 20}};

	return make_predictor("mdot", s, sizeof(s) / sizeof(s[0]), d, &arena);
}

/* Goes on from start; rate and epochs as given. */
static pm_code
go_on(const pm_predictor *start, const bool *seen, const pm_dataset *d, double rate, int epochs, int threads,
	  pm_predictor *p, pm_status *st)
{
	pm_setting	s[] = {{.name = "learning_rate", .number = rate}, {.name = "epochs", .number = epochs}};
	pm_start	from = {.predictor = start, .seen = seen};
	pm_fit_report r;

	*p = (pm_predictor) {.kind = start->kind, .options = start->options, .start = &from};
	if (pm_options_change(p->kind, s, 2, &p->options, st) != PM_OK)
		make_failed("options", st);
	return pm_predictor_fit(p, d, 1, threads, NULL, &arena, &r, st);
}

/* Rows of d with a device and a framework that are new. */
static pm_dataset
elsewhere(const pm_dataset *d, double factor)
{
	pm_dataset	e = {.n = d->n, .samples = PM_NEW(&arena, pm_sample, d->n)};

	for (int i = 0; i < d->n; i++)
	{
		e.samples[i] = d->samples[i];
		e.samples[i].query.gpu = &other_gpu;
		e.samples[i].query.framework = "other 1";
		e.samples[i].step_ms *= factor;
	}
	return e;
}

static double
worst_ratio(const pm_predictor *a, const pm_predictor *b, const pm_dataset *d)
{
	double		worst = 0;

	for (int i = 0; i < d->n; i++)
		worst = fmax(worst, fabs(log(predict_row(a, &d->samples[i]) / predict_row(b, &d->samples[i]))));
	return worst;
}

static double
error_of(const pm_predictor *p, const pm_dataset *d)
{
	double		sum = 0;

	for (int i = 0; i < d->n; i++)
		sum += fabs(predict_row(p, &d->samples[i]) / d->samples[i].step_ms - 1) / d->n;
	return sum;
}

/* With a rate of nothing it is the start, also among rows with new names, whose places must not disturb the old ones. */
static void
test_begins_there(const pm_predictor *start, const pm_dataset *d)
{
	pm_dataset	e = elsewhere(d, 1);
	pm_dataset	half = {.n = d->n / 2, .samples = d->samples};
	pm_dataset	both = {.n = 2 * d->n, .samples = PM_NEW(&arena, pm_sample, 2 * d->n)};
	pm_predictor p;
	pm_status	st;

	CHECK_EQ(go_on(start, NULL, d, 1e-8, 1, 1, &p, &st), PM_OK);
	CHECK(worst_ratio(start, &p, d) < 1e-3);
	CHECK(p.start == NULL);
	/* other rows do not change what features mean to it */
	half.samples += d->n / 2;
	CHECK_EQ(go_on(start, NULL, &half, 1e-8, 1, 1, &p, &st), PM_OK);
	CHECK(worst_ratio(start, &p, &half) < 1e-3);
	memcpy(both.samples, e.samples, d->n * sizeof(pm_sample));
	memcpy(both.samples + d->n, d->samples, d->n * sizeof(pm_sample));
	CHECK_EQ(go_on(start, NULL, &both, 1e-8, 1, 1, &p, &st), PM_OK);
	/* what never varied and now does is switched on, so it is not quite the same */
	CHECK(worst_ratio(start, &p, d) < 0.5);
}

/* A few epochs from there are better than a few from nowhere. */
static void
test_ahead(const pm_predictor *start, const pm_dataset *d)
{
	pm_dataset	slower = elsewhere(d, 1.5);
	pm_setting	s[] = {SIZES, {.name = "epochs", .number = 4}, {.name = "learning_rate", .number = 5e-4},
	{.name = "calibration_folds", .number = 0}};
	pm_predictor cold = make_predictor("mdot", s, sizeof(s) / sizeof(s[0]), &slower, &arena);
	pm_predictor warm,
				threaded;
	pm_status	st;

	CHECK_EQ(go_on(start, NULL, &slower, 5e-4, 4, 1, &warm, &st), PM_OK);
	CHECK(error_of(&warm, &slower) < error_of(&cold, &slower));
	/* and the same whatever the threads */
	CHECK_EQ(go_on(start, NULL, &slower, 5e-4, 4, 3, &threaded, &st), PM_OK);
	CHECK_EQ(worst_ratio(&warm, &threaded, &slower), 0);
}

static pm_verdict
judge(const pm_predictor *p, const pm_sample *s)
{
	pm_arena	scratch;
	pm_verdict	v;
	pm_status	st;

	pm_arena_init_malloc(&scratch);
	if (pm_predictor_judge(p, s, predict_row(p, s), 0.9, &scratch, &v, &st) != PM_OK)
		make_failed("verdict", &st);
	pm_arena_release(&scratch);
	return v;
}

/* Intervals are those of the start where all is seen; else what it erred on new structures counts. The domain is that of the rows. */
static void
test_worth(const pm_predictor *start, const pm_dataset *d)
{
	pm_dataset	e = elsewhere(d, 3);
	bool	   *seen = PM_NEW(&arena, bool, d->n);
	pm_predictor same,
				wider;
	pm_status	st;
	pm_verdict	before = judge(start, &d->samples[0]);

	for (int i = 0; i < d->n; i++)
		seen[i] = true;
	CHECK(pm_trust_calibrated(start->trust));
	CHECK_EQ(go_on(start, seen, d, 1e-8, 1, 1, &same, &st), PM_OK);
	CHECK_NEAR(log(judge(&same, &d->samples[0]).high_ms / before.high_ms), 0, 1e-3);
	CHECK_EQ(go_on(start, NULL, &e, 1e-8, 1, 1, &wider, &st), PM_OK);
	CHECK(judge(&wider, &e.samples[0]).in_domain && !judge(start, &e.samples[0]).in_domain);
	CHECK(judge(&wider, &e.samples[0]).high_ms / predict_row(&wider, &e.samples[0]) > 2);
}

static void
test_stored(const pm_predictor *start, const pm_dataset *d)
{
	pm_dataset	e = elsewhere(d, 1.2);
	pm_predictor p,
				back;
	pm_status	st;
	uint8_t    *data;
	size_t		len;

	CHECK_EQ(go_on(start, NULL, &e, 5e-4, 2, 1, &p, &st), PM_OK);
	CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, &st), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, &st), PM_OK);
	CHECK_EQ(worst_ratio(&p, &back, &e), 0);
	/* and on from there once more */
	CHECK_EQ(go_on(&back, NULL, d, 5e-4, 2, 1, &p, &st), PM_OK);
	CHECK(isfinite(error_of(&p, d)));
}

static void
test_refused(const pm_predictor *start, const pm_dataset *d)
{
	pm_setting	other[] = {SIZES, {.name = "layers", .number = 2}, {.name = "epochs", .number = 1},
	{.name = "calibration_folds", .number = 0}};
	pm_predictor deeper = make_predictor("mdot", other, sizeof(other) / sizeof(other[0]), d, &arena);
	pm_predictor p = {.kind = start->kind, .options = start->options};
	pm_start	from = {.predictor = &deeper};
	pm_fit_report r;
	pm_status	st;

	p.start = &from;
	CHECK_EQ(pm_predictor_fit(&p, d, 1, 1, NULL, &arena, &r, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, "\"layers\"");
	CHECK(pm_kind_find("linear")->check_start == NULL);
}

int
main(void)
{
	pm_dataset	d;
	pm_predictor start;

	pm_arena_init_malloc(&arena);
	d = make_dataset(30, 2, true, some_time, &arena);
	start = make_start(&d);
	test_begins_there(&start, &d);
	test_ahead(&start, &d);
	test_worth(&start, &d);
	test_stored(&start, &d);
	test_refused(&start, &d);
	pm_arena_release(&arena);
	return check_done("warm_start");
}
