/*
 * question.c - questions as SQL asks them.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/numeric.h"
#include "utils/syscache.h"

#include "cache/graph_cache.h"
#include "call_site.h"
#include "catalog.h"
#include "change/fp8.h"
#include "clusters.h"
#include "encoding.h"
#include "errors.h"
#include "features/tokens.h"
#include "gpus.h"
#include "graphs.h"
#include "members.h"
#include "parallel.h"
#include "question.h"
#include "scaling/checks.h"

/* ---------- arguments ---------- */

/* Names of arguments, and what NULL means. Those before PREDICTOR are members of a question as an object, too; GRAPH is only that. */
typedef enum member
{
	GRAPH, GRAPH_ID, GPU, BATCH, DTYPE, LAYOUT, OPTIMIZER, MODE, FRAMEWORK, WORLD_SIZE, NODES, CLUSTER, PARALLEL,
	PREDICTOR, LEVEL, ON_ERROR, N_MEMBERS
} member;

static const struct
{
	const char *name;
	bool		may_be_null;	/* NULL has a meaning of its own */
} members[N_MEMBERS] = {
	[GRAPH] = {"graph"},
	[GRAPH_ID] = {"graph_id"},
	[GPU] = {"gpu"},
	[BATCH] = {"batch"},
	[DTYPE] = {"dtype"},
	[LAYOUT] = {"layout"},
	[OPTIMIZER] = {"optimizer"},
	[MODE] = {"mode"},
	[FRAMEWORK] = {"framework", true},
	[WORLD_SIZE] = {"world_size"},
	[NODES] = {"nodes", true},
	[CLUSTER] = {"cluster", true},
	[PARALLEL] = {"parallel", true},
	[PREDICTOR] = {"predictor", true},
	[LEVEL] = {"level"},
	[ON_ERROR] = {"on_error", true},	/* and is refused: 'null' without its quotes */
};

/* at[N_MEMBERS]: where the arguments of a function stand; -1: it has no such argument. */
static void
find_arguments(Oid function, int8 *at)
{
	HeapTuple	row = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Datum		names;
	Datum		modes;
	char	  **name;
	bool		no_names;
	bool		no_modes;
	int			n;

	if (!HeapTupleIsValid(row))
		elog(ERROR, "cache lookup failed for function %u", function);
	names = SysCacheGetAttr(PROCOID, row, Anum_pg_proc_proargnames, &no_names);
	modes = SysCacheGetAttr(PROCOID, row, Anum_pg_proc_proargmodes, &no_modes);
	n = no_names ? 0 : get_func_input_arg_names(names, no_modes ? PointerGetDatum(NULL) : modes, &name);
	memset(at, -1, N_MEMBERS);
	for (int i = 0; i < n; i++)
		for (int m = 0; m < N_MEMBERS; m++)
			if (strcmp(name[i], members[m].name) == 0)
				at[m] = (int8) i;
	ReleaseSysCache(row);
}

static const int8 *
arguments_of(FunctionCallInfo fcinfo)
{
	pm_call_site *site = pm_call_site_of(fcinfo);

	if (site->argument == NULL)
	{
		int8	   *at = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, N_MEMBERS);

		find_arguments(fcinfo->flinfo->fn_oid, at);
		site->argument = at;
	}
	return site->argument;
}

static text *
word_arg(FunctionCallInfo fcinfo, const int8 *at, member m)
{
	return at[m] < 0 || PG_ARGISNULL(at[m]) ? NULL : PG_GETARG_TEXT_PP(at[m]);
}

static double
checked_level(double level)
{
	if (!(level >= PM_LEVEL_MIN && level <= PM_LEVEL_MAX))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("level must be between %g and %g, not %.15g", PM_LEVEL_MIN, PM_LEVEL_MAX, level),
				 errhint("Level 0.9 asks for an interval that holds 9 of 10 measurements.")));
	return level;
}

int
pm_checked_nodes(int nodes)
{
	if (nodes < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("nodes must be at least 1, not %d", nodes),
				 errhint("NULL stands for as few machines as have room for the GPUs.")));
	return nodes;
}

