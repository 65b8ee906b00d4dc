#!/usr/bin/env python3
"""Gradient boosting on aggregated features, on the folds of the other methods.

    boosting.py FEATURES.csv set=NAME split=NAME out=FOLDER [label=boosting] [fold=NAME] [seed=42] [source=TEXT]

FEATURES.csv is what `cell features=FILE` writes: for each row its fold, totals, and for each class of operators
(convolutions by kind) the sums of FLOPs, bytes, roofline time, launches and operators.  Trees see the logarithms of
all of them, and of each class its share of the roofline time, launches, intensity and mean size.  Two labels:

    boosting       ln(step) or ln(step / roofline time of the step)
    boosting_sum   a non-negative sum over the classes (FLOPs, bytes, launches; least squares of the relative error),
                   and ln(step / sum)

The model is chosen from CANDIDATES for each fold by cross-validation within its training rows: groups are
structures, or whole families when families are what is tested.  The chosen one is trained three times with different
seeds and averaged.  What is there in the results folder is not run again.
"""
import csv
import math
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
try:
    import numpy as np
    from scipy.optimize import nnls
    from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
except ImportError as missing:
    print(f"gradient boosting is left out: {missing} (python3-sklearn)", file=sys.stderr)
    sys.exit(0)

INNER = 3
SEEDS = 3


def boosted(depth, trees, rate, **more):
    how = dict(subsample=0.7, max_features=0.3, **more)
    return lambda seed: GradientBoostingRegressor(n_estimators=trees, learning_rate=rate, max_depth=depth,
                                                  random_state=seed, **how)


def histogram(seed):
    return HistGradientBoostingRegressor(max_iter=400, learning_rate=0.06, max_leaf_nodes=8, min_samples_leaf=5,
                                         l2_regularization=1.0, random_state=seed)


# what ln(step) is compared with, and the trees
CANDIDATES = {
    "boosting": {
        "ln ms, depth 4": (None, boosted(4, 500, 0.05)),
        "ln ms/roofline, depth 3": ("roofline", boosted(3, 600, 0.05)),
        "ln ms/roofline, depth 4": ("roofline", boosted(4, 500, 0.05)),
        "ln ms/roofline, histogram": ("roofline", histogram),
    },
    "boosting_sum": {
        "depth 3": ("sum", boosted(3, 600, 0.05)),
        "depth 4": ("sum", boosted(4, 500, 0.05)),
        "depth 5": ("sum", boosted(5, 700, 0.03, min_samples_leaf=3)),
        "histogram": ("sum", histogram),
    },
}
KEYS = ["graph", "family", "structure", "gpu", "batch", "layout", "framework"]
SUMS = ["flops", "bytes", "roofline_us", "launches", "operators"]


class Table:
    """Features of all rows, and what the sum over classes is made of."""

    def __init__(self, path):
        with open(path, newline="") as f:
            self.rows = list(csv.DictReader(f))
        names = [n for n in self.rows[0] if n not in KEYS + ["fold", "drop_twins", "step_ms"]]
        raw = {n: np.array([float(r[n]) for r in self.rows]) for n in names}
        self.ms = np.array([float(r["step_ms"]) for r in self.rows])
        self.fold = np.array([r["fold"] for r in self.rows])
        self.structure = np.array([r["structure"] for r in self.rows])
        self.family = np.array([r["family"] for r in self.rows])
        columns = [raw[n] if n == "log_batch" else np.log1p(raw[n]) for n in names]
        for group in sorted({n.split(":")[0] for n in names if ":" in n}):
            flops, moved, roofline, launches, operators = (raw[f"{group}:{what}"] for what in SUMS)
            columns += [roofline / raw["roofline_us"], launches / raw["roofline_us"], np.log1p(flops / np.maximum(moved, 1)),
                        np.log1p(roofline / np.maximum(operators, 1))]
        for word in ("layout", "framework", "gpu"):
            values = sorted({r[word] for r in self.rows})
            columns += [np.array([r[word] == v for r in self.rows], float) for v in values]
        x = np.stack(columns, 1)
        self.x = x[:, x.std(0) > 0]
        terms = np.stack([raw[n] for n in names if n.split(":")[-1] in ("flops", "bytes", "launches") and ":" in n], 1)
        self.terms = terms / np.maximum(terms.max(0), 1e-30)
        self.log_roofline = np.log(raw["roofline_us"])
        self.drop_twins = self.rows[0]["drop_twins"] == "1"


