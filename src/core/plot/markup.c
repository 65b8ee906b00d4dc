/*
 * markup.c - text of SVG and HTML that grows.
 */
#include "plot/markup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_ROOM	4096
#define POLL_LETTERS 65536		/* between two questions whether to stop */

/* Three dots, in letters that the encoding of every database has. */
#define ELLIPSIS	"&#8230;"
#define ELLIPSIS_BYTES	(sizeof(ELLIPSIS) - 1)

static bool
fail(pm_markup *m, pm_code why)
{
	m->failed = true;
	m->why = why;
	return false;
}

/* Room for so many more bytes and a zero byte. */
static bool
make_room(pm_markup *m, size_t more)
{
	size_t		cap = m->cap ? m->cap : FIRST_ROOM;
	char	   *text;

	if (!m->failed && m->limit > 0 && m->len + more > m->limit)
		return fail(m, PM_ERR_LIMIT);
	if (m->failed || m->len + more + 1 <= m->cap)
		return !m->failed;
	while (cap < m->len + more + 1)
		cap *= 2;
	text = PM_NEW(m->arena, char, cap);
	if (!text)
		return fail(m, PM_ERR_MEMORY);
	if (m->len)
		memcpy(text, m->text, m->len);
	m->text = text;
	m->cap = cap;
	return true;
}

void
pm_put_markup(pm_markup *m, const char *fmt,...)
{
	va_list		args;
	int			len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0 || !make_room(m, (size_t) len))
		return;
	va_start(args, fmt);
	vsnprintf(m->text + m->len, (size_t) len + 1, fmt, args);
	va_end(args);
	m->len += (size_t) len;
}

static void
put_bytes(pm_markup *m, const char *s, size_t len)
{
	if (!make_room(m, len))
		return;
	memcpy(m->text + m->len, s, len);
	m->len += len;
	m->text[m->len] = '\0';
}

/* The character s, of UTF-8 in len bytes; of a byte that begins none: the byte. */
static unsigned
code_of(const char *s, size_t len)
{
	unsigned	code = (unsigned char) *s;

	if (len == 1)
		return code;
	code &= 0x7f >> len;
	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char) s[i] & 0x3f);
	return code;
}

/*
 * Characters that are no words of a label: control characters, those that turn
 * the direction of the text behind them, and what XML does not allow. s is one
 * character of UTF-8 in len bytes.
 */
static bool
is_control(const char *s, size_t len)
{
	unsigned	code = code_of(s, len);

	if (len == 1)
		return code < ' ' || code == 0x7f;
	return (code >= 0x80 && code <= 0x9f) || code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
		(code >= 0x2066 && code <= 0x2069) || (code & 0xfffe) == 0xfffe;
}

/* Bytes of the character of UTF-8 that s begins with. */
static size_t
letter_bytes(const char *s)
{
	size_t		len = 1;

	while (len < 4 && ((unsigned char) s[len] & 0xc0) == 0x80)
		len++;
	return len;
}