static bool
wants_null(FunctionCallInfo fcinfo, int at)
{
	char	   *s;

	if (at < 0)
		return false;
	if (PG_ARGISNULL(at))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("on_error must be \"error\" or \"null\", not NULL"),
				 errhint("Write the word in quotes: on_error => 'null'.")));
	s = text_to_cstring(PG_GETARG_TEXT_PP(at));
	if (pg_strcasecmp(s, "error") != 0 && pg_strcasecmp(s, "null") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("on_error must be \"error\" or \"null\", not \"%s\"", pm_shown_name(s))));
	return pg_strcasecmp(s, "null") == 0;
}

/* How many GPUs, and how they share the work. */
static void
read_parallel(FunctionCallInfo fcinfo, const int8 *at, pm_asked_words *q)
{
	q->parallel = (pm_parallel) PM_PARALLEL_NONE;
	if (at[WORLD_SIZE] >= 0)
		q->parallel.world_size = PG_GETARG_INT32(at[WORLD_SIZE]);
	if (at[NODES] >= 0 && !PG_ARGISNULL(at[NODES]))
		q->parallel.nodes = pm_checked_nodes(PG_GETARG_INT32(at[NODES]));
	if (at[PARALLEL] >= 0 && !PG_ARGISNULL(at[PARALLEL]))
		pm_parallel_from_jsonb(PG_GETARG_JSONB_P(at[PARALLEL]), &q->parallel);
	q->cluster = word_arg(fcinfo, at, CLUSTER);
}

bool
pm_question_read(FunctionCallInfo fcinfo, pm_asked_words *q, pm_manner *how)
{
	const int8 *at;

	pm_require_catalog();
	at = arguments_of(fcinfo);
	for (int m = 0; m < N_MEMBERS; m++)
		if (at[m] >= 0 && PG_ARGISNULL(at[m]) && !members[m].may_be_null)
			return false;
	memset(q, 0, sizeof(*q));
	if (at[GRAPH_ID] >= 0)
		q->graph_id = PG_GETARG_INT64(at[GRAPH_ID]);
	if (at[BATCH] >= 0)
		q->batch = PG_GETARG_INT32(at[BATCH]);
	q->gpu = word_arg(fcinfo, at, GPU);
	q->dtype = word_arg(fcinfo, at, DTYPE);
	q->layout = word_arg(fcinfo, at, LAYOUT);
	q->optimizer = word_arg(fcinfo, at, OPTIMIZER);
	q->mode = word_arg(fcinfo, at, MODE);
	q->framework = word_arg(fcinfo, at, FRAMEWORK);
	q->predictor = word_arg(fcinfo, at, PREDICTOR);
	read_parallel(fcinfo, at, q);
	how->level = at[LEVEL] >= 0 ? checked_level(PG_GETARG_FLOAT8(at[LEVEL])) : get_float8_nan();
	how->problem_is_null = wants_null(fcinfo, at[ON_ERROR]);
	return true;
}

static void
say_absent(StringInfo s, const char *name, bool is_null)
{
	appendStringInfo(s, "%s%s %s", s->len > 0 ? ", " : "", name, is_null ? "is null" : "is missing");
}

void
pm_problem_incomplete(const char *what, pm_problem *p)
{
	*p = (pm_problem) {"incomplete", ERRCODE_NULL_VALUE_NOT_ALLOWED, psprintf("no answer: %s", what)};
}

bool
pm_question_absent(FunctionCallInfo fcinfo, pm_problem *p)
{
	const int8 *at = arguments_of(fcinfo);
	StringInfoData s;

	if (!wants_null(fcinfo, at[ON_ERROR]))
		return false;
	initStringInfo(&s);
	for (int m = 0; m < N_MEMBERS; m++)
		if (at[m] >= 0 && PG_ARGISNULL(at[m]) && !members[m].may_be_null)
			say_absent(&s, members[m].name, true);
	if (s.len > 0)
		pm_problem_incomplete(s.data, p);
	return s.len > 0;
}

/* ---------- members of an object ---------- */

static void
refuse_member(const char *name, const char *should_be)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("member \"%s\" of a question must be %s", name, should_be)));
}

static text *
text_member(const char *name, const JsonbValue *v)
{
	if (v->type != jbvString)
		refuse_member(name, "a string");
	return cstring_to_text_with_len(v->val.string.val, v->val.string.len);
}

