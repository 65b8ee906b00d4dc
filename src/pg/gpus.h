/*
 * gpus.h - data sheets of devices by name.
 */
#ifndef PM_PG_GPUS_H
#define PM_PG_GPUS_H

#include "features/question.h"
#include "problem.h"

/* The sheets have their names in UTF-8, as the core has all of its texts; names that are asked for are the database's. */

/* ---- look-ups ---- */

/* The data sheet for a name, an alias, or a name of name_alias; an error with candidates when there is none. Valid until the next pm_freshen(). */
extern const pm_gpu *pm_gpu_find(const char *name);
/* The same; NULL, with *p filled, in place of an error. */
extern const pm_gpu *pm_gpu_look_up(const char *name, pm_problem *p);
/* Whether there is one. */
extern bool pm_gpu_exists(const char *name);
/* By perfmodel.gpu alone, for what name_alias says: no row of it leads to another. NULL: there is none of that name. */
extern const pm_gpu *pm_gpu_in_sheets(const char *name);
/* The link of a device, whose name is one of perfmodel.gpu in UTF-8, as column interconnect says it ("PCIe5"). NULL: it is not known. */
extern const char *pm_gpu_link(const char *name);
/* The devices that a name which is not known is near to, by series and number, the nearest first, at most so many: how many, and their names. */
extern int	pm_gpu_nearest(const char *name, const char **nearest, int most);

/* ---- other spellings ---- */

/* What spellings of a name have in common, in UTF-8 as the name: case, spaces, _, - and the maker's words do not count. */
extern char *pm_gpu_key(const char *name);
/*
 * The device with this key among those of its name and aliases, besides the rows of two names (old may be NULL); NULL: none.
 * *by_name: of its name; *builtin: it came with the extension.
 */
extern const pm_gpu *pm_gpu_with_key(const char *key, const char *own, const char *old, bool *by_name, bool *builtin);

/* ---- short names, such as "A100", which is taken for one of four ---- */

/*
 * The other devices that a short name begins: their number, and their names in
 * UTF-8. 0 for the whole name of a device, and for a name that is not known.
 */
extern int	pm_gpu_others_meant(const char *name, const char ***others);
/* The note with 'gpu "A100" was taken for "A100-SXM4-40GB"' behind it where others may be meant, else note itself; note may be NULL. */
extern char *pm_note_short_name(const text *given, const pm_gpu *taken, const char *note);
/* Say so where a name that was taken for a device, whose name is the database's, may mean others: once for each name in a statement. */
extern void pm_notice_short_gpu(const char *given, const char *taken);

/* ---- names as Slurm writes them ---- */

/* What Slurm calls a device whose type it does not say ("gpu:4"), and what to do about it. */
#define PM_ANY_GPU "gpu"
#define PM_ANY_GPU_HINT "Slurm does not say which GPU this is. If all are of one type, say so: " \
	"INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'gpu', 'A100-SXM4-80GB');"

/*
 * What a name as Slurm writes it ("gpu:a100:4") says: the name in it, which may be of no device, or PM_ANY_GPU, and the number in
 * *count (0: it says none). NULL: it is not written so, or a device is called so.
 */
extern char *pm_gpu_in_gres(const char *name, int *count);

/* ---- parts of a card ---- */

/* Whether a part of a card is called so, such as "a100_3g.20gb" (MIG). One with a data sheet is a device as any other. */
extern bool pm_gpu_is_slice(const char *name);
/* What errors call it, and what to do about one that is not known; NULL: it is no slice. */
#define PM_GPU_SLICE "a slice of a card (MIG)"
extern char *pm_gpu_slice_hint(const char *name);

#endif
