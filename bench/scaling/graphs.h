/*
 * graphs.h - networks of data/graphs.ndjson, by name.
 */
#ifndef SCALING_GRAPHS_H
#define SCALING_GRAPHS_H

#include "csv.h"
#include "features/tokens.h"
#include "graph/graph_json.h"

/* For the end of a pm_gpu of which a roofline is all that is wanted. */
#define ROOFLINE_ONLY .memory_gb = NAN, .sm_count = NAN, .cores_per_sm = NAN, .clock_ghz = NAN, .l2_mb = NAN, PM_GPU_REST_UNKNOWN

/* Whether a line is the document of the network of this name. */
static inline bool
is_graph(const char *line, const char *name)
{
	char		key[600];

	snprintf(key, sizeof(key), "\"name\":\"%s\"", name);
	return strstr(line, key) != NULL;
}

static inline bool
has_graph(const char *path, const char *name)
{
	FILE	   *f = fopen(path, "r");
	char	   *line;
	bool		found = false;

	while (f != NULL && !found && (line = csv_line(f)) != NULL)
		found = is_graph(line, name);
	if (f != NULL)
		fclose(f);
	return found;
}

static inline void
read_graph(const char *path, const char *name, pm_arena *a, pm_skeleton *k)
{
	FILE	   *f = fopen(path, "r");
	char	   *line;
	pm_status	st;

	while (f != NULL && (line = csv_line(f)) != NULL)
	{
		pm_graph   *g = PM_NEW(a, pm_graph, 1);

		if (!is_graph(line, name) || pm_graph_from_json(line, strlen(line), a, g, &st) != PM_OK || strcmp(g->name, name) != 0)
			continue;
		if (pm_skeleton_build(g, true, a, k, &st) != PM_OK)
			csv_die(st.message, name);
		fclose(f);
		return;
	}
	csv_die("graph not found", name);
}

#endif
