-- How many samples trainings needed to reach their targets.
-- The table is new in 0.2.0, so that an update makes it from this file.

CREATE TABLE perfmodel.convergence (
    convergence_id    bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT convergence_pkey PRIMARY KEY,
    graph_id          bigint      NOT NULL CONSTRAINT convergence_graph_loaded REFERENCES perfmodel.graph,
    dataset           text        NOT NULL DEFAULT '',
    target            text        NOT NULL DEFAULT '',
    optimizer         text,
    batch             integer     NOT NULL CONSTRAINT convergence_batch_positive CHECK (batch > 0),
    reached           boolean,
    samples_to_target float8      CONSTRAINT convergence_samples_to_target_in_range CHECK (samples_to_target BETWEEN 1 AND 1e18),
    grad_sqr          float8      CONSTRAINT convergence_grad_sqr_in_range CHECK (grad_sqr = 0 OR grad_sqr BETWEEN 1e-100 AND 1e100),
    grad_var          float8      CONSTRAINT convergence_grad_var_in_range CHECK (grad_var = 0 OR grad_var BETWEEN 1e-100 AND 1e100),
    reported_at       timestamptz NOT NULL DEFAULT now(),
    source            text,
    CONSTRAINT convergence_reached_after_samples CHECK (NOT coalesce(reached, false) OR samples_to_target IS NOT NULL)
);
CREATE INDEX convergence_graph_id_idx ON perfmodel.convergence (graph_id);
COMMENT ON TABLE perfmodel.convergence IS 'reports of trainings: samples that they needed to a target, and noise of gradients';
COMMENT ON COLUMN perfmodel.convergence.convergence_id IS 'identifies the report';
COMMENT ON COLUMN perfmodel.convergence.graph_id IS 'network that was trained';
COMMENT ON COLUMN perfmodel.convergence.dataset IS 'data set that it was trained on';
COMMENT ON COLUMN perfmodel.convergence.target IS 'target of the training, such as top-1 0.75';
COMMENT ON COLUMN perfmodel.convergence.optimizer IS 'optimizer and its settings, for the reader';
COMMENT ON COLUMN perfmodel.convergence.batch IS 'samples of a step on all devices together';
COMMENT ON COLUMN perfmodel.convergence.reached IS 'whether the target was reached; NULL: the training is still running';
COMMENT ON COLUMN perfmodel.convergence.samples_to_target IS 'samples until it was reached, or until the training stopped';
COMMENT ON COLUMN perfmodel.convergence.grad_sqr IS 'square of the length of the true gradient, estimated';
COMMENT ON COLUMN perfmodel.convergence.grad_var IS 'variance of the gradient of one sample, summed over the parameters, estimated';
COMMENT ON COLUMN perfmodel.convergence.reported_at IS 'when it was reported';
COMMENT ON COLUMN perfmodel.convergence.source IS 'who or what reported it';
COMMENT ON INDEX perfmodel.convergence_graph_id_idx IS 'trainings by network';
CREATE TRIGGER convergence_check_numbers BEFORE INSERT OR UPDATE ON perfmodel.convergence
    FOR EACH ROW EXECUTE FUNCTION perfmodel.check_numbers('convergence');
COMMENT ON TRIGGER convergence_check_numbers ON perfmodel.convergence IS 'explains which number is impossible';
SELECT pg_catalog.pg_extension_config_dump('perfmodel.convergence', '');
SELECT pg_catalog.pg_extension_config_dump('perfmodel.convergence_convergence_id_seq', '');
