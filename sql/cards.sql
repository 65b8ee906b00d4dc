-- What is known of each card, and steps carried over from one card to another.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.train('two cards', 'opclass', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE dtype = 'fp32' AND layout = 'nchw' AND mode = 'train' AND world_size = 1)) > 0 AS trained;
SELECT k.gpu, k.networks = count(DISTINCT g.structure) AS networks FROM perfmodel.known_gpus('two cards') AS k
    JOIN perfmodel.predictor AS r ON r.name = 'two cards' JOIN perfmodel.profile AS p ON p.profile_id = ANY (r.profiles) AND p.gpu = k.gpu
    JOIN perfmodel.graph AS g USING (graph_id) GROUP BY 1, k.networks ORDER BY 1;
BEGIN;
SELECT perfmodel.activate_predictor('two cards') > 0 AS active;
SELECT known_from, count(*) > 0 AS some, min(networks) >= CASE known_from WHEN 'many networks' THEN 20 WHEN 'networks' THEN 5 WHEN 'few networks' THEN 1 ELSE 0 END AS networks
FROM perfmodel.gpu_support GROUP BY 1 ORDER BY 1;
SELECT networks, known_from, framework FROM perfmodel.gpu_support WHERE gpu = 'B200';
-- the framework that a question without one is answered for: of the releases of a device, the one of most of its rows
SELECT s.gpu, s.framework = (SELECT p.framework FROM perfmodel.predictor AS r JOIN perfmodel.profile AS p ON p.profile_id = ANY (r.profiles)
                             WHERE r.name = 'two cards' AND p.gpu = s.gpu GROUP BY 1 ORDER BY count(*) DESC LIMIT 1) AS usual,
       a.step_ms = b.step_ms AS same_answer
FROM perfmodel.gpu_support AS s, LATERAL (SELECT min(p.graph_id) AS g FROM perfmodel.profile AS p WHERE p.gpu = s.gpu) AS one,
     LATERAL perfmodel.predict(one.g, s.gpu, 8) AS a, LATERAL perfmodel.predict(one.g, s.gpu, 8, framework => s.framework) AS b
WHERE s.networks > 0 ORDER BY 1;
ROLLBACK;
-- predicted there, times the power of measured over predicted here that errors in common deserve
SELECT min(profile_id) AS m FROM perfmodel.profile WHERE gpu = 'T4' AND dtype = 'fp32' AND layout = 'nchw' AND mode = 'train' AND world_size = 1 \gset
SELECT f.measured_on, f.measured_ms = p.step_ms AS measured, helper.close(f.step_ms, there.step_ms * (p.step_ms / here.step_ms) ^ f.weight, 1e-12) AS step,
       f.weight BETWEEN 0 AND 1 AS weight, helper.close(f.ratio, f.step_ms / p.step_ms, 1e-12) AS ratio, f.step_ms_low < f.step_ms AND f.step_ms < f.step_ms_high AS inside,
       w.step_ms_low < f.step_ms_low AND f.step_ms_high < w.step_ms_high AS wider_at_a_higher_level, f.in_domain = there.in_domain AND f.note IS NOT DISTINCT FROM there.note AS note
FROM perfmodel.profile AS p, perfmodel.predict_from(p.profile_id, 'rtx3090', 0.8, 'two cards') AS f, perfmodel.predict_from(p.profile_id, 'rtx3090', 0.99, 'two cards') AS w,
     perfmodel.predict(p.graph_id, 'RTX 3090', p.batch, p.dtype, p.layout, p.framework, 'two cards', 0.8, p.optimizer) AS there,
     perfmodel.predict(p.graph_id, 'T4', p.batch, p.dtype, p.layout, p.framework, 'two cards', 0.8, p.optimizer) AS here
WHERE p.profile_id = :m;
-- the same of a step that is in no table, such as a job's
SELECT f.step_ms = s.step_ms AND f.step_ms_low = s.step_ms_low AND f.ratio = s.ratio AND f.weight = s.weight AS same
FROM perfmodel.profile AS p, perfmodel.predict_from(p.profile_id, 'RTX 3090', predictor => 'two cards') AS f,
     perfmodel.predict_from_step(p.graph_id, 't4', p.step_ms, 'RTX 3090', p.batch, p.dtype, framework => p.framework, optimizer => p.optimizer, predictor => 'two cards') AS s
