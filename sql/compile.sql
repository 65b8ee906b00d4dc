-- torch.compile: operators that are fused, computed from the step without it; and which release of FlashAttention runs.
\pset format unaligned
SET client_min_messages = warning;
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('whole', 4, 1024, 16, 512, 32000, 'llama')) AS w, perfmodel.load_graph(perfmodel.decoder_graph('in parts', 4, 1024, 16, 512, 32000, attention => 'plain')) AS p \gset
-- shorter, not in the domain, and with a wider interval; every function agrees
SELECT g = :w AS whole, c.step_ms < a.step_ms AS shorter, c.step_ms > a.step_ms / 3 AS not_too_short, c.in_domain, c.reasons @> '{compile_not_seen}' AS said, c.note ~ 'compiled: computed from the operators that are fused' AS note,
       c.step_ms BETWEEN c.step_ms_low AND c.step_ms_high AS inside, c.step_ms_high / c.step_ms_low > a.step_ms_high / a.step_ms_low AS wider,
       helper.close(c.step_ms, (SELECT sum(step_ms) FROM perfmodel.explain_train_time(g, 'A100-SXM4-80GB', 8, 'amp', predictor => 'roof', parallel => '{"compile": true}'))) AS parts,
       helper.close(c.step_ms, (SELECT step_ms FROM perfmodel.what_if_change(g, 'A100-SXM4-80GB', 8, '{compile}', 'amp', predictor => 'roof') WHERE change = 'compile')) AS change,
       helper.close(c.step_ms, (SELECT step_ms FROM perfmodel.ask_many(ARRAY[jsonb_build_object('graph_id', g, 'gpu', 'A100-SXM4-80GB', 'batch', 8, 'dtype', 'amp', 'parallel', '{"compile": true}'::jsonb)], predictor => 'roof'))) AS many,
       helper.close(a.step_ms, perfmodel.predict_train_time(g, 'A100-SXM4-80GB', 8, 'amp', predictor => 'roof', parallel => '{"compile": false}')) AS without
FROM unnest(ARRAY[:w, :p]::bigint[]) AS g, LATERAL perfmodel.predict(g, 'A100-SXM4-80GB', 8, 'amp', predictor => 'roof', parallel => '{"compile": true}') AS c, LATERAL perfmodel.predict(g, 'A100-SXM4-80GB', 8, 'amp', predictor => 'roof') AS a;
-- operators between products get shorter; products only by copies beside them, which bf16 does not have
SELECT dtype, op, bool_and(c.step_ms < a.step_ms) AS shorter, bool_and(c.step_ms = a.step_ms) AS the_same
FROM unnest('{amp,bf16}'::text[]) AS dtype, LATERAL perfmodel.explain_train_time(:w, 'A100-SXM4-80GB', 8, dtype, predictor => 'roof', parallel => '{"compile": true}') WITH ORDINALITY AS c
JOIN LATERAL perfmodel.explain_train_time(:w, 'A100-SXM4-80GB', 8, dtype, predictor => 'roof') WITH ORDINALITY AS a USING (ordinality, op) WHERE op IN ('Gemm', 'Attention', 'RMSNormalization', 'Silu') GROUP BY dtype, op ORDER BY dtype, op;
-- forward passes, several GPUs, FP8, whole jobs, and no step that grows shorter with the batch
SELECT perfmodel.predict_train_time(:w, 'A100', 8, 'amp', predictor => 'roof', mode => 'inference', parallel => '{"compile": true}') < perfmodel.predict_train_time(:w, 'A100', 8, 'amp', predictor => 'roof', mode => 'inference') AS inference,
       perfmodel.predict_train_time(:w, 'H100', 8, 'fp8', predictor => 'roof', parallel => '{"compile": true}') < perfmodel.predict_train_time(:w, 'H100', 8, 'fp8', predictor => 'roof') AS fp8,
       (SELECT seconds FROM perfmodel.predict_job(:w, 'A100', 8, samples => 1e6, dtype => 'amp', predictor => 'roof', parallel => '{"compile": true}')) < (SELECT seconds FROM perfmodel.predict_job(:w, 'A100', 8, samples => 1e6, dtype => 'amp', predictor => 'roof')) AS job,
       (SELECT count(*) FROM (SELECT step_ms, lag(step_ms) OVER (ORDER BY batch) AS before FROM generate_series(1, 100) AS batch, LATERAL perfmodel.predict(:p, 'A100', batch, 'amp', predictor => 'roof', parallel => '{"compile": true}')) AS b WHERE step_ms < before * (1 - 1e-9)) AS grows_shorter;
