/*
 * test_metrics.c - measures of error by hand, families of models, folds.
 */
#include "check.h"
#include "make_graph.h"

#include "base/metrics.h"
#include "features/split.h"

static pm_arena arena;

static void
test_measures(void)
{
	const double measured[] = {10, 20, 40, 100, 1};
	const double predicted[] = {11, 18, 40, 150, 0.8};
	double		scratch[5];
	pm_metrics	m;

	/* errors 1 -2 0 50 -0.2; relative 0.1 -0.1 0 0.5 -0.2 */
	pm_metrics_compute(measured, predicted, 5, scratch, &m);
	CHECK_EQ(m.n, 5);
	CHECK_NEAR(m.mape, 0.18, 1e-12);
	CHECK_NEAR(m.median_ape, 0.1, 1e-12);
	/* percentile_cont(0.9) of 0 0.1 0.1 0.2 0.5: 0.2 + 0.6 * 0.3 */
	CHECK_NEAR(m.p90_ape, 0.38, 1e-12);
	CHECK_NEAR(m.mae, 53.2 / 5, 1e-12);
	CHECK_NEAR(m.rmse, sqrt(2505.04 / 5), 1e-12);
	CHECK_NEAR(m.within_10, 0.6, 1e-12);
	CHECK_NEAR(m.bias, 0.06, 1e-12);
	/* even number: the median lies between two; 0.9 * 3 = 2.7 */
	pm_metrics_compute(measured, predicted, 4, scratch, &m);
	CHECK_NEAR(m.median_ape, 0.1, 1e-12);
	CHECK_NEAR(m.p90_ape, 0.1 + 0.7 * 0.4, 1e-12);
	pm_metrics_compute(measured + 2, predicted + 2, 2, scratch, &m);
	CHECK_NEAR(m.median_ape, 0.25, 1e-12);
	CHECK_NEAR(m.p90_ape, 0.45, 1e-12);
	pm_metrics_compute(measured + 4, predicted + 4, 1, scratch, &m);
	CHECK_NEAR(m.median_ape, 0.2, 1e-12);
	CHECK_NEAR(m.p90_ape, 0.2, 1e-12);
	CHECK_NEAR(m.bias, -0.2, 1e-12);
	CHECK_EQ(m.within_10, 0);
	pm_metrics_compute(measured, measured, 5, scratch, &m);
	CHECK(m.mape == 0 && m.p90_ape == 0 && m.mae == 0 && m.rmse == 0 && m.within_10 == 1 && m.bias == 0);
}

static void
test_counts(void)
{
	const uint64_t v[] = {7, UINT64_MAX, 0, 7, UINT64_MAX, 7};
	const int	want[] = {3, 2, 1, 3, 2, 3};
	uint64_t	sorted[6];
	int			same[6];

	CHECK_EQ(pm_count_same(v, 6, sorted, same), 3);
	for (int i = 0; i < 6; i++)
		CHECK_EQ(same[i], want[i]);
	CHECK_EQ(pm_count_same(v, 0, sorted, same), 0);
}

static void
test_split_names(void)
{
	for (int i = 0; i < PM_N_SPLITS; i++)
		CHECK_EQ(pm_split_parse(pm_split_name[i]), i);
	CHECK_EQ(pm_split_parse("structure"), PM_SPLIT_STRUCTURE);
	CHECK_EQ(pm_split_parse("random"), -1);
	CHECK_EQ(pm_split_parse(""), -1);
}

/* ---------- folds ---------- */

static double
any_time(const pm_tokens *t)
{
	return t->total_roofline_us / 1000;
}

