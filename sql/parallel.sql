-- The division of a model among GPUs that takes least time.
\set SHOW_CONTEXT never
\pset format unaligned
SET client_min_messages = warning;
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('twelve heads, six layers', 6, 768, 12, 256, 1000)) AS h,
       perfmodel.load_graph(perfmodel.decoder_graph('with experts', 4, 256, 4, 64, 1000, experts => 4)) AS e, perfmodel.graph_id('anet4@16') AS a \gset

-- what can be divided by itself: layers and heads, sequences within a machine, experts; of a network without layers nothing
SELECT g, member, array_agg(size ORDER BY size) AS sizes
FROM unnest(ARRAY[:h, :e, :a]::bigint[], '{heads,experts,convolutions}'::text[]) AS u (id, g), LATERAL perfmodel.parallel_sizes(u.id, 'T4', 24, 4, 'any', 'fp32', 'nchw', NULL, 'roof', 'adamw') GROUP BY 1, 2 ORDER BY 1, 2;

-- each answer is what predict() and predict_memory() say of it, about as many samples as were asked for, the fastest first, but for those within 2 % of it
SELECT n, g, total, count(*) AS answers, array_agg(DISTINCT b.step_ms = p.step_ms AND b.step_ms_low = p.step_ms_low AND b.step_ms_high = p.step_ms_high AND b.samples_per_s = p.samples_per_s AND b.in_domain = p.in_domain AND right(b.note, length(p.note)) = p.note) AS predicted,
       array_agg(DISTINCT b.peak_mb = m.peak_mb AND b.fits = m.fits AND b.p_fits = m.p_fits) AS memory, array_agg(DISTINCT perfmodel.total_batch(b.batch, n, b.parallel) = total) AS samples,
       array_agg(DISTINCT b.step_ms >= b.before OR b.step_ms <= 1.02 * b.least AND b.before <= 1.02 * b.least) FILTER (WHERE b.before IS NOT NULL) AS in_order, array_agg(b.rank ORDER BY b.rank) = array_agg(o ORDER BY o) AS ranks
FROM (VALUES (24, :h, 'heads', 240), (8, :h, 'heads', 4), (8, :e, 'experts', 64), (8, :a, 'convolutions', 64), (1, :h, 'heads', 6), (5, :h, 'heads', 35)) AS q (n, id, g, total),
     LATERAL (SELECT *, lag(step_ms) OVER (ORDER BY rank) AS before, min(step_ms) OVER () AS least, row_number() OVER () AS o FROM perfmodel.best_parallel(q.id, 'T4', q.total, q.n, predictor => 'roof', optimizer => 'adamw', cluster => 'any', answers => 100)) AS b,
     LATERAL perfmodel.predict(q.id, 'T4', b.batch, predictor => 'roof', optimizer => 'adamw', world_size => q.n, cluster => 'any', parallel => b.parallel) AS p,
     LATERAL perfmodel.predict_memory(q.id, 'T4', b.batch, optimizer => 'adamw', world_size => q.n, parallel => b.parallel) AS m
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- no choice that fits is faster than the fastest
SELECT min(p.step_ms) = (SELECT min(b.step_ms) FROM perfmodel.best_parallel(:h, 'T4', 240, 24, predictor => 'roof', optimizer => 'adamw', cluster => 'any', answers => 100) AS b) AS fastest,
       1.02 * min(p.step_ms) >= (SELECT b.step_ms FROM perfmodel.best_parallel(:h, 'T4', 240, 24, predictor => 'roof', optimizer => 'adamw', cluster => 'any', answers => 1) AS b) AS first, count(*) > 100 AS many
FROM perfmodel.parallel_choices(:h, 'T4', 240, 24, NULL, 'any', 'fp32', 'nchw', NULL, 'roof', 'adamw', '{}') AS c,
     LATERAL perfmodel.predict(:h, 'T4', c.batch, predictor => 'roof', optimizer => 'adamw', world_size => 24, cluster => 'any', parallel => c.parallel, on_error => 'null') AS p,
     LATERAL perfmodel.predict_memory(:h, 'T4', c.batch, optimizer => 'adamw', world_size => 24, parallel => c.parallel, on_error => 'null') AS m
WHERE m.fits AND p.step_ms IS NOT NULL;
SELECT count(*) AS answers FROM perfmodel.best_parallel(:a, 'T4', 64, 8, predictor => 'roof', answers => 100);

