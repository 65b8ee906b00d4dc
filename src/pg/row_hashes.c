/*
 * row_hashes.c - a hash of what a measurement says: by it a predictor knows the
 * rows that it learned from in a database where they have other numbers.
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "measurements.h"
#include "errors.h"
#include "results.h"

PG_FUNCTION_INFO_V1(pm_row_hash_sql);

static uint64
hash_text(uint64 h, const char *s)
{
	return pm_hash(h, s, strlen(s) + 1);
}

/* What a measurement says. framework "": not known. */
typedef struct said
{
	uint64		structure;
	const char *gpu;
	int64		batch;
	const char *dtype;
	const char *layout;
	const char *framework;
	const char *optimizer;
	double		step_ms;
	pm_mode		mode;
} said;

static uint64
hash_said(const said *s)
{
	uint64		h = pm_mix(s->structure);
	uint64		bits;

	/* numbers by value, not by bytes, so that machines agree */
	memcpy(&bits, &s->step_ms, sizeof(bits));
	h = pm_mix(h ^ (uint64) s->batch);
	h = pm_mix(h ^ bits);
	h = hash_text(h, s->gpu);
	h = hash_text(h, s->dtype);
	h = hash_text(h, s->layout);
	h = hash_text(h, s->framework);
	h = hash_text(h, s->optimizer);
	/* training is what all were before there was a mode */
	return pm_mix(s->mode == PM_TRAIN ? h : hash_text(h, pm_mode_name[s->mode]));
}

static int
compare_hashes(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return (x > y) - (x < y);
}

Datum
pm_rows_hashes(const pm_rows *r)
{
	int			rows = r->set.n + r->set.n_passes;
	int64	   *hash = palloc(sizeof(int64) * Max(rows, 1));
	int			n = 0;

	for (int i = 0; i < rows; i++)
	{
		const pm_question *q = &r->set.samples[i].query;

		hash[i] = (int64) hash_said(&(said) {q->graph->structure, r->gpu[i], q->batch, r->dtype[i], r->layout[i], r->framework[i],
			pm_optimizer_name[q->optimizer], r->set.samples[i].step_ms, q->mode});
	}
	qsort(hash, rows, sizeof(int64), compare_hashes);
	for (int i = 0; i < rows; i++)
		if (n == 0 || hash[i] != hash[n - 1])
			hash[n++] = hash[i];
	return pm_int8_array(hash, n);
}

Datum
pm_row_hash_sql(PG_FUNCTION_ARGS)
{
	char	   *structure;
	said		s;
	int			mode;

	for (int i = 0; i < PG_NARGS(); i++)
		if (PG_ARGISNULL(i) && i != 5)
			PG_RETURN_NULL();
	structure = text_to_cstring(PG_GETARG_TEXT_PP(0));
	mode = PG_NARGS() > 8 ? pm_mode_parse(text_to_cstring(PG_GETARG_TEXT_PP(8))) : PM_TRAIN;
	s = (said) {
		.structure = strtoull(structure, NULL, 16), .gpu = text_to_cstring(PG_GETARG_TEXT_PP(1)), .batch = PG_GETARG_INT32(2),
		.dtype = text_to_cstring(PG_GETARG_TEXT_PP(3)), .layout = text_to_cstring(PG_GETARG_TEXT_PP(4)),
		.framework = PG_ARGISNULL(5) ? "" : text_to_cstring(PG_GETARG_TEXT_PP(5)),
		.optimizer = text_to_cstring(PG_GETARG_TEXT_PP(6)), .step_ms = PG_GETARG_FLOAT8(7), .mode = (pm_mode) mode
	};
	if (mode < 0)
		PG_RETURN_NULL();
	if (structure[0] == '\0' || strlen(structure) > 16 || structure[strspn(structure, "0123456789abcdefABCDEF")] != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("structure must be a hash as in perfmodel.graph, not \"%s\"", pm_shown_name(structure))));
	PG_RETURN_INT64((int64) hash_said(&s));
}
