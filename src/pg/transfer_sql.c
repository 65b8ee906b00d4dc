/*
 * transfer_sql.c - predict_from_step(): the time on a device of a step that was
 * measured on another.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"

#include "asking.h"
#include "cache/freshness.h"
#include "cache/prepared_cache.h"
#include "encoding.h"
#include "errors.h"
#include "gpus.h"
#include "results.h"
#include "predictor/transfer.h"

PG_FUNCTION_INFO_V1(pm_predict_from_step);

#define N_COLUMNS	7			/* step_ms, step_ms_low, step_ms_high, ratio, weight, in_domain, note */
#define LEAST_MS	1e-6		/* as perfmodel.profile has it */
#define MOST_MS		1e9
#define FAR_OFF		10			/* times the prediction, or a part of it: such a measurement is of something else */

/* A prediction for one of the devices, in memory of one's own. */
typedef struct side
{
	pm_side		side;
	pm_question query;
	pm_gpu		gpu;
	pm_verdict	verdict;
	pm_predictor_ref ref;
} side;

/* Predict q on a device. Raises. */
static void
predict_on(const pm_asked_words *q, text *gpu, double level, side *to)
{
	pm_asked_words words = *q;
	pm_problem	problem = {0};
	pm_status	st = {PM_OK};
	pm_asked	asked;
	pm_prepared *x;

	words.gpu = gpu;
	if (!pm_question_resolve(&words, &asked, &problem))
		pm_problem_raise(&problem);
	x = pm_prepared_get(&asked);
	to->verdict = (pm_verdict) {0};
	if (pm_predictor_predict_prepared(asked.ref.predictor, x, &asked.sample, pm_workspace(), &to->side.predicted_ms, &st) != PM_OK ||
		pm_predictor_judge_prepared(asked.ref.predictor, x, &asked.sample, to->side.predicted_ms, level, &to->verdict, &st) != PM_OK)
		pm_raise(&st);
	/* the next question may take the place of this one */
	to->gpu = *asked.sample.query.gpu;
	to->gpu.name = pstrdup(to->gpu.name);
	to->query = asked.sample.query;
	to->query.gpu = &to->gpu;
	to->query.graph = NULL;
	to->side.query = &to->query;
	to->side.distance = x->novelty.distance;
	to->side.verdict = &to->verdict;
	to->ref = asked.ref;
}

static double
measured_arg(FunctionCallInfo fcinfo, int i)
{
	double		ms = PG_GETARG_FLOAT8(i);

	if (!(ms >= LEAST_MS && ms <= MOST_MS))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("measured_ms must be between %g and %g, not %.15g", LEAST_MS, MOST_MS, ms)));
	return ms;
}

/* Whether both sides are within what was learned; *note: why not, or a remark, or NULL. */
static bool
in_domain(const side *from, double measured_ms, const side *to, const char **note)
{
	double		off = measured_ms / from->side.predicted_ms;

	*note = to->verdict.reason[0] != '\0' ? pm_message_from_core(to->verdict.reason) : NULL;
	/* said of a card that is not known, too: seconds in place of milliseconds would be carried over to it */
	if (off > FAR_OFF || off < 1.0 / FAR_OFF)
	{
		const char *far = psprintf("the measured step is %.3g times what is predicted for it", off);

		*note = to->verdict.in_domain || *note == NULL ? far : psprintf("%s; %s", far, *note);
		return false;
	}
	if (!to->verdict.in_domain)
		return false;
	if (!from->verdict.in_domain)
		*note = psprintf("where it was measured: %s", pm_message_from_core(from->verdict.reason));
	else
		return true;
	return false;
}

Datum
pm_predict_from_step(PG_FUNCTION_ARGS)
{
	pm_asked_words q;
	pm_manner	how;
	side		from,
				to;
	pm_carried	c;
	double		measured_ms;
	const char *note;
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};

	/* measured_on and measured_ms are no members of a question */
	if (!pm_question_read(fcinfo, &q, &how) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	measured_ms = measured_arg(fcinfo, 2);
	pm_freshen();
	predict_on(&q, PG_GETARG_TEXT_PP(1), how.level, &from);
	predict_on(&q, q.gpu, how.level, &to);
	pm_predictor_carry(to.ref.predictor, &from.side, measured_ms, &to.side, how.level, &c);
	values[0] = Float8GetDatum(c.step_ms);
	values[1] = pm_float8_or_null(c.low_ms, &nulls[1]);
	values[2] = pm_float8_or_null(c.high_ms, &nulls[2]);
	values[3] = Float8GetDatum(c.step_ms / measured_ms);
	values[4] = Float8GetDatum(c.weight);
	values[5] = BoolGetDatum(in_domain(&from, measured_ms, &to, &note));
	note = pm_note_short_name(PG_GETARG_TEXT_PP(1), &from.gpu, note);
	note = pm_note_format(q.dtype, &to.query, to.ref.predictor, pm_note_short_name(q.gpu, &to.gpu, note));
	values[6] = pm_text_or_null(note, &nulls[6]);
	return pm_record(fcinfo, values, nulls);
}
