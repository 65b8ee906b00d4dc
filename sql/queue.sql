-- Order, start and end of the jobs of a queue.
\pset format unaligned
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';
BEGIN;
-- ---- jobs in arrays: 4 T4s, two of them taken
CREATE TABLE ask AS SELECT '2026-01-01 12:00+00'::timestamptz AS at, '{running,big,short,huge,late,other}'::text[] AS ids,
    '{T4,Tesla T4,t4,T4,T4,partition_7}'::text[] AS gpus, '{2,4,2,8,1,1}'::int[] AS counts, '{7200,3600,600,60,NULL,30}'::float8[] AS p50,
    '{7200,3600,600,60,NULL,30}'::float8[] AS p90,
    ARRAY['2026-01-01 11:00+00', '2026-01-01 11:10+00', '2026-01-01 11:20+00', '2026-01-01 11:30+00', '2026-01-01 11:40+00', NULL]::timestamptz[] AS submitted,
    ARRAY['2026-01-01 11:30+00', NULL, NULL, NULL, NULL, NULL]::timestamptz[] AS started,
    ARRAY['2026-01-01 14:00+00', '2026-01-01 14:00+00', '2026-01-01 15:00+00', NULL, '2026-01-01 18:00+00', 'infinity']::timestamptz[] AS deadlines;
SELECT policy, string_agg(job_id, ' ' ORDER BY "position") FROM ask, unnest('{fifo,SJF,srtf,srsf,edf}'::text[]) WITH ORDINALITY AS p(policy, nr),
    perfmodel.queue_order_arrays(ids, gpus, counts, p50, p90, submitted, started, deadlines, policy, at) GROUP BY policy, nr ORDER BY nr;
SELECT o.* FROM ask, perfmodel.queue_order_arrays(ids, gpus, counts, p50, p90, submitted, started, deadlines, at => at) AS o ORDER BY 1;
SELECT e.* FROM ask, perfmodel.queue_eta_arrays('{"Tesla T4": 2, "partition_7": 1, "A100": 8}', ids, gpus, counts, p50, p90, submitted, started, deadlines, at => at) AS e;
SELECT job_id, start_p50, note FROM ask, perfmodel.queue_eta_arrays('{"T4": 2}', ids, gpus, counts, p50, p90, submitted, started, deadlines, backfill => true, at => at) AS e;
SELECT d.* FROM ask, perfmodel.deadline_probability_arrays('{"T4": 2}', ids, gpus, counts, p50, p90, submitted, started, deadlines, at => at) AS d;
-- with spread: half of the jobs start by p50, and the draws are the same each time
CREATE TABLE eta AS SELECT e.* FROM ask, perfmodel.queue_eta_arrays(free => '{"T4": 1}', job_ids => '{a,b,c}', gpus => '{T4,T4,T4}', gpu_counts => '{1,1,1}', durations_p50_s => '{1000,1000,1000}', durations_p90_s => '{1500,1500,1500}', at => at) AS e;
SELECT job_id, start_p50 <= start_p90 AS start, finish_p50 < finish_p90 AS finish, date_trunc('minute', start_p50) AS start_p50 FROM eta ORDER BY "position";
SELECT count(*) AS same FROM (SELECT e.* FROM ask, perfmodel.queue_eta_arrays(free => '{"T4": 1}', job_ids => '{a,b,c}', gpus => '{T4,T4,T4}', gpu_counts => '{1,1,1}', durations_p50_s => '{1000,1000,1000}', durations_p90_s => '{1500,1500,1500}', at => at) AS e
    INTERSECT SELECT * FROM eta) AS s;
SELECT count(*) AS same_with_another_seed FROM (SELECT e.* FROM ask,
    perfmodel.queue_eta_arrays(free => '{"T4": 1}', job_ids => '{a,b,c}', gpus => '{T4,T4,T4}', gpu_counts => '{1,1,1}', durations_p50_s => '{1000,1000,1000}', durations_p90_s => '{1500,1500,1500}', at => at, seed => 2) AS e INTERSECT SELECT * FROM eta) AS s;
SELECT count(*) FROM perfmodel.queue_order_arrays(job_ids => '{}', gpus => '{}', gpu_counts => '{}', durations_p50_s => '{}');
SELECT helper.error_of('SELECT count(*) FROM perfmodel.queue_eta_arrays(free => NULL, job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'')');
SELECT job_id, start_p50 IS NOT NULL AS starts, finish_p50 IS NOT NULL AS ends, note FROM perfmodel.queue_eta_arrays(free => '{"T4": 1}', job_ids => array_fill('endless'::text, '{11}'), gpus => array_fill('T4'::text, '{11}'), gpu_counts => array_fill(1, '{11}'), durations_p50_s => array_fill(9e11::float8, '{11}'), durations_p90_s => array_fill(9e11::float8, '{11}'), at => '2026-01-01 12:00+00') WHERE "position" > 9;
SELECT helper.error_of('SELECT * FROM perfmodel.queue_eta_arrays(free => ''{}'', job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'', draws => NULL)');

-- ---- a table, and the predictor
SELECT helper.load_world() > 0 AS loaded;
SELECT perfmodel.train('queue', 'linear') > 0 AS trained;
CREATE TABLE "my ""queue""" (id int, "the net" text, device text, "#" int, batch int, iterations bigint, done bigint, sent timestamptz, began timestamptz, ended timestamptz,
    "due; DROP TABLE ask" timestamptz);
INSERT INTO "my ""queue""" VALUES
    (1, 'anet4@16', 'T4', 1, 8, 100000, NULL, '2026-01-01 10:00+00', '2026-01-01 11:59+00', NULL, NULL),
    (2, 'bnet5@32', 'Tesla T4', 1, 64, 100000, NULL, '2026-01-01 10:01+00', NULL, NULL, '2026-01-01 12:30+00'),
    (3, 'bnet5@32', 'T4', 4, 64, 1000, 900, '2026-01-01 10:02+00', NULL, NULL, '2027-01-01 00:00+00'),
    (4, 'no such net', 'T4', 1, 64, 1000, 900, '2026-01-01 10:03+00', NULL, NULL, NULL),
    (5, 'bnet5@32', 'no such GPU', 1, 64, 1000, 0, '2026-01-01 10:04+00', NULL, NULL, NULL),
    (6, 'bnet5@32', 'T4', 0, 64, 1000, 0, '2026-01-01 10:05+00', NULL, NULL, NULL),
    (7, 'bnet5@32', 'T4', 1, NULL, 1000, 0, '2026-01-01 10:06+00', NULL, NULL, NULL),
    (8, 'bnet5@32', 'T4', 1, 64, -1, 0, '2026-01-01 10:07+00', NULL, NULL, NULL),
    (9, 'bnet5@32', NULL, 1, 64, 1000, 2000, NULL, NULL, NULL, NULL),
    (10, 'bnet5@32', 'T4', 1, 0, 1000, 2000, NULL, NULL, NULL, NULL),
    (11, 'bnet5@32', 'T4', 1, 64, 1000, 2000, NULL, NULL, NULL, NULL),
    (12, 'bnet5@32', 'T4', 1, 64, 1000, 0, '2026-01-01 10:08+00', '2026-01-01 10:09+00', '2026-01-01 11:09+00', NULL);
