/*
 * test_card_state.c - the state of a card: the regression that finds it, what
 * it does to predictions, and that recalibrate() finds one that is there.
 */
#include "check.h"
#include "make_graph.h"
#include "nn/solve.h"
#include "predictor/evidence.h"
#include "predictor/probes.h"
#include "predictor/recalibrate.h"
#include "predictor/sensitivity.h"

static pm_arena arena;
static const pm_gpu other_gpu = {.name = "Other GPU", .mem_bw_gbs = 500, .fp32_tflops = 10, .sm_count = 40, .memory_gb = 16,
	.cores_per_sm = NAN, .clock_ghz = NAN, .fp16_tensor_tflops = NAN, .l2_mb = NAN, PM_GPU_REST_UNKNOWN};

static double
some_time(const pm_tokens *t)
{
	return 2 * t->total_roofline_us / 1000 + 1;
}

/* ---------- the regression ---------- */

/* Rows of `structures` networks, `each` of them, u = z . truth + errors. */
static pm_evidence
make_evidence(int structures, int each, const double *truth, const double *prior, int p, pm_rng *rng)
{
	int			n = structures * each;
	pm_evidence e = {.n = n, .p = p, .z = PM_NEW(&arena, double, n * p), .u = PM_NEW(&arena, double, n),
		.weight = PM_NEW(&arena, double, n), .structure = PM_NEW(&arena, int, n), .prior = prior};

	for (int i = 0; i < n; i++)
	{
		e.structure[i] = i / each;
		e.weight[i] = 1;
		for (int k = 0; k < p; k++)
		{
			e.z[i * p + k] = k == 0 ? 1 : pm_rng_uniform(rng);
			e.u[i] += truth[k] * e.z[i * p + k];
		}
	}
	return e;
}

static void
solve(const pm_evidence *e, double *v, double *precision)
{
	CHECK_EQ(pm_evidence_solve(e, v, precision, &arena, NULL), PM_OK);
}

static void
test_found(void)
{
	const double truth[3] = {0.4, -0.3, 0.2};
	const double prior[3] = {1, 1, 1};
	pm_rng		rng;
	pm_evidence e;
	double		v[3],
				few[3];

	pm_rng_seed(&rng, 1);
	e = make_evidence(60, 3, truth, prior, 3, &rng);
	solve(&e, v, NULL);
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(v[k], truth[k], 0.02);
	/* a tenth of absurd networks changes little */
	for (int i = 0; i < e.n; i++)
		if (e.structure[i] % 10 == 0)
			e.u[i] += 3;
	solve(&e, v, NULL);
	for (int k = 0; k < 3; k++)
		CHECK_NEAR(v[k], truth[k], 0.1);
	/* one network: all numbers stay between 0 and what it says */
	e.n = 3;
	solve(&e, few, NULL);
	CHECK(fabs(few[0]) < 3.4 && few[0] > 0.1);
}

/* The precision is that of the covariance written out: of one structure of two rows, inverted by hand. */
static void
test_precision(void)
{
	const double prior[2] = {0.5, 0.2};
	double		tau = PM_STRUCTURE_SD * PM_STRUCTURE_SD;
	double		row = PM_ROW_SD * PM_ROW_SD;
	double		a = tau + row;
	double		det = a * a - tau * tau;
	double		z[4] = {1, 0.3, 1, -0.8};
	double		m[4] = {1 / (prior[0] * prior[0]), 0, 0, 1 / (prior[1] * prior[1])};
	double		weight[2],
				sum_z[2];

	pm_evidence_add(m, 2, z, 2, weight, sum_z);
	for (int j = 0; j < 2; j++)
		for (int k = 0; k < 2; k++)
		{
			double		want = (j == k ? 1 / (prior[j] * prior[j]) : 0) +
				(a * z[j] * z[k] - tau * z[j] * z[2 + k] - tau * z[2 + j] * z[k] + a * z[2 + j] * z[2 + k]) / det;

			CHECK_NEAR(m[2 * j + k], want, 1e-6 * fabs(want) + 1e-9);
		}
}

/* ---------- what a state does ---------- */

static void
random_state(double *state, double most, pm_rng *rng)
{
	for (int k = 0; k < PM_N_STATE; k++)
		state[k] = most * (2 * pm_rng_uniform(rng) - 1);
}

