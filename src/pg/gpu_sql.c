/*
 * gpu_sql.c - data sheets of devices, and their names.
 *
 * State: all rows of perfmodel.gpu, and those of perfmodel.name_alias that are
 * about devices, read together because there are a few dozen, in a context of
 * their own that is thrown away with their generation.
 *
 * Names are compared without case, spaces, _, - and other punctuation, and
 * without the words that some drivers put in front (NVIDIA, GeForce, Tesla,
 * AMD), so that 'nvidia_geforce_rtx_3090' and 'RTX 3090' are one.  A name that
 * is written exactly as in the table always means that row, and one that is
 * written exactly as in name_alias the device that is said there.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "nodes/pg_list.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "arrays.h"
#include "cache/freshness.h"
#include "encoding.h"
#include "errors.h"
#include "gpus.h"
#include "plans.h"
#include "triggers.h"
#include "plan/card_names.h"
#include "plan/gres.h"

PG_FUNCTION_INFO_V1(pm_gpu_name);
PG_FUNCTION_INFO_V1(pm_find_gpu);
PG_FUNCTION_INFO_V1(pm_gres_count);
PG_FUNCTION_INFO_V1(pm_profile_gpu_by_name);

#define LIST_QUERY "SELECT name FROM perfmodel.gpu"
#define FIRST_DEVICE "INSERT its data sheet into perfmodel.gpu"

/* A column that the table of 0.1.0 lacks, where measurements are stored with this library before the update. */
#define SINCE_2(column) " (j OPERATOR(pg_catalog.->>) '" column "')::pg_catalog.float8,"

typedef struct device
{
	pm_gpu		sheet;
	bool		builtin;
	char	   *link;			/* column interconnect; NULL: not known */
	int			n_keys;
	char	  **keys;			/* [n_keys] normalised: of the name, then of the aliases */
	List	   *given;			/* of char *: its names in name_alias */
	pm_card_name words;			/* of the name, to find those that are near to one which is unknown */
} device;

static MemoryContext devices_cxt = NULL;
static List *dangling = NIL;		/* (alias, name) of rows of name_alias that lead to no device */
static device *devices = NULL;
static int	n_devices = 0;
static uint64 devices_generation = 0;

/* ---------- reading the table ---------- */

static void
read_keys(device *d, uint64 row, int col)
{
	Datum	   *elems;
	bool	   *nulls;
	int			n;

	pm_array_read(DatumGetArrayTypeP(pm_value(row, col, TEXTARRAYOID, NULL)), &elems, &nulls, &n);
	d->keys = palloc(sizeof(char *) * (n + 1));
	d->keys[0] = pm_gpu_key(d->sheet.name);
	d->n_keys = 1;
	for (int i = 0; i < n; i++)
	{
		char	   *alias = nulls[i] ? NULL : pm_to_core_or_null(TextDatumGetCString(elems[i]));

		if (alias != NULL)
			d->keys[d->n_keys++] = pm_gpu_key(alias);
	}
}

/* False for a row whose name is no text, as SQL_ASCII allows: nobody can ask for it, and the others are there as ever. */
static bool
read_device(device *d, uint64 row)
{
	char	   *link;

	d->sheet.name = pm_to_core_or_null(pm_value_text(row, 1, CurrentMemoryContext));
	if (d->sheet.name == NULL)
		return false;
	d->sheet.memory_gb = pm_value_float8(row, 2);
	d->sheet.mem_bw_gbs = pm_value_float8(row, 3);
	d->sheet.sm_count = pm_value_float8(row, 4);
	d->sheet.cores_per_sm = pm_value_float8(row, 5);
	d->sheet.clock_ghz = pm_value_float8(row, 6);
	d->sheet.fp32_tflops = pm_value_float8(row, 7);
	d->sheet.fp16_tensor_tflops = pm_value_float8(row, 8);
	d->sheet.l2_mb = pm_value_float8(row, 9);
	d->sheet.is_cpu = DatumGetBool(pm_value(row, 10, BOOLOID, NULL));
	d->sheet.tdp_w = pm_value_float8(row, 11);
	d->sheet.base_clock_ghz = pm_value_float8(row, 12);
	d->sheet.compute_capability = pm_value_float8(row, 13);
	d->sheet.l1_kb = pm_value_float8(row, 14);
	d->sheet.register_kb = pm_value_float8(row, 15);
	d->sheet.fp16_tflops = pm_value_float8(row, 16);
	read_keys(d, row, 17);
	d->builtin = DatumGetBool(pm_value(row, 18, BOOLOID, NULL));
	link = pm_value_text_or_null(row, 19, CurrentMemoryContext);
	d->link = link != NULL ? pm_to_core_or_null(link) : NULL;
	pm_card_name_read(d->sheet.is_cpu ? psprintf("%s CPU", d->sheet.name) : d->sheet.name, &d->words);
	return true;
}

