/*
 * parallel.c - reads the jsonb that says how several GPUs share the work.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"

#include "errors.h"
#include "features/tokens.h"
#include "members.h"
#include "parallel.h"
#include "scaling/checks.h"

PG_FUNCTION_INFO_V1(pm_check_parallel);
PG_FUNCTION_INFO_V1(pm_total_batch);

static void
refuse(const char *name, const char *should_be)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("member \"%s\" of parallel must be %s", name, should_be)));
}

static double
number(const char *name, const JsonbValue *v)
{
	if (v->type != jbvNumeric)
		refuse(name, "a number");
	return pm_member_number(v);
}

static int
whole_number(const char *name, const JsonbValue *v)
{
	double		n = number(name, v);

	if (n != floor(n) || fabs(n) > PG_INT32_MAX)
		refuse(name, "an integer");
	return (int) n;
}

/* Numbers that others are divided by. */
static int
divisor(const char *name, const JsonbValue *v, int most)
{
	int			n = whole_number(name, v);

	if (n < 1 || n > most)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("member \"%s\" of parallel must be between 1 and %d, not %d", name, most, n)));
	return n;
}

static bool
yes_or_no(const char *name, const JsonbValue *v)
{
	if (v->type != jbvBool)
		refuse(name, "true or false");
	return v->val.boolean;
}

static bool
is_word(const JsonbValue *v, const char *word)
{
	return v->type == jbvString && v->val.string.len == (int) strlen(word) &&
		pg_strncasecmp(v->val.string.val, word, v->val.string.len) == 0;
}

/* How many layers are computed again; -1: none at all, as 0 stands for all. */
static int
layers_again(const char *name, const JsonbValue *v)
{
	int			n = whole_number(name, v);

	if (n < 0 || n > PM_MAX_NODES)
		refuse(name, "a number of layers, 0 or more");
	return n == 0 ? -1 : n;
}

/* One number has two names. */
static bool
is_accumulation(const char *name)
{
	return strcmp(name, "accumulation") == 0 || strcmp(name, "micro_batches") == 0;
}

static void
set_member(const char *name, const JsonbValue *v, pm_parallel *p)
{
	if (strcmp(name, "zero") == 0 && v->type == jbvString && !is_word(v, "fsdp"))
		refuse(name, "0, 1, 2, 3 or \"fsdp\"");
	else if (strcmp(name, "zero") == 0)
		p->zero = is_word(v, "fsdp") ? 3 : whole_number(name, v);
	else if (is_accumulation(name))
		p->accumulation = whole_number(name, v);
	else if (strcmp(name, "tp") == 0)
		p->tp = divisor(name, v, PM_MAX_TP);
	else if (strcmp(name, "pp") == 0)
		p->pp = divisor(name, v, PM_MAX_PP);
	else if (strcmp(name, "cp") == 0)
		p->cp = divisor(name, v, PM_MAX_CP);
	else if (strcmp(name, "ep") == 0)
		p->ep = divisor(name, v, PM_MAX_EP);
	else if (strcmp(name, "etp") == 0)
		p->etp = divisor(name, v, PM_MAX_TP);
	else if (strcmp(name, "shard") == 0)
		p->shard = divisor(name, v, PM_MAX_WORLD);
	else if (strcmp(name, "interleave") == 0)
		p->interleave = divisor(name, v, PM_MAX_PP);
	else if (strcmp(name, "recompute") == 0)
	{
		if (v->type != jbvBool && !is_word(v, "attention") && !is_word(v, "cheap"))
			refuse(name, "true, false, \"cheap\" or \"attention\"");
		p->recompute = v->type != jbvBool ? (is_word(v, "cheap") ? PM_RECOMPUTE_CHEAP : PM_RECOMPUTE_ATTENTION) : v->val.boolean ? PM_RECOMPUTE_LAYERS : PM_RECOMPUTE_NOTHING;
	}
	else if (strcmp(name, "recompute_layers") == 0)
		p->again_layers = layers_again(name, v);
	else if (strcmp(name, "sequence_parallel") == 0)
		p->sequence_parallel = yes_or_no(name, v);
	else if (strcmp(name, "master_weights") == 0)
		p->master_weights = yes_or_no(name, v);
	else if (strcmp(name, "compile") == 0)
		p->compile = yes_or_no(name, v);
	else if (strcmp(name, "bucket_mb") == 0)
		p->bucket_mb = number(name, v);
	else if (strcmp(name, "compression") == 0)
	{
		if (!is_word(v, "fp16") && !is_word(v, "bf16") && !is_word(v, "none"))
			refuse(name, "\"fp16\", \"bf16\" or \"none\"");
		p->compress = !is_word(v, "none");
	}
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("unknown member \"%s\" of \"parallel\"", pm_shown_name(name)),
				 errhint("Known are \"zero\", \"accumulation\", \"compression\", \"bucket_mb\", \"compile\", \"shard\", \"master_weights\", \"tp\", \"pp\", \"cp\", \"ep\", \"etp\", \"micro_batches\", \"interleave\", \"recompute\", \"recompute_layers\", \"sequence_parallel\". FSDP is \"zero\": 3.")));
}

