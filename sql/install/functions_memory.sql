-- Device memory of a training step.

CREATE FUNCTION perfmodel.predict_memory(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                         layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                         optimizer text DEFAULT 'sgd_momentum', checkpointing boolean DEFAULT false,
                                         level float8 DEFAULT 0.9, on_error text DEFAULT 'error',
                                         world_size integer DEFAULT 1, parallel jsonb DEFAULT NULL, mode text DEFAULT 'train',
                                         OUT peak_mb float8, OUT low float8, OUT high float8,
                                         OUT weights_mb float8, OUT gradients_mb float8, OUT optimizer_mb float8,
                                         OUT activations_mb float8, OUT workspace_mb float8, OUT context_mb float8,
                                         OUT fits boolean, OUT p_fits float8, OUT in_domain boolean, OUT note text)
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 60 AS 'MODULE_PATHNAME', 'pm_predict_memory';
COMMENT ON FUNCTION perfmodel.predict_memory(bigint, text, integer, text, text, text, text, boolean, float8, text, integer, jsonb, text) IS
    'peak device memory of a step with its bounds low and high, and its parts, all in MB (2^20 bytes); whether it fits';

CREATE FUNCTION perfmodel.usable_memory_mb(gpu text)
    RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'pm_usable_memory_mb';
COMMENT ON FUNCTION perfmodel.usable_memory_mb(text) IS
    'memory of a device that programs can use, in MB (2^20 bytes), without that of driver and ECC; NULL: not known';

CREATE FUNCTION perfmodel.p_fits_together(graph_a bigint, batch_a integer, graph_b bigint, batch_b integer, gpu text,
                                          dtype_a text DEFAULT 'fp32', dtype_b text DEFAULT 'fp32')
    RETURNS float8
    LANGUAGE c STABLE STRICT PARALLEL SAFE COST 120 AS 'MODULE_PATHNAME', 'pm_p_fits_together';
COMMENT ON FUNCTION perfmodel.p_fits_together(bigint, integer, bigint, integer, text, text, text) IS
    'probability that two trainings fit into the memory of one device; NULL: its memory is not known';

CREATE FUNCTION perfmodel.max_batch(graph_id bigint, gpu text, dtype text DEFAULT 'fp32',
                                    layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                    optimizer text DEFAULT 'sgd_momentum', checkpointing boolean DEFAULT false,
                                    p float8 DEFAULT 0.95, world_size integer DEFAULT 1, parallel jsonb DEFAULT NULL, mode text DEFAULT 'train')
    RETURNS integer
    LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_max_batch';
COMMENT ON FUNCTION perfmodel.max_batch(bigint, text, text, text, text, text, boolean, float8, integer, jsonb, text) IS
    'largest batch that fits into the memory of a device with probability p; 0 if not even batch 1 fits';