/* Rows of a data set, alternating between two gpus and a second copy of each graph under another name. */
static pm_dataset
rows(int networks, int batches)
{
	static pm_gpu second;
	pm_dataset	d = make_dataset(networks, batches, true, any_time, &arena);

	second = test_gpu;
	second.name = "Second";
	for (int i = 1; i < d.n; i += 2)
		d.samples[i].query.gpu = &second;
	for (int i = 0; i < d.n; i += 3)
	{
		pm_graph   *twin = PM_NEW(&arena, pm_graph, 1);

		*twin = *d.samples[i].query.graph;
		twin->name = twin->model = twin->family = "twin";
		d.samples[i].query.graph = twin;
	}
	return d;
}

static const char *
group_name(pm_split split, const pm_sample *s, char *buf)
{
	if (split == PM_SPLIT_STRUCTURE || split == PM_SPLIT_FAR)
		snprintf(buf, 64, "%llx", (unsigned long long) s->query.graph->structure);
	else if (split == PM_SPLIT_FAMILY)
		snprintf(buf, 64, "%s", s->query.graph->family);
	else
		snprintf(buf, 64, "%s", s->query.gpu->name);
	return buf;
}

/* Every row is in a fold, folds are not empty, no group lies in two. Returns the number of folds. */
static int
check_folds(pm_split split, int folds, uint64_t seed, const pm_dataset *d, int *fold_of)
{
	int			n_folds = -1;
	int			torn = 0;

	CHECK_EQ(pm_split_assign(split, folds, seed, d, &arena, fold_of, &n_folds, NULL), PM_OK);
	for (int f = 0; f < n_folds; f++)
	{
		int			size = 0;

		for (int i = 0; i < d->n; i++)
			size += fold_of[i] == f;
		CHECK(size > 0);
	}
	for (int i = 0; i < d->n; i++)
	{
		CHECK(fold_of[i] >= 0 && fold_of[i] < n_folds);
		for (int j = 0; j < i; j++)
		{
			char		a[64], b[64];

			torn += fold_of[i] != fold_of[j] &&
				strcmp(group_name(split, &d->samples[i], a), group_name(split, &d->samples[j], b)) == 0;
		}
	}
	CHECK_EQ(torn, 0);
	return n_folds;
}

static void
test_folds(void)
{
	pm_dataset	d = rows(20, 3);
	int			fold[60];
	int			again[60];
	int			other[60];
	int			size[5] = {0};

	CHECK_EQ(check_folds(PM_SPLIT_STRUCTURE, 5, 1, &d, fold), 5);
	for (int i = 0; i < d.n; i++)
		size[fold[i]]++;
	for (int f = 0; f < 5; f++)
		CHECK_EQ(size[f], 12);	/* 20 structures of 3 rows */
	check_folds(PM_SPLIT_STRUCTURE, 5, 1, &d, again);
	check_folds(PM_SPLIT_STRUCTURE, 5, 2, &d, other);
	CHECK(memcmp(fold, again, sizeof(fold)) == 0);
	CHECK(memcmp(fold, other, sizeof(fold)) != 0);
	CHECK_EQ(check_folds(PM_SPLIT_STRUCTURE, 20, 1, &d, fold), 20);
	CHECK_EQ(check_folds(PM_SPLIT_FAMILY, 4, 1, &d, fold), 4);
	check_folds(PM_SPLIT_FAMILY, 4, 1, &d, again);
	check_folds(PM_SPLIT_FAMILY, 4, 9, &d, other);
	CHECK(memcmp(fold, again, sizeof(fold)) == 0);
	CHECK(memcmp(fold, other, sizeof(fold)) != 0);
	/* the family of twins, a third of the rows, leaves room for no other in its fold */
	for (int i = 0; i < d.n; i++)
		if (strcmp(d.samples[i].query.graph->family, "twin") != 0)
			CHECK(fold[i] != fold[0]);
	CHECK_EQ(check_folds(PM_SPLIT_GPU, 0, 1, &d, fold), 2);
	CHECK_EQ(check_folds(PM_SPLIT_GPU, 7, 1, &d, again), 2);
	CHECK(memcmp(fold, again, sizeof(fold)) == 0);
	/* the order of the rows does not decide */
	for (int i = 0; i < d.n / 2; i++)
	{
		pm_sample	s = d.samples[i];

		d.samples[i] = d.samples[d.n - 1 - i];
		d.samples[d.n - 1 - i] = s;
	}
	check_folds(PM_SPLIT_STRUCTURE, 5, 1, &d, fold);
	check_folds(PM_SPLIT_STRUCTURE, 5, 1, &d, again);
	CHECK(memcmp(fold, again, sizeof(fold)) == 0);
}

