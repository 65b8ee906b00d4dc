-- Run by bench/domains.sh.
CREATE TABLE domain (j jsonb);
\copy domain FROM '@work@/domains.ndjson' WITH (FORMAT csv, QUOTE e'\x01', DELIMITER e'\x02')
SELECT count(perfmodel.load_graph(j)) AS graphs FROM domain WHERE perfmodel.find_graph(j ->> 'name') IS NULL;
SELECT count(perfmodel.load_graph(perfmodel.decoder_graph(name || ' lora', layers, hidden, heads, 128, vocabulary, style, lora_rank => 8, feed_forward => feed_forward))) AS with_lora
FROM (VALUES ('phi-1.5', 24, 2048, 32, 51200, 'gpt', 8192), ('stablelm-3b', 16, 4096, 32, 50688, 'gpt', 16384), ('llama-2-7b', 32, 4096, 32, 32000, 'llama', 11008), ('llama-2-13b', 40, 5120, 40, 32000, 'llama', 13824)) AS v (name, layers, hidden, heads, vocabulary, style, feed_forward);
CREATE TABLE row (domain text, graph text, gpu text, batch int, dtype text, gpus int, optimizer text, layout text, framework text, parallel jsonb, step_ms float8, memory_mib float8, source text, note text);
\copy row FROM '@work@/rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE asked AS
SELECT r.*, p.step_ms AS predicted, step_ms_low AS low, step_ms_high AS high, in_domain
FROM row AS r, LATERAL perfmodel.predict(perfmodel.graph_id(graph), gpu, batch, dtype, layout, framework, optimizer => optimizer, world_size => gpus, parallel => parallel) AS p WHERE r.step_ms > 0;
SELECT domain, graph, gpu, dtype, string_agg(format('%s x %s: %s', gpus, batch, round((predicted / step_ms)::numeric, 2)), ', ' ORDER BY gpus, batch) AS predicted_over_measured FROM asked GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;
SELECT domain, count(*) AS n, round((100 * avg(abs(predicted / step_ms - 1)))::numeric, 1) AS mape_pct, round((100 * avg(predicted / step_ms - 1))::numeric, 1) AS bias_pct,
       round((100 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(predicted / step_ms - 1)))::numeric, 1) AS median_pct, round(100 * avg((step_ms BETWEEN low AND high)::int)) AS coverage_pct,
       round(avg(high / low)::numeric, 1) AS high_over_low, round(100 * avg(in_domain::int)) AS in_domain_pct
FROM asked GROUP BY ROLLUP (domain) ORDER BY domain;
