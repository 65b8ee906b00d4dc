/*
 * test_scaling_fit.c - clusters fitted to steps on several GPUs: what is found, what is refused.
 */
#include "make_cluster.h"

static void
test_fit(void)
{
	job			j;
	pm_step_shape shape;
	pm_scaled_row rows[N_ROWS];
	pm_fabric	truth = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	pm_fabric	f = truth;
	double		before,
				after;
	pm_status	st = {PM_OK};

	make_job(&j, 128, 8, 0.1);
	truth.intra_factor = 0.3;
	truth.inter_factor = 0.1;
	truth.contention = 0.08;
	measure(&j, &truth, 0.01, &shape, rows);
	CHECK_EQ(pm_fabric_fit(&f, rows, N_ROWS, NULL, &arena, &before, &after, &st), PM_OK);
	CHECK(before > 0.2 && after < 0.03);
	CHECK(f.inter_factor > 0.07 && f.inter_factor < 0.15);
	CHECK_EQ(f.fitted_rows, N_ROWS);
	CHECK(f.comm_error < 0.3 && f.step_error > 0 && f.step_error < 0.1);
	/* one network tells nothing about others: what was known stays */
	CHECK(f.unseen_above == 0.5 && f.unseen_below == 0.1);
	CHECK_NEAR(pm_fabric_error(&f, rows, N_ROWS), after, 1e-12);
	/* one row moves it part of the way; none is an error */
	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	CHECK_EQ(pm_fabric_fit(&f, rows, 1, NULL, &arena, &before, &after, &st), PM_OK);
	CHECK(after < before && f.intra_factor > 0.3 && f.intra_factor < 1);
	CHECK_EQ(pm_fabric_fit(&f, rows, 0, NULL, &arena, &before, &after, &st), PM_ERR_DATA);
	/* rows that agree with it leave it where it is */
	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	measure(&j, &f, 0, &shape, rows);
	CHECK_EQ(pm_fabric_fit(&f, rows, N_ROWS, NULL, &arena, &before, &after, &st), PM_OK);
	CHECK(after < 0.002 && fabs(f.intra_factor - 1) < 0.02 && fabs(f.inter_factor - 1) < 0.02);
}

/*
 * Intervals of 90 % after a fit to three networks of which the third takes up to 1.6
 * times as long: it is not outside of what its own rows say, and one more network
 * may be as unlike the others as it is.
 */
static void
check_intervals(const pm_fabric *fitted, const pm_scaled_row *rows, const double *own)
{
	pm_fabric	f = *fitted;
	int			inside = 0;
	int			third = 0;

	CHECK(f.unseen_above > 0.3 && f.unseen_below < f.unseen_above && f.unseen_below >= f.step_error);
	for (int i = 0; i < N_ROWS; i++)
	{
		const pm_step_shape *s = rows[i].shape;
		pm_step_ends unseen = pm_scaled_ends(s, s, s, &rows[i].parallel, fitted, 1.645);
		pm_step_ends seen;

		f.measured = true;
		f.own_contention = own[rows[i].network];
		seen = pm_scaled_ends(s, s, s, &rows[i].parallel, &f, 1.645);
		inside += seen.low_ms <= rows[i].step_ms && rows[i].step_ms <= seen.high_ms;
		third += rows[i].network == 2 && unseen.low_ms <= rows[i].step_ms && rows[i].step_ms <= unseen.high_ms;
		CHECK(seen.high_ms / seen.low_ms < unseen.high_ms / unseen.low_ms);
	}
	CHECK(inside >= 0.8 * N_ROWS);
	CHECK_EQ(third, N_ROWS / 3);
}

