/*
 * encoder.c - one Transformer encoder layer.
 *
 * Gradients: docs/mdot.md.  Queries, keys and values come from
 * one product, and a head is a strided view of it, so that nothing is copied.
 * For triples that product is the transpose: then neighbours in memory are the
 * same number of different triples, and eight triples are worked on at a time.
 */
#include "nn/encoder.h"

#include <math.h>
#include <string.h>

size_t
pm_encoder_count(const pm_encoder_shape *s)
{
	size_t		d = s->d;

	return 4 * d + d * 3 * d + 3 * d + d * d + d + d * s->ff + s->ff + (size_t) s->ff * d + d +
		(size_t) s->heads * s->relations;
}

void
pm_encoder_add(pm_tensors *t, const char *part, int layer, const pm_encoder_shape *s, pm_tensor_start branch,
			   pm_encoder_params *p)
{
	int			d = s->d;
	pm_encoder_params counted;

	if (p == NULL)
		p = &counted;
	pm_tensors_enter(t, part, layer);
	p->ln1_g = pm_tensors_add(t, "ln1_g", 1, d, PM_START_ONE);
	p->ln1_b = pm_tensors_add(t, "ln1_b", 1, d, PM_START_ZERO);
	p->wqkv = pm_tensors_add(t, "wqkv", d, 3 * d, PM_START_XAVIER);
	p->bqkv = pm_tensors_add(t, "bqkv", 1, 3 * d, PM_START_ZERO);
	p->wo = pm_tensors_add(t, "wo", d, d, branch);
	p->bo = pm_tensors_add(t, "bo", 1, d, PM_START_ZERO);
	p->ln2_g = pm_tensors_add(t, "ln2_g", 1, d, PM_START_ONE);
	p->ln2_b = pm_tensors_add(t, "ln2_b", 1, d, PM_START_ZERO);
	p->w1 = pm_tensors_add(t, "w1", d, s->ff, PM_START_XAVIER);
	p->b1 = pm_tensors_add(t, "b1", 1, s->ff, PM_START_ZERO);
	p->w2 = pm_tensors_add(t, "w2", s->ff, d, branch);
	p->b2 = pm_tensors_add(t, "b2", 1, d, PM_START_ZERO);
	if (s->relations > 0)
		p->bias = pm_tensors_add(t, "bias", s->heads, s->relations, PM_START_ZERO_TABLE);
	pm_tensors_enter(t, NULL, -1);
}

void
pm_encoder_take(pm_cursor *c, const pm_encoder_shape *s, size_t segments, size_t r, size_t n_probs, bool dropout,
				pm_encoder_acts *e)
{
	size_t		d = s->d;
	pm_encoder_acts measured;

	if (e == NULL)
		e = &measured;
	e->part1.list = pm_take(c, segments, sizeof(pm_row_stretch));
	e->part2.list = pm_take(c, segments, sizeof(pm_row_stretch));
	e->xhat1 = PM_REALS(c, r * d);
	e->u1 = PM_REALS(c, r * d);
	e->rstd1 = PM_REALS(c, r);
	e->rstd2 = PM_REALS(c, r);
	e->qkv = PM_REALS(c, r * 3 * d);
	e->probs = PM_REALS(c, n_probs);
	e->mixed = PM_REALS(c, r * d);
	e->mask1 = dropout ? PM_REALS(c, r * d) : NULL;
	e->mask2 = dropout ? PM_REALS(c, r * d) : NULL;
	e->xhat2 = PM_REALS(c, r * d);
	e->u2 = PM_REALS(c, r * d);
	e->pre = PM_REALS(c, r * s->ff);
	e->act = PM_REALS(c, r * s->ff);
}

/* ---- attention inside segments ---- */

#if defined(__GNUC__) && !defined(__clang__) && !defined(PM_DOUBLE)
#define TABLE	8
#define BLOCK	(4 * TABLE)

typedef float table_values __attribute__((vector_size(4 * TABLE)));
typedef int32_t table_places __attribute__((vector_size(4 * TABLE)));

/* s[BLOCK] += table[relation]: CPUs permute the values of a register faster than they read one after the other. */
static inline void
add_block_from_table(float *s, const uint8_t *relation, const table_values *table)
{
	int32_t		place[BLOCK];

	for (int j = 0; j < BLOCK; j++)
		place[j] = relation[j];
	for (int j = 0; j < BLOCK; j += TABLE)
	{
		table_places at;
		table_values v;

		memcpy(&at, place + j, sizeof(at));
		memcpy(&v, s + j, sizeof(v));
		v += __builtin_shuffle(*table, at);
		memcpy(s + j, &v, sizeof(v));
	}
}

