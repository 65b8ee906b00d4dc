-- From "job_log" (when, who, how many devices, how long) to "job", where every
-- job also has what perfmodel asks for: network, device, batch, number format.
-- Job logs that lack these get them here by lot: a measurement among those
-- that the active predictor was trained on, drawn by the job's id, so that the
-- same job gets the same network every time. Reports on such a table show
-- what a report looks like, not what the clusters did.
SELECT NOT EXISTS (SELECT FROM perfmodel.predictor WHERE active AND profiles <> '{}') AS no_predictor,
       to_regclass('job') IS NOT NULL AS job_exists \gset
\if :no_predictor
\echo 'No predictor that was trained in this database is active: load graphs and measurements, train and activate one first, as demo/demo.sql does.'
\elif :job_exists
\echo 'There is a table "job" already: it is left as it is.'
\else
CREATE TABLE job AS
WITH question AS (
    SELECT graph_id, gpu, batch, dtype, layout, framework,
           row_number() OVER (ORDER BY graph_id, gpu, batch, dtype, layout, framework) - 1 AS nth, count(*) OVER () AS n
    FROM (SELECT DISTINCT graph_id, gpu, batch, dtype, layout, framework FROM perfmodel.profile
          WHERE profile_id = ANY ((SELECT profiles FROM perfmodel.predictor WHERE active)::bigint[])) AS d
)
SELECT l.job_id, l.submitted_at, l.team, l.gpu_count, l.duration_s,
       q.graph_id, q.gpu, q.batch, q.dtype, q.layout, q.framework
FROM job_log AS l JOIN question AS q
     ON q.nth = ('x' || left(md5(l.job_id), 7))::bit(28)::integer % (SELECT max(n) FROM question)
ORDER BY l.submitted_at, l.job_id;
COMMENT ON TABLE job IS 'example of a job history: one row per training job, with what it ran';
-- The planner must know how few questions there are to ask each only once.
CREATE STATISTICS job_questions (ndistinct) ON graph_id, gpu, batch, dtype, layout, framework FROM job;
ANALYZE job;
SELECT count(*) AS jobs, min(submitted_at)::date AS from_day, max(submitted_at)::date AS to_day, count(DISTINCT team) AS teams,
       count(DISTINCT (graph_id, gpu, batch, dtype, layout, framework)) AS questions, round(sum(gpu_count * duration_s / 3600)::numeric) AS gpu_hours
FROM job;
\endif
DROP TABLE job_log;
