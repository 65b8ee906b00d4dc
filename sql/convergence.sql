-- Trainings until a target: curves over batch sizes, time, goodput, the best batch.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('anet4@16') AS g \gset
-- samples that follow the noise of gradients: twice as many at a batch of 512
BEGIN;
INSERT INTO perfmodel.convergence (graph_id, dataset, target, batch, reached, samples_to_target)
SELECT :g, 'toy', '0.9', b, true, 1e6 * (1 + b / 512.0) FROM unnest('{32,64,128,256,512,1024}'::int[]) AS b;
INSERT INTO perfmodel.convergence (graph_id, dataset, target, batch, reached) VALUES (:g, 'toy', '0.9', 1024, false), (:g, 'toy', '0.9', 4096, false), (:g, 'toy', '0.99', 64, false);
SELECT batch, round(expected_samples / 1e5) AS samples, spread < 0.1 AS narrow, p_reached, curve, round(critical_batch, -2) AS critical
FROM (SELECT batch, expected_samples, spread, p_reached, curve, critical_batch::numeric FROM perfmodel.samples_to_target(:g, '{16,64,512,2048}', 'toy', '0.9')) AS s;
SELECT t.total_batch, t.steps = ceil(t.expected_samples / t.total_batch) AS steps, helper.close(t.seconds, j.seconds) AS seconds,
       t.seconds_low < j.seconds_low AND t.seconds_high > j.seconds_high AS wider, t.p_reached, t.curve
FROM perfmodel.time_to_target(:g, 'T4', 16, 'toy', '0.9', world_size => 4, predictor => 'roof') AS t,
     LATERAL perfmodel.predict_job(:g, 'T4', 16, samples => t.expected_samples, world_size => 4, predictor => 'roof') AS j;
-- wider at each higher level
SELECT count(*) AS levels, count(DISTINCT t.seconds) AS same, bool_and(t.wider) AS wider FROM (
    SELECT t.seconds, t.seconds_high / t.seconds_low > lag(t.seconds_high / t.seconds_low, 1, 1.0::float8) OVER (ORDER BY level)
               AND power(ln(t.seconds_high / t.seconds), 2) - power(ln(j.seconds_high / j.seconds), 2)
                   > 1.001 * lag(power(ln(t.seconds_high / t.seconds), 2) - power(ln(j.seconds_high / j.seconds), 2), 1, 0::float8) OVER (ORDER BY level) AS wider
    FROM unnest('{0.5,0.6,0.7,0.79,0.8,0.89,0.9,0.94,0.95,0.98,0.99,0.999}'::float8[]) AS level,
         LATERAL perfmodel.time_to_target(:g, 'T4', 16, 'toy', '0.9', world_size => 4, predictor => 'roof', level => level) AS t,
         LATERAL perfmodel.predict_job(:g, 'T4', 16, samples => t.expected_samples, world_size => 4, predictor => 'roof', level => level) AS j) AS t;
SELECT l, helper.error_of(format('SELECT perfmodel.time_to_target(%s, ''T4'', 16, ''toy'', ''0.9'', predictor => ''roof'', level => %s)', :g, l)) FROM unnest('{0.4,1}'::text[]) AS l;
-- the squares of both intervals add up: that of the step, and so many standard deviations of the samples that the level says, of a normal distribution
SELECT v.level, abs(sqrt(power(ln(t.seconds_high / t.seconds), 2) - power(ln(j.seconds_high / j.seconds), 2)) / (v.deviations * s.spread) - 1) < 0.005 AS above,
       abs(sqrt(power(ln(t.seconds / t.seconds_low), 2) - power(ln(j.seconds / j.seconds_low), 2)) / (v.deviations * s.spread) - 1) < 0.005 AS below
FROM (VALUES (0.5::float8, 0.6745), (0.8, 1.2816), (0.9, 1.6449), (0.99, 2.5758)) AS v(level, deviations),
     perfmodel.samples_to_target(:g, '{64}', 'toy', '0.9') AS s,
     LATERAL perfmodel.time_to_target(:g, 'T4', 16, 'toy', '0.9', world_size => 4, predictor => 'roof', level => v.level) AS t,
     LATERAL perfmodel.predict_job(:g, 'T4', 16, samples => t.expected_samples, world_size => 4, predictor => 'roof', level => v.level) AS j;
