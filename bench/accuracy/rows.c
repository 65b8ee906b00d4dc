/*
 * rows.c - measurements and their graphs from files.
 */
#include "rows.h"
#include "graph/graph_json.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS	64
#define MAX_LINE	8192
#define MAX_GPUS	512

/* A CSV file that is read line by line. */
typedef struct table
{
	const char *path;
	FILE	   *file;
	char		head[MAX_LINE];
	char		line[MAX_LINE];
	char	   *names[MAX_FIELDS];
	char	   *values[MAX_FIELDS];
	int			n;
} table;

/* Graphs of one file, only those that rows ask for. */
typedef struct graphs
{
	int			n;
	char	  **name;			/* [n] sorted */
	pm_skeleton **skeleton;		/* [n] NULL: not in the file */
} graphs;

static pm_gpu gpus[MAX_GPUS];
static const char *aliases[MAX_GPUS];
static int	n_gpus;

void
die(const char *what, const pm_status *st)
{
	fprintf(stderr, "%s%s%s %s %s\n", what, st ? ": " : "", st ? st->message : "", st ? st->detail : "", st ? st->hint : "");
	exit(1);
}

void
read_setting(const char *name, size_t len, const char *value, pm_arena *a, pm_setting *s)
{
	s->name = pm_strdup(a, name, len);
	s->is_bool = strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
	s->number = s->is_bool ? value[0] == 't' : atof(value);
	s->text = !s->is_bool && isalpha((unsigned char) value[0]) ? value : NULL;
}

/* ---- CSV ---- */

/* End a quoted field in place, doubled quotes made single; what follows its last quote. */
static char *
unquote(char *field)
{
	char	   *to = field;
	char	   *from = field;

	while (*from && (*from != '"' || from[1] == '"'))
	{
		from += *from == '"';
		*to++ = *from++;
	}
	from += *from == '"';
	*to = '\0';
	return from;
}

/* Split a line in place; quotes are honoured. */
static int
split_line(char *line, char **f)
{
	int			n = 0;

	line[strcspn(line, "\r\n")] = '\0';
	while (line && n < MAX_FIELDS)
	{
		char	   *end;

		f[n++] = *line == '"' ? line + 1 : line;
		end = *line == '"' ? strchr(unquote(line + 1), ',') : strchr(line, ',');
		if (end)
			*end++ = '\0';
		line = end;
	}
	return n;
}

static void
open_table(table *t, const char *path)
{
	t->path = path;
	t->file = fopen(path, "r");
	if (!t->file || !fgets(t->head, sizeof(t->head), t->file))
	{
		perror(path);
		exit(1);
	}
	t->n = split_line(t->head, t->names);
}

static bool
next_line(table *t)
{
	if (!fgets(t->line, sizeof(t->line), t->file))
	{
		fclose(t->file);
		return false;
	}
	memset(t->values, 0, sizeof(t->values));
	split_line(t->line, t->values);
	return true;
}

/* NULL when there is no such column, or the line is too short. */
static const char *
text_of(const table *t, const char *name)
{
	for (int i = 0; i < t->n; i++)
		if (strcmp(t->names[i], name) == 0)
			return t->values[i];
	return NULL;
}

static double
number_of(const table *t, const char *name)
{
	const char *s = text_of(t, name);

	return s && *s ? atof(s) : NAN;
}

/* ---- data sheets ---- */

void
read_gpus(const char *path, pm_arena *a)
{
	table		t;

	open_table(&t, path);
	while (next_line(&t) && n_gpus < MAX_GPUS)
	{
		pm_gpu	   *g = &gpus[n_gpus];
		const char *alias = text_of(&t, "aliases");
		const char *cpu = text_of(&t, "is_cpu");

		g->name = pm_strdup(a, text_of(&t, "name"), strlen(text_of(&t, "name")));
		aliases[n_gpus++] = alias ? pm_strdup(a, alias, strlen(alias)) : "";
		g->memory_gb = number_of(&t, "memory_gb");
		g->mem_bw_gbs = number_of(&t, "mem_bw_gbs");
		g->sm_count = number_of(&t, "sm_count");
		g->cores_per_sm = number_of(&t, "cores_per_sm");
		g->clock_ghz = number_of(&t, "clock_ghz");
		g->fp32_tflops = number_of(&t, "fp32_tflops");
		g->fp16_tensor_tflops = number_of(&t, "fp16_tensor_tflops");
		g->l2_mb = number_of(&t, "l2_mb");
		g->tdp_w = number_of(&t, "tdp_w");
		g->base_clock_ghz = number_of(&t, "base_clock_ghz");
		g->compute_capability = number_of(&t, "compute_capability");
		g->l1_kb = number_of(&t, "l1_kb");
		g->register_kb = number_of(&t, "register_kb");
		g->fp16_tflops = number_of(&t, "fp16_tflops");
		g->is_cpu = cpu && (*cpu == 't' || *cpu == '1');
	}
}

