"""Bytes that PyTorch keeps of each network in data/ between the passes of a step at batch 2.

    PYTHONPATH=tools python3 test/reference/saved_bytes.py >test/core/saved_bytes.txt

Needs python3-torch and python3-torchvision and takes some minutes. One line for each graph: its name, the batch, the
bytes of all storages that autograd saves, parameters and buffers left out, inputs and outputs counted.
"""

import gzip
import json

import torch

from perfmodel_tools import models

BATCH = 2


def tensors(value):
    """The tensors in a tensor, tuple, list or dict."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for v in value.values():
            yield from tensors(v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors(v)


def saved_bytes(graph: str) -> int:
    spec = models.resolve(*models.of_graph(graph))
    net = spec.build().train()
    inputs = spec.make_input(BATCH, device="cpu")
    own = {t.storage().data_ptr() for t in [*net.parameters(), *net.buffers()]}
    sizes, held = {}, []

    def pack(tensor):
        held.append(tensor)     # so that its memory is not used again
        if tensor.storage().data_ptr() not in own:
            sizes[tensor.storage().data_ptr()] = tensor.storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = net(**inputs) if isinstance(inputs, dict) else net(*inputs) if isinstance(inputs, (tuple, list)) else net(inputs)
    for tensor in [*tensors(inputs), *tensors(output)]:
        sizes[tensor.storage().data_ptr()] = tensor.storage().nbytes()
    return sum(sizes.values())


def main() -> None:
    torch.set_num_threads(1)
    print(f"# graph, batch, bytes that PyTorch {torch.__version__} keeps: test/reference/saved_bytes.py")
    for line in gzip.open("data/graphs.ndjson.gz"):
        graph = json.loads(line)["name"]
        print(graph, BATCH, saved_bytes(graph), flush=True)


if __name__ == "__main__":
    main()
