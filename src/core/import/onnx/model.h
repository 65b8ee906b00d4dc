/*
 * model.h - a decoded model: values and nodes by number.  Private to the importer.
 *
 * Names from the file are for messages and look-ups only.  Numbers of values and
 * nodes were made by decode.c, so they can be used as indexes.
 */
#ifndef PM_ONNX_MODEL_H
#define PM_ONNX_MODEL_H

#include "graph/graph.h"
#include "import/onnx/options.h"
#include "import/onnx/onnx.pb-c.h"

/* Element types, as ONNX numbers them. */
enum
{
	OX_FLOAT = 1, OX_UINT8 = 2, OX_INT8 = 3, OX_UINT16 = 4, OX_INT16 = 5, OX_INT32 = 6, OX_INT64 = 7, OX_STRING = 8,
	OX_BOOL = 9, OX_FLOAT16 = 10, OX_DOUBLE = 11, OX_UINT32 = 12, OX_UINT64 = 13, OX_BFLOAT16 = 16
};

#define OX_MAX_IO		4096	/* inputs or outputs of one node; Concat may have many */
#define OX_MAX_ATTR		256		/* attributes of one node, which are searched one by one */
#define OX_MAX_CONST	4096	/* elements of a constant whose values are kept */
#define OX_BATCH_DIM	(-2)	/* declared dimension that is the batch */
#define OX_ANY_DIM		(-1)	/* declared dimension that is not known */
#define OX_PACKED		(-1)	/* ox_folded.n of a Concat that does nothing but rearrange parameters */

struct ox_rule;

/* A tensor of the model, whoever makes it. */
typedef struct ox_value
{
	const char *name;
	int			producer;		/* node, -1: none */
	bool		is_input;		/* a real input, not a weight in its place */
	bool		is_init;
	bool		is_output;
	bool		is_constant;	/* an initializer that is not trained */
	int			uses;			/* by nodes that are alive */
	int			dtype;			/* 0: not known */
	bool		has_shape;
	pm_shape	shape;			/* declared, or of the initializer; may hold OX_*_DIM */
	double	   *data;			/* of a small initializer, else NULL */
} ox_value;

/* Attributes of a node that fold.c made. */
typedef struct ox_folded
{
	int			axis;
	int			n;
	int64_t		v[PM_MAX_RANK * 2];
} ox_folded;

typedef struct ox_node
{
	const char *op;
	const char *domain;
	const char *name;
	const struct ox_rule *rule; /* NULL: not known */
	int			n_in;
	int		   *in;				/* values, -1: absent */
	int			n_out;
	int		   *out;
	size_t		n_attr;
	PmOnnx__Attribute **attr;
	bool		dead;			/* folded into another one */
	ox_folded	folded;
} ox_node;

typedef struct ox_model
{
	pm_arena   *arena;
	pm_status  *st;
	const pm_onnx_options *options;
	unsigned	asked;			/* calls of ox_stopped() */
	int			opset;
	const char *producer;
	const char *graph_name;
	int			n_values;
	ox_value   *values;
	int			n_nodes;
	ox_node    *nodes;
	int			n_inputs;
	int		   *inputs;			/* values with is_input, in order */
	bool		fixed;			/* the batch is a fixed number, base_batch */
	int64_t		base_batch;
	const char *batch_name;		/* dim_param of the batch, "" when it has none */
} ox_model;

/* Copy a name for messages to buf: printable ASCII, at most 63 bytes. Returns buf. */
const char *ox_shown(const char *name, char buf[64]);
/* An error about node n: "node "x" (Conv of "a", "b"): what". Returns PM_ERR_INPUT. */
pm_code		ox_fail(const ox_model *m, const ox_node *n, const char *fmt,...) PM_PRINTF(3, 4);

/*
 * To be called in every round of a loop.  True: the hooks of the arena want to stop, and m->st says so.  They are asked in every
 * PM_POLL_EVERY-th call.
 */
bool		ox_stopped(ox_model *m);

#endif
