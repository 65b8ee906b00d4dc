#!/bin/sh
# Minutes that 9 of 10 jobs like this one need, for a time limit:
#
#   time_limit.sh 'graph=resnet50@224,gpu=A100,batch=128,dtype=amp,steps=450000,gpu_count=8,nodes=2'
#
# graph, gpu, batch (on each GPU) and steps must be said. The other words, and what they are when they are not said:
# dtype (fp32), layout (nchw), optimizer (sgd_momentum), framework (any), gpu_count or world_size (1),
# nodes (as few as have room), cluster (a usual one). Connects as psql does (PGHOST, PGDATABASE, ...).
# PERFMODEL_STARTUP_MIN (10) is added for start-up. What is wrong with the
# question goes to standard error, and the exit status is 1.
set -eu

words() { printf '%s' "$1" | tr -d '\n' | tr ',' '\n'; }

# A word that is not known would be left out, and the answer would be that of another question.
wrong=$(words "$1" | awk '
    BEGIN {
        known = "graph, gpu, batch, steps, dtype, layout, optimizer, framework, gpu_count (or world_size), nodes and cluster"
        n = split("graph gpu batch steps dtype layout optimizer framework gpu_count world_size nodes cluster", names, " ")
        for (i = 1; i <= n; i++) is_known[names[i]] = 1
        split("graph gpu batch steps", needed, " ")
    }
    { sub(/^ +/, "") }
    $0 == "" { next }
    {
        name = $0
        if (!sub(/=.*/, "", name)) { print "\"" substr(name, 1, 64) "\" is not a word with a value; known words are " known; found = 1; exit }
        if (!(name in is_known)) { print "unknown word \"" substr(name, 1, 64) "\"; known are " known; found = 1; exit }
        meant = name == "world_size" ? "gpu_count" : name
        if (meant in given) { print meant " is given twice"; found = 1; exit }
        given[meant] = 1
        value = substr($0, length(name) + 2)
        if (meant ~ /^(batch|gpu_count|nodes)$/ && (value !~ /^ *[0-9]+ *$/ || length(value) > 9 || value < 1)) {
            print name " must be a whole number from 1 on, not \"" substr(value, 1, 64) "\""; found = 1; exit
        }
    }
    END { for (i = 1; i <= 4 && !found; i++) if (!(needed[i] in given)) { print needed[i] " is missing"; found = 1 } }')
[ -z "$wrong" ] || { echo "$wrong" >&2; exit 1; }

word() { # name, what it is when it is not said
    value=$(words "$1" | sed -n "s/^ *$2=//p" | head -n 1)
    printf '%s' "${value:-$3}"
}

answer=$(PGOPTIONS="${PGOPTIONS:-} -c statement_timeout=4000" PGCONNECT_TIMEOUT=2 psql -X -q -A -t -v ON_ERROR_STOP=1 \
    -v graph="$(word "$1" graph '')" -v gpu="$(word "$1" gpu '')" -v batch="$(word "$1" batch 0)" -v dtype="$(word "$1" dtype fp32)" \
    -v layout="$(word "$1" layout nchw)" -v optimizer="$(word "$1" optimizer sgd_momentum)" -v framework="$(word "$1" framework '')" \
    -v gpus="$(word "$1" gpu_count "$(word "$1" world_size 1)")" -v nodes="$(word "$1" nodes '')" -v cluster="$(word "$1" cluster '')" \
    -v steps="$(word "$1" steps '')" -v startup="${PERFMODEL_STARTUP_MIN:-10}" <<'SQL'
SELECT CASE WHEN perfmodel.find_graph(:'graph') IS NULL THEN format('unknown graph "%s"', :'graph')
            WHEN p.step_ms IS NULL THEN p.note
            WHEN :'steps' = '' THEN 'steps is missing'
            WHEN nullif(:'steps', '')::numeric <= 0 THEN 'steps must be above 0'
            WHEN m.minutes > 525600 THEN format('%s steps take %s minutes, and a time limit is at most a year', :'steps', m.minutes)
            ELSE m.minutes::text END
FROM perfmodel.predict(perfmodel.find_graph(:'graph'), :'gpu', :'batch'::integer, :'dtype', :'layout', nullif(:'framework', ''), level => 0.8,
                       optimizer => :'optimizer', on_error => 'null', world_size => :'gpus'::integer, nodes => nullif(:'nodes', '')::integer,
                       cluster => nullif(:'cluster', '')) AS p,
     LATERAL (SELECT ceil(:'startup'::numeric + nullif(:'steps', '')::numeric * coalesce(p.step_ms_high, 1.5 * p.step_ms)::numeric / 60000) AS minutes) AS m;
SQL
) || exit 1
case $answer in
    '' | *[!0-9]*) echo "${answer:-no answer}" >&2; exit 1 ;;
    *) echo "$answer" ;;
esac
