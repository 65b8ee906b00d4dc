/*
 * text.h - JSON text that grows in an arena.
 */
#ifndef PM_TEXT_H
#define PM_TEXT_H

#include "base/core.h"

/* Start with {.arena = a}. */
typedef struct pm_text
{
	pm_arena   *arena;
	char	   *s;				/* [len], and a NUL behind it; NULL when empty */
	size_t		len;
	size_t		room;
	bool		no_memory;		/* the arena had no memory; nothing is added any more */
} pm_text;

/* Append n bytes of s. */
void		pm_text_put(pm_text *t, const char *s, size_t n);
/* Append as printf() does, at most 255 bytes. */
void		pm_text_printf(pm_text *t, const char *fmt,...) PM_PRINTF(2, 3);
/* Append s as a JSON string: in quotes, with the escapes that JSON demands. */
void		pm_text_string(pm_text *t, const char *s);

#endif
