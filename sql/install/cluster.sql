-- Clusters: which machines, and how their GPUs are connected.
-- The tables are new in 0.2.0, so that an update makes them from this file.

CREATE TABLE perfmodel.interconnect (
    name       text    NOT NULL CONSTRAINT interconnect_name_not_empty CHECK (name ~ '[[:alnum:]]'),
    kind       text    NOT NULL
                       CONSTRAINT interconnect_kind_known CHECK (kind IN ('nvlink', 'nvswitch', 'pcie', 'ethernet', 'infiniband')),
    gpus       integer NOT NULL DEFAULT 0 CONSTRAINT interconnect_gpus_in_range CHECK (gpus BETWEEN 0 AND 65536),
    busbw_gbs  float8  NOT NULL CONSTRAINT interconnect_busbw_gbs_in_range CHECK (busbw_gbs BETWEEN 1e-6 AND 1e6),
    ring_gbs   float8  CONSTRAINT interconnect_ring_gbs_in_range CHECK (ring_gbs BETWEEN 1e-6 AND 1e6),
    latency_us float8  CONSTRAINT interconnect_latency_us_in_range CHECK (latency_us BETWEEN 0 AND 1e7),
    source     text,
    builtin    boolean NOT NULL DEFAULT false,
    CONSTRAINT interconnect_pkey PRIMARY KEY (name, gpus)
);
COMMENT ON TABLE perfmodel.interconnect IS 'links between GPUs and between machines; rows with builtin = true come with the extension';
COMMENT ON COLUMN perfmodel.interconnect.name IS 'name of the link, which clusters refer to';
COMMENT ON COLUMN perfmodel.interconnect.kind IS 'nvlink (no switch; xGMI of AMD, too), nvswitch, pcie, ethernet or infiniband';
COMMENT ON COLUMN perfmodel.interconnect.gpus IS 'number of GPUs (for a network: machines) that the row is for; 0: every number without a row of its own';
COMMENT ON COLUMN perfmodel.interconnect.busbw_gbs IS 'bus bandwidth of a large all-reduce in GB/s, as nccl-tests print it; of one adapter';
COMMENT ON COLUMN perfmodel.interconnect.ring_gbs IS 'bus bandwidth in GB/s of all operations but all-reduce, if these differ (NVLS); NULL: busbw_gbs';
COMMENT ON COLUMN perfmodel.interconnect.latency_us IS 'fixed time of an all-reduce in microseconds; NULL: computed from constants of NCCL';
COMMENT ON COLUMN perfmodel.interconnect.source IS 'source of the figures';
COMMENT ON COLUMN perfmodel.interconnect.builtin IS 'whether the row comes with the extension';

