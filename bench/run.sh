#!/bin/sh
# make bench: what perfmodel costs inside a server of its own: loading graphs,
# training, predictions cold, warm and repeated, memory of a session.
#
# Prints a table and, with CSV=file, the same as CSV. Beside the numbers stand
# the CPU, the kernels and the threads.  (bench/train.sh compares training with
# PyTorch and needs no server.)
set -eu
. "$(dirname "$0")/../test/lib.sh"

data=${1:-}		# a folder with timm/graphs.ndjson.gz
need_packages
private_copy
build_and_stage
LARGEST=
if [ -n "$data" ]; then # its largest graph is asked about, too
    LARGEST=$work/largest.ndjson
    gzip -dc "$data/timm/graphs.ndjson.gz" | awk 'length > n { n = length; line = $0 } END { print line }' >"$LARGEST"
    chmod 644 "$LARGEST"
fi
export LARGEST
with_server sh bench/server.sh >"$work/bench.csv"
echo
column -s, -t "$work/bench.csv" 2>/dev/null || cat "$work/bench.csv"
echo
"$root/bench/predict.sh" ${data:+"$data/timm/graphs.ndjson.gz"}
[ -z "${CSV:-}" ] || cp "$work/bench.csv" "$CSV"
