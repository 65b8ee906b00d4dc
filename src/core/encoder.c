/*
 * encoder.c - one Transformer encoder layer.
 *
 * Gradients: docs/mdot.md.  Queries, keys and values come from
 * one product, and a head is a strided view of it, so that nothing is copied.
 */
#include "encoder.h"

#include <math.h>
#include <string.h>

size_t
pm_encoder_count(const pm_encoder_shape *s)
{
	size_t		d = s->d;

	return 4 * d + d * 3 * d + 3 * d + d * d + d + d * s->ff + s->ff + (size_t) s->ff * d + d +
		(size_t) s->heads * s->relations;
}

/* ---- attention inside segments ---- */

/* s[n,n] += bias[relation] + log_copies of the key */
PM_CLONES static void
add_relation_bias(pm_real *s, const pm_segment *g, const pm_real *bias)
{
	for (int i = 0; i < g->n; i++)
	{
		pm_real    *si = s + (size_t) i * g->n;

		if (g->relation != NULL)
			for (int j = 0; j < g->n; j++)
				si[j] += bias[g->relation[(size_t) i * g->n + j]];
		if (g->log_copies != NULL)
			for (int j = 0; j < g->n; j++)
				si[j] += g->log_copies[j];
	}
}

static void
segment_forward(pm_real *mixed, pm_real *probs, const pm_real *qkv, const pm_real *bias,
				const pm_segment *g, const pm_encoder_shape *s)
{
	int			d = s->d;
	int			dh = d / s->heads;
	const pm_real *rows = qkv + (size_t) g->start * 3 * d;

	for (int h = 0; h < s->heads; h++)
	{
		pm_real    *a = probs + g->probs_at + (size_t) h * g->n * g->n;
		const pm_real *q = rows + h * dh;

		pm_gemm(false, true, g->n, g->n, dh, (pm_real) (1 / sqrt(dh)), q, 3 * d, q + d, 3 * d, 0, a, g->n);
		add_relation_bias(a, g, bias != NULL ? bias + h * s->relations : NULL);
		pm_softmax(a, g->n, g->n);
		pm_gemm(false, false, g->n, dh, g->n, 1, a, g->n, q + 2 * d, 3 * d, 0,
				mixed + (size_t) g->start * d + h * dh, d);
	}
}

/* dbias[r] += sum of ds over the pairs with that relation */
static void
add_bias_gradient(pm_real *dbias, const pm_real *ds, const pm_segment *g, int relations)
{
	/* Four sums a relation, so that an addition need not wait for the one before it. */
	double		sum[4][16] = {{0}};
	size_t		n = (size_t) g->n * g->n;

	for (size_t i = 0; i < n; i++)
		sum[i & 3][g->relation[i] & 15] += ds[i];
	for (int r = 0; r < relations; r++)
		dbias[r] += (pm_real) (sum[0][r] + sum[1][r] + sum[2][r] + sum[3][r]);
}

static void
segment_backward(pm_real *dqkv, pm_real *dbias, pm_real *ds, const pm_real *dmixed, const pm_real *probs,
				 const pm_real *qkv, const pm_segment *g, const pm_encoder_shape *s)
{
	int			d = s->d;
	int			dh = d / s->heads;
	int			n = g->n;
	pm_real		scale = (pm_real) (1 / sqrt(dh));

	for (int h = 0; h < s->heads; h++)
	{
		const pm_real *a = probs + g->probs_at + (size_t) h * n * n;
		const pm_real *q = qkv + (size_t) g->start * 3 * d + h * dh;
		const pm_real *dm = dmixed + (size_t) g->start * d + h * dh;
		pm_real    *dq = dqkv + (size_t) g->start * 3 * d + h * dh;

		pm_gemm(true, false, n, dh, n, 1, a, n, dm, d, 0, dq + 2 * d, 3 * d);
		pm_gemm(false, true, n, n, dh, 1, dm, d, q + 2 * d, 3 * d, 0, ds, n);
		pm_softmax_back(ds, a, n, n);
		if (dbias != NULL && g->relation != NULL)
			add_bias_gradient(dbias + h * s->relations, ds, g, s->relations);
		pm_gemm(false, false, n, dh, n, scale, ds, n, q + d, 3 * d, 0, dq, 3 * d);
		pm_gemm(true, false, n, dh, n, scale, ds, n, q, 3 * d, 0, dq + d, 3 * d);
	}
}

/* ---- attention inside triples: too small for a product each ---- */

