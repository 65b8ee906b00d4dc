-- Run by bench/llm.sh.
CREATE TABLE row (model text, gpu text, n_gpus int, batch_per_gpu float8, dtype text, throughput float8, throughput_unit text, step_ms float8, memory_mib float8, mode text,
                  framework text, parallelism text, options text, source text);
\copy row FROM '@work@/rows.csv' WITH (FORMAT csv, HEADER)

\i @work@/src/tools/decoders.sql
SELECT pg_temp.load_decoders(array_agg(model)) AS graphs FROM row;
CREATE TABLE step AS
SELECT split_part(model, '@s', 1) AS model, split_part(model, '@s', 2)::int AS seq, CASE gpu WHEN 'a100_40gb' THEN 'A100-SXM4-40GB' WHEN 'a100_80gb' THEN 'A100-SXM4-80GB' ELSE 'H100-SXM5-80GB' END AS gpu,
       CASE gpu WHEN 'a100_40gb' THEN 'dgx-a100-40gb' WHEN 'a100_80gb' THEN 'dgx-a100-80gb' ELSE 'dgx-h100' END AS cluster, n_gpus, step_ms AS measured,
       substring(options FROM 'micro_batch=([0-9]+)')::int AS micro, substring(options FROM 'grad_accum=([0-9]+)')::int AS accum,
       options ~ 'act_ckpt=True' AS recompute, substring(options FROM 'params=([0-9]+)')::bigint AS params
FROM row WHERE options !~ 'offload=True' AND dtype <> 'amp_fp8' AND step_ms > 0;
CREATE TABLE network AS
SELECT model, seq, perfmodel.graph_id(format('%s@s%s', model, seq)) AS graph_id FROM (SELECT DISTINCT model, seq FROM step) AS s;
SELECT count(*) AS networks, count(*) FILTER (WHERE g.params = s.params) AS with_their_parameters
FROM network JOIN (SELECT DISTINCT model, seq, params FROM step) AS s USING (model, seq), LATERAL (SELECT params FROM perfmodel.graph WHERE graph_id = network.graph_id) AS g;
CREATE TABLE asked AS
SELECT s.*, p.step_ms, step_ms_low AS low, step_ms_high AS high, in_domain
FROM step AS s JOIN network USING (model, seq), LATERAL perfmodel.predict(graph_id, s.gpu, micro, 'amp', optimizer => 'adamw', world_size => n_gpus, cluster => s.cluster,
    parallel => jsonb_build_object('zero', 3, 'compression', 'bf16', 'accumulation', accum, 'recompute', recompute)) AS p;
-- 88 of the steps on 8 GPUs without recomputation are in training (tools/pretrain_rows.py)
CREATE VIEW judged AS SELECT *, CASE WHEN n_gpus > 8 THEN 'more than 8 GPUs' WHEN recompute THEN '8 GPUs, recomputation' ELSE '8 GPUs' END AS steps FROM asked;
SELECT gpu, steps, count(*) AS n, round((100 * avg(abs(step_ms / measured - 1)))::numeric, 1) AS mape_pct, round((100 * avg(step_ms / measured - 1))::numeric, 1) AS bias_pct,
       round(100 * avg((measured BETWEEN low AND high)::int)) AS coverage_pct, round(avg(high / low)::numeric, 1) AS high_over_low
FROM judged GROUP BY GROUPING SETS ((1, 2), (2), ()) ORDER BY 1, 2;
SELECT gpu, model, steps, string_agg(format('%s: %s', seq, round((step_ms / measured)::numeric, 2)), ', ' ORDER BY seq, n_gpus) AS predicted_over_measured_by_sequence
FROM judged GROUP BY 1, 2, 3 ORDER BY 1, 3, 2;

-- Megatron-DeepSpeed, whose attention was not fused: GPTs of 0.2 to 1.3 billion parameters on 2 to 8 A100 (vTrain), and of 176 to 203 billion on
-- 320 to 384 (BigScience). None of these steps is in training. Layers and hidden sizes of BigScience's models stand in the text around its tables.
CREATE TABLE megatron (LIKE row);
\copy megatron FROM '@work@/vtrain.csv' WITH (FORMAT csv, HEADER)
\copy megatron FROM '@work@/bigscience.csv' WITH (FORMAT csv, HEADER)
INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra, inter, adapters) VALUES ('jean-zay', 'A100-SXM4-80GB', 8, 'nvswitch-a100', 'omnipath-100g', 4);
CREATE TABLE divided AS
WITH big (model, layers, hidden) AS (
    VALUES ('gpt-176B', 70, 14336), ('gpt-177B', 96, 12288), ('gpt-178B', 82, 13312), ('gpt-181B', 72, 14336), ('gpt-182B', 78, 13824), ('gpt-184B', 100, 12288), ('gpt-187B', 80, 13824),
           ('gpt-196B', 84, 13824), ('gpt-203B', 94, 13312)
), said AS (
    SELECT m.*, big.model IS NOT NULL AS is_big, coalesce(big.layers, substring(options FROM 'layers=([0-9]+)')::int) AS layers, coalesce(big.hidden, substring(options FROM 'hidden=([0-9]+)')::int) AS hidden,
           coalesce(substring(options FROM 'n?heads=([0-9]+)')::int, 64) AS heads, substring(options FROM '(?:micro_batch|mbs)=([0-9]+)')::int AS micro, substring(options FROM '(?:global_batch|gbs)=([0-9]+)')::int AS total,
           substring(parallelism FROM 'tp=([0-9]+)')::int AS tp, substring(parallelism FROM 'pp=([0-9]+)')::int AS pp, substring(parallelism FROM 'zs=([0-9]+)')::int AS zero
    FROM megatron AS m LEFT JOIN big USING (model)
)
SELECT format('gpt_%s_%s_%s@s%s', layers, hidden, heads, CASE WHEN is_big THEN 2048 ELSE 1024 END) AS graph, CASE WHEN is_big THEN 'BigScience' ELSE 'vTrain' END AS source,
       CASE WHEN is_big THEN 'jean-zay' ELSE 'dgx-a100-80gb' END AS cluster, layers, hidden, heads, micro, n_gpus, tp, pp, CASE WHEN is_big THEN coalesce(zero, 1) ELSE 0 END AS zero,
       round(total::numeric / micro / (n_gpus / tp / pp)) AS micro_batches, step_ms AS measured
