-- Trained predictors. A training is a new row; a row never changes but for
-- its name and whether it is the active one.

CREATE TABLE perfmodel.predictor (
    predictor_id    bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT predictor_pkey PRIMARY KEY,
    name            text        NOT NULL CONSTRAINT predictor_name_key UNIQUE
                                CONSTRAINT predictor_name_not_empty CHECK (name <> ''),
    kind            text        NOT NULL,
    active          boolean     NOT NULL DEFAULT false,
    options         jsonb       NOT NULL,
    seed            bigint      NOT NULL,
    n_profiles      integer     NOT NULL,
    n_operators     integer     NOT NULL,
    profiles_hash   text        NOT NULL,
    profiles        bigint[]    NOT NULL,
    base_predictor_id bigint,
    recalibrated_on bigint[],
    gpus            text[]      NOT NULL,
    frameworks      text[]      NOT NULL,
    dtypes          text[]      NOT NULL,
    layouts         text[]      NOT NULL,
    valid_n         integer     NOT NULL,
    valid_mape      float8,
    valid_mae_ms    float8,
    valid_rmse_ms   float8,
    train_seconds   float8      NOT NULL,
    epochs          integer     NOT NULL,
    n_params        bigint      NOT NULL,
    trained_at      timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    library_version text        NOT NULL,
    quantity        text        NOT NULL DEFAULT 'step_ms',
    row_hashes      bigint[],
    -- the others are of extensions, whose weights would be joined with those of a row with the same number
    CONSTRAINT predictor_id_positive CHECK (predictor_id > 0) NO INHERIT
);
CREATE UNIQUE INDEX predictor_one_active ON perfmodel.predictor (quantity) WHERE active;

COMMENT ON TABLE perfmodel.predictor IS 'trained predictors and what they were trained on; only name and active can change';
COMMENT ON COLUMN perfmodel.predictor.predictor_id IS 'identifies the predictor, never used again; negative: it came with perfmodel_pretrained';
COMMENT ON COLUMN perfmodel.predictor.name IS 'unique name, as given to train';
COMMENT ON COLUMN perfmodel.predictor.kind IS 'kind of predictor; kinds() lists them';
COMMENT ON COLUMN perfmodel.predictor.active IS 'whether it answers when a call names no predictor; one for each quantity at most';
COMMENT ON COLUMN perfmodel.predictor.options IS 'all options of its training, defaults included';
COMMENT ON COLUMN perfmodel.predictor.seed IS 'seed of the random numbers; the same seed, rows and options give the same predictor';
COMMENT ON COLUMN perfmodel.predictor.n_profiles IS 'number of measurements it was trained on';
COMMENT ON COLUMN perfmodel.predictor.n_operators IS 'number of measured operators (op_profile) that it was trained on, too';
COMMENT ON COLUMN perfmodel.predictor.profiles_hash IS 'hash of the contents of all these measurements at the time of the training';
COMMENT ON COLUMN perfmodel.predictor.profiles IS 'profile_id of these measurements';
COMMENT ON COLUMN perfmodel.predictor.base_predictor_id IS
    'predictor that it was recalibrated or warm started from, perhaps dropped since; NULL: none';
