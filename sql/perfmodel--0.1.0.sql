-- Assembled from sql/install and data/gpu.csv by make.
\echo Use "CREATE EXTENSION perfmodel" to load this file. \quit

-- Data sheets of GPUs, and of CPUs, which are devices like any other.

CREATE TABLE perfmodel.gpu (
    name               text    CONSTRAINT gpu_pkey PRIMARY KEY
                               CONSTRAINT gpu_name_not_empty CHECK (name ~ '[[:alnum:]]'),
    vendor             text,
    memory_gb          float8  CONSTRAINT gpu_memory_gb_positive CHECK (memory_gb > 0 AND memory_gb < 'Infinity'),
    mem_bw_gbs         float8  CONSTRAINT gpu_mem_bw_gbs_positive CHECK (mem_bw_gbs > 0 AND mem_bw_gbs < 'Infinity'),
    sm_count           integer CONSTRAINT gpu_sm_count_positive CHECK (sm_count > 0),
    cores_per_sm       integer CONSTRAINT gpu_cores_per_sm_positive CHECK (cores_per_sm > 0),
    clock_ghz          float8  CONSTRAINT gpu_clock_ghz_positive CHECK (clock_ghz > 0 AND clock_ghz < 'Infinity'),
    fp32_tflops        float8  CONSTRAINT gpu_fp32_tflops_positive
                               CHECK (fp32_tflops > 0 AND fp32_tflops < 'Infinity'),
    fp16_tensor_tflops float8  CONSTRAINT gpu_fp16_tensor_tflops_positive
                               CHECK (fp16_tensor_tflops > 0 AND fp16_tensor_tflops < 'Infinity'),
    l2_mb              float8  CONSTRAINT gpu_l2_mb_positive CHECK (l2_mb > 0 AND l2_mb < 'Infinity'),
    interconnect       text,
    is_cpu             boolean NOT NULL DEFAULT false,
    aliases            text[]  NOT NULL DEFAULT '{}',
    note               text,
    builtin            boolean NOT NULL DEFAULT false
);

COMMENT ON TABLE perfmodel.gpu IS 'data sheets of devices; add your own rows, rows with builtin = true come with the extension and are not dumped';
COMMENT ON COLUMN perfmodel.gpu.name IS 'the name people say, such as A100-SXM4-80GB or RTX 3090';
COMMENT ON COLUMN perfmodel.gpu.vendor IS 'maker of the device';
COMMENT ON COLUMN perfmodel.gpu.memory_gb IS 'device memory in GB; NULL where it is not a property of the device';
COMMENT ON COLUMN perfmodel.gpu.mem_bw_gbs IS 'peak memory bandwidth in GB/s';
COMMENT ON COLUMN perfmodel.gpu.sm_count IS 'streaming multiprocessors, compute units, or CPU cores in use';
COMMENT ON COLUMN perfmodel.gpu.cores_per_sm IS 'FP32 lanes per multiprocessor; each does a multiply-add per cycle';
COMMENT ON COLUMN perfmodel.gpu.clock_ghz IS 'boost clock in GHz';
COMMENT ON COLUMN perfmodel.gpu.fp32_tflops IS 'peak FP32 rate outside matrix units in TFLOP/s';
COMMENT ON COLUMN perfmodel.gpu.fp16_tensor_tflops IS 'dense peak FP16 rate of the matrix units in TFLOP/s; NULL when there are none';
COMMENT ON COLUMN perfmodel.gpu.l2_mb IS 'last on-chip cache in MB (a CPU: second level per core)';
COMMENT ON COLUMN perfmodel.gpu.interconnect IS 'link to the host or to other devices';
COMMENT ON COLUMN perfmodel.gpu.is_cpu IS 'whether the device is a CPU';
COMMENT ON COLUMN perfmodel.gpu.aliases IS 'other names: what drivers report and other files write; compared without case, spaces, _ and -';
COMMENT ON COLUMN perfmodel.gpu.note IS 'where a number needs explaining';
COMMENT ON COLUMN perfmodel.gpu.builtin IS 'comes with the extension';
COMMENT ON CONSTRAINT gpu_name_not_empty ON perfmodel.gpu IS 'a name has at least one letter or digit';

