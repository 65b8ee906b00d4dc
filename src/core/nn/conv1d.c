/*
 * conv1d.c - windows of a sequence, and back.
 *
 * With the channels of one position side by side a window is one stretch of
 * memory.
 */
#include "nn/conv1d.h"

#include <string.h>

int
pm_conv1d_windows(const pm_conv1d *c)
{
	return c->length <= c->kernel ? 1 : (c->length - c->kernel + c->stride - 1) / c->stride + 1;
}

/* Numbers of window p that are inside the sequence. */
static inline int
inside(const pm_conv1d *c, int p)
{
	int			left = c->length - p * c->stride;

	return (left < c->kernel ? left : c->kernel) * c->channels;
}

void
pm_unfold(pm_real *y, const pm_real *x, const pm_conv1d *c, int r)
{
	const int	windows = pm_conv1d_windows(c);
	const int	width = c->kernel * c->channels;

	for (int i = 0; i < r; i++, x += (size_t) c->length * c->channels)
		for (int p = 0; p < windows; p++, y += width)
		{
			int			n = inside(c, p);

			memcpy(y, x + (size_t) p * c->stride * c->channels, n * sizeof(pm_real));
			memset(y + n, 0, (width - n) * sizeof(pm_real));
		}
}

PM_CLONES void
pm_unfold_back(pm_real *dx, const pm_real *dy, const pm_conv1d *c, int r)
{
	const int	windows = pm_conv1d_windows(c);
	const int	width = c->kernel * c->channels;

	memset(dx, 0, (size_t) r * c->length * c->channels * sizeof(pm_real));
	for (int i = 0; i < r; i++, dx += (size_t) c->length * c->channels)
		for (int p = 0; p < windows; p++, dy += width)
		{
			pm_real    *to = dx + (size_t) p * c->stride * c->channels;
			int			n = inside(c, p);

			for (int j = 0; j < n; j++)
				to[j] += dy[j];
		}
}
