"""Measure training steps or forward passes of many models and write them to a CSV file, one row at a time."""

import collections
import contextlib
import csv
import dataclasses
import datetime
import itertools
import random
import statistics
import time
from typing import Optional

from . import database, models, zoo
from .cost import CostModel, count
from .device import open_device
from .export import MODEL_HELP, ExportError, export_graph, to_line
from .measure import OPTIMIZERS, Limits, Runner, Skip, make_runner, measure
from .progress import Progress
from .table import CsvTable

COLUMNS = ("graph,model,gpu,batch,dtype,layout,framework,mode,optimizer,world_size,nodes,step_ms,"
           "forward_ms,backward_ms,update_ms,peak_memory_mb,spread,steps,measured_at,source,fits_batch,oom_batch").split(",")
BRACKET = COLUMNS[-2:]  # files of earlier versions do not have them
KEY = COLUMNS[:11]
SAME_STEP = [name for name in KEY if name != "batch"]
DTYPES = ("fp32", "tf32", "amp", "bf16", "fp16")
LAYOUTS = ("nchw", "nhwc")
MODES = ("train", "inference")
NO_OPTIMIZER = "none"   # of a forward pass
MIN_SHARE = 0.97        # a process that had less of its core was disturbed, and its times are too long


@dataclasses.dataclass(frozen=True)
class Task:
    """One configuration to measure."""

    name: str           # as models.resolve() takes it
    size: Optional[int]
    batch: int
    dtype: str
    layout: str
    optimizer: str = "sgd_momentum"
    mode: str = "train"

    @property
    def visit(self) -> tuple:
        """Tasks with the same visit share one built model."""
        return (self.name, self.size, self.dtype, self.layout, self.optimizer, self.mode)


class Table(CsvTable):
    """The CSV file of profiles."""

    def __init__(self, path: str):
        super().__init__(path, COLUMNS, len(BRACKET))

    @staticmethod
    def key(row: dict) -> tuple:
        return tuple(str(row[name]) for name in KEY)

    def replace(self, row: dict) -> None:
        """Put a row in the place of the one with the same key."""
        key = self.key(row)
        self.rewrite([row if self.key(old) == key else old for old in self.rows])


class Passes:
    """Every measurement of every pass, in a file beside the table, so that a second pass can be interrupted too."""

    def __init__(self, path: str):
        self._table = Table(path)
        self._count = collections.Counter(map(Table.key, self._table.rows))

    def done(self, key: tuple) -> int:
        """Passes in which a row has been measured."""
        return self._count[key]

    def append(self, row: dict) -> None:
        self._table.append(row)
        self._count[Table.key(row)] += 1

    def ratios(self) -> list:
        """Second measurement over the first, for rows that have both."""
        times = collections.defaultdict(list)
        for row in self._table.rows:
            times[Table.key(row)].append(float(row["step_ms"]))
        return [later[1] / later[0] for later in times.values() if len(later) > 1]


@dataclasses.dataclass
class Quality:
    """When a measurement counts as disturbed, and what happens to it."""

    max_spread: float = 0.25        # 0: any
    strict: bool = False            # leave out what stays disturbed

    def reason(self, result) -> str:
        """Why a result is not good enough, '' when it is."""
        if result.share < MIN_SHARE:
            return f"had the core {result.share:.0%} of the time"
        if self.strict and 0 < self.max_spread < result.spread:
            return f"spread {result.spread:.3f}"
        return ""