SELECT m.how, c.step_ms < a.step_ms AS shorter, helper.close(c.step_ms, e.ms) AS parts
FROM unnest('{"{\"zero\": 3}","{\"tp\": 4}","{\"pp\": 2, \"micro_batches\": 8, \"recompute\": true}"}'::jsonb[]) AS m (how),
     LATERAL perfmodel.predict(:w, 'A100-SXM4-80GB', 8, 'amp', predictor => 'roof', world_size => 8, parallel => how || '{"compile": true}') AS c, LATERAL perfmodel.predict(:w, 'A100-SXM4-80GB', 8, 'amp', predictor => 'roof', world_size => 8, parallel => how) AS a,
     LATERAL (SELECT sum(step_ms) AS ms FROM perfmodel.explain_train_time(:w, 'A100-SXM4-80GB', 8, 'amp', predictor => 'roof', world_size => 8, parallel => how || '{"compile": true}')) AS e;
SELECT change, factor < 1 AS shorter, basis, note FROM perfmodel.what_if_change(:w, 'A100', 8, '{compile}', 'amp', predictor => 'roof') WHERE change = 'compile';
SELECT string_agg(change, ', ') AS changes FROM perfmodel.what_if_change(:w, 'A100', 8, dtype => 'amp', predictor => 'roof', parallel => '{"compile": true}');
SELECT note FROM perfmodel.predict_memory(:w, 'A100', 8, 'amp', parallel => '{"compile": true}');
-- less memory, a wider interval for what it holds, the same for every function; with "compile" false, or where segments run again, as without; older releases kept more
SELECT c.peak_mb < a.peak_mb AS less, c.activations_mb < a.activations_mb AS activations, c.weights_mb = a.weights_mb AS weights, (c.high - c.low) / c.peak_mb > (a.high - a.low) / a.peak_mb AS wider,
       o.peak_mb >= c.peak_mb AS older, helper.close(f.peak_mb, a.peak_mb) AS without, helper.close(r.peak_mb, ra.peak_mb) AS again, r.note ~ 'recomputing' AS said, i.peak_mb <= ia.peak_mb + 245 AS inference,
       (SELECT count(*) FROM (SELECT peak_mb, lag(peak_mb) OVER (ORDER BY batch) AS before FROM generate_series(1, 60) AS batch, LATERAL perfmodel.predict_memory(g, 'A100', batch, 'amp', parallel => '{"compile": true}')) AS b WHERE peak_mb < before) AS grows_less
FROM unnest(ARRAY[:w, :p]::bigint[]) AS g, LATERAL perfmodel.predict_memory(g, 'A100', 32, 'amp') AS a, LATERAL perfmodel.predict_memory(g, 'A100', 32, 'amp', parallel => '{"compile": true}') AS c,
     LATERAL perfmodel.predict_memory(g, 'A100', 32, 'amp', parallel => '{"compile": true}', framework => 'pytorch 2.1') AS o, LATERAL perfmodel.predict_memory(g, 'A100', 32, 'amp', parallel => '{"compile": false}') AS f,
     LATERAL perfmodel.predict_memory(g, 'A100', 32, 'amp', parallel => '{"compile": true, "recompute": true}') AS r, LATERAL perfmodel.predict_memory(g, 'A100', 32, 'amp', parallel => '{"recompute": true}') AS ra,
     LATERAL perfmodel.predict_memory(g, 'A100', 32, 'amp', mode => 'inference', parallel => '{"compile": true}') AS i, LATERAL perfmodel.predict_memory(g, 'A100', 32, 'amp', mode => 'inference') AS ia;
