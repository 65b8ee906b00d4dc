/*
 * tokens.c - from a skeleton and a question to what the predictors see.
 *
 * Features (docs/mdot.md) are logarithms.  Each has a name, under which stored
 * predictors list it; order and number are free to change.
 */
#include "features/tokens.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/op_catalogue.h"
#include "graph/unrolled.h"

#define DRAW_CYCLES	21.0		/* of a CPU, for a random number */
#define WINOGRAD	2.25		/* multiplications of a 3 x 3 convolution over those of Winograd's F(2 x 2, 3 x 3) */
#define CACHE_SPEED	3.0			/* of the last on-chip cache against the memory */
#define OCCUPANCY_BLOCK	256		/* elements of a block of threads in PM_LOAD_OCCUPANCY, a usual size */
#define POLL_TOKENS	512			/* between two looks at whether to stop */

/* ---- types ---- */

int
pm_type_id(int op, pm_conv_kind conv)
{
	return conv == PM_CONV_NONE ? op : pm_op_count() + (int) conv;
}

int
pm_type_count(void)
{
	return pm_op_count() + PM_N_CONV_KINDS;
}

const char *
pm_type_name(int type, char *buf)
{
	if (type < pm_op_count())
		return pm_op_name(type);
	snprintf(buf, 64, "Conv/%s", pm_conv_kind_name[type - pm_op_count()]);
	return buf;
}

int
pm_type_find(const char *name)
{
	if (strncmp(name, "Conv/", 5) == 0)
	{
		for (int k = 1; k < PM_N_CONV_KINDS; k++)
			if (strcmp(name + 5, pm_conv_kind_name[k]) == 0)
				return pm_op_count() + k;
		return -1;
	}
	for (int op = 0; op < pm_op_count(); op++)
		if (strcmp(name, pm_op_name(op)) == 0)
			return op;
	return -1;
}

/* ---- features ---- */

static inline pm_real
log2_1(double x)
{
	return (pm_real) log2(1 + (x > 0 ? x : 0));
}

/* us; 2^-10 us stands for nothing, so that the logarithm exists */
static inline pm_real
log2_us(double us)
{
	return (pm_real) log2(us + 0x1p-10);
}

/*
 * Whether PyTorch runs a depthwise convolution on its own kernels and not on cuDNN's
 * (aten/src/ATen/native/Convolution.cpp, use_cudnn_depthwise(), from 1.9 with cuDNN 8.2
 * on).  Channels-last ones and those of 16-bit floats with at least 32 channels
 * and a square kernel of 1, 3 or 5 run on cuDNN's, with a stride of 2 only where
 * there are many channels.  Its own are the slower ones where channels are few:
 * their weight gradient has one block of threads for each element of the weights.
 */
static bool
runs_own_kernel(const pm_geometry *g, const pm_flow *flow, const pm_question *q)
{
	bool		half = q->dtype == PM_AMP || q->dtype == PM_FP16;
	bool		square = g->k_h == g->k_w && (g->k_h == 1 || g->k_h == 3 || g->k_h == 5);
	bool		many = g->in_ch >= 512 || (g->in_ch >= 256 && g->in_w >= 28);

	if (g->conv != PM_CONV_DEPTHWISE || q->gpu->is_cpu || flow->runs[q->layout] == PM_NHWC)
		return false;
	if (!half || !square || g->in_ch < 32 || g->dilation > 1 || g->s_h != g->s_w || g->in_w < 7)
		return true;
	return g->s_w != 1 && !(g->s_w == 2 && g->k_h > 1 && many);
}

