"""Export the operator graph of a model as perfmodel-graph/1 JSON, without weights and without computing."""

import copy
import csv
import gzip
import json
import sys

import torch

from . import database, models, ops, zoo
from .trace import KernelMissing, Refused, TraceError, ValuesNeeded, build_on_meta, has_sparse, tensors_in, to_meta, trace, trace_with_values

FORMAT = "perfmodel-graph/1"
MAX_PARAMS_WITH_VALUES = 2_000_000_000      # of a model that has to be run on the CPU; they take 4 bytes each

MODEL_HELP = ("torchvision:NAME or zoo:NAME (or just NAME), timm:NAME, transformers:TYPE, or "
              "path/to/file.py:function where function() returns (module, example_input)")


WAY_OUT = ("A newer PyTorch may help; or export it with torch.onnx.export() and load the file with perfmodel.load_onnx(), "
           "as docs/onnx.md says")


class ExportError(Exception):
    """The graph cannot be exported; the message says why."""


def export_graph(spec: models.ModelSpec, name=None) -> dict:
    """The graph of one model. Running it at batch 2 and 3 shows what follows the batch size."""
    try:
        module = build_on_meta(spec.build)
    except TraceError as err:
        raise ExportError(f"{spec.graph}: {err}") from err
    except Exception as err:                # a model's code may raise anything
        raise ExportError(f"{spec.graph}: cannot be built: {err}") from err
    try:
        two, three, params = _two_runs(spec, module)
    except TraceError as err:
        raise ExportError(f"{spec.graph}: {err}") from err
    _warn(spec.graph, module, two, params)
    nodes = _combine(two.nodes, three.nodes, spec.graph)
    nodes, output = _drop_unread_memory(nodes, two.output)
    return {"format": FORMAT, "name": name or spec.graph, "model": spec.model, "source": spec.source,
            "input": nodes[0]["shape"], "params": params, "output": output, "nodes": nodes}


def _warn(graph: str, module, run, params: int) -> None:
    """Say what the graph does not tell of the model."""
    def say(what):
        print(f"{graph}: {what}", file=sys.stderr)

    if not params and any(p.requires_grad for p in module.parameters()):
        say("no gradient reaches a weight, because of no_grad() or detach(): predicted training steps have no backward pass")
    if run.checkpoints:
        say("the graph is that of the step without torch.utils.checkpoint. To predict the step with it, say checkpointing => true to "
            "predict_memory() and max_batch(), and parallel => '{\"recompute\": true}' to predict()")


def _params(module, run) -> int:
    """Real numbers of the parameters that a step trains."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in module.parameters() if p.requires_grad and id(p) not in run.untrained)


def _two_runs(spec: models.ModelSpec, module) -> tuple:
    """Runs at batch 2 and 3, and the number of trained parameters.

    A model that looks at values, such as those of a mask, or with an operator that the meta device lacks, is run with values.
    """
    small = sum(p.numel() for p in module.parameters()) <= MAX_PARAMS_WITH_VALUES
    try:
        if has_sparse(module):
            raise KernelMissing("a sparse tensor has to be there with the numbers that it stores")
        return _on_meta(spec, module)
    except KernelMissing as why:
        if not small:
            raise TraceError(f"{why}, and it is too large to be run with its weights. {WAY_OUT}") from why
        try:
            return _with_values(spec)
        except TraceError as err:
            raise TraceError(f"{err}. {WAY_OUT}") from err
        except Exception as err:            # a model's code may raise anything
            raise TraceError(f"{why}, and with values it fails: {err}. {WAY_OUT}") from err
    except ValuesNeeded as why:
        if not small:
            raise
        try:
            return _with_values(spec)
        except Refused:
            raise
        except Exception as err:
            raise why from err
    except TraceError as why:
        if not small:
            raise
        try:                                # a constructor may do something else where weights have no values
            return _on_meta(spec, to_meta(spec.build()).train())
        except Exception:
            raise why


def _on_meta(spec: models.ModelSpec, module) -> tuple:
    return _at_two_and_three(module, lambda batch: trace(module, spec.make_input(batch, device="meta")))


def _with_values(spec: models.ModelSpec) -> tuple:
    module = spec.build().to("cpu").train()
    return _at_two_and_three(module, lambda batch: trace_with_values(module, spec.make_input(batch)))


def _at_two_and_three(module, run) -> tuple:
    two, three = run(2), run(3)
    if _operators(two.nodes) != _operators(three.nodes):
        two = run(2)                        # in its first pass, a module may have prepared what it keeps
    return two, three, _params(module, two)


def _operators(nodes: list) -> list:
    return [(node["op"], node["inputs"]) for node in nodes]


def _copy(module):
    """The module once more, so that the caller's stays as it is.

    Attributes that a hook computes of parameters, such as the weights of weight_norm(), are tensors that PyTorch refuses to copy; so are
    sparse ones in rows.
    """
    computed = {id(tensor): tensor.detach().clone() for part in module.modules() for tensor in tensors_in(vars(part).values())
                if not tensor.is_leaf or ops.is_sparse(tensor) and not isinstance(tensor, torch.nn.Parameter)}
    try:
        return copy.deepcopy(module, computed)
    except Exception as err:                # a module's parts may refuse to be copied
        raise TraceError(f"the module cannot be copied: {err}. Write a function that builds it and an example input, and name that: "
                         "python3 -m perfmodel_tools export FILE.py:FUNCTION") from err


def export_module(module, example_input, name: str, source: str = "pytorch") -> dict:
    """The graph of any torch.nn.Module; dimension 0 of the example's tensors must be the batch."""
    model, _, variant = name.partition("@")
    spec = models.ModelSpec(model, variant, source, lambda: _copy(module),
                            lambda batch, device="cpu": models.rebatch(example_input, batch, device))
    return export_graph(spec, name)


