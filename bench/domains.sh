#!/bin/sh
# The predictor that comes trained, on steps that others published of networks outside of its training: diffusion, speech, recommenders,
# graph networks, video, detection, segmentation, translation, fine-tuning with LoRA:
#
#     bench/domains.sh DATA_DIR
#
# DATA_DIR/domains_published/rows.csv has the rows, of which data/README.md tells, and graphs.ndjson.gz beside it their graphs; those of LoRA are made
# here. PRETRAINED in the environment: a file of tools/pretrain.sh to ask instead.
set -eu
. "$(dirname "$0")/pretrained_server.sh"
data=$(data_folder "${1:?usage: bench/domains.sh DATA_DIR}")
published "$data/domains_published/rows.csv"
gzip -dc "$data/domains_published/graphs.ndjson.gz" >"$work/domains.ndjson"
sed "s|@work@|$work|g" "$root/bench/domains.sql" >"$work/domains.sql"
chmod a+r "$work/domains.sql" "$work/domains.ndjson"
ask "$work/domains.sql"