/* The interval where nothing is fitted; of one GPU only that of the step. */
static void
test_unfitted(void)
{
	job			j;
	pm_step_shape low,
				mid,
				high;
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	pm_parallel p = PM_PARALLEL_NONE;
	pm_status	st = {PM_OK};
	pm_step_ends e;
	pm_scaled	s;

	make_job(&j, 128, 8, 0.1);
	pm_step_shape_of(&j.buckets, &j.work, 32, 2.7, &low);
	pm_step_shape_of(&j.buckets, &j.work, 32, 3, &mid);
	pm_step_shape_of(&j.buckets, &j.work, 32, 3.3, &high);
	e = pm_scaled_ends(&low, &mid, &high, &p, &f, 1.645);
	CHECK_NEAR(e.low_ms, 2.7, 1e-9);
	CHECK_NEAR(e.high_ms, 3.3, 1e-9);
	p.world_size = 4;
	CHECK_EQ(pm_parallel_check(&p, &f, &st), PM_OK);
	pm_scaled_step(&mid, &p, &f, 1, &s);
	e = pm_scaled_ends(&low, &mid, &high, &p, &f, 1.645);
	CHECK(e.high_ms > s.step_ms * exp(1.645 * f.unseen_above) && e.low_ms < s.step_ms * exp(-1.645 * f.unseen_below));
	/* without it, the ends are those of the step at the ends of its messages: at a fast link and a slow one */
	{
		pm_fabric	sure = f;
		double		factor = exp(1.645 * f.comm_error);
		pm_step_ends ends;

		sure.unseen_above = sure.unseen_below = 0;
		ends = pm_scaled_ends(&low, &mid, &high, &p, &sure, 1.645);
		pm_scaled_step(&low, &p, &sure, 1 / factor, &s);
		CHECK_NEAR(ends.low_ms, s.step_ms, 1e-9);
		pm_scaled_step(&high, &p, &sure, factor, &s);
		CHECK_NEAR(ends.high_ms, s.step_ms, 1e-9);
		pm_scaled_step(&mid, &p, &f, 1, &s);
	}
	/* that a network was measured says nothing where nothing was fitted */
	f.measured = true;
	CHECK_EQ(pm_scaled_ends(&low, &mid, &high, &p, &f, 1.645).high_ms, e.high_ms);
	f.fitted_rows = 9;
	CHECK(pm_scaled_ends(&low, &mid, &high, &p, &f, 1.645).high_ms < e.high_ms);
	/* nor where the GPUs were others */
	f.other_gpu = "another";
	CHECK_EQ(pm_scaled_ends(&low, &mid, &high, &p, &f, 1.645).high_ms, e.high_ms);
	f.other_gpu = NULL;
	/* a level of 0 is the middle */
	CHECK_NEAR(pm_scaled_ends(&mid, &mid, &mid, &p, &f, 0).high_ms, s.step_ms, 1e-9);
}

/* A network that suffers from its neighbours more than others do. */
static pm_fabric
with_contention(pm_fabric f)
{
	f.own_contention = 0.3;
	return f;
}

/* Its passes are slower by it for each doubling of the GPUs of a machine at work. */
static void
test_own_contention_step(void)
{
	job			j;
	pm_step_shape shape;
	pm_fabric	plain = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	pm_fabric	truth = with_contention(plain);
	pm_parallel p = {.world_size = 4,.accumulation = 1,.bucket_mb = 0.1,.tp = 1,.pp = 1,.interleave = 1,.cp = 1};
	pm_scaled	alone,
				slower;
	pm_status	st = {PM_OK};

	make_job(&j, 128, 8, 0.1);
	pm_step_shape_of(&j.buckets, &j.work, 32, 3, &shape);
	/* two doublings, and none */
	CHECK_EQ(pm_parallel_check(&p, &plain, &st), PM_OK);
	pm_scaled_step(&shape, &p, &plain, 1, &alone);
	pm_scaled_step(&shape, &p, &truth, 1, &slower);
	CHECK_NEAR(slower.compute_ms - alone.compute_ms, 0.6 * (shape.forward_ms + shape.backward_ms), 1e-9);
	CHECK_EQ(alone.contention_ms, 0);
	CHECK_NEAR(slower.contention_ms, slower.compute_ms - alone.compute_ms, 1e-9);
	p.nodes = p.world_size;
	pm_scaled_step(&shape, &p, &truth, 1, &slower);
	CHECK_NEAR(slower.compute_ms, alone.compute_ms, 1e-9);
}

