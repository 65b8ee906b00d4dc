/*
 * test_stored.c - stored predictors, one of every kind.  Those of this version's
 * rules answer as they did when they were stored; those of 0.1.0, whose rules
 * of work were others, are refused with a word about training.
 *
 * Weights and coefficients come back bit by bit.  Answers of networks are the
 * same bits where the matrix products run on the same kernels, which differ
 * between processors; PERFMODEL_SAME_BITS asks for all bits.
 */
#include "check.h"
#include "stored_predictors.h"

#include "predictor/recalibrate.h"

#define FOLDER "test/core/stored"
#define FORMAT "format15"

static pm_arena arena;

static uint8_t *
read_stored(const char *format, const char *name, size_t *len)
{
	char		path[256];
	uint8_t    *data;
	FILE	   *f;

	snprintf(path, sizeof(path), "%s/%s/%s.bin", FOLDER, format, name);
	if ((f = fopen(path, "rb")) == NULL)
		make_failed(path, NULL);
	data = pm_alloc(&arena, 1 << 20, 1);
	*len = fread(data, 1, 1 << 20, f);
	fclose(f);
	return data;
}

static pm_predictor
load(const char *format, const char *name)
{
	pm_status	st = {PM_OK};
	pm_predictor p;
	size_t		len;
	uint8_t    *data = read_stored(format, name, &len);

	CHECK_EQ(pm_predictor_load(data, len, &arena, &p, &st), PM_OK);
	CHECK_HAS(st.message, "");
	if (st.code != PM_OK)
		make_failed(name, &st);
	return p;
}

static void
check_same(double got, double want, bool exact, const char *what)
{
	if (isnan(want) || exact || getenv("PERFMODEL_SAME_BITS") != NULL)
		CHECK(memcmp(&got, &want, sizeof(got)) == 0 || (isnan(got) && isnan(want)));
	else if (!(fabs(got - want) <= 1e-4 * fabs(want)))
	{
		fprintf(stderr, "%s: %.17g, should be %.17g\n", what, got, want);
		CHECK(false);
	}
}

/* Answers as they were when the predictors were stored. */
static void
test_answers(const char *format)
{
	pm_sample	q[N_STORED_QUESTIONS];
	char		path[256];
	char		name[64];
	char		line[1024];
	char		last[64] = "";
	pm_predictor p = {0};
	int			n = 0;
	FILE	   *f;

	stored_questions(q, &arena);
	snprintf(path, sizeof(path), "%s/%s/answers", FOLDER, format);
	if ((f = fopen(path, "r")) == NULL)
		make_failed(path, NULL);
	while (fgets(line, sizeof(line), f) != NULL)
	{
		double		ms,
					low,
					high;
		int			i,
					in_domain,
					at;
		pm_verdict	v;
		double		got;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%63s %d %la %la %la %d %n", name, &i, &ms, &low, &high, &in_domain, &at) != 6)
			make_failed(line, NULL);
		if (strcmp(name, last) != 0)
			p = load(format, name);
		strcpy(last, name);
		got = predict_row(&p, &q[i]);
		check_same(got, ms, false, line);
		CHECK_EQ(pm_predictor_judge(&p, &q[i], got, 0.9, &arena, &v, NULL), PM_OK);
		check_same(v.low_ms, low, false, line);
		check_same(v.high_ms, high, false, line);
		CHECK_EQ(v.in_domain, in_domain);
		CHECK(strcmp(v.reason, line + at) == 0);
		n++;
	}
	fclose(f);
	CHECK_EQ(n, (N_STORED_KINDS + 1) * N_STORED_QUESTIONS);
}

