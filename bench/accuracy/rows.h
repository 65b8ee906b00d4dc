/*
 * rows.h - measurements and their graphs from files, and the folds that the
 * accuracy benchmark cuts them into.
 */
#ifndef ACCURACY_ROWS_H
#define ACCURACY_ROWS_H

#include "base/metrics.h"
#include "features/split.h"
#include "predictor/predictor.h"

/* Which rows of a file are read; NULL: all. */
typedef struct filter
{
	const char *layout;
	const char *framework;
	const char *mode;			/* NULL: train */
} filter;

typedef struct rows
{
	pm_dataset	set;
	bool	   *may_test;		/* [n] false: the row trains and is never tested */
	const char **family;		/* [n] */
} rows;

/* Print what went wrong and exit with 1; st may be NULL. */
void		die(const char *what, const pm_status *st) __attribute__((noreturn));

/* The setting of an option of a kind: name[len] and its value as text, which must stay. */
void		read_setting(const char *name, size_t len, const char *value, pm_arena *a, pm_setting *s);

/* Data sheets, from CSV. Names and aliases ("a|b") are found later. */
void		read_gpus(const char *path, pm_arena *a);
/*
 * Add the rows of a CSV file to r, with their graphs out of an NDJSON file.
 * Rows of another mode than keep's, of several devices, and without a graph are left out.
 */
void		read_rows(const char *graphs, const char *profiles, const filter *keep, const filter *test,
					  bool merge, pm_arena *a, rows *r);

/* Add the single operators of a CSV file in the columns of op_profile to r. */
void		read_operators(const char *path, bool merge, pm_arena *a, rows *r);

/* ---- folds ---- */

typedef struct folds
{
	int			n;
	int		   *fold_of;		/* [rows] -1: never tested */
	const char **name;			/* [n] */
	bool		drop_twins;		/* rows with the structure of a tested row do not train */
} folds;

/*
 * split: structure, family (families dealt to folds), far (networks unlike the others), family10 (one fold for
 * each of the ten largest families), model (one fold a model), batch, gpu.
 */
void		cut_folds(const char *split, int n_folds, uint64_t seed, const rows *r, pm_arena *a, folds *f);

/*
 * The rows that train for a fold.  part: percent of the structures to keep,
 * smaller parts within larger ones.  *twins: rows dropped as twins.
 */
pm_dataset	training_rows(const rows *r, const folds *f, int fold, int part, uint64_t seed, pm_arena *a, int *twins);

/*
 * train->passes, in arena a: of the forward passes those whose network is not tested in the fold, and, if families, whose family is not.
 * Returns which are: [passes->set.n].
 */
bool	   *join_passes(const rows *passes, const rows *r, const folds *f, int fold, bool families, pm_arena *a, pm_dataset *train);
/* Print the error on the passes that are tested, if there are any. */
void		print_passes(const rows *passes, const bool *tested, const pm_predictor *p);

/* Distinct structures of a set. */
int			count_structures(const pm_dataset *d);

#endif
