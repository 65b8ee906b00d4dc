/*
 * plans.c - statements whose plans a session keeps, with their arguments and
 * rows.
 *
 * State: the plans of pm_plan, prepared on first use and kept by the session;
 * the server revalidates them when tables change.  How many statements that
 * only read are being run, also after an error in one.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/float.h"

#include "compat.h"
#include "errors.h"
#include "plans.h"

static int	reads = 0;			/* that are being run, one inside another */

bool
pm_reading(void)
{
	return reads > 0;
}

static int
execute(pm_plan *p, Datum *values, const char *nulls, bool read_only)
{
	volatile int rc = 0;

	if (!read_only)
		return SPI_execute_plan(p->plan, values, nulls, false, 0);
	reads++;
	PG_TRY();
	{
		rc = SPI_execute_plan(p->plan, values, nulls, true, 0);
	}
	PG_FINALLY();
	{
		reads--;
	}
	PG_END_TRY();
	return rc;
}

uint64
pm_run(pm_plan *p, Datum *values, const char *nulls, bool read_only)
{
	int			rc;

	if (p->plan == NULL)
	{
		SPIPlanPtr	plan = SPI_prepare(p->sql, p->nargs, p->args);

		if (plan == NULL)
			elog(ERROR, "SPI_prepare failed for \"%s\": %s", p->sql, SPI_result_code_string(SPI_result));
		SPI_keepplan(plan);
		p->plan = plan;
	}
	rc = execute(p, values, nulls, read_only);
	if (rc < 0)
		elog(ERROR, "SPI_execute_plan failed for \"%s\": %s", p->sql, SPI_result_code_string(rc));
	return SPI_processed;
}

void
pm_not_stored(pm_plan *p, const char *table, const char *done)
{
	/* a plan that a rule has left nothing of is not made anew when the rule goes */
	SPI_freeplan(p->plan);
	p->plan = NULL;
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION),
			 errmsg("a row of perfmodel.%s was not %s", table, done),
			 errdetail("Nothing of what belongs to it is %s either.", done),
			 errhint("A trigger or a rule of yours on perfmodel.%s may keep rows away.", table)));
}

void
pm_run_store(pm_plan *p, Datum *values, const char *nulls, const char *table)
{
	if (pm_run(p, values, nulls, false) != 1)
		pm_not_stored(p, table, "stored");
}

void
pm_arg(pm_args *a, Datum v)
{
	a->v[a->n] = v;
	a->nulls[a->n++] = ' ';
}

void
pm_arg_null(pm_args *a)
{
	a->v[a->n] = (Datum) 0;
	a->nulls[a->n++] = 'n';
}

void
pm_arg_float8(pm_args *a, double v)
{
	if (isnan(v))
		pm_arg_null(a);
	else
		pm_arg(a, Float8GetDatum(v));
}

void
pm_arg_text(pm_args *a, const char *s)
{
	if (s == NULL)
		pm_arg_null(a);
	else
		pm_arg(a, CStringGetTextDatum(s));
}

/* An owner may have given a column of a table another type, whose bytes would be read as what they are not. */
static void
check_type(int col, Oid type)
{
	Oid			is = SPI_gettypeid(SPI_tuptable->tupdesc, col);

	if (is == type || IsBinaryCoercible(is, type))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of a table of perfmodel has type %s, not %s", SPI_fname(SPI_tuptable->tupdesc, col),
					format_type_be(is), format_type_be(type)),
			 errhint("Give the column its type back: ALTER TABLE ... ALTER COLUMN ... TYPE %s.", format_type_be(type))));
}

/* An owner may have dropped what kept nulls, or words that are not known, out of a table. */
pg_noreturn static void
refuse_null(int col)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("column \"%s\" of a table of perfmodel has a null", SPI_fname(SPI_tuptable->tupdesc, col)),
			 errhint("Remove such rows, and give the column its constraint back: ALTER TABLE ... ALTER COLUMN ... SET NOT NULL.")));
}

Datum
pm_value(uint64 row, int col, Oid type, bool *isnull)
{
	bool		null;
	Datum		v;

	/* a statement that returned fewer rows than it must has set no others */
	if (SPI_tuptable == NULL || row >= SPI_tuptable->numvals)
		elog(ERROR, "statement returned no row %llu", (unsigned long long) row);
	check_type(col, type);
	v = SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, col, &null);

	if (isnull != NULL)
		*isnull = null;
	else if (null)
		refuse_null(col);
	return v;
}

double
pm_value_float8(uint64 row, int col)
{
	bool		isnull;
	Datum		v = pm_value(row, col, FLOAT8OID, &isnull);

	return isnull ? get_float8_nan() : DatumGetFloat8(v);
}

static char *
text_in(MemoryContext cxt, Datum v)
{
	MemoryContext old = MemoryContextSwitchTo(cxt);
	char	   *s = TextDatumGetCString(v);

	MemoryContextSwitchTo(old);
	return s;
}

char *
pm_value_text(uint64 row, int col, MemoryContext cxt)
{
	return text_in(cxt, pm_value(row, col, TEXTOID, NULL));
}

char *
pm_value_text_or_null(uint64 row, int col, MemoryContext cxt)
{
	bool		isnull;
	Datum		v = pm_value(row, col, TEXTOID, &isnull);

	return isnull ? NULL : text_in(cxt, v);
}

int
pm_value_word(uint64 row, int col, const pm_word_list *list)
{
	const char *word = TextDatumGetCString(pm_value(row, col, TEXTOID, NULL));
	int			at = pm_word_find(list, word);

	if (at < 0)
		ereport(ERROR,
				(errcode(ERRCODE_CHECK_VIOLATION),
				 errmsg("column \"%s\" of a table of perfmodel has the unknown %s \"%s\"", SPI_fname(SPI_tuptable->tupdesc, col),
						list->what, pm_shown_name(word)),
				 errhint("Known are %s.", pm_quoted_list(list->names, list->n))));
	return at;
}
