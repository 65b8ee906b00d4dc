-- Device memory of a training step.
SELECT perfmodel.load_graph(helper.cnn('memory@32', 48, 7)) AS g \gset
-- its parts are the whole
SELECT helper.close(context_mb + weights_mb + gradients_mb + optimizer_mb + activations_mb + workspace_mb, peak_mb) AS parts,
       low < peak_mb AND peak_mb < high AS inside, fits, p_fits > 0.95 AS sure, in_domain, note
FROM perfmodel.predict_memory(:g, 'RTX 3090', 64, framework => 'pytorch 1.12');
-- what is known of a network: 4 bytes a parameter, momentum once, Adam twice, a model in 2 bytes half of it
SELECT dtype, optimizer, round(weights_mb::numeric, 4) AS weights, round(gradients_mb::numeric, 4) AS gradients, round(optimizer_mb::numeric, 4) AS optimizer
FROM unnest('{fp32,amp,bf16}'::text[]) AS dtype, unnest('{none,sgd,sgd_momentum,adam}'::text[]) AS optimizer,
     perfmodel.predict_memory(:g, 'RTX 3090', 64, dtype, optimizer => optimizer);
-- mixed precision takes less than fp32, checkpointing less than none
SELECT (perfmodel.predict_memory(:g, 'V100', 4096, 'amp')).peak_mb < (perfmodel.predict_memory(:g, 'V100', 4096, 'fp32')).peak_mb AS amp,
       (perfmodel.predict_memory(:g, 'V100', 4096, checkpointing => true)).peak_mb < (perfmodel.predict_memory(:g, 'V100', 4096)).peak_mb AS checkpointing;
-- more samples never take less, and fit never better
SELECT count(*), bool_and(peak_mb >= before AND p_fits <= p_before) AS monotone, count(*) FILTER (WHERE p_fits > 0 AND p_fits < 1) > 0 AS between, bool_and(p_fits = round(p_fits::numeric, 4)::float8) AS four_decimals
FROM (SELECT peak_mb, p_fits, lag(peak_mb, 1, 0) OVER w AS before, lag(p_fits, 1, 1) OVER w AS p_before
      FROM (SELECT b, (perfmodel.predict_memory(:g, 'RTX 3090', (1.3 ^ b)::int, 'amp')).* FROM generate_series(1, 60) AS b) AS x WINDOW w AS (ORDER BY b)) AS y;
-- the largest batch is the last that fits
SELECT m > 1000 AS many, (perfmodel.predict_memory(:g, 'RTX 3090', m)).fits, (perfmodel.predict_memory(:g, 'RTX 3090', m + 1)).fits AS one_more,
       m < perfmodel.max_batch(:g, 'RTX 3090', p => 0.5) AS bolder
FROM perfmodel.max_batch(:g, 'RTX 3090') AS m;
-- an optimizer that keeps more takes more, fits a smaller batch, and a lighter one saves no more than what it does not keep
SELECT count(*), bool_and(peak_mb >= lighter) AS rises, bool_and(peak_mb - lighter <= more + 1e-6) AS by_states, bool_and(p_fits <= p_lighter) AS p_falls, bool_and(m <= m_lighter) AS m_falls
FROM (SELECT peak_mb, p_fits, m, lag(peak_mb) OVER w AS lighter, lag(p_fits) OVER w AS p_lighter, lag(m) OVER w AS m_lighter, 2 * weights_mb AS more
      FROM unnest('{fp32,amp}'::text[]) AS dtype, unnest('{pytorch 1.12,pytorch 2.1}'::text[]) AS framework, unnest('{f,t}'::bool[]) AS checkpointing,
           unnest('{1,100,3000,40000,2000000}'::int[]) AS batch, unnest('{none,sgd,sgd_momentum,adamw}'::text[]) WITH ORDINALITY AS o(optimizer, i),
           perfmodel.predict_memory(:g, 'A100-SXM4-80GB', batch, dtype, framework => framework, optimizer => optimizer, checkpointing => checkpointing),
           perfmodel.max_batch(:g, 'A100-SXM4-80GB', dtype, framework => framework, optimizer => optimizer, checkpointing => checkpointing) AS m
      WINDOW w AS (PARTITION BY dtype, framework, checkpointing, batch ORDER BY i)) AS x WHERE lighter IS NOT NULL;
