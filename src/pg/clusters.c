/*
 * clusters.c - the rows of perfmodel.interconnect and perfmodel.cluster.
 *
 * State: all rows of both tables, read together because there are a few dozen,
 * in a context of their own that is thrown away with their generation.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "arrays.h"
#include "cache/freshness.h"
#include "clusters.h"
#include "encoding.h"
#include "errors.h"
#include "gpus.h"
#include "plans.h"
#include "triggers.h"
#include "scaling/divided_correction.h"

PG_FUNCTION_INFO_V1(pm_cluster_links_known);

#define LIST_QUERY "SELECT name FROM perfmodel.cluster"

typedef struct cluster
{
	pm_fabric	fabric;
	const char *gpu;			/* NULL: any device */
	const char *intra;
	const char *inter;			/* NULL: not connected */
	bool		usual_host;		/* host_s_per_gb is what is usual for intra */
	bool		builtin;
	double	   *correction;		/* as it is stored; NULL: none */
	int			n_correction;
	int64	   *own_graphs;		/* [n_own] networks with a contention of their own */
	double	   *own_contention; /* [n_own] */
	int			n_own;
} cluster;

static MemoryContext cxt = NULL;
static pm_link *links = NULL;
static int	n_links = 0;
static cluster *clusters = NULL;
static int	n_clusters = 0;
static uint64 generation = 0;

/* ---------- reading the tables ---------- */

static pm_link_kind
kind_named(const char *name)
{
	for (int k = 0; k < PM_N_LINK_KINDS; k++)
		if (strcmp(name, pm_link_kind_name[k]) == 0)
			return (pm_link_kind) k;
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("unknown kind of interconnect \"%s\"", pm_shown_name(name)),
			 errhint("Known are %s.", pm_quoted_list(pm_link_kind_name, PM_N_LINK_KINDS))));
}

static void
read_links(void)
{
	static pm_plan query = {
		"SELECT name, kind, gpus::pg_catalog.float8, busbw_gbs, latency_us, coalesce(ring_gbs, 0) FROM perfmodel.interconnect ORDER BY name, gpus"
	};
	MemoryContext old;
	pm_link_row *rows;

	pm_run(&query, NULL, NULL, true);
	old = MemoryContextSwitchTo(cxt);
	links = palloc0(sizeof(pm_link) * Max(SPI_processed, 1));
	rows = palloc0(sizeof(pm_link_row) * Max(SPI_processed, 1));
	n_links = 0;
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		const char *name = pm_to_core(pm_value_text(i, 1, cxt));

		if (n_links == 0 || strcmp(links[n_links - 1].name, name) != 0)
			links[n_links++] = (pm_link) {
				.name = name, .kind = kind_named(pm_value_text(i, 2, cxt)), .rows = &rows[i]
			};
		links[n_links - 1].n_rows++;
		rows[i] = (pm_link_row) {(int) pm_value_float8(i, 3), pm_value_float8(i, 4), pm_value_float8(i, 5), pm_value_float8(i, 6)};
	}
	MemoryContextSwitchTo(old);
}

static int
count_or_0(uint64 row, int col)
{
	double		v = pm_value_float8(row, col);

	return isnan(v) ? 0 : (int) v;
}

/* NULL for null. */
static char *
core_text(uint64 row, int col)
{
	char	   *s = pm_value_text_or_null(row, col, cxt);

	return s != NULL ? pm_to_core(s) : NULL;
}

/* The elements of an array; false for null. */
static bool
array_values(uint64 row, int col, Oid array, Datum **elements, bool **nulls, int *n)
{
	bool		isnull;
	Datum		v = pm_value(row, col, array, &isnull);

	*n = 0;
	if (!isnull)
		pm_array_read(DatumGetArrayTypeP(v), elements, nulls, n);
	return !isnull;
}

/* The numbers of a float8[] without nulls in cxt, NULL for null. */
static double *
float8_values(uint64 row, int col, int *n)
{
	Datum	   *elements;
	bool	   *nulls;
	double	   *to;

	if (!array_values(row, col, FLOAT8ARRAYOID, &elements, &nulls, n))
		return NULL;
	to = MemoryContextAlloc(cxt, sizeof(double) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
		to[i] = nulls[i] ? NAN : DatumGetFloat8(elements[i]);
	return to;
}

/* Networks and their contention, of which a constraint says that there are as many and none is null, where nobody has dropped it. */
static void
read_own(cluster *c, uint64 row, int graphs, int contention)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	c->own_contention = float8_values(row, contention, &c->n_own);
	/* n is 0 for null: of what is not there as often, nothing counts */
	(void) array_values(row, graphs, INT8ARRAYOID, &elements, &nulls, &n);
	c->n_own = Min(c->n_own, n);
	c->own_graphs = MemoryContextAlloc(cxt, sizeof(int64) * Max(n, 1));
	for (int i = 0; i < n; i++)
		c->own_graphs[i] = DatumGetInt64(elements[i]);
}

