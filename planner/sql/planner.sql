-- Which jobs get which devices.
\pset format unaligned
\set ECHO none
\i ../sql/setup.sql
\set ECHO all
CREATE EXTENSION perfmodel_planner;
SELECT extversion = (SELECT extversion FROM pg_extension WHERE extname = 'perfmodel') AS same_version FROM pg_extension WHERE extname = 'perfmodel_planner';
SELECT perfmodel.planner_library() ~ '^(Clp|HiGHS) [0-9.]+$' AS library;
-- every object has a comment of at most 115 characters
SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
    AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'perfmodel_planner') AND coalesce(length(obj_description(objid, classid::regclass::name)), 0) NOT BETWEEN 1 AND 115;

-- ---- numbers: the first job is four times as fast on the first kind
SELECT job, kind, round(share::numeric, 6) AS share, round(objective::numeric, 6) AS objective FROM perfmodel.assign_arrays('{{4,1},{1,1}}', '{1,1}', 'cost', steps => '{1,1}', prices => '{2,1}');
-- each job's steps for its own money, added up: 1/8 for the one on 4 devices and 1/2 for the one on 1
SELECT DISTINCT round(objective::numeric, 6) AS cost FROM perfmodel.assign_arrays('{1,1}', '{8}', 'cost', '{4,1}', steps => '{1000,1000}', deadlines_s => '{100,Infinity}', prices => '{2}');
SELECT DISTINCT round(objective::numeric, 6) AS max_min FROM perfmodel.assign_arrays('{{4,1},{1,1}}', '{1,1}');
SELECT DISTINCT round(objective::numeric, 6) AS makespan_s FROM perfmodel.assign_arrays('{{4,1},{1,1}}', '{1,1}', 'Makespan', steps => '{100,200}');
-- twice the weight, twice the rate; shares that equals have are equal
SELECT job, round(sum(share)::numeric, 6) AS share FROM perfmodel.assign_arrays('{{1},{1},{1},{1}}', '{2}', weights => '{1,1,2,2}') GROUP BY job ORDER BY job;
-- a job of 4 devices where there are 2 of one kind and 2 of another
SELECT round(sum(share)::numeric, 6) AS share FROM perfmodel.assign_arrays('{{3,5}}', '{2,2}', gpu_counts => '{4}');
-- a deadline that cannot be met is met as far as can be
SELECT job, round(share::numeric, 6) AS share, round(unmet::numeric, 6) AS unmet FROM perfmodel.assign_arrays('{{1},{1}}', '{1}', 'cost', steps => '{100,100}', deadlines_s => '{80,Infinity}', prices => '{1}');
-- many different jobs are planned by prices of devices: the same as 300 and as 1,200, within the bound; nobody uses more than there is
CREATE FUNCTION pg_temp.many(n int) RETURNS TABLE (policy text, n_jobs bigint, within boolean, last float8) LANGUAGE sql AS $$
    WITH job AS (SELECT i, 1 + (i * 7919 % 10007) / 1000.0 AS a, 1 + (i * 104729 % 10009) / 1000.0 AS b, 1000 + i * 7 % 1000 AS steps FROM generate_series(1, n) AS i)
    SELECT p.policy, count(DISTINCT job), bool_and(abs(objective / bound - 1) < 2e-5), max(objective) / n
    FROM unnest('{max_min,makespan}'::text[]) AS p(policy), perfmodel.assign_arrays((SELECT array_agg(ARRAY[a, b] ORDER BY i) FROM job), '{10,20}', p.policy,
        steps => (SELECT array_agg(steps ORDER BY i) FROM job)) AS a GROUP BY p.policy $$;
