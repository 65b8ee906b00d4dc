/*
 * data.c - plots as data, for a script that draws them anew.
 */
#include "plot/canvas.h"

#include <math.h>

#define MEMBERS	6				/* of a mark */

static void
put_axis(pm_markup *m, const char *name, pm_scale_kind scale, const char *title)
{
	/* the script has marks of its own */
	pm_put_markup(m, "\"%s\":{\"scale\":\"%s\",\"title\":", name, pm_scale_name[scale == PM_SCALE_LOG2 ? PM_SCALE_LOG : scale]);
	if (title != NULL)
		pm_put_json_words(m, title, PM_TITLE_LETTERS);
	else
		pm_put_markup(m, "null");
	pm_put_markup(m, "},\n");
}

static void
put_names(pm_markup *m, const char *member, const char *const *names, int n)
{
	pm_put_markup(m, "\"%s\":[", member);
	for (int i = 0; i < n; i++)
	{
		pm_put_markup(m, i ? ",\n" : "");
		pm_put_json_words(m, names[i], PM_LABEL_LETTERS);
	}
	pm_put_markup(m, "],\n");
}

/* Numbers that the SVG leaves out are none for the script either: the sum of two of them need not be a number. */
static void
put_number(pm_markup *m, double v, bool is_time)
{
	const pm_scale all = {.kind = is_time ? PM_SCALE_TIME : PM_SCALE_LINEAR};

	if (pm_scale_has(&all, v))
		pm_put_markup(m, is_time ? ",%.10g" : ",%.6g", v);
	else
		pm_put_markup(m, ",null");
}

static void
put_mark(const pm_canvas *c, pm_markup *m, int i)
{
	const pm_mark *mark = &c->plot->marks[i];
	double		row = c->row_of ? c->row_of[i] : NAN;
	const double number[MEMBERS] = {c->series_of[i], mark->x, mark->y, mark->low, mark->high, row};
	/* spans lie along x with all their numbers */
	bool		along = c->plot->form == PM_PLOT_SPANS;
	int			n = MEMBERS;

	while (n > 1 && !isfinite(number[n - 1]))
		n--;
	pm_put_markup(m, "%s[%d", i ? ",\n" : "", c->series_of[i]);
	for (int k = 1; k < n; k++)
		put_number(m, number[k], (k == 1 || along ? c->x.kind : c->y.kind) == PM_SCALE_TIME && k < MEMBERS - 1);
	pm_put_markup(m, "]");
}

pm_code
pm_plot_data(const pm_plot *p, pm_arena *a, char **data, pm_status *st)
{
	pm_canvas	c = {.plot = p,.x = {.kind = p->x_scale},.y = {.kind = p->y_scale}};
	pm_markup	m = {.arena = a};
	pm_code		rc = p->n > PM_PLOT_MAX_MARKS ? pm_fail(st, PM_ERR_LIMIT, "a plot has at most %d marks, not %d", PM_PLOT_MAX_MARKS, p->n) :
		pm_canvas_sort(&c, a, st);

	if (rc != PM_OK)
		return rc;
	pm_put_markup(&m, "<script type=\"application/json\" class=\"marks\">\n{\"form\":\"%s\",\"reference\":", pm_plot_form_name[p->form]);
	if (pm_scale_has(&(const pm_scale) {.kind = PM_SCALE_LINEAR}, p->reference))
		pm_put_markup(&m, "%.10g,\n", p->reference);
	else
		pm_put_markup(&m, "null,\n");
	put_axis(&m, "x", p->x_scale, p->x_title);
	put_axis(&m, "y", p->y_scale, p->y_title);
	put_names(&m, "series", c.series, c.n_series);
	put_names(&m, "rows", c.rows, c.n_rows);
	pm_put_markup(&m, "\"marks\":[\n");
	for (int i = 0; i < p->n; i++)
		put_mark(&c, &m, i);
	pm_put_markup(&m, "]}\n</script>\n");
	if (m.failed)
		return pm_no_memory(st, a);
	*data = m.text;
	return PM_OK;
}
