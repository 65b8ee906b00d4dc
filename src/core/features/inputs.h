/*
 * inputs.h - makes the inputs of a neural network from tokens: vocabularies and
 * normalisation, learned from the training rows and stored with the predictor.
 */
#ifndef PM_INPUTS_H
#define PM_INPUTS_H

#include "features/dataset.h"
#include "features/schema.h"

#define PM_CLAMP 5.0			/* normalised features are held to +-5 */

/* Of a list of features, in the numbering of the predictor. */
typedef struct pm_scale
{
	int			n;
	pm_real    *mean;			/* [n] */
	pm_real    *factor;			/* [n] 1/sigma; 0 where the training rows do not vary */
} pm_scale;

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
	int			usual_framework;	/* the most frequent one of GPUs, or where there are none, of CPUs: what NULL means */
	int			n_gpus;
	const char **gpus;			/* [n_gpus], [0] is "" */
	pm_scale	slots;
	pm_scale	loads;
	pm_scale	job;
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
	double	   *compute_ref_us; /* [n] compute_us and memory_us at the batch that the features are of */
	double	   *memory_ref_us;
	double	   *to_peak;		/* [n] factors on compute_us and memory_us that a second estimate starts from (kinds/mdot); 1 */
	double	   *floor_us;		/* [n] that one copy takes at least on the device; 0: no floor */
	double	   *kernels;		/* [n] one copy */
	char	   *bound;			/* [n] */
	pm_real		job[PM_N_JOB];	/* the first job.n */
	int			dtype;
	int			layout;
	int			framework;		/* vocabulary row */
	int			gpu;			/* vocabulary row */
	double		total_roofline_us;	/* all copies */
	double		total_device_us;	/* compute + memory, all copies */
	bool		on_cpu;			/* the device is a CPU */
	bool		in_turn;		/* launches and the work on the device follow each other, as on a CPU; else they overlap */
	double		rest_share;		/* of what a step costs beside its operators; 0 for an operator alone */
	double		clamped;		/* share of features that had to be held to +-PM_CLAMP */
} pm_input;

/* tokens[i] belongs to d->samples[i]. */
pm_code		pm_codec_fit(pm_codec *c, const pm_schema *schema, const pm_dataset *d, const pm_tokens *tokens,
						 pm_arena *a, pm_status *st);
/*
 * As pm_codec_fit(), for a network that starts from one that has codec `from`:
 * rows of its vocabularies stay where they are, new names come after them, and
 * features that were normalised stay as they were.  Names are shared with from.
 */
pm_code		pm_codec_extend(pm_codec *c, const pm_codec *from, const pm_dataset *d, const pm_tokens *tokens,
							pm_arena *a, pm_status *st);
/* PM_ERR_INPUT for a dtype or layout that the predictor was trained before. */
pm_code		pm_codec_encode(const pm_codec *c, const pm_tokens *t, const pm_question *q, pm_arena *a,
							pm_input *in, pm_status *st);
/*
 * Let in, encoded from the tokens of one batch, stand for the work of another:
 * features stay as they are, times at peak become those of work, and
 * compute_ref_us and memory_ref_us keep those that belong to the features.
 */
void		pm_input_rework(pm_input *in, const pm_tokens *work);

void		pm_codec_save(const pm_codec *c, pm_buffer *b);
/* schema: that of the predictor.  PM_ERR_OUTDATED when skeletons have other positions or relations. */
pm_code		pm_codec_load(pm_codec *c, const pm_schema *schema, pm_reader *r, pm_arena *a, pm_status *st);

/* Tokens of all samples; skeletons are shared, tokens are not. */
pm_code		pm_tokens_of(const pm_dataset *d, pm_arena *a, pm_tokens **tokens, pm_status *st);
/* Bytes that tokens and inputs of d will take. */
double		pm_inputs_memory(const pm_dataset *d);

#endif
