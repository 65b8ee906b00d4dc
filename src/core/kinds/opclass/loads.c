/*
 * loads.c - the quantities that the coefficients of the kind "opclass"
 * multiply: classes and types of operators, and their load on a device.
 */
#include "kinds/opclass/opclass.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "features/rates.h"

#define LEAST_COEF	0.25		/* added to two coefficients before one is divided by the other */
#define SPECIAL		" special"	/* behind the name of its kind */

/*
 * Whether vendors' libraries have other kernels for this convolution than for
 * most of its kind: grouped ones that run on matrix units, others of a wide
 * window (op_geometry.h), depthwise ones that the framework runs itself.
 */
static bool
is_special(const pm_tokens *t, int token)
{
	bool		grouped = t->type[token] == pm_type_id(PM_OP_UNKNOWN, PM_CONV_GROUPED);

	const pm_real *slots = t->slots + (size_t) token * PM_N_SLOTS;

	if (grouped)
		return slots[PM_HAS_GROUP_NARROW] > 0;
	return slots[PM_HAS_WIDE_WINDOW] != 0 || slots[PM_SLOT_OWN_KERNEL] != 0;
}

int
pm_opclass_class(const pm_tokens *t, int token)
{
	int			group = pm_token_group(t, token);

	return group + (group >= PM_N_CLASSES && is_special(t, token) ? PM_N_CONV_KINDS : 0);
}

/* Types of tokens, and behind them the special convolutions by kind. */
int
pm_opclass_type_count(void)
{
	return pm_type_count() + PM_N_CONV_KINDS;
}

int
pm_opclass_type(const pm_tokens *t, int token)
{
	bool		conv = t->type[token] >= pm_op_count();

	return t->type[token] + (conv && is_special(t, token) ? PM_N_CONV_KINDS : 0);
}

/* "Relu", "Conv/grouped", "Conv/grouped special"; in buf, of 64 bytes. */
const char *
pm_opclass_type_name(int type, char *buf)
{
	bool		special = type >= pm_type_count();
	char		plain[64];

	snprintf(buf, 64, "%.50s%s", pm_type_name(type - (special ? PM_N_CONV_KINDS : 0), plain), special ? SPECIAL : "");
	return buf;
}

/* -1 when not known. */
int
pm_opclass_type_find(const char *name)
{
	char		buf[64];

	for (int type = 0; type < pm_opclass_type_count(); type++)
		if (strcmp(pm_opclass_type_name(type, buf), name) == 0)
			return type;
	return -1;
}

/* Whether operators of a class, or of a kind of convolution, run on matrix units where there are some. */
static bool
is_product_class(int class)
{
	int			kind = class - PM_N_CLASSES;

	if (kind >= 0)
		return kind % PM_N_CONV_KINDS != PM_CONV_DEPTHWISE;
	return class == PM_CLASS_CONV || class == PM_CLASS_GEMM || class == PM_CLASS_RECURRENT;
}

/* The load of one copy of a token in ms and thousands of launches; *update: its optimizer's time. */
void
pm_opclass_load_of(const pm_tokens *t, int i, const pm_card_factors *f, double *v, double *update)
{
	pm_card_work work = pm_card_work_of(t->op_class[i]);
	bool		shared = !is_product_class(pm_token_group(t, i));

	*update = f->memory[work] * t->phase_us[3 * i + 2] / 1000;
	v[PM_TERM_COMPUTE] = (shared ? f->memory[work] : f->compute[work]) * t->compute_us[i] / 1000;
	/* the update is memory-bound on every device: its traffic is counted once, and not here */
	v[PM_TERM_MEMORY] = fmax(f->memory[work] * t->memory_us[i] / 1000 - *update, 0);
	v[PM_TERM_LAUNCH] = f->launch * t->kernels[i] / 1000;
}

/* ---- columns ---- */

bool
pm_opclass_is_product(const char *name)
{
	int			type = pm_opclass_type_find(name);
	int			kind = type - pm_op_count();

	return type >= 0 && is_product_class(kind >= 0 ? PM_N_CLASSES + kind : (int) pm_op_class(type));
}

static pm_code
start_columns(pm_columns *c, int groups, pm_arena *a, pm_status *st)
{
	*c = (pm_columns) {.groups = groups, .product = PM_NEW(a, int32_t, groups + 1), .group = PM_NEW(a, int32_t, groups + 1)};
	return c->product && c->group ? PM_OK : pm_no_memory(st, a);
}

static void
add_column(pm_columns *c, int group, bool product)
{
	c->product[group] = product ? c->products : -1;
	if (product)
		c->group[c->products++] = group;
}

pm_code
pm_opclass_make_columns(pm_opclass *m, pm_arena *a, pm_status *st)
{
	if (start_columns(&m->of_classes, PM_N_OPCLASSES, a, st) != PM_OK || start_columns(&m->of_types, m->n_types, a, st) != PM_OK)
		return PM_ERR_MEMORY;
	for (int i = 0; i < PM_N_OPCLASSES; i++)
		add_column(&m->of_classes, i, is_product_class(i));
	for (int i = 0; i < m->n_types; i++)
		add_column(&m->of_types, i, m->is_product[i]);
	m->of_classes.n = pm_term_product(&m->of_classes, PM_N_DTYPES, 0);
	m->of_types.n = pm_term_product(&m->of_types, PM_N_DTYPES, 0);
	return PM_OK;
}

/* The format whose column products are in: BF16 has that of AMP, on the same units. */
static int
learned_in(int dtype)
{
	return dtype == PM_BF16 ? PM_AMP : dtype;
}