\set columns '''{"job_id": "id", "graph": "the net", "gpu": "device", "gpu_count": "#", "steps": "iterations", "done_steps": "done", "submitted_at": "sent", "started_at": "began", "finished_at": "ended", "deadline": "due; DROP TABLE ask"}'''
SELECT job_id, gpu, gpu_count, running, helper.close(p50_s, steps * p.step_ms / 1000, 1e-4) AS p50, helper.close(p90_s, steps * p.step_ms_high / 1000, 1e-4) AS p90,
    f.in_domain = p.in_domain AS in_domain, f.note
FROM perfmodel.forecast_jobs('"my ""queue"""', :columns, 'queue', '2026-01-01 12:00+00') AS f
    LEFT JOIN LATERAL (SELECT iterations - coalesce(done, 0) AS steps, p.* FROM "my ""queue""" AS q,
        perfmodel.predict(perfmodel.find_graph("the net"), device, batch, predictor => 'queue', level => 0.8, on_error => 'null', world_size => greatest("#", 1)) AS p WHERE q.id::text = job_id) AS p ON f.p50_s IS NOT NULL
ORDER BY job_id::int;
SELECT "position", job_id, note FROM perfmodel.queue_order('"my ""queue"""', :columns, 'srsf', 'queue', '2026-01-01 12:00+00');
SELECT "position", job_id, start_p50 < finish_p50 AS runs, finish_p50 < finish_p90 AS spread, note
FROM perfmodel.queue_eta('"my ""queue"""', :columns, free => '{"T4": 0}', predictor => 'queue', at => '2026-01-01 12:00+00');
-- a row for each device, of the same simulation: the last end, and how many jobs have none
SELECT d.gpu, d.running, d.waiting, d.without_answer, d.held_gpus, d.last_p50 IS NOT DISTINCT FROM e.p50 AS p50, d.last_p90 IS NOT DISTINCT FROM e.p90 AS p90, d.running + d.waiting = e.n AS all_jobs, d.without_answer = e.untimed AS same, d.note
FROM perfmodel.queue_drain('"my ""queue"""', :columns, free => '{"T4": 0}', predictor => 'queue', at => '2026-01-01 12:00+00') AS d
    JOIN (SELECT gpu, max(finish_p50) AS p50, max(finish_p90) AS p90, count(*) AS n, count(*) FILTER (WHERE finish_p90 IS NULL) AS untimed
          FROM perfmodel.queue_eta('"my ""queue"""', :columns, free => '{"T4": 0}', predictor => 'queue', at => '2026-01-01 12:00+00') GROUP BY gpu) AS e ON e.gpu IS NOT DISTINCT FROM d.gpu;
-- a running job without a forecast never gives its devices back: it is counted, and so are those that wait for them
CREATE TABLE stuck AS SELECT j.*, '2026-01-01 10:00+00'::timestamptz + job_id * interval '1 minute' AS submitted_at
FROM (VALUES (1, 'T4', 3, 8, timestamptz '2026-01-01 11:00+00', NULL), (2, 'T4', 1, 8, NULL, 60), (3, 'T4', 2, 8, NULL, 60), (4, 'T4', 1, 8, NULL, 120), (5, 'L4', 1, 8, NULL, 600), (6, NULL, 1, 8, NULL, NULL),
    (7, 'L4', 5, 8, NULL, 60), (8, 'L4', 9, 8, NULL, 60), (9, 'L4', 1, NULL, NULL, NULL), (10, 'L4', 0, 8, NULL, 60)) AS j(job_id, gpu, gpu_count, batch, started_at, duration_s);
SELECT gpu, running, waiting, to_char(last_p50, 'HH24:MI') AS last_p50, without_answer, held_gpus, note FROM perfmodel.queue_drain('stuck', free => '{"T4": 1, "L4": 1}', at => '2026-01-01 12:00+00', backfill => true, arrivals => '0');
SELECT helper.error_of('SELECT * FROM perfmodel.queue_drain(''stuck'')');
SELECT helper.error_of('SELECT * FROM perfmodel.queue_drain(NULL)');
DROP TABLE stuck;
SELECT job_id, gpu_count, deadline, probability > 0.5 AS likely, note FROM perfmodel.deadline_probability('"my ""queue"""', :columns, free => '{"T4": 7}', predictor => 'queue', at => '2026-01-01 12:00+00');

-- ---- jobs that are to come: short ones came every 10 minutes, and pass the long one that waits; with fifo they do not
CREATE TABLE coming AS SELECT 'old ' || i AS job_id, 'T4' AS gpu, 300.0 AS duration_s, '2026-01-01 12:00+00'::timestamptz - make_interval(mins => 10 * i) AS submitted_at,
    '2026-01-01 12:00+00'::timestamptz - make_interval(mins => 10 * i) AS started_at, '2026-01-01 12:00+00'::timestamptz - make_interval(mins => 10 * i - 5) AS finished_at
FROM generate_series(1, 144) AS i
UNION ALL VALUES ('running', 'T4', 3600.0, '2026-01-01 11:30+00'::timestamptz, '2026-01-01 11:30+00'::timestamptz, NULL::timestamptz), ('waiting', 'T4', 86400.0, '2026-01-01 11:00+00'::timestamptz, NULL, NULL);
SELECT policy, arrivals, e.job_id, date_trunc('minute', start_p50) AS start_p50, e.start_p90 > '2026-01-01 12:31+00' AS later FROM unnest('{sjf,fifo}'::text[]) AS policy, unnest('{NULL,1 day}'::interval[]) AS arrivals,
    perfmodel.queue_eta('coming', free => '{"T4": 0}', policy => policy, at => '2026-01-01 12:00+00', arrivals => arrivals) AS e WHERE "position" IS NOT NULL ORDER BY policy, arrivals;
SELECT helper.error_of($$SELECT * FROM perfmodel.deadline_probability('coming', free => '{"T4": 0}')$$);
-- nobody says: the jobs of the last seven days stand for what is to come; '0': none are to come; a table without those that are over says that
SELECT arrivals, start_p90 > '2026-01-01 12:31+00' AS later, note FROM unnest('{NULL,7 days,0}'::interval[]) AS arrivals, perfmodel.queue_eta('coming', free => '{"T4": 0}', policy => 'sjf', at => '2026-01-01 12:00+00', arrivals => arrivals)
    WHERE job_id = 'waiting' ORDER BY arrivals;
