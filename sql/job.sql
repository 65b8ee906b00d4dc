-- Whole trainings: time, cost, energy; prices; what is not known.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('anet4@16') AS g \gset

-- a part of a step is a step
SELECT total_steps FROM perfmodel.predict_job(:g, 'T4', 8, steps => 10.2, predictor => 'roof');
-- the length of a job is said in one of three ways; an epoch ends with what is left
SELECT j.total_steps, helper.close(j.step_ms, p.step_ms) AS step, helper.close(j.seconds, 60 + j.total_steps * p.step_ms / 1000) AS seconds,
       helper.close(j.seconds_low, 60 + j.total_steps * p.step_ms_low / 1000) AS low, helper.close(j.seconds_high, 60 + j.total_steps * p.step_ms_high / 1000) AS high,
       helper.close(j.gpu_hours, j.seconds / 3600) AS gpu_hours, j.usd, j.co2_kg, j.energy_kwh > 0 AS energy, j.note ~ ('^' || coalesce(p.note || '; ', '') || 'no cost: .*; no CO2: ') AS note
FROM perfmodel.predict(:g, 'T4', 8, predictor => 'roof') AS p,
     LATERAL (SELECT * FROM perfmodel.predict_job(:g, 'T4', 8, epochs => 3, dataset_size => 1001, predictor => 'roof')
              UNION ALL SELECT * FROM perfmodel.predict_job(:g, 'T4', 8, samples => 3001, predictor => 'roof')
              UNION ALL SELECT * FROM perfmodel.predict_job(:g, 'T4', 8, steps => 378, predictor => 'roof')) AS j;
-- several GPUs share the samples, and each costs
SELECT a.total_steps = 4 * b.total_steps AS fewer_steps, b.gpu_hours > a.gpu_hours AS more_hours, b.seconds < a.seconds AS faster,
       helper.close(b.gpu_hours, 4 * b.seconds / 3600) AS gpu_hours, b.reasons
FROM perfmodel.predict_job(:g, 'T4', 1024, samples => 4096 * 100000, predictor => 'roof') AS a,
     perfmodel.predict_job(:g, 'T4', 1024, samples => 4096 * 100000, predictor => 'roof', world_size => 4, parallel => '{"compression": "fp16"}') AS b;
-- checkpoints and evaluations take time, waiting draws less power than work
SELECT helper.close(c.seconds - j.seconds, 3 * 5) AS checkpoints, e.seconds > j.seconds AS evaluations, e.seconds - j.seconds < 10 * 100 * e.step_ms / 1000 AS forward_only,
       c.energy_kwh > j.energy_kwh AS waits, (c.energy_kwh - j.energy_kwh) / 15 < (j.energy_kwh / j.seconds) AS at_rest
FROM perfmodel.predict_job(:g, 'T4', 512, steps => 1000, predictor => 'roof', warmup_s => 0) AS j,
     perfmodel.predict_job(:g, 'T4', 512, steps => 1000, predictor => 'roof', warmup_s => 0, checkpoint_every => 300, checkpoint_s => 5) AS c,
     perfmodel.predict_job(:g, 'T4', 512, steps => 1000, predictor => 'roof', warmup_s => 0, eval_every => 100, eval_samples => 51200) AS e;
-- an evaluation takes what passes without gradients take, on each of the GPUs
SELECT helper.close(e.seconds - j.seconds, 10 * 5 * p.step_ms / 1000) AS evaluations
FROM perfmodel.predict(:g, 'T4', 512, mode => 'inference', predictor => 'roof') AS p,
     perfmodel.predict_job(:g, 'T4', 512, steps => 1000, predictor => 'roof', world_size => 2) AS j,
     perfmodel.predict_job(:g, 'T4', 512, steps => 1000, predictor => 'roof', world_size => 2, eval_every => 100, eval_samples => 5 * 1024) AS e;
-- GPUs that share the work, or wait for each other, draw less: all stages of a pipeline together take what the work takes on one GPU, besides what they draw at rest
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('eight layers', 8, 256, 8, 64, 1000)) AS t \gset
CREATE TEMP TABLE drawn AS SELECT p, n, j.step_ms, 1000 * j.energy_kwh / j.gpu_hours AS w
FROM (VALUES (1, '{}'), (1, '{"accumulation": 16}'), (1, '{"recompute": true}'), (8, '{}'), (8, '{"tp": 8}'), (8, '{"pp": 8}'), (8, '{"pp": 8, "micro_batches": 4}'), (8, '{"pp": 8, "micro_batches": 64}')) AS v (n, p),
     LATERAL perfmodel.predict_job(:t, 'T4', 1, steps => 1000, predictor => 'small', warmup_s => 0, world_size => n, cluster => CASE WHEN n > 1 THEN 'dgx-2' END, parallel => p::jsonb) AS j;
