/*
 * test_rivals.c - the rivals of mdot learn a known rule, and give its prices back where they are sums.
 */
#include "kind_rules.h"

/* ---------- the rivals of mdot that are networks ---------- */

#define N_RIVALS ((int) (sizeof(rivals) / sizeof(rivals[0])))

static pm_predictor
some_rival(int i, const pm_dataset *d, int epochs, double valid_fraction, double rate)
{
	pm_setting	settings[6];

	memcpy(settings, rivals[i].size, sizeof(rivals[i].size));
	settings[3] = (pm_setting) NUMBER("epochs", epochs);
	settings[4] = (pm_setting) NUMBER("valid_fraction", valid_fraction);
	settings[5] = (pm_setting) NUMBER("learning_rate", rate);
	return make_predictor(rivals[i].kind, settings, 6, d, &arena);
}

/* What holds for every kind, for each of them. */
static void
test_rivals(void)
{
	const pm_graph *nets[3] = {branched(), strange_graph(), make_net(&arena, "other", 32, 5, 56, 8)};
	const pm_graph *deep = make_net(&arena, "deep", 16, 4, 32, 1);
	pm_sample	merged = make_sample(deep, make_skeleton(deep, true, &arena), 16, 0);
	pm_sample	plain = make_sample(deep, make_skeleton(deep, false, &arena), 16, 0);
	pm_dataset	d = make_dataset(12, 4, true, entangled, &arena);

	for (int i = 0; i < N_RIVALS; i++)
	{
		pm_predictor p = some_rival(i, &d, 20, 0.1, 2e-3);
		double		ratio = predict_row(&p, &plain) / predict_row(&p, &merged);

		for (int k = 0; k < 3; k++)
			check_batches(&p, nets[k], make_skeleton(nets[k], true, &arena));
		for (int k = 0; k < 2; k++)
		{
			check_renumbered(&p, nets[k], true);
			check_renumbered(&p, nets[k], false);
		}
		check_empty(&p);
		CHECK_NEAR(ratio, 1, rivals[i].merged);
		if (getenv("VERBOSE"))
			printf("%s: unmerged / merged %.9g\n", rivals[i].kind, ratio);
	}
}

/* Enough freedom to learn eight networks by heart. */
static void
test_rivals_overfit(void)
{
	pm_dataset	d = make_dataset(8, 1, true, entangled, &arena);

	for (int i = 0; i < N_RIVALS; i++)
	{
		double		started = pm_now();
		pm_predictor p = some_rival(i, &d, 400, 0, 5e-3);
		double		mape = mape_of(&p, &d);

		CHECK(mape < rivals[i].overfit);
		if (getenv("VERBOSE"))
			printf("%s: MAPE %g on 8 graphs after %.1f s\n", rivals[i].kind, mape, pm_now() - started);
	}
}

/* Same rows and seed: same bits, however many threads; and memory() promises enough. */
static void
test_rivals_threads(void)
{
	pm_dataset	d = make_dataset(12, 2, true, entangled, &arena);

	for (int i = 0; i < N_RIVALS; i++)
	{
		uint8_t    *data[2];
		size_t		len[2];

		for (int k = 0; k < 2; k++)
		{
			pm_predictor p = {.kind = pm_kind_find(rivals[i].kind)};
			const pm_setting quick[] = {NUMBER("epochs", 2), NUMBER("valid_fraction", 0.2)};
			pm_fit_report report;
			pm_arena	a;

			pm_arena_init_malloc(&a);
			CHECK(pm_options_set(p.kind, quick, 2, &p.options, NULL) == PM_OK);
			CHECK(pm_predictor_fit(&p, &d, 1, 1 + 3 * k, NULL, &a, &report, NULL) == PM_OK);
			CHECK(report.epochs == 2 && report.n_params > 1000 && report.valid_n > 0 && report.valid_mape > 0);
			CHECK(a.used <= p.kind->memory(&p.options, &d, 1 + 3 * k));
			CHECK(pm_predictor_save(&p, &arena, &data[k], &len[k], NULL) == PM_OK);
			pm_arena_release(&a);
		}
		CHECK(len[0] == len[1] && memcmp(data[0], data[1], len[0]) == 0);
	}
}

/* An estimate is asked for by anybody, of the largest network that the options allow. */
static void
test_largest(void)
{
	pm_dataset	d = make_dataset(2, 1, true, entangled, &arena);
	const pm_kind *kind;

	for (int i = 0; (kind = pm_kind_at(i)) != NULL; i++)
	{
		pm_options	o;

		CHECK(pm_options_set(kind, NULL, 0, &o, NULL) == PM_OK);
		for (int k = 0; k < kind->n_options; k++)
			o.value[k] = kind->options[k].max;
		CHECK(kind->memory(&o, &d, 64) > 0 && isfinite(kind->memory(&o, &d, 64)));
	}
}

/* ---------- the rivals of mdot that are sums ---------- */

static const char *const sums[] = {"opclass", "seer"};

#define N_SUMS 2

