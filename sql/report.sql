-- Reports: whole pages, of hostile names too, that stay small whatever the
-- history; test/report.sh looks at one in a browser.
SET client_min_messages = warning;
SET timezone = 'UTC';
BEGIN;
CREATE SCHEMA "a report";
CREATE FUNCTION pg_temp.times(part text, whole text) RETURNS int LANGUAGE sql AS
    $$SELECT (length(whole) - length(replace(whole, part, ''))) / length(part)$$;
-- what every page must be
CREATE FUNCTION pg_temp.wrong(page text) RETURNS text[] LANGUAGE sql AS $$
    SELECT array_remove(ARRAY[
        CASE WHEN page NOT LIKE '<!DOCTYPE html>%</html>' THEN 'not a page' END,
        (SELECT 'long line: ' || min(l) FROM string_to_table(page, E'\n') AS l WHERE octet_length(l) > 120),
        CASE WHEN octet_length(page) > 1000000 THEN 'large' END,
        -- the page's own script, which its policy knows, and data, which are no script; nothing else
        CASE WHEN replace(replace(page, E'<script>' || perfmodel.report_script() || E'</script>\n', ''), '<script type="application/json" class="marks">', '') ~* '<script|javascript:|onload=|onclick=|<b>|<iframe' THEN 'words of users are markup' END,
        CASE WHEN pg_temp.times('<script>', page) <> pg_temp.times('script-src ''sha256-' || encode(sha256(convert_to(perfmodel.report_script(), 'UTF8')), 'base64') || '''">', page)
               OR pg_temp.times('<script', page) <> pg_temp.times('</script>', page) THEN 'scripts that the policy does not know' END,
        CASE WHEN page NOT LIKE '%content="default-src ''none''; style-src ''unsafe-inline''%' THEN 'no policy' END,
        (SELECT 'data that are no JSON' FROM regexp_matches(page, '<script type="application/json" class="marks">(.*?)</script>', 'g') AS m WHERE m[1]::json ->> 'form' IS NULL LIMIT 1),
        -- no address but the name of SVG
        CASE WHEN regexp_replace(page, 'xmlns="http://www.w3.org/2000/svg"', '', 'g') ~* '(src|href)="[^#]|https?://|url\(|@import' THEN 'asks the network' END,
        CASE WHEN pg_temp.times('<figure', page) <> pg_temp.times('</figure>', page) OR pg_temp.times('<div', page) <> pg_temp.times('</div>', page)
               OR pg_temp.times('<svg', page) <> pg_temp.times('</svg>', page) OR pg_temp.times('<table', page) <> pg_temp.times('</table>', page)
               OR pg_temp.times('<section', page) <> pg_temp.times('</section>', page) THEN 'tags that are not closed' END,
        CASE WHEN pg_temp.times('>SQL of this figure<', page) <> pg_temp.times('<figure', page) THEN 'figures without SQL' END], NULL)
$$;
DELETE FROM perfmodel.profile;
SELECT count(perfmodel.load_graph(helper.cnn(name, 16 + 8 * depth, depth)))
FROM (VALUES (2, 'report@</script><script>alert(1)</script>'), (3, 'report@<b>&amp;"'''), (4, 'report@' || repeat('x', 200)), (5, 'report@5'), (6, 'report@6'),
      (7, 'report@7'), (8, 'report@8'), (9, 'report@9'), (10, 'report@10'), (11, 'report@11'), (12, 'report@12'), (13, 'report@13'), (14, 'report@14')) AS g(depth, name);
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms, measured_at)
SELECT g.graph_id, d.gpu, batch, 'pytorch <2.1>', (0.05 * g.nodes + 3 * batch * f.flops / (d.tflops * 1e9)) * (1 + 0.03 * sin(g.nodes)), '2026-03-01'::timestamptz + interval '5 hours' * row_number() OVER (ORDER BY g.graph_id, d.gpu, batch)
FROM perfmodel.graph AS g, LATERAL (SELECT sum(flops_forward) AS flops FROM perfmodel.graph_node AS n WHERE n.graph_id = g.graph_id) AS f,
     (VALUES ('T4', 8.1 * 0.4), ('RTX 3090', 35.6 * 0.5)) AS d(gpu, tflops), unnest('{8,64}'::int[]) AS batch
WHERE g.name LIKE 'report@%' ORDER BY g.graph_id, d.gpu, batch;
SELECT perfmodel.train('</script> of the report', 'opclass', profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE batch = 8 OR graph_id IN (SELECT graph_id FROM perfmodel.graph WHERE nodes / 3 % 2 > 0))) > 0 AS trained;
CREATE TABLE "a report"."job </script>" AS
SELECT '2026-01-05'::timestamptz + interval '7 minutes' * i AS submitted_at, 'team <b>' || i % 200 AS "account's", (ARRAY['T4', 'RTX 3090', 'no <b> card', NULL])[1 + i % 4] AS gpu,
       1 + i % 8 AS gpu_count, 60.0 * (i % 97) AS duration_s, (SELECT graph_id FROM perfmodel.graph WHERE name LIKE 'report@%' ORDER BY graph_id OFFSET i % 14 LIMIT 1) AS graph_id, 8 << (i % 4) AS batch
