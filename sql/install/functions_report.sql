-- Reports: one page of HTML with figures, for a browser, a mail or paper.
-- docs/report.md shows them.

-- ---- two predictors on the same measurements ----

CREATE FUNCTION perfmodel.compare_predictors(a text, b text, since timestamptz DEFAULT NULL,
                                             OUT n integer, OUT n_networks integer, OUT mape_a_pct float8, OUT mape_b_pct float8,
                                             OUT difference_pct float8, OUT difference_low_pct float8, OUT difference_high_pct float8,
                                             OUT better text, OUT note text) RETURNS record
    LANGUAGE sql STABLE PARALLEL SAFE COST 4000000 SET jit = off
BEGIN ATOMIC
    -- rows that neither was trained on; the rows of a network are one observation
    WITH known AS MATERIALIZED (
        -- raises where there is no such predictor, also while there is nothing to compare
        SELECT (SELECT count(*) FROM perfmodel.corrections(compare_predictors.a)) + (SELECT count(*) FROM perfmodel.corrections(compare_predictors.b)) AS n
    ), network AS (
        SELECT count(*) AS n, sum(abs(1 - x.predicted_ms / x.measured_ms)) AS a, sum(abs(1 - y.predicted_ms / y.measured_ms)) AS b,
               avg(abs(1 - y.predicted_ms / y.measured_ms) - abs(1 - x.predicted_ms / x.measured_ms)) AS difference
        FROM perfmodel.residuals(compare_predictors.a, compare_predictors.since) AS x
             JOIN perfmodel.residuals(compare_predictors.b, compare_predictors.since) AS y ON y.profile_id = x.profile_id
        GROUP BY x.network
    ), summed AS (
        SELECT coalesce(sum(k.n), 0) AS n, count(*) AS networks, 100 * sum(k.a) / sum(k.n) AS a, 100 * sum(k.b) / sum(k.n) AS b,
               100 * avg(k.difference) AS difference, 100 * stddev_samp(k.difference) / sqrt(count(*)) AS error, greatest(count(*) - 1, 1) AS df
        FROM network AS k
    ), bounded AS (
        -- the 95 % quantile of Student's t by Cornish and Fisher's expansion; the mean of fewer than 5 networks proves nothing
        SELECT s.*, CASE WHEN s.networks >= 5 THEN s.error * (1.6449 + 1.5238 / s.df + 1.4133 / s.df ^ 2) END AS reach FROM summed AS s
    )
    SELECT s.n::integer, s.networks::integer, round(s.a::numeric, 2)::float8, round(s.b::numeric, 2)::float8, round(s.difference::numeric, 2)::float8,
           round((s.difference - s.reach)::numeric, 2)::float8, round((s.difference + s.reach)::numeric, 2)::float8,
           CASE WHEN s.difference + s.reach < 0 THEN compare_predictors.b WHEN s.difference - s.reach > 0 THEN compare_predictors.a END,
           CASE WHEN s.networks = 0 THEN 'no measurement is new to both' || CASE WHEN isfinite(since) THEN ' and not older than ' || since ELSE '; train the newer one on a part of them' END
                WHEN s.networks < 5 THEN format('measurements of %s more %s are needed to tell which is better', 5 - s.networks,
                                                CASE s.networks WHEN 4 THEN 'network' ELSE 'networks' END)
                WHEN abs(s.difference) <= s.reach THEN 'the difference may be chance' END
    FROM bounded AS s, known AS k WHERE k.n >= 0;
END;
COMMENT ON FUNCTION perfmodel.compare_predictors(text, text, timestamptz) IS
    'errors of two predictors on rows that neither was trained on, with a paired interval of 90 % of b - a';

-- ---- parts of a page ----

