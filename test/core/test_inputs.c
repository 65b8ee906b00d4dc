/*
 * test_inputs.c - vocabularies and normalisation, and their stored form.
 */
#include "check.h"
#include "make_graph.h"

#include "features/inputs.h"

static pm_arena arena;

static double
any_time(const pm_tokens *t)
{
	return t->total_roofline_us / 1000;
}

typedef struct trained
{
	pm_dataset	d;
	pm_tokens  *tokens;
	pm_codec	codec;
	pm_input   *inputs;
} trained;

static void
encode_all(trained *t)
{
	t->inputs = PM_NEW(&arena, pm_input, t->d.n);
	for (int i = 0; i < t->d.n; i++)
		CHECK(pm_codec_encode(&t->codec, &t->tokens[i], &t->d.samples[i].query, &arena, &t->inputs[i], NULL) == PM_OK);
}

static void
train(trained *t)
{
	CHECK(pm_tokens_of(&t->d, &arena, &t->tokens, NULL) == PM_OK);
	CHECK(pm_codec_fit(&t->codec, &pm_schema_here, &t->d, t->tokens, &arena, NULL) == PM_OK);
	encode_all(t);
}

/* ---------- normalisation ---------- */

typedef struct column
{
	double		n,
				sum,
				squares;
	double		first;			/* raw value */
	bool		varies;
	bool		clamped;
} column;

static void
column_add(column *c, double raw, double z)
{
	if (isnan(raw))
	{
		CHECK_EQ(z, 0);
		return;
	}
	c->varies |= c->n > 0 && raw != c->first;
	c->first = raw;
	c->n++;
	c->sum += z;
	c->squares += z * z;
	c->clamped |= fabs(z) >= PM_CLAMP;
}

/* A feature that varies has mean 0 and variance 1; one that does not is 0. */
static int
column_check(const column *c)
{
	double		mean = c->n > 0 ? c->sum / c->n : 0;

	if (!c->varies)
	{
		CHECK_EQ(c->squares, 0);
		return 0;
	}
	if (c->clamped)
		return 0;				/* then the moments are not those of the raw values */
	CHECK_NEAR(mean, 0, 2e-4);
	CHECK_NEAR(c->squares / c->n - mean * mean, 1, 2e-3);
	return 1;
}

static void
test_moments(void)
{
	trained		t = {.d = make_dataset(8, 3, true, any_time, &arena)};
	column		slot[PM_N_SLOTS] = {{0}};
	column		load[PM_N_LOADS] = {{0}};
	column		job[PM_N_JOB] = {{0}};
	int			normal = 0;

	train(&t);
	for (int s = 0; s < t.d.n; s++)
	{
		const pm_tokens *raw = &t.tokens[s];
		const pm_input *in = &t.inputs[s];

		for (int i = 0; i < in->n; i++)
		{
			for (int k = 0; k < PM_N_SLOTS; k++)
				if (raw->slot_mask[i * PM_N_SLOTS + k] != 0)
					column_add(&slot[k], raw->slots[i * PM_N_SLOTS + k], in->config[i * 2 * PM_N_SLOTS + k]);
			for (int k = 0; k < PM_N_LOADS; k++)
				column_add(&load[k], raw->loads[i * PM_N_LOADS + k], in->load[i * PM_N_LOADS + k]);
		}
		for (int k = 0; k < PM_N_JOB; k++)
			column_add(&job[k], raw->job[k], in->job[k]);
	}
	for (int k = 0; k < PM_N_SLOTS; k++)
		normal += column_check(&slot[k]);
	for (int k = 0; k < PM_N_LOADS; k++)
		normal += column_check(&load[k]);
	for (int k = 0; k < PM_N_JOB; k++)
		normal += column_check(&job[k]);
	CHECK(normal > 30);
	/* one gpu, one dtype: nothing to learn, switched off */
	CHECK(!slot[PM_HAS_BIAS + 2].varies && !job[25].varies && t.codec.job.factor[25] == 0);
}

