/*
 * test_hosts.c - host times by format: learned where launches are the limit and
 * both sorts of formats were measured, 1 elsewhere; and the share that the
 * base has in answers of mdot for cards of few networks.
 */
#include "check.h"
#include "make_graph.h"

#include "kinds/mdot/mdot.h"
#include "kinds/opclass/opclass.h"
#include "predictor/predictor.h"
#include "predictor/stored.h"

#define N_NETS		12
#define FEW_NETS	3
#define SLOWER		1.5			/* of the host of one card in 16 bits */
#define LAUNCH_MS	0.02		/* so that launches are the limit of every network at batch 1 */

static pm_arena arena;

/* ---- levels by themselves ---- */

static pm_host_row
host_row(const char *gpu, const char *framework, bool half, int structure, double host)
{
	return (pm_host_row) {.gpu = gpu, .framework = framework, .half = half, .structure = structure, .host = host, .device = 0.1};
}

/* What n networks say whose predicted host time is `slower` times too short in 16-bit formats. */
static pm_hosts
learn(int n, double slower, double device, const char *wide_framework, const char *half_framework)
{
	pm_host_row rows[2 * N_NETS];
	pm_hosts	h;

	for (int i = 0; i < n; i++)
	{
		rows[2 * i] = host_row("A", wide_framework, false, i, 0.8);
		rows[2 * i + 1] = host_row("A", half_framework, true, i, 0.8 / slower);
		rows[2 * i].device = rows[2 * i + 1].device = device;
	}
	CHECK_EQ(pm_hosts_learn(&h, rows, 2 * n, &arena, &arena, NULL), PM_OK);
	return h;
}

static void
test_levels(void)
{
	pm_hosts	few = learn(FEW_NETS, SLOWER, 0.1, "pytorch", "pytorch");
	pm_hosts	many = learn(N_NETS, SLOWER, 0.1, NULL, NULL);

	/* pulled to 1, the more the fewer there are */
	CHECK(pm_hosts_factor(&few, "A", PM_FP16) > 1.05);
	CHECK(pm_hosts_factor(&many, "A", PM_FP16) > pm_hosts_factor(&few, "A", PM_FP16));
	CHECK(pm_hosts_factor(&many, "A", PM_FP16) < SLOWER);
	CHECK_EQ(pm_hosts_factor(&many, "A", PM_AMP), pm_hosts_factor(&many, "A", PM_FP16));
	CHECK_EQ(pm_hosts_factor(&many, "A", PM_FP32), 1);
	CHECK_EQ(pm_hosts_factor(&many, "A", PM_TF32), 1);
	CHECK_EQ(pm_hosts_factor(&many, "B", PM_FP16), 1);
	/* faster: the device counted still; other frameworks: other hosts; a device that is the limit says nothing */
	CHECK_EQ(learn(N_NETS, 1 / SLOWER, 0.1, "pytorch", "pytorch").n, 0);
	CHECK_EQ(learn(N_NETS, SLOWER, 0.1, "pytorch", "tensorflow").n, 0);
	CHECK_EQ(learn(N_NETS, SLOWER, 0.1, NULL, "pytorch").n, 0);
	CHECK_EQ(learn(N_NETS, SLOWER, 0.9, "pytorch", "pytorch").n, 0);
	CHECK_EQ(learn(0, SLOWER, 0.1, NULL, NULL).n, 0);
	/* however wrong rows are */
	CHECK(pm_hosts_factor(&(pm_hosts) {.n = 0}, "A", PM_FP16) == 1);
	many = learn(N_NETS, 1e30, 0, NULL, NULL);
	CHECK(pm_hosts_factor(&many, "A", PM_FP16) <= exp(1));
}

/* Whether the stored form of cards with this level is read. */
static bool
is_read(double level, pm_cards *back)
{
	pm_cards	c = {.hosts = {.n = 1, .level = &(pm_host_level) {"A", level}}};
	pm_buffer	b = {.arena = &arena};
	pm_reader	r;

	*back = (pm_cards) {0};
	pm_cards_save(&c, &pm_schema_here, &b);
	r = (pm_reader) {.data = b.data, .len = b.len};
	return pm_cards_load(back, &pm_schema_here, &r, &arena, NULL) == PM_OK;
}

