#!/usr/bin/env python3
"""Gather the measurements that the pretrained predictor learns from.

    pretrain_rows.py DATA_DIR OUT_DIR

DATA_DIR has timm/, neusight/, cnn_benchmarks/, torchvision_gpu_bench/, lambda_tf/, nvidia_dle/, sailor_layers/, zeus/, lambda/ and llmfoundry/ as data/README.md
describes them; the measurements in data/ come along. WITHOUT in the environment: names of sources that are left out, to be asked about.
Writes OUT_DIR/graphs.ndjson and OUT_DIR/rows.csv (graph, gpu, batch, dtype, layout, framework, optimizer, step_ms, source, mode, forward_ms).

Training steps on one device, and the forward passes of NeuSight that were not compiled. NeuSight, cnn-benchmarks and torchvision_gpu_bench timed
forward and backward pass without the update: their optimizer is 'none'. Of repeated runs of cnn-benchmarks the median counts; those without cuDNN are
left out, which nobody trains with; its networks are those of torchvision with the same name where the definitions agree (ResNets, VGG), and left out
where they do not. So it is with lambda_tf. Of torchvision_gpu_bench the median of a network on a card counts; left out are the RX 5700 in fp16, which
ROCm does not support, a second set of the RX 7700S with other settings, and fp64.
Of NVIDIA's DeepLearningExamples the image classifiers of PyTorch on one GPU are taken, which train with autocast or in the card's FP32 as a user
would, and the fine-tuning of BERT large with 384 tokens; most of its other networks use fused kernels of NVIDIA's own. Its tables lack the batch:
that and the layout are those of its configs.yml. EfficientNet ran with RMSprop, which perfmodel does not know, and counts as SGD with momentum: the
update is taken for a small part of these steps.
Sailor timed the layers of OPT-350M and GPT-Neo-2.7B; a step is their sum, without the update. Cards from Ampere on computed in TF32: on A100 and
GH200 the forward pass of GPT-Neo runs at 77 to 190 TFLOPS. What it calls RTX 2080 is taken for the Ti, which the cluster of its authors has: OPT-350M
takes 1.06 times as long as on a TITAN RTX, whose rates are 1.5 and 1.6 times those of an RTX 2080. Its Llama and OPT-30B are left out, of which not
all cards have measured rows.
Of Zeus the time of a step is the one at the highest power limit, where the data set's size is known; Adadelta, which perfmodel does not know, counts
as Adam: both keep two averages. Its ResNet-50 is taken from batch 16 on.
Lambda ran NVIDIA's DeepLearningExamples in NCHW. Left out is SSD300, which waits for its images: on the B200 it is no faster in AMP than in TF32, and
with it in training VGG is predicted too slow. So is ResNet-50 on the H200 in AMP and on the B200, which comes to the same 3,080 images a second on
both: there the program is the limit and not the card.
LLM Foundry trained MPTs with FSDP on 8 A100 or H100 of one machine. Steps without recomputation and FP8 are taken where the messages of a micro-batch
would take at most MPT_MOST_COMM of its time if nothing overlapped. So it counts as forward and backward pass on one GPU, since messages travel while the
GPUs compute, and the update of an eighth of the weights takes less than 2 % of a step.
NVIDIA's NeMo trained Llama 3 8B on 8 B200 in BF16, each with a whole copy; the messages of a step, which are behind the backward pass or take less than
6 % of it, and the update count as nothing. These are two steps; those with divided models are left for tests, and so are NeMo's on H100.
timm/ may have tables of forward passes of inference, PASSES, too; without them nothing is learned from these passes. With PyTorch 2, timm runs attention
as one kernel, which the graphs of timm 0.6 do not have, and its RepVGGs as they are after training: both are left out there.
gpu_benches/ may have rows.csv, measurements on more cards that data/README.md names. Those of the T4 are left out, and of benches that ran fewer
than GPU_BENCHES_LEAST networks in a mode and format on a card. So other programs can be tested on them.
"""

import csv
import gzip
import itertools
import json
import operator
import os
import pathlib
import statistics
import sys

