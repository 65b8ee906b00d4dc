/*
 * question.h - a question: how long does a step of this graph take, on this
 * device, in this format?
 *
 * Functions pass the whole question on. For a new member, change three more
 * places: the features that depend on it (tokens.c), the domain of a predictor
 * if rows of training may lack it (predictor/domain.c), and the SQL that sets
 * it.
 */
#ifndef PM_QUESTION_H
#define PM_QUESTION_H

#include "graph/graph.h"
#include "graph/op_work.h"

/* A data sheet. NaN: not known. Rates are peaks. */
typedef struct pm_gpu
{
	const char *name;
	double		memory_gb;
	double		mem_bw_gbs;
	double		sm_count;		/* streaming multiprocessors, compute units, or CPU cores used */
	double		cores_per_sm;
	double		clock_ghz;
	double		fp32_tflops;
	double		fp16_tensor_tflops;
	double		l2_mb;
	double		tdp_w;			/* power that the board may draw */
	double		base_clock_ghz; /* clock that it keeps at that power; clock_ghz is the boost clock */
	double		compute_capability; /* NVIDIA's, such as 8.6 */
	double		l1_kb;			/* L1 cache and shared memory of a multiprocessor */
	double		register_kb;	/* registers of a multiprocessor */
	double		fp16_tflops;	/* without matrix units */
	bool		is_cpu;
} pm_gpu;

/* For the end of an initialiser of pm_gpu: figures that predictions do not need are not known. */
#define PM_GPU_REST_UNKNOWN \
	.tdp_w = NAN, .base_clock_ghz = NAN, .compute_capability = NAN, .l1_kb = NAN, .register_kb = NAN, .fp16_tflops = NAN

/* One figure of a data sheet, with its bounds (inclusive). */
typedef struct pm_gpu_figure
{
	const char *column;			/* of perfmodel.gpu: "mem_bw_gbs" */
	size_t		offset;			/* of a double in pm_gpu */
	double		min,
				max;
	bool		needed;			/* without it, no question about the device can be answered */
} pm_gpu_figure;

#define PM_N_GPU_FIGURES	14
extern const pm_gpu_figure pm_gpu_figures[PM_N_GPU_FIGURES];

/* PM_ERR_INPUT: a needed figure is NaN, or a figure is out of its bounds; the message names the first such figure. */
pm_code		pm_gpu_check(const pm_gpu *gpu, pm_status *st);

/*
 * The format in which PyTorch computes on a device if it is asked for this one:
 * fp32 for tf32 on an NVIDIA card older than Ampere (a known compute capability
 * below 8.0), else the one asked for.  Other formats keep their size in memory
 * even if the card computes them in FP32 (pm_gpu_emulates()).
 */
pm_dtype	pm_dtype_run(const pm_gpu *gpu, pm_dtype asked);

/*
 * The layout in which a graph runs if it is asked for this one: nchw if no operator
 * works on channels-last tensors (pm_graph.has_layout is false), else the one
 * asked for.  In a language model, model.to(memory_format=torch.channels_last)
 * changes no tensor.
 */
pm_layout	pm_layout_run(bool has_layout, pm_layout asked);

/*
 * Whether a framework of this name (NULL: no) compiles the graph before it runs it (XLA, torch.compile).  Then operators are
 * fused, and the tensors between them are never stored.
 */
bool		pm_framework_fuses(const char *framework);

/* One question. framework may be NULL. */
typedef struct pm_question
{
	const pm_graph *graph;
	const pm_gpu *gpu;
	int64_t		batch;
	pm_dtype	dtype;
	pm_layout	layout;
	pm_optimizer optimizer;		/* no effect in inference */
	pm_mode		mode;
	const char *framework;
	bool		alone;			/* a single operator: forward and backward pass without update and without a step around it */
	bool		forward_only;	/* of a single operator: only its forward pass was timed */
	bool		compile;		/* operators are fused; no predictor reads it (change/compile.h) */
	bool		fp8;			/* linear layers multiply in 8 bits, and dtype is that of the rest; no predictor reads it (change/fp8.h) */
} pm_question;

/* Another spelling of a name in a list of words. */
typedef struct pm_synonym
{
	const char *word;			/* as pm_word_find() compares: small letters and digits alone */
	int			value;			/* index into names */
} pm_synonym;

/* The words that an argument of a question can have: the names that are stored and printed, and other spellings of them. */
typedef struct pm_word_list
{
	const char *what;			/* "dtype" */
	int			n;
	const char *const *names;	/* [n] */
	int			n_synonyms;
	const pm_synonym *synonyms;
} pm_word_list;

extern const pm_word_list pm_dtype_words;	/* values are pm_dtype */
extern const pm_word_list pm_layout_words;	/* pm_layout */
extern const pm_word_list pm_optimizer_words;	/* pm_optimizer */
extern const pm_word_list pm_mode_words;	/* pm_mode */

/*
 * Index of the name that word is or stands for; -1: none.  Case does not matter,
 * nor do '-', '_', '.' and spaces: "FP32", "float32", "torch.float32" and
 * "32-true" are all fp32.  The locale does not matter, either.
 */
int			pm_word_find(const pm_word_list *list, const char *word);

#define PM_FP8_NAME "fp8"

/* Whether a word is it, or stands for it: questions have it as a dtype, but measurements do not. */
bool		pm_is_fp8(const char *word);

/* The dtype of a question that a word is or stands for, as it is written; NULL: none. */
const char *pm_asked_dtype(const char *word);

/* pm_word_find() in each of the lists; -1: none. */
int			pm_dtype_parse(const char *s);
int			pm_layout_parse(const char *s);
int			pm_optimizer_parse(const char *s);
int			pm_mode_parse(const char *s);
extern const char *const pm_dtype_name[PM_N_DTYPES];
extern const char *const pm_layout_name[PM_N_LAYOUTS];
extern const char *const pm_optimizer_name[PM_N_OPTIMIZERS];
extern const char *const pm_mode_name[PM_N_MODES];

#endif
