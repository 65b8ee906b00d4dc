-- A night: measurements from jobs, a judgement, a new predictor where one is due.
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';
BEGIN;
DELETE FROM perfmodel.profile;
UPDATE perfmodel.predictor SET active = false;
SELECT count(perfmodel.load_graph(helper.cnn(format('night%s@%s', depth, width), width, depth)))
FROM generate_series(3, 12) AS depth, unnest('{24,40,56,72,88,104}'::int[]) AS width;
CREATE FUNCTION pg_temp.noise(key text) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    $$SELECT sum(('x' || left(md5(key || i), 7))::bit(28)::integer / 268435456.0::float8) - 2 FROM generate_series(1, 4) AS i$$;
-- steps as they are, in ms; half > 0: to train on
CREATE TEMP TABLE truth AS
SELECT g.graph_id, g.name, d.gpu, batch, (0.05 * g.nodes + 3 * batch * f.flops / (d.tflops * 1e9)) * exp(0.05 * pg_temp.noise(g.name)) AS step_ms,
       ('x' || left(md5(g.name), 7))::bit(28)::integer % 2 AS half
FROM perfmodel.graph AS g, LATERAL (SELECT sum(flops_forward) AS flops FROM perfmodel.graph_node AS n WHERE n.graph_id = g.graph_id) AS f,
     (VALUES ('T4', 8.1 * 0.4), ('RTX 3090', 35.6 * 0.5)) AS d(gpu, tflops), unnest('{8,64}'::int[]) AS batch
WHERE g.name LIKE 'night%' ORDER BY g.graph_id, d.gpu, batch;

-- nobody to judge
CALL perfmodel.nightly(background => false);
SELECT action, verdict, why FROM perfmodel.nightly_log ORDER BY nightly_id DESC LIMIT 1;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms, measured_at) SELECT graph_id, gpu, batch, 'pytorch 2.1', step_ms, '2026-02-01' FROM truth WHERE half > 0;
SELECT perfmodel.train('day', 'opclass') > 0 AS trained, perfmodel.activate_predictor('day') > 0 AS activated;
CALL perfmodel.nightly(background => false);
SELECT action, verdict, why FROM perfmodel.nightly_log ORDER BY nightly_id DESC LIMIT 1;

-- jobs: three runs of each question, with what histories have: restarts, jobs that end early, one that shared its card, names that nobody knows
CREATE TABLE night_job AS
SELECT row_number() OVER () AS id, t.name AS network, t.gpu AS device, t.batch, 'pytorch 2.1' AS framework, 60 + t.step_ms * 100 * (1 + 0.01 * run) AS seconds, 100000 AS iterations, 0 AS requeued,
       '2026-03-01'::timestamptz + interval '1 minute' * row_number() OVER () AS finished_at
FROM truth AS t, generate_series(0, 2) AS run WHERE t.half = 0;
UPDATE night_job SET requeued = 2, seconds = 3 * seconds WHERE id = 1;
UPDATE night_job SET iterations = 10 WHERE id = 2;
UPDATE night_job SET seconds = 100, iterations = 300 WHERE id = 5;
UPDATE night_job SET seconds = 60 + (seconds - 60) * 2 WHERE id IN (8, 11);
UPDATE night_job SET network = 'nobody''s' WHERE id = 14;
UPDATE night_job SET device = NULL WHERE id = 17;
-- names of one's own: the same is taken
SAVEPOINT own;
UPDATE night_job SET device = 'rack 7' WHERE device = 'T4';
UPDATE night_job SET network = 'our net' WHERE network = (SELECT min(network) FROM night_job WHERE id > 20);
UPDATE night_job SET network = upper(network) WHERE network LIKE 'night%' AND id % 2 = 0;
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'rack 7', 'T4'), ('graph', 'our net', (SELECT min(name) FROM truth WHERE half = 0));
SELECT * FROM perfmodel.collect_from_jobs('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued"}');
ROLLBACK TO own;
SAVEPOINT jobs;
SELECT * FROM perfmodel.collect_from_jobs('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued"}');
SELECT count(*), bool_and(abs(ln(p.step_ms / t.step_ms)) < 0.03) AS near, bool_and(p.spread < 0.05) AS steady, min(p.source) AS source, min(p.measured_at) > '2026-03-01' AS dated
FROM perfmodel.profile AS p JOIN truth AS t USING (graph_id, gpu, batch) WHERE p.source IS NOT NULL;
-- five jobs of 1,000 steps of 10 to 14 ms, and one that was restarted: the median, and the distance of its quartiles as a part of it
CREATE TEMP TABLE five AS SELECT (SELECT min(name) FROM perfmodel.graph WHERE name LIKE 'night%') AS graph, 'T4' AS gpu, 16 AS batch, 10 + ms AS duration_s, 1000 AS steps, CASE WHEN ms > 14 THEN 1 ELSE 0 END AS restarts,
    '2026-03-01'::timestamptz + ms * interval '1 hour' AS finished_at FROM generate_series(10, 15) AS ms;