class Sum:
    """Non-negative sum over classes of operators."""

    def __init__(self, terms, ms):
        self.weights, _ = nnls(terms / ms[:, None], np.ones(len(ms)))

    def log_ms(self, terms):
        return np.log(np.maximum(terms @ self.weights, 1e-6))


class Model:
    def __init__(self, table, train, how, seeds):
        self.against, make = how
        self.sum = Sum(table.terms[train], table.ms[train]) if self.against == "sum" else None
        target = np.log(table.ms[train]) - self.base(table, train)
        self.trees = [make(s).fit(table.x[train], target) for s in seeds]

    def base(self, table, rows):
        if self.sum:
            return self.sum.log_ms(table.terms[rows])
        return table.log_roofline[rows] if self.against else 0.0

    def predict(self, table, rows):
        return np.exp(self.base(table, rows) + np.mean([t.predict(table.x[rows]) for t in self.trees], 0))


def inner_folds(groups, seed):
    """Deal groups to folds, the largest first to the fold that has least."""
    names, counts = np.unique(groups, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-counts[order], kind="stable")]
    n = min(INNER, len(names))
    load, fold_of = [0] * n, {}
    for i in order:
        fold_of[names[i]] = load.index(min(load))
        load[fold_of[names[i]]] += counts[i]
    return np.array([fold_of[g] for g in groups]), n


def choose(table, train, groups, candidates, seed):
    inner, n = inner_folds(groups[train], seed)
    error = {}
    for name, how in candidates.items():
        off = []
        for k in range(n):
            rest, held = train[inner != k], train[inner == k]
            off.append(np.abs(Model(table, rest, how, [seed]).predict(table, held) / table.ms[held] - 1))
        error[name] = float(np.mean(np.concatenate(off)))
    best = min(error, key=error.get)
    return best, error[best]


def run_fold(table, fold, family_split, candidates, seed):
    test = np.flatnonzero(table.fold == fold)
    train = np.flatnonzero(table.fold != fold)
    facts = {"twins": 0}
    if table.drop_twins:
        keep = ~np.isin(table.structure[train], table.structure[test])
        facts["twins"] = int((~keep).sum())
        train = train[keep]
    started = time.process_time()
    name, error = choose(table, train, table.family if family_split else table.structure, candidates, seed)
    tuned = time.process_time()
    model = Model(table, train, candidates[name], range(seed, seed + SEEDS))
    trained = time.process_time()
    predicted = model.predict(table, test)
    facts.update(n_train=len(train), structures=len(set(table.structure[train])), train_s=trained - tuned,
                 tune_s=tuned - started, predict_us=1e6 * (time.process_time() - trained) / len(test),
                 model=name, valid_mape=error, threads=1, part=100)
    return test, predicted, facts


def write(path, facts, table, test, predicted):
    with open(path + ".new", "w", newline="") as f:
        for k, v in facts.items():
            f.write(f"# {k}={v:.6g}\n" if isinstance(v, float) else f"# {k}={v}\n")
        w = csv.writer(f, lineterminator="\n")
        w.writerow(KEYS + ["step_ms", "predicted_ms"])
        for i, p in zip(test, predicted):
            w.writerow([table.rows[i][k] for k in KEYS] + [table.rows[i]["step_ms"], f"{p:.8g}"])
    os.replace(path + ".new", path)


def main(path, *settings):
    o = {"label": "boosting", "seed": "42", "split_seed": "1", "out": ".", "source": ""}
    o.update(s.split("=", 1) for s in settings)
    table = Table(path)
    for fold in sorted(set(table.fold) - {""}):
        if o.get("fold") not in (None, "", fold):
            continue
        to = os.path.join(o["out"], "__".join((o["set"], o["split"], fold, o["label"])) + ".csv")
        if os.path.exists(to):
            continue
        test, predicted, facts = run_fold(table, fold, o["split"].startswith("family"), CANDIDATES[o["label"]], int(o["seed"]))
        about = {k: o[k] for k in ("set", "split", "label", "split_seed", "seed", "source")}
        write(to, {**about, "fold": fold, "kind": o["label"], **facts}, table, test, predicted)
        off = predicted - table.ms[test]
        print(f"{o['set']:10} {o['split']:9} {fold:12} {o['label']:12} train {facts['n_train']:4}  test {len(test):4}  "
              f"mape {100 * np.mean(abs(off) / table.ms[test]):6.2f} %  mae {np.mean(abs(off)):8.2f} ms  "
              f"rmse {math.sqrt(np.mean(off ** 2)):8.2f} ms  {facts['train_s']:6.1f} s  ({facts['model']})", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
