#!/bin/sh
# The predictor that comes trained, on cards and networks of a benchmark that it has never seen:
#
#     bench/lambda.sh DATA_DIR
#
# DATA_DIR/lambda/profiles.csv has steps of ResNet-50, SSD300 and two BERTs on one GPU of 12 kinds, by Lambda with NVIDIA's
# DeepLearningExamples. They ran in nchw. Needs python3-torch and python3-torchvision.
set -eu
. "$(dirname "$0")/../test/lib.sh"
data=$(realpath "${1:?usage: bench/lambda.sh DATA_DIR}")

need_packages
private_copy
for network in bert_base_squad bert_large_squad ssd300_resnet50; do
    PYTHONPATH="$root/tools" /usr/bin/python3 -m perfmodel_tools export "$root/bench/cards/lambda_networks.py:$network" --name "$network" --sql --quiet >"$work/$network.sql"
done
cp "$data/lambda/profiles.csv" "$work/lambda.csv"
chmod -R a+rX "$work"
build_and_stage
cat >"$work/ask.sql" <<SQL
\\set ON_ERROR_STOP 1
\\pset footer off
SET client_min_messages = warning;
\\i $work/src/demo/sample_graphs.sql
\\o /dev/null
\\i $work/bert_base_squad.sql
\\i $work/bert_large_squad.sql
\\i $work/ssd300_resnet50.sql
\\o
CREATE TABLE row (graph text, model text, gpu text, batch int, precision text, mode text, world_size int, framework text, step_ms float8, source_file text, options text);
\\copy row FROM '$work/lambda.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE asked AS
SELECT replace(model, '384', '') AS model, g.name AS card, s.known_from, coalesce(nullif(precision, 'amp_fp16'), 'amp') AS dtype, r.step_ms AS measured, p.*
FROM row AS r JOIN perfmodel.gpu AS g ON g.name = perfmodel.gpu_name(r.gpu) LEFT JOIN perfmodel.gpu_support AS s ON s.gpu = g.name,
     LATERAL perfmodel.predict(perfmodel.graph_id(CASE WHEN model = 'resnet50' THEN 'resnet50@224' ELSE replace(model, '384', '') END), r.gpu, batch,
                               CASE WHEN precision = 'amp_fp16' THEN 'amp' ELSE precision END) AS p
WHERE world_size = 1;
SELECT card, known_from, model, dtype, round(measured) AS measured, round(step_ms) AS predicted, round(step_ms_low) AS low, round(step_ms_high) AS high,
       round(100 * (step_ms / measured - 1)) AS error_pct FROM asked ORDER BY card, model, dtype;
SELECT coalesce(model, 'all') AS model, coalesce(CASE dtype WHEN 'amp' THEN 'amp' ELSE 'tf32, fp32' END, 'all') AS dtype, count(*) AS n, round((100 * avg(abs(step_ms / measured - 1)))::numeric, 1) AS mape_pct,
       round(100 * avg(step_ms / measured - 1)) AS bias_pct, round(100 * avg((measured BETWEEN step_ms_low AND step_ms_high)::int)) AS coverage_pct,
       round(avg(step_ms_high / step_ms_low)::numeric, 1) AS high_over_low
FROM asked GROUP BY GROUPING SETS ((1, 2), ()) ORDER BY 1, 2;
SELECT card, count(*) AS n, round((100 * avg(abs(step_ms / measured - 1)))::numeric, 1) AS mape_pct, round(100 * avg(step_ms / measured - 1)) AS bias_pct,
       round((100 * avg(abs(step_ms / measured - 1)) FILTER (WHERE model NOT LIKE 'bert%' OR dtype <> 'amp'))::numeric, 1) AS without_bert_amp,
       round(100 * avg((measured BETWEEN step_ms_low AND step_ms_high)::int)) AS coverage_pct FROM asked GROUP BY 1 ORDER BY 1;
SQL
with_server psql -qX -f "$work/ask.sql"
