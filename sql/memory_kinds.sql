-- Ways to predict peak memory, judged as those to predict time are.
SET client_min_messages = warning;
SELECT kind, summary <> '' AS described FROM perfmodel.memory_kinds();
-- no row says what memory it took
CREATE TEMP TABLE others AS SELECT profile_id, peak_memory_mb FROM perfmodel.profile;
UPDATE perfmodel.profile SET peak_memory_mb = NULL;
SELECT regexp_replace(helper.error_of('SELECT * FROM perfmodel.cross_validate(''memory'', quantity => ''peak_memory_mb'')'), '[0-9]+ of [0-9]+', 'N of N') AS error_of;
-- two devices, whose memory follows what is simulated, each in its own way; rows without a peak are left out
CREATE TEMP TABLE made AS
SELECT perfmodel.load_graph(helper.cnn(format('%smade%s@%s', chr(97 + i % 6), i, 30 + i), 16 + 4 * (i % 7), 1 + i % 5, 30 + i)) AS graph_id, 4 ^ (i % 6) * 16 AS batch FROM generate_series(1, 36) AS i;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, framework, step_ms, peak_memory_mb)
SELECT graph_id, gpu, batch, 'amp', 'pytorch 1.13', 1, constant + factor * (peak_mb - context_mb - workspace_mb) + workspace_mb
FROM made, (VALUES ('T4', 900, 1.1), ('L4', 1500, 1.05)) AS d(gpu, constant, factor), perfmodel.predict_memory(graph_id, gpu, batch::int, 'amp', framework => 'pytorch 1.13');
SELECT array_agg(p.profile_id) AS ids FROM perfmodel.profile AS p JOIN made USING (graph_id) \gset
-- the columns of times are those of times, the columns of memory those of memory
SELECT grouped_by, group_name, n, mape_pct > 0 AND mape_pct < 3 AS small, abs(bias_pct) <= mape_pct AS bias, mae_ms IS NULL AND rmse_ms IS NULL AS no_ms,
       mae_mb > 0 AND mae_mb <= rmse_mb * (1 + 1e-9) AS mb, coverage_pct, interval_width_pct > 0 AS width, in_domain_pct, train_s > 0 AND predict_us > 0 AS cost
FROM perfmodel.cross_validate('memory', quantity => 'peak_memory_mb') WHERE grouped_by IN ('overall', 'gpu', 'dtype', 'framework', 'family') ORDER BY grouped_by, group_name;
SELECT count(*) AS folds, sum(n) AS n FROM perfmodel.cross_validate('memory', folds => 4, quantity => 'peak_memory_mb') WHERE grouped_by = 'fold';
SELECT mae_ms IS NOT NULL AND rmse_ms IS NOT NULL AS ms, mae_mb IS NULL AND rmse_mb IS NULL AS no_mb FROM perfmodel.cross_validate('linear', quantity => 'step_ms') WHERE grouped_by = 'overall';
SELECT mae_ms IS NOT NULL AND rmse_ms IS NOT NULL AS ms, mae_mb IS NULL AND rmse_mb IS NULL AS no_mb FROM perfmodel.leaderboard('{linear}', '{structure}');
-- all kinds on all splits: the figures of cross_validate, best first; factors that were fitted are better than those that were not
CREATE TEMP TABLE board AS SELECT row_number() OVER () AS place, l.* FROM perfmodel.leaderboard(folds => 4, splits => '{structure,family,far,batch,gpu}', quantity => 'peak_memory_mb') AS l;
SELECT split, count(*) AS kinds, min(n) AS n, max(n) AS n_max, bool_and(mae_ms IS NULL AND rmse_ms IS NULL AND mae_mb <= rmse_mb * (1 + 1e-9) AND train_s >= 0 AND predict_us > 0) AS sane,
       min(place) FILTER (WHERE kind = 'memory') < min(place) FILTER (WHERE kind <> 'memory') AS fitted_is_best