def _combine(two: list, three: list, graph: str) -> list:
    """Nodes at batch 1 from the nodes at batch 2 and 3."""
    if _operators(two) != _operators(three):
        raise ExportError(f"{graph}: the model executes other operators at batch 3 than at batch 2. If it has a loop over the samples, let "
                          "it compute all of them at once. Boxes may be one tensor (samples, boxes, 4), of which list() is the list")
    return [_at_one(a, b, graph) for a, b in zip(two, three)]


def _at_one(a: dict, b: dict, graph: str) -> dict:
    """One node at batch 1; every number in it is taken to be linear in the batch."""
    node = {"id": a["id"], "op": a["op"], "inputs": a["inputs"], "shape": _extrapolate(a["shape"], b["shape"])}
    node["batch_dim"] = _batch_dim(a, b, graph)
    if "module" in a:
        node["module"] = a["module"]
    if "shapes" in a:
        node["shapes"] = _extrapolate(a["shapes"], b["shapes"])
    for key in ("attrs", "weights", "consts", "view"):
        if a.get(key):
            node[key] = _extrapolate(a[key], b[key])
    slope = b.get("flops", 0) - a.get("flops", 0)
    constant = a.get("flops", 0) - 2 * slope
    if slope + constant:
        node["flops"] = slope + constant
    if constant:
        node["flops0"] = constant
    return node


def _place(node: dict) -> str:
    """An operator and the module that runs it."""
    return node["op"] + (f" of module {node['module']}" if "module" in node else " of the model itself")


def _extrapolate(a, b):
    """The value at batch 1 of something that is A at batch 2 and B at batch 3."""
    if isinstance(a, dict):
        return {key: _extrapolate(a[key], b[key]) for key in a}
    if isinstance(a, list):
        if len(a) != len(b):
            raise ExportError("an operator has more outputs at batch 3 than at batch 2: "
                              "the model splits or joins along the batch")
        return [_extrapolate(x, y) for x, y in zip(a, b)]
    if isinstance(a, bool) or not isinstance(a, int):
        return a
    return 2 * a - b


def _batch_dim(a: dict, b: dict, graph: str):
    """Index of the dimension that follows the batch, None if there is none."""
    moving = [i for i, (x, y) in enumerate(zip(a["shape"], b["shape"])) if x != y]
    if len(moving) > 1 or any(3 * a["shape"][i] != 2 * b["shape"][i] for i in moving):
        raise ExportError(f"{graph}: the result of {_place(a)} has shape {a['shape']} at batch 2 and {b['shape']} at batch 3, which is "
                          "not proportional to the batch in one dimension. If it belongs to the loss, as a product of all samples with "
                          "all samples does, export the model without the loss: let forward() return what the loss is computed from")
    return moving[0] if moving else None


def _drop_unread_memory(nodes: list, output: int) -> tuple:
    """Leave out scratch memory that no operator reads, and number the nodes anew."""
    scratch = {"aten::" + name for name in ops.ALLOCATIONS} | {"aten::zeros", "aten::new_zeros"}
    read = {i for node in nodes for i in node["inputs"]} | {output}
    kept = [node for node in nodes if node["id"] in read or node["op"] not in scratch]
    number = {node["id"]: index for index, node in enumerate(kept)}
    for node in kept:
        node["id"] = number[node["id"]]
        node["inputs"] = [number[i] for i in node["inputs"]]
        if "tied" in node.get("attrs", {}):
            node["attrs"]["tied"] = number[node["attrs"]["tied"]]
    if len(kept) < len(nodes):
        return _drop_unread_memory(kept, number[output])
    return kept, number[output]