/* As the extension compares names: case, blanks, '-' and '_' do not count. */
static bool
same_name(const char *a, size_t len, const char *b)
{
	const char *end = a + len;

	for (;; a++, b++)
	{
		while (a < end && strchr(" -_", *a))
			a++;
		while (*b && strchr(" -_", *b))
			b++;
		if (a == end || *b == '\0')
			return a == end && *b == '\0';
		if ((*a | 32) != (*b | 32))
			return false;
	}
}

static bool
has_alias(const char *list, const char *name)
{
	for (const char *p = list; *p; p += strspn(p, "|"))
	{
		size_t		len = strcspn(p, "|");

		if (same_name(p, len, name))
			return true;
		p += len;
	}
	return false;
}

static const pm_gpu *
find_gpu(const char *name)
{
	for (int i = 0; i < n_gpus; i++)
		if (same_name(gpus[i].name, strlen(gpus[i].name), name) || has_alias(aliases[i], name))
			return &gpus[i];
	fprintf(stderr, "no data sheet for \"%s\"\n", name);
	exit(1);
}

/* ---- which rows ---- */

static bool
passes(const table *t, const filter *f)
{
	const char *layout = text_of(t, "layout");
	const char *framework = text_of(t, "framework");

	return (!f->layout || (layout && strcmp(layout, f->layout) == 0)) &&
		(!f->framework || (framework && strcmp(framework, f->framework) == 0));
}

static bool
is_empty_or(const char *s, const char *word)
{
	return !s || !*s || strcmp(s, word) == 0;
}

/* One device, one step or pass, nothing special. */
static bool
is_step(const table *t, const filter *f)
{
	const char *mode = text_of(t, "mode");

	return strcmp(mode && *mode ? mode : "train", f->mode ? f->mode : "train") == 0 && is_empty_or(text_of(t, "world_size"), "1") &&
		is_empty_or(text_of(t, "options"), "");
}

/* ---- graphs ---- */

static int
by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

static void
wanted_graphs(const char *profiles, const filter *keep, pm_arena *a, graphs *g)
{
	table		t;
	int			cap = 0;
	int			n = 0;

	open_table(&t, profiles);
	while (next_line(&t))
	{
		if (!passes(&t, keep) || !is_step(&t, keep))
			continue;
		if (g->n == cap)
			g->name = realloc(g->name, (cap = 2 * cap + 1024) * sizeof(char *));
		g->name[g->n++] = pm_strdup(a, text_of(&t, "graph"), strlen(text_of(&t, "graph")));
	}
	if (g->n == 0)
		die("no row is left", NULL);
	qsort(g->name, g->n, sizeof(char *), by_text);
	for (int i = 0; i < g->n; i++)
		if (n == 0 || strcmp(g->name[n - 1], g->name[i]) != 0)
			g->name[n++] = g->name[i];
	g->n = n;
	g->skeleton = PM_NEW(a, pm_skeleton *, n);
}

/* Index of a name, -1 when nobody asks for it. */
static int
find_graph(const graphs *g, const char *name)
{
	char	  **at = bsearch(&name, g->name, g->n, sizeof(char *), by_text);

	return at ? (int) (at - g->name) : -1;
}

/* Index of the graph of a line, which begins with its name after the format; -1: not wanted. */
static int
wanted_line(const graphs *g, const char *line)
{
	const char *key = strstr(line, "\"name\":");
	char		name[PM_MAX_NAME_LEN + 1] = "";

	if (!key || sscanf(key + 7, " \"%512[^\"]\"", name) != 1)
		die("a graph without a name", NULL);
	return find_graph(g, name);
}

static void
read_graphs(const char *path, bool merge, pm_arena *a, graphs *g)
{
	FILE	   *f = fopen(path, "r");
	char	   *line = NULL;
	size_t		cap = 0;
	ssize_t		len;
	pm_status	st;

	if (!f)
	{
		perror(path);
		exit(1);
	}
	while ((len = getline(&line, &cap, f)) > 0)
	{
		int			i = wanted_line(g, line);
		pm_graph   *graph;

		if (i < 0)
			continue;
		graph = PM_NEW(a, pm_graph, 1);
		g->skeleton[i] = PM_NEW(a, pm_skeleton, 1);
		if (pm_graph_from_json(line, (size_t) len, a, graph, &st) != PM_OK ||
			pm_skeleton_build(graph, merge, a, g->skeleton[i], &st) != PM_OK)
			die(g->name[i], &st);
	}
	free(line);
	fclose(f);
}

