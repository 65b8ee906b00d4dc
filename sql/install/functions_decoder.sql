-- Graphs of language models from their sizes, for those who have the sizes and not the model.

-- Inputs count from the first node of the layer; -1 is what the layer reads.
CREATE FUNCTION perfmodel.decoder_layer(style text, s integer, h integer, heads integer, kv_heads integer, wide integer)
    RETURNS TABLE (at integer, op text, inputs integer[], shape integer[], more jsonb)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 100 ROWS 30
BEGIN ATOMIC
    WITH d AS (SELECT h / heads AS d, h / heads * kv_heads AS kv)
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

CREATE FUNCTION perfmodel.decoder_graph(name text, layers integer, hidden integer, heads integer, sequence integer, vocabulary integer,
                                        style text DEFAULT 'gpt', kv_heads integer DEFAULT NULL, feed_forward integer DEFAULT NULL, tied boolean DEFAULT NULL) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    kv integer := coalesce(kv_heads, heads);
    wide bigint := coalesce(feed_forward, CASE WHEN style = 'llama' THEN (hidden::bigint * 8 / 3 + 255) / 256 * 256 ELSE 4 * hidden::bigint END);
    wrong text;
    result jsonb;
BEGIN
    SELECT format('"%s" is %s', v.argument, coalesce(v.value::text, 'NULL')) INTO wrong
    FROM (VALUES (1, 'layers', layers, 1, 1000), (2, 'hidden', hidden, 1, 1000000), (3, 'heads', heads, 1, 100000), (4, 'sequence', sequence, 1, 16777216),
                 (5, 'vocabulary', vocabulary, 1, 100000000), (6, 'kv_heads', kv, 1, 100000), (7, 'feed_forward', wide, 1, 10000000)) AS v(place, argument, value, least, most)
    WHERE (v.value BETWEEN v.least AND v.most) IS NOT TRUE ORDER BY v.place LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '%', wrong USING ERRCODE = 'invalid_parameter_value',
            DETAIL = 'The sizes of a language model are at least 1; layers at most 1,000, hidden 1,000,000, heads 100,000, sequence 16,777,216, vocabulary 100,000,000, feed_forward 10,000,000.',
            HINT = 'They stand in the config.json of a model: num_hidden_layers, hidden_size, num_attention_heads, num_key_value_heads, intermediate_size, vocab_size.';
    ELSIF style IS NULL OR style NOT IN ('gpt', 'llama') THEN
        RAISE EXCEPTION 'unknown style %', coalesce(quote_literal(left(style, 64)), 'NULL') USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Known are "gpt" (layer norm, biases, learned positions, GELU) and "llama" (RMS norm, no biases, rotary positions, SwiGLU).';
    ELSIF hidden % heads <> 0 OR heads % kv <> 0 THEN
        RAISE EXCEPTION '%', CASE WHEN hidden % heads <> 0 THEN format('hidden size %s is not a multiple of %s heads', hidden, heads) ELSE format('%s heads are not a multiple of %s kv_heads', heads, kv) END
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Each head has an equal part of the hidden size, and each head of keys and values serves as many heads of queries.';
    END IF;
    WITH layer AS MATERIALIZED (
        SELECT l.*, count(*) OVER () AS size FROM perfmodel.decoder_layer(style, sequence, hidden, heads, kv, wide::integer) AS l
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
    )
    SELECT jsonb_build_object('format', 'perfmodel-graph/1', 'name', name, 'source', 'perfmodel.decoder_graph',
                              'nodes', jsonb_agg(jsonb_build_object('id', n.id, 'op', n.op, 'inputs', n.inputs, 'shape', 1 || n.shape, 'batch_dim', 0) || n.more ORDER BY n.id))
    INTO result FROM node AS n;
    RETURN result;
END $$;
COMMENT ON FUNCTION perfmodel.decoder_graph(text, integer, integer, integer, integer, integer, text, integer, integer, boolean) IS
    'document of a decoder-only language model of these sizes, for load_graph: GPT or Llama, with fused causal attention';
