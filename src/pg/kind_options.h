/*
 * kind_options.h - kinds of predictor and their options, between jsonb and the core.
 */
#ifndef PM_PG_KIND_OPTIONS_H
#define PM_PG_KIND_OPTIONS_H

#include "utils/jsonb.h"

#include "kinds/kind.h"

extern const pm_kind *pm_kind_or_error(const char *name);
extern void pm_options_from_jsonb(const pm_kind *kind, Jsonb *options, pm_options *o);
/*
 * For a training that goes on from start: its options, but epochs a third and
 * learning_rate a quarter of the kind's defaults; then the settings in options.
 */
extern void pm_options_after_start(const pm_kind *kind, const pm_predictor *start, Jsonb *options, pm_options *o);
extern Jsonb *pm_options_to_jsonb(const pm_kind *kind, const pm_options *o);
extern uint64 pm_option_seed(const pm_kind *kind, const pm_options *o);

#endif
