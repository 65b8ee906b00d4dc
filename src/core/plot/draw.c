/*
 * draw.c - plots as SVG: what every form goes through.
 */
#include "plot/plot.h"

#include "plot/canvas.h"

#include <stdlib.h>

const char *const pm_plot_form_name[PM_N_PLOT_FORMS] = {"bars", "points", "compare", "lines", "areas", "spans"};

static pm_code
check(const pm_plot *p, pm_status *st)
{
	if (p->width < 240 || p->width > 4000)
		return pm_fail(st, PM_ERR_OPTION, "width must be between 240 and 4000, not %d", p->width);
	if (p->height != 0 && (p->height < 120 || p->height > 4000))
		return pm_fail(st, PM_ERR_OPTION, "height must be between 120 and 4000, or 0, not %d", p->height);
	if (p->n > PM_PLOT_MAX_MARKS)
		return pm_fail(st, PM_ERR_LIMIT, "a plot has at most %d marks, not %d", PM_PLOT_MAX_MARKS, p->n);
	return PM_OK;
}

static void
take_values(pm_canvas *c, pm_arena *a)
{
	switch (c->plot->form)
	{
		case PM_PLOT_BARS:
			pm_bars_scales(c);
			break;
		case PM_PLOT_SPANS:
			pm_spans_scales(c);
			break;
		case PM_PLOT_LINES:
			pm_lines_scales(c);
			break;
		case PM_PLOT_AREAS:
			pm_areas_scales(c, a);
			break;
		default:
			pm_points_scales(c);
	}
}

static pm_code
draw_marks(pm_canvas *c, pm_arena *a, pm_status *st)
{
	switch (c->plot->form)
	{
		case PM_PLOT_BARS:
			pm_bars_draw(c);
			return PM_OK;
		case PM_PLOT_SPANS:
			pm_spans_draw(c);
			return PM_OK;
		case PM_PLOT_LINES:
			return pm_lines_draw(c, a, st);
		case PM_PLOT_AREAS:
			return pm_areas_draw(c, a, st);
		default:
			pm_points_draw(c);
			return PM_OK;
	}
}

pm_code
pm_plot_svg(const pm_plot *p, pm_arena *a, char **svg, pm_status *st)
{
	bool		rows = p->form == PM_PLOT_BARS || p->form == PM_PLOT_SPANS;
	pm_canvas	c = {.plot = p,.out = {.arena = a},
		.x = {.kind = p->x_scale,.low = 1,.high = 0},.y = {.kind = p->y_scale,.low = 1,.high = 0}};
	pm_code		rc;

	if ((rc = check(p, st)) != PM_OK || (rc = pm_canvas_sort(&c, a, st)) != PM_OK)
		return rc;
	take_values(&c, a);
	pm_canvas_frame(&c, rows);
	pm_canvas_begin(&c);
	pm_canvas_axes(&c, true, !rows);
	if (rows)
		pm_canvas_row_labels(&c);
	if ((rc = draw_marks(&c, a, st)) != PM_OK)
		return rc;
	pm_canvas_end(&c);
	if (c.out.failed)
		return pm_no_memory(st, a);
	if ((rc = pm_break_lines(c.out.text, a, st)) != PM_OK)
		return rc;
	*svg = c.out.text;
	return PM_OK;
}