SELECT d.n, d.p, d.w > 0.175 * tdp_w AND d.w <= tdp_w AS within, d.w < one.w AS less, helper.close(d.n * d.step_ms * (d.w - 0.175 * tdp_w), one.step_ms * (one.w - 0.175 * tdp_w)) AS same_work
FROM drawn AS d, drawn AS one, perfmodel.gpu AS g WHERE g.name = 'T4' AND one.n = 1 AND one.p = '{}' ORDER BY d.n, d.p;
SELECT string_agg(p, ' ' ORDER BY w) AS least_draw_first FROM drawn WHERE p ~ 'pp';
-- an evaluation runs on each GPU alone, and draws what that draws
SELECT (e.energy_kwh - j.energy_kwh) / (e.seconds - j.seconds) > 1.05 * j.energy_kwh / j.seconds AS works
FROM perfmodel.predict_job(:t, 'T4', 1, steps => 1000, predictor => 'small', world_size => 8, cluster => 'dgx-2', parallel => '{"pp": 8}') AS j,
     perfmodel.predict_job(:t, 'T4', 1, steps => 1000, predictor => 'small', world_size => 8, cluster => 'dgx-2', parallel => '{"pp": 8}', eval_every => 100, eval_samples => 8000) AS e;
DROP TABLE drawn;
ROLLBACK;
-- of a pair of arguments, one alone changes nothing, which is said once a statement; 10 s a checkpoint is the default
SET client_min_messages = notice;
SELECT count(DISTINCT j.seconds) AS times FROM generate_series(1, 3) AS i, perfmodel.predict_job(:g, 'T4', 512, steps => 1000 + 0 * i, predictor => 'roof', checkpoint_s => 600, eval_samples => 50000) AS j;
SELECT count(*) FROM perfmodel.predict_job(:g, 'T4', 512, steps => 1000, predictor => 'roof', checkpoint_s => 10, eval_every => 100, eval_samples => 50000);
SET client_min_messages = warning;
-- an evaluation of no samples would be free
SELECT helper.error_of(format('SELECT perfmodel.predict_job(%s, ''T4'', 512, steps => 1000, predictor => ''roof'', eval_every => 100)', :g));

CREATE FUNCTION helper.job(query text) RETURNS TABLE (usd float8, gpu_hours float8, energy_kwh float8, co2_kg float8) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE query;
END $$;
-- prices: the cheapest that is wished for and valid, one at a time; emissions by region
BEGIN;
INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour, valid) VALUES
    ('tesla_t4', 'cloud', 'here', 'on_demand', 2, '[2024-01-01,)'), ('T4', 'cloud', 'here', 'spot', 0.5, '[2024-01-01,)'),
    ('T4', 'cloud', 'there', 'on_demand', 1, '[2024-01-01,2025-01-01)'), ('T4', '', '', 'own', 0.25, '(,2023-01-01)');
INSERT INTO perfmodel.carbon_intensity (region, g_per_kwh) VALUES ('here', 500);
SELECT w, round((j.usd / j.gpu_hours)::numeric, 6) AS usd_per_hour, helper.close(j.co2_kg, 0.5 * j.energy_kwh) AS co2
FROM unnest('{"at => ''2024-06-01''","at => ''2025-06-01''","at => ''2024-06-01'', price_kind => ''on_demand''","at => ''2025-06-01'', price_kind => ''on_demand''","at => ''2022-06-01''","at => ''2023-06-01''","at => ''2024-06-01'', region => ''here'', price_kind => ''on_demand''","at => ''2024-06-01'', provider => ''none''"}'::text[]) AS w,
     LATERAL (SELECT * FROM helper.job(format('SELECT usd, gpu_hours, energy_kwh, co2_kg FROM perfmodel.predict_job(%s, ''T4'', 8, steps => 1000, predictor => ''roof'', %s)', :g, w))) AS j;
