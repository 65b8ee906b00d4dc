/*
 * card_rows.h - steps of networks and single operators on cards whose levels are known.
 */
#ifndef CARD_ROWS_H
#define CARD_ROWS_H

#include "check.h"
#include "make_graph.h"
#include "predictor/correction.h"
#include "kinds/cards.h"
#include "predictor/predictor.h"
#include "predictor/stored.h"

#define N_CARDS		6
#define N_NETS		12
#define N_ROWS		(N_CARDS * N_NETS)

static pm_arena arena;
static pm_gpu cards[N_CARDS];
static pm_sample samples[N_ROWS];

/* The true factor of a card: the first half are CUDA cards, the others take twice as long. */
static inline double
truth(int card)
{
	return card < N_CARDS / 2 ? 1.2 : 2.4;
}

static inline double
factor(const pm_cards *c, int card, int work)
{
	return pm_cards_factors(c, &samples[card].query).compute[work];
}

#define N_SHAPES	60
#define WARM		0.8			/* a single operator takes so much of what it takes in a step */

static pm_sample operators[N_CARDS * 2 * N_SHAPES];

/* A convolution (shape < N_SHAPES) or an element-wise operator. */
static inline const pm_skeleton *
operator_of(int shape)
{
	int			channels = 64 + 4 * (shape % N_SHAPES);
	graph_text	t;
	int			x;

	text_start(&t, "operator", "operator");
	x = text_node(&t, "'op':'Input','inputs':[],'shape':[1,%d,56,56],'batch_dim':0,'attrs':{'requires_grad':true}", channels);
	if (shape < N_SHAPES)
		net_conv(&t, x, channels, channels, 56, 3, 1);
	else
		net_unary(&t, "Relu", x, channels, 56);
	return make_skeleton(text_finish(&t, &arena), true, &arena);
}

/* Operators of all cards; those of card `other` take `arithmetic` and `memory` times their roofline time in a step. */
static inline void
make_operators(int other, double arithmetic, double memory, bool forward_only)
{
	for (int i = 0; i < N_CARDS * 2 * N_SHAPES; i++)
	{
		int			card = i / (2 * N_SHAPES);
		const pm_skeleton *s = operator_of(i % (2 * N_SHAPES));
		double		factor = card != other ? truth(card) : i % (2 * N_SHAPES) < N_SHAPES ? arithmetic : memory;
		pm_tokens	t;

		operators[i] = make_sample(s->graph, s, 64, 1);
		operators[i].query.gpu = &cards[card];
		operators[i].query.dtype = PM_FP32;
		operators[i].query.alone = true;
		operators[i].query.forward_only = forward_only;
		CHECK_EQ(pm_tokens_build_work(s, &operators[i].query, &arena, &t, NULL), PM_OK);
		operators[i].step_ms = (WARM * factor * fmax(t.compute_us[0], t.memory_us[0]) + 5 * t.kernels[0]) / 1000;
	}
}

static inline double
device_ms(const pm_sample *s)
{
	pm_tokens	t;
	double		ms = 0;

	CHECK_EQ(pm_tokens_build_work(s->skeleton, &s->query, &arena, &t, NULL), PM_OK);
	for (int i = 0; i < t.n; i++)
		ms += t.skeleton->copies[i] * (t.compute_us[i] + t.memory_us[i]) / 1000;
	return ms;
}

static inline void
make_rows(void)
{
	static const char *const names[N_CARDS] = {"Cuda A", "Cuda B", "Cuda C", "Other A", "Other B", "Other C"};

	for (int c = 0; c < N_CARDS; c++)
	{
		cards[c] = test_gpu;
		cards[c].name = names[c];
		cards[c].fp32_tflops *= 1 + c % 3;
		cards[c].mem_bw_gbs *= 1 + c % 3;
		cards[c].base_clock_ghz = cards[c].clock_ghz;
		cards[c].compute_capability = c < N_CARDS / 2 ? 8.6 : NAN;
	}
	for (int n = 0; n < N_NETS; n++)
	{
		pm_graph   *g = make_net(&arena, "net", 48 + 16 * n, 2 + n % 4, 56, 4);
		pm_skeleton *s = make_skeleton(g, true, &arena);

		for (int c = 0; c < N_CARDS; c++)
		{
			pm_sample  *x = &samples[n * N_CARDS + c];

			*x = make_sample(g, s, 64, 1);
			x->query.gpu = &cards[c];
			x->query.dtype = PM_FP32;
			x->step_ms = truth(c) * device_ms(x);
		}
	}
}

/* opclass of the steps of all cards but `other`, and of the operators. */
static inline pm_predictor
fit_with_operators(int other, bool learns)
{
	pm_setting	settings[] = {{.name = "operators", .number = learns, .is_bool = true}, {.name = "calibration_folds", .number = 0}};
	pm_sample  *kept = PM_NEW(&arena, pm_sample, N_ROWS);
	pm_dataset	d = {.samples = kept, .operators = operators, .n_operators = N_CARDS * 2 * N_SHAPES};

	for (int i = 0; i < N_ROWS; i++)
		if (i % N_CARDS != other)
			kept[d.n++] = samples[i];
	return make_predictor("opclass", settings, 2, &d, &arena);
}

#endif
