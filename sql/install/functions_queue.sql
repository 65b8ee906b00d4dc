-- Planning over the user's own table of jobs. The table is given as a regclass
-- with an object {"meaning": "column"}; it is read with the caller's rights.

CREATE FUNCTION perfmodel.resolve_job_names(jobs regclass, columns jsonb DEFAULT '{}', min_score float8 DEFAULT 0.5,
                                            OUT what text, OUT given text, OUT jobs_with_it bigint, OUT match text, OUT resolved text,
                                            OUT graph_id bigint, OUT score float8, OUT candidates text[], OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_resolve_job_table';
COMMENT ON FUNCTION perfmodel.resolve_job_names(regclass, jsonb, float8) IS
    'what the names of graphs, GPUs and formats in a table of jobs mean: a row for each different name';

CREATE FUNCTION perfmodel.resolve_job_names(graphs text[], gpus text[], dtypes text[], min_score float8 DEFAULT 0.5,
                                            OUT what text, OUT given text, OUT jobs_with_it bigint, OUT match text, OUT resolved text,
                                            OUT graph_id bigint, OUT score float8, OUT candidates text[], OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_resolve_job_names';
COMMENT ON FUNCTION perfmodel.resolve_job_names(text[], text[], text[], float8) IS
    'resolve_job_names for names in arrays, each of which may be NULL';

CREATE FUNCTION perfmodel.forecast_jobs(jobs regclass, columns jsonb DEFAULT '{}', predictor text DEFAULT NULL, at timestamptz DEFAULT pg_catalog.now(),
                                        OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT running boolean,
                                        OUT submitted_at timestamptz, OUT started_at timestamptz, OUT deadline timestamptz,
                                        OUT p50_s float8, OUT p90_s float8, OUT step_ms float8, OUT in_domain boolean, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 AS 'MODULE_PATHNAME', 'pm_forecast_jobs';
COMMENT ON FUNCTION perfmodel.forecast_jobs(regclass, jsonb, text, timestamptz) IS
    'seconds that each job of a table runs, or with done_steps, is still to run: median and 90 % quantile';

CREATE FUNCTION perfmodel.queue_order(jobs regclass, columns jsonb DEFAULT '{}', policy text DEFAULT 'srsf', predictor text DEFAULT NULL,
                                      at timestamptz DEFAULT pg_catalog.now(),
                                      OUT "position" bigint, OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT submitted_at timestamptz,
                                      OUT deadline timestamptz, OUT p50_s float8, OUT p90_s float8, OUT gpu_s float8, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000 ROWS 1000 AS 'MODULE_PATHNAME', 'pm_queue_order_table';
COMMENT ON FUNCTION perfmodel.queue_order(regclass, jsonb, text, text, timestamptz) IS
    'waiting jobs of a table in the order of a policy: fifo, sjf, srtf, srsf or edf';

CREATE FUNCTION perfmodel.queue_order_arrays(job_ids text[], gpus text[], gpu_counts integer[], durations_p50_s float8[], durations_p90_s float8[] DEFAULT NULL,
                                      submitted timestamptz[] DEFAULT NULL, started timestamptz[] DEFAULT NULL, deadlines timestamptz[] DEFAULT NULL,
                                      policy text DEFAULT 'srsf', at timestamptz DEFAULT pg_catalog.now(),
                                      OUT "position" bigint, OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT submitted_at timestamptz,
                                      OUT deadline timestamptz, OUT p50_s float8, OUT p90_s float8, OUT gpu_s float8, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 1000 AS 'MODULE_PATHNAME', 'pm_queue_order_arrays';
COMMENT ON FUNCTION perfmodel.queue_order_arrays(text[], text[], integer[], float8[], float8[], timestamptz[], timestamptz[], timestamptz[], text, timestamptz) IS
    'queue_order for jobs whose durations are given in arrays';

CREATE FUNCTION perfmodel.queue_eta(jobs regclass, columns jsonb DEFAULT '{}', free jsonb DEFAULT NULL, policy text DEFAULT 'fifo', backfill boolean DEFAULT false,
                                    predictor text DEFAULT NULL, at timestamptz DEFAULT pg_catalog.now(), draws integer DEFAULT 200, seed bigint DEFAULT 1,
                                    arrivals interval DEFAULT NULL,
                                    OUT "position" bigint, OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT p50_s float8, OUT p90_s float8,
                                    OUT start_p50 timestamptz, OUT start_p90 timestamptz, OUT finish_p50 timestamptz, OUT finish_p90 timestamptz,
                                    OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 AS 'MODULE_PATHNAME', 'pm_queue_eta_table';
COMMENT ON FUNCTION perfmodel.queue_eta(regclass, jsonb, jsonb, text, boolean, text, timestamptz, integer, bigint, interval) IS
    'when jobs of a table start and end: median and 90 % quantile of a simulated queue; free: {"gpu": devices}';

CREATE FUNCTION perfmodel.queue_eta_arrays(free jsonb, job_ids text[], gpus text[], gpu_counts integer[], durations_p50_s float8[],
                                    durations_p90_s float8[] DEFAULT NULL, submitted timestamptz[] DEFAULT NULL, started timestamptz[] DEFAULT NULL,
                                    deadlines timestamptz[] DEFAULT NULL, policy text DEFAULT 'fifo', backfill boolean DEFAULT false,
                                    at timestamptz DEFAULT pg_catalog.now(), draws integer DEFAULT 200, seed bigint DEFAULT 1,
                                    OUT "position" bigint, OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT p50_s float8, OUT p90_s float8,
                                    OUT start_p50 timestamptz, OUT start_p90 timestamptz, OUT finish_p50 timestamptz, OUT finish_p90 timestamptz,
                                    OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 100000 ROWS 1000 AS 'MODULE_PATHNAME', 'pm_queue_eta_arrays';
COMMENT ON FUNCTION perfmodel.queue_eta_arrays(jsonb, text[], text[], integer[], float8[], float8[], timestamptz[], timestamptz[], timestamptz[], text, boolean,
                                        timestamptz, integer, bigint) IS 'queue_eta for jobs whose durations are given in arrays';

-- A job without times is counted with its reason: where it runs, it holds its devices for ever.
CREATE FUNCTION perfmodel.queue_drain(jobs regclass, columns jsonb DEFAULT '{}', free jsonb DEFAULT NULL, policy text DEFAULT 'fifo', backfill boolean DEFAULT false,
                                      predictor text DEFAULT NULL, at timestamptz DEFAULT pg_catalog.now(), draws integer DEFAULT 200, seed bigint DEFAULT 1,
                                      arrivals interval DEFAULT NULL,
                                      OUT gpu text, OUT running bigint, OUT waiting bigint, OUT last_p50 timestamptz, OUT last_p90 timestamptz,
                                      OUT without_answer bigint, OUT held_gpus bigint, OUT note text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL RESTRICTED COST 100000 ROWS 10
BEGIN ATOMIC
    WITH eta AS (
        SELECT e.gpu, e.gpu_count, e.finish_p50, e.finish_p90, e."position" IS NULL AS runs, e.finish_p90 IS NULL AS untimed,
               CASE WHEN e.finish_p90 IS NULL THEN e.note END AS why
        FROM perfmodel.queue_eta(queue_drain.jobs, queue_drain.columns, queue_drain.free, queue_drain.policy, queue_drain.backfill, queue_drain.predictor,
                                 queue_drain.at, queue_drain.draws, queue_drain.seed, queue_drain.arrivals) AS e
    ), alike AS (
        SELECT e.gpu, e.runs, e.untimed, e.why, count(*) AS n, sum(e.gpu_count) AS devices, max(e.finish_p50) AS p50, max(e.finish_p90) AS p90,
               row_number() OVER (PARTITION BY e.gpu, e.untimed ORDER BY e.runs DESC, count(*) DESC, e.why) AS nth
        FROM eta AS e GROUP BY e.gpu, e.runs, e.untimed, e.why
    )
    SELECT a.gpu, coalesce(sum(a.n) FILTER (WHERE a.runs), 0)::bigint, coalesce(sum(a.n) FILTER (WHERE NOT a.runs), 0)::bigint,
           max(a.p50) FILTER (WHERE NOT a.untimed), max(a.p90) FILTER (WHERE NOT a.untimed), coalesce(sum(a.n) FILTER (WHERE a.untimed), 0)::bigint,
           coalesce(sum(a.devices) FILTER (WHERE a.untimed AND a.runs), 0)::bigint,
           string_agg(format('%s %s %s%s', a.n, CASE WHEN a.runs THEN 'running' ELSE 'waiting' END, CASE a.n WHEN 1 THEN 'job' ELSE 'jobs' END, ': ' || a.why),
                      ' | ' ORDER BY a.nth) FILTER (WHERE a.untimed AND a.nth <= 3)
           || CASE WHEN count(*) FILTER (WHERE a.untimed) > 3 THEN ' | and other reasons' ELSE '' END
    FROM alike AS a GROUP BY a.gpu ORDER BY max(a.p90) FILTER (WHERE NOT a.untimed) DESC NULLS FIRST, a.gpu;
END;
COMMENT ON FUNCTION perfmodel.queue_drain(regclass, jsonb, jsonb, text, boolean, text, timestamptz, integer, bigint, interval) IS
    'when the last job on each kind of device ends, from queue_eta; jobs without an end are counted, with the reasons';

CREATE FUNCTION perfmodel.deadline_probability(jobs regclass, columns jsonb DEFAULT '{}', free jsonb DEFAULT NULL, policy text DEFAULT 'fifo', backfill boolean DEFAULT false,
                                    predictor text DEFAULT NULL, at timestamptz DEFAULT pg_catalog.now(), draws integer DEFAULT 200, seed bigint DEFAULT 1,
                                    arrivals interval DEFAULT NULL,
                                    OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT deadline timestamptz, OUT probability float8,
                                    OUT finish_p50 timestamptz, OUT finish_p90 timestamptz, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 AS 'MODULE_PATHNAME', 'pm_deadline_table';
COMMENT ON FUNCTION perfmodel.deadline_probability(regclass, jsonb, jsonb, text, boolean, text, timestamptz, integer, bigint, interval) IS
    'probability of each job with a deadline to end in time, from the same simulation as queue_eta';

CREATE FUNCTION perfmodel.deadline_probability_arrays(free jsonb, job_ids text[], gpus text[], gpu_counts integer[], durations_p50_s float8[],
                                    durations_p90_s float8[] DEFAULT NULL, submitted timestamptz[] DEFAULT NULL, started timestamptz[] DEFAULT NULL,
                                    deadlines timestamptz[] DEFAULT NULL, policy text DEFAULT 'fifo', backfill boolean DEFAULT false,
                                    at timestamptz DEFAULT pg_catalog.now(), draws integer DEFAULT 200, seed bigint DEFAULT 1,
                                    OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT deadline timestamptz, OUT probability float8,
                                    OUT finish_p50 timestamptz, OUT finish_p90 timestamptz, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 100000 ROWS 1000 AS 'MODULE_PATHNAME', 'pm_deadline_arrays';
COMMENT ON FUNCTION perfmodel.deadline_probability_arrays(jsonb, text[], text[], integer[], float8[], float8[], timestamptz[], timestamptz[], timestamptz[], text,
                                        boolean, timestamptz, integer, bigint) IS 'deadline_probability for jobs whose durations are given in arrays';

CREATE FUNCTION perfmodel.fill_windows(jobs regclass, columns jsonb DEFAULT '{}', windows tstzrange[] DEFAULT NULL, gpus text[] DEFAULT NULL,
                                       gpu_counts integer[] DEFAULT NULL, predictor text DEFAULT NULL, at timestamptz DEFAULT pg_catalog.now(), level float8 DEFAULT 0.9,
                                       startup_s float8 DEFAULT 60, checkpoint_s float8 DEFAULT 30,
                                       OUT window_number integer, OUT job_id text, OUT team text, OUT gpu text, OUT steps bigint,
                                       OUT starts_at timestamptz, OUT ends_at timestamptz, OUT step_ms float8, OUT steps_s float8, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_fill_windows';
COMMENT ON FUNCTION perfmodel.fill_windows(regclass, jsonb, tstzrange[], text[], integer[], text, timestamptz, float8, float8, float8) IS
    'waiting jobs to run while devices are idle, and for how many steps; jobs without steps have a note';

CREATE FUNCTION perfmodel.what_if_jobs(jobs regclass, columns jsonb DEFAULT '{}', gpus text[] DEFAULT NULL, gpu_counts integer[] DEFAULT NULL, predictor text DEFAULT NULL,
                                       OUT job bigint, OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT step_ms float8,
                                       OUT step_p90_ms float8, OUT steps_left float8, OUT deadline timestamptz, OUT weight float8,
                                       OUT in_domain boolean, OUT note text, OUT goodput_per_s float8, OUT samples_left float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 10000 AS 'MODULE_PATHNAME', 'pm_what_if_jobs';
COMMENT ON FUNCTION perfmodel.what_if_jobs(regclass, jsonb, text[], integer[], text) IS
    'the step of each job on each of several devices, and numbers of devices; goodput_per_s: samples that count a second';

CREATE FUNCTION perfmodel.place(jobs regclass, columns jsonb DEFAULT '{}', nodes text[] DEFAULT NULL, node_gpus text[] DEFAULT NULL,
                                node_free integer[] DEFAULT NULL, policy text DEFAULT 'srsf',
                                predictor text DEFAULT NULL, at timestamptz DEFAULT pg_catalog.now(), max_slowdown float8 DEFAULT 1,
                                OUT "position" bigint, OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer,
                                OUT node text, OUT gpus_on_node integer, OUT parts integer, OUT step_ms float8, OUT shares_with text,
                                OUT slowdown float8, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 AS 'MODULE_PATHNAME', 'pm_place_sql';
COMMENT ON FUNCTION perfmodel.place(regclass, jsonb, text[], text[], integer[], text, text, timestamptz, float8) IS
    'machines for waiting jobs: one if there is room, else as few as possible, or two jobs on a device (max_slowdown)';
