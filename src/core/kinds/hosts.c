/*
 * hosts.c - host times by format: learning and asking them; cards_stored.c stores them.
 */
#include "kinds/hosts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_LEVEL	1.0			/* of a factor's logarithm */
#define LEAST_SHARE	0.5			/* of launches in what is predicted: others tell of the device */
#define PULL		3.0			/* a level is pulled to 0 as if by so many networks */

double
pm_hosts_factor(const pm_hosts *h, const char *gpu, int dtype)
{
	for (int i = 0; i < h->n && pm_is_half(dtype); i++)
		if (strcmp(h->level[i].gpu, gpu) == 0)
			return exp(h->level[i].level);
	return 1;
}

bool
pm_hosts_is_level(double level)
{
	return level >= 0 && level <= MAX_LEVEL;
}

/* ---- learning ---- */

static int
compare_names(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "");
}

static int
by_host(const void *a, const void *b)
{
	const pm_host_row *x = a;
	const pm_host_row *y = b;
	int			c = strcmp(x->gpu, y->gpu);

	if (c == 0)
		c = compare_names(x->framework, y->framework);
	if (c == 0)
		c = (x->structure > y->structure) - (x->structure < y->structure);
	if (c == 0)
		c = x->half - y->half;
	return c != 0 ? c : (x->host > y->host) - (x->host < y->host);
}

static int
by_size(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/*
 * What the rows [n] of one network say, by one framework on one card: how much longer 16-bit formats take than wider ones, in
 * logarithms, against what is predicted for their launches.  NaN: launches are not the larger part, or one sort is missing.
 */
static double
level_of_network(const pm_host_row *row, int n)
{
	double		sum[2] = {0};
	int			rows[2] = {0};

	for (int i = 0; i < n; i++)
	{
		if (!(row[i].host > LEAST_SHARE * (row[i].host + row[i].device)))
			continue;
		sum[row[i].half] -= log(row[i].host);
		rows[row[i].half]++;
	}
	return rows[0] > 0 && rows[1] > 0 ? sum[1] / rows[1] - sum[0] / rows[0] : NAN;
}

static bool
same_network(const pm_host_row *x, const pm_host_row *y)
{
	return x->structure == y->structure && compare_names(x->framework, y->framework) == 0;
}

/*
 * Of the rows [n] of one card; networks is room for as many numbers.  Where 16-bit formats take less time, the device still
 * counted, which says nothing about the host: a level is not below 0.
 */
static double
level_of_card(const pm_host_row *row, int n, double *networks)
{
	int			used = 0;

	for (int i = 0; i < n;)
	{
		int			end = i;
		double		level;

		while (end < n && same_network(&row[end], &row[i]))
			end++;
		level = level_of_network(row + i, end - i);
		if (!isnan(level))
			networks[used++] = level;
		i = end;
	}
	if (used == 0)
		return 0;
	qsort(networks, used, sizeof(double), by_size);
	return fmin(fmax(0.5 * (networks[(used - 1) / 2] + networks[used / 2]), 0) * used / (used + PULL), MAX_LEVEL);
}

pm_code
pm_hosts_learn(pm_hosts *h, pm_host_row *row, int n, pm_arena *a, pm_arena *scratch, pm_status *st)
{
	double	   *networks = PM_NEW(scratch, double, n + 1);
	int			gpus = 0;

	qsort(row, n, sizeof(pm_host_row), by_host);
	for (int i = 0; i < n; i++)
		gpus += i == 0 || strcmp(row[i].gpu, row[i - 1].gpu) != 0;
	h->n = 0;
	if (!networks || (h->level = PM_NEW(a, pm_host_level, gpus + 1)) == NULL)
		return pm_no_memory(st, networks ? a : scratch);
	for (int i = 0; i < n && h->n < PM_MAX_HOSTS;)
	{
		int			end = i;
		double		level;

		while (end < n && strcmp(row[end].gpu, row[i].gpu) == 0)
			end++;
		level = level_of_card(row + i, end - i, networks);
		if (level > 0)
		{
			h->level[h->n] = (pm_host_level) {pm_strdup(a, row[i].gpu, strlen(row[i].gpu)), level};
			if (h->level[h->n++].gpu == NULL)
				return pm_no_memory(st, a);
		}
		i = end;
	}
	return PM_OK;
}
