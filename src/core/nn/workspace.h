/*
 * workspace.h - memory of one pass of a network, cut from one piece.
 *
 * The function that lays out a pass runs twice: without memory it measures how
 * much is needed, with memory it hands out the pieces.
 */
#ifndef PM_WORKSPACE_H
#define PM_WORKSPACE_H

#include "base/core.h"

typedef struct pm_cursor
{
	char	   *base;			/* NULL: only measure */
	size_t		at;				/* bytes taken so far */
} pm_cursor;

/* Take count * size bytes, aligned to 64 bytes like base, not zeroed; NULL if c only measures. */
void	   *pm_take(pm_cursor *c, size_t count, size_t size);
#define PM_REALS(c, count) ((pm_real *) pm_take((c), (count), sizeof(pm_real)))
#define PM_DOUBLES(c, count) ((double *) pm_take((c), (count), sizeof(double)))

/* Totals over the samples of a pass: what its workspace depends on. */
typedef struct pm_pass_size
{
	int			samples;
	int			tokens;			/* operators of all samples */
	int			longest;		/* operators of the largest sample */
	size_t		squares;		/* sum of (operators + 1)^2 */
	int			items;			/* other things that a kind counts: edges, windows */
} pm_pass_size;

/* Add a sample with so many operators and items to s. */
void		pm_pass_add(pm_pass_size *s, int tokens, int items);

#endif