COMMENT ON COLUMN perfmodel.predictor.recalibrated_on IS 'profile_id of the measurements that recalibrate used; NULL: not recalibrated';
COMMENT ON COLUMN perfmodel.predictor.gpus IS 'devices of the measurements that it was trained on';
COMMENT ON COLUMN perfmodel.predictor.frameworks IS 'frameworks of these measurements';
COMMENT ON COLUMN perfmodel.predictor.dtypes IS 'number formats of these measurements';
COMMENT ON COLUMN perfmodel.predictor.layouts IS 'memory layouts of these measurements';
COMMENT ON COLUMN perfmodel.predictor.valid_n IS 'measurements that it was judged on while they were held out of training';
COMMENT ON COLUMN perfmodel.predictor.valid_mape IS 'mean absolute percentage error on these, as a fraction (0.05 is 5 %); NULL when there are none';
COMMENT ON COLUMN perfmodel.predictor.valid_mae_ms IS 'mean absolute error on these, in ms';
COMMENT ON COLUMN perfmodel.predictor.valid_rmse_ms IS 'root mean square error on these, in ms';
COMMENT ON COLUMN perfmodel.predictor.train_seconds IS 'seconds that the training took';
COMMENT ON COLUMN perfmodel.predictor.epochs IS 'epochs of the training';
COMMENT ON COLUMN perfmodel.predictor.n_params IS 'number of trained parameters';
COMMENT ON COLUMN perfmodel.predictor.trained_at IS 'when the training ended';
COMMENT ON COLUMN perfmodel.predictor.library_version IS 'version of the library that trained it';
COMMENT ON COLUMN perfmodel.predictor.quantity IS 'what it predicts, with its unit: step_ms';
COMMENT ON COLUMN perfmodel.predictor.row_hashes IS 'row_hash() of the measurements that it was trained on, sorted; NULL: trained before 0.2.0';
COMMENT ON CONSTRAINT predictor_name_not_empty ON perfmodel.predictor IS 'a predictor has a name';
COMMENT ON CONSTRAINT predictor_id_positive ON perfmodel.predictor IS 'only predictors that come with an extension have negative numbers';
COMMENT ON INDEX perfmodel.predictor_one_active IS 'at most one predictor is active for each quantity';

CREATE TABLE perfmodel.predictor_weights (
    predictor_id bigint  NOT NULL CONSTRAINT predictor_weights_predictor_exists
                         REFERENCES perfmodel.predictor ON DELETE CASCADE,
    part         integer NOT NULL,
    data         bytea   NOT NULL,
    CONSTRAINT predictor_weights_pkey PRIMARY KEY (predictor_id, part)
);
-- Floats do not compress; do not try.
ALTER TABLE perfmodel.predictor_weights ALTER COLUMN data SET STORAGE EXTERNAL;

COMMENT ON TABLE perfmodel.predictor_weights IS 'weights of predictors, in parts of at most 64 MiB';
COMMENT ON COLUMN perfmodel.predictor_weights.predictor_id IS 'predictor that the part belongs to';
COMMENT ON COLUMN perfmodel.predictor_weights.part IS 'number of the part, from 0';
COMMENT ON COLUMN perfmodel.predictor_weights.data IS
    'bytes of the part: header, kind, options, weights, calibration and domain, checksum over all parts';

-- A training in the foreground writes its row at the end, in its caller's
-- transaction. One in the background has its row from the start, and its worker
-- writes into it about once a second; so half of each page is left for updates
-- in place.
CREATE TABLE perfmodel.training_run (
    run_id        bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT training_run_pkey PRIMARY KEY,
    predictor_id  bigint      CONSTRAINT training_run_predictor_exists
                              REFERENCES perfmodel.predictor ON DELETE SET NULL,
    predictor     text        NOT NULL,
    kind          text        NOT NULL,
    profiles      bigint[],
    options       jsonb       NOT NULL DEFAULT '{}',
    warm_start    text,
    background    boolean     NOT NULL DEFAULT false,
    status        text        NOT NULL CONSTRAINT training_run_status_known
                              CHECK (status IN ('running', 'finished', 'failed', 'cancelled')),
    phase         text        NOT NULL CONSTRAINT training_run_phase_known
                              CHECK (phase IN ('starting', 'reading', 'calibrating', 'training', 'storing', 'done')),
    n_profiles    integer,
    fold          integer,
    folds         integer,
    epoch         integer,
    epochs        integer,
    best_epoch    integer,
    loss          float8,
    learning_rate float8,
    train_mape    float8,
    valid_mape    float8,
    threads       integer,
    memory_bytes  bigint,
    seconds       float8,
    seconds_left  float8,
    started_at    timestamptz NOT NULL,
    heartbeat_at  timestamptz,
    finished_at   timestamptz,
    error_code    text,
    error_message text,
    error_detail  text,
    error_hint    text,
    trained_by    text        NOT NULL DEFAULT CURRENT_USER,
    CONSTRAINT training_run_ends CHECK ((status = 'running') = (finished_at IS NULL)),
    CONSTRAINT training_run_says_why CHECK ((status IN ('failed', 'cancelled')) = (error_code IS NOT NULL))
) WITH (fillfactor = 50);
CREATE INDEX training_run_predictor_id_idx ON perfmodel.training_run (predictor_id);

