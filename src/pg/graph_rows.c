/*
 * graph_rows.c - the nodes of a graph as rows of perfmodel.graph_node.
 *
 * A graph has hundreds of nodes, and a collection hundreds of thousands, so
 * they go in as COPY does it: multi-inserts into the table, then its indexes.
 * The foreign key to graph holds by construction: the row it points to was
 * inserted by this transaction, just before.  Where an owner has given the
 * table more than that (triggers, rules, checks, row security, other columns),
 * the nodes go in by INSERT, which heeds it.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "arrays.h"
#include "compat.h"
#include "encoding.h"
#include "graphs.h"
#include "plans.h"
#include "results.h"
#include "tables.h"
#include "features/question.h"
#include "graph/op_catalogue.h"

#define BATCH 256

/* Columns of perfmodel.graph_node, in order. */
enum
{
	C_GRAPH_ID, C_NODE_ID, C_OP, C_CLASS, C_INPUTS, C_SHAPE, C_BATCH_DIM, C_ATTRS, C_WEIGHTS,
	C_FLOPS_FORWARD, C_FLOPS_BACKWARD, C_BYTES_FORWARD, C_BYTES_BACKWARD, C_PARAMS, C_MODULE, N_COLUMNS
};

static const Oid column_type[N_COLUMNS] = {
	INT8OID, INT4OID, TEXTOID, TEXTOID, INT4ARRAYOID, INT8ARRAYOID, INT2OID, JSONBOID, TEXTOID,
	FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, FLOAT8OID, TEXTOID
};

/* A row; of a slot, or not. */
typedef struct node_row
{
	Datum	   *values;
	bool	   *isnull;
} node_row;

typedef struct writer
{
	Relation	rel;
	EState	   *estate;
	ResultRelInfo *rri;
	BulkInsertState bistate;
	CommandId	cid;
	TupleTableSlot *slots[BATCH];
	int			n;
	MemoryContext cxt;			/* datums of one batch */
} writer;

Datum
pm_shape_array(const pm_shape *s, int batch_dim, int64 batch)
{
	int64		dim[PM_MAX_RANK];

	for (int i = 0; i < s->rank; i++)
		dim[i] = s->dim[i] * (i == batch_dim ? batch : 1);
	return pm_int8_array(dim, s->rank);
}

/* [[64,3,7,7],[64]] */
static Datum
weights_text(const pm_node *n)
{
	StringInfoData s;

	initStringInfo(&s);
	for (int i = 0; i < n->n_weights; i++)
	{
		appendStringInfoString(&s, i == 0 ? "[[" : ",[");
		for (int j = 0; j < n->weights[i].rank; j++)
			appendStringInfo(&s, j ? ",%lld" : "%lld", (long long) n->weights[i].dim[j]);
		appendStringInfoChar(&s, ']');
	}
	appendStringInfoChar(&s, ']');
	return PointerGetDatum(cstring_to_text_with_len(s.data, s.len));
}

static Datum
inputs_array(const pm_node *n)
{
	Datum	   *d = palloc(sizeof(Datum) * n->n_inputs);

	for (int i = 0; i < n->n_inputs; i++)
		d[i] = Int32GetDatum(n->inputs[i]);
	return pm_array_make(d, n->n_inputs, INT4OID);
}

static void
put_float8(node_row *row, int col, double v, bool null)
{
	row->isnull[col] = null;
	row->values[col] = null ? (Datum) 0 : Float8GetDatum(v);
}

static void
put_work(node_row *row, const pm_graph *g, int i)
{
	pm_work		w;
	bool		idle;

	pm_node_work(g, i, 1, PM_FP32, PM_NCHW, PM_SGD_MOMENTUM, &w);
	idle = w.flops_forward == 0 && w.bytes_forward == 0;
	put_float8(row, C_FLOPS_FORWARD, w.flops_forward, idle);
	put_float8(row, C_FLOPS_BACKWARD, w.flops_backward, idle);
	put_float8(row, C_BYTES_FORWARD, w.bytes_forward, idle);
	put_float8(row, C_BYTES_BACKWARD, w.bytes_backward, idle);
	put_float8(row, C_PARAMS, w.params, w.params == 0);
}

static void
put_lists(node_row *row, const pm_graph *g, const pm_node *n)
{
	row->isnull[C_INPUTS] = n->n_inputs == 0;
	if (n->n_inputs > 0)
		row->values[C_INPUTS] = inputs_array(n);
	row->isnull[C_SHAPE] = n->shape.rank == 0;
	if (n->shape.rank > 0)
		row->values[C_SHAPE] = pm_shape_array(&n->shape, -1, 1);
	row->isnull[C_WEIGHTS] = n->n_weights == 0;
	if (n->n_weights > 0)
		row->values[C_WEIGHTS] = weights_text(n);
	row->isnull[C_ATTRS] = n->attrs_len == 0;
	if (n->attrs_len > 0)
		row->values[C_ATTRS] =
			DirectFunctionCall1(jsonb_in, CStringGetDatum(pm_from_core(pnstrdup(g->text + n->attrs_at, n->attrs_len))));
}

