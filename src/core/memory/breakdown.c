/*
 * breakdown.c - the events of a step at one batch.
 */
#include "memory/breakdown.h"

#include <math.h>
#include <string.h>

/*
 * Bytes that tensors hold.  Where one is so large that the sum rounds away
 * others, what was lost is added up too: it is there again when that one is
 * given back.
 */
typedef struct holding
{
	double		sum;
	double		lost;
} holding;

double
pm_memory_tensor_bytes(const pm_memory_tensor *t, int64_t batch)
{
	return t->fixed + t->per * (double) batch;
}

/* Bytes that event e adds; negative when it gives back. */
static double
change(const pm_step *s, int e, int64_t batch)
{
	return s->events[e] >= 0 ? pm_memory_tensor_bytes(&s->tensors[s->events[e]], batch) :
		-pm_memory_tensor_bytes(&s->tensors[~s->events[e]], batch);
}

/* Take or give back what event e does; returns what is held then, never below 0. */
static double
after(holding *h, const pm_step *s, int e, int64_t batch)
{
	double		by = change(s, e, batch);
	double		sum = h->sum + by;

	h->lost += fabs(h->sum) >= fabs(by) ? (h->sum - sum) + by : (by - sum) + h->sum;
	h->sum = sum;
	return fmax(0, h->sum + h->lost);
}

/* ---------- one of several GPUs ---------- */

/* What the tensors of the whole model hold, by what divides them. */
typedef struct kinds
{
	double		weights;
	double		optimizer;
	double		scratch;
	double		others;
	pm_memory_line line;		/* but for fixed */
	double		expert_weights; /* of them, those of experts */
	double		expert_optimizer;
	pm_memory_line experts;		/* gradients and copies alone */
} kinds;

/* Whether it is the update's scratch memory: that of an operator is divided as its output is. */
static bool
is_scratch(const pm_memory_tensor *t)
{
	return t->role == PM_MEMORY_WORKSPACE && t->node < 0;
}

static void
add_kind(kinds *k, const pm_memory_tensor *t, double sign)
{
	k->line.per += sign * t->per;
	if (t->score)
		k->line.scores += sign * t->per;
	if (t->role == PM_MEMORY_WEIGHTS)
		k->weights += sign * t->fixed;
	else if (t->role == PM_MEMORY_OPTIMIZER)
		k->optimizer += sign * t->fixed;
	else if (t->role == PM_MEMORY_GRADIENTS)
		k->line.gradients += sign * t->fixed;
	else if (is_scratch(t))
		k->scratch += sign * t->fixed;
	else if (t->copy)
		k->line.copies += sign * t->fixed;
	else
		k->others += sign * t->fixed;
}

static void
add_expert(kinds *k, const pm_memory_tensor *t, double sign)
{
	if (t->role == PM_MEMORY_WEIGHTS)
		k->expert_weights += sign * t->fixed;
	else if (t->role == PM_MEMORY_OPTIMIZER)
		k->expert_optimizer += sign * t->fixed;
	else if (t->role == PM_MEMORY_GRADIENTS)
		k->experts.gradients += sign * t->fixed;
	else if (t->copy)
		k->experts.copies += sign * t->fixed;
}

static void
add_kind_of(kinds *k, const pm_step *s, int e)
{
	bool		taken = s->events[e] >= 0;
	const pm_memory_tensor *t = &s->tensors[taken ? s->events[e] : ~s->events[e]];

	add_kind(k, t, taken ? 1 : -1);
	if (t->expert)
		add_expert(k, t, taken ? 1 : -1);
}

/* What is left of `all` bytes, of which those of experts. */
static double
left_of(double all, double experts, const pm_memory_share_of *of)
{
	return experts * of->experts + (all - experts) * of->others;
}

/* Bytes that the GPU holds of them. */
static double
share_of_kinds(const kinds *k, const pm_memory_split *split, int64_t batch)
{
	pm_memory_shares of;

	pm_memory_shares_at(split, &k->line, &k->experts, &of);
	return left_of(k->weights, k->expert_weights, &of.weights) + left_of(k->optimizer, k->expert_optimizer, &of.optimizer) +
		left_of(k->line.gradients, k->experts.gradients, &of.gradients) + left_of(k->line.copies, k->experts.copies, &of.copies) +
		k->scratch * of.scratch + k->others * of.others + of.added +
		((k->line.per - k->line.scores) * of.per + k->line.scores * of.scores) * (double) batch;
}

