/*
 * test_priors.c - what predictors know before the rows speak: opclass gives a
 * type of operators the coefficients of its class, unless the rows say that it
 * is unlike it, and mdot's networks start from the times of the opclass beside
 * them.
 */
#include "check.h"
#include "make_graph.h"

#define NETWORKS	80
#define SELDOM		2			/* networks with an operator that nothing else has */

static pm_arena arena;

/* Times a multiple of the roofline's: Tanh is nothing like the other elementwise operators. */
static double
price_of(const pm_tokens *t, int i)
{
	const char *op = t->skeleton->graph->nodes[t->skeleton->node[i]].op_name;

	return strcmp(op, "Tanh") == 0 ? 8 : t->op_class[i] == PM_CLASS_CONV ? 3 : 1.2;
}

static double
priced(const pm_tokens *t)
{
	double		ms = 1;

	for (int i = 0; i < t->n; i++)
		ms += t->skeleton->copies[i] * price_of(t, i) * (t->compute_us[i] + t->memory_us[i]) / 1000;
	return ms;
}

/* Convolutions and activations in random numbers, a third with Tanh, and an operator `also` if there is one. */
static pm_graph *
network(pm_rng *rng, const char *also, bool strange)
{
	const int	width = 16 * (1 + (int) (pm_rng_uniform(rng) * 4));
	const int	side = 28 * (2 + (int) (pm_rng_uniform(rng) * 3));
	graph_text	t;
	int			x;

	text_start(&t, "network", "network");
	x = net_input(&t, width, side);
	for (int i = (int) (pm_rng_uniform(rng) * 5); i >= 0; i--)
		x = net_conv(&t, x, width, width, side, 3, 1);
	for (int i = (int) (pm_rng_uniform(rng) * 8); i >= 0; i--)
		x = net_unary(&t, "Relu", x, width, side);
	for (int i = strange || pm_rng_uniform(rng) < 0.3 ? 4 : 0; i > 0; i--)
		x = net_unary(&t, "Tanh", x, width, side);
	if (also != NULL)
		x = net_unary(&t, also, x, width, side);
	net_classifier(&t, x, width, 100);
	return text_finish(&t, &arena);
}

/* A few networks have a Sigmoid, and take a fifth more than they should for another reason. */
static pm_dataset
measured(void)
{
	pm_dataset	d = {.samples = PM_NEW(&arena, pm_sample, NETWORKS)};
	pm_rng		rng;

	pm_rng_seed(&rng, 5);
	for (; d.n < NETWORKS; d.n++)
	{
		const pm_graph *g = network(&rng, d.n < SELDOM ? "Sigmoid" : NULL, false);
		pm_sample  *s = &d.samples[d.n];
		pm_tokens	t;

		*s = make_sample(g, make_skeleton(g, true, &arena), 256, 0);
		CHECK(pm_tokens_build(s->skeleton, &s->query, &arena, &t, NULL) == PM_OK);
		s->step_ms = priced(&t) * (d.n < SELDOM ? 1.2 : 1);
	}
	return d;
}

/* The time that p gives the operators op of a network with them, over what they take at the peaks. */
static double
price_by(const pm_predictor *p, const char *op)
{
	pm_rng		rng;
	const pm_graph *g;
	pm_sample	s;
	pm_part    *parts;
	pm_tokens	t;
	double		ms;
	double		sum = 0;
	double		peak = 0;
	int			n;

	pm_rng_seed(&rng, 11);
	g = network(&rng, op, true);
	s = make_sample(g, make_skeleton(g, true, &arena), 256, 0);
	parts = PM_NEW(&arena, pm_part, s.skeleton->n + 1);
	CHECK(pm_tokens_build(s.skeleton, &s.query, &arena, &t, NULL) == PM_OK);
	CHECK(pm_predictor_predict(p, &s, &arena, &ms, parts, &n, NULL) == PM_OK);
	for (int i = 0; i < t.n; i++)
		if (strcmp(g->nodes[s.skeleton->node[i]].op_name, op) == 0)
		{
			sum += parts[i].step_ms;
			peak += t.skeleton->copies[i] * (t.compute_us[i] + t.memory_us[i]) / 1000;
		}
	return sum / peak;
}

/* A type that is rare is like its class; one that is unlike it and often measured is not held back. */
static void
test_types(const pm_dataset *d)
{
	const pm_setting none[] = {{.name = "class_pull", .number = 0}};
	pm_predictor pulled = make_predictor("opclass", NULL, 0, d, &arena);
	pm_predictor free_types = make_predictor("opclass", none, 1, d, &arena);

	if (getenv("VERBOSE"))
		printf("Relu %g, Sigmoid %g, Tanh %g; without a pull %g, %g, %g\n", price_by(&pulled, "Relu"), price_by(&pulled, "Sigmoid"),
			   price_by(&pulled, "Tanh"), price_by(&free_types, "Relu"), price_by(&free_types, "Sigmoid"), price_by(&free_types, "Tanh"));
	CHECK_NEAR(price_by(&pulled, "Relu"), 1.2, 0.1);
	CHECK_NEAR(price_by(&pulled, "Tanh"), 8, 0.4);
	CHECK(price_by(&pulled, "Sigmoid") < 5);
	CHECK(price_by(&free_types, "Sigmoid") > 1.5 * price_by(&pulled, "Sigmoid"));
}

