/*
 * measurements.c - reads measurements from perfmodel.profile for the core.
 *
 * One query reads the rows, in the order of their ids; each graph is read and
 * parsed once.  Everything lives in the context that is current on entry.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "arrays.h"
#include "cache/graph_cache.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "gpus.h"
#include "graphs.h"
#include "measurements.h"
#include "plans.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_all_profiles);

#define NOISY_SPREAD	0.10	/* rows that vary more than this between steps count half */
#define NOISY_WEIGHT	0.5
#define ALL_PROFILES	PG_INT64_MIN	/* no profile_id: what perfmodel.all_profiles() returns */
#define MAX_NAMED		5		/* bad rows that an error names */
#define SORTED_AT_ONCE	1000000 /* ids, in about 0.1 s */
#define FEW_IDS			100000	/* that = ANY is ready for in about 0.1 s */
#define ROWS_A_CHECK	10000	/* measurements, a few MB: so far apart the limit of memory is looked at */

/* Columns of the query below. */
enum
{
	Q_ID = 1, Q_GRAPH, Q_GPU, Q_BATCH, Q_DTYPE, Q_LAYOUT, Q_FRAMEWORK, Q_OPTIMIZER, Q_STEP, Q_FORWARD, Q_BACKWARD,
	Q_SPREAD, Q_MODE, Q_WORLD, Q_FAMILY, Q_PEAK
};

#define ROW_QUERY \
	"SELECT p.profile_id, p.graph_id, p.gpu, p.batch, p.dtype, p.layout, p.framework, p.optimizer, p.step_ms," \
	" p.forward_ms, p.backward_ms, p.spread, p.mode, p.world_size, g.family," \
	" CASE WHEN p.peak_memory_mb OPERATOR(pg_catalog.<>) 0 THEN p.peak_memory_mb END" \
	" FROM perfmodel.profile p JOIN perfmodel.graph g ON g.graph_id OPERATOR(pg_catalog.=) p.graph_id "

typedef struct graph_entry
{
	int64		graph_id;
	pm_graph	graph;
	pm_skeleton skeleton;
	bool		unfit;			/* its steps cannot be predicted, so there is no skeleton */
} graph_entry;

typedef struct loader
{
	pm_rows    *rows;
	MemoryContext cxt;
	pm_arena	arena;
	HTAB	   *graphs;
	bool		merged;
	pm_rows_use use;
	int			n_bad;
	StringInfoData bad;			/* the first few bad rows, in words */
	int			n_unfit;		/* graphs */
	pm_status	unfit;			/* what is wrong with the first of them */
} loader;

/* ---------- ids ---------- */

static int
compare_ids(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

/* Merge sorted from[first, middle) and from[middle, end) into to[first, end). */
static void
merge_ids(const int64 *from, int64 *to, int first, int middle, int end)
{
	int			left = first;
	int			right = middle;

	for (int i = first; i < end; i++)
		to[i] = right == end || (left < middle && from[left] <= from[right]) ? from[left++] : from[right++];
}

/* Sort ids[n], in steps of SORTED_AT_ONCE: the server's sort of tens of millions does not hear a cancel for seconds. */
static int64 *
sort_ids(int64 *ids, int n)
{
	int64	   *other = n > SORTED_AT_ONCE ? MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * n) : NULL;

	for (int64 i = 0; i < n; i += SORTED_AT_ONCE)
	{
		CHECK_FOR_INTERRUPTS();
		qsort(ids + i, Min(SORTED_AT_ONCE, n - i), sizeof(int64), compare_ids);
	}
	for (int64 run = SORTED_AT_ONCE; run < n; run *= 2)
	{
		int64	   *merged = other;

		for (int64 i = 0; i < n; i += 2 * run)
		{
			CHECK_FOR_INTERRUPTS();
			merge_ids(ids, merged, (int) i, (int) Min(i + run, n), (int) Min(i + 2 * run, n));
		}
		other = ids;
		ids = merged;
	}
	return ids;
}

