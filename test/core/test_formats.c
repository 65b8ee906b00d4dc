/*
 * test_formats.c - the order of number formats, whatever the rows say: TF32 is
 * not slower than FP32, nor FP16 than AMP where nothing better is known of FP16, and what no format changes costs the same in all.
 */
#include "check.h"
#include "make_graph.h"

#include "kinds/cards.h"
#include "kinds/mdot/mdot.h"
#include "predictor/predictor.h"
#include "predictor/stored.h"

#define N_CARDS		4
#define N_NETS		10
#define MOST_ROWS	(N_CARDS * N_NETS * 4 + N_NETS)
/* Shares of the time by which TF32 may be above FP32, and FP16 above AMP. */
#define TOLERANCE	0.05		/* what the arithmetic of the update may make of it, which no format makes faster */
#define TOLERANCE_MDOT 0.12		/* with times that are wrong by a factor, 0.11 was seen at tiny batches, since there are floors */

static pm_arena arena;
static pm_gpu cards[N_CARDS + 1];
static pm_gpu cpu;
static pm_sample of[N_NETS];	/* a question about each network */

static void
make_cards(void)
{
	static const char *const names[N_CARDS + 1] = {"A", "B", "C", "D", "not measured"};

	for (int i = 0; i <= N_CARDS; i++)
	{
		cards[i] = test_gpu;
		cards[i].name = names[i];
		cards[i].fp32_tflops *= 1 + i % 3;
		cards[i].mem_bw_gbs *= 1 + i % 2;
	}
	cpu = test_gpu;
	cpu.name = "processor";
	cpu.is_cpu = true;
	cpu.fp32_tflops = 0.1;
	cpu.mem_bw_gbs = 20;
	cpu.fp16_tensor_tflops = NAN;
}

static void
make_nets(void)
{
	for (int n = 0; n < N_NETS; n++)
	{
		pm_graph   *g = make_net(&arena, "net", 16 + 32 * n, 1 + n % 4, n % 2 ? 56 : 7, 4);

		of[n] = make_sample(g, make_skeleton(g, true, &arena), 8, 1);
	}
}

/* Roofline times of a row times a factor: tests make it wild. */
static double
row_ms(const pm_sample *s, double factor)
{
	pm_tokens	t;

	CHECK_EQ(pm_tokens_build_work(s->skeleton, &s->query, &arena, &t, NULL), PM_OK);
	return factor * (0.02 * t.n_kernels + t.total_roofline_us / 1000);
}

/*
 * TF32 at one small batch only, with times that are wrong by up to `wild`,
 * FP32 and AMP at others; a CPU beside them.
 */
static pm_dataset
make_rows(double wild, pm_rng *rng)
{
	static const pm_dtype formats[] = {PM_FP32, PM_AMP, PM_TF32, PM_FP16};
	pm_dataset	d = {.samples = PM_NEW(&arena, pm_sample, MOST_ROWS)};

	for (int n = 0; n < N_NETS; n++)
	{
		for (int c = 0; c < N_CARDS; c++)
			for (int f = 0; f < 4; f++)
			{
				pm_sample  *s = &d.samples[d.n];

				/* few cards have all formats */
				if (f != c && f != (c + 1) % 4)
					continue;
				*s = of[n];
				s->query.gpu = &cards[c];
				s->query.dtype = formats[f];
				s->query.batch = formats[f] == PM_TF32 ? 4 : 8 << (n % 4);
				s->query.framework = f % 2 ? "pytorch 2" : "pytorch eager";
				s->step_ms = row_ms(s, exp(log(wild) * (2 * pm_rng_uniform(rng) - 1)));
				s->id = d.n++;
			}
		d.samples[d.n] = of[n];
		d.samples[d.n].query.gpu = &cpu;
		d.samples[d.n].step_ms = row_ms(&d.samples[d.n], 40);
		d.samples[d.n].id = d.n;
		d.n++;
	}
	return d;
}

static double
ask(const pm_predictor *p, const pm_sample *like, pm_dtype dtype)
{
	pm_sample	s = *like;

	s.query.dtype = dtype;
	return predict_row(p, &s);
}

static void
check_not_slower(const pm_predictor *p, const pm_sample *s, pm_dtype narrow, pm_dtype wide)
{
	double		most = 1 + (strcmp(p->kind->name, "mdot") == 0 ? TOLERANCE_MDOT : TOLERANCE);
	double		bound = ask(p, s, wide);
	double		ms = ask(p, s, narrow);
	pm_sample	better = *s;

	/* nothing is faster than on a better card, which was measured in FP16 */
	better.query.gpu = &cards[2];
	if (narrow == PM_FP16 && s->query.gpu == &cards[N_CARDS])
		bound = fmax(bound, ask(p, &better, narrow));
	CHECK(ms <= most * bound);
	if (ms > most * bound)
		printf("  %s on %s, batch %d: %s %g ms, %s %g ms\n", p->kind->name, s->query.gpu->name, (int) s->query.batch,
			   pm_dtype_name[narrow], ms, pm_dtype_name[wide], bound);
}

