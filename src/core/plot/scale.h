/*
 * scale.h - axes of plots: the place of a value, and the values that get a
 * mark.
 */
#ifndef PM_SCALE_H
#define PM_SCALE_H

#include "base/core.h"

typedef enum pm_scale_kind
{
	PM_SCALE_LINEAR,
	PM_SCALE_LOG,				/* values above 0 */
	PM_SCALE_TIME,				/* seconds since 1970, UTC */
	PM_SCALE_LOG2,				/* values above 0, with marks at powers of 2 */
	PM_N_SCALE_KINDS
} pm_scale_kind;
extern const char *const pm_scale_name[PM_N_SCALE_KINDS];

typedef struct pm_scale
{
	pm_scale_kind kind;
	double		low,			/* of the values; low < high */
				high;
	double		from,			/* where these are drawn, in pixels */
				to;
} pm_scale;

#define PM_MAX_TICKS	24
typedef struct pm_ticks
{
	int			n;
	double		at[PM_MAX_TICKS];
	char		label[PM_MAX_TICKS][24];
} pm_ticks;

bool		pm_scale_is_log(pm_scale_kind kind);
/* Whether a value can be drawn: finite, and above 0 where the scale is a logarithm. */
bool		pm_scale_has(const pm_scale *s, double v);
/* Widen low..high to hold v; a scale without values has low > high. */
void		pm_scale_take(pm_scale *s, double v);
/* Make it a range that can be divided, with some room at the ends; of no values: 0..1, or 1..10. */
void		pm_scale_finish(pm_scale *s);
/* Where v is drawn. */
double		pm_scale_at(const pm_scale *s, double v);
/* About `wanted` marks. */
void		pm_scale_ticks(const pm_scale *s, int wanted, pm_ticks *t);

/* Three digits, below 10,000 four; from there on with k, M, G, T: "0", "1.25", "9999", "12.3k". */
void		pm_short_number(double v, char *out, size_t size);

#endif