SELECT note FROM perfmodel.queue_eta('coming', '{"finished_at": null}', free => '{"T4": 0}', policy => 'sjf', at => '2026-01-01 12:00+00') WHERE job_id = 'waiting';
SELECT note FROM perfmodel.queue_eta('coming', free => '{"T4": 0}', policy => 'sjf', at => '2026-06-01 12:00+00') WHERE job_id = 'waiting';
-- a job that runs for much longer than it should: nothing is known of its end
SELECT to_char(at, 'HH24:MI') AS at, note FROM unnest('{2026-01-01 14:00+00,2026-01-01 16:30+00,2026-01-09 12:00+00}'::timestamptz[]) AS at, perfmodel.queue_eta('coming', free => '{"T4": 0}', at => at, arrivals => '0') WHERE job_id = 'running' ORDER BY 1;
-- forecasts of 3 weeks that were too short by half are stretched: jobs of 1 hour that take 2, of which 8 come every day
CREATE TABLE late AS SELECT i::text AS job_id, 'T4' AS gpu, 3600.0 AS duration_s, 3600.0 * 1.1 AS duration_p90_s, t AS submitted_at, s AS started_at,
    CASE WHEN s + interval '2 hours' <= '2026-02-01 12:00+00' THEN s + interval '2 hours' END AS finished_at
FROM (SELECT i, '2026-01-11 00:00+00'::timestamptz + make_interval(days => i / 8) AS t, '2026-01-11 00:00+00'::timestamptz + make_interval(days => i / 8, hours => 2 * (i % 8)) AS s FROM generate_series(0, 175) AS i) AS j;
UPDATE late SET started_at = NULL, finished_at = NULL WHERE started_at > '2026-02-01 12:00+00';
SELECT job_id, date_trunc('minute', n.start_p90) AS narrow, date_trunc('minute', w.start_p50) AS p50, date_trunc('minute', w.start_p90) AS p90, w.note
FROM perfmodel.queue_eta('late', free => '{"T4": 0}', backfill => true, at => '2026-02-01 12:00+00', arrivals => '0') AS n JOIN
    perfmodel.queue_eta('late', free => '{"T4": 0}', backfill => true, at => '2026-02-01 12:00+00') AS w USING (job_id) WHERE n."position" IS NOT NULL ORDER BY job_id::int;
-- what a job took is no forecast: with such a column the history says the same as without
CREATE TABLE took AS SELECT i::text AS job_id, 'T4' AS gpu, CASE i % 4 WHEN 0 THEN 'no such net' ELSE 'bnet5@32' END AS graph, 64 AS batch, 1000 AS steps, t AS submitted_at,
    CASE WHEN i <= 40 THEN t END AS started_at, CASE WHEN i <= 40 THEN t + interval '15 min' END AS finished_at, CASE WHEN i <= 40 THEN 900.0 END AS duration_s
FROM (SELECT i, '2026-01-30 00:00+00'::timestamptz + make_interval(hours => i) AS t FROM generate_series(1, 41) AS i) AS j;
SELECT columns, job_id, date_trunc('minute', finish_p50) AS finish_p50, note ~ 'history: jobs on T4 take .* times the prediction .n 30' AS learned
FROM unnest('{"{}","{\"duration_s\": null}"}'::jsonb[]) AS columns, perfmodel.queue_eta('took', columns, '{"T4": 1}', at => '2026-02-01 12:00+00');
-- nor is the 0 seconds that schedulers log of a job that has not begun
CREATE TABLE logged AS SELECT v.job_id, 'bnet5@32' AS graph, 'T4' AS gpu, 64 AS batch, 1000 AS steps, '2026-01-30 00:00+00'::timestamptz AS submitted_at, NULL::timestamptz AS started_at, v.duration_s FROM (VALUES (1, '0'::interval), (2, NULL)) AS v(job_id, duration_s);
SELECT count(*) AS jobs, count(DISTINCT p50_s) AS forecasts, min(note) AS note FROM perfmodel.forecast_jobs('logged', at => '2026-02-01 12:00+00') WHERE p50_s > 0;
DROP TABLE logged;
SELECT helper.error_of(format('SELECT * FROM perfmodel.queue_eta(%s)', a)) FROM unnest(ARRAY['''coming'', free => ''{}'', arrivals => ''-1 day''',
    '''coming'', free => ''{}'', arrivals => ''1000000 years''', '''coming'', ''{"submitted_at": null}'', ''{}'', ''sjf'', arrivals => ''1 day''',
    '''coming'', ''{"finished_at": "duration_s"}'', ''{}'', ''sjf''', '''coming'', ''{"started_at": "duration_s"}'', ''{}''',
    '''coming'', ''{"duration_s": "submitted_at"}'', ''{}''']) AS a;
-- days without their unit are seconds
SET client_min_messages = notice;
SELECT count(*) > 0 AS answers FROM unnest('{7,7 days,0}'::interval[]) AS arrivals, perfmodel.queue_eta('coming', free => '{"T4": 0}', policy => 'sjf', at => '2026-01-01 12:00+00', arrivals => arrivals);
SET client_min_messages = warning;
-- of a long history only the last part is used, and jobs that wait beyond its window say so
CREATE TABLE long_history AS SELECT i AS job_id, 'T4' AS gpu, 1.0 AS duration_s, s AS submitted_at, s AS started_at, CASE WHEN i > 2 THEN s END AS finished_at
FROM generate_series(1, 30003) AS i, LATERAL (SELECT '2026-01-01 12:00+00'::timestamptz - make_interval(secs => i) AS s) AS t;
UPDATE long_history SET duration_s = 43200, started_at = CASE WHEN job_id = 2 THEN started_at END WHERE job_id <= 2;
SELECT note FROM perfmodel.queue_eta('long_history', free => '{"T4": 0}', policy => 'srsf', at => '2026-01-01 12:00+00', draws => 10) WHERE job_id = '1';
SELECT note FROM perfmodel.queue_eta('long_history', free => '{"T4": 1}', policy => 'srsf', at => '2026-01-01 02:00+00', draws => 10) WHERE job_id = '1';
DELETE FROM long_history WHERE job_id = 30003;
SELECT note FROM perfmodel.queue_eta('long_history', free => '{"T4": 0}', policy => 'srsf', at => '2026-01-01 12:00+00', draws => 10) WHERE job_id = '1';
-- draws are bounded with the jobs that come again in each
SELECT regexp_replace(helper.error_of($$SELECT * FROM perfmodel.queue_eta('long_history', free => '{"T4": 0}', policy => 'srsf', at => '2026-01-01 12:00+00', draws => 10000)$$), 'In each draw, \d+', 'In each draw, some') AS error_of;

-- ---- idle windows: 100 s and 1000 s, steps of 2 s and 0.5 s, 90 s to start and to store
CREATE TABLE idle AS SELECT * FROM (VALUES ('slow', 'T4', 1, 100, 200.0, NULL, NULL::int), ('fast', 'T4', 1, 3000, 1500, 2250, 1000), ('wide', 'T4', 2, 10, 1000, NULL, NULL),
    ('elsewhere', 'L4', 1, 10, 10, NULL, NULL), ('no steps', 'T4', 1, NULL, 10, NULL, NULL), ('done', 'T4', 1, 5, 10, NULL, 5)) AS v(job_id, gpu, gpu_count, steps, duration_s, duration_p90_s, done_steps);
