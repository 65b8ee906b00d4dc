/*
 * triggers.c - access to the rows of triggers; triggers.h says why no other
 * file reads them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "arrays.h"
#include "compat.h"
#include "triggers.h"

pg_noreturn static void
refuse_call(const char *function, const char *how)
{
	ereport(ERROR,
			(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
			 errmsg("function \"%s\" must be called as a trigger%s", function, how)));
}

TriggerData *
pm_trigger_call(FunctionCallInfo fcinfo, const char *function)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		refuse_call(function, "");
	return (TriggerData *) fcinfo->context;
}

HeapTuple
pm_trigger_row(FunctionCallInfo fcinfo, const char *function)
{
	TriggerData *t = pm_trigger_call(fcinfo, function);
	bool		update = TRIGGER_FIRED_BY_UPDATE(t->tg_event);

	if (!TRIGGER_FIRED_BEFORE(t->tg_event) || !TRIGGER_FIRED_FOR_ROW(t->tg_event) ||
		!(update || TRIGGER_FIRED_BY_INSERT(t->tg_event)))
		refuse_call(function, " before insert or update, for each row");
	return update ? t->tg_newtuple : t->tg_trigtuple;
}

HeapTuple
pm_trigger_old_row(const TriggerData *t)
{
	bool		has = TRIGGER_FIRED_FOR_ROW(t->tg_event) &&
		(TRIGGER_FIRED_BY_UPDATE(t->tg_event) || TRIGGER_FIRED_BY_DELETE(t->tg_event));

	return has ? t->tg_trigtuple : NULL;
}

/* Number of the column, which is of this type. */
static int
column_of_type(Relation table, const char *column, Oid type)
{
	int			col = SPI_fnumber(RelationGetDescr(table), column);

	if (col <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("table \"%s\" has no column \"%s\"", RelationGetRelationName(table), column),
				 errdetail("The trigger function is for tables with a column \"%s\" of type %s.", column, format_type_be(type))));
	if (SPI_gettypeid(RelationGetDescr(table), col) != type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table \"%s\" is not of type %s", column, RelationGetRelationName(table), format_type_be(type)),
				 errdetail("The trigger function is for tables with a column \"%s\" of type %s.", column, format_type_be(type))));
	return col;
}

char *
pm_trigger_text(Relation table, HeapTuple row, const char *column)
{
	bool		isnull;
	Datum		value = heap_getattr(row, column_of_type(table, column, TEXTOID), RelationGetDescr(table), &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

List *
pm_trigger_texts(Relation table, HeapTuple row, const char *column)
{
	bool		isnull;
	Datum		value = heap_getattr(row, column_of_type(table, column, TEXTARRAYOID), RelationGetDescr(table), &isnull);
	List	   *texts = NIL;
	Datum	   *elems;
	bool	   *nulls;
	int			n = 0;

	if (!isnull)
		pm_array_read(DatumGetArrayTypeP(value), &elems, &nulls, &n);
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			texts = lappend(texts, TextDatumGetCString(elems[i]));
	return texts;
}

bool
pm_trigger_bool(Relation table, HeapTuple row, const char *column)
{
	bool		isnull;
	Datum		value = heap_getattr(row, column_of_type(table, column, BOOLOID), RelationGetDescr(table), &isnull);

	return !isnull && DatumGetBool(value);
}

bool
pm_trigger_number(Relation table, HeapTuple row, const char *column, double *value)
{
	TupleDesc	desc = RelationGetDescr(table);
	int			col = SPI_fnumber(desc, column);
	bool		is_integer = col > 0 && SPI_gettypeid(desc, col) == INT4OID;
	bool		isnull;
	Datum		v = heap_getattr(row, is_integer ? col : column_of_type(table, column, FLOAT8OID), desc, &isnull);

	if (!isnull)
		*value = is_integer ? DatumGetInt32(v) : DatumGetFloat8(v);
	return !isnull;
}

HeapTuple
pm_trigger_set_text(Relation table, HeapTuple row, const char *column, const char *value)
{
	int			col = column_of_type(table, column, TEXTOID);
	Datum		v = CStringGetTextDatum(value);
	bool		isnull = false;

	return heap_modify_tuple_by_cols(row, RelationGetDescr(table), 1, &col, &v, &isnull);
}
