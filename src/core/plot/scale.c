/*
 * scale.c - axes of plots.
 */
#include "plot/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MINUTE	60.0
#define HOUR	3600.0
#define DAY		86400.0
#define MONTH	(30 * DAY)

const char *const pm_scale_name[PM_N_SCALE_KINDS] = {"linear", "log", "time", "log2"};

bool
pm_scale_is_log(pm_scale_kind kind)
{
	return kind == PM_SCALE_LOG || kind == PM_SCALE_LOG2;
}

bool
pm_scale_has(const pm_scale *s, double v)
{
	/* no year beyond 9999 */
	return isfinite(v) && fabs(v) < (s->kind == PM_SCALE_TIME ? 253402300800.0 : 1e200) && (!pm_scale_is_log(s->kind) || v > 1e-200);
}

void
pm_scale_take(pm_scale *s, double v)
{
	if (!pm_scale_has(s, v))
		return;
	if (s->low > s->high)
		s->low = s->high = v;
	s->low = fmin(s->low, v);
	s->high = fmax(s->high, v);
}

void
pm_scale_finish(pm_scale *s)
{
	double		room;

	if (s->low > s->high)
	{
		s->low = pm_scale_is_log(s->kind);
		s->high = pm_scale_is_log(s->kind) ? 10 : 1;
	}
	if (pm_scale_is_log(s->kind))
	{
		room = fmax(pow(s->high / s->low, 0.04), 1.1);
		s->low /= room;
		s->high *= room;
		return;
	}
	/* bars and counts begin at 0, and so does what is near it */
	if (s->kind == PM_SCALE_LINEAR && s->low > 0 && s->low < 0.6 * s->high)
		s->low = 0;
	room = s->high - s->low;
	if (room <= 0)
		room = s->kind == PM_SCALE_TIME ? HOUR : fmax(fabs(s->high), 1);
	if (s->low != 0 || s->kind == PM_SCALE_TIME)
		s->low -= 0.03 * room;
	s->high += s->low == s->high ? room : 0.03 * room;
}

double
pm_scale_at(const pm_scale *s, double v)
{
	double		part = pm_scale_is_log(s->kind) ? log(v / s->low) / log(s->high / s->low) : (v - s->low) / (s->high - s->low);

	return s->from + (s->to - s->from) * fmin(fmax(part, -0.05), 1.05);
}

/* ---- numbers ---- */

static void
strip_zeros(char *s)
{
	size_t		n = strlen(s);

	if (strchr(s, '.') == NULL || strchr(s, 'e') != NULL)
		return;
	while (n > 0 && s[n - 1] == '0')
		s[--n] = '\0';
	if (n > 0 && s[n - 1] == '.')
		s[n - 1] = '\0';
}

void
pm_short_number(double v, char *out, size_t size)
{
	static const struct
	{
		double		unit;
		const char *letter;
	}			units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
	double		a = fabs(v);
	int			i = 0;
	char		digits[32];

	if (a < 1e-3 || a >= 1e15 || !isfinite(v))
	{
		snprintf(out, size, v == 0 ? "0" : "%.2g", v);
		return;
	}
	/* thousands are spelled out up to 10,000 */
	while (a < units[i].unit * (units[i].unit == 1e3 ? 10 : 1) && i < 4)
		i++;
	a = v / units[i].unit;
	if (fabs(a) >= 99.95)
		snprintf(digits, sizeof(digits), "%.0f", a);
	else
		snprintf(digits, sizeof(digits), "%.*f", fabs(a) >= 9.995 ? 1 : fabs(a) >= 0.9995 ? 2 : 3, a);
	strip_zeros(digits);
	snprintf(out, size, "%s%s", digits, units[i].letter);
}

/* ---- ticks ---- */

static void
add_tick(pm_ticks *t, double at)
{
	if (t->n >= PM_MAX_TICKS)
		return;
	t->at[t->n] = at;
	pm_short_number(at, t->label[t->n++], sizeof(t->label[0]));
}

static void
linear_ticks(const pm_scale *s, int wanted, pm_ticks *t)
{
	double		step = pow(10, floor(log10((s->high - s->low) / wanted)));
	static const double more[] = {2, 2.5, 2};	/* 1, 2, 5, 10 */

	for (int i = 0; i < 3 && (s->high - s->low) / step > wanted; i++)
		step *= more[i];
	for (double k = ceil(s->low / step - 1e-9); k * step <= s->high * (1 + 1e-12) && t->n < PM_MAX_TICKS; k++)
		add_tick(t, fabs(k) < 0.5 ? 0 : k * step);
}

