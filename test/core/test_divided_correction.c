/*
 * test_divided_correction.c - what measurements with tp or pp say beyond the numbers of a cluster.
 */
#include "check.h"

#include "scaling/divided_correction.h"
#include "scaling/fit.h"

#define MAX_ROWS 3000

static pm_arena arena;
static pm_rng rng;
static double x[MAX_ROWS * PM_DIVIDED_FEATURES];
static double left[MAX_ROWS];

/* 16 layers of this hidden size; what is not given is that of one GPU. */
static pm_step_shape
layers_of(double hidden, double tokens)
{
	double		forward_ms = 1e-9 * tokens * hidden * hidden;

	return (pm_step_shape) {
		.n = 1, .message_bytes = 25e6, .layers = 16, .activation_bytes = 2 * tokens * hidden, .gradient_bytes = 2 * 16 * 12 * hidden * hidden,
		.step_ms = 3 * forward_ms + 8, .forward_ms = forward_ms, .backward_ms = 2 * forward_ms, .update_ms = 8,
		.bytes = {2 * 16 * 12 * hidden * hidden}, .bucket_ms = {2 * forward_ms}
	};
}

static pm_parallel
divided_by(int tp, int pp, int copies)
{
	return (pm_parallel) {.world_size = tp * pp * copies,.nodes = 1,.accumulation = 8,.bucket_mb = 25,.tp = tp,.pp = pp,.interleave = 1,.cp = 1};
}

/* What is true of the machine: kernels of a fourth of a layer are slow, the more so with few tokens. */
static double
truth(double hidden, double tokens, int tp)
{
	return tp == 4 ? 0.3 - 0.1 * log(tokens / 1024) / log(2) / 3 : hidden > 1500 ? -0.1 : 0.05;
}

/* Layouts of up to 8 GPUs: tp, pp, copies of the model. */
static const int layouts[][3] = {
	{1, 1, 1}, {1, 1, 2}, {1, 1, 4}, {1, 1, 8}, {1, 2, 1}, {1, 2, 2}, {1, 2, 4}, {1, 4, 1}, {1, 4, 2}, {1, 8, 1},
	{2, 1, 1}, {2, 1, 2}, {2, 1, 4}, {2, 2, 1}, {2, 2, 2}, {2, 4, 1}, {4, 1, 1}, {4, 1, 2}, {4, 2, 1}
};

/* All of two hidden sizes, four batches, and these layouts; returns how many. */
static int
make_rows(double noise)
{
	int			n = 0;

	for (double hidden = 1024; hidden <= 2048; hidden *= 2)
		for (double tokens = 1024; tokens <= 8192; tokens *= 2)
			for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
			{
				pm_step_shape s = layers_of(hidden, tokens);
				pm_parallel p = divided_by(layouts[i][0], layouts[i][1], layouts[i][2]);

				if (!pm_divided_correction_is_for(&p))
					continue;
				pm_divided_correction_features(&s, &p, x + n * PM_DIVIDED_FEATURES);
				left[n++] = truth(hidden, tokens, layouts[i][0]) + noise * (2 * pm_rng_uniform(&rng) - 1);
			}
	return n;
}

static double
factor_at(const pm_divided_correction *c, double hidden, double tokens, pm_parallel p, double *share)
{
	pm_step_shape s = layers_of(hidden, tokens);
	double		at[PM_DIVIDED_FEATURES];

	pm_divided_correction_features(&s, &p, at);
	return pm_divided_correction_at(c, at, share);
}

static void
learn(int n, pm_divided_correction *c, double *gain)
{
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_divided_correction_fit(x, left, n, &arena, c, gain, &st), PM_OK);
}

