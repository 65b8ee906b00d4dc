/*
 * test_stored_form.c - the stored form of a predictor: every kind comes back bit by bit, and nothing damaged gets in.
 */
#include "predictor_rows.h"

/* ---------- numbers in a byte buffer ---------- */

static void
test_buffer(void)
{
	const pm_real reals[] = {1.5, -2, 0};
	pm_buffer	b = {.arena = &arena};
	pm_reader	r;
	pm_real		back[3];

	pm_put_u32(&b, 0x01020304);
	pm_put_f64(&b, -1.25e-300);
	pm_put_text(&b, "text");
	pm_put_reals(&b, reals, 3);
	CHECK_EQ(b.len, 4 + 8 + 8 + 12);
	CHECK(b.data[0] == 4 && b.data[1] == 3 && b.data[2] == 2 && b.data[3] == 1);
	CHECK(b.data[20] == 0 && b.data[21] == 0 && b.data[22] == 0xc0 && b.data[23] == 0x3f);	/* 1.5f: 0x3fc00000 */
	r = (pm_reader) {.data = b.data, .len = b.len};
	CHECK_EQ(pm_get_u32(&r, UINT32_MAX), 0x01020304);
	CHECK_EQ(pm_get_f64(&r), -1.25e-300);
	CHECK(strcmp(pm_get_text(&r, &arena), "text") == 0);
	pm_get_reals(&r, back, 3);
	CHECK(!r.failed && r.at == b.len && back[0] == reals[0] && back[1] == reals[1] && back[2] == reals[2]);
	CHECK_EQ(pm_get_u32(&r, 1), 0);
	CHECK(r.failed);
	r = (pm_reader) {.data = b.data, .len = b.len};
	CHECK_EQ(pm_get_u32(&r, 0x01020303), 0);	/* above its maximum */
	CHECK(r.failed);
	CHECK_EQ(pm_get_f64(&r), 0);		/* and failed stays failed */
	CHECK(pm_get_text(&r, &arena) == NULL);
	r = (pm_reader) {.data = b.data + 12, .len = 7};
	CHECK(pm_get_text(&r, &arena) == NULL && r.failed);
	b = (pm_buffer) {.arena = &arena};
	pm_put_f32(&b, -0.75);
	pm_put_f32(&b, NAN);
	CHECK_EQ(b.len, 8);
	r = (pm_reader) {.data = b.data, .len = b.len};
	CHECK_EQ(pm_get_f32(&r), -0.75);
	CHECK_EQ(pm_get_f32(&r), 0);
	CHECK(r.failed);
}

/* n numbers of `values` different ones come back, in so many bytes. */
static void
check_repeated(size_t n, size_t values, size_t bytes)
{
	pm_real    *v = PM_NEW(&arena, pm_real, n + 1);
	pm_real    *back = PM_NEW(&arena, pm_real, n + 1);
	pm_buffer	b = {.arena = &arena};
	pm_reader	r;

	for (size_t i = 0; i < n; i++)
		v[i] = (pm_real) (i * 7919 % values) - 3;
	pm_put_repeated(&b, v, n);
	CHECK_EQ(b.len, bytes);
	r = (pm_reader) {.data = b.data, .len = b.len};
	pm_get_repeated(&r, back, n);
	CHECK(!r.failed && r.at == b.len && memcmp(v, back, n * sizeof(pm_real)) == 0);
	for (size_t len = 0; len < b.len && n > 0 && n < 1000; len++)
	{
		r = (pm_reader) {.data = b.data, .len = len};
		pm_get_repeated(&r, back, n);
		CHECK(r.failed);
	}
}

static void
test_repeated(void)
{
	uint8_t		stored[] = {2, 0, 0, 0, 0, 0, 0xc0, 0x3f, 0, 0, 0x80, 0x7f, 0, 1};	/* 1.5 and infinity, one of each */
	pm_reader	r = {.data = stored, .len = sizeof(stored)};
	pm_real		back[2];

	check_repeated(0, 1, 4);
	check_repeated(1, 1, 4 + 4 + 1);
	check_repeated(600, 256, 4 + 4 * 256 + 600);
	check_repeated(600, 257, 4 + 4 * 257 + 2 * 600);
	check_repeated(65537, 65536, 4 + 4 * 65536 + 2 * 65537);
	check_repeated(65537, 65537, 4 + 4 * 65537 + 4 * 65537);
	pm_get_repeated(&r, back, 1);
	CHECK(!r.failed && back[0] == 1.5);
	r.at = 0;
	pm_get_repeated(&r, back, 2);
	CHECK(r.failed);					/* infinite */
	stored[13] = 2;
	r = (pm_reader) {.data = stored, .len = sizeof(stored)};
	pm_get_repeated(&r, back, 2);
	CHECK(r.failed);					/* the third of two */
}

