#!/usr/bin/env python3
"""Single operators that others measured, as rows of perfmodel.op_profile, for the pretrained predictor.

    pretrain_operators.py DATA_DIR OUT_FILE [OPERATORS_A_KIND [SEED]]

DATA_DIR has neusight/operators.csv.gz and deepbench/tidy.csv.gz as data/README.md describes them; a set that is not there
is left out. OUT_FILE is CSV with a header, in the columns that tools/pretrain.sh loads.

NeuSight timed forward passes in FP32 with TF32 off. Of its operators a sample is taken: for each kind of operator as many
from each half decade of work (FLOPs, bytes of element-wise operators), first those that were measured on most cards, so
that cards are compared on the same operators, and by a hash with the seed among those. Left out are operators so small
that their launch counts (median over the cards under 0.15 ms).

DeepBench timed convolutions, forward and backward, with the fastest algorithm of the library. Those in FP32 on a T4 and
both TITAN X are taken; of other cards the name does not say which model it is, or there is no data sheet. Left out are
first layers, whose backward pass by inputs was not timed.
"""

import collections
import csv
import gzip
import hashlib
import json
import math
import pathlib
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


def deepbench(path):
    with gzip.open(path, "rt", newline="") as f:
        for r in csv.DictReader(f):
            if r["kind"] != "Convolution" or r["gpu"] not in DEEPBENCH_CARDS or "FP32" not in r["sheet"]:
                continue
            d = dict(part.lower().split("=") for part in r["dims"].split(";"))
            kernel = [int(d.get("r") or d["r (filter height)"]), int(d.get("s") or d["s (filter width)"])]
            stride = [int(d["vertical stride"]), int(d["horizontal stride"])]
            padding = [int(d["pad_h"]), int(d["pad_w"])]
            height, width = int(d["h"]), int(d["w"])
            out = [(size + 2 * p - k) // s + 1 for size, p, k, s in zip((height, width), padding, kernel, stride)]
            try:
                forward, by_inputs, by_weights = (float(r[c]) for c in ("fwd_ms", "bwd_inputs_ms", "bwd_weights_ms"))
            except ValueError:
                continue
            if min(out) < 1 or forward + by_inputs + by_weights < LEAST_MS:
                continue
            doc = convolution(int(d["c"]), height, width, int(d["k"]), kernel, stride, padding, out)
            yield [doc, DEEPBENCH_CARDS[r["gpu"]], int(d["n"]), "fp32", "nchw", "", forward, by_inputs + by_weights, "", "", "deepbench"]


def main():
    data, out = map(pathlib.Path, sys.argv[1:3])
    count, seed = int(sys.argv[3]) if len(sys.argv) > 3 else 150, int(sys.argv[4]) if len(sys.argv) > 4 else 1
    counts = collections.Counter()
    with open(out, "w", newline="") as f:
        write = csv.writer(f)
        write.writerow(COLUMNS)
        sets = [(data / "neusight/operators.csv.gz", lambda p: neusight(p, count, seed)), (data / "deepbench/tidy.csv.gz", deepbench)]
        for path, rows in sets:
            for row in rows(path) if path.exists() else ():
                write.writerow(row)
                counts[row[-1], row[1]] += 1
    for (source, gpu), n in sorted(counts.items()):
        print(f"{source}: {n} operators on {gpu}")


if __name__ == "__main__":
    main()