-- two runs at a batch: the geometric mean, 2e6; the noise is the mean variance over the mean square, (4 + 4) / (0.01 + 0.03)
SAVEPOINT means;
INSERT INTO perfmodel.convergence (graph_id, dataset, target, batch, reached, samples_to_target) VALUES (:g, 'means', '', 64, true, 1e6), (:g, 'means', '', 64, true, 4e6);
SELECT round(expected_samples) AS samples FROM perfmodel.samples_to_target(:g, '{64}', 'means');
INSERT INTO perfmodel.convergence (graph_id, dataset, batch, grad_sqr, grad_var) VALUES (:g, 'means', 64, 0.01, 4), (:g, 'means', 64, 0.03, 4);
SELECT round(noise_scale::numeric, 6) AS noise FROM perfmodel.samples_to_target(:g, '{64}', 'means');
ROLLBACK TO means;
-- what a sample is worth falls with the batch
SELECT g.total_batch, round(g.efficiency::numeric, 2) AS efficiency, helper.close(g.goodput_per_s, g.efficiency * g.samples_per_s) AS product
FROM unnest('{64,512}'::int[]) AS b, LATERAL perfmodel.goodput(:g, 'T4', b, 64, 'toy', '0.9', predictor => 'roof') AS g;
SELECT b, helper.error_of(format('SELECT * FROM perfmodel.goodput(%s, ''T4'', 8, %s, ''toy'', ''0.9'', predictor => ''roof'')', :g, b)) FROM unnest('{0,-1}'::int[]) AS b;
-- NULLs have no answer, and no reason but that
SELECT t.seconds IS NULL AND t.note IS NULL AS no_time, g.efficiency IS NULL AND g.note ~ 'no efficiency' IS NOT TRUE AS no_goodput, w.goodput_per_s IS NULL AND w.note IS NULL AS no_world,
       (SELECT array_agg(s.batch) FROM perfmodel.samples_to_target(:g, '{8,NULL,64}', 'toy', '0.9') AS s) AS batches
FROM perfmodel.time_to_target(:g, 'T4', NULL, 'toy', '0.9', predictor => 'roof') AS t, perfmodel.goodput(:g, 'T4', 64, NULL, 'toy', '0.9', predictor => 'roof') AS g,
     perfmodel.goodput(:g, 'T4', 64, 64, 'toy', '0.9', predictor => 'roof', world_size => NULL) AS w;
-- what it rests on, and what is missing
SELECT t, g.efficiency IS NULL AS none, g.goodput_per_s IS NULL AS no_goodput, g.note FROM unnest('{0.9,0.99,0.5}'::text[]) AS t, LATERAL perfmodel.goodput(:g, 'A100', 64, 64, 'toy', t, predictor => 'roof') AS g;
SELECT note FROM perfmodel.goodput(:g, 'T4', 64, 64, 'toy', '0.9', predictor => 'roof');
SAVEPOINT one_batch;
INSERT INTO perfmodel.convergence (graph_id, dataset, target, batch, reached, samples_to_target) VALUES (:g, 'toy', '0.5', 64, true, 1e6);
SELECT efficiency, note FROM perfmodel.goodput(:g, 'T4', 64, 512, 'toy', '0.5', predictor => 'roof');
SELECT curve, note FROM perfmodel.time_to_target(:g, 'T4', 64, 'toy', '0.5', predictor => 'roof');
-- far from the runs the interval is wide, and whether the target is reached is not known; each answer says so
INSERT INTO perfmodel.convergence (graph_id, dataset, target, batch, reached, samples_to_target) SELECT :g, 'far', '0.9', b, true, 1e6 FROM unnest('{256,1024,4096}'::int[]) AS b;
SELECT batch, round(spread::numeric, 2) AS spread, p_reached, note, reasons FROM perfmodel.samples_to_target(:g, '{1,128,256,600,4096,8192,1048576}', 'far', '0.9') ORDER BY batch;
SELECT total_batch, p_reached, seconds_high / seconds > 20 AS wide, note FROM unnest('{256,1048576}'::int[]) AS b, perfmodel.time_to_target(:g, 'A100', b, 'far', '0.9', predictor => 'roof');
SELECT batch, best, substring(note FROM '(?:total batch|all batches).*') AS note FROM perfmodel.best_batch(:g, 'A100', 'far', '0.9', batches => '{512,8192}', predictor => 'roof');
SELECT note FROM perfmodel.goodput(:g, 'A100', 8192, 128, 'far', '0.9', predictor => 'roof');
-- of CO2, which is no column here and cannot be asked for, nothing is said
SELECT count(*) FILTER (WHERE note LIKE '%CO2%') AS co2, count(*) FILTER (WHERE note LIKE '%no cost%') AS cost FROM perfmodel.best_batch(:g, 'T4', 'toy', '0.9', predictor => 'roof');
SELECT target, batch, note LIKE '%all batches are taken to need as many samples' AS constant
FROM unnest('{0.5,0.9}'::text[]) AS target, perfmodel.best_batch(:g, 'T4', 'toy', target, batches => '{64,128}', predictor => 'roof') ORDER BY 1, 2;
ROLLBACK TO one_batch;
-- of the batches that fit the fastest, or the cheapest that is in time
SELECT count(*), count(*) FILTER (WHERE best) AS best, bool_and(fits) FILTER (WHERE best) AS fits,
       min(seconds) FILTER (WHERE fits) = min(seconds) FILTER (WHERE best) AS fastest, bool_and(in_time IS NULL) AS no_deadline