-- one sample too large, a device whose memory is not known
SELECT perfmodel.load_graph(helper.cnn('huge@4096', 256, 8, 4096)) AS huge \gset
SELECT perfmodel.max_batch(:huge, 'RTX 3090'), (perfmodel.predict_memory(:huge, 'RTX 3090', 1)).fits;
INSERT INTO perfmodel.gpu (name, mem_bw_gbs, fp32_tflops) VALUES ('no memory', 100, 1);
SELECT peak_mb > 0 AS peak, fits, p_fits, in_domain, note FROM perfmodel.predict_memory(:g, 'no memory', 8);
SELECT helper.error_of(format('SELECT perfmodel.max_batch(%s, ''no memory'')', :g));
-- what programs can have of it: the driver keeps some, ECC more
SELECT gpu, round(perfmodel.usable_memory_mb(gpu)) AS usable_mb FROM unnest('{RTX 3090,tesla_t4,no memory,NULL}'::text[]) AS gpu;
SELECT helper.error_of('SELECT perfmodel.usable_memory_mb(''T5'')');
-- questions that are unlike what was measured say so, and have wider intervals
SELECT note, in_domain, (high - low) / peak_mb > (SELECT (high - low) / peak_mb FROM perfmodel.predict_memory(:g, 'RTX 3090', 64, framework => 'pytorch 1.12')) AS wider
FROM (VALUES ('T4', NULL, 'fp32'), ('T4', 'pytorch 1.12', 'fp32'), ('V100', 'pytorch 2.1', 'fp32'), ('V100', 'tensorflow 2.4', 'fp32')) AS q(gpu, framework, dtype),
     perfmodel.predict_memory(:g, q.gpu, 64, q.dtype, framework => q.framework);
-- what holds the memory at the peak: all of it, by sort of operator or by operator
SELECT per, helper.close(sum(mb), (perfmodel.predict_memory(:g, 'V100', 512)).peak_mb) AS sums_to_peak, helper.close(sum(share), 1) AS shares,
       count(*) FILTER (WHERE part = 'activations' AND op = 'Conv') AS rows_of_convolutions, sum(tensors) FILTER (WHERE part = 'activations' AND op = 'Conv') AS tensors
FROM unnest('{op,node}'::text[]) AS per, perfmodel.explain_memory(:g, 'V100', 512, per => per) GROUP BY per ORDER BY per;
SELECT part, op, class, tensors FROM perfmodel.explain_memory(:g, 'V100', 512) WHERE part IN ('weights', 'gradients', 'optimizer', 'context') ORDER BY part, op;
SELECT helper.error_of(format('SELECT * FROM perfmodel.explain_memory(%s, ''V100'', 1, per => ''layer'')', :g));
-- the series rises through the forward pass and falls through the backward pass; its highest point is the peak, however few points are asked for
SELECT points, count(*), round(max(mb)) = round((SELECT sum(mb) FROM perfmodel.explain_memory(:g, 'V100', 512) WHERE part NOT IN ('context', 'workspace', 'cached segments'))) AS peak,
       max(mb) FILTER (WHERE phase = 'forward') > 10 * max(mb) FILTER (WHERE phase = 'start') AS rises,
       array_agg(DISTINCT phase) <@ '{start,forward,backward,update}' AS phases
FROM unnest('{8,100000}'::int[]) AS points, perfmodel.memory_timeline(:g, 'V100', 512, points => points) GROUP BY points ORDER BY points;
SELECT helper.error_of(format('SELECT * FROM perfmodel.memory_timeline(%s, ''V100'', 1, points => %s)', :g, points)) FROM unnest('{0,-2147483648}'::int[]) AS points;
-- where a tensor that rounds all others away is given back, they are there again
SELECT perfmodel.load_graph('{"format":"perfmodel-graph/1","name":"rounds away","nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0},
    {"id":1,"op":"Expand","inputs":[0],"shape":[1,1099511627776,1099511627776],"batch_dim":0},{"id":2,"op":"Sigmoid","inputs":[1],"shape":[1,32],"batch_dim":0}]}') AS away \gset
