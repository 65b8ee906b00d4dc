/*
 * core.c - status, arena, clock, random numbers, hashes.
 *
 * Nothing here keeps state between calls but what the caller passes in.
 */
#define _POSIX_C_SOURCE 200809L

#include "base/core.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <time.h>

#define ALIGNMENT	((size_t) 64)
#define BLOCK_MIN	((size_t) 64 * 1024)
#define BLOCK_MAX	((size_t) 8 * 1024 * 1024)
#define PACKED		((size_t) 2 * 1024)
#define THRIFTY_MIN	((size_t) 4 * 1024)

/* Header of a block obtained from pm_arena.get; the data follow, aligned. */
struct pm_block
{
	pm_block   *older;
};

/* ---------- status ---------- */

/* Bytes of the UTF-8 character that s begins with; 0: none does.  Overlong forms and surrogates are none. */
static int
character_length(const unsigned char *s)
{
	int			n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	for (int i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
		(s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

/*
 * vsnprintf whose result is UTF-8, whatever the arguments hold and wherever it
 * is cut: the text goes to a server that rejects anything else.  A byte that
 * is of no character becomes '?'.
 */
static void PM_PRINTF(3, 0)
format_text(char *buf, size_t size, const char *fmt, va_list ap)
{
	bool		cut = vsnprintf(buf, size, fmt, ap) >= (int) size;

	for (size_t at = 0; buf[at] != '\0';)
	{
		int			n = character_length((unsigned char *) buf + at);

		if (n == 0 && cut && at + 4 >= size)
			buf[at] = '\0';		/* the first part of the last character */
		else if (n == 0)
			buf[at++] = '?';
		else
			at += (size_t) n;
	}
}

pm_code
pm_fail(pm_status *st, pm_code code, const char *fmt,...)
{
	va_list		ap;

	if (st == NULL)
		return code;
	st->code = code;
	st->detail[0] = '\0';
	st->hint[0] = '\0';
	va_start(ap, fmt);
	format_text(st->message, sizeof(st->message), fmt, ap);
	va_end(ap);
	return code;
}

void
pm_detail(pm_status *st, const char *fmt,...)
{
	va_list		ap;

	if (st == NULL)
		return;
	va_start(ap, fmt);
	format_text(st->detail, sizeof(st->detail), fmt, ap);
	va_end(ap);
}

void
pm_hint(pm_status *st, const char *fmt,...)
{
	va_list		ap;

	if (st == NULL)
		return;
	va_start(ap, fmt);
	format_text(st->hint, sizeof(st->hint), fmt, ap);
	va_end(ap);
}

/* ---------- arena ---------- */

static void *
get_malloc(void *ctx, size_t size)
{
	void	   *block;

	(void) ctx;
	/* not malloc, which may answer with the room for small products (nn/blas.c) */
	return posix_memalign(&block, 64, size) == 0 ? block : NULL;
}

static void
put_malloc(void *ctx, void *block)
{
	(void) ctx;
	free(block);
}

/*
 * Prepare an arena that takes blocks from `get`.  limit bounds the bytes
 * obtained, headers included; 0: no bound.  Nothing is obtained yet.
 */
void
pm_arena_init(pm_arena *a, pm_block_get get, pm_block_put put, void *ctx, size_t limit)
{
	memset(a, 0, sizeof(*a));
	a->get = get;
	a->put = put;
	a->ctx = ctx;
	a->limit = limit;
}

/* The message about a budget that is used up is to name the whole of it: so the limit stays, and what is taken counts. */
void
pm_arena_init_within(pm_arena *part, const pm_arena *a)
{
	pm_arena_init(part, a->get, a->put, a->ctx, a->limit);
	part->outside = a->used + a->outside;
	part->hooks = a->hooks;
}

bool
pm_stopped(const pm_arena *a, pm_status *st)
{
	const pm_hooks *h = a->hooks;

	if (h == NULL || h->stop == NULL || !h->stop(h->ctx))
		return false;
	pm_fail(st, PM_CANCELLED, "cancelled");
	return true;
}

void
pm_arena_init_malloc(pm_arena *a)
{
	pm_arena_init(a, get_malloc, put_malloc, NULL, 0);
}

/* What is behind the header of a block, aligned. */
static char *
first_space(pm_block *b)
{
	uintptr_t	start = ((uintptr_t) b + sizeof(pm_block) + ALIGNMENT - 1) & ~(uintptr_t) (ALIGNMENT - 1);

	return (char *) b + (start - (uintptr_t) b);
}

/*
 * Give all blocks back; the arena can be used again.  Without a `put` the
 * blocks belong to whoever made `get` (a memory context, say).
 */
void
pm_arena_release(pm_arena *a)
{
	pm_block   *b = a->blocks;

	while (b != NULL)
	{
		pm_block   *older = b->older;

		if (a->put != NULL)
			a->put(a->ctx, b);
		b = older;
	}
	a->blocks = NULL;
	a->next = NULL;
	a->left = 0;
	a->packed_left = 0;
	a->used = 0;
}

/* More than one block: the next use gets one of the size of all of them. */
void
pm_arena_reset(pm_arena *a, size_t keep)
{
	size_t		size = a->used;
	pm_block   *only = a->blocks;

	if (only == NULL)
		return;
	if (only->older != NULL || size > keep)
	{
		pm_arena_release(a);
		only = size <= keep ? a->get(a->ctx, size) : NULL;
		if (only == NULL)
			return;
		only->older = NULL;
		a->blocks = only;
		a->used = size;
	}
	a->packed_left = 0;
	a->next = first_space(only);
	a->left = size - (size_t) (a->next - (char *) only);
}

/*
 * Size of a block for a request of `need` bytes, headers included; 0 if too
 * large.  Blocks grow with the arena, within the limit; a large request gets a
 * block that it fills (*own), so that what is left of the newest stays in use.
 */
static size_t
block_size(const pm_arena *a, size_t need, bool *own)
{
	size_t		size = a->used;
	size_t		least;

	if (need > SIZE_MAX - sizeof(pm_block) - ALIGNMENT)
		return 0;
	least = need + sizeof(pm_block) + ALIGNMENT;
	if (a->thrifty)
		size = size / 8 < THRIFTY_MIN ? THRIFTY_MIN : size / 8;
	else if (size < BLOCK_MIN)
		size = BLOCK_MIN;
	if (size > BLOCK_MAX)
		size = BLOCK_MAX;
	*own = least > size / 4;
	if (*own)
		size = least;
	if (a->limit != 0)
	{
		size_t		taken = a->used + a->outside;
		size_t		room = a->limit > taken ? a->limit - taken : 0;

		if (least > room)
			return 0;
		if (size > room)
			size = room;
	}
	return size;
}

/* Get a block for `need` bytes; returns its aligned space. The rest of it serves the next requests, unless it has none. */
static char *
add_block(pm_arena *a, size_t need)
{
	bool		own;
	size_t		size = block_size(a, need, &own);
	pm_block   *b;
	char	   *space;

	if (size == 0)
		return NULL;
	b = a->get(a->ctx, size);
	if (b == NULL)
		return NULL;
	a->used += size;
	space = first_space(b);
	b->older = a->blocks;
	a->blocks = b;
	if (!own)
	{
		a->next = space + need;
		a->left = size - (size_t) (a->next - (char *) b);
	}
	return space;
}

/* Bytes that so many things of a size take, 0: too many. Whole lines, so that the next one is aligned too; never the same address twice. */
static size_t
bytes_of(size_t count, size_t size)
{
	if (size != 0 && count > (SIZE_MAX - ALIGNMENT) / size)
		return 0;
	return count * size == 0 ? ALIGNMENT : (count * size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

void *
pm_alloc_unset(pm_arena *a, size_t count, size_t size)
{
	size_t		bytes = bytes_of(count, size);
	char	   *p = a->next;

	if (bytes == 0)
		return NULL;
	if (bytes <= a->left)
	{
		a->next += bytes;
		a->left -= bytes;
	}
	else
		p = add_block(a, bytes);
	return p;
}

void *
pm_alloc(pm_arena *a, size_t count, size_t size)
{
	void	   *p = pm_alloc_unset(a, count, size);

	return p != NULL ? memset(p, 0, bytes_of(count, size)) : NULL;
}

void *
pm_alloc_packed(pm_arena *a, size_t count, size_t size)
{
	size_t		bytes;
	char	   *p;

	if (size != 0 && count > PACKED / 8 / size)
		return pm_alloc(a, count, size);
	bytes = count * size == 0 ? 8 : (count * size + 7) & ~(size_t) 7;
	if (bytes > a->packed_left)
	{
		if ((p = pm_alloc(a, PACKED, 1)) == NULL)
			return NULL;
		a->packed_next = p;
		a->packed_left = PACKED;
	}
	p = a->packed_next;
	a->packed_next += bytes;
	a->packed_left -= bytes;
	return p;					/* zeroed when the whole was taken */
}

/*
 * Less than a quarter of a block stays behind when the next one comes, and the
 * newest, as large as all before it up to BLOCK_MAX, may be empty.
 */
double
pm_arena_memory(double requested)
{
	double		filled = BLOCK_MIN + requested * 4 / 3;

	return filled + (filled < BLOCK_MAX ? filled : BLOCK_MAX);
}

char *
pm_strdup(pm_arena *a, const char *s, size_t len)
{
	char	   *copy;

	if (len == SIZE_MAX)
		return NULL;
	copy = pm_alloc(a, len + 1, 1);
	if (copy != NULL && len > 0)
		memcpy(copy, s, len);
	return copy;
}

int
pm_shown(const char *s)
{
	int			n = (int) strnlen(s, PM_SHOWN + 1);

	if (n <= PM_SHOWN)
		return n;
	n = PM_SHOWN;
	while (n > 0 && ((unsigned char) s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

pm_code
pm_no_memory(pm_status *st, const pm_arena *a)
{
	size_t		in_use = a->used + a->outside;

	if (a->limit == 0)
	{
		pm_fail(st, PM_ERR_MEMORY, "out of memory");
		pm_detail(st, "%zu kB are in use.", in_use / 1024);
		return PM_ERR_MEMORY;
	}
	pm_fail(st, PM_ERR_MEMORY, "out of memory within the budget of %zu kB", a->limit / 1024);
	pm_detail(st, "%zu kB are in use.", in_use / 1024);
	return PM_ERR_MEMORY;
}

/* ---------- clock ---------- */

double
pm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

double
pm_thread_cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* ---------- random numbers ---------- */

static uint64_t
rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* The final mix of splitmix64; a bijection with good avalanche. */
uint64_t
pm_mix(uint64_t h)
{
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	return h ^ (h >> 31);
}

void
pm_rng_seed(pm_rng *r, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
	{
		seed += UINT64_C(0x9e3779b97f4a7c15);
		r->s[i] = pm_mix(seed);
	}
}

uint64_t
pm_rng_next(pm_rng *r)
{
	uint64_t	result = rotl(r->s[1] * 5, 7) * 9;
	uint64_t	t = r->s[1] << 17;

	r->s[2] ^= r->s[0];
	r->s[3] ^= r->s[1];
	r->s[1] ^= r->s[2];
	r->s[0] ^= r->s[3];
	r->s[2] ^= t;
	r->s[3] = rotl(r->s[3], 45);
	return result;
}

void
pm_rng_fill(pm_rng *r, uint64_t *v, int n)
{
	pm_rng		here = *r;		/* so that the state stays in registers */

	for (int i = 0; i < n; i++)
		v[i] = pm_rng_next(&here);
	*r = here;
}

/* 53 random bits as a fraction: every value is exact, 1 never comes. */
double
pm_rng_uniform(pm_rng *r)
{
	return (double) (pm_rng_next(r) >> 11) * 0x1p-53;
}

/* Fisher-Yates; the bias of the modulo is below n / 2^64. */
void
pm_rng_shuffle(pm_rng *r, int32_t *v, int n)
{
	for (int i = n - 1; i > 0; i--)
	{
		int			j = (int) (pm_rng_next(r) % ((uint64_t) i + 1));
		int32_t		t = v[i];

		v[i] = v[j];
		v[j] = t;
	}
}

/* ---------- hashes ---------- */

uint64_t
pm_hash(uint64_t h, const void *p, size_t len)
{
	const unsigned char *s = p;

	for (size_t i = 0; i < len; i++)
		h = (h ^ s[i]) * UINT64_C(1099511628211);
	return h;
}

#include "base/crc32c_table.h"

/* CRC-32C (Castagnoli, reflected, as in iSCSI): "123456789" gives e3069283. */
uint32_t
pm_crc32c(const void *p, size_t len)
{
	const unsigned char *s = p;
	uint32_t	crc = UINT32_C(0xffffffff);

	for (; len >= 4; len -= 4, s += 4)
	{
		crc ^= (uint32_t) s[0] | (uint32_t) s[1] << 8 | (uint32_t) s[2] << 16 | (uint32_t) s[3] << 24;
		crc = crc_table[3][crc & 255] ^ crc_table[2][(crc >> 8) & 255] ^
			crc_table[1][(crc >> 16) & 255] ^ crc_table[0][crc >> 24];
	}
	for (; len > 0; len--, s++)
		crc = (crc >> 8) ^ crc_table[0][(crc ^ *s) & 255];
	return ~crc;
}

/* ---------- numbers that divide others ---------- */

#define MOST_LISTED		1024	/* nobody divides a layer further */

int64_t
pm_common_divisor(int64_t a, int64_t b)
{
	while (b != 0)
	{
		int64_t		rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

void
pm_list_divisors(int64_t n, char *to, size_t size)
{
	size_t		len = 0;

	to[0] = '\0';
	for (int64_t d = 1; d <= n && d <= MOST_LISTED && len + 16 < size; d++)
		if (n % d == 0)
			len += snprintf(to + len, size - len, "%s%lld", len > 0 ? ", " : "", (long long) d);
}
