-- Where the time goes.
SELECT perfmodel.graph_id('dnet7@32') AS g \gset
SELECT p.name, helper.close(sum(e.step_ms), perfmodel.predict_train_time(:g, 'T4', 16, predictor => p.name)) AS sums_to_prediction,
       helper.close(sum(e.share), 1) AS shares_sum_to_1, bool_and(e.step_ms >= 0) OR p.kind = 'linear' AS not_negative,
       count(*) FILTER (WHERE e.node_id IS NULL) <= 1 AS at_most_one_rest
FROM perfmodel.predictor p, perfmodel.explain_train_time(:g, 'T4', 16, predictor => p.name) e
GROUP BY p.name, p.kind ORDER BY p.name;
-- so it does to 1e-6 for every kind there is, and so do its phases where the kind knows them
SET client_min_messages = warning;
CREATE TEMP TABLE every AS SELECT DISTINCT kind FROM perfmodel.kinds();
SELECT count(perfmodel.train('every ' || kind, kind, options => CASE WHEN kind IN (SELECT kind FROM perfmodel.kinds() WHERE option = 'epochs')
       THEN '{"epochs": 2}' ELSE '{}' END::jsonb)) = count(*) AS trained FROM every;
SELECT kind, abs(sum(step_ms) / perfmodel.predict_train_time(:g, 'T4', 16, predictor => 'every ' || kind) - 1) < 1e-6 AS sums_to_prediction,
       count(*) = count(share) AS shares, count(node_id) = count(class) AND count(node_id) = count(copies) AS described,
       bool_and(forward_ms IS NULL OR abs(forward_ms + backward_ms + update_ms - step_ms) <= 1e-6 * step_ms) AS phases_sum_to_step,
       count(forward_ms) = count(backward_ms) AND count(forward_ms) = count(update_ms) AS all_or_none
FROM every, perfmodel.explain_train_time(:g, 'T4', 16, predictor => 'every ' || kind) GROUP BY kind ORDER BY kind;
SELECT count(perfmodel.drop_predictor('every ' || kind)) = count(*) AS dropped FROM every;
-- operators that are alike are one row, with their shapes at this batch
SELECT op, class, shape, copies, share BETWEEN 0 AND 1 AS share, bound IN ('compute', 'memory', 'launch') AS bound
FROM perfmodel.explain_train_time(:g, 'T4', 16, predictor => 'small') WHERE node_id IS NOT NULL ORDER BY node_id;
-- NULLs and errors
SELECT count(*) FROM perfmodel.explain_train_time(NULL, 'T4', 16);
SELECT helper.error_of($$SELECT * FROM perfmodel.explain_train_time(-1, 'T4', 16)$$);
-- composes
SELECT count(DISTINCT graph_id) FROM perfmodel.graph, LATERAL perfmodel.explain_train_time(graph_id, 'T4', 16, predictor => 'roof')
WHERE family ~ 'net';
-- a row for each operator: the same in sum, each operator once, with its module where the document says it
SELECT p.name, helper.close(sum(n.step_ms), perfmodel.predict_train_time(:g, 'T4', 16, predictor => p.name)) AS sums_to_prediction,
       count(n.node_id) = count(DISTINCT n.node_id) AS once, max(n.copies) AS copies,
       count(n.node_id) = (SELECT sum(copies) FROM perfmodel.explain_train_time(:g, 'T4', 16, predictor => p.name)) AS as_many
FROM perfmodel.predictor AS p, perfmodel.explain_train_time(:g, 'T4', 16, predictor => p.name, per => 'node') AS n GROUP BY p.name ORDER BY p.name;
SELECT perfmodel.load_graph(jsonb_set(jsonb_set(helper.cnn('modules', 16, 2), '{nodes,1,module}', '"stem.conv"'), '{nodes,4,module}', '"body.conv"')) AS m \gset
SELECT part, op, module FROM perfmodel.explain_train_time(:m, 'T4', 16, predictor => 'small', per => 'node') WHERE module IS NOT NULL OR node_id IS NULL ORDER BY node_id;
DELETE FROM perfmodel.graph WHERE graph_id = :m;
SELECT helper.error_of(format('SELECT * FROM perfmodel.explain_train_time(%s, ''T4'', 16, per => ''layer'')', :g));
