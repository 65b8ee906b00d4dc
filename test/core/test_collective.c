/*
 * test_collective.c - rows of links, and collectives by hand.
 */
#include "make_cluster.h"

static void
test_link_rows(void)
{
	pm_link		measured = {"m", PM_LINK_NVSWITCH, 3, switch_rows};
	pm_link		any = {"a", PM_LINK_PCIE, 1, any_row};

	CHECK_EQ(pm_link_for(&measured, 4).busbw_gbs, 220);
	CHECK_NEAR(pm_link_for(&measured, 3).busbw_gbs, 210, 1e-9);
	CHECK_NEAR(pm_link_for(&measured, 6).latency_us, 70, 1e-9);
	CHECK_EQ(pm_link_for(&measured, 16).busbw_gbs, 230);
	CHECK_EQ(pm_link_for(&any, 3).busbw_gbs, 12);
	CHECK_EQ(pm_link_for(&any, 3).gpus, 3);
}

static void
test_measured_link(void)
{
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8);
	double		bytes = 100e6;

	/* alpha + S * 2(n-1)/(n busbw) */
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, bytes, 4, 1, &f), 60 + 1.5 * bytes / 220e3, 1e-9);
	CHECK_NEAR(pm_collective_us(PM_ALL_GATHER, bytes, 4, 1, &f), (60 + 8.4) / 2 + 0.75 * bytes / 220e3, 1e-9);
	CHECK_EQ(pm_collective_us(PM_ALL_REDUCE, bytes, 1, 1, &f), 0);
	CHECK_EQ(pm_collective_us(PM_ALL_REDUCE, 0, 4, 1, &f), 0);
	f.intra_factor = 0.5;
	f.latency_factor = 2;
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, bytes, 4, 1, &f), 120 + 1.5 * bytes / 110e3, 1e-9);
}

static void
test_nccl_constants(void)
{
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	double		us;

	/* large: ring with the simple protocol; 8.4 + 2 (n - 1) 5.7 us before the first byte */
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 1e9, 4, 1, &f), 8.4 + 6 * 5.7 + 1.5 * 1e9 / 12e3, 1e-6);
	/* small: the LL protocol, 6.6 + 6 * 1.0 by ring, 6.8 + 2 * 3 * 1.0 by tree */
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 64, 4, 1, &f), 6.6 + 6 * 1.0 + 1.5 * 64 / 6e3, 1e-6);
	/* two nodes of 4: the network of 10 GB/s is narrower than the link inside */
	us = pm_collective_us(PM_ALL_REDUCE, 1e9, 8, 2, &f);
	CHECK(us > 1.75 * 1e9 / 10e3 && us < 1.76 * 1e9 / 10e3);
	/* a second adapter, and PCIe is the narrower one */
	f.adapters = 2;
	us = pm_collective_us(PM_ALL_REDUCE, 1e9, 8, 2, &f);
	CHECK(us > 1.75 * 1e9 / 12e3 && us < 1.76 * 1e9 / 12e3);
	/* one GPU a node uses one adapter */
	us = pm_collective_us(PM_ALL_REDUCE, 1e9, 2, 2, &f);
	CHECK(us > 1e9 / 10e3 && us < 1.01 * 1e9 / 10e3);
}

/* A switch that adds up helps all-reduces only; what else is sent has the bandwidth of the wires. */
static void
test_adding_switch(void)
{
	pm_link_row rows[] = {{2, 370, NAN, 370}, {8, 480, NAN, 370}};
	pm_fabric	f = fabric_of(PM_LINK_NVSWITCH, 2, rows, 8);
	double		bytes = 1e10;

	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, bytes, 8, 1, &f) * 480e3 / (1.75 * bytes), 1, 0.01);
	CHECK_NEAR(pm_collective_us(PM_ALL_GATHER, bytes, 8, 1, &f) * 370e3 / (0.875 * bytes), 1, 0.01);
	CHECK_NEAR(pm_collective_us(PM_REDUCE_SCATTER, bytes, 5, 1, &f) * 370e3 / (0.8 * bytes), 1, 0.01);
	CHECK_NEAR(pm_collective_us(PM_ALL_TO_ALL, bytes, 8, 1, &f) * 370e3 / (0.875 * bytes), 1, 0.01);
	CHECK_NEAR(pm_collective_us(PM_SEND_RECV, bytes, 2, 1, &f) * 370e3 / bytes, 1, 0.01);
	f.intra_factor = 0.5;
	CHECK_NEAR(pm_collective_us(PM_ALL_GATHER, bytes, 8, 1, &f) * 185e3 / (0.875 * bytes), 1, 0.01);
}

