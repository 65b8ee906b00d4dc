-- What is done each night: measurements from the jobs of the day, a judgement,
-- and a better predictor where one is due. The table is new in 0.2.0, so that
-- an update makes it from this file. docs/nightly.md

CREATE TABLE perfmodel.nightly_log (
    nightly_id             bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT nightly_log_pkey PRIMARY KEY,
    started_at             timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    finished_at            timestamptz,
    predictor              text,
    jobs_taken             bigint,
    profiles_added         bigint,
    verdict                text,
    action                 text        NOT NULL CONSTRAINT nightly_log_action_known
                                       CHECK (action IN ('running', 'nothing', 'recalibrated', 'trained', 'failed')),
    candidate              text,
    run_id                 bigint,
    n                      integer,
    n_networks             integer,
    predictor_mape_pct     float8,
    candidate_mape_pct     float8,
    difference_low_pct     float8,
    difference_high_pct    float8,
    activated              boolean     NOT NULL DEFAULT false,
    why                    text
);
COMMENT ON TABLE perfmodel.nightly_log IS 'one row for each call of nightly(): what was done and why';
COMMENT ON COLUMN perfmodel.nightly_log.nightly_id IS 'identifies the call';
COMMENT ON COLUMN perfmodel.nightly_log.started_at IS 'when it began';
COMMENT ON COLUMN perfmodel.nightly_log.finished_at IS 'when it ended; NULL: it runs, or its session was ended';
COMMENT ON COLUMN perfmodel.nightly_log.predictor IS 'name of the active predictor at the beginning';
COMMENT ON COLUMN perfmodel.nightly_log.jobs_taken IS 'jobs that became measurements; NULL: no table of jobs was given';
COMMENT ON COLUMN perfmodel.nightly_log.profiles_added IS 'measurements that these jobs became';
COMMENT ON COLUMN perfmodel.nightly_log.verdict IS 'the worst verdict of drift() about the active predictor, by GPU';
COMMENT ON COLUMN perfmodel.nightly_log.action IS 'running, nothing, recalibrated, trained, failed';
COMMENT ON COLUMN perfmodel.nightly_log.candidate IS 'name of the new predictor; it is dropped again when it is not activated';
COMMENT ON COLUMN perfmodel.nightly_log.run_id IS 'its training in the background, see training_status; NULL: none';
COMMENT ON COLUMN perfmodel.nightly_log.n IS 'measurements on which the two predictors were compared; neither was trained on them';
COMMENT ON COLUMN perfmodel.nightly_log.n_networks IS 'networks among them';
COMMENT ON COLUMN perfmodel.nightly_log.predictor_mape_pct IS 'mean absolute error of the active predictor on these measurements, in percent';
COMMENT ON COLUMN perfmodel.nightly_log.candidate_mape_pct IS 'mean absolute error of the candidate on these measurements, in percent';
COMMENT ON COLUMN perfmodel.nightly_log.difference_low_pct IS 'lower end of the 90 % interval of the difference: error of the candidate minus that of the active predictor';
COMMENT ON COLUMN perfmodel.nightly_log.difference_high_pct IS 'upper end of that interval; the candidate is activated when it is below 0';
COMMENT ON COLUMN perfmodel.nightly_log.activated IS 'whether the candidate is the active predictor now';
COMMENT ON COLUMN perfmodel.nightly_log.why IS 'why there is no new predictor, if so; then the advice of drift() and the numbers of jobs left out';
COMMENT ON CONSTRAINT nightly_log_action_known ON perfmodel.nightly_log IS 'actions that a night can end with';
SELECT pg_catalog.pg_extension_config_dump('perfmodel.nightly_log', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.nightly_log_nightly_id_seq', '');

-- Tables of jobs are filled late: by hand, by hosts that were cut off, from a dump. So
-- each call reads back 30 days, and this table says which of these jobs it has seen,
-- and how long the steps of the last ones of each question took.
CREATE TABLE perfmodel.collected_job (
    source      text        NOT NULL,
    job         bigint      NOT NULL,
    finished_at timestamptz NOT NULL,
    question    bigint,
    step_ms     float8,
    CONSTRAINT collected_job_pkey PRIMARY KEY (source, job)
);
COMMENT ON TABLE perfmodel.collected_job IS 'jobs that collect_from_jobs() has measured or left out, so that it does not take them again';
COMMENT ON COLUMN perfmodel.collected_job.source IS 'source of the measurements; of a table of jobs: jobs of SCHEMA.TABLE';
COMMENT ON COLUMN perfmodel.collected_job.job IS 'hash of what the table of jobs said of the job';
COMMENT ON COLUMN perfmodel.collected_job.finished_at IS 'when the job ended; rows go 30 days after, but not the last 10 of a question';
COMMENT ON COLUMN perfmodel.collected_job.question IS 'hash of network, card, batch and so on; NULL: left out for another reason than its time';
COMMENT ON COLUMN perfmodel.collected_job.step_ms IS 'milliseconds of a step; an outlier differs from those of this call and the last 10 of the question';
SELECT pg_catalog.pg_extension_config_dump('perfmodel.collected_job', '');

-- In three functions, so that an error does not come with the text of the whole query.
CREATE FUNCTION perfmodel.finished_jobs(jobs regclass, columns jsonb DEFAULT '{}', since timestamptz DEFAULT '-infinity',
                                        OUT graph_id bigint, OUT graph text, OUT gpu text, OUT batch integer, OUT dtype text, OUT layout text, OUT framework text,
                                        OUT optimizer text, OUT gpu_count integer, OUT nodes integer, OUT duration_s float8, OUT steps float8, OUT restarts float8,
                                        OUT finished_at timestamptz)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE COST 10000 ROWS 1000 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    wanted CONSTANT text[] := '{graph_id,graph,gpu,batch,dtype,layout,framework,optimizer,gpu_count,nodes,duration_s,steps,done_steps,restarts,finished_at}';
    otherwise CONSTANT text[] := ARRAY['NULL::bigint', 'NULL::text', NULL, NULL, '''fp32''', '''nchw''', 'NULL::text', '''sgd_momentum''', '1', 'NULL::integer', NULL, NULL, 'NULL::float8', '0', NULL];
    parts CONSTANT text := perfmodel.job_columns(jobs, columns, wanted, otherwise, 'docs/nightly.md');
BEGIN
    -- a run that is collected later begins behind the last end, so that an end which is yet to come would hide all others
    -- a job that failed or was ended has made done_steps of its steps
    -- RETURN QUERY wants these types and no others, neither smallint nor a domain
    RETURN QUERY EXECUTE format('SELECT j.graph_id::bigint, j.graph::text, j.gpu::text, j.batch::integer, j.dtype::text, j.layout::text, j.framework::text, j.optimizer::text, j.gpu_count::integer,'
                                ' j.nodes::integer, j.duration_s::float8, least(j.steps::float8, j.done_steps::float8), j.restarts::float8, j.finished_at::timestamptz'
                                ' FROM (SELECT %1$s FROM %2$s WHERE %3$s > $1 AND %3$s <= clock_timestamp()) AS j', parts, jobs,
                                perfmodel.job_time(jobs, coalesce(columns ->> 'finished_at', 'finished_at'), 'finished_at')) USING since;
END $$;
COMMENT ON FUNCTION perfmodel.finished_jobs(regclass, jsonb, timestamptz) IS
    'jobs of a table that ended after a time, as collect_from_jobs() reads them';

CREATE FUNCTION perfmodel.measure_jobs(jobs regclass, columns jsonb, since timestamptz, startup_s float8, min_steps integer, source text, again boolean,
                                       OUT outcome text, OUT n_jobs bigint, OUT n_profiles bigint)
    RETURNS SETOF record
    LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 100000 ROWS 8 SET jit = off
BEGIN ATOMIC
    WITH said AS (
        -- the same in every session: texts of times and of float8 depend on settings
        SELECT f.*, hashtextextended(ROW (f.graph_id, f.graph, f.gpu, f.batch, f.dtype, f.layout, f.framework, f.optimizer, f.gpu_count, f.nodes, f.duration_s::numeric, f.steps::numeric,
                                          f.restarts::numeric, extract(epoch FROM f.finished_at))::text, 0) AS hash
        FROM perfmodel.finished_jobs($1, $2, $3) AS f
    ), numbered AS (
        -- rows with the same values are as many jobs
        SELECT s.*, hashint8extended(s.hash, row_number() OVER (PARTITION BY s.hash)) AS job FROM said AS s
    ), job AS MATERIALIZED (
        SELECT n.* FROM numbered AS n WHERE $7 OR NOT EXISTS (SELECT FROM perfmodel.collected_job AS c WHERE c.source = $6 AND c.job = n.job)
    ), meaning AS MATERIALIZED (
        -- the note says which short name was taken for a device: a100, where a job has gpu:a100:4, which a measurement must not have
        SELECT n.what, n.given, n.resolved, n.graph_id, CASE WHEN n.what = 'gpu' AND n.match = 'alias' THEN substring(n.note FROM '^gpu "(.*)" was taken for "') END AS short
        FROM perfmodel.resolve_job_names(ARRAY(SELECT DISTINCT j.graph FROM job AS j), ARRAY(SELECT DISTINCT j.gpu FROM job AS j),
                                         ARRAY(SELECT DISTINCT j.dtype FROM job AS j), 1) AS n
    ), named AS (
        SELECT CASE WHEN j.graph_id IS NULL THEN m.graph_id ELSE (SELECT g.graph_id FROM perfmodel.graph AS g WHERE g.graph_id = j.graph_id) END AS graph_id,
               c.resolved AS gpu, CASE WHEN perfmodel.find_gpu(c.short) = c.resolved THEN c.short END AS short_name, CASE WHEN j.batch BETWEEN 1 AND 16777216 THEN j.batch END AS batch, coalesce(nullif(d.resolved, 'fp8'), '') AS dtype,	-- of steps in FP8 there are no measurements
               coalesce(perfmodel.find_layout(j.layout), '') AS layout, j.framework AS framework,
               -- as plans read it (resolve_optimizer() in job_rows.c)
               coalesce(perfmodel.find_optimizer(j.optimizer), 'other') AS optimizer, CASE WHEN j.gpu_count BETWEEN 1 AND 1000000 THEN j.gpu_count END AS world_size,
               CASE WHEN j.nodes IS NULL THEN coalesce(perfmodel.fewest_nodes(c.resolved, j.gpu_count), 1) WHEN j.nodes BETWEEN 1 AND j.gpu_count THEN j.nodes END AS nodes, j.duration_s AS duration_s, j.steps AS steps,
               j.job AS job, j.restarts AS restarts, j.finished_at AS finished_at, CASE WHEN j.duration_s BETWEEN 0 AND 1e12 AND j.steps BETWEEN 1 AND 1e15 THEN 1000 * (j.duration_s - $4) / j.steps END AS step_ms
        FROM job AS j LEFT JOIN meaning AS m ON m.what = 'graph' AND m.given = j.graph LEFT JOIN meaning AS c ON c.what = 'gpu' AND c.given = j.gpu
             LEFT JOIN meaning AS d ON d.what = 'dtype' AND d.given = j.dtype
    ), sorted AS (
        SELECT n.*, CASE WHEN n.graph_id IS NULL OR n.gpu IS NULL OR n.dtype = '' OR n.layout = '' OR n.batch IS NULL OR n.world_size IS NULL OR n.nodes IS NULL
                              -- longer than text_limits.sql lets a measurement have: one such job must not stop all others
                              OR octet_length(n.framework) > 512 THEN 'unknown'
                         WHEN n.restarts > 0 THEN 'restarted'
                         WHEN n.steps IS NULL OR n.steps < $5 THEN 'few steps'
                         WHEN n.duration_s IS NULL OR n.duration_s < 2 * $4 OR n.step_ms IS NULL OR n.step_ms NOT BETWEEN 1e-6 AND 1e9 THEN 'short'
                    END AS reason
        FROM named AS n
    ), asked AS MATERIALIZED (
        SELECT s.*, CASE WHEN s.reason IS NULL THEN hashtextextended(ROW (s.graph_id, s.gpu, s.batch, s.dtype, s.layout, s.framework, s.optimizer, s.world_size, s.nodes)::text, 0) END AS question
        FROM sorted AS s
    ), known AS (
        -- the last 10 jobs of each question, those that were outliers, too: if the first was one, the others must get by it
        SELECT c.question, c.step_ms, row_number() OVER (PARTITION BY c.question ORDER BY c.finished_at DESC, c.job) AS nth
        FROM perfmodel.collected_job AS c WHERE c.source = $6 AND c.question IS NOT NULL AND NOT EXISTS (SELECT FROM job AS j WHERE j.job = c.job)
    ), middle AS (
        SELECT k.question, percentile_cont(0.5) WITHIN GROUP (ORDER BY ln(k.step_ms)) AS middle
        FROM (SELECT a.question, a.step_ms FROM asked AS a WHERE a.question IS NOT NULL UNION ALL SELECT k.question, k.step_ms FROM known AS k WHERE k.nth <= 10) AS k GROUP BY 1
    ), checked AS (
        -- a job that took 1.5 times as long as the middle one of its kind, or two thirds of it, had something else to do
        SELECT a.*, CASE WHEN abs(ln(a.step_ms) - m.middle) > ln(1.5) THEN 'outlier' ELSE 'taken' END AS outcome
        FROM asked AS a JOIN middle AS m USING (question)
    ), added AS (
        INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, optimizer, world_size, nodes, step_ms, spread, measured_at, source)
        -- by a name that several devices could mean, where the jobs have one: the trigger of the table then says which is taken
        SELECT c.graph_id, coalesce(min(c.short_name), c.gpu), c.batch, c.dtype, c.layout, c.framework, c.optimizer, c.world_size, c.nodes,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY c.step_ms),
               (percentile_cont(0.75) WITHIN GROUP (ORDER BY c.step_ms) - percentile_cont(0.25) WITHIN GROUP (ORDER BY c.step_ms))
                   / percentile_cont(0.5) WITHIN GROUP (ORDER BY c.step_ms), max(c.finished_at), $6
        FROM checked AS c WHERE c.outcome = 'taken' GROUP BY c.graph_id, c.gpu, c.batch, c.dtype, c.layout, c.framework, c.optimizer, c.world_size, c.nodes
        ORDER BY max(c.finished_at), c.graph_id, c.gpu, c.batch
        RETURNING 1
    ), remembered AS (
        INSERT INTO perfmodel.collected_job (source, job, finished_at, question, step_ms)
        SELECT $6, a.job, a.finished_at, a.question, CASE WHEN a.question IS NOT NULL THEN a.step_ms END FROM asked AS a ON CONFLICT DO NOTHING
    )
    SELECT v.outcome, v.n, CASE v.outcome WHEN 'taken' THEN (SELECT count(*) FROM added) ELSE 0 END
    FROM (SELECT c.outcome, count(*) AS n FROM checked AS c GROUP BY 1 UNION ALL SELECT s.reason, count(*) FROM sorted AS s WHERE s.reason IS NOT NULL GROUP BY 1) AS v
    ORDER BY v.outcome <> 'taken', v.n DESC, v.outcome;
