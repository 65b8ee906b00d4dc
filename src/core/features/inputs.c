/*
 * inputs.c - vocabularies and normalisation (docs/mdot.md).
 *
 * A feature that does not vary over the training rows (all of them on one gpu,
 * say) is switched off instead of being divided by a tiny sigma: the network
 * has learned nothing about it, and a new value must not push it anywhere.
 */
#include "features/inputs.h"

#include <math.h>
#include <string.h>

#define POLL_ROWS	64			/* between two looks at whether to stop */
#define LEAST_SIGMA	1e-4		/* a feature that varies less, most of them logarithms, does not vary; rounding may make it differ from 0 */

/* ---- normalisation ---- */

typedef struct moments
{
	double		n,
				mean,
				m2;				/* sum of squared deviations (Welford) */
} moments;

static void
observe(moments *m, double x)
{
	double		delta = x - m->mean;

	m->n++;
	m->mean += delta / m->n;
	m->m2 += delta * (x - m->mean);
}

static pm_code
make_scale(pm_normalisation *s, int n, pm_arena *a, pm_status *st)
{
	s->n = n;
	s->mean = PM_NEW(a, pm_real, n);
	s->factor = PM_NEW(a, pm_real, n);
	return s->mean != NULL && s->factor != NULL ? PM_OK : pm_no_memory(st, a);
}

/* m: of all features of the list in this library */
static void
set_scale(pm_normalisation *s, const moments *m, const pm_schema *schema, pm_list_id list)
{
	for (int i = 0; i < s->n; i++)
	{
		const moments *of = &m[pm_here(schema, list, i)];
		double		sigma = of->n > 1 ? sqrt(of->m2 / of->n) : 0;

		s->mean[i] = (pm_real) of->mean;
		s->factor[i] = sigma > LEAST_SIGMA ? (pm_real) (1 / sigma) : 0;
	}
}

static pm_code
make_scales(pm_codec *c, const pm_schema *schema, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	c->schema = schema;
	if ((rc = make_scale(&c->slots, schema->list[PM_LIST_SLOT].n, a, st)) == PM_OK &&
		(rc = make_scale(&c->loads, schema->list[PM_LIST_LOAD].n, a, st)) == PM_OK)
		rc = make_scale(&c->job, schema->list[PM_LIST_JOB].n, a, st);
	return rc;
}

/* Normalised value; a gap (NaN) becomes the mean. Counts clamps. */
static inline pm_real
normalise(const pm_normalisation *s, int i, pm_real x, int *clamps)
{
	pm_real		z;

	if (isnan(x))
		return 0;
	z = (x - s->mean[i]) * s->factor[i];
	if (z > PM_CLAMP || z < -PM_CLAMP)
	{
		(*clamps)++;
		return z > 0 ? PM_CLAMP : -PM_CLAMP;
	}
	return z;
}

static pm_code
fit_scales(pm_codec *c, const pm_dataset *d, const pm_tokens *tokens, const pm_arena *a, pm_status *st)
{
	moments		slots[PM_N_SLOTS] = {{0}};
	moments		loads[PM_N_LOADS] = {{0}};
	moments		job[PM_N_JOB] = {{0}};

	for (int s = 0; s < d->n; s++)
	{
		const pm_tokens *t = &tokens[s];

		if (pm_stopped(a, st))
			return PM_CANCELLED;
		for (int i = 0; i < t->n; i++)
		{
			for (int k = 0; k < PM_N_SLOTS; k++)
				if (t->slot_mask[i * PM_N_SLOTS + k] != 0)
					observe(&slots[k], t->slots[i * PM_N_SLOTS + k]);
			for (int k = 0; k < PM_N_LOADS; k++)
				if (!isnan(t->loads[i * PM_N_LOADS + k]))
					observe(&loads[k], t->loads[i * PM_N_LOADS + k]);
		}
		for (int k = 0; k < PM_N_JOB; k++)
			if (!isnan(t->job[k]))
				observe(&job[k], t->job[k]);
	}
	set_scale(&c->slots, slots, c->schema, PM_LIST_SLOT);
	set_scale(&c->loads, loads, c->schema, PM_LIST_LOAD);
	set_scale(&c->job, job, c->schema, PM_LIST_JOB);
	return PM_OK;
}

