-- Training and what is kept of it.

-- "All" is the default of arguments that choose measurements, and not NULL,
-- which is what array_agg() makes of a query that finds nothing.
CREATE FUNCTION perfmodel.all_profiles() RETURNS bigint[]
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1 AS 'MODULE_PATHNAME', 'pm_all_profiles';
COMMENT ON FUNCTION perfmodel.all_profiles() IS
    'for an argument profiles: all training steps on one device; NULL and an empty array mean no rows';

CREATE FUNCTION perfmodel.train(name text, kind text DEFAULT 'mdot', profiles bigint[] DEFAULT perfmodel.all_profiles(),
                                options jsonb DEFAULT '{}', warm_start text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000000 AS 'MODULE_PATHNAME', 'pm_train_sql';
COMMENT ON FUNCTION perfmodel.train(text, text, bigint[], jsonb, text) IS
    'trains a predictor and returns its predictor_id; by default on all training steps on one device';

CREATE FUNCTION perfmodel.estimate_training(kind text DEFAULT 'mdot', profiles bigint[] DEFAULT perfmodel.all_profiles(),
                                            options jsonb DEFAULT '{}', try_out boolean DEFAULT true,
                                            OUT n_profiles integer, OUT n_graphs integer, OUT threads integer,
                                            OUT memory_bytes bigint, OUT memory_limit_bytes bigint, OUT seconds float8) RETURNS record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 10000000 AS 'MODULE_PATHNAME', 'pm_estimate_training';
COMMENT ON FUNCTION perfmodel.estimate_training(text, bigint[], jsonb, boolean) IS
    'estimate for a training: measurements, threads, memory, and (unless try_out is false) seconds';

CREATE FUNCTION perfmodel.train_async(name text, kind text DEFAULT 'mdot', profiles bigint[] DEFAULT perfmodel.all_profiles(),
                                      options jsonb DEFAULT '{}', warm_start text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 AS 'MODULE_PATHNAME', 'pm_train_async';
COMMENT ON FUNCTION perfmodel.train_async(text, text, bigint[], jsonb, text) IS
    'like train, but in a background worker; returns a run_id at once, see training_status';

CREATE FUNCTION perfmodel.cancel_training(run_id bigint) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE STRICT COST 10000 AS 'MODULE_PATHNAME', 'pm_cancel_training';
COMMENT ON FUNCTION perfmodel.cancel_training(bigint) IS 'stops a background training; returns whether there was a worker to stop';

CREATE FUNCTION perfmodel.training_lost(run_id bigint) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE STRICT COST 1000 AS 'MODULE_PATHNAME', 'pm_training_lost';
COMMENT ON FUNCTION perfmodel.training_lost(bigint) IS 'whether a run is marked as running but has lost its worker; NULL on a standby';

-- The state of a run whose worker was lost is worked out, not written, so that
-- every reader sees it, on a standby too.
CREATE VIEW perfmodel.training_status AS
SELECT r.run_id, r.predictor_id, r.predictor, r.kind, r.background,
       CASE WHEN r.status <> 'running' THEN r.status
            WHEN l.lost THEN 'failed'
            WHEN l.lost IS NULL THEN 'running on the primary'
            ELSE r.status END AS status,
       r.phase, r.n_profiles, r.fold, r.folds, r.epoch, r.epochs,
       pg_catalog.round(r.loss::numeric, 8)::float8 AS loss, pg_catalog.round(r.learning_rate::numeric, 8)::float8 AS learning_rate,
       pg_catalog.round(r.valid_mape::numeric, 4)::float8 AS valid_mape, r.threads, pg_catalog.round(r.seconds::numeric, 3)::float8 AS seconds,
       CASE WHEN l.lost IS NOT TRUE THEN pg_catalog.round(r.seconds_left::numeric, 1)::float8 END AS seconds_left,
       r.started_at, r.heartbeat_at, r.finished_at,
       CASE WHEN l.lost THEN 'its background worker is gone: the server crashed or was restarted, or the worker was terminated'
            ELSE r.error_message || COALESCE(pg_catalog.chr(10) || r.error_detail, '')
                                 || COALESCE(pg_catalog.chr(10) || r.error_hint, '') END AS message,
       r.trained_by, pg_catalog.round((100 * r.valid_mape)::numeric, 2)::float8 AS valid_mape_pct
FROM perfmodel.training_run r,
     LATERAL (SELECT CASE WHEN r.status = 'running' THEN perfmodel.training_lost(r.run_id) ELSE false END AS lost) l;
COMMENT ON VIEW perfmodel.training_status IS 'trainings, with the progress of those that run in the background; numbers are rounded';
COMMENT ON COLUMN perfmodel.training_status.status IS
    'running, finished, cancelled, failed (also: worker lost); on a standby: running on the primary';
COMMENT ON COLUMN perfmodel.training_status.seconds_left IS 'estimate of the seconds to the end of the whole run, while it is running';
COMMENT ON COLUMN perfmodel.training_status.message IS 'message, detail and hint of the error, if it failed or was cancelled';
COMMENT ON COLUMN perfmodel.training_status.run_id IS 'identifies the run; returned by train_async';
COMMENT ON COLUMN perfmodel.training_status.predictor_id IS 'the predictor that it made; NULL before the end, and after that predictor was dropped';
COMMENT ON COLUMN perfmodel.training_status.predictor IS 'name of the predictor';
COMMENT ON COLUMN perfmodel.training_status.kind IS 'kind of predictor';
COMMENT ON COLUMN perfmodel.training_status.background IS 'whether a background worker runs it (train_async)';
COMMENT ON COLUMN perfmodel.training_status.phase IS 'starting, reading, calibrating, training, storing, done';
COMMENT ON COLUMN perfmodel.training_status.n_profiles IS 'number of measurements; NULL before they are read';
COMMENT ON COLUMN perfmodel.training_status.fold IS 'number of the calibration training that is running; else NULL';
COMMENT ON COLUMN perfmodel.training_status.folds IS 'calibration trainings before the one on all rows; NULL: none, or not known yet';
COMMENT ON COLUMN perfmodel.training_status.epoch IS 'finished epochs of the training that is running; NULL before the first';
COMMENT ON COLUMN perfmodel.training_status.epochs IS 'largest number of epochs of that training; after the end: epochs that the last one made';
COMMENT ON COLUMN perfmodel.training_status.loss IS 'mean loss of the last reported epoch';
COMMENT ON COLUMN perfmodel.training_status.learning_rate IS 'learning rate at the end of that epoch';
COMMENT ON COLUMN perfmodel.training_status.valid_mape IS
    'mean absolute percentage error on held-out rows, as a fraction; after the end: of the predictor';
COMMENT ON COLUMN perfmodel.training_status.valid_mape_pct IS 'the same in percent';
COMMENT ON COLUMN perfmodel.training_status.threads IS 'threads that it may use';
COMMENT ON COLUMN perfmodel.training_status.seconds IS 'seconds since it was started; after the end: seconds of the training itself';
COMMENT ON COLUMN perfmodel.training_status.started_at IS 'when it was started';
COMMENT ON COLUMN perfmodel.training_status.heartbeat_at IS 'when its worker last wrote; NULL for a run in the foreground';
COMMENT ON COLUMN perfmodel.training_status.finished_at IS 'when it ended, successfully or not';
COMMENT ON COLUMN perfmodel.training_status.trained_by IS 'role that started it; members of this role may cancel it';
CREATE FUNCTION perfmodel.recalibrate(predictor text DEFAULT NULL, profiles bigint[] DEFAULT perfmodel.all_profiles(), name text DEFAULT NULL,
                                      OUT predictor_id bigint, OUT new_name text, OUT n_profiles integer,
                                      OUT n_trained_on integer, OUT n_networks integer,
                                      OUT mape_before_pct float8, OUT mape_after_pct float8,
                                      OUT mae_before_ms float8, OUT mae_after_ms float8, OUT seconds float8) RETURNS record
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000000 AS 'MODULE_PATHNAME', 'pm_recalibrate_sql';
COMMENT ON FUNCTION perfmodel.recalibrate(text, bigint[], text) IS
    'fits a predictor to new measurements by a few numbers for each device; stores it as a new predictor';

CREATE FUNCTION perfmodel.corrections(predictor text DEFAULT NULL,
                                      OUT gpu text, OUT dtype text, OUT layout text, OUT n_profiles integer,
                                      OUT n_networks integer, OUT factor float8, OUT at_ms float8, OUT exponent float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 10 AS 'MODULE_PATHNAME', 'pm_corrections';
COMMENT ON FUNCTION perfmodel.corrections(text) IS 'factors on whole steps that recalibrate fitted, for each device, number format and layout';

CREATE FUNCTION perfmodel.activate_predictor(name text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_activate_predictor';
COMMENT ON FUNCTION perfmodel.activate_predictor(text) IS 'makes a predictor the one that answers when a call names none; returns its predictor_id';

CREATE FUNCTION perfmodel.drop_predictor(name text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_drop_predictor';
COMMENT ON FUNCTION perfmodel.drop_predictor(text) IS 'deletes a predictor and its weights; returns the predictor_id that it had';
