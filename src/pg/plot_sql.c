/*
 * plot_sql.c - plot(), escape_markup(), ascii_markup(), break_lines(): arrays as
 * SVG, words as markup.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "arrays.h"
#include "context_arena.h"
#include "encoding.h"
#include "errors.h"
#include "plot/markup.h"
#include "plot/plot.h"

PG_FUNCTION_INFO_V1(pm_plot_sql);
PG_FUNCTION_INFO_V1(pm_escape_markup);
PG_FUNCTION_INFO_V1(pm_escape_markup_lines);
PG_FUNCTION_INFO_V1(pm_ascii_markup);
PG_FUNCTION_INFO_V1(pm_break_lines_sql);

/* Arguments of plot(). */
enum
{
	A_FORM, A_X, A_Y, A_SERIES, A_LABEL, A_LOW, A_HIGH, A_TITLE, A_X_TITLE, A_Y_TITLE, A_X_SCALE, A_Y_SCALE, A_REFERENCE,
	A_WIDTH, A_HEIGHT, A_ZOOM
};

static const char *const argument_name[] = {"form", "x", "y", "series", "label", "low", "high"};

/* The word that argument i is, as its place in names[n]. */
static int
word_arg(FunctionCallInfo fcinfo, int i, const char *what, const char *const *names, int n)
{
	const char *word = PG_ARGISNULL(i) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(i));

	for (int k = 0; k < n; k++)
		if (strcmp(word, names[k]) == 0)
			return k;
	pm_unknown_word(what, word, names, n);
}

static const char *
text_arg(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : pm_to_core_lossy(text_to_cstring(PG_GETARG_TEXT_PP(i)));
}

/* Elements of array argument i, as many as x has; NULL: the argument is. */
static Datum *
elements(FunctionCallInfo fcinfo, int i, int *n, bool **nulls)
{
	Datum	   *v;
	int			count;

	if (PG_ARGISNULL(i))
		return NULL;
	pm_array_read(PG_GETARG_ARRAYTYPE_P(i), &v, nulls, &count);
	if (i == A_X)
		*n = count;
	else if (count != *n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("\"%s\" must have as many elements as \"x\"", argument_name[i]),
				 errdetail("It has %d, \"x\" has %d.", count, *n)));
	return v;
}

static void
numbers_arg(FunctionCallInfo fcinfo, int i, pm_mark *marks, int n, size_t member)
{
	bool	   *nulls = NULL;
	Datum	   *v = elements(fcinfo, i, &n, &nulls);

	for (int k = 0; k < n; k++)
		*(double *) ((char *) &marks[k] + member) = v == NULL || nulls[k] ? NAN : DatumGetFloat8(v[k]);
}

static void
words_arg(FunctionCallInfo fcinfo, int i, pm_mark *marks, int n, size_t member)
{
	bool	   *nulls = NULL;
	Datum	   *v = elements(fcinfo, i, &n, &nulls);

	for (int k = 0; k < n; k++)
		*(const char **) ((char *) &marks[k] + member) = v == NULL || nulls[k] ? NULL : pm_to_core_lossy(TextDatumGetCString(v[k]));
}

static pm_mark *
marks_arg(FunctionCallInfo fcinfo, int *n)
{
	bool	   *nulls = NULL;
	pm_mark    *marks;

	*n = 0;
	elements(fcinfo, A_X, n, &nulls);
	/* of more, the core says that they are too many */
	if (*n > PM_PLOT_MAX_MARKS)
		return NULL;
	marks = palloc(sizeof(pm_mark) * Max(*n, 1));
	numbers_arg(fcinfo, A_X, marks, *n, offsetof(pm_mark, x));
	numbers_arg(fcinfo, A_Y, marks, *n, offsetof(pm_mark, y));
	numbers_arg(fcinfo, A_LOW, marks, *n, offsetof(pm_mark, low));
	numbers_arg(fcinfo, A_HIGH, marks, *n, offsetof(pm_mark, high));
	words_arg(fcinfo, A_SERIES, marks, *n, offsetof(pm_mark, series));
	words_arg(fcinfo, A_LABEL, marks, *n, offsetof(pm_mark, label));
	return marks;
}

