/*
 * test_drift.c - evidence of drift: silent while ranks are uniform, whatever
 * the looks, and soon loud when one card is slower; bounds of proportions.
 */
#include "check.h"

#include "base/metrics.h"
#include "drift/drift.h"

#include <stdlib.h>

static pm_arena arena;

static pm_drift
run_after(const pm_drift_row *rows, int n, int calibration)
{
	pm_drift	d;
	pm_status	st = {PM_OK};
	pm_arena	a;

	pm_arena_init_malloc(&a);
	CHECK_EQ(pm_drift_run(rows, n, calibration, &a, &d, &st), PM_OK);
	pm_arena_release(&a);
	return d;
}

static pm_drift
run(const pm_drift_row *rows, int n)
{
	return run_after(rows, n, 0);
}

/* ---- a predictor, its calibration, and measurements ---- */

#define SPREAD		0.06		/* of ln(measured / predicted) from network to network */
#define WITHIN		0.02		/* and from row to row of one */

static double
normal(pm_rng *r)
{
	return sqrt(-2 * log(1 - pm_rng_uniform(r))) * cos(2 * M_PI * pm_rng_uniform(r));
}

/* A factor of both: how far a predictor is off. */
static double wrong = 1;

static double
residual(pm_rng *r, double network)
{
	return wrong * (SPREAD * network + WITHIN * normal(r));
}

/* The tails whose ends predict() is asked for; see functions_drift.sql. */
static const double tails[] = {0.25, 0.2, 0.15, 0.1, 0.05, 0.025, 0.01, 0.005};

#define N_TAILS ((int) (sizeof(tails) / sizeof(tails[0])))

/* Where u stands among the sorted residuals of m structures, as far as intervals tell: conformal ones, as interval.c makes. */
static void
rank_row(const double *calibration, int m, double u, pm_drift_row *row)
{
	row->low = 0.25;
	row->high = 0.75;
	for (int i = 0; i < N_TAILS; i++)
	{
		double		next = i + 1 < N_TAILS ? tails[i + 1] : 0;
		int			at = (int) floor(tails[i] * (m + 1));	/* structures beyond, the new one counted */
		double		stretch = at < 1 ? log(1 / tails[i]) / log(m + 1.0) : 1;
		double		high = at < 1 ? calibration[m - 1] * stretch : calibration[m - at];
		double		low = at < 1 ? calibration[0] * stretch : calibration[at - 1];

		if (u > high)
			*row = (pm_drift_row) {row->network, 1 - tails[i], 1 - next};
		else if (u < low)
			*row = (pm_drift_row) {row->network, next, tails[i]};
	}
}

/* A calibration on m networks, then `networks` new ones of `each` rows, `shift` (a factor) slower. */
static void
replay(pm_rng *r, int m, int networks, int each, double shift, pm_drift_row *rows)
{
	double		calibration[400];

	for (int i = 0; i < m; i++)
		calibration[i] = residual(r, normal(r));
	pm_sort(calibration, m);
	for (int i = 0; i < networks; i++)
	{
		double		network = normal(r);

		for (int k = 0; k < each; k++)
		{
			rows[i * each + k].network = i;
			rank_row(calibration, m, residual(r, network) + log(shift), &rows[i * each + k]);
		}
	}
}

/* Replays of 1,000 that alarm at any of the looks, one after each network. */
static int
alarms(int m, int networks, int each, double shift, uint64_t seed)
{
	pm_drift_row rows[1200];
	pm_rng		r;
	int			count = 0;

	pm_rng_seed(&r, seed);
	for (int i = 0; i < 1000; i++)
	{
		replay(&r, m, networks, each, shift, rows);
		count += run_after(rows, networks * each, m).e_max >= PM_DRIFT_ALARM;
	}
	return count;
}

static void
test_quiet(void)
{
	for (int m = 20; m <= 320; m *= 4)
	{
		int			few = alarms(m, 30, 1, 1, 1 + m);
		int			many = alarms(m, 200, 1, 1, 2 + m);
		int			rows = alarms(m, 60, 5, 1, 3 + m);

		printf("quiet, calibrated on %d networks: alarms in 1,000 replays of 30 networks %d, of 200 %d, of 60 with 5 rows %d\n",
			   m, few, many, rows);
		CHECK(few <= 50 && many <= 50 && rows <= 50);
	}
}

/* Looked at every day, while rows of networks of before still come. */
static void
test_daily_looks(void)
{
	enum {NETWORKS = 40, EACH = 3};
	const int	delay[EACH] = {0, 1, 5};
	pm_drift_row all[NETWORKS * EACH];
	pm_drift_row seen[NETWORKS * EACH];
	pm_rng		r;
	int			count = 0;

	pm_rng_seed(&r, 11);
	for (int i = 0; i < 1000; i++)
	{
		bool		alarm = false;

		replay(&r, 80, NETWORKS, EACH, 1, all);
		for (int day = 0; day < NETWORKS + 5; day++)
		{
			int			n = 0;

			for (int row = 0; row < NETWORKS * EACH; row++)
				if (row / EACH + delay[row % EACH] <= day)
					seen[n++] = all[row];
			alarm |= run_after(seen, n, 80).e_max >= PM_DRIFT_ALARM;
		}
		count += alarm;
	}
	printf("quiet, looked at on 45 days while rows come late: alarms in %d of 1,000 replays\n", count);
	CHECK(count <= 50);
}

