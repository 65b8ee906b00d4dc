-- Loading graphs.
SELECT perfmodel.load_graph(helper.cnn('tiny@8', 4, 1, 8)) AS id \gset
SELECT name, model, family, source, nodes, params, unknown_ops, length(structure) FROM perfmodel.graph WHERE graph_id = :id;
SELECT node_id, op, class, inputs, shape, batch_dim, weights FROM perfmodel.graph_node WHERE graph_id = :id ORDER BY 1;
SELECT attrs FROM perfmodel.graph_node WHERE graph_id = :id AND attrs IS NOT NULL;
SELECT perfmodel.graph_id('tiny@8') = :id AS found;

-- work, by hand: a 3x3 convolution from 3 to 4 channels on 8x8, a matrix product of 4 by 10
SELECT op, flops_forward = 2 * 64 * 4 * 27 AS flops_forward, bytes_forward = 4 * (3 * 64 + 4 * 27 + 4 * 64) AS bytes_forward,
       params FROM perfmodel.graph_node WHERE graph_id = :id AND op = 'Conv';
SELECT op, abs(flops_forward - 2 * 4 * 10) <= 10 AS flops_forward, flops_backward >= flops_forward AS backward, params
FROM perfmodel.graph_node WHERE graph_id = :id AND op = 'Gemm';
-- a view does no work, and a sum over rows says what the graph says
SELECT op, flops_forward, bytes_forward FROM perfmodel.graph_node WHERE graph_id = :id AND op = 'Flatten';
SELECT sum(n.params) = g.params AS params FROM perfmodel.graph g JOIN perfmodel.graph_node n USING (graph_id)
WHERE graph_id = :id GROUP BY g.params;

-- the same again is the same; another content is not
SELECT perfmodel.load_graph(helper.cnn('tiny@8', 4, 1, 8)) = :id AS same_id;
SELECT helper.error_of($$SELECT perfmodel.load_graph(helper.cnn('tiny@8', 8, 1, 8))$$);
SELECT count(*) FROM perfmodel.graph WHERE name = 'tiny@8';

-- under another name it is another graph with the same structure
SELECT perfmodel.load_graph(helper.cnn('tiny@8', 4, 1, 8), 'other') AS other \gset
SELECT a.structure = b.structure AS same_structure, a.graph_id <> b.graph_id AS other_id, b.model
FROM perfmodel.graph a, perfmodel.graph b WHERE a.graph_id = :id AND b.graph_id = :other;
-- many of them in one statement are reported once
BEGIN;
SELECT count(perfmodel.load_graph(helper.cnn('tiny@8', 4, 1, 8), 'twin' || n)) AS twins FROM generate_series(1, 5) AS n;
ROLLBACK;
SELECT perfmodel.load_graph(helper.cnn('wide@8', 5, 1, 8)) AS wide \gset
SELECT a.structure <> b.structure AS other_structure FROM perfmodel.graph a, perfmodel.graph b
WHERE a.graph_id = :id AND b.graph_id = :wide;

-- keys that are not known are kept and ignored
SELECT perfmodel.load_graph(helper.cnn('commented', 4, 1, 8) || '{"comment":"kept"}') AS commented \gset
SELECT doc->>'comment' AS comment FROM perfmodel.graph WHERE graph_id = :commented;

-- an operator that is not known is a memory move, counted and not free
SELECT perfmodel.load_graph('{"format":"perfmodel-graph/1","name":"odd","nodes":[
  {"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0},
  {"id":1,"op":"aten::frobnicate","inputs":[0],"shape":[1,8],"batch_dim":0}]}') AS odd \gset
SELECT model, source, unknown_ops FROM perfmodel.graph WHERE graph_id = :odd;
SELECT op, class, bytes_forward FROM perfmodel.graph_node WHERE graph_id = :odd AND node_id = 1;

-- NULLs
SELECT perfmodel.load_graph(NULL), perfmodel.load_graph(NULL, 'x'), perfmodel.graph_id(NULL);