static void
test_layout_of_inputs(void)
{
	trained		t = {.d = make_dataset(3, 2, true, any_time, &arena)};

	train(&t);
	for (int s = 0; s < t.d.n; s++)
	{
		const pm_input *in = &t.inputs[s];

		CHECK_EQ(in->n, t.d.samples[s].skeleton->n);
		CHECK_EQ(in->log_copies[0], 0);
		CHECK_EQ(in->total_roofline_us, t.tokens[s].total_roofline_us);
		for (int i = 0; i < in->n; i++)
		{
			const pm_real *config = in->config + i * 2 * PM_N_SLOTS;

			CHECK_NEAR(in->log_copies[i + 1], log(in->copies[i]), 1e-6);
			CHECK_EQ(in->copies[i], t.d.samples[s].skeleton->copies[i]);
			CHECK_EQ(in->roofline_us[i], t.tokens[s].roofline_us[i]);
			CHECK_EQ(in->kernels[i], t.tokens[s].kernels[i]);
			for (int k = 0; k < PM_N_SLOTS; k++)
			{
				CHECK_EQ(config[PM_N_SLOTS + k], t.tokens[s].slot_mask[i * PM_N_SLOTS + k]);
				CHECK(config[PM_N_SLOTS + k] == 1 || config[k] == 0);
			}
		}
	}
}

/* Times that the definition clamps a feature, counted here. */
static int
count_clamps(const pm_codec *c, const pm_tokens *t)
{
	int			n = 0;

	for (int i = 0; i < t->n; i++)
	{
		for (int k = 0; k < PM_N_SLOTS; k++)
			n += t->slot_mask[i * PM_N_SLOTS + k] != 0 &&
				fabs((t->slots[i * PM_N_SLOTS + k] - c->slots.mean[k]) * c->slots.factor[k]) > PM_CLAMP;
		for (int k = 0; k < PM_N_LOADS; k++)
			n += fabs((t->loads[i * PM_N_LOADS + k] - c->loads.mean[k]) * c->loads.factor[k]) > PM_CLAMP;
	}
	for (int k = 0; k < PM_N_JOB; k++)
		n += fabs((t->job[k] - c->job.mean[k]) * c->job.factor[k]) > PM_CLAMP;
	return n;
}

static void
test_clamps(void)
{
	trained		t = {.d = make_dataset(8, 3, true, any_time, &arena)};
	pm_sample	far = t.d.samples[0];
	pm_tokens	tokens;
	pm_input	in;
	int			clamps;
	int			at_limit = 0;

	train(&t);
	far.query.batch = PM_MAX_BATCH;
	CHECK(pm_tokens_build(far.skeleton, &far.query, &arena, &tokens, NULL) == PM_OK);
	CHECK(pm_codec_encode(&t.codec, &tokens, &far.query, &arena, &in, NULL) == PM_OK);
	clamps = count_clamps(&t.codec, &tokens);
	CHECK(clamps > 10);
	CHECK_NEAR(in.clamped * (in.n * (PM_N_SLOTS + PM_N_LOADS) + PM_N_JOB), clamps, 1e-6);
	for (int i = 0; i < in.n * 2 * PM_N_SLOTS; i++)
	{
		CHECK(fabs(in.config[i]) <= PM_CLAMP);
		at_limit += fabs(in.config[i]) == PM_CLAMP;
	}
	for (int i = 0; i < in.n * PM_N_LOADS; i++)
	{
		CHECK(fabs(in.load[i]) <= PM_CLAMP);
		at_limit += fabs(in.load[i]) == PM_CLAMP;
	}
	for (int k = 0; k < PM_N_JOB; k++)
	{
		CHECK(fabs(in.job[k]) <= PM_CLAMP);
		at_limit += fabs(in.job[k]) == PM_CLAMP;
	}
	CHECK_EQ(at_limit, clamps);
}