/* Roofline time of row i in operators of a type. */
static double
time_in(const pm_sample *s, int op)
{
	pm_tokens	t;
	double		sum = 0;

	CHECK_EQ(pm_tokens_build(s->skeleton, &s->query, &arena, &t, NULL), PM_OK);
	for (int i = 0; i < t.n; i++)
		if (t.skeleton->graph->nodes[t.skeleton->node[i]].op == op)
			sum += pm_roofline_share(&t, i);
	return sum;
}

/* Networks that spend their time alike are in one fold, whatever they are called; folds have as many networks each. */
static void
test_far_split(void)
{
	pm_dataset	d = rows(24, 2);
	const char *op[] = {"Softmax", "MaxPool", "Relu"};
	int			fold[72];
	int			again[72];
	int			networks[3] = {0};
	int			torn = 0;
	int			n_folds = -1;
	pm_status	st;

	for (int i = 0; i < d.n; i++)
	{
		graph_text	t;
		char		name[32];
		int			x;
		const pm_graph *g;

		snprintf(name, sizeof(name), "net%d", i / 2);
		text_start(&t, name, name);
		x = net_input(&t, 3, 32);
		x = net_conv(&t, x, 3, 8 + i / 2, 32, 3, 1);
		for (int k = 0; k < 12; k++)
			x = net_unary(&t, op[i / 2 % 3], x, 8 + i / 2, 32);
		net_classifier(&t, x, 8 + i / 2, 10);
		g = text_finish(&t, &arena);
		d.samples[i] = make_sample(g, make_skeleton(g, true, &arena), 4 + i % 2, 1);
	}
	CHECK_EQ(check_folds(PM_SPLIT_FAR, 3, 1, &d, fold), 3);
	for (int i = 0; i < d.n; i++)
	{
		networks[fold[i]] += i % 2;
		torn += fold[i] != fold[i % 6];
	}
	CHECK_EQ(torn, 0);
	for (int f = 0; f < 3; f++)
		CHECK_EQ(networks[f], 8);
	CHECK(time_in(&d.samples[0], pm_op_find("Softmax")) > 0.3);
	for (int i = 0; i < d.n / 2; i++)
	{
		pm_sample	s = d.samples[i];

		d.samples[i] = d.samples[d.n - 1 - i];
		d.samples[d.n - 1 - i] = s;
	}
	check_folds(PM_SPLIT_FAR, 3, 7, &d, again);
	for (int i = 0; i < d.n; i++)
		CHECK_EQ(again[i], fold[d.n - 1 - i]);
	CHECK_EQ(pm_split_assign(PM_SPLIT_FAR, 25, 1, &d, &arena, fold, &n_folds, &st), PM_ERR_DATA);
	CHECK_HAS(st.message, "split \"far\" needs at least 25 networks, one for each fold; there are 24");
}

/*
 * n networks with twelve of each of two operators, which take their time in one of them: the first `alike` in another one than
 * the others.  The fold of each, which has room for an equal part of the networks.
 */
