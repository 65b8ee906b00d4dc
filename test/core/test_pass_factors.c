/*
 * test_pass_factors.c - factors, levels and errors of forward passes, by the formulas of passes.c, for a predictor whose
 * answers are known.
 */
#include "check.h"
#include "make_graph.h"

#include "features/split.h"
#include "predictor/passes.h"

#define NETWORKS	9
#define USUAL		0.15		/* error where no passes say more */

static pm_arena arena;
static pm_gpu other_gpu;
static pm_gpu cpu;
static pm_dataset nets;			/* a row of each network */

/* ---- a predictor whose answers are known ---- */

#define PASS_MS		10.0
#define STEP_MS		50.0
#define FORWARD_MS	15.0		/* 0.3 of the step */

static int	factor = PM_PASS_REST;	/* of the one part that all the time is in */
static double over_sum = 1;		/* answers with factors over the sum of parts times factors */
static int	asked;				/* how many forward parts of steps */
static int	asked_of_half;		/* and how many of these of the first half of the rows */

static pm_code
known_answer(const pm_predictor *p, const pm_sample *s, pm_arena *scratch, double *ms, pm_part *parts, int *n_parts, pm_status *st)
{
	(void) scratch;
	(void) st;
	*ms = s->query.mode == PM_TRAIN ? STEP_MS : s->query.mode == PM_FORWARD ? FORWARD_MS : PASS_MS;
	asked += s->query.mode == PM_FORWARD;
	asked_of_half += s->query.mode == PM_FORWARD && s->id <= 750;
	if (parts != NULL)
	{
		/* token 0 is a convolution */
		parts[0] = (pm_part) {.token = factor == PM_PASS_REST ? -1 : 0,.step_ms = *ms,.bound = factor == PM_PASS_LAUNCH ? 'l' : 'm'};
		*n_parts = 1;
	}
	if (p->passes != NULL)
		*ms *= p->passes->machine[s->query.gpu->is_cpu].factor[factor] * over_sum;
	return PM_OK;
}

static bool
learns(const pm_options *o)
{
	(void) o;
	return true;
}

static const pm_kind plain_kind = {.name = "plain"};
static const pm_kind learning_kind = {.name = "learning",.learns_passes = learns};

/* A pass of network i that takes `times` as long as predicted. */
static pm_sample
pass_of(int i, double times, const pm_gpu *gpu)
{
	pm_sample	s = nets.samples[i];

	s.query.gpu = gpu;
	s.query.mode = PM_INFERENCE;
	s.step_ms = times * PASS_MS;
	return s;
}

/* Passes of the first n networks. */
static pm_dataset
passes_of(int n, double times, const pm_gpu *gpu)
{
	pm_dataset	d = {.passes = PM_NEW(&arena, pm_sample, 4 * NETWORKS),.n_passes = n};

	for (int i = 0; i < n; i++)
		d.passes[i] = pass_of(i, times, gpu);
	return d;
}

static const pm_passes *
fit(const pm_dataset *d, const pm_kind *kind, const double *cross_ms)
{
	pm_predictor p = {.kind = kind};
	const pm_passes *t = NULL;

	CHECK_EQ(pm_passes_fit(&p, known_answer, d, cross_ms, NULL, &arena, &t, NULL), PM_OK);
	CHECK(t != NULL);
	return t;
}

/* ---- the formulas ---- */

