/*
 * kind_rules.h - step times made by known rules, and what must hold for every kind of predictor.
 */
#ifndef KIND_RULES_H
#define KIND_RULES_H

#include "check.h"
#include "make_graph.h"

#define NUMBER(n, v) {.name = (n), .number = (v)}
#define BOOLEAN(n, v) {.name = (n), .number = (v), .is_bool = true}

static pm_arena arena;

/* Factor on the roofline time of an operator, as the roofline kind groups them. */
static inline double
true_factor(int type, int op_class)
{
	if (type == pm_type_id(0, PM_CONV_1X1))
		return 1.5;
	if (type == pm_type_id(0, PM_CONV_KXK))
		return 2.5;
	if (type == pm_type_id(0, PM_CONV_GROUPED))
		return 6;
	switch (op_class)
	{
		case PM_CLASS_NORM:
			return 1.2;
		case PM_CLASS_ELEMENTWISE:
			return 1.1;
		case PM_CLASS_GEMM:
			return 3;
		default:
			return 2;
	}
}

static inline double
token_ms(const pm_tokens *t, int i)
{
	return t->skeleton->copies[i] *
		(true_factor(t->type[i], t->op_class[i]) * t->roofline_us[i] + 3 * t->kernels[i]) / 1000;
}

static inline double
by_factors(const pm_tokens *t)
{
	double		ms = 0;

	for (int i = 0; i < t->n; i++)
		ms += token_ms(t, i);
	return ms;
}

/*
 * Networks of operators in random numbers: residual networks all have about
 * the same mixture, and nothing could tell their factors apart.
 */
static inline pm_graph *
mixture(pm_rng *rng)
{
	const int	width = 16 * (1 + (int) (pm_rng_uniform(rng) * 4));
	const int	side = 14 * (1 + (int) (pm_rng_uniform(rng) * 3));
	graph_text	t;
	int			x;

	text_start(&t, "mixture", "mixture");
	x = net_input(&t, width, side);
	for (int kind = 0; kind < 6; kind++)
		for (int i = (int) (pm_rng_uniform(rng) * 5); i >= 0; i--)
			switch (kind)
			{
				case 0:
					x = net_conv(&t, x, width, width, side, 1, 1);
					break;
				case 1:
					x = net_conv(&t, x, width, width, side, 3, 1);
					break;
				case 2:
					x = net_conv(&t, x, width, width, side, 3, 4);
					break;
				case 3:
					x = net_norm(&t, x, width, side);
					break;
				case 4:
					x = net_unary(&t, "Relu", x, width, side);
					break;
				default:
					net_classifier(&t, x, width, 100 * width);
			}
	return text_finish(&t, &arena);
}

static inline pm_dataset
varied(time_rule rule)
{
	const int	networks = 40;
	const int	batches = 4;
	pm_dataset	d = {.samples = PM_NEW(&arena, pm_sample, (size_t) networks * batches)};
	pm_rng		rng;

	pm_rng_seed(&rng, 3);
	for (int i = 0; i < networks; i++)
	{
		const pm_graph *g = mixture(&rng);
		const pm_skeleton *s = make_skeleton(g, true, &arena);

		for (int b = 0; b < batches; b++)
		{
			pm_tokens	t;

			d.samples[d.n] = make_sample(g, s, INT64_C(4) << (2 * b), 0);
			CHECK(pm_tokens_build(s, &d.samples[d.n].query, &arena, &t, NULL) == PM_OK);
			d.samples[d.n++].step_ms = rule(&t);
		}
	}
	return d;
}

/*
 * The parts that p gives for a row, [*n]: a part for each token and one for the
 * rest; t gets the tokens.  *worst is raised to the relative error of the step.
 */
static inline pm_part *
parts_of(const pm_predictor *p, const pm_sample *s, pm_tokens *t, int *n, double *worst)
{
	pm_part    *parts = PM_NEW(&arena, pm_part, s->skeleton->n + 1);
	double		ms;

	CHECK(pm_tokens_build(s->skeleton, &s->query, &arena, t, NULL) == PM_OK);
	CHECK(pm_predictor_predict(p, s, &arena, &ms, parts, n, NULL) == PM_OK);
	*worst = fmax(*worst, fabs(ms / s->step_ms - 1));
	return parts;
}

static const pm_setting overfit[] = {
	NUMBER("d_model", 32), NUMBER("d_operator", 16), NUMBER("hidden", 32), NUMBER("layers", 1), NUMBER("dropout", 0),
	NUMBER("unknown", 0), NUMBER("valid_fraction", 0), NUMBER("batch_size", 8), NUMBER("epochs", 1500),
	NUMBER("learning_rate", 3e-3), NUMBER("weight_decay", 0), NUMBER("calibration_folds", 0),
	{.name = "merge", .number = 1, .is_bool = true}
};

/* By factors, and an effect of the whole step that no operator alone explains. */
static inline double
entangled(const pm_tokens *t)
{
	return by_factors(t) * (1 + 0.3 * sin(3 * t->job[2])) + 0.2;
}

