-- Whether a predictor still holds: silent on measurements like those of its
-- training, loud when one card becomes slower; and what is not a question.
SET client_min_messages = warning;
SET timezone = 'UTC';
SET datestyle = 'ISO';
BEGIN;
DELETE FROM perfmodel.profile;
-- 60 networks on two cards, with errors of some percent that belong to the network
SELECT count(perfmodel.load_graph(helper.cnn(format('drift%s@%s', depth, width), width, depth)))
FROM generate_series(3, 12) AS depth, unnest('{24,40,56,72,88,104}'::int[]) AS width;
CREATE FUNCTION pg_temp.noise(key text) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    $$SELECT sum(('x' || left(md5(key || i), 7))::bit(28)::integer / 268435456.0::float8) - 2 FROM generate_series(1, 4) AS i$$;
CREATE FUNCTION pg_temp.measure(of boolean, t4 float8) RETURNS void LANGUAGE sql AS $$
    INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms, measured_at)
    SELECT g.graph_id, d.gpu, batch, 'pytorch 2.1',
           (0.05 * g.nodes + 3 * batch * f.flops / (d.tflops * 1e9)) * exp(0.05 * pg_temp.noise(g.name) + 0.01 * pg_temp.noise(g.name || d.gpu || batch)) * d.slow,
           '2026-03-01'::timestamptz + interval '1 hour' * row_number() OVER (ORDER BY g.graph_id, d.gpu, batch)
    FROM perfmodel.graph AS g, LATERAL (SELECT sum(flops_forward) AS flops FROM perfmodel.graph_node AS n WHERE n.graph_id = g.graph_id) AS f,
         (VALUES ('T4', 8.1 * 0.4, t4), ('RTX 3090', 35.6 * 0.5, 1)) AS d(gpu, tflops, slow), unnest('{8,64}'::int[]) AS batch
    WHERE g.name LIKE 'drift%' AND (('x' || left(md5(g.name), 7))::bit(28)::integer % 3 = 0) = of
    ORDER BY g.graph_id, d.gpu, batch
$$;
SELECT pg_temp.measure(false, 1);
SELECT perfmodel.train('judged', 'opclass') > 0 AS trained;
-- of other names, so that the test reads well
CREATE FUNCTION pg_temp.judge(name text) RETURNS TABLE (grouped_by text, group_name text, n int, networks int, bias numeric, error numeric, expected numeric,
    cover numeric, cover_low numeric, cover_high numeric, outside numeric, unknown numeric, evidence text, alarm_at float8, verdict text, advice text) LANGUAGE sql AS $$
    SELECT grouped_by, group_name, n, n_networks, round(bias_pct::numeric), round(mape_pct::numeric), round(expected_mape_pct::numeric),
           round(coverage_pct::numeric), round(coverage_low_pct::numeric), round(coverage_high_pct::numeric), round(out_of_domain_pct::numeric),
           round(unknown_operators_pct::numeric), CASE WHEN e_value >= alarm_at THEN 'alarm' ELSE 'none' END, alarm_at, verdict, advice
    FROM perfmodel.drift(name, by => '{gpu}')
$$;

-- nothing new: a row that says so, with no window; none of windows
SELECT * FROM pg_temp.judge('judged');
SELECT advice FROM perfmodel.drift('judged', since => '2026-03-01');
SELECT count(*) FROM perfmodel.drift('judged', slice => '1 day');

-- quiet, then one card slower by 15 %
SAVEPOINT quiet;
SELECT pg_temp.measure(true, 1);
SELECT * FROM pg_temp.judge('judged');
-- in windows: all evidence up to their ends
SELECT window_start, grouped_by, group_name, n, n_networks, verdict, e_value >= 1 AS evidence
FROM perfmodel.drift('judged', by => '{}', since => '2026-03-01', slice => '1 day');
SELECT count(*) AS from_the_first_row_on FROM perfmodel.drift('judged', by => '{}', since => '-infinity', slice => '1 day');
SELECT count(*), count(DISTINCT network), bool_and(rank_low < rank_high AND rank_low >= 0 AND rank_high <= 1),
       bool_and(low_ms < predicted_ms AND predicted_ms < high_ms), bool_and(expected_error BETWEEN 0.005 AND 0.2) FROM perfmodel.residuals('judged');
