/*
 * features.c - the names of features.
 */
#include "features/features.h"

const char *const pm_slot_name[PM_N_SLOTS] = {
	[PM_HAS_IN_CH] = "in_ch", [PM_HAS_OUT_CH] = "out_ch", [PM_HAS_IN_H] = "in_h", [PM_HAS_IN_W] = "in_w",
	[PM_HAS_OUT_H] = "out_h", [PM_HAS_OUT_W] = "out_w", [PM_HAS_K_H] = "k_h", [PM_HAS_K_W] = "k_w",
	[PM_HAS_S_H] = "s_h", [PM_HAS_S_W] = "s_w", [PM_HAS_PAD_H] = "pad_h", [PM_HAS_PAD_W] = "pad_w",
	[PM_HAS_DILATION] = "dilation", [PM_HAS_GROUPS] = "groups", [PM_HAS_CH_PER_GROUP] = "ch_per_group",
	[PM_HAS_GEMM_M] = "gemm_m", [PM_HAS_GEMM_N] = "gemm_n", [PM_HAS_GEMM_K] = "gemm_k",
	[PM_HAS_GEMM_BATCH] = "gemm_batch", [PM_HAS_HEADS] = "heads", [PM_HAS_SEQ_LEN] = "seq_len",
	[PM_HAS_OUT_PER_GROUP] = "out_per_group", [PM_HAS_GROUP_ALIGNMENT] = "group_alignment",
	[PM_HAS_WIDTH_ALIGNMENT] = "width_alignment", [PM_HAS_GROUP_NARROW] = "group_narrow", [PM_HAS_WIDE_WINDOW] = "wide_window", [PM_HAS_ALPHA] = "alpha",
	[PM_HAS_BIAS] = "bias", [PM_SLOT_BATCH] = "batch", [PM_SLOT_ELEMENT_BYTES] = "element_bytes",
	[PM_SLOT_CHANNELS_LAST] = "channels_last", [PM_SLOT_OWN_KERNEL] = "own_kernel"
};

const char *const pm_load_name[PM_N_LOADS] = {
	[PM_LOAD_FLOPS_FORWARD] = "flops_forward", [PM_LOAD_FLOPS_BACKWARD] = "flops_backward",
	[PM_LOAD_FLOPS_UPDATE] = "flops_update", [PM_LOAD_BYTES_FORWARD] = "bytes_forward",
	[PM_LOAD_BYTES_BACKWARD] = "bytes_backward", [PM_LOAD_BYTES_UPDATE] = "bytes_update",
	[PM_LOAD_WEIGHT_ELEMS] = "weight_elems", [PM_LOAD_OUT_ELEMS] = "out_elems", [PM_LOAD_IN_ELEMS] = "in_elems",
	[PM_LOAD_INTENSITY] = "intensity", [PM_LOAD_US_FORWARD] = "us_forward", [PM_LOAD_US_BACKWARD] = "us_backward",
	[PM_LOAD_US_UPDATE] = "us_update", [PM_LOAD_COMPUTE_US] = "compute_us", [PM_LOAD_MEMORY_US] = "memory_us",
	[PM_LOAD_RIDGE] = "ridge", [PM_LOAD_OCCUPANCY] = "occupancy", [PM_LOAD_KERNELS] = "kernels",
	[PM_LOAD_TENSOR_CORE] = "tensor_core", [PM_LOAD_CACHE] = "cache", [PM_LOAD_ALIGN_N] = "align_n",
	[PM_LOAD_ALIGN_K] = "align_k", [PM_LOAD_TILE_FILL] = "tile_fill", [PM_LOAD_ROUNDS] = "rounds",
	[PM_LOAD_LAST_ROUND] = "last_round"
};

const char *const pm_job_name[PM_N_JOB] = {
	[PM_JOB_BATCH] = "batch", [PM_JOB_INPUT_ELEMS] = "input_elems", [PM_JOB_FLOPS] = "flops", [PM_JOB_BYTES] = "bytes",
	[PM_JOB_PARAMS] = "params", [PM_JOB_OPERATORS] = "operators", [PM_JOB_DEPTH] = "depth",
	[PM_JOB_KERNELS] = "kernels", [PM_JOB_ROOFLINE_US] = "roofline_us", [PM_JOB_CRITICAL_US] = "critical_us",
	[PM_JOB_US_A_KERNEL] = "us_a_kernel",
	[PM_JOB_OPTIMIZER + PM_SGD] = "optimizer_sgd", [PM_JOB_OPTIMIZER + PM_SGD_MOMENTUM] = "optimizer_sgd_momentum",
	[PM_JOB_OPTIMIZER + PM_ADAM] = "optimizer_adam", [PM_JOB_OPTIMIZER + PM_ADAMW] = "optimizer_adamw",
	[PM_JOB_OPTIMIZER + PM_OPT_OTHER] = "optimizer_other",
	[PM_JOB_DTYPE + PM_FP32] = "dtype_fp32", [PM_JOB_DTYPE + PM_TF32] = "dtype_tf32", [PM_JOB_DTYPE + PM_AMP] = "dtype_amp",
	[PM_JOB_DTYPE + PM_BF16] = "dtype_bf16", [PM_JOB_DTYPE + PM_FP16] = "dtype_fp16", [PM_JOB_LAYOUT] = "layout_nhwc",
	[PM_JOB_PEAK] = "peak", [PM_JOB_PEAK_FP32] = "peak_fp32", [PM_JOB_BANDWIDTH] = "bandwidth",
	[PM_JOB_MEMORY] = "memory", [PM_JOB_CACHE] = "cache", [PM_JOB_SMS] = "sms", [PM_JOB_CLOCK] = "clock",
	[PM_JOB_RIDGE] = "ridge", [PM_JOB_IS_CPU] = "is_cpu", [PM_JOB_TOKENS] = "tokens"
};
