/*
 * test_graph.c - the graph importer, validation, dag, reachability, structure hash.
 *
 * JSON stands here with ' in place of ", for the reader's sake.
 */
#include "check.h"
#include "graph/graph.h"
#include "graph/graph_finish.h"
#include "graph/op_catalogue.h"
#include "graph/dag.h"
#include "graph/graph_json.h"
#include "graph/graph_write.h"

#include <stdarg.h>
#include <stdlib.h>

#define HEAD "{'format':'perfmodel-graph/1','nodes':["
#define IN0 "{'id':0,'op':'Input','inputs':[],'shape':[1,8],'batch_dim':0}"
#define DOC(nodes) HEAD nodes "]}"
#define ONE(extra) DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1,8],'batch_dim':0," extra "}")
#define TWO(node) DOC(IN0 "," node)

/* Memory for texts; a test that has none need not go on. */
static char *
buffer(size_t size)
{
	char	   *p = malloc(size);

	if (p == NULL)
		abort();
	return p;
}

/* Print behind the first len bytes of text; the new length. */
static size_t PM_PRINTF(3, 4)
append(char *text, size_t len, const char *fmt,...)
{
	va_list		ap;

	va_start(ap, fmt);
	len += (size_t) vsprintf(text + len, fmt, ap);
	va_end(ap);
	return len;
}

