/* build: double */
/*
 * test_golden.c - outputs and gradients of MDOT against those that a PyTorch
 * network of the same architecture gave (test/reference).
 *
 * Two samples of different lengths in one minibatch, one with a fork, a join,
 * a long skip and merged operators; the additive head with its residual factor
 * and the pooled head.
 */
#include "kinds/mdot/net.h"
#include "../reference/golden.h"
#include "check.h"

/* The file holds 1e-9 of the largest value of each tensor. */
#define TOLERANCE	2e-9

static pm_arena arena;
static golden file;
static pm_input inputs[GOLDEN_SAMPLES];
static pm_skeleton skeletons[GOLDEN_SAMPLES];

/* A record of n values; n < 0: of any number. A record that is missing or of another size ends the test. */
static const double *
values(const char *prefix, int i, const char *field, int n)
{
	char		name[64];
	const golden_record *r;

	if (i >= 0)
		snprintf(name, sizeof(name), "%s%d.%s", prefix, i, field);
	else
		snprintf(name, sizeof(name), "%s.%s", prefix, field);
	r = golden_find(&file, name);
	if (r == NULL || (n >= 0 && r->n != n))
	{
		fprintf(stderr, "golden.txt has no record %s of %d values: make it again (test/reference/make_golden.sh)\n", name, n);
		exit(1);
	}
	return r->v;
}

static double
value(const char *field)
{
	return values("net", -1, field, 1)[0];
}

static int32_t *
integers(const double *v, int n)
{
	int32_t    *i = PM_NEW(&arena, int32_t, n);

	for (int k = 0; k < n; k++)
		i[k] = (int32_t) v[k];
	return i;
}

/* Every operator hears every other, most of them with weight 0. */
static void
read_edges(pm_edges *e, const double *weight, int n)
{
	e->at = PM_NEW(&arena, int32_t, n + 1);
	e->to = PM_NEW(&arena, int32_t, n * n);
	e->weight = (double *) weight;
	for (int i = 0; i < n; i++)
	{
		e->at[i + 1] = (i + 1) * n;
		for (int k = 0; k < n; k++)
			e->to[i * n + k] = k;
	}
}

static void
read_sample(int i)
{
	pm_input   *in = &inputs[i];
	pm_skeleton *s = &skeletons[i];
	const double *facts = values("sample", i, "facts", 6);
	int			n = (int) facts[0];
	int			cells = (n + 1) * (n + 1);
	const double *relation = values("sample", i, "relation", cells);

	in->skeleton = s;
	in->n = s->n = n;
	in->dtype = (int) facts[1];
	in->layout = (int) facts[2];
	in->framework = (int) facts[3];
	in->gpu = (int) facts[4];
	s->dag.n = (int) facts[5];
	in->type = integers(values("sample", i, "type", n), n);
	in->op_class = integers(values("sample", i, "op_class", n), n);
	/* the core only reads them */
	in->copies = (double *) values("sample", i, "copies", n);
	in->compute_us = (double *) values("sample", i, "compute_us", n);
	in->memory_us = (double *) values("sample", i, "memory_us", n);
	in->compute_ref_us = (double *) values("sample", i, "compute_ref_us", n);
	in->memory_ref_us = (double *) values("sample", i, "memory_ref_us", n);
	in->to_peak = (double *) values("sample", i, "to_peak", n);
	in->floor_us = (double *) values("sample", i, "floor_us", n);
	in->table_us = PM_NEW(&arena, double, n);
	in->table_share = PM_NEW(&arena, double, n);
	in->kernels = (double *) values("sample", i, "kernels", n);
	in->config = (double *) values("sample", i, "config", n * 2 * PM_N_SLOTS);
	in->load = (double *) values("sample", i, "load", n * PM_N_LOADS);
	s->position = (double *) values("sample", i, "position", n * PM_POSITION_DIM);
	memcpy(in->job, values("sample", i, "job", PM_N_JOB), sizeof(in->job));
	in->rest_share = 1;
	in->log_copies = PM_NEW(&arena, double, n + 1);
	for (int k = 0; k < n; k++)
		in->log_copies[k + 1] = log(in->copies[k]);
	s->relation = PM_NEW(&arena, uint8_t, cells);
	for (int k = 0; k < cells; k++)
		s->relation[k] = (uint8_t) relation[k];
	read_edges(&s->edges[PM_TO_PRODUCERS], values("sample", i, "produced", n * n), n);
	read_edges(&s->edges[PM_TO_CONSUMERS], values("sample", i, "consumed", n * n), n);
}

