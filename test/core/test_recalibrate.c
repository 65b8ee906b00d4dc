/*
 * test_recalibrate.c - a few numbers per device: they are found where they are
 * known, few or bad rows do not count for more than they are, the order of
 * predictions stays, and nothing damaged is loaded.
 */
#include "check.h"
#include "make_graph.h"
#include "predictor/recalibrate.h"

static pm_arena arena;
static const pm_gpu other_gpu = {.name = "Other GPU", .mem_bw_gbs = 500, .fp32_tflops = 10, .sm_count = 40, .memory_gb = 16,
	.cores_per_sm = NAN, .clock_ghz = NAN, .fp16_tensor_tflops = NAN, .l2_mb = NAN, PM_GPU_REST_UNKNOWN};

static double
some_time(const pm_tokens *t)
{
	return 2 * t->total_roofline_us / 1000 + 1;
}

static double
predict(const pm_predictor *p, const pm_sample *s)
{
	pm_arena	scratch;
	pm_status	st;
	double		ms = NAN;

	pm_arena_init_malloc(&scratch);
	if (pm_predictor_predict(p, s, &scratch, &ms, NULL, NULL, &st) != PM_OK)
		make_failed("prediction", &st);
	pm_arena_release(&scratch);
	return ms;
}

/* Rows of d[from..to) as base predicts them, times exp(a) * (ms / exp(centre)) ^ b. */
static pm_dataset
shifted(const pm_dataset *d, int from, int to, const pm_predictor *base, double a, double b, double centre)
{
	pm_dataset	s = {.n = to - from, .samples = PM_NEW(&arena, pm_sample, to - from + 1)};

	for (int i = 0; i < s.n; i++)
	{
		double		ms = predict(base, &d->samples[from + i]);

		s.samples[i] = d->samples[from + i];
		s.samples[i].step_ms = ms * exp(a + b * (log(ms) - centre));
	}
	return s;
}

static pm_predictor
recalibrate(const pm_predictor *base, const pm_dataset *d, pm_recalibration *r)
{
	pm_predictor p = {0};
	pm_status	st;

	if (pm_recalibrate(base, d, NULL, NULL, &arena, &p, r, &st) != PM_OK)
		make_failed("recalibration", &st);
	return p;
}

/* ---------- the numbers ---------- */

/* A factor and an exponent that are there are found, and with them the error goes away. */
static void
test_found(const pm_predictor *base, const pm_dataset *d)
{
	pm_recalibration r = {0};
	pm_dataset	rows = shifted(d, 0, d->n, base, 0.4, 0.05, 1);
	pm_predictor p = recalibrate(base, &rows, &r);
	double		worst = 0;

	CHECK_EQ(p.correction->n, 1);
	CHECK_EQ(p.correction->device[0].rows, d->n);
	CHECK(p.correction->device[0].b > 0.01 && p.correction->device[0].b < 0.06);
	CHECK(r.mape_before > 0.25 && r.mape_after < 0.02);
	CHECK(r.mae_after < r.mae_before && r.rmse_after < r.rmse_before);
	CHECK_EQ(r.n_numbers, 3);
	for (int i = 0; i < rows.n; i++)
		worst = fmax(worst, fabs(predict(&p, &rows.samples[i]) / rows.samples[i].step_ms - 1));
	CHECK(worst < 0.03);
	/* other devices are left alone, other formats of this one are not */
	rows.samples[0].query.gpu = &other_gpu;
	CHECK_EQ(predict(&p, &rows.samples[0]), predict(base, &rows.samples[0]));
	rows.samples[1].query.dtype = PM_AMP;
	CHECK(predict(&p, &rows.samples[1]) > 1.2 * predict(base, &rows.samples[1]));
}