static void
fill_slots(pm_real *v, pm_real *mask, const pm_geometry *g, const pm_flow *flow, const pm_question *q)
{
	const double raw[] = {
		g->in_ch, g->out_ch, g->in_h, g->in_w, g->out_h, g->out_w, g->k_h, g->k_w, g->s_h, g->s_w,
		g->pad_h, g->pad_w, g->dilation, g->groups, g->ch_per_group, g->gemm_m, g->gemm_n, g->gemm_k,
		g->gemm_batch, g->heads, g->seq_len, g->out_per_group, g->group_alignment, g->width_alignment, g->group_narrow, g->wide_window, g->alpha
	};

	/* in the order of PM_HAS_... */
	static_assert(sizeof(raw) / sizeof(raw[0]) == PM_HAS_BIAS, "one value for each that may be present");
	for (int i = 0; i < PM_HAS_BIAS; i++)
		if (g->present & (1u << i))
		{
			v[i] = log2_1(raw[i]);
			mask[i] = 1;
		}
	v[PM_HAS_BIAS] = g->has_bias;
	mask[PM_HAS_BIAS] = (g->present >> PM_HAS_BIAS) & 1;
	v[PM_SLOT_BATCH] = log2_1((double) q->batch);
	mask[PM_SLOT_BATCH] = 1;
	v[PM_SLOT_ELEMENT_BYTES] = q->dtype == PM_FP32 || q->dtype == PM_TF32 || (q->dtype == PM_AMP && flow->wide) ? 4 : 2;
	mask[PM_SLOT_ELEMENT_BYTES] = 1;
	v[PM_SLOT_CHANNELS_LAST] = flow->runs[q->layout] == PM_NHWC;
	mask[PM_SLOT_CHANNELS_LAST] = 1;
	v[PM_SLOT_OWN_KERNEL] = runs_own_kernel(g, flow, q);
	mask[PM_SLOT_OWN_KERNEL] = g->conv == PM_CONV_DEPTHWISE;
}

/* What a question's card does in a second, the same for all operators. */
typedef struct speeds
{
	double		rate[2][2];		/* pm_gpu_rate() by [on matrix units][of a convolution] */
	double		most[2][2];		/* pm_gpu_most() by the same */
	double		bandwidth;		/* bytes */
	bool		fuses;			/* pm_framework_fuses() */
} speeds;

static speeds
speeds_of(const pm_question *q)
{
	speeds		s = {.bandwidth = q->gpu->mem_bw_gbs * 1e9, .fuses = pm_framework_fuses(q->framework)};

	for (int matrix = 0; matrix < 2; matrix++)
		for (int convolution = 0; convolution < 2; convolution++)
		{
			s.rate[matrix][convolution] = pm_gpu_rate(q->gpu, q->dtype, matrix, convolution);
			s.most[matrix][convolution] = pm_gpu_most(q->gpu, q->dtype, matrix, convolution);
		}
	return s;
}

/* As fmax(a, b), which is a call, where b is no NaN. */
static inline double
larger(double a, double b)
{
	return a > b ? a : b;
}

/* Roofline times of the three phases, us: the larger of arithmetic and memory time. */
typedef struct roofline
{
	double		phase[3];		/* forward, backward, update */
	double		compute;		/* all phases, arithmetic alone */
	double		memory;			/* all phases, bytes alone */
} roofline;

/*
 * Bytes of an operator as the device's memory would have to move them in the
 * same time: as many as the last on-chip cache holds are left there by the
 * operator before, and come CACHE_SPEED times as fast.  The weights, gradients
 * and moments of an update are used once a step, and are not.
 */
static double
traffic(double bytes, const pm_gpu *gpu)
{
	double		cache = gpu->l2_mb > 0 && !gpu->is_cpu ? gpu->l2_mb * 1e6 : 0;
	double		cached = bytes < cache ? bytes : cache;

	return bytes - cached * (1 - 1 / CACHE_SPEED);
}

/* passes: times as long as usual that arithmetic takes in the forward and the backward pass. */
static void
compute_roofline(const pm_work *w, bool convolution, double passes, const pm_gpu *gpu, const speeds *s, roofline *r)
{
	double		peak = s->rate[w->tensor_core][convolution];
	double		plain = s->rate[false][false];
	double		compute[3] = {passes * w->flops_forward / peak, passes * w->flops_backward / peak, w->flops_update / plain};
	double		memory[3] = {traffic(w->bytes_forward + w->bytes_across, gpu) / s->bandwidth, traffic(w->bytes_backward, gpu) / s->bandwidth,
		w->bytes_update / s->bandwidth};

	r->compute = r->memory = 0;
	for (int p = 0; p < 3; p++)
	{
		r->phase[p] = 1e6 * larger(compute[p], memory[p]);
		r->compute += 1e6 * compute[p];
		r->memory += 1e6 * memory[p];
	}
}

