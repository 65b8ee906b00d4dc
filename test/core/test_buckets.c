/*
 * test_buckets.c - how gradients and frozen weights are divided into portions, by hand.
 */
#include "make_cluster.h"

#include "scaling/buckets.h"

#define MIB	1048576.0

/* n convolutions in a row, each with 512 * 512 weights: 1 MiB in fp32. Those whose bit is set, of 32 in turn, are frozen. */
static pm_buckets
portions(int n, unsigned frozen, pm_dtype dtype, double bucket_mb)
{
	graph_text	t;
	int			x;
	pm_skeleton *s;
	pm_buckets	b;
	pm_status	st = {PM_OK};

	text_start(&t, "row", "row");
	x = net_input(&t, 512, 4);
	for (int i = 0; i < n; i++)
		x = text_node(&t, "'op':'Conv','inputs':[%d],'shape':[1,512,4,4],'batch_dim':0,'weights':[[512,512,1,1]],"
					  "'attrs':{'kernel_shape':[1,1],'strides':[1,1],'pads':[0,0],'group':1%s}", x, frozen >> i % 32 & 1 ? ",'frozen':1" : "");
	s = make_skeleton(text_finish(&t, &arena), true, &arena);
	CHECK_EQ(pm_buckets_build(s, dtype, bucket_mb, &arena, &b, &st), PM_OK);
	return b;
}

/* As they are sent: MiB of each, of gradients and of frozen weights. */
static void
check_portions(pm_buckets b, int n, const double *gradients, const double *frozen)
{
	CHECK_EQ(b.n, n);
	for (int i = 0; i < n && i < b.n; i++)
	{
		CHECK_EQ(b.bytes[i] / MIB, gradients[i]);
		CHECK_EQ(b.frozen[i] / MIB, frozen != NULL ? frozen[i] : 0);
	}
}

static void
test_trained(void)
{
	/* 1 MiB ends the first one, 2 MiB the others; a portion that is just full is full */
	check_portions(portions(8, 0, PM_FP32, 2), 5, (const double[]) {1, 2, 2, 2, 1}, NULL);
	check_portions(portions(8, 0, PM_AMP, 3), 4, (const double[]) {1, 3, 3, 1}, NULL);
	/* half a MiB each in 16 bits */
	check_portions(portions(8, 0, PM_FP16, 2), 3, (const double[]) {1, 2, 1}, NULL);
	check_portions(portions(8, 0, PM_BF16, 2), 3, (const double[]) {1, 2, 1}, NULL);
	/* a first one of less than that, if all are smaller; an operator is not divided */
	check_portions(portions(4, 0, PM_FP32, 0.5), 4, (const double[]) {1, 1, 1, 1}, NULL);
	check_portions(portions(4, 0, PM_FP16, 0.5), 4, (const double[]) {0.5, 0.5, 0.5, 0.5}, NULL);
}

static void
test_frozen(void)
{
	/* from the end, trained and frozen ones in turn: weights of either sort end a portion; the last one has no gradients at all */
	check_portions(portions(8, 0x55, PM_FP32, 2), 5, (const double[]) {1, 1, 1, 1, 0}, (const double[]) {0, 1, 1, 1, 1});
	/* frozen ones alone, behind a trained one */
	check_portions(portions(5, 0x0f, PM_FP32, 2), 3, (const double[]) {1, 0, 0}, (const double[]) {0, 2, 2});
}

