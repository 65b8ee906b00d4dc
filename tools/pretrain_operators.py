#!/usr/bin/env python3
"""Single operators that others measured, as rows of perfmodel.op_profile, for the pretrained predictor.

    pretrain_operators.py DATA_DIR OUT_FILE [OPERATORS_A_KIND [SEED]]

DATA_DIR has neusight/operators.csv.gz, deepbench/tidy.csv.gz and aceso_ops/tidy.csv.gz as data/README.md describes them; a
set that is not there is left out. OUT_FILE is CSV with a header, in the columns that tools/pretrain.sh loads.

NeuSight timed forward passes in FP32 with TF32 off. Of its operators a sample is taken: for each kind of operator as many
from each half decade of work (FLOPs, bytes of element-wise operators), first those that were measured on most cards, so
that cards are compared on the same operators, and by a hash with the seed among those. Left out are operators so small
that their launch counts (median over the cards under 0.15 ms).

DeepBench timed convolutions, forward and backward, with the fastest algorithm of the library, and matrix products.
Convolutions in FP32 on a T4 and both TITAN X are taken, and all with 16-bit operands on the T4; of other cards the name
does not say which model it is, or there is no data sheet. Products in FP32 are taken of the T4 only: with them both TITAN X,
left out with all their steps, are predicted worse. Left out are first layers, whose backward pass by inputs was not timed.

Aceso timed operators of networks on a V100 SXM2 of 32 GB: GPT in 16 bits, of which the forward pass is taken, and wide
ResNets in FP32. Shapes are found from the sizes of weights and activations.
"""

import collections
import csv
import gzip
import hashlib
import json
import math
import pathlib
import re
import statistics
import sys

COLUMNS = "operator,gpu,batch,dtype,layout,framework,forward_ms,backward_ms,spread,measured_at,source".split(",")
LEAST_MS = 0.15
# half decades of work: decimal logarithm of FLOPs, of the elements for element-wise operators
LEAST_WORK = {"conv": 9.5, "linear": 9.0, "bmm": 9.0}
LEAST_ELEMENTS = 6.5
# NeuSight's name: operator of the graph, whether it has a second tensor
ELEMENTWISE = {"add": ("Add", 2), "mul": ("Mul", 2), "relu": ("Relu", 1), "gelu": ("Gelu", 1), "tanh": ("Tanh", 1), "softmax": ("Softmax", 1),
               "ln": ("LayerNormalization", 1)}
ELEMENTWISE_SHARE = 3
ACESO_CARD = "V100-SXM2-32GB"
DEEPBENCH_ALL = "NV_T4"
DEEPBENCH_CARDS = {"NV_T4": "T4", "NV_TitanX_Pascal": "TITAN X (Pascal)", "NV_TitanX": "TITAN X (Maxwell)"}


def document(op, inputs, shape, **rest):
    """A perfmodel-graph/1 of one operator, whose inputs all want a gradient."""
    nodes = [{"id": i, "op": "Input", "inputs": [], "shape": s, "batch_dim": 0, "attrs": {"requires_grad": True}} for i, s in enumerate(inputs)]
    nodes.append({"id": len(inputs), "op": op, "inputs": list(range(len(inputs))), "shape": shape, "batch_dim": 0, **rest})
    return json.dumps({"format": "perfmodel-graph/1", "output": len(inputs), "nodes": nodes}, separators=(",", ":"))


def convolution(channels, height, width, filters, kernel, stride, padding, out):
    attrs = {"kernel_shape": kernel, "strides": stride, "pads": padding, "dilations": [1, 1], "group": 1}
    return document("Conv", [[1, channels, height, width]], [1, filters, *out], attrs=attrs, weights=[[filters, channels, *kernel]])


