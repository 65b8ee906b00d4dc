-- Which steps to measure on a card that is little known. docs/cards.md gives reasons.

CREATE FUNCTION perfmodel.step_sensitivity(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw',
                                           framework text DEFAULT NULL, predictor text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum',
                                           OUT step_ms float8, OUT elements text[], OUT sensitivity float8[]) RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'pm_step_sensitivity';
COMMENT ON FUNCTION perfmodel.step_sensitivity(bigint, text, integer, text, text, text, text, text) IS
    'by how much ln(step) grows with the logarithm of each factor that recalibrate can fit to a card';

CREATE FUNCTION perfmodel.choose_probes(sensitivities float8[], steps_ms float8[], networks bigint[], measured boolean[],
                                        known integer DEFAULT 0, n integer DEFAULT 5,
                                        OUT step integer, OUT doubt_before_pct float8, OUT doubt_after_pct float8) RETURNS SETOF record
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100000 ROWS 5 AS 'MODULE_PATHNAME', 'pm_choose_probes_sql';
COMMENT ON FUNCTION perfmodel.choose_probes(float8[], float8[], bigint[], boolean[], integer, integer) IS
    'which steps, by their place in the arrays, tell most about a card, given what step_sensitivity says of each';

CREATE FUNCTION perfmodel.card_factors(predictor text DEFAULT NULL, OUT gpu text, OUT element text, OUT factor float8) RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL SAFE COST 10000 ROWS 30 AS 'MODULE_PATHNAME', 'pm_card_factors_sql';
COMMENT ON FUNCTION perfmodel.card_factors(text) IS
    'factors on the parts of a step that recalibrate fitted to each device, by class and shape of operators';

CREATE FUNCTION perfmodel.all_graphs() RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT pg_catalog.array_agg(g.graph_id ORDER BY g.graph_id) FROM perfmodel.graph AS g';
COMMENT ON FUNCTION perfmodel.all_graphs() IS 'ids of all graphs; NULL when there are none';

CREATE FUNCTION perfmodel.suggest_probes(gpu text, n integer DEFAULT 5, batches integer[] DEFAULT '{8,32,128}', dtype text DEFAULT 'fp32',
                                         layout text DEFAULT 'nchw', framework text DEFAULT NULL, predictor text DEFAULT NULL,
                                         graphs bigint[] DEFAULT perfmodel.all_graphs(),
                                         OUT rank integer, OUT graph_id bigint, OUT graph text, OUT batch integer, OUT step_ms float8,
                                         OUT doubt_before_pct float8, OUT doubt_after_pct float8) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE COST 1000000 ROWS 5 SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    card text;
    known integer;
BEGIN
    IF suggest_probes.gpu IS NULL OR suggest_probes.n IS NULL OR suggest_probes.batches IS NULL OR suggest_probes.graphs IS NULL THEN
        RETURN;
    END IF;
    card := perfmodel.gpu_name(suggest_probes.gpu);
    known := coalesce((SELECT k.networks FROM perfmodel.known_gpus(suggest_probes.predictor) AS k WHERE k.gpu = card), 0);
    RETURN QUERY
    WITH asked AS MATERIALIZED (
        SELECT g.graph_id, g.name, g.structure, b.batch, s.step_ms, s.sensitivity, row_number() OVER (ORDER BY g.graph_id, b.batch) AS step,
               EXISTS (SELECT FROM perfmodel.profile AS p WHERE p.graph_id = g.graph_id AND p.gpu = card AND p.batch = b.batch
                       AND p.dtype = suggest_probes.dtype AND p.layout = suggest_probes.layout AND p.mode = 'train' AND p.world_size = 1) AS measured
        FROM perfmodel.graph AS g CROSS JOIN (SELECT DISTINCT u.batch FROM unnest(suggest_probes.batches) AS u(batch) WHERE u.batch IS NOT NULL) AS b,
             LATERAL perfmodel.step_sensitivity(g.graph_id, card, b.batch, suggest_probes.dtype, suggest_probes.layout, suggest_probes.framework,
                                                suggest_probes.predictor) AS s
        WHERE g.graph_id = ANY (suggest_probes.graphs)
          AND b.batch <= coalesce(perfmodel.max_batch(g.graph_id, card, suggest_probes.dtype, suggest_probes.layout, suggest_probes.framework), b.batch)
    ), chosen AS (
        SELECT c.* FROM (SELECT array_agg(z.value ORDER BY a.step, z.at) AS values FROM asked AS a, unnest(a.sensitivity) WITH ORDINALITY AS z(value, at)) AS s,
             (SELECT array_agg(a.step_ms ORDER BY a.step) AS ms, array_agg(hashtextextended(a.structure, 0) ORDER BY a.step) AS network,
                     array_agg(a.measured ORDER BY a.step) AS measured FROM asked AS a) AS r,
             LATERAL perfmodel.choose_probes(s.values, r.ms, r.network, r.measured, known, suggest_probes.n) WITH ORDINALITY AS c(step, before, after, rank)
    )
    SELECT c.rank::integer, a.graph_id, a.name, a.batch, round(a.step_ms::numeric, 3)::float8, round(c.before::numeric, 2)::float8, round(c.after::numeric, 2)::float8
    FROM chosen AS c JOIN asked AS a ON a.step = c.step ORDER BY c.rank;
END $$;
COMMENT ON FUNCTION perfmodel.suggest_probes(text, integer, integer[], text, text, text, text, bigint[]) IS
    'the n networks and batches whose measured steps would tell a recalibration most about a device';
