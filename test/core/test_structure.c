/*
 * test_structure.c - the hash of a structure: the same for the same work, another for any other.
 */
#include "check.h"
#include "graph_text.h"
#include "graph/graph_finish.h"

static uint64_t
structure(const char *text)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;

	if (parse(text, &a, &g, &st) != PM_OK)
		fprintf(stderr, "%s\n", st.message);
	CHECK(st.code == PM_OK);
	pm_arena_release(&a);
	return g.structure;
}

/* Hash of a graph whose ids are put into another topological order. */
static uint64_t
renumbered(const pm_graph *g, uint64_t seed)
{
	int			n = g->n_nodes;
	int32_t    *order = (int32_t *) buffer(sizeof(int32_t) * (size_t) n);
	int32_t    *new_id = (int32_t *) buffer(sizeof(int32_t) * (size_t) n);
	bool	   *done = (bool *) memset(buffer((size_t) n), 0, (size_t) n);
	pm_graph	h = *g;
	pm_arena	a;
	pm_status	st;
	pm_rng		rng;

	pm_arena_init_malloc(&a);
	pm_rng_seed(&rng, seed);
	h.nodes = PM_NEW(&a, pm_node, (size_t) n);
	for (int k = 0; k < n;)
	{
		int			i = (int) (pm_rng_next(&rng) % (uint64_t) n);
		bool		ready = !done[i];

		for (int j = 0; j < g->nodes[i].n_inputs; j++)
			ready &= done[g->nodes[i].inputs[j]];
		if (!ready)
			continue;
		done[i] = true;
		order[k] = i;
		new_id[i] = k++;
	}
	for (int k = 0; k < n; k++)
	{
		pm_node    *node = &h.nodes[k];

		*node = g->nodes[order[k]];
		node->inputs = PM_NEW(&a, int32_t, (size_t) node->n_inputs);
		for (int j = 0; j < node->n_inputs; j++)
			node->inputs[j] = new_id[g->nodes[order[k]].inputs[j]];
		if (node->attrs.tied >= 0)
			node->attrs.tied = new_id[node->attrs.tied];
	}
	CHECK(pm_graph_finish(&h, &a, &st) == PM_OK);
	CHECK_EQ(h.params, g->params);
	pm_arena_release(&a);
	free(order);
	free(new_id);
	free(done);
	return h.structure;
}

#define TIED ",{'id':9,'op':'Gemm','inputs':[8],'shape':[8,8],'batch_dim':1,'weights':[[8,8],[8]],'attrs':{'tied':1}}"

static void
test_renumbering(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;

	CHECK(parse(DOC(FORK TIED), &a, &g, &st) == PM_OK);
	CHECK_EQ(g.params, 72);		/* the tied matrix counts once, its bias is its own */
	for (uint64_t seed = 0; seed < 20; seed++)
		CHECK(renumbered(&g, seed) == g.structure);
	pm_arena_release(&a);
}

static void
test_structure_names(void)
{
	uint64_t	h = structure(DOC(FORK));

	/* names are not structure, nor are unused attributes, flops, another spelling */
	CHECK(structure("{'format':'perfmodel-graph/1','name':'n','model':'m','nodes':[" FORK "]}") == h);
	CHECK(structure(TWO("{'id':1,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':0,'flops':8,'attrs':{'fx':'a'}}")) ==
		  structure(TWO("{'id':1,'op':'aten::relu','inputs':[0],'shape':[1,8],'batch_dim':0}")));
	/* a view more, the same shape read: the same work */
	CHECK(structure(TWO("{'id':1,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':0}")) ==
		  structure(TWO("{'id':1,'op':'Reshape','inputs':[0],'shape':[8,1],'batch_dim':1,'view':true},"
						"{'id':2,'op':'Reshape','inputs':[1],'shape':[1,8],'batch_dim':0,'view':true},"
						"{'id':3,'op':'Relu','inputs':[2],'shape':[1,8],'batch_dim':0}")));
}

/* Each of these differs from all others. */
static void
test_structure_differs(void)
{
#define LAST(op, inputs, shape, more) TWO("{'id':1,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':0}," \
		"{'id':2,'op':'" op "','inputs':[" inputs "],'shape':[" shape "],'batch_dim':0" more "}")