/* Parse text with ' for "; the caller releases the arena. */
static pm_code
parse(const char *text, pm_arena *a, pm_graph *g, pm_status *st)
{
	size_t		len = strlen(text);
	char	   *copy = buffer(len + 1);
	pm_code		code;

	pm_arena_init_malloc(a);
	memset(st, 0, sizeof(*st));
	for (size_t i = 0; i <= len; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	code = pm_graph_from_json(copy, len, a, g, st);
	free(copy);
	return code;
}

/* ---------- documents that must be refused ---------- */

static const struct bad_document
{
	const char *text;
	pm_code		code;
	const char *message;
}			bad_documents[] =
{
	/* not JSON */
	{"", PM_ERR_INPUT, "not valid JSON at byte 0"},
	{"{", PM_ERR_INPUT, "not valid JSON at byte 1"},
	{"{'a':1,}", PM_ERR_INPUT, "expected a value behind the comma"},
	{"{'a':[1,]}", PM_ERR_INPUT, "expected a value behind the comma"},
	{"{'a' 1}", PM_ERR_INPUT, "expected \":\""},
	{"{'a':1 'b':2}", PM_ERR_INPUT, "expected \",\" or \"}\""},
	{"{'a':[1 2]}", PM_ERR_INPUT, "expected \",\" or \"]\""},
	{"{a:1}", PM_ERR_INPUT, "expected a string"},
	{"{'a':tru}", PM_ERR_INPUT, "expected a value"},
	{"{'a':01}", PM_ERR_INPUT, "leading zero"},
	{"{'a':1.}", PM_ERR_INPUT, "expected a digit"},
	{"{'a':1e}", PM_ERR_INPUT, "expected a digit"},
	{"{'a':-}", PM_ERR_INPUT, "expected a value"},
	{"{'a':NaN}", PM_ERR_INPUT, "expected a value"},
	{"{'a':'\\x'}", PM_ERR_INPUT, "wrong escape"},
	{"{'a':'\\u12'}", PM_ERR_INPUT, "wrong escape"},
	{"{'a':'\\ud800'}", PM_ERR_INPUT, "wrong escape"},
	{"{'a':'\\ud800\\u0041'}", PM_ERR_INPUT, "wrong escape"},
	{"{'a':'\\udc00'}", PM_ERR_INPUT, "wrong escape"},
	{"{'a':'\n'}", PM_ERR_INPUT, "control character"},
	{"{'a':'\xff'}", PM_ERR_INPUT, "not UTF-8"},
	{"{'a':'\xc0\x80'}", PM_ERR_INPUT, "not UTF-8"},
	{"{'a':'\xe0\x80\x80'}", PM_ERR_INPUT, "not UTF-8"},
	{"{'a':'\xf0\x80\x80\x80'}", PM_ERR_INPUT, "not UTF-8"},
	{"{'a':'\xf4\x90\x80\x80'}", PM_ERR_INPUT, "not UTF-8"},
	{"{'a':'\xed\xa0\x80'}", PM_ERR_INPUT, "not UTF-8"},
	{"{'a':'\xe2\x82'}", PM_ERR_INPUT, "not UTF-8"},
	{"{'a':'b", PM_ERR_INPUT, "string does not end"},
	{"{} {}", PM_ERR_INPUT, "something follows"},
	{"[1,2]", PM_ERR_INPUT, "graph is not a JSON object"},
	{"'perfmodel'", PM_ERR_INPUT, "graph is not a JSON object"},
	/* the document */
	{"{}", PM_ERR_INPUT, "\"format\" is missing"},
	{"{'format':1}", PM_ERR_INPUT, "\"format\" is not a string"},
	{"{'format':'perfmodel-graph/2','nodes':[]}", PM_ERR_INPUT, "unknown \"format\" \"perfmodel-graph/2\""},
	{"{'nodes':[7],'format':'x'}", PM_ERR_INPUT, "unknown \"format\" \"x\""},
	{"{'format':'perfmodel-graph/1'}", PM_ERR_INPUT, "\"nodes\" is missing"},
	{"{'format':'perfmodel-graph/1','nodes':{}}", PM_ERR_INPUT, "\"nodes\" is not an array"},
	{DOC(""), PM_ERR_INPUT, "\"nodes\" is empty"},
	{"{'format':'perfmodel-graph/1','name':3,'nodes':[" IN0 "]}", PM_ERR_INPUT, "\"name\" is not a string"},
	{"{'format':'perfmodel-graph/1','model':[],'nodes':[" IN0 "]}", PM_ERR_INPUT, "\"model\" is not a string"},
	{"{'format':'perfmodel-graph/1','source':{},'nodes':[" IN0 "]}", PM_ERR_INPUT, "\"source\" is not a string"},
	{"{'format':'perfmodel-graph/1','input':3,'nodes':[" IN0 "]}", PM_ERR_INPUT, "\"input\" is not an array"},
	{"{'format':'perfmodel-graph/1','params':'x','nodes':[" IN0 "]}", PM_ERR_INPUT, "\"params\" is not a number"},
	{"{'format':'perfmodel-graph/1','params':-1,'nodes':[" IN0 "]}", PM_ERR_INPUT, "\"params\" is -1"},
	{"{'format':'perfmodel-graph/1','params':1e999,'nodes':[" IN0 "]}", PM_ERR_INPUT, "\"params\" is inf"},
	{"{'format':'perfmodel-graph/1','output':1,'nodes':[" IN0 "]}", PM_ERR_INPUT, "\"output\" names node 1, which does not exist"},
	{"{'format':'perfmodel-graph/1','name':'a','name':'b','nodes':[" IN0 "]}", PM_ERR_INPUT, "\"name\" is given twice"},
	{"{'format':'perfmodel-graph/1','name':'a\\u0000b','nodes':[" IN0 "]}", PM_ERR_INPUT, "\"name\" has a NUL"},
	/* required keys of a node */
	{DOC("1"), PM_ERR_INPUT, "node 0 is not an object"},
	{DOC("{'op':'Relu','inputs':[],'shape':[1],'batch_dim':0}"), PM_ERR_INPUT, "node 0: \"id\" is missing"},
	{DOC("{'id':0,'inputs':[],'shape':[1],'batch_dim':0}"), PM_ERR_INPUT, "node 0: \"op\" is missing"},
	{DOC("{'id':0,'op':'Relu','shape':[1],'batch_dim':0}"), PM_ERR_INPUT, "node 0: \"inputs\" is missing"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'batch_dim':0}"), PM_ERR_INPUT, "node 0: \"shape\" is missing"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1]}"), PM_ERR_INPUT, "node 0: \"batch_dim\" is missing"},
	{ONE("'id':0"), PM_ERR_INPUT, "node 0: \"id\" is given twice"},
	/* ids and inputs */
	{DOC("{'id':1,'op':'Relu','inputs':[],'shape':[1],'batch_dim':0}"), PM_ERR_INPUT, "node 0: \"id\" is 1, but ids must be dense"},
	{DOC("{'id':'0'}"), PM_ERR_INPUT, "node 0: \"id\" is not a number"},
	{DOC("{'id':0.5}"), PM_ERR_INPUT, "node 0: \"id\" is 0.5"},
	{TWO("{'id':0,'op':'Relu','inputs':[],'shape':[1],'batch_dim':0}"), PM_ERR_INPUT, "node 1: \"id\" is 0"},
	{TWO("{'id':1,'op':'Relu','inputs':[1],'shape':[1],'batch_dim':0}"), PM_ERR_INPUT,
	"node 1: \"inputs\" names node 1, which does not come before it"},
	{TWO("{'id':1,'op':'Relu','inputs':[2],'shape':[1],'batch_dim':0},{'id':2}"), PM_ERR_INPUT,
	"node 1: \"inputs\" names node 2, which does not come before it"},
	{TWO("{'id':1,'op':'Relu','inputs':[9],'shape':[1],'batch_dim':0}"), PM_ERR_INPUT,
	"node 1: \"inputs\" names node 9, which does not exist"},
	{TWO("{'id':1,'op':'Relu','inputs':[-1],'shape':[1],'batch_dim':0}"), PM_ERR_INPUT,
	"node 1: \"inputs\" names node -1, which does not exist"},
	{TWO("{'id':1,'op':'Relu','inputs':[99999999999999999999],'shape':[1],'batch_dim':0}"), PM_ERR_INPUT,
	"node 1: \"inputs\" is 1e+20, which is not a whole number in range"},
	{TWO("{'id':1,'op':'Relu','inputs':0,'shape':[1],'batch_dim':0}"), PM_ERR_INPUT, "node 1: \"inputs\" is not an array"},
	{TWO("{'id':1,'op':'Relu','inputs':['0'],'shape':[1],'batch_dim':0}"), PM_ERR_INPUT, "node 1: \"inputs\" is not a number"},
	{DOC("{'id':0,'op':7}"), PM_ERR_INPUT, "node 0: \"op\" is not a string"},
	{DOC("{'id':0,'op':'','inputs':[],'shape':[1],'batch_dim':0}"), PM_ERR_INPUT, "node 0: \"op\" is empty"},
	/* shapes and the batch */
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':8,'batch_dim':0}"), PM_ERR_INPUT, "node 0: \"shape\" is not an array"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1,2,3,4,5,6,7,8,9],'batch_dim':0}"), PM_ERR_LIMIT,
	"node 0: \"shape\" has more than 8 dimensions"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':[-1],'batch_dim':0}"), PM_ERR_LIMIT, "node 0: \"shape\" has dimension -1"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1099511627777],'batch_dim':0}"), PM_ERR_LIMIT,
	"node 0: \"shape\" has dimension 1099511627777"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1.5],'batch_dim':0}"), PM_ERR_INPUT, "node 0: \"shape\" is 1.5"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':[null],'batch_dim':0}"), PM_ERR_INPUT, "node 0: \"shape\" is not a number"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1],'batch_dim':1}"), PM_ERR_INPUT, "node 0: \"batch_dim\" is 1, but \"shape\" has 1"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':[],'batch_dim':0}"), PM_ERR_INPUT, "node 0: \"batch_dim\" is 0, but \"shape\" has 0"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1],'batch_dim':-1}"), PM_ERR_INPUT, "node 0: \"batch_dim\" is -1"},
	{DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1],'batch_dim':'0'}"), PM_ERR_INPUT, "node 0: \"batch_dim\" is not a number"},
	{ONE("'shapes':[[1,2],[]]"), PM_ERR_INPUT, "node 0: \"batch_dim\" is 0, but \"shapes[1]\" has 0"},
	{ONE("'shapes':[8]"), PM_ERR_INPUT, "node 0: \"shapes[0]\" is not an array"},
	{ONE("'weights':[[3],null]"), PM_ERR_INPUT, "node 0: \"weights[1]\" has no shape"},
	{ONE("'weights':{}"), PM_ERR_INPUT, "node 0: \"weights\" is not an array"},
	{ONE("'consts':[[1,-2]]"), PM_ERR_LIMIT, "node 0: \"consts[0]\" has dimension -2"},
	/* optional keys of the wrong type */
	{ONE("'view':1"), PM_ERR_INPUT, "node 0: \"view\" is not true or false"},
	{ONE("'flops':'many'"), PM_ERR_INPUT, "node 0: \"flops\" is not a number"},
	{ONE("'flops':-5"), PM_ERR_INPUT, "node 0: \"flops\" is -5"},
	{ONE("'flops0':null"), PM_ERR_INPUT, "node 0: \"flops0\" is not a number"},
	{ONE("'attrs':[]"), PM_ERR_INPUT, "node 0: \"attrs\" is not an object"},
	{ONE("'attrs':{'group':0}"), PM_ERR_INPUT, "node 0: \"attrs.group\" is 0"},
	{ONE("'attrs':{'group':'1'}"), PM_ERR_INPUT, "node 0: \"attrs.group\" is not a number"},
	{ONE("'attrs':{'axis':77}"), PM_ERR_INPUT, "node 0: \"attrs.axis\" is 77"},
	{ONE("'attrs':{'kernel_shape':[3,3,3,3]}"), PM_ERR_LIMIT, "node 0: \"attrs.kernel_shape\" has more than 3"},
	{ONE("'attrs':{'kernel_shape':['3']}"), PM_ERR_INPUT, "node 0: \"attrs.kernel_shape\" is not a list"},
	{ONE("'attrs':{'kernel_shape':[0]}"), PM_ERR_INPUT, "node 0: \"attrs.kernel_shape\" is 0"},
	{ONE("'attrs':{'kernel_shape':[3,3],'strides':[1,1,1]}"), PM_ERR_INPUT, "node 0: \"attrs.strides\" has 3 values for 2"},
	{ONE("'attrs':{'strides':[0,0],'kernel_shape':[3,3]}"), PM_ERR_INPUT, "node 0: \"attrs.strides\" is 0"},
	{ONE("'attrs':{'kernel_shape':[3,3],'pads':[-1,0]}"), PM_ERR_LIMIT, "node 0: \"attrs.pads\" has value -1"},
	{ONE("'attrs':{'kernel_shape':[3,3],'dilations':[1,'x']}"), PM_ERR_INPUT, "node 0: \"attrs.dilations\" is not a list"},
	{ONE("'attrs':{'hidden_size':-4}"), PM_ERR_INPUT, "node 0: \"attrs.hidden_size\" is -4"},
	{ONE("'attrs':{'direction':1}"), PM_ERR_INPUT, "node 0: \"attrs.direction\" is not a string"},
	{ONE("'attrs':{'tied':5},'weights':[[1]]"), PM_ERR_INPUT, "node 0: \"attrs.tied\" names node 5, which does not exist"},
	{ONE("'attrs':{'tied':0},'weights':[[1]]"), PM_ERR_INPUT, "node 0: \"attrs.tied\" names node 0, which is itself"},
	{TWO("{'id':1,'op':'Gemm','inputs':[0],'shape':[1,8],'batch_dim':0,'attrs':{'tied':0},'weights':[[8,8]]}"), PM_ERR_INPUT,
	"node 1: \"attrs.tied\" names node 0, which has no weights"},
	{TWO("{'id':1,'op':'Gemm','inputs':[0],'shape':[1,8],'batch_dim':0,'attrs':{'tied':0}}"), PM_ERR_INPUT,
	"node 1: \"attrs.tied\" is given, but \"weights\" is empty"},
};

