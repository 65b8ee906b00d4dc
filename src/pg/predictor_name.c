/*
 * predictor_name.c - rules for names of predictors.
 */
#include "postgres.h"

#include "predictor_name.h"

void
pm_predictor_name_check(const char *name)
{
	if (name[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("predictor name must not be empty")));
	if (strlen(name) > PM_MAX_PREDICTOR_NAME)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("predictor name is too long"),
				 errdetail("It has %zu bytes and may have %d.", strlen(name), PM_MAX_PREDICTOR_NAME)));
}
