/*
 * test_habitat.c - the kind "habitat": steps measured on other cards are used,
 * the nearest batch of each; without any it is opclass and out of its domain.
 * And wave scaling by its equations, and the split "transfer".
 */
#include "check.h"
#include "make_graph.h"

#include "features/split.h"
#include "kinds/wave.h"
#include "predictor/predictor.h"
#include "predictor/stored.h"

#define N_CARDS		4
#define N_NETS		14
#define N_ALONE		2			/* networks that were measured on the first card alone */
#define N_ROWS		(N_CARDS * N_NETS)

static pm_arena arena;
static pm_gpu cards[N_CARDS];
static pm_sample samples[N_ROWS];

/* What no operator tells: some networks are slower on every card. */
static double
of_network(int net)
{
	return net % 3 == 0 ? 1.6 : net % 3 == 1 ? 0.8 : 1;
}

static double
device_ms(const pm_sample *s)
{
	pm_tokens	t;
	double		ms = 0;

	CHECK_EQ(pm_tokens_build_work(s->skeleton, &s->query, &arena, &t, NULL), PM_OK);
	for (int i = 0; i < t.n; i++)
		ms += t.skeleton->copies[i] * (1.7 * t.compute_us[i] + 1.3 * t.memory_us[i]) / 1000;
	return ms;
}

static void
make_rows(void)
{
	static const char *const names[N_CARDS] = {"Card A", "Card B", "Card C", "Card D"};

	for (int c = 0; c < N_CARDS; c++)
	{
		cards[c] = test_gpu;
		cards[c].name = names[c];
		cards[c].fp32_tflops *= 1 + c;
		cards[c].mem_bw_gbs *= 1 + 0.5 * c;
	}
	for (int n = 0; n < N_NETS; n++)
	{
		pm_graph   *g = make_net(&arena, "net", 48 + 16 * n, 2 + n % 4, 56, 4);
		pm_skeleton *s = make_skeleton(g, true, &arena);

		for (int c = 0; c < N_CARDS; c++)
		{
			pm_sample  *x = &samples[n * N_CARDS + c];

			*x = make_sample(g, s, 32, 0);
			x->query.gpu = &cards[c];
			x->step_ms = of_network(n) * device_ms(x);
		}
	}
}

static pm_sample *
row(int net, int card)
{
	return &samples[net * N_CARDS + card];
}

/* All rows but those of a network on the cards from `without` on, and but cards 1.. of the networks measured on one. */
static pm_dataset
all_but(int net, int without)
{
	pm_dataset	d = {.samples = PM_NEW(&arena, pm_sample, N_ROWS)};

	for (int n = 0; n < N_NETS; n++)
		for (int c = 0; c < N_CARDS; c++)
			if (!(n == net && c >= without) && !(n >= N_NETS - N_ALONE && c > 0))
				d.samples[d.n++] = *row(n, c);
	return d;
}

static double
error_of(const pm_predictor *p, const pm_sample *s)
{
	return fabs(predict_row(p, s) / s->step_ms - 1);
}

static pm_predictor
habitat(const pm_dataset *d, const char *operators, int folds)
{
	const pm_setting settings[] = {{.name = "operators", .text = operators}, {.name = "calibration_folds", .number = folds}};

	return make_predictor("habitat", settings, 2, d, &arena);
}

/* A network that is slow on the cards that it was measured on is slow on the one that it was not. */
static void
test_transfer(void)
{
	double		learned = 0,
				wave = 0,
				alone = 0;

	for (int net = 0; net < N_NETS - N_ALONE; net++)
	{
		pm_dataset	d = all_but(net, N_CARDS - 1);
		const pm_setting quick = {.name = "calibration_folds", .number = 0};
		pm_predictor h = habitat(&d, "learned", 0);
		pm_predictor w = habitat(&d, "wave", 0);
		pm_predictor o = make_predictor("opclass", &quick, 1, &d, &arena);

		learned += error_of(&h, row(net, N_CARDS - 1));
		wave += error_of(&w, row(net, N_CARDS - 1));
		alone += error_of(&o, row(net, N_CARDS - 1));
	}
	if (getenv("VERBOSE"))
		printf("habitat: learned %g, wave %g, opclass %g\n", learned / 12, wave / 12, alone / 12);
	CHECK(learned < 0.12 * (N_NETS - N_ALONE));
	CHECK(learned < 0.4 * alone);
	CHECK(wave < 0.6 * alone);
}