static void
read_cluster(cluster *c, uint64 row)
{
	pm_fabric  *f = &c->fabric;

	f->name = pm_to_core(pm_value_text(row, 1, cxt));
	c->gpu = core_text(row, 2);
	f->gpus_per_node = count_or_0(row, 3);
	c->intra = pm_to_core(pm_value_text(row, 4, cxt));
	c->inter = core_text(row, 5);
	f->adapters = count_or_0(row, 6);
	f->max_nodes = count_or_0(row, 7);
	f->intra_factor = pm_value_float8(row, 8);
	f->inter_factor = pm_value_float8(row, 9);
	f->pair_factor = pm_value_float8(row, 10);
	f->latency_factor = pm_value_float8(row, 11);
	f->compute_factor = pm_value_float8(row, 12);
	f->steal = pm_value_float8(row, 13);
	f->straggler = pm_value_float8(row, 14);
	f->contention = pm_value_float8(row, 15);
	f->contention_power = pm_value_float8(row, 16);
	f->overlap = pm_value_float8(row, 17);
	f->host_s_per_gb = pm_value_float8(row, 18);
	c->usual_host = isnan(f->host_s_per_gb);
	f->comm_error = pm_value_float8(row, 19);
	f->step_error = pm_value_float8(row, 20);
	f->unseen_above = pm_value_float8(row, 21);
	f->unseen_below = pm_value_float8(row, 22);
	f->fitted_rows = count_or_0(row, 23);
	c->builtin = DatumGetBool(pm_value(row, 24, BOOLOID, NULL));
	c->correction = float8_values(row, 25, &c->n_correction);
	read_own(c, row, 26, 27);
}

static void
read_clusters(void)
{
	static pm_plan query = {
		"SELECT name, gpu, gpus_per_node::pg_catalog.float8, intra, inter, adapters::pg_catalog.float8, nodes::pg_catalog.float8,"
		" intra_factor, inter_factor, pair_factor, latency_factor, compute_factor, steal, straggler, contention, contention_power,"
		" overlap, host_s_per_gb, comm_error, step_error, unseen_above, unseen_below, fitted_rows::pg_catalog.float8, builtin, correction,"
		" own_graphs, own_contention"
		" FROM perfmodel.cluster ORDER BY name"
	};
	MemoryContext old;

	pm_run(&query, NULL, NULL, true);
	old = MemoryContextSwitchTo(cxt);
	clusters = palloc0(sizeof(cluster) * Max(SPI_processed, 1));
	n_clusters = (int) SPI_processed;
	for (int i = 0; i < n_clusters; i++)
		read_cluster(&clusters[i], i);
	MemoryContextSwitchTo(old);
}

static void
read_all(void)
{
	if (cxt == NULL)
		cxt = AllocSetContextCreate(TopMemoryContext, "perfmodel clusters", ALLOCSET_SMALL_SIZES);
	n_links = n_clusters = 0;
	generation = 0;
	MemoryContextReset(cxt);
	SPI_connect();
	read_links();
	read_clusters();
	SPI_finish();
	generation = pm_generation;
}

/* ---------- look-up ---------- */

static cluster *
cluster_named(const char *name)
{
	for (int i = 0; i < n_clusters; i++)
		if (strcmp(clusters[i].fabric.name, name) == 0)
			return &clusters[i];
	return NULL;
}

/* Clusters of a device, NULL: of any: the first, and how many. */
static cluster *
cluster_of(const char *gpu, bool builtin, int *n)
{
	cluster    *found = NULL;

	*n = 0;
	for (int i = 0; i < n_clusters; i++)
	{
		cluster    *c = &clusters[i];

		if (c->builtin == builtin && (gpu != NULL ? c->gpu != NULL && strcmp(c->gpu, gpu) == 0 : c->gpu == NULL) &&
			(*n)++ == 0)
			found = c;
	}
	return found;
}

static const char **
cluster_names(void)
{
	const char **names = palloc(sizeof(char *) * Max(n_clusters, 1));

	for (int i = 0; i < n_clusters; i++)
		names[i] = pm_message_from_core(clusters[i].fabric.name);
	return names;
}

/*
 * Of the clusters that came with the extension for any device, the one whose machines have the link of this device
 * ("PCIe5", or "PCIe 5.0 x16" in a row of the user: pcie5), else the first, "any".
 */
