/*
 * lp_highs.cc - linear programmes, solved by HiGHS.
 *
 * In C++ for the reasons of lp_clp.cc: nothing that is thrown may leave this
 * file, and a cancel has to reach the inner loop. One thread: others would take
 * the signals of the server process.
 */
#include "lp.h"

#include <Highs.h>

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#define LP_STRING_(x)	#x
#define LP_STRING(x)	LP_STRING_(x)

namespace {

double
bound_of(double v)
{
	return v >= LP_FREE ? kHighsInf : v <= -LP_FREE ? -kHighsInf : v;
}

HighsLp
lp_of(const lp_problem *p)
{
	HighsLp		lp;

	lp.num_col_ = p->n_columns;
	lp.num_row_ = p->n_rows;
	lp.sense_ = ObjSense::kMaximize;
	lp.col_cost_.assign(p->gain, p->gain + p->n_columns);
	lp.col_lower_.assign(p->n_columns, 0);
	lp.col_upper_.resize(p->n_columns);
	std::transform(p->high, p->high + p->n_columns, lp.col_upper_.begin(), bound_of);
	lp.row_lower_.resize(p->n_rows);
	std::transform(p->row_low, p->row_low + p->n_rows, lp.row_lower_.begin(), bound_of);
	lp.row_upper_.resize(p->n_rows);
	std::transform(p->row_high, p->row_high + p->n_rows, lp.row_upper_.begin(), bound_of);
	lp.a_matrix_.format_ = MatrixFormat::kColwise;
	lp.a_matrix_.start_.assign(p->start, p->start + p->n_columns + 1);
	lp.a_matrix_.index_.assign(p->row, p->row + p->start[p->n_columns]);
	lp.a_matrix_.value_.assign(p->value, p->value + p->start[p->n_columns]);
	return lp;
}

lp_status
status_of(HighsModelStatus status)
{
	switch (status)
	{
		case HighsModelStatus::kOptimal:
			return LP_OPTIMAL;
		case HighsModelStatus::kInfeasible:
			return LP_INFEASIBLE;
		case HighsModelStatus::kUnbounded:
			return LP_UNBOUNDED;
		case HighsModelStatus::kInterrupt:
			return LP_STOPPED;
		default:
			return LP_FAILED;
	}
}

lp_status
solve(const lp_problem *p, bool (*stop) (void *), void *arg, lp_solution *s)
{
	Highs		highs;

	highs.setOptionValue("output_flag", false);
	highs.setOptionValue("parallel", "off");
	highs.setOptionValue("threads", 1);
	highs.setOptionValue("solver", "simplex");
	if (stop != nullptr)
	{
		/* the types of what comes and goes have other names from HiGHS 1.11 on */
		highs.setCallback([stop, arg](int, const std::string &, const auto *, auto *in, void *)
						  {
							  if (in != nullptr && stop(arg))
								  in->user_interrupt = true;
						  });
		highs.startCallback(kCallbackSimplexInterrupt);
	}
	if (highs.passModel(lp_of(p)) == HighsStatus::kError)
		return LP_FAILED;
	highs.run();

	lp_status	status = status_of(highs.getModelStatus());
	if (stop != nullptr && stop(arg))
		return LP_STOPPED;
	if (status == LP_OPTIMAL)
	{
		const HighsSolution &found = highs.getSolution();

		s->objective = highs.getInfo().objective_function_value;
		std::copy_n(found.col_value.begin(), p->n_columns, s->x);
		std::copy_n(found.row_dual.begin(), p->n_rows, s->dual);
	}
	return status;
}

}

lp_status
lp_solve(const lp_problem *p, bool (*stop) (void *), void *arg, lp_solution *s)
{
	try
	{
		return solve(p, stop, arg, s);
	}
	catch (const std::bad_alloc &)
	{
		return LP_NO_MEMORY;
	}
	catch (...)
	{
		return LP_FAILED;
	}
}

const char *
lp_library(void)
{
	return "HiGHS " LP_STRING(HIGHS_VERSION_MAJOR) "." LP_STRING(HIGHS_VERSION_MINOR) "." LP_STRING(HIGHS_VERSION_PATCH);
}
