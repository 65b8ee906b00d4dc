/*
 * epochs.c - epochs to the target at a batch size that is left out.
 *
 *     epochs ZEUS_TRAIN.csv
 *
 * Each network of ml-energy/zeus with its optimizer; the target is the hardest
 * that at least half of its runs reach, and batch sizes count where half of
 * their runs do. Each batch in turn is left out, the smallest and the largest,
 * too; the choice among curves sees the other batches only.  "seeds alone" is
 * what the mean of a batch's runs would be wrong by if its expectation were
 * known: 0.8 standard deviations of a run over the root of their number.  The
 * next lines are means over all targets of a training.
 *
 * The last lines are of batches that are left out together: the 1, 2 ... smallest or
 * largest of a training, or some between others, and three at least are left.
 * Their errors say how fast the spread grows with each doubling outside of the
 * known batches (or from the nearest of them): the rate with the largest likelihood
 * where each training has the same weight.
 */
#include "csv.h"
#include "jobs/convergence.h"

typedef struct training
{
	char		name[128];
	double		target;
	int			runs;
	int			reached;
	int			n;
	pm_runs		at[PM_MAX_BATCHES];
	double		squares[PM_MAX_BATCHES];	/* sums of the squares of ln(epochs) */
} training;

static training trainings[1000];
static int	n_trainings;

static training *
training_of(const char *name, double target)
{
	for (int i = 0; i < n_trainings; i++)
		if (strcmp(trainings[i].name, name) == 0 && trainings[i].target == target)
			return &trainings[i];
	snprintf(trainings[n_trainings].name, sizeof(trainings[0].name), "%s", name);
	trainings[n_trainings].target = target;
	return &trainings[n_trainings++];
}

/* Into its place by batch; samples is a sum of logarithms until all are read. */
static void
add_run(training *t, double batch, double epochs)
{
	int			i = 0;

	while (i < t->n && t->at[i].batch < batch)
		i++;
	if (i == t->n || t->at[i].batch != batch)
	{
		memmove(&t->at[i + 1], &t->at[i], (t->n - i) * sizeof(pm_runs));
		memmove(&t->squares[i + 1], &t->squares[i], (t->n - i) * sizeof(double));
		t->at[i] = (pm_runs) {batch, 0, 0, 0};
		t->squares[i] = 0;
		t->n++;
	}
	t->at[i].runs++;
	t->runs++;
	if (epochs > 0)
	{
		t->at[i].samples += log(epochs);
		t->squares[i] += pow(log(epochs), 2);
		t->at[i].reached++;
		t->reached++;
	}
}

/* Batches of which half of the runs reach the target, with their mean. */
static int
useful(const training *t, pm_runs *to)
{
	int			n = 0;

	for (int i = 0; i < t->n; i++)
		if (2 * t->at[i].reached >= t->at[i].runs)
		{
			to[n] = t->at[i];
			to[n++].samples = exp(t->at[i].samples / t->at[i].reached);
		}
	return n;
}

/* Of the means of runs at the useful batches, as a share. */
static double
seeds_alone(const training *t)
{
	double		sum = 0;
	int			n = 0;

	for (int i = 0; i < t->n; i++)
		if (2 * t->at[i].reached >= t->at[i].runs)
		{
			double		runs = t->at[i].reached;
			double		variance = runs > 1 ? fmax(0, t->squares[i] - pow(t->at[i].samples, 2) / runs) / (runs - 1) : 0;

			sum += 0.8 * sqrt(variance / runs);
			n++;
		}
	return n > 0 ? sum / n : 0;
}

typedef struct score
{
	int			n;				/* batches */
	double		error,
				constant;		/* the geometric mean of the others */
	int			chosen[PM_N_CURVES];
} score;