/* The fewer networks, the nearer to 1; and many rows of one network are one network. */
static void
test_shrunk(const pm_predictor *base, const pm_dataset *d)
{
	pm_dataset	rows = shifted(d, 0, d->n, base, 0.5, 0, 1);
	pm_dataset	repeated = {.n = 200, .samples = PM_NEW(&arena, pm_sample, 200)};
	pm_recalibration r;
	double		factor[3];
	int			n[3] = {1, 4, d->n};

	for (int k = 0; k < 3; k++)
	{
		pm_dataset	some = {.n = n[k], .samples = rows.samples};
		pm_predictor p = recalibrate(base, &some, &r);

		factor[k] = predict(&p, &rows.samples[0]) / predict(base, &rows.samples[0]);
	}
	CHECK(factor[0] > 1.02 && factor[0] < 1.2 && factor[0] < factor[2] && factor[2] < exp(0.5));
	CHECK_NEAR(factor[2], exp(0.5), 0.02);
	/* a device that the base knows nothing of follows one row much farther */
	{
		pm_dataset	fresh = shifted(d, 0, 1, base, 0, 0, 1);
		pm_dataset	one;
		pm_predictor p;

		fresh.samples[0].query.gpu = &other_gpu;
		one = shifted(&fresh, 0, 1, base, 0.5, 0, 1);
		p = recalibrate(base, &one, &r);
		CHECK(predict(&p, &one.samples[0]) > 1.3 * predict(base, &one.samples[0]));
	}
	for (int i = 0; i < 200; i++)
		repeated.samples[i] = rows.samples[0];
	{
		pm_predictor p = recalibrate(base, &repeated, &r);

		CHECK_NEAR(predict(&p, &rows.samples[0]) / predict(base, &rows.samples[0]), factor[0], 0.02);
		CHECK_EQ(r.structures, 1);
		CHECK(isnan(r.mape_after) && isfinite(r.mape_before));
	}
}

/* The error after is of networks that the numbers have not seen: where these contradict each other, nothing is gained. */
static void
test_unseen(const pm_predictor *base, const pm_dataset *d)
{
	pm_dataset	rows = shifted(d, 0, 4, base, 0.5, 0, 1);
	pm_dataset	others = shifted(d, 2, 4, base, -0.5, 0, 1);
	pm_recalibration r;

	memcpy(rows.samples + 2, others.samples, 2 * sizeof(pm_sample));
	recalibrate(base, &rows, &r);
	CHECK_EQ(r.structures, 2);
	CHECK(r.mape_after > r.mape_before);
}

/* A tenth of absurd measurements changes little. */
static void
test_robust(const pm_predictor *base, const pm_dataset *d)
{
	pm_dataset	rows = shifted(d, 0, d->n, base, 0.3, 0, 1);
	pm_recalibration r;
	pm_predictor clean = recalibrate(base, &rows, &r);
	pm_predictor p;

	for (int i = 0; i < rows.n; i += 10)
		rows.samples[i].step_ms *= 50;
	p = recalibrate(base, &rows, &r);
	for (int i = 0; i < rows.n; i++)
		CHECK(fabs(log(predict(&p, &rows.samples[i]) / predict(&clean, &rows.samples[i]))) < 0.1);
}

/* However the rows lie, a longer prediction stays the longer one. */
static void
test_order(const pm_predictor *base, const pm_dataset *d)
{
	pm_dataset	rows = shifted(d, 0, d->n, base, 0, -3, 1);
	pm_recalibration r;
	pm_predictor p = recalibrate(base, &rows, &r);

	CHECK(p.correction->device[0].b < 0);
	for (double ms = 1e-6; ms < 1e9; ms *= 1.5)
	{
		double		x = pm_correction_apply(p.correction, &d->samples[0].query, d->samples[0].query.dtype, ms);

		CHECK(x > 0 && isfinite(x) && pm_correction_apply(p.correction, &d->samples[0].query, d->samples[0].query.dtype, ms * 1.01) > x);
	}
}

/* A format that was not measured has the factor of the one that it is answered as; one that was measured has its own. */
static void
test_stand_in(void)
{
	pm_device_correction device = {.gpu = "X", .low = -1, .high = 1};
	const pm_correction c = {.n = 1, .device = &device};
	pm_gpu		gpu = {.name = "X"};
	pm_question q = {.gpu = &gpu, .dtype = PM_TF32, .layout = PM_NCHW};

	device.used[PM_FP32][PM_NCHW] = 3;
	device.d[PM_FP32][PM_NCHW] = 0.2;
	CHECK_NEAR(pm_correction_apply(&c, &q, PM_FP32, 5), 5 * exp(0.2), 1e-9);
	device.used[PM_TF32][PM_NHWC] = 1;
	CHECK_NEAR(pm_correction_apply(&c, &q, PM_FP32, 5), 5, 1e-9);
}

/* ---------- one after the other ---------- */

/* Devices without new rows keep what they had; those with new rows start afresh. */
static void
test_again(const pm_predictor *base, const pm_dataset *d)
{
	pm_dataset	rows = shifted(d, 0, d->n, base, 0.4, 0, 1);
	pm_dataset	others = shifted(d, 0, d->n, base, -0.3, 0, 1);
	pm_recalibration r;
	pm_predictor first,
				second,
				third;

	for (int i = 0; i < others.n; i++)
		others.samples[i].query.gpu = &other_gpu;
	others = shifted(&others, 0, others.n, base, -0.3, 0, 1);
	first = recalibrate(base, &rows, &r);
	second = recalibrate(&first, &others, &r);
	CHECK_EQ(second.correction->n, 2);
	CHECK_EQ(predict(&second, &rows.samples[3]), predict(&first, &rows.samples[3]));
	CHECK_NEAR(predict(&second, &others.samples[3]) / others.samples[3].step_ms, 1, 0.02);
	third = recalibrate(&second, &rows, &r);
	CHECK_EQ(predict(&third, &rows.samples[3]), predict(&first, &rows.samples[3]));
	/* the error before is that of the predictor that was given, correction and all */
	CHECK(r.mape_before < 0.01);
	CHECK_EQ(first.correction->n, 1);
}

