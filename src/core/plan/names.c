/*
 * names.c - which of a list of known names a name of a job log means.
 */
#include "plan/names.h"

#include <stdlib.h>
#include <string.h>

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

/* Levenshtein's distance; a has n bytes, b has m, both at most PM_NAME_COMPARED. */
static int
edits(const char *a, int n, const char *b, int m)
{
	int			row[PM_NAME_COMPARED + 1];

	for (int j = 0; j <= m; j++)
		row[j] = j;
	for (int i = 1; i <= n; i++)
	{
		int			corner = row[0];

		row[0] = i;
		for (int j = 1; j <= m; j++)
		{
			int			best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[m];
}

double
pm_name_likeness(const char *key_a, const char *key_b)
{
	int			n = (int) strnlen(key_a, PM_NAME_COMPARED);
	int			m = (int) strnlen(key_b, PM_NAME_COMPARED);
	int			longer = n > m ? n : m;
	double		like;

	if (longer == 0)
		return 0;
	like = 1 - (double) edits(key_a, n, key_b, m) / longer;
	return same_numbers(key_a, key_b) ? like : 0.6 * like;
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
	list->names[list->n++] = (pm_known_name) {name, key, thing, rank};
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

static void
judge_likeness(const pm_name_list *list, const char *key, double min_score, pm_name_found *f)
{
	int			n = (int) strnlen(key, PM_NAME_COMPARED);

	for (int i = 0; i < list->n; i++)
	{
		int			m = (int) strnlen(list->names[i].key, PM_NAME_COMPARED);
		double		score;

		/* what differs in length alone needs no closer look */
		if ((n < m ? n : m) < min_score * (n < m ? m : n))
			continue;
		score = pm_name_likeness(key, list->names[i].key);
		if (score >= min_score && score > 0)
			add_candidate(f, list->names[i].thing, score);
	}
	if (f->n_candidates > 0)
	{
		f->match = PM_MATCH_FUZZY;
		f->score = f->scores[0];
	}
}

pm_code
pm_names_find(const pm_name_list *list, const char *given, double min_score, pm_name_found *f, pm_status *st)
{
	const char *key = pm_name_key(list->arena, given);
	int			at;
	int			end;

	if (key == NULL)
		return pm_no_memory(st, list->arena);
	if (pm_stopped(list->arena, st))
		return st->code;
	*f = (pm_name_found) {.match = PM_MATCH_UNKNOWN,.thing = -1};
	if (*key == '\0')
		return PM_OK;
	at = end = first_with_key(list, key);
	while (end < list->n && strcmp(list->names[end].key, key) == 0 && list->names[end].rank == list->names[at].rank)
		end++;
	if (end > at)
		judge_same_key(list, at, end, given, f);
	else if (min_score < 1)
		judge_likeness(list, key, min_score, f);
	return PM_OK;
}
