/*
 * test_gavel.c - Gavel's programmes: by hand, and 1,000 random cases against duality.
 *
 * lp_solve() is checked on the programmes themselves: x is feasible, the duals
 * are feasible and say the same objective, so both are optimal.
 */
#include "check.h"

#include <stdlib.h>

#include "gavel.h"

static unsigned long long state = 1;

static double
uniform(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double) (state >> 11) / 9007199254740992.0;
}

/* ---------- duality ---------- */

/* What the dual variables promise: no x can have a larger objective. LP_FREE: nothing. */
static double
dual_bound(const lp_problem *p, const double *y)
{
	double		bound = 0;

	for (int i = 0; i < p->n_rows; i++)
	{
		double		at = y[i] > 0 ? p->row_high[i] : p->row_low[i];

		if (fabs(y[i]) < 1e-9)
			continue;
		if (fabs(at) >= LP_FREE && fabs(y[i]) < 1e-6)
			continue;
		if (fabs(at) >= LP_FREE)
			return LP_FREE;
		bound += y[i] * at;
	}
	for (int j = 0; j < p->n_columns; j++)
	{
		double		reduced = p->gain[j];

		for (int k = p->start[j]; k < p->start[j + 1]; k++)
			reduced -= p->value[k] * y[p->row[k]];
		if (reduced <= 1e-7 || (p->high[j] >= LP_FREE && reduced < 1e-5))
			continue;
		if (p->high[j] >= LP_FREE)
			return LP_FREE;
		bound += reduced * p->high[j];
	}
	return bound;
}

static double
worst_violation(const lp_problem *p, const double *x)
{
	double	   *row = calloc(p->n_rows, sizeof(double));
	double		worst = 0;

	for (int j = 0; j < p->n_columns; j++)
	{
		worst = fmax(worst, fmax(-x[j], x[j] - p->high[j]));
		for (int k = p->start[j]; k < p->start[j + 1]; k++)
			row[p->row[k]] += p->value[k] * x[j];
	}
	for (int i = 0; i < p->n_rows; i++)
		worst = fmax(worst, fmax(p->row_low[i] - row[i], row[i] - p->row_high[i]));
	free(row);
	return worst;
}

/* How much worse a decomposed programme came out at most. */
static double worst_decomposed;

/* Seen on its way to the solver. */
static int	n_solved;

static void
check_duality(const lp_problem *p, const lp_solution *s)
{
	double		objective = 0;
	double		bound = dual_bound(p, s->dual);

	for (int j = 0; j < p->n_columns; j++)
		objective += p->gain[j] * s->x[j];
	CHECK(worst_violation(p, s->x) < 1e-6);
	CHECK_NEAR(objective, s->objective, 1e-6 * (1 + fabs(objective)));
	CHECK_NEAR(bound, objective, 1e-5 * (1 + fabs(objective)));
	n_solved++;
}

/* gavel.c is compiled into this file's program with lp_solve going through here. */
extern lp_status __real_lp_solve(const lp_problem *p, bool (*stop) (void *), void *arg, lp_solution *s);
extern lp_status __wrap_lp_solve(const lp_problem *p, bool (*stop) (void *), void *arg, lp_solution *s);

lp_status
__wrap_lp_solve(const lp_problem *p, bool (*stop) (void *), void *arg, lp_solution *s)
{
	lp_status	status = __real_lp_solve(p, stop, arg, s);

	if (status == LP_OPTIMAL)
		check_duality(p, s);
	return status;
}

/* ---------- memory that is all given back ---------- */

static void *held[100000];
static int	n_held;

static void *
take(size_t size)
{
	return held[n_held++] = calloc(1, size ? size : 1);
}

static void
give_back(void)
{
	while (n_held > 0)
		free(held[--n_held]);
}

static void *
take_nothing(size_t size)
{
	return size > 100 ? NULL : take(size);
}

/* ---------- cases ---------- */

