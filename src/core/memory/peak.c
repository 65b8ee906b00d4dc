/*
 * peak.c - the peak of a step over the batch.
 *
 * At every event, what tensors hold is a straight line over the batch; the peak
 * is the highest of these lines, which a few of them make up.  What the
 * allocator reserves on top is replayed at a few batches and interpolated: 1
 * to 3 % off at the mean.
 *
 * Steps that differ in the optimizer alone have the same lines but for its
 * states, and the update a line of its own: what keeps more never takes less.
 */
#include "memory/peak.h"

#include <math.h>
#include <string.h>

#include "graph/layers.h"
#include "graph/op_operands.h"
#include "memory/allocator.h"
#include "memory/step_build.h"
#include "memory/units.h"
#include "memory/walk.h"

/* At the last, weights and the rounding of segments count for little: it says what a sample takes in huge batches. */
const double pm_memory_anchors[PM_N_MEMORY_ANCHORS] = {1, 4, 16, 64, 256, 1024, 1048576};

typedef pm_memory_line line;

/* Batches at which lines without gradients, or without scores, are looked for. */
static const double light_at[] = {1, 64, 16777216};

/* Parts of a sample at which lines are looked for: where GPUs share one, what they do not share may be most. */
static const double parts_at[] = {1.0 / 2, 1.0 / 4, 1.0 / 16, 1.0 / 256};

#define N_LIGHT	((int) (sizeof(light_at) / sizeof(light_at[0])))
#define N_PARTS	((int) (sizeof(parts_at) / sizeof(parts_at[0])))

/* ---------- the highest line ---------- */

/* What is held after an event. */
static void
account(line *now, const pm_step *s, int32_t event)
{
	double		sign = event >= 0 ? 1 : -1;
	const pm_memory_tensor *t = &s->tensors[event >= 0 ? event : ~event];

	now->fixed += sign * t->fixed;
	now->per += sign * t->per;
	if (t->role == PM_MEMORY_GRADIENTS)
		now->gradients += sign * t->fixed;
	if (t->copy)
		now->copies += sign * t->fixed;
	if (t->score)
		now->scores += sign * t->per;
}

/* What weighs nothing. */
typedef enum weightless
{
	ALL_WEIGHS, GRADIENTS, SCORES
} weightless;

/* The line of the passes that is highest at a batch. */
static line
highest(const pm_step *s, double batch, weightless light)
{
	line		now = {0};
	line		best = {0};
	double		most = -1;

	for (int e = 0; e < s->phase_at[PM_PHASE_UPDATE]; e++)
	{
		bool		taken = s->events[e] >= 0;
		double		held;

		account(&now, s, s->events[e]);
		held = now.fixed + now.per * batch - (light == GRADIENTS ? now.gradients : light == SCORES ? now.scores * batch : 0);
		if (taken && held > most)
		{
			most = held;
			best = now;
		}
	}
	return best;
}

static void
add_line(pm_memory_run *run, line l)
{
	for (int i = 0; i < run->n_lines; i++)
		if (run->lines[i].fixed == l.fixed && run->lines[i].per == l.per)
			return;
	if (run->n_lines < PM_MAX_MEMORY_LINES)
		run->lines[run->n_lines++] = l;
}

/* Lines between two that are highest at a small and at a large batch: where these cross, a third may be higher. */
static void
lines_between(const pm_step *s, pm_memory_run *run, line small, line large, int depth)
{
	double		cross;
	line		mid;

	add_line(run, small);
	if (depth > 0 && large.per > small.per)
	{
		cross = (small.fixed - large.fixed) / (large.per - small.per);
		mid = cross >= 1 ? highest(s, cross, ALL_WEIGHS) : large;
		if (mid.fixed + mid.per * cross > (small.fixed + small.per * cross) * (1 + 1e-9) + 1)
		{
			lines_between(s, run, small, mid, depth - 1);
			lines_between(s, run, mid, large, depth - 1);
		}
	}
	add_line(run, large);
}

/*
 * Where gradients are divided, or there from the start, a moment before most of them are made may be the highest; where scores are
 * divided among more GPUs than other activations, a moment without most of them; and where a sample is divided, one with much
 * that does not grow with it, such as copies of weights.
 */
static void
light_lines(const pm_step *s, pm_memory_run *run)
{
	int			n = run->n_lines;

	for (int i = 0; i < N_LIGHT; i++)
	{
		add_line(run, highest(s, light_at[i], GRADIENTS));
		add_line(run, highest(s, light_at[i], SCORES));
	}
	for (int i = 0; i < N_PARTS; i++)
		add_line(run, highest(s, parts_at[i], ALL_WEIGHS));
	run->n_light = run->n_lines - n;
	run->n_lines = n;
}