/* It follows the measurements where they are, and is nothing far from them. */
static void
test_near_and_far(void)
{
	pm_divided_correction c;
	double		gain,
				share,
				far;
	int			n = make_rows(0.01);

	learn(n, &c, &gain);
	CHECK(c.n > 16 && c.n <= PM_DIVIDED_POINTS);
	CHECK_EQ(c.rows, n);
	CHECK(gain < 0.5);
	for (int tp = 2; tp <= 4; tp *= 2)
		for (double tokens = 1024; tokens <= 8192; tokens *= 2)
		{
			CHECK_NEAR(log(factor_at(&c, 2048, tokens, divided_by(tp, 2, 1), &share)), truth(2048, tokens, tp), 0.05);
			CHECK(share < 0.6);
		}
	/* ten times as large, on a hundred times the GPUs */
	CHECK_NEAR(factor_at(&c, 14336, 4096, divided_by(4, 12, 8), &far), 1, 0.01);
	CHECK(far > 0.95 && far <= 1 && far > share);
	/* another tp is another set of kernels */
	CHECK_NEAR(factor_at(&c, 2048, 4096, divided_by(16, 1, 1), &share), 1, 0.02);
	CHECK(share > 0.95 && share <= 1);
	/* a feature in which the rows do not differ says nothing of other values of it */
	for (int i = 0; i < n; i++)
		x[i * PM_DIVIDED_FEATURES + PM_BY_WIDTH] = log(1024);
	learn(n, &c, &gain);
	CHECK_NEAR(c.length[PM_BY_WIDTH], 0.35, 1e-12);
}

/* Nothing is learned from noise, nor from a handful of rows. */
static void
test_nothing(void)
{
	pm_divided_correction c;
	double		gain;
	int			n = make_rows(0.01);

	learn(PM_DIVIDED_MIN_ROWS - 1, &c, &gain);
	CHECK_EQ(c.n, 0);
	for (int i = 0; i < n; i++)
		left[i] = 0.2 * (2 * pm_rng_uniform(&rng) - 1);
	learn(n, &c, &gain);
	CHECK_EQ(c.n, 0);
	memset(left, 0, sizeof(left));
	learn(n, &c, &gain);
	CHECK_EQ(c.n, 0);
}

/*
 * One point, of which an error of 0.3 was measured, and a step one length from it, by hand: the likeness is exp(-1/2), and
 * the noise of 0.4 leaves 1 / 1.16 of what the point says.
 */
static void
test_one_point(void)
{
	double		numbers[PM_DIVIDED_NUMBERS(1)] = {8, 0.1, 0.4, 0.05};
	double		at[PM_DIVIDED_FEATURES] = {0};
	double		left_over = 1.16 - exp(-1) / 1.16;	/* of the variance */
	double		share;
	pm_divided_correction c;
	pm_status	st = {PM_OK};

	for (int k = 0; k < PM_DIVIDED_FEATURES; k++)
		numbers[4 + k] = 0.7;
	numbers[PM_DIVIDED_NUMBERS(1) - 1] = 0.3;
	CHECK_EQ(pm_divided_correction_read(numbers, PM_DIVIDED_NUMBERS(1), &c, &st), PM_OK);
	at[PM_BY_WIDTH] = 0.7;
	CHECK_NEAR(pm_divided_correction_at(&c, at, &share), exp(0.3 / 1.16 * exp(-0.5)), 1e-12);
	/* near, errors are 0.1; far, as large as without a correction, 0.3; around the point measurements scatter by 0.05 */
	CHECK_NEAR(share, sqrt((left_over * (0.01 + left_over * (0.09 - 0.01)) + 0.0025) / (0.09 + 0.0025)), 1e-12);
	/* on the point no less than its noise is left */
	at[PM_BY_WIDTH] = 0;
	pm_divided_correction_at(&c, at, &share);
	CHECK_NEAR(share, sqrt(((1.16 - 1 / 1.16) * (0.01 + (1.16 - 1 / 1.16) * 0.08) + 0.0025) / (0.09 + 0.0025)), 1e-12);
	/* each number has its bounds, whatever the others are */
	for (int k = 0; k < PM_DIVIDED_NUMBERS(1); k++)
	{
		double		good = numbers[k];

		numbers[k] = 1e3;
		CHECK_EQ(pm_divided_correction_read(numbers, PM_DIVIDED_NUMBERS(1), &c, &st), k == 0 ? PM_OK : PM_ERR_DATA);
		numbers[k] = -1e3;
		CHECK_EQ(pm_divided_correction_read(numbers, PM_DIVIDED_NUMBERS(1), &c, &st), PM_ERR_DATA);
		numbers[k] = good;
	}
}

