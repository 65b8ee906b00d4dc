#!/bin/sh
# Seconds of a training epoch: the core against its PyTorch twin, same rows.
#
#     bench/train.sh [graphs.ndjson[.gz] profiles.csv [option=value ...]]
#
# Without arguments: the graphs and profiles in data/.  Options are those of
# the kind mdot and those that choose rows (layout, framework, gpu_csv).  In the environment:
#   THREADS   thread counts to compare; default "1 2", as far as there are processors
#   ROUNDS    turns that the core and the twin take; default 3
#   EPOCHS    epochs of a turn, after one that is not counted; default 3
#   CPUS      processors to use, as for taskset; default: the first ones
#   TOGETHER  samples whose attention the twin pads together; default 2, which is fastest
#   CSV       where the table goes as CSV; default results/train.csv
#   PYTHON    a Python with PyTorch; default /usr/bin/python3 (python3-torch)
#
# The core and the twin take turns, so that a processor that changes its speed
# treats both alike; of all epochs of one side the median counts.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cpus=$(nproc)
graphs=${1:-$root/data/graphs.ndjson.gz}
profiles=${2:-$root/data/profiles.csv}
[ $# -lt 2 ] || shift 2
rounds=${ROUNDS:-3}
epochs=${EPOCHS:-3}
csv=${CSV:-$root/results/train.csv}
python=${PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -c 'import torch' 2>/dev/null || {
    echo "The comparison with PyTorch is left out: install python3-torch, or set PYTHON" >&2
    exit 0
}
case $graphs in
*.gz) gzip -dc "$graphs" >"$work/graphs.ndjson" ;;
*) ln -s "$(realpath "$graphs")" "$work/graphs.ndjson" ;;
esac

"$root/bench/build.sh" "$root/bench/mdot_epochs.c" "$work/mdot_epochs"

core() { # thread count, epochs, further options
    t=$1 e=$2
    shift 2
    # shellcheck disable=SC2086
    $pin "$work/mdot_epochs" "$work/graphs.ndjson" "$profiles" "gpu_csv=$root/data/gpu.csv" "$@" threads="$t" epochs="$e"
}

# The right kernels for a processor that Debian's OpenBLAS does not know, and
# no giving back of memory between steps: both make the twin faster.
twin() { # thread count
    OPENBLAS_CORETYPE=auto OPENBLAS_NUM_THREADS=$1 OMP_NUM_THREADS=$1 \
        MALLOC_TRIM_THRESHOLD_=8589934592 MALLOC_MMAP_THRESHOLD_=8589934592 PYTHONDONTWRITEBYTECODE=1 \
        $pin "$python" "$root/bench/twin.py" "$work/rows.bin" --threads "$1" --epochs "$epochs" --together "${TOGETHER:-2}"
}

value() { # name, files: the median over the files
    name=$1
    shift
    sed -n "s/^$name //p" "$@" | sort -n | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "" }'
}

pin=
core 1 1 "$@" export="$work/rows.bin"
counts=${THREADS:-$([ "$cpus" = 1 ] && echo 1 || echo 1 2)}
for t in $counts; do
    pin=
    if [ -n "${CPUS:-}" ]; then
        pin="taskset -c $CPUS"
    elif [ "$t" -lt "$cpus" ] && command -v taskset >/dev/null; then
        pin="taskset -c 0-$((t - 1))"
    fi
    i=0
    while [ $i -lt "$rounds" ]; do
        i=$((i + 1))
        echo "round $i of $rounds with $t thread(s)" >&2
        core "$t" $((epochs + 1)) "$@" >"$work/core.$t.$i"
        twin "$t" >"$work/twin.$t.$i"
    done
done

mkdir -p "$(dirname "$csv")"
echo 'cpu,kernel,torch,threads,rows,tokens,params,core_epoch_s,core_epoch_best_s,core_samples_per_s,gflop_per_epoch,core_gflops,peak_gflops,own_shapes_gflops,share_of_peak,core_epoch_cpu_s,twin_epoch_cpu_s,twin_epoch_s,twin_epoch_best_s,twin_samples_per_s,twin_over_core' >"$csv"
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1 | tr -d ',')
printf '%s, %s kernels, %s rows, %s tokens, %s parameters, %s GFLOP an epoch\n\n' "$cpu" \
    "$(sed -n 's/^kernel //p' "$work"/core.*.1 | head -1)" "$(value rows "$work"/core.*)" "$(value tokens "$work"/core.*)" \
    "$(value params "$work"/core.*)" "$(value gflop_per_epoch "$work"/core.*)"
printf '%7s %12s %12s %14s %10s %8s %12s %14s %9s %10s\n' threads 'core s' 'core rows/s' 'core GFLOP/s' 'of peak' 'peak' \
    'twin s' 'twin rows/s' twin/core 'cpu time'
for t in $counts; do
    c="$work/core.$t."
    w="$work/twin.$t."
    awk -v t="$t" -v cpu="$cpu" -v csv="$csv" -v kernel="$(sed -n 's/^kernel //p' "$c"1)" \
        -v torch="$(sed -n 's/^torch //p' "$w"1)" -v rows="$(value rows "$c"*)" -v tokens="$(value tokens "$c"*)" \
        -v params="$(value params "$c"*)" -v cs="$(value epoch_s "$c"*)" -v cb="$(value epoch_best_s "$c"*)" \
        -v gflop="$(value gflop_per_epoch "$c"*)" -v peak="$(value peak_gflops "$c"*)" \
        -v own="$(value own_shapes_gflops "$c"*)" -v ts="$(value epoch_s "$w"*)" -v tb="$(value epoch_best_s "$w"*)" \
        -v cc="$(value epoch_cpu_s "$c"*)" -v tc="$(value epoch_cpu_s "$w"*)" 'BEGIN {
        rate = gflop / cs
        printf "%7d %12.3f %12.0f %14.1f %9.0f%% %8.0f %12.3f %14.0f %8.1fx %9.1fx\n", t, cs, rows / cs, rate, \
            100 * rate / (t * peak), t * peak, ts, rows / ts, ts / cs, tc / cc
        printf "%s,%s,%s,%d,%d,%d,%d,%s,%s,%.1f,%s,%.2f,%s,%s,%.4f,%s,%s,%s,%s,%.1f,%.2f\n", cpu, kernel, torch, t, rows, \
            tokens, params, cs, cb, rows / cs, gflop, rate, peak, own, rate / (t * peak), cc, tc, ts, tb, rows / ts, ts / cs >>csv
    }'
done
printf '\ncpu time: twin/core in processor time, which other programs on the machine disturb less\npeak: product of two 512 x 512 matrices on one thread, times threads; the products of the network alone run at %s GFLOP/s\n' \
    "$(value own_shapes_gflops "$work"/core.*)"
echo "as CSV: $csv"
