/*
 * name_aliases.c - the rows of perfmodel.name_alias: names that tables of jobs use.
 *
 * State: all rows of the table, in a context of their own that is thrown away
 * with their generation.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "cache/freshness.h"
#include "encoding.h"
#include "features/question.h"
#include "gpus.h"
#include "plan/name_aliases.h"
#include "plans.h"

static const char *const kinds[PM_N_ALIAS_KINDS] = {"graph", "gpu", "dtype"};

typedef struct alias_entry
{
	const char *alias;			/* the key: a text of any length */
	const char *name;
} alias_entry;

static MemoryContext cxt = NULL;
static HTAB *aliases[PM_N_ALIAS_KINDS];
static uint64 generation = 0;

static uint32
hash_text(const void *key, Size size)
{
	const char *s = *(const char *const *) key;

	return DatumGetUInt32(hash_any((const unsigned char *) s, (int) strlen(s)));
}

static int
compare_text(const void *a, const void *b, Size size)
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static void
make_tables(void)
{
	HASHCTL		ctl = {.keysize = sizeof(const char *),.entrysize = sizeof(alias_entry),.hash = hash_text,.match = compare_text,.hcxt = cxt};

	for (int k = 0; k < PM_N_ALIAS_KINDS; k++)
		aliases[k] = hash_create("perfmodel aliases", 64, &ctl, HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

static void
add_row(uint64 row)
{
	char	   *kind = pm_value_text(row, 1, cxt);
	const char *alias = pm_value_text(row, 2, cxt);

	for (int k = 0; k < PM_N_ALIAS_KINDS; k++)
		if (strcmp(kind, kinds[k]) == 0)
			((alias_entry *) hash_search(aliases[k], &alias, HASH_ENTER, NULL))->name = pm_value_text(row, 3, cxt);
	pfree(kind);
}

static void
read_rows(void)
{
	static pm_plan query = {"SELECT kind, alias, name FROM perfmodel.name_alias"};

	if (cxt == NULL)
		cxt = AllocSetContextCreate(TopMemoryContext, "perfmodel name aliases", ALLOCSET_SMALL_SIZES);
	generation = 0;
	MemoryContextReset(cxt);
	make_tables();
	SPI_connect();
	pm_run(&query, NULL, NULL, true);
	for (uint64 i = 0; i < SPI_processed; i++)
		add_row(i);
	SPI_finish();
	generation = pm_generation;
}

const char *
pm_alias_of(pm_alias_kind kind, const char *name)
{
	alias_entry *e;

	if (cxt == NULL || generation != pm_generation)
		read_rows();
	e = hash_search(aliases[kind], &name, HASH_FIND, NULL);
	return e != NULL ? e->name : NULL;
}

const char *
pm_dtype_alias_of(const char *name)
{
	for (int i = 0; i < pm_dtype_words.n; i++)
		if (strcmp(pm_dtype_words.names[i], name) == 0)
			return NULL;
	return pm_alias_of(PM_ALIAS_DTYPE, name);
}

/* The usual name of a device, by the data sheets; NULL: there is none of that name. */
static char *
usual_name(const char *name)
{
	const pm_gpu *sheet = pm_gpu_in_sheets(name);

	return sheet != NULL ? pstrdup(pm_from_core(sheet->name)) : NULL;
}

char *
pm_job_gpu(const char *name)
{
	char	   *usual;
	char	   *meant = NULL;
	const char *alias;
	char	   *type;
	int			count;

	pm_freshen();
	usual = usual_name(name);
	/* what is somebody's own name means nothing else */
	if (usual != NULL && strcmp(usual, name) == 0)
		return usual;
	alias = pm_alias_of(PM_ALIAS_GPU, name);
	if (alias != NULL)
		meant = usual_name(alias);
	if (meant != NULL)
		return meant;
	/* one of Slurm's has the name in it; that is written so at most once */
	if (alias == NULL && usual == NULL && (type = pm_gpu_in_gres(name, &count)) != NULL)
		return pm_gpu_in_gres(type, &count) == NULL ? pm_job_gpu(type) : type;
	if (alias == NULL && usual != NULL)
		pm_notice_short_gpu(name, usual);
	/* an alias that leads nowhere is not what the name would mean without it */
	return pstrdup(usual == NULL ? name : alias != NULL ? alias : usual);
}
