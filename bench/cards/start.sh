# For sh: what the benchmarks about cards begin with, sourced with their arguments: DATA_DIR [option=value ...].
#
# Goes to the root of the tree, builds build/cards/*, and sets data, the folder DATA_DIR, and work, an empty folder that is removed
# at the end. The arguments stay as they are.
data=$(realpath "${1:?usage: $0 DATA_DIR [option=value ...]}")
[ -d "$data" ] || { echo "$0: there is no folder \"$1\"; name the one with the measurements" >&2; exit 1; }
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
make -s -f bench/cards/build.mk

# Rows that cards are left out of, into $work. HEAVY=0 takes all networks of torchvision_gpu_bench; else only those that keep a card busy
# at batch 12. Of the RTX 3090 the rows of one PyTorch and layout, of cnn_benchmarks and lambda_tf all.
# BENCHES=0: without gpu_benches. MORE=1: those of sailor and zeus, too. H200=1: those of data/profiles_h200.csv, too.
cards_rows() {
    python3 tools/pretrain_rows.py "$data" "$work" >&2
    awk -F, -v heavy="${HEAVY:-1}" -v more="${MORE:-0}" -v h200="${H200:-0}" '{ sub(/\r$/, "") }
        NR == 1 || $9 == "neusight" || $9 == "cnn_benchmarks" || $9 == "lambda_tf" || $9 == "timm" && $6 ~ /1\.12/ && $5 == "nchw" ||
        more == 1 && ($9 == "sailor" || $9 == "zeus") || h200 == 1 && $9 == "h200" ||
        ($9 == "gpu_benches" && $10 == "train" && ENVIRON["BENCHES"] != "0" || $9 == "torchvision_gpu_bench") && (heavy == 0 || $1 ~ /^(vgg|wide_resnet|resnet50|resnet101|resnet152|resnext)/)' "$work/rows.csv" >"$work/some.csv"
    mv "$work/some.csv" "$work/rows.csv"
}

# With OPERATORS=1, single operators into $work and the option that names them into $operators.
cards_operators() {
    operators=
    [ "${OPERATORS:-0}" != 0 ] || return 0
    python3 tools/pretrain_operators.py "$data" "$work/operators.csv" >&2
    operators=operators=$work/operators.csv
}