/* Sorted ids without duplicates. Nulls are an error, or left out. */
static int64 *
distinct_ids(ArrayType *array, bool with_nulls, int *n)
{
	Datum	   *elems;
	bool	   *nulls;
	int			count;
	int			given = 0;
	int64	   *ids;

	pm_array_read(array, &elems, &nulls, &count);
	ids = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * Max(count, 1));
	for (int i = 0; i < count; i++)
	{
		if (nulls[i] && !with_nulls)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("profiles must not contain nulls")));
		if (!nulls[i])
			ids[given++] = DatumGetInt64(elems[i]);
	}
	ids = sort_ids(ids, given);
	*n = 0;
	for (int i = 0; i < given; i++)
		if (*n == 0 || ids[*n - 1] != ids[i])
			ids[(*n)++] = ids[i];
	return ids;
}

ArrayType *
pm_stored_profiles(ArrayType *array)
{
	static pm_plan query = {"SELECT profile_id FROM perfmodel.profile ORDER BY profile_id"};
	MemoryContext cxt = CurrentMemoryContext;
	int64	   *ids;
	int			n;
	int			at = 0;
	int			left = 0;

	if (ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) <= FEW_IDS)
		return array;
	ids = distinct_ids(array, true, &n);
	SPI_connect();
	pm_run(&query, NULL, NULL, true);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		int64		stored = DatumGetInt64(pm_value(i, 1, INT8OID, NULL));

		while (at < n && ids[at] < stored)
			at++;
		if (at < n && ids[at] == stored)
			ids[left++] = stored;
	}
	SPI_finish();
	MemoryContextSwitchTo(cxt);
	return DatumGetArrayTypeP(pm_int8_array(ids, left));
}

Datum
pm_all_profiles(PG_FUNCTION_ARGS)
{
	int64		all = ALL_PROFILES;

	PG_RETURN_DATUM(pm_int8_array(&all, 1));
}

ArrayType *
pm_profiles_arg(FunctionCallInfo fcinfo, int i, bool *none)
{
	ArrayType  *array = PG_ARGISNULL(i) ? NULL : PG_GETARG_ARRAYTYPE_P(i);
	int			n = array ? ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) : 0;

	*none = n == 0;
	if (n == 1 && !ARR_HASNULL(array) && *(int64 *) ARR_DATA_PTR(array) == ALL_PROFILES)
		return NULL;
	return array;
}

ArrayType *
pm_some_profiles_arg(FunctionCallInfo fcinfo, int i)
{
	bool		none;
	ArrayType  *array = pm_profiles_arg(fcinfo, i, &none);

	if (none)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"profiles\" names no measurements"),
				 errdetail("It is %s; perhaps the query that made it found no rows.", array ? "an empty array" : "null"),
				 errhint("To use all measurements, leave the argument out.")));
	return array;
}

const pm_quantity *
pm_quantity_arg(FunctionCallInfo fcinfo, int i)
{
	const char *names[PM_N_QUANTITIES];
	const char *name = i >= PG_NARGS() || PG_ARGISNULL(i) ? pm_quantities[PM_STEP_MS].name : text_to_cstring(PG_GETARG_TEXT_PP(i));
	const pm_quantity *q = pm_quantity_find(name);

	for (int k = 0; k < PM_N_QUANTITIES; k++)
		names[k] = pm_quantities[k].name;
	if (q == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown quantity \"%.*s\"", 64, name),
				 errhint("Known are %s.", pm_quoted_list(names, PM_N_QUANTITIES))));
	return q;
}

/* The rows found are sorted by id, as ids[] is; name what is missing. */
static void
check_all_found(const int64 *ids, int n_ids, uint64 n_found)
{
	uint64		at = 0;
	int			missing = 0;
	StringInfoData s;

	if (n_found == n_ids)
		return;
	initStringInfo(&s);
	for (int i = 0; i < n_ids; i++)
	{
		if (at < n_found && DatumGetInt64(pm_value(at, Q_ID, INT8OID, NULL)) == ids[i])
			at++;
		else if (missing++ < MAX_NAMED)
			appendStringInfo(&s, "%s%lld", missing > 1 ? ", " : "", (long long) ids[i]);
	}
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("%d of %d profiles do not exist", missing, n_ids),
			 errdetail("Missing profile_id: %s%s.", s.data, missing > MAX_NAMED ? ", ..." : "")));
}

