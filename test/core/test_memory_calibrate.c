/*
 * test_memory_calibrate.c - factors of memory from samples whose factors are known.
 */
#include "check.h"
#include "memory/forest.h"
#include "memory/memory_kinds.h"

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
	/* less doubt about the context with each network, and never none */
	CHECK_EQ(f.context_spread_mb, 60);
	(void) calibrate(8, NAN, false, &f);
	CHECK_NEAR(f.context_spread_mb, 350 / sqrt(3), 1e-9);
	(void) calibrate(N, NAN, true, &f);
	CHECK_NEAR(f.context_spread_mb, 350 / sqrt(101), 1e-9);
	/* two networks that take just what is expected: no error of theirs, and five networks' of what was known */
	for (int i = 0; i < 8; i++)
		samples[i].measured = 1240 + samples[i].simulated + samples[i].conv;
	(void) calibrate(8, NAN, false, &f);
	CHECK_NEAR(f.spread, 5 * 0.06 / 7, 1e-6);
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

/* A batch that fits says that the device has at least what it needs, one that does not that it has less; rows without either say nothing. */
static void
test_share_in_brackets(void)
{
	static const double fits[] = {10000, NAN, 9000, NAN, NAN, 9000};
	static const double fails[] = {NAN, 10000, NAN, 9500, NAN, 11000};
	pm_memory_factors f;
	pm_memory_fit fit;

	for (int i = 0; i < 6; i++)
		samples[i] = (pm_memory_sample) {.network = 1 + i,.simulated = 1,.measured = NAN,.need_fits = fits[i],.need_fails = fails[i]};
	fit = calibrate(6, 11240, false, &f);
	/* the first, the third and the sixth, of five: what needs just as much as there is fits */
	CHECK_EQ(fit.brackets, 5);
	CHECK_EQ(fit.in_bracket_before, 60);
}

static double
logistic(double x)
{
	return 1 / (1 + exp(-x));
}

/*
 * The logarithm of the posterior of n rows of weights w, of which available is 10000: the least that a step needs follows a logistic
 * distribution about `mean`; one row in a hundred is off.  Priors: 0.05 of the mean, half of the logarithm of the scale.
 */
static double
posterior(int n, const double *w, double mean, double scale)
{
	double		sum = -pow(mean / 0.05, 2) / 2 - pow(log(scale / usual.fit_spread) / 0.5, 2) / 2;

	for (int i = 0; i < n; i++)
	{
		double		p = 1;

		if (!isnan(samples[i].need_fits))
			p = logistic(-(log(samples[i].need_fits / 10000) + mean) / scale);
		if (!isnan(samples[i].need_fails))
			p -= logistic(-(log(samples[i].need_fails / 10000) + mean) / scale);
		sum += w[i] * log(0.01 + 0.99 * fmax(0, p));
	}
	return sum;
}

/* The most probable centre and scale, of 81 times 13. */
static void
check_most_probable(int n, const double *w)
{
	pm_memory_factors f;
	double		best = -INFINITY;
	double		mean = 0;
	double		scale = 0;

	for (int i = -40; i <= 40; i++)
		for (int j = -6; j <= 6; j++)
		{
			double		p = posterior(n, w, 0.005 * i, usual.fit_spread * pow(1.25, j));

			if (p > best)
			{
				best = p;
				mean = 0.005 * i;
				scale = usual.fit_spread * pow(1.25, j);
			}
		}
	(void) calibrate(n, 11240, false, &f);
	CHECK_NEAR(f.need_factor, exp(mean), 1e-12);
	CHECK_NEAR(f.fit_spread, scale, 1e-12);
}

