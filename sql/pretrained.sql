-- The predictor that comes trained: there with its extension, gone with it, an ordinary predictor between.
\pset format unaligned
SET client_min_messages = warning;
SELECT count(*) > 0 AS own_ones, name AS active_before FROM perfmodel.predictor WHERE active GROUP BY name;
CREATE EXTENSION perfmodel_pretrained;
SELECT name, kind, predictor_id < 0 AS not_trained_here, active, n_profiles > 1000 AS many_rows, valid_mape BETWEEN 0.001 AND 0.2 AS error_known,
       gpus @> '{RTX 3090,AMD EPYC Zen4 (1 thread)}' AS devices, profiles FROM perfmodel.predictor WHERE name = 'pretrained';
SELECT obj_description(c.oid, 'pg_class') IS NOT NULL AS described FROM pg_class c WHERE relname IN ('predictor_pretrained', 'predictor_weights_pretrained');

-- it answers when named, and by itself once it is the active one
SELECT perfmodel.graph_id('anet4@16') AS g \gset
SELECT step_ms > 0 AS time, step_ms_low < step_ms AND step_ms < step_ms_high AS interval, predictor_id
FROM perfmodel.predict(:g, 'RTX 3090', 32, 'amp', predictor => 'pretrained');
SELECT name = 'pretrained' AS it_is FROM perfmodel.predictor WHERE predictor_id = (perfmodel.predict(:g, 'RTX 3090', 32, 'amp')).predictor_id;
SELECT perfmodel.activate_predictor('pretrained') AS predictor_id;
SELECT count(*) AS active FROM perfmodel.predictor WHERE active;
SELECT predictor_id FROM perfmodel.predict(:g, 'RTX 3090', 32, 'amp');
-- what it was never shown is not like a measurement: a device, a number format of a device, a batch
SELECT in_domain, split_part(note, ';', 1) AS note FROM (VALUES ('T4', 32, 'amp'), ('RTX 3090', 32, 'bf16'), ('RTX 3090', 1000000, 'amp')) AS q(gpu, batch, dtype),
     LATERAL perfmodel.predict(:g, gpu, batch, dtype);
-- immutable like others
SELECT helper.error_of($$UPDATE perfmodel.predictor SET kind = 'linear' WHERE name = 'pretrained'$$);
SELECT helper.error_of($$UPDATE perfmodel.predictor_weights SET part = 7 WHERE predictor_id = -1$$);
SELECT helper.error_of($$SELECT perfmodel.train('pretrained', 'linear')$$);

-- it goes with the extension only
SELECT perfmodel.drop_predictor('pretrained');
SELECT helper.error_of(q) FROM unnest(ARRAY[$$DELETE FROM perfmodel.predictor WHERE predictor_id < 0$$,
    $$DELETE FROM perfmodel.predictor_weights WHERE predictor_id < 0$$, $$TRUNCATE perfmodel.predictor CASCADE$$]) AS q;
-- a name is used once and one is active, whatever the table
SELECT helper.error_of($$UPDATE perfmodel.predictor SET name = 'pretrained' WHERE name = 'line'$$);
SELECT helper.error_of($$UPDATE perfmodel.predictor SET name = 'line' WHERE name = 'pretrained'$$);
-- it keeps its name: restoring a dump would fail where another predictor has taken that
SELECT helper.error_of($$UPDATE perfmodel.predictor SET name = 'older' WHERE name = 'pretrained'$$);
SELECT helper.error_of($$UPDATE perfmodel.predictor SET active = true WHERE name = 'line'$$);
SELECT name, active FROM perfmodel.predictor WHERE active OR predictor_id < 0;
-- one that is inserted as the active one, as by pg_restore, takes over
BEGIN;
CREATE TEMPORARY TABLE kept AS SELECT * FROM ONLY perfmodel.predictor WHERE name = 'line';
DELETE FROM perfmodel.predictor WHERE name = 'line';
UPDATE kept SET active = true;
INSERT INTO perfmodel.predictor OVERRIDING SYSTEM VALUE SELECT * FROM kept;
SELECT name FROM perfmodel.predictor WHERE active;
ROLLBACK;
-- but not from one of another quantity
BEGIN;
SELECT perfmodel.activate_predictor('pretrained') AS predictor_id;
CREATE TEMPORARY TABLE kept AS SELECT * FROM ONLY perfmodel.predictor WHERE name = 'line';
DELETE FROM perfmodel.predictor WHERE name = 'line';
UPDATE kept SET active = true, quantity = 'energy_j';
INSERT INTO perfmodel.predictor OVERRIDING SYSTEM VALUE SELECT * FROM kept;
SELECT name, quantity FROM perfmodel.predictor WHERE active ORDER BY name;
-- its number is not to be had: weights of that number would be joined with its own
SELECT split_part(helper.error_of($$INSERT INTO perfmodel.predictor_weights VALUES (-1, 1000, '')$$), E'\n', 1) AS error;
UPDATE kept SET predictor_id = -1, name = 'other', active = false;
SELECT split_part(helper.error_of('INSERT INTO perfmodel.predictor OVERRIDING SYSTEM VALUE SELECT * FROM kept'), E'\n', 1) AS error;
ROLLBACK;

