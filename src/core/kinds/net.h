/*
 * rival_net.h - what the networks that compete with MDOT share.
 *
 * perfnet.c, gnn.c, ets.c and transformer.c are one idea each: a list of
 * tensors, a forward pass and its backward twin.  Everything else is here, so
 * that they differ in the idea alone: the features of MDOT (tokens.h,
 * inputs.h), its training, its augmentation, its stored form.  The loss is
 * Huber's.
 * Architectures and sources: docs/rivals.md.
 */
#ifndef PM_RIVAL_NET_H
#define PM_RIVAL_NET_H

#include "features/inputs.h"
#include "kinds/kind.h"
#include "nn/nn.h"
#include "nn/tensors.h"
#include "nn/workspace.h"
#include "nn/trainer.h"

#define PM_RIVAL_MAX_TENSORS 96
#define PM_RIVAL_MAX_SHARD	PM_MAX_SHARD

typedef struct pm_rival pm_rival;

/* ---- options that all of them have ---- */

enum
{
	PM_RIVAL_EPOCHS, PM_RIVAL_PATIENCE, PM_RIVAL_BATCH_SIZE, PM_RIVAL_LEARNING_RATE, PM_RIVAL_FINAL_RATE, PM_RIVAL_WARMUP,
	PM_RIVAL_WEIGHT_DECAY, PM_RIVAL_CLIP, PM_RIVAL_EMA, PM_RIVAL_VALID, PM_RIVAL_UNKNOWN, PM_RIVAL_MERGE, PM_RIVAL_SEED,
	PM_RIVAL_OPTIONS				/* a kind's own begin here */
};

#define PM_RIVAL_SHARED_OPTIONS(epochs, rate) \
	[PM_RIVAL_EPOCHS] = {"epochs", PM_OPT_INT, (epochs), 1, 100000, NULL, "passes over the training rows, at the most"}, \
	[PM_RIVAL_PATIENCE] = {"patience", PM_OPT_INT, 0, 0, 100000, NULL, \
	"stop after this many epochs without a better validation error, and keep the best; 0: never, and keep the last"}, \
	[PM_RIVAL_BATCH_SIZE] = {"batch_size", PM_OPT_INT, 16, 1, PM_MAX_MINIBATCH, NULL, "training rows a step"}, \
	[PM_RIVAL_LEARNING_RATE] = {"learning_rate", PM_OPT_REAL, (rate), 1e-8, 1e7, NULL, "at the top of the schedule"}, \
	[PM_RIVAL_FINAL_RATE] = {"final_rate", PM_OPT_REAL, 1e-5, 0, 1, NULL, "at the end of the cosine"}, \
	[PM_RIVAL_WARMUP] = {"warmup", PM_OPT_REAL, 0.05, 0, 0.9, NULL, "fraction of all steps"}, \
	[PM_RIVAL_WEIGHT_DECAY] = {"weight_decay", PM_OPT_REAL, 0.01, 0, 10, NULL, "AdamW, on matrices only"}, \
	[PM_RIVAL_CLIP] = {"clip", PM_OPT_REAL, 1.0, 0, 1e6, NULL, "largest global norm of the gradient; 0: none"}, \
	[PM_RIVAL_EMA] = {"ema", PM_OPT_REAL, 0.99, 0, 0.99999, NULL, "moving average of the weights; 0: none"}, \
	[PM_RIVAL_VALID] = {"valid_fraction", PM_OPT_REAL, 0, 0, 0.5, NULL, \
	"rows held out to judge by, and with patience to stop by; split by structure"}, \
	[PM_RIVAL_UNKNOWN] = {"unknown", PM_OPT_REAL, 0.01, 0, 0.5, NULL, \
	"probability of hiding an operator's type or the framework in training"}, \
	[PM_RIVAL_MERGE] = {"merge", PM_OPT_BOOL, 1, 0, 1, NULL, "merge operators that are alike into one token"}, \
	[PM_RIVAL_SEED] = {"seed", PM_OPT_INT, 42, 0, 2147483647, NULL, "of weights, shuffles and augmentation"}

/* ---- parameters ---- */

typedef struct pm_rival_tensor
{
	const char *name;			/* static; layers of one kind share it */
	size_t		at;				/* offset in the parameter vector */
	int			rows,
				cols;
	pm_tensor_start start;
} pm_rival_tensor;

