/*
 * prices.c - the rows of perfmodel.price and perfmodel.carbon_intensity.
 *
 * State: all rows of both tables, in a context of their own that is thrown away
 * with their generation. Prices are sorted by device: a catalogue of all
 * providers has tens of thousands.  Whoever may not read a table is told so by
 * a reason, not by an error: a time is worth something without its cost.
 */
#include "postgres.h"

#include <math.h>

#include "access/xact.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "cache/freshness.h"
#include "errors.h"
#include "plans.h"
#include "prices.h"
#include "tables.h"

#define REGIONS_QUERY "SELECT unnest(region || names) FROM perfmodel.carbon_intensity"

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

/* A name of a region; a region with other names is there several times. */
typedef struct carbon
{
	const char *name;
	double		g_per_kwh;
} carbon;

static MemoryContext cxt = NULL;
static price *prices = NULL;
static int	n_prices = 0;
static carbon *carbons = NULL;
static int	n_carbons = 0;
static bool may_read_prices = false;
static bool may_read_carbons = false;
static uint64 generation = 0;

static TimestampTz
bound(uint64 row, int col, TimestampTz unbounded)
{
	bool		isnull;
	Datum		v = pm_value(row, col, TIMESTAMPTZOID, &isnull);

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
		p->from_inclusive = p->from == DT_NOBEGIN || DatumGetBool(pm_value(i, 8, BOOLOID, NULL));
		p->to_inclusive = p->to == DT_NOEND || DatumGetBool(pm_value(i, 9, BOOLOID, NULL));
	}
}

static void
read_carbons(void)
{
	static pm_plan query = {
		"SELECT u.name, c.g_per_kwh FROM perfmodel.carbon_intensity AS c, pg_catalog.unnest(c.region OPERATOR(pg_catalog.||) c.names)"
		" WITH ORDINALITY AS u (name, nth) WHERE u.name IS NOT NULL ORDER BY u.nth, c.region COLLATE \"C\""
	};

	pm_run(&query, NULL, NULL, true);
	carbons = MemoryContextAlloc(cxt, sizeof(carbon) * Max(SPI_processed, 1));
	n_carbons = (int) SPI_processed;
	for (int i = 0; i < n_carbons; i++)
		carbons[i] = (carbon) {pm_value_text(i, 1, cxt), pm_value_float8(i, 2)};
}

static bool
may_read(const char *table)
{
	return pg_class_aclcheck(pm_table(table), GetUserId(), ACL_SELECT) == ACLCHECK_OK;
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
	may_read_prices = may_read("price");
	may_read_carbons = may_read("carbon_intensity");
	SPI_connect();
	if (may_read_prices)
		read_prices();
	if (may_read_carbons)
		read_carbons();
	SPI_finish();
	generation = pm_generation;
}

/* ---------- what is wished for ---------- */

static const char *
text_arg(FunctionCallInfo fcinfo, int i)
{
	return PG_ARGISNULL(i) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(i));
}

void
pm_price_wish_read(FunctionCallInfo fcinfo, int first, pm_price_wish *w)
{
	static const char *const kinds[] = {"on_demand", "spot", "own"};
	bool		known;

	*w = (pm_price_wish) {
		text_arg(fcinfo, first), text_arg(fcinfo, first + 1), text_arg(fcinfo, first + 2),
		PG_ARGISNULL(first + 3) ? GetCurrentTransactionStartTimestamp() : PG_GETARG_TIMESTAMPTZ(first + 3)
	};
	known = w->kind == NULL;
	for (int i = 0; i < lengthof(kinds); i++)
		known |= w->kind != NULL && pg_strcasecmp(w->kind, kinds[i]) == 0;
	if (!known)
		pm_unknown_word("price_kind", w->kind, kinds, lengthof(kinds));
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
	return wanted == NULL || pg_strcasecmp(wanted, is) == 0;
}

static bool
valid_at(const price *p, TimestampTz at)
{
	return (at > p->from || (p->from_inclusive && at == p->from)) && (at < p->to || (p->to_inclusive && at == p->to));
}

/* The conditions in the order in which reasons speak of them. */
typedef enum condition
{
	PROVIDER, REGION, KIND, VALID, N_CONDITIONS
} condition;

/* How many conditions a price meets before the first that it does not. */
static int
met(const price *p, const pm_price_wish *w)
{
	if (!holds(w->provider, p->provider))
		return PROVIDER;
	/* a price without a region holds everywhere */
	if (!holds(w->region, p->region) && p->region[0] != '\0')
		return REGION;
	if (!holds(w->kind, p->kind))
		return KIND;
	return valid_at(p, w->at) ? N_CONDITIONS : VALID;
}

#define MAX_LISTED 5