/* The first of the sums below, in whole blocks; returns how many they are. */
static inline size_t
add_from_table(float *s, const uint8_t *relation, const float *bias, int relations, size_t n)
{
	table_values table = {0};
	size_t		i = 0;

	if (relations > TABLE)
		return 0;
	memcpy(&table, bias, sizeof(float) * (size_t) relations);
	for (; i + BLOCK <= n; i += BLOCK)
		add_block_from_table(s + i, relation + i, &table);
	return i;
}
#else
static inline size_t
add_from_table(pm_real *s, const uint8_t *relation, const pm_real *bias, int relations, size_t n)
{
	(void) s, (void) relation, (void) bias, (void) relations, (void) n;
	return 0;
}
#endif

/* s[n,n] += bias[relation] + log_copies of the key */
PM_CLONES static void
add_relation_bias(pm_real *s, const pm_segment *g, const pm_real *bias, int relations)
{
	const int	rows = g->n;
	const size_t n = (size_t) rows * rows;
	const pm_real *log_copies = g->log_copies;

	if (g->relation != NULL)
		for (size_t i = add_from_table(s, g->relation, bias, relations, n); i < n; i++)
			s[i] += bias[g->relation[i]];
	for (int i = 0; i < rows && log_copies != NULL; i++)
	{
		pm_real    *restrict si = s + (size_t) i * rows;

		for (int j = 0; j < rows; j++)
			si[j] += log_copies[j];
	}
}