/* A kind's network begins with one of these; its own offsets follow. */
typedef struct pm_rival_net
{
	const pm_rival *rival;
	pm_options	options;
	int			n_types;		/* rows of the embedding tables */
	int			n_frameworks;
	int			n_tensors;
	pm_rival_tensor tensor[PM_RIVAL_MAX_TENSORS];
	size_t		n_params;
	int			n_features;		/* width of an operator's vector */
	size_t		type, dtype, layout, framework; /* tables */

	/* constants of the output, set from the training rows */
	double		log_mean,		/* of ln(step_ms) */
				log_sigma;
	double		log_op_us;		/* mean of ln(step_us / operators): where the time of an operator starts */
} pm_rival_net;

/* Room for the network of any kind. */
typedef union pm_rival_any
{
	pm_rival_net net;
	char		room[16384];
} pm_rival_any;

size_t		pm_rival_add(pm_rival_net *net, const char *name, int rows, int cols, pm_tensor_start start);

/* A perceptron of one hidden layer: y = gelu(x W1 + b1) W2 + b2. */
typedef struct pm_mlp
{
	int			in,
				hidden,
				out;
	size_t		w1, b1, w2, b2; /* offsets */
} pm_mlp;

/* last: how W2 starts */
pm_mlp		pm_mlp_add(pm_rival_net *net, const char *name, int in, int hidden, int out, pm_tensor_start last);

/* ---- samples of a pass ---- */

/* What a kind derives from a sample before training; its own struct begins with this. */
typedef struct pm_rival_plan
{
	int			items;			/* edges, windows: what the kind's workspace grows with besides tokens */
} pm_rival_plan;

/* Totals over the samples of a pass. */
typedef struct pm_rival_size
{
	int			samples;
	int			tokens;
	int			longest;		/* tokens of the largest sample */
	size_t		squares;		/* sum of (tokens + 1)^2 */
	int			items;
} pm_rival_size;

typedef struct pm_rival_batch
{
	pm_rival_size size;
	const pm_input *in[PM_RIVAL_MAX_SHARD];
	const pm_rival_plan *plan[PM_RIVAL_MAX_SHARD];	/* NULL where the kind has none */
	int			start[PM_RIVAL_MAX_SHARD];	/* first row of the sample's tokens */
	double		truth[PM_RIVAL_MAX_SHARD];	/* ms */
	double		weight[PM_RIVAL_MAX_SHARD];
	pm_rng	   *rng;			/* NULL: neither dropout nor augmentation */

	/* by the forward pass */
	double		log_ms[PM_RIVAL_MAX_SHARD];	/* ln of the step time */
	double	   *token_us;		/* kinds that know operators fill it unless NULL: [tokens], one copy */
	bool	   *launch_bound;	/* with token_us */
	double		rest_us;		/* with token_us: of the step's rest (one sample) */

	/* by pm_rival_loss() */
	double		dlog[PM_RIVAL_MAX_SHARD];	/* gradient of log_ms */
} pm_rival_batch;

/* Huber loss (0.2) of ln(predicted / measured), as MDOT's; fills dlog. */
double		pm_rival_loss(pm_rival_batch *b);

/* ---- parts of networks ---- */

/* Each operator as one vector: embeddings of type and of setting, configuration, load. */
typedef struct pm_features
{
	pm_real    *x;				/* [tokens, n_features] */
	pm_real    *dx;				/* [tokens, n_features] */
	int32_t    *type;			/* [tokens] table row in use, after hiding */
	int32_t    *framework;		/* [samples] */
} pm_features;

void		pm_features_take(const pm_rival_net *net, const pm_rival_size *size, pm_cursor *c, pm_features *f);
void		pm_features_forward(const pm_rival_net *net, const pm_real *w, const pm_rival_batch *b, pm_features *f);
/* From f->dx to the tables. */
void		pm_features_back(const pm_rival_net *net, pm_real *grad, const pm_rival_batch *b, const pm_features *f);

typedef struct pm_mlp_acts
{
	pm_real    *pre, *act;		/* [r, hidden] derivative and value of GELU */
	pm_real    *dact;			/* [r, hidden] scratch */
} pm_mlp_acts;

void		pm_mlp_take(const pm_mlp *m, size_t rows, pm_cursor *c, pm_mlp_acts *t);
/* y[r, out] from x[r, in] */
void		pm_mlp_forward(pm_real *y, const pm_real *x, const pm_mlp *m, const pm_real *w, int r, pm_mlp_acts *t);
/* dx[r, in] is overwritten; NULL: not wanted */
void		pm_mlp_back(pm_real *dx, pm_real *grad, const pm_real *dy, const pm_real *x, const pm_mlp *m,
						const pm_real *w, int r, pm_mlp_acts *t);

/*
 * Dropout of single units of y[tokens, width] and of all that belongs to one
 * sample (stochastic depth); mask[tokens, width] gets the factors.
 */
