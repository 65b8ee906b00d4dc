/*
 * bounds.c - bounds of answers for cards without measurements.
 */
#include "predictor/bounds.h"

#include <math.h>

#include "features/sheets.h"
#include "kinds/cards.h"
#include "predictor/correction.h"

static const pm_cards *
cards_of(const pm_predictor *p)
{
	return p->kind->cards != NULL ? p->kind->cards(p) : NULL;
}

int
pm_bounds_sheets(const pm_predictor *p, const pm_gpu *gpu)
{
	const pm_cards *c = cards_of(p);

	return c != NULL && pm_cards_guesses(c, gpu) && pm_correction_find(p->correction, gpu->name) == NULL ? c->n_sheets : 0;
}

const pm_gpu *
pm_bounds_sheet(const pm_predictor *p, const pm_gpu *gpu, int i)
{
	const pm_gpu *sheet = &cards_of(p)->sheets[i];

	return pm_gpu_at_least(gpu, sheet) || pm_gpu_at_least(sheet, gpu) ? sheet : NULL;
}

void
pm_bounds_add(pm_bounds *b, const pm_gpu *gpu, const pm_gpu *sheet, double ms)
{
	if (pm_gpu_at_least(gpu, sheet))
		b->most = fmin(b->most, ms);
	if (pm_gpu_at_least(sheet, gpu))
		b->least = fmax(b->least, ms);
}

double
pm_bounds_apply(const pm_bounds *b, double ms)
{
	double		least = fmin(b->least, b->most);
	double		most = fmax(b->least, b->most);

	return fmin(fmax(ms, least), most);
}
