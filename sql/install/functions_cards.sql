-- What is known of each card, and what a step that was measured on one card
-- takes on another. docs/cards.md gives reasons.

CREATE FUNCTION perfmodel.known_gpus(predictor text DEFAULT NULL, OUT gpu text, OUT networks integer, OUT framework text,
                                     OUT inference_networks integer)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 20 AS 'MODULE_PATHNAME', 'pm_known_gpus';
COMMENT ON FUNCTION perfmodel.known_gpus(text) IS 'devices that a predictor (NULL: the active one) knows, how many networks it knows there, and their usual framework';

CREATE FUNCTION perfmodel.predict_from_step(graph_id bigint, measured_on text, measured_ms float8, gpu text, batch integer,
                                            dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                            optimizer text DEFAULT 'sgd_momentum', level float8 DEFAULT 0.9, predictor text DEFAULT NULL,
                                            OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8, OUT ratio float8,
                                            OUT weight float8, OUT in_domain boolean, OUT note text)
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 2000 AS 'MODULE_PATHNAME', 'pm_predict_from_step';
COMMENT ON FUNCTION perfmodel.predict_from_step(bigint, text, float8, text, integer, text, text, text, text, float8, text) IS
    'time on another device of a step that took measured_ms on one device, with its interval';

CREATE FUNCTION perfmodel.predict_from(profile_id bigint, gpu text, level float8 DEFAULT 0.9, predictor text DEFAULT NULL,
                                       OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8, OUT ratio float8,
                                       OUT measured_ms float8, OUT measured_on text, OUT in_domain boolean, OUT note text, OUT weight float8)
    RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE COST 3000 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    m record;
    f record;
BEGIN
    IF predict_from.profile_id IS NULL OR predict_from.gpu IS NULL OR predict_from.level IS NULL THEN
        RETURN;
    ELSIF predict_from.level > 1 THEN
        RAISE EXCEPTION 'level must be between 0.5 and 0.999, not %', predict_from.level USING ERRCODE = 'invalid_parameter_value',
            HINT = 'The batch is no argument of predict_from: it is that of the measurement.';
    END IF;
    SELECT p.* INTO m FROM perfmodel.profile AS p WHERE p.profile_id = predict_from.profile_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'there is no profile %', predict_from.profile_id
            USING ERRCODE = 'no_data_found', HINT = 'SELECT profile_id FROM perfmodel.profile lists the measurements.';
    END IF;
    IF m.mode <> 'train' OR m.world_size <> 1 THEN
        RAISE EXCEPTION 'profile % is not of a training step on one device', predict_from.profile_id
            USING ERRCODE = 'feature_not_supported', DETAIL = format('Its mode is %s and its world_size %s.', m.mode, m.world_size);
    END IF;
    SELECT s.* INTO f FROM perfmodel.predict_from_step(m.graph_id, m.gpu, m.step_ms, predict_from.gpu, m.batch, m.dtype, m.layout, m.framework,
                                                       m.optimizer, predict_from.level, predict_from.predictor) AS s;
    step_ms := f.step_ms;
    step_ms_low := f.step_ms_low;
    step_ms_high := f.step_ms_high;
    ratio := f.ratio;
    measured_ms := m.step_ms;
    measured_on := m.gpu;
    in_domain := f.in_domain;
    note := f.note;
    weight := f.weight;
END $$;
COMMENT ON FUNCTION perfmodel.predict_from(bigint, text, float8, text) IS
    'time of a measured step of perfmodel.profile on another device, with its interval';

CREATE VIEW perfmodel.gpu_support AS
SELECT g.name AS gpu, coalesce(k.networks, 0) AS networks,
       CASE WHEN k.networks >= 20 THEN 'many networks' WHEN k.networks >= 5 THEN 'networks' WHEN k.networks >= 1 THEN 'few networks'
            WHEN k.inference_networks >= 5 THEN 'forward passes' WHEN k.networks = 0 THEN 'single operators' ELSE 'data sheet only' END AS known_from,
       k.framework, coalesce(k.inference_networks, 0) AS inference_networks
FROM perfmodel.gpu AS g LEFT JOIN perfmodel.known_gpus() AS k ON k.gpu = g.name;
COMMENT ON VIEW perfmodel.gpu_support IS 'from what the active predictor knows each device: networks, forward passes, single operators, data sheet';
COMMENT ON COLUMN perfmodel.gpu_support.gpu IS 'device of perfmodel.gpu';
COMMENT ON COLUMN perfmodel.gpu_support.networks IS 'different networks measured on it that the predictor has learned from';
COMMENT ON COLUMN perfmodel.gpu_support.known_from IS 'many networks (20 and more), networks (5 and more), few networks, forward passes, single operators, data sheet only';
COMMENT ON COLUMN perfmodel.gpu_support.inference_networks IS 'different networks of which the predictor has learned forward passes of inference on it';
COMMENT ON COLUMN perfmodel.gpu_support.framework IS 'release that most of its rows name; a question without one may be answered for another, see docs/cards.md';
