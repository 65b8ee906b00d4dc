-- Whole trainings: time, cost, energy; prices; what is not known.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('anet4@16') AS g \gset

-- the length of a job is said in one of three ways; an epoch ends with what is left
SELECT j.total_steps, helper.close(j.step_ms, p.step_ms) AS step, helper.close(j.seconds, 60 + j.total_steps * p.step_ms / 1000) AS seconds,
       helper.close(j.seconds_low, 60 + j.total_steps * p.step_ms_low / 1000) AS low, helper.close(j.seconds_high, 60 + j.total_steps * p.step_ms_high / 1000) AS high,
       helper.close(j.gpu_hours, j.seconds / 3600) AS gpu_hours, j.usd, j.co2_kg, j.energy_kwh > 0 AS energy, j.note IS NOT DISTINCT FROM p.note AS note
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
SELECT helper.error_of($$INSERT INTO perfmodel.price (gpu, provider, region, kind, usd_per_hour, valid) VALUES ('T4', 'cloud', 'here', 'on_demand', 3, '[2024-12-01,2024-12-02)')$$) ~ '^23P01.*price_one_at_a_time' AS overlaps;
INSERT INTO perfmodel.price (gpu, usd_per_hour, valid) VALUES ('T4', 3, 'empty');
ROLLBACK TO s;
INSERT INTO perfmodel.price (gpu, usd_per_hour) VALUES ('T4', -1);
ROLLBACK;

-- what cannot be
SELECT w, helper.error_of(format('SELECT perfmodel.predict_job(%s, ''T4'', 8, predictor => ''roof'', %s)', :g, w))
FROM unnest('{"epochs => 1","warmup_s => 1","steps => 1, samples => 1","steps => 0","steps => -1","steps => ''Infinity''","samples => ''NaN''","steps => 1, warmup_s => -1","steps => 1, checkpoint_every => -1","steps => 1, level => 2","steps => 1, world_size => 0"}'::text[]) AS w;
SELECT seconds, note, reasons FROM perfmodel.predict_job(:g, 'T5', 8, steps => 10, on_error => 'null');
SELECT seconds IS NULL AS none FROM perfmodel.predict_job(NULL, 'T4', 8, steps => 10);