/* JSON has as many digits of a number as the session's extra_float_digits says: all of them while `query` is run. */
static void
run_with_all_digits(pm_plan *query)
{
	int			level = NewGUCNestLevel();

	(void) set_config_option("extra_float_digits", "3", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	pm_run(query, NULL, NULL, true);
	AtEOXact_GUC(true, level);
}

static void
read_devices(void)
{
	static pm_plan query = {
		"SELECT g.name, g.memory_gb, g.mem_bw_gbs, g.sm_count::pg_catalog.float8, g.cores_per_sm::pg_catalog.float8,"
		" g.clock_ghz, g.fp32_tflops, g.fp16_tensor_tflops, g.l2_mb, g.is_cpu," SINCE_2("tdp_w") SINCE_2("base_clock_ghz")
		SINCE_2("compute_capability") SINCE_2("l1_kb") SINCE_2("register_kb") SINCE_2("fp16_tflops")
		" g.aliases, g.builtin, g.interconnect FROM perfmodel.gpu g, LATERAL pg_catalog.to_jsonb(g) j ORDER BY g.name"
	};
	MemoryContext old;

	if (devices_cxt == NULL)
		devices_cxt = AllocSetContextCreate(TopMemoryContext, "perfmodel devices", ALLOCSET_DEFAULT_SIZES);
	n_devices = 0;
	dangling = NIL;
	MemoryContextReset(devices_cxt);
	SPI_connect();
	run_with_all_digits(&query);
	old = MemoryContextSwitchTo(devices_cxt);
	devices = palloc0(sizeof(device) * Max(SPI_processed, 1));
	for (uint64 i = 0; i < SPI_processed; i++)
		n_devices += read_device(&devices[n_devices], i);
	MemoryContextSwitchTo(old);
	SPI_finish();
}

/* ---------- look-up ---------- */

/* Whether key[first..] of d is wanted. */
static bool
has_key(const device *d, const char *wanted, int first, int end)
{
	for (int i = first; i < Min(end, d->n_keys); i++)
		if (strcmp(d->keys[i], wanted) == 0)
			return true;
	return false;
}

/* The devices with wanted among their keys [first, end): the first, and how many. */
static const device *
find_by_key(const char *wanted, int first, int end, int *n)
{
	const device *found = NULL;

	*n = 0;
	for (int i = 0; i < n_devices; i++)
		if (has_key(&devices[i], wanted, first, end) && (*n)++ == 0)
			found = &devices[i];
	return found;
}

/*
 * The device of this name but for its spelling, and how many there are.  That which comes with perfmodel counts alone: who added
 * another that differs from it only in spelling asks for it by its name as it stands.
 */
static const device *
find_by_name(const char *wanted, int *n)
{
	const device *found = NULL;
	int			builtin = 0;

	for (int i = 0; i < n_devices; i++)
		if (devices[i].builtin && has_key(&devices[i], wanted, 0, 1) && builtin++ == 0)
			found = &devices[i];
	if (builtin != 1)
		return find_by_key(wanted, 0, 1, n);
	*n = 1;
	return found;
}

/* Length of a name without the "gb" or "g" behind it, 0: it has none. */
static size_t
before_unit(const char *wanted)
{
	size_t		len = strlen(wanted);

	if (len > 2 && strcmp(wanted + len - 2, "gb") == 0)
		return len - 2;
	return len > 1 && wanted[len - 1] == 'g' ? len - 1 : 0;
}

static bool
has_memory(const device *d, double gb)
{
	return fabs(gb - d->sheet.memory_gb) <= 0.05 * gb;
}

/* Whether wanted[..len) ends in so many digits with a name before them: *name and *gb. */
static bool
split_memory(const char *wanted, size_t len, size_t digits, char **name, double *gb)
{
	if (digits >= len || !isdigit((unsigned char) wanted[len - digits]))
		return false;
	*gb = atof(pnstrdup(wanted + len - digits, digits));
	*name = pnstrdup(wanted, len - digits);
	return true;
}

/*
 * "rtx309024gb", "l424gb": a name with the memory behind it, as schedulers
 * write them. The device of the rest of the name, if that is what it has.
 */
static const device *
find_by_name_and_memory(const char *wanted, int *n)
{
	size_t		len = before_unit(wanted);
	char	   *name;
	double		gb;

	/* where the name ends and the memory begins is not marked: "l4" "24", not "l" "424" */
	for (size_t digits = 1; digits <= 3 && split_memory(wanted, len, digits, &name, &gb); digits++)
	{
		const device *d = find_by_key(name, 0, INT_MAX, n);

		if (*n == 1 && has_memory(d, gb))
			return d;
	}
	*n = 0;
	return NULL;
}

/* Whether wanted, which is not the name of a device, is the beginning of that of d, perhaps with d's memory behind it. */
static bool
may_mean(const device *d, const device *taken, const char *wanted)
{
	size_t		len = before_unit(wanted);
	char	   *name;
	double		gb;

	if (strncmp(d->keys[0], wanted, strlen(wanted)) == 0)
		return true;
	for (size_t digits = 1; digits <= 3 && split_memory(wanted, len, digits, &name, &gb); digits++)
		if (wanted[len - digits] != '0' && has_memory(d, gb) && strcmp(name, taken->keys[0]) != 0 && strncmp(d->keys[0], name, strlen(name)) == 0)
			return true;
	return false;
}

/* Whether name_alias says that a name means d. */
static bool
is_given(const device *d, const char *name)
{
	ListCell   *cell;

	foreach(cell, d->given)
		if (strcmp(lfirst(cell), name) == 0)
			return true;
	return false;
}

static const device *
find_by_whole_name(const char *name)
{
	for (int i = 0; i < n_devices; i++)
		if (strcmp(devices[i].sheet.name, name) == 0)
			return &devices[i];
	return NULL;
}

/* The device that a name means by perfmodel.gpu; NULL with *n the number of devices that it may mean. name: NULL is nobody's. */
static const device *
find_in_sheets(const char *name, int *n)
{
	const device *d = name != NULL ? find_by_whole_name(name) : NULL;
	char	   *wanted;

	*n = d != NULL;
	if (d != NULL || name == NULL)
		return d;
	wanted = pm_gpu_key(name);
	*n = 0;
	if (*wanted == '\0')
		return NULL;
	d = find_by_name(wanted, n);
	if (*n == 0)
		d = find_by_key(wanted, 1, INT_MAX, n);
	if (*n == 0 && before_unit(wanted) == strlen(wanted) - 1)
		d = find_by_key(psprintf("%sb", wanted), 0, INT_MAX, n);
	if (*n == 0)
		d = find_by_name_and_memory(wanted, n);
	return *n == 1 ? d : NULL;
}

/* The same by perfmodel.gpu and perfmodel.name_alias. */
static const device *
find_device(const char *given, int *n)
{
	char	   *name = pm_to_core_or_null(given);
	const device *d = name != NULL ? find_by_whole_name(name) : NULL;

	for (int i = 0; d == NULL && name != NULL && i < n_devices; i++)
		if (is_given(&devices[i], name))
			d = &devices[i];
	*n = 1;
	return d != NULL ? d : find_in_sheets(name, n);
}

/* What a name as Slurm writes it says of a type of device; NULL: it is not written so, or is itself a name of a device. */
static char *
name_in_gres(const char *name, int *count)
{
	pm_gres		g;
	int			n;

	if (!pm_gres_read(name, &g) || find_device(name, &n) != NULL)
		return NULL;
	*count = g.count;
	return pnstrdup(g.name, g.length);
}

/* How near each device is to a name that is the name of none, by series and number of the model; to a type of machine, its device alone; to a slice, none. */
static double *
nearness_of_devices(const char *name)
{
	double	   *nearness = palloc0(sizeof(double) * Max(n_devices, 1));
	const char *card = pm_card_of_machine(name);
	pm_card_name wanted;

	pm_card_name_read(name, &wanted);
	for (int i = 0; i < n_devices && !pm_gpu_is_slice(name); i++)
		nearness[i] = card == NULL ? pm_card_name_nearness(&wanted, &devices[i].words) : strcmp(devices[i].sheet.name, card) == 0;
	return nearness;
}

int
pm_gpu_nearest(const char *name, const char **nearest, int most)
{
	int		   *chosen = palloc(sizeof(int) * Max(most, 1));
	int			n = pm_choose_nearest(nearness_of_devices(name), n_devices, chosen, most);

	for (int i = 0; i < n; i++)
		nearest[i] = pstrdup(pm_from_core(devices[chosen[i]].sheet.name));
	return n;
}

/* What name_alias says of a name that thus means no device; NULL: nothing. */
static const char *
dangling_name(const char *name)
{
	ListCell   *cell;

	foreach(cell, dangling)
		if (strcmp(linitial(lfirst(cell)), pm_to_core_lossy(name)) == 0)
			return lsecond(lfirst(cell));
	return NULL;
}

/* The nearest by series and number of the model; where there are none, those that are spelt alike. */
static char *
device_hint(const char *name)
{
	const char **names = palloc(sizeof(char *) * Max(n_devices, 1));
	char	   *hint;
	int			count;
	char	   *type = name_in_gres(name, &count);
	const device *d;

	if (dangling_name(name) != NULL)
		return psprintf("perfmodel.name_alias says that it is \"%s\", which is not the name of a device: correct that row.", pm_shown_name(dangling_name(name)));
	if (type != NULL)
	{
		int			n;

		d = find_device(type, &n);
		if (d != NULL)
			return psprintf("It is how Slurm writes %d of \"%s\". Ask about one, \"%s\", and say how many by world_size => %d.", count,
							pm_message_from_core(d->sheet.name), pm_shown_name(type), count);
		if (strcmp(type, PM_ANY_GPU) == 0)
			return pstrdup(PM_ANY_GPU_HINT);
		name = type;
	}
	hint = pm_gpu_slice_hint(name);
	if (hint != NULL)
		return hint;
	for (int i = 0; i < n_devices; i++)
		names[i] = pm_message_from_core(devices[i].sheet.name);
	hint = pm_did_you_mean_nearest(names, nearness_of_devices(name), n_devices, LIST_QUERY, FIRST_DEVICE);
	return hint != NULL ? hint : pm_did_you_mean(name, names, n_devices, LIST_QUERY, FIRST_DEVICE);
}

/* "a" or "b": the devices that have the name among their aliases. */
static char *
devices_of(const char *name)
{
	char	   *wanted = pm_gpu_key(pm_to_core(name));
	StringInfoData s;

	initStringInfo(&s);
	for (int i = 0; i < n_devices; i++)
		if (has_key(&devices[i], wanted, 0, INT_MAX))
			appendStringInfo(&s, "%s\"%s\"", s.len > 0 ? " or " : "", pm_message_from_core(devices[i].sheet.name));
	return s.data;
}

/* The table is new since 0.1.0, where measurements are stored with this library before the update. */
static bool
has_given_names(void)
{
	static pm_plan query = {"SELECT pg_catalog.to_regclass('perfmodel.name_alias') IS NOT NULL"};

	pm_run(&query, NULL, NULL, true);
	return DatumGetBool(pm_value(0, 1, BOOLOID, NULL));
}

/* Names that users have given to devices. One for what is no device says nothing. */
static void
read_given_names(void)
{
	static pm_plan query = {"SELECT alias, name FROM perfmodel.name_alias WHERE kind OPERATOR(pg_catalog.=) 'gpu'"};
	MemoryContext old;

	SPI_connect();
	if (!has_given_names())
	{
		SPI_finish();
		return;
	}
	pm_run(&query, NULL, NULL, true);
	old = MemoryContextSwitchTo(devices_cxt);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		int			n;
		device	   *d = unconstify(device *, find_in_sheets(pm_to_core_or_null(pm_value_text(i, 2, devices_cxt)), &n));
		char	   *alias = pm_to_core_or_null(pm_value_text(i, 1, devices_cxt));

		if (d != NULL && alias != NULL)
			d->given = lappend(d->given, alias);
		else if (alias != NULL)
			dangling = lappend(dangling, list_make2(alias, pm_value_text(i, 2, devices_cxt)));
	}
	MemoryContextSwitchTo(old);
	SPI_finish();
}

