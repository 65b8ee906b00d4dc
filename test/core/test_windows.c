/*
 * test_windows.c - filling idle windows: by hand, against every choice, and what holds for any input.
 */
#include "check.h"

#include "plan/windows.h"

static pm_arena arena;

static pm_fillings
fill(const pm_window *w, int nw, const pm_filler *j, int nj, double startup_s, double checkpoint_s)
{
	pm_fillings f;
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_windows_fill(w, nw, j, nj, startup_s, checkpoint_s, &f, &arena, &st), PM_OK);
	return f;
}

static void
test_by_hand(void)
{
	const pm_window w[3] = {{1000, 2000, 0, 1}, {0, 500, 0, 4}, {0, 500, 1, 1}};
	const pm_filler j[3] = {{2, 2, 300, 0, 1}, {1, 1, 10000, 0, 2}, {10, 10, 5, 1, 1}};
	pm_fillings f = fill(w, 3, j, 3, 60, 40);

	/* the second window opens first: 400 s for the job of 1 s, which gains as much as that of 2 s; the first of them is taken */
	CHECK_EQ(f.n, 3);
	CHECK(f.v[0].window == 0 && f.v[0].job == 0);
	CHECK_EQ(f.v[1].window, 1);
	CHECK(f.v[1].job == 0 && f.v[1].steps == 200 && f.v[1].starts_s == 0 && f.v[1].ends_s == 500);
	/* where the first of them goes on: 100 steps are left */
	CHECK(f.v[0].steps == 100 && f.v[0].ends_s == 1300);
	CHECK(f.v[2].job == 2 && f.v[2].steps == 5 && f.v[2].ends_s == 150);
	/* no room for a step beside start and checkpoint */
	f = fill(w + 1, 1, j, 2, 300, 199.5);
	CHECK_EQ(f.n, 0);
	f = fill(w + 1, 1, j, 2, 300, 199);
	CHECK(f.n == 1 && f.v[0].job == 1 && f.v[0].steps == 1);
	f = fill(w, 0, j, 3, 1, 1);
	CHECK_EQ(f.n, 0);
	f = fill(w, 3, j, 0, 1, 1);
	CHECK_EQ(f.n, 0);
}

static void
test_edges(void)
{
	const pm_window follow[2] = {{0, 100, 0, 1}, {100, 200, 0, 1}};
	const pm_window tenths = {0, 0.3, 0, 1};
	const pm_window wide = {0, 100, 0, 1};
	const pm_window narrow = {0, 10, 0, 1};
	const pm_filler job = {1, 1, 1000, 0, 1};
	const pm_filler tenth = {0.1, 1, 1000, 0, 1};
	pm_filler	many[43];
	double		gain = 0;
	pm_fillings f = fill(follow, 2, &job, 1, 0, 0);

	/* a window that opens when the job has just ended */
	CHECK(f.n == 2 && f.v[1].steps == 100);
	/* 0.3 / 0.1 is a little less than 3 */
	f = fill(&tenths, 1, &tenth, 1, 0, 0);
	CHECK(f.n == 1 && f.v[0].steps == 3);
	/* more jobs than are tried in all combinations */
	for (int i = 0; i < 43; i++)
		many[i] = (pm_filler) {1, 0.001, 1, 0, 1};
	f = fill(&wide, 1, many, 40, 0, 0);
	CHECK_EQ(f.n, 40);
	/* of which those are tried that gain most: two of 5 s that gain 7 instead of the one of 6 s that gains 10 */
	many[40] = (pm_filler) {6, 10, 1, 0, 1};
	many[41] = many[42] = (pm_filler) {5, 7, 1, 0, 1};
	f = fill(&narrow, 1, many, 43, 0, 0);
	for (int i = 0; i < f.n; i++)
		gain += f.v[i].steps * many[f.v[i].job].gain;
	CHECK_NEAR(gain, 14, 1e-9);
}

/* The most that jobs [k, n) gain in `time` whole seconds, of all ways to divide it. */
static double
every_choice(const pm_filler *j, int k, int n, int time, int overhead)
{
	double		best = 0;

	if (k == n)
		return 0;
	for (int x = 0; x <= time; x++)
	{
		double		steps = floor((x - overhead) / j[k].step_s + 1e-9);
		double		gain;

		steps = steps < 1 ? 0 : steps > j[k].steps ? j[k].steps : steps;
		gain = steps * j[k].gain + every_choice(j, k + 1, n, time - x, overhead);
		best = gain > best ? gain : best;
	}
	return best;
}