/* ---------- the stored form ---------- */

/* Kinds trained by gradient descent keep their weights as floats, others as doubles. */
static bool
is_network(const char *kind)
{
	return pm_option_find(pm_kind_find(kind), "weight_decay") >= 0;
}

/* A predictor of each kind, small enough to be damaged in every byte. */
static pm_predictor
small_predictor(const char *kind, const pm_dataset *d, bool pooled)
{
	pm_setting	tiny[] = {
		NUMBER("d_model", 8), NUMBER("heads", 2), NUMBER("layers", 1), NUMBER("d_operator", 8), NUMBER("hidden", 4),
		NUMBER("epochs", 2), TEXT("head", pooled ? "pooled" : "additive")
	};
	pm_setting	perfnet[] = {NUMBER("hidden", 4), NUMBER("channels1", 1), NUMBER("channels2", 1), NUMBER("epochs", 2)};
	pm_setting	transformer[] = {NUMBER("hidden", 4), NUMBER("d_model", 8), NUMBER("layers", 1), NUMBER("epochs", 2)};
	pm_setting	gnn[] = {NUMBER("hidden", 4), NUMBER("width", 4), NUMBER("rounds", 1), NUMBER("epochs", 2)};
	pm_setting	ets[] = {NUMBER("hidden", 4), NUMBER("width", 4), NUMBER("window", 8), NUMBER("epochs", 2)};

	if (strcmp(kind, "perfnet") == 0)
		return make_predictor(kind, perfnet, 4, d, &arena);
	if (strcmp(kind, "transformer") == 0)
		return make_predictor(kind, transformer, 4, d, &arena);
	if (strcmp(kind, "gnn") == 0)
		return make_predictor(kind, gnn, 4, d, &arena);
	if (strcmp(kind, "ets") == 0)
		return make_predictor(kind, ets, 4, d, &arena);

	return make_predictor(kind, tiny, strcmp(kind, "mdot") == 0 ? 7 : 0, d, &arena);
}

static void
recompute_crc(uint8_t *data, size_t len)
{
	uint32_t	crc = pm_crc32c(data, len - 4);

	for (int i = 0; i < 4; i++)
		data[len - 4 + i] = (uint8_t) (crc >> (8 * i));
}

/* What load says of len bytes; they stand in a buffer of their own so that a sanitizer sees a step too far. */
static pm_code
load_copy(const uint8_t *data, size_t len, pm_arena *a, pm_predictor *p, pm_status *st)
{
	uint8_t    *copy = malloc(len > 0 ? len : 1);
	pm_code		rc;

	if (copy == NULL)
		abort();
	if (len > 0)
		memcpy(copy, data, len);
	rc = pm_predictor_load(copy, len, a, p, st);
	free(copy);
	return rc;
}

static pm_code
load_only(const uint8_t *data, size_t len, pm_status *st)
{
	pm_arena	a;
	pm_predictor p;
	pm_code		rc;

	memset(st, 0, sizeof(*st));
	pm_arena_init_malloc(&a);
	rc = load_copy(data, len, &a, &p, st);
	pm_arena_release(&a);
	return rc;
}

static void
check_round_trip(const pm_predictor *p, const pm_dataset *d, const uint8_t *data, size_t len)
{
	pm_predictor q;
	uint8_t    *again;
	size_t		again_len;
	pm_status	st;

	CHECK_EQ(load_copy(data, len, &arena, &q, &st), PM_OK);
	CHECK(q.kind == p->kind);
	CHECK(memcmp(&q.options, &p->options, sizeof(q.options)) == 0);
	for (int i = 0; i < d->n; i++)
	{
		double		a = predict_row(p, &d->samples[i]);
		double		b = predict_row(&q, &d->samples[i]);

		CHECK(a > 0 && memcmp(&a, &b, sizeof(a)) == 0);
	}
	CHECK_EQ(pm_predictor_save(&q, &arena, &again, &again_len, &st), PM_OK);
	CHECK(again_len == len && memcmp(again, data, len) == 0);
}

/* A name or a version that is damaged is one of another release. */
static bool
refused(pm_code rc)
{
	return rc == PM_ERR_FORMAT || rc == PM_ERR_OUTDATED;
}

