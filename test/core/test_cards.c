/*
 * test_cards.c - levels of cards: learned, guessed for cards that nobody
 * measured, stored, and used by the kinds that know them.
 */
#include "card_rows.h"
#include "predictor/recalibrate.h"

static pm_dataset set = {.n = N_ROWS, .samples = samples};

/* Levels of a perfect model of the device, without those of card `without`; -1: of all. */
static pm_cards
learn(int without)
{
	pm_cards	c = {0};
	double		error[N_ROWS];
	double		share[N_ROWS][PM_N_CARD_WORKS];
	int			n = 0;
	pm_sample	kept[N_ROWS];
	pm_dataset	d = {.samples = kept};

	for (int i = 0; i < N_ROWS; i++)
	{
		if (i % N_CARDS == without)
			continue;
		kept[n] = samples[i];
		error[n] = log(truth(i % N_CARDS));
		share[n][PM_CARD_CONV] = 1;
		share[n++][PM_CARD_REST] = 0;
	}
	d.n = n;
	CHECK_EQ(pm_cards_update(&c, &d, error, share, &arena, NULL), PM_OK);
	return c;
}

static void
test_known(void)
{
	pm_cards	c = learn(-1);
	pm_cards	none = {0};

	for (int i = 0; i < N_CARDS; i++)
	{
		CHECK_NEAR(factor(&c, i, PM_CARD_CONV), truth(i), 0.03 * truth(i));
		CHECK_EQ(factor(&none, i, PM_CARD_CONV), 1);
		CHECK_EQ(factor(NULL, i, PM_CARD_REST), 1);
	}
}

static bool
third_question(void *ctx)
{
	return ++*(int *) ctx == 3;
}

/* Each card is left out in turn, which takes long where there are many: it asks whether to stop before each. */
static void
test_stop(void)
{
	int			asked = 0;
	pm_hooks	hooks = {.stop = third_question, .ctx = &asked};
	pm_arena	a;
	pm_cards	c = {0};
	double		error[N_ROWS] = {0};
	double		share[N_ROWS][PM_N_CARD_WORKS];
	pm_status	st;

	for (int i = 0; i < N_ROWS; i++)
		share[i][PM_CARD_CONV] = share[i][PM_CARD_REST] = 0.5;
	pm_arena_init_malloc(&a);
	a.hooks = &hooks;
	CHECK_EQ(pm_cards_update(&c, &set, error, share, &a, &st), PM_CANCELLED);
	CHECK_EQ(asked, 3);
	pm_arena_release(&a);
}

/* A card without rows is taken for one of its maker's. */
static void
test_unknown(void)
{
	for (int i = 0; i < N_CARDS; i++)
	{
		pm_cards	c = learn(i);

		CHECK_NEAR(factor(&c, i, PM_CARD_CONV), truth(i), 0.15 * truth(i));
	}
}

/* Ten times as slow as the others: it has its level, and the others keep theirs. */
static void
test_outlier(void)
{
	pm_cards	c = {0};
	double		error[N_ROWS];
	double		share[N_ROWS][PM_N_CARD_WORKS];
	pm_question q = samples[1].query;
	pm_gpu		fresh = cards[1];

	for (int i = 0; i < N_ROWS; i++)
	{
		error[i] = log(i % N_CARDS == 0 ? 12 : truth(i % N_CARDS));
		share[i][PM_CARD_CONV] = 1;
		share[i][PM_CARD_REST] = 0;
	}
	CHECK_EQ(pm_cards_update(&c, &set, error, share, &arena, NULL), PM_OK);
	CHECK(factor(&c, 0, PM_CARD_CONV) > 8);
	fresh.name = "Cuda D";
	q.gpu = &fresh;
	CHECK_NEAR(pm_cards_factors(&c, &q).compute[PM_CARD_CONV], 1.2, 0.3);
}

