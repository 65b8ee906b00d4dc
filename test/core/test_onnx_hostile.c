/*
 * test_onnx_hostile.c - ONNX files that would take for ever, that are damaged, and a caller who stops.
 */
#include "onnx_import.h"

#include <limits.h>

/* ---------- what would take for ever ---------- */

/* Concats that each read the one before 16 times: 16^9 ways from the layer to its parameter. */
static void
test_many_ways(void)
{
	char		model[4096] = "input x 1 5,N,8;init w0 1 1,1,8;init r 1 1,4,4;init b 1 1,32;";
	imported	m;

	for (int i = 0; i < 9; i++)
	{
		size_t		n = strlen(model);

		n += (size_t) snprintf(model + n, sizeof(model) - n, "node Concat w%d", i);
		for (int k = 1; k < 16; k++)
			n += (size_t) snprintf(model + n, sizeof(model) - n, ",w%d", i);
		snprintf(model + n, sizeof(model) - n, " -> w%d axis=1;", i + 1);
	}
	strcat(model, "node LSTM x,w9,r,b -> y hidden_size=4");
	import(model, -1, &m);
	CHECK_EQ(m.code, PM_ERR_INPUT);
	CHECK_HAS(m.st.message, "do not fit data of width 8");
	pm_arena_release(&m.arena);

	/* first met at the end of a long way, which stops there, then on a short one */
	check_folded("input x 1 5,N,8;init w 1 1,4,8;init r 1 1,32,8;init b 1 1,64;node Concat w,w -> d axis=1;node Concat d,d -> c axis=1;"
				 "node Transpose c -> t1 perm=0,1,2;node Transpose t1 -> t2 perm=0,1,2;node Transpose t2 -> t3 perm=0,1,2;"
				 "node Transpose t3 -> t4 perm=0,1,2;node Transpose t4 -> t5 perm=0,1,2;node Transpose t5 -> t6 perm=0,1,2;"
				 "node Transpose t6 -> t7 perm=0,1,2;node Concat t7,c -> v axis=1;node LSTM x,v,r,b -> y hidden_size=8;output y", "LSTM");
}

typedef struct long_model
{
	uint8_t    *v;
	size_t		n;
} long_model;

static void
append(long_model *to, const bytes *part)
{
	memcpy(to->v + to->n, part->v, part->n);
	to->n += part->n;
}

static void
append_node(long_model *to, const char *fmt, int i)
{
	static bytes part;
	char		line[100];

	snprintf(line, sizeof(line), fmt, i, i + 1);
	part.n = 0;
	put_node(&part, line);
	append(to, &part);
}

typedef struct patience
{
	int			asked;
	int			most;
} patience;

static bool
impatient(void *ctx)
{
	patience   *p = ctx;

	return ++p->asked > p->most;
}

/* Import n bytes for a caller who says stop after p->most questions. */
static pm_code
import_with(const uint8_t *v, size_t n, patience *p)
{
	pm_onnx_options o = {.name = "m", .batch_dim = -1};
	pm_hooks	hooks = {.stop = impatient, .ctx = p};
	pm_arena	arena;
	pm_status	st = {PM_OK};
	pm_graph	g;
	pm_code		code;

	pm_arena_init_malloc(&arena);
	arena.hooks = &hooks;
	code = pm_onnx_import(v, n, &o, &arena, &g, &st);
	CHECK_EQ(st.code, code);
	pm_arena_release(&arena);
	return code;
}

/* The graph built from `rest`, with nodes ahead of its own. */
static pm_code
import_long(const long_model *nodes, const char *rest, patience *p)
{
	static bytes head;
	long_model	all = {.v = malloc(nodes->n + sizeof(bytes))};
	size_t		at = 0;
	size_t		len = 0;
	pm_code		code;

	build_onnx(rest, &file);
	while (file.v[at] != (7 << 3 | 2))
		at++;
	head.n = 0;
	put_varint(&head, 7 << 3 | 2);
	at++;
	for (int shift = 0; shift == 0 || file.v[at - 1] >= 128; shift += 7)
		len |= (size_t) (file.v[at++] & 127) << shift;
	put_varint(&head, nodes->n + len);
	append(&all, &head);
	memcpy(all.v + all.n, nodes->v, nodes->n);
	memcpy(all.v + all.n + nodes->n, file.v + at, file.n - at);
	code = import_with(all.v, all.n + nodes->n + file.n - at, p);
	free(all.v);
	return code;
}

