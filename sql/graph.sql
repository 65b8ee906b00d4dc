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
-- from their configurations: all that a model has, and its layers, and the parameters that its authors state (of Llama 4, the part that reads text)
BEGIN;
CREATE TEMP TABLE published (name text, config jsonb, sequence integer, stated bigint);
INSERT INTO published VALUES
    ('gpt2', '{"model_type":"gpt2","n_embd":768,"n_head":12,"n_layer":12,"n_positions":1024,"n_ctx":1024,"vocab_size":50257}', 1024, 124439808),
    ('gpt2-xl', '{"model_type":"gpt2","n_embd":1600,"n_head":25,"n_layer":48,"n_positions":1024,"vocab_size":50257}', 1024, 1557611200),
    ('mpt-7b', '{"model_type":"mpt","d_model":4096,"n_heads":32,"n_layers":32,"expansion_ratio":4,"max_seq_len":2048,"vocab_size":50432,"no_bias":true,"learned_pos_emb":true,"attn_config":{"alibi":true}}', 2048, 6649286656),
    ('llama-2-7b', '{"model_type":"llama","hidden_size":4096,"intermediate_size":11008,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":32,"vocab_size":32000,"tie_word_embeddings":false}', 4096, 6738415616),
    ('llama-3-8b', '{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":128256,"tie_word_embeddings":false}', 8192, 8030261248),
    ('mistral-7b', '{"model_type":"mistral","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"sliding_window":4096,"vocab_size":32000,"tie_word_embeddings":false}', 8192, 7241732096),
    ('mistral-nemo', '{"model_type":"mistral","hidden_size":5120,"head_dim":128,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":40,"num_key_value_heads":8,"sliding_window":null,"vocab_size":131072}', 8192, 12247782400),
    ('mixtral-8x7b', '{"model_type":"mixtral","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"num_local_experts":8,"num_experts_per_tok":2,"sliding_window":null,"vocab_size":32000}', 4096, 46702792704),
    ('qwen2-7b', '{"model_type":"qwen2","hidden_size":3584,"intermediate_size":18944,"num_attention_heads":28,"num_hidden_layers":28,"num_key_value_heads":4,"max_window_layers":28,"sliding_window":131072,"use_sliding_window":false,"tie_word_embeddings":false,"vocab_size":152064}', 4096, 7615616512),
    ('qwen1.5-moe-a2.7b', '{"model_type":"qwen2_moe","hidden_size":2048,"intermediate_size":5632,"moe_intermediate_size":1408,"shared_expert_intermediate_size":5632,"num_attention_heads":16,"num_hidden_layers":24,"num_key_value_heads":16,"num_experts":60,"num_experts_per_tok":4,"decoder_sparse_step":1,"sliding_window":32768,"use_sliding_window":false,"tie_word_embeddings":false,"vocab_size":151936}', 4096, 14315784192),
    ('qwen3-8b', '{"model_type":"qwen3","attention_bias":false,"head_dim":128,"hidden_size":4096,"intermediate_size":12288,"num_attention_heads":32,"num_hidden_layers":36,"num_key_value_heads":8,"sliding_window":null,"tie_word_embeddings":false,"vocab_size":151936}', 4096, 8190735360),
    ('qwen3-30b-a3b', '{"model_type":"qwen3_moe","attention_bias":false,"decoder_sparse_step":1,"head_dim":128,"hidden_size":2048,"intermediate_size":6144,"mlp_only_layers":[],"moe_intermediate_size":768,"num_attention_heads":32,"num_experts":128,"num_experts_per_tok":8,"num_hidden_layers":48,"num_key_value_heads":4,"tie_word_embeddings":false,"vocab_size":151936}', 4096, 30532122624),
    ('gemma-2-9b', '{"model_type":"gemma2","attn_logit_softcapping":50.0,"final_logit_softcapping":30.0,"head_dim":256,"hidden_size":3584,"intermediate_size":14336,"num_attention_heads":16,"num_hidden_layers":42,"num_key_value_heads":8,"sliding_window":4096,"vocab_size":256000}', 8192, 9241705984),
    ('gemma-3-1b', '{"model_type":"gemma3_text","head_dim":256,"hidden_size":1152,"intermediate_size":6912,"num_attention_heads":4,"num_hidden_layers":26,"num_key_value_heads":1,"sliding_window":512,"sliding_window_pattern":6,"vocab_size":262144}', 4096, 999885952),
    ('phi-3-mini', '{"model_type":"phi3","hidden_size":3072,"intermediate_size":8192,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":32,"sliding_window":2047,"tie_word_embeddings":false,"vocab_size":32064}', 4096, 3821079552),
    ('olmo-2-7b', '{"model_type":"olmo2","hidden_size":4096,"intermediate_size":11008,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":32,"tie_word_embeddings":false,"vocab_size":100352}', 4096, 7298617344),
    ('deepseek-v2-lite', '{"model_type":"deepseek_v2","first_k_dense_replace":1,"hidden_size":2048,"intermediate_size":10944,"kv_lora_rank":512,"moe_intermediate_size":1408,"moe_layer_freq":1,"n_routed_experts":64,"n_shared_experts":2,"num_attention_heads":16,"num_experts_per_tok":6,"num_hidden_layers":27,"num_key_value_heads":16,"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"tie_word_embeddings":false,"vocab_size":102400}', 4096, 15706484224),
    ('deepseek-v3', '{"model_type":"deepseek_v3","first_k_dense_replace":3,"hidden_size":7168,"intermediate_size":18432,"kv_lora_rank":512,"moe_intermediate_size":2048,"moe_layer_freq":1,"n_routed_experts":256,"n_shared_experts":1,"num_attention_heads":128,"num_experts_per_tok":8,"num_hidden_layers":61,"num_key_value_heads":128,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,"tie_word_embeddings":false,"vocab_size":129280}', 4096, 671026419200),
    ('gpt-oss-20b', '{"model_type":"gpt_oss","attention_bias":true,"head_dim":64,"hidden_size":2880,"intermediate_size":2880,"num_attention_heads":64,"num_hidden_layers":24,"num_key_value_heads":8,"num_local_experts":32,"num_experts_per_tok":4,"experts_per_token":4,"sliding_window":128,"layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"],"tie_word_embeddings":false,"vocab_size":201088}', 4096, 20914757184),
    ('llama-4-scout', '{"model_type":"llama4","text_config":{"model_type":"llama4_text","attention_chunk_size":8192,"head_dim":128,"hidden_size":5120,"interleave_moe_layer_step":1,"intermediate_size":8192,"intermediate_size_mlp":16384,"num_attention_heads":40,"num_experts_per_tok":1,"num_hidden_layers":48,"num_key_value_heads":8,"num_local_experts":16,"tie_word_embeddings":false,"use_qk_norm":true,"vocab_size":202048}}', 16384, 107769861120);
SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(name, config, sequence))) AS loaded FROM published;
SELECT name, nodes, params, params - stated AS more, unknown_ops FROM published JOIN perfmodel.graph USING (name) ORDER BY graph_id;
-- the work of attention: heads of their own width, windows, and queries that are wider than values
SELECT g.name, n.shape, count(*) AS layers, n.flops_forward / (4 * n.shape[2] * n.shape[3]::float8 * n.shape[4]) AS seen, n.params
FROM published AS g, LATERAL (SELECT n.* FROM perfmodel.graph_node AS n WHERE n.graph_id = perfmodel.graph_id(g.name) AND n.op = 'Attention') AS n
WHERE g.name IN ('mistral-7b', 'qwen3-30b-a3b', 'gemma-2-9b', 'gemma-3-1b', 'deepseek-v2-lite', 'gpt-oss-20b', 'llama-4-scout') GROUP BY 1, 2, 4, 5 ORDER BY 1, 4;
-- what sizes can say, too, is the same network
SELECT c.name, count(DISTINCT (SELECT structure FROM perfmodel.graph WHERE graph_id = g.id)) AS structures
FROM (VALUES ('gpt2', perfmodel.decoder_graph('gpt2 of sizes', 12, 768, 12, 1024, 50257)), ('llama-2-7b', perfmodel.decoder_graph('llama of sizes', 32, 4096, 32, 4096, 32000, 'llama')),
             ('mixtral-8x7b', perfmodel.decoder_graph('mixtral of sizes', 32, 4096, 32, 4096, 32000, 'llama', kv_heads => 8, feed_forward => 14336, experts => 8))) AS c(name, doc),
     LATERAL unnest(ARRAY[perfmodel.load_graph(doc), perfmodel.graph_id(c.name)]) AS g(id) GROUP BY 1 ORDER BY 1;
