-- One change at a time, and two trainings on one device.
\pset format unaligned
SET client_min_messages = warning;
SELECT perfmodel.graph_id('dnet7@32') AS g, perfmodel.graph_id('anet4@16') AS h \gset
SELECT c.change, c.step_ms > 0 AS step, c.factor > 0 AS factor, helper.close(c.samples_per_s, 1000 * CASE c.change WHEN 'half the batch' THEN 8 WHEN 'twice the batch' THEN 32 ELSE 16 END / c.step_ms) AS samples,
       c.saved_mb IS NOT NULL AS memory, c.fits, c.measured > 0 AS measured, c.basis
FROM perfmodel.what_if_change(:g, 'T4', 16, predictor => 'roof') AS c;
SELECT change, in_domain, note FROM perfmodel.what_if_change(:g, 'A100', 16, '{amp,fused optimizer}', predictor => 'roof');
-- as the functions say that are asked for it; what is so already is no change
SELECT helper.close(c.step_ms, perfmodel.predict_train_time(:g, 'T4', 16, 'amp', 'nhwc', predictor => 'roof')) AS both FROM perfmodel.what_if_change(:g, 'T4', 16, '{"amp and channels_last"}', predictor => 'roof') AS c WHERE change <> 'none';
SELECT array_agg(change) FROM perfmodel.what_if_change(:g, 'T4', 16, dtype => 'mixed', layout => 'channels_last', optimizer => 'AdamW', predictor => 'roof');
SELECT array_agg(round(factor::numeric, 3)), array_agg(saved_mb > 0) FROM perfmodel.what_if_change(:g, 'T4', 512, '{checkpointing}', predictor => 'roof');
-- checkpointing is recompute, on one GPU too
SELECT w, c.step_ms = p.step_ms AS same FROM unnest('{1,2}'::int[]) AS w, perfmodel.what_if_change(:g, 'T4', 512, '{checkpointing}', predictor => 'roof', world_size => w) AS c,
    perfmodel.predict(:g, 'T4', 512, predictor => 'roof', world_size => w, parallel => '{"recompute": true}') AS p WHERE c.change = 'checkpointing';
