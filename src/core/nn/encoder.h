/*
 * encoder.h - one pre-LN Transformer encoder layer, forward and backward.
 *
 *   X = X + drop(attention(LN(X)) Wo + bo)
 *   X = X + drop(gelu(LN(X) W1 + b1) W2 + b2)
 *
 * Rows are cut into segments, and attention stays inside a segment.  Two
 * forms: segments of any length with a learned bias per head and relation and
 * a multiplicity per key (graphs), and triples of rows without either (the
 * three dimensions of an operator).
 *
 * A branch that training leaves out for a segment is not computed for it: what
 * a branch keeps for the backward pass holds only the segments that take part,
 * one after the other.
 */
#ifndef PM_ENCODER_H
#define PM_ENCODER_H

#include "nn/nn.h"
#include "nn/tensors.h"
#include "nn/workspace.h"

typedef struct pm_encoder_shape
{
	int			d;				/* width; a multiple of heads */
	int			heads;
	int			ff;				/* width inside the feed-forward part */
	int			relations;		/* rows of the bias table; 0: none */
} pm_encoder_shape;

/* Where the layer's parameters stand in the vector of all parameters. */
typedef struct pm_encoder_params
{
	size_t		ln1_g, ln1_b;	/* [d] */
	size_t		wqkv, bqkv;		/* [d, 3d], [3d]: queries, keys, values side by side */
	size_t		wo, bo;			/* [d, d], [d] */
	size_t		ln2_g, ln2_b;	/* [d] */
	size_t		w1, b1;			/* [d, ff], [ff] */
	size_t		w2, b2;			/* [ff, d], [d] */
	size_t		bias;			/* [heads, relations] */
} pm_encoder_params;

/* One stretch of rows that attend to each other; relation and log_copies may be NULL. */
typedef struct pm_segment
{
	int			start;			/* first row */
	int			n;				/* rows */
	const uint8_t *relation;	/* [n, n] */
	const pm_real *log_copies;	/* [n] added to the logits of each key */
	size_t		probs_at;		/* offset of its [heads, n, n] in pm_encoder_acts.probs */
} pm_segment;

/* list == NULL: triples; of r rows, row i belongs together with rows r/3 + i and 2r/3 + i. */
typedef struct pm_segments
{
	int			n;
	const pm_segment *list;
	size_t		n_probs;		/* total of heads * n * n */
	int			longest;		/* rows of the longest segment */
} pm_segments;

/* Rows of x that take part in a branch. */
typedef struct pm_row_stretch
{
	int			from;			/* first row in x */
	int			at;				/* first row in the branch */
	int			n;				/* rows */
	int			segment;		/* number of their segment; -1: all triples */
} pm_row_stretch;

typedef struct pm_taking_part
{
	int			n;				/* stretches */
	int			rows;			/* of all of them */
	pm_row_stretch *list;		/* room for every segment, at least one */
} pm_taking_part;

/* Activations kept for the backward pass, and scratch. */
typedef struct pm_encoder_acts
{
	pm_taking_part part1, part2;	/* in attention; in the feed-forward branch */
	pm_real    *xhat1, *u1;		/* [r, d] */
	pm_real    *rstd1, *rstd2;	/* [r] */
	pm_real    *qkv;			/* [r, 3d]; for triples [3d, r] */
	pm_real    *probs;			/* [n_probs], or [heads, 9, r/3] for triples */
	pm_real    *mixed;			/* [r, d] attention output before Wo; for triples [d, r] */
	pm_real    *mask1, *mask2;	/* [r, d] dropout; NULL when none */
	pm_real    *xhat2, *u2;		/* [r, d] */
	pm_real    *pre, *act;		/* [r, ff] derivative and value of GELU */
} pm_encoder_acts;

/* Scratch shared by all layers, of r rows at the most. */
typedef struct pm_encoder_scratch
{
	pm_real    *wide;			/* [r, max(3d, ff)] */
	pm_real    *narrow;			/* [r, d] */
	pm_real    *mixed;			/* [r, d] */
	pm_real    *scores;			/* [longest, longest] */
} pm_encoder_scratch;

/* Number of parameters of one layer. For tests. */
size_t		pm_encoder_count(const pm_encoder_shape *s);

/*
 * Add the parameters of layer `layer` of a part of a network to t.  *p gets their
 * offsets; NULL: they are only counted.  branch: how the last product of each of
 * the two branches starts.
 */
void		pm_encoder_add(pm_tensors *t, const char *part, int layer, const pm_encoder_shape *s, pm_tensor_start branch,
						   pm_encoder_params *p);
/*
 * Take the memory for the activations of one layer with r rows in so many segments
 * (triples: 1) from c: *e gets it; NULL: it is only measured.  n_probs: as in
 * pm_segments.  dropout: with room for masks.
 */
void		pm_encoder_take(pm_cursor *c, const pm_encoder_shape *s, size_t segments, size_t r, size_t n_probs, bool dropout,
							pm_encoder_acts *e);

/* What a training pass leaves out, and its random numbers. */
typedef struct pm_encoder_drop
{
	double		unit;			/* probability of zeroing one number of a branch */
	double		path;			/* probability of skipping a branch for a whole segment (stochastic depth) */
	pm_rng	   *rng;
} pm_encoder_drop;

/* Applies the layer to x[r, d] in place.  w: all parameters of the network.  drop NULL: nothing is left out. */
void		pm_encoder_forward(pm_real *x, const pm_real *w, const pm_encoder_params *p, const pm_encoder_shape *s,
							   const pm_segments *seg, int r, const pm_encoder_drop *drop,
							   pm_encoder_acts *acts, pm_encoder_scratch *tmp);
/*
 * dx[r, d] in place: from the gradient of the output to that of the input.  Adds to grad, which has all parameters.  dropped: the
 * forward pass had a `drop`.  acts: from the forward pass.
 */
void		pm_encoder_backward(pm_real *dx, pm_real *grad, const pm_real *w, const pm_encoder_params *p,
								const pm_encoder_shape *s, const pm_segments *seg, bool dropped,
								const pm_encoder_acts *acts, pm_encoder_scratch *tmp);

#endif