-- The policy of the page lets it fetch nothing, and run no script but report_script(), which it knows by its hash: a script that
-- somebody managed to smuggle in would not run. In ASCII, it is read rightly whatever the encoding that a client or a file gives it.
CREATE FUNCTION perfmodel.report_page(title text, body text, zoom boolean DEFAULT false) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT perfmodel.break_lines(perfmodel.ascii_markup(concat(
'<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy"
content="default-src ''none''; style-src ''unsafe-inline''', CASE WHEN report_page.zoom
    THEN format(E';\nscript-src ''sha256-%s''', encode(sha256(convert_to(perfmodel.report_script(), 'UTF8')), 'base64')) END, '">
<title>', perfmodel.escape_markup(report_page.title, 100), '</title>
<style>
:root{color-scheme:light dark;--paper:#fff;--ground:#f3f5f8;--ink:#1c2430;--dim:#556070;--line:#dde2e9;
--accent:#2560b8;--good:#11705f;--bad:#b3261e;--warn:#855400}
@media screen and (prefers-color-scheme:dark){:root{--paper:#181c23;--ground:#0f1217;--ink:#e8ebf0;--dim:#a3adba;
--line:#343b46;--accent:#6ea8ff;--good:#4cc9b0;--bad:#ff8a80;--warn:#f0b95a}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main,header,footer{max-width:1240px;margin:0 auto;padding:0 20px}
header{padding-top:28px}
h1{font-size:26px;line-height:1.25;margin:0 0 4px}
h2{font-size:19px;margin:36px 0 4px}
h3{font-size:16px;margin:0 0 2px}
p{margin:0 0 10px;max-width:80ch}
.says,footer,.from{color:var(--dim)}
nav{margin:12px 0 0}
nav a{margin-right:16px}
a{color:var(--accent)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:20px 0 0;padding:0}
.tile{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:12px 14px}
.tile dt{color:var(--dim);font-size:13px}
.tile dd{margin:0;font-size:24px;font-weight:600;line-height:1.3}
.tile small{display:block;font-size:13px;font-weight:400;color:var(--dim)}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,540px),1fr));gap:16px;
margin-top:12px;align-items:start}
figure{margin:0;background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:16px 18px;min-width:0}
figure.wide{grid-column:1/-1}
.plot{overflow-x:auto}
.plot svg{display:block;min-width:440px}
.wide .plot svg{min-width:900px}
details{margin-top:10px;font-size:13px}
summary{cursor:pointer;color:var(--dim)}
pre{overflow-x:auto;background:var(--ground);border-radius:6px;padding:10px;margin:6px 0 0;
font:12px/1.45 ui-monospace,"Cascadia Mono","DejaVu Sans Mono",monospace}
table{border-collapse:collapse;width:100%;min-width:680px;font-size:13.5px;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--dim);font-weight:600}
.num{text-align:right;padding-right:20px}
td:last-child:not(.num){min-width:220px}
.ok,.good{color:var(--good)}.biased,.wider,.bad{color:var(--bad);font-weight:600}.new_inputs,.too_few{color:var(--warn)}
footer{padding-top:32px;padding-bottom:40px;font-size:13px}
@media print{body{background:#fff;font-size:11px}figure,.tile{break-inside:avoid}details,nav{display:none}
main,header,footer{max-width:none;padding:0}.grid{grid-template-columns:1fr 1fr}
.plot svg,.wide .plot svg{min-width:0}}
', CASE WHEN report_page.zoom THEN perfmodel.report_script_style() END, '</style>
</head>
<body>
', report_page.body, '<script>' || CASE WHEN report_page.zoom THEN perfmodel.report_script() END || E'</script>\n', '</body>
</html>')));
END;
COMMENT ON FUNCTION perfmodel.report_page(text, text, boolean) IS
    'an HTML page with a body of markup and the style sheet of reports; zoom: with report_script()';

-- Runs what it is given: a query of one's own, with one's own rights.
CREATE FUNCTION perfmodel.report_table(query text) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head text;
    body text;
BEGIN
    EXECUTE format($query$
        SELECT string_agg(c.cells, E'</tr>\n<tr>' ORDER BY t.nth), (array_agg(c.names))[1]
        FROM (SELECT row_to_json(q) AS j, row_number() OVER () AS nth FROM (%s) AS q LIMIT 100) AS t,
             LATERAL (SELECT string_agg(format('<td%%s>%%s</td>',
                                               CASE WHEN json_typeof(e.value) = 'number' THEN ' class="num"'
                                                    WHEN e.key = 'verdict' THEN format(' class="%%s"', perfmodel.escape_markup(e.value #>> '{}', 20)) END,
                                               perfmodel.escape_markup(coalesce(CASE e.key WHEN 'verdict' THEN replace(e.value #>> '{}', '_', ' ') ELSE e.value #>> '{}' END, ''), 90)),
                                        E'\n' ORDER BY e.nth) AS cells,
                             string_agg(format('<th scope="col"%%s>%%s</th>', CASE json_typeof(e.value) WHEN 'number' THEN ' class="num"' END,
                                               perfmodel.escape_markup(replace(replace(e.key, '_pct', ' %%'), '_', ' '), 60)), E'\n' ORDER BY e.nth) AS names
                      FROM json_each(t.j) WITH ORDINALITY AS e(key, value, nth)) AS c$query$, query) INTO body, head;
    RETURN coalesce(format(E'<table>\n<thead><tr>%s</tr></thead>\n<tbody>\n<tr>%s</tr>\n</tbody></table>\n', head, body), E'<p class="says">None.</p>\n');
END $$;
COMMENT ON FUNCTION perfmodel.report_table(text) IS 'an HTML table of the result of a query, at most 100 rows';

CREATE FUNCTION perfmodel.report_figure(title text, says text, content text, query text DEFAULT NULL, wide boolean DEFAULT false) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT concat('<figure', CASE WHEN report_figure.wide THEN ' class="wide"' END, '>
<h3>', perfmodel.escape_markup(report_figure.title, 100), '</h3>
<p class="says">', perfmodel.escape_markup(report_figure.says), '</p>
<div class="plot" tabindex="0" role="group" aria-label="', perfmodel.escape_markup(report_figure.title, 100), '">
', report_figure.content, '</div>
', '<details><summary>SQL of this figure</summary><pre>
' || perfmodel.escape_markup_lines(report_figure.query) || '</pre></details>
', '</figure>
');
END;
COMMENT ON FUNCTION perfmodel.report_figure(text, text, text, text, boolean) IS 'a figure of a report: title, a sentence, markup, and the SQL that made it';

-- Runs what it is given, too: a query with some of the columns series, label, x, y, low, high.
-- JSON has as many digits of a number as the session shows, so all of them are shown here.
CREATE FUNCTION perfmodel.report_plot(title text, says text, form text, query text, x_title text DEFAULT NULL, y_title text DEFAULT NULL,
                                      x_scale text DEFAULT 'linear', y_scale text DEFAULT 'linear', reference float8 DEFAULT NULL,
                                      wide boolean DEFAULT false, zoom boolean DEFAULT false) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
DECLARE
    svg text;
    n bigint;
    wrong text;
    detail text;
    hint text;
BEGIN
    -- The server would put the text of the query behind the message, which is then out of sight.
    BEGIN
        EXECUTE format($query$
            SELECT count(*), perfmodel.plot($1, coalesce(array_agg((j ->> 'x')::float8), '{}'), array_agg((j ->> 'y')::float8), array_agg(j ->> 'series'),
                                  array_agg(j ->> 'label'), array_agg((j ->> 'low')::float8), array_agg((j ->> 'high')::float8), NULL, $2, $3, $4, $5, $6, $7, zoom => $8)
            FROM (SELECT row_to_json(q) AS j FROM (%s) AS q) AS marks$query$, query)
            INTO n, svg USING form, x_title, y_title, x_scale, y_scale, reference, CASE WHEN wide THEN 1160 ELSE 560 END, zoom;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS wrong = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
        RAISE DEBUG 'the query of the figure "%": %', title, query;
        RAISE EXCEPTION USING ERRCODE = SQLSTATE, MESSAGE = wrong, DETAIL = concat(detail, CASE WHEN detail <> '' THEN ' ' END, format('It comes from the query of the figure "%s".', title)),
            HINT = CASE WHEN hint <> '' THEN hint ELSE 'SET client_min_messages = debug1 shows the query.' END;
    END;
    RETURN perfmodel.report_figure(title, says, CASE WHEN n > 0 THEN svg ELSE E'<p>No data yet: the query of this figure returns no rows.</p>\n' END, query, wide);
END $$;
COMMENT ON FUNCTION perfmodel.report_plot(text, text, text, text, text, text, text, text, float8, boolean, boolean) IS
    'a figure of a report with a plot of the result of a query with columns series, label, x, y, low, high';

CREATE FUNCTION perfmodel.report_tile(name text, value text, note text DEFAULT NULL, class text DEFAULT '') RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT concat('<div class="tile"><dt>', perfmodel.escape_markup(report_tile.name, 60), '</dt><dd class="', perfmodel.escape_markup(report_tile.class, 20), '">
', coalesce(perfmodel.escape_markup(report_tile.value, 60), '&#8211;'), '<small>' || perfmodel.escape_markup(report_tile.note, 90) || '</small>', '</dd></div>
');
END;
COMMENT ON FUNCTION perfmodel.report_tile(text, text, text, text) IS 'a figure of a report that is one number with its name';

-- ---- a history of jobs ----

CREATE FUNCTION perfmodel.report_jobs_text(n bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_char(n, 'FM999,999,999,990') || CASE n WHEN 1 THEN ' job' ELSE ' jobs' END;
COMMENT ON FUNCTION perfmodel.report_jobs_text(bigint) IS 'a number of jobs in words for a report';

CREATE FUNCTION perfmodel.report_hours_text(hours float8) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN to_char(hours, CASE WHEN hours < 9.95 THEN 'FM0.0' ELSE 'FM999,999,999,990' END);
COMMENT ON FUNCTION perfmodel.report_hours_text(float8) IS 'a number of GPU-hours in words for a report';

-- hours: the SQL of the GPU-hours of a job. The sums have only those at whose time a price of the card was valid: so the words say how many
-- the others are, of which cards, and why.
CREATE FUNCTION perfmodel.report_cost(source text, hours text) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    priced CONSTANT text := format(
$query$WITH job AS MATERIALIZED (SELECT team, gpu, ran_at, %2$s AS hours
FROM (%1$s) AS j),
card AS MATERIALIZED (SELECT k.gpu, perfmodel.find_gpu(k.gpu) AS name FROM (SELECT DISTINCT gpu::text FROM job) AS k),
-- from each moment at which prices of a card change to the next one, the price is the same
edge AS (SELECT p.gpu, e.at FROM perfmodel.price AS p,
      LATERAL (VALUES (coalesce(lower(p.valid), '-infinity')), (coalesce(upper(p.valid), 'infinity'))) AS e(at)
      WHERE p.gpu IN (SELECT name FROM card) GROUP BY 1, 2),
price AS (SELECT DISTINCT ON (e.gpu, e.at) e.gpu, e.at, e.until, p.usd_per_hour AS usd
      FROM (SELECT gpu, at, lead(at, 1, 'infinity') OVER (PARTITION BY gpu ORDER BY at) AS until FROM edge) AS e
           JOIN perfmodel.price AS p ON p.gpu = e.gpu AND p.valid && tstzrange(e.at, e.until, '()')
      ORDER BY e.gpu, e.at, p.kind = 'spot', p.usd_per_hour)$query$, source, hours);
    left_out text;
BEGIN
    EXECUTE priced || $query$,
h AS (SELECT coalesce(left(card.name, 40), 'unknown GPUs') AS gpu, (SELECT min(e.at) FROM edge AS e WHERE e.gpu = card.name) AS first,
             sum(hours) AS hours, coalesce(sum(hours) FILTER (WHERE price.gpu IS NULL), 0) AS unpriced, max(ran_at) FILTER (WHERE price.gpu IS NULL) AS last
      FROM job LEFT JOIN card ON card.gpu = job.gpu::text LEFT JOIN price ON price.gpu = card.name AND ran_at >= at AND ran_at < until GROUP BY card.name),
n AS (SELECT h.*, sum(hours) OVER () AS all_hours, sum(unpriced) OVER () AS all_unpriced, last < first AS later, row_number() OVER (ORDER BY unpriced DESC, gpu) AS nth FROM h)
SELECT CASE WHEN sum(unpriced) > 0 THEN concat(format('Left out, as no price was valid: %s of %s GPU-hours: ', perfmodel.report_hours_text(sum(unpriced)), perfmodel.report_hours_text(min(all_hours))),
            string_agg(format('%s on %s (%s)', perfmodel.report_hours_text(unpriced), gpu,
                              CASE WHEN first IS NULL THEN 'no price' WHEN later THEN format('prices begin later, %s UTC', to_char(first AT TIME ZONE 'UTC', 'FMDD Mon YYYY HH24:MI'))
                                   ELSE 'no price at some times' END), ', ' ORDER BY nth) FILTER (WHERE unpriced > 0 AND nth <= 8),
            ', ' || perfmodel.report_hours_text(sum(unpriced) FILTER (WHERE unpriced > 0 AND nth > 8)) || ' on other GPUs', '.',
            CASE WHEN bool_or(later) THEN ' To price these, let prices begin earlier: docs/jobs.md says how.' END)
       ELSE 'All GPU-hours had a price.' END FROM n$query$ INTO left_out;
    RETURN perfmodel.report_plot('Cost by team', 'At the lowest price in perfmodel.price that was valid for the card when the job started (or was submitted, where the start is not known): '
        'of any provider and region, a spot price only where there is no other. ' || left_out, 'bars', priced || $query$,
c AS (SELECT coalesce(team::text, 'unknown') AS team, job.gpu::text AS gpu, sum(hours * usd) AS usd
      FROM job JOIN card ON card.gpu = job.gpu::text JOIN price ON price.gpu = card.name AND ran_at >= at AND ran_at < until GROUP BY 1, 2),
t AS (SELECT team, row_number() OVER (ORDER BY sum(usd) DESC, team) AS nth FROM c GROUP BY 1),
g AS (SELECT gpu, row_number() OVER (ORDER BY sum(usd) DESC, gpu) AS nth FROM c GROUP BY 1)
SELECT CASE WHEN t.nth <= 12 THEN team ELSE 'all others' END AS label,
       CASE WHEN g.nth <= 7 THEN gpu ELSE 'other GPUs' END AS series, sum(usd) AS x
FROM c JOIN t USING (team) JOIN g USING (gpu)
GROUP BY 1, 2 ORDER BY min(least(t.nth, 13)), min(least(g.nth, 8))$query$, 'USD');
END $$;
COMMENT ON FUNCTION perfmodel.report_cost(text, text) IS 'a figure of what jobs cost by team, and how many of their GPU-hours have no price';

CREATE FUNCTION perfmodel.report_history(source text, predictor text, alternatives text[] DEFAULT NULL, zoom boolean DEFAULT false, left_out bigint DEFAULT 0) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- a job without a duration that can be has no hours: NULL, NaN and Infinity would come first where the most are asked for
    hours CONSTANT text := 'CASE WHEN duration_s BETWEEN 0 AND 1e12 THEN greatest(gpu_count, 0) * duration_s / 3600 ELSE 0 END';
    asked CONSTANT text := format(E'SELECT graph_id, gpu, batch, dtype, layout, framework, sum(%s) AS gpu_hours,\n'
        '       perfmodel.predict_train_time(graph_id, gpu, batch, dtype, layout, framework, %L, on_error => ''null'') AS step_ms\n'
        'FROM (%s) AS job GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(%1$s) > 0', hours, predictor, source);
    may_read_prices CONSTANT boolean := has_table_privilege('perfmodel.price', 'SELECT');
    bucket text;
    sums record;
    unknown record;
    top record;
    cards text[];
    page text;
BEGIN
    EXECUTE format('SELECT count(*) AS jobs, sum(%s) AS gpu_hours, count(DISTINCT team) AS teams, count(DISTINCT gpu) AS gpus, count(DISTINCT graph_id) AS networks,
                           count(*) FILTER (WHERE gpu_count < 1) AS odd, count(*) FILTER (WHERE duration_s BETWEEN 0 AND 1e12 IS NOT TRUE) AS untimed,
                           min(submitted_at) AT TIME ZONE ''UTC'' AS first, max(submitted_at) AT TIME ZONE ''UTC'' AS last FROM (%s) AS job', hours, source) INTO sums;
    EXECUTE format('SELECT sum(jobs) FILTER (WHERE g.graph_id IS NULL) AS network, sum(jobs) FILTER (WHERE perfmodel.find_gpu(k.gpu) IS NULL) AS gpu
                    FROM (SELECT graph_id, gpu, count(*) AS jobs FROM (%s) AS job GROUP BY 1, 2) AS k LEFT JOIN perfmodel.graph AS g ON g.graph_id = k.graph_id', source) INTO unknown;
    page := concat('<section aria-labelledby="jobs"><h2 id="jobs">What ran</h2>
<p class="says">', CASE WHEN sums.jobs = 0 THEN 'No jobs in this time.'
                        ELSE format('Jobs submitted from %s to %s UTC.', to_char(sums.first, 'FMDD Mon YYYY HH24:MI'), to_char(sums.last, 'FMDD Mon YYYY HH24:MI')) END,
        CASE WHEN left_out > 0 THEN format(' Left out, as not ended: %s.', perfmodel.report_jobs_text(left_out)) END,
        CASE WHEN unknown.network > 0 THEN format(' The networks of %s are not known here.', perfmodel.report_jobs_text(unknown.network::bigint)) END,
        CASE WHEN unknown.gpu > 0 THEN format(' The GPUs of %s are not known here.', perfmodel.report_jobs_text(unknown.gpu::bigint)) END,
        CASE WHEN unknown.network > 0 OR unknown.gpu > 0 THEN ' Such jobs count in sums, but are not predicted; perfmodel.resolve_job_names says what names mean.' END,
        -- as report_jobs() writes what the table lacks
        CASE WHEN strpos(source, ', 1 AS gpu_count') > 0 THEN ' No column is gpu_count: each job counts as one GPU (the argument columns may name one).' END,
        CASE WHEN strpos(source, ', ''fp32'' AS dtype') > 0 THEN ' No column is dtype: jobs are predicted in fp32.' END,
        CASE WHEN sums.odd > 0 THEN format(' Without GPU-hours: %s, whose gpu_count is no whole number from 1 on.', perfmodel.report_jobs_text(sums.odd)) END,
        CASE WHEN sums.untimed > 0 THEN format(' Without GPU-hours: %s, whose duration_s is missing or not from 0 to 1e12 seconds.', perfmodel.report_jobs_text(sums.untimed)) END,
        CASE WHEN NOT may_read_prices THEN ' Costs are left out: you may not read perfmodel.price.' END, '</p>
<dl class="tiles">', perfmodel.report_tile('jobs', to_char(sums.jobs, 'FM999,999,999,990')),
        perfmodel.report_tile('GPU-hours', to_char(sums.gpu_hours, 'FM999,999,999,990')), perfmodel.report_tile('teams', sums.teams::text),
        perfmodel.report_tile('kinds of GPU', sums.gpus::text), perfmodel.report_tile('networks', sums.networks::text), E'</dl>\n');
    IF sums.jobs = 0 THEN
        RETURN page || E'</section>\n';
    END IF;
    bucket := CASE WHEN sums.last - sums.first < interval '4 days' THEN 'hour' WHEN sums.last - sums.first < interval '200 days' THEN 'day'
                   WHEN sums.last - sums.first < interval '6 years' THEN 'week' ELSE 'month' END;
    cards := coalesce(alternatives, ARRAY(
        SELECT s.name FROM (SELECT g.name, coalesce(g.fp16_tensor_tflops, g.fp32_tflops, 0) AS rate
                            FROM perfmodel.predictor AS p, unnest(p.gpus) AS k(name) JOIN perfmodel.gpu AS g ON g.name = k.name
                            WHERE p.name = report_history.predictor AND NOT g.is_cpu ORDER BY rate DESC, g.name LIMIT 6) AS s ORDER BY s.rate DESC, s.name));
    page := concat(page, '<div class="grid">
', perfmodel.report_plot('GPU-hours by team', 'The twelve teams that use most, by kind of GPU.', 'bars', format(
$query$WITH job AS (%s),
h AS (SELECT coalesce(team::text, 'unknown') AS team, coalesce(gpu::text, 'unknown') AS gpu, sum(%s) AS hours FROM job GROUP BY 1, 2),
t AS (SELECT team, row_number() OVER (ORDER BY sum(hours) DESC, team) AS nth FROM h GROUP BY 1),
g AS (SELECT gpu, row_number() OVER (ORDER BY sum(hours) DESC, gpu) AS nth FROM h GROUP BY 1)
SELECT CASE WHEN t.nth <= 12 THEN team ELSE 'all others' END AS label,
       CASE WHEN g.nth <= 7 THEN gpu ELSE 'other GPUs' END AS series, sum(h.hours) AS x
FROM h JOIN t USING (team) JOIN g USING (gpu)
GROUP BY 1, 2 ORDER BY min(least(t.nth, 13)), min(least(g.nth, 8))$query$, source, hours), 'GPU-hours'),
    perfmodel.report_plot(format('GPU-hours by %s', bucket), format('When the jobs of each %s were submitted.', bucket), 'areas', format(
$query$WITH job AS (%s),
h AS (SELECT date_trunc(%L, submitted_at, 'UTC') AS at, coalesce(gpu::text, 'unknown') AS gpu, sum(%s) AS hours
      FROM job GROUP BY 1, 2),
g AS (SELECT gpu, row_number() OVER (ORDER BY sum(hours) DESC, gpu) AS nth FROM h GROUP BY 1),
-- a value is drawn up to the next one: where no jobs follow, it is 0
idle AS (SELECT (at AT TIME ZONE 'UTC' + interval '1 %s') AT TIME ZONE 'UTC' AS at FROM h WHERE at < '9999-01-01' EXCEPT SELECT at FROM h),
v AS (SELECT at, gpu, hours FROM h UNION ALL SELECT at, gpu, 0 FROM idle, g WHERE nth = 1)
SELECT extract(epoch FROM at) AS x, CASE WHEN g.nth <= 7 THEN gpu ELSE 'other GPUs' END AS series, sum(hours) AS y
FROM v JOIN g USING (gpu) GROUP BY 1, 2 ORDER BY min(least(g.nth, 8)), 1$query$, source, bucket, hours, bucket), NULL, 'GPU-hours', 'time', zoom => zoom),
    perfmodel.report_plot('Networks that take most GPU-hours', 'The twelve largest, with their share of all GPU-hours in percent.', 'bars', format(
$query$WITH job AS (%s),
n AS (SELECT coalesce(g.name, 'unknown') AS name, sum(%s) AS hours
      FROM job LEFT JOIN perfmodel.graph AS g USING (graph_id) GROUP BY 1)
SELECT format('%%s %%%%, ', round((100 * hours / sum(hours) OVER ())::numeric, 1)) || name AS label, hours AS x
FROM n WHERE hours > 0 ORDER BY hours DESC, name LIMIT 12$query$, source, hours), 'GPU-hours'),
    perfmodel.report_plot('The same work on one kind of GPU',
        'GPU-hours of the jobs that can be predicted: as they ran, and as they would be if all had run on one kind of GPU (amp, or fp32 where it has no matrix units), '
        'by the ratio of predicted steps. A whisker goes from the sum of the lower ends of the 90 % intervals to the sum of the upper ends. '
        'Out of the domain means that the predictor has learned too little of this GPU or of these networks: take the bar for a guess.',
        'bars', format(
$query$WITH asked AS MATERIALIZED (%s),
card AS (SELECT u.name, u.nth, CASE WHEN g.fp16_tensor_tflops IS NULL THEN 'fp32' ELSE 'amp' END AS dtype
         FROM unnest(%L::text[]) WITH ORDINALITY AS u(name, nth) JOIN perfmodel.gpu AS g USING (name)),
moved AS (SELECT card.name, card.nth, gpu_hours / asked.step_ms AS scale, p.*
          FROM asked, card, perfmodel.predict(graph_id, card.name, batch, card.dtype, layout, framework, %L, on_error => 'null') AS p
          WHERE asked.step_ms > 0),
card_sum AS (SELECT name, nth, sum(scale * step_ms) AS x, sum(scale * step_ms_low) AS low, sum(scale * step_ms_high) AS high,
                    sum(scale * step_ms) FILTER (WHERE NOT in_domain) / sum(scale * step_ms) AS outside FROM moved GROUP BY name, nth)
SELECT 'as they ran' AS label, 'measured' AS series, sum(gpu_hours) AS x, NULL::float8 AS low, NULL::float8 AS high, 0 AS nth FROM asked WHERE step_ms > 0 HAVING count(*) > 0
UNION ALL
SELECT name, CASE WHEN outside > 0.95 THEN 'predicted, out of the domain' WHEN outside > 0.05 THEN 'predicted, partly out of it'
                  ELSE 'predicted' END, x, low, high, nth
FROM card_sum WHERE x > 0 ORDER BY nth$query$, asked, cards, predictor), 'GPU-hours'));
    -- not in one condition: the right is asked for as soon as a query names the table
    IF may_read_prices THEN
        IF EXISTS (SELECT FROM perfmodel.price) THEN
            page := page || perfmodel.report_cost(source, hours);
        END IF;
    END IF;
    EXECUTE format('SELECT * FROM (%s) AS q WHERE step_ms > 0 ORDER BY gpu_hours DESC, graph_id, gpu, batch LIMIT 1', asked) INTO top;
    IF top.graph_id IS NOT NULL THEN
        page := concat(page, perfmodel.report_figure('Where a step goes', 'The network, card and batch that took most GPU-hours.',
            perfmodel.plot_step(top.graph_id, top.gpu::text, top.batch::integer, top.dtype::text, top.layout::text, top.framework::text, predictor, width => 560),
            format(E'SELECT node_id, op, class, module, forward_ms, backward_ms, update_ms\nFROM perfmodel.explain_train_time(%s, %L, %s, %L, %L, %L, %L, per => ''node'')',
                   top.graph_id, top.gpu, top.batch, top.dtype, top.layout, top.framework, predictor)));
        IF NOT (SELECT g.is_cpu FROM perfmodel.gpu AS g WHERE g.name = perfmodel.gpu_name(top.gpu::text)) THEN
            page := concat(page, perfmodel.report_figure('What the memory is taken by', 'The same network and card, at this batch and at others.',
                perfmodel.plot_memory(top.graph_id, top.gpu::text, top.batch::integer, top.dtype::text, top.layout::text, top.framework::text, width => 560),
                format('SELECT * FROM perfmodel.predict_memory(%s, %L, %s, %L, %L, %L)', top.graph_id, top.gpu, top.batch, top.dtype, top.layout, top.framework)),
                perfmodel.report_figure('On more GPUs', 'The same step on several of these cards, in nodes that are usual for them; the band is the interval of 90 %.',
                perfmodel.plot_scaling(top.graph_id, top.gpu::text, top.batch::integer, NULL, 64, top.dtype::text, top.layout::text, top.framework::text, predictor, width => 560),
                format('SELECT * FROM perfmodel.scaling_curve(%s, %L, %s, dtype => %L, layout => %L, framework => %L, predictor => %L)',
                       top.graph_id, top.gpu, top.batch, top.dtype, top.layout, top.framework, predictor)));
        END IF;
    END IF;
    RETURN page || E'</div></section>\n';
END $$;
COMMENT ON FUNCTION perfmodel.report_history(text, text, text[], boolean, bigint) IS 'the part of a report about a history of jobs, read by a query as report_jobs() makes it';

CREATE FUNCTION perfmodel.report_trust(predictor text, since timestamptz DEFAULT NULL, zoom boolean DEFAULT false) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET datestyle = 'ISO' AS $$
DECLARE
    ask CONSTANT text := format('perfmodel.residuals(%L, %L)', predictor, since);
    whole record;
    span interval;
    slice interval;
BEGIN
    SELECT * INTO whole FROM perfmodel.drift(predictor, '{}', since);
    EXECUTE format('SELECT max(measured_at) - min(measured_at) FROM %s WHERE isfinite(measured_at)', ask) INTO span;
    slice := CASE WHEN span < interval '3 days' THEN interval '1 hour' WHEN span < interval '60 days' THEN interval '1 day' ELSE interval '7 days' END;
    IF coalesce(whole.n, 0) = 0 THEN
        RETURN '<section aria-labelledby="trust"><h2 id="trust">How good the predictions are</h2>
<p class="says">There are no measurements that the predictor was not trained on, so nothing can be said about its errors.
Rows of perfmodel.profile that are measured from now on will say.</p></section>
';
    END IF;
    RETURN concat('<section aria-labelledby="trust"><h2 id="trust">How good the predictions are</h2>
<p class="says">On measurements that the predictor was not trained on.</p>
<dl class="tiles">',
        perfmodel.report_tile('verdict', replace(whole.verdict, '_', ' '), coalesce(whole.advice, 'nothing to do'), whole.verdict),
        perfmodel.report_tile('mean error', round(whole.mape_pct::numeric, 1) || ' %',
            coalesce('promised: ' || round(whole.expected_mape_pct::numeric, 1) || ' %', 'the predictor has no intervals, so it promises nothing')),
        CASE WHEN whole.coverage_pct IS NULL THEN
            perfmodel.report_tile('inside of the interval', 'no data yet', CASE WHEN whole.expected_mape_pct IS NULL THEN 'the predictor has no intervals' ELSE 'no measurement is in the domain of the predictor' END)
        ELSE perfmodel.report_tile('inside of the interval', round(whole.coverage_pct::numeric) || ' %',
            format('promised: 90 %%; the true share is likely between %s and %s %%', round(whole.coverage_low_pct::numeric), round(whole.coverage_high_pct::numeric))) END,
        perfmodel.report_tile('out of the domain', coalesce(round(whole.out_of_domain_pct::numeric) || ' %', 'not known'),
            CASE WHEN whole.out_of_domain_pct IS NULL THEN 'the predictor has no domain' ELSE 'of the networks' END),
        perfmodel.report_tile('measurements', whole.n::text, format('of %s networks', whole.n_networks)), '</dl>
<div class="grid">
', perfmodel.report_plot('Predicted against measured', 'Each dot is a measurement, of at most 2,000; on the line, the prediction is right.', 'compare',
$query$SELECT measured_ms AS x, predicted_ms AS y,
       CASE WHEN in_domain THEN 'in the domain' WHEN in_domain IS NULL THEN 'domain not known' ELSE 'out of the domain' END AS series
FROM (SELECT * FROM $query$ || ask || $query$
      ORDER BY hashint8(profile_id) LIMIT 2000) AS r ORDER BY series$query$, 'measured, ms', 'predicted, ms', 'log', 'log', zoom => zoom),
    perfmodel.report_plot('Coverage over time', 'Share of measurements inside of their interval of 90 %, with bounds of 90 % (the band). It should stay about the line.', 'lines',
format($query$SELECT extract(epoch FROM window_start) AS x, coverage_pct AS y, coverage_low_pct AS low, coverage_high_pct AS high
FROM perfmodel.drift(%L, '{}', %L, slice => %L) WHERE coverage_pct IS NOT NULL$query$, predictor, since, slice), NULL, '% inside', 'time', 'linear', 90, zoom => zoom),
    perfmodel.report_plot('Error by GPU', 'Mean absolute error in percent of the measured time.', 'bars',
$query$SELECT gpu AS label, 100 * avg(abs(1 - predicted_ms / measured_ms)) AS x
FROM $query$ || ask || $query$
GROUP BY gpu ORDER BY count(*) DESC, gpu LIMIT 20$query$, '%'),
    perfmodel.report_plot('Error by family of networks', 'The twenty families with most measurements.', 'bars',
$query$SELECT family AS label, 100 * avg(abs(1 - predicted_ms / measured_ms)) AS x
FROM $query$ || ask || $query$
GROUP BY family ORDER BY count(*) DESC, family LIMIT 20$query$, '%'),
    perfmodel.report_figure('Drift', 'An alarm (biased, wider) is valid however often one looks. docs/drift.md says what the columns mean.',
        perfmodel.report_table(format($query$SELECT grouped_by, coalesce(group_name, CASE WHEN grouped_by <> 'overall' THEN 'not known' END) AS group_name, n, n_networks AS networks, round(bias_pct::numeric, 1) AS bias_pct, round(mape_pct::numeric, 1) AS error_pct,
            round(expected_mape_pct::numeric, 1) AS promised_pct, round(coverage_pct::numeric) AS coverage_pct, round(out_of_domain_pct::numeric) AS out_of_domain_pct, verdict, advice
            FROM perfmodel.drift(%L, '{gpu,framework}', %L)$query$, predictor, since)),
        format($query$SELECT * FROM perfmodel.drift(%L, '{gpu,framework}', %L)$query$, predictor, since), true), E'</div></section>\n');
END $$;
COMMENT ON FUNCTION perfmodel.report_trust(text, timestamptz, boolean) IS 'the part of a report about the errors of a predictor on measurements that it was not trained on';

-- queue_eta() by the names that report() gives to its arguments, so that errors speak of these
CREATE FUNCTION perfmodel.report_eta(queue regclass, queue_columns jsonb, free jsonb, policy text, backfill boolean, predictor text, at timestamptz, draws integer, seed bigint,
                                     arrivals interval,
                                     OUT "position" bigint, OUT job_id text, OUT team text, OUT gpu text, OUT gpu_count integer, OUT p50_s float8, OUT p90_s float8,
                                     OUT start_p50 timestamptz, OUT start_p90 timestamptz, OUT finish_p50 timestamptz, OUT finish_p90 timestamptz,
                                     OUT note text)
    RETURNS SETOF record
    LANGUAGE c STABLE PARALLEL RESTRICTED COST 100000 ROWS 1000 AS 'MODULE_PATHNAME', 'pm_queue_eta_table';
COMMENT ON FUNCTION perfmodel.report_eta(regclass, jsonb, jsonb, text, boolean, text, timestamptz, integer, bigint, interval) IS
    'queue_eta() for a report: errors name the arguments as report() does';

CREATE FUNCTION perfmodel.report_queue(queue regclass, free jsonb, queue_columns jsonb, policy text, predictor text, zoom boolean) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    untimed text;
BEGIN
    -- the figure shows only jobs that have times: say how many have none, and the reason that most of them have
    SELECT CASE WHEN count(*) FILTER (WHERE e.finish_p50 IS NULL) = 0 THEN ''
                ELSE format(' Without times, and not shown: %s of %s. The column note of the query says why, such as: %s.', count(*) FILTER (WHERE e.finish_p50 IS NULL),
                            perfmodel.report_jobs_text(count(*)), mode() WITHIN GROUP (ORDER BY e.note) FILTER (WHERE e.finish_p50 IS NULL)) END INTO untimed
    FROM perfmodel.report_eta(queue, queue_columns, free, policy, false, predictor, now(), 200, 1, NULL) AS e;
    RETURN concat('<section aria-labelledby="queue"><h2 id="queue">The queue</h2>
<p class="says">Policy ', perfmodel.escape_markup(policy, 20), '; the first 40 jobs by start.</p>
<div class="grid">', perfmodel.report_figure('When jobs start and end', 'Running and waiting jobs, from the predictions and their intervals.' || untimed,
        perfmodel.plot_queue(jobs => queue, columns => queue_columns, free => free, policy => policy, predictor => predictor, width => 1160, zoom => zoom),
        format('SELECT * FROM perfmodel.queue_eta(jobs => %L, columns => %L, free => %L, policy => %L, predictor => %L)', queue, queue_columns, free, policy, predictor), true), E'</div></section>\n');
END $$;
COMMENT ON FUNCTION perfmodel.report_queue(regclass, jsonb, jsonb, text, text, boolean) IS 'the part of a report about waiting and running jobs; arguments as in report()';

-- Before anything is computed: the error of the server comes from deep inside, with the page so far as its context.
CREATE FUNCTION perfmodel.report_rights(caller text) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lacking CONSTANT text := (SELECT string_agg(t, ', ' ORDER BY nth) FROM unnest('{graph,predictor,predictor_weights,predictors,profile}'::text[]) WITH ORDINALITY AS u(t, nth)
                              WHERE NOT has_any_column_privilege('perfmodel.' || t, 'SELECT'));
BEGIN
    IF lacking IS NOT NULL THEN
        RAISE EXCEPTION 'permission denied for %', lacking USING ERRCODE = 'insufficient_privilege', DETAIL = format('perfmodel.%s() reads measurements, and predicts them.', caller),
            HINT = 'It takes the rights of an analyst: docs/roles.md has the statements.';
    END IF;
END $$;
COMMENT ON FUNCTION perfmodel.report_rights(text) IS 'raises where the caller of a report may not read what it is made of';

CREATE FUNCTION perfmodel.report(jobs regclass DEFAULT NULL, from_time timestamptz DEFAULT NULL, to_time timestamptz DEFAULT NULL, columns jsonb DEFAULT '{}',
                                 predictor text DEFAULT NULL, alternatives text[] DEFAULT NULL, title text DEFAULT 'Training jobs and their predictions',
                                 queue regclass DEFAULT NULL, free jsonb DEFAULT '{}', queue_columns jsonb DEFAULT '{}', policy text DEFAULT 'fifo',
                                 zoom boolean DEFAULT true) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET jit = off AS $$
DECLARE
    cards text[];
    chosen record;
    history text;
    left_out bigint;
    waiting text;
    useless record;
BEGIN
    PERFORM perfmodel.report_rights('report');
    SELECT a.name, a.part INTO useless
    FROM (VALUES ('from_time', 'jobs', from_time IS NOT NULL), ('to_time', 'jobs', to_time IS NOT NULL), ('columns', 'jobs', columns <> '{}'), ('alternatives', 'jobs', alternatives IS NOT NULL),
                 ('free', 'queue', free <> '{}'), ('queue_columns', 'queue', queue_columns <> '{}'), ('policy', 'queue', policy <> 'fifo')) AS a(name, part, given)
    WHERE a.given AND CASE a.part WHEN 'jobs' THEN jobs IS NULL ELSE queue IS NULL END LIMIT 1;
    IF useless.name IS NOT NULL THEN
        RAISE EXCEPTION '"%" has no effect without "%"', useless.name, useless.part USING ERRCODE = 'invalid_parameter_value',
            DETAIL = format('The argument is about the table "%s", and none is given.', useless.part),
            HINT = format('Give the table, such as %s => ''job'', or leave out "%s".', useless.part, useless.name);
    ELSIF from_time >= to_time THEN
        RAISE EXCEPTION '"from_time" must be before "to_time"' USING ERRCODE = 'invalid_parameter_value', DETAIL = format('"from_time" is %s, "to_time" %s.', from_time, to_time),
            HINT = 'The page is about jobs that were submitted at or after "from_time" and before "to_time".';
    END IF;
    -- raises where there is no such predictor, and none that is active
    PERFORM count(*) FROM perfmodel.corrections(predictor);
    SELECT p.name, p.kind, p.trained_at AT TIME ZONE 'UTC' AS trained_at INTO chosen FROM perfmodel.predictor AS p
    WHERE CASE WHEN report.predictor IS NULL THEN p.active AND p.quantity = 'step_ms' ELSE p.name = report.predictor END;
    IF alternatives IS NOT NULL THEN
        cards := ARRAY(SELECT perfmodel.gpu_name(g) FROM unnest(alternatives) AS g);
    END IF;
    IF jobs IS NOT NULL THEN
        EXECUTE format('SELECT count(*) FROM (%s) AS job', perfmodel.report_jobs(jobs, columns, from_time, to_time, ran => false)) INTO left_out;
        history := perfmodel.report_history(perfmodel.report_jobs(jobs, columns, from_time, to_time), chosen.name, cards, zoom, left_out);
    END IF;
    IF queue IS NOT NULL THEN
        waiting := perfmodel.report_queue(queue, free, queue_columns, policy, chosen.name, zoom);
    END IF;
    RETURN perfmodel.report_page(title, concat('<header><h1>', perfmodel.escape_markup(title, 100), '</h1>
<p class="from">', format(E'Made %s UTC by perfmodel %s.\nPredictor %s (%s), trained %s.', to_char(now() AT TIME ZONE 'UTC', 'FMDD Mon YYYY HH24:MI'),
                          (SELECT v.library FROM perfmodel.version() AS v), perfmodel.escape_markup(chosen.name, 60), perfmodel.escape_markup(chosen.kind, 20),
                          to_char(chosen.trained_at, 'FMDD Mon YYYY')), '</p>
<nav aria-label="Parts">', CASE WHEN queue IS NOT NULL THEN '<a href="#queue">The queue</a>' END, '
', CASE WHEN history IS NOT NULL THEN '<a href="#jobs">What ran</a>' END, '
<a href="#trust">How good the predictions are</a> <a href="#predictors">Predictors</a></nav></header>
<main>
', waiting, history, perfmodel.report_trust(chosen.name, zoom => zoom), '<section aria-labelledby="predictors"><h2 id="predictors">Predictors</h2>
<div class="grid">', perfmodel.report_figure('Predictors of this database', 'The active one answers when a question names none. Each error is on measurements of its own: compare_predictors() says which predictor is better.',
            perfmodel.report_table('SELECT name, kind, active, measurements, gpus, error_pct, origin, trained_at::date AS trained FROM perfmodel.predictors LIMIT 30'),
            'SELECT * FROM perfmodel.predictors', true), '</div></section>
</main>
<footer>Times are in UTC. Every figure has its SQL below it; the page needs no network and no script.</footer>
'), zoom);
END $$;
COMMENT ON FUNCTION perfmodel.report(regclass, timestamptz, timestamptz, jsonb, text, text[], text, regclass, jsonb, jsonb, text, boolean) IS
    'one page of HTML about a table of jobs (NULL: none) and the errors of a predictor: psql -Atqc ... > report.html';

CREATE FUNCTION perfmodel.report_diff(a text, b text, since timestamptz DEFAULT NULL, title text DEFAULT 'Two predictors compared',
                                      zoom boolean DEFAULT true) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET jit = off SET datestyle = 'ISO' AS $$
DECLARE
    joined CONSTANT text := format(
$query$SELECT x.profile_id, x.graph_id, x.family, x.gpu, x.dtype, x.batch, x.measured_ms, x.predicted_ms AS a_ms, y.predicted_ms AS b_ms,
       100 * abs(1 - x.predicted_ms / x.measured_ms) AS a_error, 100 * abs(1 - y.predicted_ms / y.measured_ms) AS b_error
FROM perfmodel.residuals(%L, %L) AS x JOIN perfmodel.residuals(%L, %2$L) AS y USING (profile_id)$query$, a, since, b);
    sides text;
    c record;
BEGIN
    PERFORM perfmodel.report_rights('report_diff');
    -- for the error where one is not known, also where there is no measurement
    PERFORM count(*) FROM perfmodel.corrections(a);
    PERFORM count(*) FROM perfmodel.corrections(b);
    SELECT * INTO c FROM perfmodel.compare_predictors(a, b, since);
    -- the errors of both, one after the other, in the groups of a column
    sides := $query$WITH r AS (%s),
g AS (SELECT %I AS name, count(*) AS n, avg(a_error) AS a, avg(b_error) AS b FROM r GROUP BY 1 ORDER BY n DESC, 1 LIMIT %s)
SELECT g.name || ', ' || v.which AS label, v.which AS series, v.error AS x
FROM g, LATERAL (VALUES (1, %L, g.a), (2, %L, g.b)) AS v(nth, which, error) ORDER BY g.n DESC, g.name, v.nth$query$;
    RETURN perfmodel.report_page(title, concat('<header><h1>', perfmodel.escape_markup(title, 100), '</h1>
<p class="from">a: ', perfmodel.escape_markup(a, 80), '<br>
b: ', perfmodel.escape_markup(b, 80), '</p></header>
<main>
<p class="says">On measurements that neither was trained on', CASE WHEN c.n = 0 THEN ', of which there are none' END, '.</p>
<dl class="tiles">', perfmodel.report_tile('mean error of a', coalesce(round(c.mape_a_pct::numeric, 1) || ' %', 'no data yet')),
        perfmodel.report_tile('mean error of b', coalesce(round(c.mape_b_pct::numeric, 1) || ' %', 'no data yet')),
        perfmodel.report_tile('error of b less that of a', coalesce(to_char(c.difference_pct, 'S990.0') || ' points', 'no data yet'),
            coalesce('interval of 90 %: ' || to_char(c.difference_low_pct, 'S990.0') || ' to ' || to_char(c.difference_high_pct, 'S990.0') || ', by networks',
                     'no interval: fewer than 5 networks')),
        perfmodel.report_tile('better', CASE c.better WHEN a THEN 'a' WHEN b THEN 'b' ELSE 'not decided' END, c.better, CASE WHEN c.better IS NULL THEN 'too_few' ELSE 'ok' END),
        perfmodel.report_tile('measurements', c.n::text, format('of %s networks', c.n_networks)), '</dl>
', CASE WHEN c.n > 0 THEN concat('<div class="grid">
', perfmodel.report_plot('Error by GPU', 'Mean absolute error in percent of the measured time; the eight cards with most measurements.', 'bars', format(sides, joined, 'gpu', 8, 'a', 'b'), '%'),
        perfmodel.report_plot('Error by family of networks', 'The ten families with most measurements.', 'bars', format(sides, joined, 'family', 10, 'a', 'b'), '%'),
        perfmodel.report_plot('Prediction against prediction', 'Each dot is a measurement, of at most 2,000; on the line, both say the same.', 'compare',
            format('SELECT a_ms AS x, b_ms AS y, CASE WHEN a_error < b_error THEN ''a is nearer'' ELSE ''b is nearer'' END AS series%sFROM (SELECT * FROM (%s) AS r ORDER BY hashint8(profile_id) LIMIT 2000) AS r ORDER BY series',
                   chr(10), joined), 'a, ms', 'b, ms', 'log', 'log', zoom => zoom),
        perfmodel.report_figure('Where they differ most', 'The fifteen measurements whose errors changed most.', perfmodel.report_table(format(
            'SELECT g.name AS network, r.gpu, r.dtype, r.batch, round(measured_ms::numeric, 1) AS measured_ms, round(a_ms::numeric, 1) AS a_ms, round(b_ms::numeric, 1) AS b_ms,
                    round(a_error::numeric, 1) AS a_error_pct, round(b_error::numeric, 1) AS b_error_pct
             FROM (%s) AS r JOIN perfmodel.graph AS g USING (graph_id) ORDER BY abs(a_error - b_error) DESC, profile_id LIMIT 15', joined)),
            format(E'SELECT * FROM (%s) AS r ORDER BY abs(a_error - b_error) DESC LIMIT 15', joined), true), E'</div>\n') END,
        '<div class="grid">', perfmodel.report_figure('How they were trained', 'Options that differ, and what both were trained on.', perfmodel.report_table(format(
            'SELECT o.option, max(o.value) FILTER (WHERE name = %1$L) AS a, max(o.value) FILTER (WHERE name = %2$L) AS b
             FROM perfmodel.predictor AS p, LATERAL (SELECT key, value FROM jsonb_each_text(p.options) UNION ALL VALUES (''kind'', p.kind), (''measurements'', p.n_profiles::text),
                  (''trained'', p.trained_at::date::text), (''GPUs'', cardinality(p.gpus)::text), (''seed'', p.seed::text)) AS o(option, value)
             WHERE p.name IN (%1$L, %2$L) GROUP BY o.option
             HAVING max(o.value) FILTER (WHERE name = %1$L) IS DISTINCT FROM max(o.value) FILTER (WHERE name = %2$L) ORDER BY o.option', a, b)),
            format('SELECT * FROM perfmodel.predictor WHERE name IN (%L, %L)', a, b), true), '</div>
</main>
<footer>Every figure has its SQL below it; the page needs no network and no script.</footer>
'), zoom);
END $$;
COMMENT ON FUNCTION perfmodel.report_diff(text, text, timestamptz, text, boolean) IS
    'one page of HTML that compares two predictors on measurements that neither was trained on';