/* An operator's arithmetic, traffic and launches at prices of its class; 0.4 ms a step. */
static double
priced_ms(const pm_tokens *t, int i)
{
	double		price = true_factor(t->type[i], t->op_class[i]);
	double		us = price * t->compute_us[i] + (4 - price / 2) * (t->memory_us[i] - t->phase_us[3 * i + 2]) +
		5 * price * t->kernels[i] + 2 * t->phase_us[3 * i + 2];

	return t->skeleton->copies[i] * us / 1000;
}

static double
by_prices(const pm_tokens *t)
{
	double		ms = 0.4;

	for (int i = 0; i < t->n; i++)
		ms += priced_ms(t, i);
	return ms;
}

/* Every time the rule made comes back, and so does what each visible operator costs. */
static void
check_prices(bool by_type, bool squared)
{
	const pm_setting settings[] = {
		NUMBER("pull", 1e-9), {.name = "by_type", .number = by_type, .is_bool = true},
		{.name = "loss", .text = squared ? "squared" : "absolute"}
	};
	pm_dataset	d = varied(by_prices);
	pm_predictor p = make_predictor("opclass", settings, 3, &d, &arena);
	double		worst = 0;
	double		worst_part = 0;

	for (int s = 0; s < d.n; s++)
	{
		pm_tokens	t;
		int			n;
		const pm_part *parts = parts_of(&p, &d.samples[s], &t, &n, &worst);

		for (int i = 0; i < t.n; i++)
			if (priced_ms(&t, i) > 0.05 * d.samples[s].step_ms)
				worst_part = fmax(worst_part, fabs(parts[i].step_ms / priced_ms(&t, i) - 1));
	}
	if (getenv("VERBOSE"))
		printf("opclass%s: worst step %g, worst part %g\n", by_type ? " by type" : "", worst, worst_part);
	CHECK(worst < 1e-3);
	CHECK(worst_part < 0.1);		/* terms of an operator that is rare are told apart roughly only */
}

/*
 * The analytic rule with constants of its own, for FP32 on the test device:
 * written down once more, from the documentation.
 */
static double
analytic_ms(const pm_tokens *t, int i, char *bound)
{
	int64_t		batch = (int64_t) round(exp2(t->job[0]) - 1);
	double		us[3] = {0};	/* compute, memory, launches */
	double		ms = 0;
	pm_work		w;
	pm_geometry g;

	pm_node_work(t->skeleton->graph, t->skeleton->node[i], batch, t->dtype, t->layout, PM_SGD, &w);
	pm_node_geometry(t->skeleton->graph, t->skeleton->node[i], batch, &g);
	for (int p = 0; p < 3; p++)
	{
		const double flops[3] = {w.flops_forward, w.flops_backward, w.flops_update};
		const double bytes[3] = {w.bytes_forward, w.bytes_backward, w.bytes_update};
		bool		product = g.gemm_m > 0 && p < 2;
		double		blocks = g.gemm_m > 0 ? g.gemm_batch * ceil(g.gemm_m / 128) * ceil(g.gemm_n / 64) :
			ceil(w.out_elems / 1024);
		double		fill = p < 2 ? 1 / (1 + 0.7 / (fmax(blocks, 1) / 40)) : 1;
		double		rate = g.conv == PM_CONV_GROUPED && !(g.group_narrow > 0) && p < 2 ? 0.05 : 0.45;
		double		share = !product ? (t->op_class[i] == PM_CLASS_NORM && p < 2 ? 0.5 : 0.85) : 0.35;
		double		held = pm_gpu_rate(&test_gpu, t->dtype, p < 2 && w.tensor_core, p < 2 && g.conv != PM_CONV_NONE);
		double		c = flops[p] / (held / 1e6) / rate / fill * (product ? 1 + 60 / g.gemm_k : 1);
		double		m = bytes[p] / 500e3 / share / fill;
		double		l = 4 * (p == 0 ? w.kernels_forward : p == 1 ? w.kernels_backward : 0);

		us[c >= m ? 0 : 1] += fmax(c, m);
		us[2] += l;
		ms += (fmax(c, m) + l) / 1000;
	}
	*bound = us[2] > fmax(us[0], us[1]) ? 'l' : us[0] >= us[1] ? 'c' : 'm';
	return t->skeleton->copies[i] * ms;
}

static double
by_formula(const pm_tokens *t)
{
	double		ms = 0.3;
	char		bound;

	for (int i = 0; i < t->n; i++)
		ms += analytic_ms(t, i, &bound);
	return ms;
}

static void
test_analytic(void)
{
	const pm_setting weak[] = {NUMBER("pull", 1e-9)};
	pm_dataset	d = varied(by_formula);
	pm_predictor p = make_predictor("seer", weak, 1, &d, &arena);
	double		worst = 0;
	int			seen[128] = {0};
	int			operators = 0;
	int			agree = 0;

	for (int s = 0; s < d.n; s++)
	{
		pm_tokens	t;
		int			n;
		const pm_part *parts = parts_of(&p, &d.samples[s], &t, &n, &worst);

		for (int i = 0; i < t.n; i++, operators++)
		{
			char		bound;

			analytic_ms(&t, i, &bound);
			agree += parts[i].bound == bound;
			seen[(int) bound]++;
		}
	}
	if (getenv("VERBOSE"))
		printf("seer: worst step %g, bounds c %d m %d l %d, %d of %d right\n", worst, seen['c'], seen['m'], seen['l'],
			   agree, operators);
	CHECK(seen['c'] > 50 && seen['m'] > 50 && seen['l'] > 50);
	CHECK(worst < 1e-4);
	CHECK(agree > 0.98 * operators);
}

