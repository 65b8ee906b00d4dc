/*
 * mdot_params.c - the parameters of MDOT: their tensors, how each of them
 * starts, and which of them decay.
 */
#include <stdio.h>
#include <string.h>

#include "kinds/mdot/net.h"

static size_t
add_tensor(pm_mdot_net *net, const char *name, int layer, int rows, int cols, pm_mdot_init init)
{
	pm_mdot_tensor *t = &net->tensor[net->n_tensors++];

	if (layer >= 0)
		snprintf(t->name, sizeof(t->name), "%.16s.%d", name, layer);
	else
		snprintf(t->name, sizeof(t->name), "%s", name);
	t->at = net->n_params;
	t->rows = rows;
	t->cols = cols;
	t->init = init;
	net->n_params += (size_t) rows * cols;
	return t->at;
}

/*
 * branch: how the outputs of the two branches start.  Those of the sequence
 * start at zero: the network begins as a model of each operator alone, and
 * context has to earn its place.
 */
static void
add_encoder(pm_mdot_net *net, const char *prefix, int layer, const pm_encoder_shape *s, pm_mdot_init branch,
			pm_encoder_params *p)
{
	char		name[16];

#define ADD(field, rows, cols, init) \
	(snprintf(name, sizeof(name), "%s_%s", prefix, #field), \
	 p->field = add_tensor(net, name, layer, rows, cols, init))
	ADD(ln1_g, 1, s->d, PM_INIT_ONE);
	ADD(ln1_b, 1, s->d, PM_INIT_ZERO);
	ADD(wqkv, s->d, 3 * s->d, PM_INIT_XAVIER);
	ADD(bqkv, 1, 3 * s->d, PM_INIT_ZERO);
	ADD(wo, s->d, s->d, branch);
	ADD(bo, 1, s->d, PM_INIT_ZERO);
	ADD(ln2_g, 1, s->d, PM_INIT_ONE);
	ADD(ln2_b, 1, s->d, PM_INIT_ZERO);
	ADD(w1, s->d, s->ff, PM_INIT_XAVIER);
	ADD(b1, 1, s->ff, PM_INIT_ZERO);
	ADD(w2, s->ff, s->d, branch);
	ADD(b2, 1, s->d, PM_INIT_ZERO);
	if (s->relations > 0)
		ADD(bias, s->heads, s->relations, PM_INIT_ZERO_TABLE);
#undef ADD
}

static void
add_operator_encoder(pm_mdot_net *net)
{
	int			k = net->c.d_op;

	net->type = add_tensor(net, "type", -1, net->c.n_types, k, PM_INIT_TABLE);
	net->dtype = add_tensor(net, "dtype", -1, PM_N_DTYPES, k, PM_INIT_TABLE);
	net->layout = add_tensor(net, "layout", -1, PM_N_LAYOUTS, k, PM_INIT_TABLE);
	net->framework = add_tensor(net, "framework", -1, net->c.n_frameworks, k, PM_INIT_TABLE);
	net->tag = add_tensor(net, "tag", -1, 3, k, PM_INIT_ZERO_TABLE);
	net->wc1 = add_tensor(net, "wc1", -1, 2 * PM_N_SLOTS, k, PM_INIT_XAVIER);
	net->bc1 = add_tensor(net, "bc1", -1, 1, k, PM_INIT_ZERO);
	net->wc2 = add_tensor(net, "wc2", -1, k, k, PM_INIT_XAVIER);
	net->bc2 = add_tensor(net, "bc2", -1, 1, k, PM_INIT_ZERO);
	net->wl1 = add_tensor(net, "wl1", -1, PM_N_LOADS, k, PM_INIT_XAVIER);
	net->bl1 = add_tensor(net, "bl1", -1, 1, k, PM_INIT_ZERO);
	net->wl2 = add_tensor(net, "wl2", -1, k, k, PM_INIT_XAVIER);
	net->bl2 = add_tensor(net, "bl2", -1, 1, k, PM_INIT_ZERO);
	net->op_shape = (pm_encoder_shape) {.d = k, .heads = net->c.op_heads, .ff = 2 * k};
	for (int l = 0; l < net->c.op_layers; l++)
		add_encoder(net, "op", l, &net->op_shape, PM_INIT_XAVIER, &net->op[l]);
	net->lnf_g = add_tensor(net, "lnf_g", -1, 1, k, PM_INIT_ONE);
	net->lnf_b = add_tensor(net, "lnf_b", -1, 1, k, PM_INIT_ZERO);
	net->wf = add_tensor(net, "wf", -1, 3 * k, net->c.d, PM_INIT_XAVIER);
	net->bf = add_tensor(net, "bf", -1, 1, net->c.d, PM_INIT_ZERO);
}

static void
add_heads(pm_mdot_net *net)
{
	int			d = net->c.d;
	int			h = net->c.hidden;

	net->wh = add_tensor(net, "wh", -1, d, PM_MDOT_OUTPUTS * h, PM_INIT_XAVIER);
	net->bh = add_tensor(net, "bh", -1, 1, PM_MDOT_OUTPUTS * h, PM_INIT_ZERO);
	net->wa = add_tensor(net, "wa", -1, h, 1, PM_INIT_ZERO);
	net->ba = add_tensor(net, "ba", -1, 1, 1, PM_INIT_ZERO);
	net->wm = add_tensor(net, "wm", -1, h, 1, PM_INIT_ZERO);
	net->bm = add_tensor(net, "bm", -1, 1, 1, PM_INIT_ZERO);
	net->wl = add_tensor(net, "wl", -1, h, 1, PM_INIT_ZERO);
	net->bl = add_tensor(net, "bl", -1, 1, 1, PM_INIT_ZERO);
	net->wg = add_tensor(net, "wg", -1, h, 1, PM_INIT_ZERO);
	net->bg = add_tensor(net, "bg", -1, 1, 1, PM_INIT_ZERO);
	net->wq1 = add_tensor(net, "wq1", -1, d, h, PM_INIT_XAVIER);
	net->bq1 = add_tensor(net, "bq1", -1, 1, h, PM_INIT_ZERO);
	net->wq2 = add_tensor(net, "wq2", -1, h, 1, PM_INIT_ZERO);
	net->bq2 = add_tensor(net, "bq2", -1, 1, 1, PM_INIT_ZERO);
	net->wz1 = add_tensor(net, "wz1", -1, 3 * d, h, PM_INIT_XAVIER);
	net->bz1 = add_tensor(net, "bz1", -1, 1, h, PM_INIT_ZERO);
	net->wz2 = add_tensor(net, "wz2", -1, h, 1, PM_INIT_ZERO);
	net->bz2 = add_tensor(net, "bz2", -1, 1, 1, PM_INIT_ZERO);
	net->adapter = add_tensor(net, "adapter", -1, net->c.n_gpus, PM_N_CLASSES, PM_INIT_ZERO_TABLE);
}

void
pm_mdot_net_init(pm_mdot_net *net, const pm_mdot_config *c)
{
	int			d = c->d;

	memset(net, 0, sizeof(*net));
	net->c = *c;
	net->raw_scale = net->log_sigma = 1;
	add_operator_encoder(net);
	net->wpos = add_tensor(net, "wpos", -1, PM_POSITION_DIM, d, PM_INIT_ZERO);
	net->wj1 = add_tensor(net, "wj1", -1, PM_N_JOB, d, PM_INIT_XAVIER);
	net->bj1 = add_tensor(net, "bj1", -1, 1, d, PM_INIT_ZERO);
	net->wj2 = add_tensor(net, "wj2", -1, d, d, PM_INIT_XAVIER);
	net->bj2 = add_tensor(net, "bj2", -1, 1, d, PM_INIT_ZERO);
	net->seq_shape = (pm_encoder_shape) {.d = d, .heads = c->heads, .ff = 2 * d, .relations = PM_N_RELATIONS};
	for (int l = 0; l < c->layers; l++)
		add_encoder(net, "seq", l, &net->seq_shape, PM_INIT_ZERO, &net->seq[l]);
	net->lnz_g = add_tensor(net, "lnz_g", -1, 1, d, PM_INIT_ONE);
	net->lnz_b = add_tensor(net, "lnz_b", -1, 1, d, PM_INIT_ZERO);
	add_heads(net);
}

void
pm_mdot_net_weights(const pm_mdot_net *net, pm_real *w, pm_rng *rng)
{
	memset(w, 0, net->n_params * sizeof(pm_real));
	for (int i = 0; i < net->n_tensors; i++)
	{
		const pm_mdot_tensor *t = &net->tensor[i];
		size_t		n = (size_t) t->rows * t->cols;

		if (t->init == PM_INIT_XAVIER)
			pm_init_xavier(w + t->at, t->rows, t->cols, 1, rng);
		for (size_t k = 0; k < n; k++)
		{
			if (t->init == PM_INIT_ONE)
				w[t->at + k] = 1;
			else if (t->init == PM_INIT_TABLE)
				w[t->at + k] = (pm_real) (0.5 * (2 * pm_rng_uniform(rng) - 1));
		}
	}
}

void
pm_mdot_net_copy(const pm_mdot_net *net, pm_real *w, const pm_mdot_net *from, const pm_real *from_w)
{
	for (int i = 0; i < from->n_tensors; i++)
	{
		const pm_mdot_tensor *t = &from->tensor[i];

		memcpy(w + net->tensor[i].at, from_w + t->at, (size_t) t->rows * t->cols * sizeof(pm_real));
	}
}

void
pm_mdot_net_decay(const pm_mdot_net *net, uint8_t *decay)
{
	memset(decay, 0, net->n_params);
	for (int i = 0; i < net->n_tensors; i++)
	{
		const pm_mdot_tensor *t = &net->tensor[i];

		if (t->rows > 1 && (t->init == PM_INIT_XAVIER || t->init == PM_INIT_ZERO))
			memset(decay + t->at, 1, (size_t) t->rows * t->cols);
	}
}
