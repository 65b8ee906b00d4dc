/*
 * document.c - two walks over a model become one perfmodel-graph/1 document.
 *
 * A dimension that differs between the two batch sizes is proportional to the
 * batch; its value at batch 1 lies on the line through both.
 */
#include "import/onnx/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct writer
{
	ox_model   *m;
	const ox_run *a;
	const ox_run *b;
	int32_t    *number;			/* [n_ops] id in the document, -1: left out */
	char	   *text;
	size_t		len,
				room;
	bool		failed;
} writer;

/* ---------- text ---------- */

static void
put(writer *w, const char *s, size_t n)
{
	if (w->failed)
		return;
	if (w->len + n + 1 > w->room)
	{
		size_t		room = w->room * 2 > w->len + n + 1 ? w->room * 2 : w->len + n + 65536;
		char	   *text = PM_NEW(w->m->arena, char, room);

		if (text == NULL)
		{
			pm_no_memory(w->m->st, w->m->arena);
			w->failed = true;
			return;
		}
		if (w->len > 0)
			memcpy(text, w->text, w->len);
		w->text = text;
		w->room = room;
	}
	memcpy(w->text + w->len, s, n);
	w->len += n;
	w->text[w->len] = '\0';
}

static void puts_f(writer *w, const char *fmt,...) PM_PRINTF(2, 3);
static void
puts_f(writer *w, const char *fmt,...)
{
	char		s[256];
	va_list		args;
	int			n;

	va_start(args, fmt);
	n = vsnprintf(s, sizeof(s), fmt, args);
	va_end(args);
	put(w, s, n < 0 ? 0 : (size_t) n < sizeof(s) ? (size_t) n : sizeof(s) - 1);
}

/* Printable ASCII only, so nothing needs escaping. */
static void
put_name(writer *w, const char *s)
{
	char		buf[64];

	puts_f(w, "\"%s\"", ox_shown(s, buf));
}

/* ---------- from two batches to one ---------- */

static void
bad_batch(writer *w, const ox_op *op, const char *fmt,...) PM_PRINTF(3, 4);
static void
bad_batch(writer *w, const ox_op *op, const char *fmt,...)
{
	char		what[160];
	va_list		args;

	if (w->failed)
		return;
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	w->failed = true;
	ox_fail(w->m, op->from, "%s", what);
	pm_hint(w->m->st, "Every shape must have at most one dimension that is proportional to the batch.");
}

/* The value at batch 1 of what is x and y in the two walks. */
static int64_t
at_one(writer *w, const ox_op *op, int64_t x, int64_t y)
{
	int64_t		apart = w->b->batch - w->a->batch;
	int64_t		slope = (y - x) / apart;

	if ((y - x) % apart != 0)
		bad_batch(w, op, "its shape does not grow evenly with the batch");
	return x - slope * (w->a->batch - 1);
}

static pm_shape
shape_at_one(writer *w, const ox_op *op, const pm_shape *x, const pm_shape *y)
{
	pm_shape	s = {.rank = x->rank};

	if (x->rank != y->rank)
		bad_batch(w, op, "its result has %d dimensions at one batch size and %d at another", x->rank, y->rank);
	for (int i = 0; i < s.rank && !w->failed; i++)
		s.dim[i] = at_one(w, op, x->dim[i], y->dim[i]);
	return s;
}

/* The dimension that follows the batch, -1: none. */
static int
batch_dim(writer *w, const ox_op *op, const pm_shape *x, const pm_shape *y)
{
	int			found = -1;

	for (int i = 0; i < x->rank && i < y->rank; i++)
	{
		if (x->dim[i] == y->dim[i])
			continue;
		if (found >= 0)
			bad_batch(w, op, "dimensions %d and %d of its result both follow the batch", found, i);
		else if (x->dim[i] % w->a->batch != 0 || x->dim[i] / w->a->batch != y->dim[i] / w->b->batch ||
				 y->dim[i] % w->b->batch != 0)
			bad_batch(w, op, "dimension %d of its result is %lld at batch %lld and %lld at batch %lld", i,
					  (long long) x->dim[i], (long long) w->a->batch, (long long) y->dim[i], (long long) w->b->batch);
		found = i;
	}
	return found;
}

static void
put_shape(writer *w, const ox_op *op, const pm_shape *x, const pm_shape *y)
{
	pm_shape	s = shape_at_one(w, op, x, y);

	put(w, "[", 1);
	for (int i = 0; i < s.rank; i++)
		puts_f(w, i ? ",%lld" : "%lld", (long long) s.dim[i]);
	put(w, "]", 1);
}

static void
put_shapes(writer *w, const ox_op *op, const char *key, int n, const pm_shape *x, int n_y, const pm_shape *y)
{
	if (n == 0 && n_y == 0)
		return;
	if (n != n_y)
	{
		bad_batch(w, op, "it has %d \"%s\" at one batch size and %d at another", n, key, n_y);
		return;
	}
	puts_f(w, ",\"%s\":[", key);
	for (int i = 0; i < n; i++)
	{
		if (i > 0)
			put(w, ",", 1);
		put_shape(w, op, &x[i], &y[i]);
	}
	put(w, "]", 1);
}

/* ---------- one node ---------- */

