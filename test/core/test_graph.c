/*
 * test_graph.c - the graph importer: documents read and refused, the writer, validation, what is derived.
 */
#include "check.h"
#include "graph_text.h"
#include "graph/graph_finish.h"
#include "graph/op_catalogue.h"
#include "graph/graph_write.h"

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

int
main(void)
{
	test_bad_documents();
	test_helpful_parts();
	test_all_keys();
	test_attrs_range();
	test_requires_grad();
	test_prefixes();
	test_write();
	test_module_and_family();
	test_finish_by_hand();
	test_derived();
	return check_done("test_graph");
}
