"""Measure the training step of one model, or its forward pass alone, at one batch size."""

import contextlib
import dataclasses
import functools
import statistics
import time
from typing import Optional

import torch
import torch.nn.functional as F

from .models import call, first_tensor


class Skip(Exception):
    """This configuration is not measured; the message says why."""


@dataclasses.dataclass
class Limits:
    """How long a measurement may take."""

    warmup: int = 10
    warmup_s: float = 0.3           # warm up at least this long: small models settle slowly
    steps: int = 30                 # timed steps, at most
    min_steps: int = 5
    max_step_s: float = float("inf")
    row_s: float = float("inf")     # time for the timed steps of one row
    busy: bool = False              # one more step, to see how long the device works in it


@dataclasses.dataclass
class Result:
    """One measured configuration; times in milliseconds."""

    step_ms: float
    peak_memory_mb: float
    spread: float
    steps: int
    parts: dict                     # of a training step: forward_ms, backward_ms, update_ms
    ended_at: float = 0.0           # end of the timed steps, seconds since 1970
    share: float = 1.0              # part of the time that the process had its core for itself
    busy_ms: Optional[float] = None  # of one step, the time in which the device ran a kernel or copied; None: not asked for, or not known
    kernels: Optional[int] = None   # how many these were


def middle_median(values: list) -> float:
    """Median of the middle half: what lies below the first and above the third quartile is dropped."""
    values = sorted(values)
    cut = len(values) // 4
    return statistics.median(values[cut:len(values) - cut])


def spread(values: list) -> float:
    """Interquartile range over the median."""
    values = sorted(values)
    return (_quantile(values, 0.75) - _quantile(values, 0.25)) / _quantile(values, 0.5)


def _quantile(ordered: list, q: float) -> float:
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


# By the extension's names. The learning rate is small so that weights stay finite on random data; it costs the same.
OPTIMIZERS = {
    "sgd": functools.partial(torch.optim.SGD, lr=1e-3),
    "sgd_momentum": functools.partial(torch.optim.SGD, lr=1e-3, momentum=0.9),
    "adam": functools.partial(torch.optim.Adam, lr=1e-5),
    "adamw": functools.partial(torch.optim.AdamW, lr=1e-5),
}


class Runner:
    """A model on a device, in a number format and a memory format."""

    def __init__(self, module, device, dtype: str, layout: str):
        self.device, self.dtype, self.layout = device, dtype, layout
        set_precision(device, dtype)
        self.module = module.to(device.torch_device)
        if dtype in ("bf16", "fp16"):
            self.module = self.module.to(torch_dtype(dtype))
        if layout == "nhwc":
            self.module = self.module.to(memory_format=torch.channels_last)

    def place(self, inputs):
        """Inputs in the dtype and memory format of this trainer."""
        if isinstance(inputs, dict):
            return {key: self.place(value) for key, value in inputs.items()}
        if isinstance(inputs, tuple):
            return tuple(self.place(value) for value in inputs)
        if not isinstance(inputs, torch.Tensor):
            return inputs
        if inputs.is_floating_point() and self.dtype in ("bf16", "fp16"):
            inputs = inputs.to(torch_dtype(self.dtype))
        if self.layout == "nhwc" and inputs.dim() == 4:
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        return inputs


class Trainer(Runner):
    """Takes training steps."""

    parts = ("forward_ms", "backward_ms", "update_ms")  # times between the marks of a step

    def __init__(self, module, device, dtype: str, layout: str, optimizer: str = "sgd_momentum"):
        super().__init__(module.train(), device, dtype, layout)
        self.optimizer = OPTIMIZERS[optimizer](self.module.parameters())
        self.scaler = _grad_scaler() if dtype == "amp" and device.kind == "cuda" else None

    def clear(self) -> None:
        """Give back what a step keeps for the next one."""
        self.optimizer.zero_grad(set_to_none=True)

    def step(self, inputs, watch) -> None:
        """One training step; marks begin, end of forward, end of backward, end."""
        watch.mark()
        self.optimizer.zero_grad(set_to_none=True)
        with autocast(self.device, self.dtype):
            loss = _loss(call(self.module, inputs))
        watch.mark()
        (self.scaler.scale(loss) if self.scaler else loss).backward()
        watch.mark()
        if self.scaler:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            self.optimizer.step()
        watch.mark()


