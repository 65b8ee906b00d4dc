#!/bin/sh
# The accuracy of every kind of predictor on networks, families and batches that training has not seen.
#
#     bench/accuracy/run.sh [DATA_DIR]        or  make bench-accuracy DATA=DATA_DIR
#
# DATA_DIR/timm has graphs.ndjson.gz and profiles.csv of the timm benchmark, DATA_DIR/neusight those of NeuSight with
# operator times; without DATA_DIR only the measurements in data/ are used.  What is finished lies in the results
# folder, a file for each fold and method, and is not run again.  In the environment:
#   RESULTS   results folder; default build/accuracy/results
#   REPORT    the table; default docs/leaderboard.md for a whole run, RESULTS/leaderboard.md for a part of it
#   JOBS      processes side by side, one thread each; default: number of processors
#   KINDS     methods; default: all that the library lists, and boosting, boosting_sum
#   SETS      what to run, of: timm-nchw:structure timm-nchw:family timm-nchw:far, the same of timm-nhwc,
#             data:structure data:family data:batch cpus:structure cpus:family timm-all:structure curve explain
#             trust; default: all.  timm-all trains on all rows of timm, cpus on both processors in data/ and on
#             the networks drawn at random; trust are intervals of 90 % and the domain
#   FOLD      only this fold, for a quick look
#   CURVE     percents of the training structures for the learning curve; default "25 50 75"
#   CURVE_OF  the rows it is made on; default timm-nchw
#   ALL       the methods for timm-all; default "mdot gnn opclass"
#   CPUS      the methods for cpus; default "mdot opclass"
#   TRUST     the methods for trust; default "mdot opclass seer roofline linear"
#   TRUST_OF  the rows they are tested on, as in SETS; default the folds of networks and of families of timm
#   TRUST_ALSO  more rows for the kinds of trust that train in a second; default far networks and data/
#   OPTIONS   of kinds, as "mdot:epochs=3 ets:epochs=3"; belongs into a results folder of its own
#   SEED      of training; default 42.  A folder of its own, too.  Folds are always those of seed 1
#   PYTHON    a Python with scikit-learn; default /usr/bin/python3
# Needs gcc, libopenblas-dev, python3; python3-sklearn for boosting.
set -eu
cd "$(dirname "$0")/../.."
[ $# -eq 0 ] || DATA=$(realpath "$1")
[ $# -eq 0 ] || [ -d "$DATA" ] || { echo "$0: there is no folder \"$1\"; name the one with the measurements" >&2; exit 1; }
DATA=${DATA:-}
whole=docs/leaderboard.md
[ -n "$DATA" ] && [ -z "${KINDS:-}${SETS:-}${FOLD:-}${OPTIONS:-}${SEED:-}" ] || whole=
RESULTS=$(realpath -m "${RESULTS:-build/accuracy/results}")
REPORT=${REPORT:-${whole:-$RESULTS/leaderboard.md}}
all="timm-all:structure timm-nchw:structure timm-nhwc:structure timm-nchw:family timm-nhwc:family timm-nchw:far timm-nhwc:far"
all="$all data:structure data:family data:batch cpus:structure cpus:family curve explain trust"
SETS=${SETS:-$all}
FOLD=${FOLD:-} OPTIONS=${OPTIONS:-} SEED=${SEED:-42} PYTHON=${PYTHON:-/usr/bin/python3}
started=$(date +%s)

make -s -f bench/accuracy/cell.mk
mkdir -p "$RESULTS/input" "$RESULTS/log" "$RESULTS/done"
# what runs does not change when the tree is built again meanwhile
CELL=$RESULTS/cell
cp build/accuracy/cell "$CELL.new" && mv "$CELL.new" "$CELL"
SOURCE=$(cat $(make -s -f src/sources.mk print-CORE_PLAIN_SOURCES print-CORE_HEADERS) bench/accuracy/*.[ch] bench/accuracy/boosting.py | sha256sum | cut -c1-12)
gzip -dc data/graphs.ndjson.gz >"$RESULTS/input/data.ndjson"
gzip -dc data/drawn_graphs.ndjson.gz >"$RESULTS/input/drawn.ndjson"
gzip -dc data/op_profiles.csv.gz >"$RESULTS/input/operators.csv"
{ cat "$RESULTS/input/operators.csv"; gzip -dc data/op_profiles_zen5.csv.gz | sed 1d; } >"$RESULTS/input/cpus_operators.csv"
{ cat data/profiles.csv; sed -e 1d -e /^drawn/d data/profiles_zen5.csv; } >"$RESULTS/input/cpus.csv"
sed -n -e 1p -e /^drawn/p data/profiles_zen5.csv >"$RESULTS/input/drawn.csv"
if [ -n "$DATA" ]; then gzip -dc "$DATA/timm/graphs.ndjson.gz" >"$RESULTS/input/timm.ndjson"; fi
KINDS=$(echo ${KINDS:-$("$CELL" list=1) boosting boosting_sum})
case $KINDS in
*boosting*)
    if ! "$PYTHON" -c 'import scipy, sklearn' 2>/dev/null; then
        echo "gradient boosting is left out: install python3-sklearn, or set PYTHON"
        KINDS=$(echo "$KINDS" | sed 's/boosting[_a-z]*//g')
    fi ;;
esac
export DATA RESULTS CELL SOURCE FOLD OPTIONS SEED PYTHON

cat >"$RESULTS/machine" <<EOF
date=$(date -u +%Y-%m-%d)
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)
processors=$(nproc)
kernel=$(uname -sr | cut -d- -f1)
fold=$FOLD
EOF
echo "$(sed -n 's/^cpu=//p' "$RESULTS/machine"), $(nproc) processors, $(uname -sr | cut -d- -f1), seed $SEED, folds of seed 1, sources $SOURCE"
if grep -hs '^# source=' "$RESULTS"/*.csv | grep -qv "=$SOURCE"; then
    echo "some results in $RESULTS come from other sources and are kept; remove them to have them made again"
fi

has() { case " $KINDS " in *" $1 "*) return 0 ;; esac; return 1; }
# methods that take longest first, so that no processor waits in the end
ordered() {
    ! has mdot || echo mdot
    for kind in $KINDS; do
        case $kind in mdot | boosting* | roofline | linear | opclass | seer | habitat) ;; *) echo "$kind" ;; esac
    done
    for kind in boosting boosting_sum seer habitat opclass roofline linear; do
        ! has $kind || echo $kind
    done
}
lines_of() { # a word of SETS
    case $1 in
    curve)
        for part in ${CURVE:-25 50 75}; do
            for set in ${CURVE_OF:-timm-nchw}; do ! has mdot || echo "$set structure mdot@$part"; done
        done ;;
    timm-all:*) for kind in ${ALL:-mdot gnn opclass}; do ! has "$kind" || echo "timm-all ${1#*:} $kind"; done ;;
    cpus:*) for kind in ${CPUS:-mdot opclass}; do ! has "$kind" || echo "cpus ${1#*:} $kind"; done ;;
    trust)
        for set in ${TRUST_OF:-timm-nchw:structure timm-nhwc:structure timm-nchw:family timm-nhwc:family}; do
            for kind in ${TRUST:-mdot opclass seer roofline linear}; do ! has "$kind" || echo "${set%%:*} ${set#*:} $kind~0.9"; done
        done
        for set in ${TRUST_ALSO:-timm-nchw:far timm-nhwc:far data:structure data:family data:far data:batch}; do
            for kind in opclass seer roofline linear; do ! has $kind || echo "${set%%:*} ${set#*:} $kind~0.9"; done
        done ;;
    explain) ;;
    *) ordered | sed "s/^/${1%%:*} ${1#*:} /" ;;
    esac
}
jobs=$(for s in $SETS; do lines_of "$s"; done | if [ -n "$DATA" ]; then cat; else grep -E '^(data|cpus)'; fi)
failed=0
# slow methods of all sets before fast ones of any
quick=' (roofline|linear|opclass|seer|habitat)(~[0-9.]*)?$'
{
    echo "$jobs" | grep '^timm-all' || true
    echo "$jobs" | grep -v '^timm-all' | grep -E ' mdot' || true
    echo "$jobs" | grep -vE '^timm-all| mdot' | grep -vE "$quick" || true
    echo "$jobs" | grep -v '^timm-all' | grep -E "$quick" || true
} | xargs -r -L 1 -P "${JOBS:-$(nproc)}" bench/accuracy/job.sh || failed=1

case " $SETS " in
*" explain "*)
    [ -z "$DATA" ] || "$PYTHON" bench/accuracy/explain_neusight.py "$DATA" "$RESULTS" "cell=$CELL" "jobs=${JOBS:-$(nproc)}" \
        "seed=$SEED" "options=$OPTIONS" || failed=1 ;;
esac
"$PYTHON" bench/accuracy/report.py "$RESULTS" "$REPORT" ${DATA:+"$DATA/timm/profiles.csv"}
sed -n '/^## Margins/,/^## /p' "$REPORT" | grep -v '^## ' || true
echo "$(($(date +%s) - started)) s; the table is in $REPORT"
[ $failed = 0 ] || { echo "some of it failed, see above" >&2; exit 1; }
