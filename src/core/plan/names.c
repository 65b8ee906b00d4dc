/*
 * names.c - which of a list of known names the name in a job log means.
 */
#include "plan/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blanks.h"

const char *const pm_match_name[PM_N_MATCH] = {"exact", "alias", "ambiguous", "fuzzy", "unknown", "missing"};

char *
pm_name_key(pm_arena *a, const char *name)
{
	size_t		n = strlen(name);
	char	   *key = pm_alloc_packed(a, n + 1, 1);
	size_t		to = 0;
	bool		mark = false;

	if (key == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++)
	{
		unsigned char c = name[i];
		int			blank = pm_wide_blank(name + i);

		if (blank > 0)
		{
			mark = true;
			i += blank - 1;
			continue;
		}
		if (!pm_is_digit(c) && !pm_is_letter(c))
		{
			mark = true;
			continue;
		}
		if (mark && to > 0 && pm_is_digit(c) && pm_is_digit(key[to - 1]))
			key[to++] = '.';
		mark = false;
		key[to++] = c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
	}
	key[to] = '\0';
	return key;
}

/* ---------- likeness ---------- */

/* The next run of digits of a key, 0 when there is none; *at moves behind it. */
static int
next_number(const char *key, size_t *at, const char **number)
{
	int			n = 0;

	while (key[*at] && !pm_is_digit(key[*at]))
		(*at)++;
	*number = key + *at;
	while (pm_is_digit(key[*at]))
	{
		(*at)++;
		n++;
	}
	return n;
}

static bool
same_numbers(const char *a, const char *b)
{
	size_t		i = 0;
	size_t		j = 0;

	for (;;)
	{
		const char *x;
		const char *y;
		int			n = next_number(a, &i, &x);
		int			m = next_number(b, &j, &y);

		if (n != m || memcmp(x, y, n) != 0)
			return false;
		if (n == 0)
			return true;
	}
}

/*
 * Levenshtein's distance; a has n bytes, b has m, both at most PM_NAME_COMPARED.  More than `most`: some number above it,
 * since only what is at most so far from the diagonal is looked at.
 */
static int
edits(const char *a, int n, const char *b, int m, int most)
{
	int			row[PM_NAME_COMPARED + 1];

	for (int j = 0; j <= m; j++)
		row[j] = j;
	for (int i = 1; i <= n; i++)
	{
		int			from = i - most > 1 ? i - most : 1;
		int			to = i + most < m ? i + most : m;
		int			corner = row[from - 1];
		int			least;

		least = row[from - 1] = from == 1 ? i : most + 1;
		for (int j = from; j <= to; j++)
		{
			int			best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			/* above the last cell of the band there is none */
			if (j < i + most && row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
			if (best < least)
				least = best;
		}
		if (least > most)
			return least;
	}
	return row[m];
}

/* A bit for each letter and digit that there is; others share bits. */
static uint64_t
letters_of(const char *key, int n)
{
	uint64_t	bits = 0;

	for (int i = 0; i < n; i++)
		bits |= UINT64_C(1) << ((unsigned char) key[i] % 64);
	return bits;
}

static uint64_t
numbers_of(const char *key)
{
	uint64_t	h = PM_HASH_INIT;
	size_t		at = 0;
	const char *number;

	for (int n; (n = next_number(key, &at, &number)) > 0;)
	{
		h = pm_hash(h, number, n);
		h = pm_hash(h, ".", 1);
	}
	return h;
}

/* Each letter that one of two names lacks takes an edit. */
static int
fewest_edits(uint64_t a, uint64_t b)
{
	int			more = __builtin_popcountll(a & ~b);
	int			less = __builtin_popcountll(b & ~a);

	return more > less ? more : less;
}

#define OTHER_NUMBERS 0.6		/* what the likeness of names with different numbers is multiplied by */

double
pm_name_likeness(const char *key_a, const char *key_b)
{
	int			n = (int) strnlen(key_a, PM_NAME_COMPARED);
	int			m = (int) strnlen(key_b, PM_NAME_COMPARED);
	int			longer = n > m ? n : m;
	double		like;

	if (longer == 0)
		return 0;
	like = 1 - (double) edits(key_a, n, key_b, m, longer) / longer;
	return same_numbers(key_a, key_b) ? like : OTHER_NUMBERS * like;
}

/* ---------- the list ---------- */

pm_code
pm_names_init(pm_name_list *list, int capacity, pm_arena *a, pm_status *st)
{
	*list = (pm_name_list) {.capacity = capacity,.arena = a};
	list->names = PM_NEW(a, pm_known_name, capacity > 0 ? capacity : 1);
	return list->names ? PM_OK : pm_no_memory(st, a);
}

pm_code
pm_names_add(pm_name_list *list, const char *name, int32_t thing, pm_name_rank rank, pm_status *st)
{
	const char *key = pm_name_key(list->arena, name);

	if (key == NULL)
		return pm_no_memory(st, list->arena);
	if (list->n == list->capacity)
		return pm_fail(st, PM_ERR_INTERNAL, "a list of names is full");
	list->names[list->n++] = (pm_known_name) {
		.name = name,.key = key,.thing = thing,.rank = rank,.len = (int) strnlen(key, PM_NAME_COMPARED),
			.letters = letters_of(key, (int) strnlen(key, PM_NAME_COMPARED)),.numbers = numbers_of(key)
	};
	return PM_OK;
}

static int
by_key(const void *a, const void *b)
{
	const pm_known_name *x = a;
	const pm_known_name *y = b;
	int			c = strcmp(x->key, y->key);

	if (c != 0)
		return c;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->thing > y->thing) - (x->thing < y->thing);
}