static void
judge(const pm_predictor *p, const pm_sample *s, pm_verdict *v)
{
	CHECK_EQ(pm_predictor_judge(p, s, predict_row(p, s), 0.9, &arena, v, NULL), PM_OK);
}

/* Out of the domain where no other card near the batch has the network, and wider there. */
static void
test_domain(void)
{
	const uint32_t cause = 1u << PM_CAUSE_NOT_MEASURED_ELSEWHERE;
	pm_dataset	d = all_but(3, N_CARDS - 1);
	pm_predictor p = habitat(&d, "learned", 4);
	pm_sample	far = *row(3, N_CARDS - 1);
	pm_verdict	v,
				w;

	judge(&p, row(3, N_CARDS - 1), &v);
	CHECK(v.in_domain && v.causes == 0 && v.low_ms < row(3, N_CARDS - 1)->step_ms && row(3, N_CARDS - 1)->step_ms < v.high_ms);
	/* its own row is no measurement on another card */
	judge(&p, row(N_NETS - 1, 0), &w);
	CHECK(!w.in_domain && (w.causes & cause) != 0 && strstr(w.reason, "not measured on another device") != NULL);
	CHECK(log(w.high_ms / w.low_ms) > 1.5 * log(v.high_ms / v.low_ms));
	judge(&p, row(N_NETS - 1, 2), &w);
	CHECK((w.causes & cause) == 0 && w.in_domain);
	far.query.batch = 32 * 4;
	judge(&p, &far, &w);
	CHECK((w.causes & cause) == 0);
	far.query.batch = 32 * 4 + 1;
	judge(&p, &far, &w);
	CHECK((w.causes & cause) != 0);
}

/* Of several batches the nearest counts; the same row twice counts once. */
static void
test_nearest(void)
{
	pm_dataset	d = all_but(3, 1);
	pm_predictor p;
	pm_sample	s = *row(3, 2);
	double		near_ms,
				far_ms;

	d.samples = memcpy(PM_NEW(&arena, pm_sample, d.n + 3), d.samples, d.n * sizeof(pm_sample));
	for (int i = 0; i < 3; i++)
	{
		pm_sample  *x = &d.samples[d.n++];

		*x = *row(3, 0);
		x->query.batch = i < 2 ? 128 : 30;
		x->step_ms = device_ms(x) * (i < 2 ? 8 : 1);
	}
	p = habitat(&d, "learned", 0);
	s.query.batch = 31;
	near_ms = predict_row(&p, &s) / device_ms(&s);
	s.query.batch = 120;
	far_ms = predict_row(&p, &s) / device_ms(&s);
	CHECK(far_ms > 1.5 * near_ms);
}

/* Answers are the same after storing, wave scaling and parts included. */
static void
test_stored(void)
{
	static const char *const ways[] = {"learned", "wave"};
	pm_dataset	d = all_but(2, N_CARDS - 1);

	for (int i = 0; i < 2; i++)
	{
		pm_predictor p = habitat(&d, ways[i], 0);
		pm_predictor back;
		uint8_t    *data;
		size_t		len;
		pm_part		parts[256];
		double		ms,
					sum = 0;
		int			n;

		CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, NULL), PM_OK);
		CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
		for (int k = 0; k < N_ROWS; k++)
		{
			double		a = predict_row(&p, &samples[k]);
			double		b = predict_row(&back, &samples[k]);

			CHECK(memcmp(&a, &b, sizeof(a)) == 0);
		}
		CHECK_EQ(pm_predictor_predict(&p, row(2, 3), &arena, &ms, parts, &n, NULL), PM_OK);
		for (int k = 0; k < n; k++)
			sum += parts[k].step_ms;
		CHECK(fabs(sum / ms - 1) < 1e-9);
	}
}

