/*
 * test_memory.c - memory runs out everywhere: training, saving, loading,
 * predicting and preparing, for every kind, on one and on two threads.
 *
 * The linker puts the function below in place of pm_alloc() (test/core.mk), so
 * that every place in the code that asks for memory is known.  At each of them
 * one request fails: the first that is made there, in another run the last.
 * Then the arena's limit grows step by step until it is enough.  Each time the
 * answer is PM_ERR_MEMORY, all blocks come back, and no thread is left.
 */
#include <dirent.h>
#include <time.h>

#include "check.h"
#include "small_kinds.h"

#define LIMITS		8			/* steps of the arena's limit, of each work */
#define MAX_PLACES	1024

void	   *__real_pm_alloc(pm_arena *a, size_t count, size_t size);
void	   *__real_pm_alloc_packed(pm_arena *a, size_t count, size_t size);
void	   *__wrap_pm_alloc(pm_arena *a, size_t count, size_t size);
void	   *__wrap_pm_alloc_packed(pm_arena *a, size_t count, size_t size);

static pm_arena arena;
static pm_dataset dataset;
static const pm_kind *kind;
static int	threads;

/* ---- requests that fail ---- */

/* A place in the code that asks for memory. */
typedef struct place
{
	const void *caller;
	int			first;			/* which request of the whole work is its first */
	int			last;
} place;

static struct
{
	int			requests;		/* so far */
	int			fail_at;		/* the one request that fails; 0: none */
	bool		listening;		/* remember the places */
	int			n;
	place		places[MAX_PLACES];
}			requests;

static void
remember(const void *caller)
{
	int			i = 0;

	while (i < requests.n && requests.places[i].caller != caller)
		i++;
	if (i == MAX_PLACES)
		return;
	if (i == requests.n)
		requests.places[requests.n++] = (place) {.caller = caller, .first = requests.requests};
	requests.places[i].last = requests.requests;
}

/* Returns whether this request fails. */
static bool
request(const void *caller)
{
	requests.requests++;
	if (requests.listening)
		remember(caller);
	return requests.requests == requests.fail_at;
}

void *
__wrap_pm_alloc(pm_arena *a, size_t count, size_t size)
{
	return request(__builtin_return_address(0)) ? NULL : __real_pm_alloc(a, count, size);
}

void *
__wrap_pm_alloc_packed(pm_arena *a, size_t count, size_t size)
{
	return request(__builtin_return_address(0)) ? NULL : __real_pm_alloc_packed(a, count, size);
}

/* ---- blocks that must come back ---- */

static int	blocks_out;

static void *
get(void *ctx, size_t size)
{
	(void) ctx;
	blocks_out++;
	return malloc(size);
}

static void
put(void *ctx, void *block)
{
	(void) ctx;
	blocks_out--;
	free(block);
}

