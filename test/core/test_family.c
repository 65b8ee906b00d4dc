/*
 * test_family.c - the family of a model: the rule, and what it says of every
 * model whose graph ships with perfmodel or with timm's published measurements.
 */
#define _GNU_SOURCE				/* getline, popen */
#include "graph/family.h"

#include <locale.h>
#include <stdlib.h>

#include "check.h"

#define GOLDEN "test/core/families.txt"

static void
check_family(const char *model, const char *family)
{
	char		buf[PM_FAMILY_SIZE];
	char		what[200];

	pm_family(model, buf, sizeof(buf));
	snprintf(what, sizeof(what), "family of \"%s\" is \"%s\", should be \"%s\"", model, buf, family);
	check_report(strcmp(buf, family) == 0, __FILE__, __LINE__, what);
}

/* Near relatives are of one family, whatever word their names start with. */
static void
test_kin(void)
{
	static const char *const resnets[] = {
		"resnet50", "resnetv2_50x1_bitm", "wide_resnet101_2", "ResNet-50", "resnext50_32x4d", "seresnext26ts",
		"legacy_seresnet18", "resnest50d", "ecaresnet101d_pruned", "skresnet18", "gluon_resnet50_v1b", "tv_resnet34",
		"ssl_resnext50_32x4d", "swsl_resnet18", "ig_resnext101_32x8d", "cifarresnet20", "fcn_resnet101", "microsoft/resnet-50"
	};

	for (size_t i = 0; i < sizeof(resnets) / sizeof(resnets[0]); i++)
		check_family(resnets[i], "resnet");
	check_family("tf_efficientnet_b0", "efficientnet");
	check_family("mobilenetv3_large_100", "efficientnet");
	check_family("lraspp_mobilenet_v3_large", "efficientnet");
	check_family("mobilevitv2_050", "mobilevit");
	check_family("facebook/deit-base-patch16-224", "vit");
	/* a hybrid belongs to what its name starts with */
	check_family("vit_base_resnet50_384", "vit");
	check_family("ens_adv_inception_resnet_v2", "inception");
	check_family("dla60_res2net", "dla");
}

/* What the table does not know. */
static void
test_leading_word(void)
{
	check_family("convnextv2_base", "convnext");
	check_family("fancynet3", "fancynet");
	check_family("FancyNet-L", "fancynet");
	check_family("igloo", "igloo"); /* a word of provenance ends in _ */
	check_family("m5", "m5");
	check_family("x3d_s", "x3d");
	check_family("50things", "50things");
	check_family("_private_net", "private");
	check_family("v2", "v2");
	check_family("org/", "org");
	check_family("tf_", "");
	check_family("--", "");
	check_family("", "");
	check_family("\xc3\x84hnlich7", "\xc3\x84hnlich");	/* small letters are a matter of A to Z alone */
}

static void
test_sizes(void)
{
	char		buf[5];
	char		one[1];
	char		longest[3000];

	pm_family("densenet", buf, sizeof(buf));
	CHECK(strcmp(buf, "dens") == 0);
	pm_family("densenet", one, sizeof(one));
	CHECK(one[0] == '\0');
	pm_family("abc\xc3\xa4\xc3\xa4", buf, sizeof(buf));
	CHECK(strcmp(buf, "abc") == 0); /* no half of a character */
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	pm_family(longest, buf, sizeof(buf));
	CHECK(strcmp(buf, "aaaa") == 0);
}

/* "family: model model ..." a line. Returns all the text, which ends in a space. */
static char *
check_golden(void)
{
	FILE	   *f = fopen(GOLDEN, "r");
	char	   *line = NULL;
	size_t		size = 0;
	char	   *all = calloc(1, 1 << 20);
	int			models = 0;

	CHECK(f != NULL);
	strcat(all, " ");
	while (f != NULL && getline(&line, &size, f) > 0)
	{
		char	   *family = strtok(line, ":");

		for (char *model; (model = strtok(NULL, " \n")) != NULL; models++)
		{
			check_family(model, family);
			strcat(strcat(all, model), " ");
		}
	}
	CHECK(models > 700);
	free(line);
	if (f != NULL)
		fclose(f);
	return all;
}

/* Every model of data/graphs.ndjson.gz stands in the list. */
static void
check_shipped(const char *known)
{
	static const char key[] = "\"model\":";
	FILE	   *f = popen("gzip -dc data/graphs.ndjson.gz", "r");
	char	   *line = NULL;
	size_t		size = 0;
	int			graphs = 0;

	while (f != NULL && getline(&line, &size, f) > 0)
	{
		char	   *at = strstr(line, key);
		char		model[200] = "";
		char		word[204];

		if (at == NULL || sscanf(at + strlen(key), " \"%199[^\"]", model) != 1)
			continue;
		graphs++;
		snprintf(word, sizeof(word), " %s ", model);
		if (strstr(known, word) == NULL)
			check_report(0, __FILE__, __LINE__, model);
	}
	CHECK(graphs > 100);
	free(line);
	if (f != NULL)
		pclose(f);
}

int
main(void)
{
	char	   *known;

	setlocale(LC_ALL, "");
	test_kin();
	test_leading_word();
	test_sizes();
	known = check_golden();
	check_shipped(known);
	free(known);
	return check_done("test_family");
}
