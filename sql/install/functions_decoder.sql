-- Graphs of language models from their sizes, for those who have the sizes and not the model.

-- Inputs count from the first node of the layer; -1 is what the layer reads.
CREATE FUNCTION perfmodel.decoder_layer(style text, s integer, h integer, heads integer, kv_heads integer, wide integer)
    RETURNS TABLE (at integer, op text, inputs integer[], shape integer[], more jsonb)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 100 ROWS 30
BEGIN ATOMIC
    WITH wrong AS (
        SELECT format('"%s" is %s', v.argument, coalesce(v.value::text, 'NULL')) AS message
        FROM (VALUES (1, 's', s, 16777216), (2, 'h', h, 1000000), (3, 'heads', heads, 100000), (4, 'kv_heads', kv_heads, 100000),
                     (5, 'wide', wide, 10000000)) AS v(place, argument, value, most)
        WHERE (v.value BETWEEN 1 AND v.most) IS NOT TRUE ORDER BY v.place LIMIT 1
    ), d AS (
        -- heads of 0 are refused below, and must not be divided by before
        SELECT h / nullif(heads, 0) AS d, h / nullif(heads, 0) * kv_heads AS kv
        WHERE perfmodel.require(NOT EXISTS (SELECT FROM wrong), (SELECT w.message FROM wrong AS w),
                                'The sizes of a layer are at least 1; s at most 16,777,216, h 1,000,000, heads and kv_heads 100,000, wide 10,000,000. decoder_graph makes the whole model.')
    )
    SELECT n.at, n.op, n.inputs, n.shape, n.more || jsonb_build_object('module', n.module)
    FROM d, LATERAL (VALUES
        (0, 'LayerNormalization', '{-1}'::integer[], ARRAY[s, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[h], ARRAY[h])), 'norm_1'),
        (1, 'Gemm', '{0}', ARRAY[s, h + 2 * kv], jsonb_build_object('weights', jsonb_build_array(ARRAY[h + 2 * kv, h], ARRAY[h + 2 * kv])), 'attention.qkv'),
        (2, 'Slice', '{1}', ARRAY[heads, s, d], '{"view": true}', 'attention'),
        (3, 'Slice', '{1}', ARRAY[kv_heads, s, d], '{"view": true}', 'attention'),
        (4, 'Slice', '{1}', ARRAY[kv_heads, s, d], '{"view": true}', 'attention'),
        (5, 'Attention', '{2,3,4}', ARRAY[heads, s, d], '{"attrs": {"is_causal": 1}}', 'attention'),
        (6, 'Reshape', '{5}', ARRAY[s, h], '{"view": true}', 'attention'),
        (7, 'Gemm', '{6}', ARRAY[s, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[h, h], ARRAY[h])), 'attention.out'),
        (8, 'Add', '{-1,7}', ARRAY[s, h], '{}', ''),
        (9, 'LayerNormalization', '{8}', ARRAY[s, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[h], ARRAY[h])), 'norm_2'),
        (10, 'Gemm', '{9}', ARRAY[s, wide], jsonb_build_object('weights', jsonb_build_array(ARRAY[wide, h], ARRAY[wide])), 'feed.up'),
        (11, 'Gelu', '{10}', ARRAY[s, wide], '{}', 'feed'),
        (12, 'Gemm', '{11}', ARRAY[s, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[h, wide], ARRAY[h])), 'feed.down'),
        (13, 'Add', '{8,12}', ARRAY[s, h], '{}', '')
    ) AS n(at, op, inputs, shape, more, module)
    WHERE style = 'gpt'
    UNION ALL
    SELECT n.at, n.op, n.inputs, n.shape, n.more || jsonb_build_object('module', n.module)
    FROM d, LATERAL (VALUES
        (0, 'RMSNormalization', '{-1}'::integer[], ARRAY[s, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[h])), 'norm_1'),
        (1, 'Gemm', '{0}', ARRAY[s, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[h, h])), 'attention.q'),
        (2, 'Gemm', '{0}', ARRAY[s, kv], jsonb_build_object('weights', jsonb_build_array(ARRAY[kv, h])), 'attention.k'),
        (3, 'Gemm', '{0}', ARRAY[s, kv], jsonb_build_object('weights', jsonb_build_array(ARRAY[kv, h])), 'attention.v'),
        (4, 'Reshape', '{1}', ARRAY[heads, s, d], '{"view": true}', 'attention'),
        (5, 'Reshape', '{2}', ARRAY[kv_heads, s, d], '{"view": true}', 'attention'),
        (6, 'Reshape', '{3}', ARRAY[kv_heads, s, d], '{"view": true}', 'attention'),
        -- rotary positions as most programs write them: x cos + (-x2, x1) sin
        (7, 'Slice', '{4}', ARRAY[heads, s, d / 2], '{"view": true}', 'rotary'), (8, 'Slice', '{4}', ARRAY[heads, s, d - d / 2], '{"view": true}', 'rotary'),
        (9, 'Neg', '{8}', ARRAY[heads, s, d - d / 2], '{}', 'rotary'), (10, 'Concat', '{9,7}', ARRAY[heads, s, d], '{}', 'rotary'),
        (11, 'Mul', '{4}', ARRAY[heads, s, d], jsonb_build_object('consts', jsonb_build_array(ARRAY[s, d])), 'rotary'),
        (12, 'Mul', '{10}', ARRAY[heads, s, d], jsonb_build_object('consts', jsonb_build_array(ARRAY[s, d])), 'rotary'), (13, 'Add', '{11,12}', ARRAY[heads, s, d], '{}', 'rotary'),
        (14, 'Slice', '{5}', ARRAY[kv_heads, s, d / 2], '{"view": true}', 'rotary'), (15, 'Slice', '{5}', ARRAY[kv_heads, s, d - d / 2], '{"view": true}', 'rotary'),
        (16, 'Neg', '{15}', ARRAY[kv_heads, s, d - d / 2], '{}', 'rotary'), (17, 'Concat', '{16,14}', ARRAY[kv_heads, s, d], '{}', 'rotary'),
        (18, 'Mul', '{5}', ARRAY[kv_heads, s, d], jsonb_build_object('consts', jsonb_build_array(ARRAY[s, d])), 'rotary'),
        (19, 'Mul', '{17}', ARRAY[kv_heads, s, d], jsonb_build_object('consts', jsonb_build_array(ARRAY[s, d])), 'rotary'), (20, 'Add', '{18,19}', ARRAY[kv_heads, s, d], '{}', 'rotary'),
        (21, 'Attention', '{13,20,6}', ARRAY[heads, s, d], '{"attrs": {"is_causal": 1}}', 'attention'),
        (22, 'Reshape', '{21}', ARRAY[s, h], '{"view": true}', 'attention'),
        (23, 'Gemm', '{22}', ARRAY[s, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[h, h])), 'attention.out'),
        (24, 'Add', '{-1,23}', ARRAY[s, h], '{}', ''),
        (25, 'RMSNormalization', '{24}', ARRAY[s, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[h])), 'norm_2'),
        (26, 'Gemm', '{25}', ARRAY[s, wide], jsonb_build_object('weights', jsonb_build_array(ARRAY[wide, h])), 'feed.gate'),
        (27, 'Gemm', '{25}', ARRAY[s, wide], jsonb_build_object('weights', jsonb_build_array(ARRAY[wide, h])), 'feed.up'),
        (28, 'Silu', '{26}', ARRAY[s, wide], '{}', 'feed'), (29, 'Mul', '{28,27}', ARRAY[s, wide], '{}', 'feed'),
        (30, 'Gemm', '{29}', ARRAY[s, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[h, wide])), 'feed.down'),
        (31, 'Add', '{24,30}', ARRAY[s, h], '{}', '')
    ) AS n(at, op, inputs, shape, more, module)
    WHERE style = 'llama';
