/*
 * settings.h - the settings perfmodel.* of a session; init.c defines them.
 */
#ifndef PM_PG_SETTINGS_H
#define PM_PG_SETTINGS_H

extern int	pm_train_threads;	/* 0: all cores */
extern int	pm_train_mem_kb;
extern int	pm_cache_mem_kb;

/* Threads that training may use: the setting, or all cores this process may run on. */
extern int	pm_threads_allowed(void);

#endif
