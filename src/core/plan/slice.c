/*
 * slice.c - names of parts of a card.
 */
#include "plan/slice.h"

#include <string.h>

#include "plan/names.h"

/* No card is divided into more, and none has so much memory. */
#define MOST_COMPUTES	8
#define MOST_GB			4096

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static bool
is_mark(char c)
{
	return !pm_is_digit(c) && !pm_is_letter(c);
}

/* The number at s, *s moves behind it; 0: there is none, or a larger one than most. */
static int
number(const char **s, int most)
{
	int			n = 0;

	for (; pm_is_digit(**s); (*s)++)
		n = n > most ? n : 10 * n + (**s - '0');
	return n > most ? 0 : n;
}

/* What ends behind "3g.20gb" at s; NULL: that does not stand there. */
static const char *
profile(const char *s, pm_slice *to)
{
	bool		marked;

	to->computes = number(&s, MOST_COMPUTES);
	if (to->computes == 0 || lower(*s++) != 'g')
		return NULL;
	marked = *s == '.' || *s == '_' || *s == '-';
	s += marked;
	to->memory_gb = number(&s, MOST_GB);
	if (to->memory_gb == 0)
		return NULL;
	if (lower(*s) == 'g')
		return lower(s[1]) == 'b' ? s + 2 : s + 1;
	return marked ? s : NULL;
}

/* What ends behind the word "mig" at s; NULL: that does not stand there. */
static const char *
mig(const char *s)
{
	return lower(s[0]) == 'm' && lower(s[1]) == 'i' && lower(s[2]) == 'g' ? s + 3 : NULL;
}

static bool
ends_word(const char *end)
{
	return end != NULL && (*end == '\0' || is_mark(*end));
}

/* How many of the first n bytes remain without the marks, and the words "mig", at their end. */
static size_t
without_end(const char *name, size_t n)
{
	for (;;)
	{
		while (n > 0 && is_mark(name[n - 1]))
			n--;
		if (n < 3 || mig(name + n - 3) == NULL || (n > 3 && !is_mark(name[n - 4])))
			return n;
		n -= 3;
	}
}

bool
pm_slice_read(const char *name, pm_slice *s)
{
	pm_slice	word = {0};
	bool		found = false;

	for (const char *at = name; *at; at++)
	{
		const char *end;

		if (at > name && !is_mark(at[-1]))
			continue;
		*s = (pm_slice) {.begin = at - name};
		end = profile(at, s);
		if (ends_word(end))
		{
			s->end = end - name;
			s->card = without_end(name, s->begin);
			return true;
		}
		end = mig(at);
		if (!found && ends_word(end))
		{
			word = (pm_slice) {.begin = at - name,.end = end - name,.card = without_end(name, at - name)};
			found = true;
		}
	}
	*s = word;
	return found;
}