static pm_predictor
with_state(const pm_predictor *base, const char *gpu, const double *state)
{
	pm_predictor p = *base;
	pm_correction *c = PM_NEW(&arena, pm_correction, 1);

	c->n = 1;
	c->device = PM_NEW(&arena, pm_device_correction, 1);
	c->device[0].gpu = gpu;
	memcpy(c->device[0].state, state, sizeof(c->device[0].state));
	p.correction = c;
	return p;
}

static void
check_prepared(const pm_predictor *p, const pm_sample *s, double ms)
{
	pm_arena	scratch;
	pm_prepared x;
	pm_status	st;
	double		again = NAN;

	pm_arena_init_malloc(&scratch);
	CHECK_EQ(pm_predictor_prepare(p, s, &scratch, &scratch, NULL, &x, &st), PM_OK);
	CHECK_EQ(pm_predictor_predict_prepared(p, &x, s, &scratch, &again, &st), PM_OK);
	CHECK_EQ(again, ms);
	pm_arena_release(&scratch);
}

static void
check_parts(const pm_predictor *p, const pm_sample *s, double ms)
{
	pm_part    *parts = PM_NEW(&arena, pm_part, s->skeleton->n + 1);
	double		sum = 0;
	int			n;
	double		again;

	CHECK_EQ(pm_predictor_predict(p, s, &arena, &again, parts, &n, NULL), PM_OK);
	CHECK_EQ(again, ms);
	for (int i = 0; i < n; i++)
		sum += parts[i].step_ms;
	CHECK_NEAR(sum / ms, 1, 1e-9);
}

/* Whatever the state: the same answers prepared or not, parts that sum up, and no larger batch that takes less time. */
static void
test_any_state(const pm_predictor *base, const pm_dataset *d)
{
	pm_rng		rng;

	pm_rng_seed(&rng, 3);
	for (int round = 0; round < 20; round++)
	{
		pm_sample	s = d->samples[(int) (pm_rng_uniform(&rng) * d->n)];
		double		state[PM_N_STATE];
		double		before = 0;
		pm_predictor p;

		random_state(state, round < 10 ? 0.5 : 3, &rng);
		p = with_state(base, s.query.gpu->name, state);
		for (s.query.batch = 1; s.query.batch <= 4096; s.query.batch *= 2)
		{
			double		ms = predict_row(&p, &s);

			CHECK(isfinite(ms) && ms >= before);
			before = ms;
		}
		s.query.batch = 8;
		check_prepared(&p, &s, predict_row(&p, &s));
		check_parts(&p, &s, predict_row(&p, &s));
		/* another card is not touched */
		p = with_state(base, "Another", state);
		CHECK_EQ(predict_row(&p, &s), predict_row(base, &s));
	}
}

static double
sum_of(const double *z, int from, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += z[from + i];
	return sum;
}

/* The time of the device is all of its classes', in the format of the question alone; these networks have Relu and Add for elementwise. */
static void
check_elements(const pm_sample *s, const double *z)
{
	int			format = PM_STATE_FORMAT + (int) s->query.dtype * PM_N_GROUPS;
	double		elementwise = 0;

	CHECK_NEAR(sum_of(z, PM_STATE_CLASS, PM_N_GROUPS), z[PM_STATE_DEVICE], 1e-3);
	for (int k = 0; k < PM_N_GROUPS; k++)
		CHECK_EQ(z[format + k], z[PM_STATE_CLASS + k]);
	CHECK_NEAR(sum_of(z, PM_STATE_FORMAT, PM_N_FACTORS - PM_STATE_FORMAT), z[PM_STATE_DEVICE], 1e-3);
	for (int k = PM_STATE_TYPE; k < PM_STATE_FORMAT; k++)
		if (pm_op_class(pm_op_find(pm_state_names.names[k])) == PM_CLASS_ELEMENTWISE)
			elementwise += z[k];
	CHECK(z[PM_STATE_CLASS + PM_CLASS_ELEMENTWISE] > 0);
	CHECK_NEAR(elementwise, z[PM_STATE_CLASS + PM_CLASS_ELEMENTWISE], 1e-3);
}