/* A whole number. One that does not fit becomes the largest or the smallest that does, which no graph has and no argument may be. */
static int64
integer_member(const char *name, const JsonbValue *v)
{
	Datum		n;
	double		size;

	if (v->type != jbvNumeric)
		refuse_member(name, "an integer");
	n = NumericGetDatum(v->val.numeric);
	if (!DatumGetBool(DirectFunctionCall2(numeric_eq, DirectFunctionCall2(numeric_trunc, n, Int32GetDatum(0)), n)))
		refuse_member(name, "an integer");
	size = pm_member_number(v);
	if (fabs(size) >= 9.2e18)
		return size > 0 ? PG_INT64_MAX : PG_INT64_MIN;
	return DatumGetInt64(DirectFunctionCall1(numeric_int8, n));
}

static member
member_named(const char *name)
{
	for (int m = 0; m < PREDICTOR; m++)
		if (strcmp(name, members[m].name) == 0)
			return (member) m;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown member \"%s\" of a question", pm_shown_name(name)),
			 errhint("Known are \"graph\" or \"graph_id\", \"gpu\", \"batch\", \"dtype\", \"layout\", \"framework\", \"optimizer\", \"mode\", "
					 "\"world_size\", \"nodes\", \"cluster\", \"parallel\".")));
}

static int32
int32_member(const char *name, const JsonbValue *v)
{
	return (int32) Max(Min(integer_member(name, v), PG_INT32_MAX), PG_INT32_MIN);
}

/* Of a member that is not null and says how many GPUs there are, or how they work. */
static void
set_parallel_member(pm_asked_words *q, member m, JsonbValue *v)
{
	const char *name = members[m].name;

	if (m == WORLD_SIZE)
		q->parallel.world_size = int32_member(name, v);
	else if (m == NODES)
		q->parallel.nodes = pm_checked_nodes(int32_member(name, v));
	else if (m == CLUSTER)
		q->cluster = text_member(name, v);
	else if (v->type != jbvBinary)
		refuse_member(name, "an object");
	else
		pm_parallel_from_jsonb(JsonbValueToJsonb(v), &q->parallel);
}

/* Of a member that is not null. */
static void
set_member(pm_asked_words *q, member m, JsonbValue *v, pm_problem *p)
{
	const char *name = members[m].name;

	if (m == GRAPH_ID)
		q->graph_id = integer_member(name, v);
	else if (m == GRAPH)
		q->graph_id = pm_graph_named(text_to_cstring(text_member(name, v)), p);
	else if (m == GPU)
		q->gpu = text_member(name, v);
	else if (m == BATCH)
		q->batch = int32_member(name, v);
	else if (m == DTYPE)
		q->dtype = text_member(name, v);
	else if (m == LAYOUT)
		q->layout = text_member(name, v);
	else if (m == OPTIMIZER)
		q->optimizer = text_member(name, v);
	else if (m == MODE)
		q->mode = text_member(name, v);
	else if (m >= WORLD_SIZE)
		set_parallel_member(q, m, v);
	else
		q->framework = text_member(name, v);
}

/* Whether an object has a member, and not only null. */
typedef enum presence
{
	NOT_THERE, NULL_VALUE, GIVEN
} presence;

/* False, with *p filled, when a member without which there is no answer is not there or null. */
static bool
check_complete(const presence *has, pm_problem *p)
{
	presence	graph = Max(has[GRAPH], has[GRAPH_ID]);
	StringInfoData s;

	initStringInfo(&s);
	if (graph != GIVEN)
		say_absent(&s, graph == NOT_THERE || has[GRAPH] ? "graph" : "graph_id", graph == NULL_VALUE);
	for (int m = GPU; m < PREDICTOR; m++)
		if (has[m] == NULL_VALUE ? !members[m].may_be_null : has[m] == NOT_THERE && (m == GPU || m == BATCH))
			say_absent(&s, members[m].name, has[m] == NULL_VALUE);
	if (s.len == 0)
		return true;
	pm_problem_incomplete(s.data, p);
	return false;
}

bool
pm_question_from_jsonb(Jsonb *question, pm_asked_words *q, pm_problem *p)
{
	text	   *predictor = q->predictor;
	presence	has[N_MEMBERS] = {NOT_THERE};
	pm_members	x;

	if (!JB_ROOT_IS_OBJECT(question))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a question must be a JSON object"),
				 errhint("For example: {\"graph\": \"resnet50@224\", \"gpu\": \"T4\", \"batch\": 64}.")));
	*q = (pm_asked_words) {.predictor = predictor,.parallel = PM_PARALLEL_NONE};
	for (pm_members_begin(&x, question); pm_next_member(&x);)
	{
		member		m = member_named(x.name);

		has[m] = x.value.type == jbvNull ? NULL_VALUE : GIVEN;
		if (x.value.type != jbvNull)
			set_member(q, m, &x.value, p);
	}
	if (has[GRAPH] && has[GRAPH_ID])
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a question has either the member \"graph\" or \"graph_id\", not both")));
	return check_complete(has, p);
}

