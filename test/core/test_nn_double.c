/* build: double */
/*
 * test_nn_double.c - the gradient of every layer against central differences,
 * in double.
 *
 * Each case computes a scalar, the sum of weights c[i] times outputs, so that
 * the gradient of the outputs is c; then every input and every parameter is
 * moved by +-STEP.
 */
#include <stdlib.h>

#include "nn/encoder.h"
#include "check.h"

#define STEP		1e-5
#define TOLERANCE	1e-7
#define MAX_VALUES	8192

static pm_rng rng;

static void
fill(double *v, int n)
{
	for (int i = 0; i < n; i++)
		v[i] = 2 * pm_rng_uniform(&rng) - 1;
}

/* A scalar function of x[n]; everything else it needs is static. */
typedef double (*scalar) (const double *x);

/* Largest difference between grad and central differences of f at x, relative to the largest gradient. */
static double
worst(scalar f, double *x, const double *grad, int n)
{
	double		most = 0;
	double		scale = 1e-3;

	for (int i = 0; i < n; i++)
	{
		double		keep = x[i];
		double		up;
		double		down;

		x[i] = keep + STEP;
		up = f(x);
		x[i] = keep - STEP;
		down = f(x);
		x[i] = keep;
		most = fmax(most, fabs((up - down) / (2 * STEP) - grad[i]));
		scale = fmax(scale, fabs(grad[i]));
	}
	return most / scale;
}

static double
weighted(const double *y, const double *c, int n)
{
	double		s = 0;

	for (int i = 0; i < n; i++)
		s += c[i] * y[i];
	return s;
}

static double c[MAX_VALUES], y[MAX_VALUES], dx[MAX_VALUES], grad[MAX_VALUES];
static double x[MAX_VALUES];

/* ---- linear: x = [input 5x7 | weights 7x3 | bias 3] ---- */

static double
linear_value(const double *v)
{
	pm_linear(y, v, v + 35, v + 56, 5, 7, 3);
	return weighted(y, c, 15);
}

static void
test_linear(void)
{
	fill(x, 59);
	fill(c, 15);
	memset(grad, 0, sizeof(grad));
	linear_value(x);
	pm_linear_back(grad, grad + 35, grad + 56, c, x, x + 35, 5, 7, 3, false);
	CHECK(worst(linear_value, x, grad, 59) < TOLERANCE);
	pm_linear_back(grad, grad + 35, grad + 56, c, x, x + 35, 5, 7, 3, true);
	for (int i = 0; i < 59; i++)
		grad[i] /= 2;
	CHECK(worst(linear_value, x, grad, 59) < TOLERANCE);	/* twice adds up to twice */
}

/* ---- layer norm: x = [input 4x6 | gain 6 | shift 6] ---- */

static double xhat[MAX_VALUES], rstd[64];

static double
norm_value(const double *v)
{
	pm_layer_norm(y, xhat, rstd, v, v + 24, v + 30, 4, 6);
	return weighted(y, c, 24);
}

static void
test_layer_norm(void)
{
	fill(x, 36);
	fill(c, 24);
	memset(grad, 0, sizeof(grad));
	norm_value(x);
	pm_layer_norm_back(grad, grad + 24, grad + 30, c, xhat, rstd, x + 24, 4, 6, true);
	CHECK(worst(norm_value, x, grad, 36) < TOLERANCE);
}

/* ---- gelu, softmax ---- */

static double
gelu_value(const double *v)
{
	memcpy(dx, v, 20 * sizeof(double));
	pm_gelu(y, dx, 20);
	return weighted(y, c, 20);
}

static void
test_gelu(void)
{
	fill(x, 20);
	for (int i = 0; i < 20; i++)
		x[i] *= 4;
	fill(c, 20);
	gelu_value(x);
	memcpy(grad, c, sizeof(grad));
	pm_mul(grad, dx, 20);		/* dx: the derivative, left by pm_gelu */
	CHECK(worst(gelu_value, x, grad, 20) < TOLERANCE);
}

static int	columns;

static double
softmax_value(const double *v)
{
	memcpy(y, v, 18 * sizeof(double));
	pm_softmax(y, 18 / columns, columns);
	return weighted(y, c, 18);
}

static void
test_softmax(void)
{
	fill(x, 18);
	fill(c, 18);
	for (columns = 3; columns <= 18; columns += 15)	/* short rows and long ones take different ways */
	{
		softmax_value(x);
		memcpy(grad, c, sizeof(grad));
		pm_softmax_back(grad, y, 18 / columns, columns);
		CHECK(worst(softmax_value, x, grad, 18) < TOLERANCE);
	}
}

/* ---- an encoder layer: x = [input r x d | parameters] ---- */

static pm_encoder_shape shape;
static pm_encoder_params params;
static pm_encoder_acts acts;
static pm_encoder_scratch scratch;
static pm_segments segments;
static int	rows;
static double store[65536];
static pm_encoder_drop *leave_out;	/* NULL: nothing; draws the same every time */

