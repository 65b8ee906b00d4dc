-- What this installation is and can do.

CREATE FUNCTION perfmodel.version(OUT library text, OUT catalog text) RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_version';
COMMENT ON FUNCTION perfmodel.version() IS 'versions of the loaded library and of the SQL objects; a warning when they differ';

CREATE FUNCTION perfmodel.blas_info(OUT library text, OUT kernel text, OUT threads integer, OUT linked text,
                                    OUT cpu text) RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_blas_info_sql';
COMMENT ON FUNCTION perfmodel.blas_info() IS 'matrix library, kernels chosen for this CPU, threads, static or shared, and what the CPU can do';

CREATE FUNCTION perfmodel.kinds(OUT kind text, OUT summary text, OUT option text, OUT type text, OUT initial text,
                                OUT minimum float8, OUT maximum float8, OUT choices text[], OUT help text)
    RETURNS SETOF record
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 ROWS 50 AS 'MODULE_PATHNAME', 'pm_kinds';
COMMENT ON FUNCTION perfmodel.kinds() IS 'kinds of predictor and their options, with defaults, ranges and help';

CREATE FUNCTION perfmodel.memory_kinds(OUT kind text, OUT summary text) RETURNS SETOF record
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 ROWS 4 AS 'MODULE_PATHNAME', 'pm_memory_kinds';
COMMENT ON FUNCTION perfmodel.memory_kinds() IS
    'kinds for cross_validate and leaderboard with quantity => ''peak_memory_mb''; their only option is seed';

-- Raises from within a query whose arguments are wrong.
CREATE FUNCTION perfmodel.require(condition boolean, message text, hint text) RETURNS boolean
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pm_require';
COMMENT ON FUNCTION perfmodel.require(boolean, text, text) IS 'true if the condition holds; else an error with this message and hint';

CREATE FUNCTION perfmodel.notice_short(name text, value interval, sensible interval, says text, example text) RETURNS boolean
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pm_notice_short_sql';
COMMENT ON FUNCTION perfmodel.notice_short(text, interval, interval, text, text) IS
    'true; a NOTICE if an argument is shorter than makes sense, as an interval without a unit is in seconds';
