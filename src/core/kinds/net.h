/*
 * net.h - code that the other networks share: perfnet, gnn, ets, transformer.
 *
 * Each of these kinds is one architecture: a list of tensors, a forward pass
 * and its backward pass. Everything else is here, so that they differ only in
 * the architecture: the features of MDOT (tokens.h, inputs.h), its training,
 * its augmentation, its stored form. The loss is Huber's. Architectures and
 * sources: docs/rivals.md.
 */
#ifndef PM_NET_H
#define PM_NET_H

#include "features/inputs.h"
#include "kinds/kind.h"
#include "kinds/training.h"
#include "nn/mlp.h"
#include "nn/nn.h"

typedef struct pm_architecture pm_architecture;

/* ---- options that all of them have ---- */

/* The options of training come first. */
enum
{
	PM_NETWORK_UNKNOWN = PM_N_TRAINING_OPTIONS, PM_NETWORK_MERGE, PM_NETWORK_SEED,
	PM_N_NETWORK_OPTIONS		/* a kind's own begin here */
};

#define PM_NETWORK_OPTIONS(epochs, rate) \
	PM_TRAINING_OPTIONS(0, (epochs), (rate)), \
	[PM_NETWORK_UNKNOWN] = {"unknown", PM_OPT_REAL, 0.01, 0, 0.5, NULL, \
	"probability of hiding an operator's type or the framework in training"}, \
	[PM_NETWORK_MERGE] = {"merge", PM_OPT_BOOL, 1, 0, 1, NULL, "merge operators that are alike into one token"}, \
	[PM_NETWORK_SEED] = {"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "of the random numbers: first weights, order of the rows, what is hidden in training"}

/* ---- parameters ---- */

/* A kind's network begins with one of these; its own offsets follow. */
typedef struct pm_network
{
	const pm_architecture *architecture;
	pm_options	options;
	int			n_types;		/* rows of the embedding tables */
	int			n_frameworks;
	pm_tensors	tensors;
	pm_widths	width;			/* of the inputs */
	int			n_features;		/* width of an operator's vector */
	size_t		type, dtype, framework; /* tables */

	/* constants of the output, set from the training rows */
	double		log_mean,		/* of ln(step_ms) */
				log_sigma;
	double		log_op_us;		/* mean of ln(step_us / operators): where the time of an operator starts */
} pm_network;

/* ---- samples of a pass ---- */

/* What a kind derives from a sample before training; its own struct begins with this. */
typedef struct pm_sample_plan
{
	int			items;			/* edges, windows: what the kind's workspace grows with besides tokens */
} pm_sample_plan;

/* The samples of one pass.  The arrays stand in its workspace. */
typedef struct pm_minibatch
{
	pm_pass_size size;
	const pm_input **in;		/* [samples] */
	const pm_sample_plan **plan;	/* [samples] NULL where the kind has none */
	int		   *start;			/* [samples] first row of the sample's tokens */
	double	   *truth;			/* [samples] measured, ms */
	double	   *weight;			/* [samples] */
	pm_rng	   *rng;			/* NULL: neither dropout nor augmentation */

	/* by the forward pass */
	double	   *log_ms;			/* [samples] ln of the step time */
	double	   *token_us;		/* kinds that know operators fill it unless NULL: [tokens], one copy */
	bool	   *launch_bound;	/* with token_us */
	double		rest_us;		/* with token_us: of the step's rest (one sample) */

	/* by pm_network_loss() */
	double	   *dlog;			/* [samples] gradient of log_ms */
} pm_minibatch;

/* Sum of the Huber losses (PM_HUBER_DELTA) of ln(predicted / measured), each times the weight of its sample; fills dlog. */
double		pm_network_loss(pm_minibatch *b);

/* ---- parts of networks ---- */

/* Each operator as one vector: embeddings of type and of setting, configuration, load. */
typedef struct pm_features
{
	pm_real    *x;				/* [tokens, n_features] */
	pm_real    *dx;				/* [tokens, n_features] */
	int32_t    *type;			/* [tokens] table row in use, after hiding */
	int32_t    *framework;		/* [samples] */
} pm_features;

void		pm_features_take(const pm_network *net, const pm_pass_size *size, pm_cursor *c, pm_features *f);
void		pm_features_forward(const pm_network *net, const pm_real *w, const pm_minibatch *b, pm_features *f);
/* From f->dx to the tables. */
void		pm_features_back(const pm_network *net, pm_real *grad, const pm_minibatch *b, const pm_features *f);

/*
 * Dropout of single units of y[tokens, width] and of all that belongs to one
 * sample (stochastic depth); mask[tokens, width] gets the factors.
 */
void		pm_network_drop(pm_real *y, pm_real *mask, const pm_minibatch *b, int width, double unit, double path);

/*
 * Time of an operator in us from the output of a network: exp(log_op_us + raw),
 * the exponent held to [-12, 18] but for a leak.  Positive, relative errors
 * count alike from microseconds to seconds, and nothing is anchored anywhere.
 * *slope: derivative by raw.
 */
double		pm_network_time_us(const pm_network *net, double raw, double *slope);

/* ---- an architecture ---- */

struct pm_architecture
{
	bool		knows_operators;	/* the step is a sum over operators; else parts share it out by roofline time */
	size_t		net_bytes;		/* of its network, which begins with a pm_network */

	/*
	 * Add all tensors but those of the features, which are there.  What there
	 * is of each layer comes from pm_tensors_layers().
	 */
	void		(*build) (pm_network *net);
	/* Take what a pass over samples of this size needs. */
	void		(*measure) (const pm_network *net, const pm_pass_size *size, pm_cursor *c);
	/* Forward, loss, and with grad backward; returns the loss. */
	double		(*pass) (const pm_network *net, const pm_real *w, pm_real *grad, pm_minibatch *b, pm_cursor *c);

	/* May be NULL, both of them. */
	pm_code		(*plan) (const pm_options *o, const pm_tokens *t, const pm_question *q, pm_arena *a,
						 pm_sample_plan **plan, pm_status *st);
	/* The most items of a plan, and the bytes that making it takes. */
	void		(*plan_bound) (const pm_options *o, const pm_skeleton *s, int *items, double *bytes);
};

extern const pm_architecture pm_architecture_perfnet;
extern const pm_architecture pm_architecture_transformer;
extern const pm_architecture pm_architecture_gnn;
extern const pm_architecture pm_architecture_ets;

/*
 * net[architecture->net_bytes] gets tensors and offsets, from options and sizes
 * of vocabularies.  a: where its lists grow; NULL: parameters are only counted,
 * for estimates of memory, and nothing can fail.
 */
pm_code		pm_network_init(pm_network *net, const pm_architecture *architecture, const pm_options *o, const pm_schema *schema,
								int n_types, int n_frameworks, pm_arena *a, pm_status *st);

/* The samples that a pass reads. */
typedef struct pm_network_rows
{
	const pm_network *net;
	const pm_input *inputs;		/* [rows] */
	pm_sample_plan *const *plans;	/* [rows] */
	const double *step_ms;		/* [rows] */
	const double *weight;		/* [rows] */
} pm_network_rows;

/* Bytes of workspace for one pass over these rows. */
size_t		pm_network_workspace(const pm_network_rows *data, const int *index, int n);
/* pm_objective.pass; ctx is a pm_network_rows. */
double		pm_network_pass(const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
						  double *predicted, pm_rng *rng, void *workspace);

/* ---- the functions of pm_kind ---- */

/* net: room for a network of this architecture, whose contents do not matter. */
double		pm_network_memory(pm_network *net, const pm_architecture *architecture, const pm_options *o, const pm_dataset *d, int threads);
pm_code		pm_network_fit(const pm_architecture *architecture, pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
						 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st);
pm_code		pm_network_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
							 double *step_ms, pm_part *parts, int *n_parts, pm_status *st);
