/*
 * passes_stored.c - the stored form of what is known of forward passes.
 */
#include "predictor/passes.h"

#include <math.h>
#include <string.h>

static const char *
factor_name(int k)
{
	return k == PM_PASS_LAUNCH ? "launch" : k == PM_PASS_REST ? "rest" : k < PM_N_CLASSES ? pm_class_name[k] :
		pm_conv_kind_name[k - PM_N_CLASSES];
}

/* By name: classes and kinds of convolutions may become more. */
static void
save_machine(const pm_pass_machine *m, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) m->structures);
	pm_put_f64(b, m->error);
	pm_put_f64(b, m->error_abroad);
	pm_put_u32(b, PM_N_PASS_FACTORS);
	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
	{
		pm_put_u32(b, k >= PM_N_CLASSES && k < PM_N_GROUPS);
		pm_put_text(b, factor_name(k));
		pm_put_f64(b, m->factor[k]);
	}
}

static const pm_names layouts = {"layout", PM_N_LAYOUTS, pm_layout_name};

void
pm_passes_save(const pm_passes *t, pm_buffer *b)
{
	save_machine(&t->machine[0], b);
	save_machine(&t->machine[1], b);
	pm_put_u32(b, (uint32_t) t->n);
	for (int i = 0; i < t->n; i++)
	{
		pm_put_text(b, t->device[i].gpu);
		pm_put_u32(b, (uint32_t) t->device[i].structures);
		pm_put_f64(b, t->device[i].level);
		pm_put_f64(b, t->device[i].moved);
		pm_named_save(&layouts, t->device[i].error, b);
	}
}

static int
factor_named(bool is_conv, const char *name)
{
	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
		if ((k >= PM_N_CLASSES && k < PM_N_GROUPS) == is_conv && strcmp(factor_name(k), name) == 0)
			return k;
	return -1;
}

/* A group that it was stored before has the factor of launches; one that is no more is passed over. */
static pm_code
load_machine(pm_reader *r, pm_arena *a, pm_pass_machine *m, pm_status *st)
{
	uint32_t	n;

	m->structures = (int) pm_get_u32(r, INT32_MAX);
	m->error = pm_get_above(r, 0);
	m->error_abroad = pm_get_above(r, 0);
	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
		m->factor[k] = NAN;
	n = pm_get_u32(r, 1000);
	for (uint32_t i = 0; i < n && !r->failed; i++)
	{
		bool		is_conv = pm_get_u32(r, 1) != 0;
		const char *name = pm_get_text(r, a);
		double		factor = pm_get_f64(r);
		int			k;

		if (name == NULL)
			return r->failed ? PM_OK : pm_no_memory(st, a);
		if (!(factor >= PM_PASS_FACTOR_MIN && factor <= PM_PASS_FACTOR_MAX))
			r->failed = true;
		if ((k = factor_named(is_conv, name)) >= 0)
			m->factor[k] = factor;
	}
	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
		if (isnan(m->factor[k]))
			m->factor[k] = isnan(m->factor[PM_PASS_LAUNCH]) ? 1 : m->factor[PM_PASS_LAUNCH];
	return PM_OK;
}

static pm_code
load_device(pm_reader *r, pm_arena *a, pm_pass_device *d, pm_status *st)
{
	pm_code		rc;

	if ((d->gpu = pm_get_text(r, a)) == NULL)
		return r->failed ? PM_OK : pm_no_memory(st, a);
	d->structures = (int) pm_get_u32(r, INT32_MAX);
	d->level = pm_get_f64(r);
	d->moved = pm_get_f64(r);
	if (!(fabs(d->level) <= PM_PASS_LEVEL_MAX && fabs(d->moved) <= PM_PASS_MOVED_MAX))
		r->failed = true;
	if ((rc = pm_named_load(&layouts, d->error, r, a, st)) != PM_OK)
		return rc;
	/* 0: a layout that the stored form does not know */
	for (int layout = 0; layout < PM_N_LAYOUTS; layout++)
		if (!(d->error[layout] >= 0) || isinf(d->error[layout]))
			r->failed = true;
	return PM_OK;
}

pm_code
pm_passes_load(pm_reader *r, pm_arena *a, const pm_passes **passes, pm_status *st)
{
	pm_passes  *t = PM_NEW(a, pm_passes, 1);
	pm_code		rc = PM_OK;

	if (t == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < 2 && rc == PM_OK && !r->failed; i++)
		rc = load_machine(r, a, &t->machine[i], st);
	if (rc != PM_OK)
		return rc;
	t->n = r->failed ? 0 : (int) pm_get_u32(r, PM_PASS_MAX_GPUS);
	if ((t->device = PM_NEW(a, pm_pass_device, t->n)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < t->n && rc == PM_OK && !r->failed; i++)
		rc = load_device(r, a, &t->device[i], st);
	if (rc != PM_OK)
		return rc;
	*passes = t;
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged factors of forward passes") : PM_OK;
}
