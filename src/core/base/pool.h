/*
 * pool.h - a few threads that run numbered tasks of the core.
 *
 * They run only code of the core, with all signals blocked, so that no signal
 * handler of the server runs in them. They sleep between two calls of
 * pm_pool_run(). The caller's thread works, too.
 */
#ifndef PM_POOL_H
#define PM_POOL_H

#include <pthread.h>

#include "base/core.h"

#define PM_MAX_THREADS 64

/* task: 0..n_tasks-1; thread: 0..threads-1, which workspace to use */
typedef void (*pm_task) (void *arg, int task, int thread);

typedef struct pm_thread_pool pm_thread_pool;
typedef struct pm_worker
{
	pm_thread_pool *pool;
	int			number;
	pthread_t	id;
} pm_worker;

struct pm_thread_pool
{
	int			threads;		/* including the caller's */
	pthread_mutex_t lock;
	pthread_cond_t wake;		/* a new round, or the end */
	pthread_cond_t done;		/* the round's last helper is through */
	pm_task		task;
	void	   *arg;
	int			n_tasks;
	int			next;			/* next task to hand out */
	int			busy;			/* helpers still in the round */
	unsigned	round;
	bool		stop;
	pm_worker	worker[PM_MAX_THREADS];
};

/* Fewer threads than asked for (never none) when the system gives no more. */
void		pm_pool_start(pm_thread_pool *p, int threads);
/* Returns when all tasks are done. Which thread does which task is not determined. */
void		pm_pool_run(pm_thread_pool *p, pm_task task, void *arg, int n_tasks);
void		pm_pool_stop(pm_thread_pool *p);

#endif
