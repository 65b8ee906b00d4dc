/*
 * replay.c - a trace of jobs through the queue, with true and predicted durations.
 *
 *     replay TRACE ERRORS LOAD [SEED]
 *
 * TRACE has lines "submit_s duration_s gpus pool", pools numbered from 0. ERRORS
 * has lines "network measured/p50 p10/p50 p90/p50": predictions of networks that
 * the predictor was not trained on. Each job draws a line: its duration stays
 * that of the trace, and is predicted with the error of that line. Jobs with the
 * same line are jobs of the same question.
 *
 * The traces have no deadlines: a job's is drawn evenly from one to five times
 * its true duration after it was submitted.
 *
 * A pool gets as many devices as make the work of the trace LOAD of its
 * capacity, and at least as many as its largest job needs.
 *
 * Prints "what value" lines. Orders: jobs start with backfilling in the order of
 * a policy, by true and by predicted durations. Starts: at 40 moments drawn
 * from the second half of the replay, queue_eta says from the predictions when
 * the waiting jobs start, not knowing which jobs are to come; ("recent") from
 * those of the seven days before; and ("checked") from these, stretched by what
 * the same forecasts of the fourteen days before turned out to be. The replay
 * says when they did. (What the check is made of was chosen on the first half.)
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/metrics.h"
#include "plan/backtest.h"

#define MOMENTS 40
#define MOST_JOBS 200000
#define MOST_ERRORS 100000
#define MOST_POOLS 64

typedef struct error_line
{
	int			network;
	double		measured;		/* over the median of the prediction */
	double		p10;			/* over the median */
	double		p90;
} error_line;

typedef struct replay
{
	int			n;
	pm_queue_job *jobs;
	double	   *truth;			/* [n] durations */
	pm_duration *predicted;		/* [n] */
	int			n_pools;
	pm_pool		pools[MOST_POOLS];
	int			n_networks;
	pm_arena	arena;
} replay;

static void
must(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "replay: %s\n", what);
	exit(1);
}

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static FILE *
open_file(const char *name)
{
	FILE	   *f = fopen(name, "r");

	if (f == NULL)
		perror(name);
	must(f != NULL, "a file cannot be read");
	return f;
}

static int
read_errors(const char *name, error_line *e)
{
	FILE	   *f = open_file(name);
	int			n = 0;

	while (n < MOST_ERRORS && fscanf(f, "%d %lf %lf %lf", &e[n].network, &e[n].measured, &e[n].p10, &e[n].p90) == 4)
		n++;
	fclose(f);
	must(n > 0, "there are no errors of predictions");
	return n;
}

static void
read_trace(replay *r, const char *name, const error_line *errors, int n_errors, uint64_t seed)
{
	FILE	   *f = open_file(name);
	double		submit_s, duration_s;
	int			gpus, pool;
	pm_rng		rng;
	pm_rng		due;

	pm_rng_seed(&rng, seed);
	pm_rng_seed(&due, seed + 1000);
	while (r->n < MOST_JOBS && fscanf(f, "%lf %lf %d %d", &submit_s, &duration_s, &gpus, &pool) == 4)
	{
		const error_line *e = &errors[(int) (pm_rng_uniform(&rng) * n_errors)];
		double		p50 = duration_s / e->measured;

		must(pool >= 0 && pool < MOST_POOLS && duration_s > 0 && gpus > 0, "a line of the trace is wrong");
		r->truth[r->n] = duration_s;
		r->predicted[r->n] = pm_duration_of(p50 * e->p10, p50, p50 * e->p90);
		r->jobs[r->n] = (pm_queue_job) {.submit_s = submit_s,.deadline_s = submit_s + duration_s * (1 + 4 * pm_rng_uniform(&due)),.elapsed_s = -1,.gpus = gpus,.pool = pool,.question = e->network};
		r->n_pools = pool >= r->n_pools ? pool + 1 : r->n_pools;
		r->n_networks = e->network >= r->n_networks ? e->network + 1 : r->n_networks;
		r->n++;
	}
	fclose(f);
	must(r->n > 0, "the trace has no jobs");
}