static inline double
mape_of(const pm_predictor *p, const pm_dataset *d)
{
	double		sum = 0;

	for (int s = 0; s < d->n; s++)
		sum += fabs(predict_row(p, &d->samples[s]) / d->samples[s].step_ms - 1);
	return sum / d->n;
}

static inline void
check_parts(const pm_predictor *p, const pm_sample *row)
{
	pm_part    *parts = PM_NEW(&arena, pm_part, row->skeleton->n + 1);
	double		plain = predict_row(p, row);
	double		ms;
	double		sum = 0;
	int			n = -1;
	pm_status	st;

	CHECK_EQ(pm_predictor_predict(p, row, &arena, &ms, parts, &n, &st), PM_OK);
	CHECK(n >= row->skeleton->n && n <= row->skeleton->n + 1);
	for (int i = 0; i < n; i++)
	{
		CHECK(isfinite(parts[i].step_ms) && (parts[i].step_ms >= 0 || parts[i].token == -1));
		CHECK_EQ(parts[i].token, i < row->skeleton->n ? i : -1);
		CHECK(strchr("cml-", parts[i].bound) != NULL && parts[i].bound != '\0');
		sum += parts[i].step_ms;
	}
	CHECK_NEAR(sum, ms, 1e-9 * ms);
	CHECK_NEAR(plain, ms, 1e-6 * ms);
}

/* A verdict in words, so that two can be compared, NaN included. */
static inline const char *
verdict_text(const pm_verdict *v, char *buf)
{
	snprintf(buf, 400, "%a %a %d %s", v->low_ms, v->high_ms, v->in_domain, v->reason);
	return buf;
}

/* Prepared at one batch and asked at others: the very same answers. */
static inline void
check_prepared(const pm_predictor *p, const pm_graph *g, const pm_skeleton *s, pm_dtype dtype)
{
	static const int64_t batches[] = {7, 1, 32, 33, 7, 4096, 1024, 1024, 2};
	pm_sample	row = make_sample(g, s, 7, 0);
	pm_arena	kept;
	pm_arena	scratch;
	pm_prepared x;
	pm_prepared twin;			/* puts its work on the bench between two questions of x */
	pm_workbench bench = {0};
	pm_skeleton slim;
	pm_graph	slim_graph;
	pm_status	st;

	pm_arena_init_malloc(&kept);
	kept.thrifty = true;
	pm_arena_init_malloc(&scratch);
	pm_arena_init_malloc(&bench.arena);
	row.query.dtype = dtype;
	CHECK_EQ(pm_predictor_prepare(p, &row, &kept, &scratch, &bench, &x, &st), PM_OK);
	CHECK_EQ(pm_predictor_prepare(p, &row, &kept, &scratch, &bench, &twin, &st), PM_OK);
	pm_arena_release(&scratch);
	/* as a session keeps it: what is prepared has no use for the graph any more */
	CHECK_EQ(pm_skeleton_slim(s, &kept, &slim_graph, &slim, &st), PM_OK);
	CHECK(slim_graph.n_nodes <= g->n_nodes && slim.position == NULL && slim.relation == NULL);
	pm_prepared_refer(&x, &slim);
	pm_prepared_refer(&twin, &slim);
	for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++)
	{
		double		plain;
		double		ms;
		pm_verdict	v;
		pm_verdict	w;
		char		a[400];
		char		b[400];

		row.query.batch = batches[i];
		plain = predict_row(p, &row);
		CHECK_EQ(pm_predictor_predict_prepared(p, &x, &row, &scratch, &ms, &st), PM_OK);
		CHECK_EQ(ms, plain);
		CHECK(x.state == NULL || scratch.used == 0);
		if (i % 2 == 0)
		{
			row.query.batch = 5;
			CHECK_EQ(pm_predictor_judge_prepared(p, &twin, &row, ms, 0.9, &w, &st), PM_OK);
			row.query.batch = batches[i];
		}
		CHECK_EQ(pm_predictor_judge(p, &row, ms, 0.9, &scratch, &v, &st), PM_OK);
		pm_arena_reset(&scratch, 0);
		CHECK_EQ(pm_predictor_judge_prepared(p, &x, &row, ms, 0.9, &w, &st), PM_OK);
		CHECK(strcmp(verdict_text(&v, a), verdict_text(&w, b)) == 0);
	}
	row.query.batch = 0;
	CHECK_EQ(pm_predictor_predict_prepared(p, &x, &row, &scratch, &(double) {0}, &st), PM_ERR_INPUT);
	CHECK_EQ(pm_predictor_judge_prepared(p, &x, &row, 1, 0.9, &(pm_verdict) {0}, &st), PM_ERR_INPUT);
	row.query.batch = 3;
	CHECK_EQ(pm_predictor_judge_prepared(p, &x, &row, 1, 2, &(pm_verdict) {0}, &st), PM_ERR_OPTION);
	pm_arena_release(&scratch);
	pm_arena_release(&bench.arena);
	pm_arena_release(&kept);
}

