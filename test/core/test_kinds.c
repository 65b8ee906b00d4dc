/*
 * test_kinds.c - every kind of predictor on times made by a known rule, and
 * what must hold for all of them: parts add up, nothing depends on the
 * numbers of nodes, predictions are positive and finite.
 */
#include "check.h"
#include "make_graph.h"

#define NUMBER(n, v) {.name = (n), .number = (v)}

static pm_arena arena;

static const char *const kind_names[] = {"mdot", "roofline", "linear"};

/* ---------- rules ---------- */

/* Factor on the roofline time of an operator, as the roofline kind groups them. */
static double
true_factor(int type, int op_class)
{
	if (type == pm_type_id(0, PM_CONV_1X1))
		return 1.5;
	if (type == pm_type_id(0, PM_CONV_KXK))
		return 2.5;
	if (type == pm_type_id(0, PM_CONV_GROUPED))
		return 6;
	switch (op_class)
	{
		case PM_CLASS_NORM:
			return 1.2;
		case PM_CLASS_ELEMENTWISE:
			return 1.1;
		case PM_CLASS_GEMM:
			return 3;
		default:
			return 2;
	}
}

static double
token_ms(const pm_tokens *t, int i)
{
	return t->skeleton->copies[i] *
		(true_factor(t->type[i], t->op_class[i]) * t->roofline_us[i] + 3 * t->kernels[i]) / 1000;
}

static double
by_factors(const pm_tokens *t)
{
	double		ms = 0;

	for (int i = 0; i < t->n; i++)
		ms += token_ms(t, i);
	return ms;
}

static double
log_linear(const pm_tokens *t)
{
	return exp(-11 + 0.3 * log(1 + t->total_flops) + 0.4 * log(1 + t->total_bytes) - 0.1 * log(1 + t->params)) *
		pow(exp2(t->job[0]) - 1, 0.05);		/* job[0]: log2(1 + batch) */
}

/*
 * Networks of operators in random numbers: residual networks all have about
 * the same mixture, and nothing could tell their factors apart.
 */
static pm_graph *
mixture(pm_rng *rng)
{
	const int	width = 16 * (1 + (int) (pm_rng_uniform(rng) * 4));
	const int	side = 14 * (1 + (int) (pm_rng_uniform(rng) * 3));
	graph_text	t;
	int			x;

	text_start(&t, "mixture", "mixture");
	x = net_input(&t, width, side);
	for (int kind = 0; kind < 6; kind++)
		for (int i = (int) (pm_rng_uniform(rng) * 5); i >= 0; i--)
			switch (kind)
			{
				case 0:
					x = net_conv(&t, x, width, width, side, 1, 1);
					break;
				case 1:
					x = net_conv(&t, x, width, width, side, 3, 1);
					break;
				case 2:
					x = net_conv(&t, x, width, width, side, 3, 4);
					break;
				case 3:
					x = net_norm(&t, x, width, side);
					break;
				case 4:
					x = net_unary(&t, "Relu", x, width, side);
					break;
				default:
					net_classifier(&t, x, width, 100 * width);
			}
	return text_finish(&t, &arena);
}

