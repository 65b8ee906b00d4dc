-- All kinds on all splits.

-- Everything that can be wrong is found before the first kind is trained for
-- long: estimate_training() judges kinds, options (of kinds that do not run,
-- too) and rows before anything is sorted; the sort puts what
-- cross_validate() will refuse first and then what costs least, so that a
-- split which the rows do not allow fails within moments.
CREATE FUNCTION perfmodel.leaderboard(kinds text[] DEFAULT NULL, splits text[] DEFAULT '{structure,family,far,batch}',
                                      folds integer DEFAULT 5, profiles bigint[] DEFAULT perfmodel.all_profiles(),
                                      options jsonb DEFAULT '{}', quantity text DEFAULT 'step_ms',
                                      OUT kind text, OUT split text, OUT n integer, OUT mape_pct float8, OUT mae_ms float8,
                                      OUT rmse_ms float8, OUT train_s float8, OUT predict_us float8, OUT mae_mb float8, OUT rmse_mb float8)
    RETURNS SETOF record
    LANGUAGE sql VOLATILE PARALLEL UNSAFE COST 1000000000 ROWS 30 SET jit = off
BEGIN ATOMIC
    WITH known AS (
        SELECT k.kind FROM perfmodel.kinds() AS k WHERE quantity IS DISTINCT FROM 'peak_memory_mb'
        UNION SELECT k.kind FROM perfmodel.memory_kinds() AS k WHERE quantity = 'peak_memory_mb'
    ), wanted AS (
        SELECT DISTINCT u.name FROM unnest(coalesce(kinds, ARRAY(SELECT known.kind FROM known))) AS u(name)
    ), named AS (
        SELECT w.name, w.name IN (SELECT wanted.name FROM wanted) OR w.name IS NULL AS runs,
               CASE WHEN jsonb_typeof(options) <> 'object' THEN options ELSE options -> w.name END AS options
        FROM (SELECT wanted.name FROM wanted
              UNION SELECT o.name
              FROM jsonb_object_keys(CASE jsonb_typeof(options) WHEN 'object' THEN options ELSE '{}' END) AS o(name)) AS w
    ), checked AS MATERIALIZED (
        SELECT w.name, w.runs, w.options, e.memory_bytes, e.memory_bytes <= e.memory_limit_bytes AS fits
        FROM named AS w, LATERAL perfmodel.estimate_training(w.name, profiles, coalesce(w.options, '{}'), false) AS e
        WHERE quantity IS DISTINCT FROM 'peak_memory_mb'
        -- kinds of memory take moments; cross_validate() refuses what is none of them
        UNION ALL SELECT w.name, w.runs OR w.name NOT IN (SELECT known.kind FROM known), w.options, 0, true
        FROM named AS w WHERE quantity = 'peak_memory_mb'
    ), cells AS (
        SELECT c.name, s.name AS split, c.options
        FROM checked AS c, (SELECT DISTINCT u.name FROM unnest(splits) AS u(name)) AS s
        WHERE c.runs
        ORDER BY coalesce(s.name IN ('structure', 'family', 'batch', 'gpu'), false), c.fits, c.memory_bytes, c.name, s.name
        OFFSET 0
    )
    SELECT c.name, c.split, v.n, round(v.mape_pct::numeric, 4)::float8, round(v.mae_ms::numeric, 3)::float8, round(v.rmse_ms::numeric, 3)::float8,
           round(v.train_s::numeric, 3)::float8, round(v.predict_us::numeric, 2)::float8, round(v.mae_mb::numeric, 1)::float8, round(v.rmse_mb::numeric, 1)::float8
    FROM cells AS c,
         -- intervals are not shown, so what they take is not spent, unless asked for
         LATERAL perfmodel.cross_validate(c.name, profiles, folds, c.split,
             (SELECT coalesce(jsonb_object_agg(k.option, 0), '{}') FROM perfmodel.kinds() AS k
              WHERE k.kind = c.name AND k.option = 'calibration_folds') || coalesce(c.options, '{}'), quantity) AS v
    WHERE v.grouped_by = 'overall'
    ORDER BY c.split, v.mape_pct, c.name;
END;
COMMENT ON FUNCTION perfmodel.leaderboard(text[], text[], integer, bigint[], jsonb, text) IS
    'cross_validate for several kinds (NULL: all) and several splits, best first; figures are rounded';