static int
up(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/*
 * n passes that take times[] as long as predicted, each a network of weight w.  *start: where the factors begin, the prior
 * times the median of times / prior to the power of networks / (networks + 1); this is what factors of no part stay.  Returns
 * the factor of the part: four rounds of least squares of the relative errors, of which those above 0.05 count by their size
 * and not its square, with a price of 0.03 for the distance from *start.
 */
static double
fitted(const double *times, int n, double w, double prior, double *start)
{
	double		ratio[4 * NETWORKS];
	double		f;

	for (int i = 0; i < n; i++)
		ratio[i] = log(times[i] / prior);
	qsort(ratio, n, sizeof(double), up);
	f = *start = prior * (n == 0 ? 1 : exp(ratio[n / 2] * n * w / (n * w + 1)));
	for (int round = 0; round < 4 && n > 0; round++)
	{
		double		g = 0.03;
		double		h = 0.03 * *start;

		for (int i = 0; i < n; i++)
		{
			double		x = 1 / times[i];
			double		weight = w * 0.05 / fmax(fabs(x * f - 1), 0.05);

			g += weight * x * x;
			h += weight * x;
		}
		f = h / g;
	}
	return f;
}

/* The same of n passes that all take as long. */
static double
fitted_alike(double times, int n, double w, double prior, double *start)
{
	double		all[4 * NETWORKS];

	for (int i = 0; i < n; i++)
		all[i] = times;
	return fitted(all, n, w, prior, start);
}

/* Networks among the first n that are in the fold of network i, one of ten. */
static int
in_fold_of(int i, int n)
{
	int			same = 0;

	for (int k = 0; k < n; k++)
		same += pm_mix(nets.samples[k].query.graph->structure) % 10 == pm_mix(nets.samples[i].query.graph->structure) % 10;
	return same;
}

/* Errors on n passes of weight w that all take as long, by factors and levels of the other folds: a level is n / (n + 1) of what they say. */
static double
errors_of_folds(double times, int n, double w)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
	{
		int			others = n - in_fold_of(i, n);
		double		start;

		sum += w * fabs(log(fitted_alike(times, others, w, 1, &start) / times)) / (others * w + 1);
	}
	return sum;
}

/* ---- passes ---- */

/* All passes on one card take 0.8 of what is predicted: their part has that factor, the rest most of it. */
static void
test_one_card(void)
{
	static const int factors[] = {PM_PASS_REST, PM_PASS_LAUNCH, PM_N_CLASSES + PM_CONV_KXK};
	pm_dataset	d = passes_of(NETWORKS, 0.8, &test_gpu);

	for (int k = 0; k < 6; k++)
	{
		const pm_passes *t;
		double		start;
		double		f;
		double		sum;
		double		error;

		factor = factors[k % 3];
		/* answers that are 1.1 times the sum of parts are corrected for that */
		over_sum = k < 3 ? 1 : 1.1;
		t = fit(&d, &plain_kind, NULL);
		f = fitted_alike(0.8, NETWORKS, 1, 1, &start);
		CHECK_NEAR(t->machine[0].factor[factor], 0.8 / over_sum, 1e-12);
		CHECK_NEAR(t->machine[0].factor[PM_CLASS_NORM], start * 0.8 / over_sum / f, 1e-9);
		CHECK_EQ(t->machine[0].structures, NETWORKS);
		CHECK(t->n == 1 && t->device[0].structures == NETWORKS);
		CHECK_NEAR(t->device[0].level, 0, 1e-12);
		/* the usual error counts as those of three networks */
		sum = errors_of_folds(0.8 / over_sum, NETWORKS, 1);
		error = (sum + 3 * USUAL) / (NETWORKS + 3);
		CHECK_NEAR(t->machine[0].error, error, 1e-9);
		CHECK_NEAR(t->device[0].error[PM_NCHW], (sum + 3 * error) / (NETWORKS + 3), 1e-9);
		CHECK_NEAR(t->device[0].error[PM_NHWC], error, 1e-12);
		/* no other card tells how large errors on a new one are; nothing is known of passes on CPUs */
		CHECK_EQ(t->machine[0].error_abroad, USUAL);
		CHECK(t->machine[1].structures == 0 && t->machine[1].error == 0.25);
		CHECK_NEAR(t->machine[1].factor[factor], 0.87, 1e-12);
	}
	factor = PM_PASS_REST;
	over_sum = 1;
}

/* One pass of nine takes ten times as long: factors hardly move, the level a tenth of the way. */
static void
test_one_wrong(void)
{
	double		times[NETWORKS] = {10, 1, 1, 1, 1, 1, 1, 1, 1};
	pm_dataset	d = passes_of(NETWORKS, 1, &test_gpu);
	const pm_passes *t;
	double		start;
	double		f = fitted(times, NETWORKS, 1, 1, &start);

	d.passes[0].step_ms *= 10;
	t = fit(&d, &plain_kind, NULL);
	CHECK_NEAR(t->machine[0].factor[PM_PASS_REST], 1, 1e-12);
	CHECK_NEAR(t->machine[0].factor[PM_PASS_LAUNCH], 1 / f, 1e-9);
	CHECK_NEAR(t->device[0].level, log(10) / (NETWORKS + 1), 1e-9);
}

