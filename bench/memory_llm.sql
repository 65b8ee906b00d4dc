-- Run by bench/memory.sh: language models that others measured.
-- A GPT as Megatron writes it: attention as single operators, no bias but in the classifier.
CREATE FUNCTION pg_temp.node(id int, op text, inputs text, shape text, more text DEFAULT '') RETURNS text LANGUAGE sql AS $$
    SELECT format('{"id":%s,"op":"%s","inputs":[%s],"shape":[1,%s],"batch_dim":0%s}', id, op, inputs, shape, more) $$;
CREATE FUNCTION pg_temp.gpt(name text, layers int, h int, heads int, s int, v int) RETURNS jsonb LANGUAGE sql AS $$
    WITH w AS (SELECT format('%s,%s', s, h) AS x, format('%s,%s,%s', heads, s, h / heads) AS split, format('%s,%s,%s', heads, s, s) AS scores, format('%s,%s', s, 4 * h) AS wide,
                      ',"view":true' AS view, format(',"weights":[[%s],[%s]]', h, h) AS norm, format(',"weights":[[%s,%s]]', h, h) AS square),
         layer AS (
        SELECT l, string_agg(pg_temp.node(i + 2 + 21 * l, op, regexp_replace(inputs, 'p', (1 + 21 * l)::text), shape, more), ',' ORDER BY i) AS nodes
        FROM w, generate_series(0, layers - 1) AS l, LATERAL (SELECT 2 + 21 * l) AS b(b), LATERAL (VALUES
            (0, 'LayerNormalization', 'p', x, norm), (1, 'Gemm', b || '', x, square), (2, 'Gemm', b || '', x, square), (3, 'Gemm', b || '', x, square),
            (4, 'Reshape', b + 1 || '', split, view), (5, 'Reshape', b + 2 || '', split, view), (6, 'Reshape', b + 3 || '', split, view),
            (7, 'MatMul', format('%s,%s', b + 4, b + 5), scores, ''), (8, 'Softmax', b + 7 || '', scores, ''), (9, 'Dropout', b + 8 || '', scores, ''),
            (10, 'MatMul', format('%s,%s', b + 9, b + 6), split, ''), (11, 'Reshape', b + 10 || '', x, view), (12, 'Gemm', b + 11 || '', x, square),
            (13, 'Dropout', b + 12 || '', x, ''), (14, 'Add', format('p,%s', b + 13), x, ''), (15, 'LayerNormalization', b + 14 || '', x, norm),
            (16, 'Gemm', b + 15 || '', wide, format(',"weights":[[%s,%s]]', 4 * h, h)), (17, 'Gelu', b + 16 || '', wide, ''),
            (18, 'Gemm', b + 17 || '', x, format(',"weights":[[%s,%s]]', h, 4 * h)), (19, 'Dropout', b + 18 || '', x, ''), (20, 'Add', format('%s,%s', b + 14, b + 19), x, '')
        ) AS n(i, op, inputs, shape, more) GROUP BY l)
    SELECT format('{"format":"perfmodel-graph/1","name":"%s","nodes":[%s,%s,%s,%s,%s]}', name, pg_temp.node(0, 'Input', '', s::text),
                  pg_temp.node(1, 'Gather', '0', x, format(',"weights":[[%s,%s]]', v, h)), string_agg(nodes, ',' ORDER BY l),
                  pg_temp.node(2 + 21 * layers, 'LayerNormalization', 1 + 21 * layers || '', x, norm),
                  pg_temp.node(3 + 21 * layers, 'Gemm', 2 + 21 * layers || '', format('%s,%s', s, v), format(',"attrs":{"tied":1},"weights":[[%s,%s]]', v, h)))::jsonb
    FROM w, layer GROUP BY x, norm $$;