/* ---- rows ---- */

static int
word(const char *s, int (*parse) (const char *), int otherwise)
{
	int			v = s && *s ? parse(s) : otherwise;

	if (v < 0)
		die(s, NULL);
	return v;
}

static void
read_row(const table *t, const pm_skeleton *skeleton, pm_arena *a, pm_sample *s)
{
	const char *dtype = text_of(t, "dtype");
	const char *framework = text_of(t, "framework");

	/* out of realloc(): what is not named here must not be what lay there */
	*s = (pm_sample) {.skeleton = skeleton};
	s->query.graph = skeleton->graph;
	s->query.gpu = find_gpu(text_of(t, "gpu"));
	s->query.batch = atoll(text_of(t, "batch"));
	s->query.dtype = (pm_dtype) word(dtype ? dtype : text_of(t, "precision"), pm_dtype_parse, PM_FP32);
	s->query.layout = (pm_layout) word(text_of(t, "layout"), pm_layout_parse, PM_NCHW);
	s->query.optimizer = (pm_optimizer) word(text_of(t, "optimizer"), pm_optimizer_parse, PM_SGD_MOMENTUM);
	s->query.mode = (pm_mode) word(text_of(t, "mode"), pm_mode_parse, PM_TRAIN);
	s->query.framework = framework ? pm_strdup(a, framework, strlen(framework)) : NULL;
	s->step_ms = number_of(t, "step_ms");
	s->forward_ms = number_of(t, "forward_ms");
	s->backward_ms = NAN;
	s->weight = 1;
}

static void
one_more(rows *r)
{
	int			n = r->set.n++;

	if (n % 1024 != 0)
		return;
	r->set.samples = realloc(r->set.samples, (n + 1024) * sizeof(pm_sample));
	r->may_test = realloc(r->may_test, (n + 1024) * sizeof(bool));
	r->family = realloc(r->family, (n + 1024) * sizeof(char *));
}

void
read_rows(const char *graphs_path, const char *profiles, const filter *keep, const filter *test,
		  bool merge, pm_arena *a, rows *r)
{
	graphs		g = {0};
	table		t;

	wanted_graphs(profiles, keep, a, &g);
	read_graphs(graphs_path, merge, a, &g);
	open_table(&t, profiles);
	while (next_line(&t))
	{
		int			i = find_graph(&g, text_of(&t, "graph"));

		if (i < 0 || !g.skeleton[i] || !passes(&t, keep) || !is_step(&t, keep))
			continue;
		one_more(r);
		read_row(&t, g.skeleton[i], a, &r->set.samples[r->set.n - 1]);
		r->set.samples[r->set.n - 1].id = r->set.n - 1;
		r->may_test[r->set.n - 1] = test && passes(&t, test);
		r->family[r->set.n - 1] = g.skeleton[i]->graph->family;
	}
	free(g.name);
}

/* The document of an operator as a graph of its own. */
static const pm_skeleton *
operator_skeleton(const char *json, bool merge, pm_arena *a)
{
	pm_graph   *g = PM_NEW(a, pm_graph, 1);
	pm_skeleton *k = PM_NEW(a, pm_skeleton, 1);
	char	   *text = pm_strdup(a, json, strlen(json));
	pm_status	st;

	if (pm_graph_from_json(text, strlen(text), a, g, &st) != PM_OK || pm_skeleton_build(g, merge, a, k, &st) != PM_OK)
		die("operator", &st);
	return k;
}

void
read_operators(const char *path, bool merge, pm_arena *a, rows *r)
{
	pm_dataset *d = &r->set;
	table		t;

	open_table(&t, path);
	while (next_line(&t))
	{
		double		forward_ms = number_of(&t, "forward_ms");
		const char *backward = text_of(&t, "backward_ms");
		bool		timed = backward && backward[0];
		const pm_skeleton *k = operator_skeleton(text_of(&t, "operator"), merge, a);
		pm_sample  *s;

		if (k->n != 1)
			continue;
		if (d->n_operators % 1024 == 0)
			d->operators = realloc(d->operators, (d->n_operators + 1024) * sizeof(pm_sample));
		s = &d->operators[d->n_operators++];
		read_row(&t, k, a, s);
		s->id = d->n_operators;
		s->query.alone = true;
		s->query.forward_only = !timed && k->graph->nodes[k->graph->n_nodes - 1].grad;
		s->step_ms = forward_ms + (timed ? atof(backward) : 0);
	}
}
