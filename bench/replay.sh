#!/bin/sh
# Two public traces through the queue, with true and predicted durations, and
# what planning 10,000 jobs takes.
#
#   bench/replay.sh DATA          LOADS="0.8 0.9"; SEED=1
#
# DATA has jobs/philly_jobs.csv and job_traces/tidy.csv.gz (microsoft/elasticflow-traces). Neither comes with
# perfmodel. With Clp or HiGHS, perfmodel_planner is timed, too.
set -eu
. "$(dirname "$0")/../test/lib.sh"

data=${1:?usage: bench/replay.sh DATA}
need_packages
private_copy
build_and_stage
if [ -z "$(planner_lacks)" ]; then build_and_stage_planner; else echo "perfmodel_planner is not timed: it needs $(planner_lacks)"; fi

listed() { make -s -C "$root" -f src/sources.mk "print-$1"; }
# shellcheck disable=SC2046
(cd "$root" && ${CC:-cc} $(listed CORE_CPPFLAGS) $(listed CORE_CFLAGS) -o "$work/replay" bench/replay/replay.c src/core/base/core.c src/core/base/metrics.c \
    src/core/plan/duration.c src/core/plan/order.c src/core/plan/simulate.c src/core/plan/eta.c src/core/plan/backtest.c src/core/plan/censored.c -lm -lpthread)

echo "== errors of a predictor on families that it was not trained on"
with_server sh -c 'psql -qX -c "CREATE EXTENSION perfmodel" && psql -qX -f bench/replay/errors.sql' |
    grep -E '^[0-9]+ [0-9.e+-]+ [0-9.e+-]+ [0-9.e+-]+$' >"$work/errors"
awk '{ e += $2 > 1 ? 1 - 1 / $2 : 1 / $2 - 1; high += $2 <= $4; low += $2 >= $3 }
    END { printf "n %d\nmape_pct %.1f\nmeasured_by_p90 %.3f\nmeasured_from_p10 %.3f\n", NR, 100 * e / NR, high / NR, low / NR }' "$work/errors"

TZ=UTC awk -F, 'NR > 1 { gsub(/[-:]/, " ", $2); print mktime($2), $3, $4, 0 }' "$data/jobs/philly_jobs.csv" >"$work/philly"
gzip -dc "$data/job_traces/tidy.csv.gz" |
    awk -F, 'NR > 1 { if (!($1 in pool)) pool[$1] = n++; print $2, $3, $4, pool[$1] }' >"$work/itp"
for trace in philly itp; do
    for load in ${LOADS:-0.8 0.9}; do
        echo "== $trace, load $load"
        "$work/replay" "$work/$trace" "$work/errors" "$load" "${SEED:-1}"
    done
done

echo "== 10,000 jobs"
with_server sh -c 'psql -qX -c "CREATE EXTENSION perfmodel" && psql -qX -f bench/replay/plan.sql' | grep -v loaded
