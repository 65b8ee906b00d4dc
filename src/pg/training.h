/*
 * training.h - code that train(), train_async() and the background worker
 * share.
 *
 * A training has four steps: check what can be refused at once, read the
 * measurements, fit, store. In the foreground, all are in the transaction of
 * the caller. In the background, each is a transaction of its own, except the
 * fit, which takes long and is outside of any transaction (docs/training.md).
 */
#ifndef PM_PG_TRAINING_H
#define PM_PG_TRAINING_H

#include "fmgr.h"
#include "utils/array.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"

#include "measurements.h"
#include "run_hooks.h"

/* Zeroed, then filled step by step. Everything lives at least as long as the context that pm_training_read() ran in. */
typedef struct pm_training
{
	/* what was asked for */
	const char *name;
	ArrayType  *profiles;		/* NULL: all */
	Jsonb	   *settings;		/* options as they were given; NULL: none */
	const char *warm_start;		/* name of the predictor to go on from; NULL: none */
	TimestampTz started_at;
	int64		run_id;			/* of a row that is there already (background); 0: none */

	/* what came of it */
	pm_predictor predictor;		/* kind and options from the start, the rest after the fit */
	int64		start_id;		/* predictor_id of the one it goes on from; 0: none */
	pm_start	start;
	uint64		seed;
	int			threads;
	pm_rows    *rows;
	double		memory_bytes;
	pm_fit_report report;
	pm_progress last;			/* that was reported; epoch 0: none was */
} pm_training;

/* ---- train_sql.c ---- */

/* name, kind, profiles, options, warm_start: the arguments of train() and train_async(). */
extern void pm_training_args(FunctionCallInfo fcinfo, pm_training *t);

/* ---- train_steps.c ---- */

/* Refuse when the kind says that it needs more than perfmodel.train_mem; bytes it needs. */
extern double pm_check_memory(const pm_kind *kind, const pm_options *o, const pm_dataset *d, const pm_rows *rows, int threads);

/* Bytes that the kind says it needs, and that perfmodel.train_mem allows. */
extern double pm_memory_needed(const pm_kind *kind, const pm_options *o, const pm_dataset *d, const pm_rows *rows, int threads);
extern double pm_memory_limit(void);

/* What a kind learns from, steps and single operators, in a context of its own below the current one. */
extern pm_rows *pm_rows_load_apart(ArrayType *ids, const pm_kind *kind, const pm_options *o, Size limit, MemoryContext *cxt);

/*
 * Kind, options and t->warm_start by name; raises for those that do not exist
 * or do not go together.  Needs an active snapshot.
 */
extern void pm_training_choose(pm_training *t, const char *kind, Jsonb *settings);

/* Name and rights. Inside SPI_connect(); serialises trainings of that name to the end of the transaction. */
extern void pm_training_check(const pm_training *t);

/*
 * seen[rows] becomes true where the predictor, or one that it came from, was
 * trained on a network of the row's structure; returns on how many of the rows.
 * corrected: rows that it was recalibrated on count, too.  Inside
 * SPI_connect(), under the snapshot that the rows were read under.
 */
extern int	pm_mark_seen(int64 predictor_id, bool corrected, const pm_rows *rows, bool *seen);

/* Measurements and graphs, and whether memory suffices. Needs an active snapshot. */
extern void pm_training_read(pm_training *t);

/* Raises what the core or a hook says. hooks from pm_hooks_init(). */
extern void pm_training_fit(pm_training *t, pm_run_hooks *hooks);

/* Predictor, weights, run; returns predictor_id. Inside SPI_connect(). */
extern int64 pm_training_store(const pm_training *t);

/* ---- predictor_store.c. Inside SPI_connect(). ---- */

/* Store predictor and weights of a training; returns predictor_id. */
extern int64 pm_predictor_store(const pm_training *t);

/* Its weights in parts, when it can be read back and answers the rows that it was trained on; else an error. */
extern void pm_weights_store(int64 predictor_id, const pm_predictor *p, const pm_dataset *rows);

/* SQL: the different words of an array of text, without the empty one. */
#define PM_DISTINCT_OF(words) \
	" (SELECT COALESCE(pg_catalog.array_agg(DISTINCT w), '{}') FROM pg_catalog.unnest(" words ") w" \
	" WHERE w OPERATOR(pg_catalog.<>) '')"

/* Hashes of rows, those of the predictor id beside them; NULL where these are not known. */
#define PM_HASHES_WITH(hashes, id) \
	" (SELECT (SELECT pg_catalog.array_agg(DISTINCT h) FROM pg_catalog.unnest(b.row_hashes OPERATOR(pg_catalog.||) " hashes ") h)" \
	" FROM perfmodel.predictor b WHERE b.predictor_id OPERATOR(pg_catalog.=) " id " AND b.row_hashes IS NOT NULL) "

/* ---- train_run.c: rows of perfmodel.training_run, and whether their workers live. Inside SPI_connect(). ---- */

/* A row for a training that is over (predictor_id) or that a worker is to run (0); returns run_id. */
extern int64 pm_run_insert(const pm_training *t, int64 predictor_id);

/* Row t->run_id is finished. Raises when it is gone or over already. */
extern void pm_run_finish(const pm_training *t, int64 predictor_id);

/* Where it is; p may be NULL. Raises as pm_run_finish() does. */
extern void pm_run_progress(const pm_training *t, const char *phase, const pm_progress *p);

/* It ended with an error; does nothing when the row is gone. */
extern void pm_run_fail(int64 run_id, const ErrorData *e);

/* Write down which runs have lost their workers. */
extern void pm_run_bury_lost(void);

/* Raise when a worker is training a predictor of this name. */
extern void pm_run_refuse_twin(const char *name);

/* The locks that a worker holds as long as it lives. table: oid of training_run; role: that it works as. No SPI needed. */
extern void pm_run_lock(Oid table, int64 run_id, Oid role);
extern bool pm_run_locked(Oid table, int64 run_id);

/* Process number of the worker of a run and the role that it works as, both from its locks; 0: it has none. */
extern int	pm_run_worker(int64 run_id, Oid *role);

/* ---- train_async.c, worker.c ---- */

/* What a worker is told, in bgw_extra; the rest is in its row of training_run. */
typedef struct pm_worker_task
{
	char		version[16];	/* of the library that launched it */
	Oid			database;
	Oid			session_user;
	Oid			user;
	Oid			table;			/* training_run: another one when the extension was dropped and created again */
	TransactionId caller;		/* whose end it waits for */
	int			train_threads;	/* settings of the caller */
	int			train_mem_kb;
	int64		run_id;
} pm_worker_task;

extern PGDLLEXPORT void pm_training_main(Datum arg);

#endif
