#!/bin/sh
# What an optimizer costs, predicted from the bytes that it moves, against measured steps.
#
#     bench/optimizers.sh [KIND]          KIND of predictor, default mdot
#
# bench/optimizers.csv has steps of networks of data/ with four optimizers of PyTorch 1.13, one thread of an AMD EPYC (family 26 model 2):
# medians of processor time, the optimizers in turn on one model. No row of them is trained on. The predictor learns from
# data/profiles.csv, which has sgd_momentum on an EPYC of another family. So what is compared is the ratio to the step with sgd_momentum.
set -eu
. "$(dirname "$0")/../test/lib.sh"
need_packages
private_copy
build_and_stage
gzip -dc "$root/data/graphs.ndjson.gz" >"$work/graphs.ndjson"
cp "$root/data/profiles.csv" "$root/bench/optimizers.csv" "$work"
chmod 644 "$work"/*.csv "$work"/*.ndjson
cat >"$work/optimizers.sql" <<SQL
\set ON_ERROR_STOP 1
\pset footer off
SET client_min_messages = warning;
CREATE EXTENSION perfmodel;
CREATE TEMP TABLE doc (j jsonb);
\copy doc from '$work/graphs.ndjson' with (format csv, quote e'\x01', delimiter e'\x02')
SELECT count(perfmodel.load_graph(j)) AS graphs FROM doc;
CREATE TEMP TABLE m (graph text, model text, gpu text, batch int, dtype text, layout text, framework text, mode text,
    optimizer text, world_size int, nodes int, step_ms float8, forward_ms float8, backward_ms float8, update_ms float8,
    peak_memory_mb float8, spread float8, steps int, measured_at timestamptz, source text);
\copy m from '$work/profiles.csv' with (format csv, header)
INSERT INTO perfmodel.profile (graph_id, gpu, batch, framework, step_ms, spread)
SELECT perfmodel.graph_id(graph), gpu, batch, framework, step_ms, spread FROM m;
SELECT perfmodel.train('optimizers', kind => '${1:-mdot}', options => '{"calibration_folds": 0}');
CREATE TEMP TABLE step (graph text, batch int, optimizer text, step_ms float8, update_ms float8, steps int);
\copy step from '$work/optimizers.csv' with (format csv, header)
CREATE TEMP TABLE ratio AS
SELECT s.graph, s.batch, s.optimizer, s.step_ms / base.step_ms AS measured, p.step_ms / b.step_ms AS predicted
FROM step AS s
JOIN step AS base USING (graph, batch)
CROSS JOIN LATERAL perfmodel.predict(perfmodel.graph_id(s.graph), (SELECT min(gpu) FROM m), s.batch, optimizer => s.optimizer) AS p
CROSS JOIN LATERAL perfmodel.predict(perfmodel.graph_id(s.graph), (SELECT min(gpu) FROM m), s.batch) AS b
WHERE base.optimizer = 'sgd_momentum' AND s.optimizer <> 'sgd_momentum';
\echo 'steps with an optimizer over steps with sgd_momentum'
SELECT optimizer, count(*) AS networks, round(min(measured)::numeric, 2) AS measured_from, round(max(measured)::numeric, 2) AS measured_to,
       round((100 * avg(abs(predicted / measured - 1)))::numeric, 1) AS error_pct,
       round((100 * avg(abs(1 / measured - 1)))::numeric, 1) AS error_of_1_pct
FROM ratio GROUP BY 1 ORDER BY 1;
SELECT graph, batch, string_agg(format('%s %s (measured %s)', optimizer, round(predicted::numeric, 2), round(measured::numeric, 2)), ', ' ORDER BY optimizer)
FROM ratio GROUP BY 1, 2 ORDER BY 1, 2;
SQL
with_server psql -qX -f "$work/optimizers.sql"
