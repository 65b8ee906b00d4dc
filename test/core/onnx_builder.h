/*
 * onnx_builder.h - ONNX files out of a few lines of text, for tests.
 *
 *     opset 13                      batch of producers and the like are left out
 *     input x 1 N,3,8,8             element type, dimensions: numbers, names, or ? for none
 *     init w 1 4,3,3,3              without contents
 *     ints s 0,-1                   int64 with contents
 *     floats k 0.5                  float with contents; "scalar k 0.5" of rank 0
 *     node Conv x,w -> y pads=1,1,1,1 alpha=0.5 mode='linear' domain=com.microsoft
 *     info y 1 N,4,8,8              value_info
 *     output y
 *
 * Lines end in a newline or a semicolon.  An input or output "-" is absent.
 */
#ifndef ONNX_BUILDER_H
#define ONNX_BUILDER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes
{
	size_t		n;
	uint8_t		v[1 << 16];
} bytes;

static void
put_varint(bytes *b, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		b->v[b->n++] = (uint8_t) (v | 128);
	b->v[b->n++] = (uint8_t) v;
}

static void
put_number(bytes *b, int field, int64_t v)
{
	put_varint(b, (uint64_t) field << 3);
	put_varint(b, (uint64_t) v);
}

static void
put_block(bytes *b, int field, const void *p, size_t n)
{
	put_varint(b, (uint64_t) field << 3 | 2);
	put_varint(b, n);
	memcpy(b->v + b->n, p, n);
	b->n += n;
}

static void
put_string(bytes *b, int field, const char *s)
{
	put_block(b, field, s, strlen(s));
}

static void
put_float(bytes *b, int field, float f)
{
	put_varint(b, (uint64_t) field << 3 | 5);
	memcpy(b->v + b->n, &f, 4);
	b->n += 4;
}

/* The next part of *at up to a separator, copied. */
static char *
next_part(char **at, const char *separators)
{
	char	   *part = *at;

	if (part == NULL || *part == '\0')
		return NULL;
	*at = strpbrk(part, separators);
	if (*at != NULL)
		*(*at)++ = '\0';
	return part;
}

static void
put_shape_info(bytes *graph, int field, char *name, char *type, char *dims)
{
	static bytes shape,
				tensor,
				info,
				dim;
	char	   *d;

	shape.n = tensor.n = info.n = 0;
	while ((d = next_part(&dims, ",")) != NULL)
	{
		dim.n = 0;
		if (*d >= '0' && *d <= '9')
			put_number(&dim, 1, atoll(d));
		else if (*d != '?')
			put_string(&dim, 2, d);
		put_block(&shape, 1, dim.v, dim.n);
	}
	put_number(&tensor, 1, atoi(type));
	put_block(&tensor, 2, shape.v, shape.n);
	dim.n = 0;
	put_block(&dim, 1, tensor.v, tensor.n);
	put_string(&info, 1, name);
	put_block(&info, 2, dim.v, dim.n);
	put_block(graph, field, info.v, info.n);
}

/* kind: init, ints, floats, scalar. */
static void
put_tensor(bytes *out, int field, const char *kind, const char *name, const char *type, char *list)
{
	static bytes t;
	int			count = 0;
	char	   *x;
	int			dtype = strcmp(kind, "init") == 0 ? atoi(type) : strcmp(kind, "ints") == 0 ? 7 : 1;
	char		copy[1024];
	char	   *at = copy;

	t.n = 0;
	snprintf(copy, sizeof(copy), "%s", list != NULL ? list : "");
	if (strcmp(kind, "init") == 0)
		while ((x = next_part(&at, ",")) != NULL)
			put_number(&t, 1, atoll(x));
	else
	{
		static bytes data;

		data.n = 0;
		while ((x = next_part(&at, ",")) != NULL)
		{
			int64_t		i = atoll(x);
			float		f = (float) atof(x);

			memcpy(data.v + data.n, dtype == 7 ? (void *) &i : (void *) &f, dtype == 7 ? 8 : 4);
			data.n += dtype == 7 ? 8 : 4;
			count++;
		}
		if (strcmp(kind, "scalar") != 0)
			put_number(&t, 1, count);
		put_block(&t, 9, data.v, data.n);
	}
	put_number(&t, 2, dtype);
	put_string(&t, 8, name);
	put_block(out, field, t.v, t.n);
}

