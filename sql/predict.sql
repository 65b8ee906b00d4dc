-- Predictions.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('anet4@16') AS g \gset
SELECT perfmodel.predict_train_time(:g, 'T4', 8) > 0 AS positive,
       perfmodel.predict_train_time(:g, 'T4', 8) = perfmodel.predict_train_time(:g, 'Tesla T4', 8, 'fp32', 'nchw', NULL, 'line') AS same;
-- more work takes longer, on every kind
SELECT name, perfmodel.predict_train_time(:g, 'T4', 256, predictor => name) > perfmodel.predict_train_time(:g, 'T4', 8, predictor => name) AS longer
FROM perfmodel.predictor ORDER BY name;

-- NULL in, NULL out, but for framework and predictor
SELECT perfmodel.predict_train_time(NULL, 'T4', 8), perfmodel.predict_train_time(:g, NULL, 8),
       perfmodel.predict_train_time(:g, 'T4', NULL), perfmodel.predict_train_time(:g, 'T4', 8, NULL),
       perfmodel.predict_train_time(:g, 'T4', 8, layout => NULL);
SELECT perfmodel.predict_train_time(:g, 'T4', 8, framework => NULL, predictor => NULL) IS NOT NULL AS answered;

-- errors name what exists
SELECT regexp_replace(helper.error_of(format('SELECT perfmodel.predict_train_time(%s)', replace(a, 'G', :'g'))), 'graph_id \d+', 'graph_id N')
FROM unnest(ARRAY['-1, ''T4'', 8', 'G, ''T5'', 8', 'G, ''T4'', 0', 'G, ''T4'', -8', 'G, ''T4'', 2147483647',
    'G, ''T4'', 8, ''float99''', 'G, ''T4'', 8, layout => ''chw''', 'G, ''T4'', 8, predictor => ''lime''',
    'G, ''T4'', 8, predictor => ''''']) AS a;

-- the same number with its error: inside its interval, which grows with the level
SELECT name, step_ms = perfmodel.predict_train_time(:g, 'T4', 8, predictor => name) AS same, step_ms_low > 0 AND step_ms_low <= step_ms AS low,
       step_ms_high >= step_ms AND step_ms_high < 1e9 AS high, helper.close(samples_per_s, 8000 / step_ms) AS rate,
       in_domain, p.predictor_id = q.predictor_id AS who, note
FROM perfmodel.predictor q, perfmodel.predict(:g, 'T4', 8, predictor => name) p WHERE name IN ('line', 'roof') ORDER BY name;
SELECT level, step_ms_high - step_ms_low > lag(step_ms_high - step_ms_low, 1, 0.0::float8) OVER (ORDER BY level) AS wider
FROM unnest('{0.5,0.7,0.9,0.99,0.999}'::float8[]) AS level, perfmodel.predict(:g, 'T4', 8, level => level) ORDER BY level;
-- asked again, with the level of before or another one, from the memo or not
SELECT count(DISTINCT step_ms) AS times, count(DISTINCT step_ms_low) AS lows, count(DISTINCT step_ms_high) AS highs
FROM unnest('{0.9,0.8,0.9,0.8}'::float8[]) AS level, perfmodel.predict(:g, 'T4', 8, level => level);
SELECT count(DISTINCT p) AS answers FROM generate_series(1, 3), perfmodel.predict(:g, 'T4', 4096) p;
-- out of the domain: the reason, and an interval twice as wide in the logarithm; in another format the network is at another distance
SELECT p.in_domain, p.note, ln(p.step_ms_high / p.step_ms) > 1.5 * ln(i.step_ms_high / i.step_ms) AND
       ln(p.step_ms_low / p.step_ms) < 1.5 * ln(i.step_ms_low / i.step_ms) AS wider
FROM perfmodel.predict(:g, 'T4', 8) i,
     LATERAL (SELECT * FROM perfmodel.predict(:g, 'T4', 8, 'amp') UNION ALL SELECT * FROM perfmodel.predict(:g, 'T4', 8, layout => 'nhwc')
              UNION ALL SELECT * FROM perfmodel.predict(:g, 'T4', 129)) p;
SELECT in_domain, note FROM perfmodel.predict(:g, 'A100-SXM4-40GB', 8);
SELECT in_domain, note FROM perfmodel.predict(:g, 'T4', 3);
SELECT in_domain, note FROM perfmodel.predict(:g, 'T4', 8, framework => 'pytorch 2.1');
SELECT in_domain, note FROM perfmodel.predict(:g, 'T4', 8, framework => 'tensorflow 1.4');
SELECT perfmodel.load_graph(jsonb_set(jsonb_set(helper.cnn('odd', 32, 4), '{nodes,6,op}', '"aten::roll"'), '{nodes,9,op}', '"Softmax"')) AS odd \gset
SELECT in_domain, regexp_replace(note, '\d+ %', 'N %') AS note FROM perfmodel.predict(:odd, 'T4', 8);
DELETE FROM perfmodel.graph WHERE graph_id = :odd;
SELECT perfmodel.load_graph(helper.cnn('wide', 4096, 2)) AS wide \gset
SELECT in_domain, regexp_replace(note, '\d+ %', 'N %') ~ '^operators of sizes not in training, such as \S+ \(N % of roofline time\)' AS note FROM perfmodel.predict(:wide, 'T4', 8);
DELETE FROM perfmodel.graph WHERE graph_id = :wide;
-- no calibration: no interval, and never one that was made up
SELECT perfmodel.train('uncalibrated', 'linear', options => '{"calibration_folds": 0}') > 0 AS trained;
SELECT step_ms > 0 AS time, step_ms_low, step_ms_high, in_domain, note FROM perfmodel.predict(:g, 'T4', 8, predictor => 'uncalibrated');
SELECT note FROM perfmodel.predict(:g, 'T4', 8, 'bf16', predictor => 'uncalibrated');
SELECT valid_n, valid_mape FROM perfmodel.predictor WHERE name = 'uncalibrated';
SELECT valid_n = n_profiles AS all_rows, valid_mape > 0 AS mape, valid_mae_ms > 0 AS mae, valid_rmse_ms >= valid_mae_ms AS rmse FROM perfmodel.predictor WHERE name = 'line';
SELECT perfmodel.drop_predictor('uncalibrated') > 0 AS dropped;
-- NULLs and errors as above, and levels
SELECT p IS NULL AS nothing FROM (VALUES (perfmodel.predict(NULL, 'T4', 8)), (perfmodel.predict(:g, NULL, 8)), (perfmodel.predict(:g, 'T4', NULL)),
    (perfmodel.predict(:g, 'T4', 8, NULL)), (perfmodel.predict(:g, 'T4', 8, layout => NULL)), (perfmodel.predict(:g, 'T4', 8, level => NULL))) v(p);
SELECT step_ms IS NULL AS nothing FROM perfmodel.predict(NULL, 'T4', 8);
-- where rows are wanted in place of errors, they say which argument is NULL
SELECT p.step_ms, p.note, p.reasons, m.note, j.note, j.reasons
FROM perfmodel.predict(NULL, 'T4', NULL, on_error => 'null') AS p, perfmodel.predict_memory(:g, NULL, 8, on_error => 'null') AS m,
     perfmodel.predict_job(NULL, 'T4', 8, steps => 10, on_error => 'null') AS j;
SELECT gpu, batch, step_ms IS NULL AS nothing, note, reasons FROM perfmodel.what_if(:g, '{T4,NULL}', '{8,NULL}', on_error => 'null');
SELECT ordinality, step_ms IS NULL AS nothing, note, reasons FROM perfmodel.predict_many(ARRAY[:g, NULL, :g], '{T4,T4,NULL}', '{8,8,NULL}', on_error => 'null');
SELECT regexp_replace(helper.error_of(format('SELECT perfmodel.predict(%s)', replace(a, 'G', :'g'))), 'graph_id \d+', 'graph_id N')
FROM unnest(ARRAY['-1, ''T4'', 8', 'G, ''T5'', 8', 'G, ''T4'', 0', 'G, ''T4'', 8, ''float99''', 'G, ''T4'', 8, predictor => ''lime''',
    'G, ''T4'', 8, level => 1', 'G, ''T4'', 8, level => 0.4999', 'G, ''T4'', 8, level => 90', 'G, ''T4'', 8, level => ''NaN''']) AS a;

