-- Documents that are refused: the error names the node and the key, and nothing is stored.
\pset format unaligned
CREATE FUNCTION helper.refused(doc text) RETURNS text LANGUAGE sql AS
    $$ SELECT helper.error_of(format('SELECT perfmodel.load_graph(%L)', doc)) $$;
-- a good document with one node's keys replaced
CREATE FUNCTION helper.with_node(id int, change text) RETURNS text LANGUAGE sql AS $$
    SELECT helper.refused((jsonb_set(d, '{nodes}', (SELECT jsonb_agg(CASE WHEN (n->>'id')::int = id
                THEN jsonb_strip_nulls(n || change::jsonb) ELSE n END ORDER BY o)
            FROM jsonb_array_elements(d->'nodes') WITH ORDINALITY AS e(n, o))))::text)
    FROM (SELECT helper.cnn('bad', 4, 1, 8)) AS x(d) $$;
SELECT count(*) AS before FROM perfmodel.graph \gset

-- the document
SELECT helper.refused('[]');
SELECT helper.refused('"text"');
SELECT helper.refused('{}');
SELECT helper.refused('{"format":"perfmodel-graph/2","name":"x","nodes":[]}');
SELECT helper.refused('{"format":"perfmodel-graph/1","name":"x"}');
SELECT helper.refused('{"format":"perfmodel-graph/1","name":"x","nodes":[]}');
SELECT helper.refused('{"format":"perfmodel-graph/1","name":"x","nodes":{}}');
SELECT helper.refused('{"format":"perfmodel-graph/1","name":7,"nodes":[]}');
SELECT helper.refused('{"format":"perfmodel-graph/1","nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0}]}');
SELECT helper.error_of(format('SELECT perfmodel.load_graph(%L, %L)', helper.cnn('x', 4, 1, 8), name)) FROM unnest(ARRAY['', E' \t\n']) AS name;
SELECT helper.error_of(format('SELECT perfmodel.load_graph(%L, %L)', helper.cnn('x', 4, 1, 8), repeat('n', 600)));

-- required keys of a node
SELECT helper.with_node(1, '{"id":null}');
SELECT helper.with_node(1, '{"op":null}');
SELECT helper.with_node(1, '{"inputs":null}');
SELECT helper.with_node(1, '{"shape":null}');
SELECT helper.refused('{"format":"perfmodel-graph/1","name":"x","nodes":[{"id":0,"op":"Input","inputs":[],"shape":[1,8]}]}');

-- ids and edges
SELECT helper.with_node(1, '{"id":7}');
SELECT helper.with_node(2, '{"id":1}');
SELECT helper.with_node(1, '{"inputs":[1]}');
SELECT helper.with_node(1, '{"inputs":[3]}');
SELECT helper.with_node(1, '{"inputs":[-1]}');
SELECT helper.with_node(1, '{"inputs":[1e99]}');
SELECT helper.with_node(1, '{"inputs":["0"]}');

-- shapes
SELECT helper.with_node(1, '{"shape":[1,2,3,4,5,6,7,8,9]}');
SELECT helper.with_node(1, '{"shape":[1,-4,8,8]}');
SELECT helper.with_node(1, '{"shape":[1,4,8,1099511627777]}');
SELECT helper.with_node(1, '{"shape":[1,4,8,2.5]}');
SELECT helper.with_node(1, '{"shape":"1x4x8x8"}');
SELECT helper.with_node(1, '{"batch_dim":4}');
SELECT helper.with_node(1, '{"batch_dim":"0"}');
SELECT helper.with_node(1, '{"weights":[null]}');
SELECT helper.with_node(1, '{"weights":[{}]}');

-- attributes
SELECT helper.with_node(1, '{"attrs":[]}');
SELECT helper.with_node(1, '{"attrs":{"group":0}}');
SELECT helper.with_node(1, '{"attrs":{"window":-1}}');
SELECT helper.with_node(1, '{"attrs":{"window":1099511627777}}');
SELECT helper.with_node(1, '{"op":""}');
SELECT helper.with_node(1, '{"op":5}');
SELECT helper.with_node(1, '{"view":"yes"}');

-- limits
SELECT helper.refused('{"format":"perfmodel-graph/1","name":"x","nodes":' || repeat('[', 100) || repeat(']', 100) || '}');
SELECT left(helper.refused(format('{"format":"perfmodel-graph/1","name":"x","nodes":[%s]}',
    (SELECT string_agg(format('{"id":%s,"op":"Relu","inputs":[],"shape":[1],"batch_dim":0}', i), ',')
     FROM generate_series(0, 200000) AS i))), 200);

SELECT count(*) = :before AS nothing_stored FROM perfmodel.graph;