/* ---------- what the words mean ---------- */

/* Index of a word in a list, NULL being `usual`; -1 with *p filled. */
static int
resolve_word(const text *word, const pm_word_list *list, int usual, const char *reason, pm_problem *p)
{
	char	   *s;
	int			v;

	if (word == NULL)
		return usual;
	s = text_to_cstring(word);
	v = pm_word_find(list, s);
	if (v < 0)
		*p = (pm_problem) {
			reason, ERRCODE_INVALID_PARAMETER_VALUE, psprintf("unknown %s \"%s\"", list->what, pm_shown_name(s)),
			NULL, list == &pm_dtype_words ? psprintf("Known are %s.", pm_known_dtypes()) : pm_known_words(list->names, list->n)
		};
	pfree(s);
	return v;
}

static bool
resolve_words(const pm_asked_words *q, pm_question *to, pm_problem *p)
{
	/* the rest is in BF16 where the weights are */
	bool		fp8 = q->dtype != NULL && pm_is_fp8(text_to_cstring(q->dtype));
	int			dtype = fp8 ? (q->parallel.master_weights ? PM_BF16 : PM_AMP) : resolve_word(q->dtype, &pm_dtype_words, PM_FP32, "unknown_dtype", p);
	int			layout = dtype < 0 ? -1 : resolve_word(q->layout, &pm_layout_words, PM_NCHW, "unknown_layout", p);
	int			optimizer = layout < 0 ? -1 :
		resolve_word(q->optimizer, &pm_optimizer_words, PM_SGD_MOMENTUM, "unknown_optimizer", p);
	int			mode = optimizer < 0 ? -1 : resolve_word(q->mode, &pm_mode_words, PM_TRAIN, "unknown_mode", p);

	if (mode < 0)
		return false;
	to->dtype = (pm_dtype) dtype;
	to->fp8 = fp8;
	to->compile = q->parallel.compile;
	to->layout = (pm_layout) layout;
	/* without an update, whatever it would be, the question is the same */
	to->optimizer = mode == PM_TRAIN ? (pm_optimizer) optimizer : PM_SGD_MOMENTUM;
	to->mode = (pm_mode) mode;
	to->framework = q->framework ? pm_to_core_lossy(text_to_cstring(q->framework)) : NULL;
	return true;
}

static bool
resolve_batch(const pm_asked_words *q, pm_question *to, pm_problem *p)
{
	to->batch = q->batch;
	if (q->batch >= 1 && q->batch <= PM_MAX_BATCH)
		return true;
	*p = (pm_problem) {
		"bad_batch", ERRCODE_INVALID_PARAMETER_VALUE, psprintf("batch must be between 1 and %d, not %d", PM_MAX_BATCH, q->batch)
	};
	return false;
}

void
pm_question_predictor(const pm_asked_words *q, pm_predictor_ref *ref)
{
	pm_predictor_get(q->predictor ? text_to_cstring(q->predictor) : NULL, ref);
}

/* GPUs that each hold the whole network have nothing to tell each other. */
void
pm_problem_infer_on_several(pm_problem *p)
{
	*p = (pm_problem) {
		"bad_parallel", ERRCODE_FEATURE_NOT_SUPPORTED, "mode \"inference\" is about one GPU", NULL,
		"Leave world_size, nodes and cluster out, and all of parallel but compile."
	};
}

/* Where one GPU is when nobody names its machines: it sends nothing. */
static const pm_fabric alone = {.name = "one GPU",.gpus_per_node = 1,.adapters = 1,PM_NOT_FITTED};

