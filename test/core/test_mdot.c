/*
 * test_mdot.c - mdot learns a known rule, is monotone in the batch, the same for any number of threads, and reports its progress.
 */
#include "kind_rules.h"

#include "kinds/mdot/heads.h"

/* ---------- mdot ---------- */

#define N_OVERFIT ((int) (sizeof(overfit) / sizeof(overfit[0])))

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

/* What is loaded predicts as what was stored, that a CPU's launches and work follow each other included. */
static void
check_stored(const pm_predictor *p, const pm_sample *s)
{
	pm_predictor loaded;
	uint8_t    *data;
	size_t		len;
	double		before;
	double		after;

	CHECK(pm_predictor_save(p, &arena, &data, &len, NULL) == PM_OK);
	CHECK(pm_predictor_load(data, len, &arena, &loaded, NULL) == PM_OK);
	CHECK(pm_predictor_predict(p, s, &arena, &before, NULL, NULL, NULL) == PM_OK);
	CHECK(pm_predictor_predict(&loaded, s, &arena, &after, NULL, NULL, NULL) == PM_OK);
	CHECK(before == after);
}

/* A larger batch never takes less time, whatever the weights: here those of hardly any training at a wild rate. */
static void
test_monotone(const pm_gpu *gpu, bool all)
{
	const pm_setting wild[] = {NUMBER("epochs", 2), NUMBER("d_model", 16), NUMBER("d_operator", 8), NUMBER("members", 2),
		NUMBER("learning_rate", 0.1), NUMBER("warmup", 0), BOOLEAN("edges", all), BOOLEAN("peak_estimate", all)};
	pm_dataset	d = make_dataset(12, 2, true, entangled, &arena);
	pm_predictor p;
	int			violations = 0;

	for (int s = 0; s < d.n && gpu != NULL; s++)
		d.samples[s].query.gpu = gpu;
	p = make_predictor("mdot", wild, 8, &d, &arena);
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
	check_stored(&p, &d.samples[0]);
}

/* A CPU launches an operator and then runs it; a GPU runs one while the next is launched. */
static void
test_in_turn(void)
{
	CHECK_NEAR(pm_mdot_token_us(30, 40, true), 70, 1e-9);
	CHECK_NEAR(pm_mdot_token_us(30, 40, false), sqrt(sqrt(30.0 * 30 * 30 * 30 + 40.0 * 40 * 40 * 40)), 1e-9);
	CHECK(pm_mdot_token_us(0, 0, true) == 0 && pm_mdot_token_us(0, 0, false) == 0);
}

