-- Training and what is kept of it.

CREATE FUNCTION perfmodel.train(name text, kind text DEFAULT 'mdot', profiles bigint[] DEFAULT NULL,
                                options jsonb DEFAULT '{}', warm_start text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000000 AS 'MODULE_PATHNAME', 'pm_train_sql';
COMMENT ON FUNCTION perfmodel.train(text, text, bigint[], jsonb, text) IS
    'trains a predictor of the given kind on the given measurements (NULL: all of training steps on one device) and returns its predictor_id; kinds() lists kinds and options; the first predictor becomes the active one; warm_start: name of a predictor of kind mdot whose network the training goes on from, in fewer epochs';

CREATE FUNCTION perfmodel.estimate_training(kind text DEFAULT 'mdot', profiles bigint[] DEFAULT NULL,
                                            options jsonb DEFAULT '{}',
                                            OUT n_profiles integer, OUT n_graphs integer, OUT threads integer,
                                            OUT memory_bytes bigint, OUT memory_limit_bytes bigint) RETURNS record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 1000000 AS 'MODULE_PATHNAME', 'pm_estimate_training';
COMMENT ON FUNCTION perfmodel.estimate_training(text, bigint[], jsonb) IS
    'what train with the same arguments would take: rows, threads, memory, and the limit it is held against (perfmodel.train_mem)';

CREATE FUNCTION perfmodel.train_async(name text, kind text DEFAULT 'mdot', profiles bigint[] DEFAULT NULL,
                                      options jsonb DEFAULT '{}', warm_start text DEFAULT NULL) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 AS 'MODULE_PATHNAME', 'pm_train_async';
COMMENT ON FUNCTION perfmodel.train_async(text, text, bigint[], jsonb, text) IS
    'as train, but returns a run_id at once and trains in a background worker, which begins when the transaction of this call is committed and sees what is committed then; training_status shows how far it is, cancel_training ends it';

CREATE FUNCTION perfmodel.cancel_training(run_id bigint) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE STRICT COST 10000 AS 'MODULE_PATHNAME', 'pm_cancel_training';
COMMENT ON FUNCTION perfmodel.cancel_training(bigint) IS
    'tells the worker of a training to stop, which it does soon, storing nothing; returns whether there was a worker to tell; allowed to members of the role that started the training and of pg_signal_backend';

CREATE FUNCTION perfmodel.training_lost(run_id bigint) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE STRICT COST 1000 AS 'MODULE_PATHNAME', 'pm_training_lost';
COMMENT ON FUNCTION perfmodel.training_lost(bigint) IS
    'whether a run of training_run says that it is running and has no worker (any more): the server crashed or was restarted, or the worker was terminated; NULL on a standby, where that is not known';

-- The state of a run whose worker was lost is worked out, not written, so that
-- every reader sees it, on a standby too.
CREATE VIEW perfmodel.training_status AS
SELECT r.run_id, r.predictor_id, r.predictor, r.kind, r.background,
       CASE WHEN r.status <> 'running' THEN r.status
            WHEN l.lost THEN 'failed'
            WHEN l.lost IS NULL THEN 'running on the primary'
            ELSE r.status END AS status,
       r.phase, r.n_profiles, r.fold, r.folds, r.epoch, r.epochs, r.loss, r.learning_rate, r.valid_mape, r.threads, r.seconds,
       CASE WHEN l.lost IS NOT TRUE THEN r.seconds_left END AS seconds_left,
       r.started_at, r.heartbeat_at, r.finished_at,
       CASE WHEN l.lost THEN 'its background worker is gone: the server crashed or was restarted, or the worker was terminated'
            ELSE r.error_message || COALESCE(pg_catalog.chr(10) || r.error_detail, '')
                                 || COALESCE(pg_catalog.chr(10) || r.error_hint, '') END AS message,
       r.trained_by
FROM perfmodel.training_run r,
     LATERAL (SELECT CASE WHEN r.status = 'running' THEN perfmodel.training_lost(r.run_id) ELSE false END AS lost) l;
COMMENT ON VIEW perfmodel.training_status IS 'trainings, and how far those are that run in the background';
COMMENT ON COLUMN perfmodel.training_status.status IS 'running, finished, failed (also when its worker was lost), cancelled; on a standby: running on the primary';
COMMENT ON COLUMN perfmodel.training_status.seconds_left IS 'estimate of the seconds that are left while it is running';
COMMENT ON COLUMN perfmodel.training_status.message IS 'why it failed or was cancelled: message, detail and hint of the error';
COMMENT ON COLUMN perfmodel.training_status.run_id IS 'identifies the run; returned by train_async';
COMMENT ON COLUMN perfmodel.training_status.predictor_id IS 'predictor that came of it; NULL before the end, and once that is dropped';
COMMENT ON COLUMN perfmodel.training_status.predictor IS 'name the predictor was given';
COMMENT ON COLUMN perfmodel.training_status.kind IS 'kind of predictor';
COMMENT ON COLUMN perfmodel.training_status.background IS 'whether a background worker runs it (train_async)';
COMMENT ON COLUMN perfmodel.training_status.phase IS 'how far it has got: starting, reading, calibrating, training, storing, done';
COMMENT ON COLUMN perfmodel.training_status.n_profiles IS 'number of measurements; NULL before they are read';
COMMENT ON COLUMN perfmodel.training_status.fold IS 'while calibrating: which of the trainings for that it is at; else NULL';
COMMENT ON COLUMN perfmodel.training_status.folds IS 'trainings that calibrate intervals, before the one on all rows; NULL: none, or not known';
COMMENT ON COLUMN perfmodel.training_status.epoch IS 'passes over the measurements made so far, of the training it is at; NULL before the first';
COMMENT ON COLUMN perfmodel.training_status.epochs IS 'passes that this training will make at most; once finished: that the last one made';
COMMENT ON COLUMN perfmodel.training_status.loss IS 'mean loss of the last pass that was reported';
COMMENT ON COLUMN perfmodel.training_status.learning_rate IS 'learning rate at the end of that pass';
COMMENT ON COLUMN perfmodel.training_status.valid_mape IS 'mean absolute percentage error on the rows held out, as a fraction: of the last pass reported, once finished of the predictor';
COMMENT ON COLUMN perfmodel.training_status.threads IS 'threads that it is allowed';
COMMENT ON COLUMN perfmodel.training_status.seconds IS 'seconds that it has taken so far; once finished: that the training itself took';
COMMENT ON COLUMN perfmodel.training_status.started_at IS 'when it was started';
COMMENT ON COLUMN perfmodel.training_status.heartbeat_at IS 'when its worker last wrote; NULL for one in the foreground';
COMMENT ON COLUMN perfmodel.training_status.finished_at IS 'when it ended, however that was';
COMMENT ON COLUMN perfmodel.training_status.trained_by IS 'role that ran it; its members may cancel it';
CREATE FUNCTION perfmodel.recalibrate(predictor text DEFAULT NULL, profiles bigint[] DEFAULT NULL, name text DEFAULT NULL,
                                      OUT predictor_id bigint, OUT new_name text, OUT n_profiles integer,
                                      OUT n_trained_on integer, OUT n_networks integer,
                                      OUT mape_before_pct float8, OUT mape_after_pct float8,
                                      OUT mae_before_ms float8, OUT mae_after_ms float8, OUT seconds float8) RETURNS record
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 10000000 AS 'MODULE_PATHNAME', 'pm_recalibrate_sql';
COMMENT ON FUNCTION perfmodel.recalibrate(text, bigint[], text) IS
    'fits a predictor (NULL: the active one) to measurements (NULL: all that it was not trained on) by a few numbers per device, without training it again, and stores the result as a new predictor, which is not active; the errors are on these measurements, after: each predicted by numbers fitted without its network, NULL when there is only one network; n_trained_on of the measurements were trained on, and flatter';

CREATE FUNCTION perfmodel.corrections(predictor text DEFAULT NULL,
                                      OUT gpu text, OUT dtype text, OUT layout text, OUT n_profiles integer,
                                      OUT n_networks integer, OUT factor float8, OUT at_ms float8, OUT exponent float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 10 AS 'MODULE_PATHNAME', 'pm_corrections';
COMMENT ON FUNCTION perfmodel.corrections(text) IS
    'what recalibrate fitted: on this device and in this format and layout a prediction of at_ms is multiplied by factor, and one of r times that by factor times r to the power of (exponent - 1); n_networks are those measured on the device; no rows when the predictor was not recalibrated';

CREATE FUNCTION perfmodel.activate_predictor(name text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_activate_predictor';
COMMENT ON FUNCTION perfmodel.activate_predictor(text) IS
    'makes this predictor the one that answers when none is named; returns its predictor_id';

CREATE FUNCTION perfmodel.drop_predictor(name text) RETURNS bigint
    LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_drop_predictor';
COMMENT ON FUNCTION perfmodel.drop_predictor(text) IS 'deletes a predictor and its weights; returns the id it had';