END;
COMMENT ON FUNCTION perfmodel.decoder_layer(text, integer, integer, integer, integer, integer) IS
    'a part of decoder_graph: the operators of one layer, in order; an input of -1 is what the layer reads';

-- A layer's mixture of experts: a router chooses some experts for each token, and each expert has the same number of tokens.
-- Inputs count from the first node; -1 is the norm before it. Tokens are copied to their experts and added up behind them, in whole rows and in
-- an order of memory, as kernels do that permute tokens: so it is no look-up in a table, whose rows are added up one by one in the backward pass.
CREATE FUNCTION perfmodel.decoder_experts(style text, s integer, h integer, wide integer, experts integer, chosen integer, tokens integer)
    RETURNS TABLE (at integer, op text, inputs integer[], shape integer[], more jsonb, module text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 100 ROWS 12
BEGIN ATOMIC
    SELECT n.at, n.op, n.inputs, n.shape, n.more, n.module
    FROM (VALUES
        (0, 'Gemm', '{-1}'::integer[], ARRAY[s, experts], jsonb_build_object('weights', jsonb_build_array(ARRAY[experts, h])), 'feed.router'),
        (1, 'Softmax', '{0}', ARRAY[s, experts], '{"attrs": {"axis": -1}}', 'feed.router'),
        (2, 'TopK', '{1}', ARRAY[s, chosen], '{}', 'feed.router'),
        (3, 'Slice', '{2}', ARRAY[experts, tokens, 1], '{"view": true}', 'feed.router'),
        (4, 'Tile', '{-1,2}', ARRAY[experts, tokens, h], '{}', 'feed')
    ) AS n(at, op, inputs, shape, more, module)
    UNION ALL
    SELECT n.at, n.op, n.inputs, n.shape, n.more, n.module
    FROM (VALUES
        (5, 'MatMul', '{4}'::integer[], ARRAY[experts, tokens, wide], jsonb_build_object('weights', jsonb_build_array(ARRAY[experts, wide, h], ARRAY[experts, wide])), 'feed.experts.up'),
        (6, 'Gelu', '{5}', ARRAY[experts, tokens, wide], '{}', 'feed'),
        (7, 'MatMul', '{6}', ARRAY[experts, tokens, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[experts, h, wide], ARRAY[experts, h])), 'feed.experts.down'),
        (8, 'Mul', '{7,3}', ARRAY[experts, tokens, h], '{}', 'feed'),
        (9, 'ReduceSum', '{8}', ARRAY[s, h], '{}', 'feed')
    ) AS n(at, op, inputs, shape, more, module)
    WHERE style = 'gpt'
    UNION ALL
    SELECT n.at, n.op, n.inputs, n.shape, n.more, n.module
    FROM (VALUES
        (5, 'MatMul', '{4}'::integer[], ARRAY[experts, tokens, wide], jsonb_build_object('weights', jsonb_build_array(ARRAY[experts, wide, h])), 'feed.experts.gate'),
        (6, 'MatMul', '{4}', ARRAY[experts, tokens, wide], jsonb_build_object('weights', jsonb_build_array(ARRAY[experts, wide, h])), 'feed.experts.up'),
        (7, 'Silu', '{5}', ARRAY[experts, tokens, wide], '{}', 'feed'),
        (8, 'Mul', '{7,6}', ARRAY[experts, tokens, wide], '{}', 'feed'),
        (9, 'MatMul', '{8}', ARRAY[experts, tokens, h], jsonb_build_object('weights', jsonb_build_array(ARRAY[experts, h, wide])), 'feed.experts.down'),
        (10, 'Mul', '{9,3}', ARRAY[experts, tokens, h], '{}', 'feed'),
        (11, 'ReduceSum', '{10}', ARRAY[s, h], '{}', 'feed')
    ) AS n(at, op, inputs, shape, more, module)
    WHERE style = 'llama';
