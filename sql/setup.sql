-- The extension, and what the tests share: small networks, measurements of
-- them, and a way to see all parts of an error.
CREATE EXTENSION perfmodel;
SET client_min_messages = warning;
CREATE SCHEMA helper;

-- SQLSTATE, message, detail and hint of the error that a statement ends in.
CREATE FUNCTION helper.error_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    m text; d text; h text; c text;
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS m = MESSAGE_TEXT, d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT, c = CONSTRAINT_NAME;
    RETURN SQLSTATE || ': ' || m || CASE WHEN d <> '' THEN E'\n  detail: ' || d ELSE '' END
        || CASE WHEN h <> '' THEN E'\n  hint: ' || h ELSE '' END
        || CASE WHEN c <> '' THEN E'\n  constraint: ' || c ELSE '' END;
END $$;

-- A chain of convolutions: depth times Conv, BatchNormalization, Relu; then pooling and a classifier.
CREATE FUNCTION helper.cnn(name text, width int, depth int, image int DEFAULT 32) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('format', 'perfmodel-graph/1', 'name', name, 'model', split_part(name, '@', 1),
        'source', 'helper.cnn', 'input', jsonb_build_array(1, 3, image, image), 'nodes',
        jsonb_build_array(jsonb_build_object('id', 0, 'op', 'Input', 'inputs', '[]'::jsonb,
            'shape', jsonb_build_array(1, 3, image, image), 'batch_dim', 0))
        || (SELECT jsonb_agg(n ORDER BY (n->>'id')::int) FROM generate_series(0, depth - 1) AS l,
                LATERAL (VALUES
                    (jsonb_build_object('id', 3 * l + 1, 'op', 'Conv', 'inputs', jsonb_build_array(3 * l),
                        'shape', jsonb_build_array(1, width, image, image), 'batch_dim', 0,
                        'attrs', '{"kernel_shape":[3,3],"strides":[1,1],"pads":[1,1],"dilations":[1,1],"group":1}'::jsonb,
                        'weights', jsonb_build_array(jsonb_build_array(width, CASE l WHEN 0 THEN 3 ELSE width END, 3, 3)))),
                    (jsonb_build_object('id', 3 * l + 2, 'op', 'BatchNormalization', 'inputs', jsonb_build_array(3 * l + 1),
                        'shape', jsonb_build_array(1, width, image, image), 'batch_dim', 0,
                        'weights', jsonb_build_array(jsonb_build_array(width), jsonb_build_array(width)))),
                    (jsonb_build_object('id', 3 * l + 3, 'op', 'Relu', 'inputs', jsonb_build_array(3 * l + 2),
                        'shape', jsonb_build_array(1, width, image, image), 'batch_dim', 0))) AS v(n))
        || jsonb_build_array(
            jsonb_build_object('id', 3 * depth + 1, 'op', 'GlobalAveragePool', 'inputs', jsonb_build_array(3 * depth),
                'shape', jsonb_build_array(1, width, 1, 1), 'batch_dim', 0),
            jsonb_build_object('id', 3 * depth + 2, 'op', 'Flatten', 'inputs', jsonb_build_array(3 * depth + 1),
                'shape', jsonb_build_array(1, width), 'batch_dim', 0, 'view', true),
            jsonb_build_object('id', 3 * depth + 3, 'op', 'Gemm', 'inputs', jsonb_build_array(3 * depth + 2),
                'shape', jsonb_build_array(1, 10), 'batch_dim', 0,
                'weights', jsonb_build_array(jsonb_build_array(width, 10), '[10]'::jsonb))))
$$;

-- Load 24 networks and measurements of them that follow from their work.
CREATE FUNCTION helper.load_world() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(perfmodel.load_graph(helper.cnn(format('%snet%s@%s', chr(97 + (depth % 4)), depth, width), width, depth)))
    FROM generate_series(2, 9) AS depth, unnest('{16,32,64}'::int[]) AS width;
    INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, framework, step_ms)
    SELECT g.graph_id, d.gpu, batch, 'fp32', 'pytorch 2.1',
           0.05 * g.nodes + 3 * batch * f.flops / (d.tflops * 1e9)
    FROM perfmodel.graph g,
         LATERAL (SELECT sum(flops_forward) AS flops FROM perfmodel.graph_node n WHERE n.graph_id = g.graph_id) f,
         (VALUES ('T4', 8.1 * 0.4), ('RTX 3090', 35.6 * 0.5)) AS d(gpu, tflops), unnest('{8,64}'::int[]) AS batch
    ORDER BY g.graph_id, d.gpu, batch;
    SELECT count(*) FROM perfmodel.profile
$$;

-- Twice the same number, to within rounding.
CREATE FUNCTION helper.close(a float8, b float8, tolerance float8 DEFAULT 1e-6) RETURNS boolean LANGUAGE sql AS
    'SELECT abs(a - b) <= tolerance * greatest(abs(a), abs(b))';