static void
put_key(writer *w, const ox_op *op, const ox_key *x, const ox_key *y)
{
	puts_f(w, "\"%s\":", x->key);
	if (x->text != NULL)
		put_name(w, x->text);
	else if (x->n == -1)
		puts_f(w, "%.6g", x->real);
	else if (x->n == -2)
		puts_f(w, "%lld", (long long) at_one(w, op, x->v[0], y->v[0]));
	else
	{
		put(w, "[", 1);
		for (int i = 0; i < x->n; i++)
			if (x->reals != NULL)
				puts_f(w, i ? ",%.6g" : "%.6g", x->reals[i]);
			else
				puts_f(w, i ? ",%lld" : "%lld", (long long) at_one(w, op, x->v[i], y->v[i]));
		put(w, "]", 1);
	}
}

static bool
same_keys(const ox_op *x, const ox_op *y)
{
	if (x->n_keys != y->n_keys)
		return false;
	for (int i = 0; i < x->n_keys; i++)
		if (strcmp(x->keys[i].key, y->keys[i].key) != 0 || x->keys[i].n != y->keys[i].n)
			return false;
	return true;
}

static void
put_op(writer *w, const ox_op *x, const ox_op *y, int id)
{
	int			batch = batch_dim(w, x, &x->shape, &y->shape);

	puts_f(w, "%s{\"id\":%d,\"op\":", id > 0 ? ",\n" : "", id);
	put_name(w, x->name);
	put(w, ",\"inputs\":[", 11);
	for (int i = 0; i < x->n_inputs; i++)
		puts_f(w, i ? ",%d" : "%d", w->number[x->inputs[i]]);
	put(w, "],\"shape\":", 10);
	put_shape(w, x, &x->shape, &y->shape);
	if (batch >= 0)
		puts_f(w, ",\"batch_dim\":%d", batch);
	else
		put(w, ",\"batch_dim\":null", 17);
	put_shapes(w, x, "shapes", x->n_shapes, x->shapes, y->n_shapes, y->shapes);
	put_shapes(w, x, "weights", x->n_weights, x->weights, y->n_weights, y->weights);
	put_shapes(w, x, "consts", x->n_consts, x->consts, y->n_consts, y->consts);
	if (x->n_keys > 0 && same_keys(x, y))
	{
		put(w, ",\"attrs\":{", 10);
		for (int i = 0; i < x->n_keys; i++)
		{
			if (i > 0)
				put(w, ",", 1);
			put_key(w, x, &x->keys[i], &y->keys[i]);
		}
		put(w, "}", 1);
	}
	puts_f(w, "%s}", x->view ? ",\"view\":true" : "");
}

static bool
same_op(const ox_op *x, const ox_op *y)
{
	return strcmp(x->name, y->name) == 0 && x->n_inputs == y->n_inputs && x->view == y->view &&
		(x->n_inputs == 0 || memcmp(x->inputs, y->inputs, sizeof(int32_t) * (size_t) x->n_inputs) == 0);
}

/* ---------- the graph ---------- */

/* Number what an output depends on, and the inputs; the id of the first output's node, or -1. */
static int
number_ops(writer *w)
{
	const ox_run *r = w->a;
	int			count = 0;
	int			output = -1;
	bool		any = false;

	for (int i = 0; i < r->n_ops; i++)
		w->number[i] = strcmp(r->ops[i].name, "Input") == 0 ? 0 : -1;
	for (int k = 0; k < w->m->n_values; k++)
		if (w->m->values[k].is_output && r->values[k].origin == OX_NODE)
		{
			w->number[r->values[k].node] = 0;
			output = output < 0 ? r->values[k].node : output;
			any = true;
		}
	for (int i = r->n_ops - 1; i >= 0; i--)
		for (int k = 0; k < r->ops[i].n_inputs && (w->number[i] == 0 || !any); k++)
			w->number[r->ops[i].inputs[k]] = 0;
	for (int i = 0; i < r->n_ops; i++)
		if (w->number[i] == 0 || !any)
			w->number[i] = count++;
	return output < 0 ? -1 : w->number[output];
}

static void
put_head(writer *w, int output)
{
	char		buf[64];

	put(w, "{\"format\":\"perfmodel-graph/1\",", 30);
	if (w->m->options->name == NULL && w->m->graph_name[0] != '\0')
	{
		put(w, "\"name\":", 7);
		put_name(w, w->m->graph_name);
		put(w, ",", 1);
	}
	puts_f(w, "\"source\":\"onnx opset %d, %s\",", w->m->opset, ox_shown(w->m->producer, buf));
	if (output >= 0)
		puts_f(w, "\"output\":%d,", output);
	puts_f(w, "\"params\":%.0f,\"input\":", w->a->params);
	put_shape(w, &w->a->ops[0], &w->a->ops[0].shape, &w->b->ops[0].shape);
	put(w, ",\"nodes\":[", 10);
}

pm_code
ox_document(ox_model *m, const ox_run *a, const ox_run *b, char **text, size_t *text_len)
{
	writer		w = {.m = m, .a = a, .b = b};

	w.number = PM_NEW(m->arena, int32_t, (size_t) a->n_ops + 1);
	if (w.number == NULL)
		return pm_no_memory(m->st, m->arena);
	if (a->n_ops != b->n_ops)
		return pm_fail(m->st, PM_ERR_INPUT, "model runs other operators at batch %lld than at batch %lld",
					   (long long) b->batch, (long long) a->batch);
	put_head(&w, number_ops(&w));
	for (int i = 0; i < a->n_ops && !w.failed; i++)
	{
		if (w.number[i] < 0)
			continue;
		if (!same_op(&a->ops[i], &b->ops[i]))
			bad_batch(&w, &a->ops[i], "another operator runs at another batch size");
		put_op(&w, &a->ops[i], &b->ops[i], w.number[i]);
	}
	put(&w, "]}", 2);
	if (w.failed)
		return m->st->code;
	*text = w.text;
	*text_len = w.len;
	return PM_OK;
}
