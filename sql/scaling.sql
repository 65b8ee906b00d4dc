-- Several GPUs: collectives, steps, curves, explained; what is not there.
\set SHOW_CONTEXT never
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('anet4@16') AS g \gset

-- collectives: measured links as their rows say, others by NCCL's constants, and on PCIe the GPUs of a processor share its root
SELECT helper.close(perfmodel.collective_ms('all_reduce', 100e6, 8, 1, 'dgx-a100-80gb'), (78.6 + 1.75 * 100e6 / 227.3e3) / 1000) AS measured,
       helper.close(perfmodel.collective_ms('all_reduce', 1e9, 8, cluster => 'any'), (8.4 + 14 * 5.7 + 1.75 * 1e9 * (1 + 4) / 24e3) / 1000) AS constants,
       perfmodel.collective_ms('all_reduce', 1e9, 1) AS one_gpu, perfmodel.collective_ms('all_gather', NULL, 8) AS nothing,
       perfmodel.collective_ms('all_reduce', 1e9, 16) > perfmodel.collective_ms('all_reduce', 1e9, 8) AS network_is_slower;
SELECT k, perfmodel.collective_ms(k, 1e8, 16, 2, 'dgx-h100') > 0 AS positive
FROM unnest('{all_reduce,all_gather,reduce_scatter,broadcast,all_to_all,send_recv}'::text[]) AS k;
SELECT helper.error_of($$SELECT perfmodel.collective_ms('all_reduse', 1, 2)$$);
SELECT helper.error_of($$SELECT perfmodel.collective_ms('all_reduce', 'NaN', 2)$$);
SELECT helper.error_of($$SELECT perfmodel.collective_ms('all_reduce', 1, 2, 3)$$);
SELECT n, helper.error_of(format('SELECT perfmodel.collective_ms(''all_reduce'', 1, 2, %s)', n)) FROM unnest('{0,-2147483648}'::int[]) AS n;
SELECT helper.error_of($$SELECT perfmodel.collective_ms('all_reduce', 1, 2, cluster => 'dgx-a100-80')$$);
-- the fourth argument of scaling_curve is the cluster, that of predict the dtype
SELECT helper.error_of($$SELECT perfmodel.scaling_curve(perfmodel.graph_id('anet4@16'), 'A100-SXM4-80GB', 8, 'amp')$$);

-- who names no cluster gets the machine of the device: of several the first by name, else the one with the link of the card
SELECT g AS gpu, substring(p.note FROM 'communication on cluster "([^"]*)"') AS cluster
FROM unnest('{Instinct MI300X,MI250X,H800,H20,A800,B200,GB200,H100,A100,RTX 5090,RTX PRO 6000 Server,L40S,RTX 2080 Ti,Radeon 780M}'::text[]) AS g, LATERAL perfmodel.predict(:g, g, 8, predictor => 'roof', world_size => 8) AS p;
BEGIN;
INSERT INTO perfmodel.gpu (name, mem_bw_gbs, sm_count, fp32_tflops, interconnect) VALUES ('own 5', 900, 80, 30, 'PCIe 5.0 x16'), ('own 3', 900, 80, 30, 'pcie3'), ('own', 900, 80, 30, NULL), ('own 6', 900, 80, 30, 'PCIe6');
SELECT g.name, substring(p.note FROM 'communication on cluster "([^"]*)"') AS cluster
FROM perfmodel.gpu AS g, LATERAL perfmodel.predict(:g, g.name, 8, predictor => 'roof', world_size => 8) AS p WHERE NOT g.builtin ORDER BY 1;
UPDATE perfmodel.cluster SET gpus_per_node = 4 WHERE name = 'pcie5-servers';
SELECT g, perfmodel.fewest_nodes(g, 8) FROM unnest('{own 5,own 3,own}'::text[]) AS g;
ROLLBACK;
-- every machine that came with the extension answers about its device; what 8 of them reach is what was measured
SELECT c.name FROM perfmodel.cluster AS c WHERE c.builtin AND NOT perfmodel.predict_train_time(:g, coalesce(c.gpu, 'T4'), 8, predictor => 'roof', world_size => 2 * c.gpus_per_node, cluster => c.name) > 0;
SELECT c, round((1.75 * 8e9 / perfmodel.collective_ms('all_reduce', 8e9, 8, cluster => c) / 1e6)::numeric) AS all_reduce_gbs,
       round((0.875 * 8e9 / perfmodel.collective_ms('all_gather', 8e9, 8, cluster => c) / 1e6)::numeric) AS all_gather_gbs
FROM unnest('{dgx-b200,gb200-nvl72,dgx-h100,hgx-h800,dgx-a100-80gb,hgx-a800,mi300x-platform,lumi,mi300a-servers}'::text[]) AS c;

-- one GPU is what it was; a step on several has communication, however the question is asked
SELECT perfmodel.predict_train_time(:g, 'T4', 8, predictor => 'roof', world_size => 1, nodes => 1, cluster => 'any') =
       perfmodel.predict_train_time(:g, 'T4', 8, predictor => 'roof') AS one_gpu;
SELECT n, p.step_ms > s.step_ms AS slower, p.samples_per_s < n * s.samples_per_s AS less, p.step_ms_low <= p.step_ms AND p.step_ms <= p.step_ms_high AS around,
       perfmodel.predict_train_time(:g, 'T4', 8, predictor => 'roof', world_size => n) = p.step_ms AS predict_train_time,
       (SELECT step_ms FROM perfmodel.predict_many(ARRAY[:g]::bigint[], '{T4}', '{8}', predictor => 'roof', world_size => n)) = p.step_ms AS predict_many,
       (SELECT step_ms FROM perfmodel.what_if(:g, '{T4}', '{8}', predictor => 'roof', world_size => n)) = p.step_ms AS what_if,
       (SELECT step_ms FROM perfmodel.ask(jsonb_build_object('graph_id', :g, 'gpu', 'T4', 'batch', 8, 'world_size', n), 'roof')) = p.step_ms AS ask,
       helper.close((SELECT sum(step_ms) FROM perfmodel.explain_train_time(:g, 'T4', 8, predictor => 'roof', world_size => n)), p.step_ms) AS explain
FROM unnest('{2,4,16}'::int[]) AS n, perfmodel.predict(:g, 'T4', 8, predictor => 'roof') AS s, perfmodel.predict(:g, 'T4', 8, predictor => 'roof', world_size => n) AS p;
SELECT note, reasons FROM perfmodel.predict(:g, 'T4', 8, predictor => 'roof', world_size => 8);
SELECT a.in_domain AS alone, b.in_domain AS together, b.reasons FROM perfmodel.predict(:g, 'T4', 8) AS a, perfmodel.predict(:g, 'T4', 8, world_size => 8) AS b;
SELECT part, count(*) > 0 AS rows, bool_and(share > 0) AS share, count(forward_ms) = count(*) AS phases
FROM perfmodel.explain_train_time(:g, 'T4', 8, predictor => 'roof', world_size => 8) GROUP BY part ORDER BY part;

-- the curve says the same, and efficiency falls
SELECT c.world_size, c.nodes, c.step_ms = p.step_ms AS step, c.step_ms_low = p.step_ms_low AND c.step_ms_high = p.step_ms_high AS interval,
       helper.close(c.samples_per_s, p.samples_per_s) AS samples, c.efficiency <= lag(c.efficiency) OVER (ORDER BY c.world_size) AS falls,
       c.comm_ms > 0 AS comm, c.exposed_ms <= c.comm_ms AS exposed
FROM perfmodel.scaling_curve(:g, 'T4', 8, max_gpus => 20, predictor => 'roof') AS c,
     LATERAL perfmodel.predict(:g, 'T4', 8, predictor => 'roof', world_size => c.world_size, nodes => c.nodes) AS p ORDER BY 1;
SELECT array_agg(world_size || '/' || nodes ORDER BY world_size) FROM perfmodel.scaling_curve(:g, 'A100', 8, max_gpus => 64, predictor => 'roof');
SELECT count(*) FROM perfmodel.scaling_curve(:g, NULL, 8);
-- what an answer rests on is said in each row, as predict() says it
SELECT c.world_size, c.note = p.note AS as_predicted, c.note FROM perfmodel.scaling_curve(:g, 'A100', 8, max_gpus => 2, predictor => 'roof') AS c,
     LATERAL perfmodel.predict(:g, 'A100', 8, predictor => 'roof', world_size => c.world_size, nodes => c.nodes) AS p ORDER BY 1;
SELECT world_size, note FROM perfmodel.scaling_curve(:g, 'T4', 8, max_gpus => 1, predictor => 'roof');

-- how the work is shared: batches that are added up, divided states and weights, 16 bits
SELECT p, step_ms > single AS slower, comm_ms > plain_comm AS more_comm
FROM (VALUES ('{"accumulation": 4}'), ('{"zero": 1}'), ('{"zero": "fsdp"}'), ('{"compression": "fp16"}'), ('{"bucket_mb": 1}'), ('{}')) AS v (p),
     LATERAL (SELECT step_ms, comm_ms, (SELECT step_ms FROM perfmodel.predict(:g, 'T4', 8, predictor => 'roof')) AS single,
                     (SELECT comm_ms FROM perfmodel.scaling_curve(:g, 'T4', 8, predictor => 'roof') WHERE world_size = 8) AS plain_comm
              FROM perfmodel.scaling_curve(:g, 'T4', 8, predictor => 'roof', parallel => p::jsonb) WHERE world_size = 8) AS c;
