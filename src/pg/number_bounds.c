/*
 * number_bounds.c - the trigger that explains which number of a measurement, a
 * data sheet, a cluster or another table that users fill is impossible.
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
#include "sheet_check.h"
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
	bool		or_zero;		/* 0 is good, too */
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
	{"interconnect", "gpus", 0, 65536, IN_RANGE, "the number of GPUs that the row is for (of a network: machines); 0: every number without a row of its own", "8"},
	{"interconnect", "busbw_gbs", 1e-6, 1e6, IN_RANGE, "the bus bandwidth of a large all-reduce in GB/s, as nccl-tests print it", "230"},
	{"interconnect", "ring_gbs", 1e-6, 1e6, IN_RANGE, "the bus bandwidth of all but all-reduces in GB/s; NULL: as busbw_gbs", "370"},
	{"interconnect", "latency_us", 0, 1e7, IN_RANGE, "the fixed time of an all-reduce in microseconds; NULL: computed", "25"},
	{"cluster", "gpus_per_node", 1, 1024, IN_RANGE, "the number of GPUs of a machine", "8"},
	{"cluster", "adapters", 1, 1024, IN_RANGE, "the number of network adapters of a machine", "4"},
	{"cluster", "nodes", 1, 65536, IN_RANGE, "the number of machines; NULL: not known", "12"},
	{"cluster", "intra_factor", 1e-3, 1e3, IN_RANGE, "a factor on the bandwidth of intra, which fit_cluster() fits", "1"},
	{"cluster", "inter_factor", 1e-3, 1e3, IN_RANGE, "a factor on the bandwidth of inter, which fit_cluster() fits", "1"},
	{"cluster", "pair_factor", 1e-3, 1e3, IN_RANGE, "a factor on the bandwidth between just two machines", "1"},
	{"cluster", "latency_factor", 0, 1e3, IN_RANGE, "a factor on every fixed time of messages", "1"},
	{"cluster", "compute_factor", 1e-3, 1e3, IN_RANGE, "a factor on the time of computing if several GPUs train", "1"},
	{"cluster", "steal", 0, 10, IN_RANGE, "the share by which computing is slower while gradients are sent", "0.05"},
	{"cluster", "straggler", 0, 10, IN_RANGE, "the standard deviation between the steps of different GPUs, as a share of the step", "0.01"},
	{"cluster", "contention", 0, 10, IN_RANGE, "the share by which computing is slower if a second GPU of the machine works", "0"},
	{"cluster", "contention_power", 0, 3, IN_RANGE, "the exponent in the formula of contention", "0.7"},
	{"cluster", "overlap", 0.01, 1, IN_RANGE, "the speed of messages while the GPUs compute, as a share of their speed while they do not", "0.5"},
	{"cluster", "host_s_per_gb", 0, 1000, IN_RANGE, "the seconds for a GB of messages through what the GPUs of a machine share; NULL: as usual for its link", "0.01"},
	{"cluster", "comm_error", 0, 3, IN_RANGE, "the standard deviation of ln(measured / predicted communication)", "0.3"},
	{"cluster", "step_error", 0, 3, IN_RANGE, "the standard deviation of ln(measured / predicted step), of networks in own_graphs", "0"},
	{"cluster", "unseen_above", 0, 3, IN_RANGE, "the standard deviation of ln(measured / predicted step) above 0, of other networks", "0.5"},
	{"cluster", "unseen_below", 0, 3, IN_RANGE, "the standard deviation of ln(measured / predicted step) below 0, of other networks", "0.1"},
	{"convergence", "batch", 1, MAX_INT, POSITIVE, "the number of samples of a step on all devices together", "1024"},
	{"convergence", "samples_to_target", 1, 1e18, IN_RANGE, "the number of samples until the target was reached, or until the training stopped", "1e8"},
	{"convergence", "grad_sqr", 1e-100, 1e100, IN_RANGE, "the square of the length of the gradient; NULL: not known", "0.01", true},
	{"convergence", "grad_var", 1e-100, 1e100, IN_RANGE, "the variance of the gradient of one sample; NULL: not known", "4.2", true},
	{"carbon_intensity", "g_per_kwh", 0, 1e5, IN_RANGE, "the emissions of the region in grams of CO2 equivalent for a kWh", "365"},
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
			 errmsg("%s must be %sbetween %s and %s, not %s", b->column, b->or_zero ? "0 or " : "", written(b->low), written(b->high), written(v)),
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

/* world_size counts the devices of all machines. */
static void
check_nodes(Relation table, HeapTuple row)
{
	double		nodes,
				world_size;

	if (!pm_trigger_number(table, row, "nodes", &nodes) || !pm_trigger_number(table, row, "world_size", &world_size) || nodes <= world_size)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("nodes must be at most world_size"),
			 errdetail("There are %s machines, but world_size, the number of devices of all of them, is %s.", written(nodes), written(world_size)),
			 errhint("For example: two machines with 8 devices each have nodes 2 and world_size 16."),
			 err_generic_string(PG_DIAG_SCHEMA_NAME, "perfmodel"),
			 err_generic_string(PG_DIAG_TABLE_NAME, "profile"),
			 err_generic_string(PG_DIAG_CONSTRAINT_NAME, "profile_nodes_at_most_world_size")));
}

/* A training that reached its target did so after some samples. */
static void
check_reached(Relation table, HeapTuple row)
{
	double		samples;

	if (!pm_trigger_bool(table, row, "reached") || pm_trigger_number(table, row, "samples_to_target", &samples))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("samples_to_target must be given if the target was reached"),
			 errdetail("It is the number of samples that the training had seen by then."),
			 errhint("For example: 1e8. For a training that still runs or has failed, leave reached NULL or set it to false."),
			 err_generic_string(PG_DIAG_SCHEMA_NAME, "perfmodel"),
			 err_generic_string(PG_DIAG_TABLE_NAME, "convergence"),
			 err_generic_string(PG_DIAG_CONSTRAINT_NAME, "convergence_reached_after_samples")));
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
			!(v >= bounds[i].low && v <= bounds[i].high) && !(bounds[i].or_zero && v == 0))
			refuse(&bounds[i], v);
	if (strcmp(of, "profile") == 0)
	{
		check_nodes(t->tg_relation, row);
		check_oom_batch(t->tg_relation, row);
	}
	if (strcmp(of, "convergence") == 0)
		check_reached(t->tg_relation, row);
	if (strcmp(of, "gpu") == 0)
		pm_sheet_check(t->tg_relation, row, pm_trigger_old_row(t));
	return PointerGetDatum(row);
}
