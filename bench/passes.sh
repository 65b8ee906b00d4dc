#!/bin/sh
# Error on measured forward passes: bench/passes.sh DATA_DIR [option=value ...]
#
# DATA_DIR as for make pretrained, without the passes of timm, which bench/infer.sh asks for; options are those of bench/cards/passes.c. OPERATORS=1 in the environment: train with
# the single operators of tools/pretrain_operators.py, too.
set -eu
. "$(dirname "$0")/cards/start.sh"
shift
WITHOUT=timm_passes python3 tools/pretrain_rows.py "$data" "$work" >&2
cards_operators
build/cards/passes rows="$work" ${operators:+"$operators"} "$@"
