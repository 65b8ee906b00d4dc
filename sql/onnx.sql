-- ONNX models straight into the database. The models are made by onnx.helper, weights without contents:
-- x [N,3,8,8] -> Conv to 4 channels -> Relu -> Flatten -> Gemm to 10; the same with a batch of 1 in its shapes; with a Loop,
-- with an operator of somebody's own, and with a weight that does not fit.
\set cnn 08081204746573743acc010a2c0a01780a01770a01621201631a0566697273742204436f6e762a110a04706164734001400140014001a001070a0c0a0163120172220452656c750a0f0a01721201662207466c617474656e0a210a01660a01670a0168120179220447656d6d2a0d0a067472616e73421801a00102120474696e792a0d080408030803080310014201772a07080410014201622a0a080a08800210014201672a07080a10014201685a1c0a017812170a15080112110a0312014e0a0208030a0208080a02080862090a017912040a02080142040a00100d
\set fixed 08081204746573743adc010a2c0a01780a01770a01621201631a0566697273742204436f6e762a110a04706164734001400140014001a001070a0c0a0163120172220452656c750a120a01720a01731201662207526573686170650a210a01660a01670a0168120179220447656d6d2a0d0a067472616e73421801a00102120474696e792a0d080408030803080310014201772a07080410014201622a0a080a08800210014201672a07080a10014201682a0c080210073a030180024201735a1b0a017812160a14080112100a0208010a0208030a0208080a02080862090a017912040a02080142040a00100d
\set loop 08081204746573743aad010a2c0a01780a01770a01621201631a0566697273742204436f6e762a110a04706164734001400140014001a001070a0c0a0163120172220452656c750a130a01721201791a05616761696e22044c6f6f70120474696e792a0d080408030803080310014201772a07080410014201622a0a080a08800210014201672a07080a10014201685a1c0a017812170a15080112110a0312014e0a0208030a0208080a02080862090a017912040a02080142040a00100d
\set custom 08081204746573743ab3010a2c0a01780a01770a01621201631a0566697273742204436f6e762a110a04706164734001400140014001a001070a0c0a0163120172220452656c750a190a01721201791a036f776e22044d696e653a066d792e6f7073120474696e792a0d080408030803080310014201772a07080410014201622a0a080a08800210014201672a07080a10014201685a1c0a017812170a15080112110a0312014e0a0208030a0208080a02080862090a017912040a02080142040a00100d
\set mismatch 08081204746573743a560a160a01780a01771201791a0566697273742204436f6e76120474696e792a0d080408050803080310014201775a1c0a017812170a15080112110a0312014e0a0208030a0208080a02080862090a017912040a02080142040a00100d

SELECT perfmodel.load_onnx('onnx_cnn@8', decode(:'cnn', 'hex')) AS id \gset
SELECT name, model, source, nodes, params, unknown_ops FROM perfmodel.graph WHERE graph_id = :id;
SELECT node_id, op, class, inputs, shape, batch_dim, weights, flops_forward FROM perfmodel.graph_node WHERE graph_id = :id ORDER BY 1;
SELECT doc->'nodes'->1->'attrs' AS attrs FROM perfmodel.graph WHERE graph_id = :id;

-- the same again is the same; a dimension that is not the batch is noticed
SELECT perfmodel.load_onnx('onnx_cnn@8', decode(:'cnn', 'hex')) = :id AS same_id;
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, decode(%L, %L), batch_dim => 2)', 'onnx_cnn@8', :'fixed', 'hex'));

-- what is stored is the document; loaded the other way it is the same network, and that is said
SELECT perfmodel.load_graph(perfmodel.onnx_to_graph(decode(:'cnn', 'hex')), 'onnx_cnn_again@8') AS again \gset
SELECT a.structure = b.structure AS same_structure, a.doc - 'name' = b.doc - 'name' AS same_document
FROM perfmodel.graph a, perfmodel.graph b WHERE a.graph_id = :id AND b.graph_id = :again;

-- the same network of another exporter under the same name is the same graph, either way round
SELECT perfmodel.load_graph(perfmodel.onnx_to_graph(decode(:'cnn', 'hex')) || '{"source":"another exporter"}', 'onnx_cnn@8') = :id AS same_id,
       perfmodel.load_onnx('onnx_cnn_again@8', decode(:'cnn', 'hex')) = :again AS same_again;
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(repeat(%L, 600), %L)', 'x', '\x00'));