/* A network counts once, however often it was measured; a noisy row counts less. */
static void
test_weights(void)
{
	pm_dataset	d = passes_of(NETWORKS, 0.8, &test_gpu);
	double		start;
	double		f = fitted_alike(0.8, NETWORKS, 1, 1, &start);

	for (int k = 0; k < 2; k++)
		d.passes[d.n_passes++] = pass_of(0, 0.8, &test_gpu);
	CHECK_NEAR(fit(&d, &plain_kind, NULL)->machine[0].factor[PM_PASS_LAUNCH], start * 0.8 / f, 1e-9);
	d = passes_of(NETWORKS, 0.8, &test_gpu);
	for (int i = 0; i < NETWORKS; i++)
		d.passes[i].weight = 0.5;
	f = fitted_alike(0.8, NETWORKS, 0.5, 1, &start);
	CHECK_NEAR(fit(&d, &plain_kind, NULL)->machine[0].factor[PM_PASS_LAUNCH], start * 0.8 / f, 1e-9);
}

/* Passes of nine networks on one card, of five of these on another one, which takes 1.2 of what is predicted. */
static void
test_two_cards(void)
{
	pm_dataset	d = passes_of(NETWORKS, 0.8, &test_gpu);
	double		start;
	double		first = fitted_alike(0.8, NETWORKS, 1, 1, &start);
	double		second = fitted_alike(1.2, 5, 1, 1, &start);
	const pm_passes *t;

	for (int i = 0; i < 5; i++)
		d.passes[d.n_passes++] = pass_of(i, 1.2, &other_gpu);
	t = fit(&d, &plain_kind, NULL);
	CHECK(t->n == 2 && t->machine[0].structures == NETWORKS && t->device[0].structures == NETWORKS && t->device[1].structures == 5);
	/* the one in the middle is of the first card */
	CHECK_NEAR(t->machine[0].factor[PM_PASS_REST], 0.8, 1e-12);
	CHECK_NEAR(t->device[0].level, 0, 1e-12);
	CHECK_NEAR(t->device[1].level, log(1.2 / 0.8) * 5 / 6, 1e-12);
	/* each card by what the other one says, without a level */
	CHECK_NEAR(t->machine[0].error_abroad,
			   (NETWORKS * fabs(log(second / 0.8)) + 5 * fabs(log(first / 1.2)) + 3 * USUAL) / (NETWORKS + 5 + 3), 1e-9);
}

/* A device that takes far more than is predicted has the largest level. */
static void
test_most_level(void)
{
	pm_dataset	d = passes_of(NETWORKS, 0.8, &test_gpu);
	const pm_passes *t;

	for (int i = 0; i < 5; i++)
		d.passes[d.n_passes++] = pass_of(i, 8, &other_gpu);
	t = fit(&d, &plain_kind, NULL);
	CHECK_EQ(t->device[1].level, 0.7);
}

/* A CPU takes 0.87 of a forward part, and 0.56 where it is a norm, until passes say more. */
static void
test_cpu(void)
{
	pm_dataset	d = passes_of(NETWORKS, 0.5, &cpu);
	const pm_passes *t = fit(&d, &plain_kind, NULL);
	double		start;
	double		f = fitted_alike(0.5, NETWORKS, 1, 0.87, &start);

	CHECK_NEAR(t->machine[1].factor[PM_PASS_REST], 0.5, 1e-12);
	CHECK_NEAR(t->machine[1].factor[PM_PASS_LAUNCH], start * 0.5 / f, 1e-9);
	CHECK_NEAR(t->machine[1].factor[PM_CLASS_NORM] / t->machine[1].factor[PM_PASS_LAUNCH], 0.56 / 0.87, 1e-9);
	CHECK_EQ(t->machine[0].factor[PM_CLASS_NORM], 1);
}

/* ---- forward times of steps ---- */

