#!/bin/sh
# A predictor on cards and networks of a benchmark that it has never seen:
#
#     WITHOUT=lambda OUT=FILE FOLDS=0 tools/pretrain.sh DATA_DIR
#     PRETRAINED=FILE bench/lambda.sh DATA_DIR
#
# DATA_DIR/lambda/profiles.csv has steps of ResNet-50, SSD300 and two BERTs on one GPU of 12 kinds, by Lambda with NVIDIA's
# DeepLearningExamples. They ran in nchw. The predictor that comes trained has learned from them; PRETRAINED is one that has not.
set -eu
. "$(dirname "$0")/pretrained_server.sh"
data=$(data_folder "${1:?usage: bench/lambda.sh DATA_DIR}")

published "$data/lambda/profiles.csv"
cat >"$work/ask.sql" <<SQL
CREATE TABLE row (graph text, model text, gpu text, batch int, precision text, mode text, world_size int, framework text, step_ms float8, source_file text, options text);
\\copy row FROM '$work/rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE asked AS
SELECT replace(model, '384', '') AS model, g.name AS card, s.known_from, coalesce(nullif(precision, 'amp_fp16'), 'amp') AS dtype, r.step_ms AS measured, p.*
FROM row AS r JOIN perfmodel.gpu AS g ON g.name = perfmodel.gpu_name(r.gpu) LEFT JOIN perfmodel.gpu_support AS s ON s.gpu = g.name,
     LATERAL perfmodel.predict(perfmodel.graph_id(CASE model WHEN 'resnet50' THEN 'resnet50@224' WHEN 'ssd300_resnet50' THEN 'ssd300_resnet50@300'
                                                ELSE replace(model, '384', '@s384') END), r.gpu, batch,
                               CASE WHEN precision = 'amp_fp16' THEN 'amp' ELSE precision END,
                               optimizer => CASE WHEN model LIKE 'bert%' THEN 'adam' ELSE 'sgd_momentum' END) AS p
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
ask "$work/ask.sql"
