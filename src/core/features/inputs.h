/*
 * inputs.h - makes the inputs of a neural network from tokens: vocabularies and
 * normalisation, learned from the training rows and stored with the predictor.
 */
#ifndef PM_INPUTS_H
#define PM_INPUTS_H

#include "features/dataset.h"
#include "features/schema.h"

#define PM_CLAMP 5.0			/* normalised features are held to +-5 */

/* Normalisation of a list of features, in the numbering of the predictor: (x - mean) * factor. */
typedef struct pm_normalisation
{
	int			n;
	pm_real    *mean;			/* [n] */
	pm_real    *factor;			/* [n] 1/sigma; 0 where the training rows do not vary */
} pm_normalisation;

/*
 * Row 0 of each vocabulary stands for what was not seen in training.  Names,
 * not numbers, are stored, so that a catalogue that grows does not shift them.
 */
typedef struct pm_codec
{
	const pm_schema *schema;	/* lists that the network was trained with */
	int			n_types;		/* including row 0 */
	const char **types;			/* [n_types], [0] is "" */
	int32_t    *type_row;		/* [pm_type_count()] */
	int			n_frameworks;
	const char **frameworks;	/* [n_frameworks], [0] is "" */
	int			usual_framework;	/* row of the framework that NULL stands for: that of most rows of GPUs, or without GPUs, of CPUs */
	int			n_gpus;
	const char **gpus;			/* [n_gpus], [0] is "" */
	pm_normalisation slots;
	pm_normalisation loads;
	pm_normalisation job;
} pm_codec;

/* One sample, ready for a network; features and words in the numbering of its codec. */
typedef struct pm_input
{
	const pm_skeleton *skeleton;
	int			n;				/* tokens */
	int32_t    *type;			/* [n] vocabulary row */
	int32_t    *op_class;		/* [n] */
	pm_real    *config;			/* [n, 2 * slots.n] normalised values, then the mask */
	pm_real    *load;			/* [n, loads.n] normalised */
	pm_real    *log_copies;		/* [n+1]; [0] is the job token's */
	double	   *copies;			/* [n] */
	double	   *roofline_us;	/* [n] one copy */
	double	   *compute_us;		/* [n] one copy */
	double	   *memory_us;		/* [n] one copy */
	double	   *compute_ref_us; /* [n] compute_us and memory_us at the batch for which the features were computed */
	double	   *memory_ref_us;
	double	   *to_peak;		/* [n] factors on compute_us and memory_us for the start of a second estimate (kinds/mdot); else 1 */
	double	   *floor_us;		/* [n] the least time of one copy on the device; 0: no floor */
	double	   *table_us;		/* [n] the update of a table on a GPU, one copy at the peak bandwidth; 0: no table */
	double	   *table_share;	/* [n] its part of memory_us, 0..1 */
	double	   *kernels;		/* [n] one copy */
	char	   *bound;			/* [n] 'c' or 'm', as in pm_tokens */
	pm_real		job[PM_N_JOB];	/* the first job.n */
	int			dtype;
	int			layout;
	int			framework;		/* vocabulary row */
	int			gpu;			/* vocabulary row */
	double		total_roofline_us;	/* all copies */
	double		total_device_us;	/* compute + memory, all copies */
	bool		is_pass;		/* the work is that of a forward pass: of inference, or the part of a training step */
	bool		on_cpu;			/* the device is a CPU */
	bool		in_turn;		/* launches and work on the device follow each other, as on a CPU; else they overlap */
	double		rest_share;		/* 0..1: part of a step's rest (its time apart from operators) that counts; 0 for an operator alone */
	double		clamped;		/* share of features that were held to +-PM_CLAMP */
} pm_input;

/*
 * Learn vocabularies and normalisation from the rows of d; tokens[i] belongs to d->samples[i].  *c is in arena a, and refers to
 * schema and to names in d.  PM_ERR_MEMORY, PM_CANCELLED.
 */
pm_code		pm_codec_fit(pm_codec *c, const pm_schema *schema, const pm_dataset *d, const pm_tokens *tokens,
						 pm_arena *a, pm_status *st);
/*
 * As pm_codec_fit(), for a network that starts from the weights of one with codec
 * `from`: names keep their rows in the vocabularies, and new names come after
 * them.  Features keep their normalisation, except those that were switched off.
 * Names are shared with from.
 */
pm_code		pm_codec_extend(pm_codec *c, const pm_codec *from, const pm_dataset *d, const pm_tokens *tokens,
							pm_arena *a, pm_status *st);
/* *in, in arena a: the inputs for a question q with the tokens t. PM_ERR_INPUT: the predictor does not know the dtype or layout of q. */
pm_code		pm_codec_encode(const pm_codec *c, const pm_tokens *t, const pm_question *q, pm_arena *a,
							pm_input *in, pm_status *st);
/*
 * Give in, which was encoded from tokens at one batch, the work at another batch:
 * features stay, times at the peaks become those of work.  compute_ref_us and
 * memory_ref_us stay those of the batch of the features.
 */
void		pm_input_rework(pm_input *in, const pm_tokens *work);

void		pm_codec_save(const pm_codec *c, pm_buffer *b);
/*
 * schema: that of the predictor.  PM_ERR_OUTDATED: it was trained with other positions or relations of operators than this library
 * has; PM_ERR_FORMAT: damaged; PM_ERR_MEMORY.
 */
pm_code		pm_codec_load(pm_codec *c, const pm_schema *schema, pm_reader *r, pm_arena *a, pm_status *st);

/* *tokens, [d->n] in arena a: those of each sample. Errors are those of pm_tokens_build(). */
pm_code		pm_tokens_of(const pm_dataset *d, pm_arena *a, pm_tokens **tokens, pm_status *st);
/* Bytes that tokens and inputs of d will take. */
double		pm_inputs_memory(const pm_dataset *d);

#endif
