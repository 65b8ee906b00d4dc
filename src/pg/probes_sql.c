/*
 * probes_sql.c - step_sensitivity(): what a step says about its card.
 * choose_probes(): which steps say most. suggest_probes() uses both.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "arrays.h"
#include "cache/freshness.h"
#include "errors.h"
#include "question.h"
#include "results.h"
#include "predictor/probes.h"
#include "predictor/sensitivity.h"

PG_FUNCTION_INFO_V1(pm_step_sensitivity);
PG_FUNCTION_INFO_V1(pm_choose_probes_sql);

/* ---------- step_sensitivity() ---------- */

Datum
pm_step_sensitivity(PG_FUNCTION_ARGS)
{
	pm_asked_words q;
	pm_manner	how;
	pm_asked	asked;
	pm_problem	problem;
	pm_status	st = {PM_OK};
	double		step_ms;
	double		z[PM_N_FACTORS];
	Datum		values[3];
	bool		nulls[3] = {false};

	if (!pm_question_read(fcinfo, &q, &how))
		PG_RETURN_NULL();
	pm_freshen();
	if (!pm_question_resolve(&q, &asked, &problem))
		pm_problem_raise(&problem);
	if (!pm_has_state(asked.ref.predictor))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a predictor of kind \"%s\" with these options does not predict the parts of a step", asked.ref.predictor->kind->name),
				 errhint("Kinds \"opclass\" and \"mdot\" do; \"mdot\" only with the default values of its options head and monotone.")));
	pm_ask_whole(&asked);
	if (pm_sensitivity(asked.ref.predictor, &asked.sample, NULL, pm_workspace(), &step_ms, z, &st) != PM_OK)
		pm_raise(&st);
	values[0] = Float8GetDatum(step_ms);
	values[1] = pm_text_array(pm_state_names.names, PM_N_FACTORS);
	values[2] = pm_float8_array(z, PM_N_FACTORS);
	return pm_record(fcinfo, values, nulls);
}

/* ---------- choose_probes() ---------- */

/* The elements of argument i, none of which is null; *n: how many there are. */
static Datum *
elements(FunctionCallInfo fcinfo, int i, int *n)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(i);
	Datum	   *v;
	bool	   *nulls;

	pm_array_read(array, &v, &nulls, n);
	if (ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("the arrays of choose_probes() must not contain nulls")));
	return v;
}

static void
require_length(const char *name, int n, int wanted)
{
	if (n != wanted)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s must have %d elements, not %d", name, wanted, n),
				 errdetail("steps_ms, networks and measured have one for each step, sensitivities %d.", PM_N_FACTORS)));
}

/* A matrix that is turned has as many elements. */
static void
require_rows(ArrayType *sensitivities)
{
	if (ARR_NDIM(sensitivities) > 1 && ARR_DIMS(sensitivities)[ARR_NDIM(sensitivities) - 1] != PM_N_FACTORS)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("the rows of sensitivities must have %d elements, not %d", PM_N_FACTORS, ARR_DIMS(sensitivities)[ARR_NDIM(sensitivities) - 1]),
				 errdetail("There is a row for each step, with an element for each factor that step_sensitivity() names.")));
}

#define MAX_SENSITIVITY	100

/* Arguments 0 to 3: sensitivities, steps_ms, networks, measured. */
static void
read_questions(FunctionCallInfo fcinfo, pm_probe_questions *q)
{
	int			n,
				other;
	Datum	   *z = elements(fcinfo, 0, &n);
	Datum	   *ms = elements(fcinfo, 1, &q->n);
	Datum	   *network;
	Datum	   *measured;
	double	   *to_z = palloc(sizeof(double) * Max(n, 1));
	double	   *to_ms = palloc(sizeof(double) * Max(q->n, 1));
	int64_t    *to_network = palloc(sizeof(int64_t) * Max(q->n, 1));
	bool	   *to_measured = palloc(sizeof(bool) * Max(q->n, 1));

	require_length("sensitivities", n, q->n * PM_N_FACTORS);
	require_rows(PG_GETARG_ARRAYTYPE_P(0));
	network = elements(fcinfo, 2, &other);
	require_length("networks", other, q->n);
	measured = elements(fcinfo, 3, &other);
	require_length("measured", other, q->n);
	for (int i = 0; i < n; i++)
	{
		to_z[i] = DatumGetFloat8(z[i]);
		if (!(fabs(to_z[i]) <= MAX_SENSITIVITY))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("a sensitivity must be between -%d and %d", MAX_SENSITIVITY, MAX_SENSITIVITY)));
	}
	for (int i = 0; i < q->n; i++)
	{
		double		step_ms = DatumGetFloat8(ms[i]);

		if (!(step_ms > 0 && isfinite(step_ms)))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("steps_ms must be above 0 and finite")));
		to_ms[i] = log(step_ms);
		to_network[i] = DatumGetInt64(network[i]);
		to_measured[i] = DatumGetBool(measured[i]);
	}
	q->z = to_z;
	q->log_ms = to_ms;
	q->network = to_network;
	q->measured = to_measured;
}

#define MOST_PROBES	1000

Datum
pm_choose_probes_sql(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	pm_probe_questions q = {0};
	int			most;
	int		   *picked;
	int			n;
	double	   *doubt;
	pm_status	st = {PM_OK};

	pm_rows_begin(fcinfo, &out);
	for (int i = 0; i < 6; i++)
		if (PG_ARGISNULL(i))
			return (Datum) 0;
	q.known = PG_GETARG_INT32(4);
	most = PG_GETARG_INT32(5);
	if (most < 1 || most > MOST_PROBES || q.known < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"n\" must be between 1 and %d, and \"known\" 0 or more", MOST_PROBES)));
	read_questions(fcinfo, &q);
	picked = palloc(sizeof(int) * most);
	doubt = palloc(sizeof(double) * (most + 1));
	if (pm_choose_probes(&q, most, pm_workspace(), picked, &n, doubt, &st) != PM_OK)
		pm_raise(&st);
	for (int i = 0; i < n; i++)
	{
		Datum		values[3] = {Int32GetDatum(picked[i] + 1), Float8GetDatum(100 * expm1(doubt[i])), Float8GetDatum(100 * expm1(doubt[i + 1]))};
		bool		nulls[3] = {false};

		pm_rows_add(&out, values, nulls);
	}
	return (Datum) 0;
}
