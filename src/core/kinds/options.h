/*
 * options.h - the options of a kind of predictor: a table of names, ranges and
 * defaults that the kind declares, and the values that a user gave. settings.h
 * converts between the two.
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
	bool		later;			/* a stored predictor without this option is older than it, and has 0 */
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
#define PM_OPTION_CALIBRATION {"calibration_folds", PM_OPT_INT, 6, 0, 100, NULL, \
	"trainings without some networks and families that calibrate intervals; below 2: none"}

/* Values of all options of a kind, in the order of its table. */
typedef struct pm_options
{
	double		value[PM_MAX_OPTIONS];
} pm_options;

#endif
