/*
 * test_names.c - names of job logs: keys, likeness, exact, alias, ambiguous, fuzzy, unknown.
 */
#include "check.h"

#include "plan/names.h"

static pm_arena arena;

static void
key_is(const char *name, const char *key)
{
	CHECK(strcmp(pm_name_key(&arena, name), key) == 0);
}

static void
test_keys(void)
{
	key_is("ResNet-50", "resnet50");
	key_is("resnet_50", "resnet50");
	/* two networks of torchvision */
	key_is("regnet_x_1_6gf", "regnetx1.6gf");
	key_is("RegNet X 1.6GF", "regnetx1.6gf");
	key_is("regnet_x_16gf", "regnetx16gf");
	key_is("squeezenet1-_1", "squeezenet1.1");
	key_is("--- ", "");
	key_is("", "");
	key_is("1.", "1");
	key_is("R\303\251seau-9", "r\303\251seau9");
	/* blanks that nobody sees: of spreadsheets, and of files that begin with a mark of the byte order */
	key_is("\357\273\277ResNet\302\24050\342\200\213", "resnet50");
	key_is("regnet_x_1\302\2406gf", "regnetx1.6gf");
	/* the beginning of a letter, of a blank, and letters that begin alike */
	key_is("\303\240\302", "\303\240\302");
	key_is("\342\200\224\357\273\276", "\342\200\224\357\273\276");
}

static void
test_likeness(void)
{
	CHECK_NEAR(pm_name_likeness("resnet50", "resnet50"), 1, 0);
	CHECK_NEAR(pm_name_likeness("resnt50", "resnet50"), 1 - 1.0 / 8, 1e-12);
	/* another number is another network: 7/8 of the letters are no reason */
	CHECK_NEAR(pm_name_likeness("resnet51", "resnet50"), 0.6 * 7 / 8, 1e-12);
	CHECK_NEAR(pm_name_likeness("vgg16", "vgg16bn"), 1 - 2.0 / 7, 1e-12);
	CHECK_EQ(pm_name_likeness("", ""), 0);
	CHECK_EQ(pm_name_likeness("abc", ""), 0);
	CHECK_EQ(pm_name_likeness("abc", "xyz"), 0);
}

static pm_name_found
find(const pm_name_list *l, const char *given)
{
	pm_name_found f;
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_names_find(l, given, 0.6, &f, &st), PM_OK);
	return f;
}

static void
test_find(void)
{
	static const char *const names[] = {"resnet50@224", "resnet50@96", "vgg16@224", "regnet_x_16gf@224", "ResNet50@96", "vgg19@224"};
	static const char *const models[] = {"resnet50", "resnet50", "vgg16", "regnet_x_16gf", "other", "vgg19"};
	pm_name_list l;
	pm_name_found f;
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_names_init(&l, 12, &arena, &st), PM_OK);
	for (int i = 0; i < 6; i++)
	{
		pm_names_add(&l, names[i], i, PM_NAME_OWN, &st);
		pm_names_add(&l, models[i], i, PM_NAME_OTHER, &st);
	}
	CHECK_EQ(pm_names_add(&l, "one more", 6, PM_NAME_OWN, &st), PM_ERR_INTERNAL);
	pm_names_sort(&l);
	f = find(&l, "resnet50@224");
	CHECK(f.match == PM_MATCH_EXACT && f.thing == 0 && f.score == 1);
	f = find(&l, "ResNet-50 @ 224");
	CHECK(f.match == PM_MATCH_ALIAS && f.thing == 0);
	/* two names with one key: exact where it is one of them, no alias of either otherwise */
	f = find(&l, "ResNet50@96");
	CHECK(f.match == PM_MATCH_EXACT && f.thing == 4);
	f = find(&l, "RESNET50@96");
	CHECK(f.match == PM_MATCH_AMBIGUOUS && f.thing == -1 && f.n_meant == 2 && f.n_candidates == 2 && f.score == 0);
	/* the name of a model with one graph, with two */
	f = find(&l, "vgg-16");
	CHECK(f.match == PM_MATCH_ALIAS && f.thing == 2);
	f = find(&l, "resnet-50");
	CHECK(f.match == PM_MATCH_AMBIGUOUS && f.n_meant == 2 && f.candidates[0] == 0 && f.candidates[1] == 1);
	/* never another number */
	f = find(&l, "regnet_x_1_6gf");
	CHECK(f.match != PM_MATCH_ALIAS && f.match != PM_MATCH_EXACT && f.thing == -1);
	f = find(&l, "vggg16");
	CHECK(f.match == PM_MATCH_FUZZY && f.thing == -1 && f.candidates[0] == 2);
	CHECK_NEAR(f.score, 1 - 1.0 / 6, 1e-12);
	CHECK(f.n_candidates == 1);
	CHECK_EQ(find(&l, "bert").match, PM_MATCH_UNKNOWN);
	CHECK_EQ(find(&l, "").match, PM_MATCH_UNKNOWN);
	CHECK_EQ(find(&l, "__").match, PM_MATCH_UNKNOWN);
}