SELECT helper.close(samples_per_s, 1000 * 8 * 8 * 4 / step_ms) AS samples
FROM perfmodel.ask(jsonb_build_object('graph', 'anet4@16', 'gpu', 'T4', 'batch', 8, 'world_size', 8, 'parallel', '{"accumulation": 4}'::jsonb), 'roof');

-- a transformer of four layers, divided: each layer, the layers, both with copies; activations computed again
SELECT perfmodel.load_graph(jsonb_build_object('format', 'perfmodel-graph/1', 'name', 'four layers', 'nodes',
    '[{"id": 0, "op": "Input", "inputs": [], "shape": [1, 64, 256], "batch_dim": 0}]'::jsonb || (
    SELECT jsonb_agg(n ORDER BY (n->>'id')::int) FROM generate_series(0, 3) AS l, LATERAL (VALUES
        (jsonb_build_object('id', 4 * l + 1, 'op', 'LayerNormalization', 'inputs', jsonb_build_array(4 * l), 'shape', '[1, 64, 256]'::jsonb, 'batch_dim', 0, 'weights', '[[256], [256]]'::jsonb)),
        (jsonb_build_object('id', 4 * l + 2, 'op', 'MatMul', 'inputs', jsonb_build_array(4 * l + 1), 'shape', '[1, 64, 64]'::jsonb, 'batch_dim', 0, 'weights', '[[256, 64]]'::jsonb)),
        (jsonb_build_object('id', 4 * l + 3, 'op', 'Softmax', 'inputs', jsonb_build_array(4 * l + 2), 'shape', '[1, 64, 64]'::jsonb, 'batch_dim', 0, 'attrs', '{"axis": 2}'::jsonb)),
        (jsonb_build_object('id', 4 * l + 4, 'op', 'MatMul', 'inputs', jsonb_build_array(4 * l + 3), 'shape', '[1, 64, 256]'::jsonb, 'batch_dim', 0, 'weights', '[[64, 256]]'::jsonb))) AS v(n)))) AS t \gset
SELECT p, step_ms > 0 AS positive, helper.close(samples_per_s * step_ms / 1000, samples) AS samples
FROM (VALUES ('{"tp": 8}', 4), ('{"pp": 4, "tp": 2, "micro_batches": 8}', 32), ('{"tp": 2, "accumulation": 2}', 32), ('{"pp": 2, "interleave": 2, "micro_batches": 4, "zero": 1}', 64), ('{"recompute": true}', 32)) AS v (p, samples),
     LATERAL perfmodel.predict(:t, 'T4', 4, predictor => 'roof', world_size => 8, cluster => 'dgx-2', parallel => p::jsonb);
-- where the time goes: all rows are the step; a step has one update, of which each GPU makes its part; the wait for micro-batches is a row
SELECT n, p, k, helper.close(sum(e.step_ms), perfmodel.predict_train_time(:t, 'T4', 4, predictor => k, world_size => n, cluster => 'dgx-2', parallel => p::jsonb)) AS step,
       helper.close(sum(e.share), 1) AS shares, min(e.step_ms) >= 0 AS positive, bool_and(e.update_ms IS NULL OR helper.close(e.forward_ms + e.backward_ms + e.update_ms, e.step_ms)) AS phases,
       round((u.ms / sum(e.update_ms))::numeric, 3) AS one_of, bool_and(e.step_ms > 0) FILTER (WHERE e.part = 'bubble') AS bubble,
       round((sum(e.backward_ms) / sum(e.forward_ms) / u.backward)::numeric, 1) AS more_backward
FROM (VALUES (1, '{}'), (1, '{"accumulation": 8}'), (8, '{"accumulation": 8}'), (8, '{"recompute": true}'), (8, '{"tp": 8}'), (8, '{"tp": 8, "sequence_parallel": true}'), (8, '{"pp": 4, "tp": 2, "micro_batches": 8}'), (2, '{"pp": 2, "interleave": 2}')) AS v (n, p),
     unnest('{roof,small}'::text[]) AS k,
     LATERAL (SELECT sum(update_ms) AS ms, sum(backward_ms) / sum(forward_ms) AS backward FROM perfmodel.explain_train_time(:t, 'T4', 4, predictor => k)) AS u,
     LATERAL perfmodel.explain_train_time(:t, 'T4', 4, predictor => k, world_size => n, cluster => CASE WHEN n > 1 THEN 'dgx-2' END, parallel => p::jsonb) AS e
GROUP BY n, p, k, u.ms, u.backward ORDER BY n, p, k;
SELECT helper.error_of(format('SELECT perfmodel.predict(%s, ''T4'', 4, predictor => ''roof'', world_size => 8, parallel => ''{"pp": 8}'')', :t));
SELECT helper.error_of(format('SELECT perfmodel.predict_job(%s, ''T4'', 4, samples => 10, predictor => ''roof'', parallel => ''{"pp": 8}'')', :t));
-- whole heads go to a GPU: tp divides them, or there is no answer; what does not say how many it has (above) can be divided into any number
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('twelve heads', 2, 96, 12, 32, 100)) AS h \gset
SELECT tp, step_ms > 0 AS positive, note, reasons FROM unnest('{1,2,3,4,5,6,8,12}'::int[]) AS tp,
     LATERAL (SELECT step_ms, CASE WHEN step_ms IS NULL THEN note END AS note, CASE WHEN step_ms IS NULL THEN reasons END AS reasons
              FROM perfmodel.predict(:h, 'T4', 4, predictor => 'roof', world_size => 120, cluster => 'any', parallel => jsonb_build_object('tp', tp), on_error => 'null')) AS p;
SELECT split_part(q, '(', 1) AS function, helper.error_of(format('SELECT * FROM perfmodel.' || q, :h, '{"tp": 8}')) FROM unnest(ARRAY['predict_train_time(%s, ''T4'', 4, predictor => ''roof'', world_size => 8, parallel => %L)',
    'explain_train_time(%s, ''T4'', 4, predictor => ''roof'', world_size => 8, parallel => %L)', 'scaling_curve(%s, ''T4'', 4, predictor => ''roof'', max_gpus => 8, parallel => %L)',
    'predict_job(%s, ''T4'', 4, samples => 10, predictor => ''roof'', world_size => 8, parallel => %L)', 'predict_memory(%s, ''T4'', 4, world_size => 8, parallel => %L)',
    'max_batch(%s, ''T4'', world_size => 8, parallel => %L)', 'computed_change(%s, ''T4'', 4, ''fused optimizer'', predictor => ''roof'', world_size => 8, parallel => %L)']) AS q;
SELECT peak_mb, note FROM perfmodel.predict_memory(:h, 'T4', 4, world_size => 8, parallel => '{"tp": 8}', on_error => 'null');
ROLLBACK;
-- the sequence divided, and attention computed again: what both change, and that one kernel keeps no scores; the parts are the step everywhere
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('of scores', 2, 3072, 12, 2048, 100, attention => 'plain')) AS scores, perfmodel.load_graph(perfmodel.decoder_graph('of one kernel', 2, 3072, 12, 2048, 100)) AS kernel \gset
CREATE TEMP TABLE said AS
SELECT g, tp, pp, m, sequence_parallel, again, p.step_ms, p.step_ms_low, p.step_ms_high, c.comm_ms, c.exposed_ms, e.parts_ms, c.step_ms AS curve_ms, j.gpu_hours, mem.peak_mb, most.batch AS most
FROM unnest(ARRAY[:scores, :kernel]::bigint[]) AS g, (VALUES (1, false), (2, false), (2, true), (4, false), (4, true)) AS t (tp, sequence_parallel), unnest('{1,2}'::int[]) AS pp, unnest('{1,8}'::int[]) AS m,
     unnest('{false,"\"attention\"",true}'::jsonb[]) AS again, LATERAL (SELECT jsonb_build_object('tp', tp, 'pp', pp, 'micro_batches', m, 'sequence_parallel', sequence_parallel, 'recompute', again)) AS w (how),
     LATERAL perfmodel.predict(g, 'T4', 4, predictor => 'roof', world_size => 8, cluster => 'dgx-2', parallel => how) AS p,
     LATERAL (SELECT sum(step_ms) AS parts_ms FROM perfmodel.explain_train_time(g, 'T4', 4, predictor => 'roof', world_size => 8, cluster => 'dgx-2', parallel => how)) AS e,
     LATERAL perfmodel.scaling_curve(g, 'T4', 4, predictor => 'roof', max_gpus => 8, cluster => 'dgx-2', parallel => how) AS c,
     LATERAL perfmodel.predict_job(g, 'T4', 4, samples => 1e9, predictor => 'roof', world_size => 8, cluster => 'dgx-2', parallel => how) AS j,
     LATERAL perfmodel.predict_memory(g, 'T4', 4, world_size => 8, parallel => how) AS mem, LATERAL perfmodel.max_batch(g, 'T4', world_size => 8, parallel => how) AS most (batch)
