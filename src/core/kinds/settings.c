/*
 * settings.c - options of kinds: defaults, checked settings, printed values.
 */
#include "kinds/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int
pm_option_find(const pm_kind *kind, const char *name)
{
	for (int i = 0; i < kind->n_options; i++)
		if (strcmp(kind->options[i].name, name) == 0)
			return i;
	return -1;
}

double
pm_option_value(const pm_kind *kind, const pm_options *o, const char *name)
{
	int			i = pm_option_find(kind, name);

	return i < 0 ? NAN : o->value[i];
}

int
pm_choice_find(const char *choices, const char *text)
{
	size_t		len = strlen(text);
	int			index = 0;

	for (const char *p = choices; p != NULL; index++)
	{
		const char *end = strchr(p, '|');
		size_t		n = end ? (size_t) (end - p) : strlen(p);

		if (n == len && strncmp(p, text, n) == 0)
			return index;
		p = end ? end + 1 : NULL;
	}
	return -1;
}

static void
print_choice(const char *choices, int index, char *buf, size_t size)
{
	const char *p = choices;
	const char *end;

	while (index-- > 0 && (end = strchr(p, '|')) != NULL)
		p = end + 1;
	end = strchr(p, '|');
	snprintf(buf, size, "%.*s", end ? (int) (end - p) : (int) strlen(p), p);
}

void
pm_option_print(const pm_option *def, double value, char *buf, size_t size)
{
	if (def->type == PM_OPT_BOOL)
		snprintf(buf, size, "%s", value != 0 ? "true" : "false");
	else if (def->type == PM_OPT_CHOICE)
		print_choice(def->choices, (int) value, buf, size);
	else
		snprintf(buf, size, "%.15g", value);
}

static pm_code
bad_value(const pm_option *def, pm_status *st)
{
	switch (def->type)
	{
		case PM_OPT_BOOL:
			return pm_fail(st, PM_ERR_OPTION, "option \"%s\" must be true or false", def->name);
		case PM_OPT_CHOICE:
			return pm_fail(st, PM_ERR_OPTION, "option \"%s\" must be one of %s", def->name, def->choices);
		case PM_OPT_INT:
			return pm_fail(st, PM_ERR_OPTION, "option \"%s\" must be a whole number between %.15g and %.15g",
						   def->name, def->min, def->max);
		default:
			return pm_fail(st, PM_ERR_OPTION, "option \"%s\" must be a number between %g and %g",
						   def->name, def->min, def->max);
	}
}

static pm_code
set_option(const pm_option *def, const pm_setting *s, double *value, pm_status *st)
{
	bool		is_number = s->text == NULL && !s->is_bool;

	switch (def->type)
	{
		case PM_OPT_BOOL:
			if (!s->is_bool)
				return bad_value(def, st);
			*value = s->number;
			return PM_OK;
		case PM_OPT_CHOICE:
			*value = s->text ? pm_choice_find(def->choices, s->text) : -1;
			return *value < 0 ? bad_value(def, st) : PM_OK;
		default:
			if (!is_number || !(s->number >= def->min && s->number <= def->max) ||
				(def->type == PM_OPT_INT && s->number != floor(s->number)))
				return bad_value(def, st);
			*value = s->number;
			return PM_OK;
	}
}

pm_code
pm_options_set(const pm_kind *kind, const pm_setting *settings, int n, pm_options *o, pm_status *st)
{
	memset(o, 0, sizeof(*o));
	for (int i = 0; i < kind->n_options; i++)
		o->value[i] = kind->options[i].initial;
	return pm_options_change(kind, settings, n, o, st);
}

pm_code
pm_options_change(const pm_kind *kind, const pm_setting *settings, int n, pm_options *o, pm_status *st)
{
	for (int s = 0; s < n; s++)
	{
		int			i = pm_option_find(kind, settings[s].name);
		pm_code		rc;

		if (i < 0)
			return pm_fail(st, PM_ERR_OPTION, "unknown option \"%.*s\" for kind \"%s\"", pm_shown(settings[s].name), settings[s].name,
						   kind->name);
		if ((rc = set_option(&kind->options[i], &settings[s], &o->value[i], st)) != PM_OK)
			return rc;
	}
	return kind->check ? kind->check(o, st) : PM_OK;
}

bool
pm_option_allows(const pm_option *def, double value)
{
	return value >= def->min && value <= def->max && (def->type == PM_OPT_REAL || value == floor(value));
}

bool
pm_predictor_merges(const pm_kind *kind, const pm_options *o)
{
	int			i = pm_option_find(kind, "merge");

	return i < 0 || o->value[i] != 0;
}
