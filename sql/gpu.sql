-- Devices and their names.
\pset format unaligned
SELECT count(*) > 30 AS many, bool_and(builtin) AS all_builtin FROM perfmodel.gpu;
-- what a roofline needs is there
SELECT name FROM perfmodel.gpu WHERE mem_bw_gbs IS NULL OR fp32_tflops IS NULL OR sm_count IS NULL;
-- peak rate = 2 * lanes * clock, to the rounding of the sheets
SELECT name, fp32_tflops, round((2e-3 * sm_count * cores_per_sm * clock_ghz)::numeric, 1) AS from_clock FROM perfmodel.gpu
WHERE abs(2e-3 * sm_count * cores_per_sm * clock_ghz / fp32_tflops - 1) > 0.02 ORDER BY name;

-- names: exact, as people write, as drivers report, as files spell
SELECT given, perfmodel.gpu_name(given) FROM unnest(ARRAY[
    'A100-SXM4-80GB', 'a100_sxm4_80gb', 'NVIDIA A100-SXM4-80GB', 'NVIDIA_A100_80GB_PCIe', 'RTX 3090', 'rtx3090',
    'RTX_3090', 'NVIDIA GeForce RTX 3090', 'nvidia geforce rtx 3090', 'Tesla T4', 'T4', 'H200', 'NVIDIA H200',
    'NVIDIA H100 80GB HBM3', 'Tesla_V100-SXM2-16GB', 'AMD_Instinct_MI210', 'mi250', 'Quadro_RTX_6000',
    'TITAN_X_Pascal', 'AMD EPYC Zen4 (1 thread)']) AS given;
-- cards as benchmarks name them; what decides sustained speed is there, with its source
SELECT given, perfmodel.gpu_name(given) FROM unnest(ARRAY['GeForce RTX 2060 MaxQ', 'GeForce RTX 4060 TI 16GB', 'AMD Radeon RX 6800', 'AMD Radeon 780M',
    'TITAN Xp', 'RTX 2080Ti', 'RTX 8000', 'RTX6000', 'RTX 2080 SUPER MAX-Q']) AS given;
SELECT name FROM perfmodel.gpu WHERE NOT is_cpu AND (tdp_w IS NULL OR memory_type IS NULL OR l1_kb IS NULL OR register_kb IS NULL OR (vendor = 'NVIDIA') <> (compute_capability IS NOT NULL));
SELECT name FROM perfmodel.gpu WHERE source IS NULL OR base_clock_ghz > clock_ghz;
-- as torch.cuda.get_device_name() prints those of 2026, and as people write them
SELECT given, perfmodel.gpu_name(given) FROM unnest(ARRAY['NVIDIA H800', 'NVIDIA H20', 'NVIDIA H20-3e', 'NVIDIA A800-SXM4-80GB', 'NVIDIA A800 80GB PCIe', 'NVIDIA GB200', 'NVIDIA B300 SXM6 AC', 'NVIDIA GB300',
    'NVIDIA RTX PRO 6000 Blackwell Server Edition', 'NVIDIA RTX PRO 6000 Blackwell Workstation Edition', 'RTX PRO 6000', 'NVIDIA RTX PRO 4500 Blackwell', 'NVIDIA GeForce RTX 5070 Ti', 'RTX 4090D',
    'NVIDIA GeForce RTX 4080 SUPER', 'NVIDIA RTX 5000 Ada Generation', 'NVIDIA RTX A5500', 'AMD Instinct MI250X', 'mi355x', 'AMD Radeon RX 9070 XT', 'Intel(R) Arc(TM) B580 Graphics']) AS given;
-- short names are the usual part; a scheduler may add the memory
SELECT given, perfmodel.gpu_name(given) FROM unnest(ARRAY['A100', 'A100-80GB', 'H100', 'V100', 'V100-32GB', 'P100', 'NVIDIA A10G', 'nvidia-tesla-v100', 'nvidia-a100-80gb',
    'RTX3090-24GB', 'L4-24G', 'A40 48GB', 'v100-32g', 'A100-40G']) AS given;
SELECT perfmodel.find_gpu('RTX3090-48GB') AS other_memory, perfmodel.find_gpu('24GB') AS memory_alone, perfmodel.find_gpu('g') AS nothing;
-- as spreadsheets write them: no-break spaces, a mark of the byte order
SELECT perfmodel.gpu_name(g) FROM unnest(ARRAY[E'RTX\u00a03090', E'\ufeffRTX 3090', E'NVIDIA\u00a0GeForce\u202fRTX\u00a03090\u200b', E'gpu:rtx\u00a03090:1']) AS g;
SELECT perfmodel.find_gpu(E'\u00a0') AS nothing, perfmodel.find_gpu(E'RTX\u00e03090') AS a_letter;
SELECT perfmodel.gpu_name(NULL);
SELECT g, perfmodel.gpu_formats(g) FROM unnest('{A100,tesla_t4,V100,P100,RX 6800,EPYC Zen4 (1 thread),NULL}'::text[]) AS g;
SELECT helper.error_of($$SELECT perfmodel.gpu_formats('A200')$$) ~ 'unknown GPU "A200"' AS unknown;
-- every name and alias leads to its own row
SELECT g.name, a AS wrong FROM perfmodel.gpu g, unnest(aliases || name) AS a WHERE perfmodel.gpu_name(a) <> g.name;