WHERE c.world_size = 8;
SELECT count(*), bool_and(helper.close(parts_ms, step_ms)) AS parts, bool_and(helper.close(curve_ms, step_ms)) AS curve, bool_and(step_ms BETWEEN step_ms_low AND step_ms_high) AS inside, bool_and(exposed_ms <= comm_ms * (1 + 1e-9)) AS exposed FROM said;
SELECT g = :scores AS scores, count(*), bool_and(b.step_ms < a.step_ms) AS faster, bool_and(b.comm_ms > a.comm_ms) AS more_messages, bool_and(b.gpu_hours < a.gpu_hours) AS job, bool_and(b.peak_mb < a.peak_mb) AS memory, bool_and(b.most >= a.most) AS batches
FROM said AS a JOIN said AS b USING (g, tp, pp, m, again) WHERE b.sequence_parallel AND NOT a.sequence_parallel GROUP BY g ORDER BY 1;
SELECT g = :scores AS scores, count(*), bool_and(b.step_ms > a.step_ms) AS slower, bool_and(b.step_ms = a.step_ms) AS the_same, bool_and(b.step_ms < c.step_ms) AS than_layers, bool_and(b.peak_mb < a.peak_mb) AS memory, bool_and(b.peak_mb = a.peak_mb) AS the_same_memory, bool_and(b.most >= a.most) AS batches
FROM said AS a JOIN said AS b USING (g, tp, pp, m, sequence_parallel) JOIN said AS c USING (g, tp, pp, m, sequence_parallel) WHERE a.again = 'false' AND b.again = '"attention"' AND c.again = 'true' GROUP BY g ORDER BY 1;
-- on one GPU and with copies alone, too
SELECT n, helper.close(b.step_ms - a.step_ms, perfmodel.predict_train_time(:scores, 'T4', 4, predictor => 'roof', world_size => n, cluster => 'dgx-2', parallel => '{"recompute": "attention", "accumulation": 2}')
                       - perfmodel.predict_train_time(:scores, 'T4', 4, predictor => 'roof', world_size => n, cluster => 'dgx-2', parallel => '{"accumulation": 2}') - (b.step_ms - a.step_ms)) AS twice_in_two_batches, b.step_ms > a.step_ms AS slower
FROM unnest('{1,8}'::int[]) AS n, LATERAL perfmodel.predict(:scores, 'T4', 4, predictor => 'roof', world_size => n, cluster => 'dgx-2') AS a,
     LATERAL perfmodel.predict(:scores, 'T4', 4, predictor => 'roof', world_size => n, cluster => 'dgx-2', parallel => '{"recompute": "attention"}') AS b;
-- GPUs that share each sequence, groups that divide the weights, and weights that are divided beside layers: every function agrees
CREATE TEMP TABLE layout AS
SELECT g, how, p.step_ms, p.step_ms_low, p.step_ms_high, p.samples_per_s, c.comm_ms, c.exposed_ms, e.parts_ms, c.step_ms AS curve_ms, c.samples_per_s AS curve_per_s, j.gpu_hours, mem.peak_mb, mem.weights_mb, mem.optimizer_mb
FROM unnest(ARRAY[:scores, :kernel]::bigint[]) AS g, unnest(ARRAY['{}', '{"cp": 2}', '{"cp": 4}', '{"cp": 4, "zero": 3}', '{"cp": 2, "tp": 2}', '{"cp": 2, "pp": 2, "micro_batches": 4}', '{"cp": 2, "recompute": true}', '{"zero": 3}', '{"zero": 3, "shard": 4}', '{"zero": 1, "shard": 2}',
         '{"zero": 1}', '{"zero": 3, "tp": 2}', '{"zero": 3, "tp": 2, "recompute": true, "sequence_parallel": true}', '{"zero": 1, "master_weights": true}', '{"master_weights": true}', '{"zero": 3, "shard": 2, "tp": 2, "cp": 2}']::jsonb[]) AS how,
     LATERAL perfmodel.predict(g, 'T4', 4, dtype => 'amp', predictor => 'roof', optimizer => 'adamw', world_size => 8, cluster => 'dgx-2', parallel => how) AS p,
     LATERAL (SELECT sum(step_ms) AS parts_ms FROM perfmodel.explain_train_time(g, 'T4', 4, dtype => 'amp', predictor => 'roof', optimizer => 'adamw', world_size => 8, cluster => 'dgx-2', parallel => how)) AS e,
     LATERAL perfmodel.scaling_curve(g, 'T4', 4, dtype => 'amp', predictor => 'roof', optimizer => 'adamw', max_gpus => 8, cluster => 'dgx-2', parallel => how) AS c,
     LATERAL perfmodel.predict_job(g, 'T4', 4, dtype => 'amp', samples => 1e9, predictor => 'roof', optimizer => 'adamw', world_size => 8, cluster => 'dgx-2', parallel => how) AS j,
     LATERAL perfmodel.predict_memory(g, 'T4', 4, dtype => 'amp', optimizer => 'adamw', world_size => 8, parallel => how) AS mem
WHERE c.world_size = 8;
SELECT count(*), bool_and(helper.close(parts_ms, step_ms)) AS parts, bool_and(helper.close(curve_ms, step_ms)) AS curve, bool_and(helper.close(curve_per_s, samples_per_s)) AS per_s, bool_and(step_ms BETWEEN step_ms_low AND step_ms_high) AS inside, bool_and(exposed_ms <= comm_ms * (1 + 1e-9)) AS exposed FROM layout;
-- against copies alone: a sequence that is shared takes less time and memory, and fewer samples are trained
SELECT b.how, bool_and(b.step_ms < a.step_ms) AS faster, bool_and(b.comm_ms > a.comm_ms) AS more_messages, bool_and(b.peak_mb < a.peak_mb) AS less_memory, min(round((b.samples_per_s * b.step_ms / 1000)::numeric)) AS samples, bool_and(b.gpu_hours > a.gpu_hours) AS job
FROM layout AS a JOIN layout AS b USING (g) WHERE a.how = '{}' AND b.how ? 'cp' AND NOT b.how ? 'shard' GROUP BY b.how ORDER BY b.how;
SELECT a.how, b.how, bool_and(b.step_ms < a.step_ms) AS faster, round(min(b.weights_mb / a.weights_mb)::numeric, 2) AS weights, round(min(b.optimizer_mb / a.optimizer_mb)::numeric, 2) AS optimizer, bool_and(b.peak_mb < a.peak_mb) AS less_memory
FROM layout AS a JOIN layout AS b USING (g) JOIN (VALUES ('{"zero": 3}', '{"zero": 3, "shard": 4}'), ('{"zero": 1}', '{"zero": 1, "shard": 2}'), ('{"zero": 3}', '{"zero": 3, "tp": 2}'), ('{"zero": 1}', '{"zero": 1, "master_weights": true}'), ('{}', '{"master_weights": true}')) AS v (x, y)
    ON a.how = x::jsonb AND b.how = y::jsonb GROUP BY a.how, b.how ORDER BY a.how, b.how;
SELECT how, split_part(helper.error_of(format('SELECT perfmodel.predict(%s, ''T4'', 4, %L, predictor => ''roof'', world_size => 8, parallel => %L)', g, dtype, how)), E'\n', 1) AS predict,
       split_part(helper.error_of(format('SELECT perfmodel.predict_memory(%s, ''T4'', 4, %L, world_size => 8, parallel => %L)', g, dtype, how)), E'\n', 1) AS memory
FROM (VALUES (:scores, 'amp', '{"cp": 3}'), (:scores, 'amp', '{"cp": 0}'), (:scores, 'amp', '{"cp": "x"}'), (:g, 'amp', '{"cp": 2}'), (:scores, 'amp', '{"zero": 3, "shard": 3}'), (:scores, 'amp', '{"zero": 3, "shard": -1}'), (:scores, 'amp', '{"shard": 4}'),
             (:scores, 'amp', '{"zero": 3, "pp": 2}'), (:scores, 'amp', '{"master_weights": 1}'), (:scores, 'fp32', '{"master_weights": true}')) AS v (g, dtype, how);
SELECT perfmodel.total_batch(4, 16, '{"cp": 2, "tp": 2}') AS copies_of_four_gpus;
-- weights of 16 bits on a single GPU, too
SELECT dtype, round((b.weights_mb / a.weights_mb)::numeric, 2) AS weights, round((b.optimizer_mb / a.optimizer_mb)::numeric, 2) AS optimizer, b.note = a.note OR b.note IS NULL AND a.note IS NULL AS the_same_note
FROM unnest('{amp,bf16}'::text[]) AS dtype, LATERAL perfmodel.predict_memory(:kernel, 'T4', 4, dtype, optimizer => 'adamw') AS a, LATERAL perfmodel.predict_memory(:kernel, 'T4', 4, dtype, optimizer => 'adamw', parallel => '{"master_weights": true}') AS b;
-- GPUs that divide the experts: every function agrees
SELECT perfmodel.load_graph(perfmodel.decoder_graph('of experts', 4, 1024, 8, 512, 1000, 'llama', experts => 8)) AS moe,
       perfmodel.load_graph(perfmodel.decoder_graph('of one expert a token', 4, 1024, 8, 512, 1000, 'gpt', experts => 8, experts_per_token => 1)) AS single \gset