static void
test_bad_documents(void)
{
	for (size_t i = 0; i < sizeof(bad_documents) / sizeof(bad_documents[0]); i++)
	{
		const struct bad_document *d = &bad_documents[i];
		pm_arena	a;
		pm_graph	g;
		pm_status	st;
		pm_code		code = parse(d->text, &a, &g, &st);

		if (code != d->code)
			fprintf(stderr, "%s: code %d, should be %d\n", d->text, code, d->code);
		CHECK(code == d->code);
		CHECK(st.code == d->code);
		CHECK_HAS(st.message, d->message);
		pm_arena_release(&a);
	}
}

static void
test_helpful_parts(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;

	parse(TWO("{'id':1,'op':'Relu','inputs':[1],'shape':[1],'batch_dim':0}"), &a, &g, &st);
	CHECK_HAS(st.hint, "producers come before consumers");
	pm_arena_release(&a);
	parse("{'format':'perfmodel-graph/9','nodes':[]}", &a, &g, &st);
	CHECK_HAS(st.hint, "perfmodel-graph/1");
	pm_arena_release(&a);
	parse(DOC("{'id':4}"), &a, &g, &st);
	CHECK_HAS(st.detail, "position 0 of \"nodes\" must have the id 0");
	pm_arena_release(&a);
	/* no status wanted */
	CHECK(pm_graph_from_json("{", 1, &a, &g, NULL) == PM_ERR_INPUT);
	pm_arena_release(&a);
}

/* ---------- documents that must be read ---------- */