/* What the update holds: all that the passes leave, and scratch memory. */
static void
sum_update(const pm_step *s, pm_memory_plan *plan)
{
	for (int e = 0; e < s->phase_at[PM_PHASE_UPDATE]; e++)
		account(&plan->update, s, s->events[e]);
	for (int e = s->phase_at[PM_PHASE_UPDATE]; e < s->n_events; e++)
		if (s->events[e] >= 0)
			plan->scratch += s->tensors[s->events[e]].fixed;
	plan->update.fixed += plan->scratch;
}

static double
line_at(const line *l, int64_t batch)
{
	return l->fixed + l->per * (double) batch;
}

double
pm_memory_highest(const pm_memory_run *run, int64_t batch, int *which)
{
	double		most = 0;
	int			at = 0;

	for (int i = 0; i < run->n_lines; i++)
		if (line_at(&run->lines[i], batch) > most)
			most = line_at(&run->lines[at = i], batch);
	if (which != NULL)
		*which = at;
	return most;
}

/* What a step takes of which a share of the layers is run as asked, and the others are plain. Nobody runs again what takes more then. */
static double
mixed(const pm_memory_plan *plan, double asked, double plain)
{
	double		least = fmin(asked, plain);

	return plan->again_share < 1 ? plain + plan->again_share * (least - plain) : least;
}

bool
pm_memory_checkpoints_at(const pm_memory_plan *plan, int64_t batch)
{
	return plan->checkpoints && pm_memory_highest(&plan->asked, batch, NULL) <= pm_memory_highest(&plan->plain, batch, NULL);
}

double
pm_memory_live_in_passes(const pm_memory_plan *plan, int64_t batch)
{
	double		most = pm_memory_highest(&plan->asked, batch, NULL);

	return plan->plain.n_lines > 0 ? mixed(plan, most, pm_memory_highest(&plan->plain, batch, NULL)) : most;
}

double
pm_memory_live(const pm_memory_plan *plan, int64_t batch)
{
	double		passes = pm_memory_live_in_passes(plan, batch);
	double		update = line_at(&plan->update, batch);

	return passes > update ? passes : update;
}

/* ---------- the allocator ---------- */

static pm_code
replay(const pm_step *s, pm_arena *a, pm_memory_plan *plan, pm_status *st)
{
	double	   *reserved = plan->asked.reserved;
	pm_code		rc = pm_allocator_replay(s, pm_memory_anchors, PM_N_MEMORY_ANCHORS, a, reserved, st);

	for (int i = 0; i < PM_N_MEMORY_ANCHORS && rc == PM_OK; i++)
	{
		reserved[i] += plan->optimizer;
		if (i > 0 && reserved[i] < reserved[i - 1])
			reserved[i] = reserved[i - 1];
	}
	return rc;
}

/* At an anchor: with checkpoints or without, whichever is less. */
static double
reserved_at(const pm_memory_plan *plan, int anchor)
{
	return plan->plain.n_lines > 0 ? mixed(plan, plan->asked.reserved[anchor], plan->plain.reserved[anchor]) : plan->asked.reserved[anchor];
}

/* ---------- malloc ---------- */

/*
 * malloc does not move what it has given out: holes between tensors stay
 * resident, the more of them the more tensors were made.  PyTorch 1.13 hands
 * pointwise convolutions to oneDNN, with copies of their data and results, from
 * 16 samples on.  The shares are a regression on the peaks of data/
 * (docs/memory.md).
 */
#define HOLES	0.2				/* of all outputs */
#define COPIES	0.3				/* of data and results of pointwise convolutions */
#define COPIES_FROM	16			/* samples */

static double
held_by_malloc(const pm_memory_plan *plan, double batch)
{
	return pm_memory_live(plan, (int64_t) batch) + HOLES * (plan->outputs_fixed + plan->outputs_per * batch) +
		(batch >= COPIES_FROM ? COPIES * plan->pointwise_per * batch : 0);
}

double
pm_memory_reserved(const pm_memory_plan *plan, int64_t batch)
{
	double		b = (double) batch;
	double		live = pm_memory_live(plan, batch);
	double		last = pm_memory_anchors[PM_N_MEMORY_ANCHORS - 1];
	double		reserved = reserved_at(plan, PM_N_MEMORY_ANCHORS - 1);
	int			i = 0;

	if (plan->on_cpu)
		return held_by_malloc(plan, b);
	while (i < PM_N_MEMORY_ANCHORS - 2 && b > pm_memory_anchors[i + 1])
		i++;
	if (b <= last)
		reserved = reserved_at(plan, i) +
			(reserved_at(plan, i + 1) - reserved_at(plan, i)) * (b - pm_memory_anchors[i]) / (pm_memory_anchors[i + 1] - pm_memory_anchors[i]);
	else						/* all grows but what is there before the step */
		reserved += (reserved - plan->weights - plan->optimizer) * (b / last - 1);
	return reserved > live ? reserved : live;
}

