-- Jobs as Slurm logs them: devices with their number behind, and how long a job has run in the column of forecasts.
\pset format unaligned
SET client_min_messages = warning;
SET timezone = 'UTC';
BEGIN;
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'gpu:own:2', 'T4'), ('gpu', 'part_c', 'T4');

-- ---- names of devices
SELECT g AS given, perfmodel.find_gpu(g), perfmodel.gres_count(g)
FROM unnest('{gpu:t4:4,gres/gpu:t4=8,gpu:tesla_t4:1(S:0-1),"gpu:t4:2(IDX:0,2),tmp:3","cpu=8,mem=64G,gres/gpu=2,gres/gpu:rtx_3090=2",t4:4,GPU:T4:1,gres:gpu:t4,gpu:a100:2,gpu:part_c:3,gpu:own:2,
    gpu:nothing:4,gpu:2,gres/gpu=2,gpu:t4:0,gpu:t4:many,"gpu:t4:1,gpu:a100:1",gpu:,gpu,(null),""}'::text[]) AS g;
SELECT given, match, resolved, candidates, note FROM perfmodel.resolve_job_names(graphs => NULL, gpus => '{gpu:T4:4,T4,gpu:a100:2,gpu:mi308x:4,gpu:own:2,gpu:2}', dtypes => NULL) ORDER BY given;
SAVEPOINT one_type;
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'gpu', 'T4');
SELECT g AS given, perfmodel.find_gpu(g), perfmodel.gres_count(g) FROM unnest('{gpu:2,"cpu=4,gres/gpu=2",gpu,gpu:1}'::text[]) AS g;
ROLLBACK TO one_type;
-- one device is one; four of them are not
SELECT round(perfmodel.predict_train_time(g.graph_id, 'gpu:t4:1', 8)::numeric, 3) = round(perfmodel.predict_train_time(g.graph_id, 'T4', 8)::numeric, 3) AS same,
    helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''gpu:a100:4'', 8)', g.graph_id)) AS four,
    helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''gpu:2'', 8)', g.graph_id)) AS which, perfmodel.gpu_name('gpu:t4:1')
FROM perfmodel.graph AS g WHERE g.name = 'bnet5@32';
-- nor is a slice of a device that device
SELECT step_ms, note, reasons FROM perfmodel.graph AS g, LATERAL perfmodel.predict(g.graph_id, 'gpu:t4_1g.2gb:1', 8, on_error => 'null') WHERE g.name = 'bnet5@32';
SELECT split_part(helper.error_of(format('SELECT perfmodel.predict_train_time(%s, ''gpu:mi308x:4'', 8)', g.graph_id)), ' There are', 1) AS unknown FROM perfmodel.graph AS g WHERE g.name = 'bnet5@32';

-- ---- jobs: what the table says of the number counts before the name
CREATE TABLE job_of_slurm AS
SELECT v.*, 'bnet5@32'::text AS graph, 64 AS batch, 1000000 AS steps, '2026-02-01 08:00'::timestamptz AS submitted_at, NULL::timestamptz AS finished_at
FROM (VALUES (1, 'gpu:t4:4', NULL::int, NULL::timestamptz, 0::float8), (2, 'gpu:t4:4', 2, NULL, 0), (3, 'T4', NULL, NULL, 0), (4, 'gpu:nothing:2', NULL, NULL, 0), (5, 'gpu:2', NULL, NULL, 0)) AS v(job_id, gpu, gpu_count, started_at, duration_s);
SELECT job_id, gpu, gpu_count, p50_s > 0 AS predicted, note FROM perfmodel.forecast_jobs('job_of_slurm', at => '2026-02-01 12:00');
SELECT job_id, node, gpus_on_node FROM perfmodel.place('job_of_slurm', nodes => '{a,b}', node_gpus => '{gpu:t4,t4}', node_free => '{4,4}', at => '2026-02-01 12:00') WHERE node IS NOT NULL ORDER BY 1, 2;
SELECT given, match, note FROM perfmodel.resolve_job_names('job_of_slurm') WHERE what = 'gpu_count' ORDER BY 1;
-- reports and nights read it so, too
UPDATE job_of_slurm SET duration_s = 3600, started_at = submitted_at, finished_at = submitted_at + interval '1 hour' WHERE job_id < 4;
CREATE FUNCTION pg_temp.counts(jobs regclass) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT concat_ws('' '', gpu, gpu_count) FROM (%s) AS j ORDER BY 1', perfmodel.report_jobs(jobs));
END $$;
SELECT pg_temp.counts('job_of_slurm');
SELECT gpu, gpu_count FROM perfmodel.finished_jobs('job_of_slurm') ORDER BY 1, 2;
CREATE VIEW uncounted AS SELECT job_id, gpu, graph, batch, steps, submitted_at, finished_at, duration_s FROM job_of_slurm;
SELECT pg_temp.counts('uncounted');