def neusight_operator(op, d):
    """Document, batch and work of an operator of NeuSight's, or None."""
    if op == "conv":
        n, channels, filters, kernel, size, stride, padding = d
        out = (size + 2 * padding - kernel) // stride + 1
        doc = convolution(channels, size, size, filters, [kernel] * 2, [stride] * 2, [padding] * 2, [out] * 2)
        return doc, n, 2 * n * filters * out * out * channels * kernel * kernel
    if op == "linear":
        _, m, n, k = d
        return document("Gemm", [[1, n]], [1, k], weights=[[k, n], [k]]), m, 2 * m * n * k
    if op == "bmm":
        b, m, n, k = d
        return document("MatMul", [[1, m, n], [1, n, k]], [1, m, k]), b, 2 * b * m * n * k
    if op in ELEMENTWISE:
        name, inputs = ELEMENTWISE[op]
        b, h = d
        rest = {"softmax": {"attrs": {"axis": -1}}, "ln": {"attrs": {"axis": -1}, "weights": [[h], [h]]}}.get(op, {})
        return document(name, [[1, h]] * inputs, [1, h], **rest), b, b * h
    return None


def neusight(path, count, seed):
    times = collections.defaultdict(dict)
    with gzip.open(path, "rt", newline="") as f:
        for r in csv.DictReader(f):
            if r["op"] in LEAST_WORK or r["op"] in ELEMENTWISE:
                times[r["op"], tuple(int(r[f"d{i}"]) for i in range(1, 8) if r[f"d{i}"])][r["gpu"]] = float(r["fw_ms"])
    bins = collections.defaultdict(list)
    for (op, d), ms in times.items():
        doc, batch, work = neusight_operator(op, d)
        level = math.log10(work)
        if level < LEAST_WORK.get(op, LEAST_ELEMENTS) or statistics.median(ms.values()) < LEAST_MS or len(ms) < 2:
            continue
        order = hashlib.md5(f"{seed} {op} {d}".encode()).hexdigest()
        # cards that share few operators with the others have draws of their own
        bins[op, len(ms) > 2, int(2 * level)].append((-len(ms), order, doc, batch, ms))
    kinds = collections.Counter((op, many) for op, many, _ in bins)
    for (op, many, _), found in sorted(bins.items()):
        for _, _, doc, batch, ms in sorted(found)[:math.ceil(count / kinds[op, many] / (ELEMENTWISE_SHARE if op in ELEMENTWISE else 1))]:
            for gpu, forward_ms in sorted(ms.items()):
                amd = gpu.startswith("AMD")
                yield [doc, gpu, batch, "fp32", "nchw", "pytorch 2.4.1 rocm" if amd else "pytorch 2.1.0", forward_ms, "", "", "", "neusight"]


def deepbench_dtype(r):
    """Format of a row of DeepBench's, or None where it is not taken."""
    half = "FP32" not in r["sheet"]
    if r["gpu"] not in DEEPBENCH_CARDS or r["gpu"] != DEEPBENCH_ALL and (half or r["kind"] != "Convolution"):
        return None
    return "fp16" if half else "fp32"


