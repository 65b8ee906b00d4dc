/*
 * model.c - messages about a model, and the question whether to stop.
 */
#include "import/onnx/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *
ox_shown(const char *name, char buf[64])
{
	size_t		n = 0;

	for (; name != NULL && name[n] != '\0' && n < 63; n++)
		buf[n] = name[n] >= ' ' && name[n] <= '~' && name[n] != '"' && name[n] != '\\' ? name[n] : '?';
	buf[n] = '\0';
	if (n == 63)
		memcpy(buf + 60, "...", 3);
	return buf;
}

/* "a", "b" and 3 more */
static void
list_inputs(const ox_model *m, const ox_node *n, char *text, size_t size)
{
	size_t		used = 0;
	char		buf[64];

	text[0] = '\0';
	for (int i = 0; i < n->n_in && used + 80 < size; i++)
		used += (size_t) snprintf(text + used, size - used, "%s\"%s\"", i ? ", " : "",
								  n->in[i] < 0 ? "" : ox_shown(m->values[n->in[i]].name, buf));
}

pm_code
ox_fail(const ox_model *m, const ox_node *n, const char *fmt,...)
{
	char		what[192];
	char		inputs[400];
	char		name[64];
	char		op[64];
	va_list		args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	if (n == NULL)
		return pm_fail(m->st, PM_ERR_INPUT, "%s", what);
	ox_shown(n->name[0] ? n->name : n->out != NULL && n->n_out > 0 && n->out[0] >= 0 ? m->values[n->out[0]].name : "", name);
	pm_fail(m->st, PM_ERR_INPUT, "node \"%s\" (%s): %s", name, ox_shown(n->op, op), what);
	list_inputs(m, n, inputs, sizeof(inputs));
	if (inputs[0] != '\0')
		pm_detail(m->st, "Its inputs are %s.", inputs);
	return PM_ERR_INPUT;
}

bool
ox_stopped(ox_model *m)
{
	return m->asked++ % PM_POLL_EVERY == 0 && pm_stopped(m->arena, m->st);
}