static void
test_most_probable(void)
{
	double		w[60];

	/* one row that says too much, one that says it precisely */
	w[0] = 1;
	samples[0] = (pm_memory_sample) {.network = 1,.simulated = 1,.measured = NAN,.need_fits = 12500,.need_fails = 20000};
	check_most_probable(1, w);
	samples[0].need_fits = 9900;
	samples[0].need_fails = 10100;
	check_most_probable(1, w);
	/* batches that fit alone, that do not fit alone, and forty of one network, which count as one */
	for (int i = 0; i < 60; i++)
	{
		samples[i] = (pm_memory_sample) {.network = i < 20 ? 2 + i : 1,.simulated = 1,.measured = NAN,.need_fits = NAN,.need_fails = NAN};
		w[i] = i < 20 ? 1 : 1 / 40.0;
		if (i % 2)
			samples[i].need_fits = i < 20 ? 10400 : 9000;
		else
			samples[i].need_fails = i < 20 ? 11000 : 9200;
	}
	check_most_probable(60, w);
	for (int i = 0; i < 20; i++)
	{
		samples[i].need_fits = NAN;
		samples[i].need_fails = 9700;
	}
	check_most_probable(20, w);
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
			.sample = samples[i], .weights = 10 + pm_rng_uniform(&r), .states = 20,
			.outputs = samples[i].simulated * (0.5 + pm_rng_uniform(&r)), .largest = 1
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

/* ---------- kinds ---------- */

#define N_ROWS	160
#define MB	1048576.0

static pm_memory_row rows[N_ROWS];
static pm_memory_plan plans[N_ROWS];
static const pm_gpu cards[] = {
	{.name = "T4", .memory_gb = 16, .sm_count = 40}, {.name = "L4", .memory_gb = 24, .sm_count = 58}, {.name = "unseen", .memory_gb = 24, .sm_count = 58}
};

/* A network that takes fixed and per MB, all of them in tensors that live at the peak. */
static void
make_plan(pm_memory_plan *plan, uint64_t structure, double fixed, double per)
{
	*plan = (pm_memory_plan) {.structure = structure, .weights = fixed * MB / 3, .gradients = fixed * MB / 3, .optimizer = fixed * MB / 3,
		.asked.n_lines = 1, .outputs_per = per * MB / 2, .largest_per = per * MB / 10};
	plan->asked.lines[0].fixed = fixed * MB;
	plan->asked.lines[0].per = per * MB;
	for (int i = 0; i < PM_N_MEMORY_ANCHORS; i++)
		plan->asked.reserved[i] = (fixed + pm_memory_anchors[i] * per) * MB;
}

/* Half of the rows on a T4, which takes 800 MB and 1.08 times the simulated, half on an L4 with 1600 MB and 0.97 times. */
static void
make_rows(void)
{
	pm_rng		r;

	pm_rng_seed(&r, 7);
	for (int i = 0; i < N_ROWS; i++)
	{
		bool		first = i % 2 == 0;
		double		fixed = 20 + 300 * pm_rng_uniform(&r);
		double		per = 5 + 60 * pm_rng_uniform(&r);

		make_plan(&plans[i], (uint64_t) i + 1, fixed, per);
		rows[i] = (pm_memory_row) {
			.question = {.gpu = &cards[first ? 0 : 1], .batch = 64, .dtype = PM_FP32, .optimizer = PM_SGD_MOMENTUM, .framework = "pytorch 1.13"},
			.plan = &plans[i], .measured_mb = first ? 800 + 1.08 * (fixed + 64 * per) : 1600 + 0.97 * (fixed + 64 * per)
		};
	}
}

static pm_memory_answer
answer_to(const char *name, int n, const pm_memory_row *row)
{
	const pm_memory_model *model;
	pm_memory_answer answer;
	pm_status	st;

	CHECK(pm_memory_model_fit(pm_memory_kind_find(name), rows, n, &arena, &model, &st) == PM_OK);
	pm_memory_model_answer(model, row, 0.9, &answer);
	return answer;
}

/* Rows of each device are answered by what was learned of that device, whatever the framework and the format asked for. */
static void
test_kinds(void)
{
	static const char *const fitted[] = {"memory", "memory_sums"};

	make_rows();
	for (int k = 0; k < 2; k++)
		for (int i = N_ROWS - 20; i < N_ROWS; i++)
		{
			pm_memory_row other = rows[i];

			CHECK_NEAR(answer_to(fitted[k], N_ROWS - 20, &rows[i]).peak_mb / rows[i].measured_mb, 1, 0.03);
			other.question.framework = NULL;
			other.question.dtype = PM_AMP;
			CHECK_EQ(answer_to(fitted[k], N_ROWS - 20, &other).peak_mb, answer_to(fitted[k], N_ROWS - 20, &rows[i]).peak_mb);
		}
	CHECK(answer_to("memory", N_ROWS, &rows[0]).low_mb < rows[0].measured_mb && answer_to("memory", N_ROWS, &rows[0]).high_mb > rows[0].measured_mb);
	CHECK_EQ(answer_to("memory", N_ROWS, &rows[0]).in_domain, 1);
	CHECK(isnan(answer_to("memory_sums", N_ROWS, &rows[0]).low_mb));
	CHECK_EQ(answer_to("memory_static", 0, &rows[0]).in_domain, -1);
}

/* A device without rows: as shipped, which says so; sums learn from all rows. */
static void
test_unseen_device(void)
{
	pm_memory_row row = rows[0];
	pm_memory_factors shipped;
	pm_memory_estimate e;

	row.question.gpu = &cards[2];
	pm_memory_shipped_factors(&row.question, &shipped);
	pm_memory_estimate_at(row.plan, &row.question, &shipped, 0.9, &e);
	CHECK_EQ(answer_to("memory", N_ROWS, &row).peak_mb, e.peak_mb);
	CHECK_EQ(answer_to("memory", N_ROWS, &row).in_domain, 0);
	CHECK_EQ(answer_to("memory_shipped", 0, &row).peak_mb, e.peak_mb);
	CHECK(answer_to("memory_sums", N_ROWS, &row).peak_mb > 0.7 * rows[0].measured_mb && answer_to("memory_sums", N_ROWS, &row).peak_mb < 2 * rows[0].measured_mb);
	/* two rows of the L4 are too few for a regression of their own: it answers as an unseen device does */
	row = rows[1];
	row.question.gpu = &cards[2];
	CHECK(isfinite(answer_to("memory_sums", 4, &rows[1]).peak_mb));
	CHECK_EQ(answer_to("memory_sums", 4, &rows[1]).peak_mb, answer_to("memory_sums", 4, &row).peak_mb);
}

/* ---------- the forest ---------- */

#define N_GROWN	200

static double
forest_says(const double *x, const double *y, int n, uint64_t seed, double a, double b)
{
	const double at[] = {a, b};
	const pm_forest *f;
	pm_status	st;

	CHECK(pm_forest_fit(x, y, n, 2, seed, &arena, &f, &st) == PM_OK);
	return pm_forest_at(f, at);
}

static void
test_forest(void)
{
	double		x[2 * N_GROWN];
	double		y[N_GROWN];
	pm_rng		r;

	pm_rng_seed(&r, 3);
	for (int i = 0; i < N_GROWN; i++)
	{
		x[2 * i] = pm_rng_uniform(&r);
		x[2 * i + 1] = pm_rng_uniform(&r);
		y[i] = x[2 * i] < 0.5 ? 10 : x[2 * i + 1] < 0.3 ? 20 : 40;
	}
	/* a function of steps is learned; beyond the rows it goes on as at their end */
	CHECK_NEAR(forest_says(x, y, N_GROWN, 1, 0.2, 0.9), 10, 0.5);
	CHECK_NEAR(forest_says(x, y, N_GROWN, 1, 0.8, 0.1), 20, 2);
	CHECK_NEAR(forest_says(x, y, N_GROWN, 1, 0.8, 0.8), 40, 0.5);
	CHECK_EQ(forest_says(x, y, N_GROWN, 1, 1e9, 1e9), forest_says(x, y, N_GROWN, 1, 1, 1));
	/* the same seed, the same forest */
	CHECK_EQ(forest_says(x, y, N_GROWN, 1, 0.5, 0.3), forest_says(x, y, N_GROWN, 1, 0.5, 0.3));
	/* a row, rows that are all alike, rows that nothing tells apart */
	CHECK_EQ(forest_says(x, y, 1, 1, 0.5, 0.5), y[0]);
	for (int i = 0; i < N_GROWN; i++)
		y[i] = 7;
	CHECK_EQ(forest_says(x, y, N_GROWN, 1, 0.5, 0.5), 7);
	for (int i = 0; i < N_GROWN; i++)
	{
		x[2 * i] = x[2 * i + 1] = 1;
		y[i] = i % 2;
	}
	CHECK_NEAR(forest_says(x, y, N_GROWN, 1, 1, 1), 0.5, 0.05);
}

/* The kinds after SchedTune and DNNMem. */
static void
test_published(void)
{
	pm_memory_row row = rows[0];
	double		error = 0;

	for (int i = 0; i < 20; i++)
		error += fabs(answer_to("memory_schedtune", N_ROWS, &rows[i]).peak_mb / rows[i].measured_mb - 1) / 20;
	CHECK(error < 0.15);
	CHECK(isnan(answer_to("memory_schedtune", N_ROWS, &row).low_mb));
	/* a device without rows is told by its sheet */
	row.question.gpu = &cards[2];
	CHECK(isfinite(answer_to("memory_schedtune", N_ROWS, &row).peak_mb));
	CHECK(isfinite(answer_to("memory_dnnmem", 0, &row).peak_mb) && answer_to("memory_dnnmem", 0, &row).in_domain == -1);
}

static void
test_too_few(void)
{
	const pm_memory_model *model;
	pm_status	st;

	CHECK(pm_memory_model_fit(pm_memory_kind_find("memory"), rows, 0, &arena, &model, &st) == PM_ERR_DATA);
	CHECK_HAS(st.message, "kind \"memory\" needs measurements of peak_memory_mb: at least 1");
	CHECK(pm_memory_model_fit(pm_memory_kind_find("memory_sums"), rows, 3, &arena, &model, &st) == PM_ERR_DATA);
	CHECK(pm_memory_model_fit(pm_memory_kind_find("memory_schedtune"), rows, 9, &arena, &model, &st) == PM_ERR_DATA);
	CHECK(pm_memory_kind_find("mdot") == NULL && pm_memory_kind_at(99) == NULL);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_peaks();
	test_few();
	test_brackets();
	test_share_in_brackets();
	test_most_probable();
	test_rivals();
	test_nothing();
	test_stop();
	test_kinds();
	test_unseen_device();
	test_forest();
	test_published();
	test_too_few();
	pm_arena_release(&arena);
	return check_done("memory_calibrate");
}