/* Loads of a row, all copies, in columns by class or by type (m->slot). */
void
pm_opclass_aggregate(const pm_opclass *m, bool by_type, const pm_tokens *t, const pm_card_factors *f, double *x)
{
	const pm_columns *c = by_type ? &m->of_types : &m->of_classes;

	memset(x, 0, c->n * sizeof(double));
	for (int i = 0; i < t->n; i++)
	{
		double		copies = t->skeleton->copies[i];
		int			group = by_type ? m->slot[pm_opclass_type(t, i)] : pm_opclass_class(t, i);
		double	   *at = x + PM_N_TERMS * group;
		double		v[PM_N_TERMS];
		double		update;

		pm_opclass_load_of(t, i, f, v, &update);
		if (c->product[group] >= 0)
		{
			x[pm_term_product(c, learned_in((int) t->dtype), c->product[group])] += copies * v[PM_TERM_COMPUTE];
			v[PM_TERM_COMPUTE] = 0;
		}
		for (int k = 0; k < PM_N_TERMS; k++)
			at[k] += copies * v[k];
		x[PM_TERM_UPDATE(c->groups)] += copies * update;
	}
	x[PM_TERM_CONSTANT(c->groups)] = 1;
}

/* ---- coefficients ---- */

/* The same for all formats but for the arithmetic of products. */
static void
coefs_in(const pm_opclass *m, const pm_stratum *s, const pm_tokens *t, int i, int dtype, double *coef)
{
	int			slot = m->slot[pm_opclass_type(t, i)];
	const pm_columns *c = slot >= 0 ? &m->of_types : &m->of_classes;
	const double *from = slot >= 0 ? s->by_type : s->by_class;
	int			group = slot >= 0 ? slot : pm_opclass_class(t, i);

	memcpy(coef, from + PM_N_TERMS * group, PM_N_TERMS * sizeof(double));
	if (c->product[group] >= 0)
		coef[PM_TERM_COMPUTE] = from[pm_term_product(c, learned_in(dtype), c->product[group])];
}

/* The format in which products take no less time than in `dtype`: it runs them on slower units, or on the same; else dtype. */
static pm_dtype
bound_of(pm_dtype dtype)
{
	return dtype == PM_TF32 ? PM_FP32 : dtype == PM_FP16 ? PM_AMP : dtype;
}

/* Whether the bound holds on this card: what is known of FP16 itself stays, and without matrix units its rates are its own. */
static bool
is_bounded(const pm_cards *c, const pm_question *q, int work)
{
	return q->dtype != PM_FP16 || (!q->gpu->is_cpu && !isnan(q->gpu->fp16_tensor_tflops) && !pm_cards_know_fp16(c, q->gpu, work));
}

pm_opclass_rates
pm_opclass_rates_of(const pm_predictor *p, const pm_question *q)
{
	const pm_opclass *m = p->impl;
	pm_opclass_rates r = {.m = m, .in = pm_opclass_closest(m, q), .dtype = (int) q->dtype, .cards = pm_cards_factors(&m->cards, q),
		.bound = bound_of(q->dtype), .knows_update = pm_opclass_knows_update(q),
		.floored = p->options.value[PM_OPCLASS_FLOOR] != 0};
	pm_question other = *q;

	if (r.bound == q->dtype)
		return r;
	other.dtype = r.bound;
	r.bound_cards = pm_cards_factors(&m->cards, &other);
	for (int work = 0; work < PM_N_CARD_WORKS; work++)
		if (is_bounded(&m->cards, q, work))
			r.faster[work] = pm_gpu_rate(q->gpu, q->dtype, true, work == PM_CARD_CONV) / pm_gpu_rate(q->gpu, r.bound, true, work == PM_CARD_CONV);
	return r;
}

/* The most that the arithmetic of token i may take, as a factor on its time at the peak; infinite where no format bounds it. */
static double
most_arithmetic(const pm_opclass_rates *r, const pm_tokens *t, int i, double add)
{
	int			work = pm_card_work_of(t->op_class[i]);
	double		coef[PM_N_TERMS];

	if (!(r->faster[work] > 0) || !is_product_class(pm_token_group(t, i)))
		return INFINITY;
	coefs_in(r->m, r->in, t, i, (int) r->bound, coef);
	return (coef[PM_TERM_COMPUTE] + add) * r->bound_cards.compute[work] * r->faster[work];
}

/* With `add` to the coefficient; the factor of the card included. */
static double
arithmetic(const pm_opclass_rates *r, const pm_tokens *t, int i, double add)
{
	double		coef[PM_N_TERMS];

	coefs_in(r->m, r->in, t, i, r->dtype, coef);
	return fmin((coef[PM_TERM_COMPUTE] + add) * r->cards.compute[pm_card_work_of(t->op_class[i])], most_arithmetic(r, t, i, add));
}

void
pm_opclass_coefs_of(const pm_opclass_rates *r, const pm_tokens *t, int i, double *coef)
{
	coefs_in(r->m, r->in, t, i, r->dtype, coef);
	coef[PM_TERM_COMPUTE] = fmin(coef[PM_TERM_COMPUTE], most_arithmetic(r, t, i, 0) / r->cards.compute[pm_card_work_of(t->op_class[i])]);
}

double
pm_opclass_format_factor(const pm_opclass_rates *r, const pm_opclass_rates *usual, const pm_tokens *t, int i)
{
	if (!is_product_class(pm_token_group(t, i)))
		return 1;
	return arithmetic(r, t, i, LEAST_COEF) / arithmetic(usual, t, i, LEAST_COEF);
}