static void
refresh_devices(void)
{
	if (devices_generation == pm_generation && devices_cxt != NULL)
		return;
	devices_generation = 0;
	read_devices();
	read_given_names();
	devices_generation = pm_generation;
}

const pm_gpu *
pm_gpu_with_key(const char *key, const char *own, const char *old, bool *by_name, bool *builtin)
{
	const device *found = NULL;

	refresh_devices();
	for (int i = 0; i < n_devices; i++)
	{
		const char *name = devices[i].sheet.name;

		if (strcmp(name, own) == 0 || (old != NULL && strcmp(name, old) == 0) || !has_key(&devices[i], key, 0, INT_MAX))
			continue;
		/* what has it for its name goes before what has it for an alias */
		if (found == NULL || (strcmp(found->keys[0], key) != 0 && strcmp(devices[i].keys[0], key) == 0))
			found = &devices[i];
	}
	if (found == NULL)
		return NULL;
	*by_name = strcmp(found->keys[0], key) == 0;
	*builtin = found->builtin;
	return &found->sheet;
}

char *
pm_gpu_in_gres(const char *name, int *count)
{
	refresh_devices();
	return name_in_gres(name, count);
}

/* Of one device. Who asks about "gpu:a100:4" would else be told of one, and take it for an answer about four. */
static const device *
lookup(const char *name, int *n)
{
	const device *d;
	char	   *type;
	int			count;

	refresh_devices();
	d = find_device(name, n);
	if (d == NULL && (type = name_in_gres(name, &count)) != NULL && count <= 1)
		d = find_device(type, n);
	return d;
}

