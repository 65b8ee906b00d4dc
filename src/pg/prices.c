/*
 * prices.c - the rows of perfmodel.price and perfmodel.carbon_intensity.
 *
 * State: all rows of both tables, in a context of their own that is thrown away
 * with their generation. Prices are sorted by device: a catalogue of all
 * providers has tens of thousands.
 */
#include "postgres.h"

#include <math.h>

#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "cache/freshness.h"
#include "plans.h"
#include "prices.h"

typedef struct price
{
	const char *gpu;
	const char *provider;
	const char *region;
	const char *kind;
	double		usd;
	TimestampTz from;			/* inclusive */
	TimestampTz to;				/* exclusive, or inclusive where to_inclusive */
	bool		from_inclusive;
	bool		to_inclusive;
} price;

typedef struct carbon
{
	const char *region;
	double		g_per_kwh;
} carbon;

static MemoryContext cxt = NULL;
static price *prices = NULL;
static int	n_prices = 0;
static carbon *carbons = NULL;
static int	n_carbons = 0;
static uint64 generation = 0;

static TimestampTz
bound(uint64 row, int col, TimestampTz unbounded)
{
	bool		isnull;
	Datum		v = pm_value(row, col, &isnull);

	return isnull ? unbounded : DatumGetTimestampTz(v);
}

static void
read_prices(void)
{
	static pm_plan query = {
		"SELECT gpu, provider, region, kind, usd_per_hour, pg_catalog.lower(valid), pg_catalog.upper(valid), pg_catalog.lower_inc(valid),"
		" pg_catalog.upper_inc(valid) FROM perfmodel.price ORDER BY gpu COLLATE \"C\", usd_per_hour, price_id"
	};

	pm_run(&query, NULL, NULL, true);
	prices = MemoryContextAllocHuge(cxt, sizeof(price) * Max(SPI_processed, 1));
	n_prices = (int) SPI_processed;
	for (int i = 0; i < n_prices; i++)
	{
		price	   *p = &prices[i];

		p->gpu = pm_value_text(i, 1, cxt);
		p->provider = pm_value_text(i, 2, cxt);
		p->region = pm_value_text(i, 3, cxt);
		p->kind = pm_value_text(i, 4, cxt);
		p->usd = pm_value_float8(i, 5);
		p->from = bound(i, 6, DT_NOBEGIN);
		p->to = bound(i, 7, DT_NOEND);
		p->from_inclusive = p->from == DT_NOBEGIN || DatumGetBool(pm_value(i, 8, NULL));
		p->to_inclusive = p->to == DT_NOEND || DatumGetBool(pm_value(i, 9, NULL));
	}
}

static void
read_carbons(void)
{
	static pm_plan query = {"SELECT region, g_per_kwh FROM perfmodel.carbon_intensity ORDER BY region"};

	pm_run(&query, NULL, NULL, true);
	carbons = MemoryContextAlloc(cxt, sizeof(carbon) * Max(SPI_processed, 1));
	n_carbons = (int) SPI_processed;
	for (int i = 0; i < n_carbons; i++)
		carbons[i] = (carbon) {pm_value_text(i, 1, cxt), pm_value_float8(i, 2)};
}

static void
be_ready(void)
{
	if (generation == pm_generation)
		return;
	if (cxt == NULL)
		cxt = AllocSetContextCreate(TopMemoryContext, "perfmodel prices", ALLOCSET_DEFAULT_SIZES);
	generation = 0;
	n_prices = n_carbons = 0;
	MemoryContextReset(cxt);
	SPI_connect();
	read_prices();
	read_carbons();
	SPI_finish();
	generation = pm_generation;
}

/* The first price of a device, or where it would stand. */
static int
first_of(const char *gpu)
{
	int			low = 0;
	int			high = n_prices;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (strcmp(prices[middle].gpu, gpu) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
holds(const char *wanted, const char *is)
{
	return wanted == NULL || strcmp(wanted, is) == 0;
}

static bool
valid_at(const price *p, TimestampTz at)
{
	return (at > p->from || (p->from_inclusive && at == p->from)) && (at < p->to || (p->to_inclusive && at == p->to));
}

double
pm_price_of(const pm_price_wish *w)
{
	be_ready();
	/* those of a device stand in the order of their price */
	for (int i = first_of(w->gpu); i < n_prices && strcmp(prices[i].gpu, w->gpu) == 0; i++)
		if (holds(w->provider, prices[i].provider) && holds(w->region, prices[i].region) && holds(w->kind, prices[i].kind) &&
			valid_at(&prices[i], w->at))
			return prices[i].usd;
	return get_float8_nan();
}

double
pm_carbon_of(const char *region)
{
	be_ready();
	for (int i = 0; region != NULL && i < n_carbons; i++)
		if (strcmp(carbons[i].region, region) == 0)
			return carbons[i].g_per_kwh;
	return get_float8_nan();
}