static void
make_pools(replay *r, double load)
{
	for (int p = 0; p < r->n_pools; p++)
	{
		double		first = INFINITY, last = -INFINITY, work = 0;
		int			most = 0;

		for (int i = 0; i < r->n; i++)
		{
			const pm_queue_job *j = &r->jobs[i];

			if (j->pool != p)
				continue;
			first = fmin(first, j->submit_s);
			last = fmax(last, j->submit_s);
			work += r->truth[i] * j->gpus;
			most = j->gpus > most ? j->gpus : most;
		}
		r->pools[p].free = (int64_t) fmax(most, ceil(work / (last - first) / load));
	}
}

/* Durations that the order goes by. */
static void
know(replay *r, bool truth)
{
	for (int i = 0; i < r->n; i++)
		r->jobs[i].work = truth ? pm_duration_of(NAN, r->truth[i], NAN) : r->predicted[i];
}

/* Start and end of every job; seconds of the processor that it took. */
static double
play(replay *r, pm_policy policy, bool truth, bool backfill, double *start_s, double *finish_s)
{
	int32_t    *order = PM_NEW(&r->arena, int32_t, r->n);
	pm_simulator *s;
	pm_status	st;
	double		began = cpu_s();

	know(r, truth);
	must(order != NULL, "out of memory");
	must(pm_queue_order(r->jobs, r->n, policy, order, &r->arena, &st) == PM_OK, "the order failed");
	must(pm_simulator_init(&s, r->jobs, r->n, order, r->pools, r->n_pools, backfill, &r->arena, &st) == PM_OK, "the simulation failed");
	must(pm_simulate(s, r->truth, start_s, finish_s, &st) == PM_OK, "the simulation failed");
	return cpu_s() - began;
}

static double
mean_completion(const replay *r, const double *finish_s)
{
	double		sum = 0;

	for (int i = 0; i < r->n; i++)
	{
		must(isfinite(finish_s[i]), "a job never ends");
		sum += finish_s[i] - r->jobs[i].submit_s;
	}
	return sum / r->n;
}

static void
compare_orders(replay *r, double *start_s, double *finish_s)
{
	static const pm_policy policies[] = {PM_FIFO, PM_SJF, PM_SRSF};

	for (int k = 0; k < 3; k++)
	{
		const char *name = pm_policy_name[policies[k]];
		double		oracle, took;

		play(r, policies[k], true, true, start_s, finish_s);
		oracle = mean_completion(r, finish_s);
		took = play(r, policies[k], false, true, start_s, finish_s);
		printf("%s.oracle_completion_s %.1f\n", name, oracle);
		printf("%s.predicted_completion_s %.1f\n", name, mean_completion(r, finish_s));
		printf("%s.predicted_over_oracle %.5f\n", name, mean_completion(r, finish_s) / oracle);
		printf("%s.starts_per_cpu_s %.0f\n", name, r->n / took);
	}
}

/* ---------- when they start ---------- */

typedef struct tally
{
	int			moments;
	int			jobs;
	double		p50;			/* shares within, summed over moments */
	double		p90;
	double		cpu_s;
	double		over90;			/* logarithms of p90 wait over true wait, summed over moments */
} tally;

/* What queue_eta knows beside the jobs that run and wait. */
typedef enum knowledge
{
	NOTHING,
	RECENT,
	CHECKED
} knowledge;
static const char *const knowledge_name[] = {"", ".recent", ".checked"};

/* What was submitted in the days before a moment. */
#define RECENT_S (7 * 86400.0)

static int
look_back(const replay *r, double at, pm_queue_job *recent)
{
	int			n = 0;

	for (int i = 0; i < r->n; i++)
		if (r->jobs[i].submit_s > at - RECENT_S && r->jobs[i].submit_s <= at)
		{
			recent[n] = r->jobs[i];
			recent[n++].submit_s -= at;
		}
	return n;
}