static void
check_truncated(const uint8_t *data, size_t len)
{
	uint8_t    *copy = malloc(len + 8);
	int			wrong = 0;
	pm_status	st;

	for (size_t n = 0; n < len; n++)
	{
		wrong += !refused(load_only(data, n, &st));
		if (n < 16 || (n > 600 && n % 13 != 0))
			continue;
		/* cut short by someone who knows the checksum */
		memcpy(copy, data, n);
		recompute_crc(copy, n);
		wrong += !refused(load_only(copy, n, &st));
	}
	CHECK_EQ(wrong, 0);
	memcpy(copy, data, len);
	memset(copy + len - 4, 0, 12);
	for (size_t more = 1; more <= 8; more++)
	{
		recompute_crc(copy, len + more);
		CHECK_EQ(load_only(copy, len + more, &st), PM_ERR_FORMAT);
		CHECK_HAS(st.message, "wrong length");
	}
	free(copy);
}

/* Prediction and verdict of an accepted predictor: errors, or sound numbers. */
static bool
answers_soundly(const pm_predictor *p, const pm_sample *row)
{
	double		ms = predict_row(p, row);
	pm_verdict	v;
	pm_arena	scratch;
	bool		sound;

	if (isnan(ms))
		return true;
	pm_arena_init_malloc(&scratch);
	sound = pm_predictor_judge(p, row, ms, 0.9, &scratch, &v, NULL) == PM_OK && (v.in_domain || v.reason[0] != '\0') &&
		(isnan(v.low_ms) ? isnan(v.high_ms) : v.low_ms > 0 && v.low_ms <= ms && ms <= v.high_ms && isfinite(v.high_ms));
	pm_arena_release(&scratch);
	return sound;
}

/* One byte changed: refused. With its checksum put right: refused, or a predictor that answers soundly. */
static void
check_flipped(uint8_t *data, size_t len, const pm_sample *row)
{
	static const uint8_t flips[] = {0x01, 0x80, 0xff};
	int			wrong = 0;
	pm_status	st;

	for (size_t at = 0; at < len; at += at < 600 ? 1 : 7)
	{
		for (int f = 0; f < 3; f++)
		{
			pm_arena	a;
			pm_predictor p;
			pm_code		rc;

			data[at] ^= flips[f];
			wrong += !refused(load_only(data, len, &st));
			if (at < len - 4 && (at < 600 || at % 3 == 0))
			{
				recompute_crc(data, len);
				pm_arena_init_malloc(&a);
				rc = load_copy(data, len, &a, &p, &st);
				wrong += rc != PM_OK && !refused(rc) && rc != PM_ERR_OPTION;
				wrong += rc == PM_OK && !answers_soundly(&p, row);
				pm_arena_release(&a);
			}
			data[at] ^= flips[f];
			recompute_crc(data, len);
		}
	}
	CHECK_EQ(wrong, 0);
}

static void
check_messages(uint8_t *data, size_t len)
{
	pm_status	st;
	uint8_t		last = data[len - 1];

	CHECK_EQ(load_only(data, 0, &st), PM_ERR_FORMAT);
	CHECK_HAS(st.message, "does not start with its magic number");
	data[len - 1] ^= 1;
	CHECK_EQ(load_only(data, len, &st), PM_ERR_FORMAT);
	CHECK_HAS(st.message, "checksum does not match");
	data[len - 1] = last;
	data[0] ^= 1;
	CHECK_EQ(load_only(data, len, &st), PM_ERR_FORMAT);
	CHECK_HAS(st.message, "magic number");
	data[0] ^= 1;
	for (int version = 0; version < 17; version += 16)
	{
		char		message[100];

		data[4] = (uint8_t) version;
		recompute_crc(data, len);
		CHECK_EQ(load_only(data, len, &st), PM_ERR_OUTDATED);
		snprintf(message, sizeof(message), "has format version %d, and this library reads version 15", version);
		CHECK_HAS(st.message, message);
		CHECK_HAS(st.hint, "train() makes a new one");
	}
	data[4] = 15;
	data[12] ^= 0x20;			/* "Mdot" */
	recompute_crc(data, len);
	CHECK_EQ(load_only(data, len, &st), PM_ERR_OUTDATED);
	CHECK_HAS(st.message, "which this library does not know");
	data[12] ^= 0x20;
	recompute_crc(data, len);
	CHECK_EQ(load_only(data, len, &st), PM_OK);
}

