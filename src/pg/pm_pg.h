/*
 * pm_pg.h - what the files of src/pg share.  Include after postgres.h.
 *
 * The glue computes nothing: it reads arguments and rows, calls the core, and
 * turns its answers into datums and its statuses into errors.
 */
#ifndef PM_PG_H
#define PM_PG_H

#include "fmgr.h"
#include "executor/spi.h"
#include "lib/ilist.h"
#include "utils/jsonb.h"
#include "utils/palloc.h"

#include "pm_compat.h"
#include "predictor/metrics.h"
#include "predictor/predictor.h"

/* ---- init.c: settings ---- */

#define PM_MAX_THREADS 64

extern int	pm_train_threads;	/* 0: all cores */
extern int	pm_train_mem_kb;
extern int	pm_cache_mem_kb;

/* Threads that training may use: the setting, or all cores this process may run on. */
extern int	pm_threads_allowed(void);

/* ---- errors.c ---- */

/* Raise the server's error for a status of the core that is not PM_OK. */
pg_noreturn extern void pm_raise(const pm_status *st);

/*
 * A hint for a name that does not exist: the closest of names[n], how many
 * there are, and the query that lists them.
 */
extern char *pm_did_you_mean(const char *wanted, const char *const *names, int n, const char *list_query);

/* "a, b, c" with quotes around each. */
extern char *pm_quoted_list(const char *const *names, int n);

/* ---- support.c ---- */

/* An arena that takes its blocks from cxt; limit 0: none. */
extern void pm_context_arena(pm_arena *a, MemoryContext cxt, size_t limit);

/* A query whose plan is kept for the session. */
#define PM_MAX_ARGS 24
typedef struct pm_plan
{
	const char *sql;
	int			nargs;
	Oid			args[PM_MAX_ARGS];
	SPIPlanPtr	plan;
} pm_plan;

/*
 * Run p inside SPI_connect() and return the number of rows.  read_only: under
 * the caller's snapshot.  nulls: as for SPI_execute_plan.
 */
extern uint64 pm_run(pm_plan *p, Datum *values, const char *nulls, bool read_only);

/* Arguments of an SPI plan, added one after the other. */
typedef struct pm_args
{
	Datum		v[PM_MAX_ARGS];
	char		nulls[PM_MAX_ARGS + 1];
	int			n;
} pm_args;
extern void pm_arg(pm_args *a, Datum v);
extern void pm_arg_null(pm_args *a);
extern void pm_arg_float8(pm_args *a, double v);	/* NaN becomes null */
extern void pm_arg_text(pm_args *a, const char *s);	/* NULL becomes null */

/* Column `col` (from 1) of row `row` of SPI's result; *isnull may be NULL when it cannot be null. */
extern Datum pm_value(uint64 row, int col, bool *isnull);
extern double pm_value_float8(uint64 row, int col);	/* NaN for null */
extern char *pm_value_text(uint64 row, int col, MemoryContext cxt);	/* NULL for null */

/* A result set that is built before it is returned. */
typedef struct pm_rows_out
{
	Tuplestorestate *store;
	TupleDesc	desc;
} pm_rows_out;
extern void pm_rows_begin(FunctionCallInfo fcinfo, pm_rows_out *out);
extern void pm_rows_add(pm_rows_out *out, Datum *values, bool *nulls);

/* The composite result of a function with OUT arguments. */
extern Datum pm_record(FunctionCallInfo fcinfo, Datum *values, bool *nulls);

extern Datum pm_int8_array(const int64 *v, int n);
extern Datum pm_text_array(const char *const *v, int n);
extern Datum pm_text_or_null(const char *s, bool *isnull);
extern Datum pm_float8_or_null(double v, bool *isnull);	/* NaN becomes null */

/* Relation of the extension by name; an error when the extension is not installed. */
extern Oid	pm_table(const char *name);
extern void pm_require_privilege(const char *table, AclMode mode);

/* Serialise transactions that do `what` to `name`, until the end of this one. Inside SPI_connect(). */
extern void pm_lock_name(const char *what, const char *name);

/* ---- freshness.c ---- */

/*
 * Number of the state of the tables that remembered look-ups belong to.  What
 * was looked up under another number has to be looked up again.
 */
extern uint64 pm_generation;
extern void pm_freshness_init(void);

/* At the entry of every function that uses something remembered. */
extern void pm_freshen(void);