static void
test_against_all(void)
{
	pm_rng		rng;

	pm_rng_seed(&rng, 5);
	for (int round = 0; round < 200; round++)
	{
		pm_filler	j[3];
		pm_window	w = {0, 80, 0, 1};
		pm_fillings f;
		double		gain = 0;
		int			overhead = (int) (pm_rng_uniform(&rng) * 12);

		for (int i = 0; i < 3; i++)
		{
			double		step = 1 + floor(pm_rng_uniform(&rng) * 9);

			j[i] = (pm_filler) {step, step * (0.5 + pm_rng_uniform(&rng)), 1 + floor(pm_rng_uniform(&rng) * 12), 0, 1};
		}
		f = fill(&w, 1, j, 3, overhead, 0);
		for (int i = 0; i < f.n; i++)
			gain += f.v[i].steps * j[f.v[i].job].gain;
		CHECK_NEAR(gain, every_choice(j, 0, 3, 80, overhead), 1e-4);
	}
}

/* No job in two windows at once, none beyond its steps, nothing after a window closes. */
static void
test_any(void)
{
	pm_rng		rng;

	pm_rng_seed(&rng, 6);
	for (int round = 0; round < 60; round++)
	{
		pm_filler	j[50];
		pm_window	w[20];
		double		done[50] = {0};
		pm_fillings f;

		for (int i = 0; i < 50; i++)
			j[i] = (pm_filler) {exp(6 * pm_rng_uniform(&rng) - 3), pm_rng_uniform(&rng) + 1e-3, 1 + floor(exp(9 * pm_rng_uniform(&rng))),
			i % 3, 1 + i % 4};
		for (int i = 0; i < 20; i++)
		{
			w[i] = (pm_window) {.opens_s = 5000 * pm_rng_uniform(&rng),.pool = i % 3,.gpus = 1 + i % 8};
			w[i].closes_s = w[i].opens_s + 2000 * pm_rng_uniform(&rng);
		}
		f = fill(w, 20, j, 50, 20, 5);
		CHECK(f.n > 0);
		for (int i = 0; i < f.n; i++)
		{
			const pm_filling *x = &f.v[i];

			CHECK(x->steps >= 1 && x->steps == floor(x->steps));
			CHECK(x->starts_s >= w[x->window].opens_s && x->ends_s <= w[x->window].closes_s);
			CHECK(x->ends_s - x->starts_s > 25 + x->steps * j[x->job].step_s - 1e-3);
			CHECK(j[x->job].pool == w[x->window].pool && j[x->job].gpus <= w[x->window].gpus);
			done[x->job] += x->steps;
			for (int k = 0; k < i; k++)
			{
				bool		same = f.v[k].window == x->window || f.v[k].job == x->job;

				CHECK(!same || f.v[k].ends_s <= x->starts_s || x->ends_s <= f.v[k].starts_s);
			}
		}
		for (int i = 0; i < 50; i++)
			CHECK(done[i] <= j[i].steps);
	}
}

/* The first question goes on; what takes long has to ask again. */
static bool
stop_at_second(void *ctx)
{
	return ++*(int *) ctx > 1;
}

/* Many jobs in one window. */
static void
test_stop(void)
{
	int			asked = 0;
	const pm_hooks hooks = {.stop = stop_at_second,.ctx = &asked};
	static pm_filler j[1000];
	const pm_window w = {0, 1e6, 0, 1};
	pm_fillings f;
	pm_status	st = {PM_OK};

	for (int i = 0; i < 1000; i++)
		j[i] = (pm_filler) {1, 1, 1, 0, 1};
	arena.hooks = &hooks;
	CHECK_EQ(pm_windows_fill(&w, 1, j, 1000, 0, 0, &f, &arena, &st), PM_CANCELLED);
	arena.hooks = NULL;
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_by_hand();
	test_edges();
	test_against_all();
	test_any();
	test_stop();
	pm_arena_release(&arena);
	return check_done("windows");
}
