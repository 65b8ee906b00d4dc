/*
 * asking.c - from a question to its answer: the memo, the core, and the
 * columns that functions return.
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "asking.h"
#include "cache/answers.h"
#include "cache/freshness.h"
#include "cache/graph_cache.h"
#include "compat.h"
#include "encoding.h"
#include "errors.h"
#include "computed.h"
#include "gpus.h"
#include "memory_asking.h"
#include "results.h"
#include "scaling.h"

#define NO_INTERVAL_CODE "no_interval"
#define UNFITTED_CLUSTER_CODE "unfitted_cluster"
#define COMPILED_CODE "compile_not_seen"

/* ---------- asking the core ---------- */

/* Interval, domain and note of an answer that has its step_ms. The note is in the current context. */
static void
judge(const pm_asked *q, pm_prepared *x, double level, pm_answer *a)
{
	const pm_predictor *p = q->ref.predictor;
	pm_verdict	v = {0};
	pm_status	st = {PM_OK};
	const char *missing = pm_trust_calibrated(p->trust) ? NULL : "no interval: the predictor is not calibrated";

	StaticAssertStmt(PM_N_CAUSES <= PM_REASON_UNFITTED_CLUSTER, "each reason needs a bit of its own");
	a->level = level;
	if (pm_predictor_judge_prepared(p, x, &q->sample, a->step_ms, level, &v, &st) != PM_OK)
		pm_raise(&st);
	a->low_ms = v.low_ms;
	a->high_ms = v.high_ms;
	a->in_domain = v.in_domain;
	a->reasons = v.causes | (missing ? 1u << PM_REASON_NO_INTERVAL : 0);
	if (missing != NULL)
		a->note = psprintf("%s%s%s", pm_message_from_core(v.reason), v.reason[0] ? "; " : "", missing);
	else if (v.reason[0])
		a->note = pstrdup(pm_message_from_core(v.reason));
}

static bool
was_trained_on(const pm_predictor *p, const char *gpu)
{
	for (int i = 0; i < pm_trust_gpu_count(p->trust); i++)
		if (strcmp(pm_trust_gpu(p->trust, i), gpu) == 0)
			return true;
	return false;
}

/* Which device a short name was taken for; where that one was not in training, also one that was and that it may mean. */
static void
note_short_name(const pm_asked_words *q, const pm_asked *asked, pm_answer *a)
{
	const pm_predictor *p = asked->ref.predictor;
	const pm_gpu *taken = asked->sample.query.gpu;
	const char **others;
	int			n = pm_gpu_others_meant(text_to_cstring(q->gpu), &others);

	a->note = pm_note_short_name(q->gpu, taken, a->note);
	for (int i = 0; i < n && !was_trained_on(p, taken->name); i++)
		if (was_trained_on(p, others[i]))
		{
			a->note = psprintf("%s; \"%s\" was in training", a->note, pm_message_from_core(others[i]));
			return;
		}
}

char *
pm_note_format(const text *given, const pm_question *to, const pm_predictor *p, const char *note)
{
	int			dtype = given != NULL ? pm_dtype_parse(text_to_cstring(given)) : (int) to->dtype;
	pm_dtype	answered = pm_trust_format(p->trust, to->gpu, to->dtype);
	const char *said;

	if (dtype >= 0 && !pm_gpu_computes_in(to->gpu, (pm_dtype) dtype))
		said = psprintf("gpu \"%s\" has no units for dtype %s and computes at the rate of fp32", pm_message_from_core(to->gpu->name), pm_dtype_name[dtype]);
	else if (answered != to->dtype)
		said = psprintf("answered as dtype %s", pm_dtype_name[answered]);
	else
		return unconstify(char *, note);
	return psprintf("%s%s%s", note ? note : "", note ? "; " : "", said);
}

/* Whether the data sheet of the device has the figures that a step is computed from. */
static bool
sheet_suffices(const pm_gpu *gpu, pm_problem *p)
{
	pm_status	st = {PM_OK};

	if (pm_gpu_check(gpu, &st) == PM_OK)
		return true;
	*p = pm_problem_of_status("incomplete_gpu", &st);
	return false;
}

/* False: *p says why the question has no answer, in the current context. */
static bool
compute(const pm_asked_words *q, double level, pm_answer *a, pm_problem *p)
{
	pm_asked	asked;
	pm_prepared *x;
	pm_status	st = {PM_OK};
	double		computed = 1;	/* the step over that which the predictor knows */

	*a = (pm_answer) {.level = get_float8_nan()};
	if (!pm_question_resolve_computed(q, &asked, p) || !sheet_suffices(asked.sample.query.gpu, p) ||
		!pm_graph_suffices(asked.graph, asked.merged, p))
		return false;
	a->predictor_id = asked.ref.id;
	x = pm_prepared_get(&asked);
	if (pm_predictor_predict_prepared(asked.ref.predictor, x, &asked.sample, pm_workspace(), &a->step_ms, &st) != PM_OK)
		pm_raise(&st);
	if (!isnan(level))
	{
		judge(&asked, x, level, a);
		note_short_name(q, &asked, a);
		a->note = pm_note_format(q->dtype, &asked.sample.query, asked.ref.predictor, a->note);
	}
	if (PM_IS_COMPUTED(&asked.sample.query))
		computed = pm_compute_answer(&asked, a);
	if (!isnan(level))
		pm_note_work(&asked, x, a);
	if (asked.fabric != NULL && !pm_scale_answer(&asked, x, a, p))
	{
		*a = (pm_answer) {.level = get_float8_nan()};
		return false;
	}
	/* the roofline of the same work in 16 bits, and not compiled */
	a->roofline_ms *= computed;
	a->alone_share *= computed;
	return true;
}