/* Gaps of a data sheet: they spoil neither the statistics nor the inputs. */
static void
test_gaps(void)
{
	static pm_gpu gappy, other;
	trained		t = {.d = make_dataset(8, 3, true, any_time, &arena)};
	trained		full = {.d = t.d};

	train(&full);
	gappy = other = test_gpu;
	gappy.l2_mb = gappy.sm_count = gappy.memory_gb = NAN;
	other.l2_mb = 40;			/* so that the feature varies */
	other.memory_gb = 80;
	for (int i = 0; i < t.d.n; i++)
		t.d.samples[i].query.gpu = i % 3 == 0 ? &gappy : i % 3 == 1 ? &test_gpu : &other;
	train(&t);
	CHECK_NEAR(t.codec.job.mean[26], (log2(4) + log2(40)) / 2, 1e-5);
	CHECK(t.codec.job.factor[26] > 0);
	for (int i = 0; i < t.d.n; i++)
	{
		CHECK((t.inputs[i].job[26] == 0) == (i % 3 == 0));
		for (int k = 0; k < t.inputs[i].n * PM_N_LOADS; k++)
			CHECK(isfinite(t.inputs[i].load[k]) && (i % 3 != 0 || k % PM_N_LOADS != 19 || t.inputs[i].load[k] == 0));
		for (int k = 0; k < PM_N_JOB; k++)
			CHECK(isfinite(t.inputs[i].job[k]));
	}
	/* a feature that no row has */
	for (int i = 0; i < t.d.n; i++)
		t.d.samples[i].query.gpu = &gappy;
	train(&t);
	t.d.samples[0].query.gpu = &test_gpu;
	CHECK(pm_tokens_of(&t.d, &arena, &t.tokens, NULL) == PM_OK);
	encode_all(&t);
	CHECK_EQ(t.inputs[0].job[26], 0);
	CHECK_EQ(t.inputs[0].load[19], 0);
}

/* ---------- vocabularies ---------- */

static void
test_types(void)
{
	trained		t = {.d = make_dataset(3, 2, true, any_time, &arena)};
	bool		taken[64] = {false};
	graph_text	text;
	pm_graph   *g;
	pm_sample	row;
	pm_tokens	tokens;
	pm_input	in;
	int			x;

	train(&t);
	CHECK_EQ(t.codec.type_row[PM_OP_UNKNOWN], 0);
	for (int s = 0; s < t.d.n; s++)
		for (int i = 0; i < t.tokens[s].n; i++)
		{
			int			r = t.codec.type_row[t.tokens[s].type[i]];

			CHECK(r > 0 && r < t.codec.n_types);
			CHECK_EQ(t.inputs[s].type[i], r);
			taken[r] = true;
		}
	for (int r = 1; r < t.codec.n_types; r++)
		CHECK(taken[r]);
	/* never seen: a known operator, one that the catalogue does not know */
	text_start(&text, "new", "new");
	x = net_input(&text, 8, 8);
	x = net_unary(&text, "Tanh", x, 8, 8);
	x = net_unary(&text, "aten::new_thing", x, 8, 8);
	net_unary(&text, "Relu", x, 8, 8);
	g = text_finish(&text, &arena);
	row = make_sample(g, make_skeleton(g, true, &arena), 2, 1);
	CHECK(pm_tokens_build(row.skeleton, &row.query, &arena, &tokens, NULL) == PM_OK);
	CHECK(pm_codec_encode(&t.codec, &tokens, &row.query, &arena, &in, NULL) == PM_OK);
	CHECK_EQ(in.type[0], 0);
	CHECK_EQ(in.type[1], 0);
	CHECK(in.type[2] > 0);
}

/* The row that a query with this framework and gpu gets. */
static pm_input
ask(const trained *t, const char *framework, const pm_gpu *gpu)
{
	pm_sample	row = t->d.samples[0];
	pm_tokens	tokens;
	pm_input	in;

	row.query.framework = framework;
	row.query.gpu = gpu;
	CHECK(pm_tokens_build(row.skeleton, &row.query, &arena, &tokens, NULL) == PM_OK);
	CHECK(pm_codec_encode(&t->codec, &tokens, &row.query, &arena, &in, NULL) == PM_OK);
	return in;
}

static const char *const frameworks[] = {"pytorch 1.13", "pytorch 2", NULL, "pytorch 2", "", "tf", "pytorch 2", NULL};

