/*
 * domain.h - whether a question is like what a predictor was trained on.
 */
#ifndef PM_DOMAIN_H
#define PM_DOMAIN_H

#include "base/serial.h"
#include "features/dataset.h"
#include "features/schema.h"

#define PM_REASON_SIZE	256

/*
 * Why a question is not like those in training, as codes; pm_cause_name[] has their
 * names.  The last two are remarks: they do not put a question out of the domain.
 */
typedef enum pm_cause
{
	PM_CAUSE_GPU_NOT_SEEN,		/* no measurements on the device */
	PM_CAUSE_GPU_SELDOM_SEEN,	/* measurements of only a few networks */
	PM_CAUSE_LAYOUT_NOT_SEEN,	/* on this device */
	PM_CAUSE_DTYPE_NOT_SEEN,	/* with this layout on this device */
	PM_CAUSE_DTYPE_SELDOM_SEEN, /* on this device: measurements of only a few networks */
	PM_CAUSE_OPTIMIZER_NOT_SEEN,
	PM_CAUSE_BATCH_ABOVE, PM_CAUSE_BATCH_BELOW,	/* all on this device in this format */
	PM_CAUSE_OPERATORS_NOT_SEEN,
	PM_CAUSE_OPERATOR_SIZES_NOT_SEEN,
	PM_CAUSE_STEP_ABOVE, PM_CAUSE_STEP_BELOW,	/* more work than any step in training, less */
	PM_CAUSE_NETWORK_UNLIKE,	/* farther from all networks in training than nearly all of them were */
	PM_CAUSE_NOT_MEASURED_ELSEWHERE,	/* kind habitat: the network on no other device near this batch */
	PM_CAUSE_MODE_NOT_SEEN,		/* inference */
	PM_CAUSE_FRAMEWORK_NOT_MEASURED,	/* that most devices were measured with, on this one */
	PM_CAUSE_MEASUREMENTS_DISAGREE, /* those of training, so much that the interval says nothing */
	PM_CAUSE_FRAMEWORK_NOT_SEEN,	/* a remark: not at all, or not on this device */
	PM_CAUSE_RELEASES_DIFFER,	/* a remark: those measured on the device, on this network, by more than its interval */
	PM_N_CAUSES
} pm_cause;
extern const char *const pm_cause_name[PM_N_CAUSES];

/* Interval and domain of one prediction. */
typedef struct pm_verdict
{
	double		low_ms;			/* 0 < low <= prediction <= high < infinity; NaN: not calibrated */
	double		high_ms;
	bool		in_domain;
	char		reason[PM_REASON_SIZE]; /* first causes of being out of the domain; or a remark; or empty */
	uint32_t	causes;			/* all of them: a bit 1 << pm_cause for each */
	double		distance;		/* >= 0: of the network from those in training */
	double		interval_distance;	/* the same for its width; see pm_novelty */
	double		update_share;	/* 0..1: of the update in the roofline time of the step */
} pm_verdict;

typedef struct pm_domain pm_domain;

/* Kinds of networks, which tell little about each other on a device: where most of their arithmetic is. */
typedef enum pm_network_kind
{
	PM_NETWORK_CONV, PM_NETWORK_RECURRENT, PM_NETWORK_OTHER, PM_N_NETWORK_KINDS
} pm_network_kind;

/* Where most of the arithmetic of a step is.  t is of one sample, so that a network is of the same kind at every batch. */
pm_network_kind pm_domain_kind_of(const pm_tokens *t);

/* How far a question is from training; the same for all its batches. */
typedef struct pm_novelty
{
	const uint8_t *of;			/* [tokens] distance of each from the nearest of its type in training; for pm_domain_judge() */
	double		distance;		/* >= 0: how far the network is; see pm_domain_prepare() */
	double		interval_distance;	/* 0..distance: the same for widths of intervals, where operators larger than one in training are no farther than if alike */
	pm_network_kind kind;		/* where most of its arithmetic is */
	unsigned	kinds;			/* bits 1 << pm_network_kind of that, and of the others whose measurements it needs */
} pm_novelty;

/*
 * *domain, in arena a: learned from the rows of d.  distance[i]: how far row i was
 * from the rows of a training without its structure; NaN: not known; distance NULL:
 * none is known.  start (may be NULL): whose forward passes count if d has none.
 * PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_domain_fit(const pm_dataset *d, const pm_domain *start, const double *distance, const pm_hooks *hooks, pm_arena *a,
						  const pm_domain **domain, pm_status *st);
/*
 * *domain: the old one, and the devices, formats and optimizers of d; not its
 * operators, because nothing was learned about them.  seen[i] (seen may be NULL):
 * the structure of row i was in training.
 */
