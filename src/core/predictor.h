/*
 * predictor.h - the interface that every kind of predictor implements.
 *
 * A kind is one file with one pm_kind.  The glue knows kinds only through
 * pm_kind_find(); a new kind is a new file and a row in predictor.c.
 *
 * A pm_predictor is immutable after fit or load, and predict() only reads it,
 * so one predictor may serve many calls; scratch memory comes with the call.
 */
#ifndef PM_PREDICTOR_H
#define PM_PREDICTOR_H

#include "tokens.h"
#include "trust.h"

/* ---- rows to learn from ---- */

typedef struct pm_sample
{
	pm_query	query;
	const pm_skeleton *skeleton;
	double		step_ms;		/* measured, > 0; 0 in a row to predict only */
	double		forward_ms;		/* NaN: not measured */
	double		backward_ms;
	double		weight;			/* 1, or less for a noisy row */
	int64_t		id;				/* profile_id, for messages */
} pm_sample;

typedef struct pm_dataset
{
	int			n;
	pm_sample  *samples;
	int			n_operators;	/* single operators, for kinds that can learn from them: graphs of one node, */
	pm_sample  *operators;		/* query.alone, step_ms of forward and backward pass; never predicted or tested */
} pm_dataset;

/* ---- options ---- */

typedef enum pm_option_type
{
	PM_OPT_INT, PM_OPT_REAL, PM_OPT_BOOL, PM_OPT_CHOICE
} pm_option_type;

typedef struct pm_option
{
	const char *name;
	pm_option_type type;
	double		initial;		/* default; for CHOICE an index */
	double		min,
				max;			/* inclusive */
	const char *choices;		/* "log_huber|mse_raw|mae_raw", CHOICE only */
	const char *help;
} pm_option;

/* One value given by the user. text is set for strings, else number (booleans 0/1). */
typedef struct pm_setting
{
	const char *name;
	const char *text;			/* NULL when it was a number or boolean */
	double		number;
	bool		is_bool;
} pm_setting;

#define PM_MAX_OPTIONS 48

/* The row in a kind's table that has pm_predictor_fit() calibrate intervals. */
#define PM_OPTION_CALIBRATION {"calibration_folds", PM_OPT_INT, 5, 0, 100, NULL, \
	"trainings on a part of the structures that calibrate intervals; below 2: none"}

/* Values of all options of a kind, in the order of its table. */
typedef struct pm_options
{
	double		value[PM_MAX_OPTIONS];
} pm_options;

typedef struct pm_kind pm_kind;

/* Defaults, then settings; PM_ERR_OPTION names an unknown option and lists the known ones, or states the range. */
pm_code		pm_options_set(const pm_kind *kind, const pm_setting *settings, int n, pm_options *o, pm_status *st);
/* Settings over what is in o already. */
pm_code		pm_options_change(const pm_kind *kind, const pm_setting *settings, int n, pm_options *o, pm_status *st);
/* Index of an option in the kind's table, -1 when it has none of that name. */
int			pm_option_find(const pm_kind *kind, const char *name);
/* Its value; NaN when the kind has no such option. Every kind has "seed". */
double		pm_option_value(const pm_kind *kind, const pm_options *o, const char *name);
/* Text of a value as the user would write it ("0.001", "true", "log_huber"). */
void		pm_option_print(const pm_option *def, double value, char *buf, size_t size);

/* ---- results ---- */

/* What a token contributes. All in ms; forward + backward + update = step_ms when split is known, else NaN. */
typedef struct pm_part
{
	int			token;			/* index into the skeleton; -1: the rest of the step */
	double		step_ms;		/* all copies together */
	double		forward_ms,
				backward_ms,
				update_ms;
	char		bound;			/* 'c'ompute, 'm'emory, 'l'aunch, '-' */
} pm_part;

typedef struct pm_fit_report
{
	double		valid_mape;		/* on the validation part, fraction; NaN: none */
	double		valid_mae_ms;
	double		valid_rmse_ms;
	int			valid_n;
	double		train_mape;		/* fraction, on the rows that were trained on */
	int			epochs;			/* run */
	int			best_epoch;
	double		seconds;
	int64_t		n_params;		/* trained numbers */
	double	   *cross_ms;		/* [n] of each training row, predicted by what had not seen its structure, NaN where that
								 * failed; in the arena of fit; NULL: not calibrated.  Not for kinds to fill */
} pm_fit_report;

typedef struct pm_correction pm_correction;

/* A predictor that training goes on from. */
typedef struct pm_start
{
	const struct pm_predictor *predictor;	/* of the same kind, which has check_start */
	const bool *seen;			/* [rows] it was trained on their structure; NULL: on none */
} pm_start;

typedef struct pm_predictor
{
	const pm_kind *kind;
	pm_options	options;
	void	   *impl;			/* the kind's own */
	const pm_trust *trust;		/* set by pm_predictor_fit() and pm_predictor_load() */
	const pm_start *start;		/* read by fit; NULL: train from random numbers */
	const pm_correction *correction;	/* of recalibrate.h, applied to what the kind predicts; NULL: none */
} pm_predictor;

/* Growing byte buffer and bounded reader for stored predictors; little-endian. */
typedef struct pm_buffer
{
	pm_arena   *arena;
	uint8_t    *data;
	size_t		len,
				cap;
	bool		failed;			/* out of memory somewhere */
} pm_buffer;

