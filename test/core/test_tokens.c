/*
 * test_tokens.c - the features of tokens against their definitions.
 */
#include "check.h"
#include "make_graph.h"

static pm_arena arena;

/* ---------- tokens ---------- */

static void
test_peaks(void)
{
	pm_gpu		gpu = test_gpu;

	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		CHECK_EQ(pm_gpu_peak(&gpu, (pm_dtype) dtype, false), 10e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_FP32, true), 10e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_TF32, true), 40e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_AMP, true), 80e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_BF16, true), 80e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_FP16, true), 80e12);
	gpu.fp16_tensor_tflops = 12;
	CHECK_EQ(pm_gpu_peak(&gpu, PM_TF32, true), 10e12);
	/* bf16 is computed in FP32 by cards of NVIDIA that are older than it */
	gpu = test_gpu;
	gpu.compute_capability = 7.5;
	CHECK_EQ(pm_gpu_peak(&gpu, PM_BF16, true), 10e12);
	CHECK_EQ(pm_gpu_peak(&gpu, PM_AMP, true), 80e12);
	/* without matrix units 16 bits may be faster on the others, and are not slower; libraries of NVIDIA add up in FP32 */
	gpu.fp16_tensor_tflops = NAN;
	CHECK_EQ(pm_gpu_peak(&gpu, PM_FP16, true), 10e12);
	gpu.compute_capability = NAN;
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		CHECK_EQ(pm_gpu_peak(&gpu, (pm_dtype) dtype, true), dtype == PM_FP32 || dtype == PM_TF32 ? 10e12 : 20e12);
	gpu.fp16_tflops = 0.2;
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		CHECK_EQ(pm_gpu_peak(&gpu, (pm_dtype) dtype, true), 10e12);
	gpu.fp16_tflops = NAN;
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		CHECK_EQ(pm_gpu_peak(&gpu, (pm_dtype) dtype, true), 10e12);
}

/* What power leaves of the peaks: known cards as they were measured, and no better figure ever lowers a rate. */
static void
test_rates(void)
{
	const pm_gpu t4 = {.name = "T4", .memory_gb = 16, .mem_bw_gbs = 320, .sm_count = 40, .cores_per_sm = 64, .clock_ghz = 1.59, .fp32_tflops = 8.1,
		.fp16_tensor_tflops = 65, .l2_mb = 4, .tdp_w = 70, .base_clock_ghz = 0.585, .compute_capability = 7.5, .l1_kb = 96, .register_kb = 256,
	.fp16_tflops = 16.2};
	pm_gpu		gpu = t4;
	pm_rng		rng;

	CHECK_NEAR(pm_gpu_rate(&t4, PM_FP32, true, false), 4.6e12, 0.2e12);
	CHECK_NEAR(pm_gpu_rate(&t4, PM_AMP, true, false), 42e12, 2e12);
	CHECK(pm_gpu_rate(&t4, PM_FP32, true, true) > pm_gpu_rate(&t4, PM_FP32, true, false));
	gpu.tdp_w = 300;
	CHECK_EQ(pm_gpu_rate(&gpu, PM_FP32, true, false), 8.1e12);
	gpu.tdp_w = NAN;
	CHECK_EQ(pm_gpu_rate(&gpu, PM_AMP, true, false), 65e12);
	gpu = t4;
	gpu.compute_capability = NAN;
	CHECK_EQ(pm_gpu_rate(&gpu, PM_FP32, true, false), 8.1e12);
	gpu.compute_capability = 3.7;
	CHECK_NEAR(pm_gpu_rate(&gpu, PM_FP32, true, false), 6e12, 0.01e12);
	gpu = t4;
	gpu.sm_count = NAN;
	CHECK_EQ(pm_gpu_rate(&gpu, PM_FP32, true, false), 8.1e12);
	pm_rng_seed(&rng, 5);
	for (int round = 0; round < 2000; round++)
	{
		pm_gpu		worse = t4;
		pm_gpu		better;
		pm_dtype	dtype = (pm_dtype) (pm_rng_uniform(&rng) * PM_N_DTYPES);
		bool		convolution = pm_rng_uniform(&rng) < 0.5;

		worse.compute_capability = (double[]) {6.1, 7.5, 8.0, 8.6, 8.9, 9.0}[(int) (6 * pm_rng_uniform(&rng))];
		for (int i = 0; i < PM_N_GPU_FIGURES; i++)
			if (pm_gpu_figures[i].offset != offsetof(pm_gpu, compute_capability))
				*(double *) ((char *) &worse + pm_gpu_figures[i].offset) *= exp2(4 * pm_rng_uniform(&rng) - 2);
		better = worse;
		for (int i = 0; i < PM_N_GPU_FIGURES; i++)
			if (pm_gpu_figures[i].offset != offsetof(pm_gpu, compute_capability) && pm_rng_uniform(&rng) < 0.3)
				*(double *) ((char *) &better + pm_gpu_figures[i].offset) *= 1 + pm_rng_uniform(&rng);
		CHECK(pm_gpu_rate(&better, dtype, true, convolution) >= pm_gpu_rate(&worse, dtype, true, convolution));
	}
}