/* More bytes never take less, whatever the collective and the cluster. */
static void
test_monotone(void)
{
	pm_fabric	f[2] = {fabric_of(PM_LINK_PCIE, 1, any_row, 4), fabric_of(PM_LINK_NVSWITCH, 3, switch_rows, 8)};

	f[0].host_s_per_gb = 0.1;
	for (int i = 0; i < 2; i++)
		for (int op = 0; op < PM_N_COLLECTIVES; op++)
			for (int n = 2; n <= 1024; n *= 2)
			{
				int			nodes = (n + f[i].gpus_per_node - 1) / f[i].gpus_per_node;
				double		before = 0;

				for (double bytes = 1; bytes < 1e11; bytes *= 1.07)
				{
					double		us = pm_collective_us((pm_collective) op, bytes, n, nodes, &f[i]);

					CHECK(isfinite(us) && us > 0 && us >= before);
					before = us;
				}
			}
}

/* Sixteen machines of one GPU, with 10 GB/s each; a tree needs 2 * 4 steps between them, a ring 2 * 15. */
static void
test_trees(void)
{
	pm_link_row wide[] = {{0, 400, NAN, 0}};
	pm_link_row ports[] = {{0, 50, NAN, 0}};
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);

	/* the LL protocol reaches 1 / 3.8 of the bandwidth, and 0.7 of that at 64 * 2^6 bytes */
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 4096, 16, 16, &f), 6.8 + 8 * 5.0 + 2 * 4096 / (10e3 / 3.8 * 0.7), 1e-9);
	/* of a thousand machines, trees are faster at all sizes; the simple protocol reaches 0.92 * 0.85, and 0.7 of that at 64 * 2^18 bytes */
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 1 << 24, 1024, 1024, &f), 8.4 + 20 * 14.0 + 2.0 * (1 << 24) / (10e3 * 0.92 * 0.85 * 0.7), 1e-6);
	/* past the table, trees keep all of it; only of still more machines they are faster then */
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 1 << 30, 65536, 65536, &f), 8.4 + 32 * 14.0 + 2.0 * (1 << 30) / (10e3 * 0.92 * 0.85), 1e-6);
	/* eight GPUs with NVLink on each, and as many adapters: 128 bytes at a time, 0.92, of which 0.6 at 1 MiB */
	f = fabric_of(PM_LINK_NVSWITCH, 1, wide, 8);
	f.adapters = 8;
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 1 << 20, 8192, 1024, &f), 14 + 2 * (7 * 1.25 + 10 * 8.5) + 2.0 * (1 << 20) / (80e3 * 0.92 * 0.6), 1e-6);
	/* LL never reaches more than 39 GB/s: of a tree over wide networks, and of a ring on one machine */
	f.inter.rows = ports;
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 1024, 8192, 1024, &f), 6.8 + 2 * (7 * 0.6 + 10 * 5.0) + 2 * 1024 / 39e3, 1e-9);
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 65536, 8, 1, &f), 6.6 + 14 * 0.6 + 1.75 * 65536 / 39e3, 1e-9);
}

/* Two machines of four GPUs: the fixed times of a ring, and what goes from each to each. */
static void
test_two_machines(void)
{
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);

	/* 14 steps, two of them over the network; with messages that fill the channels it takes 1.4 times as long until the first byte */
	CHECK_NEAR(pm_collective_us(PM_ALL_REDUCE, 1e9, 8, 2, &f), 1.4 * (8.4 + 12 * 5.7 + 2 * 14) + 1.75 * 1e9 / 10e3, 1e-6);
	/* an all-gather goes round once, and is not slowed down */
	CHECK_NEAR(pm_collective_us(PM_ALL_GATHER, 1e9, 8, 2, &f), 8.4 + 6 * 5.7 + 14 + 0.875 * 1e9 / 10e3, 1e-6);
	/* half of what each of the four GPUs sends leaves by the one adapter; inside it would take a sixth of that */
	CHECK_NEAR(pm_collective_us(PM_ALL_TO_ALL, 1e9, 8, 2, &f), 8.4 + 14 + 4 * 0.5e9 / 10e3, 1e-6);
	/* with a network a hundred times as wide, the 3/8 that stay inside take longer */
	f.inter_factor = 100;
	CHECK_NEAR(pm_collective_us(PM_ALL_TO_ALL, 1e9, 8, 2, &f), 8.4 + 14 + 0.375e9 / 12e3, 1e-6);
	f.inter_factor = 1;
	/* one GPU sends by one adapter, and knows nothing of a pair of machines */
	CHECK_NEAR(pm_collective_us(PM_SEND_RECV, 1e9, 2, 2, &f), 8.4 + 14 + 1e9 / 10e3, 1e-6);
	/* between just two machines, the network may have another speed */
	f.pair_factor = 0.5;
	CHECK_NEAR(pm_collective_us(PM_ALL_GATHER, 1e9, 8, 2, &f), 8.4 + 6 * 5.7 + 14 + 0.875 * 1e9 / 5e3, 1e-6);
	CHECK_NEAR(pm_collective_us(PM_ALL_GATHER, 1e9, 12, 3, &f), 8.4 + 9 * 5.7 + 2 * 14 + 11 / 12.0 * 1e9 / 10e3, 1e-6);
}

