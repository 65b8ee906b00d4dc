/*
 * allocator.c - the caching allocator, event by event.
 */
#include "memory/allocator.h"

#include <math.h>
#include <string.h>

#define ROUND		512.0
#define SMALL		1048576.0	/* largest request of the small pool */
#define SMALL_SEGMENT	2097152.0
#define MIDDLE		10485760.0	/* requests below come from segments of 20 MiB */
#define MIDDLE_SEGMENT	20971520.0
#define LARGE_ROUND	2097152.0

typedef struct block
{
	double		size;
	int32_t		prev,			/* neighbours in the segment, -1: none */
				next;
	bool		free;
} block;

/* Free blocks of one pool, by size, then by number. */
typedef struct pool
{
	int			n;
	int32_t    *blocks;
} pool;

typedef struct allocator
{
	int			n_blocks;
	int			unused;			/* list of block numbers, by next; -1: none */
	block	   *blocks;
	pool		pools[2];		/* small, large */
	double		reserved;
} allocator;

static bool
before(const allocator *a, int32_t x, double size, int32_t number)
{
	return a->blocks[x].size < size || (a->blocks[x].size == size && x < number);
}

/* Position of the first free block that is not before (size, number). */
static int
find(const allocator *a, const pool *p, double size, int32_t number)
{
	int			low = 0;
	int			high = p->n;

	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (before(a, p->blocks[mid], size, number))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void
put_free(allocator *a, pool *p, int32_t x)
{
	int			at = find(a, p, a->blocks[x].size, x);

	memmove(p->blocks + at + 1, p->blocks + at, sizeof(int32_t) * (size_t) (p->n - at));
	p->blocks[at] = x;
	p->n++;
	a->blocks[x].free = true;
}

static void
take_free(allocator *a, pool *p, int at)
{
	a->blocks[p->blocks[at]].free = false;
	p->n--;
	memmove(p->blocks + at, p->blocks + at + 1, sizeof(int32_t) * (size_t) (p->n - at));
}

static int32_t
new_block(allocator *a, double size)
{
	int32_t		x = a->unused;

	if (x >= 0)
		a->unused = a->blocks[x].next;
	else
		x = a->n_blocks++;
	a->blocks[x] = (block) {size, -1, -1, false};
	return x;
}

static double
round_up(double x, double to)
{
	return ceil(x / to) * to;
}

static double
segment_size(double size)
{
	if (size <= SMALL)
		return SMALL_SEGMENT;
	return size < MIDDLE ? MIDDLE_SEGMENT : round_up(size, LARGE_ROUND);
}

static int32_t
allocate(allocator *a, double size)
{
	bool		large = size > SMALL;
	pool	   *p = &a->pools[large ? 1 : 0];
	int			at = find(a, p, size, -1);
	int32_t		x;
	double		left;

	if (at < p->n)
	{
		x = p->blocks[at];
		take_free(a, p, at);
	}
	else
	{
		x = new_block(a, segment_size(size));
		a->reserved += a->blocks[x].size;
	}
	left = a->blocks[x].size - size;
	if (large ? left > SMALL : left >= ROUND)
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
give_back(allocator *a, int32_t x, bool large)
{
	pool	   *p = &a->pools[large ? 1 : 0];
	int32_t		prev = a->blocks[x].prev;
	int32_t		next = a->blocks[x].next;

	if (next >= 0 && a->blocks[next].free)
	{
		take_free(a, p, find(a, p, a->blocks[next].size, next));
		merge(a, x, next);
	}
	if (prev >= 0 && a->blocks[prev].free)
	{
		take_free(a, p, find(a, p, a->blocks[prev].size, prev));
		merge(a, prev, x);
		x = prev;
	}
	put_free(a, p, x);
}

pm_code
pm_allocator_replay(const pm_step *s, int64_t batch, pm_arena *arena, double *reserved, double *allocated, pm_status *st)
{
	allocator	a;
	int32_t    *held = PM_NEW(arena, int32_t, s->n_tensors + 1);
	double		live = 0;

	memset(&a, 0, sizeof(a));
	a.unused = -1;
	a.blocks = PM_NEW(arena, block, 2 * s->n_tensors + 2);
	a.pools[0].blocks = PM_NEW(arena, int32_t, 2 * s->n_tensors + 2);
	a.pools[1].blocks = PM_NEW(arena, int32_t, 2 * s->n_tensors + 2);
	if (held == NULL || a.blocks == NULL || a.pools[0].blocks == NULL || a.pools[1].blocks == NULL)
		return pm_no_memory(st, arena);
	*allocated = 0;
	for (int e = 0; e < s->n_events; e++)
	{
		int32_t		t = s->events[e] >= 0 ? s->events[e] : ~s->events[e];
		double		size = round_up(s->tensors[t].fixed + s->tensors[t].per * (double) batch, ROUND);

		if (e % (16 * PM_POLL_EVERY) == 0 && pm_stopped(arena, st))
			return PM_CANCELLED;
		if (size == 0)
			continue;
		if (s->events[e] >= 0)
		{
			held[t] = allocate(&a, size);
			live += size;
			*allocated = live > *allocated ? live : *allocated;
		}
		else
		{
			give_back(&a, held[t], size > SMALL);
			live -= size;
		}
	}
	*reserved = a.reserved;
	return PM_OK;
}
