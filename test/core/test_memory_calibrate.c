/*
 * test_memory_calibrate.c - factors of memory from samples whose factors are known.
 */
#include "check.h"
#include "memory/rivals.h"

#define N 400

static pm_arena arena;
static pm_memory_sample samples[N];
static const pm_memory_factors usual = {
	.context_mb = 1240, .factor = 1, .workspace = 1, .need_factor = 1, .spread = 0.06, .context_spread_mb = 350, .fit_spread = 0.04
};

static pm_memory_fit
calibrate(int n, double capacity_mb, bool is_cpu, pm_memory_factors *f)
{
	pm_memory_fit fit;
	pm_status	st;

	*f = usual;
	CHECK(pm_memory_calibrate(samples, n, capacity_mb, is_cpu, &arena, f, &fit, &st) == PM_OK);
	return fit;
}

/* Peaks of n rows of networks with four rows each: 700 MB, 0.95 times the simulated, twice the convolution; noise as a part. */
static void
make_peaks(int n, double noise, uint64_t seed)
{
	pm_rng		r;

	pm_rng_seed(&r, seed);
	for (int i = 0; i < n; i++)
	{
		pm_memory_sample *s = &samples[i];
		double		simulated = 500 * exp(3 * pm_rng_uniform(&r));
		double		conv = simulated * 0.2 * pm_rng_uniform(&r);

		*s = (pm_memory_sample) {.network = 1 + i / 4, .simulated = simulated, .conv = conv, .need_fits = NAN, .need_fails = NAN};
		s->measured = (700 + 0.95 * simulated + 2 * conv) * exp(noise * (2 * pm_rng_uniform(&r) - 1));
	}
}

static void
test_peaks(void)
{
	pm_memory_factors f;
	pm_memory_fit fit;

	make_peaks(N, 0, 1);
	fit = calibrate(N, NAN, false, &f);
	CHECK_EQ(fit.networks, N / 4);
	CHECK_EQ(fit.peaks, N);
	CHECK_EQ(fit.brackets, 0);
	CHECK_NEAR(f.context_mb, 700, 10);
	CHECK_NEAR(f.factor, 0.95, 0.005);
	CHECK_NEAR(f.workspace, 2, 0.1);
	CHECK(fit.mape < 0.5 && fit.mape_before > 5);
	CHECK(f.spread < 0.01 && f.measured);
	CHECK(isnan(fit.in_bracket));
	/* noise shows in the spread, and not in the factors */
	make_peaks(N, 0.1, 2);
	fit = calibrate(N, NAN, false, &f);
	CHECK_NEAR(f.context_mb, 700, 60);
	CHECK_NEAR(f.factor, 0.95, 0.03);
	CHECK(f.spread > 0.03 && f.spread < 0.08);
	CHECK(fit.mape > 3 && fit.mape < 7);
}

/* A few networks move the factors a part of the way, one wild row hardly at all. */
static void
test_few(void)
{
	pm_memory_factors few;
	pm_memory_factors many;

	make_peaks(N, 0, 3);
	(void) calibrate(8, NAN, false, &few);
	(void) calibrate(N, NAN, false, &many);
	CHECK(few.spread > many.spread && few.context_spread_mb > many.context_spread_mb);
	CHECK(few.factor >= 0.9 && few.factor <= 1.05);
	samples[5].measured *= 10;
	(void) calibrate(N, NAN, false, &few);
	CHECK_NEAR(few.factor, many.factor, 0.02);
	CHECK_NEAR(few.context_mb, many.context_mb, 40);
}

