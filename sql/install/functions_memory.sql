-- Device memory of a training step.

CREATE FUNCTION perfmodel.predict_memory(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                         layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                         optimizer text DEFAULT 'sgd_momentum', checkpointing boolean DEFAULT false,
                                         level float8 DEFAULT 0.9, on_error text DEFAULT 'error',
                                         OUT peak_mb float8, OUT low float8, OUT high float8,
                                         OUT weights_mb float8, OUT gradients_mb float8, OUT optimizer_mb float8,
                                         OUT activations_mb float8, OUT workspace_mb float8, OUT context_mb float8,
                                         OUT fits boolean, OUT p_fits float8, OUT in_domain boolean, OUT note text)
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 60 AS 'MODULE_PATHNAME', 'pm_predict_memory';
COMMENT ON FUNCTION perfmodel.predict_memory(bigint, text, integer, text, text, text, text, boolean, float8, text) IS
    'peak device memory of a training step in MB (2^20 bytes), what it is made of, and whether the step fits';

CREATE FUNCTION perfmodel.max_batch(graph_id bigint, gpu text, dtype text DEFAULT 'fp32',
                                    layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                    optimizer text DEFAULT 'sgd_momentum', checkpointing boolean DEFAULT false,
                                    p float8 DEFAULT 0.95)
    RETURNS integer
    LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_max_batch';
COMMENT ON FUNCTION perfmodel.max_batch(bigint, text, text, text, text, text, boolean, float8) IS
    'largest batch that fits into the memory of a device with probability p; 0 when not even 1 does';
