-- What a change of a training would do, and two trainings on one device.

-- What no predictor has an input for; what_if_change() calls it.
CREATE FUNCTION perfmodel.computed_change(graph_id bigint, gpu text, batch integer, change text, figures jsonb DEFAULT NULL,
                                          dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                          predictor text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum',
                                          world_size integer DEFAULT 1, nodes integer DEFAULT NULL, cluster text DEFAULT NULL,
                                          parallel jsonb DEFAULT NULL,
                                          OUT step_ms float8, OUT peak_mb float8, OUT saved_mb float8, OUT fits boolean,
                                          OUT p_fits float8, OUT applies boolean)
    RETURNS record
    LANGUAGE c STABLE PARALLEL SAFE COST 5000 AS 'MODULE_PATHNAME', 'pm_computed_change';
COMMENT ON FUNCTION perfmodel.computed_change(bigint, text, integer, text, jsonb, text, text, text, text, text, integer, integer, text, jsonb) IS
    'a step with flash attention, a fused optimizer or a device with other figures, from the work of its operators';

CREATE FUNCTION perfmodel.what_if_change(graph_id bigint, gpu text, batch integer, changes text[] DEFAULT NULL, dtype text DEFAULT 'fp32',
                                         layout text DEFAULT 'nchw', framework text DEFAULT NULL, predictor text DEFAULT NULL,
                                         optimizer text DEFAULT 'sgd_momentum', figures jsonb DEFAULT NULL,
                                         world_size integer DEFAULT 1, nodes integer DEFAULT NULL, cluster text DEFAULT NULL,
                                         parallel jsonb DEFAULT NULL,
                                         OUT change text, OUT step_ms float8, OUT factor float8, OUT samples_per_s float8, OUT peak_mb float8,
                                         OUT saved_mb float8, OUT fits boolean, OUT in_domain boolean, OUT measured bigint, OUT basis text,
                                         OUT note text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE COST 3000 ROWS 15
BEGIN ATOMIC
    WITH asked AS (
        -- of a name that is not known predict() says so
        SELECT coalesce(perfmodel.find_dtype($5), $5) AS dtype, coalesce(perfmodel.find_layout($6), $6) AS layout,
               coalesce(perfmodel.find_optimizer($9), $9) AS optimizer,
               CASE WHEN lower($14 ->> 'zero') = 'fsdp' THEN $14 || '{"zero": 3}' ELSE coalesce($14, '{}') END AS parallel, $11 > 1 AS several
    ), known (n, change, to_dtype, to_layout, to_optimizer, to_parallel, checkpointing, times_batch, computed) AS (
        SELECT 0, 'none', NULL::text, NULL::text, NULL::text, NULL::jsonb, false, 1::float8, NULL::text
        UNION ALL SELECT 1, 'amp', 'amp', NULL, NULL, NULL, false, 1, NULL
        UNION ALL SELECT 2, 'bf16', 'bf16', NULL, NULL, NULL, false, 1, NULL
        UNION ALL SELECT 3, 'fp16', 'fp16', NULL, NULL, NULL, false, 1, NULL
        UNION ALL SELECT 4, 'fp8', 'fp8', NULL, NULL, NULL, false, 1, NULL
        UNION ALL SELECT 5, 'tf32', 'tf32', NULL, NULL, NULL, false, 1, NULL
        UNION ALL SELECT 6, 'fp32', 'fp32', NULL, NULL, NULL, false, 1, NULL
        UNION ALL SELECT 7, 'channels_last', NULL, 'nhwc', NULL, NULL, false, 1, NULL
        UNION ALL SELECT 8, 'amp and channels_last', 'amp', 'nhwc', NULL, NULL, false, 1, NULL
        UNION ALL SELECT 9, 'sgd', NULL, NULL, 'sgd', NULL, false, 1, NULL
        UNION ALL SELECT 10, 'adamw', NULL, NULL, 'adamw', NULL, false, 1, NULL
        UNION ALL SELECT 11, 'checkpointing', NULL, NULL, NULL, NULL, true, 1, NULL
        UNION ALL SELECT 12, 'half the batch', NULL, NULL, NULL, NULL, false, 0.5, NULL
        UNION ALL SELECT 13, 'twice the batch', NULL, NULL, NULL, NULL, false, 2, NULL
        UNION ALL SELECT 14, 'gradients in 16 bits', NULL, NULL, NULL, '{"compression": "fp16"}', false, 1, NULL
        UNION ALL SELECT 15, 'zero 1', NULL, NULL, NULL, '{"zero": 1}', false, 1, NULL
        UNION ALL SELECT 16, 'zero 3', NULL, NULL, NULL, '{"zero": 3}', false, 1, NULL
        UNION ALL SELECT 17, 'flash attention', NULL, NULL, NULL, NULL, false, 1, 'flash attention'
        UNION ALL SELECT 18, 'fused optimizer', NULL, NULL, NULL, NULL, false, 1, 'fused optimizer'
        UNION ALL SELECT 19, 'twice the bandwidth', NULL, NULL, NULL, NULL, false, 1, 'other figures'
        UNION ALL SELECT 20, 'compile', NULL, NULL, NULL, '{"compile": true}', false, 1, NULL
        UNION ALL SELECT 21, 'other figures', NULL, NULL, NULL, NULL, false, 1, 'other figures'
    ), wanted AS (
        SELECT k.n, k.change, k.checkpointing, coalesce(k.to_dtype, a.dtype) AS dtype, coalesce(k.to_layout, a.layout) AS layout,
               coalesce(k.to_optimizer, a.optimizer) AS optimizer,
               CASE WHEN k.times_batch < 1 THEN greatest($3 / 2, 1) WHEN k.times_batch > 1 AND $3 BETWEEN 1 AND 16777216 THEN 2 * $3 ELSE $3 END AS batch, k.computed,
               CASE WHEN k.checkpointing THEN (a.parallel - 'recompute_layers') || '{"recompute": true}' WHEN k.to_parallel IS NOT NULL THEN a.parallel || k.to_parallel
                    ELSE $14 END AS parallel,
               k.to_dtype IS DISTINCT FROM a.dtype AND k.to_layout IS DISTINCT FROM a.layout AND k.to_optimizer IS DISTINCT FROM a.optimizer
               AND NOT (k.checkpointing AND a.parallel @> '{"recompute": true}' AND NOT a.parallel ? 'recompute_layers') AND NOT coalesce(a.parallel @> k.to_parallel, false)
               AND (k.times_batch >= 1 OR $3 > 1) AS is_change,
               k.to_parallel IS NOT NULL AND k.change <> 'compile' AND NOT a.several AS needs_several
        FROM known AS k, asked AS a
        WHERE (k.n = 0 OR k.change = ANY ($4)
               -- a format that the device has no units for only if it is asked for
               OR $4 IS NULL AND (k.to_dtype IS NULL OR k.to_dtype = ANY (perfmodel.gpu_formats($2)))
                  AND NOT (coalesce(k.to_dtype IN ('fp32', 'tf32'), false) AND a.parallel @> '{"master_weights": true}')
                  AND (k.change <> 'other figures' OR $10 IS NOT NULL) AND (k.computed IS NULL OR a.dtype <> 'fp8' AND NOT a.parallel @> '{"compile": true}') AND $3 * k.times_batch <= 16777216
                  AND (k.to_parallel IS NULL OR k.change = 'compile' OR a.several AND (k.change <> 'zero 3' OR NOT a.parallel ?| '{tp,pp}')))
    ), refused AS (
        SELECT count(perfmodel.require(u.change IN (SELECT k.change FROM known AS k),
                   'unknown change ' || coalesce('"' || left(u.change, 64) || '"', 'null'),
                   'Known are amp, bf16, fp16, fp8, tf32, fp32, channels_last, "amp and channels_last", sgd, adamw, checkpointing, "half the batch", "twice the batch", '
                   '"gradients in 16 bits", "zero 1", "zero 3", "flash attention", "fused optimizer", "twice the bandwidth", compile and "other figures".'))
             + count(perfmodel.require(u.change <> 'other figures' OR $10 IS NOT NULL, 'the change "other figures" needs the argument "figures"',
                   'Give them as the columns of perfmodel.gpu: figures => ''{"mem_bw_gbs": 4000}''.')) AS n
        FROM unnest($4) AS u (change)
    ), asked_of_predictor AS (
        SELECT w.*, p.step_ms AS ms, p.samples_per_s * p.step_ms / 1000 AS samples,
               p.in_domain, p.note, m.peak_mb, m.fits, NULL::float8 AS saved_mb, true AS applies
        FROM wanted AS w, refused AS r, LATERAL perfmodel.predict($1, $2, w.batch, w.dtype, w.layout, $7, $8, optimizer => w.optimizer,
                                                                  world_size => $11, nodes => $12, cluster => $13, parallel => w.parallel) AS p,
             LATERAL perfmodel.predict_memory($1, $2, w.batch, w.dtype, w.layout, $7, w.optimizer, w.checkpointing,
                                              world_size => $11, parallel => w.parallel) AS m
        WHERE r.n >= 0 AND (w.is_change OR w.n = 0) AND w.computed IS NULL
    ), computed AS (
        SELECT w.*, c.step_ms AS ms, o.samples, o.in_domain, o.note, c.peak_mb, c.fits, c.saved_mb, c.applies
        FROM wanted AS w, asked_of_predictor AS o, perfmodel.gpu AS g,
             LATERAL perfmodel.computed_change($1, $2, w.batch, w.computed,
                 CASE WHEN w.change = 'twice the bandwidth' THEN jsonb_build_object('mem_bw_gbs', (2 * g.mem_bw_gbs)::numeric) WHEN w.change = 'other figures' THEN $10 END,
                 w.dtype, w.layout, $7, $8, w.optimizer, $11, $12, $13, $14) AS c
        WHERE o.n = 0 AND g.name = perfmodel.gpu_name($2) AND w.computed IS NOT NULL AND (c.applies OR w.change = ANY ($4))
    ), answer AS (
        SELECT * FROM asked_of_predictor UNION ALL SELECT * FROM computed
    )
    SELECT a.change, a.ms, (a.ms / a.samples) / (o.ms / o.samples), 1000::float8 * a.samples / a.ms, a.peak_mb, coalesce(a.saved_mb, o.peak_mb - a.peak_mb), a.fits,
           a.in_domain, f.measured,
           CASE WHEN a.computed IS NOT NULL OR a.checkpointing OR a.change = 'compile' THEN 'computed' WHEN f.of_network > 0 THEN 'network measured'
                WHEN f.measured > 0 THEN 'device measured' WHEN a.in_domain THEN 'learned' ELSE 'guessed' END,
           nullif(concat_ws('; ', CASE WHEN a.needs_several THEN 'on one GPU this changes nothing' WHEN NOT a.applies THEN 'this step has nothing that would change' END, a.note), '')
    FROM answer AS a, answer AS o,
         LATERAL (SELECT count(*) AS measured, count(*) FILTER (WHERE f.graph_id = $1) AS of_network
                  FROM perfmodel.profile AS f WHERE f.gpu = perfmodel.gpu_name($2) AND f.dtype = a.dtype AND f.layout = a.layout
                      AND f.optimizer = a.optimizer AND f.mode = 'train' AND f.world_size = $11 AND coalesce(a.parallel, '{}') = coalesce(f.parallel, '{}')
                      AND NOT a.checkpointing AND a.computed IS NULL) AS f
    WHERE o.n = 0 AND o.ms IS NOT NULL ORDER BY a.n;
END;
COMMENT ON FUNCTION perfmodel.what_if_change(bigint, text, integer, text[], text, text, text, text, text, jsonb, integer, integer, text, jsonb) IS
    'time and memory of a step after one change; factor: time per sample over that before; basis: source of the time';

CREATE FUNCTION perfmodel.colocate(graph_a bigint, batch_a integer, graph_b bigint, batch_b integer, gpu text,
                                   dtype_a text DEFAULT 'fp32', dtype_b text DEFAULT 'fp32', predictor text DEFAULT NULL,
                                   OUT slowdown_a float8, OUT slowdown_b float8, OUT step_ms_a float8, OUT step_ms_b float8,
                                   OUT busy_a float8, OUT busy_b float8, OUT peak_mb float8, OUT fits boolean, OUT p_fits float8,
                                   OUT in_domain boolean, OUT note text)
    RETURNS record
    LANGUAGE sql STABLE PARALLEL SAFE COST 1000
BEGIN ATOMIC
    WITH job AS (
        -- least() and greatest() would leave out what is not known
        SELECT w.which, j.step_ms, j.in_domain, j.note, CASE WHEN r.busy_ms > j.step_ms THEN 1 ELSE r.busy_ms / j.step_ms END AS busy, m.peak_mb
        FROM (VALUES ('a', $1, $2, $6), ('b', $3, $4, $7)) AS w (which, graph_id, batch, dtype),
             LATERAL perfmodel.predict(w.graph_id, $5, w.batch, w.dtype, predictor => $8) AS j,
             -- what a kernel's launch takes most of the time of leaves the device to the other
             LATERAL (SELECT sum(CASE WHEN e.bound = 'launch' OR e.part = 'framework' THEN 0.3 ELSE 1 END * e.step_ms) AS busy_ms
                      FROM perfmodel.explain_train_time(w.graph_id, $5, w.batch, w.dtype, predictor => $8) AS e) AS r,
             LATERAL perfmodel.predict_memory(w.graph_id, $5, w.batch, w.dtype) AS m
    )
    -- the device gives both what they need as long as that is not more than all of it, else each its share
    SELECT s.slowdown, s.slowdown, a.step_ms * s.slowdown, b.step_ms * s.slowdown,
           a.busy, b.busy, a.peak_mb + b.peak_mb, p.fits >= 0.95, p.fits, a.in_domain AND b.in_domain,
           CASE WHEN a.note = b.note THEN a.note ELSE nullif(concat_ws('; ', 'a: ' || a.note, 'b: ' || b.note), '') END
    FROM job AS a, job AS b, perfmodel.p_fits_together($1, $2, $3, $4, $5, $6, $7) AS p (fits),
         LATERAL (SELECT CASE WHEN a.busy + b.busy < 1 THEN 1 ELSE a.busy + b.busy END AS slowdown) AS s WHERE a.which = 'a' AND b.which = 'b';
END;
COMMENT ON FUNCTION perfmodel.colocate(bigint, integer, bigint, integer, text, text, text, text) IS
    'two trainings that share a device by taking turns: how much slower each becomes, and whether both fit';
