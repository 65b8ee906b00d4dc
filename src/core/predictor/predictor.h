/*
 * predictor.h - code that is the same for every kind of predictor: checked
 * training, calibrated intervals, prepared questions. stored.h stores it.
 */
#ifndef PM_PREDICTOR_H
#define PM_PREDICTOR_H

#include "kinds/settings.h"
#include "predictor/bounds.h"
#include "predictor/releases.h"
#include "predictor/trust.h"

/* Checks that all measurements can be used for a training: values within the bounds of q, and names that can be stored. PM_ERR_DATA. */
pm_code		pm_check_profiles(const pm_dataset *d, const pm_quantity *q, pm_status *st);

/* Always PM_ERR_DIVERGED: the training has no useful result; why is the message. */
pm_code		pm_diverged(pm_status *st, const char *why);
/* PM_ERR_DIVERGED: an error, of errors[n], is infinite; NaN: it is not known. */
pm_code		pm_check_errors(const double *errors, int n, pm_status *st);

/*
 * Check d, call kind->fit, and learn p->trust.  A kind with the option
 * "calibration_folds" is first trained that many times without a part of the
 * structures, and predicts that part.  If the kind holds out no rows itself,
 * report->valid_* are the errors of these cross predictions.
 *
 * A training that starts from p->start is not calibrated by folds, because the
 * start has seen the rows that they would hold out.  Its intervals come from the
 * start, and from the errors of the start on rows of other structures
 * (pm_trust_update).
 *
 * PM_ERR_DATA: rows that cannot be used; PM_ERR_OPTION: a quantity that the kind
 * cannot learn; PM_ERR_DIVERGED: the predictor gives no sensible answers.
 */
pm_code		pm_predictor_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
							 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st);

/*
 * *step_ms: the prediction for s, ms, corrected, and in the order of data sheets (bounds.h).  parts: its division among operators, with room for
 * a part of each token and one of the rest, and *n_parts of them; both NULL: not wanted.  Memory comes from scratch.  PM_ERR_INPUT: a
 * question that p cannot answer; PM_ERR_MEMORY; errors of the kind.
 */
pm_code		pm_predictor_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
								 double *step_ms, pm_part *parts, int *n_parts, pm_status *st);
/* By how much other cards hold what training alone says of a question (bounds.h). */
typedef struct pm_holding
{
	pm_card_work work;			/* that most of it is */
	double		by;				/* ln(held / own answer); 0: nothing holds it */
} pm_holding;

/* own_ms: what training alone says of the card by itself.  Errors as of pm_predictor_predict(). */
pm_code		pm_predictor_held(const pm_predictor *p, const pm_sample *s, double own_ms, pm_arena *scratch, pm_holding *held, pm_status *st);
/* pm_predictor_predict() of a card that p is recalibrated for, without asking for the others again. */
pm_code		pm_predictor_predict_held(const pm_predictor *p, const pm_sample *s, const pm_holding *held, pm_arena *scratch, double *step_ms,
									  pm_status *st);

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
 * The results for a question that do not depend on its batch: the output of the
 * network for graph, device and formats, and which operators are like those in
 * training.  It refers to the predictor, the skeleton and the workbench, which
 * must stay.  Not for several threads: each use writes its work to the bench.
 */
typedef struct pm_prepared
{
	const pm_skeleton *skeleton;
	pm_dtype	dtype;			/* that it is answered in */
	const char *framework;		/* that it is answered for, if the question names none or another; or NULL */
	pm_spread	spread;			/* of the answers for releases that may have been meant */
	int32_t    *type;			/* [skeleton->n] as in pm_tokens */
	int32_t    *op_class;		/* [skeleton->n] */
	void	   *state;			/* the kind's; NULL: it has to be asked anew for each batch */
	int64_t		batch;			/* that the kind was asked about last; 0: none */
	double		kind_ms;		/* its answer */
	pm_novelty	novelty;		/* pm_trust_prepare() */
	pm_workbench *bench;
	uint64_t	number;			/* tells it from all others of its bench */
	pm_sisters	sisters;		/* the cards that hold the answer (bounds.h), and its own; none where state is NULL */
	const pm_predictor *asked;	/* about them */
	int			n_asked;		/* sisters.n, without the card itself unless it was recalibrated */
	struct pm_prepared *of_sister;	/* [n_asked] the same question for them */
	double	   *sister_ms;		/* [sisters.n] room for answers */
} pm_prepared;

/*
 * Everything kept is taken from a.  bench NULL: one of its own, in a.  Errors as
 * of pm_predictor_predict().
 */
pm_code		pm_predictor_prepare(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch,
								 pm_workbench *bench, pm_prepared *x, pm_status *st);
/* Let x and the questions for its sisters refer to s, a slim copy of the skeleton that x was prepared with. That skeleton may then be freed. */
void		pm_prepared_refer(pm_prepared *x, const pm_skeleton *s);
/*
 * The same bits as pm_predictor_predict() and pm_predictor_judge() for s; x was
 * prepared for s at any batch.  If the kind prepares, memory is allocated only
 * if the bench is too small for the graph.
 */
pm_code		pm_predictor_predict_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, pm_arena *scratch,
										  double *step_ms, pm_status *st);
pm_code		pm_predictor_judge_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double step_ms,
										double level, pm_verdict *v, pm_status *st);
/*
 * *share: of the answer to s, what is left if the operators have `by` (above 0) times their work on the device, by what the kind has
 * learned of small work and of launches.  by itself: the kind does not say.  x was prepared for s at any batch.
 */
pm_code		pm_predictor_share(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double by, double *share, pm_status *st);
/* *share: of the answer to s, what the optimizer's update adds to it, 0..1; NaN: the kind does not say. */
pm_code		pm_predictor_update_share(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double *share, pm_status *st);
/* The work of s; x was prepared for s at any batch. *work is on the bench, and valid until the bench is used for another question. */
pm_code		pm_predictor_work(pm_prepared *x, const pm_sample *s, const pm_tokens **work, pm_status *st);

#endif