-- the formats that the card computes in, and the way back; others by name only
SELECT d, u, (SELECT string_agg(change, ' ') FROM perfmodel.what_if_change(:g, u, 16, dtype => d, predictor => 'roof') WHERE change IN ('amp', 'bf16', 'fp16', 'tf32', 'fp32'))
FROM unnest('{fp32,amp,bf16}'::text[]) AS d, unnest('{T4,A100,GTX 1080,RX 6800}'::text[]) AS u;
SELECT change, note FROM perfmodel.what_if_change(:g, 'T4', 16, '{bf16,tf32}', predictor => 'roof') WHERE change <> 'none';
SELECT helper.error_of(format('SELECT perfmodel.what_if_change(%s, ''T4'', 16, ''{faster}'')', :g));
SELECT helper.error_of(format('SELECT perfmodel.what_if_change(%s, ''T5'', 16)', :g)) ~ 'unknown GPU "T5"' AS unknown;
-- what is not said or not known is not answered for something else; batches to the largest
SELECT (SELECT count(*) FROM perfmodel.what_if_change(:g, 'T4', NULL, predictor => 'roof')) AS no_batch, (SELECT count(*) FROM perfmodel.what_if_change(:g, 'T4', 16, dtype => NULL, predictor => 'roof')) AS no_dtype;
SELECT a, helper.error_of(format('SELECT perfmodel.what_if_change(%s, ''T4'', %s, predictor => ''roof'')', :g, a))
FROM unnest(ARRAY['0', '-1', '2147483647', '16, dtype => ''fp12''', '16, layout => ''nchv''', '16, optimizer => ''''', '16777216, ''{twice the batch}''']) AS a;
SELECT change, samples_per_s > 0 AS samples FROM perfmodel.what_if_change(:g, 'T4', 16777216, predictor => 'roof') WHERE change IN ('none', 'half the batch', 'twice the batch');
-- nor half of one sample
SELECT change FROM perfmodel.what_if_change(:g, 'T4', 1, '{half the batch, twice the batch}', predictor => 'roof');
-- half of three samples is one
SELECT helper.close(samples_per_s, 1000 / step_ms) AS one FROM perfmodel.what_if_change(:g, 'T4', 3, '{half the batch}', predictor => 'roof') WHERE change <> 'none';
-- what is computed: as much as the roofline says; only what the network has, unless it is asked for by name; other figures of the device
SELECT c.change, c.factor > 0 AND c.factor < 1 AS faster, c.saved_mb >= 0 AS memory, c.basis
FROM perfmodel.what_if_change(:g, 'T4', 512, '{flash attention,fused optimizer,twice the bandwidth}', predictor => 'roof') AS c WHERE change <> 'none';
-- what changes nothing says so
SELECT c.change, c.factor = 1 AS nothing, c.note FROM perfmodel.what_if_change(:g, 'T4', 512, '{flash attention,zero 1,gradients in 16 bits,fused optimizer}', predictor => 'roof') AS c WHERE change <> 'none';
SELECT d.change, helper.close(c.step_ms, d.step_ms) AS same, c.saved_mb = 0 AS memory
FROM perfmodel.what_if_change(:g, 'T4', 512, '{twice the bandwidth,other figures}', predictor => 'roof', figures => (SELECT jsonb_build_object('mem_bw_gbs', 2 * mem_bw_gbs, 'tdp_w', NULL) FROM perfmodel.gpu WHERE name = 'T4')) AS d,
     LATERAL (SELECT * FROM perfmodel.what_if_change(:g, 'T4', 512, '{twice the bandwidth}', predictor => 'roof') WHERE change <> 'none') AS c WHERE d.change <> 'none';
