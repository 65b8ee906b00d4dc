-- Run by bench/llm.sh after fp8.sql: steps of language models on B200, GB200 and GB300 with NeMo, in BF16, FP8 and MXFP8 (asked for fp8), on clusters of which nothing is
-- fitted. Of the GB200 and GB300 only their data sheets are known. Two steps of the B200 in BF16 are in training, and left out. Recomputation is not said by most.
CREATE TABLE blackwell (source text, repo text, path text, commit text, model text, style text, layers int, hidden int, heads int, kv_heads int, ffn int, vocab int, tied bool, seq int, gpu text,
                        cluster text, gpus int, tp int, pp int, vp int, cp int, zero int, micro int, micro_batches int, recompute text, attention text, compiled bool, lora_rank int, step_ms float8,
                        memory_gib float8, framework text, note text, "precision" text, optimizer text, ep int, experts int, top_k int, memory_kind text);
\copy blackwell FROM '@work@/blackwell_published.csv' WITH (FORMAT csv, HEADER)
ALTER TABLE blackwell ADD graph text, ADD said jsonb, ADD dtype text;
UPDATE blackwell SET graph = format('%s@s%s flash3 %s', model, seq, lora_rank), dtype = CASE WHEN "precision" ~ 'fp8' THEN 'fp8' ELSE 'bf16' END,
    said = jsonb_build_object('tp', tp, 'pp', pp, 'cp', cp, 'micro_batches', micro_batches, 'compression', 'bf16', 'recompute', recompute = 'full', 'zero', zero, 'master_weights', true)
    || CASE WHEN vp > 1 THEN jsonb_build_object('interleave', least(vp, layers / pp)) ELSE '{}' END || CASE WHEN tp > 1 THEN '{"sequence_parallel": true}' ELSE '{}' END::jsonb;
SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(graph, layers, hidden, heads, seq, vocab, style, kv_heads, ffn, tied, 'flash3', lora_rank))) AS graphs
FROM (SELECT DISTINCT ON (graph) * FROM blackwell) AS b;
CREATE TABLE on_blackwell AS
SELECT b.*, p.step_ms AS predicted, step_ms_low AS low, step_ms_high AS high
FROM blackwell AS b, LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, micro, dtype, optimizer => 'adamw', world_size => gpus, cluster => cluster, parallel => said) AS p;
SELECT gpu, dtype, count(*) AS n, round((100 * avg(abs(predicted / step_ms - 1)))::numeric, 1) AS mape_pct, round((100 * avg(predicted / step_ms - 1))::numeric, 1) AS bias_pct,
       round(100 * avg((step_ms BETWEEN low AND high)::int)) AS coverage_pct, round(avg(high / low)::numeric, 1) AS high_over_low
FROM on_blackwell GROUP BY GROUPING SETS ((gpu, dtype), (dtype), ()) ORDER BY 1, 2;
SELECT gpu, model, dtype, string_agg(format('%s x %s: %s', gpus, seq, round((predicted / step_ms)::numeric, 2)), ', ' ORDER BY gpus, seq) AS predicted_over_measured FROM on_blackwell GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
