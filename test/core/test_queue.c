/*
 * test_queue.c - durations, orders, the simulated queue against a plain one, and quantiles of starts and ends.
 */
#include "check.h"

#include <stdlib.h>

#include "plan/backtest.h"
#include "plan/overrun.h"
#include "queue_jobs.h"

static pm_arena arena;

static void
test_normal(void)
{
	static const double p[] = {1e-12, 1e-5, 0.01, 0.02425, 0.3, 0.5, 0.9, 0.97575, 0.999, 1 - 1e-9};

	CHECK_NEAR(pm_normal_z(0.9), 1.2815515655446004, 1e-12);
	CHECK_NEAR(pm_normal_z(0.975), 1.959963984540054, 1e-12);
	for (int i = 0; i < 10; i++)
		CHECK_NEAR(pm_normal_p(pm_normal_z(p[i])) / p[i], 1, 1e-9);
	/* above 1: the median of the rest is at 1 - (1 - Phi(1)) / 2 */
	CHECK_NEAR(pm_normal_above(1, 0.5), pm_normal_z(1 - (1 - pm_normal_p(1)) / 2), 1e-9);
	CHECK_NEAR(pm_normal_above(-INFINITY, 0.25), pm_normal_z(0.25), 0);
	for (double least = -40; least < 60; least += 1.7)
		for (double u = 1e-9; u < 1; u += 0.0999)
			CHECK(pm_normal_above(least, u) >= least - 1e-9 && isfinite(pm_normal_above(least, u)));
	CHECK(isfinite(pm_normal_above(INFINITY, 0.5)));
}

static void
test_duration(void)
{
	pm_duration d = pm_duration_of(50, 100, 300);

	CHECK_NEAR(pm_duration_at(&d, 0), 100, 0);
	CHECK_NEAR(pm_duration_at(&d, 1.2815515655446004), 300, 1e-9);
	CHECK_NEAR(pm_duration_at(&d, -1.2815515655446004), 50, 1e-9);
	CHECK_NEAR(pm_duration_z(&d, 300), 1.2815515655446004, 1e-12);
	CHECK(pm_duration_z(&d, 0) == -INFINITY);
	d = pm_duration_of(NAN, 100, 200);
	CHECK_NEAR(pm_duration_at(&d, -1.2815515655446004), 50, 1e-9);
	d = pm_duration_of(NAN, 100, NAN);
	CHECK(d.below == 0 && d.above == 0 && pm_duration_at(&d, 3) == 100);
	CHECK(pm_duration_z(&d, 101) == INFINITY && pm_duration_z(&d, 99) == -INFINITY);
	/* quantiles in the wrong order have no spread on that side */
	d = pm_duration_of(120, 100, 90);
	CHECK(d.below == 0 && d.above == 0);
}

/* ---------- order ---------- */

static void
order_is(const pm_queue_job *jobs, int n, pm_policy policy, const char *want)
{
	int32_t		order[8];
	char		got[9] = "";
	pm_status	st;

	CHECK_EQ(pm_queue_order(jobs, n, policy, order, &arena, &st), PM_OK);
	for (int i = 0; i < n; i++)
		got[i] = (char) ('a' + order[i]);
	CHECK(strcmp(got, want) == 0);
	if (strcmp(got, want) != 0)
		fprintf(stderr, "  %s: %s, should be %s\n", pm_policy_name[policy], got, want);
}

static void
test_order(void)
{
	pm_queue_job j[5] = {waiting(-10, 500, 1), waiting(-30, 100, 8), waiting(-20, 300, 2), running(400, 450, 4), waiting(-20, NAN, 1)};

	j[0].deadline_s = 50;
	j[2].deadline_s = 40;
	j[3].submit_s = -1000;
	order_is(j, 5, PM_FIFO, "dbcea");
	order_is(j, 5, PM_SJF, "bcdae");
	order_is(j, 5, PM_SRTF, "dbcae");
	/* 500, 800, 600, 200 */
	order_is(j, 5, PM_SRSF, "dacbe");
	order_is(j, 5, PM_EDF, "cadbe");
	j[3].elapsed_s = 460;
	CHECK_EQ(pm_policy_key(PM_SRTF, &j[3]), 0);
	CHECK_EQ(pm_policy_find("SRSF"), PM_SRSF);
	CHECK_EQ(pm_policy_find("shortest"), -1);
}