CREATE TEMP TABLE spread AS
SELECT g, how, ep, p.*, c.comm_ms, c.exposed_ms, e.parts_ms, e.waits_ms, c.step_ms AS curve_ms, j.gpu_hours, mem.peak_mb, mem.weights_mb, mem.gradients_mb, mem.optimizer_mb, mem.activations_mb, most.batch AS most, m.step_ms AS many_ms
FROM unnest(ARRAY[:moe, :single]::bigint[]) AS g, unnest('{NULL,1,2,4,8}'::int[]) AS ep,
     unnest(ARRAY['{}', '{"zero": 1}', '{"zero": 2}', '{"zero": 3}', '{"zero": 1, "master_weights": true}', '{"tp": 2}', '{"tp": 2, "sequence_parallel": true}', '{"tp": 2, "zero": 3}', '{"pp": 2, "micro_batches": 4}', '{"cp": 2}', '{"recompute": true}',
                  '{"accumulation": 2}']::jsonb[]) AS how, LATERAL (SELECT CASE WHEN ep IS NULL THEN how ELSE how || jsonb_build_object('ep', ep) END) AS w (said),
     LATERAL (SELECT step_ms, step_ms_low, step_ms_high, samples_per_s FROM perfmodel.predict(g, 'T4', 4, dtype => 'amp', predictor => 'roof', optimizer => 'adamw', world_size => 16, cluster => 'dgx-2', parallel => said)) AS p,
     LATERAL (SELECT sum(step_ms) AS parts_ms, sum(step_ms) FILTER (WHERE part = 'communication') AS waits_ms FROM perfmodel.explain_train_time(g, 'T4', 4, dtype => 'amp', predictor => 'roof', optimizer => 'adamw', world_size => 16, cluster => 'dgx-2', parallel => said)) AS e,
     LATERAL perfmodel.scaling_curve(g, 'T4', 4, dtype => 'amp', predictor => 'roof', optimizer => 'adamw', max_gpus => 16, cluster => 'dgx-2', parallel => said) AS c,
     LATERAL perfmodel.predict_job(g, 'T4', 4, dtype => 'amp', samples => 1e9, predictor => 'roof', optimizer => 'adamw', world_size => 16, cluster => 'dgx-2', parallel => said) AS j,
     LATERAL perfmodel.predict_memory(g, 'T4', 4, dtype => 'amp', optimizer => 'adamw', world_size => 16, parallel => said) AS mem,
     LATERAL perfmodel.max_batch(g, 'T4', dtype => 'amp', optimizer => 'adamw', world_size => 16, parallel => said) AS most (batch),
     LATERAL perfmodel.predict_many(ARRAY[g], '{T4}', '{4}', dtype => 'amp', predictor => 'roof', optimizer => 'adamw', world_size => 16, cluster => 'dgx-2', parallel => said) AS m
WHERE c.world_size = 16;
SELECT count(*), bool_and(helper.close(parts_ms, step_ms)) AS parts, bool_and(helper.close(curve_ms, step_ms) AND helper.close(many_ms, step_ms)) AS others, bool_and(helper.close(waits_ms, exposed_ms)) AS waits, bool_and(step_ms BETWEEN step_ms_low AND step_ms_high) AS inside,
       bool_and(exposed_ms <= comm_ms * (1 + 1e-9)) AS exposed, bool_and(step_ms < 'NaN' AND comm_ms < 'NaN' AND peak_mb < 'NaN') AS numbers FROM spread;
SELECT bool_and((a.step_ms, a.comm_ms, a.peak_mb, a.most) = (b.step_ms, b.comm_ms, b.peak_mb, b.most)) AS one_is_none FROM spread AS a JOIN spread AS b USING (g, how) WHERE a.ep IS NULL AND b.ep = 1;
-- against half as many GPUs: half of the experts, all of the activations, as many samples
SELECT b.how, count(*), bool_and(b.weights_mb < a.weights_mb) AS weights, bool_and(b.gradients_mb <= a.gradients_mb * (1 + 1e-9)) AS gradients, bool_and(b.optimizer_mb <= a.optimizer_mb * (1 + 1e-9)) AS optimizer, bool_and(b.peak_mb < a.peak_mb) AS memory, bool_and(b.most >= a.most) AS batches,
       bool_and(helper.close(b.samples_per_s * b.step_ms, a.samples_per_s * a.step_ms)) AS samples
FROM spread AS a JOIN spread AS b USING (g, how) WHERE b.ep = 2 * a.ep GROUP BY b.how ORDER BY b.how;
-- of each batch more, tokens go there and back: what more GPUs divide, and what more experts a token has
SELECT bool_and(b.more > a.more) AS gpus, bool_and(a.more > 0) AS some
FROM (SELECT s.g, s.ep, t.comm_ms - s.comm_ms AS more FROM spread AS s JOIN spread AS t USING (g, ep) WHERE s.how = '{}' AND t.how = '{"accumulation": 2}') AS a
JOIN (SELECT s.g, s.ep, t.comm_ms - s.comm_ms AS more FROM spread AS s JOIN spread AS t USING (g, ep) WHERE s.how = '{}' AND t.how = '{"accumulation": 2}') AS b ON b.g = a.g AND b.ep = 2 * a.ep WHERE a.ep > 1;
SELECT bool_and(a.comm_ms > b.comm_ms) AS twice_the_tokens FROM spread AS a JOIN spread AS b USING (how, ep) WHERE a.g = :moe AND b.g = :single AND how = '{"accumulation": 2}';
-- experts that the GPUs of a layer do not share: as many of them on a GPU, and fewer messages
SELECT v.ep, v.world_size, b.weights_mb = a.weights_mb AND b.optimizer_mb = a.optimizer_mb AND b.peak_mb = a.peak_mb AS memory, d.step_ms < c.step_ms AND d.comm_ms < c.comm_ms AS faster, helper.close(e.parts_ms, d.step_ms) AS parts
FROM (VALUES (4, 16), (8, 16)) AS v (ep, world_size), LATERAL (SELECT jsonb_build_object('tp', 2, 'zero', 1, 'sequence_parallel', true, 'ep', v.ep / 2) AS shared, jsonb_build_object('tp', 2, 'zero', 1, 'sequence_parallel', true, 'ep', v.ep, 'etp', 1) AS whole) AS w,
     LATERAL perfmodel.predict_memory(:moe, 'T4', 4, dtype => 'amp', optimizer => 'adamw', world_size => v.world_size, parallel => shared) AS a, LATERAL perfmodel.predict_memory(:moe, 'T4', 4, dtype => 'amp', optimizer => 'adamw', world_size => v.world_size, parallel => whole) AS b,
     LATERAL (SELECT * FROM perfmodel.scaling_curve(:moe, 'T4', 4, dtype => 'amp', predictor => 'roof', max_gpus => v.world_size, cluster => 'dgx-2', parallel => shared) WHERE world_size = v.world_size) AS c,
     LATERAL (SELECT * FROM perfmodel.scaling_curve(:moe, 'T4', 4, dtype => 'amp', predictor => 'roof', max_gpus => v.world_size, cluster => 'dgx-2', parallel => whole) WHERE world_size = v.world_size) AS d,
     LATERAL (SELECT sum(step_ms) AS parts_ms FROM perfmodel.explain_train_time(:moe, 'T4', 4, dtype => 'amp', predictor => 'roof', world_size => v.world_size, cluster => 'dgx-2', parallel => whole)) AS e;
-- the operators are those of a GPU, and the work of all
SELECT ep, op, shape, copies FROM unnest('{1,8}'::int[]) AS ep, perfmodel.explain_train_time(:moe, 'T4', 4, predictor => 'roof', world_size => 16, cluster => 'dgx-2', parallel => jsonb_build_object('ep', ep)) WHERE module ~ 'experts' ORDER BY ep, node_id;
-- zero divides what is not of experts among all GPUs, and what is in two steps: with another ep, no operator has more of it
SELECT what, op ~ 'MatMul' AS experts, count(*), min(x) > 0 AS some, max(x) / min(x) < 1.01 AS alike
FROM (SELECT 'step_ms' AS what, ep, op, sum(step_ms) AS x FROM unnest('{1,2,4,8}'::int[]) AS ep,
          perfmodel.explain_train_time(:moe, 'T4', 1, dtype => 'amp', predictor => 'roof', optimizer => 'adamw', world_size => 16, cluster => 'dgx-2', parallel => jsonb_build_object('ep', ep, 'zero', 1)) GROUP BY ep, op
      UNION ALL
      SELECT 'optimizer', ep, op, sum(mb) FROM unnest('{1,2,4,8}'::int[]) AS ep, perfmodel.explain_memory(:moe, 'T4', 4, dtype => 'amp', optimizer => 'adamw', world_size => 16, parallel => jsonb_build_object('ep', ep, 'zero', 1))
      WHERE part = 'optimizer' GROUP BY ep, op) AS s
