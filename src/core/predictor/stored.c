/*
 * stored.c - the stored form of predictors.
 *
 * Little-endian: magic "PMPR", format version, kind, quantity, the schema
 * (lists of names and versions of rules), options as name and value, what the
 * kind knows, interval and domain, a correction or none, a calibration of pairs or
 * none, factors of forward passes or none, and a CRC-32C of all that.  A value of
 * an option is a number, or the text of a choice.  Format 1 is that of perfmodel
 * 0.1.0, whose predictors know other work of the same operators and must be
 * trained again; no release has formats 2 to 11.
 */
#include "predictor/stored.h"

#include <math.h>
#include <string.h>

#include "nn/blas.h"
#include "predictor/correction.h"
#include "predictor/passes.h"
#include "predictor/transfer.h"

#define FORMAT_MAGIC UINT32_C(0x52504d50)	/* "PMPR" */
#define FORMAT_VERSION 15

static void
save_options(const pm_predictor *p, pm_buffer *b)
{
	pm_put_u32(b, (uint32_t) p->kind->n_options);
	for (int i = 0; i < p->kind->n_options; i++)
	{
		const pm_option *def = &p->kind->options[i];
		bool		is_choice = def->type == PM_OPT_CHOICE;
		char		text[64];

		pm_put_text(b, def->name);
		pm_put_u32(b, is_choice);
		pm_option_print(def, p->options.value[i], text, sizeof(text));
		if (is_choice)
			pm_put_text(b, text);
		else
			pm_put_f64(b, p->options.value[i]);
	}
}

pm_code
pm_predictor_save(const pm_predictor *p, pm_arena *a, uint8_t **data, size_t *len, pm_status *st)
{
	pm_buffer	b = {.arena = a};
	pm_code		rc;

	pm_put_u32(&b, FORMAT_MAGIC);
	pm_put_u32(&b, FORMAT_VERSION);
	pm_put_text(&b, p->kind->name);
	pm_put_text(&b, pm_predictor_quantity(p)->name);
	pm_schema_save(pm_predictor_schema(p), &b);
	save_options(p, &b);
	if ((rc = p->kind->save(p, &b, st)) != PM_OK)
		return rc;
	pm_trust_save(p->trust, &b);
	pm_put_u32(&b, p->correction != NULL);
	if (p->correction != NULL)
		pm_correction_save(p->correction, &b);
	pm_put_u32(&b, p->transfer != NULL);
	if (p->transfer != NULL)
		pm_transfer_save(p->transfer, &b);
	pm_put_u32(&b, p->passes != NULL);
	if (p->passes != NULL)
		pm_passes_save(p->passes, &b);
	pm_put_u32(&b, pm_crc32c(b.data, b.len));
	if (b.failed)
		return pm_no_memory(st, a);
	*data = b.data;
	*len = b.len;
	return PM_OK;
}

static pm_code
load_choice(const pm_option *def, pm_reader *r, pm_arena *a, double *value, pm_status *st)
{
	const char *text = pm_get_text(r, a);

	if (text == NULL)
		return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged options") : pm_no_memory(st, a);
	*value = pm_choice_find(def->choices, text);
	return *value >= 0 ? PM_OK :
		pm_outdated(st, "stored predictor has \"%.*s\" for the option \"%s\", which this library does not know", pm_shown(text), text,
					def->name);
}

static pm_code
load_option(const pm_option *def, pm_reader *r, pm_arena *a, double *value, pm_status *st)
{
	bool		is_choice = pm_get_u32(r, 1);

	if (is_choice && def->type == PM_OPT_CHOICE)
		return load_choice(def, r, a, value, st);
	*value = pm_get_f64(r);
	if (r->failed || is_choice != (def->type == PM_OPT_CHOICE) || !pm_option_allows(def, *value))
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged options");
	return PM_OK;
}

/* Options that the kind has gained since are 0 if the kind says so, else as they are when nobody sets them. */
static pm_code
load_options(pm_predictor *p, pm_reader *r, pm_arena *a, pm_status *st)
{
	uint32_t	n = pm_get_u32(r, PM_MAX_OPTIONS);
	pm_code		rc = pm_options_set(p->kind, NULL, 0, &p->options, st);

	if (rc != PM_OK)
		return rc;
	for (int i = 0; i < p->kind->n_options; i++)
		if (p->kind->options[i].later)
			p->options.value[i] = 0;
	for (uint32_t i = 0; i < n; i++)
	{
		const char *name = pm_get_text(r, a);
		int			at;

		if (name == NULL)
			return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged options") : pm_no_memory(st, a);
		if ((at = pm_option_find(p->kind, name)) < 0)
			return pm_outdated(st, "stored predictor has the option \"%.*s\", which kind \"%s\" of this library does not have",
							   pm_shown(name), name, p->kind->name);
		rc = load_option(&p->kind->options[at], r, a, &p->options.value[at], st);
		if (rc != PM_OK)
			return rc;
	}
	return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has damaged options") : PM_OK;
}

/* Magic, version and checksum. */
static pm_code
load_frame(pm_reader *r, pm_status *st)
{
	uint32_t	version,
				crc;

	if (r->len < 16 || pm_get_raw_u32(r) != FORMAT_MAGIC)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor does not start with its magic number");
	/* the checksum first: what is damaged is not of another version */
	r->len -= 4;
	crc = (uint32_t) r->data[r->len] | (uint32_t) r->data[r->len + 1] << 8 |
		(uint32_t) r->data[r->len + 2] << 16 | (uint32_t) r->data[r->len + 3] << 24;
	if (crc != pm_crc32c(r->data, r->len))
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor is damaged: its checksum does not match");
	version = pm_get_raw_u32(r);
	return version == FORMAT_VERSION ? PM_OK :
		pm_outdated(st, "stored predictor has format version %u, and this library reads version %d", (unsigned) version, FORMAT_VERSION);
}