COLUMNS = "graph,gpu,batch,dtype,layout,framework,optimizer,step_ms,source,mode,forward_ms".split(",")
HERE = pathlib.Path(__file__).resolve().parent.parent / "data"
DLE_CARDS = {"A100 80GB": "A100-SXM4-80GB", "V100 16GB": "V100-SXM2-16GB", "V100 32GB": "V100-SXM2-32GB"}  # of DGX A100 and DGX-1
# name: graph, batches by card in the card's FP32 and in AMP
DLE_NETWORKS = {
    "resnet50v1.5": ("resnet50@224", {"A100-SXM4-80GB": (256, 256), "V100-SXM2-16GB": (112, 256), "V100-SXM2-32GB": (112, 256)}),
    "se-resnext101-32x4d": ("seresnext101_32x4d@224", {"A100-SXM4-80GB": (128, 128), "V100-SXM2-16GB": (64, 112), "V100-SXM2-32GB": (64, 112)}),
    "efficientnet efficientnet-b0": ("efficientnet_b0@224", {"A100-SXM4-80GB": (256, 256), "V100-SXM2-16GB": (64, 128), "V100-SXM2-32GB": (128, 256)}),
}
DLE_BERT = "PyTorch/LanguageModeling/BERT"
SAILOR_CARDS = {"GH-96": ("GH200-96GB", "tf32"), "A100-40": ("A100-SXM4-40GB", "tf32"), "A100-80": ("A100-SXM4-80GB", "tf32"), "V100-16": ("V100-SXM2-16GB", "fp32"),
                "Titan-RTX": ("TITAN RTX", "fp32"), "RTX-2080": ("RTX 2080 Ti", "fp32"), "RTX-3090": ("RTX 3090", "tf32")}
SAILOR_NETWORKS = {"OPT-350": "opt_350m@s2048", "GPT-Neo-2.7": "gpt_neo_2_7b@s2048"}
# highest power limit in W: a V100 of 250 W is a PCIe card
ZEUS_CARDS = {"P100": ("P100-PCIE-16GB", 250), "V100": ("V100-PCIE-32GB", 250), "RTX6000": ("Quadro RTX 6000", 260)}
LAMBDA_NETWORKS = {"resnet50": "resnet50@224", "bert_base_squad384": "bert_base_squad@s384",
                   "bert_large_squad384": "bert_large_squad@s384"}
ZEUS_NETWORKS = {"resnet50@imagenet": ("resnet50@224", 16), "shufflenetv2@cifar100": ("shufflenetv2_cifar@32", 1)}  # and the smallest batch
MPT_CARDS = {"a100_40gb": "A100-SXM4-40GB", "a100_80gb": "A100-SXM4-80GB", "h100_80gb": "H100-SXM5-80GB"}
A100_BUS_GBS, MPT_MOST_COMM = 227, 0.1
H100_BUSY, H100_HOST_QUIET_FROM = 0.8, "2026-11-27T15:00:00Z"
COMPARED = ("frozen", "gpt_all@", "gpt_lora", "gpt2_", "llama_160m", "llama_1b", "llama_3b")
# layout, card and framework of results/benchmark-infer-amp-*.csv of timm
PASSES = [("nchw", "pt112-cu113-rtx3090", "RTX 3090", "pytorch 1.12 cu113"), ("nhwc", "pt112-cu113-rtx3090", "RTX 3090", "pytorch 1.12 cu113"),
          ("nchw", "pt240-cu124-rtx3090", "RTX 3090", "pytorch 2.4 cu124"), ("nhwc", "pt240-cu124-rtx3090", "RTX 3090", "pytorch 2.4 cu124"),
          ("nchw", "pt240-cu124-rtx4090", "RTX 4090", "pytorch 2.4 cu124"), ("nhwc", "pt240-cu124-rtx4090", "RTX 4090", "pytorch 2.4 cu124"),
          ("nchw", "pt291-cu130-5090", "RTX 5090", "pytorch 2.9 cu130"), ("nchw", "pt291-cu130-pro6000maxq", "RTX PRO 6000 Max-Q", "pytorch 2.9 cu130")]
GPU_BENCHES_LEAST, GPU_BENCHES_TESTS = 3, ("T4",)
SAME_IN_TORCHVISION = {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "vgg16", "vgg19"}


def read(path):
    with open(path, newline="") as f:
        yield from csv.DictReader(f)


