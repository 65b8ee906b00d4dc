/*
 * serial.c - stored bytes: writing and reading them.
 */
#include "base/serial.h"

#include <math.h>
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

uint32_t
pm_get_raw_u32(pm_reader *r)
{
	const uint8_t *p = get_bytes(r, 4);

	return p ? (uint32_t) p[0] | (uint32_t) p[1] << 8 | (uint32_t) p[2] << 16 | (uint32_t) p[3] << 24 : 0;
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

void
pm_get_reals(pm_reader *r, pm_real *v, size_t n)
{
	for (size_t i = 0; i < n && !r->failed; i++)
	{
		uint32_t	bits = pm_get_raw_u32(r);
		float		f;

		memcpy(&f, &bits, 4);
		if (!isfinite(f))
			r->failed = true;
		v[i] = f;
	}
}
