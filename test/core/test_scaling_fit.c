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
	CHECK(f.comm_error > 0 && f.comm_error < 0.2);
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

/* A network that suffers from its neighbours more than two others do. */
static void
test_own_contention(void)
{
	job			j;
	pm_step_shape shape;
	pm_scaled_row rows[N_ROWS];
	pm_fabric	truth = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	pm_fabric	f = truth;
	pm_fabric	same = truth;
	pm_parallel p = {.world_size = 4,.accumulation = 1,.bucket_mb = 0.1,.tp = 1,.pp = 1,.interleave = 1};
	pm_scaled	alone,
				slower;
	double		own[3] = {0};
	int			others = 0;
	double		before,
				after,
				after_same;
	pm_status	st = {PM_OK};

	make_job(&j, 128, 8, 0.1);
	pm_step_shape_of(&j.buckets, &j.work, 32, 3, &shape);
	/* two doublings of the GPUs of a machine, and none */
	CHECK_EQ(pm_parallel_check(&p, &truth, &st), PM_OK);
	pm_scaled_step(&shape, &p, &truth, 1, &alone);
	truth.own_contention = 0.3;
	pm_scaled_step(&shape, &p, &truth, 1, &slower);
	CHECK_NEAR(slower.compute_ms - alone.compute_ms, 0.6 * (shape.forward_ms + shape.backward_ms), 1e-9);
	CHECK_EQ(alone.contention_ms, 0);
	CHECK_NEAR(slower.contention_ms, slower.compute_ms - alone.compute_ms, 1e-9);
	p.nodes = p.world_size;
	pm_scaled_step(&shape, &p, &truth, 1, &slower);
	CHECK_NEAR(slower.compute_ms, alone.compute_ms, 1e-9);
	/* the third of three networks; a row stays with one of them */
	measure(&j, &f, 0.01, &shape, rows);
	for (int i = 0; i < N_ROWS; i++)
	{
		rows[i].network = i % 3;
		pm_scaled_step(&shape, &rows[i].parallel, &f, 1, &alone);
		pm_scaled_step(&shape, &rows[i].parallel, &truth, 1, &slower);
		rows[i].step_ms *= i % 3 == 2 ? slower.step_ms / alone.step_ms : 1;
	}
	CHECK_EQ(pm_fabric_fit(&same, rows, N_ROWS, NULL, &arena, &before, &after_same, &st), PM_OK);
	CHECK_EQ(pm_fabric_fit(&f, rows, N_ROWS, own, &arena, &before, &after, &st), PM_OK);
	CHECK(after < 0.03 && after < 0.5 * after_same);
	CHECK(own[2] > 0.2 && own[2] < 0.4);
	CHECK(own[0] < 0.02 && own[1] < 0.02 && f.contention < 0.02);
	CHECK(f.comm_error < same.comm_error);
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
	/* one network alone: all of it is the cluster's */
	measure(&j, &truth, 0.01, &shape, rows);
	for (int i = 0; i < N_ROWS; i++)
		rows[i].network = 0;
	own[0] = 0;
	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
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
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_fit();
	test_own_contention();
	test_nonsense();
	pm_arena_release(&arena);
	return check_done("scaling_fit");
}
