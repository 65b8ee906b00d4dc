/*
 * canvas.c - frame, axes, legend and colours of plots.
 */
#include "plot/canvas.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEGEND_ROW	20

/*
 * Colours of series and of everything else, for a light ground, a dark one, and
 * paper. Each is at least 3 : 1 against its ground, text 4.5 : 1.
 */
static const char light[] =
	"--pm-ink:#1c2430;--pm-dim:#556070;--pm-line:#dde2e9;--pm-0:#2f6fd0;--pm-1:#c2571a;\n"
	"--pm-2:#16806f;--pm-3:#a23f85;--pm-4:#6d7a16;--pm-5:#6a54c4;--pm-6:#9a7400;--pm-7:#5f6b7a";
static const char dark[] =
	"--pm-ink:#e8ebf0;--pm-dim:#a3adba;--pm-line:#343b46;--pm-0:#6ea8ff;--pm-1:#f2975a;\n"
	"--pm-2:#4cc9b0;--pm-3:#e08ac4;--pm-4:#b9c64a;--pm-5:#a99bff;--pm-6:#e0b93f;--pm-7:#9aa7b8";

static void
put_style(pm_markup *m)
{
	pm_put_markup(m, "<style>\n.pm{%s}\n", light);
	pm_put_markup(m, "@media screen and (prefers-color-scheme:dark){.pm{%s}}\n", dark);
	pm_put_markup(m, ".pm text{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;fill:var(--pm-ink)}\n"
				  ".pm .t{font-size:14px;font-weight:600}.pm .d{fill:var(--pm-dim)}.pm .e{text-anchor:end}\n"
				  ".pm .m{text-anchor:middle}.pm .g{stroke:var(--pm-line);stroke-width:1}.pm .n{fill:none}\n"
				  ".pm .r{stroke:var(--pm-dim);stroke-width:1.2;stroke-dasharray:5 4}.pm .w{stroke:var(--pm-ink);stroke-width:1.2}\n");
	for (int i = 0; i < PM_COLOURS; i++)
		pm_put_markup(m, ".pm .f%d{fill:var(--pm-%d)}.pm .s%d{stroke:var(--pm-%d)}%s", i, i, i, i, i % 2 ? "\n" : "");
	pm_put_markup(m, "</style>\n");
}

/* ---- names ---- */

static int
find_name(const char **names, int *n, int most, const char *name)
{
	/* marks of a series mostly come one after the other */
	for (int i = *n - 1; i >= 0; i--)
		if (strcmp(names[i], name) == 0)
			return i;
	if (*n >= most)
		return -1;
	names[*n] = name;
	return (*n)++;
}

pm_code
pm_canvas_sort(pm_canvas *c, pm_arena *a, pm_status *st)
{
	const pm_plot *p = c->plot;
	bool		rows = p->form == PM_PLOT_BARS || p->form == PM_PLOT_SPANS;

	c->series = PM_NEW(a, const char *, PM_PLOT_MAX_SERIES);
	c->rows = PM_NEW(a, const char *, PM_PLOT_MAX_ROWS);
	c->series_of = PM_NEW(a, int, p->n);
	c->row_of = rows ? PM_NEW(a, int, p->n) : NULL;
	if (!c->series || !c->rows || !c->series_of || (rows && !c->row_of))
		return pm_no_memory(st, a);
	for (int i = 0; i < p->n; i++)
	{
		const pm_mark *m = &p->marks[i];

		if (i % PM_POLL_EVERY == 0 && pm_stopped(a, st))
			return PM_CANCELLED;
		c->series_of[i] = find_name(c->series, &c->n_series, PM_PLOT_MAX_SERIES, m->series ? m->series : "");
		if (c->series_of[i] < 0)
			return pm_fail(st, PM_ERR_LIMIT, "a plot has at most %d series", PM_PLOT_MAX_SERIES);
		if (!rows)
			continue;
		c->row_of[i] = find_name(c->rows, &c->n_rows, PM_PLOT_MAX_ROWS, m->label ? m->label : "");
		if (c->row_of[i] < 0)
		{
			pm_fail(st, PM_ERR_LIMIT, "a plot has at most %d rows", PM_PLOT_MAX_ROWS);
			pm_hint(st, "Show the largest ones, and the others together.");
			return PM_ERR_LIMIT;
		}
	}
	return PM_OK;
}

