/*
 * others.c - steps on several GPUs as their authors published them, with nothing
 * fitted to any of them.
 *
 *     others ELASTICFLOW.csv DLE.csv LLMFOUNDRY.csv LAMBDA.csv
 *
 * ElasticFlow: the step on one GPU is a line over the batch through the rows on
 * one GPU.  DeepLearningExamples: that of the same network, card, format and
 * batch.  LLM Foundry (FSDP): the compute that explains the row on 8 GPUs, times
 * the micro-batch.  Lambda: the row on one GPU; which of its machines have
 * direct links it does not say, and cards for PCIe are taken to have none.
 * Gradients are even over the backward pass, which is two
 * thirds of the step; so many parameters in 4 bytes.
 */
#include "csv.h"
#include "links.h"
#include "scaling/checks.h"
#include "scaling/step.h"

static const pm_link_row infiniband_200[] = {{0, 0.85 * 25, NAN, 0}};
static const pm_link_row infiniband_100[] = {{0, 0.85 * 12.5, NAN, 0}};
static const pm_link_row v100_switch[] = {{0, 130, NAN, 0}};
static const pm_fabric a100 = {
	"a100", {"nvswitch", PM_LINK_NVSWITCH, 7, a100_rows}, {"net", PM_LINK_INFINIBAND, 1, infiniband_200}, 8, 8, 0, PM_NOT_FITTED
};
static const pm_fabric dgx_1 = {
	"dgx-1", {"nvlink", PM_LINK_NVLINK, 7, v100_rows}, {"net", PM_LINK_INFINIBAND, 1, infiniband_100}, 8, 4, 0, PM_NOT_FITTED
};
static const pm_fabric dgx_2 = {
	"dgx-2", {"nvswitch", PM_LINK_NVSWITCH, 1, v100_switch}, {"net", PM_LINK_INFINIBAND, 1, infiniband_100}, 16, 8, 0, PM_NOT_FITTED
};

static const pm_link_row pcie_4[] = {{0, 24, NAN, 0}};
static const pm_fabric pcie = {
	"pcie", {"pcie4", PM_LINK_PCIE, 1, pcie_4}, .gpus_per_node = 8,.adapters = 1,.host_s_per_gb = 1 / 24.0, PM_NOT_FITTED
};

static const struct
{
	const char *model;			/* part of the name */
	double		params;
}			known[] = {
	{"resnet50_cifar10", 23.5e6}, {"resnet50", 25.6e6}, {"vgg16", 138e6}, {"inception3", 27e6}, {"gpt2", 124e6}, {"deepspeech2", 41e6},
	{"Detection/SSD", 23e6}, {"BART", 406e6}, {"LanguageModeling/BERT", 336e6}, {"MaskRCNN", 44e6}, {"Translation/Transformer", 210e6},
	{"se-resnext101", 49e6}, {"resnext101", 44e6}, {"ELECTRA", 110e6}, {"UNet_Medical", 31e6}, {"ssd300", 23e6}, {"bert_large", 336e6}, {"bert", 110e6}
};
#define N_KNOWN ((int) (sizeof(known) / sizeof(known[0])))

static double
params_of(const char *model)
{
	for (int i = 0; i < N_KNOWN; i++)
		if (strstr(model, known[i].model) != NULL)
			return known[i].params;
	return NAN;
}

static pm_step_shape
shape_of(double params, double step_ms)
{
	pm_step_shape s = {.message_bytes = 25 * 1048576.0,.step_ms = step_ms,.forward_ms = step_ms / 3,.backward_ms = step_ms * 2 / 3};
	double		total = 4 * params;
	double		size = fmax(25 * 1048576.0, total / (PM_MAX_BUCKETS - 1));

	s.gradient_bytes = total;
	for (double left = total; left > 0; left -= s.bytes[s.n++])
		s.bytes[s.n] = fmin(left, s.n == 0 ? 1048576 : size);
	for (int k = 0; k < s.n; k++)
		s.bucket_ms[k] = s.backward_ms * s.bytes[k] / total;
	return s;
}

static double
step_on(double params, double single_ms, int gpus, int zero, int accumulation, const pm_fabric *f)
{
	pm_step_shape s = shape_of(params, single_ms);
	pm_parallel p = {.world_size = gpus,.accumulation = accumulation,.zero = zero,.compress = zero == 3,.bucket_mb = 25,.tp = 1,.pp = 1,.interleave = 1,.cp = 1};
	pm_status	st;
	pm_scaled	to;

	if (pm_parallel_check(&p, f, &st) != PM_OK)
		csv_die(st.message, f->name);
	pm_scaled_step(&s, &p, f, 1, &to);
	return to.step_ms;
}

