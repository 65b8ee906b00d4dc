/*
 * domain_stored.c - the stored form of a domain.
 */
#include <string.h>

#include "predictor/domain.h"
#include "predictor/domain_parts.h"

static const char *const size_names[N_SIZES] = {
	"in_ch", "out_ch", "in_h", "in_w", "k_h", "k_w", "s_h", "groups", "ch_per_group", "gemm_n", "gemm_k", "heads", "seq_len",
	"rows", "out_elems"
};
static const pm_names sizes = {"size", N_SIZES, size_names};

static const pm_names optimizers = {"optimizer", PM_N_OPTIMIZERS, pm_optimizer_name};

static void
save_lists(const pm_domain *t, pm_buffer *b)
{
	pm_names_save(pm_list_here(PM_LIST_DTYPE), b);
	pm_names_save(pm_list_here(PM_LIST_LAYOUT), b);
	pm_put_u32(b, (uint32_t) t->sizes.n);
	for (int k = 0; k < t->sizes.n; k++)
		pm_put_text(b, size_names[t->sizes.here != NULL ? t->sizes.here[k] : k]);
	pm_put_u32(b, t->knows_optimizers);
	pm_named_save(&optimizers, t->optimizers, b);
}

static void
save_device(const device *g, pm_buffer *b)
{
	pm_put_text(b, g->name);
	pm_put_f64(b, g->min_batch);
	pm_put_f64(b, g->max_batch);
	pm_put_u32(b, (uint32_t) g->structures);
	for (int kind = 0; kind < PM_N_NETWORK_KINDS; kind++)
		pm_put_u32(b, (uint32_t) g->of_kind[kind]);
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		for (int layout = 0; layout < PM_N_LAYOUTS; layout++)
			pm_put_u32(b, (uint32_t) g->used[dtype][layout]);
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
	{
		pm_put_u32(b, (uint32_t) g->formats[dtype].structures);
		pm_put_f64(b, g->formats[dtype].min_batch);
		pm_put_f64(b, g->formats[dtype].max_batch);
	}
}

static void
save_devices(const device *gpus, int n, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) n);
	for (int i = 0; i < n; i++)
		save_device(&gpus[i], b);
}

static void
save_words(const pm_domain *t, pm_buffer *b)
{
	save_devices(t->gpus, t->n_gpus, b);
	pm_put_u32(b, (uint32_t) t->n_frameworks);
	for (int i = 0; i < t->n_frameworks; i++)
	{
		pm_put_text(b, t->frameworks[i].name);
		pm_put_u32(b, (uint32_t) t->frameworks[i].rows);
	}
	for (int i = 0; i < t->n_gpus; i++)
		pm_put_u32(b, (uint32_t) (t->gpus[i].framework + 1));
	save_devices(t->pass_gpus, t->n_pass_gpus, b);
}

static void
save_types(const pm_domain *t, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) t->n_types);
	for (int i = 0; i < t->n_types; i++)
	{
		const op_type *type = &t->types[i];

		pm_put_u32(b, type->id >= 0);
		pm_put_text(b, type->name);
		pm_put_u32(b, (uint32_t) type->n);
		pm_put_repeated(b, type->sizes, (size_t) type->n * t->sizes.n);
	}
}

void
pm_domain_save(const pm_domain *t, pm_buffer *b)
{
	save_lists(t, b);
	save_words(t, b);
	save_types(t, b);
	pm_put_f64(b, t->min_step);
	pm_put_f64(b, t->max_step);
	pm_networks_save(t, b);
	pm_releases_save(t, b);
}

/* Lists that the numbers below are of. */
typedef struct loaded
{
	pm_translation dtypes;
	pm_translation layouts;
} loaded;

static int
here(const pm_translation *t, int i)
{
	return t->here != NULL ? t->here[i] : i;
}

static pm_code
load_lists(pm_domain *t, loaded *l, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	if ((rc = pm_names_load(pm_list_here(PM_LIST_DTYPE), r, a, &l->dtypes, st)) != PM_OK ||
		(rc = pm_names_load(pm_list_here(PM_LIST_LAYOUT), r, a, &l->layouts, st)) != PM_OK ||
		(rc = pm_names_load(&sizes, r, a, &t->sizes, st)) != PM_OK)
		return rc;
	t->knows_optimizers = pm_get_u32(r, 1);
	return pm_named_load(&optimizers, t->optimizers, r, a, st);
}

static void
load_formats(pm_reader *r, const loaded *l, device *g)
{
	for (int stored = 0; stored < l->dtypes.n; stored++)
	{
		format	   *f = &g->formats[here(&l->dtypes, stored)];

		f->structures = (int) pm_get_u32(r, INT32_MAX);
		f->min_batch = pm_get_above(r, 0);
		f->max_batch = pm_get_above(r, f->min_batch);
	}
}

