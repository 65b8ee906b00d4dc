/*
 * fuzz_weights.c - stored predictors, and predictions with what is accepted.
 *
 * libFuzzer:
 *     clang -g -O1 -DPM_NO_CLONES -fsanitize=fuzzer,address,undefined -Isrc/core -Itest/core test/fuzz/fuzz_weights.c \
 *         $(make -s -f src/sources.mk print-CORE_PLAIN_SOURCES) -l:libopenblas.a -lm -lpthread
 * With -DREPLAY a main() runs the files named on the command line instead;
 * with -DSEEDS a main() writes stored predictors of all kinds into the
 * directory named on the command line, to start from.
 *
 * The checksum is put right first, or nothing would get past it.  Whatever the
 * bytes, load returns with a sound code; an accepted predictor comes back
 * the same when stored again, and answers with a positive finite number whose
 * parts are finite, or with an error.
 */
#include "../core/make_graph.h"

#define BUDGET ((size_t) 256 * 1024 * 1024)

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool ok)
{
	if (!ok)
		abort();
}

/* What predictions are asked for; made once. */
static const pm_sample *
question(void)
{
	static pm_arena arena;
	static pm_sample row;

	if (row.skeleton == NULL)
	{
		const pm_graph *g;

		pm_arena_init_malloc(&arena);
		g = make_net(&arena, "net", 8, 2, 8, 4);
		row = make_sample(g, make_skeleton(g, true, &arena), 8, 0);
	}
	return &row;
}

/* A verdict is sound: the prediction lies inside, and who is out of the domain hears why. */
static void
check_verdict(const pm_predictor *p, double ms, pm_arena *a)
{
	static const double levels[] = {0.5, 0.9, 0.999};

	for (int i = 0; i < 3 && p->trust != NULL; i++)
	{
		pm_verdict	v;
		pm_code		rc = pm_predictor_judge(p, question(), ms, levels[i], a, &v, NULL);

		must(rc == PM_OK || rc == PM_ERR_MEMORY);
		if (rc != PM_OK)
			return;
		must(v.in_domain || v.reason[0] != '\0');
		must(pm_trust_calibrated(p->trust) || isnan(v.low_ms));
		must(isnan(v.low_ms) ? isnan(v.high_ms) : v.low_ms > 0 && v.low_ms <= ms && ms <= v.high_ms && isfinite(v.high_ms));
	}
}

static void
check_answers(const pm_predictor *p, pm_arena *a)
{
	const pm_sample *row = question();
	pm_part		parts[64];
	double		ms;
	int			n;
	pm_status	st;
	pm_code		rc = pm_predictor_predict(p, row, a, &ms, NULL, NULL, &st);

	must(rc == PM_ERR_INTERNAL || rc == PM_ERR_MEMORY || (rc == PM_OK && isfinite(ms) && ms > 0));
	if (rc == PM_OK)
		check_verdict(p, ms, a);
	rc = pm_predictor_predict(p, row, a, &ms, parts, &n, &st);
	must(rc == PM_ERR_INTERNAL || rc == PM_ERR_MEMORY || rc == PM_OK);
	if (rc != PM_OK)
		return;
	must(n >= row->skeleton->n && n <= row->skeleton->n + 1);
	for (int i = 0; i < n; i++)
		must(isfinite(parts[i].step_ms));
}

/* Stored and loaded again, it is the same predictor. */
static void
check_stored_again(const pm_predictor *p, pm_arena *a)
{
	uint8_t    *first, *second;
	size_t		first_len, second_len;
	pm_predictor q;
	pm_status	st;

	if (pm_predictor_save(p, a, &first, &first_len, &st) != PM_OK)
		return;
	must(pm_predictor_load(first, first_len, a, &q, &st) == PM_OK || st.code == PM_ERR_MEMORY);
	if (q.impl == NULL || pm_predictor_save(&q, a, &second, &second_len, &st) != PM_OK)
		return;
	must(first_len == second_len && memcmp(first, second, first_len) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *copy = malloc(size > 0 ? size : 1);
	pm_predictor p;
	pm_status	st;
	pm_arena	a;
	pm_code		rc;

	must(copy != NULL);
	memcpy(copy, data, size);
	if (size >= 4)
	{
		uint32_t	crc = pm_crc32c(copy, size - 4);

		for (int i = 0; i < 4; i++)
			copy[size - 4 + i] = (uint8_t) (crc >> (8 * i));
	}
	pm_arena_init_malloc(&a);
	a.limit = BUDGET;
	rc = pm_predictor_load(copy, size, &a, &p, &st);
	must(rc == PM_OK || rc == PM_ERR_FORMAT || rc == PM_ERR_OUTDATED || rc == PM_ERR_OPTION || rc == PM_ERR_MEMORY);
	if (rc == PM_OK)
	{
		check_answers(&p, &a);
		check_stored_again(&p, &a);
	}
	pm_arena_release(&a);
	free(copy);
	return 0;
}

#ifdef SEEDS
static double
some_time(const pm_tokens *t)
{
	return 2 * t->total_roofline_us / 1000 + 1;
}

static void
write_seed(const char *directory, const char *name, const pm_predictor *p, pm_arena *a)
{
	char		path[1000];
	uint8_t    *data;
	size_t		len;
	FILE	   *f;

	must(pm_predictor_save(p, a, &data, &len, NULL) == PM_OK);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "wb");
	must(f != NULL && fwrite(data, 1, len, f) == len && fclose(f) == 0);
}

int
main(int argc, char **argv)
{
	const pm_setting tiny[] = {
		{.name = "d_model", .number = 8}, {.name = "heads", .number = 2}, {.name = "layers", .number = 1},
		{.name = "d_operator", .number = 8}, {.name = "hidden", .number = 4}, {.name = "epochs", .number = 1},
		{.name = "residual", .number = 1, .is_bool = true}, {.name = "head", .text = "pooled"}
	};
	pm_arena	a;
	pm_dataset	d;
	pm_predictor p;

	must(argc == 2);
	pm_arena_init_malloc(&a);
	d = make_dataset(12, 2, true, some_time, &a);
	p = make_predictor("linear", NULL, 0, &d, &a);
	write_seed(argv[1], "linear_calibrated", &p, &a);
	d = make_dataset(4, 3, true, some_time, &a);
	p = make_predictor("roofline", NULL, 0, &d, &a);
	write_seed(argv[1], "roofline", &p, &a);
	p = make_predictor("linear", NULL, 0, &d, &a);
	write_seed(argv[1], "linear", &p, &a);
	p = make_predictor("mdot", tiny, 7, &d, &a);
	write_seed(argv[1], "mdot", &p, &a);
	p = make_predictor("mdot", tiny, 8, &d, &a);
	write_seed(argv[1], "mdot_pooled", &p, &a);
	pm_arena_release(&a);
	return 0;
}
#endif

#ifdef REPLAY
int
main(int argc, char **argv)
{
	static uint8_t data[1 << 24];

	for (int i = 1; i < argc; i++)
	{
		FILE	   *f = fopen(argv[i], "rb");
		size_t		n;

		must(f != NULL);
		n = fread(data, 1, sizeof(data), f);
		fclose(f);
		LLVMFuzzerTestOneInput(data, n);
	}
	printf("%d files\n", argc - 1);
	return 0;
}
#endif
