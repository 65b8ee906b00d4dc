/*
 * test_kriging.c - corrections by near networks: against systems solved by
 * hand, far from every point, on repeated rows, and through storing.
 */
#include "../../src/core/kriging.h"
#include "check.h"

#define NEAR(got, want) CHECK_NEAR((double) (got), (double) (want), 1e-6)

static pm_arena arena;

static pm_kriging
fit(const pm_real *raw, int d, const double *residual, const uint64_t *key, int n)
{
	pm_kriging	k;
	pm_status	st;

	CHECK_EQ(pm_kriging_fit(&k, raw, d, residual, key, n, &arena, &st), PM_OK);
	return k;
}

/* One point: the coordinates do not vary, every place is that point. A row weighs against a noise of 1. */
static void
test_one_point(void)
{
	const pm_real raw[] = {3, 3, 3};
	const double residual[] = {0.1, 0.1, 0.1};
	const uint64_t key[] = {5, 5, 5};
	pm_kriging	once = fit(raw, 1, residual, key, 1);
	pm_kriging	thrice = fit(raw, 1, residual, key, 3);
	double		nearest;

	NEAR(pm_kriging_correction(&once, raw, &nearest), 0.1 / 2);
	NEAR(nearest, 1);
	CHECK_EQ(thrice.n, 1);
	NEAR(pm_kriging_correction(&thrice, raw, NULL), 0.1 / (1 + 1.0 / 3));
}

/*
 * Two points at 0 and 2: mean 1, sigma 1, so they lie at -1 and 1 and their
 * distance is 2, their covariance c = exp(-2 / 0.8).
 * (2 c; c 2) alpha = (0.1; -0.05).
 */
static void
test_two_points(void)
{
	const pm_real raw[] = {0, 2};
	const double residual[] = {0.1, -0.05};
	const uint64_t key[] = {1, 2};
	const double c = exp(-2 / 0.8);
	const double det = 4 - c * c;
	const double a0 = (2 * 0.1 + c * 0.05) / det;
	const double a1 = (-2 * 0.05 - c * 0.1) / det;
	const pm_real middle = 1;
	pm_kriging	k = fit(raw, 1, residual, key, 2);
	double		nearest;

	NEAR(pm_kriging_correction(&k, &raw[0], NULL), a0 + a1 * c);
	NEAR(pm_kriging_correction(&k, &raw[1], NULL), a0 * c + a1);
	NEAR(pm_kriging_correction(&k, &middle, &nearest), (a0 + a1) * exp(-1 / 0.8));
	NEAR(nearest, exp(-1 / 0.8));
}

/* Residuals beyond 1 count as 1; rows of a key are averaged after that. */
static void
test_wild_residuals(void)
{
	const pm_real raw[] = {7, 7};
	const double residual[] = {5, -0.1};
	const uint64_t same[] = {9, 9};
	pm_kriging	wild = fit(raw, 1, residual, same, 1);
	pm_kriging	both = fit(raw, 1, residual, same, 2);

	NEAR(pm_kriging_correction(&wild, raw, NULL), 0.5);
	NEAR(pm_kriging_correction(&both, raw, NULL), 0.45 / 1.5);
}

/* A cluster is corrected, a place far away in all coordinates hardly; one that never varied does not count. */
static void
test_far(void)
{
	enum {N = 200, D = 6};
	static pm_real raw[N * D];
	static double residual[N];
	static uint64_t key[N];
	pm_real		inside[D];
	pm_real		far[D];
	pm_kriging	k;
	double		nearest;
	pm_rng		rng;

	pm_rng_seed(&rng, 3);
	for (int i = 0; i < N; i++)
	{
		bool		slow = i % 2 == 0;

		key[i] = (uint64_t) i + 1;
		residual[i] = slow ? 0.2 : 0;
		for (int j = 0; j < D; j++)
			raw[i * D + j] = j == D - 1 ? 1 : (pm_real) ((slow ? 3 : -3) + pm_rng_uniform(&rng));
	}
	k = fit(raw, D, residual, key, N);
	for (int j = 0; j < D; j++)
	{
		inside[j] = j == D - 1 ? 50 : (pm_real) 3.5;
		far[j] = j == D - 1 ? 1 : (pm_real) (j % 2 ? 1000 : -1000);
	}
	NEAR(k.factor[D - 1], 0);
	CHECK(pm_kriging_correction(&k, inside, &nearest) > 0.15 && nearest > 0.7);
	CHECK(fabs(pm_kriging_correction(&k, far, &nearest)) < 0.03 && nearest < 0.1);
	for (int j = 0; j < D - 1; j++)
		inside[j] -= 6;
	CHECK(fabs(pm_kriging_correction(&k, inside, NULL)) < 0.05);
}

static void
test_storing(void)
{
	const pm_real raw[] = {0, 1, 2, 5, 4, 3};
	const double residual[] = {0.1, -0.05, 0.2};
	const uint64_t key[] = {1, 2, 3};
	pm_kriging	k = fit(raw, 2, residual, key, 3);
	pm_kriging	copy;
	pm_buffer	b = {.arena = &arena};
	pm_reader	r;
	pm_status	st;

	pm_kriging_save(&k, &b);
	r = (pm_reader) {.data = b.data, .len = b.len};
	CHECK_EQ(pm_kriging_load(&copy, 2, &r, &arena, &st), PM_OK);
	CHECK(!r.failed && r.at == r.len && copy.n == 3);
	for (int i = 0; i < 3; i++)
		CHECK(pm_kriging_correction(&copy, raw + 2 * i, NULL) == pm_kriging_correction(&k, raw + 2 * i, NULL));
	r = (pm_reader) {.data = b.data, .len = b.len - 8};
	CHECK(pm_kriging_load(&copy, 2, &r, &arena, &st) == PM_ERR_FORMAT);
	b.data[0] = 0xff;
	b.data[2] = 0xff;
	r = (pm_reader) {.data = b.data, .len = b.len};
	CHECK(pm_kriging_load(&copy, 2, &r, &arena, &st) == PM_ERR_FORMAT);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_one_point();
	test_two_points();
	test_wild_residuals();
	test_far();
	test_storing();
	pm_arena_release(&arena);
	return check_done("kriging");
}
