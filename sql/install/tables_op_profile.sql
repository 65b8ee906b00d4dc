-- Measurements of single operators. The operator is a document of its own, in
-- the row: a perfmodel-graph/1 with one node besides the inputs. It says what a
-- node of a network says (type, attributes, shapes, weights), and whatever
-- reads graphs reads it. In perfmodel.graph such documents would bury the
-- networks under thousands of names nobody asks for.

CREATE TABLE perfmodel.op_profile (
    op_profile_id bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT op_profile_pkey PRIMARY KEY,
    operator      jsonb       NOT NULL,
    op            text        NOT NULL GENERATED ALWAYS AS (perfmodel.operator_name(operator)) STORED,
    gpu           text        NOT NULL CONSTRAINT op_profile_gpu_known
                              REFERENCES perfmodel.gpu (name) ON UPDATE CASCADE,
    batch         integer     NOT NULL CONSTRAINT op_profile_batch_in_range CHECK (batch BETWEEN 1 AND 16777216),
    dtype         text        NOT NULL DEFAULT 'fp32'
                              CONSTRAINT op_profile_dtype_known CHECK (dtype IN ('fp32', 'tf32', 'amp', 'bf16', 'fp16')),
    layout        text        NOT NULL DEFAULT 'nchw'
                              CONSTRAINT op_profile_layout_known CHECK (layout IN ('nchw', 'nhwc')),
    framework     text,
    forward_ms    float8      NOT NULL CONSTRAINT op_profile_forward_ms_in_range CHECK (forward_ms BETWEEN 1e-6 AND 1e9),
    backward_ms   float8      CONSTRAINT op_profile_backward_ms_in_range CHECK (backward_ms BETWEEN 1e-6 AND 1e9),
    spread        float8      CONSTRAINT op_profile_spread_in_range CHECK (spread BETWEEN 0 AND 1e6),
    measured_at   timestamptz,
    source        text,
    CONSTRAINT op_profile_sum_ms_in_range CHECK (forward_ms + backward_ms <= 1e9)
);
CREATE INDEX op_profile_gpu_op_idx ON perfmodel.op_profile (gpu, op);

COMMENT ON TABLE perfmodel.op_profile IS 'measured times of single operators; fill it with INSERT or COPY';
COMMENT ON COLUMN perfmodel.op_profile.op_profile_id IS 'identifies the measurement';
COMMENT ON COLUMN perfmodel.op_profile.operator IS 'perfmodel-graph/1 document with inputs and one node, shapes at batch 1';
COMMENT ON COLUMN perfmodel.op_profile.op IS 'type of the operator, taken from its document';
COMMENT ON COLUMN perfmodel.op_profile.gpu IS 'device that was measured; an alias is replaced by the name of the device';
COMMENT ON COLUMN perfmodel.op_profile.batch IS 'samples in the inputs';
COMMENT ON COLUMN perfmodel.op_profile.dtype IS 'number format: fp32, tf32, amp (automatic mixed precision), bf16, fp16';
COMMENT ON COLUMN perfmodel.op_profile.layout IS 'memory layout of activations: nchw or nhwc';
COMMENT ON COLUMN perfmodel.op_profile.framework IS 'framework and version, such as pytorch 2.1';
COMMENT ON COLUMN perfmodel.op_profile.forward_ms IS 'milliseconds of one forward pass';
COMMENT ON COLUMN perfmodel.op_profile.backward_ms IS
    'milliseconds of the backward pass for inputs and weights; NULL when there is none or it was not measured';
COMMENT ON COLUMN perfmodel.op_profile.spread IS 'interquartile range of the times of forward and backward pass together, over their median';
COMMENT ON COLUMN perfmodel.op_profile.measured_at IS 'when it was measured';
COMMENT ON COLUMN perfmodel.op_profile.source IS 'who or what measured it, and how';
COMMENT ON CONSTRAINT op_profile_gpu_known ON perfmodel.op_profile IS 'the device has a data sheet in perfmodel.gpu';
COMMENT ON CONSTRAINT op_profile_sum_ms_in_range ON perfmodel.op_profile IS 'forward and backward pass together take at most the longest time of a step';
COMMENT ON INDEX perfmodel.op_profile_gpu_op_idx IS 'measurements by device and type of operator';