static void
test_by_hand(void)
{
	/* two jobs, one device of each of two kinds; the first job is fast on kind 0 */
	gavel_job	jobs[2] = {{1, 1, 100, INFINITY}, {1, 1, 100, INFINITY}};
	double		t[4] = {4, 1, 1, 1};
	double		workers[2] = {1, 1};
	double		price[2] = {2, 1};
	double		share[4], unmet[2];
	gavel_input in = {2, 2, jobs, t, workers, price, 0};
	gavel_result r = {.share = share,.unmet = unmet};

	/* an equal share is half of each: rates 2.5 and 1 */
	CHECK_EQ(gavel_assign(&in, GAVEL_MAX_MIN, take, NULL, NULL, &r), LP_OPTIMAL);
	/* the second job has a rate of 1 at most, so that the least fairness is 1 */
	CHECK_NEAR(r.objective, 1, 1e-9);
	/* both end at once: x on kind 0 for the first, 1 - x for the second: 4 x + 1 - ... the first alone on kind 0 needs 25 s, the second 100 s */
	CHECK_EQ(gavel_assign(&in, GAVEL_MAKESPAN, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK_NEAR(r.objective, 100, 1e-6);
	CHECK(r.n_classes == 2);
	/* 4 / 2 on kind 0 and 1 / 1 on kind 1 */
	CHECK_EQ(gavel_assign(&in, GAVEL_COST, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK_NEAR(r.objective, 3, 1e-9);
	CHECK(share[0] == 1 && share[3] == 1);
	/* a deadline that the second can meet only on both kinds of device is missed by half */
	jobs[1].deadline_s = 50;
	CHECK_EQ(gavel_assign(&in, GAVEL_COST, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK_NEAR(unmet[1], 0.5, 1e-9);
	CHECK_NEAR(share[2] + share[3], 1, 1e-9);
	/* a job that runs nowhere */
	t[0] = t[1] = 0;
	CHECK_EQ(gavel_assign(&in, GAVEL_MAKESPAN, take, NULL, NULL, &r), LP_INFEASIBLE);
	CHECK_EQ(gavel_assign(&in, GAVEL_MAX_MIN, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK(share[0] == 0 && share[1] == 0);
	CHECK_EQ(gavel_assign(&in, GAVEL_MAX_MIN, take_nothing, NULL, NULL, &r), LP_NO_MEMORY);
	give_back();
}

/* One kind of device: jobs by what they bring for the money of all their devices, and jobs that are alike count as many. */
static void
test_cost_by_hand(void)
{
	/* three jobs with the same throughput; the first has two devices, the others are alike */
	gavel_job	jobs[3] = {{2, 1, 100, INFINITY}, {1, 1, 100, INFINITY}, {1, 1, 100, INFINITY}};
	double		t[3] = {10, 10, 10};
	double		workers[1] = {3};
	double		price[1] = {1};
	double		share[3], unmet[3];
	gavel_input in = {3, 1, jobs, t, workers, price, 0};
	gavel_result r = {.share = share,.unmet = unmet};

	/* a device of each of the two brings 10, one of the first job 5 / 2: it has half of its two */
	CHECK_EQ(gavel_assign(&in, GAVEL_COST, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK(r.n_classes == 2);
	CHECK_NEAR(share[0], 0.5, 1e-9);
	CHECK_NEAR(share[1] + share[2], 2, 1e-9);
	CHECK_NEAR(r.objective, 10 + 10 + 0.5 * 10 / 2, 1e-9);
	/* deadlines and one device: half of it each would do for the two that are alike, the other one needs 0.9: two deadlines go before one */
	jobs[0] = (gavel_job) {1, 1, 90, 10};
	jobs[1] = jobs[2] = (gavel_job) {1, 1, 50, 10};
	workers[0] = 1;
	CHECK_EQ(gavel_assign(&in, GAVEL_COST, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK_NEAR(unmet[1] + unmet[2], 0, 1e-6);
	CHECK_NEAR(unmet[0], 1, 1e-6);
	give_back();
}

static gavel_input
random_case(int n, int kinds, int classes)
{
	gavel_job  *jobs = take(sizeof(gavel_job) * n);
	double	   *t = take(sizeof(double) * n * kinds);
	double	   *workers = take(sizeof(double) * kinds);
	double	   *price = take(sizeof(double) * kinds);

	for (int j = 0; j < kinds; j++)
	{
		workers[j] = floor(uniform() * 12);
		price[j] = 0.2 + 3 * uniform();
	}
	workers[0] = 4;
	for (int m = 0; m < n; m++)
	{
		if (m >= classes)
		{
			jobs[m] = jobs[m % classes];
			memcpy(t + m * kinds, t + m % classes * kinds, sizeof(double) * kinds);
			continue;
		}
		jobs[m] = (gavel_job) {1 << (int) (uniform() * 4), 0.5 + uniform(), floor(exp(3 + 8 * uniform())), uniform() < 0.5 ? INFINITY : exp(2 + 8 * uniform())};
		for (int j = 0; j < kinds; j++)
			t[m * kinds + j] = uniform() < 0.1 ? 0 : exp(6 * uniform() - 3);
		t[m * kinds] = 0.01 + uniform();
	}
	return (gavel_input) {n, kinds, jobs, t, workers, price, 0};
}

/* The shares are possible, and the objective is what they say. */
static void
check_shares(const gavel_input *in, gavel_policy policy, const gavel_result *r)
{
	double		fairness = INFINITY, last = 0, all = 0;

	for (int j = 0; j < in->n_kinds; j++)
	{
		double		used = 0;

		for (int m = 0; m < in->n_jobs; m++)
			used += in->jobs[m].gpus * r->share[m * in->n_kinds + j];
		CHECK(used <= in->workers[j] + 1e-6);
		all += in->workers[j] / in->n_jobs;
	}
	for (int m = 0; m < in->n_jobs; m++)
	{
		double		time = 0, rate = 0, equal = 0;

		for (int j = 0; j < in->n_kinds; j++)
		{
			double		x = r->share[m * in->n_kinds + j];

			time += x;
			rate += x * in->throughput[m * in->n_kinds + j];
			equal += in->workers[j] / in->n_jobs * in->throughput[m * in->n_kinds + j] / fmax(1, all);
		}
		CHECK(time <= 1 + 1e-6);
		fairness = fmin(fairness, rate / equal * in->jobs[m].gpus / in->jobs[m].weight);
		last = fmax(last, in->jobs[m].steps / rate);
		if (policy == GAVEL_COST && in->jobs[m].deadline_s < INFINITY)
			CHECK(rate >= (1 - r->unmet[m]) * in->jobs[m].steps / in->jobs[m].deadline_s * (1 - 1e-5) - 1e-7);
	}
	if (policy == GAVEL_MAX_MIN)
		CHECK_NEAR(fairness / r->objective, 1, 1e-4);
	if (policy == GAVEL_MAKESPAN)
		CHECK_NEAR(last / r->objective, 1, 1e-4);
}

/* By prices of the devices it comes out the same, within what the bound says; and no bound is wrong. */
static void
check_decomposed(gavel_input *in, gavel_policy policy, double whole)
{
	gavel_result r = {.share = take(sizeof(double) * in->n_jobs * in->n_kinds),.unmet = take(sizeof(double) * in->n_jobs)};
	double		worse;

	if (policy == GAVEL_COST)
		return;
	in->whole_up_to = 1;
	CHECK_EQ(gavel_assign(in, policy, take, NULL, NULL, &r), LP_OPTIMAL);
	in->whole_up_to = 0;
	check_shares(in, policy, &r);
	worse = policy == GAVEL_MAX_MIN ? 1 - r.objective / whole : r.objective / whole - 1;
	CHECK(worse < 5e-5);
	CHECK(policy == GAVEL_MAX_MIN ? r.bound >= whole * (1 - 1e-5) : r.bound <= whole * (1 + 1e-5));
	CHECK(fabs(r.bound / r.objective - 1) < 2e-5);
	if (worst_decomposed < worse)
		worst_decomposed = worse;
}

static void
test_random(void)
{
	for (int round = 0; round < 1000; round++)
	{
		int			classes = 1 + (int) (uniform() * 15);
		int			n = classes + (round % 3 ? 0 : (int) (uniform() * 30));
		gavel_input in = random_case(n, 1 + (int) (uniform() * 6), classes);
		gavel_result r = {.share = take(sizeof(double) * n * in.n_kinds),.unmet = take(sizeof(double) * n)};
		gavel_policy policy = round % GAVEL_N_POLICIES;

		CHECK_EQ(gavel_assign(&in, policy, take, NULL, NULL, &r), LP_OPTIMAL);
		CHECK(r.n_classes <= classes);
		check_shares(&in, policy, &r);
		CHECK(r.bound == r.objective);
		check_decomposed(&in, policy, r.objective);
		give_back();
	}
	printf("decomposed: worse by at most %.1e\n", worst_decomposed);
	CHECK(n_solved >= 1000);
}

static bool
at_once(void *arg)
{
	(void) arg;
	return true;
}

static void
test_stop(void)
{
	gavel_input in = random_case(60, 5, 60);
	gavel_result r = {.share = take(sizeof(double) * 300),.unmet = take(sizeof(double) * 60)};

	CHECK_EQ(gavel_assign(&in, GAVEL_MAX_MIN, take, at_once, NULL, &r), LP_STOPPED);
	in.whole_up_to = 1;
	CHECK_EQ(gavel_assign(&in, GAVEL_MAX_MIN, take, at_once, NULL, &r), LP_STOPPED);
	CHECK_EQ(gavel_assign(&in, GAVEL_MAX_MIN, take_nothing, NULL, NULL, &r), LP_NO_MEMORY);
	give_back();
}

/* Without devices nothing can run: whole and decomposed, all shares are 0. */
static void
test_no_devices(void)
{
	for (int whole_up_to = 0; whole_up_to < 2; whole_up_to++)
	{
		gavel_input in = random_case(60, 5, 60);
		gavel_result r = {.share = take(sizeof(double) * 300),.unmet = take(sizeof(double) * 60)};
		double	   *none = take(sizeof(double) * 5);

		in.workers = none;
		in.whole_up_to = whole_up_to;
		CHECK_EQ(gavel_assign(&in, GAVEL_MAX_MIN, take, NULL, NULL, &r), LP_OPTIMAL);
		CHECK(r.objective == 0 && r.bound == 0);
		for (int i = 0; i < 60 * in.n_kinds; i++)
			CHECK(r.share[i] == 0);
		give_back();
	}
}

int
main(void)
{
	test_by_hand();
	test_cost_by_hand();
	test_no_devices();
	test_random();
	test_stop();
	return check_done("gavel");
}
