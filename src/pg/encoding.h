/*
 * encoding.h - conversion between the encoding of the database and UTF-8, the
 * encoding of the core: for documents, names, stored predictors and messages.
 *
 * If both are the same, and for SQL_ASCII, nothing is copied, unless a message
 * has bytes that are not UTF-8.
 */
#ifndef PM_PG_ENCODING_H
#define PM_PG_ENCODING_H

/* Raises for bytes that are not of the database's encoding; those of SQL_ASCII must be UTF-8. */
extern char *pm_to_core(const char *s);

/*
 * The same for what is in tables, where one bad row must not spoil the others, and for words of a question: NULL, or
 * a question mark for each byte beyond ASCII, where bytes cannot be converted.
 */
extern char *pm_to_core_or_null(const char *s);
extern char *pm_to_core_lossy(const char *s);

/* Raises for letters that the database's encoding lacks. */
extern char *pm_from_core(const char *s);

/* The same for messages and notes: does not raise, but puts a question mark for such letters and for bytes that are no UTF-8. */
extern char *pm_message_from_core(const char *s);

#endif
