#!/usr/bin/env python3
"""The leaderboard, from the results of run.sh.

    report.py RESULTS [TABLE.md [PROFILES.csv]]        default: standard output

PROFILES.csv: the rows of timm, to tell what one of its measurements says of another.

Needs only the standard library.
"""
import csv
import glob
import math
import os
import random
import statistics
import sys
from collections import defaultdict

OURS = "mdot"
BOOSTING = ("boosting", "boosting_sum")
ENOUGH = 5          # rows of a family
RESAMPLES = 1000
CLIFF = 15          # percent, of a family
BEFORE = "pytorch 1.11 cu113"
SETS = {
    "timm-nchw": "RTX 3090, AMP, nchw: timm benchmark, PyTorch 1.12",
    "timm-nhwc": "RTX 3090, AMP, nhwc: timm benchmark, PyTorch 1.12",
    "data": "one CPU core, fp32: data/",
}
SPLITS = {
    "structure": "5 folds of networks",
    "family10": "one family left out (each of the ten largest)",
    "family": "5 folds of whole families",
    "far": "5 folds of networks unlike the others",
    "batch": "trained up to the median batch, tested above",
}
ORDER = [(s, p) for s in SETS for p in SPLITS]


class Cell:
    """One fold of one method: facts, rows (family, structure, layout, measured, predicted), in the same order what was
    asked (graph, gpu, batch), and of runs with intervals those (low, high, in the domain; None: none)."""

    def __init__(self, path):
        self.facts = {}
        self.rows = []
        self.asked = []
        self.trust = []
        header = None
        with open(path) as f:
            for line in f:
                line = line.rstrip("\n")
                if line.startswith("# "):
                    key, _, value = line[2:].partition("=")
                    self.facts[key] = value
                elif header is None:
                    header = line.split(",")
                else:
                    r = dict(zip(header, line.split(",")))
                    self.rows.append((r["family"], r["structure"], r["layout"], float(r["step_ms"]), float(r["predicted_ms"])))
                    self.asked.append((r["graph"], r["gpu"], r["batch"]))
                    if "low_ms" in r:
                        known = r["low_ms"] and r["high_ms"]
                        self.trust.append((float(r["low_ms"]), float(r["high_ms"]), r["in_domain"] == "1") if known else None)

    def number(self, key):
        return float(self.facts.get(key, "nan"))


def load(folder):
    """{(set, split): {label: {fold: Cell}}}"""
    found = defaultdict(lambda: defaultdict(dict))
    for path in sorted(glob.glob(os.path.join(folder, "*__*__*__*.csv"))):
        c = Cell(path)
        found[c.facts["set"], c.facts["split"]][c.facts["label"]][c.facts["fold"]] = c
    return found


# ---- errors ----

def errors(rows):
    """Errors of (…, measured, predicted) rows."""
    off = [(p - m, m) for *_, m, p in rows]
    n = len(off)
    return {"n": n, "mape": 100 * sum(abs(e) / m for e, m in off) / n, "mae": sum(abs(e) for e, _ in off) / n,
            "rmse": math.sqrt(sum(e * e for e, _ in off) / n), "bias": 100 * sum(e / m for e, m in off) / n,
            "within": 100 * sum(abs(e) <= 0.1 * m for e, m in off) / n}


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def pooled(folds):
    return [r for c in folds.values() for r in c.rows]


def summary(folds):
    """Means over the folds, and the same over all rows at once."""
    each = [errors(c.rows) for c in folds.values()]
    s = {k: mean(e[k] for e in each) for k in ("mape", "mae", "rmse")}
    s["pooled"] = errors(pooled(folds))
    s["train"] = mean(c.number("train_s") for c in folds.values())
    s["predict"] = mean(c.number("predict_us") for c in folds.values())
    return s


def complete(methods):
    """Methods that have all folds that any has."""
    every = {f for folds in methods.values() for f in folds}
    return {label: folds for label, folds in methods.items() if set(folds) == every}


# ---- margins ----