/* Steps of n networks, whose forward part is this share of them; they take twice as long as predicted. */
static pm_dataset
steps_of(int n, double share)
{
	pm_dataset	d = {.samples = PM_NEW(&arena, pm_sample, n),.n = n};

	for (int i = 0; i < n; i++)
	{
		d.samples[i] = nets.samples[i % NETWORKS];
		d.samples[i].id = i + 1;
		d.samples[i].step_ms = 2 * STEP_MS;
		d.samples[i].forward_ms = share * d.samples[i].step_ms;
	}
	return d;
}

/* The forward part is 0.24 of a step and 0.3 of the predicted one, so that factors begin at 0.8; passes go on from there. */
static void
test_steps(void)
{
	pm_dataset	d = steps_of(NETWORKS + 1, 0.24);
	double		start;
	double		f = fitted_alike(0.8, NETWORKS, 1, 1, &start);
	double		g;
	double		further;
	const pm_passes *t;

	/* longer than its step: not looked at */
	d.samples[NETWORKS].forward_ms = 2 * d.samples[NETWORKS].step_ms;
	t = fit(&d, &plain_kind, NULL);
	CHECK(t->n == 0 && t->machine[0].structures == 0 && t->machine[0].error == USUAL);
	CHECK_NEAR(t->machine[0].factor[PM_PASS_REST], f, 1e-9);
	CHECK_NEAR(t->machine[0].factor[PM_PASS_LAUNCH], start, 1e-9);
	d.passes = passes_of(NETWORKS, 0.6, &test_gpu).passes;
	d.n_passes = NETWORKS;
	t = fit(&d, &plain_kind, NULL);
	g = fitted_alike(0.6, NETWORKS, 1, f, &further);
	CHECK_NEAR(t->machine[0].factor[PM_PASS_REST], 0.6, 1e-12);
	CHECK_NEAR(t->machine[0].factor[PM_PASS_LAUNCH], start * further / f * 0.6 / g, 1e-9);
}

/* Of many steps, a thousand are learned from, evenly out of all. */
static void
test_many_steps(void)
{
	pm_dataset	d = steps_of(1500, 0.24);

	asked = asked_of_half = 0;
	(void) fit(&d, &plain_kind, NULL);
	CHECK_EQ(asked, 1000);
	CHECK_EQ(asked_of_half, 500);
}

/* ---- kinds that learn from passes themselves ---- */

/* The errors are those of predictions by trainings that have not seen the network: here, 5 % above the measured time. */
static void
test_left_out(void)
{
	pm_dataset	d = passes_of(NETWORKS, 0.8, &test_gpu);
	double		cross_ms[NETWORKS];
	double		sum = 0;
	double		error;
	const pm_passes *t;

	for (int i = 0; i < NETWORKS; i++)
	{
		d.passes[i].weight = 0.5;
		cross_ms[i] = 1.05 * d.passes[i].step_ms;
	}
	/* of the last one nothing is known */
	cross_ms[NETWORKS - 1] = NAN;
	t = fit(&d, &learning_kind, cross_ms);
	for (int i = 0; i < NETWORKS - 1; i++)
		sum += 0.5 * log(1.05) / (0.5 * (NETWORKS - 1 - in_fold_of(i, NETWORKS - 1)) + 1);
	error = (sum + 3 * USUAL) / (0.5 * (NETWORKS - 1) + 3);
	CHECK_NEAR(t->machine[0].error, error, 1e-12);
	CHECK_NEAR(t->device[0].error[PM_NCHW], (sum + 3 * error) / (0.5 * (NETWORKS - 1) + 3), 1e-12);
	/* on a card that is not known, never less than usual */
	CHECK_EQ(t->machine[0].error_abroad, USUAL);
	for (int i = 0; i < NETWORKS; i++)
		cross_ms[i] = 1.5 * d.passes[i].step_ms;
	t = fit(&d, &learning_kind, cross_ms);
	CHECK_NEAR(t->machine[0].error_abroad, (0.5 * NETWORKS * log(1.5) + 3 * USUAL) / (0.5 * NETWORKS + 3), 1e-12);
}

/* ---- recalibration ---- */