CREATE TABLE perfmodel.cluster (
    name           text    CONSTRAINT cluster_pkey PRIMARY KEY CONSTRAINT cluster_name_not_empty CHECK (name ~ '[[:alnum:]]'),
    gpu            text    CONSTRAINT cluster_gpu_known REFERENCES perfmodel.gpu (name) ON UPDATE CASCADE,
    gpus_per_node  integer NOT NULL CONSTRAINT cluster_gpus_per_node_in_range CHECK (gpus_per_node BETWEEN 1 AND 1024),
    intra          text    NOT NULL,
    inter          text,
    adapters       integer NOT NULL DEFAULT 1 CONSTRAINT cluster_adapters_in_range CHECK (adapters BETWEEN 1 AND 1024),
    nodes          integer CONSTRAINT cluster_nodes_in_range CHECK (nodes BETWEEN 1 AND 65536),
    intra_factor   float8  NOT NULL DEFAULT 1 CONSTRAINT cluster_intra_factor_in_range CHECK (intra_factor BETWEEN 1e-3 AND 1e3),
    inter_factor   float8  NOT NULL DEFAULT 1 CONSTRAINT cluster_inter_factor_in_range CHECK (inter_factor BETWEEN 1e-3 AND 1e3),
    pair_factor    float8  NOT NULL DEFAULT 1 CONSTRAINT cluster_pair_factor_in_range CHECK (pair_factor BETWEEN 1e-3 AND 1e3),
    latency_factor float8  NOT NULL DEFAULT 1 CONSTRAINT cluster_latency_factor_in_range CHECK (latency_factor BETWEEN 0 AND 1e3),
    compute_factor float8  NOT NULL DEFAULT 1 CONSTRAINT cluster_compute_factor_in_range CHECK (compute_factor BETWEEN 1e-3 AND 1e3),
    steal          float8  NOT NULL DEFAULT 0.05 CONSTRAINT cluster_steal_in_range CHECK (steal BETWEEN 0 AND 10),
    straggler      float8  NOT NULL DEFAULT 0.01 CONSTRAINT cluster_straggler_in_range CHECK (straggler BETWEEN 0 AND 10),
    contention     float8  NOT NULL DEFAULT 0 CONSTRAINT cluster_contention_in_range CHECK (contention BETWEEN 0 AND 10),
    contention_power float8 NOT NULL DEFAULT 0.7 CONSTRAINT cluster_contention_power_in_range CHECK (contention_power BETWEEN 0 AND 3),
    overlap        float8  NOT NULL DEFAULT 0.5 CONSTRAINT cluster_overlap_in_range CHECK (overlap BETWEEN 0.01 AND 1),
    host_s_per_gb  float8  CONSTRAINT cluster_host_s_per_gb_in_range CHECK (host_s_per_gb BETWEEN 0 AND 1000),
    comm_error     float8  NOT NULL DEFAULT 0.3 CONSTRAINT cluster_comm_error_in_range CHECK (comm_error BETWEEN 0 AND 3),
    step_error     float8  NOT NULL DEFAULT 0 CONSTRAINT cluster_step_error_in_range CHECK (step_error BETWEEN 0 AND 3),
    -- without measurements: docs/jobs.md says what these are from
    unseen_above   float8  NOT NULL DEFAULT 0.5 CONSTRAINT cluster_unseen_above_in_range CHECK (unseen_above BETWEEN 0 AND 3),
    unseen_below   float8  NOT NULL DEFAULT 0.1 CONSTRAINT cluster_unseen_below_in_range CHECK (unseen_below BETWEEN 0 AND 3),
    fitted_rows    integer NOT NULL DEFAULT 0 CONSTRAINT cluster_fitted_rows_not_negative CHECK (fitted_rows >= 0),
    source         text,
    builtin        boolean NOT NULL DEFAULT false,
    correction     float8[] CONSTRAINT cluster_correction_size CHECK (cardinality(correction) BETWEEN 15 AND 393),
    own_graphs     bigint[],
    own_contention float8[] CONSTRAINT cluster_own_contention_in_range CHECK (0 <= ALL (own_contention) AND 10 >= ALL (own_contention)),
    CONSTRAINT cluster_own_contention_of_graphs CHECK (
        (own_graphs IS NULL) = (own_contention IS NULL) AND cardinality(own_graphs) = cardinality(own_contention)
        AND array_position(own_graphs, NULL) IS NULL AND array_position(own_contention, NULL) IS NULL)
);
COMMENT ON TABLE perfmodel.cluster IS 'machines of one kind and their network; rows with builtin = true come with the extension';
COMMENT ON COLUMN perfmodel.cluster.name IS 'name of the cluster';
COMMENT ON COLUMN perfmodel.cluster.gpu IS 'device of its machines; NULL: any. An alias is replaced by the name of the device';
COMMENT ON COLUMN perfmodel.cluster.gpus_per_node IS 'GPUs of a machine';
COMMENT ON COLUMN perfmodel.cluster.intra IS 'link between the GPUs of a machine: a name in perfmodel.interconnect';
COMMENT ON COLUMN perfmodel.cluster.inter IS 'link of one network adapter: a name in perfmodel.interconnect; NULL: machines are not connected';
COMMENT ON COLUMN perfmodel.cluster.adapters IS 'network adapters of a machine';
COMMENT ON COLUMN perfmodel.cluster.nodes IS 'number of machines; NULL: not known';
COMMENT ON COLUMN perfmodel.cluster.intra_factor IS 'factor on the bandwidth of intra, fitted to measurements';
COMMENT ON COLUMN perfmodel.cluster.inter_factor IS 'factor on the bandwidth of inter, fitted to measurements';
COMMENT ON COLUMN perfmodel.cluster.pair_factor IS 'factor on the bandwidth between just two machines, in addition to inter_factor';
COMMENT ON COLUMN perfmodel.cluster.compute_factor IS 'factor on the time of computing if several GPUs train, compared with one GPU';
COMMENT ON COLUMN perfmodel.cluster.latency_factor IS 'factor on every fixed time, fitted to measurements';
COMMENT ON COLUMN perfmodel.cluster.steal IS 'share by which computing is slower while gradients are sent';
COMMENT ON COLUMN perfmodel.cluster.straggler IS 'standard deviation between the steps of different GPUs, as a share of the step';
COMMENT ON COLUMN perfmodel.cluster.contention IS 'computing is slower by contention * (GPUs of a machine at work - 1) ^ contention_power';
COMMENT ON COLUMN perfmodel.cluster.contention_power IS 'exponent in the formula of contention';
COMMENT ON COLUMN perfmodel.cluster.overlap IS 'speed of messages while the GPUs compute, as a share of their speed while they do not';
COMMENT ON COLUMN perfmodel.cluster.host_s_per_gb IS 'seconds for a GB of messages through what the GPUs of a machine share; NULL: on PCIe as on its link, elsewhere 0';
COMMENT ON COLUMN perfmodel.cluster.comm_error IS 'standard deviation of the logarithm of measured over predicted communication';
COMMENT ON COLUMN perfmodel.cluster.step_error IS
    'standard deviation of ln(measured / predicted step), of the networks in own_graphs';
