/*
 * test_domain_frameworks.c - which framework, and which release of it, a question is about.
 */
#include "trust_rows.h"

/* What a question about the network of s stands for that names this framework, on a device. */
static const char *
framework_for(const pm_trust *t, const pm_sample *s, const pm_gpu *gpu, const char *asked)
{
	pm_sample	q = *s;
	const char *framework;

	q.query.gpu = gpu;
	q.query.framework = asked;
	CHECK_EQ(pm_trust_framework(t, &q, &arena, &framework, NULL), PM_OK);
	return framework;
}

/* What a question about the network of s stands for that names none, on a device of which t has seen n more rows. */
static const char *
after_recalibration(const pm_trust *t, const pm_sample *s, const pm_gpu *gpu, const char *framework, int n)
{
	pm_dataset	d = make_dataset(n, 1, true, some_time, &arena);
	double	   *cross = PM_NEW(&arena, double, d.n);
	const pm_trust *more;

	for (int i = 0; i < d.n; i++)
	{
		d.samples[i].query.gpu = gpu;
		d.samples[i].query.framework = framework;
		cross[i] = d.samples[i].step_ms;
	}
	CHECK_EQ(pm_trust_update(t, &d, cross, NULL, false, NULL, &arena, &more, NULL), PM_OK);
	return framework_for(more, s, gpu, NULL);
}

/* A question without a framework is one about the release of the usual framework that most rows of its card are of. */
static void
test_frameworks(void)
{
	pm_dataset	d = make_dataset(20, 4, true, some_time, &arena);
	pm_gpu		gpus[3] = {test_gpu, test_gpu, test_gpu};
	const pm_trust *t;

	gpus[0].name = "Torch alone";
	gpus[1].name = "Flow alone";
	gpus[2].name = "Not measured";
	for (int i = 0; i < d.n; i++)
	{
		pm_question *q = &d.samples[i].query;

		/* flow 2 has more rows than any release of torch, and fewer than both */
		q->framework = i < 24 ? "torch 1.12" : i < 36 ? "torch-2.0" : i < 68 ? "flow 2" : i < 76 ? NULL : "torch-2.0";
		q->gpu = i < 64 ? q->gpu : &gpus[i < 76];
	}
	t = fit(&d, NULL);
	CHECK(strcmp(framework_for(t, &d.samples[0], &test_gpu, NULL), "torch 1.12") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[0], &gpus[0], NULL), "torch-2.0") == 0);
	CHECK(framework_for(t, &d.samples[0], &gpus[1], NULL) == NULL);
	CHECK(framework_for(t, &d.samples[0], &gpus[2], NULL) == NULL);
	CHECK(strcmp(framework_for(t, &d.samples[0], &test_gpu, ""), "torch 1.12") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[0], &test_gpu, "flow 2"), "flow 2") == 0);
	CHECK(framework_for(NULL, &d.samples[0], &test_gpu, NULL) == NULL);
	/* releases that the card was not measured with stand for its usual one, whether another card has them or not; other programs do not */
	CHECK(strcmp(framework_for(t, &d.samples[0], &test_gpu, "torch 9 cu1"), "torch 1.12") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[0], &test_gpu, "Torch-9"), "torch 1.12") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[0], &test_gpu, "torch"), "torch 1.12") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[0], &test_gpu, "torch-2.0"), "torch-2.0") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[0], &gpus[0], "torch 1.12"), "torch-2.0") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[0], &test_gpu, "torch 9 compile"), "torch 9 compile") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[0], &test_gpu, "torch7"), "torch7") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[0], &test_gpu, "flow 9"), "flow 9") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[0], &gpus[2], "torch 9"), "torch 9") == 0);
	/*
	 * what a predictor is fitted to later answers such questions from then on: of a release that is new on the card, what its rows were
	 * answered for; another framework or two rows do not
	 */
	CHECK(strcmp(after_recalibration(t, &d.samples[0], &gpus[0], "torch 3.0", 3), "torch-2.0") == 0);
	CHECK(strcmp(after_recalibration(t, &d.samples[0], &gpus[2], "torch 3.0", 3), "torch 3.0") == 0);
	CHECK(strcmp(after_recalibration(t, &d.samples[0], &test_gpu, "torch-2.0", 3), "torch-2.0") == 0);
	CHECK(strcmp(after_recalibration(t, &d.samples[0], &test_gpu, "torch 3.0", 2), "torch 1.12") == 0);
	CHECK(strcmp(after_recalibration(t, &d.samples[0], &test_gpu, "flow 2", 5), "torch 1.12") == 0);
	/* two rows are too few, also where a release has no more anywhere */
	d.samples[76].query.framework = d.samples[77].query.framework = NULL;
	CHECK(framework_for(fit(&d, NULL), &d.samples[0], &gpus[0], NULL) == NULL);
	for (int i = 0; i < d.n; i++)
		d.samples[i].query.framework = NULL;
	CHECK(framework_for(fit(&d, NULL), &d.samples[0], &test_gpu, NULL) == NULL);
}