/* A predictor that knows no passes, and two passes of each of four networks: these count as four, and factors are 1. */
static void
test_update(void)
{
	pm_predictor p = {.kind = &plain_kind};
	pm_dataset	d = passes_of(4, 1.3, &test_gpu);
	const pm_passes *t = NULL;
	pm_pass_answers answers;

	for (int i = 0; i < 4; i++)
		d.passes[d.n_passes++] = pass_of(i, 1.3, &test_gpu);
	CHECK_EQ(pm_passes_update(&p, known_answer, &d, NULL, &arena, &t, &answers, NULL), PM_OK);
	CHECK(t->n == 1 && t->device[0].structures == 4);
	CHECK_NEAR(t->device[0].moved, log(1.3) * 4 / 5, 1e-12);
	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
		CHECK(t->machine[0].factor[k] == 1 && t->machine[1].factor[k] == 1);
	CHECK(t->machine[0].error == USUAL && t->machine[0].error_abroad == USUAL && t->machine[1].error == 0.25 && t->machine[1].error_abroad == 0.25);
	/* three networks say 3/4 of it of the fourth; the error so far counts as three networks */
	CHECK_NEAR(t->device[0].error[PM_NCHW], (4 * log(1.3) / 4 + 3 * USUAL) / 7, 1e-12);
	CHECK_NEAR(answers.after[0], PASS_MS * exp(log(1.3) * 3 / 4), 1e-9);
}

/* What is known of one device, as a predictor has it after training and a recalibration. */
static pm_passes
known_of(pm_pass_device *device)
{
	pm_passes	t = {.n = 1,.device = device};

	*device = (pm_pass_device) {.gpu = "Test 1000",.structures = 8,.level = 0.2,.moved = 0.4,.error = {0.3}};
	for (int is_cpu = 0; is_cpu < 2; is_cpu++)
	{
		t.machine[is_cpu] = (pm_pass_machine) {.structures = 8 + is_cpu,.error = 0.1,.error_abroad = 0.5};
		for (int k = 0; k < PM_N_PASS_FACTORS; k++)
			t.machine[is_cpu].factor[k] = 0.5 + 0.01 * k;
	}
	return t;
}

/*
 * Passes of three networks on the device that is known, of three on another one.  What was known counts as three networks and
 * as one; what an earlier recalibration said is forgotten, and answers have it already.
 */
static void
test_update_of_known(void)
{
	pm_pass_device device;
	const pm_passes old = known_of(&device);
	const double told = PASS_MS * old.machine[0].factor[PM_PASS_REST];
	pm_predictor p = {.kind = &plain_kind,.passes = &old};
	pm_dataset	d = passes_of(3, 1.3 * told / PASS_MS, &test_gpu);
	const pm_passes *t = NULL;
	pm_pass_answers answers;

	for (int i = 0; i < 3; i++)
		d.passes[d.n_passes++] = pass_of(i, 1.3 * told / PASS_MS, &other_gpu);
	CHECK_EQ(pm_passes_update(&p, known_answer, &d, NULL, &arena, &t, &answers, NULL), PM_OK);
	CHECK_EQ(t->n, 2);
	CHECK_EQ(t->device[0].structures, 8);
	CHECK_EQ(t->device[0].level, 0.2);
	CHECK_NEAR(t->device[0].moved, (log(1.3) + 0.4) * 3 / 6, 1e-12);
	/* the other two networks move what training alone says by 2/5, of which 0.4 are in the answer */
	CHECK_NEAR(answers.after[0], told * exp((log(1.3) + 0.4) * 2 / 5 - 0.4), 1e-9);
	CHECK_NEAR(t->device[0].error[PM_NCHW], (3 * (log(1.3) + 0.4) * 3 / 5 + 3 * 0.3) / 6, 1e-12);
	/* of a layout of which nothing is known, the error on devices that are known; of a new device, that on new ones */
	CHECK_NEAR(t->device[0].error[PM_NHWC], 0.1, 1e-12);
	CHECK_EQ(t->device[1].structures, 3);
	CHECK_NEAR(t->device[1].moved, log(1.3) * 3 / 4, 1e-12);
	CHECK_NEAR(t->device[1].error[PM_NHWC], 0.5, 1e-12);
	/* nine thousand times as long: a device is moved by at most e^7 */
	for (int i = 0; i < 3; i++)
		d.passes[i].step_ms = told * 1e9;
	CHECK_EQ(pm_passes_update(&p, known_answer, &d, NULL, &arena, &t, &answers, NULL), PM_OK);
	CHECK_EQ(t->device[0].moved, 7);
}

