/*
 * mlp.c - a perceptron of one hidden layer.
 */
#include "nn/mlp.h"

#include "nn/nn.h"

pm_mlp
pm_mlp_add(pm_tensors *t, const char *part, int layer, int in, int hidden, int out, pm_tensor_start last)
{
	pm_mlp		m = {.in = in, .hidden = hidden, .out = out};

	pm_tensors_enter(t, part, layer);
	m.w1 = pm_tensors_add(t, "w1", in, hidden, PM_START_XAVIER);
	m.b1 = pm_tensors_add(t, "b1", 1, hidden, PM_START_ZERO);
	m.w2 = pm_tensors_add(t, "w2", hidden, out, last);
	m.b2 = pm_tensors_add(t, "b2", 1, out, PM_START_ZERO);
	pm_tensors_enter(t, NULL, -1);
	return m;
}

void
pm_mlp_take(size_t hidden, size_t rows, pm_cursor *c, pm_mlp_acts *t)
{
	t->pre = PM_REALS(c, rows * hidden);
	t->act = PM_REALS(c, rows * hidden);
	t->dact = PM_REALS(c, rows * hidden);
}

void
pm_mlp_forward(pm_real *y, const pm_real *x, const pm_mlp *m, const pm_real *w, int rows, pm_mlp_acts *t)
{
	pm_linear_gelu(t->act, t->pre, x, w + m->w1, w + m->b1, rows, m->in, m->hidden);
	pm_linear(y, t->act, w + m->w2, w + m->b2, rows, m->hidden, m->out);
}

void
pm_mlp_back(pm_real *dx, pm_real *grad, const pm_real *dy, const pm_real *x, const pm_mlp *m,
			const pm_real *w, int rows, pm_mlp_acts *t)
{
	pm_linear_back(t->dact, grad + m->w2, grad + m->b2, dy, t->act, w + m->w2, rows, m->hidden, m->out, false);
	pm_mul(t->dact, t->pre, (size_t) rows * m->hidden);
	pm_linear_back(dx, grad + m->w1, grad + m->b1, t->dact, x, w + m->w1, rows, m->in, m->hidden, false);
}
