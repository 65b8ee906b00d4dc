"""Measure training steps of many models and write them to a CSV file, one row at a time."""

import csv
import dataclasses
import datetime
import itertools
import os
import random
import sys
import time

from . import models
from .cost import CostModel, count
from .device import open_device
from .measure import Limits, Skip, Trainer, measure

COLUMNS = ("graph,model,gpu,batch,dtype,layout,framework,mode,optimizer,world_size,nodes,step_ms,"
           "forward_ms,backward_ms,update_ms,peak_memory_mb,spread,steps,measured_at,source").split(",")
KEY = COLUMNS[:11]
MIN_SHARE = 0.97        # a process that had less of its core was disturbed, and its times are too long


@dataclasses.dataclass(frozen=True)
class Task:
    """One configuration to measure."""

    name: str           # as models.resolve() takes it
    image: int
    batch: int
    dtype: str
    layout: str

    @property
    def visit(self) -> tuple:
        """Tasks with the same visit share one built model."""
        return (self.name, self.image, self.dtype, self.layout)


class Table:
    """The CSV file: what is in it already, and how rows are added."""

    def __init__(self, path: str):
        self.path = path
        self.rows = []
        if os.path.exists(path):
            self._cut_half_line()
            self._read()
        if not os.path.exists(path) or os.path.getsize(path) == 0:
            with open(path, "w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerow(COLUMNS)

    def _cut_half_line(self) -> None:
        """A run that was killed may have left part of a line: drop it, it will be measured again."""
        with open(self.path, "rb+") as file:
            data = file.read()
            if data and not data.endswith(b"\n"):
                file.truncate(data.rfind(b"\n") + 1)

    def _read(self) -> None:
        with open(self.path, newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames is not None and reader.fieldnames != COLUMNS:
                raise SystemExit(f"{self.path} has other columns than this version writes")
            self.rows = list(reader)

    @staticmethod
    def key(row: dict) -> tuple:
        return tuple(str(row[name]) for name in KEY)

    def keys(self) -> set:
        return {self.key(row) for row in self.rows}

    def append(self, row: dict) -> None:
        """Add a row and make sure that it is on disk before the next one is measured."""
        with open(self.path, "a", newline="") as file:
            csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
            file.flush()
            os.fsync(file.fileno())
        self.rows.append({name: str(value) for name, value in row.items()})

    def replace(self, row: dict) -> None:
        """Put a row in the place of the one with the same key; the file is swapped in one move."""
        key = self.key(row)
        self.rows = [row if self.key(old) == key else old for old in self.rows]
        with open(self.path + ".new", "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        os.replace(self.path + ".new", self.path)


class Progress:
    """Progress on stderr: a bar on a terminal, one line a row in a log file."""

    def __init__(self, total: int, quiet: bool = False):
        self.total, self.done, self.quiet = max(1, total), 0, quiet
        self._start = time.monotonic()
        self._tty = sys.stderr.isatty()

    def step(self, text: str, count: int = 1) -> None:
        self.done += count
        if self.quiet:
            return
        spent = time.monotonic() - self._start
        left = spent / max(1, self.done) * max(0, self.total - self.done)
        line = (f"{self._bar()} {self.done}/{self.total} "
                f"eta {datetime.timedelta(seconds=int(left))}  {text}")
        print("\r\x1b[K" + line if self._tty else line, end="" if self._tty else "\n",
              file=sys.stderr, flush=True)

    def _bar(self, width: int = 20) -> str:
        full = min(width, width * self.done // self.total)
        return "[" + "#" * full + "." * (width - full) + "]"

    def note(self, text: str) -> None:
        """A line that stays."""
        if not self.quiet:
            print(("\r\x1b[K" if self._tty else "") + text, file=sys.stderr, flush=True)


class Profiler:
    """Goes through the tasks, visit by visit."""

    def __init__(self, device, table: Table, limits: Limits, framework: str, deadline: float, progress: Progress):
        self.device, self.table, self.limits = device, table, limits
        self.framework, self.deadline, self.progress = framework, deadline, progress
        self.cost = CostModel(device)
        self._counts = {}
        self._disturbed = []        # tasks during which other processes took the core

    def run(self, tasks: list) -> None:
        """Measure every task that is not in the table yet, until the deadline."""
        for _, group in itertools.groupby(tasks, key=lambda task: task.visit):
            if time.monotonic() > self.deadline:
                self.progress.note("the time limit is reached: stopping here")
                return
            group = list(group)
            try:
                self._visit(group)
            except models.ModelError as err:
                self.progress.step(f"skipped {group[0].name}: {err}", len(group))
        self.progress.note("done")

    def _visit(self, group: list, again: bool = False) -> None:
        spec = models.resolve(group[0].name, group[0].image)
        present = self.table.keys()
        tasks = [t for t in group if again or Table.key(self._row(spec, t, None)) not in present]
        if len(tasks) < len(group):
            self.progress.step(f"{spec.graph}: {len(group) - len(tasks)} rows present", len(group) - len(tasks))
        if tasks:
            self._learn_from_table(spec)
        tasks = [t for t in tasks if self._fits(spec, t)]
        if not tasks:
            return
        self.device.set_memory_base()
        try:
            trainer = Trainer(spec.build(), self.device, tasks[0].dtype, tasks[0].layout)
        except (RuntimeError, ValueError) as err:
            self.progress.step(f"skipped {spec.graph}: {_short(err)}", len(tasks))
            return
        for task in tasks:
            self._measure(spec, trainer, task, again)

    def _fits(self, spec, task: Task) -> bool:
        """Whether time and memory are expected to do; says so if not."""
        try:
            counts = self._count(spec)
        except Exception as err:                # whatever the model raises: it cannot run at this size
            self.progress.step(f"skipped {spec.graph} batch {task.batch}: {_short(err)}")
            return False
        seconds, need = self.cost.seconds(spec.model, counts, task.batch), self.cost.bytes(counts, task.batch)
        reason = None
        # The guess may be off by half before the model has been measured; the warm-up checks again.
        if seconds > 1.25 * self.limits.max_step_s:
            reason = f"a step would take about {seconds:.1f} s"
        elif need > 0.9 * self.device.free_memory():
            reason = f"would need about {need / 2**30:.1f} GiB of memory"
        if reason:
            self.progress.step(f"skipped {spec.graph} batch {task.batch}: {reason}")
        return reason is None

    def _learn_from_table(self, spec) -> None:
        """Let the rows of an earlier run improve the guesses of this one."""
        if spec.graph in self._counts or spec.graph not in {row["graph"] for row in self.table.rows}:
            return
        try:
            counts = self._count(spec)
        except Exception:                       # _fits() will report it
            return
        for row in self.table.rows:
            if (row["graph"], row["gpu"]) == (spec.graph, self.device.name):
                self.cost.learn(spec.model, counts, int(row["batch"]), float(row["step_ms"]) / 1e3)

    def _count(self, spec) -> dict:
        if spec.graph not in self._counts:
            self._counts[spec.graph] = count(spec.build, spec.make_input)
        return self._counts[spec.graph]

    def _measure(self, spec, trainer: Trainer, task: Task, again: bool) -> None:
        label = f"{spec.graph} batch {task.batch} {task.dtype} {task.layout}"
        try:
            inputs = spec.make_input(task.batch, device=self.device.torch_device)
            result = measure(trainer, inputs, self.limits)
        except Skip as err:
            self.progress.step(f"skipped {label}: {err}")
            return
        except (RuntimeError, ValueError) as err:
            why = "does not fit in memory" if self.device.is_out_of_memory(err) else _short(err)
            self.progress.step(f"skipped {label}: {why}")
            return
        finally:
            trainer.optimizer.zero_grad(set_to_none=True)
        if result.share < MIN_SHARE and task not in self._disturbed:
            self._disturbed.append(task)
            self.progress.step(f"{label}: had the core {result.share:.0%} of the time, put off")
            return
        self.cost.learn(spec.model, self._count(spec), task.batch, result.step_ms / 1e3)
        row = self._row(spec, task, result)
        if again:
            self._keep_better(row)
        else:
            self.table.append(row)
        self.progress.step(f"{label}: {result.step_ms:.1f} ms, spread {result.spread:.3f}")

    def _keep_better(self, row: dict) -> None:
        key = Table.key(row)
        for old in self.table.rows:
            if Table.key(old) == key and float(old["spread"]) > float(row["spread"]):
                self.table.replace(row)
                return

    def run_disturbed(self) -> None:
        """Give tasks that were put off a second and last chance."""
        tasks = list(self._disturbed)
        if tasks:
            self.progress.note(f"measuring {len(tasks)} configurations that were put off")
            self.progress = Progress(len(tasks), self.progress.quiet)
            self.run(tasks)

    def remeasure(self, tasks: list, threshold: float) -> None:
        """Measure rows whose spread is over the threshold once more and keep the quieter result."""
        noisy = {Table.key(row) for row in self.table.rows if float(row["spread"]) > threshold}
        again = [t for t in tasks
                 if Table.key(self._row(models.resolve(t.name, t.image), t, None)) in noisy]
        if again:
            self.progress.note(f"measuring {len(again)} rows with a spread over {threshold:g} once more")
            self.progress = Progress(len(again), self.progress.quiet)
        for _, group in itertools.groupby(again, key=lambda task: task.visit):
            self._visit(list(group), again=True)

    def _row(self, spec, task: Task, result) -> dict:
        """A CSV row; with no result only its key columns."""
        row = dict(graph=spec.graph, model=spec.model, gpu=self.device.name, batch=task.batch, dtype=task.dtype,
                   layout=task.layout, framework=self.framework, mode="train", optimizer="sgd_momentum",
                   world_size=1, nodes=1)
        if result is not None:
            row.update(step_ms=f"{result.step_ms:.4f}", forward_ms=f"{result.forward_ms:.4f}",
                       backward_ms=f"{result.backward_ms:.4f}", update_ms=f"{result.update_ms:.4f}",
                       peak_memory_mb=f"{result.peak_memory_mb:.1f}", spread=f"{result.spread:.4f}",
                       steps=result.steps, source=self._source(spec),
                       measured_at=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
        return row

    def _source(self, spec) -> str:
        return f"perfmodel_tools profile; {self.device.describe()}; {self.framework}; {spec.source}"


def _short(err: Exception) -> str:
    return (str(err).strip().splitlines() or [type(err).__name__])[0][:160]


def plan(names: list, images: list, batches: list, dtypes: list, layouts: list, sample: float, seed: int) -> list:
    """All combinations, a random part of them, in a random order of visits, small batches first in each."""
    rng = random.Random(seed)
    tasks = [Task(*combination) for combination in itertools.product(names, images, batches, dtypes, layouts)]
    tasks = [task for task in tasks if rng.random() < sample]
    visits = {}
    for task in sorted(tasks, key=lambda t: t.batch):
        visits.setdefault(task.visit, []).append(task)
    groups = list(visits.values())
    rng.shuffle(groups)
    return [task for group in groups for task in group]


def default_framework(device) -> str:
    """'pytorch 2.1.0 cu121', without the build's own suffix."""
    return f"pytorch {models.release('torch')} {device.backend}"


def main(args) -> int:
    """Entry of `python3 -m perfmodel_tools profile`."""
    device = open_device(args.device, args.threads)
    if args.device_name:
        device.name = args.device_name
    names = list(args.models) + (models.torchvision_names() if args.all else [])
    names = [name for name in names if name.rpartition(":")[2] not in args.exclude]
    if not names:
        raise models.ModelError("no model named; see --help")
    dtypes = [dtype for dtype in args.dtype if device.has(dtype)]
    tasks = plan(names, args.image or [None], args.batch, dtypes, args.layout, args.sample, args.seed)
    deadline = time.monotonic() + (60 * args.time_limit if args.time_limit else float("inf"))
    limits = Limits(warmup=args.warmup, steps=args.steps, min_steps=args.min_steps,
                    max_step_s=args.max_step, row_s=args.row_budget)
    progress = Progress(len(tasks), args.quiet)
    profiler = Profiler(device, Table(args.output), limits, args.framework or default_framework(device),
                        deadline, progress)
    for dtype in set(args.dtype) - set(dtypes):
        progress.note(f"skipped {dtype}: {device.name} has no such number format")
    progress.note(f"{len(tasks)} configurations on {device.name}; {device.memory_note}")
    profiler.run(tasks)
    profiler.run_disturbed()
    if args.max_spread:
        profiler.remeasure(tasks, args.max_spread)
    return 0


def add_arguments(parser) -> None:
    """Command line of the profiler."""
    parser.add_argument("models", nargs="*", metavar="MODEL",
                        help="torchvision:NAME (or just NAME), timm:NAME, transformers:TYPE, path/to/file.py:function")
    parser.add_argument("--all", action="store_true", help="all classification models of torchvision")
    parser.add_argument("--exclude", nargs="*", default=[], metavar="NAME", help="model names to leave out")
    parser.add_argument("-o", "--output", default="profiles.csv", metavar="FILE",
                        help="CSV file; rows already in it are not measured again (default: %(default)s)")
    parser.add_argument("--image", type=int, nargs="*", metavar="N",
                        help="image sizes (default: the model's usual one)")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32], metavar="N",
                        help="batch sizes (default: %(default)s)")
    parser.add_argument("--dtype", nargs="+", default=["fp32"], choices=["fp32", "tf32", "amp", "bf16", "fp16"],
                        help="number formats; amp is float16 on CUDA and bfloat16 on the CPU (default: fp32)")
    parser.add_argument("--layout", nargs="+", default=["nchw"], choices=["nchw", "nhwc"],
                        help="memory formats; nhwc is PyTorch's channels_last (default: nchw)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument("--device-name", metavar="NAME",
                        help="what to write in the column gpu (default: as the device calls itself)")
    parser.add_argument("--framework", metavar="TEXT",
                        help="what to write in the column framework (default: 'pytorch VERSION BACKEND')")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="CPU threads (default: %(default)s)")
    parser.add_argument("--warmup", type=int, default=10, metavar="N", help="warm-up steps (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=30, metavar="N",
                        help="timed steps, at most (default: %(default)s)")
    parser.add_argument("--min-steps", type=int, default=5, metavar="N",
                        help="timed steps even when --row-budget is used up (default: %(default)s)")
    parser.add_argument("--row-budget", type=float, default=float("inf"), metavar="S",
                        help="seconds for the timed steps of one row (default: no limit)")
    parser.add_argument("--max-step", type=float, default=float("inf"), metavar="S",
                        help="skip configurations whose step takes longer than this many seconds")
    parser.add_argument("--max-spread", type=float, default=0.25, metavar="X",
                        help="measure rows with a larger spread once more at the end; 0: never (default: %(default)s)")
    parser.add_argument("--time-limit", type=float, metavar="MIN", help="stop after this many minutes")
    parser.add_argument("--sample", type=float, default=1.0, metavar="P",
                        help="measure a random part of the combinations (default: all)")
    parser.add_argument("--seed", type=int, default=1, metavar="N",
                        help="order and sample of the configurations (default: %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
