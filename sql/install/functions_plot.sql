-- Plots as SVG: one text that a page, a mail or a file holds as it is.

CREATE FUNCTION perfmodel.plot(form text, x float8[], y float8[] DEFAULT NULL, series text[] DEFAULT NULL, label text[] DEFAULT NULL,
                               low float8[] DEFAULT NULL, high float8[] DEFAULT NULL, title text DEFAULT NULL,
                               x_title text DEFAULT NULL, y_title text DEFAULT NULL, x_scale text DEFAULT 'linear',
                               y_scale text DEFAULT 'linear', reference float8 DEFAULT NULL, width integer DEFAULT 720,
                               height integer DEFAULT 0, zoom boolean DEFAULT false) RETURNS text
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100000 AS 'MODULE_PATHNAME', 'pm_plot_sql';
COMMENT ON FUNCTION perfmodel.plot(text, float8[], float8[], text[], text[], float8[], float8[], text, text, text, text, text, float8, integer, integer, boolean) IS
    'an SVG drawn from arrays; form: bars, points, compare, lines, areas, spans; scales: linear, log, log2, time';

CREATE FUNCTION perfmodel.escape_markup(words text, most integer DEFAULT 0) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10 AS 'MODULE_PATHNAME', 'pm_escape_markup';
COMMENT ON FUNCTION perfmodel.escape_markup(text, integer) IS 'text made safe for HTML or SVG (entities for <, >, &, quotes), cut to most characters; most 0: not cut';

