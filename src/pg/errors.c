/*
 * errors.c - the one place where statuses of the core become errors of the
 * server, and where hints for mistyped names are made.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_collation.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/formatting.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "base/blanks.h"
#include "encoding.h"
#include "errors.h"
#include "problem.h"

PG_FUNCTION_INFO_V1(pm_require);
PG_FUNCTION_INFO_V1(pm_notice_short_sql);

#define N_CANDIDATES	4
#define FEW_NAMES		3		/* of which a hint names all */
#define SHOWN_BYTES		80		/* of a name in an error */
#define MAX_NAME_BYTES	255		/* beyond this the server's edit distance refuses */
#define MOST_READ		10000	/* bytes of a name that hints are made from */
#define SHORTEST_PART	4		/* bytes of a name that is looked for within another */
#define NOT_ALIKE		PG_INT32_MAX
#define SHORTEST_WORD	3		/* bytes of the first word of two names that are alike by it */

static int
sqlstate_of(pm_code code)
{
	switch (code)
	{
		case PM_ERR_MEMORY:
			return ERRCODE_OUT_OF_MEMORY;
		case PM_ERR_LIMIT:
			return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
		case PM_ERR_INPUT:
		case PM_ERR_OPTION:
			return ERRCODE_INVALID_PARAMETER_VALUE;
		case PM_ERR_FORMAT:
			return ERRCODE_DATA_CORRUPTED;
		case PM_ERR_OUTDATED:
		case PM_ERR_DATA:
			return ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE;
		case PM_ERR_DIVERGED:
			return ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
		case PM_CANCELLED:
			return ERRCODE_QUERY_CANCELED;
		case PM_OK:
		case PM_ERR_INTERNAL:
			break;
	}
	return ERRCODE_INTERNAL_ERROR;
}

void
pm_raise(const pm_status *st)
{
	if (st->code == PM_CANCELLED)
		CHECK_FOR_INTERRUPTS(); /* says who has cancelled */
	ereport(ERROR,
			(errcode(sqlstate_of(st->code)),
			 errmsg_internal("%s", pm_message_from_core(st->message)),
			 st->detail[0] ? errdetail_internal("%s", pm_message_from_core(st->detail)) : 0,
			 st->hint[0] ? errhint("%s", pm_message_from_core(st->hint)) : 0));
}

pm_problem
pm_problem_of_status(const char *reason, const pm_status *st)
{
	return (pm_problem) {
		reason, sqlstate_of(st->code), pstrdup(pm_message_from_core(st->message)),
		st->detail[0] ? pstrdup(pm_message_from_core(st->detail)) : NULL, st->hint[0] ? pstrdup(pm_message_from_core(st->hint)) : NULL
	};
}

const char *
pm_problem_hint(const pm_problem *p)
{
	return p->hint_for != NULL ? p->hint_for(p->name) : p->hint;
}

void
pm_problem_raise(const pm_problem *p)
{
	const char *hint = pm_problem_hint(p);

	ereport(ERROR,
			(errcode(p->sqlstate),
			 errmsg_internal("%s", p->message),
			 p->detail ? errdetail_internal("%s", p->detail) : 0,
			 hint ? errhint("%s", hint) : 0));
}

/* require(condition, message, hint): an error without a function of its own below it, as a check in PL/pgSQL has. */
Datum
pm_require(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || !PG_GETARG_BOOL(0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg_internal("%s", PG_ARGISNULL(1) ? "an argument is out of range" : text_to_cstring(PG_GETARG_TEXT_PP(1))),
				 PG_ARGISNULL(2) ? 0 : errhint("%s", text_to_cstring(PG_GETARG_TEXT_PP(2)))));
	PG_RETURN_BOOL(true);
}

/* example: an interval with its unit, such as "8 hours". */
void
pm_notice_short(const char *name, Datum value, Datum least, const char *says, const char *example)
{
	Interval	none = {0};
	const char *unit = strchr(example, ' ');

	if (!DatumGetBool(DirectFunctionCall2(interval_gt, value, IntervalPGetDatum(&none))) || !DatumGetBool(DirectFunctionCall2(interval_lt, value, least)))
		return;
	ereport(NOTICE,
			(errmsg("%s is %s: %s", name, DatumGetCString(DirectFunctionCall1(interval_out, value)), says),
			 errhint("An interval without a unit is in seconds. For %s, write '%s'.", unit != NULL ? unit + 1 : example, example)));
}

