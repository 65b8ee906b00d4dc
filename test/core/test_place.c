/*
 * test_place.c - jobs on machines: by hand, and what holds for any input.
 */
#include "check.h"

#include "plan/place.h"

static pm_arena arena;

static pm_queue_job
waiting(int gpus, int pool)
{
	return (pm_queue_job) {.deadline_s = INFINITY,.elapsed_s = -1,.gpus = gpus,.pool = pool};
}

static void
test_by_hand(void)
{
	const pm_machine nodes[5] = {{0, 8}, {0, 4}, {0, 8}, {1, 8}, {0, 2}};
	pm_queue_job j[7] = {waiting(2, 0), waiting(4, 0), waiting(12, 0), waiting(9, 1), waiting(3, 0), waiting(2, 0), waiting(1, 2)};
	const int32_t order[7] = {0, 1, 2, 3, 4, 5, 6};
	pm_placement p;
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_place(j, 7, order, nodes, 5, &p, &arena, &st), PM_OK);
	CHECK_EQ(p.n, 5);
	CHECK(p.v[0].node == 4 && p.v[0].gpus == 2);
	CHECK(p.v[1].node == 1 && p.v[1].gpus == 4);
	CHECK(p.v[2].job == 2 && p.v[2].node == 0 && p.v[2].gpus == 8 && p.v[3].job == 2 && p.v[3].node == 2 && p.v[3].gpus == 4);
	/* 9 devices of a machine of 8: no room, and the next takes what it needs */
	CHECK(p.parts[3] == 0 && p.parts[6] == 0 && p.parts[2] == 2);
	CHECK(p.v[4].job == 4 && p.v[4].node == 2 && p.v[4].gpus == 3 && p.parts[5] == 0);
	/* a job that runs is where it is */
	j[0].elapsed_s = 5;
	CHECK_EQ(pm_place(j, 1, order, nodes, 5, &p, &arena, &st), PM_OK);
	CHECK_EQ(p.n, 0);
	CHECK_EQ(pm_place(j, 7, order, nodes, 0, &p, &arena, &st), PM_OK);
	CHECK_EQ(p.n, 0);
}

/* Jobs that find no room join one that leaves the device idle for them, and has the memory for both. */
static void
test_together(void)
{
	const pm_machine nodes[3] = {{0, 2}, {0, 1}, {1, 1}};
	pm_queue_job j[8] = {waiting(1, 0), waiting(1, 0), waiting(1, 0), waiting(1, 1), waiting(1, 0), waiting(1, 0), waiting(2, 0), waiting(1, 0)};
	const int32_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
	/* 4 is light: it goes to 1, the lightest of those with the memory; 5 would slow 0 too much, and has no memory with 2 */
	const pm_device_need need[8] = {{0.9, 1000, 16000}, {0.3, 6000, 16000}, {0.2, 14000, 16000}, {0.1, 100, 16000}, {0.4, 4000, 16000}, {0.4, 3000, 16000},
	{0.1, 10, 16000}, {NAN, NAN, NAN}};
	pm_placement p;
	pm_pair		pair[8];
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_place(j, 8, order, nodes, 3, &p, &arena, &st), PM_OK);
	CHECK_EQ(p.n, 4);
	CHECK_EQ(pm_place_together(j, 8, order, need, 1.2, &p, pair, &arena, &st), PM_OK);
	CHECK_EQ(p.n, 5);
	CHECK(p.v[4].job == 4 && p.v[4].node == p.v[1].node && p.parts[4] == 1 && p.parts[5] == 0 && p.parts[6] == 0 && p.parts[7] == 0);
	CHECK(pair[4].with == 1 && pair[1].with == 4 && pair[4].slowdown == 1 && pair[0].with == -1 && pair[3].with == -1);
	/* a larger slowdown is let through: 5 joins 0 */
	CHECK_EQ(pm_place(j, 8, order, nodes, 3, &p, &arena, &st), PM_OK);
	CHECK_EQ(pm_place_together(j, 8, order, need, 1.5, &p, pair, &arena, &st), PM_OK);
	CHECK(pair[5].with == 0 && p.n == 6);
	CHECK_NEAR(pair[5].slowdown, 1.3, 1e-12);
	CHECK_NEAR(pair[0].slowdown, 1.3, 1e-12);
}

/* A job whose load is not known shares with no other, on whichever side it is. */
static void
test_together_unknown(void)
{
	const pm_machine node = {0, 1};
	pm_queue_job j[2] = {waiting(1, 0), waiting(1, 0)};
	const int32_t order[2] = {0, 1};
	const pm_device_need known = {0.3, 1000, 16000};

	for (int unknown = 0; unknown < 2; unknown++)
	{
		pm_device_need need[2] = {known, known};
		pm_placement p;
		pm_pair		pair[2];
		pm_status	st = {PM_OK};

		need[unknown].busy = NAN;
		CHECK_EQ(pm_place(j, 2, order, &node, 1, &p, &arena, &st), PM_OK);
		CHECK_EQ(pm_place_together(j, 2, order, need, 1.5, &p, pair, &arena, &st), PM_OK);
		CHECK(p.n == 1 && pair[0].with == -1 && pair[1].with == -1);
	}
}

