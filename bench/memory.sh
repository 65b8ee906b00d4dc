#!/bin/sh
# How well the simulated memory of a training step agrees with measurements.
#
#     bench/memory.sh DATA_DIR
#
# DATA_DIR/timm/          graphs.ndjson.gz and profiles.csv: largest batches that fit on an RTX 3090 (Apache 2.0)
# DATA_DIR/schedtune/     tidy.csv: peaks of 12 torchvision networks on several cards (MIT)
# DATA_DIR/gpumemnet/     tidy.csv: peaks of timm networks on an A100; measured against, nothing is fitted to it (no licence)
#
# data/ itself has peaks on a CPU. Prints a table for each, with the numbers of rows and networks; docs/memory.md has the figures.
set -eu
. "$(dirname "$0")/../test/lib.sh"
[ $# = 1 ] || failed_to "DATA_DIR is missing"
data=$(realpath "$1")

need_packages
private_copy
build_and_stage
gzip -dc "$data/timm/graphs.ndjson.gz" >"$work/timm.ndjson"
# timm's benchmark begins at 512 samples and goes down this ladder until the step fits
awk -F, 'BEGIN { n = split("1 2 3 4 6 8 12 16 24 32 48 64 96 128 192 256 384 512", step, " "); for (i = 1; i < n; i++) up[step[i]] = step[i + 1] }
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["batch"] in up { print $at["graph"] "," $at["gpu"] "," $at["batch"] "," up[$at["batch"]] "," $at["precision"] "," $at["layout"] "," $at["framework"] "," $at["step_ms"] }' \
    "$data/timm/profiles.csv" >"$work/brackets.csv"
peaks() { # columns of a tidy.csv: model, gpu, batch, options, MB
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $at["model"] "," $at["gpu"] "," $at["batch_per_gpu"] "," $at["options"] "," $at["memory_mib"] }' "$1"
}
peaks "$data/schedtune/tidy.csv" >"$work/schedtune.csv"
peaks "$data/gpumemnet/tidy.csv" >"$work/gpumemnet.csv"
chmod 644 "$work"/*.csv "$work"/*.ndjson
sed "s|@work@|$work|g; s|@root@|$work/src|g" "$root/bench/memory.sql" >"$work/memory.sql"
chmod 644 "$work/memory.sql"
with_server psql -qX -v ON_ERROR_STOP=1 -P footer=off -f "$work/memory.sql"