-- a layer with latent attention and shared experts, one that is dense, attention in single operators with sinks and bounds, what stands around the layers
SELECT string_agg(format('%s %s', n->>'op', replace(n->>'module', 'layers.1.', '')), ', ' ORDER BY nr) AS layer
FROM published, jsonb_array_elements(perfmodel.decoder_graph(name, config, 64)->'nodes') WITH ORDINALITY AS e(n, nr) WHERE name = 'deepseek-v2-lite' AND n->>'module' ~ '^layers.1($|[.])';
SELECT string_agg(n->>'op', ' ' ORDER BY nr) AS dense FROM published, jsonb_array_elements(perfmodel.decoder_graph(name, config, 64)->'nodes') WITH ORDINALITY AS e(n, nr)
WHERE name = 'deepseek-v2-lite' AND n->>'module' ~ '^layers.0.(norm_2|feed)';
SELECT name, string_agg(n->>'op', ' ' ORDER BY nr) AS plain FROM published, jsonb_array_elements(perfmodel.decoder_graph(name, config, 64, 'plain')->'nodes') WITH ORDINALITY AS e(n, nr)
WHERE name IN ('gemma-2-9b', 'gpt-oss-20b', 'deepseek-v2-lite') AND n->>'module' = 'layers.0.attention' GROUP BY 1 ORDER BY 1;
SELECT name, string_agg(n->>'op', ' ' ORDER BY nr) AS around FROM published, jsonb_array_elements(perfmodel.decoder_graph(name, config, 64)->'nodes') WITH ORDINALITY AS e(n, nr)
WHERE name IN ('gemma-2-9b', 'phi-3-mini') AND coalesce(n->>'module', '') !~ '^layers' GROUP BY 1 ORDER BY 1;
CREATE TEMP TABLE adapted AS SELECT name, perfmodel.decoder_graph(name || ' lora', config, 64, lora_rank => 8) AS doc FROM published WHERE name IN ('deepseek-v2-lite', 'gemma-3-1b');
SELECT name, perfmodel.load_graph(doc) > 0 AS loaded, (SELECT count(*) FROM jsonb_array_elements(doc->'nodes') AS n WHERE n->>'op' = 'Dropout') AS adapters FROM adapted ORDER BY name;
-- which layers have experts, and which a window; biases; heads that are partly turned; a model that sees, too
CREATE TEMP TABLE variant AS
SELECT nr, what, perfmodel.decoder_graph(what, '{"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "intermediate_size": 96, "num_experts": 0, "vocab_size": 100}' || more, 16) AS doc
FROM (VALUES (1, 'usual', '{}'::jsonb), (2, 'bias', '{"attention_bias": true}'), (3, 'steps', '{"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "decoder_sparse_step": 2}'),
             (4, 'listed', '{"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "mlp_only_layers": [0, 1, 3]}'), (5, 'dense', '{"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 3}'),
             (6, 'late windows', '{"sliding_window": 8, "use_sliding_window": true, "max_window_layers": 1}'), (7, 'typed', '{"sliding_window": 8, "layer_types": ["full_attention", "sliding_attention"]}'),
             (8, 'partly turned', '{"partial_rotary_factor": 0.5}'), (10, 'named', '{"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "mlp_layer_types": ["dense", "sparse", "sparse", "dense"]}'), (9, 'partly, as Transformers 5 writes it', '{"rope_parameters": {"rope_theta": 10000, "partial_rotary_factor": 0.25}}')) AS v(nr, what, more);
