/*
 * text.c - text of JSON that grows in an arena.
 */
#include "graph/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_ROOM 65536

static bool
make_room(pm_text *t, size_t n)
{
	size_t		room = 2 * t->room > t->len + n + 1 ? 2 * t->room : t->len + n + FIRST_ROOM;
	char	   *s;

	if (t->no_memory || t->len + n + 1 <= t->room)
		return !t->no_memory;
	s = PM_NEW(t->arena, char, room);
	if (s == NULL)
	{
		t->no_memory = true;
		return false;
	}
	if (t->len > 0)
		memcpy(s, t->s, t->len);
	t->s = s;
	t->room = room;
	return true;
}

void
pm_text_put(pm_text *t, const char *s, size_t n)
{
	if (!make_room(t, n))
		return;
	memcpy(t->s + t->len, s, n);
	t->len += n;
	t->s[t->len] = '\0';
}

void
pm_text_printf(pm_text *t, const char *fmt,...)
{
	char		s[256];
	va_list		args;
	int			n;

	va_start(args, fmt);
	n = vsnprintf(s, sizeof(s), fmt, args);
	va_end(args);
	pm_text_put(t, s, n < 0 ? 0 : (size_t) n < sizeof(s) ? (size_t) n : sizeof(s) - 1);
}

void
pm_text_string(pm_text *t, const char *s)
{
	pm_text_put(t, "\"", 1);
	for (; *s != '\0'; s++)
	{
		size_t		plain = strcspn(s, "\"\\\001\002\003\004\005\006\007\b\t\n\v\f\r\016\017\020\021\022\023\024"
									"\025\026\027\030\031\032\033\034\035\036\037");

		pm_text_put(t, s, plain);
		s += plain;
		if (*s == '\0')
			break;
		if (*s == '"' || *s == '\\')
			pm_text_printf(t, "\\%c", *s);
		else
			pm_text_printf(t, "\\u%04x", (unsigned char) *s);
	}
	pm_text_put(t, "\"", 1);
}