static void
query_rows(ArrayType *array, pm_rows_use use)
{
	/* a join: the server prepares = ANY of millions of ids in one go, which no cancel ends */
	static pm_plan by_id = {
		ROW_QUERY "JOIN pg_catalog.unnest($1) AS wanted(id) ON wanted.id OPERATOR(pg_catalog.=) p.profile_id"
		" ORDER BY p.profile_id", 1, {INT8ARRAYOID}
	};
	static pm_plan all = {
		ROW_QUERY "WHERE p.mode OPERATOR(pg_catalog.=) 'train' AND p.world_size OPERATOR(pg_catalog.=) 1"
		" ORDER BY p.profile_id"
	};
	static pm_plan all_modes = {ROW_QUERY "WHERE p.world_size OPERATOR(pg_catalog.=) 1 ORDER BY p.profile_id"};
	Datum		arg;
	int64	   *ids;
	int			n;

	if (array == NULL)
	{
		pm_run(use == PM_ROWS_PASSES_APART ? &all_modes : &all, NULL, NULL, true);
		return;
	}
	ids = distinct_ids(array, false, &n);
	arg = pm_int8_array(ids, n);
	check_all_found(ids, n, pm_run(&by_id, &arg, NULL, true));
}

/* ---------- graphs ---------- */

/* Whether row 0 of SPI's result, with its document, is a graph whose steps can be predicted. */
static bool
read_graph(loader *l, graph_entry *e, pm_status *st)
{
	MemoryContext work = AllocSetContextCreate(l->cxt, "perfmodel document", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	bool		good = pm_graph_from_row(e->graph_id, DatumGetJsonbP(pm_value(0, 1, JSONBOID, NULL)), &l->arena, &e->graph, st);

	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	/* the stored one, which reports and queries show too, not what this library would derive */
	e->graph.family = pm_value_text(0, 2, l->cxt);
	SPI_freetuptable(SPI_tuptable);
	return good && pm_skeleton_build(&e->graph, l->merged, &l->arena, &e->skeleton, st) == PM_OK;
}

static void
load_graph(loader *l, graph_entry *e)
{
	static pm_plan query = {
		"SELECT doc, family FROM perfmodel.graph WHERE graph_id OPERATOR(pg_catalog.=) $1", 1, {INT8OID}
	};
	Datum		arg = Int64GetDatum(e->graph_id);
	pm_status	st = {PM_OK};

	if (pm_run(&query, &arg, NULL, true) != 1)
		pm_no_such_graph(e->graph_id);
	e->unfit = !read_graph(l, e, &st);
	if (!e->unfit)
		return;
	if (st.code != PM_ERR_INPUT && st.code != PM_ERR_LIMIT)
		pm_raise(&st);
	if (l->n_unfit++ == 0)
		l->unfit = st;
}

static const graph_entry *
graph_of(loader *l, int64 graph_id)
{
	bool		found;
	graph_entry *e = hash_search(l->graphs, &graph_id, HASH_ENTER, &found);

	if (!found)
	{
		CHECK_FOR_INTERRUPTS();
		load_graph(l, e);
		l->rows->n_graphs++;
		pm_rows_check_limit(l->rows);
	}
	return e;
}

/* ---------- rows ---------- */

typedef struct sheet_entry
{
	uint64		hash;			/* of the name */
	const pm_gpu *sheet;
} sheet_entry;

/* In the rows' own memory: the one of gpu_sql.c may be thrown away meanwhile. */
static const pm_gpu *
copy_sheet(MemoryContext cxt, const char *name, const char *core_name)
{
	const pm_gpu *found = pm_gpu_find(name);
	pm_gpu	   *copy = MemoryContextAlloc(cxt, sizeof(pm_gpu));

	*copy = *found;
	copy->name = MemoryContextStrdup(cxt, core_name);
	return copy;
}

const pm_gpu *
pm_rows_sheet(pm_rows *r, const char *name)
{
	const char *core_name = pm_to_core(name);
	uint64		hash = pm_hash(PM_HASH_INIT, core_name, strlen(core_name));
	sheet_entry *e = hash_search(r->sheets, &hash, HASH_FIND, NULL);
	const pm_gpu *sheet;

	if (e != NULL && strcmp(e->sheet->name, core_name) == 0)
		return e->sheet;
	sheet = copy_sheet(r->cxt, name, core_name);
	if (e == NULL)
	{
		e = hash_search(r->sheets, &hash, HASH_ENTER, NULL);
		e->sheet = sheet;
	}
	return sheet;
}

/* ---------- memory ---------- */

Size
pm_rows_bytes(const pm_rows *r)
{
	return MemoryContextMemAllocated(r->cxt, true);
}

void
pm_rows_check_limit(const pm_rows *r)
{
	if (r->limit > 0 && pm_rows_bytes(r) > r->limit)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("measurements and graphs need more memory than perfmodel.train_mem allows"),
				 errdetail("%.0f MB are allowed; there are %d measurements, and %d graphs have been read.",
						   r->limit / (1024.0 * 1024), r->set.n, r->n_graphs),
				 errhint("Raise perfmodel.train_mem, or train on fewer measurements.")));
}

