/*
 * fold.c - joins the pieces of operators that exporters have taken apart.
 *
 * A pattern is a handful of nodes whose results no other node reads.  Its last
 * node becomes the operator that the framework had; the others are removed.  What a
 * framework runs in pieces stays in pieces: RMS normalisation written out in
 * Python, or the Gelu of GPT-2 with its Pow, are several kernels there too.
 */
#include "import/onnx/fold.h"

#include "import/onnx/attributes.h"
#include "import/onnx/fold_patterns.h"
#include "import/onnx/fold_tools.h"

/* ---------- constants among the parameters ---------- */

/* A gradient flows from n's result to the value it reads. */
static bool
has_gradient(const ox_node *n, int value)
{
	static const char *const settings[] = {"Resize", "Upsample", "Pad", "Clip", "QuantizeLinear", "DequantizeLinear", "OneHot", NULL};
	static const char *const none[] = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or", "Sign",
	"Shape", "Size", "Floor", "Ceil", "Round", NULL};
	int64_t		to = ox_is_op(n, "Cast") ? ox_attr_int(n, "to", 0) : OX_FLOAT;

	for (int i = 0; none[i] != NULL; i++)
		if (ox_is_op(n, none[i]))
			return false;
	for (int i = 0; settings[i] != NULL; i++)
		if (ox_is_op(n, settings[i]) && n->in[0] != value)
			return false;
	return to == OX_FLOAT || to == OX_FLOAT16 || to == OX_DOUBLE || to == OX_BFLOAT16;
}

/* What is only compared or rounded cannot be learned: masks that are stored as real numbers. */
static pm_code
find_constants(ox_folder *f)
{
	ox_model   *m = f->m;

	for (int v = 0; v < m->n_values; v++)
	{
		bool		learned = m->values[v].uses == 0;

		if (ox_stopped(m))
			return PM_CANCELLED;
		for (int i = f->reader_at[v]; m->values[v].is_init && i < f->reader_at[v + 1] && !learned; i++)
		{
			const ox_node *n = &m->nodes[f->reader[i]];

			if (ox_stopped(m))
				return PM_CANCELLED;
			/* a part of a mask is a mask */
			for (int k = 0; k < OX_MAX_CHAIN && ox_is_op(n, "Slice") && ox_single(f, n) && ox_only_reader(f, n, NULL) != NULL; k++)
				n = ox_only_reader(f, n, NULL);
			learned = has_gradient(n, n == &m->nodes[f->reader[i]] ? v : n->in[0]);
		}
		m->values[v].is_constant = !learned;
	}
	return PM_OK;
}

/* ---------- all patterns ---------- */

typedef pm_code (*pattern) (ox_folder *f, ox_node *n);

static const struct
{
	const char *op;
	pattern		fold;
}			patterns[] =
{
	{"Div", ox_fold_layer_norm}, {"InstanceNormalization", ox_fold_group_norm}, {"Erf", ox_fold_gelu_erf}, {"Tanh", ox_fold_gelu_tanh},
	{"Div", ox_fold_hard}, {"Mul", ox_fold_gated}, {"Mul", ox_fold_glu}, {"Log", ox_fold_log_sigmoid}, {"Div", ox_fold_reciprocal_root}, {"Reciprocal", ox_fold_reciprocal_root}, {"Add", ox_fold_linear},
	{"MatMul", ox_fold_attention}, {"Concat", ox_fold_roll}, {"Slice", ox_fold_chunk}, {"AveragePool", ox_fold_padded_pool}, {"LSTM", ox_fold_packing}, {"GRU", ox_fold_packing}, {"RNN", ox_fold_packing},
	{"LSTM", ox_fold_stack_layers}, {"GRU", ox_fold_stack_layers}, {"RNN", ox_fold_stack_layers}
};

/* Who reads what, as it is before anything is folded. */
static bool
index_readers(ox_folder *f)
{
	ox_model   *m = f->m;
	int			total = 0;

	f->reader_at = PM_NEW(m->arena, int, (size_t) m->n_values + 2);
	if (f->reader_at == NULL)
		return false;
	for (int i = 0; i < m->n_nodes; i++)
		for (int k = 0; k < m->nodes[i].n_in; k++)
			if (m->nodes[i].in[k] >= 0)
			{
				f->reader_at[m->nodes[i].in[k] + 2]++;
				total++;
			}
	f->reader = PM_NEW(m->arena, int, (size_t) total + 1);
	f->packing = PM_NEW(m->arena, uint8_t, (size_t) m->n_nodes + 1);
	if (f->reader == NULL || f->packing == NULL)
		return false;
	for (int v = 0; v < m->n_values; v++)
		f->reader_at[v + 2] += f->reader_at[v + 1];
	for (int i = 0; i < m->n_nodes; i++)
		for (int k = 0; k < m->nodes[i].n_in; k++)
			if (m->nodes[i].in[k] >= 0)
				f->reader[f->reader_at[m->nodes[i].in[k] + 1]++] = i;
	return true;
}

pm_code
ox_fold(ox_model *m)
{
	ox_folder	f = {.m = m};

	if (!index_readers(&f))
		return pm_no_memory(m->st, m->arena);
	if (find_constants(&f) != PM_OK)
		return PM_CANCELLED;
	for (int i = 0; i < m->n_nodes; i++)
	{
		if (ox_stopped(m))
			return PM_CANCELLED;
		for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++)
			if (!m->nodes[i].dead && ox_is_op(&m->nodes[i], patterns[p].op))
			{
				pm_code		code = m->nodes[i].n_in > 0 && m->nodes[i].in[0] >= 0 ? patterns[p].fold(&f, &m->nodes[i]) : PM_OK;

				if (code != PM_OK)
					return code;
			}
	}
	return PM_OK;
}