FROM perfmodel.best_batch(:g, 'T4', 'toy', '0.9', predictor => 'roof');
SELECT count(*) FILTER (WHERE best) AS best, bool_and(in_time) FILTER (WHERE best) AS in_time, min(gpu_hours) FILTER (WHERE fits AND in_time) = min(gpu_hours) FILTER (WHERE best) AS cheapest
FROM perfmodel.best_batch(:g, 'T4', 'toy', '0.9', deadline => '1 year', predictor => 'roof');
-- none is in time: none is best, and the nearest of those that fit says so
SELECT count(*) FILTER (WHERE best) AS best, bool_or(in_time) AS in_time, count(*) FILTER (WHERE note ~ '^no batch that fits meets the deadline: this one is nearest to it; ') AS said,
       min(seconds) FILTER (WHERE fits) = min(seconds) FILTER (WHERE note ~ '^no batch') AS nearest
FROM perfmodel.best_batch(:g, 'T4', 'toy', '0.9', deadline => '1 second', predictor => 'roof');
-- a number alone is one of seconds, which is said, once
SET client_min_messages = notice;
SELECT count(*) > 3 AS batches FROM perfmodel.best_batch(:g, 'T4', 'toy', '0.9', deadline => '12', predictor => 'roof');
SELECT count(*) > 3 AS batches FROM perfmodel.best_batch(:g, 'T4', 'toy', '0.9', deadline => '12 hours', predictor => 'roof');
SET client_min_messages = warning;
-- no run has reached it: no answer
SELECT batch, expected_samples, note, reasons FROM perfmodel.samples_to_target(:g, '{64,NULL,128}', 'Toy', '0.9');
SELECT count(*) FROM perfmodel.samples_to_target(:g, '{64}', 'toy', '0.99') WHERE expected_samples IS NULL AND note IS NOT NULL;
SELECT count(*) FROM perfmodel.samples_to_target(:g, '{64}', NULL, '0.9');
SELECT total_batch, seconds IS NULL AS none, note FROM perfmodel.time_to_target(:g, 'T4', 8, 'toy', '0.99', world_size => 2, predictor => 'roof');
SELECT batch, total_batch, seconds, best, note FROM perfmodel.best_batch(:g, 'T4', batches => '{8}', predictor => 'roof');
-- a batch that is given twice is one batch
SELECT batch, best FROM perfmodel.best_batch(:g, 'T4', 'toy', '0.9', batches => '{64,128,64,NULL,128}', predictor => 'roof');
SELECT t IS NULL AS nothing FROM perfmodel.time_to_target(NULL, 'T4', 8) AS t;
-- one batch, and the noise that it reported
DELETE FROM perfmodel.convergence WHERE batch > 32;
SELECT batch, round(expected_samples / 1e5) AS samples, round(spread::numeric, 3) AS spread, curve FROM perfmodel.samples_to_target(:g, '{32,3200}', 'toy', '0.9');
INSERT INTO perfmodel.convergence (graph_id, dataset, batch, grad_sqr, grad_var) VALUES (:g, 'toy', 32, 0.01, 4), (:g, 'toy', 32, 0.03, 12);
SELECT batch, round(expected_samples / 1e5) AS samples, curve, noise_scale FROM perfmodel.samples_to_target(:g, '{32,3200}', 'toy', '0.9');
SELECT v, helper.error_of('INSERT INTO perfmodel.convergence (graph_id, batch, reached, samples_to_target) SELECT min(graph_id), ' || v || ' FROM perfmodel.graph') AS error_of
FROM unnest('{"8, true, NULL","0, true, 100","8, true, 0.5","8, false, ''NaN''"}'::text[]) AS v;
SELECT helper.error_of(format('SELECT * FROM perfmodel.best_batch(%s, ''T4'', ''toy'', ''0.9'', deadline => %L)', :g, d)) AS error_of FROM unnest('{-1 hour,0}'::text[]) AS d;
SELECT helper.error_of(format('INSERT INTO perfmodel.convergence (graph_id, batch, grad_sqr, grad_var) SELECT min(graph_id), 8, %s FROM perfmodel.graph', v)) ~ 'in_range' AS quotient_of_numbers FROM unnest('{"1e-300, 1","1, 1e300","1e100, 1e-300"}'::text[]) AS v;
SELECT helper.error_of(format('INSERT INTO perfmodel.convergence (graph_id, batch, grad_sqr, grad_var) VALUES (%s, 8, 1e100, 1e-300)', :g));
-- what the table takes has an answer, or an error that says which network it is
CREATE FUNCTION pg_temp.outcome(statement text) RETURNS text LANGUAGE sql AS $$SELECT CASE WHEN e IN ('no error', '') THEN e WHEN e ~ '^22023: the runs of network "anet4@16" lead to [0-9.]+e[+](1[5-9]|2[0-9]) samples at a total batch of ' THEN 'said' ELSE e END FROM helper.error_of(statement) AS e$$;
CREATE TEMP TABLE extreme (nr int, batch int, reached boolean, samples float8, grad_sqr float8, grad_var float8);
INSERT INTO extreme SELECT s * 1000 + v * 100 + b, batch, (s + b) % 5 <> 0, (ARRAY[1, 1e18, 1e9])[1 + (s / (1 + b)) % 3], (ARRAY[0, 1e-100, 1, 1e100])[1 + v / 4], (ARRAY[0, 1e-100, 1, 1e100])[1 + v % 4]
FROM generate_series(0, 26) AS s, generate_series(0, 15) AS v, unnest('{1,2,64,2147483647}'::int[]) WITH ORDINALITY AS u(batch, b) WHERE v % 5 = s % 5 AND b <= 1 + s % 4;
DO $$
DECLARE
    way int;
