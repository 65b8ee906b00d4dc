/* build: double */
/*
 * test_mdot_double.c - the gradient of the whole MDOT network, tensor by
 * tensor, against central differences in double, on graphs with a fork, a
 * join, a long skip and repeated operators.
 */
#include <stdlib.h>

#include "kinds/mdot/net.h"
#include "check.h"
#include "gradient_graphs.h"

#define STEP		1e-5
#define TOLERANCE	1e-5
#define SAMPLES		3
#define DROP_SEED	11

static pm_arena arena;
static pm_gpu gpu = {.name = "test", .memory_gb = 24, .mem_bw_gbs = 900, .sm_count = 80, .cores_per_sm = 64,
	.clock_ghz = 1.5, .fp32_tflops = 30, .fp16_tensor_tflops = 70, .l2_mb = 6, PM_GPU_REST_UNKNOWN};
static pm_sample samples[SAMPLES];
static pm_dataset dataset = {.n = SAMPLES, .samples = samples};
static pm_input inputs[SAMPLES];
static double step_ms[SAMPLES] = {1.3, 40, 3};
static double weight[SAMPLES] = {1, 0.5, 1};
static pm_mdot_net net;
static pm_mdot_data data = {.net = &net, .inputs = inputs, .step_ms = step_ms, .weight = weight};
static double *w, *grad;
static void *workspace;
static bool dropping;			/* as in training, each pass the same */

static void
prepare_inputs(pm_codec *codec)
{
	const char *text[SAMPLES] = {GRAPH_FORK_JOIN_SKIP, GRAPH_REPEATED, GRAPH_FORK_JOIN_SKIP};
	pm_status	st;
	pm_tokens  *tokens;

	for (int i = 0; i < SAMPLES; i++)
	{
		pm_graph   *g = gradient_graph(text[i], &arena);
		pm_skeleton *s = PM_NEW(&arena, pm_skeleton, 1);

		CHECK(pm_skeleton_build(g, true, &arena, s, &st) == PM_OK);
		samples[i] = (pm_sample) {.skeleton = s, .step_ms = step_ms[i], .weight = 1,
			.query = {g, &gpu, 4 << i, i == 1 ? PM_AMP : PM_FP32, i == 1 ? PM_NHWC : PM_NCHW, PM_SGD_MOMENTUM, PM_TRAIN, i ? "b" : "a"}};
	}
	CHECK(pm_tokens_of(&dataset, &arena, &tokens, &st) == PM_OK);
	CHECK(pm_codec_fit(codec, &pm_schema_here, &dataset, tokens, &arena, &st) == PM_OK);
	for (int i = 0; i < SAMPLES; i++)
	{
		pm_question	larger = samples[i].query;
		pm_tokens	work;

		/* features of one batch, work of another: so that the growth of device time has a slope */
		larger.batch *= 3;
		CHECK(pm_codec_encode(codec, &tokens[i], &samples[i].query, &arena, &inputs[i], &st) == PM_OK);
		CHECK(pm_tokens_build(samples[i].skeleton, &larger, &arena, &work, &st) == PM_OK);
		pm_input_rework(&inputs[i], &work);
		/* one as on a CPU */
		inputs[i].in_turn = inputs[i].on_cpu = i == 2;
		for (int k = 0; k < inputs[i].n; k++)
		{
			inputs[i].to_peak[k] = 0.5 + 0.1 * (k % 5);
			/* of some operators the update is held, as of tables */
			inputs[i].table_share[k] = k % 3 == 0 ? 0.4 : 0;
			inputs[i].table_us[k] = 0.1 * inputs[i].memory_us[k] * inputs[i].table_share[k];
		}
	}
}

static double
loss(void)
{
	const int	index[SAMPLES] = {0, 1, 2};
	double		predicted[SAMPLES];
	pm_rng		rng;

	pm_rng_seed(&rng, DROP_SEED);
	return pm_mdot_pass(&data, w, NULL, index, SAMPLES, predicted, dropping ? &rng : NULL, workspace);
}

/* Central differences of every parameter of one tensor. */
static double
tensor_error(const pm_tensor *t)
{
	double		most = 0;
	double		scale = 1e-4;

	for (size_t k = 0; k < (size_t) t->rows * t->cols; k++)
	{
		double	   *v = w + t->at + k;
		double		keep = *v;
		double		up;
		double		down;

		*v = keep + STEP;
		up = loss();
		*v = keep - STEP;
		down = loss();
		*v = keep;
		most = fmax(most, fabs((up - down) / (2 * STEP) - grad[t->at + k]));
		scale = fmax(scale, fabs(grad[t->at + k]));
	}
	return most / scale;
}