SELECT count(*) FROM perfmodel.residuals('judged', since => '2026-03-02');
-- a measurement between two intervals has the ranks that their levels leave: half of what is outside of each, above or below
SAVEPOINT ranks;
CREATE TEMP TABLE at_rank AS
WITH l AS (SELECT level, nr FROM unnest('{0.5,0.6,0.7,0.8,0.9,0.95,0.98,0.99}'::float8[]) WITH ORDINALITY AS u(level, nr)),
     e AS (SELECT l.*, p.step_ms_low, p.step_ms_high FROM (SELECT min(profile_id) AS profile_id FROM perfmodel.residuals('judged') WHERE gpu = 'T4') AS m JOIN perfmodel.profile AS q USING (profile_id),
           l, LATERAL perfmodel.predict(q.graph_id, q.gpu, q.batch, framework => q.framework, predictor => 'judged', level => l.level) AS p),
     g AS (SELECT nr, level, (step_ms_low + lead(step_ms_low, 1, 0.9 * step_ms_low) OVER w) / 2 AS below, (step_ms_high + lead(step_ms_high, 1, 1.1 * step_ms_high) OVER w) / 2 AS above,
                  lead(level, 1, 1) OVER w AS outer_level, lead(step_ms_high, 1, 2 * step_ms_high) OVER w > step_ms_high * 1.000001 AND lead(step_ms_low, 1, 0) OVER w < step_ms_low * 0.999999 AS apart FROM e WINDOW w AS (ORDER BY nr))
SELECT v.ms, round(v.low::numeric, 6) AS low, round(v.high::numeric, 6) AS high
FROM g, LATERAL (VALUES (above, 0.5 + level / 2, 0.5 + outer_level / 2), (below, 0.5 - outer_level / 2, 0.5 - level / 2)) AS v(ms, low, high) WHERE apart;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms, source)
SELECT q.graph_id, q.gpu, q.batch, q.framework, a.ms, 'at rank' FROM (SELECT min(profile_id) AS profile_id FROM perfmodel.residuals('judged') WHERE gpu = 'T4') AS m JOIN perfmodel.profile AS q USING (profile_id), at_rank AS a;
SELECT count(*) >= 10 AS ranks, bool_and(round(r.rank_low::numeric, 6) = a.low AND round(r.rank_high::numeric, 6) = a.high) AS as_the_levels
FROM perfmodel.residuals('judged') AS r JOIN perfmodel.profile AS p USING (profile_id) JOIN at_rank AS a ON a.ms = r.measured_ms WHERE p.source = 'at rank';
DROP TABLE at_rank;
ROLLBACK TO ranks;
-- the view asks the active predictor
SELECT perfmodel.activate_predictor('judged') > 0 AS activated;
SELECT grouped_by, group_name, measurements, networks, verdict FROM perfmodel.active_drift;
ROLLBACK TO quiet;
SELECT pg_temp.measure(true, 1.15);
SELECT * FROM pg_temp.judge('judged');
-- the advice helps: fitted to some of the new networks, it holds on the others
SELECT new_name FROM perfmodel.recalibrate('judged', (SELECT array_agg(profile_id) FROM perfmodel.residuals('judged') WHERE gpu = 'T4' AND network % 2 = 0));
SELECT grouped_by, group_name, verdict FROM pg_temp.judge('judged recalibrated');
-- late rows, of networks that are known: one bet each
SELECT n_networks, e_value >= e_value_now AS largest FROM perfmodel.drift_evidence('{1,2,1,2,1,3}', '{0.9,0.9,0.9,0.9,0.9,0.9}', '{1,1,1,1,1,1}');
ROLLBACK TO quiet;

