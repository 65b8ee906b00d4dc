-- From "job_log" (when, who, how many devices, how long) to "job", where every
-- job also has what perfmodel asks for: network, device, batch, number format.
-- Job logs lack these, so each job draws them by its id; the same job always
-- gets the same. The cluster is made up of RTX 3090s and of two older cards,
-- and of the networks for images of 224 x 224 pixels where these are loaded,
-- because the pretrained predictor has been trained on the like. Reports on such a
-- table show what a report looks like, not what the clusters did.
-- Part of jobs.sql and philly.sql.
CREATE TABLE job AS
WITH setting (nth, gpu, dtype, layout, batch) AS (
    -- a job draws one of ten numbers
    VALUES (0, 'RTX 3090', 'amp', 'nhwc', 128), (1, 'RTX 3090', 'amp', 'nhwc', 64), (2, 'RTX 3090', 'amp', 'nhwc', 64),
           (3, 'RTX 3090', 'amp', 'nchw', 64), (4, 'RTX 3090', 'amp', 'nchw', 32), (5, 'TITAN X (Pascal)', 'fp32', 'nchw', 16),
           (6, 'TITAN X (Pascal)', 'fp32', 'nchw', 16), (7, 'TITAN X (Pascal)', 'fp32', 'nchw', 8), (8, 'GTX 1080 Ti', 'fp32', 'nchw', 16),
           (9, 'GTX 1080 Ti', 'fp32', 'nchw', 8)
), network AS (
    SELECT graph_id, row_number() OVER (ORDER BY name) - 1 AS nth, count(*) OVER () AS n
    FROM perfmodel.graph WHERE name LIKE '%@224' OR NOT EXISTS (SELECT FROM perfmodel.graph WHERE name LIKE '%@224')
), drawn AS (
    SELECT *, ('x' || left(md5('network/' || job_id), 7))::bit(28)::integer AS network_draw,
           ('x' || left(md5('setting/' || job_id), 7))::bit(28)::integer AS setting_draw
    FROM job_log
)
SELECT d.job_id, d.submitted_at, d.team, d.gpu_count, d.duration_s, g.graph_id, s.gpu, s.batch, s.dtype, s.layout, NULL::text AS framework
FROM drawn AS d JOIN network AS g ON g.nth = d.network_draw % (SELECT max(n) FROM network)
     JOIN setting AS s ON s.nth = d.setting_draw % 10
ORDER BY d.submitted_at, d.job_id;
DROP TABLE job_log;
COMMENT ON TABLE job IS 'example of a job history: one row per training job, with what it ran';
-- The planner must know how few questions there are to ask each only once.
CREATE STATISTICS job_questions (ndistinct) ON graph_id, gpu, batch, dtype, layout, framework FROM job;
ANALYZE job;
SELECT count(*) AS jobs, min(submitted_at)::date AS from_day, max(submitted_at)::date AS to_day, count(DISTINCT team) AS teams,
       count(DISTINCT (graph_id, gpu, batch, dtype, layout)) AS questions, round(sum(gpu_count * duration_s / 3600)::numeric) AS gpu_hours
FROM job;
