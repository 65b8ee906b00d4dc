/*
 * arrays.c - arrays of one dimension, by their elements.
 */
#include "postgres.h"

#include "utils/lsyscache.h"

#include "arrays.h"

void
pm_array_read(ArrayType *array, Datum **v, bool **nulls, int *n)
{
	Oid			type = ARR_ELEMTYPE(array);
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(array, type, length, by_value, align, v, nulls, n);
}

Datum
pm_array_make(Datum *v, int n, Oid type)
{
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	return PointerGetDatum(construct_array(v, n, type, length, by_value, align));
}