static cluster *
cluster_by_link(const char *gpu, int *n)
{
	const char *said = gpu != NULL ? pm_gpu_link(gpu) : NULL;
	const char *link = said != NULL ? pm_gpu_key(said) : "";

	for (int i = 0; i < n_clusters; i++)
	{
		cluster    *c = &clusters[i];

		if (c->builtin && c->gpu == NULL && strncmp(link, c->intra, strlen(c->intra)) == 0)
		{
			*n = 1;
			return c;
		}
	}
	return cluster_of(NULL, true, n);
}

static cluster *
usual_cluster(const char *gpu, pm_problem *p)
{
	int			n;
	cluster    *c = cluster_of(gpu, false, &n);

	if (n > 1)
	{
		*p = (pm_problem) {
			"ambiguous_cluster", ERRCODE_AMBIGUOUS_PARAMETER,
			psprintf("perfmodel.cluster describes %d clusters with gpu \"%s\"", n, pm_message_from_core(gpu)), NULL,
			psprintf("Name one of them, such as cluster => '%s'.", pm_message_from_core(c->fabric.name))
		};
		return NULL;
	}
	if (n == 0)
		c = cluster_of(gpu, true, &n);
	if (n == 0)
		c = cluster_by_link(gpu, &n);
	if (n == 0)
		*p = (pm_problem) {
			"unknown_cluster", ERRCODE_UNDEFINED_OBJECT,
			psprintf("perfmodel.cluster has no cluster with gpu \"%s\"", pm_message_from_core(gpu)), NULL,
			pstrdup("INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra) VALUES ...")
		};
	return c;
}

static const char **
link_names(void)
{
	const char **names = palloc(sizeof(char *) * Max(n_links, 1));

	for (int i = 0; i < n_links; i++)
		names[i] = pm_message_from_core(links[i].name);
	return names;
}

/* For the name of a link that is not there. A link has a row for each number of GPUs, and one name. */
static char *
link_hint(const char *name)
{
	const char **names = link_names();
	int			n = 0;

	for (int i = 0; i < n_links; i++)
		if (n == 0 || strcmp(names[n - 1], names[i]) != 0)
			names[n++] = names[i];
	return pm_did_you_mean(name, names, n, "SELECT DISTINCT name FROM perfmodel.interconnect", "INSERT a row into perfmodel.interconnect");
}

/* *p is filled where the table of links lacks that of c. */
static bool
find_link(const cluster *c, const char *name, pm_link *link, pm_problem *p)
{
	for (int i = 0; i < n_links; i++)
		if (strcmp(links[i].name, name) == 0)
		{
			*link = links[i];
			return true;
		}
	*p = (pm_problem) {
		"unknown_interconnect", ERRCODE_UNDEFINED_OBJECT,
		psprintf("cluster \"%s\" has the interconnect \"%s\", which is not in perfmodel.interconnect",
				 pm_message_from_core(c->fabric.name), pm_message_from_core(name)), NULL, link_hint(pm_message_from_core(name))
	};
	return false;
}

/* Put the links of c in. */
static bool
take_links(cluster *c, pm_problem *p)
{
	if (!find_link(c, c->intra, &c->fabric.intra, p) || (c->inter != NULL && !find_link(c, c->inter, &c->fabric.inter, p)))
		return false;
	if (c->usual_host)
		c->fabric.host_s_per_gb = pm_usual_host_s_per_gb(&c->fabric.intra, c->fabric.gpus_per_node);
	return true;
}

/* The stored correction becomes that of the fabric, once; *p is filled where it is damaged. */
static bool
take_correction(cluster *c, pm_problem *p)
{
	pm_divided_correction *to;
	pm_status	st = {PM_OK};

	if (c->correction == NULL || c->fabric.correction != NULL)
		return true;
	to = MemoryContextAlloc(cxt, sizeof(pm_divided_correction));
	if (pm_divided_correction_read(c->correction, c->n_correction, to, &st) == PM_OK)
	{
		c->fabric.correction = to;
		return true;
	}
	pfree(to);
	*p = (pm_problem) {
		"damaged_cluster", ERRCODE_DATA_CORRUPTED, psprintf("the correction of cluster \"%s\" is damaged", pm_message_from_core(c->fabric.name)),
		psprintf("%s.", pm_message_from_core(st.message)),
		pstrdup("UPDATE perfmodel.cluster SET correction = NULL, and fit the cluster again.")
	};
	return false;
}

/* A dtype stands where scaling_curve() has the cluster when it is written as the fourth argument, as for predict(). */
static char *
unknown_hint(const char *name)
{
	if (pm_dtype_parse(name) >= 0)
		return psprintf("It is a dtype: name the argument, as in dtype => '%s'.", name);
	return pm_did_you_mean(name, cluster_names(), n_clusters, LIST_QUERY, "INSERT a row into perfmodel.cluster");
}

