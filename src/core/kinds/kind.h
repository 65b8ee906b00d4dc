/*
 * kind.h - the interface that every kind of predictor implements.
 *
 * A kind is one file or one folder, with one pm_kind. Other code finds kinds
 * only by pm_kind_find(). For a new kind, add its file and a row in kind.c.
 *
 * A pm_predictor does not change after fit or load, and predict() only reads
 * it. So one predictor may serve many calls; each call brings its own scratch
 * memory.
 */
#ifndef PM_KIND_H
#define PM_KIND_H

#include "base/serial.h"
#include "features/dataset.h"
#include "features/quantity.h"
#include "features/schema.h"
#include "kinds/options.h"
#include "nn/fit_report.h"

/* The time of a token, in ms. forward + backward + update = step_ms if the kind knows the division, else they are NaN. */
typedef struct pm_part
{
	int			token;			/* index into the skeleton; -1: the rest of the step */
	double		step_ms;		/* all copies together */
	double		forward_ms,
				backward_ms,
				update_ms;
	char		bound;			/* 'c'ompute, 'm'emory, 'l'aunch, '-' */
} pm_part;

/* Defined in predictor/trust.h, predictor/correction.h and predictor/transfer.h; kinds do not use their members. */
typedef struct pm_trust pm_trust;
typedef struct pm_correction pm_correction;
typedef struct pm_transfer pm_transfer;
typedef struct pm_passes pm_passes;	/* of predictor/passes.h */
typedef struct pm_kind pm_kind;
typedef struct pm_cards pm_cards;	/* of kinds/cards.h */

/* A predictor from which a training starts (warm start). */
typedef struct pm_start
{
	const struct pm_predictor *predictor;	/* of the same kind, which has check_start */
	const bool *seen;			/* [rows] it was trained on their structure; NULL: on none */
} pm_start;

typedef struct pm_predictor
{
	const pm_kind *kind;
	pm_options	options;
	const pm_quantity *quantity;	/* what it predicts; NULL: step_ms */
	const pm_schema *schema;	/* lists that it was trained with; NULL: those of this library */
	void	   *impl;			/* the kind's own */
	const pm_trust *trust;		/* set by pm_predictor_fit() and pm_predictor_load() */
	const pm_start *start;		/* read by fit; NULL: train from random numbers */
	const pm_correction *correction;	/* of recalibrate.h, applied to what the kind predicts; NULL: none */
	const pm_transfer *transfer;	/* of steps measured on other devices; NULL: not calibrated */
	const pm_passes *passes;	/* what was learned of forward passes; NULL: nothing */
} pm_predictor;

struct pm_kind
{
	const char *name;			/* 'mdot' */
	const char *summary;		/* one sentence */
	const pm_option *options;
	int			n_options;
	int			min_samples;	/* fewer rows: PM_ERR_DATA */
	unsigned	quantities;		/* what it can learn, of PM_LEARNS(...) */
	bool		transfers;		/* it uses measurements of the network on other cards; calibration must not leave these out */

	/* Conditions between options; may be NULL. */
	pm_code		(*check) (const pm_options *o, pm_status *st);

	/* Whether a training with options o can start from `from`, of the same kind. NULL: the kind has no warm start. */
	pm_code		(*check_start) (const pm_options *o, const pm_predictor *from, pm_status *st);
	/* whether it learns from single operators with these options; NULL: never */
	bool		(*learns_operators) (const pm_options *o);
	/* whether it learns from forward passes with these options; NULL: never */
	bool		(*learns_passes) (const pm_options *o);