static void
test_threads(bool all)
{
	pm_dataset	d = make_dataset(12, 2, true, entangled, &arena);
	uint8_t    *first = NULL;
	size_t		first_len = 0;

	for (int threads = 1; threads <= 4; threads++)
	{
		const pm_setting quick[] = {NUMBER("epochs", 3), NUMBER("d_model", 16), NUMBER("d_operator", 8), BOOLEAN("edges", all),
			BOOLEAN("peak_estimate", all)};
		pm_predictor p = {.kind = pm_kind_find("mdot")};
		pm_fit_report report;
		uint8_t    *data;
		size_t		len;

		CHECK(pm_options_set(p.kind, quick, 5, &p.options, NULL) == PM_OK);
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

/* An option that adds to the network changes every answer, and a stored predictor has it too. */
static void
test_switch(const char *name)
{
	pm_setting	settings[4] = {NUMBER("epochs", 10), NUMBER("d_model", 16), NUMBER("d_operator", 8), BOOLEAN(name, false)};
	pm_dataset	d = make_dataset(12, 2, true, entangled, &arena);
	pm_predictor plain = make_predictor("mdot", settings, 4, &d, &arena);
	pm_predictor p;
	pm_predictor back;
	uint8_t    *data;
	size_t		len;
	int			differ = 0;

	settings[3].number = 1;
	p = make_predictor("mdot", settings, 4, &d, &arena);
	CHECK(pm_predictor_save(&p, &arena, &data, &len, NULL) == PM_OK);
	CHECK(pm_predictor_load(data, len, &arena, &back, NULL) == PM_OK);
	for (int i = 0; i < d.n; i++)
	{
		double		without;
		double		with;
		double		stored;

		CHECK(pm_predictor_predict(&plain, &d.samples[i], &arena, &without, NULL, NULL, NULL) == PM_OK);
		CHECK(pm_predictor_predict(&p, &d.samples[i], &arena, &with, NULL, NULL, NULL) == PM_OK);
		CHECK(pm_predictor_predict(&back, &d.samples[i], &arena, &stored, NULL, NULL, NULL) == PM_OK);
		CHECK_EQ(with, stored);
		differ += with != without;
	}
	CHECK_EQ(differ, d.n);
}

/* Where text begins in data. */
static uint8_t *
find_text(uint8_t *data, size_t len, const char *text)
{
	size_t		n = strlen(text);

	for (size_t i = 0; i + n <= len; i++)
		if (memcmp(data + i, text, n) == 0)
			return data + i;
	fprintf(stderr, "the stored predictor has no \"%s\"\n", text);
	exit(1);
}

/* The stored option `name` is taken out, as in a predictor that is older than it. */
static size_t
forget_option(uint8_t *data, size_t len, const pm_predictor *p, const char *name)
{
	size_t		size = 4 + strlen(name) + 4 + 8;	/* length and text of the name, type, value */
	uint8_t    *count = find_text(data, len, p->kind->options[0].name) - 8;
	uint8_t    *at = find_text(data, len, name) - 4;
	uint32_t	crc;

	CHECK_EQ(*count, p->kind->n_options);
	--*count;
	memmove(at, at + size, (size_t) (data + len - at) - size);
	len -= size;
	crc = pm_crc32c(data, len - 4);
	for (int i = 0; i < 4; i++)
		data[len - 4 + i] = (uint8_t) (crc >> (8 * i));
	return len;
}

/* A predictor that was stored before there were edges hears nothing. */
static void
test_older_than_edges(void)
{
	const pm_setting settings[] = {NUMBER("epochs", 2), NUMBER("d_model", 16), NUMBER("d_operator", 8),
		{.name = "edges", .number = 0, .is_bool = true}};
	pm_dataset	d = make_dataset(12, 2, true, entangled, &arena);
	pm_predictor p = make_predictor("mdot", settings, 4, &d, &arena);
	pm_predictor back;
	uint8_t    *data;
	size_t		len;

	CHECK(pm_predictor_save(&p, &arena, &data, &len, NULL) == PM_OK);
	len = forget_option(data, len, &p, "edges");
	CHECK(pm_predictor_load(data, len, &arena, &back, NULL) == PM_OK);
	CHECK_EQ(pm_option_value(back.kind, &back.options, "edges"), 0);
	CHECK_EQ(predict_row(&back, &d.samples[0]), predict_row(&p, &d.samples[0]));
}

/*
 * On a CPU nothing is heard and there is one estimate: the same answers with these options and without.  Weights that
 * are not used shift the blocks in which the gradient's norm is added up, so that the last bit may differ.
 */
static void
test_switches_of_cpus(const pm_gpu *cpu)
{
	pm_setting	settings[] = {NUMBER("epochs", 3), NUMBER("d_model", 16), NUMBER("d_operator", 8), BOOLEAN("edges", false),
		BOOLEAN("peak_estimate", false)};
	pm_dataset	d = make_dataset(12, 2, true, entangled, &arena);
	pm_predictor without;
	pm_predictor with;

	for (int s = 0; s < d.n; s++)
		d.samples[s].query.gpu = cpu;
	without = make_predictor("mdot", settings, 5, &d, &arena);
	settings[3].number = settings[4].number = 1;
	with = make_predictor("mdot", settings, 5, &d, &arena);
	for (int i = 0; i < d.n; i++)
		CHECK_NEAR(predict_row(&with, &d.samples[i]), predict_row(&without, &d.samples[i]), 1e-6);
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

/* More bytes of an update never take less time, whether training had the optimizer or not. */
static void
test_optimizers(void)
{
	static const pm_optimizer order[] = {PM_OPT_NONE, PM_SGD, PM_SGD_MOMENTUM, PM_ADAM, PM_ADAMW};
	pm_dataset	d = varied(by_factors);
	pm_predictor p;

	for (int i = 0; i < d.n; i++)
		d.samples[i].query.optimizer = i % 3 ? PM_SGD_MOMENTUM : PM_OPT_NONE;
	p = make_predictor("mdot", overfit, 3, &d, &arena);
	for (int i = 0; i < d.n; i++)
	{
		pm_sample	s = d.samples[i];
		double		before = 0;

		for (int k = 0; k < 5; k++)
		{
			double		ms;

			s.query.optimizer = order[k];
			ms = predict_row(&p, &s);
			CHECK(ms > before);
			before = ms;
		}
	}
}

int
main(void)
{
	pm_gpu		cpu;

	pm_arena_init_malloc(&arena);
	test_overfit(true);
	test_overfit(false);
	cpu = *make_dataset(1, 1, true, entangled, &arena).samples[0].query.gpu;
	cpu.is_cpu = true;
	cpu.name = "CPU";
	for (int all = 0; all < 2; all++)
	{
		test_monotone(NULL, all);
		test_monotone(&cpu, all);
		test_threads(all);
	}
	test_in_turn();
	test_switch("edges");
	test_switch("peak_estimate");
	test_older_than_edges();
	test_switches_of_cpus(&cpu);
	test_progress();
	test_narrowing_loss();
	test_operators();
	test_optimizers();
	pm_arena_release(&arena);
	return check_done("mdot");
}