void		pm_rival_drop(pm_real *y, pm_real *mask, const pm_rival_batch *b, int width, double unit, double path);

/*
 * Time of an operator in us from the output of a network: exp(log_op_us + raw),
 * the exponent held to [-12, 18] but for a leak.  Positive, relative errors
 * count alike from microseconds to seconds, and nothing is anchored anywhere.
 * *slope: derivative by raw.
 */
double		pm_rival_time(const pm_rival_net *net, double raw, double *slope);

/* ---- a rival ---- */

struct pm_rival
{
	bool		knows_operators;	/* the step is a sum over operators; else parts share it out by roofline time */
	size_t		net_bytes;		/* of its network, which begins with a pm_rival_net */

	/* Add all tensors but those of the features, which are there. */
	void		(*build) (pm_rival_net *net);
	/* Take what a pass over samples of this size needs. */
	void		(*measure) (const pm_rival_net *net, const pm_rival_size *size, pm_cursor *c);
	/* Forward, loss, and with grad backward; returns the loss. */
	double		(*pass) (const pm_rival_net *net, const pm_real *w, pm_real *grad, pm_rival_batch *b, pm_cursor *c);

	/* May be NULL, both of them. */
	pm_code		(*plan) (const pm_options *o, const pm_tokens *t, const pm_question *q, pm_arena *a,
						 pm_rival_plan **plan, pm_status *st);
	/* The most items of a plan, and the bytes that making it takes. */
	void		(*plan_bound) (const pm_options *o, const pm_skeleton *s, int *items, double *bytes);
};

extern const pm_rival pm_rival_perfnet;
extern const pm_rival pm_rival_transformer;
extern const pm_rival pm_rival_gnn;
extern const pm_rival pm_rival_ets;

/* net: [rival->net_bytes]; tensors and offsets from options and sizes of vocabularies. */
void		pm_rival_init(pm_rival_net *net, const pm_rival *rival, const pm_options *o, int n_types, int n_frameworks);
void		pm_rival_weights(const pm_rival_net *net, pm_real *w, pm_rng *rng);

/* The samples that a pass reads. */
typedef struct pm_rival_data
{
	const pm_rival_net *net;
	const pm_input *inputs;		/* [rows] */
	pm_rival_plan *const *plans;	/* [rows] */
	const double *step_ms;		/* [rows] */
	const double *weight;		/* [rows] */
} pm_rival_data;

/* Bytes of workspace for one pass over these rows. */
size_t		pm_rival_workspace(const pm_rival_data *data, const int *index, int n);
/* pm_net.pass; ctx is a pm_rival_data. */
double		pm_rival_pass(const void *ctx, const pm_real *w, pm_real *grad, const int *index, int n,
						  double *predicted, pm_rng *rng, void *workspace);

/* ---- the functions of pm_kind ---- */

double		pm_rival_memory(const pm_rival *rival, const pm_options *o, const pm_dataset *d, int threads);
pm_code		pm_rival_fit(const pm_rival *rival, pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads,
						 const pm_hooks *hooks, pm_arena *a, pm_fit_report *report, pm_status *st);
pm_code		pm_rival_predict(const pm_predictor *p, const pm_sample *s, pm_arena *scratch,
							 double *step_ms, pm_part *parts, int *n_parts, pm_status *st);
pm_code		pm_rival_save(const pm_predictor *p, pm_buffer *b, pm_status *st);
pm_code		pm_rival_load(const pm_rival *rival, pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st);

/* Define pm_kind_<id> from pm_rival_<id>; check_options may be NULL. */
#define PM_RIVAL_KIND(id, about, own_options, check_options) \
	static double id##_memory(const pm_options *o, const pm_dataset *d, int threads) \
	{ \
		return pm_rival_memory(&pm_rival_##id, o, d, threads); \
	} \
	static pm_code id##_fit(pm_predictor *p, const pm_dataset *d, uint64_t seed, int threads, const pm_hooks *hooks, \
							pm_arena *a, pm_fit_report *report, pm_status *st) \
	{ \
		return pm_rival_fit(&pm_rival_##id, p, d, seed, threads, hooks, a, report, st); \
	} \
	static pm_code id##_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st) \
	{ \
		return pm_rival_load(&pm_rival_##id, p, r, a, st); \
	} \
	const pm_kind pm_kind_##id = { \
		.name = #id, .summary = about, .options = own_options, \
		.n_options = (int) (sizeof(own_options) / sizeof(own_options[0])), .min_samples = 8, .check = check_options, \
		.memory = id##_memory, .fit = id##_fit, .predict = pm_rival_predict, .save = pm_rival_save, .load = id##_load \
	}

#endif
