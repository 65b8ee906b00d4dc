/*
 * plot.h - plots as SVG: one text that can stand in a page, a mail or a file.
 * It is light or dark like the reader's system, and has no scripts.
 */
#ifndef PM_PLOT_H
#define PM_PLOT_H

#include "plot/scale.h"

#define PM_PLOT_MAX_MARKS	200000
#define PM_PLOT_MAX_ROWS	200		/* of bars and spans */
#define PM_PLOT_MAX_SERIES	24

typedef enum pm_plot_form
{
	PM_PLOT_BARS,				/* a row for each label, x long; series are put after each other; a whisker low..high */
	PM_PLOT_POINTS,				/* x, y */
	PM_PLOT_COMPARE,			/* points on the same two axes, with the line y = x */
	PM_PLOT_LINES,				/* x, y through the marks of a series, with a band low..high about it */
	PM_PLOT_AREAS,				/* series put on each other, y from one x to the next */
	PM_PLOT_SPANS,				/* a row for each label, a bar from x to y, paler from low to high */
	PM_N_PLOT_FORMS
} pm_plot_form;
extern const char *const pm_plot_form_name[PM_N_PLOT_FORMS];

/* One thing that is drawn; a number that is not used, or not known, is NaN. */
typedef struct pm_mark
{
	const char *series;			/* UTF-8; NULL: there is one series only */
	const char *label;
	double		x,
				y,
				low,
				high;
} pm_mark;

typedef struct pm_plot
{
	pm_plot_form form;
	const char *title;			/* what it shows: drawn above, and read aloud; NULL: neither */
	const char *x_title;		/* of the axes, with units; may be NULL */
	const char *y_title;
	pm_scale_kind x_scale,
				y_scale;
	double		reference;		/* a line at this value of the axis of values; NaN: none */
	int			width;			/* pixels, 240..4000 */
	int			height;			/* 120..4000; 0: as high as it has to be */
	const pm_mark *marks;
	int			n;
} pm_plot;

/*
 * The plot as one <svg> element in arena a.  Marks without the numbers that
 * their form needs are left out.  PM_ERR_LIMIT: more than the limits above;
 * PM_ERR_OPTION: width or height; PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_plot_svg(const pm_plot *p, pm_arena *a, char **svg, pm_status *st);

/*
 * The same plot as data, for the script of a report that lets its reader look
 * into a figure (sql/install/zoom.js): one <script type="application/json">
 * element.  Its object has
 *   form, reference (null: none);
 *   x, y: of the axes, {"scale": a name, "title": words or null};
 *   series, rows: the names, each as words (rows: of bars and spans);
 *   marks: arrays [series, x, y, low, high, row], the first and the last as
 *     places in series and rows from 0; null where a number is not known, and
 *     nothing after the last that is.
 * Words are arrays of strings to be joined.  Numbers have six digits, times ten.
 * Errors as those of pm_plot_svg().
 */
pm_code		pm_plot_data(const pm_plot *p, pm_arena *a, char **data, pm_status *st);

#endif
