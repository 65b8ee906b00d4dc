#!/bin/sh
# Error on cards that were left out of training, from the data sheet and after recalibrate() with 1 to 40 networks measured
# on them, as means over random choices of networks. No server.
#
#     bench/probes.sh DATA_DIR [option=value ...]      DATA_DIR as for make pretrained; options: head of bench/cards/probes.c
#
# HEAVY=0 takes all networks of torchvision_gpu_bench; else only those that keep a card busy at batch 12. Of the RTX 3090 the rows of one
# PyTorch and layout, of cnn_benchmarks and lambda_tf all.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
data=$(realpath "${1:?usage: bench/probes.sh DATA_DIR [option=value ...]}")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
make -s -f bench/cards/build.mk
python3 tools/pretrain_rows.py "$data" "$work" >&2
awk -F, -v heavy="${HEAVY:-1}" '{ sub(/\r$/, "") }
    NR == 1 || $9 == "neusight" || $9 == "cnn_benchmarks" || $9 == "lambda_tf" || $9 == "timm" && $6 ~ /1\.12/ && $5 == "nchw" ||
    $9 == "torchvision_gpu_bench" && (heavy == 0 || $1 ~ /^(vgg|wide_resnet|resnet50|resnet101|resnet152|resnext)/)' "$work/rows.csv" >"$work/some.csv"
mv "$work/some.csv" "$work/rows.csv"
build/cards/probes rows="$work" "$@"
