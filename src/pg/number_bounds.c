/*
 * number_bounds.c - the trigger that explains which number of a measurement or
 * a data sheet is impossible.
 *
 * The tables have checks, which hold without it, too.  The server's message about
 * a check has its name and the whole row; this one has the value, the bounds and
 * what the column means.  sql/profile.sql compares the bounds with the checks.
 */
#include "postgres.h"

#include <math.h>

#include "utils/builtins.h"
#include "utils/rel.h"

#include "errors.h"
#include "triggers.h"

PG_FUNCTION_INFO_V1(pm_check_numbers);

typedef struct number_bound
{
	const char *table;
	const char *column;
	double		low;
	double		high;
	const char *check;			/* the constraint is TABLE_COLUMN_check */
	const char *what;			/* a detail */
	const char *example;
} number_bound;

#define IN_RANGE "in_range"
#define POSITIVE "positive"
#define MAX_INT 2147483647

static const number_bound bounds[] = {
	{"profile", "batch", 1, 16777216, IN_RANGE, "the number of samples of one step on one device", "32"},
	{"profile", "world_size", 1, MAX_INT, POSITIVE, "the number of devices that trained together", "1"},
	{"profile", "nodes", 1, MAX_INT, POSITIVE, "the number of machines with these devices", "1"},
	{"profile", "step_ms", 1e-6, 1e9, IN_RANGE, "the time of one step in milliseconds", "41.7"},
	{"profile", "forward_ms", 0, 1e9, IN_RANGE, "the time of the forward pass in milliseconds; NULL: not measured", "13.9"},
	{"profile", "backward_ms", 0, 1e9, IN_RANGE, "the time of the backward pass in milliseconds; NULL: not measured", "27.1"},
	{"profile", "peak_memory_mb", 0, 1e9, IN_RANGE, "the peak device memory in units of 2^20 bytes; NULL: not measured", "8140"},
	{"profile", "spread", 0, 1e6, IN_RANGE, "the interquartile range of the step times over their median; NULL: not known", "0.02"},
	{"profile", "fits_batch", 1, 16777216, IN_RANGE, "the largest batch that was seen to fit; NULL: the batch of this row", "64"},
	{"profile", "oom_batch", 1, 16777216, IN_RANGE, "the smallest batch that ran out of memory; NULL: none was seen to", "128"},
	{"op_profile", "batch", 1, 16777216, IN_RANGE, "the number of samples in the inputs", "32"},
	{"op_profile", "forward_ms", 1e-6, 1e9, IN_RANGE, "the time of one forward pass in milliseconds", "0.41"},
	{"op_profile", "backward_ms", 1e-6, 1e9, IN_RANGE, "the time of the backward pass in milliseconds; NULL: there is none, or it was not measured", "0.83"},
	{"op_profile", "spread", 0, 1e6, IN_RANGE, "the interquartile range of the times over their median; NULL: not known", "0.02"},
	{"gpu", "memory_gb", 1e-3, 1e6, IN_RANGE, "the memory of the device in GB; NULL for a CPU", "24"},
	{"gpu", "mem_bw_gbs", 1e-3, 1e7, IN_RANGE, "the peak memory bandwidth in GB/s", "936"},
	{"gpu", "sm_count", 1, 1000000, IN_RANGE, "the number of multiprocessors, compute units or CPU cores", "82"},
	{"gpu", "cores_per_sm", 1, 1000000, IN_RANGE, "the number of FP32 lanes of a multiprocessor", "128"},
	{"gpu", "clock_ghz", 1e-3, 1e3, IN_RANGE, "the boost clock in GHz", "1.695"},
	{"gpu", "fp32_tflops", 1e-6, 1e7, IN_RANGE, "the peak FP32 rate in TFLOP/s", "35.6"},
	{"gpu", "fp16_tensor_tflops", 1e-6, 1e7, IN_RANGE, "the dense peak FP16 rate of the matrix units in TFLOP/s; NULL: it has none", "142"},
	{"gpu", "l2_mb", 1e-4, 1e6, IN_RANGE, "the last on-chip cache in MB; of a CPU the second-level cache of a core", "6"},
	{"gpu", "tdp_w", 1e-2, 1e6, IN_RANGE, "the power in W that the board may draw; NULL: not known", "350"},
	{"gpu", "base_clock_ghz", 1e-3, 1e3, IN_RANGE, "the base clock in GHz; NULL: not known", "1.395"},
	{"gpu", "compute_capability", 1, 1e3, IN_RANGE, "the compute capability of an NVIDIA GPU; NULL for others", "8.6"},
	{"gpu", "l1_kb", 1e-2, 1e6, IN_RANGE, "the L1 cache and shared memory of a multiprocessor in KB; NULL: not known", "128"},
	{"gpu", "register_kb", 1e-2, 1e6, IN_RANGE, "the registers of a multiprocessor in KB; NULL: not known", "256"},
	{"gpu", "fp16_tflops", 1e-6, 1e7, IN_RANGE, "the peak FP16 rate without matrix units in TFLOP/s; NULL: not known", "35.6"},
};