/* Kind and quantity. */
static pm_code
load_header(pm_reader *r, pm_arena *a, pm_predictor *p, pm_status *st)
{
	const char *kind = pm_get_text(r, a);
	const char *quantity = pm_get_text(r, a);

	if (kind == NULL || quantity == NULL)
		return r->failed ? pm_fail(st, PM_ERR_FORMAT, "stored predictor has a damaged header") : pm_no_memory(st, a);
	p->kind = pm_kind_find(kind);
	p->quantity = pm_quantity_find(quantity);
	if (p->kind == NULL)
		return pm_outdated(st, "stored predictor is of kind \"%.*s\", which this library does not know", pm_shown(kind), kind);
	if (p->quantity == NULL || !(p->kind->quantities & PM_LEARNS(p->quantity->id)))
		return pm_outdated(st, "stored predictor predicts \"%.*s\", which kind \"%s\" of this library does not",
						   pm_shown(quantity), quantity, p->kind->name);
	return PM_OK;
}

pm_code
pm_predictor_load(const uint8_t *data, size_t len, pm_arena *a, pm_predictor *p, pm_status *st)
{
	pm_reader	r = {.data = data, .len = len};
	pm_code		rc;

	memset(p, 0, sizeof(*p));
	if ((rc = pm_blas_reserve(1, st)) != PM_OK ||
		(rc = load_frame(&r, st)) != PM_OK ||
		(rc = load_header(&r, a, p, st)) != PM_OK ||
		(rc = pm_schema_load(&r, a, &p->schema, st)) != PM_OK ||
		(rc = load_options(p, &r, a, st)) != PM_OK ||
		(rc = p->kind->load(p, &r, a, st)) != PM_OK ||
		(rc = pm_trust_load(&r, a, &p->trust, st)) != PM_OK ||
		(pm_get_u32(&r, 1) != 0 && (rc = pm_correction_load(&r, a, &p->correction, st)) != PM_OK) ||
		(pm_get_u32(&r, 1) != 0 && (rc = pm_transfer_load(&r, a, &p->transfer, st)) != PM_OK) ||
		(pm_get_u32(&r, 1) != 0 && (rc = pm_passes_load(&r, a, &p->passes, st)) != PM_OK))
		return rc;
	if (r.failed || r.at != r.len)
		return pm_fail(st, PM_ERR_FORMAT, "stored predictor has the wrong length");
	return PM_OK;
}

/* ---- proof ---- */

#define PROVEN_ROWS	8			/* of the training, that a predictor is asked before it is kept */

/* Whether the predictor that was read back answers row s as p does, and soundly. */
static pm_code
prove_row(const pm_predictor *p, const pm_predictor *back, const pm_sample *s, pm_arena *scratch, pm_status *st)
{
	double		value;
	double		again;
	pm_verdict	v;
	pm_code		rc;

	if ((rc = pm_predictor_predict(p, s, scratch, &value, NULL, NULL, st)) != PM_OK ||
		(rc = pm_predictor_predict(back, s, scratch, &again, NULL, NULL, st)) != PM_OK ||
		(rc = pm_predictor_judge(back, s, again, PM_LEVEL_USUAL, scratch, &v, st)) != PM_OK)
		return rc;
	if (memcmp(&value, &again, sizeof(value)) != 0)
		return pm_diverged(st, "it answers otherwise when it has been stored");
	if (!isnan(v.low_ms) && !(v.low_ms > 0 && v.low_ms <= value && value <= v.high_ms && isfinite(v.high_ms)))
		return pm_diverged(st, "its intervals do not hold its predictions");
	return PM_OK;
}

static pm_code
prove(const pm_predictor *p, const pm_dataset *d, const uint8_t *data, size_t len, const pm_arena *a, pm_status *st)
{
	int			rows = d->n < PROVEN_ROWS ? d->n : PROVEN_ROWS;
	pm_status	why = {PM_OK};
	pm_predictor back;
	pm_arena	room;
	pm_code		rc;

	pm_arena_init_within(&room, a);
	rc = pm_predictor_load(data, len, &room, &back, &why);
	for (int i = 0; i < rows && rc == PM_OK; i++)
	{
		pm_arena	scratch;

		pm_arena_init_within(&scratch, &room);
		rc = prove_row(p, &back, &d->samples[(size_t) i * d->n / rows], &scratch, &why);
		pm_arena_release(&scratch);
	}
	pm_arena_release(&room);
	if (rc != PM_OK && rc != PM_ERR_MEMORY && rc != PM_CANCELLED && rc != PM_ERR_DIVERGED)
		return pm_diverged(st, why.message);
	if (st != NULL && rc != PM_OK)
		*st = why;
	return rc;
}

pm_code
pm_predictor_save_proven(const pm_predictor *p, const pm_dataset *d, pm_arena *a, uint8_t **data, size_t *len, pm_status *st)
{
	pm_code		rc = pm_predictor_save(p, a, data, len, st);

	return rc == PM_OK ? prove(p, d, *data, *len, a, st) : rc;
}
