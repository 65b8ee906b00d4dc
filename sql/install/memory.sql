-- What calibrate_memory() learned of a device and its software.
-- The table is new in 0.2.0, so that an update makes it from this file.

CREATE TABLE perfmodel.memory_factor (
    gpu               text        NOT NULL CONSTRAINT memory_factor_gpu_known REFERENCES perfmodel.gpu (name) ON UPDATE CASCADE ON DELETE CASCADE,
    framework         text        NOT NULL CONSTRAINT memory_factor_framework_length CHECK (octet_length(framework) <= 512),
    dtype             text        NOT NULL CONSTRAINT memory_factor_dtype_known CHECK (dtype IN ('fp32', 'tf32', 'amp', 'bf16', 'fp16')),
    context_mb        float8      NOT NULL CONSTRAINT memory_factor_context_mb_in_range CHECK (context_mb BETWEEN 0 AND 1e6),
    factor            float8      NOT NULL CONSTRAINT memory_factor_factor_in_range CHECK (factor BETWEEN 1e-3 AND 1e3),
    workspace         float8      NOT NULL CONSTRAINT memory_factor_workspace_in_range CHECK (workspace BETWEEN 0 AND 1e3),
    need_factor       float8      NOT NULL CONSTRAINT memory_factor_need_factor_in_range CHECK (need_factor BETWEEN 1e-3 AND 1e3),
    spread            float8      NOT NULL CONSTRAINT memory_factor_spread_in_range CHECK (spread BETWEEN 0 AND 10),
    context_spread_mb float8      NOT NULL CONSTRAINT memory_factor_context_spread_mb_in_range CHECK (context_spread_mb BETWEEN 0 AND 1e6),
    fit_spread        float8      NOT NULL CONSTRAINT memory_factor_fit_spread_in_range CHECK (fit_spread BETWEEN 1e-4 AND 10),
    networks          integer     NOT NULL CONSTRAINT memory_factor_networks_positive CHECK (networks > 0),
    peaks             integer     NOT NULL CONSTRAINT memory_factor_peaks_not_negative CHECK (peaks >= 0),
    brackets          integer     NOT NULL CONSTRAINT memory_factor_brackets_not_negative CHECK (brackets >= 0),
    calibrated_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT memory_factor_pkey PRIMARY KEY (gpu, framework, dtype)
);
COMMENT ON TABLE perfmodel.memory_factor IS 'factors learned by calibrate_memory(); predict_memory uses the row nearest to a question';
COMMENT ON COLUMN perfmodel.memory_factor.gpu IS 'device';
COMMENT ON COLUMN perfmodel.memory_factor.framework IS 'framework and version as in profile; empty: measurements without a framework';
COMMENT ON COLUMN perfmodel.memory_factor.dtype IS 'number format';
COMMENT ON COLUMN perfmodel.memory_factor.context_mb IS 'memory of the drivers context and of libraries, in MB (2^20 bytes)';
COMMENT ON COLUMN perfmodel.memory_factor.factor IS 'measured / simulated memory, without context and scratch memory';
COMMENT ON COLUMN perfmodel.memory_factor.workspace IS 'scratch memory / bytes that the largest convolution reads and writes';
COMMENT ON COLUMN perfmodel.memory_factor.need_factor IS 'least memory with which a step runs / simulated memory; from batches that fit and that do not';
COMMENT ON COLUMN perfmodel.memory_factor.spread IS 'relative standard deviation of measured over predicted peaks, of networks left out of the fit';
COMMENT ON COLUMN perfmodel.memory_factor.context_spread_mb IS 'standard deviation of the context in MB';
COMMENT ON COLUMN perfmodel.memory_factor.fit_spread IS 'scale of the logistic distribution that p_fits is taken from';
COMMENT ON COLUMN perfmodel.memory_factor.networks IS 'networks that were measured';
COMMENT ON COLUMN perfmodel.memory_factor.peaks IS 'measurements with a peak of memory';
COMMENT ON COLUMN perfmodel.memory_factor.brackets IS 'measurements with a batch that fits or one that does not';
COMMENT ON COLUMN perfmodel.memory_factor.calibrated_at IS 'when it was calibrated';
COMMENT ON CONSTRAINT memory_factor_gpu_known ON perfmodel.memory_factor IS 'the device has a data sheet in perfmodel.gpu';

CREATE TRIGGER memory_factor_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.memory_factor
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER memory_factor_forget_cached ON perfmodel.memory_factor IS 'makes sessions drop cached factors';
ALTER TABLE perfmodel.memory_factor ENABLE ALWAYS TRIGGER memory_factor_forget_cached;
CREATE TRIGGER memory_factor_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.memory_factor
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.memory_factor ENABLE REPLICA TRIGGER memory_factor_forget_applied;
COMMENT ON TRIGGER memory_factor_forget_applied ON perfmodel.memory_factor IS 'like memory_factor_forget_cached, for rows that logical replication applies';

SELECT pg_catalog.pg_extension_config_dump('perfmodel.memory_factor', '');
GRANT SELECT ON perfmodel.memory_factor TO PUBLIC;
