/*
 * test_eta.c - starts and ends of jobs: quantiles, stretched waits and jobs that are to come, by hand.
 */
#include "check.h"

#include <stdlib.h>

#include "plan/eta.h"
#include "queue_jobs.h"

static pm_arena arena;

/* Of n jobs on one kind of device; by the order of the array. */
static void
ask(const pm_queue_job *j, int n, int questions, pm_pool pool, const pm_eta_options *o, pm_eta *e)
{
	static const int32_t order[] = {0, 1, 2, 3, 4, 5, 6, 7};
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_queue_eta(j, n, questions, order, &pool, 1, o, e, &arena, &st), PM_OK);
}

/* ---- draws ---- */

static int
up(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* Ten draws of a job that begins now, and one that waits for its device: their quantiles are those of percentile_cont. */
static void
test_quantiles(void)
{
	pm_queue_job j[2] = {running(0, 100, 1), waiting(-5, 500, 1)};
	pm_eta		e[2];
	pm_eta_options o = {.draws = 10,.seed = 7};
	double		ends[10];
	pm_rng		rng;

	j[0].work = pm_duration_of(50, 100, 300);
	j[1].question = 1;
	ask(j, 2, 2, (pm_pool) {0}, &o, e);
	pm_rng_seed(&rng, 7);
	for (int k = 0; k < 10; k++)
	{
		/* a number for each question, from the middle of one of 2^53 + 1 parts of (0, 1) */
		double		z = pm_normal_z((pm_rng_uniform(&rng) * 0x1p53 + 0.5) / (0x1p53 + 1));

		(void) pm_rng_uniform(&rng);
		ends[k] = 100 * exp(z * log(z < 0 ? 2 : 3) / 1.2815515655446004);
	}
	qsort(ends, 10, sizeof(double), up);
	CHECK_NEAR(e[1].start_p50_s, (ends[4] + ends[5]) / 2, 1e-3);
	CHECK_NEAR(e[1].start_p90_s, 0.9 * ends[8] + 0.1 * ends[9], 1e-3);
	CHECK_NEAR(e[0].finish_p90_s, e[1].start_p90_s, 1e-9);
}

/* A job that has run for its median goes on for what is left of the upper half: its median is at 0.75 of the whole distribution. */
static void
test_half_done(void)
{
	pm_queue_job j = running(200, 200, 1);
	pm_eta		e;
	pm_eta_options o = {.draws = 4000,.seed = 1};

	j.work = pm_duration_of(100, 200, 300);
	ask(&j, 1, 1, (pm_pool) {0}, &o, &e);
	CHECK_NEAR(e.finish_p50_s, pm_duration_at(&j.work, pm_normal_z(0.75)) - 200, 3);
	CHECK_NEAR(e.finish_p90_s, pm_duration_at(&j.work, pm_normal_z(0.95)) - 200, 10);
}

/* Beyond 8 standard deviations it hangs, and is taken to go on for a tenth of what it has run. */
static void
test_hanging(void)
{
	pm_eta_options o = {.draws = 10,.seed = 1};

	for (int i = 0; i < 8; i++)
	{
		/* 8 standard deviations of the logarithm, log 2 / 1.28, are 7572 s */
		pm_queue_job j = running(7600 + 1000 * i, 100, 1);
		pm_eta		e;

		j.work = pm_duration_of(50, 100, 200);
		ask(&j, 1, 1, (pm_pool) {0}, &o, &e);
		CHECK_NEAR(e.finish_p50_s, 0.1 * j.elapsed_s, 1e-2);
	}
}

/* ---- stretched waits ---- */

/* A job runs for 100 s more, and another waits for its device. */
static pm_eta
stretched(pm_stretch stretch, double deadline_s)
{
	pm_queue_job j[2] = {running(10, 110, 1), waiting(-5, 500, 1)};
	pm_eta		e[2];
	pm_eta_options o = {.draws = 10,.seed = 3,.stretch = &stretch};

	j[1].question = 1;
	j[1].deadline_s = deadline_s;
	ask(j, 2, 2, (pm_pool) {0}, &o, e);
	return e[1];
}

static void
test_stretch(void)
{
	pm_queue_job begun = running(0, 110, 1);
	const pm_stretch twice = {.p50 = 2,.p90 = 2};
	pm_eta_options o = {.draws = 10,.seed = 3,.stretch = &twice};
	pm_eta		e = stretched((pm_stretch) {.p50 = 1.5,.p90 = 2}, INFINITY);

	/* 60 s are added to each wait before it is multiplied: 160 s become 240 s, and 320 s at the quantile 0.9 */
	CHECK_NEAR(e.start_p50_s, 180, 1e-3);
	CHECK_NEAR(e.start_p90_s, 260, 1e-3);
	CHECK_NEAR(e.finish_p90_s, 760, 1e-3);
	/* the ten draws stand for the quantiles 0.05 to 0.95; at 0.75 the factor is 1.5 + 0.5 * 0.25 / 0.4, and the end at 730 s */
	CHECK_EQ(stretched((pm_stretch) {.p50 = 1.5,.p90 = 2}, 730.001).in_time, 0.8);
	CHECK_EQ(stretched((pm_stretch) {.p50 = 1.5,.p90 = 2}, 729.999).in_time, 0.7);
	/* nothing is stretched: an end at the deadline is in time */
	CHECK_EQ(stretched((pm_stretch) {.p50 = 1,.p90 = 1}, 600).in_time, 1);
	/* 0 counts as 1, and no wait becomes less than none */
	CHECK_NEAR(stretched((pm_stretch) {.p50 = 1}, INFINITY).start_p90_s, 100, 1e-3);
	CHECK_NEAR(stretched((pm_stretch) {.p90 = 1}, INFINITY).start_p50_s, 100, 1e-3);
	CHECK_NEAR(stretched((pm_stretch) {.p50 = 0.3,.p90 = 0.3}, INFINITY).start_p50_s, 0, 1e-3);
	/* what has begun this moment does not wait */
	begun.deadline_s = 120;
	ask(&begun, 1, 1, (pm_pool) {0}, &o, &e);
	CHECK_EQ(e.in_time, 1);
}

/* ---- jobs that are to come ---- */

/* When the job that waits starts at 90 %, if such a job came once in the last 1000 s, by the order of deadlines; the device is free in 100 s. */
static double
start_behind(pm_queue_job recent)
{
	pm_queue_job j[2] = {running(10, 110, 1), waiting(-5, 500, 1)};
	pm_eta		e[2];
	pm_eta_options o = {.draws = 400,.seed = 3,.recent = &recent,.n_recent = 1,.window_s = 1000,.policy = PM_EDF};

	j[1].question = 1;
	j[1].deadline_s = 200;
	recent.question = 2;
	ask(j, 2, 3, (pm_pool) {0}, &o, e);
	return e[1].start_p90_s;
}

/* Jobs that came every 80 s: at least one comes before the device is free, has to end sooner, and runs for 50 s. */
static void
test_recent(void)
{
	pm_queue_job urgent = waiting(-900, 50, 1);
	pm_queue_job later = waiting(-900, 50, 1);
	pm_queue_job many[12];
	pm_queue_job j[2] = {running(10, 110, 1), waiting(-5, 500, 1)};
	pm_eta		e[2],
				again[2];
	pm_eta_options o = {.draws = 400,.seed = 3,.recent = many,.n_recent = 12,.window_s = 1000,.policy = PM_EDF};

	j[1].deadline_s = 200;
	/* whenever it comes, it has to end 10 s later, or 300 s later */
	urgent.deadline_s = urgent.submit_s + 10;
	later.deadline_s = later.submit_s + 300;
	CHECK_NEAR(start_behind(later), 100, 1e-3);
	CHECK(start_behind(urgent) >= 100);
	for (int i = 0; i < 12; i++)
	{
		many[i] = waiting(-80 * i - 10, 50, 1);
		many[i].deadline_s = many[i].submit_s + 10;
	}
	ask(j, 2, 1, (pm_pool) {0}, &o, e);
	CHECK(e[1].start_p50_s >= 150 - 1e-3);
	/* that they run by now says nothing of the next ones */
	for (int i = 0; i < 12; i++)
		many[i].elapsed_s = 30;
	ask(j, 2, 1, (pm_pool) {0}, &o, again);
	CHECK(memcmp(&e[1].start_p50_s, &again[1].start_p50_s, 4 * sizeof(double)) == 0);
}

/* 50 million jobs times draws, those to come included. */
static void
test_limit(void)
{
	pm_eta_options o = {.draws = 10000,.n_recent = 2000};
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_eta_check(3000, &o, &st), PM_OK);
	CHECK_EQ(pm_eta_check(3001, &o, &st), PM_ERR_LIMIT);
	CHECK_HAS(st.hint, "draws => 9998 or fewer");
	o.n_recent = 0;
	CHECK_EQ(pm_eta_check(5000, &o, &st), PM_OK);
	CHECK_EQ(pm_eta_check(5000001, &o, &st), PM_ERR_LIMIT);
	CHECK_HAS(st.hint, "one kind of GPU at a time");
	o.draws = 10001;
	CHECK_EQ(pm_eta_check(1, &o, &st), PM_ERR_OPTION);
}

/* ---- durations ---- */

static void
test_tails(void)
{
	pm_duration d = pm_duration_of(50, 100, NAN);

	/* as far above as below */
	CHECK_NEAR(pm_duration_at(&d, 1.2815515655446004), 200, 1e-9);
	/* of the upper tail beyond 5 standard deviations half is beyond this */
	CHECK_NEAR(pm_normal_p(-pm_normal_above(5, 0.5)) / pm_normal_p(-5), 0.5, 1e-9);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_quantiles();
	test_half_done();
	test_hanging();
	test_stretch();
	test_recent();
	test_limit();
	test_tails();
	pm_arena_release(&arena);
	return check_done("eta");
}
