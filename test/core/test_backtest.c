/*
 * test_backtest.c - what waits and durations of the past say of forecasts: quantiles of what is not over yet, factors on
 * waits and on durations, by hand.
 */
#include "check.h"

#include "plan/backtest.h"
#include "plan/censored.h"
#include "plan/overrun.h"
#include "queue_jobs.h"

static pm_arena arena;

/* ---- quantiles ---- */

/* Numbers of weight 1; those below 0 are open: at least so much. */
static double
quantile_of(const double *of, int n, double p)
{
	pm_ratio	v[8];

	for (int i = 0; i < n; i++)
		v[i] = (pm_ratio) {.value = fabs(of[i]),.weight = 1,.open = of[i] < 0};
	return pm_censored_quantile(v, n, p);
}

static void
test_censored(void)
{
	/* half of the weight is reached at the first of two */
	CHECK_EQ(quantile_of((const double[]) {2, 1}, 2, 0.5), 1);
	/* the open ones are beyond what they say: 3 and 4 share all of the weight */
	CHECK_EQ(quantile_of((const double[]) {-1, -2, 3, 4}, 4, 0.5), 3);
	/* what ended at 1 comes before what was still open there: a third, and the rest at 2 */
	CHECK_EQ(quantile_of((const double[]) {-1, 1, 2}, 3, 0.5), 2);
	/* all beyond is open: the largest */
	CHECK_EQ(quantile_of((const double[]) {1, -5, -3}, 3, 0.9), 5);
}

/* ---- durations ---- */

/* A job of 100 s that ran for `ran` seconds and is over; -ran: it has run for so long and goes on. */
static pm_past_job
ran_for(double ran, int pool, int question)
{
	pm_past_job p = {waiting(-1e6, 100, 1), ran < 0 ? ran : -5e5, ran < 0 ? INFINITY : -5e5 + ran, false};

	p.job.pool = pool;
	p.job.question = question;
	return p;
}

static pm_overrun
overrun_of_first(const pm_past_job *past, int n, pm_overrun *other)
{
	pm_overrun	o[2];
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_overruns(past, n, n, 2, o, &arena, &st), PM_OK);
	if (other != NULL)
		*other = o[1];
	return o[0];
}

static void
test_overruns(void)
{
	pm_past_job past[60];
	pm_overrun	other;
	double		all;

	/* 40 networks that take twice as long: of all kinds the mean of that, with weight 40, and of 1, with weight 5; of this kind of device once more */
	for (int i = 0; i < 40; i++)
		past[i] = ran_for(200, 0, i);
	all = 40 * log(2) / 45;
	CHECK_NEAR(overrun_of_first(past, 40, &other).factor, exp((40 * log(2) + 5 * all) / 45), 1e-12);
	CHECK_NEAR(other.factor, exp(all), 1e-12);
	/* ten are enough, and nine are not, however many go on */
	CHECK_EQ(overrun_of_first(past, 10, NULL).n, 10);
	for (int i = 9; i < 40; i++)
		past[i] = ran_for(-150, 0, i);
	CHECK_EQ(overrun_of_first(past, 40, NULL).factor, 1);
	/* 30 have run for as long as predicted and go on; the 20 that are over took twice as long, and so will the others */
	for (int i = 0; i < 50; i++)
		past[i] = ran_for(i < 30 ? -100 : 200, 0, i);
	all = 50 * log(2) / 55;
	CHECK_NEAR(overrun_of_first(past, 50, NULL).factor, exp((50 * log(2) + 5 * all) / 55), 1e-12);
	/* what is to start has not run */
	for (int i = 0; i < 40; i++)
	{
		past[i].start_s = 100;
		past[i].finish_s = 900;
	}
	CHECK_EQ(overrun_of_first(past, 40, NULL).n, 0);
}

/* ---- waits ---- */

#define SPAN		60000.0
#define MOMENT(k)	(-SPAN * ((k) + 0.5) / PM_BACKTEST_MOMENTS)
#define MOST		(PM_BACKTEST_MOMENTS * 10)

typedef struct history
{
	pm_past_job past[MOST];
	int			n;
} history;

/* At moment k, a job has just begun on all eight devices of the pool, and `jobs` wait behind it until `wait_s` later. */
static void
add_moment(history *h, int k, int pool, pm_duration work, int jobs, double wait_s)
{
	double		at = MOMENT(k);
	pm_past_job first = {waiting(at - 10, 100, 8), at, at + 100, false};

	first.job.work = work;
	first.job.pool = pool;
	h->past[h->n++] = first;
	for (int i = 0; i < jobs; i++)
	{
		pm_past_job p = {waiting(at - 5, 100, 1), at + wait_s, at + wait_s + 100, false};

		p.job.pool = pool;
		p.job.question = 1;
		h->past[h->n++] = p;
	}
}

static void
factors_of(const history *h, pm_stretch *s)
{
	static const pm_stretch given[2] = {{.p50 = 5,.p90 = 5}, {.p50 = 5,.p90 = 5}};
	const pm_pool devices[2] = {{8}, {8}};
	/* factors of an earlier look do not count */
	const pm_eta_options o = {.seed = 3,.window_s = 1,.policy = PM_FIFO,.stretch = given};
	pm_status	st = {PM_OK};
	int			moments;

	CHECK_EQ(pm_eta_backtest(h->past, h->n, 2, devices, 2, &o, SPAN, s, &moments, &arena, &st), PM_OK);
}