/* What several GPUs need to be known of; nothing is looked up for one. */
static bool
resolve_parallel(const pm_asked_words *q, pm_asked *to, pm_problem *p)
{
	pm_status	st = {PM_OK};

	to->parallel = q->parallel;
	to->fabric = NULL;
	if (q->cluster == NULL && q->parallel.world_size == 1 && q->parallel.nodes <= 1 && q->parallel.accumulation == 1 &&
		q->parallel.tp * q->parallel.pp * q->parallel.cp == 1 && q->parallel.ep <= 1 && q->parallel.etp == 0 && q->parallel.shard == 0 && !q->parallel.master_weights && !q->parallel.recompute && !q->parallel.sequence_parallel)
		return true;
	if (to->sample.query.mode == PM_INFERENCE)
	{
		pm_problem_infer_on_several(p);
		return false;
	}
	if (pm_masters_check(&q->parallel, to->sample.query.dtype, &st) != PM_OK)
	{
		*p = pm_problem_of_status("bad_parallel", &st);
		return false;
	}
	if (q->cluster == NULL && q->parallel.world_size == 1)
		to->fabric = &alone;
	else
	{
		to->fabric = pm_cluster_look_up(q->cluster ? text_to_cstring(q->cluster) : NULL, to->sample.query.gpu->name, p);
		if (to->fabric == NULL)
			return false;
		to->fabric = pm_cluster_for_question(to->fabric, q->graph_id, to->sample.query.gpu->name);
	}
	if (pm_parallel_check(&to->parallel, to->fabric, &st) == PM_OK)
		return true;
	*p = pm_problem_of_status("bad_parallel", &st);
	return false;
}

char *
pm_known_dtypes(void)
{
	return psprintf("%s, \"%s\"", pm_quoted_list(pm_dtype_name, PM_N_DTYPES), PM_FP8_NAME);
}

static bool
has_units_for(const pm_question *q, pm_problem *p)
{
	if (!q->fp8 || pm_gpu_fp8_units(q->gpu) != PM_FP8_NO)
		return true;
	*p = (pm_problem) {
		"unknown_dtype", ERRCODE_INVALID_PARAMETER_VALUE, psprintf("gpu \"%s\" has no units for dtype fp8", pm_shown_name(pm_from_core(q->gpu->name))),
		"Cards of compute capability 8.9 and more have them, such as L4, L40S, H100 and B200.", "Ask for amp. perfmodel.gpu_formats(gpu) lists the formats of a device."
	};
	return false;
}

/* Batch, words and device. */
static bool
resolve_device(const pm_asked_words *q, pm_question *to, pm_problem *p)
{
	if (!resolve_batch(q, to, p) || !resolve_words(q, to, p) || (to->gpu = pm_gpu_look_up(text_to_cstring(q->gpu), p)) == NULL ||
		!has_units_for(to, p))
		return false;
	to->dtype = pm_dtype_run(to->gpu, to->dtype);
	return true;
}

bool
pm_question_resolve_alone(const pm_asked_words *q, pm_question *to, pm_cached **graph, pm_problem *p)
{
	memset(to, 0, sizeof(*to));
	return resolve_device(q, to, p) && (*graph = pm_graph_look_up(q->graph_id, pm_expert_part(q), p)) != NULL;
}

bool
pm_question_resolve(const pm_asked_words *q, pm_asked *to, pm_problem *p)
{
	if (!pm_question_resolve_computed(q, to, p))
		return false;
	if (!to->sample.query.fp8 && !to->sample.query.compile)
		return true;
	*p = !to->sample.query.fp8 ? (pm_problem) {
		"bad_parallel", ERRCODE_FEATURE_NOT_SUPPORTED, "this function does not know \"compile\"",
		"predict() and others compute the time of a compiled step from that of the step without.", "Leave \"compile\" out of \"parallel\"."
	} : (pm_problem) {
		"unknown_dtype", ERRCODE_FEATURE_NOT_SUPPORTED, "this function does not know dtype fp8",
		"No step was measured in FP8. predict() and others compute its time from that of the step in 16 bits.", "Ask with dtype amp or bf16."
	};
	return false;
}

bool
pm_question_resolve_computed(const pm_asked_words *q, pm_asked *to, pm_problem *p)
{
	pm_sample  *s = &to->sample;

	memset(s, 0, sizeof(*s));
	s->forward_ms = s->backward_ms = get_float8_nan();
	s->weight = 1;
	if (!resolve_device(q, &s->query, p) || !resolve_parallel(q, to, p))
		return false;
	pm_question_predictor(q, &to->ref);
	to->merged = pm_predictor_merges(to->ref.predictor->kind, &to->ref.predictor->options);
	if ((to->graph = pm_graph_look_up(q->graph_id, pm_expert_part(q), p)) == NULL)
		return false;
	s->query.layout = pm_layout_run(to->graph->has_layout, s->query.layout);
	return true;
}