static void
lay_out_params(void)
{
	size_t		d = shape.d;
	size_t		sizes[] = {d, d, d * 3 * d, 3 * d, d * d, d, d, d, d * shape.ff, shape.ff, shape.ff * d, d,
	(size_t) shape.heads * shape.relations};
	size_t	   *at[] = {&params.ln1_g, &params.ln1_b, &params.wqkv, &params.bqkv, &params.wo, &params.bo, &params.ln2_g,
	&params.ln2_b, &params.w1, &params.b1, &params.w2, &params.b2, &params.bias};
	size_t		offset = 0;

	for (int i = 0; i < 13; i++)
	{
		*at[i] = offset;
		offset += sizes[i];
	}
	CHECK_EQ(offset, pm_encoder_count(&shape));
}

static void
lay_out_acts(void)
{
	static pm_row_stretch parts[2][16];
	double	   *at = store;
	size_t		d = shape.d;
	size_t		n = rows;

#define TAKE(count) (at += (count), at - (count))
	acts = (pm_encoder_acts) {
		.part1 = {.list = parts[0]}, .part2 = {.list = parts[1]},
		.xhat1 = TAKE(n * d), .u1 = TAKE(n * d), .rstd1 = TAKE(n), .rstd2 = TAKE(n), .qkv = TAKE(3 * n * d),
		.probs = TAKE(n * n * shape.heads), .mixed = TAKE(n * d), .mask1 = TAKE(n * d), .mask2 = TAKE(n * d),
		.xhat2 = TAKE(n * d), .u2 = TAKE(n * d), .pre = TAKE(n * shape.ff), .act = TAKE(n * shape.ff)
	};
	scratch = (pm_encoder_scratch) {
		.wide = TAKE(n * (3 * d + shape.ff)), .narrow = TAKE(n * d), .mixed = TAKE(n * d), .scores = TAKE(n * n)
	};
}

static double
encoder_value(const double *v)
{
	int			n = rows * shape.d;

	memcpy(y, v, n * sizeof(double));
	if (leave_out != NULL)
		pm_rng_seed(leave_out->rng, 5);
	pm_encoder_forward(y, v + n, &params, &shape, &segments, rows, leave_out, &acts, &scratch);
	return weighted(y, c, n);
}

static void
check_encoder(void)
{
	int			n = rows * shape.d;
	int			total = n + (int) pm_encoder_count(&shape);

	lay_out_params();
	lay_out_acts();
	fill(x, total);
	fill(c, n);
	memset(grad, 0, sizeof(grad));
	encoder_value(x);
	memcpy(grad, c, n * sizeof(double));
	pm_encoder_backward(grad, grad + n, x + n, &params, &shape, &segments, leave_out != NULL, &acts, &scratch);
	CHECK(worst(encoder_value, x, grad, total) < TOLERANCE);
}

static void
test_encoder_graphs(void)
{
	static uint8_t relation[25];
	static double log_copies[5] = {0, 0.7, 0, 1.1, 0.3};
	static pm_segment list[2];

	for (int i = 0; i < 25; i++)
		relation[i] = (uint8_t) (pm_rng_next(&rng) % 4);
	shape = (pm_encoder_shape) {.d = 8, .heads = 2, .ff = 12, .relations = 4};
	list[0] = (pm_segment) {.start = 0, .n = 5, .relation = relation, .log_copies = log_copies};
	list[1] = (pm_segment) {.start = 5, .n = 3, .probs_at = 50};
	segments = (pm_segments) {.n = 2, .list = list, .n_probs = 68, .longest = 5};
	/* the second segment has no relations of its own: give it some, of its size */
	list[1].relation = relation + 7;
	rows = 8;
	check_encoder();
}

/* Whole branches and single numbers left out: six segments, of which each branch draws its own. */
static void
test_encoder_left_out(void)
{
	static uint8_t relation[9];
	static pm_segment list[6];
	pm_rng		draws;
	pm_encoder_drop drop = {.unit = 0.3, .path = 0.5, .rng = &draws};
	bool		differ = false;

	for (int i = 0; i < 9; i++)
		relation[i] = (uint8_t) (pm_rng_next(&rng) % 4);
	rows = 0;
	for (int i = 0; i < 6; i++)
	{
		list[i] = (pm_segment) {.start = rows, .n = 1 + i % 3, .relation = relation, .probs_at = (size_t) 18 * i};
		rows += list[i].n;
	}
	shape = (pm_encoder_shape) {.d = 8, .heads = 2, .ff = 12, .relations = 4};
	segments = (pm_segments) {.n = 6, .list = list, .n_probs = 108, .longest = 3};
	leave_out = &drop;
	check_encoder();
	CHECK(acts.part1.n > 0 && acts.part1.n < 6 && acts.part2.n > 0 && acts.part2.n < 6);
	for (int i = 0; i < acts.part1.n && i < acts.part2.n; i++)
		differ |= acts.part1.list[i].segment != acts.part2.list[i].segment;
	CHECK(differ || acts.part1.n != acts.part2.n);
	drop.path = 0.999999;
	check_encoder();
	CHECK(acts.part1.n == 0 && acts.part2.n == 0 && memcmp(x, y, rows * shape.d * sizeof(double)) == 0);
	leave_out = NULL;
}