/* Attributes are searched one by one, so there may not be any number of them. */
static void
test_many_attributes(void)
{
	char		model[4096] = FLAT "node Relu x -> y";

	for (int i = 0; i < 256; i++)
		strcat(model, " a=1");
	check_error(model, PM_OK, "");
	strcat(model, " a=1");
	check_error(model, PM_ERR_LIMIT, "node 0 (Relu) has more than 256 attributes");
}

/* How often the caller is asked while rows of `row` nodes are imported, each of which passes something on and is read from everywhere. */
static int
asked_of_rows(int row, const char *first, const char *second, const char *rest)
{
	long_model	nodes = {.v = malloc((size_t) row * 200)};
	patience	p = {.most = INT_MAX};

	for (int i = 0; i < row; i++)
		append_node(&nodes, first, i);
	for (int i = 0; i < row && second != NULL; i++)
		append_node(&nodes, second, i);
	CHECK_EQ(import_long(&nodes, rest, &p), PM_OK);
	free(nodes.v);
	return p.asked;
}

/* Long rows: no deep stack, and twice as long a row is twice the work, not four times. */
static void
test_long_rows(void)
{
	static const char *const rows[][3] = {
		{"Identity k%d -> k%d", "Div x,k30000 -> q%d", FLAT "scalar k0 6;node Relu x -> y;output y"},
		{"Slice a%d,s,e -> a%d", NULL, FLAT "init a0 1 8;ints s 0;ints e 8;node Equal a30000,x -> y;output y"},
	};

	for (int i = 0; i < 2; i++)
	{
		int			asked = asked_of_rows(30000, rows[i][0], rows[i][1], rows[i][2]);

		CHECK(asked > 30000 / PM_POLL_EVERY);
		CHECK(asked_of_rows(60000, rows[i][0], rows[i][1], rows[i][2]) < 3 * asked);
	}
}

/* The caller is asked all along, and each time the answer counts. */
static void
test_stop(void)
{
	static char model[1 << 15] = FLAT "node Relu x,x -> a0;";
	patience	p = {.most = 1000000};

	for (int i = 0; i < 1000; i++)
		snprintf(model + strlen(model), 40, "node Relu a%d -> a%d;", i, i + 1);
	build_onnx(model, &file);
	/* the walk ends at its first node: who asks has decoded and folded 1000 of them */
	CHECK_EQ(import_with(file.v, file.n, &p), PM_ERR_INPUT);
	CHECK(p.asked >= 3 * 1000 / 256);
	for (int most = 0; most < p.asked; most++)
	{
		patience	q = {.most = most};

		CHECK_EQ(import_with(file.v, file.n, &q), PM_CANCELLED);
	}
}

/* ---------- damage ---------- */

/* Cut anywhere, and with any bit turned, the importer says yes or no and nothing worse. */
static void
test_damage(void)
{
	static bytes whole;
	imported	m;
	int			refused = 0;

	build_onnx(IMAGE "init w 1 6,4,3,3;init b 1 6;ints s 0,-1;node Conv x,w,b -> c pads=1,1,1,1;node Relu c -> r;"
			   "node Reshape r,s -> f;init g 1 10,384;node Gemm f,g -> y transB=1;output y", &whole);
	for (size_t n = 0; n < whole.n; n++)
	{
		import_bytes(whole.v, n, -1, &m);
		refused += m.code != PM_OK;
		CHECK(m.code == PM_OK || m.st.message[0] != '\0');
		pm_arena_release(&m.arena);
	}
	CHECK(refused >= (int) whole.n - 40);
	for (size_t bit = 0; bit < whole.n * 8; bit++)
	{
		whole.v[bit / 8] ^= (uint8_t) (1 << bit % 8);
		import_bytes(whole.v, whole.n, -1, &m);
		CHECK(m.code == PM_OK || m.code == PM_ERR_INPUT || m.code == PM_ERR_LIMIT);
		pm_arena_release(&m.arena);
		whole.v[bit / 8] ^= (uint8_t) (1 << bit % 8);
	}
}

int
main(void)
{
	test_many_ways();
	test_many_attributes();
	test_long_rows();
	test_stop();
	test_damage();
	return check_done("test_onnx_hostile");
}
