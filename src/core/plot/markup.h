/*
 * markup.h - growing text of SVG or HTML: tags are written as they are, words
 * of users are escaped.
 *
 * A failure is remembered, and later text is left out. So a caller checks
 * `failed` once, at the end.
 */
#ifndef PM_MARKUP_H
#define PM_MARKUP_H

#include "base/core.h"

#define PM_MARKUP_LINE	120		/* bytes of a line at most: psql's aligned output is as wide as the widest line */

typedef struct pm_markup
{
	pm_arena   *arena;
	char	   *text;			/* ends with a zero byte; NULL: nothing yet */
	size_t		len,
				cap;
	size_t		limit;			/* bytes that the text may have; 0: any number */
	bool		failed;
	pm_code		why;			/* where it has failed: PM_ERR_MEMORY, PM_ERR_LIMIT, PM_CANCELLED by the hooks of the arena */
} pm_markup;

/* Markup, as it is. */
void		pm_put_markup(pm_markup *m, const char *fmt,...) PM_PRINTF(2, 3);

/*
 * Words: <, >, &, quotes and apostrophes as entities, control characters and
 * those that turn the direction of text as blanks.  What has more than `most` characters (UTF-8), or would take more
 * than PM_WORDS_BYTES, so that a word without blanks fits into a line, is cut
 * off and an ellipsis put there.  most 0: whole.
 */
#define PM_WORDS_BYTES	96
void		pm_put_words(pm_markup *m, const char *words, size_t most);

/*
 * Words for JSON within a page, of at most `most` characters: an array of
 * strings, a line each, that make the words when they are joined.  All that is
 * no letter or digit of ASCII is written as \uXXXX, so that nothing in it ends
 * a string or an element of the page, no line is broken within a string, and
 * every encoding has it.
 */
void		pm_put_json_words(pm_markup *m, const char *words, size_t most);

/*
 * Words for <pre>, which keep their lines.  A long one goes on in the next line
 * of the markup, within a tag, so that what is shown and copied has no line's end there.
 */
void		pm_put_preformatted(pm_markup *m, const char *words);

/*
 * Markup whose characters beyond ASCII are numeric entities: so it is the same
 * in every encoding.  Not for text that has none, such as scripts.
 */
void		pm_put_ascii(pm_markup *m, const char *markup);

/*
 * No line longer than PM_MARKUP_LINE where there is a blank to break it at; markup means the same with a line's end there.
 * PM_CANCELLED by the hooks of the arena: the beginning has been broken.
 */
pm_code		pm_break_lines(char *text, const pm_arena *a, pm_status *st);

#endif