/* A stored form without any kind of work, with the level of a card and, with framework, of one. */
static bool
without_works_is_read(bool framework, pm_cards *back)
{
	pm_buffer	b = {.arena = &arena};
	pm_reader	r;

	*back = (pm_cards) {0};
	pm_put_u32(&b, 0);
	pm_put_u32(&b, framework);
	if (framework)
	{
		pm_put_text(&b, "pytorch");
		pm_put_u32(&b, 0);
		pm_put_u32(&b, 1000000000);
		pm_put_f64(&b, 0);
	}
	pm_put_u32(&b, 1);
	pm_put_text(&b, "A");
	pm_put_u32(&b, 0);
	pm_put_u32(&b, 1000000000);
	pm_put_u32(&b, 0);
	pm_put_f64(&b, 0);
	pm_put_u32(&b, 0);
	r = (pm_reader) {.data = b.data, .len = b.len};
	return pm_cards_load(back, &pm_schema_here, &r, &arena, NULL) == PM_OK;
}

static void
test_stored(void)
{
	pm_cards	back;

	CHECK(!without_works_is_read(false, &back));
	CHECK(!without_works_is_read(true, &back));

	CHECK(is_read(0.25, &back));
	CHECK_EQ(back.n, 0);
	CHECK_EQ(pm_hosts_factor(&back.hosts, "A", PM_BF16), exp(0.25));
	CHECK(!is_read(-0.1, &back));
	CHECK(!is_read(7, &back));
	CHECK(!is_read(NAN, &back));
}

/* ---- in predictors ---- */

static pm_gpu slow;				/* takes longer in 16 bits */
static pm_gpu plain;
static pm_sample of[N_NETS];

static void
make_questions(void)
{
	slow = plain = test_gpu;
	slow.name = "slow host";
	plain.name = "plain host";
	/* so little that no time changes, but neither is better in every figure, which would let one hold the other */
	slow.l2_mb *= 1 + 1e-12;
	slow.mem_bw_gbs *= 1 - 1e-12;
	for (int n = 0; n < N_NETS; n++)
	{
		pm_graph   *g = make_net(&arena, "net", 16 + 8 * n, 1 + n % 4, n % 2 ? 14 : 7, 4);

		of[n] = make_sample(g, make_skeleton(g, true, &arena), 1, 1);
	}
}

static double
row_ms(const pm_sample *s)
{
	bool		longer = s->query.gpu == &slow && s->query.dtype == PM_FP16;
	pm_tokens	t;

	CHECK_EQ(pm_tokens_build_work(s->skeleton, &s->query, &arena, &t, NULL), PM_OK);
	return LAUNCH_MS * (longer ? SLOWER : 1) * t.n_kernels + t.total_roofline_us / 1000;
}

static void
add_rows(pm_dataset *d, const pm_gpu *gpu, pm_dtype dtype, int networks)
{
	for (int n = 0; n < networks; n++)
	{
		pm_sample  *s = &d->samples[d->n];

		*s = of[n];
		s->query.gpu = gpu;
		s->query.dtype = dtype;
		s->step_ms = row_ms(s);
		s->id = d->n++;
	}
}

static pm_dataset
no_rows(void)
{
	return (pm_dataset) {.samples = PM_NEW(&arena, pm_sample, 4 * N_NETS)};
}

static double
ask(const pm_predictor *p, const pm_sample *like, const pm_gpu *gpu, pm_dtype dtype)
{
	pm_sample	s = *like;

	s.query.gpu = gpu;
	s.query.dtype = dtype;
	return predict_row(p, &s);
}

static pm_predictor
fit(const char *kind, pm_dataset *d)
{
	pm_setting	small[] = {{.name = "epochs", .number = 4}, {.name = "d_model", .number = 16}, {.name = "hidden", .number = 8}};

	return make_predictor(kind, small, strcmp(kind, "mdot") == 0 ? 3 : 0, d, &arena);
}

/* The card with the slow host is slower in 16 bits where launches are the limit, before and after storing; the other is not. */
static void
test_predictors(void)
{
	static const char *const kinds[] = {"opclass", "mdot"};
	pm_dataset	d = no_rows();

	for (int format = 0; format < 2; format++)
	{
		add_rows(&d, &slow, format ? PM_FP16 : PM_FP32, N_NETS);
		add_rows(&d, &plain, format ? PM_FP16 : PM_FP32, N_NETS);
	}
	for (int k = 0; k < 2; k++)
	{
		pm_predictor p = fit(kinds[k], &d);
		pm_predictor back;
		uint8_t    *data;
		size_t		len;

		CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, NULL), PM_OK);
		CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
		for (int n = 0; n < N_NETS; n++)
		{
			double		longer = ask(&p, &of[n], &slow, PM_FP16) / ask(&p, &of[n], &slow, PM_FP32);

			CHECK(longer > 1.02 * ask(&p, &of[n], &plain, PM_FP16) / ask(&p, &of[n], &plain, PM_FP32));
			/* in 4 epochs a network does not learn how long launches take */
			CHECK(k == 1 || longer > 1.2);
			CHECK(ask(&p, &of[n], &slow, PM_TF32) < 1.05 * ask(&p, &of[n], &slow, PM_FP32));
			CHECK(ask(&p, &of[n], &plain, PM_FP16) < 1.05 * ask(&p, &of[n], &plain, PM_FP32));
			CHECK_EQ(ask(&back, &of[n], &slow, PM_FP16), ask(&p, &of[n], &slow, PM_FP16));
		}
	}
}

