-- Training and what is kept of it.

CREATE FUNCTION perfmodel.train(name text, kind text DEFAULT 'mdot', profiles bigint[] DEFAULT NULL,
                                options jsonb DEFAULT '{}') RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000000 AS 'MODULE_PATHNAME', 'pm_train_sql';
COMMENT ON FUNCTION perfmodel.train(text, text, bigint[], jsonb) IS
    'trains a predictor of the given kind on the given measurements (NULL: all of training steps on one device) and returns its predictor_id; kinds() lists kinds and options; the first predictor becomes the active one';

CREATE FUNCTION perfmodel.estimate_training(kind text DEFAULT 'mdot', profiles bigint[] DEFAULT NULL,
                                            options jsonb DEFAULT '{}',
                                            OUT n_profiles integer, OUT n_graphs integer, OUT threads integer,
                                            OUT memory_bytes bigint, OUT memory_limit_bytes bigint) RETURNS record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 1000000 AS 'MODULE_PATHNAME', 'pm_estimate_training';
COMMENT ON FUNCTION perfmodel.estimate_training(text, bigint[], jsonb) IS
    'what train with the same arguments would take: rows, threads, memory, and the limit it is held against (perfmodel.train_mem)';

CREATE FUNCTION perfmodel.activate_predictor(name text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_activate_predictor';
COMMENT ON FUNCTION perfmodel.activate_predictor(text) IS
    'makes this predictor the one that answers when none is named; returns its predictor_id';

CREATE FUNCTION perfmodel.drop_predictor(name text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_drop_predictor';
COMMENT ON FUNCTION perfmodel.drop_predictor(text) IS 'deletes a predictor and its weights; returns the id it had';