-- what is loaded does not change, but for its name and source
SELECT helper.error_of(format('UPDATE perfmodel.graph SET doc = %L WHERE graph_id = %s', '{}', :id));
SELECT helper.error_of(format('UPDATE perfmodel.graph SET structure = %L WHERE graph_id = %s', 'x', :id));
-- a row that load_graph has not written has a structure like the others
SELECT s, split_part(helper.error_of(format('INSERT INTO perfmodel.graph (graph_id, name, model, family, source, nodes, params, unknown_ops, structure, doc) OVERRIDING SYSTEM VALUE VALUES (-1, ''bad'', ''bad'', ''bad'', ''x'', 1, 1, 0, %L, ''{}'')', s)), E'\n', 1) AS error_of
FROM unnest('{x,"",0,0123456789ABCDEF,0123456789abcdef0}'::text[]) AS s;
UPDATE perfmodel.graph SET name = 'another' WHERE name = 'other';
SELECT perfmodel.graph_id('another') = :other AS renamed;
SELECT helper.error_of($$SELECT perfmodel.graph_id('tiny8')$$);
-- of a language model the sizes are enough; a short name counts as a whole word
SELECT n, helper.error_of(format('SELECT perfmodel.graph_id(%L)', n)) ~ 'decoder_graph' AS from_sizes
FROM unnest('{gpt2,meta-llama/Llama-2-7b-hf,facebook/opt-1.3b,adopted,optimus,Qwen2,resnet,""}'::text[]) AS n;
-- no graph at all: where to get some
BEGIN;
DELETE FROM perfmodel.graph;
SELECT helper.error_of($$SELECT perfmodel.graph_id('resnet50@224')$$);
ROLLBACK;
-- suggested are names that begin alike, names within it, and names whose first word is the same
BEGIN;
SELECT count(perfmodel.load_graph(helper.cnn(n, 4, 1, 8))) AS loaded FROM unnest('{resnet50@224,wide_resnet50@224,gpt_small@s32,vit_b_16@224}'::text[]) AS n;
SELECT n AS asked, (regexp_match(helper.error_of(format('SELECT perfmodel.graph_id(%L)', n)), 'Did you mean ([^?]*)'))[1] AS suggested
FROM unnest('{ResNet50,torchvision.models.resnet50,gpt2,GPT-2 XL,ViT-B/16,gptq,""}'::text[]) AS n;
ROLLBACK;

-- deleting takes the nodes along; ids are not used again
DELETE FROM perfmodel.graph WHERE graph_id = :other;
SELECT count(*) FROM perfmodel.graph_node WHERE graph_id = :other;
SELECT perfmodel.load_graph(helper.cnn('another', 4, 1, 8)) > :other AS new_id;

-- a load that fails, or is rolled back, leaves nothing
BEGIN;
SELECT perfmodel.load_graph(helper.cnn('gone', 4, 2, 8)) > 0 AS loaded;
ROLLBACK;
SELECT count(*) FROM perfmodel.graph WHERE name = 'gone';
SELECT count(*) FROM perfmodel.graph_node n WHERE NOT EXISTS (SELECT FROM perfmodel.graph g WHERE g.graph_id = n.graph_id);

-- more rows than one batch of the writer, all of them there and in the index
SELECT perfmodel.load_graph(helper.cnn('deep', 4, 400, 8)) AS deep \gset
SELECT count(*) = 1204 AS all_rows, min(node_id), max(node_id) FROM perfmodel.graph_node WHERE graph_id = :deep;
SET enable_seqscan = off;
SELECT count(*) AS by_index FROM generate_series(0, 1203) AS i
JOIN LATERAL (SELECT FROM perfmodel.graph_node WHERE graph_id = :deep AND node_id = i) n ON true;
RESET enable_seqscan;
SELECT perfmodel.load_graph(helper.cnn('deep', 4, 400, 8)) = :deep AS same_id;
DELETE FROM perfmodel.graph WHERE name IN ('deep', 'odd', 'commented', 'another', 'wide@8');

