-- Trainings until a target is reached.

CREATE FUNCTION perfmodel.fit_convergence(batches float8[], samples float8[], reached integer[], runs integer[], phi float8, ask float8[],
                                          OUT batch float8, OUT expected_samples float8, OUT spread float8, OUT p_reached float8,
                                          OUT curve text, OUT critical_batch float8, OUT note text, OUT reasons text[])
    RETURNS SETOF record
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100000 ROWS 10 AS 'MODULE_PATHNAME', 'pm_fit_convergence';
COMMENT ON FUNCTION perfmodel.fit_convergence(float8[], float8[], integer[], integer[], float8, float8[]) IS
    'fits a curve to the samples that a target needs by batch size, and returns the samples for each batch in ask';

CREATE FUNCTION perfmodel.no_convergence(graph_id bigint, dataset text, target text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT 'perfmodel.convergence has no run of this network' || coalesce(' on dataset ' || quote_literal(nullif($2, '')), ' without a dataset')
           || coalesce(' to target ' || quote_literal(nullif($3, '')), '')
           || coalesce((SELECT format(', but on dataset %L to target %L: name these', c.dataset, c.target) FROM perfmodel.convergence AS c
                        WHERE c.graph_id = $1 AND c.reached AND (c.dataset, c.target) <> ($2, $3) ORDER BY c.dataset, c.target LIMIT 1),
                       ': insert what finished trainings needed');
END;
COMMENT ON FUNCTION perfmodel.no_convergence(bigint, text, text) IS
    'text: no run of a network on a dataset to a target is known, and which other runs are known';

CREATE FUNCTION perfmodel.samples_to_target(graph_id bigint, batches integer[], dataset text DEFAULT '', target text DEFAULT '',
                                            OUT batch integer, OUT expected_samples float8, OUT spread float8, OUT p_reached float8,
                                            OUT curve text, OUT critical_batch float8, OUT noise_scale float8, OUT note text, OUT reasons text[])
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE COST 200000 ROWS 10
BEGIN ATOMIC
    WITH known AS (
        SELECT c.batch::float8 AS batch, coalesce(exp(avg(ln(c.samples_to_target)) FILTER (WHERE c.reached)), 1) AS samples,
               (count(*) FILTER (WHERE c.reached))::integer AS reached, count(c.reached)::integer AS runs
        FROM perfmodel.convergence AS c
        WHERE c.graph_id = samples_to_target.graph_id AND c.dataset = samples_to_target.dataset AND c.target = samples_to_target.target AND c.reached IS NOT NULL
        GROUP BY c.batch
    ), noise AS (
        SELECT avg(c.grad_var) / nullif(avg(c.grad_sqr), 0) AS phi
        FROM perfmodel.convergence AS c
        WHERE c.graph_id = samples_to_target.graph_id AND c.dataset = samples_to_target.dataset AND c.grad_sqr IS NOT NULL AND c.grad_var IS NOT NULL
    ), arrays AS (
        SELECT array_agg(k.batch ORDER BY k.batch) AS batches, array_agg(k.samples ORDER BY k.batch) AS samples,
               array_agg(k.reached ORDER BY k.batch) AS reached, array_agg(k.runs ORDER BY k.batch) AS runs
        FROM known AS k
    ), fitted AS MATERIALIZED (
        SELECT f.*, n.phi
        FROM arrays AS a, noise AS n, LATERAL perfmodel.fit_convergence(a.batches, a.samples, a.reached, a.runs, n.phi,
                                                                             ARRAY(SELECT u.batch::float8 FROM unnest(samples_to_target.batches) AS u (batch) WHERE u.batch IS NOT NULL)) AS f
    )
    SELECT f.batch::integer, f.expected_samples, f.spread, f.p_reached, f.curve, f.critical_batch, f.phi, f.note, f.reasons
    FROM fitted AS f
    UNION ALL
    SELECT u.batch, NULL, NULL, NULL, NULL, NULL, NULL, 'no answer: ' || perfmodel.no_convergence($1, $3, $4), '{no_runs}'
    FROM unnest($2) AS u (batch) WHERE u.batch IS NOT NULL AND num_nulls($1, $3, $4) = 0 AND NOT EXISTS (SELECT FROM fitted);
END;
COMMENT ON FUNCTION perfmodel.samples_to_target(bigint, integer[], text, text) IS
    'samples that trainings need to reach a target, by total batch of all devices; from perfmodel.convergence';

CREATE FUNCTION perfmodel.total_batch(batch integer, world_size integer, parallel jsonb DEFAULT NULL) RETURNS integer
    LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'pm_total_batch';
COMMENT ON FUNCTION perfmodel.total_batch(integer, integer, jsonb) IS
    'samples between two updates on all devices together, if each copy of the model gets batch samples at a time';

CREATE FUNCTION perfmodel.time_to_target(graph_id bigint, gpu text, batch integer, dataset text DEFAULT '', target text DEFAULT '',
                                         world_size integer DEFAULT 1, dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw',
                                         framework text DEFAULT NULL, predictor text DEFAULT NULL, level float8 DEFAULT 0.9,
                                         optimizer text DEFAULT 'sgd_momentum', nodes integer DEFAULT NULL, cluster text DEFAULT NULL,
                                         parallel jsonb DEFAULT NULL, warmup_s float8 DEFAULT 60,
                                         OUT total_batch integer, OUT expected_samples float8, OUT steps float8, OUT seconds float8,
                                         OUT seconds_low float8, OUT seconds_high float8, OUT p_reached float8, OUT gpu_hours float8,
                                         OUT usd float8, OUT curve text, OUT note text)
    RETURNS record
    LANGUAGE sql STABLE PARALLEL SAFE COST 300000
BEGIN ATOMIC
    WITH b AS (
        SELECT perfmodel.total_batch($3, $6, $15) AS total
    ), expected AS MATERIALIZED (
        SELECT s.* FROM b, LATERAL perfmodel.samples_to_target($1, ARRAY[b.total], $4, $5) AS s
        -- more than predict_job takes: its error would speak of arguments that nobody has given
        WHERE s.expected_samples IS NOT NULL AND perfmodel.require(s.expected_samples <= 1e18::float8 AND ceil(s.expected_samples / s.batch) <= 1e15::float8,
                  format('the runs of network "%s" lead to %s samples at a total batch of %s, in %s steps', (SELECT g.name FROM perfmodel.graph AS g WHERE g.graph_id = $1),
                         ltrim(to_char(s.expected_samples, '9.9EEEE')), s.batch, ltrim(to_char(s.expected_samples / s.batch, '9.9EEEE'))),
                  format('Correct samples_to_target of graph_id %s, dataset %L, target %L in perfmodel.convergence: at most 1e+18 samples and 1e+15 steps can be.', $1, $4, $5))
    )
    -- the samples and the step are off for reasons of their own: their intervals add up as squares do
    SELECT s.batch, s.expected_samples, j.total_steps, j.seconds,
           j.seconds * exp(-sqrt(power(ln(j.seconds / j.seconds_low), 2) + power(z.deviations * s.spread, 2))),
           j.seconds * exp(sqrt(power(ln(j.seconds_high / j.seconds), 2) + power(z.deviations * s.spread, 2))),
           s.p_reached, j.gpu_hours, j.usd, s.curve,
           nullif(concat_ws('; ',
               -- a cost is asked for here, and no CO2, of which predict_job speaks last
               nullif(regexp_replace(j.note, '(^|; )no (energy and )?CO2: .*$', ''), ''),
               s.note,
               CASE WHEN s.curve = 'constant' THEN 'all batches are taken to need as many samples' END), '')
    FROM expected AS s,
         -- within so many standard deviations lies that share of a normal distribution (Winitzki's inverse of erf, to 0.2 %); of other levels predict_job says what is wrong
         LATERAL (SELECT CASE WHEN $11 BETWEEN 0.5 AND 0.999 THEN ln(1 - $11 * $11) END AS tail) AS t,
         LATERAL (SELECT sqrt(2 * (sqrt(power(4.33075 + t.tail / 2, 2) - t.tail / 0.147) - 4.33075 - t.tail / 2)) AS deviations) AS z,
         LATERAL perfmodel.predict_job($1, $2, $3, samples => s.expected_samples, warmup_s => $16, dtype => $7, layout => $8, framework => $9,
                                       predictor => $10, level => $11, optimizer => $12, world_size => $6, nodes => $13, cluster => $14, parallel => $15) AS j
    UNION ALL
    SELECT b.total, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
           'no answer: ' || perfmodel.no_convergence($1, $4, $5)
    FROM b WHERE b.total IS NOT NULL AND num_nulls($1, $2, $4, $5) = 0 AND NOT EXISTS (SELECT FROM expected);
END;
COMMENT ON FUNCTION perfmodel.time_to_target(bigint, text, integer, text, text, integer, text, text, text, text, float8, text, integer, text, jsonb, float8) IS
    'steps and seconds of a training until its target, with an interval, and the probability that it reaches the target';

CREATE FUNCTION perfmodel.goodput(graph_id bigint, gpu text, batch integer, base_batch integer, dataset text DEFAULT '', target text DEFAULT '',
                                  world_size integer DEFAULT 1, dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw',
                                  framework text DEFAULT NULL, predictor text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum',
                                  nodes integer DEFAULT NULL, cluster text DEFAULT NULL, parallel jsonb DEFAULT NULL,
                                  OUT total_batch integer, OUT samples_per_s float8, OUT efficiency float8, OUT goodput_per_s float8,
                                  OUT note text)
    RETURNS record
    LANGUAGE sql STABLE PARALLEL SAFE COST 300000
BEGIN ATOMIC
    WITH b AS (
        SELECT perfmodel.total_batch($3, $7, $15) AS total
        WHERE perfmodel.require($4 IS NULL OR $4 >= 1, 'base_batch must be at least 1, not ' || $4, 'It is the total batch of all devices to compare with.')
    ), s AS (
        SELECT min(t.expected_samples) FILTER (WHERE t.batch = $4) / min(t.expected_samples) FILTER (WHERE t.batch = b.total) AS efficiency,
               min(t.curve) AS curve, string_agg(DISTINCT t.note, '; ') AS note
        FROM b, LATERAL perfmodel.samples_to_target($1, ARRAY[$4, b.total], $5, $6) AS t
        WHERE t.expected_samples IS NOT NULL
    )
    SELECT b.total, p.samples_per_s, s.efficiency, p.samples_per_s * s.efficiency,
           nullif(concat_ws('; ', p.note,
               CASE WHEN num_nulls($1, $4, $5, $6, b.total) > 0 THEN NULL
                    WHEN s.efficiency IS NULL THEN 'no efficiency: ' || perfmodel.no_convergence($1, $5, $6) END,
               CASE WHEN num_nulls($1, $4, $5, $6, b.total) = 0 THEN s.note END,
               CASE WHEN num_nulls($1, $4, $5, $6, b.total) > 0 THEN NULL
                    WHEN s.curve = 'constant' THEN 'all batches are taken to need as many samples' END), '')
    FROM b, s, LATERAL perfmodel.predict($1, $2, $3, dtype => $8, layout => $9, framework => $10, predictor => $11, optimizer => $12,
                                         world_size => $7, nodes => $13, cluster => $14, parallel => $15) AS p;
END;
COMMENT ON FUNCTION perfmodel.goodput(bigint, text, integer, integer, text, text, integer, text, text, text, text, text, integer, text, jsonb) IS
    'samples per second, weighted by how much they help compared with base_batch (total batches of all devices)';

CREATE FUNCTION perfmodel.best_batch(graph_id bigint, gpu text, dataset text DEFAULT '', target text DEFAULT '', world_size integer DEFAULT 1,
                                     deadline interval DEFAULT NULL, batches integer[] DEFAULT '{1,2,4,8,16,32,64,128,256,512,1024,2048}',
                                     dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw', framework text DEFAULT NULL,
                                     predictor text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum', nodes integer DEFAULT NULL,
                                     cluster text DEFAULT NULL, parallel jsonb DEFAULT NULL,
                                     OUT batch integer, OUT total_batch integer, OUT seconds float8, OUT seconds_low float8,
                                     OUT seconds_high float8, OUT gpu_hours float8, OUT usd float8, OUT fits boolean, OUT p_fits float8,
                                     OUT in_time boolean, OUT best boolean, OUT note text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE COST 1000000 ROWS 12
BEGIN ATOMIC
    WITH asked AS (
        SELECT u.batch, t.*, m.fits, m.p_fits, t.seconds <= extract(epoch FROM $6) AS in_time
        FROM (SELECT DISTINCT b.batch FROM unnest($7) AS b (batch) WHERE b.batch IS NOT NULL) AS u, LATERAL perfmodel.time_to_target($1, $2, u.batch, $3, $4, $5, dtype => $8, layout => $9, framework => $10,
                                                                        predictor => $11, optimizer => $12, nodes => $13, cluster => $14, parallel => $15) AS t,
             LATERAL perfmodel.predict_memory($1, $2, u.batch, $8, $9, $10, $12, world_size => $5, parallel => $15) AS m
    ), ranked AS (
        -- of batches that are late, the one that is least so
        SELECT a.batch, row_number() OVER (ORDER BY a.in_time DESC NULLS LAST, CASE WHEN a.in_time THEN coalesce(a.usd, a.gpu_hours) END, a.seconds) AS place
        FROM asked AS a WHERE a.fits AND a.seconds IS NOT NULL
    ), checked AS MATERIALIZED (
        SELECT perfmodel.require($6 IS NULL OR $6 > '0'::interval, 'deadline must be above 0, not ' || $6, 'It is the time that the training may take, such as deadline => ''8 hours''.')
               AND perfmodel.notice_short('deadline', $6, '10 minutes', 'hardly any training ends in so short a time', '8 hours') AS is_time
    )
    SELECT a.batch, a.total_batch, a.seconds, a.seconds_low, a.seconds_high, a.gpu_hours, a.usd, a.fits, a.p_fits, a.in_time,
           coalesce(r.place = 1 AND a.in_time IS NOT FALSE, false),
           nullif(concat_ws('; ', CASE WHEN r.place = 1 AND NOT a.in_time THEN 'no batch that fits meets the deadline: this one is nearest to it' END, a.note), '')
    FROM checked AS c JOIN asked AS a ON c.is_time LEFT JOIN ranked AS r ON r.batch = a.batch ORDER BY a.batch;
END;
COMMENT ON FUNCTION perfmodel.best_batch(bigint, text, text, text, integer, interval, integer[], text, text, text, text, text, integer, text, jsonb) IS
    'time to the target for batches of one device; best: the fastest that fits, or the cheapest before a deadline';