const pm_gpu *
pm_gpu_look_up(const char *name, pm_problem *p)
{
	int			n;
	const device *d = lookup(name, &n);

	if (d != NULL)
		return &d->sheet;
	if (n > 1)
		*p = (pm_problem) {
			"ambiguous_gpu", ERRCODE_AMBIGUOUS_ALIAS, psprintf("GPU name \"%s\" is ambiguous", pm_shown_name(name)),
			psprintf("It may mean %s.", devices_of(name))
		};
	else
		*p = (pm_problem) {
			"unknown_gpu", ERRCODE_UNDEFINED_OBJECT, psprintf("unknown GPU \"%s\"%s", pm_shown_name(name), pm_gpu_is_slice(name) ? ", " PM_GPU_SLICE : ""), NULL, NULL,
			device_hint, pstrdup(name)
		};
	return NULL;
}

const pm_gpu *
pm_gpu_in_sheets(const char *name)
{
	const device *d;
	int			n;

	refresh_devices();
	d = find_in_sheets(pm_to_core_or_null(name), &n);
	return d != NULL ? &d->sheet : NULL;
}

const char *
pm_gpu_link(const char *name)
{
	const device *d;

	refresh_devices();
	d = find_by_whole_name(name);
	return d != NULL ? d->link : NULL;
}