\echo 'Operators of GPT in fp16 on a V100 (Aceso): what each leaves allocated in the forward pass'
CREATE TABLE op_seen (model text, op text, micro_batch int, input_mb float8, output_mb float8, activation_mb float8);
\copy op_seen from '@work@/aceso.csv' with (format csv)
CREATE TABLE op_graph AS
SELECT d.model, perfmodel.load_graph(pg_temp.gpt('aceso ' || d.model, 1, h, a, 2048, 51200)) AS graph_id
FROM (SELECT model, round(max(input_mb) FILTER (WHERE op = 'enc-1st-layernorm') * 256)::int AS h, round(max(activation_mb) FILTER (WHERE op = 'enc-attention-score') / 8)::int AS a
      FROM op_seen WHERE micro_batch = 1 GROUP BY model) AS d;
CREATE TABLE op_said AS
WITH change AS (
    SELECT g.model, b.b, t.node_id, t.mb - lag(t.mb) OVER (PARTITION BY g.model, b.b ORDER BY t.event) AS mb, t.phase
    FROM op_graph AS g, unnest('{1,2,4,8}'::int[]) AS b(b), perfmodel.memory_timeline(g.graph_id, 'V100', b.b, 'fp16', framework => 'pytorch 1.9', points => 100000) AS t)
SELECT model, b AS micro_batch, op, sum(mb) FILTER (WHERE mb > 0) AS mb
FROM change JOIN (VALUES ('enc-1st-layernorm', 2, 2), ('enc-attention-qkv', 3, 5), ('enc-attention-score', 9, 9), ('enc-attention-softmax', 10, 10), ('enc-attention-dropout', 11, 11),
                         ('enc-attention-context', 12, 12), ('enc-attention-dense', 14, 14), ('enc-post-attention-dropout', 15, 15), ('enc-2nd-layernorm', 17, 17), ('enc-MLP-GEMM-1', 18, 18),
                         ('enc-MLP-gelu', 19, 19), ('enc-MLP-GEMM-2', 20, 20), ('enc-post-MLP-dropout', 21, 21)) AS o(op, first, last) ON node_id BETWEEN first AND last
WHERE phase = 'forward' GROUP BY 1, 2, 3;
SELECT count(*) AS operators, count(DISTINCT model) AS models, pg_temp.mape(array_agg(p.mb / s.activation_mb - 1)) AS "mean / median / p90 %",
       count(*) FILTER (WHERE abs(p.mb / s.activation_mb - 1) > 0.02) AS off_by_2_pct
FROM op_seen AS s JOIN op_said AS p USING (model, op, micro_batch);
SELECT op, count(*) AS n, round(100 * avg(p.mb / s.activation_mb - 1)::numeric, 1) AS bias_pct FROM op_seen AS s JOIN op_said AS p USING (model, op, micro_batch)
GROUP BY op HAVING max(abs(p.mb / s.activation_mb - 1)) > 0.02 ORDER BY op;

\echo 'GPTs of 18 to 205 billion parameters on A100s of 80 GB (BigScience, Megatron-DeepSpeed): tensor and pipeline parallel, ZeRO-1, recomputation'
CREATE TABLE big (model text, n_gpus int, mib float8, how text, options text);
\copy big from '@work@/bigscience.csv' with (format csv)
-- hidden size and vocabulary are those that the text names; layers from the parameters
-- a pipeline is taken to be full where nothing says how many micro-batches go through it
CREATE TABLE big_size AS
SELECT *, coalesce(gbs / (dp * mbs), pp) AS micro_batches, greatest(pp, round((params - 250000.0 * 14336) / (12 * 14336.0 ^ 2) / pp) * pp)::int AS layers
FROM (SELECT *, substring(model FROM '[0-9]+')::float8 * 1e9 AS params, substring(how FROM 'tp=([0-9]+)')::int AS tp, coalesce(substring(how FROM 'pp=([0-9]+)')::int, 1) AS pp,
             coalesce(substring(options FROM 'mbs=([0-9]+)')::int, 1) AS mbs, substring(how FROM 'dp=([0-9]+)')::int AS dp,
             substring(options FROM 'gbs=([0-9]+)')::int AS gbs FROM big) AS b;
