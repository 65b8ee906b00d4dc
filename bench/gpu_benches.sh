#!/bin/sh
# Errors on steps and forward passes of image networks that others timed on cards of which little else is known:
#
#     bench/gpu_benches.sh DATA_DIR
#
# DATA_DIR/gpu_benches/rows.csv has the rows that data/README.md names, DATA_DIR/torchvision_gpu_bench and the project the graphs. The
# predictor that comes trained has learned from most of them, but not from those of the T4. PRETRAINED in the environment: another file of
# tools/pretrain.sh, such as one made WITHOUT=gpu_benches. Questions name no framework. ASKED: a file for the answers, row by row.
set -eu
. "$(dirname "$0")/pretrained_server.sh"
data=$(data_folder "${1:?usage: bench/gpu_benches.sh DATA_DIR}")
published "$data/gpu_benches/rows.csv"
gzip -dc "$data/torchvision_gpu_bench/graphs.ndjson.gz" >"$work/torchvision.ndjson"
cat >"$work/benches.sql" <<SQL
CREATE TABLE torchvision (j jsonb);
\\copy torchvision FROM '$work/torchvision.ndjson' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')
SET client_min_messages = error;
SELECT count(perfmodel.load_graph(j)) AS graphs FROM torchvision;
CREATE TABLE row (repo text, path text, commit text, gpu text, network text, mode text, layout text, dtype text, batch int, image int, framework text, optimizer text, step_ms float8);
\\copy row FROM '$work/rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE asked AS
SELECT r.*, p.step_ms AS predicted, p.step_ms_low AS low, p.step_ms_high AS high, p.in_domain,
       CASE WHEN r.network ~ '^(vgg|wide_resnet|resnet50|resnet101|resnet152|resnext|convnext|vit|swin|alexnet)' THEN 'heavy' ELSE 'light' END AS networks
FROM row AS r JOIN perfmodel.graph AS g ON g.name = format('%s@%s', r.network, r.image),
     LATERAL perfmodel.predict(g.graph_id, r.gpu, batch, dtype, layout, optimizer => coalesce(r.optimizer, 'none'), mode => r.mode) AS p;
SELECT mode, networks, gpu, count(*) AS n, round((100 * avg(abs(predicted / step_ms - 1)))::numeric, 1) AS mape_pct,
       round((100 * (exp(avg(ln(predicted / step_ms))) - 1))::numeric, 1) AS bias_pct, round(100 * avg((step_ms BETWEEN low AND high)::int)) AS coverage_pct,
       round((100 * avg((high - low) / predicted))::numeric) AS width_pct, round(100 * avg(in_domain::int)) AS in_domain_pct
FROM asked GROUP BY mode, networks, ROLLUP (gpu) ORDER BY 1 DESC, 2, 3;
SELECT (SELECT count(*) FROM row) AS rows, (SELECT count(*) FROM asked) AS asked;
\\o $work/asked.csv
COPY asked TO STDOUT WITH (FORMAT csv, HEADER);
\\o
SQL
chmod -R a+rX "$work"
: >"$work/asked.csv"
chmod a+w "$work/asked.csv"
ask "$work/benches.sql"
[ -z "${ASKED:-}" ] || cp "$work/asked.csv" "$ASKED"
