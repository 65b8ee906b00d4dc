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
#define PM_JSON_KEY_SIZE	32		/* no key of the format is longer */
#define PM_JSON_MAX_STRING	512		/* bytes */

typedef struct pm_json
{
	const char *text;
	const char *p;				/* next byte */
	const char *end;
	pm_arena   *arena;
	pm_status  *st;
	pm_code		code;
	unsigned	asked;			/* elements since the caller's hooks were asked whether to stop */
	int			node;			/* being read, -1: the document itself; errors name it */
} pm_json;

typedef struct pm_json_number
{
	bool		exact;			/* i holds the value */
	int64_t		i;
	double		d;
} pm_json_number;

/* ---- errors; always false ---- */

/* PM_ERR_INPUT: the text is not JSON at this byte; what: what is wrong. */
bool		pm_json_syntax(pm_json *r, const char *what);
bool		pm_json_no_memory(pm_json *r);	/* PM_ERR_MEMORY */
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
/* The same for an object: also takes the key, decoded; "" if it is longer than all keys of the format. */
int			pm_json_next_key(pm_json *r, int *n, char key[PM_JSON_KEY_SIZE]);

/* Step over a value of any kind, and check that it is JSON. depth: levels around it; more than PM_JSON_MAX_DEPTH are an error. */
bool		pm_json_skip(pm_json *r, int depth);
/* *n: number of elements of the array or object that comes next, without taking it. */
bool		pm_json_count(pm_json *r, int *n);

/* ---- values of given types; false and an error for others; key is for the message ---- */

bool		pm_json_number_at(pm_json *r, pm_json_number *n);
bool		pm_json_literal(pm_json *r, const char *word);	/* true, false, null */
bool		pm_json_int(pm_json *r, const char *key, int64_t *value);
bool		pm_json_not_negative(pm_json *r, const char *key, double *value);	/* and finite */
bool		pm_json_bool(pm_json *r, const char *key, bool *value);
/* A string of at most PM_JSON_MAX_STRING bytes without NUL, decoded: into buf, or with pm_json_text() into the arena. */
bool		pm_json_string(pm_json *r, const char *key, char buf[PM_JSON_MAX_STRING + 8]);
bool		pm_json_text(pm_json *r, const char *key, const char **value);

#endif