SELECT count(perfmodel.load_graph(doc)) AS loaded FROM variant;
SELECT what, params, (SELECT string_agg(coalesce(n#>>'{attrs,window}', n#>>'{weights,0,0}', n->>'op'), ' ' ORDER BY e.nr) FROM jsonb_array_elements(doc->'nodes') WITH ORDINALITY AS e(n, nr)
                      WHERE n->>'op' IN ('Attention', 'Concat') OR (n->>'module' ~ 'feed.(gate|router)$' AND n ? 'weights')) AS ops
FROM variant JOIN (SELECT name, params FROM perfmodel.graph) AS g ON name = what ORDER BY variant.nr;
SELECT jsonb_array_length(perfmodel.decoder_graph('x', '{"model_type": "gemma3", "text_config": {"hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 96}}', 16)->'nodes') AS nodes;
-- what is null is off, and what is missing is as Transformers has it; MPT has heads of keys and values and turned positions in a part of their own
SELECT nr, type, string_agg(coalesce(n#>>'{attrs,window}', n#>>'{weights,0,0}', n->>'op'), ' ' ORDER BY e.nth) AS ops
FROM (VALUES (1, 'mpt', 'fused', '{}'::jsonb), (2, 'mpt', 'fused', '{"attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 2}}'), (3, 'mpt', 'fused', '{"attn_config": {"attn_type": "multiquery_attention", "kv_n_heads": null}}'),
             (4, 'mpt', 'fused', '{"attn_config": {"alibi": false, "rope": true}}'), (5, 'gemma2', 'plain', '{}'), (6, 'gemma2', 'plain', '{"attn_logit_softcapping": null, "final_logit_softcapping": null}'), (7, 'gemma2', 'fused', '{}'),
             (8, 'gemma2', 'fused', '{"sliding_window": null}'), (9, 'gpt_oss', 'fused', '{}'), (10, 'mistral', 'fused', '{}'), (11, 'mistral', 'fused', '{"sliding_window": null, "head_dim": null}'), (12, 'llama4_text', 'fused', '{"attention_chunk_size": 64}'),
             (13, 'llama4_text', 'fused', '{"attention_chunk_size": null}'), (14, 'llama4_text', 'fused', '{"no_rope_layers": [0, 1], "attention_chunk_size": 64}')) AS v(nr, type, attention, more),
     jsonb_array_elements(perfmodel.decoder_graph('x', jsonb_build_object('model_type', type) || CASE type WHEN 'mpt' THEN '{"d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 100}'
         ELSE '{"hidden_size": 64, "head_dim": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "num_local_experts": 4, "num_experts_per_tok": 1, "vocab_size": 100}' END::jsonb || more,
         CASE WHEN type = 'mpt' THEN 16 ELSE 5000 END, attention)->'nodes') WITH ORDINALITY AS e(n, nth)
WHERE n->>'op' IN ('Attention', 'Tanh') OR (n->>'op', n->>'module') IN (('Concat', 'layers.0.rotary'), ('Concat', 'layers.1.rotary')) OR n->>'module' ~ 'attention.(qkv|k)$' GROUP BY nr, type ORDER BY nr;
ROLLBACK;
SELECT helper.error_of(format('SELECT perfmodel.decoder_graph(''x'', %L, %s)', '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 100}'::jsonb || more::jsonb, rest))
FROM (VALUES ('{"model_type": "bert"}', '16'), ('{"model_type": null}', '16'), ('{"hidden_size": null}', '16'), ('{"hidden_size": "64"}', '16'), ('{"hidden_size": 1.5}', '16'), ('{"hidden_size": 0}', '16'),
             ('{"num_attention_heads": 5}', '16'), ('{"num_key_value_heads": 3}', '16'), ('{"intermediate_size": null}', '16'), ('{"vocab_size": 1e30}', '16'), ('{}', '0'), ('{}', 'NULL'), ('{}', '16, ''flash'''),
             ('{}', '16, lora_rank => 0'), ('{}', '16, lora_rank => 8, lora_on => ''mlp'''), ('{"model_type": "mixtral", "num_local_experts": 4}', '16'), ('{"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 5}', '16'),
             ('{"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2}', '16, lora_rank => 8, lora_on => ''all'''), ('{"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2}', '1025'),
             ('{"model_type": "deepseek_v3", "kv_lora_rank": 8}', '16'), ('{"partial_rotary_factor": 2}', '16'), ('{"layer_types": 7}', '16'), ('{"layer_types": ["linear_attention", "full_attention"]}', '16'), ('{"tie_word_embeddings": "true"}', '16'),
             -- no network of dense layers, or of another attention, in place of what cannot be known
             ('{"model_type": "mixtral"}', '16'), ('{"model_type": "deepseek_v2", "n_routed_experts": 4}', '16'), ('{"model_type": "deepseek_v3", "kv_lora_rank": 8, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8}', '16'),
             ('{"model_type": "qwen3_moe", "num_experts": 4, "num_experts_per_tok": 2}', '16'), ('{"model_type": "qwen2_moe", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}', '16')) AS v(more, rest);
SELECT helper.error_of(format('SELECT perfmodel.decoder_graph(''x'', %s, 16)', config)) FROM unnest('{"''[]''::jsonb", "''7''::jsonb", "NULL::jsonb"}'::text[]) AS config;