SELECT * FROM perfmodel.fill_windows('idle', windows => '{"[2026-01-01 12:00+00, 2026-01-01 12:01:40+00]","[2026-01-01 13:00+00,2026-01-01 13:16:40+00)"}', gpus => '{Tesla T4,t4}', at => '2026-01-01 12:00+00');
-- half of the runs need no more than the median
SELECT window_number, job_id, steps, round(step_ms) AS step_ms, steps_s FROM perfmodel.fill_windows('idle', windows => '{"[2026-01-01 12:00+00, 2026-01-01 12:01:40+00]","[2026-01-01 13:00+00,2026-01-01 13:16:40+00)"}', gpus => '{T4,T4}',
    gpu_counts => '{1,2}', at => '2026-01-01 11:00+00', level => 0.5, startup_s => 0, checkpoint_s => 0);
-- nothing runs before "at": the second window from its middle on, and nothing in the first
SELECT window_number, job_id, steps, starts_at FROM perfmodel.fill_windows('idle', windows => '{"[2026-01-01 12:00+00, 2026-01-01 12:01:40+00]","[2026-01-01 13:00+00,2026-01-01 13:16:40+00)"}', gpus => '{T4,T4}', at => '2026-01-01 13:10+00') WHERE window_number IS NOT NULL;
SELECT count(*) FROM perfmodel.fill_windows('idle', windows => '{}', gpus => '{}');
-- a job of one step; and the largest numbers that are taken, and those above them
CREATE TEMP TABLE one_step AS SELECT 'one' AS job_id, 'anet4@16' AS graph, 'T4' AS gpu, 8 AS batch, 1 AS steps, '2026-01-01'::timestamptz AS submitted_at;
SELECT job_id, steps FROM perfmodel.fill_windows('one_step', windows => '{"[2026-01-01,2026-01-02)"}', gpus => '{T4}', at => '2026-01-01', predictor => 'queue');
SELECT a, split_part(helper.error_of('SELECT count(*) FROM perfmodel.' || a), E'\n', 1) AS error_of FROM unnest(ARRAY[
    'fill_windows(''idle'', windows => ''{}'', gpus => ''{}'', startup_s => 1e9)', 'fill_windows(''idle'', windows => ''{}'', gpus => ''{}'', startup_s => 1000000001)',
    'place(''one_step'', nodes => ''{n}'', node_gpus => ''{T4}'', node_free => ''{1000000}'', predictor => ''queue'')', 'place(''one_step'', nodes => ''{n}'', node_gpus => ''{T4}'', node_free => ''{1000001}'', predictor => ''queue'')',
    'queue_eta(''one_step'', free => ''{"T4": 1000000000}'', predictor => ''queue'')', 'queue_eta(''one_step'', free => ''{"T4": 1000000001}'', predictor => ''queue'')']) AS a;
SELECT helper.error_of(format('SELECT * FROM perfmodel.fill_windows(%s)', a)) FROM unnest(ARRAY[
    '''idle'', windows => ''{empty}'', gpus => ''{T4}''', '''idle'', windows => ''{"[2026-01-01,)"}'', gpus => ''{T4}''', '''idle'', windows => ''{"[2026-01-01,infinity)"}'', gpus => ''{T4}''', '''idle'', windows => ''{"[2026-01-01,2026-01-02)"}'', gpus => ''{NULL}''',
    '''idle'', windows => ''{"[2026-01-01,2026-01-02)"}'', gpus => ''{}''', '''idle'', windows => ''{"[2026-01-01,2026-01-02)"}'', gpus => ''{T4}'', gpu_counts => ''{0}''', '''idle'', windows => ''{"[2026-01-01,2026-01-02)"}'', gpus => ''{T4,T4}''',
    '''idle'', windows => ''{"[2026-01-01,2026-01-02)"}'', gpus => ''{T4}'', level => 1', '''idle'', windows => ''{"[2026-01-01,2026-01-02)"}'', gpus => ''{T4}'', startup_s => -1',
    '''idle'', windows => ''{"[2026-01-01,2026-01-02)"}'', gpus => ''{T4}'', checkpoint_s => ''NaN''']) AS a;

-- ---- machines: two of 4 T4s, one of 2
CREATE TABLE to_place AS SELECT * FROM (VALUES ('a', 'bnet5@32', 'Tesla T4', 2, 64, 100), ('b', 'bnet5@32', 'T4', 4, 64, 200), ('c', 'bnet5@32', 'T4', 3, 64, 300), ('d', 'bnet5@32', 'T4', 1, 64, 400000),
    ('e', NULL, 'T4', 1, 64, 10)) AS v(job_id, graph, gpu, gpu_count, batch, steps);
SELECT "position", job_id, node, gpus_on_node, parts, step_ms > 0 AS step, note FROM perfmodel.place('to_place', nodes => '{n1,n2,n3,n4}', node_gpus => '{T4,t4,Tesla T4,A100}', node_free => '{4,2,3,8}', predictor => 'queue');
-- of which no number of devices is known: it takes none
CREATE VIEW half_devices AS SELECT job_id, graph, gpu, batch, steps, gpu_count / 2.0 AS gpu_count FROM to_place;
SELECT job_id, node, gpus_on_node, note FROM perfmodel.place('half_devices', nodes => '{n1}', node_gpus => '{T4}', node_free => '{8}', predictor => 'queue') ORDER BY job_id;
SELECT job_id, node, gpus_on_node, parts FROM perfmodel.place('to_place', nodes => '{n1,n2,n3}', node_gpus => '{T4,T4,T4}', node_free => '{1,2,2}', policy => 'edf', predictor => 'queue') WHERE parts > 1;
SELECT count(*) FROM perfmodel.place('to_place', nodes => '{}', node_gpus => '{}', node_free => '{}', predictor => 'queue') WHERE parts = 0 AND node IS NULL;
-- two jobs on one device, where they leave it idle for each other: the numbers are those of colocate()
CREATE TABLE light AS SELECT * FROM (VALUES ('one', 'bnet5@32', 'T4', 1, 100), ('two', 'bnet5@32', 'Tesla T4', 1, 200), ('three', 'bnet5@32', 'T4', 1, 300), ('four', 'no such', 'T4', 1, 1)) AS v(job_id, graph, gpu, batch, steps);
SELECT job_id, node, shares_with, helper.close(slowdown, (perfmodel.colocate(perfmodel.graph_id('bnet5@32'), 1, perfmodel.graph_id('bnet5@32'), 1, 'T4', predictor => 'queue')).slowdown_a, 1e-4) AS slowdown, note
FROM perfmodel.place('light', nodes => '{n1}', node_gpus => '{T4}', node_free => '{1}', predictor => 'queue', max_slowdown => 2) ORDER BY "position";
SELECT count(shares_with) AS shared, count(node) AS placed FROM perfmodel.place('light', nodes => '{n1}', node_gpus => '{T4}', node_free => '{1}', predictor => 'queue');
-- what an optimizer keeps counts: with its two numbers a weight AdamW leaves no room for another
SELECT perfmodel.load_graph('{"format": "perfmodel-graph/1", "name": "heavy", "nodes": [{"id": 0, "op": "Input", "inputs": [], "shape": [1, 20480], "batch_dim": 0},
    {"id": 1, "op": "MatMul", "inputs": [0], "shape": [1, 20480], "batch_dim": 0, "weights": [[20480, 20480]]}]}') > 0 AS loaded;
