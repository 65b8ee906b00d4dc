/*
 * profile_words.c - the trigger that converts words of measurements and links to
 * their usual spelling.
 *
 * A measurement may come with the words of another program ("AdamW", "float16").
 * They are stored as perfmodel writes them, so that rows can be compared and
 * grouped; what stands for nothing is refused with the words that are known.
 */
#include "postgres.h"

#include "utils/rel.h"

#include "errors.h"
#include "features/question.h"
#include "scaling/collective.h"
#include "triggers.h"

PG_FUNCTION_INFO_V1(pm_profile_words);

/* Of perfmodel.interconnect. */
static const pm_word_list link_words = {.what = "kind",.n = PM_N_LINK_KINDS,.names = pm_link_kind_name};

static const pm_word_list *const lists[] = {&pm_dtype_words, &pm_layout_words, &pm_optimizer_words, &pm_mode_words, &link_words};

/* Like a violation of the check that the table has on the column. */
pg_noreturn static void
refuse_word(const char *table, const pm_word_list *list, const char *given)
{
	const char *constraint = psprintf("%s_%s_known", table, list->what);

	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg("unknown %s \"%s\" violates check constraint \"%s\"", list->what, pm_shown_name(given), constraint),
			 errhint("%s", pm_known_words(list->names, list->n)),
			 err_generic_string(PG_DIAG_SCHEMA_NAME, "perfmodel"),
			 err_generic_string(PG_DIAG_TABLE_NAME, table),
			 err_generic_string(PG_DIAG_CONSTRAINT_NAME, constraint)));
}

static HeapTuple
spell(Relation table, HeapTuple row, const pm_word_list *list)
{
	char	   *given = pm_trigger_text(table, row, list->what);
	int			at;

	if (given == NULL)
		return row;
	at = pm_word_find(list, given);
	if (at < 0)
		refuse_word(RelationGetRelationName(table), list, given);
	if (strcmp(list->names[at], given) == 0)
		return row;
	return pm_trigger_set_text(table, row, list->what, list->names[at]);
}

/* Its arguments are the columns: dtype, layout, optimizer, mode, kind. */
Datum
pm_profile_words(PG_FUNCTION_ARGS)
{
	HeapTuple	row = pm_trigger_row(fcinfo, "profile_words");
	TriggerData *t = pm_trigger_call(fcinfo, "profile_words");

	for (int arg = 0; arg < t->tg_trigger->tgnargs; arg++)
		for (int i = 0; i < lengthof(lists); i++)
			if (strcmp(lists[i]->what, t->tg_trigger->tgargs[arg]) == 0)
				row = spell(t->tg_relation, row, lists[i]);
	return PointerGetDatum(row);
}
