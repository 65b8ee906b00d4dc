/*
 * test_card_widths.c - the less is known of a card, the wider its intervals.
 */
#include "card_rows.h"

/* ---------- single operators ---------- */

/* Width of the interval of 90 % for a network on card `other`, in logarithms, if so many of its networks were measured. */
static double
width_of(int other, int networks, bool with)
{
	pm_setting	settings[] = {{.name = "operators", .number = with, .is_bool = true}};
	pm_sample  *kept = PM_NEW(&arena, pm_sample, N_ROWS);
	pm_dataset	d = {.samples = kept, .operators = with ? operators : NULL, .n_operators = with ? N_CARDS * 2 * N_SHAPES : 0};
	double		sum = 0;
	pm_predictor p;

	/* not the last network: it is asked about */
	for (int i = 0; i < N_ROWS - N_CARDS; i++)
		if (i % N_CARDS != other || i / N_CARDS < networks)
			kept[d.n++] = samples[i];
	p = make_predictor("opclass", settings, 1, &d, &arena);
	for (int i = N_ROWS - N_CARDS + other; i < N_ROWS; i += N_CARDS)
	{
		double		ms = predict_row(&p, &samples[i]);
		pm_verdict	v;

		CHECK_EQ(pm_predictor_judge(&p, &samples[i], ms, 0.9, &arena, &v, NULL), PM_OK);
		sum += log(v.high_ms / v.low_ms);
		if (networks == 0 && with)
		{
			pm_sample	s = samples[i];
			char		said[200];

			snprintf(said, sizeof(said), "was not in training; single operators on gpu \"%s\" were, in fp32", cards[other].name);
			CHECK_HAS(v.reason, said);
			/* "it" would be the framework here */
			s.query.framework = "pytorch 99";
			CHECK_EQ(pm_predictor_judge(&p, &s, ms, 0.9, &arena, &v, NULL), PM_OK);
			CHECK_HAS(v.reason, said);
			CHECK_HAS(v.reason, "framework \"pytorch 99\" was not");
		}
	}
	return sum;
}

/* The less is known of a card, the wider. */
static void
test_widths(void)
{
	double		width[4];

	make_operators(4, 2.4, 2.4, false);
	width[0] = width_of(4, 0, false);
	width[1] = width_of(4, 0, true);
	width[2] = width_of(4, 3, false);
	width[3] = width_of(4, N_NETS - 1, false);
	for (int i = 1; i < 4; i++)
		CHECK(width[i] < width[i - 1]);
}

static double
some_time(const pm_tokens *t)
{
	return 2 * t->total_roofline_us / 1000 + 1;
}

/*
 * Nor is a card that was measured known worse than by its sheet where the question is of another format or batch: here
 * one whose steps are far off, beside one of many networks that are as predicted.
 */
static void
test_bound_by_sheet(void)
{
	pm_dataset	d = make_dataset(240, 3, true, some_time, &arena);
	pm_gpu		measured = test_gpu;
	pm_gpu		unmeasured = test_gpu;
	pm_predictor p;

	measured.name = "measured badly";
	unmeasured.name = "not measured";
	for (int i = 0; i < 3 * 20; i++)
	{
		d.samples[i].query.gpu = &measured;
		d.samples[i].step_ms *= i / 3 % 2 ? 3 : 0.5;
	}
	p = make_predictor("opclass", NULL, 0, &d, &arena);
	for (int i = 0; i < 3 * 20; i += 3)
	{
		pm_sample	s = d.samples[i];
		pm_verdict	v[2];

		s.query.dtype = PM_FP16;
		for (int k = 0; k < 2; k++)
		{
			s.query.gpu = k == 0 ? &measured : &unmeasured;
			CHECK_EQ(pm_predictor_judge(&p, &s, 1, 0.9, &arena, &v[k], NULL), PM_OK);
		}
		CHECK(!v[0].in_domain && v[0].high_ms / v[0].low_ms <= v[1].high_ms / v[1].low_ms * (1 + 1e-9));
	}
}

/*
 * An optimizer that no row has: the interval grows by what the update may be off, on a card that was measured and on one that was
 * not, so that the former stays the narrower.  Where the update is nothing, it does not grow.
 */
static void
test_unseen_optimizer(void)
{
	pm_dataset	d = make_dataset(40, 3, true, some_time, &arena);
	pm_gpu		unmeasured = test_gpu;
	pm_predictor p;

	unmeasured.name = "not measured";
	p = make_predictor("opclass", NULL, 0, &d, &arena);
	for (int i = 0; i < d.n; i += 5)
	{
		double		width[2][2];

		for (int card = 0; card < 2; card++)
			for (int unseen = 0; unseen < 2; unseen++)
			{
				pm_sample	s = d.samples[i];
				pm_verdict	v;

				s.query.gpu = card == 0 ? &test_gpu : &unmeasured;
				s.query.optimizer = unseen ? PM_ADAMW : d.samples[i].query.optimizer;
				CHECK_EQ(pm_predictor_judge(&p, &s, 1, 0.9, &arena, &v, NULL), PM_OK);
				CHECK_EQ((v.causes & (1u << PM_CAUSE_OPTIMIZER_NOT_SEEN)) != 0, unseen);
				CHECK(!unseen || (!v.in_domain && v.update_share > 0 && v.update_share < 1));
				width[card][unseen] = log(v.high_ms);
				if (unseen)
					CHECK_NEAR(width[card][1], hypot(width[card][0], log1p(v.update_share)), 1e-3);	/* the network is a little farther, too */
			}
		CHECK(width[0][1] > width[0][0] && width[1][1] > width[1][0]);
		CHECK(width[0][1] <= width[1][1] * (1 + 1e-9));
	}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	make_rows();
	test_widths();
	test_bound_by_sheet();
	test_unseen_optimizer();
	pm_arena_release(&arena);
	return check_done("card_widths");
}
