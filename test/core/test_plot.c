/*
 * test_plot.c - plots are whole SVG whatever they are made of: words of users
 * are words, numbers are numbers, lines are short; axes mark round values; and
 * whole JSON, likewise.
 */
#include "check.h"

#include "plot/markup.h"
#include "plot/plot.h"

#include <ctype.h>
#include <stdlib.h>

static pm_arena arena;

/* ---- whether a text is markup ---- */

/* One tag at s, after its "<"; NULL: damaged. Attributes are quoted and hold no "<". */
static const char *
read_tag(const char *s, char *name, bool *closes, bool *empty)
{
	int			n = 0;

	*closes = *s == '/';
	*empty = false;
	s += *closes;
	while (isalnum((unsigned char) *s) && n < 30)
		name[n++] = *s++;
	name[n] = '\0';
	while (n > 0 && *s && *s != '>')
	{
		if (*s == '/')
			*empty = true;
		else if (*s == '"')
		{
			for (s++; *s != '"'; s++)
				if (!*s || *s == '<')
					return NULL;
		}
		else if (*s == '<' || *s == '\'')
			return NULL;
		s++;
	}
	return n > 0 && *s == '>' ? s + 1 : NULL;
}

/* Tags are closed in the order of their opening, entities are whole, lines are short. */
static bool
is_markup(const char *s)
{
	char		open[32][32];
	int			depth = 0;
	int			line = 0;

	while (*s)
	{
		char		name[32];
		bool		closes,
					empty;
		const char *next = s + 1;

		if (*s == '<')
		{
			if ((next = read_tag(s + 1, name, &closes, &empty)) == NULL || depth > 30)
				return false;
			if (closes && (depth == 0 || strcmp(open[--depth], name) != 0))
				return false;
			if (!closes && !empty)
				strcpy(open[depth++], name);
		}
		else if (*s == '&' && strncmp(s, "&lt;", 4) && strncmp(s, "&gt;", 4) && strncmp(s, "&amp;", 5) && strncmp(s, "&quot;", 6) && strncmp(s, "&#39;", 5) && strncmp(s, "&#8230;", 7))
			return false;
		for (; s < next; s++)
			if ((line = *s == '\n' ? 0 : line + 1) > PM_MARKUP_LINE)
				return false;
	}
	return depth == 0;
}

/* Whether it is data: one element, lines that are short, nothing that ends the element or a string before its end. */
static bool
is_data(const char *s)
{
	const char *begin = "<script type=\"application/json\" class=\"marks\">\n";
	const char *end = strstr(s, "</script>\n");
	int			line = 0;
	int			depth = 0;
	bool		within = false;

	if (strncmp(s, begin, strlen(begin)) != 0 || end == NULL || end[10] != '\0')
		return false;
	for (s += strlen(begin); s < end; s++)
	{
		if ((line = *s == '\n' ? 0 : line + 1) > PM_MARKUP_LINE || *s == '<' || *s == '>' || *s == '&' || (unsigned char) *s >= 0x7f)
			return false;
		if (*s == '"')
			within = !within;
		else if (within && (*s == '\n' || *s == ' ' || (*s == '\\' && s[1] != 'u')))
			return false;
		else if (!within)
			depth += (*s == '[' || *s == '{') - (*s == ']' || *s == '}');
	}
	return depth == 0 && !within;
}

static const char *
data_of(const pm_plot *p)
{
	pm_status	st = {PM_OK};
	char	   *data = "";

	CHECK_EQ(pm_plot_data(p, &arena, &data, &st), PM_OK);
	CHECK(is_data(data));
	CHECK(strstr(data, "nan") == NULL && strstr(data, "inf") == NULL);
	return data;
}

static const char *
draw(const pm_plot *p)
{
	pm_status	st = {PM_OK};
	char	   *svg = "";

	CHECK_EQ(pm_plot_svg(p, &arena, &svg, &st), PM_OK);
	CHECK(is_markup(svg));
	CHECK(strstr(svg, "nan") == NULL && strstr(svg, "inf") == NULL);
	return svg;
}

static pm_plot
plot_of(pm_plot_form form, const pm_mark *marks, int n)
{
	return (pm_plot) {.form = form,.reference = NAN,.width = 720,.marks = marks,.n = n};
}

/* ---- words ---- */

static const char *
words(const char *s, size_t most)
{
	pm_markup	m = {.arena = &arena};

	pm_put_markup(&m, "%s", "");
	pm_put_words(&m, s, most);
	return m.text;
}