-- kin by architecture are of one family, as the document says or as the name of the model does; a given name stands in for a missing model
SELECT perfmodel.load_graph(d) > 0 AS loaded FROM unnest(ARRAY[helper.cnn('resnetv2_50@8', 4, 2, 8), helper.cnn('seresnext26@8', 4, 2, 8),
    helper.cnn('ours@8', 4, 2, 8) || '{"family":"resnet"}']) AS d;
SELECT perfmodel.load_graph(helper.cnn('nameless@8', 4, 2, 8) - 'model', 'wide_resnet50_2@8') > 0 AS loaded;
SELECT name, family FROM perfmodel.graph WHERE name ~ 'resne|ours' ORDER BY name;
DELETE FROM perfmodel.graph WHERE name ~ 'resne|ours';

-- the path of the module that runs an operator is kept; it is no part of the structure, so the same network without it is the same graph
SELECT perfmodel.load_graph(jsonb_set(helper.cnn('named@8', 4, 1, 8), '{nodes,1,module}', '"layer1.0.conv1"')) AS named \gset
SELECT node_id, op, module FROM perfmodel.graph_node WHERE graph_id = :named AND module IS NOT NULL;
SELECT perfmodel.load_graph(helper.cnn('named@8', 4, 1, 8) || '{"source":"another exporter"}') = :named AS same_id;
SELECT helper.error_of($$SELECT perfmodel.load_graph(helper.cnn('named@8', 5, 1, 8))$$);
SELECT helper.error_of($$SELECT perfmodel.load_graph(jsonb_set(helper.cnn('x', 4, 1, 8), '{nodes,1,module}', to_jsonb(repeat('m', 513))))$$);
-- a long name is not echoed as a whole
SELECT length(helper.error_of($$SELECT perfmodel.graph_id(repeat('x', 1000000))$$)) < 500 AS short;
DELETE FROM perfmodel.graph WHERE graph_id = :named;
SELECT perfmodel.family_of('wide_resnet50_2'), perfmodel.family_of('somenetv3_large'), perfmodel.family_of(NULL), perfmodel.family_of('') = '' AS none;

-- language models from their sizes: the parameters are those that their authors state
BEGIN;
SELECT count(perfmodel.load_graph(doc)) AS loaded
FROM (VALUES (perfmodel.decoder_graph('gpt2@s1024', 12, 768, 12, 1024, 50257)),
             (perfmodel.decoder_graph('llama-2-7b@s4096', 32, 4096, 32, 4096, 32000, 'llama')),
             (perfmodel.decoder_graph('llama-3-70b@s8192', 80, 8192, 64, 8192, 128256, 'llama', kv_heads => 8, feed_forward => 28672)),
             (perfmodel.decoder_graph('mixtral-8x7b@s4096', 32, 4096, 32, 4096, 32000, 'llama', kv_heads => 8, feed_forward => 14336, experts => 8)),
             (perfmodel.decoder_graph('untied', 1, 64, 2, 16, 100, tied => false)),
             (perfmodel.decoder_graph('plain', 2, 64, 4, 16, 100, 'llama', kv_heads => 2, attention => 'plain')),
             (replace(perfmodel.decoder_graph('seen whole', 1, 64, 2, 16, 100, tied => false)::text, '"is_causal": 1', '"is_causal": 0')::jsonb)) AS v(doc);
