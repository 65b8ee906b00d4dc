/*
 * text.h - text of JSON that grows in an arena.
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
	bool		no_memory;		/* the arena has said no; nothing is put any more */
} pm_text;

void		pm_text_put(pm_text *t, const char *s, size_t n);
/* At most 255 bytes. */
void		pm_text_printf(pm_text *t, const char *fmt,...) PM_PRINTF(2, 3);
/* A JSON string: quotes, and escapes where JSON demands them. */
void		pm_text_string(pm_text *t, const char *s);

#endif
