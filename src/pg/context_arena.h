/*
 * context_arena.h - memory for the core from a memory context of the server.
 */
#ifndef PM_PG_CONTEXT_ARENA_H
#define PM_PG_CONTEXT_ARENA_H

#include "utils/palloc.h"

#include "base/core.h"

/* An arena that takes its blocks from cxt; limit 0: none. What is computed with it ends when the statement is cancelled. */
extern void pm_context_arena(pm_arena *a, MemoryContext cxt, size_t limit);

#endif
