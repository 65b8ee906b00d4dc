-- What is far too long or too many ends in a short error, at once.
\pset format unaligned
SET client_min_messages = error;
SELECT perfmodel.graph_id('anet4@16') AS g \gset
-- names of a megabyte, of letters that take three bytes each
CREATE FUNCTION helper.long_name(statement text) RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(e, '(€€)€+', '\1...', 'g') || CASE WHEN octet_length(e) > 2000 THEN ' LONG: ' || octet_length(e) ELSE '' END
    FROM helper.error_of(replace(statement, '?', '''' || repeat('€', 350000) || '''')) AS e $$;
SELECT split_part(helper.long_name(replace(q, ':g', :'g')), E'\n', 1) FROM unnest(ARRAY[
    'SELECT perfmodel.train(?, ''linear'')', 'SELECT perfmodel.train_async(?, ''linear'')', 'SELECT perfmodel.train(''x'', ?)',
    'SELECT perfmodel.train(''x'', warm_start => ?)', 'SELECT perfmodel.recalibrate(?)', 'SELECT perfmodel.recalibrate(''line'', name => ?)',
    'SELECT perfmodel.activate_predictor(?)', 'SELECT perfmodel.drop_predictor(?)', 'SELECT perfmodel.gpu_name(?)', 'SELECT perfmodel.graph_id(?)',
    'SELECT perfmodel.evaluate(?)', 'SELECT perfmodel.cross_validate(?)', 'SELECT perfmodel.estimate_training(?)',
    'SELECT perfmodel.predict_train_time(:g, ?, 8)', 'SELECT perfmodel.predict_train_time(:g, ''T4'', 8, ?)',
    'SELECT perfmodel.predict_train_time(:g, ''T4'', 8, layout => ?)', 'SELECT perfmodel.predict_train_time(:g, ''T4'', 8, predictor => ?)',
    'SELECT perfmodel.predict(:g, ?, 8)', 'SELECT perfmodel.explain_train_time(:g, ?, 8)', 'SELECT perfmodel.predict_many(ARRAY[:g], ARRAY[?], ARRAY[8])',
    'SELECT perfmodel.what_if(:g, ARRAY[?], ARRAY[8])', 'SELECT perfmodel.load_graph(''{}'', ?)', 'SELECT perfmodel.load_onnx(?, '''')',
    'SELECT perfmodel.estimate_training(options => jsonb_build_object(?, 1))',
    'INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) VALUES (:g, ?, 8, 1)',
    'UPDATE perfmodel.predictor SET name = ? WHERE name = ''line''']) AS q;
DROP FUNCTION helper.long_name;

-- a grid has a limit; who may read nothing is refused before the work, in both forms of many questions
SELECT helper.error_of(format('SELECT perfmodel.what_if(%s, array_fill(NULL::text, ARRAY[12000]), array_fill(NULL::int, ARRAY[12000]))', :g));
SELECT count(*), count(step_ms) FROM perfmodel.what_if(:g, array_fill(NULL::text, ARRAY[1000]), array_fill(8, ARRAY[1000]));
CREATE ROLE pm_test_nobody;
GRANT USAGE ON SCHEMA helper TO PUBLIC;
SET ROLE pm_test_nobody;
SELECT helper.error_of('SELECT perfmodel.what_if(1, ARRAY[NULL::text], ARRAY[NULL::int])');
SELECT helper.error_of('SELECT perfmodel.predict_many(ARRAY[NULL::bigint], ARRAY[NULL::text], ARRAY[NULL::int])');
RESET ROLE;
DROP ROLE pm_test_nobody;
-- a long grid of answers hears a cancel
SET statement_timeout = '300ms';
SELECT clock_timestamp() AS t0 \gset
\set VERBOSITY terse
SELECT count(*) FROM perfmodel.what_if(:g, array_fill('T4'::text, ARRAY[1000]), (SELECT array_agg(b) FROM generate_series(1, 1000) b));
\set VERBOSITY default
RESET statement_timeout;
SELECT clock_timestamp() - :'t0' < '2.5 s' AS soon;
-- and so does a list of ten million measurements: of which most do not exist, and not in order
\set VERBOSITY terse
CREATE TABLE helper.many_ids (ids bigint[]);
ALTER TABLE helper.many_ids ALTER COLUMN ids SET STORAGE EXTERNAL;
INSERT INTO helper.many_ids SELECT array_agg(-(i * 7919::bigint) % 10000019) FROM generate_series(1, 10000000) AS i;
SET statement_timeout = '300ms';
SELECT clock_timestamp() AS t0 \gset
SELECT count(*) FROM helper.many_ids, perfmodel.evaluate('line', ids);
RESET statement_timeout;
SELECT clock_timestamp() - :'t0' < '2.5 s' AS soon;
\set VERBOSITY default
DROP TABLE helper.many_ids;
-- ids in any order and twice are those ids
SELECT n, n = (SELECT count(*) FROM perfmodel.profile WHERE mode = 'train' AND world_size = 1) AS each_once
FROM (SELECT array_agg(profile_id ORDER BY i, step_ms DESC) AS ids FROM perfmodel.profile, generate_series(1, 11000) AS i
      WHERE mode = 'train' AND world_size = 1) AS p, perfmodel.evaluate('line', ids) WHERE grouped_by = 'overall';
-- questions are answered in blocks of work_mem, in the order of the arrays, whatever the size of the blocks
CREATE VIEW helper.many AS SELECT row_number() OVER () AS place, m.* FROM (
    SELECT array_agg(graph_id ORDER BY i, profile_id) AS ids, array_agg(gpu ORDER BY i, profile_id) AS gpus,
           array_agg(CASE WHEN profile_id % 7 > 0 THEN batch END ORDER BY i, profile_id) AS batches
    FROM perfmodel.profile, generate_series(1, 20) AS i) AS a, perfmodel.predict_many(ids, gpus, batches) AS m;
SET work_mem = '64kB';
CREATE TEMPORARY TABLE small_blocks AS TABLE helper.many;
RESET work_mem;
SELECT count(*) > 1000 AS many, count(step_ms) < count(*) AS some_null, bool_and(place = ordinality) AS in_order FROM small_blocks;
SELECT count(*) AS different FROM (TABLE small_blocks EXCEPT TABLE helper.many) AS x;
DROP VIEW helper.many;
-- texts in tables have a limit, and the name of the constraint says which
SELECT regexp_replace(helper.error_of(q), 'detail: Failing row[^\n]*', 'detail: (the row)') FROM unnest(ARRAY[
    $$INSERT INTO perfmodel.gpu (name) VALUES (repeat('x', 513))$$, $$INSERT INTO perfmodel.gpu (name, aliases) VALUES ('x', ARRAY[repeat('y', 5000), repeat('z', 5000)])$$,
    $$UPDATE perfmodel.gpu SET note = repeat('x', 10001) WHERE name = 'T4'$$, $$UPDATE perfmodel.graph SET name = repeat('x', 513) WHERE name = 'anet4@16'$$,
    $$UPDATE perfmodel.graph SET source = repeat('x', 1000000) WHERE name = 'anet4@16'$$,
    $$UPDATE perfmodel.profile SET framework = repeat('x', 513)$$, $$UPDATE perfmodel.profile SET source = repeat('x', 10001)$$,
    $$INSERT INTO perfmodel.op_profile (operator, gpu, batch, framework, forward_ms) VALUES ('{"format":"perfmodel-graph/1","nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0},{"id":1,"op":"Relu","inputs":[0],"shape":[1,8],"batch_dim":0}]}', 'T4', 8, repeat('x', 513), 1)$$,
    $$SELECT perfmodel.load_graph(helper.cnn('long', 8, 2) || jsonb_build_object('source', repeat('x', 10001)))$$,
    $$SELECT perfmodel.load_graph(helper.cnn('long', 8, 2) || jsonb_build_object('model', repeat('x', 513)))$$]) AS q;
BEGIN;
UPDATE perfmodel.graph SET name = repeat('x', 512), source = repeat('x', 512) WHERE name = 'anet4@16';
UPDATE perfmodel.profile SET framework = repeat('x', 512);
ROLLBACK;
-- names of which the server cannot make lower case, and that no pattern of its can be held against, are no names
SELECT regexp_replace(helper.error_of(format(q, 'repeat(''x'', 270000000)')), 'There are \d+', 'There are some') FROM unnest(ARRAY[
    'SELECT perfmodel.gpu_name(%s)', $$SELECT perfmodel.fit_cluster('any', %s)$$]) AS q;
