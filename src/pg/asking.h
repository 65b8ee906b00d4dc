/*
 * asking.h - questions and their answers as columns of SQL functions.
 */
#ifndef PM_PG_ASKING_H
#define PM_PG_ASKING_H

#include "question.h"

/*
 * The answer, remembered or computed; judged unless how->level is NaN.  Its
 * note lives as long as what is remembered, or the current context.  False: the
 * question has a problem and how says that this is no error. Raises otherwise,
 * with the question in the error's context.
 */
extern bool pm_ask(const pm_asked_words *q, const pm_manner *how, pm_answer *a, pm_problem *p);

/*
 * Put peak_mb and p_fits into a, the answer to q just given, remembered or
 * estimated.  False: there is no estimate, and *p says why.
 */
extern bool pm_ask_memory(const pm_asked_words *q, pm_answer *a, pm_problem *p);

/* Columns of predict(): step_ms, step_ms_low, step_ms_high, samples_per_s, in_domain, predictor_id, note, reasons. */
#define PM_N_ANSWER 8

/* Nulls come in as false, values go out in the current context. */
extern void pm_fill_answer(const pm_answer *a, const pm_asked_words *q, Datum *values, bool *nulls);
extern void pm_fill_problem(const pm_problem *p, Datum *values, bool *nulls);

/*
 * The note with what there is to say of the format `given` (NULL: the usual) behind it: that the card of `to` has no units for it, or in which
 * other one p answers; note itself, which may be NULL, where there is nothing.
 */
extern char *pm_note_format(const text *given, const pm_question *to, const pm_predictor *p, const char *note);

/* Samples that a step of q takes, on all GPUs together. */
extern double pm_samples_of(const pm_asked_words *q);

#endif