/* The derivatives say what a small state does. */
static void
test_sensitivity(const pm_predictor *base, const pm_dataset *d)
{
	pm_rng		rng;

	pm_rng_seed(&rng, 4);
	for (int i = 0; i < d->n; i += 7)
	{
		const pm_sample *s = &d->samples[i];
		double		z[PM_N_FACTORS];
		double		state[PM_N_STATE];
		double		ms,
					change = 0;
		pm_predictor p;

		CHECK_EQ(pm_sensitivity(base, s, NULL, &arena, &ms, z, NULL), PM_OK);
		CHECK_EQ(ms, predict_row(base, s));
		random_state(state, 0.02, &rng);
		for (int k = 0; k < PM_N_FACTORS; k++)
			change += state[k] * z[k];
		p = with_state(base, s->query.gpu->name, state);
		CHECK_NEAR(log(predict_row(&p, s) / ms), change, 2e-3);
		/* launches, rest and device are all of the step */
		CHECK_NEAR(z[PM_STATE_LAUNCH] + z[PM_STATE_REST] + z[PM_STATE_DEVICE], 1, 0.01);
		check_elements(s, z);
	}
}

/* ---------- recalibrating ---------- */

/* A card whose convolutions are slow and whose launches are quick, measured on half of the networks. */
static void
test_recalibrate(const pm_predictor *base, const pm_dataset *d)
{
	double		state[PM_N_STATE] = {0};
	pm_sample  *rows = PM_NEW(&arena, pm_sample, d->n);
	pm_dataset	half = {.n = d->n / 2, .samples = rows};
	pm_recalibration r;
	pm_predictor card,
				p;
	double		worst = 0,
				without = 0;

	state[PM_STATE_CONV] = 0.5;
	state[PM_STATE_LAUNCH] = -0.4;
	card = with_state(base, other_gpu.name, state);
	for (int i = 0; i < d->n; i++)
	{
		rows[i] = d->samples[i];
		rows[i].query.gpu = &other_gpu;
		rows[i].step_ms = predict_row(&card, &rows[i]);
	}
	CHECK_EQ(pm_recalibrate(base, &half, NULL, NULL, &arena, &p, &r, NULL), PM_OK);
	for (int i = half.n; i < d->n; i++)
	{
		worst = fmax(worst, fabs(log(predict_row(&p, &rows[i]) / rows[i].step_ms)));
		without = fmax(without, fabs(log(predict_row(base, &rows[i]) / rows[i].step_ms)));
	}
	CHECK(worst < 0.1 && worst < without / 3);
	CHECK(r.mape_after < r.mape_before / 3);
}

/* Mean absolute error in logarithms. */
static double
mean_log_error(const pm_predictor *p, const pm_dataset *d)
{
	double		sum = 0;

	for (int i = 0; i < d->n; i++)
		sum += fabs(log(predict_row(p, &d->samples[i]) / d->samples[i].step_ms));
	return sum / d->n;
}

/* Rows of other_gpu, a card in a state, of all questions of d and of these in AMP. */
static pm_dataset
measured_on(const pm_predictor *card, const pm_dataset *d)
{
	pm_dataset	all = {.n = 2 * d->n, .samples = PM_NEW(&arena, pm_sample, 2 * d->n)};

	for (int i = 0; i < all.n; i++)
	{
		pm_sample  *s = &all.samples[i];

		*s = d->samples[i / 2];
		s->query.gpu = &other_gpu;
		s->query.dtype = i % 2 == 0 ? PM_FP32 : PM_AMP;
		s->step_ms = predict_row(card, s);
	}
	return all;
}

/* What differs in one format alone is found, too; classes alone would leave most of the error. */
static void
test_formats(const pm_predictor *base, const pm_dataset *d)
{
	double		state[PM_N_STATE] = {0};
	pm_recalibration r;
	pm_predictor card,
				p;
	pm_dataset	rows,
				first,
				rest;

	state[PM_STATE_FORMAT + PM_AMP * PM_N_GROUPS + PM_N_CLASSES + PM_CONV_KXK] = 0.8;
	card = with_state(base, other_gpu.name, state);
	rows = measured_on(&card, d);
	first = (pm_dataset) {.n = rows.n / 2, .samples = rows.samples};
	rest = (pm_dataset) {.n = rows.n / 2, .samples = rows.samples + rows.n / 2};
	CHECK_EQ(pm_recalibrate(base, &first, NULL, NULL, &arena, &p, &r, NULL), PM_OK);
	CHECK(mean_log_error(&p, &rest) < mean_log_error(base, &rest) / 3);
}