static void
test_names(void)
{
	static pm_gpu second, third;
	trained		t = {.d = make_dataset(4, 2, true, any_time, &arena)};

	second = third = test_gpu;
	second.name = "Second";
	third.name = "Third";
	for (int i = 0; i < t.d.n; i++)
	{
		t.d.samples[i].query.framework = frameworks[i];
		t.d.samples[i].query.gpu = i < 5 ? &test_gpu : &second;
	}
	train(&t);
	CHECK_EQ(t.codec.n_frameworks, 4);
	CHECK_EQ(t.codec.n_gpus, 3);
	CHECK_HAS(t.codec.frameworks[t.codec.usual_framework], "pytorch 2");
	CHECK_EQ(ask(&t, NULL, &test_gpu).framework, t.codec.usual_framework);
	CHECK_EQ(ask(&t, "", &test_gpu).framework, t.codec.usual_framework);
	CHECK_EQ(ask(&t, "pytorch 2", &test_gpu).framework, t.codec.usual_framework);
	CHECK_EQ(ask(&t, "pytorch 2.1", &test_gpu).framework, 0);
	CHECK(ask(&t, "tf", &test_gpu).framework != ask(&t, "pytorch 1.13", &test_gpu).framework);
	CHECK(ask(&t, "tf", &test_gpu).framework > 0);
	CHECK_EQ(ask(&t, NULL, &test_gpu).gpu, 1);
	CHECK_EQ(ask(&t, NULL, &second).gpu, 2);
	CHECK_EQ(ask(&t, NULL, &third).gpu, 0);
	for (int i = 0; i < t.d.n; i++)
		t.d.samples[i].query.framework = NULL;
	train(&t);
	CHECK_EQ(t.codec.n_frameworks, 1);
	CHECK_EQ(t.codec.usual_framework, 0);
	CHECK_EQ(ask(&t, NULL, &test_gpu).framework, 0);
	CHECK_EQ(ask(&t, "pytorch 2", &test_gpu).framework, 0);
}

/* What NULL means is asked of GPUs that were not measured, so one GPU's row counts more than seven of a CPU. */
static void
test_usual_framework(void)
{
	static pm_gpu cpu;
	trained		t = {.d = make_dataset(4, 2, true, any_time, &arena)};

	cpu = test_gpu;
	cpu.name = "CPU";
	cpu.is_cpu = true;
	for (int i = 0; i < t.d.n; i++)
	{
		t.d.samples[i].query.framework = i == 5 ? "pytorch 2" : "pytorch 1.13";
		t.d.samples[i].query.gpu = i == 5 ? &test_gpu : &cpu;
	}
	train(&t);
	CHECK_HAS(t.codec.frameworks[t.codec.usual_framework], "pytorch 2");
	for (int i = 0; i < t.d.n; i++)
		t.d.samples[i].query.gpu = &cpu;
	train(&t);
	CHECK_HAS(t.codec.frameworks[t.codec.usual_framework], "pytorch 1.13");
}

/* ---------- stored form ---------- */

static void
same_inputs(const pm_input *a, const pm_input *b)
{
	CHECK_EQ(a->n, b->n);
	CHECK_EQ(a->framework, b->framework);
	CHECK_EQ(a->gpu, b->gpu);
	CHECK_EQ(a->clamped, b->clamped);
	CHECK(memcmp(a->type, b->type, a->n * sizeof(int32_t)) == 0);
	CHECK(memcmp(a->config, b->config, a->n * 2 * PM_N_SLOTS * sizeof(pm_real)) == 0);
	CHECK(memcmp(a->load, b->load, a->n * PM_N_LOADS * sizeof(pm_real)) == 0);
	CHECK(memcmp(a->job, b->job, sizeof(a->job)) == 0);
}

static void
test_stored(void)
{
	trained		t = {.d = make_dataset(4, 2, true, any_time, &arena)};
	trained		u;
	pm_buffer	b = {.arena = &arena};
	pm_reader	r;
	pm_status	st;

	for (int i = 0; i < t.d.n; i++)
		t.d.samples[i].query.framework = frameworks[i];
	train(&t);
	pm_codec_save(&t.codec, &b);
	CHECK(!b.failed);
	u = t;
	r = (pm_reader) {.data = b.data, .len = b.len};
	CHECK_EQ(pm_codec_load(&u.codec, &pm_schema_here, &r, &arena, &st), PM_OK);
	CHECK_EQ(r.at, b.len);
	encode_all(&u);
	for (int i = 0; i < t.d.n; i++)
		same_inputs(&t.inputs[i], &u.inputs[i]);
	for (size_t len = 0; len < b.len; len++)
	{
		pm_arena	a;
		/* exactly len bytes, so that a sanitizer sees a byte too many */
		uint8_t    *cut = malloc(len > 0 ? len : 1);

		memcpy(cut, b.data, len);
		r = (pm_reader) {.data = cut, .len = len};
		pm_arena_init_malloc(&a);
		CHECK_EQ(pm_codec_load(&u.codec, &pm_schema_here, &r, &a, &st), PM_ERR_FORMAT);
		pm_arena_release(&a);
		free(cut);
	}
}

