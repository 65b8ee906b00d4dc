-- Plots: what is drawn, what is left out, what is not a plot.
SET client_min_messages = warning;
CREATE FUNCTION pg_temp.times(part text, whole text) RETURNS int LANGUAGE sql AS
    $$SELECT (length(whole) - length(replace(whole, part, ''))) / length(part)$$;
CREATE FUNCTION pg_temp.widest(whole text) RETURNS int LANGUAGE sql AS $$SELECT max(octet_length(l)) FROM string_to_table(whole, E'\n') AS l$$;

-- the texts of a small one: title, legend, values of the axis, rows, sums
SELECT array_agg(m[1]) AS texts FROM regexp_matches(perfmodel.plot('bars', '{3,4,5}', series => '{forward,backward,forward}', label => '{conv,conv,gemm}',
    title => 'A step', x_title => 'ms'), '<text[^>]*>([^<]*)</text>', 'g') AS m;
SELECT form, pg_temp.times('<title>', svg) AS tips, pg_temp.times('<svg', svg) AS svgs, svg LIKE '<svg%</svg>' || chr(10) AS whole, pg_temp.widest(svg) <= 120 AS short
FROM unnest('{bars,points,compare,lines,areas,spans}'::text[]) AS form,
     LATERAL perfmodel.plot(form, '{1,2,NULL,4}', '{2,3,4,NaN}', '{a,a,a,b}', '{w,x,y,z}', '{0.5,NULL,1,1}', '{4,NULL,5,5}', x_scale => CASE form WHEN 'compare' THEN 'log' ELSE 'linear' END) AS svg;
-- words of users are words
SELECT pg_temp.times('</script>', svg) AS raw, pg_temp.times('&lt;/script&gt;', svg) > 0 AS escaped, svg ~ 'onload="' AS active
FROM perfmodel.plot('bars', '{1}', series => '{"</script><svg onload=\"x\">"}', label => '{"</script>"}', title => '</script>') AS svg;
SELECT perfmodel.escape_markup($$<a href="x">'&'</a>$$) AS all, perfmodel.escape_markup('abcdefgh', 5) AS cut, perfmodel.escape_markup('') = '' AS empty,
       perfmodel.escape_markup(NULL) IS NULL AS nothing;
SELECT perfmodel.escape_markup_lines(E'a<b\nc>d') AS lines;
SELECT pg_temp.widest(perfmodel.break_lines(repeat('twelve words ', 100))) <= 120 AS short;
-- many marks are one path, and as many as there may be stay small
SELECT octet_length(svg) < 400000 AS small, pg_temp.times('<path class="n s0"', svg) AS paths, pg_temp.times('<circle', svg) AS circles
FROM (SELECT perfmodel.plot('points', array_agg(i::float8), array_agg((i * 7919 % 10007)::float8)) AS svg FROM generate_series(1, 20000) AS i) AS s;
-- times are shown in UTC
SET timezone = 'Asia/Tokyo';
SELECT array_agg(m[1]) AS texts FROM (SELECT perfmodel.plot('lines', array_agg(extract(epoch FROM t)::float8), array_agg(1::float8), x_scale => 'time') AS svg
    FROM generate_series('2026-03-01 00:00+00'::timestamptz, '2026-03-01 03:00+00', '1 hour') AS t) AS s, regexp_matches(svg, '<text[^>]*>([^<]*:[^<]*)</text>', 'g') AS m;
RESET timezone;

-- a step of a network, by class of operator and by module
BEGIN;
SELECT perfmodel.load_graph(helper.cnn('plot@<b>', 32, 4)) > 0 AS loaded;
SELECT perfmodel.load_graph(jsonb_set(d, '{nodes}', (SELECT jsonb_agg(n || CASE WHEN (n ->> 'id')::int > 0 THEN jsonb_build_object('module', format('stage%s.block.%s', (n ->> 'id')::int / 6, n ->> 'id')) ELSE '{}' END
    ORDER BY (n ->> 'id')::int) FROM jsonb_array_elements(d -> 'nodes') AS n)), 'plot@modules') > 0 AS loaded FROM helper.cnn('plot@modules', 32, 4) AS d;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, step_ms) SELECT perfmodel.graph_id('plot@modules'), 'T4', batch, batch FROM unnest('{1,2,4,8}'::int[]) AS batch;
