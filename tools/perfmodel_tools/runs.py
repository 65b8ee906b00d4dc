"""Exports of MLflow and Weights & Biases as measurements.

    mlflow experiments csv -x 1 -o runs.csv          # or mlflow.search_runs().to_csv("runs.csv")
    python3 -m perfmodel_tools runs runs.csv --graph params.model --gpu params.gpu --batch params.batch_size --step-s metrics.step_time -o profiles.csv

    (W&B: the table of runs, "Export as CSV"; or the same columns from wandb.Api().runs())
    python3 -m perfmodel_tools runs wandb.csv --graph model --gpu gpu --batch batch_size --step-ms step_ms -o profiles.csv

Needs neither of the two programs. A run that has not finished, or lacks a value, is left out and counted.
"""

import argparse
import collections
import csv
import math
import sys

FIELDS = ["graph", "gpu", "batch", "dtype", "layout", "framework", "optimizer", "world_size", "nodes"]
COLUMNS = FIELDS + ["step_ms", "measured_at", "source"]
# How the two programs call these, where one does not say.
STATUS = ["status", "State", "state"]
ENDED = ["end_time", "Created", "created_at", "start_time"]
FINISHED = {"finished", "FINISHED"}


class RunsError(Exception):
    """What is wrong with the file or the arguments, in one line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="CSV of runs, as MLflow or Weights & Biases exports them")
    for name in FIELDS:
        parser.add_argument("--" + name.replace("_", "-"), metavar="COLUMN", required=name in ("graph", "batch"),
                            help=f"column with the {name.replace('_', ' ')}; =VALUE: the same for all")
    time = parser.add_mutually_exclusive_group(required=True)
    time.add_argument("--step-ms", metavar="COLUMN", help="column with the milliseconds of a step")
    time.add_argument("--step-s", metavar="COLUMN", help="column with the seconds of a step")
    time.add_argument("--samples-per-s", metavar="COLUMN", help="column with the samples per second of all devices")
    parser.add_argument("--status", metavar="COLUMN", help="column with the state of a run (default: status, State); only finished ones are taken")
    parser.add_argument("--measured-at", metavar="COLUMN", help="column with the time (default: end_time, Created)")
    parser.add_argument("-o", "--output", default="-", help="CSV of profiles for perfmodel_tools import; - (default): standard output")


def _number(text) -> float:
    """A finite number above 0; else ValueError."""
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise ValueError(text)
    return value


def _whole(text) -> str:
    """A whole number above 0, also where it is written as 64.0; else ValueError."""
    value = _number(text)
    if value != int(value):
        raise ValueError(text)
    return str(int(value))


def _value(row: dict, column) -> str:
    if column is None:
        return ""
    return column[1:] if column.startswith("=") else (row[column] or "").strip()


def step_ms(row: dict, args) -> float:
    """The time of a step in ms; ValueError where the run does not say."""
    if args.step_ms:
        return _number(_value(row, args.step_ms))
    if args.step_s:
        return 1000 * _number(_value(row, args.step_s))
    world = _number(_value(row, args.world_size) or 1)
    return 1000 * _number(_value(row, args.batch)) * world / _number(_value(row, args.samples_per_s))


def to_profile(row: dict, args, program: str) -> dict:
    """One run as a row of perfmodel.profile; ValueError with what is missing."""
    out = {name: _value(row, getattr(args, name)) for name in FIELDS}
    for name in ("batch", "world_size", "nodes"):
        out[name] = _whole(out[name] or ("" if name == "batch" else 1)) if out[name] or name != "nodes" else ""
    for name in ("graph", "gpu"):
        if not out[name]:
            raise ValueError(name)
    ms = step_ms(row, args)
    out.update(dtype=out["dtype"] or "fp32", layout=out["layout"] or "nchw", optimizer=out["optimizer"] or "sgd_momentum",
               step_ms=f"{ms:.6g}", measured_at=_value(row, args.measured_at), source=program)
    return out


def _columns(args, names: list) -> None:
    """Fill in what is not said, and refuse columns that the file does not have."""
    args.status = args.status or next((name for name in STATUS if name in names), None)
    args.measured_at = args.measured_at or next((name for name in ENDED if name in names), None)
    asked = [getattr(args, name) for name in FIELDS] + [args.step_ms, args.step_s, args.samples_per_s, args.status, args.measured_at]
    for column in asked:
        if column and not column.startswith("=") and column not in names:
            raise RunsError(f"{args.file} has no column '{column}'; it has {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}")


def convert(rows: list, args) -> tuple:
    """(profiles, how many runs were left out for which reason)."""
    program = "mlflow" if any(name.startswith(("params.", "metrics.")) for name in rows[0]) else "runs"
    profiles, left_out = [], collections.Counter()
    for row in rows:
        if args.status and _value(row, args.status) not in FINISHED:
            left_out["not finished"] += 1
            continue
        try:
            profiles.append(to_profile(row, args, program))
        except (ValueError, TypeError):
            left_out["without graph, GPU, batch or time, or with a number that cannot be right"] += 1
    return profiles, left_out


def main(args) -> int:
    try:
        with open(args.file, newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file))
    except (csv.Error, UnicodeDecodeError) as err:
        raise RunsError(f"{args.file} is no CSV: {err}") from err
    if not rows:
        raise RunsError(f"{args.file} has no runs")
    # DictReader keeps what has no name in the header under None
    longer = next((number for number, row in enumerate(rows, 1) if None in row), None)
    if longer:
        raise RunsError(f"{args.file}, run {longer}: more fields than the header names")
    if args.gpu is None:
        raise RunsError("say which GPU the runs had: --gpu COLUMN, or --gpu '=A100-SXM4-80GB' for all")
    _columns(args, list(rows[0]))
    profiles, left_out = convert(rows, args)
    file = sys.stdout if args.output == "-" else open(args.output, "w", newline="", encoding="utf-8")
    with file if file is not sys.stdout else _stay_open(file) as out:
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(profiles)
    print(f"{len(profiles)} of {len(rows)} runs" + "".join(f"; {n} {why}" for why, n in left_out.items()), file=sys.stderr)
    return 0


class _stay_open:
    """A file that is not closed at the end of a with statement."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self.file

    def __exit__(self, *error):
        self.file.flush()