/* What a codec of n types, the first named so, and one framework loads as. */
static pm_code
load_crafted(uint32_t n_types, const char *type, uint32_t usual, double mean, pm_codec *c)
{
	pm_buffer	b = {.arena = &arena};
	pm_reader	r;

	pm_put_u32(&b, n_types);
	if (n_types == 2)
		pm_put_text(&b, type);
	pm_put_u32(&b, 2);
	pm_put_text(&b, "pytorch 2");
	pm_put_u32(&b, usual);
	pm_put_u32(&b, 1);
	for (int i = 0; i < 2 * (PM_N_SLOTS + PM_N_LOADS + PM_N_JOB); i++)
	{
		pm_real		v = (pm_real) mean;

		pm_put_reals(&b, &v, 1);
	}
	r = (pm_reader) {.data = b.data, .len = b.len};
	return pm_codec_load(c, &pm_schema_here, &r, &arena, NULL);
}

static void
test_damaged(void)
{
	pm_buffer	b = {.arena = &arena};
	pm_codec	c;

	CHECK_EQ(load_crafted(2, "Relu", 1, 0, &c), PM_OK);
	CHECK_EQ(c.type_row[pm_op_find("Relu")], 1);
	CHECK_EQ(c.usual_framework, 1);
	/* an operator that this library does not know keeps its row */
	CHECK_EQ(load_crafted(2, "Relu of tomorrow", 1, 0, &c), PM_OK);
	CHECK_EQ(c.n_types, 2);
	pm_codec_save(&c, &b);
	CHECK_HAS((const char *) b.data + 8, "Relu of tomorrow");
	for (int type = 0; type < pm_type_count(); type++)
		CHECK_EQ(c.type_row[type], 0);
	CHECK_EQ(load_crafted(0, "", 1, 0, &c), PM_ERR_FORMAT);
	CHECK_EQ(load_crafted(100001, "", 1, 0, &c), PM_ERR_FORMAT);
	CHECK_EQ(load_crafted(2, "Relu", 2, 0, &c), PM_ERR_FORMAT);
	CHECK_EQ(load_crafted(2, "Relu", 1, NAN, &c), PM_ERR_FORMAT);
	CHECK_EQ(load_crafted(2, "Relu", 1, INFINITY, &c), PM_ERR_FORMAT);
}

static void
test_memory(void)
{
	trained		t = {.d = make_dataset(6, 4, true, any_time, &arena)};
	pm_arena	a;
	pm_codec	c;
	pm_tokens  *tokens;
	pm_input	in;
	double		estimate = pm_inputs_memory(&t.d);
	size_t		taken;

	pm_arena_init_malloc(&a);
	CHECK(pm_tokens_of(&t.d, &a, &tokens, NULL) == PM_OK);
	CHECK(pm_codec_fit(&c, &pm_schema_here, &t.d, tokens, &a, NULL) == PM_OK);
	for (int i = 0; i < t.d.n; i++)
		CHECK(pm_codec_encode(&c, &tokens[i], &t.d.samples[i].query, &a, &in, NULL) == PM_OK);
	taken = a.used - a.left;
	CHECK(estimate >= taken);
	CHECK(estimate < 4.0 * taken);
	pm_arena_release(&a);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_moments();
	test_layout_of_inputs();
	test_clamps();
	test_gaps();
	test_types();
	test_names();
	test_usual_framework();
	test_stored();
	test_damaged();
	test_memory();
	pm_arena_release(&arena);
	return check_done("inputs");
}
