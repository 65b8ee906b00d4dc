/* build: double */
/*
 * test_rivals_double.c - the rivals of MDOT in double: the LSTM, the
 * convolution and every network, tensor by tensor, against central
 * differences; and the sequence that two of them read.
 */
#include <stdlib.h>

#include "nn/conv1d.h"
#include "nn/lstm.h"
#include "kinds/net.h"
#include "graph/sequence.h"
#include "check.h"
#include "gradient_graphs.h"
#include "make_graph.h"

#define STEP		1e-5
#define TOLERANCE	1e-5
#define SAMPLES		3
#define MAX_VALUES	4096

static pm_arena arena;
static pm_rng rng;
static double x[MAX_VALUES], y[MAX_VALUES], c[MAX_VALUES], grad_x[MAX_VALUES];

static void
fill(double *v, int n)
{
	for (int i = 0; i < n; i++)
		v[i] = 2 * pm_rng_uniform(&rng) - 1;
}

static double
weighted(const double *v, int n)
{
	double		s = 0;

	for (int i = 0; i < n; i++)
		s += c[i] * v[i];
	return s;
}

/* Central difference of f by v[i]. */
static double
slope(double (*f) (void), double *v)
{
	double		keep = *v;
	double		up;
	double		down;

	*v = keep + STEP;
	up = f();
	*v = keep - STEP;
	down = f();
	*v = keep;
	return (up - down) / (2 * STEP);
}

/* ---- sigmoid and tanh ---- */

static void
test_squashing(void)
{
	for (int i = 0; i < 64; i++)
		x[i] = y[i] = 40 * pm_rng_uniform(&rng) - 20;
	pm_sigmoid(x, 64);
	for (int i = 0; i < 64; i++)
		CHECK_NEAR(x[i], 1 / (1 + exp(-y[i])), 1e-12);
	memcpy(x, y, 64 * sizeof(double));
	pm_tanh(x, 64);
	for (int i = 0; i < 64; i++)
		CHECK_NEAR(x[i], tanh(y[i]), 1e-12);
}

/* ---- convolution: windows times weights are the definition, and the twin is the transpose ---- */

static pm_conv1d shape;

static double
unfold_value(void)
{
	pm_unfold(y, x, &shape, 2);
	return weighted(y, 2 * pm_conv1d_windows(&shape) * shape.kernel * shape.channels);
}

static void
test_conv1d(int length, int kernel, int stride, int windows)
{
	const int	channels = 2;

	shape = (pm_conv1d) {length, channels, kernel, stride};
	CHECK_EQ(pm_conv1d_windows(&shape), windows);
	fill(x, 2 * length * channels);
	fill(c, MAX_VALUES);
	unfold_value();
	for (int r = 0; r < 2; r++)
		for (int p = 0; p < windows; p++)
			for (int k = 0; k < kernel * channels; k++)
			{
				int			at = p * stride * channels + k;

				CHECK(y[((size_t) r * windows + p) * kernel * channels + k] ==
					  (at < length * channels ? x[r * length * channels + at] : 0));
			}
	pm_unfold_back(grad_x, c, &shape, 2);
	for (int i = 0; i < 2 * length * channels; i++)
		CHECK_NEAR(grad_x[i], slope(unfold_value, &x[i]), 1e-8);
}

/* ---- LSTM: x = [inputs 5 steps x 3 sequences x 4h | Wh], h = 2; one sequence begins late, one ends early ---- */

#define LSTM_IN 120

static pm_lstm lstm = {.h = 2, .steps = 5, .r = 3};
static pm_lstm_acts lstm_acts;
static const double lstm_mask[15] = {1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0};

static double
lstm_value(void)
{
	memcpy(lstm_acts.gates, x, LSTM_IN * sizeof(double));
	pm_lstm_forward(&lstm, x + LSTM_IN, lstm_mask, &lstm_acts);
	return weighted(lstm_acts.out, 30);
}

