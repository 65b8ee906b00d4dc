/*
 * canvas.h - parts that all forms of plots share: the frame, its axes, names
 * and colours of series.
 */
#ifndef PM_CANVAS_H
#define PM_CANVAS_H

#include "plot/markup.h"
#include "plot/plot.h"

#define PM_ROW_HEIGHT	24		/* of bars and spans, in pixels */
#define PM_LABEL_LETTERS 48		/* of a label that is drawn */
#define PM_TITLE_LETTERS 100
#define PM_TIPS			400		/* marks, up to which each says its values when it is pointed at */
#define PM_COLOURS		8

typedef struct pm_canvas
{
	const pm_plot *plot;
	pm_markup	out;
	const char **series;		/* [n_series] in the order in which they come */
	int			n_series;
	const char **rows;			/* [n_rows] labels, of bars and spans */
	int			n_rows;
	int		   *series_of;		/* [plot->n] */
	int		   *row_of;			/* [plot->n]; NULL for other forms */
	double		left,			/* the frame, in pixels */
				right,
				top,
				bottom;
	pm_scale	x,
				y;
} pm_canvas;

/* Series and rows of the marks. */
pm_code		pm_canvas_sort(pm_canvas *c, pm_arena *a, pm_status *st);
/* The frame, when scales know their values and before anything is drawn; has_rows: labels stand on the left. */
void		pm_canvas_frame(pm_canvas *c, bool has_rows);
/* Everything but the marks. */
void		pm_canvas_begin(pm_canvas *c);
void		pm_canvas_axes(pm_canvas *c, bool x_axis, bool y_axis);
void		pm_canvas_row_labels(pm_canvas *c);
void		pm_canvas_end(pm_canvas *c);
/* Where the row is drawn: its middle. */
double		pm_canvas_row(const pm_canvas *c, int row);
/* <title> of a mark: series, label and these values; nothing where there are too many marks. */
void		pm_canvas_tip(pm_canvas *c, const pm_mark *m, const char *values);
/* A line across the frame where the axis of values has the reference; of bars, upright. */
void		pm_canvas_reference(pm_canvas *c, bool upright);

/* The forms: scales, then marks. */
void		pm_bars_scales(pm_canvas *c);
void		pm_bars_draw(pm_canvas *c);
void		pm_spans_scales(pm_canvas *c);
void		pm_spans_draw(pm_canvas *c);
void		pm_points_scales(pm_canvas *c);
void		pm_points_draw(pm_canvas *c);
void		pm_lines_scales(pm_canvas *c);
pm_code		pm_lines_draw(pm_canvas *c, pm_arena *a, pm_status *st);
void		pm_areas_scales(pm_canvas *c, pm_arena *a);
pm_code		pm_areas_draw(pm_canvas *c, pm_arena *a, pm_status *st);

#endif
