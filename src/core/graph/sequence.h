/*
 * sequence.h - the operators of a graph in one order, for kinds that read a
 * graph as a sequence.
 */
#ifndef PM_SEQUENCE_H
#define PM_SEQUENCE_H

#include "graph/dag.h"

/*
 * *order, [d->n] in arena a: the operators (indexes into the dag d of g) in a
 * topological order that finishes one branch before it begins the next, as
 * frameworks run them.  Of several branches, the one with the longest way to a
 * sink comes first; then a hash of the operators decides.  So nothing depends on
 * how nodes are numbered.  PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_sequence(const pm_graph *g, const pm_dag *d, pm_arena *a, int32_t **order, pm_status *st);
/* Bytes that pm_sequence() takes from the arena. */
double		pm_sequence_memory(const pm_dag *d);

#endif