SELECT name, nodes, params, unknown_ops FROM perfmodel.graph WHERE source = 'perfmodel.decoder_graph' ORDER BY graph_id;
SELECT op, inputs, shape, weights, module FROM perfmodel.graph_node WHERE graph_id = perfmodel.graph_id('untied') ORDER BY node_id;
SELECT string_agg(op, ' ' ORDER BY node_id) AS first_layer FROM perfmodel.graph_node WHERE graph_id = perfmodel.graph_id('llama-2-7b@s4096') AND node_id < 34;
-- plain attention: the same graph around it, the products at full size; keys and values are copied only where heads share them
SELECT node_id, op, inputs, shape, class FROM perfmodel.graph_node WHERE graph_id = perfmodel.graph_id('plain') AND node_id BETWEEN 22 AND 34 ORDER BY node_id;
-- 8/3 of the hidden size, up to a multiple of 256; rotary positions turn both halves of a head, of an odd one too
SELECT n->>'op' AS op, n->'shape' AS shape, n->>'module' AS module
FROM jsonb_array_elements(perfmodel.decoder_graph('odd', 1, 102, 2, 16, 100, 'llama', kv_heads => 1)->'nodes') WITH ORDINALITY AS e(n, nr)
WHERE n->>'op' = 'Slice' OR n->>'module' = 'layers.0.feed.up' ORDER BY nr;
-- adapters in each of twelve layers
SELECT count(*) FILTER (WHERE n->>'op' = 'Dropout') AS adapters, count(DISTINCT n->>'module') FILTER (WHERE n->>'op' = 'Dropout') AS products
FROM jsonb_array_elements(perfmodel.decoder_graph('deep', 12, 64, 4, 16, 100, 'llama', lora_rank => 8)->'nodes') AS n;
SELECT string_agg(op, ' ' ORDER BY place) AS read_nothing FROM jsonb_to_recordset(perfmodel.decoder_graph('x', 2, 64, 2, 16, 100, attention => 'plain')->'nodes') AS n(id integer, op text, inputs integer[]),
    LATERAL (SELECT n.id AS place) AS p WHERE EXISTS (SELECT FROM unnest(n.inputs) AS i WHERE i >= n.id);
-- experts: the same layer around them; each has its own weights and its part of the tokens, and all together do the work of experts_per_token dense parts
SELECT count(perfmodel.load_graph(doc)) AS loaded
FROM (VALUES (perfmodel.decoder_graph('experts', 2, 64, 4, 16, 100, 'llama', attention => 'plain', experts => 4)),
             (perfmodel.decoder_graph('one expert', 2, 64, 4, 15, 100, experts => 4, experts_per_token => 1, lora_rank => 8)),
             (perfmodel.decoder_graph('no experts', 2, 64, 4, 16, 100, 'llama', attention => 'plain'))) AS v(doc);
SELECT name, nodes, params, unknown_ops FROM perfmodel.graph WHERE name IN ('experts', 'one expert', 'no experts') ORDER BY graph_id;
SELECT node_id, op, inputs, shape, weights, params, flops_backward / nullif(flops_forward, 0) AS backward, module FROM perfmodel.graph_node WHERE graph_id = perfmodel.graph_id('experts') AND node_id BETWEEN 34 AND 47 ORDER BY node_id;
SELECT node_id, op, inputs, shape, weights, params, module FROM perfmodel.graph_node WHERE graph_id = perfmodel.graph_id('one expert') AND module ~ '^layers.0.*(experts|router)' ORDER BY node_id;
SELECT sum(e.flops_forward) / (SELECT sum(flops_forward) FROM perfmodel.graph_node WHERE graph_id = perfmodel.graph_id('no experts') AND op = 'Gemm' AND module ~ 'feed') AS work
FROM perfmodel.graph_node AS e WHERE graph_id = perfmodel.graph_id('experts') AND op = 'MatMul' AND module ~ 'feed';
-- LoRA: only the adapters are trained; the model before the first of them has no backward pass, and behind it one product instead of two
SELECT count(perfmodel.load_graph(doc)) AS loaded
FROM (VALUES (perfmodel.decoder_graph('lora', 2, 64, 4, 16, 100, 'llama', kv_heads => 2, lora_rank => 8)),
             (perfmodel.decoder_graph('lora on all', 2, 64, 4, 16, 100, lora_rank => 8, lora_on => 'all')),
             (perfmodel.decoder_graph('whole', 2, 64, 4, 16, 100, 'llama', kv_heads => 2))) AS v(doc);
