-- Training each kind, and what is kept of it.
SET client_min_messages = warning;
SELECT helper.error_of($$SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8)$$);
SELECT helper.error_of($$SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'pretrained')$$);
-- one row is not "1 measurements"
SELECT helper.error_of($$SELECT perfmodel.train('few', 'linear', profiles => (SELECT ARRAY[min(profile_id)] FROM perfmodel.profile))$$);
SELECT perfmodel.train('line', 'linear') > 0 AS trained;
SELECT perfmodel.train('roof', 'roofline') > 0 AS trained;
SELECT perfmodel.train('small', options => '{"epochs":8,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8,"seed":7}') > 0 AS trained;

-- the first one is the active one
SELECT name, kind, active, n_profiles, length(profiles_hash) AS hash, cardinality(profiles) AS profiles, gpus, frameworks,
       dtypes, layouts, n_params > 0 AS has_params, train_seconds >= 0 AS seconds, library_version = (perfmodel.version()).library AS version
FROM perfmodel.predictor ORDER BY predictor_id;
SELECT name, seed, options->>'epochs' AS epochs, options->>'seed' AS seed_option, options->>'loss' AS loss,
       valid_n > 0 AS validated, valid_mape BETWEEN 0 AND 1 AS mape, valid_rmse_ms >= valid_mae_ms AS rmse
FROM perfmodel.predictor WHERE kind = 'mdot';
SELECT count(DISTINCT profiles_hash) AS hashes FROM perfmodel.predictor;
SELECT predictor, kind, status, n_profiles, epochs > 0 AS epochs, threads > 0 AS threads, train_mape BETWEEN 0 AND 1 AS train_mape,
       finished_at >= started_at AS times,
       trained_by = CURRENT_USER AS by FROM perfmodel.training_run ORDER BY run_id;
SELECT p.name, part, length(data) > 0 AS bytes FROM perfmodel.predictor_weights w JOIN perfmodel.predictor p USING (predictor_id)
ORDER BY p.predictor_id, part;

-- every kind learns what these measurements follow
SELECT name, mape_pct < 60 AS better_than_a_guess FROM perfmodel.predictor, perfmodel.evaluate(name) WHERE grouped_by = 'overall' ORDER BY name;

-- a name is used once, and is not too long, before anything is read
SELECT helper.error_of(format('SELECT perfmodel.%s(%L, ''linear'', ''{-1}'')', f, repeat('x', 256))) FROM unnest('{train,train_async}'::text[]) AS f;
SELECT helper.error_of(format('SELECT perfmodel.recalibrate(%L)', repeat('x', 256)));
SELECT helper.error_of(format('UPDATE perfmodel.predictor SET name = %L WHERE name = ''line''', repeat('x', 256)));
SELECT helper.error_of($$SELECT perfmodel.train('small', 'linear')$$);

-- the same seed and rows give the same bytes, whatever the threads; another seed does not
SET perfmodel.train_threads = 1;
SELECT perfmodel.train('again', options => '{"epochs":8,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8,"seed":7}') > 0 AS trained;
SET perfmodel.train_threads = 2;
SELECT perfmodel.train('other seed', options => '{"epochs":8,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8,"seed":8}') > 0 AS trained;
RESET perfmodel.train_threads;
SELECT p.name, w.data = s.data AS same_bytes FROM perfmodel.predictor p JOIN perfmodel.predictor_weights w USING (predictor_id),
     (SELECT data FROM perfmodel.predictor_weights JOIN perfmodel.predictor USING (predictor_id) WHERE name = 'small') s
WHERE p.name IN ('again', 'other seed') ORDER BY 1;
SELECT perfmodel.drop_predictor('again') > 0 AND perfmodel.drop_predictor('other seed') > 0 AS dropped;

-- chosen rows only; the hash follows their contents
SELECT array_agg(profile_id ORDER BY profile_id) AS t4 FROM perfmodel.profile WHERE gpu = 'T4' \gset
SELECT perfmodel.train('t4', 'linear', :'t4') > 0 AS trained;
SELECT gpus, profiles = :'t4'::bigint[] AS profiles FROM perfmodel.predictor WHERE name = 't4';
UPDATE perfmodel.profile SET step_ms = step_ms + 1e-9 WHERE profile_id = (:'t4'::bigint[])[1];
SELECT perfmodel.train('t4 changed', 'linear', :'t4') > 0 AS trained;
SELECT count(DISTINCT profiles_hash) AS hashes FROM perfmodel.predictor WHERE name LIKE 't4%';
SELECT perfmodel.drop_predictor('t4') > 0 AND perfmodel.drop_predictor('t4 changed') > 0 AS dropped;

-- a measurement of a graph whose steps cannot be predicted is left out, and does not keep the others from being used
BEGIN;
SELECT perfmodel.load_graph('{"format": "perfmodel-graph/1", "name": "idle", "nodes": [{"id": 0, "op": "Input", "inputs": [], "shape": [1, 4], "batch_dim": 0}]}') AS idle \gset
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) SELECT :idle, 'T4', b, b FROM generate_series(1, 2) AS b;
SELECT count(*) - 2 AS others FROM perfmodel.profile WHERE mode = 'train' AND world_size = 1 \gset
SET LOCAL client_min_messages = notice;
SELECT perfmodel.train('idle', 'linear') > 0 AS trained;
SELECT n_profiles = :others AS of_others FROM perfmodel.predictor WHERE name = 'idle';
SELECT n = :others AS of_others FROM perfmodel.evaluate('idle') WHERE grouped_by = 'overall';
SELECT helper.error_of($$SELECT perfmodel.train('nothing', 'linear', (SELECT array_agg(profile_id) FROM perfmodel.profile JOIN perfmodel.graph USING (graph_id) WHERE graph.name = 'idle'))$$);
ROLLBACK;