COMMENT ON COLUMN perfmodel.cluster.unseen_above IS
    'standard deviation of ln(measured / predicted step) above 0, of networks not in own_graphs';
COMMENT ON COLUMN perfmodel.cluster.unseen_below IS
    'standard deviation of ln(measured / predicted step) below 0, of networks not in own_graphs';
COMMENT ON COLUMN perfmodel.cluster.fitted_rows IS 'measurements that the factors were fitted to; 0: none';
COMMENT ON COLUMN perfmodel.cluster.source IS 'source of the row';
COMMENT ON COLUMN perfmodel.cluster.builtin IS 'whether the row comes with the extension';
COMMENT ON COLUMN perfmodel.cluster.correction IS
    'correction for steps with tp or pp, learned by fit_cluster(); NULL: none';
COMMENT ON COLUMN perfmodel.cluster.own_graphs IS 'graph_id of the networks that fit_cluster() had measurements of; own_contention has an element for each';
COMMENT ON COLUMN perfmodel.cluster.own_contention IS
    'for each of own_graphs: additional share by which computing is slower for each doubling of the GPUs of a machine';

CREATE TRIGGER cluster_gpu_by_name BEFORE INSERT OR UPDATE OF gpu ON perfmodel.cluster
    FOR EACH ROW EXECUTE FUNCTION perfmodel.profile_gpu_by_name();
COMMENT ON TRIGGER cluster_gpu_by_name ON perfmodel.cluster IS 'replaces an alias of a device by its name';
CREATE TRIGGER cluster_check_numbers BEFORE INSERT OR UPDATE ON perfmodel.cluster
    FOR EACH ROW EXECUTE FUNCTION perfmodel.check_numbers('cluster');
COMMENT ON TRIGGER cluster_check_numbers ON perfmodel.cluster IS 'explains which number is impossible';
CREATE TRIGGER interconnect_check_numbers BEFORE INSERT OR UPDATE ON perfmodel.interconnect
    FOR EACH ROW EXECUTE FUNCTION perfmodel.check_numbers('interconnect');
COMMENT ON TRIGGER interconnect_check_numbers ON perfmodel.interconnect IS 'explains which number is impossible';
CREATE TRIGGER interconnect_words BEFORE INSERT OR UPDATE OF kind ON perfmodel.interconnect
    FOR EACH ROW EXECUTE FUNCTION perfmodel.profile_words('kind');
COMMENT ON TRIGGER interconnect_words ON perfmodel.interconnect IS 'replaces other spellings of kind (NVSwitch: nvswitch)';
-- A link has a row for each number of GPUs, so a foreign key cannot refer to its name.
CREATE FUNCTION perfmodel.cluster_links_known() RETURNS trigger
    LANGUAGE c AS 'MODULE_PATHNAME', 'pm_cluster_links_known';
COMMENT ON FUNCTION perfmodel.cluster_links_known() IS 'trigger: refuses a cluster whose intra or inter is not in perfmodel.interconnect';
REVOKE ALL ON FUNCTION perfmodel.cluster_links_known() FROM PUBLIC;
CREATE TRIGGER cluster_links_known BEFORE INSERT OR UPDATE OF intra, inter ON perfmodel.cluster
    FOR EACH ROW EXECUTE FUNCTION perfmodel.cluster_links_known();