static void
far_folds(int n, int alike, int folds, int *fold)
{
	pm_dataset	d = {.samples = PM_NEW(&arena, pm_sample, n),.n = n};
	int			n_folds;

	for (int i = 0; i < n; i++)
	{
		graph_text	t;
		const pm_graph *g;
		int			x;

		text_start(&t, "far", "far");
		x = net_conv(&t, net_input(&t, 3, 32), 3, 8 + i, 32, 3, 1);
		for (int k = 0; k < 12; k++)
			x = net_unary(&t, i < alike ? "Softmax" : "Relu", x, 8 + i, 32);
		x = net_unary(&t, "GlobalAveragePool", x, 8 + i, 1);
		for (int k = 0; k < 12; k++)
			x = net_unary(&t, i < alike ? "Relu" : "Softmax", x, 8 + i, 1);
		g = text_finish(&t, &arena);
		d.samples[i] = make_sample(g, make_skeleton(g, true, &arena), 4, 1);
	}
	CHECK_EQ(pm_split_assign(PM_SPLIT_FAR, folds, 1, &d, &arena, fold, &n_folds, NULL), PM_OK);
	CHECK_EQ(n_folds, folds);
}

static void
test_far_room(void)
{
	int			fold[8];
	int			first = 0;

	/* the two that are unlike the other six are farthest from the mean: the first fold begins with them, and has room for two more */
	far_folds(8, 6, 2, fold);
	CHECK(fold[6] == 0 && fold[7] == 0);
	for (int i = 0; i < 6; i++)
		first += fold[i] == 0;
	CHECK_EQ(first, 2);
	/* of seven, one fold has four */
	far_folds(7, 5, 2, fold);
	first = 0;
	for (int i = 0; i < 7; i++)
		first += fold[i] == 0;
	CHECK(first == 3 || first == 4);
	/* as many folds as networks */
	far_folds(3, 2, 3, fold);
	CHECK(fold[0] != fold[1] && fold[1] != fold[2] && fold[0] != fold[2]);
}

/* Networks on one card are dealt, if they were measured on two; the others always train. */
static void
test_transfer_split(void)
{
	pm_dataset	d = rows(20, 3);
	int			fold[60];
	int			n_folds;
	int			size[4] = {0};

	/* the first network and the last one: on one card alone */
	for (int i = 0; i < 60; i++)
		if (i < 3 || i >= 57)
			d.samples[i].query.gpu = &test_gpu;
	CHECK_EQ(pm_split_assign(PM_SPLIT_TRANSFER, 4, 1, &d, &arena, fold, &n_folds, NULL), PM_OK);
	CHECK_EQ(n_folds, 4);
	for (int i = 0; i < 60; i++)
	{
		CHECK_EQ(fold[i] < 0, i < 3 || i >= 57);
		for (int k = 3; k < 57; k++)
			if (i >= 3 && i < 57 && pm_transfer_key(&d.samples[i]) == pm_transfer_key(&d.samples[k]))
				CHECK_EQ(fold[i], fold[k]);
		if (fold[i] >= 0)
			size[fold[i]]++;
	}
	/* 36 pairs of a network and a card, of one or two rows each */
	for (int f = 0; f < 4; f++)
		CHECK(size[f] >= 9 && size[f] <= 18);
	CHECK(pm_transfer_key(&d.samples[3]) != pm_transfer_key(&d.samples[4]));
	CHECK(pm_transfer_key(&d.samples[3]) == pm_transfer_key(&d.samples[5]));
}

static void
test_batch_split(void)
{
	pm_dataset	d = rows(4, 5);		/* batches 2 4 8 16 32 */
	int			fold[20];
	int			n_folds = -1;

	CHECK_EQ(pm_split_assign(PM_SPLIT_BATCH, 5, 1, &d, &arena, fold, &n_folds, NULL), PM_OK);
	CHECK_EQ(n_folds, 1);
	for (int i = 0; i < d.n; i++)
		CHECK_EQ(fold[i], d.samples[i].query.batch > 8 ? 0 : -1);
}

