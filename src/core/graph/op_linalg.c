/*
 * op_linalg.c - operations and bytes of linear algebra, by what PyTorch 1.13's
 * dispatcher runs (docs/mdot.md).  Knows no operator by name.
 */
#include "graph/op_linalg.h"

#include <math.h>

#include "graph/op_operands.h"

/* ---------- operands ---------- */

static int
operand_count(const pm_node *n)
{
	return n->n_inputs + n->n_weights + n->n_consts;
}

/* Operand k of n: its inputs, then its weights, then its constants. */
static pm_operand
operand_at(const pm_graph *g, const pm_node *n, int k)
{
	pm_operand	o = {NULL, -1, -1, false, false};

	if (k < n->n_inputs)
		return pm_input_operand(g, n, k);
	k -= n->n_inputs;
	o.weight = k < n->n_weights;
	o.grad = o.weight && !n->attrs.frozen;
	o.shape = o.weight ? &n->weights[k] : &n->consts[k - n->n_weights];
	return o;
}

static double
largest_count(const pm_graph *g, const pm_node *n, int64_t batch)
{
	double		most = 0;

	for (int k = 0; k < operand_count(n); k++)
	{
		pm_operand	o = operand_at(g, n, k);

		most = fmax(most, pm_count_at(&o, batch));
	}
	return most;
}

/* Size of the last dimension of the first operand. */
static double
row_of_first(const pm_graph *g, const pm_node *n, int64_t batch)
{
	pm_operand	o = {NULL, -1, -1, false, false};

	if (operand_count(n) > 0)
		o = operand_at(g, n, 0);
	return pm_dim_at(&o, -1, batch);
}

/* Whether o is one square matrix or more, of as many rows as the result has, if that has any. */
static bool
is_square(const pm_node *n, const pm_operand *o)
{
	pm_operand	out = pm_output_operand(n);
	double		side = pm_dim_at(o, -1, 1);

	return o->shape->rank >= 2 && pm_dim_at(o, -2, 1) == side &&
		(n->shape.rank < 1 || pm_dim_at(&out, -1, 1) == side || pm_dim_at(&out, -2, 1) == side || n->shape.rank == o->shape->rank - 2);
}

/* Which operand has the matrices that are factored; the first one if none is square. */
static int
factored(const pm_graph *g, const pm_node *n)
{
	for (int k = 0; k < operand_count(n); k++)
	{
		pm_operand	o = operand_at(g, n, k);

		if (is_square(n, &o))
			return k;
	}
	return 0;
}

double
pm_linalg_factored(const pm_graph *g, const pm_node *n, int64_t batch)
{
	pm_operand	o = {NULL, -1, -1, false, false};

	if (operand_count(n) > 0)
		o = operand_at(g, n, factored(g, n));
	return pm_count_at(&o, batch);
}

/* Rows of a matrix that is factored. */
static double
side_of(const pm_graph *g, const pm_node *n)
{
	pm_operand	o = {NULL, -1, -1, false, false};

	if (operand_count(n) > 0)
		o = operand_at(g, n, factored(g, n));
	return pm_dim_at(&o, -1, 1);
}

double
pm_sparse_count(const pm_graph *g, const pm_node *n, int64_t batch)
{
	int			all = operand_count(n);

	for (int k = 0; k < all; k++)
	{
		pm_operand	o = operand_at(g, n, (n->n_inputs + k) % all);

		if (o.shape->rank == 1)
			return pm_count_at(&o, batch);
	}
	return 0;
}

/* Columns of the output: 1 of a vector. */
static double
columns_of(const pm_node *n, int64_t batch)
{
	pm_operand	out = pm_output_operand(n);
	double		rows = pm_dim_at(&out, 0, batch);

	return rows > 0 ? pm_count_at(&out, batch) / rows : 0;
}

double
pm_affine_base(const pm_graph *g, const pm_node *n, int64_t batch)
{
	double		row = row_of_first(g, n, 1);

	return row > 1 ? pm_node_count(n, batch) * row / (row - 1) : 0;
}