/* Of rows in one format nothing is learned. */
static void
test_one_format(void)
{
	pm_dataset	d = no_rows();
	pm_predictor p;

	add_rows(&d, &slow, PM_FP16, N_NETS);
	add_rows(&d, &plain, PM_FP16, N_NETS);
	p = fit("opclass", &d);
	CHECK_EQ(p.kind->cards(&p)->hosts.n, 0);
}

/* ---- the base's share ---- */

/* How far the answer of p, of kind mdot, for a card is on the way from that with the option base_share = 0 to the base's, in logarithms. */
static double
share_on(pm_predictor *p, const pm_gpu *gpu)
{
	const pm_mdot *m = p->impl;
	double		option = p->options.value[OPT_BASE_SHARE];
	double		mixed = log(ask(p, &of[0], gpu, PM_FP32));
	double		base = log(ask(&m->base, &of[0], gpu, PM_FP32));
	double		least;

	p->options.value[OPT_BASE_SHARE] = 0;
	least = log(ask(p, &of[0], gpu, PM_FP32));
	p->options.value[OPT_BASE_SHARE] = option;
	CHECK(fabs(base - least) > 1e-3);
	return (mixed - least) / (base - least);
}

/* Of convolutions in the roofline time at the batch that features are of. */
static double
conv_share(const pm_sample *s)
{
	pm_question q = s->query;
	pm_tokens	t;
	double		share = 0;

	q.gpu = &slow;
	q.batch = PM_MDOT_REFERENCE_BATCH;
	q.optimizer = PM_SGD_MOMENTUM;	/* which the networks see in all rows */
	CHECK_EQ(pm_tokens_build(s->skeleton, &q, &arena, &t, NULL), PM_OK);
	for (int i = 0; i < t.n; i++)
		if (t.op_class[i] == PM_CLASS_CONV)
			share += t.phase_us[3 * i] + t.phase_us[3 * i + 1] + t.phase_us[3 * i + 2];
	return share / t.total_roofline_us;
}

/* A card of as many networks as any has the option's share exactly; one of few has more of the base. */
static void
test_share(void)
{
	pm_dataset	d = no_rows();
	pm_predictor p;
	const pm_cards *c;
	int			plain_nets[PM_N_CARD_WORKS],
				slow_nets[PM_N_CARD_WORKS];
	double		known;

	add_rows(&d, &plain, PM_FP32, N_NETS);
	add_rows(&d, &slow, PM_FP32, FEW_NETS);
	p = fit("mdot", &d);
	c = p.kind->cards(&p);
	for (int work = 0; work < PM_N_CARD_WORKS; work++)
	{
		plain_nets[work] = pm_cards_networks(c, plain.name, work);
		slow_nets[work] = pm_cards_networks(c, slow.name, work);
	}
	CHECK_EQ(plain_nets[PM_CARD_CONV] + plain_nets[PM_CARD_REST], N_NETS);
	CHECK_EQ(slow_nets[PM_CARD_CONV], 0);
	CHECK_EQ(slow_nets[PM_CARD_REST], FEW_NETS);
	CHECK_EQ(pm_cards_networks(c, NULL, PM_CARD_CONV), pm_cards_networks(c, plain.name, PM_CARD_CONV));
	CHECK_EQ(pm_cards_networks(c, "no card", PM_CARD_CONV), 0);
	CHECK_NEAR(share_on(&p, &plain), 0.2, 1e-6);
	/* of convolutions it knows nothing; of the rest FEW_NETS of half of what the other card has; the way from 0.7 to the option, of 0.2 and of 0 */
	known = (1 - conv_share(&of[0])) * FEW_NETS / (0.5 * plain_nets[PM_CARD_REST]);
	CHECK(known > 0.1 && known < 0.9);
	CHECK_NEAR(share_on(&p, &slow), (0.2 + (1 - known) * 0.5 - (1 - known) * 0.7) / (1 - (1 - known) * 0.7), 1e-6);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_levels();
	test_stored();
	make_questions();
	test_predictors();
	test_one_format();
	test_share();
	pm_arena_release(&arena);
	return check_done("hosts");
}
