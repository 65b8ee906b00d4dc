#!/bin/sh
# The part of jobs.sh that runs beside the server; prints what,value,unit.
# Warm: the median of the last three of five executions in one session, whose
# plan is kept. Ratios are of one run of this script.
set -eu
one() { psql -qXAt -v ON_ERROR_STOP=1 "$@"; }
row() { printf '%s,%s,%s\n' "$1" "$2" "$3"; }
elapsed() { sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p'; }
median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

echo "what,value,unit"
row "CPU" "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" ""
row "cores" "$(nproc)" ""
row "load average before" "$(cut -d' ' -f1 /proc/loadavg)" ""
one -c "CREATE EXTENSION perfmodel"
row "OpenBLAS kernels" "$(one -c "SELECT kernel || ' (' || linked || ')' FROM perfmodel.blas_info()")" ""

one -v jobs="$JOBS" -v questions="$QUESTIONS" <<'SQL' >/dev/null
CREATE UNLOGGED TABLE doc (j jsonb);
\copy doc from program 'gzip -dc data/graphs.ndjson.gz' with (format csv, quote e'\x01', delimiter e'\x02')
SELECT count(perfmodel.load_graph(j)) FROM doc;
CREATE TEMP TABLE m (graph text, model text, gpu text, batch int, dtype text, layout text, framework text, mode text,
    optimizer text, world_size int, nodes int, step_ms float8, forward_ms float8, backward_ms float8, update_ms float8,
    peak_memory_mb float8, spread float8, steps int, measured_at timestamptz, source text);
\copy m from 'data/profiles.csv' with (format csv, header)
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, step_ms)
SELECT perfmodel.graph_id(graph), gpu, batch, dtype, layout, framework, step_ms FROM m;
SET client_min_messages = warning;
SELECT perfmodel.train('bench', options => '{"epochs": 3}');
CREATE TABLE job AS
SELECT i AS job_id, 'team-' || i % 15 AS team, ids[1 + q / 4 % cardinality(ids)] AS graph_id,
       (ARRAY['T4', 'RTX 3090', 'V100-SXM2-16GB', 'A100-SXM4-40GB'])[1 + q % 4] AS gpu,
       8 + q / 4 / cardinality(ids) AS batch, 'fp32' AS dtype, 60.0::float8 + i % 5000 AS duration_s
FROM (SELECT i, (('x' || left(md5(i::text), 7))::bit(28)::int % :questions) AS q FROM generate_series(1, :jobs) AS i) AS r,
     (SELECT array_agg(graph_id ORDER BY graph_id) AS ids FROM perfmodel.graph) AS g;
CREATE STATISTICS job_questions (ndistinct) ON graph_id, gpu, batch, dtype FROM job;
VACUUM ANALYZE job;
CREATE VIEW job_forecast AS SELECT j.*, perfmodel.predict_train_time(graph_id, gpu, batch, dtype) AS step_ms FROM job j;
SQL
row "jobs" "$(one -c "SELECT count(*) FROM job")" ""
row "questions" "$(one -c "SELECT count(DISTINCT (graph_id, gpu, batch)) FROM job")" ""
row "graphs in them" "$(one -c "SELECT count(DISTINCT graph_id) FROM job")" ""

scan="SELECT sum(duration_s * batch) FROM job"
scalar="SELECT sum(duration_s * perfmodel.predict_train_time(graph_id, gpu, batch, dtype)) FROM job"
view="SELECT team, sum(duration_s * step_ms) FROM job_forecast GROUP BY team"
memoized="SELECT sum(duration_s * (f.p).step_ms) FROM job j CROSS JOIN LATERAL (SELECT perfmodel.predict(j.graph_id, j.gpu, j.batch, j.dtype) AS p OFFSET 0) f"
lateral="SELECT sum(duration_s * step_ms) FROM job, LATERAL perfmodel.predict(graph_id, gpu, batch, dtype)"

