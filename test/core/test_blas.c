/*
 * test_blas.c - products of every small shape while there is no memory left, in
 * several threads at once: the same numbers as with memory.
 *
 * Without room for their scratch memory, OpenBLAS's kernels for small products
 * on CPUs with AVX-512 write to address 0.  The library takes them on all those
 * CPUs here; on others nothing can go wrong.
 */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "nn/blas.h"

#define THREADS 4
#define MAX_N	24
#define MAX_K	96
#define ROWS	5

static pm_real a[ROWS * MAX_K];
static pm_real b[MAX_K * MAX_N];
static pm_real expected[MAX_N][ROWS * MAX_N];
static int	wrong[THREADS];
static pthread_barrier_t exhausted;

/* Before the library chooses its kernels, like the constructor in blas.c. */
__attribute__((constructor(101))) static void
choose_kernels(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
		setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
#endif
}

static void
product(int n, pm_real *c)
{
	pm_gemm(false, false, ROWS, n, MAX_K, 1, a, MAX_K, b, n, 0, c, n);
}

static void *
repeat(void *arg)
{
	int		   *bad = arg;
	pm_real		c[ROWS * MAX_N];

	pthread_barrier_wait(&exhausted);
	for (int round = 0; round < 500; round++)
		for (int n = 1; n <= MAX_N; n++)
		{
			memset(c, 0, sizeof(c));
			product(n, c);
			*bad += memcmp(c, expected[n - 1], ROWS * n * sizeof(pm_real)) != 0;
		}
	return NULL;
}

#ifndef __SANITIZE_ADDRESS__	/* its allocator does not live within a limit */

/* Take all memory that the process may still have, in ever smaller blocks. */
static void
exhaust_memory(void)
{
	struct rlimit limit = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};

	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	for (size_t size = (size_t) 1 << 30; size >= 16; size /= 2)
		while (posix_memalign(&(void *) {NULL}, 16, size) == 0)
			;
}

#else
static void
exhaust_memory(void)
{
}
#endif

int
main(void)
{
	pthread_t	thread[THREADS];
	pm_status	st;

	pm_blas_init();
	CHECK_EQ(pm_blas_reserve(THREADS, &st), PM_OK);
	for (int i = 0; i < ROWS * MAX_K; i++)
		a[i] = (pm_real) (i % 7) - 3;
	for (int i = 0; i < MAX_K * MAX_N; i++)
		b[i] = (pm_real) (i % 5) - 2;
	for (int n = 1; n <= MAX_N; n++)
		product(n, expected[n - 1]);
	CHECK_EQ(pthread_barrier_init(&exhausted, NULL, THREADS + 1), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&thread[i], NULL, repeat, &wrong[i]), 0);
	exhaust_memory();
	pthread_barrier_wait(&exhausted);
	for (int i = 0; i < THREADS; i++)
	{
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
		CHECK_EQ(wrong[i], 0);
	}
	return check_done("test_blas");
}