/* ---------- the simulated queue ---------- */

static void
simulate(const pm_queue_job *jobs, int n, const pm_pool *pools, int n_pools, pm_policy policy, bool backfill,
		 const double *duration_s, double *start_s, double *finish_s)
{
	int32_t    *order = PM_NEW(&arena, int32_t, n + 1);
	pm_simulator *s;
	pm_status	st;

	CHECK_EQ(pm_queue_order(jobs, n, policy, order, &arena, &st), PM_OK);
	CHECK_EQ(pm_simulator_init(&s, jobs, n, order, pools, n_pools, backfill, &arena, &st), PM_OK);
	/* twice: nothing of the first time is left */
	for (int k = 0; k < 2; k++)
		CHECK_EQ(pm_simulate(s, duration_s, start_s, finish_s, &st), PM_OK);
}

static void
test_by_hand(void)
{
	/* 4 devices, of which 2 are taken for 50 s more; then a job of 4, one of 2, one of 8 */
	pm_queue_job j[5] = {running(10, 60, 2), waiting(-5, 100, 4), waiting(-4, 30, 2), waiting(-3, 10, 8), waiting(70, 20, 1)};
	pm_pool		pool = {2};
	double		d[5] = {50, 100, 30, 10, 20};
	double		start[5];
	double		finish[5];

	simulate(j, 5, &pool, 1, PM_FIFO, false, d, start, finish);
	CHECK(start[0] == 0 && finish[0] == 50 && start[1] == 50 && start[2] == 150 && finish[2] == 180);
	CHECK(start[3] == INFINITY && finish[3] == INFINITY);
	CHECK(start[4] == 150);
	simulate(j, 5, &pool, 1, PM_FIFO, true, d, start, finish);
	CHECK(start[2] == 0 && start[1] == 50 && start[4] == 150 && start[3] == INFINITY);
	/* the running job never ends: its devices do not come back */
	d[0] = NAN;
	simulate(j, 5, &pool, 1, PM_FIFO, true, d, start, finish);
	CHECK(start[1] == INFINITY && start[2] == 0 && start[4] == 70);
	/* a job without a forecast is left out */
	d[0] = 50;
	d[1] = NAN;
	simulate(j, 5, &pool, 1, PM_FIFO, false, d, start, finish);
	CHECK(start[1] == INFINITY && start[2] == 0);
}

/* A plain queue for one pool: at every time at which something happens, look through all jobs in order. */
typedef struct plain
{
	const pm_queue_job *jobs;
	int			n;
	const int32_t *order;
	const double *duration_s;
	bool		backfill;
	int			pool;
	int64_t		total;			/* devices, free or held */
	double	   *start_s;
	double	   *finish_s;
} plain;

static void
plain_begin(plain *q, int64_t free)
{
	q->total = free;
	for (int i = 0; i < q->n; i++)
	{
		bool		runs = q->jobs[i].elapsed_s >= 0;

		if (q->jobs[i].pool != q->pool)
			continue;
		q->total += runs ? q->jobs[i].gpus : 0;
		q->start_s[i] = runs ? 0 : INFINITY;
		q->finish_s[i] = runs ? q->duration_s[i] : INFINITY;
	}
}

static void
plain_start_jobs(plain *q, double now)
{
	int64_t		free = q->total;

	for (int i = 0; i < q->n; i++)
		if (q->jobs[i].pool == q->pool && q->start_s[i] <= now && q->finish_s[i] > now)
			free -= q->jobs[i].gpus;
	for (int k = 0; k < q->n; k++)
	{
		int			i = q->order[k];

		if (q->jobs[i].pool != q->pool || q->start_s[i] < INFINITY || q->jobs[i].submit_s > now || q->jobs[i].gpus > q->total)
			continue;
		if (q->jobs[i].gpus > free)
		{
			if (!q->backfill)
				break;
			continue;
		}
		q->start_s[i] = now;
		q->finish_s[i] = now + q->duration_s[i];
		free -= q->jobs[i].gpus;
	}
}