def by_structure(rows, other):
    """Sums over each structure, to draw whole structures."""
    sums = defaultdict(lambda: [0, 0.0, 0.0, 0.0, 0.0])
    for (_, s, _, m, p), (_, t, _, _, q) in zip(rows, other):
        assert s == t
        for i, v in enumerate((1, abs(p - m), abs(q - m), (p - m) ** 2, (q - m) ** 2)):
            sums[s][i] += v
    return list(sums.values())


def interval(rows, other, column, root):
    """95 % of the margin over all rows at once, when networks are drawn anew."""
    groups = by_structure(rows, other)
    draw = random.Random(1)
    margins = []
    for _ in range(RESAMPLES):
        sample = draw.choices(groups, k=len(groups))
        ours, theirs = (sum(g[column + i] for g in sample) for i in (0, 1))
        margins.append(100 * (1 - (ours / theirs) ** root))
    margins.sort()
    return margins[int(0.025 * RESAMPLES)], margins[int(0.975 * RESAMPLES)]


def margin(methods, rivals, metric):
    """Best rival by the mean over the folds, and how far mdot is below it."""
    figures = {label: summary(methods[label])[metric] for label in rivals + [OURS]}
    best = min(rivals, key=figures.get)
    below = 100 * (1 - figures[OURS] / figures[best])
    column, root = (1, 1.0) if metric == "mae" else (3, 0.5)
    low, high = interval(pooled(methods[OURS]), pooled(methods[best]), column, root)
    return best, figures[best], figures[OURS], below, low, high


def plain(label):
    """Neither a part of the training rows nor a run for its intervals."""
    return "@" not in label and "~" not in label


def is_rival(label):
    return plain(label) and label.split(":")[0] != OURS


def margin_rows(found):
    rows = []
    for key in ORDER:
        methods = complete(found.get(key, {}))
        if OURS not in methods:
            continue
        rivals = [label for label in methods if is_rival(label)]
        published = [label for label in rivals if label not in BOOSTING]
        kinds = [("kinds of the library", published)] + [("gradient boosting, too", rivals)] * (rivals != published)
        for name, group in kinds:
            if not group:
                continue
            cells = [f"{key[0]}, {key[1]}", name]
            for metric in ("mae", "rmse"):
                best, theirs, ours, below, low, high = margin(methods, group, metric)
                cells += [f"{ours:.1f} / {theirs:.1f} ({best})", f"{below:+.0f} % ({low:+.0f} to {high:+.0f})"]
            rows.append(cells)
    return rows


# ---- text ----