-- each divisor of a GPU's samples is a batch, also above 16
SELECT array_agg(DISTINCT batch ORDER BY batch) @> '{5,12,20,24,30,40,60,120}' AS divisors, bool_and(perfmodel.total_batch(batch, 1, parallel) = 120) AS samples
FROM perfmodel.parallel_choices(:a, 'T4', 120, 1, NULL, NULL, 'fp32', 'nchw', NULL, 'roof', 'adamw', '{}');
-- where some divisions fit, only these are answers; and one that is left out takes no less time than one that is there and divides no more
WITH asked AS MATERIALIZED (
    SELECT c.*, p.step_ms, m.fits
    FROM perfmodel.parallel_choices(:h, 'T4', 4800, 24, 3, 'any', 'fp32', 'nchw', NULL, 'roof', 'adamw', '{"recompute": false, "accumulation": 4}') AS c,
         LATERAL perfmodel.predict(:h, 'T4', c.batch, predictor => 'roof', optimizer => 'adamw', world_size => 24, nodes => 3, cluster => 'any', parallel => c.parallel, on_error => 'null') AS p,
         LATERAL perfmodel.predict_memory(:h, 'T4', c.batch, optimizer => 'adamw', world_size => 24, parallel => c.parallel, on_error => 'null') AS m
    WHERE p.step_ms IS NOT NULL
), answered AS MATERIALIZED (
    SELECT b.*, c.division FROM perfmodel.best_parallel(:h, 'T4', 4800, 24, predictor => 'roof', optimizer => 'adamw', nodes => 3, cluster => 'any', fixed => '{"recompute": false, "accumulation": 4}', answers => 1000) AS b JOIN asked AS c USING (batch, parallel)
)
SELECT (SELECT bool_and(fits) FROM answered) AS all_fit, (SELECT count(DISTINCT a.division) > 0 FROM asked AS a WHERE NOT EXISTS (SELECT FROM asked AS f WHERE f.division = a.division AND f.fits)) AS some_do_not,
       (SELECT count(*) FROM asked AS a WHERE a.fits AND NOT EXISTS (SELECT FROM answered AS b WHERE b.step_ms <= a.step_ms AND (SELECT bool_and(u.b <= u.a) FROM unnest(b.division, a.division) AS u (b, a)))) AS missed;

-- members that are given are in each answer, as given
SELECT f, count(*) > 0 AS answers, bool_and(parallel @> f::jsonb) AS given, bool_and(NOT parallel ?& '{accumulation,micro_batches}') AS one_name, bool_and(perfmodel.total_batch(batch, 24, parallel) = 120) AS samples, bool_or(parallel ? 'zero') AS zero
FROM unnest(ARRAY['{}', '{"zero": 1, "master_weights": true}', '{"tp": 4}', '{"pp": 3, "accumulation": 5}', '{"micro_batches": 5}', '{"zero": 3, "shard": 4}', '{"recompute": true}', '{"pp": 2, "interleave": 3}', '{"tp": 2.0}', '{"accumulation": 5.0}']) AS f,
     LATERAL perfmodel.best_parallel(:h, 'T4', 120, 24, 'fp16', predictor => 'roof', optimizer => 'adamw', cluster => 'any', fixed => f::jsonb, answers => 100) GROUP BY f ORDER BY f;

-- nothing fits: those that need least
SELECT count(*) AS answers, bool_or(fits) AS fits, bool_and(note LIKE 'no division fits%') AS said, array_agg(peak_mb ORDER BY rank) = array_agg(peak_mb ORDER BY peak_mb) AS in_order
FROM perfmodel.best_parallel(:h, 'T4', 8000000, 1, predictor => 'roof', fixed => '{"accumulation": 1}');

-- a total batch of which not all copies can have a part
SELECT total, bool_and(note LIKE 'total_batch % is no multiple of world_size 8, %') AS said, bool_or(note LIKE 'total_batch%') AS sometimes
FROM unnest('{64,60}'::int[]) AS total, LATERAL perfmodel.best_parallel(:h, 'T4', total, 8, predictor => 'roof') GROUP BY 1 ORDER BY 1;

-- what cannot be asked
SELECT count(*) FROM perfmodel.best_parallel(NULL, 'T4', 8, 8);
SELECT count(*) FROM perfmodel.best_parallel(:h, 'T4', 8, 8, answers => NULL);
SELECT q, helper.error_of(format('SELECT * FROM perfmodel.best_parallel(' || q || ')', :h, :a))
FROM unnest(ARRAY['%s, ''T4'', 0, 8', '%s, ''T4'', 8, 0', '%s, ''T4'', 8, 65537', '%s, ''T4'', 8, 8, fixed => ''[]''', '%s, ''T5'', 8, 8', '-5, ''T4'', 8, 8', '%s, ''T4'', 8, 8, ''fp33''',
                  '%s, ''T4'', 8, 8, cluster => ''nowhere''', '%2$s, ''T4'', 7, 8', '%s, ''T4'', 16, 8, predictor => ''roof'', fixed => ''{"tp": "x"}''', '%s, ''T4'', 16, 8, predictor => ''roof'', fixed => ''{"tpp": 2}''',
                  '%s, ''T4'', 80, 8, predictor => ''roof'', fixed => ''{"tp": 8}''', '%s, ''T4'', 80, 8, predictor => ''roof'', fixed => ''{"accumulation": 1.5}''', '%s, ''T4'', 80, 8, predictor => ''roof'', fixed => ''{"shard": 2}''', '%s, ''T4'', 80, 8, predictor => ''roof'', nodes => 0',
                  '%s, ''T4'', 80, 8, predictor => ''roof'', fixed => ''{"tp": 3}''']) AS q;
ROLLBACK;