CREATE FUNCTION perfmodel.escape_markup_lines(words text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'pm_escape_markup_lines';
COMMENT ON FUNCTION perfmodel.escape_markup_lines(text) IS 'text made safe for <pre> of HTML, with its line breaks';

CREATE FUNCTION perfmodel.ascii_markup(markup text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_ascii_markup';
COMMENT ON FUNCTION perfmodel.ascii_markup(text) IS 'markup whose characters beyond ASCII are numeric entities, so that every encoding has it';

CREATE FUNCTION perfmodel.break_lines(markup text) RETURNS text
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS 'MODULE_PATHNAME', 'pm_break_lines_sql';
COMMENT ON FUNCTION perfmodel.break_lines(text) IS 'markup with lines of at most 120 bytes, broken at blanks';

-- Parts of a network are the modules of the model, down to two levels, or the
-- classes of operators where the graph knows no modules.  Where two levels are
-- more parts than the figure has rows, one level is shown (the stages of a deep
-- ResNet), unless nearly all of the step is in one module of it.
CREATE FUNCTION perfmodel.plot_step(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw',
                                    framework text DEFAULT NULL, predictor text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum',
                                    parts integer DEFAULT 24, width integer DEFAULT 720) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE COST 200000
BEGIN ATOMIC
    WITH step AS (
        SELECT e.node_id, e.forward_ms, e.backward_ms, e.update_ms, e.step_ms, string_to_array(nullif(e.module, ''), '.') AS module,
               CASE WHEN e.node_id IS NULL THEN 'rest of the step' ELSE e.class END AS otherwise
        FROM perfmodel.explain_train_time(plot_step.graph_id, plot_step.gpu, plot_step.batch, plot_step.dtype, plot_step.layout,
                 plot_step.framework, plot_step.predictor, plot_step.optimizer, per => 'node') AS e
    ), level AS (
        SELECT CASE WHEN count(DISTINCT s.module[1:2]) > plot_step.parts
                         AND (SELECT max(f.ms) FROM (SELECT sum(m.step_ms) AS ms FROM step AS m WHERE m.module IS NOT NULL
                                                     GROUP BY m.module[1]) AS f) < 0.8 * sum(s.step_ms)
                    THEN 1 ELSE 2 END AS depth
        FROM step AS s WHERE s.module IS NOT NULL
    ), node AS (
        SELECT s.node_id, s.forward_ms, s.backward_ms, s.update_ms, s.step_ms,
               coalesce(array_to_string(s.module[1:l.depth], '.'), s.otherwise) AS part
        FROM step AS s, level AS l
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
        title => 'Predicted against measured steps', width => plot_errors.width, height => (plot_errors.width::bigint * 2 / 3)::integer)
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

CREATE FUNCTION perfmodel.plot_memory(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw',
                                      framework text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum', width integer DEFAULT 720) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE COST 10000
BEGIN ATOMIC
    -- the batch asked for, and others about it
    WITH asked AS (
        SELECT DISTINCT CASE WHEN plot_memory.batch BETWEEN 1 AND 16777216 THEN greatest(1, least(plot_memory.batch * u.times, 16777216))::integer ELSE plot_memory.batch END AS batch FROM unnest('{0.25,0.5,1,2,4}'::float8[]) AS u(times)
    ), part AS (
        SELECT a.batch, v.nth, v.part, v.mb
        FROM asked AS a, LATERAL perfmodel.predict_memory(plot_memory.graph_id, plot_memory.gpu, a.batch, plot_memory.dtype, plot_memory.layout,
                                                          plot_memory.framework, plot_memory.optimizer) AS m,
             LATERAL (VALUES (1, 'weights', m.weights_mb), (2, 'gradients', m.gradients_mb), (3, 'optimizer', m.optimizer_mb),
                             (4, 'activations', m.activations_mb), (5, 'workspace', m.workspace_mb), (6, 'context', m.context_mb),
                             (7, 'allocator', m.peak_mb - m.weights_mb - m.gradients_mb - m.optimizer_mb - m.activations_mb - m.workspace_mb - m.context_mb))
                 AS v(nth, part, mb)
        WHERE v.mb > 0.5
    )
    SELECT perfmodel.plot('bars', array_agg(p.mb ORDER BY p.batch, p.nth), series => array_agg(p.part ORDER BY p.batch, p.nth),
        label => array_agg('batch ' || p.batch ORDER BY p.batch, p.nth), x_title => 'MB (2^20 bytes) at the peak of a step; dashed: the memory of the device',
        reference => (SELECT g.memory_gb * 1024 FROM perfmodel.gpu AS g WHERE g.name = perfmodel.gpu_name(plot_memory.gpu)), width => plot_memory.width,
        title => format('%s on %s', (SELECT g.name FROM perfmodel.graph AS g WHERE g.graph_id = plot_memory.graph_id), perfmodel.gpu_name(plot_memory.gpu)))
    FROM part AS p;
END;
COMMENT ON FUNCTION perfmodel.plot_memory(bigint, text, integer, text, text, text, text, integer) IS
    'an SVG of the parts of the memory of a step, at this batch and at others near it';

CREATE FUNCTION perfmodel.plot_memory_timeline(graph_id bigint, gpu text, batch integer, dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw',
                                               framework text DEFAULT NULL, optimizer text DEFAULT 'sgd_momentum', width integer DEFAULT 720) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE COST 50000
BEGIN ATOMIC
    SELECT perfmodel.plot('areas', array_agg(t.event::float8 ORDER BY t.event), array_agg(t.mb ORDER BY t.event), series => array_agg(t.phase ORDER BY t.event),
        x_title => 'allocations and releases of a step, in their order', y_title => 'MB', width => plot_memory_timeline.width,
        title => format('%s on %s, batch %s', (SELECT g.name FROM perfmodel.graph AS g WHERE g.graph_id = plot_memory_timeline.graph_id),
                        perfmodel.gpu_name(plot_memory_timeline.gpu), plot_memory_timeline.batch))
    FROM perfmodel.memory_timeline(plot_memory_timeline.graph_id, plot_memory_timeline.gpu, plot_memory_timeline.batch, plot_memory_timeline.dtype,
                                   plot_memory_timeline.layout, plot_memory_timeline.framework, plot_memory_timeline.optimizer) AS t;
END;
COMMENT ON FUNCTION perfmodel.plot_memory_timeline(bigint, text, integer, text, text, text, text, integer) IS 'an SVG of the memory in use during a step, by phase';

CREATE FUNCTION perfmodel.plot_scaling(graph_id bigint, gpu text, batch integer, cluster text DEFAULT NULL, max_gpus integer DEFAULT 64,
                                       dtype text DEFAULT 'fp32', layout text DEFAULT 'nchw', framework text DEFAULT NULL, predictor text DEFAULT NULL,
                                       optimizer text DEFAULT 'sgd_momentum', width integer DEFAULT 720) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE COST 10000
BEGIN ATOMIC
    WITH curve AS (
        SELECT c.world_size, c.samples_per_s, 1000.0::float8 * plot_scaling.batch * c.world_size / c.step_ms_high AS low,
               1000.0::float8 * plot_scaling.batch * c.world_size / c.step_ms_low AS high, first_value(c.samples_per_s / c.world_size) OVER (ORDER BY c.world_size) AS one
        FROM perfmodel.scaling_curve(plot_scaling.graph_id, plot_scaling.gpu, plot_scaling.batch, plot_scaling.cluster, plot_scaling.max_gpus,
                                     plot_scaling.dtype, plot_scaling.layout, plot_scaling.framework, plot_scaling.predictor, 0.9::float8, plot_scaling.optimizer) AS c
    ), mark AS (
        SELECT c.world_size, 'predicted' AS series, c.samples_per_s, c.low, c.high FROM curve AS c
        UNION ALL SELECT c.world_size, 'without communication', c.one * c.world_size, NULL, NULL FROM curve AS c
    )
    SELECT perfmodel.plot('lines', array_agg(m.world_size::float8 ORDER BY m.series, m.world_size), array_agg(m.samples_per_s ORDER BY m.series, m.world_size),
        series => array_agg(m.series ORDER BY m.series, m.world_size), low => array_agg(m.low ORDER BY m.series, m.world_size),
        high => array_agg(m.high ORDER BY m.series, m.world_size), x_title => 'GPUs', y_title => 'samples per second', x_scale => 'log2', y_scale => 'log',
        width => plot_scaling.width,
        title => format('%s on %s, batch %s on each', (SELECT g.name FROM perfmodel.graph AS g WHERE g.graph_id = plot_scaling.graph_id),
                        perfmodel.gpu_name(plot_scaling.gpu), plot_scaling.batch))
    FROM mark AS m;
END;
COMMENT ON FUNCTION perfmodel.plot_scaling(bigint, text, integer, text, integer, text, text, text, text, text, integer) IS
    'an SVG of throughput over the number of GPUs, with its interval of 90 %';

CREATE FUNCTION perfmodel.plot_queue(jobs regclass, columns jsonb DEFAULT '{}', free jsonb DEFAULT NULL, policy text DEFAULT 'fifo', backfill boolean DEFAULT false,
                                     predictor text DEFAULT NULL, at timestamptz DEFAULT now(), rows integer DEFAULT 40, width integer DEFAULT 720,
                                     zoom boolean DEFAULT false) RETURNS text
    LANGUAGE sql STABLE PARALLEL RESTRICTED COST 200000
BEGIN ATOMIC
    WITH eta AS (
        SELECT concat_ws(', ', q.job_id, q.team, q.gpu_count || ' GPU' || CASE q.gpu_count WHEN 1 THEN '' ELSE 's' END) AS label, extract(epoch FROM greatest(q.start_p50, plot_queue.at))::float8 AS x,
               extract(epoch FROM q.finish_p50)::float8 AS y, extract(epoch FROM q.finish_p90)::float8 AS high, row_number() OVER (ORDER BY q.start_p50, q."position", q.job_id) AS nth,
               q.gpu, dense_rank() OVER (ORDER BY q.gpu) AS kind
        FROM perfmodel.queue_eta(plot_queue.jobs, plot_queue.columns, plot_queue.free, plot_queue.policy, plot_queue.backfill, plot_queue.predictor, plot_queue.at) AS q
        WHERE q.finish_p50 IS NOT NULL
    )
    SELECT perfmodel.plot('spans', coalesce(array_agg(e.x ORDER BY e.nth), '{}'), array_agg(e.y ORDER BY e.nth),
        series => array_agg(CASE WHEN e.kind <= 7 THEN e.gpu ELSE 'other GPUs' END ORDER BY e.nth),
        label => array_agg(e.label ORDER BY e.nth), low => array_agg(e.x ORDER BY e.nth), high => array_agg(e.high ORDER BY e.nth), x_scale => 'time',
        x_title => 'UTC; a bar: from start (now, if it runs) to end in the median; paler: up to the end at 90 %', title => 'Running and waiting jobs', width => plot_queue.width,
        zoom => plot_queue.zoom)
    FROM eta AS e WHERE e.nth <= least(plot_queue.rows, 200);
END;
COMMENT ON FUNCTION perfmodel.plot_queue(regclass, jsonb, jsonb, text, boolean, text, timestamptz, integer, integer, boolean) IS
    'an SVG of the times at which running and waiting jobs start and end, from queue_eta: median and 90 % quantile';