/*
 * Pixels that a label takes, rather too many: of the widest of the fonts that
 * it may be drawn with.
 */
static double
width_of(const char *s)
{
	double		width = 0;
	int			n = 0;

	for (; *s && n < PM_LABEL_LETTERS; s++)
	{
		if (((unsigned char) *s & 0xc0) == 0x80)
			continue;
		n++;
		width += strchr("ijlI.,:;|!' ()", *s) ? 4.6 : (unsigned char) *s >= 0x80 || strchr("mwMW@%&", *s) ? 11.6 :
			*s >= 'a' && *s <= 'z' ? 7.2 : 8.2;
	}
	return width;
}

/* ---- the frame ---- */

static bool
has_legend(const pm_canvas *c)
{
	return c->n_series > 1 || (c->n_series == 1 && c->series[0][0] != '\0');
}

/* Draw the legend, or (out NULL) only see how many lines it takes. */
static int
legend(const pm_canvas *c, pm_markup *out, double y)
{
	double		x = 8;
	int			lines = has_legend(c);

	for (int i = 0; i < c->n_series && lines; i++)
	{
		double		width = 18 + width_of(c->series[i]) + 14;

		if (x + width > c->plot->width && x > 8)
		{
			x = 8;
			lines++;
		}
		if (out != NULL)
		{
			double		at = y + (lines - 1) * LEGEND_ROW;

			pm_put_markup(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"2\" class=\"f%d\"/>\n", x, at, i % PM_COLOURS);
			pm_put_markup(out, "<text x=\"%.1f\" y=\"%.1f\">", x + 17, at + 10);
			pm_put_words(out, c->series[i], PM_LABEL_LETTERS);
			pm_put_markup(out, "</text>\n");
		}
		x += width;
	}
	return lines;
}

/* Room on the left for the labels of rows, or for those of the axis. */
static double
left_room(const pm_canvas *c, bool has_rows)
{
	double		widest = has_rows ? 30 : 36;

	for (int i = 0; i < c->n_rows; i++)
		widest = fmax(widest, width_of(c->rows[i]));
	return fmin(widest + 14, 0.4 * c->plot->width) + (has_rows || c->plot->y_title == NULL ? 0 : 18);
}

void
pm_canvas_frame(pm_canvas *c, bool has_rows)
{
	const pm_plot *p = c->plot;
	double		under = 26 + (p->x_title != NULL ? 18 : 0);
	double		height = p->height;

	c->top = (p->title != NULL ? 30 : 8) + legend(c, NULL, 0) * LEGEND_ROW + (has_legend(c) ? 4 : 0);
	if (height == 0)
		height = has_rows ? c->top + c->n_rows * PM_ROW_HEIGHT + 6 + under : 320;
	c->left = left_room(c, has_rows);
	/* values stand after the bars */
	c->right = p->width - (p->form == PM_PLOT_BARS ? 62 : 16);
	c->bottom = fmax(height - under, c->top + 20);
	c->x.from = c->left;
	c->x.to = c->right;
	c->y.from = c->bottom;
	c->y.to = c->top;
	pm_scale_finish(&c->x);
	pm_scale_finish(&c->y);
}

void
pm_canvas_begin(pm_canvas *c)
{
	const pm_plot *p = c->plot;
	double		height = c->bottom + 26 + (p->x_title != NULL ? 18 : 0);

	pm_put_markup(&c->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"pm\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\"\n"
				  "style=\"max-width:100%%;height:auto\" role=\"img\" aria-label=\"", p->width, height, p->width, height);
	pm_put_words(&c->out, p->title ? p->title : "plot", PM_TITLE_LETTERS);
	pm_put_markup(&c->out, "\">\n");
	put_style(&c->out);
	if (p->title != NULL)
	{
		pm_put_markup(&c->out, "<text x=\"8\" y=\"18\" class=\"t\">");
		pm_put_words(&c->out, p->title, PM_TITLE_LETTERS);
		pm_put_markup(&c->out, "</text>\n");
	}
	legend(c, &c->out, p->title != NULL ? 30 : 6);
}

void
pm_canvas_end(pm_canvas *c)
{
	if (c->plot->n == 0)
		pm_put_markup(&c->out, "<text x=\"%.0f\" y=\"%.0f\" class=\"d m\">no data</text>\n", (c->left + c->right) / 2, (c->top + c->bottom) / 2);
	pm_put_markup(&c->out, "</svg>\n");
}