/*
 * Whether an operator of this type may need fewer multiplications than are counted: convolutions of two dimensions, without groups,
 * whose window moves by one element and has no gaps.  Libraries have Winograd's algorithm for windows of 3 x 3 and 5 x 5 of these, and
 * Fourier transforms for larger ones.
 */
static bool
has_fast_algorithm(const pm_node *n, int type)
{
	const pm_attrs *a = &n->attrs;
	int			conv = type - pm_op_count();

	if ((conv != PM_CONV_KXK && conv != PM_CONV_TRANSPOSE) || a->spatial != 2 || a->group != 1)
		return false;
	for (int i = 0; i < 2; i++)
		if (a->kernel[i] < 3 || a->stride[i] != 1 || a->dilation[i] != 1)
			return false;
	return true;
}

/* Attention in one kernel. */
static bool
is_attention(const pm_node *n)
{
	return pm_op_row_of(n->op)->flops == PM_FLOPS_ATTENTION;
}

/*
 * Share of the peak that attention in one kernel reaches in both passes together.  FlashAttention-2 does at most 73 % of the peak of an A100
 * in the forward pass and 63 % in the backward pass, which has five products of seven (Dao 2023); FlashAttention-3 75 % of an H100's in
 * the forward pass (Shah et al. 2024).
 */
#define ATTENTION_MOST	0.65

/*
 * The least time of forward and backward pass, us: arithmetic at the highest rate of the card, traffic at its bandwidth.  0 on a
 * CPU, and for operators that are not known.
 */
static double
least_us(const pm_work *w, const pm_node *n, int type, const pm_gpu *gpu, const speeds *s)
{
	pm_class	class = pm_op_class(n->op);
	double		flops[2] = {w->flops_forward, w->flops_backward};
	double		bytes[2] = {w->bytes_forward + w->bytes_across, w->bytes_backward};
	double		most = s->most[w->tensor_core][class == PM_CLASS_CONV] *
		(has_fast_algorithm(n, type) ? WINOGRAD : is_attention(n) && w->tensor_core ? ATTENTION_MOST : 1);
	double		us = 0;

	if (gpu->is_cpu || n->op == PM_OP_UNKNOWN || class == PM_CLASS_OTHER)
		return 0;
	for (int p = 0; p < 2; p++)
		us += 1e6 * larger(flops[p] / most, s->fuses ? 0 : traffic(bytes[p], gpu) / s->bandwidth);
	return us;
}

/*
 * How a matrix product (a convolution is one) fits the device: libraries cut the
 * result into tiles (PM_TILE_M x PM_TILE_N is assumed), and run as many tiles at a
 * time as there are multiprocessors, so some multiprocessors are idle in the last
 * round.
 */
static void
fill_fit(pm_real *v, const pm_geometry *g, const pm_question *q)
{
	double		tiles = g->gemm_batch * ceil(g->gemm_m / PM_TILE_M) * ceil(g->gemm_n / PM_TILE_N);
	double		rounds = tiles / q->gpu->sm_count;

	if (!(tiles > 0))
	{
		v[PM_LOAD_ALIGN_N] = v[PM_LOAD_ALIGN_K] = v[PM_LOAD_TILE_FILL] = v[PM_LOAD_ROUNDS] = v[PM_LOAD_LAST_ROUND] = NAN;
		return;
	}
	v[PM_LOAD_ALIGN_N] = (pm_real) pm_alignment(g->gemm_n);
	v[PM_LOAD_ALIGN_K] = (pm_real) pm_alignment(g->conv != PM_CONV_NONE ? g->ch_per_group : g->gemm_k);
	v[PM_LOAD_TILE_FILL] = (pm_real) log2(g->gemm_n / (PM_TILE_N * ceil(g->gemm_n / PM_TILE_N)));
	v[PM_LOAD_ROUNDS] = (pm_real) log2(rounds);
	v[PM_LOAD_LAST_ROUND] = (pm_real) log2(rounds / ceil(rounds));
}

