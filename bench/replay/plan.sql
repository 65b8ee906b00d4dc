-- 10,000 waiting jobs, 20 kinds of devices: milliseconds of the processor that the backend needs.
\set QUIET on
\set ON_ERROR_STOP on
SET client_min_messages = error;
\o /dev/null
\i demo/sample_graphs.sql
\i demo/sample_measurements.sql
SELECT perfmodel.train('plan', 'opclass');
SELECT perfmodel.activate_predictor('plan');
CREATE TABLE some_gpu AS SELECT name, row_number() OVER (ORDER BY name) - 1 AS nr FROM perfmodel.gpu WHERE name ~ '^(A|V|T|H|P)[0-9]+|^L4|^RTX [2-4]' ORDER BY name LIMIT 20;
CREATE TABLE some_graph AS SELECT graph_id, row_number() OVER (ORDER BY md5(name)) - 1 AS nr FROM perfmodel.graph ORDER BY nr LIMIT 100;
CREATE TABLE job AS SELECT i AS job_id, m.graph_id, g.name AS gpu, 8 << (i / 2000 % 5) AS batch, 1 << (i / 500 % 4) AS gpu_count,
    1000 + i * 7919 % 100000 AS steps, now() - make_interval(secs => i) AS submitted_at
FROM generate_series(0, 9999) AS i JOIN some_gpu AS g ON g.nr = i % 20 JOIN some_graph AS m ON m.nr = i * 31 % 100;
ANALYZE job;
SELECT jsonb_object_agg(gpu, 40) AS free, array_agg(gpu) AS gpus FROM (SELECT DISTINCT gpu FROM job) AS g \gset
\o
\pset format unaligned
\pset tuples_only on
SELECT 'kinds of GPU ' || count(DISTINCT gpu) || ', different questions ' || count(DISTINCT (graph_id, batch, gpu_count)) || ' on each' FROM job;
SELECT pg_backend_pid() AS pid \gset
\setenv PID :pid
\set spent '\\! awk \'{ printf "%d ms of the processor since the start of the session\\n", 10 * ($14 + $15) }\' /proc/$PID/stat'
:spent
SELECT 'forecast_jobs', count(p50_s) FROM perfmodel.forecast_jobs('job');
:spent
SELECT 'queue_order', count(p50_s) FROM perfmodel.queue_order('job');
:spent
SELECT 'queue_eta, 200 draws', count(finish_p90) FROM perfmodel.queue_eta('job', free => :'free', policy => 'srsf', backfill => true);
:spent
SELECT 'what_if_jobs on all kinds', count(step_ms) FROM perfmodel.what_if_jobs('job', gpus => :'gpus');
:spent
CREATE EXTENSION IF NOT EXISTS perfmodel_planner;
SELECT 'assign max_min', count(*) FROM perfmodel.assign('job', workers => :'free');
:spent
SELECT 'assign makespan', count(*), round((max(objective) / max(bound))::numeric, 6) FROM perfmodel.assign('job', workers => :'free', policy => 'makespan');
:spent