END;
COMMENT ON FUNCTION perfmodel.measure_jobs(regclass, jsonb, timestamptz, float8, integer, text, boolean) IS
    'adds the measurements of collect_from_jobs(), which checks the arguments';
REVOKE ALL ON FUNCTION perfmodel.measure_jobs(regclass, jsonb, timestamptz, float8, integer, text, boolean) FROM PUBLIC;

CREATE FUNCTION perfmodel.collect_from_jobs(jobs regclass, columns jsonb DEFAULT '{}', since timestamptz DEFAULT NULL, startup_s float8 DEFAULT 60,
                                            min_steps integer DEFAULT 100, source text DEFAULT NULL,
                                            OUT outcome text, OUT n_jobs bigint, OUT n_profiles bigint)
    RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100000 ROWS 8 SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    -- as regclass writes it, but the same whatever quote_all_identifiers, the search path and the version of the server say
    origin CONSTANT text := coalesce(source, (
        SELECT 'jobs of ' || string_agg(CASE WHEN part.name ~ '^[a-z_][a-z0-9_$]*$' THEN part.name ELSE '"' || replace(part.name, '"', '""') || '"' END, '.' ORDER BY part.nth)
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace,
             unnest(ARRAY[CASE c.relpersistence WHEN 't' THEN 'pg_temp' ELSE n.nspname END, c.relname]::text[]) WITH ORDINALITY AS part(name, nth) WHERE c.oid = jobs));
    -- 30 days in hours, which are the same in every time zone
    late CONSTANT interval := '720 hours';
    start timestamptz;
