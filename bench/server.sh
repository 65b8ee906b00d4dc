#!/bin/sh
# The part of run.sh that runs beside the server; prints what,value,unit.
set -eu
one() { psql -qXAt -v ON_ERROR_STOP=1 "$@"; }
row() { printf '%s,%s,%s\n' "$1" "$2" "$3"; }
# median of the lines of standard input
median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# Times are of the processor.
echo "what,value,unit"
row "CPU" "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" ""
row "cores" "$(nproc)" ""
one -c "CREATE EXTENSION perfmodel"
row "OpenBLAS kernels" "$(one -c "SELECT kernel || ' (' || linked || ')' FROM perfmodel.blas_info()")" ""
row "threads of one product" "$(one -c "SELECT threads FROM perfmodel.blas_info()")" ""

one <<'SQL'
CREATE UNLOGGED TABLE doc (j jsonb);
\copy doc from program 'gzip -dc data/graphs.ndjson.gz' with (format csv, quote e'\x01', delimiter e'\x02')
SQL
# Milliseconds of the processor that the backend spends on each statement of a
# session: other programs that share it do not count.
stats='SET client_min_messages = log; SET log_statement_stats = on'
cpu() { # statements, as arguments of psql
    psql -qXAt -v ON_ERROR_STOP=1 "$@" 2>&1 >/dev/null |
        sed -n 's/.*!\s*\([0-9.]*\) s user, \([0-9.]*\) s system, .*elapsed.*/\1 \2/p' | awk '{ print 1000 * ($1 + $2) }'
}
nth() { sed -n "$1p"; }
ms() { cpu -c "$stats" -c "$1" | tail -1; }
row "load graphs" "$(ms "SELECT count(perfmodel.load_graph(j)) FROM doc")" "ms"
row "graphs" "$(one -c "SELECT count(*) FROM perfmodel.graph")" ""
row "nodes" "$(one -c "SELECT sum(nodes) FROM perfmodel.graph")" ""
row "tables of graphs" "$(one -c "SELECT round((pg_total_relation_size('perfmodel.graph') + pg_total_relation_size('perfmodel.graph_node')) / 1e6, 1)")" "MB"

one <<'SQL'
CREATE TEMP TABLE m (graph text, model text, gpu text, batch int, dtype text, layout text, framework text, mode text,
    optimizer text, world_size int, nodes int, step_ms float8, forward_ms float8, backward_ms float8, update_ms float8,
    peak_memory_mb float8, spread float8, steps int, measured_at timestamptz, source text);
\copy m from 'data/profiles.csv' with (format csv, header)
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, step_ms)
SELECT perfmodel.graph_id(graph), gpu, batch, dtype, layout, framework, step_ms FROM m;
SET client_min_messages = warning;
DO $$ BEGIN PERFORM perfmodel.train('bench', options => '{"epochs": 3}'); END $$;
SQL
row "measurements" "$(one -c "SELECT n_profiles FROM perfmodel.predictor")" ""
row "training threads" "$(one -c "SELECT threads FROM perfmodel.training_run")" ""
row "training epoch" "$(one -c "SELECT round((1000 * seconds / epochs)::numeric) FROM perfmodel.training_run")" "ms"

gpu=$(one -c "SELECT gpu FROM perfmodel.profile GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")
if [ -n "${LARGEST:-}" ]; then # one more graph to ask about, not to learn from
    one -c "CREATE UNLOGGED TABLE more (j jsonb)" -c "\\copy more from '$LARGEST' with (format csv, quote e'\\x01', delimiter e'\\x02')" \
        -c "SELECT 1 FROM (SELECT perfmodel.load_graph(j, 'largest of DATA') FROM more) l" >/dev/null
fi
largest=$(one -c "SELECT name FROM perfmodel.graph ORDER BY nodes DESC, name LIMIT 1")
other=$(one -c "SELECT name FROM perfmodel.graph WHERE name NOT IN ('resnet50@224', '$largest') ORDER BY name LIMIT 1")
for name in resnet50@224 "$largest"; do
    one -c "SELECT 1 FROM perfmodel.graph WHERE name = '$name'" | grep -q 1 || continue
    nodes=$(one -c "SELECT nodes FROM perfmodel.graph WHERE name = '$name'")
    id=$(one -c "SELECT perfmodel.graph_id('$name')")
    ask="SELECT perfmodel.predict_train_time($id, '$gpu'"
    row "$name ($nodes nodes): first prediction of a session" "$(for _ in 1 2 3 4 5; do ms "$ask, 8)"; done | median)" "ms"
    row "$name: first prediction (only the predictor is loaded)" \
        "$(for _ in 1 2 3 4 5; do
            cpu -c "SELECT perfmodel.predict_train_time(perfmodel.graph_id('$other'), '$gpu', 8)" -c "$stats" -c "$ask, 8)" | nth 1
        done | median)" "ms"
    row "$name: another batch" \
        "$(cpu -c "$ask, 100000)" -c "$stats" \
            -c "SELECT count(perfmodel.predict_train_time($id, '$gpu', b)) FROM generate_series(1, 10000) b" | nth 1 | awk '{ print $1 / 10 }')" "us"
    row "$name: another batch with interval and domain" \
        "$(cpu -c "$ask, 100000)" -c "$stats" \
            -c "SELECT count(step_ms) FROM perfmodel.what_if($id, ARRAY['$gpu'], ARRAY(SELECT generate_series(1, 10000)))" | nth 1 | awk '{ print $1 / 10 }')" "us"