void
pm_names_sort(pm_name_list *list)
{
	qsort(list->names, list->n, sizeof(pm_known_name), by_key);
}

/* The first name with this key, or list->n. */
static int
first_with_key(const pm_name_list *list, const char *key)
{
	int			low = 0;
	int			high = list->n;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (strcmp(list->names[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void
add_candidate(pm_name_found *f, int32_t thing, double score)
{
	int			at = f->n_candidates;

	for (int i = 0; i < f->n_candidates; i++)
		if (f->candidates[i] == thing)
		{
			if (f->scores[i] >= score)
				return;
			/* a better name of the same: take it out, to put it in again */
			for (int j = i; j + 1 < f->n_candidates; j++)
			{
				f->candidates[j] = f->candidates[j + 1];
				f->scores[j] = f->scores[j + 1];
			}
			at = --f->n_candidates;
			break;
		}
	while (at > 0 && (f->scores[at - 1] < score || (f->scores[at - 1] == score && f->candidates[at - 1] > thing)))
		at--;
	if (at == PM_NAME_CANDIDATES)
		return;
	for (int j = f->n_candidates < PM_NAME_CANDIDATES ? f->n_candidates++ : PM_NAME_CANDIDATES - 1; j > at; j--)
	{
		f->candidates[j] = f->candidates[j - 1];
		f->scores[j] = f->scores[j - 1];
	}
	f->candidates[at] = thing;
	f->scores[at] = score;
}

/* Among the names [at, end) of one key and rank. */
static void
judge_same_key(const pm_name_list *list, int at, int end, const char *given, pm_name_found *f)
{
	int32_t		before = -1;

	for (int i = at; i < end; i++)
	{
		const pm_known_name *k = &list->names[i];

		if (k->rank == PM_NAME_OWN && strcmp(k->name, given) == 0)
		{
			*f = (pm_name_found) {.match = PM_MATCH_EXACT,.thing = k->thing,.score = 1,.n_meant = 1};
			return;
		}
		if (k->thing != before)
			f->n_meant++;
		before = k->thing;
		add_candidate(f, k->thing, 1);
	}
	if (f->n_meant == 1)
		*f = (pm_name_found) {.match = PM_MATCH_ALIAS,.thing = list->names[at].thing,.score = 1,.n_meant = 1};
	else
		f->match = PM_MATCH_AMBIGUOUS;
}

/*
 * The candidates that are at least so like, the best of them.  What cannot be like enough by its length, its letters or its
 * numbers is not compared: of 200,000 names of a log, nearly all.
 */
static void
judge_likeness(const pm_name_list *list, const char *key, double min_score, pm_name_found *f)
{
	int			n = (int) strnlen(key, PM_NAME_COMPARED);
	uint64_t	letters = letters_of(key, n);
	uint64_t	numbers = numbers_of(key);

	for (int i = 0; i < list->n; i++)
	{
		const pm_known_name *k = &list->names[i];
		int			longer = n > k->len ? n : k->len;
		double		factor = numbers == k->numbers ? 1 : OTHER_NUMBERS;
		double		need = f->n_candidates == PM_NAME_CANDIDATES ? f->scores[PM_NAME_CANDIDATES - 1] : min_score;
		int			most = need > factor ? -1 : (int) floor((1 - need / factor) * longer + 1e-6);
		int			d;
		double		score;

		if (abs(n - k->len) > most || fewest_edits(letters, k->letters) > most)
			continue;
		d = edits(key, n, k->key, k->len, most);
		score = factor * (1 - (double) d / longer);
		if (d <= most && score >= min_score && score > 0)
			add_candidate(f, k->thing, score);
	}
}

/* ---------- names that begin alike ---------- */

static void
add_behind(pm_name_found *f, const char *key, const pm_known_name *k)
{
	for (int i = 0; i < f->n_candidates; i++)
		if (f->candidates[i] == k->thing)
			return;
	if (f->n_candidates == PM_NAME_CANDIDATES)
		return;
	f->scores[f->n_candidates] = pm_name_likeness(key, k->key);
	f->candidates[f->n_candidates++] = k->thing;
}

/* How many letters a name begins with: 3 in "gpt2" and in "gpt_small". */
static size_t
first_letters(const char *name)
{
	size_t		n = 0;

	while (pm_is_letter(name[n]))
		n++;
	return n;
}

/* Names that begin with the first n bytes of the key; whole_word: and whose first word that is. */
static void
add_beginning(const pm_name_list *list, char *key, size_t n, bool whole_word, pm_name_found *f)
{
	char		end = key[n];
	int			at;

	key[n] = '\0';
	at = first_with_key(list, key);
	key[n] = end;
	for (; at < list->n && f->n_candidates < PM_NAME_CANDIDATES && strncmp(list->names[at].key, key, n) == 0; at++)
		if (!whole_word || first_letters(list->names[at].name) == n)
			add_behind(f, key, &list->names[at]);
}

/* Names that the key begins with, the longest first. */
static void
add_beginnings_of(const pm_name_list *list, char *key, size_t len, pm_name_found *f)
{
	for (size_t n = len - 1; n >= PM_NAME_BEGINNING && f->n_candidates < PM_NAME_CANDIDATES; n--)
	{
		char		end = key[n];
		int			at;

		key[n] = '\0';
		at = first_with_key(list, key);
		if (at < list->n && strcmp(list->names[at].key, key) == 0)
		{
			key[n] = end;
			add_behind(f, key, &list->names[at]);
		}
		key[n] = end;
	}
}

static void
judge_beginning(const pm_name_list *list, const char *given, char *key, pm_name_found *f)
{
	size_t		len = strlen(key);
	size_t		word = first_letters(given);

	if (len < PM_NAME_BEGINNING)
		return;
	add_beginning(list, key, len, false, f);
	add_beginnings_of(list, key, len < PM_NAME_COMPARED ? len : PM_NAME_COMPARED, f);
	/* where nothing else is near: "gpt_small" for "gpt2" */
	if (f->n_candidates == 0 && word >= PM_NAME_BEGINNING && word <= len)
		add_beginning(list, key, word, true, f);
}

pm_code
pm_names_find(const pm_name_list *list, const char *given, double min_score, pm_name_found *f, pm_status *st)
{
	char	   *key = pm_name_key(list->arena, given);
	int			at;
	int			end;

	if (key == NULL)
		return pm_no_memory(st, list->arena);
	if (pm_stopped(list->arena, st))
		return PM_CANCELLED;
	*f = (pm_name_found) {.match = PM_MATCH_UNKNOWN,.thing = -1};
	if (*key == '\0')
		return PM_OK;
	at = end = first_with_key(list, key);
	while (end < list->n && strcmp(list->names[end].key, key) == 0 && list->names[end].rank == list->names[at].rank)
		end++;
	if (end > at)
		judge_same_key(list, at, end, given, f);
	else if (min_score < 1)
	{
		judge_likeness(list, key, min_score, f);
		if (list->by_word)
			judge_beginning(list, given, key, f);
		f->match = f->n_candidates > 0 ? PM_MATCH_FUZZY : PM_MATCH_UNKNOWN;
		f->score = f->n_candidates > 0 ? f->scores[0] : 0;
	}
	return PM_OK;
}
