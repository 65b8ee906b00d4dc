/*
 * store_predictors.c - writes the predictors of test/core/stored: one of every
 * kind, trained by the library that this is linked with, and what they answer.
 *
 *   store_predictors FOLDER     writes FOLDER/<kind>.bin and FOLDER/answers
 *
 * test/reference/store_predictors.sh makes the folder of the stored format again.
 * A release's folder is made once, with the library of that release, and never
 * again.  For 0.1.0, whose header of questions had another name: -Dpm_question=pm_query.
 */
#include "stored_predictors.h"
#ifdef pm_question
#include "recalibrate.h"
#else
#include "predictor/recalibrate.h"
#endif

static pm_arena arena;

static void
store(const char *folder, const char *name, const pm_predictor *p, FILE *answers)
{
	pm_sample	q[N_STORED_QUESTIONS];
	char		path[512];
	uint8_t    *data;
	size_t		len;
	FILE	   *f;

	snprintf(path, sizeof(path), "%s/%s.bin", folder, name);
	if (pm_predictor_save(p, &arena, &data, &len, NULL) != PM_OK || (f = fopen(path, "wb")) == NULL ||
		fwrite(data, 1, len, f) != len || fclose(f) != 0)
		make_failed(path, NULL);
	stored_questions(q, &arena);
	for (int i = 0; i < N_STORED_QUESTIONS; i++)
	{
		double		ms = predict_row(p, &q[i]);
		pm_verdict	v;

		if (pm_predictor_judge(p, &q[i], ms, 0.9, &arena, &v, NULL) != PM_OK)
			make_failed("verdict", NULL);
		fprintf(answers, "%s %d %a %a %a %d %s\n", name, i, ms, v.low_ms, v.high_ms, v.in_domain, v.reason);
	}
}

int
main(int argc, char **argv)
{
	pm_dataset	d;
	pm_predictor p;
	pm_recalibration r;
	char		path[512];
	FILE	   *answers;
	bool		seen[3] = {false};

	if (argc != 2)
		return 2;
	pm_arena_init_malloc(&arena);
	d = stored_dataset(&arena);
	snprintf(path, sizeof(path), "%s/answers", argv[1]);
	if ((answers = fopen(path, "w")) == NULL)
		return 1;
	for (int i = 0; i < N_STORED_KINDS; i++)
	{
		pm_setting	settings[16];
		pm_predictor one = make_predictor(stored_kinds[i], settings, stored_settings(stored_kinds[i], settings), &d, &arena);

		store(argv[1], stored_kinds[i], &one, answers);
		if (i == 0)
			p = one;
	}
	d.n = 3;
	if (pm_recalibrate(&p, &d, seen, NULL, &arena, &p, &r, NULL) != PM_OK)
		return 1;
	store(argv[1], "recalibrated", &p, answers);
	return fclose(answers) != 0;
}
