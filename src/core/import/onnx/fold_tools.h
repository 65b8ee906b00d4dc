/*
 * fold_tools.h - for patterns: looking around in a model, and replacing nodes. Private to the importer.
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
	uint8_t    *packing;		/* [n_nodes] steps that mark_packing() had left here, 0: not been */
} ox_folder;

/* The node that makes a value, NULL when none does. */
ox_node    *ox_producer(const ox_folder *f, int value);
/* Whether n, which may be NULL, is a known operator of this name. */
bool		ox_is_op(const ox_node *n, const char *op);
/* The node of this operator that makes input k of n. */
ox_node    *ox_made_by(const ox_folder *f, const ox_node *n, int k, const char *op);
/* Input 0 or 1 of n is made by this operator: the node, and *other is the other input. */
ox_node    *ox_either_input(const ox_folder *f, const ox_node *n, const char *op, int *other);
/* Whether one node alone reads what n makes, and it is no output of the model. */
bool		ox_single(const ox_folder *f, const ox_node *n);
/* The only reader of n's first output, when it is this operator (NULL: any). */
ox_node    *ox_only_reader(const ox_folder *f, const ox_node *n, const char *op);
/* The number that a value is, NaN when it is none or not known. */
double		ox_number(const ox_folder *f, int value);
/* Equal as far as float32 tells. */
bool		ox_near(double a, double b);
/* One of the two inputs is this number; *other is the other one. */
bool		ox_with_number(const ox_folder *f, const ox_node *n, double want, int *other);
/* A parameter, possibly with dimensions of 1 put around it: the parameter's value number, else -1. */
int			ox_parameter(const ox_folder *f, int value);
/* n is no more. */
void		ox_kill(ox_folder *f, ox_node *n);
/* n becomes `name` of in[count]; its outputs stay. */
pm_code		ox_become(ox_folder *f, ox_node *n, const char *name, int count, const int *in);
/* n reads another value as its data, and stays what it is. */
void		ox_become_same(ox_folder *f, ox_node *n, int value);

#endif
