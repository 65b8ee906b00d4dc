/*
 * test_elastic.c - devices for elastic jobs: by hand, within what there is, and against every choice.
 */
#include "check.h"

#include <stdlib.h>

#include "elastic.h"

static unsigned long long state = 1;

static double
uniform(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double) (state >> 11) / 9007199254740992.0;
}

static void *held[1000];
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

static void
test_by_hand(void)
{
	/* 4 devices; the first job has 100 times the work of the second, and scales as well */
	const double count[3] = {1, 2, 4};
	const double goodput[6] = {1, 1.9, 3.4, 1, 1.9, 3.4};
	const double work[2] = {1000, 10};
	double		workers[1] = {4};
	int			kind[2], n[2];
	elastic_input in = {2, 1, 3, count, goodput, work, workers};
	elastic_result r = {.kind = kind,.count = n};

	CHECK_EQ(elastic_allocate(&in, ELASTIC_OPTIMUS, take, NULL, NULL, &r), LP_OPTIMAL);
	/* one each, then the second for the long one; 4 would need 2 more, and there is 1: it goes to the short one */
	CHECK(kind[0] == 0 && n[0] == 1 && kind[1] == 0 && n[1] == 1);
	CHECK_NEAR(r.objective, 1000 / 1.9 + 10 / 1.9, 1e-9);
	CHECK_EQ(elastic_allocate(&in, ELASTIC_SIA, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK(n[0] == 1 && n[1] == 1);
	CHECK_NEAR(r.objective, 2 * (1.1 - pow(1.9, -0.5)), 1e-9);
	CHECK_NEAR(r.bound, r.objective, 1e-9);
	/* one device: the shorter gets it */
	workers[0] = 1;
	CHECK_EQ(elastic_allocate(&in, ELASTIC_OPTIMUS, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK(kind[0] == -1 && kind[1] == 0 && n[1] == 0);
	workers[0] = 0;
	CHECK_EQ(elastic_allocate(&in, ELASTIC_SIA, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK(kind[0] == -1 && kind[1] == -1 && r.objective == 0);
	give_back();
}

/* The faster kind of device first; and what saves most for each device more, not most in all. */
static void
test_optimus_by_hand(void)
{
	const double count[3] = {1, 2, 8};
	/* job, kind, count: the first job runs on one device and, faster, on two; the second on two and, faster, on eight */
	const double goodput[6] = {10, 20, 0, 0, 10, 20};
	const double work[2] = {200, 600};
	const double workers[1] = {9};
	/* one job on two kinds */
	const double two_kinds[6] = {10, 0, 0, 20, 0, 0};
	const double two[2] = {1, 1};
	int			kind[2], n[2];
	elastic_input in = {2, 1, 3, count, goodput, work, workers};
	elastic_result r = {.kind = kind,.count = n};

	/* one more saves the first job 10 s; six more save the second 30 s, but are too many then */
	CHECK_EQ(elastic_allocate(&in, ELASTIC_OPTIMUS, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK(n[0] == 1 && n[1] == 1);
	CHECK_NEAR(r.objective, 10 + 60, 1e-9);
	in = (elastic_input) {1, 2, 3, count, two_kinds, work, two};
	CHECK_EQ(elastic_allocate(&in, ELASTIC_OPTIMUS, take, NULL, NULL, &r), LP_OPTIMAL);
	CHECK(kind[0] == 1 && n[0] == 0);
	give_back();
}

/* The best sum of all choices for jobs [m, n). */
static double
every_choice(const elastic_input *in, int m, double *left)
{
	double		best, least = INFINITY;

	if (m == in->n_jobs)
		return 0;
	best = every_choice(in, m + 1, left);
	for (int i = 0; i < in->n_kinds * in->n_counts; i++)
		if (in->goodput[m * in->n_kinds * in->n_counts + i] > 0)
			least = fmin(least, in->goodput[m * in->n_kinds * in->n_counts + i]);
	for (int k = 0; k < in->n_kinds; k++)
		for (int c = 0; c < in->n_counts; c++)
		{
			double		g = in->goodput[(m * in->n_kinds + k) * in->n_counts + c];

			if (g <= 0 || in->count[c] > left[k])
				continue;
			left[k] -= in->count[c];
			best = fmax(best, 1.1 - pow(g / least, -0.5) + every_choice(in, m + 1, left));
			left[k] += in->count[c];
		}
	return best;
}

static void
test_random(void)
{
	const double count[3] = {1, 2, 4};
	double		worst = 1;

	for (int round = 0; round < 300; round++)
	{
		double		goodput[5 * 2 * 3], work[5], workers[2], left[2];
		int			kind[5], n[5];
		elastic_input in = {1 + round % 5, 2, 3, count, goodput, work, workers};
		elastic_result r = {.kind = kind,.count = n};

		for (int m = 0; m < in.n_jobs; m++)
		{
			work[m] = exp(8 * uniform());
			for (int k = 0; k < 2; k++)
			{
				double		g = exp(3 * uniform());

				for (int c = 0; c < 3; c++, g *= 1 + uniform())
					goodput[(m * 2 + k) * 3 + c] = uniform() < 0.1 ? 0 : g;
			}
		}
		workers[0] = floor(8 * uniform());
		workers[1] = floor(8 * uniform());
		for (int policy = 0; policy < ELASTIC_N_POLICIES; policy++)
		{
			left[0] = workers[0];
			left[1] = workers[1];
			CHECK_EQ(elastic_allocate(&in, policy, take, NULL, NULL, &r), LP_OPTIMAL);
			for (int m = 0; m < in.n_jobs; m++)
			{
				CHECK(kind[m] >= -1 && kind[m] < 2);
				if (kind[m] < 0)
					continue;
				left[kind[m]] -= count[n[m]];
				CHECK(goodput[(m * 2 + kind[m]) * 3 + n[m]] > 0);
			}
			CHECK(left[0] >= 0 && left[1] >= 0);
			if (policy == ELASTIC_SIA)
			{
				double		best;

				left[0] = workers[0];
				left[1] = workers[1];
				best = every_choice(&in, 0, left);
				CHECK(r.objective <= best + 1e-9 && best <= r.bound + 1e-6);
				if (best > 0)
					worst = fmin(worst, r.objective / best);
			}
		}
		give_back();
	}
	printf("worst of 300 against every choice: %.3f\n", worst);
	CHECK(worst > 0.7);
}

int
main(void)
{
	test_by_hand();
	test_optimus_by_hand();
	test_random();
	return check_done("elastic");
}