/* ---------- convolutions ---------- */

/*
 * Whether libraries need no scratch memory in proportion to the data and the result of a convolution: on a GPU grouped ones, and in FP32
 * those of three dimensions.  For these, cuDNN has no Winograd, and what it takes reads the data as they are, with tables of indices.
 * Matrix units want channels last: in other formats, data and result are copied.
 */
static bool
needs_no_copies(const pm_node *n, pm_conv_kind kind, const pm_step_options *o)
{
	if (o->on_cpu)
		return false;
	return kind == PM_CONV_GROUPED || kind == PM_CONV_DEPTHWISE || (n->attrs.spatial > 2 && o->dtype == PM_FP32);
}

/* Bytes of data and result of a convolution, as a line; zero for other operators, and for those that need no copies. */
static line
conv_bytes(const pm_graph *g, const pm_node *n, double element, const pm_step_options *options)
{
	const pm_op_row *row = pm_op_row_of(n->op);
	line		l = {0};
	pm_operands o;
	pm_conv_kind kind;
	double		at1;

	if (n->view || row->class != PM_CLASS_CONV)
		return l;
	o = pm_conv_operands(g, n);
	kind = pm_conv_kind_of(n, row, &o);
	if (needs_no_copies(n, kind, options))
		return l;
	at1 = pm_count_at(&o.data, 1) + pm_node_count(n, 1);
	l.per = (pm_count_at(&o.data, 2) + pm_node_count(n, 2) - at1) * element;
	l.fixed = at1 * element - l.per;
	return l;
}

/* Elements of data and result of a convolution of single elements, a sample; 0 for other operators. */
static double
pointwise_count(const pm_graph *g, const pm_node *n)
{
	pm_operands o;

	if (n->view || n->batch_dim < 0 || !pm_step_is_pointwise(n))
		return 0;
	o = pm_conv_operands(g, n);
	return pm_count_at(&o.data, 1) + pm_node_count(n, 1);
}

double
pm_memory_largest_conv(const pm_memory_plan *plan, int64_t batch)
{
	return plan->conv_fixed + plan->conv_per * (double) batch;
}

/* ---------- the plan ---------- */

static void
sum_persistent(const pm_step *s, const pm_graph *g, const pm_step_options *o, pm_memory_plan *plan)
{
	double	   *of[] = {&plan->weights, &plan->gradients, &plan->optimizer};
	double		standing = 0;	/* of experts */
	double	   *of_experts[] = {&plan->expert_weights, &standing, &plan->expert_optimizer};
	double		size = o->dtype == PM_BF16 || o->dtype == PM_FP16 ? 2 : 4;
	double		params = (g->declared_params < g->params ? g->declared_params : g->params) - g->sparse;
	pm_memory_units units;

	for (int e = 0; e < s->phase_at[PM_PHASE_FORWARD]; e++)
	{
		const pm_memory_tensor *t = &s->tensors[s->events[e]];

		*of[t->role] += t->fixed;
		*of_experts[t->role] += t->expert ? t->fixed : 0;
	}
	plan->standing = plan->gradients;
	plan->gradients = o->inference ? 0 : params * size;
	for (int i = 0; i < g->n_nodes; i++)
	{
		double		count = 0;

		if (g->nodes[i].expert && !o->inference && !g->nodes[i].attrs.frozen)
			plan->expert_gradients += pm_node_params(&g->nodes[i]) * size;
		for (int k = 0; k < g->nodes[i].n_weights; k++)
			count += pm_shape_count(&g->nodes[i].weights[k]);
		plan->largest_weights = count * size > plan->largest_weights ? count * size : plan->largest_weights;
	}
	pm_memory_units_of(g, &units);
	plan->root_weights = units.root * size;
	plan->unit_weights = units.unit * size;
	plan->pair_weights = units.pair * size;
}

/* Checkpoints, or without them all that autograd keeps. */
static void
sum_kept(const pm_step *s, const pm_graph *g, pm_memory_run *run)
{
	int			output = g->output >= 0 ? g->output : g->n_nodes - 1;

	for (int e = s->phase_at[PM_PHASE_FORWARD]; e < s->phase_at[PM_PHASE_BACKWARD]; e++)
	{
		const pm_memory_tensor *t = &s->tensors[s->events[e] >= 0 ? s->events[e] : ~s->events[e]];

		if (t->node < 0 || t->node == output)
			continue;
		run->kept_per += s->events[e] >= 0 ? t->per : -t->per;
		if (t->score)
			run->kept_scores += s->events[e] >= 0 ? t->per : -t->per;
	}
	run->kept_per = run->kept_per > 0 ? run->kept_per : 0;
	run->kept_scores = fmax(0, fmin(run->kept_scores, run->kept_per));
}

