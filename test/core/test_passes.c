/*
 * test_passes.c - a kind that learns from forward passes of inference itself:
 * the network's factor, errors of networks that were left out, and the interval.
 */
#include "check.h"
#include "make_graph.h"

#include "features/split.h"
#include "predictor/cross.h"
#include "predictor/infer.h"
#include "predictor/passes.h"
#include "predictor/recalibrate.h"
#include "predictor/stored.h"

#define NETWORKS	40
#define NUMBER(what, value) {.name = what, .number = value}

static pm_arena arena;

static double
step_rule(const pm_tokens *t)
{
	return 0.5 + 2e-9 * t->total_flops + 4e-9 * t->total_bytes;
}

/* Steps of NETWORKS networks at two batches, and a pass of each, which takes far less than its share of the step. */
static pm_dataset
steps_and_passes(void)
{
	pm_dataset	d = make_dataset(NETWORKS, 2, true, step_rule, &arena);

	d.passes = PM_NEW(&arena, pm_sample, d.n);
	for (int i = 0; i < d.n; i += 2)
	{
		pm_sample  *pass = &d.passes[d.n_passes++];

		*pass = d.samples[i];
		pass->query.mode = PM_INFERENCE;
		pass->step_ms *= 0.08;
	}
	return d;
}

static pm_predictor
trained(const pm_dataset *d, double weight, double folds)
{
	const pm_setting settings[] = {NUMBER("epochs", 30), NUMBER("d_model", 16), NUMBER("d_operator", 8), NUMBER("hidden", 16),
		NUMBER("calibration_folds", folds), NUMBER("pass_weight", weight)};

	return make_predictor("mdot", settings, 6, d, &arena);
}

static double
answer(const pm_predictor *p, const pm_sample *s)
{
	double		ms = NAN;

	CHECK_EQ(pm_predictor_predict(p, s, &arena, &ms, NULL, NULL, NULL), PM_OK);
	return ms;
}

/* Mean error of what the kind itself says of the passes, without what is known of passes beside it. */
static double
own_error(const pm_predictor *p, const pm_dataset *d)
{
	pm_predictor alone = *p;
	double		sum = 0;

	alone.passes = NULL;
	for (int i = 0; i < d->n_passes; i++)
		sum += fabs(log(answer(&alone, &d->passes[i]) / d->passes[i].step_ms));
	return sum / d->n_passes;
}

/* With weight 0, passes change nothing about steps and are learned by factors alone; else the network learns them. */
static void
test_weight(const pm_dataset *d)
{
	pm_dataset	steps = *d;
	pm_predictor plain,
				unused,
				apart,
				learned;

	steps.n_passes = 0;
	plain = trained(&steps, 0, 0);
	unused = trained(&steps, 0.3, 0);
	apart = trained(d, 0, 0);
	learned = trained(d, 0.3, 0);
	for (int i = 0; i < d->n; i++)
	{
		CHECK_EQ(answer(&apart, &d->samples[i]), answer(&plain, &d->samples[i]));
		/* its sums have one summand more, which is 0: how they round is the compiler's choice */
		CHECK_NEAR(answer(&unused, &d->samples[i]) / answer(&plain, &d->samples[i]), 1, 1e-5);
	}
	CHECK(plain.passes == NULL && apart.passes != NULL);
	CHECK(own_error(&learned, d) < 0.3 * own_error(&apart, d));
	CHECK_EQ(learned.passes->machine[0].structures, NETWORKS);
	CHECK_EQ(learned.passes->machine[0].error, 0.15);
}

/*
 * Errors are those of trainings that have seen neither steps nor passes of a network: a wrong time of its passes does not change what
 * they say of it.
 */
static void
test_left_out(const pm_dataset *d, const pm_predictor *p)
{
	pm_dataset	wrong = *d;
	pm_cross	c,
				other;

	wrong.passes = PM_NEW(&arena, pm_sample, d->n_passes);
	memcpy(wrong.passes, d->passes, d->n_passes * sizeof(pm_sample));
	wrong.passes[0].step_ms *= 50;
	CHECK_EQ(pm_cross_predict(p, d, 3, 1, 1, NULL, &arena, &c, NULL), PM_OK);
	CHECK_EQ(pm_cross_predict(p, &wrong, 3, 1, 1, NULL, &arena, &other, NULL), PM_OK);
	CHECK(c.n >= 1 && other.n == c.n);
	for (int k = 0; k < c.n; k++)
	{
		int			changed = 0;

		for (int i = 0; i < d->n_passes; i++)
		{
			CHECK(c.pass_ms[k][i] > 0 && isfinite(c.pass_ms[k][i]));
			changed += c.pass_ms[k][i] != other.pass_ms[k][i];
		}
		CHECK_EQ(c.pass_ms[k][0], other.pass_ms[k][0]);
		CHECK_EQ(c.set[k].ms[0], other.set[k].ms[0]);
		CHECK_EQ(c.set[k].ms[1], other.set[k].ms[1]);
		CHECK(changed > 0);
	}
}