/* Before it has learned anything, a network gives operators the times of the base, or times at the peaks, times one factor; or the mean of both. */
static void
test_anchor(const pm_dataset *d)
{
	pm_setting	untrained[] = {{.name = "epochs", .number = 1}, {.name = "learning_rate", .number = 1e-8},
	{.name = "calibration_folds", .number = 0}, {.name = "base_share", .number = 1e-6}, {.name = "peak_estimate", .number = 0, .is_bool = true},
	{.name = "anchor", .text = "peak"}};
	pm_predictor base = make_predictor("opclass", NULL, 0, d, &arena);
	pm_predictor anchored = make_predictor("mdot", untrained, 5, d, &arena);
	pm_predictor plain = make_predictor("mdot", untrained, 6, d, &arena);
	pm_predictor both = make_predictor("mdot", untrained, 4, d, &arena);
	double		by_base = price_by(&base, "Tanh") / price_by(&base, "Relu");

	CHECK(by_base > 4);
	CHECK_NEAR(price_by(&anchored, "Tanh") / price_by(&anchored, "Relu") / by_base, 1, 0.2);
	CHECK_NEAR(price_by(&plain, "Tanh") / price_by(&plain, "Relu"), 1, 0.05);
	/* the mean of both starts, the lower one no less than a third of the higher */
	CHECK(price_by(&both, "Tanh") / price_by(&both, "Relu") < 0.9 * by_base);
	CHECK(price_by(&both, "Tanh") / price_by(&both, "Relu") > 0.4 * by_base);
}

/* Rows of CPUs: networks start from the peaks, unless they are told. */
static void
test_cpus(const pm_dataset *d)
{
	pm_setting	untrained[] = {{.name = "epochs", .number = 1}, {.name = "learning_rate", .number = 1e-8},
	{.name = "calibration_folds", .number = 0}, {.name = "base_share", .number = 1e-6}, {.name = "anchor", .text = "base"}};
	pm_gpu		cpu = *d->samples[0].query.gpu;
	pm_dataset	on_cpu = {.n = d->n, .samples = PM_NEW(&arena, pm_sample, d->n)};
	pm_predictor left,
				told;

	cpu.is_cpu = true;
	for (int i = 0; i < d->n; i++)
	{
		on_cpu.samples[i] = d->samples[i];
		on_cpu.samples[i].query.gpu = &cpu;
	}
	left = make_predictor("mdot", untrained, 4, &on_cpu, &arena);
	told = make_predictor("mdot", untrained, 5, &on_cpu, &arena);
	CHECK_NEAR(price_by(&left, "Tanh") / price_by(&left, "Relu"), 1, 0.05);
	CHECK(price_by(&told, "Tanh") / price_by(&told, "Relu") > 3);
}

/* A training that goes on keeps the anchor, though its own base is of other rows; stored, both come back. */
static void
test_warm_start(const pm_dataset *d)
{
	pm_setting	s[] = {{.name = "epochs", .number = 1}, {.name = "learning_rate", .number = 1e-8},
	{.name = "calibration_folds", .number = 0}, {.name = "base_share", .number = 1e-6}};
	pm_predictor first = make_predictor("mdot", s, 4, d, &arena);
	pm_start	start = {.predictor = &first};
	pm_predictor second = {.kind = first.kind, .options = first.options, .start = &start};
	pm_predictor back;
	pm_dataset	other = {.n = d->n, .samples = PM_NEW(&arena, pm_sample, d->n)};
	pm_fit_report report;
	uint8_t    *data;
	size_t		len;

	for (int i = 0; i < d->n; i++)
	{
		pm_tokens	t;

		other.samples[i] = d->samples[i];
		CHECK(pm_tokens_build(d->samples[i].skeleton, &d->samples[i].query, &arena, &t, NULL) == PM_OK);
		other.samples[i].step_ms = 2 * t.total_roofline_us / 1000;
	}
	CHECK_EQ(pm_predictor_fit(&second, &other, 1, 1, NULL, &arena, &report, NULL), PM_OK);
	CHECK_NEAR(price_by(&second, "Tanh") / price_by(&second, "Relu"), price_by(&first, "Tanh") / price_by(&first, "Relu"), 0.1);
	CHECK_EQ(pm_predictor_save(&second, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
	for (int i = 0; i < d->n; i++)
		CHECK_EQ(predict_row(&back, &d->samples[i]), predict_row(&second, &d->samples[i]));
}

int
main(void)
{
	pm_dataset	d;

	pm_arena_init_malloc(&arena);
	d = measured();
	test_types(&d);
	test_anchor(&d);
	test_cpus(&d);
	test_warm_start(&d);
	pm_arena_release(&arena);
	return check_done("priors");
}