/* A forward pass is answered for the release that it names, if passes of the device are known: of which releases they were is not remembered. */
static void
test_passes(void)
{
	pm_dataset	d = make_dataset(20, 4, true, some_time, &arena);
	pm_gpu		other = test_gpu;
	pm_sample	pass;
	const pm_trust *t;

	other.name = "Without passes";
	for (int i = 0; i < d.n; i++)
	{
		d.samples[i].query.framework = "torch 1.12";
		d.samples[i].query.gpu = i % 4 == 0 ? &other : &test_gpu;
	}
	d.passes = PM_NEW(&arena, pm_sample, d.n);
	for (int i = 0; i < d.n; i++)
		if (d.samples[i].query.gpu == &test_gpu)
		{
			d.passes[d.n_passes] = d.samples[i];
			d.passes[d.n_passes].query.framework = "torch 2.4";
			d.passes[d.n_passes++].query.mode = PM_INFERENCE;
		}
	t = fit(&d, NULL);
	pass = d.passes[0];
	CHECK(strcmp(framework_for(t, &pass, &test_gpu, "torch 2.4"), "torch 2.4") == 0);
	CHECK(strcmp(framework_for(t, &pass, &test_gpu, NULL), "torch 1.12") == 0);
	CHECK(strcmp(framework_for(t, &pass, &other, "torch 2.4"), "torch 1.12") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[1], &test_gpu, "torch 2.4"), "torch 1.12") == 0);
}

/*
 * A device that was measured with torch 2 on convolutions and with torch 1 on fewer chains of products: a chain is answered for torch 1,
 * whatever its width, all else for torch 2.
 */
