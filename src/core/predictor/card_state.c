/*
 * card_state.c - elements of the state of a card, and their effect on a step.
 */
#include "predictor/card_state.h"

#include <math.h>
#include <string.h>

#define LEAST_LEFT_OF_HOST 0.3
#define LEAST_LEFT		0.15	/* of the priors on a card that is known from many networks */
#define CELL_PRIOR		0.15	/* of a format and layout on a card that nothing is known of */
#define LEAST_CELL_PRIOR 0.05

#define GROUP(class_or_kind)	[PM_STATE_CLASS + (class_or_kind)]
#define KIND(kind)				GROUP(PM_N_CLASSES + (kind))
#define IN(dtype, group)		[PM_STATE_FORMAT + (dtype) * PM_N_GROUPS + (group)]
#define KIND_IN(dtype, kind)	IN(dtype, PM_N_CLASSES + (kind))
#define FORMAT(dtype, name) \
	IN(dtype, PM_CLASS_CONV) = name " conv", IN(dtype, PM_CLASS_GEMM) = name " gemm", IN(dtype, PM_CLASS_NORM) = name " norm", \
	IN(dtype, PM_CLASS_ELEMENTWISE) = name " elementwise", IN(dtype, PM_CLASS_POOL) = name " pool", \
	IN(dtype, PM_CLASS_ATTENTION) = name " attention", IN(dtype, PM_CLASS_EMBEDDING) = name " embedding", \
	IN(dtype, PM_CLASS_MOVE) = name " move", IN(dtype, PM_CLASS_RECURRENT) = name " recurrent", IN(dtype, PM_CLASS_OTHER) = name " other", \
	KIND_IN(dtype, PM_CONV_NONE) = name " no conv", KIND_IN(dtype, PM_CONV_1X1) = name " conv 1x1", \
	KIND_IN(dtype, PM_CONV_KXK) = name " conv kxk", KIND_IN(dtype, PM_CONV_GROUPED) = name " conv grouped", \
	KIND_IN(dtype, PM_CONV_DEPTHWISE) = name " conv depthwise", KIND_IN(dtype, PM_CONV_TRANSPOSE) = name " conv transpose"

/* In the order of the elements. */
#define TYPES \
	"BatchNormalization", "LayerNormalization", "GroupNormalization", "InPlaceABN", "Relu", "Add", "Mul", "Gelu", "Silu", "HardSwish", \
	"Sigmoid", "Dropout", "MaxPool", "AveragePool", "GlobalAveragePool", "Gemm", "MatMul", "Softmax", "Concat", "aten::clone"

static const char *const types[PM_STATE_TYPES] = {TYPES};

static const char *const names[PM_N_STATE] = {
	[PM_STATE_LAUNCH] = "launches", [PM_STATE_REST] = "rest of the step", [PM_STATE_DEVICE] = "device",
	[PM_STATE_CONV] = "convolutions", [PM_STATE_PRODUCT] = "matrix products", [PM_STATE_MEMORY] = "moving memory",
	GROUP(PM_CLASS_CONV) = "conv", GROUP(PM_CLASS_GEMM) = "gemm", GROUP(PM_CLASS_NORM) = "norm",
	GROUP(PM_CLASS_ELEMENTWISE) = "elementwise", GROUP(PM_CLASS_POOL) = "pool", GROUP(PM_CLASS_ATTENTION) = "attention",
	GROUP(PM_CLASS_EMBEDDING) = "embedding", GROUP(PM_CLASS_MOVE) = "move", GROUP(PM_CLASS_RECURRENT) = "recurrent",
	GROUP(PM_CLASS_OTHER) = "other",
	KIND(PM_CONV_NONE) = "no conv", KIND(PM_CONV_1X1) = "conv 1x1", KIND(PM_CONV_KXK) = "conv kxk",
	KIND(PM_CONV_GROUPED) = "conv grouped", KIND(PM_CONV_DEPTHWISE) = "conv depthwise", KIND(PM_CONV_TRANSPOSE) = "conv transpose",
	[PM_STATE_WINDOW] = "conv window", [PM_STATE_STRIDE] = "conv stride", [PM_STATE_CHANNELS] = "conv channels",
	[PM_STATE_PLANE] = "conv plane", [PM_STATE_DEPTHWISE_PLANE] = "depthwise plane", [PM_STATE_TENSOR] = "tensor",
	[PM_STATE_NARROW] = "product columns", [PM_STATE_GROUP_NARROW] = "conv narrow groups", [PM_STATE_WIDE_WINDOW] = "conv wide window",
	[PM_STATE_OWN_KERNEL] = "conv own kernel", [PM_STATE_TYPE] = TYPES,
	FORMAT(PM_FP32, "fp32"), FORMAT(PM_TF32, "tf32"), FORMAT(PM_AMP, "amp"), FORMAT(PM_BF16, "bf16"), FORMAT(PM_FP16, "fp16"),
	[PM_STATE_RELEASED + PM_CARD_CONV] = "released convolutions", [PM_STATE_RELEASED + PM_CARD_REST] = "released other work",
};
const pm_names pm_state_names = {"element of a card's state", PM_N_STATE, names};

double
pm_state_prior(int element)
{
	if (element == PM_STATE_LAUNCH || element == PM_STATE_REST)
		return 0.4;
	if (element >= PM_STATE_RELEASED)
		return 0.5;
	if (element < PM_STATE_CLASS)
		return 0.1;
	if (element >= PM_STATE_GROUP_NARROW)
		return 0.2;
	return element < PM_STATE_WINDOW ? 0.25 : 0.28;
}

