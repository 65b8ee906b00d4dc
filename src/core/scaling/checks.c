/*
 * checks.c - what can be asked about several GPUs.
 */
#include "scaling/checks.h"
#include "scaling/groups.h"

/* How many GPUs have one copy of the model. */
static pm_code
check_division(const pm_parallel *p, pm_status *st)
{
	int64_t		gpus = (int64_t) p->tp * p->pp * p->cp;
	bool		known = p->tp >= 1 && p->tp <= PM_MAX_TP && p->pp >= 1 && p->pp <= PM_MAX_PP && p->cp >= 1 && p->cp <= PM_MAX_CP;

	if (known && p->world_size % gpus == 0)
		return PM_OK;
	if (p->cp == 1)
		pm_fail(st, PM_ERR_OPTION, "tp times pp must divide world_size, and %d times %d does not divide %d", p->tp, p->pp, p->world_size);
	else
		pm_fail(st, PM_ERR_OPTION, "tp times pp times cp must divide world_size, and %d times %d times %d does not divide %d", p->tp, p->pp, p->cp, p->world_size);
	if (known && gpus <= PM_MAX_WORLD)
		pm_hint(st, "world_size is the number of all GPUs: give %d, or a multiple of it.", (int) gpus);
	return PM_ERR_OPTION;
}

static pm_code
check_shard(const pm_parallel *p, pm_status *st)
{
	if (p->shard == 0)
		return PM_OK;
	if (p->shard < 1 || pm_sharers(p) % p->shard != 0)
	{
		pm_fail(st, PM_ERR_OPTION, "shard must divide the number of GPUs that have the same part of the model, and %d does not divide %d", p->shard, pm_sharers(p));
		pm_detail(st, "They are world_size / (tp * pp).");
		return PM_ERR_OPTION;
	}
	if (p->zero == 0)
	{
		pm_fail(st, PM_ERR_OPTION, "shard needs zero");
		pm_detail(st, "It says among how many GPUs zero divides, and without zero nothing is divided.");
		pm_hint(st, "Give zero, such as {\"zero\": 3, \"shard\": 8}, or leave shard out.");
		return PM_ERR_OPTION;
	}
	return PM_OK;
}

/* Whether the GPUs of a layer share each expert, or do not. */
static pm_code
check_expert_layers(const pm_parallel *p, pm_status *st)
{
	if (p->etp == 0 || (p->etp == p->tp && p->ep > 0))
		return PM_OK;
	if (p->ep == 0)
		pm_fail(st, PM_ERR_OPTION, "etp needs ep");
	else if (p->etp != 1)
		pm_fail(st, PM_ERR_OPTION, "etp must be 1 or tp (%d), not %d", p->tp, p->etp);
	else if (p->ep % p->tp != 0)
		pm_fail(st, PM_ERR_OPTION, "with etp 1, ep must be a multiple of tp, and %d is none of %d", p->ep, p->tp);
	else
		return PM_OK;
	pm_detail(st, "etp is the number of GPUs that share each expert. With 1, the GPUs of a layer are among the ep that divide the experts.");
	pm_hint(st, "Leave etp out, or give ep, such as {\"tp\": 2, \"ep\": 8, \"etp\": 1}.");
	return PM_ERR_OPTION;
}

static pm_code
check_experts(const pm_parallel *p, pm_status *st)
{
	char		divisors[200];
	int			gpus = pm_sharers(p) * (p->etp == 1 ? p->tp : 1);	/* among which they can be divided */

	if (check_expert_layers(p, st) != PM_OK)
		return PM_ERR_OPTION;
	if (p->ep == 0)
		return PM_OK;
	if (p->ep < 1 || p->ep > PM_MAX_EP || gpus % p->ep != 0)
	{
		pm_list_divisors(gpus, divisors, sizeof(divisors));
		pm_fail(st, PM_ERR_OPTION, "ep must divide the number of GPUs that have the same part of the model, and %d does not divide %d", p->ep, gpus);
		pm_detail(st, p->etp == 1 ? "With etp 1, they are world_size / pp." : "They are world_size / (tp * pp).");
		pm_hint(st, "ep can be %s; or give more GPUs.", divisors);
		return PM_ERR_OPTION;
	}
	if (p->ep == 1 || p->shard == 0)
		return PM_OK;
	pm_fail(st, PM_ERR_OPTION, "ep together with shard is not known");
	pm_detail(st, "Trainers differ in whether the experts are divided within a shard or across shards.");
	pm_hint(st, "Leave shard or ep out.");
	return PM_ERR_OPTION;
}