-- a fixed batch has to be named; then it is the same network too
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, decode(%L, %L))', 'onnx_fixed@8', :'fixed', 'hex'));
SELECT perfmodel.load_onnx('onnx_fixed@8', decode(:'fixed', 'hex'), batch_dim => 0) > 0 AS loaded;
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, decode(%L, %L), batch_dim => 9)', 'bad', :'fixed', 'hex'));
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, decode(%L, %L), dims => %L)', 'bad', :'cnn', 'hex', '{"S": 0}'));
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, decode(%L, %L), dims => %L)', 'bad', :'cnn', 'hex', '[1]'));
SELECT DISTINCT helper.error_of(format('SELECT perfmodel.onnx_to_graph(decode(%L, %L), dims => %L)', :'cnn', 'hex', d)) FROM unnest('{"{\"S\": 2.5}","{\"S\": 1e300}","{\"S\": -1}","{\"S\": [1]}","{\"S\": null}"}'::text[]) AS d;
SELECT perfmodel.onnx_to_graph(decode(:'cnn', 'hex'), dims => '{"N": 5}', batch_dim => 0)->'input' AS input;

-- somebody asks the session for something while it imports: that cancels nothing
SELECT pg_log_backend_memory_contexts(pg_backend_pid()) AS asked, perfmodel.onnx_to_graph(m)->'input' AS input
FROM (SELECT decode(:'cnn', 'hex') AS m OFFSET 0) s;

-- NULL in, NULL out
SELECT perfmodel.load_onnx(NULL, decode(:'cnn', 'hex')) IS NULL AS no_name, perfmodel.load_onnx('x', NULL) IS NULL AS no_model;

-- errors name the node, its operator and its inputs, and nothing is stored
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, decode(%L, %L))', 'bad', :'loop', 'hex'));
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, decode(%L, %L))', 'bad', :'custom', 'hex'));
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, decode(%L, %L))', 'bad', :'mismatch', 'hex'));
SELECT helper.error_of($$SELECT perfmodel.load_onnx('bad', '\x')$$);
SELECT helper.error_of($$SELECT perfmodel.load_onnx('bad', 'this is no model')$$);
SELECT helper.error_of($$SELECT perfmodel.onnx_to_graph('/var/lib/models/resnet50.onnx')$$);
-- the name stands first here, and last in load_graph: exchanged, nothing is stored, whatever the types; by name, the order does not matter
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, %L)', '\x' || :'cnn', 'bad')) AS exchanged, helper.error_of($$SELECT perfmodel.load_graph('"bad"', ' {"nodes": []}')$$) AS exchanged_graph;
SELECT split_part(helper.error_of(q), ':', 1) AS refused FROM unnest(ARRAY[$$SELECT perfmodel.load_onnx(decode('00', 'hex'), 'bad')$$, $$SELECT perfmodel.load_graph('bad', '{}'::jsonb)$$, $$SELECT perfmodel.load_graph('bad', '{}')$$]) AS q;
SELECT perfmodel.load_onnx(model => decode(:'cnn', 'hex'), name => 'onnx_cnn@8') = :id AS by_name, perfmodel.load_graph(name => 'onnx_cnn_again@8', doc => perfmodel.onnx_to_graph(decode(:'cnn', 'hex'))) = :again AS graph_by_name;
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, decode(%L, %L))', '', :'cnn', 'hex'));
SELECT helper.error_of(format('SELECT perfmodel.load_onnx(%L, substr(decode(%L, %L), 1, 100))', 'bad', :'cnn', 'hex'));
-- cut at any place: never anything but an error
SELECT count(*) AS cuts, count(*) FILTER (WHERE helper.error_of(format('SELECT perfmodel.load_onnx(%L, substr(decode(%L, %L), 1, %s))',
       'cut', :'cnn', 'hex', n)) = 'no error') AS accepted
FROM generate_series(0, length(:'cnn') / 2 - 1, 7) n;
SELECT count(*) AS stored FROM perfmodel.graph WHERE name IN ('bad', 'cut', '');

DELETE FROM perfmodel.graph WHERE name LIKE 'onnx%';