SELECT count(*), array_agg(DISTINCT phase) <@ '{start,forward,backward,update}' AS phases, min(mb) >= 0 AS least, max(mb) > 1e18 AS most, count(*) FILTER (WHERE mb < 1) > 1 AS small_again
FROM perfmodel.memory_timeline(:away, 'T4', 1);
SELECT count(*) > 0 AS explained FROM perfmodel.explain_memory(:away, 'T4', 1);
DELETE FROM perfmodel.graph WHERE graph_id = :away;
-- what would shrink it
SELECT regexp_replace(change, '^batch [0-9]+', 'batch N') AS change, saved_mb >= 0 AS saves, fits FROM perfmodel.what_would_fit(:g, 'V100', 16384, optimizer => 'adam');
SELECT change FROM perfmodel.what_would_fit(:g, 'V100', 1, 'amp', optimizer => 'sgd');
-- of an optimizer that is not known, too
SELECT bool_or(change = 'optimizer sgd') AS lighter FROM perfmodel.what_would_fit(:g, 'V100', 1, optimizer => 'other');
-- and nothing that would not
SELECT perfmodel.load_graph(perfmodel.decoder_graph('small decoder', 2, 512, 8, 8, 8000)) AS small \gset
SELECT change, saved_mb > 0 AS saves FROM perfmodel.what_would_fit(:small, 'V100', 1) ORDER BY change;
DELETE FROM perfmodel.graph WHERE graph_id = :small;
-- a language model that fits only in 16 bits; and less memory with two changes than with one
SELECT perfmodel.load_graph(perfmodel.decoder_graph('big decoder', 32, 4096, 32, 2048, 32000, 'llama')) AS big \gset
SELECT change, fits FROM perfmodel.what_would_fit(:big, 'H100-SXM5-80GB', 2, optimizer => 'adamw') WHERE fits;
SELECT f.change, f.peak_mb < one.peak_mb AS less FROM perfmodel.what_would_fit(:big, 'H100-SXM5-80GB', 2, optimizer => 'adamw') AS f
     JOIN perfmodel.what_would_fit(:big, 'H100-SXM5-80GB', 2, optimizer => 'adamw') AS one ON f.change = one.change || ' and checkpointing';
DELETE FROM perfmodel.graph WHERE graph_id = :big;
-- measurements: a device that takes 900 MB besides 1.1 times what is simulated, as calibrate_memory() then knows
SELECT helper.error_of('SELECT * FROM perfmodel.calibrate_memory(ARRAY[-1])');
CREATE TEMP TABLE made AS
SELECT perfmodel.load_graph(helper.cnn(format('made%s@%s', i, 30 + i), 16 + 4 * (i % 7), 1 + i % 5, 30 + i)) AS graph_id, 4 ^ (i % 6) * 16 AS batch FROM generate_series(1, 40) AS i;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, framework, step_ms, peak_memory_mb, oom_batch)
SELECT graph_id, 'T4', batch, 'amp', 'pytorch 1.13', 1, 900 + 1.1 * (peak_mb - context_mb - workspace_mb) + workspace_mb, NULL
FROM made, perfmodel.predict_memory(graph_id, 'T4', batch::int, 'amp', framework => 'pytorch 1.13');
-- brackets of a device that fits 10 % more than is simulated
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms, oom_batch)
SELECT graph_id, 'L4', (1.1 * m * f)::int, 'pytorch 1.13', 1, (1.1 * m * f * 1.3)::int
FROM (SELECT graph_id, perfmodel.max_batch(graph_id, 'L4', framework => 'pytorch 1.13', p => 0.495) AS m, 0.76 + (graph_id % 7) / 30.0 AS f FROM made) AS x;
CREATE TEMP TABLE before AS SELECT graph_id, m.* FROM made, perfmodel.predict_memory(graph_id, 'T4', batch::int, 'amp', framework => 'pytorch 1.13') AS m;
SELECT gpu, framework, dtype, networks, peaks, brackets, mape_before_pct > 5 * mape_pct AS better, in_bracket_before_pct < in_bracket_pct AS brackets_better, in_bracket_pct
FROM perfmodel.calibrate_memory() WHERE gpu IN ('T4', 'L4') ORDER BY gpu;
-- small networks say little of the factor, which stays near 1; neither does a bracket of the context
SELECT gpu, CASE gpu WHEN 'T4' THEN abs(context_mb - 900) < 60 AND factor BETWEEN 1.01 AND 1.15 ELSE abs(need_factor - 1 / 1.1) < 0.04 AND context_mb BETWEEN 1100 AND 1300 END AS found
FROM perfmodel.memory_factor WHERE gpu IN ('T4', 'L4') ORDER BY gpu;
SELECT bool_and(abs(n.peak_mb / p.peak_memory_mb - 1) < 0.03) AS close, bool_and(p.peak_memory_mb BETWEEN n.low AND n.high) AS inside, bool_and(n.in_domain AND (n.note IS NULL OR NOT n.fits)) AS known
FROM perfmodel.profile AS p JOIN made USING (graph_id), perfmodel.predict_memory(p.graph_id, p.gpu, p.batch, p.dtype, framework => p.framework) AS n WHERE p.gpu = 'T4';
-- compared with estimates that only add up bytes, families left out
BEGIN READ ONLY;
SELECT method, n, mape_pct >= 0 AND median_ape_pct <= p90_ape_pct AS sound FROM perfmodel.compare_memory() WHERE gpu = 'T4';
COMMIT;
-- peaks of a device that were written down in GB say nothing of its memory, and keep nobody from learning of another
SET client_min_messages = notice;
BEGIN;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms, peak_memory_mb) SELECT graph_id, 'A100-SXM4-40GB', 64, 'pytorch 1.13', 1, 4.2 FROM made;
SELECT gpu FROM perfmodel.calibrate_memory() WHERE gpu IN ('T4', 'A100-SXM4-40GB', 'L4') ORDER BY gpu;
SELECT count(*) AS stored FROM perfmodel.memory_factor WHERE gpu LIKE 'A100%';
ROLLBACK;
SET client_min_messages = warning;
-- the same device with other software is known less well, and without the factors nothing is
SELECT context_mb BETWEEN 800 AND 1000 AS of_the_device FROM perfmodel.predict_memory(:g, 'T4', 64, 'fp32');
-- a factor that somebody set far below 1: the lower end is not above the peak
UPDATE perfmodel.memory_factor SET factor = 1e-3, context_mb = 0 WHERE gpu = 'T4';
SELECT low <= peak_mb AS low, peak_mb <= high AS high FROM perfmodel.predict_memory(:g, 'T4', 1, 'amp', framework => 'pytorch 1.13');
-- the parts are none below 0, and add up to the peak
UPDATE perfmodel.memory_factor SET factor = 0.7 WHERE gpu = 'T4';
SELECT per, min(e.mb) >= 0 AS mb, min(e.share) >= 0 AS share, helper.close(sum(e.mb), min(m.peak_mb)) AS peak, min(e.mb) FILTER (WHERE part = 'cached segments') AS cached
FROM unnest('{op,node}'::text[]) AS per, perfmodel.explain_memory(:g, 'T4', 64, 'amp', framework => 'pytorch 1.13', per => per) AS e,
    perfmodel.predict_memory(:g, 'T4', 64, 'amp', framework => 'pytorch 1.13') AS m GROUP BY per ORDER BY per;
