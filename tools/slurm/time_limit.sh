#!/bin/sh
# Minutes that 9 of 10 jobs like this one need, for a time limit:
#
#   time_limit.sh 'graph=resnet50@224,gpu=A100,batch=128,dtype=amp,steps=450000'
#
# dtype is fp32 unless it is said. Connects as psql does (PGHOST, PGDATABASE, ...).
# PERFMODEL_STARTUP_MIN (10) is added for start-up. What is wrong with the
# question goes to standard error, and the exit status is 1.
set -eu

word() { # name, what it is when it is not said
    value=$(printf '%s' "$1" | tr -d '\n' | tr ',' '\n' | sed -n "s/^ *$2=//p" | head -n 1)
    printf '%s' "${value:-$3}"
}

answer=$(PGOPTIONS="${PGOPTIONS:-} -c statement_timeout=4000" PGCONNECT_TIMEOUT=2 psql -X -q -A -t -v ON_ERROR_STOP=1 \
    -v graph="$(word "$1" graph '')" -v gpu="$(word "$1" gpu '')" -v batch="$(word "$1" batch 0)" -v dtype="$(word "$1" dtype fp32)" \
    -v steps="$(word "$1" steps '')" -v startup="${PERFMODEL_STARTUP_MIN:-10}" <<'SQL'
SELECT CASE WHEN perfmodel.find_graph(:'graph') IS NULL THEN format('unknown graph "%s"', :'graph')
            WHEN p.step_ms IS NULL THEN p.note
            WHEN :'steps' = '' THEN 'steps is missing'
            WHEN nullif(:'steps', '')::numeric <= 0 THEN 'steps must be above 0'
            WHEN m.minutes > 525600 THEN format('%s steps take %s minutes, and a time limit is at most a year', :'steps', m.minutes)
            ELSE m.minutes::text END
FROM perfmodel.predict(perfmodel.find_graph(:'graph'), :'gpu', :'batch'::integer, :'dtype', level => 0.8, on_error => 'null') AS p,
     LATERAL (SELECT ceil(:'startup'::numeric + nullif(:'steps', '')::numeric * coalesce(p.step_ms_high, 1.5 * p.step_ms)::numeric / 60000) AS minutes) AS m;
SQL
) || exit 1
case $answer in
    '' | *[!0-9]*) echo "${answer:-no answer}" >&2; exit 1 ;;
    *) echo "$answer" ;;
esac
