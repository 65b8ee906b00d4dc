#!/bin/sh
# The predictor that comes trained, on language models over several GPUs, from their graphs alone:
#
#     bench/llm.sh DATA_DIR
#
# DATA_DIR/llmfoundry/tidy.csv has most of the steps: MPT of 125 million to 70 billion parameters with FSDP on 8 to 128 A100 and 8 H100, sequences
# of 512 to 65,536 tokens; vtrain and bigscience have GPTs divided by tensors and in pipelines. Nothing is fitted to them. PRETRAINED in the
# environment: a file of tools/pretrain.sh to ask instead. DATA_DIR/llm_published/rows.csv, if it is there, has steps of GPTs and Llamas from other
# publishers (data/README.md), and llm_published.sql judges them; DATA_DIR/fp8_published/rows.csv has pairs of steps in FP8 and BF16, for fp8.sql;
# DATA_DIR/blackwell_published/rows.csv has steps on B200, GB200 and GB300, for blackwell.sql, and DATA_DIR/moe_published/rows.csv those of models
# with experts, for moe.sql.
set -eu
. "$(dirname "$0")/pretrained_server.sh"
data=$(data_folder "${1:?usage: bench/llm.sh DATA_DIR}")

published "$data/llmfoundry/tidy.csv"
cp "$data/vtrain/tidy.csv" "$work/vtrain.csv"
cp "$data/bigscience/tidy.csv" "$work/bigscience.csv"
cp "$root/bench/llm.sql" "$work/llm.sql"
for set in llm:llm_published fp8:fp8 blackwell:blackwell moe:moe; do
	rows=$data/${set%%:*}_published/rows.csv
	[ -f "$rows" ] || continue
	cp "$rows" "$work/${set%%:*}_published.csv"
	cat "$root/bench/${set##*:}.sql" >>"$work/llm.sql"
done
chmod a+r "$work/llm.sql" "$work"/*.csv
sed -i "s|@work@|$work|g" "$work/llm.sql"
ask "$work/llm.sql"