/* What a static estimate knows: outputs, without lives and without what the backward pass needs. */
static void
sum_outputs(const pm_graph *g, const uint8_t *norms, double element, pm_memory_plan *plan)
{
	for (int i = 0; i < g->n_nodes; i++)
	{
		const pm_node *n = &g->nodes[i];
		double		bytes = pm_node_count_all(n, 1) * element;

		if (n->view)
			continue;
		if (n->n_inputs == 0 && n->batch_dim >= 0)
			plan->inputs_per += bytes;
		if (n->batch_dim < 0)
			plan->outputs_fixed += bytes;
		else
			plan->outputs_per += bytes;
		if (n->batch_dim >= 0 && bytes > plan->largest_per)
			plan->largest_per = bytes;
		if (n->batch_dim >= 0 && norms[i] != PM_NORM_NONE && norms[i] != PM_NORM_OF_PRODUCT && bytes > plan->handed_per)
			plan->handed_per = bytes;
	}
}

static pm_code
plan_as_asked(const pm_graph *g, const pm_step_options *o, pm_arena *a, pm_memory_plan *plan, pm_status *st)
{
	pm_step		s;
	double		element = o->dtype == PM_FP32 || o->dtype == PM_TF32 ? 4 : 2;
	uint8_t    *norms = PM_NEW(a, uint8_t, g->n_nodes);
	pm_code		code = norms != NULL ? pm_step_simulate(g, o, a, &s, st) : pm_no_memory(st, a);

	memset(plan, 0, sizeof(*plan));
	if (code != PM_OK)
		return code;
	plan->structure = g->structure;
	plan->again_share = 1;
	plan->on_cpu = o->on_cpu;
	sum_persistent(&s, g, o, plan);
	sum_kept(&s, g, &plan->asked);
	pm_norms_find(g, norms);
	sum_outputs(g, norms, element, plan);
	if ((code = pm_walk(g, element, a, &plan->walk_fixed, &plan->walk_per, st)) != PM_OK)
		return code;
	lines_between(&s, &plan->asked, highest(&s, 1, ALL_WEIGHS), highest(&s, 16777216, ALL_WEIGHS), 3);
	light_lines(&s, &plan->asked);
	sum_update(&s, plan);
	for (int i = 0; i < g->n_nodes; i++)
	{
		line		l = conv_bytes(g, &g->nodes[i], element, o);

		if (l.fixed + l.per * 64 > plan->conv_fixed + plan->conv_per * 64)
		{
			plan->conv_fixed = l.fixed;
			plan->conv_per = l.per;
		}
		plan->pointwise_per += pointwise_count(g, &g->nodes[i]) * element;
	}
	return o->on_cpu ? PM_OK : replay(&s, a, plan, st);
}

#define USUAL_BATCH	256		/* one of the anchors, at which activations have most of the memory */

static bool
takes_less(const pm_memory_plan *plan, const pm_memory_plan *than)
{
	return pm_memory_live(plan, USUAL_BATCH) < pm_memory_live(than, USUAL_BATCH) &&
		pm_memory_reserved(plan, USUAL_BATCH) < pm_memory_reserved(than, USUAL_BATCH);
}

/*
 * Checkpoints save nothing where a few operators have most of the activations,
 * and what runs again leaves the allocator with more gaps.  Nor do they at tiny
 * batches, where what runs again comes on top of the gradients of the layers
 * behind.  Whoever chooses what takes least memory then leaves them out.
 */
pm_code
pm_memory_plan_make(const pm_graph *g, const pm_step_options *o, pm_arena *a, pm_memory_plan *plan, pm_status *st)
{
	pm_step_options keeping = *o;
	pm_memory_plan kept;
	pm_code		code = plan_as_asked(g, o, a, plan, st);

	keeping.checkpointing = keeping.products_stay = keeping.attention_again = false;
	if (code != PM_OK || !(o->checkpointing || o->attention_again))
		return code;
	code = plan_as_asked(g, &keeping, a, &kept, st);
	if (code != PM_OK)
		return code;
	plan->checkpoints = takes_less(plan, &kept);
	if (!plan->checkpoints)
		*plan = kept;
	else
	{
		plan->segments = o->checkpointing && !o->products_stay;
		plan->plain = kept.asked;
	}
	return PM_OK;
}