WHERE op = 'Gemm' OR (op, what) = ('MatMul', 'optimizer') GROUP BY what, op ORDER BY what, op;
-- more ep, and more zero, never need more memory
SELECT perfmodel.load_graph(perfmodel.decoder_graph('wide@512', 8, 1024, 16, 512, 32000, 'llama', feed_forward => 3584, experts => 8)) AS wide \gset
CREATE TEMP TABLE needs ON COMMIT DROP AS SELECT zero, ep, dtype, batch, how, m.peak_mb
FROM generate_series(1, 3) AS zero, unnest('{1,2,4,8}'::int[]) AS ep, unnest('{amp,bf16}'::text[]) AS dtype, unnest('{1,64}'::int[]) AS batch, unnest(ARRAY['{}', '{"recompute": true}', '{"recompute": true, "master_weights": true}']::jsonb[]) AS how,
     perfmodel.predict_memory(:wide, 'T4', batch, dtype, optimizer => 'adamw', world_size => 8, parallel => how || jsonb_build_object('zero', zero, 'ep', ep)) AS m;
SELECT count(*), bool_and(b.peak_mb <= a.peak_mb * (1 + 1e-9)) AS with_ep FROM needs AS a JOIN needs AS b USING (zero, dtype, batch, how) WHERE b.ep > a.ep;
SELECT count(*), bool_and(b.peak_mb <= a.peak_mb * (1 + 1e-9)) AS with_zero FROM needs AS a JOIN needs AS b USING (ep, dtype, batch, how) WHERE b.zero > a.zero;
SELECT array_agg(world_size ORDER BY world_size) FROM perfmodel.scaling_curve(:moe, 'T4', 4, predictor => 'roof', max_gpus => 16, cluster => 'dgx-2', parallel => '{"ep": 4, "tp": 2}');
SELECT how, g = :moe AS experts, helper.error_of(format('SELECT perfmodel.predict(%s, ''T4'', 4, predictor => ''roof'', world_size => 16, parallel => %L)', g, how)) AS predict,
       split_part(helper.error_of(format('SELECT perfmodel.predict_memory(%s, ''T4'', 4, world_size => 16, parallel => %L)', g, how)), E'\n', 1) AS memory
FROM (VALUES (:moe, '{"ep": 3}'), (:moe, '{"ep": 16}'), (:moe, '{"ep": 8, "tp": 4}'), (:moe, '{"ep": 0}'), (:moe, '{"ep": "x"}'), (:moe, '{"ep": 2, "zero": 3, "shard": 4}'), (:moe, '{"ep": 4, "tp": 4, "etp": 2}'), (:moe, '{"tp": 4, "etp": 1}'), (:kernel, '{"ep": 2}')) AS v (g, how);
SELECT split_part(helper.error_of(format('SELECT perfmodel.predict(%s, ''T4'', 4, predictor => ''roof'', parallel => ''{"ep": 2}'')', :moe)), E'\n', 1) AS one_gpu;
SELECT step_ms, note, reasons FROM perfmodel.predict(:kernel, 'T4', 4, predictor => 'roof', world_size => 16, parallel => '{"ep": 2}', on_error => 'null');
-- measured steps with it teach a cluster, which then tells them
INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra) SELECT 'sixteen T4', 'T4', gpus_per_node, intra FROM perfmodel.cluster WHERE name = 'dgx-2';
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, optimizer, world_size, nodes, step_ms, parallel)
SELECT g, 'T4', 4, 'amp', 'adamw', 16, 1, step_ms * 1.2, how || jsonb_build_object('ep', ep) FROM spread WHERE ep > 1 AND how IN ('{}', '{"zero": 1}', '{"accumulation": 2}');
SELECT n_profiles, mape_before_pct > 10 AS before, mape_after_pct < 5 AS after FROM perfmodel.fit_cluster('sixteen T4', 'with experts', predictor => 'roof');
SELECT split_part(helper.error_of(format('INSERT INTO perfmodel.profile (graph_id, gpu, batch, world_size, step_ms, parallel) VALUES (%s, ''T4'', 4, 16, 1, ''{"ep": 3}'')', :moe)), E'\n', 1) AS cannot_be;
ROLLBACK;
-- machines of 72 GPUs: powers of two and whole machines; and where no power of two is possible, the doublings of what is
SELECT n AS machine, how, array_agg(c.world_size || '/' || c.nodes ORDER BY c.world_size)
FROM (VALUES (72, '{}'::jsonb, 600), (72, '{"tp": 2, "pp": 3}', 600), (72, '{"pp": 3}', 64), (8, '{"pp": 3}', 64), (8, '{"tp": 2, "pp": 2}', 64)) AS v (n, how, most), LATERAL perfmodel.scaling_curve(:t, 'A100', 8, CASE n WHEN 72 THEN 'gb200-nvl72' ELSE 'dgx-a100-40gb' END, most, predictor => 'roof', parallel => how) AS c
GROUP BY n, how, most ORDER BY n, how;
-- the curve of a divided model begins with the GPUs of one copy
SELECT array_agg(world_size ORDER BY world_size), bool_and(helper.close(efficiency, samples_per_s / world_size / first)) AS efficiency
FROM (SELECT *, first_value(samples_per_s / world_size) OVER (ORDER BY world_size) AS first
      FROM perfmodel.scaling_curve(:t, 'A100', 8, max_gpus => 16, predictor => 'roof', parallel => '{"tp": 2, "pp": 2}')) AS c;
SELECT helper.error_of(format('SELECT * FROM perfmodel.scaling_curve(%s, ''A100'', 8, max_gpus => 2, predictor => ''roof'', parallel => ''{"tp": 4}'')', :t));
DELETE FROM perfmodel.graph WHERE graph_id = :t;

-- what cannot be
SELECT q, helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''T4'', 8, predictor => ''roof'', %s)', :g, q))
FROM unnest('{"world_size => 0","world_size => 16, nodes => 1","world_size => 4, nodes => 0","world_size => 2, nodes => 3","world_size => 2, cluster => ''dgx''","world_size => 8, parallel => ''[]''",
"world_size => 8, parallel => ''{\"zero\": 4}''","world_size => 8, parallel => ''{\"zero\": 1.5}''","world_size => 8, parallel => ''{\"pp\": {}}''","world_size => 8, parallel => ''{\"tp\": 0}''","world_size => 8, parallel => ''{\"tp\": 3}''","world_size => 8, parallel => ''{\"tp\": 2}''","world_size => 8, parallel => ''{\"recompute\": 1}''","world_size => 8, parallel => ''{\"recompute\": \"layers\"}''","world_size => 8, parallel => ''{\"sequence_parallel\": true}''","parallel => ''{\"sequence_parallel\": true}''","world_size => 8, parallel => ''{\"sequence_parallel\": 2}''","world_size => 8, parallel => ''{\"lanes\": 1}''","world_size => 8, parallel => ''{\"compression\": \"int8\"}''","parallel => ''{\"bucket_mb\": 0}'', world_size => 2"}'::text[]) AS q;
SELECT helper.error_of(format('SELECT * FROM perfmodel.scaling_curve(%s, ''T4'', 8, max_gpus => 0)', :g));
SELECT n, split_part(helper.error_of(format('SELECT * FROM perfmodel.scaling_curve(%s, ''T4'', 8, max_gpus => %s, predictor => ''roof'')', :g, n)), E'\n', 1) AS error_of FROM unnest('{65536,65537}'::int[]) AS n;
SELECT step_ms, note, reasons FROM perfmodel.predict(:g, 'T4', 8, world_size => 16, nodes => 1, on_error => 'null');
SELECT step_ms, step_ms_low, predictor_id, note, reasons FROM perfmodel.predict(:g, 'T4', 8, world_size => 2, parallel => '{"pp": 2}', on_error => 'null');
SELECT perfmodel.predict_train_time(:g, 'T4', 8, world_size => NULL) AS no_world_size;