/* What the device's prices, as far as they get, have instead: "only from ", a list of different words; "" is no word. */
static char *
instead(int first, const char *gpu, const pm_price_wish *w, condition c, const char *preposition)
{
	const char *words[MAX_LISTED];
	int			n = 0;
	bool		more = false;
	bool		unnamed = false;

	for (int i = first; i < n_prices && !more && strcmp(prices[i].gpu, gpu) == 0; i++)
	{
		const char *word = c == PROVIDER ? prices[i].provider : c == REGION ? prices[i].region : prices[i].kind;
		bool		here = met(&prices[i], w) == c;
		bool		listed = !here || word[0] == '\0';

		unnamed |= here && word[0] == '\0';
		for (int k = 0; k < n && !listed; k++)
			listed = strcmp(words[k], word) == 0;
		more = !listed && n == MAX_LISTED;
		if (!listed && !more)
			words[n++] = word;
	}
	if (n == 0)
		return pstrdup("only one without a provider");
	return psprintf("only %s %s%s%s", preposition, pm_quoted_list(words, n), more ? " and others" : "", unnamed ? ", and one without a provider" : "");
}

/* " from provider "x" in region "y"": what the wish names of these before condition c; "" where it names nothing. */
static char *
place_of(const pm_price_wish *w, condition c)
{
	return psprintf("%s%s", w->provider != NULL && c > PROVIDER ? psprintf(" from provider \"%s\"", pm_shown_name(w->provider)) : "",
					w->region != NULL && c > REGION ? psprintf(" in region \"%s\"", pm_shown_name(w->region)) : "");
}

/* best: what the price that comes nearest to the wish has met; -1: the device has no price. */
static char *
reason(int first, const char *gpu, const pm_price_wish *w, int best)
{
	const char *shown = pm_shown_name(gpu);

	if (!may_read_prices)
		return pstrdup("no cost: you may not read perfmodel.price");
	if (best < 0)
		return psprintf("no cost: perfmodel.price has no price of gpu \"%s\"", shown);
	if (best == PROVIDER)
		return psprintf("no cost: no price of gpu \"%s\" from provider \"%s\", %s", shown, pm_shown_name(w->provider),
						instead(first, gpu, w, PROVIDER, "from"));
	if (best == REGION)
		return psprintf("no cost: no price of gpu \"%s\"%s in region \"%s\", %s", shown, place_of(w, REGION), pm_shown_name(w->region),
						instead(first, gpu, w, REGION, "in"));
	if (best == KIND)
		return psprintf("no cost: no price of gpu \"%s\"%s of the kind %s, %s", shown, place_of(w, KIND), w->kind, instead(first, gpu, w, KIND, "of"));
	return psprintf("no cost: no price of gpu \"%s\"%s%s%s is valid at %s", shown, place_of(w, VALID), w->kind ? " of the kind " : "",
					w->kind ? w->kind : "", timestamptz_to_str(w->at));
}

static bool
is_spot(const price *p)
{
	return strcmp(p->kind, "spot") == 0;
}

/* Whether to take p rather than another price that meets the wish, q, which costs less or the same; NULL: there is none. */
static bool
goes_before(const price *p, const price *q, const pm_price_wish *w)
{
	/* a spot price is not what a training costs that must not be interrupted */
	if (q == NULL || (w->kind == NULL && is_spot(p) != is_spot(q)))
		return q == NULL || is_spot(q);
	return w->region != NULL && holds(w->region, p->region) && !holds(w->region, q->region);
}

double
pm_price_of(const char *gpu, const pm_price_wish *w, char **spot, char **why)
{
	const price *found = NULL;
	int			first;
	int			best = -1;

	be_ready();
	*spot = NULL;
	first = first_of(gpu);
	/* those of a device stand in the order of their price */
	for (int i = first; i < n_prices && strcmp(prices[i].gpu, gpu) == 0; i++)
	{
		int			n = met(&prices[i], w);

		best = Max(best, n);
		if (n == N_CONDITIONS && goes_before(&prices[i], found, w))
			found = &prices[i];
	}
	if (found == NULL)
	{
		*why = reason(first, gpu, w, best);
		return get_float8_nan();
	}
	if (w->kind == NULL && is_spot(found))
		*spot = psprintf("the price of gpu \"%s\" is a spot price, because there is no other", pm_shown_name(gpu));
	return found->usd;
}

double
pm_carbon_of(const char *region, char **hint)
{
	const char **names;

	be_ready();
	/* "de" and "DE" may be two regions: one that is written so comes first */
	for (int i = 0; i < n_carbons; i++)
		if (strcmp(carbons[i].name, region) == 0)
			return carbons[i].g_per_kwh;
	for (int i = 0; i < n_carbons; i++)
		if (pg_strcasecmp(carbons[i].name, region) == 0)
			return carbons[i].g_per_kwh;
	names = palloc(sizeof(char *) * Max(n_carbons, 1));
	for (int i = 0; i < n_carbons; i++)
		names[i] = carbons[i].name;
	*hint = may_read_carbons ? pm_did_you_mean(region, names, n_carbons, REGIONS_QUERY, "INSERT a row into perfmodel.carbon_intensity")
		: pstrdup("You may not read perfmodel.carbon_intensity.");
	return get_float8_nan();
}