static pm_dataset
varied(time_rule rule)
{
	const int	networks = 40;
	const int	batches = 4;
	pm_dataset	d = {.samples = PM_NEW(&arena, pm_sample, (size_t) networks * batches)};
	pm_rng		rng;

	pm_rng_seed(&rng, 3);
	for (int i = 0; i < networks; i++)
	{
		const pm_graph *g = mixture(&rng);
		const pm_skeleton *s = make_skeleton(g, true, &arena);

		for (int b = 0; b < batches; b++)
		{
			pm_tokens	t;

			d.samples[d.n] = make_sample(g, s, INT64_C(4) << (2 * b), 0);
			CHECK(pm_tokens_build(s, &d.samples[d.n].query, &arena, &t, NULL) == PM_OK);
			d.samples[d.n++].step_ms = rule(&t);
		}
	}
	return d;
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
		pm_part    *parts = PM_NEW(&arena, pm_part, d.samples[s].skeleton->n + 1);
		pm_tokens	t;
		double		ms;
		int			n;

		CHECK(pm_tokens_build(d.samples[s].skeleton, &d.samples[s].query, &arena, &t, NULL) == PM_OK);
		CHECK(pm_predictor_predict(&p, &d.samples[s], &arena, &ms, parts, &n, NULL) == PM_OK);
		worst = fmax(worst, fabs(ms / d.samples[s].step_ms - 1));
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
	CHECK(usual_mape < 0.05);
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

/* ---------- mdot ---------- */

static const pm_setting overfit[] = {
	NUMBER("d_model", 32), NUMBER("d_operator", 16), NUMBER("hidden", 32), NUMBER("layers", 1), NUMBER("dropout", 0),
	NUMBER("unknown", 0), NUMBER("valid_fraction", 0), NUMBER("batch_size", 8), NUMBER("epochs", 500),
	NUMBER("learning_rate", 5e-3), NUMBER("weight_decay", 0),
	{.name = "merge", .number = 1, .is_bool = true}
};

#define N_OVERFIT ((int) (sizeof(overfit) / sizeof(overfit[0])))

/* By factors, and an effect of the whole step that no operator alone explains. */
static double
entangled(const pm_tokens *t)
{
	return by_factors(t) * (1 + 0.3 * sin(3 * t->job[2])) + 0.2;
}

static double
mape_of(const pm_predictor *p, const pm_dataset *d)
{
	double		sum = 0;

	for (int s = 0; s < d->n; s++)
		sum += fabs(predict_row(p, &d->samples[s]) / d->samples[s].step_ms - 1);
	return sum / d->n;
}

static pm_predictor
test_overfit(bool merge)
{
	pm_setting	settings[N_OVERFIT];
	pm_dataset	d = make_dataset(8, 1, merge, entangled, &arena);
	pm_predictor p;
	double		started = pm_now();
	double		mape;

	memcpy(settings, overfit, sizeof(overfit));
	settings[N_OVERFIT - 1].number = merge;
	p = make_predictor("mdot", settings, N_OVERFIT, &d, &arena);
	mape = mape_of(&p, &d);
	CHECK(mape < 0.01);
	if (getenv("VERBOSE"))
		printf("mdot %s: MAPE %g on 8 graphs after %.1f s\n", merge ? "merged" : "unmerged", mape, pm_now() - started);
	return p;
}

static void
test_threads(void)
{
	pm_dataset	d = make_dataset(12, 2, true, entangled, &arena);
	uint8_t    *first = NULL;
	size_t		first_len = 0;

	for (int threads = 1; threads <= 4; threads++)
	{
		const pm_setting quick[] = {NUMBER("epochs", 3), NUMBER("d_model", 16), NUMBER("d_operator", 8)};
		pm_predictor p = {.kind = pm_kind_find("mdot")};
		pm_fit_report report;
		uint8_t    *data;
		size_t		len;

		CHECK(pm_options_set(p.kind, quick, 3, &p.options, NULL) == PM_OK);
		CHECK(pm_predictor_fit(&p, &d, 1, threads, NULL, &arena, &report, NULL) == PM_OK);
		CHECK(report.epochs == 3 && report.n_params > 1000 && report.valid_n > 0 && report.valid_mape > 0);
		CHECK(pm_predictor_save(&p, &arena, &data, &len, NULL) == PM_OK);
		if (threads == 1)
		{
			first = data;
			first_len = len;
		}
		CHECK(len == first_len && memcmp(data, first, len) == 0);
	}
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
check_parts(const pm_predictor *p, const pm_sample *row)
{
	pm_part    *parts = PM_NEW(&arena, pm_part, row->skeleton->n + 1);
	double		plain = predict_row(p, row);
	double		ms;
	double		sum = 0;
	int			n = -1;
	pm_status	st;

	CHECK_EQ(pm_predictor_predict(p, row, &arena, &ms, parts, &n, &st), PM_OK);
	CHECK(n >= row->skeleton->n && n <= row->skeleton->n + 1);
	for (int i = 0; i < n; i++)
	{
		CHECK(isfinite(parts[i].step_ms) && (parts[i].step_ms >= 0 || parts[i].token == -1));
		CHECK_EQ(parts[i].token, i < row->skeleton->n ? i : -1);
		CHECK(strchr("cml-", parts[i].bound) != NULL && parts[i].bound != '\0');
		sum += parts[i].step_ms;
	}
	CHECK_NEAR(sum, ms, 1e-9 * ms);
	CHECK_NEAR(plain, ms, 1e-6 * ms);
}

static void
check_batches(const pm_predictor *p, const pm_graph *g, const pm_skeleton *s)
{
	for (int64_t batch = 1; batch <= 1024; batch *= 2)
	{
		pm_sample	row = make_sample(g, s, batch, 0);

		for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		{
			double		ms;

			row.query.dtype = (pm_dtype) dtype;
			ms = predict_row(p, &row);
			CHECK(isfinite(ms) && ms > 0);
		}
		check_parts(p, &row);
	}
}

/* Four branches of different length and operators, twice, and a skip over each: many topological orders. */
static pm_graph *
branched(void)
{
	const int	c = 16;
	const int	side = 28;
	graph_text	t;
	int			x;

	text_start(&t, "branched", "branched");
	x = net_conv(&t, net_input(&t, 3, side), 3, c, side, 3, 1);
	for (int round = 0; round < 2; round++)
	{
		int			skip = x;
		int			a = net_unary(&t, "Relu", net_conv(&t, x, c, c, side, 1, 1), c, side);
		int			b = net_conv(&t, net_norm(&t, net_conv(&t, x, c, c, side, 1, 1), c, side), c, c, side, 3, 1);
		int			d = net_conv(&t, net_unary(&t, "Relu", x, c, side), c, c, side, 3, 4);
		int			e = net_norm(&t, net_conv(&t, d, c, c, side, 5, 1), c, side);

		x = net_add(&t, net_add(&t, a, b, c, side), e, c, side);
		x = net_add(&t, x, skip, c, side);
	}
	net_classifier(&t, x, c, 100);
	return text_finish(&t, &arena);
}

static void
check_renumbered(const pm_predictor *p, const pm_graph *g, bool merge)
{
	double		first = 0;
	int32_t    *place = PM_NEW(&arena, int32_t, g->n_nodes);
	int			moved = 0;

	for (int seed = 0; seed < 6; seed++)
	{
		const pm_graph *r = seed == 0 ? g : make_renumbered(g, seed, place, &arena);
		pm_sample	row = make_sample(r, make_skeleton(r, merge, &arena), 16, 0);
		double		ms = predict_row(p, &row);

		if (seed == 0)
			first = ms;
		CHECK_NEAR(ms / first, 1, 1e-5);
		for (int i = 0; i < g->n_nodes && seed > 0; i++)
			moved += place[i] != i;
	}
	CHECK(moved > 0);
}

/* Operators that neither the catalogue nor the training rows know, one of them without any element. */
static pm_graph *
strange_graph(void)
{
	graph_text	t;
	int			x, y;

	text_start(&t, "strange", "strange");
	x = net_input(&t, 8, 16);
	x = net_unary(&t, "aten::new_thing", x, 8, 16);
	y = net_unary(&t, "aten::other_thing", x, 8, 0);
	x = net_unary(&t, "Tanh", net_unary(&t, "Tanh", x, 8, 16), 8, 16);
	net_add(&t, x, y, 8, 16);
	return text_finish(&t, &arena);
}

/* One operator alone, of no elements: nothing to do is still an answer, or an error that says so. */
static void
check_empty(const pm_predictor *p)
{
	graph_text	t;
	pm_graph   *g;
	pm_sample	row;
	double		ms;
	pm_part		parts[2];
	int			n = 0;
	pm_status	st;

	text_start(&t, "nothing", "nothing");
	net_unary(&t, "Relu", net_input(&t, 0, 4), 0, 4);
	g = text_finish(&t, &arena);
	row = make_sample(g, make_skeleton(g, true, &arena), 4, 0);
	if (pm_predictor_predict(p, &row, &arena, &ms, parts, &n, &st) == PM_OK)
	{
		CHECK(isfinite(ms) && ms > 0);
		for (int i = 0; i < n; i++)
			CHECK(isfinite(parts[i].step_ms));
	}
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

		CHECK_NEAR(ratio, 1, kind % 3 == 0 ? 0.15 : 1e-9);
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
	test_overfit(true);
	test_overfit(false);
	test_threads();
	test_all_kinds();
	test_unseen();
	test_merged_against_unmerged();
	pm_arena_release(&arena);
	return check_done("kinds");
}
