/*
 * check_saved.c - what the simulation says that autograd keeps, against what
 * PyTorch says (saved_bytes.txt, made by test/reference/saved_bytes.py).
 *
 *   gzip -dc data/graphs.ndjson.gz | check_saved test/core/saved_bytes.txt
 *
 * Compared are the bytes of all tensors that live when the forward pass of a
 * step at batch 2 ends: what is saved, the inputs, the outputs.  And however a
 * step is run, it gives back all that it takes, and nothing twice.  And an
 * optimizer that keeps more needs more.
 */
#include "graph/graph_json.h"
#include "graph/op_catalogue.h"
#include "memory/breakdown.h"
#include "memory/peak.h"

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OFF	0.025		/* of a network */
#define MAX_NAMES	1000

/* Networks that are off by more, and why. */
static const struct
{
	const char *name;			/* what their names begin with */
	const char *why;
}			explained[] =
{
	{"darknet", "LeakyReLU not in place: it keeps its input, too"},
	{"patchgan", "LeakyReLU not in place: it keeps its input, too"},
	{"cyclegan", "padding by reflection keeps its input, zeros do not"}
};

static struct
{
	char		name[128];
	double		bytes;
}			golden[MAX_NAMES];
static int	n_golden;

static void
read_golden(const char *path)
{
	FILE	   *f = fopen(path, "r");
	char		line[256];

	if (f == NULL)
	{
		perror(path);
		exit(2);
	}
	while (n_golden < MAX_NAMES && fgets(line, sizeof(line), f) != NULL)
		if (line[0] != '#' && sscanf(line, "%127s 2 %lf", golden[n_golden].name, &golden[n_golden].bytes) == 2)
			n_golden++;
	fclose(f);
}

/* Activations that are held when the forward pass is over, before the loss. */
static double
kept(const pm_graph *g, pm_arena *a)
{
	const pm_step_options o = {.dtype = PM_FP32, .optimizer = PM_SGD_MOMENTUM, .gradients_stay = true, .on_cpu = true};
	pm_step		s;
	pm_status	st;
	bool	   *held;
	double		bytes = 0;
	int			loss;

	if (pm_step_simulate(g, &o, a, &s, &st) != PM_OK)
	{
		fprintf(stderr, "%s: %s\n", g->name, st.message);
		exit(2);
	}
	loss = s.events[s.phase_at[PM_PHASE_BACKWARD] - 1];
	held = PM_NEW(a, bool, s.n_tensors);
	pm_memory_held_after(&s, s.phase_at[PM_PHASE_BACKWARD] - 1, held);
	for (int t = 0; t < s.n_tensors; t++)
		if (held[t] && t != loss && s.tensors[t].role == PM_MEMORY_ACTIVATIONS)
			bytes += pm_memory_tensor_bytes(&s.tensors[t], 2);
	return bytes;
}

/* On a CPU, PyTorch makes recurrent networks of single operators and keeps every gate; on GPUs it is one kernel. */
static bool
is_recurrent(const pm_graph *g)
{
	for (int i = 0; i < g->n_nodes; i++)
		if (pm_op_class(g->nodes[i].op) == PM_CLASS_RECURRENT)
			return true;
	return false;
}

static bool
is_explained(const pm_graph *g)
{
	for (size_t i = 0; i < sizeof(explained) / sizeof(explained[0]); i++)
		if (strncmp(g->name, explained[i].name, strlen(explained[i].name)) == 0)
			return true;
	return is_recurrent(g);
}

/* Whether a step run so leaves behind only the inputs, gradients of weights and what was there before. */
static bool
gives_back(const pm_graph *g, const pm_step_options *o)
{
	pm_arena	a;
	pm_step		s;
	pm_status	st;
	bool	   *held;
	bool		good = true;

	pm_arena_init_malloc(&a);
	if (pm_step_simulate(g, o, &a, &s, &st) != PM_OK)
		return false;
	held = PM_NEW(&a, bool, s.n_tensors);
	for (int e = 0; e < s.n_events; e++)
	{
		int			t = s.events[e] >= 0 ? s.events[e] : ~s.events[e];

		good &= held[t] != (s.events[e] >= 0);
		held[t] = s.events[e] >= 0;
	}
	for (int t = 0; t < s.n_tensors; t++)
		good &= !held[t] || s.tensors[t].role < PM_MEMORY_ACTIVATIONS ||
			(s.tensors[t].role == PM_MEMORY_ACTIVATIONS && g->nodes[s.tensors[t].node].n_inputs == 0);
	pm_arena_release(&a);
	return good;
}

static bool
always_gives_back(const pm_graph *g)
{
	for (int i = 0; i < 40; i++)
	{
		const pm_step_options o = {
			.dtype = i & 1 ? PM_AMP : PM_FP32, .optimizer = PM_ADAM, .checkpointing = (i & 2) != 0, .gradients_stay = (i & 4) != 0,
			.fused_attention = (i & 8) != 0, .on_cpu = (i & 16) != 0, .softmax_keeps_input = (i & 4) != 0
		};
		const pm_step_options compiled = {
			.dtype = i & 1 ? PM_AMP : PM_FP32, .optimizer = PM_ADAM, .inference = (i & 2) != 0, .compile = true, .recomputes_less = (i & 4) != 0,
			.fused_attention = (i & 4) != 0
		};

		if (!gives_back(g, i < 32 ? &o : &compiled))
		{
			printf("%s: a step with options %d does not give back what it takes\n", g->name, i);
			return false;
		}
	}
	return true;
}