# all times of a form in a session of its own: prepared, executed five times
session() { # query, workers
    one -c "SET max_parallel_workers_per_gather = $2" -c "PREPARE q AS $1" -c '\timing on' \
        -c 'EXECUTE q' -c 'EXECUTE q' -c 'EXECUTE q' -c 'EXECUTE q' -c 'EXECUTE q' | elapsed
}
warm() { tail -3 | median; }
seconds() { awk -v v="$1" 'BEGIN { printf "%.2f", v / 1000 }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

base=$(session "$scan" 0 | warm)
row "no prediction: scan and sum" "$(seconds "$base")" "s"
for form in scalar view memoized lateral; do
    eval "query=\$$form"
    all=$(session "$query" 0)
    first=$(echo "$all" | head -1)
    eval "$form=$(echo "$all" | warm)"
    eval "value=\$$form"
    row "$form: first in a session" "$(seconds "$first")" "s"
    row "$form: warm" "$(seconds "$value")" "s"
    row "$form: warm over scan" "$(ratio "$value" "$base")" ""
done
row "a known answer: scalar" "$(awk -v a="$scalar" -v b="$base" -v n="$JOBS" 'BEGIN { printf "%.2f", 1000 * (a - b) / n }')" "us"

# a joined table of answers: what parallel workers can share
row "table of answers: filled" "$(one -c '\timing on' -c "CREATE TABLE forecast AS
    SELECT q.*, (f.p).step_ms FROM (SELECT DISTINCT graph_id, gpu, batch, dtype FROM job) q
    CROSS JOIN LATERAL (SELECT perfmodel.predict(q.graph_id, q.gpu, q.batch, q.dtype) AS p OFFSET 0) f" | elapsed | awk '{ printf "%.2f", $1 / 1000 }')" "s"
one -c "VACUUM ANALYZE forecast"
query="SELECT sum(duration_s * perfmodel.predict_train_time(graph_id, gpu, batch, dtype)) FROM job"
join="SELECT sum(duration_s * step_ms) FROM job JOIN forecast USING (graph_id, gpu, batch, dtype)"
table=$(session "$join" 0 | warm)
row "joined table of answers" "$(seconds "$table")" "s"

# parallel workers: what they took on, and what came of it
parallel() { # name, its time without, query, workers
    value=$(session "$3" "$4" | warm)
    row "$1; $4 parallel worker(s)" "$(seconds "$value")" "s"
    row "$1; $4 parallel worker(s): speed-up" "$(ratio "$2" "$value")" ""
    one -c "SET max_parallel_workers_per_gather = $4" -c "PREPARE q AS $3" -c "EXECUTE q" -c "EXECUTE q" \
        -c "EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF) EXECUTE q" >plan
    row "$1; $4 parallel worker(s): launched" "$(sed -n 's/.*Workers Launched: //p' plan)" ""
    row "$1; $4 parallel worker(s): share of rows they read" "$(awk -v n="$JOBS" '/Parallel Seq Scan/ { scan = 1 }
        scan && /Worker [0-9]+: *actual/ { sub(/.*rows=/, ""); rows += $1 } END { printf "%.0f", 100 * rows / n }' plan)" "%"
    { echo; echo "-- $1, $4 parallel worker(s)"; sed '/^[0-9.]*$/d' plan; } >&2
}
for workers in 1 2; do
    parallel "scalar" "$scalar" "$query" "$workers"
    parallel "joined table of answers" "$table" "$join" "$workers"
done

# the same bits from refresh to refresh; memory that rows take
# OFFSET 0: predicted by workers, not where their rows are put together
bits="SELECT md5(string_agg(float8send(step_ms)::text, '' ORDER BY job_id)) FROM (SELECT * FROM job_forecast WHERE job_id % 20 = 0 OFFSET 0) f"
row "answers of four refreshes (two sessions; workers) that differ" "$({
    one -c "$bits" -c "$bits"
    one -c "$bits" -c "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; $bits"; } | sort -u | wc -l | awk '{ print $1 - 1 }')" ""
used="SELECT 'used', sum(used_bytes) FROM pg_backend_memory_contexts"
row "memory of the session: more after two further refreshes" "$(one -c "SET max_parallel_workers_per_gather = 0" -c "$query" -c "$query" -c "$used" -c "$query" -c "$query" -c "$used" |
    awk -F'|' '/^used/ { v[++n] = $2 } END { print v[2] - v[1] }')" "bytes"