/* ---------- intervals and domain ---------- */

static pm_verdict
judge(const pm_predictor *p, const pm_sample *s)
{
	pm_arena	scratch;
	pm_verdict	v;
	pm_status	st;

	pm_arena_init_malloc(&scratch);
	if (pm_predictor_judge(p, s, predict(p, s), 0.9, &scratch, &v, &st) != PM_OK)
		make_failed("verdict", &st);
	pm_arena_release(&scratch);
	return v;
}

static double
normal(pm_rng *r)
{
	return sqrt(-2 * log(1 - pm_rng_uniform(r))) * cos(2 * M_PI * pm_rng_uniform(r));
}

static void
test_trust(const pm_predictor *base, const pm_dataset *d)
{
	pm_dataset	rows = {.n = d->n, .samples = PM_NEW(&arena, pm_sample, d->n)};
	pm_recalibration r;
	pm_predictor p;
	pm_rng		rng;
	int			inside = 0;

	memcpy(rows.samples, d->samples, d->n * sizeof(pm_sample));
	for (int i = 0; i < rows.n; i++)
		rows.samples[i].query.gpu = &other_gpu;
	CHECK(!judge(base, &rows.samples[0]).in_domain);
	CHECK_HAS(judge(base, &rows.samples[0]).reason, "Other GPU");
	/* twice as slow, with a spread that base never had */
	rows = shifted(&rows, 0, rows.n, base, 0.7, 0, 1);
	pm_rng_seed(&rng, 1);
	for (int i = 0; i < rows.n; i++)
		rows.samples[i].step_ms *= exp(0.1 * normal(&rng));
	p = recalibrate(base, &rows, &r);
	CHECK(judge(&p, &rows.samples[0]).in_domain);
	for (int i = 0; i < rows.n; i++)
	{
		pm_verdict	v = judge(&p, &rows.samples[i]);

		inside += v.low_ms <= rows.samples[i].step_ms && rows.samples[i].step_ms <= v.high_ms;
	}
	/* its intervals hold what they were made to hold, nine rows of ten */
	CHECK(inside >= 0.8 * rows.n);
	/* the other device is as it was */
	CHECK_NEAR(judge(&p, &d->samples[0]).low_ms, judge(base, &d->samples[0]).low_ms, 1e-9);
}

/* Where base has seen every network, new rows do not replace what is known of unseen ones. */
static void
test_seen(const pm_predictor *base, const pm_dataset *d)
{
	pm_dataset	rows = shifted(d, 0, d->n, base, 0.4, 0, 1);
	bool	   *seen = PM_NEW(&arena, bool, d->n);
	pm_predictor fresh,
				flattered;
	pm_recalibration r;
	pm_status	st;
	pm_verdict	wide,
				narrow;

	for (int i = 0; i < d->n; i++)
		seen[i] = true;
	CHECK_EQ(pm_recalibrate(base, &rows, seen, NULL, &arena, &flattered, &r, &st), PM_OK);
	fresh = recalibrate(base, &rows, &r);
	wide = judge(&flattered, &rows.samples[0]);
	narrow = judge(&fresh, &rows.samples[0]);
	CHECK(log(wide.high_ms / wide.low_ms) > 1.5 * log(narrow.high_ms / narrow.low_ms));
	/* on a device that is new, networks count that were seen on another */
	for (int i = 0; i < d->n; i++)
		rows.samples[i].query.gpu = &other_gpu;
	CHECK_EQ(pm_recalibrate(base, &rows, seen, NULL, &arena, &flattered, &r, &st), PM_OK);
	CHECK(judge(&flattered, &rows.samples[0]).in_domain);
}

/* ---------- storing ---------- */

