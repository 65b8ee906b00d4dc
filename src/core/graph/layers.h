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
/*
 * Whether it is a norm of what layers hand on, and not one of what a product with weights has just put out, such as the norms of queries and keys, which
 * may be wider, and of the few numbers of latent attention.
 */
bool		pm_node_norms_layer(const pm_graph *g, const pm_node *n);

/* Layers of a transformer: operators that attend; 0: none, or no norm, by which they are sized. */
int			pm_layers_of(const pm_graph *g);

#endif
