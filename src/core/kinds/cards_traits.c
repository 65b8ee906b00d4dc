/*
 * cards_traits.c - levels of cards from their data sheets: traits, and their
 * weights from the levels that are known.
 */
#include "kinds/cards.h"

#include <math.h>
#include <string.h>

#include "nn/solve.h"

#define NOISE		0.15		/* of a level about the regression, in logarithms */
#define LEAST_LEVELS 3
#define ROUNDS		20

/* What a trait of a data sheet is worth before any card is known: mean and standard deviation. */
static const struct
{
	double		mean,
				sd;
}			prior[PM_N_CARD_TRAITS] = {
	{0, 0.5},					/* every card */
	{0, 0.3},					/* not of the maker of CUDA */
	{0, 0.3},					/* 16 bits without matrix units */
	{0, 0.3},					/* tf32 */
	{0, 0.3},					/* amp, bf16; tf32 outside of convolutions, where few networks tell of it */
	{0, 0.3},					/* fp16 */
	[PM_TRAIT_CLOCK] = {0, 0.1},
	[PM_TRAIT_LANES] = {-0.3, 0.2},	/* FP32 on lanes that integers do not share */
	[PM_TRAIT_RIDGE] = {0, 0.1},	/* ln(FLOPs a byte at the rate that power allows / 25) */
};

/* Whether integer and FP32 instructions take turns: Maxwell, Pascal, and the later parts for graphics, by compute capability. */
static bool
shares_lanes(double capability)
{
	return (capability >= 5 && capability < 7) || (capability > 8.05 && capability < 9) || capability >= 11;
}

void
pm_card_traits_of(const pm_gpu *g, int dtype, int work, double *z)
{
	bool		matrix = !isnan(g->fp16_tensor_tflops);

	memset(z, 0, PM_N_CARD_TRAITS * sizeof(double));
	if (g->is_cpu)
		return;
	z[0] = 1;
	z[1] = isnan(g->compute_capability);
	z[2] = dtype != PM_FP32 && dtype != PM_TF32 && !matrix;
	z[3] = dtype == PM_TF32;
	z[4] = dtype == PM_AMP || dtype == PM_BF16 || (dtype == PM_TF32 && work == PM_CARD_REST);
	z[5] = dtype == PM_FP16;
	z[PM_TRAIT_RIDGE] = log(pm_gpu_rate(g, PM_FP32, true, work == PM_CARD_CONV) / (g->mem_bw_gbs * 1e9) / 25);
	z[PM_TRAIT_LANES] = work == PM_CARD_CONV && dtype == PM_FP32 && !isnan(g->compute_capability) && !shares_lanes(g->compute_capability);
}

double
pm_card_traits_sum(const double *weight, const double *z)
{
	double		sum = 0;

	for (int k = 0; k < PM_N_CARD_TRAITS; k++)
		sum += weight[k] * z[k];
	return sum;
}

double
pm_card_regression(const pm_cards *c, const pm_gpu *g, int dtype, int work)
{
	double		z[PM_N_CARD_TRAITS];

	pm_card_traits_of(g, dtype, work, z);
	return pm_card_traits_sum(c->trait[work], z);
}

/* ---- learning ---- */

/* A level of one kind of work with the traits of its card. */
typedef struct traits
{
	const pm_card_level *of;
	bool		is_cpu;
	double		z[PM_N_CARD_TRAITS];
} traits;

/* Those of a kind of work; returns how many there are. */
static int
traits_of_levels(const pm_cards *c, int work, const pm_gpu *const *gpus, traits *list)
{
	int			n = 0;

	for (int i = 0; i < c->n; i++)
		if (c->level[i].work == work)
		{
			list[n].of = &c->level[i];
			list[n].is_cpu = gpus[i]->is_cpu;
			pm_card_traits_of(gpus[i], c->level[i].dtype, work, list[n++].z);
		}
	return n;
}

/*
 * Weights of the traits for a kind of work, from the cards of list[n] but `without` (NULL: from all): ridge regression towards the
 * priors, with Cauchy's weights.
 */
static void
regress(pm_cards *c, int work, const traits *list, int n, const char *without)
{
	for (int k = 0; k < PM_N_CARD_TRAITS; k++)
		c->trait[work][k] = prior[k].mean;
	for (int round = 0; round < ROUNDS; round++)
	{
		double		m[PM_N_CARD_TRAITS][PM_N_CARD_TRAITS] = {{0}};
		double		y[PM_N_CARD_TRAITS];

		for (int k = 0; k < PM_N_CARD_TRAITS; k++)
		{
			m[k][k] = 1 / (prior[k].sd * prior[k].sd);
			y[k] = prior[k].mean * m[k][k];
		}
		for (int i = 0; i < n; i++)
		{
			const double *z = list[i].z;
			double		level = list[i].of->level;
			double		e = (level - pm_card_traits_sum(c->trait[work], z)) / NOISE;
			double		networks = list[i].of->structures;
			double		w = networks / (networks + PM_CARD_PULL) / (1 + e * e) / (NOISE * NOISE);

			if (without != NULL && strcmp(list[i].of->gpu, without) == 0)
				continue;
			for (int j = 0; j < PM_N_CARD_TRAITS; j++)
			{
				y[j] += w * z[j] * level;
				for (int k = 0; k < PM_N_CARD_TRAITS; k++)
					m[j][k] += w * z[j] * z[k];
			}
		}
		/* the priors make m positive definite; where rounding does not leave it so, the weights stay as they are */
		if (pm_solve_spd(&m[0][0], y, PM_N_CARD_TRAITS))
			memcpy(c->trait[work], y, sizeof(y));
	}
}

/*
 * Each card of list[n] is left out and guessed; those that are not like any other count like the rest.  With a thousand cards this
 * takes seconds.
 */
static pm_code
set_spread(pm_cards *c, int work, const traits *list, int n, const pm_arena *a, pm_status *st)
{
	double		sum = 0;
	int			levels = 0;

	for (int i = 0; i < n; i++)
	{
		if (list[i].is_cpu)
			continue;
		if (pm_stopped(a, st))
			return PM_CANCELLED;
		if (i == 0 || strcmp(list[i].of->gpu, list[i - 1].of->gpu) != 0)
			regress(c, work, list, n, list[i].of->gpu);
		sum += fmin(fabs(list[i].of->level - pm_card_traits_sum(c->trait[work], list[i].z)), PM_MOST_CARD_SPREAD);
		levels++;
	}
	c->spread[work] = levels >= LEAST_LEVELS ? fmin(sum / levels, PM_MOST_CARD_SPREAD) : 0;	/* rounding may leave a mean above all of its parts */
	return PM_OK;
}

pm_code
pm_card_traits_learn(pm_cards *c, const pm_gpu *const *gpus, bool spread, pm_arena *a, pm_status *st)
{
	pm_arena	scratch;
	traits	   *list;
	pm_code		rc = PM_OK;

	pm_arena_init_within(&scratch, a);
	if ((list = PM_NEW(&scratch, traits, c->n + 1)) == NULL)
		rc = pm_no_memory(st, &scratch);
	for (int work = 0; work < PM_N_CARD_WORKS && rc == PM_OK; work++)
	{
		int			n = traits_of_levels(c, work, gpus, list);

		if (spread)
			rc = set_spread(c, work, list, n, a, st);
		if (rc == PM_OK)
			regress(c, work, list, n, NULL);
	}
	pm_arena_release(&scratch);
	return rc;
}
