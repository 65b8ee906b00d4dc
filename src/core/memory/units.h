/*
 * units.h - the parts of a network whose weights FSDP gathers at a time.
 */
#ifndef PM_UNITS_H
#define PM_UNITS_H

#include "graph/graph.h"

/*
 * Numbers of parameters.  Of a transformer, each layer is a unit, and the root
 * has what is in no layer: embeddings, the last norm and what follows it.  Of
 * other networks each operator is a unit, and the root has nothing.
 */
typedef struct pm_memory_units
{
	double		root;
	double		unit;			/* the largest; its weights are whole while it computes */
	double		pair;			/* the largest two that follow each other: the next one is gathered meanwhile */
} pm_memory_units;

void		pm_memory_units_of(const pm_graph *g, pm_memory_units *units);

#endif
