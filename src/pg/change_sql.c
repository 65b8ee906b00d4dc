/*
 * change_sql.c - computed_change(): changes that what_if_change() cannot ask a
 * predictor about.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/float.h"

#include "asking.h"
#include "cache/freshness.h"
#include "change/change.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "members.h"
#include "memory_asking.h"
#include "memory_factors.h"
#include "results.h"
#include "scaling.h"
#include "scaling/checks.h"

PG_FUNCTION_INFO_V1(pm_computed_change);

/* Arguments besides those of a question. */
#define CHANGE	3
#define FIGURES	4

#define N_COLUMNS 6

/* ---------- figures of a device ---------- */

static const pm_gpu_figure *
figure_named(const char *name)
{
	StringInfoData s;

	for (int i = 0; i < PM_N_GPU_FIGURES; i++)
		if (strcmp(name, pm_gpu_figures[i].column) == 0)
			return &pm_gpu_figures[i];
	initStringInfo(&s);
	for (int i = 0; i < PM_N_GPU_FIGURES; i++)
		appendStringInfo(&s, "%s%s", i > 0 ? ", " : "", pm_gpu_figures[i].column);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown figure \"%s\" of a device", pm_shown_name(name)),
			 errhint("Figures are the columns of perfmodel.gpu: %s.", s.data)));
}

static double
figure_value(const pm_gpu_figure *f, const JsonbValue *v)
{
	double		n = v->type == jbvNumeric ? pm_member_number(v) : get_float8_nan();

	if (!(n >= f->min && n <= f->max))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("figure \"%s\" must be a number between %g and %g", f->column, f->min, f->max)));
	return n;
}

/* Put the figures of an object into a data sheet; a member that is null changes nothing. */
static void
read_figures(Jsonb *doc, pm_gpu *gpu)
{
	pm_members	m;

	if (!JB_ROOT_IS_OBJECT(doc))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"figures\" must be a JSON object"),
				 errhint("For example: figures => '{\"mem_bw_gbs\": 4000, \"memory_gb\": 80}'.")));
	for (pm_members_begin(&m, doc); pm_next_member(&m);)
	{
		const pm_gpu_figure *f = figure_named(m.name);

		if (m.value.type != jbvNull)
			*(double *) ((char *) gpu + f->offset) = figure_value(f, &m.value);
	}
}

/* ---------- time ---------- */

/* The step on one device: before the change, and after it, which *touched is about. */
static void
times_around(pm_asked *asked, pm_change change, const pm_gpu *other, double *before_ms, double *after_ms, double *touched)
{
	const pm_sample *s = &asked->sample;
	pm_change_of of = {.question = &s->query};
	pm_tokens	work;
	pm_part    *parts;
	pm_arena	scratch;
	pm_status	st = {PM_OK};

	pm_ask_whole(asked);
	parts = palloc0(sizeof(pm_part) * (s->skeleton->n + 1));
	of.skeleton = s->skeleton;
	of.work = &work;
	of.parts = parts;
	pm_context_arena(&scratch, CurrentMemoryContext, 0);
	if (pm_predictor_predict(asked->ref.predictor, s, pm_workspace(), &of.step_ms, parts, &of.n_parts, &st) != PM_OK ||
		pm_tokens_build_work(s->skeleton, &s->query, &scratch, &work, &st) != PM_OK ||
		pm_change_step(change, &of, other, &scratch, after_ms, touched, &st) != PM_OK)
		pm_raise(&st);
	*before_ms = of.step_ms;
}

/* The step after the change on all devices of the question. */
static double
time_after(const pm_asked_words *q, pm_change change, const pm_gpu *other, double *touched)
{
	pm_asked	asked;
	pm_problem	p;
	pm_step_shape shape;
	pm_scaled	scaled;
	pm_status	st = {PM_OK};
	double		before_ms;
	double		after_ms;

	if (!pm_question_resolve(q, &asked, &p))
		pm_problem_raise(&p);
	times_around(&asked, change, other, &before_ms, &after_ms, touched);
	if (asked.fabric == NULL)
		return after_ms;
	/* shapes are those of the slim graph, the parts above those of the whole one */
	if (!pm_question_resolve(q, &asked, &p))
		pm_problem_raise(&p);
	pm_changed_shape_of(&asked, change, before_ms, after_ms, &shape);
	if (pm_division_check(&asked.parallel, &shape, &st) != PM_OK)
		pm_raise(&st);
	pm_scaled_step(&shape, &asked.parallel, asked.fabric, 1, &scaled);
	return scaled.step_ms;
}

/* ---------- memory ---------- */

static void
estimate(const pm_asked_words *q, pm_memory_question *m, pm_memory_estimate *e)
{
	pm_memory_plan_again(q, m);
	pm_memory_estimate_at(m->plan, &m->question, &m->factors, 0.9, e);
}

/* Before and after the change; other: the device with other figures, whose name may have gone. */
static void
memory_after(const pm_asked_words *q, pm_change change, pm_gpu *other, pm_memory_estimate *before, pm_memory_estimate *after)
{
	bool		flash = change == PM_CHANGE_FLASH_ATTENTION;
	pm_memory_question m;
	pm_problem	p;

	if (!pm_memory_ask(q, false, &m, &p))
		pm_problem_raise(&p);
	/* PyTorch of today fuses by itself: what is saved counts from attention as it is written */
	if (flash)
		m.options.fused_attention = false;
	estimate(q, &m, before);
	if (flash)
		m.options.fused_attention = m.options.masked_attention = true;
	m.options.fused_update = change == PM_CHANGE_FUSED_OPTIMIZER;
	other->name = m.question.gpu->name;
	m.question.gpu = other;
	estimate(q, &m, after);
}

/* ---------- */

static pm_change
change_named(const char *name)
{
	for (int i = 0; i < PM_N_CHANGES; i++)
		if (strcmp(name, pm_change_name[i]) == 0)
			return (pm_change) i;
	pm_unknown_word("change", name, pm_change_name, PM_N_CHANGES);
}

/* computed_change(graph_id, gpu, batch, change, figures, ...); figures NULL: those of the device. */
Datum
pm_computed_change(PG_FUNCTION_ARGS)
{
	pm_asked_words q;
	pm_manner	how;
	pm_asked	asked;
	pm_problem	p;
	pm_change	change;
	pm_gpu		other;
	pm_memory_estimate before;
	pm_memory_estimate after;
	double		touched;
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};

	if (!pm_question_read(fcinfo, &q, &how) || PG_NARGS() <= FIGURES || PG_ARGISNULL(CHANGE))
		PG_RETURN_NULL();
	change = change_named(text_to_cstring(PG_GETARG_TEXT_PP(CHANGE)));
	pm_freshen();
	if (!pm_question_resolve(&q, &asked, &p))
		pm_problem_raise(&p);
	other = *asked.sample.query.gpu;
	if (!PG_ARGISNULL(FIGURES))
		read_figures(PG_GETARG_JSONB_P(FIGURES), &other);
	values[0] = Float8GetDatum(time_after(&q, change, &other, &touched));
	memory_after(&q, change, &other, &before, &after);
	values[1] = pm_float8_or_null(after.peak_mb, &nulls[1]);
	values[2] = pm_float8_or_null(before.peak_mb - after.peak_mb, &nulls[2]);
	values[3] = BoolGetDatum(after.p_fits >= PM_MEMORY_SURE);
	values[4] = pm_probability_or_null(after.p_fits, &nulls[4]);
	values[5] = BoolGetDatum(touched > 0);
	return pm_record(fcinfo, values, nulls);
}