/* What goes to all others or to one passes what the GPUs of a machine share, as what goes round a ring does. */
static void
test_shared_host(void)
{
	pm_fabric	f = fabric_of(PM_LINK_PCIE, 1, any_row, 4);
	double		gathered;

	f.latency_factor = 0;
	f.host_s_per_gb = 0.1;
	gathered = pm_collective_us(PM_ALL_GATHER, 1e9, 4, 1, &f);
	CHECK_NEAR(gathered, 0.75e6 * (1 / 12.0 + 0.4), 1e-3);
	CHECK_NEAR(pm_collective_us(PM_ALL_TO_ALL, 1e9, 4, 1, &f), gathered, 1e-3);
	CHECK_NEAR(pm_collective_us(PM_SEND_RECV, 1e9, 2, 1, &f), 1e6 * (1 / 12.0 + 0.1), 1e-3);
	/* half of it stays in a machine; the other halves of four GPUs go through its adapter of 10 GB/s, and all of it through the host */
	CHECK_NEAR(pm_collective_us(PM_ALL_TO_ALL, 1e9, 8, 2, &f), 0.5e6 * 4 / 10.0 + 0.875e6 * 0.4, 1e-3);
	f.host_s_per_gb = 0;
	CHECK_NEAR(pm_collective_us(PM_ALL_TO_ALL, 1e9, 8, 2, &f), 0.5e6 * 4 / 10.0, 1e-3);
}

/* ---- the tables, against a model that is written down once more ---- */

/* src/graph/tuning.cc of NVIDIA/nccl: microseconds of protocols LL, LL128 and Simple, of rings and of trees. */
static const double nccl_base[2][3] = {{6.6, 14.0, 8.4}, {6.8, 14.0, 8.4}};
static const double nccl_nvlink[2][3] = {{0.6, 1.9, 3.4}, {0.6, 1.25, 4.0}};
static const double nccl_pcie[2][3] = {{1.0, 2.5, 5.7}, {1.0, 1.9, 4.0}};
static const double nccl_net[2][3] = {{2.7, 4.0, 14.0}, {5.0, 8.5, 14.0}};

/* treeCorrectionFactor of the same file, in tenths, at 64 bytes times powers of two. */
static const char *const nccl_tree[3] = {"aaaa987777654456789aaaaa", "aaaaa9888766666689999aaa", "999999987665555678778999"};

static double
tree_tenths(int protocol, int at)
{
	char		c = at < 24 ? nccl_tree[protocol][at] : 'a';

	return (c == 'a' ? 10 : c - '0') / 10.0;
}

