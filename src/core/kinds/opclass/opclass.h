/*
 * opclass.h - what the kind "opclass" keeps, shared by opclass.c (options and
 * prediction), loads.c (what the coefficients multiply), fit.c and operators.c
 * (training) and stored.c (saving and loading).
 */
#ifndef PM_OPCLASS_H
#define PM_OPCLASS_H

#include "features/inputs.h"
#include "kinds/cards.h"
#include "kinds/kind.h"

/* Columns: three of each group of operators, then these two. */
enum
{
	PM_TERM_COMPUTE, PM_TERM_MEMORY, PM_TERM_LAUNCH, PM_N_TERMS
};

#define PM_TERM_UPDATE(groups)		(PM_N_TERMS * (groups))	/* factor on the optimizer's roofline time */
#define PM_TERM_CONSTANT(groups)	(PM_TERM_UPDATE(groups) + 1)	/* ms */
#define PM_N_COEFS(groups)		(PM_TERM_UPDATE(groups) + 2)

/* The classes, the kinds of convolutions, and of each of these the special ones. */
#define PM_N_OPCLASSES	(PM_N_GROUPS + PM_N_CONV_KINDS)

#define PM_MAX_STRATA		1024	/* further ones do with the wider */
#define PM_ANY				(-1)

enum
{
	PM_OPCLASS_PULL, PM_OPCLASS_CLASS_PULL, PM_OPCLASS_LOSS, PM_OPCLASS_BY_TYPE, PM_OPCLASS_BY_DEVICE, PM_OPCLASS_OPERATORS, PM_OPCLASS_CALIBRATION,
	PM_OPCLASS_SEED, PM_N_OPCLASS_OPTIONS
};

enum
{
	PM_OPCLASS_ABSOLUTE, PM_OPCLASS_SQUARED
};

/* Coefficients for a part of the rows. */
typedef struct pm_stratum
{
	int			rows;			/* trained on */
	int			layout;			/* or PM_ANY */
	int			dtype;			/* or PM_ANY */
	const char *gpu;			/* NULL: any */
	const char *framework;		/* NULL: any */
	double	   *by_class;		/* [PM_N_COEFS(PM_N_OPCLASSES)] factors; us a launch; ms */
	double	   *by_type;		/* [PM_N_COEFS(n_types)] */
} pm_stratum;

typedef struct pm_opclass
{
	int			n_types;		/* that have coefficients of their own */
	const char **types;			/* [n_types] names, so that a catalogue that grows does not shift them */
	int32_t    *slot;			/* [pm_opclass_type_count()] place among the types, -1: its class has to do */
	int			n;				/* strata, the wider before the narrower */
	pm_stratum *strata;
	pm_cards	cards;			/* factors on the device's time */
} pm_opclass;

/* ---- loads.c ---- */

/* Class of a token: its group (tokens.h), and behind these the special convolutions of each kind; below PM_N_OPCLASSES. */
int			pm_opclass_class(const pm_tokens *t, int token);
/* Type of a token, below pm_opclass_type_count(): those of tokens.h, and behind them the special convolutions by kind. */
int			pm_opclass_type(const pm_tokens *t, int token);
int			pm_opclass_type_count(void);
/* "Relu", "Conv/grouped", "Conv/grouped special"; may be written to buf, of 64 bytes. */
const char *pm_opclass_type_name(int type, char *buf);
/* -1: no type has this name. */
int			pm_opclass_type_find(const char *name);
/* v[PM_N_TERMS]: the load of one copy of token i in ms and thousands of launches; *update: its optimizer's time in ms. */
void		pm_opclass_load_of(const pm_tokens *t, int i, const pm_card_factors *f, double *v, double *update);
/* The three coefficients of token i in the stratum s: those of its type, or of its class. */
const double *pm_opclass_coefs_of(const pm_opclass *m, const pm_stratum *s, const pm_tokens *t, int i);
/* x[PM_N_COEFS]: loads of a row, all copies, in columns by class or by type (m->slot). */
void		pm_opclass_aggregate(const pm_opclass *m, bool by_type, const pm_tokens *t, const pm_card_factors *f, double *x);

/* ---- fit.c ---- */

/* The narrowest stratum that covers q: wider ones stand before narrower ones, and the first covers everything. */
const pm_stratum *pm_opclass_closest(const pm_opclass *m, const pm_question *q);
/* pm_kind.memory and pm_kind.fit */
double		pm_opclass_memory(const pm_options *o, const pm_dataset *d, int threads);
pm_code		pm_opclass_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
						   const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st);

/* ---- operators.c ---- */

/* pm_kind.learns_operators */
bool		pm_opclass_learns_operators(const pm_options *o);
/* Levels of cards that d has operators of and no steps; m knows all that its steps tell. */
pm_code		pm_opclass_fit_operators(pm_opclass *m, const pm_dataset *d, pm_arena *a, pm_status *st);

/* ---- opclass.c ---- */

/* What p, of this kind, says of operators on a card. */
typedef struct pm_opclass_rates
{
	const pm_opclass *m;
	const pm_stratum *in;
	pm_card_factors cards;
} pm_opclass_rates;

pm_opclass_rates pm_opclass_rates_of(const pm_predictor *p, const pm_question *q);
/* Time on the device of token i over what it takes at the card's peaks, between 1/4 and 64; 1 where either is 0. */
double		pm_opclass_device_factor(const pm_opclass_rates *r, const pm_tokens *t, int i);

/* ---- stored.c ---- */

/* pm_kind.save and pm_kind.load */
pm_code		pm_opclass_save(const pm_predictor *p, pm_buffer *b, pm_status *st);
pm_code		pm_opclass_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st);

#endif
