-- The table "job" from the Philly trace: training jobs of Microsoft's
-- clusters, September to December 2017 (Jeon et al., USENIX ATC 2019; github
-- msr-fiddle/philly-traces, CC BY 4.0), as a CSV file with the columns
-- job_id, submit_time, duration_s, num_gpus, gpu_seconds, vc:
--     psql -d mydb -f demo/philly.sql < philly_jobs.csv
-- Needs graphs and an active predictor; the ones of demo/sample_graphs.sql will do.
-- Submission times are taken as UTC; the trace does not say.
\set was_quiet :QUIET
\set QUIET on
\ir job_check.sql
\if :job_ready
CREATE TEMP TABLE philly (job_id text, submit_time timestamp, duration_s double precision, num_gpus integer,
    gpu_seconds double precision, vc text);
\copy philly from pstdin with (format csv, header)
CREATE TEMP TABLE job_log AS
SELECT job_id, submit_time AT TIME ZONE 'UTC' AS submitted_at, vc AS team, num_gpus AS gpu_count, duration_s FROM philly;
DROP TABLE philly;
\ir job_graphs.sql
\endif
\set QUIET :was_quiet
