/*
 * layers.h - the operators by which the layers of a transformer are told.
 */
#ifndef PM_LAYERS_H
#define PM_LAYERS_H

#include "graph/graph.h"

/* Whether a node is the one operator of its layer that attends: softmax over the scores (not of a router of experts), or all of the attention in one. */
bool		pm_node_attends(const pm_node *n);

/* Whether it is a norm of transformers: LayerNorm or RMSNorm. */
bool		pm_node_is_norm(const pm_node *n);

/* What a norm is of. */
#define PM_NORM_NONE		0		/* no norm */
#define PM_NORM_OF_LAYER	1		/* what layers hand on */
#define PM_NORM_BETWEEN		2		/* what a product with weights has just put out, for another one: so of layers that add nothing, and of the few numbers of latent attention */
#define PM_NORM_OF_PRODUCT	3		/* the same, for something else: so of queries and keys, which may be wider than what layers hand on */

/* norms[n_nodes]: of each node, one of these. */
void		pm_norms_find(const pm_graph *g, uint8_t *norms);

/* Layers of a transformer: operators that attend; 0: none, or no norm, by which they are sized. */
int			pm_layers_of(const pm_graph *g);

#endif
