/*
 * collectives.c - collectives within a machine, measured and predicted.
 *
 *     collectives VTRAIN.csv ACESO.csv
 *
 * All-reduces of vTrain (1 to 1,024 MiB): by the rows of perfmodel.interconnect,
 * which were fitted to them, and by NCCL's constants alone (20 GB/s for each link
 * of NVLink; an A100 has 12 to the switch).  All-reduces of Aceso on 2, 4 and 8 V100 of
 * another machine, by the rows for the V100.
 */
#include "csv.h"
#include "links.h"

static const pm_link_row a100_constant[] = {{0, 240, NAN, 0}};

/*
 * The cube mesh of 8 V100 (NVIDIA DGX-1 data sheet): 0-3, 0-4, 1-2, 1-5, 2-3, 4-7, 5-6 and 6-7 are joined by two
 * links, 0-1, 0-2, 1-3, 2-6, 3-7, 4-5, 4-6 and 5-7 by one.  The rows count the links that leave a GPU on rings through
 * the first n GPUs, both ways.  With 5 GPUs there is no ring, because the last has links to one of the others only.
 * Messages go along a chain and back over one link, which is a bus bandwidth of 2 (n - 1) / n of it.
 */
#define LINK_GBS 20.0
static const pm_link_row v100_constant[] = {
	{2, 1 * LINK_GBS, NAN, 0}, {3, 2 * LINK_GBS, NAN, 0}, {4, 4 * LINK_GBS, NAN, 0}, {5, 1.6 * LINK_GBS, NAN, 0},
	{6, 2 * LINK_GBS, NAN, 0}, {7, 4 * LINK_GBS, NAN, 0}, {8, 6 * LINK_GBS, NAN, 0}
};

static const pm_fabric a100 = {"a100", {"a", PM_LINK_NVSWITCH, 7, a100_rows}, .gpus_per_node = 8, .adapters = 1, PM_NOT_FITTED};
static const pm_fabric v100 = {"v100", {"v", PM_LINK_NVLINK, 7, v100_rows}, .gpus_per_node = 8, .adapters = 1, PM_NOT_FITTED};
static const pm_fabric a100_unknown = {"a100", {"a", PM_LINK_NVSWITCH, 1, a100_constant}, .gpus_per_node = 8, .adapters = 1, PM_NOT_FITTED};
static const pm_fabric v100_unknown = {"v100", {"v", PM_LINK_NVLINK, 7, v100_constant}, .gpus_per_node = 8, .adapters = 1, PM_NOT_FITTED};

typedef struct errors
{
	double		sum;
	int			n;
} errors;

static void
vtrain(const csv *c)
{
	for (int card = 0; card < 2; card++)
		for (int gpus = 2; gpus <= 8; gpus++)
		{
			errors		known = {0, 0};
			errors		constants = {0, 0};

			for (int i = 0; i < c->n; i++)
			{
				double		us = csv_number(c, i, "time_ns") / 1000;
				double		bytes = csv_number(c, i, "bytes");

				if (csv_number(c, i, "n_gpus") != gpus || (strcmp(csv_text(c, i, "gpu"), "A100") == 0) != (card == 0))
					continue;
				known.sum += fabs(pm_collective_us(PM_ALL_REDUCE, bytes, gpus, 1, card == 0 ? &a100 : &v100) / us - 1);
				constants.sum += fabs(pm_collective_us(PM_ALL_REDUCE, bytes, gpus, 1, card == 0 ? &a100_unknown : &v100_unknown) / us - 1);
				known.n++;
				constants.n++;
			}
			printf("vTrain %s, %d GPUs: n %d, by its rows %.1f %%, by constants %.1f %%\n", card == 0 ? "A100" : "V100", gpus, known.n,
				   100 * known.sum / known.n, 100 * constants.sum / constants.n);
		}
}

static void
aceso(const csv *c)
{
	for (int gpus = 2; gpus <= 8; gpus *= 2)
	{
		errors		e = {0, 0};

		for (int i = 0; i < c->n; i++)
			if (csv_number(c, i, "n_gpus") == gpus && strcmp(csv_text(c, i, "collective"), "all_reduce") == 0)
			{
				double		ms = pm_collective_us(PM_ALL_REDUCE, csv_number(c, i, "size_mb") * 1048576, gpus, 1, &v100) / 1000;

				e.sum += fabs(ms / csv_number(c, i, "time_ms") - 1);
				e.n++;
			}
		printf("Aceso V100, %d GPUs: n %d, by the rows of vTrain %.1f %%\n", gpus, e.n, 100 * e.sum / e.n);
	}
}

int
main(int argc, char **argv)
{
	csv			c;

	if (argc != 3)
		csv_die("VTRAIN.csv ACESO.csv", argv[0]);
	c = csv_read(argv[1]);
	vtrain(&c);
	c = csv_read(argv[2]);
	aceso(&c);
	return 0;
}
