/*
 * schema.h - the lists of names that a predictor was trained with, and the
 * place of each name in this library.
 *
 * A predictor keeps the numbering of the library that trained it, for rows of
 * its tables and columns of its matrices. A question is translated into this
 * numbering. A newer library may have more names than a stored list, in any
 * order; the predictor gives the same answers, to the bit.
 */
#ifndef PM_SCHEMA_H
#define PM_SCHEMA_H

#include "base/serial.h"
#include "features/tokens.h"

typedef enum pm_list_id
{
	PM_LIST_SLOT, PM_LIST_LOAD, PM_LIST_JOB,	/* features: features.h */
	PM_LIST_CLASS, PM_LIST_CONV_KIND,	/* of operators */
	PM_LIST_DTYPE, PM_LIST_LAYOUT,	/* of questions */
	PM_LIST_RELATION, PM_LIST_POSITION, /* of skeletons */
	PM_N_LISTS
} pm_list_id;

/* A list of names and what it is a list of, for messages: "dtype". */
typedef struct pm_names
{
	const char *what;
	int			n;
	const char *const *names;	/* [n] */
} pm_names;

/* From a stored list to the list of this library, and back. Both pointers are NULL if the lists are the same. */
typedef struct pm_translation
{
	int			n;				/* names in the stored list */
	const int32_t *here;		/* [n] their places in this library */
	const int32_t *there;		/* [names in this library] their places in the stored list; -1: not in it */
} pm_translation;

typedef struct pm_schema
{
	pm_translation list[PM_N_LISTS];
} pm_schema;

/* Number of inputs of each sort that a network has. */
typedef struct pm_widths
{
	int			slots;
	int			loads;
	int			job;
	int			classes;
	int			dtypes;
	int			layouts;
} pm_widths;

/* The lists of this library, which new predictors are trained with. */
extern const pm_schema pm_schema_here;

/* Place in this library of the i-th name of a stored list. */
static inline int
pm_here(const pm_schema *s, pm_list_id list, int i)
{
	return s->list[list].here != NULL ? s->list[list].here[i] : i;
}

/* Place in the stored list of the i-th name of this library; -1: the predictor does not know it. */
static inline int
pm_there(const pm_schema *s, pm_list_id list, int i)
{
	return s->list[list].there != NULL ? s->list[list].there[i] : i;
}

/* The widths for a predictor with these lists; s NULL: the lists of this library. */
pm_widths	pm_widths_of(const pm_schema *s);

/* Append the stored form of s to b: the lists, PM_WORK_VERSION and PM_FEATURE_VERSION. */
void		pm_schema_save(const pm_schema *s, pm_buffer *b);
/*
 * *s, in arena a: the schema that pm_schema_save() stored.  PM_ERR_OUTDATED: the
 * rules of work or of features have changed since, or it has a name that this
 * library lacks; PM_ERR_FORMAT: damaged; PM_ERR_MEMORY.
 */
pm_code		pm_schema_load(pm_reader *r, pm_arena *a, const pm_schema **s, pm_status *st);

/* A single list, for other things that are stored by names. Errors as above. */
void		pm_names_save(const pm_names *list, pm_buffer *b);
pm_code		pm_names_load(const pm_names *list, pm_reader *r, pm_arena *a, pm_translation *t, pm_status *st);

/* *t as if pm_names_load() had read the list `stored`. */
pm_code		pm_names_match(const pm_names *list, const pm_names *stored, pm_arena *a, pm_translation *t, pm_status *st);

/* The list of this library. */
const pm_names *pm_list_here(pm_list_id list);

/* Numbers with their names: v[n]. */
void		pm_named_save(const pm_names *list, const double *v, pm_buffer *b);
/* v[n] gets the stored numbers; others keep their value. PM_ERR_OUTDATED: one of those is NaN. */
pm_code		pm_named_load(const pm_names *list, double *v, pm_reader *r, pm_arena *a, pm_status *st);

/* Sets this message and the hint to train again. Returns PM_ERR_OUTDATED. */
pm_code		pm_outdated(pm_status *st, const char *fmt,...) PM_PRINTF(2, 3);

#endif
