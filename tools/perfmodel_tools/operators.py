"""Measure single operators of random shapes: forward and backward pass, in every number format and layout.

A case is drawn from a seed and a number, so that the same case comes out the same wherever and whenever it is drawn,
and a run that was interrupted goes on behind the cases that it has. The shapes fill the space that networks use and
some more: sizes are drawn evenly on a logarithmic scale, and half the time rounded to what people choose.
"""

import collections
import dataclasses
import datetime
import json
import math
import multiprocessing
import random
import re
import sys
import time
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn

from . import database, models
from .device import open_device
from .export import ExportError, export_graph
from .measure import Skip, autocast, middle_median, set_precision, spread, torch_dtype
from .profile import DTYPES, LAYOUTS, MIN_SHARE, add_place_arguments, default_framework
from .progress import Progress, one_line
from .table import CsvTable

COLUMNS = database.OPERATOR


@dataclasses.dataclass
class Case:
    """An operator to measure: a module, and the inputs that go with it."""

    module: Callable[[], nn.Module]
    shapes: list                        # of each input, dimension 0 left out
    lead: int = 1                       # dimension 0 of the inputs is this many times the batch
    integers: int = 0                   # inputs are numbers below this one; 0: they are real numbers
    flops: float = 0                    # of a product, forward, at batch 1; others are bounded by their inputs
    weights: float = 0                  # elements of its parameters


