-- Graphs and devices.

CREATE FUNCTION perfmodel.load_graph(doc jsonb, name text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 100000 AS 'MODULE_PATHNAME', 'pm_load_graph';
COMMENT ON FUNCTION perfmodel.load_graph(jsonb, text) IS
    'checks and stores a perfmodel-graph/1 document and returns its graph_id; name overrides the name in the document; the same name with the same content again returns the same id';

CREATE FUNCTION perfmodel.graph_id(name text) RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_graph_id';
COMMENT ON FUNCTION perfmodel.graph_id(text) IS 'id of the graph of that name; an error with candidates when there is none';

CREATE FUNCTION perfmodel.gpu_name(gpu text) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_gpu_name';
COMMENT ON FUNCTION perfmodel.gpu_name(text) IS
    'name of the device that goes by this name or alias, whatever the case, spaces, _ and -; an error with candidates when there is none';

-- The same names for what is not sure to be there: NULL instead of an error.

CREATE FUNCTION perfmodel.find_graph(name text) RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_find_graph';
COMMENT ON FUNCTION perfmodel.find_graph(text) IS 'id of the graph of that name; NULL when there is none';

CREATE FUNCTION perfmodel.find_gpu(gpu text) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_find_gpu';
COMMENT ON FUNCTION perfmodel.find_gpu(text) IS
    'name of the device that goes by this name or alias, whatever the case, spaces, _ and -, with or without its memory (RTX3090-24GB); NULL when there is none, or more than one';

CREATE FUNCTION perfmodel.find_dtype(dtype text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_find_dtype';
COMMENT ON FUNCTION perfmodel.find_dtype(text) IS
    'number format (fp32, tf32, amp, bf16, fp16) that goes by this word, such as float16, half, mixed, torch.bfloat16, FP32; NULL when it is none';

CREATE FUNCTION perfmodel.find_optimizer(optimizer text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_find_optimizer';
COMMENT ON FUNCTION perfmodel.find_optimizer(text) IS
    'optimizer (sgd, sgd_momentum, adam, adamw, none, other) that goes by this word, such as AdamW; NULL when it is none';