/* How a character is written: *len bytes of it are consumed. */
static const char *
written(const char *s, size_t *len, size_t *out)
{
	static const struct
	{
		char		c;
		const char *entity;
	}			entities[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#39;"}};

	*len = 1;
	for (int i = 0; i < 5; i++)
		if (*s == entities[i].c)
		{
			*out = strlen(entities[i].entity);
			return entities[i].entity;
		}
	*len = letter_bytes(s);
	if (is_control(s, *len))
	{
		*out = 1;
		return " ";
	}
	*out = *len;
	return s;
}

/* Whether to go on after the n-th character. */
static bool
goes_on(pm_markup *m, size_t n)
{
	pm_status	st;

	if (!m->failed && n % POLL_LETTERS == 0 && pm_stopped(m->arena, &st))
		fail(m, PM_CANCELLED);
	return !m->failed;
}

/* Whether words fit, as far as `most` characters and PM_WORDS_BYTES allow. */
static bool
fits(const char *words, size_t most)
{
	size_t		letters = 0;
	size_t		bytes = 0;
	size_t		len,
				out;

	for (const char *s = words; *s; s += len)
	{
		written(s, &len, &out);
		bytes += out;
		if (++letters > most || bytes > PM_WORDS_BYTES)
			return false;
	}
	return true;
}

void
pm_put_words(pm_markup *m, const char *words, size_t most)
{
	bool		whole = most == 0 || fits(words, most);
	size_t		letters = 0;
	size_t		bytes = 0;
	size_t		len,
				out;

	for (const char *s = words; *s && goes_on(m, ++letters); s += len)
	{
		const char *w = written(s, &len, &out);

		bytes += out;
		if (!whole && (letters + 1 > most || bytes + ELLIPSIS_BYTES > PM_WORDS_BYTES))
		{
			put_bytes(m, ELLIPSIS, ELLIPSIS_BYTES);
			return;
		}
		put_bytes(m, w, out);
	}
}

/* Units of UTF-16, which JSON's escapes are made of, in a piece of words: in six letters each, with room in a line for two more. */
#define JSON_PIECE	14

static int
put_json_letter(pm_markup *m, const char *s, size_t len)
{
	unsigned	code = code_of(s, len);

	if (len == 1 && ((*s >= '0' && *s <= '9') || (*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z')))
		put_bytes(m, s, 1);
	else if (is_control(s, len))
		pm_put_markup(m, "\\u0020");
	else if (code > 0xffff)
	{
		pm_put_markup(m, "\\u%04x\\u%04x", 0xd800 | (((code - 0x10000) >> 10) & 0x3ff), 0xdc00 | (code & 0x3ff));
		return 2;
	}
	else
		pm_put_markup(m, "\\u%04x", code);
	return 1;
}

void
pm_put_json_words(pm_markup *m, const char *words, size_t most)
{
	bool		whole = fits(words, most);
	size_t		letters = 0;
	size_t		len,
				out;
	int			units = 0;

	pm_put_markup(m, "[\"");
	for (const char *s = words; *s; s += len)
	{
		written(s, &len, &out);
		if (!whole && ++letters >= most)
		{
			pm_put_markup(m, "\\u2026");
			break;
		}
		if (units >= JSON_PIECE)
		{
			pm_put_markup(m, "\",\n\"");
			units = 0;
		}
		units += put_json_letter(m, s, len);
	}
	pm_put_markup(m, "\"]");
}

void
pm_put_preformatted(pm_markup *m, const char *words)
{
	size_t		line = 0;
	size_t		letters = 0;
	size_t		len,
				out;

	for (const char *s = words; *s && goes_on(m, ++letters); s += len)
	{
		const char *w = written(s, &len, &out);

		if (line + out > PM_WORDS_BYTES && *s != '\n')
		{
			put_bytes(m, "<wbr\n>", 6);
			line = 0;
		}
		put_bytes(m, *s == '\n' ? s : w, out);
		line = *s == '\n' ? 0 : line + out;
	}
}

void
pm_put_ascii(pm_markup *m, const char *markup)
{
	size_t		letters = 0;

	for (const char *s = markup; *s && goes_on(m, ++letters);)
	{
		size_t		ascii = 0;

		while (s[ascii] != '\0' && (unsigned char) s[ascii] < 0x80 && ascii < POLL_LETTERS)
			ascii++;
		put_bytes(m, s, ascii);
		s += ascii;
		if (ascii == 0)
		{
			size_t		len = letter_bytes(s);

			pm_put_markup(m, "&#%u;", code_of(s, len));
			s += len;
		}
	}
}

pm_code
pm_break_lines(char *text, const pm_arena *a, pm_status *st)
{
	char	   *blank = NULL;
	char	   *start = text;

	for (char *s = text; *s; s++)
	{
		if ((s - text) % POLL_LETTERS == POLL_LETTERS - 1 && pm_stopped(a, st))
			return PM_CANCELLED;
		if (*s == '\n')
		{
			start = s + 1;
			blank = NULL;
			continue;
		}
		if (*s == ' ')
			blank = s;
		if (s - start >= PM_MARKUP_LINE && blank != NULL)
		{
			*blank = '\n';
			start = blank + 1;
			blank = NULL;
			for (char *t = start; t <= s; t++)
				if (*t == ' ')
					blank = t;
		}
	}
	return PM_OK;
}