COMMENT ON TABLE perfmodel.training_run IS 'one row for each training; those in the foreground appear when they have succeeded; see training_status';
COMMENT ON COLUMN perfmodel.training_run.run_id IS 'identifies the run; returned by train_async';
COMMENT ON COLUMN perfmodel.training_run.predictor_id IS 'the predictor that it made; NULL before the end, and after that predictor was dropped';
COMMENT ON COLUMN perfmodel.training_run.predictor IS 'name of the predictor';
COMMENT ON COLUMN perfmodel.training_run.kind IS 'kind of predictor';
COMMENT ON COLUMN perfmodel.training_run.profiles IS 'profile_id of the measurements asked for; NULL: all training steps on one device';
COMMENT ON COLUMN perfmodel.training_run.options IS 'options as they were given; predictor.options has all';
COMMENT ON COLUMN perfmodel.training_run.warm_start IS 'name of the predictor that it started from, at that time; NULL: none';
COMMENT ON COLUMN perfmodel.training_run.background IS 'whether a background worker runs it (train_async)';
COMMENT ON COLUMN perfmodel.training_run.status IS 'running, finished, failed, cancelled; stays running if the worker was lost, see training_status';
COMMENT ON COLUMN perfmodel.training_run.phase IS 'starting, reading, calibrating (trainings on parts of the rows), training (on all), storing, done';
COMMENT ON COLUMN perfmodel.training_run.n_profiles IS 'number of measurements; NULL before they are read';
COMMENT ON COLUMN perfmodel.training_run.fold IS 'number of the calibration training that is running; else NULL';
COMMENT ON COLUMN perfmodel.training_run.folds IS 'calibration trainings before the one on all rows; NULL: none, or not known yet';
COMMENT ON COLUMN perfmodel.training_run.epoch IS 'finished epochs of the training that is running; NULL before the first';
COMMENT ON COLUMN perfmodel.training_run.epochs IS 'largest number of epochs of that training; after the end: epochs that the last one made';
COMMENT ON COLUMN perfmodel.training_run.best_epoch IS 'epoch whose weights were kept; NULL before the end';
COMMENT ON COLUMN perfmodel.training_run.loss IS 'mean loss of the last reported epoch';
COMMENT ON COLUMN perfmodel.training_run.learning_rate IS 'learning rate at the end of that epoch';
COMMENT ON COLUMN perfmodel.training_run.train_mape IS 'mean absolute percentage error on the rows trained on, as a fraction; NULL before the end';
COMMENT ON COLUMN perfmodel.training_run.valid_mape IS
    'mean absolute percentage error on held-out rows, as a fraction; after the end: of the predictor';
COMMENT ON COLUMN perfmodel.training_run.threads IS 'threads that it may use';
COMMENT ON COLUMN perfmodel.training_run.memory_bytes IS 'estimate of the memory that it takes, in bytes';
COMMENT ON COLUMN perfmodel.training_run.seconds IS 'seconds since it was started; after the end: seconds of the training itself';
COMMENT ON COLUMN perfmodel.training_run.seconds_left IS 'estimate of the seconds to the end of the whole run; NULL when there is none';
COMMENT ON COLUMN perfmodel.training_run.started_at IS 'when it was started';
COMMENT ON COLUMN perfmodel.training_run.heartbeat_at IS 'when its worker last wrote; NULL for a run in the foreground';
COMMENT ON COLUMN perfmodel.training_run.finished_at IS 'when it ended, successfully or not';
COMMENT ON COLUMN perfmodel.training_run.error_code IS 'SQLSTATE of the error that ended it';
COMMENT ON COLUMN perfmodel.training_run.error_message IS 'message of that error';
COMMENT ON COLUMN perfmodel.training_run.error_detail IS 'detail of that error';
COMMENT ON COLUMN perfmodel.training_run.error_hint IS 'hint of that error';
COMMENT ON COLUMN perfmodel.training_run.trained_by IS 'role that started it; members of this role may cancel it';
COMMENT ON INDEX perfmodel.training_run_predictor_id_idx IS 'runs of a predictor';
COMMENT ON CONSTRAINT training_run_ends ON perfmodel.training_run IS 'a run has finished_at exactly when it is no longer running';
COMMENT ON CONSTRAINT training_run_says_why ON perfmodel.training_run IS 'a run has an error code exactly when it failed or was cancelled';
