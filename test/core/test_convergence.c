/*
 * test_convergence.c - curves of samples over batch size, and which is chosen.
 */
#include "check.h"

#include "jobs/convergence.h"

static int
fill(pm_runs *to, double (*samples) (double), int n)
{
	for (int i = 0; i < n; i++)
		to[i] = (pm_runs) {pow(2, 3 + i), samples(pow(2, 3 + i)), 2, 2};
	return n;
}

static double
noise(double b)
{
	return 1e6 * (1 + b / 200);
}

static double
bent(double b)
{
	return 1e6 * (1 + b / 500 + pow(20 / b, 2));
}

static double
flat(double b)
{
	/* seeds differ */
	return 1e6 * (1 + 0.05 * sin(b));
}

static pm_curve
fitted(double (*samples) (double), int n, double phi)
{
	pm_runs		runs[PM_MAX_BATCHES];
	pm_curve	c;
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_curve_fit(runs, fill(runs, samples, n), phi, &c, &st), PM_OK);
	CHECK_EQ(c.p_reached, 1);
	return c;
}

static void
test_choice(void)
{
	pm_curve	c = fitted(noise, 8, NAN);

	CHECK(c.kind == PM_CURVE_NOISE || c.kind == PM_CURVE_BOTH);
	CHECK_NEAR(pm_curve_at(&c, 4096), noise(4096), 0.1 * noise(4096));
	c = fitted(bent, 8, NAN);
	CHECK_EQ(c.kind, PM_CURVE_BOTH);
	CHECK_NEAR(pm_curve_at(&c, 100), bent(100), 0.05 * bent(100));
	c = fitted(flat, 8, NAN);
	CHECK_EQ(c.kind, PM_CURVE_CONSTANT);
	CHECK_NEAR(pm_curve_at(&c, 1e6), 1e6, 0.05e6);
	CHECK(c.spread >= 0.05);
}

/* A batch that is too small takes four times as many samples; the others do not know of it. */
static double
one_outlier(double b)
{
	return b < 10 ? 4e6 : flat(b);
}

static void
test_median(void)
{
	pm_curve	c = fitted(one_outlier, 7, NAN);

	CHECK_EQ(c.kind, PM_CURVE_CONSTANT);
	CHECK_NEAR(pm_curve_at(&c, 1000), 1e6, 0.05e6);
}

/* Fewer than three batches: the constant, or the noise scale that was measured. */
static void
test_few(void)
{
	pm_curve	c = fitted(noise, 2, NAN);

	CHECK_EQ(c.kind, PM_CURVE_CONSTANT);
	CHECK_EQ(pm_curve_at(&c, 8), pm_curve_at(&c, 8000));
	CHECK(c.spread >= 0.5);
	c = fitted(noise, 1, 200);
	CHECK_EQ(c.kind, PM_CURVE_NOISE);
	CHECK_NEAR(pm_curve_at(&c, 1000), noise(1000), 1);
	c = fitted(noise, 1, INFINITY);
	CHECK_EQ(c.kind, PM_CURVE_CONSTANT);
}

static void
test_not_reached(void)
{
	pm_runs		runs[3] = {{8, 1e6, 1, 4}, {16, 0, 0, 4}, {32, 2e6, 2, 2}};
	pm_curve	c;
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_curve_fit(runs, 3, NAN, &c, &st), PM_OK);
	CHECK_NEAR(c.p_reached, 0.3, 1e-12);
	CHECK_NEAR(pm_curve_at(&c, 8), sqrt(2) * 1e6, 1);
	CHECK_EQ(pm_curve_fit(&runs[1], 1, NAN, &c, &st), PM_ERR_DATA);
	CHECK_EQ(pm_curve_fit(runs, 0, NAN, &c, &st), PM_ERR_DATA);
}

/* From batch to batch samples go straight in logarithms: half way between two there are as many as in their geometric mean. */
static void
test_between(void)
{
	const pm_curve c = {.kind = PM_CURVE_BETWEEN,.n = 3,.batch = {8, 32, 512},.samples = {1e6, 4e6, 2e6}};

	CHECK_NEAR(pm_curve_at(&c, 16), 2e6, 1e-3);
	CHECK_NEAR(pm_curve_at(&c, 32), 4e6, 1e-3);
	/* a quarter of the way from 32 to 512 */
	CHECK_NEAR(pm_curve_at(&c, 64), 4e6 * pow(0.5, 0.25), 1e-3);
	CHECK_EQ(pm_curve_at(&c, 1), 1e6);
	CHECK_EQ(pm_curve_at(&c, 1024), 2e6);
}

/* Between the runs the spread is the same; outside it grows with each doubling, and from the second on p_reached is not known. */
static void
test_outside(void)
{
	pm_runs		runs[4] = {{256, 1e6, 1, 1}, {1024, 1e6, 1, 1}, {4096, 1e6, 1, 1}, {8192, 0, 0, 1}};
	pm_curve	c;
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_curve_fit(runs, 4, NAN, &c, &st), PM_OK);
	CHECK_EQ(pm_curve_outside(&c, 256), 0);
	CHECK_EQ(pm_curve_outside(&c, 4096), 0);
	CHECK_EQ(pm_curve_outside(&c, 16384), 2);
	CHECK_EQ(pm_curve_outside(&c, 1), -8);
	CHECK_EQ(pm_curve_spread(&c, 500), c.spread);
	CHECK_NEAR(pm_curve_spread(&c, 8192), hypot(0.05, 0.25), 1e-12);
	CHECK_NEAR(pm_curve_spread(&c, 1), hypot(0.05, 2), 1e-12);
	/* the run at 8192 counts, although it has not reached the target */
	CHECK_EQ(pm_curve_p_reached(&c, 16384), 0.75);
	CHECK_EQ(pm_curve_p_reached(&c, 128), 0.75);
	CHECK(isnan(pm_curve_p_reached(&c, 16385)));
	CHECK(isnan(pm_curve_p_reached(&c, 127)));
}

int
main(void)
{
	test_choice();
	test_median();
	test_few();
	test_not_reached();
	test_between();
	test_outside();
	return check_done("convergence");
}