DELETE FROM perfmodel.memory_factor;
SELECT bool_and(n.peak_mb = b.peak_mb) AS as_before FROM before AS b JOIN made USING (graph_id), perfmodel.predict_memory(graph_id, 'T4', made.batch::int, 'amp', framework => 'pytorch 1.13') AS n;
SELECT helper.error_of(format('INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms, oom_batch) VALUES (%s, ''T4'', 8, 1, 8)', :g)) ~ 'profile_oom_batch_above' AS refused;
DELETE FROM perfmodel.profile WHERE graph_id IN (SELECT graph_id FROM made);
DELETE FROM perfmodel.graph WHERE graph_id IN (SELECT graph_id FROM made);
-- of several GPUs: buckets copy the gradients, zero divides states, gradients and weights
SELECT world_size, parallel, round((m.weights_mb / o.weights_mb)::numeric, 3) AS weights, round((m.gradients_mb / o.gradients_mb)::numeric, 3) AS gradients,
       round((m.optimizer_mb / o.optimizer_mb)::numeric, 3) AS optimizer, m.in_domain, m.note
FROM (VALUES (1, NULL::jsonb), (1, '{"zero": 3}'), (8, NULL), (8, '{"zero": 1}'), (8, '{"zero": 2}'), (8, '{"zero": 3}'), (8, '{"recompute": true}')) AS a(world_size, parallel),
     perfmodel.predict_memory(:g, 'V100', 64, framework => 'pytorch 1.12', optimizer => 'adam') AS o,
     perfmodel.predict_memory(:g, 'V100', 64, framework => 'pytorch 1.12', optimizer => 'adam', world_size => a.world_size, parallel => a.parallel) AS m;