static inline void
check_batches(const pm_predictor *p, const pm_graph *g, const pm_skeleton *s)
{
	for (int64_t batch = 1; batch <= 1024; batch *= 2)
	{
		pm_sample	row = make_sample(g, s, batch, 0);

		for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		{
			double		ms;

			row.query.dtype = (pm_dtype) dtype;
			ms = predict_row(p, &row);
			CHECK(isfinite(ms) && ms > 0);
		}
		check_parts(p, &row);
	}
	check_prepared(p, g, s, PM_FP32);
	check_prepared(p, g, s, PM_AMP);
}

/* Four branches of different length and operators, twice, and a skip over each: many topological orders. */
static inline pm_graph *
branched(void)
{
	const int	c = 16;
	const int	side = 28;
	graph_text	t;
	int			x;

	text_start(&t, "branched", "branched");
	x = net_conv(&t, net_input(&t, 3, side), 3, c, side, 3, 1);
	for (int round = 0; round < 2; round++)
	{
		int			skip = x;
		int			a = net_unary(&t, "Relu", net_conv(&t, x, c, c, side, 1, 1), c, side);
		int			b = net_conv(&t, net_norm(&t, net_conv(&t, x, c, c, side, 1, 1), c, side), c, c, side, 3, 1);
		int			d = net_conv(&t, net_unary(&t, "Relu", x, c, side), c, c, side, 3, 4);
		int			e = net_norm(&t, net_conv(&t, d, c, c, side, 5, 1), c, side);

		x = net_add(&t, net_add(&t, a, b, c, side), e, c, side);
		x = net_add(&t, x, skip, c, side);
	}
	net_classifier(&t, x, c, 100);
	return text_finish(&t, &arena);
}

static inline void
check_renumbered(const pm_predictor *p, const pm_graph *g, bool merge)
{
	double		first = 0;
	int32_t    *place = PM_NEW(&arena, int32_t, g->n_nodes);
	int			moved = 0;

	for (int seed = 0; seed < 6; seed++)
	{
		const pm_graph *r = seed == 0 ? g : make_renumbered(g, seed, place, &arena);
		pm_sample	row = make_sample(r, make_skeleton(r, merge, &arena), 16, 0);
		double		ms = predict_row(p, &row);

		if (seed == 0)
			first = ms;
		CHECK_NEAR(ms / first, 1, 1e-5);
		for (int i = 0; i < g->n_nodes && seed > 0; i++)
			moved += place[i] != i;
	}
	CHECK(moved > 0);
}

/* Operators that neither the catalogue nor the training rows know, one of them without any element. */
static inline pm_graph *
strange_graph(void)
{
	graph_text	t;
	int			x, y;

	text_start(&t, "strange", "strange");
	x = net_input(&t, 8, 16);
	x = net_unary(&t, "aten::new_thing", x, 8, 16);
	y = net_unary(&t, "aten::other_thing", x, 8, 0);
	x = net_unary(&t, "Tanh", net_unary(&t, "Tanh", x, 8, 16), 8, 16);
	net_add(&t, x, y, 8, 16);
	return text_finish(&t, &arena);
}

/* One operator alone, of no elements: nothing to do is still an answer, or an error that says so. */
static inline void
check_empty(const pm_predictor *p)
{
	graph_text	t;
	pm_graph   *g;
	pm_sample	row;
	double		ms;
	pm_part		parts[2];
	int			n = 0;
	pm_status	st;

	text_start(&t, "nothing", "nothing");
	net_unary(&t, "Relu", net_input(&t, 0, 4), 0, 4);
	g = text_finish(&t, &arena);
	row = make_sample(g, make_skeleton(g, true, &arena), 4, 0);
	if (pm_predictor_predict(p, &row, &arena, &ms, parts, &n, &st) == PM_OK)
	{
		CHECK(isfinite(ms) && ms > 0);
		for (int i = 0; i < n; i++)
			CHECK(isfinite(parts[i].step_ms));
	}
}

static const struct
{
	const char *kind;
	pm_setting	size[3];
	double		merged;			/* how far a merged graph may be from the same one unmerged */
	double		overfit;		/* MAPE on eight networks after many epochs */
}			rivals[] = {
	{"perfnet", {NUMBER("hidden", 16), NUMBER("channels1", 4), NUMBER("channels2", 8)}, 1e-5, 0.01},
	{"gnn", {NUMBER("hidden", 16), NUMBER("width", 16), NUMBER("rounds", 2)}, 0.15, 0.01},
	{"ets", {NUMBER("hidden", 16), NUMBER("width", 16), NUMBER("window", 8)}, 1e-5, 0.01},
	{"transformer", {NUMBER("hidden", 16), NUMBER("d_model", 16), NUMBER("layers", 1)}, 0.15, 0.01}
};

#endif