-- clusters of one's own: found by device, changes are seen at once, an alias becomes the name
BEGIN;
INSERT INTO perfmodel.interconnect (name, kind, busbw_gbs) VALUES ('our nvlink', 'nvlink', 50);
INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra) VALUES ('ours', 'tesla_t4', 4, 'our nvlink') RETURNING gpu;
SELECT array_agg(world_size ORDER BY world_size), bool_and(exposed_ms <= comm_ms) AS exposed FROM perfmodel.scaling_curve(:g, 'T4', 8, predictor => 'roof');
SELECT comm_ms AS before FROM perfmodel.scaling_curve(:g, 'T4', 8, predictor => 'roof') WHERE world_size = 4 \gset
UPDATE perfmodel.interconnect SET busbw_gbs = 1 WHERE name = 'our nvlink';
SELECT comm_ms > :before AS narrower FROM perfmodel.scaling_curve(:g, 'T4', 8, predictor => 'roof') WHERE world_size = 4;
-- the curve ends with all GPUs that there are, and says so where more were asked for
SAVEPOINT sizes;
SELECT array_agg(world_size ORDER BY world_size), string_agg(note, ' | ' ORDER BY world_size) FILTER (WHERE note ~ 'curve') AS note FROM perfmodel.scaling_curve(:g, 'T4', 8, predictor => 'roof', max_gpus => 4);
SELECT array_agg(world_size ORDER BY world_size), string_agg(world_size || ': ' || note, ' | ') FILTER (WHERE note ~ 'curve') AS note FROM perfmodel.scaling_curve(:g, 'T4', 8, predictor => 'roof', max_gpus => 5);
UPDATE perfmodel.cluster SET inter = 'our nvlink', nodes = 12 WHERE name = 'ours';
SELECT m, p, array_agg(world_size ORDER BY world_size) AS gpus, max(nodes) AS nodes, string_agg(world_size || ': ' || note, ' | ') FILTER (WHERE note ~ 'curve') AS note
FROM unnest('{47,48,100}'::int[]) AS m, unnest('{"{}","{\"zero\": 1}"}'::jsonb[]) AS p, LATERAL perfmodel.scaling_curve(:g, 'T4', 8, predictor => 'roof', max_gpus => m, parallel => p) GROUP BY 1, 2 ORDER BY 1, 2;
UPDATE perfmodel.cluster SET nodes = 1 WHERE name = 'ours';
SELECT note FROM perfmodel.scaling_curve(:g, 'T4', 8, predictor => 'roof') WHERE world_size = 4;
ROLLBACK TO sizes;
UPDATE perfmodel.cluster SET fitted_rows = 5;
SELECT note FROM perfmodel.predict(:g, 'T4', 8, predictor => 'roof', world_size => 2);
SAVEPOINT s;
SELECT perfmodel.predict_train_time(:g, 'T4', 8, predictor => 'roof', world_size => 5);
ROLLBACK TO s;
INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra) VALUES ('ours too', 'T4', 4, 'our nvlink');
-- machines of measurements that do not tell: as predict() counts them; of several clusters of one's own, that of the largest machines
SELECT g, n, perfmodel.fewest_nodes(g, n) FROM unnest('{T4,RTX 3090,V100-SXM2-32GB,A100-SXM4-80GB}'::text[]) AS g, unnest(ARRAY[1, 16, 17]) AS n ORDER BY 1, 2;
UPDATE perfmodel.cluster SET gpus_per_node = 16 WHERE name = 'ours too';
SELECT perfmodel.fewest_nodes('T4', 17) AS two, perfmodel.fewest_nodes('T4', NULL) AS nothing, perfmodel.fewest_nodes(NULL, 17) AS of_any;
UPDATE perfmodel.cluster SET gpus_per_node = 4 WHERE name = 'ours too';
-- for one GPU no cluster has to be named
SELECT v.parallel, p.step_ms > a.step_ms AS longer, p.step_ms = n.step_ms AND p.step_ms_high = n.step_ms_high AND p.note IS NOT DISTINCT FROM n.note AS as_on_a_cluster
FROM (VALUES ('{"accumulation": 3}'::jsonb), ('{"recompute": true}')) AS v (parallel), perfmodel.predict(:g, 'T4', 8, predictor => 'roof') AS a,
     perfmodel.predict(:g, 'T4', 8, predictor => 'roof', parallel => v.parallel) AS p, perfmodel.predict(:g, 'T4', 8, predictor => 'roof', parallel => v.parallel, cluster => 'ours') AS n;
SELECT perfmodel.predict_train_time(:g, 'T4', 8, predictor => 'roof', world_size => 2);
ROLLBACK TO s;
-- the link of a cluster is there, and stays: each row of it may go but the last, and its name stays with it
SELECT q, helper.error_of(q) FROM unnest(ARRAY[$$UPDATE perfmodel.cluster SET intra = 'NVswitch A100' WHERE name = 'ours'$$,
    $$INSERT INTO perfmodel.cluster (name, gpus_per_node, intra, inter) VALUES ('odd', 8, 'pcie4', 'xyzzy')$$, $$DELETE FROM perfmodel.interconnect WHERE name = 'our nvlink'$$,
    $$UPDATE perfmodel.interconnect SET name = 'their nvlink' WHERE name = 'our nvlink'$$, 'TRUNCATE perfmodel.interconnect',
    $$UPDATE perfmodel.cluster SET inter = 'our nvlink'; DELETE FROM perfmodel.interconnect WHERE name = 'our nvlink'$$]) AS q;
INSERT INTO perfmodel.interconnect (name, kind, gpus, busbw_gbs) VALUES ('our nvlink', 'nvlink', 2, 30);
DELETE FROM perfmodel.interconnect WHERE name = 'our nvlink' AND gpus = 0;
UPDATE perfmodel.interconnect SET busbw_gbs = 40 WHERE name = 'our nvlink';
UPDATE perfmodel.cluster SET intra = 'pcie3' WHERE name = 'ours';
DELETE FROM perfmodel.interconnect WHERE name = 'our nvlink';
-- a dump has clusters before links, so a restore takes them as they come; what has no link is told when it is asked about
SET check_function_bodies = off;
UPDATE perfmodel.cluster SET intra = 'NVswitch A100' WHERE name = 'ours';
RESET check_function_bodies;
SELECT perfmodel.predict_train_time(:g, 'T4', 8, predictor => 'roof', world_size => 2);
ROLLBACK;
SELECT helper.error_of($$INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra) VALUES ('ours', 'T5', 4, 'pcie3')$$) ~ '^23503: unknown GPU "T5"' AS unknown_gpu;
-- what is impossible in a description is told with its bounds, and the kind of a link may be written in any case
BEGIN;
SELECT v, helper.error_of('INSERT INTO perfmodel.interconnect (name, kind, busbw_gbs, ring_gbs) VALUES (''odd'', ' || v || ')')
FROM unnest('{"''NVSwitch'', 230, 300","''InfiniBand'', -1, NULL","''infiniband'', 25, ''NaN''","''omnipath'', 10, NULL"}'::text[]) AS v;
SELECT v, helper.error_of('INSERT INTO perfmodel.cluster (name, intra, gpus_per_node, overlap) VALUES (''odd'', ''pcie3'', ' || v || ')') FROM unnest('{"0, 0.5","8, 7"}'::text[]) AS v;
INSERT INTO perfmodel.interconnect (name, kind, busbw_gbs) VALUES ('odd one', 'NV-Switch', 230) RETURNING kind;
ROLLBACK;
SELECT helper.error_of(format('SELECT perfmodel.predict(%s, ''T4'', 4, predictor => ''roof'', world_size => 8, parallel => ''{"zero": "fsdp2"}'')', :g));
-- whether a GPU has the memory: weights that are divided leave more of it
SELECT c.world_size, c.fits = m.fits AS fits, c.p_fits = m.p_fits AS p_fits FROM perfmodel.scaling_curve(:g, 'T4', 40000, max_gpus => 8, predictor => 'roof', parallel => '{"zero": 3}') AS c,
     LATERAL perfmodel.predict_memory(:g, 'T4', 40000, world_size => c.world_size, parallel => '{"zero": 3}') AS m ORDER BY 1;
-- of a cluster that nobody has measured, a step may well take twice as long
SELECT n, p.step_ms_high / p.step_ms > 2 AS much_longer, p.step_ms_low / p.step_ms < 0.9 AS shorter, p.in_domain
FROM unnest('{1,8}'::int[]) AS n, LATERAL perfmodel.predict(:g, 'T4', 8, predictor => 'roof', world_size => n) AS p;
-- fitted to measurements: what the links give in truth, with one GPU measured or predicted
BEGIN;
CREATE TEMP TABLE truth AS SELECT n, batch, perfmodel.predict_train_time(:g, 'T4', batch, predictor => 'roof', world_size => n) * 1.5 AS step_ms
FROM unnest('{2,4,8,16}'::int[]) AS n, unnest('{8,16}'::int[]) AS batch;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, world_size, nodes, step_ms) SELECT :g, 'T4', batch, n, greatest(1, n / 4), step_ms FROM truth;
SELECT helper.error_of(format('INSERT INTO perfmodel.profile (graph_id, gpu, batch, world_size, nodes, step_ms) VALUES (%s, ''T4'', 8, 2, 4, 5)', :g));
INSERT INTO perfmodel.profile (profile_id, graph_id, gpu, batch, world_size, nodes, step_ms) OVERRIDING SYSTEM VALUE VALUES (8000000161, :g, 'T4', 8, 16, 1, 5);
SELECT fitted_cluster, n_profiles, n_left_out, mape_before_pct > 20 AS before, mape_after_pct < mape_before_pct / 2 AS after, comm_error BETWEEN 0 AND 3 AS comm_error
FROM perfmodel.fit_cluster('aws-g4dn-12xlarge', predictor => 'roof');
SELECT gpu, gpus_per_node, intra, inter, fitted_rows, builtin, source FROM perfmodel.cluster WHERE name = 'aws-g4dn-12xlarge fitted';
-- it answers from now on, and says nothing of constants
SELECT p.step_ms / t.step_ms BETWEEN 0.7 AND 1.3 AS near, p.note FROM truth AS t, LATERAL perfmodel.predict(:g, 'T4', 8, predictor => 'roof', world_size => 8) AS p WHERE t.n = 8 AND t.batch = 8;
-- of other GPUs on its machines nothing was measured
SELECT gpu, p.in_domain, p.note, p.reasons, p.step_ms_high / p.step_ms > 2 AS much_longer
FROM (VALUES ('T4', 'aws-g4dn-12xlarge fitted'), ('V100-SXM2-16GB', 'aws-g4dn-12xlarge fitted'), ('T4', 'dgx-2'), ('V100-SXM2-16GB', 'any')) AS v (gpu, cluster),
     LATERAL perfmodel.predict(:g, gpu, 8, predictor => 'roof', world_size => 8, cluster => cluster) AS p;