-- the update of a table takes its traffic: an optimizer hardly changes what is left for the passes of the table
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('wide', 1, 4096, 32, 4096, 128256, 'llama', 8, 14336)) > 0 AS loaded;
SELECT gpu, max(passes) FILTER (WHERE optimizer = 'adamw') < 3 * max(passes) FILTER (WHERE optimizer = 'none') AS hardly_longer
FROM unnest('{A100-SXM4-80GB,H100-SXM5-80GB}'::text[]) AS gpu, unnest('{none,adamw}'::text[]) AS optimizer,
     LATERAL (SELECT sum(forward_ms + backward_ms) AS passes FROM perfmodel.explain_train_time(perfmodel.graph_id('wide'), gpu, 1, 'amp', predictor => 'pretrained', optimizer => optimizer)
              WHERE op = 'Gather') AS t
GROUP BY 1 ORDER BY 1;
ROLLBACK;

-- a card that was measured with one release on some networks and with another on others: each network is answered for the release of its like
BEGIN;
SELECT perfmodel.activate_predictor('pretrained') AS predictor_id;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('mpt-1b', 24, 2048, 16, 2048, 50368)) AS mpt \gset
SELECT network, framework = (SELECT s.framework FROM perfmodel.gpu_support AS s WHERE gpu = 'H100-SXM5-80GB') AS usual, n.step_ms = perfmodel.predict_train_time(graph_id, 'H100', 8, 'amp') AS answered_for_it
FROM (SELECT * FROM (VALUES ('of images', :g), ('of language', :mpt)) AS g (network, graph_id), unnest('{pytorch,pytorch 2.11.0 cu130}'::text[]) AS framework) AS g,
     LATERAL perfmodel.predict(graph_id, 'H100', 8, 'amp', framework => framework) AS n ORDER BY 1, 2;
-- and note says so, where it is not the usual one
SELECT network, (regexp_match(note, 'answered for framework[^;]*'))[1] AS note FROM (VALUES ('of images', :g), ('of language', :mpt)) AS g (network, graph_id),
     LATERAL perfmodel.predict(graph_id, 'H100-SXM5-80GB', 8, 'amp') ORDER BY 1;
ROLLBACK;

-- a network without images runs alike in both layouts
BEGIN;
SELECT perfmodel.load_graph('{"format": "perfmodel-graph/1", "name": "no images", "nodes": [{"id": 0, "op": "Input", "inputs": [], "shape": [1, 256], "batch_dim": 0},
  {"id": 1, "op": "Gemm", "inputs": [0], "shape": [1, 1024], "batch_dim": 0, "weights": [[1024, 256], [1024]], "attrs": {"transB": 1}},
  {"id": 2, "op": "Relu", "inputs": [1], "shape": [1, 1024], "batch_dim": 0}]}') AS m \gset
SELECT graph_id = :g AS images, perfmodel.predict_train_time(graph_id, 'RTX 3090', 64, 'amp', 'nhwc') = perfmodel.predict_train_time(graph_id, 'RTX 3090', 64, 'amp', 'nchw') AS same
FROM unnest(ARRAY[:g, :m]) AS graph_id;
ROLLBACK;

-- a card without units for TF32 runs fp32
SELECT gpu, perfmodel.predict_train_time(:g, gpu, 32, 'tf32') = perfmodel.predict_train_time(:g, gpu, 32, 'fp32') AS same
FROM unnest('{T4,A100-SXM4-80GB}'::text[]) AS gpu;

