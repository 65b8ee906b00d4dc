/*
 * split.h - rows that belong together: folds for tests, and structures, each of
 * which counts as one piece of evidence.
 */
#ifndef PM_SPLIT_H
#define PM_SPLIT_H

#include "features/dataset.h"

/* Different numbers among v[n], which is sorted. n may be 0. */
int			pm_count_different(uint64_t *v, int n);
/* Different structures of the rows of d. found: [d->n] scratch. */
int			pm_count_structures(const pm_dataset *d, uint64_t *found);

/* A number for the network and device of a row: that of no other pair. */
uint64_t	pm_transfer_key(const pm_sample *s);

typedef enum pm_split
{
	PM_SPLIT_STRUCTURE,			/* R: identical graphs stay on one side */
	PM_SPLIT_FAMILY,			/* F: families dealt to folds of about the same number of rows, several to each */
	PM_SPLIT_BATCH,				/* B: one fold; rows up to the median batch train, larger ones test */
	PM_SPLIT_GPU,				/* G: one fold a GPU */
	PM_SPLIT_FAR,				/* networks that spend their time on the same types of operators, far from the others: split_far.h */
	PM_SPLIT_TRANSFER,			/* a network on one card, which was measured on others too; rows of other networks always train */
	PM_N_SPLITS
} pm_split;

int			pm_split_parse(const char *s);	/* -1 unknown */
extern const char *const pm_split_name[PM_N_SPLITS];

/*
 * fold_of[i] gets 0..*n_folds-1: the fold in which row i is tested; -1: always in training (batch and transfer split).
 * folds is ignored by 'batch' (1) and 'gpu' (number of GPUs).
 * PM_ERR_DATA when there are fewer groups than folds.  Samples need a skeleton for 'far', and what a roofline needs.
 */
pm_code		pm_split_assign(pm_split split, int folds, uint64_t seed, const pm_dataset *d,
							pm_arena *a, int *fold_of, int *n_folds, pm_status *st);

#endif
