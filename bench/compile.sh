#!/bin/sh
# The gain of torch.compile, computed from graphs by the predictor that comes trained, beside what others measured:
#
#     bench/compile.sh DATA_DIR
#
# DATA_DIR/compile_published/rows.csv has pairs of steps or forward passes with and without it (data/README.md), DATA_DIR/timm/graphs.ndjson.gz the
# image networks. Language models on several GPUs are asked as one. Where DATA_DIR/compile_published/memory.csv is there (ratios of peak memory;
# with DATA_DIR/torchvision_gpu_bench/graphs.ndjson.gz), memory is compared, too. PRETRAINED in the environment: a file of tools/pretrain.sh to ask instead.
set -eu
. "$(dirname "$0")/pretrained_server.sh"
data=$(data_folder "${1:?usage: bench/compile.sh DATA_DIR}")

published "$data/compile_published/rows.csv"
gzip -dc "$data/timm/graphs.ndjson.gz" >"$work/timm.ndjson"
cp "$root/bench/compile.sql" "$work/compile.sql"
if [ -e "$data/compile_published/memory.csv" ]; then
    cp "$data/compile_published/memory.csv" "$work/memory.csv"
    gzip -dc "$data/torchvision_gpu_bench/graphs.ndjson.gz" >"$work/torchvision.ndjson"
    cat "$root/bench/compile_memory.sql" >>"$work/compile.sql"
    chmod a+r "$work/memory.csv" "$work/torchvision.ndjson"
fi
chmod a+r "$work/compile.sql" "$work/timm.ndjson"
sed -i "s|@work@|$work|g" "$work/compile.sql"
ask "$work/compile.sql"
