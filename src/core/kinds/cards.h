/*
 * cards.h - how much longer each card takes than its data sheet says.
 *
 * Rates on data sheets are peaks.  What of them a card reaches depends on its
 * maker's libraries, on the clock that its power allows, on whether integers
 * share the lanes, and differs by a factor of two between cards.  A level is
 * the logarithm of a factor on the time at peak rates, for a card and a dtype:
 * networks that were measured on one card then tell about another.
 *
 * Levels of cards with measurements are learned from these.  Those of other
 * cards are a regression of the known levels on a few traits of the sheet,
 * with priors that keep it near 0 and a heavy-tailed error, so that a card
 * that is not like any other does not count.
 *
 * Of two cards without measurements that are of one maker and architecture, the
 * one that is better in every figure of its sheet is never slower.  If one of them
 * was measured, the answer for the other is held by the answer for it
 * (predictor/bounds.h).  For that the sheets of measured cards are kept here.
 */
#ifndef PM_CARDS_H
#define PM_CARDS_H

#include "base/serial.h"
#include "features/dataset.h"
#include "features/schema.h"
#include "kinds/frameworks.h"
#include "kinds/hosts.h"
#include "kinds/kind.h"

#define PM_N_CARD_TRAITS	9
#define PM_MAX_CARD_LEVELS	4096
#define PM_MOST_CARD_SPREAD	0.7	/* a card that is like no other counts no more in a spread */

/*
 * Work that a card may be good or bad at: libraries have other algorithms for
 * convolutions than for the rest.  Of steps the arithmetic and the traffic of an
 * operator cannot be told apart, and have one level.  Single operators show
 * both: a card that is known from these alone has a level of memory besides,
 * and its other levels are of arithmetic.
 */
typedef enum pm_card_work
{
	PM_CARD_CONV, PM_CARD_REST, PM_N_CARD_WORKS, PM_CARD_MEMORY = PM_N_CARD_WORKS, PM_N_CARD_LEVELS
} pm_card_work;

typedef struct pm_card_level
{
	const char *gpu;
	int			dtype;
	int			work;			/* pm_card_work */
	int			structures;		/* networks that it was learned from; 0: single operators */
	double		level;			/* ln of the factor */
} pm_card_level;

/* How levels of networks differ from those that single operators by themselves show, the same for all cards. */
typedef struct pm_card_offset
{
	double		add;			/* to the level that operators show */
	double		cards;			/* that it was learned from; 0: not known */
} pm_card_offset;

struct pm_cards
{
	int			n;
	pm_card_level *level;		/* [n] */
	double		trait[PM_N_CARD_LEVELS][PM_N_CARD_TRAITS];	/* weights of the regression; not of memory */
	double		spread[PM_N_CARD_LEVELS];	/* mean |level - guess| of cards left out in turn; 0: fewer than 3 levels */
	pm_card_offset offset[PM_N_CARD_LEVELS][2];	/* of operators timed in the forward pass only, and in both passes */
	double		operator_spread[PM_N_CARD_LEVELS];	/* mean |level - level from operators|; 0: no card has operators */
	pm_frameworks frameworks;	/* that are not the usual one */
	pm_hosts	hosts;
	int			n_sheets;
	const pm_gpu *sheets;		/* [n_sheets] of the GPUs that have levels */
	bool		settled;		/* of a predictor that is trained on: levels of cards without new rows and the regression stay */
};

/*
 * The format whose level a card's rows in dtype tell of: AMP of BF16, where the card has units for it.  The products of both are of 16
 * bits, on the same units; all else that differs is in the work.
 */
int			pm_cards_learned_as(const pm_gpu *g, int dtype);

/* Factors on times at the peaks of a card, of arithmetic and of memory, and on the time of launches. */
typedef struct pm_card_factors
{
	double		compute[PM_N_CARD_WORKS];
	double		memory[PM_N_CARD_WORKS];
	double		launch;
} pm_card_factors;

/* Of q's card for q's dtype; 1 when c is NULL or has no levels. */
pm_card_factors pm_cards_factors(const pm_cards *c, const pm_question *q);

/* The kind of work of an operator of this class (pm_class). */
static inline pm_card_work
pm_card_work_of(int op_class)
{
	return op_class == PM_CLASS_CONV ? PM_CARD_CONV : PM_CARD_REST;
}

/* Mean error of a guessed level, in logarithms; 0: c is NULL or knows too few cards. */
double		pm_cards_spread(const pm_cards *c);

