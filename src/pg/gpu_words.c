/*
 * gpu_words.c - what names of devices have in common, and what is said of them: of short ones, which may mean
 * several devices, and of those of slices, which are no devices; and in which
 * words for number formats a device computes.
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "base/blanks.h"
#include "cache/freshness.h"
#include "change/fp8.h"
#include "encoding.h"
#include "errors.h"
#include "features/rates.h"
#include "gpus.h"
#include "plan/slice.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_gpu_formats);

/* ---------- normal form of a name ---------- */

static bool
strip_word(char **s, const char *word)
{
	size_t		len = strlen(word);

	/* "Tesla" alone is a name */
	if (strncmp(*s, word, len) != 0 || (*s)[len] == '\0')
		return false;
	*s += len;
	return true;
}

char *
pm_gpu_key(const char *name)
{
	static const char *const words[] = {"nvidia", "geforce", "tesla", "amd"};
	char	   *buf = palloc(strlen(name) + 1);
	char	   *to = buf;
	bool		again = true;

	for (const char *from = name; *from; from++)
	{
		unsigned char c = *from;
		int			blank = pm_wide_blank(from);

		if (blank > 0)
			from += blank - 1;
		else if (IS_HIGHBIT_SET(c) || isalnum(c))
			*to++ = pg_ascii_tolower(c);
	}
	*to = '\0';
	while (again)
	{
		again = false;
		for (int i = 0; i < lengthof(words); i++)
			again |= strip_word(&buf, words[i]);
	}
	return buf;
}

/* ---------- short names ---------- */

char *
pm_note_short_name(const text *given, const pm_gpu *taken, const char *note)
{
	char	   *name = text_to_cstring(given);
	const char **others;

	if (pm_gpu_others_meant(name, &others) == 0)
		return unconstify(char *, note);
	return psprintf("%s%sgpu \"%s\" was taken for \"%s\"", note ? note : "", note ? "; " : "", pm_shown_name(name), pm_message_from_core(taken->name));
}

/* A statement may write or read thousands of rows with such a name. */
void
pm_notice_short_gpu(const char *given, const char *taken)
{
	static TimestampTz statement = 0;
	static uint64 told = 0;		/* a bit for each name; names with the same bit are told once */
	uint64		bit = UINT64CONST(1) << (pm_hash(PM_HASH_INIT, given, strlen(given)) % 64);
	const char **others;
	int			n;

	if (statement != GetCurrentStatementStartTimestamp())
		told = 0;
	statement = GetCurrentStatementStartTimestamp();
	if (told & bit)
		return;
	told |= bit;
	n = pm_gpu_others_meant(given, &others);
	for (int i = 0; i < n; i++)
		others[i] = pm_message_from_core(others[i]);
	if (n > 0)
		ereport(NOTICE,
				(errmsg("GPU \"%s\" is taken for \"%s\"", pm_shown_name(given), taken),
				 errhint("If another one is meant, write its whole name: %s.", pm_quoted_list(others, n))));
}

/* ---------- slices ---------- */

bool
pm_gpu_is_slice(const char *name)
{
	pm_slice	s;

	return pm_slice_read(name, &s);
}

char *
pm_gpu_slice_hint(const char *name)
{
	pm_slice	s;
	pm_problem	p;
	const pm_gpu *card;

	if (!pm_slice_read(name, &s))
		return NULL;
	card = s.card > 0 ? pm_gpu_look_up(pnstrdup(name, s.card), &p) : NULL;
	return psprintf("%s; what is known of %s does not hold for it. INSERT the data sheet of the slice into perfmodel.gpu, or ask about the whole card.",
					s.memory_gb > 0 ? psprintf("It has %d of the compute slices of a card and %d GB of memory", s.computes, s.memory_gb) : "It is a part of a card",
					card != NULL ? psprintf("the whole card, \"%s\",", pm_message_from_core(card->name)) : "whole cards");
}

/* ---------- formats ---------- */

Datum
pm_gpu_formats(PG_FUNCTION_ARGS)
{
	const pm_gpu *gpu;
	const char *names[PM_N_DTYPES + 1];
	int			n = 0;

	pm_freshen();
	gpu = pm_gpu_find(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	for (int dtype = 0; dtype < PM_N_DTYPES; dtype++)
		if (pm_gpu_offers(gpu, (pm_dtype) dtype))
			names[n++] = pm_dtype_name[dtype];
	if (pm_gpu_fp8_units(gpu) == PM_FP8_YES)
		names[n++] = PM_FP8_NAME;
	PG_RETURN_DATUM(pm_text_array(names, n));
}
