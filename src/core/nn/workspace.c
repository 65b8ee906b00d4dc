/*
 * workspace.c - memory of one pass of a network, cut from one piece.
 */
#include "nn/workspace.h"

void *
pm_take(pm_cursor *c, size_t count, size_t size)
{
	void	   *p = c->base ? c->base + c->at : NULL;

	c->at += (count * size + 63) & ~(size_t) 63;
	return p;
}

void
pm_pass_add(pm_pass_size *s, int tokens, int items)
{
	s->samples++;
	s->tokens += tokens;
	s->longest = tokens > s->longest ? tokens : s->longest;
	s->squares += (size_t) (tokens + 1) * (tokens + 1);
	s->items += items;
}
