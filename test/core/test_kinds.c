/*
 * test_kinds.c - every kind of predictor on times made by a known rule, and
 * what must hold for all of them: parts add up, nothing depends on the
 * numbers of nodes, predictions are positive and finite.
 */
#include "kind_rules.h"

static const char *const kind_names[] = {"mdot", "roofline", "linear"};

/* ---------- rules ---------- */

static double
log_linear(const pm_tokens *t)
{
	return exp(-11 + 0.3 * log(1 + t->total_flops) + 0.4 * log(1 + t->total_bytes) - 0.1 * log(1 + t->params)) *
		pow(exp2(t->job[0]) - 1, 0.05);		/* job[0]: log2(1 + batch) */
}

/* ---------- roofline ---------- */
static void
test_roofline(void)
{
	const pm_setting weak[] = {NUMBER("ridge", 1e-9)};
	pm_dataset	d = varied(by_factors);
	pm_predictor p = make_predictor("roofline", weak, 1, &d, &arena);
	pm_predictor usual = make_predictor("roofline", NULL, 0, &d, &arena);
	double		shares[16] = {0};
	double		worst_part = 0;
	double		worst = 0;
	double		usual_mape = 0;

	for (int s = 0; s < d.n; s++)
	{
		pm_tokens	t;
		int			n;
		const pm_part *parts = parts_of(&p, &d.samples[s], &t, &n, &worst);

		/* each factor to 1 % where it is visible: an operator of at least 2 % of its step */
		for (int i = 0; i < n; i++)
			if (token_ms(&t, i) > 0.02 * d.samples[s].step_ms)
			{
				worst_part = fmax(worst_part, fabs(parts[i].step_ms / token_ms(&t, i) - 1));
				shares[t.op_class[i]]++;
			}
		usual_mape += fabs(predict_row(&usual, &d.samples[s]) / d.samples[s].step_ms - 1) / d.n;
	}
	CHECK(shares[PM_CLASS_CONV] > 50 && shares[PM_CLASS_NORM] > 50 && shares[PM_CLASS_ELEMENTWISE] > 50 &&
		  shares[PM_CLASS_GEMM] > 50);
	CHECK(worst < 1e-3);
	CHECK(worst_part < 0.01);
	CHECK(usual_mape < 0.06);
	if (getenv("VERBOSE"))
		printf("roofline: worst step %g, worst part %g; with the usual ridge MAPE %g\n", worst, worst_part, usual_mape);
}

/* One profile is enough, and scales the roofline. */
static void
test_one_profile(void)
{
	pm_dataset	d = make_dataset(1, 1, true, by_factors, &arena);
	pm_predictor p = make_predictor("roofline", NULL, 0, &d, &arena);

	CHECK_NEAR(predict_row(&p, &d.samples[0]) / d.samples[0].step_ms, 1, 0.05);
}

/* ---------- linear ---------- */

static void
test_linear(void)
{
	const pm_setting weak[] = {NUMBER("ridge", 1e-9)};
	pm_dataset	d = varied(log_linear);
	pm_predictor p = make_predictor("linear", weak, 1, &d, &arena);
	double		worst = 0;

	for (int s = 0; s < d.n; s++)
		worst = fmax(worst, fabs(predict_row(&p, &d.samples[s]) / d.samples[s].step_ms - 1));
	CHECK(worst < 1e-4);
	if (getenv("VERBOSE"))
		printf("linear: worst %g\n", worst);
}

/* ---------- all kinds ---------- */

/* A predictor of each kind, trained a little. */
static pm_predictor
some_predictor(int kind, bool pooled)
{
	const pm_setting quick[] = {
		NUMBER("epochs", 30), NUMBER("d_model", 16), NUMBER("d_operator", 8), NUMBER("hidden", 16),
		{.name = "residual", .number = 1, .is_bool = true}, {.name = "head", .text = pooled ? "pooled" : "additive"}
	};
	pm_dataset	d = make_dataset(12, 4, true, entangled, &arena);

	return make_predictor(kind_names[kind], quick, kind == 0 ? 6 : 0, &d, &arena);
}