CREATE TABLE big_graph AS
SELECT layers, perfmodel.load_graph(pg_temp.gpt('bigscience ' || layers, layers, 14336, 112, 2048, 250000)) AS graph_id FROM (SELECT DISTINCT layers FROM big_size) AS l;
CREATE TABLE big_said AS
SELECT s.model, s.tp, s.pp, s.mbs, s.mib, m.* FROM big_size AS s JOIN big_graph USING (layers),
     LATERAL perfmodel.predict_memory(graph_id, 'A100-SXM4-80GB', mbs, 'bf16', framework => 'pytorch 1.10', optimizer => 'adam', world_size => n_gpus / (tp * pp) * (tp * pp),
                                      parallel => jsonb_build_object('tp', tp, 'pp', pp, 'micro_batches', micro_batches, 'zero', 1, 'recompute', true)) AS m;
SELECT count(*) AS rows, count(DISTINCT model) AS models, pg_temp.mape(array_agg(peak_mb / mib - 1)) AS "mean / median / p90 %", round(100 * avg(peak_mb / mib - 1)::numeric, 1) AS bias_pct,
       round(100 * avg((mib BETWEEN low AND high)::int), 1) AS coverage_pct FROM big_said;
SELECT tp, pp, mbs, count(*) AS rows, round(avg(mib)) AS mib, round(avg(peak_mb)) AS predicted FROM big_said GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

\echo 'LoRA in bf16 on an A10G (LitGPT): peak of the tensors, batches of 512 tokens. The sizes are those of config.json; which products have adapters is not said.'
CREATE TABLE lora (model text, batch int, mib float8);
\copy lora from '@work@/litgpt.csv' with (format csv)
CREATE TABLE lora_size (model text, layers int, hidden int, heads int, vocabulary int, kv_heads int, feed_forward int, tied boolean);
INSERT INTO lora_size VALUES ('llama-2-7b', 32, 4096, 32, 32000, 32, 11008, false), ('llama-3-8b', 32, 4096, 32, 128256, 8, 14336, false), ('llama-3.1-8b', 32, 4096, 32, 128256, 8, 14336, false),
    ('mistral-7b', 32, 4096, 32, 32000, 8, 14336, false), ('mistral-7b-v0.2', 32, 4096, 32, 32000, 8, 14336, false), ('llama-3.2-1b', 16, 2048, 32, 128256, 8, 8192, true),
    ('llama-3.2-3b', 28, 3072, 24, 128256, 8, 8192, true), ('tiny-llama', 22, 2048, 32, 32000, 4, 5632, false), ('gemma-2b', 18, 2048, 8, 256000, 1, 16384, true),
    ('Phi-3-mini-4k-instruct', 32, 3072, 32, 32064, 32, 8192, false);
SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(model || ' lora on ' || lora_on, layers, hidden, heads, 512, vocabulary, 'llama', kv_heads => kv_heads, feed_forward => feed_forward,
                                                          tied => tied, lora_rank => 32, lora_on => lora_on))) AS graphs FROM lora_size, unnest('{attention,all}'::text[]) AS lora_on;
CREATE TABLE lora_said AS
SELECT model, batch, lora_on, mib, m.peak_mb - m.context_mb AS tensors_mb, m.low - m.context_mb AS low, m.high - m.context_mb AS high
FROM (SELECT lora.* FROM lora JOIN lora_size USING (model) OFFSET 0) AS l, unnest('{attention,all}'::text[]) AS lora_on,
     LATERAL perfmodel.predict_memory(perfmodel.graph_id(model || ' lora on ' || lora_on), 'A10', batch, 'bf16', framework => 'pytorch 2', optimizer => 'adamw') AS m;
SELECT lora_on, count(*) AS rows, pg_temp.mape(array_agg(tensors_mb / mib - 1)) AS "mean / median / p90 %", round(100 * avg(tensors_mb / mib - 1)::numeric, 1) AS bias_pct,
       round(100 * avg((mib BETWEEN low AND high)::int), 1) AS coverage_pct FROM lora_said GROUP BY 1 ORDER BY 1;
SELECT lora_on, string_agg(format('%s %s', model, round((tensors_mb / mib)::numeric, 2)), ', ' ORDER BY model) AS predicted_over_measured FROM lora_said GROUP BY 1 ORDER BY 1;