/* What holds for every kind. */
static void
test_sums(void)
{
	const pm_graph *nets[3] = {branched(), strange_graph(), make_net(&arena, "other", 32, 5, 56, 8)};
	pm_dataset	d = make_dataset(12, 4, true, entangled, &arena);

	for (int kind = 0; kind < N_SUMS; kind++)
	{
		pm_predictor p = make_predictor(sums[kind], NULL, 0, &d, &arena);

		for (int k = 0; k < 3; k++)
		{
			pm_sample	merged = make_sample(nets[k], make_skeleton(nets[k], true, &arena), 16, 0);
			pm_sample	plain = make_sample(nets[k], make_skeleton(nets[k], false, &arena), 16, 0);

			check_batches(&p, nets[k], merged.skeleton);
			CHECK_NEAR(predict_row(&p, &plain) / predict_row(&p, &merged), 1, 1e-9);
		}
		for (int k = 0; k < 2; k++)
			check_renumbered(&p, nets[k], true);
		check_empty(&p);
		CHECK(mape_of(&p, &d) < 0.25);
	}
}

/* Rows of two layouts, of which the second takes twice as long: each is told from the other, and so are devices. */
static void
test_strata(void)
{
	pm_dataset	d = varied(by_prices);
	pm_gpu		other = test_gpu;

	other.name = "Test 2000";
	for (int s = 0; s < d.n; s++)
	{
		d.samples[s].query.layout = s / 4 % 2 ? PM_NHWC : PM_NCHW;
		d.samples[s].query.gpu = s / 8 % 2 ? &other : &test_gpu;
		d.samples[s].step_ms *= 1 + s / 4 % 2;
	}
	for (int kind = 0; kind < N_SUMS; kind++)
	{
		pm_predictor p = make_predictor(sums[kind], NULL, 0, &d, &arena);
		double		mape = mape_of(&p, &d);

		if (getenv("VERBOSE"))
			printf("%s: MAPE %g on two layouts\n", sums[kind], mape);
		CHECK(mape < (kind == 0 ? 0.02 : 0.15));
	}
	for (int s = 0; s < d.n; s++)
		d.samples[s].step_ms *= s / 8 % 2 ? 3 : 1;
	{
		const pm_setting common[] = {{.name = "by_device", .number = 0, .is_bool = true}};
		pm_predictor p = make_predictor("opclass", NULL, 0, &d, &arena);
		pm_predictor one = make_predictor("opclass", common, 1, &d, &arena);

		CHECK(mape_of(&p, &d) < 0.03);
		/* a factor of the card is known without them */
		CHECK(mape_of(&one, &d) < 0.15);
	}
}

static bool
stop_at_once(void *ctx)
{
	++*(int *) ctx;
	return true;
}

/* Same rows: same bits, however many threads; memory() promises enough; and it stops when told to. */
static void
test_sums_fit(void)
{
	pm_dataset	d = varied(by_prices);

	for (int kind = 0; kind < N_SUMS; kind++)
	{
		pm_predictor p = {.kind = pm_kind_find(sums[kind])};
		int			asked = 0;
		pm_hooks	hooks = {.stop = stop_at_once, .ctx = &asked};
		uint8_t    *data[2];
		size_t		len[2];
		pm_fit_report report;
		pm_status	st;

		CHECK(pm_options_set(p.kind, NULL, 0, &p.options, NULL) == PM_OK);
		for (int k = 0; k < 2; k++)
		{
			pm_arena	a;

			pm_arena_init_malloc(&a);
			CHECK(p.kind->fit(&p, &d, 1 + k, 1 + 3 * k, NULL, &a, &report, NULL) == PM_OK);
			CHECK(report.n_params > 10);
			CHECK(a.used <= p.kind->memory(&p.options, &d, 1 + 3 * k));
			CHECK(pm_trust_fit(&d, NULL, 0, NULL, &a, &p.trust, NULL) == PM_OK);
			CHECK(pm_predictor_save(&p, &arena, &data[k], &len[k], NULL) == PM_OK);
			pm_arena_release(&a);
		}
		CHECK(len[0] == len[1] && memcmp(data[0], data[1], len[0]) == 0);
		CHECK_EQ(pm_predictor_fit(&p, &d, 1, 1, &hooks, &arena, &report, &st), PM_CANCELLED);
		CHECK(asked == 1);
	}
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_rivals();
	test_rivals_overfit();
	test_rivals_threads();
	test_largest();
	check_prices(false, false);
	check_prices(true, false);
	check_prices(true, true);
	test_analytic();
	test_sums();
	test_strata();
	test_sums_fit();
	pm_arena_release(&arena);
	return check_done("rivals");
}