-- the first stage of a pipeline keeps its layers of as many micro-batches as are on their way; what fits follows
SELECT perfmodel.load_graph(perfmodel.decoder_graph('memory of layers', 8, 512, 8, 256, 2000)) AS layers \gset
SELECT m, round((peak_mb / lag(peak_mb) OVER (ORDER BY m))::numeric, 2) AS peak, round((largest / lag(largest::numeric) OVER (ORDER BY m)), 2) AS largest, peak_mb < whole AS less
FROM unnest('{1,2,4,8}'::int[]) AS m, (SELECT peak_mb FROM perfmodel.predict_memory(:layers, 'V100', 64)) AS w(whole),
     LATERAL (SELECT jsonb_build_object('pp', 4, 'micro_batches', m)) AS j(how),
     LATERAL perfmodel.predict_memory(:layers, 'V100', 64, world_size => 4, parallel => how),
     LATERAL perfmodel.max_batch(:layers, 'V100', world_size => 4, parallel => how) AS largest ORDER BY m;
-- what divides more, or runs segments again, never takes more; more samples or micro-batches never less
CREATE TEMP TABLE divided AS
SELECT dtype, optimizer, batch, tp, pp, m, zero, recompute, peak_mb, p_fits
FROM unnest('{amp,bf16}'::text[]) AS dtype, unnest('{sgd,adamw}'::text[]) AS optimizer, unnest('{1,4,50}'::int[]) AS batch, unnest('{1,2,4}'::int[]) AS tp, unnest('{1,2,4}'::int[]) AS pp,
     unnest('{1,2,8}'::int[]) AS m, unnest('{0,1,2,3}'::int[]) AS zero, unnest('{f,t}'::bool[]) AS recompute,
     LATERAL perfmodel.predict_memory(:layers, 'V100', batch, dtype, optimizer => optimizer, world_size => 32,
                                      parallel => jsonb_build_object('tp', tp, 'pp', pp, 'micro_batches', m, 'zero', zero, 'recompute', recompute, 'bucket_mb', 1))
WHERE zero < 3 OR tp * pp = 1;
SELECT what, count(*), bool_and(less <= more * (1 + 1e-9) AND p_less >= p_more) AS holds
FROM (SELECT 'zero' AS what, a.peak_mb AS less, b.peak_mb AS more, a.p_fits AS p_less, b.p_fits AS p_more FROM divided AS a JOIN divided AS b USING (dtype, optimizer, batch, tp, pp, m, recompute) WHERE a.zero = b.zero + 1
      UNION ALL SELECT 'recompute', a.peak_mb, b.peak_mb, a.p_fits, b.p_fits FROM divided AS a JOIN divided AS b USING (dtype, optimizer, batch, tp, pp, m, zero) WHERE a.recompute AND NOT b.recompute
      UNION ALL SELECT 'tp', a.peak_mb, b.peak_mb, a.p_fits, b.p_fits FROM divided AS a JOIN divided AS b USING (dtype, optimizer, batch, pp, m, zero, recompute) WHERE a.tp = 2 * b.tp
      UNION ALL SELECT 'pp', a.peak_mb, b.peak_mb, a.p_fits, b.p_fits FROM divided AS a JOIN divided AS b USING (dtype, optimizer, batch, tp, m, zero, recompute) WHERE a.pp = 2 * b.pp
      UNION ALL SELECT 'batch', a.peak_mb, b.peak_mb, a.p_fits, b.p_fits FROM divided AS a JOIN divided AS b USING (dtype, optimizer, tp, pp, m, zero, recompute) WHERE a.batch < b.batch
      UNION ALL SELECT 'micro_batches', a.peak_mb, b.peak_mb, a.p_fits, b.p_fits FROM divided AS a JOIN divided AS b USING (dtype, optimizer, batch, tp, pp, zero, recompute) WHERE a.m < b.m) AS pairs
GROUP BY what ORDER BY what;
-- nor does dividing the sequence, or running attention again, of scores that are stored and of one kernel
SELECT perfmodel.load_graph(perfmodel.decoder_graph('memory of scores', 8, 512, 8, 256, 2000, attention => 'plain')) AS scores \gset
CREATE TEMP TABLE again AS
SELECT g, dtype, batch, tp, pp, zero, sequence_parallel, recompute, peak_mb, p_fits
FROM unnest(ARRAY[:layers, :scores]::bigint[]) AS g, unnest('{amp,bf16}'::text[]) AS dtype, unnest('{1,4,50}'::int[]) AS batch, (VALUES (1, false), (2, false), (2, true), (4, false), (4, true)) AS t (tp, sequence_parallel), unnest('{1,4}'::int[]) AS pp, unnest('{0,2}'::int[]) AS zero,
     unnest('{false,"\"attention\"",true}'::jsonb[]) AS recompute,
     LATERAL perfmodel.predict_memory(g, 'V100', batch, dtype, world_size => 32, parallel => jsonb_build_object('tp', tp, 'pp', pp, 'micro_batches', pp, 'zero', zero, 'recompute', recompute, 'sequence_parallel', sequence_parallel));
