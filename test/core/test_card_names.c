/*
 * test_card_names.c - which devices are near to a name that is the name of none.
 */
#include "check.h"

#include "plan/card_names.h"

static const char *const devices[] = {
	"A10", "A100-PCIE-40GB", "A100-PCIE-80GB", "A100-SXM4-80GB", "A40", "H100-PCIE-80GB", "H200", "Instinct MI100", "Instinct MI250",
	"Instinct MI300X", "K80", "L4", "L40S", "P4", "RTX 3090", "RTX 3090 Ti", "RTX 4090", "RTX A6000", "TITAN V", "TITAN X (Pascal)",
	"V100-PCIE-16GB", "V100-SXM2-32GB"
};

#define N_DEVICES ((int) (sizeof(devices) / sizeof(*devices)))

static double
nearness(const char *a, const char *b)
{
	pm_card_name x;
	pm_card_name y;

	pm_card_name_read(a, &x);
	pm_card_name_read(b, &y);
	return pm_card_name_nearness(&x, &y);
}

/* The device that is nearest, "": none. */
static const char *
nearest(const char *name)
{
	int			best = -1;

	for (int i = 0; i < N_DEVICES; i++)
		if (nearness(name, devices[i]) > (best < 0 ? 0 : nearness(name, devices[best])))
			best = i;
	return best < 0 ? "" : devices[best];
}

static void
is_nearest(const char *name, const char *device)
{
	if (strcmp(nearest(name), device) != 0)
		printf("%s: %s, not %s\n", name, nearest(name), device);
	CHECK(strcmp(nearest(name), device) == 0);
}

static void
test_reading(void)
{
	pm_card_name c;
	char		name[100];

	pm_card_name_read("NVIDIA GeForce RTX3090Ti 24GB", &c);
	CHECK_EQ(c.n, 4);
	CHECK_EQ(c.model, 1);
	CHECK(strcmp(c.words[0], "rtx") == 0 && strcmp(c.words[1], "3090") == 0 && strcmp(c.words[2], "ti") == 0 && strcmp(c.words[3], "24") == 0);
	pm_card_name_read("TITAN V", &c);
	CHECK_EQ(c.model, -1);
	pm_card_name_read("", &c);
	CHECK_EQ(c.n, 0);
	pm_card_name_read("-- (), NVIDIA", &c);
	CHECK_EQ(c.n, 0);
	/* too many words, and one that is too long */
	pm_card_name_read("a1b2c3d4e5f6g7h8i9", &c);
	CHECK_EQ(c.n, PM_CARD_WORDS);
	memset(name, '7', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	pm_card_name_read(name, &c);
	CHECK_EQ(c.n, 1);
	CHECK_EQ(strlen(c.words[0]), PM_CARD_LETTERS);
	CHECK(isfinite(nearness(name, "A10")));
}

static void
test_nearest(void)
{
	is_nearest("MI250X", "Instinct MI250");
	is_nearest("\357\273\277RTX\302\2403091", "RTX 3090");
	is_nearest("AMD Instinct MI325X", "Instinct MI300X");
	is_nearest("a100 80", "A100-PCIE-80GB");
	is_nearest("A100-SXM-64GB", "A100-SXM4-80GB");
	is_nearest("V100S", "V100-PCIE-16GB");
	is_nearest("v100-32", "V100-SXM2-32GB");
	is_nearest("RTX3090TI SUPER", "RTX 3090 Ti");
	is_nearest("3090", "RTX 3090");
	is_nearest("RTX A5000", "RTX A6000");
	is_nearest("H800", "H200");
	is_nearest("A800", "A100-PCIE-40GB");
	is_nearest("GH200", "H200");
	is_nearest("RTX 390", "RTX 3090");
	is_nearest("RTX 309", "RTX 3090");
	is_nearest("RTX 490", "RTX 4090");
	is_nearest("K40", "K80");
	is_nearest("L20", "L40S");
	is_nearest("Titan X", "TITAN X (Pascal)");
	is_nearest("Instinct", "Instinct MI100");
	/* what is not a card of these makers is near to none */
	is_nearest("TPU v4", "");
	is_nearest("M2 Max", "");
	is_nearest("Gaudi2", "");
	is_nearest("", "");
	is_nearest("NVIDIA", "");
	is_nearest("x", "");
}

static void
is_card_of(const char *machine, const char *card)
{
	const char *found = pm_card_of_machine(machine);

	CHECK(card == NULL ? found == NULL : found != NULL && strcmp(found, card) == 0);
}

static void
test_machines(void)
{
	is_card_of("p4d.24xlarge", "A100-SXM4-40GB");
	is_card_of("P4DE.24xlarge", "A100-SXM4-80GB");
	is_card_of("p3.2xlarge", "V100-SXM2-16GB");
	is_card_of("p3dn.24xlarge", "V100-SXM2-32GB");
	is_card_of("g4dn.xlarge", "T4");
	is_card_of("g5.xlarge", "A10G");
	is_card_of("a2-ultragpu-1g", "A100-SXM4-80GB");
	is_card_of("a3-highgpu-8g", "H100-SXM5-80GB");
	is_card_of("a3-ultragpu-8g", "H200");
	is_card_of("Standard_NC6s_v3", "V100-PCIE-16GB");
	is_card_of("Standard_NC4as_T4_v3", "T4");
	is_card_of("Standard_NC24ads_A100_v4", "A100-PCIE-80GB");
	is_card_of("Standard_ND96asr_v4", "A100-SXM4-40GB");
	is_card_of("Standard_ND96amsr_A100_v4", "A100-SXM4-80GB");
	/* cards, other machines, and parts of names */
	is_card_of("P4", NULL);
	is_card_of("p4d", NULL);
	is_card_of("Standard_NC", NULL);
	is_card_of("n1-standard-4", NULL);
	is_card_of("A100-SXM4-40GB", NULL);
	is_card_of("", NULL);
}

/* A name is nearest to itself, and nearness does not depend on how it is written. */
static void
test_themselves(void)
{
	for (int i = 0; i < N_DEVICES; i++)
	{
		is_nearest(devices[i], devices[i]);
		for (int j = 0; j < N_DEVICES; j++)
			CHECK(nearness(devices[i], devices[j]) >= 0);
	}
	CHECK_EQ(nearness("nvidia_rtx-3090 ti", "RTX 3090 Ti"), nearness("RTX3090Ti", "RTX 3090 Ti"));
}

/* Any bytes. */
static void
test_random(void)
{
	static const char letters[] = "aAxz019 -_()\377\303.";
	uint32_t	seed = 7;

	for (int round = 0; round < 5000; round++)
	{
		char		name[64];
		int			n = round % 63;
		double		near;

		for (int i = 0; i < n; i++)
		{
			seed = seed * 1664525u + 1013904223u;
			name[i] = letters[(seed >> 16) % (sizeof(letters) - 1)];
		}
		name[n] = '\0';
		near = nearness(name, devices[round % N_DEVICES]);
		CHECK(near >= 0 && near < 20);
	}
}

int
main(void)
{
	test_reading();
	test_nearest();
	test_machines();
	test_themselves();
	test_random();
	return check_done("card names");
}