SELECT helper.close(co2_kg, energy_kwh * 0.067) AS france FROM perfmodel.predict_job(:g, 'T4', 8, steps => 1000, predictor => 'roof', region => 'here', carbon_region => 'FRA');
SAVEPOINT s;
SELECT regexp_replace(helper.error_of(format('INSERT INTO perfmodel.price (gpu, kind, usd_per_hour, valid) VALUES (%s)', v)), 'There (is|are) \d+', 'There are N') AS error_of FROM unnest(ARRAY['''T44'', ''own'', 1, ''(,)''', '''T4'', ''rented'', 1, ''(,)''',
    '''T4'', ''own'', -1, ''(,)''', '''T4'', ''own'', ''NaN'', ''(,)''', '''T4'', ''own'', 1, ''empty''']) AS v;
-- ---- two prices at once: a notice says which one is there, and what to do; the constraint refuses or skips the row
SAVEPOINT prices;
SET LOCAL timezone = 'UTC';
SET LOCAL client_min_messages = notice;
-- an alias of several devices is told, as on a measurement
INSERT INTO perfmodel.price (gpu, usd_per_hour) VALUES ('A100', 1);
DELETE FROM perfmodel.price;
ALTER TABLE perfmodel.price ALTER price_id RESTART WITH 70001;
INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour, valid) VALUES ('T4', 'cloud', 'here', 'on_demand', 3, '[2026-01-01,2026-07-01)'), ('L4', '', '', 'own', 1, '(,)');
SELECT helper.error_of(format('INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour, valid) VALUES (%s)', v)) ~ '^23P01: .*price_key\(gpu, provider, region, kind\), valid.*constraint: price_one_at_a_time$' AS refused FROM unnest(ARRAY[
    '''Tesla T4'', ''cloud'', ''here'', ''on_demand'', 4, ''[2026-06-01,)''', '''T4'', ''cloud'', ''here'', ''on_demand'', 4, ''[2025-01-01,)''', '''T4'', ''cloud'', ''here'', ''on_demand'', 4, ''(,)''', '''T4'', ''cloud'', ''here'', ''on_demand'', 4, ''[2026-01-01,)''',
    '''L4'', '''', '''', ''own'', 2, ''[2026-01-01,)''', '''L4'', '''', '''', ''own'', 2, ''(,)''', '''L4'', '''', '''', ''own'', 2, ''(,2025-01-01)''', '''T4'', ''CLOUD'', ''Here'', ''on_demand'', 4, ''[2026-06-01,)''', '''T4'', ''cloud'', ''here'', ''on_demand'', 4, ''[2026-07-01,)''', '''T4'', ''cloud'', ''there'', ''on_demand'', 4, ''[2026-06-01,)''']) AS v;
SELECT count(*) AS prices FROM perfmodel.price;
-- a price of a while: the one that is there holds before it and after it, as the hint says
SELECT left(helper.error_of($$INSERT INTO perfmodel.price (gpu, kind, usd_per_hour, valid) VALUES ('L4', 'own', 2, '[2025-01-01,2025-02-01)')$$), 5) AS refused;
SAVEPOINT split;
UPDATE perfmodel.price SET valid = tstzrange(lower(valid), '2025-01-01 00:00:00+00') WHERE price_id = 70002; INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour, valid, source) SELECT gpu, provider, region, kind, usd_per_hour, '["2025-02-01 00:00:00+00",)', source FROM perfmodel.price WHERE price_id = 70002;
INSERT INTO perfmodel.price (gpu, kind, usd_per_hour, valid) VALUES ('L4', 'own', 2, '[2025-01-01,2025-02-01)');
SELECT usd_per_hour, valid FROM perfmodel.price WHERE gpu = 'L4' ORDER BY valid;
ROLLBACK TO split;
SELECT helper.error_of($$UPDATE perfmodel.price SET usd_per_hour = 5, valid = '[2026-01-01,2026-06-30)' WHERE usd_per_hour = 3$$) AS itself;
SELECT left(helper.error_of($$UPDATE perfmodel.price SET valid = '[2026-06-29,)' WHERE lower(valid) = '2026-07-01'$$), 5) AS moved;
INSERT INTO perfmodel.price (gpu, kind, usd_per_hour) VALUES ('L4', 'own', 3), ('L4', 'spot', 3) ON CONFLICT DO NOTHING;
SELECT gpu, kind, usd_per_hour FROM perfmodel.price WHERE gpu = 'L4' ORDER BY kind;
-- a role that may insert and not read: no notice, and the same
CREATE ROLE pm_test_prices;
REVOKE SELECT ON perfmodel.price FROM PUBLIC;
GRANT INSERT ON perfmodel.price TO pm_test_prices;
GRANT USAGE ON SCHEMA helper TO pm_test_prices;
SET LOCAL ROLE pm_test_prices;
SELECT left(helper.error_of($$INSERT INTO perfmodel.price (gpu, kind, usd_per_hour) VALUES ('L4', 'own', 3)$$), 5) AS refused;
INSERT INTO perfmodel.price (gpu, kind, usd_per_hour) VALUES ('L4', 'own', 3), ('A10', 'own', 3) ON CONFLICT DO NOTHING;
RESET ROLE;
SELECT count(*) AS stored FROM perfmodel.price WHERE gpu = 'A10';
ALTER TABLE perfmodel.price DISABLE TRIGGER price_check;
SELECT left(helper.error_of($$INSERT INTO perfmodel.price (gpu, kind, usd_per_hour) VALUES ('L4', 'own', 3)$$), 6) AS without_trigger;
ROLLBACK TO prices;
INSERT INTO perfmodel.price (gpu, usd_per_hour, valid) VALUES ('T4', 3, 'empty');
ROLLBACK TO s;
INSERT INTO perfmodel.price (gpu, usd_per_hour) VALUES ('T4', -1);
ROLLBACK;