typedef struct score
{
	double		error;
	double		alone;			/* if GPUs did not need each other */
	double		bias;
	int			n;
} score;

static void
add(score *s, double predicted, double alone, double measured)
{
	s->error += fabs(predicted / measured - 1);
	s->alone += fabs(alone / measured - 1);
	s->bias += log(predicted / measured);
	s->n++;
}

static void
print(const char *what, const score *s)
{
	printf("%s: n %d, error %.1f %%, bias %.1f %%; if scaling were perfect %.1f %%\n", what, s->n, 100 * s->error / s->n, 100 * s->bias / s->n,
		   100 * s->alone / s->n);
}

/* ---- ElasticFlow ---- */

static double
on_the_line(const csv *c, const char *model, double batch)
{
	double		n = 0,
				x = 0,
				xx = 0,
				y = 0,
				xy = 0,
				slope;

	for (int i = 0; i < c->n; i++)
		if (csv_number(c, i, "n_gpus") == 1 && strcmp(csv_text(c, i, "model"), model) == 0)
		{
			double		b = csv_number(c, i, "batch_per_gpu");
			double		ms = csv_number(c, i, "step_ms");

			n++;
			x += b;
			xx += b * b;
			y += ms;
			xy += b * ms;
		}
	if (n < 2)
		return NAN;
	slope = (n * xy - x * y) / (n * xx - x * x);
	return (y - slope * x) / n + slope * batch;
}

static void
elasticflow(const csv *c)
{
	score		s = {0};

	for (int i = 0; i < c->n; i++)
	{
		const char *model = csv_text(c, i, "model");
		int			gpus = (int) csv_number(c, i, "n_gpus");
		double		single = on_the_line(c, model, csv_number(c, i, "batch_per_gpu"));

		if (gpus > 1 && single > 0 && !isnan(params_of(model)))
			add(&s, step_on(params_of(model), single, gpus, 0, 1, &a100), single, csv_number(c, i, "step_ms"));
	}
	print("ElasticFlow, A100, 2 to 8 GPUs, the step on one from a line over the batch", &s);
}

/* ---- DeepLearningExamples ---- */

static double
dle_step(const csv *c, int i)
{
	return 1000 * csv_number(c, i, "n_gpus") * csv_number(c, i, "batch_per_gpu") / csv_number(c, i, "throughput");
}

static bool
same(const csv *c, int i, int k)
{
	static const char *const columns[] = {"model", "gpu", "batch_per_gpu", "dtype", "throughput_unit", "source"};

	for (int j = 0; j < 6; j++)
		if (strcmp(csv_text(c, i, columns[j]), csv_text(c, k, columns[j])) != 0)
			return false;
	return true;
}

/* The step on one GPU, of all rows that are the same but for that; NaN: none. */
static double
dle_single(const csv *c, int i)
{
	double		sum = 0;
	int			n = 0;

	for (int k = 0; k < c->n; k++)
		if (csv_number(c, k, "n_gpus") == 1 && same(c, i, k))
		{
			sum += dle_step(c, k);
			n++;
		}
	return n == 1 ? sum : NAN;	/* several are of different settings, which the row does not say */
}

static void
dle(const csv *c)
{
	score		by_card[2] = {{0}};

	for (int i = 0; i < c->n; i++)
	{
		const char *unit = csv_text(c, i, "throughput_unit");
		const char *gpu = csv_text(c, i, "gpu");
		int			gpus = (int) csv_number(c, i, "n_gpus");
		bool		a = strncmp(gpu, "A100", 4) == 0;
		double		params = params_of(csv_text(c, i, "model"));
		double		single;

		if (gpus < 2 || gpus > 16 || isnan(params) || isnan(csv_number(c, i, "batch_per_gpu")) ||
			(*unit != '\0' && strcmp(unit, "img/s") != 0 && strcmp(unit, "sequences/sec") != 0))
			continue;
		single = dle_single(c, i);
		if (!isnan(single))
			add(&by_card[a], step_on(params, single, gpus, 0, 1, a ? &a100 : gpus > 8 ? &dgx_2 : &dgx_1), single, dle_step(c, i));
	}
	print("DeepLearningExamples, V100 (DGX-1, DGX-2), 2 to 16 GPUs", &by_card[0]);
	print("DeepLearningExamples, A100 (DGX A100), 2 to 16 GPUs", &by_card[1]);
}