/* Random names: what is found has the same key, candidates are in order and above the least score. */
static void
test_random(void)
{
	pm_rng		rng;
	pm_name_list l;
	char		names[200][12];
	pm_status	st = {PM_OK};

	pm_rng_seed(&rng, 7);
	pm_names_init(&l, 200, &arena, &st);
	for (int i = 0; i < 200; i++)
	{
		int			n = 1 + (int) (pm_rng_uniform(&rng) * 10);

		for (int j = 0; j < n; j++)
			names[i][j] = "ab1_."[(int) (pm_rng_uniform(&rng) * 5)];
		names[i][n] = '\0';
		if (i < 150)
			pm_names_add(&l, names[i], i, PM_NAME_OWN, &st);
	}
	pm_names_sort(&l);
	for (int i = 0; i < 200; i++)
	{
		pm_name_found f = find(&l, names[i]);
		const char *key = pm_name_key(&arena, names[i]);

		CHECK((f.thing >= 0) == (f.match == PM_MATCH_EXACT || f.match == PM_MATCH_ALIAS));
		if (f.thing >= 0)
			CHECK(strcmp(key, pm_name_key(&arena, names[f.thing])) == 0);
		for (int c = 0; c < f.n_candidates; c++)
		{
			CHECK(f.scores[c] >= 0.6 && (c == 0 || f.scores[c] <= f.scores[c - 1]));
			for (int d = 0; d < c; d++)
				CHECK(f.candidates[c] != f.candidates[d]);
		}
	}
}

/* The candidates by comparing with all names, in the order that names.h says. */
static int
best_of_all(const pm_name_list *l, const char *key, double min_score, int32_t *things, double *scores)
{
	int			n = 0;

	for (int i = 0; i < l->n; i++)
	{
		double		score = pm_name_likeness(key, l->names[i].key);
		int			at = n;

		if (score < min_score || score == 0)
			continue;
		while (at > 0 && (scores[at - 1] < score || (scores[at - 1] == score && things[at - 1] > l->names[i].thing)))
		{
			things[at] = things[at - 1];
			scores[at] = scores[at - 1];
			at--;
		}
		things[at] = l->names[i].thing;
		scores[at] = score;
		n++;
	}
	return n < PM_NAME_CANDIDATES ? n : PM_NAME_CANDIDATES;
}

/* What is left out without a comparison would not have been a candidate. */
static void
test_filter(void)
{
	pm_rng		rng;
	pm_name_list l;
	char		names[400][16];
	pm_status	st = {PM_OK};
	int			compared = 0;

	pm_rng_seed(&rng, 11);
	pm_names_init(&l, 200, &arena, &st);
	for (int i = 0; i < 400; i++)
	{
		int			n = 1 + (int) (pm_rng_uniform(&rng) * 14);

		for (int j = 0; j < n; j++)
			names[i][j] = "abcde12.\303"[(int) (pm_rng_uniform(&rng) * 9)];
		names[i][n] = '\0';
		if (i < 200)
			pm_names_add(&l, names[i], i, PM_NAME_OWN, &st);
	}
	pm_names_sort(&l);
	for (int i = 0; i < 1200; i++)
	{
		double		min_score = (i % 3) * 0.35;
		const char *key = pm_name_key(&arena, names[i / 3]);
		int32_t		things[200];
		double		scores[200];
		int			n = best_of_all(&l, key, min_score, things, scores);
		pm_name_found f;

		CHECK_EQ(pm_names_find(&l, names[i / 3], min_score, &f, &st), PM_OK);
		if (f.match != PM_MATCH_FUZZY && f.match != PM_MATCH_UNKNOWN)
			continue;
		compared++;
		CHECK_EQ(f.n_candidates, *key ? n : 0);
		for (int c = 0; c < f.n_candidates; c++)
			CHECK(f.candidates[c] == things[c] && f.scores[c] == scores[c]);
	}
	CHECK(compared > 300);
}

/* Names that begin alike stand behind those that are alike as a whole. */
static void
test_beginnings(void)
{
	static const char *const names[] = {"gpt2_small@s128", "gpt2_medium@s128", "gpt_neo@s32", "bert", "gptq", "GP"};
	pm_name_list l;
	pm_name_found f;
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_names_init(&l, 6, &arena, &st), PM_OK);
	for (int i = 0; i < 6; i++)
		pm_names_add(&l, names[i], i, PM_NAME_OWN, &st);
	pm_names_sort(&l);
	CHECK_EQ(find(&l, "gpt2").n_candidates, 0);
	l.by_word = true;
	f = find(&l, "gpt2");
	CHECK(f.match == PM_MATCH_FUZZY && f.thing == -1 && f.n_candidates == 2);
	CHECK(f.candidates[0] == 1 && f.candidates[1] == 0);
	CHECK(f.score == f.scores[0] && f.score > 0 && f.score < 0.6);
	/* what the name begins with; its first word is a whole one */
	f = find(&l, "bert-large_seq512");
	CHECK(f.n_candidates == 1 && f.candidates[0] == 3);
	f = find(&l, "gpt-j");
	CHECK(f.n_candidates == 1 && f.candidates[0] == 4);
	f = find(&l, "gpt 12345678");
	CHECK(f.n_candidates == 3 && f.candidates[0] == 1 && f.candidates[1] == 0 && f.candidates[2] == 2);
	f = find(&l, "bertha");
	CHECK(f.n_candidates == 1 && f.candidates[0] == 3);
	/* too short to say anything */
	CHECK_EQ(find(&l, "be").n_candidates, 0);
	CHECK_EQ(find(&l, "gptx").candidates[0], 4);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	test_keys();
	test_likeness();
	test_find();
	test_random();
	test_filter();
	test_beginnings();
	pm_arena_release(&arena);
	return check_done("names");
}
