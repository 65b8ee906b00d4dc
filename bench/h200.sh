#!/bin/sh
# How well times and memory agree with what was measured on an H200:
#
#     bench/h200.sh                       as it ships
#     PROBES=1 PRETRAINED=FILE bench/h200.sh    after recalibrations; FILE: made by tools/pretrain.sh with WITHOUT=h200 in the environment
#
# The measurements are data/profiles_h200.csv; data/README.md says how they were made. PRETRAINED in the environment: another file of
# tools/pretrain.sh instead of the predictor that ships.
set -eu
. "$(dirname "$0")/pretrained_server.sh"

published "$root/data/profiles_h200.csv"
cut -d, -f1 "$work/rows.csv" | sort -u >"$work/wanted"
gzip -dc "$root/data/graphs.ndjson.gz" | awk -F'"name":"' 'NR == FNR { wanted[$0] = 1; next } { split($2, name, "\""); if (name[1] in wanted) print }' "$work/wanted" - >"$work/more.ndjson"
gzip -dc "$root/data/graphs_h200.ndjson.gz" >>"$work/more.ndjson"
cat >"$work/h200.sql" <<SQL
CREATE TABLE more (j jsonb);
\\copy more FROM '$work/more.ndjson' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')
SELECT count(perfmodel.load_graph(j)) AS graphs FROM more;
CREATE TABLE row (graph text, model text, gpu text, batch int, dtype text, layout text, framework text, mode text, optimizer text, world_size int, nodes int, step_ms float8,
    forward_ms float8, backward_ms float8, update_ms float8, peak_memory_mb float8, spread float8, steps int, measured_at timestamptz, source text, fits_batch int, oom_batch int);
\\copy row FROM '$work/rows.csv' WITH (FORMAT csv, HEADER)
\\i $work/src/bench/h200.sql
SQL
[ "${PROBES:-0}" = 0 ] || echo "\\i $work/src/bench/h200_probes.sql" >>"$work/h200.sql"
chmod -R a+rX "$work"
ask "$work/h200.sql"
