#!/usr/bin/env python3
"""Add to the records of dump_golden what the twin makes of them, in double.

    make_golden.py inputs.txt >golden.txt

Two cases over the same samples and parameters: the additive head with two
estimates, its residual factor and the logarithmic Huber loss, and the pooled
head with squared error.  Each case has the predictions, the loss and the gradient of
every tensor; golden.h says how they are written.
"""

import sys

import torch

from twin import Batch, Config, Sample, Twin

UNIT = 4096.0
STEPS = 1e9
CASES = (
    {"head": "additive", "loss": "log_huber", "residual": True, "estimates": 2},
    {"head": "pooled", "loss": "mse_raw", "residual": False, "estimates": 1},
)
# as numbers, in the order of the core's enumerations
HEADS = ("additive", "pooled")
LOSSES = ("log_huber", "mape", "mse_raw", "mae_raw")
OUTPUT = {"raw_scale": 2.5, "log_mean": 0.3, "log_sigma": 0.8}
WEIGHTS = (1.0, 0.5)
# measured = predicted times this: inside and outside of the Huber loss's parabola
MISS = (1.125, 0.4)


def read_records(path):
    """{name: [numbers]}; also the text, which is handed on as it is."""
    with open(path, encoding="ascii") as f:
        text = f.read()
    records = {}
    for line in text.splitlines():
        name, count, *values = line.split()
        if len(values) != int(count):
            raise ValueError(f"record {name} is cut short")
        records[name] = [float(v) for v in values]
    return records, text


def sample_of(records, i):
    """Sample i of the records."""
    def field(name, *shape, dtype=torch.float64):
        return torch.tensor(records[f"sample{i}.{name}"]).to(dtype).view(*shape)

    n, dtype, layout, framework, gpu, _ = map(int, records[f"sample{i}.facts"])
    return Sample(type=field("type", n, dtype=torch.long), op_class=field("op_class", n, dtype=torch.long),
                  config=field("config", n, -1), load=field("load", n, -1), copies=field("copies", n),
                  compute_us=field("compute_us", n), memory_us=field("memory_us", n),
                  compute_ref_us=field("compute_ref_us", n), memory_ref_us=field("memory_ref_us", n), to_peak=field("to_peak", n),
                  floor_us=field("floor_us", n), kernels=field("kernels", n),
                  position=field("position", n, -1), relation=field("relation", n + 1, n + 1, dtype=torch.long),
                  produced=field("produced", n, n).to_sparse(), consumed=field("consumed", n, n).to_sparse(),
                  job=field("job", -1), dtype=dtype, layout=layout, framework=framework, gpu=gpu, step_ms=1.0,
                  weight=WEIGHTS[i])


def put(name, values):
    """One record."""
    print(name, len(values), *values)


def put_gradient(name, grad):
    """Largest magnitude, then all values in units of 1e-9 of it; nothing for a tensor without gradient."""
    top = grad.abs().max().item()
    if top > 0:
        put(name, [repr(top)] + [int(v) for v in (grad.reshape(-1) / top * STEPS).round().tolist()])


def main():
    """Read, compute, print."""
    torch.set_default_dtype(torch.float64)
    records, text = read_records(sys.argv[1])
    sizes = {k[4:]: int(v[0]) for k, v in records.items() if k.startswith("net.")}
    samples = [sample_of(records, i) for i in range(2)]
    print("# Made by test/reference/make_golden.sh; do not edit.  Records: test/reference/golden.h")
    print(text, end="")
    for name, value in OUTPUT.items():
        put("net." + name, [value])
    for i, case in enumerate(CASES):
        net = Twin(Config(**sizes, **OUTPUT, **case))
        shapes = {name: (p.t() if transposed else p).shape for name, p, transposed in net.tensors()}
        net.load({name: torch.tensor(records["param." + name]).view(shape) / UNIT for name, shape in shapes.items()})
        batch = Batch(samples)
        for j, p in zip(batch.order, net(batch).mean(0).tolist()):
            samples[j].step_ms = float(f"{p * MISS[j]:.4g}")
        batch = Batch(samples)
        predicted = net(batch)
        loss = net.loss(predicted, batch)
        loss.backward()
        put(f"case{i}.choice", [HEADS.index(case["head"]), LOSSES.index(case["loss"]), int(case["residual"]), case["estimates"]])
        put(f"case{i}.step_ms", [repr(s.step_ms) for s in samples])
        put(f"case{i}.weight", [repr(s.weight) for s in samples])
        put(f"case{i}.predicted", [repr(p) for _, p in sorted(zip(batch.order, predicted.mean(0).tolist()))])
        put(f"case{i}.loss", [repr(loss.item())])
        for name, grad in net.gradients().items():
            put_gradient(f"case{i}.grad.{name}", grad)


if __name__ == "__main__":
    main()