-- a third of the networks 60 % slower: no bias to take away, and the median says nothing
SELECT pg_temp.measure(true, 1);
UPDATE perfmodel.profile AS p SET step_ms = 1.6 * step_ms FROM perfmodel.residuals('judged') AS r, perfmodel.graph AS g
WHERE r.profile_id = p.profile_id AND g.graph_id = p.graph_id AND left(md5('late ' || g.name), 1) < '5';
SELECT grouped_by, group_name, n, networks, bias, error, expected, verdict, advice FROM pg_temp.judge('judged');
ROLLBACK TO quiet;

-- networks that are unlike those of the training
SELECT count(perfmodel.load_graph(helper.cnn(format('driftwide%s@%s', depth, width), width, depth, 256)))
FROM generate_series(3, 5) AS depth, unnest('{512,768}'::int[]) AS width;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms) SELECT graph_id, 'T4', 64, 'pytorch 2.1', 1000 FROM perfmodel.graph WHERE name LIKE 'driftwide%';
SELECT grouped_by, n, outside, verdict, advice FROM pg_temp.judge('judged');
ROLLBACK TO quiet;
-- known networks on a card that is new to the predictor: recalibrate, which takes the card into the domain
CREATE FUNCTION pg_temp.move(gpus text[], networks int) RETURNS void LANGUAGE sql AS $$
    INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms)
    SELECT p.graph_id, g.gpu, p.batch, p.framework, 0.6 * p.step_ms FROM (SELECT p.*, dense_rank() OVER (ORDER BY graph_id) AS k FROM perfmodel.profile AS p WHERE gpu = 'T4') AS p,
         unnest(gpus) AS g(gpu) WHERE k <= networks $$;
SAVEPOINT known;
SELECT pg_temp.move('{A10}', 12);
SELECT grouped_by, n, networks, outside, verdict, advice FROM pg_temp.judge('judged');
SELECT new_name FROM perfmodel.recalibrate('judged', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'A10' AND graph_id % 2 = 0));
SELECT grouped_by, outside, verdict <> 'new_inputs' AS known FROM pg_temp.judge('judged recalibrated');
ROLLBACK TO known;
-- too few of them to judge afterwards
SELECT pg_temp.move('{A10}', 4);
SELECT grouped_by, networks, outside, verdict, advice FROM pg_temp.judge('judged');
ROLLBACK TO known;
-- beside one with enough: overall does not advise to recalibrate on a card where its own row says to collect first
SELECT pg_temp.move('{A10}', 8), pg_temp.move('{A30}', 4);
SELECT grouped_by, group_name, advice FROM pg_temp.judge('judged');
ROLLBACK TO known;
-- a card that is known from a few networks is not new
SELECT pg_temp.move('{A10,A30}', 2);
SELECT new_name FROM perfmodel.recalibrate('judged', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'A10'), 'knows little');
SELECT pg_temp.move('{A10}', 7);
SELECT grouped_by, group_name, advice FROM pg_temp.judge('knows little');
SELECT pg_temp.move('{A30}', 7);
SELECT grouped_by, group_name, advice FROM pg_temp.judge('knows little');
ROLLBACK TO known;
-- several cards; and networks that are new, too, are what counts
SELECT pg_temp.move('{A10,L4,A30,A40}', 8);
SELECT grouped_by, group_name, verdict, advice FROM pg_temp.judge('judged');
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms) SELECT perfmodel.load_graph(helper.cnn(format('driftnew%s@%s', depth, width), width, depth, 256)), 'A10', 64, 'pytorch 2.1', 1000
FROM generate_series(3, 8) AS depth, unnest('{512,768}'::int[]) AS width;
SELECT grouped_by, group_name, verdict, advice FROM pg_temp.judge('judged') WHERE grouped_by = 'overall' OR group_name = 'A10';
ROLLBACK TO known;
-- a known card, used in another way
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms, dtype) SELECT graph_id, gpu, batch, framework, 0.5 * step_ms, 'amp' FROM perfmodel.profile WHERE gpu = 'T4' AND batch = 64;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms) SELECT graph_id, gpu, 512, framework, 8 * step_ms FROM perfmodel.profile WHERE gpu = 'T4' AND batch = 64 AND dtype = 'fp32';
SELECT grouped_by, group_name, verdict, advice FROM pg_temp.judge('judged');
ROLLBACK TO known;
-- a predictor without intervals has nothing to be held to
SELECT perfmodel.train('without', 'opclass', options => '{"calibration_folds": 0}', profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE batch = 64 AND step_ms <> 1000)) > 0 AS trained;
SELECT grouped_by, group_name, cover, evidence, verdict, advice FROM pg_temp.judge('without') WHERE grouped_by = 'overall';
ROLLBACK TO quiet;

