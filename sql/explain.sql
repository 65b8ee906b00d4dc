-- Where the time goes.
SELECT perfmodel.graph_id('dnet7@32') AS g \gset
SELECT p.name, helper.close(sum(e.step_ms), perfmodel.predict_train_time(:g, 'T4', 16, predictor => p.name)) AS sums_to_prediction,
       helper.close(sum(e.share), 1) AS shares_sum_to_1, bool_and(e.step_ms >= 0) OR p.kind = 'linear' AS not_negative,
       count(*) FILTER (WHERE e.node_id IS NULL) <= 1 AS at_most_one_rest
FROM perfmodel.predictor p, perfmodel.explain_train_time(:g, 'T4', 16, predictor => p.name) e
GROUP BY p.name, p.kind ORDER BY p.name;
-- operators that are alike are one row, with their shapes at this batch
SELECT op, class, shape, copies, share BETWEEN 0 AND 1 AS share, bound IN ('compute', 'memory', 'launch') AS bound
FROM perfmodel.explain_train_time(:g, 'T4', 16, predictor => 'small') WHERE node_id IS NOT NULL ORDER BY node_id;
-- NULLs and errors
SELECT count(*) FROM perfmodel.explain_train_time(NULL, 'T4', 16);
SELECT helper.error_of($$SELECT * FROM perfmodel.explain_train_time(-1, 'T4', 16)$$);
-- composes
SELECT count(DISTINCT graph_id) FROM perfmodel.graph, LATERAL perfmodel.explain_train_time(graph_id, 'T4', 16, predictor => 'roof')
WHERE family ~ 'net';
