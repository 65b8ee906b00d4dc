/*
 * graph_text.h - graphs as documents of JSON, for tests of the importer and of what
 * is made of a graph.  JSON stands here with ' in place of ", for the reader's sake.
 */
#ifndef GRAPH_TEXT_H
#define GRAPH_TEXT_H

#include "graph/graph.h"
#include "graph/graph_json.h"

#include <stdarg.h>
#include <stdlib.h>

#include <stdarg.h>
#include <stdlib.h>

#define HEAD "{'format':'perfmodel-graph/1','nodes':["
#define IN0 "{'id':0,'op':'Input','inputs':[],'shape':[1,8],'batch_dim':0}"
#define DOC(nodes) HEAD nodes "]}"
#define ONE(extra) DOC("{'id':0,'op':'Relu','inputs':[],'shape':[1,8],'batch_dim':0," extra "}")
#define TWO(node) DOC(IN0 "," node)

/* Memory for texts; a test that has none need not go on. */
static inline char *
buffer(size_t size)
{
	char	   *p = malloc(size);

	if (p == NULL)
		abort();
	return p;
}

/* Print behind the first len bytes of text; the new length. */
static inline size_t PM_PRINTF(3, 4)
append(char *text, size_t len, const char *fmt,...)
{
	va_list		ap;

	va_start(ap, fmt);
	len += (size_t) vsprintf(text + len, fmt, ap);
	va_end(ap);
	return len;
}

/* Parse text with ' for "; the caller releases the arena. */
static inline pm_code
parse(const char *text, pm_arena *a, pm_graph *g, pm_status *st)
{
	size_t		len = strlen(text);
	char	   *copy = buffer(len + 1);
	pm_code		code;

	pm_arena_init_malloc(a);
	memset(st, 0, sizeof(*st));
	for (size_t i = 0; i <= len; i++)
		copy[i] = text[i] == '\'' ? '"' : text[i];
	code = pm_graph_from_json(copy, len, a, g, st);
	free(copy);
	return code;
}

/*
 *         Input0
 *           |
 *         Conv1 ------------+
 *        /     \            |
 *    view2     Relu4        |  long skip, behind a view
 *      |         |        view6
 *    Relu3       |          |
 *       \       /           |
 *        Add5               |
 *           \              /
 *            Add7 (reads 5 twice)
 *              |
 *            view8
 */
#define FORK \
	"{'id':0,'op':'Input','inputs':[],'shape':[1,8],'batch_dim':0}," \
	"{'id':1,'op':'Conv','inputs':[0],'shape':[1,8],'batch_dim':0,'weights':[[8,8]]}," \
	"{'id':2,'op':'Reshape','inputs':[1],'shape':[8,1],'batch_dim':1,'view':true}," \
	"{'id':3,'op':'Relu','inputs':[2],'shape':[8,1],'batch_dim':1}," \
	"{'id':4,'op':'Relu','inputs':[1],'shape':[1,8],'batch_dim':0}," \
	"{'id':5,'op':'Add','inputs':[3,4],'shape':[1,8],'batch_dim':0}," \
	"{'id':6,'op':'Reshape','inputs':[1],'shape':[1,8],'batch_dim':0,'view':true}," \
	"{'id':7,'op':'Sum','inputs':[5,6,5],'shape':[1,8],'batch_dim':0}," \
	"{'id':8,'op':'Reshape','inputs':[7],'shape':[8,1],'batch_dim':1,'view':true}"

#endif
