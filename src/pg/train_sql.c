/*
 * train_sql.c - train().
 *
 * train() runs in the foreground, in the transaction of its caller: it is
 * cancelled like any query and rolls back clean.
 */
#include "postgres.h"

#include <math.h>

#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "cache/freshness.h"
#include "catalog.h"
#include "kind_options.h"
#include "measurements.h"
#include "results.h"
#include "run_hooks.h"
#include "settings.h"
#include "training.h"

PG_FUNCTION_INFO_V1(pm_train_sql);

static const char *
text_arg(FunctionCallInfo fcinfo, int i, const char *what)
{
	if (PG_ARGISNULL(i))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", what)));
	return text_to_cstring(PG_GETARG_TEXT_PP(i));
}

static Jsonb *
jsonb_arg(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : PG_GETARG_JSONB_P(i);
}

void
pm_training_args(FunctionCallInfo fcinfo, pm_training *t)
{
	pm_require_catalog();
	memset(t, 0, sizeof(*t));
	t->name = text_arg(fcinfo, 0, "predictor name");
	t->profiles = pm_some_profiles_arg(fcinfo, 2);
	t->warm_start = PG_ARGISNULL(4) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(4));
	t->started_at = GetCurrentTimestamp();
	pm_training_choose(t, text_arg(fcinfo, 1, "kind"), jsonb_arg(fcinfo, 3));
}

Datum
pm_train_sql(PG_FUNCTION_ARGS)
{
	pm_training t;
	pm_run_hooks hooks;
	int64		id;

	PreventCommandIfReadOnly("perfmodel.train()");
	pm_training_args(fcinfo, &t);
	SPI_connect();
	pm_training_check(&t);
	SPI_finish();
	pm_training_read(&t);
	pm_hooks_init(&hooks, psprintf("training \"%s\"", t.name));
	pm_training_fit(&t, &hooks);
	SPI_connect();
	id = pm_training_store(&t);
	SPI_finish();
	PG_RETURN_INT64(id);
}
