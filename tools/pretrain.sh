#!/bin/sh
# Train the predictor that ships as the extension perfmodel_pretrained:
#
#     tools/pretrain.sh DATA_DIR        or  make pretrained DATA=DATA_DIR
#
# DATA_DIR has the measurements that data/README.md names.  Writes data/pretrained.sql, and prints the error on
# networks left out, by device.  In the environment:
#   OPTIONS   of train(), jsonb; default '{}'
#   OUT       default data/pretrained.sql
#   FOLDS     folds of the errors that are printed; default 5; 0: none, which takes about half of the time
set -eu
. "$(dirname "$0")/../test/lib.sh"
data=$(data_folder "${1:?usage: tools/pretrain.sh DATA_DIR}")
out=$(realpath -m "${OUT:-$root/data/pretrained.sql}")
options=${OPTIONS:-'{}'} folds=${FOLDS:-5}

need_packages
private_copy
mkdir "$work/rows"
python3 "$root/tools/pretrain_rows.py" "$data" "$work/rows"
python3 "$root/tools/pretrain_operators.py" "$data" "$work/rows/operators.csv"
chmod -R a+rX "$work/rows"
if [ "$(id -u)" = 0 ]; then chown -R postgres: "$work/rows"; fi
build_and_stage

cat >"$work/train.sql" <<SQL
\\set ON_ERROR_STOP 1
\\pset footer off
\\set options '$options'
CREATE EXTENSION perfmodel;
SET perfmodel.train_mem = '8GB';
CREATE TABLE doc (j jsonb);
\\copy doc FROM '$work/rows/graphs.ndjson' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')
SELECT count(perfmodel.load_graph(j)) AS graphs FROM doc;
CREATE TABLE row (graph text, gpu text, batch int, dtype text, layout text, framework text, optimizer text, step_ms float8, source text, mode text, forward_ms float8);
\\copy row FROM '$work/rows/rows.csv' WITH (FORMAT csv, HEADER)
\\i $work/src/tools/decoders.sql
SELECT pg_temp.load_decoders(array_agg(graph)) AS graphs_of_decoders FROM row;
INSERT INTO perfmodel.profile (graph_id, gpu, batch, dtype, layout, framework, optimizer, mode, step_ms, forward_ms, source)
SELECT perfmodel.graph_id(graph), perfmodel.gpu_name(gpu), batch, dtype, layout, framework, optimizer, mode, step_ms, forward_ms, source FROM row;
\\copy perfmodel.op_profile (operator, gpu, batch, dtype, layout, framework, forward_ms, backward_ms, spread, measured_at, source) FROM PROGRAM 'gzip -dc $work/src/data/op_profiles.csv.gz' WITH (FORMAT csv, HEADER)
\\copy perfmodel.op_profile (operator, gpu, batch, dtype, layout, framework, forward_ms, backward_ms, spread, measured_at, source) FROM PROGRAM 'gzip -dc $work/src/data/op_profiles_zen5.csv.gz' WITH (FORMAT csv, HEADER)
\\copy perfmodel.op_profile (operator, gpu, batch, dtype, layout, framework, forward_ms, backward_ms, spread, measured_at, source) FROM '$work/rows/operators.csv' WITH (FORMAT csv, HEADER)
SELECT gpu, count(*) FILTER (WHERE mode = 'train') AS steps, count(*) FILTER (WHERE mode <> 'train') AS passes, count(DISTINCT graph_id) AS graphs
FROM perfmodel.profile GROUP BY gpu ORDER BY 2 DESC;
SELECT perfmodel.train('pretrained', options => :'options') > 0 AS trained;
SELECT string_agg(gpu, ', ' ORDER BY gpu) AS known_from_single_operators FROM perfmodel.known_gpus('pretrained') WHERE networks = 0;
\\t
\\pset format unaligned
\\o $work/rows/pretrained.sql
\\i $work/src/tools/pretrained_script.sql
\\o
\\t
\\pset format aligned
SQL
if [ "$folds" -gt 0 ]; then
    cat >>"$work/train.sql" <<SQL
SELECT group_name AS device_left_out_networks, n, round(mape_pct::numeric, 1) AS mape_pct, round(mae_ms::numeric, 1) AS mae_ms
FROM perfmodel.cross_validate('mdot', folds => $folds, options => :'options'::jsonb || '{"calibration_folds": 0}')
WHERE grouped_by IN ('gpu', 'overall');
SQL
fi
with_server psql -qX -f "$work/train.sql"
cp "$work/rows/pretrained.sql" "$out"
ls -l "$out"