/* However many rows and however wild: as few points, and a factor between a half and twice. */
static void
test_bounds(void)
{
	pm_divided_correction c;
	double		gain,
				share;

	for (int i = 0; i < MAX_ROWS; i++)
	{
		for (int k = 0; k < PM_DIVIDED_FEATURES; k++)
			x[i * PM_DIVIDED_FEATURES + k] = 5 * pm_rng_uniform(&rng);
		left[i] = 4 * sin(x[i * PM_DIVIDED_FEATURES + PM_BY_TOKENS]);
	}
	learn(MAX_ROWS, &c, &gain);
	CHECK(c.n <= PM_DIVIDED_POINTS);
	for (int i = 0; c.n > 0 && i < MAX_ROWS; i++)
	{
		double		f = pm_divided_correction_at(&c, x + i * PM_DIVIDED_FEATURES, &share);

		CHECK(f >= 1 / PM_DIVIDED_FACTOR && f <= PM_DIVIDED_FACTOR && share > 0 && share <= 1);
	}
	/* the same row again and again */
	for (int i = 0; i < 100; i++)
	{
		memcpy(x + i * PM_DIVIDED_FEATURES, x, PM_DIVIDED_FEATURES * sizeof(double));
		left[i] = 0.2;
	}
	learn(100, &c, &gain);
	CHECK(c.n <= 1);
}

static void
test_stored(void)
{
	pm_divided_correction c;
	pm_divided_correction back;
	pm_status	st = {PM_OK};
	double		gain,
				share,
				again;
	double		numbers[PM_DIVIDED_NUMBERS(PM_DIVIDED_POINTS) + 1];
	double		damaged[PM_DIVIDED_NUMBERS(PM_DIVIDED_POINTS) + 1];
	int			n;

	learn(make_rows(0.01), &c, &gain);
	n = PM_DIVIDED_NUMBERS(c.n);
	pm_divided_correction_write(&c, numbers);
	CHECK_EQ(pm_divided_correction_read(numbers, n, &back, &st), PM_OK);
	for (double tokens = 1024; tokens <= 65536; tokens *= 1.5)
	{
		CHECK_EQ(factor_at(&back, 1500, tokens, divided_by(2, 2, 2), &again), factor_at(&c, 1500, tokens, divided_by(2, 2, 2), &share));
		CHECK_EQ(again, share);
	}
	CHECK_EQ(pm_divided_correction_read(numbers, n - 1, &back, &st), PM_ERR_DATA);
	CHECK_HAS(st.message, "not a correction");
	CHECK_EQ(pm_divided_correction_read(numbers, n + 1, &back, &st), PM_ERR_DATA);
	CHECK_EQ(pm_divided_correction_read(numbers, PM_DIVIDED_HEAD, &back, &st), PM_ERR_DATA);
	CHECK_EQ(pm_divided_correction_read(numbers, 0, &back, &st), PM_ERR_DATA);
	/* damaged numbers are refused, or give a factor that is none of a wild one */
	for (int i = 0; i < 5000; i++)
	{
		static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -1, 1e308, -1e308, 1e-308, 0.5, 64};

		memcpy(damaged, numbers, sizeof(numbers));
		for (int k = 0; k < 1 + i % 3; k++)
			damaged[(int) (pm_rng_uniform(&rng) * (i % 2 ? n : PM_DIVIDED_HEAD))] = odd[(int) (pm_rng_uniform(&rng) * 10)];
		if (pm_divided_correction_read(damaged, n, &back, &st) == PM_OK)
		{
			double		f = factor_at(&back, 1024, 2048, divided_by(2, 2, 2), &share);

			CHECK(f >= 0.5 && f <= 2 && share >= 0 && share <= 1);
		}
		else
			CHECK(st.message[0] != '\0');
	}
}

/* ---- a cluster ---- */

static const pm_link_row switch_rows[] = {{2, 190, 46, 0}, {4, 218, 54, 0}, {8, 227, 78, 0}};

static pm_fabric
machine(void)
{
	return (pm_fabric) {
		.name = "c", .intra = {"i", PM_LINK_NVSWITCH, 3, switch_rows}, .gpus_per_node = 8, .adapters = 1, .intra_factor = 1, .inter_factor = 1,
		.pair_factor = 1, .latency_factor = 1, .compute_factor = 1, .overlap = 0.5, .contention_power = 0.7, .comm_error = 0.3
	};
}

