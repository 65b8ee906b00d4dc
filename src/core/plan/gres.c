/*
 * gres.c - reads the devices that a job of Slurm asks for.
 */
#include "plan/gres.h"

#include <string.h>

#include "plan/names.h"

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
	bool		digits = true;

	for (; p < end && *p != ':' && *p != '=' && *p != '('; p++)
		digits = digits && pm_is_digit(*p);
	*g = (pm_gres) {.name = s,.length = (size_t) (p - s)};
	if (p < end && *p != '(')
	{
		g->count = number(p + 1, end);
		return p > s && g->count > 0;
	}
	/* a number alone says how many, of any type */
	return !digits;
}

/* A part of a list; *bare: it does not begin with "gpu:". */
static bool
read_part(const char *s, const char *end, pm_gres *g, bool *bare)
{
	if (begins_with(s, end, "gres/") || begins_with(s, end, "gres:"))
		s += strlen("gres/");
	*bare = !begins_with(s, end, "gpu") || (s[3] != ':' && s[3] != '=' && s + 3 != end);
	if (*bare)
		return read_type(s, end, g) && g->count > 0 && s[g->length] == ':';
	return s + 3 < end && s[3] == ':' && read_type(s + 4, end, g);
}

bool
pm_gres_read(const char *text, pm_gres *g)
{
	int			found = 0;
	bool		bare = false;

	while (*text == ' ')
		text++;
	for (const char *s = text;;)
	{
		const char *end = end_of_part(s);
		pm_gres		part;

		if (read_part(s, end, &part, &bare) && (!bare || (s == text && *end == '\0')))
		{
			*g = part;
			found++;
		}
		if (*end == '\0')
			return found == 1;
		s = end + 1;
	}
}
