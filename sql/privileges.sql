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
-- the whole message, which must not have the page so far in it
SELECT perfmodel.report();
SELECT perfmodel.report_diff('line', 'line');
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

-- a trigger function may be called for a table of anybody who may execute it: nobody may, and none trusts a column
SELECT p.proname FROM pg_proc p, pg_depend d, pg_extension e
WHERE p.prorettype = 'trigger'::regtype AND d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
    AND d.refobjid = e.oid AND e.extname LIKE 'perfmodel%' AND has_function_privilege('public', p.oid, 'EXECUTE');
SET ROLE pm_test_nobody;
CREATE TEMPORARY TABLE mine (gpu int);
SELECT helper.error_of(format('CREATE TRIGGER t BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION perfmodel.%s()', f))
FROM unnest('{profile_gpu_by_name,refuse_update,forget_cached}'::text[]) AS f;
DROP TABLE mine;
RESET ROLE;
CREATE DOMAIN helper.words AS text;
CREATE FUNCTION helper.with_trigger(columns text, value text, function text, "when" text, each text DEFAULT 'ROW') RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMPORARY TABLE strange (%s) ON COMMIT DROP', columns);
    EXECUTE format('CREATE TRIGGER t %s ON strange FOR EACH %s EXECUTE FUNCTION perfmodel.%s()', "when", each, function);
    RETURN helper.error_of(format('INSERT INTO strange VALUES (%s); UPDATE strange SET gpu = gpu; DELETE FROM strange', value));
END $$;
SELECT helper.with_trigger('gpu int', '2', 'profile_gpu_by_name', 'BEFORE INSERT');
SELECT helper.with_trigger('gpu bigint', '140000000000000', 'profile_gpu_by_name', 'BEFORE INSERT');
SELECT helper.with_trigger('gpu text[]', '''{T4}''', 'profile_gpu_by_name', 'BEFORE UPDATE');
SELECT helper.with_trigger('gpu helper.words', '''T4''', 'profile_gpu_by_name', 'BEFORE INSERT');
SELECT helper.with_trigger('device text', '''T4''', 'profile_gpu_by_name', 'BEFORE INSERT');
SELECT helper.with_trigger('other int, gpu text', '1, ''t_4''', 'profile_gpu_by_name', 'BEFORE INSERT OR UPDATE');
SELECT helper.with_trigger('gpu text', '''T4''', 'profile_gpu_by_name', 'AFTER INSERT');
SELECT helper.with_trigger('gpu text', '''T4''', 'profile_gpu_by_name', 'BEFORE INSERT', 'STATEMENT');
SELECT helper.with_trigger('gpu text', '''T4''', 'profile_gpu_by_name', 'BEFORE DELETE');
SELECT helper.with_trigger('gpu int', '2', 'refuse_update', 'BEFORE UPDATE');
SELECT helper.with_trigger('gpu int', '2', 'refuse_update', 'AFTER DELETE', 'STATEMENT');
SELECT helper.with_trigger('gpu int', '2', 'forget_cached', 'BEFORE INSERT OR UPDATE OR DELETE');
SELECT helper.with_trigger('gpu int', '2', 'forget_cached', 'AFTER INSERT OR UPDATE OR DELETE');
SELECT helper.error_of(format('SELECT perfmodel.%s()', f)) FROM unnest('{profile_gpu_by_name,refuse_update,forget_cached}'::text[]) AS f;

DROP OWNED BY pm_test_nobody, pm_test_reader, pm_test_trainer;
DROP ROLE pm_test_nobody, pm_test_reader, pm_test_trainer;