CREATE TABLE heavy AS SELECT i AS job_id, 'heavy' AS graph, 'T4' AS gpu, 1 AS batch, 100 AS steps, 'SGD' AS optimizer FROM generate_series(1, 2) AS i;
SELECT job_id, shares_with FROM perfmodel.place('heavy', nodes => '{n1}', node_gpus => '{T4}', node_free => '{1}', predictor => 'queue', max_slowdown => 2) ORDER BY 1;
-- the upper bounds of both have to fit, not what is likely
UPDATE heavy SET optimizer = NULL;
SELECT shares_with, 2 * peak_mb < perfmodel.usable_memory_mb('T4') AS likely, 2 * high < perfmodel.usable_memory_mb('T4') AS sure FROM perfmodel.place('heavy', nodes => '{n1}', node_gpus => '{T4}', node_free => '{1}', predictor => 'queue', max_slowdown => 2), perfmodel.predict_memory(perfmodel.graph_id('heavy'), 'T4', 1) ORDER BY job_id LIMIT 1;
UPDATE heavy SET optimizer = 'AdamW';
SELECT job_id, shares_with, fits FROM perfmodel.place('heavy', nodes => '{n1}', node_gpus => '{T4}', node_free => '{1}', predictor => 'queue', max_slowdown => 2), perfmodel.predict_memory(perfmodel.graph_id('heavy'), 'T4', 1, optimizer => 'adamw') ORDER BY 1;
-- ---- a job that does not fit into memory runs nowhere, holds nobody up and is not left out; what runs already does fit
CREATE TABLE large AS SELECT *, 'heavy' AS graph, 1 AS gpu_count, 100 AS steps, '2026-01-01 10:00+00'::timestamptz + make_interval(mins => job_id) AS submitted_at FROM (VALUES
    (1, 'T4', 1, NULL::timestamptz, NULL::float8), (2, 'T4', 100000, NULL, NULL), (3, 'T4', 100000, NULL, 50), (4, 'T4', 100000, '2026-01-01 11:00+00', NULL), (5, 'A100', 50000, NULL, NULL),
    (6, 'T4', 1, NULL, NULL)) AS v(job_id, gpu, batch, started_at, duration_s);
\set large 'jobs => ''large'', predictor => ''queue'''
SELECT m.p_fits < 0.05 AS too_large, m.fits FROM perfmodel.predict_memory(perfmodel.graph_id('heavy'), 'T4', 100000) AS m;
SELECT job_id, p50_s > 0 AS p50, p90_s > 0 AS p90, step_ms > 0 AS step, regexp_replace(substring(note, '^does not fit.*'), '[0-9]{4,}', 'N', 'g') AS note FROM perfmodel.forecast_jobs(:large, at => '2026-01-01 12:00+00');
SELECT "position", job_id, note ~ '^does not fit' AS too_large FROM perfmodel.queue_order(:large, at => '2026-01-01 12:00+00');
SELECT "position", job_id, start_p50 IS NOT NULL AS starts, finish_p90 IS NOT NULL AS ends, note ~ '^does not fit' AS too_large FROM perfmodel.queue_eta(:large, free => '{"T4": 0, "A100": 1}', at => '2026-01-01 12:00+00');
SELECT "position", job_id, node, note ~ '^does not fit' AS too_large FROM perfmodel.place(:large, nodes => '{n1,n2}', node_gpus => '{T4,A100}', node_free => '{8,8}', at => '2026-01-01 12:00+00', max_slowdown => 2);
SELECT job_id, sum(steps) > 0 AS steps, bool_or(note ~ '^does not fit') AS too_large FROM perfmodel.fill_windows(:large, windows => '{"[2026-01-01 12:00+00, 2126-01-01 12:00+00]"}', gpus => '{T4}', at => '2026-01-01 12:00+00', level => 0.5)
WHERE job_id IN ('1', '2', '3') GROUP BY job_id ORDER BY job_id;
SELECT job_id, gpu, step_ms > 0 AS step, note ~ 'does not fit' AS too_large FROM perfmodel.what_if_jobs(:large, gpus => '{T4,A100}') ORDER BY job_id, gpu;
-- a weight that no plan can use is an error, not a weight of 1
CREATE TABLE weighed (job_id text, graph text, gpu text, batch int, steps int, weight float8);
INSERT INTO weighed VALUES ('a', 'bnet5@32', 'T4', 8, 100, 1e-6), ('b', 'bnet5@32', 'T4', 8, 100, 1e6), ('c', 'bnet5@32', 'T4', 8, 100, NULL);
SELECT job_id, weight FROM perfmodel.what_if_jobs('weighed', gpus => '{T4}', predictor => 'queue') ORDER BY job_id;
CREATE FUNCTION helper.weighed(job_id text, w float8) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE weighed;
    INSERT INTO weighed VALUES (job_id, 'bnet5@32', 'T4', 8, 100, w);
    RETURN helper.error_of('SELECT * FROM perfmodel.what_if_jobs(''weighed'', gpus => ''{T4}'', predictor => ''queue'')');
END $$;
SELECT helper.weighed('c', w) FROM unnest('{0,-1,Infinity,-Infinity}'::float8[]) AS w UNION ALL SELECT helper.weighed(NULL, 1e7);
DROP TABLE weighed;
DROP FUNCTION helper.weighed;
-- a number of devices, a batch or steps that cannot be: nothing comes of it, and the note says so; a number of devices that is refused is not shown as another
CREATE TABLE odd_numbers AS SELECT v.*, 'bnet5@32' AS graph, 'T4' AS gpu, '2026-01-02 12:00+00'::timestamptz AS deadline FROM (VALUES (1, 0, 64.0, 1000, NULL::int), (2, 1, NULL, 1000, NULL), (3, 1, 64.5, 20000, NULL), (4, 1, 64, 0, NULL), (5, 1, 64, 1000, 2000), (6, 2, 64, 1000, 400),
    (7, 2000000, 64, 1000, NULL), (8, NULL, 64, NULL, NULL)) AS v(job_id, gpu_count, batch, steps, done_steps);
SELECT job_id, gpu_count, step_ms > 0 AS step, steps_left, goodput_per_s > 0 AS goodput, samples_left, note FROM perfmodel.what_if_jobs('odd_numbers', gpus => '{T4}', predictor => 'queue') ORDER BY job_id;
SELECT job_id, gpu_count, step_ms > 0 AS step, samples_left, note FROM perfmodel.what_if_jobs('odd_numbers', gpus => '{T4}', gpu_counts => '{4}', predictor => 'queue') WHERE job_id IN ('1', '6') ORDER BY job_id;
SELECT f.job_id, f.gpu_count AS forecast, o.gpu_count AS "order", o.gpu_s > 0 AS gpu_s, e.gpu_count AS eta, d.gpu_count AS deadline, p.gpu_count AS place, f.note
FROM perfmodel.forecast_jobs('odd_numbers', predictor => 'queue') AS f JOIN perfmodel.queue_order('odd_numbers', predictor => 'queue') AS o USING (job_id) JOIN perfmodel.queue_eta('odd_numbers', free => '{"T4": 2}', predictor => 'queue') AS e USING (job_id)
    JOIN perfmodel.deadline_probability('odd_numbers', free => '{"T4": 2}', predictor => 'queue') AS d USING (job_id) JOIN perfmodel.place('odd_numbers', nodes => '{n}', node_gpus => '{T4}', node_free => '{2}', predictor => 'queue') AS p USING (job_id) ORDER BY job_id;