class Profiler:
    """Goes through the tasks, visit by visit."""

    def __init__(self, device, table, limits: Limits, framework: str, deadline: float, progress: Progress,
                 quality: Quality = Quality(), passes: Optional[Passes] = None, name: Optional[str] = None):
        """TABLE is a Table or database.Profiles; NAME, when given, is that of the only graph."""
        self.device, self.table, self.limits = device, table, limits
        self.framework, self.deadline, self.progress = framework, deadline, progress
        self.quality, self.passes, self.name = quality, passes, name
        self.pass_number = 1
        self.cost = CostModel(device)
        self._counts = {}
        self._tries = collections.Counter()     # tasks during which other processes took the core
        self._last_round = False
        self._out = {}                          # the smallest batch of a visit that ran out of memory

    def spec(self, task: Task):
        """The model of a task, under the name that its graph is to have."""
        found = models.resolve(task.name, task.size)
        if self.name:
            model, _, variant = self.name.partition("@")
            found = dataclasses.replace(found, model=model, variant=variant)
        return found

    def find(self, task: Task):
        """As spec(), but None for a model that cannot be found: one misspelt name must not cost the other models."""
        try:
            return self.spec(task)
        except models.ModelError:
            return None

    def _key_of(self, task: Task) -> Optional[tuple]:
        """Key of a task's row, None for a model that cannot be found."""
        spec = self.find(task)
        return Table.key(self._row(spec, task, None)) if spec else None

    def run(self, tasks: list) -> None:
        """Measure every task that is not in the table yet, until the deadline."""
        if self._visits(tasks):
            self.progress.note("done")

    def _visits(self, tasks: list, again: bool = False) -> bool:
        """Visit after visit; False when the deadline came first. A model that fails is reported and passed over."""
        for _, group in itertools.groupby(tasks, key=lambda task: task.visit):
            if time.monotonic() > self.deadline:
                self.progress.note("the time limit is reached: stopping here")
                return False
            group = list(group)
            try:
                self._visit(group, again)
            except models.ModelError as err:
                self.progress.step(f"skipped {group[0].name}: {err}", len(group))
        return True

    def _is_done(self, spec, task: Task, present: set) -> bool:
        key = Table.key(self._row(spec, task, None))
        if self.passes is None or (key in present and self.passes.done(key) == 0):
            return key in present               # from an earlier campaign: not touched
        return self.passes.done(key) >= self.pass_number

    def _visit(self, group: list, again: bool = False) -> None:
        spec = self.spec(group[0])
        present = {Table.key(row) for row in self.table.rows}
        tasks = [t for t in group if again or not self._is_done(spec, t, present)]
        if len(tasks) < len(group):
            self.progress.step(f"{spec.graph}: {len(group) - len(tasks)} rows present", len(group) - len(tasks))
        if tasks:
            self._learn_from_table(spec)
        tasks = [t for t in tasks if self._fits(spec, t)]
        if not tasks:
            return
        self.device.set_memory_base()
        try:
            runner = make_runner(self.device.build(spec.build), self.device, *tasks[0].visit[2:])
        except Exception as err:        # one network that cannot be made must not end a campaign, whatever it raises
            self.progress.step(f"skipped {spec.graph}: {_short(err)}", len(tasks))
            return
        for task in tasks:
            if task.batch >= self._out.get(task.visit, float("inf")):
                self.progress.step(f"skipped {spec.graph} batch {task.batch}: batch {self._out[task.visit]} does not fit in memory")
                continue
            self._measure(spec, runner, task, again)

    def _fits(self, spec, task: Task) -> bool:
        """Whether time and memory are expected to do; says so if not."""
        try:
            counts = self._count(spec)
        except Exception as err:                # whatever the model raises: it cannot run at this size
            self.progress.step(f"skipped {spec.graph} batch {task.batch}: {_short(err)}")
            return False
        seconds, need = self.cost.seconds(spec.model, counts, task.batch, task.mode), self.cost.bytes(counts, task.batch, task.mode)
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
                self.cost.learn(spec.model, counts, int(row["batch"]), float(row["step_ms"]) / 1e3, row["mode"])

    def _count(self, spec) -> dict:
        if spec.graph not in self._counts:
            self._counts[spec.graph] = count(spec.build, spec.make_input)
        return self._counts[spec.graph]

    def _measure(self, spec, runner: Runner, task: Task, again: bool) -> None:
        label = f"{spec.graph} batch {task.batch} {task.dtype} {task.layout} {'inference' if task.mode == 'inference' else task.optimizer}"
        result = self._result(spec, runner, task, label)
        if result is None:
            return
        reason = self.quality.reason(result)
        if reason and not self._accept(task):
            self._tries[task] += 1
            self.progress.step(f"{label}: {reason}, {'left out' if self._last_round else 'put off'}")
            return
        self.cost.learn(spec.model, self._count(spec), task.batch, result.step_ms / 1e3, task.mode)
        row = self._row(spec, task, result)
        if self.passes is not None and not again:
            self.passes.append(row)
        self._keep(row, again, self._out.get(task.visit))
        self.progress.step(f"{label}: {result.step_ms:.1f} ms, spread {result.spread:.3f}{self._busy(result)}")

    def _busy(self, result) -> str:
        """What --busy adds to the report of a row."""
        if not self.limits.busy:
            return ""
        if result.busy_ms is None:
            return ", no busy time on this device"
        return f", device busy {result.busy_ms / result.step_ms:.0%} of the step, {result.kernels} kernels"

    def _result(self, spec, runner: Runner, task: Task, label: str):
        """The measurement, None when it is not possible; says why."""
        try:
            inputs = spec.make_input(task.batch, device=self.device.torch_device)
            return measure(runner, inputs, self.limits)
        except Skip as err:
            self.progress.step(f"skipped {label}: {err}")
        except Exception as err:        # nor one that cannot run
            out = self.device.is_out_of_memory(err)
            self.progress.step(f"skipped {label}: {'does not fit in memory' if out else _short(err)}")
            if out:
                self._out[task.visit] = min(task.batch, self._out.get(task.visit, task.batch))
                self._mark_bracket(self._row(spec, task, None), task.batch)
        finally:
            runner.clear()
        return None

    def _mark_bracket(self, like: dict, out: Optional[int] = None) -> None:
        """The row of the largest batch that fits says so, and which is the smallest that does not; OUT: one that did not just now."""
        rows = [row for row in self.table.rows if all(str(row[name]) == str(like[name]) for name in SAME_STEP)]
        known = [int(row["oom_batch"]) for row in rows if row.get("oom_batch")] + ([out] if out else [])
        fitting = [row for row in rows if known and int(row["batch"]) < min(known)]
        if not fitting:
            return
        largest = max(fitting, key=lambda row: int(row["batch"]))
        for row in rows:
            wanted = (str(largest["batch"]), str(min(known))) if row is largest else ("", "")
            if tuple(str(row.get(name) or "") for name in BRACKET) != wanted:
                self.table.replace({**row, **dict(zip(BRACKET, wanted))})

    def _accept(self, task: Task) -> bool:
        """Whether a disturbed result is stored all the same."""
        return self._tries[task] > 0 and not self.quality.strict

    def _keep(self, row: dict, again: bool, out: Optional[int]) -> None:
        """Add a row, or let it take the place of a worse one of the same configuration; OUT: the smallest batch that did not fit."""
        key = Table.key(row)
        old = next((old for old in self.table.rows if Table.key(old) == key), None)
        if old is None:
            self.table.append(row)
            self._mark_bracket(row, out)
            return
        # Of two passes the faster counts, since other work only lengthens a step; of a repetition because of
        # the spread, the quieter.
        figure = "spread" if again else "step_ms"
        if not old[figure] or float(old[figure]) > float(row[figure]):
            self.table.replace({**row, **{name: old.get(name) or "" for name in BRACKET}})

    def run_disturbed(self, rounds: int = 1) -> None:
        """Give tasks that were put off another chance."""
        for number in range(rounds):
            tasks = [task for task, tries in self._tries.items() if tries == number + 1]
            if not tasks:
                return
            self._last_round = number == rounds - 1
            self.progress.note(f"measuring {len(tasks)} configurations that were put off")
            self.progress = Progress(len(tasks), self.progress.quiet)
            self.run(tasks)
        self._last_round = False

    def remeasure(self, tasks: list, threshold: float) -> None:
        """Measure rows whose spread is over the threshold once more and keep the quieter result."""
        noisy = {Table.key(row) for row in self.table.rows if row["spread"] and float(row["spread"]) > threshold}
        again = [t for t in tasks if self._key_of(t) in noisy]
        if again:
            self.progress.note(f"measuring {len(again)} rows with a spread over {threshold:g} once more")
            self.progress = Progress(len(again), self.progress.quiet)
            self._visits(again, again=True)

    def recheck(self, number: int, seed: int, tasks: list) -> bool:
        """Measure rows that are there once more and say how the times compare; nothing is stored. False if none could be
        measured: there are none of this device and framework, or their models are neither known nor among the tasks."""
        named = {spec.graph: (task.name, task.size) for task in tasks if (spec := self.find(task))}
        rows = [row for row in self.table.rows if row["gpu"] == self.device.name and row["framework"] == self.framework]
        chosen = random.Random(seed).sample(rows, min(number, len(rows)))
        ratios, unknown, measured = [], [], 0
        for row in chosen:
            try:
                name, size = named.get(row["graph"]) or models.of_graph(row["graph"])
                task = Task(name, size, int(row["batch"]), row["dtype"], row["layout"], row["optimizer"], row["mode"])
                spec = self.spec(task)
            except (models.ModelError, ValueError):
                unknown.append(row["graph"])    # a model of somebody's own, which its graph's name does not lead to
                continue
            self.device.set_memory_base()
            runner = make_runner(self.device.build(spec.build), self.device, *task.visit[2:])
            result = self._result(spec, runner, task, row["graph"])
            if result is None:
                continue
            measured += 1
            ratio, reason = result.step_ms / float(row["step_ms"]), self.quality.reason(result)
            self.progress.note(f"check: {row['graph']} batch {task.batch}: {float(row['step_ms']):.1f} ms in the table, "
                               f"{result.step_ms:.1f} now, {ratio:.3f} times" + (f", not counted: {reason}" if reason else ""))
            if not reason:
                ratios.append(ratio)
        if ratios:
            ratios.sort()
            self.progress.note(f"check: {len(ratios)} rows measured again took {statistics.median(ratios):.3f} times as long "
                               f"at the median, {ratios[0]:.3f} to {ratios[-1]:.3f}")
        if not rows:
            self.progress.note(f"check: the table has no rows of {self.device.name} with {self.framework}")
        if unknown:
            self.progress.note(f"check: {len(unknown)} of {len(chosen)} rows are of models that are not known, such as that of "
                               f"{unknown[0]}: name their models on the command line")
        return measured > 0

    def _row(self, spec, task: Task, result) -> dict:
        """A CSV row; with no result only its key columns."""
        row = dict(graph=spec.graph, model=spec.model, gpu=self.device.name, batch=task.batch, dtype=task.dtype,
                   layout=task.layout, framework=self.framework, mode=task.mode, optimizer=task.optimizer,
                   world_size=1, nodes=1)
        if result is not None:
            row.update(step_ms=f"{result.step_ms:.4f}", **{name: f"{ms:.4f}" for name, ms in result.parts.items()},
                       peak_memory_mb=f"{result.peak_memory_mb:.1f}", spread=f"{result.spread:.4f}",
                       steps=result.steps, source=self._source(spec),
                       measured_at=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))
        return row

    def _source(self, spec) -> str:
        return f"perfmodel_tools profile; {self.device.describe()}; {self.framework}; {spec.source}"


