/*
 * context_arena.c - memory for the core from a memory context of the server.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "context_arena.h"

static void *
block_get(void *ctx, size_t size)
{
	if (!AllocHugeSizeIsValid(size))
		return NULL;
	return MemoryContextAllocExtended((MemoryContext) ctx, size, MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void
block_put(void *ctx, void *block)
{
	(void) ctx;
	pfree(block);
}

/* Cancel and termination end what the core computes; the error is raised when it has returned. */
static bool
cancelled(void *ctx)
{
	(void) ctx;
	return InterruptPending && (QueryCancelPending || ProcDiePending);
}

static const pm_hooks wait_hooks = {.stop = cancelled};

void
pm_context_arena(pm_arena *a, MemoryContext cxt, size_t limit)
{
	pm_arena_init(a, block_get, block_put, cxt, limit);
	a->hooks = &wait_hooks;
}
