/*
 * predictor_rows.h - the kinds, settings of options, and times by a simple rule, for tests of predictors.
 */
#ifndef PREDICTOR_ROWS_H
#define PREDICTOR_ROWS_H

#include "check.h"
#include "make_graph.h"

static pm_arena arena;

static const char *const kind_names[] = {"mdot", "roofline", "linear",
	"perfnet", "gnn", "ets", "transformer",
	"opclass", "seer", "habitat"};

#define N_KINDS ((int) (sizeof(kind_names) / sizeof(kind_names[0])))

#define NUMBER(n, v) ((pm_setting) {.name = (n), .number = (v)})
#define TEXT(n, v) ((pm_setting) {.name = (n), .text = (v)})
#define BOOLEAN(n, v) ((pm_setting) {.name = (n), .number = (v), .is_bool = true})

static inline double
any_time(const pm_tokens *t)
{
	return 2 * t->total_roofline_us / 1000 + 1;
}

#endif