/* The definition, step by step, for one sequence. */
static void
check_lstm_states(int sequence)
{
	double		h[2] = {0};
	double		cell[2] = {0};

	for (int k = 0; k < 5; k++)
	{
		int			row = (lstm.reverse ? 4 - k : k) * 3 + sequence;
		double		z[8];

		for (int j = 0; j < 8; j++)
			z[j] = x[row * 8 + j] + h[0] * x[LSTM_IN + j] + h[1] * x[LSTM_IN + 8 + j];
		for (int j = 0; j < 2; j++)
		{
			double		i = 1 / (1 + exp(-z[j]));
			double		f = 1 / (1 + exp(-z[2 + j]));
			double		o = 1 / (1 + exp(-z[4 + j]));

			cell[j] = lstm_mask[row] * (f * cell[j] + i * tanh(z[6 + j]));
			h[j] = lstm_mask[row] * o * tanh(cell[j]);
			CHECK_NEAR(lstm_acts.out[row * 2 + j], h[j], 1e-12);
		}
	}
}

static void
test_lstm(bool reverse)
{
	double		dout[30];
	double		dwh[16] = {0};

	lstm.reverse = reverse;
	lstm_acts = (pm_lstm_acts) {PM_NEW(&arena, double, 120), PM_NEW(&arena, double, 30), PM_NEW(&arena, double, 30),
		PM_NEW(&arena, double, 30), PM_NEW(&arena, double, 6)};
	fill(x, LSTM_IN + 16);
	fill(c, 30);
	memcpy(dout, c, sizeof(dout));
	lstm_value();
	for (int s = 0; s < 3; s++)
		check_lstm_states(s);
	pm_lstm_back(&lstm, dwh, dout, x + LSTM_IN, lstm_mask, &lstm_acts);
	memcpy(grad_x, lstm_acts.gates, LSTM_IN * sizeof(double));
	memcpy(grad_x + LSTM_IN, dwh, sizeof(dwh));
	for (int i = 0; i < LSTM_IN + 16; i++)
		CHECK_NEAR(grad_x[i], slope(lstm_value, &x[i]), 1e-8);
}

/* ---- sequence ---- */

/* Every operator behind its producers, each once. */
static void
check_topological(const pm_skeleton *s, const int32_t *order)
{
	int32_t    *place = PM_NEW(&arena, int32_t, s->dag.n);

	memset(place, 0xff, s->dag.n * sizeof(int32_t));
	for (int i = 0; i < s->dag.n; i++)
		place[order[i]] = i;
	for (int i = 0; i < s->dag.n; i++)
	{
		CHECK(place[i] >= 0);
		for (int e = s->dag.parent_at[i]; e < s->dag.parent_at[i + 1]; e++)
			CHECK(place[s->dag.parent[e]] < place[i]);
	}
}

/* three branches of the same length, two of them alike up to where they end */
#define GRAPH_TIES HEAD("ties") \
	CONV(1, 0, 8, 3, 3, 16) "," UNARY(2, "Relu", "1", 8, 16) "," UNARY(3, "Sigmoid", "1", 8, 16) "," \
	UNARY(4, "Relu", "1", 8, 16) "," UNARY(5, "Tanh", "2", 8, 16) "," UNARY(6, "Tanh", "3", 8, 16) "," \
	UNARY(7, "Gelu", "4", 8, 16) "," UNARY(8, "Add", "5,6", 8, 16) "," UNARY(9, "Add", "8,7", 8, 16) "]}"

/* Renumbered, the sequence is of the same operators. */
static void
test_sequence(void)
{
	const char *text[3] = {GRAPH_FORK_JOIN_SKIP, GRAPH_REPEATED, GRAPH_TIES};

	for (int k = 0; k < 3; k++)
	{
		pm_graph   *g = gradient_graph(text[k], &arena);
		int32_t    *place = PM_NEW(&arena, int32_t, g->n_nodes);
		uint64_t	first = 0;

		for (int seed = 0; seed < 8; seed++)
		{
			const pm_graph *r = seed == 0 ? g : make_renumbered(g, seed, place, &arena);
			pm_skeleton *s = make_skeleton(r, true, &arena);
			uint64_t	hash = PM_HASH_INIT;
			int32_t    *order;

			CHECK(pm_sequence(s->graph, &s->dag, &arena, &order, NULL) == PM_OK);
			check_topological(s, order);
			for (int i = 0; i < s->dag.n; i++)
			{
				const pm_node *n = &r->nodes[s->dag.node[order[i]]];

				hash = pm_hash(hash, &n->op, sizeof(n->op));
				hash = pm_hash(hash, n->weights, n->n_weights * sizeof(pm_shape));
			}
			first = seed == 0 ? hash : first;
			CHECK(hash == first);
			if (k == 0 && seed == 0)	/* the longer branch to its end, then the other one: 1, 2 3 6, 4 5, 7 ... */
				CHECK(order[0] == 0 && order[1] == 1 && order[2] == 2 && order[3] == 5 && order[4] == 3 &&
					  order[5] == 4 && order[6] == 6);
		}
	}
}

