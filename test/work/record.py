#!/usr/bin/python3
"""What one training step of a network really does, by PyTorch's own dispatcher on the CPU, in the terms of a GPU.

    PYTHONPATH=tools test/work/record.py data/graphs.ndjson.gz >test/work/truth.csv        (Debian's python3-torchvision)

For the smallest variant of each network of torchvision and the zoo, at batch 2 in both layouts, one CSV row a phase and class:
    graph, layout, phase (f, b), class, launches, mb (read and written, fp32), channels_last (of convolutions whose output lies so)
Every call of ATen that computes or copies is one launch which reads and writes its tensors once, but for what `PASSES` and
`call_cost` say: where PyTorch's CUDA kernels pass over a tensor twice, or where one call is several kernels. Copies that CUDA's
operators make inside, of tensors that do not lie as they want them, are counted from the strides that the tensors have.
Left out are recurrent networks, whose cells a CPU takes apart, and those with operators that lay their outputs otherwise on a CPU.
"""
import collections
import contextlib
import csv
import gzip
import io
import json
import sys
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

from perfmodel_tools import models

CLASSES = {"conv": ("convolution", "convolution_backward"), "gemm": ("mm", "bmm", "addmm", "baddbmm"),
           "norm": ("native_batch_norm", "native_batch_norm_backward", "native_layer_norm", "native_layer_norm_backward",
                    "native_group_norm", "native_group_norm_backward")}
CLASS_OF = {op: name for name, ops in CLASSES.items() for op in ops}
# op: launches, passes over the first tensor
PASSES = {"native_batch_norm": (1, 3), "native_batch_norm_backward": (1, 5), "native_layer_norm": (1, 2),
          "native_layer_norm_backward": (2, 5), "native_group_norm": (3, 3), "native_group_norm_backward": (4, 5)}
NOTHING = {"empty", "empty_like", "new_empty", "new_empty_strided", "empty_strided", "as_strided_", "detach", "detach_", "ones_like"}
PLAIN = {"_softmax", "_softmax_backward_data", "_log_softmax", "native_layer_norm", "native_layer_norm_backward",
         "native_group_norm", "native_group_norm_backward", "roll", "im2col", "col2im"}
FORMAT = {"native_batch_norm", "max_pool2d_with_indices", "avg_pool2d", "_adaptive_avg_pool2d",
          "upsample_bilinear2d", "upsample_nearest2d", "constant_pad_nd"}
RECURRENT = {"LSTM", "GRU", "RNN"}
# What a CPU's kernels do otherwise than CUDA's: transposed convolutions and group norm keep no, or another, layout
OTHERWISE = {"ConvTranspose", "GroupNormalization"}


def tensors(x) -> list:
    return [t for t in tree_flatten(x)[0] if isinstance(t, torch.Tensor)]


def size(t) -> int:
    return t.numel() * t.element_size()


def storage(t) -> int:
    return t.storage().data_ptr()


def suggests_channels_last(t) -> bool:
    """Tensor::suggest_memory_format(): what empty_like(preserve) of a batch of its kind shows."""
    if t.dim() != 4 or t.stride(1) == 0:
        return False
    least = 0
    for d in (1, 3, 2, 0):
        if t.shape[d] == 0 or t.stride(d) < least or (d == 0 and least == t.stride(1)):
            return False
        least = t.stride(d) * max(t.shape[d], 1)
    return True


def in_format(t, last: bool) -> bool:
    return t.is_contiguous(memory_format=torch.channels_last) if last and t.dim() == 4 else t.is_contiguous()


def hidden_copies(name, args) -> int:
    """Bytes of copies that the operator makes before it starts; each is one launch."""
    wanted = []
    if name == "convolution":
        last = suggests_channels_last(args[0]) or suggests_channels_last(args[1])
        wanted = [(args[0], last)]
    elif name == "convolution_backward":
        last = suggests_channels_last(args[1]) or suggests_channels_last(args[2])
        wanted = [(args[0], last)]
    elif name in PLAIN:
        wanted = [(args[0], False)]
    elif name in FORMAT:
        wanted = [(args[0], suggests_channels_last(args[0]))]
    elif name == "native_batch_norm_backward":
        wanted = [(args[0], suggests_channels_last(args[1]))]
    return [2 * size(t) for t, last in wanted if not in_format(t, last)]


def call_cost(name, args, ins, outs, in_place) -> tuple:
    """Launches and bytes of one call."""
    everything = sum(map(size, ins + outs))
    if name == "convolution":
        bias = args[2] is not None
        return 1 + bias, everything + 2 * bias * size(outs[0])
    if name == "convolution_backward":
        mask = args[-1]
        return sum(mask), (mask[0] + mask[1]) * sum(map(size, ins[:3])) + mask[2] * size(ins[0])
    if name in PASSES:
        launches, passes = PASSES[name]
        return launches, passes * size(ins[0])
    if name == "max_pool2d_with_indices_backward":
        return 1, size(args[0]) + size(args[-1]) + size(outs[0])
    if name in ("select_backward", "slice_backward"):
        return 2, size(outs[0]) + 2 * size(ins[0])
    if name == "embedding_dense_backward":
        return 3, size(outs[0]) + 3 * size(ins[0])
    if name == "embedding":
        return 1, 2 * size(outs[0]) + size(args[1])
    if name in ("index", "index_select", "gather"):
        return 1, 2 * size(outs[0])
    return 1, everything