/* What the levels of a card were learned from. */
typedef enum pm_card_known
{
	PM_CARD_FROM_SHEET, PM_CARD_FROM_OPERATORS, PM_CARD_FROM_NETWORKS
} pm_card_known;

/*
 * How many networks whose steps are mostly this kind of work a card was measured with, in the format that has most of them; gpu NULL:
 * the card that has most.  c may be NULL.
 */
int			pm_cards_networks(const pm_cards *c, const char *gpu, pm_card_work work);
/* c may be NULL. */
pm_card_known pm_cards_known(const pm_cards *c, const char *gpu);

/*
 * How far, in logarithms, the level of a card may be from what is guessed or
 * learned from single operators, with a probability of `level`, if errors are
 * Laplace's; 0 for a card that has levels of networks.
 */
double		pm_cards_doubt(const pm_cards *c, const char *gpu, double level);

/*
 * Levels from ln(measured / predicted) of each row of d by what knows no cards
 * beyond c, to which they are added; NaN: nothing is known of the row.  share[i]:
 * parts of the prediction that are each kind of work on the device, 0..1.  A row
 * tells of the work that is most of it.
 */
pm_code		pm_cards_update(pm_cards *c, const pm_dataset *d, const double *error, const double (*share)[PM_N_CARD_WORKS], pm_arena *a,
							pm_status *st);

/*
 * The level that c has of networks for a kind of work, where *measured, or what
 * it guesses.  Of memory it is that of other operators.
 */
double		pm_cards_expected(const pm_cards *c, const pm_gpu *g, int dtype, int work, bool *measured);

/*
 * Whether networks measured in FP16 say how long the arithmetic of this kind of work takes in it on a card with matrix units, and AMP
 * does not say it better: both run the same kernels, FP16 without the casts.  Of convolutions, every network measured says it.
 * Of other products, networks whose steps are mostly other operators say it, unless such networks were measured in AMP, or the
 * level is too high to be of products.
 */
bool		pm_cards_know_fp16(const pm_cards *c, const pm_gpu *g, int work);

/* What a single operator says by itself about the level of its card. */
typedef struct pm_card_operator
{
	const pm_gpu *gpu;
	int			dtype;
	int			work;			/* pm_card_work, memory included */
	bool		both;			/* forward and backward pass; else forward only */
	double		level;
} pm_card_operator;

/*
 * Add to c, whose levels of networks are there, levels of the cards, formats and
 * kinds of work that it has none of, from n operators, which are reordered.
 * cards_operators.c tells how.
 */
pm_code		pm_cards_learn_operators(pm_cards *c, pm_card_operator *o, int n, pm_arena *a, pm_status *st);

/* Add to c the sheets of the GPUs among the n samples that have levels and are not there. */
pm_code		pm_cards_keep_sheets(pm_cards *c, const pm_sample *samples, int n, pm_arena *a, pm_status *st);

void		pm_cards_save(const pm_cards *c, const pm_schema *s, pm_buffer *b);
/* PM_ERR_FORMAT when damaged. */
pm_code		pm_cards_load(pm_cards *c, const pm_schema *s, pm_reader *r, pm_arena *a, pm_status *st);

/* ---- what guesses are made of: cards_traits.c, for cards.c ---- */

/* Places of the traits that not all guesses take. */
#define PM_TRAIT_CLOCK	6		/* 0 of every card, since pm_gpu_rate() knows what power takes of the clock; stored predictors name it */
#define PM_TRAIT_LANES	7
#define PM_TRAIT_RIDGE	8

#define PM_CARD_PULL	1.0		/* a level is pulled to the regression as if by so many networks */

/* z[PM_N_CARD_TRAITS] of a card, for a format (pm_dtype) and a kind of work (pm_card_work); all 0 of a CPU. */
void		pm_card_traits_of(const pm_gpu *g, int dtype, int work, double *z);
/* What the traits z say of a level. */
double		pm_card_traits_sum(const double *weight, const double *z);
/* The same of a card, with the weights of c. */
double		pm_card_regression(const pm_cards *c, const pm_gpu *g, int dtype, int work);

/*
 * Set the weights of c for each kind of work from its levels, whose sheets are gpus[c->n]; levels of a card stand together.
 * With `spread` also how far guesses are off for cards that are left out in turn.
 */
pm_code		pm_card_traits_learn(pm_cards *c, const pm_gpu *const *gpus, bool spread, pm_arena *a, pm_status *st);

#endif
