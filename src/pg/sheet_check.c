/*
 * sheet_check.c - what is odd in a row of perfmodel.gpu: figures that do not go
 * together, as one of them is in another unit, and names that other rows have.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "cache/freshness.h"
#include "encoding.h"
#include "errors.h"
#include "gpus.h"
#include "sheet_check.h"
#include "tables.h"

/* ---------- figures ---------- */

/* Two figures whose ratio is alike on all cards. */
typedef struct sheet_ratio
{
	const char *column;
	const char *other;
	double		scale;
	double		low;			/* what is said to be odd is below it, or above */
	double		high;
	const char *what;
	const char *usual;			/* of the GPUs that come with perfmodel */
	const char *hint;
} sheet_ratio;

static const sheet_ratio ratios[] = {
	{"fp32_tflops", "mem_bw_gbs", 1e3, 3, 400, "FLOP for each byte of memory traffic", "10 to 106",
	"fp32_tflops is in TFLOP/s, and mem_bw_gbs in GB/s: 3.35 TB/s are 3350."},
	{"fp16_tensor_tflops", "fp32_tflops", 1, 0.4, 100, "times the FP32 rate", "2 to 28",
	"Both are in TFLOP/s: 1.98 PFLOP/s are 1980."},
	{"memory_gb", "mem_bw_gbs", 1, 1e-3, 2, "seconds to read all memory once", "0.013 to 0.08",
	"memory_gb is in GB, and mem_bw_gbs in GB/s: a card with 81920 MiB has 80."},
	{"l2_mb", "memory_gb", 1e-3, 1e-5, 0.1, "bytes of cache for each byte of memory", "0.0001 to 0.008",
	"l2_mb is in MB, and memory_gb in GB: 6144 KB are 6."},
};

static const char *
shown(double v)
{
	return psprintf(v >= 100 ? "%.0f" : "%.3g", v);
}

/* The peak rate from lanes and clock. */
static bool
check_lanes(Relation table, HeapTuple row, const char *name)
{
	double		fp32,
				sms,
				cores,
				clock,
				computed;

	if (!pm_trigger_number(table, row, "fp32_tflops", &fp32) || !pm_trigger_number(table, row, "sm_count", &sms) ||
		!pm_trigger_number(table, row, "cores_per_sm", &cores) || !pm_trigger_number(table, row, "clock_ghz", &clock))
		return true;
	computed = 2e-3 * sms * cores * clock;
	if (fp32 >= computed / 4 && fp32 <= computed * 4)
		return true;
	ereport(NOTICE,
			(errmsg("figures of gpu \"%s\" do not go together: fp32_tflops is %s, and its lanes and clock do %s TFLOP/s", pm_shown_name(name), shown(fp32), shown(computed)),
			 errdetail("A lane does 2 FLOP a cycle, so that the rate is 0.002 * sm_count * cores_per_sm * clock_ghz; of GPUs that come with perfmodel, it is 1 to 2 times that."),
			 errhint("fp32_tflops is in TFLOP/s and clock_ghz in GHz; cores_per_sm counts the FP32 lanes of one multiprocessor.")));
	return false;
}

/* The first that is odd. CPUs differ more, above all those of which one core is in use. */
static void
check_figures(Relation table, HeapTuple row, const char *name)
{
	if (pm_trigger_bool(table, row, "is_cpu"))
		return;
	for (int i = 0; i < lengthof(ratios); i++)
	{
		const sheet_ratio *r = &ratios[i];
		double		a,
					b,
					ratio;

		if (!pm_trigger_number(table, row, r->column, &a) || !pm_trigger_number(table, row, r->other, &b))
			continue;
		ratio = r->scale * a / b;
		if (ratio >= r->low && ratio <= r->high)
			continue;
		ereport(NOTICE,
				(errmsg("figures of gpu \"%s\" do not go together: %s is %s, and %s is %s", pm_shown_name(name), r->column, shown(a), r->other, shown(b)),
				 errdetail("That is %s %s; GPUs that come with perfmodel have %s.", shown(ratio), r->what, r->usual),
				 errhint("%s", r->hint)));
		return;
	}
	(void) check_lanes(table, row, name);
}

/* ---------- names ---------- */

#define SPELLINGS "Case, spaces, _ and - do not count in names of devices. Give the row another name or other aliases, unless that is meant."

/* own: name of the row; given: that, or an alias. */
static void
check_spelling(const char *own, const char *old, const char *given)
{
	const char *core = pm_to_core_or_null(given);
	const char *key = core != NULL ? pm_gpu_key(core) : "";
	bool		is_alias = given != own;
	bool		by_name,
				builtin;
	const pm_gpu *other;
	const char *says;

	other = *key != '\0' ? pm_gpu_with_key(key, pm_to_core_lossy(own), old != NULL ? pm_to_core_lossy(old) : NULL, &by_name, &builtin) : NULL;
	if (other == NULL)
		return;
	if (by_name && is_alias)
		says = "The alias has no effect: the name still means that GPU.";
	else if (by_name && builtin)
		says = "Only written exactly so, it means the new row; all other spellings mean that GPU.";
	else if (by_name || is_alias)
		says = "In all spellings but the exact names of the two, it is ambiguous from now on.";
	else
		says = "From now on, it means the new row.";
	ereport(NOTICE,
			(errmsg("%s \"%s\" is already a spelling of gpu \"%s\"", is_alias ? "alias" : "GPU name", pm_shown_name(given), pm_message_from_core(other->name)),
			 errdetail("%s", says),
			 errhint(SPELLINGS)));
}

/* Whether the user may read what names mean. name_alias is new since 0.1.0, whose rows are stored with this library before an update. */
static bool
may_read_names(void)
{
	Oid			alias = get_relname_relid("name_alias", get_namespace_oid("perfmodel", true));

	return pg_class_aclcheck(pm_table("gpu"), GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		(!OidIsValid(alias) || pg_class_aclcheck(alias, GetUserId(), ACL_SELECT) == ACLCHECK_OK);
}

/* Whether an update leaves the names as they were. */
static bool
same_names(Relation table, HeapTuple row, HeapTuple old)
{
	List	   *a = pm_trigger_texts(table, row, "aliases");
	List	   *b = pm_trigger_texts(table, old, "aliases");
	ListCell   *x,
			   *y;

	if (list_length(a) != list_length(b) || strcmp(pm_trigger_text(table, row, "name"), pm_trigger_text(table, old, "name")) != 0)
		return false;
	forboth(x, a, y, b)
		if (strcmp(lfirst(x), lfirst(y)) != 0)
			return false;
	return true;
}

/* Rows that come with perfmodel agree with each other, and are stored while the tables are being made. */
static void
check_names(Relation table, HeapTuple row, HeapTuple old, const char *name)
{
	ListCell   *alias;

	if (pm_trigger_bool(table, row, "builtin") || (old != NULL && same_names(table, row, old)) || !may_read_names())
		return;
	pm_freshen();
	check_spelling(name, old != NULL ? pm_trigger_text(table, old, "name") : NULL, name);
	foreach(alias, pm_trigger_texts(table, row, "aliases"))
		check_spelling(name, old != NULL ? pm_trigger_text(table, old, "name") : NULL, lfirst(alias));
}

void
pm_sheet_check(Relation table, HeapTuple row, HeapTuple old)
{
	const char *name = pm_trigger_text(table, row, "name");

	if (name == NULL)
		return;
	check_figures(table, row, name);
	check_names(table, row, old, name);
}
