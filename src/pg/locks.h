/*
 * locks.h - locks on names.
 */
#ifndef PM_PG_LOCKS_H
#define PM_PG_LOCKS_H

/*
 * Let transactions that do something to `name` take turns: the lock is held to
 * the end of this one.  what: a word for the set of names, such as "predictor".
 * Two names may share a lock, which costs a wait and nothing else.
 */
extern void pm_lock_name(const char *what, const char *name);

#endif