/* The equations by hand: a copy is the bandwidths' ratio, a small kernel that of clocks and rounds. */
static void
test_wave(void)
{
	pm_graph   *g = make_net(&arena, "net", 64, 2, 56, 1);
	pm_sample	s = make_sample(g, make_skeleton(g, true, &arena), 4096, 0);
	pm_gpu		to = test_gpu;
	pm_tokens	t;
	int			seen = 0;

	to.mem_bw_gbs *= 2;
	CHECK_EQ(pm_tokens_build(s.skeleton, &s.query, &arena, &t, NULL), PM_OK);
	for (int i = 0; i < t.n; i++)
	{
		double		ridge = pm_gpu_rate(&test_gpu, PM_FP32, false, false) / (test_gpu.mem_bw_gbs * 1e9);
		double		x = t.flops[i] / t.bytes[i] / ridge;
		double		want = pow(0.5, x <= 1 ? 1 - x / 2 : 0.5 / x);

		CHECK(fabs(pm_wave_ratio(&t, i, &test_gpu, &test_gpu) - 1) < 1e-12);
		if (t.flops[i] <= 0 || t.bytes[i] <= 0 || exp2(t.loads[i * PM_N_LOADS + PM_LOAD_OUT_ELEMS]) < 2e7)
			continue;
		CHECK(fabs(pm_wave_ratio(&t, i, &test_gpu, &to) / want - 1) < 1e-12);
		seen++;
	}
	CHECK(seen > 0);
	/* one block: a round on both, so only the clock counts, to the power that arithmetic has */
	s.query.batch = 1;
	to = test_gpu;
	to.clock_ghz *= 2;
	CHECK_EQ(pm_tokens_build(s.skeleton, &s.query, &arena, &t, NULL), PM_OK);
	for (int i = 0; i < t.n; i++)
		CHECK(pm_wave_ratio(&t, i, &test_gpu, &to) <= 1 && pm_wave_ratio(&t, i, &test_gpu, &to) >= 0.5);
}

/* A network on a card is in one fold, and networks on one card always train. */
static void
test_split(void)
{
	pm_dataset	d = all_but(3, N_CARDS - 1);
	int		   *fold = PM_NEW(&arena, int, d.n);
	int			n;
	int			tested[4] = {0};
	pm_status	st;

	CHECK_EQ(pm_split_assign(PM_SPLIT_TRANSFER, 4, 7, &d, &arena, fold, &n, &st), PM_OK);
	CHECK(n == 4 && pm_split_parse("transfer") == PM_SPLIT_TRANSFER);
	for (int i = 0; i < d.n; i++)
	{
		bool		alone = d.samples[i].skeleton == row(N_NETS - 1, 0)->skeleton;

		alone = alone || d.samples[i].skeleton == row(N_NETS - 2, 0)->skeleton;
		CHECK((fold[i] == -1) == alone);
		for (int k = 0; k < d.n; k++)
			if (pm_transfer_key(&d.samples[i]) == pm_transfer_key(&d.samples[k]))
				CHECK(fold[i] == fold[k]);
		if (fold[i] >= 0)
			tested[fold[i]]++;
	}
	for (int i = 0; i < 4; i++)
		CHECK(tested[i] >= 11);
	for (int i = 0; i < d.n; i++)
		d.samples[i].query.gpu = &cards[0];
	CHECK_EQ(pm_split_assign(PM_SPLIT_TRANSFER, 4, 7, &d, &arena, fold, &n, &st), PM_ERR_DATA);
	CHECK(strstr(st.message, "2 devices") != NULL);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	make_rows();
	test_transfer();
	test_domain();
	test_nearest();
	test_stored();
	test_wave();
	test_split();
	pm_arena_release(&arena);
	return check_done("habitat");
}
