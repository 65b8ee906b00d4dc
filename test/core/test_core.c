/*
 * test_core.c - checksums, hashes, random numbers, arenas, messages.
 */
#include "check.h"
#include "base/core.h"

static void
test_core(void)
{
	pm_rng		r;
	pm_arena	a;
	pm_status	st;
	int32_t		v[5] = {0, 1, 2, 3, 4};
	int			sum = 0;
	char	   *p;

	CHECK_EQ(pm_crc32c("123456789", 9), 0xe3069283u);
	CHECK_EQ(pm_crc32c("", 0), 0);
	CHECK(pm_hash(PM_HASH_INIT, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	CHECK(pm_mix(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf));	/* splitmix64's first */
	pm_rng_seed(&r, 0);
	CHECK(pm_rng_next(&r) == UINT64_C(0x99ec5f36cb75f2b4));
	for (int i = 0; i < 1000; i++)
	{
		double		u = pm_rng_uniform(&r);

		CHECK(u >= 0 && u < 1);
	}
	pm_rng_shuffle(&r, v, 5);
	for (int i = 0; i < 5; i++)
		sum |= 1 << v[i];
	CHECK_EQ(sum, 31);
	pm_arena_init_malloc(&a);
	CHECK(pm_alloc(&a, SIZE_MAX / 2, 4) == NULL && pm_alloc(&a, SIZE_MAX, 1) == NULL);
	for (size_t size = 0; size < 200000; size = size * 2 + 1)
	{
		p = pm_alloc(&a, size, 1);
		CHECK(p != NULL && (uintptr_t) p % 64 == 0);
		for (size_t i = 0; i < size; i++)
			sum += p[i];
		memset(p, 0xff, size);
	}
	CHECK_EQ(sum, 31);
	p = pm_strdup(&a, "abc", 2);
	CHECK(strcmp(p, "ab") == 0);
	pm_arena_release(&a);
	CHECK(a.used == 0 && pm_alloc(&a, 1, 1) != NULL);
	pm_arena_release(&a);
	/* a message that is too long is not cut within a character */
	CHECK(pm_fail(&st, PM_ERR_INPUT, "%0254d\xc3\xa9", 0) == PM_ERR_INPUT);
	CHECK_EQ(strlen(st.message), 254);
	/* and bytes that are no UTF-8 do not get into one */
	pm_fail(&st, PM_ERR_INPUT, "a%sz", "\xff\xc0\x80\xe2\x82\xed\xa0\x80");
	CHECK(strcmp(st.message, "a????????z") == 0);
	pm_fail(&st, PM_ERR_INPUT, "%s", "Gr\xc3\xb6\xc3\x9f""e \xe2\x82\xac \xf0\x9f\x98\x80");
	CHECK(strcmp(st.message, "Gr\xc3\xb6\xc3\x9f""e \xe2\x82\xac \xf0\x9f\x98\x80") == 0);
	pm_fail(&st, PM_ERR_INPUT, "\xe2\x82");
	CHECK(strcmp(st.message, "??") == 0);
}

int
main(void)
{
	test_core();
	return check_done("test_core");
}