static inline pm_real
dot(const pm_real *a, const pm_real *b, int n)
{
	pm_real		s = 0;

#pragma omp simd reduction(+:s)
	for (int i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

/* y[n] += f * x[n] */
static inline void
axpy(pm_real *y, pm_real f, const pm_real *x, int n)
{
	for (int i = 0; i < n; i++)
		y[i] += f * x[i];
}

/* Scores of all triples first, so that one softmax call does them all. */
PM_CLONES static void
triples_forward(pm_real *mixed, pm_real *probs, const pm_real *qkv, int triples, const pm_encoder_shape *s)
{
	int			d = s->d;
	int			dh = d / s->heads;
	pm_real		scale = (pm_real) (1 / sqrt(dh));

	for (int t = 0; t < triples; t++)
		for (int h = 0; h < s->heads; h++)
			for (int i = 0; i < 3; i++)
				for (int j = 0; j < 3; j++)
				{
					const pm_real *q = qkv + ((size_t) t * 3 + i) * 3 * d + h * dh;
					const pm_real *k = qkv + ((size_t) t * 3 + j) * 3 * d + d + h * dh;

					probs[(((size_t) t * s->heads + h) * 3 + i) * 3 + j] = scale * dot(q, k, dh);
				}
	pm_softmax(probs, triples * s->heads * 3, 3);
	memset(mixed, 0, (size_t) triples * 3 * d * sizeof(pm_real));
	for (int t = 0; t < triples; t++)
		for (int h = 0; h < s->heads; h++)
			for (int i = 0; i < 3; i++)
				for (int j = 0; j < 3; j++)
					axpy(mixed + ((size_t) t * 3 + i) * d + h * dh,
						 probs[(((size_t) t * s->heads + h) * 3 + i) * 3 + j],
						 qkv + ((size_t) t * 3 + j) * 3 * d + 2 * d + h * dh, dh);
}

/* One head of one triple; q and dq point at the head's queries of the first row. */
static inline void
triple_backward(pm_real *dq, const pm_real *dm, const pm_real *a, const pm_real *q, int d, int dh, pm_real scale)
{
	for (int i = 0; i < 3; i++)
	{
		pm_real		da[3];
		pm_real		sum = 0;

		for (int j = 0; j < 3; j++)
		{
			axpy(dq + (size_t) j * 3 * d + 2 * d, a[3 * i + j], dm + (size_t) i * d, dh);
			da[j] = dot(dm + (size_t) i * d, q + (size_t) j * 3 * d + 2 * d, dh);
			sum += da[j] * a[3 * i + j];
		}
		for (int j = 0; j < 3; j++)
		{
			pm_real		ds = scale * a[3 * i + j] * (da[j] - sum);

			axpy(dq + (size_t) i * 3 * d, ds, q + (size_t) j * 3 * d + d, dh);
			axpy(dq + (size_t) j * 3 * d + d, ds, q + (size_t) i * 3 * d, dh);
		}
	}
}

PM_CLONES static void
triples_backward(pm_real *dqkv, const pm_real *dmixed, const pm_real *probs, const pm_real *qkv,
				 int triples, const pm_encoder_shape *s)
{
	int			d = s->d;
	int			dh = d / s->heads;

	memset(dqkv, 0, (size_t) triples * 3 * 3 * d * sizeof(pm_real));
	for (int t = 0; t < triples; t++)
		for (int h = 0; h < s->heads; h++)
			triple_backward(dqkv + (size_t) t * 9 * d + h * dh, dmixed + (size_t) t * 3 * d + h * dh,
							probs + ((size_t) t * s->heads + h) * 9, qkv + (size_t) t * 9 * d + h * dh,
							d, dh, (pm_real) (1 / sqrt(dh)));
}

/* ---- the layer ---- */

/* Draw a mask and apply it to the branch y[r, d]. */
static void
drop_branch(pm_real *y, pm_real *mask, const pm_segments *seg, int r, int d, const pm_encoder_drop *drop)
{
	const pm_real keep = (pm_real) (1 / (1 - drop->path));

	pm_dropout_mask(mask, r * d, drop->unit, drop->rng);
	for (int i = 0; i < seg->n && drop->path > 0; i++)
	{
		pm_real		factor = pm_rng_uniform(drop->rng) < drop->path ? 0 : keep;
		pm_real    *m = mask + (size_t) seg->list[i].start * d;

		for (int k = 0; k < seg->list[i].n * d; k++)
			m[k] *= factor;
	}
	pm_mul(y, mask, r * d);
}

void
pm_encoder_forward(pm_real *x, const pm_real *w, const pm_encoder_params *p, const pm_encoder_shape *s,
				   const pm_segments *seg, int r, const pm_encoder_drop *drop,
				   pm_encoder_acts *acts, pm_encoder_scratch *tmp)
{
	int			d = s->d;

	pm_layer_norm(acts->u1, acts->xhat1, acts->rstd1, x, w + p->ln1_g, w + p->ln1_b, r, d);
	pm_linear(acts->qkv, acts->u1, w + p->wqkv, w + p->bqkv, r, d, 3 * d);
	if (seg->list == NULL)
		triples_forward(acts->mixed, acts->probs, acts->qkv, r / 3, s);
	else
		for (int i = 0; i < seg->n; i++)
			segment_forward(acts->mixed, acts->probs, acts->qkv, s->relations > 0 ? w + p->bias : NULL,
							&seg->list[i], s);
	pm_linear(tmp->narrow, acts->mixed, w + p->wo, w + p->bo, r, d, d);
	if (drop != NULL)
		drop_branch(tmp->narrow, acts->mask1, seg, r, d, drop);
	pm_add(x, tmp->narrow, r * d);

	pm_layer_norm(acts->u2, acts->xhat2, acts->rstd2, x, w + p->ln2_g, w + p->ln2_b, r, d);
	pm_linear(acts->pre, acts->u2, w + p->w1, w + p->b1, r, d, s->ff);
	pm_gelu(acts->act, acts->pre, r * s->ff);
	pm_linear(tmp->narrow, acts->act, w + p->w2, w + p->b2, r, s->ff, d);
	if (drop != NULL)
		drop_branch(tmp->narrow, acts->mask2, seg, r, d, drop);
	pm_add(x, tmp->narrow, r * d);
}

static void
feed_forward_backward(pm_real *dx, pm_real *grad, const pm_real *w, const pm_encoder_params *p,
					  const pm_encoder_shape *s, int r, bool dropped, const pm_encoder_acts *acts,
					  pm_encoder_scratch *tmp)
{
	int			d = s->d;
	pm_real    *dy = tmp->narrow;

	memcpy(dy, dx, (size_t) r * d * sizeof(pm_real));
	if (dropped)
		pm_mul(dy, acts->mask2, r * d);
	pm_linear_back(tmp->wide, grad + p->w2, grad + p->b2, dy, acts->act, w + p->w2, r, s->ff, d, false);
	pm_mul(tmp->wide, acts->pre, r * s->ff);
	pm_linear_back(dy, grad + p->w1, grad + p->b1, tmp->wide, acts->u2, w + p->w1, r, d, s->ff, false);
	pm_layer_norm_back(dx, grad + p->ln2_g, grad + p->ln2_b, dy, acts->xhat2, acts->rstd2, w + p->ln2_g, r, d);
}

void
pm_encoder_backward(pm_real *dx, pm_real *grad, const pm_real *w, const pm_encoder_params *p,
					const pm_encoder_shape *s, const pm_segments *seg, int r, bool dropped,
					const pm_encoder_acts *acts, pm_encoder_scratch *tmp)
{
	int			d = s->d;
	pm_real    *dy = tmp->narrow;

	feed_forward_backward(dx, grad, w, p, s, r, dropped, acts, tmp);
	memcpy(dy, dx, (size_t) r * d * sizeof(pm_real));
	if (dropped)
		pm_mul(dy, acts->mask1, r * d);
	pm_linear_back(tmp->mixed, grad + p->wo, grad + p->bo, dy, acts->mixed, w + p->wo, r, d, d, false);
	if (seg->list == NULL)
		triples_backward(tmp->wide, tmp->mixed, acts->probs, acts->qkv, r / 3, s);
	else
		for (int i = 0; i < seg->n; i++)
			segment_backward(tmp->wide, s->relations > 0 ? grad + p->bias : NULL, tmp->scores, tmp->mixed,
							 acts->probs, acts->qkv, &seg->list[i], s);
	pm_linear_back(dy, grad + p->wqkv, grad + p->bqkv, tmp->wide, acts->u1, w + p->wqkv, r, d, 3 * d, false);
	pm_layer_norm_back(dx, grad + p->ln1_g, grad + p->ln1_b, dy, acts->xhat1, acts->rstd1, w + p->ln1_g, r, d);
}