BEGIN
    CREATE TEMP TABLE outcome (function text, outcome text);
    FOR way IN SELECT DISTINCT e.nr / 100 FROM extreme AS e LOOP
        DELETE FROM perfmodel.convergence;
        INSERT INTO perfmodel.convergence (graph_id, batch, reached, samples_to_target, grad_sqr, grad_var)
        SELECT perfmodel.graph_id('anet4@16'), e.batch, e.reached, e.samples, e.grad_sqr, e.grad_var FROM extreme AS e WHERE e.nr / 100 = way;
        INSERT INTO outcome SELECT f, pg_temp.outcome(format('SELECT * FROM perfmodel.%s', f)) FROM unnest(ARRAY['samples_to_target(perfmodel.graph_id(''anet4@16''), ''{1,16,2147483647}'')',
            'time_to_target(perfmodel.graph_id(''anet4@16''), ''T4'', 1, predictor => ''roof'')', 'time_to_target(perfmodel.graph_id(''anet4@16''), ''T4'', 16777216, predictor => ''roof'')',
            'goodput(perfmodel.graph_id(''anet4@16''), ''T4'', 1, 2147483647, predictor => ''roof'')', 'best_batch(perfmodel.graph_id(''anet4@16''), ''T4'', predictor => ''roof'')']) AS f;
        IF EXISTS (SELECT FROM perfmodel.samples_to_target(perfmodel.graph_id('anet4@16'), '{1,16,2147483647}') AS s WHERE NOT (s.expected_samples > 0 AND s.expected_samples < 'Infinity')) THEN
            RAISE EXCEPTION 'way % has % samples', way, (SELECT array_agg(s.expected_samples) FROM perfmodel.samples_to_target(perfmodel.graph_id('anet4@16'), '{1,16,2147483647}') AS s);
        END IF;
    END LOOP;
