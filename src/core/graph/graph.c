/*
 * graph.c - nodes with their defaults, and counts of elements.
 */
#include "graph/graph.h"

#include <math.h>
#include <string.h>

void
pm_node_init(pm_node *n)
{
	memset(n, 0, sizeof(*n));
	n->batch_dim = -1;
	n->flops = NAN;
	n->flops0 = NAN;
	for (int i = 0; i < PM_MAX_SPATIAL; i++)
	{
		n->attrs.stride[i] = 1;
		n->attrs.dilation[i] = 1;
	}
	n->attrs.group = 1;
	n->attrs.axis = INT64_MIN;
	n->attrs.num_layers = 1;
	n->attrs.tied = -1;
	n->attrs.alpha = NAN;
}

double
pm_shape_count(const pm_shape *s)
{
	double		count = 1;

	for (int i = 0; i < s->rank; i++)
		count *= (double) s->dim[i];
	return count;
}

double
pm_node_count(const pm_node *n, int64_t batch)
{
	double		count = pm_node_parts(n) * pm_shape_count(&n->shape);

	return n->batch_dim < 0 ? count : count * (double) batch;
}

double
pm_node_count_all(const pm_node *n, int64_t batch)
{
	double		count = 0;

	if (n->n_shapes == 0)
		return pm_node_count(n, batch);
	for (int i = 0; i < n->n_shapes; i++)
		count += pm_node_parts(n) * pm_shape_count(&n->shapes[i]);
	return n->batch_dim < 0 ? count : count * (double) batch;
}

double
pm_node_params(const pm_node *n)
{
	double		params = 0;

	for (int i = 0; i < n->n_weights; i++)
		if (pm_node_owns(n, i))
			params += pm_shape_count(&n->weights[i]);
	return params;
}
