-- Measurements with tp or pp correct what the factors of a cluster do not explain.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('anet4@16') AS g \gset
BEGIN;
-- twelve layers of width 512
SELECT perfmodel.load_graph(jsonb_build_object('format', 'perfmodel-graph/1', 'name', 'twelve layers', 'nodes',
    '[{"id": 0, "op": "Input", "inputs": [], "shape": [1, 256, 512], "batch_dim": 0}]'::jsonb || (
    SELECT jsonb_agg(n ORDER BY (n->>'id')::int) FROM generate_series(0, 11) AS l, LATERAL (VALUES
        (jsonb_build_object('id', 4 * l + 1, 'op', 'LayerNormalization', 'inputs', jsonb_build_array(4 * l), 'shape', '[1, 256, 512]'::jsonb, 'batch_dim', 0, 'weights', '[[512], [512]]'::jsonb)),
        (jsonb_build_object('id', 4 * l + 2, 'op', 'MatMul', 'inputs', jsonb_build_array(4 * l + 1), 'shape', '[1, 256, 256]'::jsonb, 'batch_dim', 0, 'weights', '[[512, 256]]'::jsonb)),
        (jsonb_build_object('id', 4 * l + 3, 'op', 'Softmax', 'inputs', jsonb_build_array(4 * l + 2), 'shape', '[1, 256, 256]'::jsonb, 'batch_dim', 0, 'attrs', '{"axis": 2}'::jsonb)),
        (jsonb_build_object('id', 4 * l + 4, 'op', 'MatMul', 'inputs', jsonb_build_array(4 * l + 3), 'shape', '[1, 256, 512]'::jsonb, 'batch_dim', 0, 'weights', '[[256, 512]]'::jsonb))) AS v(n)))) AS t \gset
CREATE FUNCTION pg_temp.step(batch integer, n integer, p jsonb, cluster text DEFAULT 'dgx-2') RETURNS float8 LANGUAGE sql AS
    $$SELECT perfmodel.predict_train_time(perfmodel.graph_id('twelve layers'), 'V100-SXM2-32GB', $1, predictor => 'roof', world_size => $2, cluster => $4, parallel => $3)$$;
-- the machine: four GPUs a layer take half as long again, two a tenth less; pipelines and copies as predicted
CREATE TEMP TABLE truth AS
SELECT batch, n, jsonb_build_object('tp', tp, 'pp', pp, 'micro_batches', 4) AS p,
       pg_temp.step(batch, n, jsonb_build_object('tp', tp, 'pp', pp, 'micro_batches', 4)) * CASE tp WHEN 4 THEN 1.5 WHEN 2 THEN 0.9 ELSE 1 END AS step_ms
FROM unnest('{8,16,32,64}'::int[]) AS batch, unnest('{1,2,4}'::int[]) AS tp, unnest('{1,2}'::int[]) AS pp, unnest('{4,8}'::int[]) AS n WHERE n >= tp * pp;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, world_size, step_ms, parallel) SELECT :t, 'V100-SXM2-32GB', batch, n, step_ms, p FROM truth;
-- of a network without layers, tp is left out
INSERT INTO perfmodel.profile (graph_id, gpu, batch, world_size, step_ms, parallel) VALUES (:g, 'V100-SXM2-32GB', 8, 4, 5, '{"tp": 4}');
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT fitted_cluster, n_profiles, n_left_out, mape_before_pct BETWEEN 10 AND 30 AS before, mape_after_pct < 5 AS after FROM perfmodel.fit_cluster('dgx-2', predictor => 'roof');
SET client_min_messages = warning;
SELECT fitted_rows, cardinality(correction) BETWEEN 15 AND 393 AS size FROM perfmodel.cluster WHERE name = 'dgx-2 fitted';
-- the same with and without: near the measurements, and what is not corrected
INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra, inter, adapters, intra_factor, inter_factor, pair_factor, latency_factor, compute_factor, steal, straggler, contention,
                               contention_power, overlap, host_s_per_gb, comm_error, step_error, unseen_above, unseen_below, fitted_rows)
SELECT 'plain', NULL, gpus_per_node, intra, inter, adapters, intra_factor, inter_factor, pair_factor, latency_factor, compute_factor, steal, straggler, contention,
       contention_power, overlap, host_s_per_gb, comm_error, step_error, step_error, step_error, fitted_rows