SELECT perfmodel.train('plotted', 'roofline', profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile WHERE graph_id = perfmodel.graph_id('plot@modules'))) > 0 AS trained;
SELECT g, array_agg(m[1]) AS rows, bool_and(pg_temp.widest(svg) <= 120) AS short
FROM unnest('{plot@<b>,plot@modules}'::text[]) AS g, LATERAL perfmodel.plot_step(perfmodel.graph_id(g), 't4', 8, predictor => 'plotted') AS svg, regexp_matches(svg, '<text class="e"[^>]*>([^<]*)</text>', 'g') AS m
GROUP BY g ORDER BY g;
SELECT array_agg(m[1]) AS rows FROM regexp_matches(perfmodel.plot_step(perfmodel.graph_id('plot@modules'), 'T4', 8, predictor => 'plotted', parts => 1), '<text class="e"[^>]*>([^<]*)</text>', 'g') AS m;
-- more modules of two levels than parts: those of one level, unless one of these is nearly the whole step
SELECT perfmodel.load_graph(jsonb_set(d, '{nodes}', (SELECT jsonb_agg(n || CASE WHEN (n ->> 'id')::int > 0 THEN jsonb_build_object('module', prefix || format('stage%s.block%s', (n ->> 'id')::int / 6, n ->> 'id')) ELSE '{}' END
    ORDER BY (n ->> 'id')::int) FROM jsonb_array_elements(d -> 'nodes') AS n)), 'plot@' || nullif(prefix, '')) > 0 AS loaded FROM unnest('{stages.,""}'::text[]) AS prefix, helper.cnn('plot@deep', 32, 4) AS d;
SELECT g, array_agg(m[1]) AS rows FROM unnest('{plot@deep,plot@stages.}'::text[]) AS g, LATERAL regexp_matches(perfmodel.plot_step(perfmodel.graph_id(g), 'T4', 8, predictor => 'plotted', parts => 2), '<text class="e"[^>]*>([^<]*)</text>', 'g') AS m GROUP BY g ORDER BY g;
-- memory, several GPUs, a queue
SELECT array_agg(m[1]) AS texts FROM regexp_matches(perfmodel.plot_memory(perfmodel.graph_id('plot@modules'), 't4', 8), '<text(?: class="e"| x)[^>]*>([^<]*)</text>', 'g') AS m WHERE m[1] !~ '^[\d.k]+$';
SELECT pg_temp.times('<path class="n s', svg) AS lines, pg_temp.times('fill-opacity="0.16"', svg) AS bands, pg_temp.widest(svg) <= 120 AS short
FROM perfmodel.plot_scaling(perfmodel.graph_id('plot@modules'), 'T4', 8, max_gpus => 8, predictor => 'plotted') AS svg;
SELECT array_agg(m[1]) AS gpus FROM regexp_matches(perfmodel.plot_scaling(perfmodel.graph_id('plot@modules'), 'T4', 8, max_gpus => 64, predictor => 'plotted'), '<text class="d m" x="[^"]*" y="[^"]*">([0-9]+)</text>', 'g') AS m;
-- numbers at their ends: a plot, or what the number must be
SELECT helper.error_of(format('SELECT perfmodel.plot_%s', q)) FROM unnest(ARRAY['scaling(GRAPH, ''T4'', 16777216, max_gpus => 4, predictor => ''plotted'')', 'memory(GRAPH, ''T4'', 16777216)', 'memory(GRAPH, ''T4'', 2147483647)',
    'memory(GRAPH, ''T4'', -4)', 'errors(''plotted'', width => 2147483647)']) AS p, replace(p, 'GRAPH', perfmodel.graph_id('plot@modules')::text) AS q;