/* What tells one snapshot from another, and orders them. */
typedef struct pm_moment
{
	TransactionId xmin;
	TransactionId xmax;
	uint32		running;		/* transactions that were running */
	CommandId	curcid;
	LocalTransactionId lxid;	/* transaction of ours that curcid belongs to */
} pm_moment;

/* Of the active snapshot. */
extern pm_moment pm_moment_now(void);

/* Of processes that work on one query: whether they see the same rows. */
extern bool pm_moment_sees_same(const pm_moment *a, const pm_moment *b);

/* ---- cache.c ---- */

/*
 * A graph that is known: what questions that are prepared need of it.  The
 * parsed graph with its skeletons, for preparing more of them; several times
 * as large.  A loaded predictor.  A prepared question, which refers to a known
 * graph and a predictor.
 */
typedef enum pm_cached_what
{
	PM_CACHED_GRAPH, PM_CACHED_PARSED, PM_CACHED_PREDICTOR, PM_CACHED_PREPARED
} pm_cached_what;

typedef struct pm_cached_key
{
	int64		what;
	int64		id;				/* graph_id or predictor_id; of a prepared question the graph_id */
	int64		predictor_id;	/* of a prepared question, and so below */
	uint64		question;		/* hash of device and formats */
} pm_cached_key;

typedef struct pm_cached
{
	pm_cached_key key;
	dlist_node	lru;
	MemoryContext cxt;			/* everything of this entry */
	Size		bytes;			/* of cxt, when it was last looked at */
	dlist_head	dependents;		/* prepared questions that refer to this graph or predictor */
	dlist_node	by_graph;		/* among the dependents of the graph and of the predictor */
	dlist_node	by_predictor;
	pm_arena	arena;

	TimestampTz born;			/* loaded_at or trained_at of its row */
	uint64		checked;		/* generation in which its row was last seen */

	/* a graph, known or parsed; [merged], skeleton.graph NULL: not built */
	pm_graph	graph[2];		/* known: of each skeleton its own; parsed: the first */
	pm_skeleton skeleton[2];	/* known: slim */

	pm_predictor predictor;

	/* a prepared question */
	pm_prepared *prepared;
	const uint8 *words;			/* what key.question is the hash of */
	Size		n_words;
} pm_cached;

extern pm_cached *pm_cache_find(const pm_cached_key *key);
/* Move a context that holds a complete entry into the cache. */
extern void pm_cache_keep(pm_cached *e);
extern void pm_cache_drop(pm_cached *e);
/* An entry in the cache has taken more memory. */
extern void pm_cache_grown(pm_cached *e);
/* Drop what has not been used for longest until the budget holds; only between uses. */
extern void pm_cache_trim(void);
/* A new entry in a context below the current one, not in the cache yet. */
extern pm_cached *pm_cache_make(const pm_cached_key *key);

/* ---- gpu_sql.c ---- */

/* The data sheet for a name or alias; an error with candidates when there is none. Valid until the next pm_freshen(). */
extern const pm_gpu *pm_gpu_find(const char *name);
/* Whether it would find one. */
extern bool pm_gpu_exists(const char *name);

/* ---- graph_sql.c, graph_rows.c, graph_cache.c ---- */

/* Parse a stored or given document; *text is its text, which attrs_at refers to. Raises. */
extern void pm_graph_from_doc(Jsonb *doc, pm_arena *a, pm_graph *g, char **text);
/* Check and store a document; name NULL: its own. The id, also of the same graph that is there already. Raises. */
extern int64 pm_store_graph(Datum doc, const char *name);
extern void pm_store_nodes(int64 graph_id, const pm_graph *g, const char *text);
extern Datum pm_shape_array(const pm_shape *s, int batch_dim, int64 batch);
/* A known graph, and its whole and its slim skeleton. Raise. Valid until the next pm_freshen(). */
extern pm_cached *pm_graph_get(int64 graph_id);
extern const pm_skeleton *pm_skeleton_get(pm_cached *graph, bool merged);
extern const pm_skeleton *pm_skeleton_get_slim(pm_cached *graph, bool merged);
pg_noreturn extern void pm_no_such_graph(int64 graph_id);

/* ---- predictor_cache.c ---- */

typedef struct pm_predictor_ref
{
	int64		id;
	const pm_predictor *predictor;
	pm_cached  *entry;			/* of the cache; NULL for a copy of one's own */
} pm_predictor_ref;