/* A thread that has ended may be listed for a moment. */
static bool
alone(void)
{
	for (int i = 0; i < 200; i++)
	{
		const struct timespec pause = {0, 5000000};
		DIR		   *tasks = opendir("/proc/self/task");
		int			n = 0;

		if (tasks == NULL)
			return true;
		for (struct dirent *e; (e = readdir(tasks)) != NULL;)
			n += e->d_name[0] != '.';
		closedir(tasks);
		if (n == 1)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* ---- works ---- */

static pm_predictor trained;
static uint8_t *stored;
static size_t stored_len;

static pm_code
train(pm_arena *a, pm_status *st)
{
	pm_predictor p = {.kind = kind, .options = small_options_of(kind)};
	int			epochs = pm_option_find(kind, "epochs");
	pm_fit_report report;

	if (epochs >= 0)
		p.options.value[epochs] = 1;
	return pm_predictor_fit(&p, &dataset, 7, threads, NULL, a, &report, st);
}

static pm_code
save(pm_arena *a, pm_status *st)
{
	uint8_t    *data;
	size_t		len;

	return pm_predictor_save(&trained, a, &data, &len, st);
}

static pm_code
load(pm_arena *a, pm_status *st)
{
	pm_predictor p;

	return pm_predictor_load(stored, stored_len, a, &p, st);
}

static pm_code
predict(pm_arena *a, pm_status *st)
{
	const pm_sample *s = &dataset.samples[1];
	pm_part		parts[128];
	double		ms;
	int			n;
	pm_verdict	v;
	pm_code		rc = pm_predictor_predict(&trained, s, a, &ms, parts, &n, st);

	return rc == PM_OK ? pm_predictor_judge(&trained, s, ms, 0.9, a, &v, st) : rc;
}

static pm_code
prepare(pm_arena *a, pm_status *st)
{
	const pm_sample *s = &dataset.samples[1];
	pm_arena	scratch;
	pm_prepared x;
	double		ms;
	pm_code		rc;

	pm_arena_init_within(&scratch, a);
	rc = pm_predictor_prepare(&trained, s, a, &scratch, NULL, &x, st);
	if (rc == PM_OK)
		rc = pm_predictor_predict_prepared(&trained, &x, s, &scratch, &ms, st);
	pm_arena_release(&scratch);
	return rc;
}

typedef pm_code (*work) (pm_arena *a, pm_status *st);

/* Do w; one request fails (0: none), and the arena has a limit (0: none). */
static pm_code
attempt(work w, int fail_at, size_t limit)
{
	pm_arena	a;
	pm_status	st = {0};
	pm_code		rc;

	requests.requests = 0;
	requests.fail_at = fail_at;
	pm_arena_init(&a, get, put, NULL, limit);
	rc = w(&a, &st);
	requests.fail_at = 0;
	pm_arena_release(&a);
	CHECK_EQ(blocks_out, 0);
	CHECK(threads == 1 || alone());
	CHECK(rc == PM_OK || (st.code == rc && st.message[0] != '\0'));
	return rc;
}

static void
check_failed(const char *what, const char *how, size_t n, pm_code rc)
{
	if (rc != PM_ERR_MEMORY)
		fprintf(stderr, "%s, %s on %d threads, %s %zu: code %d\n", kind->name, what, threads, how, n, rc);
	CHECK_EQ(rc, PM_ERR_MEMORY);
}

static void
test_limits(work w, const char *what)
{
	size_t		enough = 4096;

	while (attempt(w, 0, enough) != PM_OK && enough < (size_t) 1 << 30)
		enough *= 2;
	for (int i = 0; i < LIMITS; i++)
	{
		size_t		limit = 64 + enough / LIMITS * i;
		pm_code		rc = attempt(w, 0, limit);

		if (rc == PM_OK)
			break;
		check_failed(what, "limit", limit, rc);
	}
}

static void
test_work(work w, const char *what)
{
	requests.n = 0;
	requests.listening = true;
	CHECK(attempt(w, 0, 0) == PM_OK);
	requests.listening = false;
	CHECK(requests.n > 0 && requests.n < MAX_PLACES);
	for (int i = 0; i < requests.n; i++)
	{
		const place *p = &requests.places[i];

		check_failed(what, "request", p->first, attempt(w, p->first, 0));
		/* what threads change is seen by the first */
		if (p->last != p->first && threads == 1)
			check_failed(what, "request", p->last, attempt(w, p->last, 0));
	}
	test_limits(w, what);
	printf("%s, %s on %d threads: %d places\n", kind->name, what, threads, requests.n);
}

static void
test_kind(void)
{
	double		started = pm_now();
	pm_fit_report report;

	trained = (pm_predictor) {.kind = kind, .options = small_options_of(kind)};
	CHECK(pm_predictor_fit(&trained, &dataset, 7, 1, NULL, &arena, &report, NULL) == PM_OK);
	CHECK(pm_predictor_save(&trained, &arena, &stored, &stored_len, NULL) == PM_OK);
	for (threads = 2; threads >= 1; threads--)
		test_work(train, "train");
	threads = 1;
	test_work(save, "save");
	test_work(load, "load");
	test_work(predict, "predict");
	test_work(prepare, "prepare");
	printf("%s: %.1f s\n", kind->name, pm_now() - started);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	dataset = small_dataset(&arena);
	for (int i = 0; (kind = pm_kind_at(i)) != NULL; i++)
		test_kind();
	pm_arena_release(&arena);
	return check_done("memory");
}
