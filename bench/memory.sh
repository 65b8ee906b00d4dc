#!/bin/sh
# How well the simulated memory of a training step agrees with measurements.
#
#     bench/memory.sh DATA_DIR
#
# DATA_DIR/timm/          graphs.ndjson.gz and profiles.csv: largest batches that fit on an RTX 3090 (Apache 2.0)
# DATA_DIR/schedtune/     tidy.csv: peaks of 12 torchvision networks on several cards (MIT)
# DATA_DIR/gpumemnet/     tidy.csv: peaks of timm networks on an A100; measured against, nothing is fitted to it (no licence)
# DATA_DIR/aceso_ops/     tidy.csv.gz: memory of single operators of GPT (MIT)
# DATA_DIR/bigscience/    tidy.csv: memory of GPTs of 18 to 205 billion parameters (Apache 2.0)
# DATA_DIR/litgpt/        tidy.csv: memory of language models that are fine-tuned with LoRA (Apache 2.0)
#
# data/ itself has peaks on a CPU. Prints a table for each, with the numbers of rows and networks; docs/memory.md has the figures.
set -eu
. "$(dirname "$0")/../test/lib.sh"
[ $# = 1 ] || failed_to "DATA_DIR is missing"
data=$(data_folder "$1")

need_packages
private_copy
build_and_stage
gzip -dc "$data/timm/graphs.ndjson.gz" >"$work/timm.ndjson"
# timm's benchmark begins at 512 samples and goes down this ladder until the step fits
awk -F, 'BEGIN { n = split("1 2 3 4 6 8 12 16 24 32 48 64 96 128 192 256 384 512", step, " "); for (i = 1; i < n; i++) up[step[i]] = step[i + 1] }
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["batch"] in up { print $at["graph"] "," $at["gpu"] "," $at["batch"] "," up[$at["batch"]] "," $at["precision"] "," $at["layout"] "," $at["framework"] "," $at["step_ms"] }' \
    "$data/timm/profiles.csv" >"$work/brackets.csv"
peaks() { # columns of a tidy.csv: model, gpu, batch, options, MB
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print $at["model"] "," $at["gpu"] "," $at["batch_per_gpu"] "," $at["options"] "," $at["memory_mib"] }' "$1"
}
peaks "$data/schedtune/tidy.csv" >"$work/schedtune.csv"
peaks "$data/gpumemnet/tidy.csv" >"$work/gpumemnet.csv"
gzip -dc "$data/aceso_ops/tidy.csv.gz" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["model"] ~ /^gpt_[0-9]/ && $at["tp"] == 1 && $at["algo"] == 0 && !seen[$at["model"], $at["op"], $at["micro_batch"]]++ {
        print $at["model"] "," $at["op"] "," $at["micro_batch"] "," $at["input_mb"] "," $at["output_mb"] "," $at["activation_mb"] }' >"$work/aceso.csv"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["memory_mib"] != "" && $at["gpu"] ~ /A100/ { print $at["model"] "," $at["n_gpus"] "," $at["memory_mib"] "," $at["parallelism"] "," $at["options"] }' "$data/bigscience/tidy.csv" >"$work/bigscience.csv"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["n_gpus"] == 1 && $at["options"] ~ "/lora[.]yaml" && $at["options"] !~ /gemma2/ { print $at["model"] "," $at["batch_per_gpu"] "," $at["memory_mib"] }' "$data/litgpt/tidy.csv" >"$work/litgpt.csv"
chmod 644 "$work"/*.csv "$work"/*.ndjson
for part in memory memory_llm; do
    sed "s|@work@|$work|g; s|@root@|$work/src|g" "$root/bench/$part.sql" >"$work/$part.sql"
done
cat "$work/memory_llm.sql" >>"$work/memory.sql"
chmod 644 "$work/memory.sql"
with_server psql -qX -v ON_ERROR_STOP=1 -P footer=off -f "$work/memory.sql"