/* ---------- forward ---------- */

/* Multiplications and additions that a solution takes for each of its numbers: a row of one triangle, or of both. */
static double
solving(const pm_graph *g, const pm_node *n, const pm_op_row *row)
{
	return (row->factor > 0 ? 2 : 1) * side_of(g, n);
}

double
pm_linalg_flops(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch)
{
	double		f = row->factor;
	double		cubes;

	if (row->flops == PM_FLOPS_LARGEST)
		return f * largest_count(g, n, batch);
	if (row->flops == PM_FLOPS_ROWS)
		return f * pm_node_count(n, batch) * row_of_first(g, n, 1);
	if (row->flops == PM_FLOPS_SPARSE)
		return f * pm_sparse_count(g, n, batch) * columns_of(n, batch);
	cubes = f / 3 * pm_linalg_factored(g, n, batch) * side_of(g, n);
	return row->flops == PM_FLOPS_SOLVE ? cubes + pm_node_count(n, batch) * solving(g, n, row) : cubes;
}

/* ---------- backward ---------- */

/* The other operand times the gradient: multiplications, whose products are summed if the operand is smaller than the largest. */
static void
vectors_back(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, double forward, pm_linalg_work *w)
{
	double		most = largest_count(g, n, batch);

	for (int k = 0; k < operand_count(n); k++)
	{
		pm_operand	o = operand_at(g, n, k);

		if (!o.grad)
			continue;
		w->flops += (pm_count_at(&o, batch) < most ? 2 : 1) * most;
		w->bytes += forward;
		w->kernels += row->kernels_back;
	}
}

/* linalg_solve_backward: the transposed system, and for the matrix a product, whose sign changes; of a triangle, the other one is cleared. */
static void
solve_back(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, double size, pm_linalg_work *w)
{
	double		squares = pm_linalg_factored(g, n, batch);
	double		solved = pm_node_count(n, batch);
	double		both = squares + 2 * solved;
	pm_operand	matrix = operand_at(g, n, factored(g, n));
	bool		triangle = row->factor == 0;

	w->flops += solved * solving(g, n, row);
	w->bytes += size * both;
	w->kernels += 1;
	if (!matrix.grad)
		return;
	w->flops += 2 * solved * side_of(g, n) + squares;
	w->bytes += size * (both + (triangle ? 4 : 2) * squares);
	w->kernels += row->kernels_back - 1;
}

/* Passes over matrices as large as those that are factored, and multiplications with an addition, in cubes of their side. */
static void
squares_back(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, double passes, double cubes, double size, pm_linalg_work *w)
{
	double		squares = pm_linalg_factored(g, n, batch);

	w->flops += 2 * cubes * squares * side_of(g, n);
	w->bytes += passes * size * squares;
	w->kernels += row->kernels_back;
}

pm_linalg_work
pm_linalg_back(const pm_graph *g, const pm_node *n, const pm_op_row *row, int64_t batch, double size, double forward)
{
	pm_linalg_work w = {0};

	if (operand_count(n) == 0)
		return w;
	switch ((pm_back_rule) row->back)
	{
		case PM_BACK_VECTORS:
			vectors_back(g, n, row, batch, forward, &w);
			break;
		case PM_BACK_SOLVE:
			solve_back(g, n, row, batch, size, &w);
			break;
		case PM_BACK_INVERSE:
			/* two products and a change of sign */
			squares_back(g, n, row, batch, 2 * 3 + 2, 2, size, &w);
			break;
		case PM_BACK_CHOLESKY:
			/* a product, two triangles cleared, a sum, a scale, and two triangular systems of half of a product each */
			squares_back(g, n, row, batch, 3 * 3 + 2 * 2 + 3 + 2, 2, size, &w);
			break;
		case PM_BACK_DET:
			/* a system whose right side is diagonal; where it may be singular, another diagonal and a sum before it */
			squares_back(g, n, row, batch, 2 * row->kernels_back, 1, size, &w);
			break;
		default:
			break;
	}
	return w;
}