def _short(err: Exception) -> str:
    """One line of an error; those that are no message to people have their type before it."""
    line = (str(err).strip().splitlines() or [""])[0][:160]
    return line if line and isinstance(err, (RuntimeError, ValueError, models.ModelError)) else f"{type(err).__name__}: {line}".rstrip(": ")


def plan(names: list, images, batches: list, dtypes: list, layouts: list, sample: float, seed: int, seqs=None,
         optimizers=("sgd_momentum",), modes=("train",)) -> list:
    """All combinations, a random part of them, in a random order of visits, small batches first in each."""
    rng = random.Random(seed)
    ways = [(optimizer, "train") for optimizer in optimizers if "train" in modes]
    ways += [(NO_OPTIMIZER, "inference")] if "inference" in modes else []
    tasks = [Task(name, size, batch, dtype, layout, *way) for name in names for size in models.sizes(name, images, seqs)
             for batch, dtype, layout, way in itertools.product(batches, dtypes, layouts, ways)]
    return in_visits([task for task in tasks if rng.random() < sample], rng)


def in_visits(tasks: list, rng: random.Random) -> list:
    """Tasks in a random order of visits, so that a noisy minute does not fall on one model."""
    visits = {}
    for task in sorted(tasks, key=lambda t: t.batch):
        visits.setdefault(task.visit, []).append(task)
    groups = list(visits.values())
    rng.shuffle(groups)
    return [task for group in groups for task in group]


