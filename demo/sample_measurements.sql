-- The measurements of data/, of training steps and of single operators on one
-- CPU core, into a database that has the sample graphs.  Run in the root of
-- the checkout:
--     psql -d mydb -f demo/sample_measurements.sql
-- Refuses to run twice, so that no measurement counts double.
\set was_quiet :QUIET
\set QUIET on
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE TEMP TABLE sample_profile (graph text, model text, gpu text, batch integer, dtype text, layout text, framework text, mode text,
    optimizer text, world_size integer, nodes integer, step_ms double precision, forward_ms double precision, backward_ms double precision,
    update_ms double precision, peak_memory_mb double precision, spread double precision, steps integer, measured_at timestamptz, source text);
\copy sample_profile from 'data/profiles.csv' with (format csv, header)
DO $$
BEGIN
    IF EXISTS (SELECT FROM sample_profile s WHERE NOT EXISTS (SELECT FROM perfmodel.graph g WHERE g.name = s.graph)) THEN
        RAISE EXCEPTION 'the sample graphs are not loaded' USING HINT = 'Run demo/sample_graphs.sql first.';
    ELSIF EXISTS (SELECT FROM perfmodel.profile p JOIN sample_profile s USING (source, measured_at, step_ms)) THEN
        RAISE EXCEPTION 'the sample measurements are loaded already';
    END IF;
END $$;
-- one snapshot, so that only rows of this script are counted
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT (SELECT count(*) FROM perfmodel.profile) AS profiles, (SELECT count(*) FROM perfmodel.op_profile) AS operators \gset own_
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, mode, optimizer, world_size, nodes, step_ms,
    forward_ms, backward_ms, peak_memory_mb, spread, measured_at, source)
SELECT g.graph_id, s.gpu, batch, dtype, layout, framework, mode, optimizer, world_size, s.nodes, step_ms, forward_ms, backward_ms,
    peak_memory_mb, spread, measured_at, s.source
FROM sample_profile s JOIN perfmodel.graph g ON g.name = s.graph;
\copy perfmodel.op_profile (operator, gpu, batch, dtype, layout, framework, forward_ms, backward_ms, spread, measured_at, source) from program 'gzip -dc data/op_profiles.csv.gz' with (format csv, header)
SELECT count(*) - :own_profiles AS profiles, (SELECT count(*) FROM perfmodel.op_profile) - :own_operators AS operators FROM perfmodel.profile \gset
COMMIT;
DROP TABLE sample_profile;
RESET client_min_messages;
\echo :profiles measured training steps and :operators measured operators are loaded
\set QUIET :was_quiet