class Call(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Last(nn.Module):
    """Only the first result of a recurrent layer."""

    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return self.body(x)[0]


# ---- drawing ----

class Draw:
    """Sizes and choices from a random generator."""

    def __init__(self, rng: random.Random):
        self.rng = rng

    def size(self, low: int, high: int) -> int:
        """Evenly on a logarithmic scale; half the time a multiple of a power of two."""
        value = int(round(low * (high / low) ** self.rng.random()))
        if self.rng.random() < 0.5:
            step = 1 << max(0, value.bit_length() - 3)
            value = max(step, value // step * step)
        return max(low, min(high, value))

    def one(self, *choices):
        return self.rng.choice(choices)

    def chance(self, p: float) -> bool:
        return self.rng.random() < p


def _conv(d: Draw, kind: str) -> Case:
    side, kernel, stride, i, o, groups = d.size(4, 160), 1, d.one(1, 1, 2), d.size(3, 1536), d.size(8, 1536), 1
    if kind == "kxk":
        kernel, i, o = d.one(3, 3, 3, 2, 4, 5, 7, 11), d.size(3, 512), d.size(8, 512)
    elif kind == "grouped":
        kernel, groups = d.one(1, 3, 3, 3, 5), d.one(2, 4, 8, 16, 32, 64)
        i, o = groups * d.size(1, 64), groups * d.size(1, 64)
    elif kind == "depthwise":
        kernel, groups, o = d.one(3, 3, 5, 7, 9, 13, 21, 31), i, i * d.one(1, 1, 1, 2)
    dilation = d.one(1, 1, 1, 1, 2) if kernel > 1 else 1
    side, bias = max(side, dilation * (kernel - 1) + 1), d.chance(0.3)
    weights = o * (i // groups) * kernel ** 2
    return Case(lambda: nn.Conv2d(i, o, kernel, stride, dilation * (kernel // 2), dilation, groups, bias), [(i, side, side)],
                flops=2 * weights * (side / stride) ** 2, weights=weights)


def _conv_transpose(d: Draw) -> Case:
    i, o, side, kernel, stride = d.size(3, 512), d.size(3, 512), d.size(4, 64), d.one(2, 3, 4, 4), d.one(1, 2, 2)
    weights = i * o * kernel ** 2
    return Case(lambda: nn.ConvTranspose2d(i, o, kernel, stride, (kernel - 1) // 2), [(i, side, side)],
                flops=2 * weights * side ** 2, weights=weights)


def _conv1d(d: Draw) -> Case:
    i, o, n, kernel, stride = d.size(1, 512), d.size(8, 512), d.size(16, 4096), d.one(1, 3, 5, 9, 15), d.one(1, 1, 2, 4)
    return Case(lambda: nn.Conv1d(i, o, kernel, stride, kernel // 2), [(i, n)],
                flops=2 * i * o * kernel * n / stride, weights=i * o * kernel)


def _gemm(d: Draw) -> Case:
    i, o, bias, rows = d.size(8, 8192), d.size(1, 8192), d.chance(0.8), d.one(1, d.size(1, 1024))
    return Case(lambda: nn.Linear(i, o, bias), [(i,)], lead=rows, flops=2 * rows * i * o, weights=i * o)


def _matmul(d: Draw) -> Case:
    heads, m, n, k = d.size(1, 32), d.size(1, 512), d.size(1, 512), d.size(8, 256)
    return Case(lambda: Call(torch.bmm), [(m, k), (k, n)], lead=heads, flops=2 * heads * m * n * k)


def _recurrent(d: Draw) -> Case:
    cell, i, o, n = d.one(nn.LSTM, nn.LSTM, nn.GRU, nn.RNN), d.size(8, 1024), d.size(8, 1024), d.size(1, 64)
    both = d.chance(0.3)
    weights = {nn.LSTM: 4, nn.GRU: 3, nn.RNN: 1}[cell] * o * (i + o) * (1 + both)
    return Case(lambda: Last(cell(i, o, batch_first=True, bidirectional=both)), [(n, i)], flops=2 * n * weights, weights=weights)


def _plane(d: Draw) -> tuple:
    """Channels and sides of an activation."""
    side = d.size(1, 224)
    return (d.size(1, 2048), side, side)


def _tokens(d: Draw) -> tuple:
    """Positions and width of an activation."""
    return (d.size(1, 1024), d.size(8, 4096))


def _anything(d: Draw) -> tuple:
    return d.one(_plane, _plane, _tokens, lambda d: (d.size(8, 16384),))(d)


def _batch_norm(d: Draw) -> Case:
    shape = _plane(d)
    return Case(lambda: nn.BatchNorm2d(shape[0]), [shape])


def _layer_norm(d: Draw) -> Case:
    shape = _tokens(d)
    return Case(lambda: nn.LayerNorm(shape[-1]), [shape])


def _group_norm(d: Draw) -> Case:
    groups, side = d.one(1, 8, 16, 32), d.size(2, 128)
    channels = groups * d.size(1, 32)
    return Case(lambda: nn.GroupNorm(groups, channels), [(channels, side, side)])


def _softmax(d: Draw) -> Case:
    n = d.size(2, 512)
    shape = d.one((d.size(1, 16), n, n), (d.size(2, 2048),), (n, d.size(2, 2048)))
    function = d.one(torch.softmax, torch.softmax, torch.log_softmax)
    return Case(lambda: Call(lambda x: function(x, -1)), [shape])


_UNARY = (F.relu, F.relu, F.gelu, F.silu, F.hardswish, F.hardsigmoid, torch.sigmoid, torch.tanh, F.leaky_relu, F.elu,
          F.softplus, F.mish, F.relu6, torch.exp, torch.sqrt, torch.abs)


def _unary(d: Draw) -> Case:
    function, shape = d.one(*_UNARY), _anything(d)
    return Case(lambda: Call(function), [shape])


def _dropout(d: Draw) -> Case:
    shape = _anything(d)
    return Case(lambda: nn.Dropout(0.1), [shape])


def _binary(d: Draw) -> Case:
    function, shape = d.one(torch.add, torch.add, torch.mul, torch.sub, torch.div, torch.maximum), _anything(d)
    other = shape
    if len(shape) == 3 and d.chance(0.3):           # as squeeze-and-excite scales its channels
        other = (shape[0], 1, 1)
    return Case(lambda: Call(function), [shape, other])


def _pool(d: Draw) -> Case:
    kind, kernel = d.one(nn.MaxPool2d, nn.MaxPool2d, nn.AvgPool2d), d.one(2, 2, 3, 3, 5)
    stride, channels, side = d.one(1, 2, 2, kernel), d.size(3, 1024), d.size(8, 128)
    return Case(lambda: kind(kernel, stride, kernel // 2), [(channels, side, side)])


def _global_pool(d: Draw) -> Case:
    shape = _plane(d)
    return Case(lambda: Call(lambda x: x.mean((2, 3))), [shape])


def _reduce(d: Draw) -> Case:
    shape = _tokens(d)
    function = d.one(lambda x: x.mean(1), lambda x: x.sum(-1), lambda x: x.amax(1))
    return Case(lambda: Call(function), [shape])


def _move(d: Draw) -> Case:
    shape = _plane(d)
    function = d.one(lambda x: F.pad(x, (1, 1, 1, 1)), lambda x: torch.roll(x, (1, 1), (2, 3)),
                     lambda x: F.interpolate(x, scale_factor=2), lambda x: torch.cat([x, x], 1))
    return Case(lambda: Call(function), [shape])


def _gather(d: Draw) -> Case:
    rows, width, n = d.size(16, 50000), d.size(8, 1024), d.size(1, 512)
    return Case(lambda: nn.Embedding(rows, width), [(n,)], integers=rows, weights=rows * width)


# How often each kind is drawn: products make up most of a step, and differ most among themselves.
KINDS = {
    "conv1x1": (12, lambda d: _conv(d, "1x1")), "conv": (14, lambda d: _conv(d, "kxk")),
    "grouped": (7, lambda d: _conv(d, "grouped")), "depthwise": (10, lambda d: _conv(d, "depthwise")),
    "transpose": (4, _conv_transpose), "conv1d": (3, _conv1d),
    "gemm": (12, _gemm), "matmul": (8, _matmul), "recurrent": (3, _recurrent),
    "batchnorm": (6, _batch_norm), "layernorm": (5, _layer_norm), "groupnorm": (2, _group_norm),
    "softmax": (4, _softmax), "unary": (9, _unary), "binary": (5, _binary), "dropout": (2, _dropout), "pool": (5, _pool),
    "globalpool": (2, _global_pool), "reduce": (2, _reduce), "move": (4, _move), "gather": (3, _gather),
}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What cases are drawn from."""

    seed: int
    kinds: tuple
    dtypes: tuple
    layouts: tuple
    max_flops: float            # of a forward pass
    max_bytes: float            # of its inputs

    def _format(self, rng: random.Random) -> tuple:
        """Number format and layout; the first of each is drawn as often as all others together."""
        def pick(values):
            return values[0] if len(values) == 1 or rng.random() < 0.5 else rng.choice(values[1:])
        return pick(self.dtypes), pick(self.layouts)

    def draw(self, number: int) -> tuple:
        """Case, batch, dtype and layout of a number: inputs and work stay within bounds."""
        rng = random.Random(f"{self.seed}:{number}")
        dtype, layout = self._format(rng)
        for _ in range(1000):
            kind = rng.choices(self.kinds, [KINDS[kind][0] for kind in self.kinds])[0]
            case, batch = KINDS[kind][1](Draw(rng)), rng.choice((1, 1, 2, 4, 8, 16, 32, 64))
            if self._fits(case, batch):
                return case, batch, dtype, layout
        raise models.ModelError("no operator is small enough for the limits given")

    def _fits(self, case: Case, batch: int) -> bool:
        elements = sum(batch * case.lead * math.prod(shape) for shape in case.shapes)
        return 4 * elements <= self.max_bytes and 4 * case.weights <= 2 * self.max_bytes \
            and batch * case.flops <= self.max_flops


# ---- one operator: its document, and its time ----

def document(case: Case, name: str) -> dict:
    """The operator as perfmodel-graph/1: inputs and one node. Skip when it comes out as more than one."""
    spec = models.ModelSpec(name, "", "", case.module, lambda batch, device="cpu": _inputs(case, batch, device))
    try:
        graph = export_graph(spec)
    except ExportError as err:
        raise Skip(str(err)) from err
    for node in graph["nodes"]:
        if node["op"] == "Input" and not case.integers:
            node["attrs"] = {"requires_grad": True}
    others = [node["op"] for node in graph["nodes"] if node["op"] != "Input"]
    if len(others) != 1:
        raise Skip(f"is not one operator but {', '.join(others) or 'none'}")
    return {"format": graph["format"], "output": graph["output"], "nodes": graph["nodes"]}


def _inputs(case: Case, batch: int, device="cpu") -> tuple:
    def one(shape):
        if case.integers:
            return torch.randint(case.integers, (case.lead * batch, *shape), device=device)
        # above zero, so that roots and quotients have finite gradients
        return torch.rand(case.lead * batch, *shape, device=device) + 0.1
    return tuple(one(shape) for shape in case.shapes)


class Runner:
    """An operator ready to run: forward and backward, as a training step runs it."""

    def __init__(self, case: Case, batch: int, device, dtype: str, layout: str):
        self.device, self.dtype = device, dtype
        set_precision(device, dtype)
        self.module = case.module().to(device.torch_device).train()
        self.inputs = [self._place(x, layout) for x in _inputs(case, batch, device.torch_device)]
        if dtype in ("bf16", "fp16"):
            self.module = self.module.to(torch_dtype(dtype))
        if layout == "nhwc":
            self.module = self.module.to(memory_format=torch.channels_last)
        self.leaves = [x for x in self.inputs if x.requires_grad] + list(self.module.parameters())
        self._gradient = None

    def _place(self, x, layout: str):
        if not x.is_floating_point():
            return x
        if self.dtype in ("bf16", "fp16"):
            x = x.to(torch_dtype(self.dtype))
        if layout == "nhwc" and x.dim() == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        return x.requires_grad_()

    def call(self, watch) -> None:
        """Forward and backward once; marks begin, end of forward, end of backward."""
        for leaf in self.leaves:
            leaf.grad = None
        watch.mark()
        with autocast(self.device, self.dtype):
            out = self.module(*self.inputs)
        watch.mark()
        if out.requires_grad:
            if self._gradient is None:
                self._gradient = torch.ones_like(out)
            out.backward(self._gradient)
        watch.mark()


@dataclasses.dataclass
class Times:
    """Milliseconds of one operator."""

    forward_ms: float
    backward_ms: float
    spread: float
    share: float


def measure_operator(runner: Runner, seconds: float, warmup: int = 3, least: int = 7, most: int = 200) -> Times:
    """Warm up, then time calls for about SECONDS, forward and backward apart."""
    for _ in range(warmup):
        watch = runner.device.stopwatch()
        runner.call(watch)
        one = sum(watch.milliseconds()) / 1e3
    watch, meter = runner.device.stopwatch(), runner.device.share_meter()
    for _ in range(max(least, min(most, int(seconds / max(one, 1e-6))))):
        runner.call(watch)
    parts = watch.milliseconds()
    share = meter()
    forward, backward = parts[0::3], parts[1::3]
    total = [a + b for a, b in zip(forward, backward)]
    return Times(middle_median(forward), middle_median(backward), spread(total), share)


# ---- the command ----

class OperatorProfiler:
    """Goes through numbered cases."""

    def __init__(self, device, table, plan: Plan, args, progress: Progress, crashed: set, current):
        self.device, self.table, self.plan, self.args, self.progress = device, table, plan, args, progress
        self.framework = args.framework or default_framework(device)
        self._done = {int(m.group(1)) for m in (re.search(rf"; draw {plan.seed}:(\d+)$", row["source"]) for row in table.rows) if m}
        self._crashed, self._current = crashed, current
        self.skipped = collections.Counter()

    @property
    def rows_there(self) -> int:
        """Rows of this seed that need no measuring any more."""
        return len(self._done)

    def run(self, wanted: int, deadline: float) -> None:
        """Measure until WANTED rows of this seed are there; what cannot run on this device is passed over."""
        self.progress.total, self.progress.done = wanted, 0
        if self._done:
            self.progress.step("there already", self.rows_there)
        number, late = 0, []
        # About one case in twenty cannot run; the bound ends a run in which next to none can.
        while self.rows_there + len(late) < wanted and number < 4 * wanted + 100 and time.monotonic() < deadline:
            if number not in self._done and number not in self._crashed and not self._one(number, last=False):
                late.append(number)
            number += 1
        for number in late:
            if time.monotonic() < deadline:
                self._one(number, last=True)

    def _one(self, number: int, last: bool) -> bool:
        """Measure a case; False when it was disturbed and should come again."""
        self._current.value = number
        case, batch, dtype, layout = self.plan.draw(number)
        try:
            operator = document(case, "operator")
            times = measure_operator(Runner(case, batch, self.device, dtype, layout), self.args.row_budget)
        except Skip as err:
            self.skipped[str(err)] += 1
            return True
        except (RuntimeError, ValueError, TypeError) as err:
            self.skipped[f"{dtype} {layout}: " + (str(err).strip().splitlines() or ["?"])[0][:90]] += 1
            return True
        op = operator["nodes"][-1]["op"]
        disturbed = times.share < MIN_SHARE or times.spread > self.args.max_spread
        if disturbed and not last:
            self.progress.step(f"{number} {op}: spread {times.spread:.2f}, share {times.share:.2f}, put off", 0)
            return False
        if disturbed and self.args.strict:
            self.progress.step(f"{number} {op}: left out, still disturbed", 0)
            return True
        self.table.append(self._row(number, operator, batch, dtype, layout, times))
        self._done.add(number)
        self.progress.step(f"{op} batch {batch} {dtype} {layout}: {times.forward_ms:.3f} + {times.backward_ms:.3f} ms")
        return True

    def _row(self, number: int, operator: dict, batch: int, dtype: str, layout: str, times: Times) -> dict:
        has_backward = any(node.get("weights") or node.get("attrs", {}).get("requires_grad") for node in operator["nodes"])
        return dict(operator=json.dumps(operator, separators=(",", ":")), gpu=self.device.name, batch=batch, dtype=dtype,
                    layout=layout, framework=self.framework, forward_ms=f"{times.forward_ms:.5f}",
                    backward_ms=f"{times.backward_ms:.5f}" if has_backward else "", spread=f"{times.spread:.4f}",
                    measured_at=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                    source=f"perfmodel_tools profile-ops; {self.device.describe()}; draw {self.plan.seed}:{number}")


def main(args) -> int:
    """Entry of `python3 -m perfmodel_tools profile-ops`.

    The work is done by a child process: an operator of an unusual shape may crash PyTorch, which must not end the run.
    """
    unknown = set(args.kinds) - set(KINDS)
    if unknown:
        raise models.ModelError(f"unknown kind '{sorted(unknown)[0]}': there is {', '.join(KINDS)}")
    if args.import_ and args.output:
        raise models.ModelError("--import and --output exclude each other; `import` loads a file later")
    context = multiprocessing.get_context("fork")       # the parent has not touched the device, so this is safe
    crashed, current = set(), context.Value("q", -1)
    while True:
        child = context.Process(target=_child, args=(args, crashed, current))
        child.start()
        child.join()
        if child.exitcode >= 0 or current.value < 0:
            return child.exitcode
        print(f"case {current.value} crashed PyTorch (signal {-child.exitcode}), passed over", file=sys.stderr)
        crashed.add(current.value)


def _child(args, crashed: set, current) -> None:
    try:
        sys.exit(_work(args, crashed, current))
    except (models.ModelError, database.DatabaseError, RuntimeError, OSError) as err:
        print(f"perfmodel_tools: {one_line(err)}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _work(args, crashed: set, current) -> int:
    """Measure until the rows wanted are there; CURRENT always has the number of the case that is running."""
    device = open_device(args.device, args.threads)
    if args.device_name:
        device.name = args.device_name
    dtypes = tuple(dtype for dtype in args.dtype if device.has(dtype))
    if not dtypes:
        raise models.ModelError(f"{device.name} has none of these number formats: {', '.join(args.dtype)}")
    plan = Plan(args.seed, tuple(args.kinds), dtypes, tuple(args.layout), 1e9 * args.max_gflop, 2**20 * args.max_mb)
    if not args.import_:
        return _run(device, CsvTable(args.output or "op_profiles.csv", COLUMNS), plan, args, crashed, current)
    with database.connect(args.db) as db:
        device.name = database.device_name(db, device.name)
        return _run(device, database.Operators(db, device.name), plan, args, crashed, current)


def _run(device, table, plan: Plan, args, crashed: set, current) -> int:
    progress = Progress(args.count, args.quiet)
    profiler = OperatorProfiler(device, table, plan, args, progress, crashed, current)
    progress.note(f"{args.count} operators wanted on {device.name}, {profiler.rows_there} there")
    profiler.run(args.count, time.monotonic() + 60 * args.time_limit if args.time_limit else float("inf"))
    for reason, times in profiler.skipped.most_common(10):
        progress.note(f"passed over {times} times: {reason}")
    progress.note("done")
    return 0


def add_arguments(parser) -> None:
    """Command line of the profiler of operators."""
    what = parser.add_argument_group("what to measure")
    what.add_argument("--count", type=int, default=500, metavar="N", help="rows wanted of this seed (default: %(default)s)")
    what.add_argument("--seed", type=int, default=1, metavar="N", help="which cases are drawn (default: %(default)s)")
    what.add_argument("--kinds", nargs="+", default=list(KINDS), metavar="KIND", help=f"of {', '.join(KINDS)} (default: all)")
    what.add_argument("--dtype", nargs="+", default=["fp32"], choices=DTYPES,
                      help="number formats; the first is used for half of the rows (default: fp32)")
    what.add_argument("--layout", nargs="+", default=["nchw"], choices=LAYOUTS,
                      help="memory formats; the first is used for half of the rows (default: nchw)")
    what.add_argument("--max-gflop", type=float, default=2.0, metavar="X",
                      help="forward operations of a case, at most, in units of 10^9 (default: %(default)s)")
    what.add_argument("--max-mb", type=float, default=32.0, metavar="X", help="size of its inputs, at most (default: %(default)s)")
    add_place_arguments(parser.add_argument_group("where"), "op_profiles.csv", "put the rows into perfmodel.op_profile of a database")
    how = parser.add_argument_group("how long and how well")
    how.add_argument("--row-budget", type=float, default=0.15, metavar="S", help="seconds for the timed calls of one row (default: %(default)s)")
    how.add_argument("--max-spread", type=float, default=0.25, metavar="X",
                     help="measure rows with a larger spread once more at the end (default: %(default)s)")
    how.add_argument("--strict", action="store_true", help="leave out what stays disturbed or over --max-spread")
    how.add_argument("--time-limit", type=float, metavar="MIN", help="stop after this many minutes")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
