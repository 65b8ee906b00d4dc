/*
 * split.h - divides rows into folds for tests, and counts structures (different
 * networks).
 */
#ifndef PM_SPLIT_H
#define PM_SPLIT_H

#include "features/dataset.h"

/* Number of different values in v[n], n >= 0; v is in ascending order afterwards. */
int			pm_count_different(uint64_t *v, int n);
/* same[n]: how many of v[n] are equal to each, itself included; returns the number of different values.  sorted[n]: scratch. */
int			pm_count_same(const uint64_t *v, int n, uint64_t *sorted, int *same);
/* Number of different structures in the rows of d. found: [d->n] scratch. */
int			pm_count_structures(const pm_dataset *d, uint64_t *found);

/* A number for the pair of network and device of a row; other pairs have other numbers. */
uint64_t	pm_transfer_key(const pm_sample *s);

typedef enum pm_split
{
	PM_SPLIT_STRUCTURE,			/* R: identical graphs stay on one side */
	PM_SPLIT_FAMILY,			/* F: a fold has whole families; folds have about the same number of rows */
	PM_SPLIT_BATCH,				/* B: one fold; rows up to the median batch train, larger ones test */
	PM_SPLIT_GPU,				/* G: one fold a GPU */
	PM_SPLIT_FAR,				/* a fold has networks that spend their time on the same types of operators, far from all others: split_far.h */
	PM_SPLIT_TRANSFER,			/* a network on one card, which was measured on others too; rows of other networks always train */
	PM_N_SPLITS
} pm_split;

/* The split with this name; -1: there is none. */
int			pm_split_parse(const char *s);
extern const char *const pm_split_name[PM_N_SPLITS];

/*
 * fold_of[d->n]: the fold, 0 to *n_folds - 1, in which each row is tested; -1: it is always in training (batch and transfer split).
 * folds is the number of folds, except of 'batch' (1) and 'gpu' (the number of GPUs).  'far' needs skeletons, and data sheets
 * with the figures of a roofline.  PM_ERR_DATA: fewer groups than folds; PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_split_assign(pm_split split, int folds, uint64_t seed, const pm_dataset *d,
							pm_arena *a, int *fold_of, int *n_folds, pm_status *st);

/*
 * The fold in whose training a forward pass must not be, given fold_of[d->n] of the steps; -1: it may be in all.  It is the fold in which steps
 * of the same network are tested (of its family in 'family', on its GPU in 'gpu', of the network on its GPU in 'transfer'; in 'batch', that of
 * passes at batches larger than all that train).
 */
int			pm_split_fold_of_pass(pm_split split, const pm_dataset *d, const int *fold_of, const pm_sample *pass);

#endif
