-- Linear layers in 8 bits: computed from the step with 16 bits.
\pset format unaligned
SET client_min_messages = warning;
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('wide', 4, 4096, 32, 2048, 32000, 'llama')) AS w, perfmodel.load_graph(perfmodel.decoder_graph('narrow', 4, 64, 4, 64, 1000)) AS n \gset
-- faster for wide layers, not for narrow ones; the words of frameworks; every function agrees
SELECT g = :w AS wide, f.step_ms < a.step_ms AS faster, f.step_ms > a.step_ms / 2 AS at_most_twice, f.in_domain, f.reasons @> '{dtype_not_seen}' AS said, f.note ~ 'fp8 was not measured: computed from the products of the step with amp$' AS note,
       f.step_ms BETWEEN f.step_ms_low AND f.step_ms_high AS inside, f.step_ms_high / f.step_ms_low > a.step_ms_high / a.step_ms_low AS wider,
       helper.close(f.step_ms, perfmodel.predict_train_time(g, 'H100-SXM5-80GB', 8, 'float8', predictor => 'roof')) AS word,
       helper.close(f.step_ms, (SELECT sum(step_ms) FROM perfmodel.explain_train_time(g, 'H100-SXM5-80GB', 8, 'fp8', predictor => 'roof'))) AS parts,
       helper.close(f.step_ms, (SELECT step_ms FROM perfmodel.what_if_change(g, 'H100-SXM5-80GB', 8, '{fp8}', 'amp', predictor => 'roof') WHERE change = 'fp8')) AS change,
       helper.close(f.step_ms, (SELECT step_ms FROM perfmodel.ask_many(ARRAY[jsonb_build_object('graph_id', g, 'gpu', 'H100-SXM5-80GB', 'batch', 8, 'dtype', 'fp8')], predictor => 'roof'))) AS many,
       (SELECT peak_mb FROM perfmodel.predict_memory(g, 'H100-SXM5-80GB', 8, 'fp8')) = (SELECT peak_mb FROM perfmodel.predict_memory(g, 'H100-SXM5-80GB', 8, 'amp')) AS memory
FROM unnest(ARRAY[:w, :n]::bigint[]) AS g, LATERAL perfmodel.predict(g, 'H100-SXM5-80GB', 8, 'fp8', predictor => 'roof') AS f, LATERAL perfmodel.predict(g, 'H100-SXM5-80GB', 8, 'amp', predictor => 'roof') AS a;
SELECT note FROM perfmodel.predict_memory(:w, 'H100-SXM5-80GB', 8, 'fp8');
-- products alone get shorter, and not the one behind the layers
SELECT op, count(*) FILTER (WHERE f.step_ms < a.step_ms) AS shorter, count(*) FILTER (WHERE f.step_ms = a.step_ms) AS the_same, bool_and(f.step_ms = a.step_ms) FILTER (WHERE module = 'head') AS head
FROM perfmodel.explain_train_time(:w, 'H100-SXM5-80GB', 8, 'fp8', predictor => 'roof', per => 'node') WITH ORDINALITY AS f JOIN perfmodel.explain_train_time(:w, 'H100-SXM5-80GB', 8, 'amp', predictor => 'roof', per => 'node') WITH ORDINALITY AS a USING (ordinality, op, module)
WHERE op IN ('Gemm', 'Attention', 'RMSNormalization') GROUP BY op ORDER BY op;
-- on several GPUs; weights in 16 bits: then the rest is in bf16, and weights are cast once for all batches
SELECT m.how, f.step_ms < a.step_ms AS faster, f.note ~ m.rest AS rest, helper.close(f.step_ms, e.ms) AS parts
FROM (VALUES ('{"zero": 3}'::jsonb, 'amp', 'with amp'), ('{"tp": 4, "master_weights": true}', 'bf16', 'with bf16'), ('{"pp": 2, "micro_batches": 8, "recompute": true}', 'amp', 'with amp')) AS m (how, dtype, rest),
     LATERAL perfmodel.predict(:w, 'H100-SXM5-80GB', 8, 'fp8', predictor => 'roof', world_size => 8, parallel => how) AS f, LATERAL perfmodel.predict(:w, 'H100-SXM5-80GB', 8, m.dtype, predictor => 'roof', world_size => 8, parallel => how) AS a,
     LATERAL (SELECT sum(step_ms) AS ms FROM perfmodel.explain_train_time(:w, 'H100-SXM5-80GB', 8, 'fp8', predictor => 'roof', world_size => 8, parallel => how)) AS e;