#define TWINS(nodes) TWO("{'id':1,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':0}," \
		"{'id':2,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':0}," nodes)
#define EXP_NEG "{'id':3,'op':'Exp','inputs':[1],'shape':[1,8],'batch_dim':0}," \
		"{'id':4,'op':'Neg','inputs':[2],'shape':[1,8],'batch_dim':0},"
	static const char *const texts[] = {
		LAST("Sub", "0,1", "1,8", ""),
		LAST("Sub", "1,0", "1,8", ""),
		LAST("Sub", "1,1", "1,8", ""),
		LAST("Sub", "1", "1,8", ""),
		LAST("Add", "0,1", "1,8", ""),
		LAST("Foo", "0,1", "1,8", ""),
		LAST("Bar", "0,1", "1,8", ""),
		LAST("Sub", "0,1", "1,9", ""),
		LAST("Sub", "0,1", "1,8,1", ""),
		LAST("Sub", "0,1", "1,8", ",'weights':[[8]]"),
		LAST("Sub", "0,1", "1,8", ",'consts':[[8]]"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'axis':1}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'group':2}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'kernel_shape':[3]}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'kernel_shape':[3],'strides':[2]}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'kernel_shape':[3],'dilations':[2]}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'kernel_shape':[3],'pads':[2]}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'hidden_size':2}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'num_layers':2}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'num_heads':2}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'alpha':2}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'direction':'bidirectional'}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'is_causal':true}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'frozen':true}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'flash':3}"),
		LAST("Sub", "0,1", "1,8", ",'attrs':{'window':3}"),
		LAST("Sub", "0,1", "1,8", ",'shapes':[[1,8],[1,8]]"),
		/* one node read twice, or two equal nodes read once */
		TWO("{'id':1,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':0},"
			"{'id':2,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':0},"
			"{'id':3,'op':'Sub','inputs':[1,2],'shape':[1,8],'batch_dim':0}"),
		/* twins, told apart only by who reads which of them, and where */
		TWINS("{'id':3,'op':'Sub','inputs':[1,2],'shape':[1,8],'batch_dim':0},"
			  "{'id':4,'op':'Neg','inputs':[1],'shape':[1,8],'batch_dim':0}"),
		TWINS("{'id':3,'op':'Sub','inputs':[1,2],'shape':[1,8],'batch_dim':0},"
			  "{'id':4,'op':'Neg','inputs':[2],'shape':[1,8],'batch_dim':0}"),
		TWINS(EXP_NEG "{'id':5,'op':'Abs','inputs':[2],'shape':[1,8],'batch_dim':0}"),
		TWINS(EXP_NEG "{'id':5,'op':'Abs','inputs':[1],'shape':[1,8],'batch_dim':0}"),
		/* read through a view: another shape, a broadcast */
		TWO("{'id':1,'op':'Reshape','inputs':[0],'shape':[8,1],'batch_dim':1,'view':true},"
			"{'id':2,'op':'Relu','inputs':[1],'shape':[1,8],'batch_dim':0}"),
		TWO("{'id':1,'op':'Expand','inputs':[0],'shape':[1,16],'batch_dim':0,'view':true},"
			"{'id':2,'op':'Relu','inputs':[1],'shape':[1,8],'batch_dim':0}"),
		TWO("{'id':1,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':0}"),
		TWO("{'id':1,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':1}"),
		TWO("{'id':1,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':null}"),
	};
	enum
	{
		N = sizeof(texts) / sizeof(texts[0])
	};
	uint64_t	h[N];

	for (int i = 0; i < N; i++)
	{
		h[i] = structure(texts[i]);
		for (int j = 0; j < i; j++)
		{
			if (h[i] == h[j])
				fprintf(stderr, "same structure:\n%s\n%s\n", texts[i], texts[j]);
			CHECK(h[i] != h[j]);
		}
	}
}

int
main(void)
{
	test_renumbering();
	test_structure_names();
	test_structure_differs();
	return check_done("test_structure");
}
