-- What a session has cached answers only whoever may read the rows: under row security, after SET ROLE, after REVOKE.
\pset format unaligned
SET client_min_messages = error;
CREATE ROLE pm_test_tenant;
CREATE ROLE pm_test_group;
CREATE ROLE pm_test_blind;
GRANT SELECT ON perfmodel.graph, perfmodel.predictor, perfmodel.predictor_weights TO pm_test_tenant, pm_test_group;
GRANT SELECT ON perfmodel.graph, perfmodel.predictor TO pm_test_blind;
GRANT USAGE ON SCHEMA helper TO PUBLIC;
SELECT perfmodel.graph_id('anet4@16') AS a, perfmodel.graph_id('bnet5@16') AS b \gset
CREATE TABLE helper.visible (graph_id bigint);
GRANT SELECT, INSERT, DELETE ON helper.visible TO pm_test_tenant;

-- one call of each function that answers, for graph a and for graph b: t, or the error
CREATE FUNCTION helper.ask_all(g bigint) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(f || ' ' || split_part(helper.error_of(format(f, g)), ':', 1), E'\n' ORDER BY f) FROM unnest(ARRAY[
        'SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', 'SELECT perfmodel.predict(%s, ''T4'', 8)',
        'SELECT perfmodel.predict_many(ARRAY[%s], ARRAY[''T4''], ARRAY[8])', 'SELECT perfmodel.what_if(%s, ARRAY[''T4''], ARRAY[8])',
        'SELECT perfmodel.explain_train_time(%s, ''T4'', 8)']) f $$;
SELECT helper.ask_all(:a) = helper.ask_all(:b) AS all_answer_the_owner;