static char *
copy(const char *s)
{
	return s != NULL ? pstrdup(s) : NULL;
}

/* The same, leaving nothing behind in the current context but note and problem. */
static bool
compute_apart(const pm_asked_words *q, double level, pm_answer *a, pm_problem *p)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "perfmodel predict", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	bool		answered = compute(q, level, a, p);

	MemoryContextSwitchTo(old);
	if (!answered)
		/* a call may have as many problems as questions */
		*p = (pm_problem) {p->reason, p->sqlstate, copy(p->message), copy(p->detail), copy(p->hint), p->hint_for, copy(p->name)};
	else if (a->note != NULL)
		a->note = pstrdup(a->note);
	MemoryContextDelete(work);
	return answered;
}

static bool
find_or_compute(const pm_asked_words *q, double level, pm_answer *a, pm_problem *p)
{
	pm_answer_key key;
	uint64		generation;

	pm_freshen();
	if (!pm_answer_key_make(q, &key))
		return compute_apart(q, level, a, p);
	if (pm_answer_find(&key, level, a))
		return true;
	generation = pm_generation;
	if (!compute_apart(q, level, a, p))
		return false;
	/* a function of the user's that ran on the way, in a trigger or a policy, may have ended the generation */
	if (generation == pm_generation)
		pm_answer_keep(&key, a);
	return true;
}

/* In a report with thousands of rows, which of them it was. */
static void
say_question(void *arg)
{
	const pm_asked_words *q = arg;

	errcontext("prediction for graph_id %lld on gpu \"%.*s\" at batch %d", (long long) q->graph_id,
			   pg_mbcliplen(VARDATA_ANY(q->gpu), VARSIZE_ANY_EXHDR(q->gpu), 64), VARDATA_ANY(q->gpu), q->batch);
}

bool
pm_ask(const pm_asked_words *q, const pm_manner *how, pm_answer *a, pm_problem *p)
{
	ErrorContextCallback frame = {.previous = error_context_stack,.callback = say_question,.arg = unconstify(pm_asked_words *, q)};
	bool		answered;

	error_context_stack = &frame;
	answered = find_or_compute(q, how->level, a, p);
	if (!answered && !how->problem_is_null)
		pm_problem_raise(p);
	error_context_stack = frame.previous;
	return answered;
}

bool
pm_ask_memory(const pm_asked_words *q, pm_answer *a, pm_problem *p)
{
	uint64		generation = pm_generation;
	pm_memory_question m;
	pm_memory_estimate e;
	pm_answer_key key;

	if (a->memory_known)
		return true;
	if (!pm_memory_ask(q, false, &m, p))
		return false;
	pm_memory_estimate_at(m.plan, &m.question, &m.factors, 0.9, &e);
	a->peak_mb = e.peak_mb;
	a->p_fits = e.p_fits;
	a->memory_known = true;
	/* the answer may be of a generation that has ended since */
	if (generation == pm_generation && pm_answer_key_make(q, &key))
	{
		a->note = copy(a->note);
		pm_answer_keep(&key, a);
	}
	return true;
}

/* ---------- columns ---------- */

static Datum
reasons_or_null(uint32 reasons, bool *isnull)
{
	const char *names[PM_N_CAUSES + 3];
	int			n = 0;

	for (int cause = 0; cause < PM_N_CAUSES; cause++)
		if (reasons & 1u << cause)
			names[n++] = pm_cause_name[cause];
	if (reasons & 1u << PM_REASON_UNFITTED_CLUSTER)
		names[n++] = UNFITTED_CLUSTER_CODE;
	if (reasons & 1u << PM_REASON_COMPILED)
		names[n++] = COMPILED_CODE;
	if (reasons & 1u << PM_REASON_NO_INTERVAL)
		names[n++] = NO_INTERVAL_CODE;
	*isnull = n == 0;
	return n == 0 ? (Datum) 0 : pm_text_array(names, n);
}

double
pm_samples_of(const pm_asked_words *q)
{
	return (double) q->batch * q->parallel.accumulation * PM_REPLICAS(&q->parallel);
}

void
pm_fill_answer(const pm_answer *a, const pm_asked_words *q, Datum *values, bool *nulls)
{
	values[0] = Float8GetDatum(a->step_ms);
	values[1] = pm_float8_or_null(a->low_ms, &nulls[1]);
	values[2] = pm_float8_or_null(a->high_ms, &nulls[2]);
	values[3] = Float8GetDatum(1000.0 * pm_samples_of(q) / a->step_ms);
	values[4] = BoolGetDatum(a->in_domain);
	values[5] = Int64GetDatum(a->predictor_id);
	values[6] = pm_text_or_null(a->note, &nulls[6]);
	values[7] = reasons_or_null(a->reasons, &nulls[7]);
}

void
pm_fill_problem(const pm_problem *p, Datum *values, bool *nulls)
{
	const char *reason = p->reason;

	memset(nulls, true, sizeof(bool) * PM_N_ANSWER);
	values[6] = CStringGetTextDatum(p->message);
	values[7] = pm_text_array(&reason, 1);
	nulls[6] = nulls[7] = false;
}