	/* Bytes that fit() will take, from what is known before anything is allocated. */
	double		(*memory) (const pm_options *o, const pm_dataset *d, int threads);
	/*
	 * Learn from d. On PM_OK p->impl is set (in arena a). Everything taken is taken from a.
	 * hooks: those of a, which loops over rows call, except that progress is that of several trainings.
	 * seed: the same seed and the same rows give the same bits, whatever `threads` is.
	 */
	pm_code		(*fit) (pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
						const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st);
	/*
	 * ms of one step. parts (may be NULL) gets up to skeleton->n + 1 rows that sum to *step_ms
	 * within 1e-9 relative. scratch is an arena that the caller resets.
	 */
	pm_code		(*predict) (const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
							double *step_ms, pm_part *parts, int *n_parts, pm_status *st);
	/*
	 * Optional, both or none: prepare computes once the part of the answer to s that does not depend
	 * on the batch.  t: tokens of s, with features.  *state (in arena a) is passed to predict_prepared;
	 * NULL: with the options of p, everything depends on the batch.  predict_prepared gets the work at
	 * the batch of s, and returns the same bits as predict; it allocates nothing.
	 */
	pm_code		(*prepare) (const pm_predictor *p, const pm_sample *s, const pm_tokens *t, pm_arena *a,
							pm_arena *scratch, void **state, pm_status *st);
	double		(*predict_prepared) (const pm_predictor *p, const void *state, const pm_tokens *work);
	/* Whether it has the measurements that it needs for q; without them, q is out of the domain. NULL: it needs none. */
	bool		(*informed) (const pm_predictor *p, const pm_question *q);
	/*
	 * Whether predict() and prepare() take the factors of a sample with these options; NULL: never.
	 * prepare() keeps the pointer, and predict_prepared() reads the factors at its call.  If a larger
	 * batch never takes less time with factors of 1, this is so with all factors.
	 */
	bool		(*scales) (const pm_options *o);
	/*
	 * Whether predict(), prepare() and predict_prepared() answer questions of PM_INFERENCE with these options, from the
	 * work of the forward pass.  NULL: never; then infer.h takes a share of the predicted training step.
	 */
	bool		(*infers) (const pm_options *o);
	/* A predictor of the same rows that is a part of it, and answers in a small part of the time; NULL, or a kind without it: none. */
	const pm_predictor *(*base) (const pm_predictor *p);
	/* What it has learned of cards; NULL, or a kind without it: nothing. */
	const pm_cards *(*cards) (const pm_predictor *p);
	/* Store and read what the kind has learned, in the numbering of p->schema. Before load(), p->schema and options are set. */
	pm_code		(*save) (const pm_predictor *p, pm_buffer *b, pm_status *st);
	pm_code		(*load) (pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st);
};

/*
 * A step takes time outside of its operators: the loop around them, loss, setting gradients to zero, update.  Inference is
 * assumed to take this share of it, as one of three passes.  This part was never measured by itself.
 */
#define PM_INFER_REST_SHARE	(1.0 / 3)

#define PM_LEAST_STEP_MS	1e-3	/* a step, or a pass, is at least about a launch */

/* Rows of a kind's table of options, which must fit into pm_options. */
#define PM_N_OPTIONS(table) \
	((int) (sizeof(table) / sizeof((table)[0]) + \
			0 * sizeof(struct {_Static_assert(sizeof(table) / sizeof((table)[0]) <= PM_MAX_OPTIONS, "raise PM_MAX_OPTIONS"); char c;})))

/* Lists and quantity of p; the defaults if they are NULL. */
static inline const pm_schema *
pm_predictor_schema(const pm_predictor *p)
{
	return p->schema != NULL ? p->schema : &pm_schema_here;
}

static inline const pm_quantity *
pm_predictor_quantity(const pm_predictor *p)
{
	return p->quantity != NULL ? p->quantity : &pm_quantities[PM_STEP_MS];
}

/* What p has learned of cards; NULL: nothing. */
static inline const pm_cards *
pm_predictor_cards(const pm_predictor *p)
{
	return p->kind->cards != NULL ? p->kind->cards(p) : NULL;
}

static inline bool
pm_kind_learns_passes(const pm_kind *kind, const pm_options *o)
{
	return kind->learns_passes != NULL && kind->learns_passes(o);
}

/* NULL when unknown. */
const pm_kind *pm_kind_find(const char *name);
/* i-th kind, NULL past the end; for listing. */
const pm_kind *pm_kind_at(int i);

/* Parts for a kind that predicts only the whole step: it is divided among tokens by roofline time. */
void		pm_share_by_roofline(const pm_tokens *t, double step_ms, pm_part *parts, int *n_parts);

/* The kinds, each defined in its own file. */
extern const pm_kind pm_kind_mdot;
extern const pm_kind pm_kind_roofline;
extern const pm_kind pm_kind_linear;
extern const pm_kind pm_kind_perfnet;
extern const pm_kind pm_kind_gnn;
extern const pm_kind pm_kind_ets;
extern const pm_kind pm_kind_transformer;
extern const pm_kind pm_kind_opclass;
extern const pm_kind pm_kind_seer;
extern const pm_kind pm_kind_habitat;

#endif
