#!/usr/bin/env python3
"""Train the PyTorch twin of MDOT on rows that mdot_epochs exported; print its speed.

    twin.py rows.bin --threads 1 --epochs 5
    twin.py rows.bin --predict              # the forward pass alone, on rows that bench/predict exported

The rival of bench/train.sh: same rows, same minibatches, same architecture and
options, float32.  Everything that does not depend on the epoch (tensors of
each row) is made before the clock starts.  Prints "name value" lines.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys
import time

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "test" / "reference"))
from twin import Batch, Config, Sample, Twin  # noqa: E402


def read_rows(path):
    """(options, samples) of a file that mdot_epochs wrote."""
    with open(path, "rb") as f:
        options = json.loads(f.readline())
        data = f.read()
    c, rows, at = options["config"], options["rows"], 0

    def field(kind, counts):
        nonlocal at
        values = np.frombuffer(data, kind, int(sum(counts)), at)
        at += values.nbytes
        return np.split(values, np.cumsum(counts)[:-1])

    def real(kind, counts, *shape):
        return [torch.tensor(v.astype(np.float32)).view(*shape) for v in field(kind, counts)]

    def integer(kind, counts):
        return [torch.tensor(v.astype(np.int64)) for v in field(kind, counts)]

    one = np.ones(rows, np.int64)
    n = np.concatenate(field("<i4", one)).astype(np.int64)
    dtype, layout, framework, gpu = ([int(v[0]) for v in field("<i4", one)] for _ in range(4))
    step_ms = [float(v[0]) for v in field("<f8", one)]
    columns = {"type": integer("<i4", n), "op_class": integer("<i4", n)}
    for name in ("copies", "compute_us", "memory_us", "compute_ref_us", "memory_ref_us", "to_peak", "floor_us", "kernels"):
        columns[name] = real("<f8", n, -1)
    columns["job"] = real("<f4", one * c["n_job"], -1)
    columns["config"] = real("<f4", n * 2 * c["n_slots"], -1, 2 * c["n_slots"])
    columns["load"] = real("<f4", n * c["n_loads"], -1, c["n_loads"])
    columns["position"] = real("<f4", n * c["position_dim"], -1, c["position_dim"])
    columns["relation"] = [r.view(math.isqrt(len(r)), -1) for r in integer("u1", (n + 1) ** 2)]
    for name in ("produced", "consumed"):
        ends = integer("<i4", n + 1)
        counts = np.array([int(e[-1]) for e in ends])
        columns[name] = [edges(*e) for e in zip(ends, integer("<i4", counts), real("<f4", counts, -1))]
    if at != len(data):
        raise ValueError(f"{path} is not what this script reads: {len(data) - at} bytes are left over")
    samples = [Sample(**{name: v[i] for name, v in columns.items()}, dtype=dtype[i], layout=layout[i],
                      framework=framework[i], gpu=gpu[i], step_ms=step_ms[i]) for i in range(rows)]
    return options, samples


def edges(ends, to, weight):
    """[n, n] sparse, from where each row's edges begin, their columns and weights."""
    n = len(ends) - 1
    rows = torch.repeat_interleave(torch.arange(n), ends[1:] - ends[:-1])
    return torch.sparse_coo_tensor(torch.stack((rows, to)), weight, (n, n)).coalesce()


def rate_at(options, step, steps):
    """Warm-up, then cosine: as the core's trainer."""
    peak, end, warmup = (float(options[k]) for k in ("learning_rate", "final_rate", "warmup"))
    progress = step / steps
    if warmup > 0 and progress < warmup:
        return peak * progress / warmup
    return end + (peak - end) * 0.5 * (1 + math.cos(math.pi * (progress - warmup) / (1 - warmup)))


def parameter_groups(net, weight_decay):
    """Weight decay on the matrices of linear layers only."""
    decayed = [p for _, p, is_linear in net.tensors() if is_linear]
    chosen = {id(p) for p in decayed}
    return [{"params": decayed, "weight_decay": weight_decay},
            {"params": [p for p in net.parameters() if id(p) not in chosen], "weight_decay": 0.0}]