static void
test_shift(void)
{
	int			slower = alarms(80, 10, 3, 1.15, 7);
	int			faster = alarms(80, 10, 3, 1 / 1.15, 8);

	printf("shift of 15 %%: found within 10 networks in %d and %d of 1,000 replays\n", slower, faster);
	CHECK(slower >= 900 && faster >= 900);
	/* a predictor that is off by 13 % promises less, and a shift that is as large shows later */
	wrong = 0.13 / SPREAD;
	slower = alarms(80, 10, 3, 1.15, 9);
	faster = alarms(80, 10, 3, 1 / 1.15, 10);
	printf("the same at an error of 13 %%: %d and %d; within 20 networks %d and %d\n", slower, faster, alarms(80, 20, 3, 1.15, 12), alarms(80, 20, 3, 1 / 1.15, 13));
	CHECK(slower >= 550 && faster >= 450);
	wrong = 1;
	/* a small shift that lasts is found in the end */
	slower = alarms(320, 300, 1, exp(0.5 * SPREAD), 14);
	printf("a shift of half an error, within 300 networks: %d\n", slower);
	CHECK(slower >= 750);
}

/* ---- what is said of it ---- */

static void
test_sorts(void)
{
	pm_drift_row rows[40];
	pm_drift	d;

	for (int i = 0; i < 40; i++)
		rows[i] = (pm_drift_row) {i, 0.95, 1};
	d = run(rows, 40);
	CHECK_EQ(d.sort, PM_DRIFT_SLOWER);
	CHECK(d.e_max > 1e3 && d.e_max < HUGE_VAL && d.e_max >= d.e_now && d.n_networks == 40);
	for (int i = 0; i < 40; i++)
		rows[i] = (pm_drift_row) {i, 0, 0.05};
	CHECK_EQ(run(rows, 40).sort, PM_DRIFT_FASTER);
	for (int i = 0; i < 40; i++)
		rows[i] = i % 2 ? (pm_drift_row) {i, 0, 0.03} : (pm_drift_row) {i, 0.97, 1};
	d = run(rows, 40);
	CHECK_EQ(d.sort, PM_DRIFT_WIDER);
	CHECK(d.e_max > PM_DRIFT_ALARM);
	/* steps that are predicted better than promised are no alarm */
	for (int i = 0; i < 40; i++)
		rows[i] = (pm_drift_row) {i, 0.45, 0.55};
	CHECK(run(rows, 40).e_max < PM_DRIFT_ALARM);
	CHECK_EQ(run(rows, 0).sort, PM_DRIFT_NONE);
	CHECK_EQ(run(rows, 0).e_max, 1);
}

/* Many rows of one network are one bet, wherever they stand. */
static void
test_networks(void)
{
	pm_drift_row rows[60];
	pm_drift	d;

	for (int i = 0; i < 60; i++)
		rows[i] = (pm_drift_row) {i % 2, 0.99, 1};
	d = run(rows, 60);
	CHECK_EQ(d.n_networks, 2);
	CHECK(d.e_max < PM_DRIFT_ALARM);
	/* numbers of networks do not matter but for the draws, and these not where ranks are known */
	for (int i = 0; i < 60; i++)
		rows[i] = (pm_drift_row) {INT64_MAX - i, 1, 1};
	CHECK(run(rows, 60).e_max > 1e3);
}

/* A calibration of as many networks as a number can say leaves ranks as they are. */
static void
test_largest_calibration(void)
{
	const pm_drift_row rows[] = {{1, 0.4, 0.5}, {2, 0.4, 0.5}, {3, 0.4, 0.5}};

	CHECK_NEAR(run_after(rows, 3, 2147483647).e_max, run_after(rows, 3, 1000000000).e_max, 1e-6);
}

static void
test_bad_ranks(void)
{
	const double bad[][2] = {{-0.1, 0.5}, {0.5, 1.1}, {0.6, 0.5}, {NAN, 0.5}, {0.5, NAN}};
	pm_drift	d;
	pm_status	st;

	for (int i = 0; i < 5; i++)
	{
		pm_drift_row row = {1, bad[i][0], bad[i][1]};

		st = (pm_status) {PM_OK};
		CHECK_EQ(pm_drift_run(&row, 1, 20, &arena, &d, &st), PM_ERR_INPUT);
		CHECK_HAS(st.message, "ranks must be within 0..1");
	}
}

static bool
stop(void *ctx)
{
	return true;
}

