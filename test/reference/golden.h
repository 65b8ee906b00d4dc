/*
 * golden.h - the records of golden.txt, read by test/core/test_golden.c.
 *
 * A line is a record: a name, how many values, the values.  Lines that begin
 * with # are comments.  Parameters are whole multiples of 1/4096, so that they
 * are short and exact; of a gradient the first value is the largest magnitude
 * in the tensor and the others are in units of 1e-9 of it.
 */
#ifndef GOLDEN_H
#define GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN_UNIT		4096.0
#define GOLDEN_STEPS	1e9
#define GOLDEN_SAMPLES	2
#define GOLDEN_CASES	2

typedef struct golden_record
{
	char		name[64];
	int			n;
	double	   *v;
} golden_record;

typedef struct golden
{
	golden_record *records;
	int			n;
} golden;

/* False when the file cannot be read or a record is cut short. */
static inline int
golden_read(golden *g, const char *path)
{
	FILE	   *f = fopen(path, "r");
	int			ok = f != NULL;
	golden_record r;

	memset(g, 0, sizeof(*g));
	while (ok && fscanf(f, "%63s", r.name) == 1)
	{
		if (r.name[0] == '#')
		{
			ok = fscanf(f, "%*[^\n]") != EOF;
			continue;
		}
		ok = fscanf(f, "%d", &r.n) == 1 && r.n >= 0;
		r.v = ok ? calloc((size_t) r.n + 1, sizeof(double)) : NULL;
		for (int i = 0; ok && i < r.n; i++)
			ok = fscanf(f, "%lf", &r.v[i]) == 1;
		g->records = realloc(g->records, (g->n + 1) * sizeof(r));
		g->records[g->n++] = r;
	}
	if (f != NULL)
		fclose(f);
	return ok && g->n > 0;
}

static inline void
golden_free(golden *g)
{
	for (int i = 0; i < g->n; i++)
		free(g->records[i].v);
	free(g->records);
}

/* NULL when there is none. */
static inline const golden_record *
golden_find(const golden *g, const char *name)
{
	for (int i = 0; i < g->n; i++)
		if (strcmp(g->records[i].name, name) == 0)
			return &g->records[i];
	return NULL;
}

#endif
