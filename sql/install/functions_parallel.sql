-- Which division of a model among GPUs takes least time.

-- Not BEGIN ATOMIC, which would tie the columns of a table to the function.
CREATE FUNCTION perfmodel.gpus_of_machine(gpu text, world_size integer, nodes integer, cluster text) RETURNS integer
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(ceil($2::float8 / nullif($3, 0)), (SELECT c.gpus_per_node FROM perfmodel.cluster AS c WHERE c.name = $4), ceil($2::float8 / perfmodel.fewest_nodes(perfmodel.find_gpu($1), $2)), $2)::integer;
$$;
COMMENT ON FUNCTION perfmodel.gpus_of_machine(text, integer, integer, text) IS
    'GPUs that a machine has, or that a step on world_size GPUs has on each of its nodes; for best_parallel()';

-- What may be asked of one member of parallel by itself: 1, and the other divisors of world_size with which the model can be divided.
CREATE FUNCTION perfmodel.parallel_sizes(graph_id bigint, gpu text, world_size integer, nodes integer, cluster text, dtype text, layout text, framework text,
                                         predictor text, optimizer text, OUT member text, OUT size integer)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE COST 10000 ROWS 16
BEGIN ATOMIC
    WITH machine AS MATERIALIZED (
        SELECT perfmodel.gpus_of_machine($2, $3, $4, $5) AS gpus
    )
    SELECT m.member, n.n::integer
    -- the GPUs of a layer, and of a sequence, send to each other in every layer: beyond a machine, that takes longer than it saves
    FROM machine, (VALUES ('tp', 1), ('cp', 1), ('pp', 0), ('ep', 0)) AS m (member, within), generate_series(1, least($3, 1024)) AS n (n)
    WHERE $3 % n.n = 0 AND (m.within = 0 OR n.n <= machine.gpus)
          AND (n.n = 1 OR (SELECT p.step_ms IS NOT NULL
                           FROM perfmodel.predict($1, $2, 1, $6, $7, $8, $9, optimizer => $10, on_error => 'null', world_size => $3, nodes => $4, cluster => $5,
                                                  parallel => jsonb_build_object(m.member, n.n)) AS p));
END;
COMMENT ON FUNCTION perfmodel.parallel_sizes(bigint, text, integer, integer, text, text, text, text, text, text) IS
    'numbers of GPUs with which tp, cp, pp and ep can divide a model each by itself; for best_parallel()';

CREATE FUNCTION perfmodel.parallel_choices(graph_id bigint, gpu text, total_batch integer, world_size integer, nodes integer, cluster text, dtype text, layout text,
                                           framework text, predictor text, optimizer text, fixed jsonb, OUT division integer[], OUT batch integer, OUT parallel jsonb)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE COST 100000 ROWS 5000
