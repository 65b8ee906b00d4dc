-- Which measurements a predictor has learned from, also where it was trained in
-- another database: predictors keep a hash of each of their rows.

CREATE FUNCTION perfmodel.row_hash(structure text, gpu text, batch integer, dtype text, layout text, framework text, optimizer text, step_ms float8,
                                   mode text DEFAULT 'train')
    RETURNS bigint
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_row_hash_sql';
COMMENT ON FUNCTION perfmodel.row_hash(text, text, integer, text, text, text, text, float8, text) IS
    'hash of a measurement, the same in every database; NULL if an argument other than framework is NULL';

-- with_corrections: those that a recalibration used, too
CREATE FUNCTION perfmodel.learned_profiles(predictor_id bigint, with_corrections boolean) RETURNS SETOF bigint
    LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 1000 SET jit = off
BEGIN ATOMIC
    WITH RECURSIVE chain AS (
        SELECT c.predictor_id, c.base_predictor_id, c.profiles, c.recalibrated_on, c.row_hashes
        FROM perfmodel.predictor AS c WHERE c.predictor_id = learned_profiles.predictor_id
        UNION SELECT b.predictor_id, b.base_predictor_id, b.profiles, b.recalibrated_on, b.row_hashes
        FROM chain JOIN perfmodel.predictor AS b ON b.predictor_id = chain.base_predictor_id
    ), listed AS (
        SELECT unnest(chain.profiles || CASE WHEN with_corrections THEN chain.recalibrated_on END) AS profile_id FROM chain
    ), hashed AS (
        SELECT unnest(chain.row_hashes) AS hash FROM chain
    )
    SELECT p.profile_id FROM perfmodel.profile AS p JOIN perfmodel.graph AS g ON g.graph_id = p.graph_id
    WHERE p.world_size = 1
      AND (p.profile_id IN (SELECT l.profile_id FROM listed AS l)
           OR perfmodel.row_hash(g.structure, p.gpu, p.batch, p.dtype, p.layout, p.framework, CASE p.mode WHEN 'train' THEN p.optimizer ELSE 'sgd_momentum' END, p.step_ms, p.mode)
              IN (SELECT h.hash FROM hashed AS h));
END;
COMMENT ON FUNCTION perfmodel.learned_profiles(bigint, boolean) IS
    'profile_id of measurements that a predictor learned from, by number or content; true: also by recalibration';

CREATE FUNCTION perfmodel.trained_profiles(predictor text DEFAULT NULL) RETURNS SETOF bigint
    LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 1000 SET jit = off
BEGIN ATOMIC
    SELECT l.profile_id
    FROM perfmodel.predictor AS p, LATERAL perfmodel.learned_profiles(p.predictor_id, true) AS l(profile_id)
    WHERE CASE WHEN trained_profiles.predictor IS NULL THEN p.active AND p.quantity = 'step_ms' ELSE p.name = trained_profiles.predictor END
    -- raises where there is no such predictor
    AND (SELECT count(*) FROM perfmodel.corrections(trained_profiles.predictor)) IS NOT NULL;
END;
COMMENT ON FUNCTION perfmodel.trained_profiles(text) IS
    'profile_id of measurements in this database that a predictor (NULL: the active one) learned from';

CREATE FUNCTION perfmodel.unseen_profiles(predictor text DEFAULT NULL) RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE COST 10000 SET jit = off
BEGIN ATOMIC
    SELECT coalesce(array_agg(p.profile_id ORDER BY p.profile_id), '{}') FROM perfmodel.profile AS p
    WHERE p.mode = 'train' AND p.world_size = 1 AND p.profile_id NOT IN (SELECT t.profile_id FROM perfmodel.trained_profiles(unseen_profiles.predictor) AS t(profile_id));
END;
COMMENT ON FUNCTION perfmodel.unseen_profiles(text) IS
    'training steps on one device that a predictor (NULL: the active one) did not learn from, for evaluate()';
