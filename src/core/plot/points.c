/*
 * points.c - plots of x and y: points, lines with bands.
 */
#include "plot/canvas.h"

#include <math.h>
#include <stdio.h>

#define DOTS	60				/* marks of a line, up to which each is a dot, too */
#define PER_LINE	8			/* points of a path in a line of text */

static bool
has_both(const pm_canvas *c, const pm_mark *m)
{
	return pm_scale_has(&c->x, m->x) && pm_scale_has(&c->y, m->y);
}

void
pm_points_scales(pm_canvas *c)
{
	bool		same = c->plot->form == PM_PLOT_COMPARE;

	for (int i = 0; i < c->plot->n; i++)
	{
		const pm_mark *m = &c->plot->marks[i];

		if (!has_both(c, m))
			continue;
		pm_scale_take(&c->x, m->x);
		pm_scale_take(&c->y, m->y);
		if (same)
		{
			pm_scale_take(&c->x, m->y);
			pm_scale_take(&c->y, m->x);
		}
	}
	if (!same)
		pm_scale_take(&c->y, c->plot->reference);
}

/* Many points are one path of dots: small, and each position is drawn once. */
static void
draw_cloud(pm_canvas *c, int series)
{
	int			n = 0;

	pm_put_markup(&c->out, "<path class=\"n s%d\" stroke-width=\"5\" stroke-linecap=\"round\" stroke-opacity=\"0.6\" d=\"", series % PM_COLOURS);
	for (int i = 0; i < c->plot->n; i++)
	{
		const pm_mark *m = &c->plot->marks[i];

		if (c->series_of[i] == series && has_both(c, m))
			pm_put_markup(&c->out, "M%.1f %.1fh0%s", pm_scale_at(&c->x, m->x), pm_scale_at(&c->y, m->y), ++n % PER_LINE == 0 ? "\n" : "");
	}
	pm_put_markup(&c->out, "\"/>\n");
}

static void
draw_dot(pm_canvas *c, int i, double radius)
{
	const pm_mark *m = &c->plot->marks[i];
	char		x[24],
				y[24];
	char		text[64];

	if (!has_both(c, m))
		return;
	pm_put_markup(&c->out, "<circle class=\"f%d\" fill-opacity=\"0.75\" r=\"%.1f\" cx=\"%.1f\" cy=\"%.1f\">", c->series_of[i] % PM_COLOURS, radius,
				  pm_scale_at(&c->x, m->x), pm_scale_at(&c->y, m->y));
	pm_short_number(m->x, x, sizeof(x));
	pm_short_number(m->y, y, sizeof(y));
	if (c->x.kind == PM_SCALE_TIME)
		snprintf(text, sizeof(text), "%s", y);
	else
		snprintf(text, sizeof(text), "%s, %s", x, y);
	pm_canvas_tip(c, m, text);
	pm_put_markup(&c->out, "</circle>\n");
}

void
pm_points_draw(pm_canvas *c)
{
	if (c->plot->form == PM_PLOT_COMPARE)
	{
		double		low = fmax(c->x.low, c->y.low);
		double		high = fmin(c->x.high, c->y.high);

		pm_put_markup(&c->out, "<path class=\"r n\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", pm_scale_at(&c->x, low), pm_scale_at(&c->y, low),
					  pm_scale_at(&c->x, high), pm_scale_at(&c->y, high));
	}
	pm_canvas_reference(c, false);
	for (int i = 0; i < c->n_series && c->plot->n > PM_TIPS; i++)
		draw_cloud(c, i);
	for (int i = 0; i < c->plot->n && c->plot->n <= PM_TIPS; i++)
		draw_dot(c, i, 3.2);
}

/* ---- lines ---- */

void
pm_lines_scales(pm_canvas *c)
{
	for (int i = 0; i < c->plot->n; i++)
	{
		const pm_mark *m = &c->plot->marks[i];

		if (!has_both(c, m))
			continue;
		pm_scale_take(&c->x, m->x);
		pm_scale_take(&c->y, m->y);
		pm_scale_take(&c->y, m->low);
		pm_scale_take(&c->y, m->high);
	}
	pm_scale_take(&c->y, c->plot->reference);
}

/* The marks of a series that can be drawn, in the order in which they came. */
static int
line_of(const pm_canvas *c, int series, int *at)
{
	int			n = 0;

	for (int i = 0; i < c->plot->n; i++)
		if (c->series_of[i] == series && has_both(c, &c->plot->marks[i]))
			at[n++] = i;
	return n;
}

/* The band of the marks at[0..n), which all have one: there along high, and back along low. */
static void
draw_band(pm_canvas *c, int series, const int *at, int n)
{
	if (n < 2)
		return;
	pm_put_markup(&c->out, "<path class=\"f%d\" fill-opacity=\"0.16\" d=\"", series % PM_COLOURS);
	for (int k = 0; k < 2 * n; k++)
	{
		const pm_mark *m = &c->plot->marks[at[k < n ? k : 2 * n - 1 - k]];

		pm_put_markup(&c->out, "%c%.1f %.1f%s", k == 0 ? 'M' : 'L', pm_scale_at(&c->x, m->x), pm_scale_at(&c->y, k < n ? m->high : m->low),
					  k % PER_LINE == PER_LINE - 1 ? "\n" : "");
	}
	pm_put_markup(&c->out, "Z\"/>\n");
}

static void
draw_bands(pm_canvas *c, int series, const int *at, int n)
{
	int			start = 0;

	for (int k = 0; k <= n; k++)
	{
		const pm_mark *m = k < n ? &c->plot->marks[at[k]] : NULL;

		if (m != NULL && pm_scale_has(&c->y, m->low) && pm_scale_has(&c->y, m->high))
			continue;
		draw_band(c, series, at + start, k - start);
		start = k + 1;
	}
}

static void
draw_line(pm_canvas *c, int series, const int *at, int n)
{
	draw_bands(c, series, at, n);
	if (n > 1)
	{
		pm_put_markup(&c->out, "<path class=\"n s%d\" stroke-width=\"2\" stroke-linejoin=\"round\" d=\"", series % PM_COLOURS);
		for (int k = 0; k < n; k++)
			pm_put_markup(&c->out, "%c%.1f %.1f%s", k == 0 ? 'M' : 'L', pm_scale_at(&c->x, c->plot->marks[at[k]].x),
						  pm_scale_at(&c->y, c->plot->marks[at[k]].y), k % PER_LINE == PER_LINE - 1 ? "\n" : "");
		pm_put_markup(&c->out, "\"/>\n");
	}
	for (int k = 0; k < n && n <= DOTS; k++)
		draw_dot(c, at[k], 3);
}

pm_code
pm_lines_draw(pm_canvas *c, pm_arena *a, pm_status *st)
{
	int		   *at = PM_NEW(a, int, c->plot->n);

	if (!at)
		return pm_no_memory(st, a);
	pm_canvas_reference(c, false);
	for (int i = 0; i < c->n_series; i++)
		draw_line(c, i, at, line_of(c, i, at));
	return PM_OK;
}