SELECT what, g = :scores AS scores, count(*), bool_and(less <= more * (1 + 1e-9) AND p_less >= p_more) AS holds, sum((less < more * 0.999)::int) AS less
FROM (SELECT 'sequence' AS what, g, a.peak_mb AS less, b.peak_mb AS more, a.p_fits AS p_less, b.p_fits AS p_more FROM again AS a JOIN again AS b USING (g, dtype, batch, tp, pp, zero, recompute) WHERE a.sequence_parallel AND NOT b.sequence_parallel
      UNION ALL SELECT 'attention', g, a.peak_mb, b.peak_mb, a.p_fits, b.p_fits FROM again AS a JOIN again AS b USING (g, dtype, batch, tp, pp, zero, sequence_parallel) WHERE a.recompute = '"attention"' AND b.recompute = 'false'
      UNION ALL SELECT 'tp', g, a.peak_mb, b.peak_mb, a.p_fits, b.p_fits FROM again AS a JOIN again AS b USING (g, dtype, batch, pp, zero, recompute, sequence_parallel) WHERE a.tp = 2 * b.tp) AS pairs
GROUP BY what, g ORDER BY what, 2;
SELECT helper.error_of(format('SELECT perfmodel.predict_memory(%s, ''V100'', 4, world_size => 8, parallel => ''{"pp": 8, "sequence_parallel": true}'')', :layers));
-- each GPU of a layer has the scores of its own heads
SELECT tp, helper.close(more, first_value(more) OVER (ORDER BY tp) / tp, 0.06) AS scores
FROM (SELECT tp, whole.activations_mb - again.activations_mb AS more FROM unnest('{1,2,4,8}'::int[]) AS tp, jsonb_build_object('tp', tp) AS how,
             perfmodel.predict_memory(:scores, 'V100', 4096, 'bf16', world_size => 8, parallel => how) AS whole,
             perfmodel.predict_memory(:scores, 'V100', 4096, 'bf16', world_size => 8, parallel => how || '{"recompute": "attention"}') AS again) AS x ORDER BY tp;
-- the parts of the GPU that holds most add up to its peak, and the series reaches what they hold
CREATE TEMP TABLE parts AS
SELECT how, batch, m.peak_mb, m.weights_mb, m.optimizer_mb, m.gradients_mb, e.*, t.top
FROM (VALUES ('{}'::jsonb), ('{"zero": 1}'), ('{"zero": 2}'), ('{"zero": 3}'), ('{"tp": 4}'), ('{"tp": 4, "sequence_parallel": true}'), ('{"tp": 2, "pp": 4, "micro_batches": 4, "zero": 1}'),
             ('{"recompute": true}'), ('{"recompute": "attention", "tp": 2}'), ('{"cp": 4, "zero": 2}'), ('{"master_weights": true, "zero": 1}')) AS w(how), unnest('{1,64}'::int[]) AS batch,
     LATERAL perfmodel.predict_memory(:scores, 'V100', batch, 'bf16', optimizer => 'adamw', world_size => 8, parallel => how) AS m,
     LATERAL (SELECT sum(mb) AS mb, sum(share) AS share, min(mb) AS least, sum(mb) FILTER (WHERE part = 'weights') AS weights, sum(mb) FILTER (WHERE part = 'optimizer') AS optimizer,
                     sum(mb) FILTER (WHERE part = 'gradients') AS gradients, sum(mb) FILTER (WHERE part NOT IN ('context', 'cached segments')) AS tensors
              FROM perfmodel.explain_memory(:scores, 'V100', batch, 'bf16', optimizer => 'adamw', world_size => 8, parallel => how)) AS e,
     LATERAL (SELECT max(mb) AS top FROM perfmodel.memory_timeline(:scores, 'V100', batch, 'bf16', optimizer => 'adamw', world_size => 8, parallel => how)) AS t;
SELECT how, bool_and(helper.close(mb, peak_mb) AND helper.close(share, 1) AND least >= 0) AS adds_up, bool_and(helper.close(weights, weights_mb) AND helper.close(optimizer, optimizer_mb)) AS parts,
       bool_and(coalesce(gradients, 0) <= gradients_mb * (1 + 1e-6)) AS gradients, bool_and(helper.close(top, tensors, 0.02)) AS series FROM parts GROUP BY how ORDER BY how;
