"""Export networks twice: by torch.onnx and by perfmodel's own exporter.

    python3 test/onnx/make_models.py OUT [--opset 13] [--seq-only] [NAME ...]

writes OUT/NAME.onnx, without the contents of weights, and OUT/NAME.json for each torchvision model (224 x 224;
all that torch.onnx can export when no name is given) and each network of networks.py. Training mode: dropout of
stochastic depth is set to 0, because torch.onnx cannot export it. docs/onnx.md says how they compare.
"""

import argparse
import copy
import gc
import os
import sys
import warnings

import onnx
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

import networks                                            # noqa: E402
from perfmodel_tools import export, models                 # noqa: E402


def strip(path, short_names=True):
    """Drop the contents of weights, documentation, and the length of names."""
    model = onnx.load(path, load_external_data=False)
    for tensor in model.graph.initializer:
        count = 1
        for dim in tensor.dims:
            count *= dim
        if tensor.data_type == onnx.TensorProto.FLOAT and count > 1 or count > 64:
            tensor.ClearField("raw_data")
            tensor.ClearField("float_data")
    if short_names:
        rename(model.graph)
    del model.graph.value_info[:]
    model.graph.ClearField("doc_string")
    onnx.save(model, path)


def rename(graph):
    """Values become a number; the first letters of onnx::MatMul mean something and stay."""
    names = {v.name: v.name for v in graph.input}
    names[""] = ""

    def short(name):
        if name not in names:
            prefix = "onnx::MatMul_" if name.startswith("onnx::MatMul_") else ""
            names[name] = f"{prefix}{len(names):x}"
        return names[name]

    for tensor in graph.initializer:
        tensor.name = short(tensor.name)
    for index, node in enumerate(graph.node):
        node.name = ""
        node.ClearField("doc_string")
        for names_of in (node.input, node.output):
            for k, name in enumerate(names_of):
                names_of[k] = short(name)
    for value in graph.output:
        value.name = short(value.name)


def calm(module):
    """Without stochastic depth."""
    for part in module.modules():
        if type(part).__name__ == "StochasticDepth":
            part.p = 0.0
    return module


def both(name, module, example, out, opset, training=True):
    """NAME.json and NAME.onnx."""
    graph = export.export_module(copy.deepcopy(module), example, name)      # which moves it away
    inputs = example if isinstance(example, tuple) else (example,)
    names = [f"in{i}" for i in range(len(inputs))]
    temporary = os.path.join(out, name + ".part")
    mode = torch.onnx.TrainingMode.TRAINING if training else torch.onnx.TrainingMode.EVAL
    module = module.train() if training else module.eval()
    torch.onnx.export(module, inputs, temporary, training=mode, do_constant_folding=not training, opset_version=opset,
                      input_names=names, dynamic_axes={n: {0: "batch"} for n in names})
    strip(temporary)
    with open(os.path.join(out, name + ".json"), "w") as file:
        file.write(export.to_line(graph))
    os.rename(temporary, os.path.join(out, name + ".onnx"))


def build(name):
    """(module, example) of a torchvision model or of a network of networks.py."""
    if hasattr(networks, name):
        return getattr(networks, name)()
    spec = models.resolve(name, 224)
    return calm(spec.build()), spec.make_input(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--opset", type=int, default=14)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    os.makedirs(arguments.out, exist_ok=True)
    for name in arguments.names or networks.ALL + models.torchvision_names():
        if os.path.exists(os.path.join(arguments.out, name + ".onnx")):
            continue
        try:
            both(name, *build(name), arguments.out, arguments.opset)
            print("ok", name, flush=True)
        except Exception as err:                                # torch.onnx raises anything
            print(f"not exported: {name}: {str(err).splitlines()[0][:120]}", flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