def ours():
    for r in itertools.chain(read(HERE / "profiles.csv"), read(HERE / "profiles_zen5.csv")):
        yield [r["graph"], r["gpu"], r["batch"], r["dtype"], r["layout"], r["framework"], r["optimizer"], r["step_ms"], "data/", "train", r["forward_ms"]]


def row_of_ours(r, source):
    return [r["graph"], r["gpu"], r["batch"], r["dtype"], r["layout"], r["framework"], r["optimizer"], r["step_ms"], source, r["mode"], r["forward_ms"]]


def h200():
    """Steps and passes on the H200; not those that benchmarks compare: networks with frozen weights and language models from their sizes."""
    for r in read(HERE / "profiles_h200.csv"):
        if not any(word in r["graph"] for word in COMPARED):
            yield row_of_ours(r, "h200")


def h100():
    """Steps and passes on the H100; of those beside which the host had other work, the ones in which the GPU was busy."""
    key = operator.itemgetter("graph", "batch", "dtype", "layout", "mode", "optimizer")
    busy_ms = {key(r): float(r["busy_ms"]) for r in read(HERE / "busy_h100.csv")}
    for r in read(HERE / "profiles_h100.csv"):
        is_right = r["measured_at"] >= H100_HOST_QUIET_FROM or busy_ms[key(r)] >= H100_BUSY * float(r["step_ms"])
        if is_right and not any(word in r["graph"] for word in COMPARED):
            yield row_of_ours(r, "h100")


def timm(data):
    for r in read(data / "timm/profiles.csv"):
        yield [r["graph"], r["gpu"], r["batch"], r["precision"], r["layout"], r["framework"], "sgd_momentum", r["step_ms"], "timm", "train", ""]


def runs_otherwise(graph):
    """Whether PyTorch 2 runs a network with other operators than its graph has."""
    return graph["name"].startswith("repvgg") or any(node["op"] == "Softmax" for node in graph["nodes"])


def timm_passes(data):
    with gzip.open(data / "timm/graphs.ndjson.gz", "rt") as f:
        otherwise = {graph["name"]: runs_otherwise(graph) for graph in map(json.loads, f)}
    for layout, table, gpu, framework in PASSES:
        path = data / f"timm/benchmark-infer-amp-{layout}-{table}.csv"
        if not path.exists():
            print(f"no {path.name}: nothing is learned from its forward passes")
            continue
        for r in read(path):
            graph = f"{r['model']}@{r['infer_img_size']}"
            if graph in otherwise and not ("pt2" in table and otherwise[graph]):
                yield [graph, gpu, r["infer_batch_size"], "amp", layout, framework, "none", r["infer_step_time"], "timm_passes", "inference", ""]


def forward_times(folder):
    return {r["source_file"]: r["fw_ms"] for r in read(folder / "profiles_fwbw.csv")}


def neusight(data):
    forward = forward_times(data / "neusight")
    for r in read(data / "neusight/profiles.csv"):
        if r["world_size"] == "1" and not r["options"]:
            yield [r["graph"], r["gpu"], r["batch"], r["precision"], "nchw", r["framework"], "none", r["step_ms"], "neusight", r["mode"],
                   forward[r["source_file"]] if r["mode"] == "train" else ""]


def cnn_benchmarks(data):
    rows = [r for r in read(data / "cnn_benchmarks/profiles.csv") if r["model"] in SAME_IN_TORCHVISION and r["options"] == "224x224"
            and "no cudnn" not in r["framework"]]
    key = lambda r: (r["model"], r["gpu"], r["batch"], r["precision"], r["framework"])
    forward = forward_times(data / "cnn_benchmarks")
    for (model, gpu, batch, precision, framework), runs in itertools.groupby(sorted(rows, key=key), key):
        runs = list(runs)
        step = statistics.median(float(r["step_ms"]) for r in runs)
        first = statistics.median(float(forward[r["source_file"]]) for r in runs)
        yield [f"{model}@224", gpu, batch, precision, "nchw", framework, "none", step, "cnn_benchmarks", "train", first]


