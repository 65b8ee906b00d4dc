/*
 * params.c - the list of MDOT's parameters.
 *
 * The outputs of the sequence's branches start at zero: so the network begins as
 * a model of each operator alone, and learns from the context only what lowers
 * the error.  The outputs of the heads start at zero, too.
 */
#include <string.h>

#include "kinds/mdot/params.h"

static void
add_operator_encoder(pm_mdot_net *net, pm_tensors *t)
{
	int			k = net->c.d_op;

	net->type = pm_tensors_add(t, "type", net->c.n_types, k, PM_START_TABLE);
	net->dtype = pm_tensors_add(t, "dtype", net->width.dtypes, k, PM_START_TABLE);
	net->framework = pm_tensors_add(t, "framework", net->c.n_frameworks, k, PM_START_TABLE);
	net->tag = pm_tensors_add(t, "tag", 3, k, PM_START_ZERO_TABLE);
	net->config = pm_mlp_add(t, "config", -1, 2 * net->width.slots, k, k, PM_START_XAVIER);
	net->load = pm_mlp_add(t, "load", -1, net->width.loads, k, k, PM_START_XAVIER);
	net->op_shape = (pm_encoder_shape) {.d = k, .heads = net->c.op_heads, .ff = 2 * k};
	net->op = pm_tensors_layers(t, net->c.op_layers, sizeof(pm_encoder_params));
	for (int l = 0; l < net->c.op_layers; l++)
		pm_encoder_add(t, "op", l, &net->op_shape, PM_START_XAVIER, net->op ? &net->op[l] : NULL);
	net->fuse_ln_g = pm_tensors_add(t, "fuse_ln_g", 1, k, PM_START_ONE);
	net->fuse_ln_b = pm_tensors_add(t, "fuse_ln_b", 1, k, PM_START_ZERO);
	net->fuse_w = pm_tensors_add(t, "fuse_w", 3 * k, net->c.d, PM_START_XAVIER);
	net->fuse_b = pm_tensors_add(t, "fuse_b", 1, net->c.d, PM_START_ZERO);
}

static void
add_sequence(pm_mdot_net *net, pm_tensors *t)
{
	int			d = net->c.d;

	net->position = pm_tensors_add(t, "position", PM_POSITION_DIM, d, PM_START_ZERO);
	net->job = pm_mlp_add(t, "job", -1, net->width.job, d, d, PM_START_XAVIER);
	net->seq_shape = (pm_encoder_shape) {.d = d, .heads = net->c.heads, .ff = 2 * d, .relations = PM_N_RELATIONS};
	net->seq = pm_tensors_layers(t, net->c.layers, sizeof(pm_encoder_params));
	for (int l = 0; l < net->c.layers; l++)
		pm_encoder_add(t, "seq", l, &net->seq_shape, PM_START_ZERO, net->seq ? &net->seq[l] : NULL);
	net->seq_ln_g = pm_tensors_add(t, "seq_ln_g", 1, d, PM_START_ONE);
	net->seq_ln_b = pm_tensors_add(t, "seq_ln_b", 1, d, PM_START_ZERO);
	if (net->c.edges)
	{
		net->message[PM_TO_PRODUCERS] = pm_tensors_add(t, "produced", d, d, PM_START_ZERO);
		net->message[PM_TO_CONSUMERS] = pm_tensors_add(t, "consumed", d, d, PM_START_ZERO);
	}
}

/* All but the adapter and the factor of passes. */
static void
add_estimate(pm_mdot_net *net, pm_tensors *t, int k)
{
	static const char *const names[PM_MDOT_ESTIMATES][PM_MDOT_OUTPUTS] = {
		{"compute", "memory", "launch", "growth"},
		{"peak_compute", "peak_memory", "peak_launch", "peak_growth"}
	};
	pm_mdot_estimate *e = &net->estimate[k];
	int			d = net->c.d;
	int			h = net->c.hidden;

	pm_tensors_enter(t, k == 0 ? NULL : "peak", -1);
	e->hidden_w = pm_tensors_add(t, "hidden_w", d, PM_MDOT_OUTPUTS * h, PM_START_XAVIER);
	e->hidden_b = pm_tensors_add(t, "hidden_b", 1, PM_MDOT_OUTPUTS * h, PM_START_ZERO);
	for (int i = 0; i < PM_MDOT_OUTPUTS; i++)
	{
		pm_tensors_enter(t, names[k][i], -1);
		e->output[i].w = pm_tensors_add(t, "w", h, 1, PM_START_ZERO);
		e->output[i].b = pm_tensors_add(t, "b", 1, 1, PM_START_ZERO);
	}
	e->rest = pm_mlp_add(t, k == 0 ? "rest" : "peak_rest", -1, d, h, 1, PM_START_ZERO);
}

static void
add_heads(pm_mdot_net *net, pm_tensors *t)
{
	add_estimate(net, t, 0);
	net->pooled = pm_mlp_add(t, "pooled", -1, 3 * net->c.d, net->c.hidden, 1, PM_START_ZERO);
	net->estimate[0].adapter = pm_tensors_add(t, "adapter", net->c.n_gpus, net->width.classes, PM_START_ZERO_TABLE);
	if (net->c.estimates > 1)
	{
		add_estimate(net, t, 1);
		net->estimate[1].adapter = pm_tensors_add(t, "peak_adapter", net->c.n_gpus, net->width.classes, PM_START_ZERO_TABLE);
	}
	/* last, so that the others start from the same random numbers with and without them */
	for (int k = 0; k < net->c.estimates && net->c.passes; k++)
		net->estimate[k].pass = pm_mlp_add(t, k == 0 ? "pass" : "peak_pass", -1, net->c.d, net->c.hidden, 1, PM_START_ZERO);
}

pm_code
pm_mdot_net_init(pm_mdot_net *net, const pm_mdot_config *c, pm_arena *a, pm_status *st)
{
	pm_tensors *t = &net->tensors;

	memset(net, 0, sizeof(*net));
	net->c = *c;
	net->width = pm_widths_of(c->schema);
	net->raw_scale = net->log_sigma = 1;
	pm_tensors_init(t, a);
	add_operator_encoder(net, t);
	add_sequence(net, t);
	add_heads(net, t);
	return t->failed ? pm_no_memory(st, a) : PM_OK;
}