-- numbers that blow up are an error, and nothing is kept
SELECT split_part(helper.error_of($$SELECT perfmodel.train('wild', options => '{"epochs":5,"learning_rate":1e7,"clip":0,"warmup":0}')$$), ':', 1) AS diverged;
SELECT count(*) FROM perfmodel.predictor WHERE name = 'wild';

-- a rollback leaves nothing
BEGIN;
SELECT perfmodel.train('gone', 'linear') > 0 AS trained;
SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'gone') > 0 AS predicts;
ROLLBACK;
SELECT helper.error_of($$SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8, predictor => 'gone')$$);
SELECT count(*) FROM perfmodel.training_run WHERE predictor = 'gone';

-- not in a read-only transaction
BEGIN READ ONLY;
SELECT perfmodel.train('x', 'linear');
ROLLBACK;

-- training takes the operators along that were measured alone on its devices, unless told not to
INSERT INTO perfmodel.op_profile (operator, gpu, batch, forward_ms, backward_ms)
SELECT helper.operator('Relu'), 'T4', b, 0.001 * b, 0.002 * b FROM generate_series(1, 64) AS b;
INSERT INTO perfmodel.op_profile (operator, gpu, batch, forward_ms) VALUES (helper.operator('Relu'), 'T4', 1, 0.01);
\set quick_options '{"epochs":2,"d_model":16,"d_operator":8,"calibration_folds":0}'
\set quick_without '{"epochs":2,"d_model":16,"d_operator":8,"calibration_folds":0,"operator_weight":0}'
SELECT perfmodel.train('with', options => :'quick_options') > 0 AND perfmodel.train('without', options => :'quick_without') > 0 AS trained;
-- not one whose backward pass has work and no time: a few of these tell nothing of a card that has steps
UPDATE perfmodel.op_profile SET forward_ms = 1 WHERE backward_ms IS NULL;
SELECT perfmodel.train('same', options => :'quick_options') > 0 AS trained;
UPDATE perfmodel.op_profile SET forward_ms = forward_ms * 2;
SELECT perfmodel.train('other', options => :'quick_options') > 0 AND perfmodel.train('still without', options => :'quick_without') > 0 AS trained;
SELECT p.name, p.n_operators, p.profiles_hash = o.profiles_hash AS same_hash, w.data = v.data AS same_bytes
FROM perfmodel.predictor p JOIN perfmodel.predictor_weights w USING (predictor_id),
     perfmodel.predictor o JOIN perfmodel.predictor_weights v USING (predictor_id)
WHERE (o.name, p.name) IN (('with', 'same'), ('with', 'other'), ('with', 'without'), ('without', 'still without')) ORDER BY p.name;
SELECT count(perfmodel.drop_predictor(name)) FROM unnest('{with,without,same,other,still without}'::text[]) AS name;
-- nor does a head that has no times of operators
SELECT perfmodel.train('pooled', options => :'quick_options'::jsonb || '{"head":"pooled"}') > 0 AS trained;
SELECT n_operators FROM perfmodel.predictor WHERE name = 'pooled';
SELECT perfmodel.drop_predictor('pooled') > 0 AS dropped;
-- a name too long to be stored, as older versions let in
BEGIN;
ALTER TABLE perfmodel.profile DROP CONSTRAINT profile_framework_at_most_512_bytes;
UPDATE perfmodel.profile SET framework = repeat('x', 5000) WHERE profile_id = (SELECT min(profile_id) FROM perfmodel.profile);
SELECT regexp_replace(helper.error_of(q), 'profile \d+', 'profile N') FROM unnest(ARRAY['SELECT perfmodel.train(''wordy'')',
    'SELECT perfmodel.recalibrate(''line'', (SELECT array_agg(profile_id) FROM perfmodel.profile))']) AS q;
ROLLBACK;
-- a trigger that keeps rows away: an error, and nothing is stored of the predictor
BEGIN;
CREATE FUNCTION helper.keep_away() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SELECT tab, helper.error_of(format($$CREATE TRIGGER keep_away BEFORE INSERT ON perfmodel.%I FOR EACH ROW EXECUTE FUNCTION helper.keep_away();
    SELECT perfmodel.train('kept away', 'roofline')$$, tab)) AS error
FROM unnest('{predictor,predictor_weights,training_run}'::text[]) AS tab;
SELECT count(*) AS stored FROM perfmodel.predictor WHERE name = 'kept away';
ROLLBACK;
-- nulls and words that an owner has let in are refused, not misread
BEGIN;
ALTER TABLE perfmodel.profile DISABLE TRIGGER USER;
SELECT helper.error_of($$ALTER TABLE perfmodel.profile DROP CONSTRAINT profile_dtype_known;
    UPDATE perfmodel.profile SET dtype = 'fp1'; SELECT perfmodel.train('not misread', 'roofline')$$) AS unknown_word;
SELECT helper.error_of($$ALTER TABLE perfmodel.profile ALTER layout DROP NOT NULL;
    UPDATE perfmodel.profile SET layout = NULL; SELECT perfmodel.train('not misread', 'roofline')$$) AS null_word;
ROLLBACK;
DELETE FROM perfmodel.op_profile;
