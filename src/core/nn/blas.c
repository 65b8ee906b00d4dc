/*
 * blas.c - matrix products by cblas, and which kernels OpenBLAS runs.
 *
 * Debian's OpenBLAS 0.3.21 does not know CPUs newer than itself and falls back
 * to SSE3 kernels ("Prescott"), five times slower than the right ones.  Any
 * value of OPENBLAS_CORETYPE that it does not recognise makes it look at the
 * CPU's features instead, which is right on every CPU.  The variable is read
 * by the library's own constructor, so it has to be set before that: in a
 * constructor of higher priority, which works because the library is linked
 * into this module.  A user's own setting is never overridden.
 *
 * Where only the shared library is to be had (PM_BLAS_SHARED), its constructor
 * has run before any code of ours; pm_blas_init() then makes it choose again,
 * if it exports the means to.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* for a mutex that knows its owner */
#endif
#include "nn/blas.h"

#include <cblas.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef PM_BLAS_SHARED
extern void gotoblas_dynamic_quit(void) __attribute__((weak));
extern void gotoblas_dynamic_init(void) __attribute__((weak));
#endif

/* of OpenBLAS; a buffer that is freed stays with the library for the next product */
extern void *blas_memory_alloc(int unused) __attribute__((weak));
extern void blas_memory_free(void *buffer) __attribute__((weak));

#define BUFFER_BYTES	((size_t) 129 << 20)	/* its largest, and what it adds */
#define MAX_BUFFERS		64

/*
 * OpenBLAS has kernels of their own for small products on CPUs with AVX-512.
 * They take scratch memory from malloc, at most the product's m * n * k numbers,
 * and write to it without a look whether they got any: when memory runs out, the
 * backend would die of a segmentation fault.  So the linker hands the calls of
 * malloc and free in this module and in the library to the two functions below
 * (--wrap, src/sources.mk).  Where malloc has nothing, a kernel gets this room,
 * one product at a time; as long as nobody needs it, it costs address space
 * alone.  A shared library calls its own malloc, which this does not reach.
 */
#define SMALL_PRODUCT	1000000 /* m * n * k up to which the library takes those kernels */

static pm_real spare[SMALL_PRODUCT] __attribute__((aligned(64)));
static pthread_mutex_t spare_lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

void	   *__real_malloc(size_t size);
void		__real_free(void *block);
void	   *__wrap_malloc(size_t size) __attribute__((visibility("hidden")));
void		__wrap_free(void *block) __attribute__((visibility("hidden")));

/* NULL: no memory, and more is wanted than a small product can need, or this thread has the spare room already. */
void *
__wrap_malloc(size_t size)
{
	void	   *block = __real_malloc(size);

	if (block == NULL && size <= sizeof(spare) && pthread_mutex_lock(&spare_lock) == 0)
		block = spare;
	return block;
}

void
__wrap_free(void *block)
{
	if (block == spare)
		pthread_mutex_unlock(&spare_lock);
	else
		__real_free(block);
}

__attribute__((constructor(101))) static void
preset_environment(void)
{
	setenv("OPENBLAS_CORETYPE", "auto", 0);
	setenv("OPENBLAS_NUM_THREADS", "1", 0);
}

static bool
cpu_has_avx2(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

static bool
cpu_has_avx512(void)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f");
#else
	return false;
#endif
}

void
pm_blas_init(void)
{
#ifdef PM_BLAS_SHARED
	if (strcmp(openblas_get_corename(), "Prescott") == 0 && cpu_has_avx2() &&
		gotoblas_dynamic_quit != NULL && gotoblas_dynamic_init != NULL)
	{
		setenv("OPENBLAS_CORETYPE", "auto", 0);
		gotoblas_dynamic_quit();
		gotoblas_dynamic_init();
	}
#endif
	openblas_set_num_threads(1);
}

void
pm_blas_describe(pm_blas_info *info)
{
	info->library = openblas_get_config();
	info->kernel = openblas_get_corename();
	info->threads = openblas_get_num_threads();
#ifdef PM_BLAS_SHARED
	info->linked_static = false;
#else
	info->linked_static = true;
#endif
	info->cpu_avx2 = cpu_has_avx2();
	info->cpu_avx512 = cpu_has_avx512();
}

pm_code
pm_blas_reserve(int threads, pm_status *st)
{
	static int	reserved = 0;	/* the library's state, which is that of the process, seen from here */
	void	   *buffer[MAX_BUFFERS];
	size_t		size;
	void	   *room;

	threads = threads > MAX_BUFFERS ? MAX_BUFFERS : threads;
	if (threads <= reserved || blas_memory_alloc == NULL || blas_memory_free == NULL)
		return PM_OK;
	size = (threads - reserved) * BUFFER_BYTES;
	room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return pm_fail(st, PM_ERR_MEMORY, "out of memory: OpenBLAS takes %zu MB of address space for each of %d threads",
					   BUFFER_BYTES >> 20, threads);
	munmap(room, size);
	for (int i = 0; i < threads; i++)
		buffer[i] = blas_memory_alloc(0);
	for (int i = 0; i < threads; i++)
		blas_memory_free(buffer[i]);
	reserved = threads;
	return PM_OK;
}

void
pm_gemm(bool ta, bool tb, int m, int n, int k, pm_real alpha,
		const pm_real *a, int lda, const pm_real *b, int ldb, pm_real beta, pm_real *c, int ldc)
{
	/* The library prints to stderr or worse when a dimension is 0. */
	if (m <= 0 || n <= 0 || k <= 0)
		return;
#ifdef PM_DOUBLE
	cblas_dgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
				m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#else
	cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
				m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
#endif
}