SELECT later > first AS once
FROM (SELECT perfmodel.predict_train_time(:w, 'H100-SXM5-80GB', 1, 'fp8', predictor => 'roof') AS ms) AS one,
     LATERAL (SELECT ms - perfmodel.predict_train_time(:w, 'H100-SXM5-80GB', 1, 'fp8', predictor => 'roof', parallel => '{"accumulation": 2}') / 2 AS first, ms - perfmodel.predict_train_time(:w, 'H100-SXM5-80GB', 1, 'fp8', predictor => 'roof', parallel => '{"accumulation": 64}') / 64 AS later) AS b;
-- forward passes, whole jobs, and job tables
SELECT perfmodel.predict_train_time(:w, 'H100-SXM5-80GB', 8, 'fp8', predictor => 'roof', mode => 'inference') < perfmodel.predict_train_time(:w, 'H100-SXM5-80GB', 8, 'amp', predictor => 'roof', mode => 'inference') AS inference,
       (SELECT seconds FROM perfmodel.predict_job(:w, 'H100-SXM5-80GB', 8, samples => 1e6, dtype => 'fp8', predictor => 'roof')) < (SELECT seconds FROM perfmodel.predict_job(:w, 'H100-SXM5-80GB', 8, samples => 1e6, dtype => 'amp', predictor => 'roof')) AS job;
SELECT perfmodel.find_dtype(d) FROM unnest('{fp8,FP8-hybrid,transformer_engine,amp_fp8,fp9}'::text[]) AS d;
-- cards without units, and cards of which nothing is known
SELECT u, split_part(helper.error_of(format('SELECT perfmodel.predict(%s, %L, 8, ''fp8'', predictor => ''roof'')', :w, u)), E'\n', 1) AS error, 'fp8' = ANY (perfmodel.gpu_formats(u)) AS formats
FROM unnest('{A100,L40S,T4,Instinct MI300X,H200,B200}'::text[]) AS u;
SELECT note, reasons FROM perfmodel.predict(:w, 'A100', 8, 'fp8', predictor => 'roof', on_error => 'null');
SELECT note ~ 'whether the device has units for it is not known' AS unknown FROM perfmodel.predict(:w, 'Instinct MI300X', 8, 'fp8', predictor => 'roof');
-- what rests on measurements or on other changes
SELECT helper.error_of(format('INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, step_ms) VALUES (%s, ''H100-SXM5-80GB'', 8, ''fp8'', 5)', :w));
SELECT helper.error_of(format('SELECT perfmodel.computed_change(%s, ''H100-SXM5-80GB'', 8, ''fused optimizer'', dtype => ''fp8'', predictor => ''roof'')', :w));
SELECT helper.error_of(format('SELECT perfmodel.step_sensitivity(%s, ''H100-SXM5-80GB'', 8, dtype => ''fp8'', predictor => ''roof'')', :w));
SELECT string_agg(change, ', ') AS changes FROM perfmodel.what_if_change(:w, 'H100-SXM5-80GB', 8, dtype => 'fp8', predictor => 'roof');
-- without formats in which weights have 32 bits anyway
SELECT string_agg(change, ', ') AS changes FROM perfmodel.what_if_change(:w, 'H100-SXM5-80GB', 8, dtype => 'amp', predictor => 'roof', world_size => 8, parallel => '{"zero": 1, "master_weights": true}');
SELECT split_part(helper.error_of(format('SELECT perfmodel.predict_from_step(%s, ''H100'', 50, ''L40S'', 8, ''fp8'', predictor => ''roof'')', :w)), E'\n', 1) AS from_step;
-- no step grows shorter with the batch
SELECT count(*) AS shorter FROM (SELECT batch, step_ms, lag(step_ms) OVER (ORDER BY batch) AS before FROM generate_series(1, 200) AS batch, LATERAL perfmodel.predict(:n, 'H100-SXM5-80GB', batch, 'fp8', predictor => 'roof')) AS b WHERE step_ms < before * (1 - 1e-9);
-- a job in FP8 becomes no measurement, and stops no other
CREATE TABLE job8 (graph text, gpu text, batch int, dtype text, duration_s float8, steps int, finished_at timestamptz);
INSERT INTO job8 SELECT 'wide', 'H100-SXM5-80GB', 8, d, 1000, 10000, now() FROM unnest('{amp,amp,fp8,transformer_engine}'::text[]) AS d;
SELECT * FROM perfmodel.collect_from_jobs('job8');
SELECT given, match, resolved FROM perfmodel.resolve_job_names(ARRAY['wide'], ARRAY['H100'], ARRAY['fp8', 'te8']) WHERE what = 'dtype' ORDER BY 1;
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('dtype', 'te8', 'fp8');
SELECT given, match, resolved FROM perfmodel.resolve_job_names(ARRAY['wide'], ARRAY['H100'], ARRAY['te8']) WHERE what = 'dtype';
ROLLBACK;