const pm_gpu *
pm_gpu_find(const char *name)
{
	pm_problem	p;
	const pm_gpu *sheet = pm_gpu_look_up(name, &p);

	if (sheet == NULL)
		pm_problem_raise(&p);
	return sheet;
}

int
pm_gpu_others_meant(const char *name, const char ***others)
{
	int			n;
	const device *taken = lookup(name, &n);
	char	   *type = name_in_gres(name, &n);
	char	   *wanted;

	if (type != NULL)
		name = type;
	if (taken == NULL || is_given(taken, pm_to_core(name)))
		return 0;
	wanted = pm_gpu_key(pm_to_core(name));
	*others = palloc(sizeof(char *) * n_devices);
	n = 0;
	for (int i = 0; i < n_devices && strcmp(wanted, taken->keys[0]) != 0; i++)
		if (&devices[i] != taken && may_mean(&devices[i], taken, wanted))
			(*others)[n++] = devices[i].sheet.name;
	return n;
}

bool
pm_gpu_exists(const char *name)
{
	int			n;

	return lookup(name, &n) != NULL;
}

Datum
pm_gpu_name(PG_FUNCTION_ARGS)
{
	pm_freshen();
	PG_RETURN_TEXT_P(cstring_to_text(pm_from_core(pm_gpu_find(text_to_cstring(PG_GETARG_TEXT_PP(0)))->name)));
}