SELECT name, nodes, params, unknown_ops FROM perfmodel.graph WHERE name IN ('lora', 'lora on all', 'whole') ORDER BY graph_id;
SELECT node_id, op, inputs, shape, weights, params, flops_backward / nullif(flops_forward, 0) AS backward, module FROM perfmodel.graph_node WHERE graph_id = perfmodel.graph_id('lora') AND node_id BETWEEN 1 AND 9 ORDER BY node_id;
SELECT l.module, l.flops_forward = w.flops_forward AS same_forward, l.flops_backward / w.flops_backward AS backward
FROM perfmodel.graph_node AS l JOIN perfmodel.graph_node AS w USING (module, op, weights) WHERE l.graph_id = perfmodel.graph_id('lora') AND w.graph_id = perfmodel.graph_id('whole') AND op = 'Gemm' AND l.params IS NULL ORDER BY l.node_id;
SELECT perfmodel.load_graph('{"format":"perfmodel-graph/1","name":"frozen","params":36,"nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0},
    {"id":1,"op":"Gemm","inputs":[0],"shape":[1,4],"batch_dim":0,"weights":[[4,8],[4]],"attrs":{"frozen":true}}]}') > 0 AS loaded;
SELECT params FROM perfmodel.graph WHERE name = 'frozen';
SELECT helper.error_of($$SELECT perfmodel.load_graph('{"format":"perfmodel-graph/1","name":"odd","nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0},
    {"id":1,"op":"Gather","inputs":[0],"shape":[1,8,4],"batch_dim":0,"weights":[[9,4]],"attrs":{"frozen":1}},
    {"id":2,"op":"Gemm","inputs":[1],"shape":[1,8,9],"batch_dim":0,"weights":[[9,4]],"attrs":{"tied":1}}]}')$$);
-- a causal attention does about half of the work, and another graph has another structure
SELECT a.flops_forward / b.flops_forward = 17.0 / 32 AS half, a.class
FROM perfmodel.graph_node AS a, perfmodel.graph_node AS b
WHERE a.graph_id = perfmodel.graph_id('untied') AND a.op = 'Attention' AND b.graph_id = perfmodel.graph_id('seen whole') AND b.op = 'Attention';
SELECT count(DISTINCT structure) FROM perfmodel.graph WHERE name IN ('untied', 'seen whole');
ROLLBACK;
SELECT helper.error_of('SELECT perfmodel.decoder_graph(''x'', ' || rest || ')')
FROM unnest('{"0, 64, 2, 16, 100", "1, NULL, 2, 16, 100", "1, 64, 3, 16, 100", "1, 64, 4, 16, 100, kv_heads => 3", "1, 64, 4, 16, 100, ''bert''", "1, 64, 4, 16, 100, NULL", "1, 64, 4, 16, 100, attention => ''flash''", "1, 64, 4, 16, 100, lora_rank => 0", "1, 64, 4, 16, 100, experts => 0", "1, 64, 4, 16, 100, experts => 1", "1, 64, 4, 16, 100, experts => 4, experts_per_token => 5", "1, 64, 4, 16, 100, experts => 4, experts_per_token => 0", "1, 64, 4, 16, 100, experts_per_token => 2", "1, 64, 4, 16, 100, experts => 4, lora_rank => 8, lora_on => ''all''", "1, 64, 4, 16, 100, lora_rank => 4, lora_on => ''mlp''", "1, 2147483647, 1, 16, 100", "1, -2147483648, 1, 16, 100, ''llama''"}'::text[]) AS rest;
-- a layer of its own: sizes that no layer has
SELECT helper.error_of('SELECT * FROM perfmodel.decoder_layer(' || rest || ')')
FROM unnest('{"''gpt'', 16, 64, 0, 0, 128", "''llama'', 16, 64, 0, 1, 128", "''gpt'', 16, 2147483647, 1, 1, 128", "''llama'', 16, 64, 4, NULL, 128"}'::text[]) AS rest;
SELECT style, count(*) FROM unnest('{gpt,llama}'::text[]) AS style, perfmodel.decoder_layer(style, 16, 64, 4, 4, 128) GROUP BY style ORDER BY style;
