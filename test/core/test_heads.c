/*
 * test_heads.c - the attention heads of networks, and into how many parts they can be divided.
 */
#include "check.h"
#include "make_graph.h"

#include "scaling/heads.h"

static pm_arena arena;

static int
tensor(graph_text *t, const char *shape)
{
	return text_node(t, "'op':'Input','inputs':[],'shape':%s,'batch_dim':0", shape);
}

/* softmax(mask + scale * q k), of that shape; product: what q and k are multiplied by */
static void
put_scores(graph_text *t, const char *product, const char *shape)
{
	int			q = tensor(t, shape);
	int			k = tensor(t, shape);
	int			scores = text_node(t, "'op':'%s','inputs':[%d,%d],'shape':%s,'batch_dim':0", product, q, k, shape);
	int			scaled = text_node(t, "'op':'Mul','inputs':[%d],'shape':%s,'batch_dim':0", scores, shape);
	int			masked = text_node(t, "'op':'Add','inputs':[%d],'shape':%s,'batch_dim':0", scaled, shape);

	text_node(t, "'op':'Softmax','inputs':[%d],'shape':%s,'batch_dim':0,'attrs':{'axis':-1}", masked, shape);
}

static pm_heads
heads_of_scores(const char *product, const char *shape)
{
	graph_text	t;

	text_start(&t, "scores", "scores");
	put_scores(&t, product, shape);
	return pm_heads_of(text_finish(&t, &arena));
}

static pm_heads
heads_of_fused(const char *shape, const char *attrs)
{
	graph_text	t;
	int			x;

	text_start(&t, "fused", "fused");
	x = tensor(&t, shape);
	text_node(&t, "'op':'Attention','inputs':[%d,%d,%d],'shape':%s,'batch_dim':0%s", x, x, x, shape, attrs);
	return pm_heads_of(text_finish(&t, &arena));
}

static void
test_found(void)
{
	graph_text	t;
	pm_heads	h;

	CHECK_EQ(heads_of_fused("[1,12,64,32]", "").common, 12);
	CHECK_EQ(heads_of_fused("[12,64,32]", "").common, 12);
	CHECK_EQ(heads_of_fused("[1,64,384]", ",'attrs':{'num_heads':6}").common, 6);
	/* one head that is told is one, whatever the shape looks like */
	CHECK_EQ(heads_of_fused("[1,12,64,32]", ",'attrs':{'num_heads':1}").common, 1);
	CHECK_EQ(heads_of_scores("MatMul", "[1,12,64,64]").common, 12);
	CHECK_EQ(heads_of_scores("MatMul", "[12,64,64]").common, 12);
	/* windows stand with the batch */
	CHECK_EQ(heads_of_scores("MatMul", "[64,3,49,49]").common, 3);
	text_start(&t, "stages", "stages");
	put_scores(&t, "MatMul", "[64,6,49,49]");
	put_scores(&t, "MatMul", "[16,9,49,49]");
	put_scores(&t, "MatMul", "[4,24,49,49]");
	h = pm_heads_of(text_finish(&t, &arena));
	CHECK_EQ(h.common, 3);
	CHECK_EQ(h.least, 6);
	CHECK_EQ(h.most, 24);
}

/* What does not say how many heads it has, and what attends to nothing. */
static void
test_not_found(void)
{
	CHECK_EQ(heads_of_fused("[1,64,384]", "").common, 0);
	CHECK_EQ(heads_of_scores("MatMul", "[1,64,64]").common, 0);
	CHECK_EQ(heads_of_scores("Add", "[1,12,64,64]").common, 0);
}

static void
test_check(void)
{
	pm_heads	twelve = {12, 12, 12};
	pm_heads	stages = {3, 6, 24};
	pm_heads	none = {0};
	pm_status	st = {PM_OK};

	for (int tp = 1; tp <= 12; tp++)
	{
		CHECK_EQ(pm_heads_check(tp, &none, &st), PM_OK);
		CHECK_EQ(pm_heads_check(tp, &twelve, &st) == PM_OK, 12 % tp == 0);
		CHECK_EQ(pm_heads_check(tp, &stages, &st) == PM_OK, 3 % tp == 0);
	}
	CHECK_EQ(pm_heads_check(5, &twelve, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, "5 does not divide 12");
	CHECK_HAS(st.detail, "has 12 heads");
	CHECK_HAS(st.hint, "can be 1, 2, 3, 4, 6, 12.");
	CHECK_EQ(pm_heads_check(4, &stages, &st), PM_ERR_OPTION);
	CHECK_HAS(st.message, "4 does not divide 6");
	CHECK_HAS(st.detail, "6 to 24 heads");
	CHECK_HAS(st.hint, "can be 1, 3.");
	twelve.common = twelve.least = twelve.most = INT64_C(1) << 40;
	CHECK_EQ(pm_heads_check(3, &twelve, &st), PM_ERR_OPTION);
	CHECK_HAS(st.hint, "512, 1024.");
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_found();
	test_not_found();
	test_check();
	pm_arena_release(&arena);
	return check_done("attention heads");
}
