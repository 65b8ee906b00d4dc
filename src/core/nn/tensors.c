/*
 * tensors.c - the list of a network's parameters.
 */
#include "nn/tensors.h"

#include <stdio.h>
#include <string.h>

#include "nn/nn.h"

#define TABLE_START		0.5		/* numbers of a table start in [-0.5, 0.5) */

void
pm_tensors_init(pm_tensors *t, pm_arena *a)
{
	*t = (pm_tensors) {.arena = a, .layer = -1};
}

void
pm_tensors_enter(pm_tensors *t, const char *part, int layer)
{
	t->part = part;
	t->layer = layer;
}

static bool
make_room(pm_tensors *t)
{
	int			room = t->room > 0 ? 2 * t->room : 64;
	pm_tensor  *list = PM_LONGER(t->arena, pm_tensor, t->list, t->n, room);

	if (list == NULL)
		return false;
	t->list = list;
	t->room = room;
	return true;
}

size_t
pm_tensors_add(pm_tensors *t, const char *name, int rows, int cols, pm_tensor_start start)
{
	size_t		at = t->n_params;

	t->n_params += (size_t) rows * cols;
	if (t->arena == NULL || t->failed)
		return at;
	if (t->n == t->room && !make_room(t))
		t->failed = true;
	else
		t->list[t->n++] = (pm_tensor) {t->part, name, t->layer, at, rows, cols, start};
	return at;
}

void *
pm_tensors_layers(pm_tensors *t, size_t count, size_t size)
{
	void	   *layers = t->arena != NULL ? pm_alloc(t->arena, count, size) : NULL;

	t->failed = t->failed || (t->arena != NULL && layers == NULL);
	return layers;
}

void
pm_tensor_print(const pm_tensor *t, char *buf, size_t size)
{
	if (t->part == NULL)
		snprintf(buf, size, "%s", t->name);
	else if (t->layer < 0)
		snprintf(buf, size, "%s_%s", t->part, t->name);
	else
		snprintf(buf, size, "%s_%s.%d", t->part, t->name, t->layer);
}

static size_t
size_of(const pm_tensor *t)
{
	return (size_t) t->rows * t->cols;
}

void
pm_tensors_start(const pm_tensors *t, pm_real *w, pm_rng *rng)
{
	memset(w, 0, t->n_params * sizeof(pm_real));
	for (int i = 0; i < t->n; i++)
	{
		const pm_tensor *x = &t->list[i];

		if (x->start == PM_START_XAVIER)
			pm_init_xavier(w + x->at, x->rows, x->cols, 1, rng);
		for (size_t k = 0; k < size_of(x); k++)
		{
			if (x->start == PM_START_ONE)
				w[x->at + k] = 1;
			else if (x->start == PM_START_TABLE)
				w[x->at + k] = (pm_real) (TABLE_START * (2 * pm_rng_uniform(rng) - 1));
		}
	}
}

void
pm_tensors_decay(const pm_tensors *t, uint8_t *decay)
{
	memset(decay, 0, t->n_params);
	for (int i = 0; i < t->n; i++)
	{
		const pm_tensor *x = &t->list[i];

		if (x->rows > 1 && (x->start == PM_START_XAVIER || x->start == PM_START_ZERO))
			memset(decay + x->at, 1, size_of(x));
	}
}

void
pm_tensors_copy(const pm_tensors *t, pm_real *w, const pm_tensors *from, const pm_real *from_w)
{
	for (int i = 0; i < from->n; i++)
		memcpy(w + t->list[i].at, from_w + from->list[i].at, size_of(&from->list[i]) * sizeof(pm_real));
}
