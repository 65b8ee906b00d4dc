/*
 * graph_attrs.c - the attributes of a node, as perfmodel-graph/1 has them.
 *
 * Their names are ONNX's.  Those that the catalogue does not use are stepped
 * over.
 */
#include "graph/graph_attrs.h"

#include <math.h>
#include <string.h>

#define LIST_MAX		PM_MAX_RANK /* of which pads take 2 * PM_MAX_SPATIAL */

/* A short list of whole numbers as it came: n may exceed what v holds. */
typedef struct int_list
{
	bool		odd;			/* there was something else in it */
	int			n;
	int64_t		v[LIST_MAX];
	double		first;			/* whole or not; NaN: no number */
} int_list;

typedef struct attr_lists
{
	int_list	kernel,
				stride,
				pad,
				dilation,
				alpha,
				perm;
} attr_lists;

/* A list, or a bare number for a list of one. Other contents only make it odd: they may be none of ours. */
static bool
read_list(pm_json *r, int_list *l)
{
	int			more;
	bool		bare = pm_json_peek(r) != '[';

	l->n = 0;
	if (pm_json_peek(r) == 'n')
		return pm_json_literal(r, "null");
	if (!bare)
		r->p++;
	while ((more = bare ? l->n++ == 0 : pm_json_next_element(r, ']', &l->n)) > 0)
	{
		char		c = pm_json_peek(r);
		pm_json_number		num = {.exact = false, .i = 0, .d = NAN};

		if (c == '-' || (c >= '0' && c <= '9') ? !pm_json_number_at(r, &num) : !pm_json_skip(r, 0))
			return false;
		l->odd |= !num.exact;
		if (l->n == 1)
			l->first = num.d;
		if (l->n <= LIST_MAX)
			l->v[l->n - 1] = num.i;
	}
	if (bare)
		l->n = 1;
	return more == 0;
}

/* An integer attribute; null is the same as absent. */
static bool
read_attr_int(pm_json *r, const char *key, int64_t *value)
{
	if (pm_json_peek(r) == 'n')
		return pm_json_literal(r, "null");
	return pm_json_int(r, key, value);
}

/* The usual release is the same as none, so that the networks are the same, too. */
static bool
read_flash(pm_json *r, int64_t *flash)
{
	if (!read_attr_int(r, "attrs.flash", flash))
		return false;
	if (*flash < 0 || *flash > PM_LAST_FLASH)
		return pm_json_bad(r, PM_ERR_INPUT, "attrs.flash", "is not a release of FlashAttention: 1, 2 or 3");
	*flash = *flash == PM_USUAL_FLASH ? 0 : *flash;
	return true;
}

static bool
read_window(pm_json *r, int64_t *window)
{
	if (!read_attr_int(r, "attrs.window", window))
		return false;
	if (*window < 0 || *window > PM_MAX_DIM)
		return pm_json_bad(r, PM_ERR_INPUT, "attrs.window", "is not a number of keys: 1 to 2^40, or 0 for all");
	return true;
}

/* true, false, or a number, which is true unless it is 0. */
static bool
read_attr_flag(pm_json *r, const char *key, bool *value)
{
	char		c = pm_json_peek(r);
	int64_t		number = *value;

	if (c == 't' || c == 'f')
		return pm_json_bool(r, key, value);
	if (!read_attr_int(r, key, &number))
		return false;
	*value = number != 0;
	return true;
}

static bool
read_direction(pm_json *r, bool *bidirectional)
{
	char		buf[PM_MAX_NAME_LEN + 8];

	if (!pm_json_string(r, "attrs.direction", buf))
		return false;
	*bidirectional = strcmp(buf, "bidirectional") == 0;
	return true;
}

/* One attribute. Those that the catalogue does not use are stepped over. */
static bool
read_attr(pm_json *r, const char *key, pm_attrs *a, attr_lists *l)
{
	if (strcmp(key, "kernel_shape") == 0)
		return read_list(r, &l->kernel);
	if (strcmp(key, "strides") == 0)
		return read_list(r, &l->stride);
	if (strcmp(key, "pads") == 0)
		return read_list(r, &l->pad);
	if (strcmp(key, "dilations") == 0)
		return read_list(r, &l->dilation);
	if (strcmp(key, "group") == 0)
		return read_attr_int(r, "attrs.group", &a->group);
	if (strcmp(key, "axis") == 0)
		return read_attr_int(r, "attrs.axis", &a->axis);
	if (strcmp(key, "hidden_size") == 0)
		return read_attr_int(r, "attrs.hidden_size", &a->hidden_size);
	if (strcmp(key, "num_layers") == 0)
		return read_attr_int(r, "attrs.num_layers", &a->num_layers);
	if (strcmp(key, "num_heads") == 0)
		return read_attr_int(r, "attrs.num_heads", &a->num_heads);
	if (strcmp(key, "flash") == 0)
		return read_flash(r, &a->flash);
	if (strcmp(key, "window") == 0)
		return read_window(r, &a->window);
	if (strcmp(key, "is_causal") == 0)
		return read_attr_flag(r, "attrs.is_causal", &a->is_causal);
	if (strcmp(key, "frozen") == 0)
		return read_attr_flag(r, "attrs.frozen", &a->frozen);
	if (strcmp(key, "sparse") == 0)
		return read_attr_flag(r, "attrs.sparse", &a->sparse);
	if (strcmp(key, "complex") == 0)
		return read_attr_flag(r, "attrs.complex", &a->complex);
	if (strcmp(key, "plain") == 0)
		return read_attr_flag(r, "attrs.plain", &a->plain);
	if (strcmp(key, "alpha") == 0 || strcmp(key, "values") == 0)
		return read_list(r, &l->alpha);
	if (strcmp(key, "perm") == 0)
		return read_list(r, &l->perm);
	if (strcmp(key, "tied") == 0)
		return read_attr_int(r, "attrs.tied", &a->tied);
	if (strcmp(key, "direction") == 0)
		return read_direction(r, &a->bidirectional);
	if (strcmp(key, "bidirectional") == 0)
		return pm_json_bool(r, "attrs.bidirectional", &a->bidirectional);
	if (strcmp(key, "requires_grad") == 0)
		return pm_json_bool(r, "attrs.requires_grad", &a->requires_grad);
	return pm_json_skip(r, 0);
}

