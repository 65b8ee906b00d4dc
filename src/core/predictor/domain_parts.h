/*
 * domain_parts.h - the parts of a domain, which the files of it share: domain.c
 * learns it and measures distances, domain_formats.c counts what a device had,
 * domain_frameworks.c has releases, domain_networks.c networks; domain_judge.c
 * judges, and domain_stored.c stores.  To be included behind domain.h.
 */
#ifndef PM_DOMAIN_PARTS_H
#define PM_DOMAIN_PARTS_H

#include <assert.h>
#include <math.h>

#include "base/serial.h"
#include "features/dataset.h"
#include "features/schema.h"

#define MAX_NAMES			4096	/* gpus, frameworks, types in a stored form */
#define MAX_COVER			4096	/* operators remembered of a type; what is beyond counts as unlike */
#define MAX_NETWORKS		4096	/* remembered; what is beyond is found through those that are like it */
#define LEAST_ROWS			3	/* of a release on a card, for it to answer; names that every run makes anew tell nothing */
#define N_SIZES				15		/* of an operator: domain_stored.c has their names, domain.c knows where they come from */

#define ALIKE				0.75	/* log2: all sizes of two operators that are alike are within a factor of 1.7 */

/* How far an operator is from the nearest of its type, in bytes: 64 a doubling of the size that differs most. */
#define STEPS				64
#define UNSEEN				255 /* no operator of its type is known */

static_assert((int) (ALIKE * STEPS) == ALIKE * STEPS, "ALIKE is a whole number of steps");

/* What a device had in one format. */
typedef struct format
{
	int			structures;
	double		min_batch,		/* 0 where there are no rows */
				max_batch;
} format;

typedef struct device
{
	const char *name;
	int			rows;
	int			structures;		/* of these ... */
	int			of_kind[PM_N_NETWORK_KINDS];	/* ... and of each kind */
	int			framework;		/* that its questions are answered for which name none: index into the domain's; -1: none */
	int			used[PM_N_DTYPES][PM_N_LAYOUTS];	/* rows */
	format		formats[PM_N_DTYPES];
	double		min_batch,
				max_batch;
} device;

typedef struct framework
{
	const char *name;
	int			rows;
} framework;

/* A release of a framework on a device that was measured with several, and the networks that it was measured with. */
typedef struct release
{
	int			gpu;			/* index into the domain's */
	int			framework;		/* the same */
	double		min_step,		/* log2 of their roofline times at the batch that shares are of, us */
				max_step;
	uint32_t   *has;			/* [PM_NETWORK_WORDS(n_networks)] a bit for each network */
} release;

/* The network of a row: its place among those of the domain, or of one like it; and log2 of its roofline time as above. */
typedef struct row_network
{
	int32_t		at;
	double		step;
} row_network;

#define PM_NETWORK_WORDS(networks)	(((size_t) (networks) + 31) / 32)

/* A type of operator. Those that the catalogue does not know are told apart by name. */
typedef struct op_type
{
	const char *name;
	int			id;				/* pm_type_id; -1: the catalogue does not know it */
	int			n;				/* operators remembered */
	int			room;
	pm_real    *sizes;			/* [n, sizes.n of the domain] log2(1 + size) */
} op_type;

/* What the time of a network is made of: shares of its roofline time at batch 32, by type of operator; others are 0. */
typedef struct network
{
	int			n;
	int32_t    *type;			/* [n] indices into the domain's types */
	pm_real    *share;			/* [n] */
} network;

struct pm_domain
{
	int			n_gpus;
	device	   *gpus;
	const char *const *gpu_names;	/* [n_gpus] */
	int			n_pass_gpus;
	device	   *pass_gpus;		/* the same of forward passes, without a framework */
	int			n_frameworks;
	framework  *frameworks;
	bool		knows_optimizers;	/* false: learned by 0.1.0, which did not ask */
	double		optimizers[PM_N_OPTIMIZERS];	/* rows of each */
	pm_translation sizes;		/* that operators are remembered by */
	int			n_types;
	op_type    *types;
	int32_t    *type_at;		/* [pm_type_count()] index into types, -1: not seen */
	double		min_step,
				max_step;		/* log2 of the roofline time of the step, us */
	bool		knows_networks;	/* false: it has learned of none; all distances are 0 */
	int			n_networks;
	int			room;			/* of networks */
	network    *networks;
	int			n_releases;
	release    *releases;		/* [n_releases] of devices that were measured with several */
	double		limit[2];		/* [is_cpu] a network farther than that is unlike all in training; infinite: no such rule */
};

