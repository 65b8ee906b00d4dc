/*
 * emit.h - for rules: writes nodes of the new graph. Private to the importer.
 */
#ifndef PM_ONNX_EMIT_H
#define PM_ONNX_EMIT_H

#include "import/onnx/walk.h"

/*
 * Write a node `op` that reads in[n] (NULL: absent) and makes *out, whose shape and
 * dtype are set.  *out gets contiguous strides, which the caller may then change.
 * view: the node moves no data.  If all inputs are static and the result is small,
 * no node is written, and *out is static with unknown values.  ox_last() is the new
 * node.  False: an error, or no memory.
 */
bool		ox_emit(ox_run *r, const char *op, int n, const ox_t *const *in, ox_t *out, bool view);
/* Write a node for an input of the model: *out, whose shape is set. False: an error, or no memory. */
bool		ox_emit_input(ox_run *r, ox_t *out);
/* The node that makes *out, if it is the last one that was written; else NULL. */
ox_op	   *ox_last(ox_run *r, const ox_t *out);

/*
 * Add an attribute to a node, of whole numbers, of real numbers, or a text, which must stay.  Nothing happens if op is NULL, or has
 * OX_MAX_KEYS attributes, or if a single real number is not finite.  Without memory, r->failed becomes true.
 */
void		ox_key_ints(ox_run *r, ox_op *op, const char *key, int n, const int64_t *v);
void		ox_key_int(ox_run *r, ox_op *op, const char *key, int64_t v);
void		ox_key_real(ox_run *r, ox_op *op, const char *key, double v);
/* The numbers before the first that is not finite. */
void		ox_key_reals(ox_run *r, ox_op *op, const char *key, int n, const double *v);
void		ox_key_text(ox_run *r, ox_op *op, const char *key, const char *v);

#endif
