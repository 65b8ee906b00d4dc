#!/bin/sh
# Error on cards that were left out of training, from the data sheet and after recalibrate() with 1 to 40 networks measured
# on them, as means over random choices of networks. No server.
#
#     bench/probes.sh DATA_DIR [option=value ...]      DATA_DIR as for make pretrained; options: head of bench/cards/probes.c
#
# The rows are those of bench/cards/rows.sh, with HEAVY=0 in the environment the light networks too. python3 bench/cards/plot_probes.py
# LABEL=FILE draws what this prints.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
data=$(realpath "${1:?usage: bench/probes.sh DATA_DIR [option=value ...]}")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
make -s -f bench/cards/build.mk
. bench/cards/rows.sh
cards_rows "$data" "$work"
build/cards/probes rows="$work" "$@"