-- an optimizer makes a step longer, however GPUs divide its work, and one with more states by more
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('many weights', 8, 4096, 32, 512, 32000, 'llama')) AS t \gset
SELECT gpu, bool_and(n.ms <= s.ms AND s.ms <= a.ms) AS in_order, bool_and(a.ms > n.ms) AS longer
FROM unnest('{H100-SXM5-80GB,A100-SXM4-80GB,T4}'::text[]) AS gpu, unnest(ARRAY['{}', '{"zero": 1}', '{"zero": 3}', '{"tp": 8}', '{"pp": 4}']) AS how,
     LATERAL (SELECT perfmodel.predict_train_time(:t, gpu, 2, 'amp', optimizer => 'none', world_size => 32, parallel => how::jsonb) AS ms) AS n,
     LATERAL (SELECT perfmodel.predict_train_time(:t, gpu, 2, 'amp', optimizer => 'sgd', world_size => 32, parallel => how::jsonb) AS ms) AS s,
     LATERAL (SELECT perfmodel.predict_train_time(:t, gpu, 2, 'amp', optimizer => 'adamw', world_size => 32, parallel => how::jsonb) AS ms) AS a GROUP BY gpu ORDER BY 1;
ROLLBACK;

-- what the processor launches is not divided: a small batch takes as long on GPUs that share its layers or sequences, a large one much less
BEGIN;
SELECT perfmodel.load_graph(perfmodel.decoder_graph('narrow layers', 4, 256, 8, 64, 1000)) AS t \gset
SELECT member, min(p.step_ms / s.step_ms) FILTER (WHERE batch = 1) > 0.9 AS launched, max(p.step_ms / s.step_ms) FILTER (WHERE batch = 4096) < 0.75 AS divided
FROM unnest('{tp,cp}'::text[]) AS member, unnest('{4,8}'::int[]) AS n, unnest('{1,4096}'::int[]) AS batch, perfmodel.predict(:t, 'A100-SXM4-80GB', batch, 'amp') AS s,
     LATERAL perfmodel.predict(:t, 'A100-SXM4-80GB', batch, 'amp', world_size => 8, parallel => jsonb_build_object(member, n)) AS p GROUP BY member ORDER BY 1;
-- changes keep that: a fused update does not change the passes, and saves no more than on one GPU
SELECT member, bool_and(c.before - c.after BETWEEN 0 AND 1.000001 * (o.before - o.after)) AS saves
FROM unnest('{tp,cp}'::text[]) AS member, unnest('{4,8}'::int[]) AS n, unnest('{1,64,4096}'::int[]) AS batch,
     LATERAL (SELECT max(step_ms) FILTER (WHERE change = 'none') AS before, max(step_ms) FILTER (WHERE change <> 'none') AS after
              FROM perfmodel.what_if_change(:t, 'A100-SXM4-80GB', batch, '{fused optimizer}', 'amp')) AS o,
     LATERAL (SELECT max(step_ms) FILTER (WHERE change = 'none') AS before, max(step_ms) FILTER (WHERE change <> 'none') AS after
              FROM perfmodel.what_if_change(:t, 'A100-SXM4-80GB', batch, '{fused optimizer}', 'amp', world_size => 8, parallel => jsonb_build_object(member, n))) AS c GROUP BY member ORDER BY 1;
ROLLBACK;

-- one that is made inactive by hand no longer answers, in this session neither
BEGIN;
SELECT perfmodel.activate_predictor('pretrained') < 0 AS pretrained, perfmodel.predict_train_time(:g, 'RTX 3090', 32) > 0 AS answers;
UPDATE perfmodel.predictor_pretrained SET active = false;
SELECT split_part(helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''RTX 3090'', 32)', :g)), E'\n', 1) AS error;
ROLLBACK;

-- gone with the extension, also for a session that has used it; the tables of perfmodel stay
DROP EXTENSION perfmodel_pretrained;
SELECT split_part(helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''RTX 3090'', 32)', :g)), E'\n', 1) AS error;
SELECT split_part(helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''RTX 3090'', 32, predictor => ''pretrained'')', :g)), E'\n', 1) AS error;
SELECT count(*) FROM perfmodel.predictor WHERE predictor_id < 0;
-- a name that is taken
BEGIN;
UPDATE perfmodel.predictor SET name = 'pretrained' WHERE name = 'line';
SELECT helper.error_of('CREATE EXTENSION perfmodel_pretrained');
ROLLBACK;
SELECT perfmodel.activate_predictor('line') > 0 AS as_before;