/* Forward us of a Dropout of 16 x 1,000 elements. */
static double
dropout_us(bool is_cpu, pm_mode mode)
{
	graph_text	t;
	pm_gpu		gpu = test_gpu;
	pm_graph   *g;
	pm_sample	s;
	pm_tokens	tokens;

	text_start(&t, "one", "one");
	text_node(&t, "'op':'Input','inputs':[],'shape':[1,1000],'batch_dim':0");
	text_node(&t, "'op':'Dropout','inputs':[0],'shape':[1,1000],'batch_dim':0,'attrs':{'ratio':0.1}");
	g = text_finish(&t, &arena);
	gpu.is_cpu = is_cpu;
	s = make_sample(g, make_skeleton(g, true, &arena), 16, 1);
	s.query.gpu = &gpu;
	s.query.mode = mode;
	CHECK(pm_tokens_build(s.skeleton, &s.query, &arena, &tokens, NULL) == PM_OK);
	return tokens.phase_us[0];
}

/* A CPU draws the random numbers of Dropout one after the other; a GPU, and a network in evaluation mode, take no time for them. */
static void
test_draws(void)
{
	double		drawn_us = 16000 * 21 / (test_gpu.clock_ghz * 1e3);

	CHECK_NEAR(dropout_us(true, PM_TRAIN), drawn_us, 0.02 * drawn_us);
	CHECK(dropout_us(false, PM_TRAIN) < 0.02 * drawn_us && dropout_us(false, PM_TRAIN) > 0);
	CHECK_EQ(dropout_us(true, PM_INFERENCE), 0);
}

/* Slot "own_kernel" of one convolution; -1 where it does not apply. */
static int
own_kernel(const char *shapes, const char *attrs, pm_dtype dtype, pm_layout layout, bool is_cpu)
{
	graph_text	t;
	pm_gpu		gpu = test_gpu;
	pm_graph   *g;
	pm_skeleton *s;
	pm_question	q;
	pm_tokens	tokens;
	int			channels, group, kernel, in, out;

	CHECK_EQ(sscanf(shapes, "%d/%d k%d %d>%d", &channels, &group, &kernel, &in, &out), 5);
	text_start(&t, "one", "one");
	net_input(&t, channels, in);
	text_node(&t, "'op':'Conv','inputs':[0],'shape':[1,%d,%d,%d],'batch_dim':0,'weights':[[%d,%d,%d,%d]],'attrs':{'kernel_shape':[%d,%d],'group':%d,%s}",
			  channels, out, out, channels, channels / group, kernel, kernel, kernel, kernel, group, attrs);
	g = text_finish(&t, &arena);
	s = make_skeleton(g, true, &arena);
	gpu.is_cpu = is_cpu;
	q = make_sample(g, s, 4, 1).query;
	q.gpu = &gpu;
	q.dtype = dtype;
	q.layout = layout;
	CHECK(pm_tokens_build(s, &q, &arena, &tokens, NULL) == PM_OK);
	return tokens.slot_mask[PM_SLOT_OWN_KERNEL] == 0 ? -1 : (int) tokens.slots[PM_SLOT_OWN_KERNEL];
}

