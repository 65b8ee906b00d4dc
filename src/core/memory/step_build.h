/*
 * step_build.h - a step during its simulation: declarations that the files of
 * this folder share.
 */
#ifndef PM_STEP_BUILD_H
#define PM_STEP_BUILD_H

#include "graph/attention.h"
#include "memory/events.h"
#include "memory/keeps.h"

#define PM_NO_TENSOR	(-1)

/* A list of tensors that a node holds; links are into pm_step_build.links. */
typedef struct pm_tensor_link
{
	int32_t		tensor;
	int32_t		next;			/* -1: the last */
} pm_tensor_link;

/* The forms in which a compiled step has the output of a node. */
typedef enum pm_compiled_form
{
	PM_FORM_OUTPUT,
	PM_FORM_CAST,				/* in 2 bytes where it has 4, in 4 where it has 2 */
	PM_FORM_MASK,				/* where it is above 0 */
	PM_N_FORMS
} pm_compiled_form;

typedef struct pm_compiled
{
	uint8_t		lives;			/* bits of the forms that a kernel writes */
	int32_t		until[PM_N_FORMS];	/* the node whose backward pass is the last that reads the form, -1: it is not kept */
	int32_t		cast;			/* tensor of the form PM_FORM_CAST, until its last reader is done */
	int32_t		cast_reader;	/* the last, -1: none */
	int32_t		root;			/* node whose memory a view shows */
} pm_compiled;

typedef struct pm_step_build
{
	const pm_graph *g;
	const pm_step_options *o;
	pm_arena   *arena;
	pm_status  *st;
	pm_step    *s;
	pm_keeps   *keeps;			/* [pm_op_count()] */
	int			tensor_room,
				event_room,
				link_room,
				n_links;
	int32_t    *refs;			/* [tensor_room] */
	pm_tensor_link *links;
	bool		failed;			/* out of memory */
	int32_t		now;			/* node that runs */
	int			input_op;		/* the operator "Input" */

	/* by node */
	int32_t    *storage;		/* tensor that holds its output */
	uint8_t    *size;			/* bytes of an element of it */
	uint8_t    *fused;			/* PM_FUSED_...: part of an attention that is one kernel */
	uint8_t    *attention;		/* PM_FUSED_...: part of any attention, one kernel or not */
	int32_t    *last_use;		/* node after which the forward pass does not need it */
	int32_t    *expiring;		/* first node whose last_use this is, then next_expiring */
	int32_t    *next_expiring;
	int32_t    *saved;			/* links: what autograd keeps */
	int32_t    *flow;			/* links: gradients of its output that have arrived */
	int32_t    *cast;			/* links: its weights in 2 bytes */
	int32_t    *stays;			/* its output, which is kept until the segment runs again; PM_NO_TENSOR: none is */

	/* by node, where attention runs again; core NULL: it does not */
	int32_t    *core;			/* the last product of the attention that a node is of, -1: of none */
	int32_t    *core_from;		/* of that product: the product of query and key */
	int32_t    *core_reads;		/* of that product, links: what the attention reads of other nodes */
	bool		core_runs_again;	/* now */

	pm_compiled *compiled;		/* by node; NULL: the step is not compiled */
} pm_step_build;

/* A new tensor with one holder. Sizes are bytes. */
int32_t		pm_step_new(pm_step_build *b, pm_memory_role role, double fixed, double per);
/* The same for `count` elements a sample when by_batch, else in all. */
int32_t		pm_step_new_count(pm_step_build *b, pm_memory_role role, double count, bool by_batch, int size);
/* The same for as many elements as the output of a node; none when it is inside a fused kernel. */
int32_t		pm_step_new_like(pm_step_build *b, pm_memory_role role, int node, int size);
void		pm_step_hold(pm_step_build *b, int32_t t);
void		pm_step_drop(pm_step_build *b, int32_t t);
/* Put t into the list that starts at *head; the list takes the caller's hold over. */
void		pm_step_link(pm_step_build *b, int32_t *head, int32_t t);
/* Drop every tensor of a list and empty it. */
void		pm_step_drop_list(pm_step_build *b, int32_t *head);

/* Bytes of an element of a parameter, and of what runs in the narrower type of the step. */
int			pm_step_param_size(const pm_step_build *b);
int			pm_step_half_size(const pm_step_build *b);
/* Bytes of an element that operator n computes in; for what autocast leaves alone, of its output. */
int			pm_step_compute_size(const pm_step_build *b, int node);
bool		pm_step_is_product(const pm_node *n);
/* Whether the node only passes its input on. */
bool		pm_step_is_view(const pm_node *n);

/* Nodes [from, to) run forward; keeping: autograd saves what it needs. */
void		pm_step_forward(pm_step_build *b, int from, int to, bool keeping);
/* Nodes [from, to) in reverse. */
void		pm_step_backward(pm_step_build *b, int from, int to);
/* A gradient of p's output arrives; takes the caller's hold of t over. */
void		pm_step_contribute(pm_step_build *b, int p, int32_t t);

/* Note which of all attentions run again (step_core.c). PM_ERR_MEMORY. */
pm_code		pm_step_find_cores(pm_step_build *b, const pm_attention *found, int n);
/* Hold what node i, which is of an attention, reads of other nodes, until that has run again. */
void		pm_step_keep_core_reads(pm_step_build *b, int i);
/* Run the attention again whose last product is `end`, now keeping what its backward pass needs. */
void		pm_step_run_core_again(pm_step_build *b, int end);

/* Choose what a compiled step writes and keeps (step_compiled.c). PM_ERR_MEMORY, PM_CANCELLED. */
pm_code		pm_step_compile(pm_step_build *b);
/* Whether operator i is a part of a kernel with others; never, where the step is not compiled. */
bool		pm_step_is_fused(const pm_step_build *b, int i);
/* The output of node i, in the forms that are written; what the backward pass reads of it; and casts that only i reads still. */
void		pm_step_write_compiled(pm_step_build *b, int i);
void		pm_step_keep_compiled(pm_step_build *b, int i);
void		pm_step_drop_casts(pm_step_build *b, int i);
/* Scratch memory in which kernels of a compiled step are tried, PM_NO_TENSOR where there are none that are. */
int32_t		pm_step_tune(pm_step_build *b);

/* Fill b->size[i], when those of its inputs are there. */
void		pm_step_find_size(pm_step_build *b, int i);
/* Whether an operand other than number k needs a gradient. */
bool		pm_step_partner_needs(const pm_graph *g, const pm_node *n, int k);

/* Whether a node is a convolution whose kernel is a single element that takes every position. */
bool		pm_step_is_pointwise(const pm_node *n);
/* Whether a convolution works on copies of its data, kernel and result; false but on a CPU. */
bool		pm_step_is_blocked(const pm_step_build *b, int node);
/* Such a copy of the output of a node, PM_NO_TENSOR where oneDNN reads it as it is; and of the kernel of a node. */
int32_t		pm_step_block_of(pm_step_build *b, int node);
int32_t		pm_step_block_of_kernel(pm_step_build *b, int node);

/*
 * The segments that are run again with checkpoints: of the cuts of the graph that
 * a single tensor crosses, those with which the checkpoints and the largest segment
 * take least.  Returns n, how many segments: number i has nodes [cuts[i], cuts[i + 1]),
 * and cuts[n] is n_nodes. *cuts is in the arena; NULL when there is no memory.
 */
int			pm_step_segments(const pm_step_build *b, int32_t **cuts);

#endif
