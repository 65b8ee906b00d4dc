/*
 * test_card_bounds.c - a card that is better than another in every figure is not slower.
 */
#include "card_rows.h"

#include "predictor/recalibrate.h"

static pm_dataset set = {.n = N_ROWS, .samples = samples};

/* ---------- a better sheet ---------- */

/* What a card is made of; its sheet follows from that. */
typedef struct parts
{
	double		sms,
				cores,
				boost,
				base,
				tensor,			/* matrix rate over FP32; NaN: no matrix units */
				bandwidth,
				l2,
				memory,
				power;
} parts;

static pm_gpu
sheet_of(const parts *x, const char *name)
{
	double		fp32 = 2 * x->sms * x->cores * x->boost / 1000;

	return (pm_gpu) {.name = name, .memory_gb = x->memory, .mem_bw_gbs = x->bandwidth, .sm_count = x->sms, .cores_per_sm = x->cores,
		.clock_ghz = x->boost, .fp32_tflops = fp32, .fp16_tensor_tflops = x->tensor * fp32, .l2_mb = x->l2, .tdp_w = x->power,
		.base_clock_ghz = fmin(x->base, x->boost), .compute_capability = 8.6, .l1_kb = 128, .register_kb = 256, .fp16_tflops = fp32};
}

/* 1 as often as not, else up to twice as good. */
static double
more(pm_rng *rng)
{
	return pm_rng_uniform(rng) < 0.5 ? 1 : 1 + pm_rng_uniform(rng);
}

static parts
random_parts(pm_rng *rng)
{
	double		base = 0.6 + pm_rng_uniform(rng);

	return (parts) {.sms = 10 + 100 * pm_rng_uniform(rng), .cores = pm_rng_uniform(rng) < 0.5 ? 64 : 128, .boost = base * (1 + pm_rng_uniform(rng)),
		.base = base, .tensor = pm_rng_uniform(rng) < 0.3 ? NAN : 2 + 8 * pm_rng_uniform(rng), .bandwidth = 100 + 2000 * pm_rng_uniform(rng),
		.l2 = 1 + 60 * pm_rng_uniform(rng), .memory = 8, .power = 40 + 300 * pm_rng_uniform(rng)};
}

static parts
better_parts(const parts *x, pm_rng *rng)
{
	return (parts) {.sms = x->sms * more(rng), .cores = x->cores * (pm_rng_uniform(rng) < 0.7 ? 1 : 2), .boost = x->boost * more(rng),
		.base = x->base * more(rng), .tensor = x->tensor * more(rng), .bandwidth = x->bandwidth * more(rng), .l2 = x->l2 * more(rng),
		.memory = x->memory * more(rng), .power = x->power * more(rng)};
}

/* Whatever was learned of the traits: of two cards that nobody measured, the better one is never slower. */
static void
check_better(const pm_predictor *p, uint64_t seed)
{
	pm_cards   *learned = (pm_cards *) p->kind->cards(p);
	pm_rng		rng;

	pm_rng_seed(&rng, seed);
	for (int round = 0; round < 300; round++)
	{
		parts		x = random_parts(&rng);
		parts		y = better_parts(&x, &rng);
		pm_gpu		worse = sheet_of(&x, "Worse");
		pm_gpu		better = sheet_of(&y, "Better");
		pm_sample	s = samples[(int) (pm_rng_uniform(&rng) * N_ROWS)];
		double		slow;
		double		quick;

		for (int k = 0; k < PM_N_CARD_WORKS * PM_N_CARD_TRAITS && round >= 50; k++)
			learned->trait[k / PM_N_CARD_TRAITS][k % PM_N_CARD_TRAITS] = 2 * pm_rng_uniform(&rng) - 1;
		s.query.dtype = (pm_dtype) (pm_rng_uniform(&rng) * PM_N_DTYPES);
		s.query.batch = 1 << (int) (pm_rng_uniform(&rng) * 10);
		s.query.gpu = &worse;
		slow = predict_row(p, &s);
		s.query.gpu = &better;
		quick = predict_row(p, &s);
		CHECK(quick <= slow * (1 + 1e-12));
	}
}