def to_line(graph: dict) -> str:
    """The graph on one line."""
    return json.dumps(graph, separators=(",", ":")) + "\n"


def _write(path, lines: list) -> None:
    """To a file, compressed if its name ends in .gz, or to stdout."""
    text = "".join(lines)
    if path is None:
        sys.stdout.write(text)
    elif path.endswith(".gz"):
        # No file name and no time inside, so that the same graphs give the same bytes.
        with open(path, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
            file.write(text.encode())
    else:
        with open(path, "w") as file:
            file.write(text)


def to_sql(graph: dict) -> str:
    """A statement for psql that loads the graph."""
    text, tag = to_line(graph).rstrip("\n"), "g"
    while f"${tag}$" in text:
        tag += "g"
    return f"SELECT perfmodel.load_graph(${tag}${text}${tag}$);\n"


def sql_lines(graphs: list) -> list:
    """Statements for psql that load the graphs; of many, those that are there under another name are counted once, at the end."""
    lines = [to_sql(graph) for graph in graphs]
    if len(graphs) <= 1:
        return lines
    return ["SET client_min_messages = warning;\n", *lines,
            "RESET client_min_messages;\n", "SELECT count(*) AS graphs, count(DISTINCT structure) AS different_networks FROM perfmodel.graph;\n"]


def _named_in(path: str) -> list:
    """(name, size) of every graph that a table of profiles, or a plan of them, uses."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            graphs = sorted({row["graph"] or "" for row in csv.DictReader(file)})
    except (KeyError, UnicodeDecodeError, csv.Error) as err:
        raise models.ModelError(f"{path} is no table of profiles (a CSV with a column graph): {err!r}") from err
    try:
        return [models.of_graph(graph) for graph in graphs]
    except models.ModelError as err:
        raise models.ModelError(f"{path}: {err}") from err


def main(args) -> int:
    """Entry of `python3 -m perfmodel_tools export`."""
    names = list(args.models) + (models.torchvision_names() if args.all else []) + (list(zoo.NETWORKS) if args.zoo else [])
    wanted = [(name, size) for name in names for size in models.sizes(name, args.image, args.seq)]
    for path in args.profiles or []:
        wanted += [pair for pair in _named_in(path) if pair not in wanted]
    if args.name and len(wanted) != 1:
        raise models.ModelError("--name needs exactly one model and one size")
    if not wanted:
        raise models.ModelError("no model named; see --help")
    graphs, failed = [], 0
    for index, (name, size) in enumerate(wanted):
        try:
            graphs.append(export_graph(models.resolve(name, size), args.name))
            _report(args, index, len(wanted), graphs[-1]["name"])
        except (ExportError, models.ModelError) as err:
            failed += 1
            print(f"perfmodel_tools: {err}", file=sys.stderr)
    graphs.sort(key=lambda graph: graph["name"])
    if args.import_:
        with database.connect(args.db) as db:
            for graph in graphs:
                database.load_graph(db, to_line(graph))
                db.commit()
    if args.output or not args.import_:
        _write(args.output, sql_lines(graphs) if args.sql else [to_line(graph) for graph in graphs])
    return 1 if failed else 0


def _report(args, index: int, total: int, name: str) -> None:
    if not args.quiet and total > 1:
        print(f"{index + 1}/{total} {name}", file=sys.stderr)


def add_arguments(parser) -> None:
    """Command line of the exporter."""
    parser.add_argument("models", nargs="*", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument("--all", action="store_true", help="all classification models of torchvision")
    parser.add_argument("--zoo", action="store_true", help="all networks of the zoo")
    parser.add_argument("--profiles", nargs="+", metavar="FILE",
                        help="all graphs of torchvision and the zoo that profile CSV files or plans name")
    parser.add_argument("--image", type=int, nargs="*", metavar="N",
                        help="image sizes, for models of images (default: the model's usual one)")
    parser.add_argument("--seq", type=int, nargs="*", metavar="N",
                        help="lengths, for models of sequences (default: the model's usual one)")
    parser.add_argument("--name", help="name of the graph (default: model@size)")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="NDJSON file, compressed if it ends in .gz (default: stdout)")
    parser.add_argument("--sql", action="store_true", help="write statements for psql instead of NDJSON")
    database.add_arguments(parser, "load the graphs into a database")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
