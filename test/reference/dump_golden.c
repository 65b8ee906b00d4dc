/*
 * dump_golden.c - the inputs and parameters of the golden test, as records.
 *
 *     dump_golden golden_graphs.ndjson >inputs.txt
 *
 * Built in double.  Reads the graphs, encodes one sample of each as the
 * extension would, draws parameters, and prints both; make_golden.py adds what
 * the PyTorch twin makes of them.  Every tensor gets random values, those too
 * that training starts at zero, so that every path has a gradient.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kinds/mdot/net.h"
#include "golden.h"
#include "graph/graph_json.h"

#define N_ROWS	4				/* to learn vocabularies and scales from; the first two are kept */

static pm_arena arena;

static void
die(const char *what, const pm_status *st)
{
	fprintf(stderr, "%s: %s %s\n", what, st ? st->message : "", st ? st->detail : "");
	exit(1);
}

/* ---- printing ---- */

static void
put(const char *name, const double *v, int n)
{
	printf("%s %d", name, n);
	for (int i = 0; i < n; i++)
		printf(" %.10g", v[i]);
	printf("\n");
}

static void
put_one(const char *name, double v)
{
	put(name, &v, 1);
}

/* Records "sample<i>.<field>" */
static void
put_field(int sample, const char *field, const double *v, int n)
{
	char		name[64];

	snprintf(name, sizeof(name), "sample%d.%s", sample, field);
	put(name, v, n);
}

static void
put_integers(int sample, const char *field, const int32_t *v, int n)
{
	double	   *d = PM_NEW(&arena, double, n);

	for (int i = 0; i < n; i++)
		d[i] = v[i];
	put_field(sample, field, d, n);
}

/* The share of each operator (column) in what each (row) hears over its edges of one way. */
static void
put_edges(int sample, const char *field, const pm_edges *e, int n)
{
	double	   *weight = PM_NEW(&arena, double, n * n);

	for (int i = 0; i < n; i++)
		for (int k = e->at[i]; k < e->at[i + 1]; k++)
			weight[i * n + e->to[k]] = e->weight[k];
	put_field(sample, field, weight, n * n);
}

static void
put_sample(int i, const pm_input *in)
{
	const pm_skeleton *s = in->skeleton;
	int			cells = (in->n + 1) * (in->n + 1);
	int32_t		facts[] = {in->n, in->dtype, in->layout, in->framework, in->gpu, s->dag.n};
	int32_t    *relation = PM_NEW(&arena, int32_t, cells);

	for (int k = 0; k < cells; k++)
		relation[k] = s->relation[k];
	put_integers(i, "facts", facts, 6);
	put_integers(i, "type", in->type, in->n);
	put_integers(i, "op_class", in->op_class, in->n);
	put_field(i, "copies", in->copies, in->n);
	put_field(i, "compute_us", in->compute_us, in->n);
	put_field(i, "memory_us", in->memory_us, in->n);
	put_field(i, "compute_ref_us", in->compute_ref_us, in->n);
	put_field(i, "memory_ref_us", in->memory_ref_us, in->n);
	put_field(i, "to_peak", in->to_peak, in->n);
	put_field(i, "floor_us", in->floor_us, in->n);
	put_field(i, "kernels", in->kernels, in->n);
	put_field(i, "job", in->job, PM_N_JOB);
	put_field(i, "config", in->config, in->n * 2 * PM_N_SLOTS);
	put_field(i, "load", in->load, in->n * PM_N_LOADS);
	put_field(i, "position", s->position, in->n * PM_POSITION_DIM);
	put_integers(i, "relation", relation, cells);
	put_edges(i, "produced", &s->edges[PM_TO_PRODUCERS], in->n);
	put_edges(i, "consumed", &s->edges[PM_TO_CONSUMERS], in->n);
}

static void
put_parameters(const pm_mdot_net *net)
{
	pm_rng		rng;

	pm_rng_seed(&rng, 7);
	for (int i = 0; i < net->tensors.n; i++)
	{
		const pm_tensor *t = &net->tensors.list[i];
		char		name[64];
		double		width = 0.4;
		double		centre = t->start == PM_START_ONE ? 1 : 0;

		/* wide enough to leave the range of the exponent now and then */
		if (t->at == net->estimate[0].adapter || t->at == net->estimate[1].adapter)
			width = 3;
		pm_tensor_print(t, name, sizeof(name));
		printf("param.%s %d", name, t->rows * t->cols);
		for (int k = 0; k < t->rows * t->cols; k++)
			printf(" %.0f", rint(GOLDEN_UNIT * (centre + width * (2 * pm_rng_uniform(&rng) - 1))));
		printf("\n");
	}
}

