#!/bin/sh
# The part of run.sh that runs beside the server; prints what,value,unit.
set -eu
one() { psql -qXAt -v ON_ERROR_STOP=1 "$@"; }
row() { printf '%s,%s,%s\n' "$1" "$2" "$3"; }
# median of the lines of standard input
median() { sort -n | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

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
# milliseconds that a statement takes in a session of its own
ms() { psql -qXAt -v ON_ERROR_STOP=1 -c '\timing on' -c "$1" | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p'; }
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
largest=$(one -c "SELECT name FROM perfmodel.graph ORDER BY nodes DESC, name LIMIT 1")
for name in resnet50@224 "$largest"; do
    one -c "SELECT 1 FROM perfmodel.graph WHERE name = '$name'" | grep -q 1 || continue
    nodes=$(one -c "SELECT nodes FROM perfmodel.graph WHERE name = '$name'")
    ask="SELECT perfmodel.predict_train_time(perfmodel.graph_id('$name'), '$gpu'"
    row "$name ($nodes nodes): first prediction of a session" "$(for _ in 1 2 3 4 5; do ms "$ask, 8)"; done | median)" "ms"
    row "$name: next predictions (all loaded)" \
        "$(one -c "SELECT 1 FROM perfmodel.graph LIMIT 1" -c "$ask, 100000)" -c '\timing on' \
            -c "SELECT count(perfmodel.predict_train_time(g, '$gpu', b)) FROM perfmodel.graph_id('$name') g, generate_series(1, 200) b" |
            sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | awk '{ print $1 / 200 }')" "ms"
done
row "the same question again" \
    "$(one -c "SELECT perfmodel.predict_train_time(1, '$gpu', 8)" -c '\timing on' \
        -c "SELECT count(perfmodel.predict_train_time(1, '$gpu', 8 + i - i)) FROM generate_series(1, 1000000) i" |
        sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | awk '{ print $1 / 1000 }')" "us"

# resident memory of a session: bare, with the library, after predictions of every graph
rss() { # psql reads a script, so that variables work
    printf '%s;\nSELECT pg_backend_pid() AS pid \\gset\n\\setenv PID :pid\n\\! echo rss $(ps -o rss= -p $PID)\n' "$1" | one |
        sed -n 's/^rss *//p' | awk '{ printf "%.1f", $1 / 1024 }'
}
row "memory of a bare session" "$(rss "SELECT 1")" "MB"
row "memory with the library loaded" "$(rss "SELECT * FROM perfmodel.version()")" "MB"
row "memory after one prediction" "$(rss "SELECT perfmodel.predict_train_time(1, '$gpu', 8)")" "MB"
row "memory after predictions of every graph" \
    "$(rss "SELECT count(perfmodel.predict_train_time(graph_id, '$gpu', 8)) FROM perfmodel.graph")" "MB"