/* ---- axes ---- */

static void
axis_title(pm_canvas *c, const char *title, bool upright)
{
	double		x = (c->left + c->right) / 2;
	double		y = (c->top + c->bottom) / 2;

	if (title == NULL)
		return;
	if (upright)
		pm_put_markup(&c->out, "<text class=\"d m\" transform=\"translate(14 %.0f) rotate(-90)\">", y);
	else
		pm_put_markup(&c->out, "<text class=\"d m\" x=\"%.0f\" y=\"%.0f\">", x, c->bottom + 37);
	pm_put_words(&c->out, title, PM_TITLE_LETTERS);
	pm_put_markup(&c->out, "</text>\n");
}

/* Where the label of a mark at x stands: in its middle, but not beyond the edges of the picture. */
static double
label_at(const pm_canvas *c, double x, const char *label)
{
	double		half = width_of(label) / 2;

	return fmax(fmin(x, c->plot->width - half), half);
}

void
pm_canvas_axes(pm_canvas *c, bool x_axis, bool y_axis)
{
	pm_ticks	t;

	pm_scale_ticks(&c->x, (int) ((c->right - c->left) / 80), &t);
	for (int i = 0; i < t.n && x_axis; i++)
	{
		double		at = pm_scale_at(&c->x, t.at[i]);

		pm_put_markup(&c->out, "<path class=\"g\" d=\"M%.1f %.1fV%.1f\"/>\n", at, c->top, c->bottom);
		pm_put_markup(&c->out, "<text class=\"d m\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", label_at(c, at, t.label[i]), c->bottom + 17,
					  t.label[i]);
	}
	pm_scale_ticks(&c->y, (int) fmax((c->bottom - c->top) / 45, 2), &t);
	for (int i = 0; i < t.n && y_axis; i++)
	{
		double		at = pm_scale_at(&c->y, t.at[i]);

		pm_put_markup(&c->out, "<path class=\"g\" d=\"M%.1f %.1fH%.1f\"/>\n", c->left, at, c->right);
		pm_put_markup(&c->out, "<text class=\"d e\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", c->left - 7, at + 4, t.label[i]);
	}
	axis_title(c, c->plot->x_title, false);
	if (y_axis)
		axis_title(c, c->plot->y_title, true);
}

double
pm_canvas_row(const pm_canvas *c, int row)
{
	return c->top + (row + 0.5) * (c->bottom - c->top) / c->n_rows;
}

void
pm_canvas_row_labels(pm_canvas *c)
{
	for (int i = 0; i < c->n_rows; i++)
	{
		/* as many letters as there is room for */
		double		part = (c->left - 14) / width_of(c->rows[i]);
		double		all = fmin((double) strlen(c->rows[i]), PM_LABEL_LETTERS);
		size_t		most = part >= 1 ? PM_LABEL_LETTERS : (size_t) fmax(part * all, 1);

		pm_put_markup(&c->out, "<text class=\"e\" x=\"%.1f\" y=\"%.1f\">", c->left - 8, pm_canvas_row(c, i) + 4);
		pm_put_words(&c->out, c->rows[i], most);
		pm_put_markup(&c->out, "</text>\n");
	}
}

void
pm_canvas_tip(pm_canvas *c, const pm_mark *m, const char *values)
{
	if (c->plot->n > PM_TIPS)
		return;
	pm_put_markup(&c->out, "<title>");
	if (m->series != NULL && m->series[0])
	{
		pm_put_words(&c->out, m->series, 40);
		pm_put_markup(&c->out, ", ");
	}
	if (m->label != NULL && m->label[0])
	{
		pm_put_words(&c->out, m->label, PM_LABEL_LETTERS);
		pm_put_markup(&c->out, ": ");
	}
	pm_put_markup(&c->out, "%s</title>", values);
}

void
pm_canvas_reference(pm_canvas *c, bool upright)
{
	double		v = c->plot->reference;

	if (!pm_scale_has(upright ? &c->x : &c->y, v))
		return;
	if (upright)
		pm_put_markup(&c->out, "<path class=\"r\" d=\"M%.1f %.1fV%.1f\"/>\n", pm_scale_at(&c->x, v), c->top, c->bottom);
	else
		pm_put_markup(&c->out, "<path class=\"r\" d=\"M%.1f %.1fH%.1f\"/>\n", c->left, pm_scale_at(&c->y, v), c->right);
}
