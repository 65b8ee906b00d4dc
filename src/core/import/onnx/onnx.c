/*
 * onnx.c - the importer as a whole.
 */
#include "import/onnx/onnx.h"

#include "import/onnx/decode.h"
#include "import/onnx/fold.h"
#include "import/onnx/rules.h"
#include "import/onnx/run.h"
#include "import/onnx/to_graph.h"

pm_code
pm_onnx_import(const void *bytes, size_t len, const pm_onnx_options *options, pm_arena *a, pm_graph *g, pm_status *st)
{
	pm_status	own;
	ox_model	m = {.arena = a, .st = st != NULL ? st : &own, .options = options};
	ox_run		base,
				two,
				three;
	int64_t		unit = 1;
	pm_code		code = ox_decode(bytes, len, &m);

	if (code == PM_OK)
		code = ox_fold(&m);
	if (code == PM_OK && m.fixed)
	{
		code = ox_run_model(&base, &m, m.base_batch, NULL);
		unit = m.base_batch;
	}
	if (code == PM_OK)
		code = ox_run_model(&two, &m, 2 * unit, m.fixed ? base.values : NULL);
	if (code == PM_OK)
		code = ox_run_model(&three, &m, 3 * unit, m.fixed ? base.values : NULL);
	return code == PM_OK ? ox_to_graph(&m, &two, &three, g) : code;
}

const char *
pm_onnx_operator(int i)
{
	return ox_rule_name(i);
}
