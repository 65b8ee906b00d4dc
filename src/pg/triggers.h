/*
 * triggers.h - access to the row that a trigger function is given.
 *
 * The owner of a table may put a trigger on it, so a trigger function must ask
 * for the columns and their types first. Only these functions read and change
 * rows of triggers (test/rules.sh trigger_rows).
 */
#ifndef PM_PG_TRIGGERS_H
#define PM_PG_TRIGGERS_H

#include "commands/trigger.h"
#include "nodes/pg_list.h"

/* Raise unless the function is called as a trigger. */
extern TriggerData *pm_trigger_call(FunctionCallInfo fcinfo, const char *function);

/* The new row of a trigger before insert or update of each row; raises when it is called otherwise. */
extern HeapTuple pm_trigger_row(FunctionCallInfo fcinfo, const char *function);

/*
 * The value of a column of type text in the current context, NULL for null.
 * Raises when the table has no such column, or one of another type.
 */
extern char *pm_trigger_text(Relation table, HeapTuple row, const char *column);

/* The same of a column of type text[]: its elements but those that are null, as char *. */
extern List *pm_trigger_texts(Relation table, HeapTuple row, const char *column);

/* The same of a column of type boolean; false for null. */
extern bool pm_trigger_bool(Relation table, HeapTuple row, const char *column);

/* The value of a column of type integer or double precision; false for null. Raises like pm_trigger_text(). */
extern bool pm_trigger_number(Relation table, HeapTuple row, const char *column, double *value);

/* The row as it was before an update, or that is to be deleted; NULL of another trigger. */
extern HeapTuple pm_trigger_old_row(const TriggerData *t);

/* A copy of row with another value in that column. Raises like pm_trigger_text(). */
extern HeapTuple pm_trigger_set_text(Relation table, HeapTuple row, const char *column, const char *value);

#endif