WHERE p.profile_id = :m;
SELECT helper.error_of(format('SELECT perfmodel.predict_from_step((SELECT min(graph_id) FROM perfmodel.graph), %L, %L::float8, %L, %s, predictor => ''two cards'')', o, ms, g, b))
FROM (VALUES ('T5', '1', 'T4', 1), ('T4', '0', 'T4', 1), ('T4', 'nan', 'T4', 1), ('T4', '1', 'T5', 1), ('T4', '1', 'T4', 0)) AS v(o, ms, g, b);
SELECT step_ms, weight FROM perfmodel.predict_from_step(1, NULL, 1, 'T4', 1);
BEGIN;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, world_size, step_ms) SELECT min(graph_id), 'T4', 8, 2, 10 FROM perfmodel.graph RETURNING profile_id AS two \gset
SELECT regexp_replace(helper.error_of(format('SELECT perfmodel.predict_from(%s, ''RTX 3090'', predictor => ''two cards'')', :two)), 'profile [0-9]+', 'profile N');
ROLLBACK;
-- what predict() says of names and formats is said here, too
SELECT note FROM unnest('{fp32, bfloat16}'::text[]) AS dtype,
     perfmodel.predict_from_step((SELECT min(graph_id) FROM perfmodel.graph), 'V100', 1, 'T4', 8, dtype, predictor => 'two cards');
-- a predictor without intervals: the whole ratio, and none
SELECT perfmodel.train('bare', 'opclass', options => '{"calibration_folds": 0}') > 0 AS trained;
SELECT weight, step_ms > 0 AS step, step_ms_low, step_ms_high FROM perfmodel.predict_from(:m, 'RTX 3090', predictor => 'bare');
SELECT perfmodel.drop_predictor('bare') > 0 AS dropped;
-- on the card that it was measured on it takes what it took; a card that nobody measured is out of the domain, and its interval is not narrower
SELECT f.step_ms = p.step_ms AS same, f.ratio FROM perfmodel.profile AS p, perfmodel.predict_from(p.profile_id, 'T4', predictor => 'two cards') AS f WHERE p.profile_id = :m;
SELECT f.in_domain, f.note, f.step_ms_high / f.step_ms_low >= 0.999 * k.step_ms_high / k.step_ms_low AS not_narrower
FROM perfmodel.predict_from(:m, 'A40', predictor => 'two cards') AS f, perfmodel.predict_from(:m, 'RTX 3090', predictor => 'two cards') AS k;
-- so is one that was measured on such a card, and a measurement that is far from what can be
SELECT f.in_domain, regexp_replace(f.note, '[\d.e+-]+ times', 'N times') AS note FROM perfmodel.profile AS p, (VALUES ('A40', 1), ('T4', 1), ('T4', 1e4), ('T4', 1e-4)) AS v(measured_on, factor),
     perfmodel.predict_from_step(p.graph_id, v.measured_on, p.step_ms * v.factor, 'RTX 3090', p.batch, framework => p.framework, optimizer => p.optimizer, predictor => 'two cards') AS f WHERE p.profile_id = :m;
SELECT f.in_domain, regexp_replace(f.note, '[\d.e+-]+ times', 'N times') AS note FROM perfmodel.profile AS p,
     perfmodel.predict_from_step(p.graph_id, 'T4', p.step_ms / 1000, 'A40', p.batch, framework => p.framework, optimizer => p.optimizer, predictor => 'two cards') AS f WHERE p.profile_id = :m;
SELECT step_ms, ratio, note FROM perfmodel.predict_from(NULL, 'T4'), LATERAL (SELECT) AS nothing;
SELECT helper.error_of(format('SELECT perfmodel.predict_from(%s, %L, predictor => ''two cards'')', id, g)) FROM (VALUES (-1, 'T4'), (:m, 'T5'), (:m, '')) AS v(id, g);
SELECT helper.error_of(format('SELECT perfmodel.predict_from(%s, ''T4'', 64, ''two cards'')', :m));
SELECT helper.error_of(format('SELECT perfmodel.predict_from(%s, ''T4'', 0.2, ''two cards'')', :m));
SELECT split_part(helper.error_of($$SELECT perfmodel.known_gpus('nobody')$$), E'\n', 1) AS error;
-- one measurement moves a card that is known from many networks by little, and one that is not by more
BEGIN;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, framework, step_ms)
SELECT graph_id, g, batch, dtype, framework, 2 * perfmodel.predict_train_time(graph_id, g, batch, dtype, layout, framework, 'two cards', optimizer)
FROM perfmodel.profile, unnest('{T4,A40}'::text[]) AS g WHERE profile_id = :m ;
SELECT (perfmodel.recalibrate('two cards', (SELECT array_agg(p.profile_id) FROM perfmodel.profile AS p, perfmodel.predictor AS r
                                           WHERE r.name = 'two cards' AND p.profile_id > ALL (r.profiles) AND (p.gpu, p.graph_id) IN
                                               (SELECT g, q.graph_id FROM perfmodel.profile AS q, unnest('{T4,A40}'::text[]) AS g WHERE q.profile_id = :m)), 'one row each')).n_profiles;
