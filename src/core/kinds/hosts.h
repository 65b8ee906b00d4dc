/*
 * hosts.h - how much longer the host takes in 16-bit formats on a card than in
 * wider ones, beyond the count of launches.
 *
 * Launches are counted, and a launch takes the host the same time in all
 * formats. But small kernels may take longer: an RTX 4060 Ti takes 1.3 times as
 * long for networks of small operators in fp16. This shows only if launches are
 * the limit, and only with the same framework on the same card in both sorts of
 * formats. If no rows show it, the factor is 1.
 */
#ifndef PM_HOSTS_H
#define PM_HOSTS_H

#include "base/core.h"
#include "kinds/frameworks.h"

#define PM_MAX_HOSTS	4096

/* What the host does for a row, as parts of its measured time. */
typedef struct pm_host_row
{
	const char *gpu;
	const char *framework;		/* NULL: none is named */
	bool		half;			/* in a 16-bit format */
	uint64_t	structure;
	double		host;			/* predicted for launches, with a factor of 1 */
	double		device;			/* predicted for all else */
} pm_host_row;

typedef struct pm_host_level
{
	const char *gpu;
	double		level;			/* ln of the factor on launches in 16-bit formats */
} pm_host_level;

typedef struct pm_hosts
{
	int			n;
	pm_host_level *level;		/* [n] */
} pm_hosts;

/* Factor on the time of launches on a GPU in a format (pm_dtype): 1 in wider ones and where nothing is known. */
double		pm_hosts_factor(const pm_hosts *h, const char *gpu, int dtype);

/*
 * Levels from n rows, which are reordered.  A GPU gets one if there are, by one
 * framework, networks in both sorts of formats of which launches are the larger
 * part.  It is pulled to 0 the more the fewer these are.  Levels are in a.
 */
pm_code		pm_hosts_learn(pm_hosts *h, pm_host_row *row, int n, pm_arena *a, pm_arena *scratch, pm_status *st);

/* Whether a level may be one that was learned; false for NaN. */
bool		pm_hosts_is_level(double level);

#endif