static void
test_all_kinds(void)
{
	const pm_graph *nets[3] = {
		branched(), strange_graph(), make_net(&arena, "other", 32, 5, 56, 8)
	};

	for (int kind = 0; kind < 4; kind++)
	{
		pm_predictor p = some_predictor(kind % 3, kind == 3);

		for (int i = 0; i < 3; i++)
		{
			check_batches(&p, nets[i], make_skeleton(nets[i], true, &arena));
		}
		for (int i = 0; i < 2; i++)	/* the third has one order only */
		{
			check_renumbered(&p, nets[i], true);
			check_renumbered(&p, nets[i], false);
		}
		check_empty(&p);
	}
}

/* What the gaps of a data sheet, another gpu, and another framework do: something finite. */
static void
test_unseen(void)
{
	const pm_graph *g = make_net(&arena, "trained", 12, 2, 24, 1);
	pm_sample	row = make_sample(g, make_skeleton(g, true, &arena), 16, 0);
	pm_gpu		gpu = test_gpu;

	gpu.name = "of tomorrow";
	gpu.fp32_tflops = 300;
	gpu.mem_bw_gbs = 9000;
	gpu.memory_gb = gpu.sm_count = gpu.clock_ghz = gpu.l2_mb = gpu.fp16_tensor_tflops = gpu.cores_per_sm = NAN;
	row.query.gpu = &gpu;
	row.query.framework = "of tomorrow";
	row.query.layout = PM_NHWC;
	row.query.optimizer = PM_ADAMW;
	for (int kind = 0; kind < 4; kind++)
	{
		pm_predictor p = some_predictor(kind % 3, kind == 3);
		double		ms = predict_row(&p, &row);

		CHECK(ms > 0 && isfinite(ms));
		check_parts(&p, &row);
		row.query.batch = 0;
		CHECK(isnan(predict_row(&p, &row)));
		row.query.batch = 16;
	}
}

/*
 * A question without a framework has the answer of one about the framework of the card's measurements, prepared or not.  Steps
 * so fast that the floors of mdot decide, which are lower where a framework fuses, show that both have the same floors.
 */
static void
test_no_framework(const char *most, const char *fewest)
{
	pm_dataset	d = make_dataset(20, 4, true, entangled, &arena);

	for (int i = 0; i < d.n; i++)
	{
		d.samples[i].query.framework = i % 4 ? most : fewest;
		d.samples[i].step_ms *= i % 4 ? 0.01 : 0.03;
	}
	for (int kind = 0; kind < 3; kind++)
	{
		const pm_setting quick[] = {NUMBER("epochs", 3)};
		pm_predictor p = make_predictor(kind_names[kind], quick, kind == 0, &d, &arena);
		pm_sample	row = d.samples[9];
		pm_prepared x;
		double		named;

		row.query.framework = most;
		named = predict_row(&p, &row);
		for (int empty = 0; empty < 2; empty++)
		{
			double		ms;

			row.query.framework = empty ? "" : NULL;
			CHECK(predict_row(&p, &row) == named);
			CHECK_EQ(pm_predictor_prepare(&p, &row, &arena, &arena, NULL, &x, NULL), PM_OK);
			CHECK_EQ(pm_predictor_predict_prepared(&p, &x, &row, &arena, &ms, NULL), PM_OK);
			CHECK(ms == named);
		}
	}
}

/*
 * What is left of a step without work on the device does not depend on how much work it is, but on the kernels: so much is launched at
 * every batch.  Asking for it leaves the answers as they are.  Where operators are not added up, it is not known.
 */