COMMENT ON TRIGGER cluster_links_known ON perfmodel.cluster IS 'refuses unknown links';
CREATE FUNCTION perfmodel.keep_used_links() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    used record;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        SELECT c.intra AS name, count(*) OVER () AS n, c.name AS cluster INTO used FROM perfmodel.cluster AS c ORDER BY c.name LIMIT 1;
    ELSE
        SELECT g.name, count(*) AS n, min(c.name) AS cluster INTO used
        FROM (SELECT DISTINCT name FROM gone) AS g JOIN perfmodel.cluster AS c ON g.name IN (c.intra, c.inter)
        WHERE NOT EXISTS (SELECT FROM perfmodel.interconnect AS i WHERE i.name = g.name) GROUP BY g.name ORDER BY g.name LIMIT 1;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION 'interconnect "%" is the link of cluster "%"%', left(used.name, 64), left(used.cluster, 64), CASE WHEN used.n > 1 THEN format(' and %s more', used.n - 1) ELSE '' END
            USING ERRCODE = 'foreign_key_violation', SCHEMA = 'perfmodel', TABLE = 'interconnect',
            DETAIL = 'Without a row in perfmodel.interconnect, nothing about the cluster can be predicted.',
            HINT = 'First UPDATE intra and inter of the cluster, or DELETE it. To change a link, UPDATE its row.';
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION perfmodel.keep_used_links() IS 'trigger: keeps the last row of a link that a cluster has';
REVOKE ALL ON FUNCTION perfmodel.keep_used_links() FROM PUBLIC;
CREATE TRIGGER interconnect_keep_used AFTER DELETE ON perfmodel.interconnect REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.keep_used_links();
COMMENT ON TRIGGER interconnect_keep_used ON perfmodel.interconnect IS 'keeps the last row of a link that a cluster has';
CREATE TRIGGER interconnect_keep_used_name AFTER UPDATE ON perfmodel.interconnect REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.keep_used_links();
COMMENT ON TRIGGER interconnect_keep_used_name ON perfmodel.interconnect IS 'keeps the name of the last row of a link that a cluster has';
CREATE TRIGGER interconnect_keep_all AFTER TRUNCATE ON perfmodel.interconnect
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.keep_used_links();
COMMENT ON TRIGGER interconnect_keep_all ON perfmodel.interconnect IS 'keeps the links that clusters have';
CREATE TRIGGER cluster_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.cluster
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER cluster_forget_cached ON perfmodel.cluster IS 'makes sessions drop cached clusters';
CREATE TRIGGER interconnect_forget_cached AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON perfmodel.interconnect
    FOR EACH STATEMENT EXECUTE FUNCTION perfmodel.forget_cached();
COMMENT ON TRIGGER interconnect_forget_cached ON perfmodel.interconnect IS 'makes sessions drop cached links';
ALTER TABLE perfmodel.cluster ENABLE ALWAYS TRIGGER cluster_forget_cached;
ALTER TABLE perfmodel.interconnect ENABLE ALWAYS TRIGGER interconnect_forget_cached;
-- as on the other tables: for rows that logical replication applies
CREATE TRIGGER cluster_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.cluster
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.cluster ENABLE REPLICA TRIGGER cluster_forget_applied;
COMMENT ON TRIGGER cluster_forget_applied ON perfmodel.cluster IS 'like cluster_forget_cached, for rows that logical replication applies';
CREATE TRIGGER interconnect_forget_applied AFTER INSERT OR UPDATE OR DELETE ON perfmodel.interconnect
    FOR EACH ROW EXECUTE FUNCTION perfmodel.forget_cached();
ALTER TABLE perfmodel.interconnect ENABLE REPLICA TRIGGER interconnect_forget_applied;
COMMENT ON TRIGGER interconnect_forget_applied ON perfmodel.interconnect IS 'like interconnect_forget_cached, for rows that logical replication applies';

SELECT pg_catalog.pg_extension_config_dump('perfmodel.interconnect', 'WHERE NOT builtin');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.cluster', 'WHERE NOT builtin');
GRANT SELECT ON perfmodel.interconnect, perfmodel.cluster TO PUBLIC;

