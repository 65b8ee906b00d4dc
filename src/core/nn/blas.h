/*
 * blas.h - every matrix product of the core goes through here, to OpenBLAS.
 *
 * Row-major.  Only blas.c and solve.c name the library, and only blas.c knows
 * how it is told to use the right kernels and one thread.
 */
#ifndef PM_BLAS_H
#define PM_BLAS_H

#include "base/core.h"

typedef struct pm_blas_info
{
	const char *library;		/* "OpenBLAS 0.3.21 ..." as it describes itself */
	const char *kernel;			/* "SkylakeX", "Haswell", "Prescott" ... */
	int			threads;		/* that a single call may use */
	bool		linked_static;
	bool		cpu_avx2;		/* the CPU has AVX2: kernel "Prescott" would be the wrong choice */
	bool		cpu_avx512;		/* the CPU has AVX-512 */
} pm_blas_info;

/* *info: the library that is in use. */
void		pm_blas_describe(pm_blas_info *info);

/* To be called once when the library is loaded: one thread for each call, and the right kernels if they can still be chosen. */
void		pm_blas_init(void);

/*
 * Let the library allocate its working memory for so many threads now, and keep it.
 * It must be called before every fit and before a loaded predictor is used:
 * without memory, a matrix product would ask the system again and again, and could
 * not be cancelled.  PM_ERR_MEMORY.
 */
pm_code		pm_blas_reserve(int threads, pm_status *st);

/* C[m,n] = alpha op(A)[m,k] op(B)[k,n] + beta C.  ta, tb: op() transposes the stored matrix.  lda, ldb, ldc: row strides. */
void		pm_gemm(bool ta, bool tb, int m, int n, int k, pm_real alpha,
					const pm_real *a, int lda, const pm_real *b, int ldb, pm_real beta, pm_real *c, int ldc);

#endif