def table(header, rows, right=()):
    line = "|".join("---:" if i in right else "---" for i in range(len(header)))
    return "\n".join(["| " + " | ".join(header) + " |", f"|{line}|"] + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def seconds(s):
    return "" if math.isnan(s) else f"{s:.2f}" if s < 10 else f"{s:.0f}"


def board(methods):
    """Methods on one split of one set, best first."""
    shown = {label: folds for label, folds in methods.items() if plain(label)}
    every = {f for folds in shown.values() for f in folds}
    lines = []
    for label, folds in sorted(shown.items(), key=lambda x: (set(x[1]) != every, summary(x[1])["mape"])):
        s = summary(folds)
        p = s["pooled"]
        name = label if set(folds) == every else f"{label} ({len(folds)} of {len(every)} folds)"
        lines.append([name, str(p["n"]), f"{s['mape']:.1f}", f"{s['mae']:.1f}", f"{s['rmse']:.1f}",
                      f"{p['mape']:.1f} / {p['mae']:.1f} / {p['rmse']:.1f}", f"{p['within']:.0f}", f"{p['bias']:+.1f}",
                      seconds(s["train"]), f"{s['predict']:.0f}"])
    return table(["method", "n", "MAPE %", "MAE ms", "RMSE ms", "all rows at once", "within 10 %", "bias %", "train s",
                  "us a prediction"], lines, range(1, 10))


def overview(found):
    keys = [k for k in ORDER if k in found]
    labels = {label for k in keys for label in found[k] if plain(label)}
    lines = []
    for label in labels:
        cells, first = [], []
        for k in keys:
            folds = complete(found[k]).get(label)
            s = summary(folds) if folds else None
            cells.append(f"{s['mape']:.1f} / {s['mae']:.0f} / {s['rmse']:.0f}" if s else "")
            first.append(s["mape"] if s else math.inf)
        lines.append((first, [label] + cells))
    return table(["method"] + [", ".join(k) for k in keys], [cells for _, cells in sorted(lines)])


def best_rival(methods):
    """By MAE over the folds; None when there is none."""
    rivals = {label: summary(folds)["mae"] for label, folds in complete(methods).items() if is_rival(label)}
    return min(rivals, key=rivals.get) if rivals else None


def families(methods):
    rival = best_rival(methods)
    if OURS not in methods or rival is None:
        return ""
    grouped = {label: defaultdict(list) for label in (OURS, rival)}
    for label, groups in grouped.items():
        for r in pooled(methods[label]):
            groups[r[0]].append(r)
    lines = []
    for family, rows in sorted(grouped[OURS].items(), key=lambda x: -len(x[1])):
        if len(rows) >= ENOUGH and family in grouped[rival]:
            a, b = errors(rows), errors(grouped[rival][family])
            lines.append([family or "(none)", str(a["n"]), f"{a['mape']:.1f}", f"{a['bias']:+.1f}", f"{a['mae']:.1f}",
                          f"{b['mape']:.1f}", f"{b['bias']:+.1f}", f"{b['mae']:.1f}"])
    header = ["family", "n", f"{OURS}: MAPE %", "bias %", "MAE ms", f"{rival}: MAPE %", "bias %", "MAE ms"]
    return table(header, lines, range(1, 8))


def together(found):
    """Trained on all frameworks and both layouts, against trained on the tested layout alone: the same rows, pooled."""
    lines = []
    for label, folds in sorted(found.get(("timm-all", "structure"), {}).items()):
        for layout in ("nchw", "nhwc"):
            rows = [r for r in pooled(folds) if r[2] == layout]
            each = [errors([r for r in c.rows if r[2] == layout]) for c in folds.values()]
            alone = found.get((f"timm-{layout}", "structure"), {}).get(label)
            e, o = errors(rows), errors(pooled(alone)) if alone else None
            show = "{mape:.1f} / {mae:.1f} / {rmse:.1f}"
            means = {k: mean(x[k] for x in each) for k in ("mape", "mae", "rmse")}
            n_train, train_s = (mean(c.number(k) for c in folds.values()) for k in ("n_train", "train_s"))
            lines.append([label, layout, str(e["n"]), show.format(**means), show.format(**e),
                          show.format(**o) if o and o["n"] == e["n"] else "", f"{n_train:.0f}", seconds(train_s)])
    return table(["method", "tested", "n", "mean over folds", "all rows at once", "trained on this layout and framework alone",
                  "rows trained on", "train s"], lines, range(2, 8)) if lines else ""


def curve(found):
    lines = []
    for key in ORDER:
        methods = found.get(key, {})
        parts = {int(label.split("@")[1]): folds for label, folds in methods.items() if label.startswith(OURS + "@")}
        if parts and OURS in methods:
            parts[100] = methods[OURS]
        for part, folds in sorted(parts.items()):
            s = summary(folds)
            lines.append([key[0], f"{part} %", f"{mean(c.number('structures') for c in folds.values()):.0f}",
                          f"{mean(c.number('n_train') for c in folds.values()):.0f}", str(s["pooled"]["n"]),
                          f"{s['mape']:.2f}", f"{s['mae']:.1f}", f"{s['rmse']:.1f}"])
    return table(["measurements", "part", "networks trained on", "rows", "n", "MAPE %", "MAE ms", "RMSE ms"], lines,
                 range(1, 8)) if lines else ""


# ---- what an error is made of ----

def cliffs(found):
    """Families on which mdot errs by more than CLIFF percent."""
    lines = []
    for key in ORDER:
        groups = defaultdict(list)
        for r in pooled(found.get(key, {}).get(OURS, {})):
            groups[r[0]].append(r)
        large = {f: errors(rows)["mape"] for f, rows in groups.items() if len(rows) >= ENOUGH}
        if large:
            over = ", ".join(f"{f or '(none)'} {e:.1f} %" for f, e in sorted(large.items(), key=lambda x: -x[1]) if e > CLIFF)
            lines.append([", ".join(key), str(len(large)), over or "none", f"{max(large.values()):.1f}"])
    return table(["measurements, split", "families", f"above {CLIFF} %", "largest %"], lines, (1, 3)) if lines else ""


def heaviest(found, count=5):
    """The measurements that make most of mdot's squared error, by their share."""
    lines = []
    for key in ORDER:
        cells = found.get(key, {}).get(OURS, {}).values() if key[1] == "structure" else ()
        rows = [(r[-1] - r[-2], r, asked) for c in cells for r, asked in zip(c.rows, c.asked)]
        total = sum(e * e for e, *_ in rows)
        for e, r, asked in sorted(rows, key=lambda x: -x[0] ** 2)[:count]:
            rest = [x[1] for x in rows if x[0] ** 2 < e * e]
            lines.append([key[0], asked[0], asked[2], f"{r[-2]:.0f}", f"{r[-1]:.0f}", f"{100 * e * e / total:.0f}",
                          f"{errors(rest)['rmse']:.1f}"])
    header = ["measurements", "graph", "batch", "measured ms", "predicted ms", "% of the squared error", "RMSE without it and those above, ms"]
    return table(header, lines, range(2, 7)) if lines else ""


def remeasured(found, path):
    """The rows of timm that the version before had measured too: that measurement times one factor, and mdot, on the same rows."""
    before = {}
    with open(path) as f:
        for r in csv.DictReader(f):
            if r["framework"] == BEFORE:
                before[r["layout"], r["graph"], r["gpu"], r["batch"]] = float(r["step_ms"])
    lines = []
    for layout in ("nchw", "nhwc"):
        cells = found.get((f"timm-{layout}", "structure"), {}).get(OURS, {}).values()
        both = [(r, before[(layout,) + asked]) for c in cells for r, asked in zip(c.rows, c.asked) if (layout,) + asked in before]
        if not both:
            continue
        factor = statistics.median(r[-2] / old for r, old in both)
        for name, rows in ((f"its measurement under {BEFORE}, times {factor:.3f}", [(r[-2], factor * old) for r, old in both]),
                           (f"{OURS}, which has not seen the network", [r for r, _ in both])):
            e = errors(rows)
            lines.append([layout, name, str(e["n"]), f"{e['mape']:.2f}", f"{e['mae']:.1f}", f"{e['rmse']:.1f}"])
    return table(["layout", "predicted by", "n", "MAPE %", "MAE ms", "RMSE ms"], lines, range(2, 6)) if lines else ""


def trust(found):
    """Intervals and domain on folds that training has not seen."""
    lines = []
    for key in ORDER:
        for label, folds in sorted(found.get(key, {}).items()):
            rows = [(r, t) for c in folds.values() for r, t in zip(c.rows, c.trust) if t]
            if "~" not in label or not rows:
                continue
            held = mean(low <= r[-2] <= high for r, (low, high, _) in rows)
            width = mean((high - low) / r[-1] for r, (low, high, _) in rows)
            groups = [[r for r, t in rows if t[2] == inside] for inside in (True, False)]
            lines.append([key[0], label.split("~")[0], label.split("~")[1], str(len(rows)), f"{100 * held:.1f}", f"{100 * width:.0f}",
                          f"{100 * len(groups[0]) / len(rows):.0f}"] + [f"{errors(g)['mape']:.1f}" if g else "" for g in groups])
    header = ["measurements", "method", "level", "n", "hold %", "mean width %", "in domain %", "MAPE % in", "out"]
    return table(header, lines, range(2, 9)) if lines else ""


def machine(folder):
    try:
        with open(os.path.join(folder, "machine")) as f:
            return dict(line.rstrip("\n").split("=", 1) for line in f)
    except FileNotFoundError:
        return {}


def heading(folder, found):
    m = machine(folder)
    cells = [c for methods in found.values() for folds in methods.values() for c in folds.values()]
    blas = sorted({c.facts["blas"] for c in cells if "blas" in c.facts})
    sources = {c.facts.get("source") for c in cells}
    options = sorted({f"{c.facts['label']}: {k[7:]} = {v}" for c in cells for k, v in c.facts.items()
                      if k.startswith("option:") and k != "option:seed" and ":" not in c.facts["label"]})
    n = {k[0]: max(len(pooled(f)) for f in methods.values()) for k, methods in sorted(found.items()) if k[1] == "structure"}
    text = ["# Leaderboard", "",
            "Written by `make bench-accuracy DATA=DIR` (bench/accuracy/run.sh, report.py). Do not edit.", "",
            f"{m.get('date', '')}; {m.get('cpu', '')}, {m.get('processors', '')} processor(s), {m.get('kernel', '')}; "
            f"OpenBLAS kernels {', '.join(blas)}, one thread a process.",
            f"Folds: seed {', '.join(sorted({c.facts['split_seed'] for c in cells}))}; training: seed "
            f"{', '.join(sorted({c.facts['seed'] for c in cells}))}, one run each. Rows tested: "
            + ", ".join(f"{k} {v}" for k, v in n.items()) + "."]
    if options:
        text += ["Options other than the defaults: " + "; ".join(options) + "."]
    if m.get("fold"):
        text += [f"**Only fold {m['fold']}.**"]
    if len(sources) > 1:
        text += [f"**Made in parts, with {len(sources)} versions of the sources.**"]
    return "\n".join(text) + "\n"


NOTES = """
Every row is tested by a predictor that has seen neither it nor, except with `batch`, any network with the same graph; all methods
have the same folds. MAPE, MAE and RMSE are means over the folds (as a test of one fold at a time sees them); "all rows at once" pools
the folds. "train s" is the processor time of one training, "us a prediction" that of one prediction of a step with its graph loaded
(gradient boosting: of the trees alone, in one call for all rows, without computing features; its choice of a model is not in its
training time). `boosting` and `boosting_sum` are scikit-learn's gradient boosting on aggregated features (bench/accuracy/boosting.py),
not a kind of the library.
"""


MARGINS = """## Margins

mdot against the best rival by the same figure; how far it is below (+), with the interval that holds 95 % of 1000 draws of the networks
(all rows at once). The published margin of MDOT over its runner-up: MAE 25 %, RMSE 45 % below.
"""
EXPLAIN = """## Times of single operators against measured ones (NeuSight)

What is compared and how: bench/accuracy/explain_neusight.py.
"""


def render(folder, profiles=None):
    found = load(folder)
    if not found:
        sys.exit(f"there are no results in {folder}")
    out = [heading(folder, found), NOTES, "## Overview\n\nMAPE % / MAE ms / RMSE ms, means over the folds.\n", overview(found)]
    rows = margin_rows(found)
    if rows:
        out += [MARGINS, table(["rows, split", "best of", "MAE: mdot / rival", "below", "RMSE: mdot / rival", "below"], rows)]
    for key in ORDER:
        if key in found:
            out += [f"## {SETS[key[0]]}; {SPLITS[key[1]]}\n", board(found[key])]
    for title, text in (("All layouts and versions of PyTorch trained together", together(found)),
                        ("Intervals and domain, on networks that training has not seen", trust(found)),
                        ("What a measurement of the same network is worth", remeasured(found, profiles) if profiles else ""),
                        ("What the squared error is made of: mdot on unseen networks", heaviest(found)),
                        (f"Families with at least {ENOUGH} rows on which mdot errs most", cliffs(found)),
                        ("Learning curve: mdot on a part of the training networks, the same test folds", curve(found))):
        if text:
            out += [f"## {title}\n", text]
    for key in ORDER:
        text = families(found.get(key, {})) if key[1] in ("structure", "family10", "family") else ""
        if text:
            out += [f"## Families with at least {ENOUGH} rows: {key[0]}, {SPLITS[key[1]]}\n", text]
    explain = os.path.join(folder, "explain.md")
    if os.path.exists(explain):
        with open(explain) as f:
            out += [EXPLAIN, f.read()]
    return "\n".join(out)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    text = render(sys.argv[1], sys.argv[3] if len(sys.argv) == 4 else None)
    if len(sys.argv) == 2:
        print(text)
    else:
        with open(sys.argv[2], "w") as f:
            f.write(text)