/* Mean logarithm of what p says over what base says, of the rows of d in a format. */
static double
moved_in(const pm_predictor *p, const pm_predictor *base, const pm_dataset *d, pm_dtype dtype)
{
	double		sum = 0;
	int			n = 0;

	for (int i = 0; i < d->n; i++)
		if (d->samples[i].query.dtype == dtype)
		{
			sum += log(predict_row(p, &d->samples[i]) / predict_row(base, &d->samples[i]));
			n++;
		}
	return sum / n;
}

/* Steps in one format that are all slower say less of another format: much of it may be about the units of the first. */
static void
test_other_format(const pm_predictor *base, const pm_dataset *d)
{
	const double slower = 0.4;
	const double state[PM_N_STATE] = {0};
	pm_predictor card = with_state(base, other_gpu.name, state);
	pm_dataset	both = measured_on(&card, d);
	pm_dataset	fp32 = {.samples = PM_NEW(&arena, pm_sample, both.n)};
	pm_recalibration r;
	pm_predictor p;
	double		here;
	double		there;

	for (int i = 0; i < both.n; i++)
		if (both.samples[i].query.dtype == PM_FP32)
		{
			fp32.samples[fp32.n] = both.samples[i];
			fp32.samples[fp32.n++].step_ms *= exp(slower);
		}
	CHECK_EQ(pm_recalibrate(base, &fp32, NULL, NULL, &arena, &p, &r, NULL), PM_OK);
	here = moved_in(&p, base, &both, PM_FP32);
	there = moved_in(&p, base, &both, PM_AMP);
	CHECK_NEAR(here, slower, 0.05);
	CHECK(there > 0.2 * here && there < 0.8 * here);
}

/* What was learned of many networks on a card is not undone by a few steps in a format, but twenty on a slower machine are believed. */
static void
test_cell_prior(void)
{
	CHECK(pm_cell_prior(0) > 2 * pm_cell_prior(100));
	CHECK(pm_cell_prior(100) > 0 && pm_cell_prior(100) == pm_cell_prior(1e6));
}

/* One measurement that is absurd moves no other network far. */
static void
test_one_absurd(const pm_predictor *base, const pm_dataset *d)
{
	const double state[PM_N_STATE] = {0};
	pm_predictor card = with_state(base, other_gpu.name, state);
	pm_dataset	rows = measured_on(&card, d);
	pm_recalibration r;
	pm_predictor p;
	pm_dataset	few = {.n = 20, .samples = rows.samples};

	few.samples[7].step_ms *= 30;
	CHECK_EQ(pm_recalibrate(base, &few, NULL, NULL, &arena, &p, &r, NULL), PM_OK);
	for (int i = few.n; i < rows.n; i++)
		CHECK(fabs(log(predict_row(&p, &rows.samples[i]) / rows.samples[i].step_ms)) < 0.1);
}

/* Launches hide much of a card that is slow in all else: only where the state has led shows what they leave. */
static void
test_followed(const pm_predictor *base, const pm_dataset *d)
{
	double		state[PM_N_STATE] = {0};
	pm_recalibration r;
	pm_predictor card,
				p;
	pm_dataset	rows;

	state[PM_STATE_LAUNCH] = -1;
	state[PM_STATE_MEMORY] = 0.8;
	state[PM_STATE_CONV] = 0.8;
	card = with_state(base, other_gpu.name, state);
	rows = measured_on(&card, d);
	CHECK_EQ(pm_recalibrate(base, &rows, NULL, NULL, &arena, &p, &r, NULL), PM_OK);
	CHECK(mean_log_error(&p, &rows) < 0.02);
}

