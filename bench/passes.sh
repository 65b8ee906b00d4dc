#!/bin/sh
# Error on measured forward passes: bench/passes.sh DATA_DIR [option=value ...]
#
# DATA_DIR as for make pretrained; options are those of bench/cards/passes.c. OPERATORS=1 in the environment: train with
# the single operators of tools/pretrain_operators.py, too.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
data=$(realpath "${1:?usage: bench/passes.sh DATA_DIR [option=value ...]}")
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
make -s -f bench/cards/build.mk
python3 tools/pretrain_rows.py "$data" "$work" >&2
if [ "${OPERATORS:-0}" != 0 ]; then
    python3 tools/pretrain_operators.py "$data" "$work/operators.csv" >&2
    set -- "operators=$work/operators.csv" "$@"
fi
build/cards/passes rows="$work" "$@"
