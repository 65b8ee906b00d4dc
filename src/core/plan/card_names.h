/*
 * card_names.h - which devices a name is near to that is the name of none.
 *
 * People ask for cards that have no data sheet (MI250X, H800) or shorten names
 * (a100 80).  Counting edits finds the wrong ones: "H800" is nearer to "K80"
 * than to "H100-SXM5-80GB".  So names are read as the makers write them: words,
 * and one number, the model, with the letters of a series before it.  Types of
 * machines of clouds ("p4d.24xlarge") look alike, and are known by a table.
 */
#ifndef PM_CORE_PLAN_CARD_NAMES_H
#define PM_CORE_PLAN_CARD_NAMES_H

#include "base/core.h"

#define PM_CARD_WORDS	12		/* of a name; what comes behind them does not count */
#define PM_CARD_LETTERS 15		/* of a word; longer ones are cut */

/* Runs of letters and of digits in lower case, without those that say nothing, such as "nvidia" and "gb". */
typedef struct pm_card_name
{
	int			n;
	int			model;			/* which word is the number of the model, the first one; -1: there is none */
	uint64_t	seen;			/* a bit for each word, by its hash */
	char		words[PM_CARD_WORDS][PM_CARD_LETTERS + 1];
} pm_card_name;

void		pm_card_name_read(const char *name, pm_card_name *c);

/*
 * How near wanted is to the name of a device, 0: not at all.  The same model of
 * the same series counts 6, of a series whose name ends with the other one's 5.5
 * ("GH200" and "H200"), another model of the series 2.5 to 4.5 by the numbers, the
 * same number (of three digits or more) of another series 4, and each word in common
 * (series, variant, connector, GB) 1; a word that only one has costs 0.1.
 */
double		pm_card_name_nearness(const pm_card_name *wanted, const pm_card_name *known);

/*
 * The card of a cloud's machines, by the name of a type of machine, such as
 * "p4d.24xlarge", "a2-highgpu-1g" or "Standard_NC6s_v3"; NULL: none that is
 * known. A machine has one or several of them, so this is no name of the card,
 * but what its user means.
 */
const char *pm_card_of_machine(const char *name);

#endif
