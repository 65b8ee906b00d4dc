-- Run by bench/memory.sh.
SET client_min_messages = warning;
CREATE EXTENSION perfmodel;
CREATE UNLOGGED TABLE doc (j jsonb);
\copy doc from '@work@/timm.ndjson' with (format csv, quote e'\x01', delimiter e'\x02')
\o /dev/null
SELECT count(perfmodel.load_graph(j, 'timm ' || (j ->> 'name'))) FROM doc;
\cd @root@
\i demo/sample_graphs.sql
\i demo/sample_measurements.sql
\o
CREATE FUNCTION pg_temp.mape(float8[]) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' / ', round(100 * avg(abs(e))::numeric, 1), round(100 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(e))::numeric, 1),
                     round(100 * percentile_cont(0.9) WITHIN GROUP (ORDER BY abs(e))::numeric, 1)) FROM unnest($1) AS e $$;
-- a family is in one of five folds, whatever its networks are called
CREATE FUNCTION pg_temp.fold(text) RETURNS int LANGUAGE sql AS $$ SELECT (hashtextextended($1, 1) & 1023)::int % 5 $$;

\echo 'Brackets on an RTX 3090 (timm, mixed precision): factors from four fifths of the families, the fifth left out'
CREATE TABLE bracket (graph text, gpu text, batch int, next int, dtype text, layout text, framework text, step_ms float8);
\copy bracket from '@work@/brackets.csv' with (format csv)
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, step_ms, oom_batch, source)
SELECT graph_id, gpu, batch, dtype, layout, framework, step_ms, next, 'bracket' FROM bracket AS b JOIN perfmodel.graph AS g ON g.name = 'timm ' || b.graph;
CREATE TABLE judged (how text, fold int, framework text, graph_id bigint, p_here float8, p_up float8, p_below float8, p_above float8, need_share float8);
CREATE PROCEDURE judge(how text, fold int) LANGUAGE sql AS $$
    INSERT INTO judged
    SELECT how, fold, p.framework, p.graph_id, h.p_fits, u.p_fits, b.p_fits, a.p_fits, NULL
    FROM perfmodel.profile AS p JOIN perfmodel.graph AS g USING (graph_id),
         LATERAL perfmodel.predict_memory(p.graph_id, p.gpu, p.batch, p.dtype, p.layout, p.framework) AS h,
         LATERAL perfmodel.predict_memory(p.graph_id, p.gpu, p.oom_batch, p.dtype, p.layout, p.framework) AS u,
         LATERAL perfmodel.predict_memory(p.graph_id, p.gpu, greatest(1, p.batch * 2 / 3), p.dtype, p.layout, p.framework) AS b,
         LATERAL perfmodel.predict_memory(p.graph_id, p.gpu, p.oom_batch * 3 / 2, p.dtype, p.layout, p.framework) AS a
    WHERE p.source = 'bracket' AND (fold IS NULL OR pg_temp.fold(g.family) = fold) $$;
CALL judge('as shipped', NULL);
DO $$
BEGIN
    FOR f IN 0..4 LOOP
        PERFORM perfmodel.calibrate_memory(ARRAY(SELECT profile_id FROM perfmodel.profile JOIN perfmodel.graph AS g USING (graph_id)
                                                 WHERE profile.source = 'bracket' AND pg_temp.fold(g.family) <> f));
        CALL judge('families left out', f);
    END LOOP;
END $$;
DELETE FROM perfmodel.memory_factor;
SELECT how, coalesce(framework, 'all') AS framework, count(*) AS rows, count(DISTINCT graph_id) AS networks,
       round(100 * avg((p_here >= 0.5 AND p_up < 0.5)::int), 1) AS exact_pct, round(100 * avg((p_below >= 0.5 AND p_above < 0.5)::int), 1) AS within_one_pct,
       round(100.0 * count(*) FILTER (WHERE p_up >= 0.95) / nullif(count(*) FILTER (WHERE p_here >= 0.95 OR p_up >= 0.95), 0), 1) AS oom_when_sure_pct,
       round(100 * avg((p_here >= 0.95)::int), 1) AS sure_of_what_fits_pct
FROM judged GROUP BY GROUPING SETS ((how, framework), (how)) ORDER BY how, framework;

\echo 'Peaks of torchvision networks, fp32 (schedtune); the context of each card is the mean of those of the other two'
CREATE TABLE peak (model text, gpu text, batch int, options text, mib float8);
\copy peak from '@work@/schedtune.csv' with (format csv)
INSERT INTO perfmodel.gpu (name, memory_gb, mem_bw_gbs, fp32_tflops) VALUES ('RTX 3070', 8, 448, 20.3) ON CONFLICT DO NOTHING;
CREATE TABLE answer AS
SELECT p.gpu, p.model, p.batch, mib, m.*, m.peak_mb - m.context_mb + CASE p.gpu WHEN 'V100' THEN 1240 WHEN 'RTX 3090' THEN 1205 ELSE 1275 END AS left_out
FROM peak AS p JOIN perfmodel.graph AS g ON g.name = 'timm ' || p.model || '@224',
     LATERAL perfmodel.predict_memory(g.graph_id, p.gpu, p.batch, framework => 'pytorch 1.9') AS m WHERE p.gpu IN ('V100', 'RTX 3090', 'RTX 3070');