DROP TABLE parts;
-- experts that GPUs divide: their weights, gradients and states, and the parts add up
-- a quarter of each sequence on a GPU takes what sequences of a quarter take: copies of weights are not divided
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('adapted, long', 2, 2048, 16, 512, 128000, 'llama', lora_rank => 8)) AS long,
       perfmodel.load_graph(perfmodel.decoder_graph('adapted, short', 2, 2048, 16, 128, 128000, 'llama', lora_rank => 8)) AS short \gset
SELECT how, dtype, l.peak_mb / s.peak_mb BETWEEN 0.93 AND 1.07 AS alike
FROM unnest('{"{\"recompute\": \"cheap\"}","{\"recompute\": true}","{}"}'::jsonb[]) AS how, unnest('{amp,bf16}'::text[]) AS dtype,
     perfmodel.predict_memory(:long, 'V100', 1, dtype, optimizer => 'adamw', world_size => 4, parallel => how || '{"cp": 4}') AS l,
     perfmodel.predict_memory(:short, 'V100', 1, dtype, optimizer => 'adamw', world_size => 4, parallel => how) AS s ORDER BY 1, 2;
ROLLBACK;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('memory of experts', 2, 512, 8, 128, 100, 'llama', experts => 8)) AS moe \gset
SELECT how, helper.close(mb, m.peak_mb) AS adds_up, helper.close(weights, m.weights_mb) AND helper.close(optimizer, m.optimizer_mb) AS parts, round((m.weights_mb / a.weights_mb)::numeric, 2) AS weights, round((m.optimizer_mb / a.optimizer_mb)::numeric, 2) AS optimizer,
       helper.close(m.activations_mb, a.activations_mb, 0.15) AS activations
FROM unnest('{"{}","{\"ep\": 2}","{\"ep\": 8}","{\"ep\": 8, \"zero\": 1}","{\"ep\": 8, \"zero\": 3}"}'::jsonb[]) AS how,
     LATERAL perfmodel.predict_memory(:moe, 'V100', 64, 'bf16', optimizer => 'adamw', world_size => 16) AS a, LATERAL perfmodel.predict_memory(:moe, 'V100', 64, 'bf16', optimizer => 'adamw', world_size => 16, parallel => how) AS m,
     LATERAL (SELECT sum(mb) AS mb, sum(mb) FILTER (WHERE part = 'weights') AS weights, sum(mb) FILTER (WHERE part = 'optimizer') AS optimizer FROM perfmodel.explain_memory(:moe, 'V100', 64, 'bf16', optimizer => 'adamw', world_size => 16, parallel => how)) AS e ORDER BY how;
DELETE FROM perfmodel.graph WHERE graph_id = :moe;
-- of one GPU too, attention and segments run again; other ways to divide are refused as they are by predict_memory
SELECT how, helper.close(sum(e.mb), min(m.peak_mb)) AS adds_up, sum(e.mb) < (perfmodel.predict_memory(:scores, 'V100', 64)).peak_mb AS less
FROM unnest('{"{\"recompute\": true}","{\"recompute\": \"attention\"}"}'::jsonb[]) AS how, perfmodel.explain_memory(:scores, 'V100', 64, parallel => how) AS e,
     perfmodel.predict_memory(:scores, 'V100', 64, parallel => how) AS m GROUP BY how ORDER BY how;
SELECT helper.error_of(format('SELECT count(*) FROM perfmodel.%s(%s, ''V100'', 1, world_size => 64, parallel => ''{"tp": 16}'')', name, :scores)) FROM unnest('{explain_memory,memory_timeline}'::text[]) AS name;
DELETE FROM perfmodel.graph WHERE graph_id = :scores;
DROP TABLE again;
-- Adam's scratch memory is of the weights that a GPU updates
SELECT zero, abs(adam.peak_mb - sgd.peak_mb - adam.optimizer_mb) < 0.5 * adam.weights_mb AS states
FROM unnest('{1,2,3}'::int[]) AS zero, jsonb_build_object('zero', zero) AS how, perfmodel.predict_memory(:layers, 'A100', 1, 'bf16', world_size => 64, optimizer => 'sgd', parallel => how) AS sgd,
     perfmodel.predict_memory(:layers, 'A100', 1, 'bf16', world_size => 64, optimizer => 'adamw', parallel => how) AS adam ORDER BY zero;
