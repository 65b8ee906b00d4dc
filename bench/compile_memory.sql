-- Run by bench/compile.sh. What a step needs without torch.compile over what it needs with it: tensors and what the allocator holds, without the context of the driver.
CREATE TABLE seen (suite text, source text, name text, graph text, gpu text, batch int, dtype text, framework text, optimizer text, cudagraphs text, ratio float8, layers int, hidden int,
                   heads int, kv_heads int, feed_forward int, vocabulary int, sequence int, style text, attention text, labels int);
\copy seen FROM '@work@/memory.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE vision (j jsonb);
\copy vision FROM '@work@/torchvision.ndjson' WITH (FORMAT csv, QUOTE e'\x01', DELIMITER e'\x02')
SELECT count(perfmodel.load_graph(jsonb_set(j, '{name}', to_jsonb('torchvision/' || (j->>'name'))))) AS graphs FROM vision;
ALTER TABLE seen ADD graph_id bigint;
UPDATE seen SET graph_id = (SELECT graph_id FROM perfmodel.graph AS g WHERE g.name = seen.graph);
-- a head of a few labels in place of that of all words
UPDATE seen SET graph_id = perfmodel.load_graph(CASE WHEN labels IS NULL THEN j ELSE
    jsonb_set(jsonb_set(j #- '{nodes,-1,attrs}' #- '{params}', '{nodes,-1,weights}', jsonb_build_array(jsonb_build_array(labels, hidden))), '{nodes,-1,shape}', jsonb_build_array(1, sequence, labels)) END)
FROM (SELECT min(ctid) AS first, perfmodel.decoder_graph('memory of ' || name, layers, hidden, heads, sequence, vocabulary, style, kv_heads, feed_forward, attention => attention) AS j
      FROM seen WHERE layers IS NOT NULL GROUP BY name, layers, hidden, heads, sequence, vocabulary, style, kv_heads, feed_forward, attention) AS f WHERE seen.ctid = f.first;
UPDATE seen AS s SET graph_id = o.graph_id FROM seen AS o WHERE s.graph_id IS NULL AND o.graph_id IS NOT NULL AND o.layers IS NOT NULL AND o.name = s.name;
SELECT suite, count(*) FILTER (WHERE graph_id IS NULL) AS without_a_graph, count(*) FILTER (WHERE graph_id IS NOT NULL) AS n FROM seen GROUP BY suite ORDER BY suite;
CREATE TABLE memory AS
SELECT s.*, a.peak_mb - a.context_mb AS eager_mb, c.peak_mb - c.context_mb AS compiled_mb, (a.peak_mb - a.context_mb) / (c.peak_mb - c.context_mb) AS computed,
       c.low - c.context_mb AS low, c.high - c.context_mb AS high
FROM seen AS s, LATERAL perfmodel.predict_memory(graph_id, gpu, batch, dtype, optimizer => optimizer, framework => framework) AS a,
     LATERAL perfmodel.predict_memory(graph_id, gpu, batch, dtype, optimizer => optimizer, framework => framework, parallel => '{"compile": true}') AS c
WHERE graph_id IS NOT NULL AND cudagraphs IS DISTINCT FROM 't';
SELECT CASE WHEN grouping(suite) = 1 THEN 'all' ELSE suite END AS suite, dtype, count(*) AS n, count(DISTINCT name) AS networks, round(exp(avg(ln(ratio)))::numeric, 3) AS measured_ratio,
       round(exp(avg(ln(computed)))::numeric, 3) AS computed_ratio, round((100 * avg(abs(computed / ratio - 1)))::numeric, 1) AS mape_pct, round((100 * avg(computed / ratio - 1))::numeric, 1) AS bias_pct,
       round(stddev(ln(computed / ratio))::numeric, 2) AS sd_of_log, round((100 * avg(abs(1 / ratio - 1)))::numeric, 1) AS mape_of_1_pct, round((100 * avg(1 / ratio - 1))::numeric, 1) AS bias_of_1_pct,
       round(100 * avg((eager_mb / ratio BETWEEN low AND high)::int)) AS in_interval_pct
FROM memory GROUP BY GROUPING SETS ((suite, dtype), (suite), ()) ORDER BY grouping(suite), 1, dtype;
SELECT suite, name, batch, dtype, round(eager_mb) AS eager_mb, round(compiled_mb) AS compiled_mb, count(*) AS n, round(exp(avg(ln(ratio)))::numeric, 3) AS measured_ratio, round(min(ratio)::numeric, 3) AS least,
       round(max(ratio)::numeric, 3) AS most, round(computed::numeric, 3) AS computed_ratio
FROM memory GROUP BY suite, name, batch, dtype, eager_mb, compiled_mb, computed ORDER BY suite, computed / exp(avg(ln(ratio)));