static void
test_words(void)
{
	const char *ellipsis = "&#8230;";
	char		long_word[500];

	CHECK(strcmp(words("a<b>&\"c'", 0), "a&lt;b&gt;&amp;&quot;c&#39;") == 0);
	CHECK(strcmp(words("tab\tline\nbell\a\x7f", 0), "tab line bell  ") == 0);
	CHECK(strcmp(words("12345", 5), "12345") == 0);
	CHECK(strncmp(words("123456", 5), "1234", 4) == 0 && strcmp(words("123456", 5) + 4, ellipsis) == 0);
	/* right-to-left override and isolate, next line, no character */
	CHECK(strcmp(words("a\xe2\x80\xae" "b\xe2\x81\xa6" "c\xc2\x85" "d\xef\xbf\xbf" "e", 0), "a b c d e") == 0);
	CHECK(strcmp(words("\xd7\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc2\xa0", 0), "\xd7\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc2\xa0") == 0);
	/* whole characters, and none that would not be shown */
	CHECK(strcmp(words("\xc3\xa4\xc3\xb6\xc3\xbc", 3), "\xc3\xa4\xc3\xb6\xc3\xbc") == 0);
	CHECK(strncmp(words("\xc3\xa4\xc3\xb6\xc3\xbc", 2), "\xc3\xa4&", 3) == 0);
	memset(long_word, '&', 499);
	long_word[499] = '\0';
	CHECK(strlen(words(long_word, 400)) <= PM_WORDS_BYTES);
	CHECK_EQ(strlen(words(long_word, 0)), 499 * 5);
	CHECK_EQ(strlen(words("", 5)), 0);
}

static bool
stop_at_third(void *ctx)
{
	return ++*(int *) ctx == 3;
}

/* A text may be longer than the server has room for, and somebody may wait for it. */
static void
test_long_words(void)
{
	const size_t n = 500000;
	char	   *long_words = PM_NEW(&arena, char, n + 1);
	int			asked = 0;
	pm_hooks	hooks = {.stop = stop_at_third,.ctx = &asked};
	pm_arena	a = {0};

	memset(long_words, '<', n);
	pm_arena_init_malloc(&a);
	for (int lines = 0; lines < 2; lines++)
		for (size_t limit = 0; limit < 8 * n; limit += n)
		{
			pm_markup	m = {.arena = &a, .limit = limit};
			bool		has_room = limit == 0 || limit >= (lines ? 5 : 4) * n;

			if (lines)
				pm_put_preformatted(&m, long_words);
			else
				pm_put_words(&m, long_words, 0);
			CHECK_EQ(m.failed, !has_room);
			if (!has_room)
				CHECK(m.why == PM_ERR_LIMIT && m.len <= limit);
		}
	a.hooks = &hooks;
	for (int lines = 0; lines < 2; lines++)
	{
		pm_markup	m = {.arena = &a};

		asked = 0;
		if (lines)
			pm_put_preformatted(&m, long_words);
		else
			pm_put_words(&m, long_words, 0);
		CHECK(m.failed && m.why == PM_CANCELLED);
		CHECK_EQ(asked, 3);
	}
	{
		pm_status	st = {PM_OK};

		asked = 0;
		CHECK_EQ(pm_break_lines(long_words, &a, &st), PM_CANCELLED);
		CHECK_EQ(asked, 3);
		CHECK_EQ(st.code, PM_CANCELLED);
	}
	pm_arena_release(&a);
}

/* Markup as entities: ASCII as it is, characters of two, three and four bytes by their numbers. */
static void
test_ascii(void)
{
	pm_markup	m = {.arena = &arena};
	pm_markup	none = {.arena = &arena};

	pm_put_ascii(&m, "<p>\xc3\xa9t\xc3\xa9 \xe2\x82\xac\xf0\x9f\x98\x80</p>\n");
	CHECK(strcmp(m.text, "<p>&#233;t&#233; &#8364;&#128512;</p>\n") == 0);
	pm_put_ascii(&none, "");
	CHECK(none.len == 0 && !none.failed);
}

