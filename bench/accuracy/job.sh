#!/bin/sh
# One line of work of run.sh: all folds of one method on one split of one set.
#
#   job.sh SET SPLIT METHOD
#
# SET     timm-nchw, timm-nhwc, timm-all (all rows train, those of the newest PyTorch are tested), data, cpus (both
#         processors in data/; networks drawn at random always train)
# SPLIT   structure, family, far, family10, batch (folds.c)
# METHOD  KIND[:OPTION=VALUE,...][@PART][~LEVEL], boosting or boosting_sum; PART percent of the training structures;
#         LEVEL, such as 0.9: with intervals at that level, and the domain
#
# Takes $DATA, $RESULTS, $CELL, $SOURCE, $SEED, $FOLD, $OPTIONS, $PYTHON from run.sh.
set -eu
name=$1 split=$2 method=$3
part=100 level=0
case $method in *~*) level=${method#*~} ;; esac
own=${method%~*}
case $own in *@*) part=${own#*@} ;; esac
own=${own%@*}
kind=${own%%:*}
own=${own#"$kind"}
mark=$RESULTS/done/$name.$split.$method$FOLD
[ ! -e "$mark" ] || exit 0

newest='pytorch 1.12 cu113'
case $name in
timm-all) set -- "rows=$DATA/timm/profiles.csv" "graphs=$RESULTS/input/timm.ndjson" "test_framework=$newest" ;;
timm-*) set -- "rows=$DATA/timm/profiles.csv" "graphs=$RESULTS/input/timm.ndjson" "framework=$newest" "layout=${name#timm-}" ;;
data) set -- "rows=data/profiles.csv" "graphs=$RESULTS/input/data.ndjson" "operators=$RESULTS/input/operators.csv" ;;
cpus) set -- "rows=$RESULTS/input/cpus.csv" "graphs=$RESULTS/input/data.ndjson" "operators=$RESULTS/input/cpus_operators.csv" \
    "also_rows=$RESULTS/input/drawn.csv" "also_graphs=$RESULTS/input/drawn.ndjson" ;;
*) echo "there is no set $name" >&2 && exit 1 ;;
esac
set -- "$@" "set=$name" "split=$split"

log=$RESULTS/log/$name.$split.$method
run() { "$@" 2>"$log" || { echo "FAILED $name $split $method: $(tail -1 "$log")"; exit 1; }; }
case $kind in
boosting*)
    features=$RESULTS/input/$name.$split.csv
    # two methods may want it at the same time
    [ -e "$features" ] || { run "$CELL" "$@" "features=$features.$$" && mv "$features.$$" "$features"; }
    run "$PYTHON" bench/accuracy/boosting.py "$features" "set=$name" "split=$split" "label=$kind" "seed=$SEED" \
        "source=$SOURCE" "fold=$FOLD" "out=$RESULTS" ;;
*)
    [ -z "$FOLD" ] || set -- "$@" "fold=$FOLD"
    for option in $OPTIONS; do
        [ "${option%%:*}" != "$kind" ] || set -- "$@" "option:${option#*:}"
    done
    for option in $(echo "${own#:}" | tr , ' '); do set -- "$@" "option:$option"; done
    run "$CELL" "$@" "kind=$kind" "label=$method" "part=$part" "trust=$level" "seed=$SEED" "source=$SOURCE" "out=$RESULTS" ;;
esac
touch "$mark"
