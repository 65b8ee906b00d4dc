-- Many predictions at once.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('anet4@16') AS g \gset

-- the answers of predict, for every kind, in the order asked
CREATE TEMP TABLE asked AS
SELECT row_number() OVER (ORDER BY md5(graph_id || gpu || batch)) AS n, graph_id, gpu, batch
FROM (SELECT graph_id FROM perfmodel.graph ORDER BY name LIMIT 6) g, unnest('{T4,Tesla T4,A100-SXM4-40GB}'::text[]) gpu, unnest('{1,8,32,33,500}'::int[]) batch;
SELECT q.name, count(*), bool_and(m.ordinality = a.n AND m.graph_id = a.graph_id AND m.gpu = a.gpu AND m.batch = a.batch) AS asked,
       bool_and((m.step_ms, m.step_ms_low, m.step_ms_high, m.samples_per_s, m.in_domain, m.predictor_id, m.note) IS NOT DISTINCT FROM
                (p.step_ms, p.step_ms_low, p.step_ms_high, p.samples_per_s, p.in_domain, p.predictor_id, p.note)) AS same
FROM perfmodel.predictor q,
     LATERAL (SELECT array_agg(graph_id ORDER BY n) AS ids, array_agg(gpu ORDER BY n) AS gpus, array_agg(batch ORDER BY n) AS batches FROM asked) l,
     LATERAL perfmodel.predict_many(ids, l.gpus, l.batches, 'amp', predictor => q.name, level => 0.8) m JOIN asked a ON a.n = m.ordinality,
     LATERAL perfmodel.predict(a.graph_id, a.gpu, a.batch, 'amp', predictor => q.name, level => 0.8) p
WHERE q.name IN ('line', 'roof', 'small') GROUP BY q.name ORDER BY q.name;
-- and those of a session that has prepared nothing, with a cache that holds nothing
CREATE TABLE helper.kept AS SELECT m.* FROM (SELECT array_agg(graph_id ORDER BY n) AS ids, array_agg(gpu ORDER BY n) AS gpus,
    array_agg(batch ORDER BY n) AS batches FROM asked) l, LATERAL perfmodel.predict_many(ids, l.gpus, l.batches, predictor => 'small') m;
\c
\pset format unaligned
SET client_min_messages = warning;
SET perfmodel.cache_mem = '1MB';
SELECT count(*), bool_and(k.step_ms = p.step_ms AND k.step_ms_low IS NOT DISTINCT FROM p.step_ms_low AND k.note IS NOT DISTINCT FROM p.note) AS same
FROM helper.kept k, LATERAL perfmodel.predict(k.graph_id, k.gpu, k.batch, predictor => 'small') p;
RESET perfmodel.cache_mem;
DROP TABLE helper.kept;

-- a larger batch never takes less time, at once or one by one
SELECT bool_and(step_ms >= before) AS monotone, count(*) FROM
    (SELECT step_ms, lag(step_ms, 1, 0.0::float8) OVER (ORDER BY batch) AS before FROM perfmodel.what_if(:g, '{T4}', ARRAY(SELECT generate_series(1, 300)), predictor => 'small')) w;

-- a question with a NULL has a row without an answer
SELECT m.ordinality, m.gpu, m.batch, m.step_ms > 0 AS answered, m.in_domain, m.predictor_id IS NULL AS nobody
FROM perfmodel.predict_many(ARRAY[:g, NULL, :g, :g], '{T4,T4,NULL,T4}', '{8,8,8,NULL}') m ORDER BY 1;
SELECT count(*) FROM perfmodel.predict_many('{}', '{}', '{}');
SELECT count(*) FROM perfmodel.predict_many(NULL, '{T4}', '{8}');
SELECT count(*) FROM perfmodel.predict_many(ARRAY[:g], '{T4}', '{8}', dtype => NULL);
SELECT count(*) FROM perfmodel.predict_many(ARRAY[:g], '{T4}', '{8}', level => NULL);

-- a grid, in the order given
SELECT gpu, batch, w.step_ms = p.step_ms AND w.note IS NOT DISTINCT FROM p.note AS same
FROM perfmodel.what_if(:g, '{T4,NULL,A100-SXM4-40GB}', '{64,8,NULL}') w LEFT JOIN LATERAL perfmodel.predict(:g, w.gpu, w.batch) p ON true;
-- NULL: the devices of the training rows, as long as they are known
SELECT array_agg(DISTINCT gpu ORDER BY gpu) = (SELECT array_agg(DISTINCT gpu ORDER BY gpu) FROM perfmodel.profile WHERE mode = 'train') AS trained,
       bool_and(step_ms > 0) AS answered
