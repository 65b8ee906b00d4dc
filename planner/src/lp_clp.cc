/*
 * lp_clp.cc - linear programmes, solved by Clp.
 *
 * In C++ and not by Clp's C interface for two reasons: what is thrown (want of
 * memory, numerical trouble) must not leave this file, since it would end the
 * server process, and a cancel has to reach the inner loop.
 */
#include "lp.h"

#include <coin/ClpEventHandler.hpp>
#include <coin/ClpSimplex.hpp>
#include <coin/ClpSolve.hpp>

#include <algorithm>
#include <new>

namespace {

class StopHandler : public ClpEventHandler
{
public:
	StopHandler(bool (*stop_) (void *), void *arg_) : stop(stop_), arg(arg_) {}
	int			event(Event) override { return stop != nullptr && stop(arg) ? 5 : -1; }
	ClpEventHandler *clone() const override { return new StopHandler(stop, arg); }

private:
	bool		(*stop) (void *);
	void	   *arg;
};

lp_status
status_of(const ClpSimplex &model, bool stopped)
{
	switch (model.status())
	{
		case 0:
			return LP_OPTIMAL;
		case 1:
			return LP_INFEASIBLE;
		case 2:
			return LP_UNBOUNDED;
		case 5:
			return LP_STOPPED;
		default:
			return stopped ? LP_STOPPED : LP_FAILED;
	}
}

lp_status
solve(const lp_problem *p, bool (*stop) (void *), void *arg, lp_solution *s)
{
	StopHandler handler(stop, arg);
	ClpSimplex	model;
	ClpSolve	options;

	model.setLogLevel(0);
	model.passInEventHandler(&handler);
	model.loadProblem(p->n_columns, p->n_rows, p->start, p->row, p->value, nullptr, p->high, p->gain, p->row_low, p->row_high);
	model.setOptimizationDirection(-1);
	options.setPresolveType(ClpSolve::presolveOn);
	options.setSolveType(ClpSolve::automatic);
	/* or Clp takes SIGINT for itself, which is how the server is told of a cancel */
	options.setSpecialOption(2, 1);
	model.initialSolve(options);

	lp_status status = status_of(model, stop != nullptr && stop(arg));
	if (status == LP_OPTIMAL)
	{
		s->objective = model.objectiveValue();
		std::copy_n(model.primalColumnSolution(), p->n_columns, s->x);
		std::copy_n(model.dualRowSolution(), p->n_rows, s->dual);
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
	return "Clp " CLP_VERSION;
}
