/*
 * op_linalg.h - the work of linear algebra beside products of dense matrices:
 * products with a vector or a sparse matrix, and matrices that are factored.
 */
#ifndef PM_OP_LINALG_H
#define PM_OP_LINALG_H

#include "graph/graph.h"
#include "graph/op_catalogue.h"

/* FLOPs forward, for PM_FLOPS_LARGEST, PM_FLOPS_ROWS, PM_FLOPS_SPARSE, PM_FLOPS_CUBES and PM_FLOPS_SOLVE. */
double		pm_linalg_flops(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch);

/* Numbers of the matrices that n factors, of all samples together. */
double		pm_linalg_factored(const pm_graph *g, const pm_node *n, int64_t batch);

/* Numbers that a sparse matrix stores: elements of its first operand of one dimension, weights and constants before inputs. */
double		pm_sparse_count(const pm_graph *g, const pm_node *n, int64_t batch);

/* Numbers of the positions that an affine grid is computed from, each with a one behind it. */
double		pm_affine_base(const pm_graph *g, const pm_node *n, int64_t batch);

typedef struct pm_linalg_work
{
	double		flops;
	double		bytes;
	double		kernels;
} pm_linalg_work;

/*
 * The backward pass, for PM_BACK_VECTORS, PM_BACK_INVERSE, PM_BACK_CHOLESKY, PM_BACK_SOLVE and PM_BACK_DET.  size: bytes of a
 * number; forward: those that the forward pass moves.
 */
pm_linalg_work pm_linalg_back(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, double size, double forward);

#endif