def _way(row: dict) -> tuple:
    """Optimizer and mode of a row of a plan."""
    mode = row.get("mode") or "train"
    return (NO_OPTIMIZER if mode == "inference" else row.get("optimizer") or "sgd_momentum", mode)


def read_plan(path: str, seed: int) -> list:
    """Tasks of a CSV with the columns graph, batch and, where not fp32, nchw, sgd_momentum and train, dtype, layout, optimizer and mode."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        tasks = [Task(*models.of_graph(row["graph"] or ""), int(row["batch"] or ""), row.get("dtype") or "fp32", row.get("layout") or "nchw",
                      *_way(row)) for row in rows]
    except (OSError, KeyError, ValueError, csv.Error) as err:
        raise models.ModelError(f"{path} is no plan (a CSV with graph and batch): {err!r}") from err
    except models.ModelError as err:
        raise models.ModelError(f"{path}: {err}") from err
    for what, known, used in (("number format", DTYPES, [task.dtype for task in tasks]),
                              ("layout", LAYOUTS, [task.layout for task in tasks]),
                              ("mode", MODES, [task.mode for task in tasks]),
                              ("optimizer", tuple(OPTIMIZERS), [task.optimizer for task in tasks if task.mode == "train"])):
        unknown = sorted(set(used) - set(known))
        if unknown:
            raise models.ModelError(f"{path}: unknown {what} '{unknown[0]}': there is {', '.join(known)}")
    return in_visits(tasks, random.Random(seed))


def _on_device(dtypes, device, progress: Progress) -> list:
    """Those of the number formats that the device has; says which it lacks."""
    for dtype in dtypes:
        if not device.has(dtype):
            progress.note(f"skipped {dtype}: {device.name} has no such number format")
    return [dtype for dtype in dtypes if device.has(dtype)]


def default_framework(device) -> str:
    """'pytorch 2.1.0 cu121', without the build's own suffix."""
    return f"pytorch {models.release('torch')} {device.backend}"


