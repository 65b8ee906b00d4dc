/*
 * graph_json.c - importer of perfmodel-graph/1, with its own JSON reader.
 *
 * The text is read twice.  The first pass checks that the whole of it is JSON
 * (RFC 8259, valid UTF-8, at most MAX_DEPTH levels) and notes where the values
 * of the top-level keys lie, because their order is not ours to choose: a
 * document that went through jsonb has "nodes" ahead of "format".  The second
 * pass reads the known values; unknown keys are stepped over.
 *
 * Time is linear in the length of the text and the stack does not grow with
 * it.  Everything kept is in the caller's arena; strings are copied.
 */
#include "graph/graph_finish.h"
#include "graph/graph_json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FORMAT			"perfmodel-graph/1"
#define MAX_DEPTH		64
#define KEY_SIZE		32		/* longer keys are none of ours */
#define NAME_CACHE		64
#define POLL_ELEMENTS	4096	/* of all arrays and objects together: far less than a millisecond */
#define LIST_MAX		(2 * PM_MAX_SPATIAL)

/* State of one import. Functions return false once code is set. */
typedef struct reader
{
	const char *text;
	const char *p;				/* next byte */
	const char *end;
	pm_arena   *arena;
	pm_status  *st;
	pm_code		code;
	unsigned	asked;			/* elements since who waits was asked */
	int			node;			/* node being read, -1: the graph itself */
	int			n_nodes;
	int64_t		n_edges;		/* inputs read so far */
	const char *names[NAME_CACHE];	/* recent operator names, by hash */
} reader;

typedef struct number
{
	bool		exact;			/* i holds the value */
	int64_t		i;
	double		d;
} number;

/* ---------- errors ---------- */

static bool
syntax(reader *r, const char *what)
{
	r->code = pm_fail(r->st, PM_ERR_INPUT, "graph is not valid JSON at byte %zu: %s",
					  (size_t) (r->p - r->text), what);
	return false;
}

static bool
no_memory(reader *r)
{
	r->code = pm_no_memory(r->st, r->arena);
	return false;
}

/* An error that names the node (if any) and the key. */
static bool PM_PRINTF(4, 5)
bad(reader *r, pm_code code, const char *key, const char *fmt,...)
{
	char		what[200];
	va_list		ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (r->node >= 0)
		r->code = pm_fail(r->st, code, "node %d: \"%s\" %s", r->node, key, what);
	else
		r->code = pm_fail(r->st, code, "\"%s\" %s", key, what);
	return false;
}

/* ---------- JSON: tokens ---------- */

static void
skip_space(reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
		r->p++;
}

/* The next byte that is not white space, without taking it; 0 at the end. */
static char
peek(reader *r)
{
	skip_space(r);
	return r->p < r->end ? *r->p : '\0';
}

static bool
take(reader *r, char c)
{
	if (peek(r) != c || r->p >= r->end)
		return false;
	r->p++;
	return true;
}

static bool
is_digit(const reader *r)
{
	return r->p < r->end && *r->p >= '0' && *r->p <= '9';
}