static void
test_lines(void)
{
	char		text[1000];
	pm_status	st = {PM_OK};
	int			longest = 0;

	for (int i = 0; i < 999; i++)
		text[i] = i % 17 == 16 ? ' ' : 'x';
	text[999] = '\0';
	CHECK(pm_break_lines(text, &arena, &st) == PM_OK);
	for (int i = 0, line = 0; i < 999; i++)
		longest = (line = text[i] == '\n' ? 0 : line + 1) > longest ? line : longest;
	CHECK(longest <= PM_MARKUP_LINE && longest > PM_MARKUP_LINE - 20);
	{
		/* as it was, when tags are left out */
		pm_markup	m = {.arena = &arena};
		int			bare = 0;

		memset(text, 'y', 300);
		text[150] = '\n';
		text[151] = '<';
		text[300] = '\0';
		pm_put_preformatted(&m, text);
		for (const char *s = m.text; *s; s++)
			bare += *s == 'y';
		CHECK_EQ(bare, 298);
		CHECK_HAS(m.text, "y\n&lt;y");
		CHECK_HAS(m.text, "<wbr\n>y");
		CHECK(pm_break_lines(m.text, &arena, &st) == PM_OK);
		CHECK(strchr(m.text, ' ') == NULL);
	}
	/* nothing to break at: as it was */
	memset(text, 'x', 300);
	text[300] = '\0';
	CHECK(pm_break_lines(text, &arena, &st) == PM_OK);
	CHECK(strchr(text, '\n') == NULL);
}

static void
test_hostile(void)
{
	const char *name = "</script><svg onload=\"alert('x')\">&amp; \n-->";
	pm_mark		m[] = {{name, name, 1, 2, 0.5, 3}, {"other", name, 2, 3, NAN, NAN}};

	for (int form = 0; form < PM_N_PLOT_FORMS; form++)
	{
		pm_plot		p = plot_of(form, m, 2);
		const char *svg;

		p.title = p.x_title = p.y_title = name;
		svg = draw(&p);
		CHECK(strstr(svg, "script>") == NULL && strstr(svg, "<svg onload") == NULL);
		CHECK_HAS(svg, "&lt;/script&gt;");
		CHECK_HAS(data_of(&p), "\\u003c\\u002fscript\\u003e");
	}
}

/* ---- axes ---- */

static const char *
ticks_of(pm_scale_kind kind, double low, double high, int wanted)
{
	static char all[600];
	pm_scale	s = {.kind = kind,.low = low,.high = high,.from = 0,.to = 100};
	pm_ticks	t;

	all[0] = '\0';
	pm_scale_ticks(&s, wanted, &t);
	for (int i = 0; i < t.n; i++)
	{
		CHECK(t.at[i] >= low - 1e-9 * fabs(low) && t.at[i] <= high + 1e-9 * fabs(high) && (i == 0 || t.at[i] > t.at[i - 1]));
		strcat(strcat(all, i ? " " : ""), t.label[i]);
	}
	return all;
}

static void
test_ticks(void)
{
	const double day = 86400;
	const double march_1 = 11017 * day; /* 2000-03-01 */

	CHECK_HAS(ticks_of(PM_SCALE_LINEAR, 0, 41, 8), "0 10 20 30 40");
	CHECK_HAS(ticks_of(PM_SCALE_LINEAR, -0.3, 0.3, 6), "-0.2 -0.1 0 0.1 0.2");
	CHECK_HAS(ticks_of(PM_SCALE_LINEAR, 0, 25000, 6), "0 5000 10k 15k 20k 25k");
	CHECK_HAS(ticks_of(PM_SCALE_LOG, 0.9, 1100, 4), "1 10 100 1000");
	CHECK_HAS(ticks_of(PM_SCALE_LOG, 0.9, 60, 8), "1 2 5 10 20 50");
	CHECK_HAS(ticks_of(PM_SCALE_LOG, 3.1, 3.9, 4), "3.2 3.4 3.6 3.8");
	CHECK_HAS(ticks_of(PM_SCALE_LOG, 250, 70000, 4), "300 1000 3000 10k 30k");
	CHECK_HAS(ticks_of(PM_SCALE_LOG, 200, 80000, 4), "300 1000 3000 10k 30k");
	CHECK_HAS(ticks_of(PM_SCALE_LOG, 200, 4e7, 4), "1000 10k 100k 1M 10M");
	CHECK_HAS(ticks_of(PM_SCALE_LOG, 1e-100, 1e100, 4), "1e-68 1e-34 1 1e+34 1e+68");
	/* numbers of GPUs */
	CHECK_HAS(ticks_of(PM_SCALE_LOG2, 0.9, 70, 5), "1 2 4 8 16 32 64");
	CHECK_HAS(ticks_of(PM_SCALE_LOG2, 0.6, 1.1e5, 5), "1 4 16 64 256 1024 4096 16384 65536");
	CHECK_HAS(ticks_of(PM_SCALE_LOG2, 0.1, 3e6, 60), "0.25 1 4 16 64 256 1024 4096 16384 65536 262144 1.05M");
	CHECK_HAS(ticks_of(PM_SCALE_LOG2, 3.1, 3.9, 5), "3.2 3.4 3.6 3.8");
	CHECK_HAS(ticks_of(PM_SCALE_TIME, march_1 - 2 * day, march_1 + 2 * day, 5), "28 Feb 29 Feb 1 Mar 2 Mar 3 Mar");
	CHECK_HAS(ticks_of(PM_SCALE_TIME, march_1 - 60 * day, march_1 + 20 * day, 4), "Jan 2000 Feb 2000 Mar 2000");
	CHECK_HAS(ticks_of(PM_SCALE_TIME, march_1 + 8 * 3600, march_1 + 11 * 3600, 4), "08:00 09:00 10:00 11:00");
	CHECK_HAS(ticks_of(PM_SCALE_TIME, march_1, march_1 + 3000 * day, 6), "Jan 2002 Jan 2004 Jan 2006 Jan 2008");
}

