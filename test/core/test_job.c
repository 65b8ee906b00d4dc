/*
 * test_job.c - totals of a training, and the power that a GPU draws.
 */
#include "check.h"

#include "features/rates.h"
#include "jobs/job.h"

static void
test_total(void)
{
	pm_job		job = {.steps = 1000,.warmup_s = 60,.checkpoint_every = 300,.checkpoint_s = 5,.eval_every = 500,.eval_samples = 1000};
	pm_job_step step = {.step_ms = 200,.low_ms = 150,.high_ms = 300,.forward_ms = 50,.batch_samples = 64};
	pm_job_time t;

	pm_job_total(&job, &step, &t);
	/* 200 s of steps, 3 checkpoints, 2 evaluations of 16 batches */
	CHECK_NEAR(t.busy_s, 200 + 2 * 16 * 0.05, 1e-9);
	CHECK_NEAR(t.eval_s, 2 * 16 * 0.05, 1e-9);
	CHECK_NEAR(t.seconds, 60 + 15 + t.busy_s, 1e-9);
	CHECK_NEAR(t.low_s, 75 + 0.75 * t.busy_s, 1e-9);
	CHECK_NEAR(t.high_s, 75 + 1.5 * t.busy_s, 1e-9);
	/* twice the steps have the same relative interval: nothing averages out */
	job = (pm_job) {.steps = 2000};
	pm_job_total(&job, &step, &t);
	CHECK_NEAR(t.high_s / t.seconds, 1.5, 1e-12);
	/* no interval */
	step.low_ms = step.high_ms = NAN;
	pm_job_total(&job, &step, &t);
	CHECK(isnan(t.low_s) && isnan(t.high_s) && t.seconds == 400);
	/* an evaluation that is never due */
	job.eval_every = 2001;
	job.eval_samples = 1e9;
	pm_job_total(&job, &step, &t);
	CHECK_NEAR(t.seconds, 400, 1e-9);
}

static void
test_check(void)
{
	pm_job		job = {.steps = 1};
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_job_check(&job, &st), PM_OK);
	/* whatever is wrong with steps, the message says the same of them */
	for (int i = 0; i < 4; i++)
	{
		job = (pm_job) {.steps = (double[]) {0, -1, NAN, 1e16}[i]};
		st = (pm_status) {PM_OK};
		CHECK_EQ(pm_job_check(&job, &st), PM_ERR_OPTION);
		CHECK_HAS(st.message, "steps must be between 1 and 1e+15, not ");
	}
	job = (pm_job) {.steps = 1,.warmup_s = -1};
	CHECK_EQ(pm_job_check(&job, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, "warmup_s");
	job = (pm_job) {.steps = 1,.eval_samples = 1e16};
	CHECK_EQ(pm_job_check(&job, &st), PM_ERR_OPTION);
}

static void
test_draw(void)
{
	const pm_gpu p100 = {.sm_count = 56,.cores_per_sm = 64,.compute_capability = 6.0,.fp32_tflops = 9.3,.fp16_tensor_tflops = NAN};
	const pm_gpu plain = {.sm_count = NAN,.cores_per_sm = NAN,.compute_capability = NAN,.fp32_tflops = 9.3,.fp16_tensor_tflops = NAN};
	const double arithmetic_w[] = {NAN, 100, 200, 2000};

	for (int i = 0; i < 4; i++)
	{
		double		before = 0;

		for (double share = 0; share < 2; share += 0.01)
		{
			double		w = pm_draw_w(300, arithmetic_w[i], share);

			CHECK(w >= before && w > 0 && w <= 300);
			before = w;
		}
		CHECK_EQ(pm_draw_w(300, arithmetic_w[i], -1), pm_draw_w(300, NAN, 0));
	}
	/* a card whose arithmetic cannot take much stays far below its limit; one that is held by its power does not */
	CHECK_NEAR(pm_draw_w(300, 150, 1), 300 * (0.175 + 0.84 * 0.5), 1e-9);
	CHECK(pm_draw_w(300, 100, 1) < pm_draw_w(300, 200, 1));
	CHECK_NEAR(pm_draw_w(300, 2000, 1), 300, 1e-9);
	/* P100: 56 x 64 lanes, 12 pJ at 1 GHz; nothing is known of a card without these figures */
	CHECK_NEAR(pm_gpu_arithmetic_w(&p100), 9.3 * 12 * 9300 / (2.0 * 56 * 64), 1e-9);
	CHECK(isnan(pm_gpu_arithmetic_w(&plain)));
	CHECK(isnan(pm_draw_w(NAN, 100, 0.5)) && isnan(pm_draw_w(NAN, NAN, 0.5)));
}

int
main(void)
{
	test_total();
	test_check();
	test_draw();
	return check_done("job");
}