/* name=1,2 name=1.5 name='text' name:=1,2 (always a list) */
static void
put_attribute(bytes *node, char *text)
{
	static bytes a;
	char	   *value = strchr(text, '=');
	bool		list;

	a.n = 0;
	*value++ = '\0';
	list = value[-2] == ':';
	if (list)
		value[-2] = '\0';
	list = list || strchr(value, ',') != NULL;
	put_string(&a, 1, text);
	if (*value == '\'')
	{
		value[strlen(value) - 1] = '\0';
		put_string(&a, 4, value + 1);
	}
	else if (*value == '@')
		put_tensor(&a, 5, strchr(value, '.') ? "floats" : "ints", "", "", value + 1);
	else if (strchr(value, '.') != NULL)
		put_float(&a, 2, (float) atof(value));
	else if (!list)
		put_number(&a, 3, atoll(value));
	else
		for (char *x; (x = next_part(&value, ",")) != NULL;)
			put_number(&a, 8, atoll(x));
	put_block(node, 5, a.v, a.n);
}

static void
put_names(bytes *node, int field, char *list)
{
	for (char *x; (x = next_part(&list, ",")) != NULL;)
		put_string(node, field, strcmp(x, "-") == 0 ? "" : x);
}

static void
put_node(bytes *graph, char *rest)
{
	static bytes n;
	char	   *op = next_part(&rest, " ");
	char	   *in = next_part(&rest, " ");

	n.n = 0;
	if (strcmp(in, "->") != 0)
	{
		put_names(&n, 1, in);
		next_part(&rest, " ");
	}
	put_names(&n, 2, next_part(&rest, " "));
	put_string(&n, 4, op);
	for (char *a; (a = next_part(&rest, " ")) != NULL;)
		if (strncmp(a, "domain=", 7) == 0)
			put_string(&n, 7, a + 7);
		else if (strncmp(a, "called=", 7) == 0)
			put_string(&n, 3, a + 7);
		else
			put_attribute(&n, a);
	put_block(graph, 1, n.v, n.n);
}

/* The file in out; text is copied. */
static void
build_onnx(const char *text, bytes *out)
{
	static char copy[1 << 15];
	static bytes graph,
				opset;
	char	   *at = copy;
	char	   *line;
	int			version = 13;

	snprintf(copy, sizeof(copy), "%s", text);
	graph.n = out->n = 0;
	put_string(&graph, 2, "built");
	while ((line = next_part(&at, "\n;")) != NULL)
	{
		char	   *word;

		line += strspn(line, " \t");
		word = next_part(&line, " ");
		if (word == NULL)
			continue;
		if (strcmp(word, "opset") == 0)
			version = atoi(line);
		else if (strcmp(word, "node") == 0)
			put_node(&graph, line);
		else
		{
			char	   *name = next_part(&line, " ");
			char	   *type = strcmp(word, "ints") == 0 || strcmp(word, "floats") == 0 || strcmp(word, "scalar") == 0 ?
				NULL : next_part(&line, " ");

			if (strcmp(word, "input") == 0)
				put_shape_info(&graph, 11, name, type, line);
			else if (strcmp(word, "info") == 0)
				put_shape_info(&graph, 13, name, type, line);
			else if (strcmp(word, "output") == 0)
			{
				bytes	   *o = &opset;

				o->n = 0;
				put_string(o, 1, name);
				put_block(&graph, 12, o->v, o->n);
			}
			else
				put_tensor(&graph, 5, word, name, type, line);
		}
	}
	opset.n = 0;
	put_string(&opset, 1, "");
	put_number(&opset, 2, version);
	put_number(out, 1, 8);
	put_string(out, 2, "test");
	put_block(out, 7, graph.v, graph.n);
	put_block(out, 8, opset.v, opset.n);
}

#endif
