-- Run by bench/llm.sh after llm_published.sql: steps in FP8 that others published beside the same steps in BF16, on the same GPUs. Nothing but the speed of a
-- product in FP8 was chosen on them, and that on the first group alone. Weights are in 16 bits, with masters.
CREATE TABLE fp8 (source text, repo text, path text, commit text, precision text, model text, style text, layers int, hidden int, heads int, kv_heads int, ffn int, vocab int, tied bool, seq int,
                  gpu text, gpus int, tp int, pp int, vp int, cp int, zero int, micro int, micro_batches int, recompute text, attention text, lora_rank int, bf16_ms float8, fp8_ms float8);
\copy fp8 FROM '@work@/fp8_published.csv' WITH (FORMAT csv, HEADER)
INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra, inter, adapters) VALUES ('eight B200', 'B200', 8, 'nvswitch-h100', 'infiniband-400g', 8);
ALTER TABLE fp8 ADD graph text, ADD said jsonb, ADD kind text;
-- but for torchtitan and llm.q, all run cuDNN's attention
UPDATE fp8 SET attention = 'flash3' WHERE attention = 'fused' AND source !~ 'torchtitan|torchao|llm.q';
UPDATE fp8 SET graph = format('%s@s%s %s %s', model, seq, attention, lora_rank), said = jsonb_build_object('micro_batches', micro_batches, 'master_weights', true)
    || CASE WHEN gpus > 1 THEN jsonb_build_object('tp', tp, 'pp', pp, 'cp', cp, 'compression', 'bf16', 'zero', zero, 'recompute', recompute IN ('full', 'every second layer')) ELSE '{}' END
    || CASE WHEN vp > 1 THEN jsonb_build_object('interleave', vp) ELSE '{}' END || CASE WHEN tp > 1 THEN '{"sequence_parallel": true}' ELSE '{}' END::jsonb,
    kind = CASE WHEN source ~ 'MaxText|Paxml|torchtitan|torchao|FlagPerf' THEN '1 JAX and torchtitan, H100' WHEN gpu = 'B200' THEN '3 NeMo, B200 and GB200' WHEN source ~ 'llm.q' THEN '4 llm.q, H100, L40S and RTX 4090' ELSE '2 NeMo, H100' END;
SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(graph, layers, hidden, heads, seq, vocab, style, kv_heads, ffn, tied, attention, lora_rank))) AS graphs
FROM (SELECT DISTINCT ON (graph) * FROM fp8) AS f;
CREATE TABLE gain AS
SELECT f.*, b.step_ms AS bf16, p.step_ms AS fp8, p.step_ms_low AS low, p.step_ms_high AS high
FROM fp8 AS f, LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, micro, 'bf16', optimizer => 'adamw', world_size => gpus, cluster => CASE WHEN gpu = 'B200' THEN 'eight B200' WHEN gpu ~ 'H100' THEN 'dgx-h100' END, parallel => said) AS b,
     LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, micro, 'fp8', optimizer => 'adamw', world_size => gpus, cluster => CASE WHEN gpu = 'B200' THEN 'eight B200' WHEN gpu ~ 'H100' THEN 'dgx-h100' END, parallel => said) AS p;
SELECT kind, count(*) AS n, round(avg(bf16_ms / fp8_ms)::numeric, 2) AS measured_gain, round(avg(bf16 / fp8)::numeric, 2) AS predicted_gain, round((100 * avg(abs(fp8 / bf16 / (fp8_ms / bf16_ms) - 1)))::numeric, 1) AS mape_of_ratio_pct,
       round((100 * avg(fp8 / bf16 / (fp8_ms / bf16_ms) - 1))::numeric, 1) AS bias_of_ratio_pct, round((100 * max(abs(fp8 / bf16 / (fp8_ms / bf16_ms) - 1)))::numeric, 1) AS worst_pct,
       round((100 * avg(bf16 / bf16_ms - 1))::numeric) AS bias_bf16_pct, round((100 * avg(fp8 / fp8_ms - 1))::numeric) AS bias_fp8_pct, round(100 * avg((fp8_ms BETWEEN low AND high)::int)) AS coverage_pct
FROM gain GROUP BY kind ORDER BY kind;
