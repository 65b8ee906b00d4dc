/*
 * test_infer.c - questions of inference: the work that is left, and the
 * answers of every kind.
 */
#include "check.h"
#include "small_kinds.h"

#include "predictor/infer.h"
#include "predictor/passes.h"

static pm_arena arena;

/* ---- work ---- */

/* A node of each sort: convolution, norm, dropout, classifier. */
static const pm_graph *
mixed_net(void)
{
	graph_text	t;
	int			x;

	text_start(&t, "mixed", "mixed");
	x = net_conv(&t, net_input(&t, 16, 16), 16, 16, 16, 3, 1);
	x = net_unary(&t, "Relu", net_norm(&t, x, 16, 16), 16, 16);
	x = net_unary(&t, "Dropout", x, 16, 16);
	net_classifier(&t, net_conv(&t, x, 16, 16, 16, 3, 1), 16, 10);
	return text_finish(&t, &arena);
}

static int
node_of(const pm_graph *g, const char *op)
{
	for (int i = 0; i < g->n_nodes; i++)
		if (strcmp(g->nodes[i].op_name, op) == 0)
			return i;
	return -1;
}

static pm_work
work_in(pm_mode mode, const pm_graph *g, const char *op)
{
	int			i = node_of(g, op);
	pm_work		w;

	pm_node_work(g, i, 4, PM_FP32, PM_NCHW, PM_ADAM, &w);
	pm_node_work_in(mode, g, i, 4, PM_FP32, &w);
	return w;
}

static void
test_work(void)
{
	const pm_graph *g = mixed_net();
	static const char *const ops[] = {"Conv", "BatchNormalization", "Relu", "Dropout", "Gemm"};
	double		elements = 4.0 * 16 * 16 * 16;

	for (int i = 0; i < 5; i++)
	{
		pm_work		step = work_in(PM_TRAIN, g, ops[i]);
		pm_work		forward = work_in(PM_FORWARD, g, ops[i]);
		pm_work		infer = work_in(PM_INFERENCE, g, ops[i]);

		CHECK(step.bytes_backward > 0 && step.kernels_backward > 0);
		CHECK_EQ(forward.bytes_backward + forward.bytes_update + forward.flops_backward + forward.flops_update + forward.kernels_backward, 0);
		CHECK_EQ(infer.bytes_backward + infer.bytes_update + infer.flops_backward + infer.flops_update + infer.kernels_backward, 0);
		CHECK_EQ(forward.bytes_forward, step.bytes_forward);
		CHECK_EQ(forward.kernels_forward, step.kernels_forward);
	}
	/* the pass that takes the statistics of the batch reads it once, in a launch of its own */
	CHECK_EQ(work_in(PM_FORWARD, g, ops[1]).bytes_forward - work_in(PM_INFERENCE, g, ops[1]).bytes_forward, 4 * elements);
	CHECK_EQ(work_in(PM_FORWARD, g, ops[1]).kernels_forward - work_in(PM_INFERENCE, g, ops[1]).kernels_forward, 1);
	CHECK(work_in(PM_FORWARD, g, ops[3]).bytes_forward > 0);
	CHECK_EQ(work_in(PM_INFERENCE, g, ops[3]).bytes_forward + work_in(PM_INFERENCE, g, ops[3]).kernels_forward, 0);
	for (int i = 0; i < 5; i += 2)
		CHECK_EQ(work_in(PM_FORWARD, g, ops[i]).bytes_forward, work_in(PM_INFERENCE, g, ops[i]).bytes_forward);
}

/* ---- answers ---- */

static double
ask(const pm_predictor *p, const pm_sample *row, int64_t batch, pm_mode mode)
{
	pm_sample	s = *row;
	double		ms = NAN;

	s.query.batch = batch;
	s.query.mode = mode;
	CHECK_EQ(pm_predictor_predict(p, &s, &arena, &ms, NULL, NULL, NULL), PM_OK);
	return ms;
}