-- a figure that is missing has a reason: which condition no price meets, and what there is instead
BEGIN;
CREATE FUNCTION helper.why(rest text) RETURNS TABLE (usd numeric, co2 numeric, reasons text[], note text) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT round((j.usd / j.gpu_hours)::numeric, 4), round((1000 * j.co2_kg / j.energy_kwh)::numeric, 2), j.reasons, j.note
                                 FROM perfmodel.predict_job(perfmodel.graph_id(''anet4@16''), ''T4'', 8, steps => 1000, predictor => ''roof''%s) AS j', rest);
END $$;
INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour, valid) VALUES
    ('T4', 'Cloud', 'east', 'on_demand', 2, '[2024-01-01,2025-01-01)'), ('T4', 'Cloud', '', 'on_demand', 1, '[2024-01-01,2025-01-01)'), ('T4', 'other', 'west', 'spot', 0.5, '[2024-01-01,2025-01-01)');
SELECT w, y.* FROM unnest(ARRAY[', at => ''2026-06-01 00:00+00''', ', at => ''2024-06-01''', ', at => ''2024-06-01'', provider => ''cloud'', region => ''East''', ', at => ''2024-06-01'', provider => ''cloud'', region => ''north''',
    ', at => ''2024-06-01'', provider => ''nobody''', ', at => ''2024-06-01'', provider => ''other'', region => ''east''', ', at => ''2024-06-01'', region => ''west'', price_kind => ''own''',
    ', at => ''2024-06-01'', carbon_region => ''germany''', ', at => ''2024-06-01'', region => ''de''']) AS w, LATERAL helper.why(w) AS y;
