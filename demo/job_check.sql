-- Sets the psql variable job_ready: whether the example table "job" can be
-- made. Says what is missing where it cannot. Part of jobs.sql and philly.sql,
-- which ask before they load anything.
\set job_ready false
SELECT to_regclass('perfmodel.predictor') IS NULL AS no_perfmodel, to_regclass('job') IS NOT NULL AS job_exists \gset
\if :no_perfmodel
\echo 'perfmodel is not in this database: run demo/sample_graphs.sql first.'
\elif :job_exists
\echo 'There is a table "job" already: it is left as it is.'
\else
SELECT NOT EXISTS (SELECT FROM perfmodel.predictor WHERE active) AS no_predictor, NOT EXISTS (SELECT FROM perfmodel.graph) AS no_graph \gset
\if :no_predictor
\echo 'No predictor is active: run demo/sample_graphs.sql, which adds the pretrained one, or train one.'
\elif :no_graph
\echo 'No graph is loaded: run demo/sample_graphs.sql first.'
\else
\set job_ready true
\endif
\endif
