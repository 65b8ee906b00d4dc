/*
 * rows.c - plots with a row for each label: bars and spans.
 */
#include "plot/canvas.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bars begin at 0, or where a logarithm does. */
static double
base_of(const pm_scale *s)
{
	return pm_scale_is_log(s->kind) ? s->low : 0;
}

static double
row_total(const pm_canvas *c, int row)
{
	double		sum = 0;

	for (int i = 0; i < c->plot->n; i++)
		if (c->row_of[i] == row && pm_scale_has(&c->x, c->plot->marks[i].x))
			sum += c->plot->marks[i].x;
	return sum;
}

void
pm_bars_scales(pm_canvas *c)
{
	if (!pm_scale_is_log(c->x.kind))
		pm_scale_take(&c->x, 0);
	for (int row = 0; row < c->n_rows; row++)
		pm_scale_take(&c->x, row_total(c, row));
	for (int i = 0; i < c->plot->n; i++)
		if (pm_scale_has(&c->x, c->plot->marks[i].high))
			pm_scale_take(&c->x, c->plot->marks[i].high);
	pm_scale_take(&c->x, c->plot->reference);
}

static void
draw_whisker(pm_canvas *c, const pm_mark *m, double y)
{
	double		from,
				to;

	if (!pm_scale_has(&c->x, m->low) || !pm_scale_has(&c->x, m->high))
		return;
	from = pm_scale_at(&c->x, m->low);
	to = pm_scale_at(&c->x, m->high);
	pm_put_markup(&c->out, "<path class=\"w n\" d=\"M%.1f %.1fH%.1fM%.1f %.1fv6M%.1f %.1fv6\"/>\n", from, y, to, from, y - 3, to, y - 3);
}

static void
bar_tip(pm_canvas *c, const pm_mark *m)
{
	char		value[3][24];
	char		text[96];

	pm_short_number(m->x, value[0], sizeof(value[0]));
	pm_short_number(m->low, value[1], sizeof(value[1]));
	pm_short_number(m->high, value[2], sizeof(value[2]));
	if (isfinite(m->low) && isfinite(m->high))
		snprintf(text, sizeof(text), "%s (%s to %s)", value[0], value[1], value[2]);
	else
		snprintf(text, sizeof(text), "%s", value[0]);
	pm_canvas_tip(c, m, text);
}

static void
draw_bar(pm_canvas *c, int row)
{
	double		y = pm_canvas_row(c, row);
	double		thick = fmin(0.66 * (c->bottom - c->top) / c->n_rows, 22);
	double		sum = 0;
	double		end = pm_scale_at(&c->x, base_of(&c->x));
	double		outermost = c->left;	/* of bars and whiskers: the sum stands behind it */
	char		value[24];

	for (int i = 0; i < c->plot->n; i++)
	{
		const pm_mark *m = &c->plot->marks[i];
		double		from = end;

		if (c->row_of[i] != row || !pm_scale_has(&c->x, m->x))
			continue;
		sum += m->x;
		end = pm_scale_at(&c->x, sum);
		pm_put_markup(&c->out, "<rect class=\"f%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1.5\">", c->series_of[i] % PM_COLOURS,
					  fmin(from, end), y - thick / 2, fabs(end - from), thick);
		bar_tip(c, m);
		pm_put_markup(&c->out, "</rect>\n");
		draw_whisker(c, m, y);
		outermost = fmax(outermost, pm_scale_has(&c->x, m->high) ? pm_scale_at(&c->x, m->high) : end);
	}
	pm_short_number(sum, value, sizeof(value));
	pm_put_markup(&c->out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", fmax(end, outermost) + 6, y + 4, value);
}

void
pm_bars_draw(pm_canvas *c)
{
	for (int row = 0; row < c->n_rows; row++)
		draw_bar(c, row);
	pm_canvas_reference(c, true);
}

void
pm_spans_scales(pm_canvas *c)
{
	for (int i = 0; i < c->plot->n; i++)
	{
		const pm_mark *m = &c->plot->marks[i];

		pm_scale_take(&c->x, m->x);
		pm_scale_take(&c->x, m->y);
		pm_scale_take(&c->x, m->low);
		pm_scale_take(&c->x, m->high);
	}
	pm_scale_take(&c->x, c->plot->reference);
}

static void
span_value(const pm_canvas *c, double v, char *out, size_t size)
{
	pm_ticks	one = {0};
	pm_scale	s = c->x;

	pm_short_number(v, out, size);
	if (s.kind != PM_SCALE_TIME)
		return;
	/* the minute, as an axis of the two minutes that begin with it shows it */
	s.low = floor(v / 60) * 60;
	s.high = s.low + 119;
	pm_scale_ticks(&s, 1, &one);
	if (one.n > 0)
		snprintf(out, size, "%s", one.label[0]);
}

static void
draw_span(pm_canvas *c, int i)
{
	const pm_mark *m = &c->plot->marks[i];
	double		y = pm_canvas_row(c, c->row_of[i]);
	double		thick = fmin(0.6 * (c->bottom - c->top) / c->n_rows, 18);
	double		from,
				to;
	char		value[2][24];
	char		text[64];

	if (!pm_scale_has(&c->x, m->x) || !pm_scale_has(&c->x, m->y))
		return;
	if (pm_scale_has(&c->x, m->low) && pm_scale_has(&c->x, m->high))
		pm_put_markup(&c->out, "<rect class=\"f%d\" fill-opacity=\"0.3\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\"/>\n",
					  c->series_of[i] % PM_COLOURS, pm_scale_at(&c->x, m->low), y - thick / 4,
					  fmax(pm_scale_at(&c->x, m->high) - pm_scale_at(&c->x, m->low), 0), thick / 2);
	from = pm_scale_at(&c->x, m->x);
	to = pm_scale_at(&c->x, m->y);
	pm_put_markup(&c->out, "<rect class=\"f%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\">", c->series_of[i] % PM_COLOURS,
				  fmin(from, to), y - thick / 2, fmax(fabs(to - from), 1.5), thick);
	span_value(c, m->x, value[0], sizeof(value[0]));
	span_value(c, m->y, value[1], sizeof(value[1]));
	snprintf(text, sizeof(text), "%s to %s", value[0], value[1]);
	pm_canvas_tip(c, m, text);
	pm_put_markup(&c->out, "</rect>\n");
}

void
pm_spans_draw(pm_canvas *c)
{
	for (int i = 0; i < c->plot->n; i++)
		draw_span(c, i);
	pm_canvas_reference(c, true);
}