Datum
pm_find_gpu(PG_FUNCTION_ARGS)
{
	const char *name = text_to_cstring(PG_GETARG_TEXT_PP(0));
	const char *type;
	const device *d;
	int			n;

	pm_freshen();
	type = pm_gpu_in_gres(name, &n);
	d = lookup(type != NULL ? type : name, &n);
	if (d == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(pm_from_core(d->sheet.name)));
}

/* How many devices a name as Slurm writes it says; NULL: it says none. */
Datum
pm_gres_count(PG_FUNCTION_ARGS)
{
	pm_gres		g;

	if (!pm_gres_read(text_to_cstring(PG_GETARG_TEXT_PP(0)), &g) || g.count == 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(g.count);
}

/* ---------- trigger on tables with a column gpu: profile, op_profile, cluster, price ---------- */

/* The name as `table` is to write it; like a violation of its foreign key when there is none. */
static const char *
name_for_table(const char *given, const char *table)
{
	int			n;
	const device *d = lookup(given, &n);
	const char *constraint = psprintf("%s_gpu_known", table);

	if (d == NULL)
	{
		/* a change of gpu by this very statement, such as a new name that cascades */
		devices_generation = 0;
		d = lookup(given, &n);
	}
	if (d == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
				 errmsg("unknown GPU \"%s\" violates foreign key constraint \"%s\"", pm_shown_name(given), constraint),
				 errdetail("Column gpu holds the name of a device of perfmodel.gpu, or an alias of one."),
				 errhint("%s", device_hint(given)),
				 err_generic_string(PG_DIAG_SCHEMA_NAME, "perfmodel"),
				 err_generic_string(PG_DIAG_TABLE_NAME, table),
				 err_generic_string(PG_DIAG_CONSTRAINT_NAME, constraint)));
	if (strcmp(d->sheet.name, given) != 0)
		pm_notice_short_gpu(given, pm_message_from_core(d->sheet.name));
	return pm_from_core(d->sheet.name);
}

Datum
pm_profile_gpu_by_name(PG_FUNCTION_ARGS)
{
	HeapTuple	row = pm_trigger_row(fcinfo, "profile_gpu_by_name");
	Relation	table = ((TriggerData *) fcinfo->context)->tg_relation;
	char	   *given = pm_trigger_text(table, row, "gpu");
	const char *name;

	if (given == NULL)
		return PointerGetDatum(row);
	pm_freshen();
	name = name_for_table(given, RelationGetRelationName(table));
	if (strcmp(name, given) == 0)
		return PointerGetDatum(row);
	return PointerGetDatum(pm_trigger_set_text(table, row, "gpu", name));
}
