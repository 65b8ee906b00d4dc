/*
 * opclass.h - the data of the kind "opclass", shared by opclass.c (options and
 * prediction), loads.c (the quantities that the coefficients multiply), fit.c
 * and operators.c (training), least.c (bounds) and stored.c (saving and
 * loading).
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
#define PM_N_SHARED(groups)		(PM_TERM_UPDATE(groups) + 2)

/*
 * Behind these, for each number format, the arithmetic of the groups that are
 * matrix products.  All else is the same for all formats: the host launches
 * kernels as fast, and memory moves bytes as fast, whatever is in them.
 */
typedef struct pm_columns
{
	int			groups;			/* classes, or types */
	int			products;
	int32_t    *product;		/* [groups] place among the products; -1: none, its arithmetic has one column */
	int32_t    *group;			/* [products] */
	int			n;				/* of all columns */
} pm_columns;

static inline int
pm_term_product(const pm_columns *c, int dtype, int product)
{
	return PM_N_SHARED(c->groups) + dtype * c->products + product;
}

/* The classes, the kinds of convolutions, and of each of these the special ones. */
#define PM_N_OPCLASSES	(PM_N_GROUPS + PM_N_CONV_KINDS)

#define PM_MAX_STRATA		1024	/* further ones do with the wider */
#define PM_ANY				(-1)

enum
{
	PM_OPCLASS_PULL, PM_OPCLASS_CLASS_PULL, PM_OPCLASS_LOSS, PM_OPCLASS_BY_TYPE, PM_OPCLASS_BY_DEVICE, PM_OPCLASS_OPERATORS, PM_OPCLASS_FLOOR, PM_OPCLASS_CALIBRATION,
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
	int			cpu;			/* 1: CPUs, 0: others; or PM_ANY */
	int			layout;			/* or PM_ANY */
	const char *gpu;			/* NULL: any */
	const char *framework;		/* NULL: any */
	double	   *by_class;		/* [m->of_classes.n] factors; us a launch; ms */
	double	   *by_type;		/* [m->of_types.n] */
} pm_stratum;

typedef struct pm_opclass
{
	int			n_types;		/* that have coefficients of their own */
	const char **types;			/* [n_types] names, so that a catalogue that grows does not shift them */
	bool	   *is_product;		/* [n_types] the arithmetic has a column for each format */
	int32_t    *slot;			/* [pm_opclass_type_count()] place among the types, -1: its class has to do */
	pm_columns	of_classes;
	pm_columns	of_types;
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
/* Whether operators of the type of this name run on matrix units where there are some. */
bool		pm_opclass_is_product(const char *name);
/* Set m->of_classes and m->of_types from m->is_product. */
pm_code		pm_opclass_make_columns(pm_opclass *m, pm_arena *a, pm_status *st);
/* x[columns]: loads of a row, all copies, in columns by class or by type (m->slot). */
void		pm_opclass_aggregate(const pm_opclass *m, bool by_type, const pm_tokens *t, const pm_card_factors *f, double *x);

/* ---- fit.c ---- */

/* The narrowest stratum that covers q: wider ones stand before narrower ones, and the first covers everything. */
const pm_stratum *pm_opclass_closest(const pm_opclass *m, const pm_question *q);
/* pm_kind.memory and pm_kind.fit */
double		pm_opclass_memory(const pm_options *o, const pm_dataset *d, int threads);
pm_code		pm_opclass_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
						   const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st);

/* ---- least.c ---- */

/*
 * least[c->n], 0 before: what coefficients of GPUs are at least.  types: [c->groups] names, NULL where the groups are classes.
 * compute_factor, memory_factor: those of the cards, on times of operators that are no convolutions.
 */
void		pm_opclass_least(const pm_columns *c, const char *const *types, double compute_factor, double memory_factor, double *least);
/* Whether the bandwidth of the device says what an update takes: not on CPUs, whose caches may hold it, of fused or unknown ones. */
bool		pm_opclass_knows_update(const pm_question *q);
/*
 * update_ms of one operator, held between what its traffic takes at a usual share of the bandwidth, and that with the
 * launches of its kernels; traffic_ms: at the bandwidth, 0: nothing is updated.
 */
double		pm_opclass_bounded_update(double traffic_ms, double update_ms);

/* ---- operators.c ---- */

/* pm_kind.learns_operators */
bool		pm_opclass_learns_operators(const pm_options *o);
/* Levels of cards that d has operators of and no steps; m knows all that its steps tell. */
pm_code		pm_opclass_fit_operators(pm_opclass *m, const pm_dataset *d, pm_arena *a, pm_status *st);

/* ---- opclass.c ---- */

/* What p, of this kind, says of operators on a card, in a format. */
typedef struct pm_opclass_rates
{
	const pm_opclass *m;
	const pm_stratum *in;
	int			dtype;
	pm_card_factors cards;
	pm_dtype	bound;			/* products take no longer than in this format: FP32 of TF32, AMP of FP16; dtype: there is none */
	pm_card_factors bound_cards;	/* those in that format */
	bool		floored;		/* operators take no less time than their floors together */
	double		faster[PM_N_CARD_WORKS];	/* rate of matrix products over that in that format; 0: it does not bound them */
	bool		knows_update;	/* pm_opclass_knows_update() */
} pm_opclass_rates;

pm_opclass_rates pm_opclass_rates_of(const pm_predictor *p, const pm_question *q);
/*
 * coef[PM_N_TERMS] of token i: those of its type, or of its class.  No product takes longer in TF32 than in FP32, nor, on
 * matrix units, in FP16 than in AMP, but where pm_cards_know_fp16().
 */
void		pm_opclass_coefs_of(const pm_opclass_rates *r, const pm_tokens *t, int i, double *coef);
/*
 * Factor on the time of token i at the peak for its arithmetic, that of the card included: what it has in the format of r,
 * over what it has in that of `usual`, on the same card.  1 where both formats have the same column.
 */
double		pm_opclass_format_factor(const pm_opclass_rates *r, const pm_opclass_rates *usual, const pm_tokens *t, int i);
/* Time on the device of token i over what it takes at the card's peaks, between 1/4 and 64; 1 where either is 0. */
double		pm_opclass_device_factor(const pm_opclass_rates *r, const pm_tokens *t, int i);

/* ---- stored.c ---- */

/* pm_kind.save and pm_kind.load */
pm_code		pm_opclass_save(const pm_predictor *p, pm_buffer *b, pm_status *st);
pm_code		pm_opclass_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st);

#endif
