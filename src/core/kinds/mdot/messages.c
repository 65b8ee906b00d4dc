/*
 * messages.c - messages along the edges of the graph.
 *
 *   x_i = x_i + mean over producers p of i (o_p) Wp + mean over consumers c (o_c) Wc
 *
 * o are the encodings of the operators, before positions are added.  The mean
 * of a merged token is that over its copies of the copies' means
 * (pm_skeleton.edges).  Wp and Wc start at zero.  Operators on a CPU hear nothing.
 */
#include "kinds/mdot/messages.h"

#include <string.h>

void
pm_mdot_messages_take(pm_cursor *c, const pm_mdot_net *net, pm_mdot_acts *t)
{
	size_t		size = (size_t) t->ops * net->c.d;

	for (int way = 0; way < PM_N_EDGE_WAYS; way++)
		t->heard[way] = PM_REALS(c, size);
	t->d_heard = PM_REALS(c, size);
	t->heard_scale = PM_REALS(c, t->n);
}

/* out[n, d] += E in[n, d], E the edges' weights; back: transposed E. */
static void
add_along(pm_real *out, const pm_real *in, const pm_edges *e, int n, int d, bool back)
{
	for (int i = 0; i < n; i++)
		for (int k = e->at[i]; k < e->at[i + 1]; k++)
		{
			const pm_real *from = in + (size_t) (back ? i : e->to[k]) * d;
			pm_real    *to = out + (size_t) (back ? e->to[k] : i) * d;

			for (int j = 0; j < d; j++)
				to[j] += e->weight[k] * from[j];
		}
}

/* Factor on what the operators of a sample hear; 0: nothing. */
static pm_real
draw_scale(const pm_input *in, double left_out, pm_rng *rng)
{
	if (in->on_cpu || (left_out > 0 && pm_rng_uniform(rng) < left_out))
		return 0;
	return (pm_real) (1 / (1 - left_out));
}

void
pm_mdot_messages(const pm_mdot_data *data, const int *index, const pm_real *w, pm_rng *rng, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	double		left_out = rng != NULL ? net->c.drop_path : 0;
	int			d = net->c.d;
	size_t		op = 0;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		pm_real    *x = t->x + (size_t) (t->seg[i].start + 1) * d;

		t->heard_scale[i] = draw_scale(in, left_out, rng);
		for (int way = 0; way < PM_N_EDGE_WAYS && t->heard_scale[i] > 0; way++)
		{
			pm_real    *heard = t->heard[way] + op * d;

			memset(heard, 0, (size_t) in->n * d * sizeof(pm_real));
			add_along(heard, t->o + op * d, &in->skeleton->edges[way], in->n, d, false);
			pm_gemm(false, false, in->n, d, d, t->heard_scale[i], heard, d, w + net->message[way], d, 1, x, d);
		}
		op += in->n;
	}
}

void
pm_mdot_messages_back(const pm_mdot_data *data, const int *index, const pm_real *w, pm_real *grad, pm_mdot_acts *t)
{
	const pm_mdot_net *net = data->net;
	int			d = net->c.d;
	size_t		op = 0;

	for (int i = 0; i < t->n; i++)
	{
		const pm_input *in = &data->inputs[index[i]];
		const pm_real *dx = t->dx + (size_t) (t->seg[i].start + 1) * d;
		pm_real		scale = t->heard_scale[i];

		for (int way = 0; way < PM_N_EDGE_WAYS && scale > 0; way++)
		{
			pm_gemm(true, false, d, d, in->n, scale, t->heard[way] + op * d, d, dx, d, 1, grad + net->message[way], d);
			pm_gemm(false, true, in->n, d, d, scale, dx, d, w + net->message[way], d, 0, t->d_heard, d);
			add_along(t->d_ops + op * d, t->d_heard, &in->skeleton->edges[way], in->n, d, true);
		}
		op += in->n;
	}
}
