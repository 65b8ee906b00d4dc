/*
 * test_attention.c - the work of attention with a window, and with queries wider than values, counted one by one.
 */
#include "check.h"
#include "op_nodes.h"

#include <stdlib.h>

/* Keys that `queries` see together of `keys`, each up to its own place or on both sides alike, no more than a window. */
static double
seen(int queries, int keys, int window, bool causal)
{
	double		n = 0;

	for (int i = 0; i < queries; i++)
		for (int j = 0; j < keys; j++)
			n += causal ? j <= i && (i - j < window || (i >= keys && j >= keys - window)) : abs(i - j) <= (window - 1) / 2;
	return n;
}

/* With a window, a query sees the keys next to its own place. Scores are as wide as queries, which those of latent attention are more than values. */
static void
test_window(void)
{
	static const struct
	{
		int			queries,
					keys,
					window;
	}			cases[] = {{128, 128, 1}, {128, 128, 33}, {128, 128, 127}, {128, 128, 128}, {128, 128, 129}, {128, 128, 201}, {128, 128, 255}, {128, 128, 257}, {128, 256, 51}, {256, 128, 51}};

	for (int i = 0; i < (int) (sizeof(cases) / sizeof(cases[0])); i++)
		for (int causal = 0; causal <= 1; causal++)
		{
			char		nodes[1024];

			/* on both sides alike: an odd number */
			if (!causal && (cases[i].queries != cases[i].keys || cases[i].window % 2 == 0))
				continue;
			snprintf(nodes, sizeof(nodes), "{'id':0,'op':'Input','inputs':[],'shape':[1,8,%d,64],'batch_dim':0},"
					 "{'id':1,'op':'Input','inputs':[],'shape':[1,8,%d,64],'batch_dim':0},"
					 "{'id':2,'op':'Attention','inputs':[0,1,1],'shape':[1,8,%d,64],'batch_dim':0,'attrs':{'is_causal':%d,'window':%d}}",
					 cases[i].queries, cases[i].keys, cases[i].queries, causal, cases[i].window);
			load(nodes);
			CHECK_NEAR(work(2, 1, PM_AMP, PM_SGD).flops_forward, 4. * 8 * 64 * seen(cases[i].queries, cases[i].keys, cases[i].window, causal), 1e-6);
		}
	load("{'id':0,'op':'Input','inputs':[],'shape':[1,8,128,192],'batch_dim':0},{'id':1,'op':'Input','inputs':[],'shape':[1,8,128,128],'batch_dim':0},"
		 "{'id':2,'op':'Attention','inputs':[0,0,1],'shape':[1,8,128,128],'batch_dim':0}");
	CHECK_EQ(work(2, 1, PM_AMP, PM_SGD).flops_forward, 2. * 8 * 128 * 128 * (192 + 128));
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_window();
	pm_arena_release(&arena);
	return check_done("attention");
}