static pm_verdict
judged(const pm_predictor *p, const pm_sample *s)
{
	pm_verdict	v;

	CHECK_EQ(pm_predictor_judge(p, s, answer(p, s), 0.9, &arena, &v, NULL), PM_OK);
	return v;
}

/*
 * With passes of many networks, the interval is that of the errors on passes, whatever is known of steps on the card; twice that on networks
 * unlike those in training.
 */
static void
test_interval(const pm_dataset *d, const pm_predictor *p)
{
	const pm_pass_device *device = pm_passes_find(p->passes, "Test 1000");
	double		error = p->passes->machine[0].error;

	CHECK(error > 0 && error != 0.15 && error <= p->passes->machine[0].error_abroad);
	CHECK(device != NULL && device->error[PM_NCHW] > 0 && fabs(device->error[PM_NHWC] - error) <= 1e-12 * error);
	for (int i = 0; i < d->n_passes; i++)
	{
		double		ms = answer(p, &d->passes[i]);
		pm_verdict	v = judged(p, &d->passes[i]);

		CHECK(v.low_ms <= ms && ms <= v.high_ms);
		CHECK(v.high_ms / v.low_ms <= exp((v.in_domain ? 2 : 4) * device->error[PM_NCHW] * log(10)) * (1 + 1e-9));
	}
}

/* A layout whose passes repeat badly has wider intervals than one in which they do not. */
static void
test_layouts(pm_dataset d)
{
	pm_sample  *steady = d.passes;
	pm_predictor p;
	const pm_pass_device *device;
	uint64_t	random = 7;

	d.passes = PM_NEW(&arena, pm_sample, 2 * d.n_passes);
	for (int i = 0; i < d.n_passes; i++)
	{
		d.passes[2 * i] = d.passes[2 * i + 1] = steady[i];
		d.passes[2 * i + 1].query.layout = PM_NHWC;
		d.passes[2 * i + 1].step_ms *= exp((random = pm_mix(random)) % 2 == 0 ? -0.6 : 0.6);
	}
	d.n_passes *= 2;
	p = trained(&d, 0, 0);
	device = pm_passes_find(p.passes, "Test 1000");
	CHECK(device->error[PM_NHWC] > 2 * device->error[PM_NCHW]);
	CHECK(device->error[PM_NCHW] < p.passes->machine[0].error && p.passes->machine[0].error < device->error[PM_NHWC]);
}

static bool
has_cause(const pm_verdict *v, pm_cause cause)
{
	return (v->causes & (1u << cause)) != 0;
}

/*
 * Steps on one card, passes on another: about inference, the other one is known, in the format and at the batches of its passes; about
 * training, it is not.
 */
static void
test_card_of_passes(pm_dataset d)
{
	static pm_gpu other;
	pm_sample	asked;
	pm_predictor p;
	pm_verdict	v;

	other = test_gpu;
	other.name = "Test 1001";
	for (int i = 0; i < d.n_passes; i++)
		d.passes[i].query.gpu = &other;
	p = trained(&d, 0.3, 3);
	asked = d.passes[0];
	v = judged(&p, &asked);
	CHECK(v.in_domain);
	CHECK_EQ(v.causes, 0u);
	asked.query.batch = 64;
	v = judged(&p, &asked);
	CHECK(has_cause(&v, PM_CAUSE_BATCH_ABOVE));
	CHECK_HAS(v.reason, "in mode inference");
	asked.query.batch = 2;
	asked.query.dtype = PM_AMP;
	v = judged(&p, &asked);
	CHECK(has_cause(&v, PM_CAUSE_DTYPE_NOT_SEEN) && !has_cause(&v, PM_CAUSE_GPU_NOT_SEEN));
	asked = d.passes[0];
	asked.query.mode = PM_TRAIN;
	v = judged(&p, &asked);
	CHECK(has_cause(&v, PM_CAUSE_GPU_NOT_SEEN));
}

