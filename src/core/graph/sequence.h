/*
 * sequence.h - the operators of a graph in one order, for kinds that read a
 * graph as a sequence.
 */
#ifndef PM_SEQUENCE_H
#define PM_SEQUENCE_H

#include "graph/dag.h"

/*
 * *order, [d->n]: operators (indexes into the dag d of g) in a topological order that
 * finishes one branch before it begins the next, as frameworks run them.
 * Nothing depends on how nodes are numbered: ties go to the longer way to a
 * sink, then to a hash of the operator and of what it feeds and reads.
 * PM_ERR_MEMORY; PM_CANCELLED.
 */
pm_code		pm_sequence(const pm_graph *g, const pm_dag *d, pm_arena *a, int32_t **order, pm_status *st);
/* Bytes that it takes, order included. */
double		pm_sequence_memory(const pm_dag *d);

#endif