-- a device whose sheet lacks what is needed
INSERT INTO perfmodel.gpu (name, aliases) VALUES ('Empty Sheet', '{}');
SELECT helper.error_of(format('SELECT perfmodel.%s(%s, %L, 8, predictor => %L)', f, :g, 'Empty Sheet', 'roof'))
FROM unnest('{predict_train_time,predict}'::text[]) AS f;
SELECT step_ms, note, reasons FROM perfmodel.predict(:g, 'Empty Sheet', 8, predictor => 'roof', on_error => 'null');
DELETE FROM perfmodel.gpu WHERE name = 'Empty Sheet';
-- a graph whose steps cannot be predicted: without work, or with more operators than fit; asked twice, as a session remembers it
SELECT perfmodel.load_graph('{"format":"perfmodel-graph/1", "name":"idle", "nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0}]}') AS idle \gset
SELECT perfmodel.load_graph(jsonb_build_object('format', 'perfmodel-graph/1', 'name', 'endless', 'nodes', '[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0}]'::jsonb
    || jsonb_agg(jsonb_build_object('id', i, 'op', 'Relu', 'inputs', jsonb_build_array(i - 1), 'shape', jsonb_build_array(1, 8), 'batch_dim', 0) ORDER BY i))) AS endless FROM generate_series(1, 20001) AS i \gset