static void
note_bad(loader *l, int64 id, const char *what, const char *value)
{
	if (l->n_bad++ < MAX_NAMED)
		appendStringInfo(&l->bad, "%sprofile %lld has %s %s", l->n_bad > 1 ? ", " : "", (long long) id, what, value);
}

static void
check_row(loader *l, uint64 i, int64 id, pm_mode mode)
{
	int			world = DatumGetInt32(pm_value(i, Q_WORLD, INT4OID, NULL));

	if (mode != PM_TRAIN && l->use == PM_ROWS_STEPS)
		note_bad(l, id, "mode", pm_mode_name[mode]);
	else if (world != 1)
		note_bad(l, id, "world_size", psprintf("%d", world));
}

static const char *
core_text(loader *l, const char *s)
{
	const char *text = pm_to_core_lossy(s);

	return text == s ? s : MemoryContextStrdup(l->cxt, text);
}

/* Words of row i that reports group by and that the query is parsed from. */
static void
read_words(loader *l, uint64 i)
{
	pm_rows    *r = l->rows;
	char	   *framework = pm_value_text_or_null(i, Q_FRAMEWORK, l->cxt);

	r->gpu[i] = pm_value_text(i, Q_GPU, l->cxt);
	r->dtype[i] = pm_value_text(i, Q_DTYPE, l->cxt);
	r->layout[i] = pm_value_text(i, Q_LAYOUT, l->cxt);
	r->framework[i] = framework ? framework : "";
	r->family[i] = pm_value_text(i, Q_FAMILY, l->cxt);
}

static void
read_sample(loader *l, uint64 i)
{
	pm_rows    *r = l->rows;
	pm_sample  *s = &r->set.samples[i];
	double		spread = pm_value_float8(i, Q_SPREAD);

	read_words(l, i);
	r->ids[i] = s->id = DatumGetInt64(pm_value(i, Q_ID, INT8OID, NULL));
	s->query.mode = pm_value_word(i, Q_MODE, &pm_mode_words);
	check_row(l, i, s->id, s->query.mode);
	s->query.batch = DatumGetInt32(pm_value(i, Q_BATCH, INT4OID, NULL));
	s->query.dtype = pm_value_word(i, Q_DTYPE, &pm_dtype_words);
	s->query.layout = pm_value_word(i, Q_LAYOUT, &pm_layout_words);
	s->query.optimizer = s->query.mode == PM_TRAIN ? pm_value_word(i, Q_OPTIMIZER, &pm_optimizer_words) :
		PM_SGD_MOMENTUM;
	s->query.framework = r->framework[i][0] ? core_text(l, r->framework[i]) : NULL;
	s->step_ms = pm_value_float8(i, Q_STEP);
	r->peak_memory_mb[i] = pm_value_float8(i, Q_PEAK);
	s->forward_ms = pm_value_float8(i, Q_FORWARD);
	s->backward_ms = pm_value_float8(i, Q_BACKWARD);
	s->weight = spread > NOISY_SPREAD ? NOISY_WEIGHT : 1;
}