static pm_mdot_config
read_config(int i)
{
	const double *choice = values("case", i, "choice", 4);

	return (pm_mdot_config) {
		.d = (int) value("d"), .heads = (int) value("heads"), .layers = (int) value("layers"),
		.d_op = (int) value("d_op"), .op_heads = (int) value("op_heads"), .op_layers = (int) value("op_layers"),
		.hidden = (int) value("hidden"), .head = (pm_mdot_head) choice[0], .loss = (pm_mdot_loss) choice[1],
		.residual = choice[2] != 0, .edges = true, .estimates = (int) choice[3], .n_types = (int) value("n_types"),
		.n_frameworks = (int) value("n_frameworks"), .n_gpus = (int) value("n_gpus")
	};
}

/* Largest difference of a tensor's gradient, relative to its largest value. */
static double
gradient_error(int i, const pm_tensor *t, const double *grad, bool *found)
{
	char		name[96];
	char		tensor[64];
	int			n = t->rows * t->cols;
	const golden_record *r;
	double		most = 0;

	pm_tensor_print(t, tensor, sizeof(tensor));
	snprintf(name, sizeof(name), "case%d.grad.%s", i, tensor);
	r = golden_find(&file, name);
	*found = r != NULL;
	if (r != NULL && r->n != n + 1)
		return INFINITY;
	for (int k = 0; k < n; k++)
	{
		double		error = fabs(grad[k] - (r ? r->v[k + 1] * r->v[0] / GOLDEN_STEPS : 0));

		most = error > most || isnan(error) ? error : most;
	}
	return r != NULL ? most / r->v[0] : most;
}

static void
check_case(int i)
{
	static pm_mdot_net net;
	const int	index[GOLDEN_SAMPLES] = {0, 1};
	pm_pass_size size = {0};
	const double *predicted = values("case", i, "predicted", GOLDEN_SAMPLES);
	pm_mdot_config c = read_config(i);
	pm_mdot_data data = {.net = &net, .inputs = inputs, .step_ms = values("case", i, "step_ms", GOLDEN_SAMPLES),
		.weight = values("case", i, "weight", GOLDEN_SAMPLES)};
	double		got[GOLDEN_SAMPLES];
	double		loss;
	double		worst = 0;
	char		worst_name[64] = "";
	int			flowing = 0;
	double	   *w;
	double	   *grad;

	for (int k = 0; k < GOLDEN_SAMPLES; k++)
		pm_pass_add(&size, inputs[k].n, 0);
	CHECK(pm_mdot_net_init(&net, &c, &arena, NULL) == PM_OK);
	net.raw_scale = value("raw_scale");
	net.log_mean = value("log_mean");
	net.log_sigma = value("log_sigma");
	w = PM_NEW(&arena, double, net.tensors.n_params);
	grad = PM_NEW(&arena, double, net.tensors.n_params);
	for (int k = 0; k < net.tensors.n; k++)
	{
		const pm_tensor *t = &net.tensors.list[k];
		char		name[64];
		const double *v;

		pm_tensor_print(t, name, sizeof(name));
		v = values("param", -1, name, t->rows * t->cols);

		for (int j = 0; j < t->rows * t->cols; j++)
			w[t->at + j] = v[j] / GOLDEN_UNIT;
	}
	loss = pm_mdot_pass(&data, w, grad, index, GOLDEN_SAMPLES, got, NULL,
						pm_alloc(&arena, pm_mdot_workspace(&net, &size), 1));
	for (int k = 0; k < GOLDEN_SAMPLES; k++)
		CHECK_NEAR(got[k] / predicted[k], 1, 1e-12);
	CHECK_NEAR(loss / values("case", i, "loss", 1)[0], 1, 1e-12);
	for (int k = 0; k < net.tensors.n; k++)
	{
		bool		found;
		double		error = gradient_error(i, &net.tensors.list[k], grad + net.tensors.list[k].at, &found);
		char		name[64];

		pm_tensor_print(&net.tensors.list[k], name, sizeof(name));
		flowing += found;
		if (!(error <= TOLERANCE))
			fprintf(stderr, "case %d: gradient of %s is off by %g\n", i, name, error);
		CHECK(error <= TOLERANCE);
		if (found && !(error <= worst))
		{
			worst = error;
			memcpy(worst_name, name, sizeof(name));
		}
	}
	printf("case %d: prediction off by %.1e, %d of %d tensors have a gradient, off by %.1e at most (%s)\n", i,
		   fabs(got[0] / predicted[0] - 1), flowing, net.tensors.n, worst, worst_name);
}

int
main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "test/reference/golden.txt";
	bool		read = golden_read(&file, path);

	CHECK(read);
	if (!read)
		return check_done("golden");
	pm_arena_init_malloc(&arena);
	for (int i = 0; i < GOLDEN_SAMPLES; i++)
		read_sample(i);
	for (int i = 0; i < GOLDEN_CASES; i++)
		check_case(i);
	pm_arena_release(&arena);
	golden_free(&file);
	return check_done("golden");
}