-- a policy that depends on a setting
ALTER TABLE perfmodel.graph ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON perfmodel.graph USING (graph_id = current_setting('test.graph', true)::bigint);
SET ROLE pm_test_tenant;
SET test.graph = :a;
SELECT helper.ask_all(:a);
SET test.graph = :b;
SELECT helper.ask_all(:a);
SELECT helper.ask_all(:b) ~ '42704' AS unknown;
SET test.graph = :a;
SELECT helper.ask_all(:a) ~ '42704' AS unknown;
RESET ROLE;
-- and on another table, within one transaction
DROP POLICY tenant ON perfmodel.graph;
CREATE POLICY tenant ON perfmodel.graph USING (graph_id IN (SELECT v.graph_id FROM helper.visible v));
SET ROLE pm_test_tenant;
BEGIN;
INSERT INTO helper.visible VALUES (:a);
SELECT helper.ask_all(:a) ~ '42704' AS unknown;
DELETE FROM helper.visible;
SELECT helper.ask_all(:a) ~ '42704' AS unknown;
ROLLBACK;
RESET ROLE;
DROP POLICY tenant ON perfmodel.graph;
ALTER TABLE perfmodel.graph DISABLE ROW LEVEL SECURITY;
-- weights that a policy hides
ALTER TABLE perfmodel.predictor_weights ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON perfmodel.predictor_weights USING (current_setting('test.weights', true) = 'on');
SET ROLE pm_test_tenant;
SET test.weights = on;
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', :a));
SET test.weights = off;
SELECT regexp_replace(helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', :a)), 'id \d+', 'id N');
RESET ROLE;
DROP POLICY tenant ON perfmodel.predictor_weights;
ALTER TABLE perfmodel.predictor_weights DISABLE ROW LEVEL SECURITY;
-- the views for people show what the tables show
GRANT SELECT ON perfmodel.predictors TO pm_test_tenant;
ALTER TABLE perfmodel.predictor ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON perfmodel.predictor USING (name = 'line');
SET ROLE pm_test_tenant;
SELECT (SELECT array_agg(name) FROM perfmodel.predictor) AS in_table, (SELECT array_agg(name) FROM perfmodel.predictors) AS in_view;
RESET ROLE;
DROP POLICY tenant ON perfmodel.predictor;
ALTER TABLE perfmodel.predictor DISABLE ROW LEVEL SECURITY;
GRANT SELECT ON perfmodel.training_run, perfmodel.training_status TO pm_test_tenant;
ALTER TABLE perfmodel.training_run ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON perfmodel.training_run USING (predictor = 'line');
SET ROLE pm_test_tenant;
SELECT (SELECT array_agg(DISTINCT predictor) FROM perfmodel.training_run) AS in_table, (SELECT array_agg(DISTINCT predictor) FROM perfmodel.training_status) AS in_view;
RESET ROLE;
DROP POLICY tenant ON perfmodel.training_run;
ALTER TABLE perfmodel.training_run DISABLE ROW LEVEL SECURITY;
-- a policy that would call back into the caches that are in use
ALTER TABLE perfmodel.graph ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON perfmodel.graph USING (perfmodel.gpu_name('t_4') = 'T4');
SET ROLE pm_test_tenant;
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', :a));
RESET ROLE;
DROP POLICY tenant ON perfmodel.graph;
ALTER TABLE perfmodel.graph DISABLE ROW LEVEL SECURITY;

-- weights that are cached answer only who may read them
SELECT perfmodel.predict_train_time(:a, 'T4', 8) > 0 AS owner;
SET ROLE pm_test_blind;
SELECT helper.ask_all(:a) ~ '42501' AS refused, helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', :a));
RESET ROLE;
-- the same for single columns
REVOKE SELECT ON perfmodel.graph FROM pm_test_tenant;
GRANT SELECT (graph_id, loaded_at) ON perfmodel.graph TO pm_test_tenant;
SET ROLE pm_test_tenant;
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', :a));
RESET ROLE;
GRANT SELECT ON perfmodel.graph TO pm_test_tenant;
REVOKE SELECT ON perfmodel.predictor_weights FROM pm_test_tenant;
GRANT SELECT (predictor_id, part) ON perfmodel.predictor_weights TO pm_test_tenant;
SET ROLE pm_test_tenant;
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', :a));
RESET ROLE;
-- a role that loses the rights of a group
GRANT pm_test_group TO pm_test_blind;
CREATE FUNCTION helper.leave(member text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN EXECUTE format('REVOKE pm_test_group FROM %I', member); END $$;
SET ROLE pm_test_blind;
SELECT perfmodel.predict_train_time(:a, 'T4', 8) > 0 AS as_member;
SELECT helper.leave('pm_test_blind');
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', :a));
RESET ROLE;
DROP FUNCTION helper.leave, helper.ask_all;
DROP TABLE helper.visible;
DROP OWNED BY pm_test_tenant, pm_test_group, pm_test_blind;
DROP ROLE pm_test_tenant, pm_test_group, pm_test_blind;

-- nodes go by what an owner has given their table, a rule that was there only once included
BEGIN;
CREATE ROLE pm_test_loader;
GRANT USAGE ON SCHEMA helper TO pm_test_loader;
GRANT SELECT, INSERT ON perfmodel.graph, perfmodel.graph_node TO pm_test_loader;
GRANT EXECUTE ON FUNCTION perfmodel.load_graph(jsonb, text) TO pm_test_loader;
CREATE FUNCTION helper.keep_node() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
SELECT what, regexp_replace(helper.error_of(format('%s; SELECT perfmodel.load_graph(helper.cnn(''guarded'', 5, 1)); %s', setting, verdict)), '\n.*', '') AS error
FROM (VALUES
    ('rule', 'CREATE RULE r AS ON INSERT TO perfmodel.graph_node DO INSTEAD NOTHING', ''),
    ('trigger', 'CREATE TRIGGER t BEFORE INSERT ON perfmodel.graph_node FOR EACH ROW EXECUTE FUNCTION helper.keep_node()', ''),
    ('check', 'ALTER TABLE perfmodel.graph_node ADD CONSTRAINT no_conv CHECK (class <> ''conv'') NOT VALID', ''),
    ('row security', 'ALTER TABLE perfmodel.graph_node ENABLE ROW LEVEL SECURITY; SET LOCAL ROLE pm_test_loader', ''),
    ('type', 'ALTER TABLE perfmodel.graph_node ALTER node_id TYPE numeric',
     'DO $$ BEGIN ASSERT (SELECT max(n.node_id) = max(g.nodes) - 1 FROM perfmodel.graph AS g JOIN perfmodel.graph_node AS n USING (graph_id) WHERE g.name = ''guarded''); END $$'),
    ('view', 'ALTER TABLE perfmodel.graph_node RENAME TO node; CREATE VIEW perfmodel.graph_node AS SELECT * FROM perfmodel.node',
     'DO $$ BEGIN ASSERT (SELECT count(*) = max(g.nodes) FROM perfmodel.graph AS g JOIN perfmodel.node AS n USING (graph_id) WHERE g.name = ''guarded''); END $$')
) AS v (what, setting, verdict);
ROLLBACK;