/* Graphs and sheets, which take queries of their own. False: steps of this graph cannot be predicted. */
static bool
complete_sample(loader *l, int i, int64 graph_id)
{
	pm_sample  *s = &l->rows->set.samples[i];
	const graph_entry *e = graph_of(l, graph_id);

	if (e->unfit)
		return false;
	s->query.graph = &e->graph;
	s->skeleton = &e->skeleton;
	s->query.gpu = pm_rows_sheet(l->rows, l->rows->gpu[i]);
	s->query.dtype = pm_dtype_run(s->query.gpu, s->query.dtype);
	s->query.layout = pm_layout_run(s->query.graph->has_layout, s->query.layout);
	return true;
}

static uint64
hash_text(uint64 h, const char *s)
{
	return pm_hash(h, s, strlen(s) + 1);
}

static uint64
hash_rows(const pm_rows *r)
{
	uint64		h = PM_HASH_INIT;

	for (int i = 0; i < r->set.n + r->set.n_passes; i++)
	{
		const pm_sample *s = &r->set.samples[i];
		double		numbers[] = {s->query.batch, s->query.optimizer, s->step_ms, s->forward_ms, s->backward_ms, s->weight};

		/* one bit pattern for "not measured" */
		for (int k = 0; k < lengthof(numbers); k++)
			if (isnan(numbers[k]))
				numbers[k] = -1;
		h = pm_hash(h, &s->query.graph->structure, sizeof(uint64));
		h = pm_hash(h, numbers, sizeof(numbers));
		h = hash_text(h, r->gpu[i]);
		h = hash_text(h, r->dtype[i]);
		h = hash_text(h, r->layout[i]);
		h = hash_text(h, r->framework[i]);
		if (s->query.mode != PM_TRAIN)
			h = hash_text(h, pm_mode_name[s->query.mode]);
	}
	return h;
}

