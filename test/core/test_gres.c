/*
 * test_gres.c - devices as Slurm writes them.
 */
#include "check.h"

#include "plan/gres.h"

static int
reads(const char *text, const char *name, int count)
{
	pm_gres		g;

	return pm_gres_read(text, &g) && g.length == strlen(name) && strncmp(g.name, name, g.length) == 0 && g.count == count;
}

static void
test_forms(void)
{
	CHECK(reads("gpu:a100:4", "a100", 4));
	CHECK(reads("gpu:a100", "a100", 0));
	CHECK(reads("a100:4", "a100", 4));
	CHECK(reads("gres/gpu:a100=4", "a100", 4));
	CHECK(reads("gres:gpu:a100:4", "a100", 4));
	CHECK(reads("GPU:A100:4(S:0-1)", "A100", 4));
	CHECK(reads("gpu:1080ti:2(IDX:0,1)", "1080ti", 2));
	CHECK(reads("gpu:3090:2", "3090", 2));
	CHECK(reads(" gpu:a100:4 ", "a100", 4));
	CHECK(reads("gpu:nvidia_a100-sxm4-80gb:1000000", "nvidia_a100-sxm4-80gb", PM_GRES_MOST));
	CHECK(reads("gpu:2", "gpu", 2));
	CHECK(reads("gres/gpu=2", "gpu", 2));
	CHECK(reads("cpu=8,gres/gpu=1024", "gpu", 1024));
	CHECK(reads("gpu:3090", "3090", 0));
	CHECK(reads("gpu:2(S:0)", "gpu", 2));
	/* a part of a card */
	CHECK(reads("a100_3g.20gb:2", "a100_3g.20gb", 2));
	CHECK(reads("gpu:1g.10gb:1", "1g.10gb", 1));
	CHECK(reads("gpu:a100_1g.5gb:1(IDX:0)", "a100_1g.5gb", 1));
	CHECK(reads("cpu=8,gres/gpu=2,gres/gpu:a100_1g.5gb=2", "a100_1g.5gb", 2));
	CHECK(reads("billing=8,cpu=8,mem=64G,node=1,gres/gpu:v100=2,gres/gpu=2", "v100", 2));
}

static void
test_others(void)
{
	static const char *const others[] = {
		"", " ", "gpu", "gpu:", "gres/gpu", "gpu=0", "gpu:0", "gpu=x", "gpu:a100:", "gpu:a100:0", "gpu:a100:x", "gpu:a100:4x", "gpu:a100:1000001", "gpu:a100:99999999999999999999",
		"gpu::4", ":4", "a100", "RTX 3090", "a100=4", "cpu=8,mem=64G", "gpu:a100:1,gpu:v100:1", "a100:4,v100:2", "(null)", "gpu:a100(", ",,,", "gres/", "gres/gpu:(S:0)", "gpu:1,gpu:2", "gpu:a100:1,gpu:v100:1,gpu:2",
		"cpu=8,gres/gpu:a100=1,gres/mig-1g.5gb=1", "gpu:a100(1g.5gb)", "gpu:a100:1(MIG 1g.5gb)", "gpu:2(1g.5gb)", "gpu:a100:2,gpu:1g.5gb:1", "gpu:a100:1g.5gb"
	};
	pm_gres		g;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
	{
		bool		read = pm_gres_read(others[i], &g) && g.count != 0;

		if (read)
			printf("%s is read as %.*s, %d\n", others[i], (int) g.length, g.name, g.count);
		CHECK(!read);
	}
}

/* Whatever the text is, what is read lies in it. */
static void
test_random(void)
{
	static const char letters[] = "gpures/:=,()a1 0";
	unsigned	seed = 1;

	for (int round = 0; round < 200000; round++)
	{
		char		text[24];
		int			n = round % (int) sizeof(text);
		pm_gres		g;

		for (int i = 0; i < n; i++)
		{
			seed = seed * 1664525u + 1013904223u;
			text[i] = letters[(seed >> 16) % (sizeof(letters) - 1)];
		}
		text[n] = '\0';
		if (pm_gres_read(text, &g))
			CHECK(g.name >= text && g.length > 0 && g.name + g.length <= text + n && g.count >= 0 && g.count <= PM_GRES_MOST);
	}
}

int
main(void)
{
	test_forms();
	test_others();
	test_random();
	return check_done("gres");
}
