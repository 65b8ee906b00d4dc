#!/usr/bin/env python3
"""Predicted times of operators against measured ones (NeuSight).

    explain_neusight.py DATA_DIR RESULTS [cell=build/accuracy/cell] [kinds=mdot,opclass,roofline,linear]
                        [models=bert_large,gpt2_large] [jobs=1] [seed=42] [options="mdot:epochs=3"]

Reads DATA_DIR/neusight (and timm, and data/), writes RESULTS/explain/*.csv and RESULTS/explain.md.

NeuSight measured training steps (forward and backward, FP32) of BERT-large, GPT-2-large and a Switch Transformer on
five GPUs, and for the first two every operator of the first layer and of what is outside the layers, one at a time.
A predictor learns whole steps only, never times of operators, from

    alone   the steps of the other models in NeuSight
    with    those, the nchw steps of timm under PyTorch 1.12 (RTX 3090, amp) and the steps in data/ (CPU)

and predicts each operator of the model left out.

What is matched.  The predictor knows groups of identical operators, as explain_train_time() shows them.  A measured
node counts in the group that its node id lies in; a node of a later layer has the time of its twin in the first
("like").  Measured is forward + backward; a missing backward measurement is 0.  Groups with a node that was not
measured are left out.  Views are no operators for the predictor: their measured time (calls that do nothing take
about 0.01 ms) has no counterpart, and neither has the predictor's rest of the step.  Predicted times include the
update of parameters, which the measured steps do not; no kind tells its phases apart.

Figures, for each measured step:
    rank (one)     Spearman's correlation over groups, of the time of one copy
    rank (group)   the same, of the time of all copies
    share error    mean over groups of |predicted - measured share|, in percentage points of what is matched
    misplaced      half the sum of those: the part of the time that is given to the wrong operators, percent
"roofline, raw" is the roofline time without anything learned.
"""
import csv
import gzip
import json
import os
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

NEWEST = "pytorch 1.12 cu113"


def unpack(source, target):
    with gzip.open(source, "rb") as f, open(target, "wb") as g:
        g.write(f.read())
    return target


def choose_rows(source, target, keep):
    with open(source, newline="") as f, open(target, "w", newline="") as g:
        r = csv.DictReader(f)
        w = csv.DictWriter(g, r.fieldnames)
        w.writeheader()
        w.writerows(row for row in r if keep(row))
    return target


def squeeze(name):
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


def sheet_names():
    """{squeezed name or alias: name of the data sheet}"""
    with open("data/gpu.csv", newline="") as f:
        return {squeeze(name): r["name"] for r in csv.DictReader(f) for name in [r["name"]] + r["aliases"].split("|")}


# ---- what was measured ----

def twins(graphs):
    """{graph: {node: node that was measured in its place}}"""
    found = {}
    with open(graphs) as f:
        for line in f:
            g = json.loads(line)
            found[g["name"]] = {n["id"]: n.get("attrs", {}).get("like", n["id"]) for n in g["nodes"]}
    return found


def measured_times(path, like):
    """{(graph, gpu, batch): {node: ms}} of training, twins in later layers included."""
    sheet = sheet_names()
    direct = defaultdict(dict)
    with gzip.open(path, "rt", newline="") as f:
        for r in csv.DictReader(f):
            if r["mode"] == "train":
                ms = float(r["fw_ms"] or 0) + float(r["bw_ms"] or 0)
                direct[r["graph"], sheet[squeeze(r["gpu"])], r["batch"]][int(r["node_id"])] = ms
    return {key: {node: times[first] for node, first in like[key[0]].items() if first in times}
            for key, times in direct.items()}


# ---- what is predicted ----

