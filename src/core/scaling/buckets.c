/*
 * buckets.c - portions of gradients, and the time at which each is ready.
 */
#include "scaling/buckets.h"
#include "graph/attention.h"
#include "graph/layers.h"
#include "graph/op_catalogue.h"

#include <math.h>
#include <string.h>

#define MIB			1048576.0
#define FIRST_MB	1.0			/* PyTorch: kDefaultFirstBucketBytes */

static double
element_bytes(pm_dtype dtype)
{
	return dtype == PM_BF16 || dtype == PM_FP16 ? 2 : 4;
}

/* How much a bucket takes until it is full: of gradients the first and each other one, of all weights where some are frozen. */
typedef struct limits
{
	double		first,
				gradients,
				weights;
} limits;

static limits
limits_of(const pm_graph *g, pm_dtype dtype, double bucket_mb, int *room)
{
	double		trained = (g->params - g->sparse) * element_bytes(dtype);
	double		all = trained + g->frozen * element_bytes(dtype);
	int			most = g->frozen > 0 ? (PM_MAX_BUCKETS - 2) / 2 : PM_MAX_BUCKETS - 2;
	limits		l = {fmin(FIRST_MB, bucket_mb) * MIB, fmax(bucket_mb * MIB, trained / most), INFINITY};

	/* every full bucket but the first has at least so much */
	*room = 3 + (int) fmin(trained / l.gradients, most);
	if (g->frozen > 0)
	{
		l.weights = fmax(bucket_mb * MIB, all / most);
		*room += (int) fmin(all / l.weights, most);
	}
	return l;
}

/* The bucket that is being filled gets operator i; returns whether it is full. */
static bool
add_operator(pm_buckets *b, const pm_skeleton *s, int i, pm_dtype dtype, const limits *l)
{
	const pm_node *n = &s->graph->nodes[s->dag.node[i]];
	pm_work		w;

	pm_node_work(s->graph, s->dag.node[i], 1, dtype, PM_NCHW, PM_SGD, &w);
	if (!pm_node_sparse(n))
		b->bytes[b->n] += w.params * element_bytes(dtype);
	if (n->attrs.frozen)
		b->frozen[b->n] += pm_node_params(n) * element_bytes(dtype);
	if (n->expert)
		*(n->attrs.frozen ? &b->frozen_expert[b->n] : &b->expert[b->n]) += pm_node_params(n) * element_bytes(dtype);
	b->done[(size_t) b->n * b->tokens + s->token_of[i]]++;
	return b->bytes[b->n] >= (b->n == 0 ? l->first : l->gradients) || b->bytes[b->n] + b->frozen[b->n] >= l->weights;
}

/* Whether each GPU does all of it where layers are divided, as Megatron does: what works on all that a layer hands on. */
static bool
stays_whole(const pm_node *n, int norm, double activation)
{
	const char *name = pm_op_name(n->op);

	return norm == PM_NORM_OF_LAYER || norm == PM_NORM_BETWEEN || ((strcmp(name, "Add") == 0 || strcmp(name, "Dropout") == 0) && pm_node_count(n, 1) == activation);
}

/* Layers, and what one hands to the next: what the norms of a transformer put out. */
static void
count_layers(const pm_skeleton *s, const uint8_t *norms, pm_buckets *b)
{
	int			last = -1;

	for (int i = 0; i < s->dag.n; i++)
	{
		const pm_node *n = &s->graph->nodes[s->dag.node[i]];

		if (norms[s->dag.node[i]] == PM_NORM_OF_LAYER || norms[s->dag.node[i]] == PM_NORM_BETWEEN)
			b->activation = fmax(b->activation, pm_node_count(n, 1));
		if (pm_node_is_norm(n))
			last = i;
	}
	for (int i = 0; i <= last; i++)
		if (stays_whole(&s->graph->nodes[s->dag.node[i]], norms[s->dag.node[i]], b->activation))
			b->whole[s->token_of[i]]++;
	for (int i = last + 1; last >= 0 && i < s->dag.n; i++)
		b->head[s->token_of[i]]++;
	b->layers = pm_layers_of(s->graph);
}