pm_code		pm_domain_extend(const pm_domain *old, const pm_dataset *d, const bool *seen, pm_arena *a,
							 const pm_domain **domain, pm_status *st);

/* Devices of the training rows, in the order in which they came. */
int			pm_domain_gpu_count(const pm_domain *t);
const char *const *pm_domain_gpus(const pm_domain *t);
/* Different networks that the i-th of them was measured with. */
int			pm_domain_gpu_structures(const pm_domain *t, int i);
/* The same for devices of which forward passes of inference were in training: their number, the i-th, and its networks. */
int			pm_domain_pass_gpu_count(const pm_domain *t);
const char *pm_domain_pass_gpu(const pm_domain *t, int i);
int			pm_domain_pass_gpu_structures(const pm_domain *t, int i);
/* Whether passes of as many networks were in training on a device as put a question about inference into the domain. */
bool		pm_domain_knows_passes(const pm_domain *t, const char *gpu);

/*
 * The format that a question is answered in by a predictor that has learned
 * nothing of the device in the one asked for (docs/trust.md): one that
 * runs on the same units of the device, at the same rate, or the one asked for.
 */
pm_dtype	pm_domain_format(const pm_domain *t, const pm_gpu *gpu, pm_dtype asked);

/* Index of a framework that was in training; -1: there is none of this name. */
int			pm_domain_find_framework(const pm_domain *t, const char *name);

/*
 * The usual framework of a device.  Take the framework of most training rows; of its releases, the one of most rows of the device, if
 * these are at least three.  NULL: the device has no such rows.
 */
const char *pm_domain_framework(const pm_domain *t, const char *gpu);
/*
 * *framework: that a question is answered for.  If it names none, it is the usual one of the device, unless the network is unlike all that
 * this was measured with, and much more like those of another release.  A release that the device was not measured with is answered for as the
 * usual one, if this is of the same program; but not in a forward pass, if passes of the device are known.  PM_ERR_MEMORY, PM_ERR_INPUT.
 */
pm_code		pm_domain_framework_for(const pm_domain *t, const pm_sample *s, pm_arena *scratch, const char **framework, pm_status *st);
/*
 * other[*n], in scratch: the releases that might have been meant instead by a question that is answered for `framework`.  They are the usual one
 * of the device, and others that it was measured with on networks like that of s.  Errors as above.
 */
pm_code		pm_domain_other_releases(const pm_domain *t, const pm_sample *s, const char *framework, pm_arena *scratch, const char ***other, int *n,
									 pm_status *st);

/*
 * The part of a judgement that depends only on graph, device and formats: *novelty,
 * whose bytes are in arena a.  Its distance is the sum of two numbers: the part
 * of the roofline time that no training network spends on the same types of
 * operators (0..1), and half the mean, over the roofline time, of the operators'
 * distances in size from the nearest of their type (log2, minus 0.25; 0 to 3.73).
 * An operator without a window (kernel) is larger than one in training if it has no size
 * smaller, and some size larger.  It runs about as near to the peaks of the device.
 * 0: the domain was stored by a version without distances.
 */
pm_code		pm_domain_prepare(const pm_domain *t, const pm_sample *s, pm_arena *a, pm_arena *scratch,
							  pm_novelty *novelty, pm_status *st);
/* The distance alone. */
pm_code		pm_domain_distance(const pm_domain *t, const pm_sample *s, pm_arena *scratch, double *distance, pm_status *st);
/* The distance beyond which a network is unlike all in training, for a device of this kind; infinite: none is. */
double		pm_domain_limit(const pm_domain *t, const pm_gpu *gpu);
/* The rest of the judgement, from *novelty and the work of the question: fills in_domain, reason, causes and update_share of *v, which is all 0 before. */
void		pm_domain_judge(const pm_domain *t, const pm_question *q, const pm_novelty *novelty, const pm_tokens *work,
							pm_verdict *v);

void		pm_domain_save(const pm_domain *t, pm_buffer *b);
/* Damage shows in r->failed. */
pm_code		pm_domain_load(pm_reader *r, pm_arena *a, const pm_domain **domain, pm_status *st);

#endif