/* ---- vocabularies ---- */

static int
name_row(const char *const *names, int n, const char *name)
{
	for (int i = 1; i < n && name != NULL; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return 0;
}

/* Append name if it is new; returns its row. The list has room for every sample. */
static int
learn_name(const char **names, int *n, const char *name)
{
	int			row = name_row(names, *n, name);

	if (row == 0 && name != NULL && name[0] != '\0')
	{
		row = (*n)++;
		names[row] = name;
	}
	return row;
}

/* Before anything is learned: the row for what is not known. */
static const char *const nothing[] = {""};
static const pm_codec empty_codec = {
	.n_types = 1, .types = (const char **) nothing, .n_frameworks = 1, .frameworks = (const char **) nothing,
	.n_gpus = 1, .gpus = (const char **) nothing
};

/* The framework of most rows; 0 where no row names one. */
static int
most_frequent(const int *rows, int n)
{
	int			most = 0;

	for (int i = 1; i < n; i++)
		if (rows[i] > (most > 0 ? rows[most] : 0))
			most = i;
	return most;
}

/*
 * What NULL means is asked of devices that no row was measured on (others have a framework of their own, see
 * predictor/domain_frameworks.c).  Those are GPUs, so rows of a CPU decide only where there are no others.
 */
static int
usual_framework(const pm_codec *c, const pm_codec *from, const int *on_gpus, const int *on_cpus)
{
	int			usual = most_frequent(on_gpus, c->n_frameworks);

	if (usual == 0)
		usual = most_frequent(on_cpus, c->n_frameworks);
	return usual > 0 ? usual : from->usual_framework;
}

static pm_code
fit_names(pm_codec *c, const pm_codec *from, const pm_dataset *d, pm_arena *a, pm_status *st)
{
	int		   *on_gpus = PM_NEW(a, int, from->n_frameworks + d->n);
	int		   *on_cpus = PM_NEW(a, int, from->n_frameworks + d->n);

	c->n_frameworks = from->n_frameworks;
	c->n_gpus = from->n_gpus;
	c->frameworks = PM_LONGER(a, const char *, from->frameworks, c->n_frameworks, c->n_frameworks + d->n);
	c->gpus = PM_LONGER(a, const char *, from->gpus, c->n_gpus, c->n_gpus + d->n);
	if (!on_gpus || !on_cpus || !c->frameworks || !c->gpus)
		return pm_no_memory(st, a);
	for (int s = 0; s < d->n; s++)
	{
		const pm_question *q = &d->samples[s].query;

		if (s % POLL_ROWS == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		(q->gpu->is_cpu ? on_cpus : on_gpus)[learn_name(c->frameworks, &c->n_frameworks, q->framework)]++;
		learn_name(c->gpus, &c->n_gpus, q->gpu->name);
	}
	c->usual_framework = usual_framework(c, from, on_gpus, on_cpus);
	return PM_OK;
}

/* Give a type the next row. */
static bool
learn_type(pm_codec *c, int type, pm_arena *a)
{
	char		buf[64];
	const char *name = pm_type_name(type, buf);

	c->types[c->n_types] = pm_strdup(a, name, strlen(name));
	c->type_row[type] = c->n_types++;
	return c->types[c->type_row[type]] != NULL;
}

static pm_code
fit_types(pm_codec *c, const pm_codec *from, const pm_dataset *d, const pm_tokens *tokens, pm_arena *a, pm_status *st)
{
	c->n_types = from->n_types;
	c->type_row = PM_NEW(a, int32_t, pm_type_count());
	c->types = PM_LONGER(a, const char *, from->types, c->n_types, c->n_types + pm_type_count() + 1);
	if (!c->type_row || !c->types)
		return pm_no_memory(st, a);
	if (from->type_row != NULL)
		memcpy(c->type_row, from->type_row, pm_type_count() * sizeof(int32_t));
	for (int s = 0; s < d->n; s++)
	{
		if (s % POLL_ROWS == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		for (int i = 0; i < tokens[s].n; i++)
		{
			int			type = tokens[s].type[i];

			if (c->type_row[type] == 0 && type != PM_OP_UNKNOWN && !learn_type(c, type, a))
				return pm_no_memory(st, a);
		}
	}
	return PM_OK;
}

pm_code
pm_codec_fit(pm_codec *c, const pm_schema *schema, const pm_dataset *d, const pm_tokens *tokens, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	memset(c, 0, sizeof(*c));
	if ((rc = make_scales(c, schema, a, st)) != PM_OK ||
		(rc = fit_names(c, &empty_codec, d, a, st)) != PM_OK ||
		(rc = fit_types(c, &empty_codec, d, tokens, a, st)) != PM_OK)
		return rc;
	return fit_scales(c, d, tokens, a, st);
}

/* What was switched off, as it did not vary, had no part in the training before. */
static void
keep_scale(pm_normalisation *s, const pm_normalisation *from)
{
	for (int i = 0; i < s->n; i++)
		if (from->factor[i] != 0)
		{
			s->mean[i] = from->mean[i];
			s->factor[i] = from->factor[i];
		}
}

pm_code
pm_codec_extend(pm_codec *c, const pm_codec *from, const pm_dataset *d, const pm_tokens *tokens, pm_arena *a,
				pm_status *st)
{
	pm_code		rc;

	memset(c, 0, sizeof(*c));
	if ((rc = make_scales(c, from->schema, a, st)) != PM_OK ||
		(rc = fit_names(c, from, d, a, st)) != PM_OK || (rc = fit_types(c, from, d, tokens, a, st)) != PM_OK)
		return rc;
	if ((rc = fit_scales(c, d, tokens, a, st)) != PM_OK)
		return rc;
	keep_scale(&c->slots, &from->slots);
	keep_scale(&c->loads, &from->loads);
	keep_scale(&c->job, &from->job);
	return PM_OK;
}

/* ---- encoding ---- */

/* A class that the predictor does not know is taken for what operators that are not known are. */
static int
class_of(const pm_schema *s, int op_class)
{
	int			known = pm_there(s, PM_LIST_CLASS, op_class);

	return known >= 0 ? known : pm_there(s, PM_LIST_CLASS, PM_CLASS_MOVE);
}

/* Dtype and layout of the question, as the predictor numbers them. */
static pm_code
encode_words(const pm_codec *c, const pm_question *q, pm_input *in, pm_status *st)
{
	in->dtype = pm_there(c->schema, PM_LIST_DTYPE, (int) q->dtype);
	in->layout = pm_there(c->schema, PM_LIST_LAYOUT, (int) q->layout);
	if (in->dtype >= 0 && in->layout >= 0)
		return PM_OK;
	pm_fail(st, PM_ERR_INPUT, "the predictor was trained before %s \"%s\" was known", in->dtype < 0 ? "dtype" : "layout",
			in->dtype < 0 ? pm_dtype_name[q->dtype] : pm_layout_name[q->layout]);
	pm_hint(st, "train() makes one that knows it.");
	return PM_ERR_INPUT;
}

/* The update of a table is a part of its traffic. */
static void
set_table(pm_input *in, const pm_tokens *t, int i)
{
	in->table_us[i] = t->table_us[i];
	in->table_share[i] = t->memory_us[i] > 0 ? fmin(t->table_us[i] / t->memory_us[i], 1) : 0;
}

static void
encode_token(const pm_codec *c, const pm_tokens *t, int i, pm_input *in, int *clamps)
{
	const pm_real *slots = t->slots + (size_t) i * PM_N_SLOTS;
	const pm_real *mask = t->slot_mask + (size_t) i * PM_N_SLOTS;
	const pm_real *loads = t->loads + (size_t) i * PM_N_LOADS;
	pm_real    *config = in->config + (size_t) i * 2 * c->slots.n;
	pm_real    *load = in->load + (size_t) i * c->loads.n;

	for (int k = 0; k < c->slots.n; k++)
	{
		int			at = pm_here(c->schema, PM_LIST_SLOT, k);

		config[k] = mask[at] != 0 ? normalise(&c->slots, k, slots[at], clamps) : 0;
		config[c->slots.n + k] = mask[at];
	}
	for (int k = 0; k < c->loads.n; k++)
		load[k] = normalise(&c->loads, k, loads[pm_here(c->schema, PM_LIST_LOAD, k)], clamps);
	in->type[i] = c->type_row[t->type[i]];
	in->op_class[i] = class_of(c->schema, t->op_class[i]);
	in->copies[i] = t->skeleton->copies[i];
	in->log_copies[i + 1] = (pm_real) log(in->copies[i]);
	in->roofline_us[i] = t->roofline_us[i];
	in->compute_us[i] = in->compute_ref_us[i] = t->compute_us[i];
	in->memory_us[i] = in->memory_ref_us[i] = t->memory_us[i];
	in->total_device_us += in->copies[i] * (t->compute_us[i] + t->memory_us[i]);
	in->to_peak[i] = 1;
	in->floor_us[i] = t->floor_us[i];
	set_table(in, t, i);
	in->kernels[i] = t->kernels[i];
	in->bound[i] = t->bound[i];
}

pm_code
pm_codec_encode(const pm_codec *c, const pm_tokens *t, const pm_question *q, pm_arena *a,
				pm_input *in, pm_status *st)
{
	int			clamps = 0;
	int			n = t->n;

	memset(in, 0, sizeof(*in));
	if (encode_words(c, q, in, st) != PM_OK)
		return PM_ERR_INPUT;
	in->skeleton = t->skeleton;
	in->n = n;
	in->type = PM_NEW(a, int32_t, n);
	in->op_class = PM_NEW(a, int32_t, n);
	in->config = PM_NEW(a, pm_real, (size_t) n * 2 * c->slots.n);
	in->load = PM_NEW(a, pm_real, (size_t) n * c->loads.n);
	in->log_copies = PM_NEW(a, pm_real, n + 1);
	in->copies = PM_NEW(a, double, n);
	in->roofline_us = PM_NEW(a, double, n);
	in->compute_us = PM_NEW(a, double, n);
	in->memory_us = PM_NEW(a, double, n);
	in->compute_ref_us = PM_NEW(a, double, n);
	in->memory_ref_us = PM_NEW(a, double, n);
	in->to_peak = PM_NEW(a, double, n);
	in->floor_us = PM_NEW(a, double, n);
	in->table_us = PM_NEW(a, double, n);
	in->table_share = PM_NEW(a, double, n);
	in->kernels = PM_NEW(a, double, n);
	in->bound = PM_NEW(a, char, n);
	if (!in->type || !in->op_class || !in->config || !in->load || !in->log_copies ||
		!in->copies || !in->roofline_us || !in->compute_us || !in->memory_us || !in->compute_ref_us || !in->memory_ref_us ||
		!in->to_peak || !in->floor_us || !in->table_us || !in->table_share || !in->kernels || !in->bound)
		return pm_no_memory(st, a);
	for (int i = 0; i < n; i++)
		encode_token(c, t, i, in, &clamps);
	for (int k = 0; k < c->job.n; k++)
		in->job[k] = normalise(&c->job, k, t->job[pm_here(c->schema, PM_LIST_JOB, k)], &clamps);
	in->framework = q->framework == NULL || q->framework[0] == '\0' ? c->usual_framework :
		name_row(c->frameworks, c->n_frameworks, q->framework);
	in->gpu = name_row(c->gpus, c->n_gpus, q->gpu->name);
	in->on_cpu = q->gpu->is_cpu;
	in->total_roofline_us = t->total_roofline_us;
	in->rest_share = q->alone ? 0 : 1;
	in->is_pass = false;
	in->clamped = clamps / ((double) n * (c->slots.n + c->loads.n) + c->job.n);
	return PM_OK;
}

void
pm_input_rework(pm_input *in, const pm_tokens *work)
{
	in->total_roofline_us = work->total_roofline_us;
	in->total_device_us = 0;
	for (int i = 0; i < in->n; i++)
	{
		in->roofline_us[i] = work->roofline_us[i];
		in->compute_us[i] = work->compute_us[i];
		in->memory_us[i] = work->memory_us[i];
		in->floor_us[i] = work->floor_us[i];
		set_table(in, work, i);
		in->kernels[i] = work->kernels[i];
		in->bound[i] = work->bound[i];
		in->total_device_us += in->copies[i] * (work->compute_us[i] + work->memory_us[i]);
	}
}

/* ---- storing ---- */

static void
save_scale(const pm_normalisation *s, pm_buffer *b)
{
	pm_put_reals(b, s->mean, s->n);
	pm_put_reals(b, s->factor, s->n);
}

static void
load_scale(pm_normalisation *s, pm_reader *r)
{
	pm_get_reals(r, s->mean, s->n);
	pm_get_reals(r, s->factor, s->n);
}

static void
save_names(const char *const *names, int n, pm_buffer *b)
{
	pm_put_u32(b, n);
	for (int i = 1; i < n; i++)
		pm_put_text(b, names[i]);
}

static pm_code
load_names(const char ***names, int *n, pm_reader *r, pm_arena *a, pm_status *st)
{
	*n = (int) pm_get_u32(r, 100000);
	if (r->failed || *n < 1)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has a damaged vocabulary");
	*names = PM_NEW(a, const char *, *n);
	if (!*names)
		return pm_no_memory(st, a);
	(*names)[0] = "";
	for (int i = 1; i < *n; i++)
		if (((*names)[i] = pm_get_text(r, a)) == NULL)
			return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has a damaged vocabulary") : pm_no_memory(st, a);
	return PM_OK;
}

/* A type that this library no longer knows keeps its row and its name; nothing maps to it. */
static pm_code
load_types(pm_codec *c, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc = load_names(&c->types, &c->n_types, r, a, st);

	if (rc != PM_OK)
		return rc;
	c->type_row = PM_NEW(a, int32_t, pm_type_count());
	if (!c->type_row)
		return pm_no_memory(st, a);
	for (int row = 1; row < c->n_types; row++)
	{
		int			type = pm_type_find(c->types[row]);

		if (type >= 0)
			c->type_row[type] = row;
	}
	return PM_OK;
}

void
pm_codec_save(const pm_codec *c, pm_buffer *b)
{
	save_names(c->types, c->n_types, b);
	save_names(c->frameworks, c->n_frameworks, b);
	pm_put_u32(b, c->usual_framework);
	save_names(c->gpus, c->n_gpus, b);
	save_scale(&c->slots, b);
	save_scale(&c->loads, b);
	save_scale(&c->job, b);
}

pm_code
pm_codec_load(pm_codec *c, const pm_schema *schema, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc;

	memset(c, 0, sizeof(*c));
	if (schema->list[PM_LIST_POSITION].here != NULL || schema->list[PM_LIST_RELATION].here != NULL)
		return pm_outdated(st, "stored predictor was trained with other positions and relations of operators than this library has");
	if ((rc = make_scales(c, schema, a, st)) != PM_OK ||
		(rc = load_types(c, r, a, st)) != PM_OK ||
		(rc = load_names(&c->frameworks, &c->n_frameworks, r, a, st)) != PM_OK)
		return rc;
	c->usual_framework = (int) pm_get_u32(r, c->n_frameworks - 1);
	if ((rc = load_names(&c->gpus, &c->n_gpus, r, a, st)) != PM_OK)
		return rc;
	load_scale(&c->slots, r);
	load_scale(&c->loads, r);
	load_scale(&c->job, r);
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged normalisation statistics") : PM_OK;
}

/* ---- whole data sets ---- */

pm_code
pm_tokens_of(const pm_dataset *d, pm_arena *a, pm_tokens **tokens, pm_status *st)
{
	pm_code		rc = PM_OK;

	*tokens = PM_NEW(a, pm_tokens, d->n);
	if (!*tokens)
		return pm_no_memory(st, a);
	for (int i = 0; i < d->n && rc == PM_OK; i++)
		rc = pm_stopped(a, st) ? PM_CANCELLED :
			pm_tokens_build(d->samples[i].skeleton, &d->samples[i].query, a, &(*tokens)[i], st);
	return rc;
}

double
pm_inputs_memory(const pm_dataset *d)
{
	const double per_token = (4 * PM_N_SLOTS + 2 * PM_N_LOADS) * sizeof(pm_real) + 128;
	double		bytes = 0;

	for (int i = 0; i < d->n; i++)
		bytes += 4096 + per_token * d->samples[i].skeleton->n + sizeof(double) * d->samples[i].skeleton->dag.n;
	for (int i = 0; i < d->n_operators; i++)
		bytes += 4096 + per_token * d->operators[i].skeleton->n;
	return bytes;
}
