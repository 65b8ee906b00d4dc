-- ONNX models.

CREATE FUNCTION perfmodel.load_onnx(name text, model bytea, batch_dim integer DEFAULT NULL, dims jsonb DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 AS 'MODULE_PATHNAME', 'pm_load_onnx';
COMMENT ON FUNCTION perfmodel.load_onnx(text, bytea, integer, jsonb) IS
    'stores the contents of an .onnx file (opset 9 to 21, with or without weights) as a graph and returns its graph_id; batch_dim: the dimension of the inputs that is the batch, found by itself where one is dynamic; dims: sizes of other dynamic dimensions by name';

CREATE FUNCTION perfmodel.onnx_to_graph(model bytea, batch_dim integer DEFAULT NULL, dims jsonb DEFAULT NULL) RETURNS jsonb
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000000 AS 'MODULE_PATHNAME', 'pm_onnx_to_graph';
COMMENT ON FUNCTION perfmodel.onnx_to_graph(bytea, integer, jsonb) IS
    'the perfmodel-graph/1 document that load_onnx() stores for this model, without storing it';
