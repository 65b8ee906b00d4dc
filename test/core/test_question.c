/*
 * test_question.c - the words of a question: names, spellings, case; and a
 * step without an update.
 */
#include "check.h"
#include "make_graph.h"

#include "features/question.h"

static pm_arena arena;

static void
test_names(const pm_word_list *list)
{
	for (int i = 0; i < list->n; i++)
		CHECK_EQ(pm_word_find(list, list->names[i]), i);
	for (int i = 0; i < list->n_synonyms; i++)
	{
		CHECK_EQ(pm_word_find(list, list->synonyms[i].word), list->synonyms[i].value);
		/* a second one of the same spelling would never be found */
		for (int k = 0; k < i; k++)
			CHECK(strcmp(list->synonyms[i].word, list->synonyms[k].word) != 0);
	}
	CHECK_EQ(pm_word_find(list, ""), -1);
	CHECK_EQ(pm_word_find(list, "-"), -1);
	CHECK_EQ(pm_word_find(list, "fp64"), -1);
	CHECK_EQ(pm_word_find(list, "\302\240"), -1);
	CHECK_EQ(pm_word_find(list, "\xc4\xb1"), -1);
}

static void
test_spellings(void)
{
	static const struct
	{
		const char *word;
		int			dtype;
	}			known[] = {
		{"fp32", PM_FP32}, {"FP32", PM_FP32}, {"float32", PM_FP32}, {"torch.float32", PM_FP32}, {"32-true", PM_FP32},
		{"float16", PM_FP16}, {"Half", PM_FP16}, {"FP-16", PM_FP16}, {"bfloat16", PM_BF16}, {"BF16", PM_BF16},
		{"mixed", PM_AMP}, {"AMP", PM_AMP}, {"mixed precision", PM_AMP}, {"bf16-mixed", PM_AMP}, {"TF32", PM_TF32},
		{"float8", -1}, {"fp", -1}, {"fp321", -1}, {"int8", -1}
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		CHECK_EQ(pm_dtype_parse(known[i].word), known[i].dtype);
	CHECK_EQ(pm_layout_parse("channels_last"), PM_NHWC);
	CHECK_EQ(pm_layout_parse("NCHW"), PM_NCHW);
	CHECK_EQ(pm_layout_parse("chw"), -1);
	CHECK_EQ(pm_optimizer_parse("AdamW"), PM_ADAMW);
	CHECK_EQ(pm_optimizer_parse("SGD"), PM_SGD);
	CHECK_EQ(pm_optimizer_parse("SGD with momentum"), PM_SGD_MOMENTUM);
	CHECK_EQ(pm_optimizer_parse("None"), PM_OPT_NONE);
	CHECK_EQ(pm_optimizer_parse("adamax"), -1);
	CHECK_EQ(pm_dtype_parse("\357\273\277amp\302\240"), PM_AMP);
	CHECK_EQ(pm_optimizer_parse("SGD\302\240with\342\200\257momentum"), PM_SGD_MOMENTUM);
	CHECK_EQ(pm_dtype_parse("amp\302\241"), -1);
}

/* A card that has no units for TF32 runs fp32, and nothing else changes; one of which it is not known is taken at its word. */
static void
test_dtype_run(void)
{
	pm_gpu		gpu = {.name = "card", PM_GPU_REST_UNKNOWN};

	CHECK_EQ(pm_dtype_run(&gpu, PM_TF32), PM_TF32);
	gpu.compute_capability = 7.5;
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		CHECK_EQ(pm_dtype_run(&gpu, (pm_dtype) dtype), dtype == PM_TF32 ? PM_FP32 : dtype);
	gpu.compute_capability = 8.0;
	CHECK_EQ(pm_dtype_run(&gpu, PM_TF32), PM_TF32);
}

/* A step that updates nothing has the work of the two passes and no feature of an optimizer. */
static void
test_no_update(void)
{
	pm_graph   *g = make_net(&arena, "net", 16, 2, 28, 4);
	pm_skeleton *s = make_skeleton(g, true, &arena);

	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
	{
		pm_question q = make_sample(g, s, 8, 1).query;
		pm_tokens	with;
		pm_tokens	without;
		double		set = 0;

		q.dtype = (pm_dtype) dtype;
		CHECK(pm_tokens_build(s, &q, &arena, &with, NULL) == PM_OK);
		q.optimizer = PM_OPT_NONE;
		CHECK(pm_tokens_build(s, &q, &arena, &without, NULL) == PM_OK);
		CHECK(without.total_flops < with.total_flops && without.total_bytes < with.total_bytes);
		for (int i = 0; i < without.n; i++)
			CHECK_EQ(without.phase_us[3 * i + 2], 0);
		for (int k = 0; k < PM_OPT_NONE; k++)
			set += without.job[PM_JOB_OPTIMIZER + k];
		CHECK_EQ(set, 0);
		CHECK_EQ(with.job[PM_JOB_OPTIMIZER + PM_SGD], 1);
	}
}

/* What a sheet may say: its bounds, and nothing beyond them. */
static void
test_sheet(void)
{
	pm_graph   *g = make_net(&arena, "net", 16, 2, 28, 4);
	pm_skeleton *s = make_skeleton(g, true, &arena);
	pm_question q = make_sample(g, s, 8, 1).query;
	pm_gpu		gpu;
	pm_tokens	t;
	pm_status	st;

	q.gpu = &gpu;
	for (int i = 0; i < PM_N_GPU_FIGURES; i++)
	{
		const pm_gpu_figure *f = &pm_gpu_figures[i];
		const double good[] = {f->min, f->max};
		const double bad[] = {f->min / 2, f->max * 2, 0, -1, 1e300, INFINITY};

		for (int k = 0; k < 2; k++)
		{
			gpu = test_gpu;
			*(double *) ((char *) &gpu + f->offset) = good[k];
			CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_OK);
		}
		for (int k = 0; k < 6; k++)
		{
			gpu = test_gpu;
			*(double *) ((char *) &gpu + f->offset) = bad[k];
			CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), PM_ERR_INPUT);
			CHECK_HAS(st.message, f->column);
			CHECK_HAS(st.hint, f->column);
		}
		gpu = test_gpu;
		*(double *) ((char *) &gpu + f->offset) = NAN;
		CHECK_EQ(pm_tokens_build(s, &q, &arena, &t, &st), f->needed ? PM_ERR_INPUT : PM_OK);
	}
}