DROP TABLE odd_numbers;

-- a device whose data sheet lacks a figure keeps its own jobs from a forecast, not those on others
INSERT INTO perfmodel.gpu (name, memory_gb, fp32_tflops) VALUES ('No Bandwidth', 16, 10);
CREATE TABLE lacking AS SELECT * FROM (VALUES (1, 'bnet5@32', 'No Bandwidth', 8, 100), (2, 'bnet5@32', 'T4', 8, 100)) AS v(job_id, graph, gpu, batch, steps);
SELECT job_id, p50_s > 0 AS p50, note FROM perfmodel.forecast_jobs(jobs => 'lacking', predictor => 'queue');
SELECT job_id, start_p50 IS NOT NULL AS starts, note FROM perfmodel.queue_eta(jobs => 'lacking', free => '{"T4": 1, "No Bandwidth": 1}', predictor => 'queue');
SELECT job_id, gpu, step_ms > 0 AS step, note FROM perfmodel.what_if_jobs(jobs => 'lacking', gpus => '{T4,No Bandwidth}', predictor => 'queue');
DROP TABLE lacking;
DELETE FROM perfmodel.gpu WHERE name = 'No Bandwidth';

-- nor does a job of a graph that cannot be predicted
SELECT perfmodel.load_graph('{"format":"perfmodel-graph/1", "name":"idle", "nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0}]}') > 0 AS loaded;
CREATE TABLE workless AS SELECT * FROM (VALUES (1, 'idle', 'T4', 8, 100), (2, 'bnet5@32', 'T4', 8, 100)) AS v(job_id, graph, gpu, batch, steps);
SELECT job_id, p50_s > 0 AS p50, note FROM perfmodel.forecast_jobs(jobs => 'workless', predictor => 'queue');
SELECT job_id, start_p50 IS NOT NULL AS starts, note FROM perfmodel.queue_eta(jobs => 'workless', free => '{"T4": 1}', predictor => 'queue');
SELECT job_id, step_ms > 0 AS step, note FROM perfmodel.what_if_jobs(jobs => 'workless', gpus => '{T4}', predictor => 'queue');
DROP TABLE workless;
DELETE FROM perfmodel.graph WHERE name = 'idle';
SELECT helper.error_of('SELECT perfmodel.finished_jobs(0::regclass)');

SELECT helper.error_of('SELECT * FROM perfmodel.place(''light'', nodes => ''{n1}'', node_gpus => ''{T4}'', node_free => ''{1}'', max_slowdown => 0.5)');
SELECT helper.error_of(format('SELECT * FROM perfmodel.place(''to_place'', %s, predictor => ''queue'')', a)) FROM unnest(ARRAY['nodes => ''{a}'', node_gpus => ''{T4,T4}'', node_free => ''{1}''', 'nodes => ''{a}'', node_gpus => ''{T4}'', node_free => ''{}''',
    'nodes => ''{a}'', node_gpus => ''{T4}'', node_free => ''{-1}''', 'nodes => ''{NULL}'', node_gpus => ''{T4}'', node_free => ''{1}''', 'nodes => ''{a}'', node_gpus => ''{T4}'', node_free => ''{1}'', policy => ''best''', 'nodes => ''{a}'', node_gpus => ''{T4}'', node_free => ''{1}'', at => ''-infinity''', 'nodes => ''{a}'', node_gpus => ''{T4}'', node_free => ''{1}'', at => ''4714-11-24 00:00:00+00 BC''']) AS a;

-- ---- nothing is silent: columns that are not found, devices that are not known, arguments that are not given
CREATE TABLE runs AS SELECT 1 AS nr, 'bnet5@32' AS network, 'T4' AS device, 64 AS bs, 1000 AS iterations, now() AS submitted_at;
\set runs '''runs'', ''{"graph": "network", "gpu": "device", "batch": "bs", "steps": "iterations"}'''
SELECT helper.error_of(format('SELECT * FROM perfmodel.%s', a)) FROM unnest(ARRAY['forecast_jobs(''runs'')', 'queue_order(''runs'')', 'queue_order(''runs'', policy => ''edf'')', 'queue_order(''runs'', policy => ''fifo'')',
    'queue_eta(''runs'', free => ''{"T4": 1}'')', 'deadline_probability(''runs'', ''{"graph": "network"}'', ''{"T4": 1}'')', 'fill_windows(''runs'', windows => ''{}'', gpus => ''{}'')', 'what_if_jobs(''runs'', gpus => ''{T4}'')',
    'place(''runs'', nodes => ''{}'', node_gpus => ''{}'', node_free => ''{}'')', 'queue_eta(''coming'', ''{"gpu": null}'', ''{"T4": 1}'')', 'queue_eta(''coming'', ''{"T4": 1}'')']) AS a;
SELECT helper.error_of(format('SELECT * FROM perfmodel.%s', a)) FROM unnest(ARRAY['queue_eta(' || :'runs' || ')', 'fill_windows(' || :'runs' || ')', 'fill_windows(' || :'runs' || ', ''{}'')', 'what_if_jobs(' || :'runs' || ')',
    'place(' || :'runs' || ')', 'place(' || :'runs' || ', ''{a}'', ''{T4}'')']) AS a;
-- the devices of jobs that are over are none of these
UPDATE coming SET gpu = 'L4' WHERE job_id = 'old 3';
SELECT helper.error_of($$SELECT * FROM perfmodel.queue_eta('coming', policy => 'sjf', at => '2026-01-01 12:00+00')$$);
SET client_min_messages = notice;
SELECT note FROM perfmodel.queue_eta('coming', free => '{"RTX 3091": 4}', policy => 'fifo', at => '2026-01-01 12:00+00') WHERE "position" IS NOT NULL;
SELECT note FROM perfmodel.queue_eta('late', free => '{"T4": 4, "A100": 1}', at => '2026-02-01 12:00+00') WHERE "position" IS NOT NULL;
SELECT job_id, note FROM perfmodel.place('to_place', nodes => '{n1,n2,n3}', node_gpus => '{T 44,T 44,A100}', node_free => '{4,4,4}', predictor => 'queue');
-- of many kinds of devices that no job asks for, a few are named; to compare all with all would take gigabytes
SELECT count(*) > 0 AS placed FROM perfmodel.place('to_place', nodes => ARRAY(SELECT 'n' || i FROM generate_series(1, 5000) AS i), node_gpus => ARRAY(SELECT format('T 44 %s', i) FROM generate_series(1, 5000) AS i),
    node_free => array_fill(1, '{5000}'), predictor => 'queue');
