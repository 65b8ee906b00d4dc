/*
 * test_nnls.c - non-negative least squares: cases solved by hand, the
 * conditions of an optimum on random problems, every subset of columns tried
 * on small ones, and columns that are zero, equal or nearly so.
 */
#include "check.h"

#include "nn/nnls.h"
#include "nn/solve.h"

#define MAX_ROWS	60
#define MAX_N		30

typedef struct problem
{
	int			m;
	int			n;
	double		a[MAX_ROWS * MAX_N];
	double		b[MAX_ROWS];
	double		g[MAX_N * MAX_N];
	double		h[MAX_N];
	double		x[MAX_N];
} problem;

static pm_arena arena;

static void
solve(problem *p)
{
	pm_status	st;

	for (int j = 0; j < p->n; j++)
	{
		p->h[j] = 0;
		for (int i = 0; i < p->m; i++)
			p->h[j] += p->a[i * p->n + j] * p->b[i];
		for (int k = 0; k < p->n; k++)
		{
			p->g[j * p->n + k] = 0;
			for (int i = 0; i < p->m; i++)
				p->g[j * p->n + k] += p->a[i * p->n + j] * p->a[i * p->n + k];
		}
	}
	CHECK_EQ(pm_nnls(p->g, p->h, p->n, p->x, &arena, &st), PM_OK);
}

static double
squares(const problem *p, const double *x)
{
	double		sum = 0;

	for (int i = 0; i < p->m; i++)
	{
		double		r = -p->b[i];

		for (int j = 0; j < p->n; j++)
			r += p->a[i * p->n + j] * x[j];
		sum += r * r;
	}
	return sum;
}

/*
 * Karush, Kuhn, Tucker: x >= 0; the error does not fall along any coefficient
 * at 0; it neither falls nor rises along one above.  Slopes of columns of length 1,
 * against the length of b.
 */
static void
check_optimal(const problem *p, double tolerance)
{
	double		length = 0;

	for (int i = 0; i < p->m; i++)
		length += p->b[i] * p->b[i];
	for (int j = 0; j < p->n; j++)
	{
		double		slope = p->h[j];
		double		norm = sqrt(p->g[j * p->n + j] * length);

		for (int k = 0; k < p->n; k++)
			slope -= p->g[j * p->n + k] * p->x[k];
		CHECK(p->x[j] >= 0 && isfinite(p->x[j]));
		CHECK(slope <= tolerance * norm);
		CHECK(p->x[j] == 0 || slope >= -tolerance * norm);
	}
}

static void
check_solution(problem *p, const double *want)
{
	solve(p);
	for (int j = 0; j < p->n; j++)
		CHECK_NEAR(p->x[j], want[j], 1e-12 * fmax(want[j], 1));
	check_optimal(p, 1e-12);
}

/* ---------- by hand ---------- */

static void
test_golden(void)
{
	/* nothing in the way: x = (1, 2) */
	problem		free = {.m = 3, .n = 2, .a = {1, 0, 0, 1, 1, 1}, .b = {1, 2, 3}};

	/* (1, 1), (1, 2), (1, 3) against 2 i - 1: x = (-1, 2), or with the first at 0 sum i y / sum i^2 = 22 / 14 */
	problem		held = {.m = 3, .n = 2, .a = {1, 1, 1, 2, 1, 3}, .b = {1, 3, 5}};

	/* b points away from everything */
	problem		away = {.m = 2, .n = 2, .a = {1, 2, 3, 1}, .b = {-1, -2}};

	/* orthogonal columns: each on its own, a'b / a'a = 6 / 4, below 0, 1e9 */
	problem		apart = {.m = 3, .n = 3, .a = {2, 0, 0, 0, 5, 0, 0, 0, 1e-9}, .b = {3, -7, 1}};

	/* (1, 1, 1) fits best alone, with 0.6, and has to go (it would be -0.2) once (1, 0, 0) and (0, 1, 0) are there */
	problem		again = {.m = 3, .n = 3, .a = {1, 1, 0, 1, 0, 1, 1, 0, 0}, .b = {1, 1, -0.2}};

	check_solution(&free, (double[]) {1, 2});
	check_solution(&held, (double[]) {0, 22.0 / 14});
	check_solution(&away, (double[]) {0, 0});
	check_solution(&apart, (double[]) {1.5, 0, 1e9});
	check_solution(&again, (double[]) {0, 1, 1});
}

/* ---------- against all subsets ---------- */