static void
test_cancel(void)
{
	pm_drift_row row = {1, 0.5, 0.5};
	pm_hooks	hooks = {.stop = stop};
	pm_arena	a;
	pm_drift	d;
	pm_status	st = {PM_OK};

	pm_arena_init_malloc(&a);
	a.hooks = &hooks;
	CHECK_EQ(pm_drift_run(&row, 1, 20, &a, &d, &st), PM_CANCELLED);
	pm_arena_release(&a);
}

typedef struct asking
{
	int			asked;
	int			stop_at;		/* 0: never */
} asking;

static bool
stop_once(void *ctx)
{
	asking	   *w = ctx;

	return ++w->asked == w->stop_at;
}

/* Many rows, of one network or of several, are sorted in pieces: the same evidence, and a question whether to stop every 65,536 of them. */
static void
test_many_rows(void)
{
	const int	n = 300000;
	pm_drift_row *rows = PM_NEW(&arena, pm_drift_row, n);
	pm_rng		r;
	pm_drift	d[2];
	pm_status	st = {PM_OK};

	pm_rng_seed(&r, 17);
	for (int networks = 1; networks <= 1000; networks *= 30)
	{
		asking		w = {0};
		pm_hooks	hooks = {.stop = stop_once, .ctx = &w};
		int			whole;
		pm_arena	a;

		for (int i = 0; i < n; i++)
			rows[i] = (pm_drift_row) {i < 1000 ? i % networks : (int64_t) (networks * pm_rng_uniform(&r)), 0.1, 1};
		pm_arena_init_malloc(&a);
		a.hooks = &hooks;
		CHECK_EQ(pm_drift_run(rows, n, 20, &a, &d[0], &st), PM_OK);
		CHECK_EQ(d[0].n_networks, networks);
		/* as one qsort of all rows says */
		CHECK_NEAR(d[0].e_now / (networks == 1 ? 0.873196599090724 : networks == 30 ? 1.3377477106840678 : 369.83890175815299), 1, 1e-9);
		whole = w.asked;
		/* both sorts, in five pieces that are merged in three rounds, and the rows */
		if (networks == 1)
			CHECK_EQ(whole, 2 * (5 + 3 * 5) + (n + PM_POLL_EVERY - 1) / PM_POLL_EVERY + n / PM_POLL_EVERY);
		for (w.stop_at = 1; w.stop_at <= whole; w.stop_at += 1 + whole / 20)
		{
			w.asked = 0;
			st = (pm_status) {PM_OK};
			CHECK_EQ(pm_drift_run(rows, n, 20, &a, &d[1], &st), PM_CANCELLED);
			CHECK_EQ(w.asked, w.stop_at);
			CHECK_EQ(st.code, PM_CANCELLED);
		}
		pm_arena_release(&a);
	}
}

/* The binomial distribution itself says whether the bounds are right. */
static double
at_least(int k, int n, double p)
{
	double		sum = 0;

	for (int i = k; i <= n; i++)
		sum += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) + i * log(p) + (n - i) * log1p(-p));
	return sum;
}

static void
test_bounds(void)
{
	double		low, high;

	for (int n = 1; n < 200; n = n * 3 + 1)
		for (int k = 0; k <= n; k += 1 + n / 7)
		{
			pm_proportion_bounds(k, n, 0.9, &low, &high);
			CHECK(low >= 0 && low <= (double) k / n && high >= (double) k / n && high <= 1);
			if (k > 0)
				CHECK_NEAR(at_least(k, n, low), 0.05, 1e-8);
			if (k < n)
				CHECK_NEAR(1 - at_least(k + 1, n, high), 0.05, 1e-8);
		}
	pm_proportion_bounds(0, 10, 0.9, &low, &high);
	CHECK_EQ(low, 0);
	CHECK_NEAR(high, 1 - pow(0.05, 0.1), 1e-9);
	pm_proportion_bounds(8.5, 10, 0.9, &low, &high);
	CHECK(low > 0.5 && low < 0.85 && high > 0.9 && high < 1);
	/* of a small share of a success in many trials, less than nothing is known */
	pm_proportion_bounds(1e-3, 1e9, 0.9, &low, &high);
	CHECK(low >= 0 && low <= 1e-12 && high > 1e-12 && high < 1e-8);
}

/* Of many trials the bounds are those of the normal distribution. */
static void
test_bounds_of_many(void)
{
	double		low, high;

	for (double n = 1e6; n <= PM_MOST_TRIALS; n *= 10)
		for (double share = 0.1; share < 1; share += 0.4)
		{
			double		spread = sqrt(share * (1 - share) / n);

			pm_proportion_bounds(share * n, n, 0.9, &low, &high);
			CHECK_NEAR((share - low) / spread, 1.644854, 0.006);
			CHECK_NEAR((high - share) / spread, 1.644854, 0.006);
		}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_quiet();
	test_daily_looks();
	test_shift();
	test_sorts();
	test_networks();
	test_largest_calibration();
	test_bad_ranks();
	test_cancel();
	test_many_rows();
	test_bounds();
	test_bounds_of_many();
	pm_arena_release(&arena);
	return check_done("test_drift");
}