/* rows[N_ROWS] of three networks on f, of which the third is such a one. */
static void
measure_three(const job *j, const pm_fabric *f, pm_step_shape *shape, pm_scaled_row *rows)
{
	pm_fabric	truth = with_contention(*f);
	pm_scaled	alone,
				slower;

	measure(j, f, 0.01, shape, rows);
	for (int i = 0; i < N_ROWS; i++)
	{
		rows[i].network = i % 3;
		pm_scaled_step(shape, &rows[i].parallel, f, 1, &alone);
		pm_scaled_step(shape, &rows[i].parallel, &truth, 1, &slower);
		rows[i].step_ms *= i % 3 == 2 ? slower.step_ms / alone.step_ms : 1;
	}
}

static void
test_own_contention(void)
{
	job			j;
	pm_step_shape shape;
	pm_scaled_row rows[N_ROWS];
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	pm_fabric	same = f;
	double		own[3] = {0};
	int			others = 0;
	double		before,
				after,
				after_same;
	pm_status	st = {PM_OK};

	make_job(&j, 128, 8, 0.1);
	f.unseen_above = 0.01;
	measure_three(&j, &f, &shape, rows);
	CHECK_EQ(pm_fabric_fit(&same, rows, N_ROWS, NULL, &arena, &before, &after_same, &st), PM_OK);
	CHECK_EQ(pm_fabric_fit(&f, rows, N_ROWS, own, &arena, &before, &after, &st), PM_OK);
	CHECK(after < 0.03 && after < 0.5 * after_same);
	CHECK(own[2] > 0.2 && own[2] < 0.4);
	CHECK(own[0] < 0.02 && own[1] < 0.02 && f.contention < 0.02);
	CHECK(f.step_error < same.step_error);
	check_intervals(&f, rows, own);
	/* then from rows of the others alone: what is known of the third stays */
	for (int i = 0; i < N_ROWS; i++)
		if (rows[i].network != 2)
			rows[others++] = rows[i];
	CHECK_EQ(pm_fabric_fit(&f, rows, others, own, &arena, &before, &after, &st), PM_OK);
	CHECK(own[2] > 0.2);
	/* refused: nothing changes */
	for (int i = 0; i < N_ROWS; i++)
		rows[i].step_ms /= 100;
	own[0] = 0.1;
	CHECK_EQ(pm_fabric_fit(&f, rows, others, own, &arena, &before, &after, &st), PM_ERR_DATA);
	CHECK_EQ(own[0], 0.1);
}

/* Of one network alone, all contention is the cluster's. */
static void
test_own_contention_of_one(void)
{
	job			j;
	pm_step_shape shape;
	pm_scaled_row rows[N_ROWS];
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	pm_fabric	truth = with_contention(f);
	double		own[1] = {0};
	double		before,
				after;
	pm_status	st = {PM_OK};

	make_job(&j, 128, 8, 0.1);
	measure(&j, &truth, 0.01, &shape, rows);
	for (int i = 0; i < N_ROWS; i++)
		rows[i].network = 0;
	CHECK_EQ(pm_fabric_fit(&f, rows, N_ROWS, own, &arena, &before, &after, &st), PM_OK);
	CHECK_EQ(own[0], 0);
	CHECK(f.contention > 0.1);
}