/* As the server writes a float8. */
static const char *
written(double v)
{
	return isnan(v) ? "NaN" : isinf(v) ? (v > 0 ? "Infinity" : "-Infinity") : psprintf("%.10g", v);
}

/* Like a violation of the table's own check. */
pg_noreturn static void
refuse(const number_bound *b, double v)
{
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("%s must be between %s and %s, not %s", b->column, written(b->low), written(b->high), written(v)),
			 errdetail("It is %s.", b->what),
			 errhint("For example: %s.", b->example),
			 err_generic_string(PG_DIAG_SCHEMA_NAME, "perfmodel"),
			 err_generic_string(PG_DIAG_TABLE_NAME, b->table),
			 err_generic_string(PG_DIAG_CONSTRAINT_NAME, psprintf("%s_%s_%s", b->table, b->column, b->check))));
}

/* What ran out of memory is a larger batch than that of the row, and than what fitted. */
static void
check_oom_batch(Relation table, HeapTuple row)
{
	double		oom,
				batch = 0,
				fits = 0;

	if (!pm_trigger_number(table, row, "oom_batch", &oom))
		return;
	if (pm_trigger_number(table, row, "batch", &batch) && pm_trigger_number(table, row, "fits_batch", &fits))
		batch = fmax(batch, fits);
	if (oom > batch)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("oom_batch must be larger than batch and fits_batch"),
			 errdetail("It is %s: the smallest batch that ran out of memory. A batch of %s did not.", written(oom), written(batch)),
			 errhint("Leave it NULL if no batch was seen to run out of memory."),
			 err_generic_string(PG_DIAG_SCHEMA_NAME, "perfmodel"),
			 err_generic_string(PG_DIAG_TABLE_NAME, "profile"),
			 err_generic_string(PG_DIAG_CONSTRAINT_NAME, "profile_oom_batch_above")));
}

/* Its argument is the table whose bounds are meant. */
Datum
pm_check_numbers(PG_FUNCTION_ARGS)
{
	HeapTuple	row = pm_trigger_row(fcinfo, "check_numbers");
	TriggerData *t = pm_trigger_call(fcinfo, "check_numbers");
	const char *of = t->tg_trigger->tgnargs > 0 ? t->tg_trigger->tgargs[0] : "";
	double		v;

	for (int i = 0; i < lengthof(bounds); i++)
		if (strcmp(bounds[i].table, of) == 0 && pm_trigger_number(t->tg_relation, row, bounds[i].column, &v) &&
			!(v >= bounds[i].low && v <= bounds[i].high))
			refuse(&bounds[i], v);
	if (strcmp(of, "profile") == 0)
		check_oom_batch(t->tg_relation, row);
	return PointerGetDatum(row);
}