-- bounds: known ones, and fractions
SELECT round(low::numeric, 4) AS low, round(high::numeric, 4) AS high FROM perfmodel.proportion_bounds(9, 10);
SELECT round(low::numeric, 4) AS low, round(high::numeric, 4) AS high FROM perfmodel.proportion_bounds(10, 10, 0.95);
SELECT round(low::numeric, 4) AS low, round(high::numeric, 4) AS high FROM perfmodel.proportion_bounds(8.5, 10);
SELECT perfmodel.proportion_bounds(NULL, 10) IS NULL AS nothing;
SELECT * FROM perfmodel.drift_evidence('{}', '{}', '{}');
SELECT kind, e_value > 1000 AS strong FROM perfmodel.drift_evidence((SELECT array_agg(i) FROM generate_series(1, 20) AS i), array_fill(0.975::float8, '{20}'), array_fill(1::float8, '{20}'));

-- what is not a question
SELECT regexp_replace(helper.error_of(statement), 'There (is|are) \d+', 'There are some') AS error_of FROM (VALUES
    ($$SELECT perfmodel.drift('judged', by => '{gpu,colour}')$$), ($$SELECT perfmodel.drift('judged', by => NULL)$$), ($$SELECT perfmodel.drift('judged', by => '{{gpu},{dtype}}')$$),
    ($$SELECT perfmodel.drift('judged', by => '{NULL}')$$), ($$SELECT perfmodel.drift('judged', slice => '0')$$), ($$SELECT perfmodel.drift('judged', slice => '1 month')$$),
    ($$SELECT perfmodel.drift('judged', slice => '2147483647 days')$$),
    ($$SELECT perfmodel.drift('no such')$$), ($$SELECT perfmodel.drift_evidence('{1}', '{0.5}', '{0.5,0.6}')$$),
    ($$SELECT perfmodel.drift_evidence('{1,NULL}', '{0.5,0.5}', '{0.5,0.6}')$$), ($$SELECT perfmodel.drift_evidence('{1}', '{0.7}', '{0.6}')$$),
    ($$SELECT perfmodel.drift_evidence('{1}', '{NaN}', '{0.6}')$$), ($$SELECT perfmodel.proportion_bounds(2, 1)$$),
    ($$SELECT perfmodel.proportion_bounds(0, 0)$$), ($$SELECT perfmodel.proportion_bounds('NaN', 1)$$), ($$SELECT perfmodel.proportion_bounds(1, 1, 1)$$)) AS v(statement);
-- also while nothing was measured
DELETE FROM perfmodel.profile;
SELECT regexp_replace(helper.error_of(statement), '\d+;', 'some;') FROM (VALUES ($$SELECT perfmodel.drift('no such')$$), ($$SELECT perfmodel.compare_predictors('no such', 'nobody')$$)) AS v(statement);
ROLLBACK;
