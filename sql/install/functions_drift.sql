-- Whether a predictor still holds: its errors on measurements that it was not
-- trained on, and what they prove. docs/drift.md gives reasons.

CREATE FUNCTION perfmodel.drift_evidence(networks bigint[], rank_low float8[], rank_high float8[], calibration_networks integer DEFAULT 20,
                                         OUT n_networks integer, OUT e_value float8, OUT e_value_now float8, OUT kind text)
    RETURNS record
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS 'MODULE_PATHNAME', 'pm_drift_evidence';
COMMENT ON FUNCTION perfmodel.drift_evidence(bigint[], float8[], float8[], integer) IS
    'evidence (the largest e-value so far; 20 is an alarm) that errors are no longer those of the calibration';

CREATE FUNCTION perfmodel.proportion_bounds(successes float8, trials float8, level float8 DEFAULT 0.9,
                                            OUT low float8, OUT high float8) RETURNS record
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_proportion_bounds_sql';
COMMENT ON FUNCTION perfmodel.proportion_bounds(float8, float8, float8) IS
    'bounds of a probability (0 to 1) by Clopper and Pearson from successes and trials';

-- Intervals of eight levels tell where among the calibration residuals a
-- measurement lies: between 1 - (1 - level) / 2 of the highest level that it is
-- beyond, and that of the next.
CREATE FUNCTION perfmodel.residuals(predictor text DEFAULT NULL, since timestamptz DEFAULT NULL,
                                    OUT profile_id bigint, OUT graph_id bigint, OUT network bigint, OUT family text, OUT gpu text,
                                    OUT dtype text, OUT layout text, OUT framework text, OUT batch integer, OUT measured_at timestamptz,
                                    OUT measured_ms float8, OUT predicted_ms float8, OUT low_ms float8, OUT high_ms float8,
                                    OUT in_domain boolean, OUT reasons text[], OUT rank_low float8, OUT rank_high float8,
                                    OUT expected_error float8)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE COST 1000000 ROWS 1000 SET jit = off
BEGIN ATOMIC
    WITH chosen AS (
        SELECT p.* FROM perfmodel.predictor AS p
        WHERE CASE WHEN residuals.predictor IS NULL THEN p.active AND p.quantity = 'step_ms' ELSE p.name = residuals.predictor END
        -- raises where there is no predictor of this name; where none is active, there are no rows
        AND CASE WHEN residuals.predictor IS NULL THEN true ELSE (SELECT count(*) FROM perfmodel.corrections(residuals.predictor)) IS NOT NULL END
    ), learned AS (
        SELECT l.profile_id FROM chosen AS c, LATERAL perfmodel.learned_profiles(c.predictor_id, true) AS l(profile_id)
    ), measured AS (
        SELECT m.*, g.family, hashtextextended(g.structure, 0) AS network, c.name AS predictor
        FROM chosen AS c, perfmodel.profile AS m JOIN perfmodel.graph AS g ON g.graph_id = m.graph_id
        WHERE m.mode = 'train' AND m.world_size = 1
          AND m.profile_id NOT IN (SELECT l.profile_id FROM learned AS l)
          -- what one that came trained has learned from is known by its hashes, if it has them
          AND (cardinality(c.profiles) > 0 OR c.row_hashes IS NOT NULL OR m.measured_at > c.trained_at)
          AND (residuals.since IS NULL OR m.measured_at >= residuals.since)
    )
    SELECT m.profile_id, m.graph_id, m.network, m.family, m.gpu, m.dtype, m.layout, m.framework, m.batch, m.measured_at,
           m.step_ms, f.step_ms, f.low_ms, f.high_ms, f.in_domain, f.reasons,
           CASE WHEN f.low_ms IS NULL THEN NULL WHEN f.above > 0 THEN f.edges[f.above]
                WHEN f.below > 0 THEN 1 - f.edges[f.below + 1] ELSE 0.25 END,
           CASE WHEN f.low_ms IS NULL THEN NULL WHEN f.above > 0 THEN f.edges[f.above + 1]
                WHEN f.below > 0 THEN 1 - f.edges[f.below] ELSE 0.75 END,
           f.expected_error
    FROM measured AS m CROSS JOIN LATERAL
         (SELECT max(p.step_ms) AS step_ms, max(p.step_ms_low) FILTER (WHERE l.level = 0.9) AS low_ms,
                 max(p.step_ms_high) FILTER (WHERE l.level = 0.9) AS high_ms, bool_and(p.in_domain) AS in_domain, max(p.reasons) AS reasons,
                 count(*) FILTER (WHERE m.step_ms > p.step_ms_high) AS above, count(*) FILTER (WHERE m.step_ms < p.step_ms_low) AS below,
                 '{0.75,0.8,0.85,0.9,0.95,0.975,0.99,0.995,1}'::float8[] AS edges,
                 -- half of the width at a level is that quantile of the error; their mean over levels by the trapezoidal rule
                 sum(l.share * (p.step_ms_high - p.step_ms_low) / (2 * p.step_ms)) AS expected_error
          FROM (VALUES (0.5::float8, 0.3::float8), (0.6, 0.1), (0.7, 0.1), (0.8, 0.1), (0.9, 0.075), (0.95, 0.04), (0.98, 0.02),
                       (0.99, 0.015)) AS l(level, share),
               LATERAL perfmodel.predict(m.graph_id, m.gpu, m.batch, m.dtype, m.layout, m.framework, m.predictor, l.level,
                                         CASE m.optimizer WHEN 'other' THEN 'sgd_momentum' ELSE m.optimizer END, 'null') AS p) AS f
    WHERE f.step_ms IS NOT NULL;