/*
 * Spread a list over the kernel's dimensions: one value each, one for all, or
 * (pads) two each, begins first, of which the mean is kept.
 */
static bool
spread(pm_json *r, const char *key, const int_list *l, int spatial, int64_t *out)
{
	if (l->n == 0)
		return true;			/* the default stays */
	if (l->odd)
		return pm_json_bad(r, PM_ERR_INPUT, key, "is not a list of whole numbers");
	if (l->n != 1 && l->n != spatial && !(l->n == 2 * spatial && strcmp(key, "attrs.pads") == 0))
		return pm_json_bad(r, PM_ERR_INPUT, key, "has %d values for %d kernel dimensions", l->n, spatial);
	for (int i = 0; i < spatial; i++)
	{
		int64_t		v = l->v[l->n == 1 ? 0 : i];

		if (v < 0 || v > PM_MAX_DIM)
			return pm_json_bad(r, PM_ERR_LIMIT, key, "has value %lld, but values lie between 0 and 2^40", (long long) v);
		if (l->n == 2 * spatial && l->n > 1 && strcmp(key, "attrs.pads") == 0)
		{
			int64_t		last = l->v[spatial + i];

			if (last < 0 || last > PM_MAX_DIM)
				return pm_json_bad(r, PM_ERR_LIMIT, key, "has value %lld, but values lie between 0 and 2^40", (long long) last);
			v = (v + last + 1) / 2;
		}
		out[i] = v;
	}
	return true;
}

/* A list that is no permutation is none of ours: how the tensor lies is then not known. */
static void
apply_perm(pm_attrs *a, const int_list *l)
{
	unsigned	seen = 0;

	if (l->odd || l->n > PM_MAX_RANK)
		return;
	for (int i = 0; i < l->n; i++)
	{
		if (l->v[i] < 0 || l->v[i] >= l->n)
			return;
		seen |= 1u << l->v[i];
		a->perm[i] = (uint8_t) l->v[i];
	}
	if (seen == (1u << l->n) - 1)
		a->n_perm = l->n;
}

/* Strides and the like mean something only next to a kernel; Pad's pads are another thing. */
static bool
apply_lists(pm_json *r, pm_attrs *a, const attr_lists *l)
{
	int			spatial = l->kernel.n;

	if (l->alpha.n > 0 && isfinite(l->alpha.first))
		a->alpha = l->alpha.first;
	apply_perm(a, &l->perm);
	if (spatial == 0)
		return true;
	if (spatial > PM_MAX_SPATIAL)
		return pm_json_bad(r, PM_ERR_LIMIT, "attrs.kernel_shape", "has more than %d dimensions", PM_MAX_SPATIAL);
	a->spatial = spatial;
	return spread(r, "attrs.kernel_shape", &l->kernel, spatial, a->kernel) &&
		spread(r, "attrs.strides", &l->stride, spatial, a->stride) &&
		spread(r, "attrs.pads", &l->pad, spatial, a->pad) &&
		spread(r, "attrs.dilations", &l->dilation, spatial, a->dilation);
}

bool
pm_read_attrs(pm_json *r, pm_node *node)
{
	attr_lists	lists;
	char		key[PM_JSON_KEY_SIZE];
	int			n = 0;
	int			more;

	if (pm_json_peek(r) != '{')
		return pm_json_bad(r, PM_ERR_INPUT, "attrs", "is not an object");
	memset(&lists, 0, sizeof(lists));
	node->attrs_at = (size_t) (r->p - r->text);
	r->p++;
	while ((more = pm_json_next_key(r, &n, key)) > 0)
		if (!read_attr(r, key, &node->attrs, &lists))
			return false;
	node->attrs_len = (size_t) (r->p - r->text) - node->attrs_at;
	return more == 0 && apply_lists(r, &node->attrs, &lists);
}

pm_code
pm_attrs_from_json(pm_graph *g, int node, pm_arena *a, pm_status *st)
{
	pm_node    *n = &g->nodes[node];
	const char *text = g->text + n->attrs_at;
	pm_json		r = {.text = g->text,.p = text,.end = text + n->attrs_len,.arena = a,.st = st,.node = node};

	return pm_read_attrs(&r, n) ? PM_OK : r.code;
}
