/*
 * gres.c - reads the devices that a job of Slurm asks for.
 */
#include "plan/gres.h"

#include <string.h>

#include "plan/names.h"
#include "plan/slice.h"

/* Whether s begins with a word in lower case, in any case. */
static bool
begins_with(const char *s, const char *end, const char *word)
{
	for (; *word; s++, word++)
		if (s == end || (*s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s) != *word)
			return false;
	return true;
}

/* The end of the part that begins at s: a comma between parentheses belongs to it. */
static const char *
end_of_part(const char *s)
{
	int			depth = 0;

	for (; *s && (*s != ',' || depth > 0); s++)
		depth += *s == '(' ? 1 : *s == ')' ? -1 : 0;
	return s;
}

/* The number that fills s up to end, or up to the parenthesis behind it; -1: there is none. */
static int
number(const char *s, const char *end)
{
	int			n = 0;
	const char *begin = s;

	for (; s < end && pm_is_digit(*s); s++)
		if ((n = 10 * n + (*s - '0')) > PM_GRES_MOST)
			return -1;
	if (s == begin)
		return -1;
	while (s < end && *s == ' ')
		s++;
	return s == end || *s == '(' ? n : -1;
}

/* NAME, NAME:4 or NAME=4 between s and end. */
static bool
read_type(const char *s, const char *end, pm_gres *g)
{
	const char *p = s;

	while (p < end && *p != ':' && *p != '=' && *p != '(')
		p++;
	*g = (pm_gres) {.name = s,.length = (size_t) (p - s)};
	if (p < end && *p != '(')
	{
		g->count = number(p + 1, end);
		return p > s && g->count > 0;
	}
	return p > s;
}

typedef enum part
{
	NOTHING, A_NUMBER, A_TYPE
} part;

/* A part of a list that begins with "gpu". A number alone says how many of any type; a large one is a type, such as 3090. */
static part
read_gpu(const char *s, const char *end, pm_gres *g)
{
	int			n = s + 3 < end && (s[3] == ':' || s[3] == '=') ? number(s + 4, end) : -1;

	if (n >= 1 && n <= PM_GRES_MOST_UNTYPED)
	{
		*g = (pm_gres) {.name = s,.length = 3,.count = n};
		return A_NUMBER;
	}
	return n != 0 && s + 4 < end && s[3] == ':' && read_type(s + 4, end, g) ? A_TYPE : NOTHING;
}

/* A part of a list; alone: there is no other, and it may have no "gpu" before it. */
static part
read_part(const char *s, const char *end, bool alone, pm_gres *g)
{
	if (begins_with(s, end, "gres/") || begins_with(s, end, "gres:"))
		s += strlen("gres/");
	if (begins_with(s, end, "gpu") && (s + 3 == end || s[3] == ':' || s[3] == '='))
		return read_gpu(s, end, g);
	return alone && read_type(s, end, g) && g->count > 0 && s[g->length] == ':' ? A_TYPE : NOTHING;
}

/* "gres/gpu:a100=1,gres/mig-1g.5gb=1": a part of a card is in the text, and not in what was read as the device. */
static bool
hides_slice(const char *text, const pm_gres *g)
{
	pm_slice	slice;

	return pm_slice_read(text, &slice) && (text + slice.begin < g->name || text + slice.end > g->name + g->length);
}

bool
pm_gres_read(const char *text, pm_gres *g)
{
	int			found[A_TYPE + 1] = {0};

	while (*text == ' ')
		text++;
	for (const char *s = text;;)
	{
		const char *end = end_of_part(s);
		pm_gres		one;
		part		is = read_part(s, end, s == text && *end == '\0', &one);

		/* sacct says the number of all, and of each type */
		if (is == A_TYPE || (is == A_NUMBER && found[A_TYPE] == 0))
			*g = one;
		found[is]++;
		if (*end == '\0')
			return (found[A_TYPE] == 1 || (found[A_TYPE] == 0 && found[A_NUMBER] == 1)) && !hides_slice(text, g);
		s = end + 1;
	}
}