static void
fill_loads(pm_real *v, const pm_work *w, const pm_geometry *g, const roofline *r, const pm_question *q)
{
	double		flops = w->flops_forward + w->flops_backward + w->flops_update;
	double		bytes = w->bytes_forward + w->bytes_backward + w->bytes_update;
	double		ridge = pm_gpu_rate(q->gpu, q->dtype, w->tensor_core, g->conv != PM_CONV_NONE) / (q->gpu->mem_bw_gbs * 1e9);

	v[PM_LOAD_FLOPS_FORWARD] = log2_1(w->flops_forward);
	v[PM_LOAD_FLOPS_BACKWARD] = log2_1(w->flops_backward);
	v[PM_LOAD_FLOPS_UPDATE] = log2_1(w->flops_update);
	v[PM_LOAD_BYTES_FORWARD] = log2_1(w->bytes_forward);
	v[PM_LOAD_BYTES_BACKWARD] = log2_1(w->bytes_backward);
	v[PM_LOAD_BYTES_UPDATE] = log2_1(w->bytes_update);
	v[PM_LOAD_WEIGHT_ELEMS] = log2_1(w->weight_elems);
	v[PM_LOAD_OUT_ELEMS] = log2_1(w->out_elems);
	v[PM_LOAD_IN_ELEMS] = log2_1(w->in_elems);
	v[PM_LOAD_INTENSITY] = (pm_real) log2((flops + 1) / (bytes + 1));
	for (int p = 0; p < 3; p++)
		v[PM_LOAD_US_FORWARD + p] = log2_us(r->phase[p]);
	v[PM_LOAD_COMPUTE_US] = log2_us(r->compute);
	v[PM_LOAD_MEMORY_US] = log2_us(r->memory);
	v[PM_LOAD_RIDGE] = (pm_real) log2((flops + 1) / (bytes + 1) / ridge);
	v[PM_LOAD_OCCUPANCY] = (pm_real) log2(1 + w->out_elems / (q->gpu->sm_count * OCCUPANCY_BLOCK));
	v[PM_LOAD_KERNELS] = log2_1(w->kernels_forward + w->kernels_backward);
	v[PM_LOAD_TENSOR_CORE] = w->tensor_core;
	v[PM_LOAD_CACHE] = (pm_real) log2((w->bytes_forward + 1) / (q->gpu->l2_mb * 1e6));
	fill_fit(v, g, q);
}

/* Longest path through the graph in roofline time, us. */
static double
critical_path(const pm_skeleton *s, const pm_tokens *t, double *finish)
{
	double		longest = 0;

	for (int i = 0; i < s->dag.n; i++)
	{
		double		start = 0;

		for (int e = s->dag.parent_at[i]; e < s->dag.parent_at[i + 1]; e++)
			start = fmax(start, finish[s->dag.parent[e]]);
		finish[i] = start + t->roofline_us[s->token_of[i]];
		longest = fmax(longest, finish[i]);
	}
	return longest;
}

static void
fill_job(pm_real *v, const pm_skeleton *s, const pm_tokens *t, const pm_question *q, double critical_us)
{
	const pm_gpu *g = q->gpu;
	double		peak = pm_gpu_rate(g, q->dtype, true, false);

	v[PM_JOB_BATCH] = log2_1((double) q->batch);
	v[PM_JOB_INPUT_ELEMS] = log2_1(pm_shape_count(&s->graph->input));
	v[PM_JOB_FLOPS] = log2_1(t->total_flops);
	v[PM_JOB_BYTES] = log2_1(t->total_bytes);
	v[PM_JOB_PARAMS] = log2_1(t->params);
	v[PM_JOB_OPERATORS] = log2_1(s->dag.n);
	v[PM_JOB_DEPTH] = log2_1(s->dag.max_depth);
	v[PM_JOB_KERNELS] = log2_1(t->n_kernels);
	v[PM_JOB_ROOFLINE_US] = log2_us(t->total_roofline_us);
	v[PM_JOB_CRITICAL_US] = log2_us(critical_us);
	v[PM_JOB_US_A_KERNEL] = (pm_real) log2((t->total_roofline_us + 1) / (t->n_kernels + 1));
	for (int i = 0; i < PM_OPT_NONE; i++)
		v[PM_JOB_OPTIMIZER + i] = (int) q->optimizer == i;
	for (int i = 0; i < PM_N_DTYPES; i++)
		v[PM_JOB_DTYPE + i] = (int) q->dtype == i;
	v[PM_JOB_LAYOUT] = (int) q->layout;
	v[PM_JOB_PEAK] = (pm_real) log2(peak);
	v[PM_JOB_PEAK_FP32] = (pm_real) log2(g->fp32_tflops * 1e12);
	v[PM_JOB_BANDWIDTH] = (pm_real) log2(g->mem_bw_gbs * 1e9);
	v[PM_JOB_MEMORY] = (pm_real) log2(g->memory_gb);
	v[PM_JOB_CACHE] = (pm_real) log2(g->l2_mb);
	v[PM_JOB_SMS] = (pm_real) log2(g->sm_count);
	v[PM_JOB_CLOCK] = (pm_real) log2(g->clock_ghz);
	v[PM_JOB_RIDGE] = (pm_real) log2(peak / (g->mem_bw_gbs * 1e9));
	v[PM_JOB_IS_CPU] = g->is_cpu;
	v[PM_JOB_TOKENS] = log2_1((double) s->n);
}