/* The factor of a card of which `networks` were measured, that take `slow` times as long as its sheet and the other cards say. */
static double
factor_of_few(int networks, double slow)
{
	pm_cards	c = {0};
	double		error[N_ROWS];
	double		share[N_ROWS][PM_N_CARD_WORKS] = {{0}};
	pm_sample	kept[N_ROWS];
	pm_dataset	d = {.samples = kept};

	for (int i = 0; i < N_ROWS; i++)
	{
		if (i % N_CARDS == 0 && i / N_CARDS >= networks)
			continue;
		kept[d.n] = samples[i];
		error[d.n] = log(truth(i % N_CARDS) * (i % N_CARDS == 0 ? slow : 1));
		share[d.n++][PM_CARD_CONV] = 1;
	}
	CHECK_EQ(pm_cards_update(&c, &d, error, share, &arena, NULL), PM_OK);
	return factor(&c, 0, PM_CARD_CONV);
}

/* One network that waits for something else than the card does not make the card slow; one that is a little slower counts by half, and many do count. */
static void
test_odd_network(void)
{
	double		guess = factor_of_few(0, 1);

	CHECK(factor_of_few(1, 10) < 1.5 * guess);
	CHECK(factor_of_few(1, 1.3 * guess / truth(0)) > 1.08 * guess);
	CHECK(factor_of_few(1, 1.3 * guess / truth(0)) < 1.2 * guess);
	CHECK(factor_of_few(N_NETS, 10) > 6 * guess);
}

/* New rows of one card leave the levels of the others as they were. */
static void
test_settled(void)
{
	pm_cards	c = learn(-1);
	pm_cards	more = c;
	double		error[N_NETS];
	double		share[N_NETS][PM_N_CARD_WORKS];
	pm_sample	rows[N_NETS];
	pm_dataset	d = {.n = N_NETS, .samples = rows};

	for (int n = 0; n < N_NETS; n++)
	{
		rows[n] = samples[n * N_CARDS];
		error[n] = log(2);
		share[n][PM_CARD_CONV] = 1;
		share[n][PM_CARD_REST] = 0;
	}
	more.settled = true;
	CHECK_EQ(pm_cards_update(&more, &d, error, share, &arena, NULL), PM_OK);
	CHECK_EQ(more.n, c.n);
	CHECK(factor(&more, 0, PM_CARD_CONV) > 1.7 * factor(&c, 0, PM_CARD_CONV));
	for (int i = 1; i < N_CARDS; i++)
		CHECK_EQ(factor(&more, i, PM_CARD_CONV), factor(&c, i, PM_CARD_CONV));
	CHECK(memcmp(more.trait, c.trait, sizeof(c.trait)) == 0);
}

static pm_verdict
judged(const pm_predictor *p, const pm_sample *s)
{
	pm_verdict	v;

	CHECK_EQ(pm_predictor_judge(p, s, 1, 0.9, &arena, &v, NULL), PM_OK);
	return v;
}

/*
 * Where the card is the only reason, its interval holds the errors of cards of few rows and the doubt about its level, and is
 * not doubled besides.  Any other reason still doubles it.
 */
static void
check_unseen(const pm_predictor *p, const pm_sample *seen, const pm_sample *unseen)
{
	double		doubt = pm_cards_doubt(p->kind->cards(p), unseen->query.gpu->name, 0.9);
	pm_sample	larger = *unseen;
	pm_verdict	of_seen = judged(p, seen);
	pm_verdict	v = judged(p, unseen);
	pm_verdict	far;

	CHECK_EQ(v.causes, 1u << PM_CAUSE_GPU_NOT_SEEN);
	CHECK_NEAR(log(v.high_ms), hypot(log(of_seen.high_ms), doubt), 1e-6);
	CHECK_NEAR(log(v.low_ms), -hypot(log(of_seen.low_ms), doubt), 1e-6);
	larger.query.batch *= 10000;
	far = judged(p, &larger);
	CHECK_EQ(far.causes, (1u << PM_CAUSE_GPU_NOT_SEEN) | (1u << PM_CAUSE_STEP_ABOVE));
	CHECK_NEAR(log(far.high_ms), hypot(2 * log(of_seen.high_ms), doubt), 1e-6);
}

