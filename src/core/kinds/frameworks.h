/*
 * frameworks.h - how much longer a framework keeps a device busy than the
 * framework of most measurements.
 *
 * XLA fuses operators that PyTorch runs one after the other, and libraries of
 * 2016 have slower convolutions: factors of about a third and of two. Without
 * these levels, cards that were measured only with such a framework would seem
 * better or worse than they are, and so would cards whose level is guessed from
 * them.
 */
#ifndef PM_FRAMEWORKS_H
#define PM_FRAMEWORKS_H

#include "base/serial.h"
#include "graph/op_work.h"

typedef struct pm_framework_level
{
	const char *name;
	bool		half;			/* in a 16-bit format */
	int			work;			/* pm_card_work */
	double		level;			/* ln of the factor on the device's time */
} pm_framework_level;

typedef struct pm_frameworks
{
	int			n;
	pm_framework_level *level;	/* [n] */
} pm_frameworks;

/* Whether two names are of one framework: the same up to the first blank or hyphen, whether in small letters or capitals. */
bool		pm_same_framework(const char *a, const char *b);

static inline bool
pm_is_half(int dtype)
{
	return dtype != PM_FP32 && dtype != PM_TF32;
}

/* ln of the factor; 0 for the usual framework, for NULL and for one that is not known. */
double		pm_framework_level_of(const pm_frameworks *f, const char *name, int dtype, int work);

void		pm_frameworks_save(const pm_frameworks *f, pm_buffer *b);
/* here: numbers of works as they are here, NULL: as stored; n_works of them.  PM_ERR_FORMAT when damaged. */
pm_code		pm_frameworks_load(pm_frameworks *f, int n_works, const int32_t *here, pm_reader *r, pm_arena *a, pm_status *st);

#endif