/* Of more than 64 portions those of 200 MiB are as large as they have to be: 62 parts of 200/62 MiB, after the first one. */
static void
test_most(void)
{
	pm_buckets	b = portions(200, 0, PM_FP32, 0.1);

	/* 4 MiB is the first whole number of operators from 3.23 MiB on, and the first portion ends at 0.1 MiB: 1 + 49 * 4 + 3 */
	CHECK_EQ(b.n, 51);
	CHECK(b.bytes[0] == MIB && b.bytes[1] == 4 * MIB && b.bytes[50] == 3 * MIB);
	/*
	 * Every second one frozen, from the last on: parts of 100/31 MiB of gradients and of 200/31 of all weights. Behind the first
	 * trained one, four of either sort and three of the other, 28 times; and two are left.
	 */
	b = portions(200, 0xaaaaaaaau, PM_FP32, 0.1);
	CHECK_EQ(b.n, 30);
	CHECK(b.bytes[0] == MIB && b.frozen[0] == MIB && b.bytes[29] == MIB && b.frozen[29] == MIB);
	for (int i = 1; i < 29; i++)
		CHECK(b.bytes[i] == (i % 2 ? 3 : 4) * MIB && b.frozen[i] == (i % 2 ? 4 : 3) * MIB);
}

/* The 95 % quantile of Student's t with n - 1 degrees of freedom is what 95 % of its distribution are below. */
static double
below(double t, int df)
{
	double		sum = 0;
	const int	steps = 200000;
	double		c = exp(lgamma((df + 1) / 2.0) - lgamma(df / 2.0)) / sqrt(df * M_PI);

	for (int i = 0; i < steps; i++)
		sum += c * pow(1 + pow((i + 0.5) * t / steps, 2) / df, -(df + 1) / 2.0) * t / steps;
	return 0.5 + sum;
}

static void
test_few_networks(void)
{
	for (int n = 2; n <= 40; n++)
	{
		double		t = pm_few_networks(n) * 1.645 / sqrt(1 + 1.0 / n);

		/* a table of four digits, and from 12 on an approximation */
		CHECK_NEAR(below(t, n - 1), 0.95, n <= 11 ? 5e-5 : 1e-3);
	}
}

/* Norms of queries, wider than what layers hand on, are no norms between layers: nor are they whole on GPUs that share a layer. */
static void
test_norms(void)
{
	graph_text	t;
	int			x,
				n,
				q,
				o;
	pm_skeleton *s;
	pm_buckets	b;
	pm_status	st = {PM_OK};
	double		whole = 0;

	text_start(&t, "layer", "layer");
	x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,16,8],'batch_dim':0");
	n = text_node(&t, "'op':'RMSNormalization','inputs':[%d],'shape':[1,16,8],'batch_dim':0,'weights':[[8]]", x);
	q = text_node(&t, "'op':'Gemm','inputs':[%d],'shape':[1,16,64],'batch_dim':0,'weights':[[64,8]]", n);
	q = text_node(&t, "'op':'Reshape','inputs':[%d],'shape':[1,4,16,16],'batch_dim':0,'view':true", q);
	q = text_node(&t, "'op':'RMSNormalization','inputs':[%d],'shape':[1,4,16,16],'batch_dim':0,'weights':[[16]]", q);
	o = text_node(&t, "'op':'Attention','inputs':[%d,%d,%d],'shape':[1,4,16,16],'batch_dim':0", q, q, q);
	o = text_node(&t, "'op':'Reshape','inputs':[%d],'shape':[1,16,64],'batch_dim':0,'view':true", o);
	o = text_node(&t, "'op':'Gemm','inputs':[%d],'shape':[1,16,8],'batch_dim':0,'weights':[[8,64]]", o);
	o = text_node(&t, "'op':'Add','inputs':[%d,%d],'shape':[1,16,8],'batch_dim':0", x, o);
	text_node(&t, "'op':'RMSNormalization','inputs':[%d],'shape':[1,16,8],'batch_dim':0,'weights':[[8]]", o);
	s = make_skeleton(text_finish(&t, &arena), false, &arena);
	CHECK_EQ(pm_buckets_build(s, PM_FP32, 25, &arena, &b, &st), PM_OK);
	CHECK_EQ(b.activation, 16 * 8);
	CHECK_EQ(b.layers, 1);
	for (int i = 0; i < s->n; i++)
		whole += b.whole[i];
	/* both norms of the layer and what is added */
	CHECK_EQ(whole, 3);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_trained();
	test_frozen();
	test_most();
	test_few_networks();
	test_norms();
	pm_arena_release(&arena);
	return check_done("buckets");
}
