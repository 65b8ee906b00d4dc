# For sh: cards_rows DATA_DIR FOLDER writes the rows that cards are left out of into FOLDER, in the root of the tree.
#
# HEAVY=0 takes all networks of torchvision_gpu_bench; else only those that keep a card busy at batch 12. Of the RTX 3090 the rows of one
# PyTorch and layout, of cnn_benchmarks and lambda_tf all.
cards_rows() {
    python3 tools/pretrain_rows.py "$1" "$2" >&2
    awk -F, -v heavy="${HEAVY:-1}" '{ sub(/\r$/, "") }
        NR == 1 || $9 == "neusight" || $9 == "cnn_benchmarks" || $9 == "lambda_tf" || $9 == "timm" && $6 ~ /1\.12/ && $5 == "nchw" ||
        $9 == "torchvision_gpu_bench" && (heavy == 0 || $1 ~ /^(vgg|wide_resnet|resnet50|resnet101|resnet152|resnext)/)' "$2/rows.csv" >"$2/some.csv"
    mv "$2/some.csv" "$2/rows.csv"
}
