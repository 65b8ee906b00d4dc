#!/bin/sh
# Error on cards that were left out of training, from the data sheet and after recalibrate() with 1 to 40 networks measured
# on them, as means over random choices of networks. No server.
#
#     bench/probes.sh DATA_DIR [option=value ...]      DATA_DIR as for make pretrained; options: head of bench/cards/probes.c
#
# The rows are those of bench/cards/start.sh, with HEAVY=0 in the environment the light networks too. python3 bench/cards/plot_probes.py
# LABEL=FILE draws what this prints.
set -eu
. "$(dirname "$0")/cards/start.sh"
shift
cards_rows
build/cards/probes rows="$work" "$@"