FROM generate_series(1, 5000) AS i;
SELECT perfmodel.report('"a report"."job </script>"', columns => $${"team": "account's"}$$, predictor => '</script> of the report', title => '</script> <b>') AS page \gset
SELECT pg_temp.wrong(:'page') AS wrong, pg_temp.times('<svg', :'page') AS plots, pg_temp.times('<figure', :'page') AS figures, pg_temp.times('<table', :'page') AS tables;
SELECT array_agg(m[1]) AS titles FROM regexp_matches(:'page', '<h[123][^>]*>([^<]*)</h', 'g') AS m;
SELECT array_agg(m[1]) AS tiles FROM regexp_matches(:'page', '<dd[^>]*>\s*([^<]*)<', 'g') AS m;
-- the name of a network may be cut off; its share of the hours is not
SELECT count(*) AS cut, bool_and(m[1] ~ '^\d+\.\d %, ') AS with_share FROM regexp_matches(:'page', '>([^<>]*report@x[^<>]*&#8230;)<', 'g') AS m;
-- the SQL that a figure shows is what made it: each runs
CREATE FUNCTION pg_temp.shown(page text) RETURNS SETOF text LANGUAGE sql AS
    $$SELECT replace(replace(replace(replace(replace(replace(m[1], E'<wbr\n>', ''), '&lt;', '<'), '&gt;', '>'), '&quot;', '"'), '&#39;', ''''), '&amp;', '&') FROM regexp_matches(page, '<pre>(.*?)</pre>', 'g') AS m$$;
CREATE FUNCTION pg_temp.rows(query text) RETURNS bigint LANGUAGE plpgsql AS $$DECLARE n bigint; BEGIN EXECUTE format('SELECT count(*) FROM (%s) AS q', query) INTO n; RETURN n; END$$;
SELECT count(*) AS queries, bool_and(pg_temp.rows(query) > 0) AS all_answer FROM pg_temp.shown(:'page') AS query;
-- data for looking into figures: of those over time and of dots; words joined are the words, cut like those of the SVG
SELECT j ->> 'form' AS form, j -> 'x' ->> 'scale' AS x_scale, json_array_length(j -> 'marks') > 10 AS marks, (SELECT array_agg(array_to_string(ARRAY(SELECT json_array_elements_text(s)), '')) FROM json_array_elements(j -> 'series') AS s) AS series
FROM (SELECT m[1]::json AS j FROM regexp_matches(:'page', '<script type="application/json" class="marks">(.*?)</script>', 'g') AS m) AS data;
-- without them, no script at all, and the same figures
SELECT perfmodel.report('"a report"."job </script>"', columns => $${"team": "account's"}$$, predictor => '</script> of the report', title => '</script> <b>', zoom => false) AS plain \gset
SELECT pg_temp.wrong(:'plain') AS wrong, pg_temp.times('<svg', :'plain') = pg_temp.times('<svg', :'page') AS same_plots, :'plain' ~* '<script|script-src' AS script;
-- a part of the time; none; no jobs at all; no measurements
SELECT pg_temp.wrong(page) AS wrong, (regexp_match(page, 'Jobs submitted[^<]*'))[1] AS says
FROM perfmodel.report('"a report"."job </script>"', '2026-01-06', '2026-01-07', $${"team": "account's"}$$, '</script> of the report') AS page;
SELECT pg_temp.wrong(page) AS wrong, page LIKE '%No jobs in this time.%' AS says FROM perfmodel.report('"a report"."job </script>"', '2030-01-01', predictor => '</script> of the report') AS page;
SELECT pg_temp.wrong(page) AS wrong, pg_temp.times('id="jobs"', page) AS jobs FROM perfmodel.report(predictor => '</script> of the report') AS page;
SELECT pg_temp.wrong(page) AS wrong, pg_temp.times('>A100', page) > 0 AS asked FROM perfmodel.report('"a report"."job </script>"', predictor => '</script> of the report', alternatives => '{a100}') AS page;
-- history and queue in one table: what has ended ran; in a table without ends, what has begun; without starts, what has a duration
CREATE TABLE "a report".log AS SELECT submitted_at, gpu, graph_id, batch, i % 3 AS state, CASE WHEN i % 3 < 2 THEN submitted_at + interval '1 hour' END AS started_at,
       CASE i % 3 WHEN 0 THEN submitted_at + interval '2 hours' END AS finished_at, CASE i % 3 WHEN 0 THEN 3600 WHEN 1 THEN 60 END AS duration_s
FROM (SELECT j.*, row_number() OVER (ORDER BY submitted_at) AS i FROM "a report"."job </script>" AS j WHERE gpu = 'T4' LIMIT 30) AS j;
ALTER TABLE "a report".log ADD ended int, ADD "end" text, ADD stop float8;
UPDATE "a report".log SET ended = CASE state WHEN 0 THEN 1700000000 ELSE 0 END, "end" = CASE state WHEN 0 THEN '2026-01-05T10:00:00' ELSE 'Unknown' END, stop = CASE state WHEN 0 THEN 1.7e9 ELSE 'NaN' END;
CREATE FUNCTION pg_temp.seconds(query text) RETURNS text LANGUAGE plpgsql AS $$DECLARE s text; BEGIN EXECUTE format('SELECT count(*) || '' jobs, '' || coalesce(sum(duration_s), 0) || '' s'' FROM (%s) AS j', query) INTO s; RETURN s; END$$;
SELECT c, pg_temp.seconds(perfmodel.report_jobs('"a report".log', c::jsonb)) AS ran, pg_temp.seconds(perfmodel.report_jobs('"a report".log', c::jsonb, ran => false)) AS others
FROM unnest(ARRAY['{}', '{"finished_at": "ended"}', '{"finished_at": "end"}', '{"finished_at": "stop"}', '{"finished_at": null}', '{"finished_at": null, "started_at": null}']) AS c;
SELECT translate((regexp_match(page, 'Jobs submitted[^<]*'))[1], E'\n', ' ') AS says, (regexp_match(page, '<dt>jobs</dt><dd[^>]*>\s*([^<]*)<'))[1] AS jobs
FROM perfmodel.report('"a report".log', predictor => '</script> of the report') AS page;
-- a table with names, numbers as text and intervals; each network by its name, however it is spelt
CREATE DOMAIN "a report".amount AS int; -- a domain is what it is over
CREATE TABLE "a report".text_job AS SELECT submitted_at::timestamp AS at, make_interval(secs => duration_s::float8) AS took, CASE WHEN i % 10 = 0 THEN 'our_net' ELSE upper(g.name) END AS "Network",
       gpu::varchar AS device, CASE WHEN i % 7 = 0 THEN ' ' ELSE ' ' || batch || '.0' END AS bs, gpu_count::"a report".amount AS n, "account's" AS team
FROM (SELECT j.*, row_number() OVER (ORDER BY submitted_at) AS i FROM "a report"."job </script>" AS j WHERE gpu = 'T4') AS j JOIN perfmodel.graph AS g USING (graph_id);
SELECT perfmodel.report('"a report".text_job', columns => '{"submitted_at": "at", "duration_s": "took", "graph": "Network", "gpu": "device", "batch": "bs", "gpu_count": "n"}', predictor => '</script> of the report',
                        alternatives => '{T4,L4}') AS page \gset
SELECT pg_temp.wrong(:'page') AS wrong, (regexp_match(:'page', 'Jobs submitted[^<]*'))[1] AS says, :'page' LIKE '%predicted, out of the domain%' AS marked;
SELECT count(*) AS queries, bool_and(pg_temp.rows(query) > 0) AS all_answer FROM pg_temp.shown(:'page') AS query;
-- the whiskers are the sums of the ends of all intervals
SELECT query FROM pg_temp.shown(:'page') AS query WHERE query LIKE '%card_sum%' \gset
CREATE FUNCTION pg_temp.bars(query text) RETURNS TABLE (label text, series text, x float8, low float8, high float8, nth bigint) LANGUAGE plpgsql AS $$BEGIN RETURN QUERY EXECUTE query; END$$;
SELECT label, series, x > 0 AS positive, low < x AND x < high AS within FROM pg_temp.bars(:'query') ORDER BY nth;
SELECT abs(b.x - s.x) < 1e-6 * s.x AS sum, abs(b.low - s.low) < 1e-6 * s.low AS low, abs(b.high - s.high) < 1e-6 * s.high AS high
FROM pg_temp.bars(:'query') AS b, (SELECT sum(h * p.step_ms) AS x, sum(h * p.step_ms_low) AS low, sum(h * p.step_ms_high) AS high
    FROM (SELECT g.graph_id, CASE WHEN trim(bs) <> '' THEN bs::numeric::int END AS batch, n * extract(epoch FROM took) / 3600 AS hours FROM "a report".text_job JOIN perfmodel.graph AS g ON upper(g.name) = "Network") AS j,
         LATERAL (SELECT j.hours / perfmodel.predict_train_time(j.graph_id, 'T4', j.batch, predictor => '</script> of the report') AS h) AS a,
         perfmodel.predict(j.graph_id, 'L4', j.batch, 'amp', predictor => '</script> of the report') AS p WHERE j.batch > 0) AS s
WHERE b.label = 'L4';
-- numbers of graphs count before names, unless columns says names, and names where there is no number
CREATE TABLE "a report".both AS SELECT "account's" AS team, submitted_at, duration_s, gpu, batch, graph_id, 'report@5' AS graph FROM "a report"."job </script>";
SELECT c.columns, query LIKE '%resolve_job_names%' AS by_name FROM (VALUES ('{}'), ('{"graph": "graph"}'), ('{"graph_id": "graph_id", "graph": "graph"}'), ('{"graph": null}'), ('{"graph_id": null}')) AS c(columns),
     perfmodel.report_jobs('"a report".both', c.columns::jsonb) AS query;
-- NULL is {}
CREATE TABLE "a report".named AS SELECT submitted_at, duration_s, gpu, batch, graph FROM "a report".both;
SELECT j AS jobs, perfmodel.report_jobs(j, NULL) = perfmodel.report_jobs(j, '{}') AS same FROM unnest('{log,both,named}'::text[]) AS t, LATERAL (SELECT format('"a report".%I', t)::regclass AS j) AS j;
-- plans and nights have the same rule
CREATE TABLE "a report".by_either AS SELECT job_id, CASE job_id WHEN 'number' THEN g.graph_id WHEN 'wrong number' THEN 0 END AS graph_id, CASE WHEN job_id <> 'number' THEN 'report@5' END AS graph,
    CASE job_id WHEN 'name' THEN 'report@6' END AS network, 'T4' AS gpu, 8 AS batch, 100 AS steps, now() - interval '1 day' AS submitted_at, now() - interval '1 hour' AS finished_at, 600 AS duration_s
FROM unnest('{number,name,wrong number}'::text[]) AS job_id, perfmodel.graph AS g WHERE g.name = 'report@7';
CREATE FUNCTION pg_temp.names(query text) RETURNS text[] LANGUAGE plpgsql AS $$DECLARE names text[]; BEGIN EXECUTE format('SELECT array_agg(g.name ORDER BY g.name) FROM (%s) AS j JOIN perfmodel.graph AS g USING (graph_id)', query) INTO names; RETURN names; END$$;
CREATE FUNCTION pg_temp.collected(columns jsonb) RETURNS text[] LANGUAGE plpgsql AS $$DECLARE names text[]; BEGIN
    PERFORM perfmodel.collect_from_jobs('"a report".by_either', columns, since => '2020-01-01', source => 'by_either', min_steps => 1);
    names := pg_temp.names('SELECT graph_id FROM perfmodel.profile WHERE source = ''by_either''');
    DELETE FROM perfmodel.profile WHERE source = 'by_either';
    RETURN names; END$$;
SELECT c.columns, pg_temp.names(perfmodel.report_jobs('"a report".by_either', c.columns::jsonb)) AS reported, pg_temp.collected(c.columns::jsonb) AS collected,
     (SELECT array_agg(job_id ORDER BY job_id) FROM perfmodel.forecast_jobs('"a report".by_either', c.columns::jsonb || '{"finished_at": null, "duration_s": null}', '</script> of the report') WHERE step_ms IS NOT NULL) AS planned
FROM (VALUES ('{}'), ('{"graph": "graph"}'), ('{"graph": "network"}'), ('{"graph_id": "graph_id", "graph": "network"}'), ('{"graph_id": "graph_id"}'), ('{"graph": null}'), ('{"graph_id": null}')) AS c(columns);
-- names of one's own: of GPUs and formats with numbers of graphs, and of all three
INSERT INTO perfmodel.name_alias (kind, alias, name) SELECT 'graph', 'our_net', name FROM perfmodel.graph WHERE name = 'report@5';
SELECT (regexp_match(page, 'Jobs submitted[^<]*'))[1] AS says FROM perfmodel.report('"a report".text_job', columns => '{"submitted_at": "at", "duration_s": "took", "graph": "Network", "gpu": "device", "batch": "bs"}', predictor => '</script> of the report') AS page;
INSERT INTO perfmodel.name_alias (kind, alias, name) VALUES ('gpu', 'no <b> card', 'L4'), ('dtype', 'O1', 'amp'), ('gpu', 'T4', 'RTX 3090');
SELECT perfmodel.report('"a report"."job </script>"', predictor => '</script> of the report') AS page \gset
SELECT pg_temp.wrong(:'page') AS wrong, (regexp_match(:'page', 'Jobs submitted[^<]*'))[1] AS says;
SELECT count(*) AS queries, bool_and(pg_temp.rows(query) > 0) AS all_answer FROM pg_temp.shown(:'page') AS query;
CREATE FUNCTION pg_temp.jobs(query text) RETURNS TABLE (gpu text, dtype text, n bigint) LANGUAGE plpgsql AS $$BEGIN RETURN QUERY EXECUTE format('SELECT gpu, dtype, count(*) FROM (%s) AS j GROUP BY 1, 2 ORDER BY 1, 2', query); END$$;
SELECT * FROM pg_temp.jobs(perfmodel.report_jobs('"a report"."job </script>"'));
DELETE FROM perfmodel.name_alias;
-- a card in several spellings is one kind of GPU
CREATE VIEW "a report".spelt AS SELECT submitted_at, duration_s, graph_id, batch, CASE gpu WHEN 'T4' THEN (ARRAY['T4', 't4', 'Tesla T4', 'NVIDIA T4'])[ntile(4) OVER (PARTITION BY gpu ORDER BY submitted_at)] ELSE gpu END AS gpu FROM "a report"."job </script>";
SELECT count(DISTINCT gpu) AS spellings FROM "a report".spelt;
SELECT * FROM pg_temp.jobs(perfmodel.report_jobs('"a report".spelt'));
-- with a queue, and with prices
CREATE TABLE "a report".waiting AS SELECT i AS job_id, 'team <b>' AS team, j.graph_id, 'T4' AS gpu, 8 AS batch, 1000 * i AS steps, now() AS submitted_at
FROM generate_series(1, 60) AS i, (SELECT min(graph_id) AS graph_id FROM "a report"."job </script>") AS j;
INSERT INTO "a report".waiting VALUES (61, '<b>', NULL, 'T4', 8, 1000, now());
INSERT INTO perfmodel.price (gpu, provider, usd_per_hour) VALUES ('T4', '</script>', 0.35), ('RTX 3090', '</script>', 0.5);
SELECT pg_temp.wrong(page) AS wrong, pg_temp.times('<svg', page) AS plots, page LIKE '%Cost by team%' AS cost, page LIKE '%When jobs start and end%' AS queue,
    translate(substring(page FROM 'Without times, and not shown[^<]*'), E'\n', ' ') AS no_times
FROM perfmodel.report('"a report"."job </script>"', predictor => '</script> of the report', queue => '"a report".waiting', free => '{"T4": 3}') AS page;
-- each job costs what its card did when it started, or was submitted where it does not say; a spot price counts where there is no other
SAVEPOINT costs;
DELETE FROM perfmodel.price;
INSERT INTO perfmodel.price (gpu, provider, kind, usd_per_hour, valid) VALUES ('T4', 'a', 'on_demand', 1, '[2026-01-01,2026-02-01)'), ('T4', 'a', 'on_demand', 10, '[2026-02-01,)'),
    ('T4', 'b', 'on_demand', 7, '(,)'), ('T4', 'c', 'spot', 0.1, '(,)'), ('L4', 'c', 'spot', 100, '[2026-03-01,2026-04-01)'), ('A100-PCIE-40GB', '', 'own', 5, '(,)');
CREATE TABLE "a report".cost AS SELECT team, 'report@5' AS graph, gpu, 8 AS batch, 3600 AS duration_s, submitted::timestamptz AS submitted_at, started::timestamptz AS started_at,
    extract(epoch FROM nullif(started, 'infinity')::timestamptz)::int AS began, started AS words, started::date AS day
FROM (VALUES ('january', 'T4', '2026-01-31 23:00', '2026-01-31 23:30'), ('february', 'Tesla T4', '2026-01-31 23:00', '2026-02-01 00:00'), ('before', 'T4', '2025-12-31', '2025-12-31'),
             ('not said', 'T4', '2026-01-31 23:00', NULL), ('infinite', 'T4', '2026-01-31 23:00', 'infinity'), ('spot', 'L4', '2026-03-05', '2026-03-05'), ('no price', 'L4', '2026-04-01', '2026-04-01'), ('nor here', 'RTX 3090', '2026-01-05', '2026-01-05')) AS v(team, gpu, submitted, started);
CREATE FUNCTION pg_temp.cost(columns jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$DECLARE query text; costs jsonb; BEGIN
    SELECT q INTO query FROM pg_temp.shown(perfmodel.report('"a report".cost', columns => columns, predictor => '</script> of the report')) AS q WHERE q LIKE '%usd%';
    EXECUTE format('SELECT jsonb_object_agg(label, x) FROM (%s) AS q', query) INTO costs;
    RETURN costs; END$$;
SELECT columns, pg_temp.cost(columns::jsonb) FROM unnest('{"{}","{\"started_at\": \"began\", \"finished_at\": null}","{\"started_at\": null}","{\"started_at\": \"words\"}","{\"started_at\": \"day\"}"}'::text[]) AS columns;
-- how many hours have no price, of which cards, and why
CREATE FUNCTION pg_temp.unpriced(page text) RETURNS text LANGUAGE sql AS $$SELECT substring(translate(page, E'\n', ' ') FROM '(Left out, as no price[^<]*|All GPU-hours had[^<]*)<')$$;
SELECT pg_temp.wrong(page) AS wrong, pg_temp.unpriced(page) FROM perfmodel.report('"a report".cost', predictor => '</script> of the report') AS page;
SELECT pg_temp.unpriced(page) FROM perfmodel.report('"a report".cost', to_time => '2026-02-01', predictor => '</script> of the report') AS page;
INSERT INTO "a report".cost SELECT 'many', 'report@5', g.name, 8, 7200 * row_number() OVER (ORDER BY g.name), '2026-03-05', '2026-03-05' FROM perfmodel.gpu AS g WHERE g.name IN ('A10G', 'A30', 'A40', 'A100-SXM4-40GB', 'A100-SXM4-80GB', 'H100-SXM5-80GB', 'L40S', 'P100-PCIE-16GB', 'V100-SXM2-16GB');
INSERT INTO "a report".cost SELECT 'many', 'report@5', 'no <b> card ' || i, 8, 3600, '2026-03-05', '2026-03-05' FROM generate_series(1, 3) AS i;
SELECT pg_temp.wrong(page) AS wrong, pg_temp.unpriced(page) FROM perfmodel.report('"a report".cost', predictor => '</script> of the report') AS page;
-- as after the first import of a list: the figure is empty, and says why
UPDATE perfmodel.price SET valid = '[2026-11-28 10:00,)' WHERE provider IN ('b', '');
DELETE FROM perfmodel.price WHERE provider NOT IN ('b', '');
SELECT pg_temp.wrong(page) AS wrong, pg_temp.unpriced(page), (regexp_match(page, 'Cost by team</h3>.*?<p>([^<]*)</p>'))[1] AS figure
FROM perfmodel.report('"a report".cost', to_time => '2026-02-01', predictor => '</script> of the report') AS page;
-- who may not read prices gets a page without costs
CREATE ROLE regress_pm_no_prices;
GRANT SELECT ON ALL TABLES IN SCHEMA perfmodel TO regress_pm_no_prices;
REVOKE SELECT ON perfmodel.price FROM PUBLIC, regress_pm_no_prices;
GRANT USAGE ON SCHEMA "a report" TO regress_pm_no_prices;
GRANT SELECT ON "a report".cost TO regress_pm_no_prices;
SET ROLE regress_pm_no_prices;
SELECT page LIKE '%</html>' AS whole, page LIKE '%Cost by team%' AS cost, substring(translate(page, E'\n', ' ') FROM 'Costs are[^<]*') AS says
FROM perfmodel.report('"a report".cost', predictor => '</script> of the report') AS page;
RESET ROLE;
ROLLBACK TO costs;
-- two predictors
SELECT perfmodel.train('<b> of the report', 'roofline', profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE batch = 8 OR graph_id IN (SELECT graph_id FROM perfmodel.graph WHERE nodes / 3 % 2 > 0))) > 0 AS trained;
SELECT n, n_networks, mape_a_pct > mape_b_pct AS b_is_nearer, better FROM perfmodel.compare_predictors('<b> of the report', '</script> of the report');
SELECT n, better IS NULL AS undecided, note FROM perfmodel.compare_predictors('<b> of the report', '<b> of the report');
-- the mean over networks, however often each was measured, with Student's t of n - 1 networks (2.0150 of 6) to both sides; and pages that say so
SAVEPOINT compared;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, optimizer, step_ms, measured_at)
SELECT p.graph_id, p.gpu, p.batch, p.dtype, p.layout, p.framework, p.optimizer, p.step_ms * (1 + i / 1000.0), p.measured_at FROM (SELECT min(r.profile_id) AS profile_id FROM perfmodel.residuals('<b> of the report') AS r
     JOIN perfmodel.residuals('</script> of the report') AS s USING (profile_id)) AS m JOIN perfmodel.profile AS p USING (profile_id), generate_series(1, 5) AS i;
