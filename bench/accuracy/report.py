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
COMMITTEE = ("gnn", "ets", "perfnet", "opclass")    # kinds that mdot is compared and averaged with
ENOUGH = 5          # rows of a family
RESAMPLES = 1000
BEFORE = "pytorch 1.11 cu113"
SETS = {
    "timm-nchw": "RTX 3090, nchw",
    "timm-nhwc": "RTX 3090, nhwc",
    "data": "CPU core",
    "cpus": "two CPU cores",
}
SPLITS = {
    "structure": "networks",
    "family10": "ten families",
    "family": "families",
    "far": "far networks",
    "batch": "larger batches",
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
    """{(set, split): {label: {fold: Cell}}}, without methods that answer all questions as another."""
    found = defaultdict(lambda: defaultdict(dict))
    for path in sorted(glob.glob(os.path.join(folder, "*__*__*__*.csv"))):
        c = Cell(path)
        found[c.facts["set"], c.facts["split"]][c.facts["label"]][c.facts["fold"]] = c
    for methods in found.values():
        if "habitat" in methods and all(f in methods["opclass"] and c.rows == methods["opclass"][f].rows
                                        for f, c in methods["habitat"].items()):
            del methods["habitat"]
    return found


def title(key):
    """What a reader calls a set and a split."""
    return f"{SETS[key[0]]}: {SPLITS[key[1]]}"


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
        kinds = [("kinds of perfmodel", published)] + [("these and gradient boosting", rivals)] * (rivals != published)
        for name, group in kinds:
            if not group:
                continue
            cells = [title(key), name]
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


def judged(found):
    """Sets and splits with more than intervals."""
    return [k for k in ORDER if any(plain(label) for label in found.get(k, {}))]


def overview(found, metric, digits):
    """One error of all methods, a line for each set and split; the best in bold, - where folds are missing."""
    keys = judged(found)
    figures = {k: {label: summary(folds)[metric] for label, folds in complete(found[k]).items() if plain(label)} for k in keys}
    labels = {label for k in keys for label in found[k] if plain(label)}

    def place(label):
        shares = [f[label] / min(f.values()) for f in figures.values() if label in f]
        return label != OURS, mean(shares) if shares else math.inf, label

    labels = sorted(labels, key=place)
    lines = []
    for k in keys:
        n = max(len(pooled(folds)) for folds in found[k].values())
        cells = ["-" if label not in figures[k] else f"{figures[k][label]:.{digits}f}" for label in labels]
        best = min((f, i) for i, f in enumerate(figures[k].get(label, math.inf) for label in labels))[1]
        cells[best] = f"**{cells[best]}**"
        lines.append([title(k), str(n)] + cells)
    return table(["unseen", "n"] + [f"`{label}`" for label in labels], lines, range(1, len(labels) + 2))


def families(found, sets):
    """Errors of mdot by family, the worst among unseen families first."""
    columns = [(name, split) for name in sets for split in ("structure", "family") if OURS in found.get((name, split), {})]
    groups = {c: defaultdict(list) for c in columns}
    for c in columns:
        for r in pooled(found[c][OURS]):
            groups[c][r[0]].append(r)
    worst = {}
    for c in columns:
        for family, rows in groups[c].items():
            if len(rows) >= ENOUGH:
                worst[family] = max(worst.get(family, 0), errors(rows)["mape"])
    lines = []
    for family in sorted(worst, key=lambda f: -worst[f]):
        cells = [errors(groups[c][family]) if groups[c][family] else None for c in columns]
        lines.append([family or "(none)", str(max(e["n"] for e in cells if e))]
                     + [f"{e['mape']:.1f} ({e['bias']:+.0f})" if e else "-" for e in cells])
    return table(["family", "n"] + [title(c) for c in columns], lines, range(1, len(columns) + 2)) if lines else ""


# ---- do the kinds err alike ----

def correlation(x, y):
    mx, my = mean(x), mean(y)
    dx, dy = [v - mx for v in x], [v - my for v in y]
    return sum(a * b for a, b in zip(dx, dy)) / math.sqrt(sum(a * a for a in dx) * sum(b * b for b in dy))


def alike(found):
    """How far mdot and the kinds of COMMITTEE are from each other, and what the mean of their logarithms errs."""
    lines = []
    for key in ORDER:
        methods = complete(found.get(key, {}))
        kinds = [k for k in COMMITTEE if k in methods]
        if OURS not in methods or not kinds:
            continue
        ours = methods[OURS]
        for group in [[k] for k in kinds] + [kinds] * (len(kinds) > 1):
            logs = {k: [math.log(r[-1] / r[-2]) for f in sorted(ours) for r in methods[k][f].rows] for k in [OURS] + group}
            off = [(abs(r[-1] - r[-2]), i) for i, r in enumerate(r for f in sorted(ours) for r in ours[f].rows)]
            shared = [e for e, i in off if len({logs[k][i] > 0 for k in logs}) == 1]
            mixed = [[r[:-1] + (math.exp(mean(math.log(methods[k][f].rows[i][-1]) for k in logs)),)
                      for i, r in enumerate(ours[f].rows)] for f in sorted(ours)]
            e = [errors(rows) for rows in mixed]
            apart = mean(abs(logs[OURS][i] - logs[k][i]) for k in group for _, i in off)
            lines.append([title(key), ", ".join(group), str(len(off)), f"{100 * apart:.1f}",
                          f"{correlation(logs[OURS], logs[group[0]]):.2f}" if len(group) == 1 else "",
                          f"{100 * sum(shared) / sum(x for x, _ in off):.0f}",
                          " / ".join(f"{mean(x[m] for x in e):.{d}f}" for m, d in (("mape", 2), ("mae", 1), ("rmse", 1)))])
    return table(["unseen", "mdot and", "n", "apart %", "correlation of errors", "% of mdot's MAE where all err to one side",
                  "mean of logarithms: MAPE % / MAE / RMSE ms"], lines, range(2, 7)) if lines else ""


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
            lines.append([SETS[key[0]], f"{part} %", f"{mean(c.number('structures') for c in folds.values()):.0f}",
                          f"{mean(c.number('n_train') for c in folds.values()):.0f}", str(s["pooled"]["n"]),
                          f"{s['mape']:.2f}", f"{s['mae']:.1f}", f"{s['rmse']:.1f}"])
    return table(["rows", "part", "networks trained on", "rows", "n", "MAPE %", "MAE ms", "RMSE ms"], lines,
                 range(1, 8)) if lines else ""


# ---- what an error is made of ----

def heaviest(found, count=5):
    """The measurements that make most of mdot's squared error, by their share."""
    lines = []
    for key in ORDER:
        cells = found.get(key, {}).get(OURS, {}).values() if key[1] == "structure" else ()
        rows = [(r[-1] - r[-2], r, asked) for c in cells for r, asked in zip(c.rows, c.asked)]
        total = sum(e * e for e, *_ in rows)
        for e, r, asked in sorted(rows, key=lambda x: -x[0] ** 2)[:count]:
            rest = [x[1] for x in rows if x[0] ** 2 < e * e]
            lines.append([SETS[key[0]], asked[0], asked[2], f"{r[-2]:.0f}", f"{r[-1]:.0f}", f"{100 * e * e / total:.0f}",
                          f"{errors(rest)['rmse']:.1f}"])
    header = ["rows", "graph", "batch", "measured ms", "predicted ms", "% of the squared error", "RMSE without it and those above, ms"]
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
        for label, folds in sorted(found.get(key, {}).items(), key=lambda x: (not x[0].startswith(OURS), x[0])):
            rows = [(r, t) for c in folds.values() for r, t in zip(c.rows, c.trust) if t]
            if "~" not in label or not rows:
                continue
            held = mean(low <= r[-2] <= high for r, (low, high, _) in rows)
            width = mean((high - low) / r[-1] for r, (low, high, _) in rows)
            groups = [[r for r, t in rows if t[2] == inside] for inside in (True, False)]
            folded = [mean(low <= r[-2] <= high for r, (low, high, _) in zip(c.rows, c.trust)) for c in folds.values() if all(c.trust)]
            lines.append([title(key), label.split("~")[0], str(len(folds)), str(len(rows)), f"{100 * held:.1f}",
                          f"{100 * min(folded):.0f} to {100 * max(folded):.0f}" if folded else "", f"{100 * width:.0f}",
                          f"{100 * len(groups[0]) / len(rows):.0f}"] + [f"{errors(g)['mape']:.1f}" if g else "" for g in groups])
    header = ["unseen", "method", "folds", "n", "hold %", "single folds %", "mean width %", "in domain %", "MAPE % in", "out"]
    return table(header, lines, range(2, 10)) if lines else ""


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
    text = ["# Leaderboard", "",
            "Written by `make bench-accuracy DATA=DIR` (bench/accuracy/run.sh, report.py). Do not edit.", "",
            f"{m.get('date', '')}; {m.get('cpu', '')}, {m.get('processors', '')} processor(s), {m.get('kernel', '')}; "
            f"OpenBLAS kernels {', '.join(blas)}, one thread a process.",
            f"Folds: seed {', '.join(sorted({c.facts['split_seed'] for c in cells}))}; training: seed "
            f"{', '.join(sorted({c.facts['seed'] for c in cells}))}, one run each."]
    if options:
        text += ["Options other than the defaults: " + "; ".join(options) + "."]
    if m.get("fold"):
        text += [f"**Only fold {m['fold']}.**"]
    if len(sources) > 1:
        text += [f"**Made in parts, with {len(sources)} versions of the sources.**"]
    return "\n".join(text) + "\n"


NOTES = """
| word | meaning |
|---|---|
| RTX 3090, nchw or nhwc | training steps of image networks in mixed precision (AMP), PyTorch 1.12, from the timm benchmark; the rows do not come with perfmodel |
| CPU core | training steps on one CPU core, fp32, in [data/](../data/README.md) |
| two CPU cores | the same, and steps on a core of the next generation; networks drawn at random always train |
| networks | five folds; a network of the test, under whatever name, is not in training at any batch |
| families | five folds of whole families with their kin ([graph_format.md](graph_format.md#families)) |
| far networks | five folds of networks that spend their time unlike all others |
| larger batches | trained on the rows up to the median batch, tested on those above |
| MAPE, MAE, RMSE | mean absolute percentage error, mean absolute error, root mean squared error; means over the folds |

`mdot` and the other kinds: [rivals.md](rivals.md). `boosting` and `boosting_sum` are scikit-learn's gradient boosting on features that are summed over the operators
(bench/accuracy/boosting.py). They are not kinds of perfmodel. `habitat` needs measurements of a network on another device; with a single device, its answers are those of `opclass`, so it is left out.
"""


MARGINS = """## How far mdot is below the best of the others

In brackets: the interval of 95 % over 1000 random draws of the networks, with all rows together. The published margin of MDOT over its runner-up is 25 % in MAE and 45 % in RMSE.
"""
BOARDS = """## Each split

"all rows at once": MAPE / MAE / RMSE over the rows of all folds together. "train s": processor time of one training. "us a prediction": processor time of one prediction, with the graph loaded.
For gradient boosting, the first is without the choice of a model, and the second without computing features.
"""
ALIKE = """## Do the kinds err alike?

"apart": mean difference of the two logarithms, in percent. Correlation: of the errors, as logarithms of predicted over measured time.
"""
TRUST = """## Intervals of 90 %

"hold": the share of measurements in their intervals; "single folds": the smallest and the largest share of a fold. "mean width": upper minus lower bound, in percent of the prediction.
[trust.md](trust.md) says what `in_domain` means.
"""
REMEASURED = """## What a measurement of the same network is worth

These networks were measured with PyTorch 1.11, too. The prediction for 1.12 is the time with 1.11, times one factor for all networks.
"""
FAMILIES = """## Families: mdot

MAPE in percent, in brackets the mean error with its sign: + if predicted times are too long. Families with at least {n} rows, the worst first.
"""
EXPLAIN = """## Times of single operators against measured ones (NeuSight)

What is compared and how: bench/accuracy/explain_neusight.py.
"""


def left_out(folder, found):
    """What some methods lack that others have, and the parts that nobody has."""
    labels = {label for methods in found.values() for label in methods if plain(label)}
    text = []
    for key in judged(found):
        methods = {label: folds for label, folds in found[key].items() if plain(label)}
        every = {f for folds in methods.values() for f in folds}
        gone = sorted(label for label in labels if label != "habitat" and set(methods.get(label, {})) != every)
        if gone:
            text.append(f"- {title(key)}: {', '.join(gone)}")
    if ("timm-all", "structure") not in found:
        text.append("- all layouts and versions of PyTorch trained together")
    if not os.path.exists(os.path.join(folder, "explain.md")):
        text.append("- times of single operators against measured ones")
    return "\n".join(["**Not run, or not on all folds:**", ""] + text) + "\n" if text else ""


def render(folder, profiles=None):
    found = load(folder)
    if not found:
        sys.exit(f"there are no results in {folder}")
    out = [heading(folder, found), left_out(folder, found), NOTES, "## Overview\n\nMAPE in percent; the smallest of a line is bold.\n", overview(found, "mape", 1),
           "MAE in ms:\n", overview(found, "mae", 0)]
    rows = margin_rows(found)
    if rows:
        out += [MARGINS, table(["unseen", "best of", "MAE: mdot / other", "below", "RMSE: mdot / other", "below"], rows)]
    for head, text in ((ALIKE, alike(found)),
                       (TRUST, trust(found)),
                       ("## All layouts and versions of PyTorch trained together, tested on PyTorch 1.12\n", together(found)),
                       ("## mdot trained on a part of the networks, the same test folds\n", curve(found)),
                       (REMEASURED, remeasured(found, profiles) if profiles else ""),
                       ("## The rows that make most of the squared error: mdot on unseen networks\n", heaviest(found)),
                       (FAMILIES.format(n=ENOUGH), "\n".join(t for t in (families(found, x) for x in (("timm-nchw", "timm-nhwc"), ("data",))) if t))):
        if text:
            out += [head, text]
    out += [BOARDS]
    for key in judged(found):
        out += [f"### {title(key)}\n", board(found[key])]
    explain = os.path.join(folder, "explain.md")
    if os.path.exists(explain):
        with open(explain) as f:
            out += [EXPLAIN, f.read()]
    return "\n".join(x for x in out if x)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    text = render(sys.argv[1], sys.argv[3] if len(sys.argv) == 4 else None)
    if len(sys.argv) == 2:
        print(text)
    else:
        with open(sys.argv[2], "w") as f:
            f.write(text)
