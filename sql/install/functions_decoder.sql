-- Graphs of language models, from the config.json that comes with them or from their sizes, for those who have these and not the model.
--
-- A layer is described by a JSON object, which decoder_spec and decoder_graph make. Sizes: s tokens, h hidden, heads, kv (heads of keys and values),
-- d (width of a head of queries and keys), dv (of values), rotary (of d, how many turn with the position; 0: none), wide (of the dense feed-forward
-- part, or of shared experts), experts, chosen, tokens (of each expert), expert_wide, q_rank, kv_rank (latent attention), window. The rest are
-- choices: norm, norm_bias, pre_norm, post_norm, qk_norm, packed, packed_feed, gated, act, *_bias, router, shared_gate, sinks, attention, cap.

CREATE FUNCTION perfmodel.decoder_weights(shape bigint[], bias boolean DEFAULT false) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 10
BEGIN ATOMIC
    SELECT jsonb_build_object('weights', CASE WHEN bias THEN jsonb_build_array(shape, trim_array(shape, 1)) ELSE jsonb_build_array(shape) END);
END;
COMMENT ON FUNCTION perfmodel.decoder_weights(bigint[], boolean) IS 'a part of decoder_graph: the weights of a product, and its bias';

-- An operator reads others by their keys; "x" is what the layer reads. One that is not there stands for the first that it would read.
CREATE FUNCTION perfmodel.decoder_attention(spec jsonb)
    RETURNS TABLE (place integer, key text, op text, reads text[], shape bigint[], more jsonb, there boolean, module text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 100 ROWS 60
BEGIN ATOMIC
    WITH p AS (
        SELECT p.*, p.heads * p.d AS q_wide, p.kv * p.d AS kv_wide, p.kv_rank IS NOT NULL AS latent, p.attention = 'plain' AS plain,
               CASE WHEN p.norm_bias THEN jsonb_build_object('weights', jsonb_build_array(ARRAY[p.h], ARRAY[p.h])) ELSE perfmodel.decoder_weights(ARRAY[p.h]) END AS normed,
               CASE WHEN p.qk_norm = 'head' THEN perfmodel.decoder_weights(ARRAY[p.d]) ELSE '{}' END AS normed_head,
               CASE WHEN p.heads = p.kv THEN '{"view": true}' ELSE '{}' END::jsonb AS spread, '{"view": true}'::jsonb AS view
        FROM jsonb_to_record(spec) AS p(s bigint, h bigint, heads bigint, kv bigint, d bigint, dv bigint, rotary bigint, q_rank bigint, kv_rank bigint, "window" bigint, norm text, norm_bias boolean,
                                        pre_norm boolean, post_norm boolean, qk_norm text, packed boolean, qkv_bias boolean, out_bias boolean, sinks boolean, attention text, cap boolean)
    )
    SELECT r.place, r.key, r.op, r.reads::text[], r.shape, r.more, r.there, r.module
    FROM p, LATERAL (VALUES
        (10, 'norm_1', norm, '{x}', ARRAY[s, h], normed, pre_norm, 'norm_1'),
        (11, 'packed', 'Gemm', '{norm_1}', ARRAY[s, q_wide + 2 * kv_wide], perfmodel.decoder_weights(ARRAY[q_wide + 2 * kv_wide, h], qkv_bias), packed, 'attention.qkv'),
        (12, 'q_low', 'Gemm', '{packed}', ARRAY[s, q_rank], perfmodel.decoder_weights(ARRAY[q_rank, h], qkv_bias), q_rank IS NOT NULL, 'attention.q_a'),
        (13, 'q_low_norm', norm, '{q_low}', ARRAY[s, q_rank], perfmodel.decoder_weights(ARRAY[q_rank]), q_rank IS NOT NULL, 'attention.q_a_norm'),
        (14, 'q', 'Gemm', '{q_low_norm}', ARRAY[s, q_wide], perfmodel.decoder_weights(ARRAY[q_wide, coalesce(q_rank, h)], qkv_bias AND q_rank IS NULL), NOT packed, 'attention.q'),
        (15, 'k', 'Gemm', '{packed}', ARRAY[s, kv_wide], perfmodel.decoder_weights(ARRAY[kv_wide, h], qkv_bias), NOT packed AND NOT latent, 'attention.k'),
        (16, 'v', 'Gemm', '{packed}', ARRAY[s, kv_wide], perfmodel.decoder_weights(ARRAY[kv_wide, h], qkv_bias), NOT packed AND NOT latent, 'attention.v'),
        -- latent attention: keys and values come from few numbers of each token, and positions turn a part of the key that all heads share
        (17, 'kv_low', 'Gemm', '{packed}', ARRAY[s, kv_rank + rotary], perfmodel.decoder_weights(ARRAY[kv_rank + rotary, h], qkv_bias), latent, 'attention.kv_a'),
        (18, 'kv_part', 'Slice', '{kv_low}', ARRAY[s, kv_rank], view, latent, 'attention'),
        (19, 'kv_norm', norm, '{kv_part}', ARRAY[s, kv_rank], perfmodel.decoder_weights(ARRAY[kv_rank]), latent, 'attention.kv_a_norm'),
        (20, 'kv', 'Gemm', '{kv_norm}', ARRAY[s, heads * (d - rotary + dv)], perfmodel.decoder_weights(ARRAY[heads * (d - rotary + dv), kv_rank]), latent, 'attention.kv_b'),
        (21, 'q_normed', norm, '{q}', ARRAY[s, q_wide], perfmodel.decoder_weights(ARRAY[q_wide]), coalesce(qk_norm = 'all', false), 'attention.q_norm'),
        (22, 'k_normed', norm, '{k}', ARRAY[s, kv_wide], perfmodel.decoder_weights(ARRAY[kv_wide]), coalesce(qk_norm = 'all', false), 'attention.k_norm'),
        (23, 'q_heads', CASE WHEN packed THEN 'Slice' ELSE 'Reshape' END, '{q_normed}', ARRAY[heads, s, d], view, true, 'attention'),
        (24, 'k_heads', CASE WHEN packed OR latent THEN 'Slice' ELSE 'Reshape' END, CASE WHEN latent THEN '{kv_low}' ELSE '{k_normed}' END, CASE WHEN latent THEN ARRAY[1, s, rotary] ELSE ARRAY[kv, s, d] END, view, true, 'attention'),
        (25, 'v_heads', CASE WHEN packed OR latent THEN 'Slice' ELSE 'Reshape' END, CASE WHEN latent THEN '{kv}' ELSE '{v}' END, ARRAY[CASE WHEN latent THEN heads ELSE kv END, s, dv], view, true, 'attention'),
        (26, 'k_plain', 'Slice', '{kv}', ARRAY[heads, s, d - rotary], view, latent, 'attention'),
        (27, 'q_head_norm', norm, '{q_heads}', ARRAY[heads, s, d], normed_head, coalesce(qk_norm IN ('head', 'bare'), false), 'attention.q_norm'),
        (28, 'k_head_norm', norm, '{k_heads}', ARRAY[kv, s, d], normed_head, coalesce(qk_norm IN ('head', 'bare'), false), 'attention.k_norm'),
        (50, 'k_spread', 'Expand', '{k_whole}', ARRAY[heads, s, rotary], view, latent, 'attention'),
        (51, 'k_all', 'Concat', CASE WHEN latent THEN '{k_plain,k_spread}' ELSE '{k_spread}' END, ARRAY[heads, s, d], '{}', latent, 'attention'),
        (52, 'fused', 'Attention', '{q_whole,k_all,v_heads}', ARRAY[heads, s, dv], CASE WHEN sinks THEN perfmodel.decoder_weights(ARRAY[heads]) ELSE '{}' END ||
             jsonb_build_object('attrs', '{"is_causal": 1}'::jsonb || CASE WHEN attention ~ '^flash' THEN jsonb_build_object('flash', right(attention, 1)::integer) ELSE '{}' END ||
                                CASE WHEN "window" < s THEN jsonb_build_object('window', "window") ELSE '{}' END), NOT plain, 'attention'),
        -- whatever a scalar is, the operator costs the same
        (53, 'k_each', 'Expand', '{k_all}', ARRAY[heads, s, d], CASE WHEN latent THEN view ELSE spread END, plain, 'attention'),
        (54, 'k_columns', 'Transpose', '{k_each}', ARRAY[heads, d, s], view, plain, 'attention'),
        (55, 'v_each', 'Expand', '{v_heads}', ARRAY[heads, s, dv], CASE WHEN latent THEN view ELSE spread END, plain, 'attention'),
        (56, 'scores', 'MatMul', '{q_whole,k_columns}', ARRAY[heads, s, s], '{}', plain, 'attention'),
        (57, 'scaled', 'Div', '{scores}', ARRAY[heads, s, s], '{"attrs": {"scalar": 8}}', plain, 'attention'),
        (58, 'less', 'Div', '{scaled}', ARRAY[heads, s, s], '{"attrs": {"scalar": 8}}', plain AND cap, 'attention'),
        (59, 'bounded', 'Tanh', '{less}', ARRAY[heads, s, s], '{}', plain AND cap, 'attention'),
        (60, 'capped', 'Mul', '{bounded}', ARRAY[heads, s, s], '{"attrs": {"scalar": 8}}', plain AND cap, 'attention'),
        (61, 'masked', 'Where', '{capped}', ARRAY[heads, s, s], '{}', plain, 'attention'),
        (62, 'sunk', 'Concat', '{masked}', ARRAY[heads, s, s + 1], perfmodel.decoder_weights(ARRAY[heads]), plain AND sinks, 'attention'),
        (63, 'shares', 'Softmax', '{sunk}', ARRAY[heads, s, s + sinks::integer], '{"attrs": {"axis": -1}}', plain, 'attention'),
        (64, 'seen', 'Slice', '{shares}', ARRAY[heads, s, s], view, plain AND sinks, 'attention'),
        (65, 'attended', 'MatMul', CASE WHEN plain THEN '{seen,v_each}' ELSE '{fused}' END, ARRAY[heads, s, dv], '{}', plain, 'attention'),
        (66, 'joined', 'Reshape', '{attended}', ARRAY[s, heads * dv], view, true, 'attention'),
        (67, 'out', 'Gemm', '{joined}', ARRAY[s, h], perfmodel.decoder_weights(ARRAY[h, heads * dv], out_bias), true, 'attention.out'),
        (68, 'out_norm', norm, '{out}', ARRAY[s, h], normed, post_norm, 'norm_1_post'),
        (69, 'middle', 'Add', '{x,out_norm}', ARRAY[s, h], '{}', true, '')
    ) AS r(place, key, op, reads, shape, more, there, module)
    UNION ALL
    -- rotary positions as most programs write them: x cos + (-x2, x1) sin
    SELECT of.place + r.place, of.name || r.key, r.op, ARRAY(SELECT CASE WHEN u.reads = 'in' THEN of.reads ELSE of.name || u.reads END FROM unnest(r.reads::text[]) WITH ORDINALITY AS u(reads, nr) ORDER BY u.nr),
           ARRAY[of.n, s, r.width], r.more, rotary > 0 AND r.there, 'rotary'
    FROM p, LATERAL (VALUES (30, 'q', 'q_head_norm', heads, d), (40, 'k', 'k_head_norm', CASE WHEN latent THEN 1 ELSE kv END, CASE WHEN latent THEN rotary ELSE d END)) AS of(place, name, reads, n, width),
         LATERAL (VALUES
        (0, '_part', 'Slice', '{in}', rotary, view, rotary < of.width), (1, '_1', 'Slice', '{_part}', rotary / 2, view, true), (2, '_2', 'Slice', '{_part}', rotary - rotary / 2, view, true),
        (3, '_minus', 'Neg', '{_2}', rotary - rotary / 2, '{}', true), (4, '_swapped', 'Concat', '{_minus,_1}', rotary, '{}', true),
        (5, '_cos', 'Mul', '{_part}', rotary, jsonb_build_object('consts', jsonb_build_array(ARRAY[s, rotary])), true),
        (6, '_sin', 'Mul', '{_swapped}', rotary, jsonb_build_object('consts', jsonb_build_array(ARRAY[s, rotary])), true), (7, '_turned', 'Add', '{_cos,_sin}', rotary, '{}', true),
        (8, '_rest', 'Slice', '{in}', of.width - rotary, view, rotary < of.width), (9, '_whole', 'Concat', '{_turned,_rest}', of.width, '{}', rotary < of.width)
    ) AS r(place, key, op, reads, width, more, there);
END;
COMMENT ON FUNCTION perfmodel.decoder_attention(jsonb) IS 'a part of decoder_graph: the operators of the attention of a layer, by their places';

-- The feed-forward part of a layer. In a mixture of experts, a router chooses some for each token, and each expert has the same number of tokens.
-- Tokens are copied to their experts and added up behind them, in whole rows and in
-- an order of memory, as kernels do that permute tokens: so it is no look-up in a table, whose rows are added up one by one in the backward pass.
CREATE FUNCTION perfmodel.decoder_feed(spec jsonb)
    RETURNS TABLE (place integer, key text, op text, reads text[], shape bigint[], more jsonb, there boolean, module text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 100 ROWS 30
BEGIN ATOMIC
    WITH p AS (
        SELECT p.*, p.experts IS NOT NULL AS mixed, p.wide IS NOT NULL AS dense, CASE WHEN p.experts IS NULL THEN 'feed' ELSE 'feed.shared' END AS part, '{"view": true}'::jsonb AS view,
               CASE WHEN p.norm_bias THEN jsonb_build_object('weights', jsonb_build_array(ARRAY[p.h], ARRAY[p.h])) ELSE perfmodel.decoder_weights(ARRAY[p.h]) END AS normed
        FROM jsonb_to_record(spec) AS p(s bigint, h bigint, wide bigint, experts bigint, chosen bigint, tokens bigint, expert_wide bigint, norm text, norm_bias boolean, pre_norm boolean, post_norm boolean,
                                        gated boolean, packed_feed boolean, act text, feed_bias boolean, expert_bias boolean, router text, router_bias boolean, router_shift boolean, shared_gate boolean)
    )
    SELECT r.place, r.key, r.op, r.reads::text[], r.shape, r.more, r.there, r.module
    FROM p, LATERAL (VALUES
        (100, 'norm_2', norm, '{middle}', ARRAY[s, h], normed, pre_norm, 'norm_2'),
        (101, 'router', 'Gemm', '{norm_2}', ARRAY[s, experts], perfmodel.decoder_weights(ARRAY[experts, h], router_bias), mixed, 'feed.router'),
        (102, 'chances', router, '{router}', ARRAY[s, experts], CASE router WHEN 'Softmax' THEN '{"attrs": {"axis": -1}}' ELSE '{}' END::jsonb, mixed, 'feed.router'),
        (103, 'shifted', 'Add', '{chances}', ARRAY[s, experts], perfmodel.decoder_weights(ARRAY[experts]), mixed AND router_shift, 'feed.router'),
        (104, 'choice', 'TopK', '{shifted}', ARRAY[s, chosen], '{}', mixed, 'feed.router'),
        (105, 'parts', 'Slice', '{choice}', ARRAY[experts, tokens, 1], view, mixed, 'feed.router'),
        (106, 'sent', 'Tile', '{norm_2,choice}', ARRAY[experts, tokens, h], '{}', mixed, 'feed'),
        (107, 'expert_gate', 'MatMul', '{sent}', ARRAY[experts, tokens, expert_wide], perfmodel.decoder_weights(ARRAY[experts, expert_wide, h], expert_bias), mixed AND gated, 'feed.experts.gate'),
        (108, 'expert_up', 'MatMul', '{sent}', ARRAY[experts, tokens, expert_wide], perfmodel.decoder_weights(ARRAY[experts, expert_wide, h], expert_bias), mixed, 'feed.experts.up'),
        (109, 'expert_act', act, CASE WHEN gated THEN '{expert_gate}' ELSE '{expert_up}' END, ARRAY[experts, tokens, expert_wide], '{}', mixed, 'feed'),
        (110, 'expert_mul', 'Mul', '{expert_act,expert_up}', ARRAY[experts, tokens, expert_wide], '{}', mixed AND gated, 'feed'),
        (111, 'expert_down', 'MatMul', '{expert_mul}', ARRAY[experts, tokens, h], perfmodel.decoder_weights(ARRAY[experts, h, expert_wide], expert_bias), mixed, 'feed.experts.down'),
        (112, 'weighed', 'Mul', '{expert_down,parts}', ARRAY[experts, tokens, h], '{}', mixed, 'feed'),
        (113, 'routed', 'ReduceSum', '{weighed}', ARRAY[s, h], '{}', mixed, 'feed'),
        (120, 'both', 'Gemm', '{norm_2}', ARRAY[s, 2 * wide], perfmodel.decoder_weights(ARRAY[2 * wide, h], feed_bias), dense AND packed_feed, part || '.gate_up'),
        (121, 'gate', CASE WHEN packed_feed THEN 'Slice' ELSE 'Gemm' END, '{both}', ARRAY[s, wide], CASE WHEN packed_feed THEN view ELSE perfmodel.decoder_weights(ARRAY[wide, h], feed_bias) END, dense AND gated, part || '.gate'),
        (122, 'up', CASE WHEN packed_feed THEN 'Slice' ELSE 'Gemm' END, '{both}', ARRAY[s, wide], CASE WHEN packed_feed THEN view ELSE perfmodel.decoder_weights(ARRAY[wide, h], feed_bias) END, dense, part || '.up'),
        (123, 'act', act, CASE WHEN gated THEN '{gate}' ELSE '{up}' END, ARRAY[s, wide], '{}', dense, part), (124, 'mul', 'Mul', '{act,up}', ARRAY[s, wide], '{}', dense AND gated, part),
        (125, 'down', 'Gemm', '{mul}', ARRAY[s, h], perfmodel.decoder_weights(ARRAY[h, wide], feed_bias), dense, part || '.down'),
        (126, 'share', 'Gemm', '{norm_2}', ARRAY[s, 1], perfmodel.decoder_weights(ARRAY[1, h]), mixed AND dense AND shared_gate, 'feed.shared.share'),
        (127, 'sigmoid', 'Sigmoid', '{share}', ARRAY[s, 1], '{}', mixed AND dense AND shared_gate, 'feed.shared'),
        (128, 'shared', 'Mul', '{down,sigmoid}', ARRAY[s, h], '{}', mixed AND dense AND shared_gate, 'feed.shared'),
        (129, 'fed', 'Add', CASE WHEN mixed THEN '{routed,shared}' ELSE '{down}' END, ARRAY[s, h], '{}', mixed AND dense, 'feed'),
        (130, 'fed_norm', norm, '{fed}', ARRAY[s, h], normed, post_norm, 'norm_2_post'),
        (131, 'y', 'Add', '{middle,fed_norm}', ARRAY[s, h], '{}', true, '')
    ) AS r(place, key, op, reads, shape, more, there, module);
END;
COMMENT ON FUNCTION perfmodel.decoder_feed(jsonb) IS 'a part of decoder_graph: the operators of the feed-forward part of a layer, by their places';

-- Inputs count from the first node of the layer; -1 is what the layer reads.
CREATE FUNCTION perfmodel.decoder_layer(spec jsonb) RETURNS TABLE (at integer, op text, inputs integer[], shape bigint[], more jsonb)
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 ROWS 40 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    id jsonb := '{"x": -1}';	-- of each key
    r record;
BEGIN
    at := 0;
    FOR r IN SELECT * FROM perfmodel.decoder_attention(spec) UNION ALL SELECT * FROM perfmodel.decoder_feed(spec) ORDER BY place LOOP
        inputs := ARRAY(SELECT (id->>u.key)::integer FROM unnest(r.reads) WITH ORDINALITY AS u(key, nr) ORDER BY u.nr);
        IF r.there THEN
            id := id || jsonb_build_object(r.key, at);
            op := r.op;
            shape := r.shape;
            more := r.more || jsonb_build_object('module', r.module);
            RETURN NEXT;
            at := at + 1;
        ELSE
            id := id || jsonb_build_object(r.key, inputs[1]);
        END IF;
    END LOOP;
END $$;
COMMENT ON FUNCTION perfmodel.decoder_layer(jsonb) IS
    'a part of decoder_graph: the operators of one layer, in order; an input of -1 is what the layer reads';

-- The whole model: spec has, besides what all layers have, "layers", an array of what each layer has of its own, and vocabulary, positions, scaled, tied, bounded.
CREATE FUNCTION perfmodel.decoder_document(name text, spec jsonb, lora_rank integer, lora_on text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    sequence bigint := (spec->>'s')::bigint;
    hidden bigint := (spec->>'h')::bigint;
    vocabulary bigint := (spec->>'vocabulary')::bigint;
    result jsonb;
BEGIN
    WITH each AS (
        SELECT (e.nr - 1)::integer AS n, e.own FROM jsonb_array_elements(spec->'layers') WITH ORDINALITY AS e(own, nr)
    ), layer AS MATERIALIZED (
        SELECT k.own, l.*, count(*) OVER (PARTITION BY k.own)::integer AS size
        FROM (SELECT DISTINCT e.own FROM each AS e) AS k, LATERAL perfmodel.decoder_layer(spec - 'layers' || k.own) AS l
    ), before AS (
        SELECT (row_number() OVER (ORDER BY b.place) - 1)::integer AS id, b.op, b.inputs::integer[] AS inputs, b.shape, b.more
        FROM (VALUES (0, 'Input', '{}', ARRAY[sequence], '{}'::jsonb, true),
                     (1, 'Gather', '{0}', ARRAY[sequence, hidden], jsonb_build_object('module', 'embedding') || perfmodel.decoder_weights(ARRAY[vocabulary, hidden]), true),
                     (2, 'Gather', '{0}', ARRAY[sequence, hidden], jsonb_build_object('module', 'positions') || perfmodel.decoder_weights(ARRAY[(spec->>'positions')::bigint, hidden]), spec ? 'positions'),
                     (3, 'Add', '{1,2}', ARRAY[sequence, hidden], '{}', spec ? 'positions'),
                     (4, 'Mul', CASE WHEN spec ? 'positions' THEN '{3}' ELSE '{1}' END, ARRAY[sequence, hidden], '{"attrs": {"scalar": 8}}', spec ? 'scaled')) AS b(place, op, inputs, shape, more, there)
        WHERE b.there
    ), start AS MATERIALIZED (
        SELECT e.n, e.own, ((SELECT count(*) FROM before) + sum(s.size) OVER (ORDER BY e.n) - s.size)::integer AS first, s.size
        FROM each AS e JOIN (SELECT DISTINCT l.own, l.size FROM layer AS l) AS s USING (own)
    ), node AS (
        SELECT b.* FROM before AS b
        UNION ALL SELECT s.first + l.at, l.op, ARRAY(SELECT s.first + i FROM unnest(l.inputs) WITH ORDINALITY AS u(i, k) ORDER BY k), l.shape,
                         l.more || jsonb_build_object('module', rtrim(format('layers.%s.%s', s.n, l.more->>'module'), '.'))
                  FROM start AS s JOIN layer AS l USING (own)
        UNION ALL SELECT e.id + a.place, a.op, ARRAY[e.id + a.place - 1], ARRAY[sequence, a.width], a.more
                  FROM (SELECT max(s.first + s.size) AS id FROM start AS s) AS e, LATERAL (VALUES
                      (0, spec->>'norm', hidden, jsonb_build_object('module', 'norm', 'weights', jsonb_build_array(ARRAY[hidden]) || CASE WHEN (spec->>'norm_bias')::boolean THEN jsonb_build_array(ARRAY[hidden]) ELSE '[]' END), true),
                      (1, 'Gemm', vocabulary, jsonb_build_object('module', 'head') || perfmodel.decoder_weights(ARRAY[vocabulary, hidden]) ||
                          CASE WHEN (spec->>'tied')::boolean THEN '{"attrs": {"tied": 1}}' ELSE '{}'::jsonb END, true),
                      (2, 'Div', vocabulary, '{"module": "head", "attrs": {"scalar": 8}}', spec ? 'bounded'), (3, 'Tanh', vocabulary, '{"module": "head"}', spec ? 'bounded'),
                      (4, 'Mul', vocabulary, '{"module": "head", "attrs": {"scalar": 8}}', spec ? 'bounded')) AS a(place, op, width, more, there) WHERE a.there
    ), grown AS (
        -- LoRA: what the model has is frozen, and beside a product run two narrow ones: x W + scale (dropout(x) A) B
        SELECT n.id, 0 AS sub, n.op, n.inputs, n.shape,
               CASE WHEN lora_rank IS NULL OR NOT n.more ? 'weights' THEN n.more ELSE n.more || jsonb_build_object('attrs', coalesce(n.more->'attrs', '{}') || '{"frozen": 1}') END AS more
        FROM node AS n
        UNION ALL
        SELECT n.id, l.sub, l.op, n.inputs, ARRAY[sequence, l.width], l.more || jsonb_build_object('module', n.more->>'module')
        FROM node AS n, LATERAL (VALUES (1, 'Dropout', (n.more#>>'{weights,0,1}')::bigint, '{}'::jsonb),
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
COMMENT ON FUNCTION perfmodel.decoder_document(text, jsonb, integer, text) IS 'a part of decoder_graph: the document of a model of such layers';

CREATE FUNCTION perfmodel.decoder_choices(attention text, lora_on text, adapters boolean, experts boolean) RETURNS void
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 100 SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF attention IS NULL OR attention NOT IN ('fused', 'flash1', 'flash2', 'flash3', 'plain') THEN
        RAISE EXCEPTION 'unknown attention %', coalesce(quote_literal(left(attention, 64)), 'NULL') USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Known are "fused" (one kernel, as scaled_dot_product_attention: FlashAttention-2), "flash1", "flash2" and "flash3" (the same with that release of FlashAttention; "flash3" is cuDNN''s kernel, too), and "plain" (products, mask and softmax as operators of their own).';
    ELSIF lora_on IS NULL OR lora_on NOT IN ('attention', 'all') THEN
        RAISE EXCEPTION 'unknown lora_on %', coalesce(quote_literal(left(lora_on, 64)), 'NULL') USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Known are "attention" (its products with weights have adapters) and "all" (those of the feed-forward part, too).';
    ELSIF experts AND adapters AND lora_on = 'all' THEN
        RAISE EXCEPTION 'adapters of experts are not known' USING ERRCODE = 'feature_not_supported', HINT = 'With experts, lora_on is "attention".';
    END IF;
END $$;
COMMENT ON FUNCTION perfmodel.decoder_choices(text, text, boolean, boolean) IS 'a part of decoder_graph: refuses words that it does not know';

-- What is alike in all models of a type, and what their configurations leave out; NULL: the type is not known. "config" has members of config.json that have
-- another default than none. "slides" says which layers have a window, where layer_types does not. "mixed" is the member that counts the experts.
CREATE FUNCTION perfmodel.decoder_style(model_type text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 100
BEGIN ATOMIC
    SELECT '{"norm": "RMSNormalization", "norm_bias": false, "pre_norm": true, "post_norm": false, "packed": false, "packed_feed": false, "gated": true, "act": "Silu",
             "qkv_bias": false, "out_bias": false, "feed_bias": false, "expert_bias": false, "router_bias": false, "router_shift": false, "router": "Softmax", "shared_gate": false, "sinks": false, "cap": false}'::jsonb || t.own::jsonb
    FROM (VALUES
        ('gpt2', '{"norm": "LayerNormalization", "norm_bias": true, "packed": true, "gated": false, "act": "Gelu", "qkv_bias": true, "out_bias": true, "feed_bias": true, "expert_bias": true,
                   "config": {"tie_word_embeddings": true, "n_positions": 1024, "rotary": false}}'),
        ('mpt', '{"norm": "LayerNormalization", "packed": true, "gated": false, "act": "Gelu", "config": {"tie_word_embeddings": true, "n_positions": 2048, "rotary": false}}'),
        ('llama', '{}'), ('mistral', '{"slides": "all", "config": {"sliding_window": 4096}}'), ('mixtral', '{"slides": "all", "mixed": "num_local_experts"}'),
        ('qwen2', '{"qkv_bias": true, "slides": "late"}'), ('qwen2_moe', '{"qkv_bias": true, "mixed": "num_experts", "shared_gate": true, "slides": "late"}'),
        ('qwen3', '{"qk_norm": "head", "slides": "late", "config": {"head_dim": 128}}'), ('qwen3_moe', '{"qk_norm": "head", "mixed": "num_experts", "slides": "late"}'),
        ('gemma', '{"act": "Gelu", "scaled": true, "config": {"tie_word_embeddings": true, "head_dim": 256}}'),
        ('gemma2', '{"act": "Gelu", "scaled": true, "post_norm": true, "slides": "even", "config": {"tie_word_embeddings": true, "head_dim": 256, "sliding_window": 4096, "attn_logit_softcapping": 50, "final_logit_softcapping": 30}}'),
        ('gemma3_text', '{"act": "Gelu", "scaled": true, "post_norm": true, "qk_norm": "head", "slides": "pattern",
                          "config": {"tie_word_embeddings": true, "head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 6, "vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4}}'),
        ('phi3', '{"packed": true, "packed_feed": true, "slides": "all"}'),
        ('olmo2', '{"pre_norm": false, "post_norm": true, "qk_norm": "all"}'),
        ('deepseek_v2', '{"latent": true, "mixed": "n_routed_experts"}'), ('deepseek_v3', '{"latent": true, "mixed": "n_routed_experts", "router": "Sigmoid", "router_shift": true}'),
        ('kimi_k2', '{"latent": true, "mixed": "n_routed_experts", "router": "Sigmoid", "router_shift": true}'),
        ('gpt_oss', '{"mixed": "num_local_experts", "sinks": true, "router_bias": true, "expert_bias": true, "slides": "even", "config": {"head_dim": 64, "attention_bias": true, "sliding_window": 128}}'),
        ('llama4_text', '{"mixed": "num_local_experts", "router": "Sigmoid", "slides": "chunks", "config": {"head_dim": 128, "attention_chunk_size": 8192, "no_rope_layer_interval": 4}}')
    ) AS t(model_type, own)
    WHERE t.model_type = decoder_style.model_type;
END;
COMMENT ON FUNCTION perfmodel.decoder_style(text) IS 'a part of decoder_graph: what is alike in all models of a model_type of config.json';
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
    ELSIF chosen < 1 OR chosen > experts OR (chosen IS NOT NULL AND experts IS NULL) THEN
        RAISE EXCEPTION '%', CASE WHEN experts IS NULL THEN format('"experts_per_token" is %s, and "experts" is NULL', chosen) ELSE format('"experts_per_token" is %s, and there are %s experts', chosen, experts) END
            USING ERRCODE = 'invalid_parameter_value', HINT = 'They stand in config.json: num_local_experts and num_experts_per_tok.';
    ELSIF hidden % heads <> 0 OR heads % kv <> 0 THEN
        RAISE EXCEPTION '%', CASE WHEN hidden % heads <> 0 THEN format('hidden size %s is not a multiple of %s heads', hidden, heads) ELSE format('%s heads are not a multiple of %s kv_heads', heads, kv) END
            USING ERRCODE = 'invalid_parameter_value', HINT = 'Each head has an equal part of the hidden size, and each head of keys and values serves as many heads of queries.';
    END IF;
    PERFORM perfmodel.decoder_choices(attention, lora_on, lora_rank IS NOT NULL, experts IS NOT NULL);
    RETURN perfmodel.decoder_document(name, perfmodel.decoder_style(CASE style WHEN 'gpt' THEN 'gpt2' ELSE style END) || jsonb_strip_nulls(jsonb_build_object(
        's', sequence, 'h', hidden, 'heads', heads, 'kv', kv, 'd', hidden / heads, 'dv', hidden / heads, 'rotary', CASE style WHEN 'gpt' THEN 0 ELSE hidden / heads END,
        'wide', CASE WHEN experts IS NULL THEN wide END, 'experts', experts, 'chosen', chosen, 'tokens', tokens, 'expert_wide', wide, 'attention', attention,
        'vocabulary', vocabulary, 'positions', CASE style WHEN 'gpt' THEN sequence END, 'tied', coalesce(tied, style = 'gpt'),
        'layers', (SELECT jsonb_agg('{}'::jsonb) FROM generate_series(1, layers)))), lora_rank, lora_on);
END $$;
COMMENT ON FUNCTION perfmodel.decoder_graph(text, integer, integer, integer, integer, integer, text, integer, integer, boolean, text, integer, text, integer, integer) IS
    'document of a decoder-only language model of these sizes, for load_graph: GPT or Llama, with LoRA or experts';

-- A whole number of a configuration: the first of these members that it has.
CREATE FUNCTION perfmodel.decoder_size(config jsonb, members text[], fallback bigint, lowest bigint, highest bigint) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 100 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    member text := (SELECT m FROM unnest(members) WITH ORDINALITY AS u(m, nr) WHERE config->m <> 'null' ORDER BY nr LIMIT 1);
BEGIN
    IF member IS NULL AND fallback IS NOT NULL THEN
        RETURN fallback;
    ELSIF member IS NULL THEN
        RAISE EXCEPTION 'the configuration has no "%"', members[1] USING ERRCODE = 'invalid_parameter_value',
            HINT = format('A model whose model_type is "%s" has it. Give the config.json of the model as it is, from its page or its folder.', config->>'model_type');
    ELSIF jsonb_typeof(config->member) <> 'number' OR (config->>member)::numeric NOT BETWEEN lowest AND highest OR (config->>member)::numeric % 1 <> 0 THEN
        RAISE EXCEPTION '"%" of the configuration is %', member, left((config->member)::text, 64) USING ERRCODE = 'invalid_parameter_value',
            HINT = format('It is a whole number from %s to %s.', lowest, highest);
    END IF;
    RETURN (config->>member)::numeric::bigint;
END $$;
COMMENT ON FUNCTION perfmodel.decoder_size(jsonb, text[], bigint, bigint, bigint) IS 'a part of decoder_graph: a size that stands in a configuration';

-- A configuration with what its type leaves out, and without what is null: that is off, even where the type has another default.
CREATE FUNCTION perfmodel.decoder_config(config jsonb, style jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    c jsonb := jsonb_strip_nulls(coalesce(style->'config', '{}') || config);
    wrong text;
BEGIN
    SELECT m INTO wrong FROM unnest('{tie_word_embeddings,attention_bias,mlp_bias,qkv_bias,no_bias,use_sliding_window,use_qk_norm}'::text[]) AS m WHERE jsonb_typeof(c->m) <> 'boolean' LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '"%" of the configuration is %', wrong, left((c->wrong)::text, 64) USING ERRCODE = 'invalid_parameter_value', HINT = 'It is true or false.';
    END IF;
    SELECT m INTO wrong FROM unnest('{layer_types,mlp_layer_types,mlp_only_layers,moe_layers,no_rope_layers}'::text[]) AS m WHERE jsonb_typeof(c->m) <> 'array' LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION '"%" of the configuration is %', wrong, left((c->wrong)::text, 64) USING ERRCODE = 'invalid_parameter_value', HINT = 'It is an array, with one element for each layer or for each that it names.';
    END IF;
    SELECT t.type::text INTO wrong FROM jsonb_array_elements(c->'layer_types') AS t(type) WHERE t.type NOT IN ('"full_attention"', '"sliding_attention"', '"chunked_attention"') LIMIT 1;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'unknown layer type %', left(wrong, 64) USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Known in "layer_types" are "full_attention", "sliding_attention" and "chunked_attention". A model with other layers can be exported (docs/profiling.md).';
    END IF;
    -- MPT says in a part of its own that queries share keys and values, and that positions turn them
    IF c->>'model_type' = 'mpt' THEN
        c := c || jsonb_strip_nulls(jsonb_build_object('num_key_value_heads', CASE WHEN c#>>'{attn_config,attn_type}' = 'multiquery_attention' THEN '1' ELSE c#>'{attn_config,kv_n_heads}' END,
                                                       'rotary', CASE WHEN c#>'{attn_config,rope}' = 'true' THEN true END));
    END IF;
    -- where Transformers 5 writes it
    RETURN jsonb_strip_nulls(jsonb_build_object('partial_rotary_factor', c#>'{rope_parameters,partial_rotary_factor}')) || c;
END $$;
COMMENT ON FUNCTION perfmodel.decoder_config(jsonb, jsonb) IS 'a part of decoder_graph: a configuration with the defaults of its type';

-- What a layer has of its own: experts or a dense part, a window or none, positions or none. n: of the layer, from 0.
CREATE FUNCTION perfmodel.decoder_own(c jsonb, style jsonb, n bigint, sequence bigint) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1000 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    experts bigint := CASE WHEN style ? 'mixed' THEN nullif(perfmodel.decoder_size(c, ARRAY[style->>'mixed', 'num_experts', 'num_local_experts', 'n_routed_experts'], NULL, 0, 1024), 0) END;
    wide bigint := perfmodel.decoder_size(c, CASE WHEN c ? 'intermediate_size_mlp' THEN '{intermediate_size_mlp}' WHEN experts IS NULL THEN '{intermediate_size,n_inner,ffn_hidden_size}' ELSE '{intermediate_size,moe_intermediate_size}' END::text[],
                                          CASE WHEN style->'gated' = 'false' THEN coalesce(perfmodel.decoder_size(c, '{expansion_ratio}', 4, 1, 64), 4) * perfmodel.decoder_size(c, '{n_embd,d_model}', NULL, 1, 1000000) END, 1, 10000000);
    expert_wide bigint := CASE WHEN experts IS NOT NULL THEN perfmodel.decoder_size(c, CASE style->>'mixed' WHEN 'num_local_experts' THEN '{intermediate_size,moe_intermediate_size}' ELSE '{moe_intermediate_size}' END::text[], NULL, 1, 10000000) END;
    chosen bigint;
    shared bigint;
    type text := c->'layer_types'->>n::integer;	-- sliding_attention, full_attention, chunked_attention
    slides text := CASE WHEN type IS NULL THEN coalesce(style->>'slides', '') END;
    every bigint := perfmodel.decoder_size(c, '{sliding_window_pattern,_sliding_window_pattern,no_rope_layer_interval}', 1, 1, 1000);
    unturned boolean := CASE WHEN c->'no_rope_layers'->n::integer IS NULL THEN (n + 1) % every = 0 ELSE c->'no_rope_layers'->n::integer = '0' END;	-- of Llama 4
    span bigint;
    own jsonb := '{}';
BEGIN
    IF n < perfmodel.decoder_size(c, '{first_k_dense_replace}', 0, 0, 1000) OR n % perfmodel.decoder_size(c, '{moe_layer_freq}', 1, 1, 1000) <> 0
       OR (n + 1) % perfmodel.decoder_size(c, '{decoder_sparse_step,interleave_moe_layer_step}', 1, 1, 1000) <> 0
       OR coalesce(c->'mlp_only_layers', '[]') @> to_jsonb(n) OR coalesce(c->'mlp_layer_types'->>n::integer = 'dense', false) OR NOT coalesce(nullif(c->'moe_layers', 'null'), to_jsonb(n)) @> to_jsonb(n) THEN
        experts := NULL;
    END IF;
    IF experts IS NULL THEN
        own := jsonb_build_object('wide', wide);
    ELSE
        chosen := perfmodel.decoder_size(c, '{num_experts_per_tok,experts_per_token}', NULL, 1, experts);
        shared := coalesce(nullif(perfmodel.decoder_size(c, '{shared_expert_intermediate_size}', CASE WHEN style->'shared_gate' = 'true' THEN NULL ELSE 0 END, 0, 10000000), 0),
                           CASE WHEN style->>'slides' = 'chunks' THEN expert_wide ELSE nullif(perfmodel.decoder_size(c, '{n_shared_experts}', 0, 0, 1024), 0) * expert_wide END);
        own := jsonb_strip_nulls(jsonb_build_object('experts', experts, 'chosen', chosen, 'tokens', (sequence * chosen + experts - 1) / experts, 'expert_wide', expert_wide, 'wide', shared));
    END IF;
    -- a window of so many keys, of all or of some layers
    IF type = 'sliding_attention' OR slides = 'all' OR (slides = 'even' AND n % 2 = 0) OR (slides = 'pattern' AND (n + 1) % every <> 0)
       OR (slides = 'late' AND c->'use_sliding_window' = 'true' AND n >= perfmodel.decoder_size(c, '{max_window_layers}', 28, 0, 1000000)) THEN
        span := nullif(perfmodel.decoder_size(c, '{sliding_window}', 0, 0, 1099511627776), 0);
        own := own || jsonb_strip_nulls(jsonb_build_object('window', CASE WHEN span < sequence THEN span END));
    ELSIF style->>'slides' = 'chunks' AND unturned THEN
        own := own || '{"rotary": 0, "qk_norm": null}';
    ELSIF style->>'slides' = 'chunks' THEN
        -- a chunk is seen up to the own place: the window in which a query sees as many keys in the mean
        span := least(perfmodel.decoder_size(c, '{attention_chunk_size}', sequence, 1, 1099511627776), sequence);
        own := own || CASE WHEN span < sequence THEN jsonb_build_object('window', greatest(1, round(sequence * (1 - sqrt(1 - span::float8 / sequence))))) ELSE '{}' END;
    END IF;
    RETURN own;
END $$;
COMMENT ON FUNCTION perfmodel.decoder_own(jsonb, jsonb, bigint, bigint) IS 'a part of decoder_graph: what one layer of a configuration has of its own';

CREATE FUNCTION perfmodel.decoder_spec(config jsonb, sequence integer) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- of a model that also sees or hears, the part that reads text
    type text := CASE WHEN jsonb_typeof(config->'text_config') = 'object' THEN coalesce(config->'text_config'->>'model_type', config->>'model_type' || '_text') ELSE config->>'model_type' END;
    style jsonb := perfmodel.decoder_style(type);
    c jsonb;
    layers bigint;
    h bigint;
    heads bigint;
    kv bigint;
    d bigint;
    latent bigint;
    turned bigint;	-- of a head, with the position
    positions bigint;	-- that are learned
BEGIN
    IF style IS NULL THEN
        RAISE EXCEPTION '%', CASE WHEN type IS NULL THEN 'the configuration has no "model_type"' ELSE format('unknown model_type %L', left(type, 64)) END USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Known are gpt2, mpt, llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, gemma, gemma2, gemma3_text, phi3, olmo2, deepseek_v2, deepseek_v3, kimi_k2, gpt_oss and llama4_text. Others can be exported (docs/profiling.md), or are near one of these: give its name as model_type.';
    END IF;
    c := perfmodel.decoder_config(CASE WHEN jsonb_typeof(config->'text_config') = 'object' THEN jsonb_strip_nulls(jsonb_build_object('tie_word_embeddings', config->'tie_word_embeddings')) || (config->'text_config') ELSE config END
                                  || jsonb_build_object('model_type', type), style);
    layers := perfmodel.decoder_size(c, ARRAY[CASE type WHEN 'gpt2' THEN 'n_layer' WHEN 'mpt' THEN 'n_layers' ELSE 'num_hidden_layers' END], NULL, 1, 1000);
    h := perfmodel.decoder_size(c, ARRAY[CASE type WHEN 'gpt2' THEN 'n_embd' WHEN 'mpt' THEN 'd_model' ELSE 'hidden_size' END], NULL, 1, 1000000);
    heads := perfmodel.decoder_size(c, ARRAY[CASE type WHEN 'gpt2' THEN 'n_head' WHEN 'mpt' THEN 'n_heads' ELSE 'num_attention_heads' END], NULL, 1, 100000);
    kv := perfmodel.decoder_size(c, '{num_key_value_heads}', heads, 1, 100000);
    latent := nullif(perfmodel.decoder_size(c, '{kv_lora_rank}', CASE WHEN style ? 'latent' THEN NULL ELSE 0 END, (style ? 'latent')::integer, 1000000), 0);
    IF latent IS NOT NULL THEN
        kv := heads;
        turned := perfmodel.decoder_size(c, '{qk_rope_head_dim}', NULL, 1, 100000);
        d := perfmodel.decoder_size(c, '{qk_nope_head_dim}', NULL, 1, 100000) + turned;
    ELSE
        IF NOT c ? 'head_dim' AND h % heads <> 0 THEN
            RAISE EXCEPTION 'hidden size % is not a multiple of % heads', h, heads USING ERRCODE = 'invalid_parameter_value', HINT = 'The width of a head is "head_dim" of the configuration.';
        END IF;
        d := perfmodel.decoder_size(c, '{head_dim}', h / heads, 1, 100000);
        IF coalesce(c->'partial_rotary_factor', '1') <= '0' OR coalesce(c->'partial_rotary_factor', '1') > '1' THEN
            RAISE EXCEPTION '"partial_rotary_factor" of the configuration is %', left(c->>'partial_rotary_factor', 64) USING ERRCODE = 'invalid_parameter_value', HINT = 'It is above 0, and at most 1.';
        END IF;
        turned := CASE WHEN c->'rotary' = 'false' THEN 0 ELSE greatest(1, round(d * coalesce((c->>'partial_rotary_factor')::numeric, 1)))::bigint END;
    END IF;
    -- MPT has slopes in place of positions, unless it says otherwise
    IF c->'rotary' = 'false' AND NOT coalesce(c->'attn_config'->'alibi' = 'true' OR c->'learned_pos_emb' = 'false', false) THEN
        positions := perfmodel.decoder_size(c, '{max_seq_len,n_positions}', NULL, 1, 16777216);
    END IF;
    IF heads % kv <> 0 THEN
        RAISE EXCEPTION '% heads are not a multiple of % heads of keys and values', heads, kv USING ERRCODE = 'invalid_parameter_value',
            HINT = 'Each of num_key_value_heads serves as many of num_attention_heads.';
    ELSIF sequence IS NULL OR sequence NOT BETWEEN 1 AND 16777216 OR sequence > positions THEN
        RAISE EXCEPTION '"sequence" is %', coalesce(sequence::text, 'NULL') USING ERRCODE = 'invalid_parameter_value',
            HINT = 'It is the number of tokens of a sample, 1 to 16,777,216, and no more than the model has positions, where it learns them.';
    END IF;
    RETURN (style - '{config,slides,mixed,latent}'::text[]) || jsonb_strip_nulls(jsonb_build_object(
        's', sequence, 'h', h, 'heads', heads, 'kv', kv, 'd', d, 'dv', CASE WHEN latent IS NULL THEN d ELSE perfmodel.decoder_size(c, '{v_head_dim}', NULL, 1, 100000) END, 'rotary', turned,
        'kv_rank', latent, 'q_rank', CASE WHEN latent IS NOT NULL THEN nullif(perfmodel.decoder_size(c, '{q_lora_rank}', 0, 0, 1000000), 0) END,
        'vocabulary', perfmodel.decoder_size(c, '{vocab_size}', NULL, 1, 100000000), 'tied', coalesce(c->'tie_word_embeddings' = 'true', false),
        'positions', positions,
        'qkv_bias', CASE WHEN c->'attention_bias' = 'true' OR c->'qkv_bias' = 'true' OR c->'no_bias' = 'false' THEN true WHEN c->'qkv_bias' = 'false' THEN false END,
        'out_bias', CASE WHEN (c->'attention_bias' = 'true' AND type NOT LIKE 'qwen2%') OR c->'no_bias' = 'false' THEN true END, 'feed_bias', CASE WHEN c->'mlp_bias' = 'true' OR c->'no_bias' = 'false' THEN true END,
        'norm_bias', CASE WHEN c->'no_bias' = 'false' THEN true END, 'qk_norm', CASE WHEN style->>'slides' = 'chunks' AND c->'use_qk_norm' <> 'false' THEN 'bare' END,
        'cap', CASE WHEN c ? 'attn_logit_softcapping' THEN true END, 'bounded', CASE WHEN c ? 'final_logit_softcapping' THEN true END,
        'layers', (SELECT jsonb_agg(perfmodel.decoder_own(c, style, n, sequence) ORDER BY n) FROM generate_series(0, layers - 1) AS n)));
END $$;
COMMENT ON FUNCTION perfmodel.decoder_spec(jsonb, integer) IS 'a part of decoder_graph: what a config.json says of a model and its layers';

CREATE FUNCTION perfmodel.decoder_graph(name text, config jsonb, sequence integer, attention text DEFAULT 'fused', lora_rank integer DEFAULT NULL, lora_on text DEFAULT 'attention') RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 10000 SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    spec jsonb;
BEGIN
    IF jsonb_typeof(config) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION 'the configuration is no JSON object' USING ERRCODE = 'invalid_parameter_value', HINT = 'Give the config.json of the model as it is.';
    ELSIF lora_rank NOT BETWEEN 1 AND 1000000 THEN
        RAISE EXCEPTION '"lora_rank" is %', lora_rank USING ERRCODE = 'invalid_parameter_value', HINT = 'It is 1 to 1,000,000, or NULL without adapters.';
    END IF;
    spec := perfmodel.decoder_spec(config, sequence);
    PERFORM perfmodel.decoder_choices(attention, lora_on, lora_rank IS NOT NULL, jsonb_path_exists(spec, '$.layers[*].experts'));
    RETURN perfmodel.decoder_document(name, spec || jsonb_build_object('attention', attention), lora_rank, lora_on);
END $$;
COMMENT ON FUNCTION perfmodel.decoder_graph(text, jsonb, integer, text, integer, text) IS
    'document of a decoder-only language model, for load_graph: from its config.json, as Hugging Face has them';