/* Two waiting jobs that would just fill a device together, in time and memory; and changes of them that do not share it. */
static void
test_together_just(void)
{
	static const struct
	{
		double		busy,
					peak_mb,
					elapsed_s;
		int			gpus_of_first;
		bool		share;
	}			cases[] = {
		{0.75, 10000, -1, 1, true}, {0.76, 10000, -1, 1, false}, {0.75, 10001, -1, 1, false},
		/* the second runs already; the first has two devices */
		{0.75, 10000, 5, 1, false}, {0.75, 10000, -1, 2, false}
	};
	const int32_t order[2] = {0, 1};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		const pm_machine node = {0, cases[i].gpus_of_first};
		const pm_device_need need[2] = {{0.5, 6000, 16000}, {cases[i].busy, cases[i].peak_mb, 16000}};
		pm_queue_job j[2] = {waiting(cases[i].gpus_of_first, 0), waiting(1, 0)};
		pm_placement p;
		pm_pair		pair[2];
		pm_status	st = {PM_OK};

		j[1].elapsed_s = cases[i].elapsed_s;
		CHECK_EQ(pm_place(j, 2, order, &node, 1, &p, &arena, &st), PM_OK);
		CHECK_EQ(pm_place_together(j, 2, order, need, 1.25, &p, pair, &arena, &st), PM_OK);
		CHECK_EQ(pair[0].with == 1 && pair[1].with == 0 && p.n == 2, cases[i].share);
		CHECK_EQ(p.n, cases[i].share ? 2 : 1);
	}
}

#define N_MACHINES	20

/* How many machines a job takes that begins with the one that has most devices left. */
static int
fewest_machines(const pm_machine *nodes, const int32_t *left, const pm_queue_job *job)
{
	int			fewest = 0;
	int32_t		free[N_MACHINES];

	memcpy(free, left, sizeof(free));
	for (int needs = job->gpus; needs > 0; fewest++)
	{
		int			most = -1;

		for (int k = 0; k < N_MACHINES; k++)
			if (nodes[k].pool == job->pool && (most < 0 || free[k] > free[most]))
				most = k;
		needs -= free[most];
		free[most] = 0;
	}
	return fewest;
}

/* Nothing is given twice, each job has all of its devices or none, and no more machines than the largest rooms need. */
static void
test_any(void)
{
	pm_rng		rng;
	pm_status	st = {PM_OK};

	pm_rng_seed(&rng, 9);
	for (int round = 0; round < 200; round++)
	{
		pm_machine	nodes[N_MACHINES];
		int32_t		left[N_MACHINES];
		pm_queue_job j[30];
		int32_t		order[30], has[30] = {0};
		pm_placement p;

		for (int i = 0; i < N_MACHINES; i++)
			nodes[i] = (pm_machine) {i % 2, left[i] = (int) (pm_rng_uniform(&rng) * 9)};
		for (int i = 0; i < 30; i++)
		{
			j[i] = waiting(1 + (int) (pm_rng_uniform(&rng) * (i % 3 ? 4 : 30)), i % 2);
			order[i] = 29 - i;
		}
		CHECK_EQ(pm_place(j, 30, order, nodes, N_MACHINES, &p, &arena, &st), PM_OK);
		for (int i = 0; i < p.n;)
		{
			int32_t		job = p.v[i].job;

			CHECK_EQ(p.parts[job], fewest_machines(nodes, left, &j[job]));
			for (; i < p.n && p.v[i].job == job; i++)
			{
				CHECK(nodes[p.v[i].node].pool == j[job].pool && p.v[i].gpus > 0);
				left[p.v[i].node] -= p.v[i].gpus;
				CHECK(left[p.v[i].node] >= 0);
				has[job] += p.v[i].gpus;
			}
		}
		for (int i = 0; i < 30; i++)
			CHECK(has[i] == (p.parts[i] > 0 ? j[i].gpus : 0));
	}
}

/* The first question goes on; what takes long has to ask again. */
static bool
stop_at_second(void *ctx)
{
	return ++*(int *) ctx > 1;
}

/* A job in many parts. */
static void
test_stop(void)
{
	int			asked = 0;
	const pm_hooks hooks = {.stop = stop_at_second,.ctx = &asked};
	static pm_machine nodes[1000];
	pm_queue_job j = waiting(1000, 0);
	int32_t		order = 0;
	pm_placement p;
	pm_status	st = {PM_OK};

	for (int i = 0; i < 1000; i++)
		nodes[i] = (pm_machine) {0, 1};
	arena.hooks = &hooks;
	CHECK_EQ(pm_place(&j, 1, &order, nodes, 1000, &p, &arena, &st), PM_CANCELLED);
	arena.hooks = NULL;
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_by_hand();
	test_together();
	test_together_unknown();
	test_together_just();
	test_any();
	test_stop();
	pm_arena_release(&arena);
	return check_done("place");
}