/* Steps of both kinds, as the machine takes them; shapes[] are for them. */
static int
measure(const pm_fabric *f, pm_step_shape *shapes, pm_scaled_row *rows)
{
	int			n = 0;

	for (double hidden = 1024; hidden <= 2048; hidden *= 2)
		for (double tokens = 1024; tokens <= 8192; tokens *= 2)
			for (int tp = 1; tp <= 4; tp *= 2)
				for (int pp = 1; tp * pp <= 8; pp *= 2)
				{
					pm_parallel p = divided_by(tp, pp, 8 / tp / pp);
					pm_scaled	s;

					shapes[n] = layers_of(hidden, tokens);
					pm_scaled_step(&shapes[n], &p, f, 1, &s);
					rows[n] = (pm_scaled_row) {&shapes[n], p, s.step_ms * (tp * pp > 1 ? exp(truth(hidden, tokens, tp)) : 1.02), (int) hidden};
					n++;
				}
	return n;
}

static void
test_cluster(void)
{
	static pm_step_shape shapes[200];
	static pm_scaled_row rows[200];
	pm_fabric	f = machine();
	pm_fabric	plain;
	pm_status	st = {PM_OK};
	pm_parallel far = divided_by(4, 2, 1);
	double		before,
				after,
				again;
	int			n = measure(&f, shapes, rows);

	CHECK_EQ(pm_fabric_fit(&f, rows, n, NULL, &arena, &before, &after, &st), PM_OK);
	CHECK(f.correction != NULL);
	plain = f;
	plain.correction = NULL;
	CHECK(after < 0.6 * pm_fabric_error(&plain, rows, n));
	for (int i = 0; i < n; i++)
	{
		pm_scaled	with,
					without;
		bool		is_far,
					divided = rows[i].parallel.tp > 1 || rows[i].parallel.pp > 1;
		double		share = pm_error_share(rows[i].shape, &rows[i].parallel, &f, &is_far);

		pm_scaled_step(rows[i].shape, &rows[i].parallel, &f, 1, &with);
		pm_scaled_step(rows[i].shape, &rows[i].parallel, &plain, 1, &without);
		CHECK_NEAR(with.step_ms, with.compute_ms + with.exposed_ms, 1e-9 * with.step_ms);
		CHECK(with.exposed_ms <= with.comm_ms * (1 + 1e-12));
		/* data parallel steps are as they are without it */
		CHECK(divided || with.step_ms == without.step_ms);
		CHECK(divided ? share <= 1 : share == 1);
		/* the correction was learned from these very rows */
		CHECK(!is_far);
	}
	/* more micro-batches never take less: nothing of the correction depends on them */
	for (int k = 1, last = 0; k <= 64; k *= 2)
	{
		pm_scaled	s;

		far.accumulation = k;
		pm_scaled_step(&shapes[0], &far, &f, 1, &s);
		CHECK(s.step_ms > last);
		last = (int) s.step_ms;
	}
	/* once more, from what was found: the numbers are fitted without the correction, and it is learned anew */
	CHECK_EQ(pm_fabric_fit(&f, rows, n, NULL, &arena, &before, &again, &st), PM_OK);
	CHECK_NEAR(before, after, 1e-12);
	CHECK(again <= before + 0.01 && f.correction != NULL);
}

/* Every part of a step has its factor, also what other GPUs of the machine add where weights are divided beside layers. */
static void
test_parts(void)
{
	pm_divided_correction c;
	pm_fabric	f = machine();
	pm_step_shape s = layers_of(2048, 4096);
	pm_parallel p = divided_by(4, 1, 2);
	double		gain;
	pm_scaled	to;

	learn(make_rows(0.01), &c, &gain);
	f.contention = 0.1;
	p.zero = 3;
	pm_scaled_step(&s, &p, &f, 1, &to);
	CHECK(to.contention_ms > 0);
	CHECK_NEAR(to.forward_ms + to.backward_ms + to.update_ms + to.contention_ms + to.bubble_ms, to.compute_ms, 1e-9);
	f.correction = &c;
	pm_scaled_step(&s, &p, &f, 1, &to);
	CHECK(fabs(factor_at(&c, 2048, 4096, p, &gain) - 1) > 0.05);
	CHECK_NEAR(to.forward_ms + to.backward_ms + to.update_ms + to.contention_ms + to.bubble_ms, to.compute_ms, 1e-9);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	pm_rng_seed(&rng, 7);
	test_near_and_far();
	test_nothing();
	test_one_point();
	test_bounds();
	test_stored();
	test_cluster();
	test_parts();
	pm_arena_release(&arena);
	return check_done("divided_correction");
}
