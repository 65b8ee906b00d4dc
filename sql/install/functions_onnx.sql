-- ONNX models.

CREATE FUNCTION perfmodel.load_onnx(name text, model bytea, batch_dim integer DEFAULT NULL, dims jsonb DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 AS 'MODULE_PATHNAME', 'pm_load_onnx';
COMMENT ON FUNCTION perfmodel.load_onnx(text, bytea, integer, jsonb) IS
    'stores an ONNX model, given as the contents of its file, as a graph and returns its graph_id';

CREATE FUNCTION perfmodel.onnx_to_graph(model bytea, batch_dim integer DEFAULT NULL, dims jsonb DEFAULT NULL) RETURNS jsonb
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000000 AS 'MODULE_PATHNAME', 'pm_onnx_to_graph';
COMMENT ON FUNCTION perfmodel.onnx_to_graph(bytea, integer, jsonb) IS 'the perfmodel-graph/1 document that load_onnx would store for an ONNX model';