def _tasks(args, device, progress: Progress) -> list:
    """What the arguments ask for, as far as the device can."""
    if args.plan and args.name:
        raise models.ModelError("--name and --plan exclude each other: a plan names its graphs, and one name cannot serve all")
    if args.plan:
        tasks = read_plan(args.plan, args.seed)
        dtypes = _on_device(sorted({task.dtype for task in tasks}), device, progress)
        return [task for task in tasks if task.dtype in dtypes]
    names = list(args.models) + (models.torchvision_names() if args.all else []) + (list(zoo.NETWORKS) if args.zoo else [])
    names = [name for name in names if name.rpartition(":")[2] not in args.exclude]
    if not names and not args.recheck:
        raise models.ModelError("no model named; see --help")
    dtypes = _on_device(args.dtype, device, progress)
    tasks = plan(names, args.image, args.batch, dtypes, args.layout, args.sample, args.seed, args.seq, args.optimizer,
                 args.mode)
    if args.name and len({(task.name, task.size) for task in tasks}) != 1:
        raise models.ModelError("--name needs exactly one model and one size")
    return tasks


def _graph_line(profiler: Profiler, tasks: list):
    """Gives the graph of a row as a line of JSON: what a database needs that does not have it yet."""
    def line(row: dict) -> str:
        specs = (profiler.find(task) for task in tasks)
        spec = next((spec for spec in specs if spec and spec.graph == row["graph"]), None)
        if spec is None:
            raise models.ModelError(f"no model makes the graph '{row['graph']}'")
        try:
            return to_line(export_graph(spec))
        except ExportError as err:              # what can be run cannot always be exported
            raise models.ModelError(str(err)) from err
    return line