/* When a job comes or ends next; INFINITY: never. */
static double
plain_next(const plain *q, double now)
{
	double		next = INFINITY;

	for (int i = 0; i < q->n; i++)
	{
		if (q->jobs[i].pool != q->pool)
			continue;
		if (q->jobs[i].submit_s > now)
			next = fmin(next, q->jobs[i].submit_s);
		if (q->start_s[i] < INFINITY && q->finish_s[i] > now)
			next = fmin(next, q->finish_s[i]);
	}
	return next;
}

static void
test_against_plain(void)
{
	pm_rng		rng;
	pm_status	st;

	pm_rng_seed(&rng, 3);
	for (int round = 0; round < 400; round++)
	{
		int			n = (int) (pm_rng_uniform(&rng) * 40);
		int			n_pools = 1 + round % 3;
		pm_queue_job j[40];
		pm_pool		pools[3];
		double		d[40], start[40], finish[40], plain_start[40], plain_finish[40];
		int32_t		order[40];
		plain		q = {.jobs = j, .n = n, .order = order, .duration_s = d, .backfill = round % 2, .start_s = plain_start, .finish_s = plain_finish};

		for (int p = 0; p < n_pools; p++)
			pools[p].free = (int) (pm_rng_uniform(&rng) * 9);
		for (int i = 0; i < n; i++)
		{
			/* whole numbers, so that things happen at the same time */
			double		p50 = 1 + floor(pm_rng_uniform(&rng) * 20);
			int			gpus = 1 + (int) (pm_rng_uniform(&rng) * 6);

			j[i] = i % 4 == 0 ? running(5, p50, gpus) : waiting(floor(pm_rng_uniform(&rng) * 60) - 30, p50, gpus);
			j[i].pool = (int) (pm_rng_uniform(&rng) * n_pools);
			d[i] = 1 + floor(pm_rng_uniform(&rng) * 20);
		}
		CHECK_EQ(pm_queue_order(j, n, round % PM_N_POLICIES, order, &arena, &st), PM_OK);
		simulate(j, n, pools, n_pools, round % PM_N_POLICIES, round % 2, d, start, finish);
		for (q.pool = 0; q.pool < n_pools; q.pool++)
		{
			plain_begin(&q, pools[q.pool].free);
			for (double now = 0; now < INFINITY; now = plain_next(&q, now))
				plain_start_jobs(&q, now);
		}
		for (int i = 0; i < n; i++)
			CHECK(start[i] == plain_start[i] && finish[i] == plain_finish[i]);
	}
}

/* ---------- quantiles ---------- */