END;
COMMENT ON FUNCTION perfmodel.decoder_experts(text, integer, integer, integer, integer, integer, integer) IS
    'a part of decoder_graph: the operators of a mixture of experts, in order; an input of -1 is the norm before it';

CREATE FUNCTION perfmodel.decoder_graph(name text, layers integer, hidden integer, heads integer, sequence integer, vocabulary integer,
                                        style text DEFAULT 'gpt', kv_heads integer DEFAULT NULL, feed_forward integer DEFAULT NULL, tied boolean DEFAULT NULL,
                                        attention text DEFAULT 'fused', lora_rank integer DEFAULT NULL, lora_on text DEFAULT 'attention',
                                        experts integer DEFAULT NULL, experts_per_token integer DEFAULT NULL) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    kv integer := coalesce(kv_heads, heads);
    wide bigint := coalesce(feed_forward, CASE WHEN style = 'llama' THEN (hidden::bigint * 8 / 3 + 255) / 256 * 256 ELSE 4 * hidden::bigint END);
    chosen integer := CASE WHEN experts IS NULL THEN experts_per_token ELSE coalesce(experts_per_token, 2) END;
    tokens bigint := (sequence::bigint * chosen + experts - 1) / nullif(experts, 0);	-- of each expert
    wrong text;
    result jsonb;
