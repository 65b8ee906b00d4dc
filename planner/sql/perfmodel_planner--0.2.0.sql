\echo Use "CREATE EXTENSION perfmodel_planner" to load this file. \quit
-- Which jobs get which devices. Predictions come from perfmodel, linear
-- programmes are solved by Clp or HiGHS. Everything is read with the caller's rights.

CREATE FUNCTION perfmodel.assign(jobs regclass, columns jsonb DEFAULT '{}', workers jsonb DEFAULT NULL, policy text DEFAULT 'max_min', prices jsonb DEFAULT NULL,
                                 predictor text DEFAULT NULL, at timestamptz DEFAULT pg_catalog.now(),
                                 OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT share float8, OUT steps_per_s float8,
                                 OUT unmet float8, OUT objective float8, OUT bound float8, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000 AS 'MODULE_PATHNAME', 'planner_assign';
COMMENT ON FUNCTION perfmodel.assign(regclass, jsonb, jsonb, text, jsonb, text, timestamptz) IS
    'share of time of each job on each kind of device: max_min fairness, makespan, or cost under deadlines';

CREATE FUNCTION perfmodel.assign_arrays(throughputs float8[], workers float8[], policy text DEFAULT 'max_min', gpu_counts float8[] DEFAULT NULL,
                                        weights float8[] DEFAULT NULL, steps float8[] DEFAULT NULL, deadlines_s float8[] DEFAULT NULL,
                                        prices float8[] DEFAULT NULL,
                                        OUT job integer, OUT kind integer, OUT share float8, OUT unmet float8, OUT objective float8,
                                        OUT bound float8)
    RETURNS SETOF record
    LANGUAGE c IMMUTABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000 AS 'MODULE_PATHNAME', 'planner_assign_arrays';
COMMENT ON FUNCTION perfmodel.assign_arrays(float8[], float8[], text, float8[], float8[], float8[], float8[], float8[]) IS
    'the same for throughputs of your own: steps per second, a row for each job and a column for each kind of device';

CREATE FUNCTION perfmodel.allocate_elastic(jobs regclass, columns jsonb DEFAULT '{}', workers jsonb DEFAULT NULL, policy text DEFAULT 'optimus',
                                           gpu_counts integer[] DEFAULT '{1,2,4,8,16}', predictor text DEFAULT NULL,
                                           OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT goodput_per_s float8, OUT left_s float8,
                                           OUT objective float8, OUT bound float8, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 1000000 ROWS 1000 AS 'MODULE_PATHNAME', 'planner_allocate_elastic';
COMMENT ON FUNCTION perfmodel.allocate_elastic(regclass, jsonb, jsonb, text, integer[], text) IS
    'how many devices of which kind each job gets when jobs can run on more or fewer: optimus or sia';

CREATE FUNCTION perfmodel.planner_library() RETURNS text
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'planner_library';
COMMENT ON FUNCTION perfmodel.planner_library() IS 'the library that solves linear programmes, and its version';
