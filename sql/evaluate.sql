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
-- the active one by default; chosen rows
SELECT (SELECT mape_pct FROM perfmodel.evaluate() WHERE grouped_by = 'overall')
     = (SELECT mape_pct FROM perfmodel.evaluate('line') WHERE grouped_by = 'overall') AS active;
SELECT n FROM perfmodel.evaluate('line', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'T4')) WHERE grouped_by = 'overall';
SELECT helper.error_of($$SELECT * FROM perfmodel.evaluate('line', '{}')$$);

-- cross-validation: every row is tested once, folds are not empty, nothing is stored
CREATE TEMP TABLE r AS SELECT split, c.* FROM (VALUES ('structure'), ('family'), ('batch'), ('gpu')) AS s(split),
    LATERAL perfmodel.cross_validate('linear', folds => 4, split => s.split) c;
SELECT split, sum(n) FILTER (WHERE grouped_by = 'overall') AS tested, count(*) FILTER (WHERE grouped_by = 'fold') AS folds,
       sum(n) FILTER (WHERE grouped_by = 'fold') AS in_folds,
       bool_and(mape_pct < 1000 AND rmse_ms >= mae_ms * (1 - 1e-9)) AS sane
FROM r GROUP BY split ORDER BY split;
SELECT mape_pct > 0 AS tested FROM perfmodel.cross_validate('mdot', folds => 2,
    options => '{"epochs":2,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8}') WHERE grouped_by = 'overall';
SELECT count(*) AS predictors FROM perfmodel.predictor;
