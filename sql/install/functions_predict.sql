-- Predictions. They read with the caller's rights, write nothing, and work on
-- a hot standby. Not STRICT: a NULL framework or predictor has a meaning.
-- COST: a C function that does nothing takes about 0.1 us at COST 1; a new
-- batch of a graph that the session knows takes about 10 us (docs/serving.md).
-- The library finds the arguments of a question by their names, so a new one
-- stands last, whatever it is.

CREATE FUNCTION perfmodel.predict_train_time(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                             layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                             predictor text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum',
                                             on_error text DEFAULT 'error') RETURNS float8
    LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_predict_train_time';
COMMENT ON FUNCTION perfmodel.predict_train_time(bigint, text, integer, text, text, text, text, text, text) IS
    'predicted milliseconds of one training step. dtype: fp32, tf32, amp, bf16, fp16; layout: nchw, nhwc; optimizer: sgd, sgd_momentum, adam, adamw, none (no update); framework NULL: the one that the predictor has seen most (kind opclass: all of them together); predictor NULL: the active one; NULL when another argument is. on_error ''null'': NULL instead of an error for a graph, gpu, batch or word that is not known';

CREATE FUNCTION perfmodel.predict(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                  layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                  predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                  optimizer text DEFAULT 'sgd_momentum', on_error text DEFAULT 'error',
                                  OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                  OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text,
                                  OUT reasons text[])
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 110 AS 'MODULE_PATHNAME', 'pm_predict';
COMMENT ON FUNCTION perfmodel.predict(bigint, text, integer, text, text, text, text, float8, text, text) IS
    'the prediction of predict_train_time with an interval in ms that holds the measured step with probability level (0.5 to 0.999) for networks like those in training, samples per second, and whether the question is like what the predictor was trained on; note says why not, and reasons has a code for each cause (docs/trust.md lists them). Interval NULL: not calibrated; in_domain NULL: not known; everything NULL when an argument other than framework and predictor is. on_error ''null'': what would be an error is a row without a prediction, with the message in note and its code in reasons';

CREATE FUNCTION perfmodel.predict_many(graph_ids bigint[], gpus text[], batches integer[], dtype text DEFAULT 'fp32',
                                       layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                       predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                       optimizer text DEFAULT 'sgd_momentum', on_error text DEFAULT 'error',
                                       OUT ordinality bigint, OUT graph_id bigint, OUT gpu text, OUT batch integer,
                                       OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                       OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text,
                                       OUT reasons text[])
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 11000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_predict_many';
COMMENT ON FUNCTION perfmodel.predict_many(bigint[], text[], integer[], text, text, text, text, float8, text, text) IS
    'predict for many questions: question i is made of element i of three arrays of the same length, and all have the same dtype, layout, framework and optimizer; one row for each, numbered from 1, with the question and the columns of predict, which are NULL where an element is; no rows when an argument other than framework and predictor is NULL. Questions that differ in more: ask_many';

CREATE FUNCTION perfmodel.what_if(graph_id bigint, gpus text[], batches integer[], dtype text DEFAULT 'fp32',
                                  layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                  predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                  optimizer text DEFAULT 'sgd_momentum', on_error text DEFAULT 'error',
                                  OUT gpu text, OUT batch integer,
                                  OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                  OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text,
                                  OUT reasons text[])
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 2200 ROWS 20 AS 'MODULE_PATHNAME', 'pm_what_if';
COMMENT ON FUNCTION perfmodel.what_if(bigint, text[], integer[], text, text, text, text, float8, text, text) IS
    'predict for one graph on every device at every batch, devices and batches in the order given; gpus NULL: those that the predictor was trained on and that perfmodel.gpu still has; columns of predict are NULL where gpu or batch is; no rows when another argument than gpus, framework and predictor is NULL';

CREATE FUNCTION perfmodel.ask(question jsonb, predictor text DEFAULT NULL, level float8 DEFAULT 0.9, on_error text DEFAULT 'error',
                              OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                              OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text,
                              OUT reasons text[])
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 130 AS 'MODULE_PATHNAME', 'pm_ask_sql';
COMMENT ON FUNCTION perfmodel.ask(jsonb, text, float8, text) IS
    'predict for a question that is an object: graph (a name) or graph_id, gpu, batch, and where they are not as usual dtype, layout, framework, optimizer. A question that grows has more members, and this function stays as it is. NULL when graph, gpu or batch is missing, or a member other than framework is null; a member that is not known is an error';

CREATE FUNCTION perfmodel.ask_many(questions jsonb[], predictor text DEFAULT NULL, level float8 DEFAULT 0.9, on_error text DEFAULT 'error',
                                   OUT ordinality bigint,
                                   OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                   OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text,
                                   OUT reasons text[])
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 13000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_ask_many';
COMMENT ON FUNCTION perfmodel.ask_many(jsonb[], text, float8, text) IS
    'ask for each element of an array, one row for each, numbered from 1; an element that is NULL, or has no answer because something in it is, has a row of NULLs';

CREATE FUNCTION perfmodel.explain_train_time(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                             layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                             predictor text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum',
                                             OUT node_id integer, OUT op text, OUT class text, OUT shape bigint[],
                                             OUT copies integer, OUT step_ms float8, OUT share float8, OUT bound text,
                                             OUT forward_ms float8, OUT backward_ms float8, OUT update_ms float8)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 5000 ROWS 50 AS 'MODULE_PATHNAME', 'pm_explain_train_time';
COMMENT ON FUNCTION perfmodel.explain_train_time(bigint, text, integer, text, text, text, text, text) IS
    'where the predicted time goes: one row per group of identical operators (node_id is one of them, copies their number) and one for the rest of the step (node_id NULL); step_ms sums to the prediction; its forward, backward and update part are NULL where the kind of predictor does not tell them apart';