-- Measured: a line (fixed time, bandwidth) through 1,024 all-reduces of 1 to
-- 1,024 MiB on each number of GPUs, least squares of relative errors. The rows
-- are of VIA-Research/vTrain (MIT licence), folder trace.
INSERT INTO perfmodel.interconnect (name, kind, gpus, busbw_gbs, latency_us, source, builtin)
SELECT name, kind, gpus, busbw, latency, 'fit to the all-reduces of github VIA-Research/vTrain, folder trace', true
FROM (VALUES ('nvswitch-a100', 'nvswitch', 2, 192.9, 46.0), ('nvswitch-a100', 'nvswitch', 3, 209.7, 55.7), ('nvswitch-a100', 'nvswitch', 4, 218.4, 54.0),
             ('nvswitch-a100', 'nvswitch', 5, 222.2, 59.0), ('nvswitch-a100', 'nvswitch', 6, 224.5, 67.3), ('nvswitch-a100', 'nvswitch', 7, 226.2, 70.7),
             ('nvswitch-a100', 'nvswitch', 8, 227.3, 78.6),
             ('nvlink-v100', 'nvlink', 2, 22.6, 23.8), ('nvlink-v100', 'nvlink', 3, 45.2, 32.0), ('nvlink-v100', 'nvlink', 4, 85.8, 45.0),
             ('nvlink-v100', 'nvlink', 5, 37.1, 41.6), ('nvlink-v100', 'nvlink', 6, 45.9, 49.8), ('nvlink-v100', 'nvlink', 7, 87.6, 63.5),
             ('nvlink-v100', 'nvlink', 8, 136.1, 75.9)) AS v (name, kind, gpus, busbw, latency);
INSERT INTO perfmodel.interconnect (name, kind, gpus, busbw_gbs, source, builtin) VALUES
    ('nvswitch-v100', 'nvswitch', 0, 120, 'NCCL: 6 links of 20 GB/s', true),
    ('nvlink-bridge-h100', 'nvlink', 0, 116, 'github NVIDIA/nccl-tests issue 194: a pair of H100 PCIe', true),
    ('nvlink-bridge-rtx-3090', 'nvlink', 0, 48, 'NCCL: 4 links of 12 GB/s', true),
    ('pcie3', 'pcie', 0, 12, 'NCCL: PCIe 3.0 x16', true),
    ('pcie4', 'pcie', 0, 24, 'NCCL: PCIe 4.0 x16', true),
    ('pcie5', 'pcie', 0, 48, 'NCCL: PCIe 5.0 x16', true),
    ('omnipath-100g', 'infiniband', 0, 5.06, 'github bigscience-workshop/bigscience, experiments/bandwidth: 32 A100 of Jean Zay over one adapter', true);
-- As the A100, with 8 of its 12 links.
INSERT INTO perfmodel.interconnect (name, kind, gpus, busbw_gbs, latency_us, source, builtin)
SELECT 'nvswitch-a800', kind, gpus, pg_catalog.round((busbw_gbs * 8 / 12)::numeric, 1), latency_us, 'nvswitch-a100 with 8 of 12 links', true
FROM perfmodel.interconnect WHERE name = 'nvswitch-a100';
-- These switches add up gradients themselves (NVLS). Then an all-reduce sends the
-- message once through the link of a GPU, whatever the number of GPUs, so that its
-- bus bandwidth falls with (n - 1) / n; NCCL takes a ring where that is faster.
INSERT INTO perfmodel.interconnect (name, kind, gpus, busbw_gbs, ring_gbs, source, builtin)
SELECT name, 'nvswitch', n, greatest(ring, pg_catalog.round(of_8 * (n - 1) / n * 8 / 7, 1)), ring,
       of_8 || ' GB/s of 8 GPUs with NVLS: ' || measured || ', others computed; rings: ' || rings, true
FROM (VALUES ('nvswitch-h100', 480.0, 'github NVIDIA/nccl-tests issue 212', 370.0, 'the same issue'),
             ('nvswitch-h200', 475.0, 'github NVIDIA/nccl-tests issue 272', 370.0, 'github NVIDIA/nccl-tests issue 212'),
             ('nvswitch-h800', 215.0, 'github NVIDIA/nccl issue 1374', 164.8, 'NCCL: 8 links of 20.6 GB/s'),
             ('nvswitch-b200', 830.0, 'github NVIDIA/nccl issue 1807', 722.0, 'NCCL: 18 links of 40.1 GB/s'),
             -- through the switches of the rack; what more than 8 GPUs reach was not found: that of 8
             ('nvswitch-gb200', 811.0, 'lixueduan.com/posts/ai/13-gb200-mnnvl-nccl-test, on two trays', 722.0, 'NCCL: 18 links of 40.1 GB/s'))
         AS v (name, of_8, measured, ring, rings),
     pg_catalog.generate_series(2, 8) AS n;
