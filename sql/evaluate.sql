-- Errors of predictors, against the same figures in SQL.
SET client_min_messages = warning;
CREATE TEMP TABLE p AS SELECT gpu, step_ms AS measured, perfmodel.predict_train_time(graph_id, gpu, batch, dtype, layout, framework, 'roof') AS predicted
FROM perfmodel.profile;
SELECT grouped_by, group_name, n FROM perfmodel.evaluate('roof') ORDER BY grouped_by, group_name;
SELECT e.group_name, e.n = s.n AS n, helper.close(mape_pct, s.mape) AS mape, helper.close(median_ape_pct, s.median) AS median,
       helper.close(p90_ape_pct, s.p90) AS p90, helper.close(mae_ms, s.mae) AS mae, helper.close(rmse_ms, s.rmse) AS rmse,
       helper.close(within_10_pct, s.within_10) AS within_10, helper.close(bias_pct, s.bias, 1e-5) AS bias
FROM perfmodel.evaluate('roof') e,
LATERAL (SELECT count(*) AS n, 100 * avg(abs(predicted - measured) / measured) AS mape,
    100 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(predicted - measured) / measured) AS median,
    100 * percentile_cont(0.9) WITHIN GROUP (ORDER BY abs(predicted - measured) / measured) AS p90,
    avg(abs(predicted - measured)) AS mae, sqrt(avg((predicted - measured) ^ 2)) AS rmse,
    100 * avg((abs(predicted - measured) / measured <= 0.1)::int) AS within_10,
    100 * avg((predicted - measured) / measured) AS bias
    FROM p WHERE e.group_name IS NULL OR gpu = e.group_name) s
WHERE grouped_by IN ('overall', 'gpu') ORDER BY grouped_by, group_name;
-- intervals and domain, against the same figures from predict()
CREATE TEMP TABLE t AS SELECT p.gpu, p.step_ms AS measured, q.* FROM perfmodel.profile p,
    LATERAL perfmodel.predict(graph_id, gpu, batch, dtype, layout, framework, 'roof') AS q(predicted);
SELECT e.group_name, helper.close(coverage_pct, s.coverage) AS coverage, helper.close(interval_width_pct, s.width) AS width,
       helper.close(in_domain_pct, s.inside) AS inside, helper.close(mape_in_domain_pct, s.mape) AS mape, mape_out_of_domain_pct AS out
FROM perfmodel.evaluate('roof') e,
LATERAL (SELECT 100 * avg((measured BETWEEN step_ms_low AND step_ms_high)::int) AS coverage,
    100 * avg((step_ms_high - step_ms_low) / predicted) AS width, 100 * avg(in_domain::int) AS inside,
    100 * avg(abs(predicted - measured) / measured) AS mape
    FROM t WHERE e.group_name IS NULL OR gpu = e.group_name) s
WHERE grouped_by IN ('overall', 'gpu') ORDER BY grouped_by, group_name;
WITH new AS (
    INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, step_ms)
    SELECT graph_id, gpu, batch, 'amp', step_ms / 2 FROM perfmodel.profile WHERE gpu = 'T4' AND batch = 8 RETURNING profile_id)
SELECT array_agg(profile_id) AS amp FROM new \gset
SELECT n > 0 AS rows, in_domain_pct, mape_in_domain_pct, mape_out_of_domain_pct = mape_pct AS out
FROM perfmodel.evaluate('roof', :'amp') WHERE grouped_by = 'overall';
DELETE FROM perfmodel.profile WHERE profile_id = ANY (:'amp');

-- the active one by default; chosen rows
SELECT (SELECT mape_pct FROM perfmodel.evaluate() WHERE grouped_by = 'overall')
     = (SELECT mape_pct FROM perfmodel.evaluate('line') WHERE grouped_by = 'overall') AS active;
SELECT n FROM perfmodel.evaluate('line', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'T4')) WHERE grouped_by = 'overall';

-- cross-validation: every row is tested once, folds are not empty, nothing is stored
CREATE TEMP TABLE r AS SELECT split, c.* FROM (VALUES ('structure'), ('family'), ('far'), ('batch'), ('gpu')) AS s(split),
    LATERAL perfmodel.cross_validate('linear', folds => 4, split => s.split) c;
SELECT split, sum(n) FILTER (WHERE grouped_by = 'overall') AS tested, count(*) FILTER (WHERE grouped_by = 'fold') AS folds,
       sum(n) FILTER (WHERE grouped_by = 'fold') AS in_folds,
       bool_and(mape_pct < 1000 AND rmse_ms >= mae_ms * (1 - 1e-9)) AS sane
