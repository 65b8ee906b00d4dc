/*
 * check_onnx.c - networks exported as ONNX against the graphs that perfmodel's
 * own exporter makes of them.
 *
 *     gzip -dc test/onnx/models.gz | check_onnx            checks an archive
 *     check_onnx pack OUT/a.onnx OUT/b.onnx ... > models   makes one; OUT/a.json next to it is the other export
 *     check_onnx table OUT/a.onnx ...                      one line each, for docs/onnx.md
 *
 * An archive has, for each network, a line "name bytes nodes flops params
 * structure" of the exporter's graph and then the bytes of the ONNX file.
 * FLOPs (forward and backward, batch 8) must agree to 0.5 %, no operator may be
 * unknown, and where the archive was made with equal structures ("=") they must
 * stay equal.
 */
#include "graph/op_work.h"
#include "graph/graph_json.h"
#include "graph/graph_write.h"
#include "import/onnx/onnx.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 8
#define TOLERANCE 0.005

typedef struct totals
{
	bool		ok;
	int			nodes;			/* that work */
	int			unknown;
	double		flops,
				bytes,
				kernels,
				params;
	unsigned long long structure;
	char		error[800];
} totals;

static void
measure(const pm_graph *g, totals *t)
{
	for (int i = 0; i < g->n_nodes; i++)
	{
		pm_work		w;

		pm_node_work(g, i, BATCH, PM_FP32, PM_NCHW, PM_SGD_MOMENTUM, &w);
		t->flops += w.flops_forward + w.flops_backward;
		t->bytes += w.bytes_forward + w.bytes_backward + w.bytes_update;
		t->kernels += w.kernels_forward + w.kernels_backward;
		t->nodes += !g->nodes[i].view;
	}
	t->params = g->params;
	t->unknown = g->n_unknown;
	t->structure = g->structure;
	t->ok = true;
}

static totals
of_onnx(const char *bytes, size_t n)
{
	pm_onnx_options o = {.name = "m", .batch_dim = -1};
	pm_arena	a;
	pm_status	st = {PM_OK};
	totals		t = {false};
	pm_graph	g,
				again;
	pm_text		text = {.arena = &a};

	pm_arena_init_malloc(&a);
	if (pm_onnx_import(bytes, n, &o, &a, &g, &st) == PM_OK && pm_graph_write(&g, &text, &st) == PM_OK &&
		pm_graph_from_json(text.s, text.len, &a, &again, &st) == PM_OK)
		measure(&again, &t);
	else
		snprintf(t.error, sizeof(t.error), "%s %s", st.message, st.detail);
	/* what is imported, and what is read of the document that is written of it */
	t.ok = t.ok && again.structure == g.structure && again.params == g.params;
	pm_arena_release(&a);
	return t;
}

static totals
of_json(const char *text, size_t len)
{
	pm_arena	a;
	pm_status	st = {PM_OK};
	pm_graph	g;
	totals		t = {false};

	pm_arena_init_malloc(&a);
	if (pm_graph_from_json(text, len, &a, &g, &st) == PM_OK)
		measure(&g, &t);
	else
		snprintf(t.error, sizeof(t.error), "%s", st.message);
	pm_arena_release(&a);
	return t;
}

/* ---------- the archive ---------- */

static int
check_archive(FILE *in)
{
	char		name[128];
	char		same[4];
	size_t		n;
	totals		want;
	int			failed = 0;
	int			count = 0;

	while (fscanf(in, "%127s %zu %d %lf %lf %llx %3s", name, &n, &want.nodes, &want.flops, &want.params, &want.structure, same) == 7)
	{
		char	   *bytes = n < (64u << 20) ? malloc(n + 1) : NULL;
		totals		t;
		bool		ok;

		if (bytes == NULL || fgetc(in) != '\n' || fread(bytes, 1, n, in) != n)
			return printf("archive is damaged at %s\n", name), 1;
		t = of_onnx(bytes, n);
		ok = t.ok && t.unknown == 0 && fabs(t.flops / want.flops - 1) <= TOLERANCE &&
			(same[0] != '=' || t.structure == want.structure);
		if (!ok)
			printf("%s: %s flops %+.2f %%, %d unknown, structure %s\n", name, t.error, 100 * (t.flops / want.flops - 1), t.unknown,
				   t.structure == want.structure ? "same" : "other");
		failed += !ok;
		count++;
		free(bytes);
	}
	printf("%d networks, %d failed\n", count, failed);
	return failed > 0 || count < 20;
}

/* ---------- making it ---------- */

static char *
slurp(const char *path, size_t *n)
{
	FILE	   *f = fopen(path, "rb");
	char	   *v = NULL;

	*n = 0;
	if (f == NULL)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (*n = (size_t) ftell(f)) < (1u << 30) && (v = malloc(*n + 1)) != NULL)
	{
		rewind(f);
		*n = fread(v, 1, *n, f);
	}
	fclose(f);
	return v;
}

static int
one_pair(const char *path, bool pack)
{
	char		other[4096];
	char		name[128];
	const char *base = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
	size_t		n,
				len;
	char	   *bytes = slurp(path, &n);
	char	   *text;
	totals		a,
				b;

	snprintf(name, sizeof(name), "%.*s", (int) strcspn(base, "."), base);
	snprintf(other, sizeof(other), "%.*s.json", (int) (strlen(path) - 5), path);
	text = slurp(other, &len);
	if (bytes == NULL || text == NULL)
		return fprintf(stderr, "%s or %s cannot be read\n", path, other), 1;
	a = of_json(text, len);
	b = of_onnx(bytes, n);
	if (pack)
	{
		printf("%s %zu %d %.0f %.0f %llx %s\n", name, n, a.nodes, a.flops, a.params, a.structure, a.structure == b.structure ? "=" : "~");
		fwrite(bytes, 1, n, stdout);
	}
	else if (!a.ok || !b.ok)
		printf("| %s | %s %s |\n", name, a.error, b.error);
	else
		printf("| %s | %d | %d | %+.3f | %+.2f | %+.2f | %+.2f | %d | %s |\n", name, a.nodes, b.nodes, 100 * (b.flops / a.flops - 1),
			   100 * (b.bytes / a.bytes - 1), 100 * (b.kernels / a.kernels - 1), 100 * (b.params / a.params - 1), b.unknown,
			   a.structure == b.structure ? "same" : "");
	free(bytes);
	free(text);
	return 0;
}

int
main(int argc, char **argv)
{
	int			failed = 0;

	if (argc < 2)
		return check_archive(stdin);
	for (int i = 2; i < argc; i++)
		failed |= one_pair(argv[i], strcmp(argv[1], "pack") == 0);
	return failed;
}