static void
load_device(pm_reader *r, const loaded *l, pm_arena *a, device *g)
{
	g->name = pm_get_text(r, a);
	g->min_batch = pm_get_above(r, 1);
	g->max_batch = pm_get_above(r, g->min_batch);
	g->structures = (int) pm_get_u32(r, INT32_MAX);
	for (int kind = 0; kind < PM_N_NETWORK_KINDS; kind++)
		g->of_kind[kind] = (int) pm_get_u32(r, INT32_MAX);
	for (int dtype = 0; dtype < l->dtypes.n; dtype++)
		for (int layout = 0; layout < l->layouts.n; layout++)
		{
			int			rows = (int) pm_get_u32(r, INT32_MAX / (PM_N_DTYPES * PM_N_LAYOUTS));

			g->used[here(&l->dtypes, dtype)][here(&l->layouts, layout)] = rows;
			g->rows += rows;
		}
	load_formats(r, l, g);
}

static pm_code
load_devices(device **gpus, int *n, const loaded *l, pm_reader *r, pm_arena *a, pm_status *st)
{
	*n = (int) pm_get_u32(r, MAX_NAMES);
	if ((*gpus = PM_NEW(a, device, *n)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < *n && !r->failed; i++)
	{
		load_device(r, l, a, &(*gpus)[i]);
		if ((*gpus)[i].name == NULL && !r->failed)
			return pm_no_memory(st, a);
	}
	return PM_OK;
}

static pm_code
load_frameworks(pm_domain *t, pm_reader *r, pm_arena *a, pm_status *st)
{
	t->n_frameworks = (int) pm_get_u32(r, MAX_NAMES);
	if ((t->frameworks = PM_NEW(a, framework, t->n_frameworks)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < t->n_frameworks && !r->failed; i++)
	{
		t->frameworks[i].name = pm_get_text(r, a);
		t->frameworks[i].rows = (int) pm_get_u32(r, INT32_MAX);
		if (t->frameworks[i].name == NULL && !r->failed)
			return pm_no_memory(st, a);
	}
	for (int i = 0; i < t->n_gpus && !r->failed; i++)
		t->gpus[i].framework = (int) pm_get_u32(r, (uint32_t) t->n_frameworks) - 1;
	return PM_OK;
}

static pm_code
load_words(pm_domain *t, const loaded *l, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	if ((rc = load_devices(&t->gpus, &t->n_gpus, l, r, a, st)) != PM_OK ||
		(rc = load_frameworks(t, r, a, st)) != PM_OK)
		return rc;
	return load_devices(&t->pass_gpus, &t->n_pass_gpus, l, r, a, st);
}

/* Types are found by name, so that a catalogue that grows does not shift them; one that it lost is never asked for. */
static pm_code
load_types(pm_domain *t, pm_reader *r, pm_arena *a, pm_status *st)
{
	t->n_types = (int) pm_get_u32(r, MAX_NAMES);
	t->types = PM_NEW(a, op_type, t->n_types);
	t->type_at = PM_NEW(a, int32_t, pm_type_count());
	if (!t->types || !t->type_at)
		return pm_no_memory(st, a);
	for (int i = 0; i < pm_type_count(); i++)
		t->type_at[i] = -1;
	for (int i = 0; i < t->n_types && !r->failed; i++)
	{
		op_type    *type = &t->types[i];
		bool		known = pm_get_u32(r, 1) != 0;

		type->name = pm_get_text(r, a);
		if (type->name == NULL)
			return r->failed ? PM_OK : pm_no_memory(st, a);
		type->id = known ? pm_type_find(type->name) : -1;
		if (type->id >= 0)
			t->type_at[type->id] = i;
		type->n = (int) pm_get_u32(r, MAX_COVER);
		if ((type->sizes = PM_NEW(a, pm_real, (size_t) type->n * t->sizes.n)) == NULL)
			return pm_no_memory(st, a);
		pm_get_repeated(r, type->sizes, (size_t) type->n * t->sizes.n);
	}
	return PM_OK;
}

pm_code
pm_domain_load(pm_reader *r, pm_arena *a, const pm_domain **domain, pm_status *st)
{
	pm_domain  *t = PM_NEW(a, pm_domain, 1);
	loaded		l;
	pm_code		rc;

	if (!t)
		return pm_no_memory(st, a);
	*domain = t;
	if ((rc = load_lists(t, &l, r, a, st)) != PM_OK ||
		(rc = load_words(t, &l, r, a, st)) != PM_OK ||
		(rc = load_types(t, r, a, st)) != PM_OK)
		return rc;
	t->min_step = pm_get_f64(r);
	t->max_step = pm_get_above(r, t->min_step);
	if ((rc = pm_networks_load(t, r, a, st)) != PM_OK || (rc = pm_releases_load(t, r, a, st)) != PM_OK)
		return rc;
	return pm_domain_list_gpus(t, a, st);
}