SELECT perfmodel.max_batch(:p, 'A100', 'amp', parallel => '{"compile": true}') > perfmodel.max_batch(:p, 'A100', 'amp') AS larger_batch,
       (SELECT peak_mb FROM perfmodel.what_if_change(:p, 'A100', 32, '{compile}', 'amp', predictor => 'roof') WHERE change = 'compile') = (SELECT peak_mb FROM perfmodel.predict_memory(:p, 'A100', 32, 'amp', parallel => '{"compile": true}')) AS change,
       (SELECT c.peak_mb < a.peak_mb FROM perfmodel.predict_memory(:p, 'A100', 64, 'amp', world_size => 8, parallel => '{"compile": true, "zero": 3}') AS c, perfmodel.predict_memory(:p, 'A100', 64, 'amp', world_size => 8, parallel => '{"zero": 3}') AS a) AS several,
       helper.close((SELECT sum(mb) FROM perfmodel.explain_memory(:p, 'A100', 32, 'amp', parallel => '{"compile": true}')), (SELECT peak_mb FROM perfmodel.predict_memory(:p, 'A100', 32, 'amp', parallel => '{"compile": true}'))) AS explained;
-- what no function computes, or cannot
SELECT helper.error_of(format('SELECT perfmodel.predict(%s, ''A100'', 8, predictor => ''roof'', parallel => ''{"compile": 1}'')', :w));
SELECT helper.error_of(format('SELECT perfmodel.computed_change(%s, ''A100'', 8, ''fused optimizer'', predictor => ''roof'', parallel => ''{"compile": true}'')', :w));
-- a release of FlashAttention: 2 unless the graph says otherwise, and the third on Hopper and later alone
SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(attention, 2, 1024, 8, 16384, 1000, attention => attention))) FROM unnest('{fused,flash1,flash2,flash3}'::text[]) AS attention;
SELECT gpu, round((max(ms) FILTER (WHERE name = 'flash1') / max(ms) FILTER (WHERE name = 'flash2'))::numeric, 2) AS first, round((max(ms) FILTER (WHERE name = 'flash3') / max(ms) FILTER (WHERE name = 'flash2'))::numeric, 2) AS third,
       max(ms) FILTER (WHERE name = 'fused') = max(ms) FILTER (WHERE name = 'flash2') AS usual
FROM unnest('{A100-SXM4-80GB,H100-SXM5-80GB,B200}'::text[]) AS gpu, unnest('{fused,flash1,flash2,flash3}'::text[]) AS name,
     LATERAL (SELECT step_ms AS ms FROM perfmodel.explain_train_time(perfmodel.graph_id(name), gpu, 1, 'bf16', predictor => 'roof') WHERE op = 'Attention') AS a GROUP BY gpu ORDER BY gpu;
SELECT count(DISTINCT structure) AS structures FROM perfmodel.graph WHERE name IN ('fused', 'flash1', 'flash2', 'flash3');
SELECT helper.error_of('SELECT perfmodel.decoder_graph(''f4'', 2, 64, 2, 16, 100, attention => ''flash4'')');
SELECT helper.error_of($$SELECT perfmodel.load_graph('{"format": "perfmodel-graph/1", "name": "f4", "nodes": [{"id": 0, "op": "Input", "inputs": [], "shape": [1, 2, 8, 4], "batch_dim": 0},
    {"id": 1, "op": "Attention", "inputs": [0, 0, 0], "shape": [1, 2, 8, 4], "batch_dim": 0, "attrs": {"flash": 4}}]}')$$);
ROLLBACK;
