/*
 * prices.h - the price of an hour of a GPU, and the emissions of a
 * kilowatt-hour.
 *
 * Call these functions after pm_freshen(). If something is not known, they
 * return a reason in words, in the current memory context.
 */
#ifndef PM_PG_PRICES_H
#define PM_PG_PRICES_H

#include "datatype/timestamp.h"
#include "fmgr.h"

/* A condition that is NULL holds for every price. */
typedef struct pm_price_wish
{
	const char *provider;
	const char *region;
	const char *kind;
	TimestampTz at;
} pm_price_wish;

/*
 * Read the arguments provider, region, price_kind and at, which stand together
 * from number `first` on; at NULL: now.  Raises for an unknown kind.
 */
extern void pm_price_wish_read(FunctionCallInfo fcinfo, int first, pm_price_wish *w);

/*
 * US dollars for an hour of one GPU (its name as in perfmodel.gpu): the least
 * of the matching prices.  A price without a region is valid in every region
 * that has no price of its own.  Without a wish for a kind, spot
 * prices count only where there is no other: *spot says that it is one, in words (else NULL).
 * NaN: there is none, and *why says what is missing.
 */
extern double pm_price_of(const char *gpu, const pm_price_wish *w, char **spot, char **why);

/*
 * Grams of CO2 equivalent for a kWh in a region, by its code or one of its
 * names; NaN: the region is not in perfmodel.carbon_intensity, and *hint names
 * those that are most like it.
 */
extern double pm_carbon_of(const char *region, char **hint);

#endif
