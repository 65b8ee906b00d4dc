/*
 * test_extremes.c - every kind with its options at the ends of their ranges:
 * each alone, then all of them drawn at random from least, usual and most, so
 * that pairs of extremes meet.  Two epochs on a handful of small graphs; what
 * was trained is stored, read back and gives the same bits.  A training may
 * diverge; it may not succeed and then not answer, nor take more memory than
 * the kind said before.
 *
 * Draws that would take long are capped by the memory that they need; what was
 * capped is printed.
 */
#include "check.h"
#include "small_kinds.h"

#define MOST_BYTES	(28.0 * 1024 * 1024)	/* that a training may take */
#define MIXTURES	14			/* draws of all options of a kind */

static pm_arena arena;
static pm_dataset dataset;

/* ---- draws ---- */

static bool
is_fixed(const pm_option *def)
{
	return strcmp(def->name, "epochs") == 0 || strcmp(def->name, "seed") == 0;
}

static void
set_extreme(const pm_kind *kind, pm_options *o, int i, bool most)
{
	if (!is_fixed(&kind->options[i]))
		o->value[i] = most ? kind->options[i].max : kind->options[i].min;
}

/* Half way from a large value down to the small one. */
static double
lowered(double value, double small)
{
	return value > 2 * small ? floor(value / 2) : small;
}

/* Lower the option that memory grows with most, again and again, until the training is small enough. */
static void
cap(const pm_kind *kind, pm_options *o, const pm_options *small)
{
	while (kind->memory(o, &dataset, 2) > MOST_BYTES)
	{
		double		least = INFINITY;
		int			widest = -1;

		for (int i = 0; i < kind->n_options; i++)
		{
			pm_options	less = *o;

			less.value[i] = lowered(o->value[i], small->value[i]);
			if (less.value[i] != o->value[i] && kind->memory(&less, &dataset, 2) < least)
			{
				least = kind->memory(&less, &dataset, 2);
				widest = i;
			}
		}
		CHECK(widest >= 0);
		if (widest < 0)
			return;
		o->value[widest] = lowered(o->value[widest], small->value[widest]);
		printf("    %s: %s is capped to %g\n", kind->name, kind->options[widest].name, o->value[widest]);
	}
}

/* ---- one training ---- */

static void
complain(const pm_kind *kind, const pm_options *o, const char *what, const pm_status *st)
{
	pm_options	small = small_options_of(kind);

	fprintf(stderr, "%s: %s (%s)", kind->name, what, st->message);
	for (int i = 0; i < kind->n_options; i++)
		if (o->value[i] != small.value[i])
			fprintf(stderr, " %s=%g", kind->options[i].name, o->value[i]);
	fprintf(stderr, "\n");
}

/* Prediction for a question prepared at another batch. */
static double
predict_prepared(const pm_predictor *p, const pm_sample *s, pm_arena *a)
{
	pm_sample	other = *s;
	pm_prepared x;
	double		ms;

	other.query.batch *= 2;
	if (pm_predictor_prepare(p, &other, a, a, NULL, &x, NULL) != PM_OK ||
		pm_predictor_predict_prepared(p, &x, s, a, &ms, NULL) != PM_OK)
		return NAN;
	return ms;
}

static void
check_answers(const pm_predictor *p, pm_arena *a)
{
	uint8_t    *data;
	size_t		len;
	pm_predictor q;
	pm_status	st = {0};
	pm_code		rc = pm_predictor_save(p, a, &data, &len, &st);

	CHECK(rc == PM_OK);
	if (rc == PM_OK && (rc = pm_predictor_load(data, len, a, &q, &st)) != PM_OK)
		complain(p->kind, &p->options, "what was stored is refused", &st);
	CHECK(rc == PM_OK);
	for (int i = 0; i < dataset.n && rc == PM_OK; i++)
	{
		const pm_sample *s = &dataset.samples[i];
		double		ms = predict_row(p, s);

		if (!(ms > 0 && isfinite(ms)))
			complain(p->kind, &p->options, "trained, and does not answer", &st);
		CHECK(ms > 0 && isfinite(ms));
		CHECK(predict_row(&q, s) == ms);
		CHECK(predict_prepared(&q, s, a) == ms);
	}
}

/* Returns whether it was trained. */
static bool
try_options(const pm_kind *kind, pm_options o, int threads)
{
	pm_predictor p = {.kind = kind, .options = o};
	pm_options	small = small_options_of(kind);
	pm_fit_report report;
	pm_status	st = {0};
	pm_arena	a;
	pm_code		rc;

	cap(kind, &p.options, &small);
	if (kind->check != NULL && kind->check(&p.options, NULL) != PM_OK)
		return false;
	pm_arena_init_malloc(&a);
	rc = pm_predictor_fit(&p, &dataset, 3, threads, NULL, &a, &report, &st);
	if (rc != PM_OK && rc != PM_ERR_DIVERGED)
		complain(kind, &p.options, "is not trained", &st);
	CHECK(rc == PM_OK || rc == PM_ERR_DIVERGED);
	if (a.used > kind->memory(&p.options, &dataset, threads))
		complain(kind, &p.options, "takes more memory than it says", &st);
	CHECK(a.used <= kind->memory(&p.options, &dataset, threads));
	if (rc == PM_OK)
		check_answers(&p, &a);
	pm_arena_release(&a);
	return rc == PM_OK;
}

/* ---- the draws of a kind ---- */

static void
test_kind(const pm_kind *kind, pm_rng *rng)
{
	pm_options	small = small_options_of(kind);
	double		started = pm_now();
	int			trained = 0;
	int			draws = 0;

	for (int i = 0; i < kind->n_options; i++)
		for (int most = 0; most < 2; most++, draws++)
		{
			pm_options	o = small;

			set_extreme(kind, &o, i, most);
			trained += try_options(kind, o, 1 + i % 2);
		}
	for (int k = 0; k < MIXTURES; k++, draws++)
	{
		pm_options	o = small;

		for (int i = 0; i < kind->n_options; i++)
		{
			double		u = pm_rng_uniform(rng);

			/* at the largest rates everything diverges, and nothing else would be seen */
			if (u < 0.6 && (strcmp(kind->options[i].name, "learning_rate") != 0 || k % 4 == 0))
				set_extreme(kind, &o, i, u < 0.3);
		}
		trained += try_options(kind, o, 1 + k % 2);
	}
	printf("%s: %d of %d draws were trained, %.1f s\n", kind->name, trained, draws, pm_now() - started);
	CHECK(trained > draws / 2);
}

int
main(void)
{
	const pm_kind *kind;
	pm_rng		rng;

	pm_arena_init_malloc(&arena);
	pm_rng_seed(&rng, 11);
	dataset = small_dataset(&arena);
	for (int i = 0; (kind = pm_kind_at(i)) != NULL; i++)
		test_kind(kind, &rng);
	pm_arena_release(&arena);
	return check_done("extremes");
}
