/*
 * serial.c - stored bytes: writing and reading them.
 */
#include "base/serial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void
put_bytes(pm_buffer *b, const void *p, size_t n)
{
	if (b->failed)
		return;
	if (b->len + n > b->cap)
	{
		size_t		cap = b->cap * 2 > b->len + n ? b->cap * 2 : b->len + n + 4096;
		uint8_t    *bigger = pm_alloc(b->arena, cap, 1);

		if (!bigger)
		{
			b->failed = true;
			return;
		}
		if (b->len > 0)
			memcpy(bigger, b->data, b->len);
		b->data = bigger;
		b->cap = cap;
	}
	memcpy(b->data + b->len, p, n);
	b->len += n;
}

void
pm_put_u32(pm_buffer *b, uint32_t v)
{
	uint8_t		bytes[4] = {(uint8_t) v, (uint8_t) (v >> 8), (uint8_t) (v >> 16), (uint8_t) (v >> 24)};

	put_bytes(b, bytes, 4);
}

void
pm_put_f32(pm_buffer *b, double v)
{
	float		f = (float) v;
	uint32_t	bits;

	memcpy(&bits, &f, 4);
	pm_put_u32(b, bits);
}

void
pm_put_f64(pm_buffer *b, double v)
{
	uint64_t	bits;

	memcpy(&bits, &v, 8);
	pm_put_u32(b, (uint32_t) bits);
	pm_put_u32(b, (uint32_t) (bits >> 32));
}

void
pm_put_text(pm_buffer *b, const char *s)
{
	pm_put_u32(b, (uint32_t) strlen(s));
	put_bytes(b, s, strlen(s));
}

void
pm_put_reals(pm_buffer *b, const pm_real *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		float		f = (float) v[i];
		uint32_t	bits;

		memcpy(&bits, &f, 4);
		pm_put_u32(b, bits);
	}
}

/* Bytes that tell so many values apart. */
static int
index_bytes(size_t values)
{
	return values <= 0x100 ? 1 : values <= 0x10000 ? 2 : 4;
}

static int
by_value(const void *a, const void *b)
{
	pm_real		x = *(const pm_real *) a;
	pm_real		y = *(const pm_real *) b;

	return (x > y) - (x < y);
}

/* v[n] sorted, each value once; their number. */
static size_t
distinct(pm_real *v, size_t n)
{
	size_t		kept = 0;

	qsort(v, n, sizeof(pm_real), by_value);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || v[i] != v[kept - 1])
			v[kept++] = v[i];
	return kept;
}

void
pm_put_repeated(pm_buffer *b, const pm_real *v, size_t n)
{
	pm_real    *value = PM_NEW(b->arena, pm_real, n + 1);
	size_t		values;

	if (!value)
	{
		b->failed = true;
		return;
	}
	memcpy(value, v, n * sizeof(pm_real));
	values = distinct(value, n);
	pm_put_u32(b, (uint32_t) values);
	pm_put_reals(b, value, values);
	for (size_t i = 0; i < n; i++)
	{
		const pm_real *at = bsearch(&v[i], value, values, sizeof(pm_real), by_value);
		uint32_t	which = (uint32_t) (at - value);
		uint8_t		bytes[4] = {(uint8_t) which, (uint8_t) (which >> 8), (uint8_t) (which >> 16), (uint8_t) (which >> 24)};

		put_bytes(b, bytes, index_bytes(values));
	}
}

static const uint8_t *
get_bytes(pm_reader *r, size_t n)
{
	const uint8_t *p = r->data + r->at;

	if (r->failed || n > r->len - r->at)
	{
		r->failed = true;
		return NULL;
	}
	r->at += n;
	return p;
}

/* Of n bytes, at most 4. */
static uint32_t
number(const uint8_t *p, int n)
{
	uint32_t	v = 0;

	for (int i = 0; i < n; i++)
		v |= (uint32_t) p[i] << (8 * i);
	return v;
}

uint32_t
pm_get_raw_u32(pm_reader *r)
{
	const uint8_t *p = get_bytes(r, 4);

	return p ? number(p, 4) : 0;
}

uint32_t
pm_get_u32(pm_reader *r, uint32_t max)
{
	uint32_t	v = pm_get_raw_u32(r);

	if (v > max)
		r->failed = true;
	return r->failed ? 0 : v;
}

double
pm_get_f64(pm_reader *r)
{
	uint64_t	low = pm_get_raw_u32(r);
	uint64_t	bits = low | (uint64_t) pm_get_raw_u32(r) << 32;
	double		v;

	memcpy(&v, &bits, 8);
	if (!isfinite(v))
		r->failed = true;
	return r->failed ? 0 : v;
}

double
pm_get_f32(pm_reader *r)
{
	uint32_t	bits = pm_get_raw_u32(r);
	float		v;

	memcpy(&v, &bits, 4);
	if (!isfinite(v))
		r->failed = true;
	return r->failed ? 0 : v;
}

double
pm_get_above(pm_reader *r, double least)
{
	double		v = pm_get_f64(r);

	if (!(v >= least))
		r->failed = true;
	return r->failed ? least : v;
}

const char *
pm_get_text(pm_reader *r, pm_arena *a)
{
	uint32_t	n = pm_get_u32(r, 4096);
	const uint8_t *p = get_bytes(r, n);

	return p ? pm_strdup(a, (const char *) p, n) : NULL;
}

/* A float32; 0 and failed where it is none. */
static pm_real
get_real(pm_reader *r, const uint8_t *p)
{
	uint32_t	bits = p ? number(p, 4) : 0;
	float		f;

	memcpy(&f, &bits, 4);
	if (!isfinite(f))
		r->failed = true;
	return r->failed ? 0 : f;
}

void
pm_get_reals(pm_reader *r, pm_real *v, size_t n)
{
	for (size_t i = 0; i < n && !r->failed; i++)
		v[i] = get_real(r, get_bytes(r, 4));
}

void
pm_get_repeated(pm_reader *r, pm_real *v, size_t n)
{
	uint32_t	values = pm_get_raw_u32(r);
	const uint8_t *value = get_bytes(r, 4 * (size_t) values);
	int			width = index_bytes(values);

	for (size_t i = 0; i < n && !r->failed; i++)
	{
		const uint8_t *p = get_bytes(r, width);
		uint32_t	which = p ? number(p, width) : 0;

		if (p == NULL || which >= values)
			r->failed = true;
		else
			v[i] = get_real(r, value + 4 * (size_t) which);
	}
}