-- Each GPU has a link to each of the others, so that with fewer GPUs fewer links are used.
INSERT INTO perfmodel.interconnect (name, kind, gpus, busbw_gbs, source, builtin)
SELECT name, 'nvlink', n, pg_catalog.round(of_all * (n - 1) / (of - 1), 1), source || ', others in proportion to the links', true
FROM (VALUES ('xgmi-mi300x', 8, 315.7, '8 GPUs: github hisohara/ai-scripts, folder training/01_rccl-smoketest (MI325X: 319; AMD expects 304 of these, MI350X and MI355X)'),
             ('xgmi-mi300a', 4, 230.0, '4 GPUs: github ROCm/system-acceptance-docs, MI300A')) AS v (name, of, of_all, source),
     LATERAL pg_catalog.generate_series(2, of) AS n;
INSERT INTO perfmodel.interconnect (name, kind, gpus, busbw_gbs, source, builtin) VALUES
    ('xgmi-mi250x', 'nvlink', 0, 125, 'github ROCm/system-acceptance-docs, MI250: 8 dies of 4 boards', true);
-- 85 % of the line rate: two and three nodes of 8 A100 with 4 x 200 Gbit/s reached 85 to 86 of 100 GB/s
-- (github NVIDIA/nccl-tests issues 175 and 119).
INSERT INTO perfmodel.interconnect (name, kind, gpus, busbw_gbs, source, builtin)
SELECT pg_catalog.format('%s-%sg', kind, gbit), kind, 0, 0.85 * gbit / 8, '85 % of the line rate, as in issues 119 and 175 of github NVIDIA/nccl-tests', true
FROM (VALUES ('ethernet', 10), ('ethernet', 25), ('ethernet', 50), ('ethernet', 100), ('ethernet', 200), ('ethernet', 400),
             ('infiniband', 56), ('infiniband', 100), ('infiniband', 200), ('infiniband', 400), ('infiniband', 800)) AS v (kind, gbit);

