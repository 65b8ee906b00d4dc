/*
 * csv.h - measurements in CSV files, for the figures of docs/scaling.md.
 *
 * Quotes around a field are taken off; a file that does not fit ends the program.
 */
#ifndef SCALING_CSV_H
#define SCALING_CSV_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CSV_MAX_COLUMNS 32

typedef struct csv
{
	int			n;				/* rows */
	int			n_columns;
	char	   *column[CSV_MAX_COLUMNS];
	char	  **field;			/* [n * n_columns] */
} csv;

static inline void
csv_die(const char *what, const char *path)
{
	fprintf(stderr, "%s: %s\n", path, what);
	exit(1);
}

static inline char *
csv_line(FILE *f)
{
	static size_t size = 0;
	static char *line = NULL;

	if (getline(&line, &size, f) < 0)
		return NULL;
	line[strcspn(line, "\r\n")] = '\0';
	return line;
}

/* The next field, which is ended where it stands; NULL behind the last. */
static inline char *
csv_field(char **line)
{
	char	   *s = *line;
	char	   *end;

	if (s == NULL)
		return NULL;
	if (*s != '"')
		return strsep(line, ",");
	end = strchr(++s, '"');
	if (end == NULL)
		return NULL;
	*end = '\0';
	*line = end[1] == ',' ? end + 2 : NULL;
	return s;
}

static inline csv
csv_read(const char *path)
{
	FILE	   *f = fopen(path, "r");
	csv			c = {0};
	char	   *line;
	int			room = 0;

	if (f == NULL)
		csv_die("cannot be opened", path);
	for (int row = -1; (line = csv_line(f)) != NULL; row++)
	{
		char	   *field;
		int			k = 0;

		if (row >= room)
		{
			room = 2 * room + 1024;
			c.field = realloc(c.field, (size_t) room * c.n_columns * sizeof(char *));
		}
		for (; (field = csv_field(&line)) != NULL; k++)
			if (k >= CSV_MAX_COLUMNS)
				csv_die("too many columns", path);
			else if (row < 0)
				c.column[k] = strdup(field);
			else if (k < c.n_columns)
				c.field[(size_t) row * c.n_columns + k] = strdup(field);
		if (row < 0)
			c.n_columns = k;
		else if (k < c.n_columns)
			csv_die("a row is too short", path);
		c.n = row + 1;
	}
	fclose(f);
	return c;
}

static inline const char *
csv_text(const csv *c, int row, const char *column)
{
	for (int k = 0; k < c->n_columns; k++)
		if (strcmp(c->column[k], column) == 0)
			return c->field[(size_t) row * c->n_columns + k];
	csv_die("no such column", column);
	return NULL;
}

/* NaN for an empty field. */
static inline double
csv_number(const csv *c, int row, const char *column)
{
	const char *s = csv_text(c, row, column);

	return *s == '\0' ? NAN : atof(s);
}

/* The number behind "name=" in a field of the form a=1;b=2; NaN: not there. */
static inline double
csv_option(const csv *c, int row, const char *column, const char *name)
{
	const char *s = csv_text(c, row, column);
	size_t		len = strlen(name);

	for (; s != NULL; s = strchr(s, ';') ? strchr(s, ';') + 1 : NULL)
		if (strncmp(s, name, len) == 0 && s[len] == '=')
			return atof(s + len + 1);
	return NAN;
}

#endif