static void
test_numbers(void)
{
	const struct
	{
		double		v;
		const char *text;
	}			cases[] = {{0, "0"}, {1, "1"}, {0.125, "0.125"}, {12.34, "12.3"}, {123.4, "123"}, {9999, "9999"}, {12345, "12.3k"}, {-2.5, "-2.5"},
	{1.5e6, "1.5M"}, {2e9, "2G"}, {1e-5, "1e-05"}, {99.96, "100"}};

	for (int i = 0; i < (int) (sizeof(cases) / sizeof(cases[0])); i++)
	{
		char		out[24];

		pm_short_number(cases[i].v, out, sizeof(out));
		if (strcmp(out, cases[i].text) != 0)
			fprintf(stderr, "%g is %s\n", cases[i].v, out);
		CHECK(strcmp(out, cases[i].text) == 0);
	}
}

/* ---- marks ---- */

static int
count(const char *s, const char *part)
{
	int			n = 0;

	for (; (s = strstr(s, part)) != NULL; s++)
		n++;
	return n;
}

static void
test_forms(void)
{
	pm_mark		m[] = {{"a", "one", 1, 2, 0.5, 3}, {"b", "one", 2, 3, NAN, NAN}, {"a", "two", 4, 5, 3.5, 6}, {"a", "two", NAN, 5, NAN, NAN}};
	pm_plot		p = plot_of(PM_PLOT_BARS, m, 4);
	const char *svg = draw(&p);

	/* three bars with values, two legends, the sums of the rows, whiskers */
	CHECK_EQ(count(svg, "rx=\"1.5\""), 3);
	CHECK_EQ(count(svg, "class=\"w n\""), 2);
	CHECK(count(svg, ">3</text>") >= 1 && count(svg, ">4</text>") >= 1);
	CHECK_EQ(count(svg, ">one</text>"), 1);
	CHECK_HAS(svg, "<title>a, two: 4 (3.5 to 6)</title>");
	p = plot_of(PM_PLOT_LINES, m, 4);
	svg = draw(&p);
	CHECK_EQ(count(svg, "<circle"), 3);
	CHECK_EQ(count(svg, "fill-opacity=\"0.16\""), 1);
	p = plot_of(PM_PLOT_COMPARE, m, 4);
	CHECK_EQ(count(draw(&p), "<circle"), 3);
	CHECK_HAS(draw(&p), "class=\"r n\"");
	p = plot_of(PM_PLOT_SPANS, m, 4);
	CHECK_EQ(count(draw(&p), "fill-opacity=\"0.3\""), 2);
	p = plot_of(PM_PLOT_BARS, NULL, 0);
	CHECK_HAS(draw(&p), "no data");
}

/* The number behind `part` in s, at or after `mark`. */
static double
number_behind(const char *s, const char *mark, const char *part)
{
	const char *at = strstr(s, mark);

	at = at != NULL ? strstr(at, part) : NULL;
	return at != NULL ? strtod(at + strlen(part), NULL) : NAN;
}