static void
test_eta(void)
{
	/* one device: a job that has run 100 s of about 200, then two of one question, then one that is too large */
	pm_queue_job j[4] = {running(100, 200, 1), waiting(-50, 100, 1), waiting(-40, 100, 1), waiting(-30, 10, 2)};
	pm_pool		pool = {0};
	int32_t		order[4];
	pm_eta		eta[4], again[4];
	pm_eta_options o = {.draws = 4000,.seed = 1};
	pm_status	st;
	double		z;

	j[0].work = pm_duration_of(150, 200, 300);
	j[1].work = j[2].work = pm_duration_of(80, 100, 150);
	j[0].question = 0;
	j[1].question = j[2].question = 1;
	j[3].question = 2;
	j[1].deadline_s = 210;
	j[2].deadline_s = 1e9;
	pm_queue_order(j, 4, PM_FIFO, order, &arena, &st);
	CHECK_EQ(pm_queue_eta(j, 4, 3, order, &pool, 1, &o, eta, &arena, &st), PM_OK);
	CHECK_EQ(pm_queue_eta(j, 4, 3, order, &pool, 1, &o, again, &arena, &st), PM_OK);
	for (int i = 0; i < 4; i++)
		CHECK(memcmp(&eta[i].start_p50_s, &again[i].start_p50_s, 5 * sizeof(double)) == 0);
	/* the running one, given that it is longer than 100 s */
	z = pm_duration_z(&j[0].work, 100);
	CHECK_NEAR(eta[0].finish_p50_s, pm_duration_at(&j[0].work, pm_normal_above(z, 0.5)) - 100, 3);
	CHECK_NEAR(eta[0].finish_p90_s, pm_duration_at(&j[0].work, pm_normal_above(z, 0.9)) - 100, 10);
	CHECK(eta[1].start_p50_s == eta[0].finish_p50_s && eta[1].start_p90_s == eta[0].finish_p90_s);
	CHECK_NEAR(eta[2].finish_p50_s, 315, 10);
	/* jobs of one question are off together: 2 x 150 and not less is 90 % of both; with errors apart it would be less */
	CHECK(eta[2].finish_p90_s - eta[2].finish_p50_s > 110);
	CHECK(eta[1].in_time > 0.3 && eta[1].in_time < 0.7 && eta[2].in_time == 1 && isnan(eta[3].in_time));
	CHECK(!eta[3].fits && eta[3].start_p50_s == INFINITY && eta[0].fits);

	/* a job that hangs goes on for a while, and the next of its question is not put off without end */
	j[0].elapsed_s = 1e6;
	j[1].question = 0;
	CHECK_EQ(pm_queue_eta(j, 4, 3, order, &pool, 1, &o, eta, &arena, &st), PM_OK);
	CHECK_NEAR(eta[0].finish_p50_s, 1e5, 1);
	CHECK(eta[1].finish_p90_s - eta[1].start_p90_s < 300);

	/* nothing is known of a job */
	j[1].work.p50_s = NAN;
	CHECK_EQ(pm_queue_eta(j, 4, 3, order, &pool, 1, &o, eta, &arena, &st), PM_OK);
	CHECK(isnan(eta[1].start_p50_s) && isnan(eta[1].finish_p90_s));
	o.draws = 9;
	CHECK_EQ(pm_queue_eta(j, 4, 3, order, &pool, 1, &o, eta, &arena, &st), PM_ERR_OPTION);
	o.draws = 10000;
	CHECK_EQ(pm_queue_eta(j, 5001, 3, order, &pool, 1, &o, eta, &arena, &st), PM_ERR_LIMIT);
}

/* Of jobs whose durations are drawn as is forecast, 90 % start before p90 and half before p50. */
static void
test_coverage(void)
{
	pm_rng		rng;
	pm_status	st;
	int			below50 = 0, below90 = 0, total = 0;

	pm_rng_seed(&rng, 11);
	for (int round = 0; round < 150; round++)
	{
		pm_queue_job j[30];
		pm_pool		pool = {0};
		int32_t		order[30];
		double		z[30], d[30], start[30], finish[30];
		pm_eta		eta[30];
		pm_eta_options o = {.draws = 200,.seed = round + 1};

		for (int i = 0; i < 30; i++)
		{
			double		p50 = 50 + 500 * pm_rng_uniform(&rng);

			j[i] = waiting(i - 30, p50, 1 + i % 3);
			j[i].work = pm_duration_of(p50 * 0.7, p50, p50 * 1.6);
			j[i].question = i % 10;
			if (i < 5)
			{
				/* it runs, and what it will have run in all is longer */
				j[i].elapsed_s = p50 * 1.2 * pm_rng_uniform(&rng);
				j[i].gpus = 2;
			}
			z[i] = i < 10 ? pm_normal_above(pm_duration_z(&j[i].work, j[i].elapsed_s), pm_rng_uniform(&rng) * 0.9999 + 0.00005) : z[i - 10];
			d[i] = pm_duration_at(&j[i].work, z[i]) - fmax(j[i].elapsed_s, 0);
		}
		pm_queue_order(j, 30, PM_FIFO, order, &arena, &st);
		pm_queue_eta(j, 30, 10, order, &pool, 1, &o, eta, &arena, &st);
		simulate(j, 30, &pool, 1, PM_FIFO, false, d, start, finish);
		for (int i = 10; i < 30; i++, total++)
		{
			below50 += finish[i] <= eta[i].finish_p50_s;
			below90 += finish[i] <= eta[i].finish_p90_s;
		}
	}
	printf("coverage p50 %.3f p90 %.3f\n", (double) below50 / total, (double) below90 / total);
	CHECK(below50 > 0.4 * total && below50 < 0.6 * total);
	CHECK(below90 > 0.86 * total && below90 < 0.96 * total);
}