END;
COMMENT ON FUNCTION perfmodel.residuals(text, timestamptz) IS
    'measurements that a predictor was not trained on, its predictions, and their ranks among its calibration errors';

CREATE FUNCTION perfmodel.drift(predictor text DEFAULT NULL, by text[] DEFAULT '{gpu}', since timestamptz DEFAULT NULL,
                                slice interval DEFAULT NULL,
                                OUT window_start timestamptz, OUT grouped_by text, OUT group_name text, OUT n integer,
                                OUT n_networks integer, OUT bias_pct float8, OUT mape_pct float8, OUT expected_mape_pct float8,
                                OUT coverage_pct float8, OUT coverage_low_pct float8, OUT coverage_high_pct float8,
                                OUT out_of_domain_pct float8, OUT unknown_operators_pct float8, OUT e_value float8,
                                OUT alarm_at float8, OUT verdict text, OUT advice text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE COST 2000000 ROWS 20 SET jit = off
BEGIN ATOMIC
    WITH argument AS MATERIALIZED (
        SELECT perfmodel.require(coalesce(array_ndims(drift.by), 1) = 1, 'by must be a plain list, not an array of arrays', 'For example: by => ''{gpu,dtype}''.')
           AND perfmodel.require(drift.by <@ '{gpu,dtype,layout,framework,family}',
                                 'unknown grouping in ' || coalesce(quote_literal(left(drift.by::text, 64)), 'null'),
                                 'Known are gpu, dtype, layout, framework, family.')
           AND perfmodel.require(slice IS NULL OR (slice > interval '0' AND slice <= interval '36500 days' AND extract(month FROM slice) = 0 AND extract(year FROM slice) = 0),
                                 'slice must be a time above 0, of at most 36500 days, without months and years', 'For example: slice => ''7 days''.')
           -- raises where there is no such predictor, also while nothing was measured
           AND CASE WHEN drift.predictor IS NULL THEN true ELSE (SELECT count(*) FROM perfmodel.corrections(drift.predictor)) >= 0 END AS good
    ), residual AS MATERIALIZED (
        SELECT r.*, ln(r.measured_ms / r.predicted_ms) AS u, r.measured_ms BETWEEN r.low_ms AND r.high_ms AS covered,
               CASE WHEN slice IS NULL THEN min(r.measured_at) OVER ()
                    ELSE date_bin(slice, r.measured_at, coalesce(CASE WHEN isfinite(drift.since) THEN drift.since END, date_trunc('day', min(r.measured_at) OVER ()))) END AS starts
        FROM argument AS a, LATERAL perfmodel.residuals(drift.predictor, drift.since) AS r
        WHERE a.good AND (slice IS NULL OR isfinite(r.measured_at))
    ), grouped AS (
        SELECT r.*, k.grouping_name, k.place,
               -- recalibrate takes new devices and new ways of using them into the domain, but no new networks
               coalesce(r.reasons && '{operators_not_seen,operator_sizes_not_seen,step_above,step_below,network_unlike,not_measured_elsewhere}', false) AS network_is_new,
               CASE k.grouping_name WHEN 'gpu' THEN r.gpu WHEN 'dtype' THEN r.dtype WHEN 'layout' THEN r.layout
                                    WHEN 'framework' THEN r.framework WHEN 'family' THEN r.family END AS member
        -- by comes through argument: PostgreSQL 18 computes what depends on parameters alone before they are checked
        FROM residual AS r, unnest(array_prepend('overall', (SELECT CASE WHEN a.good THEN drift.by END FROM argument AS a)))
                            WITH ORDINALITY AS k(grouping_name, place)
    ), per_network AS (
        SELECT g.starts, g.place, g.grouping_name, g.member, g.network, count(*) AS n,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY g.u) AS u, sum(abs(1 - g.predicted_ms / g.measured_ms)) AS ape,
               sum(g.expected_error) AS expected, avg(g.covered::integer) FILTER (WHERE g.in_domain) AS covered,
               avg((NOT g.in_domain)::integer) AS outside, avg((NOT g.in_domain AND g.network_is_new)::integer) AS strange,
               coalesce(bool_or('operators_not_seen' = ANY (g.reasons)), false)::integer AS unknown
        FROM grouped AS g GROUP BY 1, 2, 3, 4, 5
    ), per_group AS (
        SELECT p.starts, p.place, p.grouping_name, p.member, sum(p.n) AS n, count(*) AS networks,
               percentile_cont(0.5) WITHIN GROUP (ORDER BY p.u) AS u, sum(p.ape) / sum(p.n) AS mape, sum(p.expected) / sum(p.n) AS expected,
               sum(p.covered) AS covered, count(p.covered) AS judged, avg(p.outside) AS outside, sum(p.outside) AS n_outside,
               sum(p.strange) AS n_strange, avg(p.unknown) AS unknown
        FROM per_network AS p GROUP BY 1, 2, 3, 4
    ), known AS MATERIALIZED (
        SELECT k.gpu, k.networks FROM perfmodel.known_gpus(drift.predictor) AS k
    ), unseen AS (
        -- known networks where the predictor has not learned: on which GPU, what is new there, and how many networks are missing to judge it
        SELECT g.starts, g.place, g.member, g.gpu, count(DISTINCT g.network) AS networks, bool_or(g.reasons && '{gpu_not_seen,gpu_seldom_seen}') AS gpu_is_new,
               -- the other way to be new: known, but not from such networks
               bool_or('gpu_not_seen' = ANY (g.reasons)) AS never,
               bool_or('dtype_not_seen' = ANY (g.reasons)) AS dtype, bool_or('layout_not_seen' = ANY (g.reasons)) AS layout,
               bool_or(g.reasons && '{batch_above,batch_below}') AS batch, bool_or('optimizer_not_seen' = ANY (g.reasons)) AS optimizer,
               5 - coalesce(max(k.networks), 0) - count(DISTINCT g.network) AS missing
        FROM grouped AS g LEFT JOIN known AS k ON k.gpu = g.gpu
        WHERE NOT g.in_domain AND NOT g.network_is_new GROUP BY 1, 2, 3, 4
    ), new_use AS (
        SELECT u.starts, u.place, u.member, bool_or(u.gpu_is_new) AS gpu_is_new, min(u.missing) AS missing, count(*) FILTER (WHERE u.gpu_is_new OR NOT any_new) AS n_gpus,
               (array_agg(u.gpu ORDER BY u.missing, u.gpu))[1] AS nearest, (array_agg(u.never ORDER BY u.missing, u.gpu))[1] AS nearest_never,
               bool_or(u.never) AS any_never, bool_and(u.never) FILTER (WHERE u.gpu_is_new) AS all_never,
               array_agg(u.gpu ORDER BY u.networks DESC, u.gpu) FILTER (WHERE u.gpu_is_new OR NOT any_new) AS gpus,
               concat_ws(', ', CASE WHEN bool_or(u.dtype) THEN 'number formats' END, CASE WHEN bool_or(u.layout) THEN 'layouts' END,
                         CASE WHEN bool_or(u.batch) THEN 'batch sizes' END, CASE WHEN bool_or(u.optimizer) THEN 'optimizers' END) AS uses
        -- of GPUs on which networks are missing nothing is said here, if there are others to learn from
        FROM (SELECT v.*, bool_or(v.gpu_is_new) OVER (PARTITION BY v.starts, v.place, v.member) AS any_new
              FROM (SELECT w.*, min(w.missing) OVER (PARTITION BY w.starts, w.place, w.member) AS least_missing FROM unseen AS w) AS v
              WHERE v.missing <= 0 OR v.least_missing > 0) AS u GROUP BY 1, 2, 3
    ), evidence AS (
        -- all that is known at the end of each window
        SELECT p.starts, p.place, p.member, e.e_value, e.kind
        FROM per_group AS p,
             LATERAL (SELECT array_agg(g.network ORDER BY g.profile_id) AS networks, array_agg(g.rank_low ORDER BY g.profile_id) AS low,
                             array_agg(g.rank_high ORDER BY g.profile_id) AS high,
                             -- the smallest calibration of its devices; those with fewer than 20 networks share a larger one
                             coalesce(min(k.networks) FILTER (WHERE k.networks >= 20), 20) AS calibration
                      FROM grouped AS g LEFT JOIN known AS k ON k.gpu = g.gpu
                      WHERE g.place = p.place AND g.member IS NOT DISTINCT FROM p.member AND g.in_domain AND g.rank_low IS NOT NULL
                        AND (slice IS NULL OR g.starts <= p.starts)) AS a,
             LATERAL perfmodel.drift_evidence(a.networks, a.low, a.high, a.calibration) AS e
    ), corrected AS (
        -- what would be left of the error if the bias of each device were taken away, as recalibrate() does
        SELECT g.starts, g.place, g.member, avg(abs(1 - g.predicted_ms * exp(d.u) / g.measured_ms)) AS mape
        FROM grouped AS g JOIN (SELECT q.starts, q.place, q.member, q.gpu, percentile_cont(0.5) WITHIN GROUP (ORDER BY q.u) AS u
                                FROM grouped AS q GROUP BY 1, 2, 3, 4) AS d
             ON d.place = g.place AND d.gpu = g.gpu AND d.member IS NOT DISTINCT FROM g.member AND d.starts IS NOT DISTINCT FROM g.starts
        GROUP BY 1, 2, 3
    ), judged AS (
        SELECT p.*, b.low AS cover_low, b.high AS cover_high, o.low AS outside_low, e.e_value, e.kind,
               -- one chance in 20 of a false alarm for overall, and one in 20 for all groups together
               20.0::float8 * CASE p.place WHEN 1 THEN 1 ELSE groups.n END AS alarm_at,
               p.mape - c.mape >= 0.5 * (p.mape - p.expected) AS by_bias
        FROM per_group AS p JOIN corrected AS c ON c.place = p.place AND c.member IS NOT DISTINCT FROM p.member
                                                AND c.starts IS NOT DISTINCT FROM p.starts
             LEFT JOIN evidence AS e ON e.place = p.place AND e.member IS NOT DISTINCT FROM p.member
                                     AND e.starts IS NOT DISTINCT FROM p.starts
             LEFT JOIN LATERAL perfmodel.proportion_bounds(p.covered::float8, nullif(p.judged, 0)::float8) AS b ON true
             LEFT JOIN LATERAL perfmodel.proportion_bounds(p.n_outside::float8, p.networks::float8) AS o ON true,
             (SELECT count(*) AS n FROM (SELECT DISTINCT q.place, q.member FROM per_group AS q WHERE q.place > 1) AS q) AS groups
    ), said AS (
        SELECT j.*,
               CASE WHEN j.e_value >= j.alarm_at AND j.kind IN ('slower', 'faster') THEN 'biased'
                    WHEN j.e_value >= j.alarm_at THEN 'wider'
                    WHEN j.outside_low > 0.2 THEN 'new_inputs'
                    WHEN j.e_value IS NULL OR j.judged < 5 THEN 'too_few'
                    ELSE 'ok' END AS verdict
        FROM judged AS j
    )
    SELECT s.starts, coalesce(s.grouping_name, 'overall'), s.member, coalesce(s.n, 0)::integer, coalesce(s.networks, 0)::integer, round((100 * (exp(-s.u) - 1))::numeric, 2)::float8, round((100 * s.mape)::numeric, 2)::float8,
           round((100 * s.expected)::numeric, 2)::float8, round(100 * s.covered / nullif(s.judged, 0), 1)::float8, round((100 * s.cover_low)::numeric, 1)::float8,
           round((100 * s.cover_high)::numeric, 1)::float8, round(100 * s.outside, 1)::float8, round(100 * s.unknown, 1)::float8, s.e_value, s.alarm_at, coalesce(s.verdict, 'too_few'),
           CASE WHEN s.n IS NULL THEN
                    coalesce('collect: no measurement is new to "' || (SELECT p.name FROM perfmodel.predictor AS p WHERE CASE WHEN drift.predictor IS NULL THEN p.active AND p.quantity = 'step_ms' ELSE p.name = drift.predictor END)
                             || '"' || CASE WHEN isfinite(drift.since) THEN ' and not older than ' || drift.since ELSE '' END,
                             'no predictor is active')
                WHEN s.verdict IN ('biased', 'wider') THEN
                    CASE WHEN s.by_bias AND s.verdict = 'biased' THEN 'recalibrate: steps' ELSE 'retrain: steps' END
                    || coalesce(CASE s.grouping_name WHEN 'gpu' THEN ' on ' ELSE ' of ' END || s.member, '')
                    || CASE WHEN s.verdict = 'wider' THEN ' are off by more than promised to both sides'
                            -- no one bias is behind it, and the median may be near 0
                            WHEN NOT s.by_bias THEN
                                concat(' are ', CASE WHEN round(100 * s.mape) > round(100 * s.expected)
                                                     THEN format('off by %s %% (promised: %s %%), ', round((100 * s.mape)::numeric), round((100 * s.expected)::numeric)) END,
                                       'mainly ', CASE s.kind WHEN 'slower' THEN 'longer' ELSE 'shorter' END, ' than predicted')
                            ELSE format(' take %s %% %s than predicted', round(abs(100 * (exp(s.u) - 1))::numeric),
                                        CASE WHEN s.u > 0 THEN 'longer' ELSE 'less' END) END
                WHEN s.verdict = 'new_inputs' AND s.n_strange >= 0.5 * s.n_outside THEN
                    format('retrain: %s of %s networks are unlike those of its training', round(s.n_strange), s.networks)
                WHEN s.verdict = 'new_inputs' THEN
                    CASE WHEN u.gpu_is_new AND u.missing > 0 THEN
                             format('collect: %s more %s on %s, which is %s; then recalibrate', u.missing, CASE u.missing WHEN 1 THEN 'network' ELSE 'networks' END, u.nearest,
                                    CASE WHEN u.nearest_never THEN 'new to the predictor' ELSE 'known from few such networks' END)
                         ELSE 'recalibrate: ' || CASE WHEN u.gpu_is_new THEN '' ELSE u.uses || ' on ' END || array_to_string(u.gpus[:3], ', ')
                              || CASE WHEN u.n_gpus > 3 THEN format(' and %s more', u.n_gpus - 3) ELSE '' END
                              || CASE WHEN u.gpu_is_new AND u.n_gpus = 1 THEN ' is ' ELSE ' are ' END
                              || CASE WHEN NOT u.gpu_is_new OR u.all_never THEN 'new to the predictor'
                                      WHEN u.any_never THEN 'new to the predictor, or known from few such networks'
                                      ELSE 'known from few such networks' END
                              || format(' (%s of %s networks)', round(s.n_outside - s.n_strange), s.networks) END
                WHEN s.verdict = 'too_few' AND s.expected IS NULL THEN 'train a kind of predictor that has intervals'
                WHEN s.verdict = 'too_few' THEN format('collect: %s more %s%s', 5 - s.judged, CASE s.judged WHEN 4 THEN 'network' ELSE 'networks' END,
                                                       coalesce(CASE s.grouping_name WHEN 'gpu' THEN ' on ' ELSE ' of ' END || s.member, ''))
           END
    -- a row also where there is nothing to judge, unless windows are asked for
    FROM argument AS a LEFT JOIN said AS s ON true
         LEFT JOIN new_use AS u ON u.place = s.place AND u.member IS NOT DISTINCT FROM s.member AND u.starts IS NOT DISTINCT FROM s.starts
    WHERE a.good AND (s.n IS NOT NULL OR slice IS NULL)
    ORDER BY s.starts, s.place, s.member;