CREATE FUNCTION perfmodel.explain_memory(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                         layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                         optimizer text DEFAULT 'sgd_momentum', checkpointing boolean DEFAULT false,
                                         per text DEFAULT 'op', mode text DEFAULT 'train',
                                         world_size integer DEFAULT 1, parallel jsonb DEFAULT NULL,
                                         OUT part text, OUT op text, OUT class text, OUT node_id integer, OUT module text,
                                         OUT tensors integer, OUT mb float8, OUT share float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 20000 ROWS 20 AS 'MODULE_PATHNAME', 'pm_explain_memory';
COMMENT ON FUNCTION perfmodel.explain_memory(bigint, text, integer, text, text, text, text, boolean, text, text, integer, jsonb) IS
    'memory at the peak of a step: a row for each part and type of operator, or for each operator';

CREATE FUNCTION perfmodel.memory_timeline(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                          layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                          optimizer text DEFAULT 'sgd_momentum', checkpointing boolean DEFAULT false,
                                          points integer DEFAULT 500, mode text DEFAULT 'train',
                                          world_size integer DEFAULT 1, parallel jsonb DEFAULT NULL,
                                          OUT event integer, OUT phase text, OUT node_id integer, OUT op text, OUT mb float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 20000 ROWS 500 AS 'MODULE_PATHNAME', 'pm_memory_timeline_sql';
COMMENT ON FUNCTION perfmodel.memory_timeline(bigint, text, integer, text, text, text, text, boolean, integer, text, integer, jsonb) IS
    'memory of tensors during a training step, in MB, as a series for a plot: the maximum of each part of the step';

-- The time of a step is asked of the active predictor; without one the columns of time are NULL.
CREATE FUNCTION perfmodel.what_would_fit(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                         layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                         optimizer text DEFAULT 'sgd_momentum',
                                         OUT change text, OUT peak_mb float8, OUT saved_mb float8, OUT fits boolean, OUT p_fits float8,
                                         OUT ms_per_sample float8, OUT slowdown float8)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE COST 2000 ROWS 13
    BEGIN ATOMIC
        WITH change(n, change, batch, dtype, optimizer, checkpointing) AS (
            SELECT 0, 'none', $3, $4, $7, false
            UNION ALL SELECT 1, 'checkpointing', $3, $4, $7, true
            UNION ALL SELECT 2, 'dtype amp', $3, 'amp', $7, false WHERE perfmodel.find_dtype($4) OPERATOR(pg_catalog.=) ANY ('{fp32,tf32}')
            UNION ALL SELECT 3, 'dtype amp and checkpointing', $3, 'amp', $7, true
                      WHERE perfmodel.find_dtype($4) OPERATOR(pg_catalog.=) ANY ('{fp32,tf32}')
            UNION ALL SELECT 4 OPERATOR(pg_catalog.+) f.n, pg_catalog.concat('dtype ', f.dtype, f.more), $3, f.dtype, $7, f.more OPERATOR(pg_catalog.<>) ''
                      FROM (VALUES (0, 'bf16', ''), (1, 'bf16', ' and checkpointing'), (2, 'fp16', ''), (3, 'fp16', ' and checkpointing')) AS f (n, dtype, more)
                      WHERE f.dtype OPERATOR(pg_catalog.=) ANY (perfmodel.gpu_formats($2)) AND perfmodel.find_dtype($4) OPERATOR(pg_catalog.=) ANY ('{fp32,tf32,amp}')
            UNION ALL SELECT 8 OPERATOR(pg_catalog.+) o.n, pg_catalog.concat('optimizer ', o.optimizer, o.more), $3, $4, o.optimizer, o.more OPERATOR(pg_catalog.<>) ''
                      FROM (VALUES (0, 'sgd_momentum', ''), (1, 'sgd', ''), (2, 'sgd_momentum', ' and checkpointing'), (3, 'sgd', ' and checkpointing')) AS o (n, optimizer, more)
                      WHERE perfmodel.find_optimizer($7) OPERATOR(pg_catalog.=) ANY ('{adam,adamw,other}')
                            OR o.optimizer OPERATOR(pg_catalog.=) 'sgd' AND perfmodel.find_optimizer($7) OPERATOR(pg_catalog.=) 'sgd_momentum'
            UNION ALL SELECT 12, pg_catalog.concat('batch ', b), b, $4, $7, false
                      FROM perfmodel.max_batch($1, $2, $4, $5, $6, $7) AS b
                      WHERE b OPERATOR(pg_catalog.>) 0 AND b OPERATOR(pg_catalog.<) $3
        ), answer AS (
            SELECT c.*, m.peak_mb, m.fits, m.p_fits,
                   CASE WHEN EXISTS (SELECT FROM perfmodel.predictor AS p WHERE p.active)
                        THEN perfmodel.predict_train_time($1, $2, c.batch, c.dtype, $5, $6, optimizer => c.optimizer,
                                                          parallel => CASE WHEN c.checkpointing THEN '{"recompute": true}'::jsonb END)
                             OPERATOR(pg_catalog./) c.batch::float8 END AS ms
            FROM change AS c, LATERAL perfmodel.predict_memory($1, $2, c.batch, c.dtype, $5, $6, c.optimizer, c.checkpointing) AS m
        )
        SELECT a.change, pg_catalog.round(a.peak_mb::numeric, 1)::float8, pg_catalog.round((o.peak_mb OPERATOR(pg_catalog.-) a.peak_mb)::numeric, 1)::float8, a.fits,
               pg_catalog.round(a.p_fits::numeric, 4)::float8, pg_catalog.round(a.ms::numeric, 6)::float8, pg_catalog.round((a.ms OPERATOR(pg_catalog./) o.ms)::numeric, 4)::float8
        FROM answer AS a, answer AS o
        -- of changes that save nothing only those whose memory is not known
        WHERE o.n OPERATOR(pg_catalog.=) 0
              AND (a.n OPERATOR(pg_catalog.=) 0 OR (pg_catalog.round((o.peak_mb OPERATOR(pg_catalog.-) a.peak_mb)::numeric, 1) OPERATOR(pg_catalog.>) 0) IS NOT FALSE)
        ORDER BY a.n;
    END;
COMMENT ON FUNCTION perfmodel.what_would_fit(bigint, text, integer, text, text, text, text) IS
    'changes that reduce the memory of a training step: the memory with each, whether it then fits, and its time';

CREATE FUNCTION perfmodel.calibrate_memory(profiles bigint[] DEFAULT perfmodel.all_profiles(),
                                           OUT gpu text, OUT framework text, OUT dtype text, OUT networks integer, OUT peaks integer,
                                           OUT brackets integer, OUT mape_before_pct float8, OUT mape_pct float8,
                                           OUT in_bracket_before_pct float8, OUT in_bracket_pct float8)
    RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10 AS 'MODULE_PATHNAME', 'pm_calibrate_memory';
COMMENT ON FUNCTION perfmodel.calibrate_memory(bigint[]) IS
    'fits memory_factor to peak_memory_mb, fits_batch and oom_batch of measurements; errors before and after';
REVOKE ALL ON FUNCTION perfmodel.calibrate_memory(bigint[]) FROM PUBLIC;

CREATE FUNCTION perfmodel.compare_memory(profiles bigint[] DEFAULT perfmodel.all_profiles(),
                                         OUT gpu text, OUT framework text, OUT dtype text, OUT method text, OUT n integer,
                                         OUT mape_pct float8, OUT median_ape_pct float8, OUT p90_ape_pct float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 1000000 ROWS 8 AS 'MODULE_PATHNAME', 'pm_compare_memory';
COMMENT ON FUNCTION perfmodel.compare_memory(bigint[]) IS
    'errors of the simulation and of simpler estimates on measured peaks, families of networks left out of the fits';