/* Brackets around a device that has 8 % less than it seems. */
static void
test_brackets(void)
{
	pm_memory_factors f;
	pm_memory_fit fit;
	pm_rng		r;

	pm_rng_seed(&r, 4);
	for (int i = 0; i < N; i++)
	{
		double		edge = 10000 / 1.08;
		double		place = pm_rng_uniform(&r);

		samples[i] = (pm_memory_sample) {
			.network = 1 + i, .simulated = 1, .measured = NAN,
			.need_fits = edge * pow(1.35, place - 1), .need_fails = edge * pow(1.35, place)
		};
	}
	fit = calibrate(N, 11240, false, &f);
	CHECK_EQ(fit.brackets, N);
	CHECK_EQ(fit.peaks, 0);
	CHECK_NEAR(f.need_factor, 1.08, 0.01);
	CHECK(f.fit_spread < usual.fit_spread);
	CHECK(fit.in_bracket > 95 && fit.in_bracket_before < 85);
	CHECK_EQ(f.context_mb, usual.context_mb);
	/* the memory of the device is not known: nothing is learned of them */
	(void) calibrate(N, NAN, false, &f);
	CHECK_EQ(f.need_factor, 1);
}

/* What the simulation explains, it explains better than sums of bytes that say little of it; a sum that says all is as good. */
static void
test_rivals(void)
{
	static pm_memory_rival_row rows[N];
	pm_memory_error e[PM_N_MEMORY_METHODS];
	pm_status	st;
	pm_rng		r;

	make_peaks(N, 0.02, 5);
	pm_rng_seed(&r, 6);
	for (int i = 0; i < N; i++)
		rows[i] = (pm_memory_rival_row) {
			samples[i], 10 + pm_rng_uniform(&r), 20, samples[i].simulated * (0.5 + pm_rng_uniform(&r)), 1
		};
	CHECK(pm_memory_compare(rows, N, false, &usual, &arena, e, &st) == PM_OK);
	CHECK(e[PM_MEMORY_CALIBRATED].mape < 2 && e[PM_MEMORY_CALIBRATED].mape < e[PM_MEMORY_SHIPPED].mape);
	CHECK(e[PM_MEMORY_SUMS].mape > 3 * e[PM_MEMORY_CALIBRATED].mape);
	for (int m = 0; m < PM_N_MEMORY_METHODS; m++)
		CHECK(e[m].median <= e[m].p90 && e[m].mape > 0);
	for (int i = 0; i < N; i++)
		rows[i].outputs = samples[i].measured;
	CHECK(pm_memory_compare(rows, N, false, &usual, &arena, e, &st) == PM_OK);
	CHECK_NEAR(e[PM_MEMORY_SUMS].mape, 0, 0.01);
	/* one network: nothing to learn from, nothing divided by zero */
	CHECK(pm_memory_compare(rows, 1, false, &usual, &arena, e, &st) == PM_OK);
	CHECK(e[PM_MEMORY_CALIBRATED].mape == e[PM_MEMORY_SHIPPED].mape && !isnan(e[PM_MEMORY_SUMS].mape));
	CHECK(pm_memory_compare(rows, 0, false, &usual, &arena, e, &st) == PM_ERR_DATA);
}

static void
test_nothing(void)
{
	pm_memory_factors f = usual;
	pm_memory_fit fit;
	pm_status	st;

	samples[0] = (pm_memory_sample) {.network = 1, .simulated = 1, .measured = NAN, .need_fits = NAN, .need_fails = NAN};
	CHECK(pm_memory_calibrate(samples, 1, 1000, false, &arena, &f, &fit, &st) == PM_ERR_DATA);
	CHECK_HAS(st.message, "no measurement");
}

/* The first question goes on; what takes long has to ask again. */
static bool
stop_at_second(void *ctx)
{
	return ++*(int *) ctx > 1;
}

static void
test_stop(void)
{
	int			asked = 0;
	const pm_hooks hooks = {.stop = stop_at_second,.ctx = &asked};
	pm_memory_factors f = usual;
	pm_memory_fit fit;
	pm_status	st = {PM_OK};

	samples[0] = (pm_memory_sample) {.network = 1, .simulated = 1, .measured = NAN, .need_fits = 5000, .need_fails = 20000};
	arena.hooks = &hooks;
	CHECK_EQ(pm_memory_calibrate(samples, 1, 16000, false, &arena, &f, &fit, &st), PM_CANCELLED);
	arena.hooks = NULL;
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_peaks();
	test_few();
	test_brackets();
	test_rivals();
	test_nothing();
	test_stop();
	pm_arena_release(&arena);
	return check_done("memory_calibrate");
}