void
pm_memory_shares_after(const pm_step *s, const pm_memory_split *split, int event, pm_memory_shares *of)
{
	kinds		k = {0};

	for (int e = 0; e <= event; e++)
		add_kind_of(&k, s, e);
	pm_memory_shares_at(split, &k.line, &k.experts, of);
}

double
pm_tensor_share(const pm_memory_shares *of, const pm_memory_tensor *t, int64_t batch)
{
	const pm_memory_share_of *of_role[PM_N_MEMORY_ROLES] = {
		[PM_MEMORY_WEIGHTS] = &of->weights, [PM_MEMORY_GRADIENTS] = &of->gradients, [PM_MEMORY_OPTIMIZER] = &of->optimizer
	};
	const pm_memory_share_of *parts = t->copy ? &of->copies : of_role[t->role];
	double		fixed = parts == NULL ? is_scratch(t) ? of->scratch : of->others : t->expert ? parts->experts : parts->others;

	return t->fixed * fixed + t->per * (t->score ? of->scores : of->per) * (double) batch;
}

/* ---------- over the events ---------- */

/* What is held, as events follow each other. */
typedef struct course
{
	holding		whole;
	kinds		kinds;
} course;

static double
next(course *c, const pm_step *s, const pm_memory_split *split, int e, int64_t batch)
{
	if (split == NULL)
		return after(&c->whole, s, e, batch);
	add_kind_of(&c->kinds, s, e);
	return share_of_kinds(&c->kinds, split, batch);
}

int
pm_memory_peak_event(const pm_step *s, const pm_memory_split *split, int64_t batch)
{
	course		c = {0};
	double		most = -1;
	int			peak = 0;

	for (int e = 0; e < s->n_events; e++)
	{
		double		now = next(&c, s, split, e, batch);

		if (now > most)
		{
			most = now;
			peak = e;
		}
	}
	return peak;
}

void
pm_memory_held_after(const pm_step *s, int event, bool *held)
{
	memset(held, 0, sizeof(bool) * (size_t) s->n_tensors);
	for (int e = 0; e <= event; e++)
		held[s->events[e] >= 0 ? s->events[e] : ~s->events[e]] = s->events[e] >= 0;
}

static pm_step_phase
phase_of(const pm_step *s, int event)
{
	int			phase = PM_N_PHASES - 1;

	while (phase > 0 && s->phase_at[phase] > event)
		phase--;
	return (pm_step_phase) phase;
}

void
pm_memory_course(const pm_step *s, const pm_memory_split *split, int64_t batch, double *held)
{
	course		c = {0};

	for (int e = 0; e < s->n_events; e++)
		held[e] = next(&c, s, split, e, batch);
}

void
pm_memory_mix(const pm_step *s, double *held, const pm_step *other, const double *held_other, double share)
{
	for (int phase = 0; phase < PM_N_PHASES; phase++)
	{
		int64_t		n = s->phase_at[phase + 1] - s->phase_at[phase];
		int64_t		n_other = other->phase_at[phase + 1] - other->phase_at[phase];

		for (int64_t i = 0; i < n && n_other > 0; i++)
		{
			const double *at = held_other + other->phase_at[phase];
			int64_t		last = ((i + 1) * n_other - 1) / n;
			double		most = 0;

			for (int64_t k = i * n_other / n; k <= last; k++)
				most = fmax(most, at[k]);
			held[s->phase_at[phase] + i] += share * (most - held[s->phase_at[phase] + i]);
		}
	}
}

int
pm_memory_timeline(const pm_step *s, const double *held, int n, pm_memory_point *points)
{
	int			stretches = s->n_events < n ? s->n_events : n;
	int			e = 0;

	for (int i = 0; i < stretches; i++)
	{
		int			end = (int) ((int64_t) (i + 1) * s->n_events / stretches);
		pm_memory_point *p = &points[i];

		for (int first = e; e < end; e++)
			if (e == first || held[e] > p->bytes)
				*p = (pm_memory_point) {e, phase_of(s, e), s->at[e], held[e]};
	}
	return stretches;
}