/* Of some layers none, or some, or, without a number, all. */
static void
settle_layers_again(pm_parallel *p)
{
	if (p->again_layers != 0 && p->recompute != PM_RECOMPUTE_LAYERS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("recompute_layers needs recompute true"),
				 errdetail("It says how many of the layers of a GPU are computed again."),
				 errhint("For example: parallel => '{\"recompute\": true, \"recompute_layers\": 8}'.")));
	if (p->again_layers < 0)
	{
		p->recompute = PM_RECOMPUTE_NOTHING;
		p->again_layers = 0;
	}
}

void
pm_parallel_from_jsonb(Jsonb *doc, pm_parallel *p)
{
	pm_members	m;
	int			n_accumulations = 0;

	if (!JB_ROOT_IS_OBJECT(doc))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"parallel\" must be a JSON object"),
				 errhint("For example: parallel => '{\"zero\": 3, \"accumulation\": 4}'.")));
	for (pm_members_begin(&m, doc); pm_next_member(&m);)
	{
		if (m.value.type == jbvNull)
			continue;
		n_accumulations += is_accumulation(m.name);
		if (n_accumulations > 1)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("\"parallel\" has both \"accumulation\" and \"micro_batches\""),
					 errhint("These are two names of one number: leave one of them out.")));
		set_member(m.name, &m.value, p);
	}
	settle_layers_again(p);
}

/* check_parallel(parallel, world_size): of a measurement. */
Datum
pm_check_parallel(PG_FUNCTION_ARGS)
{
	pm_parallel p = PM_PARALLEL_NONE;
	pm_status	st = {PM_OK};

	pm_parallel_from_jsonb(PG_GETARG_JSONB_P(0), &p);
	p.world_size = PG_GETARG_INT32(1);
	if (p.world_size <= 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("\"parallel\" of a measurement needs a world_size above 1"),
				 p.compile ? errhint("Name what compiled the step in \"framework\", such as 'pytorch 2.9 compiled', and leave parallel NULL.") :
				 errhint("Leave parallel NULL for a step on one GPU.")));
	if (pm_parallel_check_numbers(&p, &st) != PM_OK)
		pm_raise(&st);
	PG_RETURN_BOOL(true);
}

static void
check_batch(int batch)
{
	if (batch < 1 || batch > PM_MAX_BATCH)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("batch must be between 1 and %d, not %d", PM_MAX_BATCH, batch)));
}

/* total_batch(batch, world_size, parallel): samples between two updates; NULL where one of the first two is. */
Datum
pm_total_batch(PG_FUNCTION_ARGS)
{
	pm_parallel p = PM_PARALLEL_NONE;
	pm_status	st = {PM_OK};
	double		total;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	if (!PG_ARGISNULL(2))
		pm_parallel_from_jsonb(PG_GETARG_JSONB_P(2), &p);
	p.world_size = PG_GETARG_INT32(1);
	if (pm_parallel_check_numbers(&p, &st) != PM_OK)
		pm_raise(&st);
	check_batch(PG_GETARG_INT32(0));
	total = (double) PG_GETARG_INT32(0) * PM_REPLICAS(&p) * p.accumulation;
	if (total > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the batch of all devices is too large"),
				 errdetail("%d samples on each of %d copies of the model, added up over %d batches, are more than %d.",
						   PG_GETARG_INT32(0), PM_REPLICAS(&p), p.accumulation, PG_INT32_MAX),
				 errhint("batch is the batch of one device, not of all.")));
	PG_RETURN_INT32((int32) total);
}
