/*
 * compile.c - operators that are fused.
 *
 * TorchInductor makes one kernel of operators that follow each other and each
 * work on single elements or on rows (Ansel et al. 2024, PyTorch 2, section
 * 4.4).  Such operators wait for memory, so the kernel takes as long as what it
 * still reads and writes.  In the backward pass, it reads what enters it, and
 * computes what is between again (section 4.2: a minimum cut).
 */
#include "change/compile.h"

#include "features/phases.h"
#include "graph/op_catalogue.h"
#include "graph/op_fused.h"
#include "graph/op_operands.h"
#include "graph/op_work.h"

#include <math.h>
#include <string.h>

/* ---- groups of operators that become one kernel ---- */

/* What a kernel, and the operators in it before, move. */
typedef struct fusion
{
	double		before[2];		/* bytes of the operators: forward, backward */
	double		reads;			/* bytes of tensors from outside, each once */
	double		gradients;		/* bytes of the gradients of these */
	double		writes;			/* bytes of tensors that are read outside */
	double		twice[2];		/* bytes that norms move once more: forward, backward */
	double		launches[2];	/* kernels of the operators */
	int			norms;			/* each needs a kernel more in the backward pass, */
	int			statistics;		/* and those over more than a row in the forward pass */
	int32_t		input;			/* the last input of the graph that it was found to read, plus 1 */
	bool		keeps;			/* the backward pass needs tensors of the forward pass */
} fusion;

typedef struct fuser
{
	const pm_tokens *work;
	const pm_question *q;
	const pm_graph *g;
	const pm_dag *dag;
	int32_t    *group;			/* [dag.n] the first operator of its kernel; -1: it is not fused */
	int32_t    *level;			/* [dag.n] operators that are not fused before it, on the longest path */
	int32_t    *seen;			/* [dag.n] the last operator that the group which begins there was found to read, plus 1 */
	fusion	   *of;				/* [dag.n] of the group that begins there */
} fuser;

static const pm_node *
node_of(const fuser *f, int i)
{
	return &f->g->nodes[f->dag->node[i]];
}

static bool
is_named(const pm_node *n, const char *const *names)
{
	while (*names != NULL && strcmp(pm_op_name(n->op), *names) != 0)
		names++;
	return *names != NULL;
}

/* Norms over more than a row: a kernel for their statistics comes first.  In inference, those of a BatchNorm are known. */
static bool
has_statistics(const fuser *f, const pm_node *n)
{
	static const char *const of_batch[] = {"BatchNormalization", "InPlaceABN", NULL};

	return pm_op_class(n->op) == PM_CLASS_NORM && pm_op_row_of(n->op)->bytes == PM_BYTES_NORM && (f->q->mode == PM_TRAIN || !is_named(n, of_batch));
}

static bool
is_product(const pm_node *n)
{
	return pm_op_class(n->op) == PM_CLASS_GEMM || pm_op_class(n->op) == PM_CLASS_CONV;
}

/* Whether autocast makes a narrow copy of operator i for the products that read it, which a kernel can write at once. */
static bool
is_cast_for_products(const fuser *f, int i)
{
	return f->q->dtype == PM_AMP && node_of(f, i)->flow.wide && f->group[i] >= 0;
}

/* Bytes of an element of a node's output. */
static double
width(const fuser *f, const pm_node *n)
{
	if (f->q->dtype == PM_FP32 || f->q->dtype == PM_TF32)
		return 4;
	return f->q->dtype == PM_AMP && n->flow.wide ? 4 : 2;
}

static double
output_bytes(const fuser *f, int i)
{
	const pm_node *n = node_of(f, i);

	return width(f, n) * pm_node_count(n, f->q->batch);
}

static int
find(fuser *f, int i)
{
	while (f->group[i] != i)
		i = f->group[i] = f->group[f->group[i]];
	return i;
}

/*
 * Operators with the same level have no other operator between them on any path, so that none of them has to wait for what
 * another one's kernel makes possible.
 */
static void
find_groups(fuser *f)
{
	for (int i = 0; i < f->dag->n; i++)
	{
		bool		fused = pm_op_is_fused(node_of(f, i));

		f->group[i] = fused ? i : -1;
		for (int e = f->dag->parent_at[i]; e < f->dag->parent_at[i + 1]; e++)
		{
			int			p = f->dag->parent[e];
			int			level = f->level[p] + (fused && (f->group[p] < 0 || pm_op_ends_kernel(node_of(f, p))) ? 1 : 0);

			f->level[i] = level > f->level[i] ? level : f->level[i];
		}
		for (int e = f->dag->parent_at[i]; fused && e < f->dag->parent_at[i + 1]; e++)
		{
			int			p = f->dag->parent[e];

			if (f->group[p] >= 0 && f->level[p] == f->level[i])
				f->group[find(f, p)] = find(f, i);
		}
	}
}

