-- Errors of a predictor on networks that it was not trained on: lines of
-- "network measured/p50 p10/p50 p90/p50" for bench/replay/replay.c.
--
-- The sample measurements, whole families held out in 4 folds, kind opclass.
\set QUIET on
\set ON_ERROR_STOP on
SET client_min_messages = error;
\o /dev/null
\i demo/sample_graphs.sql
\i demo/sample_measurements.sql
CREATE TEMP TABLE held_out AS
SELECT p.*, g.family, (dense_rank() OVER (ORDER BY md5(g.family)) % 4)::int AS fold FROM perfmodel.profile p JOIN perfmodel.graph g USING (graph_id)
WHERE p.mode = 'train' AND p.world_size = 1;
SELECT perfmodel.train('replay ' || fold, 'opclass', profiles => (SELECT array_agg(profile_id ORDER BY profile_id) FROM held_out h WHERE h.fold <> f.fold))
FROM generate_series(0, 3) AS f(fold);
\o
\pset format unaligned
\pset fieldsep ' '
\pset tuples_only on
SELECT graph_id - 1, h.step_ms / p.step_ms, p.step_ms_low / p.step_ms, p.step_ms_high / p.step_ms
FROM held_out h, LATERAL perfmodel.predict(h.graph_id, h.gpu, h.batch, h.dtype, h.layout, h.framework, 'replay ' || h.fold, 0.8, h.optimizer) p
ORDER BY profile_id;