CREATE TEMP TABLE compared AS
WITH r AS (SELECT x.network, abs(1 - y.predicted_ms / y.measured_ms) - abs(1 - x.predicted_ms / x.measured_ms) AS d
           FROM perfmodel.residuals('<b> of the report') AS x JOIN perfmodel.residuals('</script> of the report') AS y USING (profile_id)),
     n AS (SELECT network, count(*) AS n, avg(d) AS d FROM r GROUP BY 1)
SELECT count(*) AS networks, sum(n) AS rows, 100 * avg(d) AS mean, 100 * sum(n * d) / sum(n) AS by_rows, 100 * stddev_samp(d) / sqrt(count(*)) AS error FROM n;
SELECT c.n = t.rows AS n, c.n_networks AS networks, abs(c.difference_pct - t.mean) < 0.006 AS mean, abs(t.mean - t.by_rows) > 0.02 AS not_by_rows,
       abs((c.difference_high_pct - c.difference_low_pct) / (2 * 2.0150 * t.error) - 1) < 0.02 AS reach, c.better
FROM perfmodel.compare_predictors('<b> of the report', '</script> of the report') AS c, compared AS t;
SELECT substring(page FROM 'better</dt><dd class="[a-z_]*">\s*([^<]*)<') AS better,
       (SELECT array_agg(DISTINCT s[1] ORDER BY s[1]) FROM regexp_matches(page, '<title>[^<]*(a is nearer|b is nearer)', 'g') AS s) AS nearer