/* Rows whose networks are counted for their devices, and the kinds that each network tells of. */
typedef struct counted
{
	const pm_sample *samples;
	int			n;
	const uint8_t *kinds;		/* [n] pm_domain_kinds_of() */
} counted;

/*
 * Bits 1 << pm_network_kind: `most`, where most of the arithmetic of a network is, and of convolutions and recurrent layers those that
 * have a share of its roofline time.  t is at the batch at which shares are taken.
 */
unsigned	pm_domain_kinds_of(pm_network_kind most, const pm_tokens *t);

/*
 * Structures of each of n devices: those it had and those of its rows.  seen[rows->n] (may be
 * NULL) marks rows whose structure was trained on, on this device or another:
 * as which of them the device had is not remembered, they count where there are
 * more of them than it had.
 */
pm_code		pm_domain_count_structures(device *gpus, int n, const counted *rows, const bool *seen, pm_arena *a, pm_status *st);

/* Index of a device; -1: not seen. */
int			pm_domain_find_gpu(const struct pm_domain *t, const char *name);
/*
 * What a question that names a framework is answered for: the usual release of its device, if this was measured with others of the same
 * program, else what it names.  So is a forward pass on a device of which passes are known.
 */
const char *pm_domain_stands_for(const struct pm_domain *t, const pm_question *q);
/* What passes were measured on a device; NULL: none. */
const device *pm_domain_find_passes(const struct pm_domain *t, const char *gpu);
/*
 * domain_frameworks.c: device.framework and releases by the rows of d; devices before `first` keep theirs where these tell nothing.
 * networks[d->n]: of the rows; NULL: not known, so that the devices of the rows get no releases.
 */
pm_code		pm_domain_choose_frameworks(struct pm_domain *t, int first, const pm_dataset *d, const row_network *networks, pm_arena *a, pm_status *st);
void		pm_releases_save(const struct pm_domain *t, pm_buffer *b);
/* After the networks. Damage shows in r->failed. */
pm_code		pm_releases_load(struct pm_domain *t, pm_reader *r, pm_arena *a, pm_status *st);

/*
 * *share: what the time of a network is made of, shares of the roofline time by type as below, in arena a.  *step: log2 of this time, us.
 */
pm_code		pm_domain_shares(const struct pm_domain *t, const pm_sample *s, pm_arena *a, double **share, double *step, pm_status *st);

/* Name under which the type of a token is remembered; in buf (64 bytes) or as long-lived as the graph. */
const char *pm_domain_type_name(const pm_tokens *t, int token, char *buf);

static inline double
pm_domain_log_step(const pm_tokens *t)
{
	return log2(t->total_roofline_us + 1e-3);
}

/* The names of the devices by themselves. */
pm_code		pm_domain_list_gpus(struct pm_domain *t, pm_arena *a, pm_status *st);

/*
 * domain_networks.c: share[n_types + 1] are shares of the roofline time by type
 * of operator, the last those of types that are not known; they sum to 1.
 */
/* Remember a network unless one like it is. *index: its place among the networks, or that of the one like it. */
pm_code		pm_networks_learn(struct pm_domain *t, const double *share, pm_arena *a, int32_t *index, pm_status *st);
/*
 * 0..1: what of the time is not shared with the network that shares most. 0 where no networks are remembered.
 * has: the bits of those that count (release.has), NULL: all.
 */
double		pm_networks_distance(const struct pm_domain *t, const uint32_t *has, const double *share);
/*
 * Let the limits be the distances within which nearly all rows of d were from the others: distance[d->n], NaN where it is
 * not known.  GPUs and CPUs have limits of their own, since what is usual depends on which networks were measured on them;
 * a kind without rows has that of all rows.
 */
pm_code		pm_networks_limit(struct pm_domain *t, const pm_dataset *d, const double *distance, pm_arena *a, pm_status *st);
void		pm_networks_save(const struct pm_domain *t, pm_buffer *b);
/* Damage shows in r->failed. */
pm_code		pm_networks_load(struct pm_domain *t, pm_reader *r, pm_arena *a, pm_status *st);

#endif