SELECT y.note ~ 'is valid at 20' AS now FROM helper.why(', at => NULL') AS y;
SELECT helper.error_of(format('SELECT helper.why(%L)', w)) FROM unnest(ARRAY[', carbon_region => ''Germny''', ', price_kind => ''rented''']) AS w;
SELECT seconds, reasons, note FROM perfmodel.predict_job(:g, 'T4', 8, steps => 10, predictor => 'roof', carbon_region => 'Mars', on_error => 'null');
-- a region of one's own, with names; a code is stronger than a name; names are a list
INSERT INTO perfmodel.carbon_intensity (region, g_per_kwh, names) VALUES ('cellar', 7, ARRAY['basement', NULL, 'FRA', 'the basement']);
SELECT r, round((1000 * j.co2_kg / j.energy_kwh)::numeric, 2) AS g_per_kwh FROM unnest('{CELLAR,Basement,fra}'::text[]) AS r, LATERAL perfmodel.predict_job(:g, 'T4', 8, steps => 1000, predictor => 'roof', carbon_region => r) AS j;
-- of two names in different case, the one that is written so
INSERT INTO perfmodel.carbon_intensity (region, g_per_kwh) VALUES ('Hall', 11), ('hall', 12), ('fra', 13);
SELECT r, round((1000 * j.co2_kg / j.energy_kwh)::numeric, 2) AS g_per_kwh FROM unnest('{Hall,hall,HALL,fra,FRA}'::text[]) AS r, LATERAL perfmodel.predict_job(:g, 'T4', 8, steps => 1000, predictor => 'roof', carbon_region => r) AS j;
DELETE FROM perfmodel.carbon_intensity WHERE region IN ('Hall', 'hall', 'fra');
SELECT helper.error_of($$INSERT INTO perfmodel.carbon_intensity (region, g_per_kwh, names) VALUES ('x', 7, '{{a,b},{c,d}}')$$) ~ 'carbon_intensity_names_is_a_list' AS refused;
-- words of any length and letters
SELECT bool_and(e LIKE '42704: perfmodel.carbon_intensity has no region%' AND octet_length(e) < 1000) AS refused
FROM unnest(ARRAY['', ' ', '%', E'\\', E'line\nbreak', repeat('ab', 100000), repeat('é', 100000), 'Ger''many', '"DEU"']) AS r,
     LATERAL helper.error_of(format('SELECT perfmodel.predict_job(%s, ''T4'', 8, steps => 1000, predictor => ''roof'', carbon_region => %L)', :g, r)) AS e;
SELECT bool_and(w.cost_note LIKE 'no cost:%' AND octet_length(w.cost_note) < 1000) AS words FROM unnest(ARRAY['', '%', repeat('é', 100000)]) AS r,
     LATERAL perfmodel.what_if(:g, '{T4}', '{8}', predictor => 'roof', provider => r, region => r, at => 'infinity') AS w;
DELETE FROM perfmodel.price;
UPDATE perfmodel.gpu SET tdp_w = NULL WHERE name = 'T4';
SELECT * FROM helper.why(', carbon_region => ''FRA''');
-- whether a step fits into memory
SELECT j.peak_mb = m.peak_mb AS peak, j.fits, j.p_fits = m.p_fits AS p, 'may_not_fit' = ANY (j.reasons) AS reason, substring(j.note FROM '(?:does|may) not fit') AS verdict
FROM unnest('{8,10000000}'::int[]) AS b, LATERAL perfmodel.predict_job(:g, 'T4', b, steps => 1000, predictor => 'roof', world_size => 2) AS j,
     LATERAL perfmodel.predict_memory(:g, 'T4', b, world_size => 2) AS m;
UPDATE perfmodel.gpu SET memory_gb = NULL WHERE name = 'T4';
SELECT peak_mb > 0 AS peak, fits, p_fits, reasons FROM perfmodel.predict_job(:g, 'T4', 8, steps => 1000, predictor => 'roof');
-- who may not read prices is told so, and still gets the time
CREATE ROLE pm_test_poor;
GRANT USAGE ON SCHEMA perfmodel, helper TO pm_test_poor;
GRANT SELECT ON ALL TABLES IN SCHEMA perfmodel TO pm_test_poor;
REVOKE SELECT ON perfmodel.price, perfmodel.carbon_intensity FROM pm_test_poor, PUBLIC;
SET ROLE pm_test_poor;
SELECT y.usd, y.reasons, y.note FROM helper.why(', region => ''FRA''') AS y;
SELECT usd_per_hour, cost_note FROM perfmodel.what_if(:g, '{T4}', '{8}', predictor => 'roof');
ROLLBACK;