SELECT change, fits FROM perfmodel.what_if_change(:g, 'T4', 512, '{other figures}', predictor => 'roof', figures => '{"memory_gb": 0.1}');
SELECT applies, step_ms > 0 AS step, saved_mb > 0 AS memory FROM perfmodel.computed_change(:g, 'T4', 512, 'fused optimizer', optimizer => 'adamw', predictor => 'roof');
SELECT perfmodel.computed_change(:g, 'T4', 512, NULL, predictor => 'roof');
SELECT f, helper.error_of(format('SELECT perfmodel.what_if_change(%s, ''T4'', 16, ''{other figures}'', predictor => ''roof'', figures => %L)', :g, f))
FROM unnest('{[],"{\"bandwidth\": 1}","{\"mem_bw_gbs\": \"fast\"}","{\"mem_bw_gbs\": -1}","{\"mem_bw_gbs\": {}}"}'::text[]) AS f;
SELECT helper.error_of(format('SELECT perfmodel.what_if_change(%s, ''T4'', 16, ''{other figures}'', predictor => ''roof'')', :g));
SELECT b, split_part(helper.error_of(format('SELECT perfmodel.what_if_change(%s, ''T4'', 16, ''{other figures}'', predictor => ''roof'', figures => ''{"mem_bw_gbs": %s}'')', :g, b)), E'\n', 1) AS error_of FROM unnest('{10000000,10000001}'::int[]) AS b;
SELECT helper.error_of(format('SELECT perfmodel.computed_change(%s, ''T4'', 16, ''amp'', predictor => ''roof'')', :g));
-- an attention that is written out, with a mask
SELECT perfmodel.load_graph(jsonb_build_object('format', 'perfmodel-graph/1', 'name', 'written out', 'nodes', '[{"id": 0, "op": "Input", "inputs": [], "shape": [1, 512, 64], "batch_dim": 0},
 {"id": 1, "op": "MatMul", "inputs": [0], "shape": [1, 512, 64], "batch_dim": 0, "weights": [[64, 64]]}, {"id": 2, "op": "Transpose", "inputs": [1], "shape": [1, 64, 512], "batch_dim": 0, "attrs": {"perm": [0, 2, 1]}, "view": true},
 {"id": 3, "op": "MatMul", "inputs": [1, 2], "shape": [1, 512, 512], "batch_dim": 0}, {"id": 4, "op": "aten::masked_fill", "inputs": [3], "shape": [1, 512, 512], "batch_dim": 0, "consts": [[512, 512]]},
 {"id": 5, "op": "Softmax", "inputs": [4], "shape": [1, 512, 512], "batch_dim": 0, "attrs": {"axis": 2}}, {"id": 6, "op": "MatMul", "inputs": [5, 1], "shape": [1, 512, 64], "batch_dim": 0}]'::jsonb)) AS w \gset
SELECT change, basis, factor < 1 AS faster, saved_mb > 0 AS memory FROM perfmodel.what_if_change(:w, 'T4', 64, predictor => 'roof', dtype => 'amp') WHERE change ~ 'flash';
DELETE FROM perfmodel.graph WHERE graph_id = :w;
-- on several devices: as the functions say that are asked for it, with changes of how the work is shared; what is so already is no change
SELECT c.change, helper.close(c.step_ms, p.step_ms) AS step, helper.close(c.factor, p.step_ms / o.step_ms) AS factor, helper.close(c.samples_per_s, p.samples_per_s) AS samples, c.peak_mb = m.peak_mb AS memory, c.basis
FROM perfmodel.predict(:g, 'T4', 64, predictor => 'roof', world_size => 8) AS o,
     (VALUES ('none', '{}'), ('checkpointing', '{"recompute": true}'), ('gradients in 16 bits', '{"compression": "fp16"}'), ('zero 1', '{"zero": 1}'), ('zero 3', '{"zero": 3}')) AS v (change, parallel),
     LATERAL perfmodel.predict(:g, 'T4', 64, predictor => 'roof', world_size => 8, parallel => v.parallel::jsonb) AS p,
     LATERAL perfmodel.predict_memory(:g, 'T4', 64, world_size => 8, parallel => v.parallel::jsonb) AS m,
     LATERAL (SELECT * FROM perfmodel.what_if_change(:g, 'T4', 64, predictor => 'roof', world_size => 8) WHERE change = v.change) AS c;
SELECT array_agg(change) FROM perfmodel.what_if_change(:g, 'T4', 64, predictor => 'roof', world_size => 8, parallel => '{"zero": "fsdp", "compression": "fp16", "recompute": true}');
SELECT (SELECT count(*) FROM perfmodel.what_if_change(:g, 'T4', 64, predictor => 'roof') WHERE change ~ 'zero|gradients') AS alone;
-- what is computed: no change wins more than on one device
SELECT c.change, c.factor < 1 AS faster, c.factor > one.factor - 1e-9 AS no_more_than_alone, c.saved_mb >= 0 AS memory, c.samples_per_s / one.samples_per_s BETWEEN 1 AND 8 AS samples
FROM perfmodel.what_if_change(:g, 'T4', 512, '{fused optimizer,twice the bandwidth}', optimizer => 'adamw', predictor => 'roof', world_size => 8) AS c
     JOIN perfmodel.what_if_change(:g, 'T4', 512, '{fused optimizer,twice the bandwidth}', optimizer => 'adamw', predictor => 'roof') AS one USING (change) WHERE c.change <> 'none';
SELECT helper.close(a.step_ms, b.step_ms) AS nothing_touched FROM perfmodel.computed_change(:g, 'T4', 8, 'flash attention', predictor => 'roof', world_size => 8, parallel => '{"zero": 1}') AS a,
    perfmodel.predict(:g, 'T4', 8, predictor => 'roof', world_size => 8, parallel => '{"zero": 1}') AS b;
SELECT a, helper.error_of(format('SELECT perfmodel.what_if_change(%s, ''T4'', 16, predictor => ''roof'', %s)', :g, a))
FROM unnest(ARRAY['world_size => 0', 'world_size => 8, cluster => ''nowhere''', 'world_size => 8, parallel => ''[]''', 'world_size => 8, parallel => ''{"tp": 2}''']) AS a;
SELECT helper.error_of(format('SELECT perfmodel.computed_change(%s, ''T4'', 16, ''fused optimizer'', predictor => ''roof'', world_size => 8, parallel => ''{"tp": 2}'')', :g)) ~ 'tp, pp and cp divide the layers' AS no_layers;
SELECT count(*) FROM perfmodel.what_if_change(:g, 'T4', 16, predictor => 'roof', world_size => NULL);
-- weights and states that are divided take less memory
SELECT change, saved_mb > 0 AS memory FROM perfmodel.what_if_change(:g, 'T4', 64, '{zero 1,zero 3}', predictor => 'roof', world_size => 4, optimizer => 'adam') WHERE change <> 'none';
-- of frozen weights there is no update to fuse: those of half, of all
SELECT count(perfmodel.load_graph(helper.cnn('frozen@64', 64, 4) || jsonb_build_object('nodes', f.nodes), f.name)) FROM (
    SELECT name, jsonb_agg(CASE WHEN n ? 'weights' AND (name = 'all frozen' OR nr % 2 = 0) THEN n || jsonb_build_object('attrs', coalesce(n->'attrs', '{}') || '{"frozen": 1}') ELSE n END ORDER BY nr) AS nodes
    FROM unnest('{half frozen,all frozen}'::text[]) AS name, jsonb_array_elements(helper.cnn('frozen@64', 64, 4)->'nodes') WITH ORDINALITY AS e(n, nr) GROUP BY name) AS f;
SELECT g.name, c.applies, c.step_ms = p.step_ms AS as_before, c.step_ms > 0.5 * p.step_ms AS most, c.saved_mb
FROM unnest('{half frozen,all frozen}'::text[]) AS g(name), perfmodel.computed_change(perfmodel.graph_id(g.name), 'T4', 1, 'fused optimizer', optimizer => 'adamw', predictor => 'roof') AS c,
    perfmodel.predict(perfmodel.graph_id(g.name), 'T4', 1, optimizer => 'adamw', predictor => 'roof') AS p ORDER BY g.name;
SELECT c.factor, c.note FROM perfmodel.what_if_change(perfmodel.graph_id('all frozen'), 'T4', 1, '{fused optimizer}', optimizer => 'adamw', predictor => 'roof') AS c WHERE change <> 'none';
DELETE FROM perfmodel.graph WHERE name IN ('half frozen', 'all frozen');
-- two of them need no more than the device has, or share it
SELECT slowdown_a >= 1 AND slowdown_a <= 2 AS slowdown, slowdown_a = slowdown_b AS same, helper.close(step_ms_a, slowdown_a * perfmodel.predict_train_time(:g, 'T4', 64, predictor => 'roof')) AS step,
       busy_a BETWEEN 0 AND 1 AND busy_b BETWEEN 0 AND 1 AS busy, fits, peak_mb > (perfmodel.predict_memory(:g, 'T4', 64)).peak_mb AS memory
FROM perfmodel.colocate(:g, 64, :h, 8, 'tesla_t4', predictor => 'roof');
-- a device is busy as long as operators run on it, of launches and the framework three tenths of the time; and what is above all of it slows down both
SELECT bool_and(helper.close(c.busy_a, least(x.busy, 1))) AS busy, bool_and(helper.close(c.slowdown_a, greatest(c.busy_a + c.busy_b, 1))) AS slowdown,
       count(*) FILTER (WHERE c.busy_a + c.busy_b BETWEEN 1.01 AND 1.2) > 0 AS a_little, count(*) FILTER (WHERE c.busy_a BETWEEN 0.31 AND 0.99) > 0 AS partly
FROM unnest('{1,4,16,64,256,1024,4096}'::int[]) AS a, unnest('{1,4,16,64,256,1024}'::int[]) AS b, perfmodel.colocate(:g, a, :h, b, 'T4', predictor => 'roof') AS c,
     LATERAL (SELECT sum(CASE WHEN e.bound = 'launch' OR e.part = 'framework' THEN 0.3 * e.step_ms ELSE e.step_ms END) / sum(e.step_ms) AS busy
              FROM perfmodel.explain_train_time(:g, 'T4', a, predictor => 'roof') AS e) AS x;
-- of what is not known, nothing is known
SELECT num_nonnulls(a.slowdown_a, a.slowdown_b, a.step_ms_a, a.step_ms_b, a.busy_a, a.peak_mb, a.fits, a.p_fits, a.in_domain) AS without_a, a.busy_b > 0 AS b, num_nonnulls(VARIADIC ARRAY[c.slowdown_a, c.slowdown_b, c.busy_a, c.busy_b, c.peak_mb, c.p_fits]) AS without_gpu
FROM perfmodel.colocate(NULL, 64, :h, 8, 'T4', predictor => 'roof') AS a, perfmodel.colocate(:g, 64, :h, 8, NULL, predictor => 'roof') AS c;
-- what the card keeps for itself is not theirs: together 95 to 99 % of 16 GB are too much
SELECT c.fits, c.peak_mb / (16 * 1024) BETWEEN 0.95 AND 0.99 AS nearly FROM generate_series(100, 20000, 10) AS b, LATERAL perfmodel.predict_memory(:g, 'T4', b) AS m,
    LATERAL perfmodel.colocate(:g, b, :g, b, 'T4', predictor => 'roof') AS c WHERE 2 * m.peak_mb / (16 * 1024) > 0.95 ORDER BY b LIMIT 1;
-- and what would fit if nothing were off does not: fits means what it means elsewhere, a probability of 0.95
SELECT c.peak_mb <= perfmodel.usable_memory_mb('T4') AS by_the_median, c.fits, c.p_fits BETWEEN 0.3 AND 0.95 AS p, c.p_fits = perfmodel.p_fits_together(:g, b, :g, b, 'T4') AS same
FROM generate_series(20000, 10, -10) AS b, LATERAL perfmodel.predict_memory(:g, 'T4', b) AS m, LATERAL perfmodel.colocate(:g, b, :g, b, 'T4', predictor => 'roof') AS c
WHERE 2 * m.peak_mb <= perfmodel.usable_memory_mb('T4') ORDER BY b DESC LIMIT 1;
SELECT bool_and(fits = (p_fits >= 0.95)) AS fits_by_p, count(DISTINCT fits) AS both, bool_and(p_fits <= m) AS below_each FROM generate_series(100, 20000, 500) AS b,
    LATERAL (SELECT (perfmodel.predict_memory(:g, 'T4', b)).p_fits) AS one(m), perfmodel.colocate(:g, b, :g, 8, 'T4', predictor => 'roof');
SELECT perfmodel.p_fits_together(:g, 8, :h, 8, 'T4', 'amp', 'fp32') > 0.95 AS fits, perfmodel.p_fits_together(:g, 8, NULL, 8, 'T4') IS NULL AS null_is_null, helper.error_of(format('SELECT perfmodel.p_fits_together(%s, 8, -1, 8, ''T4'')', :g)),
    helper.error_of(format('SELECT perfmodel.p_fits_together(%s, 0, %1$s, 8, ''T4'')', :g));
-- what is said of either step is said here
SELECT in_domain, note FROM perfmodel.colocate(:g, 8, :h, 1, 'T4', predictor => 'roof');