/* The third and the fourth card were measured in FP16, in which their times stay. */
static bool
has_fp16(const pm_gpu *g)
{
	return g == &cards[2] || g == &cards[3];
}

static void
check_order(const pm_predictor *p, pm_rng *rng)
{
	static const char *const frameworks[] = {NULL, "pytorch 2", "pytorch eager", "not seen"};

	for (int round = 0; round < 200; round++)
	{
		pm_sample	s = of[(int) (pm_rng_uniform(rng) * N_NETS)];

		s.query.gpu = &cards[(int) (pm_rng_uniform(rng) * (N_CARDS + 1))];
		s.query.batch = 1 << (int) (pm_rng_uniform(rng) * 9);
		s.query.framework = frameworks[(int) (pm_rng_uniform(rng) * 4)];
		s.query.layout = pm_rng_uniform(rng) < 0.3 ? PM_NHWC : PM_NCHW;
		s.query.mode = pm_rng_uniform(rng) < 0.3 ? PM_INFERENCE : PM_TRAIN;
		check_not_slower(p, &s, PM_TF32, PM_FP32);
		if (!has_fp16(s.query.gpu))
			check_not_slower(p, &s, PM_FP16, PM_AMP);
	}
}

static pm_predictor
load_again(const pm_predictor *p)
{
	pm_predictor back;
	uint8_t    *data;
	size_t		len;

	CHECK_EQ(pm_predictor_save(p, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
	return back;
}

static pm_predictor
fit(const char *kind, pm_dataset *d)
{
	pm_setting	small[] = {{.name = "epochs", .number = 4}, {.name = "d_model", .number = 16}, {.name = "hidden", .number = 8}};

	return make_predictor(kind, small, strcmp(kind, "mdot") == 0 ? 3 : 0, d, &arena);
}

/* However wrong the rows are, before and after storing. */
static void
test_tf32(void)
{
	pm_rng		rng;

	pm_rng_seed(&rng, 11);
	for (int round = 0; round < 4; round++)
	{
		pm_dataset	d = make_rows(1 + 3 * round, &rng);
		pm_predictor opclass = fit("opclass", &d);
		pm_predictor mdot = fit("mdot", &d);
		pm_predictor back = load_again(&mdot);

		check_order(&opclass, &rng);
		check_order(&mdot, &rng);
		check_order(&back, &rng);
		for (int n = 0; n < N_NETS; n++)
			CHECK_EQ(predict_row(&back, &d.samples[n]), predict_row(&mdot, &d.samples[n]));
	}
}

/* Of rows that are right, a network of large products is faster the narrower the format, on cards that had the format or not. */
static void
test_products(void)
{
	pm_graph   *g = make_net(&arena, "wide", 512, 3, 28, 4);
	pm_sample	s = make_sample(g, make_skeleton(g, true, &arena), 64, 1);
	pm_rng		rng;
	pm_dataset	d;

	pm_rng_seed(&rng, 12);
	d = make_rows(1, &rng);
	for (int kind = 0; kind < 2; kind++)
	{
		pm_predictor p = fit(kind ? "mdot" : "opclass", &d);

		for (int c = 0; c <= N_CARDS; c++)
		{
			s.query.gpu = &cards[c];
			CHECK(ask(&p, &s, PM_TF32) < 0.8 * ask(&p, &s, PM_FP32));
			CHECK(ask(&p, &s, PM_AMP) < 1.1 * ask(&p, &s, PM_TF32));
		}
	}
}

/* Rows in BF16 and in AMP tell of the same units, even if those in BF16, of other networks, take three times as long. */
static void
test_bf16(void)
{
	pm_graph   *g = make_net(&arena, "wide", 512, 3, 28, 4);
	pm_sample	s = make_sample(g, make_skeleton(g, true, &arena), 64, 1);
	pm_rng		rng;
	pm_dataset	d;

	pm_rng_seed(&rng, 14);
	d = make_rows(1, &rng);
	for (int i = 0; i < d.n; i++)
		if (d.samples[i].query.dtype == PM_AMP && i % 2 == 0)
		{
			d.samples[i].query.dtype = PM_BF16;
			d.samples[i].step_ms *= 3;
		}
	for (int kind = 0; kind < 2; kind++)
	{
		pm_predictor p = fit(kind ? "mdot" : "opclass", &d);

		for (int c = 0; c <= N_CARDS; c++)
		{
			s.query.gpu = &cards[c];
			CHECK_NEAR(ask(&p, &s, PM_BF16) / ask(&p, &s, PM_AMP), 0.8, 0.25);
		}
	}
}

/* Levels of a card, instead of those that p has of it. */
static void
set_levels(const pm_predictor *p, const char *gpu, const pm_card_level *levels, int n)
{
	pm_cards   *c = (pm_cards *) p->kind->cards(p);
	pm_card_level *all = PM_NEW(&arena, pm_card_level, c->n + n);
	int			kept = 0;

	for (int i = 0; i < c->n; i++)
		if (strcmp(c->level[i].gpu, gpu) != 0)
			all[kept++] = c->level[i];
	memcpy(all + kept, levels, n * sizeof(pm_card_level));
	c->level = all;
	c->n = kept + n;
}

/* FP16 over AMP, of a large Linear on the card whose levels of operators other than convolutions these are; NaN: none. */
static double
linear_in_fp16(const pm_predictor *p, double fp32, double amp, double fp16)
{
	const char *card = cards[2].name;
	const double at[] = {fp32, amp, fp16};
	static const int formats[] = {PM_FP32, PM_AMP, PM_FP16};
	pm_card_level levels[3];
	graph_text	t;
	pm_sample	s;
	pm_graph   *g;
	int			n = 0;

	for (int i = 0; i < 3; i++)
		if (!isnan(at[i]))
			levels[n++] = (pm_card_level) {.gpu = card, .dtype = formats[i], .work = PM_CARD_REST, .structures = 26, .level = at[i]};
	set_levels(p, card, levels, n);
	text_start(&t, "linear", "linear");
	text_node(&t, "'op':'Input','inputs':[],'shape':[1,4096],'batch_dim':0");
	text_node(&t, "'op':'Gemm','inputs':[0],'shape':[1,4096],'batch_dim':0,'weights':[[4096,4096]]");
	g = text_finish(&t, &arena);
	s = make_sample(g, make_skeleton(g, true, &arena), 16384, 1);
	s.query.gpu = &cards[2];
	return ask(p, &s, PM_FP16) / ask(p, &s, PM_AMP);
}

/*
 * Networks of convolutions tell nothing of Linear layers in FP16, though their steps may be mostly other operators: a level that
 * no product can have does not count, nor one beside that of networks in AMP.
 */
static void
test_fp16_of_convolutions(void)
{
	pm_question q = of[0].query;
	pm_rng		rng;
	pm_dataset	d;
	double		amp;

	q.gpu = &cards[2];
	q.dtype = PM_AMP;
	pm_rng_seed(&rng, 15);
	d = make_rows(1, &rng);
	for (int kind = 0; kind < 2; kind++)
	{
		pm_predictor p = fit(kind ? "mdot" : "opclass", &d);

		CHECK(linear_in_fp16(&p, -0.5, NAN, 4) < 1.01);
		CHECK(linear_in_fp16(&p, -0.5, -0.5, 4) < 1.01);
		CHECK(linear_in_fp16(&p, -0.5, -0.5, 0) < 1.01);
		/* what may be of products stays where nothing else tells of 16 bits */
		linear_in_fp16(&p, -0.5, NAN, 0);
		CHECK(pm_cards_know_fp16(p.kind->cards(&p), &cards[2], PM_CARD_REST));
		/* nor does AMP, where no network was measured in it, follow what cannot be */
		linear_in_fp16(&p, -0.5, NAN, 4);
		amp = pm_cards_factors(p.kind->cards(&p), &q).compute[PM_CARD_REST];
		linear_in_fp16(&p, -0.5, NAN, 5);
		CHECK_EQ(pm_cards_factors(p.kind->cards(&p), &q).compute[PM_CARD_REST], amp);
	}
}

/* A CPU beside GPUs starts from its peaks times a factor; with CPUs alone nothing starts from opclass. */
static void
test_cpus(void)
{
	pm_rng		rng;
	pm_dataset	d;
	pm_predictor p;
	const pm_mdot *m;

	pm_rng_seed(&rng, 13);
	d = make_rows(1, &rng);
	p = fit("mdot", &d);
	m = p.impl;
	CHECK(m->anchor.kind != NULL && m->cpu_anchor > 0 && m->cpu_anchor != 1);
	d.n = 0;
	for (int n = 0; n < N_NETS; n++)
	{
		d.samples[d.n] = of[n];
		d.samples[d.n].query.gpu = &cpu;
		d.samples[d.n].step_ms = row_ms(&d.samples[d.n], 40);
		d.samples[d.n].id = d.n;
		d.n++;
	}
	p = fit("mdot", &d);
	m = p.impl;
	CHECK(m->anchor.kind == NULL);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	make_cards();
	make_nets();
	test_tf32();
	test_products();
	test_bf16();
	test_fp16_of_convolutions();
	test_cpus();
	pm_arena_release(&arena);
	return check_done("formats");
}