-- what_if: the price of a device, and what 1,000 samples cost on all devices of the question
BEGIN;
INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour) VALUES ('T4', 'cloud', 'here', 'on_demand', 2), ('T4', 'cloud', 'here', 'spot', 1);
SELECT w.gpu, w.batch, w.usd_per_hour, helper.close(w.usd_per_1000_samples, 4 * w.usd_per_hour / 3600 * w.step_ms / (4 * w.batch)) AS usd, w.cost_note, w.step_ms IS NULL AS unknown
FROM perfmodel.what_if(:g, '{T4,V100-SXM2-16GB,T5,NULL}', '{8,16,NULL}', predictor => 'roof', world_size => 4, on_error => 'null') AS w;
SELECT DISTINCT w.usd_per_hour, w.cost_note FROM unnest('{on_demand,SPOT,own}'::text[]) WITH ORDINALITY AS k (kind, n), LATERAL perfmodel.what_if(:g, '{tesla_t4}', '{8,16}', predictor => 'roof', price_kind => k.kind) AS w ORDER BY 1;
SELECT helper.error_of(format('SELECT perfmodel.what_if(%s, ''{T4}'', ''{8}'', price_kind => ''free'')', :g));
-- a spot price only where there is no other, not even one without a region; and it says so
SELECT DISTINCT w.usd_per_hour, w.cost_note FROM perfmodel.what_if(:g, '{T4}', '{8}', predictor => 'roof', region => 'here') AS w;
SELECT j.usd / j.gpu_hours AS usd_per_hour, j.reasons && '{spot_price}' AS spot FROM perfmodel.predict_job(:g, 'T4', 8, steps => 1000, predictor => 'roof') AS j;
DELETE FROM perfmodel.price WHERE kind = 'on_demand';
INSERT INTO perfmodel.price (gpu, kind, usd_per_hour) VALUES ('T4', 'own', 4);
SELECT w.usd_per_hour, w.cost_note FROM perfmodel.what_if(:g, '{T4}', '{8}', predictor => 'roof', region => 'here') AS w;
DELETE FROM perfmodel.price WHERE kind = 'own';
SELECT w.usd_per_hour, w.cost_note FROM unnest(ARRAY[NULL, 'spot']) AS k (kind), LATERAL perfmodel.what_if(:g, '{T4}', '{8}', predictor => 'roof', region => 'here', price_kind => k.kind) AS w ORDER BY 2;
SELECT round((j.usd / j.gpu_hours)::numeric, 4) AS usd_per_hour, j.reasons, j.note FROM perfmodel.predict_job(:g, 'T4', 8, steps => 1000, predictor => 'roof', carbon_region => 'DEU') AS j;
INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour) VALUES ('T4', 'cloud', 'here', 'on_demand', 2);
-- a price without a provider has no name to show
INSERT INTO perfmodel.price (gpu, kind, usd_per_hour) VALUES ('T4', 'spot', 3), ('V100-SXM2-16GB', 'own', 4);
SELECT w.gpu, w.cost_note FROM perfmodel.what_if(:g, '{T4,V100-SXM2-16GB}', '{8}', predictor => 'roof', provider => 'nobody') AS w ORDER BY 1;
ROLLBACK;

-- what cannot be
SELECT w, helper.error_of(format('SELECT perfmodel.predict_job(%s, ''T4'', 8, predictor => ''roof'', %s)', :g, w))
FROM unnest('{"epochs => 1","warmup_s => 1","steps => 1, samples => 1","steps => 0","steps => -1","steps => 0.5","steps => ''Infinity''","steps => ''NaN''","samples => ''NaN''","epochs => ''NaN'', dataset_size => 100","steps => 1, samples => ''NaN''","samples => 0","epochs => -1, dataset_size => 100","epochs => 1, dataset_size => 0","steps => 1, warmup_s => -1","steps => 1, checkpoint_every => -1","steps => 1, level => 2","steps => 1, world_size => 0"}'::text[]) AS w;
SELECT seconds, note, reasons FROM perfmodel.predict_job(:g, 'T5', 8, steps => 10, on_error => 'null');
-- the same of a job that is wrong
SELECT s, j.seconds, j.step_ms, j.note, j.reasons FROM unnest('{NULL,0,NaN}'::float8[]) AS s, LATERAL perfmodel.predict_job(:g, 'T4', 8, steps => s, predictor => 'roof', on_error => 'null') AS j;
SELECT j.seconds IS NULL AS none, j.note, j.reasons FROM (VALUES (0, 0, NULL::float8), (10, 0, 1), (0, 5, NULL), (0, NULL, NULL)) AS v (epochs, every, samples), LATERAL perfmodel.predict_job(:g, 'T4', 8,
    epochs => nullif(v.epochs, 0), steps => CASE WHEN v.epochs = 0 THEN 7 END, samples => v.samples, eval_every => v.every, predictor => 'roof', on_error => 'null') AS j;
SELECT perfmodel.predict_job(:g, 'T4', 8, steps => 7, eval_every => NULL, predictor => 'roof') IS NULL AS no_answer;
SELECT seconds IS NULL AS none FROM perfmodel.predict_job(NULL, 'T4', 8, steps => 10);
