-- Run by bench/llm.sh after llm.sql: steps of language models that others trained, on clusters of which nothing is fitted.
CREATE TABLE llm (source text, repo text, path text, commit text, model text, style text, layers int, hidden int, heads int, kv_heads int, ffn int, vocab int, tied bool, seq int, gpu text,
                  cluster text, gpus int, tp int, pp int, vp int, cp int, zero int, micro int, micro_batches int, recompute text, attention text, compiled bool, lora_rank int, step_ms float8,
                  memory_gib float8, framework text, note text);
\copy llm FROM '@work@/llm_published.csv' WITH (FORMAT csv, HEADER)
INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra, inter, adapters) VALUES
    ('ibm-a100', 'A100-SXM4-80GB', 8, 'nvswitch-a100', 'infiniband-100g', 4), ('ibm-h100', 'H100-SXM5-80GB', 8, 'nvswitch-h100', 'infiniband-100g', 8);
-- What cannot be said is said as what is nearest: recomputation of every n-th layer as of all; torchtitan's selective recomputation also computes every second product again. Megatron-LM 2022 says which of
-- its steps divide the sequence; NeMo's configurations do wherever tp is above 1. Weights of Megatron, NeMo and DeepSpeed are in 16 bits, with masters; FSDP's are not.
ALTER TABLE llm ADD dtype text, ADD graph text, ADD recomputes bool, ADD said jsonb;
UPDATE llm SET graph = format('%s@s%s %s %s', model, seq, attention, lora_rank), recomputes = recompute NOT IN ('none', 'attention only', 'selective op'), dtype = CASE WHEN source ~ 'Megatron|DGX Cloud$|DeepSpeed' THEN 'bf16' ELSE 'amp' END;
-- Transformer Engine and XLA run cuDNN's attention, and XLA compiles.
UPDATE llm SET attention = 'flash3', graph = format('%s@s%s %s %s', model, seq, 'flash3', lora_rank) WHERE attention = 'fused' AND source ~ 'DGX Cloud';
UPDATE llm SET said = jsonb_build_object('tp', tp, 'pp', pp, 'micro_batches', micro_batches, 'compression', 'bf16', 'recompute', recomputes, 'zero', zero, 'cp', cp)
    || CASE WHEN dtype = 'bf16' THEN '{"master_weights": true}' ELSE '{}' END::jsonb
    || CASE WHEN compiled THEN '{"compile": true}' ELSE '{}' END::jsonb
    || CASE WHEN vp > 1 THEN jsonb_build_object('interleave', vp) ELSE '{}' END
    || CASE recompute WHEN 'selective op' THEN '{"recompute": "cheap"}' WHEN 'every second layer' THEN jsonb_build_object('recompute_layers', layers / 2) ELSE '{}' END
    || CASE WHEN recompute = 'attention only' THEN '{"recompute": "attention"}' ELSE '{}' END::jsonb
    || CASE WHEN note = 'sequence parallel' OR (source = 'NVIDIA DGX Cloud' AND tp > 1) THEN '{"sequence_parallel": true}' ELSE '{}' END::jsonb;
SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(graph, layers, hidden, heads, seq, vocab, style, kv_heads, ffn, tied, attention, lora_rank))) AS graphs
FROM (SELECT DISTINCT graph, layers, hidden, heads, seq, vocab, style, kv_heads, ffn, tied, attention, lora_rank FROM llm) AS l;
CREATE TABLE published AS
SELECT l.*, p.step_ms AS predicted, step_ms_low AS low, step_ms_high AS high
FROM llm AS l, LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, cluster => cluster, parallel => said) AS p;
SELECT source, CASE WHEN grouping(gpu) = 1 THEN 'all' ELSE gpu END AS gpu, count(*) AS n, round((100 * avg(abs(predicted / step_ms - 1)))::numeric, 1) AS mape_pct,
       round((100 * avg(predicted / step_ms - 1))::numeric, 1) AS bias_pct, round(100 * avg((step_ms BETWEEN low AND high)::int)) AS coverage_pct, round(avg(high / low)::numeric, 1) AS high_over_low