static void
check_config(const char *what, pm_mdot_config c, const pm_codec *codec)
{
	const int	index[SAMPLES] = {0, 1, 2};
	pm_pass_size size = {0};
	double		predicted[SAMPLES];
	pm_rng		rng;

	c.n_types = codec->n_types;
	c.n_frameworks = codec->n_frameworks;
	c.n_gpus = codec->n_gpus;
	CHECK(pm_mdot_net_init(&net, &c, &arena, NULL) == PM_OK);
	net.raw_scale = 10;
	net.log_mean = 1;
	net.log_sigma = 0.5;
	w = PM_NEW(&arena, double, net.tensors.n_params);
	grad = PM_NEW(&arena, double, net.tensors.n_params);
	for (int i = 0; i < SAMPLES; i++)
		pm_pass_add(&size, inputs[i].n, 0);
	workspace = pm_alloc(&arena, pm_mdot_workspace(&net, &size), 1);
	pm_rng_seed(&rng, 3);
	pm_tensors_start(&net.tensors, w, &rng);
	/* zero-initialised tensors get values too, so that gradients flow everywhere */
	for (size_t i = 0; i < net.tensors.n_params; i++)
		w[i] += 0.1 * (2 * pm_rng_uniform(&rng) - 1);
	pm_rng_seed(&rng, DROP_SEED);
	pm_mdot_pass(&data, w, grad, index, SAMPLES, predicted, dropping ? &rng : NULL, workspace);
	for (int i = 0; i < net.tensors.n; i++)
	{
		double		error = tensor_error(&net.tensors.list[i]);

		if (error >= TOLERANCE)
		{
			char		name[64];

			pm_tensor_print(&net.tensors.list[i], name, sizeof(name));
			fprintf(stderr, "%s: tensor %s is off by %g\n", what, name, error);
		}
		CHECK(error < TOLERANCE);
	}
}

/* The order of the samples in a batch changes nothing beyond rounding. */
static void
check_order(void)
{
	const int	forth[SAMPLES] = {0, 1, 2};
	const int	back[SAMPLES] = {2, 1, 0};
	double		a[SAMPLES];
	double		b[SAMPLES];

	pm_mdot_pass(&data, w, NULL, forth, SAMPLES, a, NULL, workspace);
	pm_mdot_pass(&data, w, NULL, back, SAMPLES, b, NULL, workspace);
	for (int i = 0; i < SAMPLES; i++)
		CHECK_NEAR(a[i] / b[SAMPLES - 1 - i], 1, 1e-12);
}

/* The scale of Cauchy's loss falls while training goes on, and an error of e costs s^2/2 ln(1 + (e/s)^2). */
static void
check_loss_scale(void)
{
	const int	first = 0;
	double		predicted;
	double		e;

	for (int i = 0; i <= 10; i++)
	{
		double		before = data.loss_scale;
		double		s;

		pm_mdot_begin_epoch(&data, i / 10.0);
		s = data.loss_scale;
		CHECK_NEAR(s, pow(0.3, fmin(1, i / 7.0)), 1e-12);
		CHECK(i == 0 || (i <= 7 ? s < before : s == before));
		e = pm_mdot_pass(&data, w, NULL, &first, 1, &predicted, NULL, workspace);
		CHECK_NEAR(e, s * s / 2 * log1p(pow(log(predicted / step_ms[0]) / s, 2)), 1e-12);
	}
	data.loss_scale = 0;
	CHECK_NEAR(e, pm_mdot_pass(&data, w, NULL, &first, 1, &predicted, NULL, workspace), 1e-12);
}

int
main(void)
{
	pm_mdot_config c = {.d = 8, .heads = 2, .layers = 2, .d_op = 8, .op_heads = 4, .op_layers = 1, .hidden = 4,
		.head = PM_HEAD_ADDITIVE, .loss = PM_LOSS_LOG_HUBER, .residual = true, .estimates = 1};
	pm_codec	codec;

	pm_arena_init_malloc(&arena);
	prepare_inputs(&codec);
	check_config("additive, log_huber", c, &codec);
	check_order();
	c.estimates = 2;
	check_config("additive, two estimates", c, &codec);
	c.edges = true;
	check_config("additive, two estimates, edges", c, &codec);
	check_order();
	c.passes = inputs[0].is_pass = true;
	check_config("additive, two estimates, edges, a forward pass beside steps", c, &codec);
	check_order();
	c.passes = inputs[0].is_pass = false;
	dropping = true;
	c.drop_path = 0.4;
	check_config("additive, edges, branches left out", c, &codec);
	c.estimates = 1;
	dropping = c.edges = false;
	c.drop_path = 0;
	c.loss = PM_LOSS_MSE_RAW;
	c.residual = false;
	check_config("additive, mse_raw, no residual", c, &codec);
	c.loss = PM_LOSS_MAPE;
	c.layers = 0;
	c.op_layers = 0;
	check_config("no layers, mape", c, &codec);
	c.loss = PM_LOSS_LOG_CAUCHY;
	check_config("no layers, log_cauchy", c, &codec);
	check_loss_scale();
	pm_mdot_begin_epoch(&data, 0);
	check_config("no layers, log_cauchy as training begins", c, &codec);
	c.head = PM_HEAD_POOLED;
	c.loss = PM_LOSS_MAE_RAW;
	c.layers = 1;
	check_config("pooled, mae_raw", c, &codec);
	pm_arena_release(&arena);
	return check_done("mdot_double");
}