static void
test_too_few(void)
{
	pm_dataset	d = rows(3, 2);
	pm_dataset	one = {.n = 1, .samples = d.samples};
	pm_dataset	none = {.n = 0, .samples = d.samples};
	int			fold[6];
	int			n_folds;
	pm_status	st;

	CHECK_EQ(pm_split_assign(PM_SPLIT_STRUCTURE, 4, 1, &d, &arena, fold, &n_folds, &st), PM_ERR_DATA);
	CHECK_HAS(st.message, "split \"structure\" needs at least 4 groups of measurements, one for each fold; there are 3");
	CHECK_EQ(pm_split_assign(PM_SPLIT_STRUCTURE, 3, 1, &d, &arena, fold, &n_folds, &st), PM_OK);
	CHECK_EQ(pm_split_assign(PM_SPLIT_STRUCTURE, 1, 1, &d, &arena, fold, &n_folds, &st), PM_ERR_OPTION);
	CHECK_EQ(pm_split_assign(PM_SPLIT_FAMILY, 0, 1, &d, &arena, fold, &n_folds, &st), PM_ERR_OPTION);
	CHECK_EQ(pm_split_assign(PM_SPLIT_FAMILY, 2, 1, &one, &arena, fold, &n_folds, &st), PM_ERR_DATA);
	CHECK_HAS(st.message, "there is 1");
	CHECK_EQ(pm_split_assign(PM_SPLIT_GPU, 0, 1, &one, &arena, fold, &n_folds, &st), PM_ERR_DATA);
	CHECK_EQ(pm_split_assign(PM_SPLIT_BATCH, 0, 1, &one, &arena, fold, &n_folds, &st), PM_ERR_DATA);
	CHECK_HAS(st.message, "different batch sizes");
	for (int split = 0; split < PM_N_SPLITS; split++)
		CHECK_EQ(pm_split_assign((pm_split) split, 2, 1, &none, &arena, fold, &n_folds, &st), PM_ERR_DATA);
}

static void
test_trust_measures(void)
{
	const double measured[] = {10, 20, 30, 40, 50};
	const double predicted[] = {11, 20, 27, 50, 50};
	const double low[] = {10, 21, NAN, 30, 40};
	const double high[] = {12, 25, NAN, 60, 50};
	const signed char domain[] = {1, 1, 0, 0, -1};
	pm_trust_metrics m;

	pm_trust_metrics_compute(measured, predicted, low, high, domain, 5, &m);
	CHECK_EQ(m.n_intervals, 4);
	CHECK_EQ(m.n_judged, 4);
	CHECK_NEAR(m.coverage, 0.75, 1e-15);	/* ends belong to the interval */
	CHECK_NEAR(m.width, (2 / 11.0 + 4 / 20.0 + 30 / 50.0 + 10 / 50.0) / 4, 1e-15);
	CHECK_EQ(m.in_domain, 0.5);
	CHECK_NEAR(m.mape_in_domain, 0.05, 1e-15);
	CHECK_NEAR(m.mape_out_of_domain, (0.1 + 0.25) / 2, 1e-15);
	pm_trust_metrics_compute(measured + 2, predicted + 2, low + 2, high + 2, domain + 4, 1, &m);
	CHECK_EQ(m.n_intervals, 0);
	CHECK_EQ(m.n_judged, 0);
	CHECK(isnan(m.coverage) && isnan(m.width) && isnan(m.in_domain));
	CHECK(isnan(m.mape_in_domain) && isnan(m.mape_out_of_domain));
}

/* Tables of the normal distribution. */
static void
test_deviations(void)
{
	CHECK_NEAR(pm_deviations(0.5), 0.67449, 5e-4);
	CHECK_NEAR(pm_deviations(0.9), 1.64485, 5e-4);
	CHECK_NEAR(pm_deviations(0.99), 2.57583, 5e-4);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_measures();
	test_deviations();
	test_trust_measures();
	test_counts();
	test_split_names();
	test_folds();
	test_far_split();
	test_far_room();
	test_transfer_split();
	test_batch_split();
	test_too_few();
	pm_arena_release(&arena);
	return check_done("metrics");
}
