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
    'G, ''T4'', 8, ''float32''', 'G, ''T4'', 8, layout => ''chw''', 'G, ''T4'', 8, predictor => ''lime''',
    'G, ''T4'', 8, predictor => ''''']) AS a;

-- a device whose sheet lacks what is needed
INSERT INTO perfmodel.gpu (name, aliases) VALUES ('Empty Sheet', '{}');
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, %L, 8, predictor => %L)', :g, 'Empty Sheet', 'roof'));
DELETE FROM perfmodel.gpu WHERE name = 'Empty Sheet';

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
SET force_parallel_mode = on;
EXPLAIN (COSTS OFF) SELECT sum(perfmodel.predict_train_time(graph_id, gpu, batch, predictor => 'line')) FROM perfmodel.profile;
SELECT helper.close(sum(perfmodel.predict_train_time(graph_id, gpu, batch, predictor => 'small')), :all, 1e-12) AS same FROM perfmodel.profile;
RESET force_parallel_mode;

-- a prepared statement does not hold on to an answer
PREPARE q AS SELECT perfmodel.predict_train_time(graph_id, 'T4', 8) FROM perfmodel.graph WHERE name = 'anet4@16';
SET plan_cache_mode = force_generic_plan;
EXECUTE q \gset first_
SELECT perfmodel.activate_predictor('roof') > 0 AS activated;
EXECUTE q \gset second_
SELECT :first_predict_train_time <> :second_predict_train_time AS changed;
SELECT perfmodel.activate_predictor('line') > 0 AS activated;
