-- Run by bench/llm.sh after fp8.sql: steps of language models with experts that others published, of which nothing is fitted. Megatron's Qwen3 have whole experts (etp 1):
-- where ep exceeds the copies, nothing else is possible, and for the others it is a guess. Megatron's recomputation of single modules is said as that of cheap operators.
CREATE TABLE moe (source text, repo text, path text, commit text, model text, style text, layers int, hidden int, heads int, kv_heads int, ffn int, vocab int, tied bool, seq int, gpu text,
                  cluster text, gpus int, tp int, pp int, vp int, cp int, zero int, micro int, micro_batches int, recompute text, attention text, compiled bool, lora_rank int, step_ms float8,
                  memory_gib float8, framework text, note text, "precision" text, optimizer text, ep int, experts int, top_k int, memory_kind text);
\copy moe FROM '@work@/moe_published.csv' WITH (FORMAT csv, HEADER)
-- Transformer Engine runs cuDNN's attention.
UPDATE moe SET attention = 'flash3' WHERE attention = 'fused' AND source ~ 'DGX Cloud|Megatron';
ALTER TABLE moe ADD graph text, ADD said jsonb, ADD dtype text, ADD guess text;
UPDATE moe SET graph = format('%s@s%s moe', model, seq), dtype = CASE WHEN "precision" ~ 'fp8' THEN 'fp8' WHEN source ~ 'titan|Automodel' THEN 'amp' ELSE 'bf16' END,
    guess = CASE WHEN model ~ 'grok' AND note !~ 'vocabulary' THEN 'recomputation' WHEN model ~ 'grok' THEN 'recomputation, vocabulary' WHEN note ~ 'GUESS' THEN 'recomputation' ELSE 'nothing' END;
UPDATE moe SET said = jsonb_build_object('tp', tp, 'pp', pp, 'cp', cp, 'ep', ep, 'micro_batches', micro_batches, 'compression', 'bf16', 'recompute', CASE recompute WHEN 'full' THEN to_jsonb(true) WHEN 'selective op' THEN '"cheap"' ELSE to_jsonb(false) END, 'zero', zero)
    || CASE WHEN dtype = 'amp' THEN '{}' ELSE '{"master_weights": true}' END::jsonb || CASE WHEN vp > 1 THEN jsonb_build_object('interleave', least(vp, layers / pp)) ELSE '{}' END
    || CASE WHEN tp > 1 THEN '{"sequence_parallel": true}' ELSE '{}' END::jsonb
    || CASE WHEN tp > 1 AND source ~ 'Megatron' THEN '{"etp": 1}' ELSE '{}' END::jsonb;
-- Grok from its sizes, the others as their config.json says: their heads are wider than hidden size / heads, and every second layer of gpt-oss sees 128 tokens.
SELECT count(perfmodel.load_graph(CASE WHEN model ~ 'grok' THEN perfmodel.decoder_graph(graph, layers, hidden, heads, seq, vocab, style, kv_heads, ffn, tied, attention, experts => experts, experts_per_token => top_k)
    ELSE perfmodel.decoder_graph(graph, jsonb_build_object('hidden_size', hidden, 'num_hidden_layers', layers, 'num_attention_heads', heads, 'num_key_value_heads', kv_heads, 'vocab_size', vocab, 'tie_word_embeddings', tied,
        'num_experts_per_tok', top_k) || CASE WHEN model ~ 'qwen3' THEN jsonb_build_object('model_type', 'qwen3_moe', 'head_dim', 128, 'attention_bias', false, 'moe_intermediate_size', ffn, 'intermediate_size', ffn, 'num_experts', experts,
        'decoder_sparse_step', 1) ELSE jsonb_build_object('model_type', 'gpt_oss', 'head_dim', 64, 'attention_bias', true, 'intermediate_size', ffn, 'num_local_experts', experts, 'sliding_window', 128) END, seq, attention) END)) AS graphs
FROM (SELECT DISTINCT ON (graph) * FROM moe) AS m;
CREATE TABLE mixed AS
SELECT m.*, p.step_ms AS predicted, step_ms_low AS low, step_ms_high AS high, c.peak_mb / 1024 AS gib, p.note AS doubts
FROM moe AS m, LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, cluster => cluster, parallel => said) AS p,
     LATERAL perfmodel.predict_memory(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, parallel => said) AS c;
SELECT regexp_replace(source, ' [0-9.]+$', '') AS publisher, split_part(model, '/', 1) AS model, gpu, dtype, guess, string_agg(DISTINCT ep::text, ', ') AS ep, count(*) AS n, round((100 * avg(abs(predicted / step_ms - 1)))::numeric, 1) AS mape_pct,
       round((100 * avg(predicted / step_ms - 1))::numeric, 1) AS bias_pct, round(100 * avg((step_ms BETWEEN low AND high)::int)) AS coverage_pct, round(avg(high / low)::numeric, 1) AS high_over_low
FROM mixed GROUP BY GROUPING SETS ((publisher, split_part(model, '/', 1), gpu, dtype, guess), (guess), ()) ORDER BY 1, 2, 3, 4, 5;
SELECT source, ep, count(*) AS n, round(avg(predicted / step_ms)::numeric, 2) AS predicted_over_measured, round((100 * avg(abs(predicted / step_ms - 1)))::numeric, 1) AS mape_pct FROM mixed GROUP BY 1, 2 ORDER BY 1, 2;
SELECT source, model, dtype, string_agg(format('%s: tp %s pp %s cp %s ep %s zero %s%s %s x %s: %s', gpus, tp, pp, cp, ep, zero, CASE WHEN recompute <> 'none' THEN ' ' || recompute END, micro, micro_batches, round((predicted / step_ms)::numeric, 2)), ', ' ORDER BY gpus, seq, tp, micro) AS predicted_over_measured
FROM mixed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- all of them ran
SELECT source, split_part(model, '/', 1) AS model, gpu, count(*) AS n, format('%s to %s', round(min(gib)), round(max(gib))) AS gib, max(memory_gib) AS measured_gib FROM mixed GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
-- what is said with ep: the same steps as if each GPU had all experts
SELECT source, count(*) AS n, round(avg(p.step_ms / m.step_ms)::numeric, 2) AS without, round(avg(predicted / m.step_ms)::numeric, 2) AS with_ep
FROM mixed AS m, LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, cluster => cluster, parallel => said - '{ep,etp}'::text[]) AS p WHERE ep > 1 GROUP BY 1 ORDER BY 1;