-- A question that names no cluster takes the first one of its device, by name; without one, that of any device whose intra is
-- the link of the device (gpu.interconnect: PCIe3, PCIe5), else "any".
INSERT INTO perfmodel.cluster (name, gpu, gpus_per_node, intra, inter, adapters, source, builtin) VALUES
    ('dgx-1-v100-16gb', 'V100-SXM2-16GB', 8, 'nvlink-v100', 'infiniband-100g', 4, 'NVIDIA DGX-1 data sheet', true),
    ('dgx-1-v100-32gb', 'V100-SXM2-32GB', 8, 'nvlink-v100', 'infiniband-100g', 4, 'NVIDIA DGX-1 data sheet', true),
    ('dgx-2', 'V100-SXM2-32GB', 16, 'nvswitch-v100', 'infiniband-100g', 8, 'NVIDIA DGX-2 data sheet', true),
    ('dgx-a100-40gb', 'A100-SXM4-40GB', 8, 'nvswitch-a100', 'infiniband-200g', 8, 'NVIDIA DGX A100 data sheet', true),
    ('dgx-a100-80gb', 'A100-SXM4-80GB', 8, 'nvswitch-a100', 'infiniband-200g', 8, 'NVIDIA DGX A100 data sheet', true),
    ('dgx-h100', 'H100-SXM5-80GB', 8, 'nvswitch-h100', 'infiniband-400g', 8, 'NVIDIA DGX H100 data sheet', true),
    ('dgx-h200', 'H200', 8, 'nvswitch-h200', 'infiniband-400g', 8, 'NVIDIA DGX H200 data sheet', true),
    ('dgx-b200', 'B200', 8, 'nvswitch-b200', 'infiniband-400g', 8, 'NVIDIA DGX B200 data sheet', true),
    ('dgx-b300', 'B300', 8, 'nvswitch-b200', 'infiniband-800g', 8, 'NVIDIA DGX B300 data sheet', true),
    -- a machine is a rack
    ('gb200-nvl72', 'GB200', 72, 'nvswitch-gb200', 'infiniband-400g', 72, 'NVIDIA GB200 NVL72 data sheet', true),
    ('gb300-nvl72', 'GB300', 72, 'nvswitch-gb200', 'infiniband-800g', 72, 'NVIDIA GB300 NVL72 data sheet', true),
    ('gh200-servers', 'GH200-96GB', 1, 'nvswitch-h100', 'infiniband-400g', 1, 'NVIDIA GH200 data sheet: one GPU a machine', true),
    ('hgx-a800', 'A800-SXM4-80GB', 8, 'nvswitch-a800', 'infiniband-200g', 8, 'NVIDIA DGX A100 data sheet; A800 data sheet for the links', true),
    ('hgx-h800', 'H800-SXM5-80GB', 8, 'nvswitch-h800', 'infiniband-400g', 8, 'NVIDIA DGX H100 data sheet; H800 data sheet for the links', true),
    ('hgx-h20', 'H20', 8, 'nvswitch-h100', 'ethernet-400g', 8, 'github NVIDIA/nccl-tests issue 367; links as the H100', true),
    ('hgx-h20-3e', 'H20-3e', 8, 'nvswitch-h100', 'ethernet-400g', 8, 'github NVIDIA/nccl-tests issue 367; links as the H100', true),
    ('h100-nvl-servers', 'H100-NVL', 8, 'pcie5', 'ethernet-100g', 1, 'usual servers with 8 cards on PCIe 5.0, without bridges', true),
    ('mi250-servers', 'Instinct MI250', 8, 'xgmi-mi250x', 'infiniband-200g', 4, 'AMD Instinct MI250 data sheet; adapters as LUMI', true),
    ('lumi', 'Instinct MI250X', 8, 'xgmi-mi250x', 'ethernet-200g', 4, 'LUMI documentation, LUMI-G: one Slingshot adapter a board; Frontier is the same', true),
    ('mi300a-servers', 'Instinct MI300A', 4, 'xgmi-mi300a', 'ethernet-200g', 4, 'El Capitan: four APUs and Slingshot adapters', true),
    ('mi300x-platform', 'Instinct MI300X', 8, 'xgmi-mi300x', 'ethernet-400g', 8, 'AMD Instinct MI300X platform data sheet', true),
    ('mi325x-platform', 'Instinct MI325X', 8, 'xgmi-mi300x', 'ethernet-400g', 8, 'AMD Instinct MI325X platform data sheet', true),
    ('mi350x-platform', 'Instinct MI350X', 8, 'xgmi-mi300x', 'ethernet-400g', 8, 'AMD Instinct MI350X platform data sheet', true),
    ('mi355x-platform', 'Instinct MI355X', 8, 'xgmi-mi300x', 'ethernet-400g', 8, 'AMD Instinct MI355X platform data sheet', true),
    -- EC2, as AWS writes its types; 3,200 Gbit/s of EFA are counted as one adapter for each GPU
    ('p4d.24xlarge', 'A100-SXM4-40GB', 8, 'nvswitch-a100', 'ethernet-100g', 4, 'AWS, instance types: p4d', true),
    ('p4de.24xlarge', 'A100-SXM4-80GB', 8, 'nvswitch-a100', 'ethernet-100g', 4, 'AWS, instance types: p4de', true),
    ('p5.48xlarge', 'H100-SXM5-80GB', 8, 'nvswitch-h100', 'ethernet-400g', 8, 'AWS, instance types: p5', true),
    ('p5en.48xlarge', 'H200', 8, 'nvswitch-h200', 'ethernet-400g', 8, 'AWS, instance types: p5en', true),
    ('p6-b200.48xlarge', 'B200', 8, 'nvswitch-b200', 'ethernet-400g', 8, 'AWS, instance types: p6-b200', true),
    ('aws-g4dn-12xlarge', 'T4', 4, 'pcie3', 'ethernet-50g', 1, 'AWS, instance types: g4dn', true),
    ('pcie3-servers', NULL, 8, 'pcie3', 'ethernet-25g', 1, 'usual servers with 8 cards on PCIe 3.0', true),
    ('pcie5-servers', NULL, 8, 'pcie5', 'ethernet-100g', 1, 'usual servers with 8 cards on PCIe 5.0', true),
    ('any', NULL, 8, 'pcie4', 'ethernet-100g', 1, 'usual servers with 8 cards on PCIe 4.0; answers for devices without a cluster or with an unknown link', true);
