#!/bin/sh
# The part of whole_jobs.sh that runs beside the server.
set -eu
one() { psql -qXAt -v ON_ERROR_STOP=1 "$@"; }
one -v jobs="$JOBS" <<'SQL'
CREATE EXTENSION perfmodel;
CREATE EXTENSION perfmodel_pretrained;
CREATE UNLOGGED TABLE doc (j jsonb);
\copy doc from program 'gzip -dc data/graphs.ndjson.gz' with (format csv, quote e'\x01', delimiter e'\x02')
SELECT count(perfmodel.load_graph(j)) AS graphs FROM doc;
INSERT INTO perfmodel.price (gpu, usd_per_hour) VALUES ('A100-SXM4-80GB', 2), ('V100-SXM2-16GB', 1), ('T4', 0.4);
CREATE TABLE job AS
SELECT i AS job_id, ids[1 + q % cardinality(ids)] AS graph_id, (ARRAY['A100-SXM4-80GB', 'V100-SXM2-16GB', 'T4'])[1 + q / 1000 % 3] AS gpu,
       (ARRAY[16, 32, 64])[1 + q / 10000 % 3] AS batch, (ARRAY[1, 8, 16])[1 + q / 100000 % 3] AS gpus, 1000 + i % 100000 AS steps
FROM (SELECT i, (('x' || left(md5(i::text), 7))::bit(28)::int) AS q FROM generate_series(1, :jobs) AS i) AS r,
     (SELECT array_agg(graph_id ORDER BY graph_id) AS ids FROM perfmodel.graph) AS g;
VACUUM ANALYZE job;
SELECT count(DISTINCT (graph_id, gpu, batch, gpus)) AS questions FROM job;
SQL
query="SELECT count(seconds), count(usd), count(peak_mb), count(*) FROM job, LATERAL perfmodel.predict_job(graph_id, gpu, batch, steps => steps, world_size => gpus, on_error => 'null')"
# seconds of the processor that this session has taken, in hundredths
cpu="SELECT 'CPU so far, s: ' || round((split_part(stat, ' ', 12)::int + split_part(stat, ' ', 13)::int) / 100.0, 2) FROM (SELECT split_part(pg_read_file('/proc/self/stat'), ') ', 2) AS stat) AS s"
echo "load average before: $(cut -d' ' -f1 /proc/loadavg)"
one -c 'SET max_parallel_workers_per_gather = 0' -c "$cpu" -c '\timing on' -c "$query" -c '\timing off' -c "$cpu" -c '\timing on' -c "$query" -c '\timing off' -c "$cpu"