FROM published GROUP BY GROUPING SETS ((source, gpu), ()) ORDER BY 1, 2;
SELECT source, recompute, compiled, count(*) AS n, round((100 * avg(predicted / step_ms - 1))::numeric, 1) AS bias_pct FROM published WHERE zero = 3 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT model, string_agg(format('%s%s: %s', gpus, CASE WHEN lora_rank > 0 THEN ' lora' END, round((predicted / step_ms)::numeric, 2)), ', ' ORDER BY lora_rank NULLS FIRST, gpus, tp) AS predicted_over_measured_by_gpus
FROM published WHERE zero < 3 GROUP BY source, model ORDER BY source, model;

-- the new keys, and memory: all of these steps ran on GPUs of 80 GB
SELECT l.source, l.said ? 'sequence_parallel' AS sequence_parallel, l.recompute, count(*) AS n, round((100 * avg(abs(p.step_ms / l.step_ms - 1)))::numeric, 1) AS without_pct,
       round((100 * avg(abs(predicted / l.step_ms - 1)))::numeric, 1) AS with_pct, round((100 * avg(p.step_ms / l.step_ms - 1))::numeric, 1) AS bias_without_pct,
       round((100 * avg(predicted / l.step_ms - 1))::numeric, 1) AS bias_with_pct, format('%s to %s', round(min(w.peak_mb) / 1024), round(max(w.peak_mb) / 1024)) AS gib_without,
       format('%s to %s', round(min(m.peak_mb) / 1024), round(max(m.peak_mb) / 1024)) AS gib_with, sum((m.peak_mb < 80 * 1024)::int) AS below_80
FROM published AS l, LATERAL (SELECT said - '{sequence_parallel,recompute_layers}'::text[] || jsonb_build_object('recompute', recomputes)) AS b(before),
     LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, cluster => cluster, parallel => before) AS p,
     LATERAL perfmodel.predict_memory(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, parallel => before) AS w,
     LATERAL perfmodel.predict_memory(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, parallel => said) AS m
WHERE source IN ('Megatron-LM 2022', 'NVIDIA DGX Cloud') GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- three steps of one program teach the others: a cluster that is fitted to one step each of GPT-3 and both Nemotrons
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, optimizer, world_size, nodes, step_ms, parallel)
SELECT DISTINCT ON (model) perfmodel.graph_id(graph), gpu, micro, dtype, 'adamw', gpus, gpus / 8, step_ms, said
FROM published WHERE source = 'NVIDIA DGX Cloud' AND model ~ 'gpt|nemotron' ORDER BY model, gpus, tp DESC;
SELECT fitted_cluster, n_profiles, round(mape_before_pct::numeric, 1) AS mape_before_pct, round(mape_after_pct::numeric, 1) AS mape_after_pct FROM perfmodel.fit_cluster('dgx-h100', 'of one program');
SELECT model, count(*) AS n, round(avg(100 * abs(predicted / l.step_ms - 1))::numeric, 1) AS before_pct, round(avg(100 * abs(p.step_ms / l.step_ms - 1))::numeric, 1) AS after_pct,
       round(100 * avg((l.step_ms BETWEEN step_ms_low AND step_ms_high)::int)) AS coverage_pct
FROM published AS l, LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, cluster => 'of one program', parallel => said) AS p
WHERE source = 'NVIDIA DGX Cloud' AND lora_rank IS NULL AND model ~ 'llama' GROUP BY GROUPING SETS ((model), ()) ORDER BY 1;

-- selective recomputation as it can be said now and as it had to be said before: as none, or as all
SELECT source, model, l.gpu, gpus, l.recompute, l.compiled, round(l.step_ms) AS step_ms, round(n.step_ms) AS none_ms, round(predicted) AS said_ms, round(a.step_ms) AS all_ms, memory_gib,
       round(nm.peak_mb / 1024) AS none_gib, round(m.peak_mb / 1024) AS said_gib, round(am.peak_mb / 1024) AS all_gib
FROM published AS l, LATERAL (SELECT said - 'recompute_layers' || '{"recompute": false}', said - 'recompute_layers' || '{"recompute": true}') AS b(nothing, everything),
     LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, cluster => cluster, parallel => nothing) AS n,
     LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, cluster => cluster, parallel => everything) AS a,
     LATERAL perfmodel.predict_memory(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, parallel => nothing) AS nm,
     LATERAL perfmodel.predict_memory(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, parallel => said) AS m,
     LATERAL perfmodel.predict_memory(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, parallel => everything) AS am
WHERE l.recompute IN ('selective op', 'every second layer') ORDER BY 1, 2, 3, 4, 5, 6;