static void
test_launch_share(void)
{
	const pm_graph *nets[2] = {make_net(&arena, "short", 16, 2, 24, 1), make_net(&arena, "long", 16, 6, 24, 1)};

	for (int kind = 0; kind < 4; kind++)
	{
		pm_predictor p = some_predictor(kind % 3, kind == 3);
		double		launches[2] = {0};

		for (int i = 0; i < 2; i++)
			for (int batch = 2; batch <= 128; batch *= 8)
			{
				pm_sample	row = make_sample(nets[i], make_skeleton(nets[i], true, &arena), batch, 0);
				pm_prepared x;
				double		ms;
				double		again;
				double		share;

				CHECK_EQ(pm_predictor_prepare(&p, &row, &arena, &arena, NULL, &x, NULL), PM_OK);
				CHECK_EQ(pm_predictor_predict_prepared(&p, &x, &row, &arena, &ms, NULL), PM_OK);
				CHECK_EQ(pm_predictor_share(&p, &x, &row, 1e-6, &share, NULL), PM_OK);
				CHECK_EQ(pm_predictor_predict_prepared(&p, &x, &row, &arena, &again, NULL), PM_OK);
				CHECK(again == ms);
				CHECK(kind == 0 ? share > 0.01 && share < 1 : share == 1e-6);
				if (kind == 0 && launches[i] > 0)
					CHECK_NEAR(share * ms / launches[i], 1, 1e-3);
				launches[i] = share * ms;
			}
		if (kind == 0)
			CHECK(launches[1] > 1.5 * launches[0]);
	}
}

/* What an update adds: nothing without an optimizer, more with Adam than with plain SGD.  Asking for it leaves the answers as they are. */
static void
test_update_share(void)
{
	const pm_optimizer optimizers[] = {PM_OPT_NONE, PM_SGD, PM_ADAM};
	const pm_graph *g = make_net(&arena, "of many weights", 64, 4, 8, 1);

	for (int kind = 0; kind < 4; kind++)
	{
		pm_predictor p = some_predictor(kind % 3, kind == 3);
		double		last = -1;

		for (int i = 0; i < 3; i++)
		{
			pm_sample	row = make_sample(g, make_skeleton(g, true, &arena), 8, 0);
			pm_prepared x;
			double		ms;
			double		again;
			double		share;

			row.query.optimizer = optimizers[i];
			CHECK_EQ(pm_predictor_prepare(&p, &row, &arena, &arena, NULL, &x, NULL), PM_OK);
			CHECK_EQ(pm_predictor_predict_prepared(&p, &x, &row, &arena, &ms, NULL), PM_OK);
			CHECK_EQ(pm_predictor_update_share(&p, &x, &row, &share, NULL), PM_OK);
			CHECK_EQ(pm_predictor_predict_prepared(&p, &x, &row, &arena, &again, NULL), PM_OK);
			CHECK(again == ms);
			CHECK(kind == 0 ? share > last && share < 1 : isnan(share));
			CHECK(i > 0 || kind > 0 || share == 0);
			last = share;
		}
	}
}

/*
 * Merged, attention sees one token with a multiplicity instead of copies at
 * different places.  The kinds that only add up do not notice; for mdot the
 * difference has to stay small.
 */
static void
test_merged_against_unmerged(void)
{
	const pm_graph *g = make_net(&arena, "deep", 16, 4, 32, 1);
	pm_sample	merged = make_sample(g, make_skeleton(g, true, &arena), 16, 0);
	pm_sample	plain = make_sample(g, make_skeleton(g, false, &arena), 16, 0);

	for (int kind = 0; kind < 4; kind++)
	{
		pm_predictor p = some_predictor(kind % 3, kind == 3);
		double		ratio = predict_row(&p, &plain) / predict_row(&p, &merged);

		CHECK_NEAR(ratio, 1, kind % 3 == 0 ? 0.2 : 1e-9);
		if (getenv("VERBOSE"))
			printf("%s%s: unmerged / merged %.9g\n", kind_names[kind % 3], kind == 3 ? " pooled" : "", ratio);
	}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_roofline();
	test_one_profile();
	test_linear();
	test_all_kinds();
	test_unseen();
	test_no_framework("torch 2", "torch 1");
	test_no_framework("torch 2 compiled", "torch 1");
	test_launch_share();
	test_update_share();
	test_merged_against_unmerged();
	pm_arena_release(&arena);
	return check_done("kinds");
}