/* A bar begins where the one before it in the row ends, whatever its interval is. */
static void
test_stacked_whiskers(void)
{
	pm_mark		m[] = {{"a", "one", 4, NAN, 3, 5}, {"b", "one", 4, NAN, NAN, NAN}};
	pm_plot		p = plot_of(PM_PLOT_BARS, m, 2);
	const char *svg = draw(&p);

	CHECK_NEAR(number_behind(svg, "<rect class=\"f1\"", "width=\""), number_behind(svg, "<rect class=\"f0\"", "width=\""), 0.2);
}

/* Spans over time say the minute at which they begin and end. */
static void
test_span_times(void)
{
	pm_mark		m[] = {{NULL, "one", 1772442600, 1772449800, NAN, NAN}};	/* 2026-03-02, 09:10 to 11:10 */
	pm_plot		p = plot_of(PM_PLOT_SPANS, m, 1);

	p.x_scale = PM_SCALE_TIME;
	CHECK_HAS(draw(&p), "<title>one: 09:10 to 11:10</title>");
}

/* A line across that is beyond all points is still within the frame, which begins 8 pixels below the top. */
static void
test_far_reference(void)
{
	pm_mark		m[] = {{NULL, NULL, 1, 2, NAN, NAN}, {NULL, NULL, 2, 3, NAN, NAN}};
	pm_plot		p = plot_of(PM_PLOT_POINTS, m, 2);

	p.reference = 100;
	CHECK(number_behind(draw(&p), "class=\"r\"", ".0 ") >= 8);
}

static void
test_data(void)
{
	pm_mark		m[] = {{"a", "one", 1e9 + 1, 2, 0.5, 3}, {"b", "one", 2, 1234567, NAN, NAN}, {"a", "two", 4, INFINITY, NAN, 6}, {"a", "two", NAN, NAN, NAN, NAN}};
	pm_plot		p = plot_of(PM_PLOT_LINES, m, 4);
	const char *long_name = "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80"
		" \xe2\x80\xa8\"\\'</script>";

	p.x_scale = PM_SCALE_TIME;
	p.x_title = "a \"b\"";
	CHECK_HAS(data_of(&p), "\"form\":\"lines\",\"reference\":null,\n\"x\":{\"scale\":\"time\",\"title\":[\"a\\u0020\\u0022b\\u0022\"]},\n"
			  "\"y\":{\"scale\":\"linear\",\"title\":null},\n\"series\":[[\"a\"],\n[\"b\"]],\n\"rows\":[],\n\"marks\":[\n"
			  "[0,1000000001,2,0.5,3],\n[1,2,1.23457e+06],\n[0,4,null,null,6],\n[0]]}\n");
	p.form = PM_PLOT_SPANS;
	p.reference = 90;
	m[0].y = 1e9 + 2;
	CHECK_HAS(data_of(&p), "\"reference\":90,");
	CHECK_HAS(data_of(&p), "\"rows\":[[\"one\"],\n[\"two\"]],\n\"marks\":[\n[0,1000000001,1000000002,0.5,3,0],\n[1,2,1234567,null,null,0],\n");
	/* what the SVG leaves out: the sum of two such numbers need not be one */
	m[1].x = 1e15;
	m[1].y = m[1].low = 8;
	p.reference = 1e300;
	CHECK_HAS(data_of(&p), "\"reference\":null,");
	CHECK_HAS(data_of(&p), "[1,null,8,8,null,0]");
	p.x_scale = PM_SCALE_LINEAR;
	m[1].y = -1e308;
	CHECK_HAS(data_of(&p), "[1,1e+15,null,8");
	m[0].series = long_name;
	CHECK_HAS(data_of(&p), "[\"\\ud83d\\ude00\\ud83d\\ude00\\ud83d\\ude00\\ud83d\\ude00\\ud83d\\ude00\\ud83d\\ude00\\ud83d\\ude00\",\n\"\\ud83d\\ude00\\u0020\\u0020\\u0022\\u005c\\u0027\\u003c\\u002fscrip\",\n\"t\\u003e\"]");
}

static double
any_number(pm_rng *r)
{
	static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e308, -1e308, 1e-320, 1e18, -1};
	uint64_t	k = pm_rng_next(r) % 30;

	return k < 10 ? odd[k] : exp(8 * pm_rng_uniform(r)) - 3;
}