/* Passes of fewer than five networks do not make a card known; those that were in training count in a stored form, too. */
static void
test_few_passes(pm_dataset d)
{
	pm_predictor p;
	pm_predictor again;
	uint8_t    *data;
	size_t		len;
	pm_verdict	v;

	d.n_passes = 4;
	p = trained(&d, 0.3, 3);
	v = judged(&p, &d.passes[0]);
	CHECK(has_cause(&v, PM_CAUSE_MODE_NOT_SEEN));
	d.n_passes = 5;
	p = trained(&d, 0.3, 3);
	CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &again, NULL), PM_OK);
	v = judged(&again, &d.passes[0]);
	CHECK(v.in_domain);
}

/* The passes of n networks of d as measured on a machine where they take `factor` times what p says. */
static pm_dataset
measured_again(const pm_predictor *p, const pm_dataset *d, int n, double factor, const pm_gpu *gpu)
{
	pm_dataset	m = {.passes = PM_NEW(&arena, pm_sample, n),.n_passes = n};

	for (int i = 0; i < n; i++)
	{
		m.passes[i] = d->passes[i];
		m.passes[i].query.gpu = gpu;
		m.passes[i].step_ms = factor * answer(p, &m.passes[i]);
	}
	return m;
}

static double
ratio(const pm_predictor *a, const pm_predictor *b, pm_sample s, const pm_gpu *gpu, pm_mode mode)
{
	s.query.gpu = gpu;
	s.query.mode = mode;
	return answer(a, &s) / answer(b, &s);
}

/*
 * New passes move the times of their card: of a known one by n / (n + 3) of what they say, of another by n / (n + 1). Training steps and
 * other cards stay as they are.
 */
static void
test_recalibrate(const pm_dataset *d, const pm_predictor *p)
{
	static pm_gpu other;
	const pm_sample *s = &d->passes[NETWORKS - 1];
	const pm_pass_device *known;
	const pm_pass_device *now;
	pm_recalibration r;
	pm_predictor out;
	pm_predictor again;
	pm_dataset	m;

	other = test_gpu;
	other.name = "Test 1001";
	m = measured_again(p, d, 9, 1.3, &test_gpu);
	CHECK_EQ(pm_recalibrate(p, &m, NULL, NULL, &arena, &out, &r, NULL), PM_OK);
	CHECK_NEAR(log(ratio(&out, p, *s, &test_gpu, PM_INFERENCE)), log(1.3) * 9 / 12, 1e-9);
	CHECK_EQ(ratio(&out, p, *s, &test_gpu, PM_TRAIN), 1);
	/* each of the nine is off what the others say by the rest; the error that was known counts as three of them, and stays in the other layout */
	known = pm_passes_find(p->passes, test_gpu.name);
	now = pm_passes_find(out.passes, test_gpu.name);
	CHECK(known->error[PM_NCHW] > 0 && known->error[PM_NHWC] > 0);
	CHECK_NEAR(now->error[PM_NCHW], (9 * log(1.3) * (1 - 8.0 / 11) + 3 * known->error[PM_NCHW]) / 12, 1e-9);
	CHECK_NEAR(now->error[PM_NHWC], known->error[PM_NHWC], 1e-12);
	/* the same passes once more say the same */
	CHECK_EQ(pm_recalibrate(&out, &m, NULL, NULL, &arena, &again, &r, NULL), PM_OK);
	CHECK_NEAR(ratio(&again, &out, *s, &test_gpu, PM_INFERENCE), 1, 1e-12);
	CHECK_EQ(pm_recalibrate(p, &m, NULL, NULL, &arena, &out, &r, NULL), PM_OK);
	CHECK_EQ(ratio(&out, p, *s, &other, PM_INFERENCE), 1);
	CHECK_NEAR(r.mape_before, 1 - 1 / 1.3, 1e-9);
	CHECK_NEAR(r.mape_after, 1 - exp(log(1.3) * (8.0 / 11 - 1)), 1e-9);
	CHECK_EQ(r.structures, 9);
	m = measured_again(p, d, 9, 0.7, &other);
	CHECK(has_cause(&(pm_verdict) {.causes = judged(p, &m.passes[0]).causes}, PM_CAUSE_GPU_NOT_SEEN));
	CHECK_EQ(pm_recalibrate(p, &m, NULL, NULL, &arena, &out, &r, NULL), PM_OK);
	CHECK_NEAR(log(ratio(&out, p, *s, &other, PM_INFERENCE)), log(0.7) * 9 / 10, 1e-9);
	CHECK_EQ(ratio(&out, p, *s, &test_gpu, PM_INFERENCE), 1);
	CHECK_EQ(pm_passes_find(out.passes, "Test 1001")->structures, 9);
	CHECK(judged(&out, &m.passes[0]).in_domain);
	/* one network says less, and nothing about errors */
	m.n_passes = 1;
	CHECK_EQ(pm_recalibrate(p, &m, NULL, NULL, &arena, &out, &r, NULL), PM_OK);
	CHECK_NEAR(log(ratio(&out, p, *s, &other, PM_INFERENCE)), log(0.7) / 2, 1e-9);
	CHECK(isnan(r.mape_after));
}

