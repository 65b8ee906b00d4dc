#!/bin/sh
# The figures of docs/scaling.md:
#
#   bench/scaling/run.sh DATA
#
# DATA is the folder of measurements; what is missing there is left out.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
data=$(cd "${1:?the folder of measurements}" && pwd)
cd "$root"
mkdir -p build/scaling

figure() { # NAME FILE...: build the program and run it where the files are there
    name=$1
    shift
    for file; do
        [ -e "$file" ] || { echo "$name: $file is not there"; return 0; }
    done
    echo "== $name"
    bench/scaling/build.sh "$name" "build/scaling/$name"
    "build/scaling/$name" "$@"
}

gzip -dc data/graphs.ndjson.gz data/graphs_h200.ndjson.gz data/graphs_h100.ndjson.gz >build/scaling/graphs.ndjson
for name in vtrain/allreduce aceso_ops/collectives; do
    [ ! -e "$data/$name.csv.gz" ] || gzip -dc "$data/$name.csv.gz" >"build/scaling/$(basename "$name").csv"
done
figure collectives build/scaling/allreduce.csv build/scaling/collectives.csv
figure steps build/scaling/graphs.ndjson "$data/scaling/profiles.csv"
large=$data/bigscience/tidy.csv
[ -e "$large" ] || large=
figure gpt "$data/vtrain/tidy.csv" ${large:+"$large"}
figure epochs "$data/zeus/summary_train.csv"
figure energy build/scaling/graphs.ndjson "$data/zeus/tidy.csv" data/power_h200.csv data/busy_h100.csv
figure colocation "$data/lucid_colocation/colocation.csv" "$data/lucid_colocation/tidy.csv"
figure others "$data/elasticflow_a100/tidy.csv" "$data/nvidia_dle/tidy.csv" "$data/llmfoundry/tidy.csv" "$data/lambda/profiles.csv"
