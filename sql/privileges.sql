-- Who may do what.
\pset format unaligned
SET client_min_messages = error;
CREATE ROLE pm_test_nobody;
CREATE ROLE pm_test_reader;
CREATE ROLE pm_test_trainer;
GRANT SELECT ON perfmodel.graph, perfmodel.predictor, perfmodel.predictor_weights TO pm_test_reader;
GRANT SELECT ON ALL TABLES IN SCHEMA perfmodel TO pm_test_trainer;
GRANT INSERT ON perfmodel.graph, perfmodel.graph_node, perfmodel.profile, perfmodel.op_profile, perfmodel.predictor, perfmodel.predictor_weights,
    perfmodel.training_run TO pm_test_trainer;
GRANT UPDATE (active), DELETE ON perfmodel.predictor TO pm_test_trainer;
GRANT EXECUTE ON FUNCTION perfmodel.load_graph, perfmodel.train, perfmodel.cross_validate, perfmodel.activate_predictor,
    perfmodel.drop_predictor TO pm_test_trainer;
SELECT perfmodel.graph_id('anet4@16') AS g \gset
-- remembered under the owner's rights, which must not serve others below
SELECT perfmodel.predict_train_time(:g, 'T4', 8) > 0 AS owner;
GRANT USAGE ON SCHEMA helper TO PUBLIC;

SET ROLE pm_test_nobody;
SELECT count(*) > 0 AS sheets, perfmodel.gpu_name('rtx_3090') FROM perfmodel.gpu;
SELECT helper.error_of(format(q, :g)) FROM unnest(ARRAY[
    'SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', 'SELECT perfmodel.predict(%s, ''T4'', 8)', 'SELECT perfmodel.graph_id(''anet4@16'')',
    'SELECT perfmodel.evaluate()', 'SELECT perfmodel.train(''x'')', 'SELECT perfmodel.load_graph(''{}'')',
    'SELECT perfmodel.cross_validate()', 'SELECT perfmodel.estimate_training()',
    'SELECT perfmodel.activate_predictor(''line'')', 'SELECT perfmodel.drop_predictor(''line'')',
    'SELECT count(*) FROM perfmodel.profile', 'SET perfmodel.train_mem = ''1TB''', 'SET perfmodel.train_threads = 1',
    'INSERT INTO perfmodel.gpu (name) VALUES (''mine'')']) AS q;

SET ROLE pm_test_reader;
SELECT perfmodel.predict_train_time(:g, 'T4', 8) > 0 AS predicts;
SELECT step_ms_low < step_ms_high AS predicts FROM perfmodel.predict(:g, 'T4', 8);
SELECT count(*) > 0 AS explains FROM perfmodel.explain_train_time(:g, 'T4', 8);
SELECT helper.error_of(format(q, :g)) FROM unnest(ARRAY['SELECT perfmodel.train(''x'')', 'SELECT perfmodel.evaluate()',
    'DELETE FROM perfmodel.predictor']) AS q;
RESET ROLE;
REVOKE SELECT ON perfmodel.graph FROM pm_test_reader;
SET ROLE pm_test_reader;
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', :g));

SET ROLE pm_test_trainer;
SELECT perfmodel.load_graph(helper.cnn('loaded by trainer', 8, 2)) > 0 AS loads;
SELECT perfmodel.train('trainer', 'linear') > 0 AS trains;
SELECT perfmodel.activate_predictor('trainer') > 0 AS activates;
SELECT perfmodel.drop_predictor('trainer') > 0 AS drops;
SELECT trained_by FROM perfmodel.training_run WHERE predictor = 'trainer';
RESET ROLE;
-- rights are checked before the work, not after
REVOKE INSERT ON perfmodel.training_run FROM pm_test_trainer;
SET ROLE pm_test_trainer;
SELECT helper.error_of($$SELECT perfmodel.train('x', 'linear', '{-1}')$$);
RESET ROLE;
DELETE FROM perfmodel.graph WHERE name = 'loaded by trainer';
SELECT perfmodel.activate_predictor('line') > 0 AS activated;
DROP OWNED BY pm_test_nobody, pm_test_reader, pm_test_trainer;
DROP ROLE pm_test_nobody, pm_test_reader, pm_test_trainer;