/* Each element has a name of its own, and those of operators are operators that there are. */
static void
test_names(void)
{
	CHECK_EQ(pm_state_names.n, PM_N_STATE);
	for (int k = 0; k < PM_N_STATE; k++)
	{
		CHECK(pm_state_names.names[k] != NULL);
		for (int j = 0; j < k; j++)
			CHECK(strcmp(pm_state_names.names[j], pm_state_names.names[k]) != 0);
		CHECK(pm_state_prior(k) > 0);
	}
	for (int k = PM_STATE_TYPE; k < PM_STATE_FORMAT; k++)
		CHECK(pm_op_find(pm_state_names.names[k]) != PM_OP_UNKNOWN);
}

/* Cards far from all that the prior expects: their own rows are never further off than before. */
static void
test_far_cards(const pm_predictor *base, const pm_dataset *d)
{
	pm_gpu		quick = other_gpu;
	pm_rng		rng;

	/* on such a card launches are nearly all of a step, and a factor on the rest has to be large before it is seen */
	quick.fp32_tflops *= 30;
	quick.fp16_tensor_tflops *= 30;
	quick.mem_bw_gbs *= 30;
	pm_rng_seed(&rng, 5);
	for (int round = 0; round < 60; round++)
	{
		const pm_gpu *gpu = round % 2 == 0 ? &quick : &other_gpu;
		double		state[PM_N_STATE];
		pm_sample	rows[10];
		pm_dataset	few = {.n = 10, .samples = rows};
		pm_recalibration r;
		pm_predictor card,
					p;

		random_state(state, 1 + round % 5, &rng);
		card = with_state(base, gpu->name, state);
		for (int i = 0; i < few.n; i++)
		{
			rows[i] = d->samples[(int) (pm_rng_uniform(&rng) * d->n)];
			rows[i].query.gpu = gpu;
			rows[i].step_ms = predict_row(&card, &rows[i]) * exp(round % 3 * (2 * pm_rng_uniform(&rng) - 0.5));
		}
		CHECK_EQ(pm_recalibrate(base, &few, NULL, NULL, &arena, &p, &r, NULL), PM_OK);
		CHECK(mean_log_error(&p, &few) <= mean_log_error(base, &few) * (1 + 1e-9));
	}
}

/* ---------- what to measure ---------- */

/* Mean variance of all questions when some are measured, from the precision written out: what the greedy choice makes small. */
static double
variance_after(const pm_probe_questions *q, const int *picked, int n_picked)
{
	enum {p = PM_N_FACTORS + 2};
	double	   *m = PM_NEW(&arena, double, p * p);
	double		centre = 0,
				sum = 0;
	double		weight[1],
				sum_z[p];

	for (int i = 0; i < q->n; i++)
		centre += q->log_ms[i] / q->n;
	for (int k = 0; k < PM_N_FACTORS; k++)
		m[k * p + k] = 1 / (pm_state_prior(k) * pm_state_prior(k));
	m[PM_N_FACTORS * p + PM_N_FACTORS] = 1 / (PM_STEP_PRIOR * PM_STEP_PRIOR + pm_cell_prior(0) * pm_cell_prior(0));
	m[p * p - 1] = 1 / (PM_SLOPE_PRIOR * PM_SLOPE_PRIOR);
	for (int i = -n_picked; i < q->n; i++)
	{
		double		z[p];
		int			at = i < 0 ? picked[-i - 1] : i;

		memcpy(z, q->z + at * PM_N_FACTORS, PM_N_FACTORS * sizeof(double));
		z[PM_N_FACTORS] = 1;
		z[PM_N_FACTORS + 1] = q->log_ms[at] - centre;
		if (i < 0)
			pm_evidence_add(m, p, z, 1, weight, sum_z);
		else
		{
			double	   *left = PM_NEW(&arena, double, p * p);
			double		x[p];

			memcpy(left, m, p * p * sizeof(double));
			memcpy(x, z, sizeof(x));
			CHECK(pm_solve_spd(left, x, p));
			for (int k = 0; k < p; k++)
				sum += z[k] * x[k] / q->n;
		}
	}
	return sum;
}

static bool
count_asks(void *ctx)
{
	(*(int *) ctx)++;
	return false;
}

