/*
 * encoding.c - UTF-8 of the core from and to the encoding of the database.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/namespace.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "encoding.h"

#define PIECE	1048576			/* bytes that are converted at once */

char *
pm_to_core(const char *s)
{
	return pg_server_to_any(s, strlen(s), PG_UTF8);
}

/* In pieces, since a long text has more bytes in UTF-8 than an int counts; NULL: some bytes cannot be converted. */
static char *
convert(Oid proc, int server, const char *s, int len)
{
	char	   *result = MemoryContextAllocHuge(CurrentMemoryContext, (Size) len * MAX_CONVERSION_GROWTH + 1);
	char	   *to = result;

	*to = '\0';
	for (int done = 0, n; done < len; done += n)
	{
		CHECK_FOR_INTERRUPTS();
		/* stops before what is no letter, or is not all of one */
		n = pg_do_encoding_conversion_buf(proc, server, PG_UTF8, (unsigned char *) unconstify(char *, s) + done, len - done,
										  (unsigned char *) to, Min(len - done, PIECE) * MAX_CONVERSION_GROWTH + 1, true);
		if (n == 0)
			return NULL;
		to += strlen(to);
	}
	return result;
}

char *
pm_to_core_or_null(const char *s)
{
	int			server = GetDatabaseEncoding();
	int			len = strlen(s);
	Oid			proc;

	if (server == PG_UTF8)
		return unconstify(char *, s);
	if (server == PG_SQL_ASCII)
		return pg_verify_mbstr(PG_UTF8, s, len, true) ? unconstify(char *, s) : NULL;
	proc = FindDefaultConversionProc(server, PG_UTF8);
	if (!OidIsValid(proc))
		return NULL;
	return convert(proc, server, s, len);
}

char *
pm_to_core_lossy(const char *s)
{
	char	   *result = pm_to_core_or_null(s);

	if (result != NULL)
		return result;
	result = pstrdup(s);
	for (char *c = result; *c; c++)
		if (IS_HIGHBIT_SET(*c))
			*c = '?';
	return result;
}

char *
pm_from_core(const char *s)
{
	return pg_any_to_server(s, strlen(s), PG_UTF8);
}

/* Length of the whole UTF-8 letter that s begins with, 0: it begins with none. */
static int
letter_length(const char *s)
{
	int			len = pg_utf_mblen((const unsigned char *) s);

	return strnlen(s, len) == len && pg_utf8_islegal((const unsigned char *) s, len) ? len : 0;
}

char *
pm_message_from_core(const char *s)
{
	int			server = GetDatabaseEncoding();
	Oid			proc;
	char	   *result;
	char	   *to;

	if (server == PG_SQL_ASCII || !IsTransactionState() || (server == PG_UTF8 && pg_verify_mbstr(PG_UTF8, s, strlen(s), true)))
		return unconstify(char *, s);
	proc = server == PG_UTF8 ? InvalidOid : FindDefaultConversionProc(PG_UTF8, server);
	result = to = palloc(strlen(s) * MAX_CONVERSION_GROWTH + 1);
	while (*s)
	{
		int			len = letter_length(s);

		to[0] = *s;
		to[1] = '\0';
		if (server == PG_UTF8 && len > 0)
		{
			memcpy(to, s, len);
			to[len] = '\0';
		}
		else if (IS_HIGHBIT_SET(*s) &&
			(len == 0 || !OidIsValid(proc) ||
			 pg_do_encoding_conversion_buf(proc, PG_UTF8, server, (unsigned char *) unconstify(char *, s), len,
										   (unsigned char *) to, MAX_CONVERSION_GROWTH * len + 1, true) != len))
			strcpy(to, "?");
		to += strlen(to);
		s += Max(len, 1);
	}
	*to = '\0';
	return result;
}