-- what predict refuses to divide, memory does not divide either
SELECT helper.error_of(format('SELECT perfmodel.%s, world_size => 64, parallel => %L)', call, how)) AS error_of
FROM unnest(ARRAY[format('predict_memory(%s, ''V100'', 1', :g), format('max_batch(%s, ''V100''', :g)]) AS call, unnest(ARRAY['{"tp": 8}', '{"pp": 2}']) AS how
UNION ALL SELECT helper.error_of(format('SELECT perfmodel.max_batch(%s, ''V100'', world_size => 64, parallel => %L)', :layers, how))
FROM unnest(ARRAY['{"pp": 4, "interleave": 4}', '{"pp": 16}', '{"tp": 16}']) AS how;
SELECT peak_mb, note FROM perfmodel.predict_memory(:layers, 'V100', 1, world_size => 16, parallel => '{"pp": 16}', on_error => 'null');
SELECT count(DISTINCT peak_mb) AS peaks FROM unnest('{1,2,8}'::int[]) AS m, perfmodel.predict_memory(:g, 'V100', 4096, world_size => 4, parallel => jsonb_build_object('micro_batches', m));
-- where the software was not measured either, both are said
SELECT in_domain, note FROM perfmodel.predict_memory(:g, 'V100-SXM2-16GB', 64, world_size => 8);
SELECT perfmodel.max_batch(:g, 'V100', world_size => 8) <= perfmodel.max_batch(:g, 'V100') AS buckets, perfmodel.max_batch(:g, 'V100', parallel => NULL) = perfmodel.max_batch(:g, 'V100') AS none;
SELECT helper.error_of(format('SELECT perfmodel.predict_memory(%s, ''V100'', 1, %s)', :g, args)) AS error_of
FROM unnest('{world_size => 0,world_size => 65537,"world_size => 6, parallel => ''{\"tp\": 4}''","world_size => 8, parallel => ''{\"zero\": 4}''","world_size => 8, parallel => ''{\"zorro\": 4}''"}'::text[]) AS args;
-- where it does not fit, what to ask next: of one GPU, of several; of inference there is nothing to try
SELECT mode, world_size, batch, fits, n.note FROM (VALUES ('train', 1, 64), ('train', 1, 100000), ('train', 8, 100000), ('inference', 1, 1000000)) AS a (mode, world_size, batch),
     LATERAL perfmodel.predict_memory(:g, 'RTX 3090', batch, framework => 'pytorch 1.12', dtype => 'amp', world_size => world_size, mode => mode) AS n;
-- NULL in, NULL out; problems are errors, or notes
SELECT perfmodel.predict_memory(NULL, 'V100', 1) IS NULL AS graph, perfmodel.predict_memory(:g, 'V100', NULL) IS NULL AS batch,
       perfmodel.predict_memory(:g, 'V100', 1, checkpointing => NULL) IS NULL AS checkpointing, perfmodel.max_batch(:g, NULL) IS NULL AS gpu;
SELECT helper.error_of(format('SELECT perfmodel.predict_memory(%s, ''V100'', 0)', :g));
SELECT helper.error_of(format('SELECT perfmodel.predict_memory(%s, ''V100'', 1, ''fp12'')', :g));
SELECT helper.error_of(format('SELECT perfmodel.predict_memory(%s, ''V100'', 1, level => 1)', :g));
SELECT helper.error_of(format('SELECT perfmodel.max_batch(%s, ''V100'', p => 1)', :g));
SELECT helper.error_of('SELECT perfmodel.predict_memory(-1, ''V100'', 1)');
SELECT peak_mb, fits, note FROM perfmodel.predict_memory(:g, 'V1000', 1, on_error => 'null');
-- a graph that is changed is simulated anew
SELECT perfmodel.load_graph(helper.cnn('change@32', 24, 2)) AS change \gset
CREATE TEMP TABLE was AS SELECT weights_mb FROM perfmodel.predict_memory(:change, 'V100', 1);
DELETE FROM perfmodel.graph WHERE graph_id = :change;
SELECT perfmodel.load_graph(helper.cnn('change@32', 56, 2)) AS change \gset
SELECT n.weights_mb > 2 * was.weights_mb AS anew FROM was, perfmodel.predict_memory(:change, 'V100', 1) AS n;
DELETE FROM perfmodel.graph WHERE graph_id IN (:g, :change, :huge, :layers);
DELETE FROM perfmodel.gpu WHERE name = 'no memory';
