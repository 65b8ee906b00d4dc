/*
 * question.c - the words of a question, and other spellings of them.
 */
#include "features/question.h"

#include "base/blanks.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define N_OF(list) ((int) (sizeof(list) / sizeof((list)[0])))

const char *const pm_dtype_name[PM_N_DTYPES] = {
	[PM_FP32] = "fp32", [PM_TF32] = "tf32", [PM_AMP] = "amp", [PM_BF16] = "bf16", [PM_FP16] = "fp16"
};
const char *const pm_layout_name[PM_N_LAYOUTS] = {[PM_NCHW] = "nchw", [PM_NHWC] = "nhwc"};
const char *const pm_optimizer_name[PM_N_OPTIMIZERS] = {
	[PM_SGD] = "sgd", [PM_SGD_MOMENTUM] = "sgd_momentum", [PM_ADAM] = "adam", [PM_ADAMW] = "adamw",
	[PM_OPT_OTHER] = "other", [PM_OPT_NONE] = "none"
};
const char *const pm_mode_name[PM_N_MODES] = {[PM_TRAIN] = "train", [PM_INFERENCE] = "inference"};

/* Far wider than any machine.  The tables have the same bounds: test/core/test_question.c compares. */
const pm_gpu_figure pm_gpu_figures[PM_N_GPU_FIGURES] = {
	{"fp32_tflops", offsetof(pm_gpu, fp32_tflops), 1e-6, 1e7, true},
	{"mem_bw_gbs", offsetof(pm_gpu, mem_bw_gbs), 1e-3, 1e7, true},
	{"fp16_tensor_tflops", offsetof(pm_gpu, fp16_tensor_tflops), 1e-6, 1e7, false},
	{"memory_gb", offsetof(pm_gpu, memory_gb), 1e-3, 1e6, false},
	{"sm_count", offsetof(pm_gpu, sm_count), 1, 1e6, false},
	{"cores_per_sm", offsetof(pm_gpu, cores_per_sm), 1, 1e6, false},
	{"clock_ghz", offsetof(pm_gpu, clock_ghz), 1e-3, 1e3, false},
	{"l2_mb", offsetof(pm_gpu, l2_mb), 1e-4, 1e6, false},
	{"tdp_w", offsetof(pm_gpu, tdp_w), 1e-2, 1e6, false},
	{"base_clock_ghz", offsetof(pm_gpu, base_clock_ghz), 1e-3, 1e3, false},
	{"compute_capability", offsetof(pm_gpu, compute_capability), 1, 1e3, false},
	{"l1_kb", offsetof(pm_gpu, l1_kb), 1e-2, 1e6, false},
	{"register_kb", offsetof(pm_gpu, register_kb), 1e-2, 1e6, false},
	{"fp16_tflops", offsetof(pm_gpu, fp16_tflops), 1e-6, 1e7, false},
};

pm_code
pm_gpu_check(const pm_gpu *gpu, pm_status *st)
{
	for (int i = 0; i < PM_N_GPU_FIGURES; i++)
	{
		const pm_gpu_figure *f = &pm_gpu_figures[i];
		double		v = *(const double *) ((const char *) gpu + f->offset);

		if ((v >= f->min && v <= f->max) || (isnan(v) && !f->needed))
			continue;
		if (isnan(v) || isinf(v) || v <= 0)
			pm_fail(st, PM_ERR_INPUT, "the data sheet of gpu \"%.*s\" has no %s", pm_shown(gpu->name), gpu->name, f->column);
		else
			pm_fail(st, PM_ERR_INPUT, "the data sheet of gpu \"%.*s\" says %s %g, which is not between %g and %g",
					pm_shown(gpu->name), gpu->name, f->column, v, f->min, f->max);
		pm_hint(st, "UPDATE perfmodel.gpu SET %s = ... WHERE name = '%.*s';", f->column, pm_shown(gpu->name), gpu->name);
		return PM_ERR_INPUT;
	}
	return PM_OK;
}

#define FIRST_WITH_TF32	8.0		/* compute capability */

pm_dtype
pm_dtype_run(const pm_gpu *gpu, pm_dtype asked)
{
	return asked == PM_TF32 && gpu->compute_capability < FIRST_WITH_TF32 ? PM_FP32 : asked;
}

bool
pm_framework_fuses(const char *framework)
{
	return framework != NULL && (strstr(framework, "xla") != NULL || strstr(framework, "compile") != NULL);
}

pm_layout
pm_layout_run(bool has_layout, pm_layout asked)
{
	return has_layout ? asked : PM_NCHW;
}

