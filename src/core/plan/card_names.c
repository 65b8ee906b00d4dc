/*
 * card_names.c - the devices whose names are nearest to an unknown name.
 */
#include "plan/card_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blanks.h"
#include "plan/names.h"

#define SAME_NUMBER		4.0
#define SAME_SERIES		2.0
#define PART_OF_SERIES	1.5		/* "GH200" and "H200" */
#define NEAR_NUMBER		2.0		/* of one series: for numbers that are all but equal */
#define SAME_DIGITS		0.5		/* "A800" is rather an A100 than an A40 or an RTX A6000 */
#define FAR_NUMBER		0.5		/* below: a series of one letter may be anybody's, such as "v4" and "V100" */
#define SAME_WORD		1.0
#define OTHER_WORD		0.1

/* Words that do not tell one device from another. */
static bool
says_nothing(const char *word)
{
	static const char *const words[] = {"nvidia", "geforce", "tesla", "amd", "gb", "gib", "g", "gpu", "graphics", "with", "design", "generation"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

/* The run of letters or of digits at s, in lower case; how many bytes it has. */
static size_t
read_word(const char *s, char *word)
{
	bool		digits = pm_is_digit(*s);
	size_t		n = 0;
	size_t		kept = 0;

	for (; digits ? pm_is_digit(s[n]) : pm_is_letter(s[n]) && pm_wide_blank(s + n) == 0; n++)
		if (kept < PM_CARD_LETTERS)
			word[kept++] = s[n] >= 'A' && s[n] <= 'Z' ? s[n] - 'A' + 'a' : s[n];
	word[kept] = '\0';
	return n;
}

void
pm_card_name_read(const char *name, pm_card_name *c)
{
	*c = (pm_card_name) {.model = -1};
	while (*name && c->n < PM_CARD_WORDS)
	{
		char	   *word = c->words[c->n];

		if (pm_wide_blank(name) > 0)
		{
			name += pm_wide_blank(name);
			continue;
		}
		if (!pm_is_digit(*name) && !pm_is_letter(*name))
		{
			name++;
			continue;
		}
		name += read_word(name, word);
		if (says_nothing(word))
			continue;
		c->seen |= UINT64_C(1) << pm_hash(PM_HASH_INIT, word, strlen(word)) % 64;
		if (pm_is_digit(*word) && c->model < 0)
			c->model = c->n;
		c->n++;
	}
}

/* The letters before the number of the model, "" where there are none. */
static const char *
series(const pm_card_name *c)
{
	return c->model > 0 ? c->words[c->model - 1] : "";
}

static bool
ends_with(const char *word, const char *end)
{
	size_t		n = strlen(word);
	size_t		m = strlen(end);

	return m > 0 && m < n && strcmp(word + n - m, end) == 0;
}

/* Whether the longer of two numbers of three and four digits is the other one with a digit more: "390" and "3090". */
static bool
lacks_digit(const char *a, const char *b)
{
	size_t		n = strlen(a);
	size_t		same = 0;

	if (n > strlen(b))
		return lacks_digit(b, a);
	if (n < 3 || strlen(b) != n + 1)
		return false;
	while (same < n && a[same] == b[same])
		same++;
	return strcmp(a + same, b + same + 1) == 0;
}

/* What the numbers of the models and the series before them count; 0: they are not of one kind. */
static double
model_nearness(const pm_card_name *w, const pm_card_name *k)
{
	const char *wanted = series(w);
	const char *known = series(k);
	bool		same_series = *wanted && strcmp(wanted, known) == 0;
	double		apart;
	double		number;

	if (w->model < 0 || k->model < 0)
		return 0;
	if (strcmp(w->words[w->model], k->words[k->model]) == 0)
	{
		if (same_series)
			return SAME_NUMBER + SAME_SERIES;
		if (ends_with(wanted, known) || ends_with(known, wanted))
			return SAME_NUMBER + PART_OF_SERIES;
		return strlen(w->words[w->model]) >= 3 ? SAME_NUMBER : 0;
	}
	if (!same_series)
		return 0;
	apart = lacks_digit(w->words[w->model], k->words[k->model]) ? 0 : fabs(log((atof(w->words[w->model]) + 1) / (atof(k->words[k->model]) + 1)));
	number = NEAR_NUMBER / (1 + apart);
	if (number < FAR_NUMBER)
		return 0;
	return SAME_SERIES + number + (strlen(w->words[w->model]) == strlen(k->words[k->model]) ? SAME_DIGITS : 0);
}

static bool
has_word(const pm_card_name *c, const char *word)
{
	for (int i = 0; i < c->n; i++)
		if (i != c->model && strcmp(c->words[i], word) == 0)
			return true;
	return false;
}

double
pm_card_name_nearness(const pm_card_name *wanted, const pm_card_name *known)
{
	double		near = model_nearness(wanted, known);
	double		words = 0;
	bool		telling = near > 0;
	size_t		letters = wanted->model < 0 ? 3 : 4;	/* of a word that tells something: "cpu", "rtx"; but not the "max" of "M2 Max" */

	/* two names of nothing in common, as most are */
	if (!telling && !(wanted->seen & known->seen))
		return 0;
	for (int i = 0; i < wanted->n; i++)
	{
		if (i == wanted->model)
			continue;
		if (!has_word(known, wanted->words[i]))
			words -= OTHER_WORD;
		else
		{
			words += SAME_WORD;
			telling = telling || strlen(wanted->words[i]) >= letters;
		}
	}
	for (int i = 0; i < known->n; i++)
		if (i != known->model && !has_word(wanted, known->words[i]))
			words -= OTHER_WORD;
	return telling && near + words > 0 ? near + words : 0;
}

/* ---- types of machines ---- */

typedef struct machine
{
	const char *type;			/* what the name begins with, in lower case */
	const char *end;			/* and ends with; "": anything */
	const char *card;
} machine;

/* Amazon EC2, Google Compute Engine, Azure. The first row that fits counts. */
static const machine machines[] = {
	{"p2.", "", "K80"}, {"p3.", "", "V100-SXM2-16GB"}, {"p3dn.", "", "V100-SXM2-32GB"}, {"p4d.", "", "A100-SXM4-40GB"},
	{"p4de.", "", "A100-SXM4-80GB"}, {"p5.", "", "H100-SXM5-80GB"}, {"p5e.", "", "H200"}, {"p5en.", "", "H200"}, {"p6-b200.", "", "B200"},
	{"g4dn.", "", "T4"}, {"g5.", "", "A10G"}, {"g6.", "", "L4"}, {"g6e.", "", "L40S"},
	{"a2-highgpu-", "", "A100-SXM4-40GB"}, {"a2-megagpu-", "", "A100-SXM4-40GB"}, {"a2-ultragpu-", "", "A100-SXM4-80GB"},
	{"a3-ultragpu-", "", "H200"}, {"a3-", "", "H100-SXM5-80GB"}, {"a4-highgpu-", "", "B200"}, {"g2-standard-", "", "L4"},
	{"standard_nc", "_t4_v3", "T4"}, {"standard_nc", "_a100_v4", "A100-PCIE-80GB"}, {"standard_nc", "s_v3", "V100-PCIE-16GB"},
	{"standard_nc", "s_v2", "P100-PCIE-16GB"}, {"standard_nd40rs_v2", "", "V100-SXM2-32GB"}, {"standard_nd", "amsr_a100_v4", "A100-SXM4-80GB"},
	{"standard_nd", "asr_v4", "A100-SXM4-40GB"}, {"standard_nd", "_h100_v5", "H100-SXM5-80GB"}, {"standard_nd", "_h200_v5", "H200"},
};

/* Whether name[..n), in any case, is word, which is in lower case. */
static bool
is_word(const char *name, const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]) != word[i])
			return false;
	return true;
}

const char *
pm_card_of_machine(const char *name)
{
	size_t		len = strlen(name);

	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++)
	{
		const machine *m = &machines[i];
		size_t		begins = strlen(m->type);
		size_t		ends = strlen(m->end);

		if (len >= begins + ends && is_word(name, m->type, begins) && is_word(name + len - ends, m->end, ends))
			return m->card;
	}
	return NULL;
}
