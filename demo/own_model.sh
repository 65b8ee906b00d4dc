#!/bin/sh
# A network of one's own, from its Python function to a prediction: graph,
# eight measurements on this machine, training beside the rows of data/, and
# batches that were not measured, with the error.
#
# Needs python3 with PyTorch and psycopg2 (Debian: python3-torch
# python3-psycopg2) besides what make demo needs; PYTHON says which one,
# KIND which kind of predictor is trained (mdot).
set -eu
. "$(dirname "$0")/../test/lib.sh"

python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import torch, psycopg2' || failed_to "$python lacks PyTorch or psycopg2; on Debian: apt-get install python3-torch python3-psycopg2"
need_packages
private_copy
build_and_stage
export PYTHONPATH=tools OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=auto \
       MALLOC_TRIM_THRESHOLD_=8589934592 MALLOC_MMAP_THRESHOLD_=8589934592 PYTHON="$python" KIND="${KIND:-mdot}"
with_server sh -eu -c '
tool="$PYTHON -m perfmodel_tools"
name=$($PYTHON -c "from perfmodel_tools.device import cpu_name; print(cpu_name(1))")
echo "== this machine: $name"
psql -qX -c "CREATE EXTENSION perfmodel"
# a CPU without a data sheet borrows that of the one in data/, which is good enough beside rows measured on it
psql -qX -v name="$name" <<SQL
INSERT INTO perfmodel.gpu (name, vendor, mem_bw_gbs, sm_count, cores_per_sm, clock_ghz, fp32_tflops, l2_mb, is_cpu)
SELECT :'\''name'\'', vendor, mem_bw_gbs, sm_count, cores_per_sm, clock_ghz, fp32_tflops, l2_mb, is_cpu FROM perfmodel.gpu
WHERE name LIKE '\''AMD EPYC Zen4 (1 thread)'\'' AND :'\''name'\'' NOT IN (SELECT name FROM perfmodel.gpu);
SQL
echo "== the rows of data/"
$tool import --quiet data/graphs.ndjson.gz data/profiles.csv
echo "== the graph"
$tool export demo/own_model.py:build --image 96 --sql | psql -qXtA
echo "== eight batches"
$tool profile --import demo/own_model.py:build --image 96 --batch 1 2 3 4 6 8 12 16
echo "== training on all rows"
psql -qXt -o /dev/null -v ON_ERROR_STOP=1 -v kind="$KIND" <<SQL
SET client_min_messages = warning;
SELECT perfmodel.train('\''without'\'', :'\''kind'\'', profiles => (SELECT array_agg(profile_id) FROM perfmodel.profile
    JOIN perfmodel.graph USING (graph_id) WHERE model <> '\''own_model'\''));
SELECT perfmodel.train('\''with'\'', :'\''kind'\'');
SQL
echo "== batches that were not measured, now measured to see the error"
$tool profile --import --quiet demo/own_model.py:build --image 96 --batch 5 10 24 32
psql -qX -P footer=off <<SQL
SELECT p.batch, round(p.step_ms::numeric, 1) AS measured_ms, k.name AS predictor, round(r.step_ms::numeric, 1) AS predicted_ms,
       round(r.step_ms_low::numeric, 1) AS low_ms, round(r.step_ms_high::numeric, 1) AS high_ms,
       round((100 * (r.step_ms / p.step_ms - 1))::numeric, 1) AS error_pct
FROM perfmodel.profile p JOIN perfmodel.graph g USING (graph_id), (VALUES (1, '\''without'\''), (2, '\''with'\'')) AS k(n, name),
     perfmodel.predict(graph_id, gpu, p.batch, predictor => k.name) r
WHERE g.model = '\''own_model'\'' AND p.batch IN (5, 10, 24, 32) ORDER BY n, batch;
SELECT sum(unknown_ops) AS unknown_operators, count(*) AS graphs FROM perfmodel.graph;
SQL
'
