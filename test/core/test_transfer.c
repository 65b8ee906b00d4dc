/*
 * test_transfer.c - steps carried over from one device to another: the weight
 * that errors in common deserve, intervals that hold, and the stored form.
 */
#include "check.h"
#include "make_graph.h"

#include "predictor/predictor.h"
#include "predictor/stored.h"
#include "predictor/transfer.h"

#define N_CARDS		3
#define N_NETS		40
#define N_ROWS		(N_CARDS * N_NETS)

static pm_arena arena;
static pm_gpu cards[N_CARDS];
static pm_sample samples[N_ROWS];
static double crossed_ms[N_ROWS];
static double distance[N_ROWS];
static pm_dataset set = {.n = N_ROWS, .samples = samples};
static const pm_crossed crossed = {.ms = crossed_ms, .distance = distance};

/* -1..1, the same for the same numbers. */
static double
noise(uint64_t a, uint64_t b)
{
	return pm_mix(pm_mix(a) ^ b) / (double) UINT64_MAX * 2 - 1;
}

/* Errors of predictions: a part that a network has on all cards, and one of its own on each. */
static void
make_rows(double common, double own, bool far_alone)
{
	static const char *const names[N_CARDS] = {"Card A", "Card B", "Card C"};

	for (int c = 0; c < N_CARDS; c++)
	{
		cards[c] = test_gpu;
		cards[c].name = names[c];
	}
	for (int n = 0; n < N_NETS; n++)
	{
		pm_graph   *g = make_net(&arena, "net", 16 + 8 * n, 1 + n % 3, 28, 1);
		pm_skeleton *s = make_skeleton(g, true, &arena);

		for (int c = 0; c < N_CARDS; c++)
		{
			int			i = n * N_CARDS + c;
			bool		is_far = n % 2;

			samples[i] = make_sample(g, s, 16, 10 + n + c);
			samples[i].query.gpu = &cards[c];
			distance[i] = is_far ? 3 : 0;
			crossed_ms[i] = samples[i].step_ms / exp((far_alone && !is_far ? 0 : common) * noise(n, 1000) + own * noise(n, c));
		}
	}
}

static const pm_transfer *
fit(const pm_dataset *d)
{
	const pm_transfer *t;
	pm_status	st;

	CHECK_EQ(pm_transfer_fit(d, &crossed, 1, &arena, &t, &st), PM_OK);
	return t;
}

/* All that errors have in common is taken over, and nothing where they have nothing. */
static void
test_weight(void)
{
	const pm_transfer *t;

	make_rows(0.3, 0.02, false);
	t = fit(&set);
	CHECK(t != NULL && pm_transfer_weight(t, 0) > 0.9 && pm_transfer_weight(t, 3) > 0.9);
	make_rows(0, 0.3, false);
	t = fit(&set);
	CHECK(t != NULL && pm_transfer_weight(t, 0) < 0.3 && pm_transfer_weight(t, 3) < 0.3);
	/* networks that are like those in training are predicted well: only those far from them have an error in common */
	make_rows(0.5, 0.1, true);
	t = fit(&set);
	CHECK(t != NULL && pm_transfer_weight(t, 0) < 0.5 && pm_transfer_weight(t, 3) > 0.8);
	CHECK(pm_transfer_weight(NULL, 0) == 1);
	for (double x = 0; x < 5; x += 0.1)
		CHECK(pm_transfer_weight(t, x) >= 0 && pm_transfer_weight(t, x) <= 1);
}

static void
carry(const pm_predictor *p, int from, int to, double level, pm_carried *out)
{
	pm_verdict	v[2] = {{.low_ms = crossed_ms[from] / 2, .high_ms = crossed_ms[from] * 2, .in_domain = true},
		{.low_ms = crossed_ms[to] / 2, .high_ms = crossed_ms[to] * 2, .in_domain = true}};
	pm_side		a = {&samples[from].query, crossed_ms[from], distance[from], &v[0]};
	pm_side		b = {&samples[to].query, crossed_ms[to], distance[to], &v[1]};

	pm_predictor_carry(p, &a, samples[from].step_ms, &b, level, out);
}

/* Intervals hold about as often as they say, and are wider at a higher level and for other causes. */
static void
test_intervals(void)
{
	const pm_setting quick = {.name = "calibration_folds", .number = 0};
	pm_predictor p = make_predictor("roofline", &quick, 1, &set, &arena);
	pm_verdict	narrow = {.low_ms = 9.9, .high_ms = 10.1, .in_domain = true};
	pm_side		known = {&samples[4].query, 10, 0, &narrow};
	pm_carried	c,
				d;
	int			inside = 0;
	int			n = 0;

	make_rows(0.4, 0.1, false);
	/* without a calibration of pairs: the ratio, as wide as the prediction */
	carry(&p, 0, 1, 0.9, &c);
	CHECK(fabs(c.step_ms / (crossed_ms[1] * samples[0].step_ms / crossed_ms[0]) - 1) < 1e-12);
	CHECK(fabs(c.high_ms / c.step_ms - 2) < 1e-12 && c.weight == 1);
	p.transfer = fit(&set);
	for (int i = 0; i < N_ROWS; i++)
		for (int k = 1; k < N_CARDS; k++)
		{
			carry(&p, i / N_CARDS * N_CARDS + (i + k) % N_CARDS, i, 0.9, &c);
			carry(&p, i / N_CARDS * N_CARDS + (i + k) % N_CARDS, i, 0.5, &d);
			CHECK(c.low_ms > 0 && c.low_ms <= c.step_ms && c.step_ms <= c.high_ms && isfinite(c.high_ms));
			CHECK(c.low_ms <= d.low_ms && d.high_ms <= c.high_ms);
			inside += c.low_ms <= samples[i].step_ms && samples[i].step_ms <= c.high_ms;
			n++;
		}
	CHECK(inside >= 0.85 * n && inside <= 0.98 * n);
	/* far tighter than errors of the network would have it */
	CHECK(log(c.high_ms / c.low_ms) < 0.6);
	/* where it was measured it takes what it took */
	carry(&p, 4, 4, 0.9, &c);
	CHECK(c.step_ms == samples[4].step_ms && c.weight == 1 && c.low_ms < c.step_ms);
	/* and is known at least as well as what is predicted there */
	pm_predictor_carry(&p, &known, 20, &known, 0.9, &c);
	CHECK(c.step_ms == 20 && c.low_ms >= 19.79 && c.high_ms <= 20.21);
}

