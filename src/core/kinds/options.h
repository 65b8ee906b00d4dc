/*
 * options.h - the options of a kind of predictor: a table of names, ranges and
 * defaults that the kind declares, and the values that a user gave.
 */
#ifndef PM_OPTIONS_H
#define PM_OPTIONS_H

#include "base/core.h"

typedef enum pm_option_type
{
	PM_OPT_INT, PM_OPT_REAL, PM_OPT_BOOL, PM_OPT_CHOICE
} pm_option_type;

typedef struct pm_option
{
	const char *name;
	pm_option_type type;
	double		initial;		/* default; for CHOICE an index */
	double		min,
				max;			/* inclusive */
	const char *choices;		/* "log_huber|mse_raw|mae_raw", CHOICE only */
	const char *help;
} pm_option;

/* One value given by the user. text is set for strings, else number (booleans 0/1). */
typedef struct pm_setting
{
	const char *name;
	const char *text;			/* NULL when it was a number or boolean */
	double		number;
	bool		is_bool;
} pm_setting;

#define PM_MAX_OPTIONS 48

/* The row in a kind's table that has pm_predictor_fit() calibrate intervals. */
#define PM_OPTION_CALIBRATION {"calibration_folds", PM_OPT_INT, 5, 0, 100, NULL, \
	"trainings on a part of the structures that calibrate intervals; below 2: none"}

/* Values of all options of a kind, in the order of its table. */
typedef struct pm_options
{
	double		value[PM_MAX_OPTIONS];
} pm_options;

typedef struct pm_kind pm_kind;

/* Defaults, then settings; PM_ERR_OPTION names an unknown option and lists the known ones, or states the range. */
pm_code		pm_options_set(const pm_kind *kind, const pm_setting *settings, int n, pm_options *o, pm_status *st);
/* Settings over what is in o already. */
pm_code		pm_options_change(const pm_kind *kind, const pm_setting *settings, int n, pm_options *o, pm_status *st);
/* Index of an option in the kind's table, -1 when it has none of that name. */
int			pm_option_find(const pm_kind *kind, const char *name);
/* Its value; NaN when the kind has no such option. Every kind has "seed". */
double		pm_option_value(const pm_kind *kind, const pm_options *o, const char *name);
/* Text of a value as the user would write it ("0.001", "true", "log_huber"). */
void		pm_option_print(const pm_option *def, double value, char *buf, size_t size);

/*
 * Whether value is one that a user could have given: inside the range, whole
 * for all types but PM_OPT_REAL.
 */
bool		pm_option_allows(const pm_option *def, double value);

#endif
