#!/bin/sh
# Predictions for a job history of a million rows that asks three thousand
# different questions: scalar, LATERAL and view, alone and with parallel
# workers, on a server of its own.
#
#   bench/jobs.sh            JOBS=N: rows (1000000); QUESTIONS=N (3000); CSV=file: the table as CSV, too
set -eu
. "$(dirname "$0")/../test/lib.sh"

need_packages
private_copy
build_and_stage
with_server env JOBS="${JOBS:-1000000}" QUESTIONS="${QUESTIONS:-3000}" sh bench/jobs_server.sh >"$work/jobs.csv"
echo
column -s, -t "$work/jobs.csv" 2>/dev/null || cat "$work/jobs.csv"
[ -z "${CSV:-}" ] || cp "$work/jobs.csv" "$CSV"