/* False: fewer than four batches. */
static bool
test(const training *t, score *to)
{
	pm_runs		all[PM_MAX_BATCHES];
	int			n = useful(t, all);

	*to = (score) {.n = n};
	if (n < 4)
		return false;
	for (int i = 0; i < n; i++)
	{
		pm_runs		others[PM_MAX_BATCHES];
		pm_curve	c;
		pm_status	st;
		double		mean = 0;

		memcpy(others, all, sizeof(all));
		memmove(&others[i], &others[i + 1], (n - 1 - i) * sizeof(pm_runs));
		if (pm_curve_fit(others, n - 1, NAN, &c, &st) != PM_OK)
			csv_die(st.message, t->name);
		for (int k = 0; k < n - 1; k++)
			mean += log(others[k].samples) / (n - 1);
		to->error += fabs(pm_curve_at(&c, all[i].batch) / all[i].samples - 1) / n;
		to->constant += fabs(exp(mean) / all[i].samples - 1) / n;
		to->chosen[c.kind]++;
	}
	return true;
}

static void
report(const training *t)
{
	score		s;

	if (!test(t, &s))
		return;
	printf("%-44s target %-6g n %2d  error %5.1f %%  constant %5.1f %%  seeds alone %4.1f %%  chosen:", t->name, t->target, s.n, 100 * s.error,
		   100 * s.constant, 100 * seeds_alone(t));
	for (int k = 0; k < PM_N_CURVES; k++)
		if (s.chosen[k] > 0)
			printf(" %s %d", pm_curve_name[k], s.chosen[k]);
	printf("\n");
}

/* The mean over all targets of the training that the first of them is of. */
static void
report_all(const training *first)
{
	double		error = 0;
	double		constant = 0;
	double		worst = -INFINITY;
	int			n = 0;

	for (const training *t = trainings; t < &trainings[n_trainings]; t++)
	{
		score		s;

		if (strcmp(t->name, first->name) != 0 || !test(t, &s))
			continue;
		if (t < first)
			return;
		error += s.error;
		constant += s.constant;
		worst = fmax(worst, s.error - s.constant);
		n++;
	}
	if (n > 0)
		printf("%-44s all %2d targets  error %5.1f %%  constant %5.1f %%  at most %.1f points above the constant\n", first->name, n, 100 * error / n,
			   100 * constant / n, 100 * worst);
}

static double
mean_log(const training *t)
{
	double		sum = 0;

	for (int i = 0; i < t->n; i++)
		sum += t->at[i].samples;
	return sum / t->reached;
}

/* ---------- batches that are left out together ---------- */

typedef struct left_out
{
	const char *name;
	const char *place;			/* smallest, largest, between */
	double		doublings;		/* from the nearest batch that is not left out */
	double		spread;
	double		error;			/* in ln(samples) */
	double		weight;			/* each training has 1 between its batches, and 1 outside of them */
} left_out;

static left_out apart[20000];
static int	n_apart;

/* Leave out all[from..to). */
static void
leave_out(const training *t, const pm_runs *all, int n, int from, int to)
{
	pm_runs		rest[PM_MAX_BATCHES];
	pm_curve	c;
	pm_status	st;
	int			left = n - (to - from);

	if (left < 3)
		return;
	memcpy(rest, all, from * sizeof(pm_runs));
	memcpy(rest + from, all + to, (n - to) * sizeof(pm_runs));
	if (pm_curve_fit(rest, left, NAN, &c, &st) != PM_OK)
		csv_die(st.message, t->name);
	for (int i = from; i < to; i++)
	{
		double		above = from > 0 ? log2(all[i].batch / all[from - 1].batch) : INFINITY;
		double		below = to < n ? log2(all[to].batch / all[i].batch) : INFINITY;

		if (n_apart == sizeof(apart) / sizeof(apart[0]))
			csv_die("too many rows", t->name);
		apart[n_apart++] = (left_out) {t->name, from == 0 ? "smallest" : to == n ? "largest" : "between", fmin(above, below), c.spread,
			log(pm_curve_at(&c, all[i].batch) / all[i].samples)};
	}
}

static double
spread_of(const left_out *a, double rate)
{
	return hypot(a->spread, rate * a->doublings);
}

static bool
is_between(const left_out *a)
{
	return strcmp(a->place, "between") == 0;
}