def torchvision_gpu_bench(data):
    rows = [r for r in read(data / "torchvision_gpu_bench/tidy.csv") if r["n_gpus"] == "1" and r["dtype"] in ("fp32", "tf32", "fp16")
            and r["step_ms"] and r["batch_per_gpu"] and not r["gpu"].endswith("NO OPT") and (r["gpu"], r["dtype"]) != ("AMD Radeon RX 5700", "fp16")]
    key = lambda r: (r["model"], r["gpu"], r["batch_per_gpu"], r["dtype"], r["framework"])
    for (model, gpu, batch, dtype, framework), runs in itertools.groupby(sorted(rows, key=key), key):
        step = statistics.median(float(r["step_ms"]) for r in runs)
        yield [f"{model}@224", gpu, batch, dtype, "nchw", framework, "none", step, "torchvision_gpu_bench", "train", ""]


def lambda_tf(data):
    rows = [r for r in read(data / "lambda_tf/tidy.csv") if r["n_gpus"] == "1" and r["dtype"] in ("fp32", "tf32", "fp16")
            and r["step_ms"] and r["model"] in SAME_IN_TORCHVISION]
    key = lambda r: (r["model"], r["gpu"], r["batch_per_gpu"], r["dtype"])
    for (model, gpu, batch, dtype), runs in itertools.groupby(sorted(rows, key=key), key):
        step = statistics.median(float(r["step_ms"]) for r in runs)
        # TensorFlow's fp16 keeps the weights in fp32, as autocast does
        yield [f"{model}@224", gpu, batch, "amp" if dtype == "fp16" else dtype, "nchw", "tensorflow xla", "sgd_momentum", step, "lambda_tf", "train", ""]


def nvidia_dle(data):
    for r in read(data / "nvidia_dle/tidy.csv"):
        name = r["model"].removeprefix("PyTorch/Classification/ConvNets/")
        if r["n_gpus"] == "1" and name in DLE_NETWORKS:
            graph, batches = DLE_NETWORKS[name]
            gpu = DLE_CARDS[r["gpu"]]
            amp = r["dtype"] == "amp_fp16"
            batch = batches[gpu][amp]
            yield [graph, gpu, batch, "amp" if amp else r["dtype"], "nhwc" if amp else "nchw", "pytorch 1.9 ngc 21.03", "sgd_momentum",
                   1000 * batch / float(r["throughput"]), "nvidia_dle", "train", ""]
        elif r["n_gpus"] == "1" and r["model"] == DLE_BERT and "table=Fine-tuning" in r["options"]:
            yield ["bert_large_squad@s384", DLE_CARDS[r["gpu"]], r["batch_per_gpu"], "amp" if r["dtype"] == "amp_fp16" else r["dtype"], "nchw", "pytorch", "adam",
                   1000 * int(r["batch_per_gpu"]) / float(r["throughput"]), "nvidia_dle", "train", ""]


def sailor(data):
    for r in read(data / "sailor_layers/totals.csv"):
        if r["tp"] == "1" and r["model"] in SAILOR_NETWORKS:
            gpu, dtype = SAILOR_CARDS[r["gpu"]]
            forward = float(r["forward_ms"])
            yield [SAILOR_NETWORKS[r["model"]], gpu, r["micro_batch"], dtype, "nchw", "pytorch", "none", forward + float(r["backward_ms"]), "sailor", "train", forward]


def zeus(data):
    for r in read(data / "zeus/tidy.csv"):
        options = dict(option.split("=") for option in r["options"].split(";"))
        gpu, limit = ZEUS_CARDS.get(r["gpu"], (None, 0))
        graph, least = ZEUS_NETWORKS.get(r["model"], (None, 0))
        if gpu and graph and float(options["power_limit_w"]) == limit and int(r["batch_per_gpu"]) >= least:
            yield [graph, gpu, r["batch_per_gpu"], "fp32", "nchw", "pytorch", "adam", r["step_ms"], "zeus", "train", ""]


def lambda_pytorch(data):
    for r in read(data / "lambda/profiles.csv"):
        dtype = {"amp_fp16": "amp"}.get(r["precision"], r["precision"])
        text = r["model"].startswith("bert")
        bound = not text and (r["gpu"].endswith("B200") or r["gpu"].endswith("H200") and dtype == "amp")
        if r["world_size"] == "1" and not bound and r["model"] in LAMBDA_NETWORKS:
            yield [LAMBDA_NETWORKS[r["model"]], r["gpu"], r["batch"], dtype, "nchw", "pytorch", "adam" if text else "sgd_momentum", r["step_ms"], "lambda", "train", ""]