FROM said WHERE gpu ~ 'A100' AND step_ms > 0 AND layers > 0 AND hidden % heads = 0 AND (NOT is_big OR n_gpus >= 64);
SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(graph || ' ' || attention, layers, hidden, heads, CASE source WHEN 'BigScience' THEN 2048 ELSE 1024 END, CASE source WHEN 'BigScience' THEN 250880 ELSE 51200 END,
                                                          attention => attention))) AS graphs
FROM (SELECT DISTINCT graph, layers, hidden, heads, source FROM divided) AS d, unnest('{plain,fused}'::text[]) AS attention;
SELECT source, attention, CASE WHEN grouping(tp) = 1 THEN 'all' ELSE tp::text END AS tp, count(*) AS n, round((100 * avg(abs(step_ms / measured - 1)))::numeric, 1) AS mape_pct, round((100 * avg(step_ms / measured - 1))::numeric, 1) AS bias_pct,
       round(100 * avg((measured BETWEEN step_ms_low AND step_ms_high)::int)) AS coverage_pct, round(avg(step_ms_high / step_ms_low)::numeric, 1) AS high_over_low
FROM divided AS d, unnest('{plain,fused}'::text[]) AS attention, LATERAL perfmodel.predict(perfmodel.graph_id(graph || ' ' || attention), 'A100-SXM4-80GB', micro, 'amp', framework => 'pytorch', optimizer => 'adam', world_size => n_gpus, cluster => d.cluster,
    parallel => jsonb_build_object('tp', tp, 'pp', pp, 'zero', zero, 'recompute', true, 'micro_batches', micro_batches)) AS p
GROUP BY source, attention, ROLLUP (tp) ORDER BY 1, 2 DESC, 3;

-- The same model, GPUs and total batch, measured in several divisions: how much longer than the fastest of them is the one that is predicted to be fastest, is the mean
-- of all, and is the one that divides least, with the largest micro-batch?
WITH answer AS (
    SELECT attention, n_gpus, graph, micro * micro_batches * (n_gpus / tp / pp) AS total, tp * pp AS parts, micro, measured, p.step_ms
    FROM divided AS d, unnest('{plain,fused}'::text[]) AS attention, LATERAL perfmodel.predict(perfmodel.graph_id(graph || ' ' || attention), 'A100-SXM4-80GB', micro, 'amp', framework => 'pytorch', optimizer => 'adam', world_size => n_gpus, cluster => d.cluster,
        parallel => jsonb_build_object('tp', tp, 'pp', pp, 'zero', zero, 'recompute', true, 'micro_batches', micro_batches)) AS p
    WHERE source = 'vTrain'
), choice AS (
    SELECT attention, n_gpus, count(*) AS divisions, min(measured) AS fastest, (array_agg(measured ORDER BY step_ms))[1] AS chosen, avg(measured) AS mean, (array_agg(measured ORDER BY parts, micro DESC))[1] AS least
    FROM answer GROUP BY attention, n_gpus, graph, total HAVING count(*) > 3
)
SELECT attention, CASE WHEN grouping(n_gpus) = 1 THEN 'all' ELSE n_gpus::text END AS n_gpus, count(*) AS questions, round(avg(divisions), 1) AS divisions, round((100 * avg(chosen / fastest - 1))::numeric, 1) AS chosen_pct,
       round((100 * max(chosen / fastest - 1))::numeric) AS worst_pct, round(100 * avg((chosen = fastest)::int)) AS fastest_chosen_pct, round((100 * avg(least / fastest - 1))::numeric, 1) AS divides_least_pct, round((100 * avg(mean / fastest - 1))::numeric, 1) AS mean_pct
FROM choice GROUP BY attention, ROLLUP (n_gpus) ORDER BY 1 DESC, 2;