FROM r GROUP BY split ORDER BY split;
SELECT split, coverage_pct BETWEEN CASE split WHEN 'structure' THEN 50 ELSE 0 END AND 100 AS coverage, interval_width_pct > 0 AS width, in_domain_pct, mape_in_domain_pct IS NOT NULL AS inside,
       mape_out_of_domain_pct IS NOT NULL AS outside, train_s > 0 AS train, predict_us BETWEEN 0.1 AND 1e6 AS predict
FROM r WHERE grouped_by = 'overall' ORDER BY split;
SELECT count(*) AS costs_elsewhere FROM r WHERE grouped_by <> 'overall' AND (train_s IS NOT NULL OR predict_us IS NOT NULL);
SELECT coverage_pct, interval_width_pct, in_domain_pct IS NOT NULL AS inside
FROM perfmodel.cross_validate('linear', folds => 2, options => '{"calibration_folds": 1}') WHERE grouped_by = 'overall';
SELECT mape_pct > 0 AS tested FROM perfmodel.cross_validate('mdot', folds => 2,
    options => '{"epochs":2,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8}') WHERE grouped_by = 'overall';
SELECT count(*) AS predictors FROM perfmodel.predictor;

-- no measurements are not all measurements
SELECT count(*) AS rows FROM perfmodel.evaluate('roof', NULL);
SELECT count(*) AS rows FROM perfmodel.evaluate('roof', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE false));
SELECT count(*) AS rows FROM perfmodel.evaluate('roof', '{}');
SELECT a.n = b.n AS all_of_them FROM perfmodel.evaluate('roof') AS a, perfmodel.evaluate('roof', perfmodel.all_profiles()) AS b
WHERE a.grouped_by = 'overall' AND b.grouped_by = 'overall';
SELECT f, none, helper.error_of(format('SELECT * FROM perfmodel.%s(%s profiles => %s)', f, args, none)) AS error
FROM (VALUES ('train', '''nothing'','), ('train_async', '''nothing'','), ('cross_validate', ''), ('leaderboard', ''), ('estimate_training', ''), ('recalibrate', '''roof'',')) AS c(f, args),
     unnest('{"(SELECT array_agg(profile_id) FROM perfmodel.profile WHERE false)","''{}''"}'::text[]) AS none;
-- quantities
SELECT count(*) > 0 AS answered FROM perfmodel.evaluate('roof', quantity => 'step_ms');
SELECT f, helper.error_of(format('SELECT * FROM perfmodel.%s(quantity => ''peak_memory_mb'')', f)) AS error FROM unnest('{evaluate,cross_validate,leaderboard}'::text[]) AS f;
SELECT DISTINCT quantity FROM perfmodel.predictor;
-- for people: rounded
SELECT name, kind, active, measurements > 0 AS measurements, gpus, error_pct = round(error_pct, 1) AS rounded, origin FROM perfmodel.predictors WHERE name IN ('line', 'roof', 'small') ORDER BY name;
SELECT a.measurements = e.n AS n, a.error_pct = round(e.mape_pct::numeric, 1) AS error, a.within_10_pct BETWEEN 0 AND 100 AS share
FROM perfmodel.active_errors AS a JOIN perfmodel.evaluate() AS e USING (grouped_by) WHERE grouped_by = 'overall';
-- in percent, the active ones first and then the newest; and each figure is that of its name
SELECT bool_and(v.error_pct IS NOT DISTINCT FROM round((100 * p.valid_mape)::numeric, 1)) AS percent,
       (SELECT array_agg(name) FROM perfmodel.predictors) = array_agg(p.name ORDER BY p.active DESC, p.trained_at DESC, p.name) AS in_order FROM perfmodel.predictors AS v JOIN perfmodel.predictor AS p USING (name);
SELECT bool_and(a.within_10_pct IS NOT DISTINCT FROM round(e.within_10_pct::numeric) AND a.coverage_pct IS NOT DISTINCT FROM round(e.coverage_pct::numeric)) AS the_same, bool_or(a.within_10_pct <> a.coverage_pct) AS differ
FROM perfmodel.active_errors AS a JOIN perfmodel.evaluate() AS e ON e.grouped_by = a.grouped_by AND e.group_name IS NOT DISTINCT FROM a.group_name;
-- without measurements the view is empty, where evaluate() is an error
BEGIN;
DELETE FROM perfmodel.profile;
SELECT count(*) FROM perfmodel.active_errors;
ROLLBACK;