/* Gauss with pivots on the columns in set; false when they depend on each other. */
static bool
solve_subset(const problem *p, int set, double *x)
{
	int			column[MAX_N];
	double		t[MAX_N][MAX_N + 1];
	int			n = 0;

	for (int j = 0; j < p->n; j++)
	{
		x[j] = 0;
		if (set >> j & 1)
			column[n++] = j;
	}
	for (int i = 0; i < n; i++)
	{
		for (int j = 0; j < n; j++)
			t[i][j] = p->g[column[i] * p->n + column[j]];
		t[i][n] = p->h[column[i]];
	}
	for (int k = 0; k < n; k++)
	{
		if (!(fabs(t[k][k]) > 1e-9))
			return false;
		for (int i = 0; i < n; i++)
			for (int j = n; j >= k && i != k; j--)
				t[i][j] -= t[i][k] / t[k][k] * t[k][j];
	}
	for (int k = 0; k < n; k++)
		x[column[k]] = t[k][n] / t[k][k];
	return true;
}

/* The optimum is the best of the solutions on subsets that have no negative coefficient. */
static double
best_subset(const problem *p)
{
	double		best = INFINITY;

	for (int set = 0; set < 1 << p->n; set++)
	{
		double		x[MAX_N];
		bool		feasible = solve_subset(p, set, x);

		for (int j = 0; j < p->n; j++)
			feasible &= x[j] >= 0;
		if (feasible)
			best = fmin(best, squares(p, x));
	}
	return best;
}

static void
make_random(problem *p, int m, int n, pm_rng *rng)
{
	p->m = m;
	p->n = n;
	for (int i = 0; i < m; i++)
	{
		p->b[i] = pm_rng_uniform(rng) - 0.3;
		for (int j = 0; j < n; j++)
			p->a[i * n + j] = (pm_rng_uniform(rng) - 0.4) * pow(10, j % 7 - 3);
	}
}

static void
test_subsets(void)
{
	static problem p;
	pm_rng		rng;
	int			held = 0;
	int			freed = 0;

	pm_rng_seed(&rng, 1);
	for (int round = 0; round < 300; round++)
	{
		double		best;

		make_random(&p, 4 + round % 7, 1 + round % 7, &rng);
		for (int j = 0; j < p.n; j++)	/* columns of about the same length: the subsets are solved without scaling */
			for (int i = 0; i < p.m; i++)
				p.a[i * p.n + j] *= pow(10, 3 - j % 7);
		solve(&p);
		check_optimal(&p, 1e-10);
		best = best_subset(&p);
		CHECK_NEAR(squares(&p, p.x), best, 1e-9 * (1 + best));
		for (int j = 0; j < p.n; j++)
			*(p.x[j] > 0 ? &freed : &held) += 1;
	}
	CHECK(held > 200 && freed > 200);
}

/* ---------- random problems ---------- */

static void
test_random(void)
{
	static problem p;
	pm_rng		rng;

	pm_rng_seed(&rng, 2);
	for (int round = 0; round < 200; round++)
	{
		make_random(&p, MAX_ROWS - round % 20, 1 + round % MAX_N, &rng);
		solve(&p);
		check_optimal(&p, 1e-10);
	}
}

/* Non-negative coefficients that made b come back, whatever their size. */
static void
test_recovers(void)
{
	static problem p;
	pm_rng		rng;

	pm_rng_seed(&rng, 3);
	for (int round = 0; round < 100; round++)
	{
		double		truth[MAX_N];

		make_random(&p, MAX_ROWS, 2 + round % 20, &rng);
		for (int j = 0; j < p.n; j++)
			truth[j] = j % 3 == 1 ? 0 : pm_rng_uniform(&rng) * pow(10, 3 - j % 7);
		for (int i = 0; i < p.m; i++)
		{
			p.b[i] = 0;
			for (int j = 0; j < p.n; j++)
				p.b[i] += p.a[i * p.n + j] * truth[j];
		}
		solve(&p);
		for (int j = 0; j < p.n; j++)
			CHECK_NEAR(p.x[j], truth[j], 1e-8 * pow(10, 3 - j % 7));
	}
}

/* ---------- degenerate columns ---------- */

