-- Graphs and devices.

CREATE FUNCTION perfmodel.load_graph(doc jsonb, name text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 100000 AS 'MODULE_PATHNAME', 'pm_load_graph';
COMMENT ON FUNCTION perfmodel.load_graph(jsonb, text) IS 'stores a perfmodel-graph/1 document and returns its graph_id';

CREATE FUNCTION perfmodel.graph_id(name text) RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_graph_id';
COMMENT ON FUNCTION perfmodel.graph_id(text) IS 'graph_id of a graph by its name; an unknown name is an error that lists similar names';

CREATE FUNCTION perfmodel.family_of(model text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_family_of';
COMMENT ON FUNCTION perfmodel.family_of(text) IS 'family that load_graph derives from the name of a model, such as resnet from wide_resnet50_2';

CREATE FUNCTION perfmodel.gpu_name(gpu text) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_gpu_name';
COMMENT ON FUNCTION perfmodel.gpu_name(text) IS 'name of a device by its name or an alias; an unknown one is an error that lists similar names';

CREATE FUNCTION perfmodel.gpu_formats(gpu text) RETURNS text[]
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_gpu_formats';
COMMENT ON FUNCTION perfmodel.gpu_formats(text) IS 'number formats that a device computes in; the others run at the rate of fp32 in their place';

-- The same names for what is not sure to be there: NULL instead of an error.

CREATE FUNCTION perfmodel.find_graph(name text) RETURNS bigint
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_find_graph';
COMMENT ON FUNCTION perfmodel.find_graph(text) IS 'graph_id of a graph by its name; NULL when there is none';

CREATE FUNCTION perfmodel.find_gpu(gpu text) RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_find_gpu';
COMMENT ON FUNCTION perfmodel.find_gpu(text) IS 'name of a device by its name or an alias; NULL when there is none, or more than one';

CREATE FUNCTION perfmodel.gres_count(gpu text) RETURNS integer
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_gres_count';
COMMENT ON FUNCTION perfmodel.gres_count(text) IS 'devices that a name as Slurm writes it asks for, 4 of gpu:a100:4; NULL: it says no number';

CREATE FUNCTION perfmodel.find_dtype(dtype text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_find_dtype';
COMMENT ON FUNCTION perfmodel.find_dtype(text) IS 'number format for a word such as float16, half or mixed; NULL for other words';

CREATE FUNCTION perfmodel.find_layout(layout text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_find_layout';
COMMENT ON FUNCTION perfmodel.find_layout(text) IS 'layout (nchw, nhwc) for a word such as channels_last; NULL for other words';

CREATE FUNCTION perfmodel.find_optimizer(optimizer text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_find_optimizer';
COMMENT ON FUNCTION perfmodel.find_optimizer(text) IS 'optimizer for a word such as AdamW; NULL for other words';