pm_code		pm_network_save(const pm_predictor *p, pm_buffer *b, pm_status *st);
pm_code		pm_network_load(const pm_architecture *architecture, pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st);

/* Define pm_kind_<id> from pm_architecture_<id> and its struct <id>, which begins with a pm_network; check_options may be NULL. */
#define PM_NETWORK_KIND(id, about, own_options, check_options) \
	static double id##_memory(const pm_options *o, const pm_dataset *d, int threads) \
	{ \
		id			counted; \
\
		return pm_network_memory(&counted.net, &pm_architecture_##id, o, d, threads); \
	} \
	static pm_code id##_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads, const pm_hooks *hooks, \
							pm_arena *a, pm_fit_report *report, pm_status *st) \
	{ \
		return pm_network_fit(&pm_architecture_##id, p, d, seed, threads, hooks, a, report, st); \
	} \
	static pm_code id##_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st) \
	{ \
		return pm_network_load(&pm_architecture_##id, p, r, a, st); \
	} \
	const pm_kind pm_kind_##id = { \
		.name = #id, .summary = about, .options = own_options, \
		.n_options = PM_N_OPTIONS(own_options), .min_samples = 8, .check = check_options, \
		.quantities = PM_LEARNS(PM_STEP_MS), \
		.memory = id##_memory, .fit = id##_fit, .predict = pm_network_predict, .save = pm_network_save, .load = id##_load \
	}

#endif