/* Bytes of the output of operator i that its kernel writes for others. */
static double
written_bytes(fuser *f, int i)
{
	int			own = find(f, i);
	bool		products = false;
	bool		others = f->dag->child_at[i] == f->dag->child_at[i + 1];

	for (int e = f->dag->child_at[i]; e < f->dag->child_at[i + 1]; e++)
	{
		int			child = f->dag->child[e];

		if (is_cast_for_products(f, i) && is_product(node_of(f, child)))
			products = true;
		else if (f->group[child] < 0 || find(f, child) != own)
			others = true;
	}
	return (others ? output_bytes(f, i) : 0) + (products ? output_bytes(f, i) / 2 : 0);
}

/* Whether the gradient of what it reads depends on what it read. */
static bool
keeps(const pm_node *n)
{
	pm_back_rule back = pm_op_row_of(n->op)->back;

	return back == PM_BACK_SAVED || back == PM_BACK_MUL || back == PM_BACK_DIV || back == PM_BACK_STAT || back == PM_BACK_ABN || back == PM_BACK_MASK;
}

/* Bytes that a norm reads, but that its kernel would not write: for the second reading it must. */
static double
unwritten_input(fuser *f, int i)
{
	double		bytes = 0;

	for (int e = f->dag->parent_at[i]; e < f->dag->parent_at[i + 1]; e++)
	{
		int			p = f->dag->parent[e];

		if (f->group[p] >= 0 && find(f, p) == find(f, i) && written_bytes(f, p) == 0)
			bytes += output_bytes(f, p);
	}
	return bytes;
}

/* Inputs of the graph are no operators. */
static void
count_inputs(fuser *f, const pm_node *n, fusion *of)
{
	for (int k = 0; k < n->n_inputs; k++)
	{
		int			at = n->inputs[k];

		while (f->g->nodes[at].view && f->g->nodes[at].n_inputs > 0)
			at = f->g->nodes[at].inputs[0];
		if (pm_op_class(f->g->nodes[at].op) != PM_CLASS_OTHER || of->input == at + 1)
			continue;
		of->input = at + 1;
		of->reads += width(f, &f->g->nodes[at]) * pm_node_count(&f->g->nodes[at], f->q->batch);
	}
}

static void
count_operator(fuser *f, int i)
{
	const pm_node *n = node_of(f, i);
	int			own = find(f, i);
	fusion	   *of = &f->of[own];
	pm_work		w;

	pm_node_work(f->g, f->dag->node[i], f->q->batch, f->q->dtype, f->q->layout, f->q->optimizer, &w);
	pm_node_work_in(f->q->mode, f->g, f->dag->node[i], f->q->batch, f->q->dtype, &w);
	of->before[0] += w.bytes_forward;
	of->before[1] += w.bytes_backward;
	of->launches[0] += w.kernels_forward;
	of->launches[1] += w.kernels_backward;
	of->norms += pm_op_class(n->op) == PM_CLASS_NORM;
	of->statistics += has_statistics(f, n);
	of->keeps |= keeps(n);
	of->writes += written_bytes(f, i);
	if (has_statistics(f, n))
		of->twice[0] += output_bytes(f, i) + unwritten_input(f, i);
	if (pm_op_class(n->op) == PM_CLASS_NORM)
		of->twice[1] += 2 * output_bytes(f, i);
	count_inputs(f, n, of);
}

/* What other kernels read of operator i: each of them once. */
static void
count_readers(fuser *f, int i)
{
	int			own = f->group[i] >= 0 ? find(f, i) : -1;

	for (int e = f->dag->child_at[i]; e < f->dag->child_at[i + 1]; e++)
	{
		int			child = f->dag->child[e];
		int			group = f->group[child] >= 0 ? find(f, child) : -1;

		if (group < 0 || group == own || f->seen[group] == i + 1)
			continue;
		f->seen[group] = i + 1;
		f->of[group].reads += output_bytes(f, i);
		f->of[group].gradients += node_of(f, i)->grad ? output_bytes(f, i) : 0;
	}
}

/* What a kernel moves over what its operators moved, at most 1. */
static double
share_of(const fusion *of, int pass)
{
	double		after = pass == 0 ? of->reads + of->writes + of->twice[0] :
		of->writes + (of->keeps ? of->reads : 0) + of->gradients + of->twice[1];

	return of->before[pass] > 0 ? fmin(1, after / of->before[pass]) : 1;
}

/* Kernels that are launched over those before, at most 1. */
static double
launch_share_of(const fusion *of, int pass)
{
	double		kernels = 1 + (pass == 0 ? of->statistics : of->norms);

	return of->launches[pass] > 0 ? fmin(1, kernels / of->launches[pass]) : 1;
}

/*
 * What product i moves apart from its operands, which the kernels beside it do on the way: copies of these in another order or in
 * 16 bits, a bias of a convolution, sums of gradients.  bytes: [2] forward, backward.
 */
