-- Run by bench/llm.sh.
CREATE TABLE row (model text, gpu text, n_gpus int, batch_per_gpu int, dtype text, throughput float8, throughput_unit text, step_ms float8, memory_mib float8, mode text,
                  framework text, parallelism text, options text, source text);
\copy row FROM '@work@/rows.csv' WITH (FORMAT csv, HEADER)

\i @work@/src/tools/mpt.sql
SELECT pg_temp.load_mpt(array_agg(model)) AS graphs FROM row;
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
-- 44 of the steps on 8 GPUs without recomputation are in training (tools/pretrain_rows.py)
CREATE VIEW judged AS SELECT *, CASE WHEN n_gpus > 8 THEN 'more than 8 GPUs' WHEN recompute THEN '8 GPUs, recomputation' ELSE '8 GPUs' END AS steps FROM asked;
SELECT gpu, steps, count(*) AS n, round((100 * avg(abs(step_ms / measured - 1)))::numeric, 1) AS mape_pct, round((100 * avg(step_ms / measured - 1))::numeric, 1) AS bias_pct,
       round(100 * avg((measured BETWEEN low AND high)::int)) AS coverage_pct, round(avg(high / low)::numeric, 1) AS high_over_low
FROM judged GROUP BY GROUPING SETS ((1, 2), (2), ()) ORDER BY 1, 2;
SELECT gpu, model, steps, string_agg(format('%s: %s', seq, round((step_ms / measured)::numeric, 2)), ', ' ORDER BY seq, n_gpus) AS predicted_over_measured_by_sequence
FROM judged GROUP BY 1, 2, 3 ORDER BY 1, 3, 2;
