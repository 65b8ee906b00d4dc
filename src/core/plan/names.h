/*
 * names.h - which of a list of known names a name of a job log means.
 *
 * Two names are the same by their keys when they differ in case and in the
 * marks between words only. A mark between two digits counts: regnet_x_1_6gf
 * and regnet_x_16gf are two networks. What is merely similar is never a match
 * but a suggestion with a score.
 */
#ifndef PM_CORE_PLAN_NAMES_H
#define PM_CORE_PLAN_NAMES_H

#include "base/core.h"

typedef enum pm_match
{
	PM_MATCH_EXACT,				/* byte for byte */
	PM_MATCH_ALIAS,				/* another way to write it, or another name of the same thing */
	PM_MATCH_AMBIGUOUS,			/* several things have that name */
	PM_MATCH_FUZZY,				/* none has it; some are similar */
	PM_MATCH_UNKNOWN,
	PM_MATCH_MISSING,			/* no name was given */
	PM_N_MATCH
} pm_match;

/* "exact", "alias", "ambiguous", "fuzzy", "unknown", "missing" */
extern const char *const pm_match_name[PM_N_MATCH];

/* Bytes of names, whatever the locale; those above ASCII count as letters. */
static inline bool
pm_is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static inline bool
pm_is_letter(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
}

/* Rank of a name: of the thing itself, or another one that counts where no thing has it as its own. */
typedef enum pm_name_rank
{
	PM_NAME_OWN,
	PM_NAME_OTHER
} pm_name_rank;

typedef struct pm_known_name
{
	const char *name;			/* belongs to the caller */
	const char *key;
	int32_t		thing;			/* number of what has the name, from 0 */
	pm_name_rank rank;
	int			len;			/* of the key, PM_NAME_COMPARED at most */
	uint64_t	letters;		/* of these, which there are: a bit for each */
	uint64_t	numbers;		/* hash of its numbers */
} pm_known_name;

typedef struct pm_name_list
{
	pm_known_name *names;		/* by key, once they are sorted */
	int			n;
	int			capacity;
	bool		by_word;		/* names that begin alike are candidates, too; the caller sets it */
	pm_arena   *arena;
} pm_name_list;

/* Names that are looked up are cut to as many bytes for their likeness. */
#define PM_NAME_COMPARED 128

/* Bytes that two names must begin with to be candidates by that. */
#define PM_NAME_BEGINNING 3

/* How many candidates are told. */
#define PM_NAME_CANDIDATES 3

typedef struct pm_name_found
{
	pm_match	match;
	int32_t		thing;			/* exact, alias: what is meant; otherwise -1 */
	double		score;			/* 1 exact and alias; fuzzy: likeness of the best candidate; otherwise 0 */
	int			n_candidates;	/* things that it may mean (ambiguous) or that are similar (fuzzy), the best first */
	int32_t		candidates[PM_NAME_CANDIDATES];
	double		scores[PM_NAME_CANDIDATES];
	int			n_meant;		/* ambiguous: how many things have the name */
} pm_name_found;

/* Letters and digits in lower case, a '.' where marks stand between digits; UTF-8 letters as they are. NULL: no memory. */
char	   *pm_name_key(pm_arena *a, const char *name);

/*
 * Likeness of two keys, 0 to 1: one less the edits (letters put in, left out or
 * changed) per letter of the longer one; 0.6 times that where their numbers differ.
 */
double		pm_name_likeness(const char *key_a, const char *key_b);

/* An empty list with room for that many names; PM_ERR_INTERNAL where more are added. Both: PM_ERR_MEMORY. */
pm_code		pm_names_init(pm_name_list *list, int capacity, pm_arena *a, pm_status *st);
pm_code		pm_names_add(pm_name_list *list, const char *name, int32_t thing, pm_name_rank rank, pm_status *st);
/* Once after the last one was added. */
void		pm_names_sort(pm_name_list *list);

/*
 * What a name means. min_score: least likeness of a candidate, 0 to 1; with 1
 * there are none, and nothing is compared. Where
 * several candidates are equally like, the one that was numbered first is first.
 * With by_word, names follow that are less like, as far as there is room: those that begin
 * with the whole name, and those that it begins with; where there are none, those with the same first word.
 * PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_names_find(const pm_name_list *list, const char *given, double min_score, pm_name_found *found, pm_status *st);

#endif