class Recorder(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.phase, self.launches, self.bytes = "f", collections.Counter(), collections.Counter()
        self.channels_last = collections.Counter()
        self.detail = collections.defaultdict(lambda: [0, 0])

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = str(func).split(".")[1]
        for nbytes in hidden_copies(name, args):
            self.add("rest", 1, nbytes, "copy inside " + name)
        out = func(*args, **(kwargs or {}))
        ins, outs = tensors((args, kwargs or {})), tensors(out)
        in_place = name.endswith("_")
        if name in NOTHING or not outs or (name == "copy_" and self.phase == "b"):
            return out                                  # copy_: a first gradient in the strides of its parameter
        if not in_place and all(any(storage(o) == storage(i) for i in ins) for o in outs):
            return out                                  # a view
        where = CLASS_OF.get(name, "rest")
        if name == "add_" and not ins[0].is_floating_point():
            where = "norm"                              # the counter of a batch norm
        self.add(where, *call_cost(name, args, ins, outs, in_place), name)
        if name == "convolution" and outs[0].dim() == 4:
            self.channels_last[self.phase] += in_format(outs[0], True) and not in_format(outs[0], False)
        return out

    def add(self, where, launches, nbytes, name):
        self.launches[self.phase, where] += launches
        self.bytes[self.phase, where] += nbytes
        d = self.detail[self.phase, name]
        d[0] += launches
        d[1] += nbytes


@contextlib.contextmanager
def fused_dropout():
    """Dropout as CUDA runs it: one kernel that writes a mask."""
    old = torch._VF.dropout
    torch._VF.dropout = lambda x, p, train: torch.native_dropout(x, p, True)[0] if train and p > 0 else x
    try:
        yield
    finally:
        torch._VF.dropout = old


def last_format(x, channels_last: bool):
    if isinstance(x, torch.Tensor) and x.dim() == 4 and channels_last:
        return x.contiguous(memory_format=torch.channels_last)
    return x


def record(graph: str, channels_last: bool) -> Recorder:
    torch.manual_seed(1)
    spec = models.resolve(*models.of_graph(graph))
    module, inputs = spec.build().train(), spec.make_input(2)
    for part in module.modules():       # a graph does not say what was done in place, for which autograd may make copies
        if hasattr(part, "inplace"):
            part.inplace = False
    if channels_last:
        module = module.to(memory_format=torch.channels_last)
    if isinstance(inputs, dict):
        inputs = {k: last_format(v, channels_last) for k, v in inputs.items()}
    elif isinstance(inputs, tuple):
        inputs = tuple(last_format(v, channels_last) for v in inputs)
    else:
        inputs = last_format(inputs, channels_last)
    recorder = Recorder()
    with fused_dropout():
        with recorder:
            y = models.first_tensor(models.call(module, inputs))
        seed = torch.ones_like(y)
        recorder.phase = "b"
        with recorder:
            y.backward(seed)
    return recorder


def smallest(path: str) -> list:
    """One graph a network: the smallest, but none whose last planes would be a single pixel."""
    best = {}
    with gzip.open(path, "rt") as lines:
        for line in lines:
            g = json.loads(line)
            model, _, variant = g["name"].partition("@")
            if any(n["op"] in RECURRENT | OTHERWISE for n in g["nodes"]):
                continue
            amount = int("".join(c for c in variant if c.isdigit()) or 0)
            if variant[:1].isdigit() and amount < 64:
                continue
            if model not in best or amount < best[model][0]:
                best[model] = (amount, g["name"])
    return sorted(name for _, name in best.values())


def main():
    warnings.filterwarnings("ignore")
    only, detail = sys.argv[2:], "--detail" in sys.argv
    w = csv.writer(sys.stdout, lineterminator="\n")
    w.writerow(["graph", "layout", "phase", "class", "launches", "mb", "channels_last"])
    for graph in smallest(sys.argv[1]):
        if only and graph.partition("@")[0] not in only:
            continue
        for layout in ("nchw", "nhwc"):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    r = record(graph, layout == "nhwc")
            except Exception as err:
                print(f"{graph} {layout}: {type(err).__name__}: {err}"[:200], file=sys.stderr)
                break
            for (phase, where), n in sorted(r.launches.items()):
                last = r.channels_last[phase] if where == "conv" and phase == "f" else ""
                w.writerow([graph, layout, phase, where, n, round(r.bytes[phase, where] / 1e6, 3), last])
            if detail:
                for (phase, name), (n, b) in sorted(r.detail.items()):
                    print(f"  {layout} {phase} {name:40} {n:5} {b / 1e6:10.3f}", file=sys.stderr)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