-- again: one's own is fitted in place, and the same measurements count once
CREATE TEMP TABLE once AS SELECT * FROM perfmodel.cluster WHERE name = 'aws-g4dn-12xlarge fitted';
SELECT fitted_cluster, n_profiles FROM perfmodel.fit_cluster('aws-g4dn-12xlarge fitted', predictor => 'roof');
SELECT count(*) AS same FROM perfmodel.cluster JOIN once USING (name, intra_factor, inter_factor, pair_factor, latency_factor, compute_factor, steal, straggler, contention, contention_power, overlap, host_s_per_gb, comm_error, step_error, fitted_rows);
-- a graph whose steps cannot be predicted is left out, and the others are fitted to
SAVEPOINT idle;
SELECT perfmodel.load_graph('{"format":"perfmodel-graph/1", "name":"idle", "nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0}]}') AS idle \gset
INSERT INTO perfmodel.profile (graph_id, gpu, batch, world_size, nodes, step_ms) SELECT :idle, 'T4', 8, n, 1, 5 FROM generate_series(2, 4) AS n;
SET client_min_messages = notice;
SELECT fitted_cluster, n_profiles, n_left_out FROM perfmodel.fit_cluster('aws-g4dn-12xlarge fitted', predictor => 'roof');
ROLLBACK TO idle;
SELECT helper.error_of($$SELECT perfmodel.fit_cluster('aws-g4dn-12xlarge', 'dgx-2', predictor => 'roof')$$);
SELECT helper.error_of($$SELECT perfmodel.fit_cluster('aws-g4dn-12xlarge', profiles => '{}', predictor => 'roof')$$);
SELECT helper.error_of($$SELECT perfmodel.fit_cluster('nowhere')$$) ~ 'unknown cluster "nowhere"' AS unknown;
SELECT helper.error_of(format('SELECT perfmodel.fit_cluster(''aws-g4dn-12xlarge'', %L, predictor => ''roof'')', n)) FROM unnest(ARRAY['', ' -- ', repeat('x', 513)]) AS n;
SELECT perfmodel.fit_cluster(NULL) IS NULL AS nothing;
-- a trigger of the user's own that keeps the row away is no cluster of the extension
SAVEPOINT s;
CREATE FUNCTION helper.keep_cluster() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER keep_cluster BEFORE INSERT ON perfmodel.cluster FOR EACH ROW EXECUTE FUNCTION helper.keep_cluster();
SELECT helper.error_of($$SELECT perfmodel.fit_cluster('aws-g4dn-12xlarge', 'kept away', predictor => 'roof')$$);
ROLLBACK TO s;
-- what cannot be true is not stored
SAVEPOINT s;
UPDATE perfmodel.profile SET step_ms = step_ms / 100 WHERE world_size > 1;
SELECT helper.error_of($$SELECT perfmodel.fit_cluster('aws-g4dn-12xlarge', 'too fast', predictor => 'roof')$$) ~ 'on several GPUs take less than 0.6 of the step on one GPU' AS too_fast;
SELECT helper.error_of(format($$UPDATE perfmodel.profile SET step_ms = 1 + (profile_id %% 7) ^ 4 WHERE world_size > 1; SELECT perfmodel.fit_cluster('aws-g4dn-12xlarge', 'wild', predictor => 'roof')$$)) ~ 'do not fit cluster|no better' AS wild;
SELECT count(*) FROM perfmodel.cluster WHERE name IN ('too fast', 'wild');
ROLLBACK TO s;
-- a network that suffers from its neighbours more than others do: its own steps say so, and one that was not measured there may be like it
SAVEPOINT s;
DELETE FROM perfmodel.profile WHERE world_size > 1;
DELETE FROM perfmodel.cluster WHERE NOT builtin;
SELECT perfmodel.graph_id('bnet5@16') AS b, perfmodel.graph_id('cnet6@16') AS c, perfmodel.graph_id('dnet7@16') AS unknown \gset
INSERT INTO perfmodel.profile (graph_id, gpu, batch, world_size, nodes, step_ms)
SELECT g, 'T4', batch, n, greatest(1, n / 4), perfmodel.predict_train_time(g, 'T4', batch, predictor => 'roof', world_size => n)
       + CASE WHEN g = :b THEN log(2, least(n, 4)) * perfmodel.predict_train_time(g, 'T4', batch, predictor => 'roof') ELSE 0 END
FROM unnest(ARRAY[:g, :b, :c]::bigint[]) AS g, unnest('{2,4,8,16}'::int[]) AS n, unnest('{8,16}'::int[]) AS batch;
SELECT fitted_cluster, n_profiles, mape_after_pct < mape_before_pct / 2 AS after FROM perfmodel.fit_cluster('aws-g4dn-12xlarge', predictor => 'roof');
SELECT g.graph_id = :b AS slower, own > 0.3 AS much, own < 0.1 AS little
FROM perfmodel.cluster AS c, unnest(own_graphs, own_contention) AS g (graph_id, own) WHERE c.name = 'aws-g4dn-12xlarge fitted' ORDER BY g.graph_id = :b;
SELECT bool_and(p.step_ms / m.step_ms BETWEEN 0.8 AND 1.2) AS near
FROM perfmodel.profile AS m, LATERAL perfmodel.predict(m.graph_id, m.gpu, m.batch, predictor => 'roof', world_size => m.world_size, nodes => m.nodes) AS p WHERE m.world_size > 1;
SELECT u.step_ms_high / u.step_ms > k.step_ms_high / k.step_ms AS unknown_is_wider, u.step_ms_low <= u.step_ms AS low, u.note, k.note AS known
FROM perfmodel.predict(:unknown, 'T4', 8, predictor => 'roof', world_size => 4) AS u, perfmodel.predict(:c, 'T4', 8, predictor => 'roof', world_size => 4) AS k;
SELECT helper.close((SELECT sum(step_ms) FROM perfmodel.explain_train_time(:b, 'T4', 8, predictor => 'roof', world_size => 4)), p.step_ms) AS explain,
       (SELECT share FROM perfmodel.explain_train_time(:b, 'T4', 8, predictor => 'roof', world_size => 4) WHERE part = 'contention') > 0.3 AS contention
FROM perfmodel.predict(:b, 'T4', 8, predictor => 'roof', world_size => 4) AS p;
-- fitted again without it: what is known of it stays
SELECT n_profiles FROM perfmodel.fit_cluster('aws-g4dn-12xlarge fitted', profiles => ARRAY(SELECT profile_id FROM perfmodel.profile WHERE world_size > 1 AND graph_id <> :b), predictor => 'roof');
SELECT cardinality(own_graphs) AS networks, own_contention[array_position(own_graphs, :b)] > 0.3 AS stays FROM perfmodel.cluster WHERE NOT builtin;
SELECT a, split_part(helper.error_of(format('UPDATE perfmodel.cluster SET %s WHERE NOT builtin', a)), E'\n', 1) AS error
FROM unnest('{"own_graphs = NULL","own_contention = ''{1}''","own_contention = ''{1,-1,1}''","own_contention = ''{1,NULL,1}''","own_contention = ''{1,NaN,1}''"}'::text[]) AS a;
UPDATE perfmodel.cluster SET own_graphs = NULL, own_contention = NULL WHERE NOT builtin;
SELECT perfmodel.predict_train_time(:b, 'T4', 8, predictor => 'roof', world_size => 4) > 0 AS taken_off;
ROLLBACK TO s;
-- recalibrate fits the usual cluster of each device to the measurements on several GPUs among those that it is given
DELETE FROM perfmodel.cluster WHERE name = 'aws-g4dn-12xlarge fitted';
SET client_min_messages = notice;
SELECT n_profiles > 0 AS recalibrated FROM perfmodel.recalibrate('roof', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'T4' AND mode = 'train'), 'roof and cluster');
SELECT c.name, c.gpu, c.fitted_rows FROM perfmodel.cluster AS c WHERE c.fitted_rows > 0;
-- one measurement is not fitted to; one on more GPUs than the machines that it names have is not used; both are said
SAVEPOINT s;
DELETE FROM perfmodel.cluster WHERE fitted_rows > 0;
INSERT INTO perfmodel.profile (profile_id, graph_id, gpu, batch, world_size, step_ms) OVERRIDING SYSTEM VALUE
    SELECT 9000000000 + n, :g, 'T4', 8, n, 1.5 * perfmodel.predict_train_time(:g, 'T4', 8, predictor => 'roof') FROM unnest('{1,4,8}'::int[]) AS n;