/* What is read, stored and read again is the same to the bit, and so is what it answers. */
static void
test_again(const char *format, const char *name)
{
	pm_predictor p = load(format, name);
	pm_predictor back;
	pm_sample	q[N_STORED_QUESTIONS];
	uint8_t    *first;
	uint8_t    *second;
	size_t		n,
				n2;

	CHECK_EQ(pm_predictor_save(&p, &arena, &first, &n, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(first, n, &arena, &back, NULL), PM_OK);
	CHECK_EQ(pm_predictor_save(&back, &arena, &second, &n2, NULL), PM_OK);
	CHECK(n == n2 && memcmp(first, second, n) == 0);
	stored_questions(q, &arena);
	for (int i = 0; i < N_STORED_QUESTIONS; i++)
		check_same(predict_row(&back, &q[i]), predict_row(&p, &q[i]), true, name);
}

/* ---- a library that has more names than the predictor was trained with ---- */

/* The list without its k-th name, and backwards. */
static void
shorten(pm_schema *s, pm_list_id list, int without)
{
	const pm_names *here = pm_list_here(list);
	const char **names = PM_NEW(&arena, const char *, here->n);
	pm_names	less = {here->what, 0, names};

	for (int i = here->n - 1; i >= 0; i--)
		if (i != without)
			names[less.n++] = here->names[i];
	CHECK_EQ(pm_names_match(here, &less, &arena, &s->list[list], NULL), PM_OK);
}

static const pm_schema *
earlier_schema(void)
{
	pm_schema  *s = PM_NEW(&arena, pm_schema, 1);

	*s = pm_schema_here;
	shorten(s, PM_LIST_SLOT, PM_HAS_ALPHA);
	shorten(s, PM_LIST_LOAD, PM_LOAD_CACHE);
	shorten(s, PM_LIST_JOB, PM_JOB_TOKENS);
	shorten(s, PM_LIST_CLASS, PM_CLASS_RECURRENT);
	shorten(s, PM_LIST_CONV_KIND, PM_CONV_TRANSPOSE);
	shorten(s, PM_LIST_DTYPE, PM_FP16);
	return s;
}

/* Whether the lists are those of this library. */
static bool
is_here(const pm_schema *s)
{
	for (int i = 0; i < PM_N_LISTS; i++)
		if (s->list[i].here != NULL)
			return false;
	return true;
}

static int refusing;				/* kinds that refuse a dtype which they were trained before */

/* As pm_predictor_fit(), with the lists of an earlier library. */
static pm_predictor
train_earlier(const char *kind, const pm_schema *schema, const pm_dataset *d)
{
	pm_predictor p = {.kind = pm_kind_find(kind), .schema = schema};
	pm_setting	settings[16];
	pm_fit_report report;
	pm_status	st = {PM_OK};

	if (pm_options_set(p.kind, settings, stored_settings(kind, settings), &p.options, &st) != PM_OK ||
		pm_predictor_fit(&p, d, 1, 1, NULL, &arena, &report, &st) != PM_OK)
		make_failed(kind, &st);
	return p;
}

static void
test_more_names(const char *kind, const pm_dataset *d)
{
	pm_predictor p = train_earlier(kind, earlier_schema(), d);
	pm_predictor back;
	pm_sample	q[N_STORED_QUESTIONS];
	uint8_t    *data;
	uint8_t    *again;
	size_t		len,
				n;
	double		ms;
	pm_status	st = {PM_OK};

	CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, NULL), PM_OK);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &back, &st), PM_OK);
	CHECK(!is_here(back.schema));
	stored_questions(q, &arena);
	for (int i = 0; i < N_STORED_QUESTIONS; i++)
	{
		ms = predict_row(&back, &q[i]);
		CHECK(ms > 0);
		check_same(ms, predict_row(&p, &q[i]), true, kind);
	}
	CHECK_EQ(pm_predictor_save(&back, &arena, &again, &n, NULL), PM_OK);
	CHECK(n == len && memcmp(data, again, n) == 0);
	/*
	 * A dtype that it was trained before: networks say so, formulas need none.  But where the rows are known, another
	 * format on the same units stands for it, so that nobody refuses.
	 */
	q[0].query.dtype = PM_FP16;
	CHECK(pm_predictor_predict(&back, &q[0], &arena, &ms, NULL, NULL, &st) == PM_OK || back.trust == NULL);
	back.trust = NULL;
	if (pm_predictor_predict(&back, &q[0], &arena, &ms, NULL, NULL, &st) != PM_OK)
	{
		CHECK_EQ(st.code, PM_ERR_INPUT);
		CHECK_HAS(st.message, "was trained before dtype \"fp16\" was known");
		refusing++;
	}
}

