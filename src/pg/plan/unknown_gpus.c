/*
 * unknown_gpus.c - the notice about devices that nobody knows.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "cache/freshness.h"
#include "encoding.h"
#include "errors.h"
#include "gpus.h"
#include "plan/name_aliases.h"
#include "plan/unknown_gpus.h"

void
pm_unknown_gpus_add(pm_unknown_gpus *u, const char *name)
{
	for (int i = 0; i < u->n; i++)
		if (strcmp(u->names[i], name) == 0)
			return;
	pm_freshen();
	if (pm_gpu_exists(name) || pm_gpu_exists(pm_job_gpu(name)))
		return;
	if (u->n == PM_UNKNOWN_GPUS)
		u->more++;
	else
		u->names[u->n++] = name;
}

/* "a", "b" and 3 more. */
static char *
list(const pm_unknown_gpus *u)
{
	StringInfoData s;

	initStringInfo(&s);
	for (int i = 0; i < u->n; i++)
		appendStringInfo(&s, "%s\"%s\"", i == 0 ? "" : i == u->n - 1 && u->more == 0 ? " and " : ", ", pm_shown_name(u->names[i]));
	if (u->more > 0)
		appendStringInfo(&s, " and %d more", u->more);
	return s.data;
}

/* So many of them get a suggestion. */
#define MOST_SUGGESTED 3

/* What the error about one of them would suggest; of several, the nearest device to each. */
static const char *
hint(const pm_unknown_gpus *u)
{
	StringInfoData s;
	pm_problem	p;
	int			suggested = 0;

	if (u->n == 1 && u->more == 0 && pm_gpu_look_up(u->names[0], &p) == NULL)
		return pm_problem_hint(&p);
	initStringInfo(&s);
	for (int i = 0; i < u->n && suggested < MOST_SUGGESTED; i++)
	{
		const char *nearest;

		if (pm_gpu_nearest(u->names[i], &nearest, 1) > 0 && ++suggested > 0)
			appendStringInfo(&s, "%s\"%s\" by \"%s\"", s.len > 0 ? ", " : "Did you mean ", nearest, pm_shown_name(u->names[i]));
	}
	return psprintf("%s%sSELECT name FROM perfmodel.gpu lists the known ones. To add one, INSERT its data sheet into perfmodel.gpu.", s.data, s.len > 0 ? "? " : "");
}

void
pm_unknown_gpus_tell(const pm_unknown_gpus *u, const char *argument, const pm_jobs *jobs)
{
	const char *what = u->n > 0 ? hint(u) : NULL;

	if (u->n == 0)
		return;
	ereport(NOTICE,
			(errmsg(u->n == 1 ? "%s names %s, which no job asks for and which is no known GPU" : "%s names %s, which no job asks for and which are no known GPUs",
					argument, list(u)),
			 jobs->n > 0 ? errdetail("The jobs ask for %s.", pm_jobs_kinds(jobs)) : 0,
			 what != NULL ? errhint("%s", what) : 0));
}
