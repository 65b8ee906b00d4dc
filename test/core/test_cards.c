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

/*
 * Networks in BF16 and others in AMP have one level together on a card with units for BF16, which answers in both; on a card
 * without, each format has its own.
 */
static void
test_bf16(void)
{
	for (int units = 0; units < 2; units++)
	{
		pm_cards	c = {0};
		pm_gpu		card = cards[0];
		pm_sample	rows[4];
		pm_dataset	d = {.n = 4, .samples = rows};
		double		error[4];
		double		share[4][PM_N_CARD_WORKS];
		pm_question q;

		card.compute_capability = units ? 8 : 7;
		for (int i = 0; i < d.n; i++)
		{
			rows[i] = samples[N_CARDS * i];
			rows[i].query.gpu = &card;
			rows[i].query.dtype = i < 3 ? PM_BF16 : PM_AMP;
			error[i] = log(i < 3 ? 2 : 1);
			share[i][PM_CARD_CONV] = 1;
			share[i][PM_CARD_REST] = 0;
		}
		CHECK_EQ(pm_cards_update(&c, &d, error, share, &arena, NULL), PM_OK);
		CHECK_EQ(pm_cards_networks(&c, card.name, PM_CARD_CONV), units ? 4 : 3);
		q = rows[0].query;
		CHECK(pm_cards_factors(&c, &q).compute[PM_CARD_CONV] > 1.4);
		q.dtype = PM_AMP;
		CHECK_EQ(pm_cards_factors(&c, &q).compute[PM_CARD_CONV] > 1.4, units);
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

/* Fused attention tells nothing of a card's level, whatever it takes; a product of two tensors, of the same class, does. */
static void
test_fused_attention(void)
{
	static const char *const names[] = {"Attention", "MatMul"};
	const int	other = 4;

	for (int k = 0; k < 2; k++)
	{
		pm_predictor p;

		make_operators(other, 2, 2, true);
		for (int i = 0; i < N_CARDS * 2 * N_SHAPES; i++)
		{
			graph_text	t;
			pm_tokens	work;
			int			x,
						y;

			if (operators[i].query.gpu != &cards[other] && i % 2 == 0)
				continue;
			text_start(&t, "operator", "operator");
			x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,16,1024,1024],'batch_dim':0");
			y = text_node(&t, "'op':'Input','inputs':[],'shape':[1,16,1024,1024],'batch_dim':0");
			text_node(&t, "'op':'%s','inputs':[%d,%d%s],'shape':[1,16,1024,1024],'batch_dim':0", names[k], x, y, k == 0 ? ",1" : "");
			operators[i].skeleton = make_skeleton(text_finish(&t, &arena), true, &arena);
			CHECK_EQ(pm_tokens_build_work(operators[i].skeleton, &operators[i].query, &arena, &work, NULL), PM_OK);
			operators[i].step_ms = 8 * fmax(work.compute_us[0], work.memory_us[0]) / 1000;
		}
		p = fit_with_operators(other, true);
		CHECK_EQ(pm_cards_known(p.kind->cards(&p), cards[other].name), k == 0 ? PM_CARD_FROM_SHEET : PM_CARD_FROM_OPERATORS);
	}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	make_rows();
	test_known();
	test_bf16();
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
	test_fused_attention();
	pm_arena_release(&arena);
	return check_done("cards");
}