END $$;
SELECT function, outcome, count(*) > 2 AS several FROM outcome GROUP BY 1, 2 ORDER BY 1, 2;
DELETE FROM perfmodel.convergence;
INSERT INTO perfmodel.convergence (graph_id, dataset, batch, reached, samples_to_target) SELECT :g, 'it''s', b, true, 1e18 FROM unnest('{1,2}'::int[]) AS b;
SELECT helper.error_of(format('SELECT * FROM perfmodel.time_to_target(%s, ''T4'', 8, %L, predictor => ''roof'')', :g, 'it''s')) ~ 'hint: Correct samples_to_target of graph_id [0-9]+, dataset ''it''''s'', target '''' in' AS corrected;
SELECT regexp_replace(helper.error_of(format('SELECT * FROM perfmodel.best_batch(%s, ''T4'', %L, batches => ''{128}'', predictor => ''roof'')', :g, 'it''s')), 'id [0-9]+', 'id N');
ROLLBACK;
-- the curve by itself, and what it refuses
SELECT * FROM perfmodel.fit_convergence('{8,16}', '{100,200}', '{1,1}', '{1,2}', NULL, '{4,64}');
SELECT count(*) FROM perfmodel.fit_convergence('{8}', NULL, '{1}', '{1}', NULL, '{4}');
SELECT w, helper.error_of(format('SELECT perfmodel.fit_convergence(%s)', w))
FROM unnest('{"''{8,8}'', ''{1,1}'', ''{1,1}'', ''{1,1}'', NULL, ''{4}''","''{8}'', ''{1,1}'', ''{1}'', ''{1}'', NULL, ''{4}''","''{8}'', ''{-1}'', ''{1}'', ''{1}'', NULL, ''{4}''","''{8}'', ''{1}'', ''{2}'', ''{1}'', NULL, ''{4}''","''{8}'', ''{1}'', ''{1}'', ''{1}'', NULL, ''{0}''","''{NULL}'', ''{1}'', ''{1}'', ''{1}'', NULL, ''{1}''","''{NaN}'', ''{1}'', ''{1}'', ''{1}'', NULL, ''{1}''"}'::text[]) AS w;
SELECT helper.error_of(format('SELECT perfmodel.fit_convergence(%L, %L, %L, %L, NULL, ''{4}'')', array_agg(i), array_agg(1), array_agg(1), array_agg(1))) FROM generate_series(1, 65) AS i;
-- a noise scale, batches and samples for which no curve would be finite
SELECT p, helper.error_of(format('SELECT perfmodel.fit_convergence(''{1,2,4}'', ''{1e18,1,1e18}'', ''{2147483647,1,0}'', ''{2147483647,2147483647,2147483647}'', %L, ''{2147483647}'')', p)) FROM unnest('{1e-300,-1,NaN,Infinity,0,1e-250,1e250}'::text[]) AS p;
SELECT p, f.expected_samples > 0 AND f.expected_samples < 'Infinity' AS finite FROM unnest('{0,1e-250,1e250}'::float8[]) AS p, unnest('{1e-18,1e30}'::float8[]) AS s,
    perfmodel.fit_convergence('{1e-18,1e18}', ARRAY[s, 1e30], '{1,1}', '{1,1}', p, '{1e-18,1,1e18}') AS f GROUP BY 1, 2 ORDER BY 1, 2;
SELECT helper.error_of($$SELECT perfmodel.fit_convergence('{1e-300}', '{1}', '{1}', '{1}', NULL, '{1}')$$);
-- samples between two updates
SELECT w, perfmodel.total_batch(8, world_size, w) AS total FROM unnest('{1,4,8}'::int[]) AS world_size, unnest('{NULL,"{\"accumulation\": 4}","{\"tp\": 2, \"pp\": 2, \"micro_batches\": 8}"}'::jsonb[]) AS w WHERE NOT (world_size = 1 AND coalesce(w ? 'tp', false));
SELECT helper.error_of(q) FROM unnest(ARRAY[$$SELECT perfmodel.total_batch(16777216, 200)$$, $$SELECT perfmodel.time_to_target(1, 'T4', 8, parallel => '{"tp": 1e300}')$$,
    -- a batch below 1, a part of a copy of the model
    $$SELECT perfmodel.total_batch(-1, 8)$$, $$SELECT perfmodel.total_batch(8, -1)$$, $$SELECT perfmodel.total_batch(8, 4, '{"tp": 3}')$$, $$SELECT perfmodel.time_to_target(1, 'T4', -1)$$,
    $$SELECT perfmodel.goodput(1, 'T4', 8, 8, parallel => '{"accumulation": 1.5}')$$, $$SELECT perfmodel.goodput(1, 'T4', 8, 8, parallel => '[]')$$]) AS q;