@contextlib.contextmanager
def _open_table(args, device, tasks: list, make):
    """The profiler with its rows: in a file, or with --import in a database."""
    if not args.import_:
        yield make(Table(args.output or "profiles.csv"))
        return
    if args.output:
        raise models.ModelError("--import and --output exclude each other; `import` loads a file later")
    with database.connect(args.db) as db:
        device.name = database.device_name(db, device.name)     # before hours are spent on a device that is not known
        profiler = make(None)
        profiler.table = database.Profiles(db, device.name, _graph_line(profiler, tasks))
        yield profiler


def main(args) -> int:
    """Entry of `python3 -m perfmodel_tools profile`."""
    device = open_device(args.device, args.threads)
    if args.device_name:
        device.name = args.device_name
    device.search_kernels(not args.no_cudnn_benchmark)
    progress = Progress(1, args.quiet)
    tasks = _tasks(args, device, progress)
    if args.passes > 1 and args.import_:
        raise models.ModelError("--passes needs a file, not --import")
    limits = Limits(warmup=args.warmup, steps=args.steps, min_steps=args.min_steps, max_step_s=args.max_step,
                    row_s=args.row_budget, busy=args.busy)
    deadline = time.monotonic() + 60 * args.time_limit if args.time_limit else float("inf")

    def make(table):
        return Profiler(device, table, limits, args.framework or default_framework(device), deadline,
                        Progress(len(tasks), args.quiet), Quality(args.max_spread, args.strict),
                        Passes((args.output or "profiles.csv") + ".passes") if args.passes > 1 else None, args.name)

    with _open_table(args, device, tasks, make) as profiler:
        progress.note(f"{len(tasks)} configurations on {device.name}; {device.memory_note}")
        checked = not args.recheck or profiler.recheck(args.recheck, args.seed, tasks)
        for profiler.pass_number in range(1, args.passes + 1):
            profiler.progress = Progress(len(tasks), args.quiet)
            profiler.run(tasks)
            profiler.run_disturbed(args.retries)
            tasks = in_visits(tasks, random.Random(args.seed + profiler.pass_number))
        if args.max_spread and not args.strict:
            profiler.remeasure(tasks, args.max_spread)
        ratios = profiler.passes.ratios() if profiler.passes else []
        if ratios:
            progress.note(f"{len(ratios)} rows were measured twice; the second took {statistics.median(ratios):.3f} times as long "
                          "at the median; the faster of the two was kept")
    return 0 if checked else 1


