/*
 * schema.c - lists of names, stored and compared.
 */
#include "features/schema.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_LISTS	64
#define MAX_LIST	4096		/* names of a stored list */

/* ---- the lists of this library ---- */

static const char *const relation_names[PM_N_RELATIONS] = {
	[PM_REL_SELF] = "self", [PM_REL_PARENT] = "parent", [PM_REL_CHILD] = "child", [PM_REL_ANCESTOR] = "ancestor",
	[PM_REL_DESCENDANT] = "descendant", [PM_REL_SIBLING] = "sibling", [PM_REL_UNRELATED] = "unrelated",
	[PM_REL_JOB] = "job"
};

/* Parts of a position, in order; their widths go with the names. */
static const char *const position_names[] = {
	"depth", "relative_depth", "height", "parents", "children", "indegree", "outdegree"
};

#define N_OF(names) ((int) (sizeof(names) / sizeof((names)[0])))

static const pm_names lists[PM_N_LISTS] = {
	[PM_LIST_SLOT] = {"slot", PM_N_SLOTS, pm_slot_name},
	[PM_LIST_LOAD] = {"load", PM_N_LOADS, pm_load_name},
	[PM_LIST_JOB] = {"job feature", PM_N_JOB, pm_job_name},
	[PM_LIST_CLASS] = {"class of operators", PM_N_CLASSES, pm_class_name},
	[PM_LIST_CONV_KIND] = {"kind of convolution", PM_N_CONV_KINDS, pm_conv_kind_name},
	[PM_LIST_DTYPE] = {"dtype", PM_N_DTYPES, pm_dtype_name},
	[PM_LIST_LAYOUT] = {"layout", PM_N_LAYOUTS, pm_layout_name},
	[PM_LIST_RELATION] = {"relation", PM_N_RELATIONS, relation_names},
	[PM_LIST_POSITION] = {"position", N_OF(position_names), position_names},
};

const pm_schema pm_schema_here = {.list = {
	[PM_LIST_SLOT] = {.n = PM_N_SLOTS}, [PM_LIST_LOAD] = {.n = PM_N_LOADS}, [PM_LIST_JOB] = {.n = PM_N_JOB},
	[PM_LIST_CLASS] = {.n = PM_N_CLASSES}, [PM_LIST_CONV_KIND] = {.n = PM_N_CONV_KINDS},
	[PM_LIST_DTYPE] = {.n = PM_N_DTYPES}, [PM_LIST_LAYOUT] = {.n = PM_N_LAYOUTS},
	[PM_LIST_RELATION] = {.n = PM_N_RELATIONS}, [PM_LIST_POSITION] = {.n = N_OF(position_names)}
}};

const pm_names *
pm_list_here(pm_list_id list)
{
	return &lists[list];
}

pm_widths
pm_widths_of(const pm_schema *s)
{
	const pm_translation *list = s != NULL ? s->list : pm_schema_here.list;

	return (pm_widths) {
		.slots = list[PM_LIST_SLOT].n, .loads = list[PM_LIST_LOAD].n, .job = list[PM_LIST_JOB].n,
		.classes = list[PM_LIST_CLASS].n, .dtypes = list[PM_LIST_DTYPE].n, .layouts = list[PM_LIST_LAYOUT].n
	};
}

/* ---- comparing ---- */

pm_code
pm_outdated(pm_status *st, const char *fmt,...)
{
	char		message[256];
	va_list		ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	pm_fail(st, PM_ERR_OUTDATED, "%s", message);
	pm_detail(st, "It is not damaged, but its answers would not be those that it was trained to give.");
	pm_hint(st, "train() makes a new one from the same profiles.");
	return PM_ERR_OUTDATED;
}

static int
find_name(const pm_names *list, const char *name)
{
	for (int i = 0; i < list->n; i++)
		if (strcmp(list->names[i], name) == 0)
			return i;
	return -1;
}

static pm_code
unknown_name(const pm_names *list, const char *name, pm_status *st)
{
	return pm_outdated(st, "stored predictor has the %s \"%.*s\", which this library does not know", list->what,
					   pm_shown(name), name);
}

pm_code
pm_names_match(const pm_names *list, const pm_names *stored, pm_arena *a, pm_translation *t, pm_status *st)
{
	int32_t    *here = PM_NEW(a, int32_t, stored->n + 1);
	int32_t    *there = PM_NEW(a, int32_t, list->n + 1);
	bool		same = stored->n == list->n;

	if (!here || !there)
		return pm_no_memory(st, a);
	for (int i = 0; i < list->n; i++)
		there[i] = -1;
	for (int i = 0; i < stored->n; i++)
	{
		here[i] = find_name(list, stored->names[i]);
		if (here[i] < 0)
			return unknown_name(list, stored->names[i], st);
		if (there[here[i]] >= 0)
			return pm_fail(st, PM_ERR_FORMAT, "stored predictor has a %s twice", list->what);
		there[here[i]] = i;
		same = same && here[i] == i;
	}
	*t = (pm_translation) {.n = stored->n, .here = same ? NULL : here, .there = same ? NULL : there};
	return PM_OK;
}