/* notice_short(name, value, sensible, says, example) */
Datum
pm_notice_short_sql(PG_FUNCTION_ARGS)
{
	for (int i = 0; i < 5; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_BOOL(true);
	pm_notice_short(text_to_cstring(PG_GETARG_TEXT_PP(0)), PG_GETARG_DATUM(1), PG_GETARG_DATUM(2), text_to_cstring(PG_GETARG_TEXT_PP(3)),
					text_to_cstring(PG_GETARG_TEXT_PP(4)));
	PG_RETURN_BOOL(true);
}

/* For want of memory to copy the error that says so. */
static ErrorData *
out_of_memory(void)
{
	static char message[] = "out of memory";
	static ErrorData e;

	e = (ErrorData) {.elevel = ERROR,.output_to_server = true,.output_to_client = true,
		.sqlerrcode = ERRCODE_OUT_OF_MEMORY,.message = message,.assoc_context = ErrorContext};
	return &e;
}

/* NULL: no memory. */
static ErrorData *
try_copy(void)
{
	ErrorData  *volatile e = NULL;

	PG_TRY();
	{
		e = CopyErrorData();
	}
	PG_CATCH();
	{
		/* the other one, too, is flushed by the caller */
	}
	PG_END_TRY();
	return e;
}

ErrorData *
pm_error_copy(MemoryContext cxt)
{
	ErrorData  *e;

	MemoryContextSwitchTo(cxt);
	e = try_copy();
	FlushErrorState();
	MemoryContextSwitchTo(cxt);
	return e != NULL ? e : out_of_memory();
}

bool
pm_is_blank(const char *name)
{
	return name[strspn(name, " \t\n\v\f\r")] == '\0';
}

const char *
pm_shown_name(const char *name)
{
	size_t		len = strnlen(name, SHOWN_BYTES + 1);

	if (len <= SHOWN_BYTES)
		return name;
	return psprintf("%.*s...", pg_mbcliplen(name, SHOWN_BYTES + 1, SHOWN_BYTES - 3), name);
}

/* In lower case, without blanks, _ and -: what is left when people spell differently. *len is that of its first whole letters. */
static char *
essence(const char *s, int *len)
{
	char	   *lower = str_tolower(s, strlen(s), DEFAULT_COLLATION_OID);
	char	   *to = lower;

	for (const char *from = lower; *from; from++)
		if ((unsigned char) *from > ' ' && *from != '_' && *from != '-')
			*to++ = *from;
	*to = '\0';
	*len = pg_mbcliplen(lower, to - lower, MAX_NAME_BYTES);
	return lower;
}

/* A name that does not exist, as names are compared with it. */
typedef struct wanted_name
{
	char	   *essence;
	int			len;			/* of the essence, bytes */
	int			first_word;		/* letters that the essence begins with, bytes: 3 in "gpt2" */
	int			most_changes;	/* letters in which a name may differ that is suggested */
} wanted_name;

/* How many letters s begins with, and not what follows them in the word "abc-def". */
static int
first_letters(const char *s)
{
	int			n = 0;

	while (isalpha((unsigned char) s[n]))
		n++;
	return n;
}

static wanted_name
wanted_name_of(const char *name)
{
	wanted_name w;

	/* what is far too long is like nothing, and the server has no room to lower its letters */
	if (strnlen(name, MOST_READ + 1) > MOST_READ)
		name = pnstrdup(name, pg_mbcliplen(name, MOST_READ + 1, MOST_READ));
	w.essence = essence(name, &w.len);
	w.essence[w.len] = '\0';
	w.first_word = Min(first_letters(name), w.len);
	w.most_changes = Max(1, pg_mbstrlen_with_len(w.essence, w.len) / 2);
	return w;
}

/* have, without what follows an @ (resnet50@224: the size of the images), is a part of the wanted name. */
static bool
is_part_of(const char *have, int stem, const wanted_name *w)
{
	for (int i = 0; stem >= SHORTEST_PART && i + stem <= w->len; i++)
		if (memcmp(w->essence + i, have, stem) == 0)
			return true;
	return false;
}

/* Small for a name that the user may have meant, NOT_ALIKE for others. */
static int
unlikeness(const wanted_name *w, const char *name)
{
	int			len;
	char	   *have = essence(name, &len);
	char	   *at = memchr(have, '@', len);
	int			stem = at != NULL ? at - have : len;
	int			word = w->first_word;
	int			d;

	if (strncmp(have, w->essence, w->len) == 0)
		d = 0;
	else if (strstr(have, w->essence) != NULL)
		d = 1;
	else if (is_part_of(have, stem, w))
		d = 2;
	else
	{
		d = varstr_levenshtein(w->essence, w->len, have, len, 1, 1, 1, true);
		if (stem < len)
			d = Min(d, varstr_levenshtein(w->essence, w->len, have, stem, 1, 1, 1, true));
		/* "gpt2" and "gpt_small" have a word in common: suggested behind all that are spelt alike */
		if (d > w->most_changes)
			d = word >= SHORTEST_WORD && first_letters(name) == word && strncmp(have, w->essence, word) == 0 ? w->most_changes + 1 : NOT_ALIKE;
	}
	pfree(have);
	return d;
}

typedef struct candidate
{
	const char *name;
	int			unlike;
} candidate;

/* Keep the N_CANDIDATES best in best[], in order of likeness. */
static int
keep_candidate(candidate *best, int n, const char *name, int unlike)
{
	int			at = n;

	while (at > 0 && best[at - 1].unlike > unlike)
		at--;
	if (at == N_CANDIDATES)
		return n;
	n = Min(n + 1, N_CANDIDATES);
	memmove(&best[at + 1], &best[at], (n - 1 - at) * sizeof(candidate));
	best[at].name = name;
	best[at].unlike = unlike;
	return n;
}

/* best[n_best] of names[n] are suggested. Where none is, and there are few, all are named. */
static char *
suggestion(const char *const *best, int n_best, const char *const *names, int n, const char *list_query, const char *how_to_add)
{
	StringInfoData s;

	initStringInfo(&s);
	for (int i = 0; i < n_best; i++)
		appendStringInfo(&s, "%s\"%s\"", i == 0 ? "Did you mean " : i == n_best - 1 ? " or " : ", ", best[i]);
	if (n_best > 0)
		appendStringInfoString(&s, "? ");
	if (n == 0)
		appendStringInfoString(&s, "There are none yet.");
	else if (n_best == 0 && n <= FEW_NAMES)
		appendStringInfo(&s, "Known %s %s.", n == 1 ? "is" : "are", pm_quoted_list(names, n));
	else
		appendStringInfo(&s, "There %s %d; %s lists them.", n == 1 ? "is" : "are", n, list_query);
	if (how_to_add != NULL)
		appendStringInfo(&s, " To add one, %s.", how_to_add);
	return s.data;
}

#define WIDE_BLANK "The name that was given has a blank that is no space, such as U+00A0 or U+FEFF. "

char *
pm_did_you_mean(const char *wanted, const char *const *names, int n, const char *list_query, const char *how_to_add)
{
	candidate	best[N_CANDIDATES + 1];
	const char *suggested[N_CANDIDATES];
	int			n_best = 0;
	wanted_name w = wanted_name_of(wanted);
	char	   *hint;

	for (int i = 0; i < n; i++)
	{
		int			d = unlikeness(&w, names[i]);

		CHECK_FOR_INTERRUPTS();
		if (w.len > 0 && d != NOT_ALIKE)
			n_best = keep_candidate(best, n_best, names[i], d);
	}
	for (int i = 0; i < n_best; i++)
		suggested[i] = best[i].name;
	hint = suggestion(suggested, n_best, names, n, list_query, how_to_add);
	return pm_has_wide_blank(wanted) ? psprintf(WIDE_BLANK "%s", hint) : hint;
}

int
pm_choose_nearest(const double *nearness, int n, int *chosen, int most)
{
	double		largest = 0;
	double		limit = INFINITY;
	int			n_chosen = 0;

	for (int i = 0; i < n; i++)
		largest = Max(largest, nearness[i]);
	/* those of the largest nearness first, then those of the next */
	while (n_chosen < most)
	{
		double		next = 0;

		for (int i = 0; i < n; i++)
			if (nearness[i] < limit)
				next = Max(next, nearness[i]);
		if (next <= 0 || next <= largest - 1)
			break;
		for (int i = 0; i < n && n_chosen < most; i++)
			if (nearness[i] == next)
				chosen[n_chosen++] = i;
		limit = next;
	}
	return n_chosen;
}

char *
pm_did_you_mean_nearest(const char *const *names, const double *nearness, int n, const char *list_query, const char *how_to_add)
{
	const char *suggested[N_CANDIDATES];
	int			chosen[N_CANDIDATES];
	int			n_best = pm_choose_nearest(nearness, n, chosen, N_CANDIDATES);

	for (int i = 0; i < n_best; i++)
		suggested[i] = names[chosen[i]];
	return n_best > 0 ? suggestion(suggested, n_best, names, n, list_query, how_to_add) : NULL;
}

char *
pm_quoted_list(const char *const *names, int n)
{
	StringInfoData s;

	initStringInfo(&s);
	for (int i = 0; i < n; i++)
		appendStringInfo(&s, "%s\"%s\"", i ? ", " : "", names[i]);
	return s.data;
}

void
pm_unknown_word(const char *what, const char *word, const char *const *names, int n)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown %s \"%s\"", what, pm_shown_name(word)),
			 errhint("Known are %s.", pm_quoted_list(names, n))));
	pg_unreachable();
}

char *
pm_known_words(const char *const *names, int n)
{
	char	   *known = psprintf("Known are %s.", pm_quoted_list(names, n));

	for (int i = 0; i < n; i++)
		if (strcmp(names[i], "other") == 0)
			return psprintf("%s Say \"other\" for one that is not among them.", known);
	return known;
}