BEGIN
    IF current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'cannot execute perfmodel.collect_from_jobs() in a read-only transaction' USING ERRCODE = 'read_only_sql_transaction',
            HINT = 'It adds rows to perfmodel.profile: call it on the primary, in a transaction that may write.';
    END IF;
    IF startup_s IS NULL OR NOT (startup_s >= 0 AND startup_s < 1e9) OR min_steps IS NULL OR min_steps < 1 THEN
        RAISE EXCEPTION 'startup_s must be at least 0, and min_steps at least 1' USING ERRCODE = 'invalid_parameter_value',
            DETAIL = format('They are %s and %s.', coalesce(startup_s::text, 'NULL'), coalesce(min_steps::text, 'NULL')),
            HINT = 'startup_s is what a job takes before its first step, in seconds (60 where it is not given); a job with fewer than min_steps steps (100) is left out.';
    END IF;
    -- of two calls at a time, the second waits until the first has said which jobs it took; no snapshot may be older than that
    LOCK TABLE perfmodel.collected_job IN SHARE ROW EXCLUSIVE MODE;
    start := coalesce(since, (SELECT max(c.finished_at) - late FROM perfmodel.collected_job AS c WHERE c.source = origin), '-infinity');
    RETURN QUERY SELECT * FROM perfmodel.measure_jobs(jobs, columns, start, startup_s, min_steps, origin, since IS NOT NULL);
    DELETE FROM perfmodel.collected_job AS c
    USING (SELECT d.job, d.question IS NULL OR row_number() OVER (PARTITION BY d.question ORDER BY d.finished_at DESC, d.job) > 10 AS out_of_mind,
                  d.finished_at <= max(d.finished_at) OVER () - late AS old FROM perfmodel.collected_job AS d WHERE d.source = origin) AS k
    WHERE c.source = origin AND c.job = k.job AND k.old AND k.out_of_mind;