BEGIN ATOMIC
    WITH given AS MATERIALIZED (
        -- what is no such number stays in parallel, and is refused there
        SELECT f.key, CASE WHEN f.value::text ~ '^[1-9][0-9]{0,5}(\.0+)?$' THEN f.value::text::numeric::integer ELSE 1 END AS size
        FROM jsonb_each($12) AS f WHERE f.key IN ('tp', 'cp', 'pp', 'ep', 'accumulation', 'micro_batches')
    ), sizes AS MATERIALIZED (
        SELECT s.member, s.size FROM perfmodel.parallel_sizes($1, $2, $4, $5, $6, $7, $8, $9, $10, $11) AS s WHERE s.member NOT IN (SELECT g.key FROM given AS g)
        UNION ALL SELECT g.key, g.size FROM given AS g
    ), divided AS (
        SELECT tp.size AS tp, cp.size AS cp, pp.size AS pp, ep.size AS ep, $4 / (tp.size::bigint * pp.size * cp.size) AS copies,
               $3 / ($4 / (tp.size::bigint * pp.size * cp.size)) AS samples -- of a copy of the model
        FROM sizes AS tp, sizes AS cp, sizes AS pp, sizes AS ep
        WHERE tp.member = 'tp' AND cp.member = 'cp' AND pp.member = 'pp' AND ep.member = 'ep'
              AND $4 % (tp.size::bigint * pp.size * cp.size) = 0 AND $3 % ($4 / (tp.size::bigint * pp.size * cp.size)) = 0
              AND $4 / (tp.size::bigint * pp.size) % ep.size = 0
    ), batches AS (
        SELECT d.*, b.batch
        FROM divided AS d, (SELECT min(g.size) FROM given AS g WHERE g.key IN ('accumulation', 'micro_batches')) AS g (accumulation),
             LATERAL (SELECT n FROM generate_series(1, least(d.samples, 4096)) AS n UNION SELECT d.samples UNION SELECT d.samples / g.accumulation) AS b (batch)
        WHERE b.batch >= 1 AND d.samples % b.batch = 0 AND d.samples / b.batch = coalesce(g.accumulation, d.samples / b.batch)
    )
    SELECT ARRAY[b.tp, b.cp, b.pp, b.ep, z.zero], b.batch::integer,
           jsonb_strip_nulls(jsonb_build_object(
               'tp', nullif(b.tp, 1), 'cp', nullif(b.cp, 1), 'pp', nullif(b.pp, 1), 'ep', nullif(b.ep, 1), 'zero', nullif(z.zero, 0), 'recompute', r.recompute,
               'sequence_parallel', nullif(b.tp > 1, false), 'interleave', nullif(i.interleave, 1),
               CASE WHEN b.pp > 1 AND $12 -> 'accumulation' IS NULL OR $12 -> 'micro_batches' IS NOT NULL THEN 'micro_batches' ELSE 'accumulation' END,
               nullif(b.samples / b.batch, 1))) || $12
    FROM batches AS b, generate_series(0, 3) AS z (zero), (VALUES (NULL::jsonb), ('"attention"'), ('"cheap"'), ('true')) AS r (recompute), unnest('{1,2,4}'::integer[]) AS i (interleave)
    -- with a pipeline, weights are whole on each GPU, and gradients are added up over many batches
    WHERE (z.zero = 0 OR b.copies * b.cp > 1) AND (z.zero < 2 OR b.pp = 1) AND (i.interleave = 1 OR b.pp > 1)
          AND ($12 -> 'zero' IS NULL OR z.zero = 0) AND ($12 -> 'recompute' IS NULL OR r.recompute IS NULL) AND ($12 -> 'interleave' IS NULL OR i.interleave = 1);
END;
COMMENT ON FUNCTION perfmodel.parallel_choices(bigint, text, integer, integer, integer, text, text, text, text, text, text, jsonb) IS
    'divisions of a model and of total_batch samples among GPUs, not all of them possible; for best_parallel()';

