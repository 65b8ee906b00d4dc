-- How many networks it takes until drift() proves a shift, on the measurements
-- that come with perfmodel: a predictor that has learned from half of the
-- models is judged on the others, as they are, 15 % slower, and 13 % shorter,
-- in 100 random orders of the networks.
--     test/private.sh psql -f bench/drift.sql
\set QUIET on
SET client_min_messages = warning;
\i demo/sample_graphs.sql
\i demo/sample_measurements.sql
SELECT perfmodel.train('half', 'opclass', profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile JOIN perfmodel.graph USING (graph_id)
                                                       WHERE ('x' || left(md5('d' || model), 7))::bit(28)::int % 2 = 0)) > 0 AS trained \gset
CREATE TEMP TABLE judged AS SELECT 1.0 AS factor, * FROM perfmodel.residuals('half');
UPDATE perfmodel.profile SET step_ms = step_ms * 1.15;
INSERT INTO judged SELECT 1.15, * FROM perfmodel.residuals('half');
UPDATE perfmodel.profile SET step_ms = step_ms / 1.15 / 1.15;
INSERT INTO judged SELECT 0.87, * FROM perfmodel.residuals('half');
UPDATE perfmodel.profile SET step_ms = step_ms * 1.15;
SELECT count(*) AS measurements, count(DISTINCT network) AS networks, count(*) FILTER (WHERE in_domain) AS in_domain,
       count(DISTINCT network) FILTER (WHERE in_domain) AS networks_in_domain,
       round(stddev(ln(measured_ms / predicted_ms)) FILTER (WHERE in_domain)::numeric, 3) AS deviation
FROM judged WHERE factor = 1;
WITH ordered AS (
    SELECT j.*, seed, dense_rank() OVER (PARTITION BY factor, seed ORDER BY md5(seed || '/' || network)) AS nth
    FROM judged AS j, generate_series(1, 100) AS seed WHERE in_domain
), looked AS (
    SELECT factor, seed, k, (perfmodel.drift_evidence(array_agg(network ORDER BY nth, profile_id), array_agg(rank_low ORDER BY nth, profile_id),
                                                      array_agg(rank_high ORDER BY nth, profile_id), (SELECT min(k.networks) FROM perfmodel.known_gpus('half') AS k WHERE k.networks >= 20))).e_value AS e
    FROM ordered, generate_series(1, 60) AS k WHERE nth <= k GROUP BY factor, seed, k
), found AS (
    SELECT factor, seed, min(k) FILTER (WHERE e >= 20) AS networks FROM looked GROUP BY factor, seed
)
SELECT factor, count(*) AS orders, count(networks) AS alarms_within_60, count(*) FILTER (WHERE networks <= 10) AS within_10,
       percentile_disc('{0.1,0.5,0.9}'::float8[]) WITHIN GROUP (ORDER BY coalesce(networks, 999)) AS networks_until_the_alarm
FROM found GROUP BY factor ORDER BY factor;