/* An all-reduce of bytes = 64 * 2^at over nodes of ppn GPUs each, that all reach gbs. */
static double
nccl_us(int at, int nodes, int ppn, bool nvlink, double gbs, double latency)
{
	const double (*intra)[3] = nvlink ? nccl_nvlink : nccl_pcie;
	double		bytes = ldexp(64, at);
	int			n = nodes * ppn;
	double		best = INFINITY;

	for (int p = 0; p < 3; p++)
	{
		double		ring_gbs = gbs * (p == 0 ? 0.5 : p == 1 ? 0.92 : 1);
		double		tree_gbs = gbs * tree_tenths(p, at) * (p == 0 ? 1 / 3.8 : p == 1 ? 0.92 : 0.92 * 0.85);
		double		between = nodes > 1 ? 2 * (nodes - 1) : 0;
		double		ring = nccl_base[0][p] + (2 * (n - 1) - between) * intra[0][p] + between * nccl_net[0][p];
		double		tree = nccl_base[1][p] + 2 * ((ppn - 1) * intra[1][p] + log2(nodes) * nccl_net[1][p]);

		if (p == 1 && (!nvlink || ppn == 1))
			continue;
		/* messages of 64 bytes and more for each of two channels of a GPU take 1.4 times as long on their way round */
		if (p == 2 && nodes > 1 && bytes / (2 * n) >= 64)
			ring *= 1.4;
		if (p == 0)
		{
			ring_gbs = fmin(ring_gbs, 39);
			tree_gbs = fmin(tree_gbs, 39);
		}
		best = fmin(best, ring * latency + 2.0 * (n - 1) / n * bytes / (1000 * ring_gbs));
		best = fmin(best, tree * latency + 2 * bytes / (1000 * tree_gbs));
	}
	return best;
}

/* Narrow and wide links, short and long fixed times, so that each entry that can be the best is the best somewhere. */
static void
test_tables(void)
{
	static const int machines[] = {1, 2, 3, 16, 1024};
	static const double widths[] = {1, 10, 100, 1000};
	static const double latencies[] = {0.01, 0.1, 1, 10};
	double		worst = 0;

	for (int config = 0; config < 5 * 4 * 4 * 2 * 2; config++)
	{
		int			nodes = machines[config % 5];
		double		gbs = widths[config / 5 % 4];
		double		latency = latencies[config / 20 % 4];
		bool		nvlink = config / 80 % 2;
		int			ppn = config / 160 % 2 ? 8 : nodes > 1 ? 1 : 2;
		pm_link_row row[] = {{0, gbs, NAN, 0}};
		pm_fabric	f = fabric_of(nvlink ? PM_LINK_NVSWITCH : PM_LINK_PCIE, 1, row, 8);

		f.inter.rows = row;
		f.latency_factor = latency;
		for (int at = 0; at < 26; at++)
		{
			double		us = nccl_us(at, nodes, ppn, nvlink, gbs, latency);

			worst = fmax(worst, fabs(pm_collective_us(PM_ALL_REDUCE, ldexp(64, at), nodes * ppn, nodes, &f) / us - 1));
		}
	}
	CHECK_NEAR(worst, 0, 1e-12);
}

/* Of machines with one GPU and with two, the former's one adapter decides. */
static void
test_uneven_machines(void)
{
	pm_link_row fast[] = {{0, 200, NAN, 0}};
	pm_link_row slow[] = {{0, 20, NAN, 0}};
	pm_fabric	f = {
		.intra = {"switch", PM_LINK_NVSWITCH, 1, fast},.inter = {"net", PM_LINK_INFINIBAND, 1, slow},.gpus_per_node = 8,.adapters = 8, PM_NOT_FITTED
	};
	double		even = pm_collective_us(PM_ALL_REDUCE, 1e9, 2, 2, &f);

	CHECK(pm_collective_us(PM_ALL_REDUCE, 1e9, 3, 2, &f) > even);
	CHECK(pm_collective_us(PM_ALL_REDUCE, 1e9, 4, 2, &f) < even);
}

/* On PCIe, messages pass the shared root as long as the link; a link that was measured has that in its bandwidth. */
static void
test_usual_host(void)
{
	pm_link_row rows[] = {{4, 6, 50, 0}, {8, 12, NAN, 0}};
	pm_link		link = {"pcie3", PM_LINK_PCIE, 2, rows};
	pm_fabric	f = {.intra = link,.gpus_per_node = 8,.comm_error = 1,.steal = 3};

	CHECK_NEAR(pm_usual_host_s_per_gb(&link, 8), 1 / 12.0, 1e-12);
	CHECK_EQ(pm_usual_host_s_per_gb(&link, 4), 0);
	pm_fabric_forget(&f);
	CHECK_NEAR(f.host_s_per_gb, 1 / 12.0, 1e-12);
	CHECK_NEAR(f.steal, 0.05, 1e-12);
	link.kind = PM_LINK_NVLINK;
	CHECK_EQ(pm_usual_host_s_per_gb(&link, 8), 0);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_usual_host();
	test_uneven_machines();
	test_link_rows();
	test_measured_link();
	test_nccl_constants();
	test_trees();
	test_tables();
	test_two_machines();
	test_adding_switch();
	test_monotone();
	test_shared_host();
	return check_done("collective");
}
