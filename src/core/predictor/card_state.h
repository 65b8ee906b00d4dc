/*
 * card_state.h - what a few measured networks tell about a card in addition to its
 * level: a short vector of logarithms of factors on the parts of a step.
 *
 * A step is launches, a rest, and the device's time of each operator.  The
 * device's time of an operator has a factor exp(sum of state[k] * share[k])
 * over the elements k of the state that the operator belongs to: its kind of
 * work, its class, and what differs inside a class, such as the window of a
 * convolution, its type, or its class in one number format.  None of that depends
 * on the batch, so that a larger batch never takes less time.  pm_state_prior()
 * says how far each element differs between cards; docs/levels.md says how that was
 * measured.
 */
#ifndef PM_CARD_STATE_H
#define PM_CARD_STATE_H

#include "features/dataset.h"
#include "features/schema.h"
#include "kinds/cards.h"

/* Number of operators that have an element of their own in addition to that of their class: those that take most of the time of networks. */
#define PM_STATE_TYPES	20

enum
{
	PM_STATE_LAUNCH, PM_STATE_REST, PM_STATE_DEVICE,
	PM_STATE_CONV, PM_STATE_PRODUCT, PM_STATE_MEMORY,	/* kinds of work */
	PM_STATE_CLASS,				/* the first group of tokens.h */
	PM_STATE_WINDOW = PM_STATE_CLASS + PM_N_GROUPS, /* convolutions over a window of 5 x 5 or more, one side at least */
	PM_STATE_STRIDE,			/* that skip pixels */
	PM_STATE_CHANNELS,			/* by ln(channels of a group): of input and output, the fewer */
	PM_STATE_PLANE,				/* by ln(pixels of the output) */
	PM_STATE_DEPTHWISE_PLANE,	/* the same of depthwise ones */
	PM_STATE_TENSOR,			/* operators that move memory, by ln(elements of the output for one sample) */
	PM_STATE_NARROW,			/* matrix products, by ln(columns of the result) */
	PM_STATE_GROUP_NARROW,		/* grouped convolutions of few channels a group, which run on matrix units */
	PM_STATE_WIDE_WINDOW,		/* other convolutions of a wide window (op_geometry.h) */
	PM_STATE_OWN_KERNEL,		/* depthwise convolutions that the framework runs itself */
	PM_STATE_TYPE,				/* the first of PM_STATE_TYPES operators */
	PM_STATE_FORMAT = PM_STATE_TYPE + PM_STATE_TYPES,	/* the first group of the first number format, then its other groups */
	PM_STATE_END = PM_STATE_FORMAT + PM_N_DTYPES * PM_N_GROUPS - 1,	/* the last group of the last format */
	PM_N_FACTORS,
	PM_STATE_RELEASED = PM_N_FACTORS,	/* not a factor: how far measurements release answers from those that hold them (bounds.h), 0..1 */
	PM_N_STATE = PM_STATE_RELEASED + PM_N_CARD_WORKS
};

/* Names under which the elements are stored. */
extern const pm_names pm_state_names;

/* Standard deviation of an element between cards, as a logarithm: the prior for a card without measurements. */
double		pm_state_prior(int element);

/* The same of the other numbers that a recalibration fits: a factor on the whole step, an exponent, ... */
#define PM_STEP_PRIOR		0.10
#define PM_SLOPE_PRIOR		0.05

/*
 * ... and a factor on the whole step in one format and layout, on a card of which training has so many networks.  This factor keeps
 * measurements in one format from changing predictions in another.
 */
double		pm_cell_prior(double networks);

/*
 * Factor, 0..1, on the deviation of an element on a card of which training has so
 * many networks.  It is larger for launches and for the rest of a step, which
 * depend on the host, because the same card is in different hosts.
 */
double		pm_state_left(int element, double networks);

/* An operator belongs to at most so many elements. */
#define PM_STATE_MOST	12

/* Which elements an operator belongs to, and its share in each. */
typedef struct pm_state_shares
{
	int			n;
	int			at[PM_STATE_MOST];
	double		share[PM_STATE_MOST];
} pm_state_shares;

/* shares[t->n]: those of all tokens of t, which has features, at any batch. */
void		pm_state_shares_of(const pm_tokens *t, pm_state_shares *shares);

/* *factors: those of a state for n tokens with these shares. device[n] gets the factors on their time, and *factors refers to it. */
void		pm_state_factors(const double *state, const pm_state_shares *shares, int n, double *device, pm_factors *factors);

#endif
