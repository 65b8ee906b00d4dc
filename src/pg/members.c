/*
 * members.c - the members of a JSON object that a function was given.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "members.h"

void
pm_members_begin(pm_members *m, Jsonb *object)
{
	m->it = JsonbIteratorInit(&object->root);
}

bool
pm_next_member(pm_members *m)
{
	JsonbIteratorToken token;

	do
		token = JsonbIteratorNext(&m->it, &m->value, true);
	while (token != WJB_KEY && token != WJB_DONE);
	if (token == WJB_DONE)
		return false;
	m->name = pnstrdup(m->value.val.string.val, m->value.val.string.len);
	JsonbIteratorNext(&m->it, &m->value, true);
	return true;
}

double
pm_member_number(const JsonbValue *v)
{
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(v->val.numeric)));
}