END;
COMMENT ON FUNCTION perfmodel.drift(text, text[], timestamptz, interval) IS
    'errors on measurements newer than a predictor, what they prove (alarms at e_value >= alarm_at), and what to do';

CREATE VIEW perfmodel.active_drift AS
SELECT d.grouped_by, d.group_name, d.n AS measurements, d.n_networks AS networks, pg_catalog.round(d.bias_pct::numeric, 1) AS bias_pct,
       pg_catalog.round(d.mape_pct::numeric, 1) AS error_pct, pg_catalog.round(d.expected_mape_pct::numeric, 1) AS expected_error_pct,
       pg_catalog.round(d.coverage_pct::numeric, 0) AS coverage_pct, pg_catalog.round(d.out_of_domain_pct::numeric, 0) AS out_of_domain_pct,
       d.verdict, d.advice
FROM perfmodel.drift(by => '{gpu,framework}') AS d;
COMMENT ON VIEW perfmodel.active_drift IS 'whether the active predictor is still right, by GPU and framework, rounded; see drift()';
COMMENT ON COLUMN perfmodel.active_drift.grouped_by IS 'overall, gpu or framework';
COMMENT ON COLUMN perfmodel.active_drift.group_name IS 'which of them; NULL: all, or not known';
COMMENT ON COLUMN perfmodel.active_drift.measurements IS 'number of measurements that it was not trained on';
COMMENT ON COLUMN perfmodel.active_drift.networks IS 'number of networks among them';
COMMENT ON COLUMN perfmodel.active_drift.bias_pct IS 'by how much predictions are too long, in percent of the measured time: median over networks';
COMMENT ON COLUMN perfmodel.active_drift.error_pct IS 'mean absolute error in percent of the measured time';
COMMENT ON COLUMN perfmodel.active_drift.expected_error_pct IS 'error on these measurements that follows from the intervals of the predictor';
COMMENT ON COLUMN perfmodel.active_drift.coverage_pct IS 'share of measurements in the domain that are inside of their interval of level 0.9';
COMMENT ON COLUMN perfmodel.active_drift.out_of_domain_pct IS 'share of networks out of the domain';
COMMENT ON COLUMN perfmodel.active_drift.verdict IS 'ok, biased, wider, new_inputs or too_few';
COMMENT ON COLUMN perfmodel.active_drift.advice IS 'recalibrate, retrain or collect, and why; NULL: nothing to do';
