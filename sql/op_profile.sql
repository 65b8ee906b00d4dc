-- Measurements of single operators; bad documents and bad values are refused.
\pset format unaligned
CREATE FUNCTION helper.operator(op text, node jsonb DEFAULT '{}') RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('format', 'perfmodel-graph/1', 'nodes', jsonb_build_array(
        '{"id":0,"op":"Input","inputs":[],"shape":[1,8,16,16],"batch_dim":0,"attrs":{"requires_grad":true}}'::jsonb,
        jsonb_build_object('id', 1, 'op', op, 'inputs', '[0]'::jsonb, 'shape', '[1,8,16,16]'::jsonb, 'batch_dim', 0) || node)) $$;
INSERT INTO perfmodel.op_profile (operator, gpu, batch, forward_ms, backward_ms)
VALUES (helper.operator('Conv', '{"attrs":{"kernel_shape":[3,3],"pads":[1,1]},"weights":[[8,8,3,3]]}'), 'tesla_t4', 4, 0.25, 0.5),
       (helper.operator('Relu'), 'T4', 64, 0.01, NULL)
RETURNING op, gpu, batch, dtype, layout, forward_ms, backward_ms;
-- by COPY, as the tools write it
COPY perfmodel.op_profile (operator, gpu, batch, dtype, layout, framework, forward_ms, backward_ms, spread, measured_at, source) FROM stdin WITH (FORMAT csv);
"{""format"":""perfmodel-graph/1"",""nodes"":[{""id"":0,""op"":""Input"",""inputs"":[],""shape"":[1,8],""batch_dim"":0},{""id"":1,""op"":""Softmax"",""inputs"":[0],""shape"":[1,8],""batch_dim"":0,""attrs"":{""axis"":1}}]}",T4,32,amp,nhwc,pytorch 2.1,0.5,,0.01,2026-01-01T00:00:00Z,me
\.
SELECT op, gpu, batch, dtype, layout, framework, forward_ms, backward_ms, spread FROM perfmodel.op_profile ORDER BY op_profile_id;

SELECT helper.error_of(format('SELECT perfmodel.operator_name(%L)', doc))
FROM unnest(ARRAY['{}', '{"format":"perfmodel-graph/1","nodes":[]}',
    '{"format":"perfmodel-graph/1","nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0}]}',
    helper.operator('NoSuchOperator')::text, helper.operator('Relu', '{"inputs":[7]}')::text,
    helper.operator('Relu', '{"shape":[1,-8]}')::text, helper.cnn('two@8', 8, 1)::text]) AS doc;
SELECT perfmodel.operator_name(NULL) IS NULL AS null_for_null;
SELECT regexp_replace(helper.error_of('INSERT INTO perfmodel.op_profile (operator, gpu, batch, dtype, layout, forward_ms, backward_ms, spread)'
    || ' SELECT operator, gpu, batch, dtype, layout, forward_ms, backward_ms, spread FROM json_populate_record('
    || quote_literal((SELECT p FROM perfmodel.op_profile p ORDER BY op_profile_id LIMIT 1)) || '::perfmodel.op_profile, '
    || quote_literal(change) || ')'), 'detail: Failing row[^\n]*', 'detail: (the row)')
FROM unnest(ARRAY['{"operator":{}}', '{"operator":null}', '{"gpu":"T5"}', '{"gpu":null}', '{"batch":0}', '{"batch":16777217}', '{"dtype":"fp8"}',
    '{"layout":"chw"}', '{"forward_ms":0}', '{"forward_ms":"NaN"}', '{"forward_ms":"Infinity"}', '{"forward_ms":null}',
    '{"backward_ms":0}', '{"backward_ms":"NaN"}', '{"forward_ms":6e8,"backward_ms":6e8}', '{"spread":-1}']) AS change;
SELECT count(*) FROM perfmodel.op_profile;
SELECT helper.error_of($$DELETE FROM perfmodel.gpu WHERE name = 'T4'$$);
DELETE FROM perfmodel.op_profile;