SELECT n_profiles FROM perfmodel.recalibrate('roof', '{9000000001,9000000004,9000000008}', 'roof and one');
SELECT count(*) FROM perfmodel.cluster AS c WHERE c.fitted_rows > 0;
SELECT n_profiles, n_left_out FROM perfmodel.fit_cluster('aws-g4dn-12xlarge', profiles => '{9000000004,9000000008}', predictor => 'roof');
-- a cluster that somebody has described is fitted in place, and as it was by the statement that is named
DELETE FROM perfmodel.cluster WHERE fitted_rows > 0;
INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra, inter, source) SELECT 'ours', gpu, gpus_per_node, intra, inter, 'own' FROM perfmodel.cluster WHERE name = 'aws-g4dn-12xlarge';
SELECT md5(c::text) AS described FROM perfmodel.cluster AS c WHERE name = 'ours' \gset
UPDATE perfmodel.profile SET nodes = 2 WHERE profile_id = 9000000008;
SELECT n_profiles FROM perfmodel.recalibrate('roof', '{9000000001,9000000004,9000000008}', 'roof and two');
SELECT md5(c::text) = :'described' AS as_it_was FROM perfmodel.cluster AS c WHERE name = 'ours';
UPDATE perfmodel.cluster SET intra_factor = DEFAULT, inter_factor = DEFAULT, pair_factor = DEFAULT, latency_factor = DEFAULT, compute_factor = DEFAULT, steal = DEFAULT, straggler = DEFAULT, contention = DEFAULT, contention_power = DEFAULT, overlap = DEFAULT, host_s_per_gb = DEFAULT, comm_error = DEFAULT, step_error = DEFAULT, unseen_above = DEFAULT, unseen_below = DEFAULT, fitted_rows = DEFAULT, correction = DEFAULT, own_graphs = DEFAULT, own_contention = DEFAULT WHERE name = 'ours';
SELECT md5(c::text) = :'described' AS as_it_was FROM perfmodel.cluster AS c WHERE name = 'ours';
ROLLBACK TO s;
-- a cluster of no device is of none when it is fitted, which is said
SELECT fitted_cluster FROM perfmodel.fit_cluster('any', predictor => 'roof');
DELETE FROM perfmodel.cluster WHERE name = 'any fitted';
-- a row of perfmodel.cluster that a policy refuses is said, and the predictor is recalibrated
SAVEPOINT s;
DELETE FROM perfmodel.cluster WHERE fitted_rows > 0;
CREATE ROLE pm_test_fits;
GRANT USAGE ON SCHEMA perfmodel TO pm_test_fits;
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA perfmodel TO pm_test_fits;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA perfmodel TO pm_test_fits;
GRANT EXECUTE ON FUNCTION perfmodel.recalibrate(text, bigint[], text) TO pm_test_fits;
ALTER TABLE perfmodel.cluster ENABLE ROW LEVEL SECURITY;
CREATE POLICY look ON perfmodel.cluster FOR SELECT USING (true);
CREATE POLICY own ON perfmodel.cluster FOR INSERT WITH CHECK (name = 'mine');
SET ROLE pm_test_fits;
SELECT n_profiles > 0 AS recalibrated FROM perfmodel.recalibrate('roof', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'T4' AND mode = 'train'), 'roof of a tenant');
RESET ROLE;
SELECT (SELECT count(*) FROM perfmodel.cluster WHERE fitted_rows > 0) AS fitted, (SELECT count(*) FROM perfmodel.predictor WHERE name = 'roof of a tenant') AS recalibrated;
ROLLBACK TO s;
UPDATE perfmodel.profile SET step_ms = step_ms / 100 WHERE world_size > 1;
SELECT n_profiles > 0 AS recalibrated FROM perfmodel.recalibrate('roof', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'T4' AND mode = 'train'), 'roof alone');
SET client_min_messages = warning;
SELECT helper.error_of($$SELECT perfmodel.recalibrate('roof', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE world_size > 1))$$);
SELECT helper.error_of($$SELECT perfmodel.recalibrate('roof')$$);
ROLLBACK;
-- every link that a cluster names is there, and every figure has a source
SELECT count(*) FROM perfmodel.cluster AS c WHERE NOT EXISTS (SELECT FROM perfmodel.interconnect AS i WHERE i.name = c.intra)
    OR (c.inter IS NOT NULL AND NOT EXISTS (SELECT FROM perfmodel.interconnect AS i WHERE i.name = c.inter)) OR c.source IS NULL;
SELECT count(*) FROM perfmodel.interconnect WHERE source IS NULL;
-- cheap operators are computed again, or some of the layers: from none, which is as without, to all, which is as without a number, each more takes longer and keeps less
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('eight layers again', 8, 512, 8, 512, 1000, 'llama')) AS again \gset
CREATE TEMP TABLE again AS
SELECT w.way, n, p.step_ms, m.peak_mb, m.activations_mb, e.step_mb, t.highest_mb, d.parts_ms
FROM (VALUES (1, '{}'::jsonb, 1, 8), (2, '{"zero": 3}', 8, 8), (3, '{"tp": 4}', 8, 8), (4, '{"pp": 2, "micro_batches": 4}', 8, 4), (5, '{"pp": 2, "interleave": 2, "tp": 2, "sequence_parallel": true, "micro_batches": 2}', 8, 4), (6, '{"cp": 4}', 8, 8)) AS w(way, how, gpus, layers),
     LATERAL (SELECT n, how || jsonb_build_object('recompute', true, 'recompute_layers', n) AS said FROM generate_series(0, w.layers) AS n
              UNION ALL SELECT -1, how || '{"recompute": false}' UNION ALL SELECT 99, how || '{"recompute": true}' UNION ALL SELECT 50, how || '{"recompute": "cheap"}') AS s,
     LATERAL perfmodel.predict(:again, 'A100-SXM4-80GB', 16, 'amp', optimizer => 'adam', predictor => 'roof', world_size => gpus, cluster => CASE WHEN gpus > 1 THEN 'dgx-a100-80gb' END, parallel => said) AS p,
     LATERAL perfmodel.predict_memory(:again, 'A100-SXM4-80GB', 16, 'amp', optimizer => 'adam', world_size => gpus, parallel => said) AS m,
     LATERAL (SELECT sum(mb) AS step_mb FROM perfmodel.explain_memory(:again, 'A100-SXM4-80GB', 16, 'amp', optimizer => 'adam', world_size => gpus, parallel => said)) AS e,
     LATERAL (SELECT max(mb) AS highest_mb FROM perfmodel.memory_timeline(:again, 'A100-SXM4-80GB', 16, 'amp', optimizer => 'adam', world_size => gpus, parallel => said)) AS t,
     LATERAL (SELECT sum(step_ms) AS parts_ms FROM perfmodel.explain_train_time(:again, 'A100-SXM4-80GB', 16, dtype => 'amp', optimizer => 'adam', predictor => 'roof', world_size => gpus, cluster => CASE WHEN gpus > 1 THEN 'dgx-a100-80gb' END, parallel => said)) AS d;
SELECT a.way, count(*) AS rows, bool_and(a.step_ms >= b.step_ms AND a.peak_mb <= b.peak_mb AND a.highest_mb <= b.highest_mb + 0.001) AS in_order, bool_and(helper.close(a.step_mb, a.peak_mb) AND helper.close(a.parts_ms, a.step_ms)) AS explained
FROM again AS a JOIN again AS b ON b.way = a.way AND b.n = a.n - 1 WHERE a.n BETWEEN 1 AND 8 GROUP BY 1 ORDER BY 1;
SELECT a.n, count(*) AS ways, bool_and(a.step_ms = b.step_ms AND a.peak_mb = b.peak_mb AND a.step_mb = b.step_mb AND a.highest_mb = b.highest_mb) AS same
FROM again AS a JOIN again AS b USING (way) WHERE (a.n = 0 AND b.n = -1) OR (a.n = (SELECT max(l.n) FROM again AS l WHERE l.way = a.way AND l.n < 50) AND b.n = 99) GROUP BY 1 ORDER BY 1;
SELECT bool_and(c.step_ms > o.step_ms AND c.step_ms < a.step_ms) AS takes_between, bool_and(c.peak_mb < o.peak_mb AND c.peak_mb > a.peak_mb) AS keeps_between, bool_and(helper.close(c.step_mb, c.peak_mb) AND helper.close(c.parts_ms, c.step_ms)) AS explained
FROM again AS c JOIN again AS o USING (way) JOIN again AS a USING (way) WHERE c.n = 50 AND o.n = -1 AND a.n = 99;
SELECT helper.close(m.peak_mb, a.peak_mb) AS checkpointing_is_all FROM perfmodel.predict_memory(:again, 'A100-SXM4-80GB', 16, 'amp', optimizer => 'adam', checkpointing => true, parallel => '{"recompute": true, "recompute_layers": 2}') AS m, again AS a WHERE a.way = 1 AND a.n = 99;
SELECT helper.error_of(format('SELECT * FROM perfmodel.predict(%s, ''A100-SXM4-80GB'', 1, predictor => ''roof'', world_size => 2, cluster => ''dgx-a100-80gb'', parallel => %L)', :again, said))
FROM unnest('{"{\"recompute_layers\": 2}","{\"recompute\": \"cheap\", \"recompute_layers\": 2}","{\"recompute\": false, \"recompute_layers\": 0}","{\"recompute\": true, \"recompute_layers\": 9}","{\"recompute\": true, \"recompute_layers\": 5, \"pp\": 2}","{\"recompute\": true, \"recompute_layers\": -1}","{\"recompute\": true, \"recompute_layers\": 1.5}","{\"recompute\": true, \"recompute_layers\": \"all\"}","{\"recompute\": \"full\"}"}'::text[]) AS said;
SELECT helper.error_of(format('SELECT * FROM perfmodel.predict_memory(%s, ''A100-SXM4-80GB'', 1, parallel => %L)', :again, '{"recompute": true, "recompute_layers": 9}'));
ROLLBACK;