/* Every key at its place, in an order that jsonb would give, with unknown keys in between. */
static void
test_all_keys(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	const pm_node *n;

	CHECK(parse(" {'name':'r\\u00e9s\\ud83d\\ude00','x':[1,{'y':null}],'input':[1,3,8,8],'model':'m','nodes':["
				"{'shape':[1,3,8,8],'op':'Input','batch_dim':0,'id':0,'inputs':[]},"
				"{'id':1,'op':'Conv','attrs':{'pads':[1,0,2,0],'kernel_shape':[3,5],'strides':[2,1.0],'auto':'no',"
				"'dilations':[1,2],'group':1e0,'axis':null},'extra':{'a':[true,false]},'flops':1.5e3,'flops0':0,"
				"'inputs':[0],'shape':[1,4,4,4],'weights':[[4,3,3,5],[4]],'consts':[[]],'batch_dim':0},"
				"{'id':2,'op':'Split','view':true,'inputs':[1],'shape':[1,2,4,4],'shapes':[[1,2,4,4],[1,2,4,4]],'batch_dim':0}],"
				"'format':'perfmodel-graph/1','output':2,'params':184,'source':'s'}\n", &a, &g, &st) == PM_OK);
	CHECK(strcmp(g.name, "r\xc3\xa9s\xf0\x9f\x98\x80") == 0);
	CHECK(strcmp(g.model, "m") == 0 && strcmp(g.source, "s") == 0);
	CHECK_EQ(g.n_nodes, 3);
	CHECK_EQ(g.input.rank, 4);
	CHECK_EQ(g.declared_params, 184);
	CHECK_EQ(g.params, 184);
	CHECK_EQ(g.n_unknown, 0);
	n = &g.nodes[1];
	CHECK(n->op == pm_op_find("Conv") && strcmp(n->op_name, "Conv") == 0);
	CHECK(n->n_inputs == 1 && n->inputs[0] == 0);
	CHECK(n->attrs.spatial == 2 && n->attrs.kernel[0] == 3 && n->attrs.kernel[1] == 5);
	CHECK(n->attrs.stride[0] == 2 && n->attrs.stride[1] == 1);
	CHECK(n->attrs.pad[0] == 2 && n->attrs.pad[1] == 0);	/* the mean of 1 and 2, rounded up */
	CHECK(n->attrs.dilation[0] == 1 && n->attrs.dilation[1] == 2);
	CHECK(n->attrs.group == 1 && n->attrs.axis == INT64_MIN && n->attrs.tied == -1);
	CHECK(n->n_weights == 2 && n->weights[0].rank == 4 && n->weights[1].dim[0] == 4);
	CHECK(n->n_consts == 1 && n->consts[0].rank == 0);
	CHECK(n->flops == 1500 && n->flops0 == 0 && !n->view && n->grad);
	CHECK(isnan(g.nodes[0].flops) && !g.nodes[0].grad);
	CHECK(g.nodes[2].view && g.nodes[2].n_shapes == 2);
	CHECK_EQ(pm_node_count(&g.nodes[2], 5), 160);
	CHECK_EQ(pm_node_count_all(&g.nodes[2], 5), 320);
	pm_arena_release(&a);
}

/* An operator by itself has a gradient when its input asks for one; the structure tells both apart. */
static void
test_requires_grad(void)
{
	pm_arena	a,
				b;
	pm_graph	wanted,
				not_wanted;
	pm_status	st;

	CHECK(parse(DOC("{'id':0,'op':'Input','inputs':[],'shape':[1,8],'batch_dim':0,'attrs':{'requires_grad':true}},"
					"{'id':1,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':0}"), &a, &wanted, &st) == PM_OK);
	CHECK(parse(DOC(IN0 ",{'id':1,'op':'Relu','inputs':[0],'shape':[1,8],'batch_dim':0}"), &b, &not_wanted, &st) == PM_OK);
	CHECK(pm_graph_finish(&wanted, &a, &st) == PM_OK && pm_graph_finish(&not_wanted, &b, &st) == PM_OK);
	CHECK(wanted.nodes[0].grad && wanted.nodes[1].grad);
	CHECK(!not_wanted.nodes[0].grad && !not_wanted.nodes[1].grad);
	CHECK(wanted.structure != not_wanted.structure);
	pm_arena_release(&a);
	pm_arena_release(&b);
}

/* Where the attributes of a node lie in the text, for storing them. */
static void
test_attrs_range(void)
{
	static const char text[] = "{\"format\":\"perfmodel-graph/1\",\"nodes\":[{\"id\":0,\"op\":\"Relu\","
		"\"inputs\":[],\"shape\":[1],\"batch_dim\":null,\"attrs\": {\"a\":[1,2]} }]}";
	pm_arena	a;
	pm_graph	g;
	pm_status	st;

	pm_arena_init_malloc(&a);
	CHECK(pm_graph_from_json(text, sizeof(text) - 1, &a, &g, &st) == PM_OK);
	CHECK_EQ(g.nodes[0].attrs_len, 11);
	CHECK(memcmp(text + g.nodes[0].attrs_at, "{\"a\":[1,2]}", 11) == 0);
	CHECK_EQ(g.nodes[0].batch_dim, -1);
	pm_arena_release(&a);
}

/* Every prefix of a good document is refused, none is read past its end. */
static void
test_prefixes(void)
{
	static const char text[] = "{\"format\":\"perfmodel-graph/1\",\"nodes\":[{\"id\":0,\"op\":\"Re\\u006cu\","
		"\"inputs\":[],\"shape\":[1,2e0],\"batch_dim\":0,\"view\":false,\"weights\":[[3]]}]}";

	for (size_t len = 0; len < sizeof(text); len++)
	{
		char	   *copy = buffer(len + 1);
		pm_arena	a;
		pm_graph	g;
		pm_status	st;

		memcpy(copy, text, len);
		pm_arena_init_malloc(&a);
		CHECK((pm_graph_from_json(copy, len, &a, &g, &st) == PM_OK) == (len == sizeof(text) - 1));
		pm_arena_release(&a);
		free(copy);
	}
}

/* ---------- limits ---------- */

static void *
get_counted(void *ctx, size_t size)
{
	int		   *left = ctx;

	return (*left)-- > 0 ? malloc(size) : NULL;
}

static void
put_counted(void *ctx, void *block)
{
	(void) ctx;
	free(block);
}

/* Text of n nested arrays as an unknown key. */
static char *
nested(int n)
{
	char	   *text = buffer((size_t) n * 2 + 64);
	size_t		len = append(text, 0, "{\"x\":");

	memset(text + len, '[', (size_t) n);
	memset(text + len + n, ']', (size_t) n);
	strcpy(text + len + 2 * (size_t) n, "}");
	return text;
}

static void
test_depth_limit(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	char	   *text = nested(1000000);

	pm_arena_init_malloc(&a);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_ERR_LIMIT);
	CHECK_HAS(st.message, "nested more than 64 levels");
	free(text);
	text = nested(63);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_ERR_INPUT);
	CHECK_HAS(st.message, "\"format\" is missing");
	free(text);
	pm_arena_release(&a);
}

/* A chain of n nodes as text; every fifth is a view. */
static char *
chain(int n)
{
	char	   *text = buffer((size_t) n * 100 + 100);
	size_t		len = append(text, 0, "{\"format\":\"perfmodel-graph/1\",\"nodes\":[");

	for (int i = 0; i < n; i++)
	{
		len = append(text, len, "%s{\"id\":%d,\"op\":\"%s\",\"inputs\":[", i ? "," : "", i,
								i == 0 ? "Input" : i % 5 ? "Relu" : "Reshape");
		if (i > 0)
			len = append(text, len, "%d", i - 1);
		len = append(text, len, "],\"shape\":[1,8],\"batch_dim\":0%s}", i % 5 == 0 && i > 0 ? ",\"view\":true" : "");
	}
	strcpy(text + len, "]}");
	return text;
}