/* The CHECK of a column in the script that makes its table says the same bounds. */
static void
check_script(const char *path, const char *column, double min, double max)
{
	static char text[65536];
	char		words[128];
	const char *at;
	double		low = NAN,
				high = NAN;
	FILE	   *f = fopen(path, "r");

	CHECK(f != NULL);
	if (f == NULL)
		return;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	snprintf(words, sizeof(words), "(%s BETWEEN ", column);
	at = strstr(text, words);
	CHECK(at != NULL && sscanf(at + strlen(words), "%lf AND %lf", &low, &high) == 2);
	CHECK_EQ(low, min);
	CHECK_EQ(high, max);
}

static void
test_scripts(void)
{
	const pm_quantity *q = &pm_quantities[PM_STEP_MS];

	for (int i = 0; i < PM_N_GPU_FIGURES; i++)
		check_script("sql/install/tables_gpu.sql", pm_gpu_figures[i].column, pm_gpu_figures[i].min, pm_gpu_figures[i].max);
	check_script("sql/install/tables_profile.sql", q->name, q->min, q->max);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_names(&pm_dtype_words);
	test_names(&pm_layout_words);
	test_names(&pm_optimizer_words);
	test_spellings();
	test_dtype_run();
	test_no_update();
	test_sheet();
	test_scripts();
	pm_arena_release(&arena);
	return check_done("question");
}