static void
count_aside(const fuser *f, int i, double *bytes)
{
	const pm_node *n = node_of(f, i);
	const pm_extra *copied = &n->flow.copied[f->q->layout];
	const pm_extra *merged = &n->flow.merged[f->q->layout];
	double		batch = (double) f->q->batch;

	bytes[0] = width(f, n) * (copied->fixed + copied->each * batch);
	bytes[1] = n->grad ? width(f, n) * (merged->fixed + merged->each * batch) : 0;
	if (pm_op_class(n->op) == PM_CLASS_CONV && n->n_weights > 1)
		bytes[0] += 2 * output_bytes(f, i);
	for (int e = f->dag->parent_at[i]; e < f->dag->parent_at[i + 1]; e++)
	{
		int			p = f->dag->parent[e];

		if (!is_cast_for_products(f, p))
			continue;
		bytes[0] += 1.5 * output_bytes(f, p);
		bytes[1] += n->grad && node_of(f, p)->grad ? 1.5 * output_bytes(f, p) : 0;
	}
}

#define MOST_ASIDE		0.5		/* of the time of a product */

/* ---- parts ---- */

/* What is left of the passes of a token, and what products have beside them. */
typedef struct left
{
	double		moved[2];		/* share of the time in which bytes move: forward, backward */
	double		rest[2];		/* and of the remaining time, which is that of launches */
	double		aside_ms[2];	/* less of a product's time, all copies */
} left;

/*
 * ms of a pass that takes `ms`: its traffic becomes less as its bytes do, and the rest as its kernels do.  The rest does not depend on the
 * batch, so that no step becomes shorter with a larger one.
 */
static double
pass_left(const left *l, int pass, double ms, double traffic_ms)
{
	double		moved = fmin(ms, traffic_ms);

	return fmax(0, moved * l->moved[pass] + (ms - moved) * l->rest[pass] - fmin(l->aside_ms[pass], MOST_ASIDE * ms));
}

static void
shorten(const pm_tokens *work, const left *l, pm_part *part)
{
	double		copies = work->skeleton->copies[part->token];
	const double *us = work->phase_us + 3 * part->token;
	double		traffic[2] = {us[0] * copies / 1000 / PM_COPY_SHARE, us[1] * copies / 1000 / PM_COPY_SHARE};
	double		known = pm_passes_us(work, part->token);
	bool		phases = !isnan(part->forward_ms) && !isnan(part->backward_ms);
	double		passes_ms = phases ? part->forward_ms + part->backward_ms : fmax(0, part->step_ms - us[2] * copies / 1000);
	double		ms[2] = {part->forward_ms, part->backward_ms};

	if (!phases && known <= 0)
		return;
	if (!phases)
	{
		ms[0] = passes_ms * pm_forward_us(work, part->token) / known;
		ms[1] = passes_ms - ms[0];
	}
	for (int pass = 0; pass < 2; pass++)
		ms[pass] = pass_left(l, pass, ms[pass], traffic[pass]);
	part->step_ms += ms[0] + ms[1] - passes_ms;
	if (phases)
	{
		part->forward_ms = ms[0];
		part->backward_ms = ms[1];
	}
}

/* What is left of each token: the mean of its copies. */
static void
find_left(fuser *f, left *l)
{
	const pm_skeleton *s = f->work->skeleton;

	for (int i = 0; i < f->dag->n; i++)
	{
		left	   *of = &l[s->token_of[i]];
		double		copies = s->copies[s->token_of[i]];
		const fusion *kernel = f->group[i] >= 0 ? &f->of[find(f, i)] : NULL;
		double		aside[2] = {0};

		if (kernel == NULL && is_product(node_of(f, i)))
			count_aside(f, i, aside);
		for (int pass = 0; pass < 2; pass++)
		{
			of->moved[pass] += (kernel != NULL ? share_of(kernel, pass) : 1) / copies;
			of->rest[pass] += (kernel != NULL ? launch_share_of(kernel, pass) : 1) / copies;
			of->aside_ms[pass] += aside[pass] / (PM_COPY_SHARE * f->q->gpu->mem_bw_gbs * 1e6);
		}
	}
}

pm_code
pm_compile_parts(const pm_tokens *work, const pm_question *q, pm_arena *a, pm_part *parts, int n, double *sum, pm_status *st)
{
	const pm_skeleton *s = work->skeleton;
	int			ops = s->dag.n;
	fuser		f = {.work = work, .q = q, .g = s->graph, .dag = &s->dag, .group = PM_NEW(a, int32_t, ops), .level = PM_NEW(a, int32_t, ops),
		.seen = PM_NEW(a, int32_t, ops), .of = PM_NEW(a, fusion, ops)};
	left	   *tokens = PM_NEW(a, left, s->n);

	if (!f.group || !f.level || !f.seen || !f.of || !tokens)
		return pm_no_memory(st, a);
	find_groups(&f);
	for (int i = 0; i < ops; i++)
	{
		if (f.group[i] >= 0)
			count_operator(&f, i);
		count_readers(&f, i);
	}
	find_left(&f, tokens);
	*sum = 0;
	for (int i = 0; i < n; i++)
	{
		if (parts[i].token >= 0)
			shorten(work, &tokens[parts[i].token], &parts[i]);
		*sum += parts[i].step_ms;
	}
	return PM_OK;
}