static void
set_weights(void)
{
	for (left_out *a = apart; a < &apart[n_apart]; a++)
	{
		int			same = 0;

		for (const left_out *b = apart; b < &apart[n_apart]; b++)
			same += strcmp(a->name, b->name) == 0 && is_between(a) == is_between(b);
		a->weight = 1.0 / same;
	}
}

/* Of the rows outside of the known batches, or between them. */
static double
likelihood(bool between, double rate)
{
	double		sum = 0;

	for (const left_out *a = apart; a < &apart[n_apart]; a++)
	{
		double		s = spread_of(a, rate);

		if (is_between(a) == between)
			sum += (-log(s) - 0.5 * pow(a->error / s, 2)) * a->weight;
	}
	return sum;
}

static void
report_rate(bool between)
{
	double		best = 0;

	for (int i = 1; i <= 100; i++)
		if (likelihood(between, i / 100.0) > likelihood(between, best))
			best = i / 100.0;
	printf("%s the known batches: the spread grows by %.2f with each doubling\n", between ? "between" : "outside of", best);
}

static void
report_place(const char *name, const char *place)
{
	int			n = 0;
	int			within[2] = {0, 0};
	double		squares = 0;

	for (const left_out *a = apart; a < &apart[n_apart]; a++)
	{
		if (strcmp(a->name, name) != 0 || strcmp(a->place, place) != 0)
			continue;
		n++;
		squares += a->error * a->error;
		for (int k = 0; k < 2; k++)
			within[k] += fabs(a->error) <= 1.645 * spread_of(a, k == 0 ? 0 : 0.25);
	}
	if (n > 0)
		printf("%-44s %-8s n %4d  error of ln(samples) %.2f  in the interval of 90 %%: %3.0f %%, with 0.25 a doubling %3.0f %%\n", name, place, n,
			   sqrt(squares / n), 100.0 * within[0] / n, 100.0 * within[1] / n);
}

static void
report_apart(void)
{
	for (int i = 0; i < n_trainings; i++)
	{
		pm_runs		all[PM_MAX_BATCHES];
		int			n = useful(&trainings[i], all);

		for (int from = 0; from < n; from++)
			for (int to = from + 1; to <= n; to++)
				leave_out(&trainings[i], all, n, from, to);
	}
	set_weights();
	report_rate(false);
	report_rate(true);
	for (int i = 0; i < n_trainings; i++)
	{
		bool		first = true;

		for (int k = 0; k < i; k++)
			first = first && strcmp(trainings[k].name, trainings[i].name) != 0;
		for (int k = 0; first && k < 3; k++)
			report_place(trainings[i].name, (const char *const[]) {"smallest", "largest", "between"}[k]);
	}
}

int
main(int argc, char **argv)
{
	csv			c;

	if (argc != 2)
		csv_die("ZEUS_TRAIN.csv", argv[0]);
	c = csv_read(argv[1]);
	for (int i = 0; i < c.n; i++)
	{
		char		name[128];

		snprintf(name, sizeof(name), "%s %s %s", csv_text(&c, i, "network"), csv_text(&c, i, "dataset"), csv_text(&c, i, "optimizer"));
		add_run(training_of(name, csv_number(&c, i, "target_metric")), csv_number(&c, i, "batch_size"), csv_number(&c, i, "target_epoch"));
	}
	for (int i = 0; i < n_trainings; i++)
	{
		/* the hardest takes longest, be it the highest accuracy or the lowest error rate */
		bool		best = 2 * trainings[i].reached >= trainings[i].runs;

		for (int k = 0; k < n_trainings; k++)
			if (strcmp(trainings[i].name, trainings[k].name) == 0 && 2 * trainings[k].reached >= trainings[k].runs && mean_log(&trainings[k]) > mean_log(&trainings[i]))
				best = false;
		if (best)
			report(&trainings[i]);
	}
	for (int i = 0; i < n_trainings; i++)
	{
		score		s;

		if (test(&trainings[i], &s))
			report_all(&trainings[i]);
	}
	report_apart();
	return 0;
}
