#!/bin/sh
# Error on each card that is left out of training, from its data sheet, and the share of its measurements in the interval of 90 %
# with its width. No server.
#
#     bench/left_out.sh DATA_DIR [option=value ...]      DATA_DIR as for make pretrained; options: head of bench/cards/left_out.c
#
# The rows are those of bench/cards/start.sh, with HEAVY=0 in the environment the light networks too. OPERATORS=1: train with the
# single operators of tools/pretrain_operators.py, those of the card that is left out too. calibration_folds=0 leaves the intervals
# away and is quick.
set -eu
. "$(dirname "$0")/cards/start.sh"
shift
cards_rows
cards_operators
build/cards/left_out rows="$work" ${operators:+"$operators"} "$@"
