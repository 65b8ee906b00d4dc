#!/bin/sh
# How much shorter steps are with frozen weights, against measured steps:
#
#     bench/frozen.sh
#
# bench/frozen.csv has steps of four networks on one thread of an AMD EPYC (family 25 model 1), PyTorch 1.13, and frozen_graphs.ndjson.gz their
# graphs; bench/frozen.py made both. Such a core is not in training: the pretrained predictor is asked about Zen 5, and what is compared is
# the ratio to the step in which all weights are trained.
set -eu
. "$(dirname "$0")/pretrained_server.sh"

published "$root/bench/frozen.csv"
gzip -dc "$root/bench/frozen_graphs.ndjson.gz" >"$work/frozen_graphs.ndjson"
cat >"$work/frozen.sql" <<SQL
CREATE TABLE frozen (j jsonb);
\\copy frozen FROM '$work/frozen_graphs.ndjson' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')
SELECT count(perfmodel.load_graph(j)) AS graphs FROM frozen;
CREATE TABLE row (network text, trained text, batch int, step_ms float8);
\\copy row FROM '$work/rows.csv' WITH (FORMAT csv, HEADER)
CREATE TABLE ratio AS
SELECT r.network, r.trained, g.params, r.step_ms / a.step_ms AS measured, p.step_ms / pa.step_ms AS predicted
FROM row AS r JOIN row AS a ON a.network = r.network AND a.trained = 'all' JOIN perfmodel.graph AS g ON g.name = r.network || ', ' || r.trained,
     LATERAL perfmodel.predict(g.graph_id, 'EPYC Zen5 (1 thread)', r.batch) AS p, LATERAL perfmodel.predict(perfmodel.graph_id(a.network || ', all'), 'EPYC Zen5 (1 thread)', r.batch) AS pa
WHERE r.trained <> 'all';
SELECT network, trained, params, round(measured::numeric, 2) AS measured, round(predicted::numeric, 2) AS predicted, round((100 * (predicted / measured - 1))::numeric, 1) AS error_pct FROM ratio ORDER BY network, measured DESC;
SELECT count(*) AS n, round((100 * avg(abs(predicted / measured - 1)))::numeric, 1) AS error_pct, round((100 * avg(abs(1 / measured - 1)))::numeric, 1) AS error_of_1_pct FROM ratio;
SQL
chmod -R a+rX "$work"
ask "$work/frozen.sql"
