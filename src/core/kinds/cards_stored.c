/*
 * cards_stored.c - the stored form of levels of cards.
 */
#include "kinds/cards.h"

#include <math.h>
#include <string.h>

#include "features/sheets.h"

#define MAX_LOG		1000.0		/* of a stored number */

/* Host times by format are stored as levels of one more kind of work, so that predictors without them are read. */
#define STORED_HOST		PM_N_CARD_LEVELS
#define N_STORED_WORKS	(PM_N_CARD_LEVELS + 1)

static const char *const work_names[N_STORED_WORKS] = {
	[PM_CARD_CONV] = "convolutions", [PM_CARD_REST] = "other operators", [PM_CARD_MEMORY] = "memory", [STORED_HOST] = "launches in 16 bits"
};
static const char *const trait_names[] = {
	"card", "not cuda", "plain 16 bits", "tf32", "amp or bf16", "fp16", "clock", "lanes alone", "ridge",
	"forward operators", "cards of forward operators", "operators", "cards of operators", "spread of operators"
};
static const pm_names works = {"kind of work", N_STORED_WORKS, work_names};

/* Stored behind the traits. */
enum
{
	FORWARD_ADD = PM_N_CARD_TRAITS, FORWARD_CARDS, BOTH_ADD, BOTH_CARDS, OPERATOR_SPREAD, N_NUMBERS
};
static const pm_names numbers = {"trait of cards", N_NUMBERS, trait_names};

static void
save_numbers(const pm_cards *c, int work, pm_buffer *b)
{
	double		v[N_NUMBERS] = {0};

	if (work == STORED_HOST)
	{
		pm_named_save(&numbers, v, b);
		pm_put_f64(b, 0);
		return;
	}
	memcpy(v, c->trait[work], sizeof(c->trait[work]));
	v[FORWARD_ADD] = c->offset[work][0].add;
	v[FORWARD_CARDS] = c->offset[work][0].cards;
	v[BOTH_ADD] = c->offset[work][1].add;
	v[BOTH_CARDS] = c->offset[work][1].cards;
	v[OPERATOR_SPREAD] = c->operator_spread[work];
	pm_named_save(&numbers, v, b);
	pm_put_f64(b, c->spread[work]);
}

static void
save_level(const pm_card_level *l, const pm_schema *s, pm_buffer *b)
{
	pm_put_text(b, l->gpu);
	pm_put_u32(b, (uint32_t) pm_there(s, PM_LIST_DTYPE, l->dtype));
	pm_put_u32(b, (uint32_t) l->work);
	pm_put_u32(b, (uint32_t) l->structures);
	pm_put_f64(b, l->level);
}

void
pm_cards_save(const pm_cards *c, const pm_schema *s, pm_buffer *b)
{
	pm_names_save(&works, b);
	for (int work = 0; work < N_STORED_WORKS; work++)
		save_numbers(c, work, b);
	pm_frameworks_save(&c->frameworks, b);
	pm_put_u32(b, (uint32_t) (c->n + c->hosts.n));
	for (int i = 0; i < c->n; i++)
		save_level(&c->level[i], s, b);
	for (int i = 0; i < c->hosts.n; i++)
		save_level(&(pm_card_level) {c->hosts.level[i].gpu, PM_FP32, STORED_HOST, 0, c->hosts.level[i].level}, s, b);
	pm_put_u32(b, (uint32_t) c->n_sheets);
	for (int i = 0; i < c->n_sheets; i++)
		pm_gpu_save(&c->sheets[i], b);
}

static pm_code
load_level(pm_card_level *l, const pm_schema *s, const pm_translation *t, pm_reader *r, pm_arena *a, pm_status *st)
{
	int			dtype;
	int			work;

	l->gpu = pm_get_text(r, a);
	if (l->gpu == NULL && !r->failed)
		return pm_no_memory(st, a);
	dtype = (int) pm_get_u32(r, (uint32_t) s->list[PM_LIST_DTYPE].n - 1);
	work = (int) pm_get_u32(r, (uint32_t) t->n - 1);
	l->structures = (int) pm_get_u32(r, INT32_MAX);
	l->level = pm_get_f64(r);
	if (!(fabs(l->level) <= MAX_LOG))
		r->failed = true;
	if (r->failed)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged levels of cards");
	l->dtype = pm_here(s, PM_LIST_DTYPE, dtype);
	l->work = t->here != NULL ? t->here[work] : work;
	return PM_OK;
}