static void
test_big_chain(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;
	char	   *text = chain(PM_MAX_NODES);

	pm_arena_init_malloc(&a);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
	CHECK_EQ(dag.n, PM_MAX_NODES / 5 * 4);	/* a fifth are views, one of them the input */
	CHECK_EQ(dag.max_depth, dag.n - 1);
	CHECK_EQ(dag.height[0], dag.n - 1);
	pm_arena_release(&a);
	free(text);

	text = chain(PM_MAX_NODES + 1);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_ERR_LIMIT);
	CHECK_HAS(st.message, "\"nodes\" has 200001 nodes, but 200000 are the limit");
	pm_arena_release(&a);
	free(text);
}

/*
 * n sources, then n views that each read the view before and one source: the
 * views stand for lists of 1, 2, ... n sources, n * n / 2 in all.
 */
static void
test_view_blowup(void)
{
	int			n = 30000;
	char	   *text = buffer((size_t) n * 220);
	size_t		len = append(text, 0, "{\"format\":\"perfmodel-graph/1\",\"nodes\":[");
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;

	for (int i = 0; i < n; i++)
		len = append(text, len, "%s{\"id\":%d,\"op\":\"Range\",\"inputs\":[],\"shape\":[8],\"batch_dim\":null}",
								i ? "," : "", i);
	for (int i = n; i < 2 * n; i++)
		len = append(text, len, ",{\"id\":%d,\"op\":\"Concat\",\"inputs\":[%d,%d],\"shape\":[8],\"batch_dim\":null,\"view\":true}",
								i, i - n, i == n ? 0 : i - 1);
	strcpy(text + len, "]}");
	pm_arena_init_malloc(&a);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_ERR_LIMIT);
	CHECK_HAS(st.message, "too many dependencies through views");
	CHECK(a.used < (size_t) 400 * 1024 * 1024);
	pm_arena_release(&a);
	free(text);
}

static void
test_name_limit(void)
{
	char		text[2000];
	char		name[PM_MAX_NAME_LEN + 2];
	pm_arena	a;
	pm_graph	g;
	pm_status	st;

	for (int extra = 0; extra < 2; extra++)
	{
		memset(name, 'x', sizeof(name));
		name[PM_MAX_NAME_LEN + extra] = '\0';
		sprintf(text, DOC("{'id':0,'op':'%s','inputs':[],'shape':[1],'batch_dim':0}"), name);
		CHECK(parse(text, &a, &g, &st) == (extra ? PM_ERR_LIMIT : PM_OK));
		if (extra)
			CHECK_HAS(st.message, "node 0: \"op\" is longer than 512 bytes");
		else
			CHECK_EQ(g.n_unknown, 1);
		pm_arena_release(&a);
	}
}

/* Wherever memory ends, the importer and the dag say so. */
static void
test_no_memory(void)
{
	char	   *text = chain(20000);
	size_t		limit;

	for (limit = 4096; limit < (size_t) 64 << 20; limit += 300 * 1024)
	{
		int			left = 1000000;
		pm_arena	a;
		pm_graph	g;
		pm_status	st;
		pm_dag		dag;
		pm_code		code;

		pm_arena_init(&a, get_counted, put_counted, &left, limit);
		code = pm_graph_from_json(text, strlen(text), &a, &g, &st);
		if (code == PM_OK)
			code = pm_dag_build(&g, &a, &dag, &st);
		if (code != PM_OK)
			CHECK_HAS(st.message, "out of memory");
		CHECK(code == PM_OK || code == PM_ERR_MEMORY);
		CHECK(a.used <= limit);
		pm_arena_release(&a);
		if (code == PM_OK)
			break;
	}
	CHECK(limit > ((size_t) 5 << 20) && limit < ((size_t) 64 << 20));
	free(text);
}

/* Stops what asks for the *left-th time. */
static bool
stop_counted(void *ctx)
{
	int		   *left = ctx;

	return (*left)-- <= 0;
}

/* The importer, the dag and its reachability, with hooks that let `asks` questions pass. */
static pm_code
until_stopped(const char *text, int *asks, pm_status *st)
{
	const pm_hooks hooks = {.stop = stop_counted,.ctx = asks};
	pm_arena	a;
	pm_graph	g;
	pm_dag		dag;
	uint64_t   *rows;
	pm_code		code;

	pm_arena_init_malloc(&a);
	a.hooks = &hooks;
	code = pm_graph_from_json(text, strlen(text), &a, &g, st);
	if (code == PM_OK)
		code = pm_dag_build(&g, &a, &dag, st);
	if (code == PM_OK)
	{
		rows = PM_NEW(&a, uint64_t, pm_reach_words(dag.n) * (size_t) dag.n);
		code = rows == NULL ? pm_no_memory(st, &a) : pm_dag_reach(&dag, &a, rows, st);
	}
	pm_arena_release(&a);
	return code;
}

/* Whoever waits is asked in every pass, often, and a stop at any of these points ends the work. */
static void
test_stop(void)
{
	char	   *text = chain(5000);
	int			asks = 1000000;
	int			asked;
	pm_status	st;

	CHECK(until_stopped(text, &asks, &st) == PM_OK);
	asked = 1000000 - asks;
	CHECK(asked > 5000 / 16 + 6 * 5000 / PM_POLL_EVERY);
	for (int i = 0; i < asked; i++)
	{
		int			left = i;

		if (until_stopped(text, &left, &st) != PM_CANCELLED || strcmp(st.message, "cancelled") != 0)
			check_report(0, __FILE__, __LINE__, "a stop has no effect");
	}
	free(text);
}