/*
 * Dropout's random numbers.  A GPU draws them beside its memory traffic.  PyTorch
 * on a CPU draws one after the other in one thread (bernoulli_, a Mersenne
 * Twister): forward 6.7 to 7.2 ns an element on a Zen 4 core at 3.3 GHz (the fp32
 * rows of data/op_profiles.csv.gz from 20,000 elements on), where its memory
 * bandwidth alone would take 0.4.
 */
static void
add_draws(const pm_node *n, const pm_question *q, pm_work *w)
{
	if (q->gpu->is_cpu && pm_op_draws(n->op))
		w->flops_forward += w->out_elems * DRAW_CYCLES / (q->gpu->clock_ghz * 1e9) * pm_gpu_rate(q->gpu, q->dtype, false, false);
}

/* The work of one token at q's batch, and its share of the totals. */
static void
fill_work(pm_tokens *t, int i, const pm_question *q, const speeds *s, pm_work *w, roofline *r)
{
	double		copies = t->skeleton->copies[i];
	const pm_node *node = &t->skeleton->graph->nodes[t->skeleton->node[i]];
	bool		convolution = pm_op_class(node->op) == PM_CLASS_CONV;

	pm_node_work(t->skeleton->graph, t->skeleton->node[i], q->batch, q->dtype, q->layout, q->optimizer, w);
	if (q->gpu->is_cpu)
		pm_rnn_unroll(t->skeleton->graph, t->skeleton->node[i], q->batch, q->dtype, w);
	add_draws(&t->skeleton->graph->nodes[t->skeleton->node[i]], q, w);
	pm_node_work_in(q->mode, t->skeleton->graph, t->skeleton->node[i], q->batch, q->dtype, w);
	if (q->alone)
		w->flops_update = w->bytes_update = 0;
	if (q->forward_only)
		w->flops_backward = w->bytes_backward = w->kernels_backward = 0;
	compute_roofline(w, convolution, is_attention(node) ? pm_gpu_attention_cost(q->gpu, q->dtype, node->attrs.flash) : 1, q->gpu, s, r);
	for (int p = 0; p < 3; p++)
		t->phase_us[3 * i + p] = r->phase[p];
	t->roofline_us[i] = r->phase[0] + r->phase[1] + r->phase[2];
	t->compute_us[i] = r->compute;
	t->memory_us[i] = r->memory;
	t->floor_us[i] = least_us(w, node, t->type[i], q->gpu, s);
	t->table_us[i] = pm_op_class(node->op) == PM_CLASS_EMBEDDING && !q->gpu->is_cpu ? r->phase[2] : 0;
	t->kernels[i] = w->kernels_forward + w->kernels_backward;
	t->backward_kernels[i] = w->kernels_backward;
	t->bound[i] = r->compute >= r->memory ? 'c' : 'm';
	t->flops[i] = w->flops_forward + w->flops_backward + w->flops_update;
	t->bytes[i] = w->bytes_forward + w->bytes_backward + w->bytes_update;
	t->total_flops += copies * t->flops[i];
	t->total_bytes += copies * t->bytes[i];
	t->total_roofline_us += copies * t->roofline_us[i];
	t->n_kernels += copies * t->kernels[i];
}

