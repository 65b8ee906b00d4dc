/*
 * colocation.c - two trainings on one GPU: each gets what it needs, or its share.
 *
 *     colocation PAIRS.csv ALONE.csv
 *
 * Lucid's pairs on an RTX 3090.  A job needs the share of the time in which the
 * GPU was busy when it ran alone; with more than all of it together, both are
 * slower by the sum.  Nothing is fitted.
 */
#include "csv.h"

/* Share of the time that the GPU is busy with a job by itself; NaN: not measured. */
static double
alone(const csv *c, const char *model, double batch, const char *dtype)
{
	for (int i = 0; i < c->n; i++)
		if (strcmp(csv_text(c, i, "model"), model) == 0 && csv_number(c, i, "batch_per_gpu") == batch && strcmp(csv_text(c, i, "dtype"), dtype) == 0)
			return csv_option(c, i, "options", "gpu_util") / 100;
	return NAN;
}

int
main(int argc, char **argv)
{
	csv			pairs,
				jobs;
	double		error = 0,
				none = 0;
	int			n = 0;

	if (argc != 3)
		csv_die("PAIRS.csv ALONE.csv", argv[0]);
	pairs = csv_read(argv[1]);
	jobs = csv_read(argv[2]);
	for (int i = 0; i < pairs.n; i++)
	{
		double		a = alone(&jobs, csv_text(&pairs, i, "model_a"), csv_number(&pairs, i, "batch_a"), csv_text(&pairs, i, "dtype_a"));
		double		b = alone(&jobs, csv_text(&pairs, i, "model_b"), csv_number(&pairs, i, "batch_b"), csv_text(&pairs, i, "dtype_b"));
		double		speed[2] = {csv_number(&pairs, i, "speed_a"), csv_number(&pairs, i, "speed_b")};

		for (int k = 0; k < 2 && !isnan(a + b); k++)
		{
			error += fabs(1 / fmax(1, a + b) / speed[k] - 1);
			none += fabs(1 / speed[k] - 1);
			n++;
		}
	}
	printf("error of the speed together over the speed alone: n %d, %.1f %%; if nothing slowed down %.1f %%\n", n, 100 * error / n, 100 * none / n);
	return 0;
}