const pm_fabric *
pm_cluster_look_up(const char *name, const char *gpu, pm_problem *p)
{
	cluster    *c;

	if (generation != pm_generation)
		read_all();
	c = name != NULL ? cluster_named(pm_to_core(name)) : usual_cluster(gpu, p);
	if (c == NULL && name != NULL)
		*p = (pm_problem) {
			"unknown_cluster", ERRCODE_UNDEFINED_OBJECT, psprintf("unknown cluster \"%s\"", pm_shown_name(name)), NULL, unknown_hint(name)
		};
	if (c == NULL || !take_links(c, p) || !take_correction(c, p))
		return NULL;
	return &c->fabric;
}

/* The row that f was looked up in. */
static const cluster *
row_of(const pm_fabric *f)
{
	for (int i = 0; i < n_clusters; i++)
		if (&clusters[i].fabric == f)
			return &clusters[i];
	return NULL;
}

int
pm_cluster_own(const pm_fabric *f, const int64 **graphs, const double **contention)
{
	const cluster *c = row_of(f);

	*graphs = c != NULL ? c->own_graphs : NULL;
	*contention = c != NULL ? c->own_contention : NULL;
	return c != NULL ? c->n_own : 0;
}

const pm_fabric *
pm_cluster_for_question(const pm_fabric *f, int64 graph_id, const char *gpu)
{
	const cluster *c = row_of(f);
	const int64 *graphs;
	const double *contention;
	int			n = pm_cluster_own(f, &graphs, &contention);
	int			at = 0;
	bool		other_gpu = c != NULL && c->gpu != NULL && strcmp(c->gpu, gpu) != 0;
	pm_fabric  *copy;

	while (at < n && graphs[at] != graph_id)
		at++;
	if (at == n && !other_gpu)
		return f;
	copy = memcpy(palloc(sizeof(pm_fabric)), f, sizeof(pm_fabric));
	if (at < n)
	{
		copy->own_contention = contention[at];
		copy->measured = true;
	}
	if (other_gpu)
		copy->other_gpu = c->gpu;
	return copy;
}

bool
pm_cluster_has_gpu(const pm_fabric *f)
{
	const cluster *c = row_of(f);

	return c == NULL || c->gpu != NULL;
}

void
pm_cluster_refuse_builtin(const char *name)
{
	static pm_plan find = {
		"SELECT FROM perfmodel.cluster WHERE name OPERATOR(pg_catalog.=) $1 AND builtin", 1, {TEXTOID}
	};
	Datum		arg = CStringGetTextDatum(name);

	if (pm_run(&find, &arg, NULL, false) > 0)
		ereport(ERROR,
				(errcode(ERRCODE_DUPLICATE_OBJECT),
				 errmsg("cluster \"%s\" came with the extension and cannot be changed", pm_shown_name(name)),
				 errhint("Give the fitted cluster a name of its own: name => '...'.")));
}

/* ---------- trigger on perfmodel.cluster ---------- */

/* Raise unless there is such a link; like a violation of a foreign key, which cannot be, as a link has a row for each number of GPUs. */
static void
check_link(const char *column, const char *given)
{
	const char *name = pm_to_core_or_null(given);

	for (int i = 0; name != NULL && i < n_links; i++)
		if (strcmp(links[i].name, name) == 0)
			return;
	ereport(ERROR,
			(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
			 errmsg("unknown interconnect \"%s\"", pm_shown_name(given)),
			 errdetail("Column %s holds the name of a row of perfmodel.interconnect.", column),
			 errhint("%s", link_hint(given)),
			 err_generic_string(PG_DIAG_SCHEMA_NAME, "perfmodel"),
			 err_generic_string(PG_DIAG_TABLE_NAME, "cluster"),
			 err_generic_string(PG_DIAG_COLUMN_NAME, column)));
}

/*
 * Before insert or update: intra and inter are known. pg_dump writes clusters before the links that users have described,
 * as it sees no foreign key between them, and switches check_function_bodies off: rows of a dump are taken as they are.
 */
Datum
pm_cluster_links_known(PG_FUNCTION_ARGS)
{
	static const char *const columns[] = {"intra", "inter"};
	HeapTuple	row = pm_trigger_row(fcinfo, "cluster_links_known");
	Relation	table = ((TriggerData *) fcinfo->context)->tg_relation;

	if (!check_function_bodies)
		return PointerGetDatum(row);
	pm_freshen();
	if (generation != pm_generation)
		read_all();
	for (int i = 0; i < lengthof(columns); i++)
	{
		char	   *given = pm_trigger_text(table, row, columns[i]);

		if (given != NULL)
			check_link(columns[i], given);
	}
	return PointerGetDatum(row);
}
