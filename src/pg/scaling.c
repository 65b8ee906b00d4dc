/*
 * scaling.c - answers for several GPUs.
 */
#include "postgres.h"

#include <math.h>

#include "base/metrics.h"
#include "encoding.h"
#include "errors.h"
#include "scaling.h"
#include "scaling/checks.h"
#include "scaling/divided_correction.h"
#include "scaling/gpu_work.h"
#include "scaling/small.h"

static void
say(pm_answer *a, char *what)
{
	a->note = a->note ? psprintf("%s; %s", a->note, what) : what;
}

/*
 * What the answer rests on, behind what the note says already: links that nobody
 * measured are not in the domain.  far: as pm_error_share() says.
 */
static void
add_note(const pm_parallel *p, const pm_fabric *f, bool far, pm_answer *a)
{
	if (f->other_gpu != NULL)
		say(a, psprintf("the machines of cluster \"%s\" have gpu \"%s\"", pm_message_from_core(f->name), pm_message_from_core(f->other_gpu)));
	if (f->fitted_rows == 0)
		say(a, psprintf("communication on cluster \"%s\" is not measured", pm_message_from_core(f->name)));
	if (f->fitted_rows == 0 || f->other_gpu != NULL)
	{
		a->in_domain = false;
		a->reasons |= 1u << PM_REASON_UNFITTED_CLUSTER;
	}
	else if (!pm_step_is_measured(p, f))
		say(a, psprintf("cluster \"%s\" was not fitted to steps of this network", pm_message_from_core(f->name)));
	else if (far)
		say(a, psprintf("of %d measurements on cluster \"%s\" with tp or pp, none is near this question", f->correction->rows,
						pm_message_from_core(f->name)));
}

/* The work of q on one GPU. */
static const pm_tokens *
work_of(pm_asked *q, pm_prepared *x)
{
	const pm_tokens *work;
	pm_status	st = {PM_OK};

	if (pm_predictor_work(x, &q->sample, &work, &st) != PM_OK)
		pm_raise(&st);
	return work;
}

static void
require_layers(const pm_asked *q, const pm_step_shape *s)
{
	pm_status	st = {PM_OK};

	if (pm_division_check(&q->parallel, s, &st) != PM_OK)
		pm_raise(&st);
}

/* The step of a question on one GPU, apart from its time. */
typedef struct one_gpu
{
	const pm_buckets *buckets;
	const pm_tokens *work;
	int64_t		batch;
	pm_small_work small;
} one_gpu;

static one_gpu
on_one_gpu(pm_asked *q, pm_prepared *x)
{
	one_gpu		g = {.buckets = pm_buckets_get(q, q->parallel.bucket_mb), .batch = q->sample.query.batch};
	pm_status	st = {PM_OK};

	if (pm_small_work_of(q->ref.predictor, x, &q->sample, &q->parallel, &g.small, &st) != PM_OK)
		pm_raise(&st);
	g.work = work_of(q, x);
	return g;
}

/* Its shape, if it takes step_ms. */
static void
shape_at(const one_gpu *g, double step_ms, pm_step_shape *to)
{
	pm_step_shape_of(g->buckets, g->work, g->batch, step_ms, to);
	pm_small_work_put(&g->small, step_ms, to);
}

void
pm_note_work(pm_asked *q, pm_prepared *x, pm_answer *a)
{
	const pm_tokens *work = work_of(q, x);

	a->forward_ms = pm_phases_of(work, a->step_ms).forward_ms;
	a->roofline_ms = work->total_roofline_us / 1000;
	a->alone_share = a->roofline_ms / a->step_ms;
}

void
pm_shape_of(pm_asked *q, double step_ms, pm_step_shape *to)
{
	one_gpu		g = on_one_gpu(q, pm_prepared_get(q));

	shape_at(&g, step_ms, to);
}

void
pm_changed_shape_of(pm_asked *q, pm_change change, double before_ms, double after_ms, pm_step_shape *to)
{
	one_gpu		g = on_one_gpu(q, pm_prepared_get(q));

	pm_step_shape_of(g.buckets, g.work, g.batch, before_ms, to);
	pm_change_shared_shape(change, &g.small, before_ms, after_ms, to);
}

void
pm_scale_step(pm_asked *q, double step_ms, pm_step_shape *shape, pm_scaled *s)
{
	pm_shape_of(q, step_ms, shape);
	require_layers(q, shape);
	pm_scaled_step(shape, &q->parallel, q->fabric, 1, s);
}

bool
pm_scale_answer(pm_asked *q, pm_prepared *x, pm_answer *a, pm_problem *p)
{
	one_gpu		g = on_one_gpu(q, x);
	pm_step_shape shape;
	pm_scaled	s;
	bool		far;
	pm_status	st = {PM_OK};

	shape_at(&g, a->step_ms, &shape);
	if (pm_division_check(&q->parallel, &shape, &st) != PM_OK)
	{
		*p = pm_problem_of_status("bad_parallel", &st);
		return false;
	}
	(void) pm_error_share(&shape, &q->parallel, q->fabric, &far);
	if (!isnan(a->low_ms) && !isnan(a->high_ms) && !isnan(a->level))
	{
		pm_step_shape low,
					high;
		pm_step_ends ends;

		shape_at(&g, a->low_ms, &low);
		shape_at(&g, a->high_ms, &high);
		ends = pm_scaled_ends(&low, &shape, &high, &q->parallel, q->fabric, pm_deviations(a->level));
		a->low_ms = ends.low_ms;
		a->high_ms = ends.high_ms;
	}
	pm_scaled_step(&shape, &q->parallel, q->fabric, 1, &s);
	a->step_ms = s.step_ms;
	a->comm_ms = s.comm_ms;
	a->exposed_ms = s.exposed_ms;
	if (!isnan(a->level))
		a->roofline_ms = pm_gpu_roofline_ms(g.buckets, g.work, &q->parallel);
	if (q->parallel.world_size > 1 && !isnan(a->level))
		add_note(&q->parallel, q->fabric, far, a);
	return true;
}