double
pm_state_left(int element, double networks)
{
	/* what other cards say of it is as doubtful as ever */
	if (element >= PM_STATE_RELEASED)
		return 1;
	return fmax(1 / sqrt(1 + networks), element == PM_STATE_LAUNCH || element == PM_STATE_REST ? LEAST_LEFT_OF_HOST : LEAST_LEFT);
}

double
pm_cell_prior(double networks)
{
	return fmax(CELL_PRIOR / sqrt(1 + networks), LEAST_CELL_PRIOR);
}

/* Slots are log2(1 + x). */
static double
slot(const pm_tokens *t, int i, int which)
{
	return t->slots[(size_t) i * PM_N_SLOTS + which];
}

/* A logarithm to the base 2 about its usual value, in units of 4, held within 1. */
static double
about(double log2_of, double usual)
{
	return fmin(fmax((log2_of - usual) / 4, -1), 1);
}

static double
log2_elements(const pm_tokens *t, int i)
{
	const pm_shape *shape = &t->skeleton->graph->nodes[t->skeleton->node[i]].shape;
	double		sum = 0;

	for (int k = 0; k < shape->rank; k++)
		sum += log2(fmax((double) shape->dim[k], 1));
	return sum;
}

static void
add(pm_state_shares *s, int element, double share)
{
	s->at[s->n] = element;
	s->share[s->n++] = share;
}

/* Its element of the types, -1: it has none. */
static int
type_of(const pm_tokens *t, int i)
{
	const char *name = t->type[i] < pm_op_count() ? pm_op_name(t->type[i]) : "";

	for (int k = 0; k < PM_STATE_TYPES; k++)
		if (types[k][0] == name[0] && strcmp(types[k], name) == 0)
			return PM_STATE_TYPE + k;
	return -1;
}

static void
add_conv(const pm_tokens *t, int i, pm_state_shares *s)
{
	bool		depthwise = pm_token_group(t, i) == PM_N_CLASSES + PM_CONV_DEPTHWISE;

	add(s, PM_STATE_CONV, 1);
	if (slot(t, i, PM_HAS_GROUP_NARROW) > 0)
		add(s, PM_STATE_GROUP_NARROW, 1);
	if (slot(t, i, PM_HAS_WIDE_WINDOW) != 0)
		add(s, PM_STATE_WIDE_WINDOW, 1);
	if (slot(t, i, PM_SLOT_OWN_KERNEL) != 0)
		add(s, PM_STATE_OWN_KERNEL, 1);
	if (fmax(slot(t, i, PM_HAS_K_H), slot(t, i, PM_HAS_K_W)) > 2.5)
		add(s, PM_STATE_WINDOW, 1);
	if (fmax(slot(t, i, PM_HAS_S_H), slot(t, i, PM_HAS_S_W)) > 1.2)
		add(s, PM_STATE_STRIDE, 1);
	add(s, depthwise ? PM_STATE_DEPTHWISE_PLANE : PM_STATE_PLANE, about(slot(t, i, PM_HAS_OUT_H) + slot(t, i, PM_HAS_OUT_W), 10));
	if (!depthwise)
		add(s, PM_STATE_CHANNELS, about(fmin(slot(t, i, PM_HAS_CH_PER_GROUP), slot(t, i, PM_HAS_OUT_CH)), 7));
}

static void
shares_of_token(const pm_tokens *t, int i, pm_state_shares *s)
{
	int			op_class = t->op_class[i];
	int			group = pm_token_group(t, i);
	int			type = type_of(t, i);

	add(s, PM_STATE_DEVICE, 1);
	add(s, PM_STATE_CLASS + group, 1);
	add(s, PM_STATE_FORMAT + (int) t->dtype * PM_N_GROUPS + group, 1);
	if (type >= 0)
		add(s, type, 1);
	if (op_class == PM_CLASS_CONV)
		add_conv(t, i, s);
	else if (op_class == PM_CLASS_GEMM || op_class == PM_CLASS_RECURRENT || op_class == PM_CLASS_ATTENTION)
	{
		add(s, PM_STATE_PRODUCT, 1);
		if (op_class == PM_CLASS_GEMM)
			add(s, PM_STATE_NARROW, about(slot(t, i, PM_HAS_GEMM_N), 9));
	}
	else
	{
		add(s, PM_STATE_MEMORY, 1);
		add(s, PM_STATE_TENSOR, about(log2_elements(t, i), 17));
	}
}

void
pm_state_shares_of(const pm_tokens *t, pm_state_shares *shares)
{
	for (int i = 0; i < t->n; i++)
	{
		shares[i].n = 0;
		shares_of_token(t, i, &shares[i]);
	}
}

void
pm_state_factors(const double *state, const pm_state_shares *shares, int n, double *device, pm_factors *factors)
{
	for (int i = 0; i < n; i++)
	{
		double		sum = 0;

		for (int k = 0; k < shares[i].n; k++)
			sum += state[shares[i].at[k]] * shares[i].share[k];
		device[i] = exp(sum);
	}
	*factors = (pm_factors) {.device = device, .launch = exp(state[PM_STATE_LAUNCH]), .rest = exp(state[PM_STATE_REST])};
}