/* On average over draws, what is left out makes no difference to a branch that is linear in its mask. */
static void
test_encoder_keeps_scale(void)
{
	pm_rng		draws;
	pm_encoder_drop drop = {.unit = 0.25, .path = 0.5, .rng = &draws};
	pm_segment	one = {.n = 4};
	pm_taking_part *part = &acts.part1;
	double		sum = 0;

	pm_rng_seed(&draws, 7);
	shape = (pm_encoder_shape) {.d = 8, .heads = 2, .ff = 12};
	segments = (pm_segments) {.n = 1, .list = &one, .n_probs = 32, .longest = 4};
	rows = 4;
	lay_out_params();
	lay_out_acts();
	for (int i = 0; i < 2000; i++)
	{
		pm_encoder_forward(y, x + 32, &params, &shape, &segments, rows, &drop, &acts, &scratch);
		for (int k = 0; k < part->rows * shape.d; k++)
			sum += acts.mask1[k];
		memcpy(y, x, 32 * sizeof(double));
	}
	CHECK_NEAR(sum / (2000 * 32), 1, 0.1);
}

static void
test_encoder_triples(void)
{
	shape = (pm_encoder_shape) {.d = 8, .heads = 4, .ff = 16};
	segments = (pm_segments) {0};
	rows = 33;					/* eleven triples: eight at a time, and a rest */
	check_encoder();
}

/* Triples are segments of three without bias: both forms must agree. */
static void
test_triples_are_segments(void)
{
	static pm_segment list[11];
	double		triples[33 * 8];
	double		in_order[33 * 8];

	encoder_value(x);
	memcpy(triples, y, sizeof(triples));
	memcpy(in_order, x, sizeof(in_order));
	for (int i = 0; i < 33; i++)
		memcpy(x + 8 * i, in_order + 8 * (i % 3 * 11 + i / 3), 8 * sizeof(double));
	for (int i = 0; i < 11; i++)
		list[i] = (pm_segment) {.start = 3 * i, .n = 3, .probs_at = (size_t) i * 36};
	segments = (pm_segments) {.n = 11, .list = list, .n_probs = 396, .longest = 3};
	lay_out_acts();
	encoder_value(x);
	for (int i = 0; i < 33; i++)
		for (int j = 0; j < 8; j++)
			CHECK_NEAR(y[8 * i + j], triples[8 * (i % 3 * 11 + i / 3) + j], 1e-12);
}

/* ---- AdamW: two steps of one parameter by hand ---- */

static void
test_adamw(void)
{
	double		w[2] = {1, 1};
	double		m[2] = {0},
				v[2] = {0};
	double		g[2] = {0.5, 0.5};
	uint8_t		decay[2] = {1, 0};
	pm_adamw	o = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 0, .weight_decay = 0.2};

	/* the first step moves by rate * sign(g), and by rate * decay * w where decay applies */
	pm_adamw_step(w, m, v, g, decay, 2, &o, 1, 2.0);
	CHECK_NEAR(w[0], 1 - 0.1 - 0.02, 1e-12);
	CHECK_NEAR(w[1], 1 - 0.1, 1e-12);
	/* second step, gradient 0: m = 0.09, v = 0.0196 */
	g[0] = g[1] = 0;
	pm_adamw_step(w, m, v, g, decay, 2, &o, 2, 2.0);
	CHECK_NEAR(w[1], 0.9 - 0.1 * (0.09 / (1 - 0.81)) / sqrt(0.0196 / (1 - 0.98 * 0.98)), 1e-12);
}

static void
test_dropout(void)
{
	double		kept = 0;

	pm_dropout_mask(y, MAX_VALUES, 0.25, &rng);
	for (int i = 0; i < MAX_VALUES; i++)
	{
		CHECK(y[i] == 0 || fabs(y[i] - 1 / 0.75) < 1e-12);
		kept += y[i] != 0;
	}
	CHECK_NEAR(kept / MAX_VALUES, 0.75, 0.03);
}

int
main(void)
{
	pm_rng_seed(&rng, 7);
	test_linear();
	test_layer_norm();
	test_gelu();
	test_softmax();
	test_encoder_graphs();
	test_encoder_left_out();
	test_encoder_keeps_scale();
	test_encoder_triples();
	test_triples_are_segments();
	test_adamw();
	test_dropout();
	return check_done("nn_double");
}