CREATE FUNCTION perfmodel.best_parallel(graph_id bigint, gpu text, total_batch integer, world_size integer, dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw',
                                        framework text DEFAULT NULL, predictor text DEFAULT NULL, level float8 DEFAULT 0.9, optimizer text DEFAULT 'sgd_momentum',
                                        nodes integer DEFAULT NULL, cluster text DEFAULT NULL, fixed jsonb DEFAULT '{}', answers integer DEFAULT 10,
                                        OUT rank bigint, OUT batch integer, OUT parallel jsonb, OUT step_ms float8, OUT step_ms_low float8, OUT step_ms_high float8,
                                        OUT samples_per_s float8, OUT peak_mb float8, OUT fits boolean, OUT p_fits float8, OUT in_domain boolean, OUT note text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE COST 10000000 ROWS 10
BEGIN ATOMIC
    WITH asked AS MATERIALIZED (
        SELECT num_nulls($1, $2, $3, $4, $5, $6, $9, $10, $13, $14) = 0
               AND perfmodel.require($3 >= 1, 'total_batch must be at least 1, not ' || $3, 'It is the number of samples of a step, on all GPUs together.')
               AND perfmodel.require($4 BETWEEN 1 AND 65536, 'world_size must be in 1..65536, not ' || $4, 'It is the number of GPUs.')
               AND perfmodel.require(jsonb_typeof($13) = 'object', 'fixed must be an object, not ' || jsonb_typeof($13), 'Example: fixed => ''{"zero": 1}''.') AS is_whole
    ), choices AS MATERIALIZED (
        SELECT c.* FROM asked, LATERAL perfmodel.parallel_choices($1, $2, $3, $4, $11, $12, $5, $6, $7, $8, $10, $13) AS c WHERE asked.is_whole
    ), possible AS MATERIALIZED (
        SELECT c.*, p.*
        FROM choices AS c, LATERAL perfmodel.predict($1, $2, c.batch, $5, $6, $7, $8, $9, $10, 'null', $4, $11, $12, c.parallel) AS p
        WHERE p.step_ms IS NOT NULL
    ), checked AS MATERIALIZED (
        -- what cannot be asked at all is an error: that of the choice that says least
        SELECT CASE WHEN $13 <> '{}' AND NOT EXISTS (SELECT FROM choices) THEN
                   perfmodel.predict_train_time($1, $2, 1, $5, $6, $7, $8, $10, world_size => $4, nodes => $11, cluster => $12, parallel => $13) END AS given_ms,
               perfmodel.require(EXISTS (SELECT FROM choices), format('total_batch %s cannot be divided among %s GPUs', $3, $4),
                                 'Each copy of the model needs a whole number of samples, and tp, pp and cp, which make copies fewer, need the layers of a transformer.') AS divisible,
               CASE WHEN NOT EXISTS (SELECT FROM possible) THEN
                   (SELECT perfmodel.predict_train_time($1, $2, c.batch, $5, $6, $7, $8, $10, world_size => $4, nodes => $11, cluster => $12, parallel => c.parallel)
                    FROM choices AS c ORDER BY length(c.parallel::text), c.parallel LIMIT 1) END AS impossible_ms
        FROM asked WHERE asked.is_whole
    ), judged AS MATERIALIZED (
        SELECT DISTINCT ON (p.division) p.*, m.peak_mb, m.fits, m.p_fits
        FROM possible AS p, LATERAL perfmodel.predict_memory($1, $2, p.batch, $5, $6, $7, $10, world_size => $4, parallel => p.parallel) AS m
        -- of two that take the same time, the one that says less
        ORDER BY p.division, m.fits IS FALSE, CASE WHEN m.fits IS FALSE THEN m.peak_mb ELSE p.step_ms END, length(p.parallel::text), p.parallel
    ), fitting AS MATERIALIZED (
        -- what takes no longer and divides no more is there in its place
        SELECT j.*, j.step_ms <= 1.02 * min(j.step_ms) OVER () AS near
        FROM judged AS j
        WHERE j.fits IS NOT FALSE
              AND NOT EXISTS (SELECT FROM judged AS s
                              WHERE s.fits IS NOT FALSE AND s.step_ms <= j.step_ms AND s.division <> j.division AND s.division[1] <= j.division[1] AND s.division[2] <= j.division[2]
                                    AND s.division[3] <= j.division[3] AND s.division[4] <= j.division[4] AND s.division[5] <= j.division[5])
    ), kept AS (
        -- predictions do not tell 2 % apart: of the fastest, that which divides least
        SELECT f.*, CASE WHEN f.near THEN f.division[1]::float8 * f.division[2] * f.division[3] * f.division[4] * (1 + f.division[5]) ELSE 'Infinity' END AS place,
               CASE WHEN $3 % nullif($4, 0) <> 0 THEN format('total_batch %s is no multiple of world_size %s, so that divisions with more copies of the model are left out', $3, $4) END AS remark
        FROM fitting AS f
        UNION ALL
        SELECT j.*, false, j.peak_mb, 'no division fits into the memory of the GPU: those that need least come first'
        FROM judged AS j WHERE NOT EXISTS (SELECT FROM fitting)
    )
    SELECT row_number() OVER fastest, k.batch, k.parallel, k.step_ms, k.step_ms_low, k.step_ms_high, k.samples_per_s, k.peak_mb, k.fits, k.p_fits, k.in_domain,
           nullif(concat_ws('; ', k.remark, k.note), '')
    FROM checked AS c JOIN kept AS k ON c.divisible AND c.given_ms IS NULL AND c.impossible_ms IS NULL
    WINDOW fastest AS (ORDER BY k.place, k.step_ms, length(k.parallel::text), k.parallel)
    ORDER BY 1
    LIMIT $14;
END;
COMMENT ON FUNCTION perfmodel.best_parallel(bigint, text, integer, integer, text, text, text, text, float8, text, integer, text, jsonb, integer) IS
    'divisions of a model among GPUs that fit into their memory, the fastest first; fixed: given members of parallel';