SELECT job_id, note FROM perfmodel.fill_windows('idle', windows => '{"[2026-01-01,2026-01-02)","[2026-01-01,2026-01-02)"}', gpus => '{T 44,T 44}', at => '2026-01-01') LIMIT 2;
SELECT count(*) FILTER (WHERE window_number IS NOT NULL) AS windows FROM perfmodel.fill_windows('idle', windows => '{"[2026-01-01,2026-01-02)","[2026-01-01,2026-01-03)"}', gpus => '{T4,T4}', at => '2026-01-02');
SELECT count(*) FILTER (WHERE window_number IS NOT NULL) AS windows FROM perfmodel.fill_windows('idle', windows => ARRAY(SELECT tstzrange('2025-01-01', '2025-01-02') FROM generate_series(1, 20000)), gpus => array_fill('T4'::text, '{20000}'), at => '2026-01-01');
SET client_min_messages = warning;

-- ---- what is wrong is said
-- NULL is no answer to any question
SELECT helper.error_of(format('SELECT * FROM perfmodel.%s', a)) FROM unnest(ARRAY[
    'forecast_jobs(NULL)', 'forecast_jobs(''idle'', at => NULL)', 'queue_order(NULL)', 'queue_order(''idle'', policy => NULL)', 'queue_order(''idle'', at => NULL)', 'queue_eta(NULL, free => ''{}'')',
    'queue_eta(''idle'', free => ''{}'', policy => NULL)', 'queue_eta(''idle'', free => ''{}'', at => NULL)', 'queue_eta(''idle'', free => ''{}'', seed => NULL)', 'queue_drain(''idle'', free => ''{}'', at => NULL)',
    'deadline_probability(''idle'', free => ''{}'', backfill => NULL)', 'fill_windows(''idle'', windows => ''{}'', gpus => ''{}'', at => NULL)', 'fill_windows(''idle'', windows => ''{}'', gpus => ''{}'', startup_s => NULL)',
    'fill_windows(''idle'', windows => ''{}'', gpus => ''{}'', level => NULL)', 'place(''idle'', nodes => ''{}'', node_gpus => ''{}'', node_free => ''{}'', policy => NULL)',
    'place(''idle'', nodes => ''{}'', node_gpus => ''{}'', node_free => ''{}'', max_slowdown => NULL)', 'what_if_jobs(NULL, gpus => ''{T4}'')', 'resolve_job_names(''idle'', min_score => NULL)',
    'queue_order_arrays(job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'', policy => NULL)',
    -- nor do arrays of different lengths say which device lacks
    'fill_windows(''idle'', windows => ''{"[2026-01-01,2026-01-02)"}'', gpus => ''{T4,L4}'')', 'fill_windows(''idle'', windows => ''{"[2026-01-01,2026-01-02)"}'', gpus => ''{T4}'', gpu_counts => ''{1,2}'')',
    'fill_windows(''idle'', windows => ''{"[2026-01-01,2026-01-02)"}'', gpus => ''{T4}'', gpu_counts => ''{0}'')']) AS a;
SELECT regexp_replace(helper.error_of(format('SELECT * FROM perfmodel.%s', a)), 'There (is|are) \d+', 'There are N') AS error_of FROM unnest(ARRAY[
    'queue_order_arrays(job_ids => ''{a,b}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'')', 'queue_order_arrays(job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => NULL::float8[])', 'queue_order_arrays(job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'', policy => ''shortest'')',
    'queue_order_arrays(job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'', at => ''infinity'')',
    'queue_eta_arrays(free => ''[]'', job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'')', 'queue_eta_arrays(free => ''{"T4": -1}'', job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'')', 'queue_eta_arrays(free => ''{"T4": 1.5}'', job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'')',
    'queue_eta_arrays(free => ''{"T4": "2"}'', job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'')', 'queue_eta_arrays(free => ''{"T4": 1e400}'', job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'')',
    'queue_eta_arrays(free => ''{"T4": 1}'', job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'', draws => 3)', 'queue_eta_arrays(free => ''{"T4": 1}'', job_ids => ''{a}'', gpus => ''{T4}'', gpu_counts => ''{1}'', durations_p50_s => ''{1}'', draws => 2000000000)',
    'forecast_jobs(''"my ""queue"""'', ''{"job_id": "id", "graph": "the net", "gpu": "device", "steps": "iterations"}'', ''no such'')', 'forecast_jobs(''ask'', ''{"graph": "ids", "gpu": "gpus", "batch": "ids", "steps": "ids"}'')']) AS a;
-- true is no number of devices, and the letter '8' no batch of 56
CREATE TABLE odd_types (job_id int, graph text, gpu text, gpu_count boolean, batch "char", steps int);
SELECT helper.error_of(format('SELECT * FROM perfmodel.forecast_jobs(''odd_types''%s)', c)) FROM unnest('{"",", ''{\"gpu_count\": null}''"}'::text[]) AS c;
DROP TABLE odd_types;
-- numbers of any kind in a table are notes, not errors, and no NaN comes out
SELECT job_id, gpu_count, p50_s, p90_s, note FROM perfmodel.queue_order_arrays(job_ids => '{a,b,c,d,e,f,g}', gpus => '{T4,T4,T4,T4,T4,T4,T4}', gpu_counts => '{1,2147483647,-5,1,1,1,NULL}', durations_p50_s => '{NaN,1,1,Infinity,0,5,7}', durations_p90_s => '{1,1,1,1,1,4,Infinity}');
SELECT job_id, start_p50, finish_p90, note FROM perfmodel.queue_eta_arrays(free => '{"T4": 1}', job_ids => '{a,b}', gpus => '{T4,T4}', gpu_counts => '{1,1}', durations_p50_s => '{1e12,1e12}', submitted => '{-infinity,"4000-01-01"}', at => '290000-01-01');

-- a job does not run before it starts
SELECT job_id, "position", start_p50, finish_p50 FROM ask, perfmodel.queue_eta_arrays(free => '{"T4": 1}', job_ids => '{later}', gpus => '{T4}', gpu_counts => '{1}', durations_p50_s => '{100}', started => ARRAY[at + interval '9 hours'], at => at);
-- a table can be one of the session's own, which no parallel worker sees
SELECT string_agg(proname, ', ') AS must_not_be_parallel_safe FROM pg_proc WHERE pronamespace = 'perfmodel'::regnamespace AND 'regclass'::regtype = ANY (proargtypes) AND proparallel = 's';

-- ---- logs that were loaded as text: a blank is nothing, what is no number is an error
CREATE TABLE as_text AS SELECT i::text AS job_id, 'T4'::text AS gpu, CASE i WHEN 1 THEN ' 60 ' ELSE ' ' END AS duration_s, CASE i WHEN 1 THEN '2' ELSE '' END AS gpu_count,
    CASE i WHEN 1 THEN '2026-01-01 11:00+00' ELSE '' END::varchar AS submitted_at, ''::text AS deadline FROM generate_series(1, 2) AS i;