/* ---- the stored form ---- */

static pm_code
stored(const pm_passes *t, const pm_passes **back)
{
	pm_buffer	b = {.arena = &arena};
	pm_reader	r;

	pm_passes_save(t, &b);
	r = (pm_reader) {.data = b.data,.len = b.len};
	return pm_passes_load(&r, &arena, back, NULL);
}

static void
test_stored(void)
{
	pm_pass_device device;
	pm_passes	t = known_of(&device);
	const pm_passes *back = NULL;

	t.machine[1].error = 0.2;
	CHECK_EQ(stored(&t, &back), PM_OK);
	CHECK(back->n == 1 && strcmp(back->device[0].gpu, device.gpu) == 0 && back->device[0].structures == 8);
	CHECK(back->device[0].level == 0.2 && back->device[0].moved == 0.4 && back->device[0].error[PM_NCHW] == 0.3 && back->device[0].error[PM_NHWC] == 0);
	for (int i = 0; i < 2; i++)
	{
		CHECK_EQ(back->machine[i].structures, 8 + i);
		CHECK(back->machine[i].error == t.machine[i].error && back->machine[i].error_abroad == 0.5);
		CHECK(memcmp(back->machine[i].factor, t.machine[i].factor, sizeof(t.machine[i].factor)) == 0);
	}
	/* out of their bounds: a factor, a level, what a recalibration said */
	t.machine[1].factor[3] = 5.01;
	CHECK_EQ(stored(&t, &back), PM_ERR_FORMAT);
	t.machine[1].factor[3] = 0.04;
	CHECK_EQ(stored(&t, &back), PM_ERR_FORMAT);
	t.machine[1].factor[3] = 5;
	device.moved = 7;
	CHECK_EQ(stored(&t, &back), PM_OK);
	device.moved = -7.01;
	CHECK_EQ(stored(&t, &back), PM_ERR_FORMAT);
	device.moved = 0;
	device.level = 0.71;
	CHECK_EQ(stored(&t, &back), PM_ERR_FORMAT);
}

/* A group that is new since it was stored has the factor of launches, and one that is no more is passed over. */
static void
test_stored_before(void)
{
	pm_buffer	b = {.arena = &arena};
	pm_reader	r;
	const pm_passes *back = NULL;

	for (int is_cpu = 0; is_cpu < 2; is_cpu++)
	{
		pm_put_u32(&b, 7);
		pm_put_f64(&b, 0.1);
		pm_put_f64(&b, 0.2);
		pm_put_u32(&b, 3);
		pm_put_u32(&b, 0);
		pm_put_text(&b, "conv");
		pm_put_f64(&b, 0.9);
		pm_put_u32(&b, 0);
		pm_put_text(&b, "launch");
		pm_put_f64(&b, 0.6);
		/* no kind of convolution, though a class has the name */
		pm_put_u32(&b, 1);
		pm_put_text(&b, "norm");
		pm_put_f64(&b, 0.7);
	}
	pm_put_u32(&b, 0);
	r = (pm_reader) {.data = b.data,.len = b.len};
	CHECK_EQ(pm_passes_load(&r, &arena, &back, NULL), PM_OK);
	CHECK(back->n == 0 && back->machine[1].structures == 7);
	for (int k = 0; k < PM_N_PASS_FACTORS; k++)
		CHECK_EQ(back->machine[0].factor[k], k == PM_CLASS_CONV ? 0.9 : 0.6);
}

static double
any_time(const pm_tokens *t)
{
	(void) t;
	return 1;
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	nets = make_dataset(NETWORKS + 1, 1, true, any_time, &arena);
	other_gpu = cpu = test_gpu;
	other_gpu.name = "Test 1001";
	cpu.name = "Test CPU";
	cpu.is_cpu = true;
	test_one_card();
	test_one_wrong();
	test_weights();
	test_two_cards();
	test_most_level();
	test_cpu();
	test_steps();
	test_many_steps();
	test_left_out();
	test_update();
	test_update_of_known();
	test_stored();
	test_stored_before();
	pm_arena_release(&arena);
	return check_done("pass_factors");
}
