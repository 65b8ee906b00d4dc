/*
 * json_reader.h - reads JSON text from the front, one value after the other.
 *
 * Strict: RFC 8259, valid UTF-8, at most PM_JSON_MAX_DEPTH levels. Time is
 * linear in the length of the text, the stack does not grow with it, and the
 * caller's hooks can cancel on the way. Functions return false (or -1) once
 * r->code is set; then r->st has the message.
 */
#ifndef PM_JSON_READER_H
#define PM_JSON_READER_H

#include "base/core.h"

#define PM_JSON_MAX_DEPTH	64
#define PM_JSON_KEY_SIZE	32		/* longer keys are none of ours */
#define PM_JSON_MAX_STRING	512		/* bytes */

typedef struct pm_json
{
	const char *text;
	const char *p;				/* next byte */
	const char *end;
	pm_arena   *arena;
	pm_status  *st;
	pm_code		code;
	unsigned	asked;			/* elements since who waits was asked */
	int			node;			/* being read, -1: the document itself; errors name it */
} pm_json;

typedef struct pm_json_number
{
	bool		exact;			/* i holds the value */
	int64_t		i;
	double		d;
} pm_json_number;

/* ---- errors; always false ---- */

bool		pm_json_syntax(pm_json *r, const char *what);
bool		pm_json_no_memory(pm_json *r);
/* An error that names the node (if any) and the key. */
bool		pm_json_bad(pm_json *r, pm_code code, const char *key, const char *fmt,...) PM_PRINTF(4, 5);

/* ---- structure ---- */

/* The next byte that is not white space, without taking it; 0 at the end. */
char		pm_json_peek(pm_json *r);

/*
 * Step to the next element of an array (close ']') or object whose opening
 * bracket has been taken: 1 there is one, 0 the closing bracket was taken, -1
 * error.  *n, 0 at first, counts the elements.
 */
int			pm_json_next_element(pm_json *r, char close, int *n);
/* The same for an object: takes the key, decoded, "" when it is longer than any of ours. */
int			pm_json_next_key(pm_json *r, int *n, char key[PM_JSON_KEY_SIZE]);

/* Step over a value of any kind, checking that it is JSON. */
bool		pm_json_skip(pm_json *r, int depth);
/* Number of elements of the array or object ahead, without taking it. */
bool		pm_json_count(pm_json *r, int *n);

/* ---- values of given types; key is for errors ---- */

bool		pm_json_number_at(pm_json *r, pm_json_number *n);
bool		pm_json_literal(pm_json *r, const char *word);	/* true, false, null */
bool		pm_json_int(pm_json *r, const char *key, int64_t *value);
bool		pm_json_not_negative(pm_json *r, const char *key, double *value);	/* and finite */
bool		pm_json_bool(pm_json *r, const char *key, bool *value);
/* A string of at most PM_JSON_MAX_STRING bytes without NUL, decoded into buf; or copied into the arena. */
bool		pm_json_string(pm_json *r, const char *key, char buf[PM_JSON_MAX_STRING + 8]);
bool		pm_json_text(pm_json *r, const char *key, const char **value);

#endif