/* ---- whole networks ---- */

static pm_gpu gpu = {.name = "test", .memory_gb = 24, .mem_bw_gbs = 900, .sm_count = 80, .cores_per_sm = 64,
	.clock_ghz = 1.5, .fp32_tflops = 30, .fp16_tensor_tflops = 70, .l2_mb = 6, PM_GPU_REST_UNKNOWN};
static pm_sample samples[SAMPLES];
static pm_dataset dataset = {.n = SAMPLES, .samples = samples};
static pm_tokens *tokens;
static pm_input inputs[SAMPLES];
static pm_sample_plan *plans[SAMPLES];
static double step_ms[SAMPLES] = {1.3, 40, 3};
static double weight[SAMPLES] = {1, 0.5, 1};
static pm_codec codec;
static pm_network *net;
static pm_network_rows data = { .inputs = inputs, .plans = plans, .step_ms = step_ms, .weight = weight};
static double *w, *grad;
static void *workspace;
static bool dropping;

static void
prepare_inputs(void)
{
	const char *text[SAMPLES] = {GRAPH_FORK_JOIN_SKIP, GRAPH_REPEATED, GRAPH_FORK_JOIN_SKIP};

	for (int i = 0; i < SAMPLES; i++)
	{
		pm_graph   *g = gradient_graph(text[i], &arena);

		samples[i] = (pm_sample) {.skeleton = make_skeleton(g, true, &arena), .step_ms = step_ms[i], .weight = 1,
			.query = {g, &gpu, 4 << i, i == 1 ? PM_AMP : PM_FP32, i == 1 ? PM_NHWC : PM_NCHW, PM_SGD_MOMENTUM, PM_TRAIN, i ? "b" : "a"}};
	}
	CHECK(pm_tokens_of(&dataset, &arena, &tokens, NULL) == PM_OK);
	CHECK(pm_codec_fit(&codec, &pm_schema_here, &dataset, tokens, &arena, NULL) == PM_OK);
	for (int i = 0; i < SAMPLES; i++)
		CHECK(pm_codec_encode(&codec, &tokens[i], &samples[i].query, &arena, &inputs[i], NULL) == PM_OK);
}

/* Dropout draws the same every time. */
static double
run(double *to, const int *index, double *predicted)
{
	pm_rng		same;

	pm_rng_seed(&same, 9);
	return pm_network_pass(&data, w, to, index, SAMPLES, predicted, dropping ? &same : NULL, workspace);
}

static double
loss(void)
{
	const int	index[SAMPLES] = {0, 1, 2};
	double		predicted[SAMPLES];

	return run(NULL, index, predicted);
}

static void
check_tensor(const char *what, const pm_tensor *t)
{
	double		most = 0;
	double		scale = 1e-4;

	for (size_t k = t->at; k < t->at + (size_t) t->rows * t->cols; k++)
	{
		most = fmax(most, fabs(slope(loss, &w[k]) - grad[k]));
		scale = fmax(scale, fabs(grad[k]));
	}
	if (most / scale >= TOLERANCE)
	{
		char		name[64];

		pm_tensor_print(t, name, sizeof(name));
		fprintf(stderr, "%s%s: tensor %s is off by %g\n", what, dropping ? ", dropping" : "", name, most / scale);
	}
	CHECK(most / scale < TOLERANCE);
}

static void
check_gradients(const char *what)
{
	const int	index[SAMPLES] = {0, 1, 2};
	double		predicted[SAMPLES];

	memset(grad, 0, net->tensors.n_params * sizeof(double));
	run(grad, index, predicted);
	for (int i = 0; i < SAMPLES; i++)
		CHECK(predicted[i] > 0 && isfinite(predicted[i]));
	for (int i = 0; i < net->tensors.n; i++)
		check_tensor(what, &net->tensors.list[i]);
}

