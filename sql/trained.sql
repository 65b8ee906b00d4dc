-- Rows that a predictor learned from are known by what they say, under whatever number they come back.
\pset format unaligned
SET client_min_messages = warning;
-- the same in every database, on every machine
SELECT perfmodel.row_hash('00000000000000ff', 'T4', 8, 'fp32', 'nchw', 'pytorch 2', 'adam', 12.5) AS hash,
       perfmodel.row_hash('00000000000000ff', 'T4', 8, 'fp32', 'nchw', NULL, 'adam', 12.5) = perfmodel.row_hash('ff', 'T4', 8, 'fp32', 'nchw', '', 'adam', 12.5) AS no_framework,
       perfmodel.row_hash('ff', NULL, 8, 'fp32', 'nchw', NULL, 'adam', 12.5) IS NULL AS no_gpu;
SELECT count(DISTINCT perfmodel.row_hash(s, g, b, d, 'nchw', f, o, t)) AS different
FROM unnest('{1,2}'::text[]) AS s, unnest('{T4,A40}'::text[]) AS g, unnest('{1,2}'::int[]) AS b, unnest('{fp32,amp}'::text[]) AS d, unnest('{a,b}'::text[]) AS f,
     unnest('{sgd,adam}'::text[]) AS o, unnest('{1,1.0000000000000002}'::float8[]) AS t;
SELECT helper.error_of(format('SELECT perfmodel.row_hash(%L, ''T4'', 8, ''fp32'', ''nchw'', NULL, ''adam'', 12.5)', s)) FROM unnest('{graph,"",-1," 1",0x1,ffffffffffffffff1}'::text[]) AS s;
BEGIN;
SELECT array_agg(profile_id) AS half FROM perfmodel.profile WHERE mode = 'train' AND world_size = 1 AND profile_id % 2 = 0 \gset
SELECT perfmodel.train('known', 'linear', :'half') > 0 AS trained;
SELECT cardinality(row_hashes) = n_profiles AS all_rows, row_hashes = ARRAY(SELECT h FROM unnest(row_hashes) AS h ORDER BY 1) AS sorted FROM perfmodel.predictor WHERE name = 'known';
SELECT (SELECT array_agg(t ORDER BY t) FROM perfmodel.trained_profiles('known') AS t) = (SELECT array_agg(h ORDER BY h) FROM unnest(:'half'::bigint[]) AS h) AS learned;
-- neither a forward pass nor a step on two devices is one of them, nor new to it, though it says the same
SAVEPOINT twins;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, optimizer, step_ms, mode, world_size)
SELECT p.graph_id, p.gpu, p.batch, p.dtype, p.layout, p.framework, p.optimizer, p.step_ms, v.mode, v.world_size
FROM perfmodel.profile AS p, (VALUES ('inference', 1), ('train', 2)) AS v(mode, world_size) WHERE p.profile_id = (:'half'::bigint[])[1] RETURNING mode, world_size;
SELECT count(*) = cardinality(:'half'::bigint[]) AS no_more, (SELECT count(*) FROM perfmodel.residuals('known') AS r JOIN perfmodel.profile AS p USING (profile_id) WHERE p.mode <> 'train' OR p.world_size > 1) AS judged
FROM perfmodel.trained_profiles('known');
SELECT cardinality(perfmodel.unseen_profiles('known')) = (SELECT count(*) FROM perfmodel.profile WHERE mode = 'train' AND world_size = 1 AND profile_id % 2 <> 0) AS others;
ROLLBACK TO twins;
SELECT cardinality(perfmodel.unseen_profiles('known')) = (SELECT count(*) FROM perfmodel.profile WHERE mode = 'train' AND world_size = 1 AND profile_id % 2 <> 0) AS others;
-- the rows come again under other numbers, as from a file; one of them says another time
CREATE TEMP TABLE again AS SELECT p.* FROM perfmodel.profile AS p WHERE p.profile_id = ANY (:'half');
DELETE FROM perfmodel.profile WHERE profile_id = ANY (:'half');
SELECT count(*) AS none_left FROM perfmodel.trained_profiles('known');
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, optimizer, step_ms)
SELECT graph_id, gpu, batch, dtype, layout, framework, optimizer, step_ms * CASE row_number() OVER (ORDER BY profile_id) WHEN 1 THEN 1.25 ELSE 1 END FROM again;
SELECT count(*) = cardinality(:'half'::bigint[]) - 1 AS learned, bool_and(t <> ALL (:'half')) AS other_numbers FROM perfmodel.trained_profiles('known') AS t;
SELECT e.group_name, e.n = CASE e.group_name WHEN 'learned from' THEN cardinality(:'half'::bigint[]) - 1 ELSE cardinality(perfmodel.unseen_profiles('known')) END AS counted
FROM perfmodel.evaluate('known') AS e WHERE e.grouped_by = 'training' ORDER BY 1;
SELECT count(*) > 0 AS judged, bool_and(r.profile_id = ANY (perfmodel.unseen_profiles('known'))) AS unseen FROM perfmodel.residuals('known') AS r;
SELECT r.n_profiles = cardinality(perfmodel.unseen_profiles('known')) AS on_unseen, r.n_trained_on FROM perfmodel.recalibrate('known', name => 'more') AS r;
-- what a recalibration used is known as well, and so is what its base learned from
SELECT (SELECT count(*) FROM perfmodel.trained_profiles('more')) = (SELECT count(*) FROM perfmodel.profile WHERE mode = 'train' AND world_size = 1) AS all_of_them, perfmodel.unseen_profiles('more') AS unseen;
SELECT perfmodel.drop_predictor('known') > 0 AS dropped;
SELECT perfmodel.unseen_profiles('more') AS unseen;
SELECT split_part(helper.error_of($$SELECT perfmodel.trained_profiles('nobody')$$), E'\n', 1) AS error;
ROLLBACK;