/* name NULL: the active one. Valid until the next pm_freshen(). */
extern void pm_predictor_get(const char *name, pm_predictor_ref *ref);

/*
 * The same as a copy in the current context, for what goes on while triggers of
 * others may run, or transactions end.
 */
extern void pm_predictor_get_own(const char *name, pm_predictor_ref *ref);
pg_noreturn extern void pm_no_such_predictor(const char *name);

/* ---- prepared_cache.c ---- */

/* Everything of one question: the sample, without its graph, and who answers. Valid until the next pm_freshen(). */
typedef struct pm_asked
{
	pm_sample	sample;
	pm_predictor_ref ref;
	pm_cached  *graph;
	bool		merged;
} pm_asked;

/* Put the whole graph in, or the slim one. Raise. */
extern void pm_ask_whole(pm_asked *q);
extern void pm_ask_slim(pm_asked *q);

/* An arena for what lives as long as one call of the core; emptied by the next call of this. */
extern pm_arena *pm_workspace(void);
/*
 * The question prepared, from the cache or now; puts the graph in that the
 * answer needs.  Raises.  Valid until the next pm_freshen().
 */
extern pm_prepared *pm_prepared_get(pm_asked *q);

/* ---- options.c ---- */

extern const pm_kind *pm_kind_or_error(const char *name);
extern void pm_options_from_jsonb(const pm_kind *kind, Jsonb *options, pm_options *o);
/*
 * For a training that goes on from start: its options, but epochs a third and
 * learning_rate a quarter of the kind's defaults; then the settings in options.
 */
extern void pm_options_after_start(const pm_kind *kind, const pm_predictor *start, Jsonb *options, pm_options *o);
extern Jsonb *pm_options_to_jsonb(const pm_kind *kind, const pm_options *o);
extern uint64 pm_option_seed(const pm_kind *kind, const pm_options *o);

/* ---- dataset.c ---- */

/* Measurements as the core wants them, with the words that reports group by. */
typedef struct pm_rows
{
	pm_dataset	set;
	int			n_graphs;
	uint64		hash;			/* of everything the core is told about them */
	int64	   *ids;
	const char **gpu;
	const char **dtype;
	const char **layout;
	const char **framework;		/* "" when not known */
	const char **family;
} pm_rows;

/*
 * Load measurements into the current context.  ids NULL: all training steps on
 * one device.  Raises for ids that do not exist and rows that cannot be used.
 */
extern pm_rows *pm_rows_load(ArrayType *ids, bool merged);

/* ---- op_dataset.c ---- */

/*
 * Add the single operators measured on the devices of rows, into the current
 * context, when the kind learns from them with these options.  Left out are
 * operators whose backward pass has work and no time, and documents that do not
 * come to one operator.
 */
extern void pm_rows_add_operators(pm_rows *rows, const pm_kind *kind, const pm_options *o);

/* ---- hooks.c ---- */

typedef struct pm_run_hooks
{
	pm_hooks	hooks;
	MemoryContext cxt;			/* of the caller, for a caught error */
	ErrorData  *error;			/* raised inside a hook, for after the core has returned */
	const char *label;			/* "training \"a\"", for the activity */
	int			more;			/* computations like this one that follow in the same statement, for the time left */
	double		started;		/* pm_now() at pm_hooks_init */
	double		last_notice;
	double		last_activity;

	/*
	 * Instead of notices: called about once a second, outside of any
	 * transaction, with the last progress (NULL: none yet).  What it raises
	 * ends the computation.
	 */
	void		(*beat) (void *arg, const pm_progress *p);
	void	   *beat_arg;
	double		last_beat;
	pm_progress last;			/* epoch 0: none yet */
} pm_run_hooks;

/* label: "training \"a\"". Set more and beat afterwards. */
extern void pm_hooks_init(pm_run_hooks *h, const char *label);
/* After the core has returned: raise what a hook caught, a cancel, or st. */
extern void pm_hooks_finish(pm_run_hooks *h, pm_code code, const pm_status *st);

/* ---- train_steps.c ---- */

/* Refuse when the kind says that it needs more than perfmodel.train_mem; bytes it needs. */
extern double pm_check_memory(const pm_kind *kind, const pm_options *o, const pm_dataset *d, int threads);

/* ---- predictor_store.c ---- */

struct pm_training;

/* Store predictor and weights of a training; returns predictor_id. Inside SPI_connect(). */
extern int64 pm_predictor_store(const struct pm_training *t);

#endif