/* Prepared at another batch, judged in between: the same bits, and the same interval. */
static void
check_prepared(const pm_predictor *p, const pm_sample *s, double ms)
{
	pm_sample	other = *s;
	pm_prepared x;
	pm_verdict	plain;
	pm_verdict	v;
	double		again = NAN;

	other.query.batch = 3;
	CHECK_EQ(pm_predictor_prepare(p, &other, &arena, &arena, NULL, &x, NULL), PM_OK);
	for (int i = 0; i < 2; i++)
	{
		CHECK_EQ(pm_predictor_predict_prepared(p, &x, s, &arena, &again, NULL), PM_OK);
		CHECK_EQ(again, ms);
		CHECK_EQ(pm_predictor_judge_prepared(p, &x, s, ms, 0.9, &v, NULL), PM_OK);
		CHECK_EQ(pm_predictor_judge(p, s, ms, 0.9, &arena, &plain, NULL), PM_OK);
		CHECK_EQ(v.causes, plain.causes);
		/* not every kind is calibrated */
		CHECK(memcmp(&v.low_ms, &plain.low_ms, sizeof(double)) == 0 && memcmp(&v.high_ms, &plain.high_ms, sizeof(double)) == 0);
		CHECK_EQ((v.causes & 1u << PM_CAUSE_MODE_NOT_SEEN) == 0, p->passes != NULL);
		if (p->passes == NULL)
			CHECK_HAS(v.reason, "inference was not in training on gpu");
	}
}

static void
check_parts(const pm_predictor *p, const pm_sample *s, double ms)
{
	pm_part    *parts = PM_NEW(&arena, pm_part, s->skeleton->n + 1);
	double		sum = 0;
	double		again = NAN;
	int			n = 0;

	CHECK_EQ(pm_predictor_predict(p, s, &arena, &again, parts, &n, NULL), PM_OK);
	CHECK_EQ(again, ms);
	for (int i = 0; i < n; i++)
	{
		sum += parts[i].step_ms;
		CHECK(!(parts[i].backward_ms > 0) && !(parts[i].update_ms > 0));
	}
	CHECK_NEAR(sum / ms, 1, 1e-9);
}

/* A network that is nothing but dropout takes at least a launch. */
static void
check_empty(const pm_predictor *p)
{
	graph_text	t;
	const pm_graph *g;
	pm_sample	s;

	text_start(&t, "nothing", "nothing");
	net_unary(&t, "Dropout", net_input(&t, 16, 16), 16, 16);
	g = text_finish(&t, &arena);
	s = make_sample(g, make_skeleton(g, true, &arena), 1, 0);
	CHECK(ask(p, &s, 1, PM_INFERENCE) > 0);
}

static void
check_answers(const pm_predictor *p, const pm_dataset *d)
{
	for (int i = 0; i < 4; i++)
	{
		pm_sample	s = d->samples[i];
		double		step = ask(p, &s, s.query.batch, PM_TRAIN);
		double		ms;

		s.query.mode = PM_INFERENCE;
		ms = ask(p, &s, s.query.batch, PM_INFERENCE);
		CHECK(ms > 0.05 * step && ms < 0.7 * step);
		/* as of steps, other kinds do not promise it */
		CHECK(!pm_infers(p) || ms <= ask(p, &s, 2 * s.query.batch, PM_INFERENCE));
		if (p->passes == NULL)
			CHECK(ms <= ask(p, &s, s.query.batch, PM_FORWARD) * (1 + 1e-9));
		check_prepared(p, &s, ms);
		check_parts(p, &s, ms);
	}
	check_empty(p);
}

/* Mean of ln(answer / time) over the passes. */
static double
bias(const pm_predictor *p, const pm_dataset *d)
{
	double		sum = 0;

	for (int i = 0; i < d->n_passes; i++)
		sum += log(ask(p, &d->passes[i], d->passes[i].query.batch, PM_INFERENCE) / d->passes[i].step_ms);
	return sum / d->n_passes;
}