/* The interval of a card that was not measured is at least as wide as that of any that was, and says why it is outside. */
static void
test_doubt(void)
{
	pm_predictor p = {.kind = &pm_kind_opclass};
	pm_sample	kept[N_ROWS];
	pm_dataset	d = {.samples = kept};
	pm_fit_report report;
	pm_status	st;
	double		width[N_CARDS] = {0};
	const int	unseen = 4;

	CHECK_EQ(pm_options_set(p.kind, NULL, 0, &p.options, NULL), PM_OK);
	for (int i = 0; i < N_ROWS; i++)
		if (i % N_CARDS != unseen)
			kept[d.n++] = samples[i];
	CHECK_EQ(pm_predictor_fit(&p, &d, 1, 1, NULL, &arena, &report, &st), PM_OK);
	CHECK_EQ(pm_cards_doubt(p.kind->cards(&p), cards[0].name, 0.9), 0);
	CHECK(pm_cards_doubt(p.kind->cards(&p), cards[unseen].name, 0.9) > pm_cards_doubt(p.kind->cards(&p), cards[unseen].name, 0.5));
	for (int c = 0; c < N_CARDS; c++)
	{
		pm_verdict	v;
		double		ms;

		CHECK_EQ(pm_predictor_predict(&p, &samples[c], &arena, &ms, NULL, NULL, NULL), PM_OK);
		CHECK_EQ(pm_predictor_judge(&p, &samples[c], ms, 0.9, &arena, &v, NULL), PM_OK);
		CHECK(v.low_ms <= ms && v.high_ms >= ms);
		CHECK_EQ(v.in_domain, c != unseen);
		width[c] = log(v.high_ms / v.low_ms);
	}
	for (int c = 0; c < N_CARDS; c++)
		CHECK(width[c] <= width[unseen]);
	check_unseen(&p, &samples[0], &samples[unseen]);
	/* a recalibration on a few networks leaves a part of the doubt, the less the more there are */
	for (int networks = 1; networks <= 64; networks *= 4)
	{
		pm_device_correction device = {.gpu = cards[unseen].name, .rows = networks, .structures = networks, .low = -99, .high = 99};
		pm_correction c = {.n = 1, .device = &device};
		pm_predictor q = p;
		pm_verdict	v;
		double		ms;

		device.used[samples[unseen].query.dtype][samples[unseen].query.layout] = networks;
		q.correction = &c;
		CHECK_EQ(pm_predictor_predict(&q, &samples[unseen], &arena, &ms, NULL, NULL, NULL), PM_OK);
		CHECK_EQ(pm_predictor_judge(&q, &samples[unseen], ms, 0.9, &arena, &v, NULL), PM_OK);
		CHECK(log(v.high_ms / v.low_ms) < width[unseen] * 0.99);
		CHECK(log(v.high_ms / v.low_ms) > width[0]);
		width[unseen] = log(v.high_ms / v.low_ms);
	}
}

static double
width_of(const pm_predictor *p, const pm_sample *s)
{
	pm_verdict	v;
	double		ms;

	CHECK_EQ(pm_predictor_predict(p, s, &arena, &ms, NULL, NULL, NULL), PM_OK);
	CHECK_EQ(pm_predictor_judge(p, s, ms, 0.9, &arena, &v, NULL), PM_OK);
	return log(v.high_ms / v.low_ms);
}

/*
 * What a recalibration on all networks of an unseen card but the first, every second one times `odd`, makes of the width of
 * its interval, as a factor on what it would be without the surprise.
 */
