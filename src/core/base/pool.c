/*
 * pool.c - helper threads.  The pool lives in the caller's frame or arena;
 * pm_pool_stop() must be called before that goes away, on every path.
 */
#include "base/pool.h"

#include <signal.h>
#include <string.h>

static void
work_off(pm_thread_pool *p, int thread)
{
	for (;;)
	{
		int			task = __atomic_fetch_add(&p->next, 1, __ATOMIC_RELAXED);

		if (task >= p->n_tasks)
			return;
		p->task(p->arg, task, thread);
	}
}

static void *
worker_main(void *arg)
{
	pm_worker  *w = arg;
	pm_thread_pool *p = w->pool;
	unsigned	seen = 0;

	pthread_mutex_lock(&p->lock);
	for (;;)
	{
		while (p->round == seen && !p->stop)
			pthread_cond_wait(&p->wake, &p->lock);
		if (p->stop)
			break;
		seen = p->round;
		pthread_mutex_unlock(&p->lock);
		work_off(p, w->number);
		pthread_mutex_lock(&p->lock);
		if (--p->busy == 0)
			pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

void
pm_pool_start(pm_thread_pool *p, int threads)
{
	sigset_t	all,
				old;

	memset(p, 0, sizeof(*p));
	p->threads = 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->wake, NULL);
	pthread_cond_init(&p->done, NULL);
	/* A new thread inherits the mask: no handler of the server may run on it. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (p->threads < threads && p->threads < PM_MAX_THREADS)
	{
		pm_worker  *w = &p->worker[p->threads];

		w->pool = p;
		w->number = p->threads;
		if (pthread_create(&w->id, NULL, worker_main, w) != 0)
			break;
		p->threads++;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void
pm_pool_run(pm_thread_pool *p, pm_task task, void *arg, int n_tasks)
{
	pthread_mutex_lock(&p->lock);
	p->task = task;
	p->arg = arg;
	p->n_tasks = n_tasks;
	p->next = 0;
	p->busy = p->threads - 1;
	p->round++;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	work_off(p, 0);
	pthread_mutex_lock(&p->lock);
	while (p->busy > 0)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

void
pm_pool_stop(pm_thread_pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (int i = 1; i < p->threads; i++)
		pthread_join(p->worker[i].id, NULL);
	pthread_cond_destroy(&p->wake);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
}
