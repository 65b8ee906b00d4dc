/*
 * trust_rows.h - residuals of a chosen size, and the verdicts that come of them.
 */
#ifndef TRUST_ROWS_H
#define TRUST_ROWS_H

#include "check.h"
#include "make_graph.h"
#include "features/split.h"
#include "predictor/cross.h"

static pm_arena arena;

static inline double
some_time(const pm_tokens *t)
{
	return 2 * t->total_roofline_us / 1000 + 1;
}

/* Cross predictions that make the residual of row i u[i]. */
static inline double *
crossed_of(const pm_dataset *d, const double *u)
{
	double	   *ms = PM_NEW(&arena, double, d->n);

	for (int i = 0; i < d->n; i++)
		ms[i] = d->samples[i].step_ms / exp(u[i]);
	return ms;
}

static inline const pm_trust *
fit(const pm_dataset *d, const double *cross)
{
	pm_crossed	crossed = {.ms = cross};
	const pm_trust *t;
	pm_status	st;

	if (pm_trust_fit(d, &crossed, cross != NULL, NULL, &arena, &t, &st) != PM_OK)
		make_failed("trust", &st);
	return t;
}

static inline pm_verdict
judge(const pm_trust *t, const pm_sample *s, double level)
{
	pm_arena	scratch;
	pm_verdict	v;
	pm_status	st;

	pm_arena_init_malloc(&scratch);
	if (pm_trust_judge(t, s, 1, level, false, &scratch, &v, &st) != PM_OK)
		make_failed("verdict", &st);
	pm_arena_release(&scratch);
	return v;
}

static inline double
normal(pm_rng *r)
{
	return sqrt(-2 * log(1 - pm_rng_uniform(r))) * cos(2 * M_PI * pm_rng_uniform(r));
}

/* Probability that a standard normal residual of this scale falls into the interval about 1. */
static inline double
normal_inside(const pm_verdict *v, double sigma)
{
	return 0.5 * (erf(log(v->high_ms) / sigma / M_SQRT2) - erf(log(v->low_ms) / sigma / M_SQRT2));
}

/* A chain of convolutions with an operator in between. */
static inline pm_sample
odd_sample(const char *op, int width, int kernel, int side)
{
	graph_text	t;
	int			x;
	const pm_graph *g;

	text_start(&t, "odd", "odd");
	x = net_input(&t, 3, side);
	x = net_conv(&t, x, 3, width, side, kernel, 1);
	x = net_norm(&t, x, width, side);
	if (op != NULL)
		x = net_unary(&t, op, x, width, side);
	net_classifier(&t, x, width, 10 * width);
	g = text_finish(&t, &arena);
	return make_sample(g, make_skeleton(g, true, &arena), 4, 0);
}

/* A chain of matrix products. */
static inline pm_sample
products(int width)
{
	graph_text	t;
	const pm_graph *g;
	int			x;

	text_start(&t, "products", "products");
	x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,%d],'batch_dim':0", width);
	for (int i = 0; i < 4; i++)
		x = text_node(&t, "'op':'Gemm','inputs':[%d],'shape':[1,%d],'batch_dim':0,'weights':[[%d,%d],[%d]]", x, width, width, width, width);
	g = text_finish(&t, &arena);
	return make_sample(g, make_skeleton(g, true, &arena), 4, 1);
}

#endif