FROM perfmodel.report_diff('<b> of the report', '</script> of the report') AS page;
SELECT page LIKE format('%%promised: %s %%%%%%', round(d.expected_mape_pct::numeric, 1)) AS promised, round(d.expected_mape_pct::numeric, 1) <> round(d.mape_pct::numeric, 1) AS not_the_error,
       translate(page, E'\n', ' ') LIKE format('%%between %s and %s %%%%%%', round(d.coverage_low_pct::numeric), round(d.coverage_high_pct::numeric)) AS bounds
FROM perfmodel.report_trust('</script> of the report') AS page, perfmodel.drift('</script> of the report', '{}') AS d;
DROP TABLE compared;
ROLLBACK TO compared;
SELECT n, better, note FROM perfmodel.compare_predictors('<b> of the report', '</script> of the report', 'infinity');
SELECT perfmodel.report_diff('<b> of the report', '</script> of the report') AS page \gset
SELECT pg_temp.wrong(:'page') AS wrong, pg_temp.times('<svg', :'page') AS plots, pg_temp.times('<table', :'page') AS tables;
SELECT count(*) AS queries, bool_and(pg_temp.rows(query) > 0) AS all_answer FROM pg_temp.shown(:'page') AS query;
-- however a session writes times: IST, which is five and a half hours before UTC here, would be read as the time of Israel
SET datestyle = 'SQL, DMY';
SET timezone = 'Asia/Kolkata';
SELECT count(*) AS jobs, pg_temp.rows(perfmodel.report_jobs('"a report"."job </script>"', from_time => max(m.at))) = count(*) AS as_asked
FROM "a report"."job </script>" AS j, (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY submitted_at) AS at FROM "a report"."job </script>") AS m WHERE j.submitted_at >= m.at;
SELECT page LIKE '%2020-01-01 05:30:00+05:30%' AS with_offset
FROM unnest(ARRAY[perfmodel.report_trust('</script> of the report', '2020-01-01 00:00+00'), perfmodel.report_diff('<b> of the report', '</script> of the report', '2020-01-01 00:00+00')]) AS page;
SET datestyle = 'ISO, MDY';
SET timezone = 'UTC';
DELETE FROM perfmodel.profile;
SELECT page LIKE '%no data yet%' AS says FROM perfmodel.report_diff('<b> of the report', '</script> of the report') AS page;
SELECT pg_temp.wrong(perfmodel.report_diff('<b> of the report', '</script> of the report')) AS wrong;
SELECT pg_temp.wrong(page) AS wrong, page LIKE '%There are no measurements%' AS says FROM perfmodel.report(predictor => '</script> of the report') AS page;
-- a single measurement, out of the domain: no tile and no figure pretends to have data
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) SELECT min(graph_id), 'L4', 8, 10 FROM perfmodel.graph WHERE name LIKE 'report@%';
SELECT pg_temp.wrong(page) AS wrong, (regexp_match(page, 'inside of the interval</dt><dd[^>]*>\s*([^<]*)<small>([^<]*)')) AS tile, (regexp_match(page, 'Coverage over time</h3>.*?<p>([^<]*)</p>'))[1] AS figure,
       page ~ 'bounds: +to|to +%' AS empty_bounds FROM perfmodel.report(predictor => '</script> of the report') AS page;