SELECT coalesce(gpu, 'all') AS gpu, count(*) AS rows, count(DISTINCT model) AS networks, pg_temp.mape(array_agg(left_out / mib - 1)) AS "mean / median / p90 %",
       round(100 * avg((mib BETWEEN low AND high)::int), 1) AS coverage_pct FROM answer GROUP BY GROUPING SETS ((gpu), ()) ORDER BY gpu;

\echo 'The same rows by kind: a fifth of the networks left out at a time, then a card; what ships knows the contexts of these cards'
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms, peak_memory_mb, source)
SELECT graph_id, gpu, batch, 'pytorch 1.9', 1, mib, 'schedtune' FROM peak AS p JOIN perfmodel.graph AS g ON g.name = 'timm ' || p.model || '@224' WHERE gpu IN ('V100', 'RTX 3090', 'RTX 3070');
SELECT split, kind, n, round(mape_pct::numeric, 1) AS mape_pct, round(mae_mb::numeric) AS mae_mb
FROM perfmodel.leaderboard(splits => '{structure,gpu}', quantity => 'peak_memory_mb', profiles => ARRAY(SELECT profile_id FROM perfmodel.profile WHERE source = 'schedtune'));

\echo 'Peaks of timm networks on an A100, fp32 (gpumemnet): nothing fitted but one offset; of two image sizes the smaller, at which timm trains'
CREATE TABLE everything (model text, gpu text, batch int, options text, mib float8);
\copy everything from '@work@/gpumemnet.csv' with (format csv)
CREATE VIEW seen AS SELECT * FROM everything WHERE options LIKE 'status=ok%';
CREATE TABLE one_size AS SELECT DISTINCT ON (1) split_part(substr(name, 6), '@', 1) AS model, graph_id, family FROM perfmodel.graph WHERE name LIKE 'timm %'
ORDER BY 1, split_part(name, '@', 2)::int;
CREATE TABLE against AS SELECT s.model, o.family, s.batch, s.mib, m.* FROM seen AS s JOIN one_size AS o USING (model), perfmodel.predict_memory(o.graph_id, 'A100-SXM4-40GB', s.batch) AS m;
WITH o AS (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY mib - peak_mb) AS mb FROM against)
SELECT count(*) AS rows, count(DISTINCT model) AS networks, round(max(o.mb)) AS offset_mb, pg_temp.mape(array_agg((peak_mb + o.mb) / mib - 1)) AS "mean / median / p90 %",
       pg_temp.mape(array_agg(peak_mb / mib - 1)) AS "without the offset", round(100 * avg((mib BETWEEN low AND high)::int), 1) AS coverage_pct FROM against, o;

\echo 'The same source: rows that ran, and rows whose peak is over 38,500 MB, which have probably run out of memory'
SELECT split_part(options, ';', 1) AS status, count(*) AS rows, count(*) FILTER (WHERE p_fits >= 0.95) AS fits, count(*) FILTER (WHERE p_fits >= 0.5) AS rather_fits
FROM everything JOIN one_size USING (model), perfmodel.predict_memory(graph_id, 'A100-SXM4-40GB', batch) WHERE options ~ '^status=(ok|oom_suspect)' GROUP BY 1 ORDER BY 1;

\echo 'Peaks on a CPU (data/): a fifth of the networks left out at a time'
SELECT peaks, networks, round(mape_before_pct::numeric, 1) AS as_shipped_pct, round(mape_pct::numeric, 1) AS left_out_pct
FROM perfmodel.calibrate_memory(ARRAY(SELECT profile_id FROM perfmodel.profile WHERE peak_memory_mb > 0 AND source NOT IN ('bracket', 'schedtune')));

\echo 'Time: a question that has to be simulated (the least of three optimizers, whose steps are alike), and one about a graph that is known'
CREATE TEMP TABLE took (what text, us float8);
DO $$
DECLARE
    g bigint;
    o text;
    us float8;
    t timestamptz;
BEGIN
    FOR g IN SELECT graph_id FROM perfmodel.graph WHERE name LIKE 'timm %' ORDER BY hashint8(graph_id) LIMIT 300 LOOP
        PERFORM count(*) FROM perfmodel.memory_timeline(g, 'V100', 1, points => 1);
        us := 'infinity';
        FOREACH o IN ARRAY '{adam,adamw,other}'::text[] LOOP
            t := clock_timestamp();
            PERFORM perfmodel.predict_memory(g, 'V100', 64, optimizer => o);
            us := least(us, 1e6 * extract(epoch FROM clock_timestamp() - t));
        END LOOP;
        INSERT INTO took VALUES ('first time of a parsed graph', us);
    END LOOP;
    t := clock_timestamp();
    PERFORM count(m.peak_mb) FROM generate_series(1, 100000) AS b, perfmodel.predict_memory(g, 'V100', b, optimizer => 'adam') AS m;
    INSERT INTO took VALUES ('known graph', 10 * extract(epoch FROM clock_timestamp() - t));
END $$;
SELECT what, count(*) AS n, round(percentile_cont(0.5) WITHIN GROUP (ORDER BY us)::numeric, 1) AS median_us, round(percentile_cont(0.9) WITHIN GROUP (ORDER BY us)::numeric, 1) AS p90_us,
       round(max(us)::numeric, 1) AS most_us
FROM took GROUP BY what ORDER BY what;
