/*
 * stored.c - the stored form of the kind "opclass".
 */
#include "kinds/opclass/opclass.h"

#include <string.h>

#define MAX_TYPES	1024

static void
put_coefs(pm_buffer *b, const double *coef, int n)
{
	for (int j = 0; j < n; j++)
		pm_put_f64(b, coef[j]);
}

/* Groups of the predictor's lists: classes, kinds of convolutions, and the special ones of each kind. */
static int
count_classes(const pm_schema *s)
{
	return s->list[PM_LIST_CLASS].n + 2 * s->list[PM_LIST_CONV_KIND].n;
}

/* Place here of the i-th of them. */
static int
class_here(const pm_schema *s, int i)
{
	int			kinds = s->list[PM_LIST_CONV_KIND].n;
	int			k = i - s->list[PM_LIST_CLASS].n;

	if (k < 0)
		return pm_here(s, PM_LIST_CLASS, i);
	return PM_N_CLASSES + (k >= kinds ? PM_N_CONV_KINDS : 0) + pm_here(s, PM_LIST_CONV_KIND, k % kinds);
}

/* Coefficients of the classes, in the order of the predictor's lists. */
static void
put_class_coefs(pm_buffer *b, const pm_schema *s, const double *coef)
{
	for (int i = 0; i < count_classes(s); i++)
		put_coefs(b, coef + PM_N_TERMS * class_here(s, i), PM_N_TERMS);
	put_coefs(b, coef + PM_TERM_UPDATE(PM_N_OPCLASSES), PM_N_SHARED(PM_N_OPCLASSES) - PM_TERM_UPDATE(PM_N_OPCLASSES));
}

/* Arithmetic of products for each format of the predictor's list. */
static void
put_product_coefs(pm_buffer *b, const pm_columns *c, const pm_schema *s, int group, const double *coef)
{
	for (int i = 0; i < s->list[PM_LIST_DTYPE].n && c->product[group] >= 0; i++)
		pm_put_f64(b, coef[pm_term_product(c, pm_here(s, PM_LIST_DTYPE, i), c->product[group])]);
}

static void
save_stratum(const pm_opclass *m, const pm_stratum *s, const pm_schema *schema, pm_buffer *b)
{
	/* 0 stands for any, and so does an empty name */
	pm_put_u32(b, (uint32_t) (s->cpu + 1));
	pm_put_u32(b, s->layout == PM_ANY ? 0 : (uint32_t) pm_there(schema, PM_LIST_LAYOUT, s->layout) + 1);
	pm_put_text(b, s->gpu ? s->gpu : "");
	pm_put_text(b, s->framework ? s->framework : "");
	put_class_coefs(b, schema, s->by_class);
	put_coefs(b, s->by_type, PM_N_SHARED(m->n_types));
	for (int i = 0; i < count_classes(schema); i++)
		put_product_coefs(b, &m->of_classes, schema, class_here(schema, i), s->by_class);
	for (int i = 0; i < m->n_types; i++)
		put_product_coefs(b, &m->of_types, schema, i, s->by_type);
}

pm_code
pm_opclass_save(const pm_predictor *p, pm_buffer *b, pm_status *st)
{
	const pm_schema *s = pm_predictor_schema(p);
	const pm_opclass *m = p->impl;

	(void) st;
	pm_put_u32(b, (uint32_t) count_classes(s));
	pm_put_u32(b, (uint32_t) m->n_types);
	for (int i = 0; i < m->n_types; i++)
		pm_put_text(b, m->types[i]);
	for (int i = 0; i < m->n_types; i++)
		pm_put_u32(b, m->is_product[i]);
	pm_put_u32(b, (uint32_t) m->n);
	for (int i = 0; i < m->n; i++)
		save_stratum(m, &m->strata[i], s, b);
	pm_cards_save(&m->cards, s, b);
	return PM_OK;
}

/* Coefficients are finite and not negative. */
static void
get_coefs(pm_reader *r, double *coef, int n)
{
	for (int j = 0; j < n; j++)
	{
		coef[j] = pm_get_f64(r);
		if (coef[j] < 0)
			r->failed = true;
	}
}

/* Classes that the predictor was trained before are as operators that are not known. */
static void
get_class_coefs(pm_reader *r, const pm_schema *s, double *coef)
{
	bool		known[PM_N_OPCLASSES] = {false};

	for (int i = 0; i < count_classes(s); i++)
	{
		get_coefs(r, coef + PM_N_TERMS * class_here(s, i), PM_N_TERMS);
		known[class_here(s, i)] = true;
	}
	get_coefs(r, coef + PM_TERM_UPDATE(PM_N_OPCLASSES), PM_N_SHARED(PM_N_OPCLASSES) - PM_TERM_UPDATE(PM_N_OPCLASSES));
	for (int i = 0; i < PM_N_OPCLASSES; i++)
		if (!known[i])
			memcpy(coef + PM_N_TERMS * i, coef + PM_N_TERMS * PM_CLASS_MOVE, PM_N_TERMS * sizeof(double));
}