/* The jobs that run or wait at a moment, as queue_eta is given them; of[] says which they are. */
static int
look_at(const replay *r, double at, const double *start_s, const double *finish_s, pm_queue_job *now, int *of, pm_pool *pools)
{
	int			n = 0;

	for (int p = 0; p < r->n_pools; p++)
		pools[p] = r->pools[p];
	for (int i = 0; i < r->n; i++)
	{
		pm_queue_job j = r->jobs[i];

		if (j.submit_s > at || finish_s[i] <= at)
			continue;
		j.submit_s -= at;
		if (start_s[i] <= at)
		{
			j.elapsed_s = at - start_s[i];
			pools[j.pool].free -= j.gpus;
		}
		of[n] = i;
		now[n++] = j;
	}
	return n;
}

/* The jobs of the weeks before a moment, with what became of them until then. */
#define SPAN_S (14 * 86400.0)

static int
remember(const replay *r, double at, const double *start_s, const double *finish_s, pm_past_job *past)
{
	int			n = 0;

	for (int i = 0; i < r->n; i++)
	{
		const pm_queue_job *j = &r->jobs[i];

		if (j->submit_s > at || (j->submit_s <= at - SPAN_S - RECENT_S && finish_s[i] <= at - SPAN_S - RECENT_S))
			continue;
		past[n] = (pm_past_job) {*j, start_s[i] <= at ? start_s[i] - at : INFINITY, finish_s[i] <= at ? finish_s[i] - at : INFINITY};
		past[n++].job.submit_s -= at;
	}
	return n;
}

static void
learn(replay *r, double at, const double *start_s, const double *finish_s, knowledge what, pm_eta_options *o, pm_arena *a)
{
	pm_queue_job *recent = PM_NEW(a, pm_queue_job, r->n);
	pm_past_job *past = PM_NEW(a, pm_past_job, r->n);
	pm_stretch *stretch = PM_NEW(a, pm_stretch, MOST_POOLS);
	pm_status	st;
	int			moments;

	must(recent != NULL && past != NULL && stretch != NULL, "out of memory");
	o->recent = recent;
	o->n_recent = look_back(r, at, recent);
	o->window_s = RECENT_S;
	if (what != CHECKED)
		return;
	must(pm_eta_backtest(past, remember(r, at, start_s, finish_s, past), r->n_networks, r->pools, r->n_pools, o, SPAN_S, stretch, &moments, a, &st) == PM_OK,
		 st.message);
	o->stretch = stretch;
}

static void
ask_moment(replay *r, double at, pm_policy policy, bool backfill, knowledge what, const double *start_s, const double *finish_s, tally *t)
{
	pm_arena	a;
	pm_pool		pools[MOST_POOLS];
	pm_eta_options o = {.draws = 200,.seed = 1,.backfill = backfill,.policy = policy};
	pm_status	st;
	pm_queue_job *now;
	pm_eta	   *eta;
	int32_t    *order;
	int		   *of;
	int			n;
	int			waiting = 0, within50 = 0, within90 = 0;
	double		began, over90 = 0;

	pm_arena_init_malloc(&a);
	now = PM_NEW(&a, pm_queue_job, r->n);
	of = PM_NEW(&a, int, r->n);
	n = look_at(r, at, start_s, finish_s, now, of, pools);
	eta = PM_NEW(&a, pm_eta, n + 1);
	order = PM_NEW(&a, int32_t, n + 1);
	must(now != NULL && of != NULL && eta != NULL && order != NULL, "out of memory");
	began = cpu_s();
	if (what != NOTHING)
		learn(r, at, start_s, finish_s, what, &o, &a);
	must(pm_queue_order(now, n, policy, order, &a, &st) == PM_OK, "the order failed");
	must(pm_queue_eta(now, n, r->n_networks, order, pools, r->n_pools, &o, eta, &a, &st) == PM_OK, st.message);
	t->cpu_s += cpu_s() - began;
	for (int i = 0; i < n; i++)
	{
		double		started = start_s[of[i]] - at;

		if (now[i].elapsed_s >= 0)
			continue;
		waiting++;
		/* seconds of the answer are rounded to single precision */
		within50 += started <= eta[i].start_p50_s * (1 + 1e-6) + 1e-3;
		within90 += started <= eta[i].start_p90_s * (1 + 1e-6) + 1e-3;
		over90 += log((eta[i].start_p90_s + PM_ETA_GRACE_S) / (started + PM_ETA_GRACE_S));
	}
	if (waiting > 0)
	{
		t->moments++;
		t->jobs += waiting;
		t->p50 += (double) within50 / waiting;
		t->p90 += (double) within90 / waiting;
		t->over90 += over90 / waiting;
	}
	pm_arena_release(&a);
}