/* Where the kind's own part ends in the stored form of p. */
static size_t
end_of_weights(const pm_predictor *p, size_t len)
{
	pm_buffer	b = {.arena = &arena};

	pm_trust_save(p->trust, &b);
	return len - 4 - 4 - b.len;
}

/* Put a float or double that is not a number over the last weight. */
static void
check_nan_weights(const char *kind, uint8_t *data, size_t len, size_t end)
{
	/* behind the weights of mdot stands its base, in doubles */
	bool		single = is_network(kind) && strcmp(kind, "mdot") != 0;
	size_t		width = single ? 4 : 8;
	const float bad[] = {NAN, INFINITY, -INFINITY};
	uint8_t		kept[8];
	pm_status	st;

	memcpy(kept, data + end - width, width);
	for (int i = 0; i < 3; i++)
	{
		double		wide = bad[i];

		if (single)
			memcpy(data + end - width, &bad[i], width);
		else
			memcpy(data + end - width, &wide, width);
		recompute_crc(data, len);
		CHECK_EQ(load_only(data, len, &st), PM_ERR_FORMAT);
		CHECK_HAS(st.message, "damaged");
	}
	memcpy(data + end - width, kept, width);
	recompute_crc(data, len);
}

/* An arena that refuses: PM_ERR_MEMORY, whatever it was for. */
static void
check_no_memory(const uint8_t *data, size_t len)
{
	pm_code		rc = PM_ERR_MEMORY;

	for (size_t limit = 256; rc == PM_ERR_MEMORY && limit < ((size_t) 1 << 30); limit += 256)
	{
		pm_arena	a;
		pm_predictor p;
		pm_status	st;

		pm_arena_init_malloc(&a);
		a.limit = limit;
		rc = pm_predictor_load(data, len, &a, &p, &st);
		pm_arena_release(&a);
	}
	CHECK_EQ(rc, PM_OK);
}

static void
test_stored(void)
{
	pm_dataset	d = make_dataset(4, 3, true, any_time, &arena);

	for (int i = 0; i <= N_KINDS; i++)
	{
		const char *kind = kind_names[i % N_KINDS];
		pm_predictor p = small_predictor(kind, &d, i == N_KINDS);
		uint8_t    *data;
		size_t		len;
		pm_status	st;

		CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, &st), PM_OK);
		CHECK(memcmp(data, "PMPR\17\0\0\0", 8) == 0);
		check_round_trip(&p, &d, data, len);
		check_messages(data, len);
		check_nan_weights(kind, data, len, end_of_weights(&p, len));
		check_no_memory(data, len);
		check_truncated(data, len);
		check_flipped(data, len, &d.samples[4]);
		check_round_trip(&p, &d, data, len);
	}
}

/* The verdict on every row is the same to the last bit. */
static void
check_same_verdicts(const pm_predictor *p, const pm_predictor *q, const pm_dataset *d)
{
	for (int i = 0; i < d->n; i++)
	{
		pm_sample	s = d->samples[i];
		pm_verdict	a;
		pm_verdict	b;

		s.query.layout = i % 2 ? PM_NHWC : PM_NCHW;		/* in the domain, and out of it */
		s.query.batch = 1 << (i % 5);					/* 1 to 8 of them are in it, by the slack */
		CHECK_EQ(pm_predictor_judge(p, &s, 3, 0.9, &arena, &a, NULL), PM_OK);
		CHECK_EQ(pm_predictor_judge(q, &s, 3, 0.9, &arena, &b, NULL), PM_OK);
		CHECK(a.low_ms < 3 && a.high_ms > 3 && memcmp(&a, &b, sizeof(a)) == 0);
	}
}

/* The last residual, which stands before the last words and the checksum with its weight, made what it cannot be. */
static void
check_damaged_residuals(uint8_t *data, size_t len)
{
	uint8_t    *last = data + len - 4 - 4 - 4 - 16;
	const struct
	{
		int			at;			/* 0: the residual, 8: its weight */
		double		value;
	}			bad[] = {{0, -1e6}, {0, NAN}, {0, INFINITY}, {8, 0}, {8, -1}, {8, 2}, {8, NAN}};
	uint8_t		kept[16];
	pm_status	st;

	memcpy(kept, last, 16);
	for (int i = 0; i < 7; i++)
	{
		memcpy(last + bad[i].at, &bad[i].value, 8);
		recompute_crc(data, len);
		CHECK_EQ(load_only(data, len, &st), PM_ERR_FORMAT);
		CHECK_HAS(st.message, "damaged calibration");
		memcpy(last, kept, 16);
	}
	recompute_crc(data, len);
	CHECK_EQ(load_only(data, len, &st), PM_OK);
}

