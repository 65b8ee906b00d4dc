/*
 * kind_options.c - options of kinds: from jsonb, to jsonb, and as a list.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/json.h"

#include "arrays.h"
#include "encoding.h"
#include "errors.h"
#include "kind_options.h"
#include "members.h"
#include "memory/memory_kinds.h"
#include "results.h"
#include "kinds/options.h"
#include "kinds/settings.h"

PG_FUNCTION_INFO_V1(pm_kinds);

const pm_kind *
pm_kind_or_error(const char *name)
{
	const pm_kind *kind = pm_kind_find(name);
	const char *names[32];
	int			n = 0;

	if (kind != NULL)
		return kind;
	for (; n < lengthof(names) && pm_kind_at(n) != NULL; n++)
		names[n] = pm_kind_at(n)->name;
	if (pm_memory_kind_find(name) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("kind \"%s\" predicts memory and cannot be trained", name),
				 errhint("cross_validate and leaderboard judge it with quantity => 'peak_memory_mb';"
						 " perfmodel.calibrate_memory() stores what it learns.")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unknown kind of predictor \"%s\"", pm_shown_name(name)),
			 errhint("Kinds are %s; perfmodel.kinds() describes them.", pm_quoted_list(names, n))));
}

/* ---------- from jsonb ---------- */

static void
read_setting(const char *name, const JsonbValue *v, pm_setting *s)
{
	s->name = pm_to_core(name);
	s->text = NULL;
	s->is_bool = false;
	s->number = 0;
	switch (v->type)
	{
		case jbvString:
			s->text = pm_to_core(pnstrdup(v->val.string.val, v->val.string.len));
			break;
		case jbvNumeric:
			s->number = pm_member_number(v);
			break;
		case jbvBool:
			s->is_bool = true;
			s->number = v->val.boolean;
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" must be a number, a string or a boolean", pm_shown_name(name))));
	}
}

static int
read_settings(Jsonb *options, pm_setting *settings)
{
	pm_members	m;
	int			n = 0;

	for (pm_members_begin(&m, options); pm_next_member(&m);)
		read_setting(m.name, &m.value, &settings[n++]);
	return n;
}

/* Of a kind with dozens of options, those that may have been meant come first. */
static void
refuse_unknown(const pm_kind *kind, const pm_setting *settings, int n)
{
	const char **names = palloc(sizeof(char *) * Max(kind->n_options, 1));

	for (int i = 0; i < kind->n_options; i++)
		names[i] = kind->options[i].name;
	for (int i = 0; i < n; i++)
		if (pm_option_find(kind, settings[i].name) < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("unknown option \"%s\" for kind \"%s\"", pm_shown_name(pm_message_from_core(settings[i].name)), kind->name),
					 kind->n_options == 1 ? errhint("The only option is \"%s\".", names[0]) :
					 errhint("%s", pm_did_you_mean(pm_message_from_core(settings[i].name), names, kind->n_options,
												   psprintf("SELECT option FROM perfmodel.kinds() WHERE kind = '%s'", kind->name), NULL))));
	pfree(names);
}

/* The settings in options over what is in o. */
static void
change_options(const pm_kind *kind, Jsonb *options, pm_options *o)
{
	pm_setting *settings;
	pm_status	st = {PM_OK};
	int			n;

	if (options != NULL && !JB_ROOT_IS_OBJECT(options))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options must be a JSON object"),
				 errhint("For example: '{\"epochs\": 100}'; perfmodel.kinds() lists all options.")));
	settings = palloc(sizeof(pm_setting) * (options ? JB_ROOT_COUNT(options) + 1 : 1));
	n = options ? read_settings(options, settings) : 0;
	refuse_unknown(kind, settings, n);
	if (pm_options_change(kind, settings, n, o, &st) != PM_OK)
		pm_raise(&st);
}