/*
 * What checkpointed layers compute again in the backward pass.  PyTorch stops when it has all that the backward pass
 * needs (torch.utils.checkpoint, early stop), so that it does not compute the last product of a layer, whose output
 * nothing needs; that is the last one before the norm that the next layer begins with, or that ends all layers.  What
 * follows the layers is in no checkpoint.  Of networks without layers everything is computed again.  The backward pass
 * does not reach what comes before the first trained weight.
 */
static void
count_again(const pm_skeleton *s, const uint8_t *norms, pm_buckets *b)
{
	int			product = -1;	/* the last so far */
	int			before_norm = -1;	/* and the last before a norm */
	bool		attended = false;
	int			first = 0;		/* operator with a gradient */

	for (int i = 0; i < s->n; i++)
		b->again[i] = (float) s->copies[i] - (b->layers > 0 ? b->head[i] : 0);
	for (; first < s->dag.n && !s->graph->nodes[s->dag.node[first]].grad; first++)
		if (b->again[s->token_of[first]] > 0)
			b->again[s->token_of[first]]--;
	for (int i = 0; i < s->dag.n && b->layers > 0; i++)
	{
		const pm_node *n = &s->graph->nodes[s->dag.node[i]];

		if (pm_node_attends(n))
		{
			if (attended && before_norm >= first)
				b->again[s->token_of[before_norm]]--;
			attended = true;
			before_norm = -1;
		}
		else if (norms[s->dag.node[i]] == PM_NORM_OF_LAYER || (norms[s->dag.node[i]] == PM_NORM_BETWEEN && pm_node_count(n, 1) == b->activation))
			before_norm = product;
		else if (pm_op_class(n->op) == PM_CLASS_GEMM && n->n_weights > 0)
			product = i;
	}
	if (attended && before_norm >= first)
		b->again[s->token_of[before_norm]]--;
}

/* Operators whose results are kept where cheap ones are computed again: a product takes as long as many of the others. */
static bool
is_dear(const pm_node *n)
{
	pm_class	class = pm_op_class(n->op);

	return class == PM_CLASS_GEMM || class == PM_CLASS_CONV || class == PM_CLASS_RECURRENT;
}

static void
count_cheap(const pm_skeleton *s, pm_buckets *b)
{
	for (int i = 0; i < s->n; i++)
		b->cheap[i] = is_dear(&s->graph->nodes[s->node[i]]) ? 0 : b->again[i];
}

/* Elements of keys and values: of what two operators read, by the numbers of these inputs. */
static double
elements_of_kv(const pm_graph *g, const pm_node *keys, int k, const pm_node *values, int v)
{
	return pm_node_count(&g->nodes[keys->inputs[k]], 1) + pm_node_count(&g->nodes[values->inputs[v]], 1);
}

/* Attention that is one operator, of queries, keys and values, or of all three in one tensor. */
static void
count_fused(const pm_skeleton *s, pm_buckets *b)
{
	for (int i = 0; i < s->dag.n; i++)
	{
		const pm_node *n = &s->graph->nodes[s->dag.node[i]];

		if (strcmp(pm_op_name(n->op), "Attention") != 0)
			continue;
		b->attends[s->token_of[i]]++;
		b->kv = fmax(b->kv, n->n_inputs >= 3 ? elements_of_kv(s->graph, n, 1, n, 2) : 2 * pm_node_count(n, 1));
	}
}

/* The operators from the scores of an attention to the product with its values: one kernel for all of them keeps no scores, and computes nothing again. */
static pm_code
count_core(const pm_skeleton *s, pm_arena *a, pm_buckets *b, pm_status *st)
{
	const pm_node *nodes = s->graph->nodes;
	uint8_t    *marks = PM_NEW(a, uint8_t, s->graph->n_nodes);
	pm_attention *found;
	int			n;
	pm_code		rc;

	if (marks == NULL)
		return pm_no_memory(st, a);
	rc = pm_attention_find(s->graph, true, a, marks, &found, &n, st);
	for (int i = 0; rc == PM_OK && i < s->dag.n; i++)
	{
		b->attends[s->token_of[i]] += marks[s->dag.node[i]] != 0;
		b->core[s->token_of[i]] += marks[s->dag.node[i]] != 0 && nodes[s->dag.node[i]].grad;
	}
	for (int i = 0; rc == PM_OK && i < n; i++)
		b->kv = fmax(b->kv, elements_of_kv(s->graph, &nodes[found[i].scores], 1, &nodes[found[i].end], 1));
	return rc;
}

