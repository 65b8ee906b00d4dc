-- What is known of each card, and what a step that was measured on one card
-- takes on another. docs/cards.md gives reasons.

CREATE FUNCTION perfmodel.known_gpus(predictor text DEFAULT NULL, OUT gpu text, OUT networks integer) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 20 AS 'MODULE_PATHNAME', 'pm_known_gpus';
COMMENT ON FUNCTION perfmodel.known_gpus(text) IS 'devices that a predictor (NULL: the active one) was trained on, with the number of networks of each';

CREATE FUNCTION perfmodel.predict_from(profile_id bigint, gpu text, level float8 DEFAULT 0.9, predictor text DEFAULT NULL,
                                       OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8, OUT ratio float8,
                                       OUT measured_ms float8, OUT measured_on text, OUT in_domain boolean, OUT note text)
    RETURNS record
    LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1000 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    m record;
    here record;
    there record;
BEGIN
    IF predict_from.profile_id IS NULL OR predict_from.gpu IS NULL OR predict_from.level IS NULL THEN
        RETURN;
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
    SELECT p.* INTO here FROM perfmodel.predict(m.graph_id, m.gpu, m.batch, m.dtype, m.layout, m.framework, predict_from.predictor,
                                                predict_from.level, m.optimizer) AS p;
    SELECT p.* INTO there FROM perfmodel.predict(m.graph_id, predict_from.gpu, m.batch, m.dtype, m.layout, m.framework, predict_from.predictor,
                                                 predict_from.level, m.optimizer) AS p;
    measured_ms := m.step_ms;
    measured_on := m.gpu;
    ratio := there.step_ms / here.step_ms;
    step_ms := m.step_ms * ratio;
    step_ms_low := step_ms * (there.step_ms_low / there.step_ms);
    step_ms_high := step_ms * (there.step_ms_high / there.step_ms);
    in_domain := there.in_domain;
    note := there.note;
END $$;
COMMENT ON FUNCTION perfmodel.predict_from(bigint, text, float8, text) IS
    'what a measured step takes on another device: measured ms times predicted there over predicted here';

CREATE VIEW perfmodel.gpu_support AS
SELECT g.name AS gpu, coalesce(k.networks, 0) AS networks,
       CASE WHEN k.networks >= 20 THEN 'many networks' WHEN k.networks >= 5 THEN 'networks' WHEN k.networks >= 1 THEN 'few networks'
            ELSE 'data sheet only' END AS known_from
FROM perfmodel.gpu AS g LEFT JOIN perfmodel.known_gpus() AS k ON k.gpu = g.name;
COMMENT ON VIEW perfmodel.gpu_support IS 'what the active predictor knows each device from';
COMMENT ON COLUMN perfmodel.gpu_support.gpu IS 'device of perfmodel.gpu';
COMMENT ON COLUMN perfmodel.gpu_support.networks IS 'different networks measured on it that the predictor has learned from';
COMMENT ON COLUMN perfmodel.gpu_support.known_from IS 'many networks (20 and more), networks (5 and more), few networks, or data sheet only';
