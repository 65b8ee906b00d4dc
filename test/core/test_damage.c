/*
 * test_damage.c - 10,000 damaged stored predictors of all kinds.  The checksum
 * is put right, as somebody who forges one would: load either refuses, or what
 * it accepts answers with a positive finite number or an error.  The sanitizers
 * see the rest.
 */
#include "check.h"
#include "small_kinds.h"

#ifndef TIMES
#define TIMES		10000
#endif
#define MAX_BYTES	((size_t) 64 * 1024 * 1024) /* that a load may take */

static pm_arena arena;
static pm_dataset dataset;
static int	accepted;
static int	answered;

static void
put_u32(uint8_t *at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t) (v >> (8 * i));
}

static void
sign(uint8_t *data, size_t len)
{
	if (len >= 4)
		put_u32(data + len - 4, pm_crc32c(data, len - 4));
}

/* ---- damage ---- */

static size_t
draw(pm_rng *rng, size_t n)
{
	return (size_t) (pm_rng_uniform(rng) * n);
}

/* Counts and names stand at the beginning and at the end, and weights between: each gets its share. */
static size_t
draw_place(pm_rng *rng, size_t len, size_t width)
{
	size_t		part = len / 8;
	size_t		at;

	switch (draw(rng, 4))
	{
		case 0:
			at = draw(rng, len);
			break;
		case 1:
			at = len - 1 - draw(rng, part + 1);
			break;
		default:
			at = draw(rng, part + 1);
			break;
	}
	return at + width <= len ? at : len - width;
}

/* A count or a length in place of what stands there. */
static void
forge_count(uint8_t *data, size_t len, pm_rng *rng)
{
	static const uint32_t counts[] = {0, 1, 2, 3, 7, 64, 1000, 1024, 65536, 0x7fffffff, 0x80000000, 0xffffffff};
	size_t		at = draw_place(rng, len, 4);

	put_u32(data + at, counts[draw(rng, sizeof(counts) / sizeof(counts[0]))]);
}

static void
forge_number(uint8_t *data, size_t len, pm_rng *rng)
{
	static const double numbers[] = {0, -0.0, -1, 0.5, 1e-300, 1e300, -1e300, 1e9, 4294967296.0, INFINITY, NAN};
	size_t		at = draw_place(rng, len, 8);

	memcpy(data + at, &numbers[draw(rng, sizeof(numbers) / sizeof(numbers[0]))], 8);
}

/* Another value that a user could have given: the shape of the network is then not that of the weights. */
static void
forge_option(const pm_kind *kind, uint8_t *data, size_t len, pm_rng *rng)
{
	const pm_option *def = &kind->options[draw(rng, kind->n_options)];
	size_t		n = strlen(def->name);
	double		value = draw(rng, 2) ? def->max : def->min;

	for (size_t at = 0; at + n + 8 <= len; at++)
		if (memcmp(data + at, def->name, n) == 0)
		{
			memcpy(data + at + n, &value, 8);
			return;
		}
}

/* Returns the new length. */
static size_t
damage(const pm_kind *kind, uint8_t *data, size_t len, pm_rng *rng)
{
	size_t		from;
	size_t		to;

	switch (draw(rng, 7))
	{
		case 0:
			for (size_t i = 1 + draw(rng, 8); i > 0; i--)
				data[draw_place(rng, len, 1)] ^= (uint8_t) (1 << draw(rng, 8));
			return len;
		case 1:
			return draw(rng, len);
		case 2:
			/* a stretch is lost */
			from = draw_place(rng, len, 1);
			to = from + draw(rng, len - from < 64 ? len - from : 64);
			memmove(data + from, data + to, len - to);
			return len - (to - from);
		case 3:
			forge_number(data, len, rng);
			return len;
		case 4:
			forge_option(kind, data, len, rng);
			return len;
		default:
			forge_count(data, len, rng);
			return len;
	}
}

/* ---- what is accepted ---- */