SELECT policy, n_jobs, within, round(last::numeric, 3) AS last FROM unnest('{300,1200}'::int[]) AS n, pg_temp.many(n) WHERE policy = 'makespan' ORDER BY n;
SELECT policy, n_jobs, within FROM pg_temp.many(1200) WHERE policy = 'max_min';
SELECT count(*) FROM perfmodel.assign_arrays('{}', '{1}');
SELECT count(*) AS nothing_to_give FROM perfmodel.assign_arrays('{{1},{1}}', '{0}');
SELECT count(*) AS nothing_to_give FROM perfmodel.assign_arrays((SELECT array_agg(ARRAY[i::float8]) FROM generate_series(1, 1200) AS i), '{0}');
SELECT helper.error_of(format('SELECT * FROM perfmodel.assign_arrays(%s)', a)) FROM unnest(ARRAY[
    '''{1,2,3}'', ''{1,1}''', '''{1}'', ''{}''', '''{1}'', ''{1}'', ''fair''', '''{-1}'', ''{1}''', '''{NaN}'', ''{1}''', '''{NULL}'', ''{1}''', '''{1}'', ''{-1}''', '''{1}'', ''{Infinity}''',
    '''{1}'', ''{1}'', weights => ''{0}''', '''{1}'', ''{1}'', weights => ''{1,2}''', '''{1}'', ''{1}'', gpu_counts => ''{0}''', '''{1}'', ''{1}'', ''makespan'', steps => ''{0}''',
    '''{1}'', ''{0}'', ''makespan'', steps => ''{1}''', '''{1}'', ''{1}'', ''cost'', steps => ''{1}'', prices => ''{0}''', '''{1}'', ''{1}'', ''cost'', steps => ''{1}'', prices => ''{1}'', deadlines_s => ''{0}''',
    '''{1}'', ''{1}'', ''cost'', steps => ''{1}'', prices => ''{1}'', deadlines_s => ''{1e308}''', '''{1}'', ''{1}'', ''cost'', steps => ''{1}'', prices => ''{1}'', deadlines_s => ''{NaN}''',
    -- what the policy is about, or an argument without which there is no question
    '''{1}'', ''{1}'', ''makespan''', '''{1}'', ''{1}'', ''cost'', prices => ''{1}''', '''{1}'', ''{1}'', ''cost'', steps => ''{1}''', 'NULL, ''{1}''', '''{1}'', NULL', '''{1}'', ''{1}'', NULL', '''{1e-300}'', ''{1}''', '''{1}'', ''{1e-300}''', '''{1}'', ''{1}'', steps => ''{1e308}''']) AS a;
-- rows that are not as long as there are kinds of devices, although their elements would make whole rows; one row after the other is a matrix, too
SELECT helper.error_of(format('SELECT * FROM perfmodel.assign_arrays(%s)', a)) FROM unnest(ARRAY[
    '''{{4,1,1},{1,1,1}}'', ''{1,1}''', '''{{4},{1},{1}}'', ''{1,1,1}''', '''{{{4,1}},{{1,1}}}'', ''{1,1}''', '''{{4,1}}'', ''{{1,1}}''', '''{{1},{1}}'', ''{1}'', weights => ''{{1},{1}}''', '''{{4,1}}'', ''{}''']) AS a;
SELECT count(*) AS same FROM (SELECT * FROM perfmodel.assign_arrays('{4,1,1,1}', '{1,1}') EXCEPT SELECT * FROM perfmodel.assign_arrays('{{4,1},{1,1}}', '{1,1}')) AS d;
-- a deadline that needs next to nothing, or more than all there is
SELECT job, round(share::numeric, 6) AS share, round(unmet::numeric, 6) AS unmet FROM perfmodel.assign_arrays('{{1e9},{1e-9}}', '{1}', 'cost', steps => '{1e-3,1e15}', deadlines_s => '{1e15,1e-3}', prices => '{1}') ORDER BY job;

-- ---- a table of jobs
SELECT helper.load_world() > 0 AS loaded;
SELECT perfmodel.train('planner', 'roofline') > 0 AS trained;
CREATE TABLE "the jobs" (noise float8 DEFAULT 640, id int, graph text, gpu text, gpu_count int, batch int, steps int, "importance ""x""" float8, deadline timestamptz);
INSERT INTO "the jobs" (id, graph, gpu, gpu_count, batch, steps, "importance ""x""", deadline) VALUES (1, 'anet8@64', 'T4', 1, 64, 100000, 1, NULL), (2, 'anet4@16', 'T4', 1, 8, 100000, 1, '2026-01-01 01:00+00'), (3, 'bnet9@64', 'RTX 3090', 1, 64, 1000, 1, NULL),
    (4, 'no such', 'T4', 1, 64, 1000, 1, NULL), (5, 'bnet9@64', 'T4', 1, 64, NULL, 1, '2025-01-01 00:00+00');
\set jobs '''"the jobs"'', workers => ''{"Tesla T4": 1, "RTX 3090": 1}'''
\set more 'columns => ''{"job_id": "id", "weight": "importance \\"x\\""}'', at => ''2026-01-01 00:00+00'''
-- the numbers are those of what_if_jobs
CREATE TABLE asked AS SELECT * FROM perfmodel.what_if_jobs('"the jobs"', '{"job_id": "id"}', '{Tesla T4,RTX 3090}');
SELECT count(*), count(DISTINCT job), count(step_ms), array_agg(DISTINCT gpu ORDER BY gpu) AS gpus, array_agg(DISTINCT note) FILTER (WHERE step_ms IS NULL) AS notes FROM asked;
SELECT p.job_id, p.gpu, helper.close(p.steps_per_s, p.share * 1000 / a.step_ms, 1e-4) AS rate, p.unmet, p.note FROM perfmodel.assign(:jobs, :more) AS p LEFT JOIN asked AS a USING (job_id, gpu) ORDER BY job_id, gpu;
-- all end by the makespan, and the last at it
SELECT helper.close(max(steps / rate), max(objective), 1e-4) AS makespan FROM (SELECT job_id, sum(steps_per_s) AS rate, min(objective) AS objective FROM perfmodel.assign(:jobs, policy => 'makespan', :more) GROUP BY job_id) AS p
    JOIN "the jobs" AS j ON p.job_id = j.id::text;
SELECT job_id, note FROM perfmodel.assign(:jobs, policy => 'makespan', :more) WHERE share IS NULL;
-- the deadline is met
SELECT bool_and(rate >= 100000 / 3600.0 * (1 - 1e-4)) AS in_time FROM (SELECT sum(steps_per_s) AS rate FROM perfmodel.assign(:jobs, policy => 'cost', prices => '{"Tesla T4": 0.35, "RTX 3090": 0.4}', :more) WHERE job_id = '2') AS p;
SELECT helper.error_of(format('SELECT * FROM perfmodel.assign(%s)', a)) FROM unnest(ARRAY[
    '''"the jobs"'', workers => ''[]''', '''"the jobs"'', workers => ''{}''', '''"the jobs"'', workers => ''{"T4": "1"}''', '''"the jobs"'', workers => ''{"T4": -1}''',
    '''"the jobs"'', workers => ''{"T4": 1}'', policy => ''cost''', '''"the jobs"'', workers => ''{"T4": 1}'', policy => ''cost'', prices => ''{"L4": 1}''',
    '''"the jobs"'', workers => ''{"T4": 1}'', columns => ''{"graph": "gpuu"}''', '''"the jobs"''', '''"the jobs"'', ''{"T4": 1}''']) AS a;
SELECT job_id, share, note FROM perfmodel.assign('"the jobs"', workers => '{"no such GPU": 1}', columns => '{"job_id": "id"}') LIMIT 1;
-- ---- a job gets no share of devices whose memory it does not fit into
CREATE TABLE large AS SELECT i AS job_id, 'bnet9@64' AS graph, 'T4' AS gpu, (ARRAY[64, n, 10 * n])[i] AS batch, 1000 AS steps
FROM generate_series(1, 3) AS i, perfmodel.max_batch(perfmodel.graph_id('bnet9@64'), 'RTX 3090', p => 0.5) AS n;
SELECT policy, job_id, gpu, a.share > 0 AS runs, regexp_replace(a.note, '[0-9][0-9.]+', 'N', 'g') AS note
FROM unnest('{max_min,makespan}'::text[]) AS policy, perfmodel.assign('large', workers => '{"T4": 2, "RTX 3090": 2}', policy => policy) AS a WHERE job_id <> '1' ORDER BY policy, job_id, gpu;
SELECT job_id, gpu, gpu_count > 0 AS runs, regexp_replace(note, '[0-9][0-9.]+', 'N', 'g') AS note FROM perfmodel.allocate_elastic('large', workers => '{"T4": 2, "RTX 3090": 2}', gpu_counts => '{1}') WHERE job_id <> '1' ORDER BY job_id;
-- ---- elastic jobs
\set columns '''{"job_id": "id"}'''
SELECT job_id, gpu, gpu_count, goodput_per_s > 0 AS runs, left_s > 0 AS left_s, objective > 0 AS objective, bound, note FROM perfmodel.allocate_elastic('"the jobs"', workers => '{"Tesla T4": 3, "RTX 3090": 4}', columns => :columns);
-- jobs 3 and 5 are alike: which of them gets more is up to the library
SELECT replace(job_id, '5', '3') AS job_id, gpu, gpu_count, objective <= bound * (1 + 1e-9) AS within, note FROM perfmodel.allocate_elastic('"the jobs"', workers => '{"Tesla T4": 3, "RTX 3090": 4}', policy => 'Sia', columns => :columns, gpu_counts => '{1,2}') ORDER BY 1, gpu_count;
-- every row without devices says why: others have them, or there are fewer than it needs; the same of shares of time
SELECT policy, n, note, count(*) > 0 AS some FROM unnest('{optimus,sia}'::text[]) AS policy, unnest('{1,2}'::int[]) AS n,
    perfmodel.allocate_elastic('"the jobs"', workers => '{"RTX 3090": 1}', policy => policy, columns => :columns, gpu_counts => ARRAY[n]) AS a WHERE a.gpu IS NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT job_id, gpu, a.share, note FROM perfmodel.assign('"the jobs"', workers => '{"RTX 3090": 1}', policy => 'cost', prices => '{"RTX 3090": 1}', columns => :columns, at => '2026-01-01 00:00+00') AS a ORDER BY 1;
SELECT sum(gpu_count) FILTER (WHERE gpu = 'T4') <= 3 AS t4, sum(gpu_count) FILTER (WHERE gpu = 'RTX 3090') <= 4 AS rtx3090 FROM perfmodel.allocate_elastic('"the jobs"', workers => '{"Tesla T4": 3, "RTX 3090": 4}', policy => 'sia', columns => :columns);
-- a noise scale: more devices are worth less than they compute
SELECT w.gpu_count, helper.close(w.goodput_per_s, 1000 * 64 * w.gpu_count / w.step_ms * (640 + 64) / (640.0 + 64 * w.gpu_count), 1e-4) AS goodput, w.samples_left
FROM perfmodel.what_if_jobs('"the jobs"', '{"job_id": "id", "noise_scale": "noise"}', '{T4}', '{1,4}') AS w WHERE w.job_id = '1';
SELECT helper.error_of(format('SELECT * FROM perfmodel.allocate_elastic(''"the jobs"'', %s)', a)) FROM unnest(ARRAY[
    'workers => ''{"T4": 1}'', policy => ''best''', 'workers => ''{"T4": 1}'', gpu_counts => ''{}''', 'workers => ''{"T4": 1}'', gpu_counts => ''{2,1}''', 'workers => ''{"T4": 1}'', gpu_counts => ''{0,1}''', 'workers => ''{"T4": 1}'', gpu_counts => ''{NULL}''', 'workers => ''{}''']) AS a;
SELECT helper.error_of('SELECT * FROM perfmodel.assign(''"the jobs"'', workers => ''{"T4": 1}'', at => ''-infinity'')');
SELECT helper.error_of(format('SELECT * FROM perfmodel.%s', a)) FROM unnest(ARRAY['assign(NULL, workers => ''{"T4": 1}'')', 'assign(''"the jobs"'', workers => ''{"T4": 1}'', policy => NULL)',
    'assign(''"the jobs"'', workers => ''{"T4": 1}'', at => NULL)', 'allocate_elastic(NULL, workers => ''{"T4": 1}'')', 'allocate_elastic(''"the jobs"'', workers => ''{"T4": 1}'', policy => NULL)']) AS a;
SELECT helper.error_of(format('SELECT * FROM perfmodel.allocate_elastic(''"the jobs"'', workers => ''{"T4": 1}'', gpu_counts => %L)', array_agg(i))) FROM generate_series(1, 1001) AS i;
-- with the caller's rights
CREATE ROLE pm_test_planner;
GRANT USAGE ON SCHEMA helper TO pm_test_planner;
SET ROLE pm_test_planner;
SELECT helper.error_of('SELECT * FROM perfmodel.assign(''public."the jobs"'', workers => ''{"T4": 1}'')');
SELECT count(*) FROM perfmodel.assign_arrays('{1}', '{1}');
RESET ROLE;
DROP OWNED BY pm_test_planner;
DROP ROLE pm_test_planner;

-- ---- a cancel ends it
SET statement_timeout = 50;
\set VERBOSITY terse
SELECT count(*) FROM perfmodel.assign_arrays((SELECT array_agg(1 + (i * 7919 % 10007) / 1000.0) FROM generate_series(1, 60000) AS i)::float8[], array_fill(30::float8, ARRAY[20]));
\set VERBOSITY default
RESET statement_timeout;
DROP EXTENSION perfmodel_planner;
SELECT count(*) AS left_over FROM pg_proc WHERE pronamespace = 'perfmodel'::regnamespace AND proname ~ 'assign|planner';