SELECT helper.error_of(format('SELECT perfmodel.what_if_change(%s, ''T4'', -2147483648, changes => ''{amp}'')', perfmodel.graph_id('plot@modules'))) ~ '^22023' AS said;
SELECT svg LIKE '%phase%' OR svg LIKE '%forward%' AS phases, pg_temp.widest(svg) <= 120 AS short FROM perfmodel.plot_memory_timeline(perfmodel.graph_id('plot@modules'), 'T4', 8) AS svg;
CREATE TEMP TABLE plot_queue AS SELECT 'job </script> ' || i AS job_id, 'team' AS team, perfmodel.graph_id('plot@modules') AS graph_id, 'T4' AS gpu, 8 AS batch, 100000 * i AS steps,
    '2026-03-01 08:00+00'::timestamptz AS submitted_at, CASE i WHEN 1 THEN '2026-03-01 08:30+00'::timestamptz END AS started_at FROM generate_series(1, 50) AS i;
SELECT pg_temp.times('class="f0" x=', svg) AS bars, pg_temp.times('>job &lt;/script&gt; 1, team, 1 GPU<', svg) AS escaped, pg_temp.widest(svg) <= 120 AS short
FROM perfmodel.plot_queue('plot_queue', free => '{"T4": 2}', predictor => 'plotted', at => '2026-03-01 09:00+00', rows => 10) AS svg;
-- the same as data, for the script of a report: no word of a user is markup there
SELECT pg_temp.times('</script>', svg) AS ends, pg_temp.times('\u003c\u002fscript\u003e', replace(svg, E'",\n"', '')) > 0 AS escaped, json_array_length(m[1]::json -> 'marks') AS marks, json_array_length(m[1]::json -> 'rows') AS rows,
       array_to_string(ARRAY(SELECT json_array_elements_text(m[1]::json -> 'rows' -> 0)), '') AS row, pg_temp.widest(svg) <= 120 AS short
FROM perfmodel.plot_queue('plot_queue', free => '{"T4": 2}', predictor => 'plotted', at => '2026-03-01 09:00+00', rows => 10, zoom => true) AS svg, regexp_match(svg, '<script type="application/json" class="marks">(.*?)</script>') AS m;
SELECT substring(perfmodel.plot('lines', '{1,2}', '{3,NULL}', series => '{"a b","</script>"}', low => '{2.5,NULL}', zoom => true) FROM '<script.*') AS data;
SELECT pg_temp.times('no data', perfmodel.plot_queue('plot_queue', '{"graph_id": null, "graph": "job_id"}', '{"T4": 2}', predictor => 'plotted')) AS nothing;
-- without measurements that are new there is nothing to see
SELECT pg_temp.times('no data', perfmodel.plot_errors('plotted', since => '2999-01-01')) AS errors, pg_temp.times('no data', perfmodel.plot_coverage('plotted', since => '2999-01-01')) AS coverage;

SELECT helper.error_of(statement) FROM (VALUES
    ($$SELECT perfmodel.plot('pie', '{1}')$$), ($$SELECT perfmodel.plot(NULL, '{1}')$$), ($$SELECT perfmodel.plot('bars', '{1}', x_scale => 'square')$$),
    ($$SELECT perfmodel.plot('lines', '{1,2}', '{1}')$$), ($$SELECT perfmodel.plot('lines', '{1,2}', '{1,2}', series => '{a}')$$),
    ($$SELECT perfmodel.plot('bars', '{1}', width => 10)$$), ($$SELECT perfmodel.plot('bars', '{1}', height => 5000)$$),
    ($$SELECT perfmodel.plot('bars', array_agg(i::float8), label => array_agg(i::text)) FROM generate_series(1, 300) AS i$$),
    ($$SELECT perfmodel.plot('bars', array_agg(i::float8), series => array_agg(i::text)) FROM generate_series(1, 30) AS i$$),
    ($$SELECT perfmodel.plot('points', array_agg(i::float8), zoom => true) FROM generate_series(1, 300000) AS i$$), ($$SELECT perfmodel.plot('points', array_fill(1::float8, '{23000000}'))$$), ($$SELECT perfmodel.escape_markup('x', -1)$$),
    ($$SELECT perfmodel.plot_step(-5, 'T4', 8, predictor => 'plotted')$$), ($$SELECT perfmodel.plot_step(perfmodel.graph_id('plot@modules'), 'no such card', 8)$$)) AS v(statement);
ROLLBACK;