FROM perfmodel.what_if(:g, NULL, '{16}', predictor => 'line');
-- its last columns are those of predict_memory
SELECT w.gpu, w.batch, w.peak_mb = m.peak_mb AS peak, w.fits = m.fits AS fits, w.p_fits = m.p_fits AS p_fits
FROM perfmodel.what_if(:g, '{T4,V100}', '{16,1000000}') AS w, perfmodel.predict_memory(:g, w.gpu, w.batch) AS m ORDER BY 1, 2;
SELECT count(*) FROM perfmodel.what_if(:g, '{}', '{16}');
SELECT count(*) FROM perfmodel.what_if(:g, '{T4}', NULL);
SELECT count(*) FROM perfmodel.what_if(NULL, '{T4}', '{16}');

-- errors are those of predict; of the arrays, their own
SELECT regexp_replace(helper.error_of('SELECT * FROM perfmodel.' || replace(a, 'G', :'g')), 'graph_id \d+', 'graph_id N')
FROM unnest(ARRAY['predict_many(ARRAY[G,G], ''{T4}'', ''{8,8}'')', 'predict_many(ARRAY[G], ''{T4}'', ''{8,8}'')',
    'predict_many(ARRAY[[G],[G]], ''{T4,T4}'', ''{8,8}'')', 'predict_many(ARRAY[-1], ''{T4}'', ''{8}'')',
    'predict_many(ARRAY[G], ''{T5}'', ''{8}'')', 'predict_many(ARRAY[G], ''{T4}'', ''{0}'')', 'predict_many(ARRAY[G], ''{T4}'', ''{8}'', ''float99'')',
    'predict_many(ARRAY[G], ''{T4}'', ''{8}'', predictor => ''lime'')', 'predict_many(ARRAY[G], ''{T4}'', ''{8}'', level => 1)',
    'what_if(-1, ''{T4}'', ''{8}'')', 'what_if(G, ''{T5}'', ''{8}'')', 'what_if(G, NULL, ''{8}'', predictor => ''lime'')',
    'what_if(G, ''{T4}'', ''{-8}'')', 'what_if(G, ''{{T4},{T4}}'', ''{8}'')']) AS a;

-- prepared questions follow the tables as everything else that is remembered
INSERT INTO perfmodel.gpu (name, memory_gb, mem_bw_gbs, sm_count, cores_per_sm, clock_ghz, fp32_tflops, l2_mb)
SELECT 'Changing', memory_gb, mem_bw_gbs, sm_count, cores_per_sm, clock_ghz, fp32_tflops, l2_mb FROM perfmodel.gpu WHERE name = 'T4';
SELECT step_ms AS before FROM perfmodel.what_if(:g, '{Changing}', '{64}', predictor => 'small') \gset
UPDATE perfmodel.gpu SET fp32_tflops = fp32_tflops / 10, mem_bw_gbs = mem_bw_gbs / 10 WHERE name = 'Changing';
SELECT step_ms > 1.2 * :before AS slower FROM perfmodel.what_if(:g, '{Changing}', '{64}', predictor => 'small');
UPDATE perfmodel.gpu SET fp32_tflops = fp32_tflops * 10, mem_bw_gbs = mem_bw_gbs * 10 WHERE name = 'Changing';
SELECT abs(step_ms / :before - 1) < 1e-9 AS as_before FROM perfmodel.what_if(:g, '{Changing}', '{64}', predictor => 'small');
DELETE FROM perfmodel.gpu WHERE name = 'Changing';
SELECT helper.error_of(format('SELECT * FROM perfmodel.what_if(%s, %L, %L)', :g, '{Changing}', '{64}')) ~ '^42704' AS gone;
SELECT perfmodel.load_graph(helper.cnn('passing', 8, 2)) AS passing \gset
SELECT count(step_ms) FROM perfmodel.what_if(:passing, '{T4}', '{8,16}', predictor => 'small');
DELETE FROM perfmodel.graph WHERE graph_id = :passing;
SELECT helper.error_of(format('SELECT * FROM perfmodel.what_if(%s, %L, %L, predictor => %L)', :passing, '{T4}', '{32}', 'small')) ~ '^42704' AS gone;

-- questions without an answer leave nothing behind until the last of them; where the system says what the session has used (Linux)
\c -
\pset format unaligned
SELECT count(note) FROM perfmodel.predict_many(array_fill(1::bigint, '{30000}'), array_fill('T5'::text, '{30000}'), array_fill(8, '{30000}'), on_error => 'null');
SELECT count(note) FROM perfmodel.what_if(1, '{T4}', array_fill(0, '{400000}'), on_error => 'null');
SELECT coalesce((regexp_match(pg_read_file('/proc/self/status', 0, 10000, true), 'VmHWM:\s+(\d+) kB'))[1]::int < 100000, true) AS little;
