-- Data sheets of GPUs, and of CPUs, which are devices like any other.

CREATE TABLE perfmodel.gpu (
    name               text    CONSTRAINT gpu_pkey PRIMARY KEY
                               CONSTRAINT gpu_name_not_empty CHECK (name ~ '[[:alnum:]]'),
    vendor             text,
    memory_gb          float8  CONSTRAINT gpu_memory_gb_in_range CHECK (memory_gb BETWEEN 1e-3 AND 1e6),
    mem_bw_gbs         float8  CONSTRAINT gpu_mem_bw_gbs_in_range CHECK (mem_bw_gbs BETWEEN 1e-3 AND 1e7),
    sm_count           integer CONSTRAINT gpu_sm_count_in_range CHECK (sm_count BETWEEN 1 AND 1000000),
    cores_per_sm       integer CONSTRAINT gpu_cores_per_sm_in_range CHECK (cores_per_sm BETWEEN 1 AND 1000000),
    clock_ghz          float8  CONSTRAINT gpu_clock_ghz_in_range CHECK (clock_ghz BETWEEN 1e-3 AND 1e3),
    fp32_tflops        float8  CONSTRAINT gpu_fp32_tflops_in_range CHECK (fp32_tflops BETWEEN 1e-6 AND 1e7),
    fp16_tensor_tflops float8  CONSTRAINT gpu_fp16_tensor_tflops_in_range CHECK (fp16_tensor_tflops BETWEEN 1e-6 AND 1e7),
    l2_mb              float8  CONSTRAINT gpu_l2_mb_in_range CHECK (l2_mb BETWEEN 1e-4 AND 1e6),
    interconnect       text,
    is_cpu             boolean NOT NULL DEFAULT false,
    aliases            text[]  NOT NULL DEFAULT '{}',
    note               text,
    builtin            boolean NOT NULL DEFAULT false,
    tdp_w              float8  CONSTRAINT gpu_tdp_w_in_range CHECK (tdp_w BETWEEN 1e-2 AND 1e6),
    base_clock_ghz     float8  CONSTRAINT gpu_base_clock_ghz_in_range CHECK (base_clock_ghz BETWEEN 1e-3 AND 1e3),
    memory_type        text,
    compute_capability float8  CONSTRAINT gpu_compute_capability_in_range CHECK (compute_capability BETWEEN 1 AND 1e3),
    l1_kb              float8  CONSTRAINT gpu_l1_kb_in_range CHECK (l1_kb BETWEEN 1e-2 AND 1e6),
    register_kb        float8  CONSTRAINT gpu_register_kb_in_range CHECK (register_kb BETWEEN 1e-2 AND 1e6),
    fp16_tflops        float8  CONSTRAINT gpu_fp16_tflops_in_range CHECK (fp16_tflops BETWEEN 1e-6 AND 1e7),
    source             text
);

COMMENT ON TABLE perfmodel.gpu IS 'data sheets of devices; rows with builtin = true come with the extension and are not dumped';
COMMENT ON COLUMN perfmodel.gpu.name IS 'usual name, such as A100-SXM4-80GB or RTX 3090';
COMMENT ON COLUMN perfmodel.gpu.vendor IS 'manufacturer of the device';
COMMENT ON COLUMN perfmodel.gpu.memory_gb IS 'device memory in GB; NULL for a CPU';
COMMENT ON COLUMN perfmodel.gpu.mem_bw_gbs IS 'peak memory bandwidth in GB/s';
COMMENT ON COLUMN perfmodel.gpu.sm_count IS 'streaming multiprocessors, compute units, or CPU cores in use';
COMMENT ON COLUMN perfmodel.gpu.cores_per_sm IS 'FP32 lanes per multiprocessor; each does a multiply-add per cycle';
COMMENT ON COLUMN perfmodel.gpu.clock_ghz IS 'boost clock in GHz';
COMMENT ON COLUMN perfmodel.gpu.fp32_tflops IS 'peak FP32 rate without matrix units, in TFLOP/s';
COMMENT ON COLUMN perfmodel.gpu.fp16_tensor_tflops IS 'dense peak FP16 rate of the matrix units in TFLOP/s; NULL when there are none';
COMMENT ON COLUMN perfmodel.gpu.l2_mb IS 'last on-chip cache in MB; for a CPU the second-level cache of a core';
COMMENT ON COLUMN perfmodel.gpu.interconnect IS 'link to the host or to other devices; PCIe3, PCIe4 or PCIe5 choose the cluster by default';
COMMENT ON COLUMN perfmodel.gpu.is_cpu IS 'whether the device is a CPU';
COMMENT ON COLUMN perfmodel.gpu.aliases IS 'other names, such as those of drivers; compared without case, spaces, _ and -';
COMMENT ON COLUMN perfmodel.gpu.note IS 'explanation of figures that need one';
COMMENT ON COLUMN perfmodel.gpu.builtin IS 'whether the row comes with the extension';
COMMENT ON COLUMN perfmodel.gpu.tdp_w IS 'power in W that the board may draw; NULL when not known';
COMMENT ON COLUMN perfmodel.gpu.base_clock_ghz IS 'clock in GHz that the maker guarantees at tdp_w; clock_ghz is the boost clock';
COMMENT ON COLUMN perfmodel.gpu.memory_type IS 'kind of memory, such as HBM2e or GDDR6X';
COMMENT ON COLUMN perfmodel.gpu.compute_capability IS 'compute capability of an NVIDIA GPU, such as 8.6; NULL for others';
COMMENT ON COLUMN perfmodel.gpu.l1_kb IS 'L1 cache and shared memory of a multiprocessor in KB';
COMMENT ON COLUMN perfmodel.gpu.register_kb IS 'registers of a multiprocessor in KB';
COMMENT ON COLUMN perfmodel.gpu.fp16_tflops IS 'peak FP16 rate without matrix units in TFLOP/s; NULL when not known';
COMMENT ON COLUMN perfmodel.gpu.source IS 'document for checking the figures; not all rows that come with the extension were compared with it';
COMMENT ON CONSTRAINT gpu_name_not_empty ON perfmodel.gpu IS 'a name has at least one letter or digit';

-- The rows below are generated from data/gpu.csv.