static void
test_stored(const pm_predictor *base, const pm_dataset *d)
{
	pm_dataset	rows = shifted(d, 0, d->n, base, 0.4, 0.1, 1);
	pm_recalibration r;
	pm_predictor p = recalibrate(base, &rows, &r);
	pm_predictor back;
	pm_status	st;
	uint8_t    *data;
	size_t		len;
	pm_part    *parts = PM_NEW(&arena, pm_part, 1000);
	int			n_parts;
	double		ms,
				sum = 0;

	CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, &st), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, &st), PM_OK);
	for (int i = 0; i < d->n; i++)
		CHECK_EQ(predict(&back, &d->samples[i]), predict(&p, &d->samples[i]));
	CHECK_EQ(judge(&back, &d->samples[0]).high_ms, judge(&p, &d->samples[0]).high_ms);
	/* the last bytes are the correction: with a valid checksum, numbers that cannot be are refused */
	for (size_t at = len - 4 - 1400; at < len - 4; at++)
	{
		uint8_t    *bad = PM_NEW(&arena, uint8_t, len);
		uint32_t	crc;

		memcpy(bad, data, len);
		bad[at] = 0xff;
		crc = pm_crc32c(bad, len - 4);
		for (int k = 0; k < 4; k++)
			bad[len - 4 + k] = (uint8_t) (crc >> 8 * k);
		if (pm_predictor_load(bad, len, &arena, &back, &st) == PM_OK)
			CHECK(isfinite(predict(&back, &d->samples[0])) && predict(&back, &d->samples[0]) > 0);
		else
			/* a name that is no longer one is of a library that knows more */
			CHECK(st.code == PM_ERR_FORMAT || st.code == PM_ERR_OUTDATED);
	}
	CHECK_EQ(pm_predictor_predict(&p, &d->samples[0], &arena, &ms, parts, &n_parts, &st), PM_OK);
	for (int i = 0; i < n_parts; i++)
		sum += parts[i].step_ms;
	CHECK_NEAR(sum / ms, 1, 1e-9);
}

/* A correction of one device as versions stored it that knew nothing of releases. */
static void
put_earlier(pm_buffer *b)
{
	static const double state[PM_N_STATE];
	pm_names	names = {pm_state_names.what, PM_STATE_RELEASED, pm_state_names.names};

	pm_names_save(pm_list_here(PM_LIST_DTYPE), b);
	pm_names_save(pm_list_here(PM_LIST_LAYOUT), b);
	pm_put_u32(b, 1);
	pm_put_text(b, "X");
	pm_put_u32(b, 1);
	for (int i = 0; i < 6; i++)
		pm_put_f64(b, 0);
	for (int i = 0; i < PM_N_DTYPES * PM_N_LAYOUTS; i++)
	{
		pm_put_u32(b, 0);
		pm_put_f64(b, 0);
		pm_put_f64(b, 0);
	}
	pm_named_save(&names, state, b);
}

/* Its card has its own answer, as it had there. */
static void
test_earlier(void)
{
	pm_buffer	b;
	pm_reader	r;
	const pm_correction *c;
	pm_status	st;

	b = (pm_buffer) {.arena = &arena};
	put_earlier(&b);
	r = (pm_reader) {.data = b.data, .len = b.len};
	CHECK_EQ(pm_correction_load(&r, &arena, &c, &st), PM_OK);
	for (int work = 0; work < PM_N_CARD_WORKS; work++)
		CHECK_EQ(pm_correction_held(&c->device[0], work), 0);
	CHECK(!pm_correction_has_state(&c->device[0]));
}

static bool
stop_now(void *ctx)
{
	return *(bool *) ctx;
}

static void
test_refused(const pm_predictor *base, const pm_dataset *d)
{
	pm_dataset	none = {.n = 0, .samples = d->samples};
	pm_predictor p;
	pm_recalibration r;
	pm_status	st;
	bool		yes = true;
	pm_hooks	hooks = {.stop = stop_now, .ctx = &yes};

	CHECK_EQ(pm_recalibrate(base, &none, NULL, NULL, &arena, &p, &r, &st), PM_ERR_DATA);
	CHECK_EQ(pm_recalibrate(base, d, NULL, &hooks, &arena, &p, &r, &st), PM_CANCELLED);
}

int
main(void)
{
	pm_dataset	d;
	pm_predictor base;

	pm_arena_init_malloc(&arena);
	d = make_dataset(40, 2, true, some_time, &arena);
	base = make_predictor("linear", NULL, 0, &d, &arena);
	test_found(&base, &d);
	test_shrunk(&base, &d);
	test_unseen(&base, &d);
	test_robust(&base, &d);
	test_order(&base, &d);
	test_stand_in();
	test_again(&base, &d);
	test_trust(&base, &d);
	test_seen(&base, &d);
	test_stored(&base, &d);
	test_earlier();
	test_refused(&base, &d);
	pm_arena_release(&arena);
	return check_done("recalibrate");
}
