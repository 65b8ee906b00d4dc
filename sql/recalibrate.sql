-- A few numbers per device that fit a predictor to new measurements.
\pset format unaligned
SET client_min_messages = warning;
-- a predictor of T4 alone; then a cluster whose T4 are slower, and RTX 3090 that it has never seen
SELECT array_agg(profile_id ORDER BY profile_id) AS t4 FROM perfmodel.profile WHERE gpu = 'T4' AND dtype = 'fp32' AND layout = 'nchw' \gset
SELECT perfmodel.train('cluster', 'opclass', :'t4') > 0 AS trained;
BEGIN;
DELETE FROM perfmodel.profile WHERE gpu <> 'T4' OR profile_id <> ALL (:'t4');
-- there is nothing that it was not trained on
SELECT helper.error_of($$SELECT perfmodel.recalibrate('cluster')$$);
SELECT count(*) FROM perfmodel.corrections('cluster');
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, framework, step_ms)
SELECT graph_id, 'T4', batch, dtype, framework, 1.3 * step_ms FROM perfmodel.profile WHERE gpu = 'T4' AND profile_id = ANY (:'t4');
SELECT predictor_id > 0 AS id, new_name, n_profiles, n_trained_on, n_networks, mape_before_pct BETWEEN 15 AND 40 AS before,
       mape_after_pct < mape_before_pct AS better, mae_after_ms < mae_before_ms AS better_ms, seconds < 5 AS seconds
FROM perfmodel.recalibrate('cluster');
SELECT gpu, dtype, layout, n_profiles, n_networks, factor BETWEEN 1.2 AND 1.4 AS factor, exponent BETWEEN 0.8 AND 1.2 AS exponent, at_ms > 0 AS at
FROM perfmodel.corrections('cluster recalibrated');
-- every prediction of the device follows, also in formats that were not measured, and none of another device
SELECT gpu, dtype, batch, bool_and(r.ms / b.ms BETWEEN 1.15 AND 1.5) AS corrected, bool_and(r.ms = b.ms) AS the_same
FROM (VALUES ('T4', 'fp32', 8), ('T4', 'fp32', 64), ('T4', 'amp', 8), ('RTX 3090', 'fp32', 8)) AS v(gpu, dtype, batch), perfmodel.graph g,
     perfmodel.predict_train_time(g.graph_id, gpu, batch, dtype, predictor => 'cluster') b(ms),
     perfmodel.predict_train_time(g.graph_id, gpu, batch, dtype, predictor => 'cluster recalibrated') r(ms)
WHERE g.name LIKE '_net%' GROUP BY gpu, dtype, batch ORDER BY gpu, dtype, batch;
SELECT helper.close(sum(e.step_ms), perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'cluster recalibrated')) AS explained
FROM perfmodel.explain_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'cluster recalibrated') e;
-- its row: what it comes from, what it was fitted to; it is not the active one
SELECT r.kind, r.active, r.base_predictor_id = b.predictor_id AS base, r.profiles = b.profiles AS profiles, cardinality(r.recalibrated_on) AS recalibrated_on,
       r.options = b.options AS options, r.n_params - b.n_params AS numbers, r.valid_n, r.valid_mape < 0.2 AS error, r.epochs, r.gpus, r.base_predictor_id IS NULL AS none