def deepbench_convolution(d, r):
    """Document, batch, forward and backward time."""
    kernel = [int(d.get("r") or d["r (filter height)"]), int(d.get("s") or d["s (filter width)"])]
    stride = [int(d["vertical stride"]), int(d["horizontal stride"])]
    padding = [int(d["pad_h"]), int(d["pad_w"])]
    height, width = int(d["h"]), int(d["w"])
    out = [(size + 2 * p - k) // s + 1 for size, p, k, s in zip((height, width), padding, kernel, stride)]
    forward, by_inputs, by_weights = (float(r[c]) for c in ("fwd_ms", "bwd_inputs_ms", "bwd_weights_ms"))
    if min(out) < 1:
        raise ValueError("no output")
    return convolution(int(d["c"]), height, width, int(d["k"]), kernel, stride, padding, out), int(d["n"]), forward, by_inputs + by_weights


def deepbench_product(d, r):
    """The same of a product of weights, M x K, and K x N; operands that are transposed are as quick."""
    m, n, k = (int(d[c]) for c in "mnk")
    return document("Gemm", [[1, k]], [1, m], weights=[[m, k]]), n, float(r["time_ms"]), 0


def deepbench(path):
    kinds = {"Convolution": deepbench_convolution, "Dense Matrix Multiplication": deepbench_product}
    with gzip.open(path, "rt", newline="") as f:
        for r in csv.DictReader(f):
            dtype = deepbench_dtype(r)
            if r["kind"] not in kinds or dtype is None:
                continue
            try:
                d = dict(part.lower().split("=") for part in r["dims"].split(";"))
                doc, batch, forward, backward = kinds[r["kind"]](d, r)
            except ValueError:
                continue
            if forward + backward >= LEAST_MS:
                yield [doc, DEEPBENCH_CARDS[r["gpu"]], batch, dtype, "nchw", "", forward, backward or "", "", "", "deepbench"]


def aceso_gpt(r, batch):
    """Document and batch of an operator of GPT at 2,048 tokens in 16 bits, or None."""
    op = r["op"].removeprefix("enc-")
    elements = float(r["activation_mb"]) * 2**19
    shape = {"attention-qkv": (1, 3), "attention-dense": (1, 1), "MLP-GEMM-1": (1, 4), "MLP-GEMM-2": (4, 1)}.get(op)
    if shape:
        hidden = round(math.sqrt(float(r["weight_mb"]) * 2**19 / shape[0] / shape[1]))
        k, n = (hidden * x for x in shape)
        return document("Gemm", [[1, k]], [1, n], weights=[[n, k]]), 2048 * batch
    if op == "MLP-gelu":
        return document("Gelu", [[1, 4096]], [1, 4096]), int(elements) // 4096
    if op == "attention-softmax":
        return document("Softmax", [[1, 2048]], [1, 2048], attrs={"axis": -1}), int(elements) // 2048
    return None


def aceso_resnet(r, batch):
    """The same of a convolution of a wide ResNet in FP32, of blocks that keep the size of the plane."""
    name = re.fullmatch(r"block-(\d)-[1-9]\d*-conv([123])", r["op"])
    if not name:
        return None
    size, kernel = 56 >> int(name[1]), 3 if name[2] == "2" else 1
    filters = 32 * round(float(r["activation_mb"]) * 2**13 / (batch * size * size))
    channels = 32 * round(float(r["weight_mb"]) * 2**13 / (filters * kernel * kernel))
    return convolution(channels, size, size, filters, [kernel] * 2, [1, 1], [kernel // 2] * 2, [size] * 2), batch


def aceso(path):
    seen = set()
    with gzip.open(path, "rt", newline="") as f:
        for r in csv.DictReader(f):
            gpt, batch = r["model"].startswith("gpt"), int(r["micro_batch"])
            found = r["tp"] == "1" and (aceso_gpt if gpt else aceso_resnet)(r, batch)
            forward, backward = float(r["forward_us"]) / 1000, float(r["backward_us"]) / 1000
            if not found or found in seen or forward < LEAST_MS:
                continue
            seen.add(found)
            yield [*found[:1], ACESO_CARD, found[1], "fp16" if gpt else "fp32", "nchw", "", forward, "" if gpt else backward, "", "", "aceso"]


def main():
    data, out = map(pathlib.Path, sys.argv[1:3])
    count, seed = int(sys.argv[3]) if len(sys.argv) > 3 else 150, int(sys.argv[4]) if len(sys.argv) > 4 else 1
    counts = collections.Counter()
    with open(out, "w", newline="") as f:
        write = csv.writer(f)
        write.writerow(COLUMNS)
        sets = [(data / "neusight/operators.csv.gz", lambda p: neusight(p, count, seed)), (data / "deepbench/tidy.csv.gz", deepbench),
                (data / "aceso_ops/tidy.csv.gz", aceso)]
        for path, rows in sets:
            for row in rows(path) if path.exists() else ():
                write.writerow(row)
                counts[row[-1], row[1]] += 1
    for (source, gpu), n in sorted(counts.items()):
        print(f"{source}: {n} operators on {gpu}")


if __name__ == "__main__":
    main()