void
pm_options_from_jsonb(const pm_kind *kind, Jsonb *options, pm_options *o)
{
	pm_status	st = {PM_OK};

	if (pm_options_set(kind, NULL, 0, o, &st) != PM_OK)
		pm_raise(&st);
	change_options(kind, options, o);
}

/* A part of a default, as an option of its type. */
static void
set_part(const pm_kind *kind, const char *name, double part, pm_options *o)
{
	int			i = pm_option_find(kind, name);
	double		v;

	if (i < 0)
		return;
	v = kind->options[i].initial * part;
	if (kind->options[i].type == PM_OPT_INT)
		v = ceil(v);
	o->value[i] = Max(v, kind->options[i].min);
}

void
pm_options_after_start(const pm_kind *kind, const pm_predictor *start, Jsonb *options, pm_options *o)
{
	*o = start->options;
	set_part(kind, "epochs", 1.0 / 3, o);
	set_part(kind, "learning_rate", 1.0 / 4, o);
	change_options(kind, options, o);
}

/* ---------- to jsonb ---------- */

Jsonb *
pm_options_to_jsonb(const pm_kind *kind, const pm_options *o)
{
	StringInfoData s;
	char		value[64];

	initStringInfo(&s);
	appendStringInfoChar(&s, '{');
	for (int i = 0; i < kind->n_options; i++)
	{
		const pm_option *def = &kind->options[i];

		pm_option_print(def, o->value[i], value, sizeof(value));
		if (i > 0)
			appendStringInfoChar(&s, ',');
		escape_json(&s, def->name);
		appendStringInfoChar(&s, ':');
		if (def->type == PM_OPT_CHOICE)
			escape_json(&s, value);
		else
			appendStringInfoString(&s, value);
	}
	appendStringInfoChar(&s, '}');
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(s.data)));
}

uint64
pm_option_seed(const pm_kind *kind, const pm_options *o)
{
	double		seed = pm_option_value(kind, o, "seed");

	return isnan(seed) ? 0 : (uint64) seed;
}

/* ---------- kinds() ---------- */

static Datum
choices_array(const char *choices)
{
	char	   *copy = pstrdup(choices);
	Datum		words[64];
	int			n = 0;

	for (char *w = strtok(copy, "|"); w != NULL && n < lengthof(words); w = strtok(NULL, "|"))
		words[n++] = CStringGetTextDatum(w);
	return pm_array_make(words, n, TEXTOID);
}

static void
add_option(pm_rows_out *out, const pm_kind *kind, const pm_option *def)
{
	static const char *const type_name[] = {"integer", "number", "boolean", "choice"};
	Datum		values[9];
	bool		nulls[9] = {false};
	bool		ranged = def->type == PM_OPT_INT || def->type == PM_OPT_REAL;
	char		initial[64];

	pm_option_print(def, def->initial, initial, sizeof(initial));
	values[0] = CStringGetTextDatum(kind->name);
	values[1] = CStringGetTextDatum(kind->summary);
	values[2] = CStringGetTextDatum(def->name);
	values[3] = CStringGetTextDatum(type_name[def->type]);
	values[4] = CStringGetTextDatum(initial);
	values[5] = pm_float8_or_null(ranged ? def->min : get_float8_nan(), &nulls[5]);
	values[6] = pm_float8_or_null(ranged ? def->max : get_float8_nan(), &nulls[6]);
	nulls[7] = def->type != PM_OPT_CHOICE;
	if (!nulls[7])
		values[7] = choices_array(def->choices);
	values[8] = pm_text_or_null(def->help, &nulls[8]);
	pm_rows_add(out, values, nulls);
}

Datum
pm_kinds(PG_FUNCTION_ARGS)
{
	pm_rows_out out;
	const pm_kind *kind;

	pm_rows_begin(fcinfo, &out);
	for (int k = 0; (kind = pm_kind_at(k)) != NULL; k++)
		for (int i = 0; i < kind->n_options; i++)
			add_option(&out, kind, &kind->options[i]);
	return (Datum) 0;
}
