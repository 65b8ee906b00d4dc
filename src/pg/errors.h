/*
 * errors.h - errors of the core as errors of the server, and hints for names
 * that do not exist.
 */
#ifndef PM_PG_ERRORS_H
#define PM_PG_ERRORS_H

#include "compat.h"
#include "base/core.h"

/* Raise the server's error for a status of the core that is not PM_OK. */
pg_noreturn extern void pm_raise(const pm_status *st);

/*
 * In PG_CATCH: the error, copied into cxt, which becomes the current context;
 * there is none in flight any more.  Does not raise: where there is no memory
 * for the copy, it is a static "out of memory".
 */
extern ErrorData *pm_error_copy(MemoryContext cxt);

/*
 * A name as errors show it: whole when it is short, else its beginning and
 * "...", in the current context.  What a statement was given may be megabytes.
 */
extern const char *pm_shown_name(const char *name);

/* A NOTICE about an interval above 0 and below what makes sense: who writes a number alone means hours or days, and gets seconds. */
extern void pm_notice_short(const char *name, Datum value, Datum least, const char *says, const char *example);

/* Whether a name is nothing but white space, or empty. */
extern bool pm_is_blank(const char *name);

/*
 * A hint for a name that does not exist: the closest of names[n], how many
 * there are, the query that lists them, and how to add one, such as
 * "call perfmodel.train()" (NULL: nobody can).
 */
extern char *pm_did_you_mean(const char *wanted, const char *const *names, int n, const char *list_query, const char *how_to_add);

/*
 * The same where the caller knows how near each of names[n] is, 0: not at all.
 * The nearest and those less than 1 behind it; NULL: none is near.
 */
extern char *pm_did_you_mean_nearest(const char *const *names, const double *nearness, int n, const char *list_query, const char *how_to_add);

/* Put the numbers of these, but at most so many, into chosen[most], the nearest first; returns how many. */
extern int	pm_choose_nearest(const double *nearness, int n, int *chosen, int most);

/* "a, b, c" with quotes around each. */
extern char *pm_quoted_list(const char *const *names, int n);

/*
 * Raise the error that word, which a caller gave for `what` ("policy"), is none of names[n].
 * SQLSTATE 22023; the hint lists the names.
 */
pg_noreturn extern void pm_unknown_word(const char *what, const char *word, const char *const *names, int n);

/* A hint for an unknown word: those that are known, and that "other", if it is among them, stands for all else. */
extern char *pm_known_words(const char *const *names, int n);

#endif
