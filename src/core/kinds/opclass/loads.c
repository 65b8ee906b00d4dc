/*
 * loads.c - what the coefficients of the kind "opclass" multiply: classes and
 * types of operators, and what they load a device with.
 */
#include "kinds/opclass/opclass.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* The load of one copy of a token in ms and thousands of launches; *update: its optimizer's time. */
void
pm_opclass_load_of(const pm_tokens *t, int i, const pm_card_factors *f, double *v, double *update)
{
	pm_card_work work = pm_card_work_of(t->op_class[i]);

	*update = f->memory[work] * t->phase_us[3 * i + 2] / 1000;
	v[PM_TERM_COMPUTE] = f->compute[work] * t->compute_us[i] / 1000;
	/* the update is memory-bound on every device: its traffic is counted once, and not here */
	v[PM_TERM_MEMORY] = fmax(f->memory[work] * t->memory_us[i] / 1000 - *update, 0);
	v[PM_TERM_LAUNCH] = t->kernels[i] / 1000;
}

const double *
pm_opclass_coefs_of(const pm_opclass *m, const pm_stratum *s, const pm_tokens *t, int i)
{
	int			slot = m->slot[pm_opclass_type(t, i)];

	return slot >= 0 ? s->by_type + PM_N_TERMS * slot : s->by_class + PM_N_TERMS * pm_opclass_class(t, i);
}

/* Loads of a row, all copies, in columns by class or by type (m->slot). */
void
pm_opclass_aggregate(const pm_opclass *m, bool by_type, const pm_tokens *t, const pm_card_factors *f, double *x)
{
	int			groups = by_type ? m->n_types : PM_N_OPCLASSES;

	memset(x, 0, PM_N_COEFS(groups) * sizeof(double));
	for (int i = 0; i < t->n; i++)
	{
		double		copies = t->skeleton->copies[i];
		double	   *at = x + PM_N_TERMS * (by_type ? m->slot[pm_opclass_type(t, i)] : pm_opclass_class(t, i));
		double		v[PM_N_TERMS];
		double		update;

		pm_opclass_load_of(t, i, f, v, &update);
		for (int k = 0; k < PM_N_TERMS; k++)
			at[k] += copies * v[k];
		x[PM_TERM_UPDATE(groups)] += copies * update;
	}
	x[PM_TERM_CONSTANT(groups)] = 1;
}
