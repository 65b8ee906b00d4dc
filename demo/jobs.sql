-- An example job history, made up: the table "job" that the queries of
-- docs/dashboards.md ask.
--     psql -d mydb -f demo/jobs.sql                20,000 jobs; -v jobs=N for N
-- Needs graphs and an active predictor; the ones of demo/sample_graphs.sql will do.
-- demo/philly.sql makes the same table from a public trace.
\set was_quiet :QUIET
\set QUIET on
\ir job_check.sql
\if :job_ready
\if :{?jobs}
\else
\set jobs 20000
\endif
CREATE TEMP TABLE job_log (
    job_id       text             PRIMARY KEY,
    submitted_at timestamptz      NOT NULL,
    team         text             NOT NULL,
    gpu_count    integer          NOT NULL,
    duration_s   double precision NOT NULL
);
-- Ninety days; few teams run most jobs, nine jobs in ten hold one device, and durations have a long tail.
INSERT INTO job_log
SELECT 'job-' || i, '2026-01-05 00:00+00'::timestamptz + interval '90 days' * (i - 1) / :jobs,
       'team-' || chr(97 + (8 * u.team ^ 2)::integer),
       CASE WHEN u.size < 0.9 THEN 1 ELSE 1 << (1 + floor(4 * (u.size - 0.9) / 0.1)::integer) END,
       60 + floor(600 * exp(3 * u.duration ^ 2 + u.duration))
FROM generate_series(1, :jobs) AS i,
     LATERAL (SELECT max(v) FILTER (WHERE k = 1) AS team, max(v) FILTER (WHERE k = 2) AS size, max(v) FILTER (WHERE k = 3) AS duration
              FROM (SELECT k, ('x' || left(md5(k || '/' || i), 7))::bit(28)::integer / 268435456.0::float8 AS v FROM generate_series(1, 3) AS k) AS d) AS u;
\ir job_graphs.sql
\endif
\set QUIET :was_quiet
