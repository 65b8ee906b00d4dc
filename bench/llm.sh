#!/bin/sh
# The predictor that comes trained, on language models over several GPUs, from their graphs alone:
#
#     bench/llm.sh DATA_DIR
#
# DATA_DIR/llmfoundry/tidy.csv has most of the steps: MPT of 125 million to 70 billion parameters with FSDP on 8 to 128 A100 and 8 H100, sequences
# of 512 to 65,536 tokens; vtrain and bigscience have GPTs divided by tensors and in pipelines. Nothing is fitted to them. PRETRAINED in the
# environment: a file of tools/pretrain.sh to ask instead. DATA_DIR/llm_published/rows.csv, if it is there, has steps of GPTs and Llamas from other
# publishers (data/README.md), and llm_published.sql judges them; DATA_DIR/fp8_published/rows.csv has pairs of steps in FP8 and BF16, for fp8.sql;
# DATA_DIR/moe_published/rows.csv has steps of models with experts, for moe.sql.
set -eu
. "$(dirname "$0")/pretrained_server.sh"
data=$(data_folder "${1:?usage: bench/llm.sh DATA_DIR}")

published "$data/llmfoundry/tidy.csv"
cp "$data/vtrain/tidy.csv" "$work/vtrain.csv"
cp "$data/bigscience/tidy.csv" "$work/bigscience.csv"
cp "$root/bench/llm.sql" "$work/llm.sql"
if [ -f "$data/llm_published/rows.csv" ]; then
	cp "$data/llm_published/rows.csv" "$work/llm_published.csv"
	cat "$root/bench/llm_published.sql" >>"$work/llm.sql"
fi
if [ -f "$data/fp8_published/rows.csv" ]; then
	cp "$data/fp8_published/rows.csv" "$work/fp8_published.csv"
	cat "$root/bench/fp8.sql" >>"$work/llm.sql"
fi
if [ -f "$data/moe_published/rows.csv" ]; then
	cp "$data/moe_published/rows.csv" "$work/moe_published.csv"
	cat "$root/bench/moe.sql" >>"$work/llm.sql"
fi
chmod a+r "$work/llm.sql" "$work"/*.csv
sed -i "s|@work@|$work|g" "$work/llm.sql"
ask "$work/llm.sql"
