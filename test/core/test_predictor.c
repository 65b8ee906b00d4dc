/*
 * test_predictor.c - options, what fit() refuses, and what is worth keeping.
 */
#include "predictor_rows.h"

/* ---------- options ---------- */

static pm_code
set(const char *kind, pm_setting s, pm_options *o, pm_status *st)
{
	memset(st, 0, sizeof(*st));
	return pm_options_set(pm_kind_find(kind), &s, 1, o, st);
}

static void
test_kinds_listed(void)
{
	for (int i = 0; i < N_KINDS; i++)
	{
		const pm_kind *k = pm_kind_find(kind_names[i]);

		CHECK(k != NULL && strcmp(k->name, kind_names[i]) == 0);
		CHECK(k == pm_kind_at(i));
		CHECK(k->n_options <= PM_MAX_OPTIONS && k->min_samples >= 1 && pm_option_find(k, "seed") >= 0);
	}
	CHECK(pm_kind_find("oracle") == NULL && pm_kind_find("") == NULL);
	CHECK(pm_kind_at(N_KINDS) == NULL && pm_kind_at(-1) == NULL);
}

/* Defaults lie in their own ranges, print and read back. */
static void
test_defaults(void)
{
	for (int i = 0; i < N_KINDS; i++)
	{
		const pm_kind *k = pm_kind_at(i);
		pm_options	o;
		pm_status	st;

		CHECK_EQ(pm_options_set(k, NULL, 0, &o, &st), PM_OK);
		for (int j = 0; j < k->n_options; j++)
		{
			const pm_option *def = &k->options[j];
			pm_options	back;
			char		text[64];

			CHECK(def->initial >= def->min && def->initial <= def->max && def->help != NULL);
			CHECK_EQ(o.value[j], def->initial);
			CHECK_EQ(pm_option_find(k, def->name), j);
			CHECK_EQ(pm_option_value(k, &o, def->name), def->initial);
			pm_option_print(def, def->initial, text, sizeof(text));
			if (def->type == PM_OPT_CHOICE)
				CHECK_EQ(set(k->name, TEXT(def->name, text), &back, &st), PM_OK);
			else if (def->type == PM_OPT_BOOL)
				CHECK_EQ(set(k->name, BOOLEAN(def->name, strcmp(text, "true") == 0), &back, &st), PM_OK);
			else
				CHECK_EQ(set(k->name, NUMBER(def->name, atof(text)), &back, &st), PM_OK);
			CHECK_EQ(back.value[j], def->initial);
		}
		CHECK(isnan(pm_option_value(k, &o, "no such option")));
		CHECK_EQ(pm_option_find(k, "no such option"), -1);
	}
}

static void
test_options(void)
{
	const pm_kind *mdot = pm_kind_find("mdot");
	pm_setting	several[] = {NUMBER("epochs", 7), TEXT("loss", "mse_raw"), BOOLEAN("merge", 0), NUMBER("dropout", 0.25)};
	pm_options	o;
	pm_status	st;
	char		text[64];

	CHECK_EQ(pm_options_set(mdot, several, 4, &o, &st), PM_OK);
	CHECK_EQ(pm_option_value(mdot, &o, "epochs"), 7);
	CHECK_EQ(pm_option_value(mdot, &o, "loss"), 2);
	CHECK_EQ(pm_option_value(mdot, &o, "merge"), 0);
	CHECK_EQ(pm_option_value(mdot, &o, "dropout"), 0.25);
	CHECK(!pm_predictor_merges(mdot, &o));
	pm_option_print(&mdot->options[pm_option_find(mdot, "loss")], 2, text, sizeof(text));
	CHECK(strcmp(text, "mse_raw") == 0);
	pm_option_print(&mdot->options[pm_option_find(mdot, "merge")], 0, text, sizeof(text));
	CHECK(strcmp(text, "false") == 0);
	pm_option_print(&mdot->options[pm_option_find(mdot, "dropout")], 0.25, text, sizeof(text));
	CHECK(strcmp(text, "0.25") == 0);
	CHECK_EQ(pm_options_set(pm_kind_find("linear"), NULL, 0, &o, &st), PM_OK);
	CHECK(pm_predictor_merges(pm_kind_find("linear"), &o));
}

