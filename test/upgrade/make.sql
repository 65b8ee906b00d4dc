-- Run by make.sh in a database that has perfmodel 0.1.0 and sql/setup.sql.
SET client_min_messages = warning;
SELECT perfmodel.load_graph(helper.cnn(format('%snet%s@%s', chr(97 + (depth % 4)), depth, width), width, depth)) FROM generate_series(2, 4) AS depth, unnest('{16,64}'::int[]) AS width;
INSERT INTO perfmodel.gpu (name, mem_bw_gbs, sm_count, cores_per_sm, fp32_tflops, aliases) VALUES ('Own Chip', 500, 32, 64, 6, '{oc}');
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, framework, optimizer, step_ms)
SELECT g.graph_id, d.gpu, batch, 'fp32', 'pytorch 2.1', CASE WHEN batch = 8 THEN 'adam' ELSE 'sgd_momentum' END, round((0.05 * g.nodes + 3 * batch * f.flops / (d.tflops * 1e9))::numeric, 4)
FROM perfmodel.graph AS g, LATERAL (SELECT sum(flops_forward) AS flops FROM perfmodel.graph_node AS n WHERE n.graph_id = g.graph_id) AS f,
     (VALUES ('T4', 3.24), ('RTX 3090', 17.8), ('oc', 4)) AS d(gpu, tflops), unnest('{8,64}'::int[]) AS batch ORDER BY 1, 2, 3;
INSERT INTO perfmodel.op_profile (operator, gpu, batch, forward_ms) VALUES ('{"format":"perfmodel-graph/1","nodes":[
    {"id":0,"op":"Input","inputs":[],"shape":[1,8],"batch_dim":0}, {"id":1,"op":"Relu","inputs":[0],"shape":[1,8],"batch_dim":0}]}', 'oc', 8, 1);
SELECT perfmodel.train('line', 'linear'), perfmodel.train('roof', 'roofline'), perfmodel.train('classes', 'opclass');
SELECT perfmodel.train('net', options => '{"epochs":4,"d_model":16,"heads":2,"layers":1,"d_operator":8,"hidden":8}');
SELECT * FROM perfmodel.recalibrate('line', (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE gpu = 'T4'));
SELECT perfmodel.activate_predictor('net');
DROP SCHEMA helper CASCADE;