static void
put_node(node_row *row, int64 graph_id, const pm_graph *g, int i)
{
	const pm_node *n = &g->nodes[i];

	memset(row->isnull, false, sizeof(bool) * N_COLUMNS);
	row->values[C_GRAPH_ID] = Int64GetDatum(graph_id);
	row->values[C_NODE_ID] = Int32GetDatum(i);
	row->values[C_OP] = CStringGetTextDatum(pm_from_core(n->op_name));
	row->values[C_CLASS] = CStringGetTextDatum(pm_class_name[pm_op_class(n->op)]);
	row->isnull[C_BATCH_DIM] = n->batch_dim < 0;
	row->values[C_BATCH_DIM] = Int16GetDatum(n->batch_dim);
	row->isnull[C_MODULE] = n->module == NULL;
	if (n->module != NULL)
		row->values[C_MODULE] = CStringGetTextDatum(pm_from_core(n->module));
	put_lists(row, g, n);
	put_work(row, g, i);
}

/* ---------- as COPY does it ---------- */

static bool
has_insert_triggers(Relation rel)
{
	for (int i = 0; rel->trigdesc != NULL && i < rel->trigdesc->numtriggers; i++)
	{
		const Trigger *t = &rel->trigdesc->triggers[i];

		if (TRIGGER_FOR_INSERT(t->tgtype) && t->tgenabled != TRIGGER_DISABLED && t->tgfoid != F_RI_FKEY_CHECK_INS)
			return true;
	}
	return false;
}

/* Whether the table is the one that the extension has made. */
static bool
is_plain(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	if (rel->rd_rel->relkind != RELKIND_RELATION || desc->natts != N_COLUMNS || rel->rd_rules != NULL ||
		has_insert_triggers(rel) || (desc->constr != NULL && desc->constr->num_check > 0) ||
		check_enable_rls(RelationGetRelid(rel), InvalidOid, true) == RLS_ENABLED)
		return false;
	for (int i = 0; i < N_COLUMNS; i++)
	{
		Form_pg_attribute a = TupleDescAttr(desc, i);

		if (a->atttypid != column_type[i] || a->attgenerated != '\0' || (a->attnotnull && i > C_CLASS))
			return false;
	}
	return true;
}

static void
flush_batch(writer *w)
{
	if (w->n == 0)
		return;
	table_multi_insert(w->rel, w->slots, w->n, w->cid, 0, w->bistate);
	for (int i = 0; i < w->n; i++)
	{
		list_free(pm_insert_index_tuples(w->rri, w->slots[i], w->estate));
		ResetPerTupleExprContext(w->estate);
		ExecClearTuple(w->slots[i]);
	}
	w->n = 0;
	MemoryContextReset(w->cxt);
}

static void
writer_open(writer *w, Relation rel)
{
	w->rel = rel;
	w->estate = CreateExecutorState();
	w->rri = makeNode(ResultRelInfo);
	InitResultRelInfo(w->rri, w->rel, 1, NULL, 0);
	ExecOpenIndices(w->rri, false);
	w->bistate = GetBulkInsertState();
	w->cid = GetCurrentCommandId(true);
	w->n = 0;
	w->cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel nodes", ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < BATCH; i++)
		w->slots[i] = table_slot_create(w->rel, &w->estate->es_tupleTable);
}

static void
writer_close(writer *w)
{
	flush_batch(w);
	table_finish_bulk_insert(w->rel, 0);
	FreeBulkInsertState(w->bistate);
	ExecResetTupleTable(w->estate->es_tupleTable, false);
	ExecCloseIndices(w->rri);
	FreeExecutorState(w->estate);
	MemoryContextDelete(w->cxt);
	CommandCounterIncrement();
}

static void
copy_nodes(Relation rel, int64 graph_id, const pm_graph *g)
{
	writer	   *w = palloc0(sizeof(writer));

	writer_open(w, rel);
	for (int i = 0; i < g->n_nodes; i++)
	{
		TupleTableSlot *slot = w->slots[w->n++];
		MemoryContext old = MemoryContextSwitchTo(w->cxt);

		ExecClearTuple(slot);
		put_node(&(node_row) {slot->tts_values, slot->tts_isnull}, graph_id, g, i);
		ExecStoreVirtualTuple(slot);
		MemoryContextSwitchTo(old);
		if (w->n == BATCH)
		{
			flush_batch(w);
			CHECK_FOR_INTERRUPTS();
		}
	}
	writer_close(w);
	pfree(w);
}

/* ---------- by INSERT ---------- */

static void
insert_nodes(int64 graph_id, const pm_graph *g)
{
	static pm_plan insert = {
		"INSERT INTO perfmodel.graph_node (graph_id, node_id, op, class, inputs, shape, batch_dim, attrs, weights,"
		" flops_forward, flops_backward, bytes_forward, bytes_backward, params, module)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)", N_COLUMNS
	};
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "perfmodel node", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Datum		values[N_COLUMNS] = {0};
	bool		isnull[N_COLUMNS];
	char		nulls[N_COLUMNS + 1];

	memcpy(insert.args, column_type, sizeof(column_type));
	for (int i = 0; i < g->n_nodes; i++)
	{
		put_node(&(node_row) {values, isnull}, graph_id, g, i);
		for (int k = 0; k < N_COLUMNS; k++)
			nulls[k] = isnull[k] ? 'n' : ' ';
		pm_run_store(&insert, values, nulls, "graph_node");
		MemoryContextReset(cxt);
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}

/* Inside SPI_connect(). */
void
pm_store_nodes(int64 graph_id, const pm_graph *g)
{
	Relation	rel;

	pm_require_privilege("graph_node", ACL_INSERT);
	rel = table_open(pm_table("graph_node"), RowExclusiveLock);
	if (is_plain(rel))
		copy_nodes(rel, graph_id, g);
	else
		insert_nodes(graph_id, g);
	table_close(rel, NoLock);
}