/* Jobs that are to come as those of late did: what passes a waiting job puts it off, what comes behind it does not. */
static void
test_arrivals(void)
{
	pm_queue_job j[2] = {running(10, 110, 1), waiting(-5, 500, 1)};
	pm_queue_job recent[3] = {waiting(-900, 50, 1), waiting(-600, 50, 1), waiting(-1, 2000, 1)};
	pm_pool		pool = {0};
	int32_t		order[2];
	pm_eta		without[2], with[2], fifo[2], again[2];
	pm_eta_options o = {.draws = 400,.seed = 3};
	pm_status	st;

	j[0].question = 0;
	j[1].question = 1;
	recent[0].question = recent[1].question = recent[2].question = 2;
	pm_queue_order(j, 2, PM_SJF, order, &arena, &st);
	CHECK_EQ(pm_queue_eta(j, 2, 3, order, &pool, 1, &o, without, &arena, &st), PM_OK);
	CHECK_NEAR(without[1].start_p90_s, 100, 1e-3);
	o.recent = recent;
	o.n_recent = 3;
	o.window_s = 1000;
	o.policy = PM_SJF;
	CHECK_EQ(pm_queue_eta(j, 2, 3, order, &pool, 1, &o, with, &arena, &st), PM_OK);
	/* in some 19 % of the draws one of the two short ones comes in the 100 s before the device is free, and passes */
	CHECK_NEAR(with[1].start_p50_s, 100, 1e-3);
	CHECK_NEAR(with[1].start_p90_s, 150, 1e-3);
	CHECK(with[0].finish_p90_s == without[0].finish_p90_s && with[1].fits);
	CHECK_EQ(pm_queue_eta(j, 2, 3, order, &pool, 1, &o, again, &arena, &st), PM_OK);
	CHECK(memcmp(&with[1].start_p50_s, &again[1].start_p50_s, 4 * sizeof(double)) == 0);
	o.policy = PM_FIFO;
	CHECK_EQ(pm_queue_eta(j, 2, 3, order, &pool, 1, &o, fifo, &arena, &st), PM_OK);
	CHECK(fifo[1].start_p90_s == without[1].start_p90_s);
	/* a job that comes again has a deadline as far away as it had: not one that is over */
	j[1].deadline_s = 200;
	recent[0].deadline_s = recent[1].deadline_s = recent[2].deadline_s = 1e5;
	o.policy = PM_EDF;
	CHECK_EQ(pm_queue_eta(j, 2, 3, order, &pool, 1, &o, fifo, &arena, &st), PM_OK);
	CHECK(fifo[1].start_p90_s == without[1].start_p90_s);
	recent[0].deadline_s = recent[0].submit_s + 10;
	recent[1].deadline_s = recent[1].submit_s + 10;
	CHECK_EQ(pm_queue_eta(j, 2, 3, order, &pool, 1, &o, again, &arena, &st), PM_OK);
	CHECK_NEAR(again[1].start_p90_s, with[1].start_p90_s, 1e-3);
}

/* ---------- what forecasts of the past turned out to be ---------- */

/* One device; jobs that are predicted to run 100 s run `factor` as long, and come every 150 s. In the order of arrival, over the last day. */
static int
make_past(pm_past_job *past, double factor, pm_rng *rng)
{
	double		free_at = -INFINITY;
	int			n = 0;

	for (double t = -86400; t < 0; t += 300 * pm_rng_uniform(rng))
	{
		double		start = fmax(t, free_at);

		free_at = start + factor * 100;
		past[n] = (pm_past_job) {waiting(t, 100, 1), start <= 0 ? start : INFINITY, free_at <= 0 ? free_at : INFINITY, false};
		past[n].job.question = 0;
		n++;
	}
	return n;
}

