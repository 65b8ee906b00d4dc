/*
 * job_memory.c - whether the training step of a job fits into the memory of a device.
 */
#include "postgres.h"

#include <math.h>

#include "cache/answers.h"
#include "errors.h"
#include "memory_asking.h"
#include "plan/job_memory.h"

typedef struct known_fit
{
	pm_answer_key key;
	pm_job_fit	fit;
} known_fit;

HTAB *
pm_job_fits(void)
{
	HASHCTL		ctl = {.keysize = sizeof(pm_answer_key),.entrysize = sizeof(known_fit),.hcxt = CurrentMemoryContext};

	return hash_create("perfmodel memory of jobs", 256, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

pm_job_fit
pm_job_fit_ask(const pm_asked_words *q)
{
	pm_memory_question m;
	pm_memory_estimate e;
	pm_problem	p;

	if (!pm_memory_ask(q, false, &m, &p))
		return (pm_job_fit) {NAN, NAN, NAN};
	pm_memory_estimate_at(m.plan, &m.question, &m.factors, PM_MEMORY_SURE, &e);
	return (pm_job_fit) {e.need_mb, pm_memory_capacity_mb(m.question.gpu), e.p_fits};
}

pm_job_fit
pm_job_fit_of(HTAB *fits, const pm_asked_words *q)
{
	pm_answer_key key;
	known_fit  *known;
	pm_job_fit	fit;
	bool		found;

	/* words that are too long for a key are asked for each time */
	if (!pm_answer_key_make(q, &key))
		return pm_job_fit_ask(q);
	known = hash_search(fits, &key, HASH_FIND, NULL);
	if (known != NULL)
		return known->fit;
	fit = pm_job_fit_ask(q);
	known = hash_search(fits, &key, HASH_ENTER, &found);
	known->fit = fit;
	return fit;
}

bool
pm_job_cannot_fit(const pm_job_fit *f)
{
	return f->p_fits < 1 - PM_MEMORY_SURE;
}

/* Three digits say what is known of it. */
static double
three_digits(double mb)
{
	double		unit = mb >= 1000 ? pow(10, floor(log10(mb)) - 2) : 1;

	return rint(mb / unit) * unit;
}

char *
pm_job_fit_note(const pm_job_fit *f, const char *gpu)
{
	if (isnan(f->p_fits) || f->p_fits >= PM_MEMORY_SURE)
		return NULL;
	if (pm_job_cannot_fit(f))
		return psprintf("does not fit into memory on %s (needs about %.0f MB, has %.0f)", pm_shown_name(gpu), three_digits(f->need_mb), f->has_mb);
	return psprintf("may not fit into memory on %s (needs about %.0f MB, has %.0f; fits with probability %.2f)", pm_shown_name(gpu),
					three_digits(f->need_mb), f->has_mb, f->p_fits);
}