/* ---- LLM Foundry ---- */

static bool
fsdp_row(const csv *c, int i)
{
	return strcmp(csv_text(c, i, "gpu"), "a100_40gb") == 0 && strstr(csv_text(c, i, "model"), "@s2048") != NULL;
}

/* ms of computing one sample that explain the row on 8 GPUs of a model; NaN: there is none. */
static double
sample_ms(const csv *c, const char *model)
{
	for (int i = 0; i < c->n; i++)
		if (fsdp_row(c, i) && csv_number(c, i, "n_gpus") == 8 && strcmp(csv_text(c, i, "model"), model) == 0)
		{
			double		micro = csv_option(c, i, "options", "micro_batch");
			int			accumulation = (int) csv_option(c, i, "options", "grad_accum");
			double		low = 0,
						high = csv_number(c, i, "step_ms");

			for (int k = 0; k < 60; k++)
			{
				double		mid = (low + high) / 2;

				if (step_on(csv_option(c, i, "options", "params"), mid, 8, 3, accumulation, &a100) > csv_number(c, i, "step_ms"))
					high = mid;
				else
					low = mid;
			}
			return high / micro;
		}
	return NAN;
}

static void
llmfoundry(const csv *c)
{
	score		s = {0};

	for (int i = 0; i < c->n; i++)
	{
		int			gpus = (int) csv_number(c, i, "n_gpus");
		double		micro = csv_option(c, i, "options", "micro_batch");
		int			accumulation = (int) csv_option(c, i, "options", "grad_accum");
		double		sample = fsdp_row(c, i) && gpus > 8 ? sample_ms(c, csv_text(c, i, "model")) : NAN;

		if (!isnan(sample))
			add(&s, step_on(csv_option(c, i, "options", "params"), sample * micro, gpus, 3, accumulation, &a100), sample * micro * accumulation,
				csv_number(c, i, "step_ms"));
	}
	print("LLM Foundry, MPT with FSDP on 16 to 128 A100, from the row on 8", &s);
}

/* ---- Lambda ---- */

/* The step on one GPU with the same batch for each; NaN: none. */
static double
lambda_single(const csv *c, int i)
{
	static const char *const columns[] = {"model", "gpu", "precision"};

	for (int k = 0; k < c->n; k++)
	{
		bool		alike = csv_number(c, k, "world_size") == 1 && csv_number(c, k, "batch") * csv_number(c, i, "world_size") == csv_number(c, i, "batch");

		for (int j = 0; j < 3; j++)
			alike = alike && strcmp(csv_text(c, i, columns[j]), csv_text(c, k, columns[j])) == 0;
		if (alike)
			return csv_number(c, k, "step_ms");
	}
	return NAN;
}

enum
{
	A100_SWITCH, V100_LINKS, PCIE_PAIR, PCIE_MORE, N_MACHINES
};

static void
lambda(const csv *c)
{
	static const char *const machines[N_MACHINES] = {"2 to 8 A100 SXM", "2 to 8 V100 SXM2", "2 cards on PCIe", "4 and 8 cards on PCIe"};
	score		s[N_MACHINES] = {{0}};

	for (int i = 0; i < c->n; i++)
	{
		const char *gpu = csv_text(c, i, "gpu");
		int			gpus = (int) csv_number(c, i, "world_size");
		int			k = strstr(gpu, "A100-SXM") ? A100_SWITCH : strstr(gpu, "V100-SXM") ? V100_LINKS : gpus == 2 ? PCIE_PAIR : PCIE_MORE;
		double		single = gpus > 1 ? lambda_single(c, i) : NAN;

		if (!isnan(single))
			add(&s[k], step_on(params_of(csv_text(c, i, "model")), single, gpus, 0, 1, k == A100_SWITCH ? &a100 : k == V100_LINKS ? &dgx_1 : &pcie), single,
				csv_number(c, i, "step_ms"));
	}
	for (int k = 0; k < N_MACHINES; k++)
	{
		printf("Lambda, ");
		print(machines[k], &s[k]);
	}
}

int
main(int argc, char **argv)
{
	csv			c;

	if (argc != 5)
		csv_die("ELASTICFLOW.csv DLE.csv LLMFOUNDRY.csv LAMBDA.csv", argv[0]);
	c = csv_read(argv[1]);
	elasticflow(&c);
	c = csv_read(argv[2]);
	dle(&c);
	c = csv_read(argv[3]);
	llmfoundry(&c);
	c = csv_read(argv[4]);
	lambda(&c);
	return 0;
}