FROM perfmodel.predictor r, perfmodel.predictor b WHERE r.name = 'cluster recalibrated' AND b.name = 'cluster';
SELECT predictor, kind, background, status, phase, n_profiles, epoch, message FROM perfmodel.training_status WHERE predictor LIKE 'cluster r%';
-- a name of a device that is no UTF-8, in a stored predictor that somebody has made up
SAVEPOINT made_up;
CREATE FUNCTION helper.crc32c(b bytea) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    c bigint := 4294967295;
    t bigint[] := ARRAY(WITH RECURSIVE s(i, n, x) AS (SELECT i, 0, i::bigint FROM generate_series(0, 255) AS i
                        UNION ALL SELECT i, n + 1, CASE x & 1 WHEN 1 THEN x >> 1 # 2197175160 ELSE x >> 1 END FROM s WHERE n < 8)
                        SELECT x FROM s WHERE n = 8 ORDER BY i);
BEGIN
    FOR i IN 0 .. length(b) - 1 LOOP
        c := t[((c # get_byte(b, i)) & 255) + 1] # (c >> 8);
    END LOOP;
    RETURN c # 4294967295;
END $$;
CREATE TEMPORARY TABLE made_up AS SELECT * FROM perfmodel.predictor WHERE name = 'cluster recalibrated';
UPDATE made_up SET predictor_id = predictor_id + 1000, name = 'made up';
INSERT INTO perfmodel.predictor OVERRIDING SYSTEM VALUE SELECT * FROM made_up;
INSERT INTO perfmodel.predictor_weights
    SELECT m.predictor_id, 0, d.data || decode(regexp_replace(lpad(to_hex(helper.crc32c(d.data)), 8, '0'), '(..)(..)(..)(..)', '\4\3\2\1'), 'hex')
    FROM made_up AS m JOIN perfmodel.predictor_weights AS w ON w.predictor_id = m.predictor_id - 1000,
         LATERAL (SELECT decode(replace(encode(substr(w.data, 1, length(w.data) - 4), 'hex'), '020000005434', '02000000ff34'), 'hex') AS data) AS d;
SELECT DISTINCT gpu, gpu::bytea FROM perfmodel.corrections('made up');
SELECT DISTINCT gpu FROM perfmodel.what_if(perfmodel.graph_id('anet4@16'), NULL, '{8}', predictor => 'made up');
ROLLBACK TO made_up;
-- the base is as it was
SELECT count(*) FROM perfmodel.corrections('cluster');
-- a device that it has never seen, from a few measurements; what was known of the other one is kept
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, framework, step_ms)
SELECT graph_id, 'RTX 3090', 8, 'amp', framework, 0.5 * step_ms FROM perfmodel.profile WHERE profile_id = ANY ((:'t4'::bigint[])[1:12]);
SELECT in_domain, note FROM perfmodel.predict(perfmodel.graph_id('anet4@16'), 'RTX 3090', 8, 'amp', predictor => 'cluster');
SELECT array_agg(profile_id) AS few FROM perfmodel.profile WHERE gpu = 'RTX 3090' AND dtype = 'amp' \gset
SELECT new_name, n_profiles, n_networks, mape_after_pct < mape_before_pct AS better FROM perfmodel.recalibrate('cluster recalibrated', :'few', name => 'both');
SELECT c.gpu, c.dtype, c.n_profiles, c.factor = o.factor AS kept FROM perfmodel.corrections('both') c
LEFT JOIN perfmodel.corrections('cluster recalibrated') o USING (gpu, dtype, layout) ORDER BY 1;
SELECT in_domain, note, step_ms_low < step_ms AND step_ms < step_ms_high AS interval
FROM perfmodel.predict(perfmodel.graph_id('anet4@16'), 'RTX 3090', 8, 'amp', predictor => 'both');
-- the active one, a second name, one network only
SELECT perfmodel.activate_predictor('both') > 0 AS activated;
SELECT new_name, n_networks, length(mae_before_ms::text) < 11 AS short, mape_after_pct, mae_after_ms FROM perfmodel.recalibrate(profiles => (:'few'::bigint[])[1:1]);
SELECT new_name FROM perfmodel.recalibrate('both');
SELECT n_profiles, n_trained_on FROM perfmodel.recalibrate('cluster', :'t4', 'flattered');
-- what is refused
SELECT helper.error_of(q) FROM unnest(ARRAY['SELECT perfmodel.recalibrate(''clutser'')', 'SELECT perfmodel.recalibrate(''cluster'', ''{}'')',
    'SELECT perfmodel.recalibrate(''cluster'', ''{-1}'')', 'SELECT perfmodel.recalibrate(name => ''both'')', 'SELECT perfmodel.recalibrate(name => '''')',
    'SELECT * FROM perfmodel.corrections(''bth'')', 'UPDATE perfmodel.predictor SET recalibrated_on = NULL']) AS q;
ROLLBACK;
BEGIN READ ONLY;
SELECT perfmodel.recalibrate('cluster');
ROLLBACK;
CREATE ROLE pm_test_recalibrate;
GRANT SELECT ON ALL TABLES IN SCHEMA perfmodel TO pm_test_recalibrate;
GRANT USAGE ON SCHEMA helper TO PUBLIC;
SET ROLE pm_test_recalibrate;
SELECT helper.error_of('SELECT perfmodel.recalibrate(''cluster'')');
RESET ROLE;
GRANT EXECUTE ON FUNCTION perfmodel.recalibrate TO pm_test_recalibrate;
SET ROLE pm_test_recalibrate;
SELECT helper.error_of('SELECT perfmodel.recalibrate(''cluster'')');
SELECT count(*) FROM perfmodel.corrections('cluster');
RESET ROLE;
DROP OWNED BY pm_test_recalibrate;
DROP ROLE pm_test_recalibrate;
SELECT perfmodel.drop_predictor('cluster') > 0 AS dropped;
-- a trigger that predicts meanwhile, in a session whose cache holds nothing
SELECT perfmodel.train('large', options => '{"epochs": 1, "d_model": 128, "members": 4, "calibration_folds": 0}') > 0 AS trained;
CREATE FUNCTION helper.ask() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 9, predictor => 'line');
    RETURN NULL;
END $$;
CREATE TRIGGER ask AFTER INSERT ON perfmodel.predictor FOR EACH ROW EXECUTE FUNCTION helper.ask();
SET perfmodel.cache_mem = '1MB';
SELECT n_profiles FROM perfmodel.recalibrate('large', (SELECT array_agg(profile_id) FROM perfmodel.profile), 'large, again');
SELECT helper.close(a, b, 1.5) AS alike FROM perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 64, predictor => 'large') AS a,
    perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 64, predictor => 'large, again') AS b;
RESET perfmodel.cache_mem;
DROP TRIGGER ask ON perfmodel.predictor;
SELECT count(perfmodel.drop_predictor(n)) FROM unnest('{large,"large, again"}'::text[]) AS n;
-- times that no device can have are said: seconds in place of milliseconds, the time of a whole job; not the usual ones
BEGIN;
SET LOCAL client_min_messages = notice;
\set VERBOSITY terse
CREATE TEMPORARY TABLE usual AS SELECT * FROM perfmodel.profile WHERE gpu = 'T4' AND dtype = 'fp32' AND batch >= 64 ORDER BY profile_id LIMIT 6;
SELECT n_profiles FROM perfmodel.recalibrate('line', (SELECT array_agg(profile_id) FROM usual), 'usual');
UPDATE perfmodel.profile AS p SET step_ms = p.step_ms * CASE p.profile_id % 2 WHEN 0 THEN 1e-3 ELSE 1e6 END FROM usual AS u WHERE p.profile_id = u.profile_id;
SELECT n_profiles FROM perfmodel.recalibrate('line', (SELECT array_agg(profile_id) FROM usual), 'absurd');
SELECT perfmodel.train('absurd steps', 'linear', (SELECT array_agg(profile_id) FROM usual)) > 0 AS trained;
-- the first three are named, and the others counted
\set VERBOSITY default
INSERT INTO perfmodel.profile (profile_id, graph_id, gpu, batch, step_ms) OVERRIDING SYSTEM VALUE
SELECT 9000000000 + i, perfmodel.graph_id('anet4@16'), 'T4', 64, 1e8 FROM generate_series(1, 5) AS i;
SELECT n_profiles FROM perfmodel.recalibrate('line', '{9000000001,9000000002,9000000003}', 'three absurd');
-- what the device can do, and is far from what is predicted
INSERT INTO perfmodel.profile (profile_id, graph_id, gpu, batch, step_ms) OVERRIDING SYSTEM VALUE VALUES (9000000006, perfmodel.graph_id('anet4@16'), 'T4', 1, 100);
SELECT n_profiles FROM perfmodel.recalibrate('line', '{9000000006}', 'far');
SELECT n_profiles FROM perfmodel.recalibrate('line', '{9000000001,9000000002,9000000003,9000000004,9000000005}', 'five absurd');
\set VERBOSITY terse
\set VERBOSITY default
ROLLBACK;
