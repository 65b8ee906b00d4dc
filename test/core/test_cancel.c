/*
 * test_cancel.c - a training answers a cancel soon, in each of its stages.
 *
 * A training over many rows is run with a hook that measures the time between
 * two questions whether to stop; it stays under a second.  Then the hook says
 * yes at the first question, and at later ones: the answer is PM_CANCELLED,
 * and no thread is left.
 */
#include <dirent.h>
#include <time.h>

#include "check.h"
#include "small_kinds.h"

#define ROWS		20000		/* sums; ... */
#define NETWORK_ROWS 2000		/* ... networks */
#define LONGEST_S	1.0			/* without a question */
#define CANCELS		5

static pm_arena arena;
static pm_dataset dataset;

typedef struct watch
{
	int			asked;
	int			stop_at;		/* the question that is answered with yes; 0: none */
	double		last;
	double		longest_s;
} watch;

static bool
stop(void *ctx)
{
	watch	   *w = ctx;
	double		now = pm_now();

	w->longest_s = fmax(w->longest_s, now - w->last);
	w->last = now;
	return ++w->asked == w->stop_at;
}

static int
count_threads(void)
{
	DIR		   *tasks = opendir("/proc/self/task");
	int			n = 0;

	if (tasks == NULL)
		return 1;
	for (struct dirent *e; (e = readdir(tasks)) != NULL;)
		n += e->d_name[0] != '.';
	closedir(tasks);
	return n;
}

/* Many rows of few networks, in batches of all sizes. */
static void
make_rows(void)
{
	pm_dataset	few = small_dataset(&arena);

	dataset = (pm_dataset) {.n = ROWS, .samples = PM_NEW(&arena, pm_sample, ROWS)};
	for (int i = 0; i < ROWS; i++)
	{
		dataset.samples[i] = few.samples[i % few.n];
		dataset.samples[i].query.batch = 1 + i / few.n;
	}
}

static pm_code
train(const pm_kind *kind, int stop_at, watch *w, pm_status *st)
{
	pm_predictor p = {.kind = kind, .options = small_options_of(kind)};
	const pm_hooks hooks = {.stop = stop, .ctx = w};
	int			folds = pm_option_find(kind, "calibration_folds");
	int			batch = pm_option_find(kind, "batch_size");
	pm_fit_report report;
	pm_arena	a;
	pm_code		rc;

	if (folds >= 0)
		p.options.value[folds] = 0;
	if (batch >= 0)
		p.options.value[batch] = 64;
	pm_arena_init_malloc(&a);
	*w = (watch) {.stop_at = stop_at, .last = pm_now()};
	rc = pm_predictor_fit(&p, &dataset, 3, 2, &hooks, &a, &report, st);
	w->longest_s = fmax(w->longest_s, pm_now() - w->last);
	pm_arena_release(&a);
	return rc;
}

static void
test_kind(const pm_kind *kind)
{
	pm_status	st = {0};
	watch		whole;
	watch		w;

	dataset.n = pm_option_find(kind, "epochs") >= 0 ? NETWORK_ROWS : ROWS;
	CHECK(train(kind, 0, &whole, &st) == PM_OK);
	printf("%s: %d questions, %.0f ms at most without one\n", kind->name, whole.asked, 1000 * whole.longest_s);
	CHECK(whole.longest_s < LONGEST_S);
	for (int i = 0; i < CANCELS; i++)
	{
		CHECK(train(kind, 1 + (int) ((int64_t) whole.asked * i / CANCELS), &w, &st) == PM_CANCELLED);
		CHECK(st.code == PM_CANCELLED && st.message[0] != '\0');
		CHECK(w.asked == w.stop_at);
	}
}

/* What a thread waits counts on one clock, what it computes on both. */
static void
test_clocks(void)
{
	double		now = pm_now();
	double		cpu_s = pm_thread_cpu_s();

	nanosleep(&(struct timespec) {.tv_nsec = 200000000}, NULL);
	CHECK(pm_now() - now >= 0.2);
	CHECK(pm_thread_cpu_s() - cpu_s < 0.1);
	while (pm_thread_cpu_s() - cpu_s < 0.1)
		;						/* asking is computing */
}

int
main(void)
{
	const pm_kind *kind;

	pm_arena_init_malloc(&arena);
	test_clocks();
	make_rows();
	for (int i = 0; (kind = pm_kind_at(i)) != NULL; i++)
		test_kind(kind);
	CHECK(count_threads() == 1);
	pm_arena_release(&arena);
	return check_done("cancel");
}
