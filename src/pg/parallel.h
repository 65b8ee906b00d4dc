/*
 * parallel.h - the argument parallel: jsonb that says how several GPUs share
 * the work.
 */
#ifndef PM_PG_PARALLEL_H
#define PM_PG_PARALLEL_H

#include "utils/jsonb.h"

#include "scaling/step.h"

/*
 * Read the members zero (0 to 3, or "fsdp"), accumulation (or micro_batches), compression
 * ("fp16", "bf16", "none"), bucket_mb, tp, pp, cp, ep, etp, shard, master_weights, interleave,
 * recompute (true, false, "cheap", "attention"), recompute_layers and sequence_parallel into *p, and leave the rest of it alone.
 * Raises for members that are not known or not of the right type.
 */
extern void pm_parallel_from_jsonb(Jsonb *doc, pm_parallel *p);

#endif
