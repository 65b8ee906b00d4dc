-- Operators: what perfmodel.op_profile computes from the document of one.

CREATE FUNCTION perfmodel.operator_name(operator jsonb) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
    AS 'MODULE_PATHNAME', 'pm_operator_name';
COMMENT ON FUNCTION perfmodel.operator_name(jsonb) IS 'type of the only operator of a perfmodel-graph/1 document; an error when the document is not valid, has not exactly one node besides Input, or the catalogue does not know its type';
