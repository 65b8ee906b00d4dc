# Sourced by lambda.sh and clouds.sh: a server with the predictor that comes trained, or with the file PRETRAINED of tools/pretrain.sh in
# the environment, and the graphs of data/.
#
#     published FILE      FILE is a table of published steps; it lies in $work/rows.csv then
#     ask FILE            runs a script of psql in the server
. "$(dirname "$0")/../test/lib.sh"

published() {
    need_packages
    private_copy
    cp "$1" "$work/rows.csv"
    gzip -dc "$root/data/published_graphs.ndjson.gz" >"$work/networks.ndjson"
    [ -z "${PRETRAINED:-}" ] || cp "$PRETRAINED" "$work/src/data/pretrained.sql"
    chmod -R a+rX "$work"
    build_and_stage
}

ask() {
    cat >"$work/start.sql" <<SQL
\\set ON_ERROR_STOP 1
\\pset footer off
SET client_min_messages = warning;
\\i $work/src/demo/sample_graphs.sql
CREATE TABLE doc (j jsonb);
\\copy doc FROM '$work/networks.ndjson' WITH (FORMAT csv, QUOTE e'\\x01', DELIMITER e'\\x02')
SELECT count(perfmodel.load_graph(j)) AS graphs FROM doc;
SQL
    with_server psql -qX -f "$work/start.sql" -f "$1"
}