Datum
pm_plot_sql(PG_FUNCTION_ARGS)
{
	pm_plot		p = {.title = text_arg(fcinfo, A_TITLE),.x_title = text_arg(fcinfo, A_X_TITLE),.y_title = text_arg(fcinfo, A_Y_TITLE)};
	pm_status	st = {PM_OK};
	pm_arena	arena;
	char	   *svg;
	char	   *data = "";

	p.form = word_arg(fcinfo, A_FORM, "form of plot", pm_plot_form_name, PM_N_PLOT_FORMS);
	p.x_scale = word_arg(fcinfo, A_X_SCALE, "scale", pm_scale_name, PM_N_SCALE_KINDS);
	p.y_scale = word_arg(fcinfo, A_Y_SCALE, "scale", pm_scale_name, PM_N_SCALE_KINDS);
	p.reference = PG_ARGISNULL(A_REFERENCE) ? NAN : PG_GETARG_FLOAT8(A_REFERENCE);
	p.width = PG_ARGISNULL(A_WIDTH) ? 720 : PG_GETARG_INT32(A_WIDTH);
	p.height = PG_ARGISNULL(A_HEIGHT) ? 0 : PG_GETARG_INT32(A_HEIGHT);
	p.marks = marks_arg(fcinfo, &p.n);
	pm_context_arena(&arena, CurrentMemoryContext, 0);
	if (pm_plot_svg(&p, &arena, &svg, &st) != PM_OK)
		pm_raise(&st);
	if (!PG_ARGISNULL(A_ZOOM) && PG_GETARG_BOOL(A_ZOOM) && pm_plot_data(&p, &arena, &data, &st) != PM_OK)
		pm_raise(&st);
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s%s", pm_from_core(svg), data)));
}

#define LONGEST_TEXT (MaxAllocSize - VARHDRSZ - 1)

static Datum
markup_result(const pm_markup *m)
{
	if (m->failed && m->why == PM_CANCELLED)
		CHECK_FOR_INTERRUPTS(); /* says who has cancelled */
	if (m->failed && m->why == PM_ERR_LIMIT)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the text is too long to be escaped"),
				 errdetail("With its entities it has more than %zu bytes, and no text of the server can.", m->limit),
				 errhint("Escape a part of it, such as left(words, 1000000).")));
	if (m->failed)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory")));
	return PointerGetDatum(cstring_to_text(m->text ? pm_from_core(m->text) : ""));
}

Datum
pm_escape_markup(PG_FUNCTION_ARGS)
{
	int			most = PG_GETARG_INT32(1);
	pm_arena	arena;
	pm_markup	m = {.arena = &arena,.limit = LONGEST_TEXT};

	if (most < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"most\" must not be negative")));
	pm_context_arena(&arena, CurrentMemoryContext, 0);
	pm_put_words(&m, pm_to_core_lossy(text_to_cstring(PG_GETARG_TEXT_PP(0))), most);
	return markup_result(&m);
}

Datum
pm_escape_markup_lines(PG_FUNCTION_ARGS)
{
	pm_arena	arena;
	pm_markup	m = {.arena = &arena,.limit = LONGEST_TEXT};

	pm_context_arena(&arena, CurrentMemoryContext, 0);
	pm_put_preformatted(&m, pm_to_core_lossy(text_to_cstring(PG_GETARG_TEXT_PP(0))));
	return markup_result(&m);
}

Datum
pm_ascii_markup(PG_FUNCTION_ARGS)
{
	pm_arena	arena;
	pm_markup	m = {.arena = &arena,.limit = LONGEST_TEXT};

	pm_context_arena(&arena, CurrentMemoryContext, 0);
	pm_put_ascii(&m, pm_to_core_lossy(text_to_cstring(PG_GETARG_TEXT_PP(0))));
	return markup_result(&m);
}

Datum
pm_break_lines_sql(PG_FUNCTION_ARGS)
{
	char	   *markup = text_to_cstring(PG_GETARG_TEXT_PP(0));
	pm_arena	arena;
	pm_status	st = {PM_OK};

	pm_context_arena(&arena, CurrentMemoryContext, 0);
	if (pm_break_lines(markup, &arena, &st) != PM_OK)
		pm_raise(&st);
	PG_RETURN_TEXT_P(cstring_to_text(markup));
}
