/*
 * allocator.c - the caching allocator, event by event.
 */
#include "memory/allocator.h"

#include <string.h>

/* Sizes are in units of 512 bytes, to which requests are rounded. */
#define UNIT		512.0
#define SMALL		2048		/* largest request of the small pool */
#define SMALL_SEGMENT	4096
#define MIDDLE		20480		/* requests below come from segments of 20 MiB */
#define MIDDLE_SEGMENT	40960
#define LARGE_ROUND	4096

/* A free block as one number that sorts by size, then by number of the block. */
#define NUMBER_BITS	24
#define MAX_NUMBER	((1 << NUMBER_BITS) - 1)
#define MAX_SIZE	(INT64_C(1) << 38)	/* 128 TiB, which nothing has */

typedef struct block
{
	int64_t		size;
	int32_t		prev,			/* neighbours in the segment, -1: none */
				next;
	bool		free;
} block;

/* Free blocks of one pool, ascending. */
typedef struct pool
{
	int			n;
	uint64_t   *keys;
} pool;

typedef struct allocator
{
	int			n_blocks;
	int			unused;			/* list of block numbers, by next; -1: none */
	block	   *blocks;
	pool		pools[2];		/* small, large */
	int64_t		reserved;
	int32_t    *held;			/* block of each tensor */
} allocator;

static uint64_t
key_of(int64_t size, int32_t number)
{
	return (uint64_t) size << NUMBER_BITS | (uint32_t) number;
}

/* Position of the first key that is not below: a search without jumps that a processor would have to guess. */
static int
find(const pool *p, uint64_t key)
{
	const uint64_t *at = p->keys;
	int			n = p->n;

	while (n > 1)
	{
		int			half = n / 2;

		at += (size_t) half & -(size_t) (at[half - 1] < key);
		n -= half;
	}
	return (int) (at - p->keys) + (n == 1 && *at < key);
}

static void
put_free(allocator *a, pool *p, int32_t x)
{
	uint64_t	key = key_of(a->blocks[x].size, x);
	int			at = find(p, key);

	memmove(p->keys + at + 1, p->keys + at, sizeof(uint64_t) * (size_t) (p->n - at));
	p->keys[at] = key;
	p->n++;
	a->blocks[x].free = true;
}

static int32_t
take_free(allocator *a, pool *p, int at)
{
	int32_t		x = (int32_t) (p->keys[at] & MAX_NUMBER);

	a->blocks[x].free = false;
	p->n--;
	memmove(p->keys + at, p->keys + at + 1, sizeof(uint64_t) * (size_t) (p->n - at));
	return x;
}

static int32_t
new_block(allocator *a, int64_t size)
{
	int32_t		x = a->unused;

	if (x >= 0)
		a->unused = a->blocks[x].next;
	else
		x = a->n_blocks++;
	a->blocks[x] = (block) {size, -1, -1, false};
	return x;
}

static int64_t
segment_size(int64_t size)
{
	if (size <= SMALL)
		return SMALL_SEGMENT;
	return size < MIDDLE ? MIDDLE_SEGMENT : (size + LARGE_ROUND - 1) / LARGE_ROUND * LARGE_ROUND;
}

static int32_t
allocate(allocator *a, int64_t size)
{
	bool		large = size > SMALL;
	pool	   *p = &a->pools[large ? 1 : 0];
	int			at = find(p, key_of(size, 0));
	int32_t		x;
	int64_t		left;

	if (at < p->n)
		x = take_free(a, p, at);
	else
	{
		x = new_block(a, segment_size(size));
		a->reserved += a->blocks[x].size;
	}
	left = a->blocks[x].size - size;
	if (large ? left > SMALL : left >= 1)
	{
		int32_t		rest = new_block(a, left);
		block	   *b = &a->blocks[x];

		a->blocks[rest].prev = x;
		a->blocks[rest].next = b->next;
		if (b->next >= 0)
			a->blocks[b->next].prev = rest;
		b->next = rest;
		b->size = size;
		put_free(a, p, rest);
	}
	return x;
}

/* Make y part of its left neighbour x. */
static void
merge(allocator *a, int32_t x, int32_t y)
{
	block	   *b = &a->blocks[x];

	b->size += a->blocks[y].size;
	b->next = a->blocks[y].next;
	if (b->next >= 0)
		a->blocks[b->next].prev = x;
	a->blocks[y].next = a->unused;
	a->unused = y;
}

static void
take_out(allocator *a, pool *p, int32_t x)
{
	(void) take_free(a, p, find(p, key_of(a->blocks[x].size, x)));
}

static void
give_back(allocator *a, int32_t x, bool large)
{
	pool	   *p = &a->pools[large ? 1 : 0];
	int32_t		prev = a->blocks[x].prev;
	int32_t		next = a->blocks[x].next;

	if (next >= 0 && a->blocks[next].free)
	{
		take_out(a, p, next);
		merge(a, x, next);
	}
	if (prev >= 0 && a->blocks[prev].free)
	{
		take_out(a, p, prev);
		merge(a, prev, x);
		x = prev;
	}
	put_free(a, p, x);
}

static int64_t
units_of(const pm_memory_tensor *t, double batch)
{
	double		units = (t->fixed + t->per * batch) / UNIT;
	int64_t		n = units < (double) MAX_SIZE ? (int64_t) units : MAX_SIZE;

	return n + ((double) n < units);
}

static bool
make_room(allocator *a, int n_tensors, pm_arena *arena)
{
	size_t		room = 2 * (size_t) n_tensors + 2;

	a->held = PM_NEW(arena, int32_t, n_tensors + 1);
	a->blocks = PM_NEW(arena, block, room);
	a->pools[0].keys = PM_NEW(arena, uint64_t, room);
	a->pools[1].keys = PM_NEW(arena, uint64_t, room);
	return a->held != NULL && a->blocks != NULL && a->pools[0].keys != NULL && a->pools[1].keys != NULL;
}

/* a: empty, with room for the step. */
static pm_code
replay(allocator *a, const pm_step *s, double batch, pm_arena *arena, pm_status *st)
{
	for (int e = 0; e < s->phase_at[PM_PHASE_UPDATE]; e++)
	{
		int32_t		t = s->events[e] >= 0 ? s->events[e] : ~s->events[e];
		int64_t		size = units_of(&s->tensors[t], batch);

		if (e % (16 * PM_POLL_EVERY) == 0 && pm_stopped(arena, st))
			return PM_CANCELLED;
		if (size == 0 || s->tensors[t].role == PM_MEMORY_OPTIMIZER)
			continue;
		if (s->events[e] >= 0)
			a->held[t] = allocate(a, size);
		else
			give_back(a, a->held[t], size > SMALL);
	}
	return PM_OK;
}

pm_code
pm_allocator_replay(const pm_step *s, const double *batches, int n, pm_arena *arena, double *reserved, pm_status *st)
{
	pm_arena	part;
	allocator	a;
	pm_code		code = PM_OK;

	memset(&a, 0, sizeof(a));
	pm_arena_init_within(&part, arena);
	if (s->n_tensors > MAX_NUMBER / 2 - 1 || !make_room(&a, s->n_tensors, &part))
		code = pm_no_memory(st, arena);
	for (int i = 0; i < n && code == PM_OK; i++)
	{
		a.n_blocks = a.pools[0].n = a.pools[1].n = 0;
		a.reserved = 0;
		a.unused = -1;
		code = replay(&a, s, batches[i], arena, st);
		reserved[i] = (double) a.reserved * UNIT;
	}
	pm_arena_release(&part);
	return code;
}