SELECT * FROM perfmodel.collect_from_jobs('five', startup_s => 10);
SELECT step_ms, round(spread::numeric, 4) AS spread, measured_at FROM perfmodel.profile WHERE source LIKE '%five' ORDER BY profile_id;
DELETE FROM perfmodel.profile WHERE source LIKE '%five';
-- values that cannot be
CREATE TEMP TABLE odd AS SELECT (SELECT min(name) FROM perfmodel.graph WHERE name LIKE 'night%') AS graph, 'T4' AS gpu, n.finished_at, v.* FROM (VALUES (1e12, 'NaN'::float8, 500.0::float8, 1), (0, 1e6, 500, 1), (8, 1e6, 'NaN', 1), (8, 'Infinity', 500, 1),
    (8, -5, 500, 1), (8, 1e6, 500, 0), (8, 1e6, 500, -3), (8, NULL, 500, 1), (8, 1e6, NULL, 1), (NULL, 1e6, 500, 1), (8, 1e6, 500, NULL)) AS v(batch, duration_s, steps, gpu_count), (SELECT now() AS finished_at) AS n;
SELECT * FROM perfmodel.collect_from_jobs('odd') ORDER BY outcome;
-- numbers whose quotient is none, and ends that are yet to come
TRUNCATE odd;
INSERT INTO odd SELECT (SELECT min(name) FROM perfmodel.graph WHERE name LIKE 'night%'), 'T4', v.* FROM (VALUES (now(), 8, 1e308::float8, 500::float8, 1), (now(), 8, 1e6, 1e308, 1), ('infinity', 8, 1e6, 500, 1), (now() + '1 year', 8, 1e6, 500, 1)) AS v;
SELECT * FROM perfmodel.collect_from_jobs('odd', since => '2020-01-01') ORDER BY outcome;
-- a column of the table that no measurement can have leaves out its own job, and no other
CREATE TEMP TABLE wild AS SELECT (SELECT min(name) FROM perfmodel.graph WHERE name LIKE 'night%') AS graph, 'T4' AS gpu, 8::numeric AS batch, 'fp32' AS dtype, 'nchw' AS layout, 'pytorch 2.1' AS framework, 'adam' AS optimizer,
    1::float8 AS gpu_count, 1::float8 AS nodes, 1e6::float8 AS duration_s, 500::float8 AS steps, 0::float8 AS restarts, now() AS finished_at;
