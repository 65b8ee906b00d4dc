/*
 * members.h - the members of a JSON object that is an argument of a function.
 */
#ifndef PM_PG_MEMBERS_H
#define PM_PG_MEMBERS_H

#include "utils/jsonb.h"

typedef struct pm_members
{
	JsonbIterator *it;
	char	   *name;			/* in the current context */
	JsonbValue	value;			/* arrays and objects whole, as jbvBinary */
} pm_members;

/* Before the first member of a document of which JB_ROOT_IS_OBJECT() is known. */
extern void pm_members_begin(pm_members *m, Jsonb *object);

/* The next member into m->name and m->value; false: there is none. */
extern bool pm_next_member(pm_members *m);

/* A number of a value of jbvNumeric; infinite where it is beyond a double. */
extern double pm_member_number(const JsonbValue *v);

#endif