static void
segment_forward(pm_real *mixed, pm_real *probs, const pm_real *qkv, const pm_real *bias,
				const pm_segment *g, int at, const pm_encoder_shape *s)
{
	int			d = s->d;
	int			dh = d / s->heads;
	const pm_real *rows = qkv + (size_t) at * 3 * d;

	for (int h = 0; h < s->heads; h++)
	{
		pm_real    *a = probs + g->probs_at + (size_t) h * g->n * g->n;
		const pm_real *q = rows + h * dh;

		pm_gemm(false, true, g->n, g->n, dh, (pm_real) (1 / sqrt(dh)), q, 3 * d, q + d, 3 * d, 0, a, g->n);
		add_relation_bias(a, g, bias != NULL ? bias + h * s->relations : NULL, s->relations);
		pm_softmax(a, g->n, g->n);
		pm_gemm(false, false, g->n, dh, g->n, 1, a, g->n, q + 2 * d, 3 * d, 0,
				mixed + (size_t) at * d + h * dh, d);
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
				 const pm_real *qkv, const pm_segment *g, int at, const pm_encoder_shape *s)
{
	int			d = s->d;
	int			dh = d / s->heads;
	int			n = g->n;
	pm_real		scale = (pm_real) (1 / sqrt(dh));

	for (int h = 0; h < s->heads; h++)
	{
		const pm_real *a = probs + g->probs_at + (size_t) h * n * n;
		const pm_real *q = qkv + (size_t) at * 3 * d + h * dh;
		const pm_real *dm = dmixed + (size_t) at * d + h * dh;
		pm_real    *dq = dqkv + (size_t) at * 3 * d + h * dh;

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

#define LANES 8					/* triples at a time */

typedef pm_real lanes __attribute__((vector_size(LANES * sizeof(pm_real))));

#define INLINE static inline __attribute__((always_inline))

INLINE void
load(lanes *v, const pm_real *p, int n)
{
	*v = (lanes) {0};
	memcpy(v, p, n * sizeof(pm_real));
}

/* The same column of the three rows. */
INLINE void
load3(lanes v[3], const pm_real *p, int triples, int n)
{
	for (int i = 0; i < 3; i++)
		load(&v[i], p + (size_t) i * triples, n);
}

INLINE void
store3(pm_real *p, const lanes v[3], int triples, int n)
{
	for (int i = 0; i < 3; i++)
		memcpy(p + (size_t) i * triples, &v[i], n * sizeof(pm_real));
}

/* s[3 i + j] += a[i] b[j] */
INLINE void
add_outer(lanes s[9], const lanes a[3], const lanes b[3])
{
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			s[3 * i + j] += a[i] * b[j];
}

/* One head of n triples, 1..LANES; q and scores point at the first of them. */
INLINE void
lanes_scores(pm_real *scores, const pm_real *q, int triples, int d, int dh, int n)
{
	const size_t row = (size_t) 3 * triples;
	const pm_real scale = (pm_real) (1 / sqrt(dh));
	lanes		s[9] = {{0}};
	lanes		a[3];
	lanes		b[3];

	for (int k = 0; k < dh; k++)
	{
		load3(a, q + k * row, triples, n);
		load3(b, q + (d + k) * row, triples, n);
		add_outer(s, a, b);
	}
	for (int i = 0; i < 9; i++)
	{
		s[i] *= scale;
		memcpy(scores + (size_t) i * triples, &s[i], n * sizeof(pm_real));
	}
}

/* mixed from the probabilities and the values v */
INLINE void
lanes_mix(pm_real *mixed, const pm_real *probs, const pm_real *v, int triples, int dh, int n)
{
	const size_t row = (size_t) 3 * triples;
	lanes		p[9];

	for (int i = 0; i < 9; i++)
		load(&p[i], probs + (size_t) i * triples, n);
	for (int k = 0; k < dh; k++)
	{
		lanes		a[3];
		lanes		b[3];

		load3(b, v + k * row, triples, n);
		for (int i = 0; i < 3; i++)
			a[i] = p[3 * i] * b[0] + p[3 * i + 1] * b[1] + p[3 * i + 2] * b[2];
		store3(mixed + k * row, a, triples, n);
	}
}

/* dv from dm and the probabilities p; da[3 i + j] is the gradient of p */
INLINE void
lanes_values_back(pm_real *dv, lanes da[9], const lanes p[9], const pm_real *dmixed, const pm_real *v, int triples,
				  int dh, int n)
{
	const size_t row = (size_t) 3 * triples;

	for (int k = 0; k < dh; k++)
	{
		lanes		dm[3];
		lanes		b[3];

		load3(dm, dmixed + k * row, triples, n);
		load3(b, v + k * row, triples, n);
		add_outer(da, dm, b);
		for (int j = 0; j < 3; j++)
			b[j] = p[j] * dm[0] + p[3 + j] * dm[1] + p[6 + j] * dm[2];
		store3(dv + k * row, b, triples, n);
	}
}

INLINE void
lanes_backward(pm_real *dq, const pm_real *dmixed, const pm_real *probs, const pm_real *q, int triples, int d, int dh, int n)
{
	const size_t row = (size_t) 3 * triples;
	const pm_real scale = (pm_real) (1 / sqrt(dh));
	lanes		p[9];
	lanes		s[9] = {{0}};

	for (int i = 0; i < 9; i++)
		load(&p[i], probs + (size_t) i * triples, n);
	lanes_values_back(dq + 2 * d * row, s, p, dmixed, q + 2 * d * row, triples, dh, n);
	for (int i = 0; i < 9; i += 3)
	{
		lanes		sum = p[i] * s[i] + p[i + 1] * s[i + 1] + p[i + 2] * s[i + 2];

		for (int j = i; j < i + 3; j++)
			s[j] = scale * p[j] * (s[j] - sum);
	}
	for (int k = 0; k < dh; k++)
	{
		lanes		a[3];
		lanes		b[3];
		lanes		da[3];
		lanes		db[3];

		load3(a, q + k * row, triples, n);
		load3(b, q + (d + k) * row, triples, n);
		for (int i = 0; i < 3; i++)
		{
			da[i] = s[3 * i] * b[0] + s[3 * i + 1] * b[1] + s[3 * i + 2] * b[2];
			db[i] = s[i] * a[0] + s[3 + i] * a[1] + s[6 + i] * a[2];
		}
		store3(dq + k * row, da, triples, n);
		store3(dq + (d + k) * row, db, triples, n);
	}
}

/* mixed[d, 3 triples], probs[heads, 9, triples], qkv[3d, 3 triples] */
PM_CLONES static void
triples_forward(pm_real *mixed, pm_real *probs, const pm_real *qkv, int triples, int d, int heads)
{
	const int	dh = d / heads;

	for (int h = 0; h < heads; h++)
	{
		pm_real    *m = mixed + (size_t) h * dh * 3 * triples;
		pm_real    *p = probs + (size_t) h * 9 * triples;
		const pm_real *q = qkv + (size_t) h * dh * 3 * triples;
		const pm_real *v = q + (size_t) 2 * d * 3 * triples;
		int			t;

		for (t = 0; t + LANES <= triples; t += LANES)
			lanes_scores(p + t, q + t, triples, d, dh, LANES);
		if (t < triples)
			lanes_scores(p + t, q + t, triples, d, dh, triples - t);
		pm_softmax_triples(p, triples);
		for (t = 0; t + LANES <= triples; t += LANES)
			lanes_mix(m + t, p + t, v + t, triples, dh, LANES);
		if (t < triples)
			lanes_mix(m + t, p + t, v + t, triples, dh, triples - t);
	}
}

PM_CLONES static void
triples_backward(pm_real *dqkv, const pm_real *dmixed, const pm_real *probs, const pm_real *qkv, int triples, int d, int heads)
{
	const int	dh = d / heads;

	for (int h = 0; h < heads; h++)
	{
		const size_t head = (size_t) h * dh * 3 * triples;
		const pm_real *p = probs + (size_t) h * 9 * triples;
		int			t = 0;

		for (; t + LANES <= triples; t += LANES)
			lanes_backward(dqkv + head + t, dmixed + head + t, p + t, qkv + head + t, triples, d, dh, LANES);
		if (t < triples)
			lanes_backward(dqkv + head + t, dmixed + head + t, p + t, qkv + head + t, triples, d, dh, triples - t);
	}
}

/* ---- who takes part ---- */

static void
everyone(pm_taking_part *part, const pm_segments *seg, int r)
{
	part->rows = r;
	part->n = 1;
	part->list[0] = (pm_row_stretch) {.n = r, .segment = -1};
	if (seg->list == NULL)
		return;
	part->n = seg->n;
	for (int i = 0; i < seg->n; i++)
		part->list[i] = (pm_row_stretch) {seg->list[i].start, seg->list[i].start, seg->list[i].n, i};
}

/* Draw which segments take part in a branch, and their mask[rows, d]. */
static void
draw_part(pm_taking_part *part, pm_real *mask, const pm_segments *seg, int r, int d, const pm_encoder_drop *drop)
{
	pm_dropout_mask(mask, (size_t) r * d, drop->unit, drop->rng);
	if (drop->path <= 0 || seg->list == NULL)
	{
		everyone(part, seg, r);
		return;
	}
	part->n = part->rows = 0;
	for (int i = 0; i < seg->n; i++)
	{
		const pm_segment *g = &seg->list[i];

		if (pm_rng_uniform(drop->rng) < drop->path)
			continue;
		part->list[part->n++] = (pm_row_stretch) {g->start, part->rows, g->n, i};
		memmove(mask + (size_t) part->rows * d, mask + (size_t) g->start * d, (size_t) g->n * d * sizeof(pm_real));
		part->rows += g->n;
	}
	pm_mul_by(mask, (pm_real) (1 / (1 - drop->path)), (size_t) part->rows * d);
}

static void
norm_part(const pm_taking_part *part, pm_real *u, pm_real *xhat, pm_real *rstd, const pm_real *x, const pm_real *g,
		  const pm_real *b, int d)
{
	for (int i = 0; i < part->n; i++)
	{
		const pm_row_stretch *s = &part->list[i];

		pm_layer_norm(u + (size_t) s->at * d, xhat + (size_t) s->at * d, rstd + s->at, x + (size_t) s->from * d, g, b, s->n, d);
	}
}

static void
norm_part_back(const pm_taking_part *part, pm_real *dx, pm_real *dg, pm_real *db, const pm_real *du, const pm_real *xhat,
			   const pm_real *rstd, const pm_real *g, int d)
{
	for (int i = 0; i < part->n; i++)
	{
		const pm_row_stretch *s = &part->list[i];

		pm_layer_norm_back(dx + (size_t) s->from * d, dg, db, du + (size_t) s->at * d, xhat + (size_t) s->at * d,
						   rstd + s->at, g, s->n, d, true);
	}
}

/* x += (y + b) * mask; mask may be NULL */
PM_CLONES static void
add_masked(pm_real *restrict x, const pm_real *restrict y, const pm_real *restrict b, const pm_real *restrict mask, int r, int d)
{
	for (int i = 0; i < r; i++)
		for (int j = 0; j < d; j++)
		{
			size_t		at = (size_t) i * d + j;

			x[at] += mask != NULL ? (y[at] + b[j]) * mask[at] : y[at] + b[j];
		}
}

static void
add_part(const pm_taking_part *part, pm_real *x, const pm_real *y, const pm_real *b, const pm_real *mask, int d)
{
	for (int i = 0; i < part->n; i++)
	{
		const pm_row_stretch *s = &part->list[i];
		size_t		at = (size_t) s->at * d;

		add_masked(x + (size_t) s->from * d, y + at, b, mask != NULL ? mask + at : NULL, s->n, d);
	}
}

/* dy[rows, d] = the rows of dx that take part, times mask */
static void
gather_part(const pm_taking_part *part, pm_real *dy, const pm_real *dx, const pm_real *mask, int d)
{
	for (int i = 0; i < part->n; i++)
	{
		const pm_row_stretch *s = &part->list[i];

		memcpy(dy + (size_t) s->at * d, dx + (size_t) s->from * d, (size_t) s->n * d * sizeof(pm_real));
	}
	if (mask != NULL)
		pm_mul(dy, mask, (size_t) part->rows * d);
}

/* ---- attention ---- */

/* y[r, c] with b[i] in all of row i */
static void
fill_rows(pm_real *y, const pm_real *b, int r, int c)
{
	for (int i = 0; i < r; i++)
		for (int j = 0; j < c; j++)
			y[(size_t) i * c + j] = b[i];
}

/* From u1 to the output before its bias, y[rows, d]. */
static void
attend_triples(pm_real *y, const pm_real *w, const pm_encoder_params *p, const pm_encoder_shape *s, pm_encoder_acts *acts)
{
	int			d = s->d;
	int			r = acts->part1.rows;

	fill_rows(acts->qkv, w + p->bqkv, 3 * d, r);
	pm_gemm(true, true, 3 * d, r, d, 1, w + p->wqkv, 3 * d, acts->u1, d, 1, acts->qkv, r);
	triples_forward(acts->mixed, acts->probs, acts->qkv, r / 3, d, s->heads);
	pm_gemm(true, false, r, d, d, 1, acts->mixed, r, w + p->wo, d, 0, y, d);
}

static void
attend_segments(pm_real *y, const pm_real *w, const pm_encoder_params *p, const pm_encoder_shape *s,
				const pm_segments *seg, pm_encoder_acts *acts)
{
	const pm_taking_part *part = &acts->part1;
	const pm_real *bias = s->relations > 0 ? w + p->bias : NULL;

	pm_linear(acts->qkv, acts->u1, w + p->wqkv, w + p->bqkv, part->rows, s->d, 3 * s->d);
	for (int i = 0; i < part->n; i++)
		segment_forward(acts->mixed, acts->probs, acts->qkv, bias, &seg->list[part->list[i].segment], part->list[i].at, s);
	pm_linear(y, acts->mixed, w + p->wo, NULL, part->rows, s->d, s->d);
}

/* From dy, the gradient of the output, to du[rows, d], that of u1, which may be the same place. */
static void
attend_triples_back(pm_real *du, pm_real *grad, const pm_real *dy, const pm_real *w, const pm_encoder_params *p,
					const pm_encoder_shape *s, const pm_encoder_acts *acts, pm_encoder_scratch *tmp)
{
	int			d = s->d;
	int			r = acts->part1.rows;

	pm_gemm(false, true, d, r, d, 1, w + p->wo, d, dy, d, 0, tmp->mixed, r);
	pm_gemm(false, false, d, d, r, 1, acts->mixed, r, dy, d, 1, grad + p->wo, d);
	pm_column_sums(grad + p->bo, dy, r, d);
	triples_backward(tmp->wide, tmp->mixed, acts->probs, acts->qkv, r / 3, d, s->heads);
	pm_gemm(true, true, d, 3 * d, r, 1, acts->u1, d, tmp->wide, r, 1, grad + p->wqkv, 3 * d);
	pm_row_sums(grad + p->bqkv, tmp->wide, 3 * d, r);
	pm_gemm(true, true, r, d, 3 * d, 1, tmp->wide, r, w + p->wqkv, 3 * d, 0, du, d);
}

static void
attend_segments_back(pm_real *du, pm_real *grad, const pm_real *dy, const pm_real *w, const pm_encoder_params *p,
					 const pm_encoder_shape *s, const pm_segments *seg, const pm_encoder_acts *acts, pm_encoder_scratch *tmp)
{
	const pm_taking_part *part = &acts->part1;
	pm_real    *dbias = s->relations > 0 ? grad + p->bias : NULL;
	int			d = s->d;

	pm_linear_back(tmp->mixed, grad + p->wo, grad + p->bo, dy, acts->mixed, w + p->wo, part->rows, d, d, false);
	for (int i = 0; i < part->n; i++)
		segment_backward(tmp->wide, dbias, tmp->scores, tmp->mixed, acts->probs, acts->qkv,
						 &seg->list[part->list[i].segment], part->list[i].at, s);
	pm_linear_back(du, grad + p->wqkv, grad + p->bqkv, tmp->wide, acts->u1, w + p->wqkv, part->rows, d, 3 * d, false);
}

/* ---- the layer ---- */

void
pm_encoder_forward(pm_real *x, const pm_real *w, const pm_encoder_params *p, const pm_encoder_shape *s,
				   const pm_segments *seg, int r, const pm_encoder_drop *drop,
				   pm_encoder_acts *acts, pm_encoder_scratch *tmp)
{
	int			d = s->d;

	if (drop != NULL)
		draw_part(&acts->part1, acts->mask1, seg, r, d, drop);
	else
		everyone(&acts->part1, seg, r);
	norm_part(&acts->part1, acts->u1, acts->xhat1, acts->rstd1, x, w + p->ln1_g, w + p->ln1_b, d);
	if (seg->list == NULL)
		attend_triples(tmp->narrow, w, p, s, acts);
	else
		attend_segments(tmp->narrow, w, p, s, seg, acts);
	add_part(&acts->part1, x, tmp->narrow, w + p->bo, drop != NULL ? acts->mask1 : NULL, d);

	if (drop != NULL)
		draw_part(&acts->part2, acts->mask2, seg, r, d, drop);
	else
		everyone(&acts->part2, seg, r);
	norm_part(&acts->part2, acts->u2, acts->xhat2, acts->rstd2, x, w + p->ln2_g, w + p->ln2_b, d);
	pm_linear_gelu(acts->act, acts->pre, acts->u2, w + p->w1, w + p->b1, acts->part2.rows, d, s->ff);
	pm_linear(tmp->narrow, acts->act, w + p->w2, NULL, acts->part2.rows, s->ff, d);
	add_part(&acts->part2, x, tmp->narrow, w + p->b2, drop != NULL ? acts->mask2 : NULL, d);
}

static void
feed_forward_backward(pm_real *dx, pm_real *grad, const pm_real *w, const pm_encoder_params *p,
					  const pm_encoder_shape *s, bool dropped, const pm_encoder_acts *acts, pm_encoder_scratch *tmp)
{
	int			d = s->d;
	int			r = acts->part2.rows;
	pm_real    *dy = tmp->narrow;

	gather_part(&acts->part2, dy, dx, dropped ? acts->mask2 : NULL, d);
	pm_linear_back(tmp->wide, grad + p->w2, grad + p->b2, dy, acts->act, w + p->w2, r, s->ff, d, false);
	pm_mul(tmp->wide, acts->pre, (size_t) r * s->ff);
	pm_linear_back(dy, grad + p->w1, grad + p->b1, tmp->wide, acts->u2, w + p->w1, r, d, s->ff, false);
	norm_part_back(&acts->part2, dx, grad + p->ln2_g, grad + p->ln2_b, dy, acts->xhat2, acts->rstd2, w + p->ln2_g, d);
}

void
pm_encoder_backward(pm_real *dx, pm_real *grad, const pm_real *w, const pm_encoder_params *p,
					const pm_encoder_shape *s, const pm_segments *seg, bool dropped,
					const pm_encoder_acts *acts, pm_encoder_scratch *tmp)
{
	pm_real    *dy = tmp->narrow;

	feed_forward_backward(dx, grad, w, p, s, dropped, acts, tmp);
	gather_part(&acts->part1, dy, dx, dropped ? acts->mask1 : NULL, s->d);
	if (seg->list == NULL)
		attend_triples_back(dy, grad, dy, w, p, s, acts, tmp);
	else
		attend_segments_back(dy, grad, dy, w, p, s, seg, acts, tmp);
	norm_part_back(&acts->part1, dx, grad + p->ln1_g, grad + p->ln1_b, dy, acts->xhat1, acts->rstd1, w + p->ln1_g, s->d);
}