/* Formats that the predictor was trained before are as the first of its list. */
static void
get_product_coefs(pm_reader *r, const pm_columns *c, const pm_schema *s, int group, double *coef)
{
	double		v[PM_N_DTYPES] = {0};

	if (c->product[group] < 0)
		return;
	get_coefs(r, v, s->list[PM_LIST_DTYPE].n);
	for (int f = 0; f < PM_N_DTYPES; f++)
	{
		int			there = pm_there(s, PM_LIST_DTYPE, f);

		coef[pm_term_product(c, f, c->product[group])] = v[there >= 0 ? there : 0];
	}
}

/* PM_ANY, or the place here of a name that is stored by its place in a list, plus 1. */
static int
get_place(pm_reader *r, const pm_schema *s, pm_list_id list)
{
	int			stored = (int) pm_get_u32(r, (uint32_t) s->list[list].n);

	return stored == 0 ? PM_ANY : pm_here(s, list, stored - 1);
}

static pm_code
load_stratum(const pm_opclass *m, const pm_schema *schema, pm_stratum *s, pm_reader *r, pm_arena *a, pm_status *st)
{
	s->cpu = (int) pm_get_u32(r, 2) - 1;
	s->layout = get_place(r, schema, PM_LIST_LAYOUT);
	s->gpu = pm_get_text(r, a);
	s->framework = pm_get_text(r, a);
	s->by_class = PM_NEW(a, double, m->of_classes.n);
	s->by_type = PM_NEW(a, double, m->of_types.n);
	if (!r->failed && (!s->gpu || !s->framework || !s->by_class || !s->by_type))
		return pm_no_memory(st, a);
	if (r->failed)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged coefficients");
	s->gpu = *s->gpu ? s->gpu : NULL;
	s->framework = *s->framework ? s->framework : NULL;
	get_class_coefs(r, schema, s->by_class);
	get_coefs(r, s->by_type, PM_N_SHARED(m->n_types));
	for (int i = 0; i < count_classes(schema); i++)
		get_product_coefs(r, &m->of_classes, schema, class_here(schema, i), s->by_class);
	for (int i = 0; i < m->n_types; i++)
		get_product_coefs(r, &m->of_types, schema, i, s->by_type);
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged coefficients") : PM_OK;
}

/* The types with coefficients of their own; those that this library does not know any more are not asked for. */
static pm_code
load_types(pm_opclass *m, pm_reader *r, pm_arena *a, pm_status *st)
{
	m->n_types = (int) pm_get_u32(r, MAX_TYPES);
	m->types = PM_NEW(a, const char *, m->n_types);
	m->slot = PM_NEW(a, int32_t, pm_opclass_type_count());
	m->is_product = PM_NEW(a, bool, m->n_types + 1);
	if (!m->types || !m->slot || !m->is_product)
		return pm_no_memory(st, a);
	for (int i = 0; i < pm_opclass_type_count(); i++)
		m->slot[i] = -1;
	for (int i = 0; i < m->n_types; i++)
	{
		int			type;

		m->types[i] = pm_get_text(r, a);
		if (r->failed)
			return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged operator types");
		if (!m->types[i])
			return pm_no_memory(st, a);
		if ((type = pm_opclass_type_find(m->types[i])) >= 0)
			m->slot[type] = i;
	}
	for (int i = 0; i < m->n_types; i++)
		m->is_product[i] = pm_get_u32(r, 1) != 0;
	return pm_opclass_make_columns(m, a, st);
}

pm_code
pm_opclass_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	const pm_schema *s = pm_predictor_schema(p);
	pm_opclass    *m = PM_NEW(a, pm_opclass, 1);
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	if (pm_get_u32(r, INT32_MAX) != (uint32_t) count_classes(s))
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged coefficients");
	if ((rc = load_types(m, r, a, st)) != PM_OK)
		return rc;
	m->n = (int) pm_get_u32(r, PM_MAX_STRATA);
	if (m->n == 0)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged coefficients");
	if (!(m->strata = PM_NEW(a, pm_stratum, m->n)))
		return pm_no_memory(st, a);
	for (int i = 0; i < m->n && rc == PM_OK; i++)
		rc = load_stratum(m, s, &m->strata[i], r, a, st);
	if (rc == PM_OK)
		rc = pm_cards_load(&m->cards, s, r, a, st);
	p->impl = m;
	return rc;
}
