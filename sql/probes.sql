-- Which steps to measure on a card that is little known.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.train('probed', 'opclass', options => '{"calibration_folds": 0}') > 0 AS trained;
-- what a step says: launches, the rest and the device are all of it
SELECT s.step_ms = perfmodel.predict_train_time(g.graph_id, 'A40', 8, predictor => 'probed') AS the_same, cardinality(s.elements) = cardinality(s.sensitivity) AS one_each,
       s.elements[1:4] AS first, abs(s.sensitivity[1] + s.sensitivity[2] + s.sensitivity[3] - 1) < 0.01 AS all_of_it
FROM perfmodel.graph AS g, perfmodel.step_sensitivity(g.graph_id, 'A40', 8, predictor => 'probed') AS s WHERE g.name = 'anet4@16';
-- as many as asked for, each network once, each leaving less doubt
CREATE TEMPORARY TABLE probe AS SELECT * FROM perfmodel.suggest_probes('a40', 4, '{8,64}', predictor => 'probed');
SELECT array_agg(rank ORDER BY rank) AS ranks, count(DISTINCT structure) AS networks, bool_and(probe.batch IN (8, 64)) AS batches, bool_and(step_ms > 0) AS steps,
       bool_and(doubt_after_pct < doubt_before_pct AND doubt_after_pct > 0) AS less FROM probe JOIN perfmodel.graph USING (graph_id);
SELECT bool_and(p.doubt_after_pct = q.doubt_before_pct) AS continued FROM probe AS p JOIN probe AS q ON q.rank = p.rank + 1;
-- what has been measured is not proposed, and the doubt goes on from there
BEGIN;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, step_ms) SELECT graph_id, 'A40', batch, 'fp32', 1.3 * step_ms FROM probe WHERE rank <= 2;
-- nor does a step in another format say anything of this one
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, step_ms) SELECT graph_id, 'A40', batch, 'amp', step_ms FROM probe WHERE rank = 3;
SELECT count(*) FILTER (WHERE s.graph_id IN (SELECT graph_id FROM probe WHERE rank <= 2)) AS again,
       min(s.graph_id) FILTER (WHERE s.rank = 1) = (SELECT graph_id FROM probe WHERE rank = 3) AS the_third,
       abs(max(s.doubt_before_pct) - (SELECT doubt_after_pct FROM probe WHERE rank = 2)) < 1e-9 AS goes_on
FROM perfmodel.suggest_probes('A40', 2, '{8,64}', predictor => 'probed') AS s;
DELETE FROM perfmodel.profile WHERE gpu = 'A40' AND dtype = 'amp';
-- nor at another batch than those that are asked for
UPDATE perfmodel.profile SET batch = 24 WHERE gpu = 'A40' AND graph_id = (SELECT graph_id FROM probe WHERE rank = 1);
SELECT count(*) FILTER (WHERE s.graph_id IN (SELECT graph_id FROM probe WHERE rank <= 2)) AS again, count(*) FILTER (WHERE s.batch = 24) AS at_that_batch,
       max(s.doubt_before_pct) < (SELECT doubt_after_pct FROM probe WHERE rank = 1) AS counts
FROM perfmodel.suggest_probes('A40', 1000, '{8,64}', predictor => 'probed') AS s;
-- recalibrating on them is what they are for
SELECT (perfmodel.recalibrate('probed', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'A40'), 'probed A40')).n_networks;
-- and the factors that it found can be seen, those of this card alone
SELECT count(*) > 5 AS some, bool_and(gpu = 'A40') AS of_it, bool_and(factor > 0.3 AND factor < 3) AS factors, bool_or(element = 'launches') AS launches,
       bool_and(length(factor::text) <= 7) AS short,
       (SELECT count(*) FROM perfmodel.card_factors('probed')) AS before FROM perfmodel.card_factors('probed A40');
