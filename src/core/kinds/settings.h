/*
 * settings.h - converts between the options that a user writes and the values
 * of a kind's options.
 */
#ifndef PM_SETTINGS_H
#define PM_SETTINGS_H

#include "kinds/kind.h"

/* Defaults, then settings; PM_ERR_OPTION names an unknown option, or states the range. */
pm_code		pm_options_set(const pm_kind *kind, const pm_setting *settings, int n, pm_options *o, pm_status *st);
/* Settings over what is in o already. */
pm_code		pm_options_change(const pm_kind *kind, const pm_setting *settings, int n, pm_options *o, pm_status *st);
/* Index of an option in the kind's table, -1 when it has none of that name. */
int			pm_option_find(const pm_kind *kind, const char *name);
/* Its value; NaN when the kind has no such option. Every kind has "seed". */
double		pm_option_value(const pm_kind *kind, const pm_options *o, const char *name);
/* Index of text in "a|b|c", -1 when it is not in there. */
int			pm_choice_find(const char *choices, const char *text);
/* Text of a value as the user would write it ("0.001", "true", "log_huber"). */
void		pm_option_print(const pm_option *def, double value, char *buf, size_t size);

/*
 * Whether value is one that a user could have given: inside the range, whole
 * for all types but PM_OPT_REAL.
 */
bool		pm_option_allows(const pm_option *def, double value);

/* Whether skeletons for this predictor are merged (kind and its option "merge"). */
bool		pm_predictor_merges(const pm_kind *kind, const pm_options *o);

#endif