/* What cannot be true is not taken: f stays as it was, and the message says what is wrong. */
static void
test_nonsense(void)
{
	job			j;
	pm_step_shape shape;
	pm_scaled_row rows[N_ROWS];
	pm_fabric	truth = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	pm_fabric	f = truth;
	pm_rng		rng;
	double		before,
				after;
	pm_status	st = {PM_OK};

	make_job(&j, 128, 8, 0.1);
	measure(&j, &truth, 0, &shape, rows);
	/* all in a tenth of the time */
	for (int i = 0; i < N_ROWS; i++)
		rows[i].step_ms /= 10;
	CHECK_EQ(pm_fabric_fit(&f, rows, N_ROWS, NULL, &arena, &before, &after, &st), PM_ERR_DATA);
	CHECK_HAS(st.message, "take less than 0.6 of the step on one GPU");
	CHECK_EQ(f.fitted_rows, 0);
	/* times that have nothing to do with the numbers of GPUs */
	pm_rng_seed(&rng, 3);
	for (int i = 0; i < N_ROWS; i++)
		rows[i].step_ms = shape.step_ms * exp(6 * pm_rng_uniform(&rng));
	CHECK_EQ(pm_fabric_fit(&f, rows, N_ROWS, NULL, &arena, &before, &after, &st), PM_ERR_DATA);
	CHECK_HAS(st.message, "do not fit cluster \"test\"");
	/* links that are slower than described, a hundred thousand times */
	truth.intra_factor = truth.inter_factor = 1e-5;
	measure(&j, &truth, 0, &shape, rows);
	CHECK_EQ(pm_fabric_fit(&f, rows, N_ROWS, NULL, &arena, &before, &after, &st), PM_ERR_DATA);
	CHECK_EQ(f.intra_factor, 1);
	CHECK_EQ(pm_fabric_slowest(&f), 1);
	truth.intra_factor = truth.inter_factor = 1;
	truth.host_s_per_gb = 100;
	CHECK_EQ(pm_fabric_plausible(&truth, rows, N_ROWS, 0.2, 0.1, &st), PM_ERR_DATA);
	CHECK_HAS(st.message, "4801 times slower than their rows");
	/* the errors that were found: a fit that is worse, and one that is as good */
	truth = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	measure(&j, &truth, 0, &shape, rows);
	CHECK_EQ(pm_fabric_plausible(&truth, rows, N_ROWS, 0.1, 0.2, &st), PM_ERR_DATA);
	CHECK_EQ(pm_fabric_plausible(&truth, rows, N_ROWS, 0.1, 0.1, &st), PM_OK);
	/* half of the rows may be done too soon, more may not */
	for (int i = 0; i < N_ROWS / 2; i++)
		rows[i].step_ms /= 100;
	CHECK_EQ(pm_fabric_plausible(&truth, rows, N_ROWS, 0.1, 0.1, &st), PM_OK);
	rows[N_ROWS - 1].step_ms /= 100;
	CHECK_EQ(pm_fabric_plausible(&truth, rows, N_ROWS, 0.1, 0.1, &st), PM_ERR_DATA);
}

/* Errors that grow with the share of communication are errors of communication, and those that do not are the step's. */
static void
test_kinds_of_errors(void)
{
	job			j;
	pm_step_shape shape;
	pm_scaled_row rows[N_ROWS];
	pm_fabric	truth = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	double		before,
				after;
	pm_status	st = {PM_OK};

	make_job(&j, 128, 8, 0.1);
	truth.inter_factor = 0.1;
	for (int of_comm = 0; of_comm <= 1; of_comm++)
	{
		pm_fabric	f = truth;

		measure(&j, &truth, 0, &shape, rows);
		for (int i = 0; i < N_ROWS; i++)
		{
			pm_scaled	s;

			pm_scaled_step(&shape, &rows[i].parallel, &truth, 1, &s);
			/* above and below, so that no number of the cluster explains it */
			rows[i].step_ms *= exp((i / 2 % 2 ? 0.2 : -0.2) * (of_comm ? fmin(1, s.comm_ms / s.step_ms) : 1));
		}
		CHECK_EQ(pm_fabric_fit(&f, rows, N_ROWS, NULL, &arena, &before, &after, &st), PM_OK);
		CHECK(of_comm ? f.comm_error > 0.15 && f.step_error < 0.05 : f.step_error > 0.15);
	}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_fit();
	test_own_contention_step();
	test_own_contention();
	test_own_contention_of_one();
	test_unfitted();
	test_nonsense();
	test_kinds_of_errors();
	pm_arena_release(&arena);
	return check_done("scaling_fit");
}
