/*
 * stored_predictors.h - the predictors that test/core/stored holds: what they
 * were trained on and what they are asked.  test/reference/store_predictors.c
 * makes them with the library of a release, test_stored.c reads them with this one.
 */
#ifndef STORED_PREDICTORS_H
#define STORED_PREDICTORS_H

#include "make_graph.h"

#define N_STORED_QUESTIONS	8

static const char *const stored_kinds[] = {
	"roofline", "linear", "opclass", "seer", "mdot", "perfnet", "gnn", "ets", "transformer"
};

#define N_STORED_KINDS ((int) (sizeof(stored_kinds) / sizeof(stored_kinds[0])))

static const pm_gpu stored_gpu = {
	.name = "Test 2000", .memory_gb = 40, .mem_bw_gbs = 1500, .sm_count = 100, .cores_per_sm = 64,
	.clock_ghz = 1.4, .fp32_tflops = 20, .fp16_tensor_tflops = 300, .l2_mb = 40, PM_GPU_REST_UNKNOWN
};

static const pm_gpu stored_other_gpu = {
	.name = "Test 3000", .memory_gb = NAN, .mem_bw_gbs = 900, .sm_count = NAN, .cores_per_sm = NAN,
	.clock_ghz = NAN, .fp32_tflops = 14, .fp16_tensor_tflops = NAN, .l2_mb = NAN, PM_GPU_REST_UNKNOWN
};

static inline double
stored_rule(const pm_tokens *t)
{
	return 0.3 + t->total_roofline_us / 400 + t->n_kernels / 250;
}

/* Twelve networks on two devices, in several formats. */
static inline pm_dataset
stored_dataset(pm_arena *a)
{
	pm_dataset	d = make_dataset(12, 4, true, stored_rule, a);

	for (int i = 0; i < d.n; i++)
	{
		pm_question *q = &d.samples[i].query;
		pm_tokens	t;

		q->gpu = i % 2 ? &stored_gpu : &test_gpu;
		q->dtype = i % 3 == 2 ? PM_AMP : PM_FP32;
		q->layout = i % 5 == 4 ? PM_NHWC : PM_NCHW;
		q->optimizer = i % 4 == 3 ? PM_ADAM : PM_SGD_MOMENTUM;
		q->framework = i % 7 == 6 ? "tensorflow 2" : "pytorch 2";
		if (pm_tokens_build(d.samples[i].skeleton, q, a, &t, NULL) != PM_OK)
			make_failed("tokens", NULL);
		d.samples[i].step_ms = stored_rule(&t) * (i % 2 ? 0.9 : 1.1);
	}
	return d;
}

/* Small and quickly trained; as many as n. */
static inline int
stored_settings(const char *kind, pm_setting *s)
{
	static const pm_setting network[] = {{.name = "epochs", .number = 2}, {.name = "hidden", .number = 4}};
	static const pm_setting mdot[] = {
		{.name = "d_model", .number = 8}, {.name = "d_operator", .number = 8}, {.name = "heads", .number = 2},
		{.name = "calibration_folds", .number = 2}, {.name = "loss", .text = "log_huber"}
	};
	static const pm_setting transformer[] = {{.name = "d_model", .number = 8}, {.name = "heads", .number = 2}};
	static const pm_setting width[] = {{.name = "width", .number = 4}};
	static const pm_setting channels[] = {{.name = "channels1", .number = 2}, {.name = "channels2", .number = 2}};
	int			n = 0;

#define ADD_ALL(list) for (size_t i = 0; i < sizeof(list) / sizeof((list)[0]); i++) s[n++] = (list)[i]
	if (strcmp(kind, "mdot") == 0)
		ADD_ALL(mdot);
	if (strcmp(kind, "transformer") == 0)
		ADD_ALL(transformer);
	if (strcmp(kind, "perfnet") == 0)
		ADD_ALL(channels);
	if (strcmp(kind, "gnn") == 0 || strcmp(kind, "ets") == 0)
		ADD_ALL(width);
	if (n > 0)
		ADD_ALL(network);
#undef ADD_ALL
	return n;
}

/* What every one of them is asked. */
static inline void
stored_questions(pm_sample *q, pm_arena *a)
{
	const pm_graph *known = make_net(a, "neta_0", 8, 1, 16, 1);
	const pm_graph *other = make_net(a, "other", 64, 3, 40, 8);
	const pm_skeleton *s = make_skeleton(known, true, a);

	for (int i = 0; i < N_STORED_QUESTIONS; i++)
	{
		q[i] = make_sample(known, s, 6, 0);
		q[i].query.optimizer = PM_SGD_MOMENTUM;
	}
	q[1].query.gpu = &stored_gpu;
	q[1].query.dtype = PM_AMP;
	q[2].query.gpu = &stored_other_gpu;
	q[3].query.layout = PM_NHWC;
	q[3].query.framework = NULL;
	q[4].query.framework = "jax 0";
	q[4].query.dtype = PM_BF16;
	q[5].query.batch = 4096;
	q[5].query.optimizer = PM_ADAM;
	q[6] = make_sample(other, make_skeleton(other, true, a), 16, 0);
	q[6].query.gpu = &stored_gpu;
	q[6].query.optimizer = PM_SGD_MOMENTUM;
	q[7].query.dtype = PM_TF32;
	q[7].query.framework = "tensorflow 2";
	q[7].query.batch = 1;
}

#endif