/* Steps and passes together: the correction of steps holds for passes, too, so these move what is left. */
static void
test_recalibrate_both(const pm_dataset *d, const pm_predictor *p)
{
	pm_dataset	m = measured_again(p, d, 10, 1.3, &test_gpu);
	pm_recalibration r;
	pm_predictor out;
	bool		seen[10] = {true};

	m.samples = PM_NEW(&arena, pm_sample, 10);
	m.n = 10;
	for (int i = 0; i < m.n; i++)
	{
		m.samples[i] = d->samples[2 * i];
		m.samples[i].step_ms = 1.3 * answer(p, &m.samples[i]);
		seen[i] = true;
	}
	CHECK_EQ(pm_recalibrate(p, &m, seen, NULL, &arena, &out, &r, NULL), PM_OK);
	CHECK(ratio(&out, p, d->passes[NETWORKS - 1], &test_gpu, PM_TRAIN) > 1.15);
	CHECK_NEAR(ratio(&out, p, d->passes[NETWORKS - 1], &test_gpu, PM_INFERENCE), 1.3, 0.05);
	CHECK(r.mape_after < r.mape_before / 2);
	CHECK_EQ(r.structures, 10);
}

/* In a cross-validation, a pass is not in the training that is tested on steps of its network, family or card. */
static void
test_folds(const pm_dataset *d)
{
	static pm_gpu other;
	int		   *fold = PM_NEW(&arena, int, d->n);
	int			folds;
	pm_sample	pass;
	pm_graph	renamed;

	other = test_gpu;
	other.name = "Test 1001";
	for (int split = 0; split < 2; split++)
	{
		CHECK_EQ(pm_split_assign(split == 0 ? PM_SPLIT_STRUCTURE : PM_SPLIT_FAMILY, 4, 1, d, &arena, fold, &folds, NULL), PM_OK);
		for (int i = 0; i < d->n; i++)
			CHECK_EQ(pm_split_fold_of_pass(split == 0 ? PM_SPLIT_STRUCTURE : PM_SPLIT_FAMILY, d, fold, &d->passes[i / 2]), fold[i]);
	}
	for (int i = 0; i < d->n; i++)
		fold[i] = i % 2 ? 0 : -1;
	pass = d->passes[0];
	CHECK_EQ(pm_split_fold_of_pass(PM_SPLIT_TRANSFER, d, fold, &pass), 0);
	CHECK_EQ(pm_split_fold_of_pass(PM_SPLIT_BATCH, d, fold, &pass), -1);
	pass.query.batch = 1000;
	CHECK_EQ(pm_split_fold_of_pass(PM_SPLIT_BATCH, d, fold, &pass), 0);
	/* larger than the largest that trains, smaller than those that are tested */
	pass.query.batch = 3;
	CHECK_EQ(pm_split_fold_of_pass(PM_SPLIT_BATCH, d, fold, &pass), 0);
	/* the same network by another name is in the same family */
	renamed = *pass.query.graph;
	renamed.family = "twin";
	pass.query.graph = &renamed;
	CHECK_EQ(pm_split_fold_of_pass(PM_SPLIT_FAMILY, d, fold, &pass), 0);
	pass.query.gpu = &other;
	CHECK_EQ(pm_split_fold_of_pass(PM_SPLIT_TRANSFER, d, fold, &pass), -1);
	CHECK_EQ(pm_split_fold_of_pass(PM_SPLIT_GPU, d, fold, &pass), -1);
	CHECK_EQ(pm_split_fold_of_pass(PM_SPLIT_STRUCTURE, d, fold, &pass), 0);
}

int
main(void)
{
	pm_dataset	d;
	pm_predictor calibrated;

	pm_arena_init_malloc(&arena);
	d = steps_and_passes();
	test_weight(&d);
	test_folds(&d);
	calibrated = trained(&d, 0.3, 3);
	test_left_out(&d, &calibrated);
	test_interval(&d, &calibrated);
	test_layouts(d);
	test_few_passes(d);
	test_recalibrate(&d, &calibrated);
	test_recalibrate_both(&d, &calibrated);
	test_card_of_passes(d);
	pm_arena_release(&arena);
	return check_done("passes");
}
