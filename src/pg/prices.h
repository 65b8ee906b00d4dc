/*
 * prices.h - what an hour of a GPU costs, and what a kilowatt-hour emits.
 */
#ifndef PM_PG_PRICES_H
#define PM_PG_PRICES_H

#include "datatype/timestamp.h"

/* A condition that is NULL holds for every price. */
typedef struct pm_price_wish
{
	const char *gpu;			/* as in perfmodel.gpu */
	const char *provider;
	const char *region;
	const char *kind;
	TimestampTz at;
} pm_price_wish;

/* US dollars for an hour of one GPU, the least of the prices that are wished for; NaN: there is none. */
extern double pm_price_of(const pm_price_wish *w);

/* Grams of CO2 equivalent for a kWh; NaN: the region is not known. */
extern double pm_carbon_of(const char *region);

#endif
