-- Predictions. They read with the caller's rights, write nothing, and work on
-- a hot standby. Not STRICT: a NULL framework or predictor has a meaning.
-- COST: a C function that does nothing takes about 0.1 us at COST 1; a new
-- batch of a graph that the session knows takes about 10 us (docs/serving.md).
-- The library finds the arguments of a question by their names, so a new one
-- stands last, whatever it is.

CREATE FUNCTION perfmodel.predict_train_time(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                             layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                             predictor text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum',
                                             on_error text DEFAULT 'error',
                                             world_size integer DEFAULT 1, nodes integer DEFAULT NULL, cluster text DEFAULT NULL,
                                             parallel jsonb DEFAULT NULL, mode text DEFAULT 'train') RETURNS float8
    LANGUAGE c STABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_predict_train_time';
COMMENT ON FUNCTION perfmodel.predict_train_time(bigint, text, integer, text, text, text, text, text, text, integer, integer, text, jsonb, text) IS
    'predicted milliseconds of one training step, or of a forward pass with mode => ''inference''';

CREATE FUNCTION perfmodel.predict(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                  layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                  predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                  optimizer text DEFAULT 'sgd_momentum', on_error text DEFAULT 'error',
                                  world_size integer DEFAULT 1, nodes integer DEFAULT NULL, cluster text DEFAULT NULL,
                                  parallel jsonb DEFAULT NULL, mode text DEFAULT 'train',
                                  OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                  OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text,
                                  OUT reasons text[])
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 110 AS 'MODULE_PATHNAME', 'pm_predict';
COMMENT ON FUNCTION perfmodel.predict(bigint, text, integer, text, text, text, text, float8, text, text, integer, integer, text, jsonb, text) IS
    'predicted step with its interval, samples per second, and whether the question is in the domain';

CREATE FUNCTION perfmodel.predict_many(graph_ids bigint[], gpus text[], batches integer[], dtype text DEFAULT 'fp32',
                                       layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                       predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                       optimizer text DEFAULT 'sgd_momentum', on_error text DEFAULT 'error',
                                       world_size integer DEFAULT 1, nodes integer DEFAULT NULL, cluster text DEFAULT NULL,
                                       parallel jsonb DEFAULT NULL, mode text DEFAULT 'train',
                                       OUT ordinality bigint, OUT graph_id bigint, OUT gpu text, OUT batch integer,
                                       OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                       OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text,
                                       OUT reasons text[])
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 11000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_predict_many';
COMMENT ON FUNCTION perfmodel.predict_many(bigint[], text[], integer[], text, text, text, text, float8, text, text, integer, integer, text, jsonb, text) IS
    'predict for many questions, given as arrays of graphs, devices and batches of the same length';

CREATE FUNCTION perfmodel.what_if(graph_id bigint, gpus text[], batches integer[], dtype text DEFAULT 'fp32',
                                  layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                  predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                  optimizer text DEFAULT 'sgd_momentum', on_error text DEFAULT 'error',
                                  world_size integer DEFAULT 1, nodes integer DEFAULT NULL, cluster text DEFAULT NULL,
                                  parallel jsonb DEFAULT NULL, provider text DEFAULT NULL, region text DEFAULT NULL,
                                  price_kind text DEFAULT NULL, at timestamptz DEFAULT pg_catalog.now(), mode text DEFAULT 'train',
                                  OUT gpu text, OUT batch integer,
                                  OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                  OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text,
                                  OUT reasons text[], OUT peak_mb float8, OUT fits boolean, OUT p_fits float8,
                                  OUT usd_per_hour float8, OUT usd_per_1000_samples float8, OUT cost_note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 2200 ROWS 20 AS 'MODULE_PATHNAME', 'pm_what_if';
COMMENT ON FUNCTION perfmodel.what_if(bigint, text[], integer[], text, text, text, text, float8, text, text, integer, integer, text, jsonb, text, text, text,
                                      timestamptz, text) IS
    'time, memory, cost of a graph on every device at every batch, up to 1000000 rows; gpus NULL: all it was trained on';

CREATE FUNCTION perfmodel.ask(question jsonb, predictor text DEFAULT NULL, level float8 DEFAULT 0.9, on_error text DEFAULT 'error',
                              OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                              OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text,
                              OUT reasons text[])
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 130 AS 'MODULE_PATHNAME', 'pm_ask_sql';
COMMENT ON FUNCTION perfmodel.ask(jsonb, text, float8, text) IS
    'predict for a question given as a jsonb object; see docs/reference.md for its members';

CREATE FUNCTION perfmodel.ask_many(questions jsonb[], predictor text DEFAULT NULL, level float8 DEFAULT 0.9, on_error text DEFAULT 'error',
                                   OUT ordinality bigint,
                                   OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                   OUT samples_per_s float8, OUT in_domain boolean, OUT predictor_id bigint, OUT note text,
                                   OUT reasons text[])
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 13000 ROWS 100 AS 'MODULE_PATHNAME', 'pm_ask_many';
COMMENT ON FUNCTION perfmodel.ask_many(jsonb[], text, float8, text) IS 'ask for each element of an array; one row for each, numbered from 1';

CREATE FUNCTION perfmodel.explain_train_time(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32',
                                             layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                             predictor text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum',
                                             per text DEFAULT 'group',
                                             world_size integer DEFAULT 1, nodes integer DEFAULT NULL, cluster text DEFAULT NULL,
                                             parallel jsonb DEFAULT NULL, mode text DEFAULT 'train',
                                             OUT node_id integer, OUT op text, OUT class text, OUT shape bigint[],
                                             OUT copies integer, OUT step_ms float8, OUT share float8, OUT bound text,
                                             OUT forward_ms float8, OUT backward_ms float8, OUT update_ms float8,
                                             OUT module text, OUT part text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 5000 ROWS 50 AS 'MODULE_PATHNAME', 'pm_explain_train_time';
COMMENT ON FUNCTION perfmodel.explain_train_time(bigint, text, integer, text, text, text, text, text, text, integer, integer, text, jsonb, text) IS
    'predicted time by group of identical operators; node_id NULL: the rest of the step';