ROLLBACK;
-- a graph that cannot be read is none to measure; one that is named is an error
BEGIN;
INSERT INTO perfmodel.graph (name, model, family, source, nodes, params, unknown_ops, structure, doc) VALUES ('unreadable', 'm', 'f', 's', 1, 1, 0, '0000000000000000', '{}') RETURNING graph_id AS unreadable \gset
SELECT array_agg(s.graph_id ORDER BY s.rank) = (SELECT array_agg(graph_id ORDER BY rank) FROM probe) AS as_before FROM perfmodel.suggest_probes('a40', 4, '{8,64}', predictor => 'probed') AS s;
SELECT regexp_replace(helper.error_of(format('SELECT perfmodel.suggest_probes(''a40'', predictor => ''probed'', graphs => ''{%s,%s}'')', perfmodel.graph_id('anet4@16'), :unreadable)), 'graph \d+', 'graph N');
ROLLBACK;
-- a card that is known leaves less doubt; a selection of graphs; more than there are
SELECT k.doubt_before_pct < u.doubt_before_pct / 3 AS known_less FROM perfmodel.choose_probes(array_fill(1::float8, ARRAY[132]), '{1}', '{1}', '{f}', 20) AS k,
       perfmodel.choose_probes(array_fill(1::float8, ARRAY[132]), '{1}', '{1}', '{f}') AS u;
SELECT count(*), bool_and(s.graph LIKE 'anet%') AS chosen FROM perfmodel.suggest_probes('A40', 1000, '{8}', predictor => 'probed', graphs => (SELECT array_agg(graph_id)
       FROM (SELECT graph_id FROM perfmodel.graph WHERE name LIKE 'anet%' ORDER BY name LIMIT 3) AS g)) AS s;
-- what does not fit is not proposed
SELECT count(*) FROM perfmodel.suggest_probes('A40', 3, '{16777216}', predictor => 'probed');
SELECT (SELECT count(*) FROM perfmodel.suggest_probes(NULL)) AS no_gpu, (SELECT count(*) FROM perfmodel.suggest_probes('A40', graphs => NULL)) AS null_graphs,
       (SELECT count(*) FROM perfmodel.suggest_probes('A40', predictor => 'probed', graphs => '{}')) AS no_graphs;
-- what is refused
SELECT perfmodel.train('of sums', 'linear') > 0 AS trained;
SELECT helper.error_of(q) FROM unnest(ARRAY['SELECT perfmodel.suggest_probes(''A41'')', 'SELECT perfmodel.suggest_probes(''A40'', 0, predictor => ''probed'')',
    'SELECT perfmodel.suggest_probes(''A40'', predictor => ''of sums'')', 'SELECT perfmodel.suggest_probes(''A40'', predictor => ''nobody'')',
    'SELECT perfmodel.suggest_probes(''A40'', batches => ''{0}'', predictor => ''probed'')',
    'SELECT perfmodel.choose_probes(''{1}'', ''{1}'', ''{1}'', ''{f}'')', 'SELECT perfmodel.choose_probes(''{}'', ''{1}'', ''{1}'', ''{f}'')',
    'SELECT perfmodel.choose_probes(array_fill(1::float8, ARRAY[132,2]), ''{1,1}'', ''{1,2}'', ''{f,f}'')',
    'SELECT perfmodel.choose_probes(array_fill(''nan''::float8, ARRAY[132]), ''{1}'', ''{1}'', ''{f}'')',
    'SELECT perfmodel.choose_probes(array_fill(1::float8, ARRAY[132]), ''{0}'', ''{1}'', ''{f}'')',
    'SELECT perfmodel.choose_probes(array_fill(1::float8, ARRAY[132]), ''{1}'', ''{null}'', ''{f}'')',
    'SELECT perfmodel.choose_probes(array_fill(1::float8, ARRAY[132]), ''{1}'', ''{1}'', ''{f}'', -1)']) AS q;
SELECT step, doubt_after_pct < doubt_before_pct AS less FROM perfmodel.choose_probes(array_fill(1::float8, ARRAY[132]), '{1}', '{1}', '{f}');
SELECT count(*) FROM perfmodel.choose_probes('{}', '{}', '{}', '{}');
SELECT count(perfmodel.drop_predictor(n)) FROM unnest('{probed,of sums}'::text[]) AS n;
