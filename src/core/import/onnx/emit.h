/*
 * emit.h - for rules: nodes of the graph that is made. Private to the importer.
 */
#ifndef PM_ONNX_EMIT_H
#define PM_ONNX_EMIT_H

#include "import/onnx/walk.h"

/*
 * Write a node that reads in[n] (absent ones may be NULL) and makes out, whose
 * shape and dtype are set; strides become contiguous unless already set by the
 * caller after the call.  All operands static and the result small: nothing is
 * written and out is static with unknown values.  The new node is ox_last(r) or NULL.
 */
bool		ox_emit(ox_run *r, const char *op, int n, const ox_t *const *in, ox_t *out, bool view);
/* An input of the model, whose shape is set. */
bool		ox_emit_input(ox_run *r, ox_t *out);
ox_op	   *ox_last(ox_run *r, const ox_t *out);
void		ox_key_ints(ox_run *r, ox_op *op, const char *key, int n, const int64_t *v);
void		ox_key_int(ox_run *r, ox_op *op, const char *key, int64_t v);
void		ox_key_real(ox_run *r, ox_op *op, const char *key, double v);
/* As many of the numbers as are finite. */
void		ox_key_reals(ox_run *r, ox_op *op, const char *key, int n, const double *v);
void		ox_key_text(ox_run *r, ox_op *op, const char *key, const char *v);

#endif