static pm_code
load_levels(pm_cards *c, const pm_schema *s, const pm_translation *t, pm_reader *r, pm_arena *a, pm_status *st)
{
	int			n = (int) pm_get_u32(r, 2 * PM_MAX_CARD_LEVELS);
	pm_code		rc = PM_OK;

	c->level = PM_NEW(a, pm_card_level, n + 1);
	c->hosts.level = PM_NEW(a, pm_host_level, n + 1);
	if (!c->level || !c->hosts.level)
		return pm_no_memory(st, a);
	for (int i = 0; i < n && rc == PM_OK; i++)
	{
		pm_card_level *l = &c->level[c->n];

		if ((rc = load_level(l, s, t, r, a, st)) != PM_OK || l->work != STORED_HOST)
			c->n++;
		else if (pm_hosts_is_level(l->level))
			c->hosts.level[c->hosts.n++] = (pm_host_level) {l->gpu, l->level};
		else
			r->failed = true;
	}
	return rc;
}

static bool
is_spread(double x)
{
	return x >= 0 && x <= PM_MOST_CARD_SPREAD;
}

/* What predictors of before single operators do not say of these is 0. */
static pm_code
load_numbers(pm_cards *c, int work, pm_reader *r, pm_arena *a, pm_status *st)
{
	double		v[N_NUMBERS] = {0};
	bool		fits = true;
	double		spread;
	pm_code		rc;

	for (int k = 0; k < PM_N_CARD_TRAITS; k++)
		v[k] = NAN;
	if ((rc = pm_named_load(&numbers, v, r, a, st)) != PM_OK)
		return rc;
	spread = pm_get_f64(r);
	for (int k = 0; k < N_NUMBERS; k++)
		fits = fits && fabs(v[k]) <= MAX_LOG;
	if (work == STORED_HOST)
		return PM_OK;
	memcpy(c->trait[work], v, sizeof(c->trait[work]));
	c->offset[work][0] = (pm_card_offset) {v[FORWARD_ADD], v[FORWARD_CARDS]};
	c->offset[work][1] = (pm_card_offset) {v[BOTH_ADD], v[BOTH_CARDS]};
	c->operator_spread[work] = v[OPERATOR_SPREAD];
	c->spread[work] = spread;
	if (!fits || !is_spread(c->spread[work]) || !is_spread(c->operator_spread[work]) || v[FORWARD_CARDS] < 0 || v[BOTH_CARDS] < 0)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged levels of cards");
	return PM_OK;
}

static pm_code
load_sheets(pm_cards *c, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_gpu	   *sheets;
	pm_code		rc = PM_OK;

	c->n_sheets = (int) pm_get_u32(r, PM_MAX_CARD_LEVELS);
	if ((sheets = PM_NEW(a, pm_gpu, c->n_sheets + 1)) == NULL)
		return pm_no_memory(st, a);
	c->sheets = sheets;
	for (int i = 0; i < c->n_sheets && rc == PM_OK && !r->failed; i++)
		rc = pm_gpu_load(&sheets[i], r, a, st);
	return rc;
}

pm_code
pm_cards_load(pm_cards *c, const pm_schema *s, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_translation t;
	pm_code		rc = pm_names_load(&works, r, a, &t, st);

	/* levels are of one of these */
	if (rc == PM_OK && t.n == 0)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged levels of cards");
	for (int i = 0; rc == PM_OK && i < t.n; i++)
		rc = load_numbers(c, t.here != NULL ? t.here[i] : i, r, a, st);
	if (rc != PM_OK || (rc = pm_frameworks_load(&c->frameworks, t.n, t.here, r, a, st)) != PM_OK)
		return rc;
	if ((rc = load_levels(c, s, &t, r, a, st)) != PM_OK)
		return rc;
	if (rc == PM_OK)
		rc = load_sheets(c, r, a, st);
	if (rc == PM_OK && r->failed)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged levels of cards");
	return rc;
}