FROM perfmodel.cluster WHERE name = 'dgx-2 fitted';
SELECT p ->> 'tp' AS tp, max(abs(pg_temp.step(batch, n, p, 'dgx-2 fitted') / step_ms - 1)) < 0.1 AS near, max(abs(pg_temp.step(batch, n, p, 'plain') / step_ms - 1)) < 0.1 AS near_without
FROM truth WHERE p ->> 'tp' <> '1' GROUP BY 1 ORDER BY 1;
SELECT bool_and(pg_temp.step(16, n, NULL, 'dgx-2 fitted') = pg_temp.step(16, n, NULL, 'plain')) AS data_parallel_as_before FROM unnest('{1,2,4,8,16}'::int[]) AS n;
SELECT bool_and(step_ms >= before) AS more_micro_batches_take_longer
FROM (SELECT pg_temp.step(16, 8, jsonb_build_object('tp', 4, 'pp', 2, 'micro_batches', m), 'dgx-2 fitted') AS step_ms,
             lag(pg_temp.step(16, 8, jsonb_build_object('tp', 4, 'pp', 2, 'micro_batches', m), 'dgx-2 fitted')) OVER (ORDER BY m) AS before FROM unnest('{1,2,4,8,16,64}'::int[]) AS m) AS s;
-- far from them nothing is corrected, the note says so, and the interval is as wide as without; near it is narrower
SELECT tp, substring(a.note FROM 'of [0-9]+ measurements on .*') AS note, helper.close(a.step_ms, b.step_ms, 0.01) AS same, helper.close(a.step_ms_high / a.step_ms_low, b.step_ms_high / b.step_ms_low, 0.02) AS as_wide,
       a.step_ms_high / a.step_ms_low < 0.98 * b.step_ms_high / b.step_ms_low AS narrower, a.step_ms_low <= a.step_ms AND a.step_ms <= a.step_ms_high AS around
FROM unnest('{4,16}'::int[]) AS tp,
     LATERAL perfmodel.predict(:t, 'V100-SXM2-32GB', 16, predictor => 'roof', world_size => tp, cluster => 'dgx-2 fitted', parallel => jsonb_build_object('tp', tp, 'micro_batches', 4)) AS a,
     LATERAL perfmodel.predict(:t, 'V100-SXM2-32GB', 16, predictor => 'roof', world_size => tp, cluster => 'plain', parallel => jsonb_build_object('tp', tp, 'micro_batches', 4)) AS b;
-- a fit to other steps, of which no correction was learned, says little of tp
CREATE FUNCTION pg_temp.high(cluster text) RETURNS float8 LANGUAGE sql AS $$SELECT step_ms_high FROM perfmodel.predict(perfmodel.graph_id('twelve layers'), 'V100-SXM2-32GB', 16, predictor => 'roof', world_size => 4,
    cluster => $1, parallel => '{"tp": 4, "micro_batches": 4}')$$;
