/*
 * correction.c - applying and storing corrections.
 */
#include "predictor/correction.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_DEVICES		4096
#define MAX_STATE		100.0	/* of an element */
#define N_CELLS			(PM_N_DTYPES * PM_N_LAYOUTS)

const pm_device_correction *
pm_correction_find(const pm_correction *c, const char *gpu)
{
	for (int i = 0; c != NULL && i < c->n; i++)
		if (strcmp(c->device[i].gpu, gpu) == 0)
			return &c->device[i];
	return NULL;
}

bool
pm_correction_has_state(const pm_device_correction *c)
{
	for (int k = 0; c != NULL && k < PM_N_FACTORS; k++)
		if (c->state[k] != 0)
			return true;
	return false;
}

double
pm_correction_held(const pm_device_correction *c, pm_card_work work)
{
	return c == NULL ? 1 : 1 - c->state[PM_STATE_RELEASED + work];
}

bool
pm_correction_measured(const pm_device_correction *g, pm_dtype dtype)
{
	for (int layout = 0; layout < PM_N_LAYOUTS; layout++)
		if (g->used[dtype][layout] > 0)
			return true;
	return false;
}

double
pm_correction_apply(const pm_correction *c, const pm_question *q, pm_dtype answered_as, double predicted)
{
	const pm_device_correction *g = pm_correction_find(c, q->gpu->name);
	pm_dtype	format;
	double		x;

	if (g == NULL)
		return predicted;
	format = pm_correction_measured(g, q->dtype) ? q->dtype : answered_as;
	x = fmin(fmax(log(predicted), g->low), g->high) - g->centre;
	return fmin(fmax(predicted * exp(g->a + g->b * x + g->d[format][q->layout]), DBL_MIN), DBL_MAX);
}

/* ---- storing ---- */

void
pm_correction_save(const pm_correction *c, pm_buffer *b)
{
	pm_names_save(pm_list_here(PM_LIST_DTYPE), b);
	pm_names_save(pm_list_here(PM_LIST_LAYOUT), b);
	pm_put_u32(b, (uint32_t) c->n);
	for (int i = 0; i < c->n; i++)
	{
		const pm_device_correction *g = &c->device[i];
		double		number[] = {g->a, g->b, g->centre, g->low, g->high, g->surprise};

		pm_put_text(b, g->gpu);
		pm_put_u32(b, (uint32_t) g->structures);
		for (size_t k = 0; k < sizeof(number) / sizeof(number[0]); k++)
			pm_put_f64(b, number[k]);
		for (int k = 0; k < N_CELLS; k++)
		{
			pm_put_u32(b, (uint32_t) g->used[k / PM_N_LAYOUTS][k % PM_N_LAYOUTS]);
			pm_put_f64(b, g->d[k / PM_N_LAYOUTS][k % PM_N_LAYOUTS]);
			pm_put_f64(b, g->by_state[k / PM_N_LAYOUTS][k % PM_N_LAYOUTS]);
		}
		pm_named_save(&pm_state_names, g->state, b);
	}
}

/* A logarithm of a factor or a time that is not absurd. */
static double
get_log(pm_reader *r)
{
	double		v = pm_get_f64(r);

	if (fabs(v) > 1000)
		r->failed = true;
	return r->failed ? 0 : v;
}

/* Lists that the cells are of. */
static pm_code
load_lists(pm_translation *dtypes, pm_translation *layouts, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc = pm_names_load(pm_list_here(PM_LIST_DTYPE), r, a, dtypes, st);

	return rc == PM_OK ? pm_names_load(pm_list_here(PM_LIST_LAYOUT), r, a, layouts, st) : rc;
}

static pm_code
load_state(pm_device_correction *g, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	/* earlier versions released a card as soon as it was measured */
	for (int work = 0; work < PM_N_CARD_WORKS; work++)
		g->state[PM_STATE_RELEASED + work] = 1;
	rc = pm_named_load(&pm_state_names, g->state, r, a, st);

	for (int k = 0; k < PM_N_STATE; k++)
		if (!(fabs(g->state[k]) <= MAX_STATE))
			r->failed = true;
	for (int work = 0; work < PM_N_CARD_WORKS; work++)
		if (!(pm_correction_held(g, work) >= 0 && pm_correction_held(g, work) <= 1))
			r->failed = true;
	return rc;
}

static pm_code
load_device(const pm_translation *dtypes, const pm_translation *layouts, pm_reader *r, pm_arena *a, pm_device_correction *g,
			pm_status *st)
{
	g->gpu = pm_get_text(r, a);
	if (g->gpu == NULL)
		return r->failed ? PM_OK : pm_no_memory(st, a);
	g->structures = (int) pm_get_u32(r, INT32_MAX);
	g->a = get_log(r);
	g->b = get_log(r);
	g->centre = get_log(r);
	g->low = get_log(r);
	g->high = get_log(r);
	g->surprise = get_log(r);
	if (!(g->low <= g->high) || fabs(g->b) > PM_CORRECTION_MAX_B || !(g->surprise >= 0 && g->surprise <= PM_MOST_SURPRISE))
		r->failed = true;
	for (int i = 0; i < dtypes->n; i++)
		for (int k = 0; k < layouts->n; k++)
		{
			int			dtype = dtypes->here != NULL ? dtypes->here[i] : i;
			int			layout = layouts->here != NULL ? layouts->here[k] : k;

			g->used[dtype][layout] = (int) pm_get_u32(r, INT32_MAX / N_CELLS);
			g->rows += g->used[dtype][layout];
			g->d[dtype][layout] = get_log(r);
			g->by_state[dtype][layout] = get_log(r);
		}
	return load_state(g, r, a, st);
}

pm_code
pm_correction_load(pm_reader *r, pm_arena *a, const pm_correction **c, pm_status *st)
{
	pm_correction *x = PM_NEW(a, pm_correction, 1);
	pm_translation dtypes;
	pm_translation layouts;
	pm_code		rc;

	if (!x)
		return pm_no_memory(st, a);
	if ((rc = load_lists(&dtypes, &layouts, r, a, st)) != PM_OK)
		return rc;
	x->n = (int) pm_get_u32(r, MAX_DEVICES);
	if ((x->device = PM_NEW(a, pm_device_correction, x->n + 1)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < x->n && rc == PM_OK && !r->failed; i++)
		rc = load_device(&dtypes, &layouts, r, a, &x->device[i], st);
	*c = x;
	if (rc != PM_OK)
		return rc;
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has a damaged correction") : PM_OK;
}
