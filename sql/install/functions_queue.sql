-- Planning over the user's own table of jobs. The table is given as a regclass
-- with an object {"meaning": "column"}; it is read with the caller's rights.

CREATE FUNCTION perfmodel.resolve_job_names(jobs regclass, columns jsonb DEFAULT '{}', min_score float8 DEFAULT 0.5,
                                            OUT what text, OUT given text, OUT jobs_with_it bigint, OUT match text, OUT resolved text,
                                            OUT graph_id bigint, OUT score float8, OUT candidates text[], OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_resolve_job_table';
COMMENT ON FUNCTION perfmodel.resolve_job_names(regclass, jsonb, float8) IS
    'what the names of graphs, GPUs and formats in a table of jobs mean: a row for each different name';

CREATE FUNCTION perfmodel.resolve_job_names(graphs text[], gpus text[], dtypes text[], min_score float8 DEFAULT 0.5,
                                            OUT what text, OUT given text, OUT jobs_with_it bigint, OUT match text, OUT resolved text,
                                            OUT graph_id bigint, OUT score float8, OUT candidates text[], OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_resolve_job_names';
COMMENT ON FUNCTION perfmodel.resolve_job_names(text[], text[], text[], float8) IS
    'the same for names that are given as arrays, any of which may be NULL';