FROM board GROUP BY split ORDER BY split;
SELECT bool_and(place = wanted) AS ordered FROM (SELECT place, row_number() OVER (ORDER BY split, mape_pct, kind) AS wanted FROM board) AS b;
SELECT bool_and(b.n = c.n AND abs(b.mape_pct - c.mape_pct) <= 0.0001 AND abs(b.mae_mb - c.mae_mb) <= 0.1 AND abs(b.rmse_mb - c.rmse_mb) <= 0.1) AS same
FROM board AS b, LATERAL perfmodel.cross_validate(b.kind, perfmodel.all_profiles(), 4, b.split, quantity => 'peak_memory_mb') AS c WHERE c.grouped_by = 'overall';
-- of a device that was left out only what ships is known; intervals are those of the simulation alone
SELECT count(DISTINCT mape_pct) AS figures FROM board WHERE split = 'gpu' AND kind IN ('memory', 'memory_shipped');
SELECT kind, coverage_pct IS NULL AND interval_width_pct IS NULL AND in_domain_pct IS NULL AS no_interval
FROM perfmodel.memory_kinds() AS k, LATERAL perfmodel.cross_validate(k.kind, quantity => 'peak_memory_mb') AS c WHERE c.grouped_by = 'overall' ORDER BY kind;
-- what is not fitted has the errors that compare_memory says
SELECT c.method, abs(sum(c.mape_pct * c.n) / sum(c.n) - min(b.mape_pct)) < 0.01 AS same
FROM perfmodel.compare_memory() AS c JOIN board AS b ON (c.method, b.kind) IN (('simulation, as shipped', 'memory_shipped'), ('static sum', 'memory_static'))
WHERE b.split = 'structure' GROUP BY c.method ORDER BY c.method;
-- chosen kinds and rows, the same figures again, other folds by another seed; nothing is stored
SELECT kind, split, n FROM perfmodel.leaderboard('{memory_sums,memory,memory}', '{structure}', profiles => :'ids', quantity => 'peak_memory_mb') ORDER BY kind;
SELECT count(DISTINCT mape_pct) AS figures FROM (SELECT options, (perfmodel.cross_validate('memory', options => options, quantity => 'peak_memory_mb')).*
    FROM unnest('{"{}","{\"seed\":42}","{\"seed\":7}"}'::jsonb[]) AS options) AS c WHERE grouped_by = 'overall';
SELECT count(DISTINCT (mape_pct, mae_mb, rmse_mb)) AS figures FROM unnest('{"{}","{\"memory\":{\"seed\":42}}","{\"memory\":{\"seed\":7}}"}'::jsonb[]) AS options,
    perfmodel.leaderboard('{memory}', '{structure}', options => options, quantity => 'peak_memory_mb');
SELECT count(*) FROM perfmodel.memory_factor;
-- a regression on fewer rows of a device than it has coefficients learns from the others, too
SELECT n, mape_pct < 100 AS sane FROM perfmodel.cross_validate('memory_sums', folds => 2, quantity => 'peak_memory_mb',
    profiles => (SELECT array_agg(profile_id) FROM (SELECT profile_id, gpu, row_number() OVER (PARTITION BY gpu ORDER BY profile_id) AS i
                 FROM perfmodel.profile WHERE profile_id = ANY (:'ids'::bigint[])) AS p WHERE gpu = 'L4' OR i <= 3)) WHERE grouped_by = 'overall';
-- errors
SELECT helper.error_of(format('SELECT * FROM perfmodel.cross_validate(%s, quantity => ''peak_memory_mb'')', args)) AS error_of
FROM unnest(ARRAY['''nope''', 'NULL', '''memory'', folds => 1', '''memory'', split => ''time''', '''memory'', profiles => ''{}''', '''memory'', options => ''{"epochs": 3}''',
                  '''memory'', options => ''[]''', '''memory'', split => ''family'', folds => 20']) AS args;
SELECT helper.error_of(format('SELECT * FROM perfmodel.leaderboard(%s, quantity => ''peak_memory_mb'')', args)) AS error_of
FROM unnest(ARRAY['''{linear}''', '''{memory,NULL}''', 'options => ''[]''', '''{memory}'', options => ''{"memroy": {}}''', '''{memory}'', options => ''{"memory": 3}''']) AS args;
SELECT helper.error_of(format('SELECT * FROM perfmodel.cross_validate(''memory_sums'', ''{%s}'', 2, quantity => ''peak_memory_mb'')',
                              (SELECT string_agg(id::text, ',') FROM (SELECT id FROM unnest(:'ids'::bigint[]) AS id ORDER BY id LIMIT 4) AS few))) AS error_of;
SELECT helper.error_of(s) AS error_of FROM unnest(ARRAY['SELECT perfmodel.train(''m'', ''memory'')', 'SELECT * FROM perfmodel.cross_validate(''memory'')',
    'SELECT * FROM perfmodel.evaluate(quantity => ''peak_memory_mb'')', 'SELECT * FROM perfmodel.cross_validate(''memory'', quantity => ''watts'')']) AS s;
DELETE FROM perfmodel.profile WHERE profile_id = ANY (:'ids'::bigint[]);
DELETE FROM perfmodel.graph WHERE graph_id IN (SELECT graph_id FROM made);
UPDATE perfmodel.profile AS p SET peak_memory_mb = o.peak_memory_mb FROM others AS o WHERE o.profile_id = p.profile_id;
DROP TABLE board;
