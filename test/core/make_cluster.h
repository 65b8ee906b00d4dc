/*
 * make_cluster.h - a cluster, a network and steps on several GPUs, for tests of scaling.
 */
#ifndef TEST_MAKE_CLUSTER_H
#define TEST_MAKE_CLUSTER_H

#include "check.h"
#include "make_graph.h"

#include "scaling/checks.h"
#include "scaling/fit.h"

static pm_arena arena;

static const pm_link_row switch_rows[] = {{2, 200, 50, 0}, {4, 220, 60, 0}, {8, 230, 80, 0}};
static const pm_link_row any_row[] = {{0, 12, NAN, 0}};
static const pm_link_row net_row[] = {{0, 10, NAN, 0}};

static inline pm_fabric
fabric_of(pm_link_kind kind, int n_rows, const pm_link_row *rows, int per_node)
{
	return (pm_fabric) {
		.name = "test", .intra = {"intra", kind, n_rows, rows}, .inter = {"inter", PM_LINK_INFINIBAND, 1, net_row},
		.gpus_per_node = per_node, .adapters = 1, .intra_factor = 1, .inter_factor = 1, .latency_factor = 1, .pair_factor = 1, .overlap = 1, .compute_factor = 1,
		.contention_power = 0.5, .comm_error = 0.3, .unseen_above = 0.5, .unseen_below = 0.1
	};
}

typedef struct job
{
	pm_graph   *graph;
	pm_skeleton skeleton;
	pm_tokens	work;
	pm_buckets	buckets;
} job;

static const pm_gpu gpu = {
	.name = "X", .memory_gb = 16, .mem_bw_gbs = 900, .sm_count = 80, .cores_per_sm = 64, .clock_ghz = 1.5, .fp32_tflops = 15,
	.fp16_tensor_tflops = 120, .l2_mb = 6, PM_GPU_REST_UNKNOWN
};

static inline void
make_job(job *j, int width, int depth, double bucket_mb)
{
	pm_question q = {.gpu = &gpu,.batch = 32,.dtype = PM_FP32,.optimizer = PM_SGD_MOMENTUM};
	pm_status	st = {PM_OK};

	memset(j, 0, sizeof(*j));
	q.graph = j->graph = make_net(&arena, "net", width, depth, 28, 4);
	CHECK_EQ(pm_skeleton_build(j->graph, true, &arena, &j->skeleton, &st), PM_OK);
	CHECK_EQ(pm_tokens_build_work(&j->skeleton, &q, &arena, &j->work, &st), PM_OK);
	CHECK_EQ(pm_buckets_build(&j->skeleton, PM_FP32, bucket_mb, &arena, &j->buckets, &st), PM_OK);
}

#define N_ROWS 24

/* Rows that a cluster with other numbers has measured. */
static inline void
measure(const job *j, const pm_fabric *truth, double noise, pm_step_shape *shape, pm_scaled_row *rows)
{
	pm_rng		rng;
	pm_status	st;

	pm_rng_seed(&rng, 7);
	pm_step_shape_of(&j->buckets, &j->work, 32, 3, shape);
	for (int i = 0; i < N_ROWS; i++)
	{
		pm_scaled	s;

		rows[i] = (pm_scaled_row) {shape, {.world_size = 2 + i % 15,.accumulation = 1 + i / 12,.bucket_mb = 0.1,.tp = 1,.pp = 1,.interleave = 1,.cp = 1}, 0, i % 2};
		CHECK_EQ(pm_parallel_check(&rows[i].parallel, truth, &st), PM_OK);
		pm_scaled_step(shape, &rows[i].parallel, truth, 1, &s);
		rows[i].step_ms = s.step_ms * (1 + noise * (2 * pm_rng_uniform(&rng) - 1));
	}
}

#endif