/* The order of the samples in a batch changes nothing beyond rounding. */
static void
check_order(void)
{
	const int	forth[SAMPLES] = {0, 1, 2};
	const int	back[SAMPLES] = {2, 1, 0};
	double		a[SAMPLES];
	double		b[SAMPLES];

	run(NULL, forth, a);
	run(NULL, back, b);
	for (int i = 0; i < SAMPLES; i++)
		CHECK_NEAR(a[i] / b[SAMPLES - 1 - i], 1, 1e-12);
}

#define NUMBER(n, v) {.name = (n), .number = (v)}

static void
test_net(const pm_architecture *architecture, const char *name, const pm_setting *settings, int n)
{
	const int	index[SAMPLES] = {0, 1, 2};
	pm_options	o;

	CHECK(pm_options_set(pm_kind_find(name), settings, n, &o, NULL) == PM_OK);
	net = pm_alloc(&arena, 1, architecture->net_bytes);
	CHECK(pm_network_init(net, architecture, &o, codec.schema, codec.n_types, codec.n_frameworks, &arena, NULL) == PM_OK);
	data.net = net;
	net->log_mean = 1;
	net->log_sigma = 0.5;
	net->log_op_us = 6;
	for (int i = 0; i < SAMPLES; i++)
	{
		plans[i] = NULL;
		if (architecture->plan != NULL)
			CHECK(architecture->plan(&o, &tokens[i], &samples[i].query, &arena, &plans[i], NULL) == PM_OK);
	}
	w = PM_NEW(&arena, double, net->tensors.n_params);
	grad = PM_NEW(&arena, double, net->tensors.n_params);
	workspace = pm_alloc(&arena, pm_network_workspace(&data, index, SAMPLES), 1);
	pm_tensors_start(&net->tensors, w, &rng);
	/* zero-initialised tensors get values too, so that gradients flow everywhere */
	for (size_t i = 0; i < net->tensors.n_params; i++)
		w[i] += 0.1 * (2 * pm_rng_uniform(&rng) - 1);
	dropping = false;
	check_gradients(name);
	check_order();
	dropping = true;
	check_gradients(name);
}

int
main(void)
{
	const pm_setting perfnet[] = {NUMBER("channels1", 3), NUMBER("channels2", 2), NUMBER("hidden", 4), NUMBER("unknown", 0.3),
	NUMBER("dropout", 0.3)};
	const pm_setting transformer[] = {NUMBER("d_model", 8), NUMBER("heads", 2), NUMBER("layers", 2), NUMBER("hidden", 4),
	NUMBER("dropout", 0.3), NUMBER("drop_path", 0.3)};
	const pm_setting gnn[] = {NUMBER("width", 4), NUMBER("rounds", 2), NUMBER("hidden", 4), NUMBER("dropout", 0.3),
	NUMBER("drop_path", 0.3)};
	const pm_setting ets[] = {NUMBER("window", 5), NUMBER("stride", 2), NUMBER("width", 4), NUMBER("hidden", 4)};
	const pm_setting long_window[] = {NUMBER("window", 20), NUMBER("stride", 20), NUMBER("width", 4), NUMBER("hidden", 4)};

	pm_arena_init_malloc(&arena);
	pm_rng_seed(&rng, 7);
	test_squashing();
	test_conv1d(9, 3, 2, 4);
	test_conv1d(10, 3, 2, 5);
	test_conv1d(6, 3, 1, 4);
	test_conv1d(2, 3, 2, 1);
	test_lstm(false);
	test_lstm(true);
	test_sequence();
	prepare_inputs();
	test_net(&pm_architecture_perfnet, "perfnet", perfnet, 5);
	test_net(&pm_architecture_transformer, "transformer", transformer, 6);
	test_net(&pm_architecture_gnn, "gnn", gnn, 5);
	test_net(&pm_architecture_ets, "ets", ets, 4);
	test_net(&pm_architecture_ets, "ets", long_window, 4);
	pm_arena_release(&arena);
	return check_done("rivals_double");
}