static void
test_probes(const pm_predictor *base, const pm_dataset *d)
{
	enum {n = 30, most = 5};
	double		z[n * PM_N_FACTORS],
				log_ms[n],
				doubt[most + 1];
	int64_t		network[n];
	bool		measured[n] = {false};
	int			picked[most],
				again[most];
	int			found;
	int			asks = 0;
	const pm_hooks counting = {.stop = count_asks,.ctx = &asks};
	pm_probe_questions q = {.n = n, .z = z, .log_ms = log_ms, .network = network, .measured = measured};

	for (int i = 0; i < n; i++)
	{
		double		ms;

		CHECK_EQ(pm_sensitivity(base, &d->samples[2 * (i / 2) + i % 2], NULL, &arena, &ms, z + i * PM_N_FACTORS, NULL), PM_OK);
		log_ms[i] = log(ms);
		network[i] = i / 2;
	}
	CHECK_EQ(pm_choose_probes(&q, most, &arena, picked, &found, doubt, NULL), PM_OK);
	CHECK_EQ(found, most);
	for (int k = 0; k <= most; k++)
		CHECK_NEAR(doubt[k] * doubt[k], variance_after(&q, picked, k), 1e-9);
	for (int i = 0; i < n; i++)
		CHECK(variance_after(&q, &i, 1) >= doubt[1] * doubt[1] - 1e-12);
	for (int k = 0; k < most; k++)
	{
		CHECK(doubt[k + 1] < doubt[k]);
		for (int j = 0; j < k; j++)
			CHECK(network[picked[j]] != network[picked[k]]);
	}
	/* what is measured is not proposed again, and the choice goes on from there */
	measured[picked[0]] = true;
	CHECK_EQ(pm_choose_probes(&q, most, &arena, again, &found, doubt, NULL), PM_OK);
	for (int k = 0; k < most - 1; k++)
		CHECK_EQ(again[k], picked[k + 1]);
	/* no more than there are, and none of nothing */
	q.n = 4;
	CHECK_EQ(pm_choose_probes(&q, most, &arena, again, &found, doubt, NULL), PM_OK);
	CHECK(found <= 2);
	q.n = 0;
	CHECK_EQ(pm_choose_probes(&q, most, &arena, again, &found, doubt, NULL), PM_OK);
	CHECK_EQ(found, 0);
	/* a cancellation is noticed between any two of those that are measured: each costs a look at all */
	q.n = n;
	for (int i = 0; i < n; i++)
	{
		measured[i] = true;
		network[i] = i;
	}
	arena.hooks = &counting;
	CHECK_EQ(pm_choose_probes(&q, most, &arena, again, &found, doubt, NULL), PM_OK);
	arena.hooks = NULL;
	CHECK_EQ(found, 0);
	CHECK(asks >= n);
}

int
main(void)
{
	pm_setting	small[] = {{.name = "epochs", .number = 2}, {.name = "d_model", .number = 16}, {.name = "hidden", .number = 8},
	{.name = "calibration_folds", .number = 0}};
	pm_dataset	d;
	pm_predictor opclass,
				mdot,
				linear;

	pm_arena_init_malloc(&arena);
	d = make_dataset(40, 2, true, some_time, &arena);
	opclass = make_predictor("opclass", NULL, 0, &d, &arena);
	mdot = make_predictor("mdot", small, 4, &d, &arena);
	linear = make_predictor("linear", NULL, 0, &d, &arena);
	test_names();
	test_found();
	test_precision();
	CHECK(pm_has_state(&opclass) && pm_has_state(&mdot) && !pm_has_state(&linear));
	test_any_state(&opclass, &d);
	test_any_state(&mdot, &d);
	test_sensitivity(&opclass, &d);
	test_sensitivity(&mdot, &d);
	test_recalibrate(&opclass, &d);
	test_recalibrate(&mdot, &d);
	test_formats(&opclass, &d);
	test_formats(&mdot, &d);
	test_other_format(&opclass, &d);
	test_other_format(&mdot, &d);
	test_cell_prior();
	test_one_absurd(&opclass, &d);
	test_one_absurd(&mdot, &d);
	test_followed(&opclass, &d);
	test_followed(&mdot, &d);
	test_far_cards(&opclass, &d);
	test_far_cards(&mdot, &d);
	test_probes(&opclass, &d);
	test_probes(&mdot, &d);
	pm_arena_release(&arena);
	return check_done("card_state");
}