def llmfoundry(data):
    for r in read(data / "llmfoundry/tidy.csv"):
        options = dict(option.split("=") for option in r["options"].split(";"))
        step_ms = float(r["step_ms"]) / int(options["grad_accum"])
        # weights are gathered for both passes and gradients scattered, in 16 bits
        short = 3 * 7 / 8 * 2 * float(options["params"]) / A100_BUS_GBS / 1e6 <= MPT_MOST_COMM * step_ms
        if short and r["n_gpus"] == "8" and options["act_ckpt"] == "False" and r["dtype"] != "amp_fp8":
            yield [r["model"], MPT_CARDS[r["gpu"]], options["micro_batch"], "amp", "nchw", "pytorch", "none", step_ms, "llmfoundry", "train", ""]


def nemo(data):
    path = data / "fp8_published/rows.csv"
    if not path.exists():
        print("no fp8_published/rows.csv: of the B200, only fine-tuning of BERT is learned")
        return
    steps = {(r["model"], r["seq"], r["micro"], r["micro_batches"], r["bf16_ms"]) for r in read(path)
             if r["gpu"] == "B200" and r["tp"] == r["pp"] == r["cp"] == "1" and not r["lora_rank"]}
    for model, sequence, micro, micro_batches, step_ms in sorted(steps):
        yield [f"{model}@s{sequence}", "B200", micro, "bf16", "nchw", "pytorch", "none", float(step_ms) / int(micro_batches), "nemo", "train", ""]


def gpu_benches(data):
    path = data / "gpu_benches/rows.csv"
    if not path.exists():
        print("no gpu_benches/rows.csv: nothing is learned from its cards")
        return
    bench = operator.itemgetter("repo", "gpu", "mode", "precision")
    rows = [r for r in read(path) if r["gpu"] not in GPU_BENCHES_TESTS]
    for _, of_bench in itertools.groupby(sorted(rows, key=bench), bench):
        of_bench = list(of_bench)
        if len({r["network"] for r in of_bench}) >= GPU_BENCHES_LEAST:
            for r in of_bench:
                yield [f"{r['network']}@{r['image']}", r["gpu"], r["batch"], r["precision"], r["layout"], r["framework"], r["optimizer"] or "none", r["step_ms"],
                       "gpu_benches", r["mode"], ""]


def graphs(data):
    """Lines of all graph files, each name once."""
    seen = set()
    for path in (HERE / "graphs.ndjson.gz", HERE / "drawn_graphs.ndjson.gz", HERE / "published_graphs.ndjson.gz", HERE / "graphs_h200.ndjson.gz",
                 HERE / "graphs_h100.ndjson.gz", data / "timm/graphs.ndjson.gz", data / "neusight/graphs.ndjson.gz",
                 data / "torchvision_gpu_bench/graphs.ndjson.gz"):
        with gzip.open(path, "rt") as f:
            for line in f:
                name = json.loads(line)["name"]
                if name not in seen:
                    seen.add(name)
                    yield name, line


def main():
    data, out = map(pathlib.Path, sys.argv[1:3])
    known = set()
    with open(out / "graphs.ndjson", "w") as f:
        for name, line in graphs(data):
            known.add(name)
            f.write(line)
    without = os.environ.get("WITHOUT", "").split()
    counts = {}
    with open(out / "rows.csv", "w", newline="") as f:
        write = csv.writer(f)
        write.writerow(COLUMNS)
        for row in itertools.chain(ours(), h200(), h100(), timm(data), timm_passes(data), neusight(data), cnn_benchmarks(data), torchvision_gpu_bench(data), lambda_tf(data),
                                   nvidia_dle(data), sailor(data), zeus(data), lambda_pytorch(data), llmfoundry(data), nemo(data), gpu_benches(data)):
            source = row[COLUMNS.index("source")]
            if source in without:
                continue
            kept = row[0] in known or source in ("llmfoundry", "nemo")  # pretrain.sh makes their graphs
            count = counts.setdefault(source, [0, 0])
            count[not kept] += 1
            if kept:
                write.writerow(row)
    for source, (kept, left) in counts.items():
        print(f"{source}: {kept} rows" + (f", {left} without a graph" if left else ""))


if __name__ == "__main__":
    main()
