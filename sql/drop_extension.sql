-- Dropping the extension takes all of it along; a session that used it says so and goes on.
SET client_min_messages = error;
SELECT perfmodel.predict_train_time(perfmodel.graph_id('anet4@16'), 'T4', 8) > 0 AS predicts;
DROP EXTENSION perfmodel CASCADE;
SELECT count(*) AS left FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'perfmodel');
CREATE EXTENSION perfmodel;
SELECT count(*) AS predictors, (SELECT count(*) FROM perfmodel.graph) AS graphs FROM perfmodel.predictor;
SELECT perfmodel.load_graph(helper.cnn('anet4@16', 16, 4)) AS g \gset
SELECT helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8)', :g));
-- loading is all or nothing
CREATE DATABASE pm_test_schema;
\c pm_test_schema
CREATE EXTENSION perfmodel SCHEMA public;
\c contrib_regression
DROP DATABASE pm_test_schema;