def train(options, samples, epochs, warm, together=2):
    """Seconds of each epoch after the first `warm`, and the last mean loss."""
    net = Twin(Config(**options["config"], head=options["head"], loss=options["loss"],
                      raw_scale=statistics.fmean(s.step_ms for s in samples)))
    ratio = statistics.median(math.log(s.step_ms * 1000 / float((s.copies * (s.compute_us + s.memory_us)).sum()))
                              for s in samples)
    with torch.no_grad():
        for e in net.estimates:
            e.compute.bias.fill_(max(-1.0, min(4.0, ratio)))
            e.memory.bias.copy_(e.compute.bias)
            e.launch.bias.fill_(-1.0)
    parameters = list(net.parameters())
    average = [p.detach().clone() for p in parameters]
    # foreach: one call for all tensors instead of a loop over them
    optimiser = torch.optim.AdamW(parameter_groups(net, float(options["weight_decay"])), lr=0.0, betas=(0.9, 0.98),
                                  eps=1e-8, foreach=True)
    size, clip, ema = int(options["batch_size"]), float(options["clip"]), float(options["ema"])
    steps, step, seconds, total = epochs * math.ceil(len(samples) / size), 0, [], 0.0
    for _ in range(epochs):
        started, total = time.perf_counter(), 0.0
        order = torch.randperm(len(samples)).tolist()
        for first in range(0, len(order), size):
            batch = Batch([samples[i] for i in order[first:first + size]], together)
            loss = net.loss(net(batch), batch)
            for group in optimiser.param_groups:
                group["lr"] = rate_at(options, step, steps)
            optimiser.zero_grad(set_to_none=True)
            (loss / batch.n).backward()
            if clip > 0:
                torch.nn.utils.clip_grad_norm_(parameters, clip)
            # only parameters with a gradient take part: heads that are not in use have none
            optimiser.step()
            keep = min(ema, (1 + step) / (10 + step))
            with torch.no_grad():
                torch._foreach_mul_(average, keep)
                torch._foreach_add_(average, parameters, alpha=1 - keep)
            total += loss.item()
            step += 1
        seconds.append(time.perf_counter() - started)
    return seconds[warm:], total / len(samples), sum(p.numel() for p in parameters)


def median_us(call, rounds=31):
    """Median processor time of a call."""
    seconds = []
    for _ in range(rounds):
        started = time.thread_time()
        call()
        seconds.append(time.thread_time() - started)
    return 1e6 * statistics.median(seconds)


def predict(options, samples, together):
    """Microseconds of the forward pass: of the first two rows, and of the others at once."""
    net = Twin(Config(**options["config"], head=options["head"], loss=options["loss"],
                      raw_scale=statistics.fmean(s.step_ms for s in samples)))
    net.eval()
    parts = {"usual": samples[:1], "largest": samples[1:2], "several": samples[2:]}
    with torch.inference_mode():
        for label, rows in parts.items():
            batch = Batch(rows, together)
            print(f"{label}.twin {median_us(lambda b=batch: net(b)):.1f}")


def main():
    """Parse, train, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("rows")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--warm", type=int, default=1, help="epochs that are run first and not counted")
    parser.add_argument("--together", type=int, default=2, help="samples whose attention is padded together")
    parser.add_argument("--predict", action="store_true", help="time the forward pass instead of training")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    options, samples = read_rows(args.rows)
    if args.predict:
        predict(options, samples, args.together)
        return
    started = time.process_time()
    seconds, loss, n_parameters = train(options, samples, args.epochs + args.warm, args.warm, args.together)
    cpu = (time.process_time() - started) / (args.epochs + args.warm)
    median = statistics.median(seconds)
    print(f"torch {torch.__version__}\nthreads {args.threads}\nparams {n_parameters}\nepoch_s {median:.4f}")
    print(f"epoch_best_s {min(seconds):.4f}\nepoch_cpu_s {cpu:.4f}\nsamples_per_s {len(samples) / median:.1f}")
    print(f"loss {loss:.5f}")


if __name__ == "__main__":
    main()
