/*
 * core.h - what every file of src/core shares: status, arena, hooks.
 *
 * The core knows no server.  It reports errors through pm_status, takes memory
 * from a pm_arena that the caller owns, and asks the caller through pm_hooks
 * whether it should stop.  It has no global state that changes after start-up.
 *
 * Ownership: a pm_arena belongs to the caller.  Nothing in the core frees
 * anything but through pm_arena_release(); a caller that abandons a
 * computation drops the arena and nothing leaks.
 */
#ifndef PM_CORE_H
#define PM_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Numbers of the networks.  The gradient tests compile the core in double. */
#ifdef PM_DOUBLE
typedef double pm_real;
#else
typedef float pm_real;
#endif

/*
 * Own hot loops are compiled for several instruction sets and chosen at load.
 * GCC knows the levels of x86-64 as targets from version 12 on.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(PM_NO_CLONES) && __GNUC__ >= 12
#define PM_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PM_CLONES
#endif

#if defined(__GNUC__)
#define PM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define PM_PRINTF(fmt, args)
#endif

typedef enum pm_code
{
	PM_OK = 0,
	PM_ERR_MEMORY,			/* the arena's allocator or budget said no */
	PM_ERR_LIMIT,			/* input is beyond a documented limit */
	PM_ERR_INPUT,			/* malformed or contradictory input (graph, row) */
	PM_ERR_OPTION,			/* unknown option or value out of range */
	PM_ERR_FORMAT,			/* stored weights are damaged, or no stored weights at all */
	PM_ERR_OUTDATED,		/* stored weights of another release, which this one cannot use */
	PM_ERR_DATA,			/* too little or unusable training data */
	PM_ERR_DIVERGED,		/* training produced non-finite numbers */
	PM_CANCELLED,			/* the stop hook said so */
	PM_ERR_INTERNAL			/* cannot happen */
} pm_code;

/* An error in three parts, in the style of the server's messages. */
typedef struct pm_status
{
	pm_code		code;
	char		message[256];	/* lower case, no full stop */
	char		detail[512];	/* a sentence, or empty */
	char		hint[512];		/* a sentence, or empty */
} pm_status;

/* Set *st (if not NULL) and return code.  Detail and hint are emptied. */
pm_code		pm_fail(pm_status *st, pm_code code, const char *fmt,...) PM_PRINTF(3, 4);
void		pm_detail(pm_status *st, const char *fmt,...) PM_PRINTF(2, 3);
void		pm_hint(pm_status *st, const char *fmt,...) PM_PRINTF(2, 3);

/*
 * Arena: bump allocation in blocks obtained from `get`.  Memory is zeroed and
 * aligned to 64 bytes, unless a function says otherwise.  Not thread-safe: allocate
 * before threads start.
 */
typedef void *(*pm_block_get) (void *ctx, size_t size); /* NULL when out of memory */
typedef void (*pm_block_put) (void *ctx, void *block);	/* may be NULL */

typedef struct pm_hooks pm_hooks;
typedef struct pm_block pm_block;
typedef struct pm_arena
{
	pm_block_get get;
	pm_block_put put;
	void	   *ctx;
	pm_block   *blocks;			/* newest first */
	char	   *next;			/* free space of the newest block that is not filled by one request */
	size_t		left;
	char	   *packed_next;	/* the same for small pieces, within a piece of its own */
	size_t		packed_left;
	size_t		used;			/* bytes obtained so far */
	size_t		outside;		/* bytes taken by the arena that it is within */
	size_t		limit;			/* 0: none */
	const pm_hooks *hooks;		/* of whoever waits for what is computed with this memory; may be NULL */
	bool		thrifty;		/* small blocks, so that little is left over in them: for what is kept for long */
} pm_arena;

/* An arena that obtains at most limit bytes, 0: any number; nothing is obtained yet. */
void		pm_arena_init(pm_arena *a, pm_block_get get, pm_block_put put, void *ctx, size_t limit);
void		pm_arena_init_malloc(pm_arena *a);	/* for tests and tools */
/* An arena for passing use, from the same source and with what is left of the limit of a. */
void		pm_arena_init_within(pm_arena *part, const pm_arena *a);
/* Give all blocks back; the arena can be used again. */
void		pm_arena_release(pm_arena *a);
/*
 * The same, but up to `keep` bytes that were in use stay with the arena as one
 * block, so that the next use of the same size obtains nothing.
 */
void		pm_arena_reset(pm_arena *a, size_t keep);