/* Which depthwise convolutions PyTorch runs itself: each condition of its rule on both sides. */
static void
test_own_kernel(void)
{
	static const char one[] = "'strides':[1,1]", two[] = "'strides':[2,2]";

	CHECK_EQ(own_kernel("64/1 k3 14>14", one, PM_AMP, PM_NCHW, false), -1);
	CHECK_EQ(own_kernel("64/64 k3 14>14", one, PM_AMP, PM_NCHW, false), 0);
	CHECK_EQ(own_kernel("32/32 k5 14>14", one, PM_FP16, PM_NCHW, false), 0);
	CHECK_EQ(own_kernel("31/31 k3 14>14", one, PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("64/64 k3 14>14", one, PM_FP32, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("64/64 k3 14>14", one, PM_BF16, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("64/64 k7 14>14", one, PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("64/64 k3 7>7", one, PM_AMP, PM_NCHW, false), 0);
	CHECK_EQ(own_kernel("64/64 k3 6>6", one, PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("64/64 k3 14>14", "'strides':[1,1],'dilations':[2,2]", PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("511/511 k3 14>7", two, PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("512/512 k3 14>7", two, PM_AMP, PM_NCHW, false), 0);
	CHECK_EQ(own_kernel("256/256 k5 28>14", two, PM_AMP, PM_NCHW, false), 0);
	CHECK_EQ(own_kernel("256/256 k5 27>14", two, PM_AMP, PM_NCHW, false), 1);
	CHECK_EQ(own_kernel("512/512 k3 14>5", "'strides':[3,3]", PM_AMP, PM_NCHW, false), 1);
	/* channels-last ones are the vendor's, and a CPU has neither */
	CHECK_EQ(own_kernel("16/16 k7 14>14", one, PM_AMP, PM_NHWC, false), 0);
	CHECK_EQ(own_kernel("16/16 k7 14>14", one, PM_FP32, PM_NCHW, true), 0);
}

/* As many bytes as the cache holds come three times as fast. */
static double
moved(double bytes, const pm_gpu *gpu)
{
	double		cache = gpu->l2_mb * 1e6;

	return bytes > cache ? bytes - cache * 2 / 3 : bytes / 3;
}

/* Roofline of a node by its definition, us, all phases. */
static double
node_roofline(const pm_graph *g, int node, const pm_question *q, double *phase)
{
	bool		matrix = g->nodes[node].n_weights > 0 && strcmp(g->nodes[node].op_name, "BatchNormalization") != 0;
	double		fast = pm_gpu_rate(q->gpu, q->dtype, matrix, strcmp(g->nodes[node].op_name, "Conv") == 0);
	double		bandwidth = q->gpu->mem_bw_gbs * 1e9;
	pm_work		w;

	pm_node_work(g, node, q->batch, q->dtype, q->layout, q->optimizer, &w);
	phase[0] = 1e6 * fmax(w.flops_forward / fast, moved(w.bytes_forward, q->gpu) / bandwidth);
	phase[1] = 1e6 * fmax(w.flops_backward / fast, moved(w.bytes_backward, q->gpu) / bandwidth);
	phase[2] = 1e6 * fmax(w.flops_update / pm_gpu_rate(q->gpu, q->dtype, false, false), w.bytes_update / bandwidth);
	return phase[0] + phase[1] + phase[2];
}

static void
check_roofline(const pm_graph *g, const pm_skeleton *s, const pm_question *q)
{
	pm_tokens	t;
	double		total = 0;
	double		counted = 0;

	CHECK(pm_tokens_build(s, q, &arena, &t, NULL) == PM_OK);
	for (int i = 0; i < s->n; i++)
	{
		double		phase[3];
		double		us = node_roofline(g, s->node[i], q, phase);

		CHECK_NEAR(t.roofline_us[i], us, 1e-9 * us);
		for (int p = 0; p < 3; p++)
			CHECK_NEAR(t.phase_us[3 * i + p], phase[p], 1e-9 * us);
		CHECK(t.bound[i] == 'c' || t.bound[i] == 'm');
		counted += s->copies[i] * t.flops[i];
	}
	for (int i = 0; i < s->dag.n; i++)
	{
		double		phase[3];

		total += node_roofline(g, s->dag.node[i], q, phase);
	}
	CHECK_NEAR(t.total_roofline_us, total, 1e-9 * total);
	CHECK_NEAR(t.total_flops, counted, 1e-9 * counted);
	CHECK_EQ(t.params, g->params);
}

static void
test_roofline(void)
{
	pm_graph   *g = make_net(&arena, "net", 32, 2, 28, 4);
	pm_skeleton *merged = make_skeleton(g, true, &arena);
	pm_skeleton *plain = make_skeleton(g, false, &arena);
	pm_gpu		wide = test_gpu;

	wide.mem_bw_gbs = 1e7;		/* so that arithmetic decides everywhere */
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		for (int64_t batch = 1; batch <= 512; batch *= 8)
		{
			pm_question	q = make_sample(g, merged, batch, 1).query;

			q.dtype = (pm_dtype) dtype;
			q.optimizer = dtype % 2 ? PM_ADAM : PM_SGD;
			check_roofline(g, merged, &q);
			check_roofline(g, plain, &q);
			q.gpu = &wide;
			check_roofline(g, merged, &q);
		}
}

/* Longest path and other job features that can be known without the code. */
static void
test_job(void)
{
	pm_graph   *g = make_fork(&arena);
	pm_skeleton *s = make_skeleton(g, false, &arena);
	pm_question	q = make_sample(g, s, 16, 1).query;
	double		us[16];
	double		phase[3];
	double		left, right, path;
	pm_tokens	t;

	for (int i = 1; i < g->n_nodes; i++)
		us[i] = g->nodes[i].view ? 0 : node_roofline(g, i, &q, phase);
	left = us[2] + us[3];
	right = us[4] + us[5];
	path = us[1] + fmax(left, right) + us[6] + us[7] + us[8] + us[9] + us[11];
	CHECK(pm_tokens_build(s, &q, &arena, &t, NULL) == PM_OK);
	CHECK_NEAR(t.job[0], log2(17), 1e-6);
	CHECK_NEAR(t.job[5], log2(11), 1e-6);		/* operators */
	CHECK_NEAR(t.job[6], log2(1 + 7), 1e-6);	/* depth */
	CHECK_NEAR(t.job[9], log2(path + 0x1p-10), 1e-5);
	CHECK(t.job[9] < t.job[8]);
	/* sums over the operators, and what the data sheet says */
	CHECK_NEAR(t.job[PM_JOB_FLOPS], log2(1 + t.total_flops), 1e-5);
	CHECK_NEAR(t.job[PM_JOB_BYTES], log2(1 + t.total_bytes), 1e-5);
	CHECK_NEAR(t.job[PM_JOB_PARAMS], log2(1 + g->params), 1e-5);
	CHECK_NEAR(t.job[PM_JOB_KERNELS], log2(1 + t.n_kernels), 1e-5);
	CHECK_NEAR(t.job[PM_JOB_US_A_KERNEL], log2((t.total_roofline_us + 1) / (t.n_kernels + 1)), 1e-5);
	CHECK_NEAR(t.job[PM_JOB_PEAK], log2(pm_gpu_rate(q.gpu, PM_FP32, true, false)), 1e-5);
	CHECK_NEAR(t.job[PM_JOB_PEAK_FP32], log2(10e12), 1e-5);
	CHECK_NEAR(t.job[PM_JOB_BANDWIDTH], log2(500e9), 1e-5);
	CHECK_NEAR(t.job[PM_JOB_RIDGE], t.job[PM_JOB_PEAK] - log2(500e9), 1e-5);
	CHECK_EQ(t.job[PM_JOB_MEMORY], 4);
	CHECK_EQ(t.job[PM_JOB_CACHE], 2);
	CHECK_NEAR(t.job[PM_JOB_SMS], log2(40), 1e-5);
	CHECK_NEAR(t.job[PM_JOB_CLOCK], log2(1.5), 1e-5);
	for (int k = 0; k < PM_N_JOB; k++)
		CHECK(isfinite(t.job[k]));
	for (int k = 0; k < t.n * PM_N_LOADS; k++)
		CHECK(k % PM_N_LOADS >= 20 ? !isinf(t.loads[k]) : isfinite(t.loads[k]));
}

static void
test_slots(void)
{
	pm_graph   *g = make_net(&arena, "net", 32, 1, 28, 4);
	pm_skeleton *s = make_skeleton(g, false, &arena);
	pm_question	q = make_sample(g, s, 8, 1).query;
	pm_tokens	t;
	const pm_real *v, *m;

	q.dtype = PM_AMP;
	CHECK(pm_tokens_build(s, &q, &arena, &t, NULL) == PM_OK);
	/* token 6 is the grouped 3x3 convolution */
	v = t.slots + 6 * PM_N_SLOTS;
	m = t.slot_mask + 6 * PM_N_SLOTS;
	CHECK_EQ(t.type[6], pm_type_id(0, PM_CONV_GROUPED));
	CHECK_NEAR(v[PM_HAS_IN_CH], log2(33), 1e-6);
	CHECK_NEAR(v[PM_HAS_K_H], log2(4), 1e-6);
	CHECK_NEAR(v[PM_HAS_GROUPS], log2(5), 1e-6);
	CHECK_NEAR(v[PM_HAS_CH_PER_GROUP], log2(9), 1e-6);
	CHECK(m[PM_HAS_IN_CH] == 1 && m[PM_HAS_GROUPS] == 1 && m[PM_HAS_HEADS] == 0 && v[PM_HAS_HEADS] == 0);
	CHECK_NEAR(v[PM_HAS_BIAS + 1], log2(9), 1e-6);	/* batch */
	CHECK_EQ(v[PM_HAS_BIAS + 2], 2);	/* bytes */
	/* token 2 is a Relu: no kernel */
	CHECK(t.slot_mask[2 * PM_N_SLOTS + PM_HAS_K_H] == 0 && t.slots[2 * PM_N_SLOTS + PM_HAS_K_H] == 0);
	for (int i = 0; i < t.n * PM_N_SLOTS; i++)
		CHECK((t.slot_mask[i] == 1 && isfinite(t.slots[i])) || (t.slot_mask[i] == 0 && t.slots[i] == 0));
}

/*
 * A gap in the data sheet makes NaN in the features that `loads` (a bit set)
 * and `job` say and in no other; some do not apply to some operators anyway.
 */
static void
check_gap(const pm_gpu *gpu, unsigned loads, int job)
{
	pm_graph   *g = make_fork(&arena);
	pm_skeleton *s = make_skeleton(g, true, &arena);
	pm_question	q = make_sample(g, s, 4, 1).query;
	pm_tokens	full, t;

	CHECK(pm_tokens_build(s, &q, &arena, &full, NULL) == PM_OK);
	q.gpu = gpu;
	CHECK(pm_tokens_build(s, &q, &arena, &t, NULL) == PM_OK);
	for (int i = 0; i < t.n * PM_N_LOADS; i++)
		CHECK(isnan(t.loads[i]) == (isnan(full.loads[i]) || ((loads >> i % PM_N_LOADS) & 1)));
	for (int k = 0; k < PM_N_JOB; k++)
		CHECK(k == job ? isnan(t.job[k]) : isfinite(t.job[k]));
	CHECK(isnan(gpu->l2_mb) ? t.total_roofline_us > full.total_roofline_us : t.total_roofline_us <= full.total_roofline_us);
}

#define LOAD_BLOCKS 16			/* blocks a multiprocessor */
#define LOAD_L2		19
#define LOAD_FIT	20			/* five features of matrix products, the last two of rounds */

static void
test_gaps(void)
{
	pm_gpu		gpu = test_gpu;

	check_gap(&gpu, 0, -1);
	gpu.l2_mb = NAN;
	check_gap(&gpu, 1u << LOAD_L2, 26);
	gpu = test_gpu;
	gpu.sm_count = NAN;
	check_gap(&gpu, 1u << LOAD_BLOCKS | 1u << (LOAD_FIT + 3) | 1u << (LOAD_FIT + 4), 27);
	gpu = test_gpu;
	gpu.memory_gb = NAN;
	check_gap(&gpu, 0, 25);
	gpu = test_gpu;
	gpu.clock_ghz = NAN;
	check_gap(&gpu, 0, 28);
	gpu = test_gpu;
	gpu.fp16_tensor_tflops = NAN;
	check_gap(&gpu, 0, -1);
	gpu = test_gpu;
	gpu.cores_per_sm = NAN;
	check_gap(&gpu, 0, -1);
}

/* What tiles of 128 x 64 on 40 multiprocessors make of two products; NaN where there is no product. */
static void
test_fit(void)
{
	graph_text	text;
	pm_graph   *g;
	pm_skeleton *s;
	pm_question	q;
	pm_tokens	t;
	const pm_real *fit;

	text_start(&text, "fit", "fit");
	net_input(&text, 24, 32);
	net_conv(&text, 0, 24, 96, 32, 1, 1);
	net_unary(&text, "Relu", 1, 96, 32);
	net_conv(&text, 2, 96, 96, 32, 3, 96);
	g = text_finish(&text, &arena);
	s = make_skeleton(g, false, &arena);
	q = make_sample(g, s, 16, 1).query;
	CHECK(pm_tokens_build(s, &q, &arena, &t, NULL) == PM_OK);
	/* 16384 x 96 x 24: 128 * 2 tiles */
	fit = t.loads + LOAD_FIT;
	CHECK_EQ(fit[0], 5);
	CHECK_EQ(fit[1], 3);
	CHECK_NEAR(fit[2], log2(0.75), 1e-6);
	CHECK_NEAR(fit[3], log2(6.4), 1e-6);
	CHECK_NEAR(fit[4], log2(6.4 / 7), 1e-6);
	for (int k = 0; k < 5; k++)
		CHECK(isnan(t.loads[PM_N_LOADS + LOAD_FIT + k]));
	/* depthwise: one channel a group, 96 products of one column */
	fit = t.loads + 2 * PM_N_LOADS + LOAD_FIT;
	CHECK_EQ(fit[0], 0);
	CHECK_EQ(fit[1], 0);
	CHECK_NEAR(fit[2], log2(1.0 / 64), 1e-6);
	CHECK_NEAR(fit[3], log2(96 * 128 / 40.0), 1e-5);
}

static void
test_refused(void)
{
	static const double no_rate[] = {NAN, 0, -1, INFINITY};
	static const int64_t no_batch[] = {0, -1, PM_MAX_BATCH + 1, INT64_MIN, INT64_MAX};
	pm_graph   *g = make_fork(&arena);
	pm_skeleton *s = make_skeleton(g, true, &arena);
	pm_question	q = make_sample(g, s, 1, 1).query;
	pm_gpu		gpu = test_gpu;
	pm_tokens	t;
	pm_status	st;

	q.gpu = &gpu;
	for (int i = 0; i < 4; i++)
	{
		gpu = test_gpu;
		gpu.fp32_tflops = no_rate[i];
		CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_ERR_INPUT);
		CHECK_HAS(st.message, "\"Test 1000\" has no fp32_tflops");
		CHECK_HAS(st.hint, "fp32_tflops");
		gpu = test_gpu;
		gpu.mem_bw_gbs = no_rate[i];
		CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_ERR_INPUT);
		CHECK_HAS(st.message, "mem_bw_gbs");
	}
	gpu = test_gpu;
	for (int i = 0; i < 5; i++)
	{
		q.batch = no_batch[i];
		CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_ERR_INPUT);
		CHECK_HAS(st.message, "batch must be between 1 and 16777216");
	}
	q.batch = PM_MAX_BATCH;
	CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_OK);
	CHECK(isfinite(t.total_roofline_us) && t.total_roofline_us > 0);
}

static void
test_types(void)
{
	char		buf[64];

	for (int type = 0; type < pm_type_count(); type++)
		if (type != pm_type_id(0, PM_CONV_NONE) + pm_op_count())
			CHECK_EQ(pm_type_find(pm_type_name(type, buf)), type);
	CHECK_EQ(strcmp(pm_type_name(pm_type_id(0, PM_CONV_DEPTHWISE), buf), "Conv/depthwise"), 0);
	CHECK_EQ(pm_type_id(pm_op_find("Relu"), PM_CONV_NONE), pm_op_find("Relu"));
	CHECK_EQ(pm_type_find("Conv/of another library"), -1);
	CHECK_EQ(pm_type_find("Conv/"), -1);
	CHECK_EQ(pm_type_find("of another library"), -1);
	CHECK_EQ(pm_type_find(""), -1);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_peaks();
	test_rates();
	test_own_kernel();
	test_draws();
	test_roofline();
	test_job();
	test_slots();
	test_gaps();
	test_fit();
	test_refused();
	test_types();
	pm_arena_release(&arena);
	return check_done("test_tokens");
}