/* Whether an optimizer that keeps more takes more at every batch, and no more than that. i: how the step is run. */
static bool
states_add(const pm_graph *g, int i)
{
	static const pm_optimizer heavier[] = {PM_SGD, PM_SGD_MOMENTUM, PM_ADAM};
	pm_memory_plan plans[3];
	pm_arena	a;
	pm_status	st;
	bool		good = true;

	pm_arena_init_malloc(&a);
	for (int k = 0; k < 3; k++)
	{
		const pm_step_options o = {
			.dtype = i & 1 ? PM_AMP : PM_FP32, .optimizer = heavier[k], .checkpointing = (i & 2) != 0, .gradients_stay = (i & 4) != 0,
			.fused_attention = (i & 4) == 0
		};

		good &= pm_memory_plan_make(g, &o, &a, &plans[k], &st) == PM_OK;
		for (int64_t batch = 1; good && k > 0 && batch <= 16777216; batch *= 4)
		{
			double		more = pm_memory_reserved(&plans[k], batch) - pm_memory_reserved(&plans[k - 1], batch);
			double		most = plans[k].optimizer + plans[k].scratch - plans[k - 1].optimizer - plans[k - 1].scratch;

			good = more >= 0 && more <= most + 1e-12 * pm_memory_reserved(&plans[k], batch);
			if (!good)
				printf("%s: at batch %d and options %d, optimizer %d takes %.0f bytes more than a lighter one, but keeps %.0f\n", g->name,
					   (int) batch, i, k, more, most);
		}
	}
	pm_arena_release(&a);
	return good;
}

#define TUNING	256e6			/* bytes in which kernels of a compiled step are tried */
#define MOST_MORE		0.005	/* maxima and sums of the rows of softmax, in place of its result */

/* Whether a compiled step takes no more than another one, but for what it is tuned in, and more the larger the batch. */
static bool
compiling_saves(const pm_graph *g, int i)
{
	pm_memory_plan plans[2];
	pm_arena	a;
	pm_status	st;
	bool		good = true;
	double		before = 0;

	pm_arena_init_malloc(&a);
	for (int compile = 0; compile < 2; compile++)
	{
		const pm_step_options o = {
			.dtype = i & 1 ? PM_AMP : PM_FP32, .optimizer = PM_SGD, .inference = (i & 6) == 6, .fused_attention = (i & 2) != 0, .compile = compile != 0, .recomputes_less = (i & 4) != 0
		};

		good &= pm_memory_plan_make(g, &o, &a, &plans[compile], &st) == PM_OK;
	}
	for (int64_t batch = 1; good && batch <= 16777216; batch *= 4)
	{
		double		eager = pm_memory_live(&plans[0], batch);
		double		compiled = pm_memory_live(&plans[1], batch);

		good = compiled <= eager * (1 + MOST_MORE) + TUNING && compiled >= before;
		before = compiled;
		if (!good)
			printf("%s: at batch %d and options %d, a compiled step takes %.0f bytes, another one %.0f\n", g->name, (int) batch, i, compiled, eager);
	}
	pm_arena_release(&a);
	return good;
}

/* Whether the network of this document is as PyTorch has it, or not in the file. */
static bool
compare(const char *line, size_t len, int *n, double *sum)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	bool		good = true;

	pm_arena_init_malloc(&a);
	if (pm_graph_from_json(line, len, &a, &g, &st) != PM_OK)
	{
		fprintf(stderr, "%s\n", st.message);
		exit(2);
	}
	for (int i = 0; i < n_golden; i++)
		if (strcmp(golden[i].name, g.name) == 0 && !is_explained(&g))
		{
			double		bytes = kept(&g, &a);
			double		off = bytes / golden[i].bytes - 1;

			good = fabs(off) <= MOST_OFF;
			(*n)++;
			*sum += fabs(off);
			if (!good)
				printf("%s: %.0f bytes are kept, PyTorch keeps %.0f (%+.1f %%)\n", g.name, bytes, golden[i].bytes, 100 * off);
		}
	good &= always_gives_back(&g);
	good &= states_add(&g, (int) (g.structure % 8));
	good &= compiling_saves(&g, (int) (g.structure / 8 % 8));
	pm_arena_release(&a);
	return good;
}

int
main(int argc, char **argv)
{
	char	   *line = NULL;
	size_t		room = 0;
	ssize_t		len;
	int			n = 0;
	int			bad = 0;
	double		sum = 0;

	if (argc != 2)
		return 2;
	read_golden(argv[1]);
	while ((len = getline(&line, &room, stdin)) > 0)
		bad += !compare(line, (size_t) len, &n, &sum);
	free(line);
	printf("%d networks, %.2f %% off at the mean, %d more than %.0f %%\n", n, n > 0 ? 100 * sum / n : 0, bad, 100 * MOST_OFF);
	return n < 200 || bad > 0;
}