/* PyTorch's, TensorFlow's and Lightning's words; "mixed" is autocast, whichever 16-bit type it casts to. */
static const pm_synonym dtype_synonyms[] = {
	{"float32", PM_FP32}, {"float", PM_FP32}, {"single", PM_FP32}, {"f32", PM_FP32}, {"32", PM_FP32},
	{"32true", PM_FP32}, {"torchfloat32", PM_FP32}, {"torchfloat", PM_FP32},
	{"tensorfloat32", PM_TF32}, {"tensorfloat", PM_TF32},
	{"mixed", PM_AMP}, {"mixedprecision", PM_AMP}, {"autocast", PM_AMP}, {"16mixed", PM_AMP}, {"bf16mixed", PM_AMP},
	{"mixedfloat16", PM_AMP}, {"mixedbfloat16", PM_AMP},
	{"bfloat16", PM_BF16}, {"bfloat", PM_BF16}, {"bf16true", PM_BF16}, {"torchbfloat16", PM_BF16},
	{"float16", PM_FP16}, {"half", PM_FP16}, {"f16", PM_FP16}, {"16true", PM_FP16}, {"torchfloat16", PM_FP16},
	{"torchhalf", PM_FP16},
};

static const pm_synonym layout_synonyms[] = {
	{"contiguous", PM_NCHW}, {"contiguousformat", PM_NCHW}, {"channelsfirst", PM_NCHW},
	{"channelslast", PM_NHWC},
};

static const pm_synonym optimizer_synonyms[] = {
	{"momentum", PM_SGD_MOMENTUM}, {"sgdm", PM_SGD_MOMENTUM}, {"sgdwithmomentum", PM_SGD_MOMENTUM},
	{"nesterov", PM_SGD_MOMENTUM}, {"sgdnesterov", PM_SGD_MOMENTUM},
	{"no", PM_OPT_NONE}, {"nooptimizer", PM_OPT_NONE},
};

/* PyTorch's train() and eval(), Keras' fit and predict. */
static const pm_synonym mode_synonyms[] = {
	{"training", PM_TRAIN}, {"fit", PM_TRAIN},
	{"infer", PM_INFERENCE}, {"eval", PM_INFERENCE}, {"evaluation", PM_INFERENCE}, {"predict", PM_INFERENCE},
	{"prediction", PM_INFERENCE}, {"forward", PM_INFERENCE},
};

const pm_word_list pm_dtype_words = {
	.what = "dtype", .n = PM_N_DTYPES, .names = pm_dtype_name,
	.n_synonyms = N_OF(dtype_synonyms), .synonyms = dtype_synonyms
};
const pm_word_list pm_layout_words = {
	.what = "layout", .n = PM_N_LAYOUTS, .names = pm_layout_name,
	.n_synonyms = N_OF(layout_synonyms), .synonyms = layout_synonyms
};
const pm_word_list pm_optimizer_words = {
	.what = "optimizer", .n = PM_N_OPTIMIZERS, .names = pm_optimizer_name,
	.n_synonyms = N_OF(optimizer_synonyms), .synonyms = optimizer_synonyms
};
const pm_word_list pm_mode_words = {
	.what = "mode", .n = PM_N_MODES, .names = pm_mode_name,
	.n_synonyms = N_OF(mode_synonyms), .synonyms = mode_synonyms
};

/* Bytes of what does not count at the beginning of s. */
static int
passed_over(const char *s)
{
	return *s == '-' || *s == '_' || *s == '.' || *s == ' ' ? 1 : pm_wide_blank(s);
}

/* The next byte of *s that counts, as a small letter; '\0' at the end. */
static char
next_letter(const char **s)
{
	char		c;

	for (int n; (n = passed_over(*s)) > 0;)
		*s += n;
	c = **s;
	if (c != '\0')
		(*s)++;
	return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

static bool
same_word(const char *a, const char *b)
{
	char		c;

	while ((c = next_letter(&a)) == next_letter(&b))
		if (c == '\0')
			return true;
	return false;
}

int
pm_word_find(const pm_word_list *list, const char *word)
{
	for (int i = 0; i < list->n; i++)
		if (same_word(word, list->names[i]))
			return i;
	for (int i = 0; i < list->n_synonyms; i++)
		if (same_word(word, list->synonyms[i].word))
			return list->synonyms[i].value;
	return -1;
}

/* As frameworks name it: Transformer Engine, torchao, Lightning ("transformer-engine"). */
static const char *const fp8_name[] = {PM_FP8_NAME};
static const pm_synonym fp8_synonyms[] = {{"float8", 0}, {"ampfp8", 0}, {"fp8hybrid", 0}, {"fp8mixed", 0}, {"transformerengine", 0}};

bool
pm_is_fp8(const char *word)
{
	const pm_word_list list = {.what = "dtype", .n = 1, .names = fp8_name, .n_synonyms = N_OF(fp8_synonyms), .synonyms = fp8_synonyms};

	return pm_word_find(&list, word) == 0;
}

int
pm_dtype_parse(const char *s)
{
	return pm_word_find(&pm_dtype_words, s);
}

const char *
pm_asked_dtype(const char *word)
{
	int			dtype = pm_dtype_parse(word);

	return dtype >= 0 ? pm_dtype_name[dtype] : pm_is_fp8(word) ? PM_FP8_NAME : NULL;
}

int
pm_layout_parse(const char *s)
{
	return pm_word_find(&pm_layout_words, s);
}

int
pm_optimizer_parse(const char *s)
{
	return pm_word_find(&pm_optimizer_words, s);
}

int
pm_mode_parse(const char *s)
{
	return pm_word_find(&pm_mode_words, s);
}