-- measured at no time that is one
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms, measured_at) SELECT min(g.graph_id), 'L4', 8, 10, t.at FROM perfmodel.graph AS g, unnest('{infinity,-infinity,2026-01-01,NULL}'::timestamptz[]) AS t (at) WHERE g.name LIKE 'report@%' GROUP BY t.at;
SELECT pg_temp.wrong(page) AS wrong FROM perfmodel.report(predictor => '</script> of the report') AS page;
DELETE FROM perfmodel.profile;
-- the same question, the same page, but for the time that it was made
SELECT count(DISTINCT regexp_replace(page, 'Made [^.]*', '')) AS pages FROM generate_series(1, 2), LATERAL perfmodel.report('"a report"."job </script>"', predictor => '</script> of the report') AS page;
-- times of text are times, as in a queue
CREATE DOMAIN "a report".line AS varchar;
CREATE TABLE "a report".text_times AS SELECT to_char(submitted_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS submitted_at, to_char(finished_at, 'DD Mon YYYY HH24:MI:SS UTC')::"a report".line AS finished_at, gpu, graph_id, batch, duration_s
FROM "a report".log UNION ALL SELECT ' ', '', 'T4', NULL, 8, 600;
SELECT t AS jobs, pg_temp.seconds(perfmodel.report_jobs(j, from_time => '2026-01-05 01:00', to_time => '2026-01-05 05:00')) AS ran, (SELECT count(f) || ' ended, the last at ' || max(f.finished_at) FROM perfmodel.finished_jobs(j, '{"steps": "batch"}') AS f) AS ended
FROM unnest('{log,text_times}'::text[]) AS t, LATERAL (SELECT format('"a report".%I', t)::regclass AS j) AS j;
-- what is not a question
CREATE TABLE "a report".odd AS SELECT *, '{}'::jsonb AS options, 1.5::money AS cost, 'auto' AS words, 'v64' AS version FROM "a report".both LIMIT 3;
SELECT regexp_replace(helper.error_of(statement), 'There (is|are) \d+', 'There are some') AS error_of FROM (VALUES
    ($$SELECT perfmodel.report('"a report"."job </script>"', columns => '{"team": "nobody"}', predictor => '</script> of the report')$$),
    ($$SELECT perfmodel.report('"a report".log', columns => '{"finished_at": "finnished_at"}')$$), ($$SELECT perfmodel.job_ran('"a report".log', '{"started_at": {}}')$$),
    ($$SELECT perfmodel.report('"a report"."job </script>"', columns => '{"colour": "gpu"}', predictor => '</script> of the report')$$),
    ($$SELECT perfmodel.report('"a report".odd', columns => '{"batch": "words"}', predictor => '</script> of the report')$$), ($$SELECT perfmodel.report('"a report".odd', columns => '{"batch": "version"}', predictor => '</script> of the report')$$), ($$SELECT perfmodel.report('"a report".odd', columns => '{"duration_s": "options"}', predictor => '</script> of the report')$$),
    ($$SELECT perfmodel.report('"a report".odd', columns => '{"gpu_count": "cost"}', predictor => '</script> of the report')$$), ($$SELECT perfmodel.report('"a report".odd', columns => '{"submitted_at": "words"}', predictor => '</script> of the report')$$),
    ($$SELECT perfmodel.report('"a report".odd', columns => '{"submitted_at": "batch", "graph": "nothing", "team": null}', predictor => '</script> of the report')$$), ($$SELECT perfmodel.report('"a report".odd', columns => '{"graph": null, "graph_id": null}', predictor => '</script> of the report')$$),
    ($$SELECT perfmodel.report('pg_description', predictor => '</script> of the report')$$), ($$SELECT perfmodel.report('nowhere')$$),
    ($$SELECT perfmodel.finished_jobs('"a report".odd', '{"duration_s": "batch", "steps": "batch", "finished_at": "words"}')$$), ($$SELECT perfmodel.finished_jobs('"a report".odd', '{"duration_s": "batch", "steps": "batch", "finished_at": "batch"}')$$),
    ($$SELECT perfmodel.report(from_time => '2026-01-01')$$), ($$SELECT perfmodel.report(queue => '"a report".waiting', columns => '{"team": "team"}')$$), ($$SELECT perfmodel.report('"a report".log', free => '{"T4": 1}')$$),
    ($$SELECT perfmodel.report('"a report".log', policy => 'nonsense')$$), ($$SELECT perfmodel.report('"a report".log', '2026-02-01', '2026-01-01')$$), ($$SELECT perfmodel.report('"a report".log', '2026-02-01', '2026-02-01')$$),
    ($$SELECT perfmodel.report(predictor => 'nobody')$$), ($$SELECT perfmodel.report_diff('nobody', 'nowhere')$$), ($$SELECT perfmodel.report('"a report".log', alternatives => '{no such card}', predictor => '</script> of the report')$$)) AS v(statement);
-- of its queue: the names of arguments are those of report(), and a table may be called columns
CREATE TABLE "a report".columns AS SELECT 'a net' AS network, 'T4' AS gpu, 8 AS batch, 100 AS steps, now() AS at;
SELECT regexp_replace(helper.error_of(statement), 'There (is|are) \d+', 'There are some') AS error_of FROM (VALUES
    ($$SELECT perfmodel.report(queue => '"a report".columns', free => '{"T4": 1}', predictor => '</script> of the report')$$), ($$SELECT perfmodel.report(queue => '"a report".columns', queue_columns => '{"graph": "net"}', predictor => '</script> of the report')$$),
    ($$SELECT perfmodel.report(queue => '"a report".columns', queue_columns => '{"duration_s": "at"}', predictor => '</script> of the report')$$), ($$SELECT perfmodel.report(queue => '"a report".columns', queue_columns => '{"grahp": "network"}', predictor => '</script> of the report')$$),
    ($$SELECT perfmodel.report(queue => '"a report".columns', queue_columns => '{"graph": 7}', predictor => '</script> of the report')$$), ($$SELECT perfmodel.report(queue => '"a report".columns', queue_columns => '[]', predictor => '</script> of the report')$$),
    ($$SELECT perfmodel.report(queue => 'perfmodel.graph_graph_id_seq', predictor => '</script> of the report')$$), ($$SELECT perfmodel.report(queue => '"a report".waiting', free => '[]', predictor => '</script> of the report')$$)) AS v(statement);
CREATE DOMAIN "a report".fee AS money;
CREATE TABLE "a report".paid AS SELECT submitted_at, duration_s, gpu, batch, graph_id, 1.5::money AS finished_at, 1.5::"a report".fee AS fee, 1::oid AS number FROM "a report".both LIMIT 3;
SELECT helper.error_of(statement) FROM (VALUES
    ($$SELECT perfmodel.report('"a report".paid', predictor => '</script> of the report')$$), ($$SELECT perfmodel.job_ran('"a report".paid', '{"finished_at": "fee"}')$$), ($$SELECT perfmodel.job_ran('"a report".paid', '{"finished_at": null, "started_at": "number"}')$$),
    ($$SELECT perfmodel.job_column('"a report".paid', 'x', 'gpu', 'time')$$), ($$SELECT perfmodel.job_column('"a report".paid', NULL, 'gpu', 'text')$$)) AS v(statement);
-- a domain over a domain of a time is a time
CREATE DOMAIN "a report".moment AS timestamptz;
CREATE DOMAIN "a report".ending AS "a report".moment;
CREATE TABLE "a report".moments (finished_at "a report".ending);
SELECT perfmodel.job_ran('"a report".moments');
-- whole seconds are seconds: 30 minutes are half an hour
CREATE TABLE whole AS SELECT '2026-03-01'::timestamptz AS submitted_at, 1800 AS duration_s, 'T4' AS gpu, 8 AS batch, 'no net' AS graph FROM generate_series(1, 100);
SELECT substring(page FROM '<dt>GPU-hours</dt><dd class="">\s*(\d+)') AS gpu_hours FROM perfmodel.report('whole', predictor => '</script> of the report') AS page;
-- numbers and words of any type, and of domains: a session keeps the plans of its first report
CREATE DOMAIN "a report".word AS text;
CREATE TABLE narrow AS SELECT '2026-03-01'::timestamptz AS submitted_at, 3600::float8 AS duration_s, 'T4' AS gpu, 8::smallint AS batch, graph_id::int AS graph_id FROM perfmodel.graph WHERE name = 'report@5';
CREATE TABLE domains AS SELECT submitted_at, duration_s, gpu::"a report".word AS gpu, batch::"a report".amount AS batch, graph_id::"a report".amount AS graph_id, 'nchw'::varchar AS layout FROM narrow;
SELECT job, pg_temp.wrong(page) AS wrong, page LIKE '%Where a step goes%' AS step FROM unnest('{"\"a report\".\"job </script>\"",narrow,domains}'::regclass[]) AS job, LATERAL perfmodel.report(job, predictor => '</script> of the report') AS page;
-- durations that are missing or cannot be count as no hours: neither do they come first, nor do they spoil a sum
CREATE TABLE lost AS SELECT '2026-03-01'::timestamptz + interval '1 minute' * i AS submitted_at, '2026-03-05'::timestamptz AS finished_at, CASE WHEN i <= 10 THEN 'busy' ELSE 'lost ' || i END AS team,
       CASE WHEN i <= 10 THEN 360000 WHEN i <= 23 THEN NULL ELSE ('{NaN,Infinity,-Infinity,-5,1e13}'::float8[])[i - 23] END AS duration_s, CASE WHEN i <= 10 THEN 'T4' ELSE 'RTX 3090' END AS gpu, 8 AS batch,
       CASE WHEN i <= 10 THEN 'report@6' ELSE 'report@5' END AS graph FROM generate_series(1, 28) AS i;
SELECT perfmodel.report('lost', predictor => '</script> of the report') AS page \gset
SELECT pg_temp.wrong(:'page') AS wrong, translate((regexp_match(:'page', 'Jobs submitted[^<]*'))[1], E'\n', ' ') AS says, substring(:'page' FROM '<dt>GPU-hours</dt><dd class="">\s*([^<]*)<') AS gpu_hours;
CREATE FUNCTION pg_temp.first_label(query text) RETURNS text LANGUAGE plpgsql AS $$DECLARE l text; BEGIN EXECUTE format('SELECT label FROM (%s) AS q LIMIT 1', query) INTO l; RETURN l; END$$;
SELECT pg_temp.first_label(query) FROM pg_temp.shown(:'page') AS query WHERE query ~ 'GROUP BY 1, 2 ORDER BY min\(least\(t.nth, 13' OR query ~ ' ORDER BY hours DESC, name LIMIT 12';
SELECT g.name AS step_of FROM regexp_matches(:'page', 'explain_train_time\((\d+)', 'g') AS m JOIN perfmodel.graph AS g ON g.graph_id = m[1]::bigint;
-- no GPU-hours at all: the page comes, and its figures say so
CREATE VIEW none AS SELECT submitted_at, finished_at, team, duration_s, gpu, batch, graph, u.gpu_count FROM lost, (VALUES (0), ('NaN'::float8)) AS u(gpu_count);
CREATE VIEW idle AS SELECT submitted_at, finished_at, team, 0 AS duration_s, gpu, batch, graph FROM lost;
SELECT c.jobs, c.columns, c.until, pg_temp.wrong(page) AS wrong, substring(page FROM '<dt>GPU-hours</dt><dd class="">\s*([^<]*)<') AS gpu_hours, pg_temp.times('No data yet', split_part(page, 'id="trust"', 1)) AS empty, page LIKE '%Where a step goes%' AS step
FROM (VALUES ('none', '{}', NULL::timestamptz), ('none', '{"gpu_count": null}', NULL), ('idle', '{}', NULL), ('idle', '{}', '2026-03-01 00:05')) AS c(jobs, columns, until),
     LATERAL perfmodel.report(c.jobs::regclass, to_time => c.until, columns => c.columns::jsonb, predictor => '</script> of the report') AS page;
-- days without jobs have no GPU-hours: after the first day the area falls to where it began, and at times that none follow, too
CREATE TABLE gap AS SELECT at AS submitted_at, 3600 AS duration_s, 'T4' AS gpu, 8 AS batch, 'no net' AS graph FROM unnest('{2026-01-01,2026-03-01}'::timestamptz[]) AS at;
SELECT m[1] = m[2] AS idle FROM perfmodel.report('gap', predictor => '</script> of the report') AS page, regexp_match(page, 'GPU-hours by day</h3>.*?d="M[0-9.]+ ([0-9.]+)V[0-9.]+H[0-9.]+V([0-9.]+)H') AS m;
UPDATE gap SET submitted_at = '294276-12-31 20:00' WHERE submitted_at > '2026-02-01';
SELECT pg_temp.wrong(perfmodel.report('gap', predictor => '</script> of the report')) AS wrong;
-- an error of the table's own query comes with the name of the figure, and without its text
CREATE VIEW broken AS SELECT now() AS submitted_at, 1 / (8 - v.size) AS batch, 100 AS duration_s, v.* FROM (VALUES ('T4', 8, 'no net')) AS v(gpu, size, graph);
SELECT helper.error_of($$SELECT perfmodel.report('broken', predictor => '</script> of the report')$$);
SELECT helper.error_of($$SELECT perfmodel.report_plot('Cards', 'says', 'bars', 'SELECT 1 AS x, nothing AS label')$$);
ROLLBACK;
