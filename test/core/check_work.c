/*
 * check_work.c - compares the catalogue's bytes and launches, forward and
 * backward, and the layout of every convolution with what PyTorch was seen
 * to do (test/work/record.py).
 *
 *     gzip -dc graphs.ndjson.gz | check_work test/work/truth.csv [-v]
 *
 * A phase of a network should be right to 5 % in all, and each class of
 * operators that makes up at least a tenth of it to 15 %.  Prints how many are, how far
 * those are that are not, and (-v) every number.  Exit status 1 when fewer are right than `least_right`
 * says, or a convolution lies otherwise.
 */
#define _POSIX_C_SOURCE 200809L

#include "graph/graph.h"
#include "graph/graph_json.h"
#include "graph/op_catalogue.h"
#include "graph/op_work.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define BATCH 2					/* of the recording */
#define WHOLE 0.05
#define PART 0.15
#define WORTH 0.1				/* classes that make up less of a phase are not looked at alone */
#define MAX_RECORDS 4000

enum
{
	CONV, GEMM, NORM, REST, N_PARTS
};

static const char *const part_name[N_PARTS] = {"conv", "gemm", "norm", "rest"};

/* Shares of comparisons that have to be right: what has been reached. */
static const struct
{
	double		whole;
	double		part;
}			least_right = {0.96, 0.985};

/* One network in one layout. */
typedef struct record
{
	char		graph[64];
	int			layout;
	double		launches[2][N_PARTS];
	double		bytes[2][N_PARTS];
	int			channels_last;	/* convolutions whose output lies so */
} record;

typedef struct score
{
	long		compared;
	long		right;
} score;

static record records[MAX_RECORDS];
static int	n_records;

static int
part_find(const char *name)
{
	for (int i = 0; i < N_PARTS; i++)
		if (strcmp(name, part_name[i]) == 0)
			return i;
	return -1;
}

static record *
find(const char *graph, int layout, bool add)
{
	for (int i = 0; i < n_records; i++)
		if (strcmp(records[i].graph, graph) == 0 && records[i].layout == layout)
			return &records[i];
	if (!add || n_records == MAX_RECORDS)
		return NULL;
	snprintf(records[n_records].graph, sizeof(records[0].graph), "%s", graph);
	records[n_records].layout = layout;
	return &records[n_records++];
}

/* graph,layout,phase,class,launches,mb,channels_last */
static bool
read_truth(const char *path)
{
	FILE	   *f = fopen(path, "r");
	char		line[256];

	if (f == NULL || fgets(line, sizeof(line), f) == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL)
	{
		char		graph[64],
					layout[8],
					phase[4],
					part[8];
		double		launches,
					mb;
		int			last = 0;
		record	   *r;

		if (sscanf(line, "%63[^,],%7[^,],%3[^,],%7[^,],%lf,%lf,%d", graph, layout, phase, part, &launches, &mb, &last) < 6 ||
			part_find(part) < 0 || (r = find(graph, strcmp(layout, "nhwc") == 0, true)) == NULL)
			return false;
		r->launches[phase[0] == 'b'][part_find(part)] = launches;
		r->bytes[phase[0] == 'b'][part_find(part)] = 1e6 * mb;
		r->channels_last += last;
	}
	fclose(f);
	return n_records > 0;
}

static int
part_of(const pm_node *n)
{
	switch (pm_op_class(n->op))
	{
		case PM_CLASS_CONV:
			return CONV;
		case PM_CLASS_GEMM:
			return GEMM;
		case PM_CLASS_NORM:
			return NORM;
		default:
			return REST;
	}
}

/* A single channel or pixel lies both ways. */
static bool
lies_channels_last(const pm_node *n, int layout)
{
	return pm_op_class(n->op) == PM_CLASS_CONV && n->shape.rank == 4 && n->flow.runs[layout] == PM_NHWC &&
		n->shape.dim[1] > 1 && n->shape.dim[2] * n->shape.dim[3] > 1;
}

static void
add(record *r, int phase, int part, double launches, double bytes)
{
	r->launches[phase][part] += launches;
	r->bytes[phase][part] += bytes;
}