SELECT helper.error_of(format('SELECT perfmodel.predict(%s, ''T4'', 8, predictor => ''roof'')', g)) FROM unnest(ARRAY[:idle, :endless]) AS g;
SELECT n, step_ms, note, reasons FROM perfmodel.predict_many(ARRAY[:idle, :g, :endless, :idle, :endless], array_fill('T4'::text, ARRAY[5]), '{8,8,8,8,16}',
    predictor => 'roof', on_error => 'null') WITH ORDINALITY AS p(o, g, gpu, batch, step_ms, low, high, s, d, id, note, reasons, n) WHERE n <> 2;
SELECT note, reasons FROM perfmodel.ask('{"graph": "idle", "gpu": "T4", "batch": 8}', 'roof', on_error => 'null');
DELETE FROM perfmodel.graph WHERE name IN ('idle', 'endless');

-- what a session remembers follows the tables: data sheets ...
INSERT INTO perfmodel.gpu (name, memory_gb, mem_bw_gbs, sm_count, cores_per_sm, clock_ghz, fp32_tflops, l2_mb)
SELECT 'Changing', memory_gb, mem_bw_gbs, sm_count, cores_per_sm, clock_ghz, fp32_tflops, l2_mb FROM perfmodel.gpu WHERE name = 'T4';
SELECT perfmodel.predict_train_time(:g, 'Changing', 64, predictor => 'roof') AS before \gset
UPDATE perfmodel.gpu SET fp32_tflops = fp32_tflops / 10, mem_bw_gbs = mem_bw_gbs / 10 WHERE name = 'Changing';
SELECT perfmodel.predict_train_time(:g, 'Changing', 64, predictor => 'roof') > 2 * :before AS slower;
BEGIN;
UPDATE perfmodel.gpu SET fp32_tflops = fp32_tflops / 10, mem_bw_gbs = mem_bw_gbs / 10 WHERE name = 'Changing';
SELECT perfmodel.predict_train_time(:g, 'Changing', 64, predictor => 'roof') > 20 * :before AS slower_still;
ROLLBACK;
SELECT perfmodel.predict_train_time(:g, 'Changing', 64, predictor => 'roof') < 20 * :before AS as_before;
DELETE FROM perfmodel.gpu WHERE name = 'Changing';
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, %L, 64, predictor => %L)', :g, 'Changing', 'roof')) ~ '^42704' AS gone;

-- ... which predictor is active, under a statement's own snapshot ...
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT perfmodel.predict_train_time(:g, 'T4', 8) AS line \gset
SELECT perfmodel.activate_predictor('roof') > 0 AS activated;
SELECT perfmodel.predict_train_time(:g, 'T4', 8) = perfmodel.predict_train_time(:g, 'T4', 8, predictor => 'roof') AS roof;
ROLLBACK;
SELECT perfmodel.predict_train_time(:g, 'T4', 8) = :line AS line_again;

-- ... and graphs
SELECT perfmodel.load_graph(helper.cnn('passing', 8, 2)) AS passing \gset
SELECT perfmodel.predict_train_time(:passing, 'T4', 8) > 0 AS there;
DELETE FROM perfmodel.graph WHERE graph_id = :passing;
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, %L, 8)', :passing, 'T4')) ~ '^42704' AS gone;
BEGIN;
SELECT perfmodel.load_graph(helper.cnn('passing', 8, 2)) AS passing \gset
SELECT perfmodel.predict_train_time(:passing, 'T4', 8) > 0 AS there;
ROLLBACK;
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, %L, 8)', :passing, 'T4')) ~ '^42704' AS gone;

-- large batches; a note ends with a whole character
SELECT samples_per_s > 0 AS positive FROM perfmodel.predict(perfmodel.graph_id('anet4@16'), 'T4', 16777216);
SELECT convert_from(convert_to(note, 'UTF8'), 'UTF8') = note AS whole, right(note, 60) AS note
FROM perfmodel.predict(perfmodel.graph_id('anet4@16'), 'T4', 8, framework => 'a' || repeat('ж', 40));

-- a tensor that very many operators read would take minutes
SELECT perfmodel.load_graph(jsonb_build_object('format', 'perfmodel-graph/1', 'name', 'fan', 'nodes', jsonb_agg(n ORDER BY i))) AS fan
FROM (SELECT i, jsonb_build_object('id', i, 'op', CASE i WHEN 0 THEN 'Input' WHEN 1 THEN 'Softmax' ELSE 'Relu' END,
             'inputs', CASE i WHEN 0 THEN '[]' WHEN 1 THEN '[0]' ELSE '[1]' END::jsonb, 'shape', '[1,8]'::jsonb, 'batch_dim', 0) AS n
      FROM generate_series(0, 16000) AS i) AS nodes \gset
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, %L, 8)', :fan, 'T4'));
DELETE FROM perfmodel.graph WHERE graph_id = :fan;