/* One token: what it is and its work, and its features where there is room for them. */
static void
fill_token(pm_tokens *t, int i, const pm_question *q, const speeds *s)
{
	const pm_graph *g = t->skeleton->graph;
	int			node = t->skeleton->node[i];
	pm_work		w;
	pm_geometry geo;
	roofline	r;

	pm_node_geometry(g, node, q->batch, &geo);
	/* what has a weight of its own is one product and not a batch of them */
	t->type[i] = pm_type_id(pm_op_runs_as(g->nodes[node].op, g->nodes[node].n_weights > 0), geo.conv);
	t->op_class[i] = (int32_t) pm_op_class(g->nodes[node].op);
	fill_work(t, i, q, s, &w, &r);
	if (t->slots == NULL)
		return;
	fill_slots(t->slots + (size_t) i * PM_N_SLOTS, t->slot_mask + (size_t) i * PM_N_SLOTS, &geo,
			   &g->nodes[node].flow, q);
	fill_loads(t->loads + (size_t) i * PM_N_LOADS, &w, &geo, &r, q);
}

static pm_code
check_query(const pm_question *q, pm_status *st)
{
	if (q->batch < 1 || q->batch > PM_MAX_BATCH)
		return pm_fail(st, PM_ERR_INPUT, "batch must be between 1 and %d, not %lld", PM_MAX_BATCH, (long long) q->batch);
	return pm_gpu_check(q->gpu, st);
}

pm_code
pm_tokens_make_room(pm_tokens *t, int n, pm_arena *a, pm_status *st)
{
	t->roofline_us = PM_NEW(a, double, n);
	t->phase_us = PM_NEW(a, double, 3 * (size_t) n);
	t->compute_us = PM_NEW(a, double, n);
	t->memory_us = PM_NEW(a, double, n);
	t->floor_us = PM_NEW(a, double, n);
	t->table_us = PM_NEW(a, double, n);
	t->kernels = PM_NEW(a, double, n);
	t->backward_kernels = PM_NEW(a, double, n);
	t->flops = PM_NEW(a, double, n);
	t->bytes = PM_NEW(a, double, n);
	t->bound = PM_NEW(a, char, n);
	if (!t->roofline_us || !t->phase_us || !t->compute_us || !t->memory_us || !t->floor_us || !t->table_us || !t->kernels || !t->backward_kernels ||
		!t->flops || !t->bytes || !t->bound)
		return pm_no_memory(st, a);
	return PM_OK;
}

void
pm_tokens_begin(pm_tokens *t, const pm_skeleton *s, const pm_question *q, int32_t *type, int32_t *op_class)
{
	t->skeleton = s;
	t->n = s->n;
	t->dtype = q->dtype;
	t->layout = q->layout;
	t->params = s->graph->params + s->graph->frozen;	/* as a measure of size, which is that of the same network without frozen weights */
	t->type = type;
	t->op_class = op_class;
}

/* Room for all but the features. */
static pm_code
make_work(pm_tokens *t, const pm_skeleton *s, const pm_question *q, pm_arena *a, pm_status *st)
{
	pm_code		rc = check_query(q, st);

	memset(t, 0, sizeof(*t));
	if (rc != PM_OK)
		return rc;
	pm_tokens_begin(t, s, q, PM_NEW(a, int32_t, s->n), PM_NEW(a, int32_t, s->n));
	if (!t->type || !t->op_class)
		return pm_no_memory(st, a);
	return pm_tokens_make_room(t, t->n, a, st);
}

