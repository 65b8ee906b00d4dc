/*
 * family.c - the family of a model, from its name.
 *
 * 1. Letters A to Z become small.  What stands up to the last "/" (an
 *    organisation) and words that say only where weights come from are dropped.
 * 2. The first row of the table that has a pattern for the name gives the family.
 * 3. Otherwise it is the leading word: the letters in front, without a "v"
 *    that only counts versions ("fbnetv3" is "fbnet").  A word of one letter
 *    says nothing alone, so the digits and letters behind it belong to it ("t5").
 *
 * Bytes above 127 are letters: names of other scripts have families too.
 */
#include "graph/family.h"

#include <stdbool.h>
#include <string.h>

/* Words in front of a name that say where code or weights come from. */
static const char *const provenance[] = {
	"tf_", "gluon_", "tv_", "ssl_", "swsl_", "ig_", "adv_", "ens_", "legacy_", "jx_", "dm_", "timm_"
};

/*
 * Kin by architecture.  A pattern without * is a leading word, one that ends
 * in * is how a name starts, one between * may stand anywhere in it.  The
 * first row that fits counts: a hybrid belongs to what its name starts with.
 */
static const struct kin
{
	const char *family;
	const char *patterns;
}			kin[] =
{
	/* branches of convolutions of several sizes */
	{"inception", "inception* googlenet"},
	/* image patches through plain Transformer blocks */
	{"vit", "vit deit beit eva cait convit crossvit pit tnt"},
	/* 3D residual networks, for video */
	{"resnet3d", "r3d_* mc3_* r2plus1d_*"},
	/* inverted bottlenecks with depthwise convolutions, most found by search */
	{"efficientnet", "efficientnet* *mobilenet* *mnasnet* spnasnet mixnet fbnet fbnetc tinynet hardcorenas* lcnet rexnet rexnetr ghostnet"},
	/* residual bottlenecks: grouped, wide, with attention over channels or in place of a convolution */
	{"resnet", "*resne* res2ne* senet wrn *botne* *halone* lambda"},
	{"nfnet", "*nfnet*"},
	{"regnet", "*regnet*"},
	{"darknet", "*darknet* cs3*"},
	{"vovnet", "*vovnet*"},
	{"densenet", "densenet*"},
	{"nasnet", "*nasnet*"},
	{"mobilevit", "*mobilevit*"},
	{"maxvit", "maxvit maxxvit coatnet"},
	{"swin", "swin*"},
	/* patches mixed by matrix products alone */
	{"mixer", "mixer gmixer gmlp resmlp"},
	/* Transformers over text: encoders, decoders, both */
	{"bert", "*bert* electra mpnet"},
	{"gpt", "gpt llama mistral opt bloom falcon pythia qwen gemma phi"},
	{"t5", "t5 mt5 flan bart mbart pegasus marian translator"},
	/* recurrent networks over text: the next word, a tag for each word */
	{"rnnlm", "rnnlm lstmlm grulm"},
	{"rnntagger", "rnntagger lstmtagger grutagger"},
	/* from an image to an image, with a discriminator */
	{"cyclegan", "cyclegan patchgan"},
	/* tables of embeddings under fully connected layers */
	{"recommender", "dlrm ncf widedeep deepfm"},
};

static char
small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c + ('a' - 'A')) : c;
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (unsigned char) c > 127;
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool
starts_with(const char *name, const char *start, size_t len)
{
	return strncmp(name, start, len) == 0;
}

/* Copy a name in small letters, from behind its last "/", cut to size at the end of a character. */
static void
copy_small(const char *model, char *buf, size_t size)
{
	const char *slash = strrchr(model, '/');
	size_t		n = 0;

	if (slash != NULL && slash[1] != '\0')
		model = slash + 1;
	for (; n + 1 < size && model[n] != '\0'; n++)
		buf[n] = small(model[n]);
	while (n > 0 && ((unsigned char) model[n] & 0xc0) == 0x80)
		n--;					/* the rest of a character that was cut */
	buf[n] = '\0';
}

static const char *
without_provenance(const char *name)
{
	for (size_t i = 0; i < sizeof(provenance) / sizeof(provenance[0]); i++)
		if (starts_with(name, provenance[i], strlen(provenance[i])))
		{
			name += strlen(provenance[i]);
			i = (size_t) -1;	/* there may be another: ens_adv_ */
		}
	return name;
}

/* Length of the leading word of a name. */
static size_t
word_length(const char *name)
{
	size_t		n = 0;

	while (is_letter(name[n]))
		n++;
	if (n > 2 && name[n - 1] == 'v' && is_digit(name[n]))
		return n - 1;
	if (n < 2)
		while (is_letter(name[n]) || is_digit(name[n]))
			n++;
	return n;
}

/* Whether the pattern of len bytes fits a name whose leading word has so many. */
static bool
fits(const char *name, size_t word, const char *pattern, size_t len)
{
	if (pattern[len - 1] != '*')
		return len == word && starts_with(name, pattern, len);
	if (pattern[0] != '*')
		return starts_with(name, pattern, len - 1);
	for (; *name != '\0'; name++)
		if (starts_with(name, pattern + 1, len - 2))
			return true;
	return false;
}

static bool
fits_one(const char *name, size_t word, const char *patterns)
{
	while (*patterns != '\0')
	{
		size_t		len = strcspn(patterns, " ");

		if (fits(name, word, patterns, len))
			return true;
		patterns += len + strspn(patterns + len, " ");
	}
	return false;
}

static void
put(char *buf, size_t size, const char *s, size_t len)
{
	if (len > size - 1)
		for (len = size - 1; len > 0 && ((unsigned char) s[len] & 0xc0) == 0x80;)
			len--;
	memcpy(buf, s, len);
	buf[len] = '\0';
}

void
pm_family(const char *model, char *buf, size_t size)
{
	char		whole[4 * PM_FAMILY_SIZE];
	const char *name;
	size_t		word;

	copy_small(model, whole, sizeof(whole));
	name = without_provenance(whole);
	word = word_length(name);
	if (word == 0)				/* "_x": what separates words stands in front */
	{
		while (*name != '\0' && !is_letter(*name) && !is_digit(*name))
			name++;
		word = word_length(name);
	}
	for (size_t i = 0; i < sizeof(kin) / sizeof(kin[0]); i++)
		if (fits_one(name, word, kin[i].patterns))
		{
			put(buf, size, kin[i].family, strlen(kin[i].family));
			return;
		}
	put(buf, size, name, word);
}
