#!/bin/sh
# A million answers of predict_job (time, memory, cost) on 1, 8 and 16 GPUs, on a
# server of its own: the first time in a new session, and again in the same one.
#
#   bench/whole_jobs.sh            JOBS=N: rows (1000000)
#
# Every graph of data/ is asked on three devices at three batches; the predictor
# is the pretrained one. Prints seconds, one line for each execution.
set -eu
. "$(dirname "$0")/../test/lib.sh"

need_packages
private_copy
build_and_stage
with_server env JOBS="${JOBS:-1000000}" sh bench/whole_jobs_server.sh