CREATE TEMP TABLE seen AS SELECT c, pg_temp.high(c) AS high FROM unnest('{plain,dgx-2 fitted}'::text[]) AS c;
UPDATE perfmodel.cluster SET unseen_above = 2 WHERE name IN ('plain', 'dgx-2 fitted');
SELECT c, pg_temp.high(c) > 1.5 * high AS much_longer FROM seen ORDER BY c;
-- explained and on the curve it is the same step
SELECT helper.close(sum(e.step_ms), pg_temp.step(16, 4, '{"tp": 4, "micro_batches": 4}', 'dgx-2 fitted')) AS explained
FROM perfmodel.explain_train_time(:t, 'V100-SXM2-32GB', 16, predictor => 'roof', world_size => 4, cluster => 'dgx-2 fitted', parallel => '{"tp": 4, "micro_batches": 4}') AS e;
-- a correction that is not one
SAVEPOINT s;
UPDATE perfmodel.cluster SET correction[3] = 'NaN' WHERE name = 'dgx-2 fitted';
SELECT helper.error_of($$SELECT pg_temp.step(16, 4, '{"tp": 4}', 'dgx-2 fitted')$$);
ROLLBACK TO s;
SELECT helper.error_of($$UPDATE perfmodel.cluster SET correction = '{1,2,3}' WHERE name = 'dgx-2 fitted'$$) ~ 'cluster_correction_size' AS too_short;
SELECT helper.error_of($$UPDATE perfmodel.cluster SET correction = array_fill(1.0, ARRAY[400]) WHERE name = 'dgx-2 fitted'$$) ~ 'cluster_correction_size' AS too_long;
UPDATE perfmodel.cluster SET correction = array_fill(NULL::float8, ARRAY[15]) WHERE name = 'dgx-2 fitted';
SELECT helper.error_of($$SELECT pg_temp.step(16, 4, '{"tp": 4}', 'dgx-2 fitted')$$) ~ 'damaged' AS nulls;
-- columns that somebody has given another type are not read as numbers
SAVEPOINT s;
ALTER TABLE perfmodel.cluster ALTER COLUMN steal TYPE numeric;
SELECT helper.error_of($$SELECT pg_temp.step(16, 4, '{"tp": 4}', 'dgx-2 fitted')$$);
ROLLBACK TO s;
ALTER TABLE perfmodel.cluster ALTER COLUMN own_graphs TYPE integer[];
SELECT helper.error_of($$SELECT pg_temp.step(16, 4, '{"tp": 4}', 'dgx-2 fitted')$$);
ROLLBACK TO s;
ALTER TABLE perfmodel.cluster ALTER COLUMN name TYPE name;
SELECT helper.error_of($$SELECT pg_temp.step(16, 4, '{"tp": 4}', 'dgx-2 fitted')$$);
ROLLBACK TO s;
-- nor nulls where somebody has allowed them
ALTER TABLE perfmodel.cluster ALTER COLUMN intra DROP NOT NULL;
UPDATE perfmodel.cluster SET intra = NULL WHERE name = 'dgx-2 fitted';
SELECT helper.error_of($$SELECT pg_temp.step(16, 4, '{"tp": 4}', 'dgx-2 fitted')$$);
ROLLBACK TO s;
ALTER TABLE perfmodel.cluster DROP CONSTRAINT cluster_own_contention_of_graphs;
UPDATE perfmodel.cluster SET correction = NULL, own_graphs = NULL, own_contention = '{1.5,2,3}' WHERE name = 'dgx-2 fitted';
SELECT pg_temp.step(16, 4, '{"tp": 4}', 'dgx-2 fitted') = pg_temp.step(16, 4, '{"tp": 4}', 'plain') AS as_if_none;
ROLLBACK TO s;
UPDATE perfmodel.cluster SET correction = NULL WHERE name = 'dgx-2 fitted';
SELECT pg_temp.step(16, 4, '{"tp": 4}', 'dgx-2 fitted') = pg_temp.step(16, 4, '{"tp": 4}', 'plain') AS taken_off;
-- fitted in place, it is learned anew; from a handful nothing is
SELECT fitted_cluster FROM perfmodel.fit_cluster('dgx-2 fitted', predictor => 'roof');
SELECT correction IS NOT NULL AS learned FROM perfmodel.cluster WHERE name = 'dgx-2 fitted';
SELECT n_profiles FROM perfmodel.fit_cluster('dgx-2', 'few', (SELECT array_agg(profile_id) FROM (SELECT profile_id FROM perfmodel.profile WHERE graph_id = :t AND parallel ->> 'tp' = '4' ORDER BY 1 LIMIT 7) AS p), 'roof');
SELECT correction IS NULL AS nothing FROM perfmodel.cluster WHERE name = 'few';
-- what a measurement may say of how GPUs shared the work
SELECT p, n, helper.error_of(format('INSERT INTO perfmodel.profile (graph_id, gpu, batch, world_size, step_ms, parallel) VALUES (%s, ''T4'', 8, %s, 5, %L)', :t, n, p))
FROM (VALUES ('{"tp": 3}', 4), ('{"lanes": 2}', 4), ('[1]', 4), ('{"tp": "x"}', 4), ('{"accumulation": 0}', 4), ('{"tp": 2}', 1), ('{"zero": 3, "pp": 2}', 4), ('{"zero": 3, "tp": 2}', 4), ('null', 4), ('{"tp": 1e400}', 4), ('{"bucket_mb": 1e400}', 4), ('{"accumulation": 2, "micro_batches": 4}', 4), ('{"accumulation": null, "micro_batches": 0}', 4)) AS v (p, n);
ROLLBACK;
