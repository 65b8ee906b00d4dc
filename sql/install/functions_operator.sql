-- Operators: what perfmodel.op_profile computes from the document of one.

CREATE FUNCTION perfmodel.operator_name(operator jsonb) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
    AS 'MODULE_PATHNAME', 'pm_operator_name';
COMMENT ON FUNCTION perfmodel.operator_name(jsonb) IS
    'type of the operator in a document of op_profile; an error unless there is exactly one known operator';