static pm_code
build(const pm_skeleton *s, const pm_question *q, pm_arena *a, pm_tokens *t, pm_status *st)
{
	pm_code		rc = make_work(t, s, q, a, st);
	speeds		card;
	double	   *finish;

	if (rc != PM_OK)
		return rc;
	card = speeds_of(q);
	t->slots = PM_NEW(a, pm_real, (size_t) t->n * PM_N_SLOTS);
	t->slot_mask = PM_NEW(a, pm_real, (size_t) t->n * PM_N_SLOTS);
	t->loads = PM_NEW(a, pm_real, (size_t) t->n * PM_N_LOADS);
	finish = PM_NEW(a, double, s->dag.n);
	if (!t->slots || !t->slot_mask || !t->loads || !finish)
		return pm_no_memory(st, a);
	for (int i = 0; i < t->n; i++)
	{
		if (i % POLL_TOKENS == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		fill_token(t, i, q, &card);
	}
	fill_job(t->job, s, t, q, critical_path(s, t, finish));
	return PM_OK;
}

/*
 * Steps with frozen weights are seldom measured, so a network would have to guess what operators without a backward pass are like.
 * It sees them as if all weights were trained; their work tells how much less there is to do.
 */
pm_code
pm_tokens_build(const pm_skeleton *s, const pm_question *q, pm_arena *a, pm_tokens *t, pm_status *st)
{
	pm_tokens	trained;
	pm_code		rc;

	if (s->trained == NULL)
		return build(s, q, a, t, st);
	if ((rc = build(s->trained, q, a, &trained, st)) != PM_OK || (rc = pm_tokens_build_work(s, q, a, t, st)) != PM_OK)
		return rc;
	t->slots = trained.slots;
	t->slot_mask = trained.slot_mask;
	t->loads = trained.loads;
	memcpy(t->job, trained.job, sizeof(t->job));
	return PM_OK;
}

pm_code
pm_tokens_build_work(const pm_skeleton *s, const pm_question *q, pm_arena *a, pm_tokens *t, pm_status *st)
{
	pm_code		rc = make_work(t, s, q, a, st);
	speeds		card;

	if (rc != PM_OK)
		return rc;
	card = speeds_of(q);
	for (int i = 0; i < t->n; i++)
	{
		if (i % POLL_TOKENS == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		fill_token(t, i, q, &card);
	}
	return PM_OK;
}

pm_code
pm_tokens_rework(pm_tokens *t, const pm_question *q, pm_status *st)
{
	pm_code		rc = check_query(q, st);
	pm_work		w;
	roofline	r;
	speeds		card;

	if (rc != PM_OK)
		return rc;
	card = speeds_of(q);
	t->total_flops = t->total_bytes = t->total_roofline_us = t->n_kernels = 0;
	for (int i = 0; i < t->n; i++)
		fill_work(t, i, q, &card, &w, &r);
	return PM_OK;
}

/* ---- what others ask of tokens ---- */

int
pm_token_group(const pm_tokens *t, int i)
{
	/* a convolution's type tells its kind: types beyond the catalogue are kinds of convolutions */
	return t->type[i] >= pm_op_count() ? PM_N_CLASSES + t->type[i] - pm_op_count() : t->op_class[i];
}

double
pm_roofline_share(const pm_tokens *t, int i)
{
	double		copies = t->skeleton->copies[i];

	return t->total_roofline_us > 0 ? copies * t->roofline_us[i] / t->total_roofline_us : copies / t->skeleton->dag.n;
}

double
pm_update_share(const pm_tokens *t)
{
	double		us = 0;

	for (int i = 0; i < t->n; i++)
		us += t->skeleton->copies[i] * t->phase_us[3 * i + 2];
	return t->total_roofline_us > 0 ? us / t->total_roofline_us : 0;
}

void
pm_tokens_scale_device(pm_tokens *t, double by)
{
	double	   *times[] = {t->roofline_us, t->compute_us, t->memory_us, t->floor_us, t->table_us};

	for (int k = 0; k < (int) (sizeof(times) / sizeof(times[0])); k++)
		for (int i = 0; i < t->n; i++)
			times[k][i] *= by;
	for (int i = 0; i < 3 * t->n; i++)
		t->phase_us[i] *= by;
}

void
pm_tokens_drop_update(pm_tokens *t)
{
	for (int i = 0; i < t->n; i++)
	{
		double		update_us = t->phase_us[3 * i + 2];

		t->memory_us[i] = fmax(t->memory_us[i] - update_us, 0);
		t->roofline_us[i] = fmax(t->roofline_us[i] - update_us, 0);
		t->phase_us[3 * i + 2] = t->table_us[i] = 0;
	}
}
