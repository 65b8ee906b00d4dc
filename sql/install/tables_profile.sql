-- Measurements. INSERT and COPY go straight to the table.

CREATE TABLE perfmodel.profile (
    profile_id     bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT profile_pkey PRIMARY KEY,
    graph_id       bigint      NOT NULL CONSTRAINT profile_graph_loaded REFERENCES perfmodel.graph,
    gpu            text        NOT NULL CONSTRAINT profile_gpu_known
                               REFERENCES perfmodel.gpu (name) ON UPDATE CASCADE,
    batch          integer     NOT NULL CONSTRAINT profile_batch_in_range CHECK (batch BETWEEN 1 AND 16777216),
    dtype          text        NOT NULL DEFAULT 'fp32'
                               CONSTRAINT profile_dtype_known CHECK (dtype IN ('fp32', 'tf32', 'amp', 'bf16', 'fp16')),
    layout         text        NOT NULL DEFAULT 'nchw'
                               CONSTRAINT profile_layout_known CHECK (layout IN ('nchw', 'nhwc')),
    framework      text,
    mode           text        NOT NULL DEFAULT 'train'
                               CONSTRAINT profile_mode_known CHECK (mode IN ('train', 'inference')),
    optimizer      text        NOT NULL DEFAULT 'sgd_momentum'
                               CONSTRAINT profile_optimizer_known
                               CHECK (optimizer IN ('sgd', 'sgd_momentum', 'adam', 'adamw', 'none', 'other')),
    world_size     integer     NOT NULL DEFAULT 1 CONSTRAINT profile_world_size_positive CHECK (world_size > 0),
    nodes          integer     NOT NULL DEFAULT 1 CONSTRAINT profile_nodes_positive CHECK (nodes > 0),
    step_ms        float8      NOT NULL
                               CONSTRAINT profile_step_ms_in_range CHECK (step_ms BETWEEN 1e-6 AND 1e9),
    forward_ms     float8      CONSTRAINT profile_forward_ms_in_range CHECK (forward_ms BETWEEN 0 AND 1e9),
    backward_ms    float8      CONSTRAINT profile_backward_ms_in_range CHECK (backward_ms BETWEEN 0 AND 1e9),
    peak_memory_mb float8      CONSTRAINT profile_peak_memory_mb_in_range CHECK (peak_memory_mb BETWEEN 0 AND 1e9),
    spread         float8      CONSTRAINT profile_spread_in_range CHECK (spread BETWEEN 0 AND 1e6),
    measured_at    timestamptz,
    source         text,
    fits_batch     integer     CONSTRAINT profile_fits_batch_in_range CHECK (fits_batch BETWEEN 1 AND 16777216),
    oom_batch      integer     CONSTRAINT profile_oom_batch_in_range CHECK (oom_batch BETWEEN 1 AND 16777216),
    parallel       jsonb,
    CONSTRAINT profile_nodes_at_most_world_size CHECK (nodes <= world_size),
    CONSTRAINT profile_oom_batch_above CHECK (oom_batch > batch AND (fits_batch IS NULL OR oom_batch > fits_batch))
);
CREATE INDEX profile_graph_id_idx ON perfmodel.profile (graph_id);
CREATE INDEX profile_gpu_idx ON perfmodel.profile (gpu);

COMMENT ON TABLE perfmodel.profile IS 'measured training steps; fill it with INSERT or COPY';
COMMENT ON COLUMN perfmodel.profile.profile_id IS 'identifies the measurement';
COMMENT ON COLUMN perfmodel.profile.graph_id IS 'graph that was run';
COMMENT ON COLUMN perfmodel.profile.gpu IS 'device that was measured; an alias is replaced by the name of the device';
COMMENT ON COLUMN perfmodel.profile.batch IS 'samples per step on one device';
COMMENT ON COLUMN perfmodel.profile.dtype IS 'number format: fp32, tf32, amp (automatic mixed precision), bf16, fp16';
COMMENT ON COLUMN perfmodel.profile.layout IS 'memory layout of activations: nchw or nhwc';
COMMENT ON COLUMN perfmodel.profile.framework IS 'framework and version, such as pytorch 2.1';
COMMENT ON COLUMN perfmodel.profile.mode IS 'train (forward, backward, update) or inference';
COMMENT ON COLUMN perfmodel.profile.optimizer IS 'optimizer of the update: sgd, sgd_momentum, adam, adamw, none, other';
COMMENT ON COLUMN perfmodel.profile.world_size IS 'number of devices that trained together';
COMMENT ON COLUMN perfmodel.profile.nodes IS 'number of machines with these devices';
COMMENT ON COLUMN perfmodel.profile.step_ms IS 'milliseconds of one step';
COMMENT ON COLUMN perfmodel.profile.forward_ms IS 'milliseconds of the forward pass, if measured';
COMMENT ON COLUMN perfmodel.profile.backward_ms IS 'milliseconds of the backward pass, if measured';
COMMENT ON COLUMN perfmodel.profile.peak_memory_mb IS 'peak device memory in units of 2^20 bytes, if measured';
COMMENT ON COLUMN perfmodel.profile.spread IS 'interquartile range of the step times over their median; a row above 0.10 has half the weight';
COMMENT ON COLUMN perfmodel.profile.measured_at IS 'when it was measured';
COMMENT ON COLUMN perfmodel.profile.source IS 'who or what measured it, and how';
COMMENT ON COLUMN perfmodel.profile.fits_batch IS 'largest batch that was seen to fit into the device with the rest unchanged; NULL: the batch of this row';
COMMENT ON COLUMN perfmodel.profile.oom_batch IS 'smallest batch that was seen to run out of memory with the rest unchanged';
COMMENT ON COLUMN perfmodel.profile.parallel IS 'how several devices shared the work, as the argument of that name; NULL: data parallel';
COMMENT ON CONSTRAINT profile_nodes_at_most_world_size ON perfmodel.profile IS 'each machine has at least one of the devices';
COMMENT ON CONSTRAINT profile_oom_batch_above ON perfmodel.profile IS 'the batch that runs out of memory is larger than the one that fits';
COMMENT ON CONSTRAINT profile_graph_loaded ON perfmodel.profile IS
    'the graph of a measurement is loaded and cannot be deleted before the measurement';
COMMENT ON CONSTRAINT profile_gpu_known ON perfmodel.profile IS 'the device has a data sheet in perfmodel.gpu';
COMMENT ON INDEX perfmodel.profile_graph_id_idx IS 'measurements of a graph';
COMMENT ON INDEX perfmodel.profile_gpu_idx IS 'measurements on a device';