pm_code
pm_parallel_check_numbers(const pm_parallel *p, pm_status *st)
{
	if (p->world_size < 1 || p->world_size > PM_MAX_WORLD)
		return pm_fail(st, PM_ERR_OPTION, "world_size must be between 1 and %d, not %d", PM_MAX_WORLD, p->world_size);
	if (p->nodes < 0 || p->nodes > p->world_size)
		return pm_fail(st, PM_ERR_OPTION, "nodes must be between 1 and world_size (%d), not %d", p->world_size, p->nodes);
	if (p->accumulation < 1 || p->accumulation > PM_MAX_ACCUMULATION)
		return pm_fail(st, PM_ERR_OPTION, "accumulation must be between 1 and %d, not %d", PM_MAX_ACCUMULATION, p->accumulation);
	if (p->zero < 0 || p->zero > 3)
		return pm_fail(st, PM_ERR_OPTION, "zero must be between 0 and 3, not %d", p->zero);
	if (check_division(p, st) != PM_OK)
		return PM_ERR_OPTION;
	if (p->sequence_parallel && p->tp == 1)
	{
		pm_fail(st, PM_ERR_OPTION, "sequence_parallel needs a tp above 1");
		pm_detail(st, "It divides the sequence among the GPUs that share a layer, where tp leaves it whole; with tp 1, each layer is on one GPU.");
		pm_hint(st, "Give tp, such as {\"tp\": 8, \"sequence_parallel\": true}, or leave sequence_parallel out.");
		return PM_ERR_OPTION;
	}
	if (p->interleave < 1 || p->interleave > PM_MAX_PP || (p->interleave > 1 && p->pp == 1))
		return pm_fail(st, PM_ERR_OPTION, "interleave must be at least 1, and 1 without a pipeline, not %d", p->interleave);
	if (p->zero == 3 && p->pp > 1)
	{
		pm_fail(st, PM_ERR_OPTION, "zero must be at most 2 in a pipeline");
		pm_detail(st, "A stage needs its weights for each micro-batch, so trainers keep them whole in between.");
		pm_hint(st, "Say \"zero\": 2, or leave pp out.");
		return PM_ERR_OPTION;
	}
	if (check_shard(p, st) != PM_OK || check_experts(p, st) != PM_OK)
		return PM_ERR_OPTION;
	if (!(p->bucket_mb >= PM_BUCKET_MB_MIN && p->bucket_mb <= PM_BUCKET_MB_MAX))
		return pm_fail(st, PM_ERR_OPTION, "bucket_mb must be between %g and %g, not %g", PM_BUCKET_MB_MIN, PM_BUCKET_MB_MAX, p->bucket_mb);
	return PM_OK;
}

/* Of the layers of a GPU, how many are computed again. */
static pm_code
check_again_layers(const pm_parallel *p, int layers, pm_status *st)
{
	int			stage = p->again_layers > 0 ? pm_stage_layers(p, layers) : 0;

	if (p->again_layers <= stage)
		return PM_OK;
	if (layers == 0)
		pm_fail(st, PM_ERR_OPTION, "recompute_layers counts the layers of a transformer, and the graph has none");
	else
		pm_fail(st, PM_ERR_OPTION, "recompute_layers is %d, and a GPU has %d layers", p->again_layers, stage);
	pm_detail(st, "Layers are counted by their softmax or attention operator. In a pipeline, they are those of one stage.");
	pm_hint(st, "Leave recompute_layers out to compute all layers again.");
	return PM_ERR_OPTION;
}

static pm_code
check_layers(const pm_parallel *p, const pm_step_shape *s, pm_status *st)
{
	if (p->tp == 1 && p->pp == 1 && p->cp == 1)
		return PM_OK;
	if (s->layers == 0)
	{
		pm_fail(st, PM_ERR_OPTION, "tp, pp and cp divide the layers of a transformer, and the graph has none");
		pm_detail(st, "Layers are counted by their softmax or attention operator, and sized by their norms.");
		return PM_ERR_OPTION;
	}
	if (p->pp * p->interleave > s->layers)
	{
		pm_fail(st, PM_ERR_OPTION, "pp times interleave is %d, and the graph has %d layers", p->pp * p->interleave, s->layers);
		pm_detail(st, "Each stage of a pipeline needs a layer for each of its pieces.");
		pm_hint(st, "pp times interleave can be 1 to %d.", s->layers);
		return PM_ERR_OPTION;
	}
	return PM_OK;
}

pm_code
pm_layers_check(const pm_parallel *p, const pm_step_shape *s, pm_status *st)
{
	return check_layers(p, s, st) == PM_OK ? check_again_layers(p, s->layers, st) : PM_ERR_OPTION;
}

pm_code
pm_division_check(const pm_parallel *p, const pm_step_shape *s, pm_status *st)
{
	pm_code		rc = pm_layers_check(p, s, st);

	return rc != PM_OK ? rc : pm_heads_check(p->tp, &s->heads, st);
}

pm_code
pm_parallel_check(pm_parallel *p, const pm_fabric *f, pm_status *st)
{
	pm_code		rc = pm_parallel_check_numbers(p, st);
	int			needed;

	if (rc != PM_OK)
		return rc;
	needed = (p->world_size + f->gpus_per_node - 1) / f->gpus_per_node;
	if (p->nodes == 0)
		p->nodes = needed;
	if (p->nodes < needed)
		pm_fail(st, PM_ERR_OPTION, "%d GPUs do not fit on %d node%s of cluster \"%.*s\"", p->world_size, p->nodes,
				p->nodes == 1 ? "" : "s", pm_shown(f->name), f->name);
	else if (f->max_nodes > 0 && p->nodes > f->max_nodes)
		pm_fail(st, PM_ERR_OPTION, "cluster \"%.*s\" has %d nodes, not %d", pm_shown(f->name), f->name, f->max_nodes, p->nodes);
	else if (p->nodes > 1 && f->inter.n_rows == 0)
		pm_fail(st, PM_ERR_OPTION, "the nodes of cluster \"%.*s\" are not connected", pm_shown(f->name), f->name);
	else
		return PM_OK;
	pm_detail(st, "A node of it has %d GPUs.", f->gpus_per_node);
	pm_hint(st, "Look at perfmodel.cluster, or insert a row that describes your machines.");
	return PM_ERR_OPTION;
}

pm_code
pm_masters_check(const pm_parallel *p, pm_dtype dtype, pm_status *st)
{
	if (!p->master_weights || (dtype != PM_FP32 && dtype != PM_TF32))
		return PM_OK;
	pm_fail(st, PM_ERR_OPTION, "master_weights needs a dtype of 16 bits");
	pm_detail(st, "It says that the optimizer keeps the weights in 32 bits beside those of 16 bits; with fp32 and tf32, weights have 32 bits anyway.");
	pm_hint(st, "Ask for amp, bf16 or fp16, or leave master_weights out.");
	return PM_ERR_OPTION;
}