-- The rows below are generated from data/gpu.csv.
INSERT INTO perfmodel.gpu VALUES ('A100-PCIE-40GB', 'NVIDIA', 40, 1555, 108, 64, 1.41, 19.5, 312, 40, 'PCIe4', false, ARRAY['NVIDIA A100-PCIE-40GB', 'A100 PCIe', 'A100 40GB PCIe'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('A100-SXM4-40GB', 'NVIDIA', 40, 1555, 108, 64, 1.41, 19.5, 312, 40, 'NVLink3 600GB/s', false, ARRAY['NVIDIA A100-SXM4-40GB', 'A100 SXM4 40G', 'A100 SXM 40GB'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('A100-PCIE-80GB', 'NVIDIA', 80, 1935, 108, 64, 1.41, 19.5, 312, 40, 'PCIe4', false, ARRAY['NVIDIA A100 80GB PCIe', 'NVIDIA_A100_80GB_PCIe', 'A100 PCIe 80GB'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('A100-SXM4-80GB', 'NVIDIA', 80, 2039, 108, 64, 1.41, 19.5, 312, 40, 'NVLink3 600GB/s', false, ARRAY['NVIDIA A100-SXM4-80GB', 'A100 SXM4 80G', 'A100 SXM 80GB'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('A30', 'NVIDIA', 24, 933, 56, 64, 1.44, 10.3, 165, 24, 'PCIe4', false, ARRAY['NVIDIA A30'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('A40', 'NVIDIA', 48, 696, 84, 128, 1.74, 37.4, 149.7, 6, 'PCIe4', false, ARRAY['NVIDIA A40'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('A10', 'NVIDIA', 24, 600, 72, 128, 1.695, 31.2, 125, 6, 'PCIe4', false, ARRAY['NVIDIA A10'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('H100-SXM5-80GB', 'NVIDIA', 80, 3350, 132, 128, 1.98, 66.9, 989, 50, 'NVLink4 900GB/s', false, ARRAY['NVIDIA H100 80GB HBM3', 'NVIDIA_H100_80GB_HBM3', 'H100 SXM', 'H100 SXM5'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('H100-PCIE-80GB', 'NVIDIA', 80, 2000, 114, 128, 1.755, 51.2, 756, 50, 'PCIe5', false, ARRAY['NVIDIA H100 PCIe', 'NVIDIA_H100_PCIe', 'H100 PCIe'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('H200', 'NVIDIA', 141, 4800, 132, 128, 1.98, 66.9, 989, 50, 'NVLink4 900GB/s', false, ARRAY['NVIDIA H200', 'H200 SXM', 'H200-SXM-141GB'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('B200', 'NVIDIA', 180, 8000, 148, 128, NULL, 80, 2250, NULL, 'NVLink5 1800GB/s', false, ARRAY['NVIDIA B200'], 'per GPU of a DGX B200; clock and cache are not published', true);
INSERT INTO perfmodel.gpu VALUES ('L4', 'NVIDIA', 24, 300, 58, 128, 2.04, 30.3, 121, 48, 'PCIe4', false, ARRAY['NVIDIA L4'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('L40', 'NVIDIA', 48, 864, 142, 128, 2.49, 90.5, 181, 96, 'PCIe4', false, ARRAY['NVIDIA L40'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('L40S', 'NVIDIA', 48, 864, 142, 128, 2.52, 91.6, 362, 96, 'PCIe4', false, ARRAY['NVIDIA L40S'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('T4', 'NVIDIA', 16, 320, 40, 64, 1.59, 8.1, 65, 4, 'PCIe3', false, ARRAY['Tesla T4', 'Tesla_T4', 'T4-16GB'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('P4', 'NVIDIA', 8, 192, 20, 128, 1.114, 5.7, NULL, 2, 'PCIe3', false, ARRAY['Tesla P4', 'Tesla_P4'], 'no tensor cores', true);
INSERT INTO perfmodel.gpu VALUES ('P100-PCIE-16GB', 'NVIDIA', 16, 732, 56, 64, 1.303, 9.3, NULL, 4, 'PCIe3', false, ARRAY['Tesla P100-PCIE-16GB', 'P100 PCIe'], 'no tensor cores', true);
INSERT INTO perfmodel.gpu VALUES ('P100-SXM2-16GB', 'NVIDIA', 16, 732, 56, 64, 1.48, 10.6, NULL, 4, 'NVLink1 160GB/s', false, ARRAY['Tesla P100-SXM2-16GB', 'P100 SXM2'], 'no tensor cores', true);
INSERT INTO perfmodel.gpu VALUES ('V100-PCIE-16GB', 'NVIDIA', 16, 900, 80, 64, 1.38, 14.0, 112, 6, 'PCIe3', false, ARRAY['Tesla V100-PCIE-16GB'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('V100-PCIE-32GB', 'NVIDIA', 32, 900, 80, 64, 1.38, 14.0, 112, 6, 'PCIe3', false, ARRAY['Tesla V100-PCIE-32GB'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('V100-SXM2-16GB', 'NVIDIA', 16, 900, 80, 64, 1.53, 15.7, 125, 6, 'NVLink2 300GB/s', false, ARRAY['Tesla V100-SXM2-16GB'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('V100-SXM2-32GB', 'NVIDIA', 32, 900, 80, 64, 1.53, 15.7, 125, 6, 'NVLink2 300GB/s', false, ARRAY['Tesla V100-SXM2-32GB'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('K80', 'NVIDIA', 12, 240, 13, 192, 0.875, 4.37, NULL, 1.5, 'PCIe3', false, ARRAY['Tesla K80', 'Tesla_K80'], 'one of the board''s two GPUs; no tensor cores', true);
INSERT INTO perfmodel.gpu VALUES ('RTX 5090', 'NVIDIA', 32, 1792, 170, 128, 2.407, 104.8, 209.5, 96, 'PCIe5', false, ARRAY['NVIDIA GeForce RTX 5090', 'GeForce RTX 5090', 'RTX_5090'], 'tensor rate with FP32 accumulate (419 with FP16 accumulate)', true);
INSERT INTO perfmodel.gpu VALUES ('RTX 4090', 'NVIDIA', 24, 1008, 128, 128, 2.52, 82.6, 165, 72, 'PCIe4', false, ARRAY['NVIDIA GeForce RTX 4090', 'GeForce RTX 4090', 'RTX_4090'], 'tensor rate with FP32 accumulate (330 with FP16 accumulate)', true);
INSERT INTO perfmodel.gpu VALUES ('RTX 4080', 'NVIDIA', 16, 717, 76, 128, 2.505, 48.7, 97.5, 64, 'PCIe4', false, ARRAY['NVIDIA GeForce RTX 4080', 'GeForce RTX 4080', 'RTX_4080'], 'tensor rate with FP32 accumulate (195 with FP16 accumulate)', true);
INSERT INTO perfmodel.gpu VALUES ('RTX 3090', 'NVIDIA', 24, 936, 82, 128, 1.695, 35.6, 71, 6, 'PCIe4', false, ARRAY['NVIDIA GeForce RTX 3090', 'GeForce RTX 3090', 'RTX_3090'], 'tensor rate with FP32 accumulate (142 with FP16 accumulate)', true);
INSERT INTO perfmodel.gpu VALUES ('RTX 3080', 'NVIDIA', 10, 760, 68, 128, 1.71, 29.8, 59.5, 5, 'PCIe4', false, ARRAY['NVIDIA GeForce RTX 3080', 'GeForce RTX 3080', 'RTX_3080'], 'the 10 GB board; tensor rate with FP32 accumulate (119 with FP16 accumulate)', true);
INSERT INTO perfmodel.gpu VALUES ('RTX 2080 Ti', 'NVIDIA', 11, 616, 68, 64, 1.545, 13.4, 53.8, 5.5, 'PCIe3', false, ARRAY['NVIDIA GeForce RTX 2080 Ti', 'GeForce RTX 2080 Ti', 'RTX_2080_Ti', 'RTX2080Ti-11GB'], 'reference clocks; tensor rate with FP32 accumulate (107.6 with FP16 accumulate)', true);
INSERT INTO perfmodel.gpu VALUES ('Quadro RTX 6000', 'NVIDIA', 24, 672, 72, 64, 1.77, 16.3, 130.5, 6, 'PCIe3', false, ARRAY['NVIDIA Quadro RTX 6000', 'Quadro_RTX_6000', 'QuadroRTX6000-24GB'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('Quadro RTX 8000', 'NVIDIA', 48, 672, 72, 64, 1.77, 16.3, 130.5, 6, 'PCIe3', false, ARRAY['NVIDIA Quadro RTX 8000', 'Quadro_RTX_8000'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('RTX A6000', 'NVIDIA', 48, 768, 84, 128, 1.80, 38.7, 154.8, 6, 'PCIe4', false, ARRAY['NVIDIA RTX A6000', 'RTX_A6000', 'A6000'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('RTX 6000 Ada', 'NVIDIA', 48, 960, 142, 128, 2.505, 91.1, 364, 96, 'PCIe4', false, ARRAY['NVIDIA RTX 6000 Ada Generation', 'RTX_6000_Ada', 'RTX 6000 Ada Generation'], NULL, true);
INSERT INTO perfmodel.gpu VALUES ('GTX 1080', 'NVIDIA', 8, 320, 20, 128, 1.733, 8.9, NULL, 2, 'PCIe3', false, ARRAY['NVIDIA GeForce GTX 1080', 'GeForce GTX 1080', 'GTX_1080'], 'no tensor cores', true);
INSERT INTO perfmodel.gpu VALUES ('GTX 1080 Ti', 'NVIDIA', 11, 484, 28, 128, 1.582, 11.3, NULL, 2.75, 'PCIe3', false, ARRAY['NVIDIA GeForce GTX 1080 Ti', 'GeForce GTX 1080 Ti', 'GTX_1080_Ti'], 'no tensor cores', true);
INSERT INTO perfmodel.gpu VALUES ('TITAN X (Pascal)', 'NVIDIA', 12, 480, 28, 128, 1.531, 11.0, NULL, 3, 'PCIe3', false, ARRAY['NVIDIA TITAN X (Pascal)', 'TITAN_X_Pascal'], 'no tensor cores', true);
INSERT INTO perfmodel.gpu VALUES ('TITAN X (Maxwell)', 'NVIDIA', 12, 336, 24, 128, 1.075, 6.6, NULL, 3, 'PCIe3', false, ARRAY['NVIDIA GeForce GTX TITAN X', 'GeForce GTX TITAN X', 'TITAN_X_Maxwell', 'GTX TITAN X'], 'no tensor cores', true);
INSERT INTO perfmodel.gpu VALUES ('Instinct MI100', 'AMD', 32, 1229, 120, 64, 1.502, 23.1, 184.6, 8, 'PCIe4', false, ARRAY['AMD Instinct MI100', 'AMD_Instinct_MI100', 'MI100'], 'FP32 matrix rate 46.1 TFLOP/s; sm_count is compute units', true);
INSERT INTO perfmodel.gpu VALUES ('Instinct MI210', 'AMD', 64, 1638, 104, 64, 1.7, 22.6, 181.0, 8, 'PCIe4', false, ARRAY['AMD Instinct MI210', 'AMD_Instinct_MI210', 'MI210'], 'FP32 matrix rate 45.3 TFLOP/s; sm_count is compute units', true);
INSERT INTO perfmodel.gpu VALUES ('Instinct MI250', 'AMD', 64, 1638, 104, 64, 1.7, 22.6, 181.0, 8, 'Infinity Fabric', false, ARRAY['AMD Instinct MI250', 'AMD_Instinct_MI250', 'MI250'], 'one of the two dies (what a framework sees as one GPU); FP32 matrix rate 45.3 TFLOP/s', true);
INSERT INTO perfmodel.gpu VALUES ('Instinct MI300X', 'AMD', 192, 5300, 304, 64, 2.1, 163.4, 1307, NULL, 'Infinity Fabric', false, ARRAY['AMD Instinct MI300X', 'AMD_Instinct_MI300X', 'MI300X'], 'sm_count is compute units; fp32_tflops is the vector rate; eight separate L2 caches', true);
INSERT INTO perfmodel.gpu VALUES ('AMD EPYC Zen4 (1 thread)', 'AMD', NULL, 22, 1, 16, 3.3, 0.106, NULL, 1, NULL, true, ARRAY['AMD EPYC Genoa (1 thread)'], 'one core of family 25 model 17; lanes: two 256-bit FMA units; clock and bandwidth per core are typical values of a cloud machine and not a data sheet', true);

-- Operator graphs: the document as loaded, and its nodes as rows.

CREATE TABLE perfmodel.graph (
    graph_id    bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT graph_pkey PRIMARY KEY,
    name        text        NOT NULL CONSTRAINT graph_name_key UNIQUE
                            CONSTRAINT graph_name_not_empty CHECK (name <> ''),
    model       text        NOT NULL,
    family      text        NOT NULL,
    source      text        NOT NULL,
    nodes       integer     NOT NULL,
    params      float8      NOT NULL,
    unknown_ops integer     NOT NULL,
    structure   text        NOT NULL,
    loaded_at   timestamptz NOT NULL DEFAULT pg_catalog.now(),
    doc         jsonb       NOT NULL
);
CREATE INDEX graph_structure_idx ON perfmodel.graph (structure);

COMMENT ON TABLE perfmodel.graph IS 'operator graphs, loaded by load_graph; what was loaded does not change, delete and load again instead';
COMMENT ON COLUMN perfmodel.graph.graph_id IS 'identifies the graph in functions and in profile; never used again for another graph';
COMMENT ON COLUMN perfmodel.graph.name IS 'unique name, model@variant by convention';
COMMENT ON COLUMN perfmodel.graph.model IS 'model name as the document gives it, else the name up to @';
COMMENT ON COLUMN perfmodel.graph.family IS 'leading word of the model name, for grouping and for the split by family';
COMMENT ON COLUMN perfmodel.graph.source IS 'where the document says it comes from';
COMMENT ON COLUMN perfmodel.graph.nodes IS 'number of nodes';
COMMENT ON COLUMN perfmodel.graph.params IS 'trainable parameters, shared ones counted once: as the document says, else counted from the weights of the nodes';
COMMENT ON COLUMN perfmodel.graph.unknown_ops IS 'nodes whose operator the catalogue does not know; they are treated as memory moves';
COMMENT ON COLUMN perfmodel.graph.structure IS 'hash of operators, shapes, attributes and edges; the same for the same network under another name';
COMMENT ON COLUMN perfmodel.graph.loaded_at IS 'start of the transaction that loaded it';
COMMENT ON COLUMN perfmodel.graph.doc IS 'the document as loaded';
COMMENT ON CONSTRAINT graph_name_not_empty ON perfmodel.graph IS 'a graph has a name';
COMMENT ON INDEX perfmodel.graph_structure_idx IS 'finds the same network under other names';

CREATE TABLE perfmodel.graph_node (
    graph_id       bigint    NOT NULL CONSTRAINT graph_node_graph_loaded
                             REFERENCES perfmodel.graph ON DELETE CASCADE,
    node_id        integer   NOT NULL,
    op             text      NOT NULL,
    class          text      NOT NULL,
    inputs         integer[],
    shape          bigint[],
    batch_dim      smallint,
    attrs          jsonb,
    weights        text,
    flops_forward  float8,
    flops_backward float8,
    bytes_forward  float8,
    bytes_backward float8,
    params         float8,
    CONSTRAINT graph_node_pkey PRIMARY KEY (graph_id, node_id)
);

COMMENT ON TABLE perfmodel.graph_node IS 'nodes of graphs with their work at batch 1 in fp32; filled by load_graph';
COMMENT ON COLUMN perfmodel.graph_node.graph_id IS 'graph that the node belongs to';
COMMENT ON COLUMN perfmodel.graph_node.node_id IS 'id of the node in the document, from 0';
COMMENT ON COLUMN perfmodel.graph_node.op IS 'operator as the document writes it';
COMMENT ON COLUMN perfmodel.graph_node.class IS 'class of the operator: conv, gemm, norm, elementwise, pool, attention, embedding, move, recurrent, other';
COMMENT ON COLUMN perfmodel.graph_node.inputs IS 'producers in argument order; NULL when there are none';
COMMENT ON COLUMN perfmodel.graph_node.shape IS 'shape of the first output at batch 1; NULL for a scalar';
COMMENT ON COLUMN perfmodel.graph_node.batch_dim IS 'index (from 0) in shape of the dimension that grows with the batch; NULL when none does';
COMMENT ON COLUMN perfmodel.graph_node.attrs IS 'attributes as the document gives them';
COMMENT ON COLUMN perfmodel.graph_node.weights IS 'shapes of the parameters that the node reads, as JSON text: [[64,3,7,7],[64]]';
COMMENT ON COLUMN perfmodel.graph_node.flops_forward IS 'floating point operations of the forward pass, 2 per multiply-accumulate; NULL when it does no work, as a view';
COMMENT ON COLUMN perfmodel.graph_node.flops_backward IS 'floating point operations of the backward pass';
COMMENT ON COLUMN perfmodel.graph_node.bytes_forward IS 'bytes that the forward pass moves at least';
COMMENT ON COLUMN perfmodel.graph_node.bytes_backward IS 'bytes that the backward pass moves at least';
COMMENT ON COLUMN perfmodel.graph_node.params IS 'trainable parameters that the node owns; NULL when it owns none';

-- Measurements. INSERT and COPY go straight to the table.

CREATE TABLE perfmodel.profile (
    profile_id     bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT profile_pkey PRIMARY KEY,
    graph_id       bigint      NOT NULL CONSTRAINT profile_graph_loaded REFERENCES perfmodel.graph,
    gpu            text        NOT NULL CONSTRAINT profile_gpu_known
                               REFERENCES perfmodel.gpu (name) ON UPDATE CASCADE,
    batch          integer     NOT NULL CONSTRAINT profile_batch_positive CHECK (batch > 0),
    dtype          text        NOT NULL DEFAULT 'fp32'
                               CONSTRAINT profile_dtype_known CHECK (dtype IN ('fp32', 'tf32', 'amp', 'bf16', 'fp16')),
    layout         text        NOT NULL DEFAULT 'nchw'
                               CONSTRAINT profile_layout_known CHECK (layout IN ('nchw', 'nhwc')),
    framework      text,
    mode           text        NOT NULL DEFAULT 'train'
                               CONSTRAINT profile_mode_known CHECK (mode IN ('train', 'inference')),
    optimizer      text        NOT NULL DEFAULT 'sgd_momentum'
                               CONSTRAINT profile_optimizer_known
                               CHECK (optimizer IN ('sgd', 'sgd_momentum', 'adam', 'adamw', 'other')),
    world_size     integer     NOT NULL DEFAULT 1 CONSTRAINT profile_world_size_positive CHECK (world_size > 0),
    nodes          integer     NOT NULL DEFAULT 1 CONSTRAINT profile_nodes_positive CHECK (nodes > 0),
    step_ms        float8      NOT NULL
                               CONSTRAINT profile_step_ms_positive_finite CHECK (step_ms > 0 AND step_ms < 'Infinity'),
    forward_ms     float8      CONSTRAINT profile_forward_ms_not_negative_finite
                               CHECK (forward_ms >= 0 AND forward_ms < 'Infinity'),
    backward_ms    float8      CONSTRAINT profile_backward_ms_not_negative_finite
                               CHECK (backward_ms >= 0 AND backward_ms < 'Infinity'),
    peak_memory_mb float8      CONSTRAINT profile_peak_memory_mb_not_negative_finite
                               CHECK (peak_memory_mb >= 0 AND peak_memory_mb < 'Infinity'),
    spread         float8      CONSTRAINT profile_spread_not_negative_finite
                               CHECK (spread >= 0 AND spread < 'Infinity'),
    measured_at    timestamptz,
    source         text
);
CREATE INDEX profile_graph_id_idx ON perfmodel.profile (graph_id);
CREATE INDEX profile_gpu_idx ON perfmodel.profile (gpu);

COMMENT ON TABLE perfmodel.profile IS 'measured step times; takes INSERT and COPY';
COMMENT ON COLUMN perfmodel.profile.profile_id IS 'identifies the measurement';
COMMENT ON COLUMN perfmodel.profile.graph_id IS 'graph that was run';
COMMENT ON COLUMN perfmodel.profile.gpu IS 'device it ran on; an alias is turned into the name of the device';
COMMENT ON COLUMN perfmodel.profile.batch IS 'samples per step and device';
COMMENT ON COLUMN perfmodel.profile.dtype IS 'number format: fp32, tf32, amp (fp16 with fp32 where it matters), bf16, fp16';
COMMENT ON COLUMN perfmodel.profile.layout IS 'memory layout of activations: nchw or nhwc';
COMMENT ON COLUMN perfmodel.profile.framework IS 'framework and version, such as pytorch 2.1';
COMMENT ON COLUMN perfmodel.profile.mode IS 'train (forward, backward, update) or inference';
COMMENT ON COLUMN perfmodel.profile.optimizer IS 'optimizer of the update: sgd, sgd_momentum, adam, adamw, other';
COMMENT ON COLUMN perfmodel.profile.world_size IS 'devices that trained together';
COMMENT ON COLUMN perfmodel.profile.nodes IS 'machines that the devices were spread over';
COMMENT ON COLUMN perfmodel.profile.step_ms IS 'milliseconds of one step';
COMMENT ON COLUMN perfmodel.profile.forward_ms IS 'milliseconds of the forward pass, when measured';
COMMENT ON COLUMN perfmodel.profile.backward_ms IS 'milliseconds of the backward pass, when measured';
COMMENT ON COLUMN perfmodel.profile.peak_memory_mb IS 'peak device memory in MB, when measured';
COMMENT ON COLUMN perfmodel.profile.spread IS 'width of the middle half of the timed steps over their median; above 0.10 a row counts half in training';
COMMENT ON COLUMN perfmodel.profile.measured_at IS 'when it was measured';
COMMENT ON COLUMN perfmodel.profile.source IS 'who or what measured it';
COMMENT ON CONSTRAINT profile_graph_loaded ON perfmodel.profile IS 'the graph of a measurement is loaded, and stays while there are measurements of it';
COMMENT ON CONSTRAINT profile_gpu_known ON perfmodel.profile IS 'the device has a data sheet in perfmodel.gpu';
COMMENT ON INDEX perfmodel.profile_graph_id_idx IS 'measurements of a graph';
COMMENT ON INDEX perfmodel.profile_gpu_idx IS 'measurements on a device';

-- Measurements of single operators. The operator is a document of its own, in
-- the row: a perfmodel-graph/1 with one node besides the inputs. It says what a
-- node of a network says (type, attributes, shapes, weights), and whatever
-- reads graphs reads it. In perfmodel.graph such documents would bury the
-- networks under thousands of names nobody asks for.

CREATE FUNCTION perfmodel.operator_name(operator jsonb) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
    AS 'MODULE_PATHNAME', 'pm_operator_name';
COMMENT ON FUNCTION perfmodel.operator_name(jsonb) IS 'type of the only operator of a perfmodel-graph/1 document; an error when the document is not valid, has not exactly one node besides Input, or the catalogue does not know its type';

CREATE TABLE perfmodel.op_profile (
    op_profile_id bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT op_profile_pkey PRIMARY KEY,
    operator      jsonb       NOT NULL,
    op            text        NOT NULL GENERATED ALWAYS AS (perfmodel.operator_name(operator)) STORED,
    gpu           text        NOT NULL CONSTRAINT op_profile_gpu_known
                              REFERENCES perfmodel.gpu (name) ON UPDATE CASCADE,
    batch         integer     NOT NULL CONSTRAINT op_profile_batch_positive CHECK (batch > 0),
    dtype         text        NOT NULL DEFAULT 'fp32'
                              CONSTRAINT op_profile_dtype_known CHECK (dtype IN ('fp32', 'tf32', 'amp', 'bf16', 'fp16')),
    layout        text        NOT NULL DEFAULT 'nchw'
                              CONSTRAINT op_profile_layout_known CHECK (layout IN ('nchw', 'nhwc')),
    framework     text,
    forward_ms    float8      NOT NULL CONSTRAINT op_profile_forward_ms_positive_finite
                              CHECK (forward_ms > 0 AND forward_ms < 'Infinity'),
    backward_ms   float8      CONSTRAINT op_profile_backward_ms_positive_finite
                              CHECK (backward_ms > 0 AND backward_ms < 'Infinity'),
    spread        float8      CONSTRAINT op_profile_spread_not_negative_finite
                              CHECK (spread >= 0 AND spread < 'Infinity'),
    measured_at   timestamptz,
    source        text
);
CREATE INDEX op_profile_gpu_op_idx ON perfmodel.op_profile (gpu, op);

COMMENT ON TABLE perfmodel.op_profile IS 'measured times of single operators; takes INSERT and COPY';
COMMENT ON COLUMN perfmodel.op_profile.op_profile_id IS 'identifies the measurement';
COMMENT ON COLUMN perfmodel.op_profile.operator IS 'the operator: a perfmodel-graph/1 document with one node besides its inputs, shapes at batch 1';
COMMENT ON COLUMN perfmodel.op_profile.op IS 'type of the operator as its document writes it';
COMMENT ON COLUMN perfmodel.op_profile.gpu IS 'device it ran on; an alias is turned into the name of the device';
COMMENT ON COLUMN perfmodel.op_profile.batch IS 'samples in the inputs';
COMMENT ON COLUMN perfmodel.op_profile.dtype IS 'number format: fp32, tf32, amp (fp16 with fp32 where it matters), bf16, fp16';
COMMENT ON COLUMN perfmodel.op_profile.layout IS 'memory layout of activations: nchw or nhwc';
COMMENT ON COLUMN perfmodel.op_profile.framework IS 'framework and version, such as pytorch 2.1';
COMMENT ON COLUMN perfmodel.op_profile.forward_ms IS 'milliseconds of one forward call';
COMMENT ON COLUMN perfmodel.op_profile.backward_ms IS 'milliseconds of its backward pass: gradients of all inputs and weights that have one; NULL when it has none or was not measured';
COMMENT ON COLUMN perfmodel.op_profile.spread IS 'width of the middle half of the timed calls, forward and backward together, over their median';
COMMENT ON COLUMN perfmodel.op_profile.measured_at IS 'when it was measured';
COMMENT ON COLUMN perfmodel.op_profile.source IS 'who or what measured it';
COMMENT ON CONSTRAINT op_profile_gpu_known ON perfmodel.op_profile IS 'the device has a data sheet in perfmodel.gpu';
COMMENT ON INDEX perfmodel.op_profile_gpu_op_idx IS 'measurements of a type of operator on a device';

-- Trained predictors. A training is a new row; a row never changes but for
-- its name and whether it is the active one.

CREATE TABLE perfmodel.predictor (
    predictor_id    bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT predictor_pkey PRIMARY KEY,
    name            text        NOT NULL CONSTRAINT predictor_name_key UNIQUE
                                CONSTRAINT predictor_name_not_empty CHECK (name <> ''),
    kind            text        NOT NULL,
    active          boolean     NOT NULL DEFAULT false,
    options         jsonb       NOT NULL,
    seed            bigint      NOT NULL,
    n_profiles      integer     NOT NULL,
    n_operators     integer     NOT NULL,
    profiles_hash   text        NOT NULL,
    profiles        bigint[]    NOT NULL,
    base_predictor_id bigint,
    recalibrated_on bigint[],
    gpus            text[]      NOT NULL,
    frameworks      text[]      NOT NULL,
    dtypes          text[]      NOT NULL,
    layouts         text[]      NOT NULL,
    valid_n         integer     NOT NULL,
    valid_mape      float8,
    valid_mae_ms    float8,
    valid_rmse_ms   float8,
    train_seconds   float8      NOT NULL,
    epochs          integer     NOT NULL,
    n_params        bigint      NOT NULL,
    trained_at      timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    library_version text        NOT NULL
);
CREATE UNIQUE INDEX predictor_one_active ON perfmodel.predictor (active) WHERE active;

COMMENT ON TABLE perfmodel.predictor IS 'trained predictors with what they were trained on; made by train and recalibrate, immutable but for name and active';
COMMENT ON COLUMN perfmodel.predictor.predictor_id IS 'identifies the predictor; never used again for another one';
COMMENT ON COLUMN perfmodel.predictor.name IS 'unique name, given to train';
COMMENT ON COLUMN perfmodel.predictor.kind IS 'kind of predictor, see kinds()';
COMMENT ON COLUMN perfmodel.predictor.active IS 'whether it answers when no predictor is named; at most one does';
COMMENT ON COLUMN perfmodel.predictor.options IS 'all options it was trained with, defaults included';
COMMENT ON COLUMN perfmodel.predictor.seed IS 'seed of its random numbers; the same seed and rows give the same predictor';
COMMENT ON COLUMN perfmodel.predictor.n_profiles IS 'number of measurements it was trained on';
COMMENT ON COLUMN perfmodel.predictor.n_operators IS 'number of measurements of single operators (op_profile) that it learned from as well';
COMMENT ON COLUMN perfmodel.predictor.profiles_hash IS 'hash of the contents of all these measurements at that time';
COMMENT ON COLUMN perfmodel.predictor.profiles IS 'profile_id of these measurements';
COMMENT ON COLUMN perfmodel.predictor.base_predictor_id IS 'predictor that it was recalibrated from, or whose network its training went on from, which may have been dropped since; NULL: none';
COMMENT ON COLUMN perfmodel.predictor.recalibrated_on IS 'profile_id of the measurements that recalibrate fitted it to; NULL: none';
COMMENT ON COLUMN perfmodel.predictor.gpus IS 'devices that it has seen';
COMMENT ON COLUMN perfmodel.predictor.frameworks IS 'frameworks that it has seen';
COMMENT ON COLUMN perfmodel.predictor.dtypes IS 'number formats that it has seen';
COMMENT ON COLUMN perfmodel.predictor.layouts IS 'memory layouts that it has seen';
COMMENT ON COLUMN perfmodel.predictor.valid_n IS 'measurements that were held out of training to judge it, in turns where the kind calibrates intervals; of recalibrate: the new ones, each judged without its network';
COMMENT ON COLUMN perfmodel.predictor.valid_mape IS 'mean absolute percentage error on them, as a fraction (0.05 is 5 %); NULL when there were none';
COMMENT ON COLUMN perfmodel.predictor.valid_mae_ms IS 'mean absolute error on them in ms';
COMMENT ON COLUMN perfmodel.predictor.valid_rmse_ms IS 'root of the mean squared error on them in ms';
COMMENT ON COLUMN perfmodel.predictor.train_seconds IS 'seconds that training took';
COMMENT ON COLUMN perfmodel.predictor.epochs IS 'passes over the measurements that training made';
COMMENT ON COLUMN perfmodel.predictor.n_params IS 'trained numbers';
COMMENT ON COLUMN perfmodel.predictor.trained_at IS 'when training ended';
COMMENT ON COLUMN perfmodel.predictor.library_version IS 'version of the library that trained it';
COMMENT ON CONSTRAINT predictor_name_not_empty ON perfmodel.predictor IS 'a predictor has a name';
COMMENT ON INDEX perfmodel.predictor_one_active IS 'at most one predictor is active';

CREATE TABLE perfmodel.predictor_weights (
    predictor_id bigint  NOT NULL CONSTRAINT predictor_weights_predictor_exists
                         REFERENCES perfmodel.predictor ON DELETE CASCADE,
    part         integer NOT NULL,
    data         bytea   NOT NULL,
    CONSTRAINT predictor_weights_pkey PRIMARY KEY (predictor_id, part)
);
-- Floats do not compress; do not try.
ALTER TABLE perfmodel.predictor_weights ALTER COLUMN data SET STORAGE EXTERNAL;

COMMENT ON TABLE perfmodel.predictor_weights IS 'stored form of predictors in parts of at most 64 MiB';
COMMENT ON COLUMN perfmodel.predictor_weights.predictor_id IS 'predictor that the part belongs to';
COMMENT ON COLUMN perfmodel.predictor_weights.part IS 'number of the part, from 0';
COMMENT ON COLUMN perfmodel.predictor_weights.data IS 'bytes of the part: magic, format version, kind, options, numbers, calibration and domain, checksum over all parts';

-- A training in the foreground writes its row at the end, in its caller's
-- transaction. One in the background has its row from the start, and its worker
-- writes into it about once a second; so half of each page is left for updates
-- in place.
CREATE TABLE perfmodel.training_run (
    run_id        bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT training_run_pkey PRIMARY KEY,
    predictor_id  bigint      CONSTRAINT training_run_predictor_exists
                              REFERENCES perfmodel.predictor ON DELETE SET NULL,
    predictor     text        NOT NULL,
    kind          text        NOT NULL,
    profiles      bigint[],
    options       jsonb       NOT NULL DEFAULT '{}',
    warm_start    text,
    background    boolean     NOT NULL DEFAULT false,
    status        text        NOT NULL CONSTRAINT training_run_status_known
                              CHECK (status IN ('running', 'finished', 'failed', 'cancelled')),
    phase         text        NOT NULL CONSTRAINT training_run_phase_known
                              CHECK (phase IN ('starting', 'reading', 'calibrating', 'training', 'storing', 'done')),
    n_profiles    integer,
    fold          integer,
    folds         integer,
    epoch         integer,
    epochs        integer,
    best_epoch    integer,
    loss          float8,
    learning_rate float8,
    train_mape    float8,
    valid_mape    float8,
    threads       integer,
    memory_bytes  bigint,
    seconds       float8,
    seconds_left  float8,
    started_at    timestamptz NOT NULL,
    heartbeat_at  timestamptz,
    finished_at   timestamptz,
    error_code    text,
    error_message text,
    error_detail  text,
    error_hint    text,
    trained_by    text        NOT NULL DEFAULT CURRENT_USER,
    CONSTRAINT training_run_ends CHECK ((status = 'running') = (finished_at IS NULL)),
    CONSTRAINT training_run_says_why CHECK ((status IN ('failed', 'cancelled')) = (error_code IS NOT NULL))
) WITH (fillfactor = 50);
CREATE INDEX training_run_predictor_id_idx ON perfmodel.training_run (predictor_id);

COMMENT ON TABLE perfmodel.training_run IS 'one row per training: in the foreground once it is finished (one that fails leaves nothing), in the background from its start; kept when its predictor is dropped. training_status shows most of it and knows which runs have lost their worker';
COMMENT ON COLUMN perfmodel.training_run.run_id IS 'identifies the run; returned by train_async';
COMMENT ON COLUMN perfmodel.training_run.predictor_id IS 'predictor that came of it; NULL before the end, and once that is dropped';
COMMENT ON COLUMN perfmodel.training_run.predictor IS 'name the predictor was given';
COMMENT ON COLUMN perfmodel.training_run.kind IS 'kind of predictor';
COMMENT ON COLUMN perfmodel.training_run.profiles IS 'profile_id of the measurements asked for; NULL: all of training steps on one device';
COMMENT ON COLUMN perfmodel.training_run.options IS 'options as they were given; the predictor has all of them';
COMMENT ON COLUMN perfmodel.training_run.warm_start IS 'name, then, of the predictor that it went on from; NULL: none';
COMMENT ON COLUMN perfmodel.training_run.background IS 'whether a background worker runs it (train_async)';
COMMENT ON COLUMN perfmodel.training_run.status IS 'running, finished, failed, or cancelled; still running when the worker was lost in a crash, see training_status';
COMMENT ON COLUMN perfmodel.training_run.phase IS 'how far it has got: starting, reading (measurements and graphs), calibrating (training without a part of the rows, to judge its errors on that), training (on all rows), storing, done';
COMMENT ON COLUMN perfmodel.training_run.n_profiles IS 'number of measurements; NULL before they are read';
COMMENT ON COLUMN perfmodel.training_run.fold IS 'while calibrating: which of the trainings for that it is at; else NULL';
COMMENT ON COLUMN perfmodel.training_run.folds IS 'trainings that calibrate intervals, before the one on all rows; NULL: none, or not known';
COMMENT ON COLUMN perfmodel.training_run.epoch IS 'passes over the measurements made so far, of the training it is at; NULL before the first';
COMMENT ON COLUMN perfmodel.training_run.epochs IS 'passes that this training will make at most; once finished: that the last one made';
COMMENT ON COLUMN perfmodel.training_run.best_epoch IS 'pass whose weights were kept; NULL before the end';
COMMENT ON COLUMN perfmodel.training_run.loss IS 'mean loss of the last pass that was reported';
COMMENT ON COLUMN perfmodel.training_run.learning_rate IS 'learning rate at the end of that pass';
COMMENT ON COLUMN perfmodel.training_run.train_mape IS 'mean absolute percentage error on the rows trained on, as a fraction; NULL before the end';
COMMENT ON COLUMN perfmodel.training_run.valid_mape IS 'mean absolute percentage error on the rows held out, as a fraction: of the last pass reported, once finished of the predictor';
COMMENT ON COLUMN perfmodel.training_run.threads IS 'threads that it is allowed';
COMMENT ON COLUMN perfmodel.training_run.memory_bytes IS 'memory that it was estimated to take';
COMMENT ON COLUMN perfmodel.training_run.seconds IS 'seconds that it has taken so far; once finished: that the training itself took';
COMMENT ON COLUMN perfmodel.training_run.seconds_left IS 'estimate of the seconds that are left, to the end of all; NULL when there is none';
COMMENT ON COLUMN perfmodel.training_run.started_at IS 'when it was started';
COMMENT ON COLUMN perfmodel.training_run.heartbeat_at IS 'when its worker last wrote here; NULL for one in the foreground';
COMMENT ON COLUMN perfmodel.training_run.finished_at IS 'when it ended, however that was';
COMMENT ON COLUMN perfmodel.training_run.error_code IS 'SQLSTATE of the error that it failed with or was cancelled by';
COMMENT ON COLUMN perfmodel.training_run.error_message IS 'message of that error';
COMMENT ON COLUMN perfmodel.training_run.error_detail IS 'detail of that error';
COMMENT ON COLUMN perfmodel.training_run.error_hint IS 'hint of that error';
COMMENT ON COLUMN perfmodel.training_run.trained_by IS 'role that ran it; its members may cancel it';
COMMENT ON INDEX perfmodel.training_run_predictor_id_idx IS 'runs of a predictor';
COMMENT ON CONSTRAINT training_run_ends ON perfmodel.training_run IS 'what is not running has ended';
COMMENT ON CONSTRAINT training_run_says_why ON perfmodel.training_run IS 'a run without a predictor says why';

-- Triggers: aliases of devices in profile, rows that must not change, and word
-- to every session that what it remembers of a table is out of date.

CREATE FUNCTION perfmodel.profile_gpu_by_name() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_profile_gpu_by_name';
COMMENT ON FUNCTION perfmodel.profile_gpu_by_name() IS 'trigger: turns an alias of a device into its name';

CREATE FUNCTION perfmodel.refuse_update() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_refuse_update';
COMMENT ON FUNCTION perfmodel.refuse_update() IS 'trigger: refuses to change rows that are immutable';

CREATE FUNCTION perfmodel.forget_cached() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_forget_cached';
COMMENT ON FUNCTION perfmodel.forget_cached() IS 'trigger: tells all sessions to forget what they remember of a table';

CREATE TRIGGER profile_gpu_by_name BEFORE INSERT OR UPDATE OF gpu ON perfmodel.profile
    FOR EACH ROW EXECUTE FUNCTION perfmodel.profile_gpu_by_name();
COMMENT ON TRIGGER profile_gpu_by_name ON perfmodel.profile IS 'accepts aliases of devices';
CREATE TRIGGER op_profile_gpu_by_name BEFORE INSERT OR UPDATE OF gpu ON perfmodel.op_profile
    FOR EACH ROW EXECUTE FUNCTION perfmodel.profile_gpu_by_name();
COMMENT ON TRIGGER op_profile_gpu_by_name ON perfmodel.op_profile IS 'accepts aliases of devices';

CREATE TRIGGER graph_immutable
    BEFORE UPDATE OF graph_id, model, family, nodes, params, unknown_ops, structure, loaded_at, doc ON perfmodel.graph
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Delete the graph and load it again under a new id.');
COMMENT ON TRIGGER graph_immutable ON perfmodel.graph IS 'only name and source may change';

CREATE TRIGGER predictor_immutable
    BEFORE UPDATE OF predictor_id, kind, options, seed, n_profiles, n_operators, profiles_hash, profiles, base_predictor_id,
        recalibrated_on, gpus, frameworks, dtypes, layouts, valid_n, valid_mape, valid_mae_ms, valid_rmse_ms, train_seconds, epochs, n_params, trained_at,
        library_version ON perfmodel.predictor
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Train a new predictor instead.');
COMMENT ON TRIGGER predictor_immutable ON perfmodel.predictor IS 'only name and active may change';

CREATE TRIGGER predictor_weights_immutable BEFORE UPDATE ON perfmodel.predictor_weights
    FOR EACH ROW EXECUTE FUNCTION perfmodel.refuse_update('Train a new predictor instead.');
COMMENT ON TRIGGER predictor_weights_immutable ON perfmodel.predictor_weights IS 'weights do not change';

CREATE TRIGGER gpu_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.gpu
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER gpu_forget_cached ON perfmodel.gpu IS 'data sheets are cached by sessions';

-- A new graph makes nothing out of date.
CREATE TRIGGER graph_forget_cached AFTER UPDATE OR DELETE OR TRUNCATE ON perfmodel.graph
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER graph_forget_cached ON perfmodel.graph IS 'graphs are cached by sessions';

CREATE TRIGGER predictor_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.predictor
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER predictor_forget_cached ON perfmodel.predictor IS 'predictors, and which is active, are cached by sessions';

-- Replicas. A hot standby gets the word with the commit. A subscriber of
-- logical replication does not: its apply worker has session_replication_role
-- "replica" and fires no statement triggers but for the initial copy and for
-- TRUNCATE. So the triggers above fire always, and there are row triggers for
-- what is applied.

ALTER TABLE perfmodel.gpu ENABLE ALWAYS TRIGGER gpu_forget_cached;
ALTER TABLE perfmodel.graph ENABLE ALWAYS TRIGGER graph_forget_cached;
ALTER TABLE perfmodel.predictor ENABLE ALWAYS TRIGGER predictor_forget_cached;

CREATE TRIGGER gpu_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.gpu
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.gpu ENABLE REPLICA TRIGGER gpu_forget_applied;
COMMENT ON TRIGGER gpu_forget_applied ON perfmodel.gpu IS 'as gpu_forget_cached, for rows that logical replication applies';

CREATE TRIGGER graph_forget_applied AFTER UPDATE OR DELETE ON perfmodel.graph
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.graph ENABLE REPLICA TRIGGER graph_forget_applied;
COMMENT ON TRIGGER graph_forget_applied ON perfmodel.graph IS 'as graph_forget_cached, for rows that logical replication applies';

CREATE TRIGGER predictor_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.predictor
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.predictor ENABLE REPLICA TRIGGER predictor_forget_applied;
COMMENT ON TRIGGER predictor_forget_applied ON perfmodel.predictor IS 'as predictor_forget_cached, for rows that logical replication applies';

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

-- ONNX models.

CREATE FUNCTION perfmodel.load_onnx(name text, model bytea, batch_dim integer DEFAULT NULL, dims jsonb DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 AS 'MODULE_PATHNAME', 'pm_load_onnx';
COMMENT ON FUNCTION perfmodel.load_onnx(text, bytea, integer, jsonb) IS
    'stores the contents of an .onnx file (opset 9 to 21, with or without weights) as a graph and returns its graph_id; batch_dim: the dimension of the inputs that is the batch, found by itself where one is dynamic; dims: sizes of other dynamic dimensions by name';

CREATE FUNCTION perfmodel.onnx_to_graph(model bytea, batch_dim integer DEFAULT NULL, dims jsonb DEFAULT NULL) RETURNS jsonb
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000000 AS 'MODULE_PATHNAME', 'pm_onnx_to_graph';
COMMENT ON FUNCTION perfmodel.onnx_to_graph(bytea, integer, jsonb) IS
    'the perfmodel-graph/1 document that load_onnx() stores for this model, without storing it';

-- Training and what is kept of it.

CREATE FUNCTION perfmodel.train(name text, kind text DEFAULT 'mdot', profiles bigint[] DEFAULT NULL,
                                options jsonb DEFAULT '{}', warm_start text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000000 AS 'MODULE_PATHNAME', 'pm_train_sql';
COMMENT ON FUNCTION perfmodel.train(text, text, bigint[], jsonb, text) IS
    'trains a predictor of the given kind on the given measurements (NULL: all of training steps on one device) and returns its predictor_id; kinds() lists kinds and options; the first predictor becomes the active one; warm_start: name of a predictor of kind mdot whose network the training goes on from, in fewer epochs';

CREATE FUNCTION perfmodel.estimate_training(kind text DEFAULT 'mdot', profiles bigint[] DEFAULT NULL,
                                            options jsonb DEFAULT '{}',
                                            OUT n_profiles integer, OUT n_graphs integer, OUT threads integer,
                                            OUT memory_bytes bigint, OUT memory_limit_bytes bigint) RETURNS record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 1000000 AS 'MODULE_PATHNAME', 'pm_estimate_training';
COMMENT ON FUNCTION perfmodel.estimate_training(text, bigint[], jsonb) IS
    'what train with the same arguments would take: rows, threads, memory, and the limit it is held against (perfmodel.train_mem)';

CREATE FUNCTION perfmodel.train_async(name text, kind text DEFAULT 'mdot', profiles bigint[] DEFAULT NULL,
                                      options jsonb DEFAULT '{}', warm_start text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 AS 'MODULE_PATHNAME', 'pm_train_async';
COMMENT ON FUNCTION perfmodel.train_async(text, text, bigint[], jsonb, text) IS
    'as train, but returns a run_id at once and trains in a background worker, which begins when the transaction of this call is committed and sees what is committed then; training_status shows how far it is, cancel_training ends it';

CREATE FUNCTION perfmodel.cancel_training(run_id bigint) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE STRICT COST 10000 AS 'MODULE_PATHNAME', 'pm_cancel_training';
COMMENT ON FUNCTION perfmodel.cancel_training(bigint) IS
    'tells the worker of a training to stop, which it does soon, storing nothing; returns whether there was a worker to tell; allowed to members of the role that started the training and of pg_signal_backend';

CREATE FUNCTION perfmodel.training_lost(run_id bigint) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE STRICT COST 1000 AS 'MODULE_PATHNAME', 'pm_training_lost';
COMMENT ON FUNCTION perfmodel.training_lost(bigint) IS
    'whether a run of training_run says that it is running and has no worker (any more): the server crashed or was restarted, or the worker was terminated; NULL on a standby, where that is not known';

-- The state of a run whose worker was lost is worked out, not written, so that
-- every reader sees it, on a standby too.
CREATE VIEW perfmodel.training_status AS
SELECT r.run_id, r.predictor_id, r.predictor, r.kind, r.background,
       CASE WHEN r.status <> 'running' THEN r.status
            WHEN l.lost THEN 'failed'
            WHEN l.lost IS NULL THEN 'running on the primary'
            ELSE r.status END AS status,
       r.phase, r.n_profiles, r.fold, r.folds, r.epoch, r.epochs, r.loss, r.learning_rate, r.valid_mape, r.threads, r.seconds,
       CASE WHEN l.lost IS NOT TRUE THEN r.seconds_left END AS seconds_left,
       r.started_at, r.heartbeat_at, r.finished_at,
       CASE WHEN l.lost THEN 'its background worker is gone: the server crashed or was restarted, or the worker was terminated'
            ELSE r.error_message || COALESCE(pg_catalog.chr(10) || r.error_detail, '')
                                 || COALESCE(pg_catalog.chr(10) || r.error_hint, '') END AS message,
       r.trained_by
FROM perfmodel.training_run r,
     LATERAL (SELECT CASE WHEN r.status = 'running' THEN perfmodel.training_lost(r.run_id) ELSE false END AS lost) l;
COMMENT ON VIEW perfmodel.training_status IS 'trainings, and how far those are that run in the background';
COMMENT ON COLUMN perfmodel.training_status.status IS 'running, finished, failed (also when its worker was lost), cancelled; on a standby: running on the primary';
COMMENT ON COLUMN perfmodel.training_status.seconds_left IS 'estimate of the seconds that are left while it is running';
COMMENT ON COLUMN perfmodel.training_status.message IS 'why it failed or was cancelled: message, detail and hint of the error';
COMMENT ON COLUMN perfmodel.training_status.run_id IS 'identifies the run; returned by train_async';
COMMENT ON COLUMN perfmodel.training_status.predictor_id IS 'predictor that came of it; NULL before the end, and once that is dropped';
COMMENT ON COLUMN perfmodel.training_status.predictor IS 'name the predictor was given';
COMMENT ON COLUMN perfmodel.training_status.kind IS 'kind of predictor';
COMMENT ON COLUMN perfmodel.training_status.background IS 'whether a background worker runs it (train_async)';
COMMENT ON COLUMN perfmodel.training_status.phase IS 'how far it has got: starting, reading, calibrating, training, storing, done';
COMMENT ON COLUMN perfmodel.training_status.n_profiles IS 'number of measurements; NULL before they are read';
COMMENT ON COLUMN perfmodel.training_status.fold IS 'while calibrating: which of the trainings for that it is at; else NULL';
COMMENT ON COLUMN perfmodel.training_status.folds IS 'trainings that calibrate intervals, before the one on all rows; NULL: none, or not known';
COMMENT ON COLUMN perfmodel.training_status.epoch IS 'passes over the measurements made so far, of the training it is at; NULL before the first';
COMMENT ON COLUMN perfmodel.training_status.epochs IS 'passes that this training will make at most; once finished: that the last one made';
COMMENT ON COLUMN perfmodel.training_status.loss IS 'mean loss of the last pass that was reported';
COMMENT ON COLUMN perfmodel.training_status.learning_rate IS 'learning rate at the end of that pass';
COMMENT ON COLUMN perfmodel.training_status.valid_mape IS 'mean absolute percentage error on the rows held out, as a fraction: of the last pass reported, once finished of the predictor';
COMMENT ON COLUMN perfmodel.training_status.threads IS 'threads that it is allowed';
COMMENT ON COLUMN perfmodel.training_status.seconds IS 'seconds that it has taken so far; once finished: that the training itself took';
COMMENT ON COLUMN perfmodel.training_status.started_at IS 'when it was started';
COMMENT ON COLUMN perfmodel.training_status.heartbeat_at IS 'when its worker last wrote; NULL for one in the foreground';
COMMENT ON COLUMN perfmodel.training_status.finished_at IS 'when it ended, however that was';
COMMENT ON COLUMN perfmodel.training_status.trained_by IS 'role that ran it; its members may cancel it';
CREATE FUNCTION perfmodel.recalibrate(predictor text DEFAULT NULL, profiles bigint[] DEFAULT NULL, name text DEFAULT NULL,
                                      OUT predictor_id bigint, OUT new_name text, OUT n_profiles integer,
                                      OUT n_trained_on integer, OUT n_networks integer,
                                      OUT mape_before_pct float8, OUT mape_after_pct float8,
                                      OUT mae_before_ms float8, OUT mae_after_ms float8, OUT seconds float8) RETURNS record
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000000 AS 'MODULE_PATHNAME', 'pm_recalibrate_sql';
COMMENT ON FUNCTION perfmodel.recalibrate(text, bigint[], text) IS
    'fits a predictor (NULL: the active one) to measurements (NULL: all that it was not trained on) by a few numbers per device, without training it again, and stores the result as a new predictor, which is not active; the errors are on these measurements, after: each predicted by numbers fitted without its network, NULL when there is only one network; n_trained_on of the measurements were trained on, and flatter';

CREATE FUNCTION perfmodel.corrections(predictor text DEFAULT NULL,
                                      OUT gpu text, OUT dtype text, OUT layout text, OUT n_profiles integer,
                                      OUT n_networks integer, OUT factor float8, OUT at_ms float8, OUT exponent float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 10 AS 'MODULE_PATHNAME', 'pm_corrections';
COMMENT ON FUNCTION perfmodel.corrections(text) IS
    'what recalibrate fitted: on this device and in this format and layout a prediction of at_ms is multiplied by factor, and one of r times that by factor times r to the power of (exponent - 1); n_networks are those measured on the device; no rows when the predictor was not recalibrated';

CREATE FUNCTION perfmodel.activate_predictor(name text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_activate_predictor';
COMMENT ON FUNCTION perfmodel.activate_predictor(text) IS
    'makes this predictor the one that answers when none is named; returns its predictor_id';

CREATE FUNCTION perfmodel.drop_predictor(name text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_drop_predictor';
COMMENT ON FUNCTION perfmodel.drop_predictor(text) IS 'deletes a predictor and its weights; returns the id it had';

-- Predictions. They read with the caller's rights, write nothing, and work on
-- a hot standby. Not STRICT: a NULL framework or predictor has a meaning.
-- COST: a C function that does nothing takes about 0.1 us at COST 1; a new
-- batch of a graph that the session knows takes about 10 us (docs/serving.md).

CREATE FUNCTION perfmodel.predict_train_time(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                             layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                             predictor text DEFAULT NULL) RETURNS float8
    LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_predict_train_time';
COMMENT ON FUNCTION perfmodel.predict_train_time(bigint, text, integer, text, text, text, text) IS
    'predicted milliseconds of one training step; predictor NULL: the active one; framework NULL: the one that the predictor has seen most (kind opclass: all of them together); NULL when any other argument is';

CREATE FUNCTION perfmodel.predict(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                  layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                  predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                  OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                  OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text)
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 110 AS 'MODULE_PATHNAME', 'pm_predict';
COMMENT ON FUNCTION perfmodel.predict(bigint, text, integer, text, text, text, text, float8) IS
    'the prediction of predict_train_time with an interval in ms that holds the measured step with probability level (0.5 to 0.999) for networks like those in training, samples per second, and whether the question is like what the predictor was trained on; note says why not; interval NULL: not calibrated; in_domain NULL: not known; NULL when an argument other than framework and predictor is';

CREATE FUNCTION perfmodel.predict_many(graph_ids bigint[], gpus text[], batches integer[], dtype text DEFAULT 'fp32',
                                       layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                       predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                       OUT ordinality bigint, OUT graph_id bigint, OUT gpu text, OUT batch integer,
                                       OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                       OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 11000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_predict_many';
COMMENT ON FUNCTION perfmodel.predict_many(bigint[], text[], integer[], text, text, text, text, float8) IS
    'predict for many questions: question i is made of element i of three arrays of the same length; one row for each, numbered from 1, with the question and the columns of predict, which are NULL where an element is; no rows when an argument other than framework and predictor is NULL';

CREATE FUNCTION perfmodel.what_if(graph_id bigint, gpus text[], batches integer[], dtype text DEFAULT 'fp32',
                                  layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                  predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                  OUT gpu text, OUT batch integer,
                                  OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                  OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 2200 ROWS 20 AS 'MODULE_PATHNAME', 'pm_what_if';
COMMENT ON FUNCTION perfmodel.what_if(bigint, text[], integer[], text, text, text, text, float8) IS
    'predict for one graph on every device at every batch, devices and batches in the order given; gpus NULL: those that the predictor was trained on and that perfmodel.gpu still has; columns of predict are NULL where gpu or batch is; no rows when another argument than gpus, framework and predictor is NULL';

CREATE FUNCTION perfmodel.explain_train_time(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                             layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                             predictor text DEFAULT NULL,
                                             OUT node_id integer, OUT op text, OUT class text, OUT shape bigint[],
                                             OUT copies integer, OUT step_ms float8, OUT share float8, OUT bound text,
                                             OUT forward_ms float8, OUT backward_ms float8, OUT update_ms float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 5000 ROWS 50 AS 'MODULE_PATHNAME', 'pm_explain_train_time';
COMMENT ON FUNCTION perfmodel.explain_train_time(bigint, text, integer, text, text, text, text) IS
    'where the predicted time goes: one row per group of identical operators (node_id is one of them, copies their number) and one for the rest of the step (node_id NULL); step_ms sums to the prediction; its forward, backward and update part are NULL where the kind of predictor does not tell them apart';

-- Accuracy.

CREATE FUNCTION perfmodel.evaluate(predictor text DEFAULT NULL, profiles bigint[] DEFAULT NULL,
                                   OUT grouped_by text, OUT group_name text, OUT n integer, OUT mape_pct float8,
                                   OUT median_ape_pct float8, OUT p90_ape_pct float8, OUT mae_ms float8,
                                   OUT rmse_ms float8, OUT within_10_pct float8, OUT bias_pct float8,
                                   OUT coverage_pct float8, OUT interval_width_pct float8, OUT in_domain_pct float8,
                                   OUT mape_in_domain_pct float8, OUT mape_out_of_domain_pct float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 1000000 ROWS 50 AS 'MODULE_PATHNAME', 'pm_evaluate';
COMMENT ON FUNCTION perfmodel.evaluate(text, bigint[]) IS
    'errors of a predictor (NULL: the active one) on measurements (NULL: all of training steps on one device), overall and per gpu, dtype, layout, framework and family; rows it was trained on are not left out; coverage_pct and interval_width_pct (of the prediction) are of intervals at level 0.9, in_domain_pct the share of rows like those in training, with the errors of these and of the others; NULL where there are none';

CREATE FUNCTION perfmodel.cross_validate(kind text DEFAULT 'mdot', profiles bigint[] DEFAULT NULL,
                                         folds integer DEFAULT 5, split text DEFAULT 'structure',
                                         options jsonb DEFAULT '{}',
                                         OUT grouped_by text, OUT group_name text, OUT n integer, OUT mape_pct float8,
                                         OUT median_ape_pct float8, OUT p90_ape_pct float8, OUT mae_ms float8,
                                         OUT rmse_ms float8, OUT within_10_pct float8, OUT bias_pct float8,
                                         OUT coverage_pct float8, OUT interval_width_pct float8, OUT in_domain_pct float8,
                                         OUT mape_in_domain_pct float8, OUT mape_out_of_domain_pct float8,
                                         OUT train_s float8, OUT predict_us float8)
    RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000000 ROWS 50 AS 'MODULE_PATHNAME', 'pm_cross_validate';
COMMENT ON FUNCTION perfmodel.cross_validate(text, bigint[], integer, text, jsonb) IS
    'errors on measurements that training has not seen: trains once per fold and predicts the fold; split is structure, family, batch or gpu; stores nothing; columns as of evaluate, and in the overall row train_s (seconds of a training, mean over the folds) and predict_us (mean microseconds of a prediction, its features included, the graph being loaded)';

-- What this installation is and can do.

CREATE FUNCTION perfmodel.version(OUT library text, OUT catalog text) RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_version';
COMMENT ON FUNCTION perfmodel.version() IS
    'version of the loaded library and of the SQL objects; a warning when they differ';

CREATE FUNCTION perfmodel.blas_info(OUT library text, OUT kernel text, OUT threads integer, OUT linked text,
                                    OUT cpu text) RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_blas_info_sql';
COMMENT ON FUNCTION perfmodel.blas_info() IS
    'the matrix library, the kernels it chose for this CPU, threads of one call, how it is linked (static, shared), and what the CPU could do (avx512, avx2, older)';

CREATE FUNCTION perfmodel.kinds(OUT kind text, OUT summary text, OUT option text, OUT type text, OUT initial text,
                                OUT minimum float8, OUT maximum float8, OUT choices text[], OUT help text)
    RETURNS SETOF record
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 ROWS 50 AS 'MODULE_PATHNAME', 'pm_kinds';
COMMENT ON FUNCTION perfmodel.kinds() IS 'kinds of predictors and their options with defaults and ranges';

-- All kinds on all splits.

-- Everything that can be wrong is found before the first kind is trained for
-- long: estimate_training() judges kinds, options (of kinds that do not run,
-- too) and rows before anything is sorted; the sort puts what
-- cross_validate() will refuse first and then what costs least, so that a
-- split which the rows do not allow fails within moments.
CREATE FUNCTION perfmodel.leaderboard(kinds text[] DEFAULT NULL, splits text[] DEFAULT '{structure,family,batch}',
                                      folds integer DEFAULT 5, profiles bigint[] DEFAULT NULL,
                                      options jsonb DEFAULT '{}',
                                      OUT kind text, OUT split text, OUT n integer, OUT mape_pct float8, OUT mae_ms float8,
                                      OUT rmse_ms float8, OUT train_s float8, OUT predict_us float8)
    RETURNS SETOF record
    LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 1000000000 ROWS 30 SET jit = off
BEGIN ATOMIC
    WITH wanted AS (
        SELECT DISTINCT u.name FROM unnest(coalesce(kinds, ARRAY(SELECT DISTINCT k.kind FROM perfmodel.kinds() AS k))) AS u(name)
    ), checked AS MATERIALIZED (
        SELECT w.name, w.name IN (SELECT wanted.name FROM wanted) OR w.name IS NULL AS runs,
               options -> w.name AS options, e.memory_bytes, e.memory_bytes <= e.memory_limit_bytes AS fits
        FROM (SELECT wanted.name FROM wanted
              UNION SELECT o.name
              FROM jsonb_object_keys(CASE jsonb_typeof(options) WHEN 'object' THEN options ELSE '{}' END) AS o(name)) AS w,
             LATERAL perfmodel.estimate_training(w.name, profiles,
                 CASE WHEN jsonb_typeof(options) <> 'object' THEN options ELSE coalesce(options -> w.name, '{}') END) AS e
    ), cells AS (
        SELECT c.name, s.name AS split, c.options
        FROM checked AS c, (SELECT DISTINCT u.name FROM unnest(splits) AS u(name)) AS s
        WHERE c.runs
        ORDER BY coalesce(s.name IN ('structure', 'family', 'batch', 'gpu'), false), c.fits, c.memory_bytes, c.name, s.name
        OFFSET 0
    )
    SELECT c.name, c.split, v.n, v.mape_pct, v.mae_ms, v.rmse_ms, v.train_s, v.predict_us
    FROM cells AS c,
         -- intervals are not shown, so what they take is not spent, unless asked for
         LATERAL perfmodel.cross_validate(c.name, profiles, folds, c.split,
             (SELECT coalesce(jsonb_object_agg(k.option, 0), '{}') FROM perfmodel.kinds() AS k
              WHERE k.kind = c.name AND k.option = 'calibration_folds') || coalesce(c.options, '{}')) AS v
    WHERE v.grouped_by = 'overall'
    ORDER BY c.split, v.mape_pct, c.name;
END;
COMMENT ON FUNCTION perfmodel.leaderboard(text[], text[], integer, bigint[], jsonb) IS
    'cross_validate of several kinds (NULL: all) on several splits, best first: errors on measurements that training has not seen, seconds of a training (without calibration of intervals, unless options ask for it), microseconds of a prediction; options is an object of kinds and their options; all kinds are judged on the same folds as long as they are given the same seed';

-- What pg_dump keeps: the users' rows. Rows that come with the extension come
-- back with the extension.

SELECT pg_catalog.pg_extension_config_dump('perfmodel.gpu', 'WHERE NOT builtin');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.graph', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.graph_graph_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.graph_node', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.profile', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.profile_profile_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.op_profile', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.op_profile_op_profile_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.predictor', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.predictor_predictor_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.predictor_weights', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.training_run', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.training_run_run_id_seq', '');

-- Everybody may look at data sheets, resolve names and predict; what predict
-- reads is still subject to the caller's rights on the tables. Whoever may
-- store graphs or train is for the administrator to say.

GRANT USAGE ON SCHEMA perfmodel TO PUBLIC;
GRANT SELECT ON perfmodel.gpu TO PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.load_graph(jsonb, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.load_onnx(text, bytea, integer, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.train(text, text, bigint[], jsonb, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.train_async(text, text, bigint[], jsonb, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.cancel_training(bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.recalibrate(text, bigint[], text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.cross_validate(text, bigint[], integer, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.activate_predictor(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.drop_predictor(text) FROM PUBLIC;