-- unknown and ambiguous names
SELECT helper.error_of(format('SELECT perfmodel.gpu_name(%L)', g)) FROM unnest(ARRAY['RTX 3091', 'A200', 'xyzzy', '', '--']) AS g;
-- suggested by series and number, whatever else the name says; where neither is like one, by spelling
SELECT g AS asked, (regexp_match(helper.error_of(format('SELECT perfmodel.gpu_name(%L)', g)), 'Did you mean ([^?]*)'))[1] AS suggested
FROM unnest(ARRAY['MI308X', 'AMD Instinct MI455X', 'a100 80', 'NVIDIA A100-SXM-64GB', 'V100S', 'V100S-PCIE-32GB', 'RTX3090Ti SUPER', 'B100', 'NH200', '2080ti', 'cpu', 'RTZ 4090', 'TPU v4', 'Gaudi2']) AS g;
-- a type of machine of a cloud is no device; the hint names the one that it has. A word that is no name at all is near to none
SELECT g AS asked, (regexp_match(helper.error_of(format('SELECT perfmodel.gpu_name(%L)', g)), 'Did you mean ([^?]*)'))[1] AS suggested
FROM unnest(ARRAY['p4d.24xlarge', 'P3.2xlarge', 'g4dn.xlarge', 'a2-ultragpu-1g', 'Standard_NC6s_v3', 'n1-standard-4', 'gpu', 'cuda:0', 'T44']) AS g;
SELECT perfmodel.gpu_name('RTX3090Ti') AS no_guess;
-- a slice of a card (MIG) is not the card, however it is written; with a data sheet of its own, it is a device
SELECT g AS asked, perfmodel.find_gpu(g) AS taken_for, perfmodel.gres_count(g) AS count
FROM unnest(ARRAY['nvidia_a100_1g.5gb', 'a100_3g.20gb:2', 'gpu:1g.10gb:1', 'gpu:a100_1g.5gb:1', 'NVIDIA A100-SXM4-40GB MIG 1g.5gb', 'A100 MIG', 'gpu:a100(1g.5gb)', 'gpu:a100:1(MIG 1g.5gb)',
    'cpu=8,gres/gpu:a100=1,gres/mig-1g.5gb=1', 'gpu:a100:2,gpu:1g.5gb:1']) AS g;
SELECT helper.error_of(format('SELECT perfmodel.gpu_name(%L)', g)) FROM unnest(ARRAY['nvidia_a100_1g.5gb', 'a100_3g.20gb:2', 'gpu:1g.10gb:1', 'MIG-GPU-1234/7/0', 'cpu=8,gres/gpu:a100=1,gres/mig-1g.5gb=1']) AS g;
SELECT given, match, resolved, candidates, note FROM perfmodel.resolve_job_names(graphs => NULL, gpus => '{a100_3g.20gb:2,1g.5gb}', dtypes => NULL) ORDER BY given;
BEGIN;
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'gpu:a100_2g.10gb:1', 'A100-SXM4-40GB'), ('gpu', 'T4 partition', 'T4');
INSERT INTO perfmodel.gpu (name, memory_gb, mem_bw_gbs, sm_count, fp32_tflops) VALUES ('A100 1g.5gb', 5, 194, 14, 2.5);
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'mig', 'A100 1g.5gb');
SELECT g AS asked, perfmodel.find_gpu(g) FROM unnest(ARRAY['nvidia_a100_1g.5gb', 'gpu:a100_1g.5gb:3', 'mig', 'a100_3g.20gb']) AS g;
ROLLBACK;

