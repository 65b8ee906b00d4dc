/*
 * blanks.h - blanks beyond ASCII, which nobody sees in a name: no-break spaces,
 * narrow ones and marks of the byte order, as spreadsheets write them.
 */
#ifndef PM_BLANKS_H
#define PM_BLANKS_H

#include <stdbool.h>

/* How many bytes the blank has that s begins with in UTF-8; 0: it begins with none, or with one of ASCII. */
static inline int
pm_wide_blank(const char *s)
{
	const unsigned char *c = (const unsigned char *) s;

	if (c[0] == 0xC2)			/* U+00A0, no-break space */
		return c[1] == 0xA0 ? 2 : 0;
	if (c[0] == 0xEF)			/* U+FEFF, byte order mark */
		return c[1] == 0xBB && c[2] == 0xBF ? 3 : 0;
	if (c[0] == 0xE2 && c[1] == 0x80)	/* U+2000 to U+200B, spaces of some width or none; U+202F, narrow no-break space */
		return (c[2] >= 0x80 && c[2] <= 0x8B) || c[2] == 0xAF ? 3 : 0;
	return 0;
}

static inline bool
pm_has_wide_blank(const char *s)
{
	for (; *s; s++)
		if (pm_wide_blank(s) > 0)
			return true;
	return false;
}

#endif
