/*
 * family.h - the family of a network, from its name.
 *
 * The split by family leaves whole families out of training, so that no network
 * in training is similar to a tested one. docs/graph_format.md has the rule.
 */
#ifndef PM_FAMILY_H
#define PM_FAMILY_H

#include <stddef.h>

#define PM_FAMILY_SIZE 64		/* bytes of a derived family, its NUL included */

/*
 * Derive the family from the name of a model into buf, cut to size bytes (at
 * least 1) at the end of a UTF-8 character.  Only letters A to Z change their
 * case, whatever the locale.  "" only for a name without any letter or digit.
 */
void		pm_family(const char *model, char *buf, size_t size);

#endif
