#!/usr/bin/env python3
"""Networks with frozen weights: their graphs, and how long their steps take on this CPU.

    bench/frozen.py OUT_DIR

Writes OUT_DIR/frozen_graphs.ndjson and OUT_DIR/frozen.csv (network, trained, batch, step_ms): the shortest of 15 steps, one thread.
Needs PyTorch and torchvision.
"""

import json
import pathlib
import sys
import time

import torch
import torchvision
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from perfmodel_tools import export  # noqa: E402

STEPS = 15


class Lora(nn.Module):
    """A Linear that is frozen, and an adapter beside it."""

    def __init__(self, linear, rank=8):
        super().__init__()
        self.linear = linear
        self.dropout = nn.Dropout(0.05)
        self.a = nn.Linear(linear.in_features, rank, bias=False)
        self.b = nn.Linear(rank, linear.out_features, bias=False)

    def forward(self, x):
        return self.linear(x) + 2 * self.b(self.a(self.dropout(x)))


class Block(nn.Module):
    def __init__(self, hidden=512, heads=8):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.q, self.k, self.v, self.out = (nn.Linear(hidden, hidden) for _ in range(4))
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        batch, length, hidden = x.shape
        y = self.norm_1(x)
        q, k, v = (part(y).view(batch, length, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        scores = torch.softmax(q @ k.transpose(-1, -2) / (hidden // self.heads) ** 0.5, -1)
        x = x + self.out((scores @ v).transpose(1, 2).reshape(batch, length, hidden))
        return x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))


class Gpt(nn.Module):
    def __init__(self, hidden=512, layers=4, words=4000):
        super().__init__()
        self.embedding = nn.Embedding(words, hidden)
        self.blocks = nn.Sequential(*[Block(hidden) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(hidden), nn.Linear(hidden, words)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.embedding(x))))


def freeze(modules):
    for module in modules:
        for parameter in module.parameters():
            parameter.requires_grad_(False)


def image_network(name, parts):
    """A network of torchvision, with so many of its parts frozen, from the first on."""
    model = getattr(torchvision.models, name)()
    freeze((list(model.children()) if name.startswith("resnet") else list(model.features))[:parts])
    return model


def language_model(adapted):
    """A small GPT; with names of Linears, only adapters of these are trained."""
    model = Gpt()
    if adapted:
        freeze([model])
        for block in model.blocks:
            for name in adapted:
                setattr(block, name, Lora(getattr(block, name)))
    return model


def networks():
    """(network, one batch, [(what is trained, builder)])"""
    for name, batch, parts in (("resnet18", 16, (0, 6, 7, 9)), ("resnet50", 8, (0, 6, 7, 9)), ("mobilenet_v2", 16, (0, 7, 14, 19))):
        yield name, torch.randn(batch, 3, 96, 96), [(f"all but {n} parts" if n else "all", lambda name=name, n=n: image_network(name, n)) for n in parts]
    adapted = (("all", ()), ("adapters of q, v", ("q", "v")), ("adapters of all", ("q", "k", "v", "out", "up", "down")))
    yield "gpt", torch.randint(0, 4000, (4, 128)), [(trained, lambda names=names: language_model(names)) for trained, names in adapted]


def one_step_ms(model, optimizer, x):
    start = time.perf_counter()
    y = model(x)
    loss = nn.functional.cross_entropy(y.reshape(-1, y.shape[-1]), torch.zeros(y.numel() // y.shape[-1], dtype=torch.long))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return 1000 * (time.perf_counter() - start)


def shortest_steps_ms(models, x):
    """The shortest step of each model with SGD with momentum; the models in turn, since other programs run on this machine."""
    optimizers = [torch.optim.SGD([p for p in model.train().parameters() if p.requires_grad], lr=1e-6, momentum=0.9) for model in models]
    return [min(times) for times in zip(*([one_step_ms(m, o, x) for m, o in zip(models, optimizers)] for _ in range(STEPS)))]


def main():
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit("usage: bench/frozen.py OUT_DIR, a folder that exists")
    out = pathlib.Path(sys.argv[1])
    torch.manual_seed(42)
    torch.set_num_threads(1)
    with open(out / "frozen_graphs.ndjson", "w") as graphs, open(out / "frozen.csv", "w") as rows:
        print("network,trained,batch,step_ms", file=rows)
        for network, x, variants in networks():
            for trained, build in variants:
                print(json.dumps(export.export_module(build(), (x,), f"{network}, {trained}"), separators=(",", ":")), file=graphs)
            for (trained, _), ms in zip(variants, shortest_steps_ms([build() for _, build in variants], x)):
                print(f'{network},"{trained}",{len(x)},{ms:.3f}', file=rows, flush=True)


if __name__ == "__main__":
    main()
