#!/bin/sh
# Error on each card that is left out of training, from its data sheet, and the share of its measurements in the interval of 90 %
# with its width. No server.
#
#     bench/left_out.sh DATA_DIR [option=value ...]      DATA_DIR as for make pretrained; options: head of bench/cards/left_out.c
#
# The rows are those of bench/cards/rows.sh, with HEAVY=0 in the environment the light networks too. OPERATORS=1: train with the
# single operators of tools/pretrain_operators.py, those of the card that is left out too. calibration_folds=0 leaves the intervals
# away and is quick.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
data=$(realpath "${1:?usage: bench/left_out.sh DATA_DIR [option=value ...]}")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
make -s -f bench/cards/build.mk
. bench/cards/rows.sh
cards_rows "$data" "$work"
if [ "${OPERATORS:-0}" != 0 ]; then
    python3 tools/pretrain_operators.py "$data" "$work/operators.csv" >&2
    set -- "operators=$work/operators.csv" "$@"
fi
build/cards/left_out rows="$work" "$@"