static void
test_releases(void)
{
	enum { CONVS = 40, PRODUCTS = 4 };
	pm_dataset	d = make_dataset(CONVS / 4, 4, true, some_time, &arena);
	pm_dataset	both = {.n = CONVS + PRODUCTS, .samples = PM_NEW(&arena, pm_sample, CONVS + PRODUCTS)};
	pm_sample	chain = products(200);
	pm_sample	odd = odd_sample("aten::roll", 16, 3, 32);
	pm_gpu		other = test_gpu;
	pm_buffer	b = {.arena = &arena};
	const pm_trust *t;
	const pm_trust *back;
	pm_reader	r;

	for (int i = 0; i < both.n; i++)
	{
		both.samples[i] = i < CONVS ? d.samples[i] : products(64 + 8 * i);
		both.samples[i].query.framework = i < CONVS ? "torch 2" : "torch 1";
	}
	t = fit(&both, NULL);
	CHECK(strcmp(framework_for(t, &chain, &test_gpu, NULL), "torch 1") == 0);
	CHECK(strcmp(framework_for(t, &d.samples[9], &test_gpu, NULL), "torch 2") == 0);
	CHECK(strcmp(framework_for(t, &odd, &test_gpu, NULL), "torch 2") == 0);
	CHECK(strcmp(framework_for(t, &chain, &test_gpu, "torch 2"), "torch 2") == 0);
	CHECK(strcmp(pm_trust_gpu_framework(t, test_gpu.name), "torch 2") == 0);
	for (int k = 0; k < PM_N_DTYPES * PM_N_OPTIMIZERS; k++)
	{
		chain.query.dtype = (pm_dtype) (k % PM_N_DTYPES);
		chain.query.optimizer = (pm_optimizer) (k / PM_N_DTYPES);
		CHECK(strcmp(framework_for(t, &chain, &test_gpu, NULL), "torch 1") == 0);
	}
	chain.query.mode = PM_INFERENCE;
	CHECK(strcmp(framework_for(t, &chain, &test_gpu, NULL), "torch 1") == 0);
	/* the same once it is stored; what is cut off is refused */
	pm_trust_save(t, &b);
	r = (pm_reader) {.data = b.data, .len = b.len};
	CHECK_EQ(pm_trust_load(&r, &arena, &back, NULL), PM_OK);
	CHECK(strcmp(framework_for(back, &chain, &test_gpu, NULL), "torch 1") == 0);
	for (size_t len = 0; len < b.len; len += 7)
	{
		r = (pm_reader) {.data = b.data, .len = len};
		CHECK_EQ(pm_trust_load(&r, &arena, &back, NULL), PM_ERR_FORMAT);
	}
	/* after a recalibration, all is answered for the release of its rows; on another device, nothing changes */
	CHECK(strcmp(after_recalibration(t, &chain, &test_gpu, "torch 3", 3), "torch 2") == 0);
	CHECK(strcmp(after_recalibration(t, &d.samples[9], &test_gpu, "torch 1", 3), "torch 1") == 0);
	CHECK(strcmp(after_recalibration(t, &chain, &test_gpu, "torch 3", 2), "torch 1") == 0);
	other.name = "Other";
	for (int i = 0; i < CONVS; i += 2)
	{
		both.samples[i].query.gpu = &other;
		both.samples[i].query.framework = i % 8 == 0 ? "torch 1" : "torch 2";
	}
	t = fit(&both, NULL);
	CHECK(strcmp(framework_for(t, &chain, &test_gpu, NULL), "torch 1") == 0);
	CHECK(strcmp(framework_for(t, &chain, &other, NULL), "torch 2") == 0);
	/* two rows are too few to answer */
	both.samples[CONVS].query.framework = both.samples[CONVS + 1].query.framework = NULL;
	CHECK(strcmp(framework_for(fit(&both, NULL), &chain, &test_gpu, NULL), "torch 2") == 0);
}

/* Of networks that are alike but for their size, a large one is answered for the release of large ones, a small one for the usual release. */
static void
test_releases_by_size(void)
{
	enum { SMALL = 20, LARGE = 4 };
	pm_dataset	d = {.n = SMALL + LARGE, .samples = PM_NEW(&arena, pm_sample, SMALL + LARGE)};
	pm_sample	small = products(80);
	pm_sample	large = products(6000);
	const pm_trust *t;

	for (int i = 0; i < d.n; i++)
	{
		d.samples[i] = products(i < SMALL ? 64 + 8 * i : 4096 + 512 * i);
		d.samples[i].query.framework = i < SMALL ? "torch 2" : "torch 1";
	}
	t = fit(&d, NULL);
	CHECK(strcmp(framework_for(t, &small, &test_gpu, NULL), "torch 2") == 0);
	CHECK(strcmp(framework_for(t, &large, &test_gpu, NULL), "torch 1") == 0);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_frameworks();
	test_passes();
	test_releases();
	test_releases_by_size();
	pm_arena_release(&arena);
	return check_done("domain_frameworks");
}