static void
refuse(const char *kind, pm_setting s, const char *message)
{
	pm_options	o;
	pm_status	st;

	CHECK_EQ(set(kind, s, &o, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, message);
}

static void
test_refused_options(void)
{
	const pm_kind *mdot = pm_kind_find("mdot");
	pm_options	o;
	pm_status	st;
	char		longer[1000];

	CHECK_EQ(set("mdot", NUMBER("epoch", 7), &o, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, "unknown option \"epoch\" for kind \"mdot\"");
	refuse("roofline", NUMBER("epochs", 7), "unknown option \"epochs\" for kind \"roofline\"");
	memset(longer, 'x', sizeof(longer));
	longer[999] = '\0';
	refuse("mdot", NUMBER(longer, 7), "unknown option \"xxxx");
	refuse("mdot", NUMBER("epochs", 0), "option \"epochs\" must be a whole number between 1 and 100000");
	refuse("mdot", NUMBER("epochs", 100001), "\"epochs\" must be a whole number");
	refuse("mdot", NUMBER("epochs", 1.5), "\"epochs\" must be a whole number");
	refuse("mdot", NUMBER("epochs", NAN), "\"epochs\" must be a whole number");
	refuse("mdot", NUMBER("epochs", INFINITY), "\"epochs\" must be a whole number");
	refuse("mdot", TEXT("epochs", "7"), "\"epochs\" must be a whole number");
	refuse("mdot", BOOLEAN("epochs", 1), "\"epochs\" must be a whole number");
	refuse("mdot", NUMBER("dropout", -0.1), "option \"dropout\" must be a number between 0 and 0.9");
	refuse("mdot", NUMBER("dropout", NAN), "\"dropout\" must be a number");
	refuse("mdot", BOOLEAN("dropout", 0), "\"dropout\" must be a number");
	refuse("mdot", NUMBER("merge", 1), "option \"merge\" must be true or false");
	refuse("mdot", TEXT("merge", "true"), "\"merge\" must be true or false");
	refuse("mdot", TEXT("loss", "mse"), "option \"loss\" must be one of log_huber|mape|mse_raw|mae_raw");
	refuse("mdot", TEXT("loss", ""), "\"loss\" must be one of");
	refuse("mdot", TEXT("loss", "mape|mse_raw"), "\"loss\" must be one of");
	refuse("mdot", NUMBER("loss", 1), "\"loss\" must be one of");
	refuse("mdot", NUMBER("heads", 5), "option \"heads\" must divide \"d_model\": 5 does not divide 64");
	refuse("mdot", NUMBER("d_operator", 30), "\"d_operator\" must be a multiple of 4");
	refuse("linear", NUMBER("ridge", 0), "\"ridge\" must be a number between 1e-09 and 1e+06");
	CHECK_EQ(pm_options_set(mdot, &NUMBER("epochs", 0), 1, &o, NULL), PM_ERR_OPTION);
	CHECK_EQ(pm_options_set(mdot, &NUMBER("epoch", 0), 1, &o, NULL), PM_ERR_OPTION);
}

/* ---------- what fit refuses ---------- */

static void
test_refused_rows(void)
{
	static const double bad[] = {0, -1, NAN, INFINITY, -INFINITY};
	pm_dataset	d = make_dataset(4, 3, true, any_time, &arena);
	pm_fit_report report;
	pm_status	st;

	for (int i = 0; i < N_KINDS; i++)
	{
		pm_predictor p = {.kind = pm_kind_at(i)};
		pm_dataset	few = {.n = p.kind->min_samples - 1, .samples = d.samples};
		char		counted[96];

		CHECK(pm_options_set(p.kind, NULL, 0, &p.options, &st) == PM_OK);
		CHECK_EQ(pm_predictor_fit(&p, &few, 1, 1, NULL, &arena, &report, &st), PM_ERR_DATA);
		snprintf(counted, sizeof(counted), "at least %d measurement%s to learn from, and there %s %d", few.n + 1, few.n == 0 ? "" : "s",
				 few.n == 1 ? "is" : "are", few.n);
		CHECK_HAS(st.message, counted);
		CHECK(isnan(report.valid_mape) && isnan(report.train_mape) && report.epochs == 0);
		for (int b = 0; b < 5; b++)
		{
			double		good = d.samples[2].step_ms;

			d.samples[2].step_ms = bad[b];
			CHECK_EQ(pm_predictor_fit(&p, &d, 1, 1, NULL, &arena, &report, &st), PM_ERR_DATA);
			CHECK_HAS(st.message, "profile 3 has a time that is not positive and finite");
			d.samples[2].step_ms = good;
		}
		d.samples[5].query.batch = 0;
		CHECK_EQ(pm_predictor_fit(&p, &d, 1, 1, NULL, &arena, &report, &st), PM_ERR_INPUT);
		d.samples[5].query.batch = 16;
	}
}

/* ---------- what is worth keeping ---------- */

/* Rows that say what no step can take are refused before anything is trained. */
static void
test_measurements_out_of_bounds(void)
{
	static const double bad[] = {1e-300, 1e-7, 1e10, 1e308};
	pm_dataset	d = make_dataset(4, 3, true, any_time, &arena);

	for (int i = 0; i < N_KINDS; i++)
		for (int k = 0; k < 4; k++)
		{
			pm_predictor p = {.kind = pm_kind_at(i)};
			pm_fit_report report;
			double		kept = d.samples[5].step_ms;
			pm_status	st;

			CHECK_EQ(pm_options_set(p.kind, NULL, 0, &p.options, &st), PM_OK);
			d.samples[5].step_ms = bad[k];
			CHECK_EQ(pm_predictor_fit(&p, &d, 1, 1, NULL, &arena, &report, &st), PM_ERR_DATA);
			CHECK_HAS(st.message, "profile 6 says");
			CHECK_HAS(st.message, "which is not between 1e-06 and 1e+09 ms");
			d.samples[5].step_ms = kept;
			d.samples[5].forward_ms = 1e300;
			CHECK_EQ(pm_predictor_fit(&p, &d, 1, 1, NULL, &arena, &report, &st), PM_ERR_DATA);
			d.samples[5].forward_ms = NAN;
		}
}

/* Steps at both ends of the bounds train, and what is trained answers, or the training says that it failed. */
static void
test_extreme_measurements(void)
{
	for (int i = 0; i < N_KINDS; i++)
		for (int k = 0; k < 3; k++)
		{
			pm_dataset	d = make_dataset(12, 2, true, any_time, &arena);
			pm_predictor p = {.kind = pm_kind_at(i)};
			pm_fit_report report;
			uint8_t    *data;
			size_t		len;
			pm_status	st = {PM_OK};
			pm_code		rc;

			for (int row = 0; row < d.n; row++)
				if (k < 2 || row % 2)
					d.samples[row].step_ms = k == 0 ? 1e-6 : 1e9;
			CHECK_EQ(pm_options_set(p.kind, NULL, 0, &p.options, &st), PM_OK);
			if (pm_option_find(p.kind, "epochs") >= 0)
				p.options.value[pm_option_find(p.kind, "epochs")] = 2;
			rc = pm_predictor_fit(&p, &d, 1, 1, NULL, &arena, &report, &st);
			CHECK(rc == PM_OK || rc == PM_ERR_DIVERGED);
			if (rc == PM_OK)
			{
				CHECK(!isinf(report.valid_mape) && !isinf(report.train_mape) && !isinf(report.valid_rmse));
				rc = pm_predictor_save_proven(&p, &d, &arena, &data, &len, &st);
				CHECK(rc == PM_OK || rc == PM_ERR_DIVERGED);
			}
			if (rc != PM_OK)
				CHECK_HAS(st.hint, "wrong by orders of magnitude");
		}
}

typedef struct countdown
{
	int			left;			/* questions until the one that is answered with yes */
} countdown;

static bool
stop_at_zero(void *ctx)
{
	return --((countdown *) ctx)->left == 0;
}

/* A cancel is answered as one wherever it comes: it is no error of a predictor, and no row without an answer. */
static void
test_cancels(void)
{
	pm_dataset	d = make_dataset(12, 2, true, any_time, &arena);
	countdown	c;
	const pm_hooks hooks = {.stop = stop_at_zero, .ctx = &c};
	int			cancelled[2] = {0};

	for (int proof = 0; proof < 2; proof++)
		for (int at = 1, asked = at; asked >= at; at += 1 + at / 20)
		{
			pm_predictor p = {.kind = pm_kind_find("opclass")};
			pm_status	st = {PM_OK};
			pm_arena	a;
			pm_fit_report report;
			uint8_t    *data;
			size_t		len;
			pm_code		rc;

			pm_arena_init_malloc(&a);
			a.hooks = &hooks;
			c.left = proof ? -1 : at;
			CHECK_EQ(pm_options_set(p.kind, NULL, 0, &p.options, &st), PM_OK);
			rc = pm_predictor_fit(&p, &d, 1, 1, &hooks, &a, &report, &st);
			if (proof)
			{
				CHECK_EQ(rc, PM_OK);
				c.left = at;
				rc = pm_predictor_save_proven(&p, &d, &a, &data, &len, &st);
			}
			asked = at - c.left;
			CHECK_EQ(rc, asked >= at ? PM_CANCELLED : PM_OK);
			cancelled[proof] += rc == PM_CANCELLED;
			pm_arena_release(&a);
		}
	CHECK(cancelled[0] > 0 && cancelled[1] > 0);
}

/* A predictor that cannot answer is not stored. */
static void
test_proof(void)
{
	pm_dataset	d = make_dataset(12, 2, true, any_time, &arena);
	pm_predictor p = make_predictor("linear", NULL, 0, &d, &arena);
	double	   *beta = p.impl;
	uint8_t    *data;
	size_t		len;
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_predictor_save_proven(&p, &d, &arena, &data, &len, &st), PM_OK);
	beta[0] += 1e4;
	CHECK_EQ(pm_predictor_save_proven(&p, &d, &arena, &data, &len, &st), PM_ERR_DIVERGED);
	CHECK_HAS(st.message, "cannot be used: prediction is not a positive finite number");
	beta[0] = NAN;
	CHECK_EQ(pm_predictor_save_proven(&p, &d, &arena, &data, &len, &st), PM_ERR_DIVERGED);
	CHECK_HAS(st.message, "damaged");
	p.kind = pm_kind_find("linear");
	CHECK_EQ(pm_quantity_find("step_ms")->id, PM_STEP_MS);
	CHECK(pm_quantity_find("peak_memory_gb_of_tomorrow") == NULL);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_kinds_listed();
	test_defaults();
	test_options();
	test_refused_options();
	test_refused_rows();
	test_measurements_out_of_bounds();
	test_extreme_measurements();
	test_cancels();
	test_proof();
	pm_arena_release(&arena);
	return check_done("predictor");
}