static void
test_backtest(void)
{
	static pm_past_job past[2000];
	pm_pool		devices = {1};
	pm_eta_options o = {.draws = 100,.seed = 3,.window_s = 20000,.policy = PM_FIFO};
	pm_stretch	right, late;
	pm_rng		rng;
	pm_status	st;
	int			moments = -1;

	pm_rng_seed(&rng, 4);
	CHECK_EQ(pm_eta_backtest(past, make_past(past, 1.0, &rng), 1, &devices, 1, &o, 60000, &right, &moments, &arena, &st), PM_OK);
	CHECK_NEAR(right.p50, 1, 0.02);
	CHECK_NEAR(right.p90, 1, 0.1);
	CHECK_EQ(pm_eta_backtest(past, make_past(past, 1.4, &rng), 1, &devices, 1, &o, 60000, &late, &moments, &arena, &st), PM_OK);
	printf("stretched where jobs take 1.4 times as long: p50 %.2f p90 %.2f\n", late.p50, late.p90);
	CHECK(moments >= PM_BACKTEST_LEAST && moments <= PM_BACKTEST_MOMENTS);
	CHECK(late.p50 > 1.2 && late.p50 < 1.5 && late.p90 >= late.p50 && late.p90 < 2.5);
	/* nobody waits: nothing is known, and nothing is stretched */
	CHECK_EQ(pm_eta_backtest(past, make_past(past, 1e-3, &rng), 1, &devices, 1, &o, 60000, &late, &moments, &arena, &st), PM_OK);
	CHECK(moments < PM_BACKTEST_LEAST && late.p50 == 1 && late.p90 == 1);
	CHECK_EQ(pm_eta_backtest(past, 0, 1, &devices, 1, &o, 60000, &late, &moments, &arena, &st), PM_OK);
	CHECK_EQ(moments, 0);
}

/* Two kinds of devices: jobs of the one take as long as predicted, those of the other 1.4 times as long. */
static void
test_backtest_of_two(void)
{
	static pm_past_job past[4000];
	pm_pool		devices[] = {{1}, {1}, {1}};
	pm_eta_options o = {.draws = 100,.seed = 3,.window_s = 20000,.policy = PM_FIFO};
	pm_stretch	s[3];
	pm_rng		rng;
	pm_status	st;
	int			moments;
	int			n, all;

	pm_rng_seed(&rng, 5);
	n = make_past(past, 1.4, &rng);
	all = n + make_past(past + n, 1.4, &rng);
	for (int i = 0; i < n; i++)
		past[i].job.work = pm_duration_of(NAN, 140, NAN);
	for (int i = n; i < all; i++)
	{
		past[i].job.pool = 1;
		past[i].job.question = 1;
	}
	CHECK_EQ(pm_eta_backtest(past, all, 2, devices, 3, &o, 60000, s, &moments, &arena, &st), PM_OK);
	printf("stretched by kind: %.2f (n %d), %.2f (n %d), nobody waits: %.2f\n", s[0].p50, s[0].n, s[1].p50, s[1].n, s[2].p50);
	CHECK(s[0].p50 < s[2].p50 && s[2].p50 < s[1].p50 && s[0].n > 0 && s[1].n > 0 && s[2].n == 0);
	CHECK(s[0].p50 < 1.1 && s[1].p50 > 1.1 && !s[0].capped && !s[1].capped);
	/* a history in which waits are beyond all reason is believed up to the limit */
	for (int i = n; i < all; i++)
	{
		double		start = past[i].job.submit_s + 5000;

		past[i].start_s = start <= 0 ? start : INFINITY;
		past[i].finish_s = start + 100 <= 0 ? start + 100 : INFINITY;
	}
	devices[1].free = 1000;
	CHECK_EQ(pm_eta_backtest(past + n, all - n, 2, devices, 3, &o, 60000, s, &moments, &arena, &st), PM_OK);
	CHECK(s[1].capped && s[1].p50 == PM_STRETCH_MAX && s[1].p90 == PM_STRETCH_MAX);
}