static void
loader_init(loader *l, pm_rows_use use, bool merged, Size limit)
{
	HASHCTL		ctl = {.keysize = sizeof(int64),.entrysize = sizeof(graph_entry),.hcxt = CurrentMemoryContext};
	HASHCTL		sheets = {.keysize = sizeof(uint64),.entrysize = sizeof(sheet_entry),.hcxt = CurrentMemoryContext};

	memset(l, 0, sizeof(*l));
	l->cxt = CurrentMemoryContext;
	l->rows = palloc0(sizeof(pm_rows));
	l->rows->cxt = l->cxt;
	l->rows->limit = limit;
	l->rows->sheets = hash_create("perfmodel devices of profiles", 64, &sheets, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	l->use = use;
	l->merged = merged;
	l->graphs = hash_create("perfmodel graphs of profiles", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	pm_context_arena(&l->arena, l->cxt, 0);
	initStringInfo(&l->bad);
}

/* Zeros for n rows; the limit of train_mem is what bounds them, not the 1 GB of palloc(). */
static void *
row_array(const loader *l, Size size, int n)
{
	return MemoryContextAllocExtended(l->cxt, size * Max(n, 1), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static void
allocate_rows(loader *l, int n)
{
	pm_rows    *r = l->rows;

	r->set.n = n;
	r->set.samples = row_array(l, sizeof(pm_sample), n);
	r->ids = row_array(l, sizeof(int64), n);
	r->peak_memory_mb = row_array(l, sizeof(double), n);
	r->gpu = row_array(l, sizeof(char *), n);
	r->dtype = row_array(l, sizeof(char *), n);
	r->layout = row_array(l, sizeof(char *), n);
	r->framework = row_array(l, sizeof(char *), n);
	r->family = row_array(l, sizeof(char *), n);
}

static void
refuse_bad(const loader *l)
{
	if (l->n_bad > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d of %d profiles are not training steps on one device", l->n_bad, l->rows->set.n),
				 errdetail("%c%s%s.", pg_toupper((unsigned char) l->bad.data[0]), l->bad.data + 1,
						   l->n_bad > MAX_NAMED ? ", ..." : ""),
				 errhint("Leave them out: WHERE mode = 'train' AND world_size = 1.")));
}

static void
copy_row(pm_rows *to, int at, const pm_rows *from, int i)
{
	to->set.samples[at] = from->set.samples[i];
	to->ids[at] = from->ids[i];
	to->peak_memory_mb[at] = from->peak_memory_mb[i];
	to->gpu[at] = from->gpu[i];
	to->dtype[at] = from->dtype[i];
	to->layout[at] = from->layout[i];
	to->framework[at] = from->framework[i];
	to->family[at] = from->family[i];
}

/* Complete the samples, and leave out those that no predictor can learn from: one such row must not keep all others from being used. */
static void
complete_samples(loader *l, const int64 *graph_ids)
{
	pm_rows    *r = l->rows;
	int			n = r->set.n;

	r->set.n = 0;
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (complete_sample(l, i, graph_ids[i]))
			copy_row(r, r->set.n++, r, i);
	}
	if (r->set.n < n)
	{
		const char *why = pm_message_from_core(l->unfit.message);

		ereport(NOTICE,
				(errmsg_plural("%d measurement is left out: steps of its graph cannot be predicted",
							   "%d measurements are left out: steps of their graphs cannot be predicted", n - r->set.n, n - r->set.n),
				 errdetail("%c%s%s.", pg_toupper((unsigned char) why[0]), why + 1, l->n_unfit > 1 ? "; others are like it" : "")));
	}
}

/* Steps first, then passes, each in the order that they have. */
static void
set_passes_apart(loader *l)
{
	pm_rows		mixed = *l->rows;
	pm_rows    *r = l->rows;
	int			at = 0;

	for (int i = 0; i < mixed.set.n; i++)
		at += mixed.set.samples[i].query.mode != PM_TRAIN;
	if (at == 0)
		return;
	at = 0;
	allocate_rows(l, mixed.set.n);
	for (int mode = PM_TRAIN; mode < PM_N_MODES; mode++)
	{
		for (int i = 0; i < mixed.set.n; i++)
			if ((int) mixed.set.samples[i].query.mode == mode)
				copy_row(r, at++, &mixed, i);
		if (mode == PM_TRAIN)
			r->set.n = at;
	}
	r->set.n_passes = at - r->set.n;
	r->set.passes = r->set.samples + r->set.n;
}

pm_rows *
pm_rows_load(ArrayType *ids, pm_rows_use use, bool merged, Size limit)
{
	loader		l;
	int64	   *graph_ids;

	loader_init(&l, use, merged, limit);
	SPI_connect();
	query_rows(ids, use);
	allocate_rows(&l, (int) SPI_processed);
	graph_ids = palloc(sizeof(int64) * Max(l.rows->set.n, 1));
	for (int i = 0; i < l.rows->set.n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i % ROWS_A_CHECK == 0)
			pm_rows_check_limit(l.rows);
		read_sample(&l, i);
		graph_ids[i] = DatumGetInt64(pm_value(i, Q_GRAPH, INT8OID, NULL));
	}
	refuse_bad(&l);
	pm_rows_check_limit(l.rows);
	complete_samples(&l, graph_ids);
	SPI_finish();
	if (use == PM_ROWS_PASSES_APART)
		set_passes_apart(&l);
	l.rows->hash = hash_rows(l.rows);
	return l.rows;
}

/* ---------- rows of another quantity than the time of a step ---------- */

void
pm_rows_keep_peaks(pm_rows *r)
{
	int			n = 0;

	for (int i = 0; i < r->set.n; i++)
		if (!isnan(r->peak_memory_mb[i]))
			copy_row(r, n++, r, i);
	if (n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no measurement has a peak memory"),
				 errdetail("peak_memory_mb is null or 0 in %d of %d measurements.", r->set.n, r->set.n),
				 errhint("Fill peak_memory_mb of perfmodel.profile.")));
	r->set.n = n;
	r->hash = hash_rows(r);
}
