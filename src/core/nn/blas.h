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
	bool		cpu_avx2;		/* the CPU could do better than Prescott */
	bool		cpu_avx512;
} pm_blas_info;

void		pm_blas_describe(pm_blas_info *info);

/* Called once when the library is loaded: one thread, and better kernels where that can still be chosen. */
void		pm_blas_init(void);

/*
 * Have the library obtain its working memory for so many threads now: later, in
 * a product, it would ask the system again and again until it gets it, and no
 * cancel would end that.  What it has it keeps.  PM_ERR_MEMORY: there is none.
 * Before the products of every fit and every predictor that is loaded.
 */
pm_code		pm_blas_reserve(int threads, pm_status *st);

/* C[m,n] = alpha op(A)[m,k] op(B)[k,n] + beta C.  ta/tb: the stored matrix is the transpose.  ld*: row strides. */
void		pm_gemm(bool ta, bool tb, int m, int n, int k, pm_real alpha,
					const pm_real *a, int lda, const pm_real *b, int ldb, pm_real beta, pm_real *c, int ldc);

#endif