/* A job of 100 s that ran for `ran` seconds; infinity: it has run for 50 s and goes on. */
static pm_past_job
ran_for(double ran, int pool, int question)
{
	pm_past_job p = {waiting(-100000, 100, 1), isinf(ran) ? -50 : -50000, isinf(ran) ? INFINITY : -50000 + ran, false};

	p.job.pool = pool;
	p.job.question = question;
	return p;
}

/* Jobs of one kind of device run twice as long as predicted, those of another as predicted, of a third nobody knows. */
static void
test_overruns(void)
{
	pm_past_job past[200];
	pm_overrun	o[3];
	pm_status	st;
	int			n = 0;

	for (int q = 0; q < 20; q++)
		for (int k = 0; k < 3; k++)
		{
			past[n++] = ran_for(k == 2 ? INFINITY : 200, 0, q);
			past[n++] = ran_for(k == 2 ? INFINITY : 100, 1, 20 + q);
		}
	CHECK_EQ(pm_overruns(past, n, 40, 3, o, &arena, &st), PM_OK);
	CHECK(o[0].factor > 1.6 && o[0].factor < 2 && o[1].factor >= 1 && o[1].factor < 1.2);
	CHECK(o[0].n == 60 && o[1].n == 60 && o[2].n == 0 && o[2].factor >= o[1].factor && o[2].factor < o[0].factor);
	/* one network that is wrong counts as one, however many jobs it has */
	for (int i = 0; i < n; i++)
		past[i] = ran_for(i < 80 ? 300 : 100, 0, i < 80 ? 0 : i);
	CHECK_EQ(pm_overruns(past, n, 200, 1, o, &arena, &st), PM_OK);
	CHECK_NEAR(o[0].factor, 1, 1e-9);
	/* beyond belief; and too few */
	for (int i = 0; i < n; i++)
		past[i] = ran_for(20000, 0, i);
	CHECK_EQ(pm_overruns(past, n, 200, 1, o, &arena, &st), PM_OK);
	CHECK(o[0].factor == PM_OVERRUN_MAX && o[0].capped);
	for (int i = 0; i < n; i++)
		past[i] = ran_for(1, 0, i);
	CHECK_EQ(pm_overruns(past, n, 200, 1, o, &arena, &st), PM_OK);
	CHECK(o[0].factor == PM_OVERRUN_MIN && o[0].capped);
	CHECK_EQ(pm_overruns(past, PM_OVERRUN_LEAST - 1, 200, 1, o, &arena, &st), PM_OK);
	CHECK(o[0].factor == 1 && o[0].n == 0);
	/* forecasts that were made afterwards say nothing */
	for (int i = 0; i < n; i++)
	{
		past[i] = ran_for(i < 60 ? 200 : 100, 0, i);
		past[i].hindsight = i >= 60;
	}
	CHECK_EQ(pm_overruns(past, n, 200, 1, o, &arena, &st), PM_OK);
	CHECK(o[0].n == 60 && o[0].factor > 1.8);
}

/* Draws of a moment go down with the jobs, down to what quantiles need. */
static void
test_backtest_draws(void)
{
	const int64_t counts[] = {0, 1, 1000, 40000, 40001, 60000, 120000, 120001, 5000000, INT64_MAX};

	CHECK_EQ(pm_backtest_draws(0), PM_BACKTEST_DRAWS_MAX);
	CHECK_EQ(pm_backtest_draws(40000), PM_BACKTEST_DRAWS_MAX);
	CHECK_EQ(pm_backtest_draws(60000), 40);
	CHECK_EQ(pm_backtest_draws(INT64_MAX), PM_BACKTEST_DRAWS_MIN);
	for (int i = 1; i < (int) (sizeof(counts) / sizeof(counts[0])); i++)
	{
		int			draws = pm_backtest_draws(counts[i]);

		CHECK(draws <= pm_backtest_draws(counts[i - 1]) && draws >= PM_BACKTEST_DRAWS_MIN);
		CHECK(draws == PM_BACKTEST_DRAWS_MIN || draws * counts[i] <= PM_BACKTEST_WORK);
	}
}