pm_code
pm_buckets_build(const pm_skeleton *s, pm_dtype dtype, double bucket_mb, pm_arena *a, pm_buckets *b, pm_status *st)
{
	int			room;
	limits		l = limits_of(s->graph, dtype, bucket_mb, &room);
	uint8_t    *norms = PM_NEW_PACKED(a, uint8_t, s->graph->n_nodes);
	pm_code		rc;

	*b = (pm_buckets) {.tokens = s->n, .bucket_mb = bucket_mb, .message_bytes = bucket_mb * MIB, .narrow = element_bytes(dtype) == 2};
	b->bytes = PM_NEW_PACKED(a, double, room);
	b->frozen = PM_NEW_PACKED(a, double, room);
	b->expert = PM_NEW_PACKED(a, double, room);
	b->frozen_expert = PM_NEW_PACKED(a, double, room);
	b->done = PM_NEW_PACKED(a, float, (size_t) room * s->n);
	b->head = PM_NEW_PACKED(a, float, s->n);
	b->whole = PM_NEW_PACKED(a, float, s->n);
	b->again = PM_NEW_PACKED(a, float, s->n);
	b->cheap = PM_NEW_PACKED(a, float, s->n);
	b->core = PM_NEW_PACKED(a, float, s->n);
	b->attends = PM_NEW_PACKED(a, float, s->n);
	if (norms == NULL || b->frozen == NULL || b->expert == NULL || b->frozen_expert == NULL || b->again == NULL || b->cheap == NULL || b->core == NULL || b->attends == NULL || b->whole == NULL || b->bytes == NULL || b->done == NULL || b->head == NULL)
		return pm_no_memory(st, a);
	for (int i = s->dag.n - 1; i >= 0; i--)
	{
		if ((s->dag.n - i) % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		if (add_operator(b, s, i, dtype, &l) && b->n < room - 1)
			b->n++;
	}
	pm_norms_find(s->graph, norms);
	count_layers(s, norms, b);
	b->heads = pm_heads_of(s->graph);
	b->experts = s->graph->experts;
	count_again(s, norms, b);
	count_cheap(s, b);
	count_fused(s, b);
	if ((rc = count_core(s, a, b, st)) != PM_OK)
		return rc;
	/* what is left: the last bucket, or operators before the first one with weights */
	if (b->bytes[b->n] + b->frozen[b->n] > 0)
		b->n++;
	return PM_OK;
}

pm_phases
pm_phases_of(const pm_tokens *work, double step_ms)
{
	const double *copies = work->skeleton->copies;
	double		us[3] = {0};
	double		passes_us;
	double		update_ms;

	for (int i = 0; i < work->n; i++)
	{
		us[0] += pm_forward_us(work, i) * copies[i];
		us[1] += pm_backward_us(work, i) * copies[i];
		us[2] += work->phase_us[3 * i + 2] * copies[i];
	}
	passes_us = us[0] + us[1];
	/* a graph that does nothing at all: a third forward, the rest backward */
	if (passes_us + us[2] == 0)
		return (pm_phases) {step_ms / 3, step_ms * 2 / 3, 0, 0};
	update_ms = pm_update_part(passes_us, us[2], step_ms);
	if (passes_us == 0)
		return (pm_phases) {0, 0, update_ms, 0};
	return (pm_phases) {
		.forward_ms = us[0] * (step_ms - update_ms) / passes_us,
		.backward_ms = us[1] * (step_ms - update_ms) / passes_us,
		.update_ms = update_ms,
		.passes_us_ms = (step_ms - update_ms) / passes_us
	};
}

double
pm_bucket_ms(const pm_buckets *b, int k, const pm_tokens *work, const pm_phases *p)
{
	const float *done = b->done + (size_t) k * b->tokens;
	double		us = 0;

	for (int i = 0; i < b->tokens; i++)
		us += done[i] * pm_backward_us(work, i);
	return us * p->passes_us_ms;
}
