-- The view and the table of docs/dashboards.md, on both examples of a job
-- history: plans, the same bits in every form, and what a session keeps.
-- test/docs.sh runs the page itself.
SET client_min_messages = warning;
SET intervalstyle = postgres;
SET timezone = 'UTC';
\! awk -v section="The view" -f test/doc_sql.awk docs/dashboards.md >results/dashboards_view.sql
\! awk -v section="A table for tools that cannot wait" -f test/doc_sql.awk docs/dashboards.md >results/dashboards_table.sql
SELECT name AS active FROM perfmodel.predictor WHERE active \gset
SELECT perfmodel.activate_predictor('roof') > 0 AS activated;
\set jobs 4000
CREATE SCHEMA report;
SET search_path = report;
\set ECHO none
\i demo/jobs.sql
\set ECHO all
\i results/dashboards_view.sql
\i results/dashboards_table.sql

-- the planner asks each question once
CREATE FUNCTION pg_temp.plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP RETURN NEXT line; END LOOP;
END $$;
SELECT count(*) > 0 AS memoized FROM pg_temp.plan($$SELECT (f.p).step_ms FROM job j CROSS JOIN LATERAL
     (SELECT perfmodel.predict(j.graph_id, 'RTX 3090', j.batch, j.dtype, j.layout, j.framework) AS p OFFSET 0) f$$) l WHERE l ~ 'Memoize';
-- and filters with other conditions first, so that few rows are predicted
EXPLAIN (COSTS OFF) SELECT * FROM job_forecast WHERE step_ms > 100 AND team = 'team-a';

-- all forms give the same bits, again and again, alone and in parallel workers
CREATE FUNCTION pg_temp.bits(form text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE bits text;
BEGIN
    EXECUTE 'SELECT md5(string_agg(float8send(step_ms)::text, '''' ORDER BY job_id)) FROM (' || form || ') f' INTO bits;
    RETURN bits;
END $$;
CREATE TEMP TABLE form (name text, query text);
INSERT INTO form VALUES
    ('scalar', 'SELECT job_id, perfmodel.predict_train_time(graph_id, gpu, batch, dtype, layout, framework) AS step_ms FROM job'),
    ('view', 'SELECT job_id, step_ms FROM job_forecast'),
    ('lateral', 'SELECT job_id, step_ms FROM job, LATERAL perfmodel.predict(graph_id, gpu, batch, dtype, layout, framework)'),
    ('memoized', 'SELECT job_id, (p).step_ms FROM job j, LATERAL (SELECT perfmodel.predict(j.graph_id, j.gpu, j.batch, j.dtype, j.layout, j.framework) AS p OFFSET 0) f'),
    ('table', 'SELECT job_id, f.step_ms FROM job j JOIN forecast f ON (j.graph_id, j.gpu, j.batch, j.dtype, j.layout) = (f.graph_id, f.gpu, f.batch, f.dtype, f.layout) AND j.framework IS NOT DISTINCT FROM f.framework');
SELECT pg_temp.bits(query) AS bits FROM form WHERE name = 'scalar' \gset
SELECT name, pg_temp.bits(query) = :'bits' AS same FROM form, generate_series(1, 2) ORDER BY name;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SELECT name, (SELECT count(*) > 0 FROM pg_temp.plan(query) l WHERE l ~ 'Gather') AS parallel, pg_temp.bits(query) = :'bits' AS same
FROM form ORDER BY name;
-- workers that are really started, and workers only
SET parallel_leader_participation = off;
CREATE FUNCTION pg_temp.launched(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN (regexp_match(plan::text, '"Workers Launched": (\d+)'))[1];
END $$;
SELECT pg_temp.launched(query) > 0 AS launched FROM form WHERE name = 'scalar';
SELECT pg_temp.bits(query) = :'bits' AS same FROM form WHERE name = 'scalar';
RESET parallel_leader_participation;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;

-- rows take no memory; what is used counts, since blocks double
CREATE FUNCTION pg_temp.kept() RETURNS bigint LANGUAGE sql AS
    $$SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts WHERE name ~ '^perfmodel|^TopMemoryContext$'$$;
SELECT count(pg_temp.bits(query)) FROM form WHERE name <> 'table';
SELECT pg_temp.kept() AS kept \gset
SELECT count(pg_temp.bits(query)) FROM form, generate_series(1, 2) WHERE name <> 'table';
SELECT pg_temp.kept() - :kept < 4096 AS flat;

-- the same from a trace, in a session of its own as the script says
DROP TABLE job CASCADE;
\set ECHO none
\setenv PGDATABASE :DBNAME
\setenv PGOPTIONS '-c search_path=report'
\setenv PGTZ UTC
\! printf '%s\n' job_id,submit_time,duration_s,num_gpus,gpu_seconds,vc 'philly-000001,2017-10-07 01:10:29,7200,1,7200,6214e9' >results/philly_1.csv
\! printf '%s\n' 'philly-000002,2017-10-07 23:59:59,3600,4,14400,7f04ca' 'philly-000003,2017-10-08 00:00:00,86400,8,691200,6214e9' 'philly-000004,2017-10-09 10:00:00,1,1,1,11cb48' | cat results/philly_1.csv - >results/philly_4.csv
\! psql -qX -f demo/philly.sql <results/philly_4.csv
\set ECHO all
DROP TABLE forecast;
\i results/dashboards_view.sql
\i results/dashboards_table.sql

-- what is missing is said before anything is loaded, and a table that exists is left alone
\set ECHO none
\! psql -qX -f demo/philly.sql <results/philly_1.csv
\i demo/jobs.sql
\set ECHO all
SELECT count(*) FROM job;
BEGIN;
DROP TABLE job CASCADE;
UPDATE perfmodel.predictor SET active = false;
\set ECHO none
\i demo/philly.sql
\set ECHO all
ROLLBACK;
BEGIN;
DROP TABLE job CASCADE;
TRUNCATE perfmodel.graph CASCADE;
\set ECHO none
\i demo/philly.sql
\set ECHO all
ROLLBACK;
DROP SCHEMA report CASCADE;
SELECT perfmodel.activate_predictor(:'active') > 0 AS activated;
