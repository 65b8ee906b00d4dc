/*
 * test_slice.c - names of parts of a card.
 */
#include "check.h"

#include "plan/slice.h"

static bool
reads(const char *name, const char *card, int computes, int memory_gb)
{
	pm_slice	s;

	return pm_slice_read(name, &s) && s.card == strlen(card) && strncmp(name, card, s.card) == 0 && s.computes == computes && s.memory_gb == memory_gb;
}

static void
test_forms(void)
{
	CHECK(reads("nvidia_a100_1g.5gb", "nvidia_a100", 1, 5));
	CHECK(reads("a100_3g.20gb", "a100", 3, 20));
	CHECK(reads("1g.10gb", "", 1, 10));
	CHECK(reads("A100-SXM4-40GB-MIG-1G.5GB", "A100-SXM4-40GB", 1, 5));
	CHECK(reads("NVIDIA A100-SXM4-40GB MIG 7g.40gb", "NVIDIA A100-SXM4-40GB", 7, 40));
	CHECK(reads("nvidia_h100_80gb_hbm3_1g.10gb", "nvidia_h100_80gb_hbm3", 1, 10));
	CHECK(reads("a100.3g.20gb", "a100", 3, 20));
	CHECK(reads("a100_3g_20gb", "a100", 3, 20));
	CHECK(reads("a100-3g20gb", "a100", 3, 20));
	CHECK(reads("a100_3g.20", "a100", 3, 20));
	CHECK(reads("1g.5gb+me", "", 1, 5));
	CHECK(reads("1c.3g.20gb", "1c", 3, 20));
	CHECK(reads("mig-1g.5gb", "", 1, 5));
	CHECK(reads("A100 MIG", "A100", 0, 0));
	CHECK(reads("MIG-GPU-1234/7/0", "", 0, 0));
	CHECK(reads("x_8g.4096gb", "x", 8, 4096));
	CHECK(reads("gpu:a100(1g.5gb)", "gpu:a100", 1, 5));
	CHECK(reads("cpu=8,gres/mig-1g.5gb=1", "cpu=8,gres", 1, 5));
}

/* Cards, memory behind their names, and other words. */
static void
test_others(void)
{
	static const char *const others[] = {
		"", " ", "A100", "A100-SXM4-40GB", "a100-40g", "L4-24G", "RTX3090-24GB", "A40 48GB", "g", "1g", "1g.", "gb", "0g.5gb", "9g.5gb", "1g.0gb", "99999999999g.5gb",
		"1g.99999999999gb", "1g.4097gb", "1g20", "a1g.5gb", "1g.5gbx", "1g.5x", "a2-highgpu-1g", "a3-highgpu-8g", "g4dn.xlarge", "Standard_NC6s_v3", "migrate", "amig", "ami g", "RTX 3090 Ti",
		"mi", "m", "mi g", "p4d.24xlarge"
	};
	pm_slice	s;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
	{
		if (pm_slice_read(others[i], &s))
			printf("%s is read as a slice\n", others[i]);
		CHECK(!pm_slice_read(others[i], &s));
	}
}

/* Whatever the name is, what is read lies in it. */
static void
test_random(void)
{
	static const char letters[] = "migGb1237._- a0";
	unsigned	seed = 1;
	int			n_read = 0;

	for (int round = 0; round < 200000; round++)
	{
		char		name[20];
		int			n = round % (int) sizeof(name);
		pm_slice	s;

		for (int i = 0; i < n; i++)
		{
			seed = seed * 1664525u + 1013904223u;
			name[i] = letters[(seed >> 16) % (sizeof(letters) - 1)];
		}
		name[n] = '\0';
		if (!pm_slice_read(name, &s))
			continue;
		n_read++;
		CHECK(s.card <= s.begin && s.begin < s.end && s.end <= (size_t) n && s.computes >= 0 && s.computes <= 8 && s.memory_gb >= 0 && s.memory_gb <= 4096);
	}
	CHECK(n_read > 100);
}

int
main(void)
{
	test_forms();
	test_others();
	test_random();
	return check_done("slices of cards");
}
