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

int
pm_memory_peak_event(const pm_step *s, int64_t batch)
{
	holding		held = {0};
	double		most = -1;
	int			peak = 0;

	for (int e = 0; e < s->n_events; e++)
	{
		double		now = after(&held, s, e, batch);

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

int
pm_memory_timeline(const pm_step *s, int64_t batch, int n, pm_memory_point *points)
{
	holding		held = {0};
	int			stretches = s->n_events < n ? s->n_events : n;
	int			e = 0;

	for (int i = 0; i < stretches; i++)
	{
		int			end = (int) ((int64_t) (i + 1) * s->n_events / stretches);
		pm_memory_point *p = &points[i];

		for (int first = e; e < end; e++)
		{
			double		now = after(&held, s, e, batch);

			if (e == first || now > p->bytes)
				*p = (pm_memory_point) {e, phase_of(s, e), s->at[e], now};
		}
	}
	return stretches;
}