def predict(o, kind, condition, model, files):
    """Train without a model and write the times of its operators."""
    name = f"{condition}.{model}.{kind}"
    parts = os.path.join(files["out"], name + ".csv")
    if os.path.exists(parts):
        return parts
    command = [o["cell"], f"graphs={files['graphs']}", f"rows={files['rows']}", "split=model", f"fold={model}", f"kind={kind}",
               f"set=neusight-{condition}", f"seed={o['seed']}", f"out={files['out']}", f"parts={parts}.new",
               "gpu_csv=data/gpu.csv"]
    command += [f"option:{x.split(':', 1)[1]}" for x in o["options"].split() if x.startswith(kind + ":")]
    if condition == "with":
        for graphs, rows in files["also"]:
            command += [f"also_graphs={graphs}", f"also_rows={rows}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"FAILED {name}: {done.stderr.strip()}", file=sys.stderr)
        return None
    print(done.stdout, end="", flush=True)
    os.replace(parts + ".new", parts)
    return parts


def read_parts(path):
    """{(graph, gpu, batch): {token: group}}"""
    steps = defaultdict(dict)
    with open(path, newline="") as f:
        for r in csv.DictReader(f):
            groups = steps[r["graph"], r["gpu"], r["batch"]]
            g = groups.setdefault(int(r["token"]), {"nodes": [], "class": r["class"], "one": float(r["predicted_ms"]),
                                                    "roofline": float(r["roofline_ms"])})
            g["nodes"].append(int(r["node"]))
    return steps


# ---- comparison ----

def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for i in order[at:end + 1]:
            rank[i] = (at + end) / 2
        at = end + 1
    return rank


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    ab = sum((x - ma) * (y - mb) for x, y in zip(a, b))
    aa, bb = sum((x - ma) ** 2 for x in a), sum((y - mb) ** 2 for y in b)
    return ab / (aa * bb) ** 0.5 if aa and bb else float("nan")


def compare(groups, times, what):
    """Figures of one step; what: 'one' (predicted) or 'roofline'."""
    matched = [g for token, g in groups.items() if token >= 0 and all(n in times for n in g["nodes"])]
    predicted = [g[what] * len(g["nodes"]) for g in matched]
    measured = [sum(times[n] for n in g["nodes"]) for g in matched]
    n = [len(g["nodes"]) for g in matched]
    total, all_predicted = sum(measured), sum(predicted)
    off = [abs(p / all_predicted - m / total) for p, m in zip(predicted, measured)]
    by_class = defaultdict(lambda: [0.0, 0.0])
    for g, p, m in zip(matched, predicted, measured):
        by_class[g["class"]][0] += 100 * m / total
        by_class[g["class"]][1] += 100 * p / all_predicted
    step = sum(g[what] * len(g["nodes"]) for g in groups.values())
    return {"groups": len(matched), "of": sum(token >= 0 for token in groups), "matched": 100 * total / sum(times.values()),
            "predicted": 100 * all_predicted / step if step else float("nan"),
            "one": spearman([p / k for p, k in zip(predicted, n)], [m / k for m, k in zip(measured, n)]),
            "group": spearman(predicted, measured), "share": 100 * sum(off) / len(off), "misplaced": 50 * sum(off),
            "classes": by_class}


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def table(header, rows):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] +
                     ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def report(results, path):
    """results: {(model, condition, kind): [figures of a step]}"""
    rows = []
    for (model, condition, kind), steps in sorted(results.items()):
        figure = {k: mean(s[k] for s in steps) for k in ("groups", "matched", "predicted", "one", "group", "share", "misplaced")}
        rows.append([model, condition, kind, str(len(steps)), f"{figure['groups']:.0f}", f"{figure['matched']:.0f}",
                     f"{figure['predicted']:.0f}", f"{figure['one']:.2f}", f"{figure['group']:.2f}", f"{figure['share']:.1f}",
                     f"{figure['misplaced']:.0f}"])
    text = table(["left out", "learned from", "kind", "steps", "groups", "matched, % of measured", "matched, % of predicted",
                  "rank (one)", "rank (group)", "share error, points", "misplaced, %"], rows)
    for (model, condition, kind), steps in sorted(results.items()):
        if kind != "mdot":
            continue
        names = sorted({c for s in steps for c in s["classes"]}, key=lambda c: -mean(s["classes"][c][0] for s in steps))
        text += f"\n{model}, mdot, learned {condition}: shares of classes of operators, percent of what is matched\n\n"
        text += table(["class", "measured", "predicted"],
                      [[c, f"{mean(s['classes'][c][0] for s in steps):.1f}", f"{mean(s['classes'][c][1] for s in steps):.1f}"]
                       for c in names])
    with open(path, "w") as f:
        f.write(text)
    print(text)


def main(data, results, *settings):
    o = {"cell": "build/accuracy/cell", "kinds": "mdot,opclass,roofline,linear", "models": "bert_large,gpt2_large", "jobs": "1",
         "seed": "42", "options": "", "conditions": "alone,with"}
    o.update(s.split("=", 1) for s in settings)
    out = os.path.join(results, "explain")
    os.makedirs(out, exist_ok=True)
    neusight = os.path.join(data, "neusight")
    files = {"out": out, "rows": os.path.join(neusight, "profiles.csv"),
             "graphs": unpack(os.path.join(neusight, "graphs.ndjson.gz"), os.path.join(out, "neusight.ndjson")),
             "also": [(unpack(os.path.join(data, "timm", "graphs.ndjson.gz"), os.path.join(out, "timm.ndjson")),
                       choose_rows(os.path.join(data, "timm", "profiles.csv"), os.path.join(out, "timm_rows"),
                                   lambda r: r["layout"] == "nchw" and r["framework"] == NEWEST)),
                      (unpack("data/graphs.ndjson.gz", os.path.join(out, "data.ndjson")), "data/profiles.csv")]}
    times = measured_times(os.path.join(neusight, "op_profiles.csv.gz"), twins(files["graphs"]))
    cases = [(c, m, k) for c in o["conditions"].split(",")[::-1] for m in o["models"].split(",") for k in o["kinds"].split(",")]
    with ThreadPoolExecutor(int(o["jobs"])) as pool:
        paths = list(pool.map(lambda c: predict(o, c[2], c[0], c[1], files), cases))
    found = {}
    for (condition, model, kind), path in zip(cases, paths):
        steps = {k: g for k, g in read_parts(path).items() if k in times} if path else {}
        if steps:
            found[model, condition, kind] = [compare(g, times[k], "one") for k, g in steps.items()]
            found[model, "nothing", "roofline, raw"] = [compare(g, times[k], "roofline") for k, g in steps.items()]
    report(found, os.path.join(results, "explain.md"))
    return 1 if None in paths else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
