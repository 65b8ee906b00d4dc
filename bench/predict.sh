#!/bin/sh
# What a prediction costs in the core, stage by stage, and the network against
# its PyTorch twin in the same run: bench/predict.sh [GRAPHS.ndjson[.gz]]
#
# Without an argument: the graphs in data/. One thread on both sides, time of
# the processor. In the environment:
#   PYTHON  a Python with PyTorch; default /usr/bin/python3 (python3-torch); without it the twin is left out
#   CSV     where the figures go as what,value,unit lines besides
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

gzip -dc "$root/data/graphs.ndjson.gz" >"$work/graphs.ndjson"
case ${1:-} in
'') ;;
*.gz) gzip -dc "$1" >"$work/more.ndjson" ;;
*) cp "$1" "$work/more.ndjson" ;;
esac
# the largest graph of the argument beside those to learn from
[ ! -e "$work/more.ndjson" ] || awk 'length > n { n = length; line = $0 } END { print line }' "$work/more.ndjson" >>"$work/graphs.ndjson"

"$root/bench/build.sh" "$root/bench/predict.c" "$work/predict"
"$work/predict" "$work/graphs.ndjson" "$root/data/profiles.csv" "gpu_csv=$root/data/gpu.csv" epochs=2 calibration_folds=0 \
    export="$work/rows.bin" >"$work/out"
if "$python" -c 'import torch' 2>/dev/null; then
    OPENBLAS_CORETYPE=auto OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MALLOC_TRIM_THRESHOLD_=8589934592 \
        MALLOC_MMAP_THRESHOLD_=8589934592 PYTHONDONTWRITEBYTECODE=1 \
        "$python" "$root/bench/twin.py" "$work/rows.bin" --predict >>"$work/out"
else
    echo "The comparison with PyTorch is left out: install python3-torch, or set PYTHON" >&2
fi
awk -v csv="${CSV:-/dev/null}" '{ v[$1] = $2 }
function line(what, value, unit) { printf "%-70s %10s %s\n", what, value, unit; gsub(",", "", what); print what "," value "," unit >>csv }
function graph(g) {
    n = v[g ".name"] " (" v[g ".nodes"] " nodes, " v[g ".tokens"] " tokens)"
    line(n ": read and merge the graph", v[g ".load"], "us")
    line(n ": prepare it for a device", v[g ".prepare"], "us")
    line(n ": the network alone", v[g ".network"], "us")
    line(n ": the network, share of the peak of matrix products", sprintf("%.0f", 100 * v[g ".mflop"] / v[g ".network"] / v["peak_gflops"] * 1e3), "%")
    if (g ".twin" in v) {
        line(n ": the network in PyTorch", v[g ".twin"], "us")
        line(n ": PyTorch / core, the network alone", sprintf("%.1f", v[g ".twin"] / v[g ".network"]), "x")
        line(n ": PyTorch / core, another batch", sprintf("%.0f", v[g ".twin"] / v[g ".another_batch"]), "x")
    }
    line(n ": another batch", v[g ".another_batch"], "us")
    line(n ": interval and domain of it", v[g ".judge_another"], "us")
    line(n ": bytes kept", v[g ".prepared_bytes"], "")
}
END {
    line("kernels", v["kernel"], "")
    line("peak of matrix products", v["peak_gflops"], "GFLOP/s")
    graph("usual")
    graph("largest")
    line("eight graphs one by one / in one pass", sprintf("%.2f", v["several.one_by_one"] / v["several.network"]), "x")
}' "$work/out"