static void
test_degenerate(void)
{
	static problem p;
	pm_rng		rng;

	pm_rng_seed(&rng, 4);
	for (int round = 0; round < 200; round++)
	{
		double		least;

		make_random(&p, 20, 9, &rng);
		for (int i = 0; i < p.m; i++)
		{
			double	   *row = p.a + i * p.n;

			row[3] = 0;
			row[4] = 7 * row[0];	/* the same column */
			row[5] = row[0] + row[1];	/* in the span of others */
			row[6] = row[2] * (1 + 1e-9 * i);	/* the same but for rounding */
			row[7] = -row[1];		/* the sign that the others may not have */
		}
		solve(&p);
		check_optimal(&p, 1e-7);
		CHECK_EQ(p.x[3], 0);
		CHECK(p.x[0] == 0 || p.x[4] == 0);
		CHECK(p.x[2] == 0 || p.x[6] == 0);
		/* no worse than without the repetitions */
		least = squares(&p, p.x);
		for (int i = 0; i < p.m; i++)
			p.a[i * p.n + 4] = p.a[i * p.n + 5] = p.a[i * p.n + 6] = 0;
		solve(&p);
		CHECK(least <= squares(&p, p.x) * (1 + 1e-7) + 1e-12);
	}
}

/*
 * Sums of columns but for a hundred-millionth: which of them stand in for
 * others, and which are set aside, changes on the way.
 */
static void
test_nearly_dependent(void)
{
	static problem p;
	pm_rng		rng;

	pm_rng_seed(&rng, 5);
	for (int round = 0; round < 500; round++)
	{
		make_random(&p, 24, 20, &rng);
		for (int i = 0; i < p.m; i++)
		{
			double	   *row = p.a + i * p.n;

			for (int j = 0; j < 10; j++)
				row[j] = pm_rng_uniform(&rng) - 0.4;
			for (int j = 0; j < 10; j++)
				row[10 + j] = row[j] + row[(j + 1 + round % 8) % 10] * (round % 2 ? 1 : -1) + 1e-8 * pm_rng_uniform(&rng);
		}
		solve(&p);
		check_optimal(&p, 1e-6);
	}
}

static void
test_nothing(void)
{
	problem		zero = {.m = 2, .n = 3, .b = {1, 1}};
	problem		no_b = {.m = 2, .n = 2, .a = {1, 2, 3, 4}};
	pm_arena	tight;
	pm_status	st;
	double		x[2];

	check_solution(&zero, (double[]) {0, 0, 0});
	check_solution(&no_b, (double[]) {0, 0});
	pm_arena_init_malloc(&tight);
	tight.limit = 64;
	CHECK_EQ(pm_nnls(no_b.g, no_b.h, 2, x, &tight, &st), PM_ERR_MEMORY);
	pm_arena_release(&tight);
}

/* A system with a known solution, one without, and a factor that grows row by row. */
static void
test_solve(void)
{
	const double a[9] = {4, 0, 0, 2, 5, 0, 1, 3, 6};	/* the lower triangle */
	const double x[3] = {1, -2, 3};
	double		b[3] = {4 * 1 + 2 * -2 + 1 * 3, 2 * 1 + 5 * -2 + 3 * 3, 1 * 1 + 3 * -2 + 6 * 3};
	double		rows[3] = {b[0], b[1], b[2]};
	double		m[9];

	memcpy(m, a, sizeof(a));
	CHECK(pm_solve_spd(m, b, 3));
	for (int i = 0; i < 3; i++)
		CHECK_NEAR(b[i], x[i], 1e-13);
	memcpy(m, a, sizeof(a));
	for (int i = 0; i < 3; i++)
		CHECK(pm_cholesky_row(m, 3, i, 1e-9));
	pm_cholesky_solve(m, 3, 3, rows);
	for (int i = 0; i < 3; i++)
		CHECK_NEAR(rows[i], x[i], 1e-13);
	/* the second row is half of the first */
	memcpy(m, (double[]) {4, 0, 2, 1}, 4 * sizeof(double));
	CHECK(pm_cholesky_row(m, 2, 0, 1e-9));
	CHECK(!pm_cholesky_row(m, 2, 1, 1e-9));
	memcpy(m, (double[]) {1, 0, 2, 1}, 4 * sizeof(double));
	CHECK(!pm_solve_spd(m, b, 2));
	memcpy(m, (double[]) {NAN, 0, 2, 1}, 4 * sizeof(double));
	CHECK(!pm_solve_spd(m, b, 2));
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_golden();
	test_subsets();
	test_random();
	test_recovers();
	test_degenerate();
	test_nearly_dependent();
	test_nothing();
	pm_arena_release(&arena);
	test_solve();
	return check_done("nnls");
}