static void
test_budget(void)
{
	char	   *text = chain(20000);
	pm_arena	a,
				part,
				inner;
	pm_graph	g;
	pm_status	st;
	int			left = 1000000;

	pm_arena_init(&a, get_counted, put_counted, &left, 1024 * 1024);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_ERR_MEMORY);
	CHECK_HAS(st.message, "budget of 1024 kB");
	pm_arena_release(&a);
	/* what another arena took of the same budget counts */
	pm_arena_init(&a, get_counted, put_counted, &left, 1024 * 1024);
	CHECK(pm_alloc(&a, 900 * 1024, 1) != NULL);
	pm_arena_init_within(&part, &a);
	CHECK(pm_alloc(&part, 200 * 1024, 1) == NULL && pm_no_memory(&st, &part) == PM_ERR_MEMORY);
	CHECK_HAS(st.message, "budget of 1024 kB");
	CHECK(pm_alloc(&part, 50 * 1024, 1) != NULL);
	pm_arena_init_within(&inner, &part);
	CHECK(pm_alloc(&inner, 90 * 1024, 1) == NULL && pm_alloc(&inner, 30 * 1024, 1) != NULL);
	pm_arena_release(&inner);
	pm_arena_release(&part);
	CHECK(pm_alloc(&a, 100 * 1024, 1) != NULL);
	pm_arena_release(&a);
	/* no budget, but an allocator that has no more */
	left = 1;
	pm_arena_init(&a, get_counted, put_counted, &left, 0);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_ERR_MEMORY);
	CHECK(strcmp(st.message, "out of memory") == 0);
	pm_arena_release(&a);
	free(text);
}

/* ---------- the writer ---------- */

/* What is written is read as the same graph, whatever is in its names. */
static void
test_write(void)
{
	static const char text[] =
		"{\"format\":\"perfmodel-graph/1\",\"name\":\"a \\\"quoted\\\" \\\\ name\\n\\u0001\",\"model\":\"m\",\"family\":\"kin\",\"source\":\"s\","
		"\"input\":[1,3,8,8],\"params\":123456789,\"output\":2,\"nodes\":["
		"{\"id\":0,\"op\":\"Input\",\"inputs\":[],\"shape\":[1,3,8,8],\"batch_dim\":0},"
		"{\"id\":1,\"op\":\"Conv\",\"module\":\"layer1.0.conv1\",\"inputs\":[0],\"shape\":[1,4,8,8],\"batch_dim\":0,"
		"\"attrs\":{\"kernel_shape\":[3,3],\"note\":[{\"any\":\"thing\"}]},\"weights\":[[4,3,3,3],[4]],\"consts\":[[1]],\"flops\":1e3,\"flops0\":0.125},"
		"{\"id\":2,\"op\":\"Split\",\"inputs\":[1,1],\"shape\":[1,2,8,8],\"shapes\":[[1,2,8,8],[1,2,8,8]],\"batch_dim\":null,\"view\":true}]}";
	pm_arena	a;
	pm_graph	g,
				h;
	pm_status	st;
	pm_text		first,
				again;

	pm_arena_init_malloc(&a);
	first = again = (pm_text) {.arena = &a};
	CHECK(pm_graph_from_json(text, sizeof(text) - 1, &a, &g, &st) == PM_OK);
	CHECK(strcmp(g.nodes[1].module, "layer1.0.conv1") == 0 && g.nodes[2].module == NULL && g.output == 2);
	CHECK(strcmp(g.family, "kin") == 0 && !g.family_derived);
	CHECK(pm_graph_write(&g, &first, &st) == PM_OK);
	CHECK(pm_graph_from_json(first.s, first.len, &a, &h, &st) == PM_OK);
	CHECK(h.structure == g.structure && h.params == g.params && h.declared_params == g.declared_params);
	CHECK(strcmp(h.name, "a \"quoted\" \\ name\n\001") == 0);
	CHECK(pm_graph_write(&h, &again, &st) == PM_OK);
	CHECK(first.len == again.len && strcmp(first.s, again.s) == 0);
	CHECK_HAS(first.s, "\"attrs\":{\"kernel_shape\":[3,3],\"note\":[{\"any\":\"thing\"}]}");
	CHECK_HAS(first.s, "\"flops\":1000,\"flops0\":0.125}");
	pm_arena_release(&a);
}

/* A module is no part of the structure; a family that is derived follows the name. */
static void
test_module_and_family(void)
{
	pm_arena	a,
				b;
	pm_graph	g,
				h;
	pm_status	st;

	CHECK(parse(DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1],'batch_dim':0,'module':'x.y'}"), &a, &g, &st) == PM_OK);
	CHECK(parse(DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1],'batch_dim':0}"), &b, &h, &st) == PM_OK);
	CHECK(g.structure == h.structure);
	CHECK(pm_graph_rename(&g, "wide_resnet50_2@224", &a, &st) == PM_OK);
	CHECK(strcmp(g.name, "wide_resnet50_2@224") == 0 && (g.model[0] != '\0' || strcmp(g.family, "resnet") == 0));
	pm_arena_release(&a);
	pm_arena_release(&b);
	CHECK(parse(DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1],'batch_dim':0,'module':7}"), &a, &g, &st) == PM_ERR_INPUT);
	CHECK_HAS(st.message, "node 0: \"module\" is not a string");
	pm_arena_release(&a);
}

/* ---------- graphs that no importer made ---------- */

static void
test_finish_by_hand(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_node		nodes[2];
	int32_t		input = 1;

	pm_arena_init_malloc(&a);
	memset(&g, 0, sizeof(g));
	CHECK(pm_graph_finish(&g, &a, &st) == PM_ERR_INPUT);
	pm_node_init(&nodes[0]);
	pm_node_init(&nodes[1]);
	nodes[0].op_name = nodes[1].op_name = "Relu";
	g.nodes = nodes;
	g.n_nodes = 2;
	CHECK(pm_graph_finish(&g, &a, &st) == PM_OK);
	nodes[1].n_inputs = 1;
	nodes[1].inputs = &input;
	CHECK(pm_graph_finish(&g, &a, &st) == PM_ERR_INPUT);
	CHECK_HAS(st.message, "node 1: \"inputs\" names node 1, which does not come before it");
	input = -7;
	CHECK(pm_graph_finish(&g, &a, &st) == PM_ERR_INPUT);
	input = 0;
	nodes[1].shape.rank = 9;
	CHECK(pm_graph_finish(&g, &a, &st) == PM_ERR_LIMIT);
	CHECK_HAS(st.message, "node 1: \"shape\" has 9 dimensions");
	nodes[1].shape.rank = 0;
	nodes[1].batch_dim = 0;
	CHECK(pm_graph_finish(&g, &a, &st) == PM_ERR_INPUT);
	nodes[1].batch_dim = -1;
	nodes[1].n_weights = 1;
	CHECK(pm_graph_finish(&g, &a, &st) == PM_ERR_INPUT);
	CHECK_HAS(st.message, "node 1: \"weights\" has no shape");
	nodes[1].n_weights = 0;
	nodes[1].flops = INFINITY;
	CHECK(pm_graph_finish(&g, &a, &st) == PM_ERR_INPUT);
	nodes[1].flops = NAN;
	nodes[1].op_name = NULL;
	CHECK(pm_graph_finish(&g, &a, &st) == PM_ERR_INPUT);
	CHECK_HAS(st.message, "node 1: \"op\" is empty");
	pm_arena_release(&a);
}