class Inference(Runner):
    """Takes forward passes in evaluation mode, without gradients."""

    parts = ("step_ms",)

    def __init__(self, module, device, dtype: str, layout: str):
        super().__init__(module.eval(), device, dtype, layout)

    def clear(self) -> None:
        """A pass keeps nothing."""

    def step(self, inputs, watch) -> None:
        """One forward pass; marks begin and end."""
        watch.mark()
        with torch.no_grad(), autocast(self.device, self.dtype):
            call(self.module, inputs)
        watch.mark()


def make_runner(module, device, dtype: str, layout: str, optimizer: str, mode: str) -> Runner:
    """What takes the steps of a mode; the optimizer is of training alone."""
    if mode == "inference":
        return Inference(module, device, dtype, layout)
    return Trainer(module, device, dtype, layout, optimizer)


def autocast(device, dtype: str):
    """Mixed precision where the number format asks for it."""
    if dtype != "amp":
        return contextlib.nullcontext()
    low = torch.float16 if device.kind == "cuda" else torch.bfloat16
    return torch.autocast(device.kind, dtype=low)


def _grad_scaler():
    """PyTorch 2.3 moved the class."""
    scaler = getattr(torch.amp, "GradScaler", None)
    return scaler("cuda") if scaler else torch.cuda.amp.GradScaler()


def set_precision(device, dtype: str) -> None:
    """Whether matrix products may round to TF32."""
    if device.kind == "cuda":
        # 'fp32' means full precision; recent cards would use tf32 in convolutions without being asked.
        torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        torch.backends.cudnn.allow_tf32 = dtype in ("tf32", "amp")


def torch_dtype(dtype: str):
    """The type of weights in a 16-bit number format."""
    return {"bf16": torch.bfloat16, "fp16": torch.float16}[dtype]


def _loss(output) -> torch.Tensor:
    """Cross-entropy over the last dimension of the first output; a lone value is its own loss."""
    logits = first_tensor(output)
    if logits is None:
        raise Skip("the model returns no tensor")
    if logits.dim() == 0:
        return logits
    logits = logits.reshape(-1, logits.shape[-1])
    # The labels do not change the time; class 0 exists in every model.
    labels = torch.zeros(logits.shape[0], dtype=torch.long, device=logits.device)
    return F.cross_entropy(logits, labels)


def measure(runner: Runner, inputs, limits: Limits) -> Result:
    """Warm up, take timed steps, and summarise them. Raises Skip when a step takes too long."""
    device = runner.device
    inputs = runner.place(inputs)
    device.reset_peak()
    one = _warm_up(runner, inputs, limits)
    count = limits.steps
    if limits.row_s < float("inf"):
        count = max(limits.min_steps, min(limits.steps, int(limits.row_s / max(one, 1e-6))))
    watch = device.stopwatch()
    meter = device.share_meter()
    for _ in range(count):
        runner.step(inputs, watch)
    result = _summary(watch.milliseconds(), runner.parts, device.peak_memory_mb())
    result.ended_at, result.share = time.time(), meter()
    if limits.busy:
        result.busy_ms, result.kernels = device.busy(lambda: runner.step(inputs, device.stopwatch()))
    return result


def _warm_up(runner: Runner, inputs, limits: Limits) -> float:
    """Run the warm-up steps; seconds of the last one."""
    seconds = spent = 0.0
    index = 0
    while index < limits.warmup or spent < limits.warmup_s:
        watch = runner.device.stopwatch()
        runner.step(inputs, watch)
        seconds = sum(watch.milliseconds()) / 1e3
        # The first step also allocates memory and chooses kernels, hence the allowance.
        if seconds > limits.max_step_s * (2 if index == 0 else 1):
            raise Skip(f"a step takes {seconds:.1f} s, over the limit of {limits.max_step_s:g} s")
        index, spent = index + 1, spent + seconds
    return seconds


def _summary(times: list, names: tuple, peak_mb: float) -> Result:
    """TIMES: the parts of a step, called NAMES, a pause, the parts of the next ... in milliseconds."""
    parts = [times[i::len(names) + 1] for i in range(len(names))]
    total = [sum(of_step) for of_step in zip(*parts)]
    return Result(step_ms=middle_median(total), peak_memory_mb=peak_mb, spread=spread(total), steps=len(total),
                  parts={name: middle_median(part) for name, part in zip(names, parts)} if len(names) > 1 else {})
