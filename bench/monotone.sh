#!/bin/sh
# Whether a larger batch ever predicts a shorter step: every graph, batches 1 to
# 1024, by the predictor that comes trained, on devices and formats it knows.
#
#     bench/monotone.sh [DATA_DIR]      DATA_DIR/timm/graphs.ndjson.gz: more graphs than those in data/
#
# Prints how many pairs of neighbouring batches were compared and how many fall.
# Exits with 1 when any does.
set -eu
. "$(dirname "$0")/../test/lib.sh"
data=${1:+$(data_folder "$1")}

need_packages
private_copy
build_and_stage
{
    gzip -dc "$root/data/graphs.ndjson.gz"
    [ -z "$data" ] || gzip -dc "$data/timm/graphs.ndjson.gz"
} >"$work/graphs.ndjson"
chmod 644 "$work/graphs.ndjson"
cat >"$work/monotone.sql" <<SQL
\\set ON_ERROR_STOP 1
\\set QUIET 1
SET client_min_messages = warning;
CREATE EXTENSION perfmodel;
CREATE EXTENSION perfmodel_pretrained;
CREATE UNLOGGED TABLE doc (n serial, j jsonb);
\\copy doc (j) FROM '$work/graphs.ndjson' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')
\\o /dev/null
SELECT count(perfmodel.load_graph(j, n || ' ' || (j->>'name'))) FROM doc;
\\o
CREATE TABLE result AS
SELECT gpu, dtype, layout, count(DISTINCT graph_id) AS graphs, count(before_ms) AS pairs, count(*) FILTER (WHERE step_ms < before_ms) AS falling
FROM (SELECT q.*, g.graph_id, step_ms, lag(step_ms) OVER (PARTITION BY q, g.graph_id ORDER BY batch) AS before_ms
      FROM (VALUES ('RTX 3090', 'amp', 'nchw'), ('RTX 3090', 'amp', 'nhwc'), ('AMD EPYC Zen4 (1 thread)', 'fp32', 'nchw')) AS q(gpu, dtype, layout),
           perfmodel.graph g, generate_series(1, 1024) AS batch,
           LATERAL (SELECT perfmodel.predict_train_time(g.graph_id, q.gpu, batch, q.dtype, q.layout) AS step_ms) AS s) AS steps
GROUP BY gpu, dtype, layout;
SELECT * FROM result ORDER BY 1, 2, 3;
SELECT 1 / (sum(falling) = 0)::int AS none_falls FROM result;
SQL
chmod 644 "$work/monotone.sql"
with_server psql -X -f "$work/monotone.sql"