/* ---------- dag ---------- */

/*
 *         Input0
 *           |
 *         Conv1 ------------+
 *        /     \            |
 *    view2     Relu4        |  long skip, behind a view
 *      |         |        view6
 *    Relu3       |          |
 *       \       /           |
 *        Add5               |
 *           \              /
 *            Add7 (reads 5 twice)
 *              |
 *            view8
 */
#define FORK \
	"{'id':0,'op':'Input','inputs':[],'shape':[1,8],'batch_dim':0}," \
	"{'id':1,'op':'Conv','inputs':[0],'shape':[1,8],'batch_dim':0,'weights':[[8,8]]}," \
	"{'id':2,'op':'Reshape','inputs':[1],'shape':[8,1],'batch_dim':1,'view':true}," \
	"{'id':3,'op':'Relu','inputs':[2],'shape':[8,1],'batch_dim':1}," \
	"{'id':4,'op':'Relu','inputs':[1],'shape':[1,8],'batch_dim':0}," \
	"{'id':5,'op':'Add','inputs':[3,4],'shape':[1,8],'batch_dim':0}," \
	"{'id':6,'op':'Reshape','inputs':[1],'shape':[1,8],'batch_dim':0,'view':true}," \
	"{'id':7,'op':'Sum','inputs':[5,6,5],'shape':[1,8],'batch_dim':0}," \
	"{'id':8,'op':'Reshape','inputs':[7],'shape':[8,1],'batch_dim':1,'view':true}"

static void
check_list(const int32_t *at, const int32_t *list, int i, int n, const int32_t *want)
{
	CHECK_EQ(at[i + 1] - at[i], n);
	for (int k = 0; k < n && at[i + 1] - at[i] == n; k++)
		CHECK_EQ(list[at[i] + k], want[k]);
}