-- ---- 0 seconds are no forecast, and hide nothing else that is wrong
CREATE TABLE waiting_in_slurm AS SELECT v.*, 'T4' AS gpu, '2026-02-01 08:00'::timestamptz AS submitted_at, 0 AS duration_s
FROM (VALUES (1, 'bnet5@32', 8, 1000), (2, 'no such net', 8, 1000), (3, 'bnet5', 8, 1000), (4, NULL, 8, 1000), (5, 'bnet5@32', NULL, 1000), (6, 'bnet5@32', 8, NULL)) AS v(job_id, graph, batch, steps);
SELECT job_id, p50_s > 0 AS predicted, note FROM perfmodel.forecast_jobs('waiting_in_slurm', at => '2026-02-01 12:00');

-- ---- how long a job has run is no forecast of it, nor is one that it has outlasted; one with a p90 is
CREATE TABLE running_in_slurm AS SELECT v.*, 'T4' AS gpu, 64 AS batch, '2026-02-01 08:00'::timestamptz AS submitted_at, '2026-02-01 09:00'::timestamptz AS started_at
FROM (VALUES (1, 'bnet5@32', 10000000, 3 * 3600, NULL), (2, 'bnet5@32', 10000000, 600, NULL), (3, 'bnet5@32', 10000000, 4 * 3600, NULL), (4, 'bnet5@32', 10000000, 600, 900),
    (5, 'no such net', 10000000, 600, NULL), (6, 'bnet5@32', NULL, 600, NULL)) AS v(job_id, graph, steps, duration_s, duration_p90_s);
SELECT job_id, p50_s = 10000000 * step_ms / 1000 AND step_ms <> 1000 * duration_s / 10000000 AS by_steps, p50_s = duration_s AS by_table, note
FROM perfmodel.forecast_jobs('running_in_slurm', at => '2026-02-01 12:00') JOIN (SELECT job_id::text, duration_s FROM running_in_slurm) AS r USING (job_id);
SELECT job_id, finish_p50 > '2026-02-01 13:00' AS later, note ~ 'guess' AS guess FROM perfmodel.queue_eta('running_in_slurm', free => '{"T4": 0}', at => '2026-02-01 12:00') WHERE job_id IN ('1', '4') ORDER BY 1;
-- ---- one notice about all devices that nobody knows
SET client_min_messages = notice;
SELECT count(*) FROM perfmodel.queue_eta('running_in_slurm', free => '{"T4": 0, "B100": 8, "my own card": 2, "RTX 3091": 1}', at => '2026-02-01 12:00');
SELECT count(*) FROM perfmodel.fill_windows('waiting_in_slurm', windows => '{"[2026-02-01 22:00,2026-02-02 06:00)","[2026-02-01 22:00,2026-02-02 06:00)","[2026-02-01 22:00,2026-02-02 06:00)"}',
    gpus => '{my own card,T4,other card}', at => '2026-02-01 12:00');
ROLLBACK;
