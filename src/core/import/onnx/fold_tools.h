/*
 * fold_tools.h - for patterns: searches in a model, and replaces nodes. Private to
 * the importer.
 */
#ifndef PM_ONNX_FOLD_TOOLS_H
#define PM_ONNX_FOLD_TOOLS_H

#include "import/onnx/model.h"

#define OX_MAX_CHAIN	16		/* nodes in a row that only pass on a number or a mask; exporters write one or two */

typedef struct ox_folder
{
	ox_model   *m;
	int		   *reader_at;		/* [n_values + 1] offsets into reader */
	int		   *reader;			/* nodes that read a value, in order */
	uint8_t    *packing;		/* [n_nodes] steps that mark_packing() had left when it reached the node; 0: it did not */
} ox_folder;

/* The node that makes a value; NULL: none, or value is -1. */
ox_node    *ox_producer(const ox_folder *f, int value);
/* Whether n, which may be NULL, is a known operator of this name. */
bool		ox_is_op(const ox_node *n, const char *op);
/* The node that makes input k of n, if it is this operator; else NULL. */
ox_node    *ox_made_by(const ox_folder *f, const ox_node *n, int k, const char *op);
/* The node of this operator that makes input 0 or 1 of n, and *other: the other input; NULL: neither. */
ox_node    *ox_either_input(const ox_folder *f, const ox_node *n, const char *op, int *other);
/* Whether n has exactly one reader, and makes no output of the model. */
bool		ox_single(const ox_folder *f, const ox_node *n);
/* The only reader of n's first output, if it is this operator (op NULL: any); else NULL. */
ox_node    *ox_only_reader(const ox_folder *f, const ox_node *n, const char *op);
/* The number that a value is; NaN: it is no single number, or not known. */
double		ox_number(const ox_folder *f, int value);
/* Whether two numbers are equal within the precision of float32. */
bool		ox_near(double a, double b);
/* Whether one of the two inputs of n is this number; *other: the other input. */
bool		ox_with_number(const ox_folder *f, const ox_node *n, double want, int *other);
/* The parameter that a value is, possibly with added dimensions of size 1: its value number; -1: it is none. */
int			ox_parameter(const ox_folder *f, int value);
/* Remove n. */
void		ox_kill(ox_folder *f, ox_node *n);
/* Let n be the operator `name` with the inputs in[count]; its outputs stay. PM_ERR_MEMORY. */
pm_code		ox_become(ox_folder *f, ox_node *n, const char *name, int count, const int *in);
/* Let n read another value as its first input; its operator stays. */
void		ox_become_same(ox_folder *f, ox_node *n, int value);

#endif
