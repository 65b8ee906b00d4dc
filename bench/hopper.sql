-- Steps that were measured on a GPU for data/, and what is predicted for them; hopper.sh makes row, busy and doc, and sets :gpu.
CREATE FUNCTION pg_temp.optimizer(mode text, optimizer text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN CASE WHEN mode = 'inference' THEN 'sgd_momentum' ELSE optimizer END;

-- Language models from their sizes: those that the measured programs, transformers' GPT-2 and Llama, were built with.
SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(name, layers => layers, hidden => hidden, heads => heads, sequence => sequence,
    vocabulary => CASE style WHEN 'gpt' THEN 50257 ELSE 32000 END, style => style, kv_heads => kv_heads, feed_forward => feed_forward))) AS language_models
FROM (VALUES ('gpt2_124m@s512', 12, 768, 12, 512, 'gpt', 12, NULL::int), ('gpt2_355m@s512', 24, 1024, 16, 512, 'gpt', 16, NULL), ('gpt2_355m@s1024', 24, 1024, 16, 1024, 'gpt', 16, NULL),
             ('llama_160m@s1024', 12, 768, 12, 1024, 'llama', 12, 3072), ('llama_160m@s2048', 12, 768, 12, 2048, 'llama', 12, 3072),
             ('llama_160m@s512', 12, 768, 12, 512, 'llama', 12, 3072),
             ('llama_1b@s1024', 22, 2048, 32, 1024, 'llama', 4, 5632), ('llama_1b@s2048', 22, 2048, 32, 2048, 'llama', 4, 5632), ('llama_3b@s1024', 26, 3200, 32, 1024, 'llama', 32, 8640))
     AS sizes (name, layers, hidden, heads, sequence, style, kv_heads, feed_forward);

-- Without busy.csv (H200), nobody knows which steps wait for the host. In the first campaign on the H100, the host had other work.
CREATE VIEW measured AS
SELECT row.*, busy_ms, coalesce(busy_ms < 0.8 * row.step_ms, false) AS waits, measured_at > '2026-11-27 15:00Z' AS is_later
FROM row LEFT JOIN busy USING (graph, batch, dtype, layout, mode, optimizer);
-- COMPARED of tools/pretrain_rows.py keeps the networks with frozen weights and the language models from their sizes out of training.
CREATE TABLE answer AS
SELECT r.graph, r.batch, r.dtype, r.layout, r.mode, r.optimizer, r.step_ms, p.step_ms AS predicted_ms, p.step_ms_low AS low, p.step_ms_high AS high, p.in_domain,
       r.peak_memory_mb, m.peak_mb, m.low AS low_mb, m.high AS high_mb,
       CASE WHEN waits AND NOT is_later THEN 'the host had other work'
            WHEN r.graph ~ 'frozen|^gpt_(all|lora)' THEN 'frozen weights' WHEN r.graph ~ '^(gpt2_|llama_(160m|1b|3b))' THEN 'language models from their sizes'
            ELSE r.mode END || CASE WHEN waits THEN ', waits for the host' ELSE '' END AS rows,
       bool_and(is_later) FILTER (WHERE is_later OR NOT waits) OVER (PARTITION BY r.graph) AS is_later_network
FROM measured AS r,
     LATERAL perfmodel.predict(perfmodel.graph_id(r.graph), :'gpu', r.batch, r.dtype, layout => r.layout, mode => r.mode, optimizer => pg_temp.optimizer(r.mode, r.optimizer)) AS p,
     LATERAL perfmodel.predict_memory(perfmodel.graph_id(r.graph), :'gpu', r.batch, r.dtype, layout => r.layout, mode => r.mode, optimizer => pg_temp.optimizer(r.mode, r.optimizer)) AS m;

\echo Times; the rows "train" and "inference" are in the training of the predictor that ships, the others are not. later: networks of the second campaign on the H100 alone.
SELECT rows, CASE WHEN grouping(is_later_network) = 1 THEN 'all' ELSE 'later' END AS networks, count(*) AS n, round((100 * avg(abs(predicted_ms / step_ms - 1)))::numeric, 1) AS error_pct,
       round((100 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(predicted_ms / step_ms - 1)))::numeric, 1) AS median_pct, round((100 * avg(predicted_ms / step_ms - 1))::numeric, 1) AS bias_pct,
       round((100 * avg((step_ms BETWEEN low AND high)::int))::numeric, 1) AS in_interval_pct, round(avg(high / low)::numeric, 1) AS high_over_low, round((100 * avg(in_domain::int))::numeric) AS in_domain_pct
FROM answer WHERE rows !~ '^the host' GROUP BY rows, ROLLUP (is_later_network) HAVING grouping(is_later_network) = 1 OR is_later_network ORDER BY 1, 2;

\echo By kind of network and layout, training steps that do not wait; convolutional: more than two convolutions.
SELECT CASE WHEN is_conv THEN 'convolutional' ELSE 'other' END AS network, layout, CASE WHEN dtype IN ('amp', 'bf16', 'fp16') THEN '16 bits' ELSE 'tf32, fp32' END AS format, count(*) AS n,
       round((100 * avg(abs(predicted_ms / step_ms - 1)))::numeric, 1) AS error_pct, round((100 * avg(predicted_ms / step_ms - 1))::numeric, 1) AS bias_pct
FROM answer, LATERAL (SELECT EXISTS (SELECT FROM more WHERE j ->> 'name' = graph AND j ->> 'nodes' ~ '"Conv".*"Conv".*"Conv"')) AS c (is_conv)
WHERE rows = 'train' GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

\echo The step with frozen weights over the step of the whole training.
SELECT f.graph, batch, round((f.step_ms / a.step_ms)::numeric, 2) AS measured, round((f.predicted_ms / a.predicted_ms)::numeric, 2) AS predicted
FROM answer AS f JOIN answer AS a USING (batch, dtype, layout, mode, optimizer)
WHERE f.rows ~ '^frozen weights' AND a.graph = CASE WHEN f.graph ~ '^gpt_lora' THEN 'gpt_all@s512' ELSE regexp_replace(f.graph, '_frozen[0-9]*@', '@') END AND f.graph <> a.graph
ORDER BY f.graph, batch;

\echo Memory.
SELECT rows, count(*) AS n, count(DISTINCT graph) AS networks, round((100 * avg(abs(peak_mb / peak_memory_mb - 1)))::numeric, 1) AS error_pct,
       round((100 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(peak_mb / peak_memory_mb - 1)))::numeric, 1) AS median_pct,
       round((100 * percentile_cont(0.9) WITHIN GROUP (ORDER BY abs(peak_mb / peak_memory_mb - 1)))::numeric, 1) AS pct_90,
       round((100 * avg((peak_memory_mb BETWEEN low_mb AND high_mb)::int))::numeric, 1) AS in_interval_pct
FROM answer GROUP BY ROLLUP (rows) ORDER BY rows;