/* The wait that is `ratio` times the forecast of 100 s, where 60 s are added to both. */
static double
wait_of(double ratio)
{
	return ratio * 160 - 60;
}

/* Each moment counts once: seven moments in which one job waited twice as long as forecast, and five in which eight did not. */
static void
test_moments_count(void)
{
	const pm_duration exact = pm_duration_of(NAN, 100, NAN);
	history		h = {.n = 0};
	pm_stretch	s[2];

	for (int k = 0; k < 12; k++)
		add_moment(&h, k, 0, exact, k < 7 ? 1 : 8, wait_of(k < 7 ? 2 : 1));
	factors_of(&h, s);
	CHECK_NEAR(s[0].p50, 2, 1e-6);
	CHECK_EQ(s[0].n, 47);
	/* nobody waited for the other kind of device: as all */
	CHECK_NEAR(s[1].p50, 2, 1e-6);
	CHECK_EQ(s[1].n, 0);
}

/* Twelve moments with waits of 1.1, 1.2 ... 2.2 times the forecast. */
static void
test_last_quantile(void)
{
	const pm_duration exact = pm_duration_of(NAN, 100, NAN);
	history		h = {.n = 0};
	pm_stretch	s[2];

	for (int k = 0; k < 12; k++)
		add_moment(&h, k, 0, exact, 1, wait_of(1.1 + 0.1 * k));
	factors_of(&h, s);
	CHECK_NEAR(s[0].p50, 1.6, 1e-6);
	/* the quantile 0.9 is the eleventh; so that the next one is below it nine times in ten it takes 0.9 * 13 / 12, the twelfth */
	CHECK_NEAR(s[0].p90, 2.2, 1e-6);
}

/* A kind of device with few moments is between its own factor and that of all, which counts as six moments. */
static void
test_few_moments(void)
{
	const pm_duration exact = pm_duration_of(NAN, 100, NAN);
	history		h = {.n = 0};
	pm_stretch	s[2];

	for (int k = 0; k < 12; k++)
		add_moment(&h, k, 0, exact, 1, wait_of(1));
	for (int k = 0; k < 3; k++)
		add_moment(&h, k, 1, exact, 1, wait_of(3));
	factors_of(&h, s);
	CHECK_NEAR(s[0].p50, 1, 1e-6);
	CHECK_NEAR(s[1].p50, exp(3 * log(3) / 9), 1e-6);
	/* six moments are enough, and five are not */
	for (int n = 5; n <= 6; n++)
	{
		h.n = 0;
		for (int k = 0; k < n; k++)
			add_moment(&h, k, 0, exact, 1, wait_of(2));
		factors_of(&h, s);
		CHECK_NEAR(s[0].p50, n == 5 ? 1 : 2, 1e-6);
	}
}

/* Forecasts of 100 s that may be 1000 s: waits of 1000 s are late in the middle, and right at 90 %. */
static void
test_p90(void)
{
	history		h = {.n = 0};
	pm_stretch	s[2];

	for (int k = 0; k < 12; k++)
		add_moment(&h, k, 0, pm_duration_of(NAN, 100, 1000), 1, 1000);
	factors_of(&h, s);
	CHECK(s[0].p50 > 4);
	CHECK_NEAR(s[0].p90, 1, 0.4);
}

/* Jobs of the last four moments wait still: at least 2.5, 7.5, 12.5 and 17.5 thousand seconds, of 100 that were forecast. */
static void
test_still_waiting(void)
{
	const pm_duration exact = pm_duration_of(NAN, 100, NAN);
	history		h = {.n = 0};
	pm_stretch	s[2];

	for (int k = 0; k < 12; k++)
		add_moment(&h, k, 0, exact, 1, k < 4 ? INFINITY : wait_of(2));
	factors_of(&h, s);
	CHECK_NEAR(s[0].p50, 2, 1e-6);
	/* eight of twelve are less than 0.9: the largest of the others, which is beyond belief */
	CHECK(s[0].p90 == PM_STRETCH_MAX && s[0].capped);
}

/* A history in which more devices were in use than there are now: none is free, and those in use come back. */
static void
test_fewer_devices(void)
{
	const pm_pool devices = {1};
	const pm_eta_options o = {.seed = 3,.window_s = 1,.policy = PM_FIFO};
	const pm_duration exact = pm_duration_of(NAN, 100, NAN);
	history		h = {.n = 0};
	pm_stretch	s;
	pm_status	st = {PM_OK};
	int			moments;

	for (int k = 0; k < 12; k++)
		add_moment(&h, k, 0, exact, 8, wait_of(2));
	CHECK_EQ(pm_eta_backtest(h.past, h.n, 2, &devices, 1, &o, SPAN, &s, &moments, &arena, &st), PM_OK);
	/* all eight that wait start when it ends */
	CHECK_EQ(s.n, 96);
	CHECK_NEAR(s.p50, 2, 1e-6);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_censored();
	test_overruns();
	test_moments_count();
	test_last_quantile();
	test_few_moments();
	test_p90();
	test_still_waiting();
	test_fewer_devices();
	pm_arena_release(&arena);
	return check_done("backtest");
}
