/*
 * frameworks.c - levels of frameworks: asking and storing them.  They are
 * learned with those of cards (cards.c).
 */
#include "kinds/frameworks.h"

#include <math.h>
#include <string.h>

#define MAX_FRAMEWORKS	4096
#define MAX_LEVEL		5.0		/* of a factor's logarithm */

static bool
same_letter(char a, char b)
{
	return a == b || ((a ^ b) == ('a' ^ 'A') && (a | ('a' ^ 'A')) >= 'a' && (a | ('a' ^ 'A')) <= 'z');
}

bool
pm_same_framework(const char *a, const char *b)
{
	size_t		len = strcspn(a, " -");
	size_t		same = 0;

	while (same < len && same_letter(a[same], b[same]))
		same++;
	return same == len && len == strcspn(b, " -");
}

double
pm_framework_level_of(const pm_frameworks *f, const char *name, int dtype, int work)
{
	for (int i = 0; i < f->n && name != NULL; i++)
		if (f->level[i].work == work && f->level[i].half == pm_is_half(dtype) && strcmp(f->level[i].name, name) == 0)
			return f->level[i].level;
	return 0;
}

void
pm_frameworks_save(const pm_frameworks *f, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) f->n);
	for (int i = 0; i < f->n; i++)
	{
		pm_put_text(b, f->level[i].name);
		pm_put_u32(b, f->level[i].half);
		pm_put_u32(b, (uint32_t) f->level[i].work);
		pm_put_f64(b, f->level[i].level);
	}
}

pm_code
pm_frameworks_load(pm_frameworks *f, int n_works, const int32_t *here, pm_reader *r, pm_arena *a, pm_status *st)
{
	f->n = (int) pm_get_u32(r, MAX_FRAMEWORKS);
	if ((f->level = PM_NEW(a, pm_framework_level, f->n + 1)) == NULL)
		return pm_no_memory(st, a);
	for (int i = 0; i < f->n && !r->failed; i++)
	{
		pm_framework_level *l = &f->level[i];
		int			work;

		l->name = pm_get_text(r, a);
		if (l->name == NULL && !r->failed)
			return pm_no_memory(st, a);
		l->half = pm_get_u32(r, 1) != 0;
		work = (int) pm_get_u32(r, (uint32_t) n_works - 1);
		l->work = r->failed || here == NULL ? work : here[work];
		l->level = pm_get_f64(r);
		if (!(fabs(l->level) <= MAX_LEVEL))
			r->failed = true;
	}
	if (r->failed)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged levels of frameworks");
	return PM_OK;
}
