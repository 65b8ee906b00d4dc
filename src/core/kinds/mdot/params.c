/*
 * params.c - the list of MDOT's parameters.
 *
 * The output of each branch of the sequence starts at zero: the network begins
 * as a model of each operator alone, and context has to earn its place.
 */
#include <string.h>

#include "kinds/mdot/net.h"

static void
add_operator_encoder(pm_mdot_net *net)
{
	int			k = net->c.d_op;
	pm_tensors *t = &net->tensors;

	net->type = pm_tensors_add(t, "type", net->c.n_types, k, PM_START_TABLE);
	net->dtype = pm_tensors_add(t, "dtype", PM_N_DTYPES, k, PM_START_TABLE);
	net->layout = pm_tensors_add(t, "layout", PM_N_LAYOUTS, k, PM_START_TABLE);
	net->framework = pm_tensors_add(t, "framework", net->c.n_frameworks, k, PM_START_TABLE);
	net->tag = pm_tensors_add(t, "tag", 3, k, PM_START_ZERO_TABLE);
	net->wc1 = pm_tensors_add(t, "wc1", 2 * PM_N_SLOTS, k, PM_START_XAVIER);
	net->bc1 = pm_tensors_add(t, "bc1", 1, k, PM_START_ZERO);
	net->wc2 = pm_tensors_add(t, "wc2", k, k, PM_START_XAVIER);
	net->bc2 = pm_tensors_add(t, "bc2", 1, k, PM_START_ZERO);
	net->wl1 = pm_tensors_add(t, "wl1", PM_N_LOADS, k, PM_START_XAVIER);
	net->bl1 = pm_tensors_add(t, "bl1", 1, k, PM_START_ZERO);
	net->wl2 = pm_tensors_add(t, "wl2", k, k, PM_START_XAVIER);
	net->bl2 = pm_tensors_add(t, "bl2", 1, k, PM_START_ZERO);
	net->op_shape = (pm_encoder_shape) {.d = k, .heads = net->c.op_heads, .ff = 2 * k};
	for (int l = 0; l < net->c.op_layers; l++)
		pm_encoder_add(t, "op", l, &net->op_shape, PM_START_XAVIER, net->op ? &net->op[l] : NULL);
	net->lnf_g = pm_tensors_add(t, "lnf_g", 1, k, PM_START_ONE);
	net->lnf_b = pm_tensors_add(t, "lnf_b", 1, k, PM_START_ZERO);
	net->wf = pm_tensors_add(t, "wf", 3 * k, net->c.d, PM_START_XAVIER);
	net->bf = pm_tensors_add(t, "bf", 1, net->c.d, PM_START_ZERO);
}

static void
add_heads(pm_mdot_net *net)
{
	int			d = net->c.d;
	int			h = net->c.hidden;
	pm_tensors *t = &net->tensors;

	net->wh = pm_tensors_add(t, "wh", d, PM_MDOT_OUTPUTS * h, PM_START_XAVIER);
	net->bh = pm_tensors_add(t, "bh", 1, PM_MDOT_OUTPUTS * h, PM_START_ZERO);
	net->wa = pm_tensors_add(t, "wa", h, 1, PM_START_ZERO);
	net->ba = pm_tensors_add(t, "ba", 1, 1, PM_START_ZERO);
	net->wm = pm_tensors_add(t, "wm", h, 1, PM_START_ZERO);
	net->bm = pm_tensors_add(t, "bm", 1, 1, PM_START_ZERO);
	net->wl = pm_tensors_add(t, "wl", h, 1, PM_START_ZERO);
	net->bl = pm_tensors_add(t, "bl", 1, 1, PM_START_ZERO);
	net->wg = pm_tensors_add(t, "wg", h, 1, PM_START_ZERO);
	net->bg = pm_tensors_add(t, "bg", 1, 1, PM_START_ZERO);
	net->wq1 = pm_tensors_add(t, "wq1", d, h, PM_START_XAVIER);
	net->bq1 = pm_tensors_add(t, "bq1", 1, h, PM_START_ZERO);
	net->wq2 = pm_tensors_add(t, "wq2", h, 1, PM_START_ZERO);
	net->bq2 = pm_tensors_add(t, "bq2", 1, 1, PM_START_ZERO);
	net->wz1 = pm_tensors_add(t, "wz1", 3 * d, h, PM_START_XAVIER);
	net->bz1 = pm_tensors_add(t, "bz1", 1, h, PM_START_ZERO);
	net->wz2 = pm_tensors_add(t, "wz2", h, 1, PM_START_ZERO);
	net->bz2 = pm_tensors_add(t, "bz2", 1, 1, PM_START_ZERO);
	net->adapter = pm_tensors_add(t, "adapter", net->c.n_gpus, PM_N_CLASSES, PM_START_ZERO_TABLE);
}

static pm_code
take_layers(pm_mdot_net *net, pm_arena *a, pm_status *st)
{
	net->op = PM_NEW(a, pm_encoder_params, net->c.op_layers);
	net->seq = PM_NEW(a, pm_encoder_params, net->c.layers);
	return net->op && net->seq ? PM_OK : pm_no_memory(st, a);
}

pm_code
pm_mdot_net_init(pm_mdot_net *net, const pm_mdot_config *c, pm_arena *a, pm_status *st)
{
	int			d = c->d;
	pm_tensors *t = &net->tensors;
	pm_code		rc;

	memset(net, 0, sizeof(*net));
	net->c = *c;
	net->raw_scale = net->log_sigma = 1;
	pm_tensors_init(t, a);
	if (a != NULL && (rc = take_layers(net, a, st)) != PM_OK)
		return rc;
	add_operator_encoder(net);
	net->wpos = pm_tensors_add(t, "wpos", PM_POSITION_DIM, d, PM_START_ZERO);
	net->wj1 = pm_tensors_add(t, "wj1", PM_N_JOB, d, PM_START_XAVIER);
	net->bj1 = pm_tensors_add(t, "bj1", 1, d, PM_START_ZERO);
	net->wj2 = pm_tensors_add(t, "wj2", d, d, PM_START_XAVIER);
	net->bj2 = pm_tensors_add(t, "bj2", 1, d, PM_START_ZERO);
	net->seq_shape = (pm_encoder_shape) {.d = d, .heads = c->heads, .ff = 2 * d, .relations = PM_N_RELATIONS};
	for (int l = 0; l < c->layers; l++)
		pm_encoder_add(t, "seq", l, &net->seq_shape, PM_START_ZERO, net->seq ? &net->seq[l] : NULL);
	net->lnz_g = pm_tensors_add(t, "lnz_g", 1, d, PM_START_ONE);
	net->lnz_b = pm_tensors_add(t, "lnz_b", 1, d, PM_START_ZERO);
	add_heads(net);
	return t->failed ? pm_no_memory(st, a) : PM_OK;
}