/* Coefficients go with the names: a kind of formulas answers the same whatever the order of its lists. */
static void
test_order_of_names(const char *kind, const pm_dataset *d)
{
	pm_schema	backwards = pm_schema_here;
	pm_sample	q[N_STORED_QUESTIONS];
	pm_predictor p;
	pm_predictor plain = train_earlier(kind, NULL, d);

	for (int list = 0; list <= PM_LIST_LAYOUT; list++)
		shorten(&backwards, (pm_list_id) list, -1);
	p = train_earlier(kind, &backwards, d);
	stored_questions(q, &arena);
	for (int i = 0; i < N_STORED_QUESTIONS; i++)
		check_same(predict_row(&p, &q[i]), predict_row(&plain, &q[i]), true, kind);
}

/* ---- a library that has other rules, or fewer names ---- */

static void
recompute_crc(uint8_t *data, size_t len)
{
	uint32_t	crc = pm_crc32c(data, len - 4);

	for (int i = 0; i < 4; i++)
		data[len - 4 + i] = (uint8_t) (crc >> (8 * i));
}

static void
check_outdated(uint8_t *data, size_t len, const char *message)
{
	pm_predictor p;
	pm_status	st = {PM_OK};

	recompute_crc(data, len);
	CHECK_EQ(pm_predictor_load(data, len, &arena, &p, &st), PM_ERR_OUTDATED);
	CHECK_HAS(st.message, message);
	CHECK(strstr(st.message, "damaged") == NULL);
	CHECK_HAS(st.hint, "train() makes a new one");
}

static uint8_t *
find_bytes(uint8_t *data, size_t len, const char *word)
{
	size_t		n = strlen(word);

	for (size_t i = 0; i + n <= len; i++)
		if (memcmp(data + i, word, n) == 0)
			return data + i;
	make_failed(word, NULL);
	return NULL;
}

static void
test_outdated(void)
{
	pm_predictor p = load(FORMAT, "gnn");
	uint8_t    *data;
	uint8_t    *at;
	char		message[128];
	size_t		len;

	CHECK_EQ(pm_predictor_save(&p, &arena, &data, &len, NULL), PM_OK);
	/* magic, format, kind and quantity with their lengths */
	at = data + 8 + 4 + strlen("gnn") + 4 + strlen("step_ms");
	at[0]++;
	snprintf(message, sizeof(message), "was trained on version %d of the rules of work, and this library has version %d",
			 PM_WORK_VERSION + 1, PM_WORK_VERSION);
	check_outdated(data, len, message);
	at[0]--;
	at[4]++;
	snprintf(message, sizeof(message), "was trained on version %d of the features, and this library has version %d",
			 PM_FEATURE_VERSION + 1, PM_FEATURE_VERSION);
	check_outdated(data, len, message);
	at[4]--;
	at = find_bytes(data, len, "out_per_group");
	at[0] = 'O';
	check_outdated(data, len, "has the slot \"Out_per_group\", which this library does not know");
	at[0] = 'o';
	at = find_bytes(data, len, "sibling");
	at[0] = 'S';
	check_outdated(data, len, "has the relation \"Sibling\"");
	at[0] = 's';
	at = find_bytes(data, len, "rounds");
	at[0] = 'R';
	check_outdated(data, len, "which this library does not know");
}

/* Predictors of 0.1.0 know other work of the same operators: they are refused, and training again is the hint. */
static void
test_old_format(void)
{
	size_t		len;
	uint8_t    *data = read_stored("format1", "roofline", &len);

	check_outdated(data, len, "has format version 1, and this library reads version 15");
}

int
main(void)
{
	pm_dataset	d;

	pm_arena_init_malloc(&arena);
	test_answers(FORMAT);
	for (int i = 0; i < N_STORED_KINDS; i++)
		test_again(FORMAT, stored_kinds[i]);
	test_again(FORMAT, "recalibrated");
	test_old_format();
	d = stored_dataset(&arena);
	for (int i = 0; i < N_STORED_KINDS; i++)
		test_more_names(stored_kinds[i], &d);
	test_order_of_names("roofline", &d);
	test_order_of_names("opclass", &d);
	test_order_of_names("seer", &d);
	test_outdated();
	CHECK(refusing > 0);
	pm_arena_release(&arena);
	return check_done("stored");
}
