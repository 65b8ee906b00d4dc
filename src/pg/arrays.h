/*
 * arrays.h - arrays of one dimension, by their elements.
 */
#ifndef PM_PG_ARRAYS_H
#define PM_PG_ARRAYS_H

#include "utils/array.h"

/* The n elements, whatever their type; nulls may be NULL: then a null raises. */
extern void pm_array_read(ArrayType *array, Datum **v, bool **nulls, int *n);

/* An array of v[n] of a type of the server. */
extern Datum pm_array_make(Datum *v, int n, Oid type);

#endif
