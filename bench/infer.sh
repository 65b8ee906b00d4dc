#!/bin/sh
# Errors on timm's forward passes of inference in AMP:
#
#     bench/infer.sh DATA_DIR
#
# DATA_DIR/timm has the tables benchmark-infer-amp-*.csv that data/README.md names. The predictor that comes trained has learned from most
# of them; in_training says which. PRETRAINED in the environment: another file of tools/pretrain.sh, such as one made WITHOUT=timm_passes.
# Networks that PyTorch 2 runs with other operators than their graphs have are counted apart.
set -eu
. "$(dirname "$0")/pretrained_server.sh"
data=$(data_folder "${1:?usage: bench/infer.sh DATA_DIR}")

# layout, card, framework, whether the rows train
tables='nchw pt112-cu113-rtx3090 RTX_3090 pytorch_1.12_cu113 t
nhwc pt112-cu113-rtx3090 RTX_3090 pytorch_1.12_cu113 t
nchw pt240-cu124-rtx3090 RTX_3090 pytorch_2.4_cu124 t
nhwc pt240-cu124-rtx3090 RTX_3090 pytorch_2.4_cu124 t
nchw pt240-cu124-rtx4090 RTX_4090 pytorch_2.4_cu124 t
nhwc pt240-cu124-rtx4090 RTX_4090 pytorch_2.4_cu124 t
nchw pt291-cu128-4090 RTX_4090 pytorch_2.9_cu128 f
nchw pt291-cu130-5090 RTX_5090 pytorch_2.9_cu130 t
nchw pt291-cu130-pro6000maxq RTX_PRO_6000_Max-Q pytorch_2.9_cu130 t'
passes=$(mktemp)
trap 'rm -f "$passes"' EXIT
echo "$tables" | while read -r layout table gpu framework trained; do
    file=$data/timm/benchmark-infer-amp-$layout-$table.csv
    [ -e "$file" ] || continue
    awk -F, -v OFS=, -v layout="$layout" -v gpu="$(echo "$gpu" | tr _ ' ')" -v framework="$(echo "$framework" | tr _ ' ')" -v trained="$trained" '
        { sub(/\r$/, "") }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $at["model"] "@" $at["infer_img_size"], gpu, $at["infer_batch_size"], layout, framework, trained, $at["infer_step_time"] }' "$file"
done >"$passes"
[ -s "$passes" ] || { echo "$data/timm has no tables benchmark-infer-amp-*.csv"; exit 1; }
published "$passes"
gzip -dc "$data/timm/graphs.ndjson.gz" | sed 's/"name": *"/&timm:/' >"$work/timm.ndjson"
cat >"$work/infer.sql" <<SQL
CREATE TABLE timm (j jsonb);
\\copy timm FROM '$work/timm.ndjson' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')
SET client_min_messages = error;
SELECT count(perfmodel.load_graph(j)) AS graphs FROM timm;
CREATE TABLE row (graph text, gpu text, batch int, layout text, framework text, in_training bool, step_ms float8);
\\copy row FROM '$work/rows.csv' WITH (FORMAT csv)
CREATE TABLE asked AS
SELECT r.*, p.step_ms AS predicted, p.step_ms_low AS low, p.step_ms_high AS high, p.in_domain,
       framework LIKE 'pytorch 2%' AND (r.graph LIKE 'repvgg%' OR EXISTS (SELECT FROM perfmodel.graph_node AS n WHERE n.graph_id = g.graph_id AND n.op = 'Softmax')) AS otherwise
FROM row AS r JOIN perfmodel.graph AS g ON g.name = 'timm:' || r.graph,
     LATERAL perfmodel.predict(g.graph_id, r.gpu, r.batch, 'amp', r.layout, framework => r.framework, mode => 'inference') AS p;
SELECT gpu, layout, framework, otherwise AS run_otherwise, in_training AND NOT otherwise AS in_training, count(*) AS n,
       round((100 * avg(abs(predicted / step_ms - 1)))::numeric, 1) AS mape_pct,
       round((100 * percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(predicted / step_ms - 1)))::numeric, 1) AS median_pct,
       round((100 * (exp(avg(ln(predicted / step_ms))) - 1))::numeric, 1) AS bias_pct, round(100 * avg((step_ms BETWEEN low AND high)::int)) AS coverage_pct,
       round((100 * avg((high - low) / predicted))::numeric) AS width_pct, round(100 * avg(in_domain::int)) AS in_domain_pct
FROM asked GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 3, 2, 4;
SQL
chmod -R a+rX "$work"
ask "$work/infer.sql"