BEGIN
    SELECT format('"%s" is %s', v.argument, coalesce(v.value::text, 'NULL')) INTO wrong
    FROM (VALUES (1, 'layers', layers, 1, 1000), (2, 'hidden', hidden, 1, 1000000), (3, 'heads', heads, 1, 100000), (4, 'sequence', sequence, 1, 16777216),
                 (5, 'vocabulary', vocabulary, 1, 100000000), (6, 'kv_heads', kv, 1, 100000), (7, 'feed_forward', wide, 1, 10000000),
                 (8, 'lora_rank', coalesce(lora_rank, 1), 1, 1000000), (9, 'experts', coalesce(experts, 2), 2, 1024)) AS v(place, argument, value, least, most)
    WHERE (v.value BETWEEN v.least AND v.most) IS NOT TRUE ORDER BY v.place LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'The sizes of a language model are at least 1; layers at most 1,000, hidden 1,000,000, heads 100,000, sequence 16,777,216, vocabulary 100,000,000, feed_forward 10,000,000, lora_rank 1,000,000, experts 1,024 (2 at least).',
            HINT = 'They stand in the config.json of a model: num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads, intermediate_size, vocab_size.';
    ELSIF style IS NULL OR style NOT IN ('gpt', 'llama') THEN
        RAISE EXCEPTION 'unknown style %', coalesce(quote_literal(left(style, 64)), 'NULL') USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Known are "gpt" (layer norm, biases, learned positions, GELU) and "llama" (RMS norm, no biases, rotary positions, SwiGLU).';
    ELSIF attention IS NULL OR attention NOT IN ('fused', 'flash1', 'flash2', 'flash3', 'plain') THEN
        RAISE EXCEPTION 'unknown attention %', coalesce(quote_literal(left(attention, 64)), 'NULL') USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Known are "fused" (one kernel, as scaled_dot_product_attention: FlashAttention-2), "flash1", "flash2" and "flash3" (the same with that release of FlashAttention; "flash3" is cuDNN''s kernel, too), and "plain" (products, mask and softmax as operators of their own).';
    ELSIF lora_on IS NULL OR lora_on NOT IN ('attention', 'all') THEN
        RAISE EXCEPTION 'unknown lora_on %', coalesce(quote_literal(left(lora_on, 64)), 'NULL') USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Known are "attention" (its products with weights have adapters) and "all" (those of the feed-forward part, too).';
    ELSIF chosen < 1 OR chosen > experts OR (chosen IS NOT NULL AND experts IS NULL) THEN
        RAISE EXCEPTION '%', CASE WHEN experts IS NULL THEN format('"experts_per_token" is %s, and "experts" is NULL', chosen) ELSE format('"experts_per_token" is %s, and there are %s experts', chosen, experts) END
            USING ERRCODE = 'invalid_parameter_value', HINT = 'They stand in config.json: num_local_experts and num_experts_per_tok.';
    ELSIF experts IS NOT NULL AND lora_rank IS NOT NULL AND lora_on = 'all' THEN
        RAISE EXCEPTION 'adapters of experts are not known' USING ERRCODE = 'feature_not_supported', HINT = 'With experts, lora_on is "attention".';
    ELSIF hidden % heads <> 0 OR heads % kv <> 0 THEN
        RAISE EXCEPTION '%', CASE WHEN hidden % heads <> 0 THEN format('hidden size %s is not a multiple of %s heads', hidden, heads) ELSE format('%s heads are not a multiple of %s kv_heads', heads, kv) END
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Each head has an equal part of the hidden size, and each head of keys and values serves as many heads of queries.';
    END IF;
    -- whatever a scalar is, the operator costs the same
    WITH fused AS MATERIALIZED (
        SELECT * FROM perfmodel.decoder_layer(style, sequence, hidden, heads, kv, wide::integer)
    ), own AS (
        SELECT f.at, f.inputs[1] AS q, f.inputs[2] AS k, f.inputs[3] AS v, hidden / heads AS d,
               CASE WHEN heads = kv THEN '{"view": true}' ELSE '{}' END::jsonb AS spread, CASE attention WHEN 'plain' THEN 7 ELSE 0 END AS more
        FROM fused AS f WHERE f.op = 'Attention'
    ), part AS (
        SELECT f.at + CASE WHEN f.at > o.at THEN o.more ELSE 0 END AS at, f.op,
               ARRAY(SELECT i + CASE WHEN i >= o.at THEN o.more ELSE 0 END FROM unnest(f.inputs) WITH ORDINALITY AS u(i, k) ORDER BY k) AS inputs, f.shape,
               CASE WHEN f.op = 'Attention' AND attention ~ '^flash' THEN jsonb_set(f.more, '{attrs,flash}', to_jsonb(right(attention, 1)::integer)) ELSE f.more END AS more
        FROM fused AS f, own AS o WHERE f.op <> 'Attention' OR attention <> 'plain'
        UNION ALL
        SELECT o.at + p.at, p.op, p.inputs, p.shape, p.more || '{"module": "attention"}'
        FROM own AS o, LATERAL (VALUES (0, 'Expand', ARRAY[o.k], ARRAY[heads, sequence, o.d], o.spread), (1, 'Transpose', ARRAY[o.at], ARRAY[heads, o.d, sequence], '{"view": true}'),
                                       (2, 'Expand', ARRAY[o.v], ARRAY[heads, sequence, o.d], o.spread), (3, 'MatMul', ARRAY[o.q, o.at + 1], ARRAY[heads, sequence, sequence], '{}'),
                                       (4, 'Div', ARRAY[o.at + 3], ARRAY[heads, sequence, sequence], '{"attrs": {"scalar": 8}}'), (5, 'Where', ARRAY[o.at + 4], ARRAY[heads, sequence, sequence], '{}'),
                                       (6, 'Softmax', ARRAY[o.at + 5], ARRAY[heads, sequence, sequence], '{"attrs": {"axis": -1}}'),
                                       (7, 'MatMul', ARRAY[o.at + 6, o.at + 2], ARRAY[heads, sequence, o.d], '{}')) AS p(at, op, inputs, shape, more)
        WHERE attention = 'plain'
    ), expert AS MATERIALIZED (
        SELECT * FROM perfmodel.decoder_experts(style, sequence, hidden, wide::integer, experts, chosen, tokens::integer) WHERE experts IS NOT NULL
    ), feed AS (
        -- of the dense layer: the first and the last of its operators, and how many more a mixture of experts has in their place
        SELECT min(p.at) AS first, max(p.at) AS last, CASE WHEN experts IS NULL THEN 0 ELSE (SELECT count(*) FROM expert) - count(*) END::integer AS more
        FROM part AS p WHERE p.more->>'module' LIKE 'feed%'
    ), mixture AS (
        SELECT p.at + CASE WHEN p.at >= f.last THEN f.more ELSE 0 END AS at, p.op,
               ARRAY(SELECT i + CASE WHEN i >= f.last THEN f.more ELSE 0 END FROM unnest(p.inputs) WITH ORDINALITY AS u(i, k) ORDER BY k) AS inputs, p.shape, p.more
        FROM part AS p, feed AS f WHERE experts IS NULL OR p.at NOT BETWEEN f.first AND f.last
        UNION ALL
        SELECT f.first + e.at, e.op, ARRAY(SELECT f.first + i FROM unnest(e.inputs) WITH ORDINALITY AS u(i, k) ORDER BY k), e.shape, e.more || jsonb_build_object('module', e.module)
        FROM feed AS f, expert AS e
    ), layer AS MATERIALIZED (
        SELECT p.*, count(*) OVER () AS size FROM mixture AS p
    ), start AS (
        SELECT CASE style WHEN 'gpt' THEN 4 ELSE 2 END AS first, (SELECT max(size) FROM layer)::integer AS size
    ), node AS (
        SELECT 0 AS id, 'Input' AS op, '{}'::integer[] AS inputs, ARRAY[sequence] AS shape, '{}'::jsonb AS more
        UNION ALL SELECT 1, 'Gather', '{0}', ARRAY[sequence, hidden], jsonb_build_object('module', 'embedding', 'weights', jsonb_build_array(ARRAY[vocabulary, hidden]))
        UNION ALL SELECT 2, 'Gather', '{0}', ARRAY[sequence, hidden], jsonb_build_object('module', 'positions', 'weights', jsonb_build_array(ARRAY[sequence, hidden])) WHERE style = 'gpt'
        UNION ALL SELECT 3, 'Add', '{1,2}', ARRAY[sequence, hidden], '{}' WHERE style = 'gpt'
        UNION ALL SELECT s.first + n * s.size + l.at, l.op, ARRAY(SELECT s.first + n * s.size + i FROM unnest(l.inputs) WITH ORDINALITY AS u(i, k) ORDER BY k), l.shape,
                         l.more || jsonb_build_object('module', rtrim(format('layers.%s.%s', n, l.more->>'module'), '.'))
                  FROM start AS s, generate_series(0, layers - 1) AS n, layer AS l
        UNION ALL SELECT s.first + layers * s.size, CASE style WHEN 'gpt' THEN 'LayerNormalization' ELSE 'RMSNormalization' END, ARRAY[s.first + layers * s.size - 1], ARRAY[sequence, hidden],
                         jsonb_build_object('module', 'norm', 'weights', CASE style WHEN 'gpt' THEN jsonb_build_array(ARRAY[hidden], ARRAY[hidden]) ELSE jsonb_build_array(ARRAY[hidden]) END) FROM start AS s
        UNION ALL SELECT s.first + layers * s.size + 1, 'Gemm', ARRAY[s.first + layers * s.size], ARRAY[sequence, vocabulary],
                         jsonb_build_object('module', 'head', 'weights', jsonb_build_array(ARRAY[vocabulary, hidden])) ||
                         CASE WHEN coalesce(tied, style = 'gpt') THEN '{"attrs": {"tied": 1}}' ELSE '{}'::jsonb END FROM start AS s
    ), grown AS (
        -- LoRA: what the model has is frozen, and beside a product run two narrow ones: x W + scale (dropout(x) A) B
        SELECT n.id, 0 AS sub, n.op, n.inputs, n.shape,
               CASE WHEN lora_rank IS NULL OR NOT n.more ? 'weights' THEN n.more ELSE n.more || jsonb_build_object('attrs', coalesce(n.more->'attrs', '{}') || '{"frozen": 1}') END AS more
        FROM node AS n
        UNION ALL
        SELECT n.id, l.sub, l.op, n.inputs, ARRAY[sequence, l.width], l.more || jsonb_build_object('module', n.more->>'module')
        FROM node AS n, LATERAL (VALUES (1, 'Dropout', (n.more#>>'{weights,0,1}')::integer, '{}'::jsonb),
                                        (2, 'Gemm', lora_rank, jsonb_build_object('weights', jsonb_build_array(jsonb_build_array(lora_rank, n.more#>'{weights,0,1}')))),
                                        (3, 'Gemm', n.shape[2], jsonb_build_object('weights', jsonb_build_array(ARRAY[n.shape[2], lora_rank]))),
                                        (4, 'Mul', n.shape[2], '{"attrs": {"scalar": 2}}'), (5, 'Add', n.shape[2], '{}')) AS l(sub, op, width, more)
        WHERE lora_rank IS NOT NULL AND n.op = 'Gemm' AND n.more->>'module' ~ CASE lora_on WHEN 'all' THEN '^layers[.]' ELSE '^layers[.][0-9]+[.]attention' END
    ), numbered AS (
        SELECT g.*, row_number() OVER (ORDER BY g.id, g.sub) - 1 AS place, max(g.sub) OVER (PARTITION BY g.id) AS last FROM grown AS g
    ), places AS MATERIALIZED (
        -- of the last part of node i, at i + 1: ids have no gaps
        SELECT array_agg(n.place ORDER BY n.id) AS of FROM numbered AS n WHERE n.sub = n.last
    )
    SELECT jsonb_build_object('format', 'perfmodel-graph/1', 'name', name, 'source', 'perfmodel.decoder_graph',
                              'nodes', jsonb_agg(jsonb_build_object('id', n.place, 'op', n.op, 'shape', 1 || n.shape, 'batch_dim', 0, 'inputs', CASE
                                           WHEN n.sub IN (2, 3, 4) THEN jsonb_build_array(n.place - 1) WHEN n.sub = 5 THEN jsonb_build_array(n.place - 5, n.place - 1)
                                           ELSE (SELECT coalesce(jsonb_agg(p.of[u.i + 1] ORDER BY u.k), '[]') FROM unnest(n.inputs) WITH ORDINALITY AS u(i, k)) END) || n.more ORDER BY n.place))
    INTO result FROM numbered AS n, places AS p;
    RETURN result;
END $$;
COMMENT ON FUNCTION perfmodel.decoder_graph(text, integer, integer, integer, integer, integer, text, integer, integer, boolean, text, integer, text, integer, integer) IS
    'document of a decoder-only language model of these sizes, for load_graph: GPT or Llama, with LoRA or experts';
