-- Run by bench/compile.sh. Of an image network whose image size is not said, the one nearest to 224 is asked.
CREATE TABLE network (j jsonb);
\copy network FROM '@work@/timm.ndjson' WITH (FORMAT csv, QUOTE e'\x01', DELIMITER e'\x02')
SELECT count(perfmodel.load_graph(jsonb_set(j, '{name}', to_jsonb('timm/' || (j->>'name'))))) AS graphs FROM network;
CREATE TABLE pair (kind text, source text, name text, gpu text, batch int, dtype text, mode text, gain float8, layers int, hidden int, heads int, kv_heads int, feed_forward int,
                   vocabulary int, sequence int, style text, attention text);
\copy pair FROM '@work@/rows.csv' WITH (FORMAT csv, HEADER)
ALTER TABLE pair ADD graph_id bigint;
UPDATE pair SET graph_id = perfmodel.load_graph(perfmodel.decoder_graph(name || ' ' || attention, layers, hidden, heads, sequence, vocabulary, style, kv_heads, feed_forward, attention => attention))
FROM (SELECT min(ctid) AS first FROM pair WHERE layers IS NOT NULL GROUP BY name, attention) AS f WHERE pair.ctid = f.first;
UPDATE pair AS p SET graph_id = o.graph_id FROM pair AS o WHERE p.graph_id IS NULL AND o.graph_id IS NOT NULL AND o.name = p.name AND o.attention = p.attention;
UPDATE pair AS p SET graph_id = (SELECT graph_id FROM perfmodel.graph AS g WHERE g.name = 'timm/' || p.name OR split_part(g.name, '@', 1) = 'timm/' || p.name
                                 ORDER BY g.name = 'timm/' || p.name DESC, abs(split_part(g.name, '@', 2)::int - 224) LIMIT 1) WHERE p.layers IS NULL;
SELECT kind, count(*) FILTER (WHERE graph_id IS NULL) AS without_a_graph, count(*) FILTER (WHERE graph_id IS NOT NULL) AS n FROM pair GROUP BY kind ORDER BY kind;
CREATE TABLE answer AS
SELECT p.*, a.step_ms AS eager_ms, c.step_ms AS compiled_ms, c.step_ms_low AS low, c.step_ms_high AS high, a.step_ms / c.step_ms AS computed
FROM pair AS p, LATERAL perfmodel.predict(graph_id, gpu, batch, dtype, mode => mode, optimizer => 'adamw') AS a,
     LATERAL perfmodel.predict(graph_id, gpu, batch, dtype, mode => mode, optimizer => 'adamw', parallel => '{"compile": true}') AS c
WHERE graph_id IS NOT NULL;
SELECT kind, gpu, dtype, count(*) AS n, round(exp(avg(ln(gain)))::numeric, 2) AS measured_gain, round(exp(avg(ln(computed)))::numeric, 2) AS computed_gain,
       round((100 * avg(abs(computed / gain - 1)))::numeric, 1) AS mape_pct, round((100 * avg(computed / gain - 1))::numeric, 1) AS bias_pct, round(stddev(ln(computed / gain))::numeric, 2) AS sd_of_log,
       round((100 * avg(abs(1 / gain - 1)))::numeric, 1) AS mape_without_gain_pct
FROM answer GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT name, source, gpu, batch, dtype, mode, round(gain::numeric, 2) AS measured_gain, round(computed::numeric, 2) AS computed_gain FROM answer WHERE mode = 'train' OR layers IS NOT NULL ORDER BY kind, computed / gain;
