-- The dashboards of grafana/: every query runs with its macros replaced, series
-- have the columns that Grafana wants, and panels are those of its core.
SET client_min_messages = warning;
SET timezone = 'UTC';
\set planner `cat grafana/dashboards/planner.json`
\set last_night `cat grafana/dashboards/last_night.json`
\set health `cat grafana/dashboards/predictor_health.json`
BEGIN;
DELETE FROM perfmodel.profile;
UPDATE perfmodel.predictor SET active = false;
CREATE TEMP TABLE board (board text, doc jsonb);
INSERT INTO board VALUES ('planner', :'planner'), ('last_night', :'last_night'), ('health', :'health');
CREATE TEMP TABLE panel AS
SELECT board, (p ->> 'id')::int AS id, p ->> 'type' AS type, p ->> 'title' AS title, p -> 'gridPos' AS place, p -> 'datasource' ->> 'uid' AS uid,
       t ->> 'rawSql' AS query, t ->> 'format' AS format, t -> 'datasource' ->> 'uid' AS target_uid
FROM board, jsonb_array_elements(doc -> 'panels') AS p LEFT JOIN LATERAL jsonb_array_elements(p -> 'targets') AS t ON true;
-- core panels; the datasource is the variable; ids are unique; panels lie within the 24 columns
SELECT board, count(*) AS panels, count(DISTINCT id) AS ids, bool_and(type IN ('stat', 'table', 'timeseries', 'barchart', 'text')) AS core,
       bool_and(type = 'text' OR (uid = '${datasource}' AND target_uid = '${datasource}')) AS by_variable,
       bool_and((place ->> 'x')::int + (place ->> 'w')::int <= 24) AS within, sum((place ->> 'w')::int * (place ->> 'h')::int) AS area
FROM panel GROUP BY board ORDER BY board;
SELECT count(*) AS on_each_other FROM panel AS a JOIN panel AS b ON a.board = b.board AND a.id < b.id
    AND int4range((a.place ->> 'x')::int, (a.place ->> 'x')::int + (a.place ->> 'w')::int) && int4range((b.place ->> 'x')::int, (b.place ->> 'x')::int + (b.place ->> 'w')::int)
    AND int4range((a.place ->> 'y')::int, (a.place ->> 'y')::int + (a.place ->> 'h')::int) && int4range((b.place ->> 'y')::int, (b.place ->> 'y')::int + (b.place ->> 'h')::int);

-- something to show: a predictor, newer measurements, jobs that ran and that wait, a night
SELECT count(perfmodel.load_graph(helper.cnn(format('grafana%s@%s', depth, width), width, depth))) FROM generate_series(2, 9) AS depth, unnest('{24,40,56}'::int[]) AS width;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms, measured_at)
SELECT graph_id, d.gpu, batch, 'pytorch 2.1', (nodes + batch / 8.0) * d.slow * (1 + 0.05 * sin(graph_id)), '2026-03-01'::timestamptz + interval '1 hour' * row_number() OVER (ORDER BY graph_id, d.gpu, batch)
FROM perfmodel.graph, (VALUES ('T4', 1.0), ('RTX 3090', 0.3)) AS d(gpu, slow), unnest('{8,64}'::int[]) AS batch WHERE name LIKE 'grafana%' ORDER BY graph_id, d.gpu, batch;
SELECT perfmodel.train('shown', 'opclass', profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE graph_id % 2 = 0)) > 0 AS trained, perfmodel.activate_predictor('shown') > 0 AS activated;
CREATE SCHEMA grafana;
SET search_path = grafana;
CREATE TABLE job AS SELECT 'job ' || i AS job_id, '2026-03-01'::timestamptz + interval '1 hour' * i AS submitted_at, 'team-' || i % 3 AS team, 1 + i % 2 AS gpu_count, 3600.0 + i AS duration_s, graph_id, 'T4' AS gpu, 8 AS batch,
    'fp32' AS dtype, 'nchw' AS layout, NULL::text AS framework, 1000 * i AS steps FROM generate_series(1, 60) AS i, (SELECT min(graph_id) AS graph_id FROM perfmodel.graph WHERE name LIKE 'grafana%') AS g;
\! awk -v section="The view" -f test/doc_sql.awk docs/dashboards.md | sed '/^CREATE VIEW/,/;$/!d' >results/grafana_view.sql
\i results/grafana_view.sql
CREATE TABLE waiting AS SELECT * FROM job;
CALL perfmodel.nightly(background => false);
UPDATE perfmodel.nightly_log SET predictor_mape_pct = 10, candidate_mape_pct = 8;

-- as Grafana does, for the days of March
CREATE FUNCTION pg_temp.filled(query text) RETURNS text LANGUAGE sql AS $$
    SELECT replace(replace(replace(replace(replace(regexp_replace(query, '\$__timeFilter\(([^)]*)\)', '\1 BETWEEN ''2026-03-01T00:00:00Z'' AND ''2036-03-31T00:00:00Z''', 'g'),
        '$__timeFrom()', '''2026-03-01T00:00:00Z'''), '${team:sqlstring}', '''team-0'',''team-1'''), '${gpu:sqlstring}', '''T4'''), '${queue:sqlstring}', '''waiting'''), '${free:sqlstring}', '''{"T4": 2}''')
$$;
-- rows and what is wrong with the columns
CREATE FUNCTION pg_temp.shown(query text, format text, OUT n bigint, OUT wrong text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'CREATE TEMP VIEW shown AS ' || query;
    EXECUTE 'SELECT count(*) FROM shown' INTO n;
    SELECT string_agg(format('%s %s', attname, atttypid::regtype), ', ') INTO wrong FROM pg_attribute
    WHERE attrelid = 'shown'::regclass AND attnum > 0 AND format = 'time_series' AND NOT (CASE attname WHEN 'time' THEN atttypid = 'timestamptz'::regtype
        WHEN 'metric' THEN atttypid = 'text'::regtype ELSE atttypid IN ('float8'::regtype, 'numeric'::regtype, 'bigint'::regtype) END);
    DROP VIEW shown;
END $$;
SELECT board, title, n > 0 AS rows, wrong FROM panel, LATERAL pg_temp.shown(pg_temp.filled(query), format) AS s WHERE query IS NOT NULL ORDER BY board, id;
-- no word of a viewer stands between quotes of the query
SELECT count(*) AS unquoted FROM panel WHERE query ~ '''\$\{(?!__)';
SELECT count(*) AS macros_left FROM panel WHERE pg_temp.filled(query) ~ '\$';
-- variables, too
SELECT board, v ->> 'name' AS variable, (pg_temp.shown(v ->> 'query', 'table')).n > 0 AS rows FROM board, jsonb_array_elements(doc -> 'templating' -> 'list') AS v WHERE v ->> 'type' = 'query' ORDER BY 1, 2;
ROLLBACK;