/* Waits are stretched, what runs is not, and p90 stays behind p50. */
static void
test_stretch(void)
{
	pm_queue_job j[2] = {running(10, 110, 1), waiting(-5, 500, 1)};
	pm_pool		pool = {0};
	int32_t		order[2];
	pm_eta		e[2];
	const pm_stretch stretch = {.p50 = 3,.p90 = 2};
	pm_eta_options o = {.draws = 100,.seed = 3,.stretch = &stretch};
	pm_status	st;

	j[1].question = 1;
	j[1].deadline_s = 900;
	pm_queue_order(j, 2, PM_SJF, order, &arena, &st);
	CHECK_EQ(pm_queue_eta(j, 2, 2, order, &pool, 1, &o, e, &arena, &st), PM_OK);
	CHECK_NEAR(e[0].finish_p90_s, 100, 1e-3);
	CHECK_NEAR(e[1].start_p50_s, 3 * (100 + PM_ETA_GRACE_S) - PM_ETA_GRACE_S, 1e-3);
	CHECK_NEAR(e[1].start_p90_s, e[1].start_p50_s, 1e-3);
	CHECK_NEAR(e[1].finish_p50_s, e[1].start_p50_s + 500, 1e-3);
	/* above the median it goes down from 3 to 2: from the quantile 0.55 on it is 2.875 and less, and the job ends by 900 s */
	CHECK_NEAR(e[1].in_time, 0.45, 0.011);
	/* nor what has begun this moment */
	j[0] = running(0, 110, 1);
	CHECK_EQ(pm_queue_eta(j, 2, 2, order, &pool, 1, &o, e, &arena, &st), PM_OK);
	CHECK_NEAR(e[0].finish_p50_s, 110, 1e-3);
}

static bool
stop_now(void *ctx)
{
	return true;
}

static void
test_stop(void)
{
	const pm_hooks hooks = {.stop = stop_now};
	pm_queue_job j = waiting(-1, 10, 1);
	pm_pool		pool = {1};
	int32_t		order = 0;
	pm_eta		eta;
	pm_eta_options o = {.draws = 10,.seed = 1};
	pm_status	st;

	arena.hooks = &hooks;
	CHECK_EQ(pm_queue_eta(&j, 1, 1, &order, &pool, 1, &o, &eta, &arena, &st), PM_CANCELLED);
	arena.hooks = NULL;
}

/* The first question goes on; what takes long has to ask again. */
static bool
stop_at_second(void *ctx)
{
	return ++*(int *) ctx > 1;
}

/* All jobs start in one event. */
static void
test_stop_within_event(void)
{
	int			asked = 0;
	const pm_hooks hooks = {.stop = stop_at_second,.ctx = &asked};
	static pm_queue_job j[1000];
	static int32_t order[1000];
	static double duration_s[1000], start_s[1000], finish_s[1000];
	pm_pool		pool = {1000};
	pm_simulator *s;
	pm_status	st = {PM_OK};

	for (int i = 0; i < 1000; i++)
	{
		j[i] = waiting(-1, 10, 1);
		order[i] = i;
		duration_s[i] = 10;
	}
	CHECK_EQ(pm_simulator_init(&s, j, 1000, order, &pool, 1, false, &arena, &st), PM_OK);
	arena.hooks = &hooks;
	CHECK_EQ(pm_simulate(s, duration_s, start_s, finish_s, &st), PM_CANCELLED);
	arena.hooks = NULL;
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_normal();
	test_duration();
	test_order();
	test_by_hand();
	test_against_plain();
	test_eta();
	test_coverage();
	test_arrivals();
	test_backtest();
	test_backtest_of_two();
	test_overruns();
	test_backtest_draws();
	test_stretch();
	test_stop();
	test_stop_within_event();
	pm_arena_release(&arena);
	return check_done("queue");
}