static double
narrowing(const pm_predictor *p, int unseen, double odd, double *surprise)
{
	pm_sample	kept[N_NETS];
	pm_sample	elsewhere = samples[unseen];
	pm_dataset	d = {.samples = kept};
	pm_recalibration r;
	pm_predictor q;
	pm_predictor back;
	uint8_t    *data;
	size_t		len;
	double		width;

	for (int i = unseen + N_CARDS; i < N_ROWS; i += N_CARDS)
	{
		kept[d.n] = samples[i];
		kept[d.n].step_ms *= d.n % 2 ? odd : 1 / odd;
		d.n++;
	}
	CHECK_EQ(pm_recalibrate(p, &d, NULL, NULL, &arena, &q, &r, NULL), PM_OK);
	*surprise = pm_correction_find(q.correction, cards[unseen].name)->surprise;
	CHECK_EQ(pm_predictor_save(&q, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
	CHECK_EQ(pm_correction_find(back.correction, cards[unseen].name)->surprise, *surprise);
	width = width_of(&back, &samples[unseen]);
	/* in a format that was not measured the card is in as much doubt as before */
	elsewhere.query.dtype = elsewhere.query.dtype == PM_FP32 ? PM_AMP : PM_FP32;
	CHECK(width_of(&back, &elsewhere) > width_of(p, &elsewhere) * 0.9);
	q.correction->device[0].surprise = 0;
	return width / width_of(&q, &samples[unseen]);
}

/* Networks of an unseen card that come out as predicted narrow its interval, and those that do not leave it wide. */
static void
test_surprise(void)
{
	const int	unseen = 4;
	pm_predictor p = {.kind = &pm_kind_opclass};
	pm_sample	kept[N_ROWS];
	pm_dataset	d = {.samples = kept};
	pm_fit_report report;
	double		surprise;

	CHECK_EQ(pm_options_set(p.kind, NULL, 0, &p.options, NULL), PM_OK);
	for (int i = 0; i < N_ROWS; i++)
		if (i % N_CARDS != unseen)
			kept[d.n++] = samples[i];
	CHECK_EQ(pm_predictor_fit(&p, &d, 1, 1, NULL, &arena, &report, NULL), PM_OK);
	CHECK(narrowing(&p, unseen, 1, &surprise) < 0.7);
	CHECK(surprise > 0 && surprise < 0.7);
	CHECK(narrowing(&p, unseen, 2, &surprise) > 1);
	CHECK(surprise > 1);
}

/* opclass finds the levels from times alone, answers for a card that it has not seen, and keeps them when it is stored. */
static void
test_opclass(void)
{
	pm_predictor p = {.kind = &pm_kind_opclass};
	pm_sample	kept[N_ROWS];
	pm_dataset	d = {.samples = kept};
	pm_fit_report report;
	pm_predictor back;
	pm_status	st;
	uint8_t    *data;
	size_t		len;
	const int	unseen = 4;

	CHECK_EQ(pm_options_set(p.kind, NULL, 0, &p.options, NULL), PM_OK);
	for (int i = 0; i < N_ROWS; i++)
		if (i % N_CARDS != unseen)
			kept[d.n++] = samples[i];
	CHECK_EQ(pm_predictor_fit(&p, &d, 1, 1, NULL, &arena, &report, &st), PM_OK);
	CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
	for (int i = 0; i < N_ROWS; i++)
	{
		double		ms,
					again;

		CHECK_EQ(pm_predictor_predict(&p, &samples[i], &arena, &ms, NULL, NULL, NULL), PM_OK);
		CHECK_EQ(pm_predictor_predict(&back, &samples[i], &arena, &again, NULL, NULL, NULL), PM_OK);
		CHECK_EQ(again, ms);
		CHECK_NEAR(ms, samples[i].step_ms, (i % N_CARDS == unseen ? 0.2 : 0.05) * samples[i].step_ms);
	}
}

/* ---------- single operators ---------- */

/* opclass of the steps of all cards but `other`, and of the operators. */
static pm_predictor
fit_with_operators(int other, bool learns)
{
	pm_setting	settings[] = {{.name = "operators", .number = learns, .is_bool = true}, {.name = "calibration_folds", .number = 0}};
	pm_sample  *kept = PM_NEW(&arena, pm_sample, N_ROWS);
	pm_dataset	d = {.samples = kept, .operators = operators, .n_operators = N_CARDS * 2 * N_SHAPES};

	for (int i = 0; i < N_ROWS; i++)
		if (i % N_CARDS != other)
			kept[d.n++] = samples[i];
	return make_predictor("opclass", settings, 2, &d, &arena);
}

/* A card with nothing but operators has the level that they tell, whichever passes were timed; those with steps keep theirs. */
static void
test_operators(void)
{
	const int	other = 4;

	for (int forward_only = 0; forward_only < 2; forward_only++)
	{
		pm_predictor with,
					without,
					back;
		const pm_cards *c;
		const pm_cards *sheet;
		pm_card_factors f;
		uint8_t    *data;
		size_t		len;

		make_operators(other, 5, 3, forward_only);
		with = fit_with_operators(other, true);
		without = fit_with_operators(other, false);
		c = with.kind->cards(&with);
		sheet = without.kind->cards(&without);
		f = pm_cards_factors(c, &samples[other].query);
		CHECK_EQ(pm_cards_known(c, cards[other].name), PM_CARD_FROM_OPERATORS);
		CHECK_EQ(pm_cards_known(c, cards[0].name), PM_CARD_FROM_NETWORKS);
		CHECK_EQ(pm_cards_known(sheet, cards[other].name), PM_CARD_FROM_SHEET);
		/* pulled a little to what the sheet says */
		CHECK_NEAR(f.compute[PM_CARD_CONV] / factor(c, 3, PM_CARD_CONV), 5 / truth(3), 0.25 * 5 / truth(3));
		CHECK(factor(sheet, other, PM_CARD_CONV) < 0.75 * f.compute[PM_CARD_CONV]);
		CHECK(f.memory[PM_CARD_CONV] < 0.75 * f.compute[PM_CARD_CONV]);
		CHECK_EQ(f.memory[PM_CARD_REST], f.memory[PM_CARD_CONV]);
		for (int i = 0; i < N_CARDS; i++)
			CHECK(i == other || factor(c, i, PM_CARD_CONV) == factor(sheet, i, PM_CARD_CONV));
		CHECK(pm_cards_doubt(c, cards[other].name, 0.9) > 0);
		CHECK(pm_cards_doubt(c, cards[other].name, 0.9) < pm_cards_doubt(sheet, cards[other].name, 0.9));
		CHECK_EQ(pm_predictor_save(&with, &arena, &data, &len, NULL), PM_OK);
		CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
		CHECK_EQ(predict_row(&back, &samples[other]), predict_row(&with, &samples[other]));
		CHECK_EQ(pm_cards_doubt(back.kind->cards(&back), cards[other].name, 0.9), pm_cards_doubt(c, cards[other].name, 0.9));
	}
}

/* A training that goes on knows what single operators stand for, and takes the level of one more card from its operators alone. */
static void
test_operators_settled(void)
{
	pm_card_operator o[N_SHAPES];
	pm_predictor p;
	pm_cards	c;
	pm_gpu		fresh = cards[4];
	pm_question q = samples[4].query;
	pm_card_factors other,
				f;

	make_operators(4, 5, 3, true);
	p = fit_with_operators(4, true);
	c = *p.kind->cards(&p);
	other = pm_cards_factors(&c, &q);
	fresh.name = "Fresh";
	q.gpu = &fresh;
	for (int i = 0; i < N_SHAPES; i++)
		o[i] = (pm_card_operator) {.gpu = &fresh, .dtype = PM_FP32, .work = PM_CARD_CONV, .level = log(WARM * 10)};
	c.settled = true;
	CHECK_EQ(pm_cards_learn_operators(&c, o, N_SHAPES, &arena, NULL), PM_OK);
	f = pm_cards_factors(&c, &q);
	CHECK(f.compute[PM_CARD_CONV] > 1.3 * other.compute[PM_CARD_CONV]);
	CHECK_EQ(pm_cards_known(&c, fresh.name), PM_CARD_FROM_OPERATORS);
	CHECK_EQ(pm_cards_factors(&c, &samples[4].query).compute[PM_CARD_CONV], other.compute[PM_CARD_CONV]);
	/* seven operators are too few */
	fresh.name = "Fresher";
	CHECK_EQ(pm_cards_learn_operators(&c, o, 7, &arena, NULL), PM_OK);
	CHECK_EQ(pm_cards_known(&c, fresh.name), PM_CARD_FROM_SHEET);
}

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

int
main(void)
{
	pm_arena_init_malloc(&arena);
	make_rows();
	test_known();
	test_stop();
	test_unknown();
	test_outlier();
	test_odd_network();
	test_settled();
	test_opclass();
	test_doubt();
	test_surprise();
	test_operators();
	test_operators_settled();
	test_better();
	test_bounds();
	pm_arena_release(&arena);
	return check_done("cards");
}