/* What trust.c knows is stored as well, and as well protected. */
static void
test_stored_trust(void)
{
	pm_dataset	d = make_dataset(12, 2, true, any_time, &arena);
	pm_predictor p;
	pm_predictor q;
	uint8_t    *data;
	size_t		len;
	pm_status	st;

	for (int i = 0; i < d.n; i++)
		d.samples[i].step_ms *= 1 + 0.05 * (i % 5);
	p = make_predictor("linear", NULL, 0, &d, &arena);
	CHECK(p.trust != NULL && pm_trust_calibrated(p.trust));
	CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, &st), PM_OK);
	CHECK_EQ(load_copy(data, len, &arena, &q, &st), PM_OK);
	check_same_verdicts(&p, &q, &d);
	check_damaged_residuals(data, len);
	check_round_trip(&p, &d, data, len);
	check_no_memory(data, len);
	check_truncated(data, len);
	check_flipped(data, len, &d.samples[4]);
	check_round_trip(&p, &d, data, len);
}

/* A stored "linear" with these options; the rest is right. text: of a choice, or NULL. */
static pm_code
load_with_options(int n, const char *name, const char *text, double value, const pm_trust *trust, pm_predictor *p)
{
	static const char *const terms[] = {"constant", "flops", "bytes", "params", "batch"};
	const double beta[5] = {0.5, 0.5, 0.5, 0.5, 0.5};
	const pm_names names = {"coefficient", 5, terms};
	pm_buffer	b = {.arena = &arena};
	pm_status	st;

	pm_put_u32(&b, UINT32_C(0x52504d50));
	pm_put_u32(&b, 15);
	pm_put_text(&b, "linear");
	pm_put_text(&b, "step_ms");
	pm_schema_save(&pm_schema_here, &b);
	pm_put_u32(&b, n);
	if (n > 0)
	{
		pm_put_text(&b, name);
		pm_put_u32(&b, text != NULL);
		if (text != NULL)
			pm_put_text(&b, text);
		else
			pm_put_f64(&b, value);
	}
	pm_named_save(&names, beta, &b);
	pm_trust_save(trust, &b);
	/* no correction, pairs or passes */
	for (int i = 0; i < 3; i++)
		pm_put_u32(&b, 0);
	pm_put_u32(&b, pm_crc32c(b.data, b.len));
	return pm_predictor_load(b.data, b.len, &arena, p, &st);
}

static void
test_stored_options(void)
{
	pm_dataset	d = make_dataset(12, 2, true, any_time, &arena);
	const pm_trust *trust = make_predictor("linear", NULL, 0, &d, &arena).trust;
	pm_predictor p;

	/* written before the kind had a second option */
	CHECK_EQ(load_with_options(1, "ridge", NULL, 0.5, trust, &p), PM_OK);
	CHECK_EQ(pm_option_value(p.kind, &p.options, "ridge"), 0.5);
	CHECK_EQ(pm_option_value(p.kind, &p.options, "seed"), 42);
	CHECK_EQ(load_with_options(0, "", NULL, 0, trust, &p), PM_OK);
	CHECK_EQ(load_with_options(1, "seed", NULL, 7, trust, &p), PM_OK);
	CHECK_EQ(load_with_options(1, "seed", NULL, 7.5, trust, &p), PM_ERR_FORMAT);
	CHECK_EQ(load_with_options(1, "seed", NULL, -1, trust, &p), PM_ERR_FORMAT);
	CHECK_EQ(load_with_options(1, "ridge", NULL, 1e7, trust, &p), PM_ERR_FORMAT);
	CHECK_EQ(load_with_options(1, "ridge", NULL, NAN, trust, &p), PM_ERR_FORMAT);
	CHECK_EQ(load_with_options(1, "of tomorrow", NULL, 1, trust, &p), PM_ERR_OUTDATED);
	CHECK_EQ(load_with_options(1, "ridge", "large", 0, trust, &p), PM_ERR_FORMAT);
	CHECK_EQ(load_with_options(49, "ridge", NULL, 1, trust, &p), PM_ERR_FORMAT);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_buffer();
	test_repeated();
	test_stored();
	test_stored_trust();
	test_stored_options();
	pm_arena_release(&arena);
	return check_done("stored_form");
}