ALTER TABLE wild ADD change text DEFAULT 'none';
CREATE FUNCTION pg_temp.change(changed text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text; BEGIN INSERT INTO wild SELECT * FROM wild WHERE change = 'none'; EXECUTE format('UPDATE wild SET %s, change = %L WHERE ctid = (SELECT max(ctid) FROM wild WHERE change = ''none'')', changed, changed);
    SELECT string_agg(c.outcome, ',') INTO r FROM perfmodel.collect_from_jobs('wild', since => '2020-01-01', source => changed) AS c; DELETE FROM wild WHERE change <> 'none'; RETURN r; END $$;
SELECT left(changed, 60) AS changed, pg_temp.change(changed) FROM unnest(ARRAY['framework = repeat(''x'', 513)', 'framework = repeat(chr(233), 257)', 'framework = repeat(''x'', 512)', 'graph = repeat(''x'', 1000)', 'gpu = repeat(''x'', 1000)', 'batch = 16777217',
    'dtype = repeat(''x'', 1000)', 'layout = ''nwhc''', 'optimizer = repeat(''x'', 1000)', 'gpu_count = 2e9', 'gpu_count = 1e6, nodes = 1e6', 'nodes = -1', 'duration_s = 1e12', 'duration_s = 120.0000001, steps = 1e15', 'restarts = ''NaN''', 'finished_at = ''infinity''', 'finished_at = ''-infinity''']) AS changed;
-- what is no whole number is unknown, neither rounded nor the usual one; so are more machines than devices
TRUNCATE odd;
ALTER TABLE odd ADD nodes numeric;
INSERT INTO odd SELECT (SELECT min(name) FROM perfmodel.graph WHERE name LIKE 'night%'), 'T4', now(), 8, 1e6, 500, 2, 1;
ALTER TABLE odd ALTER gpu_count TYPE float8, ALTER batch TYPE numeric;
CREATE FUNCTION pg_temp.outcomes(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE r text; BEGIN EXECUTE 'UPDATE odd SET ' || change; SELECT string_agg(c.outcome, ',') INTO r FROM perfmodel.collect_from_jobs('odd', since => '2020-01-01') AS c; RETURN r; END $$;
SELECT change, pg_temp.outcomes(change || ', ' || other) FROM (VALUES ('gpu_count = 2.5', 'batch = 8'), ('gpu_count = 3e9', 'batch = 8'), ('gpu_count = ''NaN''', 'batch = 8'), ('gpu_count = NULL', 'batch = 8'), ('batch = 8.4', 'gpu_count = 2'),
    ('batch = 1e11', 'gpu_count = 2'), ('nodes = 1.5', 'batch = 8, gpu_count = 2'), ('nodes = 3', 'batch = 8, gpu_count = 2'), ('nodes = 2', 'batch = 8, gpu_count = 2'), ('nodes = NULL', 'batch = 8.0, gpu_count = 2')) AS v(change, other);
SELECT DISTINCT world_size, nodes, batch FROM perfmodel.profile WHERE source LIKE '%odd' AND measured_at = now() ORDER BY 1, 2, 3;
-- machines that the table does not tell are as few as the cluster of the card has
SELECT d.gpu, d.n, pg_temp.outcomes(format('gpu = %L, gpu_count = %s, nodes = NULL, batch = 32', d.gpu, d.n))
FROM (VALUES ('T4', 16), ('RTX 3090', 16), ('A100-SXM4-80GB', 8), ('A100-SXM4-80GB', 20), ('T4', 1)) AS d(gpu, n);
UPDATE odd SET gpu = 'T4';
SELECT gpu, world_size, nodes FROM perfmodel.profile WHERE batch = 32 ORDER BY profile_id;
-- a job that failed made some of its steps: they count, where the table knows them
ALTER TABLE odd ADD done_steps text;
UPDATE odd SET gpu_count = 1, batch = 16, nodes = 1, steps = 5000;
SELECT done_steps, pg_temp.outcomes(format('done_steps = %L, batch = %s', done_steps, 100 + n)) FROM unnest('{NULL,"",1000,6000,7}'::text[]) WITH ORDINALITY AS v(done_steps, n);
SELECT step_ms FROM perfmodel.profile WHERE batch > 100 AND source LIKE '%odd' ORDER BY profile_id;
-- plans say so, too, and reports
CREATE TEMP TABLE planned AS SELECT row_number() OVER () AS job_id, odd.graph, 'T4' AS gpu, v.*, 500 AS steps, NULL::float8 AS duration_s, now() AS submitted_at FROM (SELECT DISTINCT graph FROM odd) AS odd,
    (VALUES (8.4, 1::float8), (1e11, 1), (8, 2.5), (8, 3e9), (8, 'NaN'), (8, NULL), (8, 1)) AS v(batch, gpu_count);
SELECT job_id, p50_s IS NOT NULL AS forecast, note FROM perfmodel.forecast_jobs('planned') ORDER BY job_id::int;
SELECT job_id, step_ms IS NOT NULL AS step, note FROM perfmodel.what_if_jobs('planned', gpus => '{T4}', gpu_counts => '{1}') WHERE job_id IN ('1', '7') ORDER BY 1;
UPDATE planned SET duration_s = 3600;
SELECT (regexp_match(perfmodel.report('planned'), 'Without GPU-hours[^<]*'))[1];
-- what stands behind an error is short: the functions, and no text of their queries
CREATE FUNCTION pg_temp.context_of(statement text) RETURNS TABLE (message text, context text) LANGUAGE plpgsql AS $$
DECLARE
    c text;
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS c = PG_EXCEPTION_CONTEXT;
    RETURN QUERY SELECT SQLERRM, c;
END $$;
CREATE VIEW pg_temp.broken AS SELECT graph, gpu, batch, 1 / (batch - 8) AS duration_s, 500 AS steps, finished_at FROM (VALUES ('a', 'T4', 8, now())) AS v(graph, gpu, batch, finished_at);
SELECT message, context ~ 'perfmodel.finished_jobs' AND context ~ 'perfmodel.collect_from_jobs' AS names_functions, length(context) < 1500 AND context !~ 'INSERT' AS short FROM pg_temp.context_of($$SELECT * FROM perfmodel.collect_from_jobs('pg_temp.broken')$$);
SELECT message, length(context) < 2000 AND context !~ 'INSERT' AS short FROM pg_temp.context_of($$CALL perfmodel.nightly('pg_temp.broken', background => false)$$);
-- again: nothing new; from a time on: again
SELECT * FROM perfmodel.collect_from_jobs('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued"}');
SET quote_all_identifiers = on;
SELECT * FROM perfmodel.collect_from_jobs('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued"}');
RESET quote_all_identifiers;
SELECT n_jobs FROM perfmodel.collect_from_jobs('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued"}', since => '2026-03-01') WHERE outcome = 'taken';
SELECT DISTINCT source FROM perfmodel.profile WHERE source LIKE 'jobs of %' ORDER BY 1;
-- jobs that enter the table late are taken once, in every session alike, but not the one that is 36 days late; rows that are equal are as many jobs
CREATE TEMP TABLE late AS SELECT g.graph_id, 'T4' AS gpu, 8 AS batch, 60 + 100 * (1 + 1e-3 * d) AS duration_s, 1000 AS steps, '2026-03-01'::timestamptz + d * interval '1 day' AS finished_at
FROM (SELECT min(graph_id) AS graph_id FROM perfmodel.graph WHERE name LIKE 'night%') AS g, generate_series(0, 40, 5) AS d;
CREATE TEMP TABLE comes_late AS SELECT * FROM late WHERE finished_at IN ('2026-03-06', '2026-03-16');
DELETE FROM late WHERE finished_at IN ('2026-03-06', '2026-03-16');
SELECT * FROM perfmodel.collect_from_jobs('late');
SELECT count(*), min(finished_at) FROM perfmodel.collected_job WHERE source = 'jobs of pg_temp.late';
INSERT INTO late SELECT * FROM comes_late;
INSERT INTO late SELECT * FROM late WHERE finished_at = '2026-04-10';
SELECT * FROM perfmodel.collect_from_jobs('late');
SET timezone = 'Asia/Tokyo';
SET extra_float_digits = -3;
SELECT * FROM perfmodel.collect_from_jobs('late');
RESET extra_float_digits;
SET timezone = 'UTC';
-- a table under a new name goes on where it was, if the source has the new name, too
ALTER TABLE late RENAME TO renamed;
UPDATE perfmodel.collected_job SET source = 'jobs of pg_temp.renamed' WHERE source = 'jobs of pg_temp.late';
SELECT * FROM perfmodel.collect_from_jobs('renamed');
-- a call for each day leaves out the same jobs as one call for all days: one is judged by the last ones of its question, too, and comes back no more
CREATE TEMP TABLE day_by_day (n integer, graph_id bigint, gpu text, batch integer, duration_s float8, steps integer, finished_at timestamptz);
CREATE FUNCTION pg_temp.each_day(change text) RETURNS TABLE (calls text, outcomes text) LANGUAGE plpgsql AS $$
BEGIN
    CREATE TEMP TABLE all_days ON COMMIT DROP AS
    SELECT d AS n, (SELECT min(graph_id) FROM perfmodel.graph WHERE name LIKE 'night%') AS graph_id, 'T4' AS gpu, 8 AS batch, 60 + 100 * (1 + 0.02 * (d % 3)) AS duration_s, 1000 AS steps, '2025-03-01'::timestamptz + d * interval '1 day' AS finished_at
    FROM generate_series(1, 95) AS d;
    EXECUTE 'UPDATE all_days SET duration_s = 60 + (duration_s - 60) * ' || change;
    RETURN QUERY SELECT 'one', (SELECT string_agg(format('%s %s', c.n_jobs, c.outcome), ', ') FROM perfmodel.collect_from_jobs('all_days', source => 'one ' || change) AS c);
    TRUNCATE day_by_day;
    CREATE TEMP TABLE day_outcome (n integer, outcome text) ON COMMIT DROP;
    FOR d IN 1 .. 95 LOOP
        INSERT INTO day_by_day SELECT * FROM all_days AS a WHERE a.n = d;
        INSERT INTO day_outcome SELECT d, c.outcome FROM perfmodel.collect_from_jobs('day_by_day', source => 'each ' || change) AS c;
    END LOOP;
    RETURN QUERY SELECT 'each day', (SELECT string_agg(o.said, ', ' ORDER BY o.n DESC) FROM (SELECT format('%s %s', count(*), x.outcome) AS said, count(*) AS n FROM day_outcome AS x GROUP BY x.outcome) AS o)
        || coalesce((SELECT ': ' || string_agg(x.n::text, ' ' ORDER BY x.n) FROM day_outcome AS x WHERE x.outcome <> 'taken'), '');
    RETURN QUERY SELECT 'again', (SELECT string_agg(format('%s %s', c.n_jobs, c.outcome), ', ') FROM perfmodel.collect_from_jobs('day_by_day', source => 'each ' || change) AS c);
    DROP TABLE all_days, day_outcome;
END $$;
SELECT pg_temp.each_day('CASE WHEN n % 9 = 5 THEN 20 ELSE 1 END');
-- the first is one; the last ones are how it is from now on
SELECT pg_temp.each_day('CASE n WHEN 1 THEN 20 ELSE 1 END');
SELECT pg_temp.each_day('CASE WHEN n > 80 THEN 2 ELSE 1 END');
SELECT count(*) AS remembered, min(finished_at) AS since FROM perfmodel.collected_job WHERE source = 'each CASE n WHEN 1 THEN 20 ELSE 1 END';
ROLLBACK TO jobs;
-- the predictor holds: nothing to do
CALL perfmodel.nightly('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued"}', false);
SELECT jobs_taken, profiles_added, action, verdict, why, finished_at IS NOT NULL AS ended FROM perfmodel.nightly_log ORDER BY nightly_id DESC LIMIT 1;
ROLLBACK TO jobs;
-- a card is slower: recalibrated, compared on networks that are new to both, activated
UPDATE night_job SET seconds = 60 + (seconds - 60) * 1.2 WHERE device = 'T4';
CALL perfmodel.nightly('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued"}', false);
SELECT action, verdict, why, n > 10 AS compared, predictor_mape_pct > candidate_mape_pct AS better, difference_high_pct < 0 AS beyond_chance, activated,
       candidate = (SELECT name FROM perfmodel.predictor WHERE active) AS answers FROM perfmodel.nightly_log ORDER BY nightly_id DESC LIMIT 1;
-- and the next night there is nothing to do
CALL perfmodel.nightly(background => false);
SELECT action, verdict FROM perfmodel.nightly_log ORDER BY nightly_id DESC LIMIT 1;
ROLLBACK TO jobs;
-- few networks: five stay to compare on, and the one that is learned from has measurements of the card that is slower; fewer than six are left alone
UPDATE night_job SET seconds = 60 + (seconds - 60) * 1.2 WHERE device = 'T4';
DELETE FROM night_job WHERE network NOT IN (SELECT name FROM truth WHERE half = 0 GROUP BY name ORDER BY name LIMIT 6);
SAVEPOINT few;
CALL perfmodel.nightly('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued"}', false);
SELECT action, verdict, n_networks, candidate_mape_pct < predictor_mape_pct AS better, activated, why FROM perfmodel.nightly_log ORDER BY nightly_id DESC LIMIT 1;
ROLLBACK TO few;
DELETE FROM night_job WHERE network = (SELECT min(network) FROM night_job);
CALL perfmodel.nightly('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued"}', false);
SELECT action, verdict, n_networks, why FROM perfmodel.nightly_log ORDER BY nightly_id DESC LIMIT 1;
ROLLBACK TO jobs;
-- errors to both sides, in shares that no shift of all predictions makes smaller: trained; not better beyond chance is not activated, and goes
UPDATE night_job SET seconds = 60 + (seconds - 60) * CASE WHEN md5(network) < 'a' THEN 1.3 ELSE 1 / 1.3 END;
CALL perfmodel.nightly('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued"}', false);
SELECT action, verdict, activated, candidate IN (SELECT name FROM perfmodel.predictor) AS kept, (SELECT name FROM perfmodel.predictor WHERE active) AS answers, why
FROM perfmodel.nightly_log ORDER BY nightly_id DESC LIMIT 1;
ROLLBACK TO jobs;
CREATE TEMP TABLE no_columns ();
SELECT helper.error_of(statement) FROM (VALUES
    ($$SELECT perfmodel.collect_from_jobs(NULL)$$), ($$SELECT perfmodel.collect_from_jobs('night_job', '[]')$$), ($$SELECT perfmodel.report('night_job', columns => '"graph"')$$),
    ($$SELECT perfmodel.collect_from_jobs('perfmodel.gpu_pkey')$$), ($$SELECT perfmodel.report(987654321::oid::regclass)$$), ($$SELECT perfmodel.collect_from_jobs('no_columns')$$),
    ($$SELECT perfmodel.collect_from_jobs('night_job')$$), ($$SELECT perfmodel.collect_from_jobs('night_job', '{"colour": "id"}')$$),
    ($$SELECT perfmodel.collect_from_jobs('night_job', '{"graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations"}', startup_s => -1)$$), ($$SELECT perfmodel.collect_from_jobs('night_job', min_steps => NULL)$$),
    ($$SELECT perfmodel.nightly_start('night_job')$$)) AS v(statement);
SAVEPOINT read_only;
SET TRANSACTION READ ONLY;
SELECT helper.error_of($$SELECT perfmodel.collect_from_jobs('night_job')$$);
SELECT helper.error_of('SELECT perfmodel.nightly_start()');
ROLLBACK TO read_only;
-- one object says what columns mean to all functions: each leaves alone what it does not ask for
\set one '{"job_id": "id", "graph": "network", "gpu": "device", "duration_s": "seconds", "steps": "iterations", "restarts": "requeued", "submitted_at": "finished_at", "deadline": "finished_at"}'
SELECT count(*) > 0 AS collected FROM perfmodel.collect_from_jobs('night_job', :'one');
SELECT count(*) AS waiting FROM perfmodel.queue_order('night_job', :'one');
SELECT perfmodel.report('night_job', columns => :'one') LIKE '%</html>%' AS page;
SELECT helper.error_of($$SELECT perfmodel.queue_order('night_job', '{"restart": "requeued"}')$$) LIKE '%unknown meaning "restart"%' AS unknown;
-- columns of types that become those of measurements
CREATE DOMAIN pg_temp.moment AS timestamptz;
CREATE DOMAIN pg_temp.amount AS integer;
CREATE TEMP TABLE typed AS SELECT g.graph_id::integer AS graph_id, 'T4'::char(10) AS gpu, 77::smallint AS batch, 1::smallint AS nodes, 1::pg_temp.amount AS gpu_count, interval '1060 s' AS duration_s, 1000::smallint AS steps,
    pg_catalog.now()::pg_temp.moment AS finished_at FROM perfmodel.graph AS g LIMIT 1;
SELECT * FROM perfmodel.collect_from_jobs('pg_temp.typed', source => 'typed');
SELECT gpu, batch, world_size, nodes, step_ms FROM perfmodel.profile WHERE source = 'typed';
INSERT INTO perfmodel.nightly_log (action) VALUES ('running');
SELECT helper.error_of($$SELECT perfmodel.nightly_start()$$);
-- without a time to wait, none would see that another is running
SELECT helper.error_of(format('SELECT perfmodel.nightly_start(max_wait => %L)', w)) FROM unnest('{NULL,0,-1 day,178000000 years}'::interval[]) AS w;
ROLLBACK;

-- as Slurm writes devices: by a short name, by an alias, several at a time; a notice says what the short name was taken for
SET client_min_messages = notice;
BEGIN;
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'partX', 'T4');
CREATE TABLE slurm_night AS SELECT g.graph_id, v.gpu, 99 AS batch, 660 AS duration_s, 1000 AS steps, '2026-03-01'::timestamptz AS finished_at
FROM unnest('{gpu:a100:4,gres/gpu:a100=4,gpu:a100:1,a100,gpu:partX:2,partX,gpu:rtx_3090:8,rtx3090,T4}'::text[]) AS v(gpu), (SELECT min(graph_id) FROM perfmodel.graph) AS g(graph_id);
SELECT * FROM perfmodel.collect_from_jobs('slurm_night');
SELECT gpu, world_size, count(*) FROM perfmodel.profile WHERE source LIKE 'jobs of %slurm_night' GROUP BY 1, 2 ORDER BY 1, 2;
-- hours without their unit; the row of the log goes with the transaction
CALL perfmodel.nightly(background => false, max_wait => '8');
SAVEPOINT block;
CALL perfmodel.nightly();
ROLLBACK TO block;
SELECT helper.error_of('CALL perfmodel.nightly()');
ROLLBACK;
SET client_min_messages = warning;

-- in the background: it commits, waits for the training, and compares
SELECT (SELECT name FROM perfmodel.predictor WHERE active) AS active \gset
\if :{?active}
\else
\set active ''
\endif
CREATE SCHEMA night;
CREATE TABLE night.kept AS SELECT profile_id FROM perfmodel.profile;
SELECT count(perfmodel.load_graph(helper.cnn(format('night%s@%s', depth, width), width, depth))) FROM generate_series(3, 8) AS depth, unnest('{24,40,56,72}'::int[]) AS width;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) SELECT g.graph_id, 'V100-SXM2-16GB', batch, (g.nodes + batch) * (1 + 0.02 * (g.graph_id % 5)) FROM perfmodel.graph AS g, unnest('{8,64}'::int[]) AS batch WHERE g.name LIKE 'night%' AND g.graph_id % 2 = 0;
SELECT perfmodel.train('night', 'roofline', profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'V100-SXM2-16GB')) > 0 AS trained, perfmodel.activate_predictor('night') > 0 AS activated;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) SELECT g.graph_id, 'V100-SXM2-16GB', 1024, 30 * (g.nodes + 1024) FROM perfmodel.graph AS g WHERE g.name LIKE 'night%' AND g.graph_id % 2 = 1;
CALL perfmodel.nightly(max_wait => '5 minutes');
SELECT action, verdict, finished_at IS NOT NULL AS ended, n > 0 AS compared FROM perfmodel.nightly_log;
DELETE FROM perfmodel.nightly_log;
SELECT count(perfmodel.drop_predictor(name)) > 0 AS dropped FROM perfmodel.predictor WHERE name LIKE 'night%';
DELETE FROM perfmodel.profile WHERE profile_id NOT IN (SELECT profile_id FROM night.kept);
DELETE FROM perfmodel.graph WHERE name LIKE 'night%';
SELECT count(perfmodel.activate_predictor(name)) <= 1 AS as_before FROM perfmodel.predictor WHERE name = :'active';
DROP SCHEMA night CASCADE;