done
row "the same question again" \
    "$(cpu -c "SELECT perfmodel.predict_train_time(1, '$gpu', 8)" -c "$stats" \
        -c "SELECT count(perfmodel.predict_train_time(1, '$gpu', 8 + i - i)) FROM generate_series(1, 1000000) i" | nth 1 | awk '{ print $1 / 1000 }')" "us"
row "an empty C function in its place" \
    "$(cpu -c "$stats" -c "SELECT count(int4pl(i, 1)) FROM generate_series(1, 1000000) i" | nth 1 | awk '{ print $1 / 1000 }')" "us"
one <<SQL
CREATE UNLOGGED TABLE job AS
SELECT i AS job_id, graph_id, '$gpu'::text AS gpu, 1 << (i % 16) AS batch
FROM (SELECT graph_id, row_number() OVER (ORDER BY graph_id) AS n, count(*) OVER () AS all FROM perfmodel.graph) g, generate_series(1, 1000000) i
WHERE g.n = 1 + (i / 16) % least(g.all, 187);
ANALYZE job;
SQL
sum="SELECT sum(perfmodel.predict_train_time(graph_id, gpu, batch)) FROM job"
row "distinct questions of a million rows" "$(one -c "SELECT count(*) FROM (SELECT DISTINCT graph_id, gpu, batch FROM job) d")" ""
row "a million rows: nothing cached" "$(cpu -c 'SET max_parallel_workers_per_gather = 0' -c "$stats" -c "$sum" -c "$sum" | nth 1)" "ms"
row "a million rows: once more" "$(cpu -c 'SET max_parallel_workers_per_gather = 0' -c "$stats" -c "$sum" -c "$sum" | nth 2)" "ms"
row "a million rows: the scan without predictions" "$(cpu -c 'SET max_parallel_workers_per_gather = 0' -c "$stats" -c "SELECT sum(batch + length(gpu)) FROM job" | nth 1)" "ms"
lateral="SELECT sum(step_ms) FROM job j, LATERAL perfmodel.predict(j.graph_id, j.gpu, j.batch) p"
row "a million rows: LATERAL predict once more" "$(cpu -c 'SET max_parallel_workers_per_gather = 0' -c "$stats" -c "$lateral" -c "$lateral" | nth 2)" "ms"

# many sessions at once, and what they wait for
cat >"$HOME/ask.pgbench" <<SQL
\\set g random(1, 100)
\\set b random(1, 1000)
SELECT perfmodel.predict_train_time(:g, '$gpu', :b);
SQL
(sleep 3 && for _ in $(seq 20); do
    one -c "SELECT count(*) FILTER (WHERE wait_event_type IN ('Lock', 'LWLock', 'BufferPin')), count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT perfmodel.%' AND pid <> pg_backend_pid()"
    sleep 0.2
done >"$HOME/waits") &
tps=$("$(pg_config --bindir)/pgbench" -n -c 90 -j 2 -T 9 -f "$HOME/ask.pgbench" | sed -n 's/^tps = \([0-9.]*\).*/\1/p')
wait
row "90 sessions asking at once" "$tps" "1/s"
row "of them waiting for a lock (seen / looked at)" "$(awk -F'|' '{ w += $1; n += $2 } END { print w " / " n }' "$HOME/waits")" ""

# memory of a session that is its own: bare, with the library, after predictions of every graph
rss() { # psql reads a script, so that variables work
    printf '%s;\nSELECT pg_backend_pid() AS pid \\gset\n\\setenv PID :pid\n\\! echo rss $(sed -n "s/^RssAnon:[^0-9]*\\([0-9]*\\).*/\\1/p" /proc/$PID/status)\n' "$1" | one |
        sed -n 's/^rss *//p' | awk '{ printf "%.1f", $1 / 1024 }'
}
row "memory of a bare session" "$(rss "SELECT 1")" "MB"
row "memory with the library loaded" "$(rss "SELECT * FROM perfmodel.version()")" "MB"
row "memory after one prediction" "$(rss "SELECT perfmodel.predict_train_time(1, '$gpu', 8)")" "MB"
row "memory after predictions of every graph" \
    "$(rss "SELECT count(perfmodel.predict_train_time(graph_id, '$gpu', 8)) FROM perfmodel.graph")" "MB"
row "of it: cache / answers remembered / workspace" \
    "$(one -c "SELECT count(perfmodel.predict_train_time(graph_id, '$gpu', 8)) FROM perfmodel.graph" \
        -c "SELECT string_agg(round(mb, 1)::text, ' / ') FROM (SELECT sum(total_bytes) FILTER (WHERE name LIKE 'perfmodel cache%') / 1e6, sum(total_bytes) FILTER (WHERE name LIKE 'perfmodel memo%') / 1e6, sum(total_bytes) FILTER (WHERE name LIKE 'perfmodel workspace%') / 1e6 FROM pg_backend_memory_contexts) m(a, b, c), unnest(ARRAY[a, b, c]) mb" | tail -1)" "MB"