/* Length of the valid UTF-8 sequence at p, 0 when there is none. */
static int
utf8_length(const unsigned char *p, const unsigned char *end)
{
	unsigned	least;
	unsigned	code;
	int			n;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (end - p < n)
		return 0;
	code = p[0] & (0x7fu >> n);
	for (int i = 1; i < n; i++)
	{
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	least = n == 2 ? 0x80 : n == 3 ? 0x800 : 0x10000;
	if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return n;
}

/* Four hex digits at p, or -1. */
static int
hex4(const char *p, const char *end)
{
	int			v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++)
	{
		char		c = p[i];

		if (c >= '0' && c <= '9')
			v = v * 16 + (c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = v * 16 + ((c | 32) - 'a' + 10);
		else
			return -1;
	}
	return v;
}

/*
 * The character of an escape; p is behind the backslash and moves past it.
 * Surrogates must come in pairs.  -1: not an escape.
 */
static int
escape(const char **p, const char *end)
{
	static const char from[] = "\"\\/bfnrt";
	static const char to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	int			high,
				low;

	if (*p >= end || **p == '\0')
		return -1;
	if (**p != 'u')
	{
		at = strchr(from, *(*p)++);
		return at == NULL ? -1 : to[at - from];
	}
	high = hex4(*p + 1, end);
	*p += high < 0 ? 0 : 5;
	if (high < 0xd800 || high > 0xdfff)
		return high;
	if (high > 0xdbff || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return -1;
	low = hex4(*p + 2, end);
	if (low < 0xdc00 || low > 0xdfff)
		return -1;
	*p += 6;
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* Take a string; its raw contents, quotes excluded, are [*from, *to). */
static bool
scan_string(reader *r, const char **from, const char **to)
{
	if (!take(r, '"'))
		return syntax(r, "expected a string");
	*from = r->p;
	while (r->p < r->end && *r->p != '"')
	{
		unsigned char c = (unsigned char) *r->p;
		int			n;

		if (c >= 0x20 && c < 0x80 && c != '\\')
		{
			r->p++;				/* nearly all of them */
			continue;
		}
		if (c < 0x20)
			return syntax(r, "control character in a string");
		if (c == '\\')
		{
			const char *p = r->p + 1;

			if (escape(&p, r->end) < 0)
				return syntax(r, "wrong escape in a string");
			r->p = p;
			continue;
		}
		n = utf8_length((const unsigned char *) r->p, (const unsigned char *) r->end);
		if (n == 0)
			return syntax(r, "string is not UTF-8");
		r->p += n;
	}
	if (r->p >= r->end)
		return syntax(r, "string does not end");
	*to = r->p++;
	return true;
}

/* Append a code point to buf at len as UTF-8; the new length. */
static size_t
put_utf8(char *buf, size_t len, int c)
{
	if (c < 0x80)
		buf[len++] = (char) c;
	else if (c < 0x800)
	{
		buf[len++] = (char) (0xc0 | c >> 6);
		buf[len++] = (char) (0x80 | (c & 0x3f));
	}
	else
	{
		if (c < 0x10000)
			buf[len++] = (char) (0xe0 | c >> 12);
		else
		{
			buf[len++] = (char) (0xf0 | c >> 18);
			buf[len++] = (char) (0x80 | (c >> 12 & 0x3f));
		}
		buf[len++] = (char) (0x80 | (c >> 6 & 0x3f));
		buf[len++] = (char) (0x80 | (c & 0x3f));
	}
	return len;
}

/*
 * Decode raw string contents into buf, NUL-terminated; the length, or -1 when
 * size is too small or the string holds a NUL.
 */
static int
decode(const char *from, const char *to, char *buf, size_t size)
{
	size_t		len = 0;

	if ((size_t) (to - from) < size && memchr(from, '\\', (size_t) (to - from)) == NULL)
	{
		memcpy(buf, from, (size_t) (to - from));
		buf[to - from] = '\0';
		return (int) (to - from);
	}
	while (from < to)
	{
		int			c = (unsigned char) *from++;

		if (len + 5 > size)		/* room for a character and the NUL */
			return -1;
		if (c != '\\')
		{
			buf[len++] = (char) c;
			continue;
		}
		c = escape(&from, to);
		if (c <= 0)
			return -1;
		len = put_utf8(buf, len, c);
	}
	buf[len] = '\0';
	return (int) len;
}

/* value * 10^e without the C library, whose results depend on the locale. */
static double
scale10(double value, int e)
{
	if (value == 0 || e < -400)
		return 0;
	if (e > 400)
		return INFINITY;
	for (; e >= 22; e -= 22)
		value *= 1e22;
	for (; e <= -22; e += 22)
		value /= 1e22;
	for (; e > 0; e--)
		value *= 10;
	for (; e < 0; e++)
		value /= 10;
	return value;
}

/* Digits of a number read so far: 19 of them exactly, the rest as a power of ten. */
typedef struct digits
{
	uint64_t	value;
	int			kept;			/* significant digits in value */
	int			shift;			/* power of ten to apply */
} digits;

static void
take_digits(reader *r, digits *d, bool fraction)
{
	for (; is_digit(r); r->p++)
	{
		bool		keep = d->kept < 19;

		if (keep)
			d->value = d->value * 10 + (uint64_t) (*r->p - '0');
		if (keep && d->value != 0)
			d->kept++;
		if (keep == fraction && d->shift > -100000 && d->shift < 100000)
			d->shift += fraction ? -1 : 1;
	}
}

/* The exponent part of a number, if there is one, clamped to +-100000. */
static bool
take_exponent(reader *r, int *e)
{
	bool		minus;

	*e = 0;
	if (r->p >= r->end || (*r->p | 32) != 'e')
		return true;
	r->p++;
	minus = r->p < r->end && *r->p == '-';
	if (r->p < r->end && (*r->p == '-' || *r->p == '+'))
		r->p++;
	if (!is_digit(r))
		return syntax(r, "expected a digit");
	for (; is_digit(r); r->p++)
		if (*e < 100000)
			*e = *e * 10 + (*r->p - '0');
	if (minus)
		*e = -*e;
	return true;
}

/*
 * Take a number.  Exact when it is whole and fits into int64; the double is
 * good to a few units in the last place, which is all that advisory counts need.
 */
static bool
read_number(reader *r, number *n)
{
	digits		d = {0, 0, 0};
	bool		minus;
	bool		whole = true;
	int			e;

	minus = take(r, '-');
	if (!is_digit(r))
		return syntax(r, "expected a value");
	if (*r->p == '0' && r->end - r->p > 1 && r->p[1] >= '0' && r->p[1] <= '9')
		return syntax(r, "number with a leading zero");
	take_digits(r, &d, false);
	if (r->p < r->end && *r->p == '.')
	{
		r->p++;
		whole = false;
		if (!is_digit(r))
			return syntax(r, "expected a digit");
		take_digits(r, &d, true);
	}
	if (r->p < r->end && (*r->p | 32) == 'e')
		whole = false;
	if (!take_exponent(r, &e))
		return false;
	n->d = scale10((double) d.value, d.shift + e);
	if (minus)
		n->d = -n->d;
	/* 64.0 and 1e3 are whole numbers too; beyond 2^53 a double cannot tell */
	n->exact = whole ? d.shift == 0 && d.value <= (uint64_t) INT64_MAX :
		fabs(n->d) <= 0x1p53 && floor(n->d) == n->d;
	n->i = !n->exact ? 0 : whole ? (minus ? -(int64_t) d.value : (int64_t) d.value) : (int64_t) n->d;
	return true;
}

static bool
read_literal(reader *r, const char *word)
{
	size_t		len = strlen(word);

	if ((size_t) (r->end - r->p) < len || memcmp(r->p, word, len) != 0)
		return syntax(r, "expected a value");
	r->p += len;
	return true;
}

/* ---------- JSON: structure ---------- */

/*
 * Step to the next element of an array or object whose opening bracket has
 * been taken: 1 there is one, 0 the closing bracket was taken, -1 error.
 * *n counts the elements.
 */
static int
next_element(reader *r, char close, int *n)
{
	if (r->asked++ % POLL_ELEMENTS == 0 && pm_stopped(r->arena, r->st))
	{
		r->code = PM_CANCELLED;
		return -1;
	}
	if (take(r, close))
		return 0;
	if (*n > 0)
	{
		if (!take(r, ','))
		{
			syntax(r, close == ']' ? "expected \",\" or \"]\"" : "expected \",\" or \"}\"");
			return -1;
		}
		if (peek(r) == close)
		{
			syntax(r, "expected a value behind the comma");
			return -1;
		}
	}
	if (*n < INT32_MAX)
		(*n)++;
	return 1;
}

/* Like next_element for an object; the key's raw contents are [*from, *to). */
static int
next_member(reader *r, int *n, const char **from, const char **to)
{
	int			more = next_element(r, '}', n);

	if (more <= 0)
		return more;
	if (!scan_string(r, from, to))
		return -1;
	if (!take(r, ':'))
	{
		syntax(r, "expected \":\"");
		return -1;
	}
	return 1;
}

/* Like next_member; the key is decoded, "" when it is too long to be one of ours. */
static int
next_key(reader *r, int *n, char key[KEY_SIZE])
{
	const char *from;
	const char *to;
	int			more = next_member(r, n, &from, &to);

	if (more > 0 && decode(from, to, key, KEY_SIZE) < 0)
		key[0] = '\0';
	return more;
}

static bool skip_value(reader *r, int depth);

/* Step over an array or object; n gets the number of its elements. */
static bool
skip_container(reader *r, int depth, int *n)
{
	bool		object = *r->p == '{';
	const char *from;
	const char *to;
	int			more;

	if (depth >= MAX_DEPTH)
	{
		r->code = pm_fail(r->st, PM_ERR_LIMIT, "graph is nested more than %d levels deep at byte %zu",
						  MAX_DEPTH, (size_t) (r->p - r->text));
		return false;
	}
	*n = 0;
	r->p++;
	while ((more = object ? next_member(r, n, &from, &to) : next_element(r, ']', n)) > 0)
		if (!skip_value(r, depth + 1))
			return false;
	return more == 0;
}

/* Step over a value of any kind, checking that it is JSON. */
static bool
skip_value(reader *r, int depth)
{
	const char *from;
	const char *to;
	number		num;
	int			n;

	switch (peek(r))
	{
		case '{':
		case '[':
			return skip_container(r, depth, &n);
		case '"':
			return scan_string(r, &from, &to);
		case 't':
			return read_literal(r, "true");
		case 'f':
			return read_literal(r, "false");
		case 'n':
			return read_literal(r, "null");
		default:
			return read_number(r, &num);
	}
}

/* Number of elements of the array or object ahead, without taking it. */
static bool
count_elements(reader *r, int *n)
{
	const char *at = r->p;
	bool		ok = skip_container(r, 0, n);

	r->p = at;
	return ok;
}

/* ---------- values of given types ---------- */

static bool
read_int(reader *r, const char *key, int64_t *value)
{
	number		n;
	char		c = peek(r);

	if (c != '-' && (c < '0' || c > '9'))
		return bad(r, PM_ERR_INPUT, key, "is not a number");
	if (!read_number(r, &n))
		return false;
	if (!n.exact)
		return bad(r, PM_ERR_INPUT, key, "is %.17g, which is not a whole number in range", n.d);
	*value = n.i;
	return true;
}

/* A finite number that is not negative. */
static bool
read_count(reader *r, const char *key, double *value)
{
	number		n;
	char		c = peek(r);

	if (c != '-' && (c < '0' || c > '9'))
		return bad(r, PM_ERR_INPUT, key, "is not a number");
	if (!read_number(r, &n))
		return false;
	if (!(n.d >= 0 && n.d <= 1e300))
		return bad(r, PM_ERR_INPUT, key, "is %g, but must be finite and not negative", n.d);
	*value = n.d;
	return true;
}

static bool
read_bool(reader *r, const char *key, bool *value)
{
	char		c = peek(r);

	if (c != 't' && c != 'f')
		return bad(r, PM_ERR_INPUT, key, "is not true or false");
	*value = c == 't';
	return read_literal(r, c == 't' ? "true" : "false");
}

/* A string of at most PM_MAX_NAME_LEN bytes into buf. */
static bool
read_string(reader *r, const char *key, char buf[PM_MAX_NAME_LEN + 8])
{
	const char *from;
	const char *to;
	int			len;

	if (peek(r) != '"')
		return bad(r, PM_ERR_INPUT, key, "is not a string");
	if (!scan_string(r, &from, &to))
		return false;
	len = decode(from, to, buf, PM_MAX_NAME_LEN + 8);
	if (len > PM_MAX_NAME_LEN || (len < 0 && to - from > PM_MAX_NAME_LEN))
		return bad(r, PM_ERR_LIMIT, key, "is longer than %d bytes", PM_MAX_NAME_LEN);
	if (len < 0)
		return bad(r, PM_ERR_INPUT, key, "has a NUL character in it");
	return true;
}

static bool
read_text(reader *r, const char *key, const char **value)
{
	char		buf[PM_MAX_NAME_LEN + 8];

	if (!read_string(r, key, buf))
		return false;
	*value = pm_strdup(r->arena, buf, strlen(buf));
	return *value != NULL || no_memory(r);
}

/* A shape: an array of at most PM_MAX_RANK whole numbers in [0, PM_MAX_DIM]. */
static bool
read_shape(reader *r, const char *key, pm_shape *s)
{
	int			n = 0;
	int			more;

	if (peek(r) != '[')
		return bad(r, PM_ERR_INPUT, key, peek(r) == 'n' ? "has no shape" : "is not an array of dimensions");
	r->p++;
	while ((more = next_element(r, ']', &n)) > 0)
	{
		int64_t		dim = 0;

		if (n > PM_MAX_RANK)
			return bad(r, PM_ERR_LIMIT, key, "has more than %d dimensions", PM_MAX_RANK);
		if (!read_int(r, key, &dim))
			return false;
		if (dim < 0 || dim > PM_MAX_DIM)
			return bad(r, PM_ERR_LIMIT, key, "has dimension %lld, but dimensions lie between 0 and 2^40",
					   (long long) dim);
		s->dim[n - 1] = dim;
	}
	s->rank = n;
	return more == 0;
}

/* An array of shapes; errors name the element. */
static bool
read_shapes(reader *r, const char *key, int *n_shapes, pm_shape **shapes)
{
	char		name[KEY_SIZE + 16];
	int			count;
	int			more;
	int			n = 0;

	if (peek(r) != '[')
		return bad(r, PM_ERR_INPUT, key, "is not an array of shapes");
	if (!count_elements(r, &count))
		return false;
	*n_shapes = count;
	*shapes = count == 0 ? NULL : PM_NEW_PACKED(r->arena, pm_shape, (size_t) count);
	if (count > 0 && *shapes == NULL)
		return no_memory(r);
	r->p++;
	while ((more = next_element(r, ']', &n)) > 0)
	{
		snprintf(name, sizeof(name), "%s[%d]", key, n - 1);
		if (!read_shape(r, name, &(*shapes)[n - 1]))
			return false;
	}
	return more == 0;
}

/* ---------- attributes ---------- */

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
				alpha;
} attr_lists;

/* A list, or a bare number for a list of one. Other contents only make it odd: they may be none of ours. */
static bool
read_list(reader *r, int_list *l)
{
	int			more;
	bool		bare = peek(r) != '[';

	l->n = 0;
	if (peek(r) == 'n')
		return read_literal(r, "null");
	if (!bare)
		r->p++;
	while ((more = bare ? l->n++ == 0 : next_element(r, ']', &l->n)) > 0)
	{
		char		c = peek(r);
		number		num = {.exact = false, .i = 0, .d = NAN};

		if (c == '-' || (c >= '0' && c <= '9') ? !read_number(r, &num) : !skip_value(r, 0))
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
read_attr_int(reader *r, const char *key, int64_t *value)
{
	if (peek(r) == 'n')
		return read_literal(r, "null");
	return read_int(r, key, value);
}

static bool
read_direction(reader *r, bool *bidirectional)
{
	char		buf[PM_MAX_NAME_LEN + 8];

	if (!read_string(r, "attrs.direction", buf))
		return false;
	*bidirectional = strcmp(buf, "bidirectional") == 0;
	return true;
}

/* One attribute. Those that the catalogue does not use are stepped over. */
static bool
read_attr(reader *r, const char *key, pm_attrs *a, attr_lists *l)
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
	if (strcmp(key, "alpha") == 0 || strcmp(key, "values") == 0)
		return read_list(r, &l->alpha);
	if (strcmp(key, "tied") == 0)
		return read_attr_int(r, "attrs.tied", &a->tied);
	if (strcmp(key, "direction") == 0)
		return read_direction(r, &a->bidirectional);
	if (strcmp(key, "bidirectional") == 0)
		return read_bool(r, "attrs.bidirectional", &a->bidirectional);
	if (strcmp(key, "requires_grad") == 0)
		return read_bool(r, "attrs.requires_grad", &a->requires_grad);
	return skip_value(r, 0);
}

/*
 * Spread a list over the kernel's dimensions: one value each, one for all, or
 * (pads) two each, begins first, of which the mean is kept.
 */
static bool
spread(reader *r, const char *key, const int_list *l, int spatial, int64_t *out)
{
	if (l->n == 0)
		return true;			/* the default stays */
	if (l->odd)
		return bad(r, PM_ERR_INPUT, key, "is not a list of whole numbers");
	if (l->n != 1 && l->n != spatial && !(l->n == 2 * spatial && strcmp(key, "attrs.pads") == 0))
		return bad(r, PM_ERR_INPUT, key, "has %d values for %d kernel dimensions", l->n, spatial);
	for (int i = 0; i < spatial; i++)
	{
		int64_t		v = l->v[l->n == 1 ? 0 : i];

		if (v < 0 || v > PM_MAX_DIM)
			return bad(r, PM_ERR_LIMIT, key, "has value %lld, but values lie between 0 and 2^40", (long long) v);
		if (l->n == 2 * spatial && l->n > 1 && strcmp(key, "attrs.pads") == 0)
		{
			int64_t		last = l->v[spatial + i];

			if (last < 0 || last > PM_MAX_DIM)
				return bad(r, PM_ERR_LIMIT, key, "has value %lld, but values lie between 0 and 2^40",
						   (long long) last);
			v = (v + last + 1) / 2;
		}
		out[i] = v;
	}
	return true;
}

/* Strides and the like mean something only next to a kernel; Pad's pads are another thing. */
static bool
apply_lists(reader *r, pm_attrs *a, const attr_lists *l)
{
	int			spatial = l->kernel.n;

	if (l->alpha.n > 0 && isfinite(l->alpha.first))
		a->alpha = l->alpha.first;
	if (spatial == 0)
		return true;
	if (spatial > PM_MAX_SPATIAL)
		return bad(r, PM_ERR_LIMIT, "attrs.kernel_shape", "has more than %d dimensions", PM_MAX_SPATIAL);
	a->spatial = spatial;
	return spread(r, "attrs.kernel_shape", &l->kernel, spatial, a->kernel) &&
		spread(r, "attrs.strides", &l->stride, spatial, a->stride) &&
		spread(r, "attrs.pads", &l->pad, spatial, a->pad) &&
		spread(r, "attrs.dilations", &l->dilation, spatial, a->dilation);
}

static bool
read_attrs(reader *r, pm_node *node)
{
	attr_lists	lists;
	char		key[KEY_SIZE];
	int			n = 0;
	int			more;

	if (peek(r) != '{')
		return bad(r, PM_ERR_INPUT, "attrs", "is not an object");
	memset(&lists, 0, sizeof(lists));
	node->attrs_at = (size_t) (r->p - r->text);
	r->p++;
	while ((more = next_key(r, &n, key)) > 0)
		if (!read_attr(r, key, &node->attrs, &lists))
			return false;
	node->attrs_len = (size_t) (r->p - r->text) - node->attrs_at;
	return more == 0 && apply_lists(r, &node->attrs, &lists);
}

/* ---------- nodes ---------- */

static bool
read_id(reader *r, pm_node *node)
{
	int64_t		id = 0;

	(void) node;
	if (!read_int(r, "id", &id))
		return false;
	if (id == r->node)
		return true;
	bad(r, PM_ERR_INPUT, "id", "is %lld, but ids must be dense from 0, in order", (long long) id);
	pm_detail(r->st, "The entry at position %d of \"nodes\" must have the id %d.", r->node, r->node);
	return false;
}

/* Operator names repeat; a small cache by hash keeps most copies out of the arena. */
static bool
read_op(reader *r, pm_node *node)
{
	char		buf[PM_MAX_NAME_LEN + 8];
	size_t		len;
	const char **slot;

	if (!read_string(r, "op", buf))
		return false;
	len = strlen(buf);
	slot = &r->names[pm_mix(pm_hash(PM_HASH_INIT, buf, len)) % NAME_CACHE];
	if (*slot == NULL || strcmp(*slot, buf) != 0)
		*slot = pm_strdup(r->arena, buf, len);
	node->op_name = *slot;
	return *slot != NULL || no_memory(r);
}

static bool
read_input(reader *r, int32_t *input)
{
	int64_t		id = 0;

	if (!read_int(r, "inputs", &id))
		return false;
	if (id >= 0 && id < r->node)
	{
		*input = (int32_t) id;
		return true;
	}
	if (id < 0 || id >= r->n_nodes)
		return bad(r, PM_ERR_INPUT, "inputs", "names node %lld, which does not exist", (long long) id);
	bad(r, PM_ERR_INPUT, "inputs", "names node %lld, which does not come before it", (long long) id);
	pm_hint(r->st, "Give the nodes in an order in which producers come before consumers; a graph with a cycle has none.");
	return false;
}

static bool
read_inputs(reader *r, pm_node *node)
{
	int			more;
	int			n = 0;

	if (peek(r) != '[')
		return bad(r, PM_ERR_INPUT, "inputs", "is not an array of node ids");
	if (!count_elements(r, &node->n_inputs))
		return false;
	r->n_edges += node->n_inputs;
	if (r->n_edges > PM_MAX_EDGES)
		return bad(r, PM_ERR_LIMIT, "inputs", "makes more than %d inputs in the whole graph", PM_MAX_EDGES);
	if (node->n_inputs > 0)
		node->inputs = PM_NEW_PACKED(r->arena, int32_t, (size_t) node->n_inputs);
	if (node->n_inputs > 0 && node->inputs == NULL)
		return no_memory(r);
	r->p++;
	while ((more = next_element(r, ']', &n)) > 0)
		if (!read_input(r, &node->inputs[n - 1]))
			return false;
	return more == 0;
}

static bool
read_batch_dim(reader *r, pm_node *node)
{
	int64_t		dim = 0;

	node->batch_dim = -1;
	if (peek(r) == 'n')
		return read_literal(r, "null");
	if (!read_int(r, "batch_dim", &dim))
		return false;
	if (dim < 0 || dim >= PM_MAX_RANK)
		return bad(r, PM_ERR_INPUT, "batch_dim", "is %lld, but must be null or an index in \"shape\"",
				   (long long) dim);
	node->batch_dim = (int) dim;
	return true;
}

static bool
read_node_shape(reader *r, pm_node *n)
{
	return read_shape(r, "shape", &n->shape);
}

static bool
read_node_shapes(reader *r, pm_node *n)
{
	return read_shapes(r, "shapes", &n->n_shapes, &n->shapes);
}

static bool
read_weights(reader *r, pm_node *n)
{
	return read_shapes(r, "weights", &n->n_weights, &n->weights);
}

static bool
read_consts(reader *r, pm_node *n)
{
	return read_shapes(r, "consts", &n->n_consts, &n->consts);
}

static bool
read_view(reader *r, pm_node *n)
{
	return read_bool(r, "view", &n->view);
}

static bool
read_flops(reader *r, pm_node *n)
{
	return read_count(r, "flops", &n->flops);
}

static bool
read_flops0(reader *r, pm_node *n)
{
	return read_count(r, "flops0", &n->flops0);
}

static const struct node_key
{
	const char *key;
	bool		required;
	bool		(*read) (reader *r, pm_node *n);
}			node_keys[] =
{
	{"id", true, read_id},
	{"op", true, read_op},
	{"inputs", true, read_inputs},
	{"shape", true, read_node_shape},
	{"batch_dim", true, read_batch_dim},
	{"attrs", false, read_attrs},
	{"weights", false, read_weights},
	{"consts", false, read_consts},
	{"view", false, read_view},
	{"flops", false, read_flops},
	{"flops0", false, read_flops0},
	{"shapes", false, read_node_shapes},
};

#define N_NODE_KEYS ((int) (sizeof(node_keys) / sizeof(node_keys[0])))

static bool
read_node(reader *r, pm_node *node)
{
	char		key[KEY_SIZE];
	unsigned	seen = 0;
	int			n = 0;
	int			k;
	int			more;

	if (peek(r) != '{')
	{
		r->code = pm_fail(r->st, PM_ERR_INPUT, "node %d is not an object", r->node);
		return false;
	}
	pm_node_init(node);
	r->p++;
	while ((more = next_key(r, &n, key)) > 0)
	{
		for (k = 0; k < N_NODE_KEYS && strcmp(node_keys[k].key, key) != 0; k++)
			;
		if (k < N_NODE_KEYS && (seen & 1u << k) != 0)
			return bad(r, PM_ERR_INPUT, key, "is given twice");
		if (k < N_NODE_KEYS ? !node_keys[k].read(r, node) : !skip_value(r, 0))
			return false;
		if (k < N_NODE_KEYS)
			seen |= 1u << k;
	}
	for (k = 0; more == 0 && k < N_NODE_KEYS; k++)
		if (node_keys[k].required && (seen & 1u << k) == 0)
			return bad(r, PM_ERR_INPUT, node_keys[k].key, "is missing");
	return more == 0;
}

static bool
read_nodes(reader *r, pm_graph *g)
{
	int			more;
	int			n = 0;

	if (peek(r) != '[')
		return bad(r, PM_ERR_INPUT, "nodes", "is not an array");
	if (!count_elements(r, &r->n_nodes))
		return false;
	if (r->n_nodes == 0)
		return bad(r, PM_ERR_INPUT, "nodes", "is empty");
	if (r->n_nodes > PM_MAX_NODES)
		return bad(r, PM_ERR_LIMIT, "nodes", "has %d nodes, but %d are the limit", r->n_nodes, PM_MAX_NODES);
	g->n_nodes = r->n_nodes;
	g->nodes = PM_NEW(r->arena, pm_node, (size_t) r->n_nodes);
	if (g->nodes == NULL)
		return no_memory(r);
	r->p++;
	while ((more = next_element(r, ']', &n)) > 0)
	{
		r->node = n - 1;
		if (!read_node(r, &g->nodes[n - 1]))
			return false;
	}
	r->node = -1;
	return more == 0;
}

/* ---------- the document ---------- */

/* The top-level keys, in the order in which they are read. */
enum
{
	KEY_FORMAT, KEY_NAME, KEY_MODEL, KEY_FAMILY, KEY_SOURCE, KEY_INPUT, KEY_PARAMS, KEY_NODES, KEY_OUTPUT, N_KEYS
};

static const char *const top_keys[N_KEYS] = {
	"format", "name", "model", "family", "source", "input", "params", "nodes", "output"
};

/* First pass: the whole text is JSON; at[k] is where the value of key k starts, or NULL. */
static bool
scan_document(reader *r, const char *at[N_KEYS])
{
	char		key[KEY_SIZE];
	int			n = 0;
	int			k;
	int			more;

	if (peek(r) != '{')
	{
		if (skip_value(r, 0))
			r->code = pm_fail(r->st, PM_ERR_INPUT, "graph is not a JSON object");
		return false;
	}
	r->p++;
	while ((more = next_key(r, &n, key)) > 0)
	{
		for (k = 0; k < N_KEYS && strcmp(top_keys[k], key) != 0; k++)
			;
		if (k < N_KEYS && at[k] != NULL)
			return bad(r, PM_ERR_INPUT, key, "is given twice");
		if (k < N_KEYS)
			at[k] = r->p;
		if (!skip_value(r, 1))
			return false;
	}
	if (more == 0 && peek(r) != '\0')
		return syntax(r, "something follows the graph");
	return more == 0 && (r->p == r->end || syntax(r, "something follows the graph"));
}

static bool
check_format(reader *r)
{
	const char *format;

	if (!read_text(r, "format", &format))
		return false;
	if (strcmp(format, FORMAT) == 0)
		return true;
	r->code = pm_fail(r->st, PM_ERR_INPUT, "graph has the unknown \"format\" \"%s\"", format);
	pm_hint(r->st, "This version reads \"" FORMAT "\".");
	return false;
}

static bool
check_output(reader *r)
{
	int64_t		id = 0;

	if (!read_int(r, "output", &id))
		return false;
	if (id < 0 || id >= r->n_nodes)
		return bad(r, PM_ERR_INPUT, "output", "names node %lld, which does not exist", (long long) id);
	return true;
}

static bool
read_top(reader *r, pm_graph *g, int k)
{
	switch (k)
	{
		case KEY_FORMAT:
			return check_format(r);
		case KEY_NAME:
			return read_text(r, "name", &g->name);
		case KEY_MODEL:
			return read_text(r, "model", &g->model);
		case KEY_FAMILY:
			return read_text(r, "family", &g->family);
		case KEY_SOURCE:
			return read_text(r, "source", &g->source);
		case KEY_INPUT:
			return read_shape(r, "input", &g->input);
		case KEY_PARAMS:
			return read_count(r, "params", &g->declared_params);
		case KEY_NODES:
			return read_nodes(r, g);
		default:
			return check_output(r);
	}
}

pm_code
pm_graph_from_json(const char *text, size_t len, pm_arena *a, pm_graph *g, pm_status *st)
{
	reader		r = {.text = text, .p = text, .end = text + len, .arena = a, .st = st, .node = -1};
	const char *at[N_KEYS] = {NULL};

	memset(g, 0, sizeof(*g));
	g->model = "";
	g->source = "";
	g->declared_params = NAN;
	if (!scan_document(&r, at))
		return r.code;
	for (int k = 0; k < N_KEYS; k++)
	{
		if (at[k] == NULL && (k == KEY_FORMAT || k == KEY_NODES))
		{
			bad(&r, PM_ERR_INPUT, top_keys[k], "is missing");
			return r.code;
		}
		r.p = at[k];
		if (at[k] != NULL && !read_top(&r, g, k))
			return r.code;
	}
	return pm_graph_finish(g, a, st);
}
