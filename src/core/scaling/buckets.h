/*
 * buckets.h - the gradients of a network in the order and the portions in which
 * data parallel training sends them.
 */
#ifndef PM_BUCKETS_H
#define PM_BUCKETS_H

#include "features/phases.h"
#include "features/tokens.h"
#include "scaling/heads.h"

#define PM_BUCKET_MB_USUAL	25.0	/* PyTorch DDP: bucket_cap_mb */
#define PM_BUCKET_MB_MIN	0.001
#define PM_BUCKET_MB_MAX	1e6
#define PM_MAX_BUCKETS		64	/* more are described as so many that are sent as several messages each */

/* Independent of the batch. All of it is in the arena that it was built in. */
typedef struct pm_buckets
{
	int			n;
	int			tokens;
	double		bucket_mb;		/* that it was built for */
	bool		narrow;			/* gradients have 16 bits, not 32 */
	double	   *bytes;			/* [n] of gradients, in the order in which they are sent */
	double	   *frozen;			/* [n] of weights without gradients, of the same operators */
	double	   *expert;			/* [n] of bytes, those of experts, */
	double	   *frozen_expert;	/* [n] and of frozen */
	float	   *done;			/* [n, tokens] copies of a token whose backward pass ends between bucket k - 1 and k */
	double		message_bytes;	/* as large as a message gets, unless one operator alone has more */
	int			layers;			/* of a transformer: operators that attend; 0: none */
	pm_heads	heads;			/* of the layers */
	pm_experts	experts;
	double		activation;		/* elements of one sample that a layer hands to the next */
	float	   *whole;			/* [tokens] copies that tensor parallelism does not divide: norms, and what is added or dropped between layers */
	float	   *head;			/* [tokens] copies behind the last norm: what follows the layers */
	float	   *again;			/* [tokens] copies that recomputing computes again, */
	float	   *cheap;			/* [tokens] recomputing all but products and attention in one kernel, */
	float	   *core;			/* [tokens] and recomputing attention alone */
	float	   *attends;		/* [tokens] copies that compute attention, from the scores to the product with the values */
	double		kv;				/* elements of one sample, keys and values of the layer with most */
} pm_buckets;

/*
 * Portions of the gradients of a whole skeleton (with dag and token_of):
 * operators in the reverse of their order, 1 MiB first (bucket_mb, if that is
 * less), then bucket_mb MiB, an operator never divided
 * (torch/csrc/distributed/c10d/reducer.hpp).  Sparse gradients are in none: tables are divided, or their rows are sent
 * in a way of their own.  Frozen weights end a portion, too,
 * about every thirtieth of the model: FSDP gathers them.  A gradient takes 2 bytes an element
 * where the whole model is in 16 bits, else 4.  PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_buckets_build(const pm_skeleton *s, pm_dtype dtype, double bucket_mb, pm_arena *a, pm_buckets *b, pm_status *st);

/*
 * Forward, backward and update as the work and its launches say it, scaled so that they are step_ms together, but
 * the update never longer than its traffic takes: launches of an update that are longer count as work of the passes.
 */
typedef struct pm_phases
{
	double		forward_ms,
				backward_ms,
				update_ms;
	double		passes_us_ms;	/* ms of the passes for a microsecond of pm_passes_us() */
} pm_phases;

pm_phases	pm_phases_of(const pm_tokens *work, double step_ms);

/* ms of the backward pass from bucket k - 1 to bucket k. */
double		pm_bucket_ms(const pm_buckets *b, int k, const pm_tokens *work, const pm_phases *p);

#endif
