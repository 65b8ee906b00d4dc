/*
 * mdot.h - the data of the kind "mdot", shared by mdot.c (options, prediction),
 * share.c (the base's weight), stored.c and fit.c (training).
 */
#ifndef PM_MDOT_H
#define PM_MDOT_H

#include "kinds/cards.h"
#include "kinds/mdot/net.h"
#include "kinds/training.h"

#define PM_MDOT_REFERENCE_BATCH 32	/* the batch that features are of, when they do not follow the question's */

typedef enum pm_mdot_option
{
	OPT_D_MODEL, OPT_HEADS, OPT_LAYERS, OPT_D_OPERATOR, OPT_OPERATOR_LAYERS, OPT_HIDDEN, OPT_HEAD, OPT_LOSS,
	OPT_RESIDUAL, OPT_PEAK_ESTIMATE, OPT_EDGES, OPT_MERGE, OPT_MONOTONE, OPT_DROPOUT, OPT_DROP_PATH, OPT_HEAD_DROPOUT, OPT_UNKNOWN, OPT_MEMBERS,
	OPT_BASE_SHARE, OPT_ANCHOR, OPT_OPERATORS, OPT_PASSES, OPT_FLOOR, OPT_TRAINING, OPT_CALIBRATION = OPT_TRAINING + PM_N_TRAINING_OPTIONS,
	OPT_SEED, N_MDOT_OPTIONS
} pm_mdot_option;

typedef struct pm_mdot
{
	pm_mdot_net net;
	pm_codec	codec;
	int			members;
	pm_real   **w;				/* [members], of net.tensors.n_params numbers each */
	pm_predictor base;			/* of kind "opclass", mixed into the answer; kind NULL: none */
	pm_predictor anchor;		/* of kind "opclass": the network's factors are on its times; kind NULL: on those at the peaks */
	int			format;			/* pm_dtype that the networks take all for on GPUs */
	double		cpu_anchor;		/* factor on times at the peaks of CPUs; 0: that of the anchor */
	bool		in_turn;		/* on CPUs, launches and work follow each other */
	pm_gpu		reference;		/* card that the networks take every card for that they have not seen; name NULL: none */
} pm_mdot;

/* Whether features are of the reference batch, so that a larger batch never takes less time. */
bool		pm_mdot_is_monotone(const pm_options *o);
pm_mdot_config pm_mdot_configure(const pm_options *o, int n_types, int n_frameworks, int n_gpus);
/* The question that features of q are computed for: a pass has the features of its training step. */
pm_question	pm_mdot_feature_question(const pm_mdot *m, const pm_options *o, const pm_question *q);

/*
 * Make in, encoded from the tokens of features, that of the forward pass s: the work that bends are counted from becomes that of
 * the pass, at the batch that features are of.  Errors are those of pm_tokens_build_work().
 */
pm_code		pm_mdot_make_pass(const pm_sample *s, const pm_question *features, pm_arena *scratch, pm_input *in, pm_status *st);

/* Factors of the base for q's card: for arithmetic and memory in the format that the networks see, for launches in q's format. */
pm_card_factors pm_mdot_card_factors(const pm_mdot *m, const pm_question *q);
/*
 * ratio[t->n]: factor on the arithmetic of each token of t, of the question q, by which q's format differs from the one that the
 * networks take it for, as the base has learned it; 1 without a base.
 */
void		pm_mdot_format_ratios(const pm_mdot *m, const pm_question *q, const pm_tokens *t, double *ratio);
/*
 * For each token of t, the tokens of q: anchor[t->n], the anchor's time over that at the peaks; to_peak[t->n] (pm_input), the factor
 * from the anchor's time to that at the peaks, at least LEAST_TO_PEAK (mdot.c).
 */
void		pm_mdot_anchor_factors(const pm_mdot *m, const pm_question *q, const pm_tokens *t, double *anchor, double *to_peak);
/*
 * Multiply the times in `in` by factors: times at the batch of the question by f, arithmetic also by ratio[in->n]; times at the batch
 * of the features by ref; both by anchor[in->n].  op_class[in->n]: of the tokens.
 */
void		pm_mdot_scale(pm_input *in, const pm_card_factors *f, const pm_card_factors *ref, const double *anchor, const double *ratio,
						  const int32_t *op_class);
/* Remove the floors of operators from in, if the option `floor` is off. */
void		pm_mdot_set_floor(const pm_options *o, pm_input *in);
/* The kind of the base of a predictor with the options o, and its options. */
pm_code		pm_mdot_base_init(const pm_options *o, pm_predictor *base, pm_status *st);

/* Cards of the base; NULL without a base. */
const pm_cards *pm_mdot_cards_of(const pm_mdot *m);
/* Whether no row of training is of q's card. */
bool		pm_mdot_is_abroad(const pm_mdot *m, const pm_question *q);
/* 0..1: of convolutions in the roofline time of t. */
double		pm_mdot_conv_share(const pm_tokens *t);
/*
 * The weight of the base's answer for q, option base_share..1.  conv_share: pm_mdot_conv_share() of the features; it must not depend
 * on the batch, or a larger batch could take less time.
 */
double		pm_mdot_base_share(const pm_predictor *p, const pm_question *q, double conv_share);

/* pm_kind.check, pm_kind.save and pm_kind.load */
pm_code		pm_mdot_check(const pm_options *o, pm_status *st);
pm_code		pm_mdot_save(const pm_predictor *p, pm_buffer *b, pm_status *st);
pm_code		pm_mdot_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st);

/* pm_kind.learns_operators, pm_kind.learns_passes, pm_kind.memory and pm_kind.fit */
bool		pm_mdot_learns_operators(const pm_options *o);
bool		pm_mdot_learns_passes(const pm_options *o);
double		pm_mdot_memory(const pm_options *o, const pm_dataset *d, int threads);
pm_code		pm_mdot_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
						const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st);

#endif
