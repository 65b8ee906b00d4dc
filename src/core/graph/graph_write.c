/*
 * graph_write.c - the writer of perfmodel-graph/1.
 */
#include "graph/graph_write.h"

#include <math.h>
#include <string.h>

static void
put_shape(pm_text *t, const pm_shape *s)
{
	pm_text_put(t, "[", 1);
	for (int i = 0; i < s->rank; i++)
		pm_text_printf(t, i ? ",%lld" : "%lld", (long long) s->dim[i]);
	pm_text_put(t, "]", 1);
}

static void
put_shapes(pm_text *t, const char *key, int n, const pm_shape *shapes)
{
	if (n == 0)
		return;
	pm_text_printf(t, ",\"%s\":[", key);
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			pm_text_put(t, ",", 1);
		put_shape(t, &shapes[i]);
	}
	pm_text_put(t, "]", 1);
}

/* A number that is NaN when it is absent. */
static void
put_number(pm_text *t, const char *key, double v)
{
	if (!isnan(v))
		pm_text_printf(t, ",\"%s\":%.17g", key, v);
}

/* A text that is NULL or "" when it is absent. */
static void
put_name(pm_text *t, const char *key, const char *s)
{
	if (s == NULL || s[0] == '\0')
		return;
	pm_text_printf(t, ",\"%s\":", key);
	pm_text_string(t, s);
}

static void
put_node(pm_text *t, const pm_graph *g, int id)
{
	const pm_node *n = &g->nodes[id];

	pm_text_printf(t, "%s{\"id\":%d", id > 0 ? ",\n" : "", id);
	put_name(t, "op", n->op_name);
	put_name(t, "module", n->module);
	pm_text_put(t, ",\"inputs\":[", 11);
	for (int i = 0; i < n->n_inputs; i++)
		pm_text_printf(t, i ? ",%d" : "%d", n->inputs[i]);
	pm_text_put(t, "],\"shape\":", 10);
	put_shape(t, &n->shape);
	if (n->batch_dim >= 0)
		pm_text_printf(t, ",\"batch_dim\":%d", n->batch_dim);
	else
		pm_text_put(t, ",\"batch_dim\":null", 17);
	put_shapes(t, "shapes", n->n_shapes, n->shapes);
	put_shapes(t, "weights", n->n_weights, n->weights);
	put_shapes(t, "consts", n->n_consts, n->consts);
	if (n->attrs_len > 0)
	{
		pm_text_put(t, ",\"attrs\":", 9);
		pm_text_put(t, g->text + n->attrs_at, n->attrs_len);
	}
	if (n->view)
		pm_text_put(t, ",\"view\":true", 12);
	put_number(t, "flops", n->flops);
	put_number(t, "flops0", n->flops0);
	pm_text_put(t, "}", 1);
}

static void
put_head(pm_text *t, const pm_graph *g)
{
	pm_text_put(t, "{\"format\":\"perfmodel-graph/1\"", 29);
	put_name(t, "name", g->name);
	put_name(t, "model", g->model);
	if (!g->family_derived)
		put_name(t, "family", g->family);
	put_name(t, "source", g->source);
	if (g->output >= 0)
		pm_text_printf(t, ",\"output\":%d", g->output);
	put_number(t, "params", g->declared_params);
	if (g->input.rank > 0)
	{
		pm_text_put(t, ",\"input\":", 9);
		put_shape(t, &g->input);
	}
}

pm_code
pm_graph_write(const pm_graph *g, pm_text *out, pm_status *st)
{
	put_head(out, g);
	pm_text_put(out, ",\"nodes\":[", 10);
	for (int i = 0; i < g->n_nodes; i++)
	{
		if (i % PM_POLL_EVERY == 0 && pm_stopped(out->arena, st))
			return PM_CANCELLED;
		put_node(out, g, i);
	}
	pm_text_put(out, "]}", 2);
	return out->no_memory ? pm_no_memory(st, out->arena) : PM_OK;
}