/* What the catalogue says of a network, in the parts of the recording. */
static void
count(const pm_graph *g, int layout, record *r)
{
	memset(r, 0, sizeof(*r));
	for (int i = 0; i < g->n_nodes; i++)
	{
		const pm_node *n = &g->nodes[i];
		const pm_extra *extra[2] = {&n->flow.copied[layout], &n->flow.merged[layout]};
		int			part = part_of(n);
		pm_work		w;

		pm_node_work(g, i, BATCH, PM_FP32, (pm_layout) layout, PM_SGD, &w);
		if (w.kernels_forward == 0)
			continue;
		add(r, 0, part, w.kernels_forward, w.bytes_forward);
		add(r, 1, part, w.kernels_backward, w.bytes_backward);
		/* copies, sums of gradients and the sum for a matrix product's bias are calls of their own */
		for (int phase = 0; phase < 2; phase++)
		{
			double		bytes = 4 * (extra[phase]->fixed + BATCH * extra[phase]->each);
			double		launches = extra[phase]->launches;

			if (phase == 1 && part == GEMM && n->n_weights > 1)
			{
				launches += 1;
				bytes += 4 * w.out_elems;
			}
			add(r, phase, part, -launches, -bytes);
			add(r, phase, REST, launches, bytes);
		}
		r->channels_last += lies_channels_last(n, layout);
	}
}

static void
compare(const char *what, const record *truth, int phase, const double *is, const double *should, bool verbose,
		score *whole, score *part)
{
	double		sum = 0,
				sum_should = 0;

	for (int p = 0; p < N_PARTS; p++)
	{
		sum += is[p];
		sum_should += should[p];
	}
	whole->compared++;
	whole->right += fabs(sum - sum_should) <= WHOLE * sum_should;
	if (verbose || fabs(sum - sum_should) > WHOLE * sum_should)
		printf("%-34s %s %c %-8s %14.0f %14.0f %7.3f\n", truth->graph, truth->layout ? "nhwc" : "nchw", "fb"[phase], what,
			   sum, sum_should, sum / sum_should);
	for (int p = 0; p < N_PARTS; p++)
	{
		bool		right = fabs(is[p] - should[p]) <= PART * should[p];

		if (fmax(is[p], should[p]) < WORTH * sum_should)
			continue;
		part->compared++;
		part->right += right;
		if (verbose || !right)
			printf("%-34s %s %c %-8s %14.0f %14.0f %7.3f   %s\n", truth->graph, truth->layout ? "nhwc" : "nchw", "fb"[phase],
				   what, is[p], should[p], is[p] / should[p], part_name[p]);
	}
}

int
main(int argc, char **argv)
{
	bool		verbose = argc > 2;
	char	   *line = NULL;
	size_t		size = 0;
	ssize_t		len;
	long		wrong = 0;
	long		other_layout = 0;
	long		networks = 0;
	score		bytes = {0, 0},
				launches = {0, 0},
				parts = {0, 0};

	if (argc < 2 || !read_truth(argv[1]))
		return 1;
	while ((len = getline(&line, &size, stdin)) > 0)
	{
		pm_arena	a;
		pm_graph	g;
		pm_status	st;

		pm_arena_init_malloc(&a);
		if (pm_graph_from_json(line, (size_t) len, &a, &g, &st) != PM_OK)
			wrong++;
		else
			for (int layout = 0; layout < PM_N_LAYOUTS; layout++)
			{
				const record *truth = find(g.name, layout, false);
				record		r;

				if (truth == NULL)
					continue;
				networks++;
				count(&g, layout, &r);
				for (int phase = 0; phase < 2; phase++)
				{
					compare("bytes", truth, phase, r.bytes[phase], truth->bytes[phase], verbose, &bytes, &parts);
					compare("launches", truth, phase, r.launches[phase], truth->launches[phase], verbose, &launches, &parts);
				}
				if (r.channels_last == truth->channels_last)
					continue;
				other_layout++;
				printf("%-34s %s   %d convolutions lie channels-last, not %d\n", g.name, layout ? "nhwc" : "nchw", r.channels_last,
					   truth->channels_last);
			}
		pm_arena_release(&a);
	}
	free(line);
	printf("%ld networks and layouts: bytes of %ld of %ld phases right, launches of %ld of %ld, parts %ld of %ld; %ld with convolutions that lie otherwise\n",
		   networks, bytes.right, bytes.compared, launches.right, launches.compared, parts.right, parts.compared, other_layout);
	return wrong != 0 || networks == 0 || other_layout != 0 || bytes.right + launches.right < least_right.whole * (bytes.compared + launches.compared) ||
		parts.right < least_right.part * parts.compared;
}
