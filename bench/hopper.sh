#!/bin/sh
# How well times and memory agree with what was measured on a GPU for data/:
#
#     bench/hopper.sh h200                   or h100: as it ships
#     PROBES=1 PRETRAINED=FILE bench/hopper.sh h200    after recalibrations; FILE: made by tools/pretrain.sh with WITHOUT=h200 in the environment
#
# The measurements are data/profiles_h200.csv and profiles_h100.csv; data/README.md says how they were made. PRETRAINED in the environment: another
# file of tools/pretrain.sh instead of the predictor that ships.
set -eu
. "$(dirname "$0")/pretrained_server.sh"

case "${1:-}" in
h200) gpu=H200 ;;
h100) gpu=H100-SXM5-80GB ;;
*) echo "usage: bench/hopper.sh h200|h100" >&2; exit 2 ;;
esac
published "$root/data/profiles_$1.csv"
{ cat "$root/data/busy_$1.csv" 2>/dev/null || echo graph; } >"$work/busy.csv"
gzip -dc "$root/data/graphs.ndjson.gz" "$root/data/graphs_h200.ndjson.gz" "$root/data/graphs_h100.ndjson.gz" >"$work/all.ndjson"
cut -d, -f1 "$work/rows.csv" | sort -u >"$work/wanted"
awk -F'"name":"' 'NR == FNR { wanted[$0] = 1; next } { split($2, name, "\""); if (name[1] in wanted && !seen[name[1]]++) print }' "$work/wanted" "$work/all.ndjson" >"$work/more.ndjson"
cat >"$work/hopper.sql" <<SQL
\\set gpu $gpu
CREATE TABLE more (j jsonb);
\\copy more FROM '$work/more.ndjson' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')
SELECT count(perfmodel.load_graph(j)) AS graphs FROM more;
CREATE TABLE row (graph text, model text, gpu text, batch int, dtype text, layout text, framework text, mode text, optimizer text, world_size int, nodes int, step_ms float8,
    forward_ms float8, backward_ms float8, update_ms float8, peak_memory_mb float8, spread float8, steps int, measured_at timestamptz, source text, fits_batch int, oom_batch int);
\\copy row FROM '$work/rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE busy (graph text, batch int, dtype text, layout text, mode text, optimizer text, step_ms float8, seconds float8, power_w float8, busy_ms float8, kernels int);
\\copy busy FROM '$work/busy.csv' WITH (FORMAT csv, HEADER)
\\i $work/src/bench/hopper.sql
SQL
[ "${PROBES:-0}" = 0 ] || echo "\\i $work/src/bench/hopper_probes.sql" >>"$work/hopper.sql"
chmod -R a+rX "$work"
ask "$work/hopper.sql"