def add_arguments(parser) -> None:
    """Command line of the profiler."""
    what = parser.add_argument_group("what to measure")
    what.add_argument("models", nargs="*", metavar="MODEL", help=MODEL_HELP)
    what.add_argument("--all", action="store_true", help="all classification models of torchvision")
    what.add_argument("--zoo", action="store_true", help="all networks of the zoo")
    what.add_argument("--plan", metavar="FILE",
                      help="instead of models and sizes: a CSV with the columns graph and batch (and dtype, layout, optimizer, mode)")
    what.add_argument("--exclude", nargs="*", default=[], metavar="NAME", help="model names to leave out")
    what.add_argument("--name", help="name of the graph, for one model (default: model@size)")
    what.add_argument("--image", type=int, nargs="*", metavar="N",
                      help="image sizes, for models of images (default: the model's usual one)")
    what.add_argument("--seq", type=int, nargs="*", metavar="N",
                      help="lengths, for models of sequences (default: the model's usual one)")
    what.add_argument("--batch", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32], metavar="N",
                      help="batch sizes (default: %(default)s)")
    what.add_argument("--dtype", nargs="+", default=["fp32"], choices=DTYPES,
                      help="number formats; amp is float16 on CUDA and bfloat16 on the CPU (default: fp32)")
    what.add_argument("--layout", nargs="+", default=["nchw"], choices=LAYOUTS,
                      help="memory formats; nhwc is PyTorch's channels_last (default: nchw)")
    what.add_argument("--optimizer", nargs="+", default=["sgd_momentum"], choices=tuple(OPTIMIZERS),
                      help="what updates the weights, as PyTorch does it by default (default: sgd_momentum)")
    what.add_argument("--mode", nargs="+", default=["train"], choices=MODES,
                      help="train: training steps; inference: forward passes in evaluation mode without gradients (default: train)")
    what.add_argument("--sample", type=float, default=1.0, metavar="P",
                      help="measure a random part of the combinations (default: all)")
    what.add_argument("--seed", type=int, default=1, metavar="N",
                      help="order and sample of the configurations (default: %(default)s)")
    what.add_argument("--recheck", type=int, default=0, metavar="N",
                      help="first measure N rows that are there once more and say how the times compare")
    add_place_arguments(parser.add_argument_group("where"), "profiles.csv", "put the rows, and graphs that are missing, into a database")
    how = parser.add_argument_group("how long and how well")
    how.add_argument("--warmup", type=int, default=10, metavar="N", help="warm-up steps (default: %(default)s)")
    how.add_argument("--steps", type=int, default=30, metavar="N", help="timed steps, at most (default: %(default)s)")
    how.add_argument("--min-steps", type=int, default=5, metavar="N",
                     help="timed steps even when --row-budget is used up (default: %(default)s)")
    how.add_argument("--row-budget", type=float, default=float("inf"), metavar="S",
                     help="seconds for the timed steps of one row (default: no limit)")
    how.add_argument("--max-step", type=float, default=float("inf"), metavar="S",
                     help="skip configurations whose step takes longer than this many seconds")
    how.add_argument("--max-spread", type=float, default=0.25, metavar="X",
                     help="measure rows with a larger spread once more at the end; 0: never (default: %(default)s)")
    how.add_argument("--passes", type=int, default=1, metavar="N",
                     help="measure everything N times, each time in another order, and keep the fastest (default: %(default)s)")
    how.add_argument("--retries", type=int, default=1, metavar="N",
                     help="further chances for what was disturbed (default: %(default)s)")
    how.add_argument("--strict", action="store_true", help="leave out what stays disturbed or over --max-spread")
    how.add_argument("--no-cudnn-benchmark", action="store_true",
                     help="let cuDNN guess its kernels, as PyTorch does by default; the search takes seconds for each network and batch")
    how.add_argument("--busy", action="store_true",
                     help="on CUDA, see after each row for which part of a step the device is busy: where it is not, the host is measured")
    how.add_argument("--time-limit", type=float, metavar="MIN", help="stop after this many minutes")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")


def add_place_arguments(parser, output: str, purpose: str) -> None:
    """Where to run and where rows go: shared with the profiler of operators."""
    parser.add_argument("-o", "--output", metavar="FILE",
                        help=f"CSV file; rows already in it are not measured again (default: {output})")
    database.add_arguments(parser, purpose)
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (default: cpu)")
    parser.add_argument("--device-name", metavar="NAME",
                        help="what to write in the column gpu (default: as the device calls itself)")
    parser.add_argument("--framework", metavar="TEXT",
                        help="what to write in the column framework (default: 'pytorch VERSION BACKEND')")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="CPU threads (default: %(default)s)")
