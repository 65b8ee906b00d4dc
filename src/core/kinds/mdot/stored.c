/*
 * stored.c - the stored form of the kind "mdot".
 */
#include <math.h>

#include "features/sheets.h"
#include "kinds/mdot/mdot.h"

#define MOST_CPU_ANCHOR	1e6

/* What follows the networks. */
#define HAS_BASE		1
#define HAS_REFERENCE	2
#define HAS_ANCHOR		4
#define IS_ANCHOR		8		/* the base, of the networks' factors */
#define IN_TURN			16		/* CPUs launch and work in turn; predictors that were trained before take the larger of both */

pm_code
pm_mdot_save(const pm_predictor *p, pm_buffer *b, pm_status *st)
{
	const pm_mdot *m = p->impl;
	bool		is_base = m->anchor.impl == m->base.impl;
	pm_code		rc;

	pm_codec_save(&m->codec, b);
	pm_put_f64(b, m->net.log_mean);
	pm_put_f64(b, m->net.log_sigma);
	pm_put_f64(b, m->net.raw_scale);
	pm_put_u32(b, (uint32_t) m->net.tensors.n_params);
	for (int i = 0; i < m->members; i++)
		pm_put_reals(b, m->w[i], m->net.tensors.n_params);
	pm_put_u32(b, (m->base.kind != NULL ? HAS_BASE : 0) | (m->reference.name != NULL ? HAS_REFERENCE : 0) |
			   (m->anchor.kind == NULL ? 0 : is_base ? IS_ANCHOR : HAS_ANCHOR) | (m->in_turn ? IN_TURN : 0));
	pm_put_u32(b, (uint32_t) pm_there(m->codec.schema, PM_LIST_DTYPE, m->format));
	pm_put_f64(b, m->cpu_anchor);
	if (m->reference.name != NULL)
		pm_gpu_save(&m->reference, b);
	if (m->base.kind != NULL && (rc = m->base.kind->save(&m->base, b, st)) != PM_OK)
		return rc;
	return m->anchor.kind != NULL && !is_base ? m->anchor.kind->save(&m->anchor, b, st) : PM_OK;
}

static pm_code
load_members(pm_mdot *m, pm_reader *r, pm_arena *a, pm_status *st)
{
	size_t		n = m->net.tensors.n_params;

	if (pm_get_u32(r, UINT32_MAX) != n)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has another number of weights than its options say");
	/* damaged options must not make it ask for memory that the weights do not fill */
	if (r->failed || (r->len - r->at) / sizeof(float) / m->members < n)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights");
	if ((m->w = PM_NEW(a, pm_real *, m->members)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < m->members; i++)
	{
		if ((m->w[i] = PM_NEW(a, pm_real, n)) == NULL)
			return pm_no_memory(st, a);
		pm_get_reals(r, m->w[i], n);
	}
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights") : PM_OK;
}

static pm_code
load_base(const pm_options *o, pm_predictor *base, const pm_schema *schema, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_code		rc = pm_mdot_base_init(o, base, st);

	base->schema = schema;
	return rc == PM_OK ? base->kind->load(base, r, a, st) : rc;
}

pm_code
pm_mdot_load(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	pm_mdot    *m = PM_NEW(a, pm_mdot, 1);
	pm_mdot_config c;
	double		constant[3];
	uint32_t	parts;
	pm_code		rc;

	if (!m)
		return pm_no_memory(st, a);
	if ((rc = pm_mdot_check(&p->options, st)) != PM_OK ||
		(rc = pm_codec_load(&m->codec, pm_predictor_schema(p), r, a, st)) != PM_OK)
		return rc;
	for (int i = 0; i < 3; i++)
		constant[i] = pm_get_f64(r);
	c = pm_mdot_configure(&p->options, m->codec.n_types, m->codec.n_frameworks, m->codec.n_gpus);
	c.schema = m->codec.schema;
	if ((rc = pm_mdot_net_init(&m->net, &c, a, st)) != PM_OK)
		return rc;
	m->net.log_mean = constant[0];
	m->net.log_sigma = constant[1];
	m->net.raw_scale = constant[2];
	m->members = (int) p->options.value[OPT_MEMBERS];
	if ((rc = load_members(m, r, a, st)) != PM_OK)
		return rc;
	parts = pm_get_u32(r, HAS_BASE | HAS_REFERENCE | HAS_ANCHOR | IS_ANCHOR | IN_TURN);
	m->in_turn = (parts & IN_TURN) != 0;
	m->format = pm_here(m->codec.schema, PM_LIST_DTYPE, (int) pm_get_u32(r, (uint32_t) m->codec.schema->list[PM_LIST_DTYPE].n - 1));
	m->cpu_anchor = pm_get_above(r, 0);
	if (m->cpu_anchor > MOST_CPU_ANCHOR)
		r->failed = true;
	if ((parts & HAS_REFERENCE) && !r->failed && (rc = pm_gpu_load(&m->reference, r, a, st)) != PM_OK)
		return rc;
	if ((parts & HAS_BASE) && !r->failed && (rc = load_base(&p->options, &m->base, p->schema, r, a, st)) != PM_OK)
		return rc;
	if ((parts & HAS_ANCHOR) && !r->failed && (rc = load_base(&p->options, &m->anchor, p->schema, r, a, st)) != PM_OK)
		return rc;
	if (parts & IS_ANCHOR)
		m->anchor = m->base;
	p->impl = m;
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged weights") : PM_OK;
}