SELECT job_id, gpu_count, p50_s, note FROM perfmodel.queue_order('as_text', at => '2026-01-01 12:00+00') ORDER BY job_id;
CREATE TEMP TABLE by_interval AS SELECT '1' AS job_id, 'T4' AS gpu, '1 00:01:00'::interval AS duration_s, '2 days'::interval AS duration_p90_s, '2026-01-01'::timestamptz AS submitted_at;
UPDATE as_text SET duration_s = 'long' WHERE job_id = '2';
SELECT helper.error_of($$SELECT * FROM perfmodel.queue_order('as_text')$$);
UPDATE as_text SET duration_s = '1e400' WHERE job_id = '2';
SELECT helper.error_of($$SELECT * FROM perfmodel.queue_order('as_text')$$);
-- a duration as an interval, as reports read it
SELECT job_id, p50_s, p90_s FROM perfmodel.queue_order('by_interval');
UPDATE as_text SET duration_s = '70', submitted_at = 'some day' WHERE job_id = '2';
SELECT helper.error_of($$SELECT * FROM perfmodel.queue_eta('as_text', free => '{"T4": 1}')$$);
-- what a data frame writes is a whole number; what is none is no error here, as in a column of numbers
CREATE TABLE as_frame AS SELECT v.* FROM (VALUES ('1', '8.0', '1.0', '6e4'), ('2', '8.5', '1', '60000'), ('3', '8', 'nan', '60000'), ('4', '8', ' 1.000 ', '60000')) AS v (job_id, batch, gpu_count, steps);
ALTER TABLE as_frame ADD gpu text DEFAULT 'T4', ADD graph text, ADD submitted_at timestamptz;
UPDATE as_frame SET graph = (SELECT min(name) FROM perfmodel.graph);
SELECT f.job_id, f.gpu_count, f.p50_s = one.p50_s AS as_numbers, f.note FROM perfmodel.forecast_jobs('as_frame') AS f, perfmodel.forecast_jobs('as_frame') AS one WHERE one.job_id = '4' ORDER BY f.job_id;
UPDATE as_frame SET batch = 'many' WHERE job_id = '2';
SELECT helper.error_of($$SELECT * FROM perfmodel.forecast_jobs('as_frame')$$);
DROP TABLE as_frame;
-- no number of a column is rounded to the id of a graph, and one that is out of range, or a date after the last time, is no error
CREATE TABLE by_id AS SELECT v.* FROM (VALUES (1, 0::float8, 1000::numeric, '2026-01-01'::date, '2026-02-01'::timestamp), (2, 0.4, 1000, NULL, NULL), (3, 'NaN', 1000, NULL, NULL), (4, 1e300, 1000, NULL, NULL),
    (5, 0, '1e400', NULL, NULL), (6, 0, '-1e400', NULL, NULL), (7, 0, '1e-400', NULL, NULL), (8, 0, 'NaN', NULL, NULL), (9, 0, 1000, '5874897-12-31', NULL), (10, 0, 1000, '4714-11-24 BC', '294276-12-31 23:59:59'),
    (11, 0, 1000, 'infinity', '-infinity')) AS v (job_id, graph_id, steps, submitted_at, deadline);
ALTER TABLE by_id ADD gpu text DEFAULT 'T4', ADD batch integer DEFAULT 8;
UPDATE by_id SET graph_id = graph_id + (SELECT min(graph_id) FROM perfmodel.graph) WHERE graph_id < 1e300;
SELECT f.job_id, f.p50_s = one.p50_s AS as_first, f.note FROM perfmodel.forecast_jobs('by_id') AS f, perfmodel.forecast_jobs('by_id') AS one WHERE one.job_id = '1' ORDER BY f.job_id::int;
SELECT job_id, start_p50 IS NOT NULL AS starts, note FROM perfmodel.queue_eta('by_id', free => '{"T4": 1}', policy => 'sjf', at => '2026-01-01 12:00+00') ORDER BY job_id::int;
SELECT helper.error_of($$SELECT perfmodel.queue_eta('by_id', free => '{"T4": 1}', policy => 'sjf', at => '4714-11-24 00:00:00+00 BC')$$);
SELECT count(*) FROM perfmodel.deadline_probability('by_id', free => '{"T4": 1}', at => '2026-01-01 12:00+00');
ALTER TABLE by_id ALTER steps TYPE text USING '1000', ALTER graph_id TYPE numeric USING CASE graph_id WHEN 'NaN' THEN NULL ELSE graph_id::numeric END;
UPDATE by_id SET graph_id = 9223372036854775808 WHERE job_id = 4;
SELECT job_id, p50_s IS NOT NULL AS asked, note FROM perfmodel.forecast_jobs('by_id') WHERE job_id::int <= 4 ORDER BY job_id;
ALTER TABLE by_id ALTER graph_id TYPE float4 USING CASE job_id WHEN 1 THEN 1234567 WHEN 2 THEN 1.5 END;
SELECT job_id, p50_s IS NOT NULL AS asked, note FROM perfmodel.forecast_jobs('by_id') WHERE job_id::int <= 2 ORDER BY job_id;
DROP TABLE by_id;
-- in the history, too, and only where it is read; '' is an end that is yet to come
ALTER TABLE as_text ADD "ended ""at""" text, ADD started_at text;
UPDATE as_text SET "ended ""at""" = CASE job_id WHEN '2' THEN '2026-01-01 11:30+00' ELSE ' ' END;
SELECT job_id, note FROM perfmodel.queue_order('as_text', '{"finished_at": "ended \"at\""}', at => '2026-01-01 12:00+00');
SELECT helper.error_of($$SELECT * FROM perfmodel.queue_eta('as_text', '{"finished_at": "ended \"at\""}', free => '{"T4": 1}', policy => 'sjf', at => '2026-01-01 12:00+00')$$);
UPDATE as_text SET submitted_at = '2026-01-01 11:00+00', "ended ""at""" = 'yes' WHERE job_id = '2';
SELECT helper.error_of($$SELECT * FROM perfmodel.queue_eta('as_text', '{"finished_at": "ended \"at\""}', free => '{"T4": 1}', policy => 'sjf', at => '2026-01-01 12:00+00')$$);
-- ---- with the caller's rights
CREATE ROLE pm_test_queue;
GRANT USAGE ON SCHEMA helper TO pm_test_queue;
SET ROLE pm_test_queue;
SELECT count(*) FROM perfmodel.queue_eta_arrays(free => '{"T4": 1}', job_ids => '{a}', gpus => '{T4}', gpu_counts => '{1}', durations_p50_s => '{1}');
SELECT helper.error_of('SELECT * FROM perfmodel.queue_order(''public.ask'', policy => ''fifo'')');
RESET ROLE;
GRANT SELECT ON ask TO pm_test_queue;
SET ROLE pm_test_queue;
SELECT note FROM perfmodel.queue_order('public.ask', policy => 'fifo');
RESET ROLE;
ROLLBACK;