/* A batch that no row had is out of the domain for a cause that pairs know nothing of. */
static void
test_outside(void)
{
	const pm_setting quick = {.name = "calibration_folds", .number = 0};
	pm_predictor p = make_predictor("roofline", &quick, 1, &set, &arena);
	pm_verdict	inside = {.low_ms = 5, .high_ms = 20, .in_domain = true};
	pm_verdict	outside = {.low_ms = 5, .high_ms = 20, .causes = 1u << PM_CAUSE_BATCH_ABOVE};
	pm_side		from = {&samples[0].query, 10, 0, &inside};
	pm_side		to = {&samples[1].query, 10, 0, &inside};
	pm_carried	c,
				d;

	p.transfer = fit(&set);
	pm_predictor_carry(&p, &from, 10, &to, 0.9, &c);
	to.verdict = &outside;
	pm_predictor_carry(&p, &from, 10, &to, 0.9, &d);
	CHECK(fabs(log(d.high_ms / d.low_ms) / log(c.high_ms / c.low_ms) - 2) < 1e-9);
	/* nonsense in, no nonsense out */
	pm_predictor_carry(&p, &from, 1e9, &to, 0.9, &d);
	CHECK(isfinite(d.high_ms) && d.low_ms > 0);
}

/* The same answers after storing; nothing is learned of too few. */
static void
test_stored(void)
{
	const pm_setting quick = {.name = "calibration_folds", .number = 0};
	pm_predictor p = make_predictor("roofline", &quick, 1, &set, &arena);
	pm_predictor back;
	pm_dataset	few = {.n = 4 * N_CARDS, .samples = samples};
	pm_dataset	one = {.n = N_NETS, .samples = PM_NEW(&arena, pm_sample, N_NETS)};
	uint8_t    *data;
	size_t		len;

	p.transfer = fit(&set);
	CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
	CHECK(back.transfer != NULL);
	for (int i = 0; i + 1 < N_ROWS; i++)
	{
		pm_carried	c,
					d;

		carry(&p, i, i + 1, 0.9, &c);
		carry(&back, i, i + 1, 0.9, &d);
		CHECK(memcmp(&c, &d, sizeof(c)) == 0);
	}
	CHECK(fit(&few) == NULL);
	for (int n = 0; n < N_NETS; n++)
		one.samples[n] = samples[n * N_CARDS];
	CHECK(fit(&one) == NULL);
	p.transfer = NULL;
	CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, NULL), PM_OK);
	CHECK(back.transfer == NULL);
}

/* Damaged bytes, and bytes that end early, are an error or something that answers soundly. */
static void
test_damage(void)
{
	const pm_setting quick = {.name = "calibration_folds", .number = 0};
	pm_predictor p = make_predictor("roofline", &quick, 1, &set, &arena);
	pm_buffer	b = {.arena = &arena};
	int			refused = 0;

	pm_transfer_save(fit(&set), &b);
	CHECK(!b.failed);
	for (size_t i = 0; i < b.len; i++)
		for (int k = 0; k < 3; k++)
		{
			uint8_t		kept = b.data[i];
			pm_reader	r = {.data = b.data, .len = k == 2 ? i : b.len};
			pm_arena	room;
			pm_status	st;

			b.data[i] ^= k == 0 ? 1 << i % 8 : k == 1 ? 0xff : 0;
			pm_arena_init_malloc(&room);
			if (pm_transfer_load(&r, &room, &p.transfer, &st) != PM_OK)
				refused++;
			else
			{
				pm_carried	c;

				carry(&p, 0, 1, 0.9, &c);
				CHECK(c.low_ms > 0 && c.low_ms <= c.step_ms && c.step_ms <= c.high_ms && isfinite(c.high_ms));
			}
			pm_arena_release(&room);
			b.data[i] = kept;
		}
	CHECK(refused >= (int) b.len);
}

/* Learned by a training with folds, not by one without. */
static void
test_trained(void)
{
	const pm_setting with = {.name = "calibration_folds", .number = 4};
	const pm_setting without = {.name = "calibration_folds", .number = 0};

	CHECK(make_predictor("roofline", &with, 1, &set, &arena).transfer != NULL);
	CHECK(make_predictor("roofline", &without, 1, &set, &arena).transfer == NULL);
}

int
main(void)
{
	pm_arena_init_malloc(&arena);
	make_rows(0.4, 0.1, false);
	test_weight();
	test_intervals();
	test_outside();
	test_stored();
	test_damage();
	test_trained();
	pm_arena_release(&arena);
	return check_done("transfer");
}