/* ---- one list ---- */

void
pm_names_save(const pm_names *list, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) list->n);
	for (int i = 0; i < list->n; i++)
		pm_put_text(b, list->names[i]);
}

static pm_code
read_names(pm_reader *r, pm_arena *a, pm_names *stored, pm_status *st)
{
	const char **names;

	stored->n = (int) pm_get_u32(r, MAX_LIST);
	stored->names = names = PM_NEW(a, const char *, stored->n + 1);
	if (!names)
		return pm_no_memory(st, a);
	for (int i = 0; i < stored->n && !r->failed; i++)
		if ((names[i] = pm_get_text(r, a)) == NULL && !r->failed)
			return pm_no_memory(st, a);
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has a damaged list of names") : PM_OK;
}

pm_code
pm_names_load(const pm_names *list, pm_reader *r, pm_arena *a, pm_translation *t, pm_status *st)
{
	pm_names	stored = {0};
	pm_code		rc = read_names(r, a, &stored, st);

	return rc == PM_OK ? pm_names_match(list, &stored, a, t, st) : rc;
}

/* ---- numbers with names ---- */

void
pm_named_save(const pm_names *list, const double *v, pm_buffer *b)
{
	pm_names_save(list, b);
	for (int i = 0; i < list->n; i++)
		pm_put_f64(b, v[i]);
}

pm_code
pm_named_load(const pm_names *list, double *v, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_translation t;
	pm_code		rc = pm_names_load(list, r, a, &t, st);

	if (rc != PM_OK)
		return rc;
	for (int i = 0; i < t.n; i++)
		v[t.here != NULL ? t.here[i] : i] = pm_get_f64(r);
	for (int i = 0; i < list->n && !r->failed; i++)
		if (isnan(v[i]))
			return pm_outdated(st, "stored predictor has no %s \"%s\"", list->what, list->names[i]);
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has a damaged %s", list->what) : PM_OK;
}

/* ---- the whole schema ---- */

void
pm_schema_save(const pm_schema *s, pm_buffer *b)
{
	pm_put_u32(b, PM_WORK_VERSION);
	pm_put_u32(b, PM_FEATURE_VERSION);
	pm_put_u32(b, PM_N_LISTS);
	for (int id = 0; id < PM_N_LISTS; id++)
	{
		pm_put_text(b, lists[id].what);
		pm_put_u32(b, (uint32_t) s->list[id].n);
		for (int i = 0; i < s->list[id].n; i++)
			pm_put_text(b, lists[id].names[pm_here(s, (pm_list_id) id, i)]);
	}
}

static pm_code
check_versions(uint32_t work, uint32_t features, pm_status *st)
{
	if (work != PM_WORK_VERSION)
		return pm_outdated(st, "stored predictor was trained on version %u of the rules of work, and this library has version %d",
						   (unsigned) work, PM_WORK_VERSION);
	if (features != PM_FEATURE_VERSION)
		return pm_outdated(st, "stored predictor was trained on version %u of the features, and this library has version %d",
						   (unsigned) features, PM_FEATURE_VERSION);
	return PM_OK;
}

static pm_code
load_lists(pm_schema *s, pm_reader *r, pm_arena *a, pm_status *st)
{
	uint32_t	n = pm_get_u32(r, MAX_LISTS);
	pm_code		rc = PM_OK;

	for (uint32_t i = 0; i < n && rc == PM_OK && !r->failed; i++)
	{
		const char *what = pm_get_text(r, a);
		pm_names	stored = {0};
		int			id = 0;

		if (what == NULL)
			return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged lists") : pm_no_memory(st, a);
		while (id < PM_N_LISTS && strcmp(lists[id].what, what) != 0)
			id++;
		if (id == PM_N_LISTS)
			return pm_outdated(st, "stored predictor has a list of \"%.*s\", which this library does not know", pm_shown(what), what);
		rc = read_names(r, a, &stored, st);
		if (rc == PM_OK)
			rc = pm_names_match(&lists[id], &stored, a, &s->list[id], st);
	}
	if (rc == PM_OK && r->failed)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged lists");
	return rc;
}

pm_code
pm_schema_load(pm_reader *r, pm_arena *a, const pm_schema **schema, pm_status *st)
{
	pm_schema  *s = PM_NEW(a, pm_schema, 1);
	uint32_t	work = pm_get_raw_u32(r);
	uint32_t	features = pm_get_raw_u32(r);
	pm_code		rc;

	if (!s)
		return pm_no_memory(st, a);
	*schema = s;
	if (r->failed)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged lists");
	if ((rc = check_versions(work, features, st)) == PM_OK)
		rc = load_lists(s, r, a, st);
	for (int id = 0; id < PM_N_LISTS && rc == PM_OK; id++)
		if (s->list[id].n == 0)
			return pm_fail(st, PM_ERR_FORMAT, "stored predictor has no list of the kind \"%s\"", lists[id].what);
	/* what operators of a class that is not known are taken for */
	if (rc == PM_OK && pm_there(s, PM_LIST_CLASS, PM_CLASS_MOVE) < 0)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor does not have the class \"move\"");
	return rc;
}