static void
test_better(void)
{
	pm_setting	small[] = {{.name = "epochs", .number = 3}, {.name = "d_model", .number = 16}, {.name = "hidden", .number = 8},
	{.name = "calibration_folds", .number = 0}};
	pm_predictor opclass,
				mdot,
				back;
	pm_sample	one = samples[0];
	pm_gpu		fresh = cards[0];
	uint8_t    *data;
	size_t		len;

	for (int c = 0; c < N_CARDS; c++)
	{
		cards[c].base_clock_ghz = cards[c].clock_ghz / (1 + 0.2 * c);
		cards[c].fp32_tflops *= 1 + 0.3 * c;
	}
	opclass = make_predictor("opclass", NULL, 0, &set, &arena);
	mdot = make_predictor("mdot", small, 4, &set, &arena);
	check_better(&opclass, 1);
	check_better(&mdot, 2);
	/* the card that stands for such cards is stored */
	fresh.name = "Fresh";
	one.query.gpu = &fresh;
	CHECK_EQ(pm_predictor_save(&mdot, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
	CHECK_EQ(predict_row(&back, &one), predict_row(&mdot, &one));
}

/* ---------- a card against a measured one ---------- */

#define N_SPEEDS	9

/* The figures of a sheet that a step depends on. */
static void
speeds_of(pm_gpu *g, double **v)
{
	double	   *figures[N_SPEEDS] = {&g->sm_count, &g->cores_per_sm, &g->clock_ghz, &g->fp32_tflops, &g->fp16_tensor_tflops, &g->fp16_tflops,
	&g->mem_bw_gbs, &g->l2_mb, &g->tdp_w};

	memcpy(v, figures, sizeof(figures));
}

/* g with every figure multiplied by up to 2, or divided. */
static pm_gpu
changed(const pm_gpu *g, bool better, pm_rng *rng)
{
	pm_gpu		x = *g;
	double	   *v[N_SPEEDS];

	speeds_of(&x, v);
	for (int i = 0; i < N_SPEEDS; i++)
	{
		double		factor = more(rng);

		*v[i] = better ? *v[i] * factor : *v[i] / factor;
	}
	x.name = "Changed";
	return x;
}

/* In every figure, of one architecture. */
static bool
is_as_good(pm_gpu *a, pm_gpu *b)
{
	double	   *x[N_SPEEDS];
	double	   *y[N_SPEEDS];

	speeds_of(a, x);
	speeds_of(b, y);
	for (int i = 0; i < N_SPEEDS; i++)
		if (*x[i] < *y[i] || isnan(*x[i]) != isnan(*y[i]))
			return false;
	return isnan(a->compute_capability) == isnan(b->compute_capability);
}

/* Through the answer of a prepared question, too, whose whole graph is gone. */
static double
ask_both_ways(const pm_predictor *p, const pm_sample *s)
{
	pm_skeleton whole = *s->skeleton;
	pm_skeleton slim;
	pm_graph	graph;
	pm_prepared x;
	pm_sample	first = *s;
	pm_sample	next = *s;
	double		ms = predict_row(p, s);
	double		again;

	first.skeleton = &whole;
	CHECK_EQ(pm_predictor_prepare(p, &first, &arena, &arena, NULL, &x, NULL), PM_OK);
	CHECK_EQ(pm_skeleton_slim(s->skeleton, &arena, &graph, &slim, NULL), PM_OK);
	pm_prepared_refer(&x, &slim);
	memset(&whole, 0, sizeof(whole));
	next.skeleton = &slim;
	next.query.graph = slim.graph;
	CHECK_EQ(pm_predictor_predict_prepared(p, &x, &next, &arena, &again, NULL), PM_OK);
	CHECK_EQ(again, ms);
	return ms;
}

/*
 * Whatever was learned, a card is not slower than measured ones that it is as good as, and not faster than those that are
 * as good as it. Where these contradict each other, it is between them.
 */
static bool
check_against_measured(const pm_predictor *p, pm_rng *rng)
{
	pm_gpu		card = changed(&cards[(int) (pm_rng_uniform(rng) * N_CARDS)], pm_rng_uniform(rng) < 0.5, rng);
	pm_sample	s = samples[(int) (pm_rng_uniform(rng) * N_ROWS)];
	double		least = 0;
	double		most = INFINITY;
	double		ms;

	s.query.dtype = (pm_dtype) (pm_rng_uniform(rng) * PM_N_DTYPES);
	s.query.batch = 1 << (int) (pm_rng_uniform(rng) * 10);
	for (int i = 0; i < N_CARDS; i++)
	{
		s.query.gpu = &cards[i];
		ms = predict_row(p, &s);
		if (is_as_good(&card, &cards[i]))
			most = fmin(most, ms);
		if (is_as_good(&cards[i], &card))
			least = fmax(least, ms);
	}
	s.query.gpu = &card;
	ms = ask_both_ways(p, &s);
	CHECK(ms >= fmin(least, most) * (1 - 1e-12) && ms <= fmax(least, most) * (1 + 1e-12));
	return least <= most;
}

static void
check_bounds(const pm_predictor *p, uint64_t seed)
{
	pm_cards   *learned = (pm_cards *) p->kind->cards(p);
	pm_rng		rng;
	int			agree = 0;

	pm_rng_seed(&rng, seed);
	for (int round = 0; round < 300; round++)
	{
		for (int i = 0; i < learned->n && round >= 50; i++)
			learned->level[i].level = 2 * pm_rng_uniform(&rng) - 1;
		agree += check_against_measured(p, &rng);
	}
	CHECK(agree > 200);
}

/* The sheets that this takes are stored with the predictor, and cards with operators alone are among them. */
static void
test_bounds(void)
{
	pm_setting	small[] = {{.name = "epochs", .number = 3}, {.name = "d_model", .number = 16}, {.name = "hidden", .number = 8},
	{.name = "calibration_folds", .number = 0}};
	pm_predictor opclass = make_predictor("opclass", NULL, 0, &set, &arena);
	pm_predictor mdot = make_predictor("mdot", small, 4, &set, &arena);
	pm_predictor with;
	pm_predictor back;
	uint8_t    *data;
	size_t		len;

	CHECK_EQ(opclass.kind->cards(&opclass)->n_sheets, N_CARDS);
	check_bounds(&mdot, 3);
	CHECK_EQ(pm_predictor_save(&opclass, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
	check_bounds(&back, 4);
	make_operators(4, 5, 3, true);
	with = fit_with_operators(4, true);
	CHECK_EQ(with.kind->cards(&with)->n_sheets, N_CARDS);
	with = fit_with_operators(4, false);
	CHECK_EQ(with.kind->cards(&with)->n_sheets, N_CARDS - 1);
}

/* ---------- cards of which little is known ---------- */

/* A predictor that was trained on the first networks[c] networks of each card, with levels that have nothing to do with the sheets. */
static pm_predictor
make_uneven(const int *networks, pm_rng *rng)
{
	pm_setting	settings[] = {{.name = "calibration_folds", .number = 0}};
	pm_sample  *kept = PM_NEW(&arena, pm_sample, N_ROWS);
	pm_dataset	d = {.samples = kept};
	pm_predictor p;
	pm_cards   *learned;

	for (int i = 0; i < N_ROWS; i++)
		if (i / N_CARDS < networks[i % N_CARDS])
			kept[d.n++] = samples[i];
	p = make_predictor("opclass", settings, 1, &d, &arena);
	learned = (pm_cards *) p.kind->cards(&p);
	for (int i = 0; i < learned->n; i++)
		learned->level[i].level = 2 * pm_rng_uniform(rng) - 1;
	return p;
}

static double
ask_about(const pm_predictor *p, const pm_sample *s, const pm_gpu *gpu)
{
	pm_sample	q = *s;

	q.query.gpu = gpu;
	return ask_both_ways(p, &q);
}

/* A card with enough networks has its own answer, whatever is known of others; all the rest are in the order of their sheets. */
static void
check_sisters(pm_predictor *p, const pm_sample *s, pm_rng *rng)
{
	pm_cards   *learned = (pm_cards *) p->kind->cards(p);
	pm_gpu		gpu[N_CARDS + 1];
	double		ms[N_CARDS + 1];
	bool		own[N_CARDS + 1] = {false};

	memcpy(gpu, cards, sizeof(cards));
	gpu[N_CARDS] = changed(&cards[(int) (pm_rng_uniform(rng) * N_CARDS)], pm_rng_uniform(rng) < 0.5, rng);
	for (int i = 0; i <= N_CARDS; i++)
	{
		/* a few of the networks are mostly other work than convolutions */
		own[i] = i < N_CARDS && pm_cards_networks(learned, gpu[i].name, PM_CARD_CONV) >= PM_OWN_NETWORKS;
		ms[i] = ask_about(p, s, &gpu[i]);
	}
	for (int i = 0; i <= N_CARDS; i++)
		for (int k = 0; k <= N_CARDS; k++)
			CHECK(own[i] || own[k] || !is_as_good(&gpu[i], &gpu[k]) || ms[i] <= ms[k] * (1 + 1e-12));
	for (int i = 0; i < N_CARDS; i++)
	{
		double		before = ask_about(p, s, &gpu[i]);

		for (int k = 0; k < learned->n && own[i]; k++)
			if (strcmp(learned->level[k].gpu, gpu[i].name) != 0)
				learned->level[k].level = 2 * pm_rng_uniform(rng) - 1;
		CHECK(s->query.dtype == PM_TF32 || ask_about(p, s, &gpu[i]) == before);
	}
}

static void
test_sisters(void)
{
	static const int some[] = {2, 3, 4, 5, 12};
	pm_gpu		before[N_CARDS];
	pm_rng		rng;

	memcpy(before, cards, sizeof(cards));
	pm_rng_seed(&rng, 5);
	for (int round = 0; round < 60; round++)
	{
		int			networks[N_CARDS];
		pm_predictor p;

		for (int c = 0; c < N_CARDS; c++)
		{
			networks[c] = some[(int) (pm_rng_uniform(&rng) * 5)];
			/* so that not all are better or worse than each other */
			cards[c].l2_mb = before[c].l2_mb * more(&rng);
			cards[c].mem_bw_gbs = before[c].mem_bw_gbs * more(&rng) * more(&rng);
		}
		p = make_uneven(networks, &rng);
		for (int k = 0; k < 20; k++)
		{
			pm_sample	s = samples[(int) (pm_rng_uniform(&rng) * N_ROWS)];

			s.query.dtype = k % 2 == 0 ? PM_FP32 : (pm_dtype) (pm_rng_uniform(&rng) * PM_N_DTYPES);
			s.query.batch = 1 << (int) (pm_rng_uniform(&rng) * 10);
			check_sisters(&p, &s, &rng);
		}
	}
	memcpy(cards, before, sizeof(cards));
}

/* The best known sister decides: of two equal sheets, the answers are the same, and they are those of the card with more networks. */
static void
test_equal_sheets(void)
{
	int			networks[N_CARDS] = {2, 12, 3, 0, 0, 0};
	pm_gpu		before = cards[2];
	pm_rng		rng;
	pm_predictor p;
	pm_sample	s = samples[0];

	pm_rng_seed(&rng, 6);
	cards[2] = cards[1];
	cards[2].name = before.name;
	p = make_uneven(networks, &rng);
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
	{
		double		own;

		s.query.dtype = (pm_dtype) dtype;
		s.query.gpu = &cards[1];
		CHECK_EQ(p.kind->predict(&p, &s, &arena, &own, NULL, NULL, NULL), PM_OK);
		CHECK(dtype != PM_FP32 || ask_about(&p, &s, &cards[1]) == own);
		CHECK_EQ(ask_about(&p, &s, &cards[1]), ask_about(&p, &s, &cards[2]));
	}
	cards[2] = before;
}

/* The answer for a card while the levels of another say that it takes so many times as long. */
static double
ask_while(pm_predictor *p, const pm_sample *s, const pm_gpu *gpu, const pm_gpu *other, double times)
{
	pm_cards   *learned = (pm_cards *) p->kind->cards(p);

	for (int i = 0; i < learned->n; i++)
		if (strcmp(learned->level[i].gpu, other->name) == 0)
			learned->level[i].level = log(times);
	return ask_about(p, s, gpu);
}

/* The answer of a card that the predictor was recalibrated on is held as far as that left it, and it holds others only if enough networks were measured on it. */
static void
test_recalibrated(void)
{
	int			networks[N_CARDS] = {4, 3, 4, 0, 0, 0};
	pm_rng		rng;
	pm_predictor p;
	pm_sample	s = samples[0];
	pm_device_correction device = {.gpu = cards[1].name, .structures = PM_OWN_NETWORKS - 1};
	pm_correction correction = {.n = 1, .device = &device};
	double		held;
	double		alone;

	pm_rng_seed(&rng, 7);
	p = make_uneven(networks, &rng);
	s.query.gpu = &cards[1];
	/* better known ones hold it before */
	CHECK(ask_while(&p, &s, &cards[1], &cards[2], 0.01) < (held = ask_while(&p, &s, &cards[1], &cards[2], 100)));
	p.correction = &correction;
	CHECK_NEAR(ask_about(&p, &s, &cards[1]) / held, 1, 1e-12);
	device.a = 0.3;
	CHECK_NEAR(ask_about(&p, &s, &cards[1]) / held, exp(0.3), 1e-12);
	device.a = 0;
	CHECK_EQ(p.kind->predict(&p, &s, &arena, &alone, NULL, NULL, NULL), PM_OK);
	device.state[PM_STATE_RELEASED + PM_CARD_CONV] = 0.5;
	CHECK_NEAR(ask_about(&p, &s, &cards[1]) / sqrt(held * alone), 1, 1e-12);
	device.state[PM_STATE_RELEASED + PM_CARD_CONV] = 1;
	CHECK_EQ(ask_while(&p, &s, &cards[1], &cards[2], 100), alone);
	CHECK_EQ(ask_while(&p, &s, &cards[0], &cards[1], 100), ask_while(&p, &s, &cards[0], &cards[1], 0.01));
	device.structures = PM_OWN_NETWORKS;
	CHECK(ask_while(&p, &s, &cards[0], &cards[1], 100) > ask_while(&p, &s, &cards[0], &cards[1], 0.01));
}

/* n rows of card 1 with different networks, which take what p predicts for it. */
static pm_dataset
rows_as_predicted(const pm_predictor *p, int n)
{
	pm_dataset	d = {.n = n, .samples = PM_NEW(&arena, pm_sample, n)};

	for (int i = 0; i < n; i++)
	{
		d.samples[i] = samples[N_CARDS * i + 1];
		d.samples[i].step_ms = predict_row(p, &d.samples[i]);
	}
	return d;
}

/* Measurements that agree with what is predicted change nothing, many that contradict what holds the answers release it. */
static void
test_evidence(void)
{
	int			networks[N_CARDS] = {4, 3, 4, 0, 0, 0};
	pm_rng		rng;
	pm_predictor base;
	pm_predictor out;
	pm_predictor alone;
	pm_recalibration r = {0};
	pm_dataset	d;

	pm_rng_seed(&rng, 7);
	base = make_uneven(networks, &rng);
	ask_while(&base, &samples[1], &cards[1], &cards[2], 3);
	for (int n = 1; n <= N_NETS; n++)
	{
		d = rows_as_predicted(&base, n);
		CHECK_EQ(pm_recalibrate(&base, &d, NULL, NULL, &arena, &out, &r, NULL), PM_OK);
		CHECK(r.mape_before < 1e-12);
		for (int i = 1; i < N_ROWS; i += N_CARDS)
			CHECK_NEAR(ask_about(&out, &samples[i], &cards[1]) / ask_about(&base, &samples[i], &cards[1]), 1, 1e-9);
	}
	/* what the card takes by itself */
	alone = out;
	((pm_device_correction *) alone.correction->device)->state[PM_STATE_RELEASED + PM_CARD_CONV] = 1;
	d = rows_as_predicted(&alone, N_NETS);
	CHECK_EQ(pm_recalibrate(&base, &d, NULL, NULL, &arena, &out, &r, NULL), PM_OK);
	CHECK(r.mape_before > 0.1 && r.mape_after < 0.3 * r.mape_before);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	make_rows();
	test_better();
	test_bounds();
	test_sisters();
	test_equal_sheets();
	test_recalibrated();
	test_evidence();
	pm_arena_release(&arena);
	return check_done("card_bounds");
}