/* The stored form answers the same. */
static void
check_stored(const pm_predictor *p, const pm_dataset *d)
{
	pm_predictor back;
	uint8_t    *data;
	size_t		len;

	CHECK_EQ(pm_predictor_save(p, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
	CHECK(back.passes != NULL && back.passes->n == p->passes->n);
	for (int i = 0; i < d->n_passes; i++)
		CHECK_EQ(ask(&back, &d->passes[i], 8, PM_INFERENCE), ask(p, &d->passes[i], 8, PM_INFERENCE));
}

static void
test_kind(const pm_kind *kind, const pm_dataset *d)
{
	pm_predictor p = {.kind = kind, .options = small_options_of(kind)};
	pm_predictor learned = p;
	pm_dataset	steps = *d;
	pm_fit_report report;
	pm_hooks	hooks = {0};
	pm_status	st = {PM_OK};

	steps.n_passes = 0;
	CHECK_EQ(pm_predictor_fit(&p, &steps, 1, 1, &hooks, &arena, &report, &st), PM_OK);
	CHECK(p.passes == NULL);
	check_answers(&p, d);
	CHECK_EQ(pm_predictor_fit(&learned, d, 1, 1, &hooks, &arena, &report, &st), PM_OK);
	CHECK(learned.passes != NULL && learned.passes->machine[0].structures == SMALL_PASSES && learned.passes->machine[1].structures == 0);
	check_answers(&learned, d);
	/* nearer to the passes, and the same about steps, unless the kind learns what it knows from both */
	CHECK(fabs(bias(&learned, d)) < 0.1 && fabs(bias(&learned, d)) < 0.5 * fabs(bias(&p, d)) + 0.02);
	for (int i = 0; i < d->n && kind->learns_passes == NULL; i++)
		CHECK_EQ(ask(&learned, &d->samples[i], 8, PM_TRAIN), ask(&p, &d->samples[i], 8, PM_TRAIN));
	check_stored(&learned, d);
}

/* Forward times of steps alone: no device has passes, but the share of the forward part is learned. */
static void
test_forward_times(const pm_dataset *d)
{
	pm_predictor p = {.kind = pm_kind_find("opclass")};
	pm_dataset	steps = *d;
	pm_fit_report report;
	pm_hooks	hooks = {0};
	double		before;

	p.options = small_options_of(p.kind);
	steps.n_passes = 0;
	CHECK_EQ(pm_predictor_fit(&p, &steps, 1, 1, &hooks, &arena, &report, NULL), PM_OK);
	before = ask(&p, &d->samples[0], 8, PM_INFERENCE);
	for (int i = 0; i < d->n; i++)
		d->samples[i].forward_ms = 0.5 * ask(&p, &d->samples[i], d->samples[i].query.batch, PM_FORWARD) /
			ask(&p, &d->samples[i], d->samples[i].query.batch, PM_TRAIN) * d->samples[i].step_ms;
	CHECK_EQ(pm_predictor_fit(&p, &steps, 1, 1, &hooks, &arena, &report, NULL), PM_OK);
	CHECK(p.passes != NULL && p.passes->n == 0);
	CHECK_NEAR(ask(&p, &d->samples[0], 8, PM_INFERENCE) / before, 0.5, 0.06);
	for (int i = 0; i < d->n; i++)
		d->samples[i].forward_ms = NAN;
}

int
main(void)
{
	pm_dataset	d;

	pm_arena_init_malloc(&arena);
	d = small_dataset(&arena);
	test_work();
	test_forward_times(&d);
	for (int i = 0; pm_kind_at(i) != NULL; i++)
		if (pm_kind_at(i)->quantities & PM_LEARNS(PM_STEP_MS))
			test_kind(pm_kind_at(i), &d);
	pm_arena_release(&arena);
	return check_done("infer");
}