-- a budget of the cache that holds nothing changes nothing but speed
SELECT sum(perfmodel.predict_train_time(graph_id, gpu, batch, predictor => 'small')) AS all FROM perfmodel.profile \gset
SET perfmodel.cache_mem = '1MB';
SELECT sum(perfmodel.predict_train_time(graph_id, gpu, batch + 1 - 1, predictor => 'small')) = :all AS same FROM perfmodel.profile;
RESET perfmodel.cache_mem;
-- the same numbers from another session
\c
\pset format unaligned
SELECT sum(perfmodel.predict_train_time(graph_id, gpu, batch, predictor => 'small')) = :all AS same FROM perfmodel.profile;

-- in parallel workers
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 1;
-- the name of the setting changed with PostgreSQL 16
SELECT set_config(name, 'on', false) AS always_parallel FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
EXPLAIN (COSTS OFF) SELECT sum(perfmodel.predict_train_time(graph_id, gpu, batch, predictor => 'line')) FROM perfmodel.profile;
SELECT helper.close(sum(perfmodel.predict_train_time(graph_id, gpu, batch, predictor => 'small')), :all, 1e-12) AS same FROM perfmodel.profile;
SELECT helper.close(sum((perfmodel.predict(graph_id, gpu, batch, predictor => 'small')).step_ms), :all, 1e-12) AS same FROM perfmodel.profile;
SELECT set_config(name, 'off', false) AS always_parallel FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');

-- a prepared statement does not hold on to an answer
PREPARE q AS SELECT perfmodel.predict_train_time(graph_id, 'T4', 8) FROM perfmodel.graph WHERE name = 'anet4@16';
SET plan_cache_mode = force_generic_plan;
EXECUTE q \gset first_
SELECT perfmodel.activate_predictor('roof') > 0 AS activated;
EXECUTE q \gset second_
SELECT :first_predict_train_time <> :second_predict_train_time AS changed;
SELECT perfmodel.activate_predictor('line') > 0 AS activated;

-- a document that did not come by load_graph: the error says which graph, and whoever uses all measurements goes without it
BEGIN;
INSERT INTO perfmodel.graph (graph_id, name, model, family, source, nodes, params, unknown_ops, structure, doc) OVERRIDING SYSTEM VALUE
VALUES (-77, 'not loaded', 'm', 'f', 's', 1, 1, 0, '0123456789abcdef', '{}');
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) VALUES (-77, 'T4', 8, 1);
SAVEPOINT asked;
SELECT perfmodel.predict_train_time(-77, 'T4', 8);
ROLLBACK TO asked;
SELECT p.graph_id = -77 AS no_graph, p.step_ms IS NOT NULL AS answered, p.note FROM perfmodel.predict_many(ARRAY[-77, perfmodel.graph_id('anet4@16')], '{T4,T4}', '{8,8}', on_error => 'null') AS p ORDER BY 1 DESC;
UPDATE perfmodel.profile SET peak_memory_mb = 1000 WHERE graph_id IN (-77, perfmodel.graph_id('anet4@16'));
SET LOCAL client_min_messages = notice;
SELECT count(*) > 0 AS estimated FROM perfmodel.estimate_training('linear');
SELECT n > 0 AS evaluated FROM perfmodel.evaluate() WHERE grouped_by = 'overall';
SELECT count(*) > 0 AS compared FROM perfmodel.compare_memory();
SELECT count(*) > 0 AS calibrated FROM perfmodel.calibrate_memory();
SELECT count(*) > 0 AS judged FROM perfmodel.drift();
SELECT length(perfmodel.report()) > 0 AS reported;
SELECT count(*) > 0 AS ranked FROM perfmodel.leaderboard('{linear}', '{batch}', 2);
ROLLBACK;

-- a graph that takes the id of another one in the same transaction is another graph
BEGIN;
SET LOCAL client_min_messages = warning;
SELECT perfmodel.load_graph(helper.cnn('first@16', 16, 2)) AS first \gset
SELECT perfmodel.predict_train_time(:first, 'T4', 8, predictor => 'roof') AS first_ms \gset
TRUNCATE perfmodel.graph RESTART IDENTITY CASCADE;
INSERT INTO perfmodel.graph (graph_id, name, model, family, source, nodes, params, unknown_ops, structure, doc) OVERRIDING SYSTEM VALUE
SELECT :first, 'second@64', 'second', 'second', 's', 1, 1, 0, '0123456789abcdef', helper.cnn('second@64', 256, 6);
SELECT perfmodel.predict_train_time(:first, 'T4', 8, predictor => 'roof') > 2 * :first_ms AS of_the_second;
ROLLBACK;