/* ---- samples ---- */

static const pm_gpu gpus[2] = {
	{.name = "one", .memory_gb = 24, .mem_bw_gbs = 900, .sm_count = 80, .cores_per_sm = 64, .clock_ghz = 1.5,
	.fp32_tflops = 15, .fp16_tensor_tflops = 60, .l2_mb = 6, PM_GPU_REST_UNKNOWN},
	{.name = "two", .memory_gb = 80, .mem_bw_gbs = 2000, .sm_count = 108, .cores_per_sm = 64, .clock_ghz = 1.4,
	.fp32_tflops = 20, .fp16_tensor_tflops = 300, .l2_mb = 40, PM_GPU_REST_UNKNOWN}
};

static void
read_samples(const char *path, pm_sample *samples)
{
	FILE	   *f = fopen(path, "r");
	static char line[65536];
	pm_status	st;

	for (int i = 0; i < N_ROWS; i++)
	{
		pm_sample  *s = &samples[i];
		bool		second = i % 2 == 1;

		if (i < 2)
		{
			pm_graph   *g = PM_NEW(&arena, pm_graph, 1);
			pm_skeleton *k = PM_NEW(&arena, pm_skeleton, 1);

			if (!f || !fgets(line, sizeof(line), f))
				die(path, NULL);
			if (pm_graph_from_json(line, strlen(line), &arena, g, &st) != PM_OK ||
				pm_skeleton_build(g, true, &arena, k, &st) != PM_OK)
				die(path, &st);
			s->query.graph = g;
			s->skeleton = k;
		}
		else
			*s = samples[i - 2];
		s->query.gpu = &gpus[second];
		s->query.batch = i < 2 ? 32 << second : 16 << (3 * second);
		s->query.dtype = second ? PM_AMP : PM_FP32;
		s->query.layout = second ? PM_NHWC : PM_NCHW;
		s->query.optimizer = PM_SGD_MOMENTUM;
		s->query.framework = second ? "b" : "a";
		s->step_ms = s->weight = 1;
	}
	fclose(f);
}

int
main(int argc, char **argv)
{
	pm_mdot_config c = {.d = 16, .heads = 2, .layers = 2, .d_op = 8, .op_heads = 4, .op_layers = 1, .hidden = 8, .edges = true,
		.estimates = PM_MDOT_ESTIMATES};
	static pm_mdot_net net;
	pm_sample	samples[N_ROWS] = {0};
	pm_dataset	d = {N_ROWS, samples};
	pm_tokens  *tokens;
	pm_codec	codec;
	pm_status	st;

	pm_arena_init_malloc(&arena);
	if (argc != 2)
		die("usage: dump_golden GRAPHS.ndjson", NULL);
	read_samples(argv[1], samples);
	if (pm_tokens_of(&d, &arena, &tokens, &st) != PM_OK || pm_codec_fit(&codec, &pm_schema_here, &d, tokens, &arena, &st) != PM_OK)
		die("tokens", &st);
	c.n_types = codec.n_types;
	c.n_frameworks = codec.n_frameworks;
	c.n_gpus = codec.n_gpus;
	if (pm_mdot_net_init(&net, &c, &arena, &st) != PM_OK)
		die("network", &st);
#define NET(field) put_one("net." #field, c.field)
	NET(d);
	NET(heads);
	NET(layers);
	NET(d_op);
	NET(op_heads);
	NET(op_layers);
	NET(hidden);
	NET(n_types);
	NET(n_frameworks);
	NET(n_gpus);
#undef NET
	put_one("net.n_dtypes", PM_N_DTYPES);
	put_one("net.n_classes", PM_N_CLASSES);
	put_one("net.n_slots", PM_N_SLOTS);
	put_one("net.n_loads", PM_N_LOADS);
	put_one("net.n_job", PM_N_JOB);
	put_one("net.position_dim", PM_POSITION_DIM);
	put_one("net.n_relations", PM_N_RELATIONS);
	for (int i = 0; i < GOLDEN_SAMPLES; i++)
	{
		pm_question	larger = samples[i].query;
		pm_tokens	work;
		pm_input	in;

		larger.batch *= 3;
		if (pm_codec_encode(&codec, &tokens[i], &samples[i].query, &arena, &in, &st) != PM_OK ||
			pm_tokens_build(samples[i].skeleton, &larger, &arena, &work, &st) != PM_OK)
			die("encode", &st);
		pm_input_rework(&in, &work);
		for (int k = 0; k < in.n; k++)
			in.to_peak[k] = (2 + k % 5) / 4.0;
		put_sample(i, &in);
	}
	put_parameters(&net);
	pm_arena_release(&arena);
	return 0;
}
