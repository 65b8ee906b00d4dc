-- Plots as SVG: one text that a page, a mail or a file holds as it is.

CREATE FUNCTION perfmodel.plot(form text, x float8[], y float8[] DEFAULT NULL, series text[] DEFAULT NULL, label text[] DEFAULT NULL,
                               low float8[] DEFAULT NULL, high float8[] DEFAULT NULL, title text DEFAULT NULL,
                               x_title text DEFAULT NULL, y_title text DEFAULT NULL, x_scale text DEFAULT 'linear',
                               y_scale text DEFAULT 'linear', reference float8 DEFAULT NULL, width integer DEFAULT 720,
                               height integer DEFAULT 0) RETURNS text
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100000 AS 'MODULE_PATHNAME', 'pm_plot_sql';
COMMENT ON FUNCTION perfmodel.plot(text, float8[], float8[], text[], text[], float8[], float8[], text, text, text, text, text, float8, integer, integer) IS
    'an SVG of marks given as arrays; form: bars, points, compare, lines, areas, spans; scales: linear, log, time';

CREATE FUNCTION perfmodel.escape_markup(words text, most integer DEFAULT 0) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_escape_markup';
COMMENT ON FUNCTION perfmodel.escape_markup(text, integer) IS 'words for HTML or SVG: entities for <, >, &, quotes; cut to so many characters unless most is 0';

CREATE FUNCTION perfmodel.escape_markup_lines(words text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_escape_markup_lines';
COMMENT ON FUNCTION perfmodel.escape_markup_lines(text) IS 'words for <pre> of HTML, which keep their lines';

CREATE FUNCTION perfmodel.break_lines(markup text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_break_lines_sql';
COMMENT ON FUNCTION perfmodel.break_lines(text) IS 'markup with lines of at most 120 bytes, broken at blanks';

-- Parts of a network are the modules of the model, down to two levels, or the
-- classes of operators where the graph knows no modules.
CREATE FUNCTION perfmodel.plot_step(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw',
                                    framework text DEFAULT NULL, predictor text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum',
                                    parts integer DEFAULT 24, width integer DEFAULT 720) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE COST 200000
BEGIN ATOMIC
    WITH node AS (
        SELECT e.node_id, e.forward_ms, e.backward_ms, e.update_ms, e.step_ms,
               CASE WHEN e.node_id IS NULL THEN 'rest of the step'
                    WHEN bool_or(e.module <> '') OVER ()
                        THEN coalesce(nullif(array_to_string((string_to_array(e.module, '.'))[1:2], '.'), ''), e.class)
                    ELSE e.class END AS part
        FROM perfmodel.explain_train_time(plot_step.graph_id, plot_step.gpu, plot_step.batch, plot_step.dtype, plot_step.layout,
                 plot_step.framework, plot_step.predictor, plot_step.optimizer, per => 'node') AS e
    ), part AS (
        SELECT n.part, min(n.node_id) AS place, sum(n.forward_ms) AS forward_ms, sum(n.backward_ms) AS backward_ms,
               sum(n.update_ms) AS update_ms, sum(n.step_ms) AS step_ms, rank() OVER (ORDER BY sum(n.step_ms) DESC, min(n.node_id)) AS nth
        FROM node AS n GROUP BY n.part
    ), shown AS (
        SELECT CASE WHEN p.nth <= plot_step.parts THEN p.part ELSE 'all others' END AS part,
               CASE WHEN p.nth <= plot_step.parts THEN p.place END AS place, v.phase, v.nth, sum(v.ms) AS ms
        FROM part AS p, LATERAL (VALUES (1, 'forward', p.forward_ms), (2, 'backward', p.backward_ms), (3, 'update', p.update_ms),
                                        (4, CASE WHEN p.place IS NULL THEN 'other' ELSE 'whole step' END,
                                         CASE WHEN p.forward_ms IS NULL THEN p.step_ms END)) AS v(nth, phase, ms)
        WHERE v.ms > 0 GROUP BY 1, 2, 3, 4
    )
    SELECT perfmodel.plot('bars', array_agg(s.ms ORDER BY s.place, s.part, s.nth), series => array_agg(s.phase ORDER BY s.place, s.part, s.nth),
        label => array_agg(s.part ORDER BY s.place, s.part, s.nth), x_title => 'milliseconds of a step', width => plot_step.width,
        title => format('%s on %s, batch %s: %s ms', (SELECT g.name FROM perfmodel.graph AS g WHERE g.graph_id = plot_step.graph_id),
                        perfmodel.gpu_name(plot_step.gpu), plot_step.batch, round(sum(s.ms)::numeric, 1)))
    FROM shown AS s;
END;
COMMENT ON FUNCTION perfmodel.plot_step(bigint, text, integer, text, text, text, text, text, integer, integer) IS
    'an SVG of where the time of a step goes: by module, or by class of operator';

CREATE FUNCTION perfmodel.plot_errors(predictor text DEFAULT NULL, since timestamptz DEFAULT NULL, width integer DEFAULT 720) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE COST 2000000
BEGIN ATOMIC
    WITH residual AS (
        -- at most 2,000 points, the same ones at each look
        SELECT r.* FROM perfmodel.residuals(plot_errors.predictor, plot_errors.since) AS r ORDER BY hashint8(r.profile_id) LIMIT 2000
    ), point AS (
        SELECT r.measured_ms, r.predicted_ms, CASE WHEN r.in_domain THEN 'in the domain' ELSE 'out of the domain' END AS series FROM residual AS r
    )
    SELECT perfmodel.plot('compare', array_agg(p.measured_ms ORDER BY p.series), array_agg(p.predicted_ms ORDER BY p.series),
        series => array_agg(p.series ORDER BY p.series), x_title => 'measured, ms', y_title => 'predicted, ms', x_scale => 'log', y_scale => 'log',
        title => 'Predicted against measured steps', width => plot_errors.width, height => plot_errors.width * 2 / 3)
    FROM point AS p;
END;
COMMENT ON FUNCTION perfmodel.plot_errors(text, timestamptz, integer) IS
    'an SVG of predicted against measured steps that the predictor was not trained on, in and out of its domain';

CREATE FUNCTION perfmodel.plot_coverage(predictor text DEFAULT NULL, slice interval DEFAULT '7 days', since timestamptz DEFAULT NULL,
                                        width integer DEFAULT 720) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE COST 2000000
BEGIN ATOMIC
    SELECT perfmodel.plot('lines', array_agg(extract(epoch FROM d.window_start)::float8 ORDER BY d.window_start),
        array_agg(d.coverage_pct ORDER BY d.window_start), low => array_agg(d.coverage_low_pct ORDER BY d.window_start),
        high => array_agg(d.coverage_high_pct ORDER BY d.window_start), x_scale => 'time', y_title => '% inside of the interval', reference => 90,
        title => 'Measurements inside of their interval of 90 %', width => plot_coverage.width)
    FROM perfmodel.drift(plot_coverage.predictor, '{}', plot_coverage.since, plot_coverage.slice) AS d;
END;
COMMENT ON FUNCTION perfmodel.plot_coverage(text, interval, timestamptz, integer) IS
    'an SVG of the coverage of intervals over time, with bounds of 90 %';
