/*
 * tensors.h - the list of a network's parameters.
 *
 * All parameters of a network are one vector of numbers.  A tensor is a matrix
 * in that vector: the list says where it stands, how it starts and whether
 * weight decay applies to it.
 */
#ifndef PM_TENSORS_H
#define PM_TENSORS_H

#include "base/core.h"

/* How a tensor starts.  A table has one row for each value of something (an operator, a relation, a GPU). */
typedef enum pm_tensor_start
{
	PM_START_ZERO, PM_START_ONE, PM_START_XAVIER,
	PM_START_TABLE,				/* uniform in [-0.5, 0.5) */
	PM_START_ZERO_TABLE
} pm_tensor_start;

typedef struct pm_tensor
{
	const char *part;			/* of the network; NULL: the network itself.  Both texts are constants */
	const char *name;
	int			layer;			/* in that part, from 0; -1: the part has no layers */
	size_t		at;				/* offset in the vector of all parameters */
	int			rows,
				cols;
	pm_tensor_start start;
} pm_tensor;

typedef struct pm_tensors
{
	pm_arena   *arena;			/* where the list grows; NULL: tensors are counted and not listed */
	const char *part;			/* of the tensors that are added next */
	int			layer;
	int			n;				/* tensors in list */
	int			room;
	pm_tensor  *list;
	size_t		n_params;		/* numbers of all tensors that were added */
	bool		failed;			/* the arena had no memory: the list is not complete */
} pm_tensors;

/* An empty list in arena a; a NULL: tensors are counted and not listed. */
void		pm_tensors_init(pm_tensors *t, pm_arena *a);
/* The part and the layer of the tensors that are added next; NULL and -1: none. */
void		pm_tensors_enter(pm_tensors *t, const char *part, int layer);
/* Add a tensor [rows, cols]; returns its offset.  After the last one, check t->failed. */
size_t		pm_tensors_add(pm_tensors *t, const char *name, int rows, int cols, pm_tensor_start start);
/*
 * Zeroed memory for `count` layers of `size` bytes, in t's arena.  NULL if
 * parameters are only counted, or without memory (then t->failed is true).
 */
void	   *pm_tensors_layers(pm_tensors *t, size_t count, size_t size);
/* buf[size]: "name", "part_name" or "part_name.layer". For tests. */
void		pm_tensor_print(const pm_tensor *t, char *buf, size_t size);

/* w[n_params]: the numbers that training begins with, drawn from rng. */
void		pm_tensors_start(const pm_tensors *t, pm_real *w, pm_rng *rng);
/* decay[n_params]: 1 in matrices, 0 in tables and in vectors (one row). */
void		pm_tensors_decay(const pm_tensors *t, uint8_t *decay);
/*
 * Copy the weights of a network with the same tensors.  Tables of `from` may
 * have fewer rows; the other rows of w stay as they are.
 */
void		pm_tensors_copy(const pm_tensors *t, pm_real *w, const pm_tensors *from, const pm_real *from_w);

#endif