static void
cover_starts(replay *r, pm_policy policy, bool backfill, knowledge what, double *start_s, double *finish_s)
{
	char		name[64];
	tally		t = {0};
	pm_rng		rng;
	double		half;

	for (int i = 0; i < r->n; i++)
		start_s[i] = r->jobs[i].submit_s;
	pm_sort(start_s, r->n);
	half = start_s[r->n / 2];
	snprintf(name, sizeof(name), "%s%s%s", pm_policy_name[policy], knowledge_name[what], backfill ? ".backfill" : "");
	pm_rng_seed(&rng, 7);
	play(r, policy, false, backfill, start_s, finish_s);
	/* moments at which somebody submits, so that they are of busy times; those where nobody waits are drawn again */
	for (int k = 0; k < 20 * MOMENTS && t.moments < MOMENTS; k++)
	{
		double		at = r->jobs[(int) (pm_rng_uniform(&rng) * r->n)].submit_s;

		if (at > half)
			ask_moment(r, at, policy, backfill, what, start_s, finish_s, &t);
	}
	printf("%s.moments %d\n", name, t.moments);
	if (t.moments == 0)
		return;
	printf("%s.waiting_jobs %d\n", name, t.jobs);
	printf("%s.started_by_p50 %.3f\n", name, t.p50 / t.moments);
	printf("%s.started_by_p90 %.3f\n", name, t.p90 / t.moments);
	printf("%s.p90_over_wait %.2f\n", name, exp(t.over90 / t.moments));
	printf("%s.cpu_s_a_question %.3f\n", name, t.cpu_s / t.moments);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	static error_line errors[MOST_ERRORS];
	replay		r = {0};
	double	   *start_s, *finish_s;
	int64_t		devices = 0;
	double		load;

	must(argc == 4 || argc == 5, "usage: replay TRACE ERRORS LOAD [SEED]");
	load = strtod(argv[3], NULL);
	must(load > 0 && load <= 1, "the load must be above 0 and at most 1");
	pm_arena_init_malloc(&r.arena);
	r.jobs = PM_NEW(&r.arena, pm_queue_job, MOST_JOBS);
	r.truth = PM_NEW(&r.arena, double, MOST_JOBS);
	r.predicted = PM_NEW(&r.arena, pm_duration, MOST_JOBS);
	start_s = PM_NEW(&r.arena, double, MOST_JOBS);
	finish_s = PM_NEW(&r.arena, double, MOST_JOBS);
	must(r.jobs && r.truth && r.predicted && start_s && finish_s, "out of memory");
	read_trace(&r, argv[1], errors, read_errors(argv[2], errors), argc > 4 ? strtoull(argv[4], NULL, 10) : 1);
	make_pools(&r, load);
	for (int p = 0; p < r.n_pools; p++)
		devices += r.pools[p].free;
	printf("jobs %d\npools %d\ndevices %lld\n", r.n, r.n_pools, (long long) devices);
	compare_orders(&r, start_s, finish_s);
	cover_starts(&r, PM_FIFO, false, NOTHING, start_s, finish_s);
	for (knowledge what = NOTHING; what <= CHECKED; what++)
		cover_starts(&r, PM_SRSF, true, what, start_s, finish_s);
	for (int k = 0; k < 3; k++)
		cover_starts(&r, (pm_policy[]) {PM_SJF, PM_SRTF, PM_EDF}[k], true, CHECKED, start_s, finish_s);
	pm_arena_release(&r.arena);
	return 0;
}
