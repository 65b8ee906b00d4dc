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

/*
 * The parts that p gives for a row, [*n]: a part for each token and one for the
 * rest; t gets the tokens.  *worst is raised to the relative error of the step.
 */
static pm_part *
parts_of(const pm_predictor *p, const pm_sample *s, pm_tokens *t, int *n, double *worst)
{
	pm_part    *parts = PM_NEW(&arena, pm_part, s->skeleton->n + 1);
	double		ms;

	CHECK(pm_tokens_build(s->skeleton, &s->query, &arena, t, NULL) == PM_OK);
	CHECK(pm_predictor_predict(p, s, &arena, &ms, parts, n, NULL) == PM_OK);
	*worst = fmax(*worst, fabs(ms / s->step_ms - 1));
	return parts;
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

/* ---------- mdot ---------- */

static const pm_setting overfit[] = {
	NUMBER("d_model", 32), NUMBER("d_operator", 16), NUMBER("hidden", 32), NUMBER("layers", 1), NUMBER("dropout", 0),
	NUMBER("unknown", 0), NUMBER("valid_fraction", 0), NUMBER("batch_size", 8), NUMBER("epochs", 1500),
	NUMBER("learning_rate", 3e-3), NUMBER("weight_decay", 0), NUMBER("calibration_folds", 0),
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

/* A larger batch never takes less time, whatever the weights: here those of hardly any training at a wild rate. */
static void
test_monotone(void)
{
	const pm_setting wild[] = {NUMBER("epochs", 2), NUMBER("d_model", 16), NUMBER("d_operator", 8), NUMBER("members", 2),
		NUMBER("learning_rate", 0.1), NUMBER("warmup", 0)};
	pm_dataset	d = make_dataset(12, 2, true, entangled, &arena);
	pm_predictor p = make_predictor("mdot", wild, 6, &d, &arena);
	int			violations = 0;

	for (int s = 0; s < d.n; s++)
	{
		pm_sample	sample = d.samples[s];
		double		before = 0;

		for (int batch = 1; batch <= 1024; batch++)
		{
			pm_arena	scratch;
			double		ms;

			pm_arena_init_malloc(&scratch);
			sample.query.batch = batch;
			CHECK(pm_predictor_predict(&p, &sample, &scratch, &ms, NULL, NULL, NULL) == PM_OK);
			violations += ms < before;
			before = ms;
			pm_arena_release(&scratch);
		}
	}
	CHECK_EQ(violations, 0);
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

/* Where each report of progress came from. */
typedef struct steps
{
	int			n;
	int			fold[16];
	int			epoch[16];
} steps;

static void
keep_step(void *ctx, const pm_progress *p)
{
	steps	   *s = ctx;

	CHECK(p->folds == 2 && p->epochs == 2 && p->left_s >= 0 && isfinite(p->loss));
	if (s->n < 16)
	{
		s->fold[s->n] = p->fold;
		s->epoch[s->n] = p->epoch;
	}
	s->n++;
}

/* The trainings that calibrate, then the one that stays; each tells of all its epochs. */
static void
test_progress(void)
{
	const pm_setting quick[] = {NUMBER("epochs", 2), NUMBER("d_model", 16), NUMBER("d_operator", 8), NUMBER("calibration_folds", 2)};
	const int	fold[] = {1, 1, 2, 2, 0, 0};
	pm_dataset	d = make_dataset(24, 1, true, entangled, &arena);
	pm_predictor p = {.kind = pm_kind_find("mdot")};
	steps		seen = {0};
	pm_hooks	hooks = {.progress = keep_step, .ctx = &seen};
	pm_fit_report report;

	CHECK(pm_options_set(p.kind, quick, 4, &p.options, NULL) == PM_OK);
	CHECK(pm_predictor_fit(&p, &d, 1, 1, &hooks, &arena, &report, NULL) == PM_OK);
	CHECK_EQ(seen.n, 6);
	for (int i = 0; i < 6; i++)
		CHECK(seen.fold[i] == fold[i] && seen.epoch[i] == 1 + i % 2);
	CHECK_EQ(report.valid_n, d.n);
}

#define EPOCHS	10

static void
keep_loss(void *ctx, const pm_progress *p)
{
	if (p->epoch <= EPOCHS)
		((double *) ctx)[p->epoch - 1] = p->loss;
}

/* The losses of a training whose weights stand still, epoch by epoch. */
static void
losses_at_rest(const char *loss, const pm_dataset *d, double *losses)
{
	const pm_setting still[] = {
		NUMBER("epochs", EPOCHS), NUMBER("d_model", 16), NUMBER("d_operator", 8), NUMBER("learning_rate", 1e-8), NUMBER("dropout", 0),
		NUMBER("drop_path", 0), NUMBER("unknown", 0), NUMBER("calibration_folds", 0), {.name = "loss", .text = loss}
	};
	pm_predictor p = {.kind = pm_kind_find("mdot")};
	pm_hooks	hooks = {.progress = keep_loss, .ctx = losses};
	pm_fit_report report;

	CHECK(pm_options_set(p.kind, still, sizeof(still) / sizeof(still[0]), &p.options, NULL) == PM_OK);
	CHECK(pm_predictor_fit(&p, d, 1, 1, &hooks, &arena, &report, NULL) == PM_OK);
}

/* Errors are judged on a scale that narrows for seven tenths of the epochs; by Cauchy's loss alone. */
static void
test_narrowing_loss(void)
{
	pm_dataset	d = make_dataset(12, 2, true, entangled, &arena);
	double		cauchy[EPOCHS] = {0};
	double		huber[EPOCHS] = {0};

	for (int i = 0; i < d.n; i += 2)
		d.samples[i].step_ms *= 20;
	losses_at_rest("log_cauchy", &d, cauchy);
	losses_at_rest("log_huber", &d, huber);
	for (int i = 1; i < EPOCHS; i++)
	{
		CHECK(i <= 7 ? cauchy[i] < 0.95 * cauchy[i - 1] : fabs(cauchy[i] / cauchy[i - 1] - 1) < 1e-3);
		CHECK_NEAR(huber[i] / huber[0], 1, 1e-3);
	}
}

/* An operator by itself, that takes `factor` times what the roofline says. */
static pm_sample
operator_alone(const char *op, int channels, int side, int64_t batch, double factor)
{
	graph_text	t;
	const pm_graph *g;
	pm_tokens	tokens;
	pm_sample	s;

	text_start(&t, op, "operator");
	text_node(&t, "'op':'Input','inputs':[],'shape':[1,%d,%d,%d],'batch_dim':0,'attrs':{'requires_grad':true}", channels, side, side);
	net_unary(&t, op, 0, channels, side);
	g = text_finish(&t, &arena);
	s = make_sample(g, make_skeleton(g, true, &arena), batch, 0);
	s.query.alone = true;
	CHECK(pm_tokens_build(s.skeleton, &s.query, &arena, &tokens, NULL) == PM_OK);
	s.step_ms = factor * tokens.total_roofline_us / 1000;
	return s;
}

/* How many times its roofline an operator takes in a network whose steps never had one. */
static double
price_of_stranger(const pm_predictor *p, const char *op)
{
	graph_text	t;
	const pm_graph *g;
	pm_sample	row;
	pm_tokens	tokens;
	pm_part    *parts;
	double		ms;
	int			n;
	int			x;

	text_start(&t, "stranger", "stranger");
	x = net_conv(&t, net_input(&t, 16, 32), 16, 16, 32, 3, 1);
	x = net_unary(&t, op, x, 16, 32);
	net_classifier(&t, net_conv(&t, x, 16, 16, 32, 3, 1), 16, 100);
	g = text_finish(&t, &arena);
	row = make_sample(g, make_skeleton(g, true, &arena), 16, 0);
	parts = PM_NEW(&arena, pm_part, row.skeleton->n + 1);
	CHECK(pm_tokens_build(row.skeleton, &row.query, &arena, &tokens, NULL) == PM_OK);
	CHECK(pm_predictor_predict(p, &row, &arena, &ms, parts, &n, NULL) == PM_OK);
	for (int i = 0; i < tokens.n; i++)
		if (strcmp(g->nodes[row.skeleton->node[i]].op_name, op) == 0)
			return 1000 * parts[i].step_ms / tokens.roofline_us[i];
	return NAN;
}

/* Operators measured alone teach what steps do not hold; they weigh nothing when told so, and are no steps. */
static void
test_operators(void)
{
	const pm_setting quick[] = {NUMBER("epochs", 150), NUMBER("d_model", 16), NUMBER("d_operator", 16), NUMBER("hidden", 16),
		NUMBER("base_share", 0), NUMBER("calibration_folds", 0), NUMBER("learning_rate", 5e-3), NUMBER("operator_weight", 0)};
	pm_dataset	d = make_dataset(12, 2, true, by_factors, &arena);
	pm_predictor without = make_predictor("mdot", quick, 7, &d, &arena);
	pm_predictor weightless;
	pm_predictor forward;
	pm_predictor with;

	d.operators = PM_NEW(&arena, pm_sample, 24);
	for (int i = 0; i < 24; i++)
		d.operators[d.n_operators++] = operator_alone("Sigmoid", 16 << i % 3, 28 + 14 * (i % 4), 16 << i % 5, 10);
	with = make_predictor("mdot", quick, 7, &d, &arena);
	weightless = make_predictor("mdot", quick, 8, &d, &arena);
	if (getenv("VERBOSE"))
		printf("mdot operators: %g without, %g with\n", price_of_stranger(&without, "Sigmoid"), price_of_stranger(&with, "Sigmoid"));
	CHECK(price_of_stranger(&without, "Sigmoid") < 5);
	CHECK(fabs(log(price_of_stranger(&with, "Sigmoid") / 10)) < 0.3);
	CHECK_EQ(predict_row(&weightless, &d.samples[3]), predict_row(&without, &d.samples[3]));
	CHECK(mape_of(&with, &d) < 0.15);
	/* the network does not learn from a forward pass alone */
	for (int i = 0; i < 24; i++)
		d.operators[i].query.forward_only = true;
	forward = make_predictor("mdot", quick, 7, &d, &arena);
	CHECK_EQ(predict_row(&forward, &d.samples[3]), predict_row(&without, &d.samples[3]));
	d.operators[7].step_ms = 0;
	CHECK_EQ(pm_predictor_fit(&with, &d, 1, 1, NULL, &arena, &(pm_fit_report) {0}, NULL), PM_ERR_DATA);
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

/* A verdict in words, so that two can be compared, NaN included. */
static const char *
verdict_text(const pm_verdict *v, char *buf)
{
	snprintf(buf, 400, "%a %a %d %s", v->low_ms, v->high_ms, v->in_domain, v->reason);
	return buf;
}

/* Prepared at one batch and asked at others: the very same answers. */
static void
check_prepared(const pm_predictor *p, const pm_graph *g, const pm_skeleton *s, pm_dtype dtype)
{
	static const int64_t batches[] = {7, 1, 32, 33, 7, 4096, 1024, 1024, 2};
	pm_sample	row = make_sample(g, s, 7, 0);
	pm_arena	kept;
	pm_arena	scratch;
	pm_prepared x;
	pm_prepared twin;			/* puts its work on the bench between two questions of x */
	pm_workbench bench = {0};
	pm_skeleton slim;
	pm_graph	slim_graph;
	pm_status	st;

	pm_arena_init_malloc(&kept);
	kept.thrifty = true;
	pm_arena_init_malloc(&scratch);
	pm_arena_init_malloc(&bench.arena);
	row.query.dtype = dtype;
	CHECK_EQ(pm_predictor_prepare(p, &row, &kept, &scratch, &bench, &x, &st), PM_OK);
	CHECK_EQ(pm_predictor_prepare(p, &row, &kept, &scratch, &bench, &twin, &st), PM_OK);
	pm_arena_release(&scratch);
	/* as a session keeps it: what is prepared has no use for the graph any more */
	CHECK_EQ(pm_skeleton_slim(s, &kept, &slim_graph, &slim, &st), PM_OK);
	CHECK(slim_graph.n_nodes <= g->n_nodes && slim.position == NULL && slim.relation == NULL);
	x.skeleton = twin.skeleton = &slim;
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++)
	{
		double		plain;
		double		ms;
		pm_verdict	v;
		pm_verdict	w;
		char		a[400];
		char		b[400];

		row.query.batch = batches[i];
		plain = predict_row(p, &row);
		CHECK_EQ(pm_predictor_predict_prepared(p, &x, &row, &scratch, &ms, &st), PM_OK);
		CHECK_EQ(ms, plain);
		CHECK(x.state == NULL || scratch.used == 0);
		if (i % 2 == 0)
		{
			row.query.batch = 5;
			CHECK_EQ(pm_predictor_judge_prepared(p, &twin, &row, ms, 0.9, &w, &st), PM_OK);
			row.query.batch = batches[i];
		}
		CHECK_EQ(pm_predictor_judge(p, &row, ms, 0.9, &scratch, &v, &st), PM_OK);
		pm_arena_reset(&scratch, 0);
		CHECK_EQ(pm_predictor_judge_prepared(p, &x, &row, ms, 0.9, &w, &st), PM_OK);
		CHECK(strcmp(verdict_text(&v, a), verdict_text(&w, b)) == 0);
	}
	row.query.batch = 0;
	CHECK_EQ(pm_predictor_predict_prepared(p, &x, &row, &scratch, &(double) {0}, &st), PM_ERR_INPUT);
	CHECK_EQ(pm_predictor_judge_prepared(p, &x, &row, 1, 0.9, &(pm_verdict) {0}, &st), PM_ERR_INPUT);
	row.query.batch = 3;
	CHECK_EQ(pm_predictor_judge_prepared(p, &x, &row, 1, 2, &(pm_verdict) {0}, &st), PM_ERR_OPTION);
	pm_arena_release(&scratch);
	pm_arena_release(&bench.arena);
	pm_arena_release(&kept);
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
	check_prepared(p, g, s, PM_FP32);
	check_prepared(p, g, s, PM_AMP);
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

		CHECK_NEAR(ratio, 1, kind % 3 == 0 ? 0.2 : 1e-9);
		if (getenv("VERBOSE"))
			printf("%s%s: unmerged / merged %.9g\n", kind_names[kind % 3], kind == 3 ? " pooled" : "", ratio);
	}
}

/* ---------- the rivals of mdot that are networks ---------- */

static const struct
{
	const char *kind;
	pm_setting	size[3];
	double		merged;			/* how far a merged graph may be from the same one unmerged */
	double		overfit;		/* MAPE on eight networks after many epochs */
}			rivals[] = {
	{"perfnet", {NUMBER("hidden", 16), NUMBER("channels1", 4), NUMBER("channels2", 8)}, 1e-5, 0.01},
	{"gnn", {NUMBER("hidden", 16), NUMBER("width", 16), NUMBER("rounds", 2)}, 0.15, 0.01},
	{"ets", {NUMBER("hidden", 16), NUMBER("width", 16), NUMBER("window", 8)}, 1e-5, 0.01},
	{"transformer", {NUMBER("hidden", 16), NUMBER("d_model", 16), NUMBER("layers", 1)}, 0.15, 0.01}
};

#define N_RIVALS ((int) (sizeof(rivals) / sizeof(rivals[0])))

static pm_predictor
some_rival(int i, const pm_dataset *d, int epochs, double valid_fraction, double rate)
{
	pm_setting	settings[6];

	memcpy(settings, rivals[i].size, sizeof(rivals[i].size));
	settings[3] = (pm_setting) NUMBER("epochs", epochs);
	settings[4] = (pm_setting) NUMBER("valid_fraction", valid_fraction);
	settings[5] = (pm_setting) NUMBER("learning_rate", rate);
	return make_predictor(rivals[i].kind, settings, 6, d, &arena);
}

/* What holds for every kind, for each of them. */
static void
test_rivals(void)
{
	const pm_graph *nets[3] = {branched(), strange_graph(), make_net(&arena, "other", 32, 5, 56, 8)};
	const pm_graph *deep = make_net(&arena, "deep", 16, 4, 32, 1);
	pm_sample	merged = make_sample(deep, make_skeleton(deep, true, &arena), 16, 0);
	pm_sample	plain = make_sample(deep, make_skeleton(deep, false, &arena), 16, 0);
	pm_dataset	d = make_dataset(12, 4, true, entangled, &arena);

	for (int i = 0; i < N_RIVALS; i++)
	{
		pm_predictor p = some_rival(i, &d, 20, 0.1, 2e-3);
		double		ratio = predict_row(&p, &plain) / predict_row(&p, &merged);

		for (int k = 0; k < 3; k++)
			check_batches(&p, nets[k], make_skeleton(nets[k], true, &arena));
		for (int k = 0; k < 2; k++)
		{
			check_renumbered(&p, nets[k], true);
			check_renumbered(&p, nets[k], false);
		}
		check_empty(&p);
		CHECK_NEAR(ratio, 1, rivals[i].merged);
		if (getenv("VERBOSE"))
			printf("%s: unmerged / merged %.9g\n", rivals[i].kind, ratio);
	}
}

/* Enough freedom to learn eight networks by heart. */
static void
test_rivals_overfit(void)
{
	pm_dataset	d = make_dataset(8, 1, true, entangled, &arena);

	for (int i = 0; i < N_RIVALS; i++)
	{
		double		started = pm_now();
		pm_predictor p = some_rival(i, &d, 400, 0, 5e-3);
		double		mape = mape_of(&p, &d);

		CHECK(mape < rivals[i].overfit);
		if (getenv("VERBOSE"))
			printf("%s: MAPE %g on 8 graphs after %.1f s\n", rivals[i].kind, mape, pm_now() - started);
	}
}

/* Same rows and seed: same bits, however many threads; and memory() promises enough. */
static void
test_rivals_threads(void)
{
	pm_dataset	d = make_dataset(12, 2, true, entangled, &arena);

	for (int i = 0; i < N_RIVALS; i++)
	{
		uint8_t    *data[2];
		size_t		len[2];

		for (int k = 0; k < 2; k++)
		{
			pm_predictor p = {.kind = pm_kind_find(rivals[i].kind)};
			const pm_setting quick[] = {NUMBER("epochs", 2), NUMBER("valid_fraction", 0.2)};
			pm_fit_report report;
			pm_arena	a;

			pm_arena_init_malloc(&a);
			CHECK(pm_options_set(p.kind, quick, 2, &p.options, NULL) == PM_OK);
			CHECK(pm_predictor_fit(&p, &d, 1, 1 + 3 * k, NULL, &a, &report, NULL) == PM_OK);
			CHECK(report.epochs == 2 && report.n_params > 1000 && report.valid_n > 0 && report.valid_mape > 0);
			CHECK(a.used <= p.kind->memory(&p.options, &d, 1 + 3 * k));
			CHECK(pm_predictor_save(&p, &arena, &data[k], &len[k], NULL) == PM_OK);
			pm_arena_release(&a);
		}
		CHECK(len[0] == len[1] && memcmp(data[0], data[1], len[0]) == 0);
	}
}

/* An estimate is asked for by anybody, of the largest network that the options allow. */
static void
test_largest(void)
{
	pm_dataset	d = make_dataset(2, 1, true, entangled, &arena);
	const pm_kind *kind;

	for (int i = 0; (kind = pm_kind_at(i)) != NULL; i++)
	{
		pm_options	o;

		CHECK(pm_options_set(kind, NULL, 0, &o, NULL) == PM_OK);
		for (int k = 0; k < kind->n_options; k++)
			o.value[k] = kind->options[k].max;
		CHECK(kind->memory(&o, &d, 64) > 0 && isfinite(kind->memory(&o, &d, 64)));
	}
}

/* ---------- the rivals of mdot that are sums ---------- */

static const char *const sums[] = {"opclass", "seer"};

#define N_SUMS 2

/* An operator's arithmetic, traffic and launches at prices of its class; 0.4 ms a step. */
static double
priced_ms(const pm_tokens *t, int i)
{
	double		price = true_factor(t->type[i], t->op_class[i]);
	double		us = price * t->compute_us[i] + (4 - price / 2) * (t->memory_us[i] - t->phase_us[3 * i + 2]) +
		5 * price * t->kernels[i] + 2 * t->phase_us[3 * i + 2];

	return t->skeleton->copies[i] * us / 1000;
}

static double
by_prices(const pm_tokens *t)
{
	double		ms = 0.4;

	for (int i = 0; i < t->n; i++)
		ms += priced_ms(t, i);
	return ms;
}

/* Every time the rule made comes back, and so does what each visible operator costs. */
static void
check_prices(bool by_type, bool squared)
{
	const pm_setting settings[] = {
		NUMBER("pull", 1e-9), {.name = "by_type", .number = by_type, .is_bool = true},
		{.name = "loss", .text = squared ? "squared" : "absolute"}
	};
	pm_dataset	d = varied(by_prices);
	pm_predictor p = make_predictor("opclass", settings, 3, &d, &arena);
	double		worst = 0;
	double		worst_part = 0;

	for (int s = 0; s < d.n; s++)
	{
		pm_tokens	t;
		int			n;
		const pm_part *parts = parts_of(&p, &d.samples[s], &t, &n, &worst);

		for (int i = 0; i < t.n; i++)
			if (priced_ms(&t, i) > 0.05 * d.samples[s].step_ms)
				worst_part = fmax(worst_part, fabs(parts[i].step_ms / priced_ms(&t, i) - 1));
	}
	if (getenv("VERBOSE"))
		printf("opclass%s: worst step %g, worst part %g\n", by_type ? " by type" : "", worst, worst_part);
	CHECK(worst < 1e-3);
	CHECK(worst_part < 0.1);		/* terms of an operator that is rare are told apart roughly only */
}

/*
 * The analytic rule with constants of its own, for FP32 on the test device:
 * written down once more, from the documentation.
 */
static double
analytic_ms(const pm_tokens *t, int i, char *bound)
{
	int64_t		batch = (int64_t) round(exp2(t->job[0]) - 1);
	double		us[3] = {0};	/* compute, memory, launches */
	double		ms = 0;
	pm_work		w;
	pm_geometry g;

	pm_node_work(t->skeleton->graph, t->skeleton->node[i], batch, t->dtype, t->layout, PM_SGD, &w);
	pm_node_geometry(t->skeleton->graph, t->skeleton->node[i], batch, &g);
	for (int p = 0; p < 3; p++)
	{
		const double flops[3] = {w.flops_forward, w.flops_backward, w.flops_update};
		const double bytes[3] = {w.bytes_forward, w.bytes_backward, w.bytes_update};
		bool		product = g.gemm_m > 0 && p < 2;
		double		blocks = g.gemm_m > 0 ? g.gemm_batch * ceil(g.gemm_m / 128) * ceil(g.gemm_n / 64) :
			ceil(w.out_elems / 1024);
		double		fill = p < 2 ? 1 / (1 + 0.7 / (fmax(blocks, 1) / 40)) : 1;
		double		rate = g.conv == PM_CONV_GROUPED && !(g.group_narrow > 0) && p < 2 ? 0.05 : 0.45;
		double		share = !product ? (t->op_class[i] == PM_CLASS_NORM && p < 2 ? 0.5 : 0.85) : 0.35;
		double		held = pm_gpu_rate(&test_gpu, t->dtype, p < 2 && w.tensor_core, p < 2 && g.conv != PM_CONV_NONE);
		double		c = flops[p] / (held / 1e6) / rate / fill * (product ? 1 + 60 / g.gemm_k : 1);
		double		m = bytes[p] / 500e3 / share / fill;
		double		l = 4 * (p == 0 ? w.kernels_forward : p == 1 ? w.kernels_backward : 0);

		us[c >= m ? 0 : 1] += fmax(c, m);
		us[2] += l;
		ms += (fmax(c, m) + l) / 1000;
	}
	*bound = us[2] > fmax(us[0], us[1]) ? 'l' : us[0] >= us[1] ? 'c' : 'm';
	return t->skeleton->copies[i] * ms;
}

static double
by_formula(const pm_tokens *t)
{
	double		ms = 0.3;
	char		bound;

	for (int i = 0; i < t->n; i++)
		ms += analytic_ms(t, i, &bound);
	return ms;
}

static void
test_analytic(void)
{
	const pm_setting weak[] = {NUMBER("pull", 1e-9)};
	pm_dataset	d = varied(by_formula);
	pm_predictor p = make_predictor("seer", weak, 1, &d, &arena);
	double		worst = 0;
	int			seen[128] = {0};
	int			operators = 0;
	int			agree = 0;

	for (int s = 0; s < d.n; s++)
	{
		pm_tokens	t;
		int			n;
		const pm_part *parts = parts_of(&p, &d.samples[s], &t, &n, &worst);

		for (int i = 0; i < t.n; i++, operators++)
		{
			char		bound;

			analytic_ms(&t, i, &bound);
			agree += parts[i].bound == bound;
			seen[(int) bound]++;
		}
	}
	if (getenv("VERBOSE"))
		printf("seer: worst step %g, bounds c %d m %d l %d, %d of %d right\n", worst, seen['c'], seen['m'], seen['l'],
			   agree, operators);
	CHECK(seen['c'] > 50 && seen['m'] > 50 && seen['l'] > 50);
	CHECK(worst < 1e-4);
	CHECK(agree > 0.98 * operators);
}

/* What holds for every kind. */
static void
test_sums(void)
{
	const pm_graph *nets[3] = {branched(), strange_graph(), make_net(&arena, "other", 32, 5, 56, 8)};
	pm_dataset	d = make_dataset(12, 4, true, entangled, &arena);

	for (int kind = 0; kind < N_SUMS; kind++)
	{
		pm_predictor p = make_predictor(sums[kind], NULL, 0, &d, &arena);

		for (int k = 0; k < 3; k++)
		{
			pm_sample	merged = make_sample(nets[k], make_skeleton(nets[k], true, &arena), 16, 0);
			pm_sample	plain = make_sample(nets[k], make_skeleton(nets[k], false, &arena), 16, 0);

			check_batches(&p, nets[k], merged.skeleton);
			CHECK_NEAR(predict_row(&p, &plain) / predict_row(&p, &merged), 1, 1e-9);
		}
		for (int k = 0; k < 2; k++)
			check_renumbered(&p, nets[k], true);
		check_empty(&p);
		CHECK(mape_of(&p, &d) < 0.25);
	}
}

/* Rows of two layouts, of which the second takes twice as long: each is told from the other, and so are devices. */
static void
test_strata(void)
{
	pm_dataset	d = varied(by_prices);
	pm_gpu		other = test_gpu;

	other.name = "Test 2000";
	for (int s = 0; s < d.n; s++)
	{
		d.samples[s].query.layout = s / 4 % 2 ? PM_NHWC : PM_NCHW;
		d.samples[s].query.gpu = s / 8 % 2 ? &other : &test_gpu;
		d.samples[s].step_ms *= 1 + s / 4 % 2;
	}
	for (int kind = 0; kind < N_SUMS; kind++)
	{
		pm_predictor p = make_predictor(sums[kind], NULL, 0, &d, &arena);
		double		mape = mape_of(&p, &d);

		if (getenv("VERBOSE"))
			printf("%s: MAPE %g on two layouts\n", sums[kind], mape);
		CHECK(mape < (kind == 0 ? 0.02 : 0.15));
	}
	for (int s = 0; s < d.n; s++)
		d.samples[s].step_ms *= s / 8 % 2 ? 3 : 1;
	{
		const pm_setting common[] = {{.name = "by_device", .number = 0, .is_bool = true}};
		pm_predictor p = make_predictor("opclass", NULL, 0, &d, &arena);
		pm_predictor one = make_predictor("opclass", common, 1, &d, &arena);

		CHECK(mape_of(&p, &d) < 0.03);
		/* a factor of the card is known without them */
		CHECK(mape_of(&one, &d) < 0.15);
	}
}

static bool
stop_at_once(void *ctx)
{
	++*(int *) ctx;
	return true;
}

/* Same rows: same bits, however many threads; memory() promises enough; and it stops when told to. */
static void
test_sums_fit(void)
{
	pm_dataset	d = varied(by_prices);

	for (int kind = 0; kind < N_SUMS; kind++)
	{
		pm_predictor p = {.kind = pm_kind_find(sums[kind])};
		int			asked = 0;
		pm_hooks	hooks = {.stop = stop_at_once, .ctx = &asked};
		uint8_t    *data[2];
		size_t		len[2];
		pm_fit_report report;
		pm_status	st;

		CHECK(pm_options_set(p.kind, NULL, 0, &p.options, NULL) == PM_OK);
		for (int k = 0; k < 2; k++)
		{
			pm_arena	a;

			pm_arena_init_malloc(&a);
			CHECK(p.kind->fit(&p, &d, 1 + k, 1 + 3 * k, NULL, &a, &report, NULL) == PM_OK);
			CHECK(report.n_params > 10);
			CHECK(a.used <= p.kind->memory(&p.options, &d, 1 + 3 * k));
			CHECK(pm_trust_fit(&d, NULL, 0, NULL, &a, &p.trust, NULL) == PM_OK);
			CHECK(pm_predictor_save(&p, &arena, &data[k], &len[k], NULL) == PM_OK);
			pm_arena_release(&a);
		}
		CHECK(len[0] == len[1] && memcmp(data[0], data[1], len[0]) == 0);
		CHECK_EQ(pm_predictor_fit(&p, &d, 1, 1, &hooks, &arena, &report, &st), PM_CANCELLED);
		CHECK(asked == 1);
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
	test_monotone();
	test_threads();
	test_progress();
	test_narrowing_loss();
	test_operators();
	test_all_kinds();
	test_unseen();
	test_merged_against_unmerged();
	test_rivals();
	test_rivals_overfit();
	test_rivals_threads();
	test_largest();
	check_prices(false, false);
	check_prices(true, false);
	check_prices(true, true);
	test_analytic();
	test_sums();
	test_strata();
	test_sums_fit();
	pm_arena_release(&arena);
	return check_done("kinds");
}
