-- Predictions. They read with the caller's rights, write nothing, and work on
-- a hot standby. Not STRICT: a NULL framework or predictor has a meaning.
-- COST: a C function that does nothing takes about 0.1 us at COST 1; a new
-- batch of a graph that the session knows takes about 10 us (docs/serving.md).

CREATE FUNCTION perfmodel.predict_train_time(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                             layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                             predictor text DEFAULT NULL) RETURNS float8
    LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_predict_train_time';
COMMENT ON FUNCTION perfmodel.predict_train_time(bigint, text, integer, text, text, text, text) IS
    'predicted milliseconds of one training step; predictor NULL: the active one; framework NULL: the one that the predictor has seen most (kind opclass: all of them together); NULL when any other argument is';

CREATE FUNCTION perfmodel.predict(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                  layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                  predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                  OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                  OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text)
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 110 AS 'MODULE_PATHNAME', 'pm_predict';
COMMENT ON FUNCTION perfmodel.predict(bigint, text, integer, text, text, text, text, float8) IS
    'the prediction of predict_train_time with an interval in ms that holds the measured step with probability level (0.5 to 0.999) for networks like those in training, samples per second, and whether the question is like what the predictor was trained on; note says why not; interval NULL: not calibrated; in_domain NULL: not known; NULL when an argument other than framework and predictor is';

CREATE FUNCTION perfmodel.predict_many(graph_ids bigint[], gpus text[], batches integer[], dtype text DEFAULT 'fp32',
                                       layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                       predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                       OUT ordinality bigint, OUT graph_id bigint, OUT gpu text, OUT batch integer,
                                       OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                       OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 11000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_predict_many';
COMMENT ON FUNCTION perfmodel.predict_many(bigint[], text[], integer[], text, text, text, text, float8) IS
    'predict for many questions: question i is made of element i of three arrays of the same length; one row for each, numbered from 1, with the question and the columns of predict, which are NULL where an element is; no rows when an argument other than framework and predictor is NULL';

CREATE FUNCTION perfmodel.what_if(graph_id bigint, gpus text[], batches integer[], dtype text DEFAULT 'fp32',
                                  layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                  predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                  OUT gpu text, OUT batch integer,
                                  OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                  OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 2200 ROWS 20 AS 'MODULE_PATHNAME', 'pm_what_if';
COMMENT ON FUNCTION perfmodel.what_if(bigint, text[], integer[], text, text, text, text, float8) IS
    'predict for one graph on every device at every batch, devices and batches in the order given; gpus NULL: those that the predictor was trained on and that perfmodel.gpu still has; columns of predict are NULL where gpu or batch is; no rows when another argument than gpus, framework and predictor is NULL';

CREATE FUNCTION perfmodel.explain_train_time(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                             layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                             predictor text DEFAULT NULL,
                                             OUT node_id integer, OUT op text, OUT class text, OUT shape bigint[],
                                             OUT copies integer, OUT step_ms float8, OUT share float8, OUT bound text,
                                             OUT forward_ms float8, OUT backward_ms float8, OUT update_ms float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 5000 ROWS 50 AS 'MODULE_PATHNAME', 'pm_explain_train_time';
COMMENT ON FUNCTION perfmodel.explain_train_time(bigint, text, integer, text, text, text, text) IS
    'where the predicted time goes: one row per group of identical operators (node_id is one of them, copies their number) and one for the rest of the step (node_id NULL); step_ms sums to the prediction; its forward, backward and update part are NULL where the kind of predictor does not tell them apart';