-- own rows; at once visible, gone after a rollback
BEGIN;
INSERT INTO perfmodel.gpu (name, mem_bw_gbs, sm_count, fp32_tflops, aliases) VALUES ('My Chip 9', 100, 8, 2, '{mc9}');
SELECT perfmodel.gpu_name('MC-9'), perfmodel.gpu_name('mychip9');
ROLLBACK;
-- a device whose name differs from one that comes with perfmodel only in spelling is found by its name as it stands
BEGIN;
INSERT INTO perfmodel.gpu (name, mem_bw_gbs, sm_count, fp32_tflops) VALUES ('rtx-3090', 100, 8, 2);
SELECT g AS asked, perfmodel.find_gpu(g) AS found FROM unnest('{RTX 3090,rtx-3090,rtx3090,NVIDIA GeForce RTX 3090}'::text[]) AS g;
INSERT INTO perfmodel.gpu (name, mem_bw_gbs, sm_count, fp32_tflops) VALUES ('My Chip 9', 100, 8, 2), ('my-chip-9', 100, 8, 2);
SELECT helper.error_of('SELECT perfmodel.gpu_name(''mychip9'')');
ROLLBACK;
-- a name that users give to a device means it wherever a device is named; own names go before, and no row leads to another
BEGIN;
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'A100', 'A100-SXM4-80GB'), ('gpu', 'our cards', 'tesla_t4'), ('gpu', 'via', 'our cards'), ('gpu', 'P4', 'T5'), ('gpu', 'T4', 'L4');
SELECT g AS asked, perfmodel.find_gpu(g) AS found FROM unnest('{A100,a100,our cards,via,P4,T4,A100-SXM4-40GB}'::text[]) AS g;
INSERT INTO perfmodel.price (gpu, provider, region, usd_per_hour, kind) VALUES ('A100', 'given', 'here', 1, 'own');
SELECT gpu FROM perfmodel.price WHERE provider = 'given';
SELECT helper.error_of($$SELECT perfmodel.gpu_name('via')$$);
DELETE FROM perfmodel.name_alias;
SELECT perfmodel.find_gpu('A100') AS without, perfmodel.find_gpu('our cards');
ROLLBACK;
SELECT helper.error_of($$SELECT perfmodel.gpu_name('MC-9')$$);
BEGIN;
SAVEPOINT a;
INSERT INTO perfmodel.gpu (name, mem_bw_gbs, sm_count, fp32_tflops, aliases) VALUES ('My Chip 9', 100, 8, 2, '{T4-16GB}');
SELECT helper.error_of($$SELECT perfmodel.gpu_name('t4_16gb')$$);
SELECT perfmodel.find_gpu('t4_16gb') AS either;
ROLLBACK TO a;
SELECT perfmodel.gpu_name('t4_16gb');
COMMIT;

-- a name or alias that another row has is said, and so are figures that do not go together; no row that comes with perfmodel has such, and dumps can be restored
BEGIN;
SET LOCAL client_min_messages = notice;
UPDATE perfmodel.gpu SET note = note;
INSERT INTO perfmodel.gpu (name, mem_bw_gbs, fp32_tflops, aliases) VALUES ('RTX3090', 936, 35.6, '{}'), ('A100', 1555, 19.5, '{mine}'), ('ours', 936, 35.6, '{RTX 3090,a_100,MINE,"My GPU",NULL,--}');
INSERT INTO perfmodel.gpu (name, mem_bw_gbs, fp32_tflops) VALUES ('my-gpu', 936, 35.6);
UPDATE perfmodel.gpu SET memory_gb = 24 WHERE name = 'ours';
UPDATE perfmodel.gpu SET name = 'rtx-3090' WHERE name = 'RTX3090';
INSERT INTO perfmodel.gpu (name) VALUES ('--my gpu');
INSERT INTO perfmodel.gpu (name) VALUES ('RTX 4090') ON CONFLICT DO NOTHING;
ROLLBACK;
BEGIN;
SET LOCAL client_min_messages = notice;
INSERT INTO perfmodel.gpu (name, memory_gb, mem_bw_gbs, sm_count, cores_per_sm, clock_ghz, fp32_tflops, fp16_tensor_tflops, l2_mb, is_cpu) VALUES
    ('like an H100', 80, 3350, 132, 128, 1.98, 66.9, 989, 50, false), ('TB/s', 80, 3.35, 132, 128, 1.98, 66.9, 989, 50, false), ('MiB', 81920, 3350, 132, 128, 1.98, 66.9, 989, 50, false),
    ('PFLOP/s', 80, 3350, 132, 128, 1.98, 66.9, 0.989, 50, false), ('KB', 80, 3350, 132, 128, 1.98, 66.9, 989, 51200, false), ('lanes', 80, 3350, 132, 16896, 1.98, 66.9, 989, 50, false),
    ('a CPU', NULL, 22, 1, 16, 3.3, 0.001, NULL, 1, true), ('little known', 80, 3350, NULL, NULL, NULL, NULL, NULL, NULL, false);
UPDATE perfmodel.gpu SET mem_bw_gbs = 1.5 WHERE name = 'T4';
ROLLBACK;
-- who may not read the names stores a row as ever
BEGIN;
CREATE ROLE pm_test_sheets;
GRANT USAGE ON SCHEMA perfmodel TO pm_test_sheets;
REVOKE SELECT ON perfmodel.gpu FROM PUBLIC;
GRANT INSERT ON perfmodel.gpu TO pm_test_sheets;
SET ROLE pm_test_sheets;
INSERT INTO perfmodel.gpu (name) VALUES ('RTX3090');
ROLLBACK;

-- bad rows
SELECT helper.error_of($$INSERT INTO perfmodel.gpu (name, fp32_tflops) VALUES ('x', 'NaN')$$);
SELECT helper.error_of($$INSERT INTO perfmodel.gpu (name, mem_bw_gbs) VALUES ('x', 0)$$);
SELECT helper.error_of($$INSERT INTO perfmodel.gpu (name, mem_bw_gbs) VALUES ('x', 1e300)$$);
SELECT helper.error_of($$INSERT INTO perfmodel.gpu (name, tdp_w) VALUES ('x', -70)$$);
SELECT helper.error_of($$INSERT INTO perfmodel.gpu (name) VALUES ('-')$$);