SELECT gpu, CASE gpu WHEN 'T4' THEN factor BETWEEN 1.001 AND 1.2 ELSE factor BETWEEN 1.3 AND 2 END AS as_expected FROM perfmodel.corrections('one row each') ORDER BY 1;
ROLLBACK;
SELECT perfmodel.drop_predictor('two cards') > 0 AS dropped;
-- single operators, timed in the forward pass only, tell the level of a card that has no steps
CREATE TEMPORARY TABLE speed (gpu text, factor float8);
INSERT INTO speed VALUES ('T4', 1), ('V100-PCIE-32GB', 1);
CREATE TEMPORARY VIEW convolution AS
SELECT s.gpu, jsonb_build_object('format', 'perfmodel-graph/1', 'nodes', jsonb_build_array(
           jsonb_build_object('id', 0, 'op', 'Input', 'inputs', '[]'::jsonb, 'shape', jsonb_build_array(1, c, 28, 28), 'batch_dim', 0, 'attrs', '{"requires_grad":true}'::jsonb),
           jsonb_build_object('id', 1, 'op', 'Conv', 'inputs', '[0]'::jsonb, 'shape', jsonb_build_array(1, c, 28, 28), 'batch_dim', 0,
                              'attrs', '{"kernel_shape":[3,3],"pads":[1,1]}'::jsonb, 'weights', jsonb_build_array(jsonb_build_array(c, c, 3, 3))))) AS operator,
       s.factor * 2 * 64 * 9 * 28 * 28 * c * c / (g.fp32_tflops * 1e9) AS forward_ms
FROM speed AS s JOIN perfmodel.gpu AS g ON g.name = s.gpu, generate_series(64, 1024, 16) AS c;
INSERT INTO perfmodel.op_profile (operator, gpu, batch, forward_ms) SELECT operator, gpu, 64, forward_ms FROM convolution;
SELECT perfmodel.train('one', 'opclass', options => '{"calibration_folds": 0}') > 0 AS trained;
SELECT perfmodel.train('none', 'opclass', options => '{"calibration_folds": 0, "operators": false}') > 0 AS trained;
UPDATE perfmodel.op_profile AS p SET forward_ms = 2 * forward_ms WHERE gpu <> 'T4';
SELECT perfmodel.train('two', 'opclass', options => '{"calibration_folds": 0}') > 0 AS trained;
SELECT p.name, p.n_operators, (SELECT k.networks FROM perfmodel.known_gpus(p.name) AS k WHERE k.gpu = 'V100-PCIE-32GB') AS networks
FROM perfmodel.predictor AS p WHERE p.name IN ('one', 'two', 'none') ORDER BY 1;
WITH step AS (
    SELECT a.name, a.step_ms, a.in_domain
    FROM (SELECT x.name, f.* FROM unnest('{one,two,none}'::text[]) AS x(name),
              perfmodel.predict((SELECT max(graph_id) FROM perfmodel.profile WHERE gpu = 'T4' AND dtype = 'fp32'), 'V100-PCIE-32GB', 512, predictor => x.name) AS f) AS a)
SELECT two.step_ms / one.step_ms BETWEEN 1.2 AND 2 AS slower, one.step_ms <> none.step_ms AS learned, one.in_domain
FROM step AS one, step AS two, step AS none WHERE (one.name, two.name, none.name) = ('one', 'two', 'none');
BEGIN;
SELECT perfmodel.activate_predictor('one') > 0 AS active;
SELECT gpu, networks, known_from, framework FROM perfmodel.gpu_support WHERE gpu IN ('V100-PCIE-32GB', 'V100-SXM2-16GB');
ROLLBACK;
SELECT count(perfmodel.drop_predictor(name)) FROM unnest('{one,two,none}'::text[]) AS name;
DELETE FROM perfmodel.op_profile;
