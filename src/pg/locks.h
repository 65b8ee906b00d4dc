/*
 * locks.h - locks on names.
 */
#ifndef PM_PG_LOCKS_H
#define PM_PG_LOCKS_H

/* Serialise transactions that do `what` to `name`, until the end of this one. Inside SPI_connect(). */
extern void pm_lock_name(const char *what, const char *name);

#endif
