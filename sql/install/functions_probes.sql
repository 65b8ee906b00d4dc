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
    'steps, by their place in the arrays, that say most about a card, from the results of step_sensitivity';

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
                                         OUT rank integer, OUT graph_id bigint, OUT graph text, OUT batch integer, OUT dtype text, OUT layout text,
                                         OUT step_ms float8, OUT doubt_before_pct float8, OUT doubt_after_pct float8) RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE COST 1000000 ROWS 5
BEGIN ATOMIC
    WITH argument AS MATERIALIZED (
        -- of a word that is not known step_sensitivity() says so
        SELECT perfmodel.gpu_name($1) AS card, coalesce(perfmodel.find_dtype($4), $4) AS dtype, coalesce(perfmodel.find_layout($5), $5) AS layout,
               coalesce((SELECT k.networks FROM perfmodel.known_gpus($7) AS k WHERE k.gpu = perfmodel.gpu_name($1)), 0) AS known
        WHERE perfmodel.require($2 IS NULL OR $2 BETWEEN 1 AND 1000, 'n must be between 1 and 1000, not ' || $2, 'It is how many steps are to be measured.')
          AND num_nonnulls($1, $2, $3, $4, $5, $8) = 6
    ), fit AS MATERIALIZED (
        -- all graphs are without those that cannot be read, whose rows load_graph() has not stored; of graphs that are named, step_sensitivity() says so
        SELECT g.graph_id, g.name, g.structure
        FROM argument AS a, perfmodel.graph AS g
        WHERE g.graph_id = ANY ($8)
          AND ($8 <> perfmodel.all_graphs()
               OR 'unfit_graph' <> ALL (coalesce((SELECT k.reasons FROM perfmodel.ask(jsonb_build_object('graph_id', g.graph_id, 'gpu', a.card, 'batch', 1), $7, on_error => 'null') AS k), '{}')))
    ), asked AS MATERIALIZED (
        SELECT g.graph_id, g.name, g.structure, b.batch, s.step_ms, s.sensitivity, row_number() OVER (ORDER BY g.graph_id, b.batch) AS step, b.measured
        -- a network tells of the card at whatever batch it was measured
        FROM argument AS a, fit AS g,
             LATERAL (SELECT u.batch, bool_or(u.measured) AS measured
                      FROM (SELECT v.batch, false AS measured FROM unnest($3) AS v(batch) WHERE v.batch IS NOT NULL
                            UNION ALL SELECT p.batch, true FROM perfmodel.profile AS p WHERE p.graph_id = g.graph_id AND p.gpu = a.card
                                AND p.dtype = a.dtype AND p.layout = a.layout AND p.mode = 'train' AND p.world_size = 1) AS u GROUP BY u.batch) AS b,
             LATERAL perfmodel.step_sensitivity(g.graph_id, a.card, b.batch, a.dtype, a.layout, $6, $7) AS s
        WHERE (b.measured OR b.batch <= coalesce(perfmodel.max_batch(g.graph_id, a.card, a.dtype, a.layout, $6), b.batch))
    ), chosen AS (
        SELECT c.* FROM argument AS a,
             (SELECT array_agg(z.value ORDER BY q.step, z.at) AS values FROM asked AS q, unnest(q.sensitivity) WITH ORDINALITY AS z(value, at)) AS s,
             (SELECT array_agg(q.step_ms ORDER BY q.step) AS ms, array_agg(hashtextextended(q.structure, 0) ORDER BY q.step) AS network,
                     array_agg(q.measured ORDER BY q.step) AS measured FROM asked AS q) AS r,
             LATERAL perfmodel.choose_probes(s.values, r.ms, r.network, r.measured, a.known, $2) WITH ORDINALITY AS c(step, before, after, rank)
    )
    SELECT c.rank::integer, q.graph_id, q.name, q.batch, a.dtype, a.layout, round(q.step_ms::numeric, 3)::float8, round(c.before::numeric, 2)::float8,
           round(c.after::numeric, 2)::float8
    FROM argument AS a, chosen AS c JOIN asked AS q ON q.step = c.step ORDER BY c.rank;
END;
COMMENT ON FUNCTION perfmodel.suggest_probes(text, integer, integer[], text, text, text, text, bigint[]) IS
    'n networks and batches from whose measured steps in this dtype and layout a recalibration would learn most';