/* Powers of 10; where there is room, with 3 or with 2 and 5 times these between. */
static void
log_ticks(const pm_scale *s, int wanted, pm_ticks *t)
{
	static const double factors[][3] = {{1}, {1, 3}, {1, 2, 5}};
	double		decades = log10(s->high / s->low);
	int			every = (int) fmax(1, ceil(decades / (wanted + 2)));
	int			parts = decades * 3 <= wanted + 1 ? 3 : decades * 2 <= wanted + 2 ? 2 : 1;

	for (int e = (int) floor(log10(s->low)); e <= log10(s->high) + 1e-9; e++)
		for (int k = 0; k < parts; k++)
		{
			double		at = factors[parts - 1][k] * pow(10, e);

			if (at >= s->low * (1 - 1e-9) && at <= s->high * (1 + 1e-9) && e % every == 0)
				add_tick(t, at);
		}
	if (t->n < 2)
	{
		t->n = 0;
		linear_ticks(s, wanted, t);
	}
}

/* Powers of 2, as whole numbers while these are short. */
static void
log2_ticks(const pm_scale *s, int wanted, pm_ticks *t)
{
	int			most = (int) fmin(fmax(2 * wanted, 1), PM_MAX_TICKS - 1);	/* their labels are short */
	int			every = (int) fmax(1, ceil(log2(s->high / s->low) / most));

	for (int e = (int) floor(log2(s->low)); e <= log2(s->high) + 1e-9; e++)
	{
		double		at = exp2(e);

		if (at < s->low * (1 - 1e-9) || at > s->high * (1 + 1e-9) || e % every != 0)
			continue;
		add_tick(t, at);
		if (at >= 1 && at < 1e6)
			snprintf(t->label[t->n - 1], sizeof(t->label[0]), "%.0f", at);
	}
	if (t->n < 2)
	{
		t->n = 0;
		linear_ticks(s, wanted, t);
	}
}

static void
time_label(double at, double step, char *out, size_t size)
{
	static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t		seconds = (time_t) floor(at + 0.5);
	struct tm	tm;

	if (gmtime_r(&seconds, &tm) == NULL)
		snprintf(out, size, "?");
	else if (step >= MONTH)
		snprintf(out, size, "%s %d", months[tm.tm_mon], tm.tm_year + 1900);
	else if (step >= DAY || (tm.tm_hour == 0 && tm.tm_min == 0 && tm.tm_sec == 0))
		snprintf(out, size, "%d %s", tm.tm_mday, months[tm.tm_mon]);
	else if (step >= MINUTE)
		snprintf(out, size, "%02d:%02d", tm.tm_hour, tm.tm_min);
	else
		snprintf(out, size, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* The first days of months; the lengths of months and years are the calendar's. */
static void
month_ticks(const pm_scale *s, int months, pm_ticks *t)
{
	time_t		seconds = (time_t) s->low;
	struct tm	tm;
	long		month;

	if (gmtime_r(&seconds, &tm) == NULL)
		return;
	month = (tm.tm_year * 12L + tm.tm_mon) / months * months;
	for (; t->n < PM_MAX_TICKS; month += months)
	{
		long		year = month / 12 + 1900 - (month % 12 < 2);	/* days from 1 March on: H. Hinnant, chrono-compatible calendars */
		long		m = (month % 12 + 10) % 12;
		double		at = DAY * (365 * year + year / 4 - year / 100 + year / 400 + (153 * m + 2) / 5 - 719468);

		if (at > s->high)
			return;
		if (at < s->low)
			continue;
		t->at[t->n] = at;
		time_label(at, MONTH, t->label[t->n++], sizeof(t->label[0]));
	}
}

static void
time_ticks(const pm_scale *s, int wanted, pm_ticks *t)
{
	static const double steps[] = {1, 5, 15, 30, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 6 * HOUR,
	12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY};
	static const int parts[] = {2, 3, 6, 12, 24};
	double		range = s->high - s->low;
	int			months = 1;

	for (int i = 0; i < (int) (sizeof(steps) / sizeof(steps[0])); i++)
		if (range / steps[i] <= wanted + 1)
		{
			for (double k = ceil(s->low / steps[i]); k * steps[i] <= s->high && t->n < PM_MAX_TICKS; k++)
			{
				t->at[t->n] = k * steps[i];
				time_label(k * steps[i], steps[i], t->label[t->n++], sizeof(t->label[0]));
			}
			return;
		}
	/* parts of a year, or so many years */
	for (int i = 0; i < 5 && months * wanted < range / MONTH; i++)
		months = parts[i];
	while (months * wanted < range / MONTH)
		months *= 2;
	month_ticks(s, months, t);
}

void
pm_scale_ticks(const pm_scale *s, int wanted, pm_ticks *t)
{
	t->n = 0;
	if (s->kind == PM_SCALE_TIME)
		time_ticks(s, wanted, t);
	else if (s->kind == PM_SCALE_LOG)
		log_ticks(s, wanted, t);
	else if (s->kind == PM_SCALE_LOG2)
		log2_ticks(s, wanted, t);
	else
		linear_ticks(s, wanted, t);
}