static void
test_fork(void)
{
	/* dag: 0 Conv, 1 Relu3, 2 Relu4, 3 Add5, 4 Sum7 */
	static const int32_t node[] = {1, 3, 4, 5, 7};
	static const int32_t depth[] = {0, 1, 1, 2, 3};
	static const int32_t height[] = {3, 2, 2, 1, 0};
	static const uint64_t reach[] = {0x1e, 0x18, 0x18, 0x10, 0};
	uint64_t	rows[5] = {0};
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;

	CHECK(parse(DOC(FORK), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
	CHECK_EQ(dag.n, 5);
	CHECK_EQ(dag.max_depth, 3);
	CHECK_EQ(pm_reach_words(dag.n), 1);
	CHECK(pm_dag_reach(&dag, &a, rows, &st) == PM_OK);
	for (int i = 0; i < 5; i++)
	{
		CHECK_EQ(dag.node[i], node[i]);
		CHECK_EQ(dag.depth[i], depth[i]);
		CHECK_EQ(dag.height[i], height[i]);
		CHECK_EQ(rows[i], reach[i]);
	}
	check_list(dag.parent_at, dag.parent, 0, 0, NULL);
	check_list(dag.parent_at, dag.parent, 1, 1, (const int32_t[]) {0});
	check_list(dag.parent_at, dag.parent, 3, 2, (const int32_t[]) {1, 2});
	check_list(dag.parent_at, dag.parent, 4, 2, (const int32_t[]) {0, 3});
	check_list(dag.child_at, dag.child, 0, 3, (const int32_t[]) {1, 2, 4});
	check_list(dag.child_at, dag.child, 4, 0, NULL);
	pm_arena_release(&a);
}

/* A view of several inputs stands for all of them. */
static void
test_wide_view(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;

	CHECK(parse(DOC("{'id':0,'op':'Range','inputs':[],'shape':[8],'batch_dim':null},"
					"{'id':1,'op':'Range','inputs':[],'shape':[8],'batch_dim':null},"
					"{'id':2,'op':'Slice','inputs':[1,0,1],'shape':[4],'batch_dim':null,'view':true},"
					"{'id':3,'op':'Reshape','inputs':[2],'shape':[4],'batch_dim':null,'view':true},"
					"{'id':4,'op':'Add','inputs':[3,1],'shape':[4],'batch_dim':null}"), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
	CHECK_EQ(dag.n, 3);
	check_list(dag.parent_at, dag.parent, 2, 2, (const int32_t[]) {0, 1});
	pm_arena_release(&a);
}

/* Nothing but views and inputs: an empty dag, not an error. */
static void
test_empty_dag(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;

	CHECK(parse(TWO("{'id':1,'op':'Reshape','inputs':[0],'shape':[8],'batch_dim':0,'view':true}"), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
	CHECK_EQ(dag.n, 0);
	CHECK_EQ(pm_reach_words(0), 0);
	pm_arena_release(&a);
}

/* Rows of more than one word: random edges against a closure computed the slow way. */
static void
test_reach_random(void)
{
	enum
	{
		N = 150
	};
	static char text[N * 300];
	static bool closure[N][N];
	size_t		len = append(text, 0, "{\"format\":\"perfmodel-graph/1\",\"nodes\":[");
	pm_rng		rng;
	pm_arena	a;
	pm_graph	g;
	pm_status	st;
	pm_dag		dag;
	uint64_t   *rows;
	size_t		words;

	pm_rng_seed(&rng, 1);
	for (int i = 0; i < N; i++)
	{
		len = append(text, len, "%s{\"id\":%d,\"op\":\"Sum\",\"shape\":[8],\"batch_dim\":null,\"inputs\":[", i ? "," : "", i);
		for (int k = 0; k < 2 && i > 0; k++)
		{
			int			p = (int) (pm_rng_next(&rng) % (uint64_t) i);

			len = append(text, len, "%s%d", k ? "," : "", p);
			closure[p][i] = true;
			for (int j = 0; j < p; j++)
				closure[j][i] |= closure[j][p];
		}
		len = append(text, len, "]}");
	}
	strcpy(text + len, "]}");
	pm_arena_init_malloc(&a);
	CHECK(pm_graph_from_json(text, strlen(text), &a, &g, &st) == PM_OK);
	CHECK(pm_dag_build(&g, &a, &dag, &st) == PM_OK);
	words = pm_reach_words(dag.n);
	CHECK_EQ(words, 3);
	rows = PM_NEW(&a, uint64_t, words * (size_t) dag.n);
	CHECK(pm_dag_reach(&dag, &a, rows, &st) == PM_OK);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			CHECK((rows[(size_t) i * words + (size_t) j / 64] >> (j % 64) & 1) == closure[i][j]);
	pm_arena_release(&a);
}

/* ---------- structure hash ---------- */

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

/* ---------- what a broadcast touches, where a gradient goes ---------- */

static void
test_derived(void)
{
	pm_arena	a;
	pm_graph	g;
	pm_status	st;

	CHECK(parse(TWO("{'id':1,'op':'Expand','inputs':[0],'shape':[64,8],'batch_dim':0,'view':true},"
					"{'id':2,'op':'Reshape','inputs':[1],'shape':[512],'batch_dim':0,'view':true},"
					"{'id':3,'op':'Slice','inputs':[2],'shape':[4],'batch_dim':0,'view':true},"
					"{'id':4,'op':'Gemm','inputs':[0],'shape':[1,8],'batch_dim':0,'weights':[[8,8]]},"
					"{'id':5,'op':'ArgMax','inputs':[4],'shape':[1,1],'batch_dim':0},"
					"{'id':6,'op':'Cast','inputs':[4],'shape':[1,8],'batch_dim':0,'view':true},"
					"{'id':7,'op':'Mystery','inputs':[6],'shape':[1,8],'batch_dim':0},"
					"{'id':8,'op':'Mystery','inputs':[6],'shape':[1,8],'batch_dim':0,'view':true}"), &a, &g, &st) == PM_OK);
	CHECK_EQ(g.nodes[1].memory, 0);
	CHECK_EQ(g.nodes[2].memory, 0);
	CHECK_EQ(g.nodes[3].memory, 3);
	CHECK_EQ(g.nodes[4].memory, 4);
	CHECK(!g.nodes[0].grad && !g.nodes[3].grad && g.nodes[4].grad);
	CHECK(!g.nodes[5].grad && g.nodes[6].grad && g.nodes[7].grad);
	CHECK_EQ(g.n_unknown, 1);	/* a view does nothing, whatever it is called */
	pm_arena_release(&a);
}

/* ---------- core.c ---------- */

static void
test_core(void)
{
	pm_rng		r;
	pm_arena	a;
	pm_status	st;
	int32_t		v[5] = {0, 1, 2, 3, 4};
	int			sum = 0;
	char	   *p;

	CHECK_EQ(pm_crc32c("123456789", 9), 0xe3069283u);
	CHECK_EQ(pm_crc32c("", 0), 0);
	CHECK(pm_hash(PM_HASH_INIT, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	CHECK(pm_mix(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf));	/* splitmix64's first */
	pm_rng_seed(&r, 0);
	CHECK(pm_rng_next(&r) == UINT64_C(0x99ec5f36cb75f2b4));
	for (int i = 0; i < 1000; i++)
	{
		double		u = pm_rng_uniform(&r);

		CHECK(u >= 0 && u < 1);
	}
	pm_rng_shuffle(&r, v, 5);
	for (int i = 0; i < 5; i++)
		sum |= 1 << v[i];
	CHECK_EQ(sum, 31);
	pm_arena_init_malloc(&a);
	CHECK(pm_alloc(&a, SIZE_MAX / 2, 4) == NULL && pm_alloc(&a, SIZE_MAX, 1) == NULL);
	for (size_t size = 0; size < 200000; size = size * 2 + 1)
	{
		p = pm_alloc(&a, size, 1);
		CHECK(p != NULL && (uintptr_t) p % 64 == 0);
		for (size_t i = 0; i < size; i++)
			sum += p[i];
		memset(p, 0xff, size);
	}
	CHECK_EQ(sum, 31);
	p = pm_strdup(&a, "abc", 2);
	CHECK(strcmp(p, "ab") == 0);
	pm_arena_release(&a);
	CHECK(a.used == 0 && pm_alloc(&a, 1, 1) != NULL);
	pm_arena_release(&a);
	/* a message that is too long is not cut within a character */
	CHECK(pm_fail(&st, PM_ERR_INPUT, "%0254d\xc3\xa9", 0) == PM_ERR_INPUT);
	CHECK_EQ(strlen(st.message), 254);
	/* and bytes that are no UTF-8 do not get into one */
	pm_fail(&st, PM_ERR_INPUT, "a%sz", "\xff\xc0\x80\xe2\x82\xed\xa0\x80");
	CHECK(strcmp(st.message, "a????????z") == 0);
	pm_fail(&st, PM_ERR_INPUT, "%s", "Gr\xc3\xb6\xc3\x9f""e \xe2\x82\xac \xf0\x9f\x98\x80");
	CHECK(strcmp(st.message, "Gr\xc3\xb6\xc3\x9f""e \xe2\x82\xac \xf0\x9f\x98\x80") == 0);
	pm_fail(&st, PM_ERR_INPUT, "\xe2\x82");
	CHECK(strcmp(st.message, "??") == 0);
}

int
main(void)
{
	test_core();
	test_bad_documents();
	test_helpful_parts();
	test_all_keys();
	test_attrs_range();
	test_requires_grad();
	test_prefixes();
	test_depth_limit();
	test_big_chain();
	test_view_blowup();
	test_name_limit();
	test_no_memory();
	test_stop();
	test_budget();
	test_write();
	test_module_and_family();
	test_finish_by_hand();
	test_fork();
	test_wide_view();
	test_empty_dag();
	test_reach_random();
	test_renumbering();
	test_structure_names();
	test_structure_differs();
	test_derived();
	return check_done("test_graph");
}