static void
test_anything(void)
{
	static const char *const names[] = {"", "a", "b<", "c&d e", "\xff\xfe", "\xe2\x82", "x\x01y", NULL};
	pm_mark		m[700];
	pm_rng		r;

	pm_rng_seed(&r, 5);
	for (int i = 0; i < 600; i++)
	{
		pm_plot		p = plot_of(i % PM_N_PLOT_FORMS, m, (int) (pm_rng_next(&r) % (i % 10 == 0 ? 700 : 30)));

		for (int k = 0; k < p.n; k++)
			m[k] = (pm_mark) {names[pm_rng_next(&r) % 8], names[pm_rng_next(&r) % 8], any_number(&r), any_number(&r), any_number(&r), any_number(&r)};
		p.x_scale = pm_rng_next(&r) % PM_N_SCALE_KINDS;
		p.y_scale = pm_rng_next(&r) % PM_N_SCALE_KINDS;
		p.reference = any_number(&r);
		p.title = names[pm_rng_next(&r) % 8];
		p.width = 240 + (int) (pm_rng_next(&r) % 1000);
		p.height = pm_rng_next(&r) % 2 ? 0 : 120 + (int) (pm_rng_next(&r) % 900);
		draw(&p);
		data_of(&p);
	}
}

/* Labels below an axis lie within the picture, wherever the last of them falls, in a font of 6.5 pixels a letter. */
static void
test_edges(void)
{
	const char *begin = "<text class=\"d m\" x=\"";
	int			seen = 0;

	for (int hour = 0; hour < 24 * 40; hour += 5)
	{
		double		from = 1.8e9 + 3600 * hour;
		pm_mark		m[] = {{"a", "one", from, from + 86400 * (3 + hour % 17), NAN, NAN}};
		pm_plot		p = plot_of(PM_PLOT_SPANS, m, 1);

		p.x_scale = PM_SCALE_TIME;
		for (const char *s = draw(&p); (s = strstr(s, begin)) != NULL; seen++)
		{
			double		at = strtod(s + strlen(begin), NULL);
			double		half = 6.5 / 2 * (double) strcspn(s = strchr(s, '>') + 1, "<");

			CHECK(at - half >= 0 && at + half <= p.width);
		}
		pm_arena_reset(&arena, 1 << 20);
	}
	CHECK(seen > 500);
}

static void
test_limits(void)
{
	pm_mark		m = {0};
	pm_mark	   *many = PM_NEW(&arena, pm_mark, 300);
	pm_plot		p = plot_of(PM_PLOT_BARS, &m, 1);
	pm_status	st = {PM_OK};
	char	   *svg;

	p.width = 239;
	CHECK_EQ(pm_plot_svg(&p, &arena, &svg, &st), PM_ERR_OPTION);
	p.width = 4001;
	CHECK_EQ(pm_plot_svg(&p, &arena, &svg, &st), PM_ERR_OPTION);
	p.width = 700;
	p.height = 119;
	CHECK_EQ(pm_plot_svg(&p, &arena, &svg, &st), PM_ERR_OPTION);
	p.height = 0;
	p.n = PM_PLOT_MAX_MARKS + 1;
	CHECK_EQ(pm_plot_svg(&p, &arena, &svg, &st), PM_ERR_LIMIT);
	CHECK_EQ(pm_plot_data(&p, &arena, &svg, &st), PM_ERR_LIMIT);
	p.marks = many;
	for (p.n = 0; p.n < 300; p.n++)
	{
		char		name[20];

		snprintf(name, sizeof(name), "row %d", p.n);
		many[p.n].label = pm_strdup(&arena, name, strlen(name));
	}
	CHECK_EQ(pm_plot_svg(&p, &arena, &svg, &st), PM_ERR_LIMIT);
	CHECK_HAS(st.message, "at most 200 rows");
	CHECK_EQ(pm_plot_data(&p, &arena, &svg, &st), PM_ERR_LIMIT);
	for (int i = 0; i < 300; i++)
		many[i].series = many[i].label;
	CHECK_EQ(pm_plot_svg(&p, &arena, &svg, &st), PM_ERR_LIMIT);
	CHECK_HAS(st.message, "at most 24 series");
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_words();
	test_long_words();
	test_ascii();
	test_lines();
	test_hostile();
	test_ticks();
	test_numbers();
	test_forms();
	test_stacked_whiskers();
	test_span_times();
	test_far_reference();
	test_data();
	test_anything();
	test_edges();
	test_limits();
	pm_arena_release(&arena);
	return check_done("test_plot");
}