static bool
is_sound(pm_code rc, double ms)
{
	return rc == PM_OK ? ms > 0 && isfinite(ms) : rc == PM_ERR_INTERNAL || rc == PM_ERR_MEMORY || rc == PM_ERR_FORMAT;
}

static void
check_answers(const pm_predictor *p, pm_arena *a)
{
	pm_sample	asked = dataset.samples[answered % dataset.n];
	const pm_sample *s = &asked;
	pm_part    *parts = PM_NEW(a, pm_part, s->skeleton->n + 1);
	pm_prepared x;
	pm_verdict	v;
	double		ms = NAN;
	int			n = 0;
	pm_code		rc;

	if (accepted % 2 == 0)
		asked.query.framework = NULL;
	rc = pm_predictor_predict(p, s, a, &ms, parts, &n, NULL);
	CHECK(is_sound(rc, ms));
	if (rc != PM_OK)
		return;
	answered++;
	CHECK(pm_predictor_judge(p, s, ms, 0.9, a, &v, NULL) == PM_OK);
	rc = pm_predictor_prepare(p, s, a, a, NULL, &x, NULL);
	CHECK(rc == PM_OK || is_sound(rc, ms));
	if (rc == PM_OK)
		CHECK(is_sound(pm_predictor_predict_prepared(p, &x, s, a, &ms, NULL), ms));
}

static void
try_bytes(const uint8_t *data, size_t len)
{
	/* a copy of its own, so that the sanitizer knows its end */
	uint8_t    *exact = malloc(len > 0 ? len : 1);
	pm_predictor p;
	pm_status	st = {0};
	pm_arena	a;
	pm_code		rc;

	memcpy(exact, data, len);
	pm_arena_init_malloc(&a);
	a.limit = MAX_BYTES;
	rc = pm_predictor_load(exact, len, &a, &p, &st);
	CHECK(rc == PM_OK || rc == PM_ERR_FORMAT || rc == PM_ERR_OUTDATED || rc == PM_ERR_OPTION);
	if (rc != PM_OK && rc != PM_ERR_FORMAT && rc != PM_ERR_OUTDATED && rc != PM_ERR_OPTION)
		fprintf(stderr, "    %d: %s\n", rc, st.message);
	CHECK(rc == PM_OK || st.message[0] != '\0');
	if (rc == PM_OK)
	{
		accepted++;
		check_answers(&p, &a);
	}
	pm_arena_release(&a);
	free(exact);
}

static void
test_kind(const pm_kind *kind, int times, pm_rng *rng)
{
	pm_predictor p = {.kind = kind, .options = small_options_of(kind)};
	pm_fit_report report;
	uint8_t    *data;
	uint8_t    *damaged;
	size_t		len;

	accepted = answered = 0;
	CHECK(pm_predictor_fit(&p, &dataset, 5, 1, NULL, &arena, &report, NULL) == PM_OK);
	CHECK(pm_predictor_save(&p, &arena, &data, &len, NULL) == PM_OK);
	damaged = PM_NEW(&arena, uint8_t, len);
	for (int i = 0; i < times; i++)
	{
		size_t		n;

		memcpy(damaged, data, len);
		n = damage(kind, damaged, len, rng);
		/* now and then without a sound checksum */
		if (i % 16 != 0)
			sign(damaged, n);
		try_bytes(damaged, n);
	}
	printf("%s: %zu bytes, of %d damaged ones %d accepted, %d of these answer\n", kind->name, len, times, accepted, answered);
	CHECK(accepted > 0 && accepted < times);
}

int
main(void)
{
	const pm_kind *kind;
	pm_rng		rng;
	int			kinds = 0;

	pm_arena_init_malloc(&arena);
	pm_rng_seed(&rng, 13);
	dataset = small_dataset(&arena);
	while (pm_kind_at(kinds) != NULL)
		kinds++;
	for (int i = 0; (kind = pm_kind_at(i)) != NULL; i++)
		test_kind(kind, (TIMES + kinds - 1) / kinds, &rng);
	pm_arena_release(&arena);
	return check_done("damage");
}
