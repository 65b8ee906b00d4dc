/*
 * json_reader.c - the reader of JSON text.
 *
 * Why not a library: docs/graph_format.md.
 */
#include "graph/json_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define POLL_ELEMENTS	4096	/* of all arrays and objects together: far less than a millisecond */

bool
pm_json_syntax(pm_json *r, const char *what)
{
	r->code = pm_fail(r->st, PM_ERR_INPUT, "graph is not valid JSON at byte %zu: %s",
					  (size_t) (r->p - r->text), what);
	return false;
}

bool
pm_json_no_memory(pm_json *r)
{
	r->code = pm_no_memory(r->st, r->arena);
	return false;
}

/* An error that names the node (if any) and the key. */
bool
pm_json_bad(pm_json *r, pm_code code, const char *key, const char *fmt,...)
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
skip_space(pm_json *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t'))
		r->p++;
}

/* The next byte that is not white space, without taking it; 0 at the end. */
char
pm_json_peek(pm_json *r)
{
	skip_space(r);
	return r->p < r->end ? *r->p : '\0';
}

static bool
pm_json_take(pm_json *r, char c)
{
	if (pm_json_peek(r) != c || r->p >= r->end)
		return false;
	r->p++;
	return true;
}

static bool
is_digit(const pm_json *r)
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
scan_string(pm_json *r, const char **from, const char **to)
{
	if (!pm_json_take(r, '"'))
		return pm_json_syntax(r, "expected a string");
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
			return pm_json_syntax(r, "control character in a string");
		if (c == '\\')
		{
			const char *p = r->p + 1;

			if (escape(&p, r->end) < 0)
				return pm_json_syntax(r, "wrong escape in a string");
			r->p = p;
			continue;
		}
		n = utf8_length((const unsigned char *) r->p, (const unsigned char *) r->end);
		if (n == 0)
			return pm_json_syntax(r, "string is not UTF-8");
		r->p += n;
	}
	if (r->p >= r->end)
		return pm_json_syntax(r, "string does not end");
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
take_digits(pm_json *r, digits *d, bool fraction)
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
take_exponent(pm_json *r, int *e)
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
		return pm_json_syntax(r, "expected a digit");
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
bool
pm_json_number_at(pm_json *r, pm_json_number *n)
{
	digits		d = {0, 0, 0};
	bool		minus;
	bool		whole = true;
	int			e;

	minus = pm_json_take(r, '-');
	if (!is_digit(r))
		return pm_json_syntax(r, "expected a value");
	if (*r->p == '0' && r->end - r->p > 1 && r->p[1] >= '0' && r->p[1] <= '9')
		return pm_json_syntax(r, "number with a leading zero");
	take_digits(r, &d, false);
	if (r->p < r->end && *r->p == '.')
	{
		r->p++;
		whole = false;
		if (!is_digit(r))
			return pm_json_syntax(r, "expected a digit");
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

bool
pm_json_literal(pm_json *r, const char *word)
{
	size_t		len = strlen(word);

	if ((size_t) (r->end - r->p) < len || memcmp(r->p, word, len) != 0)
		return pm_json_syntax(r, "expected a value");
	r->p += len;
	return true;
}

/* ---------- JSON: structure ---------- */

/*
 * Step to the next element of an array or object whose opening bracket has
 * been taken: 1 there is one, 0 the closing bracket was taken, -1 error.
 * *n counts the elements.
 */
int
pm_json_next_element(pm_json *r, char close, int *n)
{
	if (r->asked++ % POLL_ELEMENTS == 0 && pm_stopped(r->arena, r->st))
	{
		r->code = PM_CANCELLED;
		return -1;
	}
	if (pm_json_take(r, close))
		return 0;
	if (*n > 0)
	{
		if (!pm_json_take(r, ','))
		{
			pm_json_syntax(r, close == ']' ? "expected \",\" or \"]\"" : "expected \",\" or \"}\"");
			return -1;
		}
		if (pm_json_peek(r) == close)
		{
			pm_json_syntax(r, "expected a value behind the comma");
			return -1;
		}
	}
	if (*n < INT32_MAX)
		(*n)++;
	return 1;
}

/* Like pm_json_next_element for an object; the key's raw contents are [*from, *to). */
static int
next_member(pm_json *r, int *n, const char **from, const char **to)
{
	int			more = pm_json_next_element(r, '}', n);

	if (more <= 0)
		return more;
	if (!scan_string(r, from, to))
		return -1;
	if (!pm_json_take(r, ':'))
	{
		pm_json_syntax(r, "expected \":\"");
		return -1;
	}
	return 1;
}

/* Like next_member; the key is decoded, "" when it is too long to be one of ours. */
int
pm_json_next_key(pm_json *r, int *n, char key[PM_JSON_KEY_SIZE])
{
	const char *from = NULL;
	const char *to = NULL;
	int			more = next_member(r, n, &from, &to);

	if (more > 0 && decode(from, to, key, PM_JSON_KEY_SIZE) < 0)
		key[0] = '\0';
	return more;
}

/* Step over an array or object; n gets the number of its elements. */
static bool
skip_container(pm_json *r, int depth, int *n)
{
	bool		object = *r->p == '{';
	const char *from = NULL;
	const char *to = NULL;
	int			more;

	if (depth >= PM_JSON_MAX_DEPTH)
	{
		r->code = pm_fail(r->st, PM_ERR_LIMIT, "graph is nested more than %d levels deep at byte %zu",
						  PM_JSON_MAX_DEPTH, (size_t) (r->p - r->text));
		return false;
	}
	*n = 0;
	r->p++;
	while ((more = object ? next_member(r, n, &from, &to) : pm_json_next_element(r, ']', n)) > 0)
		if (!pm_json_skip(r, depth + 1))
			return false;
	return more == 0;
}

/* Step over a value of any kind, checking that it is JSON. */
bool
pm_json_skip(pm_json *r, int depth)
{
	const char *from = NULL;
	const char *to = NULL;
	pm_json_number		num;
	int			n;

	switch (pm_json_peek(r))
	{
		case '{':
		case '[':
			return skip_container(r, depth, &n);
		case '"':
			return scan_string(r, &from, &to);
		case 't':
			return pm_json_literal(r, "true");
		case 'f':
			return pm_json_literal(r, "false");
		case 'n':
			return pm_json_literal(r, "null");
		default:
			return pm_json_number_at(r, &num);
	}
}

/* Number of elements of the array or object ahead, without taking it. */
bool
pm_json_count(pm_json *r, int *n)
{
	const char *at = r->p;
	bool		ok = skip_container(r, 0, n);

	r->p = at;
	return ok;
}

/* ---------- values of given types ---------- */

bool
pm_json_int(pm_json *r, const char *key, int64_t *value)
{
	pm_json_number		n;
	char		c = pm_json_peek(r);

	if (c != '-' && (c < '0' || c > '9'))
		return pm_json_bad(r, PM_ERR_INPUT, key, "is not a number");
	if (!pm_json_number_at(r, &n))
		return false;
	if (!n.exact)
		return pm_json_bad(r, PM_ERR_INPUT, key, "is %.17g, which is not a whole number in range", n.d);
	*value = n.i;
	return true;
}

/* A finite number that is not negative. */
bool
pm_json_not_negative(pm_json *r, const char *key, double *value)
{
	pm_json_number		n;
	char		c = pm_json_peek(r);

	if (c != '-' && (c < '0' || c > '9'))
		return pm_json_bad(r, PM_ERR_INPUT, key, "is not a number");
	if (!pm_json_number_at(r, &n))
		return false;
	if (!(n.d >= 0 && n.d <= 1e300))
		return pm_json_bad(r, PM_ERR_INPUT, key, "is %g, but must be finite and not negative", n.d);
	*value = n.d;
	return true;
}

bool
pm_json_bool(pm_json *r, const char *key, bool *value)
{
	char		c = pm_json_peek(r);

	if (c != 't' && c != 'f')
		return pm_json_bad(r, PM_ERR_INPUT, key, "is not true or false");
	*value = c == 't';
	return pm_json_literal(r, c == 't' ? "true" : "false");
}

/* A string of at most PM_JSON_MAX_STRING bytes into buf. */
bool
pm_json_string(pm_json *r, const char *key, char buf[PM_JSON_MAX_STRING + 8])
{
	const char *from = NULL;
	const char *to = NULL;
	int			len;

	if (pm_json_peek(r) != '"')
		return pm_json_bad(r, PM_ERR_INPUT, key, "is not a string");
	if (!scan_string(r, &from, &to))
		return false;
	len = decode(from, to, buf, PM_JSON_MAX_STRING + 8);
	if (len > PM_JSON_MAX_STRING || (len < 0 && to - from > PM_JSON_MAX_STRING))
		return pm_json_bad(r, PM_ERR_LIMIT, key, "is longer than %d bytes", PM_JSON_MAX_STRING);
	if (len < 0)
		return pm_json_bad(r, PM_ERR_INPUT, key, "has a NUL character in it");
	return true;
}

bool
pm_json_text(pm_json *r, const char *key, const char **value)
{
	char		buf[PM_JSON_MAX_STRING + 8];

	if (!pm_json_string(r, key, buf))
		return false;
	*value = pm_strdup(r->arena, buf, strlen(buf));
	return *value != NULL || pm_json_no_memory(r);
}
