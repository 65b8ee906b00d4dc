/*
 * areas.c - series put on each other over x: what a total is made of.
 *
 * A value holds from its x to the next x of any series; a series without a
 * value at an x has none there.
 */
#include "plot/canvas.h"

#include <math.h>
#include <stdlib.h>

#define PER_LINE	5

typedef struct at
{
	double		x;
	int			mark;
} at;

static int
by_x(const void *a, const void *b)
{
	const at   *p = a;
	const at   *q = b;

	if (p->x != q->x)
		return p->x < q->x ? -1 : 1;
	return p->mark - q->mark;
}

/* The marks by x; and *n of them. */
static at *
marks_by_x(const pm_canvas *c, pm_arena *a, int *n)
{
	at		   *v = PM_NEW(a, at, c->plot->n);

	*n = 0;
	for (int i = 0; v != NULL && i < c->plot->n; i++)
		if (pm_scale_has(&c->x, c->plot->marks[i].x) && pm_scale_has(&c->y, c->plot->marks[i].y))
			v[(*n)++] = (at) {c->plot->marks[i].x, i};
	if (v != NULL)
		qsort(v, *n, sizeof(at), by_x);
	return v;
}

void
pm_areas_scales(pm_canvas *c, pm_arena *a)
{
	int			n;
	const at   *v = marks_by_x(c, a, &n);
	double		sum = 0;

	pm_scale_take(&c->y, 0);
	for (int i = 0; i < n; i++)
	{
		sum = i > 0 && v[i].x == v[i - 1].x ? sum : 0;
		sum += c->plot->marks[v[i].mark].y;
		pm_scale_take(&c->x, v[i].x);
		pm_scale_take(&c->y, sum);
	}
	pm_scale_take(&c->y, c->plot->reference);
}

/* What the series and those before it are together at each x; *n_x of them. */
static void
stack_up(const pm_canvas *c, const at *v, int n, int series, double *x, double *top, int *n_x)
{
	*n_x = 0;
	for (int i = 0; i < n; i++)
	{
		if (i == 0 || v[i].x != v[i - 1].x)
		{
			x[*n_x] = v[i].x;
			top[(*n_x)++] = 0;
		}
		if (c->series_of[v[i].mark] <= series)
			top[*n_x - 1] += c->plot->marks[v[i].mark].y;
	}
}

static void
draw_area(pm_canvas *c, int series, const double *x, const double *top, int n)
{
	double		base = pm_scale_at(&c->y, fmax(c->y.low, 0));

	pm_put_markup(&c->out, "<path class=\"f%d\" d=\"M%.1f %.1f", series % PM_COLOURS, pm_scale_at(&c->x, x[0]), base);
	for (int i = 0; i < n; i++)
		pm_put_markup(&c->out, "V%.1fH%.1f%s", pm_scale_at(&c->y, top[i]), i + 1 < n ? pm_scale_at(&c->x, x[i + 1]) : c->right,
					  i % PER_LINE == PER_LINE - 1 ? "\n" : "");
	pm_put_markup(&c->out, "V%.1fZ\"/>\n", base);
}

pm_code
pm_areas_draw(pm_canvas *c, pm_arena *a, pm_status *st)
{
	int			n,
				n_x;
	const at   *v = marks_by_x(c, a, &n);
	double	   *x = PM_NEW(a, double, c->plot->n);
	double	   *top = PM_NEW(a, double, c->plot->n);

	if (!v || !x || !top)
		return pm_no_memory(st, a);
	/* the highest first, so that each covers what belongs to those below */
	for (int series = c->n_series - 1; series >= 0 && n > 0; series--)
	{
		stack_up(c, v, n, series, x, top, &n_x);
		draw_area(c, series, x, top, n_x);
	}
	pm_canvas_reference(c, false);
	return PM_OK;
}