typedef struct pm_reader
{
	const uint8_t *data;
	size_t		len,
				at;
	bool		failed;			/* read past the end, or a value out of its range */
} pm_reader;

void		pm_put_u32(pm_buffer *b, uint32_t v);
void		pm_put_f64(pm_buffer *b, double v);
void		pm_put_text(pm_buffer *b, const char *s);
void		pm_put_reals(pm_buffer *b, const pm_real *v, size_t n);	/* as float32 */
uint32_t	pm_get_u32(pm_reader *r, uint32_t max);	/* fails when above max */
double		pm_get_f64(pm_reader *r);	/* fails on NaN and infinity */
const char *pm_get_text(pm_reader *r, pm_arena *a);
void		pm_get_reals(pm_reader *r, pm_real *v, size_t n); /* fails on NaN and infinity */

struct pm_kind
{
	const char *name;			/* 'mdot' */
	const char *summary;		/* one sentence */
	const pm_option *options;
	int			n_options;
	int			min_samples;	/* fewer rows: PM_ERR_DATA */

	/* Conditions between options; may be NULL. */
	pm_code		(*check) (const pm_options *o, pm_status *st);

	/* Whether a training with options o can start from `from`, of the same kind. NULL: the kind knows no start. */
	pm_code		(*check_start) (const pm_options *o, const pm_predictor *from, pm_status *st);
	/* whether it learns from single operators with these options; NULL: never */
	bool		(*learns_operators) (const pm_options *o);

	/* Bytes that fit() will take, from what is known before anything is allocated. */
	double		(*memory) (const pm_options *o, const pm_dataset *d, int threads);
	/*
	 * Learn from d. On PM_OK p->impl is set (in arena a). Everything taken is taken from a.
	 * seed: same seed and same rows give the same bits whatever `threads` is.
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
	 * Optional, both or none: what of the answer to s does not depend on its batch, computed once.
	 * t: tokens of s, with features.  *state (in arena a) is handed to predict_prepared; NULL: the
	 * options of p make all of it depend on the batch.  predict_prepared is given the work at the
	 * batch of s and answers as predict would, to the bit; it allocates nothing.
	 */
	pm_code		(*prepare) (const pm_predictor *p, const pm_sample *s, const pm_tokens *t, pm_arena *a,
							pm_arena *scratch, void **state, pm_status *st);
	double		(*predict_prepared) (const pm_predictor *p, const void *state, const pm_tokens *work);
	pm_code		(*save) (const pm_predictor *p, pm_buffer *b, pm_status *st);
	pm_code		(*load) (pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st);
};

/* NULL when unknown. */
const pm_kind *pm_kind_find(const char *name);
/* i-th kind, NULL past the end; for listing. */
const pm_kind *pm_kind_at(int i);

/* Whether skeletons for this predictor are merged (kind and its option "merge"). */
bool		pm_predictor_merges(const pm_kind *kind, const pm_options *o);

/* Whether all measurements can be learned from: times, and names that can be stored. */
pm_code		pm_check_profiles(const pm_dataset *d, pm_status *st);

/*
 * Validate d against the kind, kind->fit, and learn p->trust.  A kind with the
 * option "calibration_folds" is first trained that often without a part of the
 * structures, to predict that part.  report->valid_* are of those cross
 * predictions where the kind holds nothing out itself.
 *
 * A training that goes on from p->start is not calibrated by folds, as the
 * start has seen what they would hold out: its intervals are those of the start
 * and the errors that this had on rows of other structures (pm_trust_update).
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
 * What of a question (all of a query but its batch) is computed once: the
 * graph, device and formats through the network, which operators are like those
 * in training.  It refers to the predictor and the skeleton, which must stay.
 * Not for several threads: each use puts its batch in.
 */
typedef struct pm_prepared
{
	int64_t		batch;			/* that work is of; 0: none yet */
	pm_tokens	work;
	void	   *state;			/* the kind's; NULL: it has to be asked anew for each batch */
	const uint8_t *novelty;		/* pm_trust_prepare() */
} pm_prepared;

/* Everything kept is taken from a.  Errors as of pm_predictor_predict(). */
pm_code		pm_predictor_prepare(const pm_predictor *p, const pm_sample *s, pm_arena *a, pm_arena *scratch,
								 pm_prepared *x, pm_status *st);
/*
 * pm_predictor_predict() and pm_predictor_judge() of s, which x was prepared
 * for at any batch: the same bits, and nothing is allocated where the kind
 * prepares.
 */
pm_code		pm_predictor_predict_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, pm_arena *scratch,
										  double *step_ms, pm_status *st);
pm_code		pm_predictor_judge_prepared(const pm_predictor *p, pm_prepared *x, const pm_sample *s, double step_ms,
										double level, pm_verdict *v, pm_status *st);

/* Parts for a kind that knows the step alone: tokens share it out by roofline time. */
void		pm_share_by_roofline(const pm_tokens *t, double step_ms, pm_part *parts, int *n_parts);
/* The whole stored form: magic, format version, kind, options, payload, trust, correction, CRC-32C. */
pm_code		pm_predictor_save(const pm_predictor *p, pm_arena *a, uint8_t **data, size_t *len, pm_status *st);
pm_code		pm_predictor_load(const uint8_t *data, size_t len, pm_arena *a, pm_predictor *p, pm_status *st);

#endif