END $$;
COMMENT ON FUNCTION perfmodel.collect_from_jobs(regclass, jsonb, timestamptz, float8, integer, text) IS
    'makes measurements from finished jobs (duration and steps), one for each question; counts jobs left out';
REVOKE ALL ON FUNCTION perfmodel.collect_from_jobs(regclass, jsonb, timestamptz, float8, integer, text) FROM PUBLIC;

-- The parts of nightly(), which commits between them. The first ends with a
-- candidate, perhaps one that is still trained, or with nothing to do.
CREATE FUNCTION perfmodel.nightly_start(jobs regclass DEFAULT NULL, columns jsonb DEFAULT '{}', background boolean DEFAULT true, max_wait interval DEFAULT '8 hours')
    RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    alone boolean;
    active record;
    part record;
    taken bigint := 0;
    added bigint := 0;
    not_taken text := '';
    d_verdict text;
    d_advice text;
    night bigint;
    d_gpu text;
    networks bigint;
    fitting bigint[];
    challenger text;
    run bigint;
    done text;
    reason text;
BEGIN
    IF current_setting('transaction_read_only')::boolean THEN
        RAISE EXCEPTION 'cannot execute perfmodel.nightly() in a read-only transaction' USING ERRCODE = 'read_only_sql_transaction',
            HINT = 'It writes measurements, predictors and its log: call it on the primary, in a transaction that may write.';
    END IF;
    -- without one, or with none, no call would see that another is running
    IF max_wait IS NULL OR NOT (max_wait > '0' AND max_wait <= '100 years') THEN
        RAISE EXCEPTION 'max_wait must be above 0 and at most 100 years, not %', coalesce(max_wait::text, 'NULL') USING ERRCODE = 'invalid_parameter_value',
            HINT = 'It is how long a training may take, and how long another call stays away: ''8 hours'' where it is not given.';
    END IF;
    PERFORM perfmodel.notice_short('max_wait', max_wait, '1 minute', 'a training in the background that takes longer is cancelled', '8 hours');
    -- a lock that only those who may write the log can take, unlike an advisory one
    BEGIN
        LOCK TABLE perfmodel.nightly_log IN SHARE ROW EXCLUSIVE MODE NOWAIT;
        alone := NOT EXISTS (SELECT FROM perfmodel.nightly_log AS l WHERE l.action = 'running' AND l.started_at > clock_timestamp() - max_wait);
    EXCEPTION WHEN lock_not_available THEN
        alone := false;
    END;
    IF NOT alone THEN
        RAISE EXCEPTION 'another call of nightly() is still running' USING ERRCODE = 'object_in_use',
            HINT = 'If its session has ended: UPDATE perfmodel.nightly_log SET action = ''failed'' WHERE action = ''running''.';
    END IF;
    SELECT p.predictor_id, p.name, p.kind, p.options, p.profiles INTO active FROM perfmodel.predictor AS p WHERE p.active AND p.quantity = 'step_ms';
    INSERT INTO perfmodel.nightly_log (action, predictor) VALUES ('running', active.name) RETURNING nightly_id INTO night;
    IF jobs IS NOT NULL THEN
        FOR part IN SELECT * FROM perfmodel.collect_from_jobs(jobs, columns) LOOP
            IF part.outcome = 'taken' THEN
                taken := part.n_jobs;
                added := part.n_profiles;
            ELSE
                not_taken := concat(not_taken, CASE not_taken WHEN '' THEN '; jobs not taken: ' ELSE ', ' END, part.n_jobs, ' ', part.outcome);
            END IF;
        END LOOP;
        UPDATE perfmodel.nightly_log SET jobs_taken = taken, profiles_added = added WHERE nightly_id = night;
    END IF;
    IF active.name IS NOT NULL THEN
        -- the worst, and among these what it takes more to mend
        SELECT x.verdict, x.advice, CASE x.grouped_by WHEN 'gpu' THEN x.group_name END INTO d_verdict, d_advice, d_gpu
        FROM (SELECT y.*, count(*) FILTER (WHERE y.grouped_by = 'gpu') OVER (PARTITION BY y.verdict) AS devices
              FROM perfmodel.drift(active.name, '{gpu}') AS y) AS x
        -- where one device alone has the verdict, it is about that device and not about all
        ORDER BY array_position('{biased,wider,new_inputs,ok,too_few}', x.verdict), array_position('{retrain,recalibrate,collect}', split_part(x.advice, ':', 1)),
                 x.devices = 1 AND x.grouped_by = 'overall', x.n DESC LIMIT 1;
    END IF;
    reason := CASE WHEN active.name IS NULL THEN 'no predictor is active' ELSE coalesce(d_advice, 'it holds') END || not_taken;
    IF d_verdict IS NULL OR d_verdict IN ('ok', 'too_few') OR d_advice LIKE 'collect%' THEN
        UPDATE perfmodel.nightly_log SET action = 'nothing', verdict = d_verdict, why = reason, finished_at = clock_timestamp() WHERE nightly_id = night;
        RETURN night;
    END IF;
    -- Half of the new networks to learn from; the others stay new to both, to compare on, at least 5 of them, since the mean of fewer
    -- proves nothing. Those with measurements of the device that the verdict is about are halved among themselves, and learned from first.
    WITH r AS MATERIALIZED (
        SELECT x.profile_id, x.network, x.gpu FROM perfmodel.residuals(active.name) AS x
    ), k AS (
        SELECT r.network, coalesce(bool_or(r.gpu = d_gpu), false) AS drifted FROM r GROUP BY 1
    ), m AS (
        SELECT k.network, k.drifted, row_number() OVER (PARTITION BY k.drifted ORDER BY hashint8(k.network), k.network) AS place FROM k
    ), n AS (
        SELECT m.network, m.place % 2 = 0 AND row_number() OVER (PARTITION BY m.place % 2 ORDER BY m.drifted DESC, m.place) <= count(*) OVER () - 5 AS learned FROM m
    )
    SELECT count(DISTINCT n.network), array_agg(r.profile_id) FILTER (WHERE n.learned) INTO networks, fitting FROM r JOIN n USING (network);
    challenger := format('nightly %s', to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'));
    IF fitting IS NULL THEN
        UPDATE perfmodel.nightly_log SET action = 'nothing', verdict = d_verdict, finished_at = clock_timestamp(),
            why = format('%s new %s: it takes 6, one to learn from and 5 to compare on; ', networks, CASE networks WHEN 1 THEN 'network' ELSE 'networks' END) || reason
        WHERE nightly_id = night;
        RETURN night;
    ELSIF active.predictor_id < 0 OR d_advice LIKE 'recalibrate%' THEN
        -- the measurements of a predictor that came trained are not here: training on those that are would make a poorer one
        PERFORM * FROM perfmodel.recalibrate(active.name, fitting, challenger);
        reason := reason || CASE WHEN d_advice LIKE 'recalibrate%' THEN '' ELSE '; recalibrated, since the measurements that it was trained on are not in this database' END;
        done := 'recalibrated';
    ELSIF background THEN
        run := perfmodel.train_async(challenger, active.kind, active.profiles || fitting, active.options);
        done := 'running';
    ELSE
        PERFORM perfmodel.train(challenger, active.kind, active.profiles || fitting, active.options);
        done := 'trained';
    END IF;
    UPDATE perfmodel.nightly_log SET action = done, verdict = d_verdict, why = reason, candidate = challenger, run_id = run WHERE nightly_id = night;
    RETURN night;
END $$;
COMMENT ON FUNCTION perfmodel.nightly_start(regclass, jsonb, boolean, interval) IS 'the first part of nightly(), up to a candidate (a new predictor); returns the nightly_id';

CREATE FUNCTION perfmodel.nightly_finish(night bigint, max_wait interval DEFAULT '8 hours') RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
#variable_conflict use_column
DECLARE
    l perfmodel.nightly_log;
    state record;
    c record;
    wins boolean;
BEGIN
    SELECT * INTO l FROM perfmodel.nightly_log AS x WHERE x.nightly_id = night;
    IF l.finished_at IS NOT NULL OR l.nightly_id IS NULL THEN
        RETURN true;
    END IF;
    IF l.run_id IS NOT NULL THEN
        SELECT s.status, s.message INTO state FROM perfmodel.training_status AS s WHERE s.run_id = l.run_id;
        IF state.status = 'running' THEN
            IF clock_timestamp() > l.started_at + max_wait THEN
                PERFORM perfmodel.cancel_training(l.run_id);
            END IF;
            RETURN false;
        ELSIF state.status IS DISTINCT FROM 'finished' THEN
            UPDATE perfmodel.nightly_log SET action = 'failed', why = coalesce(left(state.message, 2000), 'the training did not finish') || '; ' || why, finished_at = clock_timestamp()
            WHERE nightly_id = night;
            RETURN true;
        END IF;
    END IF;
    SELECT * INTO c FROM perfmodel.compare_predictors(l.predictor, l.candidate);
    wins := c.better IS NOT DISTINCT FROM l.candidate;
    IF wins THEN
        PERFORM perfmodel.activate_predictor(l.candidate);
    ELSE
        PERFORM perfmodel.drop_predictor(l.candidate);
    END IF;
    UPDATE perfmodel.nightly_log
    SET action = CASE action WHEN 'running' THEN 'trained' ELSE action END, n = c.n, n_networks = c.n_networks, predictor_mape_pct = c.mape_a_pct, candidate_mape_pct = c.mape_b_pct,
        difference_low_pct = c.difference_low_pct, difference_high_pct = c.difference_high_pct, activated = wins, finished_at = clock_timestamp(),
        why = CASE WHEN wins THEN '' WHEN c.difference_high_pct IS NULL THEN 'not activated, fewer than 5 networks to compare on; '
                   ELSE 'not activated, not better beyond chance; ' END || why
    WHERE nightly_id = night;
    RETURN true;
END $$;
COMMENT ON FUNCTION perfmodel.nightly_finish(bigint, interval) IS 'the last part of nightly(): compares and activates; false while the candidate is still trained';

CREATE FUNCTION perfmodel.may_commit() RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pm_may_commit';
COMMENT ON FUNCTION perfmodel.may_commit() IS 'whether the procedure that asks may COMMIT: not within a transaction block or a function';

-- Without SET, as a procedure that has one cannot commit; so every name is qualified.
CREATE PROCEDURE perfmodel.nightly(jobs regclass DEFAULT NULL, columns jsonb DEFAULT '{}', background boolean DEFAULT true, max_wait interval DEFAULT '8 hours')
    LANGUAGE plpgsql AS $$
DECLARE
    night bigint;
BEGIN
    IF background AND NOT perfmodel.may_commit() THEN
        RAISE EXCEPTION 'perfmodel.nightly() cannot train in the background within a transaction block or a function' USING ERRCODE = 'active_sql_transaction',
            DETAIL = 'It has to commit before such a training begins.',
            HINT = 'Call it outside of BEGIN and COMMIT, or with background => false, which does not commit.';
    END IF;
    night := perfmodel.nightly_start(jobs, columns, background, max_wait);
    IF background THEN
        -- a training in the background begins when what asked for it is committed
        COMMIT;
    END IF;
    WHILE NOT perfmodel.nightly_finish(night, max_wait) LOOP
        COMMIT;
        PERFORM pg_catalog.pg_sleep(1);
    END LOOP;
END $$;
COMMENT ON PROCEDURE perfmodel.nightly(regclass, jsonb, boolean, interval) IS
    'measures finished jobs, judges the active predictor, corrects it if drift() advises so, activates a better one';
REVOKE ALL ON FUNCTION perfmodel.nightly_start(regclass, jsonb, boolean, interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION perfmodel.nightly_finish(bigint, interval) FROM PUBLIC;
REVOKE ALL ON PROCEDURE perfmodel.nightly(regclass, jsonb, boolean, interval) FROM PUBLIC;
