/*
 * predictor.h - code that is the same for every kind of predictor: checked
 * training, calibrated intervals, prepared questions. stored.h stores it.
 */
#ifndef PM_PREDICTOR_H
#define PM_PREDICTOR_H

#include "kinds/settings.h"
#include "predictor/trust.h"

/* Whether all measurements can be learned from: values within the bounds of q, and names that can be stored. */
pm_code		pm_check_profiles(const pm_dataset *d, const pm_quantity *q, pm_status *st);

/* PM_ERR_DIVERGED: the training is no use, and why. */
pm_code		pm_diverged(pm_status *st, const char *why);

/*
 * Validate d against the kind, kind->fit, and learn p->trust.  A kind with the
 * option "calibration_folds" is first trained that often without a part of the
 * structures, to predict that part.  report->valid_* are of those cross
 * predictions where the kind holds nothing out itself.
 *
 * A training that goes on from p->start is not calibrated by folds, as the
 * start has seen what they would hold out: its intervals are those of the start
 * and the errors that this had on rows of other structures (pm_trust_update).
 *
 * PM_ERR_DATA: rows that cannot be learned from; PM_ERR_OPTION: a quantity that
 * the kind cannot learn; PM_ERR_DIVERGED: the predictor answers nothing sound.
 */
pm_code		pm_predictor_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
							 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st);
pm_code		pm_predictor_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
								 double *step_ms, pm_part *parts, int *n_parts, pm_status *st);
/*
 * An interval for the prediction step_ms of s, and whether s is like what p was
 * trained on; see pm_trust_judge().
 */
pm_code		pm_predictor_judge(const pm_predictor *p, const pm_sample *s, double step_ms, double level,
							   pm_arena *scratch, pm_verdict *v, pm_status *st);

/* ---- a question asked at many batches ---- */

/*
 * Room for the work of one prepared question at one batch.  Questions that are
 * asked one after the other share it: kept with each of them, it was a quarter
 * to a half of what is kept (bench/predict.c prints the bytes).
 */
typedef struct pm_workbench
{
	pm_tokens	work;			/* of the question that was put on it last */
	int			room;			/* tokens that its arrays have room for */
	int64_t		batch;			/* that work is of; 0: of none */
	uint64_t	of;				/* number of the question */
	uint64_t	numbers;		/* given to questions so far */
	pm_arena	arena;			/* that the arrays are taken from when they grow; its owner initialises it */
} pm_workbench;

/*
 * What of a question (all of it but its batch) is computed once: the graph,
 * device and formats through the network, which operators are like those in
 * training.  It refers to the predictor, the skeleton and the workbench, which
 * must stay.  Not for several threads: each use puts its work on the bench.
 */
typedef struct pm_prepared
{
	const pm_skeleton *skeleton;
	pm_dtype	dtype;			/* that it is answered in */
	const char *framework;		/* that it is answered for where it names none; the predictor's, or NULL */
	int32_t    *type;			/* [skeleton->n] as in pm_tokens */
	int32_t    *op_class;		/* [skeleton->n] */
	void	   *state;			/* the kind's; NULL: it has to be asked anew for each batch */
	pm_novelty	novelty;		/* pm_trust_prepare() */
	pm_workbench *bench;
	uint64_t	number;			/* tells it from all others of its bench */
	int			n_bounds;
	struct pm_prepared *bounds; /* [n_bounds] the same question for the cards that bound the answer (bounds.h) */
	const pm_gpu **bound_gpus;	/* [n_bounds] their sheets, which are the predictor's */
} pm_prepared;

/*
 * Everything kept is taken from a.  bench NULL: one of its own, in a.  Errors as
 * of pm_predictor_predict().
 */
pm_code		pm_predictor_prepare(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch,
								 pm_workbench *bench, pm_prepared *x, pm_status *st);
/* Let x, and what it asks of the cards that bound the answer, refer to s: the skeleton it was prepared with, made slim, which may then go. */
void		pm_prepared_refer(pm_prepared *x, const pm_skeleton *s);
/*
 * pm_predictor_predict() and pm_predictor_judge() of s, which x was prepared
 * for at any batch: the same bits.  Where the kind prepares, nothing is
 * allocated but room on a bench that is too small for the graph.
 */
pm_code		pm_predictor_predict_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, pm_arena *scratch,
										  double *step_ms, pm_status *st);
pm_code		pm_predictor_judge_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double step_ms,
										double level, pm_verdict *v, pm_status *st);
/* The work of s, which x was prepared for at any batch. *work is on the bench, until that is used for another question. */
pm_code		pm_predictor_work(pm_prepared *x, const pm_sample *s, const pm_tokens **work, pm_status *st);

#endif
