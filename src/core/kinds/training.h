/*
 * training.h - code that the trainings of all networks share: options, and the
 * choice of rows.
 */
#ifndef PM_TRAINING_H
#define PM_TRAINING_H

#include "kinds/options.h"
#include "nn/trainer.h"

/* ---- options ---- */

/* These stand behind one another in the table of every network. */
typedef enum pm_training_option
{
	PM_TRAIN_EPOCHS, PM_TRAIN_PATIENCE, PM_TRAIN_BATCH_SIZE, PM_TRAIN_LEARNING_RATE, PM_TRAIN_FINAL_RATE, PM_TRAIN_WARMUP,
	PM_TRAIN_WEIGHT_DECAY, PM_TRAIN_CLIP, PM_TRAIN_EMA, PM_TRAIN_VALID,
	PM_N_TRAINING_OPTIONS
} pm_training_option;

/* Rows of an option table, from index `first` on. */
#define PM_TRAINING_OPTIONS(first, epochs, rate) \
	[(first) + PM_TRAIN_EPOCHS] = {"epochs", PM_OPT_INT, (epochs), 1, 100000, NULL, \
	"passes over the training rows, at the most"}, \
	[(first) + PM_TRAIN_PATIENCE] = {"patience", PM_OPT_INT, 0, 0, 100000, NULL, \
	"stop after this many epochs without a better validation error, and keep the best weights; 0: never stop early, and keep the last"}, \
	[(first) + PM_TRAIN_BATCH_SIZE] = {"batch_size", PM_OPT_INT, 16, 1, PM_MAX_MINIBATCH, NULL, "training rows in one step of the optimizer"}, \
	[(first) + PM_TRAIN_LEARNING_RATE] = {"learning_rate", PM_OPT_REAL, (rate), 1e-8, 1e7, NULL, "learning rate at its highest, after the warm-up"}, \
	[(first) + PM_TRAIN_FINAL_RATE] = {"final_rate", PM_OPT_REAL, 1e-5, 0, 1, NULL, "learning rate at the end; it falls there along a cosine"}, \
	[(first) + PM_TRAIN_WARMUP] = {"warmup", PM_OPT_REAL, 0.05, 0, 0.9, NULL, "fraction of all steps in which the learning rate rises"}, \
	[(first) + PM_TRAIN_WEIGHT_DECAY] = {"weight_decay", PM_OPT_REAL, 0.01, 0, 10, NULL, "weight decay of AdamW, on matrices only"}, \
	[(first) + PM_TRAIN_CLIP] = {"clip", PM_OPT_REAL, 1.0, 0, 1e6, NULL, "largest norm of the whole gradient, which is scaled down to it; 0: no limit"}, \
	[(first) + PM_TRAIN_EMA] = {"ema", PM_OPT_REAL, 0.99, 0, 0.99999, NULL, "decay of the moving average of the weights, which is kept; 0: no average"}, \
	[(first) + PM_TRAIN_VALID] = {"valid_fraction", PM_OPT_REAL, 0, 0, 0.5, NULL, \
	"rows held out to judge by, and with patience to stop by; split by structure"}

/* v[PM_N_TRAINING_OPTIONS]: their values. */
pm_train_options pm_training_schedule(const double *v, uint64_t seed, int threads);

/* ---- rows ---- */

typedef struct pm_training_rows
{
	int			n;
	double	   *step_ms;		/* [n] measured */
	double	   *weight;			/* [n] */
	int		   *tokens;			/* [n] operators: how much work a row is */
	int		   *train;			/* [n_train] rows to learn from */
	int		   *valid;			/* [n_valid] rows held out */
	int			n_train;
	int			n_valid;
} pm_training_rows;

/*
 * The rows of d; v as above: a fraction of them, chosen by seed, is held out.
 * Rows of d from `steps` on (single operators) only train.
 */
pm_code		pm_training_rows_take(pm_training_rows *r, const pm_dataset *d, int steps, const double *v, uint64_t seed,
								  pm_arena *a, pm_status *st);

/* Mean and standard deviation (at least 0.01) of ln(step_ms) of n samples. */
void		pm_log_moments(const pm_sample *samples, int n, double *mean, double *sigma);

#endif