/* count * size zeroed bytes, or NULL (out of memory, over the limit, overflow). */
void	   *pm_alloc(pm_arena *a, size_t count, size_t size);
/* The same bytes as they are, for work that writes everywhere before it reads. */
void	   *pm_alloc_unset(pm_arena *a, size_t count, size_t size);
/* Zeroed, but aligned to 8 bytes only and side by side: for many small pieces. */
void	   *pm_alloc_packed(pm_arena *a, size_t count, size_t size);
/* A copy of s[len] with a zero byte behind it, or NULL. */
char	   *pm_strdup(pm_arena *a, const char *s, size_t len);

/* For "%.*s": bytes of s, at most PM_SHOWN of them, that end with a whole character (UTF-8). */
#define PM_SHOWN 64
int			pm_shown(const char *s);

/* The largest number that divides both; of 0 and another number, that one. */
int64_t		pm_common_divisor(int64_t a, int64_t b);
/* "1, 2, 3, 6": the numbers up to 1024 that divide n, as many as there is room for. */
void		pm_list_divisors(int64_t n, char *to, size_t size);

#define PM_NEW(a, type, count) ((type *) pm_alloc((a), (count), sizeof(type)))
#define PM_NEW_PACKED(a, type, count) ((type *) pm_alloc_packed((a), (count), sizeof(type)))

/* A copy of the n elements of a list, which may be NULL where n is 0, with room for `room` of them, zeroed; or NULL. */
#define PM_LONGER(a, type, list, n, room) ((type *) pm_longer((a), (list), (n), (room), sizeof(type)))

static inline void *
pm_longer(pm_arena *a, const void *list, size_t n, size_t room, size_t size)
{
	void	   *longer = pm_alloc(a, room, size);

	if (longer != NULL && n > 0)
		memcpy(longer, list, n * size);
	return longer;
}

/* The most that an arena obtains to serve requests of so many bytes, for estimates. */
double		pm_arena_memory(double requested);

/* The sentence for a NULL from pm_alloc. */
pm_code		pm_no_memory(pm_status *st, const pm_arena *a);

/* Progress of a training run, handed to pm_hooks.progress. */
typedef struct pm_progress
{
	int			fold;			/* training without this fold to calibrate on it, 1-based; 0: on all rows */
	int			folds;			/* to calibrate on before the training on all rows; 0: none */
	int			epoch;			/* finished epochs of this training, 1-based */
	int			epochs;
	double		loss;			/* mean training loss of the epoch */
	double		valid_mape;		/* fraction; NaN when there is no validation part */
	double		rate;			/* learning rate at the end of the epoch */
	double		elapsed_s;		/* of this training */
	double		left_s;			/* estimate, to the end of the last training */
} pm_progress;

/*
 * Hooks are called on the thread that called the core, never while helper
 * threads run core code that could outlive a longjmp; they must return.
 */
struct pm_hooks
{
	bool		(*stop) (void *ctx);	/* true: unwind with PM_CANCELLED */
	void		(*progress) (void *ctx, const pm_progress *p);
	void	   *ctx;
};

/*
 * Whether who waits for what is computed with arena a wants it to end; sets
 * PM_CANCELLED then.  Loops over nodes and edges ask every PM_POLL_EVERY steps.
 */
#define PM_POLL_EVERY 256
bool		pm_stopped(const pm_arena *a, pm_status *st);

/* Monotonic seconds, for rates and estimates only. */
double		pm_now(void);
/* Seconds that the calling thread has computed: what it waited for a core, on a busy machine, is not among them. */
double		pm_thread_cpu_s(void);

/*
 * Random numbers: xoshiro256**, seeded by splitmix64; the same on every machine.
 */
typedef struct pm_rng
{
	uint64_t	s[4];
} pm_rng;

void		pm_rng_seed(pm_rng *r, uint64_t seed);
uint64_t	pm_rng_next(pm_rng *r);
void		pm_rng_fill(pm_rng *r, uint64_t *v, int n);	/* the next n numbers */
double		pm_rng_uniform(pm_rng *r);	/* [0, 1) */
void		pm_rng_shuffle(pm_rng *r, int32_t *v, int n);

/* FNV-1a, 64 bits: structure hashes and data hashes; start with PM_HASH_INIT. */
#define PM_HASH_INIT UINT64_C(14695981039346656037)
uint64_t	pm_hash(uint64_t h, const void *p, size_t len);
/* A good final mix (splitmix64), to combine hashes. */
uint64_t	pm_mix(uint64_t h);

/* CRC-32C of a buffer, for stored weights. */
uint32_t	pm_crc32c(const void *p, size_t len);

#endif
